//! Reads PyTorch's `.pt`: a zip archive with a pickle and one file per storage.
//!
//! The archive has to contain a dictionary of tensors, or an object whose attributes are tensors, such as a
//! `BlockMask`. The names are those of [`names`]. The unpacked size that an archive claims cannot do harm: sizes are
//! charged against the limits before anything is unpacked, and only tensors with known names are unpacked.

use std::io::Cursor;
use std::io::Read;

use zip::ZipArchive;

use super::array::Array;
use super::array::Budget;
use super::array::Element;
use super::array::row_major;
use super::error::Problem;
use super::error::Problems;
use super::error::TensorError;
use super::layout::Named;
use super::names;
use super::npz;
use super::options::ReadOptions;
use super::pickle::Id;
use super::pickle::Object;
use super::pickle::Pickle;

/// The pickle of a mask is a few kilobytes.
const MAX_PICKLE: u64 = 1 << 20;

/// The name of the pickle, in a folder of any name.
const PICKLE: &str = "/data.pkl";

/// The first entry if PyTorch could not write the pickle, for example because of a function without a name.
const UNFINISHED: &str = "/version";

/// Whether this is an archive that PyTorch wrote: the pickle comes first.
pub(super) fn is_archive(bytes: &[u8]) -> bool {
    first_name(bytes).is_some_and(|name| {
        name.ends_with(PICKLE.as_bytes()) || name.ends_with(UNFINISHED.as_bytes())
    })
}

/// The name of a zip archive's first entry.
fn first_name(bytes: &[u8]) -> Option<&[u8]> {
    let length = bytes.get(26..28)?;
    let length = usize::from(u16::from_le_bytes([length[0], length[1]]));
    bytes.get(30..)?.get(..length)
}

/// Reads the known tensors of an archive.
///
/// # Errors
/// A malformed archive or pickle, a known name that is no tensor of integers, or a size above
/// the limits.
pub(super) fn parse(
    bytes: &[u8],
    options: &ReadOptions,
    problems: &mut Problems,
) -> Result<Named, TensorError> {
    let first = first_name(bytes).and_then(|name| std::str::from_utf8(name).ok());
    if first.is_some_and(|name| name.ends_with(UNFINISHED)) {
        let what = "it has no pickle, so torch.save failed, as it does for a mask whose function is a lambda; save the \
                    tensors of the mask instead";
        return Err(syntax(what.to_owned()));
    }
    let folder = first.and_then(|name| name.strip_suffix(PICKLE));
    let Some(folder) = folder else {
        return Err(syntax(
            "it is no archive of PyTorch 1.6 or later".to_owned(),
        ));
    };
    let mut archive = Archive {
        zip: npz::open(bytes).map_err(syntax)?,
        folder: folder.to_owned(),
    };
    let pickle = archive.entry("data.pkl", MAX_PICKLE)?;
    if pickle.len() as u64 > MAX_PICKLE {
        return Err(Problem::TooLarge {
            what: "the pickle".to_owned(),
            found: format!("over {MAX_PICKLE} bytes"),
            limit: MAX_PICKLE,
        }
        .into());
    }
    let pickle = Pickle::read(&pickle).map_err(syntax)?;
    let big_endian = archive.is_big_endian();
    let mut budget = Budget::new(options.element_limit());
    let mut named = Named::default();
    let Some(entries) = entries(&pickle, pickle.root()) else {
        let what = "it holds neither a dictionary of tensors nor an object with tensors";
        return Err(syntax(what.to_owned()));
    };
    for (key, value) in entries {
        let Some(name) = pickle.text(key) else {
            continue;
        };
        let Some(role) = names::wanted(name, false, problems) else {
            continue;
        };
        // A mask has the attributes for its lists of full tiles even if there are no such lists.
        if *pickle.get(value) == Object::None {
            continue;
        }
        let array = match pickle.get(value) {
            Object::Int(value) => Array::from_integers(name, Vec::new(), vec![*value]),
            _ => match Tensor::of(&pickle, value) {
                Some(tensor) => tensor.array(name, big_endian, &mut archive, &mut budget)?,
                None => return Err(syntax(format!("{name} is no tensor"))),
            },
        };
        named.insert(role, array, problems);
    }
    Ok(named)
}

fn syntax(detail: String) -> TensorError {
    let detail = detail.chars().take(300).collect();
    Problem::Syntax {
        format: "PyTorch file",
        detail,
    }
    .into()
}

/// The entries of a dictionary, or the attributes of an object.
fn entries(pickle: &Pickle, id: Id) -> Option<Vec<(Id, Id)>> {
    let attributes = match pickle.get(id) {
        Object::Call {
            state: Some(state), ..
        } => *state,
        _ => id,
    };
    match pickle.get(attributes) {
        Object::Dict(entries) => Some(entries.clone()),
        // For a class with slots, these come second.
        Object::Tuple(parts) => {
            let dicts = parts.iter().filter_map(|part| match pickle.get(*part) {
                Object::Dict(entries) if attributes != id => Some(entries.clone()),
                _ => None,
            });
            let all: Vec<(Id, Id)> = dicts.flatten().collect();
            (!all.is_empty()).then_some(all)
        }
        _ => None,
    }
}

struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    folder: String,
}

impl Archive<'_> {
    /// The beginning of an entry, one byte more than `most` at most.
    fn entry(&mut self, name: &str, most: u64) -> Result<Vec<u8>, TensorError> {
        let path = format!("{}/{name}", self.folder);
        let failed = |error: String| syntax(format!("{name}: {error}"));
        let entry = self
            .zip
            .by_name(&path)
            .map_err(|error| failed(error.to_string()))?;
        let mut bytes = Vec::new();
        let read = entry.take(most.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| failed(error.to_string()))?;
        Ok(bytes)
    }

    fn is_big_endian(&mut self) -> bool {
        let order = self.entry("byteorder", 16).unwrap_or_default();
        order.starts_with(b"big")
    }
}

/// A tensor as it is pickled: a view of a storage.
struct Tensor<'a> {
    kind: &'a str,
    key: &'a str,
    offset: u64,
    shape: Vec<u64>,
    strides: Vec<u64>,
}

impl<'a> Tensor<'a> {
    fn of(pickle: &'a Pickle, id: Id) -> Option<Tensor<'a>> {
        let Object::Call { what, with, .. } = pickle.get(id) else {
            return None;
        };
        if pickle.global(*what)? != "torch._utils._rebuild_tensor_v2" {
            return None;
        }
        let [storage, offset, shape, strides, ..] = pickle.tuple(*with)? else {
            return None;
        };
        let Object::Persistent(storage) = pickle.get(*storage) else {
            return None;
        };
        let [word, kind, key, ..] = pickle.tuple(*storage)? else {
            return None;
        };
        let (shape, strides) = (pickle.sizes(*shape)?, pickle.sizes(*strides)?);
        (pickle.text(*word)? == "storage" && shape.len() == strides.len()).then_some(Tensor {
            kind: pickle.global(*kind)?,
            key: pickle.text(*key)?,
            offset: pickle.size(*offset)?,
            shape,
            strides,
        })
    }

    fn element(&self) -> Option<Element> {
        Some(match self.kind.strip_prefix("torch.")? {
            "BoolStorage" => Element::Bool,
            "CharStorage" => Element::Signed(1),
            "ShortStorage" => Element::Signed(2),
            "IntStorage" => Element::Signed(4),
            "LongStorage" => Element::Signed(8),
            "ByteStorage" => Element::Unsigned(1),
            _ => return None,
        })
    }

    fn array(
        &self,
        name: &str,
        big_endian: bool,
        archive: &mut Archive<'_>,
        budget: &mut Budget,
    ) -> Result<Array, TensorError> {
        let Some(element) = self.element() else {
            let dtype = self.kind.trim_start_matches("torch.");
            let dtype = dtype.trim_end_matches("Storage").to_lowercase();
            return Err(Problem::Dtype {
                array: name.to_owned(),
                dtype: dtype.chars().take(60).collect(),
            }
            .into());
        };
        let count = budget.take(name, &self.shape)?;
        let shape: Vec<usize> = self.shape.iter().map(|&extent| extent as usize).collect();
        if count == 0 {
            return Array::from_bytes(name, shape, element, big_endian, Vec::new());
        }
        // The storage is unpacked up to the last element, which may be more than the tensor shows.
        let mut spans = self.shape.iter().zip(&self.strides);
        let last = spans.try_fold(self.offset, |sum, (extent, stride)| {
            sum.checked_add((extent - 1).checked_mul(*stride)?)
        });
        let needed = last
            .and_then(|last| last.checked_add(1))
            .unwrap_or(u64::MAX);
        budget.take(
            &format!("the storage of {name}"),
            &[needed.saturating_sub(count as u64)],
        )?;
        let size = element.size();
        let most = needed.saturating_mul(size as u64);
        let storage = archive.entry(&format!("data/{}", self.key), most)?;
        if (storage.len() as u64) < most {
            let found = storage.len();
            let why = format!("{name} needs {most} bytes of its storage, there are only {found}");
            return Err(syntax(why));
        }
        let bytes = row_major(&storage, size, self.offset, &self.shape, &self.strides);
        Array::from_bytes(name, shape, element, big_endian, bytes)
    }
}
