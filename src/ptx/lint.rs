//! Lint rules for kernels, applied to what their warps do. A finding is a place worth a look, not a verdict: `check`
//! decides whether it matters.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::cta::program::of_all;
use super::lift::Failure;
use super::lift::Options;
use super::lift::launch;
use super::lift::settle;
use super::lift::whole;
use crate::ptx::cta::family::Family;
use crate::ptx::cta::family::barrier;
use crate::ptx::cta::family::families;
use crate::ptx::cta::family::place;
use crate::ptx::cta::program::Followed;
use crate::ptx::cta::program::Program;
use crate::ptx::cta::program::each;
use crate::ptx::cta::program::follow;
use crate::ptx::syntax::ast::Function;
use crate::ptx::syntax::ast::Module;
use crate::ptx::syntax::inline::inlined;
use crate::ptx::syntax::place::source;
use crate::ptx::syntax::variables::given;
use crate::ptx::warp::machine::Launch;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Pool;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Sum;

/// A place worth looking at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lint {
    /// The name of the rule, as `arrival-count`.
    pub rule: &'static str,
    /// The source line, where the PTX says it.
    pub source: String,
    /// The line of the PTX, from 1.
    pub line: usize,
    /// What is there, as a lowercase fragment.
    pub message: String,
    /// What to do about it, as a lowercase fragment.
    pub hint: &'static str,
}

/// Looks a kernel through.
///
/// Fails if the launch bounds are missing, or if there is something in the kernel's
/// synchronization that is not understood.
pub fn lint(
    module: &Module<'_>,
    function: &Function<'_>,
    options: &Options,
) -> Result<Vec<Lint>, Failure> {
    let launch = launch(module, function, options)?;
    let function = &*given(module, inlined(module, function));
    let followed = match follow(module, function, &launch, false) {
        Ok(followed) => followed,
        // A barrier that the hardware does not have ends the search here.
        Err(obstacle) => match obstacle.rule {
            Some(rule) => {
                let location = function.code.iter().find(|i| i.at == obstacle.at);
                let location = location.and_then(|i| i.location);
                return Ok(vec![Lint {
                    rule: rule.name(),
                    source: source(module, obstacle.at, location),
                    line: module.line_of(obstacle.at),
                    message: obstacle.reason,
                    hint: rule.hint(),
                }]);
            }
            None => return Err(obstacle.into()),
        },
    };
    let mut families = families(&followed.programs, &followed.unknowns)?;
    settle(&mut families, &followed, &launch)?;
    let mut search = Search {
        module,
        function,
        launch: &launch,
        followed: &followed,
        found: Vec::new(),
    };
    search.common_barriers();
    for family in &families {
        search.initialisation(family);
        search.arrivals(family);
        search.trips(family);
    }
    search.named();
    search.commits();
    search.deallocations();
    search.found.sort_by_key(|l| l.line);
    search.found.dedup();
    Ok(search.found)
}

/// Whether waits are left out in as many first rounds as a ring has free stages at the beginning, or fewer.
fn begins_later(waited: &[Sum], arrived: &[Sum], stages: usize) -> bool {
    let ([waited], [arrived]) = (waited, arrived) else {
        return false;
    };
    let left_out = arrived.minus(waited).as_constant();
    left_out.is_some_and(|n| (1..=i128::try_from(stages).unwrap_or(0)).contains(&n))
}

struct Search<'s, 'a> {
    module: &'s Module<'a>,
    function: &'s Function<'a>,
    launch: &'s Launch,
    followed: &'s Followed,
    found: Vec<Lint>,
}

impl Search<'_, '_> {
    fn add(&mut self, rule: &'static str, at: &Statement, message: String, hint: &'static str) {
        let source = source(self.module, at.at, at.location);
        self.found.push(Lint {
            rule,
            source,
            line: self.module.line_of(at.at),
            message,
            hint,
        });
    }

    fn meets(&self, action: &Action) -> bool {
        of_all(action, self.launch) || *action == Action::ClusterWait
    }

    /// The statements of a program that are about a family, with how often the loops around run.
    fn uses<'p>(&self, program: &'p Program, family: &Family) -> Vec<Use<'p>> {
        let mut found = Vec::new();
        visited(&program.statements, &mut |s, times, branch| {
            let Some(address) = barrier(&s.action) else {
                return;
            };
            let Ok(place) = place(address, program.rank, &self.followed.unknowns, s.at) else {
                return;
            };
            let offset = place.offset.as_constant();
            // An index that varies begins at an element of its own family.
            let low = self.followed.unknowns.1.range(&place.offset).0;
            let (first, last) = (family.elements.first(), family.elements.last());
            let near = first.is_some_and(|f| *f <= low) && last.is_some_and(|l| low <= *l);
            let mine = offset.map_or(near, |o| family.elements.contains(&o));
            if family.lies_at(&place) && mine {
                found.push(Use {
                    statement: s,
                    rank: place.rank,
                    constant: offset.is_some(),
                    times: times.to_vec(),
                    inside: branch || !times.is_empty(),
                });
            }
        });
        found
    }

    fn common_barriers(&mut self) {
        if let Err(obstacle) = whole(self.followed, self.launch) {
            let location = self.function.code.iter().find(|i| i.at == obstacle.at);
            let statement = Statement {
                action: Action::ClusterWait,
                at: obstacle.at,
                location: location.and_then(|i| i.location),
                memory: "",
            };
            self.add(
                "cta-barrier-in-role",
                &statement,
                obstacle.reason,
                "inside a role, use a named barrier with the role's thread count",
            );
        }
    }

    fn initialisation(&mut self, family: &Family) {
        let programs = &self.followed.programs;
        let mut initialised = 0;
        let mut first_use = None;
        for program in programs {
            let first_meeting = program
                .statements
                .iter()
                .position(|s| self.meets(&s.action));
            let before = |s: &Statement| {
                let top = program.statements.iter().position(|o| std::ptr::eq(o, s));
                first_meeting.is_none_or(|m| top.is_some_and(|t| t < m))
            };
            let in_head = |s: &Statement| {
                let head = first_meeting.unwrap_or(program.statements.len());
                let mut inside = false;
                each(&program.statements[..head], &mut |o| {
                    inside |= std::ptr::eq(o, s)
                });
                inside
            };
            for one in self.uses(program, family) {
                let statement = one.statement;
                if matches!(statement.action, Action::Init(..)) {
                    initialised += 1;
                    if one.inside || first_meeting.is_some() && !before(statement) {
                        self.add(
                            "init-in-role",
                            statement,
                            format!(
                                "`{}` is initialised in a branch, or after the first barrier of \
                                 all threads",
                                family.name
                            ),
                            "initialise at top level in one thread, before a barrier of all threads",
                        );
                    }
                } else {
                    first_use = first_use.or(Some(statement.clone()));
                    if in_head(statement) {
                        self.add(
                            "use-before-barrier",
                            statement,
                            format!(
                                "`{}` is used with no barrier of all threads between it and the \
                                 initialisation",
                                family.name
                            ),
                            "put a barrier of all threads behind the initialisation",
                        );
                    }
                }
            }
        }
        if let (0, Some(statement)) = (initialised, first_use) {
            self.add(
                "never-initialised",
                &statement,
                format!("`{}` is never initialised", family.name),
                "initialise it, or give the launch that does",
            );
        }
    }

    /// Where every role arrives with one statement, the arrivals of a phase can be added up.
    fn arrivals(&mut self, family: &Family) {
        let mut total: BTreeMap<u32, i128> = BTreeMap::new();
        let mut place = None;
        for program in &self.followed.programs {
            let mut own = 0;
            for one in self.uses(program, family) {
                let count = match &one.statement.action {
                    Action::Arrive(_, n) | Action::Commit(_, n) => *n,
                    Action::ArriveExpectTx(..) => 1,
                    _ => continue,
                };
                own += 1;
                place = place.or(Some(one.statement.clone()));
                // Single elements of an array need not have the same participants.
                if own > self.launch.ranks() || one.constant && family.elements.len() > 1 {
                    return;
                }
                let warps = i128::try_from(program.warps.len()).unwrap_or(0);
                *total.entry(one.rank).or_default() += count * warps;
            }
        }
        let expected = family.arrivals * family.group;
        let Some(statement) = place else { return };
        for (_, found) in total {
            if found != expected {
                self.add(
                    "arrival-count",
                    &statement,
                    format!(
                        "`{}` expects {expected} arrivals, but {found} threads arrive",
                        family.name
                    ),
                    "initialise it with the number of threads that arrive in each phase",
                );
                return;
            }
        }
    }

    /// Whether as many threads come to each named barrier as it counts, all of them equally often.
    fn named(&mut self) {
        let mut all: BTreeMap<(u32, i128), Vec<Coming>> = BTreeMap::new();
        let mut vague = false;
        for program in &self.followed.programs {
            let threads = 32 * i128::try_from(program.warps.len()).unwrap_or(0);
            visited(&program.statements, &mut |s, times, branch| {
                let (Action::Sync(id, count, _) | Action::ArriveNamed(id, count)) = &s.action
                else {
                    return;
                };
                let (Some(id), Some(count)) = (id.as_constant(), count.as_constant()) else {
                    vague = true;
                    return;
                };
                all.entry((program.rank, id)).or_default().push(Coming {
                    warps: program.warps.clone(),
                    threads,
                    count,
                    times: times.to_vec(),
                    branch,
                    statement: s.clone(),
                });
            });
        }
        if vague {
            return;
        }
        for ((_, id), comings) in all {
            let Some(first) = comings.first() else {
                continue;
            };
            let statement = first.statement.clone();
            // A barrier with several counts serves several purposes.
            let count = comings.iter().map(|c| c.count).min().unwrap_or(0);
            // A warp counts as often as it comes: once for each place that it certainly comes to, and once more for all others.
            let mut own: BTreeMap<_, i128> = BTreeMap::new();
            let mut perhaps: BTreeMap<_, i128> = BTreeMap::new();
            for c in &comings {
                match c.branch {
                    true => perhaps.insert(&c.warps, c.threads),
                    false => {
                        *own.entry(&c.warps).or_default() += c.threads;
                        None
                    }
                };
            }
            let come: i128 = own.values().chain(perhaps.values()).sum();
            let warps: BTreeSet<_> = comings.iter().map(|c| &c.warps).collect();
            if comings
                .iter()
                .any(|c| matches!(c.statement.action, Action::Sync(_, _, false)))
            {
                continue;
            }
            // Whoever comes at several places, or not always, may come as often as is right.
            let plain = warps.len() == comings.len()
                && comings.iter().all(|c| !c.branch && c.count == count);
            let even = plain && comings.iter().all(|c| c.times == first.times);
            if come < count || even && come > count {
                let only = if come < count { "only " } else { "" };
                self.add(
                    "arrival-count",
                    &statement,
                    format!("barrier {id} counts {count} threads, but {only}{come} come to it"),
                    "count the threads of the warps that use the barrier",
                );
            }
            let looped = comings.iter().all(|c| !c.times.is_empty());
            let other = comings.iter().find(|c| c.times != first.times);
            if let Some(other) = other.filter(|_| plain && looped) {
                let there = source(self.module, other.statement.at, other.statement.location);
                self.add(
                    "trip-counts",
                    &statement,
                    format!(
                        "the loops around this use of barrier {id} do not run as often as those around the one at \
                         {there}"
                    ),
                    "let both roles compute their trip counts from the same bounds",
                );
            }
        }
    }

    /// Who waits and who arrives do so in loops that run equally often.
    fn trips(&mut self, family: &Family) {
        let mut waits: Option<(Vec<Sum>, Statement)> = None;
        let mut arrivals: Option<(Vec<Sum>, Statement)> = None;
        for program in &self.followed.programs {
            for one in self.uses(program, family) {
                let slot = match &one.statement.action {
                    Action::Wait(..) | Action::WaitOwn(..) => &mut waits,
                    Action::Arrive(..) | Action::Commit(..) | Action::ArriveExpectTx(..) => {
                        &mut arrivals
                    }
                    _ => continue,
                };
                if one.times.is_empty() {
                    return;
                }
                match slot {
                    None => *slot = Some((one.times, one.statement.clone())),
                    // Several places share the work: how much each does is not compared.
                    Some((times, _)) if *times != one.times => return,
                    Some(_) => {}
                }
            }
        }
        if let (Some((waited, statement)), Some((arrived, other))) = (waits, arrivals)
            && waited != arrived
            && !begins_later(&waited, &arrived, family.elements.len())
        {
            let there = source(self.module, other.at, other.location);
            self.add(
                "trip-counts",
                &statement,
                format!(
                    "the loops around this wait for `{}` do not run as often as those around the \
                     arrivals at {there}",
                    family.name
                ),
                "let both roles compute their trip counts from the same bounds",
            );
        }
    }

    fn commits(&mut self) {
        let mut found = Vec::new();
        for program in &self.followed.programs {
            each(&program.statements, &mut |s| {
                let Action::Commit(_, lanes) = s.action else {
                    return;
                };
                let instruction = self.function.code.iter().find(|i| i.at == s.at);
                if lanes > 1 && instruction.is_some_and(|i| i.opcode.starts_with("tcgen05")) {
                    found.push((s.clone(), lanes));
                }
            });
        }
        for (statement, lanes) in found {
            self.add(
                "commit-by-warp",
                &statement,
                format!("{lanes} lanes commit, and each arrives once for it"),
                "commit in the one thread that has issued the multiplications: `elect.sync`",
            );
        }
    }

    fn deallocations(&mut self) {
        let mut found = Vec::new();
        for program in &self.followed.programs {
            for (index, statement) in program.statements.iter().enumerate() {
                if !matches!(statement.action, Action::Release(Pool::Columns, _)) {
                    continue;
                }
                let before = program.statements[..index].iter().rev();
                let near = before
                    .take_while(|s| !matches!(s.action, Action::Acquire(Pool::Columns, _)))
                    .any(|s| self.meets(&s.action) || matches!(s.action, Action::Sync(..)));
                // A barrier between the allocation and the first use does not count.
                let since = program.statements[..index]
                    .iter()
                    .rev()
                    .filter(|s| self.meets(&s.action) || matches!(s.action, Action::Sync(..)))
                    .count();
                let uses = self.followed.programs.len() > 1;
                if uses && (!near || since < 2) {
                    found.push(statement.clone());
                }
            }
        }
        for statement in found {
            self.add(
                "dealloc-without-barrier",
                &statement,
                "tensor memory is freed with no barrier between it and those who read it"
                    .to_owned(),
                "put a barrier of everybody who uses it before the deallocation",
            );
        }
    }
}

/// Warps that come to a named barrier at one place.
struct Coming {
    warps: Vec<u32>,
    threads: i128,
    count: i128,
    /// How often the loops around run.
    times: Vec<Sum>,
    /// Whether there is a branch around.
    branch: bool,
    statement: Statement,
}

/// Calls something for every statement, with how often the loops around it run and whether there is a branch around it.
fn visited<'p>(statements: &'p [Statement], visit: &mut dyn FnMut(&'p Statement, &[Sum], bool)) {
    fn collect<'p>(
        statements: &'p [Statement],
        times: &mut Vec<Sum>,
        branch: bool,
        visit: &mut dyn FnMut(&'p Statement, &[Sum], bool),
    ) {
        for statement in statements {
            visit(statement, times, branch);
            match &statement.action {
                Action::For(_, count, body) => {
                    times.push(count.clone());
                    collect(body, times, branch, visit);
                    times.pop();
                }
                Action::If(_, yes, no) => {
                    collect(yes, times, true, visit);
                    collect(no, times, true, visit);
                }
                _ => {}
            }
        }
    }
    collect(statements, &mut Vec::new(), false, visit);
}

/// A statement about a family.
struct Use<'p> {
    statement: &'p Statement,
    /// The CTA whose mbarrier it is.
    rank: u32,
    /// Whether it is about one certain element.
    constant: bool,
    /// How often the loops around it run.
    times: Vec<Sum>,
    /// Whether it is in a loop or a branch.
    inside: bool,
}
