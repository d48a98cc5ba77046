//! Division of views into tiles. It computes the numbers of tiles.

use super::layouts::rebuild;
use super::lower::Lower;
use super::syntax::Item;
use super::syntax::Operation;
use super::tuple::Layout;
use super::tuple::Leaf;
use super::tuple::Tuple;
use super::tuples::Arithmetic;
use super::tuples::tile_extents;
use super::value::Value;

impl<'a> Lower<'_, 'a> {
    /// Divides a view or layout into tiles: a mode of extent `e` becomes two modes, one of the tile's extent, and one
    /// that counts tiles.
    pub fn tile(&mut self, operation: &Operation<'a>, name: &str, values: &[Value]) -> Option<()> {
        let source = values.first()?;
        let layout = source.as_layout()?;
        let mut tile = tile_extents(values.get(1)?)?.modes();
        let mut chosen = match values.get(2) {
            Some(coordinate) => coordinate.as_tuple()?.modes(),
            None => Vec::new(),
        };
        // `(1, _, 1)` drops the modes of the tile and of the coordinate where it has `_`, and keeps the others.
        if let Some(kept) = projection(operation) {
            if kept.len() != tile.len() || kept.len() > chosen.len() {
                return None;
            }
            let mut flags = kept.iter();
            tile.retain(|_| *flags.next().unwrap_or(&true));
            let mut flags = kept.iter();
            chosen.retain(|_| *flags.next().unwrap_or(&true));
        }
        let (shapes, strides) = (layout.shape.modes(), layout.stride.modes());
        if tile.len() > shapes.len() || shapes.len() != strides.len() {
            return None;
        }
        let mut inner = (Vec::new(), Vec::new());
        let mut outer = (Vec::new(), Vec::new());
        for (index, (shape, stride)) in shapes.iter().zip(&strides).enumerate() {
            let Some(extent) = tile.get(index) else {
                outer.0.push(shape.clone());
                outer.1.push(stride.clone());
                continue;
            };
            let (Tuple::Leaf(extent), Tuple::Leaf(all), Tuple::Leaf(step)) =
                (extent, shape, stride)
            else {
                return None;
            };
            inner.0.push(Tuple::Leaf(extent.clone()));
            inner.1.push(stride.clone());
            let count = self.leaf(Arithmetic::CeilDivide, all, extent)?;
            let far = if count.known() == Some(1) {
                Leaf::constant(0)
            } else {
                self.leaf(Arithmetic::Multiply, step, extent)?
            };
            outer.0.push(Tuple::Leaf(count));
            outer.1.push(Tuple::Leaf(far));
        }
        let join = |inner: Vec<Tuple>, outer: Vec<Tuple>| match name {
            "zipped_divide" => vec![Tuple::List(inner), Tuple::List(outer)],
            "tiled_divide" => std::iter::once(Tuple::List(inner)).chain(outer).collect(),
            _ => inner.into_iter().chain(outer).collect(),
        };
        let rest = outer.0.len();
        let kept = inner.0.len();
        let layout = Layout {
            shape: Tuple::List(join(inner.0, outer.0)),
            stride: Tuple::List(join(inner.1, outer.1)),
        };
        let divided = rebuild(source, &layout)?;
        if values.len() < 3 {
            return self.set(operation, 0, divided);
        }
        // The coordinate selects a tile.
        if chosen.len() > rest || name != "local_tile" {
            return None;
        }
        let mut full = vec![Tuple::Leaf(Leaf::Free); kept];
        full.extend(chosen);
        full.resize(kept + rest, Tuple::Leaf(Leaf::Free));
        self.slice(operation, &divided, &Tuple::List(full))
    }
}

/// Which modes `"(1,_,1)"` after the operands of an operation keeps.
fn projection(operation: &Operation<'_>) -> Option<Vec<bool>> {
    let operands = operation.items.iter().find_map(|item| match item {
        Item::Group(group) if group.open == '(' => Some(&group.items),
        _ => None,
    })?;
    let text = operands.iter().find_map(|item| match item {
        Item::Text(text) => Some(*text),
        _ => None,
    })?;
    let tuple = Tuple::parse(text)?;
    Some(
        tuple
            .leaves()
            .into_iter()
            .map(|leaf| *leaf != Leaf::Free)
            .collect(),
    )
}
