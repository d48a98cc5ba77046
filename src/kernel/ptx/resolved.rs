//! A function after name resolution: registers, labels and variables are numbers.

use rustc_hash::FxHashMap;

use crate::ir::Register;
use crate::ir::RegisterId;
use crate::ir::Special;

use super::tree::Variable;

/// A piece of memory that an instruction names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Memory {
    /// A variable of the module, by its number.
    Module(usize),
    /// A variable of the function, by its number.
    Own(usize),
    /// A parameter of a kernel, by its number.
    Parameter(usize),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Operand<'a> {
    Register(RegisterId),
    /// A negated predicate.
    Not(RegisterId),
    /// A special register, and its width in bits.
    Special(Special, u16),
    Integer(i128),
    /// A floating-point number: its bits, and how many.
    Float(u64, u16),
    /// The address of a place in a variable.
    Variable(Memory, i64),
    Label(usize),
    /// A list of labels, by its number.
    Table(usize),
    /// A function, a texture, or a name that only one instruction knows.
    Name(&'a str),
    /// `_`
    Sink,
    Address {
        base: Box<Operand<'a>>,
        offset: i64,
        rest: Vec<Operand<'a>>,
    },
    Vector(Vec<Operand<'a>>),
    Pair(Box<(Operand<'a>, Operand<'a>)>),
}

#[derive(Debug, Clone)]
pub struct Instruction<'a> {
    /// The predicate, and whether it is negated.
    pub guard: Option<(RegisterId, bool)>,
    pub opcode: &'a str,
    pub modifiers: Vec<&'a str>,
    pub operands: Vec<Operand<'a>>,
    pub line: u32,
    pub place: u32,
}

impl Instruction<'_> {
    pub fn has(&self, modifier: &str) -> bool {
        self.modifiers.contains(&modifier)
    }

    /// The whole opcode, as `bar.sync`.
    pub fn mnemonic(&self) -> String {
        let mut text = self.opcode.to_owned();
        for modifier in &self.modifiers {
            text.push('.');
            text.push_str(modifier);
        }
        text
    }
}

#[derive(Debug, Clone)]
pub enum Item<'a> {
    Label(usize),
    Instruction(Instruction<'a>),
    /// A jump to a label. In an inlined function, `ret` becomes such a jump.
    Jump {
        guard: Option<(RegisterId, bool)>,
        to: usize,
        line: u32,
        place: u32,
    },
}

/// A function with a body.
#[derive(Debug, Clone, Default)]
pub struct Body<'a> {
    pub name: &'a str,
    pub registers: Vec<Register>,
    /// Variables that the body declares. Those of the parameter space are arguments of called functions.
    pub variables: Vec<Variable<'a>>,
    /// The names of labels.
    pub labels: Vec<&'a str>,
    /// Lists of labels.
    pub tables: Vec<Vec<usize>>,
    pub items: Vec<Item<'a>>,
    /// The parameters and results of the function: variables of its own, or registers.
    pub parameters: Vec<Formal>,
    pub results: Vec<Formal>,
    /// Variables of inlined functions that exist once, by function and number there.
    pub statics: FxHashMap<(&'a str, usize), usize>,
}

/// A parameter or result of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Formal {
    Memory(usize),
    Register(RegisterId),
}

/// Calls `change` for every operand, the inner ones first.
pub fn each_operand<'a>(operand: &mut Operand<'a>, change: &mut impl FnMut(&mut Operand<'a>)) {
    match operand {
        Operand::Address { base, rest, .. } => {
            each_operand(base, change);
            for part in rest {
                each_operand(part, change);
            }
        }
        Operand::Vector(parts) => {
            for part in parts {
                each_operand(part, change);
            }
        }
        Operand::Pair(pair) => {
            each_operand(&mut pair.0, change);
            each_operand(&mut pair.1, change);
        }
        _ => {}
    }
    change(operand);
}

/// Calls `look` for every operand.
pub fn visit_operand<'o, 'a>(operand: &'o Operand<'a>, look: &mut impl FnMut(&'o Operand<'a>)) {
    match operand {
        Operand::Address { base, rest, .. } => {
            visit_operand(base, look);
            for part in rest {
                visit_operand(part, look);
            }
        }
        Operand::Vector(parts) => {
            for part in parts {
                visit_operand(part, look);
            }
        }
        Operand::Pair(pair) => {
            visit_operand(&pair.0, look);
            visit_operand(&pair.1, look);
        }
        _ => {}
    }
    look(operand);
}
