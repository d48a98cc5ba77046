//! Operations on integer tuples of CuTe. Offsets and trip counts depend on their leaves.

use super::lower::Lower;
use super::syntax::Item;
use super::syntax::Operation;
use super::syntax::numbers;
use super::tuple::Layout;
use super::tuple::Leaf;
use super::tuple::Tuple;
use super::types::Type;
use super::value::Value;
use super::value::parts_of;
use crate::ir::Compare;
use crate::ir::Compute;
use crate::ir::Operand;

/// An operation on two numbers that CuTe applies leaf by leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    CeilDivide,
}

impl<'a> Lower<'_, 'a> {
    pub fn tuple(&mut self, operation: &Operation<'a>) -> Option<()> {
        let name = operation.name.strip_prefix("cute.")?;
        let values = self.operand_values(operation);
        match name {
            "make_int_tuple"
            | "make_coord"
            | "make_shape"
            | "make_stride"
            | "make_tile"
            | "make_layout"
            | "make_composed_layout"
            | "make_arith_tuple_iter" => {
                let ty = self.result_type(operation, 0)?;
                let shapes = values.clone();
                let parts: Vec<_> = values.into_iter().flat_map(|value| value.parts).collect();
                let widths = parts_of(&ty)?;
                if parts.len() != widths.len() {
                    return self.compact_layout(operation, &shapes);
                }
                self.set(operation, 0, Value::new(ty, parts))
            }
            "elem_less" => {
                let (left, right) = (values.first()?.as_tuple()?, values.get(1)?.as_tuple()?);
                let less = self.all_less(&left, &right)?;
                self.set(operation, 0, Value::scalar(1, less))
            }
            "get_leaves" => self.leaves(operation, values.first()?),
            "get_scalars" => self.scalars(operation, values.first()?),
            "to_int_tuple" | "deref_arith_tuple_iter" | "assume" | "derefine"
                if values.first()?.as_tuple().is_some() =>
            {
                let source = values.first()?.clone();
                self.set(operation, 0, source)
            }
            "tuple_add" | "tuple_sub" | "tuple_mul" | "tuple_div" | "tuple_mod" | "ceil_div"
            | "shape_div" => {
                let arithmetic = match name {
                    "tuple_add" => Arithmetic::Add,
                    "tuple_sub" => Arithmetic::Subtract,
                    "tuple_mul" => Arithmetic::Multiply,
                    "tuple_mod" => Arithmetic::Remainder,
                    "tuple_div" => Arithmetic::Divide,
                    _ => Arithmetic::CeilDivide,
                };
                let kind = values.first()?.ty.name.clone();
                let left = values.first()?.as_tuple()?;
                let right = match values.get(1)?.as_tuple() {
                    Some(tuple) => tuple,
                    None => tile_extents(values.get(1)?)?,
                };
                // Shapes that do not divide each other have other rules, which are not followed.
                let exact =
                    name != "shape_div" || left.leaves().iter().all(|leaf| leaf.known().is_some());
                if !exact {
                    return None;
                }
                let tuple = self.leaf_by_leaf(arithmetic, &left, &right)?;
                let value = Value::tuple(&kind, &tuple)?;
                self.set(operation, 0, value)
            }
            "tuple.product" => {
                let tuple = values.first()?.as_tuple()?;
                let product = self.product(&tuple)?;
                let value = Value::tuple("cute.int_tuple", &Tuple::Leaf(product))?;
                self.set(operation, 0, value)
            }
            "size" => {
                let source = values.first()?;
                let mut shape = match source.as_layout() {
                    Some(layout) => layout.shape,
                    None => source.as_tuple()?,
                };
                if let Some(mode) = operation.attribute("mode") {
                    for index in numbers(mode) {
                        shape = shape.modes().get(usize::try_from(index).ok()?)?.clone();
                    }
                }
                let product = self.product(&shape)?;
                let value = Value::tuple("cute.int_tuple", &Tuple::Leaf(product))?;
                self.set(operation, 0, value)
            }
            "fast_divmod.create_divisor" => {
                let source = values.first()?;
                let [divisor] = source.parts.as_slice() else {
                    return None;
                };
                let width = source.ty.scalar_width()?;
                let ty = Type::new("cute.fast_divmod_divisor", width.to_string());
                self.set(operation, 0, Value::new(ty, vec![*divisor]))
            }
            "fast_divmod.get_divisor" => {
                let [divisor] = values.first()?.parts.as_slice() else {
                    return None;
                };
                let ty = self.result_type(operation, 0)?;
                self.set(operation, 0, Value::new(ty, vec![*divisor]))
            }
            // CuTe defines these quotients for numbers that are not negative, by a product of unsigned words.
            "fast_divmod.compute" => {
                let [dividend, divisor] = values.as_slice() else {
                    return None;
                };
                let ([a], [b]) = (dividend.parts.as_slice(), divisor.parts.as_slice()) else {
                    return None;
                };
                let width = dividend.ty.scalar_width()?;
                let signed = false;
                let parts = [Compute::Divide { signed }, Compute::Remainder { signed }]
                    .map(|compute| self.build.compute(compute, width, &[*a, *b]));
                for (result, part) in operation.results.iter().zip(parts) {
                    self.define(*result, Value::scalar(width, part));
                }
                Some(())
            }
            _ => None,
        }
    }

    /// `make_layout` of a shape without strides: the first mode is the fastest, and there are no gaps.
    fn compact_layout(&mut self, operation: &Operation<'a>, values: &[Value]) -> Option<()> {
        let [shape] = values else { return None };
        if operation.name != "cute.make_layout" || shape.ty.name != "cute.shape" {
            return None;
        }
        let shape = shape.as_tuple()?;
        let mut next = Leaf::constant(1);
        let stride = self.compact_strides(&shape, &mut next)?;
        let value = Value::layout(&Layout { shape, stride })?;
        self.set(operation, 0, value)
    }

    fn compact_strides(&mut self, shape: &Tuple, next: &mut Leaf) -> Option<Tuple> {
        match shape {
            Tuple::List(list) => Some(Tuple::List(
                list.iter()
                    .map(|mode| self.compact_strides(mode, next))
                    .collect::<Option<_>>()?,
            )),
            // A mode of one element has the stride 0.
            Tuple::Leaf(extent) if extent.known() == Some(1) => {
                Some(Tuple::Leaf(Leaf::constant(0)))
            }
            Tuple::Leaf(extent) => {
                let stride = next.clone();
                *next = if stride.known() == Some(1) {
                    extent.clone()
                } else {
                    self.leaf(Arithmetic::Multiply, &stride, extent)?
                };
                Some(Tuple::Leaf(stride))
            }
        }
    }

    /// Whether each leaf is less than its counterpart.
    fn all_less(&mut self, left: &Tuple, right: &Tuple) -> Option<Operand> {
        let pairs: Vec<_> = left
            .leaves()
            .into_iter()
            .cloned()
            .zip(right.leaves().into_iter().cloned())
            .collect();
        if pairs.len() != left.leaves().len() || pairs.len() != right.leaves().len() {
            return None;
        }
        let mut all = Operand::Constant(1);
        for (left, right) in pairs {
            let (
                Leaf::Number {
                    value: Some(a),
                    width: 32,
                    ..
                },
                Leaf::Number {
                    value: Some(b),
                    width: 32,
                    ..
                },
            ) = (left, right)
            else {
                return None;
            };
            let less = self.build.compare(Compare::Less { signed: true }, 32, a, b);
            all = match all {
                Operand::Constant(1) => less,
                all => self.build.compute(Compute::And, 1, &[all, less]),
            };
        }
        Some(all)
    }

    /// `%a, %b = cute.get_leaves(%t)`: a tuple of one leaf each.
    fn leaves(&mut self, operation: &Operation<'a>, source: &Value) -> Option<()> {
        let leaves: Vec<Leaf> = match source.as_tuple() {
            Some(tuple) => tuple.leaves().into_iter().cloned().collect(),
            None => {
                let layout = source.as_layout()?;
                let mut leaves: Vec<Leaf> = layout.shape.leaves().into_iter().cloned().collect();
                leaves.extend(layout.stride.leaves().into_iter().cloned());
                leaves
            }
        };
        if leaves.len() != operation.results.len() {
            return None;
        }
        for (index, leaf) in leaves.into_iter().enumerate() {
            let value = Value::tuple("cute.int_tuple", &Tuple::Leaf(leaf))?;
            self.set(operation, index, value)?;
        }
        Some(())
    }

    /// Integers of all leaves, or of the dynamic ones.
    fn scalars(&mut self, operation: &Operation<'a>, source: &Value) -> Option<()> {
        let tuple = source.as_tuple()?;
        let leaves = tuple.leaves();
        let all = leaves.len() == operation.results.len();
        let mut results = operation.results.iter();
        for leaf in leaves {
            let Leaf::Number {
                value: Some(operand),
                dynamic,
                width,
                ..
            } = leaf
            else {
                return None;
            };
            if all || *dynamic {
                self.define(*results.next()?, Value::scalar(*width, *operand));
            }
        }
        Some(())
    }

    pub fn leaf_by_leaf(
        &mut self,
        arithmetic: Arithmetic,
        left: &Tuple,
        right: &Tuple,
    ) -> Option<Tuple> {
        match (left, right) {
            (Tuple::Leaf(a), Tuple::Leaf(b)) => Some(Tuple::Leaf(self.leaf(arithmetic, a, b)?)),
            (Tuple::List(a), Tuple::List(b)) if a.len() == b.len() => {
                let list = a
                    .iter()
                    .zip(b)
                    .map(|(a, b)| self.leaf_by_leaf(arithmetic, a, b))
                    .collect::<Option<_>>()?;
                Some(Tuple::List(list))
            }
            // CuTe pads a shorter divisor with ones.
            (Tuple::List(a), Tuple::List(b))
                if a.len() > b.len()
                    && matches!(arithmetic, Arithmetic::CeilDivide | Arithmetic::Divide) =>
            {
                let mut list = Vec::new();
                for (index, a) in a.iter().enumerate() {
                    list.push(match b.get(index) {
                        Some(b) => self.leaf_by_leaf(arithmetic, a, b)?,
                        None => a.clone(),
                    });
                }
                Some(Tuple::List(list))
            }
            (Tuple::List(a), Tuple::Leaf(_)) if a.len() == 1 => Some(Tuple::List(vec![
                self.leaf_by_leaf(arithmetic, &a[0], right)?,
            ])),
            _ => None,
        }
    }

    /// Applies an operation to one leaf. Known numbers give a known number. The result has the axes of the left leaf.
    pub fn leaf(&mut self, arithmetic: Arithmetic, left: &Leaf, right: &Leaf) -> Option<Leaf> {
        let (
            Leaf::Number {
                value: Some(a),
                dynamic: a_dynamic,
                width: a_width,
                axes: a_axes,
            },
            Leaf::Number {
                value: Some(b),
                dynamic: b_dynamic,
                width: b_width,
                axes: b_axes,
            },
        ) = (left, right)
        else {
            return None;
        };
        let axes = match (a_axes.is_empty(), b_axes.is_empty()) {
            (_, true) => a_axes.clone(),
            (true, false) if arithmetic == Arithmetic::Multiply => b_axes.clone(),
            _ => return None,
        };
        let width = match (a_dynamic, b_dynamic) {
            (true, false) => *a_width,
            (false, true) => *b_width,
            _ => *a_width.max(b_width),
        };
        let widen = |lower: &mut Self, operand: Operand, dynamic: bool, from: u16| {
            if dynamic {
                lower.build.convert(operand, from, width, true)
            } else {
                operand
            }
        };
        let a = widen(self, *a, *a_dynamic, *a_width);
        let b = widen(self, *b, *b_dynamic, *b_width);
        let signed = true;
        let value = match arithmetic {
            Arithmetic::Add => self.build.compute(Compute::Add, width, &[a, b]),
            Arithmetic::Subtract => self.build.compute(Compute::Subtract, width, &[a, b]),
            Arithmetic::Multiply => self.build.compute(Compute::Multiply, width, &[a, b]),
            Arithmetic::Divide => self
                .build
                .compute(Compute::Divide { signed }, width, &[a, b]),
            Arithmetic::Remainder => {
                self.build
                    .compute(Compute::Remainder { signed }, width, &[a, b])
            }
            Arithmetic::CeilDivide => {
                let one = Operand::Constant(1);
                let less = self.build.compute(Compute::Subtract, width, &[b, one]);
                let sum = self.build.compute(Compute::Add, width, &[a, less]);
                self.build
                    .compute(Compute::Divide { signed }, width, &[sum, b])
            }
        };
        let dynamic = *a_dynamic || *b_dynamic;
        let value = match value {
            Operand::Constant(bits) if !dynamic => {
                // Static leaves are numbers with a sign.
                let word = crate::meaning::Word::new(bits, width);
                Operand::Constant(word.signed().cast_unsigned())
            }
            other => other,
        };
        Some(Leaf::Number {
            value: Some(value),
            dynamic,
            width,
            axes,
        })
    }

    /// The product of all leaves.
    pub fn product(&mut self, tuple: &Tuple) -> Option<Leaf> {
        let leaves: Vec<Leaf> = tuple.leaves().into_iter().cloned().collect();
        let mut leaves = leaves.into_iter();
        let mut product = leaves.next().unwrap_or_else(|| Leaf::constant(1));
        for leaf in leaves {
            product = if product.known() == Some(1) {
                leaf
            } else if leaf.known() == Some(1) {
                product
            } else {
                self.leaf(Arithmetic::Multiply, &product, &leaf)?
            };
        }
        Some(product)
    }
}

/// The extents of a tile of the form `[128:1;?:1]` or `128:1`.
pub fn tile_extents(tile: &Value) -> Option<Tuple> {
    if tile.ty.name != "cute.tile" {
        return None;
    }
    let strings = tile.ty.strings();
    let text = *strings.first()?;
    let extent = |text: &str| -> Option<Tuple> {
        let (extent, stride) = text.trim().rsplit_once(':')?;
        // An extent of 1 is written with the stride 0.
        let plain = stride == "1" || (stride == "0" && extent == "1");
        let tuple = Tuple::parse(extent)?;
        (plain && matches!(tuple, Tuple::Leaf(Leaf::Number { .. }))).then_some(tuple)
    };
    let inner = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    let mut tuple = match inner {
        Some(inner) => Tuple::List(inner.split(';').map(extent).collect::<Option<_>>()?),
        None => extent(text)?,
    };
    tuple.fill(&mut tile.parts.iter().copied());
    Some(tuple)
}

/// The numbers of the first group in angle brackets: `<0, 3>`, `<[1, 0]>`, `<2>`.
pub fn angle_numbers(operation: &Operation<'_>) -> Option<Vec<usize>> {
    operation.items.iter().find_map(|item| match item {
        Item::Group(group) if group.open == '<' => numbers(&group.items)
            .into_iter()
            .map(|number| usize::try_from(number).ok())
            .collect(),
        _ => None,
    })
}
