//! Waits by token, such as `b.wait(b.arrive())` in C++, become waits by number of arrival.
//!
//! `mbarrier.arrive` returns a state, the token. `mbarrier.test_wait` and `try_wait` wait for the phase that the
//! token names: the one in which the arrival has counted.
//!
//! Here each thread counts its arrivals, and the token becomes the number of the arrival. Arrivals whose addresses
//! are made of the same variables and the same constant form a *class*. Each class has a counter in a register of its
//! own, and the token also names the class. The classes are a guess: that the arrivals of a class go through the
//! mbarriers of one ring in turn. When all roles are known, [`crate::recover::own_phases`] checks that.
//!
//! The counters are written into the kernel itself, so recovery and interpreter read one text.
//!
//! Source: PTX ISA, "mbarrier.arrive", "mbarrier.test_wait, mbarrier.try_wait".

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::ir::Compute;
use crate::ir::Kernel;
use crate::ir::Location;
use crate::ir::Operand;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::Register;
use crate::ir::RegisterId;
use crate::ir::Synchronization;
use crate::ir::Token;
use crate::ir::VariableId;
use crate::recover::tree::Obstacle;

/// The lowest bit of the class in a state. The bits below are the number of the arrival.
pub const CLASS: u16 = 32;

const FORGED: &str =
    "a wait for a state that may be none of an arrival, or one of an arrival that is not followed";

/// Where each register is assigned.
type Definitions<'k> = BTreeMap<RegisterId, Vec<&'k Operation>>;

/// The parts of an address: variables, a constant, and whether anything else is added.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Root {
    variables: BTreeSet<VariableId>,
    constant: i128,
    varies: bool,
}

/// The kernel with numbers of arrivals in place of states, or `None` if nobody waits for a state.
pub fn with_token_numbers(kernel: &Kernel) -> Result<Option<Kernel>, Obstacle> {
    let operations = || kernel.blocks.iter().flat_map(|block| &block.operations);
    let mut definitions: Definitions = BTreeMap::new();
    for operation in operations() {
        for result in operation.kind.results() {
            definitions.entry(result).or_default().push(operation);
        }
    }
    let mut states = BTreeSet::new();
    for operation in operations() {
        if let OperationKind::Synchronization(
            Synchronization::MbarrierTest { token, .. }
            | Synchronization::MbarrierWait { token, .. },
        ) = &operation.kind
            && let Token::State(state) = token
        {
            follow(*state, &definitions, &mut states, &operation.location)?;
        }
    }
    if states.is_empty() {
        return Ok(None);
    }
    let roots: Vec<Root> = operations()
        .filter_map(arrival)
        .map(|address| root(address, &definitions, &mut BTreeSet::new()))
        .collect();
    let classes = classes(&roots);
    let mut changed = kernel.clone();
    let count = classes.iter().max().map_or(0, |last| last + 1);
    let first = u32::try_from(kernel.registers.len()).unwrap_or(u32::MAX);
    for class in 0..count {
        changed.registers.push(Register {
            name: format!("%arrivals{class}"),
            width: CLASS,
        });
    }
    let register = |class: u32| RegisterId(first.saturating_add(class));
    let mut sites = classes.into_iter();
    for (at, block) in changed.blocks.iter_mut().enumerate() {
        let mut new = Vec::new();
        if at == 0 {
            let zero = |class| add(register(class), CLASS, [0, 0].map(Operand::Constant), None);
            new.extend((0..count).map(zero));
        }
        for operation in std::mem::take(&mut block.operations) {
            match arrival(&operation).and_then(|_| sites.next()) {
                Some(class) => numbered(operation, class, register(class), &mut new),
                None => new.push(operation),
            }
        }
        block.operations = new;
    }
    Ok(Some(changed))
}

/// The address of an arrival that counts in the phase in progress.
fn arrival(operation: &Operation) -> Option<Operand> {
    match &operation.kind {
        OperationKind::Synchronization(Synchronization::MbarrierArrive { address, .. }) => {
            Some(*address)
        }
        _ => None,
    }
}

/// An arrival with its number: the mark, the arrival, the state that it returns, and the step of
/// the counter.
fn numbered(mut operation: Operation, class: u32, count: RegisterId, out: &mut Vec<Operation>) {
    let OperationKind::Synchronization(Synchronization::MbarrierArrive { address, token, .. }) =
        &mut operation.kind
    else {
        return;
    };
    let like = |kind: OperationKind| Operation {
        guard: operation.guard,
        kind,
        location: operation.location.clone(),
    };
    let number = Operand::Register(count);
    let mark = like(OperationKind::Synchronization(
        Synchronization::MbarrierNumber {
            address: *address,
            number,
            class,
        },
    ));
    let state = token.take().map(|result| {
        like(OperationKind::Compute {
            compute: Compute::Concatenate,
            width: CLASS,
            result,
            // Classes are counted from 1 in states: 0 is no class.
            operands: vec![number, Operand::Constant(u128::from(class) + 1)],
        })
    });
    let next = add(
        count,
        CLASS,
        [number, Operand::Constant(1)],
        Some(&operation),
    );
    out.push(mark);
    out.push(operation);
    out.extend(state);
    out.push(next);
}

/// An addition, under the guard of another operation.
fn add(
    result: RegisterId,
    width: u16,
    operands: [Operand; 2],
    with: Option<&Operation>,
) -> Operation {
    Operation {
        guard: with.and_then(|with| with.guard),
        kind: OperationKind::Compute {
            compute: Compute::Add,
            width,
            result,
            operands: operands.to_vec(),
        },
        location: with.map_or_else(Location::default, |with| with.location.clone()),
    }
}

/// Refuses a state if it does not certainly come from an arrival.
fn follow(
    state: Operand,
    definitions: &Definitions,
    states: &mut BTreeSet<RegisterId>,
    location: &Location,
) -> Result<(), Obstacle> {
    let refused = || Obstacle::new(FORGED, location.clone());
    let Operand::Register(register) = state else {
        return Err(refused());
    };
    if !states.insert(register) {
        return Ok(());
    }
    let Some(all) = definitions.get(&register) else {
        return Err(refused());
    };
    for operation in all {
        match &operation.kind {
            OperationKind::Synchronization(Synchronization::MbarrierArrive {
                drop: false,
                no_complete: false,
                ..
            }) => {}
            OperationKind::Compute {
                compute: Compute::Copy,
                width: 64,
                operands,
                ..
            } => follow(operands[0], definitions, states, location)?,
            OperationKind::Compute {
                compute: Compute::Select,
                width: 64,
                operands,
                ..
            } => {
                follow(operands[1], definitions, states, location)?;
                follow(operands[2], definitions, states, location)?;
            }
            _ => return Err(refused()),
        }
    }
    Ok(())
}

fn root(address: Operand, definitions: &Definitions, asked: &mut BTreeSet<RegisterId>) -> Root {
    let register = match address {
        Operand::Constant(constant) => {
            return Root {
                constant: i128::try_from(constant).unwrap_or(0),
                ..Root::default()
            };
        }
        Operand::Register(register) => register,
    };
    let varies = Root {
        varies: true,
        ..Root::default()
    };
    let Some(all) = definitions
        .get(&register)
        .filter(|_| asked.insert(register))
    else {
        return varies;
    };
    let mut roots: Vec<Root> = all
        .iter()
        .map(|operation| match &operation.kind {
            OperationKind::AddressOf { variable, .. } => Root {
                variables: BTreeSet::from([*variable]),
                ..Root::default()
            },
            OperationKind::ConvertAddress { address, .. }
            | OperationKind::MapAddress { address, .. } => root(*address, definitions, asked),
            OperationKind::Compute {
                compute: Compute::Copy | Compute::Convert { .. },
                operands,
                ..
            } => root(operands[0], definitions, asked),
            OperationKind::Compute {
                compute: Compute::Add,
                operands,
                ..
            } => {
                let a = root(operands[0], definitions, asked);
                let b = root(operands[1], definitions, asked);
                Root {
                    variables: a.variables.union(&b.variables).copied().collect(),
                    constant: a.constant.saturating_add(b.constant),
                    varies: a.varies || b.varies,
                }
            }
            _ => varies.clone(),
        })
        .collect();
    asked.remove(&register);
    // If a loop moves the register, its value before the loop is the root.
    if let [one] = roots.as_mut_slice() {
        return std::mem::take(one);
    }
    let first = roots
        .into_iter()
        .find(|root| !root.variables.is_empty() && !root.varies);
    Root {
        varies: true,
        ..first.unwrap_or(varies)
    }
}

/// The class of each arrival. If an address varies, it goes through an array. Then fixed places behind the beginning
/// of the array belong to its class.
fn classes(roots: &[Root]) -> Vec<u32> {
    let arrays: BTreeSet<&Root> = roots.iter().filter(|root| root.varies).collect();
    let classed = roots.iter().map(|root| {
        let mut before = arrays
            .iter()
            .filter(|array| array.variables == root.variables && array.constant <= root.constant);
        before
            .next_back()
            .map_or_else(|| root.clone(), |array| (*array).clone())
    });
    let mut known: BTreeMap<Root, u32> = BTreeMap::new();
    classed
        .map(|root| {
            let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
            *known.entry(root).or_insert(next)
        })
        .collect()
}
