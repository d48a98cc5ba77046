//! Loads and stores of single elements and short vectors.
//!
//! Control flow may depend on integers, so loads and stores of integers are lowered to the IR. Floating-point values
//! in the local memory of a thread are treated as data, whose contents are not followed.

use std::rc::Rc;

use super::lower::Lower;
use super::synchronization::attribute_body;
use super::syntax::Operation;
use super::tuple::Leaf;
use super::tuple::Tuple;
use super::types::Type;
use super::types::integer_width;
use super::value::Value;
use super::value::address_width;
use super::value::element_bits;
use super::value::element_name;
use super::value::is_swizzled;
use super::value::parts_of;
use super::value::pointer_space;
use crate::ir::AtomicOperation;
use crate::ir::MemoryOrder;
use crate::ir::Operand;
use crate::ir::OperationKind;
use crate::ir::Scope;
use crate::ir::Space;
use crate::ir::Stability;

/// Copies of more elements are treated as data.
const MAX_ELEMENTS: i128 = 16;

impl<'a> Lower<'_, 'a> {
    pub fn memory(&mut self, operation: &Operation<'a>) -> Option<()> {
        let values = self.operand_values(operation);
        match operation.name {
            "cute.memref.load" => {
                let [view, coordinate] = values.as_slice() else {
                    return None;
                };
                let ty = Type::new(element_name(&view.ty), "");
                let width = ty.scalar_width()?;
                if is_private_data(&view.ty) {
                    return None;
                }
                let address = self.element(view, &coordinate.as_tuple()?)?;
                let loaded = self.load(pointer_space(&view.ty), address, width);
                self.set(operation, 0, Value::new(ty, vec![loaded]))
            }
            "cute.memref.store" => {
                let [view, coordinate, value] = values.as_slice() else {
                    return None;
                };
                let width = element_bits(&view.ty)?;
                if is_private_data(&view.ty) {
                    return Some(());
                }
                let address = self.element(view, &coordinate.as_tuple()?)?;
                let stored = *value.parts.first()?;
                self.store(pointer_space(&view.ty), address, stored, width);
                Some(())
            }
            "cute.memref.load_vec" => {
                let view = values.first()?;
                let ty = self.result_type(operation, 0)?;
                let count = parts_of(&ty)?.len();
                let width = element_bits(&view.ty)?;
                let addresses = self.elements(view)?;
                if addresses.len() != count {
                    return None;
                }
                let space = pointer_space(&view.ty);
                let parts = addresses
                    .into_iter()
                    .map(|address| self.load(space, address, width))
                    .collect();
                self.set(operation, 0, Value::new(ty, parts))
            }
            "cute.memref.store_vec" => {
                let [value, view] = values.as_slice() else {
                    return None;
                };
                if is_private_data(&view.ty) {
                    return Some(());
                }
                let width = element_bits(&view.ty)?;
                let addresses = self.elements(view)?;
                if addresses.len() != value.parts.len() {
                    return None;
                }
                for (address, part) in addresses.into_iter().zip(&value.parts) {
                    self.store(pointer_space(&view.ty), address, *part, width);
                }
                Some(())
            }
            "llvm.load" => {
                let pointer = values.first()?;
                let ty = self.result_type(operation, 0)?;
                let [width] = parts_of(&ty)?[..] else {
                    return None;
                };
                let address = *pointer.parts.first()?;
                let order = order(operation);
                let result = self.build.register(width);
                self.build.push(OperationKind::Load {
                    results: vec![Some(result)],
                    space: pointer_space(&pointer.ty),
                    address,
                    width: width.max(8),
                    signed: false,
                    order,
                    scope: scope(operation),
                    stability: stability(operation),
                });
                self.set(
                    operation,
                    0,
                    Value::new(ty, vec![Operand::Register(result)]),
                )
            }
            "llvm.store" => {
                let [value, pointer] = values.as_slice() else {
                    return None;
                };
                let [part] = value.parts.as_slice() else {
                    return None;
                };
                let width = *parts_of(&value.ty)?.first()?;
                let order = order(operation);
                self.build.push(OperationKind::Store {
                    space: pointer_space(&pointer.ty),
                    address: *pointer.parts.first()?,
                    values: vec![*part],
                    width: width.max(8),
                    order,
                    scope: scope(operation),
                });
                Some(())
            }
            "llvm.atomicrmw" | "nvvm.atomicrmw" => self.atomic(operation, &values),
            _ => None,
        }
    }

    fn atomic(&mut self, operation: &Operation<'a>, values: &[Value]) -> Option<()> {
        // nvvm writes the operation as an attribute, llvm as a word.
        let is = |name: &str| operation.has_word(name) || attribute_body(operation, name);
        let table = [
            ("add", AtomicOperation::Add),
            ("_and", AtomicOperation::And),
            ("and", AtomicOperation::And),
            ("_or", AtomicOperation::Or),
            ("or", AtomicOperation::Or),
            ("_xor", AtomicOperation::Xor),
            ("xor", AtomicOperation::Xor),
            ("xchg", AtomicOperation::Exchange),
            ("exch", AtomicOperation::Exchange),
            ("min", AtomicOperation::Minimum { signed: true }),
            ("max", AtomicOperation::Maximum { signed: true }),
            ("umin", AtomicOperation::Minimum { signed: false }),
            ("umax", AtomicOperation::Maximum { signed: false }),
            ("cas", AtomicOperation::CompareAndSwap),
            ("fadd", AtomicOperation::Other),
        ];
        let (_, kind) = table.into_iter().find(|(name, _)| is(name))?;
        let (pointer, operands) = values.split_first()?;
        let ty = operands.first()?.ty.clone();
        let [width] = parts_of(&ty)?[..] else {
            return None;
        };
        let result = match operation.results.first() {
            Some(_) => Some(self.build.register(width)),
            None => None,
        };
        let address = *pointer.parts.first()?;
        self.build.push(OperationKind::Atomic {
            operation: kind,
            result,
            space: pointer_space(&pointer.ty),
            address,
            operands: operands
                .iter()
                .flat_map(|value| value.parts.clone())
                .collect(),
            width,
            order: order(operation),
            scope: scope(operation),
        });
        match result {
            Some(result) => self.set(
                operation,
                0,
                Value::new(ty, vec![Operand::Register(result)]),
            ),
            None => Some(()),
        }
    }

    /// A copy of a few integers by one thread, such as a message of a tile scheduler.
    pub fn copy_integers(&mut self, source: &Value, destination: &Value) -> Option<()> {
        let (from, to) = (element_bits(&source.ty)?, element_bits(&destination.ty)?);
        integer_width(element_name(&source.ty))?;
        integer_width(element_name(&destination.ty))?;
        if from != to {
            return None;
        }
        let sources = self.layout_size(source)?;
        if sources != self.layout_size(destination)? || sources > MAX_ELEMENTS {
            return None;
        }
        let sources = self.elements(source)?;
        let destinations = self.elements(destination)?;
        for (from_address, to_address) in sources.into_iter().zip(destinations) {
            let loaded = self.load(pointer_space(&source.ty), from_address, from);
            self.store(pointer_space(&destination.ty), to_address, loaded, to);
        }
        Some(())
    }

    fn layout_size(&self, view: &Value) -> Option<i128> {
        view.as_layout()?.size()
    }

    /// The addresses of all elements of a small view, in the order of its layout.
    fn elements(&mut self, view: &Value) -> Option<Vec<Operand>> {
        let size = self.layout_size(view)?;
        if !(1..=MAX_ELEMENTS).contains(&size) || is_private_data(&view.ty) {
            return None;
        }
        (0..size)
            .map(|index| self.element(view, &Tuple::Leaf(Leaf::constant(index))))
            .collect()
    }

    /// The address of an element; unknown if the layout permutes addresses.
    fn element(&mut self, view: &Value, coordinate: &Tuple) -> Option<Operand> {
        let space = pointer_space(&view.ty);
        if space == Space::Tensor {
            return None;
        }
        let layout = view.as_layout()?;
        let at = self.offset_of(coordinate, &layout);
        let pointer = view.iterator()?;
        match at {
            Some(at) if !is_swizzled(&view.ty) => {
                let moved = self.advanced(&pointer, &at)?;
                moved.parts.first().copied()
            }
            _ => {
                let widths = [address_width(space)];
                let parts = self.build.opaque("address", Vec::new(), &widths, false);
                parts.first().copied()
            }
        }
    }

    fn load(&mut self, space: Space, address: Operand, width: u16) -> Operand {
        let result = self.build.register(width);
        self.build.push(OperationKind::Load {
            results: vec![Some(result)],
            space,
            address,
            width: width.max(8),
            signed: false,
            order: MemoryOrder::Weak,
            scope: Scope::Cta,
            stability: Stability::Unsaid,
        });
        Operand::Register(result)
    }

    fn store(&mut self, space: Space, address: Operand, value: Operand, width: u16) {
        self.build.push(OperationKind::Store {
            space,
            address,
            values: vec![value],
            width: width.max(8),
            order: MemoryOrder::Weak,
            scope: Scope::Cta,
        });
    }
}

/// Whether a type is memory of one thread that contains no integers.
fn is_private_data(ty: &Rc<Type>) -> bool {
    pointer_space(ty) == Space::Local && integer_width(element_name(ty)).is_none()
}

fn order(operation: &Operation<'_>) -> MemoryOrder {
    let is = |name: &str| operation.has_word(name) || attribute_body(operation, name);
    if is("acquire") {
        MemoryOrder::Acquire
    } else if is("release") {
        MemoryOrder::Release
    } else if is("acq_rel") {
        MemoryOrder::AcquireRelease
    } else if is("seq_cst") {
        MemoryOrder::SequentiallyConsistent
    } else if is("monotonic") || is("relaxed") {
        MemoryOrder::Relaxed
    } else if operation.has_word("volatile") {
        MemoryOrder::Volatile
    } else if operation.name.contains("atomic") {
        MemoryOrder::Relaxed
    } else {
        MemoryOrder::Weak
    }
}

/// LLVM's `invariant` corresponds to `.nc` in PTX.
fn stability(operation: &Operation<'_>) -> Stability {
    if operation.has_word("invariant") {
        Stability::Constant
    } else {
        Stability::Unsaid
    }
}

fn scope(operation: &Operation<'_>) -> Scope {
    let is = |name: &str| operation.has_word(name) || attribute_body(operation, name);
    if is("sys") {
        Scope::System
    } else if is("gpu") {
        Scope::Gpu
    } else if is("cluster") {
        Scope::Cluster
    } else if is("cta") {
        Scope::Cta
    } else if operation.name.contains("atomic") {
        Scope::Gpu
    } else {
        Scope::Cta
    }
}
