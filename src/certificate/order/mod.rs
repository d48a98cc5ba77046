//! The order rule: nobody waits in a circle, since whoever waits has a greater rank than whoever is
//! waited for. Its certificates are checked by exact integer arithmetic, without a solver.
//!
//! # The rule
//!
//! Members of a role that run the same program form a class; the elements of an object that are
//! used in turn form a *ring* of some *size* ([`rings`]). Everybody who arrives at a ring
//! numbers the arrivals from 0. The protocol is free of deadlock, and every generation is completed
//! by the arrivals that are meant for it, if
//!
//! 1. *(well defined)* every divisor is positive, every amount is in range, the whole grid is
//!    resident, and local variables have their closed forms ([`Rule::declarations`],
//!    [`Rule::programs`](rule::Rule::programs));
//! 2. *(count)* as many members arrive at a ring as a generation takes, one arrival each, which may count more than
//!    one at an mbarrier, the same each time ([`Rule::counts`](rule::Rule::counts)); a member that counts several times in each generation of a named
//!    barrier is taken for as many members (`repeated_registrations.rs`), and who takes part may differ from generation to generation ([`seats`]);
//!    members that take turns at arriving are taken for one ([`teams`]);
//! 3. *(turn)* arrival `v` of a member is at element `v mod size`, so that it belongs to generation
//!    `v div size + 1` of that element; a member expects bytes before its arrival and then delivers
//!    them, without waiting in between, at least one by each delivery; or others bring them
//!    (`bytes.rs`) ([`Rule::arrivals`](rule::Rule::arrivals));
//! 4. *(wait)* a class's `n`th wait at a ring, from 0, is at element `j mod size` and has the parity
//!    of generation `j div size + 1`, for `j = n - rounds * size - arrivals` with two numbers
//!    ([`artefact::Lag`]); `j >= -size`; whoever arrives at the ring makes arrival `j` if `j >= 0`
//!    ([`Rule::waits`](rule::Rule::waits)). Waits for arrivals below 0 may be skipped ([`guards`]), and waits that
//!    end programs may be looked at alone ([`trailing_waits`]), and last arrivals may lack bytes (`unfilled.rs`);
//! 5. *(not behind)* a member that comes to such a wait by parity with `j >= size` knows that
//!    arrival `j - size` has been awaited;
//! 6. *(in turn)* a member that makes arrival `v >= size` knows that arrival `v - size` has been
//!    awaited;
//! 7. *(not lapped)* whoever makes arrival `j + size` knows that the member has passed its wait for
//!    `j` ([`Rule::chain`](rule::Rule::chain) for 5 to 7);
//! 8. *(rank)* operations have ranks that do not fall along a program, and a wait for arrival
//!    `j >= 0` has a greater rank than everybody's arrival `j` ([`Rule::ranks`](rule::Rule::ranks)).
//!
//! *Knows* is a chain ([`artefact::Chain`]): the member's own last wait at some ring was for some
//! arrival of another class that has members; each of these made it after its own last wait at
//! another ring, and so on, until a member has passed the wait in question.
//!
//! A rank is a sum over the loops of a class of a weight times the number of iterations completed
//! over the whole run, plus a number of the operation; weights are polynomials over parameters.
//! It cannot fall along a program if no weight is below 0, and if on each way from an operation to
//! the next one numbers do not fall by more than the weights of the loops of which an iteration
//! ends on the way ([`ranks`]).
//!
//! # Why it is sound
//!
//! Call a state *tidy* if at every element with `c` generations complete every member that arrives
//! at the ring has made `c` or `c + 1` arrivals at this element (some may not have landed yet), and
//! if every wait by parity or registration that a member has passed was for a completed generation.
//! The beginning is tidy. Take the first step of a run after which things are not tidy.
//!
//! It is not an arrival. Before the member makes its arrival for `g`, it has waited for generation
//! `g - 1` of its element, or somebody has, by 6. In a tidy state what has been awaited is
//! complete. Hence all arrivals that land while `g - 1` generations are complete are for `g`, at
//! most one of each member. (This is what *in turn* shows, and nothing else in the rule says it: at
//! a named barrier every registration counts, also a second one of a member.) By 2 the generation
//! completes when everybody has made one. So nothing arrives that is not expected. By 3 bytes are
//! expected before the own arrival, and the same number is delivered. So the count of bytes is
//! never below 0. While everybody has arrived, it is 0 exactly when every delivery has landed. So
//! it is not a completion either.
//!
//! It is not a wait: by 5, generation `g - 1` is complete when a member comes to its wait for `g`.
//! Generation `g + 1` is not, for it needs arrival `j + size` of the class at the end of the chain
//! of 7, each of whose members knows that the member has passed. So `g - 1` or `g` are complete, and
//! by its parity (4) the wait passes iff `g` are. (Where nobody arrives at a ring none completes: its
//! waits are for arrivals below 0, and none can be lapped.)
//!
//! Now suppose that a run gets stuck. All that was in flight has landed. Take a member blocked at a
//! wait with the least rank. Its generation is not complete, although nothing is in flight, so
//! somebody has not made arrival `j`, and would (4). That member is not done, hence blocked before
//! that arrival, at a wait whose rank is at most the arrival's (8), which is below the least rank.
//!
//! # Other properties
//!
//! In a tidy state no wait passes on a stale phase (`early_pass`), none is lapped (`lapped_wait`),
//! no generation completes without an arrival meant for it (`early_completion`) or takes more than
//! it expects (`over_arrival`), and bytes agree (`tx_mismatch`).
//!
//! # Side conditions
//!
//! Refused with the construct named: semaphores, pools that may run short, patterns, grids
//! that need not fit, arrivals of a member that count differently, two indices that move.
//! Explicit initialisation is left out where it comes before every use (`initial.rs`), and operations
//! on a pool where it never keeps anybody waiting (`pools.rs`).
//! Everything is stated as inequalities between polynomials ([`polynomial`]) over parameters and
//! iteration numbers, and shown by multipliers ([`positivity`]).

pub mod artefact;
mod bytes;
pub mod cases;
mod chains;
mod closed;
pub mod conditions;
mod counts;
pub mod guards;
mod initial;
pub mod memory;
mod multiples;
pub mod polynomial;
mod pools;
pub mod positivity;
pub mod quotients;
pub mod ranks;
mod repeated_registrations;
pub mod rings;
pub mod rule;
pub mod scene;
pub mod seats;
mod separate_counts;
pub mod teams;
pub mod trailing_waits;
mod unfilled;

use std::collections::BTreeSet;

use artefact::About;
use artefact::Order;
use artefact::Weight;
use artefact::behind;
use cases::fits;
use polynomial::Polynomial;
use polynomial::Unknown;
use ranks::Part;
use rule::Claim;
use rule::Rule;

use super::obligation::Obligation;
use super::program::Unsupported;
use super::term;
use crate::certificate::exact;
use crate::protocol::Object;
use crate::protocol::ObjectKind;
use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::semantics::hazards;

/// Whether the obligations of this argument prove a property of a protocol.
pub fn proves_by(protocol: &Protocol, order: &Order, property: Property) -> bool {
    let of_arrivals = matches!(
        property,
        Property::Deadlock
            | Property::EarlyCompletion
            | Property::OverArrival
            | Property::TxMismatch
    );
    let left_over = !order.unfilled.is_empty() && property == Property::TxMismatch;
    proves(protocol, property) && (order.ends.is_empty() || of_arrivals) && !left_over
}

/// Whether an argument by the rule can prove a property of a protocol.
pub fn proves(protocol: &Protocol, property: Property) -> bool {
    let mut objects = protocol.objects.iter();
    match property {
        Property::Deadlock
        | Property::EarlyCompletion
        | Property::EarlyPass
        | Property::LappedWait
        | Property::OverArrival
        | Property::TxMismatch => true,
        // Nothing that is initialised explicitly or runs out is covered. What remains is about
        // data.
        Property::Uninitialized | Property::Resources => {
            let covered = |object: &Object| {
                let kind = &object.kind;
                !matches!(
                    kind,
                    ObjectKind::Mbarrier {
                        explicit_init: true,
                        ..
                    }
                ) && !matches!(kind, ObjectKind::Pool { .. })
            };
            objects.all(covered) && !hazards::wants_data(protocol, property)
        }
        Property::Race | Property::StaleRead | Property::Assertion => false,
    }
}

/// Everything that has to hold, under names of its own.
///
/// # Errors
///
/// Names the first construct that the rule does not cover, or what does not fit in the artefact.
pub fn claims(protocol: &Protocol, order: &Order) -> Result<Vec<Claim>, Unsupported> {
    claims_of_named(&names(protocol), order)
}

/// The protocol that the rule is about: with parameters for quotients and for conditions.
pub fn named(protocol: &Protocol) -> Protocol {
    names(protocol).named
}

/// A protocol with names, and how it comes about.
struct Names {
    /// With parameters for bounds alone.
    bounds: Protocol,
    /// The quotients whose parameters stand elsewhere as well.
    elsewhere: Vec<quotients::Quotient>,
    /// With all parameters.
    named: Protocol,
    /// Whether some take the place of conditions.
    conditions: bool,
}

fn names(protocol: &Protocol) -> Names {
    let protocol = &multiples::named(protocol);
    let bounds = quotients::named(protocol);
    let (named, elsewhere) = quotients::elsewhere(protocol, &bounds);
    let conditions = conditions::named(&named);
    Names {
        bounds,
        elsewhere,
        conditions: conditions.is_some(),
        named: conditions.unwrap_or(named),
    }
}

/// The same, of a protocol with names.
fn claims_of_named(names: &Names, order: &Order) -> Result<Vec<Claim>, Unsupported> {
    let protocol = &names.named;
    let rule = Rule::new(protocol, order)?;
    let mut all = rule.declarations()?;
    all.extend(rule.programs()?);
    if names.conditions || !names.elsewhere.is_empty() {
        // What is evaluated has to be defined also where a parameter takes its place.
        let unnamed = Rule::new(&names.bounds, &Order::default())?;
        all.extend(unnamed.evaluated()?);
        all.extend(unnamed.dividends(&names.elsewhere)?);
    }
    all.extend(rule.pools()?);
    all.extend(rule.initialised()?);
    all.extend(rule.apart()?);
    all.extend(rule.counts()?);
    all.extend(rule.arrivals()?);
    for (nth, ring) in rule.rings.iter().enumerate() {
        let mut classes: Vec<usize> = ring.waits.iter().map(|(class, _)| *class).collect();
        classes.dedup();
        for class in classes {
            all.extend(rule.waits(nth, class, behind(&order.lags, class, nth)?)?);
        }
    }
    all.extend(rule.last()?);
    all.extend(rule.unfilled()?);
    all.extend(rule.teams(&order.lags)?);
    for about in rule.ordered()? {
        let chain = order.chains.iter().find(|chain| chain.about == about);
        let links = chain.map_or(&[][..], |chain| &chain.links);
        let made = chain.is_some_and(|chain| chain.made);
        all.extend(rule.chain(about, (links, made), &order.lags)?);
    }
    let weights = |class: usize, part: Part| {
        let rank = order.ranks.get(class);
        let weight = rank.and_then(|rank| match part {
            Part::Loop(at) => rank.loops.get(at),
            Part::Site(at) => rank.sites.get(at),
        });
        let missing = || Unsupported::whole("an operation without a rank");
        weight_of(weight.ok_or_else(missing)?, protocol)
    };
    all.extend(rule.ranks(&weights, &order.lags)?);
    name(&mut all);
    Ok(all)
}

/// Gives every claim a name of its own.
pub fn name(claims: &mut [Claim]) {
    let mut taken = BTreeSet::new();
    for claim in claims {
        let mut unique = claim.name.clone();
        let mut nth = 1_usize;
        while !taken.insert(unique.clone()) {
            nth = exact::next(nth);
            unique = format!("{}_{nth}", claim.name);
        }
        claim.name = unique;
    }
}

/// A weight as a polynomial over parameters.
pub fn weight_of(weight: &Weight, protocol: &Protocol) -> Result<Polynomial, Unsupported> {
    let mut sum = Polynomial::default();
    for product in &weight.0 {
        let mut term = Polynomial::number(1);
        for at in &product.of {
            if *at >= protocol.params.len() {
                return Err(Unsupported::whole("a rank over no parameter"));
            }
            term = fits(term.times(&Polynomial::unknown(Unknown::Param(*at))))?;
        }
        sum = fits(sum.plus(i128::from(product.times), &term))?;
    }
    Ok(sum)
}

/// The obligations as SMT-LIB, for those who would rather ask a solver.
///
/// # Errors
///
/// As for [`claims`].
pub fn obligations(protocol: &Protocol, order: &Order) -> Result<Vec<Obligation>, Unsupported> {
    let names = names(protocol);
    let claims = claims_of_named(&names, order)?;
    Ok(claims
        .iter()
        .map(|claim| obligation(&names.named, claim))
        .collect())
}

fn obligation(protocol: &Protocol, claim: &Claim) -> Obligation {
    let sequent = &claim.sequent;
    let all = sequent.hypotheses.iter().chain([&sequent.goal]);
    let unknowns: BTreeSet<Unknown> = all.flat_map(Polynomial::unknowns).collect();
    let declare = |unknown: &Unknown| format!("(declare-const {} Int)", unknown.term(protocol));
    let at_least_0 = |p: &Polynomial| term::le(&term::int(0), &p.term(protocol));
    Obligation {
        name: claim.name.clone(),
        meaning: claim.meaning.clone(),
        declarations: unknowns.iter().map(declare).collect(),
        hypotheses: sequent.hypotheses.iter().map(at_least_0).collect(),
        goal: at_least_0(&sequent.goal),
        split: Vec::new(),
    }
}

/// Checks the multipliers of every obligation. `None` if all are right; otherwise the first
/// obligation that is not shown, and why.
///
/// # Errors
///
/// As for [`claims`].
pub fn unproved(
    protocol: &Protocol,
    order: &Order,
) -> Result<Option<(Claim, String)>, Unsupported> {
    for claim in claims(protocol, order)? {
        let shown = match order.proofs.get(&claim.name) {
            Some(proof) => positivity::check(&claim.sequent, proof),
            None => Err("no multipliers are given".to_owned()),
        };
        if let Err(why) = shown {
            return Ok(Some((claim, why)));
        }
    }
    Ok(None)
}

/// What a chain is about: its class and operation.
impl About {
    /// The class and the operation, by position.
    pub fn place(self) -> (usize, usize) {
        match self {
            About::NotBehind(class, site)
            | About::InTurn(class, site)
            | About::NotLapped(class, site)
            | About::Initialised(class, site)
            | About::Apart(class, site, ..)
            | About::Handed(class, site, _) => (class, site),
        }
    }
}
