//! Pieces of shared memory that accesses touch: see `recover::elements`.

use std::rc::Rc;

use crate::ir::VariableId;
use crate::recover::number::Number;

/// Elements of one sort, one in each slot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Buffer {
    pub name: String,
    pub rank: u32,
    pub variable: VariableId,
    /// Where the first slot begins in the variable, and the distance to the next one, both in
    /// bytes.
    pub base: i128,
    pub stride: i128,
    pub slots: i128,
    /// The bytes of an element, from the beginning of its slot.
    pub ranges: Vec<(i128, i128)>,
}

impl Buffer {
    /// How many bytes an element has.
    pub fn size(&self) -> i128 {
        self.ranges.iter().map(|(from, to)| to - from).sum()
    }
}

/// An element of a buffer, and how many bytes of it are touched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    pub buffer: Rc<Buffer>,
    pub index: Number,
    pub bytes: i128,
    /// Which buffer of an array this is, if the text has an array of buffers instead of this one.
    pub array_index: Option<(Rc<BufferArray>, ArrayIndex)>,
}

/// Buffers that are one array in the text: see `recover::merged_roles`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BufferArray {
    pub name: String,
    pub slots: i128,
    pub length: i128,
}

/// One buffer of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrayIndex {
    Number(i128),
    /// The index of the warp with the number `w` in its role: `w + plus`, or the remainder of that
    /// by `modulo`.
    Own {
        plus: i128,
        modulo: Option<i128>,
    },
}
