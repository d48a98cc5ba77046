//! Python files: what the kernel languages in them compile while they run.

use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use warplock_artifacts::hooks;
use warplock_artifacts::hooks::Language;

use crate::failure::Failure;
use crate::files;
use crate::session::Session;
use crate::sources;

use super::Inputs;
use super::compile::Compiler;
use super::gather;
use super::program;

/// The largest Python file whose imports are looked at, in bytes.
const MOST_BYTES: usize = 16 << 20;

/// Prints those of its arguments that cannot be imported.
const MISSING: &str =
    "import importlib.util as u, sys\nprint(*[m for m in sys.argv[1:] if u.find_spec(m) is None])";

/// Runs a file, and takes the kernels that it leaves in a folder. They are read before that is deleted.
pub fn run(path: &Path, compiler: &Compiler, session: &Session) -> Result<Inputs, Failure> {
    let name = sources::name_of(path);
    if let [_, ..] = compiler.nvcc_option.as_slice() {
        return Err(Failure::input(format!(
            "--nvcc-option has no effect on {name}, which is not compiled by nvcc"
        ))
        .hint("leave --nvcc-option out"));
    }
    let text = sources::read_up_to(path, MOST_BYTES)?;
    let languages = hooks::languages(&String::from_utf8_lossy(&text));
    if languages.is_empty() {
        return Err(Failure::input(format!(
            "{name} imports none of the kernel languages that are known: triton, cutlass, tilelang"
        ))
        .hint("warplock run -- python3 FILE runs any program"));
    }
    let folder = tempfile::tempdir()
        .map_err(|error| Failure::input(format!("cannot make a temporary folder: {error}")))?;
    let python = python()?;
    lacks(&python, &languages, &name, folder.path())?;
    for each in hooks::FOLDERS {
        files::folder(&folder.path().join(each))?;
    }
    let mut command = Command::new(&python);
    command
        .arg(path)
        .envs(hooks::variables(folder.path()))
        .stdout(io::stderr());
    if let Some(arch) = compiler.arch {
        command.envs(hooks::architecture(arch));
    }
    if !session.quiet {
        session
            .terminal
            .err(&format!("running: {} {name}\n", sources::name_of(&python)));
    }
    let ended = session.progress.bars().suspend(|| program::run(command))?;
    let mut inputs = Inputs::default();
    gather::folder(folder.path(), true, &mut inputs);
    if !inputs.gathered {
        let what = match ended.success() {
            true => "compiles no kernel when it runs".to_owned(),
            false => format!("{} before it compiled a kernel", program::how(ended)),
        };
        return Err(Failure::input(format!("{name} {what}")).hint(
            "call the kernel, or compile it as with cute.compile or triton.compile, at the end of the file",
        ));
    }
    for input in inputs.all.iter_mut().flatten() {
        input.keep(&name)?;
    }
    if !ended.success() {
        let failed = Failure::input(format!(
            "{name} {}; what it had compiled by then is checked",
            program::how(ended)
        ));
        inputs.all.push(Err(failed));
    }
    Ok(inputs)
}

/// The Python at hand.
fn python() -> Result<PathBuf, Failure> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let environment = std::env::var_os("VIRTUAL_ENV").map(|root| Path::new(&root).join("bin"));
    let folders: Vec<PathBuf> = environment
        .into_iter()
        .chain(std::env::split_paths(&folders))
        .collect();
    let candidates = ["python3", "python"]
        .into_iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    let mut programs = candidates.filter(|path| fs::metadata(path).is_ok_and(|f| f.is_file()));
    programs.next().ok_or_else(|| {
        Failure::input("no python3 and no python in the virtual environment or on PATH")
            .hint("install it, as with apt install python3")
    })
}

/// Refuses a file whose languages are not installed.
fn lacks(python: &Path, languages: &[Language], name: &str, folder: &Path) -> Result<(), Failure> {
    let mut command = Command::new(python);
    command.args(["-c", MISSING]);
    command.args(languages.iter().map(|language| language.module));
    let ended = program::quietly(command, folder)?;
    let missing = languages.iter().find(|language| {
        let mut words = ended.said.split_whitespace();
        ended.well && words.any(|word| word == language.module)
    });
    match missing {
        None => Ok(()),
        Some(Language { module, package }) => {
            let python = sources::name_of(python);
            Err(Failure::input(format!(
                "{name} imports {module}, which {python} does not have"
            ))
            .hint(format!("install it: {python} -m pip install {package}")))
        }
    }
}
