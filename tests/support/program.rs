//! Runs the program and shows exit status, stdout and stderr together.

use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Output;
use std::process::Stdio;

/// A folder for one test's files.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file and returns its path.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Copies a protocol of the library.
    pub fn library(&self, name: &str) -> PathBuf {
        self.file(name, library(name))
    }

    /// Copies a compiled kernel.
    pub fn kernel(&self, name: &str) -> PathBuf {
        self.file(name, kernel(name))
    }

    /// Runs the program in this folder and words what it did.
    pub fn run(&self, arguments: &[&str]) -> String {
        self.shown(&self.output(arguments, b""))
    }

    /// As [`Folder::run`], with this on stdin.
    pub fn run_with(&self, arguments: &[&str], stdin: &[u8]) -> String {
        self.shown(&self.output(arguments, stdin))
    }

    pub fn output(&self, arguments: &[&str], stdin: &[u8]) -> Output {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A program that does not read closes its end.
        let _ = child.stdin.take().unwrap().write_all(stdin);
        child.wait_with_output().unwrap()
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warplock"));
        command
            .args(arguments)
            .current_dir(self.path())
            .env_remove("NO_COLOR")
            .env("COLUMNS", "100");
        command
    }

    pub fn shown(&self, output: &Output) -> String {
        let text = format!(
            "exit {}\n--- stdout\n{}--- stderr\n{}",
            output
                .status
                .code()
                .map_or("by signal".to_owned(), |c| c.to_string()),
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        filtered(&text.replace(&self.path().display().to_string(), "[folder]"))
    }

    /// The only entry of a folder below this one.
    pub fn only(&self, folder: &str) -> String {
        let mut names: Vec<String> = std::fs::read_dir(self.path().join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(names.len(), 1, "{names:?}");
        format!("{folder}/{}", names.remove(0))
    }
}

/// The text of a protocol of the library.
pub fn library(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("encodings/block_sparse")
        .join(name);
    std::fs::read_to_string(path).unwrap()
}

/// The text of a compiled kernel.
pub fn kernel(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/ptx/kernels")
        .join(name);
    std::fs::read_to_string(path).unwrap()
}

/// Times, digests, and the rules that prove compiled kernels replaced by words: several rules may prove such a kernel,
/// and which of them ends first depends on the machine.
pub fn filtered(text: &str) -> String {
    let rules =
        regex_lite::Regex::new("(: all) [0-9,]+ (obligations of) the (?:[a-z]+ rule|kernel) hold")
            .unwrap();
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let line = match [".ptx:", ".mlir:", "lifted.wlk:"]
            .iter()
            .any(|kind| line.contains(kind))
        {
            true => rules.replace(line, "$1 $2 [rule] hold").into_owned(),
            false => line.to_owned(),
        };
        let line = match line.find(" in ").filter(|_| line.contains("decided by ")) {
            Some(at) => format!("{} in [time]\n", &line[..at]),
            None => line,
        };
        out.push_str(&digests(&line));
    }
    out
}

fn digests(line: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    for part in line.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let core = part.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let hexadecimal = core.len() == 12 && core.bytes().all(|b| b.is_ascii_hexdigit());
        parts.push(if hexadecimal {
            format!("[digest]{}", &part[core.len()..])
        } else {
            part.to_owned()
        });
    }
    parts.concat()
}
