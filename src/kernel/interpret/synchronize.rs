//! Synchronization operations: the events that they produce, and their effects in a simulated run.

use super::barriers::Mbarrier;
use super::barriers::Registration;
use super::barriers::Votes;
use super::divergence::Blocked;
use super::event::EventKind;
use super::event::Object;
use super::event::Place;
use super::execute::mix;
use super::launch::Waits;
use super::program;
use super::taint::Origins;
use super::taint::Taint;
use super::value::Lanes;
use super::value::Value;
use super::value::lanes_of;
use super::warp::Flow;
use super::warp::Warp;
use super::world::Halt;
use super::world::World;
use super::world::undefined;
use crate::ir::BarrierReduction;
use crate::ir::Completion;
use crate::ir::Expected;
use crate::ir::Operand;
use crate::ir::OperationKind;
use crate::ir::RegisterId;
use crate::ir::Space;
use crate::ir::Synchronization;
use crate::ir::Token;

/// Lanes that do the same, the values of the operands that were asked for, and the reasons why these may be unknown.
struct Group {
    lanes: Lanes,
    numbers: Vec<u64>,
    reasons: Origins,
}

impl Group {
    fn word(&self, index: usize) -> u32 {
        let number = self.numbers.get(index).copied().unwrap_or(0);
        u32::try_from(number & 0xffff_ffff).unwrap_or(0)
    }

    fn number(&self, index: usize) -> u64 {
        self.numbers.get(index).copied().unwrap_or(0)
    }
}

impl Warp {
    fn alike(
        &self,
        operands: &[Operand],
        at: Place,
        lanes: Lanes,
        control: Origins,
        world: &mut World,
    ) -> Result<Vec<Group>, Halt> {
        let groups = self.groups(operands, lanes, world, at)?;
        let mut all = Vec::with_capacity(groups.len());
        for (lanes, numbers) in groups {
            let reasons = self.joined(operands, lanes, control, world).origins;
            all.push(Group {
                lanes,
                numbers,
                reasons,
            });
        }
        Ok(all)
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each kind of operation")]
    pub fn synchronize(
        &mut self,
        operation: &Synchronization,
        at: Place,
        lanes: Lanes,
        control: Origins,
        world: &mut World,
    ) -> Result<Flow, Halt> {
        if self.across(operation, at, lanes, control, world)? {
            return Ok(Flow::Next);
        }
        let simulates = world.simulates();
        match operation {
            Synchronization::BarrierSync {
                barrier,
                threads,
                aligned,
                reduction,
            } => {
                let sync = (*barrier, *threads, *aligned, *reduction);
                return self.barrier_sync(sync, at, lanes, control, world);
            }
            Synchronization::BarrierArrive {
                barrier,
                threads,
                aligned,
            } => {
                for group in self.alike(&[*barrier, *threads], at, lanes, control, world)? {
                    let (barrier, threads) = (group.word(0), group.word(1));
                    let kind = EventKind::BarrierArrive {
                        barrier,
                        threads,
                        aligned: *aligned,
                    };
                    self.emit(at, kind, None, group.lanes, group.reasons, world)?;
                    if simulates {
                        let form = (barrier, Some(threads), *aligned, None);
                        self.register_at(form, at, group.lanes, world)?;
                    }
                }
            }
            Synchronization::ClusterArrive { .. } => {
                self.emit(at, EventKind::ClusterArrive, None, lanes, control, world)?;
                if simulates {
                    let index = world.index(self.cta, self.number);
                    let World { cluster, alive, .. } = world;
                    cluster
                        .arrive(index, lanes, alive)
                        .map_err(|what| undefined(at, &what))?;
                    world.version += 1;
                }
            }
            Synchronization::ClusterWait { .. } => {
                self.emit(at, EventKind::ClusterWait, None, lanes, control, world)?;
                if simulates {
                    let index = world.index(self.cta, self.number);
                    let Some(phase) = world.cluster.awaited(index, lanes) else {
                        let what = "a thread waits at the cluster barrier and has not arrived";
                        return Err(undefined(at, what));
                    };
                    return Ok(Flow::Wait(Blocked::Cluster { place: at, phase }));
                }
            }
            Synchronization::MbarrierInit { address, count } => {
                for group in self.alike(&[*address, *count], at, lanes, control, world)? {
                    let (object, count) = (world.object(group.number(0)), group.word(1));
                    let kind = EventKind::Init { count };
                    self.emit(at, kind, Some(object), group.lanes, group.reasons, world)?;
                    if simulates {
                        Self::initialize(object, count, at, world)?;
                    }
                }
            }
            Synchronization::MbarrierInvalidate { address } => {
                for group in self.alike(&[*address], at, lanes, control, world)? {
                    let object = world.object(group.number(0));
                    let kind = EventKind::Invalidate;
                    self.emit(at, kind, Some(object), group.lanes, group.reasons, world)?;
                    if simulates {
                        world.mbarrier(object, at, |_| Ok(()))?;
                        if let Object::Shared { cta, address } = object {
                            world.mbarriers.remove(&(cta, address));
                        }
                    }
                }
            }
            Synchronization::MbarrierExpect { address, bytes, .. }
            | Synchronization::MbarrierComplete { address, bytes, .. } => {
                let expects = matches!(operation, Synchronization::MbarrierExpect { .. });
                for group in self.alike(&[*address, *bytes], at, lanes, control, world)? {
                    let (object, bytes) = (world.object(group.number(0)), group.word(1));
                    let kind = if expects {
                        EventKind::Expect { bytes }
                    } else {
                        EventKind::Complete { bytes }
                    };
                    self.emit(at, kind, Some(object), group.lanes, group.reasons, world)?;
                    if simulates {
                        let all = i64::from(bytes) * i64::from(group.lanes.count_ones());
                        let change = if expects { all } else { -all };
                        world.mbarrier(object, at, |mbarrier| mbarrier.transfer(change))?;
                    }
                }
            }
            Synchronization::MbarrierArrive { .. } => {
                self.arrive(operation, at, lanes, control, world)?;
            }
            Synchronization::MbarrierTest {
                result,
                address,
                token,
                ..
            } => {
                let passing = self.test((*address, *token), at, lanes, control, world)?;
                let mut operands = vec![*address];
                let parity = matches!(token, Token::Parity(_));
                operands.extend(operation.operands().into_iter().skip(1).filter(|_| parity));
                let taint = self.joined(&operands, lanes, control, world);
                let value = if passing & lanes == lanes {
                    Value::Uniform(1)
                } else if passing & lanes == 0 {
                    Value::Uniform(0)
                } else {
                    Value::Split {
                        lanes: passing,
                        inside: 1,
                        outside: 0,
                    }
                };
                self.write(*result, value, taint, lanes, world);
            }
            Synchronization::MbarrierWait { address, token, .. } => {
                if simulates
                    && let Some(blocked) = self.lacking((*address, *token), at, lanes, world)?
                {
                    return Ok(Flow::Retry(blocked));
                }
                self.passed((*address, *token), false, at, lanes, control, world)?;
            }
            Synchronization::MbarrierNumber { .. } => {}
            Synchronization::CounterLook {
                result,
                address,
                width,
                ..
            } => {
                let form = (*address, *result, *width);
                self.look_at_counter(form, at, lanes, control, world)?;
            }
            Synchronization::CounterAdd {
                address,
                value,
                width,
            } => {
                let form = (*address, *value, *width);
                self.add_to_counter(form, at, lanes, control, world)?;
            }
            Synchronization::CounterSet {
                address,
                value,
                width,
                ..
            } => {
                let form = (*address, *value, *width);
                self.set_counter(form, at, lanes, control, world)?;
            }
            Synchronization::MbarrierPending { result, token } => {
                let mut taint = self.joined(&[*token], lanes, control, world);
                if !simulates {
                    let origin = world.origin(at);
                    taint = world.sets.join(taint, Taint::new(lanes, origin));
                }
                let state = self.value(*token, world, at)?;
                let value = Value::collect(|lane| state.lane(lane) & 0xffff_ffff);
                let value = self.cut(*result, value, world);
                self.write(*result, value, taint, lanes, world);
            }
            Synchronization::Copy { destination, bytes } => {
                for group in self.alike(&[*destination], at, lanes, control, world)? {
                    self.overwritten(Space::Shared, group.number(0), (*bytes).into(), world);
                }
            }
            Synchronization::CopyArrive {
                address,
                no_increment,
            } => {
                for group in self.alike(&[*address], at, lanes, control, world)? {
                    let object = world.object(group.number(0));
                    let kind = EventKind::CopyArrive {
                        no_increment: *no_increment,
                    };
                    self.emit(at, kind, Some(object), group.lanes, group.reasons, world)?;
                    // Without `noinc`, the arrival first adds itself to the pending count.
                    if simulates {
                        let count = if *no_increment {
                            group.lanes.count_ones()
                        } else {
                            0
                        };
                        world.mbarrier(object, at, |mbarrier| mbarrier.arrive(count, false))?;
                    }
                }
            }
            Synchronization::BulkCopy { .. } => {
                self.bulk_copy(operation, at, lanes, control, world)?;
            }
            Synchronization::StoreAsync {
                destination,
                bytes,
                address,
            } => {
                for group in self.alike(&[*address, *destination], at, lanes, control, world)? {
                    let object = world.object(group.number(0));
                    let kind = EventKind::StoreAsync { bytes: *bytes };
                    self.emit(at, kind, Some(object), group.lanes, group.reasons, world)?;
                    self.overwritten(Space::Cluster, group.number(1), (*bytes).into(), world);
                    if simulates {
                        let all = bytes.saturating_mul(group.lanes.count_ones());
                        world.complete(object, Some(all), at)?;
                    }
                }
            }
            Synchronization::CommitGroup(kind) => {
                let kind = EventKind::CommitGroup(*kind);
                self.emit(at, kind, None, lanes, control, world)?;
            }
            Synchronization::WaitGroup {
                kind,
                pending,
                read_only,
            } => {
                for group in self.alike(&[*pending], at, lanes, control, world)? {
                    let kind = EventKind::WaitGroup {
                        kind: *kind,
                        pending: group.word(0),
                        read_only: *read_only,
                    };
                    self.emit(at, kind, None, group.lanes, group.reasons, world)?;
                }
            }
            Synchronization::TensorCommit {
                address,
                pair,
                multicast,
                ..
            } => {
                let operands: Vec<Operand> = std::iter::once(*address).chain(*multicast).collect();
                for group in self.alike(&operands, at, lanes, control, world)? {
                    let object = world.object(group.number(0));
                    let mask = multicast.map(|_| mask_of(group.number(1)));
                    let kind = EventKind::TensorCommit {
                        multicast: mask,
                        pair: *pair,
                    };
                    self.emit(at, kind, Some(object), group.lanes, group.reasons, world)?;
                    if simulates {
                        for object in targets(object, mask) {
                            let count = group.lanes.count_ones();
                            world.mbarrier(object, at, |mbarrier| mbarrier.arrive(count, false))?;
                        }
                    }
                }
            }
            Synchronization::TensorAllocate {
                destination,
                columns,
                pair,
            } => {
                for group in self.alike(&[*columns, *destination], at, lanes, control, world)? {
                    let kind = EventKind::TensorAllocate {
                        columns: group.word(0),
                        pair: *pair,
                    };
                    let reasons = self.joined(&[*columns], lanes, control, world).origins;
                    self.emit(at, kind, None, group.lanes, reasons, world)?;
                    self.overwritten(Space::Shared, group.number(1), 4, world);
                }
            }
            Synchronization::TensorDeallocate { columns, pair, .. } => {
                for group in self.alike(&[*columns], at, lanes, control, world)? {
                    let kind = EventKind::TensorDeallocate {
                        columns: group.word(0),
                        pair: *pair,
                    };
                    self.emit(at, kind, None, group.lanes, group.reasons, world)?;
                }
            }
            Synchronization::TensorRelinquish { pair } => {
                let kind = EventKind::TensorRelinquish { pair: *pair };
                self.emit(at, kind, None, lanes, control, world)?;
            }
            Synchronization::ClusterLaunchTryCancel {
                destination,
                address,
                multicast,
            } => {
                for group in self.alike(&[*address, *destination], at, lanes, control, world)? {
                    let object = world.object(group.number(0));
                    let kind = EventKind::ClusterLaunchTryCancel {
                        multicast: *multicast,
                    };
                    self.emit(at, kind, Some(object), group.lanes, group.reasons, world)?;
                    let mask = multicast.then_some(u16::MAX);
                    for object in targets(object, mask) {
                        let Object::Shared { cta, .. } = object else {
                            continue;
                        };
                        if cta >= world.ctas {
                            continue;
                        }
                        let place = if *multicast {
                            group.number(1) & super::address::MAX_SHARED
                                | super::address::shared_window(cta)
                        } else {
                            group.number(1)
                        };
                        self.overwritten(Space::Cluster, place, 16, world);
                        if simulates {
                            world.complete(object, Some(16), at)?;
                        }
                    }
                }
            }
            Synchronization::GridDependencyWait => {
                self.emit(
                    at,
                    EventKind::GridDependencyWait,
                    None,
                    lanes,
                    control,
                    world,
                )?;
            }
            Synchronization::GridDependencyLaunch => {
                self.emit(
                    at,
                    EventKind::GridDependencyLaunch,
                    None,
                    lanes,
                    control,
                    world,
                )?;
            }
            Synchronization::SetMaxRegisters { count, increase } => {
                for group in self.alike(&[*count], at, lanes, control, world)? {
                    let kind = EventKind::SetMaxRegisters {
                        count: group.word(0),
                        increase: *increase,
                    };
                    self.emit(at, kind, None, group.lanes, group.reasons, world)?;
                }
            }
            // Operations that only order memory, or that are covered by a commit, are not events.
            Synchronization::MultiplyFence
            | Synchronization::Multiply { .. }
            | Synchronization::TensorWork { .. }
            | Synchronization::TensorWait { .. }
            | Synchronization::TensorFence { .. }
            | Synchronization::Fence { .. }
            | Synchronization::FenceMbarrierInit
            | Synchronization::Sleep
            | Synchronization::WarpSync { .. }
            | Synchronization::Elect { .. }
            | Synchronization::Shuffle { .. }
            | Synchronization::Vote { .. }
            | Synchronization::Match { .. }
            | Synchronization::Reduce { .. }
            | Synchronization::ClusterLaunchQuery { .. }
            | Synchronization::ActiveMask { .. } => {}
        }
        Ok(Flow::Next)
    }

    fn barrier_sync(
        &mut self,
        (barrier, threads, aligned, reduction): (
            Operand,
            Option<Operand>,
            bool,
            Option<BarrierReduction>,
        ),
        at: Place,
        lanes: Lanes,
        control: Origins,
        world: &mut World,
    ) -> Result<Flow, Halt> {
        let operands: Vec<Operand> = std::iter::once(barrier).chain(threads).collect();
        let groups = self.alike(&operands, at, lanes, control, world)?;
        for group in &groups {
            let kind = EventKind::BarrierSync {
                barrier: group.word(0),
                threads: threads.map(|_| group.word(1)),
                aligned,
            };
            self.emit(at, kind, None, group.lanes, group.reasons, world)?;
        }
        let whole = world.warps.saturating_mul(32);
        let waits = match world.launch.waits {
            Waits::Pass => false,
            Waits::Meet => threads.is_none() || groups.iter().all(|group| group.word(1) == whole),
            Waits::Simulate => true,
        };
        if !waits {
            if let Some(reduction) = reduction {
                let (result, _) = parts(reduction);
                let origin = world.origin(at);
                let value = self.cut(result, Value::Uniform(mix(9, 9).into()), world);
                self.write(result, value, Taint::new(lanes, origin), lanes, world);
            }
            return Ok(Flow::Next);
        }
        let [group] = groups.as_slice() else {
            return Err(undefined(
                at,
                "lanes of a warp name different barriers at once",
            ));
        };
        let mut votes = None;
        if let Some(reduction) = reduction {
            let (_, source) = parts(reduction);
            let holding = self.holding(source, lanes, world, at)?;
            let taint = self.joined(&[source], lanes, control, world);
            votes = Some(Votes {
                holding: holding.count_ones(),
                all: lanes.count_ones(),
                origins: taint.origins,
            });
        }
        let number = group.word(0);
        let form = (number, threads.map(|_| group.word(1)), aligned, votes);
        let generation = self.register_at(form, at, lanes, world)?;
        Ok(Flow::Wait(Blocked::Barrier {
            place: at,
            barrier: number as usize,
            generation,
            reduction,
        }))
    }

    fn register_at(
        &self,
        (barrier, threads, aligned, votes): (u32, Option<u32>, bool, Option<Votes>),
        at: Place,
        lanes: Lanes,
        world: &mut World,
    ) -> Result<u64, Halt> {
        let registration = Registration {
            warp: self.number as usize,
            lanes,
            // A whole warp is counted, including lanes without threads and lanes that have ended.
            count: if aligned || lanes & self.live() == self.live() {
                32
            } else {
                lanes.count_ones()
            },
            threads,
            reduces: votes.is_some(),
            votes: votes.unwrap_or_default(),
        };
        let alive = world.alive_of(self.cta).to_vec();
        let World { barriers, sets, .. } = world;
        let place = barriers.get_mut(self.cta as usize);
        let Some(place) = place.and_then(|all| all.get_mut(barrier as usize)) else {
            return Err(undefined(at, "a barrier has a number from 0 to 15"));
        };
        let generation = place.register(&registration, &alive, sets);
        world.version += 1;
        generation.map_err(|what| undefined(at, &what))
    }

    fn initialize(object: Object, count: u32, at: Place, world: &mut World) -> Result<(), Halt> {
        let Object::Shared { cta, address } = object else {
            return Err(undefined(at, "the address is of no CTA of the cluster"));
        };
        if count == 0 || count >= 1 << 20 {
            return Err(undefined(
                at,
                "the count of an mbarrier is not from 1 to 2^20 - 1",
            ));
        }
        let known = world.mbarriers.get(&(cta, address));
        if known.is_some_and(|known| !known.is_fresh()) {
            return Err(undefined(
                at,
                "an mbarrier is initialized while it is in use",
            ));
        }
        world.mbarriers.insert((cta, address), Mbarrier::new(count));
        world.version += 1;
        Ok(())
    }

    fn arrive(
        &mut self,
        operation: &Synchronization,
        at: Place,
        lanes: Lanes,
        control: Origins,
        world: &mut World,
    ) -> Result<(), Halt> {
        let Synchronization::MbarrierArrive {
            address,
            count,
            expect,
            drop,
            no_complete,
            token,
            ..
        } = operation
        else {
            return Ok(());
        };
        let operands: Vec<Operand> = [*address, *count].into_iter().chain(*expect).collect();
        let mut states = [0_u128; super::value::LANES];
        for group in self.alike(&operands, at, lanes, control, world)? {
            let object = world.object(group.number(0));
            let bytes = expect.map(|_| group.word(2));
            let kind = EventKind::Arrive {
                count: group.word(1),
                expect: bytes,
                drop: *drop,
                no_complete: *no_complete,
            };
            self.emit(at, kind, Some(object), group.lanes, group.reasons, world)?;
            if !world.simulates() {
                continue;
            }
            for lane in lanes_of(group.lanes) {
                let mut state = 0;
                world.mbarrier(object, at, |mbarrier| {
                    state = mbarrier.state();
                    if let Some(bytes) = bytes {
                        mbarrier.transfer(bytes.into())?;
                    }
                    mbarrier.arrive(group.word(1), *drop)
                })?;
                states[lane] = state.into();
            }
        }
        if let Some(token) = token {
            // A phase state that is used in a computation is unknown. A wait uses it unchanged.
            let origin = world.origin(at);
            let origins = world.sets.union(origin, control);
            self.write_state(*token, states, Taint::new(lanes, origins), lanes, world);
        }
        Ok(())
    }

    fn write_state(
        &mut self,
        token: RegisterId,
        states: [u128; super::value::LANES],
        taint: Taint,
        lanes: Lanes,
        world: &mut World,
    ) {
        let value = self.cut(token, Value::from_wide(states), world);
        self.write(token, value, taint, lanes, world);
    }

    /// The lanes whose phase has completed. If a wait is passed, it is an event.
    fn test(
        &mut self,
        (address, token): (Operand, Token),
        at: Place,
        lanes: Lanes,
        control: Origins,
        world: &mut World,
    ) -> Result<Lanes, Halt> {
        let spins = world.program.spins(at.block);
        let mut passing = 0;
        if world.simulates() {
            let (operand, _) = operand_of(token);
            for group in self.alike(&[address, operand], at, lanes, control, world)? {
                if Self::passes(token, &group, at, world)?.is_none() {
                    passing |= group.lanes;
                }
            }
        } else if spins || world.launch.look {
            passing = lanes;
        }
        if passing != 0 {
            self.passed((address, token), !spins, at, passing, control, world)?;
        }
        Ok(passing)
    }

    fn passed(
        &mut self,
        (address, token): (Operand, Token),
        look: bool,
        at: Place,
        lanes: Lanes,
        control: Origins,
        world: &mut World,
    ) -> Result<(), Halt> {
        let (operand, by_parity) = operand_of(token);
        let operands = if by_parity {
            vec![address, operand]
        } else {
            vec![address]
        };
        // Only the lowest bit of the parity counts.
        let mut merged: Vec<(Lanes, u64, Option<bool>, Origins)> = Vec::new();
        for group in self.alike(&operands, at, lanes, control, world)? {
            let parity = by_parity.then(|| group.number(1) & 1 == 1);
            let known = merged
                .iter_mut()
                .find(|each| (each.1, each.2) == (group.number(0), parity));
            match known {
                Some(known) => known.0 |= group.lanes,
                None => merged.push((group.lanes, group.number(0), parity, group.reasons)),
            }
        }
        for (lanes, address, parity, reasons) in merged {
            let object = world.object(address);
            let kind = EventKind::Wait { parity, look };
            self.emit(at, kind, Some(object), lanes, reasons, world)?;
        }
        Ok(())
    }

    /// What lanes wait for at an mbarrier, if they wait.
    fn lacking(
        &self,
        (address, token): (Operand, Token),
        at: Place,
        lanes: Lanes,
        world: &mut World,
    ) -> Result<Option<Blocked>, Halt> {
        let (operand, _) = operand_of(token);
        for group in self.alike(&[address, operand], at, lanes, Origins::NONE, world)? {
            if let Some(blocked) = Self::passes(token, &group, at, world)? {
                return Ok(Some(blocked));
            }
        }
        Ok(None)
    }

    /// The phase that is awaited; `None` if it has completed.
    fn passes(
        token: Token,
        group: &Group,
        at: Place,
        world: &World,
    ) -> Result<Option<Blocked>, Halt> {
        let object = world.object(group.number(0));
        let Object::Shared { cta, address } = object else {
            return Err(undefined(at, "the address is of no CTA of the cluster"));
        };
        let Some(mbarrier) = world.mbarriers.get(&(cta, address)) else {
            return Err(undefined(at, "the mbarrier is not initialized"));
        };
        let (passes, parity) = match token {
            Token::Parity(_) => {
                let parity = group.number(1) & 1 == 1;
                (mbarrier.passes_parity(parity), Ok(parity))
            }
            Token::State(_) => {
                let state = group.number(1);
                (mbarrier.passes_state(state), Err(state))
            }
        };
        Ok((!passes).then_some(Blocked::Mbarrier {
            cta,
            address,
            parity,
        }))
    }

    fn bulk_copy(
        &mut self,
        operation: &Synchronization,
        at: Place,
        lanes: Lanes,
        control: Origins,
        world: &mut World,
    ) -> Result<(), Halt> {
        let Synchronization::BulkCopy {
            destination,
            destination_space,
            bytes,
            completion,
            ..
        } = operation
        else {
            return Ok(());
        };
        let mut operands = Vec::new();
        if let Expected::Bytes(bytes) = bytes {
            operands.push(*bytes);
        }
        let sized = operands.len();
        let (mut multicast, mut pair) = (None, false);
        if let Completion::Mbarrier {
            address,
            multicast: mask,
            pair: both,
        } = completion
        {
            operands.push(*address);
            operands.extend(*mask);
            (multicast, pair) = (*mask, *both);
        }
        for group in self.alike(&operands, at, lanes, control, world)? {
            let bytes = (sized == 1).then(|| group.word(0));
            let signals = matches!(completion, Completion::Mbarrier { .. });
            let object = signals.then(|| world.object(group.number(sized)));
            let mask = multicast.map(|_| mask_of(group.number(sized + 1)));
            let kind = EventKind::Copy {
                bytes,
                multicast: mask,
                pair,
                group: matches!(completion, Completion::Group(_)),
            };
            self.emit(at, kind, object, group.lanes, group.reasons, world)?;
            if let Some(bytes) = bytes {
                for place in self.alike(&[*destination], at, group.lanes, control, world)? {
                    self.overwritten(*destination_space, place.number(0), bytes.into(), world);
                }
            }
            if let Some(object) = object
                && world.simulates()
            {
                for object in targets(object, mask) {
                    for _ in lanes_of(group.lanes) {
                        world.complete(object, bytes, at)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether lanes that wait can go on. If so, the wait writes its results.
    pub fn wake(
        &mut self,
        leaf: usize,
        blocked: &Blocked,
        world: &mut World,
    ) -> Result<bool, Halt> {
        Ok(match blocked {
            Blocked::Lanes { .. } => false,
            Blocked::Change { version } => world.version != *version,
            Blocked::Cluster { phase, .. } => world.cluster.phase > *phase,
            Blocked::Mbarrier {
                cta,
                address,
                parity,
            } => world
                .mbarriers
                .get(&(*cta, *address))
                .is_none_or(|mbarrier| match parity {
                    Ok(parity) => mbarrier.passes_parity(*parity),
                    Err(state) => mbarrier.passes_state(*state),
                }),
            Blocked::Barrier {
                place,
                barrier,
                generation,
                reduction,
            } => {
                let all = world.barriers.get(self.cta as usize);
                let Some(barrier) = all.and_then(|all| all.get(*barrier)) else {
                    return Ok(false);
                };
                if barrier.generation == *generation {
                    return Ok(false);
                }
                let votes = barrier.result;
                let overtaken = barrier.generation != generation.wrapping_add(1);
                if let Some(reduction) = reduction {
                    let (result, _) = parts(*reduction);
                    let number = match reduction {
                        BarrierReduction::And { .. } => u32::from(votes.holding == votes.all),
                        BarrierReduction::Or { .. } => u32::from(votes.holding > 0),
                        BarrierReduction::Count { .. } => votes.holding,
                    };
                    let mut origins = votes.origins;
                    if overtaken {
                        let origin = world.origin(*place);
                        origins = world.sets.union(origins, origin);
                    }
                    let lanes = self.split(leaf).map_or(0, |split| split.lanes);
                    let value = self.cut(result, Value::Uniform(number.into()), world);
                    self.write(result, value, Taint::new(lanes, origins), lanes, world);
                }
                true
            }
        })
    }

    /// An operation whose guard is unknown. Its results become unknown, and so does what it writes. It is also
    /// unknown whether it is an event.
    pub fn unknown_guard(
        &mut self,
        kind: &OperationKind,
        at: Place,
        executing: Lanes,
        lanes: Lanes,
        origins: Origins,
        world: &mut World,
    ) {
        for result in kind.results() {
            if let Some(taint) = self.taints.get_mut(result.0 as usize) {
                *taint = world.sets.join(*taint, Taint::new(lanes, origins));
            }
        }
        if program::is_event(kind) {
            self.decide(at, origins);
        }
        if let OperationKind::Store { space, .. } | OperationKind::Atomic { space, .. } = kind
            && executing != lanes
        {
            self.unknown_write(*space, origins, world);
        }
    }
}

fn parts(reduction: BarrierReduction) -> (RegisterId, Operand) {
    match reduction {
        BarrierReduction::And { result, source }
        | BarrierReduction::Or { result, source }
        | BarrierReduction::Count { result, source } => (result, source),
    }
}

fn operand_of(token: Token) -> (Operand, bool) {
    match token {
        Token::Parity(operand) => (operand, true),
        Token::State(operand) => (operand, false),
    }
}

fn mask_of(number: u64) -> u16 {
    u16::try_from(number & 0xffff).unwrap_or(0)
}

/// The objects with the same offset in every CTA of a mask.
fn targets(object: Object, mask: Option<u16>) -> Vec<Object> {
    match (object, mask) {
        (Object::Shared { address, .. }, Some(mask)) => lanes_of(mask.into())
            .filter_map(|cta| u32::try_from(cta).ok())
            .map(|cta| Object::Shared { cta, address })
            .collect(),
        _ => vec![object],
    }
}
