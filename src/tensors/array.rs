//! One named array of a file: a shape and integers, not yet interpreted.
//!
//! Binary formats keep their bytes and decode on access. So memory use is that of the file: a matrix of bytes does not
//! take eight bytes per element.

use super::error::Problem;
use super::error::TensorError;

/// The element types that can hold counts and indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    /// One byte: zero is false.
    Bool,
    /// Two's complement of this many bytes (1, 2, 4, 8).
    Signed(usize),
    /// Unsigned of this many bytes (1, 2, 4, 8).
    Unsigned(usize),
}

impl Element {
    /// Bytes per element.
    pub fn size(self) -> usize {
        match self {
            Element::Bool => 1,
            Element::Signed(size) | Element::Unsigned(size) => size,
        }
    }
}

#[derive(Debug)]
enum Data {
    Integers(Vec<i64>),
    Bytes {
        bytes: Vec<u8>,
        element: Element,
        big_endian: bool,
    },
}

/// A named array of integers, in row-major order.
#[derive(Debug)]
pub(super) struct Array {
    /// As the file names it.
    pub name: String,
    /// Extents, outermost first; empty for a scalar.
    pub shape: Vec<usize>,
    data: Data,
}

impl Array {
    /// An array of these values, as many as the shape says.
    pub fn from_integers(name: &str, shape: Vec<usize>, values: Vec<i64>) -> Self {
        Array {
            name: name.to_owned(),
            shape,
            data: Data::Integers(values),
        }
    }

    /// An array over raw bytes, exactly as many as shape and element need.
    ///
    /// # Errors
    /// An unsigned value above the signed 64-bit range.
    pub fn from_bytes(
        name: &str,
        shape: Vec<usize>,
        element: Element,
        big_endian: bool,
        bytes: Vec<u8>,
    ) -> Result<Self, TensorError> {
        let array = Array {
            name: name.to_owned(),
            shape,
            data: Data::Bytes {
                bytes,
                element,
                big_endian,
            },
        };
        if element == Element::Unsigned(8)
            && let Some(at) = (0..array.len()).find(|&at| array.get(at) < 0)
        {
            return Err(Problem::TooWide {
                place: array.place(at),
                value: (array.get(at) as u64).to_string(),
            }
            .into());
        }
        Ok(array)
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        match &self.data {
            Data::Integers(values) => values.len(),
            Data::Bytes { bytes, element, .. } => bytes.len() / element.size(),
        }
    }

    /// The element at a flat position; 0 past the end.
    pub fn get(&self, at: usize) -> i64 {
        match &self.data {
            Data::Integers(values) => values.get(at).copied().unwrap_or(0),
            Data::Bytes {
                bytes,
                element,
                big_endian,
            } => {
                let size = element.size();
                let start = at.saturating_mul(size);
                let raw = bytes.get(start..start.saturating_add(size));
                raw.map_or(0, |raw| decode(raw, *element, *big_endian))
            }
        }
    }

    /// How a message names the element at a flat position: `mask_block_idx[5]`.
    pub fn place(&self, at: usize) -> String {
        let mut rest = at;
        let mut indices: Vec<String> = Vec::new();
        for &extent in self.shape.iter().rev() {
            indices.push((rest % extent.max(1)).to_string());
            rest /= extent.max(1);
        }
        indices.reverse();
        match indices.is_empty() {
            true => self.name.clone(),
            false => format!("{}[{}]", self.name, indices.join(", ")),
        }
    }

    /// The shape as a message gives it: `[8, 3]`.
    pub fn shape_text(&self) -> String {
        format!("{:?}", self.shape)
    }
}

fn decode(raw: &[u8], element: Element, big_endian: bool) -> i64 {
    // What nearly every file holds.
    if let (Element::Signed(4), false, Ok(raw)) = (element, big_endian, raw.try_into()) {
        return i64::from(i32::from_le_bytes(raw));
    }
    let mut bytes = [0u8; 8];
    for (to, from) in bytes.iter_mut().zip(raw) {
        *to = *from;
    }
    if big_endian {
        bytes[..raw.len()].reverse();
    }
    let value = i64::from_le_bytes(bytes);
    let unused = 64 - 8 * raw.len() as u32;
    match element {
        Element::Bool => i64::from(value != 0),
        Element::Unsigned(_) => value,
        Element::Signed(_) => (value << unused) >> unused,
    }
}

/// The elements of a view of a storage, in row-major order. Shape, strides and the offset of the
/// first element count elements of `size` bytes; every position is inside the storage.
pub(super) fn row_major(
    storage: &[u8],
    size: usize,
    offset: u64,
    shape: &[u64],
    strides: &[u64],
) -> Vec<u8> {
    let count: u64 = match shape.contains(&0) {
        true => 0,
        false => shape.iter().product(),
    };
    let mut bytes = Vec::with_capacity(count as usize * size);
    let mut index = vec![0u64; shape.len()];
    let mut at = offset;
    for _ in 0..count {
        let from = at as usize * size;
        bytes.extend_from_slice(&storage[from..from + size]);
        for axis in (0..index.len()).rev() {
            index[axis] += 1;
            if index[axis] < shape[axis] {
                at += strides[axis];
                break;
            }
            // Back to the first on this axis, so no sum is ever outside the view.
            index[axis] = 0;
            at -= strides[axis] * (shape[axis] - 1);
        }
    }
    bytes
}

/// How many elements may still be read. Declared shapes are charged before anything is
/// allocated for them.
#[derive(Debug)]
pub(super) struct Budget {
    used: u64,
    limit: u64,
}

impl Budget {
    /// Allows this many elements in all.
    pub fn new(limit: u64) -> Self {
        Budget { used: 0, limit }
    }

    /// Charges an array; returns its element count.
    ///
    /// # Errors
    /// More elements than are left, or than a number can hold.
    pub fn take(&mut self, name: &str, shape: &[u64]) -> Result<usize, TensorError> {
        // A zero extent must not hide the others: they still become numbers of tiles.
        let product = shape
            .iter()
            .try_fold(1u64, |product, &extent| product.checked_mul(extent.max(1)));
        let used = product.and_then(|product| self.used.checked_add(product));
        match (product, used) {
            (Some(product), Some(used)) if used <= self.limit => {
                self.used = used;
                let empty = shape.contains(&0);
                Ok(if empty { 0 } else { product as usize })
            }
            (_, used) => Err(Problem::TooLarge {
                what: format!("the element count up to {name} (shape {shape:?})"),
                found: used.map_or("over 2^64".to_owned(), |used| used.to_string()),
                limit: self.limit,
            }
            .into()),
        }
    }

    /// Charges elements that turn up one by one.
    ///
    /// # Errors
    /// More elements than are left.
    pub fn take_one(&mut self, name: &str) -> Result<(), Problem> {
        self.used += 1;
        if self.used <= self.limit {
            return Ok(());
        }
        Err(Problem::TooLarge {
            what: format!("the element count up to {name}"),
            found: format!("at least {}", self.used),
            limit: self.limit,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_type_decodes_in_both_byte_orders() {
        let cases: [(Element, bool, &[u8], i64); 9] = [
            (Element::Bool, false, &[2], 1),
            (Element::Signed(1), false, &[0xff], -1),
            (Element::Unsigned(1), false, &[0xff], 255),
            (Element::Signed(2), false, &[0xfe, 0xff], -2),
            (Element::Signed(2), true, &[0xff, 0xfe], -2),
            (Element::Unsigned(4), false, &[1, 0, 0, 0x80], 0x8000_0001),
            (Element::Signed(4), true, &[0, 0, 1, 2], 258),
            (Element::Signed(8), false, &[0xff; 8], -1),
            (Element::Unsigned(8), true, &[0, 0, 0, 0, 0, 0, 0, 9], 9),
        ];
        for (element, big_endian, bytes, value) in cases {
            let array = Array::from_bytes("a", vec![1], element, big_endian, bytes.to_vec());
            assert_eq!(array.unwrap().get(0), value, "{element:?}");
        }
    }

    #[test]
    fn a_value_above_the_signed_range_is_named() {
        let error = Array::from_bytes("a", vec![1], Element::Unsigned(8), false, vec![0xff; 8]);
        assert_eq!(
            error.unwrap_err().to_string(),
            "a[0] is 18446744073709551615, which does not fit a signed 64-bit integer"
        );
    }

    #[test]
    fn places_follow_the_shape() {
        let array = Array::from_integers("a", vec![2, 3], vec![0; 6]);
        assert_eq!(array.place(5), "a[1, 2]");
        assert_eq!(Array::from_integers("s", vec![], vec![4]).place(0), "s");
    }

    #[test]
    fn views_are_read_in_row_major_order() {
        let storage: Vec<u8> = (0..12).collect();
        // Columns one after another, a repeated row, the same without rows, a single element.
        let view =
            |offset, shape: &[u64], strides: &[u64]| row_major(&storage, 2, offset, shape, strides);
        assert_eq!(
            view(0, &[2, 3], &[1, 2]),
            [0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11]
        );
        assert_eq!(view(4, &[2, 2], &[0, 1]), [8, 9, 10, 11, 8, 9, 10, 11]);
        assert!(view(4, &[0, 2], &[0, 1]).is_empty());
        assert_eq!(view(5, &[], &[]), [10, 11]);
    }

    #[test]
    fn gigantic_shapes_are_refused() {
        let mut budget = Budget::new(100);
        assert!(budget.take("a", &[1 << 40, 1 << 40]).is_err());
        assert!(budget.take("a", &[0, u64::MAX, 2]).is_err());
        assert_eq!(budget.take("a", &[]), Ok(1));
        assert_eq!(budget.take("a", &[3, 0]), Ok(0));
        assert_eq!(budget.take("a", &[8, 8]), Ok(64));
        assert_eq!(
            budget.take("b", &[8, 8]).unwrap_err().to_string(),
            "the element count up to b (shape [8, 8]) is 132, above the limit of 100"
        );
    }
}
