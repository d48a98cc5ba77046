//! Lint rules that add up the operations of all members in a complete run, at small parameter values.
//!
//! Suppose that every member finishes. Then all operations happen, and each object ends in the state that they add up
//! to. Now suppose that a wait needs more than this sum, or more than the sum without the operations that its own
//! member does after the wait. That is a contradiction, so no run finishes at these values. Hence a protocol that is
//! proved free of deadlock has no such finding.

mod mbarrier;

use crate::deadline;
use crate::hunt::grid;
use crate::protocol::Comparison;
use crate::protocol::Protocol;
use crate::protocol::Span;
use crate::semantics::input::Input;
use crate::semantics::inputs::Bounds;
use crate::semantics::inputs::Inputs;
use crate::semantics::instance::CellId;
use crate::semantics::instance::CellStart;
use crate::semantics::instance::Instance;
use crate::semantics::instance::Op;
use crate::semantics::instance::OpKind;
use crate::semantics::unfold::Limits;

use super::Found;

/// The distance of values from the least ones, and the most inputs that are tried at each.
const RADIUS: i64 = 3;
const INPUTS: usize = 24;

/// The largest instance that is looked at.
const LARGEST: Limits = Limits {
    ops: 20_000,
    members: 2_000,
    cells: 20_000,
    work: 200_000,
};

/// Threads that one registration at a named barrier counts.
const WARP: i128 = 32;

pub(super) fn look(found: &mut Found<'_>) {
    let tight = found.protocol.tightened();
    let bounds = Bounds {
        max_initial: 0,
        limits: LARGEST,
    };
    for params in (0..=RADIUS).flat_map(|radius| grid::points(&tight, radius)) {
        if deadline::over() {
            return;
        }
        let Ok(inputs) = Inputs::new(&tight, &params, &bounds) else {
            continue;
        };
        for (input, instance) in inputs.take(INPUTS).flatten() {
            if deadline::over() {
                return;
            }
            // Results of atomic operations decide which operations happen, so there is no fixed sum.
            if !instance.branches() {
                at(found, &tight, &input, &instance);
            }
        }
    }
}

fn at(found: &mut Found<'_>, protocol: &Protocol, input: &Input, instance: &Instance) {
    let mut by_cell: Vec<Vec<Done>> = vec![Vec::new(); instance.cells.len()];
    for (member, done) in instance.members.iter().enumerate() {
        let mut blocked = false;
        for (place, op) in done.ops.iter().enumerate() {
            if op.kind.works_on_cell()
                && let Some(cell) = by_cell.get_mut(op.cell.0 as usize)
            {
                cell.push(Done {
                    member,
                    place,
                    op: *op,
                    behind_a_wait: blocked,
                });
            }
            blocked |= blocks(op.kind);
        }
    }
    let point: Vec<String> = protocol
        .params
        .iter()
        .zip(&input.params)
        .map(|(param, value)| format!("{} = {value}", param.name))
        .collect();
    for (number, done) in by_cell.iter().enumerate() {
        let (Some(start), Ok(id)) = (instance.cells.get(number), u32::try_from(number)) else {
            continue;
        };
        let mut cell = Cell {
            found,
            instance,
            name: instance.cell_name(CellId(id)),
            object: instance
                .cell_place(CellId(id))
                .and_then(|(object, _)| instance.objects.get(object.0))
                .map_or("?", |object| object.name.as_str()),
            at: match point.is_empty() {
                true => String::new(),
                false => format!("at {}: ", point.join(", ")),
            },
            done,
        };
        match start {
            CellStart::Mbarrier(arrivals) => cell.mbarrier(i128::from(*arrivals)),
            CellStart::Uninitialized(arrivals) => cell.initialised(i128::from(*arrivals)),
            CellStart::Semaphore(value) => cell.semaphore(i128::from(*value)),
            CellStart::Named => cell.named(),
            CellStart::Barrier(arrivals) => cell.barrier(i128::from(*arrivals)),
            CellStart::Pool(capacity) => cell.pool(*capacity),
        }
    }
}

/// Whether an operation may block.
fn blocks(kind: OpKind) -> bool {
    matches!(
        kind,
        OpKind::Wait(..)
            | OpKind::WaitSwap { .. }
            | OpKind::WaitParity(_)
            | OpKind::Sync(_)
            | OpKind::BarrierWait
            | OpKind::Acquire(_)
    )
}

/// An operation at a cell.
#[derive(Clone, Copy)]
struct Done {
    member: usize,
    /// Its place among the operations of its member.
    place: usize,
    op: Op,
    /// Whether its member may have waited for another member before.
    behind_a_wait: bool,
}

impl Done {
    /// Its number of arrivals on an mbarrier.
    fn arrivals(&self) -> i128 {
        match self.op.kind {
            OpKind::Arrive(count) => i128::from(count),
            OpKind::Commit => 1,
            _ => 0,
        }
    }
}

/// A cell and all operations on it, member by member.
struct Cell<'a, 'p> {
    found: &'a mut Found<'p>,
    instance: &'a Instance,
    name: String,
    object: &'a str,
    at: String,
    done: &'a [Done],
}

impl Cell<'_, '_> {
    fn span(&self, done: &Done) -> Span {
        let spans = &self.instance.spans;
        spans.get(done.op.stmt.0).copied().unwrap_or_default()
    }

    fn say(&mut self, rule: &'static str, done: &Done, message: &str, hint: &'static str) {
        let span = self.span(done);
        let message = format!("{}{message}", self.at);
        self.found.add(rule, (self.object, span), message, hint);
    }

    fn who(&self, done: &Done) -> String {
        self.instance.member_name(done.member)
    }

    fn total(&self, of: impl Fn(&Done) -> i128) -> i128 {
        self.done.iter().map(of).sum()
    }

    fn semaphore(&mut self, start: i128) {
        let plain = |done: &Done| matches!(done.op.kind, OpKind::Wait(..) | OpKind::Add(_));
        if !self.done.iter().all(plain) {
            return;
        }
        let adds = |done: &Done| match done.op.kind {
            OpKind::Add(amount) => i128::from(amount),
            _ => 0,
        };
        let all = start + self.total(adds);
        let waits = self.done.iter().filter_map(|done| match done.op.kind {
            OpKind::Wait(comparison, value) => Some((done, comparison, i128::from(value))),
            _ => None,
        });
        let mut fault = None;
        for (done, comparison, value) in waits {
            let behind =
                self.total(
                    |other| match other.member == done.member && other.place > done.place {
                        true => adds(other),
                        false => 0,
                    },
                );
            let passed = comparison == Comparison::Equal && value < start;
            if passed || value > all - behind {
                fault = Some((*done, value, all - behind));
                break;
            }
        }
        let Some((done, value, most)) = fault else {
            return;
        };
        let (name, who) = (self.name.clone(), self.who(&done));
        let message = match value < start {
            true => format!(
                "{who} waits here for `{name}` to be {value}, but it starts at {start} and only grows"
            ),
            false => format!(
                "{who} waits here for `{name}` to be {value}, but it gets to {most} at most: nobody adds more before"
            ),
        };
        self.say(
            "value-out-of-reach",
            &done,
            &message,
            "wait for the number of members that add before this one, not for its position among all",
        );
    }

    /// Checks a named barrier that is used with one count: a member that is left over in the last generation waits
    /// for ever.
    fn named(&mut self) {
        let count = |done: &Done| match done.op.kind {
            OpKind::Sync(count) | OpKind::BarArrive(count) => i128::from(count),
            _ => 0,
        };
        let Some(first) = self.done.first().copied() else {
            return;
        };
        let threads = count(&first);
        if threads < WARP || threads % WARP != 0 || self.done.iter().any(|d| count(d) != threads) {
            return;
        }
        let come = self.total(|_| WARP);
        let arrive = self.total(|done| match done.op.kind {
            OpKind::BarArrive(_) => WARP,
            _ => 0,
        });
        let left = come % threads;
        let waits = |done: &&Done| matches!(done.op.kind, OpKind::Sync(_));
        let sync = self.done.iter().find(waits).copied();
        if let Some(sync) = sync.filter(|_| left > arrive) {
            let message = format!(
                "`{}` counts {threads} threads, but {come} come to it in the whole run: {left} are left over and wait for ever",
                self.name
            );
            self.say(
                "arrival-count",
                &sync,
                &message,
                "count the threads of the warps that come, 32 for each",
            );
        }
    }

    /// Checks a barrier at which each arrival is waited for before the next: a member that is left over in the last
    /// generation waits for ever.
    fn barrier(&mut self, arrivals: i128) {
        let arrives = |done: &Done| done.op.kind == OpKind::BarrierArrive;
        let waited = |done: &[Done]| match done {
            [one, next] => arrives(one) != arrives(next) || one.member != next.member,
            _ => true,
        };
        let ends = |pair: &[Done]| match pair {
            [one, next] => one.member == next.member || !arrives(one),
            _ => true,
        };
        let last = self.done.last().is_none_or(|done| !arrives(done));
        let all = self.total(|done| i128::from(arrives(done)));
        let each = last && self.done.windows(2).all(|pair| waited(pair) && ends(pair));
        if arrivals < 1 || !each || all % arrivals == 0 {
            return;
        }
        if let Some(done) = self.done.iter().find(|done| !arrives(done)).copied() {
            let message = format!(
                "`{}` takes {arrivals} arrivals, but {all} come in the whole run: not every member comes to it equally often",
                self.name
            );
            self.say(
                "cta-barrier-in-role",
                &done,
                &message,
                "let all members come to it, or use a barrier that counts only those who do",
            );
        }
    }

    fn pool(&mut self, capacity: i64) {
        let fault = self.done.iter().find_map(|done| match done.op.kind {
            OpKind::Acquire(amount) if amount > capacity => Some((*done, amount)),
            _ => None,
        });
        if let Some((done, amount)) = fault {
            let message = format!(
                "{} takes {amount} of `{}`, which has {capacity}",
                self.who(&done),
                self.name
            );
            self.say("capacity", &done, &message, "take less, or in parts");
        }
    }
}

/// So many of something: `1 phase`, `2 phases`.
fn several(count: i128, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        more => format!("{more} {what}s"),
    }
}
