//! Warps of a warpgroup that wait with multiplications in flight. A group of multiplications is done only once
//! all four warps have issued it; so whoever comes past `wgmma.wait_group n` knows that the other three have
//! issued all groups but the last `n`.
//!
//! The groups are numbered as they are made, and each is one phase of an mbarrier at which the four warps arrive
//! when they have issued it. These mbarriers are a ring of as many as there are groups in flight at once, and more than
//! `n`: when a group is issued, the one that had its place before has been waited for, so no phase is missed, and a wait
//! looks at the phase of its group or at the one directly after it.
//!
//! What has been waited for before is not waited for again: after `wait_group 0` all groups have landed, so a
//! `wait_group 1` after the first group of the next tile waits for nothing.
//!
//! The numbers are made once loops that the compiler has written out are rolled up, and what a parameter is divided by is
//! in the parameter.

use super::decided::decided;
use super::loop_rotation::taken_in;
use super::program::Followed;
use super::program::Program;
use super::program::each;
use crate::ptx::operations::warpgroups::WARPS;
use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;

/// More groups in flight are not followed.
const MOST_FLYING: i128 = 16;

/// Sums are compared value by value for so many values of an unknown.
const MOST_VALUES: i128 = 4;

/// The ring that groups take turns in.
struct Ring {
    group: u32,
    size: i128,
}

/// How far a warp has come with its groups.
#[derive(Debug, Clone, Default)]
struct Count {
    made: Sum,
    /// So many of them have certainly landed.
    landed: Sum,
}

/// Puts phases in the place of the groups of multiplications that warps wait for with others in flight.
///
/// Fails where it is not known which phases these are.
pub(in crate::ptx) fn number_groups(followed: &mut Followed) -> Result<(), Obstacle> {
    let mut sizes = Vec::new();
    for program in &mut followed.programs {
        let mut most = None;
        each(&program.statements, &mut |s| {
            if let Action::InFlight(_, left) = s.action {
                most = most.map_or(Some((left, s.at)), |(most, at)| Some((left.max(most), at)));
            }
        });
        let (Some((most, at)), Some(warp)) = (most, program.warps.first()) else {
            sizes.push(None);
            continue;
        };
        program.statements = decided(&program.statements, &followed.unknowns.1);
        let size = flying(&program.statements, 0).map(|(_, open)| open.max(most + 1));
        sizes.push(Some((program.rank, warp / WARPS, at, size)));
    }
    let known: Vec<_> = sizes.iter().flatten().copied().collect();
    for (program, own) in followed.programs.iter_mut().zip(sizes) {
        let Some((rank, group, at, _)) = own else {
            continue;
        };
        // The warps of a warpgroup share the ring.
        let same = known.iter().filter(|(r, g, ..)| (*r, *g) == (rank, group));
        let all: Option<Vec<i128>> = same.map(|(.., size)| *size).collect();
        let size = all.and_then(|all| all.into_iter().max());
        let statements = size.and_then(|size| {
            let ring = Ring { group, size };
            ring.phases(&program.statements, &Count::default(), &followed.unknowns.1)
        });
        let Some((statements, _)) = statements else {
            let reason = "the warps of this warpgroup do different things, and how far the others are where it \
                          waits with multiplications in flight is not followed";
            return Err(Obstacle::new(at, reason));
        };
        let statements = decided(&statements, &followed.unknowns.1);
        let statements = taken_in(statements, &mut followed.unknowns);
        let statements = decided(&statements, &followed.unknowns.1);
        let warps = std::mem::take(&mut program.warps);
        *program = Program::of(program.rank, warps, statements);
    }
    Ok(())
}

/// How many groups are in flight at most, at the end and anywhere, where there were so many before; none if that goes on
/// growing.
fn flying(statements: &[Statement], before: i128) -> Option<(i128, i128)> {
    let (mut open, mut most) = (before, before);
    for statement in statements {
        match &statement.action {
            Action::Grouped(_) => open += 1,
            Action::InFlight(_, left) => open = open.min(*left),
            Action::Multiplied(_) => open = 0,
            Action::For(_, _, body) => loop {
                let (again, within) = flying(body, open)?;
                most = most.max(within);
                if again <= open {
                    break;
                }
                open = again;
            },
            Action::If(_, yes, no) => {
                let (yes, no) = (flying(yes, open)?, flying(no, open)?);
                open = yes.0.max(no.0);
                most = most.max(yes.1).max(no.1);
            }
            _ => {}
        }
        most = most.max(open);
        if most > MOST_FLYING {
            return None;
        }
    }
    Some((open, most))
}

/// Whether a warp may be held here.
fn holds(action: &Action) -> bool {
    !matches!(
        action,
        Action::Arrive(..)
            | Action::ArriveExpectTx(..)
            | Action::ExpectTx(..)
            | Action::Copy(..)
            | Action::ArriveNamed(..)
            | Action::Touch(..)
            | Action::CommitGroup(_)
            | Action::Fence(_)
    )
}

impl Ring {
    /// The statements with phases, and how far the warp is behind them.
    fn phases(
        &self,
        statements: &[Statement],
        before: &Count,
        facts: &Facts,
    ) -> Option<(Vec<Statement>, Count)> {
        let mut all: Vec<Statement> = Vec::new();
        let mut count = before.clone();
        let mut issued = false;
        for statement in statements {
            match &statement.action {
                Action::Multiply(_) => issued = true,
                // A group of nothing is done at once.
                Action::Grouped(_) if !issued => return None,
                Action::Grouped(_) => {
                    issued = false;
                    let (place, _) = self.place(&count.made, facts)?;
                    all.push(statement.with(Action::Issued(self.group, place, self.size)));
                    count.made = count.made.plus_constant(1);
                }
                // A group is issued with its last multiplication, and all four warps come from there to where it is closed.
                action if issued && holds(action) => return None,
                Action::InFlight(_, left) => {
                    all.extend(self.landed(statement, *left, &mut count, facts)?);
                }
                Action::Multiplied(_) => {
                    all.extend(self.landed(statement, 0, &mut count, facts)?);
                }
                Action::For(unknown, times, body) => {
                    let mut inner = facts.clone();
                    let index = Sum::unknown(*unknown);
                    inner.assume_positive(&index);
                    inner.assume_positive(&times.minus(&index).plus_constant(-1));
                    let (_, once) = self.phases(body, &Count::default(), &inner)?;
                    let once = once.made;
                    if once.mentions(&|u| u == *unknown) {
                        return None;
                    }
                    let mut begin = Count {
                        made: count.made.plus(&once.times(&index)),
                        landed: count.landed.clone(),
                    };
                    // Where nothing is left in flight by a round, nothing is at the beginning of the next.
                    let mut clean = None;
                    if facts.same(&count.made, &count.landed) {
                        begin.landed = begin.made.clone();
                        clean = self
                            .phases(body, &begin, &inner)
                            .filter(|(_, end)| inner.same(&end.made, &end.landed));
                        begin.landed.clone_from(&count.landed);
                    }
                    let left = clean.is_none();
                    let (body, _) = match clean {
                        Some(clean) => clean,
                        None => self.phases(body, &begin, &inner)?,
                    };
                    let whole = count.made.plus(&once.times(times));
                    let never = Condition::Negative(times.clone());
                    count.made = either(&never, &count.made, &whole, facts);
                    if !left {
                        count.landed.clone_from(&count.made);
                    }
                    all.push(statement.with(Action::For(*unknown, times.clone(), body)));
                }
                Action::If(condition, yes, no) => {
                    let (mut holds, mut fails) = (facts.clone(), facts.clone());
                    holds.assume(condition);
                    fails.assume(&condition.negated());
                    let (yes, first) = self.phases(yes, &count.under(&holds), &holds)?;
                    let (no, second) = self.phases(no, &count.under(&fails), &fails)?;
                    count = Count {
                        made: either(condition, &first.made, &second.made, facts),
                        landed: either(condition, &first.landed, &second.landed, facts),
                    };
                    all.push(statement.with(Action::If(condition.clone(), yes, no)));
                }
                _ => all.push(statement.clone()),
            }
            if count.made.excessive() || count.landed.excessive() {
                return None;
            }
        }
        (!issued).then_some((all, count))
    }

    /// Waits until all groups but the last few have landed.
    fn landed(
        &self,
        statement: &Statement,
        left: i128,
        count: &mut Count,
        facts: &Facts,
    ) -> Option<Option<Statement>> {
        let last = count.made.plus_constant(-1 - left);
        let none = Condition::Negative(last.minus(&count.landed));
        let decided = facts.decide(&none);
        if decided == Some(true) {
            return Some(None);
        }
        count.landed = last.plus_constant(1);
        let (place, turns) = self.place(&last, facts)?;
        let parity = facts.modulo(&turns, &Sum::of(2))?;
        let wait = statement.with(Action::Landed(self.group, place, parity));
        if decided == Some(false) {
            return Some(Some(wait));
        }
        let some = Action::If(none.negated(), vec![wait], Vec::new());
        Some(Some(statement.with(some)))
    }

    /// The mbarrier of a group, and the number of rounds of the ring before it.
    fn place(&self, number: &Sum, facts: &Facts) -> Option<(Sum, Sum)> {
        let size = Sum::of(self.size);
        Some((facts.modulo(number, &size)?, facts.quotient(number, &size)?))
    }
}

impl Count {
    /// The same where more is known.
    fn under(&self, facts: &Facts) -> Count {
        Count {
            made: facts.rewritten(&self.made),
            landed: facts.rewritten(&self.landed),
        }
    }
}

/// One of two sums, each written with what is known where it is taken.
fn either(condition: &Condition, yes: &Sum, no: &Sum, facts: &Facts) -> Sum {
    let (mut holds, mut fails) = (facts.clone(), facts.clone());
    holds.assume(condition);
    fails.assume(&condition.negated());
    let (yes, no) = (holds.rewritten(yes), fails.rewritten(no));
    if alike(&yes, &no, &fails) {
        return yes;
    }
    if alike(&yes, &no, &holds) {
        return no;
    }
    facts.choice(condition, &yes, &no)
}

/// Whether two sums are the same, also value by value where an unknown in them has a few.
fn alike(one: &Sum, other: &Sum, facts: &Facts) -> bool {
    if facts.same(one, other) {
        return true;
    }
    let difference = one.minus(other);
    let few = facts.few(&difference, MOST_VALUES);
    few.is_some_and(|(unknown, values)| {
        values.into_iter().all(|value| {
            let with = |u: Unknown| (u == unknown).then(|| Sum::of(value));
            facts.replaced(&difference, &with).as_constant() == Some(0)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::warp::machine::Meaning;
    use crate::ptx::warp::machine::Unknowns;

    /// Tiles of which each leaves nothing in flight, and in each of which groups are waited for one round later.
    #[test]
    fn groups_take_turns() {
        let mut unknowns = Unknowns::default();
        let [tiles, times] = [0, 8].map(|at| unknowns.of(Meaning::Parameter(at, 0)));
        let [tile, index] = [0, 1].map(|at| unknowns.fresh(Meaning::Iteration(at)));
        for (unknown, most) in [(tiles, 1000), (times, 1000), (tile, 999), (index, 999)] {
            unknowns.1.bound(unknown, 0, most);
        }
        let facts = &unknowns.1;
        let body = vec![
            Statement::of(Action::Multiply(1)),
            Statement::of(Action::Grouped(1)),
            Statement::of(Action::InFlight(1, 1)),
        ];
        let looped = Action::For(index, Sum::unknown(times), body);
        let round = vec![Statement::of(looped), Statement::of(Action::Multiplied(1))];
        let all = [Statement::of(Action::For(tile, Sum::unknown(tiles), round))];
        assert_eq!(flying(&all, 0), Some((0, 2)));
        let ring = Ring { group: 1, size: 2 };
        let (found, count) = ring.phases(&all, &Count::default(), facts).unwrap();
        let [each, times, tiles] = [tile, times, tiles].map(Sum::unknown);
        let whole = tiles.times(&times);
        assert_eq!((count.made, count.landed), (whole.clone(), whole));
        let [Action::For(_, _, round)] = [&found[0].action] else {
            unreachable!("the loop is there: {found:?}");
        };
        let before = each.times(&times);
        let wait = |local: &Sum| {
            let (place, turns) = ring.place(&before.plus(local), facts).unwrap();
            let parity = facts.modulo(&turns, &Sum::of(2)).unwrap();
            let landed = Statement::of(Action::Landed(1, place, parity));
            let some = Condition::Negative(local.clone()).negated();
            Statement::of(Action::If(some, vec![landed], Vec::new()))
        };
        let own = Sum::unknown(index);
        let (place, _) = ring.place(&before.plus(&own), facts).unwrap();
        let issued = Statement::of(Action::Issued(1, place, 2));
        let body = vec![issued, wait(&own.plus_constant(-1))];
        let looped = Statement::of(Action::For(index, times.clone(), body));
        assert_eq!(*round, [looped, wait(&times.plus_constant(-1))]);
    }

    /// A loop that waits for none of its groups has no end of groups in flight.
    #[test]
    fn groups_that_nobody_waits_for_are_refused() {
        let body = vec![
            Statement::of(Action::Multiply(1)),
            Statement::of(Action::Grouped(1)),
        ];
        let looped = Action::For(Unknown(0), Sum::of(9), body);
        assert_eq!(flying(&[Statement::of(looped)], 0), None);
    }
}
