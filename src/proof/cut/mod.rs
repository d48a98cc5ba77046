//! Guesses cuts: generations from parities, and stops from concrete runs in which one member is
//! held.

mod asserted;
mod basis;
pub(super) mod copies;
mod deliveries;
mod exposures;
mod fit;
mod generations;
mod holds;
pub(super) mod points;
mod pools;
mod refine;
mod registrations;
mod samples;
pub(super) mod splitting;
mod supports;
pub(super) mod trace;

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;
use std::time::Instant;

use generations::generations;
use holds::Places;
use samples::Sample;
use samples::Traced;
use samples::sample;
use samples::traced;
use samples::traced_below;
use samples::traced_shorter;
use splitting::split;

use crate::certificate::argument::Argument;
use crate::certificate::cut;
use crate::certificate::cut::artefact::Case;
use crate::certificate::cut::artefact::Cut;
use crate::certificate::cut::artefact::Hold;
use crate::certificate::cut::artefact::Order;
use crate::certificate::cut::artefact::Registration;
use crate::certificate::cut::artefact::Shows;
use crate::certificate::cut::class::Class;
use crate::certificate::cut::ordered::Ordered;
use crate::deadline;
use crate::proof::empty;
use crate::protocol::Domain;
use crate::protocol::ObjectKind;
use crate::protocol::ParamId;
use crate::protocol::Protocol;

use super::Guess;

/// Looks for a proof by cuts that shows `shows`. Cuts for operations are taken from `base` if it
/// has the same case.
pub fn guess(
    protocol: &Protocol,
    shows: Shows,
    base: Option<&Cut>,
    deadline: Instant,
    tell: &dyn Fn(&str),
) -> Guess {
    let mut reason = None;
    // Copies need an order if their programs depend on their number. What such copies do to data is
    // refused.
    for order in [None, Some(Order::Ascending), Some(Order::Descending)] {
        let copies = |order| cut::ordered::ordered(protocol, order).is_some();
        let alone = is_one_grid(protocol) || !matches!(shows, Shows::Nothing | Shows::Generations);
        if !order.is_none_or(copies) || order.is_some() && alone {
            continue;
        }
        let split = split(protocol, (shows, order));
        let base = base.filter(|base| base.order == order && base.split == split);
        // The checker discharges the obligations, because doing it here as well would take twice
        // the time. Only the choice between two orders depends on what they show.
        let start = Cut {
            split,
            shows,
            order,
            cases: Vec::new(),
        };
        match in_order(protocol, start, base, deadline, tell) {
            Ok(cut) if order == Some(Order::Ascending) && !copies::goes_on(protocol, &cut) => {
                reason = Some("ascending numbers are not the order of the copies".to_owned());
            }
            Ok(cut) => return Guess::Fitting(Argument::Cut(cut)),
            // From the second attempt on, the failure says more about why there is no proof.
            Err(failure) => reason = Some(failure.reason),
        }
    }
    Guess::nothing(reason.unwrap_or_default())
}

/// Whether a protocol is one grid that works on semaphores. Other rules know more about those, such
/// as the order in which the CTAs start.
fn is_one_grid(protocol: &Protocol) -> bool {
    let semaphore = |kind: &ObjectKind| matches!(kind, ObjectKind::Semaphore(_));
    let launched = protocol.roles.iter().all(|role| role.launch.is_some());
    launched
        && protocol.roles.len() == 1
        && protocol
            .objects
            .iter()
            .all(|object| semaphore(&object.kind))
}

/// The same for copies in an order, or without one.
fn in_order(
    protocol: &Protocol,
    mut cut: Cut,
    base: Option<&Cut>,
    deadline: Instant,
    tell: &dyn Fn(&str),
) -> Result<Cut, Failure> {
    let refused = |refused| Failure::new(super::uncovered_in(protocol)(refused));
    let combinations = cut::cases::combinations(protocol, &cut.split).map_err(refused)?;
    let total = combinations.len();
    for (nth, values) in combinations.iter().enumerate() {
        tell(&format!("looking for cuts, case {} of {total}", nth + 1));
        let cases = refine::cases(protocol, (&cut, base), values, deadline)?;
        cut.cases.extend(cases);
    }
    Ok(cut)
}

/// Why there is no guess where time was short.
pub(super) const LATE: &str = "the time limit was reached while looking for cuts";

/// Why there is no guess.
struct Failure {
    reason: String,
}

impl Failure {
    fn new(reason: impl Into<String>) -> Failure {
        Failure {
            reason: reason.into(),
        }
    }
}

fn case(
    protocol: &Protocol,
    (cut, base): (&Cut, Option<&Cut>),
    mut result: Case,
    deadline: Instant,
) -> Result<Case, Failure> {
    let fixed = cut::cases::fixed(&cut.split, &result);
    let refused = |refused| Failure::new(super::uncovered_in(protocol)(refused));
    let view = cut::View::new(protocol, cut.order).map_err(refused)?;
    let points = points::draw(protocol, &fixed);
    if points.is_empty() {
        if empty::is_empty(&narrowed(protocol, &fixed), Duration::from_secs(2)) {
            result.empty = true;
            return Ok(result);
        }
        return Err(Failure::new(
            "no small parameter values satisfy the assumptions",
        ));
    }
    let [classes, _] = view.classes(&fixed).map_err(refused)?;
    if deadline::over() {
        return Err(Failure::new(LATE));
    }
    let traced = runs(&view, protocol, &fixed, &classes, points);
    let protocol = view.protocol();
    result.generations = generations(protocol, &classes, &traced)?;
    let numbered = |case: &Case| -> Vec<Sample> {
        let traced = traced.iter().cloned();
        let samples = traced.filter_map(|(params, ops)| {
            let one = sample(protocol, &classes, case, params, ops)?;
            match &view.ordered {
                Some(ordered) => copies::with_others(protocol, ordered, &classes, case, one),
                None => Some(one),
            }
        });
        samples.collect()
    };
    let mut samples = numbered(&result);
    result.registrations = registrations::registrations(protocol, &classes, &samples);
    result.deliveries = deliveries::deliveries(&classes, &samples);
    if !result.registrations.is_empty() || !result.deliveries.is_empty() {
        samples = numbered(&result);
    }
    let renamings = cut::renamings(&view, &fixed, &classes, &result);
    let mut search = Search {
        protocol,
        renamings,
        classes: &classes,
        samples: &samples,
        ordered: view.ordered.as_ref(),
        registrations: &result.registrations,
        holds: held_before(base, &result, &classes),
        shows: cut.shows,
        deadline,
        places: RefCell::default(),
    };
    for (class, this) in classes.iter().enumerate() {
        for site in 0..this.flow.sites.len() {
            if search.guarded(class, site) {
                search.hold(class, site)?;
            }
        }
    }
    for (class, this) in classes.iter().enumerate() {
        for site in 0..this.flow.sites.len() {
            if deadline::over() {
                return Err(Failure::new(LATE));
            }
            result.supports.extend(search.supports(class, site)?);
        }
    }
    if matches!(cut.shows, Shows::Ordering | Shows::Visibility) {
        result.exposures = search.exposures();
    }
    result.plenty = search.plenty();
    result.brief = search.brief(&result.plenty);
    result.revolving = search.revolving(&[&result.plenty[..], &result.brief].concat());
    if cut.shows == Shows::Lifetimes {
        result.exposures = search.lifetimes();
    }
    if cut.shows == Shows::Exits {
        result.exposures = search.exits();
    }
    if cut.shows == Shows::Claims {
        result.exposures = search.asserted();
        result.floors = search.floors();
        search.kept();
    }
    result.holds = search.holds;
    Ok(result)
}

/// What classes do at these parameter values, or at others below the domain.
fn runs(
    view: &cut::View<'_>,
    protocol: &Protocol,
    fixed: &[(ParamId, i64)],
    classes: &[Class],
    points: Vec<Vec<i64>>,
) -> Traced {
    if let Some(ordered) = &view.ordered {
        return traced(classes, copies::numbered(ordered, points));
    }
    let total = points.len();
    let within = traced(classes, points.clone());
    if 4 * within.len() >= 3 * total {
        return within;
    }
    // If the domain begins with many iterations, or a loop has many, fewer iterations tell as much.
    let below = traced_below(protocol, classes, fixed);
    let found = if below.len() > within.len() {
        below
    } else {
        within
    };
    match found.is_empty() {
        true => traced_shorter(classes, &points),
        false => found,
    }
}

/// The cuts for operations that were found before for a case, if the operations are the same.
fn held_before(base: Option<&Cut>, case: &Case, classes: &[Class]) -> Vec<Hold> {
    let mut cases = base.into_iter().flat_map(|base| &base.cases);
    let same = cases.find(|known| {
        known.values == case.values
            && known.further == case.further
            && known.generations == case.generations
            && known.registrations == case.registrations
            && known.deliveries == case.deliveries
    });
    let fits = |hold: &&Hold| {
        let class = classes.get(hold.class);
        class.is_some_and(|class| hold.site < class.flow.sites.len())
    };
    let holds = same.map_or(&[][..], |known| &known.holds);
    holds.iter().filter(fits).cloned().collect()
}

fn narrowed(protocol: &Protocol, fixed: &[(ParamId, i64)]) -> Protocol {
    let mut protocol = protocol.clone();
    for (id, value) in fixed {
        protocol.params[id.0].domain = Domain::Range(*value, *value);
    }
    protocol
}

struct Search<'a> {
    protocol: &'a Protocol,
    classes: &'a [Class],
    samples: &'a [Sample],
    ordered: Option<&'a Ordered>,
    registrations: &'a [Registration],
    /// For every renaming of classes and elements: the new name of each class.
    renamings: Vec<Vec<usize>>,
    holds: Vec<Hold>,
    shows: Shows,
    deadline: Instant,
    /// For a class, operation, sample and copy: where the operation is executed.
    places: RefCell<HashMap<(usize, usize, usize, usize), Places>>,
}
