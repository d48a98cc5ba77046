//! Guesses which deliveries of a member are counted as one operation. For example, several statements fill a ring, some
//! in a loop and some before it, and the member does not expect the bytes itself.

use std::collections::HashMap;

use itertools::Itertools;

use super::samples::Sample;
use super::trace::Element;
use crate::certificate::cut::artefact::Deliveries;
use crate::certificate::cut::class::Class;
use crate::certificate::cut::flow::Kind;
use crate::protocol::Expr;
use crate::protocol::ObjectId;

/// The groups of deliveries, where some statement by itself does not deliver in every phase.
pub(super) fn deliveries(classes: &[Class], samples: &[Sample]) -> Vec<Deliveries> {
    let mut all = Vec::new();
    for (class, this) in classes.iter().enumerate() {
        let sites = this.flow.sites.iter();
        let delivers = sites.filter(|site| matches!(site.kind, Kind::Deliver { .. }));
        for object in delivers.map(|site| site.object).unique() {
            if samples.iter().any(|s| misses(classes, s, class, object)) {
                all.extend(groups(classes, class, object));
            }
        }
    }
    all
}

/// Whether a statement of a class was seen to deliver less often at an element than somebody arrives there.
fn misses(classes: &[Class], sample: &Sample, class: usize, object: ObjectId) -> bool {
    let counts = |by: usize, kind: fn(&Kind) -> bool| {
        let steps = sample.steps[by].iter();
        let here = steps.filter(|s| s.op.element.0 == object.0);
        let of_kind = here.filter(|s| kind(&classes[by].flow.sites[s.op.site].kind));
        of_kind.counts_by(|s| (s.op.site, &s.op.element))
    };
    let delivered = counts(class, |k| matches!(k, Kind::Deliver { .. }));
    (0..classes.len()).any(|by| {
        let mut phases: HashMap<&Element, usize> = HashMap::new();
        for ((_, element), times) in counts(by, |k| matches!(k, Kind::Arrive { .. })) {
            *phases.entry(element).or_default() += times;
        }
        delivered
            .iter()
            .any(|((_, element), times)| phases.get(element).is_some_and(|phases| times < phases))
    })
}

/// The deliveries of a class at an object that it does not arrive at: those that are the first, the second and so on of
/// their round, if all rounds are alike. A round is what one block delivers at one element.
fn groups(classes: &[Class], class: usize, object: ObjectId) -> Vec<Deliveries> {
    let sites = &classes[class].flow.sites;
    let here = sites.iter().enumerate().filter(|(_, s)| s.object == object);
    if here
        .clone()
        .any(|(_, s)| matches!(s.kind, Kind::Arrive { .. }))
    {
        return Vec::new();
    }
    let delivers = here.filter_map(|(nth, site)| match &site.kind {
        Kind::Deliver { bytes } => Some((nth, site, bytes)),
        _ => None,
    });
    let rounds = delivers.chunk_by(|(_, site, _)| (&site.path, &site.index));
    let rounds: Vec<Vec<(usize, &Expr)>> = rounds
        .into_iter()
        .map(|(_, round)| round.map(|(nth, _, bytes)| (nth, bytes)).collect())
        .collect();
    let bytes = |round: &[(usize, &Expr)]| round.iter().map(|(_, b)| (*b).clone()).collect_vec();
    if rounds.len() < 2 || !rounds.iter().map(|round| bytes(round)).all_equal() {
        return Vec::new();
    }
    let column = |place: usize| Deliveries {
        class,
        sites: rounds.iter().map(|round| round[place].0).collect(),
    };
    (0..rounds[0].len()).map(column).collect()
}
