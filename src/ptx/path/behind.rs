//! Rings that wrap at the beginning of an iteration: `if (q == S) { q = 0; p ^= 1; } ..; q++`. Between two iterations the
//! stage is from 1 to `S`, or 0 before the first one. After `c` iterations it is `(c - 1) % S + 1`, and the bit has
//! flipped `(c - 1) / S` times. For `c = 0` both are 0.

use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;

/// How far a ring of `size` places is that has done `step * i` rounds more than at first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ptx) struct Behind {
    /// The place at first, which is as good as the number of rounds.
    pub first: Sum,
    pub step: Sum,
    pub size: i128,
}

impl Behind {
    /// The ring of this size that goes on like this from each place; none if it is none.
    pub fn of(first: &Sum, size: i128, next: &dyn Fn(i128) -> Option<i128>) -> Option<Behind> {
        let step = next(0)?;
        let agrees = |place: i128| next(place) == Some((place - 1 + step).rem_euclid(size) + 1);
        (size > 1 && step > 0 && (0..=size).all(agrees)).then(|| Behind {
            first: first.clone(),
            step: Sum::of(step),
            size,
        })
    }

    /// The ring of which this is the place in the next round, and `own` the one in this.
    pub fn after(first: &Sum, next: &Sum, own: &Sum) -> Option<Behind> {
        let (Atom::Choice(condition, yes, no), 1) = next.single()? else {
            return None;
        };
        let Condition::Zero(done) = &**condition else {
            return None;
        };
        let (dividend, size, 1, left) = no.remainder()? else {
            return None;
        };
        let found = yes.as_constant() == Some(0)
            && left.as_constant() == Some(1)
            && *dividend == done.plus_constant(-1);
        found.then(|| Behind {
            first: first.clone(),
            step: done.minus(own),
            size,
        })
    }

    /// How often the ring wraps around from a place to the next round's, with this step.
    pub fn turned(&self, place: i128, step: i128) -> i128 {
        (place.max(1) - 1 + step - i128::from(place == 0)).div_euclid(self.size)
    }

    fn done(&self, index: &Sum) -> Sum {
        self.first.plus(&self.step.times(index))
    }

    /// The place when iteration `index` begins.
    pub fn place(&self, index: &Sum, facts: &Facts) -> Option<Sum> {
        self.later(index, facts, &|done, facts| {
            let before = facts.modulo(&done.plus_constant(-1), &Sum::of(self.size))?;
            Some(before.plus_constant(1))
        })
    }

    /// How often it has wrapped around by then.
    pub fn turns(&self, index: &Sum, facts: &Facts) -> Option<Sum> {
        self.later(index, facts, &|done, facts| {
            facts.quotient(&done.plus_constant(-1), &Sum::of(self.size))
        })
    }

    /// 0 before the first round, and this later.
    fn later(
        &self,
        index: &Sum,
        facts: &Facts,
        value: &dyn Fn(&Sum, &Facts) -> Option<Sum>,
    ) -> Option<Sum> {
        let done = self.done(index);
        self.split(&done, facts, value)
    }

    fn split(
        &self,
        done: &Sum,
        facts: &Facts,
        value: &dyn Fn(&Sum, &Facts) -> Option<Sum>,
    ) -> Option<Sum> {
        // Where the ring itself began before the first round or after it.
        if let Some(zero) = facts.beginning(&[done]) {
            let [begun, going] = facts.apart(&zero);
            let yes = self.split(&begun.decided(done, &zero, true), &begun, value)?;
            let no = self.split(&going.decided(done, &zero, false), &going, value)?;
            let condition = Condition::Zero((*zero).clone());
            return Some(facts.choice(&condition, &yes, &no));
        }
        if !facts.is_positive(done) {
            return None;
        }
        if facts.is_positive(&done.plus_constant(-1)) {
            return value(done, facts);
        }
        let [_, later] = facts.apart(done);
        let value = value(done, &later)?;
        Some(facts.choice(&Condition::Zero(done.clone()), &Sum::of(0), &value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The formulas against the loop itself, for rings, steps and places at first.
    #[test]
    fn formulas_follow_the_loop() {
        let facts = Facts::default();
        for size in 2..6 {
            for step in 1..7 {
                for first in 0..=size {
                    let round = |mut place: i128, mut turns: i128| {
                        for _ in 0..step {
                            if place == size {
                                (place, turns) = (0, turns + 1);
                            }
                            place += 1;
                        }
                        (place, turns)
                    };
                    let next = |place| Some(round(place, 0).0);
                    let ring = Behind::of(&Sum::of(first), size, &next).unwrap();
                    let found = ring.step.as_constant().unwrap();
                    assert_eq!(found % size, step % size);
                    let ring = Behind {
                        step: Sum::of(step),
                        ..ring
                    };
                    let (mut place, mut turns) = (first, 0);
                    for index in 0..9 {
                        let index = Sum::of(index);
                        assert_eq!(ring.place(&index, &facts), Some(Sum::of(place)));
                        assert_eq!(ring.turns(&index, &facts), Some(Sum::of(turns)));
                        assert_eq!(ring.turned(place, step), round(place, 0).1);
                        (place, turns) = round(place, turns);
                    }
                }
            }
        }
    }
}
