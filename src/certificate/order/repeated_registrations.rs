//! Members that count several times in one generation of a named barrier.
//!
//! ```text
//! for i in 0..N { arrive bar 96  sync bar 96 }      // one warp
//! for i in 0..N { sync bar 96 }                     // another one
//! ```
//!
//! Every registration counts the threads of a warp, whichever warp makes it. So a class may have *shadows* at a named
//! barrier, as it has one at an mbarrier to which it delivers bytes (`bytes.rs`). The certificate says which of the
//! class's registrations belong to which shadow ([`RepeatedRegistration`]). A shadow has the same members, with the
//! same waits and ranks. Only the registrations at this ring are its own. In the example, the class of the first warp
//! makes the `sync`, and its shadow makes the `arrive`.
//!
//! The rule does not change. Each registration belongs to one class or shadow: no entry is listed twice, and each is
//! moved once. A class and each of its shadows number their registrations from 0, and *count* (2) adds the members of
//! each. *In turn* (6) is shown for every registration, by its own number. So no class or shadow has two
//! registrations in a generation, and a member has as many as its class and its shadows together. A wait is for the
//! generation that the registration before it has joined. This registration has the number of this generation.
//! Suppose that a generation lacks a member's registration that belongs to a shadow. Then the member is blocked
//! before this registration, as for any other arrival (8).
//!
//! None of this depends on which registrations belong to which shadow. Every way to distribute them is equally sound.

use super::artefact::RepeatedRegistration;
use super::rings::Ring;
use super::rings::shadow;
use crate::certificate::cut::class::Class;
use crate::certificate::cut::flow::Kind;
use crate::certificate::exact;
use crate::certificate::program::Unsupported;
use crate::protocol::ObjectKind;
use crate::protocol::Protocol;

/// Assigns registrations to shadows of their classes.
///
/// # Errors
///
/// An operation that is not a registration at a named barrier, or one that is listed twice.
pub(super) fn share_out(
    protocol: &Protocol,
    classes: &[Class],
    rings: &mut [Ring],
    shadows: &mut Vec<usize>,
    registrations: &[RepeatedRegistration],
) -> Result<(), Unsupported> {
    let none = || Unsupported::whole("a registration for a shadow that is none");
    for again in registrations {
        let sites = classes.get(again.class).map(|class| class.flow.sites.len());
        // There are at most as many shadows as operations.
        if sites.is_none_or(|sites| again.shadow >= sites) {
            return Err(none());
        }
        let of = (again.class, again.site);
        let mut arrivals = rings
            .iter_mut()
            .filter(|ring| {
                protocol.objects[ring.object].kind == ObjectKind::Named && ring.count.is_none()
            })
            .flat_map(|ring| ring.arrivals.iter_mut());
        // A registration that was moved before is not found again.
        let arrival = arrivals.find(|arrival| **arrival == of).ok_or_else(none)?;
        let nth = shadow(shadows, again.class, again.shadow);
        arrival.0 = exact::together(classes.len(), nth);
    }
    for ring in rings {
        ring.arrivals.sort_unstable();
    }
    Ok(())
}

/// The class or shadow that makes the registration which a wait at a named barrier is for. The registration and the
/// wait are the two halves of one `sync` of this class. `member` maps a class or shadow to the class that its members
/// belong to.
///
/// # Errors
///
/// A wait that is not such a half.
pub(super) fn joined(
    ring: &Ring,
    this: &Class,
    (class, wait): (usize, usize),
    member: &dyn Fn(usize) -> usize,
) -> Result<usize, Unsupported> {
    let waits = &this.flow.sites[wait];
    let registers = wait.checked_sub(1).filter(|at| {
        let before = &this.flow.sites[*at];
        let registers = matches!(before.kind, Kind::Register { .. });
        registers && before.stmt == waits.stmt && before.path == waits.path
    });
    let of = registers.and_then(|registers| {
        let mut arrivals = ring.arrivals.iter();
        arrivals.find(|(by, site)| *site == registers && member(*by) == class)
    });
    let (by, _) =
        of.ok_or_else(|| Unsupported::at(waits.span, "a wait without its registration"))?;
    Ok(*by)
}
