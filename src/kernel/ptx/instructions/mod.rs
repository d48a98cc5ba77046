//! Lowers instructions, family by family. Each family has a table of instruction forms with the function that lowers
//! each form.

mod barrier;
mod compare;
mod copy;
mod data;
mod integer;
mod logic;
mod machine;
mod matrix;
mod mbarrier;
mod memory;
mod movement;
mod warp;

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use crate::ir::OperationKind;
use crate::ir::Scope;

use super::declaration::width_of;
use super::form::Form;
use super::form::Matched;
use super::lower::Lowered;
use super::lower::Lowering;
use super::resolved::Instruction;

/// The function that lowers an instruction of a form.
pub type Lower = for<'k, 'a, 'i, 'l> fn(&'l mut Lowering<'k, 'a>, &Matched<'i, 'a>) -> Lowered;

const FAMILIES: &[&[(&str, Lower)]] = &[
    movement::FORMS,
    integer::FORMS,
    logic::FORMS,
    compare::FORMS,
    memory::FORMS,
    mbarrier::FORMS,
    barrier::FORMS,
    warp::FORMS,
    copy::FORMS,
    matrix::FORMS,
    machine::FORMS,
];

/// All forms by the first word of their opcodes.
static TABLE: LazyLock<FxHashMap<&str, Vec<(Form, Lower)>>> = LazyLock::new(|| {
    let mut table: FxHashMap<&str, Vec<(Form, Lower)>> = FxHashMap::default();
    for (syntax, lower) in FAMILIES.iter().copied().flatten() {
        if let Some(form) = Form::parse(syntax) {
            table.entry(form.opcode).or_default().push((form, *lower));
        }
    }
    table
});

/// Lowers an instruction that does not end a block. An instruction that is not understood becomes
/// [`OperationKind::Unsupported`].
pub fn lower<'a>(l: &mut Lowering<'_, 'a>, instruction: &Instruction<'a>) {
    let start = l.operations.len();
    if let Err(reason) = known(l, instruction) {
        l.operations.truncate(start);
        l.emit(OperationKind::Unsupported {
            mnemonic: instruction.mnemonic(),
            reason,
            results: data::registers(&instruction.operands),
        });
    }
}

fn known<'a>(l: &mut Lowering<'_, 'a>, instruction: &Instruction<'a>) -> Lowered {
    let forms = TABLE.get(instruction.opcode).map_or(&[][..], Vec::as_slice);
    for (form, lower) in forms {
        if let Some(matched) = form.matched(instruction) {
            return lower(l, &matched);
        }
    }
    for (words, lower) in matrix::WORK {
        if data::begins(instruction, words) {
            return lower(l, &Matched::whole(instruction));
        }
    }
    match data::lowered(l, instruction) {
        Some(lowered) => lowered,
        None if forms.is_empty() => Err("an unknown instruction".to_owned()),
        None => Err("a form of the instruction that the ISA manual does not have".to_owned()),
    }
}

/// The bits of a type.
fn width(name: Option<&str>) -> Lowered<u16> {
    let name = name.ok_or_else(|| "the type is missing".to_owned())?;
    width_of(name).ok_or_else(|| format!("no type `{name}`"))
}

fn signed(name: Option<&str>) -> bool {
    name.is_some_and(|name| name.starts_with('s'))
}

fn scope(name: &str) -> Scope {
    match name {
        "cta" => Scope::Cta,
        "cluster" => Scope::Cluster,
        "gpu" => Scope::Gpu,
        _ => Scope::System,
    }
}

#[cfg(test)]
mod tests {
    use super::FAMILIES;
    use super::Form;

    #[test]
    fn every_line_of_the_tables_is_of_the_grammar() {
        for (syntax, _) in FAMILIES.iter().copied().flatten() {
            assert!(Form::parse(syntax).is_some(), "{syntax}");
        }
    }
}
