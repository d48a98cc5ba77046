//! What data decides, as text: parameters where it decides once, patterns where it decides in every iteration of a
//! loop. A branch in a loop is then written as a loop over a row of one column, which runs once or not at all, and a
//! loop that data ends as one over a row of as many columns as it may run: how much there was before an iteration is
//! then how much there is in the rows before, which proofs know about. A branch on a remainder of the iteration is
//! written so, too, with a pattern that says which iterations those are.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::words::source;
use super::write::Writer;
use crate::ptx::cta::program::each;
use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::machine::MOST_PARAMETER;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::rewrite::mapped;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;

/// What has been found that data decides while statements were written.
#[derive(Debug, Default)]
pub(in crate::ptx) struct Data {
    /// What is decided once, with its name.
    once: BTreeMap<Atom, String>,
    /// What is another one in every iteration, with the pattern's name.
    rows: BTreeMap<Row, String>,
    /// Loops over rows that are being written, by their variables, with the number of columns.
    open: BTreeMap<Unknown, String>,
    /// The declarations, in order.
    declared: Vec<String>,
}

/// What a pattern stands for, with its coordinates in the place of the loops around.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    Holds(Condition),
    Runs(Sum),
}

/// Unknowns from here on stand for the coordinates of patterns.
const FIRST_AXIS: u32 = (1 << 30) + (1 << 20);

/// Unknowns from here on are the variables of loops over rows.
const FIRST_ROW: u32 = (1 << 31) + (1 << 20);

/// Loops that a pattern can have as coordinates, beside the last one.
const MOST_AXES: usize = 3;

impl Writer<'_, '_> {
    /// The name of what data decides once.
    pub fn datum_name(&self, unknown: Unknown) -> String {
        let origin = |u: Unknown| match self.followed.unknowns.meaning(u) {
            Some(Meaning::Datum(datum)) => Some(("data", datum.at)),
            Some(Meaning::Until(_, at)) => Some(("rounds", *at)),
            _ => None,
        };
        let Some((stem, at)) = origin(unknown) else {
            return "data".to_owned();
        };
        // Several at one place are told apart by their order.
        let before = (0..unknown.0).filter(|u| origin(Unknown(*u)) == Some((stem, at)));
        let line = self.module.line_of(at);
        match before.count() {
            0 => format!("{stem}_{line}"),
            more => format!("{stem}_{line}_{}", more + 1),
        }
    }

    /// What data decides once: memory that nobody writes, or what an iteration found that is known by its number.
    pub fn once(&mut self, atom: &Atom, at: usize) -> Result<String, Obstacle> {
        let moving = |u: Unknown| self.loops.contains(&u);
        if self.followed.counters {
            return Err(Obstacle::new(at, "it depends on memory that is read"));
        }
        if atom.mentions(&moving) {
            let reason = "what data decides in every iteration is used for more than to decide";
            return Err(Obstacle::new(at, reason));
        }
        if let Some(name) = self.data.once.get(atom) {
            return Ok(name.clone());
        }
        let number = self.data.once.len() + 1;
        let name = match atom {
            Atom::Datum(unknown, _) => format!("{}_at_{number}", self.datum_name(*unknown)),
            _ => format!("word_{number}"),
        };
        let (low, high) = self.followed.unknowns.1.range(&Sum::atom(atom.clone()));
        let line = format!("param {name} in {low}..={high}  // what memory holds\n");
        self.data.declared.push(line);
        self.data.once.insert(atom.clone(), name.clone());
        Ok(name)
    }

    /// Whether a branch is written as a loop over a row: whether data decides about it in every iteration, or the
    /// remainder of one about barriers.
    fn by_rounds(&self, condition: &Condition, both: [&[Statement]; 2]) -> bool {
        if self.followed.counters {
            return false;
        }
        let mut found = Found::default();
        look_condition(condition, &|u| self.loops.contains(&u), &mut found);
        // A pattern knows nothing of who asks, and a row nothing of the number of the round.
        let member = Some(&Meaning::Member);
        let strange = |u: Unknown| {
            self.data.open.contains_key(&u) || self.followed.unknowns.meaning(u) == member
        };
        found.remainder &= !condition.mentions(&strange);
        let mut meets = false;
        for statements in both {
            each(statements, &mut |s| {
                meets |= matches!(s.action, Action::Sync(..) | Action::ArriveNamed(..));
            });
        }
        found.data || found.remainder && meets
    }

    /// Writes a branch in a loop that is taken in some iterations. Returns whether it is such a one.
    pub fn branch_by_rounds(
        &mut self,
        condition: &Condition,
        [yes, no]: [&[Statement]; 2],
        statement: &Statement,
        rank: u32,
    ) -> Result<bool, Obstacle> {
        if !self.by_rounds(condition, [yes, no]) {
            return Ok(false);
        }
        for (condition, body) in [(condition.clone(), yes), (condition.negated(), no)] {
            if body.is_empty() {
                continue;
            }
            let head = self.taken(&condition, statement.at)?;
            self.conditions.push(condition);
            let variable = self.begin(&head, "1".to_owned(), statement)?;
            self.statements(body, None, rank)?;
            self.end(variable);
            self.conditions.pop();
        }
        Ok(true)
    }

    /// Writes a loop that data ends in every iteration of another one. Returns whether it is such a one.
    pub fn loop_by_rounds(
        &mut self,
        variable: Unknown,
        times: &Sum,
        body: &[Statement],
        statement: &Statement,
        rank: u32,
    ) -> Result<bool, Obstacle> {
        let mut found = Found::default();
        look(times, &|u| self.loops.contains(&u), &mut found);
        if !found.data || self.followed.counters {
            return Ok(false);
        }
        let at = statement.at;
        // One more than what is never negative: the last round stands behind the loop.
        let less = times.plus_constant(-1);
        let more = times.constant == 1 && self.followed.unknowns.1.range(&less).0 >= 0;
        let runs = if more { &less } else { times };
        let used = std::cell::Cell::new(false);
        let mut plain = true;
        let own = |u: Unknown| u == variable;
        mapped(
            body,
            &|sum| {
                used.set(used.get() | sum.mentions(&own));
                sum.clone()
            },
            &|condition| {
                used.set(used.get() | condition.mentions(&own));
                condition.clone()
            },
        );
        each(body, &mut |s| match &s.action {
            Action::For(..) | Action::If(..) => {}
            action => plain &= !mentions(action, variable),
        });
        if !plain || more && used.get() {
            let reason = "data decides how often this loop runs in every iteration of another one, and what \
                          it does depends on its own";
            return Err(Obstacle::new(at, reason));
        }
        let (axes, extents, canonical) =
            self.coordinates(&|u| runs.mentions(&|own| own == u), at)?;
        let key = Row::Runs(Facts::default().replaced(runs, &canonical));
        let line = self.module.line_of(at);
        let name = match self.data.rows.get(&key) {
            Some(name) => name.clone(),
            None => {
                let name = self.fresh(&format!("runs_{line}"));
                let most = self
                    .followed
                    .unknowns
                    .1
                    .range(runs)
                    .1
                    .clamp(0, MOST_PARAMETER);
                self.data.declared.push(format!(
                    "param most_{name} in 0..={most}\n\
                     // how often this loop runs in each iteration of the one around it\n\
                     pattern {name}[{}, most_{name}]\n",
                    extents.join(", ")
                ));
                self.data.rows.insert(key, name.clone());
                name
            }
        };
        let head = format!("row({name}, {})", axes.join(", "));
        let columns = format!("most_{name}");
        let row = self.begin(&head, columns, statement)?;
        let renamed = |u: Unknown| (u == variable).then(|| Sum::unknown(row));
        let inside = crate::ptx::warp::rewrite::replaced(body, &Facts::default(), &renamed);
        self.statements(&inside, None, rank)?;
        self.end(row);
        if more {
            self.statements(body, None, rank)?;
        }
        Ok(true)
    }

    /// The head of a loop that runs where a condition holds.
    fn taken(&mut self, condition: &Condition, at: usize) -> Result<String, Obstacle> {
        let (axes, extents, canonical) =
            self.coordinates(&|u| condition.mentions(&|own| own == u), at)?;
        let mut found = Found::default();
        look_condition(condition, &|u| self.loops.contains(&u), &mut found);
        let facts = Facts::default();
        let key = Row::Holds(facts.replaced_in(condition, &canonical));
        let opposite = Row::Holds(facts.replaced_in(&condition.negated(), &canonical));
        let line = self.module.line_of(at);
        let name = match self.data.rows.get(&key) {
            Some(name) => name.clone(),
            None => {
                let name = self.fresh(&format!("taken_{line}"));
                let named: Vec<String> = axes
                    .iter()
                    .zip(&extents)
                    .map(|(axis, extent)| format!("{axis} in 0..{extent}"))
                    .collect();
                let defined = format!("pattern {name}[{}, once in 0..1]", named.join(", "));
                let words = if let Some(other) = self.data.rows.get(&opposite) {
                    format!("{defined} = !{other}[{}, once]\n", axes.join(", "))
                } else if found.data {
                    let extents = extents.join(", ");
                    format!("pattern {name}[{extents}, 1]  // where data decides so\n")
                } else {
                    if axes.iter().any(|axis| self.is_row(axis)) {
                        let reason = "it depends on a loop in a way that is not followed";
                        return Err(Obstacle::new(at, reason));
                    }
                    format!("{defined} = {}\n", self.condition(condition, at)?)
                };
                self.data.declared.push(words);
                self.data.rows.insert(key, name.clone());
                name
            }
        };
        Ok(format!("row({name}, {})", axes.join(", ")))
    }

    /// Whether a name is that of a loop over a row, which says nothing but which round it is.
    fn is_row(&self, name: &str) -> bool {
        let rows = self.loops.iter().filter(|l| self.data.open.contains_key(l));
        rows.into_iter()
            .any(|l| self.unknown(*l, 0).is_ok_and(|own| own == name))
    }

    /// The loops around that are asked for: their names, how often each runs at most, and the coordinates in their place.
    #[expect(clippy::type_complexity, reason = "three things about the same loops")]
    fn coordinates(
        &mut self,
        which: &dyn Fn(Unknown) -> bool,
        at: usize,
    ) -> Result<
        (
            Vec<String>,
            Vec<String>,
            impl Fn(Unknown) -> Option<Sum> + use<>,
        ),
        Obstacle,
    > {
        let all: Vec<Unknown> = self.loops.iter().copied().filter(|l| which(*l)).collect();
        if all.len() > MOST_AXES {
            let reason = "data decides about synchronization too deep inside loops";
            return Err(Obstacle::new(at, reason));
        }
        let (mut axes, mut extents) = (Vec::new(), Vec::new());
        for own in &all {
            axes.push(self.unknown(*own, at)?);
            extents.push(match self.data.open.get(own) {
                Some(columns) => columns.clone(),
                None => self.extent(&Sum::unknown(*own), at)?,
            });
        }
        let canonical = move |u: Unknown| {
            let place = all.iter().position(|own| *own == u)?;
            let axis = FIRST_AXIS + u32::try_from(place).unwrap_or(0);
            Some(Sum::unknown(Unknown(axis)))
        };
        Ok((axes, extents, canonical))
    }

    fn begin(
        &mut self,
        head: &str,
        columns: String,
        statement: &Statement,
    ) -> Result<Unknown, Obstacle> {
        let depth = u32::try_from(self.loops.len()).unwrap_or(0);
        let row = Unknown(FIRST_ROW + depth);
        self.loops.push(row);
        self.times.push(Sum::of(1));
        self.data.open.insert(row, columns);
        let name = self.unknown(row, statement.at)?;
        let from = source(self.module, statement.at, statement.location);
        let _ = writeln!(self.out, "for {name} in {head} {{  // {from}");
        Ok(row)
    }

    fn end(&mut self, row: Unknown) {
        self.out.push_str("}\n");
        self.loops.pop();
        self.times.pop();
        self.data.open.remove(&row);
    }

    fn fresh(&self, stem: &str) -> String {
        let taken = |name: &String| self.data.rows.values().any(|other| other == name);
        let mut name = stem.to_owned();
        let mut number = 1;
        while taken(&name) {
            number += 1;
            name = format!("{stem}_{number}");
        }
        name
    }

    /// The declarations.
    pub fn data_words(&self) -> String {
        self.data.declared.concat()
    }

    /// Whether data decides about something.
    pub fn decides(&self) -> bool {
        let by_data = |u: &Unknown| {
            let meaning = self.followed.unknowns.meaning(*u);
            matches!(meaning, Some(Meaning::Datum(_) | Meaning::Until(..)))
        };
        !self.data.once.is_empty()
            || self.used.iter().any(by_data)
            || self.data.declared.iter().any(|d| !d.contains(" = "))
    }
}

/// What has been found in a sum.
#[derive(Default)]
struct Found {
    /// Something that data decides in an iteration.
    data: bool,
    /// A quotient of an iteration's number.
    remainder: bool,
}

fn look(sum: &Sum, own: &dyn Fn(Unknown) -> bool, found: &mut Found) {
    for atom in sum.terms.keys() {
        look_atom(atom, own, found);
    }
}

fn look_atom(atom: &Atom, own: &dyn Fn(Unknown) -> bool, found: &mut Found) {
    match atom {
        Atom::Unknown(_) => {}
        Atom::Datum(..) | Atom::Cell(..) => found.data |= atom.mentions(own),
        Atom::Quotient(a, b) => {
            found.remainder |= a.mentions(own);
            look(a, own, found);
            look(b, own, found);
        }
        Atom::Product(parts) => parts.iter().for_each(|part| look_atom(part, own, found)),
        Atom::Choice(c, a, b) => {
            look_condition(c, own, found);
            look(a, own, found);
            look(b, own, found);
        }
    }
}

fn look_condition(condition: &Condition, own: &dyn Fn(Unknown) -> bool, found: &mut Found) {
    match condition {
        Condition::Constant(_) | Condition::Passed(_) => {}
        Condition::Negative(sum) | Condition::Zero(sum) => look(sum, own, found),
        Condition::Not(inner) => look_condition(inner, own, found),
        Condition::And(a, b) | Condition::Or(a, b) => {
            look_condition(a, own, found);
            look_condition(b, own, found);
        }
    }
}

/// Whether an action that is no loop and no branch depends on an unknown.
fn mentions(action: &Action, unknown: Unknown) -> bool {
    let statement = Statement {
        action: action.clone(),
        at: 0,
        location: None,
        memory: "",
    };
    let found = std::cell::Cell::new(false);
    mapped(
        &[statement],
        &|sum| {
            found.set(found.get() | sum.mentions(&|u| u == unknown));
            sum.clone()
        },
        &Condition::clone,
    );
    found.get()
}
