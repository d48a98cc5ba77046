//! Decides whether a protocol hangs at given parameter values.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

use crate::hunt;
use crate::hunt::Hunter;
use crate::protocol::Protocol;
use crate::semantics::explore;
use crate::semantics::explore::SearchEnd;
use crate::semantics::input::Input;
use crate::semantics::inputs::Bounds;
use crate::semantics::step::Action;
use crate::semantics::unfold::Limits;
use crate::verdict::ahead;

/// The most states that are explored at one point, and the time for one point.
const STATES: u64 = 150_000;
const TIME: Duration = Duration::from_secs(2);

/// The largest instance that is explored.
const LARGEST: Limits = Limits {
    ops: 20_000,
    members: 2_000,
    cells: 20_000,
    work: 500_000,
};

/// The largest initial value that is tried for memory that is not cleared.
const LARGEST_START: i64 = hunt::LARGEST_START;

/// Whether the protocol hangs at these values. `Some(true)` if a run of the reference semantics hangs, and
/// `Some(false)` if no run of any input does. `None` if neither is known. If the protocol is not `whole`, its runs
/// may differ from those of its kernel: then a run counts only if the kernel has it, too, and the result is never
/// `Some(false)`.
pub(super) fn label(
    (tight, whole): (&Protocol, bool),
    params: &[i64],
    cancel: &AtomicBool,
    end: Instant,
) -> Option<bool> {
    let time = TIME.min(end.saturating_duration_since(Instant::now()));
    if time.is_zero() || cancel.load(Ordering::Relaxed) {
        return None;
    }
    let quiet = |_: &str| {};
    let order = hunt::declared(tight);
    let mut hunter = Hunter::new(tight, order, cancel, &quiet);
    hunter.hurried(true);
    let watch = hunter.watch(time);
    let hangs = |input: &Input, run: &[Action]| whole || ahead::hangs(tight, input, run);
    if let Some(hang) = hunter.point(params, &watch).ok()? {
        return hangs(&hang.input, &hang.schedule).then_some(true);
    }
    let options = explore::Options {
        max_states: STATES,
        cancel: Some(cancel),
        deadline: Some(watch.deadline),
        ..explore::Options::default()
    };
    let bounds = Bounds {
        max_initial: LARGEST_START,
        limits: LARGEST,
    };
    let found = explore::explore_all(tight, params, &bounds, &options).ok()?;
    if let Some((input, run)) = &found.stuck {
        return hangs(input, run).then_some(true);
    }
    let all = whole && found.end == SearchEnd::Exhausted && found.violation.is_none();
    (all && !tight.has_open_starts()).then_some(false)
}
