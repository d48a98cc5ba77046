//! The programs of all warps of a CTA, and facts about all of them together.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::rc::Rc;

use super::barrier_rings::Ring;
use super::chosen::told_apart;
use super::decided::decided;
use super::flags::raised;
use super::gather::gathered;
use super::peel::peeled;
use super::peel_exceptions::peel_exceptions;
use super::reroll::rolled;
use super::tickets::passed_on;
use super::warps::Kernel;
use crate::ptx::operations::access::accesses;
use crate::ptx::operations::answers::Answers;
use crate::ptx::operations::arrival_counts::ArrivalCounts;
use crate::ptx::operations::counters::Widths;
use crate::ptx::operations::counters::elsewhere;
use crate::ptx::operations::instruction::touches;
use crate::ptx::operations::instruction::watches;
use crate::ptx::operations::warpgroups::Together;
use crate::ptx::operations::warpgroups::needed;
use crate::ptx::operations::warpgroups::paired;
use crate::ptx::path::arrays::Arrays;
use crate::ptx::path::dependence::Place;
use crate::ptx::path::dependence::dependences;
use crate::ptx::path::flow::Flow;
use crate::ptx::path::locals::in_registers;
use crate::ptx::path::polls::settle_polls;
use crate::ptx::syntax::ast::Function;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::syntax::ast::Module;
use crate::ptx::syntax::ast::Variable;
use crate::ptx::warp::machine::Launch;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::Unknowns;
use crate::ptx::warp::machine::assume;
use crate::ptx::warp::machine::most_blocks;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Pool;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;

/// What one warp does.
#[derive(Debug, Clone)]
pub(in crate::ptx) struct Program {
    pub rank: u32,
    pub warps: Vec<u32>,
    pub statements: Vec<Statement>,
    /// The same with loop variables numbered in order, to be compared.
    plain: Vec<Statement>,
}

/// A kernel that has been followed.
#[derive(Debug)]
pub(in crate::ptx) struct Followed {
    /// What warps do; those of a CTA that do the same are together.
    pub programs: Vec<Program>,
    pub unknowns: Unknowns,
    pub assumptions: BTreeSet<(Sum, usize)>,
    /// Whether the kernel waits for counters in global memory.
    pub counters: bool,
    /// Whether it does so without ever looking at the grid.
    pub blind: bool,
    /// Where it is written where the tensor memory of a CTA lies.
    pub tensors: BTreeSet<Sum>,
    /// Whether tensor copies are taken to take what threads have written.
    pub boxes_out: bool,
    /// Whether the pool of tensor memory asks for all of it to be given back.
    pub held: bool,
    /// What is assumed of words that are taken not to change.
    pub unchanged: Vec<&'static str>,
    /// Further assumptions, in words.
    pub taken: BTreeSet<&'static str>,
    /// Parameters that may decide about synchronization.
    pub weighed: BTreeSet<Place>,
    /// Whether dynamic shared memory is taken to begin at a multiple of the largest swizzled atom.
    pub leveled: bool,
    /// Whether something is computed from words of memory, which are taken to be an `int` that is not negative.
    pub unsigned: bool,
    /// Whether lanes of a warp are taken to use shared memory in the order of their program where nothing else orders them.
    pub in_step: bool,
    /// Whether a test of an mbarrier spares a wait, and something may be done between the two.
    pub looks_ahead: bool,
    /// Whether what tensor copies deliver is counted in copies somewhere.
    pub counted: bool,
    /// Named barriers that are arrays.
    pub rings: Vec<Ring>,
    /// How arrivals at mbarriers come.
    pub arrival_counts: ArrivalCounts,
}

/// Follows every warp of one CTA, or of each CTA of a cluster.
pub(in crate::ptx) fn follow(
    module: &Module<'_>,
    function: &Function<'_>,
    launch: &Launch,
    data: bool,
) -> Result<Followed, Obstacle> {
    let function = &*in_registers(module, Cow::Borrowed(function))?;
    let flow = Rc::new(Flow::of(function)?);
    let arrays = Arrays::of(module, function);
    let written = arrays.written_by(function);
    let shared = module.shared.iter().chain(&function.shared);
    let shared: Vec<Variable<'_>> = shared.cloned().collect();
    let asks = function.code.iter().any(|i| i.has("try_cancel"));
    let mut unknowns = Unknowns::default();
    let mut counters = BTreeSet::new();
    let mut tensors = BTreeSet::new();
    // What was in the way without assumptions on blocks and iterations.
    let mut first: Option<Obstacle> = None;
    loop {
        let mut assumptions = BTreeSet::new();
        let mut programs: Vec<Program> = Vec::new();
        let mut waited: BTreeSet<Unknown> = BTreeSet::new();
        let mut steps = 0;
        let mut answers = Answers::default();
        let mut failed = None;
        let mut leveled = false;
        let mut unsigned = false;
        let mut constant = false;
        let mut in_step = false;
        let mut looks_ahead = false;
        let mut allocated = BTreeSet::new();
        let mut together = Together::default();
        let mut widths = Widths::default();
        let mut arrival_counts = ArrivalCounts::default();
        let mut polled = Vec::new();
        let kernel = Kernel {
            function,
            launch,
            flow: &flow,
            arrays: &arrays,
            written: &written,
            shared: &shared,
            counters: &counters,
            tensors: &tensors,
            data,
            asks,
            generous: first.is_some(),
        };
        'all: for rank in 0..launch.ranks() {
            for warp in 0..launch.warps() {
                let walked = kernel.warp(rank, warp, &mut unknowns, steps);
                steps = walked.steps;
                leveled |= walked.leveled;
                unsigned |= walked.unsigned;
                constant |= walked.constant;
                in_step |= walked.in_step;
                looks_ahead |= walked.looks_ahead;
                waited.extend(walked.waited);
                widths.add(walked.widths);
                arrival_counts.add(walked.arrival_counts);
                polled.push(walked.polls);
                allocated.extend(walked.allocated);
                answers.add(walked.answers);
                for (sum, at) in walked.assumptions {
                    assume(&mut assumptions, sum, at);
                }
                match walked.done {
                    Ok(statements) => {
                        together.note(rank, warp, &statements);
                        add(&mut programs, rank, warp, paired(statements));
                    }
                    Err(obstacle) => {
                        failed = failed.or(Some(obstacle));
                        // Warps after it may say where the tensor memory lies.
                        if !data || !tensors.is_empty() {
                            break 'all;
                        }
                    }
                }
            }
        }
        // Writes to what turned out to be a counter have to be seen.
        if !waited.is_subset(&counters) {
            counters.extend(waited);
            continue;
        }
        if !allocated.is_subset(&tensors) {
            tensors.extend(allocated);
            continue;
        }
        match (failed, first) {
            (None, _) => {}
            (Some(obstacle), None) => {
                first = Some(obstacle);
                continue;
            }
            // What is further on is closer to what is really in the way.
            (Some(obstacle), Some(before)) if obstacle.at > before.at => return Err(obstacle),
            (Some(_), Some(before)) => return Err(before),
        }
        answers.agree(&programs)?;
        together.alike()?;
        widths.alike()?;
        settle_polls(&mut programs, &polled, launch)?;
        needed(&mut programs, launch)?;
        for program in &mut programs {
            let mut statements = decided(&program.statements, &unknowns.1);
            statements = rolled(statements, &mut unknowns);
            statements = gathered(statements, &mut unknowns);
            if data {
                statements = peeled(&statements, &mut unknowns);
            }
            statements = peel_exceptions(&statements, &mut unknowns);
            statements = told_apart(&statements, &unknowns.1);
            *program = Program::of(program.rank, std::mem::take(&mut program.warps), statements);
        }
        passed_on(&mut programs, &unknowns);
        raised(&mut programs, &unknowns);
        launched(&mut programs, function, launch);
        let blind = !counters.is_empty() && never_looks(&unknowns);
        if blind {
            let extent = unknowns.of(Meaning::Blocks(0));
            unknowns.1.bound(extent, 1, most_blocks(0));
        }
        let matters = |i: &Instruction<'_>| {
            let apart = || elsewhere(i, &arrays, &counters, &unknowns);
            watches(i) || touches(i, !counters.is_empty()) && !apart() || data && accesses(i)
        };
        let weighed = dependences(function, &flow, &matters);
        return Ok(Followed {
            programs,
            unknowns,
            assumptions,
            counters: !counters.is_empty(),
            blind,
            tensors,
            held: false,
            unchanged: written.assumptions().filter(|_| constant).collect(),
            taken: BTreeSet::new(),
            weighed,
            boxes_out: false,
            leveled,
            unsigned,
            in_step,
            looks_ahead,
            counted: false,
            rings: Vec::new(),
            arrival_counts,
        });
    }
}

/// Whether the kernel never looks at the grid. Its CTAs are all alike then: as many along several axes are the same
/// as along one.
pub(super) fn never_looks(unknowns: &Unknowns) -> bool {
    (0..3).all(|axis| unknowns.find(&Meaning::Blocks(axis)).is_none())
}

/// Where warps give registers back or take more, each has those of the launch first.
fn launched(programs: &mut [Program], function: &Function<'_>, launch: &Launch) {
    let mut moved = false;
    for program in programs.iter() {
        each(&program.statements, &mut |s| {
            let pool = match &s.action {
                Action::Acquire(pool, _) | Action::Release(pool, _) => Some(pool),
                _ => None,
            };
            moved |= pool == Some(&Pool::Registers);
        });
    }
    for program in programs.iter_mut().filter(|_| moved) {
        let held = Sum::of(i128::from(launch.registers()));
        let first = Statement {
            action: Action::Acquire(Pool::Registers, held),
            at: function.at.start,
            location: None,
            memory: "",
        };
        program.statements.insert(0, first);
    }
}

impl Program {
    /// What these warps of a CTA do.
    pub fn of(rank: u32, warps: Vec<u32>, statements: Vec<Statement>) -> Program {
        let plain = numbered(&statements);
        Program {
            rank,
            warps,
            statements,
            plain,
        }
    }
}

fn add(programs: &mut Vec<Program>, rank: u32, warp: u32, statements: Vec<Statement>) {
    let plain = numbered(&statements);
    let same = programs
        .iter_mut()
        .find(|p| p.rank == rank && p.plain == plain);
    match same {
        Some(program) => program.warps.push(warp),
        None => programs.push(Program {
            rank,
            warps: vec![warp],
            statements,
            plain,
        }),
    }
}

/// Puts warps together again that do the same.
pub(in crate::ptx) fn regroup(programs: &mut Vec<Program>) {
    for program in std::mem::take(programs) {
        for warp in &program.warps {
            add(programs, program.rank, *warp, program.statements.clone());
        }
    }
}

/// The statements with loop variables numbered from the largest number down, in order.
pub(in crate::ptx) fn numbered(statements: &[Statement]) -> Vec<Statement> {
    fn order(statements: &[Statement], map: &mut BTreeMap<Unknown, Unknown>) {
        for statement in statements {
            match &statement.action {
                Action::For(unknown, _, body) => {
                    let next = u32::MAX - u32::try_from(map.len()).unwrap_or(0);
                    map.entry(*unknown).or_insert(Unknown(next));
                    order(body, map);
                }
                Action::If(_, yes, no) => {
                    order(yes, map);
                    order(no, map);
                }
                _ => {}
            }
        }
    }
    let mut map = BTreeMap::new();
    order(statements, &mut map);
    crate::ptx::warp::rewrite::renamed(statements, &map)
}

/// The barriers of the whole CTA or cluster that a program meets, in their loops and branches.
pub(in crate::ptx) fn skeleton(
    statements: &[Statement],
    keep: &dyn Fn(&Action) -> bool,
) -> Vec<Statement> {
    let mut kept = Vec::new();
    for statement in statements {
        let action = match &statement.action {
            Action::For(unknown, count, body) => {
                let body = skeleton(body, keep);
                (!body.is_empty()).then(|| Action::For(*unknown, count.clone(), body))
            }
            Action::If(condition, yes, no) => {
                let (yes, no) = (skeleton(yes, keep), skeleton(no, keep));
                match (yes.is_empty(), no.is_empty()) {
                    (true, true) => None,
                    // As it is written where there has never been anything on that side.
                    (true, false) => Some(Action::If(condition.negated(), no, yes)),
                    _ => Some(Action::If(condition.clone(), yes, no)),
                }
            }
            action => keep(action).then(|| action.clone()),
        };
        if let Some(action) = action {
            kept.push(Statement {
                action,
                at: statement.at,
                location: statement.location,
                memory: statement.memory,
            });
        }
    }
    kept
}

/// Every action of a program, those inside loops and branches included.
pub(in crate::ptx) fn each<'s>(statements: &'s [Statement], visit: &mut dyn FnMut(&'s Statement)) {
    for statement in statements {
        visit(statement);
        match &statement.action {
            Action::For(_, _, body) => each(body, visit),
            Action::If(_, yes, no) => {
                each(yes, visit);
                each(no, visit);
            }
            _ => {}
        }
    }
}

/// Whether this is a barrier of all threads of the CTA.
pub(in crate::ptx) fn of_all(action: &Action, launch: &Launch) -> bool {
    let all = i128::from(launch.warps() * 32);
    matches!(action, Action::Sync(_, threads, _) if threads.as_constant() == Some(all))
}

/// The barriers at which all threads of a CTA meet: who goes on after one knows that everybody has come.
///
/// A barrier at which somebody arrives and goes on is none. Every arrival counts, so a warp that arrives twice completes it in
/// the place of another one. Where everybody waits each warp is there once, as a warp that waits does not come again.
pub(in crate::ptx) struct Full<'l> {
    launch: &'l Launch,
    /// Where somebody only arrives; `None` if it may be anywhere.
    arrived: Option<BTreeSet<i128>>,
}

impl<'l> Full<'l> {
    pub fn new(followed: &Followed, launch: &'l Launch) -> Full<'l> {
        let mut arrived = Some(BTreeSet::new());
        for program in &followed.programs {
            each(&program.statements, &mut |s| {
                let Action::ArriveNamed(id, _) = &s.action else {
                    return;
                };
                match (id.as_constant(), &mut arrived) {
                    (Some(id), Some(arrived)) => {
                        arrived.insert(id);
                    }
                    _ => arrived = None,
                }
            });
        }
        Full { launch, arrived }
    }

    /// Whether an action comes to such a barrier.
    pub fn is_met(&self, action: &Action) -> bool {
        let Action::Sync(id, ..) = action else {
            return false;
        };
        let everybody = match (&self.arrived, id.as_constant()) {
            (Some(arrived), Some(id)) => !arrived.contains(&id),
            (Some(arrived), None) => arrived.is_empty(),
            (None, _) => false,
        };
        everybody && of_all(action, self.launch)
    }
}
