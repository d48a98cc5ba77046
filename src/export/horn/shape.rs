//! Closed forms: which element and which phase bit each operation uses in round `r`.
//!
//! Each closed form is a guess, made by evaluating the expression for the first rounds. [`super::closed`] states it
//! as an obligation, so no verdict rests on the guess. There are three forms. An element is the same in every round,
//! or in every round it is the next one of a ring. A phase bit is periodic. A carried variable is periodic up to a
//! constant growth per period.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::fold;
use super::fold::Known;
use super::split::Part;
use super::walk::Phase;
use super::walk::Program;
use super::walk::Raw;
use super::walk::RawKind;
use super::walk::Rounds;
use crate::certificate::exact;
use crate::certificate::program::Unsupported;
use crate::protocol::Comparison;
use crate::protocol::Expr;
use crate::protocol::ObjectId;
use crate::protocol::ParamId;
use crate::protocol::Span;
use crate::protocol::VarId;

/// The number of rounds that a guess is based on.
const LOOK: i64 = 160;

/// The longest period.
const MAX_PERIOD: usize = 64;

/// `table[r mod P] + growth * (r div P)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Periodic {
    /// The values of the first period.
    pub table: Vec<i64>,
    /// The difference between one period and the next.
    pub growth: i64,
}

impl Periodic {
    /// The value in a round, if it fits.
    pub fn at(&self, round: i64) -> Option<i64> {
        let period = exact::number(self.table.len()).ok()?;
        let start = self.table.get(exact::around(round, period).ok()?)?;
        let grown = self.growth.checked_mul(round.checked_div_euclid(period)?)?;
        start.checked_add(grown)
    }

    fn guess(values: &[i64]) -> Option<Periodic> {
        (1..=MAX_PERIOD.min(values.len() / 2)).find_map(|period| {
            let growth = values[period].checked_sub(values[0])?;
            let mut later = values.iter().skip(period).zip(values);
            let fits = later.all(|(next, value)| next.checked_sub(*value) == Some(growth));
            fits.then(|| Periodic {
                table: values[..period].to_vec(),
                growth,
            })
        })
    }
}

/// The elements of an object that are used as a ring; a single element is a ring of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Family {
    /// The object.
    pub object: ObjectId,
    /// The first element.
    pub first: Vec<i64>,
    /// The index that moves from round to round, if any.
    pub moving: Option<usize>,
    /// How many elements.
    pub size: i64,
    /// The element at distance `j` from round `b` is number `(b + j + origin) mod size`.
    pub origin: i64,
    /// Whether its phases advance with the rounds. A single element that is used only before and after the loop does
    /// not; its phases are counted from 0.
    pub turning: bool,
}

impl Family {
    /// Its elements; `None` if an index is out of range.
    fn elements(&self) -> Option<Vec<Vec<i64>>> {
        let element = |k| {
            let mut element = self.first.clone();
            if let Some(at) = self.moving {
                element[at] = element[at].checked_add(k)?;
            }
            Some(element)
        };
        (0..self.size).map(element).collect()
    }
}

/// An operation in closed form.
#[derive(Debug, Clone)]
pub struct Op {
    /// Where it stands.
    pub span: Span,
    /// The conditions under which it is executed.
    pub given: Vec<Expr>,
    /// The family it works on.
    pub family: usize,
    /// In round `r` it works on element `(r + offset) mod size`; before the loop, with `r = 0`.
    pub offset: i64,
    /// What it does.
    pub kind: OpKind,
    /// As written.
    pub raw: Raw,
}

/// What an operation does.
#[derive(Debug, Clone)]
pub enum OpKind {
    /// Arrives this often, over parameters.
    Arrive(Expr),
    /// Waits until the phase bit is not that of the round.
    Wait(Vec<i64>),
    /// Adds this much, over parameters.
    Add(Expr),
    /// Waits for a value. In round 0, it is this value, over parameters. In each further round, it is larger by what
    /// all members together add in one round.
    Compare(Comparison, Expr),
}

/// The identical members of a role, and what they do.
#[derive(Debug, Clone)]
pub struct Group {
    /// For reports.
    pub name: String,
    /// The part of the role that these members are.
    pub part: Part,
    /// Their program.
    pub program: Program,
    /// Closed forms of the carried variables.
    pub carried: Vec<(VarId, Periodic)>,
    /// Operations before the loop.
    pub before: Vec<Op>,
    /// Operations of a round.
    pub round: Vec<Op>,
    /// Operations after the loop.
    pub after: Vec<Op>,
}

/// The elements of an operation, before families are known.
struct Place {
    object: ObjectId,
    first: Vec<i64>,
    moving: Option<usize>,
    size: i64,
    offset: i64,
}

/// Puts the programs of all parts into closed form.
///
/// # Errors
///
/// An operation that has none of the supported forms.
pub fn close(programs: Vec<(Part, Program)>) -> Result<(Vec<Group>, Vec<Family>), Unsupported> {
    let mut families: Vec<Family> = Vec::new();
    let mut places: Vec<Vec<Place>> = Vec::new();
    let mut carried = Vec::new();
    for (_, program) in &programs {
        let forms = match &program.rounds {
            Some(rounds) => carried_forms(rounds)?,
            None => Vec::new(),
        };
        let mut own = Vec::new();
        for raw in &program.raw {
            own.push(place(program, raw, &forms)?);
        }
        places.push(own);
        carried.push(forms);
    }
    // Rings come first, so that a single element of a ring is recognised as a part of it.
    let mut all: Vec<&Place> = places.iter().flatten().collect();
    all.sort_by_key(|place| Reverse(place.size));
    for place in all {
        if covering(&families, place).is_none() {
            families.push(Family {
                object: place.object,
                first: place.first.clone(),
                moving: place.moving,
                size: place.size,
                origin: 0,
                turning: true,
            });
        }
    }
    disjoint(&programs, &families)?;
    let mut groups = Vec::new();
    for (((part, program), places), carried) in programs.into_iter().zip(places).zip(carried) {
        let mut group = Group {
            name: part.name.clone(),
            part,
            carried,
            before: Vec::new(),
            round: Vec::new(),
            after: Vec::new(),
            program: Program::default(),
        };
        for (raw, place) in program.raw.iter().zip(&places) {
            let op = operation(&program, raw, place, &families, &group.carried)?;
            match raw.phase {
                Phase::Before => group.before.push(op),
                Phase::Round => group.round.push(op),
                Phase::After => group.after.push(op),
            }
        }
        group.program = program;
        groups.push(group);
    }
    for (at, family) in families.iter_mut().enumerate() {
        let arrivals = groups.iter().flat_map(|g| &g.round);
        let first = arrivals
            .filter(|op| op.family == at && matches!(op.kind, OpKind::Arrive(_)))
            .map(|op| op.offset)
            .next();
        family.origin = first.unwrap_or(0);
        let mut used = groups.iter().flat_map(|g| &g.round);
        family.turning = family.size > 1 || used.any(|op| op.family == at);
    }
    Ok((groups, families))
}

/// Guesses the closed forms of the carried variables of a loop.
fn carried_forms(rounds: &Rounds) -> Result<Vec<(VarId, Periodic)>, Unsupported> {
    let mut values: Vec<Vec<i64>> = rounds
        .carried
        .iter()
        .map(|(_, first, _)| vec![*first])
        .collect();
    for round in 0..LOOK {
        let mut known = Known::default();
        let at = exact::sum(rounds.lo, round)?;
        known.vars.insert(rounds.var, Expr::Int(at));
        for ((var, _, _), values) in rounds.carried.iter().zip(&values) {
            if let Some(value) = values.last() {
                known.vars.insert(*var, Expr::Int(*value));
            }
        }
        for ((_, _, next), values) in rounds.carried.iter().zip(&mut values) {
            match fold::fold(next, &known) {
                Expr::Int(value) => values.push(value),
                _ => return Err(not_a_function(rounds.span)),
            }
        }
    }
    rounds
        .carried
        .iter()
        .zip(values)
        .map(|((var, _, _), values)| {
            let form = Periodic::guess(&values).ok_or_else(|| not_a_function(rounds.span))?;
            Ok((*var, form))
        })
        .collect()
}

fn not_a_function(span: Span) -> Unsupported {
    Unsupported::at(
        span,
        "a local variable that is not a periodic function of the round",
    )
}

/// The values of an expression in the first rounds. There is one value if the expression is outside of the loop.
fn values(
    program: &Program,
    phase: Phase,
    expr: &Expr,
    carried: &[(VarId, Periodic)],
) -> Option<Vec<i64>> {
    let looks = match (phase, &program.rounds) {
        (Phase::Round | Phase::After, Some(_)) => LOOK,
        _ => 1,
    };
    (0..looks)
        .map(|round| {
            let known = known_in(program, phase, round, carried)?;
            match fold::fold(expr, &known) {
                Expr::Int(value) => Some(value),
                _ => None,
            }
        })
        .collect()
}

/// The meanings of the names of a phase in a round; `None` if a number does not fit.
fn known_in(
    program: &Program,
    phase: Phase,
    round: i64,
    carried: &[(VarId, Periodic)],
) -> Option<Known> {
    let mut known = Known::default();
    let Some(rounds) = &program.rounds else {
        return Some(known);
    };
    let at = rounds.lo.checked_add(round)?;
    known.vars.insert(rounds.var, Expr::Int(at));
    for (var, form) in carried {
        known.vars.insert(*var, Expr::Int(form.at(round)?));
    }
    // After the loop, the number of rounds is the current round.
    if let (Phase::After, Some(id)) = (phase, length_param(rounds)) {
        known.params.insert(id, at);
    }
    Some(known)
}

fn length_param(rounds: &Rounds) -> Option<ParamId> {
    match rounds.hi {
        Expr::Param(id) => Some(id),
        _ => None,
    }
}

fn place(
    program: &Program,
    raw: &Raw,
    carried: &[(VarId, Periodic)],
) -> Result<Place, Unsupported> {
    let mut place = Place {
        object: raw.object,
        first: Vec::new(),
        moving: None,
        size: 1,
        offset: 0,
    };
    for (at, expr) in raw.index.iter().enumerate() {
        let values = values(program, raw.phase, expr, carried).ok_or_else(|| {
            Unsupported::at(raw.span, "an element that is not a function of the round")
        })?;
        let least = values.iter().copied().min().unwrap_or(0);
        let most = values.iter().copied().max().unwrap_or(0);
        place.first.push(least);
        if least == most {
            continue;
        }
        let size = exact::sum(exact::difference(most, least)?, 1)?;
        let offset = exact::difference(values[0], least)?;
        let small = size <= LOOK / 2;
        let is_ring = small
            && values.iter().zip(offset..).all(|(value, r)| {
                let distance = value.checked_sub(least);
                distance.is_some() && distance == r.checked_rem(size)
            });
        if !is_ring || place.moving.is_some() {
            return Err(Unsupported::at(
                raw.span,
                "an element that is neither fixed nor the next of a ring",
            ));
        }
        place.moving = Some(at);
        place.size = size;
        place.offset = offset;
    }
    Ok(place)
}

/// The family an operation works on, and the offset there.
fn covering(families: &[Family], place: &Place) -> Option<(usize, i64)> {
    families.iter().enumerate().find_map(|(nth, family)| {
        if family.object != place.object {
            return None;
        }
        if (&family.first, family.moving, family.size) == (&place.first, place.moving, place.size) {
            return Some((nth, place.offset));
        }
        let number = family.elements()?.iter().position(|e| *e == place.first)?;
        (place.size == 1).then_some((nth, number as i64))
    })
}

/// Checks that families have no element in common.
fn disjoint(programs: &[(Part, Program)], families: &[Family]) -> Result<(), Unsupported> {
    let mut seen = BTreeSet::new();
    for family in families {
        for element in family.elements().ok_or_else(exact::too_large)? {
            if !seen.insert((family.object, element)) {
                let raws = programs.iter().flat_map(|(_, program)| &program.raw);
                let span = raws
                    .filter(|raw| raw.object == family.object)
                    .map(|raw| raw.span)
                    .next();
                return Err(Unsupported {
                    reason: "elements that are used both as a ring and otherwise".to_owned(),
                    span,
                });
            }
        }
    }
    Ok(())
}

fn operation(
    program: &Program,
    raw: &Raw,
    place: &Place,
    families: &[Family],
    carried: &[(VarId, Periodic)],
) -> Result<Op, Unsupported> {
    let refuse = |what: &str| Unsupported::at(raw.span, what);
    let (family, offset) = covering(families, place)
        .ok_or_else(|| refuse("elements that are used both as a ring and otherwise"))?;
    // A single element of a ring has a fixed distance only from round 0.
    if families[family].size != place.size && raw.phase != Phase::Before {
        return Err(refuse("a fixed element of a ring inside or after the loop"));
    }
    let kind = match &raw.kind {
        RawKind::Arrive(count) => {
            if fold::mentions(count, &|_| true) {
                return Err(refuse("a number of arrivals that is not over parameters"));
            }
            OpKind::Arrive(count.clone())
        }
        RawKind::Wait(parity) => {
            let values = values(program, raw.phase, parity, carried)
                .ok_or_else(|| refuse("a parity that is not a function of the round"))?;
            let table = if values.len() == 1 {
                values
            } else {
                match Periodic::guess(&values) {
                    Some(form) if form.growth == 0 => form.table,
                    _ => return Err(refuse("a parity that is not periodic")),
                }
            };
            if table.iter().any(|bit| !(0..=1).contains(bit)) {
                return Err(refuse("a parity other than 0 and 1"));
            }
            OpKind::Wait(table)
        }
        RawKind::Add(amount) => {
            if fold::mentions(amount, &|_| true) {
                return Err(refuse("an amount that is not over parameters"));
            }
            OpKind::Add(amount.clone())
        }
        RawKind::Compare(comparison, value) => {
            let known = known_in(program, raw.phase, 0, carried);
            let first = fold::fold(value, &known.ok_or_else(exact::too_large)?);
            if fold::mentions(&first, &|_| true) {
                return Err(refuse(
                    "an awaited value that is not a function of the round",
                ));
            }
            OpKind::Compare(*comparison, first)
        }
    };
    Ok(Op {
        span: raw.span,
        given: raw.given.clone(),
        family,
        offset,
        kind,
        raw: raw.clone(),
    })
}
