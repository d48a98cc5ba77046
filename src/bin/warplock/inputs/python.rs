//! Python files: runs them, and takes the kernels that their embedded languages (Triton and others) compile.
//!
//! Without a GPU, the first launch would fail and end the file. So for Triton a driver is installed that compiles
//! kernels and launches nothing. For other languages, the kernels compiled before the first launch are taken.

use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use itertools::Itertools;
use warplock_artifacts::hooks;
use warplock_artifacts::hooks::Language;
use warplock_artifacts::nvcc;
use warplock_artifacts::pip;

use crate::failure::Failure;
use crate::files;
use crate::session::Session;
use crate::sources;

use super::Inputs;
use super::compile::Compiler;
use super::gather;
use super::program;

/// The largest Python file that is searched for imports, in bytes.
const MOST_BYTES: usize = 16 << 20;

/// A Python program that prints those of its arguments that cannot be imported.
const MISSING: &str =
    "import importlib.util as u, sys\nprint(*[m for m in sys.argv[1:] if u.find_spec(m) is None])";

/// Runs a file and takes the kernels that it leaves in a temporary folder. They are read into memory before the
/// folder is deleted.
pub fn run(path: &Path, compiler: &Compiler, session: &Session) -> Result<Inputs, Failure> {
    let name = sources::name_of(path);
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
    let python = chosen(&languages, &name, folder.path())?;
    let stand_in = folder.path().join("stand_in.py");
    files::write(&stand_in, hooks::STAND_IN.as_bytes())?;
    let overwritten = folder.path().join("overwritten.py");
    files::write(&overwritten, hooks::OVERWRITTEN.as_bytes())?;
    let note = folder.path().join("needs_gpu");
    for each in hooks::FOLDERS {
        files::folder(&folder.path().join(each))?;
    }
    let mut command = Command::new(&python);
    command
        .args([&stand_in, path, &note])
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
    let launch = fs::read_to_string(&note).ok();
    let launch = launch.and_then(|line| line.trim().parse::<usize>().ok());
    if !inputs.gathered {
        let what = match (launch, ended.success()) {
            (Some(line), _) => {
                format!("asks for a GPU at line {line}, before it compiled a kernel")
            }
            (None, true) => "compiles no kernel when it runs".to_owned(),
            (None, false) => format!("{} before it compiled a kernel", program::how(ended)),
        };
        let failed = launch.is_none() && !ended.success();
        return Err(
            Failure::input(format!("{name} {what}")).hint(help(&languages, compiler, failed))
        );
    }
    for input in inputs.all.iter_mut().flatten() {
        input.keep(&name)?;
    }
    if let Some(line) = launch {
        session.terminal.err(&format!(
            "warning: {name} ends at line {line}, which asks for a GPU; what it had compiled by then is checked\n"
        ));
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

/// A hint for a file that compiled no kernel.
fn help(languages: &[Language], compiler: &Compiler, failed: bool) -> String {
    if !failed {
        return "call the kernel, or compile it as with cute.compile or triton.compile, at the end of the file".to_owned();
    }
    let variable = |name: &str| std::env::var_os(name);
    let needs_nvcc = languages.iter().any(|language| language.needs_nvcc);
    if needs_nvcc && nvcc::find(&variable).is_none() {
        let command = nvcc::install(&variable);
        return format!("TileLang compiles with nvcc, and none is found; install it: {command}");
    }
    match compiler.arch {
        None => "its own message is above; where there is no GPU, --arch sm_90a says what to compile for",
        Some(_) => "its own message is above",
    }
    .to_owned()
}

/// The Python interpreters to try: the one that called this program, the one of the virtual environment, the first on
/// `PATH`.
fn pythons() -> Vec<PathBuf> {
    let caller = std::env::var_os(nvcc::PYTHON).map(PathBuf::from);
    let environment = std::env::var_os("VIRTUAL_ENV").map(|root| Path::new(&root).join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_program = |path: &PathBuf| fs::metadata(path).is_ok_and(|found| found.is_file());
    let first = |folders: &[PathBuf]| {
        let names = ["python3", "python"].into_iter();
        let mut all = names.flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
        all.find(is_program)
    };
    let found = [
        caller.filter(is_program),
        environment.and_then(|folder| first(&[folder])),
        first(&std::env::split_paths(&path).collect::<Vec<_>>()),
    ];
    found.into_iter().flatten().unique().collect()
}

/// The first Python interpreter in which the languages can be imported.
fn chosen(languages: &[Language], name: &str, folder: &Path) -> Result<PathBuf, Failure> {
    let mut refused = None;
    for python in pythons() {
        match lacks(&python, languages, name, folder) {
            Ok(()) => return Ok(python),
            Err(failure @ Failure::Interrupted(_)) => return Err(failure),
            Err(failure) => refused = refused.or(Some(failure)),
        }
    }
    Err(refused.unwrap_or_else(|| {
        Failure::input("no python3 and no python in the virtual environment or on PATH")
            .hint("install it, as with apt install python3")
    }))
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
        Some(Language {
            module, package, ..
        }) => {
            let named = sources::name_of(python);
            let command = pip::install(python, &format!("{named} -m pip"), package);
            Err(Failure::input(format!(
                "{name} imports {module}, which {named} does not have"
            ))
            .hint(format!("install it: {command}")))
        }
    }
}
