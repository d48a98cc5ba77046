//! Binaries: the PTX inside them.

use std::fs::File;
use std::path::Path;

use itertools::Itertools;
use warplock::ptx;
use warplock_artifacts::arch::Arch;
use warplock_artifacts::embedded;
use warplock_artifacts::embedded::Text;
use warplock_artifacts::launch::Facts;

use crate::failure::Failure;
use crate::sources;

use super::Content;
use super::Input;

/// A hint: how to compile a kernel so that its binary holds PTX as well as machine code.
pub const OPEN: &str = "compile with PTX for a virtual architecture beside the machine code, as nvcc -gencode \
    arch=compute_90a,code=[sm_90a,compute_90a] does, or give the .ptx file";

/// The inputs in a binary: its PTX texts.
pub fn inputs(path: &Path, entry: Option<&str>, arch: Option<Arch>) -> Result<Vec<Input>, Failure> {
    let name = sources::name_of(path);
    let file = File::open(path).map_err(|error| Failure::file("read", path, error))?;
    let found = embedded::read(file).map_err(|error| Failure::file("read", path, error))?;
    if found.texts.is_empty() {
        if found.closed.is_empty() {
            return Err(Failure::input(format!("{name} holds no GPU code"))
                .hint("give the program, the shared object or the cubin that the kernel is in"));
        }
        return Ok(vec![closed(name, &found.closed)]);
    }
    let mut texts: Vec<&Text> = found.texts.iter().collect();
    if let Some(arch) = arch {
        let wanted = arch.to_string();
        texts.retain(|text| text.target() == wanted);
        if texts.is_empty() {
            let targets = found.texts.iter().map(Text::target).unique().join(", ");
            return Err(Failure::input(format!("{name} holds no PTX for {arch}"))
                .hint(format!("it holds PTX for {targets}")));
        }
    }
    if let (Some(entry), [_, _, ..]) = (entry, texts.as_slice()) {
        let having: Vec<&Text> = texts
            .iter()
            .copied()
            .filter(|t| has(&t.bytes, entry))
            .collect();
        // Where no text has the entry, all texts are kept, and each reports the entries that it has.
        if !having.is_empty() {
            texts = having;
        }
    }
    let names = part_names(&name, &texts);
    let inputs = texts
        .into_iter()
        .zip(names)
        .map(|(text, name)| Input::text(name, text.bytes.clone()));
    Ok(inputs.collect())
}

/// The names of the texts of a binary: the file's name, with the target architecture where there are several texts.
fn part_names(name: &str, texts: &[&Text]) -> Vec<String> {
    if texts.len() == 1 {
        return vec![name.to_owned()];
    }
    let targets: Vec<String> = texts.iter().map(|text| text.target()).collect();
    let each = |(number, target): (usize, &String)| match targets
        .iter()
        .filter(|other| *other == target)
        .count()
    {
        1 => format!("{name}[{target}]"),
        _ => format!("{name}[{target}, {}]", number + 1),
    };
    targets.iter().enumerate().map(each).collect()
}

/// Whether a PTX text has an entry.
pub fn has(bytes: &[u8], entry: &str) -> bool {
    ptx::parse(&ptx::contiguous(bytes.to_vec()), &|_| {}).is_ok_and(|module| {
        let mut entries = module.functions.iter().filter(|f| f.entry);
        entries.any(|f| f.name == entry || ptx::means(f.name, entry))
    })
}

/// Machine code without PTX, of which nothing can be decided.
pub fn closed(name: String, archs: &[u32]) -> Input {
    let archs = archs.iter().map(|arch| format!("sm_{arch}")).join(", ");
    Input {
        name,
        text_name: None,
        facts: Facts::default(),
        one_of_many: false,
        copies: 0,
        content: Content::Closed(format!(
            "it contains machine code for {archs} and no PTX; machine code alone cannot be checked"
        )),
    }
}
