//! The safetensors form: a length, a JSON header of names, types, shapes and byte ranges, data.
//!
//! The header is parsed here and not by the `safetensors` library. If several tensors have one name, that library
//! keeps the last one; and it trusts sums of declared offsets.

use std::collections::HashSet;
use std::fmt;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde::de::MapAccess;
use serde::de::Visitor;

use super::array::Array;
use super::array::Budget;
use super::array::Element;
use super::error::Problem;
use super::error::Problems;
use super::error::TensorError;
use super::layout::Named;
use super::names;
use super::options::ReadOptions;

/// Enough for a header of tens of thousands of tensors. The files read here have about a dozen.
const MAX_HEADER: u64 = 16 << 20;

/// The length of the header, if the bytes look like this format.
pub(super) fn header_length(bytes: &[u8]) -> Option<u64> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let length = u64::from_le_bytes(*length);
    (length <= rest.len() as u64 && rest.first() == Some(&b'{')).then_some(length)
}

/// Reads the known tensors; a single tensor of another name is a matrix.
///
/// # Errors
/// A malformed header, byte ranges outside the file or of another length than the shape needs,
/// an element type that is not an integer, or a shape above the limits.
pub(super) fn parse(
    bytes: &[u8],
    options: &ReadOptions,
    problems: &mut Problems,
) -> Result<Named, TensorError> {
    let Some(length) = header_length(bytes) else {
        return Err(syntax("the header does not fit the file".to_owned()));
    };
    if length > MAX_HEADER {
        return Err(Problem::TooLarge {
            what: "the safetensors header".to_owned(),
            found: format!("{length} bytes"),
            limit: MAX_HEADER,
        }
        .into());
    }
    let (header, data) = bytes[8..].split_at(length as usize);
    let header: Header = serde_json::from_slice(header)
        .map_err(|error| syntax(error.to_string().chars().take(300).collect()))?;
    let mut budget = Budget::new(options.element_limit());
    let mut named = Named::default();
    let single = header.tensors.len() == 1;
    for (name, tensor) in &header.tensors {
        let Some(role) = names::wanted(name, single, problems) else {
            continue;
        };
        named.insert(role, tensor.array(name, data, &mut budget)?, problems);
    }
    Ok(named)
}

fn syntax(detail: String) -> TensorError {
    Problem::Syntax {
        format: "safetensors",
        detail,
    }
    .into()
}

#[derive(Debug, Deserialize)]
struct Tensor {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: (u64, u64),
}

impl Tensor {
    fn array(&self, name: &str, data: &[u8], budget: &mut Budget) -> Result<Array, TensorError> {
        let element = match self.dtype.as_str() {
            "BOOL" => Element::Bool,
            "I8" => Element::Signed(1),
            "I16" => Element::Signed(2),
            "I32" => Element::Signed(4),
            "I64" => Element::Signed(8),
            "U8" => Element::Unsigned(1),
            "U16" => Element::Unsigned(2),
            "U32" => Element::Unsigned(4),
            "U64" => Element::Unsigned(8),
            other => {
                return Err(Problem::Dtype {
                    array: name.to_owned(),
                    dtype: other.chars().take(60).collect(),
                }
                .into());
            }
        };
        let expected = budget.take(name, &self.shape)? * element.size();
        let (start, end) = self.data_offsets;
        let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
        let Some(raw) = range.and_then(|(start, end)| data.get(start..end)) else {
            let length = data.len();
            return Err(syntax(format!(
                "{name} is at {start}..{end} of {length} bytes of data"
            )));
        };
        if raw.len() != expected {
            let (shape, found) = (&self.shape, raw.len());
            return Err(syntax(format!(
                "{name} of shape {shape:?} needs {expected} bytes, there are {found}"
            )));
        }
        let shape = self.shape.iter().map(|&extent| extent as usize).collect();
        Array::from_bytes(name, shape, element, false, raw.to_vec())
    }
}

#[derive(Debug)]
struct Header {
    tensors: Vec<(String, Tensor)>,
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(HeaderVisitor)
    }
}

struct HeaderVisitor;

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = Header;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Header, A::Error> {
        let mut keys = HashSet::new();
        let mut tensors = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            if !keys.insert(name.clone()) {
                let message = format!("{name} is given twice");
                return Err(serde::de::Error::custom(message));
            }
            if name == "__metadata__" {
                map.next_value::<IgnoredAny>()?;
            } else {
                tensors.push((name, map.next_value()?));
            }
        }
        Ok(Header { tensors })
    }
}
