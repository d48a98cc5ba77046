//! Matrices in shared memory, as tensor cores read them. A descriptor of 64 bits says where a matrix begins, how far
//! its pieces are apart, and how rows are swizzled. Together with the shape, it determines exactly which bytes one
//! multiplication reads.
//!
//! A matrix consists of chunks of 16 bytes. An atom is eight rows of one, two, four or eight chunks. In wider atoms,
//! more bits of the address are swizzled: bits 4 and up are replaced by their exclusive or with bits 7 and up.
//!
//! Source: PTX ISA, "Matrix Descriptor Format" of `wgmma` and "Shared memory descriptor" of `tcgen05`.

use crate::ir::Operand;
use crate::ir::joined;

/// How many bytes of each row a multiplication reads along the dimension that is summed over.
const DEPTH: i128 = 32;

/// The unit of addresses in a descriptor, in bytes.
pub const UNIT: i128 = 16;

/// The bits of a descriptor that contain the beginning of the matrix.
pub const PLACE: u64 = (1 << 14) - 1;

const STRANGE: &str = "what this form of multiplication reads is not followed";

/// The matrices in shared memory that a multiplication reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matrices {
    /// Descriptors of 64 bits. The first one is absent if the first operand is not in shared memory.
    pub first: Option<Operand>,
    pub second: Operand,
    pub product: Product,
}

/// The properties of the operands that a multiplication states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Product {
    /// `wgmma`: the columns of the result, the bytes of an element of each operand, and whether each is transposed.
    Warpgroup {
        columns: u32,
        elements: [u32; 2],
        transposed: [bool; 2],
    },
    /// `tcgen05`. An instruction descriptor, a word of 32 bits, contains the other properties.
    Tensor {
        element: u32,
        /// Whether elements may be narrower than a byte.
        narrow: bool,
        word: Operand,
    },
}

/// The properties of one matrix that an instruction states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Rows of the first operand or columns of the second.
    rows: i128,
    /// Bytes of an element.
    element: i128,
    /// Whether adjacent elements are neighbours along rows, and not along the dimension that is summed over.
    transposed: bool,
}

impl Matrices {
    /// The bits of an instruction descriptor that determine what is read: sparsity, types, transposition of operands,
    /// and the shape.
    pub const WORD: u32 =
        0b1 << 2 | 0b11 << 4 | 0b11_1111 << 7 | 0b11 << 15 | 0b11_1111 << 17 | 0b1_1111 << 24;

    pub fn operands(&self) -> Vec<Operand> {
        let word = match self.product {
            Product::Tensor { word, .. } => Some(word),
            Product::Warpgroup { .. } => None,
        };
        self.first
            .into_iter()
            .chain([self.second])
            .chain(word)
            .collect()
    }

    /// The descriptors.
    pub fn descriptors(&self) -> Vec<Operand> {
        self.first.into_iter().chain([self.second]).collect()
    }

    /// The shape of the matrix of each descriptor. `word` is the instruction descriptor, if there is one.
    pub fn shapes(&self, word: Option<u32>) -> Result<Vec<Shape>, &'static str> {
        let (rows, columns, elements, transposed) = match self.product {
            Product::Warpgroup {
                columns,
                elements,
                transposed,
            } => (64, i128::from(columns), elements, transposed),
            Product::Tensor {
                element, narrow, ..
            } => {
                let word = word.ok_or("the instruction descriptor is not a constant")?;
                let field = |from: u32, length: u32| (word >> from) & ((1 << length) - 1);
                let below = narrow && (field(7, 3) > 1 || field(10, 3) > 1);
                if !matches!(field(4, 2), 1 | 2) || below || field(2, 1) != 0 {
                    return Err(STRANGE);
                }
                let transposed = [field(15, 1) == 1, field(16, 1) == 1];
                let (rows, columns) = (field(24, 5) * 16, field(17, 6) * 8);
                if !matches!(rows, 64 | 128) {
                    return Err(STRANGE);
                }
                (
                    i128::from(rows),
                    i128::from(columns),
                    [element; 2],
                    transposed,
                )
            }
        };
        let of = |rows: i128, at: usize| Shape {
            rows,
            element: i128::from(elements[at]),
            transposed: transposed[at],
        };
        let first = self.first.map(|_| of(rows, 0));
        Ok(first.into_iter().chain([of(columns, 1)]).collect())
    }

    fn is_tensor(&self) -> bool {
        matches!(self.product, Product::Tensor { .. })
    }

    /// The bytes of a matrix that are read, in order.
    ///
    /// `bits` are the bits of its descriptor above the place. `begin` is the beginning of the matrix in bytes, as far
    /// as it is known: up to a multiple of `known`.
    pub fn read(
        &self,
        bits: u64,
        (begin, known): (i128, i128),
        shape: Shape,
    ) -> Result<Vec<(i128, i128)>, &'static str> {
        let part = |from: u32, length: u32| (bits >> from) & ((1 << length) - 1);
        let reserved = match self.is_tensor() {
            false => part(14, 2) | part(30, 2) | part(46, 3) | part(52, 10),
            true => part(14, 2) | part(30, 2) | (part(46, 3) ^ 1) | part(52, 9),
        };
        if reserved != 0 {
            return Err("a matrix descriptor has bits that none has, or lacks those that each has");
        }
        if part(49, 3) != 0 {
            return Err("a matrix begins inside a swizzled atom, which is not followed");
        }
        let row: i128 = match (self.is_tensor(), part(61, 3)) {
            (_, 0) => 16,
            (_, 2) => 128,
            (_, 4) => 64,
            (_, 6) => 32,
            _ => return Err("this swizzle of a matrix is not followed"),
        };
        let atom = if row == 16 { UNIT } else { 8 * row };
        if known % atom != 0 {
            return Err(
                "how the swizzled rows of a matrix lie is not known: its address is not known to be a multiple of an atom",
            );
        }
        let [leading, stride] = [16, 32].map(|from| i128::from(part(from, 14)) * UNIT);
        let inside = begin.rem_euclid(8 * row);
        let mut chunks = Vec::new();
        if shape.transposed {
            if shape.element != 2 {
                return Err("a transposed matrix of elements of this size is not followed");
            }
            if row > 16 && inside != 0 || shape.rows * shape.element % row != 0 {
                return Err(
                    "a transposed matrix that begins or ends inside an atom is not followed",
                );
            }
            let (wide, deep) = if row == 16 {
                (stride, leading)
            } else {
                (leading, stride)
            };
            for block in 0..shape.rows * shape.element / row {
                for line in 0..DEPTH / shape.element {
                    let at = block * wide + line / 8 * deep + line % 8 * row;
                    chunks.extend((0..row / 16).map(|chunk| at + chunk * 16));
                }
            }
        } else {
            if row > 16 && inside + DEPTH > row {
                return Err("a matrix that begins behind the first row of an atom is not followed");
            }
            let next = if row == 16 { leading } else { 16 };
            for line in 0..shape.rows {
                let at = line / 8 * stride + line % 8 * row;
                chunks.extend([at, at + next]);
            }
        }
        let swizzled = |at: i128| {
            let at = begin + at;
            at ^ ((at >> 7) & (row / 16 - 1)) << 4
        };
        let chunks = chunks.into_iter();
        Ok(joined(
            chunks.map(|at| (swizzled(at), swizzled(at) + 16)).collect(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWIZZLED: [u64; 3] = [2, 4, 6];

    fn matrices() -> Matrices {
        Matrices {
            first: None,
            second: Operand::Constant(0),
            product: Product::Warpgroup {
                columns: 128,
                elements: [2, 2],
                transposed: [false, false],
            },
        }
    }

    fn bits(swizzle: u64, leading: u64, stride: u64) -> u64 {
        swizzle << 61 | (leading / 16) << 16 | (stride / 16) << 32
    }

    fn shape(rows: i128, transposed: bool) -> Shape {
        Shape {
            rows,
            element: 2,
            transposed,
        }
    }

    /// The multiplications of a tile whose rows are those of one atom. Each reads a part, and together they read the
    /// whole tile.
    #[test]
    fn a_swizzled_tile() {
        for (swizzle, row) in SWIZZLED.into_iter().zip([128, 64, 32]) {
            let mut all = Vec::new();
            for step in 0..row / 32 {
                let bits = bits(swizzle, 0, 8 * row);
                let begin = (i128::from(step) * 32, 1024);
                let read = matrices().read(bits, begin, shape(128, false)).unwrap();
                assert_eq!(read.iter().map(|b| b.1 - b.0).sum::<i128>(), 128 * 32);
                all.extend(read);
            }
            let mut bytes: Vec<i128> = all.iter().flat_map(|(from, to)| *from..*to).collect();
            bytes.sort_unstable();
            assert_eq!(bytes, (0..128 * i128::from(row)).collect::<Vec<_>>());
        }
    }

    /// Without a swizzle, both strides matter.
    #[test]
    fn core_matrices() {
        let read = |bits, turned| matrices().read(bits, (0, 16), shape(16, turned)).unwrap();
        assert_eq!(read(bits(0, 128, 512), false), [(0, 256), (512, 768)]);
        assert_eq!(read(bits(0, 256, 128), true), [(0, 512)]);
    }

    /// A transposed tile of 64 elements in rows of 128 bytes: 16 rows at a time.
    #[test]
    fn a_transposed_tile() {
        let bits = bits(2, 8192, 1024);
        let read = matrices()
            .read(bits, (2048, 1024), shape(128, true))
            .unwrap();
        assert_eq!(read, [(2048, 4096), (10240, 12288)]);
        let inside = matrices().read(bits, (64, 1024), shape(128, true));
        assert!(inside.is_err());
    }

    /// If an address is only known up to multiples of 256 bytes, the swizzle is not known.
    #[test]
    fn unaligned_atoms() {
        let bits = bits(2, 0, 1024);
        assert!(matrices().read(bits, (0, 256), shape(64, false)).is_err());
    }
}
