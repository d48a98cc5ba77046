//! If everybody is blocked or finished, everybody is finished.
//!
//! Two members are compared: one that is blocked, and one that has not yet made the arrival that the first one waits for.
//! The second is not at its end, and wherever it waits, its rank is less.

use super::certificate::Counter;
use super::member::Awaits;
use super::member::Goal;
use super::member::Member;
use super::member::Scene;
use super::member::unfit;
use super::system::System;
use super::term;
use super::term::Term;
use super::unsupported::Unsupported;
use super::world::World;

/// More products than this are more of a burden than a help.
const MOST: usize = 200;

/// What has to hold of a member of `class` and one of `other`, who both have been walked under names of their own.
///
/// # Errors
///
/// A walk that is none of the class.
pub fn goals(
    world: &World<'_, '_>,
    class: usize,
    walked: &Member<'_, '_>,
    other: usize,
    others: &Member<'_, '_>,
) -> Result<Vec<Goal>, Unsupported> {
    let system = world.system;
    let mut all = Vec::new();
    let multiples = multiples(walked, others);
    for scene in &walked.scenes {
        let Some(waits) = &scene.wait else { continue };
        if !system.rings[waits.ring].arriving.contains(&other) {
            continue;
        }
        let own = world.group_of(class, waits.ring, true, &walked.names.vars)?;
        let theirs = world.group_of(other, waits.ring, false, &others.names.vars)?;
        let one_group = term::same(&own, &theirs);
        for place in &others.scenes {
            Unsupported::unless_in_time()?;
            let arrived = place
                .counters
                .get(&Counter::Arrived(waits.ring))
                .ok_or_else(unfit)?;
            let missing = term::le(arrived, &waits.number);
            let missing = term::and([vec![missing], one_group.clone()].concat());
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
                facts: [facts(scene, place, missing), multiples.clone()].concat(),
                goal,
                functions: Vec::new(),
            });
        }
    }
    Ok(all)
}

/// *Theorem (multiples).* For `b >= 0` and integers `x < y`, `x * b + b <= y * b`. It is stated of the products of both
/// members that have all factors but one in common, which solvers would have to find.
fn multiples(walked: &Member<'_, '_>, others: &Member<'_, '_>) -> Vec<Term> {
    let mut all = Vec::new();
    for (by, x) in &walked.products {
        for (_, y) in others.products.iter().filter(|(others, _)| others == by) {
            for (x, y) in [(x, y), (y, x)] {
                let times = |x: &Term| term::product(by.iter().chain([x]).cloned());
                let by = term::product(by.iter().cloned());
                let more = term::sum([times(x), by.clone()]);
                all.push(term::or([
                    term::lt(&by, &term::int(0)),
                    term::le(y, x),
                    term::le(&more, &times(y)),
                ]));
            }
        }
        if all.len() > MOST {
            return Vec::new();
        }
    }
    all
}

/// What is known of both, for an arrival that is missing; the awaited number is at least 0, or nobody would block.
fn facts(scene: &Scene, place: &Scene, missing: Term) -> Vec<Term> {
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
    let text = super::unsupported::quote(system.protocol, waits.span);
    format!("{text} of {}", system.classes[class].name)
}
