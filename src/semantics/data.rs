//! What the members of an instance read and write, beside the operations that order it.
//!
//! An access belongs to no operation: it happens between two of them. The members' programs are
//! straight lines, so each access has a place: how many operations its member has done before,
//! and its order among the member's steps on data.
//!
//! **Asynchronous work** is an actor of its own. It reads and writes from the statement that
//! starts it until a completion that the kernel can see: its own bytes landing (`async copy ...
//! completes`), the landing of a later `commit` of the same member, or a `wait_group` that waits
//! for its group, where `.read` covers only what is read. Without any of these it goes on for
//! ever. Work with the verb `mma` is carried out in the order in which its member started it, as
//! on a tensor core; nothing else that is asynchronous is ordered by being started earlier.

use crate::protocol::Buffer;
use crate::protocol::Protocol;
use crate::protocol::StmtId;
use crate::protocol::Touch;
use crate::protocol::Work;

use super::admit::size;
use super::error::Fault;
use super::error::RunError;
use super::eval::Env;
use super::input::Input;
use super::instance::ObjectLayout;
use super::instance::Op;
use super::instance::OpKind;
use super::program::flat_cell;
use super::unfold::Limits;

/// The data of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Data {
    /// Per declared buffer: its name, its extents and which slots are its elements.
    pub buffers: Vec<ObjectLayout>,
    /// Per member: its accesses to declared buffers, in program order.
    pub accesses: Vec<Vec<Access>>,
}

/// An access to one slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Access {
    /// The statement.
    pub stmt: StmtId,
    /// The slot.
    pub slot: u32,
    /// Whether it writes; otherwise it reads.
    pub write: bool,
    /// How many operations its member has done before. A copy that completes an mbarrier is
    /// that operation itself.
    pub at: u32,
    /// Its place among the member's steps on data.
    pub order: u32,
    /// How long it lasts; `None` where the member itself does it before it goes on.
    pub work: Option<Asynchronous>,
}

/// How long asynchronous work lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Asynchronous {
    /// Whether it follows earlier work of its member that is in order, too.
    pub in_order: bool,
    /// The member's operation whose landing ends it: a copy or a commit.
    pub landing: Option<u32>,
    /// The place of the statement that waits for it: operations before, and order.
    pub waited: Option<(u32, u32)>,
}

/// What an instance reads and writes.
///
/// # Errors
///
/// The input does not run, or an access is outside its buffer.
pub fn data(protocol: &Protocol, input: &Input, limits: &Limits) -> Result<Data, RunError> {
    let (_, _, data) = super::unfold::instantiate_all(protocol, input, limits, true)?;
    Ok(data.unwrap_or_default())
}

impl Data {
    /// The slot's name for reports: `smem[0]`, `tmem`.
    pub fn slot_name(&self, slot: u32) -> String {
        let flat = slot as usize;
        let holder = self.buffers.iter().find(|b| b.cells.contains(&flat));
        holder.map_or_else(|| format!("?{slot}"), |b| b.element_name(flat))
    }
}

/// Gathers the accesses of one member after the other.
#[derive(Debug)]
pub(super) struct Gatherer {
    data: Data,
    /// Of the current member: the accesses so far, each with its group where it has one.
    accesses: Vec<(Access, Option<u32>)>,
    groups: u32,
    order: u32,
}

impl Gatherer {
    pub(super) fn new(
        buffers: &[Buffer],
        env: &mut Env<'_>,
        limits: &Limits,
    ) -> Result<Gatherer, RunError> {
        let mut data = Data::default();
        let mut first = 0;
        for buffer in buffers {
            let in_header = |fault| RunError::at(fault, buffer.span);
            let extents = env.values(&buffer.extents).map_err(in_header)?;
            let extents: Vec<i64> = extents.into_iter().map(|e| e.max(0)).collect();
            let count = size(&extents, limits.cells, first as u64, "slots").map_err(in_header)?;
            data.buffers.push(ObjectLayout {
                name: buffer.name.clone(),
                extents,
                cells: first..first + count,
            });
            first += count;
        }
        Ok(Gatherer {
            data,
            accesses: Vec::new(),
            groups: 0,
            order: 0,
        })
    }

    /// A copy that completes an mbarrier, being the operation `at`.
    pub(super) fn copy(
        &mut self,
        env: &mut Env<'_>,
        stmt: StmtId,
        at: u32,
        touches: &[Touch],
    ) -> Result<(), Fault> {
        let work = Asynchronous {
            in_order: false,
            landing: Some(at),
            waited: None,
        };
        self.touches(env, stmt, at, touches, Some(work), None)
    }

    /// Work on data after `at` operations.
    pub(super) fn work(
        &mut self,
        env: &mut Env<'_>,
        stmt: StmtId,
        at: u32,
        verb: &str,
        work: &Work,
    ) -> Result<(), Fault> {
        match work {
            Work::Now(touches) => self.touches(env, stmt, at, touches, None, None),
            Work::Async(touches) => {
                let work = Asynchronous {
                    in_order: verb == "async mma",
                    landing: None,
                    waited: None,
                };
                self.touches(env, stmt, at, touches, Some(work), Some(self.groups))
            }
            Work::CommitGroup => {
                self.groups += 1;
                Ok(())
            }
            Work::WaitGroup { most, reads_only } => {
                let most = env.value(most)?;
                let complete = i64::from(self.groups).saturating_sub(most);
                self.order += 1;
                for (access, group) in &mut self.accesses {
                    let is_complete = group.is_some_and(|group| i64::from(group) < complete);
                    if let Some(work) = &mut access.work
                        && is_complete
                        && !(*reads_only && access.write)
                        && work.waited.is_none()
                    {
                        work.waited = Some((at, self.order));
                    }
                }
                Ok(())
            }
        }
    }

    fn touches(
        &mut self,
        env: &mut Env<'_>,
        stmt: StmtId,
        at: u32,
        touches: &[Touch],
        work: Option<Asynchronous>,
        group: Option<u32>,
    ) -> Result<(), Fault> {
        self.order += 1;
        for touch in touches {
            let index = env.values(&touch.index)?;
            let slot = flat_cell(&self.data.buffers, touch.buffer.0, &index)?;
            let access = Access {
                stmt,
                slot: u32::try_from(slot).map_err(|_| Fault::Overflow)?,
                write: touch.write,
                at,
                order: self.order,
                work,
            };
            self.accesses.push((access, group));
        }
        Ok(())
    }

    /// Ends a member that has these operations.
    pub(super) fn finish_member(&mut self, ops: &[Op]) {
        let commits: Vec<u32> = ops
            .iter()
            .enumerate()
            .filter(|(_, op)| op.kind == OpKind::Commit)
            .map(|(place, _)| place as u32)
            .collect();
        let gathered = std::mem::take(&mut self.accesses).into_iter();
        let accesses = gathered.map(|(mut access, _)| {
            if let Some(work) = &mut access.work
                && work.landing.is_none()
            {
                let next = commits.partition_point(|commit| *commit < access.at);
                work.landing = commits.get(next).copied();
            }
            access
        });
        self.data.accesses.push(accesses.collect());
        self.groups = 0;
        self.order = 0;
    }

    pub(super) fn into_data(self) -> Data {
        self.data
    }
}
