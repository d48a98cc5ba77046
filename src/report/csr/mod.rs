//! The verdict on concrete tensors, in words and as JSON.

mod grid;
mod json;
mod text;

use crate::schemes::Fate;
use crate::schemes::Judgement;
use crate::schemes::LaunchChoice;
use crate::schemes::Outcome;
use crate::schemes::Residency;
use crate::schemes::Scheme;
use crate::schemes::chain::Reason;
use crate::schemes::chain::Waiting;
use crate::tensors::BlockSparse;

pub use json::json;
pub use text::first_line;
pub use text::text;

/// A judgement and what it is about.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The file, or what the arrays were made from.
    pub name: &'a str,
    /// The arrays.
    pub tiles: &'a BlockSparse,
    /// The scheme.
    pub scheme: &'a Scheme,
    /// The verdict.
    pub judgement: &'a Judgement,
    /// The result of the rank lock with these arrays, if it was tried.
    pub repair: Option<&'a str>,
    /// How long reading and judging took.
    pub seconds: f64,
}

impl Subject<'_> {
    /// The verdict word of the command contract.
    pub fn word(&self) -> &'static str {
        match self.judgement.outcome {
            Outcome::Completes => "PROVED",
            Outcome::Hangs => "REFUTED",
            Outcome::Unknown(_) => "UNKNOWN",
        }
    }

    /// One sentence: the fate of the kernel, and where it hangs.
    pub fn sentence(&self) -> String {
        let judgement = self.judgement;
        let all = judgement.tiles.len();
        let with = self.with_residents();
        match &judgement.outcome {
            Outcome::Completes => {
                let orders = match (self.launch_is_open(), self.rows_are_open()) {
                    (true, true) => ", in every launch order and row order",
                    (true, false) => ", in every launch order",
                    (false, true) => ", in every row order",
                    (false, false) => "",
                };
                match all {
                    1 => format!("the only row tile completes{with}{orders}"),
                    _ => format!("all {all} row tiles complete{with}{orders}"),
                }
            }
            Outcome::Unknown(reason) => reason.clone(),
            Outcome::Hangs => {
                let culprit = judgement.first_blocked().map_or(String::new(), |waiting| {
                    format!(": {}", self.in_vain(&waiting))
                });
                format!("{}{culprit}", self.damage(&with))
            }
        }
    }

    fn damage(&self, with: &str) -> String {
        let tiles = &self.judgement.tiles;
        let of = |fate: Fate| tiles.iter().filter(|tile| tile.fate == fate).count();
        let (never, all) = (of(Fate::Never), tiles.len());
        let completing = match self.judgement.residency {
            Residency::From(least) => {
                return format!(
                    "hangs with fewer than {least} resident CTAs, and completes with {least} or \
                     more; with 1"
                );
            }
            Residency::AllResident => {
                return format!(
                    "hangs with too few resident CTAs, and completes with all {} resident; with 1",
                    self.tiles.n_blocks()
                );
            }
            Residency::Every | Residency::Never | Residency::Fixed(_) => with,
        };
        match (never, of(Fate::Depends)) {
            (0, left) => format!("{left} of {all} row tiles can be left incomplete{completing}"),
            (never, 0) => format!("{never} of {all} row tiles never complete{completing}"),
            (never, left) => format!(
                "{} of {all} row tiles can be left incomplete, {never} of them in every \
                 schedule{completing}",
                never + left
            ),
        }
    }

    fn with_residents(&self) -> String {
        match self.judgement.residency {
            Residency::Every | Residency::Never => ", with any number of resident CTAs".to_owned(),
            Residency::Fixed(1) => " with 1 resident CTA".to_owned(),
            Residency::Fixed(resident) => format!(" with {resident} resident CTAs"),
            Residency::From(_) | Residency::AllResident => String::new(),
        }
    }

    /// The CTA that waits, what it waits for, and why in vain.
    pub fn in_vain(&self, waiting: &Waiting) -> String {
        let Waiting { n, m, wants, now } = waiting;
        let why = match self.judgement.reason(waiting) {
            Reason::NoOwner if *wants < 0 => "a semaphore is never negative".to_owned(),
            Reason::NoOwner => {
                let mut turns = self.judgement.turns.at(*m as usize).iter();
                match turns.any(|turn| turn.lock == *now) {
                    true => format!("nobody left at m = {m} has lock {now}"),
                    false => format!("nobody who visits m = {m} has lock {now}"),
                }
            }
            Reason::Passed => "another visitor with the same lock has taken that turn".to_owned(),
            Reason::Blocked(owner) | Reason::Cycle(owner) => {
                format!("cta {owner}, whose turn it is, is blocked")
            }
            Reason::NotStarted(owner) => {
                format!("cta {owner}, whose turn it is, never starts")
            }
        };
        format!("cta {n} waits for sem[{m}] == {wants}, but it is {now} and {why}")
    }

    fn launch_is_open(&self) -> bool {
        self.scheme.launch == LaunchChoice::Any
    }

    fn rows_are_open(&self) -> bool {
        self.scheme.order == crate::protocol::RowOrder::Any
    }

    /// The assumptions of the verdict.
    pub fn assumptions(&self) -> Vec<String> {
        let launch = match self.scheme.launch {
            LaunchChoice::Ascending => {
                "CTAs start in ascending linear block index order (usual; CUDA does not promise it)"
            }
            LaunchChoice::Descending => {
                "CTAs start with the last n first: the kernel maps linear block index i to \
                 n = N - 1 - i, and blocks start in index order (usual; CUDA does not promise it)"
            }
            LaunchChoice::Any => "CTAs may start in any order",
        };
        let resident = match self.judgement.residency {
            Residency::Fixed(resident) => format!("at most {resident} CTAs are resident at once"),
            _ => "any number of CTAs may be resident, at least 1".to_owned(),
        };
        vec![
            launch.to_owned(),
            resident,
            "every semaphore is 0 before the launch".to_owned(),
            "a resident CTA that can go on eventually does".to_owned(),
            "semaphore operations are atomic and seen in one order by everyone".to_owned(),
        ]
    }

    /// In which order rows are visited, in words.
    fn row_order(&self) -> &'static str {
        match self.scheme.order {
            crate::protocol::RowOrder::Given => "as the arrays list them",
            crate::protocol::RowOrder::Ascending => "ascending",
            crate::protocol::RowOrder::Descending => "descending",
            crate::protocol::RowOrder::Any => "in any order",
        }
    }
}

/// The fate of a row tile, as one word of the JSON output.
fn fate_word(fate: Fate) -> &'static str {
    match fate {
        Fate::Completes => "completes",
        Fate::NeedsResidency => "needs_residency",
        Fate::Depends => "depends",
        Fate::Never => "never",
    }
}
