//! Finds the statements that an observation is about, and decides whether a state matches the observation.
//!
//! A statement stands in a line of the protocol's text, and in a line of the kernel's text. A comment after it names
//! its line of the source (`// gemm.cu:430`). A thread that was seen has a stack of frames. The innermost frame at
//! whose line the protocol waits counts. The frames inside it are helpers, and those outside it are its callers.

use std::sync::LazyLock;

use regex_lite::Regex;

use super::Labelled;
use super::Observation;
use super::Place;
use super::name_of;
use crate::protocol::Protocol;
use crate::protocol::Stmt;
use crate::protocol::StmtId;
use crate::protocol::StmtKind;
use crate::semantics::instance::CellId;
use crate::semantics::instance::CellStart;
use crate::semantics::instance::Instance;
use crate::semantics::instance::OpKind;
use crate::semantics::step;
use crate::semantics::step::Blocked;
use crate::semantics::step::CellState;
use crate::semantics::step::State;

/// A place at the end of a line: `// gemm.cu:430` or `// line 51`.
static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"([A-Za-z0-9_.+@~/\\-]*[A-Za-z0-9_]\.[A-Za-z]{1,5}):(\d+)|\bline (\d+)").ok()
});

/// The texts that the lines of a protocol come from.
#[derive(Debug, Clone, Copy)]
pub struct Texts<'a> {
    /// The protocol's file, or the kernel's.
    pub file: &'a str,
    /// For each line of a recovered protocol: the line of the kernel's file. `None` if the protocol was not recovered
    /// but read from the file.
    pub kernel: Option<&'a [Option<usize>]>,
}

impl Texts<'_> {
    /// Whether a place is in the file itself. A place without a file name is taken to be there.
    fn has(&self, place: &Place) -> bool {
        let file = place.file.as_deref();
        file.is_none_or(|file| name_of(file) == name_of(self.file))
    }
}

/// How a thread that was seen relates to this protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Is {
    /// The thread waits at this place, which belongs to these statements.
    Waiting(Place, Vec<StmtId>),
    /// The thread waits for a parity, but its lines are not in the protocol. It may be at any of these statements.
    Somewhere(Vec<StmtId>),
    /// The protocol contains its line, but does not wait there.
    Running(Place),
    /// None of its lines is in the protocol.
    Elsewhere,
}

/// An observation, related to a protocol.
#[derive(Debug, Clone)]
pub struct Bound<'o> {
    /// What was seen.
    pub observation: &'o Observation,
    /// The relation of each thread.
    pub each: Vec<Is>,
    /// Whether the names of roles contain the numbers of their warps.
    by_warp: bool,
}

/// A statement and its places.
struct Site {
    id: StmtId,
    waits: bool,
    parity: bool,
    places: Vec<Place>,
}

/// Finds the statements that an observation is about.
pub fn bind<'o>(protocol: &Protocol, texts: Texts<'_>, observation: &'o Observation) -> Bound<'o> {
    let sites = sites(protocol, texts);
    let each = observation.seen.iter().map(|seen| {
        let mut running = None;
        for place in &seen.places {
            let here: Vec<&Site> = sites.iter().filter(|site| site.is_at(place)).collect();
            let waits = here.iter().filter(|site| {
                // A thread that waits for a parity can only be at a wait by parity.
                site.waits && (seen.parity.is_none() || site.parity)
            });
            let waits: Vec<StmtId> = waits.map(|site| site.id).collect();
            if !waits.is_empty() {
                return Is::Waiting(place.clone(), waits);
            }
            if !here.is_empty() {
                running = running.or(Some(place.clone()));
            }
        }
        // A line outside of the protocol may be in a library of the kernel, and then the thread may be at any wait by
        // parity. This cannot be if all places of the thread are in the protocol's own file, unless comments of the
        // protocol name lines of its kernel: then the places may be meant as such lines.
        let is_own = texts.kernel.is_none()
            && sites.iter().all(|site| site.places.len() < 2)
            && !seen.places.is_empty()
            && seen.places.iter().all(|place| texts.has(place));
        match (running, seen.parity) {
            (running, Some(_)) if is_own => running.map_or(Is::Elsewhere, Is::Running),
            (Some(place), None) => Is::Running(place),
            (_, Some(_)) => {
                let all = sites.iter().filter(|site| site.parity);
                let all: Vec<StmtId> = all.map(|site| site.id).collect();
                if all.is_empty() {
                    Is::Elsewhere
                } else {
                    Is::Somewhere(all)
                }
            }
            (None, None) => Is::Elsewhere,
        }
    });
    Bound {
        observation,
        each: each.collect(),
        by_warp: texts.kernel.is_some(),
    }
}

/// The lines at which a protocol waits, as a debugger would show them.
pub fn waits(protocol: &Protocol, texts: Texts<'_>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for site in sites(protocol, texts).iter().filter(|site| site.waits) {
        // The last place is the one in the source, if there is one.
        let shown = site.places.last().map(Place::to_string);
        all.extend(shown.filter(|shown| !all.contains(shown)));
    }
    all
}

impl Site {
    fn is_at(&self, place: &Place) -> bool {
        self.places.iter().any(|own| {
            let same = match (&own.file, &place.file) {
                (Some(own), Some(other)) => name_of(own) == name_of(other),
                _ => true,
            };
            same && own.line == place.line
        })
    }
}

fn sites(protocol: &Protocol, texts: Texts<'_>) -> Vec<Site> {
    let lines: Vec<&str> = protocol.source.lines().collect();
    let mut all = Vec::new();
    for role in &protocol.roles {
        collect(&role.body, &mut |stmt| {
            let before = protocol.source.get(..stmt.span.start).unwrap_or_default();
            let line = before.matches('\n').count();
            let mut places = Vec::new();
            let kernel = match texts.kernel {
                None => Some(line + 1),
                Some(lines) => lines.get(line).copied().flatten(),
            };
            places.extend(kernel.map(|line| Place {
                file: Some(texts.file.to_owned()),
                line,
            }));
            let comment = lines.get(line).and_then(|line| line.split_once("//"));
            if let (Some((_, comment)), Some(named)) = (comment, NAMED.as_ref()) {
                places.extend(named.captures_iter(comment).filter_map(|found| {
                    let file = found.get(1).map_or(texts.file, |file| file.as_str());
                    let line = found.get(2).or(found.get(3))?;
                    Some(Place {
                        file: Some(file.to_owned()),
                        line: line.as_str().parse().ok()?,
                    })
                }));
            }
            all.push(Site {
                id: stmt.id,
                waits: blocks(&stmt.kind),
                parity: matches!(stmt.kind, StmtKind::WaitParity { .. }),
                places,
            });
        });
    }
    all
}

fn collect(body: &[Stmt], with: &mut dyn FnMut(&Stmt)) {
    for stmt in body {
        with(stmt);
        match &stmt.kind {
            StmtKind::If {
                then, otherwise, ..
            } => {
                collect(then, with);
                collect(otherwise, with);
            }
            StmtKind::For { body, .. } => collect(body, with),
            _ => {}
        }
    }
}

fn blocks(kind: &StmtKind) -> bool {
    matches!(
        kind,
        StmtKind::Wait { .. }
            | StmtKind::WaitParity { .. }
            | StmtKind::Sync { .. }
            | StmtKind::BarrierWait { .. }
            | StmtKind::Acquire { .. }
    )
}

impl<'o> Bound<'o> {
    /// An observation of which no line belongs to the protocol.
    pub fn unrelated(observation: &'o Observation) -> Bound<'o> {
        Bound {
            observation,
            each: vec![Is::Elsewhere; observation.seen.len()],
            by_warp: false,
        }
    }
}

impl Bound<'_> {
    /// Whether the observation constrains states at all.
    pub fn says_something(&self) -> bool {
        self.each
            .iter()
            .any(|is| matches!(is, Is::Waiting(..) | Is::Somewhere(_)))
    }

    /// Whether the observation distinguishes members of one role.
    pub fn tells_apart(&self) -> bool {
        let mut seen = self.observation.seen.iter();
        self.by_warp && seen.any(|seen| self.observation.warp_of(seen).is_some())
    }

    /// Whether a state matches the observation. For each thread that waits, some member has to wait in this way.
    /// Equal addresses have to be equal barriers. Barriers that are named have to have the observed phases and
    /// counts.
    pub fn is_seen_in(&self, instance: &Instance, state: &State) -> bool {
        let blocked = step::blocked(instance, state);
        let mut wanted: Vec<(Option<Address>, Vec<CellId>)> = Vec::new();
        for position in 0..self.each.len() {
            let members = self.members(position, instance, &blocked);
            let Some(members) = members else { continue };
            if members.is_empty() {
                return false;
            }
            let mut cells: Vec<CellId> = members.iter().map(|b| b.op.cell).collect();
            cells.sort();
            cells.dedup();
            let seen = &self.observation.seen[position];
            // An address of shared memory is another barrier in each block.
            let address = seen.address.map(|at| (seen.block.map(|b| b.0), at));
            wanted.push((address, cells));
        }
        self.observation
            .barriers
            .iter()
            .all(|barrier| agrees(barrier, instance, state))
            && distinct(&wanted, &mut Vec::new())
    }

    /// The members that wait as this thread does; `None` if the thread is not known to wait.
    pub fn members<'b>(
        &self,
        position: usize,
        instance: &Instance,
        blocked: &'b [Blocked],
    ) -> Option<Vec<&'b Blocked>> {
        let (Is::Waiting(_, stmts) | Is::Somewhere(stmts)) = self.each.get(position)? else {
            return None;
        };
        let seen = self.observation.seen.get(position)?;
        let warp = self.observation.warp_of(seen).filter(|_| self.by_warp);
        let waits = blocked.iter().filter(|b| {
            let other = warp.zip(called_warp(instance, b.member));
            if other.is_some_and(|(seen, called)| seen != called) {
                return false;
            }
            let parity = match (b.op.kind, seen.parity) {
                (OpKind::WaitParity(own), Some(parity)) => own == parity,
                _ => true,
            };
            parity && stmts.contains(&b.op.stmt)
        });
        Some(waits.collect())
    }
}

/// The number of the warp within its CTA that a member of a recovered protocol is, if the name of its role contains
/// this number: `warp4`, or one of `warps1_3`. For the latter, the last index is the position in the range.
fn called_warp(instance: &Instance, member: usize) -> Option<i64> {
    let member = instance.members.get(member)?;
    let role = instance.roles.get(member.role)?;
    let name = role
        .name
        .split_once('_')
        .filter(|(cta, _)| cta.starts_with("cta"));
    let name = name.map_or(role.name.as_str(), |(_, rest)| rest);
    if let Some(number) = name.strip_prefix("warp").and_then(|n| n.parse().ok()) {
        return Some(number);
    }
    let (first, last) = name.strip_prefix("warps")?.split_once('_')?;
    let (first, last): (i64, i64) = (first.parse().ok()?, last.parse().ok()?);
    let places = instance.members.get(role.members.clone())?.iter();
    let most = places.filter_map(|m| m.index.last().copied()).max()?;
    // If the warps are not consecutive, the two numbers in the name are two warps and no range.
    (last.checked_sub(first)? == most).then_some(first.checked_add(*member.index.last()?)?)
}

/// A block, if it is known, and an address in it.
type Address = (Option<[i64; 3]>, u64);

/// Whether every address can be assigned to one of its barriers, such that different addresses of a block get
/// different barriers.
fn distinct(wanted: &[(Option<Address>, Vec<CellId>)], taken: &mut Vec<(Address, CellId)>) -> bool {
    let Some(((address, cells), rest)) = wanted.split_first() else {
        return true;
    };
    let Some(address) = address else {
        return distinct(rest, taken);
    };
    for cell in cells {
        let fits = taken.iter().all(|(other, used)| {
            let same_block = other.0 == address.0;
            !same_block || (other.1 == address.1) == (used == cell)
        });
        if fits {
            taken.push((*address, *cell));
            if distinct(rest, taken) {
                return true;
            }
            taken.pop();
        }
    }
    false
}

/// Whether a barrier that is called by its name has the observed phase and count. The protocol may count groups of
/// threads where the hardware barrier counts threads.
fn agrees(barrier: &Labelled, instance: &Instance, state: &State) -> bool {
    let cell = (0..instance.cells.len()).find(|cell| {
        u32::try_from(*cell).is_ok_and(|id| instance.cell_name(CellId(id)) == barrier.label)
    });
    let Some(cell) = cell else { return true };
    let (Some(CellState::Mbarrier { pending, phase, tx }), Some(start)) =
        (state.cells.get(cell), instance.cells.get(cell))
    else {
        return true;
    };
    let (CellStart::Mbarrier(arrivals) | CellStart::Uninitialized(arrivals)) = start else {
        return true;
    };
    let word = &barrier.word;
    let group = (word.expected / arrivals.max(&1)).max(1);
    // In a word that has just completed its phase, all arrivals of the next phase are missing.
    let pending_seen = (word.pending + group - 1) / group;
    *phase == word.phase && *pending == pending_seen && (*tx != 0) == word.bytes
}
