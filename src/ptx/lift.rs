//! The recovered protocol as text of our language, with the source line of each statement in a comment
//! after it. This text is what is checked. It is parsed like any other.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::lines::DOUBTFUL;
use super::lines::Lifted;
use super::lines::unmarked;
use super::names::readable;
use super::shape::in_any_shape;
use super::threads::lift_for_all_threads;
use crate::deadline;
use crate::protocol::Span;
use crate::ptx::cta::barrier_rings::put_in_rings;
use crate::ptx::cta::boxes::Boxes;
use crate::ptx::cta::boxes::count_copies;
use crate::ptx::cta::data::resolve;
use crate::ptx::cta::divided::divide;
use crate::ptx::cta::exited_warps::complete;
use crate::ptx::cta::exited_warps::who_differs;
use crate::ptx::cta::expected::put_into_arrivals;
use crate::ptx::cta::family::Family;
use crate::ptx::cta::family::barrier;
use crate::ptx::cta::family::families;
use crate::ptx::cta::family::place;
use crate::ptx::cta::family::splits;
use crate::ptx::cta::flights::number_groups;
use crate::ptx::cta::lifetimes::end_lives;
use crate::ptx::cta::memory::Memory;
use crate::ptx::cta::mixed_counts::refuse_mixed_counts;
use crate::ptx::cta::multiplied::wait_apart;
use crate::ptx::cta::program::Followed;
use crate::ptx::cta::program::Full;
use crate::ptx::cta::program::Program;
use crate::ptx::cta::program::each;
use crate::ptx::cta::program::follow;
use crate::ptx::cta::program::of_all;
use crate::ptx::cta::ptx_preconditions::preconditions;
use crate::ptx::cta::redundant_waits::settle_waits;
use crate::ptx::cta::repeats::put_together;
use crate::ptx::cta::rounds::count_rounds;
use crate::ptx::cta::tensor_memory::settle_columns;
use crate::ptx::cta::tokens::count_phases;
use crate::ptx::cta::transactions::few_bytes;
use crate::ptx::operations::tensor::PLACES;
use crate::ptx::order::Order;
use crate::ptx::syntax::ast::Function;
use crate::ptx::syntax::ast::Module;
use crate::ptx::syntax::ast::Operand;
use crate::ptx::syntax::ast::Variable;
use crate::ptx::syntax::inline::inlined;
use crate::ptx::syntax::variables::begins_with;
use crate::ptx::syntax::variables::given;
use crate::ptx::syntax::variables::one_dynamic;
use crate::ptx::warp::machine::COLUMNS;
use crate::ptx::warp::machine::Launch;
use crate::ptx::warp::machine::TENSOR;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::words::APART;
use crate::ptx::written::launch::Ctas;
use crate::ptx::written::write::Writer;
use crate::text;
use crate::text::Diagnostic;

/// How a kernel is to be lifted.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Threads per CTA, where the kernel does not say.
    pub threads: Option<[u32; 3]>,
    /// CTAs per cluster, where the kernel does not say.
    pub cluster: Option<[u32; 3]>,
    /// In which order CTAs start.
    pub order: Order,
    /// Whether the number of threads is a parameter.
    pub symbolic_threads: bool,
    /// Whether accesses to shared memory, and what orders them, are followed, too.
    pub data: bool,
    /// Whether this is one of several numbers of threads whose texts are compared.
    pub(super) symbolic: bool,
}

/// Why there is no protocol.
#[derive(Debug, Clone)]
pub enum Failure {
    /// Something is missing that the user can give.
    Input(Diagnostic),
    /// The synchronization could not be recovered.
    Obstacle(Obstacle),
}

impl From<Obstacle> for Failure {
    fn from(obstacle: Obstacle) -> Failure {
        Failure::Obstacle(obstacle)
    }
}

/// Recovers the protocol of an entry, as text, with the line of the PTX that each statement comes from.
///
/// Fails if the launch bounds are missing, or if there is something in the kernel's
/// synchronization that is not understood.
pub fn lift(
    module: &Module<'_>,
    function: &Function<'_>,
    options: &Options,
) -> Result<Lifted, Failure> {
    let found = lift_in_time(module, function, options);
    // Some of what would have been looked at may not have been: whatever was found is not what was asked for.
    match deadline::over() {
        true => Err(Failure::Obstacle(Obstacle::late())),
        false => found,
    }
}

fn lift_in_time(
    module: &Module<'_>,
    function: &Function<'_>,
    options: &Options,
) -> Result<Lifted, Failure> {
    if options.symbolic_threads {
        let laid_out = lift_for_all_threads(module, function, options)?;
        return Ok(unmarked(&laid_out));
    }
    let whole = in_any_shape(module, function, options)?;
    let laid_out = text::format(&whole).map_err(|findings| refused(function, &findings))?;
    text::load(laid_out.as_bytes()).map_err(|findings| refused(function, &findings))?;
    Ok(unmarked(&laid_out))
}

/// The text before it is laid out and checked.
pub(super) fn written(
    module: &Module<'_>,
    function: &Function<'_>,
    options: &Options,
) -> Result<String, Failure> {
    let in_time = || match deadline::over() {
        true => Err(Obstacle::late()),
        false => Ok(()),
    };
    in_time()?;
    let launch = launch(module, function, options)?;
    let function = &*one_dynamic(module, given(module, inlined(module, function)));
    let mut followed = follow(module, function, &launch, options.data)?;
    let ended = end_lives(&mut followed, &launch)?;
    in_time()?;
    let covered = settle_waits(&mut followed, &launch);
    divide(&mut followed);
    in_time()?;
    count_rounds(&mut followed);
    number_groups(&mut followed)?;
    in_time()?;
    let left = complete(&mut followed, &launch)?;
    in_time()?;
    let mut families = families(&followed.programs, &followed.unknowns)?;
    refuse_mixed_counts(&followed, &families)?;
    let few = few_bytes(&followed, &families)?;
    in_time()?;
    let buffers = if options.data {
        let shared = module.shared.iter().chain(&function.shared);
        let mut shared: Vec<_> = shared.cloned().collect();
        shared.push(Variable {
            name: TENSOR,
            bytes: u64::try_from(COLUMNS * PLACES).unwrap_or(0),
            align: 1,
        });
        Some(resolve(&mut followed, &families, &shared, &launch)?)
    } else {
        None
    };
    settle(&mut families, &followed, &launch)?;
    in_time()?;
    count_phases(&mut followed, &families, options.data);
    splits(&mut families, &followed.programs, &followed.unknowns)?;
    // Where data is asked for, it matters which accesses stand in front of an arrival.
    if !options.data {
        put_into_arrivals(&mut followed, &families);
    }
    followed.held = settle_columns(&followed)?;
    followed.taken = preconditions(function, &followed, options.data)?;
    followed.taken.extend(few);
    // A kernel that waits for memory says this of all its pointers.
    let unchanged = followed.unchanged.iter().copied();
    followed
        .taken
        .extend(unchanged.filter(|said| !followed.counters || *said != APART));
    // Of a kernel that waits for memory it is asked whether its warps meet alike, statement by statement.
    if !followed.counters {
        put_together(&mut followed.programs, &mut followed.unknowns);
    }
    in_time()?;
    put_in_rings(&mut followed);
    // How much is written has to be known where accesses are followed.
    followed.counted = !options.data && count_copies(&mut followed.programs, &followed.unknowns);
    let boxes = Boxes::of(&followed.programs, &followed.unknowns);
    let mut writer = Writer {
        module,
        function,
        launch: &launch,
        given: options.threads.is_some(),
        order: options.order,
        ctas: Ctas::One,
        symbolic: options.symbolic,
        followed: &followed,
        families: &families,
        buffers: buffers.as_deref(),
        boxes: &boxes,
        covered,
        left,
        ended,
        delivered: BTreeMap::new(),
        landed: false,
        out: String::new(),
        loops: Vec::new(),
        times: Vec::new(),
        conditions: Vec::new(),
        memory: Memory::default(),
        counted: Vec::new(),
        declared: 0,
        used: BTreeSet::new(),
    };
    in_time()?;
    let body = writer.roles()?;
    let mut head = writer.head()?;
    if options.data && wait_apart(&followed, &families) {
        let first = head.find('\n').map_or(0, |end| end + 1);
        head.insert_str(first, DOUBTFUL);
    }
    Ok(format!("{head}{body}"))
}

fn refused(function: &Function<'_>, findings: &[Diagnostic]) -> Failure {
    let first = findings
        .first()
        .map_or_else(String::new, |f| f.message.clone());
    let at = function.code.first().map_or(0, |i| i.at);
    Failure::Obstacle(Obstacle::new(
        at,
        format!("the recovered protocol is beyond the language: {first}"),
    ))
}

pub(super) fn launch(
    module: &Module<'_>,
    function: &Function<'_>,
    options: &Options,
) -> Result<Launch, Failure> {
    let name = readable(function.name);
    let fail = |message: String, hint: &str| {
        let span = Span {
            start: function.at.start,
            end: function.at.end,
        };
        Failure::Input(Diagnostic::error(span, message).hint(hint))
    };
    let threads = match (function.reqntid, options.threads, function.maxntid) {
        (Some(required), Some(given), _) if required != given => {
            return Err(fail(
                format!("`{name}` has to be launched with {required:?} threads"),
                "leave --threads out",
            ));
        }
        (Some(threads), _, _) | (None, Some(threads), _) | (None, None, Some(threads)) => threads,
        (None, None, None) => {
            return Err(fail(
                format!("how many threads `{name}` is launched with is not known"),
                "give --threads N, or compile with __launch_bounds__(N)",
            ));
        }
    };
    let cluster = match function.cluster.or(options.cluster) {
        Some(cluster) => cluster,
        None if asks_for_clusters(&inlined(module, function)) => {
            return Err(fail(
                format!("how many CTAs a cluster of `{name}` has is not known"),
                "give --cluster N (1 if it is launched without clusters), or compile with \
                 __cluster_dims__(N)",
            ));
        }
        None => [1; 3],
    };
    let launch = Launch {
        threads,
        cluster,
        most_registers: function.registers_per_thread,
        raised_to: raised_to(function),
        ctas: function.ctas_per_sm.unwrap_or(1),
    };
    if launch.count() == 0 || launch.count() > 1024 {
        return Err(fail(
            format!("a CTA of {} threads cannot be launched", launch.count()),
            "a CTA has 1 to 1024 threads",
        ));
    }
    if launch.ranks() == 0 || launch.ranks() > 16 {
        return Err(fail(
            format!("a cluster of {} CTAs cannot be launched", launch.ranks()),
            "a cluster has 1 to 16 CTAs",
        ));
    }
    Ok(launch)
}

/// Whether what a kernel does depends on the cluster that it is launched in.
fn asks_for_clusters(function: &Function<'_>) -> bool {
    const REGISTERS: [&str; 4] = [
        "%cluster_",
        "%clusterid",
        "%nclusterid",
        "%is_explicit_cluster",
    ];
    function.code.iter().any(|i| {
        let first = i.parts().next();
        let instruction = first == Some("mapa")
            || first == Some("barrier") && i.has("cluster")
            || i.opcode.contains(".multicast::cluster");
        instruction || i.operands.iter().any(|o| begins_with(o, &REGISTERS))
    })
}

/// Decides which mbarriers are there from the beginning: those that one warp initialises once,
/// before a barrier of all that comes before any use. Of a cluster barrier, that is before the arrival: whoever has only come
/// that far no longer holds the others up at their waits.
pub(super) fn settle(
    families: &mut [Family],
    followed: &Followed,
    launch: &Launch,
) -> Result<(), Obstacle> {
    let unknowns = &followed.unknowns;
    let full = Full::new(followed, launch);
    for family in families.iter_mut() {
        let mut initialised: Vec<(u32, i128)> = Vec::new();
        let mut ready = true;
        let mut remote = false;
        let mut ids = BTreeSet::new();
        for program in &followed.programs {
            each(&program.statements, &mut |s| {
                if let Some(address) = barrier(&s.action)
                    && let Ok(place) = place(address, program.rank, unknowns, s.at)
                    && family.lies_at(&place)
                {
                    remote |= place.rank != program.rank;
                }
            });
        }
        for program in &followed.programs {
            let mut before = true;
            let (mut arrived, mut late) = (false, false);
            for statement in &program.statements {
                let meets = if remote {
                    matches!(statement.action, Action::ClusterWait)
                } else {
                    full.is_met(&statement.action)
                        || matches!(statement.action, Action::ClusterWait)
                };
                if before && meets {
                    before = false;
                    if let Action::Sync(id, ..) = &statement.action {
                        ids.insert(Some(id.clone()));
                    } else {
                        ids.insert(None);
                        ready &= !late;
                    }
                }
                each(std::slice::from_ref(statement), &mut |s| {
                    arrived |= s.action == Action::ClusterArrive;
                    // A barrier in a branch or a loop may be the one that another warp comes to first.
                    let inside = !std::ptr::eq(s, statement);
                    let barrier = of_all(&s.action, launch) || s.action == Action::ClusterWait;
                    ready &= !(before && inside && barrier);
                });
                let mut failed = None;
                each(std::slice::from_ref(statement), &mut |s| {
                    let Some(address) = barrier(&s.action) else {
                        return;
                    };
                    match place(address, program.rank, unknowns, s.at) {
                        Ok(place) if family.lies_at(&place) => {
                            let Some(offset) = place.offset.as_constant() else {
                                ready &= !before && !matches!(s.action, Action::Init(..));
                                return;
                            };
                            if !family.elements.contains(&offset) {
                                return;
                            }
                            if matches!(s.action, Action::Init(..)) {
                                let top = std::ptr::eq(s, statement);
                                ready &= before
                                    && top
                                    && program.warps.len() == 1
                                    && !initialised.contains(&(place.rank, offset));
                                late |= arrived;
                                initialised.push((place.rank, offset));
                            } else {
                                ready &= !before;
                            }
                        }
                        Ok(_) => {}
                        Err(obstacle) => failed = Some(obstacle),
                    }
                });
                if let Some(obstacle) = failed {
                    return Err(obstacle);
                }
            }
            ready &= !before || program_without(program, family, followed);
        }
        let own = |rank: &u32| family.rank.is_none_or(|only| only == *rank);
        let all = (0..launch.ranks()).filter(own).all(|rank| {
            family
                .elements
                .iter()
                .all(|e| initialised.contains(&(rank, *e)))
        });
        family.ready = ready && all && ids.len() == 1;
    }
    Ok(())
}

/// Whether a program leaves a family alone.
fn program_without(program: &Program, family: &Family, followed: &Followed) -> bool {
    let mut without = true;
    each(&program.statements, &mut |s| {
        if let Some(address) = barrier(&s.action)
            && let Ok(place) = place(address, program.rank, &followed.unknowns, s.at)
        {
            without &= !family.lies_at(&place);
        }
    });
    without
}

/// Warps that have left do not count at a barrier of all: then it depends on when they left.
pub(super) fn whole(followed: &Followed, launch: &Launch) -> Result<(), Obstacle> {
    let kept: [&dyn Fn(&Action) -> bool; 2] = [
        &|a| of_all(a, launch) && matches!(a, Action::Sync(_, _, false)),
        &|a| matches!(a, Action::ClusterArrive | Action::ClusterWait),
    ];
    for keep in kept {
        if let Some((at, who)) = who_differs(&followed.programs, keep) {
            let reason =
                format!("not every warp comes to this barrier of all threads equally often: {who}");
            return Err(Obstacle::new(at, reason));
        }
    }
    Ok(())
}

/// The fewest registers that a `setmaxnreg.inc` asks for.
fn raised_to(function: &Function<'_>) -> Option<u32> {
    let raises = function
        .code
        .iter()
        .filter(|instruction| instruction.opcode.starts_with("setmaxnreg.inc"));
    let asked = raises.filter_map(|instruction| match instruction.operands.first() {
        Some(Operand::Integer(count)) => u32::try_from(*count).ok(),
        _ => None,
    });
    asked.min()
}
