//! Folders: collects the protocols and compiled kernels below them.

use std::path::Path;

use warplock_artifacts::folder;
use warplock_artifacts::folder::Error;

use crate::failure::Failure;
use crate::sources;

use super::Content;
use super::Input;
use super::Inputs;
use super::binary;

/// Adds the inputs below a folder. With `inside`, a kernel is named by its path relative to the folder.
pub fn folder(folder: &Path, inside: bool, inputs: &mut Inputs) {
    let shown = |path: &Path| match path.strip_prefix(folder) {
        Ok(path) if inside => sources::name_of(path),
        _ => sources::name_of(path),
    };
    let protocols = match sources::below(folder) {
        Ok(found) => found,
        Err(failure) => {
            inputs.all.push(Err(failure));
            return;
        }
    };
    let collected = match folder::collect(folder) {
        Ok(collected) => collected,
        Err((path, error)) => {
            inputs.all.push(Err(refused(&path, error)));
            return;
        }
    };
    let (kernels, failed) = (collected.kernels, collected.failed);
    if protocols.is_empty() && kernels.is_empty() && failed.is_empty() {
        let nothing = Failure::input(format!(
            "no protocols (.wlk) and no compiled kernels (.ptx, .mlir, .cubin, .fatbin, .so, .o, .a) below {}",
            sources::name_of(folder)
        ));
        let hint = "a .cu or .py file is named by itself: warplock check kernel.cu; `warplock run -- COMMAND` takes what a program compiles";
        inputs.all.push(Err(nothing.hint(hint)));
        return;
    }
    let protocols = protocols.iter().map(|path| Ok(Input::file(path)));
    inputs.all.extend(protocols);
    for (path, error) in failed {
        inputs.all.push(Err(refused(&path, error)));
    }
    inputs.gathered |= !kernels.is_empty();
    for kernel in kernels {
        let name = shown(&kernel.path);
        let copies = kernel.copies - 1;
        let input = match kernel.content {
            folder::Content::File(sum) => Input {
                name,
                text_name: None,
                facts: kernel.facts,
                one_of_many: true,
                copies,
                content: Content::Found(kernel.path, sum),
            },
            folder::Content::Text(text) => Input {
                facts: kernel.facts,
                one_of_many: true,
                copies,
                ..Input::text(format!("{name}[{}]", text.target()), text.bytes)
            },
            folder::Content::Closed(archs) => Input {
                copies,
                ..binary::closed(name, &archs)
            },
        };
        inputs.all.push(Ok(input));
    }
}

fn refused(path: &Path, error: Error) -> Failure {
    match error {
        Error::Changing => changing(path),
        error => Failure::file("read", path, error),
    }
}

/// The failure for a file that another program changes while it is read.
pub fn changing(path: &Path) -> Failure {
    Failure::file("read", path, "it changes while it is read")
        .hint("run again when the program that writes there has ended")
}
