//! A value of the text as operands of the IR: one operand for each part of the value that is known at run time only.
//!
//! The type determines which parts these are. An integer has one part. A pointer has its address. A tuple or layout
//! has its dynamic leaves. A view has the parts of its pointer and of its layout. The static parts of a value are in
//! its type.

use std::rc::Rc;

use super::tuple::Layout;
use super::tuple::Leaf;
use super::tuple::Tuple;
use super::tuple::dynamic_widths;
use super::types;
use super::types::Type;
use crate::ir::Operand;
use crate::ir::Space;

#[derive(Debug, Clone)]
pub struct Value {
    pub ty: Rc<Type>,
    pub parts: Vec<Operand>,
    /// For a TMA load: among how many CTAs one box is divided, if this is known.
    pub multicast: Option<u32>,
}

/// A placeholder for the mbarrier of a copy that has none yet.
pub const NO_BARRIER: Operand = Operand::Constant(0);

/// Vectors of more elements are treated as data.
const MAX_ELEMENTS: usize = 16;

/// The widths of the parts of a type; `None` if the contents of its values are not followed.
pub fn parts_of(ty: &Type) -> Option<Vec<u16>> {
    if let Some(width) = ty.scalar_width() {
        return Some(vec![width]);
    }
    let widths = match ty.name.as_str() {
        "llvm.ptr" => vec![match ty.body.as_str() {
            "3" | "7" | "5" | "6" => 32,
            _ => 64,
        }],
        "cute.ptr" => vec![address_width(pointer_space(ty))],
        "cute.int_tuple"
        | "cute.shape"
        | "cute.coord"
        | "cute.stride"
        | "cute.tile"
        | "cute.layout"
        | "cute.composed_layout"
        | "cute.arith_tuple_iter"
        | "cute.swizzle" => strings_widths(ty),
        "cute.memref" => {
            let mut widths = vec![address_width(pointer_space(ty))];
            widths.extend(strings_widths(ty));
            widths
        }
        "cute.coord_tensor" => strings_widths(ty),
        "cute.fast_divmod_divisor" => vec![types::integer_width(&format!("i{}", ty.body))?],
        "vector" => {
            let (count, element) = vector(ty)?;
            let width = types::integer_width(element)?;
            if count > MAX_ELEMENTS {
                return None;
            }
            vec![width; count]
        }
        name if is_executable_copy(name) => vec![32, 16],
        name if name.starts_with("cute_nvgpu.atom.") || name.starts_with("cute_nvgpu.sm") => {
            Vec::new()
        }
        "cute.tiled_copy" | "cute.tiled_mma" => Vec::new(),
        _ => return None,
    };
    Some(widths)
}

/// Atoms that hold an mbarrier and a mask of CTAs.
pub fn is_executable_copy(name: &str) -> bool {
    name.strip_prefix("cute_nvgpu.atom.")
        .is_some_and(|atom| atom.starts_with("tma_") || atom.starts_with("bulk_copy"))
}

fn strings_widths(ty: &Type) -> Vec<u16> {
    ty.strings().into_iter().flat_map(dynamic_widths).collect()
}

/// `4xi32` as the number of elements and their type; only of one dimension.
pub fn vector(ty: &Type) -> Option<(usize, &str)> {
    let (count, element) = ty.body.split_once('x')?;
    if ty.name != "vector" || element.contains('x') {
        return None;
    }
    Some((count.parse().ok()?, element))
}

/// The space that a pointer or view of CuTe or LLVM points to.
pub fn pointer_space(ty: &Type) -> Space {
    if ty.name == "llvm.ptr" {
        return match ty.body.as_str() {
            "1" => Space::Global,
            "3" => Space::Shared,
            "4" => Space::Constant,
            "5" => Space::Local,
            "6" => Space::Tensor,
            "7" => Space::Cluster,
            _ => Space::Generic,
        };
    }
    let arguments = ty.arguments();
    match arguments.get(1).copied().unwrap_or("") {
        "smem" => Space::Shared,
        "gmem" => Space::Global,
        "rmem" => Space::Local,
        "tmem" => Space::Tensor,
        "dsmem" => Space::Cluster,
        _ => Space::Generic,
    }
}

pub fn address_width(space: Space) -> u16 {
    match space {
        Space::Shared | Space::Cluster | Space::Local | Space::Tensor => 32,
        _ => 64,
    }
}

/// The bits of an element that a pointer or view of CuTe points to.
pub fn element_bits(ty: &Type) -> Option<u16> {
    Type::new(*ty.arguments().first()?, "").scalar_width()
}

/// The name of the element type of a pointer or view of CuTe.
pub fn element_name(ty: &Type) -> &str {
    ty.arguments().first().copied().unwrap_or("")
}

/// Whether addresses in memory are permuted.
pub fn is_swizzled(ty: &Type) -> bool {
    ty.arguments()
        .iter()
        .any(|argument| argument.starts_with("S<") && !argument.starts_with("S<0"))
}

impl Value {
    pub fn new(ty: Rc<Type>, parts: Vec<Operand>) -> Self {
        Self {
            ty,
            parts,
            multicast: None,
        }
    }

    pub fn scalar(width: u16, operand: Operand) -> Self {
        Self::new(Type::new(format!("i{width}"), ""), vec![operand])
    }

    /// `kind` is the type's name: `cute.int_tuple`, `cute.shape`, ...
    pub fn tuple(kind: &str, tuple: &Tuple) -> Option<Self> {
        let ty = Type::new(kind, format!("\"{}\"", tuple.text()));
        Some(Self::new(ty, tuple.operands()?))
    }

    pub fn layout(layout: &Layout) -> Option<Self> {
        let ty = Type::new("cute.layout", format!("\"{}\"", layout.text()));
        let mut parts = layout.shape.operands()?;
        parts.extend(layout.stride.operands()?);
        Some(Self::new(ty, parts))
    }

    /// A view of a layout at a pointer or at a coordinate.
    pub fn view(iterator: &Self, layout: &Layout) -> Option<Self> {
        let mut parts = iterator.parts.clone();
        parts.extend(layout.shape.operands()?);
        parts.extend(layout.stride.operands()?);
        let ty = match iterator.ty.name.as_str() {
            "cute.ptr" => Type::new(
                "cute.memref",
                format!("{}, \"{}\"", iterator.ty.body, layout.text()),
            ),
            "cute.arith_tuple_iter" => Type::new(
                "cute.coord_tensor",
                format!("{}, \"{}\"", iterator.ty.body, layout.text()),
            ),
            _ => return None,
        };
        Some(Self::new(ty, parts))
    }

    /// The tuple of an integer, a tuple type or a coordinate.
    pub fn as_tuple(&self) -> Option<Tuple> {
        if let (Some(width), [operand]) = (self.ty.scalar_width(), self.parts.as_slice()) {
            return Some(Tuple::Leaf(Leaf::dynamic(*operand, width)));
        }
        if !matches!(
            self.ty.name.as_str(),
            "cute.int_tuple"
                | "cute.shape"
                | "cute.coord"
                | "cute.stride"
                | "cute.arith_tuple_iter"
        ) {
            return None;
        }
        let mut tuple = Tuple::parse(self.ty.strings().first()?)?;
        tuple.fill(&mut self.parts.iter().copied());
        Some(tuple)
    }

    /// The layout of a layout or of a view.
    pub fn as_layout(&self) -> Option<Layout> {
        let text = match self.ty.name.as_str() {
            "cute.layout"
            | "cute.composed_layout"
            | "cute.memref"
            | "cute.coord_tensor"
            | "cute_nvgpu.smem_desc_view" => *self.ty.strings().last()?,
            _ => return None,
        };
        let mut layout = Layout::parse(text)?;
        let own = dynamic_widths(&layout.text()).len();
        let skip = self.parts.len().checked_sub(own)?;
        let mut parts = self.parts[skip..].iter().copied();
        layout.shape.fill(&mut parts);
        layout.stride.fill(&mut parts);
        Some(layout)
    }

    /// The pointer or the coordinate that a view begins at.
    pub fn iterator(&self) -> Option<Self> {
        match self.ty.name.as_str() {
            "cute.memref" => {
                let arguments = self.ty.arguments();
                let (_, pointer) = arguments.split_last()?;
                let ty = Type::new("cute.ptr", pointer.join(", "));
                Some(Self::new(ty, vec![*self.parts.first()?]))
            }
            "cute.coord_tensor" => {
                let text = *self.ty.strings().first()?;
                let count = dynamic_widths(text).len();
                let ty = Type::new("cute.arith_tuple_iter", format!("\"{text}\""));
                Some(Self::new(ty, self.parts.get(..count)?.to_vec()))
            }
            "cute.ptr" | "cute.arith_tuple_iter" => Some(self.clone()),
            _ => None,
        }
    }

    /// The same value with the type that the text gives it. Each dynamic part of that type is the same leaf of this
    /// value.
    pub fn conform(&self, ty: &Rc<Type>) -> Option<Self> {
        let widths = parts_of(ty)?;
        let mut value = self.clone();
        if widths.is_empty() {
            value.parts.clear();
        } else if ty.strings().is_empty() {
            if widths.len() != self.parts.len() {
                return None;
            }
        } else {
            let ours = self.leaves()?;
            let theirs = leaf_flags(ty)?;
            if ours.len() != theirs.len() {
                return None;
            }
            value.parts = ours
                .into_iter()
                .zip(theirs)
                .filter(|(_, dynamic)| *dynamic)
                .map(|(operand, _)| operand)
                .collect::<Option<_>>()?;
        }
        value.ty = ty.clone();
        Some(value)
    }

    /// Operands of all leaves, static ones too; a free mode has none.
    fn leaves(&self) -> Option<Vec<Option<Operand>>> {
        let mut out = Vec::new();
        let mut parts = self.parts.iter().copied();
        if matches!(self.ty.name.as_str(), "cute.ptr" | "cute.memref")
            || self.ty.scalar_width().is_some()
        {
            out.push(Some(parts.next()?));
        }
        for text in self.ty.strings() {
            for mut tuple in tuples_of(text)? {
                tuple.fill(&mut parts);
                out.extend(tuple.leaves().into_iter().map(|leaf| match leaf {
                    Leaf::Number { value, .. } => *value,
                    Leaf::Free => None,
                }));
            }
        }
        Some(out)
    }
}

/// Which leaves of a type are dynamic.
fn leaf_flags(ty: &Type) -> Option<Vec<bool>> {
    let mut out = Vec::new();
    if matches!(ty.name.as_str(), "cute.ptr" | "cute.memref") {
        out.push(true);
    }
    for text in ty.strings() {
        for tuple in tuples_of(text)? {
            out.extend(
                tuple
                    .leaves()
                    .into_iter()
                    .map(|leaf| matches!(leaf, Leaf::Number { dynamic: true, .. })),
            );
        }
    }
    Some(out)
}

fn tuples_of(text: &str) -> Option<Vec<Tuple>> {
    match Tuple::parse(text) {
        Some(tuple) => Some(vec![tuple]),
        None => Layout::parse(text).map(|layout| vec![layout.shape, layout.stride]),
    }
}
