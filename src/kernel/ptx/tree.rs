//! The syntax tree of a PTX text. Nothing is interpreted here: an unknown instruction is kept whole.

use std::ops::Range;

use crate::ir::LaunchBounds;
use crate::ir::SourceLine;

/// A name and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name<'a> {
    pub text: &'a str,
    pub span: Range<usize>,
}

/// A whole text.
#[derive(Debug, Default)]
pub struct Tree<'a> {
    pub version: &'a str,
    pub target: &'a str,
    pub functions: Vec<Function<'a>>,
    /// The variables that are declared outside functions.
    pub variables: Vec<Variable<'a>>,
    /// Names of textures, samplers and surfaces declared outside functions, and aliases.
    pub other_names: Vec<&'a str>,
    /// Chains of source lines, innermost first; instructions name one by its index.
    pub places: Vec<Vec<SourceLine>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableSpace {
    Global,
    Constant,
    Shared,
    Local,
    Parameter,
    Register,
}

/// A variable with an address, or a parameter.
#[derive(Debug, Clone)]
pub struct Variable<'a> {
    pub name: Name<'a>,
    pub space: VariableSpace,
    /// The size in bytes; `None` if the extent is left open.
    pub size: Option<u64>,
    /// The width of one element in bits.
    pub width: u16,
    pub alignment: u32,
    pub initial: Vec<u8>,
}

/// An entry or a function.
#[derive(Debug, Default)]
pub struct Function<'a> {
    pub name: &'a str,
    pub entry: bool,
    pub results: Vec<Variable<'a>>,
    pub parameters: Vec<Variable<'a>>,
    pub bounds: LaunchBounds,
    /// `None` for a declaration.
    pub body: Option<Vec<Statement<'a>>>,
    /// Where its name stands.
    pub span: Range<usize>,
}

#[derive(Debug)]
pub enum Statement<'a> {
    /// `{`
    Open,
    /// `}`
    Close,
    Registers {
        /// The width in bits.
        width: u16,
        /// The number of components of a vector register.
        vector: Option<u8>,
        /// The names. For `%r<N>`, the number of registers that the name stands for.
        names: Vec<(Name<'a>, Option<u64>)>,
    },
    Variables(Vec<Variable<'a>>),
    Label(Name<'a>),
    /// `name: .branchtargets a, b;`
    BranchTargets(Name<'a>, Vec<Name<'a>>),
    /// `name: .callprototype ...` or `.calltargets ...`
    CallTargets(Name<'a>),
    Instruction(Instruction<'a>),
}

#[derive(Debug)]
pub struct Instruction<'a> {
    /// The predicate, and whether it is negated.
    pub guard: Option<(Name<'a>, bool)>,
    /// The first word of the opcode, and all further words, without dots.
    pub opcode: &'a str,
    pub modifiers: Vec<&'a str>,
    pub operands: Vec<Operand<'a>>,
    /// The line, counted from 1.
    pub line: u32,
    /// The index in [`Tree::places`].
    pub place: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Operand<'a> {
    Name(Name<'a>),
    /// A component, as `%tid.x`.
    Component(Name<'a>, &'a str),
    /// A negated predicate.
    Not(Name<'a>),
    Integer(i128),
    /// The bits of a floating-point number, and its width in bits.
    Float(u64, u16),
    /// `[base + offset, rest...]`
    Address {
        base: Box<Operand<'a>>,
        offset: i64,
        rest: Vec<Operand<'a>>,
    },
    /// `name + offset`, an address without an access.
    Offset(Name<'a>, i64),
    /// In braces or parentheses.
    Vector(Vec<Operand<'a>>),
    /// `p|q`
    Pair(Box<(Operand<'a>, Operand<'a>)>),
}
