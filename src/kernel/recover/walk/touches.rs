//! What a path reads and writes in shared memory, and for which of its lanes a signal to other
//! warps speaks.
//!
//! A role is one member with one order of statements. The lanes of a warp have no such order. If a
//! lane signals others, for example by an arrival, this says nothing about what other lanes have
//! read or written, unless a `bar.warp.sync` or a barrier stands in between. In the same way, a
//! wait of some lanes holds up only these. So each signal has to be of all lanes that have touched
//! something. Each access behind a wait has to be of lanes that have waited. Everything else is
//! refused.
//!
//! Only `bar.warp.sync` and barriers order what lanes read and write. Shuffles and votes do not.
//! Source: PTX ISA, "bar.warp.sync".

use std::rc::Rc;

use super::Path;
use super::Result;
use super::Value;
use super::Walker;
use super::both;
use super::groups::sort;
use super::lane_of;
use super::refuse;
use crate::interpret::Access;
use crate::ir::BlockId;
use crate::ir::GroupKind;
use crate::ir::Location;
use crate::ir::Operand;
use crate::ir::Operation;
use crate::ir::ROW;
use crate::ir::Space;
use crate::ir::Touch;
use crate::ir::joined;
use crate::ir::lowest;
use crate::recover::late_reads::TELLS;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::term::Terms;
use crate::recover::tree::EventKind;
use crate::recover::tree::Statement;

/// What lanes have read since all lanes were last in order. A lane that takes no part in a signal
/// may read it later than the signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Late {
    base: TermId,
    bytes: Rc<[(i128, i128)]>,
    lanes: u32,
    location: Location,
}

/// What lanes have done since all lanes were last in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Order {
    /// The lanes that have written to shared memory, or whose reads are not known in detail any
    /// more.
    pub touched: u32,
    /// What was read.
    pub reads: Vec<Late>,
    /// The lanes that have made every wait, if others have not.
    pub waited: Option<u32>,
    /// Whether each lane has waited for its own copies, and those of the others may be under way.
    pub own_copies: bool,
    /// The lanes that have ever started such copies.
    pub copied: u32,
    /// The kinds of work that may be under way.
    pub open: u8,
    /// The kinds of work that may be in no group yet. No wait for groups covers it.
    pub ungrouped: u8,
}

impl Order {
    /// The order where two paths meet.
    pub fn joined(mut self, other: Self) -> Self {
        self.reads_of(&other);
        Self {
            touched: self.touched | other.touched,
            reads: self.reads,
            waited: both(self.waited, other.waited),
            own_copies: self.own_copies | other.own_copies,
            copied: self.copied | other.copied,
            open: self.open | other.open,
            ungrouped: self.ungrouped | other.ungrouped,
        }
    }

    /// Notes that `lanes` wait, out of all that are there.
    pub fn wait(&mut self, lanes: u32, all: u32) {
        if all & !lanes != 0 {
            self.waited = both(self.waited, Some(lanes));
        }
    }

    /// Notes that all lanes come together that have not ended.
    pub fn meet(&mut self, exited: u32) {
        self.touched &= exited;
        for read in self.reads.drain(..) {
            // Nobody waits for lanes that have ended.
            self.touched |= read.lanes & exited;
        }
        self.waited = None;
        self.own_copies = false;
    }

    /// Takes over what was read on another path.
    pub fn reads_of(&mut self, other: &Self) {
        for read in &other.reads {
            if !self.reads.contains(read) {
                self.reads.push(read.clone());
            }
        }
    }

    /// The lanes that have read or written.
    pub fn lanes(&self) -> u32 {
        let reads = self.reads.iter().map(|read| read.lanes);
        reads.fold(self.touched, |all, lanes| all | lanes)
    }

    /// Forgets where something was read, but not which lanes have done so, if the place depends on
    /// such atoms.
    pub fn forget(&mut self, terms: &Terms, which: &dyn Fn(&Atom) -> bool) {
        let (lost, kept) = std::mem::take(&mut self.reads)
            .into_iter()
            .partition::<Vec<_>, _>(|read| terms.atoms(read.base).iter().any(which));
        self.reads = kept;
        self.touched |= lost.iter().fold(0, |all, read| all | read.lanes);
    }
}

/// Lanes whose addresses are at known distances from the address of the first of them. `ranges` are
/// the bytes, counted from there.
struct Group {
    first: TermId,
    ranges: Vec<(i128, i128)>,
    lanes: u32,
}

pub(super) const OWN_COPIES: &str = "each lane has waited for its own `cp.async` copies only: put `bar.warp.sync` between the wait and this";

const LANES: &str =
    "races are not decided where several lanes start a bulk copy in one instruction";

/// The most bytes that a lane touches at once. More are not followed.
const MOST_BYTES: u64 = 1 << 20;

impl Walker<'_> {
    /// Whether accesses are asked for, and the operation that is walked may touch shared memory.
    pub(super) fn touches(&self) -> bool {
        let (block, index) = self.here;
        let accesses = self.slice.accesses.get(block.0 as usize);
        accesses.is_some_and(|accesses| accesses.get(index as usize) == Some(&true))
    }

    /// Whether accesses are asked for, and a block may touch shared memory.
    pub(super) fn accesses(&self, block: BlockId) -> bool {
        let accesses = self.slice.accesses.get(block.0 as usize);
        accesses.is_some_and(|accesses| accesses.contains(&true))
    }

    /// Whether accesses are asked for.
    pub(super) fn follows_data(&self) -> bool {
        !self.slice.accesses.is_empty()
    }

    /// The events of what an operation reads or writes.
    pub(super) fn touch(
        &mut self,
        operation: &Operation,
        mask: u32,
        path: &mut Path,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let location = &operation.location;
        let mut named = mask;
        let mut rows = false;
        let mut maps = false;
        let (space, address, bytes, access) = match operation.kind.touch() {
            None => return Ok(()),
            Some(Touch::Unfollowed(reason)) => return refuse(reason, location),
            Some(Touch::Bytes {
                space,
                address,
                bytes,
                writes,
                strong,
            }) => {
                *self.wider |= strong;
                (space, address, bytes, Access::now(writes))
            }
            Some(Touch::Rows {
                space,
                address,
                count,
                writes,
            }) => {
                if mask != self.full {
                    return refuse("some lanes of the warp are missing here", location);
                }
                named = mask & lowest(count);
                rows = true;
                (space, address, ROW, Access::now(writes))
            }
            Some(Touch::Arriving {
                space,
                address,
                bytes,
            }) => {
                let bytes = self.size(bytes, mask, path, location)?;
                self.start_arriving(location)?;
                (space, address, bytes, Access::Arrive)
            }
            Some(Touch::Grouped {
                space,
                address,
                bytes,
                writes,
                kind,
            }) => {
                let bytes = match kind {
                    GroupKind::Copy => match bytes {
                        Operand::Constant(bytes) => u64::try_from(bytes).unwrap_or(0),
                        Operand::Register(_) => 0,
                    },
                    _ => self.size(bytes, mask, path, location)?,
                };
                self.start(kind, mask, path, location)?;
                (space, address, bytes, Access::later(writes))
            }
            Some(Touch::Mapped {
                space,
                address,
                group,
            }) => {
                if mask.count_ones() != 1 {
                    return refuse(LANES, location);
                }
                maps = true;
                match group {
                    Some(kind) => self.start(kind, mask, path, location)?,
                    None => self.start_arriving(location)?,
                }
                let access = match group {
                    Some(_) => Access::ReadLater,
                    None => Access::Arrive,
                };
                (space, address, 1, access)
            }
            Some(Touch::Matrices { matrices, lasts }) => {
                return self.multiply(&matrices, lasts, mask, path, out, location);
            }
            Some(Touch::TensorCommit) => return self.commit_tensor(mask, location),
            Some(Touch::Commit(kind)) => {
                self.group(kind, mask, path, location)?;
                path.order.ungrouped &= !sort(kind);
                self.put_event(EventKind::CommitGroup, mask.count_ones(), location, out);
                return Ok(());
            }
            Some(Touch::Wait {
                kind,
                pending,
                read_only,
            }) => {
                self.group(kind, mask, path, location)?;
                self.await_groups(kind, mask, path, location)?;
                let Value::Uniform(pending) = self.operand(pending, 32, &path.state) else {
                    return refuse("how many groups may be under way is not known", location);
                };
                if self.terms.value(pending) == Some(0) {
                    path.order.open &= !sort(kind) | path.order.ungrouped;
                }
                let kind = EventKind::WaitGroup { pending, read_only };
                self.put_event(kind, mask.count_ones(), location, out);
                return Ok(());
            }
        };
        if bytes == 0 || bytes > MOST_BYTES {
            return refuse("how many bytes this touches is not known", location);
        }
        let Some(shared) = self.in_shared(space, address, named, path, location)? else {
            return Ok(());
        };
        let end = i128::from(bytes);
        let address = self.operand(address, 32, &path.state);
        let mut groups: Vec<Group> = Vec::new();
        for lane in (0..32).filter(|lane| shared >> lane & 1 == 1) {
            let at = lane_of(&address, lane);
            let found = groups.iter_mut().find_map(|group| {
                // Places of one window lie less than 2^31 apart.
                let apart = self.terms.difference(at, group.first);
                Some((self.terms.signed(apart)?, group))
            });
            match found {
                Some((apart, group)) => {
                    group.ranges.push((apart, apart + end));
                    group.lanes |= 1 << lane;
                }
                None => groups.push(Group {
                    first: at,
                    ranges: vec![(0, end)],
                    lanes: 1 << lane,
                }),
            }
        }
        for group in groups {
            let at_once = matches!(access, Access::Read | Access::Write);
            // Every lane has a part of each row of a matrix, whichever lane names the row.
            let lanes = if rows { mask } else { group.lanes };
            // One lane knows what it has done before. Of several, none speaks for the others.
            let known = if at_once || lanes.count_ones() == 1 {
                lanes
            } else {
                0
            };
            self.ordered(lanes, false, path, location)?;
            self.ordered(known, !at_once, path, location)?;
            if path.order.own_copies {
                return refuse(OWN_COPIES, location);
            }
            // The bytes of a tensor copy are found when all copies are known.
            let bytes: Rc<[(i128, i128)]> = match maps {
                true => Rc::new([]),
                false => joined(group.ranges).into(),
            };
            match access {
                Access::Read => {
                    let read = Late {
                        base: group.first,
                        bytes: bytes.clone(),
                        lanes,
                        location: location.clone(),
                    };
                    if !path.order.reads.contains(&read) {
                        path.order.reads.push(read);
                    }
                }
                Access::Write => path.order.touched |= lanes,
                _ => self.mark_late(known, path, out),
            }
            let kind = EventKind::Access {
                base: group.first,
                bytes,
                access,
            };
            self.put_event(kind, group.lanes.count_ones(), location, out);
        }
        Ok(())
    }

    /// Marks what other lanes may read later than these signal others.
    pub(super) fn mark_late(&mut self, lanes: u32, path: &Path, out: &mut Vec<Statement>) {
        for read in &path.order.reads {
            if read.lanes & !lanes == 0 {
                continue;
            }
            let kind = EventKind::Late {
                base: read.base,
                bytes: read.bytes.clone(),
            };
            let others = read.lanes & !lanes;
            self.put_event(kind, others.count_ones(), &read.location, out);
        }
    }

    /// How many bytes a copy has that one lane starts.
    fn size(&mut self, bytes: Operand, mask: u32, path: &Path, location: &Location) -> Result<u64> {
        if mask.count_ones() != 1 {
            return refuse(LANES, location);
        }
        let bytes = self.operand(bytes, 32, &path.state);
        let bytes = self
            .terms
            .value(lane_of(&bytes, mask.trailing_zeros() as usize));
        match bytes.and_then(|bytes| u64::try_from(bytes).ok()) {
            Some(bytes) => Ok(bytes),
            None => refuse("how many bytes this copy touches is not known", location),
        }
    }

    /// Refuses operations of lanes that have not waited as others have. Also refuses signals to
    /// other warps that leave lanes out.
    pub(super) fn ordered(
        &self,
        lanes: u32,
        tells: bool,
        path: &Path,
        location: &Location,
    ) -> Result<()> {
        if !self.follows_data() {
            return Ok(());
        }
        if path.order.waited.is_some_and(|waited| lanes & !waited != 0) {
            return refuse(
                "some lanes of the warp have waited, and lanes that have not waited do this: put `bar.warp.sync` between the wait and this",
                location,
            );
        }
        if tells && (path.order.touched | self.gone) & !lanes != 0 {
            return refuse(TELLS, location);
        }
        Ok(())
    }

    /// The lanes with addresses of shared memory. `None` if there are none. It has to be certain
    /// for each lane.
    fn in_shared(
        &mut self,
        space: Space,
        address: Operand,
        mask: u32,
        path: &Path,
        location: &Location,
    ) -> Result<Option<u32>> {
        if space != Space::Generic {
            return Ok(Some(mask));
        }
        let address = self.operand(address, 64, &path.state);
        let mut shared = 0;
        for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
            match self.is_shared(lane_of(&address, lane)) {
                Some(true) => shared |= 1 << lane,
                Some(false) => {}
                None => {
                    return refuse(
                        "whether this address is one of shared memory is not known",
                        location,
                    );
                }
            }
        }
        Ok((shared != 0).then_some(shared))
    }

    /// Whether a generic address is certainly of shared memory, or certainly not.
    ///
    /// It is a sum of one address and of numbers of 32 bits, each once or a few times. An address is that of a variable, or a
    /// parameter of 8 bytes: the host cannot give one of shared memory. Anything else, such as what a loop carries or memory
    /// holds in 64 bits, may be any address.
    fn is_shared(&mut self, term: TermId) -> Option<bool> {
        let (_, parts) = self.terms.linear(term);
        let mut bases = Vec::new();
        let mut windows = 0;
        for (part, factor) in parts {
            match self.terms.node(part).clone() {
                Node::Atom(Atom::SharedWindow) if factor == 1 => windows += 1,
                Node::Atom(Atom::Address { .. }) if factor == 1 => bases.push(false),
                Node::Extend { term: inner, .. } => {
                    if *self.terms.node(inner) == Node::Atom(Atom::SharedWindow) {
                        return None;
                    }
                    let is_variable =
                        matches!(self.terms.node(inner), Node::Atom(Atom::Shared { .. }));
                    if is_variable && factor == 1 {
                        bases.push(true);
                    } else if self.terms.width_of(inner) > 32
                        || self.mentions_shared(inner)
                        || !is_few(factor)
                    {
                        return None;
                    }
                }
                _ if factor == 1 && self.is_pointer(part) => bases.push(false),
                _ => return None,
            }
        }
        match (bases.as_slice(), windows) {
            ([true], 1) => Some(true),
            ([false], 0) => Some(false),
            _ => None,
        }
    }

    fn mentions_shared(&self, term: TermId) -> bool {
        let atoms = self.terms.atoms(term);
        let mut atoms = atoms.iter();
        atoms.any(|atom| {
            matches!(
                atom,
                Atom::Shared { .. } | Atom::SharedWindow | Atom::Address { .. } | Atom::Phi(_)
            )
        })
    }

    /// Whether a term is a parameter of 8 bytes.
    fn is_pointer(&mut self, term: TermId) -> bool {
        let parameters = self.kernel.parameters.iter();
        let offsets: Vec<u32> = parameters
            .filter(|parameter| parameter.size == 8)
            .map(|parameter| parameter.offset)
            .collect();
        offsets
            .into_iter()
            .any(|offset| self.parameter(offset, 64) == term)
    }
}

/// Whether a factor, modulo 2^64, is small.
fn is_few(factor: u128) -> bool {
    const FEW: u128 = 1 << 16;
    !(FEW..=(1 << 64) - FEW).contains(&factor)
}
