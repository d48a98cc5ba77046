//! Recognises the remainder iterations of an unrolled loop, if they are written as nested branches.
//!
//! For example, a loop of `4 * (x / 4)` rounds is followed by `if x % 4 != 0 { round; if x % 4 != 1
//! { round; .. } }`. Each possible value of `x % 4` is put in by itself. Then the branches are
//! decided. The lines that are executed have to be as many rounds of the loop, with the same values
//! of variables behind them.

use std::collections::BTreeMap;

use crate::recover::alike::same;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::rewrite::replace;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::assigned;
use crate::recover::role_ir::returns;

/// Loops that are unrolled more often are not looked at.
pub const MOST: i128 = 16;

/// Whether a branch executes the rounds that are left over: `inner % divisor` of them. `round`
/// gives the lines of each of these rounds. The number of rounds before them is assumed not to be
/// negative.
pub fn are_rounds(
    behind: &Line,
    (inner, divisor): (&Number, i128),
    round: &dyn Fn(i128) -> Option<Vec<Line>>,
) -> bool {
    if !(2..=MOST).contains(&divisor) {
        return false;
    }
    let Some(left) = inner.remainder(divisor) else {
        return false;
    };
    let mut parts = left.parts.iter();
    let (Some((left, 1)), None, 0) = (parts.next(), parts.next(), left.constant) else {
        return false;
    };
    let fits = |times: i128| {
        let mut rest = vec![behind.clone()];
        replace(&mut rest, &|atomic| {
            (atomic == left).then(|| Number::constant(times))
        });
        let mut all = Vec::new();
        for number in 0..times {
            all.extend(round(number)?);
        }
        let (done, wanted) = (Straight::of(&rest)?, Straight::of(&all)?);
        Some(same(&done.lines, &wanted.lines) && done.variables == wanted.variables)
    };
    (0..divisor).all(|times| fits(times) == Some(true))
}

/// Straight-line code without its assignments. Its numbers are over the values of variables before
/// it, and `variables` has the values behind it.
#[derive(Default)]
struct Straight {
    lines: Vec<Line>,
    variables: BTreeMap<u32, Number>,
}

impl Straight {
    fn of(lines: &[Line]) -> Option<Self> {
        let mut straight = Self::default();
        straight.block(lines)?;
        Some(straight)
    }

    fn block(&mut self, lines: &[Line]) -> Option<()> {
        for line in lines {
            let known = |atomic: &Atomic| match atomic {
                Atomic::Variable(variable) => self.variables.get(variable).cloned(),
                _ => None,
            };
            if let Line::If {
                condition,
                then,
                otherwise,
                ..
            } = line
                && let Condition::Constant(holds) = condition.replaced(&known)?
            {
                self.block(if holds { then } else { otherwise })?;
                continue;
            }
            let mut line = [line.clone()];
            replace(&mut line, &known);
            let [line] = line;
            match line {
                Line::Assign { variable, value } => {
                    if value == Number::of(Atomic::Variable(variable)) {
                        self.variables.remove(&variable);
                    } else {
                        self.variables.insert(variable, value);
                    }
                }
                Line::Let { .. } | Line::Return => return None,
                line => {
                    let one = std::slice::from_ref(&line);
                    if returns(one) || !assigned(one).is_empty() {
                        return None;
                    }
                    self.lines.push(line);
                }
            }
        }
        Some(())
    }
}
