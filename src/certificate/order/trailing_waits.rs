//! Waits at the end of a program. For example, a producer waits until its ring is empty before it exits.
//!
//! Suppose that a member only waits from some operation on. Leave these waits out, for all members. No other member
//! notices this, because a wait changes nothing. So each run of the protocol is a run of the remaining protocol. Let
//! the rule show that the remaining protocol is free of deadlock.
//!
//! Take a state in which nobody can go on. There, all members have come to the waits that were left out, and
//! everything in flight has landed. So all members have made all of their arrivals. Take a wait for arrival `j` of
//! its ring, and suppose that
//!
//! - `total - size <= j < total`, for the total number of arrivals of each member that arrives at the ring;
//! - arrival `j` does not lack the bytes that are expected with it (`unfilled.rs`).
//!
//! Then each of these members has made exactly `j div size + 1` arrivals at the element of `j`, and exactly as many
//! generations are complete there. The wait has the parity of the last of them, so it passes.
//!
//! This does not say when the wait passes in other states. So `early_pass` and `lapped_wait` are not proved.

use std::collections::BTreeSet;

use super::artefact::End;
use super::cases::Env;
use super::cases::fits;
use super::closed;
use super::polynomial::Polynomial;
use super::rule::Claim;
use super::rule::Rule;
use super::rule::push;
use super::scene;
use super::scene::At;
use crate::certificate::cut::count::Place;
use crate::certificate::cut::flow::Flow;
use crate::certificate::cut::flow::Kind;
use crate::certificate::exact;
use crate::certificate::program::Unsupported;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;

/// The operations that end a program: waits by parity after which there is no other operation, not even in the next
/// iteration of a loop.
pub fn trailing(flow: &Flow) -> BTreeSet<usize> {
    let waits = |site: &usize| matches!(flow.sites[*site].kind, Kind::WaitParity { .. });
    let mut all: BTreeSet<usize> = (0..flow.sites.len()).rev().take_while(waits).collect();
    for at in 0..flow.loops.len() {
        let inside = |site: &usize| flow.sites[*site].path.loops.contains(&at);
        let mut around = (0..flow.sites.len()).filter(inside);
        if around.clone().any(|site| !all.contains(&site))
            && let Some(last) = around.next_back()
        {
            all.retain(|site| *site > last);
        }
    }
    all
}

impl Rule<'_> {
    /// Removes waits that end programs from their rings.
    pub(super) fn leave_out(&mut self, ends: &[End]) -> Result<(), Unsupported> {
        let refuse = || Err(Unsupported::whole("a wait that does not end its program"));
        for (class, this) in self.classes.iter().enumerate() {
            let own = ends.iter().filter(|end| end.class == class);
            let own: BTreeSet<usize> = own.map(|end| end.site).collect();
            let Some(first) = own.first() else { continue };
            let after = trailing(&this.flow);
            let after: BTreeSet<usize> = after.into_iter().filter(|s| s >= first).collect();
            // No wait that stays may come after one that is left out.
            let split = |at: usize| {
                let mut inside = (0..this.flow.sites.len())
                    .filter(|site| this.flow.sites[*site].path.loops.contains(&at));
                let out = inside.clone().any(|site| own.contains(&site));
                out && inside.any(|site| !own.contains(&site))
            };
            if own != after || (0..this.flow.loops.len()).any(split) {
                return refuse();
            }
        }
        for end in ends {
            let of = (end.class, end.site);
            let mut rings = self.rings.iter_mut().enumerate();
            let Some((at, ring)) = rings.find(|(_, ring)| ring.waits.contains(&of)) else {
                return refuse();
            };
            ring.waits.retain(|wait| *wait != of);
            self.ends.push((at, *end));
        }
        Ok(())
    }

    /// The obligations that all waits at the ends of programs pass when all members have made all of their arrivals.
    pub fn last(&self) -> Result<Vec<Claim>, Unsupported> {
        let mut all = Vec::new();
        for (ring, end) in &self.ends {
            all.extend(self.passes(*ring, *end)?);
        }
        Ok(all)
    }

    /// The obligations that this wait passes when all members have made all of their arrivals.
    pub fn passes(&self, ring: usize, end: End) -> Result<Vec<Claim>, Unsupported> {
        let mut all = Vec::new();
        let this = &self.rings[ring];
        let (class, site) = (end.class, end.site);
        let name = format!("ends_c{class}_s{site}");
        let words = self.words(class, site);
        let what = format!("{words} is for the last arrivals at its element");
        let of = self.site(class, site);
        let Kind::WaitParity { parity } = &of.kind else {
            return Err(Unsupported::at(of.span, "such a wait at the end"));
        };
        if this.arrivals.is_empty() {
            return Err(Unsupported::at(of.span, "a wait that nobody arrives for"));
        }
        for at in self.scene.at(&self.classes[class], site)? {
            for (at, number) in self.numbered(ring, &at, end.rounds)? {
                self.element(this, &at, &number, &name, &what, &mut all)?;
                for (at, size) in at.value(&this.size)? {
                    let sequents = closed::parity(&at.scene, parity, &at.env, &number, &size)?;
                    all.extend(sequents.into_iter().map(|sequent| Claim {
                        name: name.clone(),
                        meaning: what.clone(),
                        sequent,
                    }));
                    for by in this.arriving() {
                        let filled = this.filled_of(by);
                        let filled = self.total(this, by, filled)?;
                        let total = self.behind_last(this, by)?;
                        for scene in at.scene.inhabited(self.class(by))? {
                            for (scene, filled) in scene.value(&filled, &Env::new())? {
                                let left = fits(filled.plus(-1, &number))?;
                                let made = fits(left.less(1))?;
                                push(&mut all, &name, what.clone(), &scene, made);
                            }
                            for (scene, total) in scene.value(&total, &Env::new())? {
                                let left = fits(total.plus(-1, &number))?;
                                let none = fits(size.plus(-1, &left))?;
                                push(&mut all, &name, what.clone(), &scene, none);
                            }
                        }
                    }
                }
            }
        }
        Ok(all)
    }

    /// The number of the arrival that the index of such a wait stands for, by cases. If there is only one element, it
    /// is the last arrival.
    fn numbered<'c>(
        &self,
        ring: usize,
        at: &At<'c>,
        rounds: i64,
    ) -> Result<Vec<(At<'c>, Polynomial)>, Unsupported> {
        let this = &self.rings[ring];
        let stands_for = match this.moving {
            Some(position) => {
                let index = &at.class.flow.sites[at.site].index[position];
                closed::dividend(index, &this.size).unwrap_or_else(|| index.clone())
            }
            None => {
                let by = this.arriving();
                let by = by.first().copied().unwrap_or_default();
                if this.team(by, true).is_some() {
                    return Err(Unsupported::whole("a wait at the end for one of a team"));
                }
                let arrivals = this.arrivals_of(by);
                let total = scene::before(self.class(by), Place::End, arrivals)?;
                Expr::binary(BinaryOp::Sub, total, Expr::Int(1))
            }
        };
        let back = i128::from(exact::difference(0, rounds)?);
        let mut all = Vec::new();
        for (at, number) in at.value(&stands_for)? {
            for (at, size) in at.value(&this.size)? {
                all.push((at, fits(number.plus(back, &size))?));
            }
        }
        Ok(all)
    }
}
