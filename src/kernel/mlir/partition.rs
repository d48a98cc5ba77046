//! Partitions of views among CTAs and threads.
//!
//! A partition divides the modes of one tile. The modes after these count tiles and stages, and they stay as they
//! are. The reader uses no other property of a partition.

use super::lower::Lower;
use super::syntax::Operation;
use super::tuple::Layout;
use super::tuple::Leaf;
use super::tuple::Tuple;
use super::types::Type;
use super::value::Value;
use super::value::parts_of;
use crate::ir::Operand;

impl<'a> Lower<'_, 'a> {
    pub fn partition(&mut self, operation: &Operation<'a>) -> Option<()> {
        // The positions of the views among the operands, and of the coordinate of the part.
        let (views, coordinate): (&[usize], usize) = match operation.name {
            "cute.tiled.mma.partition"
            | "cute.tiled.copy.partition_S"
            | "cute.tiled.copy.partition_D" => (&[1], 2),
            "cute_nvgpu.atom.tma_partition" => (&[3, 4], 1),
            _ => return None,
        };
        let values = self.operand_values(operation);
        let at_origin = values
            .get(coordinate)?
            .as_tuple()?
            .leaves()
            .iter()
            .all(|leaf| leaf.known() == Some(0));
        for (index, view) in views.iter().enumerate() {
            let ty = self.result_type(operation, index)?;
            let source = values.get(*view)?.clone();
            let value = self.part(operation, &source, &ty, at_origin)?;
            self.define(*operation.results.get(index)?, value);
        }
        Some(())
    }

    fn part(
        &mut self,
        operation: &Operation<'a>,
        source: &Value,
        ty: &std::rc::Rc<Type>,
        at_origin: bool,
    ) -> Option<Value> {
        let widths = parts_of(ty)?;
        if widths.is_empty() {
            return Some(Value::new(ty.clone(), Vec::new()));
        }
        let begin = source.iterator()?;
        let given = source.as_layout()?;
        let empty = Value::new(
            ty.clone(),
            widths.iter().map(|_| Operand::Constant(0)).collect(),
        );
        let iterator = empty.iterator()?;
        let mut parts: Vec<Option<Operand>> = if at_origin {
            match begin.conform(&iterator.ty) {
                Some(begin) => begin.parts.into_iter().map(Some).collect(),
                None => vec![None; iterator.parts.len()],
            }
        } else {
            vec![None; iterator.parts.len()]
        };
        let wanted = empty.as_layout()?;
        let kept = same_modes(&wanted, &given);
        for (wanted, given) in [
            (&wanted.shape, &given.shape),
            (&wanted.stride, &given.stride),
        ] {
            let (wanted, given) = (wanted.modes(), given.modes());
            let divided = wanted.len() - kept;
            for mode in &wanted[..divided] {
                parts.extend(dynamic(mode).map(|_| None));
            }
            for mode in &given[given.len() - kept..] {
                parts.extend(dynamic(mode));
            }
        }
        if parts.len() != widths.len() {
            return None;
        }
        let unknown: Vec<_> = parts
            .iter()
            .zip(&widths)
            .filter(|(part, _)| part.is_none())
            .map(|(_, width)| *width)
            .collect();
        let mut opaque = if unknown.is_empty() {
            Vec::new()
        } else {
            self.build
                .opaque(operation.name, Vec::new(), &unknown, false)
        }
        .into_iter();
        let parts = parts
            .into_iter()
            .map(|part| part.or_else(|| opaque.next()))
            .collect::<Option<_>>()?;
        Some(Value::new(ty.clone(), parts))
    }
}

fn dynamic(tuple: &Tuple) -> impl Iterator<Item = Option<Operand>> {
    tuple.leaves().into_iter().filter_map(|leaf| match leaf {
        Leaf::Number {
            value,
            dynamic: true,
            ..
        } => Some(*value),
        _ => None,
    })
}

/// The number of last modes that are written in the same way in both layouts.
fn same_modes(a: &Layout, b: &Layout) -> usize {
    let modes = |layout: &Layout| -> Vec<(String, String)> {
        let strides = layout.stride.modes();
        layout
            .shape
            .modes()
            .iter()
            .zip(strides)
            .map(|(shape, stride)| (shape.text(), stride.text()))
            .collect()
    };
    let (a, b) = (modes(a), modes(b));
    a.iter()
        .rev()
        .zip(b.iter().rev())
        .take_while(|(a, b)| a == b)
        .count()
}
