//! Lowers the syntax tree of a text to kernels of the IR.

use std::collections::HashMap;
use std::rc::Rc;

use super::build::Builder;
use super::data;
use super::error::Lines;
use super::kernel;
use super::location;
use super::parse::Tree;
use super::syntax::Operation;
use super::syntax::Region;
use super::syntax::ValueId;
use super::types::Type;
use super::value::Value;
use super::value::parts_of;
use crate::ir::Kernel;
use crate::ir::Location;
use crate::ir::Operand;
use crate::ir::Terminator;

/// A kernel while it is lowered.
pub struct Lower<'t, 'a> {
    pub tree: &'t Tree<'a>,
    pub lines: &'t Lines<'a>,
    pub build: Builder,
    values: HashMap<ValueId, Value>,
    /// The types that are written where a value is used. Some operations do not print the types of their results.
    uses: HashMap<ValueId, Rc<Type>>,
    /// The targets of branches of the region that is lowered.
    pub labels: Vec<super::control::Label<'a>>,
    /// State that pieces of inline assembly share.
    pub shared: super::assembly::Shared,
}

pub fn lower<'t, 'a>(
    tree: &'t Tree<'a>,
    lines: &'t Lines<'a>,
    function: &'t kernel::Function<'t, 'a>,
) -> Kernel {
    let mut lower = Lower {
        tree,
        lines,
        build: Builder::new(Kernel {
            name: function.name.to_owned(),
            bounds: kernel::bounds(function.operation),
            ..Kernel::default()
        }),
        values: HashMap::new(),
        uses: HashMap::new(),
        labels: Vec::new(),
        shared: super::assembly::Shared::default(),
    };
    lower.collect_uses(function.body);
    lower.locate(function.operation);
    lower.parameters(function);
    lower.body(function.body);
    lower.build.kernel
}

impl<'t, 'a> Lower<'t, 'a> {
    fn collect_uses(&mut self, region: &Region<'a>) {
        for operation in region.blocks.iter().flat_map(|block| &block.operations) {
            if let Some(types) = operand_types(operation) {
                for (value, ty) in operation.operands().into_iter().zip(types) {
                    self.uses.entry(value).or_insert(ty);
                }
            }
            for region in operation.regions() {
                self.collect_uses(region);
            }
        }
    }

    /// Sets the location of the operations that follow to that of this operation.
    pub fn locate(&mut self, operation: &Operation<'a>) {
        let source = operation
            .location
            .as_ref()
            .map(|text| location::source_lines(text, &self.tree.locations))
            .unwrap_or_default();
        self.build.location = Location {
            line: self.lines.line(operation.span.start),
            source,
        };
    }

    /// Sets the name of the operations that follow to that of this value.
    pub fn call(&mut self, value: ValueId) {
        let Some(text) = self.tree.values.get(value.0 as usize) else {
            return;
        };
        self.build.name = match text.number {
            0 => text.name.to_owned(),
            number => format!("{}#{number}", text.name),
        };
    }

    fn body(&mut self, region: &Region<'a>) {
        self.region(region);
        self.build.end(Terminator::Exit);
        self.build.drop_unused_end();
    }

    pub fn operation(&mut self, operation: &Operation<'a>) {
        self.locate(operation);
        if let Some(result) = operation.results.first() {
            self.call(*result);
        }
        let done = self
            .control(operation)
            .or_else(|| self.integer(operation))
            .or_else(|| self.special(operation))
            .or_else(|| self.synchronization(operation))
            .or_else(|| self.tensor(operation))
            .or_else(|| self.tuple(operation))
            .or_else(|| self.layout(operation))
            .or_else(|| self.partition(operation))
            .or_else(|| self.pointer(operation))
            .or_else(|| self.memory(operation))
            .or_else(|| self.atom(operation))
            .or_else(|| self.copy(operation))
            .or_else(|| self.assembly(operation));
        if done.is_none() {
            self.unknown(operation);
        }
    }

    /// Lowers an operation that is not modelled: it is an operation on data only, or it is refused.
    fn unknown(&mut self, operation: &Operation<'a>) {
        match data::kind(operation.name) {
            Some(kind) => self.opaque_results(operation, kind),
            None => self.refuse(operation, "not modelled"),
        }
    }

    pub fn refuse(&mut self, operation: &Operation<'a>, reason: &str) {
        let types: Vec<_> = (0..operation.results.len())
            .map(|index| self.result_type(operation, index))
            .collect();
        let widths: Vec<_> = types
            .iter()
            .flat_map(|ty| ty.as_ref().and_then(|ty| parts_of(ty)).unwrap_or_default())
            .collect();
        let operands = self.build.unsupported(operation.name, reason, &widths);
        self.spread(operation, &types, &operands);
    }

    fn opaque_results(&mut self, operation: &Operation<'a>, kind: data::Kind) {
        let types: Vec<_> = (0..operation.results.len())
            .map(|index| self.result_type(operation, index))
            .collect();
        let widths: Vec<_> = types
            .iter()
            .flat_map(|ty| ty.as_ref().and_then(|ty| parts_of(ty)).unwrap_or_default())
            .collect();
        let ids = operation.operands();
        let values: Vec<_> = ids.iter().map(|id| self.value(*id)).collect();
        let followed = values.iter().all(|value| parts_of(&value.ty).is_some());
        let pure = kind == data::Kind::Pure && followed;
        // An operation without results is kept only if it accesses memory.
        if widths.is_empty() && kind != data::Kind::Memory {
            self.spread(operation, &types, &[]);
            return;
        }
        let operands = values.into_iter().flat_map(|value| value.parts).collect();
        let mnemonic = if pure {
            data::signature(operation)
        } else {
            operation.name.to_owned()
        };
        let operands = self.build.opaque(&mnemonic, operands, &widths, pure);
        self.spread(operation, &types, &operands);
    }

    /// Distributes the operands to the results.
    fn spread(
        &mut self,
        operation: &Operation<'a>,
        types: &[Option<Rc<Type>>],
        operands: &[Operand],
    ) {
        let mut operands = operands.iter().copied();
        for (result, ty) in operation.results.iter().zip(types) {
            let ty = ty.clone().unwrap_or_else(|| Type::new("unknown", ""));
            let count = parts_of(&ty).map_or(0, |widths| widths.len());
            let parts = operands.by_ref().take(count).collect();
            self.values.insert(*result, Value::new(ty, parts));
        }
    }

    pub fn value(&self, id: ValueId) -> Value {
        self.values.get(&id).cloned().unwrap_or_else(|| {
            let ty = self.uses.get(&id).cloned();
            Value::new(ty.unwrap_or_else(|| Type::new("unknown", "")), Vec::new())
        })
    }

    pub fn operand_values(&self, operation: &Operation<'a>) -> Vec<Value> {
        operation
            .operands()
            .into_iter()
            .map(|id| self.value(id))
            .collect()
    }

    /// The part of an operand that has only one.
    pub fn scalar(&self, operation: &Operation<'a>, index: usize) -> Option<Operand> {
        let id = *operation.operands().get(index)?;
        match self.value(id).parts.as_slice() {
            [operand] => Some(*operand),
            _ => None,
        }
    }

    pub fn define(&mut self, id: ValueId, value: Value) {
        self.values.insert(id, value);
    }

    /// Sets the value of a result. If it does not fit the type in the text, the result is unknown.
    pub fn set(&mut self, operation: &Operation<'a>, index: usize, value: Value) -> Option<()> {
        let id = *operation.results.get(index)?;
        self.call(id);
        let value = match self.result_type(operation, index) {
            None => value,
            Some(ty) => match value.conform(&ty) {
                Some(value) => value,
                None => {
                    let widths = parts_of(&ty).unwrap_or_default();
                    let parts = if widths.is_empty() {
                        Vec::new()
                    } else {
                        self.build
                            .opaque(operation.name, value.parts, &widths, false)
                    };
                    Value::new(ty, parts)
                }
            },
        };
        self.values.insert(id, value);
        Some(())
    }

    /// The type of a result: as printed, or as written where the result is used.
    pub fn result_type(&self, operation: &Operation<'a>, index: usize) -> Option<Rc<Type>> {
        let (before, after) = operation.types();
        let printed = match after {
            Some(after) if after.len() == operation.results.len() => after.get(index).cloned(),
            Some(_) => None,
            None if prints_results(operation) => before.get(index).cloned(),
            None => None,
        };
        printed.or_else(|| {
            let known = self.uses.get(operation.results.get(index)?).cloned();
            let vector = before.first().is_some_and(|ty| ty.name == "vector");
            let truth = is_comparison(operation.name) && !vector;
            known.or_else(|| truth.then(|| Type::new("i1", "")))
        })
    }

    /// A value that consists of new registers.
    pub fn fresh(&mut self, ty: Rc<Type>) -> Value {
        let widths = parts_of(&ty).unwrap_or_default();
        let parts = widths
            .into_iter()
            .map(|width| Operand::Register(self.build.register(width)))
            .collect();
        Value::new(ty, parts)
    }
}

/// Whether the types after the colon are those of the results and not of the operands.
fn prints_results(operation: &Operation<'_>) -> bool {
    let name = operation.name;
    if operation.operands().is_empty() {
        return true;
    }
    match name.split_once('.') {
        Some(("cute", rest)) => rest.starts_with("make_") || rest == "memref.alloca",
        Some(("arith" | "math", rest)) => !rest.starts_with("cmp"),
        Some(("cute_nvgpu", rest)) => rest == "arch.make_warp_uniform",
        Some(("nvvm", rest)) => !rest.contains("mbarrier"),
        Some(("llvm", rest)) => !matches!(rest, "load" | "store" | "icmp" | "fcmp" | "select"),
        Some(("vector" | "tt" | "ttg" | "ttng", _)) => false,
        _ => false,
    }
}

/// Operations whose result is a truth value, which they do not print.
fn is_comparison(name: &str) -> bool {
    matches!(
        name,
        "arith.cmpi" | "arith.cmpf" | "llvm.icmp" | "llvm.fcmp" | "cute.elem_less" | "cute.equal"
    )
}

/// The types of all operands, where they are printed.
fn operand_types(operation: &Operation<'_>) -> Option<Vec<Rc<Type>>> {
    let (before, after) = operation.types();
    let count = operation.operands().len();
    let shown = after.is_some() || !prints_results(operation) || operation.results.is_empty();
    (shown && before.len() == count && operation.regions().next().is_none()).then_some(before)
}
