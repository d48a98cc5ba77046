//! The inputs of a command: a file itself, what a compiler makes of it, or the kernels inside it.

mod binary;
pub mod compile;
mod gather;
pub mod partition;
pub mod program;
mod python;

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use warplock_artifacts::embedded;
use warplock_artifacts::folder::Sum;
use warplock_artifacts::folder::sum;
use warplock_artifacts::launch::Facts;

use self::compile::Compiler;
use crate::failure::Failure;
use crate::form::Form;
use crate::session::Session;
use crate::sources;

/// What was left out when folders were searched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gathered {
    /// The number of kernel files that were left out because another file has the same content.
    pub copies: usize,
}

/// What kind of file an argument is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Stands for the files below it.
    Folder,
    /// Is run; the kernels that it compiles are the inputs.
    Python,
    /// CUDA C++.
    Cuda,
    /// An executable, an object or a cubin.
    Binary,
    /// Tensors, which only another command accepts.
    Tensors,
    /// A protocol, PTX or MLIR.
    Text,
}

impl Kind {
    fn of(path: &Path) -> Kind {
        if path.is_dir() {
            return Kind::Folder;
        }
        if ends_with(path, "py") {
            return Kind::Python;
        }
        if ends_with(path, "cu") {
            return Kind::Cuda;
        }
        let head = head(path);
        match head {
            _ if embedded::is_binary(&head) => Kind::Binary,
            _ if holds_tensors(&head) => Kind::Tensors,
            _ => Kind::Text,
        }
    }
}

/// A protocol or a kernel.
#[derive(Debug, Clone)]
pub struct Input {
    /// Its name in reports.
    pub name: String,
    /// The name of the text whose lines are counted, if it differs from `name`.
    text_name: Option<String>,
    /// What is known about its launch.
    pub facts: Facts,
    /// Whether it is one of several inputs. Then an entry that it lacks may be in another.
    pub one_of_many: bool,
    /// The number of other files with the same content.
    copies: usize,
    content: Content,
}

#[derive(Debug, Clone)]
enum Content {
    /// A file, read when needed.
    File(PathBuf, Form),
    /// A kernel file that had this checksum when it was found.
    Found(PathBuf, Sum),
    Text {
        bytes: Arc<[u8]>,
        form: Form,
    },
    /// Machine code without PTX, and the reason to report for it.
    Closed(String),
}

impl Input {
    /// The input for a file.
    pub fn file(path: &Path) -> Input {
        Input {
            name: sources::name_of(path),
            text_name: None,
            facts: Facts::default(),
            one_of_many: false,
            copies: 0,
            content: Content::File(path.to_owned(), form_of(path)),
        }
    }

    /// The content of standard input, which can be read only once.
    fn of_standard_input() -> Result<Input, Failure> {
        let path = Path::new(sources::STDIN);
        let bytes = sources::read_up_to(path, warplock_kernel::ptx::MAX_BYTES)?;
        let form = Form::of_text(&bytes);
        Ok(Input::in_memory(sources::name_of(path), bytes, form))
    }

    /// PTX that was found inside another file.
    fn text(name: String, bytes: Vec<u8>) -> Input {
        Input::in_memory(name, bytes, Form::Ptx)
    }

    fn in_memory(name: String, bytes: Vec<u8>, form: Form) -> Input {
        Input {
            name,
            text_name: None,
            facts: Facts::default(),
            one_of_many: false,
            copies: 0,
            content: Content::Text {
                bytes: bytes.into(),
                form,
            },
        }
    }

    /// The name of the text whose lines are counted.
    pub fn text_name(&self) -> &str {
        self.text_name.as_deref().unwrap_or(&self.name)
    }

    fn path(&self) -> Option<&Path> {
        match &self.content {
            Content::File(path, _) | Content::Found(path, _) => Some(path),
            Content::Text { .. } | Content::Closed(_) => None,
        }
    }

    /// Whether it is a kernel rather than a protocol.
    pub fn is_kernel(&self) -> bool {
        self.form() != Form::Protocol
    }

    /// Whether it is MLIR text.
    pub fn is_mlir(&self) -> bool {
        self.form() == Form::Mlir
    }

    fn form(&self) -> Form {
        match &self.content {
            Content::Text { form, .. } | Content::File(_, form) => *form,
            Content::Found(path, _) => form_of(path),
            Content::Closed(_) => Form::Ptx,
        }
    }

    /// For machine code without PTX, the reason why nothing can be decided.
    pub fn closed(&self) -> Option<&str> {
        match &self.content {
            Content::Closed(why) => Some(why),
            _ => None,
        }
    }

    /// Reads its content into memory, because its file is about to be deleted. `whole` names the file that it is a
    /// part of.
    fn keep(&mut self, whole: &str) -> Result<(), Failure> {
        if self.path().is_some() {
            let (bytes, form) = (self.read(warplock_kernel::ptx::MAX_BYTES)?, self.form());
            let bytes = bytes.into();
            self.content = Content::Text { bytes, form };
        }
        self.name = format!("{whole}[{}]", self.name);
        Ok(())
    }

    /// Its bytes. Refuses a text longer than `most` bytes.
    pub fn read(&self, most: usize) -> Result<Vec<u8>, Failure> {
        match &self.content {
            Content::File(path, _) => sources::read_up_to(path, most),
            Content::Found(path, before) => {
                let bytes = sources::read_up_to(path, most)?;
                match sum(&bytes) == *before {
                    true => Ok(bytes),
                    false => Err(gather::changing(path)),
                }
            }
            Content::Text { bytes, .. } if bytes.len() > most => Err(Failure::input(format!(
                "{} is larger than {most} bytes, the most that is read",
                self.name
            ))),
            Content::Text { bytes, .. } => Ok(bytes.to_vec()),
            Content::Closed(why) => Err(Failure::input(format!("{}: {why}", self.name))),
        }
    }
}

/// The inputs that the arguments of a command stand for.
#[derive(Default)]
pub struct Inputs {
    /// In the order of the arguments. An argument that stands for no input has a failure in its place.
    pub all: Vec<Result<Input, Failure>>,
    /// Whether an input is a kernel that was found in a folder.
    gathered: bool,
}

impl Inputs {
    fn add(&mut self, other: Inputs) {
        self.all.extend(other.all);
        self.gathered |= other.gathered;
    }

    /// What was left out in folders, if a kernel was found in one.
    pub fn gathered(&self) -> Option<Gathered> {
        let copies = self.all.iter().flatten().map(|input| input.copies);
        self.gathered.then(|| Gathered {
            copies: copies.sum(),
        })
    }
}

/// Finds the inputs that the arguments stand for. Sources are compiled, folders and binaries are searched.
pub fn of(
    arguments: &[PathBuf],
    entry: Option<&str>,
    compiler: &Compiler,
    session: &Session,
) -> Result<Inputs, Failure> {
    let mut inputs = Inputs::default();
    let kinds: Vec<Kind> = arguments
        .iter()
        .map(|argument| Kind::of(argument))
        .collect();
    if let Some(option) = compiler.unused(&kinds) {
        return Err(says_nothing(arguments, &kinds, option));
    }
    for (argument, kind) in arguments.iter().zip(kinds) {
        if kind == Kind::Folder {
            gather::folder(argument, false, &mut inputs);
            continue;
        }
        if kind == Kind::Python {
            match python::run(argument, compiler, session) {
                Ok(found) => inputs.add(found),
                Err(failure @ Failure::Interrupted(_)) => return Err(failure),
                Err(failure) => inputs.all.push(Err(failure)),
            }
            continue;
        }
        match file(argument, kind, entry, compiler, session) {
            Ok(found) => inputs.all.extend(found.into_iter().map(Ok)),
            Err(failure @ Failure::Interrupted(_)) => return Err(failure),
            Err(failure) => inputs.all.push(Err(failure)),
        }
    }
    Ok(inputs)
}

/// The input that the only argument of a command stands for.
pub fn one(
    argument: &Path,
    entry: Option<&str>,
    compiler: &compile::Compiler,
    session: &Session,
) -> Result<Input, Failure> {
    let kind = Kind::of(argument);
    if let Some(option) = compiler.unused(&[kind]) {
        return Err(says_nothing(&[argument.to_owned()], &[kind], option));
    }
    let mut found = match kind {
        Kind::Python => compiled(argument, entry, compiler, session)?,
        _ => file(argument, kind, entry, compiler, session)?,
    };
    match (found.pop(), found.is_empty()) {
        (Some(only), true) => match only.closed() {
            Some(why) => Err(Failure::input(format!("{}: {why}", only.name)).hint(binary::OPEN)),
            None => Ok(only),
        },
        (Some(last), false) => {
            found.push(last);
            let names: Vec<&str> = found.iter().map(|each| each.name.as_str()).collect();
            let (name, count) = (sources::name_of(argument), names.len());
            Err(Failure::input(format!(
                "{name} holds {count} PTX texts: {}",
                names.join(", ")
            ))
            .hint(match ends_with(argument, "py") {
                    true => {
                        "name one of its kernels with --entry; warplock run --keep DIR -- python3 FILE keeps the files"
                    }
                    false => "choose one with --arch, or name one of its kernels with --entry",
                }))
        }
        (None, _) => Err(Failure::Internal("an input is nothing".to_owned())),
    }
}

/// The kernels that a Python file compiles. If some have the entry that is asked for, only these.
fn compiled(
    path: &Path,
    entry: Option<&str>,
    compiler: &compile::Compiler,
    session: &Session,
) -> Result<Vec<Input>, Failure> {
    let found = python::run(path, compiler, session)?.all;
    let mut all = Vec::new();
    for input in found {
        match input {
            Ok(input) => all.push(input),
            Err(failure) => session.failed(&failure),
        }
    }
    if let Some(entry) = entry {
        let has = |input: &Input| {
            let bytes = input.read(warplock::ptx::MAX_SOURCE_BYTES);
            bytes.is_ok_and(|bytes| binary::has(&bytes, entry))
        };
        if all.iter().any(has) {
            all.retain(has);
        }
    }
    for input in &mut all {
        input.one_of_many = false;
    }
    Ok(all)
}

/// The kernels that a program left in a folder. If the folder is not kept, they are named by their path relative to
/// it.
pub fn left_in(folder: &Path, kept: bool) -> Option<Inputs> {
    let mut inputs = Inputs::default();
    gather::folder(folder, !kept, &mut inputs);
    inputs.gathered.then_some(inputs)
}

fn file(
    path: &Path,
    kind: Kind,
    entry: Option<&str>,
    compiler: &compile::Compiler,
    session: &Session,
) -> Result<Vec<Input>, Failure> {
    match kind {
        Kind::Cuda => Ok(vec![compile::cuda(path, compiler, session)?]),
        Kind::Binary => binary::inputs(path, entry, compiler.arch),
        Kind::Tensors => {
            let name = sources::name_of(path);
            Err(Failure::input(format!(
                "{name} is a file of tensors: `warplock csr {name} --lock n` decides it"
            )))
        }
        Kind::Text if sources::is_stdin(path) => Ok(vec![Input::of_standard_input()?]),
        Kind::Text | Kind::Python | Kind::Folder => Ok(vec![Input::file(path)]),
    }
}

/// The failure for an option about compiling where no argument is compiled.
fn says_nothing(paths: &[PathBuf], kinds: &[Kind], option: &str) -> Failure {
    let name = match paths {
        [only] => sources::name_of(only),
        _ => "these files".to_owned(),
    };
    let what = match kinds {
        [Kind::Folder] => ", which is a folder",
        [Kind::Python] => ", which nvcc does not compile",
        [Kind::Binary] => ", which is compiled already",
        [_] => ", which is a text",
        _ => "",
    };
    let hint = match option {
        "--arch" => "leave --arch out, or give the .cu file, the Python file or the binary",
        _ => "leave --nvcc-option out, or give the .cu file",
    };
    Failure::input(format!("{option} has no effect on {name}{what}")).hint(hint)
}

/// The language of a file, by its ending or else by its first bytes.
fn form_of(path: &Path) -> Form {
    Form::of_ending(path).unwrap_or_else(|| Form::of_text(&head(path)))
}

/// The first bytes of a file. For a file that cannot be read they are empty; reading it later reports why.
fn head(path: &Path) -> Vec<u8> {
    let mut head = Vec::new();
    // The bytes read from a pipe would be lost for the next reader, so only regular files are read.
    if path.is_file()
        && let Ok(file) = File::open(path)
        && file.take(HEAD).read_to_end(&mut head).is_err()
    {
        head.clear();
    }
    head
}

/// How many first bytes are looked at to tell the kind of a file. A text may begin with a long licence.
const HEAD: u64 = 1 << 14;

/// Whether the first bytes are those of a file of tensors: a NumPy array, or an archive of NumPy or PyTorch, which
/// the name of its first member shows.
fn holds_tensors(head: &[u8]) -> bool {
    if head.starts_with(b"\x93NUMPY") {
        return true;
    }
    let Some(member) = head.strip_prefix(b"PK\x03\x04") else {
        return false;
    };
    let length = member
        .get(22..24)
        .map(|two| usize::from(two[0]) | usize::from(two[1]) << 8);
    let name = length.and_then(|length| member.get(26..)?.get(..length));
    name.is_some_and(|name| name.ends_with(b".npy") || name.ends_with(b"data.pkl"))
}

fn ends_with(path: &Path, ending: &str) -> bool {
    path.extension()
        .is_some_and(|found| found.eq_ignore_ascii_case(ending))
}
