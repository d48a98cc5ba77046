//! Searches for a violation at concrete parameter values.
//!
//! This folder is for protocols that the event encoding does not cover. [`schedules`] looks for a deadlock at one
//! instance by cheap adversarial runs. If there are many members, [`accelerated`] does so instead, and moves equal
//! members together. [`held_member`] looks for violations of the other properties. [`Hunter`] uses these at many
//! parameter values. It makes a counterexample small, and says exactly in which sense it is the smallest. [`excess`]
//! looks for deliveries that the language defines and PTX does not.
//!
//! A counterexample is a run of [`crate::semantics::step`], so it only has to be replayed. If none is found, nothing
//! follows.

pub mod accelerated;
pub mod distinct;
pub mod excess;
mod further;
pub mod grid;
pub mod held_member;
mod large_values;
mod least;
pub mod observed;
pub mod schedules;
mod shorten;
pub mod spared;
#[cfg(test)]
mod tests;
mod text_constants;
mod trim;

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustc_hash::FxHashSet;

use crate::deadline;
use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::protocol::Span;
use crate::semantics::error::RunError;
use crate::semantics::explore;
use crate::semantics::hazards;
use crate::semantics::hazards::search::Runs;
use crate::semantics::input::Input;
use crate::semantics::inputs::Bounds;
use crate::semantics::inputs::Inputs;
use crate::semantics::instance::Instance;
use crate::semantics::step::Action;
use crate::semantics::step::Violation;
use crate::semantics::unfold;
use crate::semantics::unfold::Limits;

pub use further::Further;
pub use further::blocked;
pub use least::Least;
pub use schedules::Watch;

/// The largest open initial value that is tried.
pub const LARGEST_START: i64 = 3;

/// The most members that the schedules of one instance look at.
const WORK: u64 = 20_000_000;

/// The same while there is something better to try first.
const HURRIED_WORK: u64 = 500_000;

/// How many inputs are tried at one point, if patterns, row orders or initial values are open.
const INPUTS: usize = 256;

/// With more members than this, interchangeable members move together.
const MANY: usize = 64;

/// If members move together, the work for an instance is divided by this.
const TOGETHER: u64 = 4;

/// The largest instance that is tried.
const LARGEST: Limits = Limits {
    ops: 400_000,
    members: 1 << 15,
    cells: 20_000,
    work: 4_000_000,
};

/// The same while there is something better to try first.
const HURRIED_LARGEST: Limits = Limits {
    ops: 100_000,
    members: 4_096,
    ..LARGEST
};

/// How many states are explored at one suspected point if the schedules find nothing there.
const SUSPECT_STATES: u64 = 1_000_000;

/// A run to a stuck state, or one or two runs that show another violation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hang {
    /// The input.
    pub input: Input,
    /// The run.
    pub schedule: Vec<Action>,
    /// The other run, if the violation is a difference between two runs.
    pub second: Option<Vec<Action>>,
}

impl Hang {
    /// A single run at an input.
    pub fn of(input: Input, schedule: Vec<Action>) -> Hang {
        Hang {
            input,
            schedule,
            second: None,
        }
    }

    /// One or two runs at an input.
    pub fn by(input: Input, runs: Runs) -> Hang {
        Hang {
            input,
            schedule: runs.first,
            second: runs.second,
        }
    }

    /// The runs.
    pub fn runs(&self) -> Runs {
        Runs {
            first: self.schedule.clone(),
            second: self.second.clone(),
        }
    }
}

/// An undefined operation that a search met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undefined {
    /// The parameter values.
    pub params: Vec<i64>,
    /// The member, and what is undefined about its operation.
    pub what: String,
    /// The statement.
    pub span: Option<Span>,
}

impl Undefined {
    /// An undefined operation in a run of an instance at these parameters.
    pub fn new(params: &[i64], instance: &Instance, violation: &Violation) -> Undefined {
        Undefined {
            params: params.to_vec(),
            what: format!("{}: {violation}", instance.member_name(violation.member)),
            span: instance.spans.get(violation.stmt.0).copied(),
        }
    }
}

/// A point at which the protocol is not well defined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IllDefined {
    /// The parameter values.
    pub params: Vec<i64>,
    /// What is wrong.
    pub error: RunError,
}

/// Tries one point: first the schedules, then a bounded exhaustive search. If the result is `None`, nothing follows.
pub fn at(protocol: &Protocol, params: &[i64], watch: &Watch<'_>) -> Option<Hang> {
    let mut hunter = Hunter::new(protocol, declared(protocol), watch.cancel, &|_| {});
    if let Ok(Some(hang)) = hunter.point(params, watch) {
        return Some(hang);
    }
    let property = Property::Deadlock;
    let found = explored(protocol, params, property, SUSPECT_STATES, watch).ok()?;
    found.hang
}

/// The positions of the parameters in the order of their declarations.
pub fn declared(protocol: &Protocol) -> Vec<usize> {
    (0..protocol.params.len()).collect()
}

/// Tries parameter values, and remembers the results.
pub struct Hunter<'a> {
    protocol: &'a Protocol,
    property: Property,
    /// The parameters, the most significant first.
    order: Vec<usize>,
    cancel: &'a AtomicBool,
    tell: &'a dyn Fn(&str),
    /// How much work each input is worth, and how large an instance may be.
    work: u64,
    largest: Limits,
    /// Whether the last point was left with more to try than its share of the work allowed.
    left_over: bool,
    /// The first undefined operation met.
    pub undefined: Option<Undefined>,
    /// Points at which the schedules found nothing.
    clear: FxHashSet<Vec<i64>>,
    /// Asks whether there is a proof that no violation exists at a point.
    proves: Option<Proves<'a>>,
    /// Whether interchangeable members moved together in the last instance.
    together: bool,
}

/// Whether there is a proof that no violation exists at these parameter values.
pub type Proves<'a> = &'a dyn Fn(&[i64]) -> bool;

impl<'a> Hunter<'a> {
    /// A hunter that has tried nothing yet. `order` names every parameter once. The parameter that a counterexample
    /// should make small first comes first.
    pub fn new(
        protocol: &'a Protocol,
        order: Vec<usize>,
        cancel: &'a AtomicBool,
        tell: &'a dyn Fn(&str),
    ) -> Hunter<'a> {
        Hunter {
            protocol,
            property: Property::Deadlock,
            order,
            cancel,
            tell,
            work: WORK,
            largest: LARGEST,
            left_over: false,
            undefined: None,
            clear: FxHashSet::default(),
            proves: None,
            together: false,
        }
    }

    /// The same hunter, but it asks for a proof if there is too much to explore.
    pub fn asking(self, proves: Proves<'a>) -> Hunter<'a> {
        Hunter {
            proves: Some(proves),
            ..self
        }
    }

    /// The same hunter, but it looks for a violation of this property and not for a deadlock.
    pub fn looking_for(self, property: Property) -> Hunter<'a> {
        Hunter { property, ..self }
    }

    /// Whether the last instance had so many members that interchangeable ones moved together.
    pub fn moved_together(&self) -> bool {
        self.together
    }

    /// If `hurried`, each input gets only a part of the work, and large inputs get none. The rest of a point is tried
    /// when the point comes up again.
    pub fn hurried(&mut self, hurried: bool) {
        (self.work, self.largest) = if hurried {
            (HURRIED_WORK, HURRIED_LARGEST)
        } else {
            (WORK, LARGEST)
        };
    }

    /// A watch that ends after this time.
    pub fn watch(&self, time: Duration) -> Watch<'a> {
        Watch {
            deadline: deadline::after(time),
            cancel: self.cancel,
        }
    }

    /// The first violation in boxes of growing size. Each box is searched in lexicographic order.
    ///
    /// # Errors
    ///
    /// A point at which the protocol is not well defined, if it comes first.
    pub fn boxes(
        &mut self,
        radii: std::ops::RangeInclusive<i64>,
        watch: &Watch<'_>,
    ) -> Result<Option<Hang>, IllDefined> {
        for radius in radii {
            if watch.over() {
                break;
            }
            let region = grid::Region::of_radius(self.protocol, radius);
            (self.tell)(&format!(
                "running adversarial schedules up to {radius} above the least values"
            ));
            let order = self.order.clone();
            for params in region.points(self.protocol, &order) {
                if watch.over() {
                    return Ok(None);
                }
                if let Some(hang) = self.point(&params, watch)? {
                    return Ok(Some(hang));
                }
            }
            if grid::covers_domain(self.protocol, radius) {
                break;
            }
        }
        Ok(None)
    }

    /// Tries the schedules at one point. Returns the violation at the first input that has one.
    ///
    /// # Errors
    ///
    /// The protocol is not well defined there. A point that is merely too large is skipped.
    pub fn point(&mut self, params: &[i64], watch: &Watch<'_>) -> Result<Option<Hang>, IllDefined> {
        if self.clear.contains(params) || unfold::check_params(self.protocol, params).is_err() {
            return Ok(None);
        }
        self.left_over = false;
        match self.inputs(params, watch) {
            Ok(Some(hang)) => Ok(Some(hang)),
            Ok(None) => {
                if !watch.over() && !self.left_over {
                    self.clear.insert(params.to_vec());
                }
                Ok(None)
            }
            Err(error) if error.fault.is_limit() => Ok(None),
            Err(error) => Err(IllDefined {
                params: params.to_vec(),
                error,
            }),
        }
    }

    fn inputs(&mut self, params: &[i64], watch: &Watch<'_>) -> Result<Option<Hang>, RunError> {
        for item in Inputs::new(self.protocol, params, &bounds(self.largest))?.take(INPUTS) {
            let (input, instance) = item?;
            if self.property != Property::Deadlock {
                let (protocol, property) = (self.protocol, self.property);
                let data = hazards::wanted_data(protocol, property, &input, &LARGEST)?;
                let found = held_member::run(&instance, data.as_ref(), self.property, WORK, watch);
                match found {
                    Some(runs) => return Ok(Some(Hang::by(input, runs))),
                    None if watch.over() => break,
                    None => continue,
                }
            }
            self.together = instance.members.len() > MANY && !instance.branches();
            let met = if self.together {
                accelerated::run(&instance, self.work / TOGETHER, watch)
            } else {
                schedules::run(&instance, self.work, watch)
            };
            self.left_over |= met.cut_short && self.work < WORK;
            if let (None, Some(violation)) = (&self.undefined, &met.violation) {
                self.undefined = Some(Undefined::new(params, &instance, violation));
            }
            if let Some(schedule) = met.stuck {
                return Ok(Some(Hang::of(input, schedule)));
            }
            if watch.over() {
                break;
            }
        }
        Ok(None)
    }
}

fn bounds(limits: Limits) -> Bounds {
    Bounds {
        max_initial: LARGEST_START,
        limits,
    }
}

/// The result of a bounded exhaustive search.
struct Explored {
    end: explore::SearchEnd,
    hang: Option<Hang>,
}

/// Explores every schedule of every input at a point, up to this many states.
fn explored(
    protocol: &Protocol,
    params: &[i64],
    property: Property,
    max_states: u64,
    watch: &Watch<'_>,
) -> Result<Explored, RunError> {
    let options = explore::Options {
        max_states,
        cancel: Some(watch.cancel),
        deadline: Some(watch.deadline),
        ..explore::Options::default()
    };
    if property != Property::Deadlock {
        let found =
            hazards::search::search_all(protocol, params, property, &bounds(LARGEST), &options)?;
        return Ok(Explored {
            end: found.end,
            hang: found.found.map(|(input, runs)| Hang::by(input, runs)),
        });
    }
    let found = explore::explore_all(protocol, params, &bounds(LARGEST), &options)?;
    Ok(Explored {
        end: found.end,
        hang: found
            .stuck
            .map(|(input, schedule)| Hang::of(input, schedule)),
    })
}
