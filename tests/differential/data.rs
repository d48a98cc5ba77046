//! Random protocols that say what is read and written, and some of them how memory is ordered and who
//! runs where: whatever the cut rule proves free of races, or of stale reads, is searched exhaustively
//! at small parameter values, where none may be found.
//!
//! The protocols are those of `support/edited.rs` with data. Seeds count from 0. For longer runs see
//! `support/campaign.rs`.

use crate::support::copied_data_templates;
use crate::support::deferred_templates;
use crate::support::race_templates;
use crate::support::stale_templates;
use warplock::certificate::cut::artefact::Shows;
use warplock::protocol::Property;

use crate::support::never_violated::never_violated;

#[test]
fn what_is_proved_never_races() {
    let property = (Property::Race, Shows::Ordering);
    never_violated(&race_templates::KERNELS, property, 100, 6);
}

#[test]
fn what_is_waited_for_later_never_races() {
    let property = (Property::Race, Shows::Ordering);
    never_violated(&deferred_templates::KERNELS, property, 60, 6);
}

#[test]
fn what_is_proved_is_never_stale() {
    let property = (Property::StaleRead, Shows::Visibility);
    never_violated(&stale_templates::KERNELS, property, 70, 20);
}

#[test]
fn what_copies_do_never_races() {
    let property = (Property::Race, Shows::Ordering);
    never_violated(&copied_data_templates::KERNELS, property, 8, 12);
}

#[test]
fn what_copies_do_is_never_stale() {
    let property = (Property::StaleRead, Shows::Visibility);
    never_violated(&copied_data_templates::KERNELS, property, 5, 40);
}
