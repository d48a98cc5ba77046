//! Checks that no phase of an mbarrier expects 2^20 bytes or more, which is undefined. If one certainly does, the
//! kernel is refused. If one may, the assumption that none does is printed.
//!
//! A *site* is a place of a program that expects bytes. A phase has a fixed number `A` of arrivals, and bytes are
//! expected by an arrival or before one. This gives bounds:
//!
//! - Each execution of a site `expect b; arrive n` has its arrival in the phase of its bytes or in a later one. In
//!   the latter case it is the last execution of its warp in the phase. So a phase has at most `A * b / n` bytes from
//!   the site, and `b` more for each warp.
//! - A site without an arrival behind it is executed at most once by each warp if it is in no loop. In a loop,
//!   nothing is known of it.
//! - If no site is in a loop, a phase expects at most the bytes of all sites.
//!
//! Source: PTX ISA, "Contents of the mbarrier object": the range of the tx-count.

use std::collections::BTreeSet;

use crate::ir::Location;
use crate::recover::family::Families;
use crate::recover::family::each;
use crate::recover::family::object_of;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::number::Range;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Object;
use crate::recover::role_ir::Role;
use crate::recover::tree::Obstacle;
use crate::recover::tree::refuse;

/// The least number of bytes that is undefined.
const TOO_MANY: i128 = 1 << 20;

const FEWER: &str = "no phase of an mbarrier expects 2^20 bytes or more";

const REACHED: &str =
    "with this, a phase of an mbarrier expects 2^20 bytes or more, which is undefined";

/// Refuses phases that certainly expect too many bytes. Returns an assumption where that cannot be
/// excluded.
pub fn few_bytes(
    families: &Families,
    roles: &[Role],
    range_in: &dyn Fn(usize, &Atomic) -> Option<Range>,
) -> Result<Option<&'static str>, Obstacle> {
    let mut assumption = None;
    for (number, family) in families.all.iter().enumerate() {
        let mut most = Most::default();
        let mut deliver = BTreeSet::new();
        for (at, role) in roles.iter().enumerate() {
            let range = |atomic: &Atomic| range_in(at, atomic);
            let of = |object: &Object| families.of(object, &range) == Some(number);
            let look = Look {
                of: &of,
                range: &range,
            };
            let warps = i128::try_from(role.warps.len()).unwrap_or(i128::MAX);
            let mut sites = Sites::default();
            look.block(&role.lines, false, &mut sites);
            most.add(&sites, warps);
            each(&role.lines, &mut |action, _| {
                if delivers(action) && object_of(action).is_some_and(of) {
                    deliver.insert(at);
                }
            });
        }
        for (at, role) in roles.iter().enumerate() {
            let range = |atomic: &Atomic| range_in(at, atomic);
            let of = |object: &Object| families.of(object, &range) == Some(number);
            let alone = role.warps.len() == 1 && deliver.iter().all(|other| *other == at);
            if let Some(location) = reached(&role.lines, &of).filter(|_| alone) {
                return refuse(REACHED, location);
            }
        }
        if most.of(family.arrivals).is_none_or(|most| most >= TOO_MANY) {
            assumption = Some(FEWER);
        }
    }
    Ok(assumption)
}

fn delivers(action: &Action) -> bool {
    matches!(action, Action::Copy { .. } | Action::Complete { .. })
}

/// Where a warp has certainly expected too many bytes of one mbarrier before it starts anything
/// that delivers bytes. No phase completes before its bytes are delivered.
fn reached<'l>(lines: &'l [Line], of: &dyn Fn(&Object) -> bool) -> Option<&'l Location> {
    let mut so_far: Option<(&Object, i128)> = None;
    for line in lines {
        let Line::Action { action, location } = line else {
            return None;
        };
        if delivers(action) && object_of(action).is_some_and(of) {
            return None;
        }
        let (Action::Expect { object, bytes } | Action::ArriveExpect { object, bytes }) = action
        else {
            continue;
        };
        if !of(object) {
            continue;
        }
        object.offset.as_constant()?;
        let before = match so_far {
            Some((other, _)) if other != object => return None,
            Some((_, before)) => before,
            None => 0,
        };
        let all = before.checked_add(bytes.as_constant()?)?;
        if all >= TOO_MANY {
            return Some(location);
        }
        so_far = Some((object, all));
    }
    None
}

/// How many bytes the sites of one role expect at one array of mbarriers. `None` if that is not
/// known.
#[derive(Debug)]
struct Sites {
    /// The most for each arrival in a phase.
    each: Option<i128>,
    /// The most for each warp, in front of an arrival that counts in a later phase.
    open: Option<i128>,
    /// For each warp, at sites without an arrival behind them.
    apart: Option<i128>,
    /// For each warp, at all sites.
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

/// What all roles together expect.
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

    /// The most that a phase with so many arrivals expects.
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
    of: &'a dyn Fn(&Object) -> bool,
    range: &'a dyn Fn(&Atomic) -> Option<Range>,
}

impl Look<'_> {
    fn bytes(&self, bytes: &Number) -> Option<i128> {
        bytes.range(self.range).map(|(_, high)| high.max(0))
    }

    fn block(&self, lines: &[Line], in_loop: bool, sites: &mut Sites) {
        // Bytes that are expected in front of an arrival.
        let mut open: Option<(&Object, Option<i128>)> = None;
        let apart = |open: &mut Option<(&Object, Option<i128>)>, sites: &mut Sites| {
            if let Some((_, bytes)) = open.take() {
                more(&mut sites.apart, bytes.filter(|_| !in_loop));
            }
        };
        for line in lines {
            let (action, object) = match line {
                Line::Action { action, .. } => match object_of(action) {
                    Some(object) if (self.of)(object) => (action, object),
                    _ => continue,
                },
                Line::For { .. } | Line::If { .. } => {
                    let within = in_loop || matches!(line, Line::For { .. });
                    apart(&mut open, sites);
                    line.blocks()
                        .for_each(|block| self.block(block, within, sites));
                    continue;
                }
                // Behind this line, the same name may mean another mbarrier.
                Line::Let { .. } | Line::Assign { .. } | Line::Return => {
                    apart(&mut open, sites);
                    continue;
                }
            };
            let (expected, arrivals) = match action {
                Action::Expect { bytes, .. } => (self.bytes(bytes), None),
                Action::ArriveExpect { bytes, .. } => (self.bytes(bytes), Some(1)),
                Action::Arrive { count, .. } => (Some(0), count.as_constant()),
                _ => continue,
            };
            if !matches!(action, Action::Arrive { .. }) {
                more(&mut sites.all, expected.filter(|_| !in_loop));
            }
            if open.as_ref().is_some_and(|(other, _)| *other != object) {
                apart(&mut open, sites);
            }
            let mut all = expected;
            let before = open.take().map(|(_, bytes)| bytes);
            if let Some(before) = before {
                more(&mut all, before);
            }
            match arrivals.filter(|arrivals| *arrivals > 0) {
                None if all == Some(0) => {}
                None => open = Some((object, all)),
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
