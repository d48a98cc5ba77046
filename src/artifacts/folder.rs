//! Collects the compiled kernels below a dump folder or a compiler cache. Equal contents are collected
//! once.
//!
//! Compilers store several forms of a kernel under one name. The order of preference is: PTX, MLIR,
//! MLIR without source lines, PTX inside a binary.

use std::collections::BTreeMap;
use std::fs;
use std::fs::File;
use std::io;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;

use sha2::Digest;
use sha2::Sha256;

use crate::embedded;
use crate::embedded::Text;
use crate::launch;
use crate::launch::Facts;

/// The most nested folders.
const DEPTH: usize = 64;

/// The digest of a kernel's content.
pub type Sum = [u8; 32];

/// A compiled kernel file, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// The file.
    pub path: PathBuf,
    /// Which part of the file.
    pub content: Content,
    /// Known facts about its launch.
    pub facts: Facts,
    /// How many files hold it.
    pub copies: usize,
}

/// The part of a file that is the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// The whole file. It had this digest.
    File(Sum),
    /// PTX from a binary.
    Text(Text),
    /// Machine code for these architectures without PTX.
    Closed(Vec<u32>),
}

/// Why a folder or one of its files could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An error of the file system.
    #[error("{0}")]
    Read(#[from] io::Error),
    /// An error in a binary.
    #[error("{0}")]
    Binary(#[from] embedded::Error),
    /// Another process wrote the file during the read.
    #[error("it changes while it is read")]
    Changing,
}

/// The kernels below a folder.
#[derive(Debug, Default)]
pub struct Collected {
    /// The kernels, in the order of their paths.
    pub kernels: Vec<Kernel>,
    /// Files that could not be read.
    pub failed: Vec<(PathBuf, Error)>,
}

/// Which form of a kernel a file has, the preferred one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    Ptx,
    Mlir,
    /// MLIR without source lines, which CuTe DSL calls clean. Some versions keep only this form.
    CleanMlir,
    Binary,
}

fn form(path: &Path) -> Option<Form> {
    match path.extension()?.to_str()? {
        "ptx" => Some(Form::Ptx),
        "mlir" if path.file_stem()?.to_str()?.ends_with("_clean") => Some(Form::CleanMlir),
        "mlir" => Some(Form::Mlir),
        "cubin" | "fatbin" | "so" | "o" | "a" => Some(Form::Binary),
        _ => None,
    }
}

/// Collects the kernels below a folder.
pub fn collect(folder: &Path) -> Result<Collected, (PathBuf, Error)> {
    let mut files = Vec::new();
    below(folder, DEPTH, &mut files).map_err(|(path, error)| (path, Error::Read(error)))?;
    files.sort();
    let mut best: BTreeMap<PathBuf, Form> = BTreeMap::new();
    for (path, form) in &files {
        let best = best.entry(stem(path)).or_insert(*form);
        *best = (*best).min(*form);
    }
    files.retain(|(path, form)| best.get(&stem(path)) == Some(form));
    let mut all = Collected::default();
    let mut seen: BTreeMap<(Sum, Facts), usize> = BTreeMap::new();
    for (path, form) in files {
        let found = match form {
            Form::Binary => binary(&path),
            Form::Ptx | Form::Mlir | Form::CleanMlir => {
                stable(&path, |file| Ok(vec![whole(file)?]))
            }
        };
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                all.failed.push((path, error));
                continue;
            }
        };
        let facts = launch::beside(&path);
        for (sum, content) in found {
            // The same text with different launch facts is a different kernel.
            if let Some(first) = seen.get(&(sum, unsigned(&facts))) {
                if let Some(first) = all.kernels.get_mut(*first) {
                    first.copies = first.copies.saturating_add(1);
                }
                continue;
            }
            seen.insert((sum, unsigned(&facts)), all.kernels.len());
            all.kernels.push(Kernel {
                path: path.clone(),
                content,
                facts: facts.clone(),
                copies: 1,
            });
        }
    }
    Ok(all)
}

/// The common part of the paths of all forms of a kernel: the path without its endings. CuTe DSL
/// writes `cute_dsl_NAME_clean.mlir` for `NAME.sm_90a.ptx`.
fn stem(path: &Path) -> PathBuf {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = name.split_once(".sm_").map_or(&*name, |(name, _)| name);
    let bare = name.strip_suffix("_clean").unwrap_or(name);
    path.with_file_name(bare.strip_prefix("cute_dsl_").unwrap_or(bare))
}

/// The facts without their origin.
fn unsigned(facts: &Facts) -> Facts {
    Facts {
        source: String::new(),
        ..facts.clone()
    }
}

fn below(
    folder: &Path,
    depth: usize,
    into: &mut Vec<(PathBuf, Form)>,
) -> Result<(), (PathBuf, io::Error)> {
    let failed = |error| (folder.to_owned(), error);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        // Links to folders are not followed, so that the search ends.
        if entry.file_type().map_err(failed)?.is_dir() {
            // Triton writes into such a folder and renames the file when it is complete.
            let name = entry.file_name();
            let partial = name.to_string_lossy().starts_with("tmp.pid_");
            if depth > 0 && !partial {
                match below(&path, depth - 1, into) {
                    // A cache in use removes folders at any time.
                    Err((_, error)) if error.kind() == io::ErrorKind::NotFound => {}
                    done => done?,
                }
            }
        } else if let Some(form) = form(&path)
            // To open a pipe would block until another process writes to it.
            && fs::metadata(&path).is_ok_and(|found| found.is_file())
        {
            into.push((path, form));
        }
    }
    Ok(())
}

type Found = Vec<(Sum, Content)>;

/// The result of `read` on a file that no other process writes meanwhile.
fn stable(
    path: &Path,
    read: impl FnOnce(&mut File) -> Result<Found, Error>,
) -> Result<Found, Error> {
    let mut file = File::open(path)?;
    let state = |file: &File| -> io::Result<_> {
        let found = file.metadata()?;
        Ok((found.len(), found.modified().ok()))
    };
    let before = state(&file)?;
    let found = read(&mut file);
    if state(&file)? != before {
        return Err(Error::Changing);
    }
    found
}

fn whole(file: &mut File) -> Result<(Sum, Content), Error> {
    let mut sum = Sha256::new();
    let mut block = vec![0; 1 << 16];
    loop {
        let count = file.read(&mut block)?;
        let Some(read) = block.get(..count).filter(|read| !read.is_empty()) else {
            break;
        };
        sum.update(read);
    }
    let sum: Sum = sum.finalize().into();
    Ok((sum, Content::File(sum)))
}

/// The digest of a text.
pub fn sum(bytes: &[u8]) -> Sum {
    Sha256::digest(bytes).into()
}

fn binary(path: &Path) -> Result<Found, Error> {
    stable(path, |file| {
        let mut head = [0; 8];
        let count = file.read(&mut head)?;
        if !head.get(..count).is_some_and(embedded::is_binary) {
            // Another kind of file with the same ending.
            return Ok(Found::new());
        }
        let found = embedded::read(file)?;
        let mut all = Found::new();
        for text in found.texts {
            all.push((sum(&text.bytes), Content::Text(text)));
        }
        if all.is_empty() && !found.closed.is_empty() {
            let path = path.as_os_str().as_encoded_bytes();
            all.push((sum(path), Content::Closed(found.closed)));
        }
        Ok(all)
    })
}
