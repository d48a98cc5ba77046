//! Matrices in shared memory as the tensor cores find them: a descriptor of 64 bits says where a matrix
//! begins, how far its pieces are apart and how rows are swizzled. From that and the shape, the bytes that one
//! multiplication reads follow exactly.
//!
//! A matrix is made of chunks of 16 bytes. Eight rows of one, two, four or eight chunks are an atom; the wider
//! the atom, the more address bits are swizzled: bits 4 and up are combined with bits 7 and up by exclusive or.

use super::access::merged;
use crate::ptx::syntax::ast::Variable;
use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::Unknowns;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Sum;

/// How many bytes a multiplication takes of each row along the dimension that is summed over.
const DEPTH: i128 = 32;

/// Shared addresses that a descriptor can name lie below this.
pub(in crate::ptx) const REACHED: i128 = 1 << 18;

/// The bytes of the largest swizzled atom.
pub(in crate::ptx) const LARGEST_ATOM: u64 = 1024;

/// The instructions that read a matrix, as their descriptors differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ptx) enum Engine {
    Wgmma,
    Tcgen05,
}

/// What an instruction says of a matrix.
#[derive(Debug, Clone, Copy)]
pub(in crate::ptx) struct Shape {
    /// Rows of A or columns of B.
    pub rows: i128,
    /// Bytes of an element.
    pub element: i128,
    /// Whether neighbours along rows, and not along the dimension that is summed over, lie side by side.
    pub transposed: bool,
}

/// A descriptor, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ptx) struct Descriptor {
    /// Where the matrix begins: what moves, and the bytes from there.
    pub moves: Sum,
    pub from: i128,
    /// How far pieces are apart along the dimension that is summed over, and along the other one.
    pub leading: i128,
    pub stride: i128,
    /// Bytes of an atom's row: 16, 32, 64 or 128.
    pub row: i128,
}

impl Descriptor {
    /// Takes the value of a descriptor apart, or says why not.
    pub fn of(
        value: &Sum,
        engine: Engine,
        facts: &Facts,
        unknowns: &Unknowns,
        shared: &[Variable<'_>],
    ) -> Result<Descriptor, String> {
        let field = 1i128 << 14;
        let low = value.constant.rem_euclid(field);
        let bits = (value.constant - low).rem_euclid(1 << 64);
        let moving = value.plus_constant(-value.constant);
        let (least, most) = facts.range(&moving);
        if least + low < 0 || most + low >= field {
            return Err("its address may reach into other fields of the descriptor".to_owned());
        }
        let part = |from: u32, length: u32| (bits >> from) & ((1 << length) - 1);
        let reserved = match engine {
            Engine::Wgmma => part(14, 2) | part(30, 2) | part(46, 3) | part(52, 10),
            Engine::Tcgen05 => part(14, 2) | part(30, 2) | (part(46, 3) ^ 1) | part(52, 9),
        };
        if reserved != 0 {
            return Err(
                "it has bits that no descriptor has, or lacks those that each has".to_owned(),
            );
        }
        if part(49, 3) != 0 {
            return Err(
                "its matrix begins inside a swizzled atom, which is not followed".to_owned(),
            );
        }
        let row = match (engine, part(61, 3)) {
            (_, 0) => 16,
            (Engine::Wgmma, 2) | (Engine::Tcgen05, 2) => 128,
            (Engine::Wgmma, 4) | (Engine::Tcgen05, 4) => 64,
            (Engine::Wgmma, 6) | (Engine::Tcgen05, 6) => 32,
            _ => return Err("this swizzle is not modelled".to_owned()),
        };
        let (moves, align) = bytes(&moving, unknowns, shared)?;
        let atom = if row == 16 { 16 } else { 8 * row };
        if align % atom != 0 {
            return Err(format!(
                "how its swizzled rows lie is not known: its address is known up to multiples of {align} only, \
                 and an atom has {atom} bytes"
            ));
        }
        Ok(Descriptor {
            moves,
            from: low * 16,
            leading: part(16, 14) * 16,
            stride: part(32, 14) * 16,
            row,
        })
    }

    /// The bytes that one multiplication reads, from what moves on.
    pub fn read(&self, shape: Shape) -> Result<Vec<(i128, i128)>, &'static str> {
        let atom = 8 * self.row;
        let inside = self.from % atom;
        let mut chunks = Vec::new();
        if shape.transposed {
            if shape.element != 2 {
                return Err("a transposed matrix of elements of this size is not modelled");
            }
            if self.row > 16 && inside != 0 || shape.rows * shape.element % self.row != 0 {
                return Err(
                    "a transposed matrix that begins or ends inside an atom is not modelled",
                );
            }
            let (wide, deep) = if self.row == 16 {
                (self.stride, self.leading)
            } else {
                (self.leading, self.stride)
            };
            for block in 0..shape.rows * shape.element / self.row {
                for line in 0..DEPTH / shape.element {
                    let at = block * wide + line / 8 * deep + line % 8 * self.row;
                    chunks.extend((0..self.row / 16).map(|chunk| at + chunk * 16));
                }
            }
        } else {
            if self.row > 16 && inside + DEPTH > self.row {
                return Err("a matrix that begins behind the first row of an atom is not modelled");
            }
            let next = if self.row == 16 { self.leading } else { 16 };
            for line in 0..shape.rows {
                let at = line / 8 * self.stride + line % 8 * self.row;
                chunks.extend([at, at + next]);
            }
        }
        let swizzled = |at: i128| {
            let at = self.from + at;
            at ^ ((at >> 7) & (self.row / 16 - 1)) << 4
        };
        let all = chunks
            .into_iter()
            .map(|at| (swizzled(at), swizzled(at) + 16));
        Ok(merged(all.collect()).to_vec())
    }
}

/// An address that counts units of 16 bytes, in bytes, and what it is a multiple of.
fn bytes(units: &Sum, unknowns: &Unknowns, shared: &[Variable<'_>]) -> Result<(Sum, i128), String> {
    let mut all = Sum::of(0);
    for (atom, factor) in &units.terms {
        match atom {
            Atom::Quotient(address, sixteen)
                if sixteen.as_constant() == Some(16)
                    && aligned(address, unknowns, shared) % 16 == 0 =>
            {
                all = all.plus_times(address, *factor);
            }
            other => all = all.plus_times(&Sum::atom(other.clone()), factor * 16),
        }
    }
    let align = aligned(&all, unknowns, shared);
    Ok((all, align))
}

/// The power of two that an address is certainly a multiple of, as far as it matters.
pub(in crate::ptx) fn aligned(address: &Sum, unknowns: &Unknowns, shared: &[Variable<'_>]) -> i128 {
    let mut align = 1i128 << 20;
    let mut take = |of: i128| align = align.min(1 << of.trailing_zeros().min(20));
    if address.constant != 0 {
        take(address.constant);
    }
    for (atom, factor) in &address.terms {
        let base = match atom {
            Atom::Unknown(u) => match unknowns.meaning(*u) {
                Some(Meaning::Shared(name)) => shared.iter().find(|v| v.name == *name),
                // The same place in another CTA differs by whole windows.
                Some(Meaning::Peer(_)) => continue,
                _ => None,
            },
            _ => None,
        };
        take(factor * base.map_or(1, |v| i128::from(v.align.max(1))));
    }
    align
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(row: i128, from: i128, leading: i128, stride: i128) -> Descriptor {
        Descriptor {
            moves: Sum::of(0),
            from,
            leading,
            stride,
            row,
        }
    }

    /// The four multiplications of a tile of 64 elements per row read all of it, each a quarter.
    #[test]
    fn a_swizzled_tile() {
        for (row, tile) in [(128, 16384), (64, 8192), (32, 4096)] {
            let mut all = Vec::new();
            for step in 0..row / 32 {
                let shape = Shape {
                    rows: 128,
                    element: 2,
                    transposed: false,
                };
                let read = matrix(row, step * 32, 0, 8 * row).read(shape).unwrap();
                assert_eq!(read.iter().map(|b| b.1 - b.0).sum::<i128>(), 128 * 32);
                all.extend(read);
            }
            assert_eq!(*merged(all), [(0, tile)]);
        }
    }

    /// In an atom of 1024 bytes, row `r` has its first two chunks where `r` says.
    #[test]
    fn the_chunks_of_an_atom() {
        let shape = Shape {
            rows: 8,
            element: 2,
            transposed: false,
        };
        let read = matrix(128, 0, 0, 1024).read(shape).unwrap();
        let expected = (0..8i128).flat_map(|r| [r * 128 + (r << 4), r * 128 + ((1 ^ r) << 4)]);
        let expected = merged(expected.map(|at| (at, at + 16)).collect());
        assert_eq!(read, expected.to_vec());
    }

    /// Without swizzle, both strides count.
    #[test]
    fn core_matrices() {
        let shape = Shape {
            rows: 16,
            element: 2,
            transposed: false,
        };
        let read = matrix(16, 0, 128, 512).read(shape).unwrap();
        assert_eq!(read, [(0, 256), (512, 768)]);
        let shape = Shape {
            transposed: true,
            ..shape
        };
        let read = matrix(16, 0, 256, 128).read(shape).unwrap();
        assert_eq!(read, [(0, 512)]);
    }

    /// A transposed tile of 64 elements in rows of 128 bytes: 16 rows at a time.
    #[test]
    fn a_transposed_tile() {
        let shape = Shape {
            rows: 128,
            element: 2,
            transposed: true,
        };
        let read = matrix(128, 2048, 8192, 1024).read(shape).unwrap();
        assert_eq!(read, [(2048, 4096), (10240, 12288)]);
    }
}
