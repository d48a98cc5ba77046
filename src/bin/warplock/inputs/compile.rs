//! Compiles CUDA C++ with nvcc.

use std::fs;
use std::path::Path;
use std::process::Command;

use clap::Args;
use warplock_artifacts::arch;
use warplock_artifacts::arch::Arch;
use warplock_artifacts::nvcc;

use crate::failure::Failure;
use crate::session::Session;
use crate::sources;

use super::Input;
use super::Kind;
use super::program;

/// The directive with which a kernel begins in PTX.
const ENTRY: &[u8] = b".entry";

/// How source files are compiled.
#[derive(Debug, Clone, Args)]
pub struct Compiler {
    /// The architecture that a .cu file is compiled for, as in sm_90a, the newest that it asks for
    /// if not given; of a binary, the PTX that is meant
    #[arg(help_heading = "Kernels", long, value_name = "ARCH")]
    pub arch: Option<Arch>,
    /// Give nvcc an option, as in --nvcc-option=-Iinclude; may be repeated
    #[arg(
        help_heading = "Kernels",
        long,
        value_name = "OPTION",
        allow_hyphen_values = true
    )]
    pub nvcc_option: Vec<String>,
}

impl Compiler {
    /// An option that was given and applies to none of these kinds of files.
    pub fn unused(&self, kinds: &[Kind]) -> Option<&'static str> {
        let fits = |fitting: &[Kind]| kinds.iter().any(|kind| fitting.contains(kind));
        if self.arch.is_some() && !fits(&[Kind::Cuda, Kind::Python, Kind::Binary]) {
            return Some("--arch");
        }
        let given = !self.nvcc_option.is_empty();
        (given && !fits(&[Kind::Cuda])).then_some("--nvcc-option")
    }
}

/// Compiles a file. The compiler's messages are shown unchanged.
pub fn cuda(path: &Path, compiler: &Compiler, session: &Session) -> Result<Input, Failure> {
    let name = sources::name_of(path);
    // Opened here so that an unreadable file is reported as such. Otherwise the compiler would report the failure
    // after messages of its own.
    fs::File::open(path).map_err(|error| Failure::file("read", path, error))?;
    let variable = |name: &str| std::env::var_os(name);
    let Some(program) = nvcc::find(&variable) else {
        return Err(Failure::input(format!(
            "{name} is CUDA C++, and no nvcc is on PATH, in CUDA_HOME, CUDA_PATH or /usr/local/cuda, or among the Python packages"
        ))
        .hint(format!("install it: {}", nvcc::install(&variable))));
    };
    let folder = tempfile::tempdir()
        .map_err(|error| Failure::input(format!("cannot make a temporary folder: {error}")))?;
    let output = folder.path().join("kernel.ptx");
    let arch = compiler.arch.or_else(|| arch::asked(path));
    let arch = arch.unwrap_or(arch::USUAL);
    let arguments = nvcc::arguments(path, arch, &compiler.nvcc_option, &output);
    if !session.quiet {
        let typed = nvcc::typed(program.as_os_str(), &arguments);
        session.terminal.err(&format!("running: {typed}\n"));
    }
    let mut command = Command::new(&program);
    command.args(&arguments).env("TMPDIR", folder.path());
    let ended = program::quietly(command, folder.path())?;
    session.terminal.err(&ended.said);
    if !ended.well {
        let hint = match nvcc::misfit(&ended.said) {
            true => format!(
                "this nvcc is of another version than the headers that it finds: {}",
                nvcc::install(&variable)
            ),
            false => {
                "--arch chooses the architecture, --nvcc-option=-I... an include folder".to_owned()
            }
        };
        return Err(Failure::input(format!("{name} does not compile for {arch}")).hint(hint));
    }
    let bytes = fs::read(&output).map_err(|error| Failure::file("read", &output, error))?;
    if !bytes.windows(ENTRY.len()).any(|part| part == ENTRY) {
        return Err(Failure::input(format!("{name} compiles no kernel")).hint(
            "instantiate the template, as in `template __global__ void scale<4>(float *);`, or give the file with the kernel",
        ));
    }
    Ok(Input {
        text_name: Some(format!("PTX of {name}")),
        ..Input::text(name, bytes)
    })
}
