//! Moves copies behind the arrival that expects their bytes, if they are issued before it.
//!
//! Hardware allows both orders: the number of bytes that a phase still expects may be negative for
//! a while. Proof rules count bytes from their expectation on.
//!
//! Both orders have the same stuck states. Between the copy and the arrival, the member does not
//! block, and it arrives at no mbarrier that may be the same one.
//!
//! - If no phase of the mbarrier completes in between, nobody can observe before the arrival what
//!   the copy has delivered. So each run of one order is a run of the other.
//! - If a phase completes in between, others have made all of its arrivals. Then this member's
//!   arrival is one too many in the new order: the protocol does something undefined, and is not
//!   proved.
//!
//! The verdict states the assumption that copies deliver no more bytes than are expected.

use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Object;
use crate::recover::role_ir::every_line;

/// Moves copies of a role behind their expectations.
///
/// The expectation has to need the bytes of the copy. Otherwise the phase may complete without
/// them. That is not known if the role also delivers bytes to the mbarrier by
/// `mbarrier.complete_tx`.
pub fn move_copies_after_expect(lines: &mut [Line]) {
    let mut delivered = Vec::new();
    every_line(lines, &mut |line| {
        if let Line::Action {
            action: Action::Complete { object, .. },
            ..
        } = line
        {
            delivered.push(object.clone());
        }
    });
    in_block(lines, &delivered);
}

/// The same for a block. `delivered` has the mbarriers to which the role delivers bytes in other
/// ways.
fn in_block(lines: &mut [Line], delivered: &[Object]) {
    for block in lines.iter_mut().flat_map(Line::blocks_mut) {
        in_block(block, delivered);
    }
    // The last copy comes first, so that copies of one phase keep their order.
    for at in (0..lines.len()).rev() {
        let Line::Action {
            action: Action::Copy { object, .. },
            ..
        } = &lines[at]
        else {
            continue;
        };
        let otherwise = delivered.iter().any(|other| !apart(other, object));
        if otherwise || expected_before(&lines[..at], object) {
            continue;
        }
        if let Some(behind) = expectation(&lines[at + 1..], object) {
            lines[at..=at + 1 + behind].rotate_left(1);
        }
    }
}

/// How many lines stand in front of the next arrival that expects bytes at an mbarrier. None of them
/// may block, depend on copies, or arrive at what may be this mbarrier.
///
/// For example, in `copy; arrive; expect` the arrival may complete the phase from which the bytes
/// are subtracted, and the expectation counts in the next one. Such a copy stays where it is.
fn expectation(lines: &[Line], object: &Object) -> Option<usize> {
    for (at, line) in lines.iter().enumerate() {
        let Line::Action { action, .. } = line else {
            return None;
        };
        match action {
            Action::ArriveExpect { object: other, .. } if other == object => return Some(at),
            Action::Arrive { object: other, .. } | Action::ArriveExpect { object: other, .. }
                if !apart(other, object) =>
            {
                return None;
            }
            action if passes(action) => {}
            _ => return None,
        }
    }
    None
}

/// Whether an expectation at the same mbarrier stands in front of a copy, and nothing in between
/// blocks or depends on copies.
fn expected_before(lines: &[Line], object: &Object) -> bool {
    for line in lines.iter().rev() {
        match line {
            Line::Action {
                action: Action::ArriveExpect { object: other, .. },
                ..
            } if other == object => return true,
            Line::Action { action, .. } if passes(action) => {}
            _ => return false,
        }
    }
    false
}

/// Whether an action neither blocks nor depends on copies. [`Action::Round`] marks an arrival, and
/// a warp in step does not wait there.
fn passes(action: &Action) -> bool {
    matches!(
        action,
        Action::Copy { .. }
            | Action::Arrive { .. }
            | Action::ArriveExpect { .. }
            | Action::Round { .. }
    )
}

/// Whether two mbarriers are certainly not the same one.
fn apart(one: &Object, other: &Object) -> bool {
    let distance = one.offset.minus(&other.offset);
    one.rank != other.rank
        || one.variable != other.variable
        || distance
            .and_then(|distance| distance.as_constant())
            .is_some_and(|distance| distance != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Location;
    use crate::ir::VariableId;
    use crate::recover::number::Atomic;
    use crate::recover::number::Number;

    /// `c0` is a copy to the mbarrier 0, `e0` an arrival that expects bytes there, `a0` an arrival
    /// that does not, `d0` a delivery, and `w0` a wait. Capital letters stand for places that are
    /// further by a number of the launch.
    fn moved(text: &str) -> String {
        let number = |n: u32| Number::constant(i128::from(n));
        let lines = text.split(' ').map(|word| {
            let place: u32 = word[1..].parse().unwrap();
            let by_launch = word.starts_with(char::is_uppercase);
            let from = match by_launch {
                true => Number::of(Atomic::Input(0)),
                false => Number::default(),
            };
            let object = Object {
                rank: 0,
                variable: VariableId(0),
                offset: from.plus(&number(place)).unwrap(),
            };
            let action = match word[..1].to_lowercase().as_str() {
                "c" => Action::Copy {
                    object,
                    bytes: Some(number(16)),
                },
                "e" => Action::ArriveExpect {
                    object,
                    bytes: number(16),
                },
                "d" => Action::Complete {
                    object,
                    bytes: number(16),
                },
                "a" => Action::Arrive {
                    object,
                    count: number(1),
                },
                _ => Action::Wait {
                    object,
                    parity: number(0),
                },
            };
            Line::Action {
                action,
                location: Location::default(),
            }
        });
        let mut lines: Vec<Line> = lines.collect();
        move_copies_after_expect(&mut lines);
        let shown = |letter: &str, object: &Object| {
            let letter = match object.offset.parts.is_empty() {
                true => letter.to_owned(),
                false => letter.to_uppercase(),
            };
            format!("{letter}{}", object.offset.constant)
        };
        let word = |line: &Line| match line {
            Line::Action { action, .. } => match action {
                Action::Copy { object, .. } => shown("c", object),
                Action::ArriveExpect { object, .. } => shown("e", object),
                Action::Arrive { object, .. } => shown("a", object),
                Action::Complete { object, .. } => shown("d", object),
                Action::Wait { object, .. } => shown("w", object),
                _ => String::new(),
            },
            _ => String::new(),
        };
        lines.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn copies_stand_behind_the_arrival_that_expects_them() {
        assert_eq!(moved("c0 c0 e0 w0"), "e0 c0 c0 w0");
        assert_eq!(moved("c0 c8 a16 e0 e8"), "a16 e0 c0 e8 c8");
    }

    /// The arrival may complete the phase from which the copy takes its bytes.
    #[test]
    fn copies_in_front_of_another_arrival_of_their_member_stay_where_they_are() {
        assert_eq!(moved("c0 a0 a0 e0 w0"), "c0 a0 a0 e0 w0");
        assert_eq!(moved("c0 a8 a0 e0"), "c0 a8 a0 e0");
        // The expectation does not need the copy.
        assert_eq!(moved("d0 c0 e0"), "d0 c0 e0");
        assert_eq!(moved("d8 c0 e0"), "d8 e0 c0");
        // The place depends on the launch, so it may be the same mbarrier.
        assert_eq!(moved("c0 A8 e0"), "c0 A8 e0");
        assert_eq!(moved("c0 E8 e0"), "c0 E8 e0");
        assert_eq!(moved("C0 A8 E0"), "A8 E0 C0");
    }

    #[test]
    fn copies_of_another_phase_stay_where_they_are() {
        assert_eq!(moved("e0 c0 e0"), "e0 c0 e0");
        assert_eq!(moved("c0 w0 e0"), "c0 w0 e0");
        assert_eq!(moved("c0 w8 c8 e8"), "c0 w8 e8 c8");
        assert_eq!(moved("c0 e8"), "c0 e8");
    }
}
