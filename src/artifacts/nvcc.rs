//! Finds nvcc, and builds its command line.

use std::ffi::OsStr;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

use crate::arch::Arch;
use crate::files::starting;
use crate::pip;

/// The environment variable with the path of the Python interpreter. A Python program that starts Warplock sets it.
pub const PYTHON: &str = "WARPLOCK_PYTHON";

/// The command that installs the compiler. If a CUDA runtime is installed, for example with torch, the compiler has to have
/// the version of that runtime.
pub fn install(variable: &dyn Fn(&str) -> Option<OsString>) -> String {
    let path = variable("PATH").unwrap_or_default();
    let packages = prefixes(&path, variable);
    let runtime = packages.iter().find_map(|prefix| {
        let mut found = packages_of(prefix)
            .into_iter()
            .flat_map(|packages| starting(&packages, "nvidia_cuda_runtime-"));
        let name = found.next()?.file_name()?.to_str()?.to_owned();
        let mut numbers = name.strip_prefix("nvidia_cuda_runtime-")?.split('.');
        Some(format!("{}.{}", numbers.next()?, numbers.next()?))
    });
    let packages = match runtime {
        Some(version) => format!("'nvidia-cuda-nvcc=={version}.*' nvidia-cuda-cccl"),
        None => "nvidia-cuda-nvcc nvidia-cuda-cccl".to_owned(),
    };
    // In a virtual environment, the command `pip` is the pip of the environment.
    let inside = ["VIRTUAL_ENV", "CONDA_PREFIX"]
        .into_iter()
        .any(|name| variable(name).is_some_and(|root| !root.is_empty()));
    let own = variable(PYTHON).map(PathBuf::from);
    let python = match inside {
        true => own,
        false => own.or_else(|| first_python(&path)),
    };
    pip::install(&python.unwrap_or_default(), "pip", &packages)
}

/// The interpreter that the command `python3` runs, or `python` if there is no `python3`.
fn first_python(path: &OsStr) -> Option<PathBuf> {
    let folders = || std::env::split_paths(path);
    let mut all = ["python3", "python"]
        .into_iter()
        .flat_map(|name| folders().map(move |folder| folder.join(name)));
    all.find(|python| is_program(python))
}

/// Whether a message of the compiler says that the headers have another version than the compiler.
pub fn misfit(said: &str) -> bool {
    said.contains("CUDA compiler and CUDA toolkit headers are incompatible")
}

/// The compiler, looked for in the order in which people expect it: `PATH`, `CUDA_HOME` and
/// `CUDA_PATH`, the usual folder, and the site-packages of the Python at hand.
pub fn find(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let path = variable("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join("nvcc"));
    let named = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(variable);
    let homes = named
        .filter(|home| !home.is_empty())
        .map(PathBuf::from)
        .chain([PathBuf::from("/usr/local/cuda")])
        .map(|home| home.join("bin/nvcc"));
    on_path
        .chain(homes)
        .find(|program| is_program(program))
        .or_else(|| wheel(&path, variable))
}

/// The compiler of an installed wheel. Python is not run, because its folders are at fixed places relative to it.
fn wheel(path: &OsStr, variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    prefixes(path, variable).iter().find_map(|prefix| {
        let mut found: Vec<PathBuf> = Vec::new();
        for packages in packages_of(prefix) {
            for part in starting(&packages.join("nvidia"), "cu") {
                found.push(part.join("bin/nvcc"));
            }
        }
        found.retain(|program| is_program(program));
        // Several major versions may be installed. The newest one compiles the most files.
        found.sort();
        found.pop()
    })
}

/// The prefixes below which Pythons have their packages. The prefix of the current Python is the first.
fn prefixes(path: &OsStr, variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    // The folders `bin` and `lib` have the same parent.
    let beside = |program: &Path| Some(program.parent()?.parent()?.to_owned());
    let mut prefixes: Vec<PathBuf> = Vec::new();
    prefixes.extend(variable(PYTHON).and_then(|python| beside(Path::new(&python))));
    let named = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter();
    prefixes.extend(named.filter_map(variable).map(PathBuf::from));
    for folder in std::env::split_paths(path) {
        for python in ["python3", "python"].map(|name| folder.join(name)) {
            if !is_program(&python) {
                continue;
            }
            prefixes.extend(beside(&python));
            // `/usr/local/bin/python3` may be a link into the prefix that has the packages.
            prefixes.extend(fs::canonicalize(&python).ok().as_deref().and_then(beside));
        }
    }
    prefixes.extend(variable("HOME").map(|home| PathBuf::from(home).join(".local")));
    prefixes
}

/// The package folders of all Pythons below a prefix.
fn packages_of(prefix: &Path) -> Vec<PathBuf> {
    let versions = starting(&prefix.join("lib"), "python3");
    let folders = versions
        .iter()
        .flat_map(|version| ["site-packages", "dist-packages"].map(|name| version.join(name)));
    folders.collect()
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// The arguments that compile a file to PTX with source lines.
pub fn arguments(source: &Path, arch: Arch, flags: &[String], output: &Path) -> Vec<OsString> {
    let mut all: Vec<OsString> = ["-ptx", "-lineinfo"].map(OsString::from).into();
    all.push(format!("-arch={arch}").into());
    all.extend(flags.iter().map(OsString::from));
    all.push("-o".into());
    all.push(output.into());
    // A name that begins with a dash is no option.
    let plain = !source.as_os_str().as_encoded_bytes().starts_with(b"-");
    all.push(if plain {
        source.into()
    } else {
        Path::new(".").join(source).into()
    });
    all
}

/// A command as a person would type it.
pub fn typed(program: &OsStr, arguments: &[OsString]) -> String {
    let words = [program.to_owned()];
    let words = words.iter().chain(arguments).map(|word| {
        let word = word.to_string_lossy();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./+:,@%".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word.into_owned()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    words.collect::<Vec<_>>().join(" ")
}
