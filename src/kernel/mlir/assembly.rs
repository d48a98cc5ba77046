//! Inline assembly. The PTX reader reads its text as the body of a kernel, and the blocks of this kernel replace the
//! operation.
//!
//! The operands of the assembly are registers of that kernel, with names of their own. A register that one piece of
//! assembly declares outside of braces is visible in later pieces, as in the text that the compiler writes.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::rc::Rc;

use super::lower::Lower;
use super::syntax::Item;
use super::syntax::Operation;
use super::types::Type;
use super::value::Value;
use super::value::parts_of;
use crate::ir::Block;
use crate::ir::BlockId;
use crate::ir::Kernel;
use crate::ir::Operand;
use crate::ir::RegisterId;
use crate::ir::Terminator;
use crate::ptx;

/// State that all pieces of assembly of one kernel share.
#[derive(Debug, Default)]
pub struct Shared {
    /// Declarations of registers outside of braces.
    declarations: Vec<String>,
    registers: HashMap<String, RegisterId>,
}

/// Names of the operands of a piece of assembly.
const PREFIX: &str = "wl_operand_";

/// An operand of the assembly: its name in the text, its width, and what it is.
struct Slot {
    placeholder: String,
    width: u16,
    floating: bool,
    /// Its initial value.
    initial: Option<Operand>,
}

impl<'a> Lower<'_, 'a> {
    pub fn assembly(&mut self, operation: &Operation<'a>) -> Option<()> {
        let texts: Vec<&str> = operation
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Text(text) => Some(*text),
                _ => None,
            })
            .collect();
        let text = unescape(texts.first()?);
        let slots = match operation.name {
            "llvm.inline_asm" => self.slots_by_constraints(operation, texts.get(1)?)?,
            "nvvm.inline_ptx" => self.slots_by_role(operation)?,
            _ => return None,
        };
        match self.splice(operation, &text, &slots) {
            Some(results) => {
                self.bind(operation, &results);
            }
            None => {
                let line = text.lines().find(|line| line.trim().len() > 1);
                let reason = format!("inline assembly: {}", line.unwrap_or("").trim());
                self.refuse(operation, &reason);
            }
        }
        Some(())
    }

    /// `"=r,r,l"`: results first, then operands in order.
    fn slots_by_constraints(
        &mut self,
        operation: &Operation<'a>,
        constraints: &str,
    ) -> Option<Vec<Slot>> {
        let values = self.operand_values(operation);
        let mut values = values.into_iter();
        let mut slots: Vec<Slot> = Vec::new();
        for constraint in constraints.split(',') {
            if constraint.is_empty() || constraint.starts_with('~') {
                continue;
            }
            let (output, code) = match constraint.strip_prefix('=') {
                Some(code) => (true, code.trim_start_matches('&')),
                None => (false, constraint),
            };
            let initial = if output {
                None
            } else {
                Some(*values.next()?.parts.first()?)
            };
            // A number ties an operand to a result: the operand is the initial value of the result.
            if let Ok(number) = code.parse::<usize>() {
                slots.get_mut(number)?.initial = initial;
                continue;
            }
            let (width, floating) = match code {
                "b" => (1, false),
                "c" | "h" => (16, false),
                "r" | "n" => (32, false),
                "l" => (64, false),
                "q" => (128, false),
                "f" => (32, true),
                "d" => (64, true),
                _ => return None,
            };
            slots.push(Slot {
                placeholder: format!("${}", slots.len()),
                width,
                floating,
                initial,
            });
        }
        Some(slots)
    }

    /// `ro(%a, %b : types)` with `{$r0}`, `-> types` with `{$w0}`.
    fn slots_by_role(&mut self, operation: &Operation<'a>) -> Option<Vec<Slot>> {
        let mut slots = Vec::new();
        let (_, after) = operation.types();
        for (number, ty) in after.unwrap_or_default().iter().enumerate() {
            slots.push(Slot {
                placeholder: format!("{{$w{number}}}"),
                width: *parts_of(ty)?.first()?,
                floating: ty.name.starts_with('f'),
                initial: None,
            });
        }
        if operation.has_word("rw") {
            return None;
        }
        let types = role_types(operation);
        for (number, value) in self.operand_values(operation).into_iter().enumerate() {
            let ty = types.get(number).unwrap_or(&value.ty);
            let width = *parts_of(ty)?.first()?;
            // An unknown value, such as two floating-point numbers in one word, is passed as well.
            let initial = match value.parts.first() {
                Some(known) => *known,
                None => self.build.opaque("data", Vec::new(), &[width], false)[0],
            };
            slots.push(Slot {
                placeholder: format!("{{$r{number}}}"),
                width,
                floating: ty.name.starts_with('f'),
                initial: Some(initial),
            });
        }
        Some(slots)
    }

    /// Inserts the blocks of the assembly, and returns the values of the results.
    fn splice(
        &mut self,
        operation: &Operation<'a>,
        text: &str,
        slots: &[Slot],
    ) -> Option<Vec<Operand>> {
        let mut body = text.to_owned();
        // The last slot is replaced first, because `$1` is a prefix of `$10`.
        for (number, slot) in slots.iter().enumerate().rev() {
            body = body.replace(&slot.placeholder, &format!("{PREFIX}{number}"));
        }
        // At the end of the text, the PTX reader assumes that the thread ends.
        let leaves = |word: &str| matches!(word, "exit" | "ret" | "call");
        if body
            .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$'))
            .any(leaves)
        {
            return None;
        }
        let own = declarations(&body);
        let mut source = String::from(
            ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry assembly()\n{\n",
        );
        for (number, slot) in slots.iter().enumerate() {
            let kind = match (slot.width, slot.floating) {
                (1, _) => "pred".to_owned(),
                (width, true) => format!("f{width}"),
                (width, false) => format!("b{width}"),
            };
            writeln!(source, ".reg .{kind} {PREFIX}{number};").ok()?;
        }
        for declaration in &self.shared.declarations {
            writeln!(source, "{declaration}").ok()?;
        }
        writeln!(source, "{}\n}}", body.replace("$$", "$")).ok()?;
        let mut kernels = ptx::read(&source).ok()?.kernels;
        let kernel = kernels.pop()?;
        if !kernel.parameters.is_empty() || !kernel.variables.is_empty() {
            return None;
        }
        let registers = self.registers(&kernel, slots);
        self.shared.declarations.extend(own);
        for (number, slot) in slots.iter().enumerate() {
            let register = find(&kernel, number).and_then(|id| registers.get(id.0 as usize));
            if let (Some(register), Some(initial)) = (register, slot.initial) {
                self.build.assign(*register, slot.width, initial);
            }
        }
        let results = (0..operation.results.len())
            .map(|number| {
                let id = find(&kernel, number)?;
                registers.get(id.0 as usize).copied().map(Operand::Register)
            })
            .collect::<Option<_>>();
        self.blocks_of(kernel, &registers);
        results
    }

    /// Creates a register of this kernel for each register of the assembly.
    fn registers(&mut self, kernel: &Kernel, slots: &[Slot]) -> Vec<RegisterId> {
        let mut out = Vec::new();
        for register in &kernel.registers {
            let shared = self
                .shared
                .declarations
                .iter()
                .any(|declaration| declares(declaration, &register.name));
            let known = self.shared.registers.get(&register.name).copied();
            let id = match known.filter(|_| shared) {
                Some(id) => id,
                None => {
                    let outer = std::mem::replace(&mut self.build.name, register.name.clone());
                    let id = self.build.register(register.width);
                    self.build.name = outer;
                    id
                }
            };
            out.push(id);
            if !is_slot(&register.name, slots.len()) {
                self.shared.registers.insert(register.name.clone(), id);
            }
        }
        out
    }

    fn blocks_of(&mut self, kernel: Kernel, registers: &[RegisterId]) {
        let location = self.build.location.clone();
        // Text without branches goes on in the same block.
        if let [block] = kernel.blocks.as_slice()
            && block.end == Terminator::Exit
        {
            for operation in &block.operations {
                let mut operation = operation.clone();
                operation.rename(&mut |register| {
                    if let Some(own) = registers.get(register.0 as usize) {
                        *register = *own;
                    }
                });
                self.build.append(operation);
            }
            return;
        }
        let first = self.build.kernel.blocks.len();
        let behind = first + kernel.blocks.len();
        let id = |number: usize| BlockId(u32::try_from(number).unwrap_or(u32::MAX));
        self.build.end(Terminator::Jump(id(first)));
        let mut register = |register: &mut RegisterId| {
            if let Some(own) = registers.get(register.0 as usize) {
                *register = *own;
            }
        };
        for mut block in kernel.blocks {
            for operation in &mut block.operations {
                operation.location = location.clone();
                operation.rename(&mut register);
            }
            match &mut block.end {
                Terminator::Jump(target) => target.0 = shifted(*target, first),
                Terminator::Branch {
                    condition,
                    then,
                    otherwise,
                } => {
                    if let Operand::Register(id) = condition {
                        register(id);
                    }
                    then.0 = shifted(*then, first);
                    otherwise.0 = shifted(*otherwise, first);
                }
                Terminator::Switch { index, targets } => {
                    if let Operand::Register(id) = index {
                        register(id);
                    }
                    for target in targets {
                        target.0 = shifted(*target, first);
                    }
                }
                Terminator::Exit => block.end = Terminator::Jump(id(behind)),
                Terminator::Trap => {}
            }
            self.build.kernel.blocks.push(Block {
                label: format!("assembly_{}", self.build.kernel.blocks.len()),
                location: location.clone(),
                ..block
            });
        }
        let behind = self.build.block("behind");
        self.build.enter(behind);
    }

    fn bind(&mut self, operation: &Operation<'a>, results: &[Operand]) {
        for (index, operand) in results.iter().enumerate() {
            let ty = self
                .result_type(operation, index)
                .unwrap_or_else(|| Type::new("unknown", ""));
            if let Some(id) = operation.results.get(index) {
                self.define(*id, Value::new(ty, vec![*operand]));
            }
        }
    }
}

/// The types of `ro(%a, %b : types)`, which stand in the brackets.
fn role_types(operation: &Operation<'_>) -> Vec<Rc<Type>> {
    let groups = operation.items.iter().filter_map(|item| match item {
        Item::Group(group) if group.open == '(' => Some(&group.items),
        _ => None,
    });
    let types = groups.flatten().filter_map(|item| match item {
        Item::Type(ty) => Some(ty.clone()),
        _ => None,
    });
    types.collect()
}

fn shifted(target: BlockId, by: usize) -> u32 {
    target
        .0
        .saturating_add(u32::try_from(by).unwrap_or(u32::MAX))
}

fn is_slot(name: &str, count: usize) -> bool {
    (0..count).any(|number| name == format!("{PREFIX}{number}"))
}

fn find(kernel: &Kernel, number: usize) -> Option<RegisterId> {
    let name = format!("{PREFIX}{number}");
    let at = kernel
        .registers
        .iter()
        .position(|register| register.name == name)?;
    Some(RegisterId(u32::try_from(at).ok()?))
}

/// `.reg` statements outside of braces.
fn declarations(text: &str) -> Vec<String> {
    let mut depth = 0_u32;
    let mut out = Vec::new();
    for statement in text.split_inclusive(['{', '}', ';']) {
        let trimmed = statement.trim();
        if depth == 0 && trimmed.starts_with(".reg") && trimmed.ends_with(';') {
            out.push(trimmed.to_owned());
        }
        if statement.ends_with('{') {
            depth += 1;
        } else if statement.ends_with('}') {
            depth = depth.saturating_sub(1);
        }
    }
    out
}

/// Whether a `.reg` statement declares a name, possibly in the form `name<count>`.
fn declares(declaration: &str, name: &str) -> bool {
    let names = declaration.trim_end_matches(';').split_whitespace().skip(2);
    names
        .flat_map(|part| part.split(','))
        .any(|declared| match declared.trim().split_once('<') {
            Some((prefix, _)) => name
                .strip_prefix(prefix)
                .is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit())),
            None => declared.trim() == name,
        })
}

/// `\0A`, `\n`, `\"`.
fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let behind = &rest[at + 1..];
        let hex = behind
            .get(..2)
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if let Some(byte) = hex {
            out.push(char::from(byte));
            rest = &behind[2..];
            continue;
        }
        let mut chars = behind.chars();
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some(other) => out.push(other),
            None => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out
}
