//! Chains: what a member knows of others because it has waited.
//!
//! If a member has waited at a ring, all numbers below some bound are done in its group there. So everybody of a class
//! that arrives in that group has arrived as often. Each of these has waited at another ring, and so on. What is known of
//! a count `n` is `scale * n >= bound`, with a scale of at least 1: if `u * w >= v * n - less` holds of all who have made
//! `n` arrivals, then `(scale * u) * w >= v * bound - scale * less`.

use super::certificate::Behind;
use super::certificate::Counter;
use super::certificate::Link;
use super::exact;
use super::member::Member;
use super::member::unfit;
use super::term;
use super::term::Term;
use super::unsupported::Unsupported;
use super::world::World;

/// What is known: `scale * count >= bound`, of the numbers that are done in a group, or of waits.
pub struct Known {
    scale: i64,
    bound: Term,
    /// What has to hold for that.
    pub needed: Vec<Term>,
    /// The group.
    pub group: Vec<Term>,
}

impl Known {
    /// That the count is more than a number.
    pub fn exceeds(&self, number: &Term) -> Term {
        let scaled = term::product([term::int(self.scale), number.clone()]);
        term::lt(&scaled, &self.bound)
    }

    /// For members that have passed so many waits: how many numbers are done at least.
    fn done(&mut self, lag: &Term) {
        let lag = term::product([term::int(self.scale), lag.clone()]);
        self.bound = term::sub(&self.bound, &lag);
    }
}

impl World<'_, '_> {
    /// How many numbers are done at the ring of the last link, and in which group, as far as a member knows.
    ///
    /// # Errors
    ///
    /// A chain that does not hang together.
    pub fn done(&self, member: &Member<'_, '_>, chain: &[Link]) -> Result<Known, Unsupported> {
        let (first, rest) = chain.split_first().ok_or_else(unfit)?;
        let awaited = member.counters.get(&Counter::Awaited(first.ring));
        let mut known = Known {
            scale: 1,
            bound: awaited.cloned().ok_or_else(unfit)?,
            needed: Vec::new(),
            group: self.group_of(member.class, first.ring, true, &member.names.vars)?,
        };
        known.done(&self.lag(member.class, first.ring)?);
        let mut last = first;
        for link in rest {
            let (vars, needed) = self.witness(last.class, last.ring, &known.group)?;
            known.needed.extend(needed);
            self.behind(&mut known, last, link.ring)?;
            known.done(&self.lag(last.class, link.ring)?);
            known.group = self.group_of(last.class, link.ring, true, &vars)?;
            last = link;
        }
        Ok(known)
    }

    /// How many waits everybody of the class of the last link has passed at a ring in this group, as far as a member knows.
    ///
    /// # Errors
    ///
    /// A chain that does not hang together.
    pub fn passed(
        &self,
        member: &Member<'_, '_>,
        chain: &[Link],
        ring: usize,
        group: &[Term],
    ) -> Result<Known, Unsupported> {
        let last = chain.last().ok_or_else(unfit)?;
        let mut known = self.done(member, chain)?;
        // Whoever waits there arrives in the group of which something is known.
        let vars = self.shared(last.class, ring, true, group)?;
        let arrives = self.group_of(last.class, last.ring, false, &vars)?;
        known.needed.extend(term::same(&arrives, &known.group));
        self.behind(&mut known, last, ring)?;
        Ok(known)
    }

    /// Of the members of a link, who have arrived so often: how many waits they have passed at a ring at least.
    fn behind(&self, known: &mut Known, link: &Link, ring: usize) -> Result<(), Unsupported> {
        let arriving = &self.system.rings.get(link.ring).ok_or_else(unfit)?.arriving;
        let mut all = self.local(link.class)?.behind.iter();
        let behind = all.find(|behind| behind.waits == ring && behind.arrives == link.ring);
        let behind = behind.ok_or_else(unfit)?;
        if !arriving.contains(&link.class) {
            return Err(unfit());
        }
        let bound = term::product([term::int(behind.per_arrival), known.bound.clone()]);
        let less = self.less(behind)?;
        known.bound = term::sub(&bound, &term::product([term::int(known.scale), less]));
        known.scale = exact::product(known.scale, behind.per_wait)?;
        Ok(())
    }

    /// By how much waits may be behind. A wait counts something, so what is behind at an arrival is so after a wait as well.
    ///
    /// # Errors
    ///
    /// Waits that count nothing or less, or arrivals that count less than nothing.
    pub fn less(&self, behind: &Behind) -> Result<Term, Unsupported> {
        match behind.per_wait >= 1 && behind.per_arrival >= 0 {
            true => self.over_parameters(&behind.less),
            false => Err(unfit()),
        }
    }
}
