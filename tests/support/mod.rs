//! What several tests use: running the program, templates of protocols, random edits, campaigns.

// Every test binary uses a part of this.
#![allow(dead_code)]

pub mod agreement;
pub mod apart_templates;
pub mod arriver_templates;
pub mod atomics;
pub mod binaries;
pub mod campaign;
pub mod case_templates;
pub mod claim_templates;
pub mod cluster_templates;
pub mod copied_claim_templates;
pub mod copied_data_templates;
pub mod credit_templates;
pub mod cut_rule;
pub mod cut_templates;
pub mod damage;
pub mod deferred_templates;
pub mod drawn_templates;
pub mod edited;
pub mod exit_templates;
pub mod generator;
pub mod group_templates;
pub mod init_templates;
pub mod interactions;
pub mod kernel_rows;
pub mod kernel_templates;
pub mod language;
pub mod length_templates;
pub mod library;
pub mod lifetime_templates;
pub mod mutants;
pub mod neighbour_templates;
pub mod never_violated;
pub mod order_edge_templates;
pub mod order_end_templates;
pub mod order_rings;
pub mod order_templates;
pub mod ordered_templates;
pub mod program;
pub mod race_templates;
pub mod reference;
pub mod registration_templates;
pub mod registrations;
pub mod reset_templates;
pub mod rewrite;
pub mod seat_templates;
pub mod separation_templates;
pub mod sharing_templates;
pub mod stale_templates;
pub mod team_templates;
pub mod turn_templates;
pub mod violations;
pub mod weight_templates;
pub mod wrapped_templates;
