//! Kernels named on the command line: recovers their protocols from PTX or MLIR.

mod lints;

use std::collections::HashMap;

use warplock::deadline;
use warplock::protocol::Span;
use warplock::ptx;
use warplock::ptx::Function;
use warplock::ptx::Instead;
use warplock::ptx::Lifted;
use warplock::ptx::Module;
use warplock::ptx::Options;
use warplock::ptx::Recovery as Recovered;
use warplock::report::style::Style;
use warplock::report::text::visible;
use warplock::text::Diagnostic;
use warplock_kernel::ir::Kernel;
use warplock_kernel::recover;

use crate::failure::Failure;
use crate::graphs;
use crate::graphs::Graphs;
use crate::inputs::Input;
use crate::kernel_options::Kernels;
use crate::kernel_options::Order;
use crate::kernel_options::Recovery;

pub use lints::Lint;
pub use lints::notes;

/// What an entry is recovered from.
enum Form<'e> {
    Path {
        module: &'e Module<'e>,
        function: &'e Function<'e>,
        options: &'e Options,
        /// The launch, for a recovery from the graph; `None` where none may be tried.
        or_graph: Option<&'e Kernels>,
        graphs: &'e Graphs<'e>,
        /// The failure where the user has to give something that is missing.
        refused: &'e dyn Fn(&Diagnostic) -> Failure,
    },
    Graph {
        source: &'e str,
        /// Whether the text is MLIR. The reader of MLIR leaves out what concerns data only.
        is_mlir: bool,
        kernel: &'e Kernel,
        kernels: &'e Kernels,
    },
}

/// Without a graph, nothing is known about writes over mbarriers and about loops that never end.
const UNSEEN: &str =
    "what else the kernel does could not be looked at, because its text cannot be read as a graph";

const NO_READS: &str = "what a read sees is not recovered from the kernel IR yet";

const NO_ACCESSES: &str = "what is read and written is not recovered from MLIR yet";

/// Why the instructions of an entry cannot be followed.
pub struct Refused {
    pub reason: String,
    /// The instructions do something undefined. Then nothing can be said of the kernel, however its protocol is
    /// recovered.
    misuse: bool,
}

impl Refused {
    fn because(reason: String) -> Refused {
        Refused {
            reason,
            misuse: false,
        }
    }

    /// The protocol that was recovered from the graph instead, if there is one. Of a kernel that does something
    /// undefined nothing can be said.
    fn instead(self, from_graph: Option<Lifted>) -> Result<Lifted, String> {
        match from_graph {
            Some(mut lifted) if !self.misuse => {
                let instead = Some(Instead::Refused(self.reason));
                lifted.recovery = Recovered::Graph { instead };
                Ok(lifted)
            }
            _ => Err(self.reason),
        }
    }
}

const NO_INSTRUCTIONS: &str = "there are no instructions that could be followed";

/// One entry of a kernel file.
pub struct Entry<'e> {
    form: Form<'e>,
    /// Its number among the entries that are asked for, from 0.
    pub number: usize,
    /// The names of the entries that are asked for.
    pub asked: &'e [String],
    /// What is known of its launch from outside the file, as sentences.
    pub launched: Vec<String>,
}

impl Entry<'_> {
    /// Its name: the one that the source has, where that differs from the names of the other entries; otherwise the
    /// name in the text.
    pub fn name(&self) -> &str {
        self.asked.get(self.number).map_or("", String::as_str)
    }

    /// The text in which it stands.
    pub fn source(&self) -> &str {
        match &self.form {
            Form::Path { module, .. } => module.source,
            Form::Graph { source, .. } => source,
        }
    }

    /// The protocol's text, or why it could not be recovered.
    pub fn protocol(&self) -> Result<Result<Lifted, String>, Failure> {
        let late = match &self.form {
            Form::Graph {
                kernel, kernels, ..
            } => return graphs::protocol(kernel, kernels),
            // The recovery along the instructions has the rest of the time.
            Form::Path { .. } => {
                match deadline::until(deadline::middle(), || self.graph_protocol()) {
                    Ok(Some((lifted, true))) => return Ok(Ok(lifted)),
                    Ok(Some((lifted, false))) => Some(lifted),
                    Ok(None) => None,
                    // Of that nothing can be said along the instructions either. They may show better where it is.
                    Err(undefined) => {
                        let shown = self.along_instructions(false)?.err();
                        let shown = shown.filter(|refused| refused.misuse);
                        return Ok(Err(shown.map_or(undefined, |refused| refused.reason)));
                    }
                }
            }
        };
        let found = self.along_instructions(false)?;
        Ok(found.or_else(|refused| refused.instead(late)))
    }

    /// The protocol's text with reads and writes, and with what a read sees; or why it could not be recovered.
    pub fn with_data(&self) -> Result<Result<Lifted, Refused>, Failure> {
        match &self.form {
            Form::Path { .. } => self.along_instructions(true),
            Form::Graph { .. } => Ok(Err(Refused::because(NO_READS.to_owned()))),
        }
    }

    /// The protocol's text with the reads and writes of which races are decided. Where the instructions cannot be
    /// followed, it is recovered from the graph. Or why it could not be recovered.
    pub fn races(&self) -> Result<Result<Lifted, String>, Failure> {
        // The recovery from the graph has the rest of the time.
        match deadline::until(deadline::middle(), || self.with_data())? {
            Ok(lifted) => Ok(Ok(lifted)),
            Err(refused) => self.races_of_graph(refused),
        }
    }

    /// As [`Self::races`], after [`Self::with_data`] has refused.
    pub fn races_of_graph(&self, refused: Refused) -> Result<Result<Lifted, String>, Failure> {
        match &self.form {
            Form::Graph { is_mlir: true, .. } => Ok(Err(NO_ACCESSES.to_owned())),
            Form::Graph {
                kernel, kernels, ..
            } => graphs::with_accesses(kernel, kernels),
            Form::Path { .. } => {
                let from_graph =
                    self.graph()
                        .filter(|_| !refused.misuse)
                        .and_then(|(kernel, kernels)| {
                            graphs::with_accesses(kernel, kernels).ok()?.ok()
                        });
                Ok(refused.instead(from_graph))
            }
        }
    }

    /// The graph of an entry that may be recovered in both ways (along its instructions and from its graph), and the
    /// launch.
    fn graph(&self) -> Option<(&Kernel, &Kernels)> {
        let Form::Path {
            function,
            or_graph: Some(kernels),
            graphs,
            ..
        } = &self.form
        else {
            return None;
        };
        Some((graphs.kernel(function.name).ok()?, kernels))
    }

    /// The protocol from that graph, if it is recovered, and whether it comes before what is recovered along the instructions. An
    /// error if what the kernel does is undefined.
    fn graph_protocol(&self) -> Result<Option<(Lifted, bool)>, String> {
        match self.graph() {
            Some((kernel, kernels)) => graphs::one_way(kernel, kernels),
            None => Ok(None),
        }
    }

    /// The protocol recovered along the instructions.
    fn along_instructions(&self, data: bool) -> Result<Result<Lifted, Refused>, Failure> {
        let Form::Path {
            module,
            function,
            options,
            graphs,
            refused,
            ..
        } = &self.form
        else {
            return Ok(Err(Refused::because(NO_INSTRUCTIONS.to_owned())));
        };
        let mut options = (*options).clone();
        options.data = data;
        let mut lifted = match ptx::lift(module, function, &options) {
            Ok(lifted) => lifted,
            Err(ptx::Failure::Obstacle(obstacle)) => {
                return Ok(Err(Refused {
                    misuse: obstacle.misuse,
                    reason: obstacle.words(module),
                }));
            }
            Err(ptx::Failure::Input(finding)) => return Err(refused(&finding)),
        };
        let kernel = match graphs.kernel(function.name) {
            Ok(kernel) => kernel,
            Err(why) => return Ok(Err(Refused::because(format!("{UNSEEN}: {why}")))),
        };
        let has_mbarriers = lifted.text.contains("\nmbarrier ");
        match graphs::premises(kernel, &options, has_mbarriers, data) {
            Ok(premises) => premises.iter().for_each(|premise| lifted.assume(premise)),
            Err(reason) => {
                return Ok(Err(Refused {
                    reason,
                    misuse: true,
                }));
            }
        }
        if recover::may_abort(kernel) {
            lifted.exact = false;
            // At these launches, too, a trap may come before the hang.
            lifted.launches.clear();
        }
        Ok(Ok(lifted))
    }

    /// Whether the protocol may also be recovered in the other way if [`Self::protocol`] cannot be decided.
    pub fn has_two_ways(&self) -> bool {
        matches!(
            self.form,
            Form::Path {
                or_graph: Some(_),
                ..
            }
        )
    }

    /// The protocol recovered in the other way than `tried`. `undecided` says why the protocol recovered in that way
    /// was not decided. If there is no other protocol, the result is why, provided that the reason lies in the
    /// kernel.
    pub fn other_way(
        &self,
        tried: &Recovered,
        undecided: String,
    ) -> Result<Lifted, Option<String>> {
        let instead = Some(Instead::Undecided(undecided));
        match tried {
            Recovered::Graph { .. } => {
                let found = self.along_instructions(false).map_err(|_| None)?;
                let mut lifted = found.map_err(|refused| Some(refused.reason))?;
                lifted.recovery = Recovered::Path { instead };
                Ok(lifted)
            }
            Recovered::Path { .. } => {
                let found = self.graph_protocol().map_err(Some)?;
                let (mut lifted, _) = found.ok_or(None)?;
                lifted.recovery = Recovered::Graph { instead };
                Ok(lifted)
            }
        }
    }
}

impl Kernels {
    /// Reads a kernel file and does something with each entry that is asked for.
    pub fn each(
        &self,
        input: &Input,
        style: Style,
        tell: &dyn Fn(&str),
        with: &mut dyn FnMut(&Entry<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if input.is_mlir() || self.recovery == Recovery::Graph {
            return self.each_graph(input, tell, with);
        }
        let bytes = ptx::contiguous(input.read(ptx::MAX_SOURCE_BYTES)?);
        let (name, text) = (input.name.as_str(), input.text_name());
        let source = || String::from_utf8_lossy(&bytes);
        let total = bytes.len() >> 20;
        let progress = |read: usize| tell(&format!("reading, {} of {total} MiB", read >> 20));
        let module = ptx::parse(&bytes, &progress)
            .map_err(|findings| Failure::text(&findings, text, &source(), style))?;
        let entries: Vec<_> = module.functions.iter().filter(|f| f.entry).collect();
        let wanted: Vec<_> = match &self.entry {
            None => entries.clone(),
            Some(entry) => chosen(&entries, entry),
        };
        if let (Some(entry), [_, _, ..]) = (&self.entry, wanted.as_slice()) {
            let several = format!("{name} has several entries `{}`", visible(entry));
            let hint = format!("choose one: {}", visible(&names(&wanted).join(", ")));
            return Err(Failure::input(several).hint(hint));
        }
        if wanted.is_empty() && self.entry.is_some() && input.one_of_many {
            return Ok(());
        }
        if wanted.is_empty() {
            let names = names(&entries);
            return Err(match &self.entry {
                None => {
                    let end = bytes.len();
                    let nothing = Diagnostic::error(
                        Span { start: end, end },
                        "there is no entry in this text",
                    )
                    .hint("a kernel begins with `.entry`; is the text cut off?");
                    Failure::text(&[nothing], text, &source(), style)
                }
                Some(entry) => Failure::input(format!("{name} has no entry `{}`", visible(entry)))
                    .hint(format!("its entries: {}", visible(&names.join(", ")))),
            });
        }
        let mut options = Options::default();
        options.threads = self.threads;
        options.cluster = self.cluster;
        options.symbolic_threads = self.symbolic_threads;
        options.order = match self.launch {
            Order::Any => ptx::Order::Any,
            Order::Ascending => ptx::Order::Ascending,
            Order::Descending => ptx::Order::Descending,
        };
        let refused = |finding: &Diagnostic| {
            Failure::text(std::slice::from_ref(finding), text, &source(), style)
        };
        let asked = names(&wanted);
        let graphs = Graphs::new(module.source);
        for (number, function) in wanted.into_iter().enumerate() {
            // What the kernel or the user says outweighs what is known from outside the file.
            let facts = &input.facts;
            let threads = facts.threads.filter(|_| {
                function.reqntid.is_none() && self.threads.is_none() && !self.symbolic_threads
            });
            let cluster = facts
                .cluster
                .filter(|_| function.cluster.is_none() && self.cluster.is_none());
            let mut options = options.clone();
            options.threads = options.threads.or(threads);
            options.cluster = options.cluster.or(cluster);
            let launched = Kernels {
                threads: options.threads,
                cluster: options.cluster,
                ..self.clone()
            };
            let graph = self.recovery == Recovery::Auto && !self.symbolic_threads;
            let entry = Entry {
                form: Form::Path {
                    module: &module,
                    function,
                    options: &options,
                    or_graph: graph.then_some(&launched),
                    graphs: &graphs,
                    refused: &refused,
                },
                number,
                asked: &asked,
                launched: facts.assumptions(threads.is_some(), cluster.is_some()),
            };
            let place = match asked.len() {
                1 => String::new(),
                of => format!(", {} of {of}", number + 1),
            };
            tell(&format!("following {}{place}", entry.name()));
            with(&entry)?;
        }
        Ok(())
    }

    /// Calls `with` for each kernel of a file that is recovered from the kernel IR.
    fn each_graph(
        &self,
        input: &Input,
        tell: &dyn Fn(&str),
        with: &mut dyn FnMut(&Entry<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        tell("reading");
        let file = graphs::read(input, self)?;
        let kernels = Kernels {
            threads: self.threads.or(input.facts.threads),
            cluster: self.cluster.or(input.facts.cluster),
            ..self.clone()
        };
        let asked: Vec<String> = file
            .kernels
            .iter()
            .map(|kernel| ptx::readable(&kernel.name))
            .collect();
        for (number, kernel) in file.kernels.iter().enumerate() {
            let entry = Entry {
                form: Form::Graph {
                    source: &file.source,
                    is_mlir: input.is_mlir(),
                    kernel,
                    kernels: &kernels,
                },
                number,
                asked: &asked,
                launched: input.facts.assumptions(
                    kernel.bounds.required_threads.is_none() && self.threads.is_none(),
                    kernel.bounds.cluster.is_none() && self.cluster.is_none(),
                ),
            };
            tell(&format!("recovering {}", entry.name()));
            with(&entry)?;
        }
        Ok(())
    }
}

/// The entries that a name means: the entry with exactly this name, or else all entries whose source calls them so.
fn chosen<'e, 'm>(entries: &[&'e Function<'m>], name: &str) -> Vec<&'e Function<'m>> {
    let all = entries.iter().copied();
    let exact: Vec<_> = all.clone().filter(|f| f.name == name).collect();
    match exact.is_empty() {
        true => all.filter(|f| ptx::means(f.name, name)).collect(),
        false => exact,
    }
}

/// The names of entries in their source, or their names in the text where the names in the source do not tell them
/// apart.
fn names(entries: &[&Function<'_>]) -> Vec<String> {
    let readable: Vec<String> = entries.iter().map(|f| ptx::readable(f.name)).collect();
    let mut often: HashMap<&str, usize> = HashMap::new();
    for name in &readable {
        *often.entry(name).or_default() += 1;
    }
    let one = |name: &String| often.get(name.as_str()) == Some(&1);
    let all = entries.iter().zip(&readable);
    let name = all.map(|(f, name)| {
        if one(name) {
            name.clone()
        } else {
            f.name.to_owned()
        }
    });
    name.collect()
}
