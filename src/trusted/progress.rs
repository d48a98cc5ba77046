//! Everybody blocked or finished implies everybody finished.
//!
//! Two members are looked at: one that is blocked, and one that has not yet made the arrival it waits for. The other
//! one is not at its end, and wherever it waits its rank is less.

use super::certificate::Counter;
use super::member::Awaits;
use super::member::Goal;
use super::member::Scene;
use super::member::Walked;
use super::member::unfit;
use super::system::System;
use super::term;
use super::unsupported::Unsupported;

/// What has to hold of a member of `class` and one of `other`, who both have been walked under names of their own.
///
/// # Errors
///
/// A walk that is none of the class.
pub fn goals(
    system: &System<'_>,
    class: usize,
    walked: &Walked,
    other: usize,
    others: &Walked,
) -> Result<Vec<Goal>, Unsupported> {
    let mut all = Vec::new();
    for scene in &walked.scenes {
        let Some(waits) = &scene.wait else { continue };
        if !system.lanes[waits.lane].arriving.contains(&other) {
            continue;
        }
        for place in &others.scenes {
            Unsupported::unless_in_time()?;
            let arrived = place
                .counters
                .get(&Counter::Arrived(waits.lane))
                .ok_or_else(unfit)?;
            let missing = term::le(arrived, &waits.number);
            let (goal, what) = match &place.wait {
                Some(theirs) => (
                    term::lt(&theirs.rank, &waits.rank),
                    "waits at a lesser rank",
                ),
                None => (term::boolean(false), "is not at its end"),
            };
            let meaning = format!(
                "who has not made an arrival that {} is for {what}: {}",
                quote(system, class, waits),
                match &place.wait {
                    Some(theirs) => quote(system, other, theirs),
                    None => system.classes[other].name.clone(),
                }
            );
            all.push(Goal {
                name: "progress",
                meaning,
                facts: facts(scene, place, missing),
                goal,
            });
        }
    }
    Ok(all)
}

/// What is known of both, for an arrival that is missing; the awaited number is at least 0, or nobody would block.
fn facts(scene: &Scene, place: &Scene, missing: term::Term) -> Vec<term::Term> {
    let mut all = scene.facts.clone();
    for fact in &place.facts {
        if !all.contains(fact) {
            all.push(fact.clone());
        }
    }
    if let Some(waits) = &scene.wait {
        all.push(term::le(&term::int(0), &waits.number));
    }
    all.push(missing);
    all
}

fn quote(system: &System<'_>, class: usize, waits: &Awaits) -> String {
    let text = system
        .protocol
        .source
        .get(waits.span.start..waits.span.end)
        .unwrap_or("");
    let words: Vec<&str> = text.split_whitespace().collect();
    format!("`{}` of {}", words.join(" "), system.classes[class].name)
}
