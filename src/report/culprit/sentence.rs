//! Describes causes in sentences.

use crate::protocol::StmtId;
use crate::semantics::instance::CellId;
use crate::semantics::instance::CellStart;
use crate::semantics::instance::Instance;
use crate::semantics::instance::Op;
use crate::semantics::instance::OpKind;
use crate::semantics::step::CellState;
use crate::witness;

use super::super::ranges;
use super::super::words;
use super::Absent;
use super::Obstacles;
use super::Programs;
use super::Reason;
use super::Sentence;
use super::history::Phase;
use super::phrase::Change;
use super::phrase::helping;
use super::phrase::times_word;
use super::phrase::verb;

/// How many names or clauses a sentence lists.
pub(super) const LISTED: usize = 3;

/// Writes the sentences about one stuck state.
pub struct SentenceWriter<'a> {
    pub source: &'a str,
    pub obstacles: &'a Obstacles<'a>,
    pub programs: &'a Programs<'a>,
}

pub(super) fn text(text: impl Into<String>) -> Sentence {
    Sentence::default().text(text)
}

impl SentenceWriter<'_> {
    pub(super) fn instance(&self) -> &Instance {
        self.obstacles.instance()
    }

    pub(super) fn name(&self, member: usize) -> String {
        self.instance().member_name(member)
    }

    /// The line of an operation.
    pub fn line(&self, op: &Op) -> usize {
        self.line_of(op.stmt)
    }

    pub(super) fn line_of(&self, stmt: StmtId) -> usize {
        let span = self.instance().spans.get(stmt.0).copied();
        witness::line(self.source, span.unwrap_or_default())
    }

    /// The cell that an operation works on.
    pub fn cell(&self, op: &Op) -> &CellState {
        &self.obstacles.state().cells[op.cell.0 as usize]
    }

    pub(super) fn open(&self, op: &Op) -> Phase {
        self.obstacles
            .history()
            .open(op.cell)
            .cloned()
            .unwrap_or_default()
    }

    /// The names of members. Consecutive ones are a range, and of many only the first few are named.
    pub(super) fn names(&self, members: &[usize]) -> String {
        let names: Vec<String> = members.iter().map(|m| self.name(*m)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let together = ranges::ranges(&names);
        match together.len().saturating_sub(LISTED) {
            0 => words::joined(&together),
            more => format!("{} and {more} more", together[..LISTED].join(", ")),
        }
    }

    /// The members whose arrival is missing at a wait, see `Programs::absent`.
    pub fn absent(&self, waiter: usize, op: &Op) -> Vec<Absent> {
        self.programs.absent(self.obstacles, waiter, op.cell)
    }

    /// The members that arrive too seldom although others arrive each time.
    pub fn seldom(&self, waiter: usize, op: &Op) -> Vec<Absent> {
        self.programs.seldom(self.obstacles, waiter, op.cell)
    }

    /// The members whose arrival is missing. `None` if the members that do arrive are enough for a phase, assuming
    /// that each of them arrives as often as it has in some phase.
    pub fn suspects(&self, waiter: usize, op: &Op) -> Option<Vec<Absent>> {
        let absent = self.absent(waiter, op);
        let absent: Vec<Absent> = absent
            .into_iter()
            .filter(|absent| absent.reason != Reason::Elsewhere)
            .collect();
        (self.too_few(op)? && !absent.is_empty()).then_some(absent)
    }

    /// The sentence about a phase that needs more arrivals than its members make, although all of them have arrived
    /// in it. Then no member is away. Either the count is too high, or a member is missing that has no statement for
    /// this.
    pub fn overcounted(&self, waiter: usize, op: &Op) -> Option<Sentence> {
        if !matches!(self.cell(op), CellState::Mbarrier { .. }) {
            return None;
        }
        let open = self.open(op);
        let came = open.members();
        let mut helpers = self.obstacles.helpers(op.cell).iter();
        let all_came = helpers.all(|h| h.ahead == 0 || open.arrivals(h.member) > 0);
        if came.is_empty() || !all_came || self.too_few(op) != Some(true) {
            return None;
        }
        let brought = came.iter().fold(0_i64, |sum, member| {
            sum.saturating_add(open.arrivals(*member))
        });
        let some = self.some_came(waiter, op, brought)?;
        Some(some.text(": whoever arrives there has arrived in this phase already"))
    }

    /// The sentence if no member is away, and no member arrives any more.
    pub(super) fn nobody_left(&self, op: &Op) -> Sentence {
        let helpers = self.obstacles.helpers(op.cell).iter();
        let each = helpers.map(|helper| self.in_a_phase(helper.member, op));
        let most = each.fold(0, i64::saturating_add);
        match (self.needed(op), most) {
            (_, 0) => text(": no statement arrives there"),
            (Some(needed), most) if most < needed => text(match most {
                1 => ": no more than 1 arrival comes in a phase".to_owned(),
                most => format!(": no more than {most} arrivals come in a phase"),
            }),
            _ => text(": whoever arrives there has made all of its arrivals"),
        }
    }

    /// The sentence about how many arrivals came, if more are missing.
    pub(super) fn some_came(&self, waiter: usize, op: &Op, there: i64) -> Option<Sentence> {
        let (CellState::Mbarrier { pending, .. } | CellState::Barrier { pending, .. }) =
            self.cell(op)
        else {
            return None;
        };
        let sentence = text(format!(
            "{} takes {} arrivals, {there} came ({}), and {} waits for the rest",
            self.instance().cell_name(op.cell),
            there.saturating_add(*pending),
            self.names(&self.open(op).members()),
            self.name(waiter),
        ));
        Some(sentence.line(self.line(op)))
    }

    /// How many arrivals complete a phase.
    fn needed(&self, op: &Op) -> Option<i64> {
        match (self.instance().cells[op.cell.0 as usize], self.cell(op)) {
            (CellStart::Mbarrier(expected) | CellStart::Barrier(expected), _) => Some(expected),
            (CellStart::Named, CellState::Named { count, .. }) => Some(count / 32),
            _ => None,
        }
    }

    /// Whether the members that arrive at a barrier are too few for a phase, if each of them arrives as often as it
    /// has in some phase.
    fn too_few(&self, op: &Op) -> Option<bool> {
        let needed = self.needed(op)?;
        let phases = self.obstacles.history().phases(op.cell);
        let helpers = self.obstacles.helpers(op.cell).iter();
        let comes = helpers.filter(|helper| {
            let counted = phases.last().is_some_and(|p| p.arrivals(helper.member) > 0);
            counted || helper.ahead > 0
        });
        let supply = comes
            .map(|helper| self.in_a_phase(helper.member, op))
            .fold(0, i64::saturating_add);
        Some(supply < needed)
    }

    /// The most arrivals of a member in one phase, or in one operation if this is more.
    fn in_a_phase(&self, member: usize, op: &Op) -> i64 {
        let phases = self.obstacles.history().phases(op.cell).iter();
        let most = phases.map(|phase| phase.arrivals(member)).max();
        most.unwrap_or(0).max(self.each(member, op))
    }

    /// The most arrivals of a member in one operation.
    pub(super) fn each(&self, member: usize, op: &Op) -> i64 {
        let ops = self.instance().members[member].ops.iter();
        let counts = ops.filter(|o| o.cell == op.cell).map(|o| match o.kind {
            OpKind::Arrive(count) => count,
            _ => 1,
        });
        counts.max().unwrap_or(1)
    }

    /// `if t == 0`, as it stands in the text.
    pub(super) fn header(&self, stmt: usize) -> String {
        let span = self.instance().spans.get(stmt).copied().unwrap_or_default();
        let text = self.source.get(span.start..span.end).unwrap_or_default();
        let text = text.trim().trim_end_matches('{').trim();
        let text = text.strip_prefix("} else ").unwrap_or(text);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    pub(super) fn away(&self, op: &Op, absent: &[Absent]) -> Sentence {
        let mut groups: Vec<(Absent, Vec<usize>)> = Vec::new();
        for one in absent {
            let role = |m: usize| self.instance().members[m].role;
            let same = groups.iter_mut().find(|(first, who)| {
                first.reason == one.reason
                    && first.came == one.came
                    && role(who[0]) == role(one.member)
            });
            match same {
                Some((_, who)) => who.push(one.member),
                None => groups.push((one.clone(), vec![one.member])),
            }
        }
        // A reason that keeps a member away says more than the fact that the member has arrived before.
        groups.sort_by_key(|(one, _)| matches!(one.reason, Reason::Came(_) | Reason::Elsewhere));
        let mut out = Sentence::default();
        for (at, (one, who)) in groups.iter().take(LISTED).enumerate() {
            if at > 0 {
                out = out.text("; ");
            }
            out = out.and(self.clause(op, who, one));
        }
        match groups.len().saturating_sub(LISTED) {
            0 => out,
            _ => out.text("; and others"),
        }
    }

    /// How the element of a wait changes.
    pub(super) fn changes(&self, op: &Op) -> Change {
        match self.obstacles.changes(op.cell) {
            (true, true) => Change::Both,
            (false, true) => Change::Set,
            (_, false) => Change::Added,
        }
    }

    pub(super) fn clause(&self, op: &Op, who: &[usize], absent: &Absent) -> Sentence {
        let one = who.len() == 1;
        let names = self.names(who);
        let (singular, plural) = verb(op, self.cell(op), self.changes(op));
        let (does, it) = if one {
            (singular, "it")
        } else {
            (plural, "them")
        };
        let never = match absent.came {
            0 => text(format!("{names} never {does}, because ")),
            times => text(format!(
                "{names} {does} only {}, because ",
                times_word(times)
            )),
        };
        let stmt = |number: usize| self.line_of(StmtId(number));
        match absent.reason {
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
            Reason::Skips(planned, number, held, reached) => text(format!(
                "{names} {}, because `{}`",
                in_all(op, does, one, planned),
                self.header(number)
            ))
            .line(stmt(number))
            .text(format!(" holds for {it} {held} of {reached} times")),
            Reason::Returned(number, value) => never
                .text(format!("`{}`", self.header(number)))
                .line(stmt(number))
                .text(format!(" returned {value} to {it}")),
            Reason::Elsewhere => {
                let set = self.obstacles.setters(op.cell);
                let has_set = |member: &usize| set.iter().any(|(setter, ..)| setter == member);
                match who.iter().all(has_set) {
                    true => text(format!("{names} {does} no more")),
                    false => text(format!("{names} never {does}{}", self.elsewhere(op, who))),
                }
            }
            Reason::Came(planned) => {
                let ended = who
                    .iter()
                    .all(|m| self.programs.has_ended(self.obstacles, *m));
                let each = if one { "" } else { " each" };
                let ends = match (ended, one) {
                    (true, true) => " and has ended",
                    (true, false) => " and have ended",
                    (false, _) => " and not again",
                };
                let all = in_all(op, does, one, planned);
                text(format!("{names} {all}{each}{ends}"))
            }
        }
    }

    /// The element at which members help instead: `, only at full[1]`.
    fn elsewhere(&self, op: &Op, who: &[usize]) -> String {
        let object = |cell: CellId| self.instance().cell_place(cell).map(|(object, _)| object);
        let mut others: Vec<CellId> = Vec::new();
        for member in who {
            let ops = self.instance().members[*member].ops.iter();
            let helps =
                |o: &&Op| o.cell != op.cell && helping(o.kind) && object(o.cell) == object(op.cell);
            for other in ops.filter(helps) {
                if !others.contains(&other.cell) {
                    others.push(other.cell);
                }
            }
        }
        match others.as_slice() {
            [] => String::new(),
            [one] => format!(", only at {}", self.instance().cell_name(*one)),
            [one, ..] => format!(
                ", only at others such as {}",
                self.instance().cell_name(*one)
            ),
        }
    }
}

/// What a member does at an element in its whole program, to follow its name: `arrives 3 times`, `adds 3 to it`.
fn in_all(op: &Op, does: &str, one: bool, planned: i64) -> String {
    let s = if one { "s" } else { "" };
    match op.kind {
        OpKind::Acquire(_) => format!("give{s} back {planned}"),
        OpKind::Wait(..) | OpKind::WaitSwap { .. } if planned < 0 => {
            format!("take{s} {} from it", planned.unsigned_abs())
        }
        OpKind::Wait(..) | OpKind::WaitSwap { .. } => format!("add{s} {planned} to it"),
        _ => format!("{does} {}", times_word(planned)),
    }
}
