//! The elements of synchronization objects: their variables, and the operations on them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::export::Refused;
use crate::protocol::Protocol;
use crate::semantics::instance::CellId;
use crate::semantics::instance::CellStart;
use crate::semantics::instance::Instance;
use crate::semantics::instance::Op;
use crate::semantics::instance::OpKind;

use super::operation::Step;

/// Every element that some operation names.
pub struct Cells<'i> {
    instance: &'i Instance,
    /// By cell; `None`: no operation names it.
    used: Vec<Option<Used>>,
}

/// An element and all operations on it.
pub struct Used {
    pub start: CellStart,
    pub name: String,
    /// The least and the greatest value that it can hold: a semaphore's value, or an mbarrier's bytes.
    pub least: i64,
    pub most: i64,
    /// Whether bytes are counted.
    pub bytes: bool,
    /// The counts that operations at a named barrier name.
    pub counts: BTreeSet<i64>,
    /// The members whose state at this element is stored, ascending.
    pub members: Vec<usize>,
}

impl<'i> Cells<'i> {
    pub fn new(protocol: &Protocol, instance: &'i Instance) -> Result<Cells<'i>, Refused> {
        let mut ops: Vec<Vec<(usize, Op)>> = vec![Vec::new(); instance.cells.len()];
        for (member, layout) in instance.members.iter().enumerate() {
            for op in &layout.ops {
                ops[op.cell.0 as usize].push((member, *op));
            }
        }
        let mut used = Vec::new();
        for (cell, ops) in ops.iter().enumerate() {
            used.push(match ops.is_empty() {
                true => None,
                false => Some(Used::new(protocol, instance, cell, ops)?),
            });
        }
        Ok(Cells { instance, used })
    }

    /// The variables and the steps that several operations share.
    pub fn declarations(&self) -> String {
        let used = self.used.iter().enumerate();
        let used = used.filter_map(|(cell, used)| Some((cell, used.as_ref()?)));
        let mut text = String::new();
        for (cell, used) in used {
            let name = self.instance.cell_name(CellId(cell as u32));
            used.declare(&name, &mut text);
        }
        text
    }

    /// About how many bytes the variables take.
    pub fn bytes(&self) -> usize {
        let used = self.used.iter().flatten();
        used.map(|used| 16 + used.members.len()).sum()
    }

    /// The step of an operation. For a copy or commit, this is the step when it lands.
    pub fn step(&self, member: usize, op: &Op) -> Step {
        match &self.used[op.cell.0 as usize] {
            Some(used) => used.step(member, op),
            None => Step::default(),
        }
    }
}

impl Used {
    fn new(
        protocol: &Protocol,
        instance: &Instance,
        cell: usize,
        ops: &[(usize, Op)],
    ) -> Result<Used, Refused> {
        let place = instance.cell_place(CellId(cell as u32));
        let object = place.and_then(|(object, _)| protocol.objects.get(object.0));
        let start = instance.cells[cell];
        let mut members: Vec<usize> = ops.iter().map(|(member, _)| *member).collect();
        members.dedup();
        let mut used = Used {
            start,
            name: format!("{}_{cell}", object.map_or("cell", |o| &o.name)),
            least: 0,
            most: 0,
            bytes: false,
            counts: BTreeSet::new(),
            members: match start {
                CellStart::Named | CellStart::Barrier(_) => members,
                _ => Vec::new(),
            },
        };
        match start {
            CellStart::Semaphore(value) => (used.least, used.most) = (value, value),
            CellStart::Mbarrier(most)
            | CellStart::Uninitialized(most)
            | CellStart::Barrier(most)
            | CellStart::Pool(most)
                if i32::try_from(most).is_err() =>
            {
                let reason = format!("{most} does not fit 32 bits, as a model's numbers have to");
                return Err(Refused::at(object.map(|o| o.span), reason));
            }
            _ => {}
        }
        // Sets come first, because additions are added to the largest value that is set.
        for (_, op) in ops {
            if let OpKind::Set(value) | OpKind::WaitSwap { new: value, .. } = op.kind {
                used.least = used.least.min(value);
                used.most = used.most.max(value);
            }
        }
        for (_, op) in ops {
            let (less, more) = match op.kind {
                OpKind::Add(amount) => (0, amount),
                OpKind::ExpectTx(bytes) => (0, bytes),
                OpKind::CompleteTx(bytes) | OpKind::Copy(bytes) => (bytes, 0),
                OpKind::Sync(count) | OpKind::BarArrive(count) => {
                    used.counts.insert(count);
                    (0, 0)
                }
                _ => (0, 0),
            };
            let bytes = matches!(
                op.kind,
                OpKind::ExpectTx(_) | OpKind::CompleteTx(_) | OpKind::Copy(_)
            );
            used.bytes |= bytes;
            used.least = used.least.saturating_sub(less);
            used.most = used.most.saturating_add(more);
            let counts = matches!(op.kind, OpKind::Sync(count) | OpKind::BarArrive(count)
                if i32::try_from(count).is_err());
            if type_of(used.least, used.most).is_none() || counts {
                let span = instance.spans.get(op.stmt.0).copied();
                let reason = format!(
                    "{} can get beyond 32 bits, as a model's numbers have to stay within",
                    instance.cell_name(op.cell)
                );
                return Err(Refused::at(span, reason));
            }
        }
        Ok(used)
    }

    fn declare(&self, cell: &str, text: &mut String) {
        let name = &self.name;
        let mut declare = |sort: &str, field: &str, value: i64| {
            let value = match value {
                0 => String::new(),
                value => format!(" = {value}"),
            };
            // Writing to a string cannot fail, here and below.
            let _ = writeln!(text, "{sort} {name}_{field}{value}; /* {cell} */");
        };
        match self.start {
            CellStart::Semaphore(value) => declare(self.sort(), "value", value),
            CellStart::Mbarrier(expected) | CellStart::Uninitialized(expected) => {
                let explicit = self.explicit();
                let first = if explicit { 0 } else { expected };
                declare(up_to(expected), "pending", first);
                declare("bit", "phase", 0);
                if self.bytes {
                    declare(self.sort(), "tx", 0);
                }
                if explicit {
                    declare("bit", "ready", 0);
                }
            }
            CellStart::Named => {
                // One warp may register any number of times.
                let most = self.counts.last().map_or(0, |count| count / 32);
                declare(up_to(most), "registered", 0);
                if self.counts.len() > 1 {
                    declare("int", "open", 0);
                }
                declare("byte", &format!("part[{}]", self.members.len()), 0);
            }
            CellStart::Barrier(expected) => {
                declare(up_to(expected), "pending", expected);
                declare("byte", &format!("part[{}]", self.members.len()), 0);
            }
            CellStart::Pool(capacity) => declare(up_to(capacity), "available", capacity),
        }
        let complete = match self.start {
            CellStart::Mbarrier(expected) | CellStart::Uninitialized(expected) => {
                let tx = if self.bytes {
                    format!(" && {name}_tx == 0")
                } else {
                    String::new()
                };
                format!(
                    "    if\n    :: {name}_pending == 0{tx} -> {name}_phase = 1 - {name}_phase; \
                     {name}_pending = {expected}\n    :: else\n    fi\n"
                )
            }
            CellStart::Named => {
                let open = match self.counts.len() {
                    0 | 1 => "",
                    _ => &format!("; {name}_open = 0"),
                };
                let clear = (0..self.members.len()).map(|k| format!("; {name}_part[{k}] = 0"));
                let clear: String = clear.collect();
                format!("    {name}_registered = 0{open}{clear}\n")
            }
            CellStart::Barrier(expected) => {
                let release = (0..self.members.len()).map(|k| {
                    let part = format!("{name}_part[{k}]");
                    format!("; {part} = ({part} == 1 -> 2 : {part})")
                });
                let release: String = release.collect();
                format!(
                    "    if\n    :: {name}_pending == 0 -> {name}_pending = {expected}{release}\n    \
                     :: else\n    fi\n"
                )
            }
            CellStart::Semaphore(_) | CellStart::Pool(_) => return,
        };
        let _ = write!(text, "inline {name}_complete() {{\n{complete}}}\n");
    }

    /// The type of a semaphore's value or an mbarrier's bytes. The caller has checked that there is one.
    fn sort(&self) -> &'static str {
        type_of(self.least, self.most).unwrap_or("int")
    }
}

/// The smallest type of Promela that holds this range.
fn type_of(least: i64, most: i64) -> Option<&'static str> {
    let within = |low: i64, high: i64| low <= least && most <= high;
    [
        ("byte", 0, 255),
        ("short", i64::from(i16::MIN), i64::from(i16::MAX)),
        ("int", i64::from(i32::MIN), i64::from(i32::MAX)),
    ]
    .into_iter()
    .find(|(_, low, high)| within(*low, *high))
    .map(|(name, _, _)| name)
}

fn up_to(most: i64) -> &'static str {
    type_of(0, most).unwrap_or("int")
}
