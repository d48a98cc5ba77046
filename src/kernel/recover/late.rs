//! Copies that are issued before the arrival that expects their bytes are written behind it.
//!
//! Hardware takes both orders: the bytes that a phase expects may be less than 0 for a while. Proof rules count bytes
//! from their expectation on.
//!
//! The two orders have the same stuck states. Between the copy and the arrival the member does not block. Where no phase
//! of the mbarrier completes in between, what the copy delivers is not seen by anybody before the arrival, so each run
//! of one order is a run of the other. Where a phase does complete in between, others have made all of its arrivals, so
//! in the order that is written this member's arrival is one too many: the protocol does something undefined, and is
//! not proved.

use crate::recover::sketch::Action;
use crate::recover::sketch::Line;
use crate::recover::sketch::Object;

/// Moves copies behind their expectations.
pub fn behind_expectations(lines: &mut [Line]) {
    for block in lines.iter_mut().flat_map(Line::blocks_mut) {
        behind_expectations(block);
    }
    // The last copies first, so that those of one phase stay in their order.
    for at in (0..lines.len()).rev() {
        let Line::Action {
            action: Action::Copy { object, .. },
            ..
        } = &lines[at]
        else {
            continue;
        };
        let nobody = expectation(lines[..at].iter().rev(), object).is_none();
        let behind = expectation(lines[at + 1..].iter(), object);
        if let Some(behind) = behind.filter(|_| nobody) {
            lines[at..=at + 1 + behind].rotate_left(1);
        }
    }
}

/// How many lines before it stands an expectation of an mbarrier, with nothing in front of it that blocks or that
/// depends on copies.
fn expectation<'a>(lines: impl Iterator<Item = &'a Line>, object: &Object) -> Option<usize> {
    for (at, line) in lines.enumerate() {
        let Line::Action { action, .. } = line else {
            return None;
        };
        match action {
            Action::ArriveExpect { object: other, .. } if other == object => return Some(at),
            // A warp in step does not wait at the mark of an arrival.
            Action::Copy { .. }
            | Action::Arrive { .. }
            | Action::ArriveExpect { .. }
            | Action::Round { .. } => {}
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Location;
    use crate::ir::VariableId;
    use crate::recover::number::Number;

    /// `c0` is a copy to the mbarrier 0, `e0` an arrival that expects bytes there, `w0` a wait.
    fn moved(text: &str) -> String {
        let number = |n: u32| Number::constant(i128::from(n));
        let lines = text.split(' ').map(|word| {
            let place: u32 = word[1..].parse().unwrap();
            let object = Object {
                rank: 0,
                variable: VariableId(0),
                offset: number(place),
            };
            let action = match &word[..1] {
                "c" => Action::Copy {
                    object,
                    bytes: Some(number(16)),
                },
                "e" => Action::ArriveExpect {
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
        behind_expectations(&mut lines);
        let word = |line: &Line| match line {
            Line::Action { action, .. } => match action {
                Action::Copy { object, .. } => format!("c{}", object.offset.constant),
                Action::ArriveExpect { object, .. } => format!("e{}", object.offset.constant),
                Action::Arrive { object, .. } => format!("a{}", object.offset.constant),
                Action::Wait { object, .. } => format!("w{}", object.offset.constant),
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

    #[test]
    fn copies_of_another_phase_stay_where_they_are() {
        assert_eq!(moved("e0 c0 e0"), "e0 c0 e0");
        assert_eq!(moved("c0 w0 e0"), "c0 w0 e0");
        assert_eq!(moved("c0 w8 c8 e8"), "c0 w8 e8 c8");
        assert_eq!(moved("c0 e8"), "c0 e8");
    }
}
