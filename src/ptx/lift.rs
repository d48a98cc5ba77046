//! The recovered protocol as text of our language, with the source line of every statement behind
//! it. What is checked is this text, read like any other.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::ast::Function;
use super::ast::Location;
use super::ast::Module;
use super::family::Family;
use super::family::barrier;
use super::family::families;
use super::family::place;
use super::machine::Launch;
use super::machine::MOST_PARAMETER;
use super::machine::Meaning;
use super::program::Followed;
use super::program::Program;
use super::program::each;
use super::program::follow;
use super::program::skeleton;
use super::statement::Action;
use super::statement::Obstacle;
use super::statement::Statement;
use super::term::Atom;
use super::term::Condition;
use super::term::Sum;
use super::term::Unknown;
use crate::protocol::Span;
use crate::text;
use crate::text::Diagnostic;

/// How a kernel is to be lifted.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Threads per CTA, where the kernel does not say.
    pub threads: Option<[u32; 3]>,
    /// CTAs per cluster, where the kernel does not say.
    pub cluster: Option<[u32; 3]>,
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

/// Recovers the protocol of an entry, as text.
///
/// Fails if the launch bounds are missing, or if there is something in the kernel's
/// synchronization that is not understood.
pub fn lift(
    module: &Module<'_>,
    function: &Function<'_>,
    options: &Options,
) -> Result<String, Failure> {
    let launch = launch(function, options)?;
    let followed = follow(module, function, &launch)?;
    let mut families = families(&followed.programs, &followed.unknowns)?;
    settle(&mut families, &followed, &launch)?;
    whole(&followed, &launch)?;
    allocations(&followed)?;
    let mut writer = Writer {
        module,
        function,
        launch: &launch,
        given: options.threads.is_some(),
        followed: &followed,
        families: &families,
        out: String::new(),
        loops: Vec::new(),
        used: BTreeSet::new(),
    };
    let body = writer.roles()?;
    let head = writer.head()?;
    let whole = format!("{head}{body}");
    let laid_out = text::format(&whole).map_err(|findings| refused(function, &findings))?;
    text::load(laid_out.as_bytes()).map_err(|findings| refused(function, &findings))?;
    Ok(laid_out)
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

fn launch(function: &Function<'_>, options: &Options) -> Result<Launch, Failure> {
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
                format!(
                    "`{}` has to be launched with {required:?} threads",
                    function.name
                ),
                "leave --threads out",
            ));
        }
        (Some(threads), _, _) | (None, Some(threads), _) | (None, None, Some(threads)) => threads,
        (None, None, None) => {
            return Err(fail(
                format!(
                    "how many threads `{}` is launched with is not known",
                    function.name
                ),
                "give --threads N, or compile with __launch_bounds__(N)",
            ));
        }
    };
    let cluster = function.cluster.or(options.cluster).unwrap_or([1; 3]);
    let launch = Launch { threads, cluster };
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

/// Whether this is a barrier of all threads of the CTA.
fn of_all(action: &Action, launch: &Launch) -> bool {
    let all = i128::from(launch.warps() * 32);
    matches!(action, Action::Sync(_, threads, _) if threads.as_constant() == Some(all))
}

/// Decides which mbarriers are there from the beginning: those that one warp initialises once,
/// before a barrier of all that comes before any use.
fn settle(families: &mut [Family], followed: &Followed, launch: &Launch) -> Result<(), Obstacle> {
    let unknowns = &followed.unknowns;
    for family in families.iter_mut() {
        let mut initialised: Vec<(u32, i128)> = Vec::new();
        let mut ready = true;
        let mut remote = false;
        let mut ids = BTreeSet::new();
        for program in &followed.programs {
            each(&program.statements, &mut |s| {
                if let Some(address) = barrier(&s.action)
                    && let Ok(place) = place(address, program.rank, unknowns, s.at)
                    && place.base == family.base
                {
                    remote |= place.rank != program.rank;
                }
            });
        }
        for program in &followed.programs {
            let mut before = true;
            for statement in &program.statements {
                let meets = if remote {
                    matches!(statement.action, Action::ClusterWait)
                } else {
                    of_all(&statement.action, launch)
                        || matches!(statement.action, Action::ClusterWait)
                };
                if before && meets {
                    before = false;
                    if let Action::Sync(id, ..) = &statement.action {
                        ids.insert(Some(id.clone()));
                    } else {
                        ids.insert(None);
                    }
                }
                let mut failed = None;
                each(std::slice::from_ref(statement), &mut |s| {
                    let Some(address) = barrier(&s.action) else {
                        return;
                    };
                    match place(address, program.rank, unknowns, s.at) {
                        Ok(place) if place.base == family.base => {
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
        let all = (0..launch.ranks()).all(|rank| {
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
            without &= place.base != family.base;
        }
    });
    without
}

/// Warps that have left do not count at a barrier of all: then it depends on when they left.
fn whole(followed: &Followed, launch: &Launch) -> Result<(), Obstacle> {
    let kept: [&dyn Fn(&Action) -> bool; 2] = [
        &|a| of_all(a, launch) && matches!(a, Action::Sync(_, _, false)),
        &|a| matches!(a, Action::ClusterArrive | Action::ClusterWait),
    ];
    for keep in kept {
        let mut all = followed
            .programs
            .iter()
            .map(|p| super::program::numbered(&skeleton(&p.statements, keep)));
        let Some(first) = all.next() else { continue };
        for other in all {
            if other != first {
                let one = other.first().or(first.first());
                let at = one.map_or(0, |s| s.at);
                return Err(Obstacle::new(
                    at,
                    "not every warp comes to this barrier of all threads equally often: what \
                     happens depends on whether the others have left by then",
                ));
            }
        }
    }
    Ok(())
}

/// CTAs on one SM share its tensor memory. One allocation each always finds its turn; more may not,
/// and how many CTAs there are is not known.
fn allocations(followed: &Followed) -> Result<(), Obstacle> {
    for program in &followed.programs {
        let mut found = Vec::new();
        let mut looped = false;
        each(&program.statements, &mut |s| match &s.action {
            Action::Acquire(_) => found.push(s.at),
            Action::For(_, _, body) => {
                each(body, &mut |s| {
                    looped |= matches!(s.action, Action::Acquire(_))
                });
            }
            _ => {}
        });
        if let Some(at) = found.last()
            && (looped || found.len() > 1 || program.warps.len() > 1)
        {
            let reason = "more than one allocation of tensor memory: whether CTAs on one SM hold \
                          what others wait for is not modelled";
            return Err(Obstacle::new(*at, reason));
        }
    }
    Ok(())
}

struct Writer<'w, 'a> {
    module: &'w Module<'a>,
    function: &'w Function<'a>,
    launch: &'w Launch,
    /// Whether the thread count was asked for.
    given: bool,
    followed: &'w Followed,
    families: &'w [Family],
    out: String,
    loops: Vec<Unknown>,
    /// The unknowns that have to be declared.
    used: BTreeSet<Unknown>,
}

const AXES: [&str; 3] = ["x", "y", "z"];

impl Writer<'_, '_> {
    fn head(&mut self) -> Result<String, Obstacle> {
        let mut head = String::new();
        let [x, y, z] = self.launch.threads;
        let cluster = self.launch.ranks();
        let _ = writeln!(
            head,
            "//! Recovered from the entry `{}` of a PTX {} text for {}.",
            visible(self.function.name),
            visible(self.module.version),
            visible(self.module.target)
        );
        let clusters = if cluster > 1 {
            format!(", clusters of {cluster} CTAs")
        } else {
            String::new()
        };
        let most = match (self.function.reqntid, self.given) {
            (None, false) => ", the most that .maxntid allows",
            _ => "",
        };
        let _ = writeln!(head, "//! {x} x {y} x {z} threads per CTA{most}{clusters}.");
        let grid = self.followed.counters;
        if grid {
            head.push_str("//! Counters in memory are taken not to wrap around.\n");
        }
        let mut assumptions = Vec::new();
        for (sum, at) in &self.followed.assumptions {
            let line = self.module.line_of(*at);
            let condition = Condition::Negative(sum.clone()).negated();
            let words = self.condition(&condition, *at)?;
            assumptions.push(format!(
                "assume {words}  // line {line} does not wrap around\n"
            ));
        }
        let name = clean(self.function.name);
        let _ = writeln!(head, "protocol {name}\n");
        let used = self.used.clone();
        let mut blocks = Vec::new();
        for unknown in &used {
            match self.followed.unknowns.meaning(*unknown) {
                Some(Meaning::Parameter(index, _)) => {
                    let bytes = self.function.parameters.get(*index).map_or(4, |p| p.bytes);
                    let most = if bytes == 8 { 1 << 62 } else { MOST_PARAMETER };
                    let name = self.unknown(*unknown, 0)?;
                    let _ = writeln!(head, "param {name} in 0..={most}");
                }
                Some(Meaning::Blocks(axis)) => {
                    let _ = writeln!(head, "param nctaid_{} in 1..={MOST_PARAMETER}", AXES[*axis]);
                }
                Some(Meaning::Block(axis)) if !grid => {
                    let index = if cluster > 1 { "clusterid" } else { "ctaid" };
                    let most = MOST_PARAMETER - 1;
                    let _ = writeln!(head, "param {index}_{} in 0..={most}", AXES[*axis]);
                    blocks.push(*axis);
                }
                _ => {}
            }
        }
        for axis in blocks {
            let extent =
                |u: &Unknown| self.followed.unknowns.meaning(*u) == Some(&Meaning::Blocks(axis));
            if used.iter().any(extent) {
                let (index, name) = if cluster > 1 {
                    let factor = self.launch.cluster[axis];
                    (format!("{factor} * clusterid"), AXES[axis])
                } else {
                    ("ctaid".to_owned(), AXES[axis])
                };
                let _ = writeln!(head, "assume {index}_{name} < nctaid_{name}");
            }
        }
        for assumption in assumptions {
            head.push_str(&assumption);
        }
        head.push('\n');
        for family in self.families {
            let mut indices = Vec::new();
            if cluster > 1 {
                indices.push(cluster.to_string());
            }
            if family.elements.len() > 1 {
                indices.push(family.elements.len().to_string());
            }
            let indices = if indices.is_empty() {
                String::new()
            } else {
                format!("[{}]", indices.join(", "))
            };
            let explicit = if family.ready { "" } else { ", init: explicit" };
            let group = if family.group > 1 {
                format!("  // counted in groups of {} threads", family.group)
            } else {
                String::new()
            };
            let _ = writeln!(
                head,
                "mbarrier {}{indices} {{ arrivals: {}{explicit} }}{group}",
                family.name, family.arrivals
            );
        }
        let has = |which: &dyn Fn(&Action) -> bool| {
            let mut found = false;
            for program in &self.followed.programs {
                each(&program.statements, &mut |s| found |= which(&s.action));
            }
            found
        };
        if !grid && has(&|a| matches!(a, Action::Sync(..) | Action::ArriveNamed(..))) {
            let own = if cluster > 1 {
                format!("{cluster}, ")
            } else {
                String::new()
            };
            let _ = writeln!(head, "named cta_bar[{own}16]");
        }
        if has(&|a| matches!(a, Action::ClusterArrive | Action::ClusterWait)) {
            let members = cluster * self.launch.warps();
            let _ = writeln!(head, "barrier cluster_bar {{ arrivals: {members} }}");
        }
        if has(&|a| matches!(a, Action::Acquire(_) | Action::Release(_))) {
            let own = if cluster > 1 {
                format!("[{cluster}]")
            } else {
                String::new()
            };
            let _ = writeln!(head, "pool tensor_columns{own} = 512");
        }
        let counters = self.counters()?;
        for (name, elements) in counters {
            let extent = if elements > 1 {
                format!("[{elements}]")
            } else {
                String::new()
            };
            let _ = writeln!(
                head,
                "semaphore {name}{extent} = 0  // taken to be cleared before the launch"
            );
        }
        head.push('\n');
        Ok(head)
    }

    /// The counters and how many elements each has.
    fn counters(&self) -> Result<Vec<(String, i128)>, Obstacle> {
        let mut found: Vec<(String, i128)> = Vec::new();
        for program in &self.followed.programs {
            let mut failed = None;
            each(&program.statements, &mut |s| {
                if let Action::CounterAdd(a, _)
                | Action::CounterSet(a, _)
                | Action::CounterWait(a, ..) = &s.action
                {
                    match self.counter(a, s.at) {
                        Ok((name, index)) => match found.iter_mut().find(|(n, _)| *n == name) {
                            Some(entry) => entry.1 = entry.1.max(index + 1),
                            None => found.push((name, index + 1)),
                        },
                        Err(obstacle) => failed = Some(obstacle),
                    }
                }
            });
            if let Some(obstacle) = failed {
                return Err(obstacle);
            }
        }
        Ok(found)
    }

    /// A counter's name and which of its elements.
    fn counter(&self, address: &Sum, at: usize) -> Result<(String, i128), Obstacle> {
        let mut terms = address.terms.iter();
        if let (Some((Atom::Unknown(unknown), 1)), None) = (terms.next(), terms.next())
            && let Some(Meaning::Parameter(..)) = self.followed.unknowns.meaning(*unknown)
            && address.constant >= 0
            && address.constant % 4 == 0
            && address.constant < 1 << 16
        {
            let name = format!("at_{}", self.unknown(*unknown, at)?);
            return Ok((name, address.constant / 4));
        }
        Err(Obstacle::new(
            at,
            "which counter in global memory this is depends on the launch",
        ))
    }

    fn roles(&mut self) -> Result<String, Obstacle> {
        if self.followed.counters {
            return self.grid();
        }
        let all = &self.followed.programs;
        for program in all {
            let mut name = String::new();
            if self.launch.ranks() > 1 {
                let _ = write!(name, "cta{}_", program.rank);
            }
            let count = program.warps.len();
            let first = program.warps.first().copied().unwrap_or(0);
            let last = program.warps.last().copied().unwrap_or(0);
            let consecutive = program.warps.windows(2).all(|w| w[1] == w[0] + 1);
            if count == 1 {
                let _ = write!(name, "warp{first}");
            } else if consecutive {
                let _ = write!(name, "warps{first}_{last}");
            } else {
                let _ = write!(name, "warps{first}_and_{}_more", count - 1);
            }
            let index = if count > 1 {
                format!("[w in 0..{count}]")
            } else {
                String::new()
            };
            let _ = writeln!(self.out, "role {name}{index} warp {{");
            self.statements(&program.statements, program.rank)?;
            self.out.push_str("}\n\n");
        }
        Ok(std::mem::take(&mut self.out))
    }

    /// A launch whose CTAs wait for each other through memory. Inside a CTA only one warp may do
    /// anything but meet the others, so that the CTA as a whole does what this warp does.
    fn grid(&mut self) -> Result<String, Obstacle> {
        let launch = self.launch;
        let keep = |a: &Action| of_all(a, launch);
        let quiet = |p: &Program| {
            let mut only = true;
            each(&p.statements, &mut |s| {
                only &= matches!(s.action, Action::For(..) | Action::If(..)) || keep(&s.action);
            });
            only
        };
        let place = |p: Option<&Program>| p.and_then(|p| p.statements.first()).map_or(0, |s| s.at);
        let programs = &self.followed.programs;
        let mut busy = programs.iter().filter(|p| !quiet(p));
        let main = busy.next();
        let lone = busy.next().is_none() && main.is_some_and(|p| p.warps.len() == 1);
        let Some(main) = main.filter(|_| lone && launch.ranks() == 1) else {
            return Err(Obstacle::new(
                place(main),
                "several warps take part in synchronization in a kernel that waits for memory",
            ));
        };
        let meets = |p: &Program| super::program::numbered(&skeleton(&p.statements, &keep));
        if programs.iter().any(|p| meets(p) != meets(main)) {
            let reason = "the warps of a CTA do not meet equally often";
            return Err(Obstacle::new(place(Some(main)), reason));
        }
        self.written(main)?;
        let mut foreign = None;
        each(&main.statements, &mut |s| match s.action {
            Action::CounterAdd(..)
            | Action::CounterSet(..)
            | Action::CounterWait(..)
            | Action::CommitGroup
            | Action::WaitGroup(..)
            | Action::For(..)
            | Action::If(..) => {}
            _ if keep(&s.action) => {}
            _ => foreign = Some(s.at),
        });
        if let Some(at) = foreign {
            let reason = "the kernel waits for memory and also for something that each CTA has of \
                          its own";
            return Err(Obstacle::new(at, reason));
        }
        let statements = skeleton(&main.statements, &|a| !keep(a));
        let mut body = std::mem::take(&mut self.out);
        self.statements(&statements, 0)?;
        std::mem::swap(&mut body, &mut self.out);
        let mut axes = BTreeSet::from([0]);
        for unknown in &self.used {
            if let Some(Meaning::Block(axis) | Meaning::Blocks(axis)) =
                self.followed.unknowns.meaning(*unknown)
            {
                axes.insert(*axis);
            }
        }
        let mut text = String::from(
            "// Axes of the grid that the kernel never looks at have one CTA.\ngrid cta",
        );
        for (unknown, axis) in axes.iter().filter_map(|axis| {
            let extent = Meaning::Blocks(*axis);
            Some((self.followed.unknowns.find(&extent)?, *axis))
        }) {
            self.used.insert(unknown);
            let name = AXES[axis];
            let _ = write!(text, "[ctaid_{name} in 0..nctaid_{name}]");
        }
        if !text.ends_with(']') {
            let reason = "the kernel waits for memory, but never asks how large the grid is";
            return Err(Obstacle::new(place(Some(main)), reason));
        }
        let _ = writeln!(text, " launch any resident 1.. {{\n{body}}}");
        Ok(text)
    }

    /// Refuses to wait for memory that the kernel itself never writes: somebody else does.
    fn written(&self, main: &Program) -> Result<(), Obstacle> {
        let (mut written, mut waited) = (BTreeSet::new(), Vec::new());
        each(&main.statements, &mut |s| match &s.action {
            Action::CounterAdd(a, _) | Action::CounterSet(a, _) => {
                written.insert(a.clone());
            }
            Action::CounterWait(a, ..) => waited.push((a.clone(), s.at)),
            _ => {}
        });
        match waited
            .iter()
            .find(|(address, _)| !written.contains(address))
        {
            None => Ok(()),
            Some((_, at)) => Err(Obstacle::new(
                *at,
                "the kernel waits for memory that it never writes itself",
            )),
        }
    }

    fn source(&self, at: usize, location: Option<Location>) -> String {
        match location.filter(|l| l.line > 0) {
            Some(location) => {
                let file = self.module.files.iter().find(|(n, _)| *n == location.file);
                let path = file.map_or("source", |(_, path)| path);
                let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
                format!("{}:{}", visible(name), location.line)
            }
            None => format!("line {}", self.module.line_of(at)),
        }
    }

    fn statements(&mut self, statements: &[Statement], rank: u32) -> Result<(), Obstacle> {
        let mut index = 0;
        while let Some(statement) = statements.get(index) {
            let rest = statements.get(index + 1..).unwrap_or_default();
            // `arrive` and `wait` of a cluster are one `sync` where nothing lies between.
            if statement.action == Action::ClusterArrive
                && rest
                    .first()
                    .is_some_and(|s| s.action == Action::ClusterWait)
            {
                self.line("sync cluster_bar", statement);
                index += 2;
                continue;
            }
            let sizes = boxes(statements, index);
            self.statement(statement, rank, sizes)?;
            index += 1;
        }
        Ok(())
    }

    fn line(&mut self, words: &str, statement: &Statement) {
        let source = self.source(statement.at, statement.location);
        let _ = writeln!(self.out, "{words}  // {source}");
    }

    fn statement(
        &mut self,
        statement: &Statement,
        rank: u32,
        sizes: Option<Sum>,
    ) -> Result<(), Obstacle> {
        let at = statement.at;
        let words = match &statement.action {
            Action::Init(a, _) => {
                let (family, element) = self.element(a, rank, at)?;
                if family.ready {
                    return Ok(());
                }
                format!("init {element}")
            }
            Action::Arrive(a, n) | Action::Commit(a, n) => {
                let verb = if matches!(statement.action, Action::Arrive(..)) {
                    "arrive"
                } else {
                    "commit"
                };
                let (family, element) = self.element(a, rank, at)?;
                let times = n / family.group;
                if times == 1 {
                    format!("{verb} {element}")
                } else {
                    let source = self.source(at, statement.location);
                    format!("repeat {times} {{\n{verb} {element}  // {source}\n}}")
                }
            }
            Action::ExpectTx(a, b) => {
                format!(
                    "expect_tx {} {}",
                    self.element(a, rank, at)?.1,
                    self.sum(b, at)?
                )
            }
            Action::ArriveExpectTx(a, b) => {
                let element = self.element(a, rank, at)?.1;
                format!("arrive_expect_tx {element} {}", self.sum(b, at)?)
            }
            Action::CompleteTx(a, b) => {
                format!(
                    "complete_tx {} {}",
                    self.element(a, rank, at)?.1,
                    self.sum(b, at)?
                )
            }
            Action::Copy(a, bytes) => {
                let Some(bytes) = bytes.clone().or(sizes) else {
                    let reason = "how many bytes this copy delivers is not known, and nothing \
                                  before it expects them";
                    return Err(Obstacle::new(at, reason));
                };
                let element = self.element(a, rank, at)?.1;
                format!(
                    "async copy tile completes {element} {}",
                    self.sum(&bytes, at)?
                )
            }
            Action::Wait(a, parity) => {
                format!(
                    "wait {} {}",
                    self.element(a, rank, at)?.1,
                    self.sum(parity, at)?
                )
            }
            Action::Sync(id, threads, _) | Action::ArriveNamed(id, threads) => {
                let verb = if matches!(statement.action, Action::Sync(..)) {
                    "sync"
                } else {
                    "arrive"
                };
                let own = if self.launch.ranks() > 1 {
                    format!("{rank}, ")
                } else {
                    String::new()
                };
                format!(
                    "{verb} cta_bar[{own}{}] {}",
                    self.sum(id, at)?,
                    self.sum(threads, at)?
                )
            }
            Action::ClusterArrive => "arrive cluster_bar".to_owned(),
            Action::ClusterWait => "wait cluster_bar".to_owned(),
            Action::CounterAdd(a, b) => {
                format!("{} += {}", self.semaphore(a, at)?, self.sum(b, at)?)
            }
            Action::CounterSet(a, b) => {
                format!("{} = {}", self.semaphore(a, at)?, self.sum(b, at)?)
            }
            Action::CounterWait(a, exact, b) => {
                let relation = if *exact { "==" } else { ">=" };
                format!(
                    "wait {} {relation} {}",
                    self.semaphore(a, at)?,
                    self.sum(b, at)?
                )
            }
            Action::Acquire(n) | Action::Release(n) => {
                let verb = if matches!(statement.action, Action::Acquire(_)) {
                    "acquire"
                } else {
                    "release"
                };
                let own = if self.launch.ranks() > 1 {
                    format!("[{rank}]")
                } else {
                    String::new()
                };
                format!("{verb} tensor_columns{own} {}", self.sum(n, at)?)
            }
            Action::CommitGroup => "commit_group".to_owned(),
            Action::WaitGroup(n, read) => {
                let read = if *read { " read" } else { "" };
                format!("wait_group {}{read}", self.sum(n, at)?)
            }
            Action::For(variable, times, body) => {
                let times = self.sum(times, at)?;
                self.loops.push(*variable);
                let name = self.unknown(*variable, at)?;
                let source = self.source(at, statement.location);
                let _ = writeln!(self.out, "for {name} in 0..{times} {{  // {source}");
                self.statements(body, rank)?;
                self.out.push_str("}\n");
                self.loops.pop();
                return Ok(());
            }
            Action::If(condition, yes, no) => {
                let words = self.condition(condition, at)?;
                let source = self.source(at, statement.location);
                let _ = writeln!(self.out, "if {words} {{  // {source}");
                self.statements(yes, rank)?;
                if !no.is_empty() {
                    self.out.push_str("} else {\n");
                    self.statements(no, rank)?;
                }
                self.out.push_str("}\n");
                return Ok(());
            }
        };
        if words.contains('\n') {
            self.out.push_str(&words);
            self.out.push('\n');
        } else {
            self.line(&words, statement);
        }
        Ok(())
    }

    fn semaphore(&self, address: &Sum, at: usize) -> Result<String, Obstacle> {
        let (name, index) = self.counter(address, at)?;
        let all = self.counters()?;
        let single = all.iter().any(|(n, elements)| *n == name && *elements == 1);
        Ok(if single {
            name
        } else {
            format!("{name}[{index}]")
        })
    }

    fn element(
        &mut self,
        address: &Sum,
        rank: u32,
        at: usize,
    ) -> Result<(Family, String), Obstacle> {
        let place = place(address, rank, &self.followed.unknowns, at)?;
        let (low, _) = self.followed.unknowns.1.range(&place.offset);
        let constant = place.offset.as_constant().unwrap_or(low);
        let family = self.families.iter().find(|f| {
            f.base == place.base && {
                let first = f.elements.first().copied().unwrap_or(0);
                let inside = (constant - first).rem_euclid(f.stride) == 0 || f.elements.len() == 1;
                let last = f.elements.last().copied().unwrap_or(0);
                inside && first <= constant && constant <= last
            }
        });
        let Some(family) = family.cloned() else {
            return Err(Obstacle::new(
                at,
                "which mbarrier this address means is not followed",
            ));
        };
        let mut indices = Vec::new();
        if self.launch.ranks() > 1 {
            indices.push(place.rank.to_string());
        }
        if family.elements.len() > 1 {
            let Some(index) = family.index(&place.offset) else {
                return Err(Obstacle::new(
                    at,
                    "this address does not lie at an mbarrier",
                ));
            };
            indices.push(self.sum(&index, at)?);
        }
        let text = if indices.is_empty() {
            family.name.clone()
        } else {
            format!("{}[{}]", family.name, indices.join(", "))
        };
        Ok((family, text))
    }

    fn unknown(&self, unknown: Unknown, at: usize) -> Result<String, Obstacle> {
        if let Some(depth) = self.loops.iter().position(|l| *l == unknown) {
            const NAMES: [&str; 6] = ["i", "j", "k", "l", "m", "n"];
            return Ok(match NAMES.get(depth) {
                Some(name) => (*name).to_owned(),
                None => format!("i{depth}"),
            });
        }
        match self.followed.unknowns.meaning(unknown) {
            Some(Meaning::Parameter(index, offset)) => {
                let parameter = self.function.parameters.get(*index);
                let name = parameter.map_or("param", |p| p.name);
                let own = format!("{}_", self.function.name);
                let name = name.strip_prefix(own.as_str()).unwrap_or(name);
                let part = if *offset == 0 {
                    String::new()
                } else {
                    format!("_{offset}")
                };
                // Short names are those of loops.
                let plain = if name.contains('_') { "" } else { "p_" };
                Ok(format!("{plain}{}{part}", clean(name)))
            }
            Some(Meaning::Block(axis)) if self.launch.ranks() > 1 => {
                Ok(format!("clusterid_{}", AXES[*axis]))
            }
            Some(Meaning::Block(axis)) => Ok(format!("ctaid_{}", AXES[*axis])),
            Some(Meaning::Blocks(axis)) => Ok(format!("nctaid_{}", AXES[*axis])),
            Some(Meaning::Read(_)) => Err(Obstacle::new(at, "it depends on memory that is read")),
            Some(Meaning::Iteration(_) | Meaning::Carried(_)) => Err(Obstacle::new(
                at,
                "it depends on a loop in a way that is not followed",
            )),
            Some(Meaning::Shared(_) | Meaning::Peer(_)) | None => Err(Obstacle::new(
                at,
                "it depends on where variables lie in shared memory",
            )),
        }
    }

    fn name(&mut self, unknown: Unknown, at: usize) -> Result<String, Obstacle> {
        if !self.loops.contains(&unknown) {
            self.used.insert(unknown);
        }
        self.unknown(unknown, at)
    }

    fn sum(&mut self, sum: &Sum, at: usize) -> Result<String, Obstacle> {
        let mut terms = Vec::new();
        let mut left = sum.clone();
        while let Some((dividend, divisor, factor, rest)) = left.remainder() {
            let dividend = self.sum(&dividend, at)?;
            terms.push((factor, format!("({dividend}) % {divisor}"), true));
            left = rest;
        }
        for (atom, factor) in &left.terms {
            let words = self.atom(atom, at)?;
            terms.push((
                *factor,
                words,
                !matches!(atom, Atom::Unknown(_) | Atom::Product(_)),
            ));
        }
        // A sum is better read when it begins with something added.
        terms.sort_by_key(|(factor, ..)| *factor < 0);
        let mut text = String::new();
        for (factor, words, loose) in &terms {
            let size = factor.abs();
            let words = match (size, loose) {
                (1, false) => words.clone(),
                (1, true) => format!("({words})"),
                (_, false) => format!("{size} * {words}"),
                (_, true) => format!("{size} * ({words})"),
            };
            match (text.is_empty(), *factor < 0) {
                (true, false) => text.push_str(&words),
                (true, true) => text = format!("0 - {words}"),
                (false, false) => {
                    let _ = write!(text, " + {words}");
                }
                (false, true) => {
                    let _ = write!(text, " - {words}");
                }
            }
        }
        let constant = left.constant;
        if text.is_empty() {
            return Ok(constant.to_string());
        }
        if constant > 0 {
            let _ = write!(text, " + {constant}");
        } else if constant < 0 {
            let _ = write!(text, " - {}", -constant);
        }
        Ok(text)
    }

    fn atom(&mut self, atom: &Atom, at: usize) -> Result<String, Obstacle> {
        Ok(match atom {
            Atom::Unknown(unknown) => self.name(*unknown, at)?,
            Atom::Quotient(a, b) => format!("({}) / ({})", self.sum(a, at)?, self.sum(b, at)?),
            Atom::Product(parts) => {
                let mut words = Vec::new();
                for part in parts {
                    words.push(format!("({})", self.atom(part, at)?));
                }
                words.join(" * ")
            }
            Atom::Choice(c, a, b) => format!(
                "if {} then {} else {}",
                self.condition(c, at)?,
                self.sum(a, at)?,
                self.sum(b, at)?
            ),
        })
    }

    fn condition(&mut self, condition: &Condition, at: usize) -> Result<String, Obstacle> {
        Ok(match condition {
            Condition::Constant(value) => value.to_string(),
            Condition::Negative(sum) => {
                let (left, right) = sides(sum);
                let (left, right, relation) = if right.constant == 1 && left.constant == 0 {
                    (left, right.plus_constant(-1), "<=")
                } else {
                    (left, right, "<")
                };
                format!(
                    "{} {relation} {}",
                    self.sum(&left, at)?,
                    self.sum(&right, at)?
                )
            }
            Condition::Zero(sum) => {
                let (left, right) = sides(sum);
                format!("{} == {}", self.sum(&left, at)?, self.sum(&right, at)?)
            }
            Condition::Not(inner) => format!("!({})", self.condition(inner, at)?),
            Condition::And(a, b) => {
                format!(
                    "({}) && ({})",
                    self.condition(a, at)?,
                    self.condition(b, at)?
                )
            }
            Condition::Or(a, b) => {
                format!(
                    "({}) || ({})",
                    self.condition(a, at)?,
                    self.condition(b, at)?
                )
            }
            Condition::Passed(_) => {
                return Err(Obstacle::new(
                    at,
                    "it depends on a single test of an mbarrier",
                ));
            }
        })
    }
}

/// What is expected on an mbarrier is divided among the copies to it that do not say their size:
/// that their boxes fill it is assumed. The share of the copy at this place.
fn boxes(statements: &[Statement], index: usize) -> Option<Sum> {
    let Action::Copy(barrier, None) = &statements.get(index)?.action else {
        return None;
    };
    let expects = |s: &Statement| match &s.action {
        Action::ArriveExpectTx(b, bytes) | Action::ExpectTx(b, bytes) if b == barrier => {
            Some(bytes.clone())
        }
        _ => None,
    };
    let from = (0..index)
        .rev()
        .find(|k| expects(&statements[*k]).is_some())?;
    let mut left = expects(&statements[from])?;
    let (mut open, mut last) = (0i128, index);
    for (number, statement) in statements.iter().enumerate().skip(from + 1) {
        if expects(statement).is_some() {
            break;
        }
        match &statement.action {
            Action::Copy(b, None) if b == barrier => {
                open += 1;
                last = number;
            }
            Action::Copy(b, Some(bytes)) if b == barrier => left = left.minus(bytes),
            _ => {}
        }
    }
    let total = left.as_constant();
    match (open, total) {
        (1, _) => Some(left),
        (_, Some(total)) => {
            let share = total / open;
            let mine = if index == last {
                total - share * (open - 1)
            } else {
                share
            };
            (share > 0).then(|| Sum::of(mine))
        }
        _ => None,
    }
}

/// The terms that are added and those that are taken away, the latter turned around.
fn sides(sum: &Sum) -> (Sum, Sum) {
    let (mut left, mut right) = (Sum::of(0), Sum::of(0));
    // A remainder stays on one side.
    let mut rest = sum.clone();
    while let Some((_, _, factor, below)) = rest.remainder() {
        let whole = rest.minus(&below);
        if factor > 0 {
            left = left.plus(&whole);
        } else {
            right = right.minus(&whole);
        }
        rest = below;
    }
    for (atom, factor) in &rest.terms {
        let one = Sum::atom(atom.clone());
        if *factor > 0 {
            left = left.plus_times(&one, *factor);
        } else {
            right = right.plus_times(&one, -factor);
        }
    }
    if rest.constant > 0 {
        left = left.plus_constant(rest.constant);
    } else {
        right = right.plus_constant(-rest.constant);
    }
    (left, right)
}

fn clean(name: &str) -> String {
    let text: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' {
                c
            } else {
                '_'
            }
        })
        .collect();
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        format!("_{text}")
    } else {
        text
    }
}

/// Text that can stand in a comment.
fn visible(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}
