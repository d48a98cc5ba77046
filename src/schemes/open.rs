//! Judges schemes that leave the launch order or the order of rows open.
//!
//! If some turn has no owner or two, the run in ascending order hangs, and the scheme is decided. Otherwise a CTA
//! only waits for the owner of the previous turn. Say that CTA b *follows* a at m if b's turn at m comes directly
//! after a's. The four cases below are exact if they decide. Every hang that is found in this way is run in the
//! reference semantics before it is reported.
//!
//! - **Any row order, fixed launch.** Suppose that every b starts after each a that it follows. Consider the earliest
//!   unfinished CTA. All CTAs before it have finished, so it has had a place and has started, and its turn has come
//!   at every tile. So no row order and no residency makes the scheme hang. Now suppose that some b starts before an
//!   a that it follows. Then with one resident CTA, b blocks and a never starts, whatever the row order.
//! - **Any row order, all resident.** If the relation has a cycle, let every CTA on a shortest cycle first visit the
//!   tile where it follows. Then no CTA on the cycle ever moves. If there is no cycle, some unfinished CTA follows no
//!   unfinished one and can go on. So the scheme completes.
//! - **Any launch order.** A CTA that follows no other never blocks. If a set of CTAs cannot finish without the
//!   others, the scheme hangs when this set holds all R places. The same holds for each subset, and CTAs that finish
//!   before only help. Hold back the CTAs that follow no other, and let S be the set of CTAs that then block. S is
//!   such a set, so R <= |S| hangs. If R is greater than the number of CTAs that follow some other, the scheme cannot
//!   hang. If all CTAs are resident, the launch order does not matter.
//! - **Both open.** Let every CTA that follows another first visit a tile where it does. Then any R of these block at
//!   once. So the scheme hangs iff R is at most their number, or the relation has a cycle.

use crate::protocol::Protocol;
use crate::protocol::RowOrder;
use crate::semantics::explore;
use crate::semantics::explore::SearchEnd;
use crate::semantics::step;
use crate::tensors::BlockSparse;

use super::bench::Bench;
use super::follow::cycle;
use super::follow::followers;
use super::follow::in_turn;
use super::follow::waiting_first;
use super::judge::Fate;
use super::judge::Judgement;
use super::judge::Outcome;
use super::judge::Residency;
use super::load;
use super::lock::LaunchChoice;
use super::run::State;
use super::run::run;
use super::shape::Shape;
use super::template::Scheme;
use super::visits::FirstTiles;

/// The most states that are explored if no argument decides.
const STATES: u64 = 300_000;

/// How many bytes they may take.
const BYTES: usize = 1 << 30;

struct Question<'a> {
    tiles: &'a BlockSparse,
    protocol: &'a Protocol,
    order: RowOrder,
    rows_open: bool,
    launch_open: bool,
    resident: Option<usize>,
}

/// Judges a scheme with an open order.
pub(super) fn judge(
    bench: Bench,
    tiles: &BlockSparse,
    scheme: &Scheme,
    protocol: &Protocol,
    resident: Option<usize>,
) -> Judgement {
    let question = Question {
        tiles,
        protocol,
        order: scheme.order,
        rows_open: scheme.order == RowOrder::Any,
        launch_open: scheme.launch == LaunchChoice::Any,
        resident,
    };
    let all = bench.n_blocks().max(1);
    if !bench.is_exact() {
        let resident = resident.unwrap_or(all);
        let state = bench.run(resident);
        let remark = question.remark(" (any order hangs)", "");
        return question.hangs(bench, state, resident, Residency::Never, remark);
    }
    question.exact(bench)
}

impl Question<'_> {
    fn exact(&self, bench: Bench) -> Judgement {
        let all = bench.n_blocks().max(1);
        let followers = followers(&bench);
        if self.is_safe_everywhere(&bench, &followers) {
            let state = bench.run(1);
            return self.completes(bench, state, 1, Residency::Every);
        }
        if self.rows_open
            && let Some(first) = cycle(&bench)
        {
            return self.cyclic(bench, first);
        }
        let state = bench.run(all);
        if !state.is_finished() {
            let resident = self.resident.unwrap_or(all);
            let state = bench.run(resident);
            return self.hangs(bench, state, resident, Residency::Never, String::new());
        }
        match self.resident {
            Some(resident) if resident >= all => {
                self.completes(bench, state, resident, Residency::Fixed(resident))
            }
            None | Some(1) => self.alone(bench, &followers),
            Some(resident) if self.launch_open => self.launches(bench, &followers, resident),
            Some(resident) => self.rows(bench, resident),
        }
    }

    /// Chooses rows that close a cycle of waits. Then the scheme hangs for every number of resident CTAs.
    fn cyclic(&self, bench: Bench, first: FirstTiles) -> Judgement {
        let resident = self.resident.unwrap_or(bench.n_blocks().max(1));
        let twisted = with_rows(&bench, &first);
        let state = twisted.run(resident);
        if !state.is_finished() {
            let remark = "rows in an order that closes a cycle of waits".to_owned();
            return self.hangs(twisted, state, resident, Residency::Never, remark);
        }
        let state = bench.run(resident);
        let why = "turns at different row tiles are in different orders, and the row order that \
                   should close a cycle of waits did not hang";
        self.unknown(bench, state, resident, why.to_owned())
    }

    /// Whether no CTA ever waits for a CTA that may start later.
    fn is_safe_everywhere(&self, bench: &Bench, followers: &[bool]) -> bool {
        if self.launch_open {
            return !followers.contains(&true);
        }
        let mut position = vec![0; bench.n_blocks()];
        for (at, n) in bench.launch.iter().enumerate() {
            position[*n] = at;
        }
        in_turn(bench).all(|owners| {
            let positions = owners.iter().map(|n| position[*n as usize]);
            positions.is_sorted()
        })
    }

    /// The case of one resident CTA. The scheme hangs, because some CTA may start before a CTA that it follows.
    fn alone(&self, mut bench: Bench, followers: &[bool]) -> Judgement {
        let mut remark = self.remark("", " (with one resident CTA any row order hangs)");
        if self.launch_open
            && let Some(first) = followers.iter().position(|follows| *follows)
        {
            let rest = (0..bench.n_blocks()).filter(|n| *n != first);
            bench.launch = std::iter::once(first).chain(rest).collect();
            remark = format!("cta {first} starts first");
        }
        let state = bench.run(1);
        let residency = match self.resident {
            Some(resident) => Residency::Fixed(resident),
            None => Residency::AllResident,
        };
        self.hangs(bench, state, 1, residency, remark)
    }

    /// The case of an open launch order, with some but not all CTAs resident.
    fn launches(&self, bench: Bench, followers: &[bool], resident: usize) -> Judgement {
        let all = bench.n_blocks();
        let bound = followers.iter().filter(|follows| **follows).count();
        let residency = Residency::Fixed(resident);
        if resident > bound {
            let state = bench.run(resident);
            return self.completes(bench, state, resident, residency);
        }
        let (mut bench, blockers) = match self.rows_open {
            true => {
                let first = waiting_first(&bench);
                let blockers = first.keys().copied().collect();
                (with_rows(&bench, &first), blockers)
            }
            false => {
                let blockers = held_back(&bench, followers);
                (bench, blockers)
            }
        };
        let blockers: Vec<usize> = blockers.into_iter().take(resident).collect();
        let mut is_blocker = vec![false; all];
        blockers.iter().for_each(|n| is_blocker[*n] = true);
        let rest = (0..all).filter(|n| !is_blocker[*n]);
        bench.launch = blockers.iter().copied().chain(rest).collect();
        let state = bench.run(resident);
        if !state.is_finished() {
            let names: Vec<String> = blockers.iter().take(8).map(usize::to_string).collect();
            let remark = format!("ctas {} start first", names.join(", "));
            return self.hangs(bench, state, resident, residency, remark);
        }
        self.search(bench, state, resident)
    }

    /// The case of open rows and a fixed launch order, with some but not all CTAs resident.
    fn rows(&self, bench: Bench, resident: usize) -> Judgement {
        let residency = Residency::Fixed(resident);
        let state = bench.run(resident);
        if !state.is_finished() {
            let remark = "rows as the arrays list them".to_owned();
            return self.hangs(bench, state, resident, residency, remark);
        }
        let sorted = |descending: bool| -> FirstTiles {
            let row = |n: usize| {
                let mut row = self.tiles.row(n).to_vec();
                row.sort_unstable();
                if descending {
                    row.reverse();
                }
                row
            };
            (0..bench.n_blocks()).map(|n| (n, row(n))).collect()
        };
        let tried = [
            (sorted(false), "rows ascending"),
            (sorted(true), "rows descending"),
            (
                waiting_first(&bench),
                "rows with a tile first where the CTA has to wait",
            ),
        ];
        for (rows, remark) in tried {
            let other = with_rows(&bench, &rows);
            let state = other.run(resident);
            if !state.is_finished() {
                return self.hangs(other, state, resident, residency, remark.to_owned());
            }
        }
        let why = format!(
            "{resident} resident CTAs complete with the row orders that were tried, some CTAs \
             start before one whose turn comes first, and not every row order was tried"
        );
        self.unknown(bench, state, resident, why)
    }

    /// Explores every schedule of a small instance whose launch order is open.
    fn search(&self, mut bench: Bench, state: State, resident: usize) -> Judgement {
        let why = format!(
            "no {resident} CTAs were found that block each other whatever started before, and \
             there are too many launch orders to try them all"
        );
        if self.rows_open || !can_be_searched(self.tiles) {
            return self.unknown(bench, state, resident, why);
        }
        let Ok(mut free) = load::instance(self.tiles, self.order, self.protocol) else {
            return self.unknown(bench, state, resident, why);
        };
        if let Some(plan) = free.roles[0].launch.as_mut() {
            plan.order = None;
            plan.resident = Some(resident);
        }
        let options = explore::Options {
            max_states: STATES,
            max_bytes: BYTES,
            ..explore::Options::default()
        };
        let found = explore::explore(&free, &options);
        match (found.stuck, found.end) {
            (Some(trace), _) => {
                bench.launch = launches(&trace, bench.n_blocks());
                let state = bench.run(resident);
                let remark = "a launch order found by trying them all".to_owned();
                self.hangs(bench, state, resident, Residency::Fixed(resident), remark)
            }
            (None, SearchEnd::Exhausted) => {
                self.completes(bench, state, resident, Residency::Fixed(resident))
            }
            _ => self.unknown(bench, state, resident, why),
        }
    }

    fn remark(&self, launch: &str, rows: &str) -> String {
        let mut parts = Vec::new();
        if self.launch_open {
            parts.push(format!("CTAs start in ascending order{launch}"));
        }
        if self.rows_open {
            parts.push(format!("rows as the arrays list them{rows}"));
        }
        parts.join(", ")
    }

    fn completes(
        &self,
        bench: Bench,
        state: State,
        resident: usize,
        residency: Residency,
    ) -> Judgement {
        let fates = vec![Fate::Completes; bench.shapes.len()];
        bench.judgement(
            Outcome::Completes,
            residency,
            fates,
            state,
            resident,
            String::new(),
        )
    }

    fn hangs(
        &self,
        bench: Bench,
        state: State,
        resident: usize,
        residency: Residency,
        remark: String,
    ) -> Judgement {
        let fates = self.fates(&bench, &state);
        let outcome = bench.outcome(&state);
        bench.judgement(outcome, residency, fates, state, resident, remark)
    }

    fn unknown(&self, bench: Bench, state: State, resident: usize, why: String) -> Judgement {
        let fates = vec![Fate::Depends; bench.shapes.len()];
        let residency = Residency::Fixed(resident);
        let outcome = Outcome::Unknown(why);
        bench.judgement(outcome, residency, fates, state, resident, String::new())
    }

    fn fates(&self, bench: &Bench, state: &State) -> Vec<Fate> {
        let fate = |m: usize| match bench.shapes[m] {
            Shape::Gap { .. } => Fate::Never,
            _ if bench.done(state, m) => Fate::Completes,
            _ => Fate::Depends,
        };
        (0..bench.shapes.len()).map(fate).collect()
    }
}

/// Whether all schedules may be few enough to be explored.
///
/// Any two CTAs may be the ones that have started, and every visit is a separate state of each run. A step leads to
/// as many states as there are CTAs. A state takes a byte for each CTA and each row tile.
fn can_be_searched(tiles: &BlockSparse) -> bool {
    let few = |number: Option<usize>, most: u64| {
        let number = number.and_then(|number| u64::try_from(number).ok());
        number.is_some_and(|number| number <= most)
    };
    let ctas = tiles.n_blocks();
    let pairs = ctas.checked_mul(ctas).map(|squared| squared / 2);
    let step = ctas
        .checked_add(tiles.m_blocks())
        .and_then(|state| state.checked_mul(ctas));
    few(pairs, STATES) && few(Some(tiles.len()), STATES) && few(step, BYTES as u64)
}

/// The CTAs that block if those that follow no other are held back.
fn held_back(bench: &Bench, followers: &[bool]) -> Vec<usize> {
    let mut visits = bench.visits.clone();
    visits.hold_back(|n| !followers[n]);
    let state = run(&visits, &bench.launch, followers.len(), None);
    let is_blocked = |n: &usize| {
        let progress = state.progress(*n);
        followers[*n] && progress.is_none_or(|done| done < bench.visits.count(*n))
    };
    (0..followers.len()).filter(is_blocked).collect()
}

/// The same scheme with other tiles first in some rows.
fn with_rows(bench: &Bench, first: &FirstTiles) -> Bench {
    Bench::new(bench.visits.with_first(first), bench.launch.clone())
}

/// The order in which a run starts CTAs, followed by the other CTAs.
fn launches(trace: &[step::Action], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = trace
        .iter()
        .filter_map(|action| match action {
            step::Action::Launch(member) => Some(*member),
            step::Action::Step(_) | step::Action::Land(..) => None,
        })
        .collect();
    let rest: Vec<usize> = (0..count).filter(|n| !order.contains(n)).collect();
    order.extend(rest);
    order
}
