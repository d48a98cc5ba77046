//! Launches whose CTAs wait for each other through memory.
//!
//! Where only one warp of a CTA does more than meet the others, the CTA as a whole does what this warp does, and is
//! one member of a `grid`: how many CTAs are resident is open then.
//!
//! Otherwise every warp of every CTA is a member, and mbarriers, named barriers and shared memory have the CTA's
//! indices first. The members of a role all run from the beginning, so it is assumed that all CTAs are resident at
//! once, which the verdict says.
//!
//! Where shared memory is followed, the text is about one CTA that stands for all, without counters. One warp of a CTA
//! may use them: then nothing that another warp of the CTA does is ordered by way of a counter, since what leaves by
//! that warp and comes back by it is ordered by its program anyway. Waits for them are taken to end, which is what the
//! text for deadlocks is asked.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::write::AXES;
use super::write::Writer;
use crate::ptx::cta::program::Program;
use crate::ptx::cta::program::each;
use crate::ptx::cta::program::numbered;
use crate::ptx::cta::program::of_all;
use crate::ptx::cta::program::skeleton;
use crate::ptx::order::Order;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;

/// Which CTAs a text is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ptx) enum Ctas {
    /// One that stands for all, or one cluster.
    One,
    /// All of them, each a member.
    Whole,
    /// All of them along these axes of the grid, each with its warps as members.
    Each(Vec<usize>),
}

/// Whether this is about memory that the whole grid shares.
fn shared(action: &Action) -> bool {
    matches!(
        action,
        Action::CounterAdd(..)
            | Action::CounterSet(..)
            | Action::CounterWait(..)
            | Action::GridArrive(..)
            | Action::GridWait(..)
    )
}

fn has(program: &Program, which: &dyn Fn(&Action) -> bool) -> bool {
    let mut found = false;
    each(&program.statements, &mut |s| found |= which(&s.action));
    found
}

fn warps(programs: &[&Program]) -> usize {
    programs.iter().map(|p| p.warps.len()).sum()
}

fn place(program: Option<&Program>) -> usize {
    program
        .and_then(|p| p.statements.first())
        .map_or(0, |s| s.at)
}

impl<'w> Writer<'w, '_> {
    /// The roles or the grid of a launch whose CTAs wait for each other.
    pub fn launched(&mut self) -> Result<String, Obstacle> {
        self.written()?;
        let programs = &self.followed.programs;
        if self.launch.ranks() > 1 {
            let reason = "the kernel waits for memory, and its CTAs come in clusters";
            let waits = programs.iter().find(|p| has(p, &shared));
            return Err(Obstacle::new(self.first(waits), reason));
        }
        if self.buffers.is_some() {
            return self.alone();
        }
        match self.lone() {
            Some(main) => self.whole(main),
            None => self.members(),
        }
    }

    /// One CTA without what it shares with others.
    fn alone(&mut self) -> Result<String, Obstacle> {
        let sharing = self.sharing();
        if warps(&sharing) > 1 {
            let reason = "several warps of a CTA use memory that the kernel waits for: how that orders what \
                          they read and write in shared memory is not followed";
            return Err(Obstacle::new(self.first(sharing.get(1).copied()), reason));
        }
        self.programs(&|a| !shared(a))
    }

    /// What uses memory that the grid shares.
    fn sharing(&self) -> Vec<&'w Program> {
        let programs = self.followed.programs.iter();
        programs.filter(|p| has(p, &shared)).collect()
    }

    /// Where a program first uses memory that the grid shares.
    fn first(&self, program: Option<&Program>) -> usize {
        let mut at = None;
        let statements = program.map_or(&[][..], |p| &p.statements);
        each(statements, &mut |s| {
            if shared(&s.action) {
                at = at.or(Some(s.at));
            }
        });
        at.unwrap_or_else(|| place(program))
    }

    /// The one warp of a CTA that does more than meet the others, if it uses nothing but counters.
    fn lone(&self) -> Option<&'w Program> {
        let (launch, followed) = (self.launch, self.followed);
        let keep = |a: &Action| of_all(a, launch);
        let nests = |a: &Action| matches!(a, Action::For(..) | Action::If(..));
        let quiet = |p: &&Program| !has(p, &|a| !nests(a) && !keep(a));
        let programs = &followed.programs;
        let mut busy = programs.iter().filter(|p| !quiet(p));
        let main = busy.next().filter(|p| p.warps.len() == 1)?;
        let meets = |p: &Program| numbered(&skeleton(&p.statements, &keep));
        let alone = busy.next().is_none()
            && programs.iter().all(|p| meets(p) == meets(main))
            && !has(main, &|a| !nests(a) && !keep(a) && !shared(a));
        alone.then_some(main)
    }

    /// A grid whose CTAs are members.
    fn whole(&mut self, main: &Program) -> Result<String, Obstacle> {
        self.ctas = Ctas::Whole;
        let launch = self.launch;
        let statements = skeleton(&main.statements, &|a| !of_all(a, launch));
        self.statements(&statements, None, 0)?;
        let body = std::mem::take(&mut self.out);
        let barrier = self.grid_barriers()?;
        let axes = match self.followed.blind {
            true => "The kernel never looks at the grid: its CTAs are counted along one axis.",
            false => "Axes of the grid that the kernel never looks at have one CTA.",
        };
        let mut text = format!("{barrier}// {axes}\ngrid cta");
        let axes = self.axes();
        text.push_str(&self.indices(&axes));
        let order = match (self.order, axes.as_slice()) {
            (Order::Any, _) => "any".to_owned(),
            (order, [_]) => order.word().to_owned(),
            // CTAs are numbered along x first, so the last axis counts most.
            (order, axes) => {
                let keys = axes.iter().rev();
                let keys: Vec<String> = keys
                    .map(|axis| format!("ctaid_{} {}", AXES[*axis], order.word()))
                    .collect();
                keys.join(", ")
            }
        };
        let resident = if self.cooperative() { "all" } else { "1.." };
        let _ = writeln!(text, " launch {order} resident {resident} {{\n{body}}}");
        Ok(text)
    }

    /// Every warp of every CTA as a member.
    fn members(&mut self) -> Result<String, Obstacle> {
        let sharing = self.sharing();
        let meets = |a: &Action| matches!(a, Action::GridArrive(..));
        if warps(&sharing) > 1 && sharing.iter().any(|p| has(p, &meets)) {
            let reason = "the whole grid meets here by one bit of a word, and several warps of a CTA use \
                          memory that the grid shares";
            return Err(Obstacle::new(self.first(sharing.get(1).copied()), reason));
        }
        // Which axes count is known once everything has been written.
        let mut axes = self.axes();
        loop {
            self.ctas = Ctas::Each(axes.clone());
            self.memory = Default::default();
            self.used.clear();
            let text = self.programs(&|_| true)?;
            let barrier = self.grid_barriers()?;
            let met = self.axes();
            if met == axes {
                return Ok(format!("{barrier}{text}"));
            }
            axes = met;
        }
    }

    /// The axes of the grid that count, the first among them if the kernel knows of it. One counts in any case: how many
    /// CTAs there are is nothing that the kernel has to ask.
    fn axes(&self) -> Vec<usize> {
        let unknowns = &self.followed.unknowns;
        let known = |axis: &usize| unknowns.find(&Meaning::Blocks(*axis)).is_some();
        let mut axes = BTreeSet::from([0]);
        for unknown in &self.used {
            if let Some(Meaning::Block(axis) | Meaning::Blocks(axis)) = unknowns.meaning(*unknown) {
                axes.insert(*axis);
            }
        }
        axes.retain(known);
        if axes.is_empty() {
            axes.extend((0..AXES.len()).find(known));
        }
        axes.into_iter().collect()
    }

    /// The axes of the grid that the kernel never looks at: CTAs along them would use the same counters. If it looks at none,
    /// its CTAs are alike, and counted along one axis, however many there are along each.
    pub fn unseen_axes(&self) -> Vec<&'static str> {
        let unknowns = &self.followed.unknowns;
        let seen = |axis: usize| unknowns.find(&Meaning::Blocks(axis)).is_some();
        let axes = AXES.iter().enumerate();
        axes.filter(|(axis, _)| !self.followed.blind && !seen(*axis))
            .map(|(_, name)| *name)
            .collect()
    }

    /// The CTAs along these axes as indices of a role or a grid.
    pub fn indices(&mut self, axes: &[usize]) -> String {
        let mut text = String::new();
        for axis in axes {
            if let Some(extent) = self.followed.unknowns.find(&Meaning::Blocks(*axis)) {
                self.used.insert(extent);
            }
            let name = AXES[*axis];
            let _ = write!(text, "[ctaid_{name} in 0..nctaid_{name}]");
        }
        text
    }

    /// The first indices of what each CTA has of its own.
    pub fn own(&self, rank: u32) -> Vec<String> {
        match &self.ctas {
            Ctas::Each(axes) => axes.iter().map(|a| format!("ctaid_{}", AXES[*a])).collect(),
            _ if self.launch.ranks() > 1 => vec![rank.to_string()],
            _ => Vec::new(),
        }
    }

    /// How many there are along each of the first indices of what each CTA has of its own.
    pub fn extents(&self) -> Vec<String> {
        match &self.ctas {
            Ctas::Each(axes) => {
                let extents = axes.iter().map(|a| format!("nctaid_{}", AXES[*a]));
                extents.collect()
            }
            _ if self.launch.ranks() > 1 => vec![self.launch.ranks().to_string()],
            _ => Vec::new(),
        }
    }

    /// What is assumed of the launch: that all CTAs are resident, where every warp is a member, and that there is one
    /// CTA along axes that matter to nothing here: several would use the same counters.
    pub fn launch_words(&self) -> String {
        let mut words = String::new();
        if self.ctas == Ctas::One {
            return words;
        }
        let counted = self.axes();
        for (axis, name) in AXES.iter().enumerate() {
            let known = self
                .followed
                .unknowns
                .find(&Meaning::Blocks(axis))
                .is_some();
            if known && !counted.contains(&axis) {
                let _ = writeln!(
                    words,
                    "param nctaid_{name} in 1..\n\
                     assume nctaid_{name} == 1  // CTAs along this axis would use the same counters"
                );
            }
        }
        if matches!(self.ctas, Ctas::Each(_)) && !self.cooperative() {
            let _ = writeln!(
                words,
                "param R in 1..\nassume R >= {}  // all CTAs are resident at once",
                self.extents().join(" * ")
            );
        }
        words
    }

    /// Refuses to wait for memory that the kernel itself never writes: somebody else does.
    fn written(&self) -> Result<(), Obstacle> {
        let (mut written, mut waited) = (BTreeSet::new(), Vec::new());
        for program in &self.followed.programs {
            each(&program.statements, &mut |s| match &s.action {
                Action::CounterAdd(a, _) | Action::CounterSet(a, _) => {
                    written.insert(a.clone());
                }
                Action::CounterWait(a, ..) => waited.push((a.clone(), s.at)),
                _ => {}
            });
        }
        // What each CTA writes for another one moves with its index.
        let block =
            |u: Unknown| matches!(self.followed.unknowns.meaning(u), Some(Meaning::Block(_)));
        let shifted = |address: &Sum| {
            let apart = |other: &&Sum| address.minus(other).as_constant().is_some();
            address.mentions(&block) && written.iter().find(apart).is_some()
        };
        match waited
            .iter()
            .find(|(address, _)| !written.contains(address) && !shifted(address))
        {
            None => Ok(()),
            Some((_, at)) => Err(Obstacle::new(
                *at,
                "the kernel waits for memory that it never writes itself",
            )),
        }
    }

    /// Whether the launch is one whose CTAs are all resident: only such a launch has memory that special
    /// registers point to.
    fn cooperative(&self) -> bool {
        let environment = |u: Unknown| {
            matches!(
                self.followed.unknowns.meaning(u),
                Some(Meaning::Environment(_))
            )
        };
        let pointed = |a: &Action| match a {
            Action::GridArrive(address, ..) => address.mentions(&environment),
            _ => false,
        };
        self.followed.programs.iter().any(|p| has(p, &pointed))
    }
}
