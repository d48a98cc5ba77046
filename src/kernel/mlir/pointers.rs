//! Pointers: their creation, arithmetic and casts.

use super::lower::Lower;
use super::syntax::Item;
use super::syntax::Operation;
use super::syntax::number;
use super::types::Type;
use super::value::Value;
use super::value::address_width;
use super::value::element_bits;
use super::value::parts_of;
use super::value::pointer_space;
use crate::ir::Compute;
use crate::ir::Operand;
use crate::ir::OperationKind;
use crate::ir::Space;
use crate::ir::Variable;
use crate::ir::VariableId;

impl<'a> Lower<'_, 'a> {
    pub fn pointer(&mut self, operation: &Operation<'a>) -> Option<()> {
        match operation.name {
            "builtin.unrealized_conversion_cast"
            | "cute.recast_iter"
            | "cute.derefine"
            | "cute.inttoptr"
            | "cute.ptrtoint"
            | "llvm.inttoptr"
            | "llvm.ptrtoint"
            | "llvm.bitcast" => self.cast(operation),
            "llvm.addrspacecast" => self.cast_space(operation),
            "cute.add_offset" => {
                let values = self.operand_values(operation);
                let [pointer, offset] = values.as_slice() else {
                    return None;
                };
                let offset = offset.as_tuple()?;
                let leaves = offset.leaves();
                let [elements] = leaves.as_slice() else {
                    return None;
                };
                let moved = self.advanced(pointer, elements)?;
                self.set(operation, 0, moved)
            }
            "llvm.getelementptr" => self.element_pointer(operation),
            "cute.memref.alloca" | "cute_nvgpu.arch.alloc_smem" => self.allocate(operation),
            "cute_nvgpu.arch.get_dyn_smem" => {
                let ty = self.result_type(operation, 0)?;
                let value = self.variable(&ty, None, 1024)?;
                self.set(operation, 0, value)
            }
            "cute_nvgpu.arch.get_dyn_smem_size" => {
                let size = self
                    .build
                    .special(crate::ir::Special::DynamicSharedSize, 32);
                self.set(operation, 0, Value::scalar(32, size))
            }
            _ => None,
        }
    }

    /// The same bits with another type. If the type is wider, they are extended by zeros.
    fn cast(&mut self, operation: &Operation<'a>) -> Option<()> {
        let source = self.operand_values(operation).into_iter().next()?;
        let ty = self.result_type(operation, 0)?;
        let widths = parts_of(&ty)?;
        let own = parts_of(&source.ty)?;
        if let (&[to], &[from], &[operand]) =
            (widths.as_slice(), own.as_slice(), source.parts.as_slice())
        {
            let operand = self.build.convert(operand, from, to, false);
            self.define(*operation.results.first()?, Value::new(ty, vec![operand]));
            return Some(());
        }
        if widths != own || source.parts.len() != own.len() {
            return None;
        }
        let mut value = Value::new(ty, source.parts);
        value.multicast = source.multicast;
        self.define(*operation.results.first()?, value);
        Some(())
    }

    fn cast_space(&mut self, operation: &Operation<'a>) -> Option<()> {
        let source = self.operand_values(operation).into_iter().next()?;
        let ty = self.result_type(operation, 0)?;
        let [address] = source.parts.as_slice() else {
            return None;
        };
        let (from, to) = (pointer_space(&source.ty), pointer_space(&ty));
        if from == to || (from != Space::Generic && to != Space::Generic) {
            // The window of the own CTA is a part of the window of the cluster.
            let widths = (address_width(from), address_width(to));
            let operand = self.build.convert(*address, widths.0, widths.1, false);
            return self.set(operation, 0, Value::new(ty, vec![operand]));
        }
        let result = self.build.register(address_width(to));
        let to_generic = to == Space::Generic;
        self.build.push(OperationKind::ConvertAddress {
            result,
            address: *address,
            space: if to_generic { from } else { to },
            to_generic,
        });
        self.set(
            operation,
            0,
            Value::new(ty, vec![Operand::Register(result)]),
        )
    }

    /// `llvm.getelementptr %p[%i] : (!llvm.ptr, i32) -> !llvm.ptr, i8`.
    fn element_pointer(&mut self, operation: &Operation<'a>) -> Option<()> {
        let values = self.operand_values(operation);
        let pointer = values.first()?;
        let ty = pointer.ty.clone();
        let width = address_width(pointer_space(&ty));
        let (_, after) = operation.types();
        let element = after?.last()?.scalar_width()?;
        let bytes = Operand::Constant(u128::from(element.div_ceil(8)));
        let index = match values.get(1) {
            Some(index) => {
                let own = index.ty.scalar_width()?;
                self.build.convert(*index.parts.first()?, own, width, true)
            }
            None => {
                let constant = operation.items.iter().find_map(|item| match item {
                    Item::Group(group) if group.open == '[' => match group.items.as_slice() {
                        [Item::Number(text)] => number(text),
                        _ => None,
                    },
                    _ => None,
                })?;
                Operand::Constant(constant.cast_unsigned())
            }
        };
        let offset = self
            .build
            .compute(Compute::Multiply, width, &[index, bytes]);
        let base = *pointer.parts.first()?;
        let address = self.build.compute(Compute::Add, width, &[base, offset]);
        self.define(*operation.results.first()?, Value::new(ty, vec![address]));
        Some(())
    }

    /// Allocates a new piece of shared or local memory.
    fn allocate(&mut self, operation: &Operation<'a>) -> Option<()> {
        let ty = self.result_type(operation, 0)?;
        if pointer_space(&ty) == Space::Tensor {
            return None;
        }
        let size = match operation
            .attribute("size_in_bytes")
            .and_then(|items| match items {
                [Item::Number(text)] => number(text),
                _ => None,
            }) {
            Some(size) => u64::try_from(size).ok()?,
            None => {
                let shape = Value::new(ty.clone(), vec![Operand::Constant(0)]).as_layout()?;
                let bits = shape.span()?.checked_mul(i128::from(element_bits(&ty)?))?;
                u64::try_from(bits.checked_add(7)? / 8).ok()?
            }
        };
        let alignment = ty
            .arguments()
            .iter()
            .find_map(|argument| {
                argument
                    .strip_prefix("align<")?
                    .strip_suffix('>')?
                    .parse()
                    .ok()
            })
            .unwrap_or(1);
        let value = self.variable(&ty, Some(size), alignment)?;
        self.set(operation, 0, value)
    }

    fn variable(
        &mut self,
        ty: &std::rc::Rc<Type>,
        size: Option<u64>,
        alignment: u32,
    ) -> Option<Value> {
        let space = pointer_space(ty);
        let variables = &mut self.build.kernel.variables;
        let variable = VariableId(u32::try_from(variables.len()).ok()?);
        variables.push(Variable {
            name: format!("{}_{}", self.build.name.trim_start_matches('%'), variable.0),
            space,
            size,
            alignment,
            initial: Vec::new(),
            arrivals: None,
        });
        let result = self.build.register(address_width(space));
        self.build.push(OperationKind::AddressOf {
            result,
            variable,
            generic: false,
        });
        Some(Value::new(ty.clone(), vec![Operand::Register(result)]))
    }
}
