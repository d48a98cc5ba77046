//! The properties that apply to a protocol.

use crate::protocol::Comparison;
use crate::protocol::ObjectKind;
use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::protocol::StmtKind;
use crate::protocol::Work;
use crate::protocol::first;
use crate::semantics::hazards;

/// What a run violates that does something undefined.
pub const OF_UNDEFINED: [Property; 4] = [
    Property::OverArrival,
    Property::TxMismatch,
    Property::Uninitialized,
    Property::Resources,
];

/// The properties that apply to a protocol, deadlock first. Those that this version does not
/// decide are left out.
pub fn applicable(protocol: &Protocol) -> Vec<Property> {
    let all = Property::ALL.into_iter();
    all.filter(|property| inapplicable(protocol, *property).is_none())
        .collect()
}

/// Why a property does not apply to a protocol, as a lowercase fragment.
pub fn inapplicable(protocol: &Protocol, property: Property) -> Option<&'static str> {
    let object = |wanted: fn(&ObjectKind) -> bool| {
        let mut objects = protocol.objects.iter();
        objects.any(|object| wanted(&object.kind))
    };
    let statement = |wanted: fn(&StmtKind) -> bool| {
        let mut roles = protocol.roles.iter();
        roles.any(|role| first(&role.body, &mut |kind| wanted(kind)).is_some())
    };
    let (applies, reason) = match property {
        Property::Deadlock => (true, ""),
        Property::EarlyCompletion | Property::OverArrival => (
            object(|kind| {
                matches!(
                    kind,
                    ObjectKind::Mbarrier { .. } | ObjectKind::Named | ObjectKind::Barrier { .. }
                )
            }),
            "the protocol has no barrier",
        ),
        Property::EarlyPass => (
            statement(|kind| matches!(kind, StmtKind::WaitParity { .. })),
            "the protocol has no wait by parity",
        ),
        Property::LappedWait => (
            statement(|kind| {
                matches!(
                    kind,
                    StmtKind::WaitParity { .. }
                        | StmtKind::Wait {
                            comparison: Comparison::Equal,
                            ..
                        }
                )
            }),
            "the protocol has no wait by parity or for an exact value",
        ),
        Property::TxMismatch => (
            statement(|kind| {
                matches!(
                    kind,
                    StmtKind::ExpectTx { .. } | StmtKind::CompleteTx { .. } | StmtKind::Copy { .. }
                )
            }),
            "the protocol expects and delivers no bytes",
        ),
        Property::Uninitialized => (
            protocol.objects.iter().any(|o| o.home.is_some())
                || object(|kind| {
                    matches!(
                        kind,
                        ObjectKind::Mbarrier {
                            explicit_init: true,
                            ..
                        }
                    )
                }),
            "the protocol has no mbarrier that is initialised explicitly or belongs to a CTA",
        ),
        Property::Race | Property::StaleRead => (
            statement(touches),
            "the protocol reads and writes no declared buffer",
        ),
        Property::Assertion => (
            !protocol.invariants.is_empty()
                || !protocol.progress.is_empty()
                || statement(|kind| {
                    matches!(
                        kind,
                        StmtKind::Access {
                            work: Work::Assert(_),
                            ..
                        }
                    )
                }),
            "the protocol claims nothing",
        ),
        Property::Resources => (
            object(|kind| matches!(kind, ObjectKind::Pool { .. })),
            "the protocol has no pool",
        ),
    };
    match applies {
        true => hazards::left_out(protocol, property),
        false => Some(reason),
    }
}

fn touches(kind: &StmtKind) -> bool {
    match kind {
        StmtKind::Copy { touches, .. } => !touches.is_empty(),
        StmtKind::Access { work, .. } => match work {
            Work::Now(touches) | Work::Async(touches) => !touches.is_empty(),
            Work::CommitGroup
            | Work::WaitGroup { .. }
            | Work::Fence(_)
            | Work::Assert(_)
            | Work::Lifetime { .. } => false,
        },
        _ => false,
    }
}
