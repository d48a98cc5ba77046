//! What synchronizing operations do to a path: events, and values that lanes exchange.

use super::Path;
use super::Purpose;
use super::Result;
use super::Value;
use super::Walker;
use super::lane_of;
use super::packed;
use super::refuse;
use crate::ir::BarrierReduction;
use crate::ir::Completion;
use crate::ir::Expected;
use crate::ir::Location;
use crate::ir::Operand;
use crate::ir::RegisterId;
use crate::ir::Synchronization;
use crate::meaning::Domain;
use crate::recover::noted::Meeting;
use crate::recover::term::Atom;
use crate::recover::term::TermId;
use crate::recover::tree::Event;
use crate::recover::tree::EventKind;
use crate::recover::tree::Statement;

/// Refuses a part of a warp at a barrier with a thread count, without `.aligned`. PTX says that a warp
/// counts as a whole one, and also that each thread comes by itself there.
fn counts_warps(aligned: bool, mask: u32, location: &Location) -> Result<()> {
    match aligned || mask == u32::MAX {
        true => Ok(()),
        false => refuse(PARTIAL, location),
    }
}

const PARTIAL: &str = "only some lanes of a warp arrive at this barrier, which has a thread count and no `.aligned`: PTX does not settle how many threads they count as";

impl Walker<'_> {
    pub(super) fn synchronize(
        &mut self,
        synchronization: &Synchronization,
        mask: u32,
        path: &mut Path,
        out: &mut Vec<Statement>,
        location: &Location,
    ) -> Result<()> {
        if self.purpose == Purpose::Together {
            self.come_together(synchronization, mask, path, out, location)?;
        }
        self.told_in_spin(synchronization, location)?;
        match synchronization {
            Synchronization::BarrierSync {
                barrier,
                threads,
                reduction,
                aligned,
            } => {
                self.whole(mask, path, "a barrier", location)?;
                if threads.is_some() {
                    counts_warps(*aligned, mask, location)?;
                }
                path.waited = None;
                path.order.waited = None;
                let operands: Vec<Operand> = std::iter::once(*barrier).chain(*threads).collect();
                self.emit(&operands, mask, path, out, location, |terms| {
                    EventKind::BarrierSync {
                        barrier: terms[0],
                        threads: terms.get(1).copied(),
                    }
                })?;
                self.pass_barrier(*barrier, *threads, path);
                path.order.meet(path.exited);
                if let Some(
                    BarrierReduction::And { result, .. }
                    | BarrierReduction::Or { result, .. }
                    | BarrierReduction::Count { result, .. },
                ) = reduction
                {
                    self.lose(*result, mask, path);
                }
            }
            Synchronization::BarrierArrive {
                barrier,
                threads,
                aligned,
            } => {
                self.whole(mask, path, "a barrier", location)?;
                counts_warps(*aligned, mask, location)?;
                path.waited = None;
                // It counts all lanes, including those that have waited.
                let waited = path.order.waited.take();
                self.emit(&[*barrier, *threads], mask, path, out, location, |terms| {
                    EventKind::BarrierArrive {
                        barrier: terms[0],
                        threads: terms[1],
                    }
                })?;
                path.order.waited = waited;
                self.pass_without_waiting(*threads, path);
            }
            Synchronization::ClusterArrive { .. } => {
                self.whole(mask, path, "a barrier of the cluster", location)?;
                path.waited = None;
                self.emit(&[], mask, path, out, location, |_| EventKind::ClusterArrive)?;
            }
            Synchronization::ClusterWait { .. } => {
                self.whole(mask, path, "a barrier of the cluster", location)?;
                path.waited = None;
                self.emit(&[], mask, path, out, location, |_| EventKind::ClusterWait)?;
            }
            Synchronization::MbarrierInit { address, count } => {
                self.emit(&[*address, *count], mask, path, out, location, |terms| {
                    EventKind::Init {
                        object: terms[0],
                        count: terms[1],
                    }
                })?;
            }
            Synchronization::MbarrierInvalidate { address } => {
                self.emit(&[*address], mask, path, out, location, |terms| {
                    EventKind::Invalidate { object: terms[0] }
                })?;
            }
            Synchronization::MbarrierExpect { address, bytes, .. } => {
                self.emit(&[*address, *bytes], mask, path, out, location, |terms| {
                    EventKind::Expect {
                        object: terms[0],
                        bytes: terms[1],
                    }
                })?;
            }
            Synchronization::MbarrierComplete { address, bytes, .. } => {
                self.emit(&[*address, *bytes], mask, path, out, location, |terms| {
                    EventKind::Complete {
                        object: terms[0],
                        bytes: terms[1],
                    }
                })?;
            }
            Synchronization::MbarrierArrive {
                address,
                count,
                expect,
                drop,
                no_complete,
                token,
                cluster,
                order,
                ..
            } => {
                if !cluster {
                    self.own(*address, mask, path, location)?;
                }
                if *drop || *no_complete {
                    return refuse(
                        "an arrival that drops out or may not complete is not followed",
                        location,
                    );
                }
                self.mark_ahead(*order, mask, path, out, location);
                let operands: Vec<Operand> =
                    [*address, *count].into_iter().chain(*expect).collect();
                self.emit(&operands, mask, path, out, location, |terms| {
                    EventKind::Arrive {
                        object: terms[0],
                        count: terms[1],
                        expect: terms.get(2).copied(),
                    }
                })?;
                if let Some(token) = token {
                    self.lose(*token, mask, path);
                }
            }
            Synchronization::MbarrierNumber {
                address,
                number,
                class,
            } => {
                self.emit(&[*address, *number], mask, path, out, location, |terms| {
                    EventKind::Numbered {
                        object: terms[0],
                        number: terms[1],
                        class: *class,
                    }
                })?;
            }
            Synchronization::CounterLook {
                result, address, ..
            } => {
                self.look(*result, *address, mask, path, location)?;
            }
            Synchronization::CounterAdd {
                address,
                value,
                width,
            } => {
                self.add_to_counter(*address, (*value, *width), mask, path, out, location)?;
            }
            Synchronization::CounterSet {
                address,
                value,
                width,
                ordered,
            } => {
                let stored = (*value, *width, *ordered);
                self.set_counter(*address, stored, mask, path, out, location)?;
            }
            Synchronization::MbarrierTest {
                result,
                address,
                token,
                ..
            } => {
                self.test(*result, *address, *token, mask, path, location)?;
            }
            Synchronization::MbarrierWait { address, token, .. } => {
                if self.purpose == Purpose::Together {
                    return Ok(());
                }
                let awaited = self.looked_at(*address, *token, mask, path, location)?;
                if self.follows_data() && awaited.len() > 1 {
                    return refuse("lanes of a warp wait for different mbarriers", location);
                }
                self.ordered(mask, false, path, location)?;
                for (awaited, lanes) in awaited {
                    self.put_event(awaited.event(), lanes, location, out);
                }
                path.waited = self.waited_by(mask, path);
                path.order.wait(mask, self.full & !path.exited);
            }
            Synchronization::MbarrierPending { result, .. }
            | Synchronization::Reduce { result, .. } => {
                self.lose(*result, mask, path);
            }
            Synchronization::CopyArrive {
                address,
                no_increment,
            } => {
                self.copies_arrive(location)?;
                let no_increment = *no_increment;
                self.emit(&[*address], mask, path, out, location, |terms| {
                    EventKind::CopyArrive {
                        object: terms[0],
                        no_increment,
                    }
                })?;
            }
            Synchronization::BulkCopy {
                bytes, completion, ..
            } => {
                if let Completion::Mbarrier {
                    address,
                    multicast,
                    pair,
                } = completion
                {
                    let known = match bytes {
                        Expected::Bytes(bytes) => Some(*bytes),
                        Expected::TensorMap => None,
                    };
                    self.whole_chunks(known, mask, path, location)?;
                    let operands: Vec<Operand> = std::iter::once(*address)
                        .chain(known)
                        .chain(*multicast)
                        .collect();
                    let (has_bytes, has_mask) = (known.is_some(), multicast.is_some());
                    let pair = *pair;
                    self.emit(&operands, mask, path, out, location, |terms| {
                        EventKind::Copy {
                            object: terms[0],
                            bytes: has_bytes.then(|| terms[1]),
                            multicast: has_mask.then(|| terms[terms.len() - 1]),
                            pair,
                        }
                    })?;
                }
            }
            Synchronization::StoreAsync { bytes, address, .. } => {
                let bytes = Operand::Constant(u128::from(*bytes));
                self.emit(&[*address, bytes], mask, path, out, location, |terms| {
                    EventKind::Copy {
                        object: terms[0],
                        bytes: Some(terms[1]),
                        multicast: None,
                        pair: false,
                    }
                })?;
            }
            Synchronization::TensorCommit {
                address, multicast, ..
            } => {
                let operands: Vec<Operand> = std::iter::once(*address).chain(*multicast).collect();
                self.emit(&operands, mask, path, out, location, |terms| {
                    EventKind::Commit {
                        object: terms[0],
                        multicast: terms.get(1).copied(),
                    }
                })?;
            }
            Synchronization::TensorAllocate { columns, pair, .. } => {
                let ctas: u32 = self.place.cluster.iter().product();
                if *pair && !ctas.is_multiple_of(2) {
                    return refuse("a pair of CTAs needs a cluster of an even number", location);
                }
                self.whole(mask, path, "an allocation of tensor memory", location)?;
                self.emit(&[*columns], mask, path, out, location, |terms| {
                    EventKind::TensorAllocate { columns: terms[0] }
                })?;
            }
            Synchronization::TensorRelinquish { .. } => {
                self.whole(
                    mask,
                    path,
                    "what ends its allocations of tensor memory",
                    location,
                )?;
                self.emit(&[], mask, path, out, location, |_| {
                    EventKind::TensorRelinquish
                })?;
            }
            Synchronization::TensorDeallocate { columns, .. } => {
                self.whole(mask, path, "a deallocation of tensor memory", location)?;
                self.emit(&[*columns], mask, path, out, location, |terms| {
                    EventKind::TensorDeallocate { columns: terms[0] }
                })?;
            }
            Synchronization::ClusterLaunchTryCancel {
                address, multicast, ..
            } => {
                if mask.count_ones() != 1 {
                    return refuse("several lanes try to take over a cluster", location);
                }
                let multicast = *multicast;
                self.emit(&[*address], mask, path, out, location, |terms| {
                    EventKind::TryCancel {
                        object: terms[0],
                        multicast,
                    }
                })?;
            }
            Synchronization::ClusterLaunchQuery { result, .. } => {
                self.whole(mask, path, "a response of cluster launch control", location)?;
                *self.responses += 1;
                let term = self.terms.atom(Atom::Response(*self.responses), 1);
                self.set(*result, Value::Uniform(term), mask, path);
                self.emit(&[], mask, path, out, location, |_| EventKind::Query)?;
            }
            Synchronization::SetMaxRegisters { count, increase } => {
                self.whole(mask, path, "setmaxnreg", location)?;
                let increase = *increase;
                self.emit(&[*count], mask, path, out, location, |terms| {
                    EventKind::SetMaxRegisters {
                        count: terms[0],
                        increase,
                    }
                })?;
            }
            Synchronization::Elect {
                leader, elected, ..
            } => {
                let first = mask.trailing_zeros();
                if let Some(leader) = leader {
                    let term = self.terms.constant(u128::from(first), 32);
                    self.set(*leader, Value::Uniform(term), mask, path);
                }
                if let Some(elected) = elected {
                    let lanes = std::array::from_fn(|lane| {
                        self.terms.constant(u128::from(lane == first as usize), 1)
                    });
                    self.set(*elected, packed(lanes), mask, path);
                }
            }
            Synchronization::Shuffle {
                mode,
                result,
                valid,
                value,
                lane,
                clamp,
                ..
            } => {
                let operands = [*value, *lane, *clamp];
                self.shuffle(*mode, (*result, *valid), operands, mask, path, location);
            }
            Synchronization::Vote {
                mode,
                result,
                predicate,
                ..
            } => self.vote(*mode, *result, *predicate, mask, path, location),
            Synchronization::Match {
                result, predicate, ..
            } => {
                self.lose(*result, mask, path);
                if let Some(predicate) = predicate {
                    self.lose(*predicate, mask, path);
                }
            }
            Synchronization::ActiveMask { result } => {
                let term = self.terms.constant(u128::from(mask), 32);
                self.set(*result, Value::Uniform(term), mask, path);
            }
            Synchronization::WarpSync { .. }
            | Synchronization::Copy { .. }
            | Synchronization::CommitGroup(_)
            | Synchronization::WaitGroup { .. }
            | Synchronization::MultiplyFence
            | Synchronization::Multiply { .. }
            | Synchronization::TensorWork { .. }
            | Synchronization::TensorWait { .. }
            | Synchronization::TensorFence { .. }
            | Synchronization::GridDependencyWait
            | Synchronization::GridDependencyLaunch
            | Synchronization::Fence { .. }
            | Synchronization::FenceMbarrierInit
            | Synchronization::Sleep => {}
        }
        Ok(())
    }

    fn lose(&mut self, register: RegisterId, mask: u32, path: &mut Path) {
        let term = self.unknown(register);
        self.set(register, Value::Uniform(term), mask, path);
    }

    /// An event, once for each group of lanes with the same operands, in the order of their first lanes.
    fn emit(
        &mut self,
        operands: &[Operand],
        mask: u32,
        path: &Path,
        out: &mut Vec<Statement>,
        location: &Location,
        kind: impl Fn(&[TermId]) -> EventKind,
    ) -> Result<()> {
        if self.purpose == Purpose::Together {
            return Ok(());
        }
        self.in_order(mask, path, location)?;
        self.ordered(mask, false, path, location)?;
        let values: Vec<Value> = operands
            .iter()
            .map(|operand| self.operand(*operand, 32, &path.state))
            .collect();
        let mut groups: Vec<(Vec<TermId>, u32)> = Vec::new();
        for lane in 0..32 {
            if mask >> lane & 1 == 1 {
                let terms: Vec<TermId> = values.iter().map(|value| lane_of(value, lane)).collect();
                match groups.iter_mut().find(|(other, _)| *other == terms) {
                    Some((_, lanes)) => *lanes |= 1 << lane,
                    None => groups.push((terms, 1 << lane)),
                }
            }
        }
        for (terms, lanes) in groups {
            let kind = kind(&terms);
            // The others say nothing of what was done before.
            let tells = !matches!(
                kind,
                EventKind::Init { .. }
                    | EventKind::Expect { .. }
                    | EventKind::SetMaxRegisters { .. }
            );
            self.ordered(lanes, tells, path, location)?;
            if tells && self.follows_data() {
                self.mark_late(lanes, path, out);
            }
            self.put_event(kind, lanes.count_ones(), location, out);
        }
        Ok(())
    }

    /// Puts down an event of so many lanes.
    pub(super) fn put_event(
        &mut self,
        kind: EventKind,
        lanes: u32,
        location: &Location,
        out: &mut Vec<Statement>,
    ) {
        *self.events += 1;
        self.note(&kind, location);
        out.push(Statement::Event(Event {
            kind,
            lanes,
            location: location.clone(),
        }));
    }

    /// Notes what an event does to the order of things.
    fn note(&mut self, kind: &EventKind, location: &Location) {
        let number = *self.events;
        let meeting = match kind {
            EventKind::Wait { .. } | EventKind::Init { .. } | EventKind::Invalidate { .. } => {
                return self.noted.site(number, location);
            }
            EventKind::BarrierSync { barrier, threads } => Meeting::Barrier {
                id: self.terms.value(*barrier),
                waits: threads.is_none(),
            },
            EventKind::BarrierArrive { barrier, .. } => Meeting::Barrier {
                id: self.terms.value(*barrier),
                waits: false,
            },
            EventKind::ClusterArrive => Meeting::Arrive,
            EventKind::ClusterWait => Meeting::Wait,
            _ => return,
        };
        self.noted.meeting(number, meeting);
    }
}
