//! Runs the warps of a cluster.

use super::divergence::Blocked;
use super::event::Place;
use super::launch::Launch;
use super::launch::Waits;
use super::program::Program;
use super::trace::Awaited;
use super::trace::CtaTrace;
use super::trace::Outcome;
use super::trace::Stop;
use super::trace::StopReason;
use super::trace::Trace;
use super::trace::Waiting;
use super::warp::Progress;
use super::warp::Warp;
use super::world::Halt;
use super::world::World;
use crate::ir::BlockId;
use crate::ir::Kernel;
use crate::ir::Location;

/// How many operations a warp executes before the next warp has its turn.
const QUANTUM: u64 = 500;

/// Runs a CTA, or all CTAs of a cluster.
///
/// # Errors
///
/// The launch is not possible, or the run exceeds its limit of operations, events or memory.
pub fn run(kernel: &Kernel, launch: &Launch) -> Result<Trace, Stop> {
    if kernel.blocks.is_empty() {
        return Err(Stop {
            reason: StopReason::Empty,
            place: None,
            location: Location::default(),
        });
    }
    let program = Program::new(kernel);
    let mut world = match World::new(&program, launch) {
        Ok(world) => world,
        Err(Halt::Stop(stop)) => return Err(stop),
        Err(Halt::End(_)) => {
            return Err(Stop {
                reason: StopReason::Empty,
                place: None,
                location: Location::default(),
            });
        }
    };
    let mut warps = Vec::new();
    for cta in 0..world.ctas {
        for number in 0..world.warps {
            warps.push(Warp::new(&world, cta, number));
        }
    }
    let outcome = match launch.waits {
        Waits::Pass => alone(&mut warps, &mut world),
        Waits::Meet | Waits::Simulate => in_turns(&mut warps, &mut world),
    };
    let outcome = match outcome {
        Ok(outcome) | Err(Halt::End(outcome)) => outcome,
        Err(Halt::Stop(stop)) => return Err(stop),
    };
    let mut ctas = vec![CtaTrace::default(); world.ctas as usize];
    for warp in warps {
        if let Some(cta) = ctas.get_mut(warp.cta as usize) {
            cta.warps.push(warp.trace);
        }
    }
    Ok(Trace {
        ctas,
        outcome,
        steps: world.steps,
        layout: world.layout,
        sets: world.sets,
    })
}

/// Runs every warp on its own.
fn alone(warps: &mut [Warp], world: &mut World) -> Result<Outcome, Halt> {
    let mut waiting = Vec::new();
    let mut trapped = None;
    for warp in warps {
        world.reset();
        loop {
            match warp.run(world, u64::MAX) {
                Ok(Progress::Done) => break,
                Ok(Progress::Went | Progress::Blocked) => {
                    if !warp.splits.release(warp.exited) {
                        waiting.extend(waiting_of(warp, world));
                        break;
                    }
                }
                // The other warps still have to produce their events.
                Err(Halt::End(outcome)) => {
                    trapped.get_or_insert(outcome);
                    break;
                }
                Err(stop) => return Err(stop),
            }
        }
        warp.local = super::memory::Memory::default();
        warp.registers = Vec::new();
    }
    Ok(match trapped {
        Some(outcome) => outcome,
        None if waiting.is_empty() => Outcome::Finished,
        None => Outcome::Stuck(waiting),
    })
}

/// Runs all warps in turns, until none of them can go on.
fn in_turns(warps: &mut [Warp], world: &mut World) -> Result<Outcome, Halt> {
    loop {
        let (mut went, mut all_done) = (false, true);
        for warp in warps.iter_mut().filter(|warp| !warp.splits.is_done()) {
            match warp.run(world, QUANTUM)? {
                // The last operations of this warp may have released another warp.
                Progress::Done => went = true,
                Progress::Went => (went, all_done) = (true, false),
                Progress::Blocked => all_done = false,
            }
        }
        if all_done {
            return Ok(Outcome::Finished);
        }
        if went || world.land()? {
            continue;
        }
        if warps
            .iter_mut()
            .any(|warp| warp.splits.release(warp.exited))
        {
            continue;
        }
        let waiting = warps
            .iter()
            .flat_map(|warp| waiting_of(warp, world))
            .collect();
        return Ok(Outcome::Stuck(waiting));
    }
}

fn waiting_of(warp: &Warp, world: &World) -> Vec<Waiting> {
    let mut all = Vec::new();
    for leaf in warp.splits.leaves() {
        let Some(split) = warp.split(leaf) else {
            continue;
        };
        let (place, for_what) = match &split.blocked {
            None => continue,
            Some(Blocked::Lanes { mask, .. }) => {
                (split.at, Awaited::Lanes(mask & warp.live() & !split.lanes))
            }
            Some(Blocked::Barrier { place, barrier, .. }) => {
                let known = world.barriers.get(warp.cta as usize);
                let known = known.and_then(|all| all.get(*barrier));
                let awaited = Awaited::Barrier {
                    barrier: u32::try_from(*barrier).unwrap_or(u32::MAX),
                    expected: known.and_then(|known| known.open.flatten()),
                    arrived: known.map_or(0, |known| known.arrived),
                };
                (*place, awaited)
            }
            Some(Blocked::Cluster { place, .. }) => (*place, Awaited::Cluster),
            Some(Blocked::Mbarrier {
                cta,
                address,
                parity,
            }) => (split.at, world.awaited(*cta, *address, *parity)),
            Some(Blocked::Change { .. }) => {
                let test = tested(warp, split.at.block, split.lanes, world);
                test.unwrap_or((split.at, Awaited::Change))
            }
        };
        all.push(Waiting {
            cta: warp.cta,
            warp: warp.number,
            lanes: split.lanes,
            place,
            for_what,
        });
    }
    all
}

/// If a spin loop with this header waits for an mbarrier: this wait.
fn tested(warp: &Warp, header: BlockId, lanes: u32, world: &World) -> Option<(Place, Awaited)> {
    use crate::ir::OperationKind;
    use crate::ir::Synchronization;
    use crate::ir::Token;
    let kernel = world.program.kernel;
    let spins = kernel
        .blocks
        .iter()
        .enumerate()
        .filter_map(|(index, block)| {
            let id = BlockId(u32::try_from(index).ok()?);
            (id == header || world.program.in_same_spin(header, id)).then_some((id, block))
        });
    for (id, block) in spins {
        for (index, operation) in (0_u32..).zip(&block.operations) {
            let OperationKind::Synchronization(Synchronization::MbarrierTest {
                address,
                token: Token::Parity(parity),
                ..
            }) = &operation.kind
            else {
                continue;
            };
            let place = Place { block: id, index };
            let groups = warp
                .groups(&[*address, *parity], lanes, world, place)
                .ok()?;
            for (_, numbers) in groups {
                let super::event::Object::Shared { cta, address } = world.object(*numbers.first()?)
                else {
                    continue;
                };
                let parity = numbers.get(1)? & 1 == 1;
                let passes = world.mbarriers.get(&(cta, address))?.passes_parity(parity);
                if !passes {
                    return Some((place, world.awaited(cta, address, Ok(parity))));
                }
            }
        }
    }
    None
}
