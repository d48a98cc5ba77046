//! Writes a CUDA program that plays a run on a GPU, and shows that it hangs there.
//!
//! For example, suppose that `consumer[1]` waits for a phase that nobody completes. The program executes the
//! operations of the run with the instructions that they stand for, and then reports that `consumer[1]` is blocked.
//! The program contains the operations of every member and the actions of the run as tables, and a kernel that plays
//! them (`play.cu`). The hardware, and not a model of it, decides whether each action can happen and whether a member
//! blocks at the end.
//!
//! An asynchronous landing is played by synchronous instructions of another thread, at its moment in the run. Members
//! that are CTAs become threads of one CTA, because what they wait for is in global memory. Two things have no
//! instruction of their own. A member without a place on the device is simply not started, and pools are words in
//! memory.

use std::collections::BTreeMap;
use std::collections::HashMap;

use crate::protocol::Comparison;
use crate::semantics::instance::CellId;
use crate::semantics::instance::CellStart;
use crate::semantics::instance::Instance;
use crate::semantics::instance::OpKind;
use crate::semantics::step;
use crate::semantics::step::Action;
use crate::semantics::step::CellState;
use crate::semantics::step::Delivery;
use crate::semantics::step::InFlight;
use crate::semantics::step::NOT_STARTED;
use crate::semantics::step::State;

use super::script::quoted;

/// The kernel, and the code for the host.
const RULES: &str = include_str!("play.cu");

/// Types of the tables.
const TYPES: &str = "\
enum Verb { NOTHING, WAIT_EQUAL, WAIT_AT_LEAST, WAIT_SWAP, ADD, SET, ACQUIRE, RELEASE, ARRIVE, WAIT_PARITY, EXPECT_TX,
            COMPLETE_TX, INIT, SYNC, BAR_ARRIVE, COPY_LANDS, COMMIT_LANDS };
enum Kind { WORD, MBARRIER, NOT_INITIALISED, NAMED };
// `turn`: which action of the run it is, from 0; -1: none.
struct Op { Verb verb; int slot; long long amount, other; int turn, text; };
// `ends_at`: how many operations it has done in the end; -1: it never starts.
struct Member { const char *name; int first, count, ends_at; };
struct Cell { Kind kind; int slot; long long start; };
struct Run { const char *name; int first_member, members, first_cell, cells, first_landing, landings, turns; bool warps; };
";

/// The threads of a CTA besides the warp that performs landings.
const THREADS: usize = 992;
/// Named barriers of a CTA.
const NAMED: usize = 16;
/// Arrivals and bytes of a phase are below this: PTX ISA, `mbarrier`, limits of the counts.
const COUNTS: i64 = 1 << 20;

const RESULTS: &str = "a role that goes on with the result of an atomic operation";

/// Why a run cannot be played.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unplayable {
    /// More members than a CTA has room for.
    #[error("{members} members do not fit into a CTA of {most} (each one a {each})")]
    Members {
        /// How many there are.
        members: usize,
        /// How many fit.
        most: usize,
        /// What a member is.
        each: &'static str,
    },
    /// More named barriers than a CTA has.
    #[error("a CTA has {NAMED} named barriers, and {0} are used")]
    Named(usize),
    /// A number that is too large for an mbarrier.
    #[error("{0} is more than an mbarrier counts")]
    Count(i64),
    /// An operation that has no instruction.
    #[error("no instruction stands for {0}")]
    NoInstruction(&'static str),
    /// The reference semantics do not accept the run.
    #[error("the run cannot happen")]
    Run,
}

/// A run of an instance.
#[derive(Debug, Clone, Copy)]
pub struct Played<'a> {
    /// What it is called in the output.
    pub name: &'a str,
    /// The text of the protocol.
    pub source: &'a str,
    /// The instance.
    pub instance: &'a Instance,
    /// Its actions, to a state in which nothing more can happen.
    pub schedule: &'a [Action],
}

/// A CUDA program that plays one of several runs: the one whose number is its argument, or the first. Its exit status
/// is 1 if the run hangs as expected, 0 if it completes as expected, 3 if the hardware does something else, and 2 if
/// the run cannot be played.
///
/// # Errors
///
/// Something that hardware has no room or no instruction for.
pub fn program(runs: &[Played<'_>], header: &[&str]) -> Result<String, Unplayable> {
    let mut tables = Tables::default();
    for run in runs {
        tables.add(run)?;
    }
    let mut text = String::new();
    for line in header.iter().flat_map(|line| line.lines()) {
        text += format!("// {line}").trim_end();
        text.push('\n');
    }
    text += "//\n// nvcc -arch=sm_90 -o hang THIS.cu && ./hang\n\n";
    text += TYPES;
    for (of, name, rows) in [
        ("char *const", "TEXTS", &tables.texts),
        ("Op", "OPS", &tables.ops),
        ("Member", "MEMBERS", &tables.members),
        ("Cell", "CELLS", &tables.cells),
        ("Op", "LANDINGS", &tables.landings),
        ("Run", "RUNS", &tables.runs),
    ] {
        text += &format!("\nstatic const {of} {name}[] = {{\n");
        for row in rows {
            text += &format!("    {row},\n");
        }
        // An array needs at least one element.
        if rows.is_empty() {
            text += "    {},\n";
        }
        text += "};\n";
    }
    Ok(text + "\n" + RULES)
}

/// The rows of the tables, as C++.
#[derive(Default)]
struct Tables {
    texts: Vec<String>,
    ops: Vec<String>,
    members: Vec<String>,
    cells: Vec<String>,
    landings: Vec<String>,
    runs: Vec<String>,
}

impl Tables {
    fn add(&mut self, run: &Played<'_>) -> Result<(), Unplayable> {
        let instance = run.instance;
        if instance.branches() {
            return Err(Unplayable::NoInstruction(RESULTS));
        }
        let slots = slots(instance)?;
        let ops = || instance.members.iter().flat_map(|m| &m.ops);
        let warps = ops().any(|op| matches!(op.kind, OpKind::Sync(_) | OpKind::BarArrive(_)));
        let (most, each) = match warps {
            true => (THREADS / 32, "warp"),
            false => (THREADS, "thread"),
        };
        let members = instance.members.len();
        if members > most {
            return Err(Unplayable::Members {
                members,
                most,
                each,
            });
        }
        let timed = timed(instance, run.schedule)?;
        let first_text = self.texts.len();
        for span in &instance.spans {
            let line = run
                .source
                .get(..span.start)
                .unwrap_or("")
                .matches('\n')
                .count()
                + 1;
            let written = run.source.get(span.start..span.end).unwrap_or("?");
            let written = written.lines().next().unwrap_or("?").trim_end();
            self.texts.push(quoted(&format!("line {line}: {written}")));
        }
        let (first_member, first_cell) = (self.members.len(), self.cells.len());
        let first_landing = self.landings.len();
        for (position, member) in instance.members.iter().enumerate() {
            let first = self.ops.len();
            for (op, turn) in member.ops.iter().zip(&timed.turns[position]) {
                let (verb, amount, mut other) =
                    instruction(op.kind, instance.cells[op.cell.0 as usize])?;
                let slot = slots[op.cell.0 as usize].1;
                let text = first_text + op.stmt.0;
                if let Some(first) = turn.and_then(|turn| timed.pieces.get(&turn)) {
                    other = *first;
                }
                let turn = turn.map_or(-1, |turn| turn as i64);
                self.ops.push(format!(
                    "{{{verb}, {slot}, {amount}, {other}, {turn}, {text}}}"
                ));
            }
            let ends_at = match timed.ends_at[position] {
                NOT_STARTED => -1,
                place => i64::from(place),
            };
            let name = quoted(&instance.member_name(position));
            let count = member.ops.len();
            self.members
                .push(format!("{{{name}, {first}, {count}, {ends_at}}}"));
        }
        for (turn, lands) in timed.landings {
            let (verb, slot, amount, text) = match lands {
                None => ("NOTHING", 0, 0, 0),
                Some(flies) => {
                    let (verb, amount) = match flies.delivery {
                        Delivery::Bytes(bytes) => ("COPY_LANDS", counted(bytes)?),
                        Delivery::Arrival => ("COMMIT_LANDS", 1),
                    };
                    let slot = slots[flies.cell.0 as usize].1;
                    (verb, slot, amount, first_text + flies.stmt.0)
                }
            };
            let first = timed.pieces.get(&turn).copied().unwrap_or(0);
            self.landings.push(format!(
                "{{{verb}, {slot}, {amount}, {first}, {turn}, {text}}}"
            ));
        }
        for (kind, slot, start) in &slots {
            self.cells.push(format!("{{{kind}, {slot}, {start}}}"));
        }
        let (cells, landings) = (slots.len(), self.landings.len() - first_landing);
        let (name, turns) = (quoted(run.name), run.schedule.len());
        self.runs.push(format!(
            "{{{name}, {first_member}, {members}, {first_cell}, {cells}, {first_landing}, {landings}, {turns}, {warps}}}"
        ));
        Ok(())
    }
}

/// The times of the events in a run.
struct Timed {
    /// Per member and operation: the action of the run that executes it.
    turns: Vec<Vec<Option<usize>>>,
    /// Actions that do not execute an operation of a member: starts and landings.
    landings: Vec<(usize, Option<InFlight>)>,
    /// Per action that delivers more bytes than complete a phase: how many bytes complete it.
    pieces: BTreeMap<usize, i64>,
    /// Per member: its place at the end.
    ends_at: Vec<u32>,
}

fn timed(instance: &Instance, schedule: &[Action]) -> Result<Timed, Unplayable> {
    let mut state = step::initial(instance);
    let mut timed = Timed {
        pieces: BTreeMap::new(),
        turns: instance
            .members
            .iter()
            .map(|m| vec![None; m.ops.len()])
            .collect(),
        landings: Vec::new(),
        ends_at: Vec::new(),
    };
    for (turn, action) in schedule.iter().enumerate() {
        match *action {
            Action::Launch(_) => timed.landings.push((turn, None)),
            Action::Land(member, position) => {
                let flies = step::in_flight(&state, member, position).ok_or(Unplayable::Run)?;
                timed.landings.push((turn, Some(flies)));
                if let Delivery::Bytes(bytes) = flies.delivery {
                    let first = first_piece(&state, flies.cell, bytes);
                    timed.pieces.extend(first.map(|first| (turn, first)));
                }
            }
            Action::Step(member) => {
                let place = state.counters.get(member).ok_or(Unplayable::Run)?;
                let own = timed.turns.get_mut(member).ok_or(Unplayable::Run)?;
                *own.get_mut(*place as usize).ok_or(Unplayable::Run)? = Some(turn);
                let op = step::next_op(instance, &state, member).ok_or(Unplayable::Run)?;
                if let OpKind::CompleteTx(bytes) = op.kind {
                    let first = first_piece(&state, op.cell, bytes);
                    timed.pieces.extend(first.map(|first| (turn, first)));
                }
            }
        }
        step::apply(instance, &mut state, *action).map_err(|_| Unplayable::Run)?;
    }
    timed.ends_at = state.counters;
    Ok(timed)
}

/// How many of these bytes complete a phase before the rest comes.
fn first_piece(state: &State, cell: CellId, bytes: i64) -> Option<i64> {
    match state.cells.get(cell.0 as usize)? {
        CellState::Mbarrier { pending: 0, tx, .. } if (1..bytes).contains(tx) => Some(*tx),
        _ => None,
    }
}

/// Per cell: what it is, which of its kind, and how it starts.
fn slots(instance: &Instance) -> Result<Vec<(&'static str, usize, i64)>, Unplayable> {
    let mut used: HashMap<&str, usize> = HashMap::new();
    let mut all = Vec::with_capacity(instance.cells.len());
    for start in &instance.cells {
        let (kind, row, start) = match *start {
            CellStart::Semaphore(value) | CellStart::Pool(value) => ("word", "WORD", value),
            CellStart::Mbarrier(arrivals) => ("mbarrier", "MBARRIER", counted(arrivals)?),
            CellStart::Uninitialized(_) => ("mbarrier", "NOT_INITIALISED", 0),
            CellStart::Named => ("named", "NAMED", 0),
            CellStart::Barrier(_) => {
                return Err(Unplayable::NoInstruction("a split-phase barrier"));
            }
        };
        let slot = used.entry(kind).or_default();
        all.push((row, *slot, start));
        *slot += 1;
    }
    match used.get("named") {
        Some(more) if *more > NAMED => Err(Unplayable::Named(*more)),
        _ => Ok(all),
    }
}

/// The verb of the tables for an operation, and its numbers.
fn instruction(kind: OpKind, start: CellStart) -> Result<(&'static str, i64, i64), Unplayable> {
    Ok(match kind {
        OpKind::Wait(Comparison::Equal, value) => ("WAIT_EQUAL", value, 0),
        OpKind::Wait(Comparison::AtLeast, value) => ("WAIT_AT_LEAST", value, 0),
        OpKind::WaitSwap { expected, new } => ("WAIT_SWAP", expected, new),
        OpKind::Add(amount) => ("ADD", amount, 0),
        OpKind::Set(value) => ("SET", value, 0),
        OpKind::Acquire(amount) => ("ACQUIRE", amount, 0),
        OpKind::Release(amount) => ("RELEASE", amount, 0),
        OpKind::Arrive(count) => ("ARRIVE", counted(count)?, 0),
        OpKind::WaitParity(parity) => ("WAIT_PARITY", i64::from(parity), 0),
        OpKind::ExpectTx(bytes) => ("EXPECT_TX", counted(bytes)?, 0),
        OpKind::CompleteTx(bytes) => ("COMPLETE_TX", counted(bytes)?, 0),
        OpKind::Sync(threads) => ("SYNC", threads, 0),
        OpKind::BarArrive(threads) => ("BAR_ARRIVE", threads, 0),
        // The effect of a copy happens when it lands.
        OpKind::Copy(bytes) => ("NOTHING", counted(bytes)?, 0),
        OpKind::Commit => ("NOTHING", 0, 0),
        OpKind::Init => match start {
            CellStart::Uninitialized(arrivals) => ("INIT", counted(arrivals)?, 0),
            _ => return Err(Unplayable::Run),
        },
        OpKind::BarrierArrive | OpKind::BarrierWait => {
            return Err(Unplayable::NoInstruction("a split-phase barrier"));
        }
        OpKind::Fetch(_) | OpKind::NotDefined | OpKind::Touch(_) => {
            return Err(Unplayable::NoInstruction(RESULTS));
        }
    })
}

/// A number that an mbarrier can hold.
fn counted(number: i64) -> Result<i64, Unplayable> {
    match number {
        0..COUNTS => Ok(number),
        _ => Err(Unplayable::Count(number)),
    }
}
