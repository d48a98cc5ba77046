//! One array in NumPy's `.npy` form (versions 1 to 3).
//!
//! The header is untrusted, and a declared shape must be checked against the limits before any code multiplies its
//! extents or allocates memory for it. So the header is parsed here and not by a library. The format is NEP 1: a
//! magic number, a version, a length, and a Python dict literal with `descr`, `fortran_order` and `shape`.

use std::io::Read;

use super::array::Array;
use super::array::Budget;
use super::array::Element;
use super::array::row_major;
use super::error::Problem;
use super::error::TensorError;

/// The bytes every `.npy` file starts with.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";

/// NumPy itself refuses longer headers unless told otherwise.
const MAX_HEADER: usize = 64 << 10;

/// Reads one array from the start of a stream to its end.
///
/// # Errors
/// A malformed header, an element type that is not an integer, a shape above the budget, or
/// more or fewer bytes than the shape needs.
pub(super) fn parse(
    name: &str,
    mut stream: impl Read,
    budget: &mut Budget,
) -> Result<Array, TensorError> {
    let header = Header::read(name, &mut stream)?;
    let Some((element, big_endian)) = element(&header.descr) else {
        return Err(Problem::Dtype {
            array: name.to_owned(),
            dtype: dtype_name(&header.descr),
        }
        .into());
    };
    let elements = budget.take(name, &header.shape)?;
    let expected = elements * element.size();
    let mut bytes = Vec::new();
    stream
        .take(expected as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| syntax(name, &error.to_string()))?;
    if bytes.len() != expected {
        let found = match bytes.len() > expected {
            true => "more".to_owned(),
            false => format!("only {}", bytes.len()),
        };
        let shape = &header.shape;
        return Err(syntax(
            name,
            &format!("shape {shape:?} needs {expected} bytes of data, there are {found}"),
        ));
    }
    if header.fortran_order && header.shape.len() > 1 {
        let strides = header.shape.iter().scan(1u64, |next, extent| {
            let stride = *next;
            *next = stride.saturating_mul(*extent);
            Some(stride)
        });
        let strides: Vec<u64> = strides.collect();
        bytes = row_major(&bytes, element.size(), 0, &header.shape, &strides);
    }
    let shape = header.shape.iter().map(|&extent| extent as usize).collect();
    Array::from_bytes(name, shape, element, big_endian, bytes)
}

fn syntax(name: &str, detail: &str) -> TensorError {
    Problem::Syntax {
        format: "npy",
        detail: format!("{name}: {detail}"),
    }
    .into()
}

/// The bytes before the elements of an array (version 1). With the elements they are a file. The elements begin at a
/// multiple of 64 bytes.
pub(super) fn header(descr: &str, shape: &[usize]) -> Vec<u8> {
    let extents: String = shape.iter().map(|extent| format!("{extent}, ")).collect();
    let mut text = format!(
        "{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}), }}",
        extents.trim_end()
    );
    // In front of the text are the magic, two bytes for the version, and two for the length; a line break ends it.
    let before = MAGIC.len() + 4;
    let padding = (before + text.len() + 1).next_multiple_of(64) - before - text.len() - 1;
    text.extend(std::iter::repeat_n(' ', padding));
    text.push('\n');
    // The shapes here have few extents, so the length fits.
    let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
    [MAGIC, &[1, 0], &length.to_le_bytes(), text.as_bytes()].concat()
}

fn element(descr: &str) -> Option<(Element, bool)> {
    let mut chars = descr.chars();
    let order = chars.next()?;
    let element = match chars.as_str() {
        "b1" => Element::Bool,
        "i1" => Element::Signed(1),
        "i2" => Element::Signed(2),
        "i4" => Element::Signed(4),
        "i8" => Element::Signed(8),
        "u1" => Element::Unsigned(1),
        "u2" => Element::Unsigned(2),
        "u4" => Element::Unsigned(4),
        "u8" => Element::Unsigned(8),
        _ => return None,
    };
    let known = matches!(order, '<' | '>' | '=') || (order == '|' && element.size() == 1);
    known.then_some((element, order == '>'))
}

fn dtype_name(descr: &str) -> String {
    let body = descr.trim_start_matches(['<', '>', '|', '=']);
    let bits = |bytes: &str| {
        bytes
            .parse::<u32>()
            .ok()
            .and_then(|bytes| bytes.checked_mul(8))
    };
    let (family, size) = match body.chars().next() {
        Some('f') => ("float", bits(&body[1..])),
        Some('c') => ("complex", bits(&body[1..])),
        Some('O') => ("object", None),
        _ => (descr, None),
    };
    match size {
        Some(size) => format!("{family}{size}"),
        None => family.chars().take(60).collect(),
    }
}

#[derive(Debug, PartialEq)]
struct Header {
    descr: String,
    fortran_order: bool,
    shape: Vec<u64>,
}

impl Header {
    fn read(name: &str, stream: &mut impl Read) -> Result<Header, TensorError> {
        let mut exact = |length: usize| -> Result<Vec<u8>, TensorError> {
            let mut bytes = vec![0; length];
            let read = stream.read_exact(&mut bytes);
            read.map_err(|error| syntax(name, &format!("the header: {error}")))?;
            Ok(bytes)
        };
        let start = exact(8)?;
        if !start.starts_with(MAGIC) {
            return Err(syntax(name, "it does not start with the npy magic"));
        }
        let length_bytes = match start[6] {
            1 => 2,
            2 | 3 => 4,
            version => return Err(syntax(name, &format!("unknown version {version}"))),
        };
        let length = exact(length_bytes)?;
        let length = length
            .iter()
            .rev()
            .fold(0usize, |sum, &byte| sum << 8 | usize::from(byte));
        if length > MAX_HEADER {
            return Err(Problem::TooLarge {
                what: format!("the header of {name}"),
                found: format!("{length} bytes"),
                limit: MAX_HEADER as u64,
            }
            .into());
        }
        let text = exact(length)?;
        Header::parse(&text).ok_or_else(|| syntax(name, "the header is not understood"))
    }

    fn parse(text: &[u8]) -> Option<Header> {
        let mut literal = Literal {
            rest: std::str::from_utf8(text).ok()?,
        };
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        literal.expect("{")?;
        while literal.expect("}").is_none() {
            let key = literal.string()?;
            literal.expect(":")?;
            match key {
                "descr" => descr = Some(literal.descr()?),
                "fortran_order" => fortran_order = Some(literal.boolean()?),
                "shape" => shape = Some(literal.tuple()?),
                _ => return None,
            }
            if literal.expect(",").is_none() {
                literal.expect("}")?;
                break;
            }
        }
        literal.rest.trim().is_empty().then_some(Header {
            descr: descr?,
            fortran_order: fortran_order?,
            shape: shape?,
        })
    }
}

/// The rest of a Python literal that is being parsed.
struct Literal<'a> {
    rest: &'a str,
}

impl<'a> Literal<'a> {
    fn expect(&mut self, token: &str) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(token)?;
        Some(())
    }

    fn string(&mut self) -> Option<&'a str> {
        let rest = self.rest.trim_start();
        let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (string, rest) = rest[1..].split_once(quote)?;
        self.rest = rest;
        Some(string)
    }

    fn boolean(&mut self) -> Option<bool> {
        match self.expect("True") {
            Some(()) => Some(true),
            None => self.expect("False").map(|()| false),
        }
    }

    // A list is a structured type: only its extent matters, to name it in the message.
    fn descr(&mut self) -> Option<String> {
        if !self.rest.trim_start().starts_with('[') {
            return self.string().map(str::to_owned);
        }
        let end = self.rest.rfind(']')? + 1;
        let (list, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(list.trim().to_owned())
    }

    fn tuple(&mut self) -> Option<Vec<u64>> {
        let mut shape = Vec::new();
        self.expect("(")?;
        while self.expect(")").is_none() {
            let rest = self.rest.trim_start();
            let end = rest
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(rest.len());
            let (digits, after) = rest.split_at(end);
            shape.push(digits.parse().ok()?);
            self.rest = after.strip_prefix('L').unwrap_or(after);
            if self.expect(",").is_none() {
                self.expect(")")?;
                break;
            }
        }
        Some(shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = [MAGIC, &[1, 0], &(header.len() as u16).to_le_bytes()].concat();
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(data);
        bytes
    }

    #[test]
    fn headers_are_those_of_numpy() {
        let bytes = header("<i4", &[3]);
        assert_eq!(bytes.len(), 128);
        let text = "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }";
        assert_eq!(bytes[..10], *b"\x93NUMPY\x01\x00\x76\x00");
        assert_eq!(bytes[10..10 + text.len()], *text.as_bytes());
        assert_eq!(bytes[127], b'\n');
        let scalar = String::from_utf8(header("<i4", &[])[10..].to_vec()).unwrap();
        assert!(scalar.contains("'shape': (), }"), "{scalar}");
    }

    fn read(header: &str, data: &[u8]) -> Result<Vec<i64>, String> {
        let mut budget = Budget::new(1 << 20);
        let array = parse("a", &file(header, data)[..], &mut budget);
        let array = array.map_err(|error| error.to_string())?;
        Ok((0..array.len()).map(|at| array.get(at)).collect())
    }

    #[test]
    fn both_memory_orders_read_the_same() {
        let rows = "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }\n";
        let columns = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n";
        assert_eq!(read(rows, &[1, 2, 3, 4, 5, 6]), Ok(vec![1, 2, 3, 4, 5, 6]));
        assert_eq!(
            read(columns, &[1, 4, 2, 5, 3, 6]),
            Ok(vec![1, 2, 3, 4, 5, 6])
        );
    }

    #[test]
    fn broken_files_are_described() {
        let cases: [(&str, &[u8], &str); 6] = [
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }",
                &[0; 4],
                "a has dtype float32; integers are expected (int32)",
            ),
            (
                "{'descr': [('x', '<i4')], 'fortran_order': False, 'shape': (1,), }",
                &[0; 4],
                "a has dtype [('x', '<i4')]; integers are expected (int32)",
            ),
            (
                "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }",
                &[0; 7],
                "not valid npy: a: shape [2] needs 8 bytes of data, there are only 7",
            ),
            (
                "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }",
                &[0; 9],
                "not valid npy: a: shape [2] needs 8 bytes of data, there are more",
            ),
            (
                "{'descr': '<i4', 'fortran_order': False, 'shape': (9999999999, 9999999999), }",
                &[],
                "the element count up to a (shape [9999999999, 9999999999]) is over 2^64, above \
                 the limit of 1048576",
            ),
            (
                "{{{{{{{{",
                &[],
                "not valid npy: a: the header is not understood",
            ),
        ];
        for (header, data, message) in cases {
            assert_eq!(read(header, data), Err(message.to_owned()));
        }
    }
}
