//! What the lanes of a warp have in a register.

use std::rc::Rc;

use crate::recover::term::TermId;

/// One term for all lanes, or one for each lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Uniform(TermId),
    Lanes(Rc<[TermId; 32]>),
}

pub(super) fn lane_of(value: &Value, lane: usize) -> TermId {
    match value {
        Value::Uniform(term) => *term,
        Value::Lanes(lanes) => lanes[lane],
    }
}

/// The term that all lanes of a mask have, if it is the same term.
pub(super) fn shared(value: &Value, mask: u32) -> Option<TermId> {
    let mut terms = (0..32)
        .filter(|lane| mask >> lane & 1 == 1)
        .map(|lane| lane_of(value, lane));
    let first = terms.next()?;
    terms.all(|term| term == first).then_some(first)
}

pub(super) fn packed(lanes: [TermId; 32]) -> Value {
    if lanes.iter().all(|lane| *lane == lanes[0]) {
        Value::Uniform(lanes[0])
    } else {
        Value::Lanes(Rc::new(lanes))
    }
}
