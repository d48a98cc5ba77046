//! PTX inside binaries: executables, shared objects, objects, archives, fat binaries and cubins.
//!
//! A host binary has its fat binaries in sections ([`fatbin`]). A cubin has no PTX, except if it was
//! compiled with line information or for debugging. Then it has the PTX in a debug section.

pub mod fatbin;

use std::io;
use std::io::Read;
use std::io::Seek;

use object::Object;
use object::ObjectSection;
use object::read::ReadCache;
use object::read::ReadRef;
use object::read::archive::ArchiveFile;

/// The largest PTX that is taken out of a binary, in bytes.
pub const MAX_TEXT: usize = 256 << 20;

/// The most PTX that is taken out of one binary, in bytes.
pub const MAX_ALL: usize = 1 << 30;

/// The largest section or member that is read, in bytes.
const MAX_PART: u64 = 4 << 30;

/// The sections that hold fat binaries: of linked code, and of code that is linked on the device.
const SECTIONS: [&str; 3] = [".nv_fatbin", "__nv_relfatbin", ".nvFatBin"];

/// The section of a cubin that holds the PTX it was made from.
const DEBUG_TEXT: &str = ".nv_debug_ptx_txt";

/// Cubins are ELF files for this machine.
const EM_CUDA: u16 = 190;

/// Why a binary could not be read. A lowercase fragment.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file.
    #[error("{0}")]
    Read(#[from] io::Error),
    /// It is truncated or inconsistent.
    #[error("it is damaged or cut off: {0}")]
    Damaged(String),
    /// It is larger than the limit.
    #[error("it holds more than {0} MiB of GPU code, the most that is read")]
    Large(usize),
}

/// The GPU code of a binary.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Embedded {
    /// The PTX, each text once.
    pub texts: Vec<Text>,
    /// Architectures for which there is machine code but no PTX.
    pub closed: Vec<u32>,
}

/// A PTX text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// The number of its target architecture, as the binary says.
    pub arch: u32,
    /// Its text.
    pub bytes: Vec<u8>,
}

impl Text {
    /// Its `.target`, as the text says. The number alone does not distinguish `sm_90` and `sm_90a`.
    pub fn target(&self) -> String {
        let mut lines = self.bytes.split(|byte| *byte == b'\n').take(HEAD);
        let target = lines.find_map(|line| {
            let line = std::str::from_utf8(line).ok()?;
            let rest = line.trim_start().strip_prefix(".target")?;
            rest.trim_start().split([',', ' ', '\r']).next()
        });
        target.map_or_else(|| format!("sm_{}", self.arch), str::to_owned)
    }
}

/// The number of lines in which `.target` is searched for.
const HEAD: usize = 100;

impl Embedded {
    fn add(&mut self, found: Embedded) -> Result<(), Error> {
        for text in found.texts {
            if !self.texts.contains(&text) {
                self.texts.push(text);
            }
        }
        for arch in found.closed {
            if !self.closed.contains(&arch) {
                self.closed.push(arch);
            }
        }
        if self.size() > MAX_ALL {
            return Err(Error::Large(MAX_ALL >> 20));
        }
        Ok(())
    }

    fn size(&self) -> usize {
        self.texts.iter().map(|text| text.bytes.len()).sum()
    }
}

/// Whether a file that begins like this is a binary that may hold GPU code.
pub fn is_binary(head: &[u8]) -> bool {
    head.starts_with(&ELF) || head.starts_with(ARCHIVE) || head.starts_with(&fatbin::MAGIC)
}

const ELF: [u8; 4] = [0x7f, b'E', b'L', b'F'];
const ARCHIVE: &[u8] = b"!<arch>\n";

/// The GPU code of a binary. The content of the file, not its name, determines its format.
pub fn read(file: impl Read + Seek) -> Result<Embedded, Error> {
    let cache = ReadCache::new(file);
    let length =
        ReadRef::len(&cache).map_err(|()| Error::Damaged("it has no length".to_owned()))?;
    let head = ReadRef::read_bytes_at(&cache, 0, length.min(8)).unwrap_or_default();
    if head.starts_with(&fatbin::MAGIC) {
        let all = part(&cache, length)?;
        return fatbin::read(all);
    }
    if head.starts_with(ARCHIVE) {
        let archive = ArchiveFile::parse(&cache).map_err(damaged)?;
        let mut all = Embedded::default();
        for member in archive.members() {
            let member = member.map_err(damaged)?;
            if member.is_thin() {
                continue;
            }
            let (offset, size) = member.file_range();
            let member = cache.range(offset, size);
            let begins = ReadRef::read_bytes_at(member, 0, size.min(4)).unwrap_or_default();
            if begins.starts_with(&ELF) {
                all.add(elf(member)?)?;
            }
        }
        return Ok(all);
    }
    elf(&cache)
}

/// The first `length` bytes of the data, unless these are too many.
fn part<'d>(data: impl ReadRef<'d>, length: u64) -> Result<&'d [u8], Error> {
    if length > MAX_PART {
        return Err(Error::Large(
            usize::try_from(MAX_PART >> 20).unwrap_or(usize::MAX),
        ));
    }
    data.read_bytes_at(0, length)
        .map_err(|()| Error::Damaged("it ends too early".to_owned()))
}

fn elf<'d>(data: impl ReadRef<'d>) -> Result<Embedded, Error> {
    let file = object::File::parse(data).map_err(damaged)?;
    if machine(data) == Some(EM_CUDA) {
        return cubin(&file);
    }
    let mut all = Embedded::default();
    for section in file.sections() {
        // A section with an invalid name is not one of these.
        let Ok(name) = section.name() else { continue };
        if SECTIONS.contains(&name) {
            all.add(fatbin::read(content(&section)?)?)?;
        }
    }
    Ok(all)
}

/// The PTX in a cubin in memory, if it is a cubin and has its PTX.
fn of_cubin(bytes: &[u8]) -> Embedded {
    if machine(bytes) != Some(EM_CUDA) {
        return Embedded::default();
    }
    let file = object::File::parse(bytes).ok();
    file.and_then(|file| cubin(&file).ok()).unwrap_or_default()
}

/// For which machine an ELF file is.
fn machine<'d>(data: impl ReadRef<'d>) -> Option<u16> {
    let bytes = data.read_bytes_at(18, 2).ok()?;
    Some(u16::from_le_bytes(bytes.try_into().ok()?))
}

/// The PTX in a cubin, if it has its PTX.
fn cubin<'d, R: ReadRef<'d>>(file: &object::File<'d, R>) -> Result<Embedded, Error> {
    let arch = match file.flags() {
        object::FileFlags::Elf { e_flags, .. } => architecture(e_flags),
        _ => 0,
    };
    let mut all = Embedded::default();
    for section in file.sections() {
        if section.name() == Ok(DEBUG_TEXT) {
            let bytes = content(&section)?;
            if bytes.len() > MAX_TEXT {
                return Err(Error::Large(MAX_TEXT >> 20));
            }
            // Lines end with a zero there.
            let line_end = |byte: &u8| if *byte == 0 { b'\n' } else { *byte };
            let bytes: Vec<u8> = bytes.iter().map(line_end).collect();
            if is_text(&bytes) {
                all.add(Embedded {
                    texts: vec![Text { arch, bytes }],
                    closed: Vec::new(),
                })?;
            }
        }
    }
    if all.texts.is_empty() {
        all.closed.push(arch);
    }
    Ok(all)
}

/// The architecture in the flags of a cubin: in the lowest byte up to CUDA 12, in the second since.
fn architecture(flags: u32) -> u32 {
    let [lowest, second, ..] = flags.to_le_bytes();
    match u32::from(lowest) {
        old @ 10..=139 => old,
        _ => u32::from(second),
    }
}

fn content<'d>(section: &impl ObjectSection<'d>) -> Result<&'d [u8], Error> {
    if section.size() > MAX_PART {
        return Err(Error::Large(
            usize::try_from(MAX_PART >> 20).unwrap_or(usize::MAX),
        ));
    }
    section.data().map_err(damaged)
}

/// Whether this is PTX: every text says its version.
fn is_text(bytes: &[u8]) -> bool {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    lines.any(|line| line.trim_ascii_start().starts_with(b".version"))
}

fn damaged(error: object::read::Error) -> Error {
    Error::Damaged(error.to_string())
}
