//! Lanes that part where the launch decides, as in `if (i >= n) return;` with `i = 256 * cta + tid`.
//!
//! Each lane compares another number with `n`, so there are 32 conditions, and they are not
//! independent: a lane with a smaller `i` stays wherever one with a greater `i` does. Such a branch
//! is walked once for each answer to a comparison ([`Walker::by_cases`]), and again below it, until
//! every lane is decided. Below a comparison, the lanes are a known set, as they are anywhere else.
//! So nothing that follows has to know that they parted here.
//!
//! 32 comparisons in a row have 33 answers instead of 2^32, because one answer decides others:
//!
//! - `x < n` holds if `y < n` does and `x <= y`;
//! - `x == n` fails if `y == n` holds and `x` differs from `y` by a constant other than 0.
//!
//! `x <= y` is only said of the terms. As numbers of so many bits they may wrap around, each by
//! itself. So each pair that an answer rests on is noted, and the roles are refused unless the
//! pairs are in this order at every launch of the ranges that are assumed
//! ([`crate::recover::lower::check_orders`]). An answer that was never used leaves a case that no
//! launch comes to, which changes nothing.
//!
//! The answers hold for the rest of the walk below the branch, also in loops: only comparisons of
//! numbers that the launch fixes are asked for.

use std::collections::BTreeSet;

use super::Walker;
use crate::ir::Location;
use crate::meaning::Binary;
use crate::meaning::Relation;
use crate::recover::launch::is_launch;
use crate::recover::term::Node;
use crate::recover::term::TermId;

/// How many different comparisons the lanes of one branch may make.
const MOST_COMPARISONS: usize = 64;

/// Two terms that are in this order as signed numbers. With `natural`, neither is negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ordered {
    pub less: TermId,
    pub more: TermId,
    pub natural: bool,
}

impl Walker<'_> {
    /// Whether the answers to comparisons that have been asked decide a condition.
    pub(super) fn answered(&mut self, term: TermId, location: &Location) -> Option<bool> {
        if self.answers.is_empty() {
            return None;
        }
        match *self.terms.node(term) {
            Node::Constant(_) => self.terms.truth(term),
            Node::Not(inner) => self.answered(inner, location).map(|truth| !truth),
            Node::Binary(operation @ (Binary::And | Binary::Or), a, b) => {
                let decisive = operation == Binary::Or;
                match (self.answered(a, location), self.answered(b, location)) {
                    (Some(one), _) | (_, Some(one)) if one == decisive => Some(decisive),
                    (Some(_), Some(_)) => Some(!decisive),
                    _ => None,
                }
            }
            Node::Relation(..) => {
                for (asked, truth) in self.answers.clone() {
                    if asked == term {
                        return Some(truth);
                    }
                    let follows = match truth {
                        true => self.implied(asked, term),
                        false => self.implied(term, asked),
                    };
                    if let Some(orders) = follows {
                        for ordered in orders {
                            self.orders
                                .entry(ordered)
                                .or_insert_with(|| location.clone());
                        }
                        return Some(truth);
                    }
                    if truth && self.excludes(asked, term) {
                        return Some(false);
                    }
                }
                None
            }
            _ => None,
        }
    }

    /// A comparison to ask next, of those that decide these conditions: the first and the last one
    /// in the order of their numbers, so that what lanes do if all or none go one way stands apart,
    /// and then one in the middle of those that are left.
    pub(super) fn comparison(
        &mut self,
        open: &BTreeSet<TermId>,
        location: &Location,
    ) -> Option<TermId> {
        let mut all = BTreeSet::new();
        for term in open {
            self.comparisons(*term, &mut all)?;
        }
        if all.len() > MOST_COMPARISONS {
            return None;
        }
        let mut left = Vec::new();
        for term in all {
            if self.answered(term, location).is_none() {
                left.push(term);
            }
        }
        let first = *left.first()?;
        let mut row = Vec::new();
        for term in left {
            if self.implied(first, term).is_some() || self.implied(term, first).is_some() {
                let before = row
                    .iter()
                    .position(|other| self.implied(term, *other).is_none());
                row.insert(before.unwrap_or(row.len()), term);
            }
        }
        let asked = self.answers.clone();
        let asked = asked.into_iter().filter(|(asked, _)| {
            self.implied(*asked, first).is_some() || self.implied(first, *asked).is_some()
        });
        match asked.count() {
            0 => row.first().copied(),
            1 => row.last().copied(),
            _ => row.get(row.len() / 2).copied(),
        }
    }

    /// The comparisons of numbers of the launch that a condition is made of; `None` if it is made of
    /// others, too.
    fn comparisons(&self, term: TermId, out: &mut BTreeSet<TermId>) -> Option<()> {
        match *self.terms.node(term) {
            Node::Constant(_) => Some(()),
            Node::Not(inner) => self.comparisons(inner, out),
            Node::Binary(Binary::And | Binary::Or, a, b) => {
                self.comparisons(a, out)?;
                self.comparisons(b, out)
            }
            Node::Relation(..) if is_launch(term, self.terms) => {
                out.insert(term);
                Some(())
            }
            _ => None,
        }
    }

    /// Whether one comparison holds wherever another one does: what that rests on.
    fn implied(&mut self, one: TermId, other: TermId) -> Option<Vec<Ordered>> {
        if one == other {
            return Some(Vec::new());
        }
        let Node::Relation(relation, a, b) = *self.terms.node(one) else {
            return None;
        };
        let Node::Relation(same, c, d) = *self.terms.node(other) else {
            return None;
        };
        if relation != same || relation == Relation::Equal {
            return None;
        }
        let natural = relation == Relation::LessUnsigned;
        // The side that does not differ is noted, too: what is compared with it is in an order.
        let mut orders = Vec::new();
        for (side, same) in [(a, c), (b, d)] {
            if side == same {
                orders.push(Ordered {
                    less: side,
                    more: side,
                    natural,
                });
            }
        }
        self.at_most(c, a, natural, &mut orders)?;
        self.at_most(b, d, natural, &mut orders)?;
        Some(orders)
    }

    /// Whether a term is at most another one, and what that rests on. Both are made in the same way
    /// of sums that differ by a constant.
    fn at_most(
        &mut self,
        less: TermId,
        more: TermId,
        natural: bool,
        out: &mut Vec<Ordered>,
    ) -> Option<()> {
        let width = self.terms.width_of(less);
        if less == more {
            return Some(());
        }
        if width != self.terms.width_of(more) {
            return None;
        }
        match (self.terms.node(less).clone(), self.terms.node(more).clone()) {
            (
                Node::Extend { term: a, signed },
                Node::Extend {
                    term: b,
                    signed: same,
                },
            ) if signed == same => self.at_most(a, b, natural || !signed, out),
            // Each of these grows with its dividend.
            (Node::Binary(operation, a, by), Node::Binary(same, b, also))
                if operation == same
                    && by == also
                    && self.terms.signed(by).is_some_and(|by| by > 0) =>
            {
                match operation {
                    Binary::ShiftRightLogical | Binary::DivideUnsigned => {
                        self.at_most(a, b, true, out)
                    }
                    Binary::ShiftRightArithmetic | Binary::DivideSigned => {
                        self.at_most(a, b, natural, out)
                    }
                    _ => None,
                }
            }
            _ => {
                let difference = self.terms.difference(more, less);
                let greater = self.terms.signed(difference).is_some_and(|by| by > 0);
                greater.then(|| {
                    out.push(Ordered {
                        less,
                        more,
                        natural,
                    });
                })
            }
        }
    }

    /// Whether two comparisons never hold both: two numbers that differ are not equal to a third one.
    fn excludes(&mut self, one: TermId, other: TermId) -> bool {
        let Node::Relation(Relation::Equal, a, b) = *self.terms.node(one) else {
            return false;
        };
        let Node::Relation(Relation::Equal, c, d) = *self.terms.node(other) else {
            return false;
        };
        if self.terms.width_of(a) != self.terms.width_of(c) {
            return false;
        }
        let differ = |walker: &mut Self, [a, b]: [TermId; 2], [c, d]: [TermId; 2]| {
            let (one, other) = (walker.terms.difference(a, b), walker.terms.difference(c, d));
            let apart = walker.terms.difference(one, other);
            walker.terms.value(apart).is_some_and(|apart| apart != 0)
        };
        differ(self, [a, b], [c, d]) || differ(self, [a, b], [d, c])
    }
}
