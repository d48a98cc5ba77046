//! Fat binaries: containers of PTX and machine code for several architectures.
//!
//! The format is not documented. A container consists of a header of 16 bytes and entries. An entry consists of a
//! header, which says how the payload is compressed, and the payload. All numbers are little-endian.
//!
//! | bytes of a container | |
//! | --- | --- |
//! | 0..4 | the magic number |
//! | 6..8 | the size of this header |
//! | 8..16 | the size of all entries |
//!
//! | bytes of an entry | |
//! | --- | --- |
//! | 0..2 | what it is: 1 PTX, 2 machine code |
//! | 4..8 | the size of this header |
//! | 8..16 | the size of the payload, with padding |
//! | 16..20 | the size of the compressed payload, without |
//! | 28..32 | the architecture |
//! | 40..48 | flags: how it is compressed |
//! | 56..64 | the size of the payload once it is decompressed |

use std::io::Read;

use ruzstd::decoding::StreamingDecoder;

use super::Embedded;
use super::Error;
use super::MAX_ALL;
use super::MAX_TEXT;
use super::Text;

/// The first bytes of a container.
pub const MAGIC: [u8; 4] = [0x50, 0xed, 0x55, 0xba];

const PTX: u16 = 1;
const MACHINE_CODE: u16 = 2;
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;

/// The least that the headers may be.
const CONTAINER_HEADER: usize = 16;
const ENTRY_HEADER: usize = 64;

/// In LZ4, one byte stands for at most this many bytes.
const MOST_LZ4: usize = 255;

/// Containers begin at multiples of this number.
const ALIGNMENT: usize = 8;

/// Reads the containers that follow each other, as in a section of a linked program.
pub fn read(mut bytes: &[u8]) -> Result<Embedded, Error> {
    let mut all = Embedded::default();
    loop {
        // A linker fills the space up to an aligned address with zeros.
        while let Some((gap, rest)) = bytes.split_at_checked(ALIGNMENT) {
            if gap.iter().any(|byte| *byte != 0) {
                break;
            }
            bytes = rest;
        }
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(all);
        }
        if !bytes.starts_with(&MAGIC) {
            return Err(damaged("a fat binary was expected and is not there"));
        }
        let header = usize::from(u16::from_le_bytes(at(bytes, 6)?));
        let size = length(u64::from_le_bytes(at(bytes, 8)?))?;
        let (_, rest) = cut(bytes, header.max(CONTAINER_HEADER))?;
        let (entries, rest) = cut(rest, size)?;
        all.add(container(entries)?)?;
        bytes = rest;
    }
}

fn container(mut bytes: &[u8]) -> Result<Embedded, Error> {
    let mut found = Embedded::default();
    let mut machine_code = Vec::new();
    while bytes.iter().any(|byte| *byte != 0) {
        let header = length(u64::from(u32::from_le_bytes(at(bytes, 4)?)))?;
        if header < ENTRY_HEADER {
            return Err(damaged("the header of an entry is too small"));
        }
        let (head, rest) = cut(bytes, header)?;
        let (payload, rest) = cut(rest, length(u64::from_le_bytes(at(head, 8)?))?)?;
        let arch = u32::from_le_bytes(at(head, 28)?);
        match u16::from_le_bytes(at(head, 0)?) {
            PTX => {
                let mut bytes = unpacked(head, payload)?;
                // The payload is padded with zeros.
                let end = bytes.iter().rposition(|byte| *byte != 0);
                bytes.truncate(end.map_or(0, |end| end.saturating_add(1)));
                found.add(Embedded {
                    texts: vec![Text { arch, bytes }],
                    closed: Vec::new(),
                })?;
            }
            MACHINE_CODE => machine_code.push((arch, head, payload)),
            // For example, the compiler's own representation for linking.
            _ => machine_code.push((arch, &[], &[])),
        }
        bytes = rest;
    }
    for (arch, head, payload) in machine_code {
        // Machine code of an architecture was made from the text of the same architecture.
        if found.texts.iter().any(|text| text.arch == arch) {
            continue;
        }
        if head.is_empty() {
            found.closed.push(arch);
            continue;
        }
        let code = unpacked(head, payload)?;
        // The machine code may be in an unknown format. Then it counts as machine code without PTX, too.
        let mut inside = super::of_cubin(&code);
        inside.texts.iter_mut().for_each(|text| text.arch = arch);
        match inside.texts.is_empty() {
            true => found.closed.push(arch),
            false => found.add(inside)?,
        }
    }
    Ok(found)
}

/// The payload of an entry as it was before it was compressed.
fn unpacked(head: &[u8], payload: &[u8]) -> Result<Vec<u8>, Error> {
    let flags = u64::from_le_bytes(at(head, 40)?);
    if flags & (LZ4 | ZSTD) == 0 {
        return match payload.len() > MAX_TEXT {
            true => Err(Error::Large(MAX_TEXT >> 20)),
            false => Ok(payload.to_vec()),
        };
    }
    let packed = length(u64::from(u32::from_le_bytes(at(head, 16)?)))?;
    let (packed, _) = cut(payload, packed)?;
    let size = length(u64::from_le_bytes(at(head, 56)?))?;
    if size > MAX_TEXT {
        return Err(Error::Large(MAX_TEXT >> 20));
    }
    let wrong = |error: &dyn std::fmt::Display| damaged(&format!("a compressed entry: {error}"));
    if flags & LZ4 != 0 {
        if size > packed.len().saturating_mul(MOST_LZ4) {
            return Err(damaged("an entry claims to be larger than it can be"));
        }
        return lz4_flex::block::decompress(packed, size).map_err(|error| wrong(&error));
    }
    let mut bytes = Vec::new();
    let most = u64::try_from(size).unwrap_or(u64::MAX).saturating_add(1);
    let decoder = StreamingDecoder::new(packed).map_err(|error| wrong(&error))?;
    decoder
        .take(most)
        .read_to_end(&mut bytes)
        .map_err(|error| wrong(&error))?;
    if bytes.len() != size {
        return Err(damaged("an entry has another size than it says"));
    }
    Ok(bytes)
}

/// A number at an offset.
fn at<const N: usize>(bytes: &[u8], start: usize) -> Result<[u8; N], Error> {
    bytes
        .get(start..)
        .and_then(|rest| rest.first_chunk())
        .copied()
        .ok_or_else(short)
}

fn cut(bytes: &[u8], size: usize) -> Result<(&[u8], &[u8]), Error> {
    bytes.split_at_checked(size).ok_or_else(short)
}

/// A size, if memory can have it.
fn length(size: u64) -> Result<usize, Error> {
    usize::try_from(size)
        .ok()
        .filter(|size| *size <= MAX_ALL.saturating_mul(4))
        .ok_or_else(short)
}

fn short() -> Error {
    damaged("it ends too early")
}

fn damaged(what: &str) -> Error {
    Error::Damaged(what.to_owned())
}
