//! Loops whose state comes around, whatever it is made of: stages, phases, fields of phase bits, small counters. Where
//! it is known when the loop begins, iterations are followed one after the other until the state is again what it was
//! at first. Then it is a table over the number of iterations done, counted from where the state stood in that table
//! when the loop began; a loop around that moves it on by a sum in each of its iterations goes on in the same table. That
//! is a guess like any other: it is checked by one iteration from anywhere.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::cycle::Loop;
use super::forms::Closed;
use super::walk::Walker;
use crate::ptx::syntax::ast::Operand;
use crate::ptx::syntax::ast::Register;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::State;
use crate::ptx::warp::machine::wrap;
use crate::ptx::warp::periodic::shortest;
use crate::ptx::warp::residues::Residues;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::value::Integer;
use crate::ptx::warp::value::Value;

/// How many iterations are followed until the state has to come around.
const MOST_ROUNDS: usize = 66;

/// After so many iterations, some register has to go on otherwise than by the same step.
const MOST_EVEN: usize = 18;

/// How many iterations of all loops are followed for guesses.
const MOST_REHEARSALS: usize = 600;

/// Values with more choices are of no use for a guess.
const MOST_CHOICES: usize = 2;

/// How many guesses are checked.
const MOST_CHECKS: usize = 4;

/// What registers hold when iterations begin, one after the other.
type Seen = Vec<BTreeMap<Register, Integer>>;

/// What comes around when a loop begins: registers, and the numbers that their values are made of.
pub(super) struct Entry {
    all: BTreeMap<Register, Integer>,
    around: BTreeMap<Register, Sum>,
    residues: Residues,
}

impl Walker<'_, '_, '_> {
    /// Follows a loop by guesses from its first iterations.
    pub fn rehearsed(&mut self, one: &Loop, state: &State) -> Option<(State, Vec<Statement>)> {
        let fields = self.fields(one);
        let entry = Entry::of(&self.written(&one.blocks), state)?;
        let (depth, assumed) = (self.depth, self.machine.assumptions.clone());
        let mut seen: Seen = vec![entry.first()?];
        let mut moving = BTreeSet::new();
        let mut checks = 0;
        for _ in 0..MOST_ROUNDS {
            let next = self.next_of(one, state, seen.last()?);
            self.depth = depth;
            *self.machine.assumptions = assumed.clone();
            let mut next = next?;
            for (register, value) in &mut next {
                if fields.contains(register)
                    && let Some(first) = entry.all.get(register).and_then(constant)
                    && let Some(field) = constant(value)
                {
                    *value = Integer::same(Sum::of(wrap(field, first < 0, 32)));
                }
            }
            seen.push(next);
            self.rehearse()?;
            // What goes on evenly from where it begins may do so from nowhere else.
            let even = seen.len() == MOST_EVEN && entry.goes_evenly(&seen);
            let guess = if even {
                Some(entry.evenly(&seen))
            } else {
                let guess = entry.once(&seen, &moving);
                guess.or_else(|| entry.by_sums(&seen))
            };
            let lost = even || seen.last().is_some_and(|now| entry.is_lost(now));
            let Some(mut closed) = guess else {
                if lost {
                    return None;
                }
                continue;
            };
            let number = self.machine.unknowns.fresh(Meaning::Iteration(0));
            loop {
                checks += 1;
                let checked = self.checked(one, state, &closed, number);
                self.depth = depth;
                match checked {
                    Ok(Ok(done)) => return Some(done),
                    Ok(Err(wrong)) if checks < MOST_CHECKS => {
                        for register in wrong {
                            closed.remove(&register);
                            moving.insert(register);
                        }
                    }
                    _ => {
                        *self.machine.assumptions = assumed.clone();
                        break;
                    }
                }
            }
            if lost || checks >= MOST_CHECKS {
                return None;
            }
        }
        None
    }

    /// Counts an iteration that is followed for a guess; there may not be too many.
    pub(super) fn rehearse(&mut self) -> Option<()> {
        self.rehearsals += 1;
        (self.rehearsals <= MOST_REHEARSALS).then_some(())
    }

    /// Registers of 32 bits that hold fields of bits. Numbers that are apart by 2^32 are the same there: what is written
    /// into them as -65536 comes out of an instruction on bits as 2^32 less that.
    pub fn fields(&self, one: &Loop) -> BTreeSet<Register> {
        let code = one.blocks.iter().flat_map(|block| self.code(*block));
        let bits = code.filter(|i| matches!(i.opcode, "and.b32" | "or.b32" | "xor.b32"));
        let written = bits.filter_map(|i| match i.operands.first() {
            Some(Operand::Register(register)) => Some(*register),
            _ => None,
        });
        written.collect()
    }

    /// What registers hold after an iteration that begins with these values.
    pub(super) fn next_of(
        &mut self,
        one: &Loop,
        state: &State,
        now: &BTreeMap<Register, Integer>,
    ) -> Option<BTreeMap<Register, Integer>> {
        let at = self.place(one.header).0;
        let mut start = state.clone();
        for register in self.written(&one.blocks) {
            if let Some(slot) = start.registers.get_mut(register.0 as usize) {
                *slot = match now.get(&register) {
                    Some(value) => Value::Integer(value.clone()),
                    None => Value::lost(at, "it changes in a loop in a way that is not followed"),
                };
            }
        }
        let guessing = std::mem::replace(&mut self.machine.guessing, true);
        self.numbers.push(None);
        let round = self.round(one, start, &|_| {});
        self.numbers.pop();
        self.machine.guessing = guessing;
        let ended = round.ok()?.ended;
        let known = |register: &Register| match ended.registers.get(register.0 as usize) {
            Some(Value::Integer(integer)) => Some((*register, integer.clone())),
            _ => None,
        };
        Some(now.keys().filter_map(known).collect())
    }
}

impl Entry {
    pub(super) fn of(written: &BTreeSet<Register>, state: &State) -> Option<Entry> {
        let mut all = BTreeMap::new();
        let mut around: BTreeMap<Register, Sum> = BTreeMap::new();
        for register in written {
            let Some(Value::Integer(integer)) = state.registers.get(register.0 as usize) else {
                continue;
            };
            all.insert(*register, integer.clone());
            if integer.lanes.is_none() {
                let sum = state.facts.rewritten(&integer.sum);
                // What does not come around together with the others goes its own way.
                let sums: Vec<&Sum> = around.values().chain([&sum]).collect();
                if Residues::of(&sums).is_some() {
                    around.insert(*register, sum);
                }
            }
        }
        let sums: Vec<&Sum> = around.values().collect();
        let residues = Residues::of(&sums)?;
        Some(Entry {
            all,
            around,
            residues,
        })
    }

    /// The values where all numbers are 0.
    pub(super) fn first(&self) -> Option<BTreeMap<Register, Integer>> {
        let zeros = vec![0; self.residues.len()];
        let mut first = self.all.clone();
        for (register, sum) in &self.around {
            let value = self.residues.value(sum, &zeros)?;
            first.insert(*register, Integer::same(Sum::of(value)));
        }
        Some(first)
    }

    /// Whether what came around does not any more: from here on it would only grow.
    fn is_lost(&self, now: &BTreeMap<Register, Integer>) -> bool {
        let divided = |sum: &Sum| sum.terms.keys().any(|a| matches!(a, Atom::Quotient(..)));
        now.iter().any(|(register, value)| {
            let around = self.around.contains_key(register);
            value.sum.choices() > MOST_CHOICES
                || around && (value.sum.choices() > 0 || divided(&value.sum))
        })
    }

    /// Whether everything that is known goes on by the same step in each iteration.
    fn goes_evenly(&self, seen: &Seen) -> bool {
        self.around.keys().all(|register| {
            let values: Option<Vec<&Integer>> = seen.iter().map(|now| now.get(register)).collect();
            values.is_none_or(|values| {
                even(&values).is_some() || values.iter().any(|v| constant(v).is_none())
            })
        })
    }

    /// Steps, where everything has gone on by the same one.
    fn evenly(&self, seen: &Seen) -> BTreeMap<Register, Closed> {
        let steps = self.all.iter().filter_map(|(register, entry)| {
            let values: Option<Vec<&Integer>> = seen.iter().map(|now| now.get(register)).collect();
            Some((*register, Closed::even(entry, even(&values?)?)))
        });
        steps.collect()
    }

    /// A table, where the state has come around once. The first iteration is left out of that: what is overwritten
    /// before it is read may hold anything then.
    fn once(&self, seen: &Seen, moving: &BTreeSet<Register>) -> Option<BTreeMap<Register, Closed>> {
        let last = seen.len() - 1;
        let period = last.checked_sub(1).filter(|period| *period > 0)?;
        let mut closed = BTreeMap::new();
        let mut tables: BTreeMap<Register, Vec<i128>> = BTreeMap::new();
        for (register, entry) in &self.all {
            let values: Option<Vec<&Integer>> = seen.iter().map(|now| now.get(register)).collect();
            let Some(values) = values else { continue };
            if let Some(step) = even(&values).filter(|_| !moving.contains(register)) {
                closed.insert(*register, Closed::even(entry, step));
                continue;
            }
            let known: Option<Vec<i128>> = values.iter().map(|v| constant(v)).collect();
            let Some(mut known) = known else { continue };
            if known[1] != known[last] {
                return None;
            }
            if known[0] == known[period] {
                known.truncate(period);
                tables.insert(*register, known);
            }
        }
        if tables.is_empty() {
            return None;
        }
        let base = self.place(&tables)?;
        for (register, table) in tables {
            let form = Closed::around(base.clone(), Sum::of(1), shortest(&table).to_vec());
            closed.insert(register, form);
        }
        Some(closed)
    }

    /// Where the first iteration, or a loop in it, has moved the state on by a sum of numbers.
    fn by_sums(&self, seen: &Seen) -> Option<BTreeMap<Register, Closed>> {
        let [_, next] = seen.as_slice() else {
            return None;
        };
        let mut closed = BTreeMap::new();
        let mut ends: BTreeMap<Register, &Sum> = BTreeMap::new();
        for (register, entry) in &self.all {
            let Some(value) = next.get(register) else {
                continue;
            };
            if self.around.contains_key(register)
                && constant(value).is_none()
                && value.lanes.is_none()
                && Residues::of(&[&value.sum]).is_some()
            {
                ends.insert(*register, &value.sum);
            } else if let Some(step) = even(&[entry, value]) {
                closed.insert(*register, Closed::even(entry, step));
            }
        }
        let sums: Vec<&Sum> = ends.values().copied().collect();
        let moved = Residues::of(&sums).filter(|moved| !moved.is_constant())?;
        // The values as one of the numbers goes on are all that there are.
        (0..moved.len()).find_map(|number| {
            let mut tables: BTreeMap<Register, Vec<i128>> = BTreeMap::new();
            for (register, sum) in &ends {
                tables.insert(*register, moved.along(sum, number)?);
            }
            let zeros = vec![0; self.residues.len()];
            let begins = |(register, table): (&Register, &Vec<i128>)| {
                let entry = self.around.get(register)?;
                (table[0] == self.residues.value(entry, &zeros)?).then_some(())
            };
            tables
                .iter()
                .try_for_each(|one| begins(one).ok_or(()))
                .ok()?;
            let step = placed(&moved, &ends, &tables)?;
            let base = self.place(&tables)?;
            let mut closed = closed.clone();
            for (register, table) in tables {
                let table = shortest(&table).to_vec();
                closed.insert(register, Closed::around(base.clone(), step.clone(), table));
            }
            Some(closed)
        })
    }

    /// Where in these tables the state stands when the loop begins.
    fn place(&self, tables: &BTreeMap<Register, Vec<i128>>) -> Option<Sum> {
        let here = |register: &Register| Some((*register, self.around.get(register)?));
        let sums: Option<BTreeMap<Register, &Sum>> = tables.keys().map(here).collect();
        let sums = sums?;
        let all: Vec<&Sum> = sums.values().copied().collect();
        placed(&Residues::of(&all)?, &sums, tables)
    }
}

/// The place in tables at which sums have the values there, as a sum of the numbers in them.
fn placed(
    residues: &Residues,
    sums: &BTreeMap<Register, &Sum>,
    tables: &BTreeMap<Register, Vec<i128>>,
) -> Option<Sum> {
    let length = tables.values().next()?.len();
    let find = |at: &[i128]| {
        let values: Option<Vec<(Register, i128)>> = sums
            .iter()
            .map(|(register, sum)| Some((*register, residues.value(sum, at)?)))
            .collect();
        let values = values?;
        let place = (0..length).find(|place| {
            let holds = |(register, value): &(Register, i128)| {
                let table = tables.get(register);
                table.and_then(|table| table.get(*place)) == Some(value)
            };
            values.iter().all(holds)
        })?;
        i128::try_from(place).ok()
    };
    // Where the state comes around sooner than the numbers do.
    let period = (1..=length).find(|period| {
        let whole = |table: &Vec<i128>| shortest(table).len();
        tables.values().all(|table| period % whole(table) == 0)
    })?;
    residues.linear(i128::try_from(period).ok()?, &find)
}

fn constant(value: &Integer) -> Option<i128> {
    let same = value.lanes.is_none();
    same.then(|| value.sum.as_constant()).flatten()
}

/// By how much a value grows from each iteration to the next, where that is the same in all of them.
fn even(values: &[&Integer]) -> Option<Sum> {
    let mut steps = values.windows(2).map(|pair| {
        let alike = pair[0].lanes == pair[1].lanes;
        alike.then(|| pair[1].sum.minus(&pair[0].sum))
    });
    let first = steps.next()??;
    steps
        .all(|step| step.as_ref() == Some(&first))
        .then_some(first)
}
