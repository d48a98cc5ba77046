//! How many bytes a phase of an mbarrier may expect: fewer than 2^20, or what happens is undefined.
//!
//! Bytes come with arrivals, of which a phase has a fixed number `A`, or in front of them:
//!
//! - Each execution of a site `expect b; arrive n` has its arrival in the phase of its bytes or in a later one. The latter are the
//!   last of their warps. So a phase has at most `A * b / n` bytes of it, and `b` more of each warp.
//! - Other expectations outside of loops are executed once by each warp. Inside of loops nothing is known of them.
//! - Without loops, it is no more than all there are.
//!
//! Source: PTX ISA, "Contents of the mbarrier object": the range of the tx-count.

use std::collections::BTreeSet;

use super::family::Family;
use super::family::barrier;
use super::program::Followed;
use super::program::each;
use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Sum;

/// The bytes that a phase does not expect.
const TOO_MANY: i128 = 1 << 20;

const FEWER: &str = "no phase of an mbarrier expects 2^20 bytes or more";

const REACHED: &str =
    "with this, a phase of an mbarrier expects 2^20 bytes or more, which is undefined";

/// Refuses phases that certainly expect too many bytes. Returns an assumption if too many bytes are not excluded.
pub(in crate::ptx) fn few_bytes(
    followed: &Followed,
    families: &[Family],
) -> Result<Option<&'static str>, Obstacle> {
    let mut assumption = None;
    for family in families {
        let mut most = Most::default();
        let mut deliver = BTreeSet::new();
        for (at, program) in followed.programs.iter().enumerate() {
            let of = |address: &Sum| family.holds(address, program.rank, &followed.unknowns);
            let look = Look {
                of: &of,
                facts: &followed.unknowns.1,
            };
            let warps = i128::try_from(program.warps.len()).unwrap_or(i128::MAX);
            let mut sites = Sites::default();
            look.block(&program.statements, false, &mut sites);
            most.add(&sites, warps);
            each(&program.statements, &mut |s| {
                if delivers(&s.action) && barrier(&s.action).is_some_and(of) {
                    deliver.insert(at);
                }
            });
        }
        for (at, program) in followed.programs.iter().enumerate() {
            let of = |address: &Sum| family.holds(address, program.rank, &followed.unknowns);
            let alone = program.warps.len() == 1 && deliver.iter().all(|other| *other == at);
            if let Some(at) = reached(&program.statements, &of).filter(|_| alone) {
                return Err(Obstacle::new(at, REACHED).misused());
            }
        }
        let arrivals = family.arrivals.saturating_mul(family.group);
        if most.of(arrivals).is_none_or(|most| most >= TOO_MANY) {
            assumption = Some(FEWER);
        }
    }
    Ok(assumption)
}

fn delivers(action: &Action) -> bool {
    matches!(action, Action::Copy(..) | Action::CompleteTx(..))
}

/// Where a warp has certainly expected too many bytes of one mbarrier before it starts anything that delivers some. No phase
/// is complete before they are delivered.
fn reached(statements: &[Statement], of: &dyn Fn(&Sum) -> bool) -> Option<usize> {
    let mut so_far: Option<(&Sum, i128)> = None;
    for statement in statements {
        let action = &statement.action;
        if matches!(action, Action::For(..) | Action::If(..)) {
            return None;
        }
        if delivers(action) && barrier(action).is_some_and(of) {
            return None;
        }
        let (Action::ExpectTx(address, bytes) | Action::ArriveExpectTx(address, bytes)) = action
        else {
            continue;
        };
        if !of(address) {
            continue;
        }
        let before = match so_far {
            Some((other, _)) if other != address => return None,
            Some((_, before)) => before,
            None => 0,
        };
        let all = before.checked_add(bytes.as_constant()?)?;
        if all >= TOO_MANY {
            return Some(statement.at);
        }
        so_far = Some((address, all));
    }
    None
}

/// What sites of one role expect of one array. `None` is a number that is not known.
#[derive(Debug)]
struct Sites {
    /// For an arrival, in a phase.
    each: Option<i128>,
    /// For a warp, before an arrival in a later phase.
    open: Option<i128>,
    /// For a warp, in front of no arrival.
    apart: Option<i128>,
    /// For a warp, in all.
    all: Option<i128>,
}

impl Default for Sites {
    fn default() -> Self {
        Self {
            each: Some(0),
            open: Some(0),
            apart: Some(0),
            all: Some(0),
        }
    }
}

fn greater(a: &mut Option<i128>, b: Option<i128>) {
    *a = a.zip(b).map(|(a, b)| a.max(b));
}

fn more(a: &mut Option<i128>, b: Option<i128>) {
    *a = a.zip(b).and_then(|(a, b)| a.checked_add(b));
}

/// What all roles expect.
#[derive(Debug)]
struct Most {
    each: Option<i128>,
    warps: Option<i128>,
    all: Option<i128>,
}

impl Default for Most {
    fn default() -> Self {
        Self {
            each: Some(0),
            warps: Some(0),
            all: Some(0),
        }
    }
}

impl Most {
    fn add(&mut self, sites: &Sites, warps: i128) {
        let times = |bytes: Option<i128>| bytes.and_then(|bytes| bytes.checked_mul(warps));
        greater(&mut self.each, sites.each);
        for bytes in [sites.open, sites.apart] {
            more(&mut self.warps, times(bytes));
        }
        more(&mut self.all, times(sites.all));
    }

    /// The most that a phase of so many arrivals expects.
    fn of(&self, arrivals: i128) -> Option<i128> {
        let by_phase = || self.each?.checked_mul(arrivals)?.checked_add(self.warps?);
        match (by_phase(), self.all) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}

/// Looks for the sites of one array.
struct Look<'a> {
    of: &'a dyn Fn(&Sum) -> bool,
    facts: &'a Facts,
}

impl Look<'_> {
    fn bytes(&self, bytes: &Sum) -> Option<i128> {
        Some(self.facts.range(bytes).1.max(0))
    }

    fn block(&self, statements: &[Statement], in_loop: bool, sites: &mut Sites) {
        // Bytes that are expected in front of an arrival.
        let mut open: Option<(&Sum, Option<i128>)> = None;
        let apart = |open: &mut Option<(&Sum, Option<i128>)>, sites: &mut Sites| {
            if let Some((_, bytes)) = open.take() {
                more(&mut sites.apart, bytes.filter(|_| !in_loop));
            }
        };
        for statement in statements {
            let (expected, arrivals) = match &statement.action {
                Action::For(_, _, body) => {
                    apart(&mut open, sites);
                    self.block(body, true, sites);
                    continue;
                }
                Action::If(_, yes, no) => {
                    apart(&mut open, sites);
                    self.block(yes, in_loop, sites);
                    self.block(no, in_loop, sites);
                    continue;
                }
                Action::ExpectTx(_, bytes) => (self.bytes(bytes), None),
                Action::ArriveExpectTx(_, bytes) => (self.bytes(bytes), Some(1)),
                Action::Arrive(_, count) => (Some(0), Some(*count)),
                _ => continue,
            };
            let Some(address) = barrier(&statement.action).filter(|address| (self.of)(address))
            else {
                continue;
            };
            if !matches!(statement.action, Action::Arrive(..)) {
                more(&mut sites.all, expected.filter(|_| !in_loop));
            }
            if open.as_ref().is_some_and(|(other, _)| *other != address) {
                apart(&mut open, sites);
            }
            let mut all = expected;
            let before = open.take().map(|(_, bytes)| bytes);
            if let Some(before) = before {
                more(&mut all, before);
            }
            match arrivals.filter(|arrivals| *arrivals > 0) {
                None if all == Some(0) => {}
                None => open = Some((address, all)),
                Some(arrivals) => {
                    let weight = all.map(|all| all / arrivals + i128::from(all % arrivals > 0));
                    greater(&mut sites.each, weight);
                    greater(&mut sites.open, before.unwrap_or(Some(0)));
                }
            }
        }
        apart(&mut open, sites);
    }
}
