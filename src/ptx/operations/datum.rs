//! What data decides, the same for all who look: values that are not followed, but of which it is certain that
//! everybody who asks finds the same. They are unknowns of the protocol, one for each iteration of the loops around.
//!
//! - What a barrier of all threads finds (`bar.red`) is told to all of them.
//! - What is read from shared memory is the same for all warps that read it between the same two barriers of all
//!   threads, if it may not be written in that time ([`epochs`](crate::ptx::path::epochs)). Every warp has to come to
//!   these barriers at the same places, in the same loops and under the same conditions, which is checked when all
//!   warps have been followed: then they are between the same two wherever they are at the same place in the same
//!   iteration. That conditions are the same may rest on what was read before; what is read first rests on nothing.
//! - What lanes of a warp vote for, or one of them tells the others, is the same for the warp.
//! - What is computed from such values alone, in whatever way, is the same for all who compute it from the same.
//! - Global memory that nobody writes in this kernel is read like what `ld.global.nc` reads.
//!
//! Values are followed so only where synchronization depends on them. That an unknown takes every value is more than
//! may happen: proofs hold all the more. A counterexample is one for data that has these values, as the text says.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::ptx::cta::program::Program;
use crate::ptx::cta::program::each;
use crate::ptx::cta::program::numbered;
use crate::ptx::cta::program::of_all;
use crate::ptx::cta::program::skeleton;
use crate::ptx::path::cycle::Loop;
use crate::ptx::path::epochs::Stores;
use crate::ptx::path::epochs::behind;
use crate::ptx::path::flow::Flow;
use crate::ptx::path::forms::trips;
use crate::ptx::path::walk::Walker;
use crate::ptx::syntax::ast::Function;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::syntax::ast::Operand;
use crate::ptx::warp::evaluate::destinations;
use crate::ptx::warp::evaluate::kind_of;
use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::machine::Datum;
use crate::ptx::warp::machine::Launch;
use crate::ptx::warp::machine::MOST_PARAMETER;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::Source;
use crate::ptx::warp::machine::State;
use crate::ptx::warp::machine::Unknowns;
use crate::ptx::warp::machine::window;
use crate::ptx::warp::rewrite::mapped;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;
use crate::ptx::warp::value::Integer;
use crate::ptx::warp::value::Value;

/// Instructions that write what follows from their operands, and nothing else.
const PURE: [&str; 43] = [
    "abs", "add", "and", "bfe", "bfi", "bfind", "brev", "clz", "cnot", "copysign", "cos", "cvt",
    "cvta", "div", "ex2", "fma", "lg2", "lop3", "mad", "mad24", "max", "min", "mov", "mul",
    "mul24", "neg", "not", "or", "popc", "prmt", "rcp", "rem", "rsqrt", "sad", "selp", "set",
    "setp", "shl", "shr", "sqrt", "sub", "tanh", "xor",
];

/// Unknowns from here on stand for the iteration of a loop in what a datum is computed from.
const FIRST_TURN: u32 = 1 << 30;

/// Whether an instruction may say what data decides.
pub(in crate::ptx) fn says(instruction: &Instruction<'_>, number: usize, stores: &Stores) -> bool {
    match instruction.parts().next().unwrap_or_default() {
        "ld" if instruction.has("param") || instruction.opcode.contains("shared") => true,
        "ld" if instruction.has("local") => false,
        "ld" => stores.in_shared_memory(number),
        "bar" | "barrier" => instruction.has("red"),
        "vote" | "redux" | "shfl" => true,
        name => PURE.contains(&name),
    }
}

/// Whether an instruction reads global memory that nobody writes in this kernel.
pub(in crate::ptx) fn reads_constant(
    instruction: &Instruction<'_>,
    number: usize,
    stores: &Stores,
) -> bool {
    let strong = ["volatile", "relaxed", "acquire", "mmio", "cv"];
    let elsewhere = ["shared", "local", "param"];
    instruction.parts().next() == Some("ld")
        && !strong
            .iter()
            .chain(&elsewhere)
            .any(|part| instruction.opcode.contains(part))
        && stores.leave_alone(number)
}

impl Walker<'_, '_, '_> {
    /// Writes what data decides here, if this is where it does. Returns whether that was it.
    pub fn decided(&mut self, instruction: &Instruction<'_>, state: &mut State) -> bool {
        if !self.heard.contains(&instruction.at) {
            return false;
        }
        let Some((source, place, of)) = self.source(instruction, state) else {
            return false;
        };
        let of: Vec<Sum> = of.iter().map(|sum| self.canonical(sum)).collect();
        let turns = self.turned_by(&source, &of);
        let meaning = Meaning::Datum(Datum {
            source,
            place,
            at: instruction.at,
            of,
        });
        let unknown = self.machine.unknowns.of(meaning);
        let (low, high) = self.bounds(instruction);
        self.machine.unknowns.bound(unknown, low, high, state);
        let sum = datum(unknown, turns);
        let value = if predicates(instruction) {
            Value::Same(Condition::Zero(sum).negated())
        } else {
            Value::Integer(Integer::same(sum))
        };
        let lost = Value::lost(instruction.at, "its second result is not followed");
        let values = match instruction.parts().next() {
            Some("setp") if instruction.operands.len() <= 3 => [value.clone(), value.negated()],
            _ => [value, lost],
        };
        for (register, value) in destinations(instruction).into_iter().zip(values) {
            if let Some(register) = register {
                self.machine.write(instruction, register, value, state);
            }
        }
        true
    }

    /// Who sees the same, where, and what it is computed from.
    fn source(
        &mut self,
        instruction: &Instruction<'_>,
        state: &mut State,
    ) -> Option<(Source, usize, Vec<Sum>)> {
        let at = instruction.at;
        let rank = self.machine.rank;
        let warp = Source::Warp(rank, self.machine.warp);
        let here = self.current;
        let whole = state.active == state.whole && !state.vague && instruction.guard.is_none();
        let all = |masks: Option<Value>| match masks {
            Some(Value::Integer(masks)) => masks.constants().is_some_and(|masks| {
                let named = |mask: &i128| u32::try_from(mask & 0xffff_ffff).unwrap_or(0);
                masks
                    .iter()
                    .all(|mask| named(mask) & state.whole == state.whole)
            }),
            _ => false,
        };
        let mut operand = |number: usize| {
            let operand = instruction.operands.get(number)?;
            Some(self.machine.value(operand, &mut state.clone(), at))
        };
        match instruction.parts().next()? {
            "bar" | "barrier" => whole.then_some((Source::Barrier(rank), here, Vec::new())),
            "vote" | "redux" => {
                let mask = operand(instruction.operands.len().checked_sub(1)?);
                let told = whole && all(mask);
                told.then_some((warp, here, Vec::new()))
            }
            "shfl" => {
                let (from, clamp, mask) = (operand(2)?, operand(3)?, operand(4));
                let same = |value: &Value| match value {
                    Value::Integer(i) if i.lanes.is_none() => i.sum.as_constant(),
                    _ => None,
                };
                let told = instruction.has("idx")
                    && same(&clamp) == Some(31)
                    && same(&from).is_some_and(|lane| state.whole >> (lane & 31) & 1 == 1);
                (told && whole && all(mask)).then_some((warp, here, Vec::new()))
            }
            "ld" if instruction.has("param") => {
                let Operand::Address { base, offset, .. } = instruction.operands.get(1)? else {
                    return None;
                };
                let Operand::Name(name) = &**base else {
                    return None;
                };
                let mut all = self.machine.function.parameters.iter();
                let index = all.position(|p| p.name == *name)?;
                if destinations(instruction).len() != 1 {
                    return None;
                }
                let parameter = self.machine.unknowns.of(Meaning::Parameter(index, *offset));
                Some((Source::Made, usize::MAX, vec![Sum::unknown(parameter)]))
            }
            "ld" => {
                let Some(Value::Integer(address)) = operand(1) else {
                    return None;
                };
                if address.lanes.is_some() || destinations(instruction).len() != 1 {
                    return None;
                }
                let mut base = None;
                for (atom, factor) in &address.sum.terms {
                    if let Atom::Unknown(u) = atom {
                        match self.machine.unknowns.meaning(*u) {
                            Some(Meaning::Shared(name)) if *factor == 1 && base.is_none() => {
                                base = Some((*u, name.clone()));
                            }
                            Some(Meaning::Shared(_) | Meaning::Peer(_) | Meaning::Peers(_)) => {
                                return None;
                            }
                            _ => {}
                        }
                    }
                }
                let (base, name) = base?;
                let offset = address.sum.minus(&Sum::unknown(base));
                if self.unstable(&offset) {
                    return None;
                }
                let (low, high) = state.facts.range(&offset);
                let kind = instruction.parts().last()?;
                let bits: i128 = kind
                    .trim_start_matches(|c: char| !c.is_ascii_digit())
                    .parse()
                    .ok()?;
                let bytes = (low, high + bits / 8);
                Some((Source::Shared(rank, name, bytes), here, vec![address.sum]))
            }
            _ => {
                if destinations(instruction).iter().flatten().count() == 0 {
                    return None;
                }
                let mut of = Vec::new();
                for operand in instruction.operands.iter().skip(1) {
                    if matches!(operand, Operand::Float) {
                        continue;
                    }
                    match self.machine.value(operand, state, at) {
                        Value::Integer(integer) if integer.lanes.is_none() => of.push(integer.sum),
                        Value::Same(condition) if !condition.tests() => {
                            of.push(state.facts.choice(&condition, &Sum::of(1), &Sum::of(0)));
                        }
                        _ => return None,
                    }
                }
                // What follows from the launch alone is no matter of data.
                let by_data = |u: Unknown| {
                    let meaning = self.machine.unknowns.meaning(u);
                    matches!(meaning, Some(Meaning::Datum(_) | Meaning::Until(..)))
                };
                let from_data = |sum: &Sum| sum.reads_memory() || sum.mentions(&by_data);
                if of.iter().any(|sum| self.unstable(sum)) || !of.iter().any(from_data) {
                    return None;
                }
                Some((Source::Made, here, of))
            }
        }
    }

    /// Whether a sum depends on what is not the same whenever it is looked at.
    fn unstable(&self, sum: &Sum) -> bool {
        sum.tests(&|_| true)
            || sum.mentions(&|u| {
                matches!(
                    self.machine.unknowns.meaning(u),
                    Some(
                        Meaning::Read(..)
                            | Meaning::Found(..)
                            | Meaning::Flipped(..)
                            | Meaning::Answer(..)
                    )
                )
            })
    }

    /// A sum with the iterations of the loops around in the order of their nesting.
    fn canonical(&self, sum: &Sum) -> Sum {
        Facts::default().replaced(sum, &|u| self.nesting(u))
    }

    fn nesting(&self, unknown: Unknown) -> Option<Sum> {
        let own = Sum::unknown(unknown);
        let depth = self.turns.iter().position(|(_, turn)| *turn == own)?;
        Some(Sum::unknown(turn(depth)))
    }

    /// The iterations that something is another one in.
    fn turned_by(&self, source: &Source, of: &[Sum]) -> Vec<Sum> {
        let mut turns = Vec::new();
        for (depth, (header, number)) in self.turns.iter().enumerate() {
            let named = of.iter().any(|sum| sum.mentions(&|u| u == turn(depth)));
            let moves = match source {
                Source::Made => named,
                Source::Barrier(_) | Source::Warp(..) => true,
                // What nobody writes in a loop is the same in all of its rounds.
                Source::Shared(_, name, bytes) => {
                    let written = |blocks| self.stores.inside(self.whole, blocks, name, *bytes);
                    named || self.whole.loops.get(header).is_none_or(written)
                }
            };
            if moves {
                turns.push(number.clone());
            }
        }
        turns
    }

    fn bounds(&self, instruction: &Instruction<'_>) -> (i128, i128) {
        if predicates(instruction) {
            return (0, 1);
        }
        if instruction.has("popc") {
            return (0, i128::from(self.machine.launch.count()));
        }
        let bits = |signed: bool, bits: u32| window(signed, bits);
        match instruction.parts().last().as_ref().and_then(kind_of) {
            Some((signed, narrow @ (8 | 16))) => bits(signed, narrow),
            Some((_, wide)) => bits(true, wide),
            None => bits(true, 64),
        }
    }

    /// Whether an unknown is another one in every iteration or warp.
    fn moves(&self, unknown: Unknown) -> bool {
        !matches!(
            self.machine.unknowns.meaning(unknown),
            Some(
                Meaning::Parameter(..)
                    | Meaning::Block(_)
                    | Meaning::Blocks(_)
                    | Meaning::Datum(_)
                    | Meaning::Until(..)
            )
        )
    }

    /// How often a loop begins again, where data decides: how many iterations there are up to the first in which
    /// it does not. That is the same number for all who go by the same condition.
    pub fn until(
        &mut self,
        one: &Loop,
        again: &Condition,
        number: Unknown,
        facts: &Facts,
    ) -> Option<Sum> {
        self.turns.push((one.header, Sum::unknown(number)));
        let key = Facts::default().replaced_in(again, &|u| self.nesting(u));
        self.turns.pop();
        let own = turn(self.turns.len());
        if !by_data(again, number) || again.tests() {
            return None;
        }
        debug_assert!(key.mentions(&|u| u == own));
        let outer = self.turns.iter().enumerate();
        let outer = outer.filter(|(depth, _)| key.mentions(&|u| u == turn(*depth)));
        let outer: Vec<Sum> = outer.map(|(_, (_, number))| number.clone()).collect();
        let at = self.last(one.leaving).map_or(0, |i| i.at);
        let unknown = self.machine.unknowns.of(Meaning::Until(key, at));
        let mut most = MOST_PARAMETER;
        let mut bounds = Vec::new();
        let mut open = vec![again];
        while let Some(condition) = open.pop() {
            if let Condition::And(a, b) = condition {
                open.extend([&**a, &**b]);
            } else if let Some(times) = trips(condition, number, facts) {
                most = most.min(facts.range(&times).1.max(0));
                bounds.push(times);
            }
        }
        self.machine.unknowns.1.bound(unknown, 0, most);
        // What the launch says of it holds, too. Where the loop is not come to, there are no rounds.
        for times in bounds {
            if outer.is_empty() && !times.mentions(&|u| self.moves(u)) {
                let none = Condition::Negative(times.clone());
                let least = Facts::default().choice(&none, &Sum::of(0), &times);
                let left = least.minus(&Sum::unknown(unknown));
                self.machine.assumptions.insert((left, at));
            }
        }
        Some(datum(unknown, outer))
    }
}

/// The iteration of the loop at this depth.
fn turn(depth: usize) -> Unknown {
    Unknown(FIRST_TURN + u32::try_from(depth).unwrap_or(0))
}

/// What data decides in these iterations.
fn datum(unknown: Unknown, turns: Vec<Sum>) -> Sum {
    if turns.is_empty() {
        return Sum::unknown(unknown);
    }
    Sum::atom(Atom::Datum(unknown, turns))
}

/// Whether an instruction writes a predicate.
fn predicates(instruction: &Instruction<'_>) -> bool {
    let mut parts = instruction.parts();
    match parts.next() {
        Some("setp") => true,
        Some("bar" | "barrier") => !instruction.has("popc"),
        Some("vote") => !instruction.has("ballot"),
        Some("shfl" | "redux") => false,
        _ => parts.last() == Some("pred"),
    }
}

/// Whether a condition depends on what data decides in this iteration.
fn by_data(condition: &Condition, number: Unknown) -> bool {
    let found = std::cell::Cell::new(false);
    let look = |sum: &Sum| {
        found.set(found.get() | sum_by_data(sum, number));
        sum.clone()
    };
    visited(condition, &look);
    found.get()
}

fn sum_by_data(sum: &Sum, number: Unknown) -> bool {
    sum.terms.keys().any(|atom| atom_by_data(atom, number))
}

fn atom_by_data(atom: &Atom, number: Unknown) -> bool {
    let own = |u: Unknown| u == number;
    match atom {
        Atom::Unknown(_) => false,
        Atom::Datum(_, turns) => turns.iter().any(|turn| turn.mentions(&own)),
        Atom::Cell(address, _) => address.mentions(&own),
        Atom::Quotient(a, b) => sum_by_data(a, number) || sum_by_data(b, number),
        Atom::Product(parts) => parts.iter().any(|part| atom_by_data(part, number)),
        Atom::Choice(c, a, b) => {
            by_data(c, number) || sum_by_data(a, number) || sum_by_data(b, number)
        }
    }
}

fn visited(condition: &Condition, look: &dyn Fn(&Sum) -> Sum) {
    match condition {
        Condition::Constant(_) | Condition::Passed(_) => {}
        Condition::Negative(sum) | Condition::Zero(sum) => {
            look(sum);
        }
        Condition::Not(inner) => visited(inner, look),
        Condition::And(a, b) | Condition::Or(a, b) => {
            visited(a, look);
            visited(b, look);
        }
    }
}

/// What a warp comes to, as far as barriers of all threads go: one statement after the other, each with the places of
/// the instructions in it.
#[derive(Debug)]
pub(in crate::ptx) struct Meetings(Vec<(Statement, Vec<usize>)>);

impl Meetings {
    pub fn of(statements: &[Statement], launch: &Launch) -> Meetings {
        let kept = skeleton(statements, &|action| of_all(action, launch));
        let places = kept.iter().map(|statement| {
            let mut places = Vec::new();
            each(std::slice::from_ref(statement), &mut |s| {
                if matches!(s.action, Action::Sync(..)) {
                    places.push(s.at);
                }
            });
            places
        });
        Meetings(numbered(&kept).into_iter().zip(places).collect())
    }
}

/// What is left to check when all warps have been followed.
pub(in crate::ptx) struct Heard<'c> {
    pub function: &'c Function<'c>,
    pub flow: &'c Flow,
    pub stores: &'c Stores,
    pub launch: &'c Launch,
    pub unknowns: &'c Unknowns,
    /// What each warp of a CTA comes to.
    pub meetings: &'c BTreeMap<u32, Vec<Meetings>>,
}

impl Heard<'_> {
    /// Refuses unless what data decides is the same for all who look.
    pub fn same_for_all(&self, programs: &[Program], counters: bool) -> Result<(), Obstacle> {
        for datum in self.used(programs) {
            if counters {
                let reason = "data decides about synchronization in a kernel that waits for memory";
                return Err(Obstacle::new(datum.at, reason));
            }
            let (rank, at) = match &datum.source {
                Source::Shared(rank, ..) | Source::Barrier(rank) => (*rank, datum.at),
                Source::Warp(..) | Source::Made => continue,
            };
            let all = self.meetings.get(&rank).map_or(&[][..], Vec::as_slice);
            let places = |from: usize| {
                let rest = all.iter().flat_map(move |own| own.0.iter().skip(from));
                rest.flat_map(|(_, places)| places.iter().copied())
            };
            let mut barriers: BTreeSet<usize> = places(0).collect();
            // As long as all come to the same, they are between the same two. Where they part is no matter to what
            // is asked before.
            let same = |number: &usize| {
                let mut found = all.iter().map(|own| own.0.get(*number));
                let first = found.next().flatten();
                first.is_some() && found.all(|other| other == first)
            };
            let even = (0..).take_while(same).count();
            let apart: BTreeSet<usize> = places(even).collect();
            let late = apart.contains(&datum.at)
                || behind(self.flow, self.function, &apart).contains(&datum.place);
            // Written out twice, an instruction would not say where a warp is.
            let code = self.function.code.iter();
            let twice = code.filter(|i| barriers.contains(&i.at)).count() > barriers.len();
            if late || twice {
                let reason = "data decides about synchronization here, and not every warp comes to the \
                              same barriers of all threads: whether all find the same is not followed";
                return Err(Obstacle::new(at, reason));
            }
            // What is no barrier of all threads for one warp separates nothing.
            for program in programs.iter().filter(|p| p.rank == rank) {
                each(&program.statements, &mut |s| {
                    let some = matches!(s.action, Action::Sync(..) | Action::ArriveNamed(..));
                    if some && !of_all(&s.action, self.launch) {
                        barriers.remove(&s.at);
                    }
                });
            }
            match &datum.source {
                Source::Barrier(_) if !barriers.contains(&datum.at) => {
                    let reason = "data decides about synchronization at a barrier of some threads";
                    return Err(Obstacle::new(at, reason));
                }
                Source::Shared(_, name, bytes) => {
                    let what = (name.as_str(), *bytes);
                    let (flow, function) = (self.flow, self.function);
                    let stores = self.stores;
                    if let Some(number) =
                        stores.meanwhile(flow, function, &barriers, datum.place, what)
                    {
                        let reason = "data decides about synchronization here, and may be written \
                                      meanwhile: no barrier of all threads lies between";
                        let mut obstacle = Obstacle::new(at, reason);
                        obstacle.from = function.code.get(number).map(|i| i.at);
                        return Err(obstacle);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What data decides about, with what that rests on.
    fn used(&self, programs: &[Program]) -> Vec<Datum> {
        let found = std::cell::RefCell::new(BTreeSet::new());
        let note = |u: Unknown| {
            found.borrow_mut().insert(u);
            false
        };
        for program in programs {
            mapped(
                &program.statements,
                &|sum| {
                    sum.mentions(&note);
                    sum.clone()
                },
                &|condition| {
                    condition.mentions(&note);
                    condition.clone()
                },
            );
        }
        let mut done: BTreeSet<Unknown> = BTreeSet::new();
        let mut all = Vec::new();
        loop {
            let open: Vec<Unknown> = found.borrow().difference(&done).copied().collect();
            if open.is_empty() {
                return all;
            }
            for unknown in open {
                done.insert(unknown);
                match self.unknowns.meaning(unknown) {
                    Some(Meaning::Datum(datum)) => {
                        for sum in &datum.of {
                            sum.mentions(&note);
                        }
                        all.push(datum.clone());
                    }
                    Some(Meaning::Until(condition, _)) => {
                        condition.mentions(&note);
                    }
                    _ => {}
                }
            }
        }
    }
}
