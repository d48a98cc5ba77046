//! Translates the events of the interpreter to acts, the form in which they are compared with a protocol.

use std::collections::BTreeMap;

use super::act::Act;
use super::act::Kind;
use super::act::Target;
use super::act::joined;
use crate::interpret::Access;
use crate::interpret::Event;
use crate::interpret::EventKind;
use crate::interpret::Launch;
use crate::interpret::Object;
use crate::interpret::Region;
use crate::interpret::WarpTrace;
use crate::ir::Kernel;

/// The acts of a warp, or why they are not certain.
pub fn observe(kernel: &Kernel, launch: &Launch, warp: &WarpTrace) -> Result<Vec<Act>, String> {
    let line = |place: crate::interpret::Place| place.location(kernel).map_or(0, |at| at.line);
    if let Some(decision) = warp.decisions.first() {
        return Err(format!(
            "what is not known decides at line {}",
            line(decision.place)
        ));
    }
    let threads = launch
        .threads
        .iter()
        .try_fold(1_u32, |product, each| product.checked_mul(*each))
        .unwrap_or(u32::MAX);
    let ctas = launch.cluster.iter().product();
    let mut acts = Vec::new();
    let mut kinds = Vec::new();
    let mut arrived: Arrived = BTreeMap::new();
    for event in &warp.events {
        let shape = (threads, ctas);
        let data = (launch.accesses, warp.regions.as_slice());
        if !kinds_of(event, shape, data, &mut arrived, &mut kinds) {
            return Err(format!(
                "an event at line {} is not followed",
                line(event.place)
            ));
        }
        if !kinds.is_empty() && !event.reasons.is_none() {
            return Err(format!(
                "an operand at line {} is not known",
                line(event.place)
            ));
        }
        let location = event.place.location(kernel).cloned().unwrap_or_default();
        acts.extend(kinds.drain(..).map(|kind| Act {
            kind,
            location: location.clone(),
        }));
    }
    Ok(joined(acts))
}

fn target(event: &Event) -> Option<Target> {
    match event.object {
        Some(Object::Shared { cta, address }) => Some(Target {
            rank: cta,
            address: address.into(),
        }),
        _ => None,
    }
}

/// The target in each CTA of a multicast mask.
fn targets(target: Target, mask: Option<u16>, pair: bool) -> Vec<Target> {
    match mask {
        None => vec![target],
        Some(mask) => (0..16)
            .filter(|rank| mask >> rank & 1 == 1)
            .map(|rank| Target {
                // In a pair of CTAs, the one whose rank has the same parity as that of the mbarrier gets the signal.
                rank: if pair {
                    rank & !1 | target.rank & 1
                } else {
                    rank
                },
                ..target
            })
            .collect(),
    }
}

/// The number of arrivals of each lane, for each mbarrier.
type Arrived = BTreeMap<Target, [u32; 32]>;

fn lanes_of(event: &Event) -> impl Iterator<Item = usize> {
    let lanes = event.lanes;
    (0..32).filter(move |lane| lanes >> lane & 1 == 1)
}

/// Appends the acts of an event. Returns `false` if the event cannot be compared.
fn kinds_of(
    event: &Event,
    (threads, ctas): (u32, u32),
    (accesses, regions): (bool, &[Region]),
    arrived: &mut Arrived,
    out: &mut Vec<Kind>,
) -> bool {
    let lanes = i128::from(event.lanes.count_ones());
    let each = 0..event.lanes.count_ones();
    match event.kind {
        EventKind::BarrierSync {
            barrier,
            threads: of,
            ..
        } => out.push(Kind::Sync {
            barrier: barrier.into(),
            threads: of.map_or(i128::from(threads.div_ceil(32)) * 32, i128::from),
        }),
        EventKind::BarrierArrive {
            barrier, threads, ..
        } => out.push(Kind::BarrierArrive {
            barrier: barrier.into(),
            threads: threads.into(),
        }),
        EventKind::ClusterArrive => out.push(Kind::ClusterArrive),
        EventKind::ClusterWait => out.push(Kind::ClusterWait),
        EventKind::SetMaxRegisters { count, increase } => out.push(Kind::SetMaxRegisters {
            count: count.into(),
            increase,
        }),
        EventKind::CommitGroup(_) if accesses => {
            out.push(Kind::CommitGroup);
        }
        EventKind::WaitGroup {
            pending, read_only, ..
        } if accesses => out.push(Kind::WaitGroup {
            pending: pending.into(),
            read_only,
        }),
        // Not compared: these order memory or hold resources.
        EventKind::CommitGroup(_)
        | EventKind::WaitGroup { .. }
        | EventKind::TensorAllocate { .. }
        | EventKind::TensorDeallocate { .. }
        | EventKind::TensorRelinquish { .. }
        | EventKind::GridDependencyWait
        | EventKind::GridDependencyLaunch
        | EventKind::Load { .. }
        | EventKind::Store { .. }
        | EventKind::Atomic { .. }
        | EventKind::LoopHeader(_)
        | EventKind::Invalidate
        | EventKind::Copy { group: true, .. } => {}
        EventKind::CounterWait { value, at_least } => {
            let Some(Object::Global { address }) = event.object else {
                return false;
            };
            out.push(Kind::CounterWait(address, value.into(), at_least));
        }
        EventKind::CounterAdd { value } => {
            let (Some(Object::Global { address }), Some(all)) =
                (event.object, i128::from(value).checked_mul(lanes))
            else {
                return false;
            };
            out.push(Kind::CounterAdd(address, all));
        }
        EventKind::CounterSet { value } => {
            // Lanes that store to one word together are refused.
            let (Some(Object::Global { address }), 1) = (event.object, lanes) else {
                return false;
            };
            out.push(Kind::CounterSet(address, value.into()));
        }
        EventKind::Copy { .. } if event.object.is_none() => {}
        EventKind::Access {
            access: Access::Unfollowed,
            ..
        } => return false,
        EventKind::Access { access, region } => {
            let region = regions.get(region as usize);
            out.push(Kind::Access(access, region.cloned().unwrap_or_default()));
        }
        EventKind::Unsupported => return false,
        EventKind::ClusterLaunchTryCancel { multicast } => {
            let Some(at) = target(event) else {
                return false;
            };
            let ranks = if multicast {
                0..ctas
            } else {
                at.rank..at.rank + 1
            };
            out.extend(ranks.map(|rank| Kind::Copy(Target { rank, ..at }, Some(16))));
        }
        EventKind::Wait { .. }
        | EventKind::Init { .. }
        | EventKind::Arrive { .. }
        | EventKind::Expect { .. }
        | EventKind::Complete { .. }
        | EventKind::CopyArrive { .. }
        | EventKind::Copy { .. }
        | EventKind::StoreAsync { .. }
        | EventKind::TensorCommit { .. } => {
            let Some(at) = target(event) else {
                return false;
            };
            if let EventKind::Arrive { .. } = event.kind {
                let counts = arrived.entry(at).or_default();
                lanes_of(event).for_each(|lane| counts[lane] += 1);
            }
            match event.kind {
                EventKind::Wait {
                    parity: Some(parity),
                    ..
                } => out.push(Kind::Wait(at, parity.into())),
                // A wait by token: the token of the lane's last arrival.
                EventKind::Wait { parity: None, .. } => {
                    let counts = arrived.get(&at).copied().unwrap_or_default();
                    let mut counts = lanes_of(event).map(|lane| counts[lane]);
                    let first = counts.next().filter(|count| *count > 0);
                    match first {
                        Some(first) if counts.all(|count| count == first) => {
                            out.push(Kind::Wait(at, i128::from((first - 1) & 1)));
                        }
                        _ => return false,
                    }
                }
                EventKind::Init { count } => out.push(Kind::Init(at, count.into())),
                EventKind::Arrive {
                    count,
                    expect,
                    drop: false,
                    no_complete: false,
                } => match expect {
                    None => out.push(Kind::Arrive(at, i128::from(count) * lanes)),
                    Some(bytes) if lanes == 1 && count == 1 => {
                        out.push(Kind::ArriveExpect(at, bytes.into()));
                    }
                    Some(bytes) => {
                        out.push(Kind::Expect(at, i128::from(bytes) * lanes));
                        out.push(Kind::Arrive(at, i128::from(count) * lanes));
                    }
                },
                EventKind::Expect { bytes } => {
                    out.push(Kind::Expect(at, i128::from(bytes) * lanes));
                }
                EventKind::Complete { bytes } => {
                    out.extend(each.map(|_| Kind::Complete(at, bytes.into())));
                }
                EventKind::CopyArrive { no_increment: true } => out.push(Kind::Commit(at, lanes)),
                EventKind::Copy {
                    bytes,
                    multicast,
                    pair,
                    ..
                } => {
                    for at in targets(at, multicast, pair) {
                        out.extend(each.clone().map(|_| Kind::Copy(at, bytes.map(i128::from))));
                    }
                }
                EventKind::StoreAsync { bytes } => {
                    out.extend(each.map(|_| Kind::Copy(at, Some(bytes.into()))));
                }
                EventKind::TensorCommit { multicast, .. } => {
                    for at in targets(at, multicast, false) {
                        out.push(Kind::Commit(at, lanes));
                    }
                }
                _ => return false,
            }
        }
    }
    true
}
