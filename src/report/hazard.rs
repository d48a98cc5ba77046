//! Sentences about violations of properties other than deadlock: the place, the member, and what would repair it.

mod room;
mod stale;

use crate::protocol::Progress;
use crate::protocol::Span;
use crate::protocol::StmtId;
use crate::semantics::claim::PlacedClaim;
use crate::semantics::claim::value_of;
use crate::semantics::data::Access;
use crate::semantics::data::Data;
use crate::semantics::hazards::Hazard;
use crate::semantics::instance::CellId;
use crate::semantics::instance::Instance;
use crate::semantics::instance::OpKind;
use crate::semantics::simulate::RoundRobin;
use crate::semantics::simulate::Scheduler;
use crate::semantics::step;
use crate::semantics::step::State;
use crate::semantics::step::Violation;
use crate::semantics::step::ViolationKind;
use crate::witness;

use super::cited::Line;
use super::cited::Sentence;

/// The most actions that are simulated to see which of two accesses comes first.
const TURNS: usize = 10_000;

/// A hazard in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HazardText {
    /// One sentence.
    pub sentence: Sentence,
    /// The line of the text it is about, from 1.
    pub line: Option<usize>,
}

/// Describes a hazard of an instance in a state. `data` has to be given if the hazard is about data.
pub fn tell(
    source: &str,
    instance: &Instance,
    data: Option<&Data>,
    state: &State,
    hazard: &Hazard,
) -> HazardText {
    let writer = HazardWriter { source, instance };
    match hazard {
        Hazard::Deviation {
            member,
            op,
            cell,
            counts,
        } => writer.deviation(*member, *op, &instance.cell_name(*cell), *counts),
        Hazard::Lapped { member, op } => writer.lapped(*member, *op),
        Hazard::Undefined(violation) => writer.undefined(violation),
        Hazard::Surplus {
            member,
            stmt,
            cell,
            bytes,
            missing,
        } => {
            let line = writer.line(*stmt);
            let cell = instance.cell_name(*cell);
            let more = bytes - missing;
            told(
                line,
                format!(
                    "{} delivers {bytes} bytes to {cell} at {line}, where the phase lacks only \
                     {missing}: it completes with {more} still to land",
                    instance.member_name(*member)
                ),
            )
        }
        Hazard::Unbalanced { cell, bytes } => writer.unbalanced(*cell, *bytes),
        Hazard::Unready { member, stmt, cell } => {
            let line = writer.line(*stmt);
            told(
                line,
                format!(
                    "{} uses {} at {line}, and nothing makes it wait until that is initialised",
                    instance.member_name(*member),
                    instance.cell_name(*cell)
                ),
            )
        }
        Hazard::TooMuch {
            member,
            op,
            amount,
            capacity,
        } => {
            let (line, cell) = writer.place(*member, *op);
            told(
                line,
                format!(
                    "{} asks for {amount} of {cell} at {line}, of which there are {capacity}",
                    instance.member_name(*member)
                ),
            )
        }
        Hazard::Exited { member, stmt, cell } => {
            let line = writer.line(*stmt);
            let cell = instance.cell_name(*cell);
            told(
                line,
                format!(
                    "{} uses {cell} at {line}, whose CTA may have exited by then: a cluster \
                     barrier before the end, or a wait for this there, would keep it",
                    instance.member_name(*member)
                ),
            )
        }
        Hazard::Kept { .. } | Hazard::Misplaced { .. } | Hazard::Roomless { .. } => {
            room::tell(&writer, data, state, hazard)
        }
        Hazard::Race {
            first,
            second,
            slot,
        } => match data {
            Some(data) => writer.race(data, *first, *second, *slot),
            None => whole("two accesses race"),
        },
        Hazard::Broken { claim } => match data.and_then(|data| data.claims.get(*claim)) {
            Some(claim) => writer.broken(claim, state),
            None => whole("a claim does not hold"),
        },
        Hazard::Stopped { claim } => match data.and_then(|data| data.progress.get(*claim)) {
            Some((progress, span)) => writer.stopped(*progress, *span, state),
            None => whole("nobody can go on"),
        },
        Hazard::Stale {
            write,
            read,
            slot,
            proxy,
            lost,
        } => match data {
            Some(data) => {
                let accesses = (*write, *read);
                stale::tell(&writer, data, accesses, *slot, (*proxy, *lost))
            }
            None => whole("a read does not see a write before it"),
        },
    }
}

fn told(line: Line, sentence: String) -> HazardText {
    HazardText {
        sentence: Sentence::of(&sentence),
        line: Some(line.0),
    }
}

/// A text without a line.
fn whole(sentence: impl Into<String>) -> HazardText {
    HazardText {
        sentence: Sentence::default().text(sentence),
        line: None,
    }
}

struct HazardWriter<'a> {
    source: &'a str,
    instance: &'a Instance,
}

impl HazardWriter<'_> {
    fn line(&self, stmt: StmtId) -> Line {
        let span = self.instance.spans.get(stmt.0).copied();
        Line(witness::line(self.source, span.unwrap_or_default()))
    }

    /// The line of an operation, and its element.
    fn place(&self, member: usize, op: u32) -> (Line, String) {
        let op = self.instance.members[member].ops.get(op as usize);
        op.map_or((Line(0), String::new()), |op| {
            (self.line(op.stmt), self.instance.cell_name(op.cell))
        })
    }

    /// The sentence about a byte count of a barrier to which only one side contributes: expectations or deliveries.
    fn unbalanced(&self, cell: CellId, bytes: i64) -> HazardText {
        let name = self.instance.cell_name(cell);
        let more = bytes.unsigned_abs();
        let (more, are) = match more {
            1 => ("1 more byte".to_owned(), "is"),
            _ => (format!("{more} more bytes"), "are"),
        };
        let (does, sentence) = match bytes {
            ..0 => (
                "delivers",
                format!("{more} {are} delivered to {name} than are expected"),
            ),
            _ => (
                "expects",
                format!("{name} expects {more} than are delivered"),
            ),
        };
        let sentence = format!("over the whole run, {sentence}");
        let members = self.instance.members.iter().enumerate();
        let mut ops = members.flat_map(|(member, all)| all.ops.iter().map(move |op| (member, op)));
        let last = ops.rfind(|(_, op)| {
            let counts = match op.kind {
                OpKind::ExpectTx(_) => bytes >= 0,
                OpKind::CompleteTx(_) | OpKind::Copy(_) => bytes < 0,
                _ => false,
            };
            counts && op.cell == cell
        });
        match last {
            Some((member, op)) => {
                let line = self.line(op.stmt);
                let who = self.instance.member_name(member);
                told(
                    line,
                    format!("{sentence}: {who} {does} bytes there at {line}"),
                )
            }
            None => whole(sentence),
        }
    }

    fn deviation(&self, member: usize, op: u32, cell: &str, counts: (u32, u32)) -> HazardText {
        let (line, _) = self.place(member, op);
        let name = self.instance.member_name(member);
        let kind = self.instance.members[member].ops.get(op as usize);
        let kind = kind.map(|op| op.kind);
        let (less, more) = (counts.0.min(counts.1), counts.0.max(counts.1));
        if matches!(kind, Some(OpKind::WaitParity(_))) {
            let completions = match less {
                1 => "1 completion".to_owned(),
                n => format!("{n} completions"),
            };
            return told(
                line,
                format!(
                    "the wait of {name} for {cell} at {line} passes after {completions} in \
                     one run and after {more} in another: the parity does not tell these phases \
                     apart, and nothing else keeps them apart"
                ),
            );
        }
        let what = match kind {
            Some(OpKind::Sync(_) | OpKind::BarArrive(_)) => "registration",
            Some(OpKind::ExpectTx(_)) => "expectation",
            Some(OpKind::CompleteTx(_) | OpKind::Copy(_)) => "delivery",
            Some(OpKind::Commit) => "commit",
            _ => "arrival",
        };
        told(
            line,
            format!(
                "generation {less} of {cell} can complete without the {what} of {name} at {line}: it \
                 counts in generation {less} in one run and in generation {more} in another"
            ),
        )
    }

    fn broken(&self, claim: &PlacedClaim, state: &State) -> HazardText {
        let mut values: Vec<String> = claim
            .index
            .iter()
            .map(|(n, v)| format!("{n} = {v}"))
            .collect();
        for cell in &claim.cells {
            let name = self.instance.cell_name(*cell);
            let value = format!("{name} = {}", value_of(state, *cell));
            if !values.contains(&value) {
                values.push(value);
            }
        }
        let values = match values.as_slice() {
            [] => String::new(),
            values => format!(" with {}", values.join(", ")),
        };
        let text = &claim.text;
        match claim.at {
            Some((member, _, stmt)) => {
                let line = self.line(stmt);
                let name = self.instance.member_name(member);
                told(
                    line,
                    format!("{name} asserts `{text}` at {line}, which does not hold{values}"),
                )
            }
            None => {
                let line = Line(witness::line(self.source, claim.span));
                told(
                    line,
                    format!("the invariant `{text}` of {line} does not hold{values}"),
                )
            }
        }
    }

    fn stopped(&self, progress: Progress, span: Span, state: &State) -> HazardText {
        let claimed = Line(witness::line(self.source, span));
        let text = progress.text();
        let waiting = step::blocked(self.instance, state);
        match waiting.first() {
            Some(first) => {
                let (line, cell) = self.place(first.member, state.counters[first.member]);
                let name = self.instance.member_name(first.member);
                told(
                    line,
                    format!(
                        "`{text}` of {claimed} does not hold: {name} waits at {cell} in {line} for ever, since nobody can go on"
                    ),
                )
            }
            None => told(
                claimed,
                format!("`{text}` of {claimed} does not hold: nobody can go on"),
            ),
        }
    }

    fn lapped(&self, member: usize, op: u32) -> HazardText {
        let (line, cell) = self.place(member, op);
        let name = self.instance.member_name(member);
        let kind = self.instance.members[member].ops.get(op as usize);
        let sentence = match kind.map(|op| op.kind) {
            Some(OpKind::WaitParity(parity)) => format!(
                "{cell} leaves phase {} and comes back to it while {name} stands before its wait \
                 at {line}: the completion it waits for goes by unseen",
                u8::from(parity)
            ),
            Some(OpKind::Wait(_, wanted)) => format!(
                "{cell} moves on from {wanted} while {name} stands before its wait for that very \
                 value at {line}"
            ),
            _ => format!("{name} is lapped at {line}"),
        };
        told(line, sentence)
    }

    fn undefined(&self, violation: &Violation) -> HazardText {
        let line = self.line(violation.stmt);
        let name = self.instance.member_name(violation.member);
        let cell = self.instance.cell_name(violation.cell);
        let sentence = match violation.kind {
            ViolationKind::OverArrival { count, pending } => {
                let times = match count {
                    1 => "once".to_owned(),
                    more => format!("{more} times"),
                };
                let needed = match pending {
                    0 => "no arrival any more".to_owned(),
                    1 => "only 1 more arrival".to_owned(),
                    more => format!("only {more} more arrivals"),
                };
                format!("{name} arrives {times} at {cell} in {line}, but the phase needs {needed}")
            }
            _ => format!("{name} at {cell} in {line}: {}", violation.kind),
        };
        told(line, sentence)
    }

    fn race(
        &self,
        data: &Data,
        first: (usize, usize),
        second: (usize, usize),
        slot: u32,
    ) -> HazardText {
        let access = |(member, place): (usize, usize)| data.accesses[member][place];
        let (mut a, mut b) = ((first.0, access(first)), (second.0, access(second)));
        // If members act in turn, the access that comes first is the one that was meant to come first.
        if comes_second(self.instance, a, b) {
            std::mem::swap(&mut a, &mut b);
        }
        let line = self.line(b.1.stmt);
        told(
            line,
            format!(
                "{}: {} and {} are not ordered: {}",
                data.slot_name(slot),
                self.access(a),
                self.access(b),
                self.edge(a, b)
            ),
        )
    }

    /// `the write of load at line 9`.
    fn access(&self, (member, access): (usize, Access)) -> String {
        let name = self.instance.member_name(member);
        let line = self.line(access.stmt);
        let verb = if access.write { "write" } else { "read" };
        match access.work {
            None => format!("the {verb} by {name} at {line}"),
            Some(_) => format!("the asynchronous {verb} that {name} starts at {line}"),
        }
    }

    /// A suggestion for ordering the first access before the second.
    fn edge(&self, a: (usize, Access), b: (usize, Access)) -> String {
        let (here, there) = (self.line(a.1.stmt), self.line(b.1.stmt));
        let name = |member: usize| self.instance.member_name(member);
        let signal = match a.0 == b.0 {
            true => String::new(),
            false => format!(", and an arrival after it that {} waits for,", name(b.0)),
        };
        let Some(work) = a.1.work else {
            return format!(
                "an arrival of {} after {here} that {} waits for before {there} would \
                 order them",
                name(a.0),
                name(b.0)
            );
        };
        let landing = work.landing.and_then(|op| {
            let op = self.instance.members[a.0].ops.get(op as usize)?;
            Some(self.instance.cell_name(op.cell))
        });
        let whole = match a.1.write {
            true => " (without `read`)",
            false => "",
        };
        match (landing, work.waited) {
            (Some(cell), _) => format!(
                "a wait of {} before {there} for a phase of {cell} that completes only after \
                 the first access would order them",
                name(b.0)
            ),
            (None, Some(_)) => format!(
                "a `wait_group`{whole} of {} that covers it{signal} before {there} would \
                 order them",
                name(a.0)
            ),
            (None, None) => format!(
                "nothing tells when the first is complete; a `commit`, or a `commit_group` with a \
                 `wait_group 0`{whole}{signal} before {there} would order them"
            ),
        }
    }
}

/// Whether the first of two accesses begins after the second one if members act in turn.
fn comes_second(instance: &Instance, a: (usize, Access), b: (usize, Access)) -> bool {
    if a.0 == b.0 {
        return a.1.order > b.1.order;
    }
    let mut state = step::initial(instance);
    let mut turns = RoundRobin::default();
    let begun = |state: &State, (member, access): (usize, Access)| {
        let counter = state.counters[member];
        counter != step::NOT_STARTED && counter >= access.at
    };
    for _ in 0..TURNS {
        match (begun(&state, a), begun(&state, b)) {
            (false, false) => {}
            (first, _) => return !first,
        }
        let action = turns.next(&step::enabled(instance, &state));
        let Some(action) = action else {
            break;
        };
        if step::apply(instance, &mut state, action).is_err() {
            break;
        }
    }
    false
}
