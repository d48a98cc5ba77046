//! Layouts and views of CuTe: the offset of a coordinate.

use super::lower::Lower;
use super::syntax::Operation;
use super::syntax::numbers;
use super::tuple::Layout;
use super::tuple::Leaf;
use super::tuple::Tuple;
use super::tuples::Arithmetic;
use super::tuples::angle_numbers;
use super::types::Type;
use super::value::Value;
use super::value::element_bits;
use super::value::pointer_space;
use crate::ir::Compute;
use crate::ir::Operand;
use crate::ir::Space;

impl<'a> Lower<'_, 'a> {
    pub fn layout(&mut self, operation: &Operation<'a>) -> Option<()> {
        let name = operation.name.strip_prefix("cute.")?;
        let values = self.operand_values(operation);
        let first = || values.first();
        let value = match name {
            "static" => Value::new(self.result_type(operation, 0)?, Vec::new()),
            "get_layout" => Value::layout(&first()?.as_layout()?)?,
            "composed_get_outer" => Value::layout(&first()?.as_layout()?)?,
            "get_iter" => first()?.iterator()?,
            "make_view" => {
                let iterator = first()?.iterator()?;
                match values.get(1) {
                    Some(layout) => Value::view(&iterator, &layout.as_layout()?)?,
                    None => return None,
                }
            }
            "get_shape" | "get_stride" => {
                let layout = first()?.as_layout()?;
                let (kind, mut tuple) = if name == "get_shape" {
                    ("cute.shape", layout.shape)
                } else {
                    ("cute.stride", layout.stride)
                };
                if let Some(mode) = operation.attribute("mode") {
                    for index in numbers(mode) {
                        tuple = tuple.modes().get(usize::try_from(index).ok()?)?.clone();
                    }
                }
                Value::tuple(kind, &tuple)?
            }
            "crd2idx" => {
                let coordinate = first()?.as_tuple()?;
                let layout = values.get(1)?.as_layout()?;
                let terms = self.offset(&coordinate, &layout.shape, &layout.stride)?;
                let sum = self.sum(&terms)?;
                Value::tuple("cute.int_tuple", &Tuple::Leaf(sum))?
            }
            "get_hier_coord" | "get_flat_coord" => {
                let [index] = first()?.parts.as_slice() else {
                    return None;
                };
                let width = first()?.ty.scalar_width()?;
                let layout = values.get(1)?.as_layout()?;
                if !is_compact(&layout) {
                    return None;
                }
                let index = Leaf::dynamic(*index, width);
                let coordinate = self.unravel(&index, &layout.shape, true)?;
                Value::tuple("cute.coord", &coordinate)?
            }
            "slice" => {
                let coordinate = values.get(1)?.as_tuple()?;
                return self.slice(operation, first()?, &coordinate);
            }
            "group_modes" => {
                let range = angle_numbers(operation)?;
                let [begin, end] = range.as_slice() else {
                    return None;
                };
                let layout = first()?.as_layout()?;
                let group = |tuple: &Tuple| -> Option<Tuple> {
                    let modes = tuple.modes();
                    let mut list = modes.get(..*begin)?.to_vec();
                    list.push(Tuple::List(modes.get(*begin..*end)?.to_vec()));
                    list.extend_from_slice(modes.get(*end..)?);
                    Some(Tuple::List(list))
                };
                let layout = Layout {
                    shape: group(&layout.shape)?,
                    stride: group(&layout.stride)?,
                };
                rebuild(first()?, &layout)?
            }
            "append_to_rank" => {
                let rank = *angle_numbers(operation)?.first()?;
                let layout = first()?.as_layout()?;
                let appended = values.get(1)?.as_layout()?;
                let append = |tuple: &Tuple, mode: &Tuple| {
                    let mut modes = tuple.modes();
                    while modes.len() < rank {
                        modes.push(mode.clone());
                    }
                    Tuple::List(modes)
                };
                if rank > 16 {
                    return None;
                }
                let layout = Layout {
                    shape: append(&layout.shape, &appended.shape),
                    stride: append(&layout.stride, &appended.stride),
                };
                rebuild(first()?, &layout)?
            }
            "get" | "select" => {
                let modes = match operation.attribute("mode") {
                    Some(mode) => numbers(mode)
                        .into_iter()
                        .map(|number| usize::try_from(number).ok())
                        .collect::<Option<Vec<_>>>()?,
                    None => angle_numbers(operation)?,
                };
                let pick = |tuple: &Tuple| -> Option<Tuple> {
                    if name == "get" {
                        modes.iter().try_fold(tuple.clone(), |tuple, mode| {
                            tuple.modes().get(*mode).cloned()
                        })
                    } else {
                        let all = tuple.modes();
                        let list = modes
                            .iter()
                            .map(|mode| all.get(*mode).cloned())
                            .collect::<Option<_>>()?;
                        Some(Tuple::List(list))
                    }
                };
                match first()?.as_layout() {
                    Some(layout) => rebuild(
                        first()?,
                        &Layout {
                            shape: pick(&layout.shape)?,
                            stride: pick(&layout.stride)?,
                        },
                    )?,
                    None => Value::tuple(&first()?.ty.name.clone(), &pick(&first()?.as_tuple()?)?)?,
                }
            }
            "local_tile" | "flat_divide" | "zipped_divide" | "tiled_divide" => {
                return self.tile(operation, name, &values);
            }
            _ => return None,
        };
        self.set(operation, 0, value)
    }

    /// The terms of an offset: the numbers that are added, each with its axis.
    fn offset(&mut self, coordinate: &Tuple, shape: &Tuple, stride: &Tuple) -> Option<Vec<Leaf>> {
        match (coordinate, shape, stride) {
            // A free mode begins at 0.
            (Tuple::Leaf(Leaf::Free), ..) => Some(Vec::new()),
            (Tuple::Leaf(index), Tuple::Leaf(_), Tuple::Leaf(stride)) => {
                if stride.known() == Some(0) || index.known() == Some(0) {
                    return Some(Vec::new());
                }
                Some(vec![self.leaf(Arithmetic::Multiply, index, stride)?])
            }
            (Tuple::List(indices), Tuple::List(shapes), Tuple::List(strides))
                if indices.len() == shapes.len() && shapes.len() == strides.len() =>
            {
                let mut terms = Vec::new();
                for ((index, shape), stride) in indices.iter().zip(shapes).zip(strides) {
                    terms.extend(self.offset(index, shape, stride)?);
                }
                Some(terms)
            }
            (Tuple::Leaf(index), Tuple::List(_), Tuple::List(_)) => {
                let unravelled = self.unravel(index, shape, false)?;
                self.offset(&unravelled, shape, stride)
            }
            _ => None,
        }
    }

    /// The offset of a coordinate, if it is a number.
    pub fn offset_of(&mut self, coordinate: &Tuple, layout: &Layout) -> Option<Leaf> {
        let terms = self.offset(coordinate, &layout.shape, &layout.stride)?;
        self.sum(&terms)
    }

    /// Converts an index to a coordinate in the modes of a shape; the first mode is the fastest. The last mode takes
    /// the rest, unless `wrap` bounds it, too.
    fn unravel(&mut self, index: &Leaf, shape: &Tuple, wrap: bool) -> Option<Tuple> {
        let extents: Vec<Leaf> = shape.leaves().into_iter().cloned().collect();
        let mut rest = index.clone();
        let mut coordinates = Vec::new();
        for (at, extent) in extents.iter().enumerate() {
            let last = at + 1 == extents.len();
            if extent.known() == Some(1) && (!last || wrap) {
                coordinates.push(Leaf::constant(0));
                continue;
            }
            if last && !wrap {
                coordinates.push(rest.clone());
                continue;
            }
            coordinates.push(self.leaf(Arithmetic::Remainder, &rest, extent)?);
            if !last {
                rest = self.leaf(Arithmetic::Divide, &rest, extent)?;
            }
        }
        let mut coordinates = coordinates.into_iter();
        shaped(shape, &mut coordinates)
    }

    /// The sum of terms without axes.
    fn sum(&mut self, terms: &[Leaf]) -> Option<Leaf> {
        let mut sum = Leaf::constant(0);
        for term in terms {
            if matches!(term, Leaf::Number { axes, .. } if !axes.is_empty()) {
                return None;
            }
            sum = if sum.known() == Some(0) {
                term.clone()
            } else {
                self.leaf(Arithmetic::Add, &sum, term)?
            };
        }
        Some(sum)
    }

    /// A pointer or coordinate, moved by an offset.
    fn moved(&mut self, iterator: &Value, terms: &[Leaf]) -> Option<Value> {
        if iterator.ty.name == "cute.ptr" {
            let sum = self.sum(terms)?;
            return self.advanced(iterator, &sum);
        }
        let mut tuple = iterator.as_tuple()?;
        for term in terms {
            let Leaf::Number { axes, .. } = term else {
                return None;
            };
            let [axis] = axes.as_slice() else {
                return None;
            };
            let mut plain = term.clone();
            if let Leaf::Number { axes, .. } = &mut plain {
                axes.clear();
            }
            let Tuple::List(list) = &mut tuple else {
                return None;
            };
            let Tuple::Leaf(at) = list.get_mut(usize::try_from(*axis).ok()?)? else {
                return None;
            };
            *at = self.leaf(Arithmetic::Add, &at.clone(), &plain)?;
        }
        Value::tuple(&iterator.ty.name.clone(), &tuple)
    }

    /// A pointer, advanced by this many elements.
    pub fn advanced(&mut self, pointer: &Value, elements: &Leaf) -> Option<Value> {
        let space = pointer_space(&pointer.ty);
        // Rows and columns of tensor memory are not bytes.
        if elements.known() == Some(0) {
            return Some(pointer.clone());
        }
        if space == Space::Tensor {
            return None;
        }
        let Leaf::Number {
            value: Some(elements),
            width: own,
            dynamic,
            ..
        } = elements
        else {
            return None;
        };
        let bits = element_bits(&pointer.ty)?;
        let width = super::value::address_width(space);
        let elements = if *dynamic {
            self.build.convert(*elements, *own, width, true)
        } else {
            *elements
        };
        let scale = |lower: &mut Self, compute, by: u16| {
            let by = Operand::Constant(u128::from(by));
            lower.build.compute(compute, width, &[elements, by])
        };
        let bytes = if bits >= 8 {
            scale(self, Compute::Multiply, bits / 8)
        } else {
            scale(self, Compute::Divide { signed: true }, 8 / bits)
        };
        let address = self
            .build
            .compute(Compute::Add, width, &[*pointer.parts.first()?, bytes]);
        Some(Value::new(pointer.ty.clone(), vec![address]))
    }

    pub fn slice(
        &mut self,
        operation: &Operation<'a>,
        source: &Value,
        coordinate: &Tuple,
    ) -> Option<()> {
        let layout = source.as_layout()?;
        let mut shape = Vec::new();
        let mut stride = Vec::new();
        let mut terms = Vec::new();
        self.cut(
            coordinate,
            &layout.shape,
            &layout.stride,
            &mut (&mut shape, &mut stride, &mut terms),
        )?;
        let layout = Layout {
            shape: Tuple::List(shape),
            stride: Tuple::List(stride),
        };
        let value = match source.iterator() {
            Some(iterator) => {
                let moved = match self.moved(&iterator, &terms) {
                    Some(moved) => moved,
                    // The beginning is unknown, but the layout is known.
                    None => {
                        let widths = super::value::parts_of(&iterator.ty)?;
                        let parts = self
                            .build
                            .opaque(operation.name, Vec::new(), &widths, false);
                        Value::new(iterator.ty.clone(), parts)
                    }
                };
                Value::view(&moved, &layout)?
            }
            None => Value::layout(&layout)?,
        };
        self.set(operation, 0, value)
    }

    /// Keeps the modes whose coordinate is free. The other modes are added to the offset.
    fn cut(
        &mut self,
        coordinate: &Tuple,
        shape: &Tuple,
        stride: &Tuple,
        out: &mut (&mut Vec<Tuple>, &mut Vec<Tuple>, &mut Vec<Leaf>),
    ) -> Option<()> {
        match coordinate {
            Tuple::Leaf(Leaf::Free) => {
                out.0.push(shape.clone());
                out.1.push(stride.clone());
                Some(())
            }
            Tuple::List(list) => {
                let (shapes, strides) = (shape.modes(), stride.modes());
                if list.len() != shapes.len() || shapes.len() != strides.len() {
                    return None;
                }
                for ((coordinate, shape), stride) in list.iter().zip(&shapes).zip(&strides) {
                    self.cut(coordinate, shape, stride, out)?;
                }
                Some(())
            }
            Tuple::Leaf(_) => {
                let terms = self.offset(coordinate, shape, stride)?;
                out.2.extend(terms);
                Some(())
            }
        }
    }
}

/// A view or layout in which another layout replaces the old one.
pub fn rebuild(source: &Value, layout: &Layout) -> Option<Value> {
    match source.ty.name.as_str() {
        "cute.memref" | "cute.coord_tensor" => Value::view(&source.iterator()?, layout),
        // Only the outer layout is followed.
        "cute.layout" | "cute.composed_layout" => Value::layout(layout),
        "cute_nvgpu.smem_desc_view" => {
            let ty = Type::new("cute.layout", format!("\"{}\"", layout.text()));
            Some(Value::new(ty, Vec::new()))
        }
        _ => None,
    }
}

/// The leaves, nested like a shape.
fn shaped(shape: &Tuple, leaves: &mut impl Iterator<Item = Leaf>) -> Option<Tuple> {
    match shape {
        Tuple::Leaf(_) => leaves.next().map(Tuple::Leaf),
        Tuple::List(list) => Some(Tuple::List(
            list.iter()
                .map(|child| shaped(child, leaves))
                .collect::<Option<_>>()?,
        )),
    }
}

/// Whether the layout is compact: the index is the coordinate in order, with the first mode fastest.
fn is_compact(layout: &Layout) -> bool {
    let mut expected = 1_i128;
    let (shapes, strides) = (layout.shape.leaves(), layout.stride.leaves());
    shapes.len() == strides.len()
        && shapes.into_iter().zip(strides).all(|(shape, stride)| {
            let (Some(extent), Some(stride)) = (shape.known(), stride.known()) else {
                return false;
            };
            if extent == 1 {
                return true;
            }
            let fits = stride == expected;
            expected = expected.saturating_mul(extent);
            fits
        })
}
