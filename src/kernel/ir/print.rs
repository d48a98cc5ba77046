//! Prints a kernel, one operation a line, for tests and for debugging.

use std::collections::HashMap;
use std::fmt;

use crate::ir::Block;
use crate::ir::Kernel;
use crate::ir::Operand;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::RegisterId;
use crate::ir::Stability;
use crate::ir::Terminator;

/// The names of a kernel's registers. If several registers have the same name, their numbers are added.
struct Names<'k> {
    kernel: &'k Kernel,
    often: HashMap<&'k str, usize>,
}

impl<'k> Names<'k> {
    fn new(kernel: &'k Kernel) -> Self {
        let mut often = HashMap::new();
        for register in &kernel.registers {
            *often.entry(register.name.as_str()).or_insert(0) += 1;
        }
        Self { kernel, often }
    }

    fn register(&self, id: RegisterId) -> String {
        match self.kernel.registers.get(id.0 as usize) {
            None => format!("r#{}", id.0),
            Some(register) if self.often[register.name.as_str()] > 1 => {
                format!("{}#{}", register.name, id.0)
            }
            Some(register) => register.name.clone(),
        }
    }

    fn operand(&self, operand: Operand) -> String {
        match operand {
            Operand::Register(register) => self.register(register),
            Operand::Constant(bits) => constant(bits),
        }
    }

    fn operands(&self, operands: &[Operand]) -> String {
        let all: Vec<String> = operands.iter().map(|o| self.operand(*o)).collect();
        all.join(", ")
    }

    /// The text in front of an operation with these results.
    fn assigned(&self, results: &[RegisterId]) -> String {
        let all: Vec<String> = results.iter().map(|r| self.register(*r)).collect();
        if all.is_empty() {
            String::new()
        } else {
            all.join(", ") + " = "
        }
    }

    /// The text that `Debug` writes, with names in place of numbers.
    fn named(&self, text: &str) -> String {
        let mut result = String::with_capacity(text.len());
        let mut rest = text;
        let openings = ["Register(RegisterId(", "RegisterId(", "Constant("];
        while let Some((at, opening)) = openings
            .iter()
            .filter_map(|opening| Some((rest.find(opening)?, *opening)))
            .min_by_key(|(at, opening)| (*at, usize::MAX - opening.len()))
        {
            let (before, from) = rest.split_at(at);
            let inside = from.get(opening.len()..).unwrap_or_default();
            let (digits, behind) = inside.split_once(')').unwrap_or((inside, ""));
            let value: u128 = digits.parse().unwrap_or_default();
            result.push_str(before);
            if opening == "Constant(" {
                result.push_str(&constant(value));
            } else {
                let id = RegisterId(u32::try_from(value).unwrap_or(u32::MAX));
                result.push_str(&self.register(id));
            }
            rest = if opening == "Register(RegisterId(" {
                behind.strip_prefix(')').unwrap_or(behind)
            } else {
                behind
            };
        }
        result.push_str(rest);
        result
    }

    fn operation(&self, operation: &Operation) -> String {
        let guard = operation.guard.map_or_else(String::new, |guard| {
            let not = if guard.negated { "!" } else { "" };
            format!("@{not}{} ", self.register(guard.predicate))
        });
        let text = match &operation.kind {
            OperationKind::Compute {
                compute,
                width,
                result,
                operands,
            } => format!(
                "{} = {compute:?}:{width} {}",
                self.register(*result),
                self.operands(operands)
            ),
            OperationKind::Special { result, special } => {
                format!("{} = {special:?}", self.register(*result))
            }
            OperationKind::AddressOf {
                result,
                variable,
                generic,
            } => {
                let variable = self.kernel.variables.get(variable.0 as usize);
                let name = variable.map_or("?", |variable| variable.name.as_str());
                let generic = if *generic { "generic " } else { "" };
                format!("{} = &{generic}{name}", self.register(*result))
            }
            OperationKind::Load {
                results,
                space,
                address,
                width,
                signed,
                order,
                scope,
                stability,
            } => {
                let stability = match stability {
                    Stability::Unsaid => "",
                    Stability::Constant => " Constant",
                    Stability::Refetched => " Refetched",
                };
                let results: Vec<String> = results
                    .iter()
                    .map(|result| result.map_or("_".to_owned(), |result| self.register(result)))
                    .collect();
                let sign = if *signed { "s" } else { "" };
                format!(
                    "{} = Load:{sign}{width} {space:?}[{}] {order:?} {scope:?}{stability}",
                    results.join(", "),
                    self.operand(*address)
                )
            }
            OperationKind::Store {
                space,
                address,
                values,
                width,
                order,
                scope,
            } => format!(
                "Store:{width} {space:?}[{}] {order:?} {scope:?} = {}",
                self.operand(*address),
                self.operands(values)
            ),
            OperationKind::Opaque {
                mnemonic,
                results,
                operands,
                pure,
                write,
                ..
            } => {
                let pure = if *pure { "pure " } else { "" };
                let write = write.map(|write| {
                    let further = if write.further { " and further" } else { "" };
                    let address = self.operand(write.address);
                    format!(
                        " writes {} bytes{further} to {:?}[{address}]",
                        write.bytes, write.space
                    )
                });
                format!(
                    "{}Opaque {pure}`{mnemonic}` {}{}",
                    self.assigned(results),
                    self.operands(operands),
                    write.unwrap_or_default()
                )
            }
            OperationKind::Unsupported {
                mnemonic,
                reason,
                results,
            } => format!(
                "{}Unsupported `{mnemonic}`: {reason}",
                self.assigned(results)
            ),
            OperationKind::Synchronization(synchronization) => {
                self.named(&format!("{synchronization:?}"))
            }
            other => self.named(&format!("{other:?}")),
        };
        format!("{guard}{text}")
    }

    fn end(&self, end: &Terminator) -> String {
        match end {
            Terminator::Jump(to) => format!("-> b{}", to.0),
            Terminator::Branch {
                condition,
                then,
                otherwise,
            } => format!(
                "-> {} ? b{} : b{}",
                self.operand(*condition),
                then.0,
                otherwise.0
            ),
            Terminator::Switch { index, targets } => {
                let targets: Vec<String> = targets.iter().map(|to| format!("b{}", to.0)).collect();
                format!("-> {} of {}", self.operand(*index), targets.join(", "))
            }
            Terminator::Exit => "exit".to_owned(),
            Terminator::Trap => "trap".to_owned(),
        }
    }

    fn block(&self, f: &mut fmt::Formatter<'_>, number: usize, block: &Block) -> fmt::Result {
        let label = if block.label.is_empty() {
            String::new()
        } else {
            format!(" {}", block.label)
        };
        writeln!(f, "b{number}{label}:")?;
        for operation in &block.operations {
            writeln!(f, "  {}", self.operation(operation).trim_end())?;
        }
        writeln!(f, "  {}", self.end(&block.end))
    }
}

/// A constant. Small negative numbers are printed as such, whatever width they are cut to.
fn constant(bits: u128) -> String {
    let value = bits.cast_signed();
    if (-0xFFFF_FFFF..0).contains(&value) {
        value.to_string()
    } else {
        bits.to_string()
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Names::new(self);
        let parameters: Vec<String> = self
            .parameters
            .iter()
            .map(|p| format!("{} @{}+{}", p.name, p.offset, p.size))
            .collect();
        writeln!(f, "{}({})", self.name, parameters.join(", "))?;
        for variable in &self.variables {
            let size = variable
                .size
                .map_or("?".to_owned(), |size| size.to_string());
            let initial = if variable.initial.is_empty() {
                String::new()
            } else {
                format!(" = {:?}", variable.initial)
            };
            writeln!(
                f,
                "{:?} {}: {size} bytes, aligned to {}{initial}",
                variable.space, variable.name, variable.alignment
            )?;
        }
        for (number, block) in self.blocks.iter().enumerate() {
            names.block(f, number, block)?;
        }
        Ok(())
    }
}
