//! Searches for an order proof: lags, chains, ranks and multipliers.
//!
//! Lags are tried one after the other. Chains are searched from short to long. Ranks are the least ones that increase
//! wherever they have to (`ranks`). The search is limited by an amount of work and not by time, so the result does
//! not depend on the machine.

mod chains;
mod deviation;
mod least;
pub(super) mod multipliers;
mod points;
mod ranks;
mod seats;
mod separate_counts;
mod simplex;
mod teams;
mod unfilled;
mod work;

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::Guess;
use super::uncovered;
use super::uncovered_in;
use crate::certificate::argument::Argument;
use crate::certificate::order;
use crate::certificate::order::artefact::Behind;
use crate::certificate::order::artefact::Element;
use crate::certificate::order::artefact::End;
use crate::certificate::order::artefact::Lag;
use crate::certificate::order::artefact::Order;
use crate::certificate::order::artefact::RepeatedRegistration;
use crate::certificate::order::artefact::Seat;
use crate::certificate::order::artefact::Team;
use crate::certificate::order::guards;
use crate::certificate::order::positivity::Proof;
use crate::certificate::order::positivity::Sequent;
use crate::certificate::order::rule::Claim;
use crate::certificate::order::rule::Rule;
use crate::certificate::order::trailing_waits;
use crate::certificate::program::Unsupported;
use crate::fresh;
use crate::protocol::Protocol;
use multipliers::Prover;

/// How many rounds waits may be behind, the usual numbers first.
const ROUNDS: [i64; 4] = [0, 1, -1, 2];

/// The lags that are tried: first rounds, and then single arrivals. For example, a wait in each round may be for work
/// that was begun one or two rounds before.
const LAGS: [(i64, i64); 6] = [(0, 0), (1, 0), (-1, 0), (2, 0), (0, 1), (0, 2)];

/// How much work one search may take: some seconds on one machine. Unlike a time limit, it is the
/// same on every machine.
const WORK: u64 = 500_000_000;

/// The reason why the protocol is not read in another way.
const TOGETHER: &str = "no named barrier is used in turn with different counts";

/// The work that adding an obligation as a hypothesis costs, in entries of a linear program.
const FACT: usize = 50;

/// Looks for an order proof.
pub fn guess(
    protocol: &Protocol,
    deadline: Instant,
    cancel: Option<&AtomicBool>,
    tell: &(dyn Fn(&str) + Sync),
) -> Guess {
    if let Some(reason) = deviation::deviates(protocol) {
        return Guess::nothing(reason);
    }
    let unnamed = protocol;
    let protocol = &order::named(protocol);
    // First the protocol is read as it is written. Then skipped waits are numbered, and the waits that end programs
    // are left out.
    let way = |by_counts: bool, prover: &Prover| {
        let plain = |unguarded: &[(usize, usize)], parts: &Parts| {
            let rule = parts
                .rule(protocol, unguarded, &[])
                .map_err(uncovered_in(protocol))?;
            Ok::<_, String>(Search {
                rule,
                parts: parts.clone(),
                unnamed,
                protocol,
                deadline,
                cancel,
                tell,
                prover,
            })
        };
        let mut parts = Parts::default();
        let mut search = plain(&[], &parts)?;
        if by_counts {
            parts.apart = search.apart();
            if parts.apart.is_empty() {
                return Err(TOGETHER.to_owned());
            }
            search = plain(&[], &parts)?;
        }
        (parts.again, parts.seats) = search.seats()?;
        if !parts.again.is_empty() || !parts.seats.is_empty() {
            search = plain(&[], &parts)?;
        }
        let last = unfilled::candidates(&search.rule);
        if !last.is_empty() && search.all_of(&search.rule.arrivals()).is_err() {
            parts.unfilled = last;
            search = plain(&[], &parts)?;
        }
        let first = match search.run(&[], &[]) {
            Ok(order) => return Ok(order),
            Err(reason) => reason,
        };
        let guarded = guards::guarded(&search.rule.classes);
        let mut ways = vec![&[][..]];
        if !guarded.is_empty() {
            ways.insert(0, &guarded);
        }
        // Readings with teams come first: if members take turns, the other readings have no chance.
        let mut all = Vec::new();
        for unguarded in &ways {
            let teams = plain(unguarded, &parts)?.teams(unguarded)?;
            if !teams.is_empty() {
                let parts = Parts {
                    teams,
                    ..parts.clone()
                };
                all.push((*unguarded, parts, true));
            }
        }
        all.extend(
            ways.iter()
                .map(|unguarded| (*unguarded, parts.clone(), !unguarded.is_empty())),
        );
        for (unguarded, parts, is_new) in all {
            let mut search = plain(unguarded, &parts)?;
            if is_new && let Ok(order) = search.run(unguarded, &[]) {
                return Ok(order);
            }
            let ends = search.ends(unguarded)?;
            let few = search.unclear(&ends)?;
            let mut all = vec![&ends];
            if few.len() < ends.len() {
                all.push(&few);
            }
            for ends in all.into_iter().filter(|ends| !ends.is_empty()) {
                search.rule = parts.rule(protocol, unguarded, ends).map_err(uncovered)?;
                if let Ok(order) = search.run(unguarded, ends) {
                    return Ok(order);
                }
            }
        }
        Err(first)
    };
    let search = || {
        // Results about sequents are valid for every reading of the protocol.
        let prover = &Prover::new(WORK);
        way(false, prover).or_else(|first| match way(true, prover) {
            Err(reason) if reason == TOGETHER => Err(first),
            found => found,
        })
    };
    match fresh::context(search) {
        Ok(order) => Guess::Fitting(Argument::Order(order)),
        Err(reason) => Guess::nothing(reason),
    }
}

/// What is read from the protocol before the search.
#[derive(Debug, Clone, Default)]
struct Parts {
    /// The arrivals that are assumed to be unfilled.
    unfilled: Vec<(usize, usize)>,
    /// The registrations that have a numbering of their own.
    again: Vec<RepeatedRegistration>,
    /// The classes that take part only in some generations of a named barrier.
    seats: Vec<Seat>,
    /// Elements whose registrations are separate by their counts.
    apart: Vec<Element>,
    /// Members that take turns.
    teams: Vec<Team>,
}

impl Parts {
    /// The parts of the artefact that are known at the beginning.
    fn order(&self, unguarded: &[(usize, usize)], ends: &[End]) -> Order {
        Order {
            unguarded: unguarded.to_vec(),
            ends: ends.to_vec(),
            unfilled: self.unfilled.clone(),
            again: self.again.clone(),
            seats: self.seats.clone(),
            apart: self.apart.clone(),
            teams: self.teams.clone(),
            ..Order::default()
        }
    }

    fn rule<'p>(
        &self,
        protocol: &'p Protocol,
        unguarded: &[(usize, usize)],
        ends: &[End],
    ) -> Result<Rule<'p>, Unsupported> {
        Rule::new(protocol, &self.order(unguarded, ends))
    }
}

struct Search<'p> {
    rule: Rule<'p>,
    parts: Parts,
    /// The protocol as it is written.
    unnamed: &'p Protocol,
    /// The same with parameters for quotients and conditions.
    protocol: &'p Protocol,
    deadline: Instant,
    cancel: Option<&'p AtomicBool>,
    tell: &'p (dyn Fn(&str) + Sync),
    prover: &'p Prover,
}

impl Search<'_> {
    /// The waits that end programs, for those classes that are shown to pass them.
    fn ends(&self, unguarded: &[(usize, usize)]) -> Result<Vec<End>, String> {
        let mut all = Vec::new();
        for (class, this) in self.rule.classes.iter().enumerate() {
            let sites = trailing_waits::trailing(&this.flow);
            // Together they end the program.
            let with = |rounds: i64| {
                let end = |site: &usize| End {
                    class,
                    site: *site,
                    rounds,
                };
                sites.iter().map(end).collect::<Vec<End>>()
            };
            let mut shown = BTreeMap::new();
            for rounds in ROUNDS {
                let ends = with(rounds);
                let Ok(rule) = self.parts.rule(self.protocol, unguarded, &ends) else {
                    break;
                };
                for (ring, end) in &rule.ends {
                    let claims = rule.passes(*ring, *end);
                    if claims.is_ok_and(|claims| self.all_shown(&claims).is_ok()) {
                        shown.entry(end.site).or_insert(*end);
                    }
                }
                self.stop()?;
            }
            if shown.len() == sites.len() {
                all.extend(shown.into_values());
            }
        }
        Ok(all)
    }

    /// Those of the ends whose classes have waits with an unclear purpose otherwise. The last waits of other classes
    /// may have to stay: if no member waits at a ring where a class arrives, its arrivals cannot be shown to come in
    /// turn.
    fn unclear(&self, ends: &[End]) -> Result<Vec<End>, String> {
        let mut unclear = BTreeSet::new();
        for (nth, ring) in self.rule.rings.iter().enumerate() {
            for (class, _) in &ring.waits {
                let of_end = ends.iter().any(|end| end.class == *class);
                if of_end && !unclear.contains(class) {
                    if self.lag(nth, *class).is_err() {
                        unclear.insert(*class);
                    }
                    self.stop()?;
                }
            }
        }
        let left = |end: &&End| unclear.contains(&end.class);
        Ok(ends.iter().filter(left).copied().collect())
    }

    fn run(&self, unguarded: &[(usize, usize)], ends: &[End]) -> Result<Order, String> {
        let rule = &self.rule;
        (self.tell)("looking for multipliers");
        for claims in [
            rule.declarations(),
            rule.programs(),
            rule.pools(),
            rule.initialised(),
            rule.apart(),
            rule.counts(),
            rule.arrivals(),
            rule.last(),
            rule.unfilled(),
        ] {
            self.all_of(&claims)?;
        }
        let mut order = Order {
            lags: self.lags()?,
            ..self.parts.order(unguarded, ends)
        };
        order.chains = self.chains(&order.lags)?;
        order.ranks = self.ranks(&order.lags)?;
        (self.tell)("looking for multipliers");
        for claim in order::claims(self.unnamed, &order).map_err(uncovered)? {
            let proof = match self.shown(&claim.sequent)? {
                Some(proof) => Some(proof),
                None => self.shown_by_few(&claim.sequent)?,
            };
            let unshown = || format!("no multipliers were found that show that {}", said(&claim));
            order
                .proofs
                .insert(claim.name.clone(), proof.ok_or_else(unshown)?);
        }
        Ok(order)
    }

    /// Multipliers that show a sequent.
    fn shown(&self, sequent: &Sequent) -> Result<Option<Proof>, String> {
        self.stop()?;
        let facts = sequent.hypotheses.len();
        self.prover.work().add(facts.saturating_mul(FACT));
        Ok(self.prover.prove(sequent))
    }

    /// Multipliers that show a sequent without its large hypotheses; ranks may have been found in this way. With
    /// these hypotheses, numbers may not fit.
    fn shown_by_few(&self, sequent: &Sequent) -> Result<Option<Proof>, String> {
        let (few, places) = ranks::without_large(sequent);
        let (all, left) = (sequent.hypotheses.len(), places.len());
        if left == all {
            return Ok(None);
        }
        let Some(mut proof) = self.shown(&few)? else {
            return Ok(None);
        };
        // The results of steps are numbered after the hypotheses.
        let factors = proof.0.iter_mut().flat_map(|step| &mut step.sum);
        for at in factors.flat_map(|multiple| &mut multiple.of) {
            *at = match places.get(*at) {
                Some(place) => *place,
                None => *at - left + all,
            };
        }
        Ok(Some(proof))
    }

    fn stop(&self) -> Result<(), String> {
        let cancelled = |cancel: &AtomicBool| cancel.load(Ordering::Relaxed);
        if self.cancel.is_some_and(cancelled) {
            return Err("it was interrupted".to_owned());
        }
        if self.prover.work().is_over() {
            return Err("there was too much to do".to_owned());
        }
        match Instant::now() < self.deadline {
            true => Ok(()),
            false => Err("the time was up".to_owned()),
        }
    }

    fn all_of(&self, claims: &Result<Vec<Claim>, Unsupported>) -> Result<(), String> {
        match claims {
            Ok(claims) => self.all_shown(claims),
            Err(reason) => Err(uncovered(reason.clone())),
        }
    }

    fn all_shown(&self, claims: &[Claim]) -> Result<(), String> {
        for claim in claims {
            if self.shown(&claim.sequent)?.is_none() {
                return Err(format!("it could not be shown that {}", said(claim)));
            }
        }
        Ok(())
    }

    /// The lags of all classes at all rings.
    fn lags(&self) -> Result<Vec<Lag>, String> {
        let mut lags: Vec<Lag> = Vec::new();
        for (nth, ring) in self.rule.rings.iter().enumerate() {
            for &(class, site) in &ring.waits {
                if lags.iter().any(|lag| (lag.class, lag.ring) == (class, nth)) {
                    continue;
                }
                lags.push(self.lag(nth, class).map_err(|reason| {
                    let words = self.rule.words(class, site);
                    format!("it was not found which arrivals {words} waits for: {reason}")
                })?);
            }
        }
        lags.sort_by_key(|lag| (lag.class, lag.ring));
        Ok(lags)
    }

    /// The lag of a class at a ring, or why the first lag that was tried is wrong.
    fn lag(&self, ring: usize, class: usize) -> Result<Lag, String> {
        let mut first = None;
        // A class that takes part later also waits for later arrivals.
        let later = self.rule.rings[ring]
            .seats
            .iter()
            .map(|seat| (0, -seat.first));
        for (rounds, arrivals) in LAGS.into_iter().chain(later) {
            let claims = self.rule.waits(ring, class, Behind { rounds, arrivals });
            match claims.map_err(uncovered).and_then(|c| self.all_shown(&c)) {
                Ok(()) => {
                    return Ok(Lag {
                        class,
                        ring,
                        rounds,
                        arrivals,
                    });
                }
                Err(reason) => first = first.or(Some(reason)),
            }
        }
        Err(first.unwrap_or_default())
    }
}

/// The text of a claim, for the middle of a sentence.
fn said(claim: &Claim) -> &str {
    claim.meaning.trim_end_matches('.')
}
