//! Guesses which generations of named barriers the registrations of each class join, from one run.
//!
//! In a correctly synchronized protocol every run gives the same generations. For other protocols the checker refuses the
//! guess.

use std::collections::BTreeMap;
use std::collections::HashMap;

use super::samples::Sample;
use super::trace::Element;
use crate::certificate::cut::artefact::Registration;
use crate::certificate::cut::class::Class;
use crate::certificate::cut::flow::Kind;
use crate::protocol::ObjectKind;
use crate::protocol::Protocol;

/// How many threads one registration stands for.
const WARP: i64 = 32;

/// What was seen: earlier registrations of the member at the element, and the generation.
type Seen = Vec<(i64, i64)>;

/// The registrations that are not simply for the next generation each time, from the first one on.
pub(super) fn registrations(
    protocol: &Protocol,
    classes: &[Class],
    samples: &[Sample],
) -> Vec<Registration> {
    let mut seen: BTreeMap<(usize, usize), Seen> = BTreeMap::new();
    for sample in samples {
        watch(protocol, classes, sample, &mut seen);
    }
    let fitting = seen.into_iter().filter_map(|((class, site), seen)| {
        let (first, every) = fit(&seen)?;
        ((first, every) != (1, 1)).then_some(Registration {
            class,
            site,
            first,
            every,
        })
    });
    fitting.collect()
}

/// The line through all points, if there is one that rises.
fn fit(seen: &Seen) -> Option<(i64, i64)> {
    let low = seen.iter().min()?;
    let high = seen.iter().max()?;
    let every = if low.0 == high.0 {
        1
    } else {
        (high.1 - low.1) / (high.0 - low.0)
    };
    let first = low.1 - every * low.0;
    let fits = |(earlier, generation): &(i64, i64)| *generation == first + every * earlier;
    (first >= 1 && every >= 1 && seen.iter().all(fits)).then_some((first, every))
}

/// Runs everybody as far as possible, each class as a whole, with named barriers as they are.
fn watch(
    protocol: &Protocol,
    classes: &[Class],
    sample: &Sample,
    seen: &mut BTreeMap<(usize, usize), Seen>,
) {
    let mut arrived: HashMap<&Element, (i64, i64)> = HashMap::new();
    let mut at = vec![0; classes.len()];
    let mut earlier: HashMap<(usize, &Element), i64> = HashMap::new();
    let mut waiting: Vec<Option<(i64, i64)>> = vec![None; classes.len()];
    loop {
        let mut moved = false;
        for class in (0..classes.len()).filter(|c| sample.sizes[*c] > 0) {
            while let Some(step) = sample.steps[class].get(at[class]) {
                let element = &step.op.element;
                let there = arrived.entry(element).or_default();
                let kind = &classes[class].flow.sites[step.op.site].kind;
                let named = protocol.objects[element.0].kind == ObjectKind::Named;
                let short = match (kind, step.needs) {
                    (Kind::Await, _) if named => {
                        let (generation, count) = waiting[class].unwrap_or_default();
                        there.0 < generation * count
                    }
                    (_, Some(needs)) => there.0 < needs.arrivals || there.1 < needs.bytes,
                    (_, None) => false,
                };
                if short {
                    break;
                }
                if named && matches!(kind, Kind::Register { .. }) && step.op.operand >= WARP {
                    let generation = there.0 / step.op.operand + 1;
                    let before = earlier.entry((class, element)).or_default();
                    let all = seen.entry((class, step.op.site)).or_default();
                    all.push((*before, generation));
                    *before += 1;
                    waiting[class] = Some((generation, step.op.operand));
                }
                let members = sample.sizes[class].saturating_mul(sample.copies_at(class, step));
                let all = |of: i64| of.saturating_mul(members);
                there.0 = there.0.saturating_add(all(step.adds.arrivals));
                there.1 = there.1.saturating_add(all(step.adds.bytes));
                at[class] += 1;
                moved = true;
            }
        }
        if !moved {
            return;
        }
    }
}
