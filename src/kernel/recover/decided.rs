//! Branches that the ranges of inputs decide.
//!
//! What a warp computes may narrow the range of an input, so that nothing wraps around. The range holds for all warps, also for those
//! that were lowered before. So a condition of theirs may be decided by now, as it was in the warps that came later. Sound because the
//! ranges are those that the verdict is about: both sides say the same where the condition is decided.

use crate::recover::branches::Ranges;
use crate::recover::branches::decided;
use crate::recover::role_ir::Line;

/// Replaces branches by the side that is taken whatever the inputs are.
pub fn settle_branches(lines: &mut Vec<Line>, ranges: &Ranges) {
    let mut all = Vec::new();
    for mut line in std::mem::take(lines) {
        for block in line.blocks_mut() {
            settle_branches(block, ranges);
        }
        match line {
            Line::If {
                condition,
                then,
                otherwise,
                location,
            } => match decided(&condition, ranges) {
                Some(true) => all.extend(then),
                Some(false) => all.extend(otherwise),
                None => all.push(Line::If {
                    condition,
                    then,
                    otherwise,
                    location,
                }),
            },
            line => all.push(line),
        }
    }
    *lines = all;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Location;
    use crate::recover::number::Atomic;
    use crate::recover::number::Condition;
    use crate::recover::number::Number;

    #[test]
    fn branches_that_ranges_decide() {
        let n = Number::of(Atomic::Input(0));
        let ranges = Ranges::from([(Atomic::Input(0), (0, 9))]);
        let at_least = |least: i128| {
            let more = n.minus(&Number::constant(least));
            Condition::AtLeastZero(more.unwrap_or_default())
        };
        let is = |number: i128| {
            let rest = n.minus(&Number::constant(number));
            Condition::NotZero(rest.unwrap_or_default())
        };
        let found = |condition: Condition| {
            let mut lines = vec![Line::If {
                condition,
                then: vec![Line::Return],
                otherwise: Vec::new(),
                location: Location::default(),
            }];
            settle_branches(&mut lines, &ranges);
            lines
        };
        let taken = [Line::Return];
        assert_eq!(found(at_least(0)), taken);
        assert_eq!(found(is(10)), taken);
        assert_eq!(found(Condition::and(is(-1), at_least(-1))), taken);
        assert_eq!(found(at_least(10)), []);
        assert_eq!(found(Condition::and(is(5), at_least(10))), []);
        for open in [
            at_least(1),
            at_least(9),
            is(0),
            is(9),
            Condition::or(is(0), at_least(10)),
        ] {
            assert!(matches!(found(open)[..], [Line::If { .. }]));
        }
        let of_loop = Condition::AtLeastZero(Number::of(Atomic::Index(0)));
        assert!(matches!(found(of_loop)[..], [Line::If { .. }]));
    }
}
