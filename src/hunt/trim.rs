//! Removes actions from a run that do not contribute to the hazard.

use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::semantics::data::Data;
use crate::semantics::explore::Options;
use crate::semantics::hazards;
use crate::semantics::hazards::judge;
use crate::semantics::hazards::search;
use crate::semantics::hazards::search::Runs;
use crate::semantics::instance::Instance;
use crate::semantics::step::Action;
use crate::semantics::unfold;

use super::Hang;
use super::LARGEST;
use super::Watch;
use super::distinct;
use super::distinct::Place;

/// The most states that are searched for shortest runs.
const STATES: u64 = 10_000;

/// The longest run from which actions are removed one by one. This takes quadratic time.
const TRIMMED: usize = 1_000;

/// The same input with shorter runs. If the instance is small, these are shortest runs. Otherwise these are the given
/// runs without the actions that can be removed from them.
pub(super) fn trimmed(
    protocol: &Protocol,
    property: Property,
    hang: Hang,
    watch: &Watch<'_>,
) -> Hang {
    let Ok(instance) = unfold::instantiate(protocol, &hang.input) else {
        return hang;
    };
    let data = hazards::wanted_data(protocol, property, &hang.input, &LARGEST);
    let data = data.ok().flatten();
    let options = Options {
        max_states: STATES,
        cancel: Some(watch.cancel),
        deadline: Some(watch.deadline),
        ..Options::default()
    };
    let searched = search::search(&instance, data.as_ref(), property, &options);
    if let Some(runs) = searched.found {
        return Hang::by(hang.input, runs);
    }
    let trimmer = Trimmer {
        instance: &instance,
        data: data.as_ref(),
        property,
        watch,
    };
    trimmer.both(hang, &|first, second| trimmer.holds(first, second))
}

/// The same input, with runs that still show a hazard of this place and from which no action can be removed.
pub(super) fn alike(
    protocol: &Protocol,
    property: Property,
    hang: Hang,
    place: &Place,
    watch: &Watch<'_>,
) -> Hang {
    let Ok(instance) = unfold::instantiate(protocol, &hang.input) else {
        return hang;
    };
    let data = hazards::wanted_data(protocol, property, &hang.input, &LARGEST);
    let data = data.ok().flatten();
    let trimmer = Trimmer {
        instance: &instance,
        data: data.as_ref(),
        property,
        watch,
    };
    let same = |first: &[Action], second: Option<&[Action]>| {
        let judged = judge(&instance, data.as_ref(), property, first, second);
        let judged = judged.ok().flatten().into_iter();
        let mut all = judged.flat_map(|judged| [judged.hazard].into_iter().chain(judged.others));
        all.any(|h| distinct::place(&instance, data.as_ref(), &h) == *place)
    };
    trimmer.both(hang, &same)
}

/// Whether a first run, and a second one if there is one, still show the hazard.
type Shown<'f> = &'f dyn Fn(&[Action], Option<&[Action]>) -> bool;

struct Trimmer<'a> {
    instance: &'a Instance,
    data: Option<&'a Data>,
    property: Property,
    watch: &'a Watch<'a>,
}

impl Trimmer<'_> {
    fn holds(&self, first: &[Action], second: Option<&[Action]>) -> bool {
        let judged = judge(self.instance, self.data, self.property, first, second);
        matches!(judged, Ok(Some(_)))
    }

    /// The same input with each run trimmed, such that `holds` is still true of all runs.
    fn both(&self, hang: Hang, holds: Shown<'_>) -> Hang {
        let Runs { first, second } = hang.runs();
        let first = self.trimmed(first, &|run| holds(run, second.as_deref()));
        let second = second.map(|second| self.trimmed(second, &|run| holds(&first, Some(run))));
        Hang {
            input: hang.input,
            schedule: first,
            second,
        }
    }

    /// A run from which actions were removed as long as `holds` stayed true, starting with the last action.
    fn trimmed(&self, mut run: Vec<Action>, holds: &dyn Fn(&[Action]) -> bool) -> Vec<Action> {
        if run.len() > TRIMMED {
            return run;
        }
        for place in (0..run.len()).rev() {
            if self.watch.over() {
                break;
            }
            let action = run.remove(place);
            if !holds(&run) {
                run.insert(place, action);
            }
        }
        run
    }
}
