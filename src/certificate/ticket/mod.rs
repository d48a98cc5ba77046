//! The ticket rule: why a grid that serializes itself through semaphores never hangs.
//!
//! # The rule
//!
//! Fix a total order `<` on the CTAs of the grid: lexicographic over its indices in some order of significance, each
//! index ascending or descending. For a CTA `c` and a semaphore element `s`, let `inc(c, s)` be the sum of the
//! amounts that `c` adds to `s` in a whole run. The protocol is free of deadlock if the following holds.
//!
//! 1. *(well defined)* Every expression that the program evaluates has the value that the interpreter computes, every
//!    index is in range, and every amount is at least 1.
//! 2. *(one fibre)* A CTA that waits on `s` and a CTA that adds to the same `s` differ only in the *counted* indices of
//!    the family of `s`. So `<` compares just these indices.
//! 3. *(settled)* If a CTA both waits on and adds to `s`, program order decides which comes first.
//! 4. *(ticket)* A CTA `c` waits on `s` only for the value `initial(s) + sum of inc(k, s) over all k < c + the amount
//!    that c itself added to s before`.
//! 5. *(guarded)* If `k` adds to `s` and some `c <= k` waits on `s`, then in `k` a wait on `s` comes before that
//!    addition.
//! 6. *(followed)* If `c` waits with `==` on `s` and some `k > c` adds to `s`, then in `c` an addition to `s` comes
//!    after that wait.
//! 7. *(residency)* Either CTAs start in the order `<`, or all of them are resident at once; and at least one is
//!    resident.
//!
//! # Why it is sound
//!
//! *Invariant:* when a CTA `w` has passed a wait on `s`, every `j < w` has done all its additions to `s`. Take the
//! first moment at which the invariant fails. Then `w` passes, the value is at least the one of 4, and `w` itself has
//! added exactly its part (3). So the other CTAs have added at least the sum over all `k < w`. If some `j < w` is not
//! done, some `j' > w` must have added to `s`. By 5, `j'` had passed a wait on `s` earlier. The invariant held then,
//! so all CTAs below `j'` were done, and `j` is among them. This is a contradiction.
//!
//! *Progress:* suppose that a state is stuck, and let `c` be the `<`-least CTA that is not finished. It has started:
//! if CTAs start in the order `<`, all CTAs that started before it are finished, so a slot is free for it; if all are
//! resident, everyone has started. So `c` is blocked at a wait on some `s`. All `k < c` are finished, so the value is
//! at least the one of 4. A `>=` wait passes. For `==`, the value must be greater, so some `k > c` has added to `s`.
//! It had passed a wait on `s` (5), so by the invariant `c` had done all its additions to `s`. But by 6, one of them
//! comes after the wait at which `c` is blocked. This is a contradiction.
//!
//! # How a sum over all smaller CTAs is proved equal to an expression
//!
//! The CTAs of a fibre are the points of the box that the counted indices span. These indices run in one direction.
//! Let `next` be the successor in ascending lexicographic order. With `f(k) = inc(k, s)`, each wait names one of two
//! arguments ([`Tally`]):
//!
//! - *telescope*: let `g(k)` be the wait's value at `k`, also just past the end of an index; or let it be one of the
//!   variants in [`Potential`]. Suppose that `f(k) = g(k with its last index + 1) - g(k)` for every smaller `k`
//!   (*step*), and that `g` does not change from just past the end of an index to the start of the next round
//!   (*carry*). Then the sum is `g(c) - g(0)`. For descending indices, `f(k) = g(k) - g(k with its last index + 1)`,
//!   and the sum is `g(c with its last index + 1) - g(end)`. Nothing else is required of `g`;
//! - *block*: the CTAs that add to `s` below `c` are exactly the nearest `q` ones, and each adds the same amount `a`,
//!   where `a * q` is the wanted sum.
//!
//! Both are inductions along the order, and the obligation is the induction step. Side conditions: those of
//! [`super::program`] and [`super::translate`]; exactly one grid runs, and nothing else; there are only semaphores;
//! each loop variable around an addition can be read off the element's index, so that each statement and CTA touches
//! an element at most once (`grid/events.rs` says how).

mod conditions;
mod tally;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::de::Error;
use serde_with::rust::maps_duplicate_key_is_error;

use super::grid;
use super::grid::Over;
use super::grid::Residency;
use super::obligation::Obligation;
use super::program::Event;
use super::program::Unsupported;
use super::term;
use super::term::Term;
use crate::protocol::Protocol;

/// The artefact, which the search has found. This module derives the obligations from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ticket {
    /// The order on CTAs: keys, the most significant first, each index of the grid once.
    pub order: Vec<Key>,
    /// Why a CTA that has not started yet does no harm.
    pub residency: Residency,
    /// For each semaphore family (by position among the protocol's objects): the indices of the grid in which the
    /// CTAs that use one element may differ, the most significant first.
    #[serde(deserialize_with = "numbered")]
    pub counted: BTreeMap<usize, Vec<usize>>,
    /// For each wait (by statement number): why its value is the wanted sum.
    #[serde(deserialize_with = "numbered")]
    pub tallies: BTreeMap<usize, Tally>,
    /// Whether parameters with a listed set of values are treated one combination at a time.
    pub split: bool,
}

/// Reads a map whose keys are numbers. JSON has texts for keys. The parts of an argument may come in any order, so
/// the name of the rule may come last. Then it is not known yet that the keys are numbers.
fn numbered<'de, D, T>(from: D) -> Result<BTreeMap<usize, T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let texts: BTreeMap<String, T> = maps_duplicate_key_is_error::deserialize(from)?;
    let number = |text: String| match text.parse::<usize>() {
        // A number has only one text. So no number occurs twice.
        Ok(number) if number.to_string() == text => Ok(number),
        _ => Err(D::Error::custom(format!("`{text}` is not a number"))),
    };
    let each = texts.into_iter();
    each.map(|(text, value)| Ok((number(text)?, value)))
        .collect()
}

/// A key of an order on CTAs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// Position of the index in the grid's indices.
    pub index: usize,
    /// Whether larger values come first.
    pub descending: bool,
}

/// Why the sum of the additions of the smaller CTAs is the value that a wait waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tally {
    /// This potential grows by the additions of each CTA.
    Telescope(Potential),
    /// The nearest smaller CTAs add this amount each, and all others add nothing.
    Block(i64),
}

/// Derives every obligation of the rule for this protocol and artefact.
///
/// # Errors
///
/// Refuses a protocol outside the rule's side conditions and an artefact that does not fit it.
pub fn obligations(protocol: &Protocol, ticket: &Ticket) -> Result<Vec<Obligation>, Unsupported> {
    let role = grid::the_grid(protocol)?;
    let mut named: Vec<usize> = ticket.order.iter().map(|key| key.index).collect();
    named.sort_unstable();
    if named != (0..role.indices.len()).collect::<Vec<_>>() {
        return Err(Unsupported::whole(
            "the order on CTAs does not name each index of the grid once",
        ));
    }
    grid::derived(protocol, ticket.split, ticket, |rule| rule.derive())
}

/// The CTAs that touch one element, and their order.
struct Fibre {
    /// The indices in which they differ, the most significant first.
    counted: Vec<usize>,
    /// Whether larger values come first.
    descending: bool,
}

/// A function of the CTA, for a fixed element. It grows by the additions of each CTA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Potential {
    /// The wait's value.
    Value,
    /// The wait's value at the CTA one below in the last counted index.
    ValueBelow,
    /// The wait's value minus what the CTA itself added to the element before.
    ValueLessOwn,
}

type Rule<'a> = Over<'a, Ticket>;

impl Rule<'_> {
    fn derive(&mut self) -> Result<(), Unsupported> {
        self.everything_well_defined()?;
        self.residency()?;
        for wait in self.waits() {
            for add in self.adds_to(wait) {
                self.one_fibre(wait, add)?;
                self.settled(wait, add)?;
                self.guarded(wait, add)?;
                self.followed(wait, add)?;
            }
            self.tally(wait)?;
        }
        Ok(())
    }

    /// `a < b` in the rule's order, for CTAs that differ in the counted indices only.
    fn below(&self, fibre: &Fibre, a: &[Term], b: &[Term]) -> Term {
        let mut alternatives = Vec::new();
        let mut equal = Vec::new();
        for at in &fibre.counted {
            let (small, large) = if fibre.descending { (b, a) } else { (a, b) };
            let first = term::lt(&small[*at], &large[*at]);
            alternatives.push(term::and(equal.iter().cloned().chain([first])));
            equal.push(term::eq(&a[*at], &b[*at]));
        }
        term::or(alternatives)
    }

    /// How the CTAs of one element of an event's family are ordered.
    fn fibre(&self, event: &Event) -> Result<Fibre, Unsupported> {
        let refused = |reason: &str| Unsupported::at(event.span, reason);
        let counted = self
            .artefact
            .counted
            .get(&event.cell.object.0)
            .ok_or_else(|| refused("the artefact names no counted indices for this semaphore"))?;
        let keys: Vec<&Key> = self
            .artefact
            .order
            .iter()
            .filter(|key| counted.contains(&key.index))
            .collect();
        if keys.is_empty() || !keys.iter().map(|key| &key.index).eq(counted) {
            return Err(refused("the counted indices do not fit the order on CTAs"));
        }
        let descending = keys[0].descending;
        if keys.iter().any(|key| key.descending != descending) {
            return Err(refused("counted indices that run in different directions"));
        }
        Ok(Fibre {
            counted: counted.clone(),
            descending,
        })
    }
}
