//! The roles of a kernel: every warp of every CTA of a cluster, put together.

use std::collections::BTreeSet;

use crate::ir::Block;
use crate::ir::Kernel;
use crate::ir::Location;
use crate::ir::OperationKind;
use crate::ir::Synchronization;
use crate::ir::Terminator;
use crate::recover::boxes;
use crate::recover::branch_fusion::fuse_branches;
use crate::recover::branches::straighten;
use crate::recover::bytes;
use crate::recover::closed_forms::substitute_closed_forms;
use crate::recover::decided::settle_branches;
use crate::recover::elected;
use crate::recover::elements::lay_out;
use crate::recover::graph::Graph;
use crate::recover::init_visibility::refuse_invisible_inits;
use crate::recover::inputs::refuse_both;
use crate::recover::known_rounds;
use crate::recover::late_reads;
use crate::recover::lower::Inputs;
use crate::recover::lower::check_orders;
use crate::recover::lower::counter;
use crate::recover::lower::lower;
use crate::recover::lower::register;
use crate::recover::mbarrier_lifetimes;
use crate::recover::misplaced::refuse_misplaced_copies;
use crate::recover::outside::outside;
use crate::recover::overwritten::refuse_idle_ends;
use crate::recover::overwritten::refuse_stores;
use crate::recover::own_phases;
use crate::recover::parity;
use crate::recover::pointers::wide_sizes;
use crate::recover::ptx_preconditions;
use crate::recover::quotients::quotients;
use crate::recover::read_only_memory::ReadOnlyMemory;
use crate::recover::reconverged;
use crate::recover::reductions::refuse_mixed;
use crate::recover::remote;
use crate::recover::reroll::reroll;
use crate::recover::responses::Responses;
use crate::recover::rewrite::renumber;
use crate::recover::rewrite::trim;
use crate::recover::ring_words;
use crate::recover::ring_words::RingWords;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Role;
use crate::recover::scope::declare;
use crate::recover::second_lifetimes::split_lifetimes;
use crate::recover::shape::Shape;
use crate::recover::shared_words;
use crate::recover::simplify::simplify;
use crate::recover::slice::Slice;
use crate::recover::tensor_memory::TensorMemory;
use crate::recover::term::TermId;
use crate::recover::termination;
use crate::recover::tested::are_initialised_once;
use crate::recover::tested::come_last;
use crate::recover::tree::Arena;
use crate::recover::tree::FROM_MEMORY;
use crate::recover::tree::Obstacle;
use crate::recover::tree::Undecided;
use crate::recover::tree::in_time;
use crate::recover::tree::refuse;
use crate::recover::trees::trees;
use crate::recover::trip_count_sums::split_trip_counts;
use crate::recover::unrolled::roll;
use crate::recover::walk::Purpose;

/// The roles of a kernel, and what they are made of.
#[derive(Debug)]
pub struct Roles {
    pub all: Vec<Role>,
    pub inputs: Inputs,
    pub arena: Arena,
    /// The rings at which warps wait for the phases of their own arrivals.
    pub rings: Vec<own_phases::Ring>,
}

/// How often loops are rolled up and branches removed, alternately.
const MOST_TURNS: usize = 8;

/// Assumed because a wait that a test makes unnecessary is written where the wait would stand. That
/// is later than the test. It has not been shown that the warp does not wait at the mbarrier in
/// between.
const OVERTAKEN: &str =
    "a phase that a test has found complete is not overtaken before the wait that the test spares";

/// The same where it has been shown. The certificate of a proof in which waits are in turn does not
/// rest on it: see `tested.rs`.
const IN_TURN: &str = "if waits at an mbarrier may be for phases that are not consecutive, a test that lets a warp skip a wait has found the phase of that wait complete";

/// Assumed of branches through tables that decide nothing. Others are followed only if their index
/// is known.
const INDEXED: &str = "the index of `brx.idx` is one of its list";

/// Assumed of the lanes of one warp.
const IN_ORDER: &str = "lanes of a warp use shared memory in the order of their program, also where no `bar.warp.sync` stands between them";

/// Assumed where the text has one arrival for several lanes. Otherwise a phase could complete in
/// which some lanes have arrived twice, and others not at all.
const ARRIVE: &str = "lanes of a warp that each arrive at an mbarrier have all done so before one of them arrives there again";

/// Assumed because the place of swizzled rows of a matrix in dynamic shared memory depends on where
/// that memory begins.
const LEVELED: &str = "dynamic shared memory begins at a multiple of 1024 bytes";

/// Refuses kernels that use tensor memory: it is not followed who accesses it, and until when.
fn refuse_tensor_memory(kernel: &Kernel) -> Result<(), Obstacle> {
    let mut operations = kernel.blocks.iter().flat_map(|block| &block.operations);
    let allocation = operations.find(|operation| {
        matches!(
            operation.kind,
            OperationKind::Synchronization(Synchronization::TensorAllocate { .. })
        )
    });
    match allocation {
        None => Ok(()),
        Some(operation) => refuse(
            "races are not decided of a kernel that uses tensor memory",
            &operation.location,
        ),
    }
}

/// Refuses operations that are not understood: `foo.bar [p]` may write at `p`, or wait for somebody.
fn refuse_unknown(kernel: &Kernel) -> Result<(), Obstacle> {
    let mut operations = kernel.blocks.iter().flat_map(|block| &block.operations);
    let unknown = operations.find_map(|operation| match &operation.kind {
        OperationKind::Unsupported {
            mnemonic, reason, ..
        } => Some(Obstacle::new(
            format!("`{mnemonic}`: {reason}"),
            operation.location.clone(),
        )),
        _ => None,
    });
    unknown.map_or(Ok(()), Err)
}

/// The assumptions about a kernel that do not depend on how it is recovered. Fails if something in
/// the kernel contradicts them: an operation that is not understood, or a store over an mbarrier
/// while the protocol has mbarriers.
///
/// `data`: whether the verdict is also about reads and writes of shared memory.
pub fn premises(kernel: &Kernel, has_mbarriers: bool, data: bool) -> Result<Vec<String>, Obstacle> {
    refuse_unknown(kernel)?;
    refuse_misplaced_copies(kernel)?;
    let elsewhere = match refuse_stores(kernel) {
        Err(_) if !has_mbarriers => None,
        found => {
            let premise = found?;
            // Who carries out an end is not known here.
            refuse_idle_ends(&premise.ends, std::iter::empty())?;
            premise.assumption
        }
    };
    let graph = Graph::new(kernel);
    refuse_mixed(kernel, &graph)?;
    termination::refuse_unchanging(kernel, &graph)?;
    refuse_invisible_inits(kernel)?;
    let slice = Slice::new(kernel, &graph);
    let ends = termination::assumptions(kernel, &graph, &slice);
    let linear = kernel.bounds.required_threads.is_some_and(is_linear);
    let slice = match data {
        true => Slice::with_accesses(kernel, &graph),
        false => slice,
    };
    let elected = elected::assumption(kernel, &graph, &slice, linear);
    let remote = remote::assumptions(kernel).iter().copied();
    let meet = reconverged::assumption(kernel, &graph, linear);
    let fixed = elsewhere
        .into_iter()
        .chain(outside(kernel)?)
        .chain(elected)
        .chain(remote)
        .chain(meet);
    let fixed = fixed.map(str::to_owned);
    Ok(fixed.chain(ends).collect())
}

/// Whether 32 threads in the order of their x index form a warp.
fn is_linear([x, y, z]: [u32; 3]) -> bool {
    x.is_multiple_of(32) || y == 1 && z == 1
}

/// Recovers the roles of a kernel. If that fails, tries again with trip counts of loops as inputs, or
/// looks for words that warps hand over to each other by mbarriers, and tries again with them.
pub fn roles(kernel: &Kernel, shape: Shape, over: fn() -> bool) -> Result<Roles, Obstacle> {
    let first = roles_from_anywhere(kernel, shape, over, false);
    if first.is_ok() {
        return first;
    }
    let Some(ring_words) = RingWords::new(kernel) else {
        return first;
    };
    // If memory stops only the first attempt, the obstacle of the second one says more.
    let by_memory = |obstacle: &Obstacle| obstacle.reason.contains(FROM_MEMORY);
    match (
        roles_with(kernel, shape, over, Some(ring_words), (false, false), None),
        first,
    ) {
        (Ok(roles), _) => Ok(roles),
        (Err(second), Err(first)) if by_memory(&first) && !by_memory(&second) => Err(second),
        (_, first) => first,
    }
}

/// If a trip count stops the recovery, tries again with loops that may begin at values of the launch
/// which have no form as numbers. If a number stops it, tries again with numbers that are any
/// functions of the rounds of loops.
fn roles_from_anywhere(
    kernel: &Kernel,
    shape: Shape,
    over: fn() -> bool,
    accesses: bool,
) -> Result<Roles, Obstacle> {
    let with = |starts: bool, rounds: bool| {
        let starts = starts.then(BTreeSet::new);
        roles_with(kernel, shape, over, None, (accesses, rounds), starts)
    };
    let by_loop = |obstacle: &Obstacle| obstacle.undecided == Some(Undecided::TripCount);
    let mut first = with(false, false);
    if first.as_ref().is_err_and(by_loop) {
        first = with(true, false).or(first);
    }
    // Other forms come first: these say nothing of how two numbers are related.
    if !first
        .as_ref()
        .is_err_and(|obstacle| obstacle.undecided.is_some())
    {
        return first;
    }
    let second = with(false, true);
    match second.as_ref().is_err_and(by_loop) {
        true => with(true, true).or(first),
        false => second.or(first),
    }
}

/// As [`roles`], with the accesses to shared memory.
pub fn roles_with_accesses(
    kernel: &Kernel,
    shape: Shape,
    over: fn() -> bool,
) -> Result<Roles, Obstacle> {
    refuse_tensor_memory(kernel)?;
    if shape.ctas() > 1 {
        return refuse(
            "races are not decided of clusters of several CTAs",
            &Location::default(),
        );
    }
    let mut roles = roles_from_anywhere(kernel, shape, over, true)?;
    roles.inputs.assumptions.insert(IN_ORDER.to_owned());
    if roles.arena.levels {
        roles.inputs.assumptions.insert(LEVELED.to_owned());
    }
    if roles.inputs.arrival_counts.has_lanes() {
        roles.inputs.assumptions.insert(ARRIVE.to_owned());
    }
    lay_out(kernel, &mut roles.all, &roles.inputs)?;
    Ok(roles)
}

fn roles_with(
    kernel: &Kernel,
    shape: Shape,
    over: fn() -> bool,
    ring_words: Option<RingWords>,
    (accesses, rounds): (bool, bool),
    starts: Option<BTreeSet<TermId>>,
) -> Result<Roles, Obstacle> {
    let threads = shape
        .threads
        .iter()
        .try_fold(1_u32, |product, n| product.checked_mul(*n))
        .unwrap_or(0);
    let ctas = shape
        .cluster
        .iter()
        .try_fold(1_u32, |product, n| product.checked_mul(*n))
        .unwrap_or(0);
    let refuse = |reason: &str| Obstacle::new(reason, Location::default());
    if !(1..=1024).contains(&threads) || !(1..=16).contains(&ctas) {
        return Err(refuse(
            "a CTA has 1 to 1,024 threads, and a cluster 1 to 16 CTAs",
        ));
    }
    refuse_misplaced_copies(kernel)?;
    let stores = refuse_stores(kernel)?;
    let graph = Graph::new(kernel);
    refuse_mixed(kernel, &graph)?;
    if !graph.is_reducible() {
        return Err(refuse("the control flow has a loop with several entries"));
    }
    let slice = match &ring_words {
        Some(ring_words) => Slice::with_stores(kernel, &graph, &ring_words.stores),
        None if accesses => Slice::with_accesses(kernel, &graph),
        None => Slice::new(kernel, &graph),
    };
    let mut arena = Arena {
        ring_words,
        over: Some(over),
        unwritten: ReadOnlyMemory::new(kernel),
        wide_sizes: wide_sizes(kernel),
        accesses,
        rounds,
        starts,
        ..Arena::default()
    };
    let mut trees = trees(kernel, shape, (&graph, &slice), &mut arena, Purpose::Events)?;
    let warps = trees.iter().map(|(_, _, statements)| statements.as_slice());
    refuse_idle_ends(&stores.ends, warps)?;
    let lowest_bit = parity::check(&mut arena)?;
    let mut all: Vec<_> = trees
        .iter_mut()
        .map(|(_, _, statements)| statements)
        .collect();
    simplify(&mut arena, &mut all);
    known_rounds::write_out(&mut arena, &mut all);
    let mut inputs = Inputs::default();
    let (mut factors, mut places) = (BTreeSet::new(), counter::Places::new());
    for (_, _, statements) in &trees {
        let terms = &arena.terms;
        counter::register(statements, terms, &mut inputs, &mut factors, &mut places);
    }
    arena.factors = factors;
    arena.neighbours = counter::neighbours(&places);
    inputs
        .assumptions
        .extend(kernel.assumptions.iter().cloned());
    for (_, _, statements) in &trees {
        register(kernel, &mut arena, &mut inputs, statements);
    }
    inputs.assumptions.extend(lowest_bit.map(str::to_owned));
    inputs
        .assumptions
        .extend(stores.assumption.map(str::to_owned));
    let ends = termination::assumptions(kernel, &graph, &slice);
    inputs.assumptions.extend(ends);
    let elected = elected::assumption(kernel, &graph, &slice, is_linear(shape.threads));
    inputs.assumptions.extend(elected.map(str::to_owned));
    let remote = remote::assumptions(kernel).iter();
    let remote = remote.map(|one| (*one).to_owned());
    inputs.assumptions.extend(remote);
    let leaves_out = |(block, decides): (&Block, &bool)| {
        !decides && matches!(block.end, Terminator::Switch { .. })
    };
    if kernel.blocks.iter().zip(&slice.branches).any(leaves_out) {
        inputs.assumptions.insert(INDEXED.to_owned());
    }
    if !arena.shared_words.answered.is_empty() {
        let assumption = shared_words::ASSUMPTION.to_owned();
        inputs.assumptions.insert(assumption);
    }
    check_orders(kernel, &mut arena, &mut inputs)?;
    let mut responses = Responses::default();
    let mut columns = TensorMemory::default();
    let mut programs = Vec::new();
    let mut as_lowered = Vec::new();
    for (rank, warp, statements) in &trees {
        in_time(over)?;
        let mut lines = lower(kernel, &mut arena, &mut inputs, shape, statements)?;
        as_lowered.push(lines.clone());
        ptx_preconditions::refuse_remote_waits(&lines, *rank)?;
        ptx_preconditions::refuse_mixed_completion(&lines)?;
        responses.settle(&mut lines)?;
        columns.settle(*rank, *warp, &mut lines)?;
        programs.push((*rank, *warp, lines));
    }
    let come_last = !arena.spared.is_empty()
        && come_last(&arena.spared, &arena.noted, &as_lowered, kernel, &inputs)
        && are_initialised_once(as_lowered.iter(), kernel, &inputs);
    drop(as_lowered);
    if ring_words::check(&programs, &inputs)? {
        let assumptions = ring_words::ASSUMPTIONS.map(str::to_owned);
        inputs.assumptions.extend(assumptions);
    }
    let ranges = inputs.ranges();
    for (_, _, lines) in &mut programs {
        ring_words::take_out(lines);
        settle_branches(lines, &ranges);
    }
    late_reads::refuse_late_reads(kernel, &mut programs, &inputs)?;
    let mut all: Vec<&mut Vec<Line>> = programs.iter_mut().map(|(_, _, lines)| lines).collect();
    let assumed = bytes::fill(kernel, &mut all, &inputs)?;
    inputs
        .assumptions
        .extend(assumed.into_iter().map(str::to_owned));
    if boxes::take(kernel, &mut all, &inputs)? {
        inputs.assumptions.insert(boxes::TAKE.to_owned());
    }
    let mut roles: Vec<Role> = Vec::new();
    for (rank, warp, mut lines) in programs {
        trim(&mut lines);
        // Numbers for loops that no tree uses.
        let mut next = arena.loops;
        reroll(&mut lines, &mut next);
        declare(&mut lines)?;
        renumber(&mut lines);
        match roles
            .iter_mut()
            .find(|role| role.rank == rank && role.lines == lines)
        {
            Some(role) => role.warps.push(warp),
            None => roles.push(Role {
                rank,
                warps: vec![warp],
                lines,
            }),
        }
    }
    let taken = ptx_preconditions::assumptions(&roles);
    for assumption in columns.check()?.into_iter().chain(taken) {
        inputs.assumptions.insert(assumption.to_owned());
    }
    refuse_both(&roles, &inputs, &arena.terms)?;
    let mut alike = arena.alike.iter();
    let by_memory = alike.any(|(term, _)| !arena.terms.memory_in(*term).is_empty());
    if by_memory || inputs.read_memory(&arena.terms) {
        let assumptions = arena.unwritten.assumptions();
        inputs.assumptions.extend(assumptions.map(str::to_owned));
    }
    if let Some(assumption) = responses.check(ctas)? {
        inputs.assumptions.insert(assumption.to_owned());
    }
    split_lifetimes(&mut roles, &inputs, shape)?;
    let last_uses = mbarrier_lifetimes::settle(&mut roles, &inputs, shape)?;
    inputs.assumptions.extend(last_uses.map(str::to_owned));
    if !arena.spared.is_empty() {
        let assumption = if come_last { IN_TURN } else { OVERTAKEN };
        inputs.assumptions.insert(assumption.to_owned());
    }
    split_trip_counts(&mut roles, &mut inputs);
    quotients(&mut roles, &mut inputs);
    let ranges = inputs.ranges();
    for role in &mut roles {
        // Each of these may enable the other.
        for _ in 0..MOST_TURNS {
            let before = role.lines.clone();
            substitute_closed_forms(&mut role.lines, &ranges);
            roll(&mut role.lines, &ranges);
            straighten(&mut role.lines, &ranges);
            fuse_branches(&mut role.lines);
            if role.lines == before {
                break;
            }
        }
    }
    let rings = own_phases::settle(kernel, shape, &mut roles, &inputs)?;
    // Branches and loops that have been removed may have been in the way.
    quotients(&mut roles, &mut inputs);
    Ok(Roles {
        all: roles,
        inputs,
        arena,
        rings,
    })
}
