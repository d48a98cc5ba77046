//! Resolves the names inside a function: registers, labels and variables, in scopes that braces open.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::ir::Register;
use crate::ir::RegisterId;

use super::error::ReadError;
use super::resolved::Body;
use super::resolved::Formal;
use super::resolved::Instruction;
use super::resolved::Item;
use super::resolved::Memory;
use super::resolved::Operand;
use super::special::special;
use super::tree;
use super::tree::Function;
use super::tree::Name;
use super::tree::Statement;
use super::tree::Tree;
use super::tree::VariableSpace;

/// The most wrong names that are reported at once.
const MAX_ERRORS: usize = 20;

/// The meaning of a name.
#[derive(Debug, Clone, Copy)]
enum Meaning {
    Register(RegisterId),
    Vector(RegisterId, u8),
    Label(usize),
    Table(usize),
    Prototype,
    Memory(Memory),
}

/// Numbered registers of one declaration.
struct Family<'a> {
    prefix: &'a str,
    count: u64,
    width: u16,
    vector: Option<u8>,
}

#[derive(Default)]
struct Scope<'a> {
    parent: Option<usize>,
    names: FxHashMap<&'a str, Meaning>,
    families: Vec<Family<'a>>,
}

/// Names that are visible in all functions.
pub struct Globals<'a> {
    names: FxHashMap<&'a str, Option<usize>>,
}

impl<'a> Globals<'a> {
    pub fn new(tree: &Tree<'a>) -> Self {
        let mut names = FxHashMap::default();
        for function in &tree.functions {
            names.insert(function.name, None);
        }
        for name in &tree.other_names {
            names.insert(*name, None);
        }
        for (number, variable) in tree.variables.iter().enumerate() {
            names.insert(variable.name.text, Some(number));
        }
        Self { names }
    }
}

struct Resolver<'r, 'a> {
    text: &'a str,
    globals: &'r Globals<'a>,
    body: Body<'a>,
    scopes: Vec<Scope<'a>>,
    current: usize,
    errors: Vec<ReadError>,
}

/// Resolves the names of a function that has a body.
pub fn resolve<'a>(
    text: &'a str,
    globals: &Globals<'a>,
    function: &Function<'a>,
) -> Result<Body<'a>, Vec<ReadError>> {
    let mut resolver = Resolver {
        text,
        globals,
        body: Body {
            name: function.name,
            ..Body::default()
        },
        scopes: vec![Scope::default()],
        current: 0,
        errors: Vec::new(),
    };
    resolver.parameters(function);
    let statements = function.body.as_deref().unwrap_or_default();
    resolver.labels(statements);
    resolver.instructions(statements);
    if resolver.errors.is_empty() {
        Ok(resolver.body)
    } else {
        Err(resolver.errors)
    }
}

impl<'a> Resolver<'_, 'a> {
    fn parameters(&mut self, function: &Function<'a>) {
        if function.entry {
            for (number, parameter) in function.parameters.iter().enumerate() {
                let meaning = Meaning::Memory(Memory::Parameter(number));
                self.define(&parameter.name, meaning);
            }
            return;
        }
        for (list, result) in [(&function.parameters, false), (&function.results, true)] {
            for parameter in list {
                let formal = if parameter.space == VariableSpace::Register {
                    let id = self.register(parameter.name.text.to_owned(), parameter.width);
                    self.define(&parameter.name, Meaning::Register(id));
                    Formal::Register(id)
                } else {
                    Formal::Memory(self.variable(parameter))
                };
                if result {
                    self.body.results.push(formal);
                } else {
                    self.body.parameters.push(formal);
                }
            }
        }
    }

    fn register(&mut self, name: String, width: u16) -> RegisterId {
        let id = RegisterId(u32::try_from(self.body.registers.len()).unwrap_or(u32::MAX));
        self.body.registers.push(Register { name, width });
        id
    }

    /// The components of a vector are registers with consecutive numbers.
    fn registers(&mut self, name: &str, width: u16, vector: Option<u8>) -> Meaning {
        let Some(components) = vector else {
            return Meaning::Register(self.register(name.to_owned(), width));
        };
        let names = ["x", "y", "z", "w", "4", "5", "6", "7"];
        let first = self.register(format!("{name}.x"), width);
        for component in names.iter().take(usize::from(components)).skip(1) {
            self.register(format!("{name}.{component}"), width);
        }
        Meaning::Vector(first, components)
    }

    fn variable(&mut self, variable: &tree::Variable<'a>) -> usize {
        let number = self.body.variables.len();
        self.body.variables.push(variable.clone());
        self.define(&variable.name, Meaning::Memory(Memory::Own(number)));
        number
    }

    fn define(&mut self, name: &Name<'a>, meaning: Meaning) {
        if self.scopes[self.current]
            .names
            .insert(name.text, meaning)
            .is_some()
        {
            self.wrong(
                name.span.clone(),
                format!("`{}` is declared twice in this scope", name.text),
                "inline assembly that is written twice needs braces around its declarations",
            );
        }
    }

    fn wrong(&mut self, span: Range<usize>, message: String, hint: &str) {
        if self.errors.len() < MAX_ERRORS {
            self.errors
                .push(ReadError::new(self.text, span, message, hint));
        }
    }

    /// Opens the scopes in the order of the text, and declares the labels of each scope. Labels may be used before
    /// they are declared.
    fn labels(&mut self, statements: &[Statement<'a>]) {
        for statement in statements {
            match statement {
                Statement::Open => self.open(),
                Statement::Close => self.close(),
                Statement::Label(name) => {
                    let number = self.body.labels.len();
                    self.body.labels.push(name.text);
                    self.define(name, Meaning::Label(number));
                }
                Statement::BranchTargets(name, _) => {
                    let number = self.body.tables.len();
                    self.body.tables.push(Vec::new());
                    self.define(name, Meaning::Table(number));
                }
                Statement::CallTargets(name) => self.define(name, Meaning::Prototype),
                _ => {}
            }
        }
        self.current = 0;
    }

    /// Registers and variables are visible from their declaration on. Before it, the name belongs to an enclosing
    /// scope.
    fn declare(&mut self, width: u16, vector: Option<u8>, names: &[(Name<'a>, Option<u64>)]) {
        for (name, count) in names {
            if let Some(count) = count {
                self.scopes[self.current].families.push(Family {
                    prefix: name.text,
                    count: *count,
                    width,
                    vector,
                });
            } else {
                let meaning = self.registers(name.text, width, vector);
                self.define(name, meaning);
            }
        }
    }

    fn open(&mut self) {
        self.scopes.push(Scope {
            parent: Some(self.current),
            ..Scope::default()
        });
        self.current = self.scopes.len() - 1;
    }

    fn close(&mut self) {
        self.current = self.scopes[self.current].parent.unwrap_or(0);
    }

    fn instructions(&mut self, statements: &[Statement<'a>]) {
        let mut opened = 0;
        for statement in statements {
            match statement {
                Statement::Open => {
                    opened += 1;
                    self.current = opened;
                }
                Statement::Close => self.close(),
                Statement::Label(name) => {
                    if let Some(Meaning::Label(number)) = self.meaning(name.text) {
                        self.body.items.push(Item::Label(number));
                    }
                }
                Statement::BranchTargets(name, targets) => self.table(name, targets),
                Statement::Instruction(instruction) => self.instruction(instruction),
                Statement::Registers {
                    width,
                    vector,
                    names,
                } => self.declare(*width, *vector, names),
                Statement::Variables(variables) => {
                    for variable in variables {
                        self.variable(variable);
                    }
                }
                Statement::CallTargets(_) => {}
            }
        }
    }

    fn table(&mut self, name: &Name<'a>, targets: &[Name<'a>]) {
        let mut labels = Vec::new();
        for target in targets {
            match self.meaning(target.text) {
                Some(Meaning::Label(number)) => labels.push(number),
                _ => self.no_label(target),
            }
        }
        if let Some(Meaning::Table(number)) = self.meaning(name.text) {
            self.body.tables[number] = labels;
        }
    }

    fn no_label(&mut self, name: &Name<'a>) {
        self.wrong(
            name.span.clone(),
            format!("there is no label `{}` in this scope", name.text),
            "labels inside braces are not visible outside them",
        );
    }

    fn meaning(&mut self, name: &'a str) -> Option<Meaning> {
        let mut at = Some(self.current);
        while let Some(index) = at {
            if let Some(meaning) = self.scopes[index].names.get(name) {
                return Some(*meaning);
            }
            let family = self.scopes[index].families.iter().find(|family| {
                let number = name.strip_prefix(family.prefix);
                let digits = number.filter(|number| number.bytes().all(|b| b.is_ascii_digit()));
                digits
                    .and_then(|digits| digits.parse::<u64>().ok())
                    .is_some_and(|number| number < family.count)
            });
            if let Some(family) = family {
                let (width, vector) = (family.width, family.vector);
                let meaning = self.registers(name, width, vector);
                self.scopes[index].names.insert(name, meaning);
                return Some(meaning);
            }
            at = self.scopes[index].parent;
        }
        let variable = *self.globals.names.get(name)?;
        variable.map(|number| Meaning::Memory(Memory::Module(number)))
    }

    fn instruction(&mut self, instruction: &tree::Instruction<'a>) {
        let guard = match &instruction.guard {
            None => None,
            Some((name, negated)) => match self.predicate(name) {
                Some(register) => Some((register, *negated)),
                None => return,
            },
        };
        let branch = matches!(instruction.opcode, "bra" | "brx");
        let mut operands = Vec::with_capacity(instruction.operands.len());
        for operand in &instruction.operands {
            if branch
                && let tree::Operand::Name(name) = operand
                && !matches!(
                    self.meaning(name.text),
                    Some(Meaning::Label(_) | Meaning::Table(_) | Meaning::Register(_))
                )
            {
                self.no_label(name);
                return;
            }
            operands.push(self.operand(operand));
        }
        self.body.items.push(Item::Instruction(Instruction {
            guard,
            opcode: instruction.opcode,
            modifiers: instruction.modifiers.clone(),
            operands,
            line: instruction.line,
            place: instruction.place,
        }));
    }

    fn predicate(&mut self, name: &Name<'a>) -> Option<RegisterId> {
        match self.meaning(name.text) {
            Some(Meaning::Register(register)) => {
                let width = self.body.registers[register.0 as usize].width;
                if width != 1 {
                    self.wrong(
                        name.span.clone(),
                        format!("`{}` is no predicate but has {width} bits", name.text),
                        "predicates are declared with `.reg .pred`",
                    );
                }
                Some(register)
            }
            _ => {
                self.undeclared(name);
                None
            }
        }
    }

    fn undeclared(&mut self, name: &Name<'a>) {
        let hint = if name.text.starts_with('%') {
            "declare it with `.reg` in this scope or one around it"
        } else {
            "names are registers, labels, variables and functions that are declared"
        };
        let message = format!("`{}` is not declared", name.text);
        self.wrong(name.span.clone(), message, hint);
    }

    fn operand(&mut self, operand: &tree::Operand<'a>) -> Operand<'a> {
        match operand {
            tree::Operand::Name(name) => self.name(name),
            tree::Operand::Component(name, component) => self.component(name, component),
            tree::Operand::Not(name) => match self.predicate(name) {
                Some(register) => Operand::Not(register),
                None => Operand::Sink,
            },
            tree::Operand::Integer(value) => Operand::Integer(*value),
            tree::Operand::Float(bits, width) => Operand::Float(*bits, *width),
            tree::Operand::Offset(name, offset) => match self.name(name) {
                Operand::Variable(memory, _) => Operand::Variable(memory, *offset),
                _ => {
                    self.wrong(
                        name.span.clone(),
                        format!(
                            "`{}` is no variable, so nothing can be added to it",
                            name.text
                        ),
                        "registers and offsets are added inside of brackets only",
                    );
                    Operand::Sink
                }
            },
            tree::Operand::Address { base, offset, rest } => Operand::Address {
                base: Box::new(self.operand(base)),
                offset: *offset,
                rest: rest.iter().map(|part| self.operand(part)).collect(),
            },
            tree::Operand::Vector(parts) => {
                Operand::Vector(parts.iter().map(|part| self.operand(part)).collect())
            }
            tree::Operand::Pair(pair) => {
                let first = self.operand(&pair.0);
                Operand::Pair(Box::new((first, self.operand(&pair.1))))
            }
        }
    }

    fn name(&mut self, name: &Name<'a>) -> Operand<'a> {
        if name.text == "_" {
            return Operand::Sink;
        }
        match self.meaning(name.text) {
            Some(Meaning::Register(register)) => Operand::Register(register),
            Some(Meaning::Vector(first, components)) => Operand::Vector(
                (0..u32::from(components))
                    .map(|component| Operand::Register(RegisterId(first.0 + component)))
                    .collect(),
            ),
            Some(Meaning::Label(number)) => Operand::Label(number),
            Some(Meaning::Table(number)) => Operand::Table(number),
            Some(Meaning::Memory(memory)) => Operand::Variable(memory, 0),
            Some(Meaning::Prototype) => Operand::Name(name.text),
            None => {
                if let Some((special, width)) = special(name.text, None) {
                    return Operand::Special(special, width);
                }
                if !self.globals.names.contains_key(name.text) {
                    self.undeclared(name);
                }
                Operand::Name(name.text)
            }
        }
    }

    fn component(&mut self, name: &Name<'a>, component: &str) -> Operand<'a> {
        if let Some(Meaning::Vector(first, components)) = self.meaning(name.text) {
            let index = match component {
                "x" | "r" => 0,
                "y" | "g" => 1,
                "z" | "b" => 2,
                "w" | "a" => 3,
                _ => u8::MAX,
            };
            if index < components {
                return Operand::Register(RegisterId(first.0 + u32::from(index)));
            }
        }
        if let Some((special, width)) = special(name.text, Some(component)) {
            return Operand::Special(special, width);
        }
        self.wrong(
            name.span.clone(),
            format!("`{}` has no component `{component}`", name.text),
            "components are those of vector registers and of special registers as `%tid.x`",
        );
        Operand::Sink
    }
}
