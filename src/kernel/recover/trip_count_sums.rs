//! Trip counts of loops that add up to another number.
//!
//! For example, two loops execute `X` rounds together: `max(0, X - y)` and `min(X, y)` rounds.
//! These two numbers become inputs, and `X` becomes their sum:
//!
//! - `max(0, X - y) + min(X, y) = X` for all integers `X` and `y`, since
//!   `max(0, X - y) = X - min(X, y)`;
//! - if `X` and `y` are at least 0, both are at least 0, and neither is greater than `X`.
//!
//! So whatever the protocol does for some `X` and `y`, it does for some values of the two inputs.
//! Proofs then need no cases. A number that also occurs in another way is left as it is.

use std::cell::Cell;
use std::collections::BTreeSet;

use crate::recover::lower::Inputs;
use crate::recover::lower::Origin;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::rewrite::conditions;
use crate::recover::rewrite::numbers;
use crate::recover::rewrite::replace;
use crate::recover::role_ir::Role;

/// Replaces trip counts by their parts, and what they add up to by the sum.
pub fn split_trip_counts(roles: &mut [Role], inputs: &mut Inputs) {
    // Each may itself be a part of another one.
    while let Some(changed) = candidates(roles)
        .into_iter()
        .find_map(|parts| parts.applied(roles, inputs))
    {
        roles.clone_from_slice(&changed);
    }
}

/// `max(0, whole - limit)` and `min(whole, limit)`.
struct Parts {
    whole: Atomic,
    limit: u32,
    above: Atomic,
    below: Atomic,
}

/// The numbers of which both parts occur.
fn candidates(roles: &[Role]) -> Vec<Parts> {
    let mut all = BTreeSet::new();
    each(roles, &mut |atomic| {
        all.insert(atomic.clone());
    });
    let mut found = Vec::new();
    for below in &all {
        let Atomic::Minimum(a, b) = below else {
            continue;
        };
        for (whole, limit) in [(a, b), (b, a)] {
            let (Some(one), Some(Atomic::Input(input))) = (single(whole), single(limit)) else {
                continue;
            };
            let above = whole
                .minus(limit)
                .map(|rest| Number::maximum(Number::constant(0), rest));
            if let Some(above) = above
                && let Some(above) = single(&above)
                && all.contains(above)
            {
                found.push(Parts {
                    whole: one.clone(),
                    limit: *input,
                    above: above.clone(),
                    below: below.clone(),
                });
            }
        }
    }
    found
}

/// The atomic that a number consists of.
fn single(number: &Number) -> Option<&Atomic> {
    let mut parts = number.parts.iter();
    match (parts.next(), parts.next(), number.constant) {
        (Some((atomic, 1)), None, 0) => Some(atomic),
        _ => None,
    }
}

/// Calls `with` for every atomic of roles.
fn each(roles: &[Role], with: &mut dyn FnMut(&Atomic)) {
    for role in roles {
        let mut lines = role.lines.clone();
        numbers(&mut lines, &mut |number| number.each(with));
        conditions(&mut lines, &mut |condition: &mut Condition| {
            condition.each(&mut |number| number.each(with));
        });
    }
}

impl Parts {
    /// The roles over the parts. `None` if the whole, or its limit, also occurs in another way.
    fn applied(&self, roles: &[Role], inputs: &mut Inputs) -> Option<Vec<Role>> {
        // What changes between iterations is no number of the launch.
        let moves = |atomic: &Atomic| matches!(atomic, Atomic::Index(_) | Atomic::Variable(_));
        if Number::of(self.whole.clone()).mentions(&moves) {
            return None;
        }
        let mut behind = BTreeSet::from([self.limit]);
        Number::of(self.whole.clone()).each(&mut |atomic| {
            if let Atomic::Input(input) = atomic {
                behind.insert(*input);
            }
        });
        let number = |atomic: &Atomic| Number::of(atomic.clone());
        let range = |atomic: &Atomic| {
            number(atomic).range(&|atomic| match atomic {
                Atomic::Input(input) => Some(inputs.all.get(*input as usize)?.range),
                _ => None,
            })
        };
        // At launches both are at least 0, and so are the parts.
        let (whole, limit) = (range(&self.whole)?, range(&Atomic::Input(self.limit))?);
        if whole.0 < 0 || limit.0 < 0 {
            return None;
        }
        let next = u32::try_from(inputs.all.len()).ok()?;
        let (above, below) = (Atomic::Input(next), Atomic::Input(next.checked_add(1)?));
        let sum = number(&above).plus(&number(&below))?;
        let mut changed = roles.to_vec();
        for role in &mut changed {
            replace(&mut role.lines, &|atomic| {
                if *atomic == self.above {
                    Some(number(&above))
                } else if *atomic == self.below {
                    Some(number(&below))
                } else {
                    (*atomic == self.whole).then(|| sum.clone())
                }
            });
        }
        let left = Cell::new(false);
        each(&changed, &mut |atomic| {
            left.set(
                left.get() || matches!(atomic, Atomic::Input(input) if behind.contains(input)),
            );
        });
        if left.get() {
            return None;
        }
        let words: BTreeSet<_> = behind
            .iter()
            .flat_map(|input| inputs.words[*input as usize].iter().copied())
            .collect();
        let ranges = [(0, whole.1), (0, whole.1.min(limit.1))];
        let suffixes = ["rest", "part"];
        let name = inputs.all[self.limit as usize].name.clone();
        let meaning = self.meaning(&behind, inputs);
        for ((of, range), suffix) in [&self.above, &self.below]
            .into_iter()
            .zip(ranges)
            .zip(suffixes)
        {
            let origin = Origin::Number(number(of));
            let name = format!("{name}_{suffix}");
            inputs.add(name, meaning.clone(), words.clone(), range, origin);
        }
        Some(changed)
    }

    /// What the parts are computed from.
    fn meaning(&self, behind: &BTreeSet<u32>, inputs: &Inputs) -> String {
        const COMPUTED: &str = "computed from ";
        let mut of: Vec<&str> = Vec::new();
        for input in behind {
            let meaning = &inputs.all[*input as usize].meaning;
            let parts = meaning.strip_prefix(COMPUTED).unwrap_or(meaning);
            for part in parts.split(", ") {
                if !of.contains(&part) {
                    of.push(part);
                }
            }
        }
        format!("{COMPUTED}{}", of.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Location;
    use crate::recover::role_ir::Line;

    fn roles(counts: &[Number]) -> Vec<Role> {
        let lines = counts.iter().zip(0..).map(|(count, index)| Line::For {
            index,
            count: count.clone(),
            body: Vec::new(),
            location: Location::default(),
        });
        vec![Role {
            rank: 0,
            warps: vec![0],
            lines: lines.collect(),
        }]
    }

    fn counts(roles: &[Role]) -> Vec<Number> {
        let lines = roles[0].lines.iter();
        let count = |line: &Line| match line {
            Line::For { count, .. } => count.clone(),
            _ => panic!("{line:?}"),
        };
        lines.map(count).collect()
    }

    fn inputs(ranges: &[(i128, i128)]) -> Inputs {
        let mut inputs = Inputs::default();
        for range in ranges {
            let name = "computed".to_owned();
            let origin = Origin::Granted;
            inputs.add(
                name,
                "computed from n".to_owned(),
                BTreeSet::new(),
                *range,
                origin,
            );
        }
        inputs
    }

    /// `X`, `max(0, X - y)` and `min(X, y)`.
    fn three() -> [Number; 3] {
        let [x, y] = [0, 1].map(|input| Number::of(Atomic::Input(input)));
        let above = Number::maximum(Number::constant(0), x.minus(&y).unwrap());
        [x.clone(), above, Number::minimum(x, y)]
    }

    #[test]
    fn the_parts_have_the_values_that_they_have_and_add_up() {
        let mut inputs = inputs(&[(0, 9), (0, 9)]);
        let before = three();
        let mut changed = roles(&before);
        split_trip_counts(&mut changed, &mut inputs);
        let after = counts(&changed);
        assert_ne!(after, before);
        for (x, y) in (0..10).flat_map(|x| (0..10).map(move |y| (x, y))) {
            let old = |atomic: &Atomic| match atomic {
                Atomic::Input(0) => Some(x),
                Atomic::Input(1) => Some(y),
                _ => None,
            };
            let new = |atomic: &Atomic| match atomic {
                Atomic::Input(input) => match &inputs.origins[*input as usize] {
                    Origin::Number(number) => number.value(&old),
                    _ => None,
                },
                _ => None,
            };
            for (one, other) in before.iter().zip(&after) {
                assert_eq!(one.value(&old), other.value(&new), "{x} {y} {other:?}");
            }
            for input in &inputs.all[2..] {
                assert!(
                    input.range.0 == 0 && input.range.1 == 9,
                    "{:?}",
                    input.range
                );
            }
        }
    }

    #[test]
    fn what_occurs_otherwise_or_may_be_negative_stays() {
        let [x, above, below] = three();
        let y = Number::of(Atomic::Input(1));
        let twice = x.times(2).unwrap();
        for (all, ranges) in [
            (
                vec![x.clone(), above.clone(), below.clone(), y],
                [(0, 9), (0, 9)],
            ),
            (vec![x.clone(), below.clone()], [(0, 9), (0, 9)]),
            (vec![x, above.clone(), below.clone()], [(-1, 9), (0, 9)]),
            (vec![twice, above, below], [(0, 9), (-1, 9)]),
        ] {
            let mut changed = roles(&all);
            split_trip_counts(&mut changed, &mut inputs(&ranges));
            assert_eq!(counts(&changed), all);
        }
    }
}
