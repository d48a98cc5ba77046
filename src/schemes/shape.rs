//! What the lock values at one row tile allow, whatever else happens.
//!
//! At a row tile with k visitors the semaphore starts at 0 and rises by one per visitor that
//! has passed its wait. A visitor with lock v passes when it is exactly v. Sort the values:
//! `v_0 <= v_1 <= ...`. A visitor that passes at v has v increments before it, made by visitors
//! that passed at v or below. So
//!
//! - if some `v_i > i` (or a value is negative), fewer than `v_i` visitors have a lower turn,
//!   the semaphore never gets there while it matters, and that visitor passes in no schedule;
//! - if the values are exactly 0, 1, ..., k-1, each turn has one owner and one predecessor, and
//!   nothing here depends on the schedule;
//! - otherwise some value occurs twice. When one of its owners increments before the other has
//!   looked, the other waits for a value that is gone; when both look first, both pass. The
//!   schedule decides.

use super::visits::Turn;

/// What the lock values at one row tile are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Exactly 0, 1, ..., k-1.
    Turns,
    /// A visitor waits for a value that the semaphore cannot have when it is needed: no visitor
    /// has the turn `missing`, or a value is negative.
    Gap {
        /// The lock that never passes.
        lock: i64,
        /// The least turn that nobody has.
        missing: i64,
    },
    /// A value that occurs more than once, the least such; no gap makes it hopeless.
    Repeated {
        /// The value.
        lock: i64,
    },
}

impl Shape {
    /// The shape of some turns, and the least value that two of them share: from it on the
    /// schedule matters. `scratch` is overwritten.
    pub(super) fn of(turns: &[Turn], scratch: &mut Vec<i64>) -> (Shape, Option<i64>) {
        scratch.clear();
        scratch.extend(turns.iter().map(|turn| turn.lock));
        scratch.sort_unstable();
        let negative = scratch.first().copied().filter(|lock| *lock < 0);
        let pair = scratch.windows(2).find(|pair| pair[0] == pair[1]);
        let repeated = pair.map(|pair| pair[0]);
        let early = (0..).zip(scratch.iter()).find(|(at, lock)| *lock > at);
        if let Some(lock) = negative.or(early.map(|(_, lock)| *lock)) {
            let mut missing = 0;
            for lock in scratch.iter() {
                if *lock == missing {
                    missing += 1;
                }
            }
            return (Shape::Gap { lock, missing }, repeated);
        }
        let shape = match repeated {
            Some(lock) => Shape::Repeated { lock },
            None => Shape::Turns,
        };
        (shape, repeated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(locks: &[i64]) -> Shape {
        let turns: Vec<Turn> = (0..)
            .zip(locks)
            .map(|(n, lock)| Turn {
                n,
                place: 0,
                lock: *lock,
            })
            .collect();
        Shape::of(&turns, &mut Vec::new()).0
    }

    #[test]
    fn values_tell_what_can_happen() {
        assert_eq!(shape(&[]), Shape::Turns);
        assert_eq!(shape(&[2, 0, 1]), Shape::Turns);
        assert_eq!(
            shape(&[2, 3]),
            Shape::Gap {
                lock: 2,
                missing: 0
            }
        );
        assert_eq!(
            shape(&[0, 0, 3]),
            Shape::Gap {
                lock: 3,
                missing: 1
            }
        );
        assert_eq!(
            shape(&[0, -1]),
            Shape::Gap {
                lock: -1,
                missing: 1
            }
        );
        assert_eq!(shape(&[0, 1, 1]), Shape::Repeated { lock: 1 });
        assert_eq!(shape(&[0, 0, 2]), Shape::Repeated { lock: 0 });
    }
}
