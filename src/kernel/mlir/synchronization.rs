//! Barriers, mbarriers, fences and groups of the nvvm dialect.

use super::lower::Lower;
use super::syntax::Item;
use super::syntax::Operation;
use super::syntax::ValueId;
use super::syntax::is_mark;
use super::syntax::number;
use super::value::Value;
use super::value::pointer_space;
use crate::ir::GroupKind;
use crate::ir::MemoryOrder;
use crate::ir::Operand;
use crate::ir::OperationKind;
use crate::ir::RegisterId;
use crate::ir::Scope;
use crate::ir::Space;
use crate::ir::Synchronization;
use crate::ir::Token;

impl<'a> Lower<'_, 'a> {
    /// The address of an mbarrier, and whether it is an address of the cluster.
    pub fn mbarrier(&mut self, value: &Value) -> Option<(Operand, bool)> {
        let [address] = value.parts.as_slice() else {
            return None;
        };
        match pointer_space(&value.ty) {
            Space::Shared => Some((*address, false)),
            Space::Cluster => Some((*address, true)),
            Space::Generic => {
                let result = self.build.register(32);
                self.build.push(OperationKind::ConvertAddress {
                    result,
                    address: *address,
                    space: Space::Shared,
                    to_generic: false,
                });
                Some((Operand::Register(result), false))
            }
            _ => None,
        }
    }

    pub fn synchronization(&mut self, operation: &Operation<'a>) -> Option<()> {
        let name = operation.name.strip_prefix("nvvm.")?;
        if let Some(name) = name.strip_prefix("mbarrier.") {
            return self.mbarrier_operation(operation, name);
        }
        let aligned = true;
        let kind = match name {
            "barrier0" => Synchronization::BarrierSync {
                barrier: Operand::Constant(0),
                threads: None,
                aligned,
                reduction: None,
            },
            "barrier" => {
                if operation.items.iter().any(|item| match item {
                    Item::Word(word) => word.contains("reduction"),
                    _ => false,
                }) || !operation.results.is_empty()
                {
                    return None;
                }
                let barrier = match keyed(operation, "id") {
                    Some(id) => *self.value(id).parts.first()?,
                    None => Operand::Constant(0),
                };
                let threads = match keyed(operation, "number_of_threads") {
                    Some(id) => Some(*self.value(id).parts.first()?),
                    None => None,
                };
                Synchronization::BarrierSync {
                    barrier,
                    threads,
                    aligned,
                    reduction: None,
                }
            }
            "barrier.cta.sync" => Synchronization::BarrierSync {
                barrier: self.scalar(operation, 0)?,
                threads: self.scalar(operation, 1),
                aligned: !operation.has_word("unaligned"),
                reduction: None,
            },
            "barrier.arrive" => Synchronization::BarrierArrive {
                barrier: match keyed(operation, "id") {
                    Some(id) => *self.value(id).parts.first()?,
                    None => Operand::Constant(0),
                },
                threads: *self
                    .value(keyed(operation, "number_of_threads")?)
                    .parts
                    .first()?,
                aligned,
            },
            "barrier.cta.arrive" => Synchronization::BarrierArrive {
                barrier: self.scalar(operation, 0)?,
                threads: self.scalar(operation, 1)?,
                aligned: !operation.has_word("unaligned"),
            },
            "cluster.arrive" | "cluster.arrive.relaxed" => Synchronization::ClusterArrive {
                order: if name.ends_with("relaxed") {
                    MemoryOrder::Relaxed
                } else {
                    MemoryOrder::Release
                },
                aligned: operation.has_word("aligned"),
            },
            "cluster.wait" => Synchronization::ClusterWait {
                aligned: operation.has_word("aligned"),
            },
            "setmaxregister" => {
                let count = operation.items.iter().find_map(|item| match item {
                    Item::Number(text) => number(text),
                    _ => None,
                })?;
                Synchronization::SetMaxRegisters {
                    count: Operand::Constant(count.cast_unsigned()),
                    increase: operation.has_word("increase"),
                }
            }
            "fence.mbarrier.init" => Synchronization::FenceMbarrierInit,
            "fence.proxy" | "fence.proxy.acquire" | "fence.proxy.release" => {
                Synchronization::Fence {
                    order: MemoryOrder::AcquireRelease,
                    scope: Scope::Cta,
                    proxy: true,
                }
            }
            "fence.sc.cluster" => Synchronization::Fence {
                order: MemoryOrder::SequentiallyConsistent,
                scope: Scope::Cluster,
                proxy: false,
            },
            "memory.barrier" | "membar" | "fence.acq_rel" => {
                let scope = if operation.has_word("cta") || attribute_body(operation, "cta") {
                    Scope::Cta
                } else if attribute_body(operation, "cluster") {
                    Scope::Cluster
                } else if attribute_body(operation, "gpu") {
                    Scope::Gpu
                } else {
                    Scope::System
                };
                Synchronization::Fence {
                    order: MemoryOrder::SequentiallyConsistent,
                    scope,
                    proxy: false,
                }
            }
            "cp.async.commit.group" => Synchronization::CommitGroup(GroupKind::Copy),
            "cp.async.bulk.commit.group" => Synchronization::CommitGroup(GroupKind::Bulk),
            "wgmma.commit.group.sync.aligned" => Synchronization::CommitGroup(GroupKind::Multiply),
            "wgmma.fence.aligned" => Synchronization::MultiplyFence,
            "cp.async.wait.group"
            | "cp.async.bulk.wait_group"
            | "wgmma.wait.group.sync.aligned" => {
                let pending = operation.items.iter().find_map(|item| match item {
                    Item::Number(text) => number(text),
                    _ => None,
                })?;
                Synchronization::WaitGroup {
                    kind: match name {
                        "cp.async.wait.group" => GroupKind::Copy,
                        "cp.async.bulk.wait_group" => GroupKind::Bulk,
                        _ => GroupKind::Multiply,
                    },
                    pending: Operand::Constant(pending.cast_unsigned()),
                    read_only: operation.has_word("read"),
                }
            }
            "cp.async.mbarrier.arrive" | "cp.async.mbarrier.arrive.shared" => {
                let value = self.operand_values(operation).into_iter().next()?;
                let (address, _) = self.mbarrier(&value)?;
                Synchronization::CopyArrive {
                    address,
                    no_increment: operation.has_word("noinc"),
                }
            }
            "griddepcontrol.wait" => Synchronization::GridDependencyWait,
            "griddepcontrol.launch.dependents" => Synchronization::GridDependencyLaunch,
            "griddepcontrol" if operation.has_word("wait") => Synchronization::GridDependencyWait,
            "griddepcontrol" if operation.has_word("launch_dependents") => {
                Synchronization::GridDependencyLaunch
            }
            "nanosleep" => Synchronization::Sleep,
            "clusterlaunchcontrol.query.cancel" if operation.has_word("is_canceled") => {
                let response = self.scalar(operation, 0)?;
                let id = *operation.results.first()?;
                let result = self.build.register(1);
                let ty = self.result_type(operation, 0)?;
                self.define(id, Value::new(ty, vec![Operand::Register(result)]));
                Synchronization::ClusterLaunchQuery { result, response }
            }
            "clusterlaunchcontrol.try.cancel" => {
                let values = self.operand_values(operation);
                let [destination, barrier] = values.as_slice() else {
                    return None;
                };
                let (address, _) = self.mbarrier(barrier)?;
                Synchronization::ClusterLaunchTryCancel {
                    destination: *destination.parts.first()?,
                    address,
                    multicast: operation.has_word("multicast"),
                }
            }
            _ => return None,
        };
        self.build.synchronize(kind);
        Some(())
    }

    fn mbarrier_operation(&mut self, operation: &Operation<'a>, name: &str) -> Option<()> {
        let values = self.operand_values(operation);
        let barrier = values.first()?;
        let part = |index: usize| -> Option<Operand> {
            match values.get(index)?.parts.as_slice() {
                [operand] => Some(*operand),
                _ => None,
            }
        };
        if values.iter().any(|value| value.parts.len() != 1) {
            return None;
        }
        let (address, cluster) = self.mbarrier(barrier)?;
        let name = match name.strip_suffix(".shared").unwrap_or(name) {
            "txn" if attribute_body(operation, "arrive_expect_tx") => "arrive.expect_tx",
            "txn" if attribute_body(operation, "expect_tx") => "expect_tx",
            "txn" if attribute_body(operation, "arrive") => "arrive",
            name => name,
        };
        let scope = if operation.has_word("cluster") || attribute_body(operation, "cluster") {
            Scope::Cluster
        } else {
            Scope::Cta
        };
        match name {
            // The count may have a predicate after it.
            "init" if values.len() == 2 => {
                let count = part(1)?;
                self.build
                    .synchronize(Synchronization::MbarrierInit { address, count });
            }
            "inval" => self
                .build
                .synchronize(Synchronization::MbarrierInvalidate { address }),
            "expect_tx" if values.len() == 2 => {
                let bytes = part(1)?;
                self.build.synchronize(Synchronization::MbarrierExpect {
                    address,
                    bytes,
                    cluster,
                });
            }
            "complete_tx" if values.len() == 2 => {
                let bytes = part(1)?;
                self.build.synchronize(Synchronization::MbarrierComplete {
                    address,
                    bytes,
                    cluster,
                });
            }
            "arrive"
            | "arrive.nocomplete"
            | "arrive_drop"
            | "arrive.expect_tx"
            | "arrive_drop.expect_tx" => {
                let last = if values.len() > 1 {
                    Some(part(1)?)
                } else {
                    None
                };
                let expects = name.ends_with("expect_tx");
                if values.len() > 2 || (expects && last.is_none()) {
                    return None;
                }
                let token = self.token(operation);
                self.build.synchronize(Synchronization::MbarrierArrive {
                    address,
                    count: match last {
                        Some(count) if !expects => count,
                        _ => Operand::Constant(1),
                    },
                    expect: last.filter(|_| expects),
                    drop: name.starts_with("arrive_drop"),
                    no_complete: name.ends_with("nocomplete"),
                    token,
                    cluster,
                    order: if operation.has_word("relaxed") {
                        MemoryOrder::Relaxed
                    } else {
                        MemoryOrder::Release
                    },
                    scope,
                });
            }
            "try_wait.parity"
            | "test_wait.parity"
            | "wait.parity"
            | "try_wait"
            | "test_wait"
            | "wait"
            | "try_wait.parity.timelimit"
            | "try_wait.timelimit" => {
                let operand = part(1)?;
                let token =
                    if name.split('.').any(|part| part == "parity") || values[1].ty.name != "i64" {
                        Token::Parity(operand)
                    } else {
                        Token::State(operand)
                    };
                let order = if operation.has_word("relaxed") {
                    MemoryOrder::Relaxed
                } else {
                    MemoryOrder::Acquire
                };
                if operation.results.is_empty() {
                    // Without a result, it blocks until the phase has completed, unless its time is limited.
                    if name.starts_with("test_wait") || name.ends_with("timelimit") {
                        return None;
                    }
                    self.build.synchronize(Synchronization::MbarrierWait {
                        address,
                        token,
                        order,
                        scope,
                    });
                } else {
                    let blocking = name.starts_with("try") || attribute_body(operation, "try");
                    let result = self.build.register(1);
                    self.build.synchronize(Synchronization::MbarrierTest {
                        result,
                        address,
                        token,
                        blocking,
                        order,
                        scope,
                    });
                    self.set(operation, 0, Value::scalar(1, Operand::Register(result)))?;
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn token(&mut self, operation: &Operation<'a>) -> Option<RegisterId> {
        let id = *operation.results.first()?;
        let register = self.build.register(64);
        self.define(id, Value::scalar(64, Operand::Register(register)));
        Some(register)
    }
}

/// The value of `name = %value`.
pub fn keyed(operation: &Operation<'_>, name: &str) -> Option<ValueId> {
    operation.items.windows(3).find_map(|items| match items {
        [Item::Word(word), mark, Item::Value(value)] if *word == name && is_mark(mark, "=") => {
            Some(*value)
        }
        _ => None,
    })
}

/// Whether an attribute such as `#nvvm.cta_group<cta_2>` has this body.
pub fn attribute_body(operation: &Operation<'_>, body: &str) -> bool {
    fn search(items: &[Item<'_>], wanted: &str) -> bool {
        items.iter().any(|item| match item {
            Item::Attribute { body, .. } => *body == wanted,
            Item::Group(group) => search(&group.items, wanted),
            _ => false,
        })
    }
    search(&operation.items, body)
}
