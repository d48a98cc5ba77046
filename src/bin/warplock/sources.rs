//! Protocol files named on the command line.

use std::fs;
use std::fs::File;
use std::io;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;

use warplock::protocol::Protocol;
use warplock::report::style::Style;
use warplock::text;
use warplock::text::MAX_SOURCE_BYTES;
use warplock::text::Narrowing;

use crate::failure::Failure;
use crate::form::Form;
use crate::options::Domain;

/// The argument that stands for standard input.
pub const STDIN: &str = "-";

/// How deep folders are searched.
const DEPTH: usize = 64;

/// The ending of a protocol file.
const ENDING: &str = "wlk";

/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The endings of kernel files: sources, texts and machine code.
const KERNELS: [&str; 10] = [
    "ptx", "mlir", "cu", "cuh", "py", "cubin", "fatbin", "so", "o", "a",
];

/// The files that these arguments name, in order. A folder stands for all protocol files below it, sorted. An
/// argument that names no file becomes a failure in its place.
pub fn files(arguments: &[PathBuf]) -> Vec<Result<PathBuf, Failure>> {
    let mut all = Vec::new();
    for argument in arguments {
        if !argument.is_dir() {
            all.push(Ok(argument.clone()));
            continue;
        }
        match below(argument) {
            Err(failure) => all.push(Err(failure)),
            Ok(found) if found.is_empty() => all.push(Err(Failure::input(format!(
                "no .{ENDING} files below {}",
                text_of(argument)
            )))),
            Ok(found) => all.extend(found.into_iter().map(Ok)),
        }
    }
    all
}

/// The protocol files below a folder, sorted.
pub fn below(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    search(folder, DEPTH, &mut found)?;
    found.sort();
    Ok(found)
}

fn search(folder: &Path, depth: usize, into: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::file("read", folder, error);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        // Links to folders are not followed, because a cycle of links would never end.
        let is_folder = entry.file_type().map_err(failed)?.is_dir();
        if is_folder && depth > 0 {
            search(&path, depth - 1, into)?;
        } else if !is_folder && path.extension().is_some_and(|ending| ending == ENDING) {
            into.push(path);
        }
    }
    Ok(())
}

/// The name of a file in reports.
pub fn name_of(path: &Path) -> String {
    if is_stdin(path) {
        "<stdin>".to_owned()
    } else {
        text_of(path)
    }
}

/// Whether the argument stands for standard input.
pub fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == STDIN
}

/// Reads a file, or standard input for `-`, up to the largest size of a protocol.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    read_up_to(path, MAX_SOURCE_BYTES)
}

/// Reads a file, or standard input for `-`. Refuses more than `most` bytes. Leaves out the byte order mark with which
/// editors on Windows begin a text.
pub fn read_up_to(path: &Path, most: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let limit = most as u64 + 1;
    let result = if is_stdin(path) {
        io::stdin().lock().take(limit).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes))
    };
    result.map_err(|error| Failure::file("read", path, error))?;
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    if bytes.len() > most {
        return Err(Failure::file(
            "read",
            path,
            format!("it is larger than {most} bytes, the most that is read"),
        ));
    }
    Ok(bytes)
}

/// Reads and resolves a protocol.
pub fn load(path: &Path, style: Style) -> Result<Protocol, Failure> {
    let kernel = path.extension().is_some_and(|ending| {
        let ending = ending.to_string_lossy().to_ascii_lowercase();
        KERNELS.contains(&ending.as_str())
    });
    let name = name_of(path);
    // A file whose name shows that it is a kernel is not read, because it may be large.
    let text = if kernel { None } else { Some(read(path)?) };
    match text {
        Some(text) if Form::of_text(&text) == Form::Protocol => load_bytes(&text, &name, style),
        _ => Err(Failure::input(format!(
            "{name} is a kernel, and this command takes protocols"
        ))
        .hint(format!(
            "`warplock lift {} > kernel.wlk` writes the protocol that it follows",
            text_of(path)
        ))),
    }
}

/// Resolves a protocol.
pub fn load_bytes(bytes: &[u8], name: &str, style: Style) -> Result<Protocol, Failure> {
    text::load(bytes).map_err(|findings| {
        let source = String::from_utf8_lossy(bytes);
        Failure::text(&findings, name, &source, style)
    })
}

/// Reads and resolves a protocol, and narrows it as the options ask.
pub fn narrowed(
    path: &Path,
    domain: &Domain,
    style: Style,
) -> Result<(Protocol, Narrowing), Failure> {
    let mut protocol = load(path, style)?;
    let narrowing = domain.narrowing()?;
    narrow(&mut protocol, &narrowing, &name_of(path), style)?;
    Ok((protocol, narrowing))
}

/// Narrows a protocol. A failure names the option at fault.
pub fn narrow(
    protocol: &mut Protocol,
    narrowing: &Narrowing,
    name: &str,
    style: Style,
) -> Result<(), Failure> {
    let values = Narrowing {
        set: narrowing.set.clone(),
        assume: Vec::new(),
    };
    text::narrow(protocol, &values).map_err(|findings| {
        let first = findings.first();
        let message = first.map_or_else(String::new, |f| f.message.clone());
        let failure = Failure::input(format!("{name}: --set: {message}"));
        match first.and_then(|f| f.hints.first()) {
            Some(hint) => failure.hint(&hint.text),
            None => failure,
        }
    })?;
    for assumption in &narrowing.assume {
        let one = Narrowing {
            assume: vec![assumption.clone()],
            ..Narrowing::default()
        };
        text::narrow(protocol, &one)
            .map_err(|findings| Failure::text(&findings, "--assume", assumption, style))?;
    }
    Ok(())
}

fn text_of(path: &Path) -> String {
    warplock::report::text::visible(&path.display().to_string())
}
