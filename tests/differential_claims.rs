//! Random protocols that claim something of their states: whatever the cut rule proves is searched
//! exhaustively at small parameter values, where no claim may fail.
//!
//! The protocols are those of `support/edited.rs` with claims. Seeds count from 0. For longer runs see
//! `support/campaign.rs`.

#[path = "support/campaign.rs"]
mod campaign;
#[path = "support/claim_templates.rs"]
mod claim_templates;
#[path = "support/cut_rule.rs"]
mod cut_rule;
#[path = "support/edited.rs"]
mod edited;
#[path = "support/never_violated.rs"]
mod never_violated;
#[path = "support/violations.rs"]
mod violations;

use warplock::certificate::cut::artefact::Shows;
use warplock::verdict::Property;

use never_violated::never_violated;

#[test]
fn what_is_proved_always_holds() {
    let property = (Property::Assertion, Shows::Claims);
    never_violated(&claim_templates::KERNELS, property, 100, 6);
}
