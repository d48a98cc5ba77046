//! What follows from the lock values at one row tile alone, in every schedule.
//!
//! At a row tile with k visitors, the semaphore starts at 0. It rises by one for each visitor that has passed its
//! wait. A visitor with lock v passes when the value is exactly v. Sort the values: `v_0 <= v_1 <= ...`. When a
//! visitor passes at v, there have been v increments, made by visitors that passed at values below v or equal to v.
//! There are three cases.
//!
//! - If some `v_i > i` (or a value is negative), fewer than `v_i` visitors have a lower turn. So the semaphore does
//!   not reach `v_i` while it matters, and this visitor passes in no schedule.
//! - If the values are exactly 0, 1, ..., k-1, each turn has one owner and one predecessor. Nothing here depends on
//!   the schedule.
//! - Otherwise some value occurs twice. If one of its owners increments before the other one has looked, the other
//!   one waits for a value that is gone. If both look first, both pass. So the schedule decides.

use super::visits::Turn;

/// The kinds of lock values at one row tile.
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
    /// Some value occurs more than once, and this is the least such value. There is no gap.
    Repeated {
        /// The value.
        lock: i64,
    },
}

impl Shape {
    /// The shape of some turns, and the least value that two of them share. From this value on, the schedule matters.
    /// `scratch` is overwritten.
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
