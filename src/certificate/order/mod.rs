//! The order rule: members never wait in a cycle, because each wait has a greater rank than the arrivals that it
//! waits for. Exact integer arithmetic checks its certificates, without a solver.
//!
//! # The rule
//!
//! Members of a role that run the same program form a class. The elements of an object that are used in turn form a
//! *ring* of some *size* ([`rings`]). Each member that arrives at a ring numbers its arrivals from 0. The conditions
//! below imply that the protocol is free of deadlock, and that every generation is completed by the arrivals that are
//! meant for it.
//!
//! 1. *(well defined)* Every divisor is positive, every amount is in range, the whole grid is resident, and local
//!    variables have their closed forms ([`Rule::declarations`], [`Rule::programs`](rule::Rule::programs)).
//! 2. *(count)* As many members arrive at a ring as a generation needs, with one arrival each. At an mbarrier, an
//!    arrival may count more than one, the same each time ([`Rule::counts`](rule::Rule::counts)). A member that
//!    counts several times in each generation of a named barrier is treated as several members
//!    (`repeated_registrations.rs`). Different members may take part in different generations ([`seats`]). Members
//!    that take turns at arriving are treated as one ([`teams`]).
//! 3. *(turn)* Arrival `v` of a member is at element `v mod size`, so it belongs to generation `v div size + 1` of
//!    that element. A member expects bytes before its arrival and then delivers them, without a wait in between, and
//!    at least one byte in each delivery; or others bring them (`bytes.rs`)
//!    ([`Rule::arrivals`](rule::Rule::arrivals)).
//! 4. *(wait)* A class's `n`th wait at a ring, from 0, is at element `j mod size` and has the parity of generation `j
//!    div size + 1`, where `j = n - rounds * size - arrivals` for two numbers ([`artefact::Lag`]). `j >= -size`. If
//!    `j >= 0`, each member that arrives at the ring makes arrival `j` ([`Rule::waits`](rule::Rule::waits)). Waits
//!    for arrivals below 0 may be skipped ([`guards`]). Waits that end programs may be checked separately
//!    ([`trailing_waits`]), and last arrivals may lack bytes (`unfilled.rs`).
//! 5. *(not behind)* A member that comes to such a wait by parity with `j >= size` knows that arrival `j - size` has
//!    been awaited.
//! 6. *(in turn)* A member that makes arrival `v >= size` knows that arrival `v - size` has been awaited.
//! 7. *(not lapped)* A member that makes arrival `j + size` knows that the waiting member has passed its wait for `j`
//!    ([`Rule::chain`](rule::Rule::chain) for 5 to 7).
//! 8. *(rank)* The ranks of operations do not decrease along a program. A wait for arrival `j >= 0` has a greater
//!    rank than arrival `j` of every member ([`Rule::ranks`](rule::Rule::ranks)).
//!
//! *Knows* means that there is a chain ([`artefact::Chain`]): the member's own last wait at some ring was for some
//! arrival of another class that has members. Each of these members made this arrival after its own last wait at
//! another ring. The chain continues in this way until a member has passed the wait in question.
//!
//! A rank is a sum over the loops of a class, plus a number of the operation. The term of a loop is a weight times
//! the number of iterations completed over the whole run. Weights are polynomials over parameters. A rank cannot
//! decrease along a program under two conditions ([`ranks`]). No weight is below 0. On each path from an operation to
//! the next one, the number of the operation decreases by at most the weights of the loops of which an iteration ends
//! on the path.
//!
//! # Why it is sound
//!
//! Call a state *tidy* if two conditions hold. First, at every element with `c` complete generations, every member
//! that arrives at the ring has made `c` or `c + 1` arrivals (some may not have landed yet). Second, every wait by
//! parity or registration that a member has passed was for a completed generation. The initial state is tidy. Take
//! the first step of a run after which the state is not tidy.
//!
//! It is not an arrival. Before the member makes its arrival for `g`, this member or another one has waited for
//! generation `g - 1` of its element, by 6. In a tidy state, an awaited generation is complete. Hence all arrivals
//! that land while `g - 1` generations are complete are for `g`, at most one of each member. (This follows from *in
//! turn* and from no other condition: at a named barrier every registration counts, even a second one of a member.)
//! By 2, the generation completes when every member has made one. So no unexpected arrival happens. By 3, bytes are
//! expected before the member's own arrival, and the same number is delivered. So the byte count is never negative.
//! When all members have arrived, it is 0 exactly when every delivery has landed. So the step is not a completion
//! either.
//!
//! It is not a wait. By 5, generation `g - 1` is complete when a member comes to its wait for `g`. Generation `g + 1`
//! is not complete: it needs arrival `j + size` of the class at the end of the chain of 7, and each member of this
//! class knows that the waiting member has passed. So `g - 1` or `g` generations are complete, and by its parity (4)
//! the wait passes iff `g` are. (If no class arrives at a ring, no generation of it completes. Then its waits are for
//! arrivals below 0, and none can be lapped.)
//!
//! Now suppose that a run gets stuck. Everything that was in flight has landed. Take a member that is blocked at a
//! wait with the least rank. Its generation is not complete although nothing is in flight. So some member has not
//! made arrival `j`, although its program makes it (4). That member has not finished, so it is blocked before this
//! arrival, at a wait whose rank is at most that of the arrival (8). This is below the least rank, which is a
//! contradiction.
//!
//! # Other properties
//!
//! In a tidy state no wait passes on a stale phase (`early_pass`), none is lapped (`lapped_wait`), no generation
//! completes without an arrival that is meant for it (`early_completion`) or takes more than it expects
//! (`over_arrival`), and bytes agree (`tx_mismatch`).
//!
//! # Side conditions
//!
//! These constructs are refused, by name: semaphores, pools that may run short, patterns, grids that need not fit,
//! arrivals of one member that count differently, and objects with two indices that move. Explicit initialisation is
//! removed if it comes before every use (`initial.rs`), and operations on a pool are removed if the pool never makes
//! a member wait (`pools.rs`). Everything is stated as inequalities between polynomials ([`polynomial`]) over
//! parameters and iteration numbers, and proved by multipliers ([`positivity`]).

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
        // Protocols with explicit initialisation or with pools that may run short are not covered. All other
        // violations of these properties are about data.
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

/// All obligations, each with a name of its own.
///
/// # Errors
///
/// The first construct that the rule does not cover, or the part of the artefact that does not fit.
pub fn claims(protocol: &Protocol, order: &Order) -> Result<Vec<Claim>, Unsupported> {
    claims_of_named(&names(protocol), order)
}

/// The protocol that the rule is about: parameters replace quotients and conditions.
pub fn named(protocol: &Protocol) -> Protocol {
    names(protocol).named
}

/// A protocol in which parameters replace quotients and conditions, and the steps to it.
struct Names {
    /// The protocol with parameters for loop bounds alone.
    bounds: Protocol,
    /// The quotients whose parameters occur elsewhere as well.
    elsewhere: Vec<quotients::Quotient>,
    /// The protocol with all parameters.
    named: Protocol,
    /// Whether some parameters replace conditions.
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

/// The obligations of a protocol in which parameters replace quotients and conditions.
fn claims_of_named(names: &Names, order: &Order) -> Result<Vec<Claim>, Unsupported> {
    let protocol = &names.named;
    let rule = Rule::new(protocol, order)?;
    let mut all = rule.declarations()?;
    all.extend(rule.programs()?);
    if names.conditions || !names.elsewhere.is_empty() {
        // An expression has to be defined even if a parameter replaces it.
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

/// The obligations as SMT-LIB, for users who prefer a solver.
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

/// Checks the multipliers of every obligation. `None` if all are right; otherwise the first obligation that is not
/// proved, and the reason.
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

/// The class and the operation that a chain is about.
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
