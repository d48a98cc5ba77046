//! Quick runs at small values, so that most candidates need no proof attempt.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::hunt;
use crate::hunt::Hunter;
use crate::hunt::grid;
use crate::protocol::Property;
use crate::protocol::Protocol;

/// Time for one property of one candidate.
const TIME: Duration = Duration::from_millis(600);

/// The radius of the small values.
const RADIUS: i64 = 2;

/// How many points are remembered at which something failed.
const KNOWN: usize = 16;

/// What was learnt from other candidates.
pub(super) struct Trial<'a> {
    properties: &'a [Property],
    cancel: &'a AtomicBool,
    /// Parameter values at which something failed, the latest first.
    known: Vec<Vec<i64>>,
}

impl<'a> Trial<'a> {
    /// A trial without any remembered points.
    pub(super) fn new(properties: &'a [Property], cancel: &'a AtomicBool) -> Trial<'a> {
        Trial {
            properties,
            cancel,
            known: Vec::new(),
        }
    }

    /// Notes values at which something failed.
    pub(super) fn remember(&mut self, params: Vec<i64>) {
        self.known.retain(|known| *known != params);
        self.known.insert(0, params);
        self.known.truncate(KNOWN);
    }

    /// A property that fails at small values, or has no meaning there.
    pub(super) fn fails(&mut self, protocol: &Protocol) -> Option<Property> {
        let tight = protocol.tightened();
        for far in [false, true] {
            for property in self.properties {
                let quiet = |_: &str| {};
                let order = hunt::declared(&tight);
                let mut hunter =
                    Hunter::new(&tight, order, self.cancel, &quiet).looking_for(*property);
                hunter.hurried(true);
                let watch = hunter.watch(TIME);
                let found = if far {
                    hunter.boxes(0..=RADIUS, &watch)
                } else {
                    let mut known = self.known.iter();
                    known
                        .find_map(|params| hunter.point(params, &watch).transpose())
                        .transpose()
                };
                match found {
                    Ok(Some(hang)) => {
                        self.remember(hang.input.params);
                        return Some(*property);
                    }
                    Err(at) => {
                        self.remember(at.params);
                        return Some(*property);
                    }
                    Ok(None) => {}
                }
            }
        }
        None
    }
}

/// The points of small boxes, at most `most`.
pub(super) fn points(protocol: &Protocol, radius: i64, most: usize) -> Vec<Vec<i64>> {
    let tight = protocol.tightened();
    let all = (0..=radius).flat_map(|radius| grid::points(&tight, radius));
    all.take(most).collect()
}
