//! Random protocols whose data has room for some time only, and random clusters whose CTAs exit:
//! whatever the cut rule proves is searched exhaustively at small parameter values, where it may not
//! fail.
//!
//! The protocols are those of `support/edited.rs`. Seeds count from 0. For longer runs see
//! `support/campaign.rs`.

use crate::support::exit_templates;
use crate::support::lifetime_templates;
use warplock::certificate::cut::artefact::Shows;
use warplock::protocol::Property;

use crate::support::never_violated::never_violated;

#[test]
fn what_is_proved_never_uses_data_without_room() {
    let property = (Property::Resources, Shows::Lifetimes);
    never_violated(&lifetime_templates::KERNELS, property, 100, 8);
}

#[test]
fn what_is_proved_never_uses_a_barrier_of_a_cta_that_has_exited() {
    let property = (Property::Uninitialized, Shows::Exits);
    never_violated(&exit_templates::KERNELS, property, 100, 10);
}
