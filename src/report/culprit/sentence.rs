//! Causes in words.

use crate::protocol::StmtId;
use crate::semantics::instance::CellStart;
use crate::semantics::instance::Instance;
use crate::semantics::instance::Op;
use crate::semantics::instance::OpKind;
use crate::semantics::step::CellState;
use crate::witness;

use super::super::ranges;
use super::super::words;
use super::Absent;
use super::Obstacle;
use super::Obstacles;
use super::Programs;
use super::Reason;
use super::Sentence;
use super::Vain;
use super::history::Phase;
use super::obstacle::LISTED as MOST;
use super::obstacle::Lapped;
use super::obstacle::position;

/// How many names or clauses a sentence lists.
const LISTED: usize = 3;

/// Words for one stuck state.
pub struct Teller<'a> {
    pub source: &'a str,
    pub obstacles: &'a Obstacles<'a>,
    pub programs: &'a Programs<'a>,
}

fn text(text: impl Into<String>) -> Sentence {
    Sentence::default().text(text)
}

impl Teller<'_> {
    fn instance(&self) -> &Instance {
        self.obstacles.instance()
    }

    fn name(&self, member: usize) -> String {
        self.instance().member_name(member)
    }

    /// The line of an operation.
    pub fn line(&self, op: &Op) -> usize {
        self.line_of(op.stmt)
    }

    fn line_of(&self, stmt: StmtId) -> usize {
        let span = self.instance().spans.get(stmt.0).copied();
        witness::line(self.source, span.unwrap_or_default())
    }

    /// The cell that an operation works on.
    pub fn cell(&self, op: &Op) -> &CellState {
        &self.obstacles.state().cells[op.cell.0 as usize]
    }

    fn open(&self, op: &Op) -> Phase {
        self.obstacles
            .history()
            .open(op.cell)
            .cloned()
            .unwrap_or_default()
    }

    /// Names of members: neighbours as a range, of many the first few.
    fn names(&self, members: &[usize]) -> String {
        let names: Vec<String> = members.iter().map(|m| self.name(*m)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let together = ranges::ranges(&names);
        match together.len().saturating_sub(LISTED) {
            0 => words::joined(&together),
            more => format!("{} and {more} more", together[..LISTED].join(", ")),
        }
    }

    /// Who was counted on at a wait and does not come.
    pub fn absent(&self, waiter: usize, op: &Op) -> Vec<Absent> {
        self.programs.absent(self.obstacles, waiter, op.cell)
    }

    /// Who was counted on and does not come, where those who come are too few for a phase if each
    /// comes as often as it has come in one.
    pub fn suspects(&self, waiter: usize, op: &Op) -> Option<Vec<Absent>> {
        let needed = match (self.instance().cells[op.cell.0 as usize], self.cell(op)) {
            (CellStart::Mbarrier(expected) | CellStart::Barrier(expected), _) => expected,
            (CellStart::Named, CellState::Named { count, .. }) => count / 32,
            _ => return None,
        };
        let phases = self.obstacles.history().phases(op.cell);
        let helpers = self.obstacles.helpers(op.cell).iter();
        let comes = helpers.filter(|helper| {
            let counted = phases.last().is_some_and(|p| p.arrivals(helper.member) > 0);
            counted || helper.ahead > 0
        });
        let supply = comes.fold(0_i64, |sum, helper| {
            let most = phases
                .iter()
                .map(|phase| phase.arrivals(helper.member))
                .max();
            let each = self.each(helper.member, op);
            sum.saturating_add(most.unwrap_or(0).max(each))
        });
        let absent = self.absent(waiter, op);
        let absent: Vec<Absent> = absent
            .into_iter()
            .filter(|absent| absent.reason != Reason::Elsewhere)
            .collect();
        (supply < needed && !absent.is_empty()).then_some(absent)
    }

    /// How many arrivals one operation of a member is at most.
    fn each(&self, member: usize, op: &Op) -> i64 {
        let ops = self.instance().members[member].ops.iter();
        let counts = ops.filter(|o| o.cell == op.cell).map(|o| match o.kind {
            OpKind::Arrive(count) => count,
            _ => 1,
        });
        counts.max().unwrap_or(1)
    }

    /// `if t == 0`, as it stands in the text.
    fn header(&self, stmt: usize) -> String {
        let span = self.instance().spans.get(stmt).copied().unwrap_or_default();
        let text = self.source.get(span.start..span.end).unwrap_or_default();
        let text = text.trim().trim_end_matches('{').trim();
        let text = text.strip_prefix("} else ").unwrap_or(text);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn away(&self, op: &Op, absent: &[Absent]) -> Sentence {
        let mut groups: Vec<(Reason, Vec<usize>)> = Vec::new();
        for one in absent {
            let role = |m: usize| self.instance().members[m].role;
            let same = groups
                .iter_mut()
                .find(|(reason, who)| *reason == one.reason && role(who[0]) == role(one.member));
            match same {
                Some((_, who)) => who.push(one.member),
                None => groups.push((one.reason, vec![one.member])),
            }
        }
        // What keeps somebody away says more than that it came and went.
        groups.sort_by_key(|(reason, _)| matches!(reason, Reason::Came(_) | Reason::Elsewhere));
        let mut out = Sentence::default();
        for (at, (reason, who)) in groups.iter().take(LISTED).enumerate() {
            if at > 0 {
                out = out.text("; ");
            }
            out = out.and(self.clause(op, who, *reason));
        }
        match groups.len().saturating_sub(LISTED) {
            0 => out,
            _ => out.text("; and others"),
        }
    }

    fn clause(&self, op: &Op, who: &[usize], reason: Reason) -> Sentence {
        let one = who.len() == 1;
        let names = self.names(who);
        let (singular, plural) = verb(op, self.cell(op));
        let (does, it) = if one {
            (singular, "it")
        } else {
            (plural, "them")
        };
        let never = text(format!("{names} never {does}, because "));
        let stmt = |number: usize| self.line_of(StmtId(number));
        match reason {
            Reason::NotHeld(number) => never
                .text(format!("`{}`", self.header(number)))
                .line(stmt(number))
                .text(format!(" does not hold for {it}")),
            Reason::Held(number) => never
                .text(format!("`{}`", self.header(number)))
                .line(stmt(number))
                .text(format!(" holds for {it}")),
            Reason::NoTrip(number) => never
                .text(format!("`{}`", self.header(number)))
                .line(stmt(number))
                .text(" makes no trip"),
            Reason::Leaves(number) => never
                .text(if one {
                    "it leaves before"
                } else {
                    "they leave before"
                })
                .text(" that")
                .line(stmt(number)),
            Reason::Elsewhere => text(format!("{names} never {does}, only at other elements")),
            Reason::Came(times) => {
                let ended = who
                    .iter()
                    .all(|m| self.programs.has_ended(self.obstacles, *m));
                let each = if one { "" } else { " each" };
                let ends = match (ended, one) {
                    (true, true) => " and has ended",
                    (true, false) => " and have ended",
                    (false, _) => " and not again",
                };
                text(format!("{names} {does} {}{each}{ends}", times_word(times)))
            }
        }
    }

    /// Fewer come than are waited for.
    pub fn short(&self, waiter: usize, op: &Op, absent: &[Absent]) -> Sentence {
        let name = self.name(waiter);
        let cell = self.instance().cell_name(op.cell);
        let line = self.line(op);
        let open = self.open(op);
        let came = open.members();
        let completed = self.obstacles.history().completed(op.cell);
        let expected = self.instance().cells[op.cell.0 as usize];
        let head = match (op.kind, self.cell(op), expected) {
            (OpKind::WaitParity(_), CellState::Uninitialized, _) => {
                text(format!("nobody initialises {cell}, for which {name} waits")).line(line)
            }
            (
                _,
                CellState::Mbarrier { pending, .. },
                CellStart::Mbarrier(all) | CellStart::Uninitialized(all),
            )
            | (_, CellState::Barrier { pending, .. }, CellStart::Barrier(all)) => {
                let there = all.saturating_sub(*pending);
                if there > 0 {
                    text(format!(
                        "{cell} takes {all} arrivals, {there} came ({}), and {name} waits for the rest",
                        self.names(&came)
                    ))
                    .line(line)
                } else if let Some(parity) = self.repeated(waiter, op) {
                    text(format!(
                        "{name} waits for {cell} with parity {parity} twice in a row"
                    ))
                    .line(line)
                    .text(format!(
                        ", and {cell} has completed {} by then, so that takes one more",
                        times_word(completed as i64)
                    ))
                } else if completed > 0 {
                    text(format!(
                        "{cell} completes {}, and {name} waits for one more",
                        times_word(completed as i64)
                    ))
                    .line(line)
                } else {
                    text(format!("nobody arrives at {cell}, for which {name} waits")).line(line)
                }
            }
            (OpKind::Sync(count), CellState::Named { registered, .. }, _) => {
                let there: Vec<usize> = registered.iter().map(|r| r.member as usize).collect();
                let head = text(format!(
                    "{cell} takes {count} threads, {} came ({}), and nobody else comes",
                    32 * there.len(),
                    self.names(&there)
                ))
                .line(line);
                return self.rounds(head, op, absent);
            }
            (OpKind::Wait(..), CellState::Semaphore(now), _) => {
                let helpers = self.obstacles.helpers(op.cell).iter();
                let mut others = helpers.filter(|h| h.member != waiter);
                let none = match others.any(|h| h.planned > 0) {
                    true => "no more is added to it",
                    false => "nobody adds to it",
                };
                text(format!(
                    "{name} waits for {}",
                    words::awaited(self.instance(), op)
                ))
                .line(line)
                .text(format!(", but {cell} stays {now} and {none}"))
            }
            (OpKind::Acquire(amount), CellState::Pool { available }, _) => {
                text(format!("{name} waits for {amount} of {cell}"))
                    .line(line)
                    .text(format!(
                        ", {available} are available, and too little is given back"
                    ))
            }
            _ => text(format!(
                "{name} waits for {}",
                words::awaited(self.instance(), op)
            ))
            .line(line),
        };
        if !absent.is_empty() {
            return head.text(": ").and(self.away(op, absent));
        }
        let own = self.obstacles.helpers(op.cell);
        let own = own.iter().any(|h| h.member == waiter && h.ahead > 0);
        match op.kind {
            _ if own && !matches!(op.kind, OpKind::BarrierWait) => {
                head.text(format!(": only {name} itself would, after that wait"))
            }
            OpKind::BarrierWait => {
                let strangers = self.programs.strangers(op.cell);
                match strangers.is_empty() {
                    true => head.text(": nobody else ever does"),
                    false => head.text(format!(
                        ": {} never {}, having no statement for it",
                        self.names(&strangers),
                        if strangers.len() == 1 { "does" } else { "do" }
                    )),
                }
            }
            OpKind::WaitParity(_) if *self.cell(op) != CellState::Uninitialized => {
                head.text(": no other statement arrives there")
            }
            _ => head,
        }
    }

    /// The parity of a wait, where the wait of the same member before it had the same one.
    fn repeated(&self, waiter: usize, op: &Op) -> Option<u8> {
        let ops = &self.instance().members[waiter].ops;
        let before = ops.iter().take(position(self.obstacles.state(), waiter));
        let mut waits = before.filter(|o| o.cell == op.cell);
        let last = waits.rfind(|o| matches!(o.kind, OpKind::WaitParity(_)))?;
        match (op.kind, last.kind) {
            (OpKind::WaitParity(now), OpKind::WaitParity(then)) if now == then => {
                Some(u8::from(now))
            }
            _ => None,
        }
    }

    /// How the rounds of a named barrier went without those who wait.
    fn rounds(&self, head: Sentence, op: &Op, absent: &[Absent]) -> Sentence {
        let phases = self.obstacles.history().phases(op.cell);
        let completed = phases.len().saturating_sub(1);
        let OpKind::Sync(count) = op.kind else {
            return head;
        };
        let planned = self.obstacles.helpers(op.cell).iter();
        let planned = planned.fold(0_i64, |sum, helper| sum.saturating_add(helper.planned));
        let warps = (count / 32).max(1);
        if completed > 0 && planned % warps != 0 {
            let members = phases.iter().take(completed).flat_map(Phase::members);
            let mut members: Vec<usize> = members.collect();
            members.sort_unstable();
            members.dedup();
            return head.text(format!(
                ": {planned} warps come in all, {warps} to a round, and {} filled {} before",
                self.names(&members),
                if completed == 1 {
                    "one".to_owned()
                } else {
                    completed.to_string()
                }
            ));
        }
        if !absent.is_empty() {
            return head.text(": ").and(self.away(op, absent));
        }
        let strangers = self.programs.strangers(op.cell);
        match strangers.is_empty() {
            true => head,
            false => head.text(format!(
                ": {} {} no statement for it",
                self.names(&strangers),
                if strangers.len() == 1 { "has" } else { "have" }
            )),
        }
    }

    /// A phase went by.
    pub fn lapped(&self, waiter: usize, op: &Op, lapped: Lapped) -> Sentence {
        let name = self.name(waiter);
        let cell = self.instance().cell_name(op.cell);
        let Lapped { awaited, completed } = lapped;
        let phases = self.obstacles.history().phases(op.cell);
        let from = usize::try_from(awaited).unwrap_or(0);
        let over = phases.get(from..phases.len().saturating_sub(1));
        let over = over.unwrap_or_default();
        let came: Vec<&(usize, i64, StmtId)> = over.iter().flat_map(|p| &p.came).collect();
        let mut by: Vec<usize> = came.iter().map(|(who, _, _)| *who).collect();
        by.sort_unstable();
        by.dedup();
        let by = match by.is_empty() {
            true => "others".to_owned(),
            false => self.names(&by),
        };
        let at = came.last().map(|(_, _, stmt)| self.line_of(*stmt));
        if awaited < 0 {
            let out = text(format!("{name} first waits for {cell} with parity 1"))
                .line(self.line(op))
                .text(format!(
                    ", which passes only before {cell} completes, and {by} completed it"
                ));
            let out = match at {
                Some(at) => out.line(at),
                None => out,
            };
            return out.text(": who waits for a completion starts with parity 0");
        }
        let out = text(format!(
            "{name} is lapped: it still waits for phase {awaited} of {cell}"
        ))
        .line(self.line(op))
        .text(format!(
            ", but {by} completed {}",
            phases_word(awaited, completed - 1)
        ));
        let out = match at {
            Some(at) => out.line(at),
            None => out,
        };
        out.text(format!(" without waiting for {name}"))
    }

    /// Bytes that nobody delivers.
    pub fn bytes(&self, waiter: usize, op: &Op, missing: i64) -> Sentence {
        let cell = self.instance().cell_name(op.cell);
        let open = self.open(op);
        let expected = missing.saturating_add(open.delivered);
        let out = text(format!("{cell} expects {}", bytes_word(expected)));
        let out = match open.expects {
            Some((stmt, _)) => out.line(self.line_of(stmt)),
            None => out,
        };
        let out = match open.delivers {
            Some((stmt, _)) => out
                .text(format!(" and gets {}", open.delivered))
                .line(self.line_of(stmt))
                .text(format!(": nobody delivers the other {missing}")),
            None => out.text(" that nobody delivers"),
        };
        out.text(format!("; {} waits for it", self.name(waiter)))
            .line(self.line(op))
    }

    /// More bytes than expected.
    pub fn surplus(&self, waiter: usize, op: &Op, surplus: i64) -> Sentence {
        let cell = self.instance().cell_name(op.cell);
        let phases = self.obstacles.history().phases(op.cell);
        let delivers = phases.iter().rev().find_map(|phase| phase.delivers);
        let expects = phases.iter().rev().find_map(|phase| phase.expects);
        let mut out = text(format!("{cell} gets more bytes than it expects: "));
        if let (Some((to, bytes)), Some((from, expected))) = (delivers, expects) {
            out = out
                .text(format!("{bytes} by each copy"))
                .line(self.line_of(to))
                .text(format!(" where {expected} are expected"))
                .line(self.line_of(from))
                .text(", so that ");
        }
        out.text(format!(
            "phase {} is {} over and never completes; {} waits for it",
            phases.len().saturating_sub(1),
            bytes_word(surplus),
            self.name(waiter)
        ))
        .line(self.line(op))
    }

    /// An exact value that went by.
    pub fn passed(&self, waiter: usize, op: &Op, additions: &[(usize, i64)]) -> Sentence {
        let name = self.name(waiter);
        let cell = self.instance().cell_name(op.cell);
        let mut out = text(format!(
            "{name} waits for {}",
            words::awaited(self.instance(), op)
        ))
        .line(self.line(op))
        .text(", but ");
        let start = self.obstacles.start(op.cell).unwrap_or(0);
        let mut first = true;
        let setters = self.obstacles.setters(op.cell);
        let alone = additions.is_empty() && setters.is_empty();
        if start != 0 || alone {
            out = out.text(format!("{cell} starts at {start}"));
            first = false;
        }
        for (who, amount) in additions.iter().take(LISTED) {
            let who_name = match *who == waiter {
                true => format!("{name} itself"),
                false => self.name(*who),
            };
            let and = if first { "" } else { " and " };
            out = out.text(format!("{and}{who_name} has already added {amount}"));
            if let Some(line) = self.added(*who, op) {
                out = out.line(line);
            }
            first = false;
        }
        for (who, value) in setters.iter().take(LISTED) {
            let and = if first { "" } else { " and " };
            out = out.text(format!("{and}{} set it to {value}", self.name(*who)));
            first = false;
        }
        match additions.len().saturating_sub(LISTED) {
            0 if alone => out.text(" and never goes down"),
            0 => out.text(format!(", and {cell} never goes down")),
            more => out.text(format!(" and {more} more have, and {cell} never goes down")),
        }
    }

    /// Where a member last added to a cell.
    fn added(&self, member: usize, op: &Op) -> Option<usize> {
        let ops = &self.instance().members[member].ops;
        let done = ops.iter().take(position(self.obstacles.state(), member));
        let mut adds = done.filter(|o| o.cell == op.cell && matches!(o.kind, OpKind::Add(_)));
        adds.next_back().map(|o| self.line(o))
    }

    /// Those who wait hold every place.
    pub fn no_place(&self, links: &[(usize, Obstacle)], at: usize) -> Sentence {
        let waits = links.iter().find_map(|(member, obstacle)| match obstacle {
            Obstacle::Wait(op, _) => Some((*member, op)),
            Obstacle::Place(_) | Obstacle::Turn(_) => None,
        });
        let (last, obstacle) = &links[at];
        let (Some((member, op)), Obstacle::Place(held)) = (waits, obstacle) else {
            return self.unstarted(*last, obstacle);
        };
        let holds = match held.as_slice() {
            [one] => format!("{} holds the only place", self.name(*one)),
            // Not all are listed.
            many if many.len() >= MOST => "every place is taken".to_owned(),
            many => format!("{} hold all {} places", self.names(many), many.len()),
        };
        text(format!(
            "{} waits for {}",
            self.name(member),
            words::awaited(self.instance(), op)
        ))
        .line(self.line(op))
        .text(format!(
            ", which needs {}; that cannot start, because {holds}",
            self.name(*last)
        ))
    }

    /// A member that does not start.
    pub fn unstarted(&self, member: usize, obstacle: &Obstacle) -> Sentence {
        let why = self.why(member, obstacle);
        text(format!("{} cannot start: {why}", self.name(member)))
    }

    /// Members that wait for each other.
    pub fn circle(&self, links: &[(usize, Obstacle)]) -> Sentence {
        let fresh = links.iter().all(|(_, obstacle)| match obstacle {
            Obstacle::Wait(op, _) => {
                matches!(op.kind, OpKind::WaitParity(false))
                    && self.obstacles.history().completed(op.cell) == 0
            }
            Obstacle::Place(_) | Obstacle::Turn(_) => false,
        });
        let shown = links.len().min(LISTED + 1);
        let mut out = match links {
            [_] => text("a circular wait: "),
            [(a, _), (b, _)] => text(format!(
                "{} and {} wait for each other: ",
                self.name(*a),
                self.name(*b)
            )),
            _ => text("a circular wait: "),
        };
        for (at, (member, obstacle)) in links.iter().take(shown).enumerate() {
            if at > 0 {
                out = out.text(", ");
            }
            let next = links[(at + 1) % links.len()].0;
            out = out.and(self.link(*member, obstacle, Some(next)));
        }
        if links.len() > shown {
            out = out.text(format!(", and {} more", links.len() - shown));
        }
        match fresh {
            true => out.text(
                ": no barrier here has ever completed, so one of these first waits has to be for \
                 parity 1",
            ),
            false => out,
        }
    }

    /// Who waits where for whom.
    pub fn link(&self, member: usize, obstacle: &Obstacle, next: Option<usize>) -> Sentence {
        let name = self.name(member);
        match obstacle {
            Obstacle::Wait(op, vain) => {
                let cell = self.instance().cell_name(op.cell);
                let out = text(name).line(self.line(op));
                match (next, vain) {
                    (Some(next), Vain::Others(_)) => out.text(format!(
                        " for {} to {}",
                        self.name(next),
                        helps(op, self.cell(op), &cell)
                    )),
                    _ => out.text(format!(" for {}", words::awaited(self.instance(), op))),
                }
            }
            Obstacle::Place(_) | Obstacle::Turn(_) => self.unstarted(member, obstacle),
        }
    }

    /// Why a member waits in vain, in few words.
    pub fn why(&self, member: usize, obstacle: &Obstacle) -> String {
        match obstacle {
            Obstacle::Wait(op, Vain::Others(others)) => {
                let cell = self.instance().cell_name(op.cell);
                let does = helps(op, self.cell(op), &cell);
                let first = self.name(others[0]);
                format!("{first}, which would {does}, is stuck itself")
            }
            Obstacle::Wait(op, Vain::Short) => {
                let absent = self.absent(member, op);
                match absent.is_empty() {
                    true => "nobody else comes".to_owned(),
                    false => self.away(op, &absent).say(Some),
                }
            }
            Obstacle::Wait(_, Vain::Passed(_)) => "it is past that and never goes down".to_owned(),
            Obstacle::Wait(_, Vain::Lapped(_)) => "that phase is over".to_owned(),
            Obstacle::Wait(_, Vain::Bytes(missing)) => {
                format!("nobody delivers the missing {}", bytes_word(*missing))
            }
            Obstacle::Wait(_, Vain::Surplus(more)) => {
                format!("{} too many were delivered", bytes_word(*more))
            }
            Obstacle::Place(held) => match held.as_slice() {
                [] => "there is no place for it".to_owned(),
                [one] => format!("{} holds the only place", self.name(*one)),
                many if many.len() >= MOST => "every place is taken".to_owned(),
                many => format!("{} hold all places", self.names(many)),
            },
            Obstacle::Turn(next) => format!("{} starts first", self.name(*next)),
        }
    }
}

/// What would end a wait at a cell.
fn helps(op: &Op, state: &CellState, cell: &str) -> String {
    match (op.kind, state) {
        (_, CellState::Uninitialized) => format!("initialise {cell}"),
        (_, CellState::Mbarrier { pending: 0, .. }) => format!("deliver bytes to {cell}"),
        (OpKind::Acquire(_), _) => format!("give back to {cell}"),
        (OpKind::Sync(_), _) => format!("come to {cell}"),
        (OpKind::Wait(..), _) => format!("add to {cell}"),
        _ => format!("arrive at {cell}"),
    }
}

/// What would end a wait, with members as the subject: one of them and more.
fn verb(op: &Op, state: &CellState) -> (&'static str, &'static str) {
    match (op.kind, state) {
        (_, CellState::Uninitialized) => ("does", "do"),
        (OpKind::Acquire(_), _) => ("gives back", "give back"),
        (OpKind::Sync(_), _) => ("comes", "come"),
        (OpKind::Wait(..), _) => ("adds to it", "add to it"),
        _ => ("arrives", "arrive"),
    }
}

/// `once`, `3 times`.
fn times_word(times: i64) -> String {
    match times {
        1 => "once".to_owned(),
        times => format!("{times} times"),
    }
}

/// `phase 1`, `phases 0 and 1`, `phases 1 to 4`.
fn phases_word(from: i64, to: i64) -> String {
    match to - from {
        0 => format!("phase {to}"),
        1 => format!("phases {from} and {to}"),
        _ => format!("phases {from} to {to}"),
    }
}

/// `1 byte`, `2 bytes`.
fn bytes_word(bytes: i64) -> String {
    match bytes {
        1 => "1 byte".to_owned(),
        bytes => format!("{bytes} bytes"),
    }
}
