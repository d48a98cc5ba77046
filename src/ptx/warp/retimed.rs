//! Tests of mbarriers inside values, with the time of each test. A later test may succeed where an earlier one failed.

use std::hash::DefaultHasher;
use std::hash::Hash as _;
use std::hash::Hasher as _;
use std::rc::Rc;

use super::facts::Facts;
use super::term::Atom;
use super::term::Condition;
use super::term::Sum;
use super::term::Test;

/// One of two tests of the same thing, under a condition: a test at a time of its own, since it is that of neither
/// wherever the other is meant.
pub(super) fn either_test(condition: &Condition, yes: &Sum, no: &Sum) -> Sum {
    let mut hasher = DefaultHasher::new();
    format!("{condition:?} {yes:?} {no:?}").hash(&mut hasher);
    let mark = hasher.finish();
    no.retimed(&|_| mark)
}

impl Sum {
    /// What a round of a loop finds that the round before has left: tests that it made are others than those of this
    /// round.
    pub fn earlier(&self) -> Sum {
        self.retimed(&|time| time.rotate_left(1) ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// The sum with the tests in it made at other times.
    fn retimed(&self, time: &dyn Fn(u64) -> u64) -> Sum {
        if !self.tests(&|_| true) {
            return self.clone();
        }
        let mut all = Sum::of(self.constant);
        for (atom, factor) in &self.terms {
            let one = match atom {
                Atom::Choice(condition, a, b) => Atom::Choice(
                    Rc::new(retimed(condition, time)),
                    Rc::new(a.retimed(time)),
                    Rc::new(b.retimed(time)),
                ),
                other => other.clone(),
            };
            all = all.plus_times(&Sum::atom(one), *factor);
        }
        all
    }
}

fn retimed(condition: &Condition, time: &dyn Fn(u64) -> u64) -> Condition {
    match condition {
        Condition::Passed(test) => Condition::passed(Test {
            time: time(test.time),
            ..(**test).clone()
        }),
        Condition::Not(inner) => retimed(inner, time).negated(),
        Condition::And(a, b) => retimed(a, time).and(retimed(b, time)),
        other => other.clone(),
    }
}

/// Whether two conditions are about the same test, whenever it is made, as far as is known here.
pub(in crate::ptx) fn alike(a: &Condition, b: &Condition, facts: &Facts) -> bool {
    match (a, b) {
        (Condition::Passed(a), Condition::Passed(b)) => {
            let parity = match (&a.parity, &b.parity) {
                (Some(a), Some(b)) => facts.same(a, b),
                (a, b) => a == b,
            };
            parity && a.memory == b.memory && facts.same(&a.barrier, &b.barrier)
        }
        (Condition::Not(a), Condition::Not(b)) => alike(a, b, facts),
        (a, b) => a == b,
    }
}
