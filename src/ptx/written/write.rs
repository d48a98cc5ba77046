//! Writes the text of a recovered protocol: declarations, roles and statements, each with its source location.

use super::counted::moves;
use super::launch::Ctas;
use crate::ptx::cta::boxes::Around;
use crate::ptx::cta::boxes::Boxes;
use crate::ptx::cta::boxes::share;
use crate::ptx::cta::data::Buffer;
use crate::ptx::cta::family::Family;
use crate::ptx::cta::memory::Memory;
use crate::ptx::cta::program::Followed;
use crate::ptx::cta::program::skeleton;
use crate::ptx::lines::marked;
use crate::ptx::order::Order;
use crate::ptx::syntax::ast::Function;
use crate::ptx::syntax::ast::Location;
use crate::ptx::syntax::ast::Module;
use crate::ptx::syntax::place::source;
use crate::ptx::warp::machine::Launch;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Cell;
use crate::ptx::warp::statement::How;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Pool;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

/// Writes a protocol.
pub(in crate::ptx) struct Writer<'w, 'a> {
    pub module: &'w Module<'a>,
    pub function: &'w Function<'a>,
    pub launch: &'w Launch,
    /// Whether the thread count was asked for.
    pub given: bool,
    pub order: Order,
    /// Which CTAs the text is about.
    pub ctas: Ctas,
    /// Whether roles are named by their order, as for other numbers of threads.
    pub symbolic: bool,
    pub followed: &'w Followed,
    pub families: &'w [Family],
    /// The data that the kernel reads and writes, if accesses are recovered.
    pub buffers: Option<&'w [Buffer]>,
    /// Which copies deliver the bytes that mbarriers expect.
    pub boxes: &'w Boxes,
    /// Whether warps take registers that other warps have certainly released.
    pub covered: bool,
    /// Whether warps that have exited continue to arrive at a barrier in the protocol.
    pub left: bool,
    /// Whether an mbarrier that copies complete is invalidated.
    pub ended: bool,
    /// The assumed numbers of bytes of tensor copies, in words, by the mbarriers that they complete.
    pub delivered: BTreeMap<String, BTreeSet<String>>,
    /// Whether lanes arrive one by one when their copies have landed.
    pub landed: bool,
    pub out: String,
    pub loops: Vec<Unknown>,
    /// The trip count of each of these loops.
    pub times: Vec<Sum>,
    /// The conditions of the enclosing branches.
    pub conditions: Vec<Condition>,
    pub memory: Memory,
    /// The local variables in scope, with the terms that they stand for.
    pub counted: Vec<(Atom, String)>,
    /// How many local variables have been declared in this role.
    pub declared: usize,
    /// The unknowns that have to be declared.
    pub used: BTreeSet<Unknown>,
}

const PHASES: &str = "more lanes arrive here at once than a phase takes, which is undefined";

/// The assumption for arrivals of several lanes that come when copies have landed.
pub(in crate::ptx) const LANDED: &str =
    "lanes that arrive at an mbarrier at once when their copies have landed do so in one phase";

pub(in crate::ptx) const AXES: [&str; 3] = ["x", "y", "z"];

impl Writer<'_, '_> {
    /// The roles or the grid.
    pub fn roles(&mut self) -> Result<String, Obstacle> {
        if self.followed.counters {
            return self.launched();
        }
        self.programs(&|_| true)
    }

    /// A role for each program, restricted to the actions that `keep` accepts.
    pub fn programs(&mut self, keep: &dyn Fn(&Action) -> bool) -> Result<String, Obstacle> {
        let all = &self.followed.programs;
        for (number, program) in all.iter().enumerate() {
            let mut name = String::new();
            if self.launch.ranks() > 1 {
                let _ = write!(name, "cta{}_", program.rank);
            }
            let count = program.warps.len();
            let first = program.warps.first().copied().unwrap_or(0);
            let last = program.warps.last().copied().unwrap_or(0);
            let consecutive = program.warps.windows(2).all(|w| w[1] == w[0] + 1);
            if self.symbolic {
                let _ = write!(name, "group{number}");
            } else if count == 1 {
                let _ = write!(name, "warp{first}");
            } else if consecutive {
                let _ = write!(name, "warps{first}_{last}");
            } else {
                let _ = write!(name, "warps{first}_and_{}_more", count - 1);
            }
            let index = if count > 1 || self.symbolic {
                format!("[w in 0..{count}]")
            } else {
                String::new()
            };
            let place = if self.buffers.is_some() && self.launch.ranks() > 1 {
                format!(" cta {}", program.rank)
            } else {
                String::new()
            };
            let ctas = match self.ctas.clone() {
                Ctas::Each(axes) => self.indices(&axes),
                _ => String::new(),
            };
            self.declared = 0;
            let _ = writeln!(self.out, "role {name}{ctas}{index} warp{place} {{");
            self.statements(&skeleton(&program.statements, keep), None, program.rank)?;
            self.out.push_str("}\n\n");
        }
        Ok(std::mem::take(&mut self.out))
    }

    /// An object that each CTA has of its own. The indices of the CTA come before these indices.
    fn of_cta(&self, name: &str, rank: u32, indices: &[&str]) -> String {
        let mut all = self.own(rank);
        all.extend(indices.iter().map(|index| (*index).to_owned()));
        bracketed(name, &all)
    }

    pub fn source(&self, at: usize, location: Option<Location>) -> String {
        let source = source(self.module, at, location);
        marked(&source, self.module.line_of(at))
    }

    /// Writes a block. For the block of a branch, `around` has the statements around the branch and its position there.
    pub fn statements(
        &mut self,
        statements: &[Statement],
        around: Option<Around<'_>>,
        rank: u32,
    ) -> Result<(), Obstacle> {
        self.some((statements, 0..statements.len()), around, rank)
    }

    /// Writes some of the statements of a block.
    pub fn some(
        &mut self,
        (statements, range): (&[Statement], Range<usize>),
        around: Option<Around<'_>>,
        rank: u32,
    ) -> Result<(), Obstacle> {
        let variables = self.counted.len();
        let mut index = range.start;
        while let Some(statement) = statements.get(index).filter(|_| index < range.end) {
            let rest = statements.get(index + 1..).unwrap_or_default();
            // `arrive` and `wait` of a cluster are one `sync` if nothing is between them.
            if statement.action == Action::ClusterArrive
                && statement.memory.is_empty()
                && rest
                    .first()
                    .is_some_and(|s| s.action == Action::ClusterWait)
            {
                self.line("sync cluster_bar", statement);
                index += 2;
                continue;
            }
            if Self::meets_grid(statement, rest) {
                let name = self.grid_name(statement);
                self.line(&format!("sync {name}"), statement);
                index += 2;
                continue;
            }
            let unknowns = &self.followed.unknowns;
            let here = (statements, index);
            let sizes = share(self.boxes, here, around, rank, &self.loops, unknowns);
            self.statement(statement, Some(here), rank, sizes)?;
            index += 1;
        }
        self.counted.truncate(variables);
        Ok(())
    }

    fn lines(&mut self, lines: &[String], statement: &Statement) {
        for words in lines {
            self.line(words, statement);
        }
    }

    /// An element of a buffer.
    fn cell(&mut self, cell: &Cell, at: usize) -> Result<String, Obstacle> {
        let mut indices = match self.ctas {
            Ctas::Each(_) => self.own(0),
            _ => Vec::new(),
        };
        for index in &cell.indices {
            indices.push(self.sum(index, at)?);
        }
        Ok(bracketed(&cell.buffer, &indices))
    }

    fn line(&mut self, words: &str, statement: &Statement) {
        let source = self.source(statement.at, statement.location);
        let _ = writeln!(self.out, "{words}  // {source}");
    }

    fn statement(
        &mut self,
        statement: &Statement,
        around: Option<Around<'_>>,
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
            // The effect of these has been written in other statements, or the kernel was refused.
            Action::Inval(_) | Action::ArrivePart(..) | Action::Drop(_) => return Ok(()),
            Action::Arrive(a, n) | Action::Commit(a, n) => {
                let verb = if matches!(statement.action, Action::Arrive(..)) {
                    "arrive"
                } else {
                    "commit"
                };
                let (family, element) = self.element(a, rank, at)?;
                let times = n / family.group;
                // Arrivals of copies that have landed are separate statements, see below.
                let lands = matches!(statement.action, Action::Commit(..));
                if times > family.arrivals
                    && (lands || self.followed.arrival_counts.of(at, *n).parts)
                {
                    return Err(Obstacle::new(at, PHASES));
                }
                let verb = &format!("{verb}{}", suffix(statement.memory, &family));
                if times == 1 {
                    format!("{verb} {element}")
                } else if !lands {
                    // One statement, because these are arrivals of one instruction. If they exceeded the phase, the kernel
                    // would be undefined. This also holds for arrivals of several lanes: such a launch fails on hardware.
                    format!("{verb} {element} {times}")
                } else {
                    self.landed = true;
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
                let memory = statement.memory;
                format!("arrive_expect_tx{memory} {element} {}", self.sum(b, at)?)
            }
            Action::CompleteTx(a, b) => {
                format!(
                    "complete_tx {} {}",
                    self.element(a, rank, at)?.1,
                    self.sum(b, at)?
                )
            }
            Action::Copy(a, bytes, area) => {
                let says = bytes.is_some();
                let Some(bytes) = bytes.clone().or(sizes) else {
                    let unknowns = &self.followed.unknowns;
                    let reason = match self.boxes.is_shared(a, rank, &self.loops, unknowns) {
                        true => {
                            "how many bytes this copy delivers is not known: copies of several \
                             CTAs fill the mbarrier, and their shares of what is expected there \
                             are not known"
                        }
                        false => {
                            "how many bytes this copy delivers is not known, and nothing before \
                             it expects them"
                        }
                    };
                    return Err(Obstacle::new(at, reason));
                };
                let (family, element) = self.element(a, rank, at)?;
                if !says {
                    let bytes = self.sum(&bytes, at)?;
                    self.delivered.entry(family.name).or_default().insert(bytes);
                }
                let cells = area.as_ref().map_or(&[][..], |area| area.cells.as_slice());
                match cells {
                    [] => {
                        let bytes = self.sum(&bytes, at)?;
                        format!("async copy tile completes {element} {bytes}")
                    }
                    [cell] => {
                        let (cell, bytes) = (self.cell(cell, at)?, self.sum(&bytes, at)?);
                        format!("async copy {cell} completes {element} {bytes}")
                    }
                    cells => {
                        let mut lines = Vec::new();
                        for cell in cells {
                            let (words, bytes) = (self.cell(cell, at)?, cell.bytes);
                            lines.push(format!("async copy {words} completes {element} {bytes}"));
                        }
                        self.lines(&lines, statement);
                        return Ok(());
                    }
                }
            }
            Action::WaitOwn(a) => format!("wait {}", self.element(a, rank, at)?.1),
            Action::Wait(a, parity) => {
                format!(
                    "wait{} {} {}",
                    statement.memory,
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
                let rings = self.followed.rings.iter();
                let mut inside = rings.filter_map(|r| Some((r.first, r.index(id)?)));
                let (name, index) = match inside.next() {
                    Some((first, index)) => (format!("cta_bar_{first}"), index),
                    None => ("cta_bar".to_owned(), id.clone()),
                };
                let index = self.sum(&index, at)?;
                format!(
                    "{verb} {} {}",
                    self.of_cta(&name, rank, &[&index]),
                    self.sum(threads, at)?
                )
            }
            Action::ClusterArrive => format!("arrive{} cluster_bar", statement.memory),
            Action::ClusterWait => "wait cluster_bar".to_owned(),
            Action::GridArrive(..) | Action::GridWait(..) => return Err(Self::halves(statement)),
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
            Action::Touch(how, area) => {
                let mut cells = Vec::new();
                for cell in &area.cells {
                    cells.push(self.cell(cell, at)?);
                }
                let verb = match how {
                    How::Read => "read",
                    How::Write => "write",
                    How::Fill => "async copy",
                    How::Drain | How::Take | How::Accumulate => {
                        let verb = match how {
                            How::Drain => "async store reads",
                            How::Take => "async mma reads",
                            _ => "async mma writes",
                        };
                        self.line(&format!("{verb} {}", cells.join(", ")), statement);
                        return Ok(());
                    }
                };
                let lines: Vec<String> = cells.iter().map(|c| format!("{verb} {c}")).collect();
                self.lines(&lines, statement);
                return Ok(());
            }
            Action::CommitGroup(_) => "commit_group".to_owned(),
            Action::WaitGroup(most, true, _) => format!("wait_group {most} read"),
            Action::WaitGroup(most, false, _) => format!("wait_group {most}"),
            Action::Fence(words) => (*words).to_owned(),
            Action::Multiply(group) => {
                let group = group.to_string();
                format!("arrive {}", self.of_cta("warpgroup_bar", rank, &[&group]))
            }
            Action::Multiplied(group) => {
                let group = group.to_string();
                format!("wait {}", self.of_cta("warpgroup_bar", rank, &[&group]))
            }
            // The effect of these is written as phases, or not needed.
            Action::InFlight(..) | Action::Grouped(_) => return Ok(()),
            Action::Issued(group, place, _) => {
                let (group, place) = (group.to_string(), self.sum(place, at)?);
                format!(
                    "arrive {}",
                    self.of_cta("in_flight", rank, &[&group, &place])
                )
            }
            Action::Landed(group, place, parity) => {
                let (group, place) = (group.to_string(), self.sum(place, at)?);
                let parity = self.sum(parity, at)?;
                format!(
                    "wait {} {parity}",
                    self.of_cta("in_flight", rank, &[&group, &place])
                )
            }
            Action::Pair => format!("sync tensor_pair[{}]", rank / 2),
            Action::Acquire(pool, n) | Action::Release(pool, n) => {
                let verb = if matches!(statement.action, Action::Acquire(..)) {
                    "acquire"
                } else {
                    "release"
                };
                let name = match pool {
                    Pool::Columns => "tensor_columns",
                    Pool::Registers => "registers",
                };
                let words = format!(
                    "{verb} {} {}",
                    self.of_cta(name, rank, &[]),
                    self.sum(n, at)?
                );
                // A warp has its registers from the launch on. No other warp takes them before it starts.
                if *pool == Pool::Registers && at == self.function.at.start {
                    let launched = format!("sync {}", self.of_cta("all_launched", rank, &[]));
                    self.lines(&[words, launched], statement);
                    return Ok(());
                }
                words
            }
            Action::For(variable, times, body) => {
                if self.counting((*variable, times, body), statement, rank)? {
                    return Ok(());
                }
                let source = self.source(at, statement.location);
                if times.reads_memory() {
                    let (entry, body, words) = self.row(*variable, times, body, at)?;
                    let place = self.counted.len();
                    let position = Atom::Unknown(*variable);
                    let moves = moves(&body, *variable);
                    if moves {
                        let name = self.declared();
                        self.counted.push((position, name));
                    }
                    self.loops.push(entry);
                    self.times.push(times.clone());
                    let name = self.unknown(entry, at)?;
                    let _ = writeln!(self.out, "for {name} in {words} {{  // {source}");
                    self.statements(&body, None, rank)?;
                    if moves {
                        self.goes_on(place);
                    }
                    self.out.push_str("}\n");
                    // After the loop the name is out of scope.
                    if let Some((count, _)) = self.counted.get_mut(place) {
                        *count = Atom::Product(Vec::new());
                    }
                    self.loops.pop();
                    self.times.pop();
                    return Ok(());
                }
                let words = self.sum(times, at)?;
                self.loops.push(*variable);
                self.times.push(times.clone());
                let name = self.unknown(*variable, at)?;
                let _ = writeln!(self.out, "for {name} in 0..{words} {{  // {source}");
                self.statements(body, None, rank)?;
                self.out.push_str("}\n");
                self.loops.pop();
                self.times.pop();
                return Ok(());
            }
            Action::If(condition, yes, no) => {
                let words = self.condition(condition, at)?;
                let source = self.source(at, statement.location);
                let _ = writeln!(self.out, "if {words} {{  // {source}");
                self.conditions.push(condition.clone());
                self.statements(yes, around, rank)?;
                self.conditions.pop();
                if !no.is_empty() {
                    self.out.push_str("} else {\n");
                    self.conditions.push(condition.negated());
                    self.statements(no, around, rank)?;
                    self.conditions.pop();
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
}

/// An element by its name and indices.
pub(in crate::ptx) fn bracketed(name: &str, indices: &[String]) -> String {
    if indices.is_empty() {
        name.to_owned()
    } else {
        format!("{name}[{}]", indices.join(", "))
    }
}

/// The memory order and scope of an arrival. At a split-phase barrier it has no scope.
fn suffix(memory: &'static str, family: &Family) -> &'static str {
    match memory {
        memory if !family.split => memory,
        memory if memory.starts_with(".relaxed") => ".relaxed",
        _ => "",
    }
}
