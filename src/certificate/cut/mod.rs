//! The cut rule: why threads that meet at barriers, rings of barriers and counters never hang. It
//! holds for any number of threads and of iterations, and for any number of stages where that stays
//! symbolic.
//!
//! Members of a role that run the same program form a *class* ([`class`]). Since control flow
//! never looks at a synchronization object, a member's program is a fixed sequence of operations,
//! and a member's state is a place in it. What has arrived at an element is a sum over classes of
//! closed forms ([`count`]) of their places.
//!
//! # The rule
//!
//! Give every wait by parity a *generation* ([`artefact::Generation`]): the completion it is meant
//! for, counted from the beginning. Read every wait as "at least that generation has completed",
//! a strict wait `== v` as `>= v`, and the blocking half of `sync` as waiting for the generation
//! in which the member registered. Call that the *unwrapped* protocol. The protocol is free of
//! deadlock if
//!
//! 1. *(well defined)* every expression is defined, every index is in range, every arrival counts
//!    at least one, no addition is negative, and uses of one named barrier give one count; every
//!    member is resident; if arrivals at an mbarrier count more than one, what is said of
//!    [`artefact::Shows::Generations`] below holds of that element;
//! 2. *(closed forms)* an iteration takes every local variable from its closed form to the next;
//! 3. *(parity)* the generation has the parity that lets the wait pass: `g + parity` is odd;
//! 4. *(not behind)* before a wait for generation `g > 1` the member has waited at that element for
//!    `g - 1`; before it registers for generation `g > 1`, generation `g - 1` has completed
//!    (by a wait of its own, or by 5 applied to somebody who waits for it, [`artefact::Support`]);
//!    Where others use a named barrier in between, a member's registrations may be for generations
//!    further apart ([`artefact::Registration`]): each for a later one than the last;
//! 5. *(cut)* for every operation that must not be overtaken (a wait by parity, a strict wait, a
//!    registration) there is a *cut*: one stop per class, such that with one member held before the
//!    operation and everybody else at the stops, everybody else is blocked (or finished), and the
//!    element has not completed generation `g + 1` (for a strict wait: has not passed the value;
//!    for a registration: has not completed `g`);
//! 6. *(progress)* no choice of one place per class leaves every class that has members blocked or
//!    finished and one of them blocked; classes that are the same but for a number are at one place
//!    (`symmetric.rs`).
//!
//! # Why it is sound
//!
//! The unwrapped protocol is monotone: arrivals only add up, and a wait that could pass still can
//! later. Hence (a): take a vector of places, one per member, in which everybody is blocked or
//! finished by the arrivals up to it. No run that starts below it ever gets beyond it: the first
//! member to do so would pass a wait with no more arrivals than the vector has. The same holds with
//! one member held, as long as it is held. So by 5, whenever a member stands before the operation,
//! everybody else is at or before the stops, and the element is where 5 says.
//!
//! (b) A run of the protocol is a run of the unwrapped one. Take the first step for which this
//! fails. Before it both agree, so 4 and 5 hold in its state. A wait by parity finds generation
//! `g - 1` or `g` completed and nothing else, so it passes iff `g` has (3). A strict wait finds at
//! most its value. A registration finds exactly `g - 1` completed, so it joins generation `g`. It
//! is the member's only one there, as its registrations are numbered apart. (That is shown, not
//! assumed. At a named barrier a second registration of a member in one generation counts like any
//! other. It would find `g - 2` completed. So 4 does not hold of a member that makes one, and the
//! rule refuses it.) Single arrivals cannot overshoot a phase. Now suppose that some count more
//! than one. Then a member's `g`th arrival at the element finds generation `g - 1` completed. So
//! the arrivals that count in generation `g` are at most one of each member. All of these together
//! count what is expected, so none counts more than is pending. So the step is a step of the
//! unwrapped protocol, and nothing undefined happens.
//!
//! (c) Suppose a run gets stuck. By (b), at its places `X` everybody is blocked or finished in the
//! unwrapped protocol. Vectors like that are closed under taking the lesser place of each member.
//! So there is a least one. It is mapped to itself by exchanging members of a class. So it has one
//! place per class, and one for several classes where the protocol is symmetric. Some member is
//! blocked in it, since it lies at or below `X`. That contradicts 6.
//!
//! The obligations of 1 to 6 are derived in `rule`, in a file for each condition.
//!
//! The stops of 5 are named by an iteration number. Iterations of a loop nest are numbered without
//! gaps, so a number between 0 and the total names one, and a number beyond it the end.
//!
//! # Other properties
//!
//! (b) says more than (c) uses. A wait by parity passes after exactly `g` completions in every run,
//! so none passes on a stale phase (`early_pass`). While a member stands before it, `g - 1` or `g`
//! have completed, and a counter has not passed the value of a strict wait, so what can pass stays
//! so (`lapped_wait`). Nothing undefined happens (`over_arrival`; giving back too much). Whoever
//! comes to an acquisition of more than the pool has would stay there, which (c) excludes
//! (`resources`). Nobody comes to an mbarrier before its initialisation (`uninitialized`, `init.rs`).
//!
//! For `early_completion`: registrations join generation `g` in every run. If
//! [`artefact::Shows::Generations`] is asked for, arrivals at mbarriers do so, too. A member's
//! `g`th arrival at an element is made after generation `g - 1` has completed (4, by a wait of its
//! own or by a support). As many members arrive there as arrivals are expected. So before
//! generation `g` completes, at most `g` arrivals of each have been made, and all of these are
//! needed. That holds for arrivals that land later than they are issued, too. For expectations and
//! deliveries see `bytes.rs`.
//!
//! For `tx_mismatch`: when phase `g` completes, all expectations of the first `g` generations have
//! been made. What has been delivered is no more than these (`bytes.rs`). So a delivery never
//! brings more than is missing. Such a cut shows too that in the end as many bytes have been
//! delivered to an element as were expected there.
//!
//! Only (c) and `resources` use 6. What is shown for `race` and `stale_read` holds in every state
//! that a run comes to, whether or not somebody is stuck in the end. So 6 is not asked for there,
//! unless a pool may run short. Such a certificate proves neither `deadlock` nor `resources`.
//!
//! For `race` and `stale_read` see [`races`] and [`visible`], for `assertion` [`asserted`],
//! for lifetimes of data (`resources`) `lifetimes.rs` and for CTAs that have exited (`uninitialized`)
//! `exits.rs`.
//!
//! # Copies
//!
//! Some roles have an index of unknown extent that is used as more than a number of members. They
//! are copies of something, such as CTAs. Copies that share nothing are treated one at a time
//! (`copies.rs`). Copies that are alike and share objects have one place per class, in all copies
//! ([`sharing`]). Copies whose programs depend on their number are looked at in the order of their
//! numbers ([`ordered`]). Both kinds of data, a copy's own and what several use, are looked at in
//! pairs of accesses (`pairs.rs`). Copies in order are refused for `race`, `stale_read` and
//! `assertion`. All copies that share objects are refused for what gets room and for CTAs that
//! exit.
//!
//! # Side conditions
//!
//! Refused with the construct named:
//!
//! - conditions on patterns and entries of rows that synchronization depends on;
//! - resets that do not directly follow the only member's wait (`epochs.rs`);
//! - ways of leaving a loop that `break_elimination.rs` does not cover;
//! - arrivals of one member that count differently;
//! - a wait at a split-phase barrier that does not follow its arrival in the same block, as written
//!   or once `split_phase.rs` has moved the arrival;
//! - indices that move in ways other than `x` and `x % m`, with `x` the number of the iteration up
//!   to a constant;
//! - index values of unknown extent that are used otherwise than in comparisons with values over
//!   parameters, unless they number copies.

pub(in crate::certificate) mod algebra;
pub mod artefact;
pub mod asserted;
pub(in crate::certificate) mod break_elimination;
mod bytes;
pub mod cases;
pub mod class;
mod comparisons;
pub mod copies;
pub mod count;
pub mod deferred;
pub mod domain;
mod epochs;
mod exits;
pub mod flow;
mod init;
pub mod lengths;
mod lifetimes;
mod missing;
pub mod ordered;
mod owned_semaphores;
mod pairs;
pub(in crate::certificate) mod polynomial;
mod pools;
pub mod races;
mod repeated_allocations;
mod rule;
pub mod sharing;
mod split_phase;
mod state;
pub mod statements;
pub mod symmetric;
mod values;
pub mod visible;

pub use bytes::several;

use artefact::Cut;
use artefact::Order;
use artefact::Shows;
use rule::Rule;

use super::claims;
use super::obligation::Obligation;
use super::program::Unsupported;
use crate::protocol::ObjectKind;
use crate::protocol::ParamId;
use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::semantics::hazards;

/// Whether the obligations of a cut that shows `shows` prove a property of a protocol.
pub fn proves(protocol: &Protocol, shows: Shows, property: Property) -> bool {
    let mut objects = protocol.objects.iter();
    let consistent = shows == Shows::Generations;
    match property {
        Property::Deadlock => shows.progress(),
        Property::EarlyPass | Property::LappedWait | Property::OverArrival => true,
        Property::Uninitialized => {
            shows == Shows::Exits || !hazards::wants_data(protocol, property)
        }
        Property::Resources => {
            let pools_only = !hazards::wants_data(protocol, property);
            shows == Shows::Lifetimes || pools_only && shows.progress()
        }
        Property::EarlyCompletion => {
            consistent || !objects.any(|o| matches!(o.kind, ObjectKind::Mbarrier { .. }))
        }
        Property::TxMismatch => consistent,
        Property::Race => shows == Shows::Ordering,
        Property::StaleRead => shows == Shows::Visibility,
        Property::Assertion => {
            let claims = shows == Shows::Claims && claims::every_run_ends(protocol);
            claims || shows.progress() && claims::follow_from_progress(protocol)
        }
    }
}

/// Derives every obligation of the rule for this protocol and artefact.
///
/// # Errors
///
/// Refuses a protocol outside the rule's side conditions and an artefact that does not fit it.
pub fn obligations(protocol: &Protocol, cut: &Cut) -> Result<Vec<Obligation>, Unsupported> {
    let mut all = cases::coverage(protocol, cut)?;
    for (nth, case) in cut.cases.iter().enumerate() {
        all.extend(one_case(protocol, cut, case, prefix(cut, nth))?);
    }
    Ok(all)
}

/// The obligations of one case, with names that begin like this.
///
/// # Errors
///
/// Refuses what the rule refuses.
pub fn one_case(
    protocol: &Protocol,
    cut: &Cut,
    case: &artefact::Case,
    prefix: String,
) -> Result<Vec<Obligation>, Unsupported> {
    let fixed = cases::fixed(&cut.split, case);
    let view = View::new(protocol, cut.order)?;
    let [classes, shadows] = if case.empty {
        Default::default()
    } else {
        view.classes(&fixed)?
    };
    let mut rule = Rule::new(&view, fixed, [&classes, &shadows], case, cut.shows, prefix);
    rule.derive()?;
    Ok(rule.all)
}

/// What an obligation lacks, if that is plain without asking a solver. This is for the author of a
/// protocol that has no proof.
pub fn missing(protocol: &Protocol, cut: &Cut, obligation: &str) -> Option<String> {
    cut.cases.iter().enumerate().find_map(|(nth, case)| {
        let prefix = prefix(cut, nth);
        if !obligation.starts_with(&prefix) {
            return None;
        }
        let fixed = cases::fixed(&cut.split, case);
        let view = View::new(protocol, cut.order).ok()?;
        let [classes, shadows] = view.classes(&fixed).ok()?;
        let mut rule = Rule::new(&view, fixed, [&classes, &shadows], case, cut.shows, prefix);
        rule.derive().ok()?;
        let found = rule
            .missing
            .into_iter()
            .find(|(name, _)| name == obligation);
        found.map(|(_, missing)| missing)
    })
}

/// How the names of a case's obligations begin.
fn prefix(cut: &Cut, case: usize) -> String {
    match cut.cases.len() {
        0 | 1 => String::new(),
        _ => format!("case_{case}_"),
    }
}

/// A protocol as a proof looks at it: as a whole, or from one of its ordered copies.
pub struct View<'p> {
    whole: &'p Protocol,
    /// The copies, if they go in order.
    pub ordered: Option<ordered::Ordered>,
}

impl<'p> View<'p> {
    /// Looks at a protocol as a proof with this order of copies does.
    ///
    /// # Errors
    ///
    /// Refuses an order where there are no copies that could go in order.
    pub fn new(whole: &'p Protocol, order: Option<Order>) -> Result<View<'p>, Unsupported> {
        let none = || Unsupported::whole("an order of copies where there are none");
        let ordered = match order {
            Some(order) => Some(ordered::ordered(whole, order).ok_or_else(none)?),
            None => None,
        };
        Ok(View { whole, ordered })
    }

    /// The protocol that the proof looks at.
    pub fn protocol(&self) -> &Protocol {
        match &self.ordered {
            Some(ordered) => &ordered.seen_from[0],
            None => self.whole,
        }
    }

    /// Its copies that are alike. There are none if copies go in order.
    pub fn copies(&self) -> copies::Copies {
        match &self.ordered {
            Some(_) => copies::Copies::default(),
            None => copies::copies(self.whole),
        }
    }

    /// Its classes, and those of the other symbolic copies.
    ///
    /// # Errors
    ///
    /// Refuses what the rule refuses.
    pub fn classes(&self, fixed: &[(ParamId, i64)]) -> Result<[Vec<class::Class>; 2], Unsupported> {
        match &self.ordered {
            Some(ordered) => ordered.classes(fixed),
            None => Ok([class::classes(self.whole, fixed)?, Vec::new()]),
        }
    }
}

/// That no member of a class ever gets to an operation, whatever the parameters. A reader of a
/// proof wants to know this, because it usually means a wrong model.
///
/// # Errors
///
/// Refuses what the rule refuses.
pub fn unreachable(
    view: &View<'_>,
    fixed: &[(ParamId, i64)],
    classes: &[class::Class],
    class: usize,
    site: usize,
) -> Result<Obligation, Unsupported> {
    let case = artefact::Case::default();
    let mut rule = stated(view, fixed, classes, &case);
    rule.unreachable(class, site)?;
    let none = || Unsupported::whole("an operation whose reachability is not stated");
    rule.all.pop().ok_or_else(none)
}

/// The rule over these classes, with nothing to show of all of them: for questions about one place
/// or about their shape.
fn stated<'a>(
    view: &'a View<'_>,
    fixed: &[(ParamId, i64)],
    classes: &'a [class::Class],
    case: &'a artefact::Case,
) -> Rule<'a> {
    Rule::new(
        view,
        fixed.to_vec(),
        [classes, &[]],
        case,
        Shows::Nothing,
        String::new(),
    )
}

/// For every renaming of classes and elements that is found and leaves the protocol the same: the
/// new name of each class.
pub fn renamings(
    view: &View<'_>,
    fixed: &[(ParamId, i64)],
    classes: &[class::Class],
    case: &artefact::Case,
) -> Vec<Vec<usize>> {
    stated(view, fixed, classes, case).renamings().to_vec()
}
