//! Finds the kernels in a text, and reads their attributes.

use std::collections::HashMap;
use std::rc::Rc;

use super::location;
use super::lower::Lower;
use super::syntax::Argument;
use super::syntax::Item;
use super::syntax::Operation;
use super::syntax::Region;
use super::syntax::ValueId;
use super::syntax::arguments_of;
use super::syntax::number;
use super::syntax::numbers;
use super::types::Type;
use super::value::Value;
use super::value::parts_of;
use crate::ir::LaunchBounds;
use crate::ir::MemoryOrder;
use crate::ir::Operand;
use crate::ir::OperationKind;
use crate::ir::Parameter;
use crate::ir::Scope;
use crate::ir::Space;
use crate::ir::Stability;

/// The size of a tensor map that is passed to a kernel.
const DESCRIPTOR_BYTES: u32 = 128;

pub struct Function<'t, 'a> {
    pub name: &'a str,
    pub operation: &'t Operation<'a>,
    pub arguments: Vec<Argument>,
    pub body: &'t Region<'a>,
    /// For each argument: among how many CTAs its TMA loads are divided, if a launch says so.
    pub multicast: Vec<Option<u32>>,
}

/// The kernels of a text, at any depth.
pub fn functions<'t, 'a>(operations: &'t [Operation<'a>]) -> Vec<Function<'t, 'a>> {
    let mut out = Vec::new();
    let mut launches = Launches::default();
    walk(operations, &mut out, &mut launches);
    for function in &mut out {
        if let Some(multicast) = launches.multicast.get(function.name) {
            function.multicast.clone_from(multicast);
        }
    }
    out
}

#[derive(Default)]
struct Launches<'a> {
    /// Atoms of the host program, and among how many CTAs each divides a box.
    atoms: HashMap<ValueId, u32>,
    /// By the name of the kernel: the same for each argument.
    multicast: HashMap<&'a str, Vec<Option<u32>>>,
}

fn walk<'t, 'a>(
    operations: &'t [Operation<'a>],
    out: &mut Vec<Function<'t, 'a>>,
    launches: &mut Launches<'a>,
) {
    for operation in operations {
        if let Some(function) = function(operation) {
            out.push(function);
            continue;
        }
        if let (Some(result), Some([Item::Number(count), ..])) = (
            operation.results.first(),
            operation.attribute("num_multicast"),
        ) {
            let count = number(count).and_then(|count| u32::try_from(count).ok());
            launches.atoms.extend(count.map(|count| (*result, count)));
        }
        if operation.name == "cuda.launch_ex" {
            launches.launch(operation);
        }
        for region in operation.regions() {
            for block in &region.blocks {
                walk(&block.operations, out, launches);
            }
        }
    }
}

impl<'a> Launches<'a> {
    fn launch(&mut self, operation: &Operation<'a>) {
        let name = operation.items.iter().rev().find_map(|item| match item {
            Item::Symbol(name) => Some(*name),
            _ => None,
        });
        let arguments = operation.items.iter().find_map(|item| match item {
            Item::Group(group) if group.open == '(' => Some(arguments_of(&group.items)),
            _ => None,
        });
        let (Some(name), Some(arguments)) = (name, arguments) else {
            return;
        };
        let counts: Vec<_> = arguments
            .iter()
            .map(|argument| self.atoms.get(&argument.value).copied())
            .collect();
        match self.multicast.get_mut(name) {
            None => {
                self.multicast.insert(name, counts);
            }
            // If several launches differ, nothing is known.
            Some(known) => {
                for (known, count) in known.iter_mut().zip(counts) {
                    if *known != count {
                        *known = None;
                    }
                }
            }
        }
    }
}

fn function<'t, 'a>(operation: &'t Operation<'a>) -> Option<Function<'t, 'a>> {
    let kernel = match operation.name {
        "cuda.kernel" => true,
        "gpu.func" => operation.has_word("kernel") || operation.has_word("gpu.kernel"),
        "func.func" | "llvm.func" => {
            operation.has_word("gpu.kernel")
                || operation.has_word("cute.kernel")
                || operation.has_word("nvvm.kernel")
        }
        _ => false,
    };
    if !kernel {
        return None;
    }
    let name = operation.items.iter().find_map(|item| match item {
        Item::Symbol(name) => Some(*name),
        _ => None,
    })?;
    let arguments = operation
        .items
        .iter()
        .find_map(|item| match item {
            Item::Group(group) if group.open == '(' => Some(arguments_of(&group.items)),
            _ => None,
        })
        .unwrap_or_default();
    let body = operation.regions().next()?;
    Some(Function {
        name,
        operation,
        multicast: vec![None; arguments.len()],
        arguments,
        body,
    })
}

/// The launch bounds in the attributes of a kernel.
pub fn bounds(operation: &Operation<'_>) -> LaunchBounds {
    let array = |name: &str| -> Option<[u32; 3]> {
        let numbers = numbers(operation.attribute(name)?);
        let mut axes = [1; 3];
        if numbers.is_empty() || numbers.len() > 3 {
            return None;
        }
        for (axis, number) in axes.iter_mut().zip(numbers) {
            *axis = u32::try_from(number).ok().filter(|number| *number > 0)?;
        }
        Some(axes)
    };
    let single = |name: &str| -> Option<u32> {
        u32::try_from(*numbers(operation.attribute(name)?).first()?).ok()
    };
    // A launch without clusters is one of clusters of one CTA.
    let is_false =
        |name: &str| matches!(operation.attribute(name), Some([Item::Word("false"), ..]));
    LaunchBounds {
        required_threads: array("nvvm.reqntid")
            .or_else(|| array("exact_block_dim"))
            .or_else(|| array("gpu.known_block_size")),
        max_threads: array("nvvm.maxntid"),
        cluster: array("nvvm.cluster_dim")
            .or_else(|| array("exact_cluster_dim"))
            .or_else(|| is_false("cluster_launch").then_some([1; 3])),
        max_registers: single("nvvm.maxnreg"),
        min_ctas: single("nvvm.minctasm"),
    }
}

impl<'a> Lower<'_, 'a> {
    /// Assigns each argument a place in the parameter space, and reads it.
    pub fn parameters(&mut self, function: &Function<'_, 'a>) {
        let names = self.argument_names(&function.arguments);
        let mut offset = 0_u32;
        for ((argument, name), multicast) in function
            .arguments
            .iter()
            .zip(names)
            .zip(&function.multicast)
        {
            let ty = argument
                .ty
                .clone()
                .unwrap_or_else(|| Type::new("unknown", ""));
            self.call(argument.value);
            let descriptor = ty.name.contains("tma") || ty.name.contains("tensordesc");
            if descriptor {
                offset = offset.next_multiple_of(64);
                self.build.kernel.parameters.push(Parameter {
                    name: name.clone(),
                    offset,
                    size: DESCRIPTOR_BYTES,
                });
                offset = offset.saturating_add(DESCRIPTOR_BYTES);
            }
            let widths = if descriptor {
                Vec::new()
            } else {
                parts_of(&ty).unwrap_or_default()
            };
            let several = widths.len() > 1;
            let mut parts = Vec::new();
            for (number, width) in widths.into_iter().enumerate() {
                let size = u32::from(width).div_ceil(8).next_power_of_two();
                offset = offset.next_multiple_of(size);
                self.build.kernel.parameters.push(Parameter {
                    name: if several {
                        format!("{name}.{number}")
                    } else {
                        name.clone()
                    },
                    offset,
                    size,
                });
                parts.push(self.read_parameter(offset, width));
                offset = offset.saturating_add(size);
            }
            let mut value = Value::new(Rc::clone(&ty), parts);
            value.multicast = *multicast;
            self.define(argument.value, value);
        }
    }

    fn read_parameter(&mut self, offset: u32, width: u16) -> Operand {
        let result = self.build.register(width);
        // A predicate is a byte in memory.
        let memory = width.max(8).next_power_of_two();
        self.build.push(OperationKind::Load {
            results: vec![Some(result)],
            space: Space::Parameter,
            address: Operand::Constant(u128::from(offset)),
            width: memory,
            signed: false,
            order: MemoryOrder::Weak,
            scope: Scope::Cta,
            stability: Stability::Unsaid,
        });
        Operand::Register(result)
    }

    /// Names the arguments by their locations if these distinguish all arguments; otherwise by the names in the text.
    fn argument_names(&self, arguments: &[Argument]) -> Vec<String> {
        let mut names = Vec::new();
        let mut texts = Vec::new();
        for argument in arguments {
            let value = self.tree.values.get(argument.value.0 as usize);
            let name = value
                .and_then(|value| value.location.as_ref())
                .and_then(|text| location::name(text, &self.tree.locations));
            names.extend(name.map(str::to_owned));
            texts.push(
                value
                    .map_or("", |value| value.name)
                    .trim_start_matches('%')
                    .to_owned(),
            );
        }
        let mut unique = names.clone();
        unique.sort();
        unique.dedup();
        if unique.len() == arguments.len() {
            names
        } else {
            texts
        }
    }
}
