//! Integer operations: arith, the integer operations of llvm, and vectors of few integers.

use super::lower::Lower;
use super::syntax::Item;
use super::syntax::Operation;
use super::syntax::number;
use super::syntax::numbers;
use super::types::Type;
use super::value::Value;
use super::value::parts_of;
use super::value::vector;
use crate::ir::Compare;
use crate::ir::Compute;
use crate::ir::Operand;

impl<'a> Lower<'_, 'a> {
    pub fn integer(&mut self, operation: &Operation<'a>) -> Option<()> {
        let (dialect, name) = operation.name.split_once('.')?;
        match dialect {
            "arith" => {}
            "llvm" if !matches!(name, "load" | "store" | "inttoptr" | "ptrtoint") => {}
            "vector" => return self.vector(operation, name),
            _ => return None,
        }
        match name {
            "constant" | "mlir.constant" => self.constant(operation),
            "cmpi" | "icmp" => self.compare_integers(operation),
            "select" => self.select(operation),
            "extui" | "zext" => self.resize(operation, false),
            "extsi" | "sext" | "trunci" | "trunc" | "index_cast" => self.resize(operation, true),
            "index_castui" => self.resize(operation, false),
            "floordivsi" | "ceildivsi" | "ceildivui" => self.rounded_division(operation, name),
            _ => {
                let compute = plain(name)?;
                self.elementwise(operation, compute)
            }
        }
    }

    fn constant(&mut self, operation: &Operation<'a>) -> Option<()> {
        let (types, _) = operation.types();
        let ty = match operation.items.first()? {
            Item::Word("true" | "false") => Type::new("i1", ""),
            _ => types.last().cloned()?,
        };
        let widths = parts_of(&ty)?;
        let bits = match operation.items.first()? {
            Item::Word("true") => 1,
            Item::Word("false") => 0,
            // A floating-point constant of another form is only data.
            Item::Number(text) if ty.is_integer() => number(text)?,
            Item::Word("dense") => {
                let splat = match operation.items.get(1)? {
                    Item::Group(group) => match group.items.as_slice() {
                        [Item::Number(text)] => number(text),
                        [Item::Word("true")] => Some(1),
                        [Item::Word("false")] => Some(0),
                        _ => None,
                    },
                    _ => None,
                };
                vector(&ty)?;
                splat?
            }
            _ => return None,
        };
        let parts = vec![Operand::Constant(bits.cast_unsigned()); widths.len()];
        self.set(operation, 0, Value::new(ty, parts))
    }

    /// The width of the operands, and one part for each operand.
    fn integers(&self, operation: &Operation<'a>) -> Option<(u16, Vec<Operand>)> {
        let values = self.operand_values(operation);
        let ty = &values.first()?.ty;
        if !ty.is_integer() {
            return None;
        }
        let parts = values
            .iter()
            .map(|value| match value.parts.as_slice() {
                [operand] => Some(*operand),
                _ => None,
            })
            .collect::<Option<_>>()?;
        Some((ty.scalar_width()?, parts))
    }

    /// Applies an operation to integers, or to vectors of integers element by element.
    fn elementwise(&mut self, operation: &Operation<'a>, compute: Compute) -> Option<()> {
        let values = self.operand_values(operation);
        let ty = values.first()?.ty.clone();
        let width = if ty.is_integer() {
            ty.scalar_width()?
        } else {
            super::types::integer_width(vector(&ty)?.1)?
        };
        let count = values.first()?.parts.len();
        if values.iter().any(|value| value.parts.len() != count) {
            return None;
        }
        let mut parts = Vec::new();
        for index in 0..count {
            let mut operands: Vec<_> = values.iter().map(|value| value.parts[index]).collect();
            // In the IR, the amount of a shift has 32 bits.
            if matches!(compute, Compute::ShiftLeft | Compute::ShiftRight { .. }) && width < 32 {
                operands[1] = self.build.convert(operands[1], width, 32, false);
            }
            parts.push(self.build.compute(compute, width, &operands));
        }
        self.set(operation, 0, Value::new(ty, parts))
    }

    fn compare_integers(&mut self, operation: &Operation<'a>) -> Option<()> {
        let predicate = operation.items.iter().find_map(|item| match item {
            Item::Word(word) | Item::Text(word) => predicate(word),
            _ => None,
        })?;
        let values = self.operand_values(operation);
        let [left, right] = values.as_slice() else {
            return None;
        };
        // Pointers are compared as addresses, and vectors element by element.
        let widths = parts_of(&left.ty)?;
        if left.parts.len() != widths.len() || right.parts.len() != widths.len() {
            return None;
        }
        let integers = left.ty.is_integer() || left.ty.name == "llvm.ptr";
        if !integers && vector(&left.ty).is_none() {
            return None;
        }
        let parts: Vec<_> = widths
            .into_iter()
            .zip(left.parts.iter().zip(&right.parts))
            .map(|(width, (a, b))| self.build.compare(predicate, width, *a, *b))
            .collect();
        let ty = if integers {
            Type::new("i1", "")
        } else {
            Type::new("vector", format!("{}xi1", parts.len()))
        };
        self.set(operation, 0, Value::new(ty, parts))
    }

    fn select(&mut self, operation: &Operation<'a>) -> Option<()> {
        let values = self.operand_values(operation);
        let [condition, then, otherwise] = values.as_slice() else {
            return None;
        };
        let [condition] = condition.parts.as_slice() else {
            return None;
        };
        let widths = parts_of(&then.ty)?;
        if then.parts.len() != widths.len() || otherwise.parts.len() != widths.len() {
            return None;
        }
        let mut parts = Vec::new();
        for (index, width) in widths.into_iter().enumerate() {
            let operands = [*condition, then.parts[index], otherwise.parts[index]];
            parts.push(self.build.compute(Compute::Select, width, &operands));
        }
        let value = Value::new(then.ty.clone(), parts);
        self.set(operation, 0, value)
    }

    fn resize(&mut self, operation: &Operation<'a>, signed: bool) -> Option<()> {
        let (from, parts) = self.integers(operation)?;
        let (_, after) = operation.types();
        let ty = after?.first().cloned()?;
        let to = ty.is_integer().then(|| ty.scalar_width()).flatten()?;
        let result = self.build.convert(*parts.first()?, from, to, signed);
        self.set(operation, 0, Value::new(ty, vec![result]))
    }

    fn rounded_division(&mut self, operation: &Operation<'a>, name: &str) -> Option<()> {
        let (width, parts) = self.integers(operation)?;
        let [a, b] = parts.as_slice() else {
            return None;
        };
        let result = match name {
            "floordivsi" => self.floor_division(width, *a, *b),
            _ => self.ceil_division(width, *a, *b, name == "ceildivsi"),
        };
        self.set(operation, 0, Value::scalar(width, result))
    }

    /// The quotient, rounded down.
    pub fn floor_division(&mut self, width: u16, a: Operand, b: Operand) -> Operand {
        let build = &mut self.build;
        if let Operand::Constant(bits) = b
            && bits.is_power_of_two()
            && bits < 1 << (width - 1).min(126)
        {
            let amount = Operand::Constant(u128::from(bits.trailing_zeros()));
            return build.compute(Compute::ShiftRight { signed: true }, width, &[a, amount]);
        }
        let quotient = build.compute(Compute::Divide { signed: true }, width, &[a, b]);
        let rest = build.compute(Compute::Remainder { signed: true }, width, &[a, b]);
        let zero = Operand::Constant(0);
        let inexact = build.compare(Compare::NotEqual, width, rest, zero);
        let signs = build.compute(Compute::Xor, width, &[rest, b]);
        let differ = build.compare(Compare::Less { signed: true }, width, signs, zero);
        let lower = build.compute(Compute::And, 1, &[inexact, differ]);
        let one = Operand::Constant(1);
        let below = build.compute(Compute::Subtract, width, &[quotient, one]);
        build.compute(Compute::Select, width, &[lower, below, quotient])
    }

    /// The quotient, rounded up.
    fn ceil_division(&mut self, width: u16, a: Operand, b: Operand, signed: bool) -> Operand {
        let build = &mut self.build;
        let quotient = build.compute(Compute::Divide { signed }, width, &[a, b]);
        let rest = build.compute(Compute::Remainder { signed }, width, &[a, b]);
        let zero = Operand::Constant(0);
        let mut higher = build.compare(Compare::NotEqual, width, rest, zero);
        if signed {
            let signs = build.compute(Compute::Xor, width, &[rest, b]);
            let same = build.compare(Compare::GreaterEqual { signed }, width, signs, zero);
            higher = build.compute(Compute::And, 1, &[higher, same]);
        }
        let above = build.compute(Compute::Add, width, &[quotient, Operand::Constant(1)]);
        build.compute(Compute::Select, width, &[higher, above, quotient])
    }

    fn vector(&mut self, operation: &Operation<'a>, name: &str) -> Option<()> {
        let values = self.operand_values(operation);
        match name {
            "extract" => {
                let source = values.first()?;
                let (_, element) = vector(&source.ty)?;
                // The index is a number, or a value that is known.
                let index = match values.get(1).map(|index| index.parts.as_slice()) {
                    Some([Operand::Constant(bits)]) => bits.cast_signed(),
                    Some(_) if source.parts.len() == 1 => 0,
                    Some(_) => return None,
                    None => operation.items.iter().find_map(|item| match item {
                        Item::Group(group) if group.open == '[' => {
                            numbers(&group.items).first().copied()
                        }
                        _ => None,
                    })?,
                };
                let part = *source.parts.get(usize::try_from(index).ok()?)?;
                self.set(operation, 0, Value::new(Type::new(element, ""), vec![part]))
            }
            "from_elements" | "broadcast" | "splat" => {
                let ty = self.result_type(operation, 0)?;
                let count = parts_of(&ty)?.len();
                let mut parts: Vec<_> = values.into_iter().flat_map(|value| value.parts).collect();
                if name != "from_elements" && parts.len() == 1 {
                    parts = vec![parts[0]; count];
                }
                if parts.len() != count {
                    return None;
                }
                self.set(operation, 0, Value::new(ty, parts))
            }
            _ => None,
        }
    }
}

fn plain(name: &str) -> Option<Compute> {
    Some(match name {
        "addi" | "add" => Compute::Add,
        "subi" | "sub" => Compute::Subtract,
        "muli" | "mul" => Compute::Multiply,
        "divsi" | "sdiv" => Compute::Divide { signed: true },
        "divui" | "udiv" => Compute::Divide { signed: false },
        "remsi" | "srem" => Compute::Remainder { signed: true },
        "remui" | "urem" => Compute::Remainder { signed: false },
        "andi" | "and" => Compute::And,
        "ori" | "or" => Compute::Or,
        "xori" | "xor" => Compute::Xor,
        "shli" | "shl" => Compute::ShiftLeft,
        "shrsi" | "ashr" => Compute::ShiftRight { signed: true },
        "shrui" | "lshr" => Compute::ShiftRight { signed: false },
        "minsi" => Compute::Minimum { signed: true },
        "minui" => Compute::Minimum { signed: false },
        "maxsi" => Compute::Maximum { signed: true },
        "maxui" => Compute::Maximum { signed: false },
        _ => return None,
    })
}

fn predicate(word: &str) -> Option<Compare> {
    Some(match word {
        "eq" => Compare::Equal,
        "ne" => Compare::NotEqual,
        "slt" => Compare::Less { signed: true },
        "ult" => Compare::Less { signed: false },
        "sle" => Compare::LessEqual { signed: true },
        "ule" => Compare::LessEqual { signed: false },
        "sgt" => Compare::Greater { signed: true },
        "ugt" => Compare::Greater { signed: false },
        "sge" => Compare::GreaterEqual { signed: true },
        "uge" => Compare::GreaterEqual { signed: false },
        _ => return None,
    })
}
