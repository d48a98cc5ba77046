//! Calls of functions of the same text, written out: what a function does is followed where it is called.
//! Its registers, labels and shared variables are its own; parameters, which are memory of their own in
//! PTX, become registers, where they are not registers anyway. Calls that go round in a circle, through a register, under a predicate or
//! with parameters in pieces of less than 4 bytes are left as they are, and refused where they are met. A parameter
//! is a register for each offset and size: what is written in one size is not known in another.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::ast::Function;
use super::ast::Instruction;
use super::ast::Module;
use super::ast::Operand;
use super::ast::Parameter;
use super::ast::Register;

/// The most instructions of a kernel with everything that it calls.
const MOST_INSTRUCTIONS: usize = 1 << 20;

/// The function with its calls written out.
pub(in crate::ptx) fn inlined<'f, 'a>(
    module: &Module<'a>,
    function: &'f Function<'a>,
) -> Cow<'f, Function<'a>> {
    if !function.code.iter().any(|i| called(module, i).is_some()) {
        return Cow::Borrowed(function);
    }
    if size(module, function, &mut BTreeMap::new()) > MOST_INSTRUCTIONS {
        return Cow::Borrowed(function);
    }
    match expanded(module, function, &mut Vec::new()) {
        Some(whole) => Cow::Owned(whole),
        None => Cow::Borrowed(function),
    }
}

/// How many instructions a function has at least with its calls written out. It is known before they are, as they may be as many
/// as two to the power of the functions.
fn size<'a>(
    module: &Module<'a>,
    function: &Function<'a>,
    known: &mut BTreeMap<&'a str, usize>,
) -> usize {
    if let Some(size) = known.get(function.name) {
        return *size;
    }
    // One that calls itself is not written out.
    known.insert(function.name, 0);
    let mut all = 0_usize;
    for instruction in &function.code {
        let inside = called(module, instruction).map_or(1, |other| size(module, other, known));
        all = all.saturating_add(inside);
    }
    known.insert(function.name, all);
    all
}

/// The function that an instruction calls, if its body is here.
fn called<'m, 'a>(module: &'m Module<'a>, call: &Instruction<'a>) -> Option<&'m Function<'a>> {
    if call.parts().next() != Some("call") || call.guard.is_some() {
        return None;
    }
    let name = call.operands.iter().find_map(|o| match o {
        Operand::Name(name) => Some(*name),
        _ => None,
    })?;
    let mut functions = module.functions.iter();
    functions.find(|f| !f.entry && f.name == name)
}

/// What stands in a list of arguments.
fn listed<'a>(operand: Option<&Operand<'a>>) -> Option<Vec<Operand<'a>>> {
    match operand {
        None => Some(Vec::new()),
        Some(Operand::Vector(parts)) => Some(parts.clone()),
        Some(_) => None,
    }
}

/// The name of what is passed in memory, or the value of what is passed in a register.
enum Passed<'a> {
    Name(&'a str),
    Value(Register, Operand<'a>),
}

fn passed<'a>(own: &Parameter<'a>, outside: &Operand<'a>, registers: u32) -> Option<Passed<'a>> {
    match (own.register, outside) {
        (None, Operand::Name(name)) => Some(Passed::Name(name)),
        (Some(own), Operand::Register(_) | Operand::Integer(_)) => {
            Some(Passed::Value(Register(own.0 + registers), outside.clone()))
        }
        _ => None,
    }
}

/// Moves a value of the type of a parameter.
fn move_of<'a>(
    own: &Parameter<'a>,
    call: &Instruction<'a>,
    to: Operand<'a>,
    from: Operand<'a>,
) -> Option<Instruction<'a>> {
    let opcode = match own.kind {
        ".pred" => "mov.pred",
        ".b16" | ".u16" | ".s16" => "mov.b16",
        ".b32" | ".u32" | ".s32" | ".f32" => "mov.b32",
        ".b64" | ".u64" | ".s64" | ".f64" => "mov.b64",
        _ => return None,
    };
    Some(Instruction {
        opcode,
        operands: vec![to, from],
        ..call.clone()
    })
}

/// Nothing where calls go round in a circle, or where it would be too much.
fn expanded<'a>(
    module: &Module<'a>,
    function: &Function<'a>,
    open: &mut Vec<&'a str>,
) -> Option<Function<'a>> {
    if open.contains(&function.name) {
        return None;
    }
    open.push(function.name);
    let mut whole = Function {
        code: Vec::with_capacity(function.code.len()),
        ..function.clone()
    };
    let mut memory = Memory::default();
    // Where each instruction went.
    let mut places = Vec::with_capacity(function.code.len() + 1);
    for instruction in &function.code {
        places.push(whole.code.len());
        match called(module, instruction) {
            None => whole.code.push(instruction.clone()),
            Some(other) => {
                let inside = expanded(module, other, open)?;
                written_out(&mut whole, &inside, instruction, &mut memory)?;
            }
        }
        if whole.code.len() > MOST_INSTRUCTIONS {
            return None;
        }
    }
    places.push(whole.code.len());
    for (target, old) in whole.targets.iter_mut().zip(&function.targets) {
        *target = places.get(*old).copied().unwrap_or(*old);
    }
    // By its name alone what is passed is not told apart from a parameter of the caller's own.
    let mut own = function.parameters.iter().chain(&function.results);
    if own.any(|p| memory.1.contains(&p.name)) {
        return None;
    }
    // What is passed to functions, and what they give back.
    let own: Vec<&str> = memory.0.keys().map(|(name, ..)| *name).collect();
    let passed: Vec<&str> = memory.1.iter().copied().chain(own).collect();
    let mut code = std::mem::take(&mut whole.code);
    for instruction in &mut code {
        moved(instruction, &mut whole, &mut memory, &|name| {
            passed.contains(&name).then_some(name)
        })?;
    }
    whole.code = code;
    in_pieces(&mut whole, &memory);
    open.pop();
    Some(whole)
}

/// What a parameter that is read in another size than it was written in is taken to be computed by.
const IN_PIECES: &str = "a parameter in pieces of several sizes";

/// Loses, where some of a parameter is written, what is read of it in other sizes.
fn in_pieces<'a>(whole: &mut Function<'a>, memory: &Memory<'a>) {
    let lost: BTreeMap<Register, Vec<Register>> = memory
        .0
        .values()
        .map(|register| (*register, memory.overlapping(*register)))
        .filter(|(_, others)| !others.is_empty())
        .collect();
    if lost.is_empty() {
        return;
    }
    let mut places = Vec::with_capacity(whole.code.len() + 1);
    let mut code = Vec::with_capacity(whole.code.len());
    for instruction in std::mem::take(&mut whole.code) {
        places.push(code.len());
        let others = match instruction.operands.as_slice() {
            [Operand::Register(to), _] => lost.get(to).cloned(),
            _ => None,
        };
        let losing = others.into_iter().flatten().map(|other| Instruction {
            opcode: IN_PIECES,
            operands: vec![Operand::Register(other)],
            ..instruction.clone()
        });
        let losing: Vec<Instruction<'a>> = losing.collect();
        code.push(instruction);
        code.extend(losing);
    }
    places.push(code.len());
    for target in &mut whole.targets {
        *target = places.get(*target).copied().unwrap_or(*target);
    }
    whole.code = code;
}

/// Registers in the place of parameters, by name, offset and size; and the names.
#[derive(Default)]
struct Memory<'a>(BTreeMap<(&'a str, i64, i64), Register>, Vec<&'a str>);

impl<'a> Memory<'a> {
    fn register(&mut self, part: (&'a str, i64, i64), whole: &mut Function<'a>) -> Register {
        *self.0.entry(part).or_insert_with(|| {
            whole.registers.push(part.0);
            Register(u32::try_from(whole.registers.len() - 1).unwrap_or(u32::MAX))
        })
    }

    /// The other registers in which there is some of what lies in this one.
    fn overlapping(&self, register: Register) -> Vec<Register> {
        let own = self.0.iter().find(|(_, r)| **r == register);
        let Some(((name, from, size), _)) = own else {
            return Vec::new();
        };
        let others = self.0.iter().filter(|((other, start, bytes), r)| {
            **r != register && other == name && *start < from + size && *from < start + bytes
        });
        others.map(|(_, r)| *r).collect()
    }
}

/// A load or store of a parameter of a call as a move.
fn moved<'a>(
    instruction: &mut Instruction<'a>,
    whole: &mut Function<'a>,
    memory: &mut Memory<'a>,
    outside: &dyn Fn(&'a str) -> Option<&'a str>,
) -> Option<()> {
    let loads = instruction.opcode.starts_with("ld.param");
    if !loads && !instruction.opcode.starts_with("st.param") {
        return Some(());
    }
    let place = usize::from(loads);
    let Some(Operand::Address { base, offset, .. }) = instruction.operands.get(place) else {
        return Some(());
    };
    let (Operand::Name(name), offset) = (&**base, *offset) else {
        return Some(());
    };
    let Some(name) = outside(name) else {
        return Some(());
    };
    let value = instruction.operands.get(1 - place)?.clone();
    if matches!(value, Operand::Vector(_)) {
        return None;
    }
    let (opcode, size) = match instruction.opcode.rsplit('.').next()? {
        "b32" | "u32" | "s32" | "f32" => ("mov.b32", 4),
        "b64" | "u64" | "s64" | "f64" => ("mov.b64", 8),
        _ => return None,
    };
    let register = Operand::Register(memory.register((name, offset, size), whole));
    instruction.opcode = opcode;
    instruction.operands = if loads {
        vec![value, register]
    } else {
        vec![register, value]
    };
    Some(())
}

/// Puts the code of a function in the place of a call.
fn written_out<'a>(
    whole: &mut Function<'a>,
    inside: &Function<'a>,
    call: &Instruction<'a>,
    memory: &mut Memory<'a>,
) -> Option<()> {
    // `call (results), name, (arguments);`, either list may be missing.
    let at = call
        .operands
        .iter()
        .position(|o| matches!(o, Operand::Name(_)))?;
    let results = listed(call.operands.first().filter(|_| at > 0))?;
    let given = listed(call.operands.get(at + 1))?;
    let mut theirs: BTreeMap<&str, &str> = BTreeMap::new();
    if given.len() != inside.parameters.len() || results.len() != inside.results.len() {
        return None;
    }
    let registers = u32::try_from(whole.registers.len()).ok()?;
    let mut behind_it = Vec::new();
    for (own, outside) in inside.parameters.iter().zip(&given) {
        match passed(own, outside, registers)? {
            Passed::Name(name) => _ = theirs.insert(own.name, name),
            Passed::Value(register, value) => {
                let before = move_of(own, call, Operand::Register(register), value)?;
                whole.code.push(before);
            }
        }
    }
    for (own, outside) in inside.results.iter().zip(&results) {
        match passed(own, outside, registers)? {
            Passed::Name(name) => _ = theirs.insert(own.name, name),
            Passed::Value(register, value) => {
                behind_it.push(move_of(own, call, value, Operand::Register(register))?);
            }
        }
    }
    memory.1.extend(theirs.values());
    let targets = u32::try_from(whole.targets.len()).ok()?;
    let start = whole.code.len();
    whole.registers.extend(&inside.registers);
    for variable in &inside.shared {
        if !whole.shared.contains(variable) {
            whole.shared.push(variable.clone());
        }
    }
    // Another variable of the same name is another one: where it is declared tells them apart.
    for variable in &inside.local {
        let mut known = whole.local.iter();
        if !known.any(|v| std::ptr::eq(v.name, variable.name)) {
            whole.local.push(variable.clone());
        }
    }
    // Places inside, and the one after, are final: the caller's are put right later.
    whole
        .targets
        .extend(inside.targets.iter().map(|t| t + start));
    whole.targets.push(start + inside.code.len());
    let behind = Operand::Target(u32::try_from(whole.targets.len() - 1).ok()?);
    let mut code = Vec::with_capacity(inside.code.len());
    for instruction in &inside.code {
        let mut one = instruction.clone();
        if let Some((register, _)) = &mut one.guard {
            register.0 += registers;
        }
        for operand in &mut one.operands {
            shifted(operand, registers, targets);
        }
        if one.parts().next() == Some("ret") {
            one.opcode = "bra";
            one.operands = vec![behind.clone()];
        }
        moved(&mut one, whole, memory, &|name| theirs.get(name).copied())?;
        code.push(one);
    }
    // A place after the last instruction has to exist.
    whole.code.extend(code);
    whole.code.extend(behind_it);
    Some(())
}

fn shifted(operand: &mut Operand<'_>, registers: u32, targets: u32) {
    match operand {
        Operand::Register(register) | Operand::Not(register) => register.0 += registers,
        Operand::Target(target) => *target += targets,
        Operand::Address { base, rest, .. } => {
            shifted(base, registers, targets);
            for part in rest {
                shifted(part, registers, targets);
            }
        }
        Operand::Vector(parts) => {
            for part in parts {
                shifted(part, registers, targets);
            }
        }
        Operand::Pair(pair) => {
            shifted(&mut pair.0, registers, targets);
            shifted(&mut pair.1, registers, targets);
        }
        Operand::Integer(_) | Operand::Float | Operand::Name(_) => {}
    }
}
