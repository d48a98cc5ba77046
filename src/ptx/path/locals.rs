//! Local variables that are taken apart into registers: what a function is given by reference, as the stage and the
//! phase of a ring, lies in memory of the thread. Nobody else can reach that memory. Where every address of a
//! variable is known by its offset, and it is given to nobody who is not followed, what lies at an offset is a
//! register like any other. Functions that are called have been written out before.
//!
//! What is written is cut off as the type of the store says, and what is read is extended as that of the load does.
//! A part that is read or written in pieces of several sizes stays in memory, and so does a variable with an address
//! that is not known, or whose name is declared a second time anywhere in the text, as that of a shared variable, a
//! parameter or another function's: what is read there is not followed.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::flow::Flow;
use crate::ptx::syntax::ast::Function;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::syntax::ast::Module;
use crate::ptx::syntax::ast::Operand;
use crate::ptx::syntax::ast::Register;
use crate::ptx::warp::evaluate::destinations;
use crate::ptx::warp::statement::Obstacle;

/// Where a register points: into which variable, and at which offset where that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pointer<'a> {
    variable: &'a str,
    offset: Option<i64>,
}

type Pointers<'a> = BTreeMap<Register, Pointer<'a>>;

/// A part of a variable: its offset and its size in bytes.
type Part<'a> = (&'a str, i64, i64);

/// The function with its local variables in registers, as far as that is certain.
pub(in crate::ptx) fn in_registers<'f, 'a>(
    module: &Module<'a>,
    function: Cow<'f, Function<'a>>,
) -> Result<Cow<'f, Function<'a>>, Obstacle> {
    if function.local.is_empty() {
        return Ok(function);
    }
    let flow = Flow::of(&function)?;
    let names = function.local.iter().map(|v| v.name);
    // By its name alone it is not told apart from what else has it.
    let twice = |name: &&str| module.declared.iter().filter(|n| *n == name).count() > 1;
    let mut look = Look {
        function: &function,
        kept: names.filter(twice).collect(),
        accesses: BTreeMap::new(),
        written: [BTreeSet::new(), BTreeSet::new()],
        here: BTreeSet::new(),
    };
    let entries = look.all(&flow);
    // Once more, with all that is written where.
    for (number, mut pointers) in entries {
        look.block(&flow, number, &mut pointers);
    }
    let parts = look.parts();
    if parts.is_empty() {
        return Ok(function);
    }
    let accesses = look.accesses;
    let mut whole = Function {
        code: Vec::with_capacity(function.code.len()),
        ..Function::clone(&function)
    };
    let mut registers: BTreeMap<Part<'a>, Register> = BTreeMap::new();
    for part in &parts {
        whole.registers.push(part.0);
        let number = u32::try_from(whole.registers.len() - 1).unwrap_or(u32::MAX);
        registers.insert(*part, Register(number));
    }
    let mut places = Vec::with_capacity(function.code.len() + 1);
    for (number, instruction) in function.code.iter().enumerate() {
        places.push(whole.code.len());
        let found = accesses.get(&number).map_or(&[][..], Vec::as_slice);
        let own: Option<Vec<Register>> = found.iter().map(|p| registers.get(p).copied()).collect();
        match own.filter(|own| !own.is_empty()) {
            Some(own) => whole.code.extend(moves(instruction, &own)),
            None => whole.code.push(instruction.clone()),
        }
    }
    places.push(whole.code.len());
    for (target, old) in whole.targets.iter_mut().zip(&function.targets) {
        *target = places.get(*old).copied().unwrap_or(*old);
    }
    Ok(Cow::Owned(whole))
}

/// A load or store as moves from or to registers.
fn moves<'a>(instruction: &Instruction<'a>, registers: &[Register]) -> Vec<Instruction<'a>> {
    let loads = instruction.parts().next() == Some("ld");
    let value = instruction.operands.get(usize::from(!loads));
    let values: Vec<Operand<'a>> = match value {
        Some(Operand::Vector(all)) => all.clone(),
        Some(one) => vec![one.clone()],
        None => Vec::new(),
    };
    let opcode = match (instruction.parts().last().unwrap_or_default(), loads) {
        ("u8" | "b8", _) => "cvt.u32.u8",
        ("s8", _) => "cvt.s32.s8",
        ("u16" | "b16", _) => "cvt.u32.u16",
        ("s16", _) => "cvt.s32.s16",
        // A register may be wider than what is loaded.
        ("u32" | "b32", true) => "cvt.u64.u32",
        ("s32", true) => "cvt.s64.s32",
        ("b64" | "u64" | "s64" | "f64", _) => "mov.b64",
        _ => "mov.b32",
    };
    let one = |(value, register): (Operand<'a>, &Register)| {
        let register = Operand::Register(*register);
        Instruction {
            opcode,
            operands: if loads {
                vec![value, register]
            } else {
                vec![register, value]
            },
            ..instruction.clone()
        }
    };
    values.into_iter().zip(registers).map(one).collect()
}

/// The sizes of the parts that a load or store is about.
fn sizes(instruction: &Instruction<'_>) -> Option<Vec<i64>> {
    let kind = instruction.parts().last()?;
    let digits = kind.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let bits: i64 = digits.parse().ok()?;
    if !matches!(bits, 8 | 16 | 32 | 64) {
        return None;
    }
    let vector = ["v2", "v4", "v8"].iter().find(|v| instruction.has(v));
    let count = vector.map_or(Some(1), |v| v[1..].parse().ok())?;
    Some(vec![bits / 8; count])
}

/// The register that an operand is, or that its address is in.
fn base(operand: &Operand<'_>) -> Option<Register> {
    match operand {
        Operand::Register(register) | Operand::Not(register) => Some(*register),
        Operand::Address { base: inside, .. } => base(inside),
        _ => None,
    }
}

struct Look<'f, 'a> {
    function: &'f Function<'a>,
    /// Variables that stay in memory.
    kept: BTreeSet<&'a str>,
    /// What each load and store is about.
    accesses: BTreeMap<usize, Vec<Part<'a>>>,
    /// Registers that something else is written to somewhere, and those that a pointer is.
    written: [BTreeSet<Register>; 2],
    /// Registers that have been written in this block.
    here: BTreeSet<Register>,
}

impl<'a> Look<'_, 'a> {
    /// Follows pointers through the control flow until nothing new is found.
    fn all(&mut self, flow: &Flow) -> BTreeMap<usize, Pointers<'a>> {
        let mut entries: BTreeMap<usize, Pointers<'a>> = BTreeMap::from([(0, Pointers::new())]);
        let mut open = vec![0];
        while let Some(number) = open.pop() {
            let mut pointers = entries.get(&number).cloned().unwrap_or_default();
            self.block(flow, number, &mut pointers);
            for next in flow.next(number) {
                let new = !entries.contains_key(&next);
                let entry = entries.entry(next).or_default();
                if self.joined(entry, &pointers) || new {
                    open.push(next);
                }
            }
        }
        entries
    }

    fn block(&mut self, flow: &Flow, number: usize, pointers: &mut Pointers<'a>) {
        self.here.clear();
        let code = flow.blocks.get(number).map(|b| b.code.clone());
        // A branch at the end uses no pointer.
        for index in code.into_iter().flatten() {
            self.step(index, pointers);
        }
    }

    /// Adds what is known on one more way. Returns whether that changes something.
    fn joined(&mut self, entry: &mut Pointers<'a>, more: &Pointers<'a>) -> bool {
        let mut changed = false;
        for (register, pointer) in more {
            match entry.get_mut(register) {
                None => {
                    entry.insert(*register, *pointer);
                    changed = true;
                }
                Some(known) if known == pointer => {}
                Some(known) => {
                    if known.variable != pointer.variable {
                        self.kept.insert(known.variable);
                        self.kept.insert(pointer.variable);
                    }
                    changed |= known.offset.is_some();
                    known.offset = None;
                }
            }
        }
        changed
    }

    fn pointer(&self, operand: &Operand<'a>, pointers: &Pointers<'a>) -> Option<Pointer<'a>> {
        match operand {
            Operand::Register(register) | Operand::Not(register) => pointers.get(register).copied(),
            Operand::Name(name) => {
                let mut local = self.function.local.iter();
                local.any(|v| v.name == *name).then_some(Pointer {
                    variable: name,
                    offset: Some(0),
                })
            }
            Operand::Address { base, offset, .. } => {
                let pointer = self.pointer(base, pointers)?;
                Some(Pointer {
                    offset: pointer.offset.and_then(|o| o.checked_add(*offset)),
                    ..pointer
                })
            }
            // Several at once go nowhere that is followed.
            Operand::Vector(_) | Operand::Pair(_) => None,
            Operand::Integer(_) | Operand::Float | Operand::Target(_) => None,
        }
    }

    /// The variables of all pointers that stand together in an operand, or as coordinates after one.
    fn together(&self, operand: &Operand<'a>, pointers: &Pointers<'a>) -> Vec<&'a str> {
        let mut found = Vec::new();
        let parts = match operand {
            Operand::Vector(all) => all.iter().collect(),
            Operand::Pair(two) => vec![&two.0, &two.1],
            Operand::Address { base, rest, .. } => {
                found = self.together(base, pointers);
                rest.iter().collect()
            }
            _ => Vec::new(),
        };
        for part in parts {
            found.extend(self.together(part, pointers));
            found.extend(self.pointer(part, pointers).map(|p| p.variable));
        }
        found
    }

    fn step(&mut self, index: usize, pointers: &mut Pointers<'a>) {
        let Some(instruction) = self.function.code.get(index) else {
            return;
        };
        let written: Vec<Register> = destinations(instruction).into_iter().flatten().collect();
        let name = instruction.parts().next().unwrap_or_default();
        let read = instruction.operands.get(usize::from(!written.is_empty())..);
        let read = read.unwrap_or_default();
        for operand in read {
            let all = self.together(operand, pointers);
            self.kept.extend(all);
        }
        // A register that comes from elsewhere and may hold something else is no certain pointer.
        for operand in read {
            if let Some(pointer) = self.pointer(operand, pointers)
                && let Some(register) = base(operand)
                && !self.here.contains(&register)
                && self.written.iter().all(|all| all.contains(&register))
            {
                self.kept.insert(pointer.variable);
            }
        }
        let found: Vec<Option<Pointer<'a>>> = read
            .iter()
            .map(|operand| self.pointer(operand, pointers))
            .collect();
        let mut made = None;
        match (name, read) {
            ("mov" | "cvta", [one]) if written.len() == 1 && !matches!(one, Operand::Vector(_)) => {
                made = found.first().copied().flatten();
            }
            ("add", [_, Operand::Integer(by)]) => {
                made = found.first().copied().flatten().map(|pointer| Pointer {
                    offset: pointer.offset.and_then(|o| o.checked_add(*by)),
                    ..pointer
                });
            }
            ("ld", [_]) if !instruction.has("param") => {
                self.access(index, instruction, found.first().copied().flatten());
            }
            ("st", [_, _]) => {
                self.access(index, instruction, found.first().copied().flatten());
                let value = found.get(1).copied().flatten();
                self.kept.extend(value.map(|p| p.variable));
            }
            ("setp", _) => {}
            _ => {
                // What is done with it is not followed.
                self.kept
                    .extend(found.into_iter().flatten().map(|p| p.variable));
            }
        }
        for register in written {
            // Under a predicate it may be what it was.
            if instruction.guard.is_some() {
                let old = pointers.get(&register).copied();
                if old != made {
                    self.kept
                        .extend([old, made].into_iter().flatten().map(|p| p.variable));
                }
            }
            self.here.insert(register);
            self.written[usize::from(made.is_some())].insert(register);
            match made {
                Some(pointer) => pointers.insert(register, pointer),
                None => pointers.remove(&register),
            };
        }
    }

    fn access(
        &mut self,
        index: usize,
        instruction: &Instruction<'a>,
        pointer: Option<Pointer<'a>>,
    ) {
        let Some(pointer) = pointer else { return };
        let (Some(mut from), Some(sizes)) = (pointer.offset, sizes(instruction)) else {
            self.kept.insert(pointer.variable);
            return;
        };
        let mut parts = Vec::new();
        for size in sizes {
            parts.push((pointer.variable, from, size));
            from = from.saturating_add(size);
        }
        // Where a place is come to with several pointers, the variable stays in memory.
        let other = self.accesses.insert(index, parts.clone());
        if other.is_some_and(|other| other != parts) {
            self.kept.insert(pointer.variable);
        }
    }

    /// The parts that become registers.
    fn parts(&self) -> BTreeSet<Part<'a>> {
        let all: BTreeSet<Part<'a>> = self.accesses.values().flatten().copied().collect();
        let apart = |part: &Part<'a>| {
            let mut others = all
                .iter()
                .filter(|other| *other != part && other.0 == part.0);
            others.all(|other| {
                other.1.saturating_add(other.2) <= part.1
                    || part.1.saturating_add(part.2) <= other.1
            })
        };
        let mut whole: BTreeSet<Part<'a>> = all.iter().copied().filter(apart).collect();
        whole.retain(|part| !self.kept.contains(part.0));
        // What is written together stays together.
        for parts in self.accesses.values() {
            if !parts.iter().all(|part| whole.contains(part)) {
                whole.retain(|part| !parts.contains(part));
            }
        }
        whole
    }
}
