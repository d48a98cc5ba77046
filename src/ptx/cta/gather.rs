//! Loops that the compiler has written out several times over, with the rest as branches: `n / 8` rounds of eight
//! copies, and then four, two and one more, as `n % 8` says. Where that is `n` times the same, it is written as one loop.
//!
//! What one round does is guessed place by place, as a function of the round's number, from the copies in the loop (`copies.rs`). That
//! the branches and loops together are `n` such rounds in a row is then compared, statement by statement, for every remainder of `n` by
//! the number of copies, once with no round of the loop and once with any number of them: then every branch is decided. What holds
//! where the block stands is known there, so an `n` with which it is not come to does not matter. Nothing is taken over that
//! was not compared.
//!
//! A round may do something under a condition on its number, as all but the first give a stage back. The compiler has decided that
//! in some copies; a round is compared as it is where it stands, with what is decided there.

use std::cell::Cell;

use super::copies::Loop;
use super::copies::bare;
use super::copies::general;
use super::copies::leaf;
use super::copies::singly;
use super::copies::together;
use super::program::each;
use super::program::numbered;
use super::reroll::MOST_COPIES;
use super::reroll::parities;
use crate::deadline;
use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::Unknowns;
use crate::ptx::warp::rewrite::mapped;
use crate::ptx::warp::rewrite::replaced;
use crate::ptx::warp::rewrite::simplified;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;

/// The most statements of a block that are taken together.
const MOST_TOGETHER: usize = 4;

/// The statements with such loops put together: from outside, and what is left then from inside.
pub(in crate::ptx) fn gathered(
    statements: Vec<Statement>,
    unknowns: &mut Unknowns,
) -> Vec<Statement> {
    inside(statements, unknowns, &mut Vec::new())
}

/// The same where conditions hold.
fn inside(
    mut statements: Vec<Statement>,
    unknowns: &mut Unknowns,
    holding: &mut Vec<Condition>,
) -> Vec<Statement> {
    regions(&mut statements, unknowns, holding);
    let mut all = Vec::new();
    for mut statement in statements {
        match &mut statement.action {
            Action::For(_, _, body) => *body = inside(std::mem::take(body), unknowns, holding),
            Action::If(condition, yes, no) => {
                for (side, holds) in [
                    (&mut *yes, condition.clone()),
                    (&mut *no, condition.negated()),
                ] {
                    holding.push(holds);
                    *side = inside(std::mem::take(side), unknowns, holding);
                    holding.pop();
                }
                if let Some(either) = alike(condition, yes, no, &unknowns.1) {
                    all.extend(either);
                    continue;
                }
            }
            _ => {}
        }
        all.push(statement);
    }
    regions(&mut all, unknowns, holding);
    all
}

/// Puts loops together that lie in a row in a block.
fn regions(all: &mut Vec<Statement>, unknowns: &mut Unknowns, holding: &[Condition]) {
    let mut first = 0;
    // What is left when the time is up is not what was asked for, see `lift`.
    while first < all.len() && !deadline::over() {
        let most = MOST_TOGETHER.min(all.len() - first);
        let found = (1..=most).rev().find_map(|length| {
            let region = all.get(first..first + length)?;
            Some((length, whole(region, unknowns, holding)?))
        });
        if let Some((length, one)) = found {
            all.splice(first..first + length, [one]);
        }
        first += 1;
    }
}

/// What both sides of a branch do, if that is the same, or loops that run no time on the other side.
fn alike(
    condition: &Condition,
    yes: &[Statement],
    no: &[Statement],
    facts: &Facts,
) -> Option<Vec<Statement>> {
    if numbered(yes) == numbered(no) {
        return Some(yes.to_vec());
    }
    let loops = yes.iter().all(|s| matches!(s.action, Action::For(..)));
    let mut without = facts.clone();
    without.assume(&condition.negated());
    (no.is_empty() && loops && simplified(yes, &without).is_empty()).then(|| yes.to_vec())
}

/// How often something is done: `(base + added) / by`, rounded down.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Times {
    base: Unknown,
    added: i128,
    by: i128,
}

impl Times {
    /// What a sum is, if it is no more than that.
    fn of(sum: &Sum) -> Option<Times> {
        let plain = |sum: &Sum| match sum.terms.iter().collect::<Vec<_>>().as_slice() {
            [(Atom::Unknown(base), 1)] => Some((*base, sum.constant)),
            _ => None,
        };
        if let Some((base, added)) = plain(sum) {
            return Some(Times { base, added, by: 1 });
        }
        let [(Atom::Quotient(dividend, divisor), 1)] = sum.terms.iter().collect::<Vec<_>>()[..]
        else {
            return None;
        };
        let by = divisor.as_constant().filter(|by| *by > 0)?;
        // Rounding down twice is rounding down once, and whole multiples of the divisor may be added before.
        let inner = Times::of(dividend)?;
        let by = inner.by.checked_mul(by)?;
        let added = inner.added.checked_add(sum.constant.checked_mul(by)?)?;
        Some(Times { added, by, ..inner })
    }

    /// The same, but for several times as much.
    fn over(&self, copies: i128) -> Option<Times> {
        (self.by % copies == 0).then(|| Times {
            by: self.by / copies,
            ..self.clone()
        })
    }

    fn sum(&self, facts: &Facts) -> Option<Sum> {
        let whole = Sum::unknown(self.base).plus_constant(self.added);
        facts.quotient(&whole, &Sum::of(self.by))
    }
}

/// A block of statements as one loop, if it is one.
fn whole(
    region: &[Statement],
    unknowns: &mut Unknowns,
    holding: &[Condition],
) -> Option<Statement> {
    let region = &singly(region);
    // One loop that is not written out is one already.
    let [first, rest @ ..] = region.as_slice() else {
        return None;
    };
    if !matches!(first.action, Action::For(..) | Action::If(..))
        || (rest.is_empty() && matches!(first.action, Action::For(..)))
    {
        return None;
    }
    let mut loops = Vec::new();
    outermost(region, &mut loops);
    for (number, times, body) in loops {
        let Some(found) = Times::of(times) else {
            continue;
        };
        for copies in candidates(&found, region, body.len()) {
            let Some(all) = found.over(copies.written) else {
                continue;
            };
            let of = Loop {
                number,
                body,
                copies: copies.written,
            };
            if deadline::over() {
                return None;
            }
            if let Some(one) = gather(region, (&all, copies.apart), &of, unknowns, holding) {
                return Some(one);
            }
        }
    }
    None
}

/// The loops that are in no other loop.
fn outermost<'s>(statements: &'s [Statement], into: &mut Vec<(Unknown, &'s Sum, &'s [Statement])>) {
    for statement in statements {
        match &statement.action {
            Action::For(number, times, body) => into.push((*number, times, body)),
            Action::If(_, yes, no) => {
                outermost(yes, into);
                outermost(no, into);
            }
            _ => {}
        }
    }
}

/// In how many copies a loop may be written out, and by how much rounds are told apart.
struct Copies {
    written: i128,
    apart: i128,
}

fn candidates(found: &Times, region: &[Statement], length: usize) -> Vec<Copies> {
    let divides = |copies: &i128| usize::try_from(*copies).is_ok_and(|c| length.is_multiple_of(c));
    let mut all: Vec<Copies> = (2..=MOST_COPIES as i128)
        .rev()
        .filter(|copies| found.by % copies == 0 && divides(copies))
        .map(|copies| Copies {
            written: copies,
            apart: copies,
        })
        .collect();
    // A loop of single rounds, of which others are told apart by a remainder.
    let largest = Cell::new(1);
    let look = |sum: &Sum| {
        for atom in sum.terms.keys() {
            let times = Times::of(&Sum::atom(atom.clone()));
            if let Some(times) = times.filter(|t| t.base == found.base && t.by % found.by == 0) {
                let apart = times.by / found.by;
                if apart <= MOST_COPIES as i128 {
                    largest.set(apart.max(largest.get()));
                }
            }
        }
    };
    let inside = |condition: &Condition| {
        each_sum(condition, &look);
        condition.clone()
    };
    mapped(
        region,
        &|sum| {
            look(sum);
            sum.clone()
        },
        &inside,
    );
    all.push(Copies {
        written: 1,
        apart: largest.get(),
    });
    all
}

fn each_sum(condition: &Condition, visit: &dyn Fn(&Sum)) {
    match condition {
        Condition::Constant(_) | Condition::Passed(_) => {}
        Condition::Negative(sum) | Condition::Zero(sum) => visit(sum),
        Condition::Not(inner) => each_sum(inner, visit),
        Condition::And(a, b) | Condition::Or(a, b) => {
            each_sum(a, visit);
            each_sum(b, visit);
        }
    }
}

fn gather(
    region: &[Statement],
    (all, apart): (&Times, i128),
    of: &Loop<'_>,
    unknowns: &mut Unknowns,
    holding: &[Condition],
) -> Option<Statement> {
    let inner = !of.body.iter().all(|s| leaf(s).is_some());
    let mut here = unknowns.1.clone();
    holding.iter().for_each(|condition| here.assume(condition));
    let (least, most) = here.range(&Sum::unknown(all.base));
    // Below 0 rounds something else might be done than nothing.
    if inner || of.body.is_empty() || least + all.added < 0 || most > 1 << 62 {
        return None;
    }
    // What is bound inside says nothing about how often all of it is done.
    let mut bound = false;
    each(region, &mut |s| {
        bound |= matches!(&s.action, Action::For(number, ..) if *number == all.base);
    });
    if bound {
        return None;
    }
    let total = all.sum(&unknowns.1)?;
    let index = unknowns.fresh(Meaning::Iteration(0));
    let last = unknowns.1.range(&total).1.max(1) - 1;
    unknowns.1.bound(index, 0, last);
    let round = Round {
        index,
        body: general(of, index, &unknowns.1)?,
    };
    // Rounds that do nothing could not be counted.
    if !round.body.iter().any(bare) {
        return None;
    }
    let (many, below) = (
        unknowns.fresh(Meaning::Iteration(0)),
        unknowns.fresh(Meaning::Iteration(0)),
    );
    unknowns.1.bound(many, 0, most);
    unknowns.1.bound(below, 0, all.by - 1);
    let compared = (0..apart).all(|rest| {
        [false, true].into_iter().all(|some| {
            let mut facts = unknowns.1.clone();
            let rounds = if some {
                facts.bound(many, 1, most);
                Sum::unknown(many).scaled(apart).plus_constant(rest)
            } else {
                Sum::of(rest)
            };
            let mut base = rounds.scaled(all.by).plus_constant(-all.added);
            if all.by > 1 {
                base = base.plus(&Sum::unknown(below));
            }
            let with = |u: Unknown| (u == all.base).then(|| base.clone());
            for condition in holding {
                let condition = facts.replaced_in(condition, &with);
                if facts.decide(&condition) == Some(false) {
                    // The block is not come to then.
                    return true;
                }
                facts.assume(&condition);
            }
            let here = simplified(&replaced(region, &facts, &with), &facts);
            // A ring that goes on from where it was left may have gone on by as many rounds before.
            let round = Round {
                index,
                body: replaced(&round.body, &facts, &with),
            };
            round
                .counted(&here, &facts)
                .is_some_and(|done| facts.same(&done, &rounds))
        })
    });
    compared.then(|| Statement {
        action: Action::For(index, total, together(round.body)),
        ..region[0].clone()
    })
}

/// What is done in a round, by its number.
struct Round {
    index: Unknown,
    body: Vec<Statement>,
}

impl Round {
    /// How many rounds statements are, beginning with the first; none if they are no rounds in a row.
    fn counted(&self, statements: &[Statement], facts: &Facts) -> Option<Sum> {
        let mut done = Sum::of(0);
        let mut left = statements;
        while let [first, rest @ ..] = left {
            if let Action::For(number, times, body) = &first.action {
                if !facts.is_positive(times) {
                    return None;
                }
                if let Some(after) = self.one_by_one(*number, times, body, &done, facts) {
                    done = after;
                    left = rest;
                    continue;
                }
                let number = Sum::unknown(*number);
                let mut inside = facts.clone();
                inside.assume_positive(&number);
                inside.assume(&Condition::Negative(number.minus(times)));
                // Rounds may be shorter where a condition fails.
                let least = body.len().div_ceil(self.body.len());
                let copies = (least..=MOST_COPIES).find(|copies| {
                    let first = done.plus_times(&number, i128::try_from(*copies).unwrap_or(0));
                    self.rows(body, &first, *copies, &inside)
                })?;
                let copies = i128::try_from(copies).ok()?;
                done = facts.rewritten(&done.plus(&times.scaled(copies)));
                left = rest;
                continue;
            }
            left = self.without(left, &done, facts)?;
            done = done.plus_constant(1);
        }
        Some(done)
    }

    /// How many rounds are done after a loop that runs a known number of times, each of them compared by itself: the
    /// compiler may have written what it does as something that is the same for these few only.
    fn one_by_one(
        &self,
        number: Unknown,
        times: &Sum,
        body: &[Statement],
        before: &Sum,
        facts: &Facts,
    ) -> Option<Sum> {
        let times = facts.rewritten(times).as_constant()?;
        if times > MOST_COPIES as i128 {
            return None;
        }
        let mut done = before.clone();
        for value in 0..times {
            let with = |u: Unknown| (u == number).then(|| Sum::of(value));
            let found = simplified(&replaced(body, facts, &with), facts);
            let mut left = found.as_slice();
            if left.is_empty() {
                return None;
            }
            while !left.is_empty() {
                left = self.without(left, &done, facts)?;
                done = done.plus_constant(1);
            }
        }
        Some(done)
    }

    /// Whether statements are so many rounds in a row, beginning with this one.
    fn rows(&self, found: &[Statement], first: &Sum, copies: usize, facts: &Facts) -> bool {
        let mut left = Some(found);
        let mut number = first.clone();
        for _ in 0..copies {
            left = left.and_then(|left| self.without(left, &number, facts));
            number = number.plus_constant(1);
        }
        left.is_some_and(<[Statement]>::is_empty)
    }

    /// What is left of statements after the round of this number, if they begin with it.
    fn without<'s>(
        &self,
        statements: &'s [Statement],
        number: &Sum,
        facts: &Facts,
    ) -> Option<&'s [Statement]> {
        let with = |u: Unknown| (u == self.index).then(|| number.clone());
        let round = simplified(&replaced(&self.body, facts, &with), facts);
        let (found, left) = statements.split_at_checked(round.len())?;
        let found = simplified(found, facts);
        (parities(&round, facts) == parities(&found, facts)).then_some(left)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use rand::RngExt;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// What is done in order with these values: numbers of actions, addresses and parities.
    pub fn done(statements: &[Statement], known: &[(Unknown, i128)], out: &mut Vec<[i128; 3]>) {
        let facts = Facts::default();
        let with = |u: Unknown| {
            let found = known.iter().rev().find(|(own, _)| *own == u);
            found.map(|(_, value)| Sum::of(*value))
        };
        let value = |sum: &Sum| facts.replaced(sum, &with).as_constant().unwrap();
        for statement in statements {
            match &statement.action {
                Action::Arrive(a, n) => out.push([*n, value(a), 0]),
                Action::Wait(a, parity) => out.push([0, value(a), value(parity).rem_euclid(2)]),
                Action::For(unknown, times, body) => {
                    for round in 0..value(times) {
                        done(body, &[known, &[(*unknown, round)]].concat(), out);
                    }
                }
                Action::If(condition, yes, no) => {
                    let holds = facts.decide(&facts.replaced_in(condition, &with)).unwrap();
                    done(if holds { yes } else { no }, known, out);
                }
                _ => unreachable!("no other action is made here"),
            }
        }
    }

    /// Kernels that a compiler could have written out: what a round does, how often it is done, and in what a
    /// copy is wrong.
    struct Written {
        /// Whether it waits, the size of its ring, and where it starts.
        shape: Vec<(bool, i128, i128)>,
        copies: i128,
        wrong: i128,
        facts: Facts,
        n: Sum,
        /// How many rounds the rings have gone on by before.
        before: Sum,
    }

    impl Written {
        fn round(&self, at: &Sum, name: i128) -> Vec<Statement> {
            let off = if name == self.wrong { 8 } else { 0 };
            let at = &self.before.plus(at);
            let one = |(waits, size, start): &(bool, i128, i128)| {
                let place = self.facts.modulo(at, &Sum::of(*size)).unwrap();
                let place = place.scaled(8).plus_constant(off);
                let turn = self.facts.quotient(at, &Sum::of(*size)).unwrap();
                let turn = turn.plus_constant(*start);
                let parity = self.facts.modulo(&turn, &Sum::of(2)).unwrap();
                Statement::of(if *waits {
                    Action::Wait(place, parity)
                } else {
                    Action::Arrive(place, 1)
                })
            };
            self.shape.iter().map(one).collect()
        }

        /// The last rounds, fewer than `below`, from one on: first half of that many, then fewer.
        fn rest(&self, begin: &Sum, below: i128, name: i128) -> Vec<Statement> {
            if below == 1 {
                return Vec::new();
            }
            let half = (below + 1) / 2;
            let left = self.n.minus(begin);
            let mut first: Vec<Statement> = Vec::new();
            for copy in 0..half {
                first.extend(self.round(&begin.plus_constant(copy), name + copy));
            }
            first.extend(self.rest(&begin.plus_constant(half), below - half, name + half));
            let second = self.rest(begin, half, name + below);
            let few = Condition::Negative(left.plus_constant(-half));
            vec![Statement::of(Action::If(few, second, first))]
        }

        fn whole(&self, k: Unknown, guarded: bool) -> Vec<Statement> {
            let times = self.facts.quotient(&self.n, &Sum::of(self.copies)).unwrap();
            let body = (0..self.copies).flat_map(|copy| {
                let at = Sum::unknown(k).scaled(self.copies).plus_constant(copy);
                self.round(&at, copy)
            });
            let begin = times.scaled(self.copies);
            let mut all = vec![Statement::of(Action::For(k, times, body.collect()))];
            all.extend(self.rest(&begin, self.copies, self.copies));
            if guarded {
                let few = Condition::Negative(self.n.plus_constant(-self.copies));
                let rest = self.rest(&Sum::of(0), self.copies, 100);
                all = vec![Statement::of(Action::If(few, rest, all))];
            }
            all
        }
    }

    /// What is put together does the same as before, whether the copies agree or one of them differs.
    #[test]
    fn what_is_put_together_does_the_same() {
        let (mut together, mut apart) = (0, 0);
        for seed in 0..300 {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut unknowns = Unknowns::default();
            let parameter = unknowns.of(Meaning::Parameter(0, 0));
            unknowns.1.bound(parameter, 0, 1 << 20);
            let k = unknowns.fresh(Meaning::Iteration(0));
            unknowns.1.bound(k, 0, 1 << 18);
            let tile = unknowns.of(Meaning::Parameter(1, 0));
            unknowns.1.bound(tile, 0, 1 << 20);
            let by = if random.random_range(0..3) == 0 {
                16
            } else {
                1
            };
            let facts = unknowns.1.clone();
            // It may be below 0, where the parameter is small.
            let added = if seed % 5 == 0 { -3 } else { by - 1 };
            let n = Sum::unknown(parameter).plus_constant(added);
            let copies: i128 = [2, 4, 8][random.random_range(0..3)];
            let shape = (0..random.random_range(1..4)).map(|_| {
                let size = random.random_range(1..5);
                (random.random_bool(0.5), size, random.random_range(0..2))
            });
            let written = Written {
                shape: shape.collect(),
                copies,
                wrong: random.random_range(0..copies * 4),
                before: match seed % 3 {
                    0 => Sum::of(0),
                    1 => Sum::unknown(tile),
                    _ => Sum::unknown(tile).times(&Sum::unknown(parameter)),
                },
                n: facts.quotient(&n, &Sum::of(by)).unwrap(),
                facts,
            };
            let before = written.whole(k, random.random_bool(0.5));
            let after = gathered(before.clone(), &mut unknowns);
            let one = |all: &[Statement]| {
                matches!(all, [Statement { action: Action::For(_, _, body), .. }]
                    if body.len() == written.shape.len())
            };
            if one(&after) {
                together += 1;
            } else {
                apart += 1;
            }
            for count in 0..(3 * copies + 2) * by {
                let (mut a, mut b) = (Vec::new(), Vec::new());
                let known = [(parameter, count), (tile, i128::from(seed % 7))];
                done(&before, &known, &mut a);
                done(&after, &known, &mut b);
                assert_eq!(a, b, "seed {seed}, {count}");
            }
        }
        assert!(
            together > 80 && apart > 100,
            "{together} put together, {apart} not"
        );
    }
}
