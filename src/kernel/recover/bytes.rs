//! Bytes of copies that only the tensor map knows: what the mbarrier of the copy expects.
//!
//! That the copies of a phase deliver what the phase expects is an assumption, which is printed. The bytes that are
//! expected in a block are divided among the copies to that mbarrier in it. A CTA of a cluster may copy to the mbarrier
//! of another one, which expects the bytes in the same block of its own program: below the same loops and branches, for
//! the same element. Then the bytes are divided among the copies of all of them.
//!
//! How they are divided does not matter. Each share is positive, so the bytes of a phase are complete when all of its
//! copies have landed, and not before. A block may have several phases, as the body of a loop that the compiler has written
//! out. Between two of them it waits, so what stands between two waits is taken together if the bytes of all copies are found
//! so. If not, the whole block is. Where copies that are taken together do not belong to the same phase, the shares may not
//! add up to what is expected, and the protocol is not proved.

use crate::ir::Location;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::rewrite::renumber;
use crate::recover::sketch::Action;
use crate::recover::sketch::Line;
use crate::recover::sketch::Object;
use crate::recover::tree::Obstacle;

/// What is taken for granted.
pub const ASSUMPTION: &str = "the tensor copies of a phase deliver the bytes that it expects";

/// What a block is inside of, with loops and variables numbered from the beginning of its program.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Header {
    For { index: u32, count: Number },
    Then(Condition),
    Otherwise(Condition),
}

/// A block of a program and an mbarrier that is used in it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Site {
    around: Vec<Header>,
    object: Object,
    /// How many waits stand before it in the block.
    turn: usize,
}

impl Site {
    /// The same for the whole block.
    fn whole(mut self) -> Self {
        self.turn = 0;
        self
    }
}

/// What the blocks of one program expect and copy, in the order of the program.
#[derive(Debug, Default)]
struct Uses {
    expected: Vec<(Site, Number)>,
    copies: Vec<(Site, Location)>,
}

/// Fills in the bytes of copies in the programs of all warps of a cluster; gives whether there were any.
pub fn fill(programs: &mut [&mut Vec<Line>]) -> Result<bool, Obstacle> {
    let mut all = Vec::new();
    for program in programs.iter() {
        let mut numbered = (*program).clone();
        renumber(&mut numbered);
        let mut uses = Uses::default();
        collect(&numbered, &mut Vec::new(), &mut uses);
        all.push(uses);
    }
    let shares = match shares(&all, true) {
        Ok(shares) => shares,
        Err(_) => shares_of_blocks(all)?,
    };
    let any = shares.iter().any(|shares| !shares.is_empty());
    for (lines, shares) in programs.iter_mut().zip(shares) {
        write(lines, &mut shares.into_iter());
    }
    Ok(any)
}

/// The same where whole blocks are taken together.
fn shares_of_blocks(all: Vec<Uses>) -> Result<Vec<Vec<i128>>, Obstacle> {
    let several = |uses: &Uses| uses.expected.iter().any(|(site, _)| site.turn > 0);
    // What is left over would be too much for one of several phases.
    let uneven = !all.iter().any(several);
    let whole = |uses: Uses| {
        let expected = uses.expected.into_iter();
        let copies = uses.copies.into_iter();
        Uses {
            expected: expected
                .map(|(site, bytes)| (site.whole(), bytes))
                .collect(),
            copies: copies.map(|(site, at)| (site.whole(), at)).collect(),
        }
    };
    let all: Vec<Uses> = all.into_iter().map(whole).collect();
    shares(&all, uneven)
}

/// The bytes of each copy of each program, in the order of the copies. Shares may be uneven, or not.
fn shares(all: &[Uses], uneven: bool) -> Result<Vec<Vec<i128>>, Obstacle> {
    let of_program = |program: usize| {
        let copies = all[program].copies.iter().enumerate();
        let shares = copies.map(|(number, (site, location))| {
            share(all, program, number, site, uneven).ok_or_else(|| unknown(location))
        });
        shares.collect()
    };
    (0..all.len()).map(of_program).collect()
}

fn collect(lines: &[Line], around: &mut Vec<Header>, uses: &mut Uses) {
    let mut inside = |header: Header, block: &[Line], uses: &mut Uses| {
        around.push(header);
        collect(block, around, uses);
        around.pop();
    };
    for line in lines {
        match line {
            Line::For {
                index, count, body, ..
            } => {
                let (index, count) = (*index, count.clone());
                inside(Header::For { index, count }, body, uses);
            }
            Line::If {
                condition,
                then,
                otherwise,
                ..
            } => {
                inside(Header::Then(condition.clone()), then, uses);
                inside(Header::Otherwise(condition.clone()), otherwise, uses);
            }
            _ => {}
        }
    }
    let mut turn = 0;
    for line in lines {
        let Line::Action { action, location } = line else {
            continue;
        };
        let site = |object: &Object| Site {
            around: around.clone(),
            object: object.clone(),
            turn,
        };
        match action {
            Action::Wait { .. } => turn += 1,
            Action::Expect { object, bytes } | Action::ArriveExpect { object, bytes } => {
                uses.expected.push((site(object), bytes.clone()));
            }
            Action::Copy {
                object,
                bytes: None,
            } => uses.copies.push((site(object), location.clone())),
            _ => {}
        }
    }
}

/// The bytes of a copy of a program, which is this one of its copies.
fn share(all: &[Uses], program: usize, number: usize, site: &Site, uneven: bool) -> Option<i128> {
    let expects = |uses: &Uses| uses.expected.iter().any(|(other, _)| other == site);
    let copies = |uses: &Uses| {
        uses.copies
            .iter()
            .filter(|(other, _)| other == site)
            .count()
    };
    let involved = all.iter().filter(|uses| copies(uses) > 0);
    // Whoever expects bytes of its own copies divides them among these.
    let alone = involved.clone().all(expects);
    let own = &all[program];
    let mut total: i128 = 0;
    let counted = all.iter().filter(|uses| !alone || std::ptr::eq(*uses, own));
    for uses in counted {
        for (_, bytes) in uses.expected.iter().filter(|(other, _)| other == site) {
            total = total.checked_add(bytes.as_constant()?)?;
        }
    }
    let count = match alone {
        true => copies(own),
        false => involved.map(copies).sum(),
    };
    let count = i128::try_from(count).ok()?;
    let first_of = |uses: &Uses| uses.copies.iter().position(|(other, _)| other == site);
    let first = first_of(own) == Some(number)
        && (alone || all[..program].iter().all(|uses| copies(uses) == 0));
    if !uneven && total % count != 0 {
        return None;
    }
    // The first takes what does not divide evenly.
    let share = total / count + if first { total % count } else { 0 };
    (share > 0).then_some(share)
}

/// Writes bytes down, in the order in which copies were collected.
fn write(lines: &mut [Line], shares: &mut impl Iterator<Item = i128>) {
    for block in lines.iter_mut().flat_map(Line::blocks_mut) {
        write(block, shares);
    }
    for line in lines {
        if let Line::Action {
            action: Action::Copy { bytes, .. },
            ..
        } = line
            && bytes.is_none()
        {
            *bytes = shares.next().map(Number::constant);
        }
    }
}

fn unknown(location: &Location) -> Obstacle {
    Obstacle {
        reason:
            "how many bytes this copy delivers is not known: its mbarrier expects them elsewhere"
                .to_owned(),
        location: location.clone(),
    }
}
