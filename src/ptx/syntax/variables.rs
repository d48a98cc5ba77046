//! Variables of a module that the host shares with a kernel, as parameters of the kernel.
//!
//! What lies in constant memory is set before the launch and stays as it is, so it is read like a parameter that is
//! given by value. The address of a variable in global memory is a number that the kernel is given, like a pointer.
//! Only variables without a value of their own, or with 0, are taken: what a kernel waits for is taken to be 0 when it
//! is launched, and what the host may change is no number that could be relied on.
//!
//! A name that is declared a second time anywhere in the text may mean something else in the kernel: it stays as it is.

use std::borrow::Cow;

use super::ast::Function;
use super::ast::Instruction;
use super::ast::Module;
use super::ast::Operand;
use super::ast::Parameter;
use super::ast::Register;
use super::ast::Variable;
use super::parse::number;
use super::parse::width_of;

/// The kind of a parameter that is where a variable lies: an address like any other, but no number that could be chosen.
pub(in crate::ptx) const ADDRESS: &str = ".global";

/// The variable that a declaration of a module is about, as in `.align 4 .u32 count = 0`; none where it has a value or
/// is of a form that is not read.
pub(super) fn plain(text: &str) -> Option<Variable<'_>> {
    let (declared, value) = match text.split_once('=') {
        Some((declared, value)) => (declared, value),
        None => (text, ""),
    };
    let zero = |c: char| c == '0' || c.is_whitespace() || "{},;".contains(c);
    if !value.chars().all(zero) || declared.contains(['(', ',']) {
        return None;
    }
    let (before, extents) = match declared.find('[') {
        Some(at) => declared.split_at(at),
        None => (declared, ""),
    };
    let mut words = before.trim_end_matches([' ', ';', '\n']).split_whitespace();
    let (mut bytes, mut align, mut name) = (None, 1, None);
    while let Some(word) = words.next() {
        match word {
            ".align" => align = u64::try_from(number(words.next()?)?).ok()?,
            word if word.starts_with('.') => bytes = bytes.or(width_of(word)),
            word => name = name.xor(Some(word)),
        }
    }
    let mut bytes = bytes?;
    for extent in extents.split('[').skip(1) {
        let extent = extent.split(']').next()?.trim();
        let extent = if extent.is_empty() {
            0
        } else {
            u64::try_from(number(extent)?).ok()?
        };
        bytes = bytes.checked_mul(extent)?;
    }
    Some(Variable {
        name: name?,
        bytes,
        align: align.max(1),
    })
}

/// The function, with the variables that it uses among its parameters.
pub(in crate::ptx) fn given<'f, 'a>(
    module: &Module<'a>,
    function: Cow<'f, Function<'a>>,
) -> Cow<'f, Function<'a>> {
    let once = |v: &&Variable<'a>| {
        let mut names = module.declared.iter().filter(|n| **n == v.name);
        names.next().is_some() && names.next().is_none()
    };
    let used = |v: &&Variable<'a>| {
        let mut operands = function.code.iter().flat_map(|i| &i.operands);
        operands.any(|o| mentions(o, v.name))
    };
    let wanted = |all: &'_ [Variable<'a>]| -> Vec<Variable<'a>> {
        all.iter().filter(once).filter(used).cloned().collect()
    };
    let (globals, constants) = (wanted(&module.globals), wanted(&module.constants));
    if globals.is_empty() && constants.is_empty() {
        return function;
    }
    let mut whole = function.into_owned();
    for constant in constants {
        whole.parameters.push(Parameter {
            name: constant.name,
            kind: ".b8",
            bytes: constant.bytes,
            register: None,
        });
    }
    let Some(first) = whole.code.first().cloned() else {
        return Cow::Owned(whole);
    };
    let mut loads = Vec::new();
    for global in globals {
        whole.parameters.push(Parameter {
            name: global.name,
            kind: ADDRESS,
            bytes: 8,
            register: None,
        });
        let register = Register(u32::try_from(whole.registers.len()).unwrap_or(u32::MAX));
        whole.registers.push(global.name);
        for operand in whole.code.iter_mut().flat_map(|i| &mut i.operands) {
            put(operand, global.name, &Operand::Register(register));
        }
        loads.push(Instruction {
            guard: None,
            opcode: "ld.param.u64",
            operands: vec![
                Operand::Register(register),
                Operand::Address {
                    base: Box::new(Operand::Name(global.name)),
                    offset: 0,
                    rest: Vec::new(),
                },
            ],
            ..first.clone()
        });
    }
    for target in &mut whole.targets {
        *target += loads.len();
    }
    whole.code.splice(0..0, loads);
    Cow::Owned(whole)
}

/// The function with one name for the shared memory whose size the launch decides: all such variables begin at one
/// address, so an access through one name is an access through the others. The name that is kept has the largest alignment.
pub(in crate::ptx) fn one_dynamic<'f, 'a>(
    module: &Module<'a>,
    function: Cow<'f, Function<'a>>,
) -> Cow<'f, Function<'a>> {
    let used = |v: &&Variable<'a>| {
        let mut operands = function.code.iter().flat_map(|i| &i.operands);
        operands.any(|o| mentions(o, v.name))
    };
    let shared = module.shared.iter().chain(&function.shared);
    let all: Vec<Variable<'a>> = shared
        .filter(|v| v.bytes == 0)
        .filter(used)
        .cloned()
        .collect();
    let Some(kept) = all.iter().max_by_key(|v| v.align) else {
        return function;
    };
    if all.iter().all(|v| v.name == kept.name) {
        return function;
    }
    let mut whole = function.into_owned();
    for operand in whole.code.iter_mut().flat_map(|i| &mut i.operands) {
        for other in all.iter().filter(|v| v.name != kept.name) {
            put(operand, other.name, &Operand::Name(kept.name));
        }
    }
    Cow::Owned(whole)
}

/// Whether an operand is this name, or has it in it.
pub(in crate::ptx) fn mentions(operand: &Operand<'_>, name: &str) -> bool {
    names(operand, &|own| own == name)
}

/// Whether an operand contains a name that begins with one of these.
pub(in crate::ptx) fn begins_with(operand: &Operand<'_>, beginnings: &[&str]) -> bool {
    names(operand, &|own| {
        beginnings.iter().any(|b| own.starts_with(b))
    })
}

/// Whether an operand contains such a name.
fn names(operand: &Operand<'_>, such: &dyn Fn(&str) -> bool) -> bool {
    match operand {
        Operand::Name(own) => such(own),
        Operand::Address { base, rest, .. } => {
            names(base, such) || rest.iter().any(|o| names(o, such))
        }
        Operand::Vector(parts) => parts.iter().any(|o| names(o, such)),
        Operand::Pair(pair) => names(&pair.0, such) || names(&pair.1, such),
        Operand::Register(_)
        | Operand::Not(_)
        | Operand::Integer(_)
        | Operand::Float
        | Operand::Target(_) => false,
    }
}

/// Puts a register or another name in the place of a name.
fn put<'a>(operand: &mut Operand<'a>, name: &str, new: &Operand<'a>) {
    match operand {
        Operand::Name(own) if *own == name => *operand = new.clone(),
        Operand::Address { base, rest, .. } => {
            put(base, name, new);
            rest.iter_mut().for_each(|o| put(o, name, new));
        }
        Operand::Vector(parts) => parts.iter_mut().for_each(|o| put(o, name, new)),
        Operand::Pair(pair) => {
            put(&mut pair.0, name, new);
            put(&mut pair.1, name, new);
        }
        Operand::Name(_)
        | Operand::Register(_)
        | Operand::Not(_)
        | Operand::Integer(_)
        | Operand::Float
        | Operand::Target(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    fn read(text: &str) -> Option<(&str, u64, u64)> {
        plain(text).map(|v| (v.name, v.bytes, v.align))
    }

    #[test]
    fn declarations() {
        assert_eq!(read(".align 4 .u32 count"), Some(("count", 4, 4)));
        assert_eq!(read(".align 4 .u32 count = 0"), Some(("count", 4, 4)));
        assert_eq!(read(".u64 far[4][2]"), Some(("far", 64, 1)));
        assert_eq!(
            read(".align 8 .b8 state[24] = {0, 0}"),
            Some(("state", 24, 8))
        );
        assert_eq!(read(".align 4 .u32 some[]"), Some(("some", 0, 4)));
    }

    #[test]
    fn what_has_a_value_or_another_form_is_left() {
        assert_eq!(read(".align 4 .u32 count = 1"), None);
        assert_eq!(read(".align 4 .b8 state[2] = {0, 7}"), None);
        assert_eq!(read(".u64 where = generic(other)"), None);
        assert_eq!(read(".attribute(.managed) .align 4 .u32 count"), None);
        assert_eq!(read(".u32 a, b"), None);
        assert_eq!(read(".texref picture"), None);
    }
}
