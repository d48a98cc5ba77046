//! An instance: a protocol at one input, as programs over numbered cells.
//!
//! Control flow depends on the input and on what atomic operations return. If no atomic operation returns a value,
//! the program of a member unfolds to a list of operations. Otherwise it is a graph without cycles: after an
//! operation that returns a value, there is one successor for each value. Members are numbered role by role, and
//! inside a role lexicographically by index values. Cells are numbered likewise, object by object.

use std::fmt::Write;
use std::ops::Range;

use crate::protocol::Comparison;
use crate::protocol::ObjectId;
use crate::protocol::Span;
use crate::protocol::StmtId;

use super::error::Fault;

/// One element of a synchronization object, identified by its position in [`Instance::cells`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CellId(pub u32);

/// A protocol at one input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// Every member of every role.
    pub members: Vec<Member>,
    /// Every element of every object: its kind and its start.
    pub cells: Vec<CellStart>,
    /// Per object: its name and which cells are its elements.
    pub objects: Vec<ObjectLayout>,
    /// Per role: its name, its members and how they start.
    pub roles: Vec<RoleLayout>,
    /// Per statement number: where it stands.
    pub spans: Vec<Span>,
}

/// One member of a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Position of the role.
    pub role: usize,
    /// Index values, outermost first.
    pub index: Vec<i64>,
    /// Its operations, in program order.
    pub ops: Vec<Op>,
    /// The successor of each operation. The list is empty if the successor is always the next operation. A successor
    /// is always a later operation, or the end, whose place is the number of operations.
    pub next: Vec<Next>,
}

/// The successor of an operation, as a place among the operations of its member.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Next {
    /// This place, whatever was returned.
    At(u32),
    /// The place for each value that may be returned; the values ascend.
    By(Vec<(i64, u32)>),
}

impl Member {
    /// The place of the successor of an operation that returned this value; none for a value that was not foreseen.
    pub fn after(&self, place: u32, returned: Option<i64>) -> Option<u32> {
        match self.next.get(place as usize) {
            None => place.checked_add(1),
            Some(Next::At(next)) => Some(*next),
            Some(Next::By(ways)) => {
                let value = returned?;
                let way = ways.binary_search_by_key(&value, |(known, _)| *known);
                way.ok().map(|at| ways[at].1)
            }
        }
    }

    /// The places of all successors of an operation.
    pub fn ways(&self, place: u32) -> impl Iterator<Item = u32> {
        let (straight, ways) = match self.next.get(place as usize) {
            None => (place.checked_add(1), &[][..]),
            Some(Next::At(next)) => (Some(*next), &[][..]),
            Some(Next::By(ways)) => (None, ways.as_slice()),
        };
        straight
            .into_iter()
            .chain(ways.iter().map(|(_, next)| *next))
    }
}

/// An operation of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Op {
    /// The statement it comes from.
    pub stmt: StmtId,
    /// The cell it works on.
    pub cell: CellId,
    /// What it does.
    pub kind: OpKind,
}

/// What an operation does. A statement that uses no synchronization object becomes no operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OpKind {
    /// Blocks until the semaphore compares so with the value.
    Wait(Comparison, i64),
    /// Adds this amount, at least 0.
    Add(i64),
    /// Sets this value.
    Set(i64),
    /// Changes a semaphore and returns its old value.
    Fetch(Fetch),
    /// Blocks until the semaphore has a value, and sets another one in the same step.
    WaitSwap {
        /// The value it waits for.
        expected: i64,
        /// What it sets.
        new: i64,
    },
    /// A statement whose expressions are undefined at the values that were returned.
    NotDefined,
    /// Reads or writes data. It occurs only in a program that uses returned values. The number names the set of
    /// accesses.
    Touch(u32),
    /// Arrives this often on an mbarrier, at least once.
    Arrive(i64),
    /// Blocks while the phase bit equals this parity.
    WaitParity(bool),
    /// Registers a warp at a named barrier of this many threads and blocks.
    Sync(i64),
    /// Registers a warp at a named barrier of this many threads.
    BarArrive(i64),
    /// Raises the bytes an mbarrier's phase expects by this much, at least 0.
    ExpectTx(i64),
    /// Delivers so many bytes to an mbarrier, at least 0.
    CompleteTx(i64),
    /// Puts a delivery of so many bytes to an mbarrier in flight, at least 0.
    Copy(i64),
    /// Puts an arrival on an mbarrier in flight, after everything the member has in flight.
    Commit,
    /// Initialises an mbarrier.
    Init,
    /// Arrives at a split-phase barrier.
    BarrierArrive,
    /// Blocks until the generation of the member's last arrival has completed.
    BarrierWait,
    /// Blocks until a pool has this much, at least 0, and takes it.
    Acquire(i64),
    /// Gives this much, at least 0, back to a pool.
    Release(i64),
}

impl OpKind {
    /// Whether the operation works on its cell. For any other operation, the cell only serves as a place for reports.
    pub fn works_on_cell(self) -> bool {
        !matches!(self, OpKind::NotDefined | OpKind::Touch(_))
    }
}

/// How an operation changes a semaphore whose old value it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fetch {
    /// Adds this.
    Add(i64),
    /// Sets this.
    Exchange(i64),
    /// Sets a value if the old one is as expected.
    Swap {
        /// The old value at which it does.
        expected: i64,
        /// What it sets.
        new: i64,
    },
}

/// What a cell is and how it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellStart {
    /// A semaphore with this value.
    Semaphore(i64),
    /// An mbarrier that expects this many arrivals per phase, at least 1.
    Mbarrier(i64),
    /// A named barrier with nobody registered.
    Named,
    /// An mbarrier that is not initialised and will expect this many arrivals per phase.
    Uninitialized(i64),
    /// A split-phase barrier that this many arrivals complete, at least 1.
    Barrier(i64),
    /// A pool of this capacity, at least 0, all of it available.
    Pool(i64),
}

/// Where the elements of an object are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectLayout {
    /// The object's name.
    pub name: String,
    /// Its extents, none below 0.
    pub extents: Vec<i64>,
    /// Its cells.
    pub cells: Range<usize>,
}

/// Where the members of a role are and how they start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleLayout {
    /// The role's name.
    pub name: String,
    /// Its members.
    pub members: Range<usize>,
    /// `None`: they all run from the beginning.
    pub launch: Option<LaunchPlan>,
}

/// How the members of a grid start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchPlan {
    /// Members in the order in which they start; `None`: any order.
    pub order: Option<Vec<usize>>,
    /// How many may have started and not finished; `None`: all of them.
    pub resident: Option<usize>,
}

impl ObjectLayout {
    /// The index of one of its cells.
    pub fn index_of(&self, cell: usize) -> Vec<i64> {
        let mut rest = cell.saturating_sub(self.cells.start) as i64;
        let mut index = vec![0; self.extents.len()];
        for (value, extent) in index.iter_mut().zip(&self.extents).rev() {
            let extent = (*extent).max(1);
            *value = rest % extent;
            rest /= extent;
        }
        index
    }

    /// The name of one of its cells for reports: `dq[0]`, `acc_full`.
    pub fn element_name(&self, cell: usize) -> String {
        indexed(&self.name, &self.index_of(cell))
    }
}

impl Instance {
    /// Whether some program goes on with what an atomic operation returned.
    pub fn branches(&self) -> bool {
        self.members.iter().any(|member| !member.next.is_empty())
    }

    /// How many operations all members have together.
    pub fn op_count(&self) -> usize {
        self.members.iter().map(|m| m.ops.len()).sum()
    }

    /// The member's name for reports: `cta[1]`, `thread[0][3]`, `load`.
    pub fn member_name(&self, member: usize) -> String {
        match self.members.get(member) {
            Some(m) => indexed(self.roles.get(m.role).map_or("?", |r| &r.name), &m.index),
            None => format!("?{member}"),
        }
    }

    /// The object a cell belongs to and its index there.
    pub fn cell_place(&self, cell: CellId) -> Option<(ObjectId, Vec<i64>)> {
        let flat = cell.0 as usize;
        let object = self.objects.iter().position(|o| o.cells.contains(&flat))?;
        Some((ObjectId(object), self.objects[object].index_of(flat)))
    }

    /// The cell's name for reports: `dq[0]`, `acc_full`.
    pub fn cell_name(&self, cell: CellId) -> String {
        match self.cell_place(cell) {
            Some((object, index)) => indexed(&self.objects[object.0].name, &index),
            None => format!("?{}", cell.0),
        }
    }
}

fn indexed(name: &str, index: &[i64]) -> String {
    let mut out = name.to_owned();
    for value in index {
        // Writing to a string cannot fail.
        let _ = write!(out, "[{value}]");
    }
    out
}

/// The place of an element among all cells, or slots, of these families.
pub(super) fn flat_cell(
    objects: &[ObjectLayout],
    object: usize,
    index: &[i64],
) -> Result<usize, Fault> {
    let layout = objects
        .get(object)
        .ok_or_else(|| Fault::Unset(format!("object {object}")))?;
    if index.len() != layout.extents.len() {
        return Err(Fault::Arity {
            name: layout.name.clone(),
            expected: layout.extents.len(),
            found: index.len(),
        });
    }
    let mut flat = 0;
    for (index, extent) in index.iter().zip(&layout.extents) {
        if !(0..*extent).contains(index) {
            return Err(Fault::IndexOutOfRange {
                object: layout.name.clone(),
                index: *index,
                extent: *extent,
            });
        }
        flat = flat * extent + index;
    }
    Ok(layout.cells.start + flat as usize)
}
