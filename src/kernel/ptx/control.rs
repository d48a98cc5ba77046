//! Builds basic blocks from the list of instructions.

use crate::ir;
use crate::ir::Block;
use crate::ir::BlockId;
use crate::ir::Guard;
use crate::ir::Kernel;
use crate::ir::Location;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::RegisterId;
use crate::ir::SourceLine;
use crate::ir::Terminator;

use super::call::called_lists;
use super::call::called_name;
use super::instructions::lower;
use super::lower::Lowering;
use super::resolved::Body;
use super::resolved::Instruction;
use super::resolved::Item;
use super::resolved::Memory;
use super::resolved::Operand;

/// Functions of the device's library that end the thread.
const ABORTING: &[&str] = &["__assertfail", "__assert_fail", "abort"];

/// Functions of the device library that access nothing on which control depends.
const SILENT: &[&str] = &["vprintf", "malloc", "free"];

/// The target of a jump.
#[derive(Clone, Copy)]
enum Target {
    Label(usize),
    Block(usize),
    /// A block without operations that ends the thread or aborts.
    End(usize),
}

enum End {
    Jump(Target),
    Branch {
        predicate: RegisterId,
        then: Target,
        otherwise: Target,
    },
    Switch {
        index: ir::Operand,
        targets: Vec<Target>,
    },
    Exit,
    Trap,
}

struct Open {
    label: String,
    operations: Vec<Operation>,
    end: End,
    location: Location,
}

pub struct Blocks<'k, 'a> {
    body: &'k Body<'a>,
    places: &'k [Vec<SourceLine>],
    lowering: Lowering<'k, 'a>,
    blocks: Vec<Open>,
    /// The label of the block that is being filled, if there is one.
    label: Option<String>,
    labels: Vec<Option<usize>>,
    /// Blocks that only end the thread. They come after all others.
    ends: Vec<(End, Location)>,
}

/// The kernel of a body, with its blocks in the order of the text.
pub fn kernel<'k, 'a>(
    body: &'k Body<'a>,
    places: &'k [Vec<SourceLine>],
    lowering: Lowering<'k, 'a>,
) -> Kernel {
    let mut blocks = Blocks {
        body,
        places,
        lowering,
        blocks: Vec::new(),
        label: Some(String::new()),
        labels: vec![None; body.labels.len()],
        ends: Vec::new(),
    };
    for item in &body.items {
        blocks.item(item);
    }
    blocks.finish()
}

impl<'k, 'a> Blocks<'k, 'a> {
    fn item(&mut self, item: &Item<'a>) {
        match item {
            Item::Label(label) => self.begin(*label),
            Item::Jump {
                guard,
                to,
                line,
                place,
            } => {
                self.at(*line, *place);
                self.jump(*guard, Target::Label(*to));
            }
            Item::Instruction(instruction) => {
                self.at(instruction.line, instruction.place);
                // A block that nothing jumps to is kept, too.
                self.label.get_or_insert_default();
                self.instruction(instruction);
            }
        }
    }

    fn at(&mut self, line: u32, place: u32) {
        let source = self.places.get(place as usize).cloned();
        self.lowering.location = Location {
            line,
            source: source.unwrap_or_default(),
        };
    }

    fn begin(&mut self, label: usize) {
        let name = self.body.labels[label];
        let next = self.blocks.len();
        if let Some(open) = &mut self.label {
            let fresh = self.lowering.operations.is_empty();
            // A thread begins in the first block, so nothing may jump back to it.
            if fresh && next > 0 {
                if open.is_empty() {
                    name.clone_into(open);
                }
                self.labels[label] = Some(next);
                return;
            }
            self.close(End::Jump(Target::Block(next + 1)));
        }
        self.labels[label] = Some(self.blocks.len());
        self.label = Some(name.to_owned());
    }

    fn close(&mut self, end: End) {
        self.blocks.push(Open {
            label: self.label.take().unwrap_or_default(),
            operations: std::mem::take(&mut self.lowering.operations),
            end,
            location: self.lowering.location.clone(),
        });
    }

    /// Ends the block with a branch under a guard. If the guard does not hold, control continues after it.
    fn branch(&mut self, guard: (RegisterId, bool), to: Target) {
        let (predicate, negated) = guard;
        let next = Target::Block(self.blocks.len() + 1);
        let (then, otherwise) = if negated { (next, to) } else { (to, next) };
        self.close(End::Branch {
            predicate,
            then,
            otherwise,
        });
        self.label = Some(String::new());
    }

    fn jump(&mut self, guard: Option<(RegisterId, bool)>, to: Target) {
        self.label.get_or_insert_default();
        match guard {
            None => self.close(End::Jump(to)),
            Some(guard) => self.branch(guard, to),
        }
    }

    fn ending(&mut self, guard: Option<(RegisterId, bool)>, end: End) {
        match guard {
            None => self.close(end),
            Some(guard) => {
                self.ends.push((end, self.lowering.location.clone()));
                self.branch(guard, Target::End(self.ends.len() - 1));
            }
        }
    }

    fn instruction(&mut self, instruction: &Instruction<'a>) {
        let guard = instruction.guard;
        match (instruction.opcode, instruction.operands.as_slice()) {
            ("bra", [Operand::Label(label)]) => self.jump(guard, Target::Label(*label)),
            ("brx", [index, Operand::Table(table)]) => self.switch(instruction, index, *table),
            ("ret" | "exit", []) => self.ending(guard, End::Exit),
            ("trap", []) => self.ending(guard, End::Trap),
            ("call", _) => self.call(instruction),
            _ => {
                self.guarded(guard);
                lower(&mut self.lowering, instruction);
                self.lowering.guard = None;
            }
        }
    }

    fn guarded(&mut self, guard: Option<(RegisterId, bool)>) {
        self.lowering.guard = guard.map(|(predicate, negated)| Guard { predicate, negated });
    }

    fn switch(&mut self, instruction: &Instruction<'a>, index: &Operand<'a>, table: usize) {
        let targets: Vec<Target> = self.body.tables[table]
            .iter()
            .map(|label| Target::Label(*label))
            .collect();
        let Ok(index) = self.lowering.value(index, 32) else {
            return self.unsupported(instruction, "the index is no number");
        };
        let end = End::Switch { index, targets };
        match instruction.guard {
            None => self.close(end),
            Some(guard) => {
                self.ends.push((end, self.lowering.location.clone()));
                self.branch(guard, Target::End(self.ends.len() - 1));
            }
        }
    }

    fn unsupported(&mut self, instruction: &Instruction<'a>, reason: &str) {
        self.guarded(instruction.guard);
        let mut results = Vec::new();
        if let Some((given, _)) = called_lists(instruction) {
            for operand in given {
                match operand {
                    Operand::Register(register) => results.push(*register),
                    Operand::Variable(Memory::Own(variable), _) => {
                        results.extend(self.lowering.all_pieces(*variable).unwrap_or_default());
                    }
                    _ => {}
                }
            }
        }
        self.lowering.emit(OperationKind::Unsupported {
            mnemonic: instruction.mnemonic(),
            reason: reason.to_owned(),
            results,
        });
        self.lowering.guard = None;
    }

    /// Lowers a call that was not inlined.
    fn call(&mut self, instruction: &Instruction<'a>) {
        let name = called_name(instruction);
        if name.is_some_and(|name| ABORTING.contains(&name)) {
            return self.ending(instruction.guard, End::Trap);
        }
        let silent = name.filter(|name| SILENT.contains(name));
        let (Some(name), Some((given, _))) = (silent, called_lists(instruction)) else {
            let reason = match name {
                Some(name) => format!("`{name}` is not in the text, or calls itself"),
                None => "a call through a register".to_owned(),
            };
            return self.unsupported(instruction, &reason);
        };
        let mut results = Vec::new();
        for operand in given {
            let pieces = match operand {
                Operand::Register(register) => Some(vec![*register]),
                Operand::Variable(Memory::Own(variable), _) => self.lowering.all_pieces(*variable),
                _ => None,
            };
            let Some(pieces) = pieces else {
                return self.unsupported(instruction, "its result is looked at in several sizes");
            };
            results.extend(pieces);
        }
        self.guarded(instruction.guard);
        self.lowering.emit(OperationKind::Opaque {
            mnemonic: format!("call {name}"),
            results,
            operands: Vec::new(),
            pure: false,
            write: None,
            rows: None,
        });
        self.lowering.guard = None;
    }

    fn finish(mut self) -> Kernel {
        if self.label.is_some() || self.blocks.is_empty() {
            self.close(End::Exit);
        }
        let count = self.blocks.len();
        let ends = std::mem::take(&mut self.ends);
        for (end, location) in ends {
            self.blocks.push(Open {
                label: String::new(),
                operations: Vec::new(),
                end,
                location,
            });
        }
        let labels = &self.labels;
        let id = |target: Target| {
            let number = match target {
                Target::Label(label) => labels[label].unwrap_or(count),
                Target::Block(block) => block,
                Target::End(end) => count + end,
            };
            BlockId(u32::try_from(number).unwrap_or(u32::MAX))
        };
        let finished = |open: Open| Block {
            label: open.label,
            operations: open.operations,
            end: match open.end {
                End::Jump(to) => Terminator::Jump(id(to)),
                End::Branch {
                    predicate,
                    then,
                    otherwise,
                } => Terminator::Branch {
                    condition: ir::Operand::Register(predicate),
                    then: id(then),
                    otherwise: id(otherwise),
                },
                End::Switch { index, targets } => Terminator::Switch {
                    index,
                    targets: targets.into_iter().map(id).collect(),
                },
                End::Exit => Terminator::Exit,
                End::Trap => Terminator::Trap,
            },
            location: open.location,
        };
        let blocks = self.blocks.into_iter().map(finished).collect();
        let mut kernel = self.lowering.kernel;
        kernel.blocks = blocks;
        kernel
    }
}
