//! Recovery from the kernel IR: for MLIR, and for PTX unless `--recovery path` is given.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use warplock::deadline;
use warplock::ptx::Lifted;
use warplock::ptx::Options;
use warplock::report::text::visible;
use warplock_kernel::ir::Kernel;
use warplock_kernel::ir::Location;
use warplock_kernel::ir::OperationKind;
use warplock_kernel::ir::Special;
use warplock_kernel::ir::Synchronization;
use warplock_kernel::lift::Lift;
use warplock_kernel::lift::lift;
use warplock_kernel::lift::lift_data;
use warplock_kernel::mlir;
use warplock_kernel::ptx;
use warplock_kernel::recover;
use warplock_kernel::recover::Obstacle;
use warplock_kernel::recover::Shape;

use crate::failure::Failure;
use crate::inputs::Input;
use crate::kernel_options::Kernels;

/// The largest text that is read, in bytes.
const MAX_BYTES: usize = 64 << 20;

/// The most threads that a CTA has.
const MOST_THREADS: u32 = 1024;

/// A kernel file in the IR.
pub struct File {
    /// The text.
    pub source: String,
    /// The kernels in it that are asked for.
    pub kernels: Vec<Kernel>,
}

/// Reads a kernel file into the IR.
pub fn read(input: &Input, options: &Kernels) -> Result<File, Failure> {
    let bytes = input.read(MAX_BYTES)?;
    let name = &input.name;
    let source = String::from_utf8_lossy(&bytes).into_owned();
    let refused = |line: usize, column: usize, message: &str, hint: &str| {
        let failure = Failure::input(format!("{name}:{line}:{column}: {}", visible(message)));
        if hint.is_empty() {
            failure
        } else {
            failure.hint(hint)
        }
    };
    let all = if input.is_mlir() {
        mlir::read(&source)
            .map_err(|error| {
                let hint = error.hint.as_deref().unwrap_or_default();
                refused(
                    error.line as usize,
                    error.column as usize,
                    &error.message,
                    hint,
                )
            })?
            .kernels
    } else {
        ptx::read(&source)
            .map_err(|errors| match errors.first() {
                Some(error) => refused(
                    error.line as usize,
                    error.column as usize,
                    &error.message,
                    &error.hint,
                ),
                None => Failure::input(format!("{name} cannot be read")),
            })?
            .kernels
    };
    let names: Vec<String> = all.iter().map(|kernel| kernel.name.clone()).collect();
    let kernels: Vec<Kernel> = match &options.entry {
        None => all,
        Some(entry) => {
            let exact = all.iter().any(|kernel| kernel.name == *entry);
            all.into_iter()
                .filter(|kernel| {
                    kernel.name == *entry || (!exact && warplock::ptx::means(&kernel.name, entry))
                })
                .collect()
        }
    };
    if kernels.is_empty() && !(options.entry.is_some() && input.one_of_many) {
        return Err(match &options.entry {
            None => Failure::input(format!("{name} has no kernel")).hint(
                "a kernel is a `cuda.kernel`, a `gpu.func` or an `.entry`; is the text cut off?",
            ),
            Some(entry) => Failure::input(format!("{name} has no entry `{}`", visible(entry)))
                .hint(format!("its entries: {}", visible(&names.join(", ")))),
        });
    }
    Ok(File { source, kernels })
}

/// The protocol of a kernel, or why it could not be recovered.
pub fn protocol(kernel: &Kernel, options: &Kernels) -> Result<Result<Lifted, String>, Failure> {
    let found = recovered(kernel, options, lift)?;
    Ok(found.map(|(lifted, _)| lifted).map_err(words))
}

/// As [`protocol`], and the text also has the reads and writes of shared memory. It decides races, and no other
/// property of data.
pub fn with_accesses(
    kernel: &Kernel,
    options: &Kernels,
) -> Result<Result<Lifted, String>, Failure> {
    let found = recovered(kernel, options, lift_data)?;
    Ok(found.map(|(lifted, _)| lifted).map_err(words))
}

/// A recovery of a kernel that is launched with a shape. It gives up when the time is over.
type Lifts = fn(&Kernel, Shape, fn() -> bool) -> Result<Lift, Obstacle>;

/// The protocol of a kernel, and whether it takes more for granted than the recovery along the instructions does: see
/// [`Lift::leaves_open`].
fn recovered(
    kernel: &Kernel,
    options: &Kernels,
    lift: Lifts,
) -> Result<Result<(Lifted, bool), Obstacle>, Failure> {
    let bounds = &kernel.bounds;
    let Some(threads) = bounds
        .required_threads
        .or(options.threads)
        .or(bounds.max_threads)
    else {
        return Err(Failure::input(format!(
            "the kernel `{}` does not say how many threads a CTA has",
            visible(&kernel.name)
        ))
        .hint("give them with --threads"));
    };
    let cluster = bounds.cluster.or(options.cluster).unwrap_or([1; 3]);
    if bounds.cluster.or(options.cluster).is_none() && names_cluster(kernel) {
        return Err(Failure::input(format!(
            "the kernel `{}` works with other CTAs of its cluster, and does not say how many there are",
            visible(&kernel.name)
        ))
        .hint("give the CTAs per cluster with --cluster"));
    }
    let shape = Shape { threads, cluster };
    let Lift {
        text,
        lines,
        exact,
        launches,
        leaves_open,
        by_warp,
        ..
    } = match lift(kernel, shape, deadline::over) {
        Ok(recovered) => recovered,
        Err(obstacle) => return Ok(Err(obstacle)),
    };
    let loaded = |text: &str, lines: Vec<Option<u32>>| {
        let line = |line: Option<u32>| line.and_then(|line| usize::try_from(line).ok());
        let lines: Vec<Option<usize>> = lines.into_iter().map(line).collect();
        Lifted::of_graph(text, &lines)
    };
    let mut lifted = match loaded(&text, lines) {
        Ok(lifted) => lifted,
        Err(findings) => {
            let what = findings
                .first()
                .map(|finding| finding.message.clone())
                .unwrap_or_default();
            let reason = format!("the recovered protocol is beyond the language: {what}");
            return Ok(Err(Obstacle::new(reason, Location::default())));
        }
    };
    let launches = launches.into_iter().filter_map(|launched| {
        let value = |(name, value): (String, i128)| Some((name, i64::try_from(value).ok()?));
        let values = launched
            .values
            .into_iter()
            .map(value)
            .collect::<Option<_>>()?;
        Some((launched.launch, values))
    });
    lifted.exact = exact;
    lifted.launches = launches.collect();
    let by_warp = by_warp.and_then(|other| loaded(&other.text, other.lines).ok());
    assume_launch(&mut lifted, kernel, options);
    lifted.proves = by_warp.map(|mut other| {
        assume_launch(&mut other, kernel, options);
        other.exact = false;
        Box::new(other)
    });
    Ok(Ok((lifted, leaves_open)))
}

/// Assumes that the launch has as many threads as `.maxntid` allows, where neither the kernel nor an option gives
/// their number.
fn assume_launch(lifted: &mut Lifted, kernel: &Kernel, options: &Kernels) {
    if kernel.bounds.required_threads.or(options.threads).is_some() {
        return;
    }
    let Some([x, y, z]) = kernel.bounds.max_threads else {
        return;
    };
    // The shape of a CTA matters only to a kernel that asks for it.
    let all = match looks_at_axes(kernel) {
        true => format!("{x} x {y} x {z}"),
        false => (u64::from(x) * u64::from(y) * u64::from(z)).to_string(),
    };
    lifted.assume(&format!(
        "the launch has {all} threads per CTA, as many as .maxntid allows"
    ));
}

/// The kernels of a PTX text. The text is read when a kernel is first asked for.
pub struct Graphs<'s> {
    source: &'s str,
    kernels: OnceCell<Result<Vec<Kernel>, String>>,
}

impl<'s> Graphs<'s> {
    pub fn new(source: &'s str) -> Graphs<'s> {
        Graphs {
            source,
            kernels: OnceCell::new(),
        }
    }

    /// The kernel of this name, or why it cannot be read.
    pub fn kernel(&self, name: &str) -> Result<&Kernel, String> {
        let read = || match ptx::read(self.source) {
            Ok(module) => Ok(module.kernels),
            Err(errors) => Err(errors.first().map_or_else(String::new, |error| {
                format!("line {}: {}", error.line, error.message)
            })),
        };
        let kernels = self.kernels.get_or_init(read).as_ref();
        let mut named = kernels
            .map_err(Clone::clone)?
            .iter()
            .filter(|kernel| kernel.name == name);
        match (named.next(), named.next()) {
            (Some(kernel), None) => Ok(kernel),
            (None, _) => Err("there is no such entry".to_owned()),
            (Some(_), Some(_)) => Err("several entries have this name".to_owned()),
        }
    }
}

/// The assumptions of a kernel that do not depend on how it is recovered, or why the kernel is refused.
pub fn premises(
    kernel: &Kernel,
    options: &Options,
    has_mbarriers: bool,
    data: bool,
) -> Result<Vec<String>, String> {
    let mut premises = recover::premises(kernel, has_mbarriers, data).map_err(words)?;
    let bounds = &kernel.bounds;
    let cluster = bounds.cluster.or(options.cluster).unwrap_or([1; 3]);
    let given = bounds.required_threads.or(options.threads);
    let shapes: Vec<[u32; 3]> = match given.or(bounds.max_threads) {
        most if options.symbolic_threads => {
            let most = most.map_or(MOST_THREADS, |most| most.iter().product());
            (32..=most).step_by(32).map(|count| [count, 1, 1]).collect()
        }
        threads => threads.into_iter().collect(),
    };
    // Most shapes need the same.
    let mut together = BTreeSet::new();
    for threads in shapes {
        let shape = Shape { threads, cluster };
        let needed = recover::convergence_premises(kernel, shape, deadline::over);
        together.extend(needed.map_err(words)?);
    }
    premises.extend(together.into_iter().map(str::to_owned));
    Ok(premises)
}

/// The protocol of an entry of PTX from its graph, and whether it is decided before what is recovered along the instructions. It is
/// not if it needs more assumptions than the path. `None` if it is not recovered, and an error if what the kernel does is undefined.
pub fn one_way(kernel: &Kernel, options: &Kernels) -> Result<Option<(Lifted, bool)>, String> {
    // Whether an answer of cluster launch control is read where it lands is not followed in the graph.
    let asks_for_work = does(kernel, |kind| {
        matches!(
            kind,
            OperationKind::Synchronization(Synchronization::ClusterLaunchQuery { .. })
        )
    });
    if asks_for_work {
        return Ok(None);
    }
    match recovered(kernel, options, lift) {
        Ok(Ok((lifted, leaves_open))) => {
            let first = !leaves_open && !lies_unknown(kernel, options);
            Ok(Some((lifted, first)))
        }
        Ok(Err(obstacle)) if obstacle.undefined => Err(words(obstacle)),
        Ok(Err(_)) | Err(_) => Ok(None),
    }
}

/// Whether the kernel asks for the shape of a CTA, and neither its text nor an option says which it is. For example,
/// launch bounds of 512 threads allow 512 x 1 x 1 and 32 x 16 x 1.
fn lies_unknown(kernel: &Kernel, options: &Kernels) -> bool {
    let given = kernel.bounds.required_threads.or(options.threads);
    given.is_none() && looks_at_axes(kernel)
}

/// Whether a kernel asks for a thread's index along the second or third axis of its CTA, or for the length of such an
/// axis.
fn looks_at_axes(kernel: &Kernel) -> bool {
    does(kernel, |kind| {
        matches!(
            kind,
            OperationKind::Special {
                special: Special::ThreadIndex(1..) | Special::CtaThreads(1..),
                ..
            }
        )
    })
}

fn does(kernel: &Kernel, what: impl Fn(&OperationKind) -> bool) -> bool {
    let mut operations = kernel.blocks.iter().flat_map(|block| &block.operations);
    operations.any(|operation| what(&operation.kind))
}

/// The words of an obstacle, with its place.
fn words(obstacle: Obstacle) -> String {
    let place = match obstacle.location.shown() {
        Some(place) if !obstacle.location.source.is_empty() => format!(" ({place})"),
        _ => String::new(),
    };
    match obstacle.location.line {
        0 => obstacle.reason,
        line => format!("line {line}{place}: {}", obstacle.reason),
    }
}

/// Whether a kernel uses operations that concern other CTAs of its cluster.
fn names_cluster(kernel: &Kernel) -> bool {
    does(kernel, |kind| {
        matches!(
            kind,
            OperationKind::MapAddress { .. }
                | OperationKind::Special {
                    special: Special::ClusterIndex(_)
                        | Special::GridClusters(_)
                        | Special::ClusterCtaIndex(_)
                        | Special::ClusterCtas(_)
                        | Special::ClusterCtaRank
                        | Special::ClusterCtaCount,
                    ..
                }
                | OperationKind::Synchronization(
                    Synchronization::ClusterArrive { .. } | Synchronization::ClusterWait { .. }
                )
        )
    })
}
