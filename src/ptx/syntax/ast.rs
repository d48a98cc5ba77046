//! The syntax tree of a PTX text, function by function. Nothing is interpreted here. An unknown instruction is kept
//! whole.

use std::ops::Range;

/// A text of PTX.
#[derive(Debug, Default)]
pub struct Module<'a> {
    /// The text.
    pub source: &'a str,
    /// What `.version` says.
    pub version: &'a str,
    /// What `.target` says.
    pub target: &'a str,
    /// The source files, by their number.
    pub files: Vec<(u32, &'a str)>,
    /// Shared variables outside functions.
    pub shared: Vec<Variable<'a>>,
    /// Variables in global memory without a value of their own, or with 0.
    pub globals: Vec<Variable<'a>>,
    /// The same in constant memory.
    pub constants: Vec<Variable<'a>>,
    /// The names of functions, variables and parameters, each as often as it is declared.
    pub declared: Vec<&'a str>,
    /// Entries and functions with a body.
    pub functions: Vec<Function<'a>>,
}

/// A variable with an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its size in bytes; 0 where the launch decides.
    pub bytes: u64,
    /// Its alignment in bytes.
    pub align: u64,
}

/// A parameter of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its type, as `.u32`.
    pub kind: &'a str,
    /// Its size in bytes.
    pub bytes: u64,
    /// The register that it is, in a function that takes or gives registers.
    pub register: Option<Register>,
}

/// An entry or a function.
#[derive(Debug, Clone, Default)]
pub struct Function<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether a kernel can be launched from it.
    pub entry: bool,
    /// Where its name is.
    pub at: Range<usize>,
    /// Its parameters.
    pub parameters: Vec<Parameter<'a>>,
    /// What it gives back, if it is called.
    pub results: Vec<Parameter<'a>>,
    /// `.reqntid`, the thread counts that a launch has to have.
    pub reqntid: Option<[u32; 3]>,
    /// `.maxntid`, the most threads that a launch may have.
    pub maxntid: Option<[u32; 3]>,
    /// `.maxnreg`, the registers of a thread.
    pub registers_per_thread: Option<u32>,
    /// `.minnctapersm`, the CTAs that have to fit on an SM.
    pub ctas_per_sm: Option<u32>,
    /// `.reqnctapercluster`, the CTAs of a cluster.
    pub cluster: Option<[u32; 3]>,
    /// Shared variables declared in it.
    pub shared: Vec<Variable<'a>>,
    /// Variables that each thread has for itself.
    pub local: Vec<Variable<'a>>,
    /// The names of its registers.
    pub registers: Vec<&'a str>,
    /// Its instructions.
    pub code: Vec<Instruction<'a>>,
    /// Where its labels point: the instruction that follows, by the target's number.
    pub targets: Vec<usize>,
}

/// A register of a function, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Register(pub u32);

/// A place in a source file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Location {
    /// The file's number.
    pub file: u32,
    /// The line.
    pub line: u32,
}

/// One instruction.
#[derive(Debug, Clone)]
pub struct Instruction<'a> {
    /// The predicate it depends on, and whether that has to be false.
    pub guard: Option<(Register, bool)>,
    /// The opcode with all suffixes.
    pub opcode: &'a str,
    /// The operands, in order.
    pub operands: Vec<Operand<'a>>,
    /// Where it begins in the text.
    pub at: usize,
    /// The source line it comes from: where inlined functions were called, if they were.
    pub location: Option<Location>,
    /// The source line it is written on, inside the function that was inlined, if it was.
    pub written: Option<Location>,
}

impl<'a> Instruction<'a> {
    /// The parts of the opcode, as `mbarrier`, `try_wait`, `parity`.
    pub fn parts(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.opcode.split('.')
    }

    /// Whether the opcode has this part.
    pub fn has(&self, part: &str) -> bool {
        self.parts().any(|p| p == part)
    }
}

/// An operand.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand<'a> {
    /// A register.
    Register(Register),
    /// A predicate that is negated.
    Not(Register),
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Float,
    /// A name: a variable, a function or a special register.
    Name(&'a str),
    /// A label of the function, by the target's number.
    Target(u32),
    /// A memory operand.
    Address {
        /// What is inside the brackets first.
        base: Box<Operand<'a>>,
        /// The offset added to it, in bytes.
        offset: i64,
        /// Coordinates after a comma.
        rest: Vec<Operand<'a>>,
    },
    /// Several operands in braces or parentheses.
    Vector(Vec<Operand<'a>>),
    /// Two destinations, as in `p|q`.
    Pair(Box<(Operand<'a>, Operand<'a>)>),
}

impl Module<'_> {
    /// The line, counted from 1, of a place in the text.
    pub fn line_of(&self, at: usize) -> usize {
        let before = self.source.as_bytes().get(..at).unwrap_or_default();
        1 + before.iter().filter(|b| **b == b'\n').count()
    }
}
