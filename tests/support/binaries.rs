//! Small PTX texts, and binaries that hold them.

/// Every warp comes to one barrier. Nothing says how many threads there are.
pub const UNBOUNDED: &str = ".version 8.0
.target sm_90a
.address_size 64
.visible .entry meet()
{
bar.sync 0;
ret;
}
";

/// A text with this entry, launched with 64 threads, of which the second warp alone comes to a
/// barrier of 64 threads.
pub fn hanging(entry: &str, target: &str) -> String {
    format!(
        ".version 8.0
.target {target}
.address_size 64
.visible .entry {entry}()
.reqntid 64, 1, 1
{{
.reg .pred %p<2>;
.reg .b32 %r<2>;
mov.u32 %r1, %tid.x;
setp.lt.u32 %p1, %r1, 32;
@%p1 bra $done;
bar.sync 1, 64;
$done:
ret;
}}
"
    )
}

/// A text with this entry, in which all of 64 threads meet.
pub fn meeting(entry: &str, target: &str) -> String {
    format!(
        ".version 8.0
.target {target}
.address_size 64
.visible .entry {entry}()
.reqntid 64, 1, 1
{{
bar.sync 0;
ret;
}}
"
    )
}

/// How the payload of an entry is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    Plain,
    Lz4,
    Zstd,
}

pub const PTX: u16 = 1;
pub const MACHINE_CODE: u16 = 2;

/// An entry of a fat binary.
pub fn entry(kind: u16, arch: u32, packing: Packing, content: &[u8]) -> Vec<u8> {
    let (flags, packed) = match packing {
        Packing::Plain => (0x11_u64, content.to_vec()),
        Packing::Lz4 => (0x2011, lz4_flex::block::compress(content)),
        Packing::Zstd => (0x8011, zstd::bulk::compress(content, 3).unwrap()),
    };
    let mut payload = packed.clone();
    payload.resize(payload.len().next_multiple_of(8), 0);
    let mut bytes = Vec::new();
    bytes.extend(kind.to_le_bytes());
    bytes.extend(0x101_u16.to_le_bytes());
    bytes.extend(64_u32.to_le_bytes());
    bytes.extend((payload.len() as u64).to_le_bytes());
    let compressed = if packing == Packing::Plain {
        0
    } else {
        packed.len() as u32
    };
    bytes.extend(compressed.to_le_bytes());
    bytes.extend(0_u32.to_le_bytes());
    bytes.extend([0, 0, 8, 0]);
    bytes.extend(arch.to_le_bytes());
    bytes.extend(0_u64.to_le_bytes());
    bytes.extend(flags.to_le_bytes());
    bytes.extend(0_u64.to_le_bytes());
    let size = if packing == Packing::Plain {
        0
    } else {
        content.len() as u64
    };
    bytes.extend(size.to_le_bytes());
    assert_eq!(bytes.len(), 64);
    bytes.extend(payload);
    bytes
}

/// A fat binary of these entries.
pub fn fatbin(entries: &[Vec<u8>]) -> Vec<u8> {
    let entries = entries.concat();
    let mut bytes = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
    bytes.extend((entries.len() as u64).to_le_bytes());
    bytes.extend(entries);
    bytes
}

/// Machines of ELF files.
pub const HOST: u16 = 62;
pub const DEVICE: u16 = 190;

/// An ELF file for a machine, with one section.
pub fn elf(machine: u16, section: &str, content: &[u8]) -> Vec<u8> {
    let mut names = vec![0];
    let name_at = names.len() as u32;
    names.extend(section.bytes().chain([0]));
    let names_at = names.len() as u32;
    names.extend(b".shstrtab\0");
    let content_at = 64_u64;
    let strings_at = content_at + content.len() as u64;
    let table_at = (strings_at + names.len() as u64).next_multiple_of(8);
    let mut bytes = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0];
    bytes.extend([0; 8]);
    bytes.extend(1_u16.to_le_bytes());
    bytes.extend(machine.to_le_bytes());
    bytes.extend(1_u32.to_le_bytes());
    bytes.extend([0; 16]);
    bytes.extend(table_at.to_le_bytes());
    bytes.extend(0x5a04_u32.to_le_bytes());
    for half in [64_u16, 0, 0, 64, 3, 2] {
        bytes.extend(half.to_le_bytes());
    }
    assert_eq!(bytes.len(), 64);
    bytes.extend(content);
    bytes.extend(&names);
    bytes.resize(table_at as usize, 0);
    bytes.extend([0; 64]);
    let sections = [
        (name_at, 1_u32, content_at, content.len() as u64),
        (names_at, 3, strings_at, names.len() as u64),
    ];
    for (name, kind, at, size) in sections {
        bytes.extend(name.to_le_bytes());
        bytes.extend(kind.to_le_bytes());
        bytes.extend([0; 16]);
        bytes.extend(at.to_le_bytes());
        bytes.extend(size.to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend(1_u64.to_le_bytes());
        bytes.extend([0; 8]);
    }
    bytes
}
