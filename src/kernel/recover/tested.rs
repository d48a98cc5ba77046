//! Where an mbarrier was tested before a branch that spares a wait: which waits and initialisations may lie between.
//!
//! A thread tests an mbarrier at a place `X`. If the test passes, the thread skips the wait at a later place `Y`. In the text the wait
//! stands at `Y`, whatever the test has found. The text is that of the kernel if the test can pass only when the phase that `Y` waits
//! for is complete. Two things show that:
//!
//! 1. Between `X` and `Y` the warp neither waits at that mbarrier nor initialises it. The mbarrier is initialised once, and before `X`. This is
//!    looked at here.
//! 2. In the text, the waits of a warp at an mbarrier are *in turn*: a wait for phase `g` is for the one behind that of the warp's wait
//!    before, the first one is for phase 0 or 1, and whoever stands before it finds phase `g - 1` or `g` complete. A proof of the
//!    protocol shows that, or nothing does.
//!
//! **Why.** Take the first skip of a run of the kernel at which the wait would block. Up to there it is a run of the text. The parity at
//! `X` was that of phase `g`, and by 2 only `g - 1` phases are complete at `Y`, since the wait would block. Phases do not get fewer, so
//! no more than `g - 2` were complete at `X`. But by 1 the wait for phase `g - 1`, if there is one, came before `X`.
//!
//! # What lies between
//!
//! The walk over a warp's instructions numbers its events in the order in which the text has them. It notes the numbers of *sites*, which are
//! waits, initialisations and the ends of mbarriers' lives. It also notes where loops, and the branches that lanes take differently, begin and
//! end. Whoever finds that a test spares a wait knows which test it was, and in which round of which loop it was made
//! ([`Tests`](super::noted::Tests)). So what may lie between are sites whose numbers do:
//!
//! - in the same round, and where the test was made before a loop whose first round this is, those between `X` and `Y`;
//! - where the test was made in the round before, those from `X` to the end of the loop, and from its beginning to `Y`;
//! - where that loop is over at `Y`, those from `X` to its end, from its beginning to where it is left, and from its end to `Y`;
//! - where `Y` is in a loop that carries nothing of it, all those of the loop as well.
//!
//! Every round of a loop in between counts. So do both sides of a branch, but where the launch decides both the branch and which test it was.
//! Tests that may be older are not followed.
//!
//! The walk may try a loop several times. What it notes in a try that it gives up is forgotten.
//!
//! An initialisation comes before `X` if it stands before a full barrier of all threads that the warp certainly has had at `X`.
//!
//! A warp is one member of the protocol, so its lanes count alike. Where lanes take a branch differently, they do both sides at the same
//! time. So the sites of the other side count wherever `X` or `Y` is on one. Behind the branch the lanes have met.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::ir::Kernel;
use crate::ir::Location;
use crate::ir::VariableId;
use crate::recover::elements::dynamic;
use crate::recover::family::places;
use crate::recover::lower::Inputs;
use crate::recover::noted::Noted;
use crate::recover::noted::Spares;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Object;
use crate::recover::role_ir::counts;
use crate::recover::role_ir::every_line;

/// Whether, in the programs of all warps, none of the tests that spare these waits comes before another wait at the same mbarrier,
/// or before something that makes it another one.
pub fn come_last(
    spared: &Spares,
    noted: &Noted,
    programs: &[Vec<Line>],
    kernel: &Kernel,
    inputs: &Inputs,
) -> bool {
    let spared = &noted.with_direct(spared);
    let programs: Vec<Program<'_>> = programs
        .iter()
        .map(|lines| Program::of(lines, kernel, inputs))
        .collect();
    let inits: Vec<(&Location, &Option<Places>)> = programs
        .iter()
        .flat_map(|program| program.inits.iter().map(|(at, places)| (*at, places)))
        .collect();
    let known: BTreeSet<&Location> = programs
        .iter()
        .flat_map(|program| program.sites.keys().copied())
        .collect();
    let mut found = BTreeSet::new();
    for program in &programs {
        // Waits for own arrivals become others later.
        if program.numbered {
            return false;
        }
        for (one, between) in spared {
            // Those that are not here are of other warps.
            let Some(waits) = program.sites.get(&one.1) else {
                continue;
            };
            found.insert(one);
            let Some(between) = between else {
                return false;
            };
            let is_apart = |places: &Option<Places>| waits.iter().all(|wait| apart(places, wait));
            // What the text has elsewhere is not known to be apart.
            if !between.sites.iter().all(|site| known.contains(site)) {
                return false;
            }
            let sites = between.sites.iter();
            let mut sites = sites.filter_map(|site| program.sites.get(site)).flatten();
            if !sites.all(is_apart) {
                return false;
            }
            let mut inits = inits.iter().filter(|(_, places)| !is_apart(places));
            if !inits.all(|(init, _)| noted.all_before(init, &between.tests)) {
                return false;
            }
        }
    }
    found.len() == spared.len()
}

/// What one warp does.
struct Program<'l> {
    sites: BTreeMap<&'l Location, Vec<Option<Places>>>,
    inits: Vec<(&'l Location, Option<Places>)>,
    /// Whether it waits for own arrivals.
    numbered: bool,
}

impl<'l> Program<'l> {
    fn of(lines: &'l [Line], kernel: &Kernel, inputs: &Inputs) -> Self {
        let counts = counts(lines);
        let mut program = Self {
            sites: BTreeMap::new(),
            inits: Vec::new(),
            numbered: false,
        };
        every_line(lines, &mut |line| {
            let Line::Action { action, location } = line else {
                return;
            };
            program.numbered |= matches!(
                action,
                Action::WaitOwn { .. } | Action::Numbered { .. } | Action::Round { .. }
            );
            if let Action::Wait { object, .. }
            | Action::Init { object, .. }
            | Action::Invalidate { object } = action
            {
                let places = || Places::of(object, kernel, inputs, &counts);
                if let Action::Init { .. } = action {
                    program.inits.push((location, places()));
                }
                program.sites.entry(location).or_default().push(places());
            }
        });
        program
    }
}

fn apart(one: &Option<Places>, other: &Option<Places>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.is_apart(other),
        _ => false,
    }
}

/// The places that an mbarrier may lie at.
struct Places {
    rank: u32,
    variable: VariableId,
    offsets: BTreeSet<i128>,
}

impl Places {
    fn of(
        object: &Object,
        kernel: &Kernel,
        inputs: &Inputs,
        counts: &BTreeMap<u32, Number>,
    ) -> Option<Self> {
        let offsets = places(&object.offset, &|atomic| inputs.range_of(atomic, counts))?;
        Some(Self {
            rank: object.rank,
            variable: dynamic(kernel, object.variable),
            offsets,
        })
    }

    fn is_apart(&self, other: &Self) -> bool {
        (self.rank, self.variable) != (other.rank, other.variable)
            || self.offsets.is_disjoint(&other.offsets)
    }
}

/// Whether each mbarrier is initialised once at most, by whichever warp.
pub fn are_initialised_once<'l>(
    programs: impl Iterator<Item = &'l Vec<Line>>,
    kernel: &Kernel,
    inputs: &Inputs,
) -> bool {
    let mut found: BTreeSet<(u32, VariableId, i128)> = BTreeSet::new();
    let mut once = true;
    for lines in programs {
        let counts = counts(lines);
        initialised(lines, &mut Vec::new(), &mut |object, around| {
            // In a loop, each round initialises another one.
            let moves = match around {
                [] => true,
                [index] => {
                    let parts = &object.offset.parts;
                    parts.len() == 1 && parts.contains_key(&Atomic::Index(*index))
                }
                _ => false,
            };
            let fixed = !around.is_empty() || object.offset.parts.is_empty();
            let Some(places) = Places::of(object, kernel, inputs, &counts) else {
                once = false;
                return;
            };
            once &= moves && fixed;
            for offset in places.offsets {
                once &= found.insert((places.rank, places.variable, offset));
            }
        });
    }
    once
}

/// The initialisations in lines, each with the loops around it.
fn initialised(lines: &[Line], around: &mut Vec<u32>, with: &mut dyn FnMut(&Object, &[u32])) {
    for line in lines {
        match line {
            Line::Action {
                action: Action::Init { object, .. },
                ..
            } => with(object, around),
            Line::For { index, body, .. } => {
                around.push(*index);
                initialised(body, around, with);
                around.pop();
            }
            _ => {
                for block in line.blocks() {
                    initialised(block, around, with);
                }
            }
        }
    }
}
