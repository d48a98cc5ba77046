//! One warp of a CTA, followed with as few assumptions as it takes.
//!
//! That a sum does not wrap around is assumed only where synchronization is not recovered without. So a warp is first
//! followed without assumptions: arithmetic that is dead in it, or that data alone depends on, is in nobody's way then. If that
//! does not do, it is followed with all that would have been made, and each that turns out not to be needed is given up.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::ptx::operations::access::Copying;
use crate::ptx::operations::answers::Answers;
use crate::ptx::operations::arrival_counts::ArrivalCounts;
use crate::ptx::operations::counters::Widths;
use crate::ptx::path::arrays::Arrays;
use crate::ptx::path::flow::Flow;
use crate::ptx::path::polls::Polled;
use crate::ptx::path::walk::Walker;
use crate::ptx::syntax::ast::Function;
use crate::ptx::syntax::ast::Variable;
use crate::ptx::warp::machine::Launch;
use crate::ptx::warp::machine::Machine;
use crate::ptx::warp::machine::Unknowns;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;
use crate::ptx::warp::words::Words;
use crate::ptx::warp::words::Written;

/// Instructions that are followed to find out which assumptions of a warp are needed.
const MOST_STEPS: usize = 1_000_000;

/// What all warps have in common.
pub(super) struct Kernel<'k, 'a> {
    pub function: &'k Function<'a>,
    pub launch: &'k Launch,
    pub flow: &'k Rc<Flow>,
    pub arrays: &'k Arrays<'a>,
    pub written: &'k Written,
    pub shared: &'k [Variable<'a>],
    /// Pointers to memory that the kernel waits for, as far as they are known.
    pub counters: &'k BTreeSet<Unknown>,
    /// Where it is written where the tensor memory lies, as far as that is known.
    pub tensors: &'k BTreeSet<Sum>,
    pub data: bool,
    /// Whether it asks for work of CTAs that have not been launched.
    pub asks: bool,
    /// Whether something may be assumed of sums over blocks and iterations.
    pub generous: bool,
}

/// What came of following a warp.
pub(super) struct Walked {
    pub done: Result<Vec<Statement>, Obstacle>,
    pub assumptions: BTreeSet<(Sum, usize)>,
    /// How many instructions of the kernel have been followed.
    pub steps: usize,
    pub leveled: bool,
    pub unsigned: bool,
    pub constant: bool,
    pub in_step: bool,
    pub looks_ahead: bool,
    pub waited: BTreeSet<Unknown>,
    pub widths: Widths,
    pub arrival_counts: ArrivalCounts,
    pub polls: Polled,
    pub allocated: BTreeSet<Sum>,
    pub answers: Answers,
    /// Whether it would have assumed what it was not allowed to.
    denied: bool,
}

impl Kernel<'_, '_> {
    /// Follows a warp, given how many instructions have been followed before.
    pub fn warp(&self, rank: u32, warp: u32, unknowns: &mut Unknowns, steps: usize) -> Walked {
        let nothing = BTreeSet::new();
        let bare = self.walk((rank, warp), unknowns, steps, Some(&nothing));
        if bare.done.is_ok() || !bare.denied {
            return bare;
        }
        let mut best = self.walk((rank, warp), unknowns, steps, None);
        if best.done.is_err() {
            return best;
        }
        let places = |walked: &Walked| -> BTreeSet<usize> {
            walked.assumptions.iter().map(|(_, at)| *at).collect()
        };
        let each = best.steps.saturating_sub(steps).max(1);
        for place in places(&best).into_iter().take(MOST_STEPS / each) {
            let mut fewer = places(&best);
            // Some may have gone together with another one.
            if !fewer.remove(&place) {
                continue;
            }
            let found = self.walk((rank, warp), unknowns, steps, Some(&fewer));
            if found.done.is_ok() {
                best = found;
            }
        }
        best
    }

    /// Follows a warp; what is assumed is about these instructions only, or any.
    fn walk(
        &self,
        (rank, warp): (u32, u32),
        unknowns: &mut Unknowns,
        steps: usize,
        allowed: Option<&BTreeSet<usize>>,
    ) -> Walked {
        let mut assumptions = BTreeSet::new();
        let mut walker = Walker {
            machine: Machine {
                function: self.function,
                launch: self.launch,
                warp,
                rank,
                unknowns,
                assumptions: &mut assumptions,
                allowed,
                denied: false,
                generous: self.generous,
                guessing: false,
                sure: false,
                leveled: false,
                words: Words {
                    unsigned: false,
                    constant: false,
                    written: self.written,
                },
                in_step: false,
                looks_ahead: false,
                shared: self.shared,
                tensors: self.tensors,
            },
            flow: Rc::clone(self.flow),
            whole: self.flow,
            arrays: self.arrays,
            counters: self.counters,
            data: self.data,
            waited: BTreeSet::new(),
            widths: Widths::default(),
            arrival_counts: ArrivalCounts::default(),
            steps,
            depth: 0,
            rehearsals: 0,
            cases: 0,
            numbers: Vec::new(),
            asks: self.asks,
            answers: Answers::default(),
            rounds: Vec::new(),
            unrolling: Vec::new(),
            groups: None,
            copying: Copying::default(),
            unfinished: [None, None],
            multiplier: None,
            allocated: BTreeSet::new(),
            hints: Vec::new(),
            counting: BTreeMap::new(),
            current: 0,
            looked: Unknown(0),
            looks: BTreeMap::new(),
            comers: BTreeMap::new(),
            coming: None,
            since: Unknown(0),
            said: BTreeMap::new(),
            polls: Polled::new(),
            quiet: Unknown(0),
            around: Vec::new(),
            inside: Vec::new(),
        };
        let done = walker.run();
        Walked {
            done,
            steps: walker.steps,
            leveled: walker.machine.leveled,
            unsigned: walker.machine.words.unsigned,
            constant: walker.machine.words.constant,
            in_step: walker.machine.in_step,
            looks_ahead: walker.machine.looks_ahead,
            denied: walker.machine.denied,
            waited: walker.waited,
            widths: walker.widths,
            arrival_counts: walker.arrival_counts,
            polls: walker.polls,
            allocated: walker.allocated,
            answers: walker.answers,
            assumptions,
        }
    }
}
