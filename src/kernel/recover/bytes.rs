//! Bytes of copies that only the tensor map knows: what the mbarrier of the copy expects.
//!
//! That the copies of a phase deliver what the phase expects is an assumption, which is printed. Where an
//! expectation and copies of one mbarrier stand in one block, the bytes are divided among these copies.

use crate::ir::Location;
use crate::recover::number::Number;
use crate::recover::sketch::Action;
use crate::recover::sketch::Line;
use crate::recover::sketch::Object;
use crate::recover::tree::Obstacle;

/// What is taken for granted.
pub const ASSUMPTION: &str = "the tensor copies of a phase deliver the bytes that it expects";

/// Fills in the bytes of copies; gives whether there were any.
pub fn fill(lines: &mut [Line]) -> Result<bool, Obstacle> {
    let mut expected: Vec<(Object, Number)> = Vec::new();
    let mut copies: Vec<(Object, usize)> = Vec::new();
    for line in lines.iter() {
        let Line::Action { action, .. } = line else {
            continue;
        };
        match action {
            Action::Expect { object, bytes } | Action::ArriveExpect { object, bytes } => {
                match expected.iter_mut().find(|(other, _)| other == object) {
                    Some((_, sum)) => *sum = sum.plus(bytes).unwrap_or_default(),
                    None => expected.push((object.clone(), bytes.clone())),
                }
            }
            Action::Copy {
                object,
                bytes: None,
            } => match copies.iter_mut().find(|(other, _)| other == object) {
                Some((_, count)) => *count += 1,
                None => copies.push((object.clone(), 1)),
            },
            _ => {}
        }
    }
    let mut given: Vec<(Object, i128)> = Vec::new();
    let mut any = false;
    for line in lines.iter_mut() {
        match line {
            Line::Action {
                action: Action::Copy { object, bytes },
                location,
            } if bytes.is_none() => {
                any = true;
                let total = expected
                    .iter()
                    .find(|(other, _)| other == object)
                    .and_then(|(_, bytes)| bytes.as_constant());
                let count = copies
                    .iter()
                    .find(|(other, _)| other == object)
                    .map_or(1, |(_, count)| *count);
                let Some(total) = total else {
                    return Err(unknown(location));
                };
                let count = i128::try_from(count).unwrap_or(1);
                let so_far = match given.iter_mut().find(|(other, _)| other == object) {
                    Some((_, so_far)) => {
                        *so_far += 1;
                        *so_far
                    }
                    None => {
                        given.push((object.clone(), 1));
                        1
                    }
                };
                // The first takes what does not divide evenly.
                let share = total / count + if so_far == 1 { total % count } else { 0 };
                if share <= 0 {
                    return Err(unknown(location));
                }
                *bytes = Some(Number::constant(share));
            }
            Line::For { body, .. } => any |= fill(body)?,
            Line::If {
                then, otherwise, ..
            } => {
                any |= fill(then)?;
                any |= fill(otherwise)?;
            }
            _ => {}
        }
    }
    Ok(any)
}

fn unknown(location: &Location) -> Obstacle {
    Obstacle {
        reason:
            "how many bytes this copy delivers is not known: its mbarrier expects them elsewhere"
                .to_owned(),
        location: location.clone(),
    }
}
