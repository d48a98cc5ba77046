//! Decides a property at given values of all parameters.
//!
//! The parameters of a recovered protocol may depend on each other. So a counterexample may have values that no launch
//! gives. The values here come from a launch that was run. So a failure there is a failure of the kernel.

use std::collections::BTreeMap;
use std::time::Duration;
use std::time::Instant;

use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::text::Narrowing;
use crate::text::narrow;

use super::deadlock::Internal;
use super::deadlock::Settings;
use super::decide;
use super::decision::Decision;
use super::decision::Verdict;

/// How long one point may take.
const POINT: Duration = Duration::from_secs(5);

/// A point at which a property fails.
#[derive(Debug)]
pub struct Failing {
    /// The position of the point among those that were given.
    pub point: usize,
    /// The protocol at this point alone.
    pub protocol: Protocol,
    /// The decision there, which is `REFUTED`.
    pub decision: Decision,
}

/// The first of these points at which the property fails, if it fails at one that is decided in `left`. `narrowing` is
/// what has already been applied to `protocol`. A point outside of its domain is left out.
///
/// # Errors
///
/// Only when two parts of the program disagree.
pub fn first_failing(
    protocol: &Protocol,
    narrowing: &Narrowing,
    property: Property,
    points: &[BTreeMap<String, i64>],
    settings: &Settings<'_>,
    left: Duration,
) -> Result<Option<Failing>, Internal> {
    let started = Instant::now();
    for (point, values) in points.iter().enumerate() {
        let left = left.saturating_sub(started.elapsed());
        if left.is_zero() {
            break;
        }
        let mut narrowing = narrowing.clone();
        narrowing.set.extend(values.clone());
        let mut protocol = protocol.clone();
        let here = Narrowing {
            set: values.clone(),
            assume: Vec::new(),
        };
        if narrow(&mut protocol, &here).is_err() {
            continue;
        }
        let settings = Settings {
            timeout: left.min(POINT),
            objectives: None,
            ..*settings
        };
        let mut decision = decide(&protocol, &narrowing, property, &settings)?;
        if let Verdict::Refuted(refutation) = &mut decision.verdict {
            refutation.smallest =
                "the smallest of the launches that were run to compare the protocol with the kernel".to_owned();
            return Ok(Some(Failing {
                point,
                protocol,
                decision,
            }));
        }
    }
    Ok(None)
}
