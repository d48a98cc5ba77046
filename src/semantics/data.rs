//! What the members of an instance read and write.
//!
//! In a program without branches, an access is not an operation: it happens between two operations. Its place is the
//! number of operations that its member has done before it, together with its order among the member's steps on data.
//! In a program with branches, an access is an operation of its own.
//!
//! **Asynchronous work** is an actor of its own. It reads and writes from the statement that starts it up to the
//! first completion that the kernel can see. This is one of three events:
//!
//! - its own bytes land (`async copy ... completes`),
//! - a later `commit` of the same member lands,
//! - a `wait_group` waits for its group. With `.read`, this completes only what the work reads.
//!
//! Without any of these the work goes on for ever. The work of the verb `mma` is carried out in the order in which
//! its member started it, as on a tensor core. No other asynchronous work is ordered by when it was started.
//!
//! **Shares.** Each property needs only a part of the data, its [`Share`], and only this part is evaluated for the
//! property. For example, an access outside its buffer leaves `race` without an answer. It has no effect on
//! `assertion` or `deadlock`.
//!
//! Fences, memory orders, scopes and places are gathered here, too. They mean nothing to [`super::step`]. They only
//! decide which writes a read sees, see [`super::hazards::visibility`].

use std::ops::Range;

use crate::protocol::Backed;
use crate::protocol::Buffer;
use crate::protocol::Fence;
use crate::protocol::Invariant;
use crate::protocol::Progress;
use crate::protocol::Protocol;
use crate::protocol::Qualifiers;
use crate::protocol::Scope;
use crate::protocol::Span;
use crate::protocol::StmtId;
use crate::protocol::Touch;
use crate::protocol::Work;

use super::admit::size;
use super::claim::PlacedClaim;
use super::error::Fault;
use super::error::RunError;
use super::eval::Env;
use super::input::Input;
use super::instance::CellId;
use super::instance::ObjectLayout;
use super::instance::Op;
use super::instance::OpKind;
use super::instance::flat_cell;
use super::unfold::Limits;

/// The part of an instance's data that a property looks at. The rest is not evaluated, so it need not be defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// The accesses and when they happen: buffers with their extents and room, accesses, groups, fences, and where
    /// members run.
    Accesses,
    /// What the text claims of states and of runs: assertions, invariants with what they range over, `eventually`.
    Claims,
    /// Where members run and where elements of objects are.
    Homes,
}

/// The data of an instance, as far as it was asked for. Whatever belongs to another [`Share`] is empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Data {
    /// Per declared buffer: its name, its extents and which slots are its elements.
    pub buffers: Vec<ObjectLayout>,
    /// Per member: its accesses to declared buffers, in program order.
    pub accesses: Vec<Vec<Access>>,
    /// Per member: its fences, in program order.
    pub fences: Vec<Vec<FencePoint>>,
    /// Per member and operation: its order and scope, as written.
    pub qualifiers: Vec<Vec<Qualifiers>>,
    /// Per member: where it runs.
    pub places: Vec<MemberPlace>,
    /// What the text claims of states: invariants, then assertions by member.
    pub claims: Vec<PlacedClaim>,
    /// What the text claims of runs, and where the text does so.
    pub progress: Vec<(Progress, Span)>,
    /// Per declared buffer: whether it exists only while a pool operation makes room for it.
    pub backed: Vec<bool>,
    /// Per member: where it makes room for data or gives the room up, in program order.
    pub lifetimes: Vec<Vec<Lifetime>>,
    /// Pools to which everything has to be given back by the end of a run.
    pub returned: Vec<CellId>,
    /// Per element of an object: where it lies, if the text says so.
    pub homes: Vec<Option<MemberPlace>>,
}

/// A place in a program at which the room for some data begins or ends.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Lifetime {
    /// The statement.
    pub stmt: StmtId,
    /// How many operations its member has done before. The room exists from then on, or it ends with the next
    /// operation.
    pub at: u32,
    /// Whether the room begins here; otherwise it ends.
    pub begins: bool,
    /// The slots that the room is for.
    pub slots: Range<u32>,
}

/// A fence among a member's steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FencePoint {
    /// The statement.
    pub stmt: StmtId,
    /// How many operations its member has done before.
    pub at: u32,
    /// Its place among the member's steps on data.
    pub order: u32,
    /// The kind of fence.
    pub fence: Fence,
}

/// One part of a place: a number, and the position of the numbering that it belongs to.
pub type Part = (usize, i64);

/// The CTA of a member within its cluster, the cluster within its GPU, and the GPU. All numbers that the text writes
/// belong to one numbering. A part that is not written is number 0 of this numbering. However, each member of a grid
/// that writes no CTA or no cluster has one of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct MemberPlace {
    /// The CTA.
    pub cta: Part,
    /// The cluster.
    pub cluster: Part,
    /// The GPU.
    pub gpu: Part,
}

impl MemberPlace {
    /// Whether a scope that starts here contains another place.
    pub fn reaches(&self, scope: Scope, other: &MemberPlace) -> bool {
        let gpu = self.gpu == other.gpu;
        let cluster = gpu && self.cluster == other.cluster;
        match scope {
            Scope::Cta => cluster && self.cta == other.cta,
            Scope::Cluster => cluster,
            Scope::Gpu => gpu,
            Scope::Sys => true,
        }
    }
}

/// The path (proxy) to memory that an access takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Proxy {
    /// That of ordinary loads and stores, and of tensor memory.
    Generic,
    /// That of bulk copies and of tensor cores.
    Async,
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
    /// How many operations its member has done before. If a copy completes an mbarrier, this is the operation of the
    /// copy itself.
    pub at: u32,
    /// Its place among the member's steps on data.
    pub order: u32,
    /// Its path to memory.
    pub proxy: Proxy,
    /// How long it lasts; `None` where the member itself does it before it goes on.
    pub work: Option<Asynchronous>,
}

/// How long asynchronous work lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Asynchronous {
    /// Whether it follows earlier work of its member that is in order, too.
    pub in_order: bool,
    /// The operation of the same member whose landing ends the work: a copy or a commit.
    pub landing: Option<u32>,
    /// The place of the statement that waits for the work: the number of operations before it, and its order.
    pub waited: Option<(u32, u32)>,
    /// The same for a statement that waits only for the reads of its group.
    pub read_waited: Option<(u32, u32)>,
}

/// A share of the data of an instance.
///
/// # Errors
///
/// The input does not run, or something in this share has no value, such as an access outside its buffer.
pub fn data(
    protocol: &Protocol,
    input: &Input,
    limits: &Limits,
    share: Share,
) -> Result<Data, RunError> {
    let (_, _, data) = super::unfold::instantiate_all(protocol, input, limits, Some(share))?;
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

/// An access: the number of its buffer, the index there, and whether it writes.
pub(super) type Touched = (usize, Vec<i64>, bool);

/// Gathers the accesses of all members, one member after the other.
#[derive(Debug)]
pub(super) struct Gatherer {
    pub(super) share: Share,
    data: Data,
    /// The accesses of the current member so far, each with its group if it has one.
    accesses: Vec<(Access, Option<u32>)>,
    groups: u32,
    order: u32,
    /// The fences of the current member so far.
    fences: Vec<FencePoint>,
    qualifiers: Vec<Qualifiers>,
    lifetimes: Vec<Lifetime>,
    /// Per buffer whether it is tensor memory.
    tensor: Vec<bool>,
    /// The objects that claims can name.
    objects: Vec<ObjectLayout>,
}

impl Gatherer {
    pub(super) fn new(
        buffers: &[Buffer],
        objects: &[ObjectLayout],
        env: &mut Env<'_>,
        (limits, share): (&Limits, Share),
    ) -> Result<Gatherer, RunError> {
        let buffers = match share {
            Share::Accesses => buffers,
            Share::Claims | Share::Homes => &[],
        };
        let mut data = Data {
            backed: buffers.iter().map(|buffer| buffer.backed).collect(),
            ..Data::default()
        };
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
            share,
            data,
            accesses: Vec::new(),
            groups: 0,
            order: 0,
            fences: Vec::new(),
            qualifiers: Vec::new(),
            lifetimes: Vec::new(),
            objects: objects.to_vec(),
            tensor: buffers.iter().map(|buffer| buffer.tensor).collect(),
        })
    }

    /// Notes a copy that completes an mbarrier; the copy is the operation `at`.
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
            read_waited: None,
        };
        if self.share != Share::Accesses {
            return Ok(());
        }
        self.touches(env, (stmt, at), touches, Some((work, Proxy::Async)), None)
    }

    /// Notes work on data after `at` operations.
    pub(super) fn work(
        &mut self,
        env: &mut Env<'_>,
        stmt: StmtId,
        at: u32,
        verb: &str,
        work: &Work,
    ) -> Result<(), Fault> {
        let share = match work {
            Work::Assert(_) => Share::Claims,
            _ => Share::Accesses,
        };
        if self.share != share {
            return Ok(());
        }
        match work {
            Work::Now(touches) => self.touches(env, (stmt, at), touches, None, None),
            Work::Async(touches) => {
                let work = Asynchronous {
                    in_order: verb == "async mma",
                    landing: None,
                    waited: None,
                    read_waited: None,
                };
                let proxy = match verb {
                    // An `async copy` that completes no mbarrier is no bulk copy.
                    "async copy" => Proxy::Generic,
                    _ => Proxy::Async,
                };
                let group = Some(self.groups);
                self.touches(env, (stmt, at), touches, Some((work, proxy)), group)
            }
            Work::Assert(claim) => {
                let mut placed = PlacedClaim::new(claim, Span::default(), env, &self.objects)?;
                // The place of a member is noted before its steps, so the last place belongs to the current member.
                let member = self.data.places.len().saturating_sub(1);
                placed.at = Some((member, at, stmt));
                self.data.claims.push(placed);
                Ok(())
            }
            Work::Fence(fence) => {
                self.order += 1;
                self.fences.push(FencePoint {
                    stmt,
                    at,
                    order: self.order,
                    fence: *fence,
                });
                Ok(())
            }
            Work::CommitGroup => {
                self.groups += 1;
                Ok(())
            }
            Work::Lifetime { data, begins } => {
                for backed in data {
                    let slots = self.slots(env, backed)?;
                    self.lifetimes.push(Lifetime {
                        stmt,
                        at,
                        begins: *begins,
                        slots,
                    });
                }
                Ok(())
            }
            Work::WaitGroup { most, reads_only } => {
                let most = env.value(most)?;
                if most < 0 {
                    return Err(Fault::GroupCount(most));
                }
                let complete = i64::from(self.groups).saturating_sub(most);
                self.order += 1;
                for (access, group) in &mut self.accesses {
                    let is_complete = group.is_some_and(|group| i64::from(group) < complete);
                    let Some(work) = access.work.as_mut().filter(|_| is_complete) else {
                        continue;
                    };
                    let waited = match *reads_only && access.write {
                        true => &mut work.read_waited,
                        false => &mut work.waited,
                    };
                    waited.get_or_insert((at, self.order));
                }
                Ok(())
            }
        }
    }

    /// The slots with these leading indices. They are adjacent.
    fn slots(&self, env: &mut Env<'_>, backed: &Backed) -> Result<Range<u32>, Fault> {
        let layout = &self.data.buffers[backed.buffer.0];
        let rest = &layout.extents[backed.index.len().min(layout.extents.len())..];
        if rest.contains(&0) {
            return Ok(0..0);
        }
        let mut index = env.values(&backed.index)?;
        index.resize(layout.extents.len(), 0);
        let first = flat_cell(&self.data.buffers, backed.buffer.0, &index)?;
        let count: i64 = rest.iter().product();
        let first = u32::try_from(first).map_err(|_| Fault::Overflow)?;
        let count = u32::try_from(count).map_err(|_| Fault::Overflow)?;
        Ok(first..first.saturating_add(count))
    }

    /// Notes which pools have to get everything back by the end of a run.
    pub(super) fn returned(&mut self, returned: Vec<CellId>) {
        self.data.returned = returned;
    }

    /// Notes where the elements of objects lie.
    pub(super) fn homes(&mut self, homes: Vec<Option<MemberPlace>>) {
        self.data.homes = homes;
    }

    fn touches(
        &mut self,
        env: &mut Env<'_>,
        (stmt, at): (StmtId, u32),
        touches: &[Touch],
        work: Option<(Asynchronous, Proxy)>,
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
                proxy: match work {
                    Some((_, proxy)) if !self.tensor[touch.buffer.0] => proxy,
                    _ => Proxy::Generic,
                },
                work: work.map(|(work, _)| work),
            };
            self.accesses.push((access, group));
        }
        Ok(())
    }

    /// Ends a member with branches. Each of its accesses is an operation of its own.
    pub(super) fn branching(&mut self, ops: &[Op], touched: &[Vec<Touched>]) -> Result<(), Fault> {
        let mut accesses = Vec::new();
        for (place, op) in ops.iter().enumerate() {
            let OpKind::Touch(number) = op.kind else {
                continue;
            };
            for (buffer, index, write) in touched.get(number as usize).into_iter().flatten() {
                let slot = flat_cell(&self.data.buffers, *buffer, index);
                let slot = slot.and_then(|slot| u32::try_from(slot).map_err(|_| Fault::Overflow));
                accesses.push(Access {
                    stmt: op.stmt,
                    slot: slot?,
                    write: *write,
                    at: place as u32,
                    order: place as u32,
                    proxy: Proxy::Generic,
                    work: None,
                });
            }
        }
        self.data.accesses.push(accesses);
        self.data.fences.push(Vec::new());
        self.data.lifetimes.push(Vec::new());
        self.data
            .qualifiers
            .push(vec![Qualifiers::default(); ops.len()]);
        // Everything else that the walk noted belongs to no member.
        self.qualifiers.clear();
        self.accesses.clear();
        self.fences.clear();
        self.lifetimes.clear();
        self.groups = 0;
        self.order = 0;
        Ok(())
    }

    /// Notes the order and scope of an operation.
    pub(super) fn operation(&mut self, qualifiers: Qualifiers) {
        self.qualifiers.push(qualifiers);
    }

    /// Notes what the text claims of runs.
    pub(super) fn progress(&mut self, progress: &[(Progress, Span)]) {
        self.data.progress = progress.to_vec();
    }

    /// Notes an invariant at these values of its indices, which the environment has already.
    pub(super) fn invariant(
        &mut self,
        invariant: &Invariant,
        env: &mut Env<'_>,
        index: Vec<(String, i64)>,
    ) -> Result<(), Fault> {
        let mut placed = PlacedClaim::new(&invariant.claim, invariant.span, env, &self.objects)?;
        placed.index = index;
        self.data.claims.push(placed);
        Ok(())
    }

    /// Notes where the next member runs.
    pub(super) fn place(&mut self, place: MemberPlace) {
        self.data.places.push(place);
    }

    /// Ends a member that has these operations, without branches.
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
        self.data.fences.push(std::mem::take(&mut self.fences));
        self.data
            .lifetimes
            .push(std::mem::take(&mut self.lifetimes));
        let qualifiers = std::mem::take(&mut self.qualifiers);
        self.data.qualifiers.push(qualifiers);
        self.groups = 0;
        self.order = 0;
    }

    pub(super) fn into_data(self) -> Data {
        self.data
    }
}
