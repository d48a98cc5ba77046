//! Random protocols whose data has room for some time only, and random clusters whose CTAs exit:
//! whatever the cut rule proves is searched exhaustively at small parameter values, where it may not
//! fail.
//!
//! The protocols are those of `support/edited.rs`. Seeds count from 0. For longer runs see
//! `support/campaign.rs`.

#[path = "support/campaign.rs"]
mod campaign;
#[path = "support/cut_rule.rs"]
mod cut_rule;
#[path = "support/edited.rs"]
mod edited;
#[path = "support/exit_templates.rs"]
mod exit_templates;
#[path = "support/lifetime_templates.rs"]
mod lifetime_templates;
#[path = "support/never_violated.rs"]
mod never_violated;
#[path = "support/violations.rs"]
mod violations;

use warplock::certificate::cut::artefact::Shows;
use warplock::verdict::Property;

use never_violated::never_violated;

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
