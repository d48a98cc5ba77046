//! Functions of the iteration number: guesses them from one iteration, and computes trip counts.

use super::behind::Behind;
use super::stays::in_first_round;
use super::stays::strongest;
use super::visited::Visited;
use crate::ptx::syntax::ast::Register;
use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::machine::State;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;
use crate::ptx::warp::value::Integer;
use crate::ptx::warp::value::Value;
use std::collections::BTreeMap;

/// Rings up to this size are recognised by their values.
const MOST_SAMPLED: i128 = 64;

/// What a register holds when iteration `i` begins.
#[derive(Debug, Clone)]
pub(in crate::ptx) struct Closed {
    form: Form,
    lanes: Integer,
    /// What is added to that: rings that begin one before their first place are followed from 0 on.
    pub above: i128,
    /// The iterations that count, where it stays as it is in the others.
    pub visited: Option<Visited>,
}

#[derive(Debug, Clone)]
enum Form {
    /// `entry + step * i`
    Even(Sum, Sum),
    /// `(entry + step * i) % size`
    Ring(Sum, Sum, i128),
    /// `(entry + (start + step * i) / size) % 2`
    Turns(Sum, Sum, Sum, i128),
    /// A ring that wraps around at the beginning of a round.
    Behind(Behind),
    /// A bit that turns with it.
    Turned(Sum, Behind),
    /// What stands in a table at the remainder of `place + step * i`.
    Around(Sum, Sum, Vec<i128>),
    /// At first an entry, then what the iteration before made of other registers as it found them.
    Late(Sum, Sum, Vec<(Unknown, Closed)>),
}

impl Closed {
    /// `entry + step * i`
    pub fn even(entry: &Integer, step: Sum) -> Closed {
        Closed {
            form: Form::Even(entry.sum.clone(), step),
            lanes: entry.clone(),
            above: 0,
            visited: None,
        }
    }

    /// What stands in a table at the remainder of `place + step * i`.
    pub fn around(place: Sum, step: Sum, table: Vec<i128>) -> Closed {
        Closed {
            form: Form::Around(place, step, table),
            lanes: Integer::same(Sum::of(0)),
            above: 0,
            visited: None,
        }
    }

    /// What it holds in this iteration.
    pub fn at(&self, index: &Sum, facts: &Facts) -> Integer {
        match &self.visited {
            Some(visited) => self.of_round(&visited.before(index), facts),
            None => self.of_round(index, facts),
        }
    }

    /// What it holds in the iteration after this one.
    pub fn after(&self, index: &Sum, facts: &Facts) -> Integer {
        let Some(visited) = &self.visited else {
            return self.of_round(&index.plus_constant(1), facts);
        };
        let before = visited.before(index);
        let now = self.of_round(&before, facts);
        let later = self.of_round(&before.plus_constant(1), facts);
        Integer {
            sum: facts.choice(&visited.here(index, facts), &later.sum, &now.sum),
            lanes: now.lanes,
        }
    }

    fn of_round(&self, index: &Sum, facts: &Facts) -> Integer {
        let two = Sum::of(2);
        let sum = match &self.form {
            Form::Even(entry, step) => entry.plus(&step.times(index)),
            Form::Ring(entry, step, size) => {
                let reached = entry.plus(&step.times(index));
                facts.modulo(&reached, &Sum::of(*size)).unwrap_or(reached)
            }
            Form::Turns(entry, start, step, size) => {
                let reached = start.plus(&step.times(index));
                let turns = facts.quotient(&reached, &Sum::of(*size)).unwrap_or(reached);
                let all = entry.plus(&turns);
                facts.modulo(&all, &two).unwrap_or(all)
            }
            Form::Behind(ring) => ring.place(index, facts).unwrap_or(ring.first.clone()),
            Form::Turned(entry, ring) => match ring.turns(index, facts) {
                Some(turns) => {
                    let all = entry.plus(&turns);
                    facts.modulo(&all, &two).unwrap_or(all)
                }
                None => entry.clone(),
            },
            Form::Around(place, step, table) => {
                let reached = place.plus(&step.times(index));
                let found = facts.around(&reached, table);
                found.unwrap_or_else(|| Sum::of(table[0]))
            }
            Form::Late(entry, made, of) => {
                let before = index.plus_constant(-1);
                let found = |u: Unknown| {
                    let (_, form) = of.iter().find(|(own, _)| *own == u)?;
                    Some(form.at(&before, facts).sum)
                };
                let made = facts.replaced(made, &found);
                let entry = facts.rewritten(entry);
                facts.choice(&Condition::Zero(index.clone()), &entry, &made)
            }
        };
        Integer {
            sum: sum.plus_constant(self.above),
            lanes: self.lanes.lanes.clone(),
        }
    }
}

pub(in crate::ptx) type Carried = BTreeMap<Register, (Unknown, Integer)>;

/// Guesses a function of the iteration's number for each register, and bounds that would help. Where only some
/// iterations count, `counted` stands for their numbers.
pub(in crate::ptx) fn closed_forms(
    carried: &Carried,
    ended: &State,
    state: &State,
    counted: Unknown,
) -> (BTreeMap<Register, Closed>, Vec<(Register, i128)>) {
    let mut closed: BTreeMap<Register, Closed> = BTreeMap::new();
    let mut hints = Vec::new();
    let facts = &ended.facts;
    loop {
        let before = closed.len();
        // What does not change is put in.
        let fixed = |u: Unknown| {
            let (register, (_, entry)) = carried.iter().find(|(_, (own, _))| *own == u)?;
            let closed = closed.get(register)?;
            match &closed.form {
                Form::Even(_, step)
                    if step.as_constant() == Some(0)
                        && closed.visited.is_none()
                        && entry.lanes.is_none() =>
                {
                    Some(entry.sum.clone())
                }
                _ => None,
            }
        };
        let mut found = Vec::new();
        for (register, (unknown, entry)) in carried {
            if closed.contains_key(register) {
                continue;
            }
            let Some(Value::Integer(next)) = ended.registers.get(register.0 as usize) else {
                continue;
            };
            if next.lanes != entry.lanes {
                continue;
            }
            let next = facts.replaced(&next.sum, &fixed);
            let guess = |next: &Sum, visited: Option<&Visited>| {
                let here = |(_, form): &(&Register, &Closed)| form.visited.as_ref() == visited;
                let rings = closed.iter().filter(here).map(|(r, form)| (*r, form));
                let rings: Vec<(Register, &Closed)> = rings.collect();
                guessed(next, *unknown, entry, carried, &rings, facts)
            };
            let form = guess(&next, None).map(|form| (form, None));
            let form = form.or_else(|| {
                let (visited, next) = Visited::of(&next, *unknown, carried, &closed, counted)?;
                let visited = Visited {
                    condition: state.facts.replaced_in(&visited.condition, &|_| None),
                    ..visited
                };
                Some((guess(&next, Some(&visited))?, Some(visited)))
            });
            if let Some((form, visited)) = form {
                let most = match &form {
                    Form::Ring(_, _, size) => Some(size - 1),
                    Form::Turns(..) | Form::Turned(..) => Some(1),
                    Form::Behind(ring) => Some(ring.size),
                    Form::Even(..) | Form::Late(..) | Form::Around(..) => None,
                };
                // Where a ring begins as another loop left it, that loop has to know its bounds.
                if let Some(most) = most {
                    for (register, bound) in entries(&entry.sum, state, most) {
                        hints.push((register, bound));
                    }
                    hints.push((*register, most));
                }
                found.push((*register, form, entry.clone(), visited));
            }
        }
        for (register, form, lanes, visited) in found {
            let one = Closed {
                form,
                lanes,
                above: 0,
                visited,
            };
            closed.insert(register, one);
        }
        if closed.len() == before {
            late(carried, &mut closed, ended);
            return (closed, hints);
        }
    }
}

/// A function of the number of the iteration that this may be the next value of, given those of others.
fn guessed(
    next: &Sum,
    unknown: Unknown,
    entry: &Integer,
    carried: &Carried,
    closed: &[(Register, &Closed)],
    facts: &Facts,
) -> Option<Form> {
    let moving = |sum: &Sum| sum.mentions(&|u| carried.values().any(|(other, _)| *other == u));
    let step = next.minus(&Sum::unknown(unknown));
    if !moving(&step) {
        return Some(Form::Even(entry.sum.clone(), step));
    }
    ring(next, unknown, entry, &moving)
        .or_else(|| behind(next, unknown, entry, &moving))
        .or_else(|| turned(next, unknown, entry, carried, closed))
        .or_else(|| turns(next, unknown, entry, carried, closed, &moving, facts))
}

/// Registers that hold what others held in the iteration before.
fn late(carried: &Carried, closed: &mut BTreeMap<Register, Closed>, ended: &State) {
    let known: BTreeMap<Unknown, Closed> = carried
        .iter()
        .filter_map(|(register, (unknown, entry))| {
            let form = closed.get(register)?;
            entry.lanes.is_none().then(|| (*unknown, form.clone()))
        })
        .collect();
    for (register, (_, entry)) in carried {
        if closed.contains_key(register) {
            continue;
        }
        let Some(Value::Integer(next)) = ended.registers.get(register.0 as usize) else {
            continue;
        };
        let strange =
            |u: Unknown| carried.values().any(|(other, _)| *other == u) && !known.contains_key(&u);
        if next.lanes != entry.lanes || next.sum.mentions(&strange) {
            continue;
        }
        let of: Vec<(Unknown, Closed)> = known
            .iter()
            .filter(|(unknown, _)| next.sum.mentions(&|u| u == **unknown))
            .map(|(unknown, form)| (*unknown, form.clone()))
            .collect();
        let form = Form::Late(entry.sum.clone(), next.sum.clone(), of);
        let one = Closed {
            form,
            lanes: entry.clone(),
            above: 0,
            visited: None,
        };
        closed.insert(*register, one);
    }
}

/// The registers whose unknown beginning this is.
fn entries(entry: &Sum, state: &State, most: i128) -> Vec<(Register, i128)> {
    let mut found = Vec::new();
    for (index, value) in state.registers.iter().enumerate() {
        if let Value::Integer(integer) = value
            && integer.sum == *entry
            && entry.as_constant().is_none()
        {
            found.push((Register(u32::try_from(index).unwrap_or(u32::MAX)), most));
        }
    }
    found
}

/// `(own + step) % size`; with a constant step, whatever has these values.
fn ring(next: &Sum, own: Unknown, entry: &Integer, moving: &dyn Fn(&Sum) -> bool) -> Option<Form> {
    if let Some((dividend, size, 1, left)) = next.remainder()
        && left.as_constant() == Some(0)
    {
        let step = dividend.minus(&Sum::unknown(own));
        if !moving(&step) {
            return Some(Form::Ring(entry.sum.clone(), step, size));
        }
    }
    let size = size_in(next, own).filter(|size| *size <= MOST_SAMPLED)?;
    let facts = Facts::default();
    let at = |value: i128| {
        let with = |u: Unknown| (u == own).then(|| Sum::of(value));
        facts.replaced(next, &with).as_constant()
    };
    let step = at(0)?;
    let agrees = (0..size).all(|value| at(value) == Some((value + step).rem_euclid(size)));
    agrees.then(|| Form::Ring(entry.sum.clone(), Sum::of(step), size))
}

/// A ring that wraps around at the beginning of a round.
fn behind(
    next: &Sum,
    own: Unknown,
    entry: &Integer,
    moving: &dyn Fn(&Sum) -> bool,
) -> Option<Form> {
    if let Some(ring) = Behind::after(&entry.sum, next, &Sum::unknown(own))
        && !moving(&ring.step)
    {
        return Some(Form::Behind(ring));
    }
    let size = size_in(next, own).filter(|size| *size <= MOST_SAMPLED)? - 1;
    let facts = Facts::default();
    let at = |value: i128| {
        let with = |u: Unknown| (u == own).then(|| Sum::of(value));
        facts.replaced(next, &with).as_constant()
    };
    Behind::of(&entry.sum, size, &at).map(Form::Behind)
}

/// A bit that changes whenever such a ring wraps around.
fn turned(
    next: &Sum,
    own: Unknown,
    entry: &Integer,
    carried: &Carried,
    closed: &[(Register, &Closed)],
) -> Option<Form> {
    let rings = closed.iter().filter_map(|(register, closed)| {
        let Form::Behind(ring) = &closed.form else {
            return None;
        };
        Some((carried.get(register)?.0, ring))
    });
    for (place, ring) in rings {
        let facts = Facts::default();
        let Some(step) = ring.step.as_constant() else {
            // (own + turns of the ring) % 2, and own before the first round
            let done = Sum::unknown(place).plus(&ring.step);
            let mut known = Facts::default();
            known.bound(own, 0, 1);
            known.bound(place, 0, ring.size);
            known.assume_positive(&done);
            let from = Behind {
                first: Sum::unknown(place),
                ..ring.clone()
            };
            let turns = from.turns(&Sum::of(1), &known)?;
            let all = known.modulo(&Sum::unknown(own).plus(&turns), &Sum::of(2))?;
            if known.same(&all, next) {
                return Some(Form::Turned(entry.sum.clone(), ring.clone()));
            }
            continue;
        };
        let at = |value: i128, bit: i128| {
            let with = |u: Unknown| match u {
                u if u == place => Some(Sum::of(value)),
                u if u == own => Some(Sum::of(bit)),
                _ => None,
            };
            facts.replaced(next, &with).as_constant()
        };
        // The ring may go around once more in each iteration.
        for step in [step, step + ring.size] {
            let agrees = (0..=ring.size).all(|value| {
                let turns = ring.turned(value, step);
                (0..2).all(|bit| at(value, bit) == Some((bit + turns).rem_euclid(2)))
            });
            if agrees {
                let ring = Behind {
                    step: Sum::of(step),
                    ..ring.clone()
                };
                return Some(Form::Turned(entry.sum.clone(), ring));
            }
        }
    }
    None
}

/// The size of a ring that a choice in a sum compares with.
fn size_in(sum: &Sum, own: Unknown) -> Option<i128> {
    sum.terms.keys().find_map(|atom| match atom {
        Atom::Choice(condition, yes, no) => limit(condition, own)
            .or_else(|| match &**condition {
                Condition::Zero(sum) => size_in(sum, own),
                _ => None,
            })
            .or_else(|| size_in(yes, own))
            .or_else(|| size_in(no, own)),
        Atom::Quotient(dividend, _) => size_in(dividend, own),
        Atom::Unknown(_) | Atom::Product(_) | Atom::Cell(..) | Atom::Count(..) => None,
    })
}

/// The size of a ring from `own + 1 == size`, `own + 1 > size - 1` or `own < size - 1`.
fn limit(condition: &Condition, own: Unknown) -> Option<i128> {
    let away = |sum: &Sum| sum.minus(&Sum::unknown(own)).as_constant();
    let size = match condition {
        Condition::Zero(sum) => 1 - [1, -1].iter().find_map(|sign| away(&sum.scaled(*sign)))?,
        Condition::Negative(sum) => match away(sum) {
            Some(constant) => 1 - constant,
            None => 2 - away(&sum.scaled(-1))?,
        },
        _ => return None,
    };
    Some(size).filter(|size| *size > 1)
}

/// A bit that changes whenever a ring wraps around.
fn turns(
    next: &Sum,
    own: Unknown,
    entry: &Integer,
    carried: &Carried,
    closed: &[(Register, &Closed)],
    moving: &dyn Fn(&Sum) -> bool,
    facts: &Facts,
) -> Option<Form> {
    for (register, form) in closed {
        let Form::Ring(start, step, size) = &form.form else {
            continue;
        };
        let (ring, _) = carried.get(register)?;
        let around = Form::Turns(entry.sum.clone(), start.clone(), step.clone(), *size);
        // (own + (ring + step) / size) % 2
        if let Some((dividend, 2, 1, left)) = next.remainder()
            && left.as_constant() == Some(0)
        {
            let added = dividend.minus(&Sum::unknown(own));
            let single: Vec<_> = added.terms.iter().map(|(a, c)| (a.clone(), *c)).collect();
            if let [(Atom::Quotient(sum, by), 1)] = single.as_slice()
                && by.as_constant() == Some(*size)
                && added.constant == 0
                && !moving(&sum.minus(&Sum::unknown(*ring)))
            {
                return Some(around);
            }
        }
        let Some(step) = step.as_constant() else {
            // Small steps and large ones may be told apart on the way.
            let mut known = facts.clone();
            known.bound(own, 0, 1);
            known.bound(*ring, 0, size - 1);
            let turned = known
                .quotient(&Sum::unknown(*ring).plus(step), &Sum::of(*size))
                .and_then(|turns| known.modulo(&Sum::unknown(own).plus(&turns), &Sum::of(2)));
            if turned.is_some_and(|turned| known.same_in_all_cases(next, &turned)) {
                return Some(around);
            }
            continue;
        };
        if *size > MOST_SAMPLED {
            continue;
        }
        let facts = Facts::default();
        let at = |place: i128, bit: i128| {
            let with = |u: Unknown| match u {
                u if u == *ring => Some(Sum::of(place)),
                u if u == own => Some(Sum::of(bit)),
                _ => None,
            };
            facts.replaced(next, &with).as_constant()
        };
        // The ring may go around once more in each iteration.
        for step in [step, step + size] {
            let agrees = (0..*size).all(|place| {
                (0..2).all(|bit| {
                    at(place, bit) == Some((bit + (place + step).div_euclid(*size)).rem_euclid(2))
                })
            });
            if agrees {
                return Some(Form::Turns(
                    entry.sum.clone(),
                    start.clone(),
                    Sum::of(step),
                    *size,
                ));
            }
        }
    }
    None
}

/// How often a loop goes on, from the condition under which it does in iteration `number`.
pub(in crate::ptx) fn trips(again: &Condition, number: Unknown, facts: &Facts) -> Option<Sum> {
    match again {
        Condition::Constant(false) => Some(Sum::of(0)),
        Condition::Negative(sum) => {
            let (slope, rest) = sum.split(number)?;
            // The first iteration at which slope * i + rest >= 0.
            let above = slope.plus_constant(-1).minus(&rest);
            let times = facts.quotient(&above, &slope)?;
            let idle = Condition::Negative(times.clone());
            Some(facts.choice(&idle, &Sum::of(0), &times))
        }
        Condition::Not(inner) => {
            let Condition::Zero(sum) = &**inner else {
                return None;
            };
            let (slope, rest) = sum.split(number)?;
            let times = rest.exactly_over(-slope.as_constant()?)?;
            let times = facts.rewritten(&times);
            facts.is_positive(&times).then_some(times)
        }
        Condition::Zero(_) => in_first_round(again, number, facts),
        // As long as both hold.
        Condition::And(..) if strongest(again) != *again => trips(&strongest(again), number, facts),
        Condition::And(a, b) => in_first_round(again, number, facts).or_else(|| {
            let (a, b) = (trips(a, number, facts)?, trips(b, number, facts)?);
            let less = Condition::Negative(a.minus(&b));
            Some(facts.choice(&less, &a, &b))
        }),
        _ => None,
    }
}
