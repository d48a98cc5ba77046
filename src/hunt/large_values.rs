//! Points far from the least values: one or several parameters are large, and all others are small. Some failures need
//! exactly that.

use super::Hang;
use super::Hunter;
use super::IllDefined;
use super::Watch;

/// The positions that are tried if several parameters are large.
const RUNGS: [i64; 5] = [4, 8, 16, 32, 128];

/// If one parameter is large, every position up to this one is tried.
const SWEPT: i64 = 32;

/// The positions of the other parameters.
const REST: [i64; 3] = [2, 1, 0];

/// With more parameters than this, either one of them is large or all are.
const SUBSETS_OF: usize = 4;

impl Hunter<'_> {
    /// The first violation at points with large values, by growing size.
    ///
    /// # Errors
    ///
    /// A point at which the protocol is not well defined, if it comes first.
    pub fn large_values(&mut self, watch: &Watch<'_>) -> Result<Option<Hang>, IllDefined> {
        (self.tell)("running adversarial schedules at larger values");
        for params in self.rungs() {
            if watch.over() {
                break;
            }
            if let Some(hang) = self.point(&params, watch)? {
                return Ok(Some(hang));
            }
        }
        Ok(None)
    }

    fn rungs(&self) -> Vec<Vec<i64>> {
        let count = self.protocol.params.len();
        let subsets: Vec<u32> = match count {
            0 => Vec::new(),
            1..=SUBSETS_OF => (1..1 << count).collect(),
            _ => (0..count.min(31))
                .map(|param| 1 << param)
                .chain([u32::MAX])
                .collect(),
        };
        let mut points = Vec::new();
        let mut add = |subset: u32, large: &dyn Fn(usize) -> Option<i64>| {
            for rest in REST {
                let values = (0..count).map(|param| {
                    let domain = &self.protocol.params[param].domain;
                    if subset.checked_shr(param as u32).unwrap_or(0) & 1 == 1 {
                        large(param)
                    } else {
                        // A short domain may not have this position.
                        domain.value_up_to(rest)
                    }
                });
                if let Some(point) = values.collect::<Option<Vec<i64>>>()
                    && !points.contains(&point)
                {
                    points.push(point);
                }
            }
        };
        for rung in RUNGS {
            for subset in &subsets {
                let at = |param: usize| self.protocol.params[param].domain.value(rung);
                add(*subset, &at);
                // Round values, because sizes are often assumed to be multiples of something.
                let round = |param: usize| {
                    let domain = &self.protocol.params[param].domain;
                    domain.position(rung).map(|_| rung)
                };
                add(*subset, &round);
            }
        }
        for position in RUNGS[0]..=SWEPT {
            for subset in subsets.iter().filter(|s| s.is_power_of_two()) {
                let at = |param: usize| self.protocol.params[param].domain.value(position);
                add(*subset, &at);
            }
        }
        points
    }
}
