//! Environment variables that make a program keep the kernels that it compiles.
//!
//! Each variable is documented by the framework that reads it. A program ignores variables that it does not know, so
//! all are set at once.

use std::ffi::OsString;
use std::path::Path;

use crate::arch::Arch;

/// The value of a variable.
enum Value {
    /// This text.
    Text(&'static str),
    /// A folder of this name in the folder that is given.
    Folder(&'static str),
}

use Value::Folder;
use Value::Text;

/// The variables. The caches are new folders, so kernels that are cached elsewhere are compiled again.
const VARIABLES: [(&str, Value); 12] = [
    // CuTe DSL.
    ("CUTE_DSL_KEEP", Text("ir,ptx")),
    ("CUTE_DSL_DUMP_DIR", Folder("cute")),
    ("CUTE_DSL_LINEINFO", Text("1")),
    ("CUTE_DSL_CACHE_DIR", Folder("cute-cache")),
    ("FLASH_ATTENTION_CUTE_DSL_CACHE_ENABLED", Text("0")),
    // Triton: its cache holds the PTX and what is known of the launch.
    ("TRITON_CACHE_DIR", Folder("triton")),
    ("TRITON_STORE_BINARY_ONLY", Text("0")),
    ("TORCHINDUCTOR_CACHE_DIR", Folder("inductor")),
    // TileLang.
    ("TILELANG_CACHE_DIR", Folder("tilelang")),
    // DeepGEMM.
    ("DG_JIT_CACHE_DIR", Folder("deepgemm")),
    ("DG_JIT_DUMP_PTX", Text("1")),
    ("DG_JIT_WITH_LINEINFO", Text("1")),
];

/// The folders that have to exist before the program starts.
pub const FOLDERS: [&str; 1] = ["cute"];

/// The variables for a folder.
pub fn variables(folder: &Path) -> Vec<(&'static str, OsString)> {
    let value = |value: &Value| match value {
        Text(text) => OsString::from(text),
        Folder(name) => folder.join(name).into_os_string(),
    };
    let all = VARIABLES.iter();
    all.map(|(name, each)| (*name, value(each))).collect()
}

/// A kernel language, or a library that calls its kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Language {
    /// The module that a file imports.
    pub module: &'static str,
    /// The package that has it.
    pub package: &'static str,
    /// Whether its kernels are compiled by nvcc, as a rule.
    pub needs_nvcc: bool,
}

const LANGUAGES: [Language; 3] = [
    Language {
        module: "triton",
        package: "triton",
        needs_nvcc: false,
    },
    Language {
        module: "cutlass",
        package: "nvidia-cutlass-dsl",
        needs_nvcc: false,
    },
    Language {
        module: "tilelang",
        package: "tilelang",
        needs_nvcc: true,
    },
];

/// The languages that a Python file imports.
pub fn languages(text: &str) -> Vec<Language> {
    let imports = |line: &str, module: &str| {
        let line = line.trim_start();
        let rest = line
            .strip_prefix("import ")
            .or_else(|| line.strip_prefix("from "));
        let mut names = rest.unwrap_or_default().split(',');
        names.any(|name| {
            let name = name.trim_start();
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
            name.get(..end.unwrap_or(name.len())) == Some(module)
        })
    };
    let all = LANGUAGES.into_iter();
    all.filter(|language| text.lines().any(|line| imports(line, language.module)))
        .collect()
}

/// The variables that choose an architecture, so that no GPU is asked for its own.
pub fn architecture(arch: Arch) -> [(&'static str, String); 3] {
    [
        ("CUTE_DSL_ARCH", arch.to_string()),
        // Triton takes a number alone, and adds the letter by itself.
        ("TRITON_OVERRIDE_ARCH", format!("sm{}", arch.number())),
        (
            "TILELANG_DEFAULT_TARGET",
            format!(r#"{{"kind":"cuda","arch":"{arch}"}}"#),
        ),
    ]
}

/// A program that runs a Python file on a machine that may have no GPU. Its arguments are the file, and where to
/// write which line needs a GPU.
pub const STAND_IN: &str = include_str!("stand_in.py");

/// A module that `STAND_IN` loads: it keeps kernels that CuTe DSL would overwrite.
pub const OVERWRITTEN: &str = include_str!("../../python/warplock/_overwritten.py");
