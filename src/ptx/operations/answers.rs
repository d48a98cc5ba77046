//! Work that is taken over from CTAs that have not been launched: `clusterlaunchcontrol.try_cancel` asks for
//! one, an mbarrier is told when the answer has landed in shared memory, and everybody looks at it.
//!
//! How many are granted is one number that nobody knows, the same for everybody who looks: the answers
//! before it are grants, the next one is a refusal, and nobody may ask again after it. That answer `i` is
//! what is read in iteration `i` is shown by its place: the request is made in every iteration of one loop,
//! and the place that is read is the same function of the iteration. That an answer has landed when it is
//! read, and that the next one does not land before, is taken to be so and said in the text; as these are
//! accesses to shared memory, `--property race` decides about it where it can follow them all.

use super::instruction::Done;
use crate::ptx::cta::program::Program;
use crate::ptx::path::walk::Walker;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::syntax::ast::Operand;
use crate::ptx::warp::evaluate::destinations;
use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::machine::MOST_PARAMETER;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::State;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;
use crate::ptx::warp::value::Integer;
use crate::ptx::warp::value::Value;

/// The bytes of an answer.
const BYTES: i128 = 16;

/// A place where an answer lands or is looked at, as a function of the iteration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ptx) struct Answer {
    place: Sum,
    iteration: Unknown,
    rank: u32,
    /// How many CTAs an answer is told to.
    told: usize,
    at: usize,
}

/// Requests and looks at answers, of one warp or of all.
#[derive(Debug, Default, Clone)]
pub(in crate::ptx) struct Answers {
    asked: Vec<Answer>,
    seen: Vec<Answer>,
}

impl Answers {
    pub fn add(&mut self, more: Answers) {
        self.asked.extend(more.asked);
        self.seen.extend(more.seen);
    }

    /// Refuses unless everybody looks at every answer where it lands, one in each iteration.
    pub fn agree(&self, programs: &[Program]) -> Result<(), Obstacle> {
        if let [_, second, ..] = self.asked.as_slice() {
            let reason = "work is asked for at two places";
            return Err(Obstacle::new(second.at, reason));
        }
        if let Some(asked) = self.asked.first() {
            let mut found = 0;
            for program in programs.iter().filter(|p| p.rank == asked.rank) {
                found += top(&program.statements, asked.at, 0) * program.warps.len();
            }
            // The last request may follow the loop that makes the others.
            if found != asked.told && found != 2 * asked.told {
                let reason = "whether work is asked for once in every iteration is not followed";
                return Err(Obstacle::new(asked.at, reason));
            }
        }
        for seen in &self.seen {
            let same = |u: Unknown| (u == seen.iteration).then(|| Sum::unknown(Unknown(u32::MAX)));
            let mine = Facts::default().replaced(&seen.place, &same);
            let lands = self.asked.iter().any(|asked| {
                let same =
                    |u: Unknown| (u == asked.iteration).then(|| Sum::unknown(Unknown(u32::MAX)));
                let there = Facts::default().replaced(&asked.place, &same);
                let apart = Facts::default().rewritten(&mine.minus(&there));
                (asked.rank == seen.rank || asked.told > 1)
                    && apart.as_constant().is_some_and(|b| (0..BYTES).contains(&b))
            });
            if !lands {
                let reason = "no answer is known to land where this one is read";
                return Err(Obstacle::new(seen.at, reason));
            }
        }
        Ok(())
    }
}

/// Notes an answer, in the place of what was thought of it before.
fn note(all: &mut Vec<Answer>, answer: Answer) {
    all.retain(|other| other.at != answer.at);
    all.push(answer);
}

/// How often an instruction stands in statements, at most one loop deep and under no condition.
fn top(statements: &[Statement], at: usize, depth: usize) -> usize {
    statements
        .iter()
        .map(|statement| match &statement.action {
            Action::For(_, _, body) if depth == 0 => top(body, at, depth + 1),
            Action::Copy(..) => usize::from(statement.at == at),
            _ => 0,
        })
        .sum()
}

impl Walker<'_, '_, '_> {
    /// Asks for work.
    pub fn ask(
        &mut self,
        instruction: &Instruction<'_>,
        lanes: u32,
        state: &mut State,
        out: &mut Vec<Statement>,
    ) -> Done {
        if lanes.count_ones() != 1 {
            return self.refuse(instruction, "more than one lane asks for work");
        }
        let several = instruction.opcode.contains("multicast");
        let ranks = self.machine.launch.ranks();
        if several != (ranks > 1) {
            return self.refuse(instruction, "one CTA of a cluster asks for itself alone");
        }
        let mut seen = state.narrowed(lanes);
        let place = self.uniform(instruction, instruction.operands.first(), &mut seen)?;
        let barrier = self.uniform(instruction, instruction.operands.get(1), &mut seen)?;
        let bytes = Sum::of(BYTES);
        let area = self.filled(instruction, Some(&bytes), &mut seen)?;
        for rank in 0..ranks {
            let there = |walker: &mut Self, address: &Sum, state: &mut State| match several {
                true => walker.machine.in_peer(address, rank, state),
                false => address.clone(),
            };
            let barrier = there(self, &barrier, state);
            let mut area = area.clone();
            if let Some(area) = &mut area {
                area.address = there(self, &area.address, state);
            }
            let action = Action::Copy(barrier, Some(bytes.clone()), area);
            self.push(out, instruction, action);
        }
        match self.numbers.last() {
            Some(Some(iteration)) => {
                let answer = Answer {
                    place,
                    iteration: *iteration,
                    rank: self.machine.rank,
                    told: usize::try_from(ranks).unwrap_or(usize::MAX),
                    at: instruction.at,
                };
                note(&mut self.answers.asked, answer);
                Ok(())
            }
            Some(None) => Ok(()),
            None => self.refuse(instruction, "work is asked for outside of a loop"),
        }
    }

    /// Follows what is read where answers may be, and what they say. Returns whether that was it.
    pub fn hear(
        &mut self,
        instruction: &Instruction<'_>,
        parts: &[&str],
        state: &mut State,
    ) -> bool {
        if !self.asks {
            return false;
        }
        match parts {
            ["ld", rest @ ..] if rest.contains(&"shared") || rest.contains(&"shared::cta") => {
                let wide = matches!(rest.last(), Some(&("b128" | "b64" | "u64" | "s64")))
                    || rest.contains(&"v4");
                let address = instruction.operands.get(1);
                let value = address.map(|a| self.machine.value(a, state, instruction.at));
                let Some(Value::Integer(address)) = value.filter(|_| wide) else {
                    return false;
                };
                if address.lanes.is_some() {
                    return false;
                }
                let place = state.facts.rewritten(&address.sum);
                let iteration = self.numbers.last().copied().flatten();
                for register in destinations(instruction).into_iter().flatten() {
                    let meaning = Meaning::Answer(place.clone(), iteration);
                    let unknown = self.machine.unknowns.fresh(meaning);
                    state.facts.bound(unknown, 0, i128::from(i64::MAX));
                    let value = Value::Integer(Integer::same(Sum::unknown(unknown)));
                    self.machine.write(instruction, register, value, state);
                }
                true
            }
            ["mov", .., "b64" | "b128"] => {
                let Some(Operand::Vector(words)) = instruction.operands.get(1) else {
                    return false;
                };
                let Some(word) = words.first() else {
                    return false;
                };
                let value = self.machine.value(word, state, instruction.at);
                if self.answer_in(&value).is_none() {
                    return false;
                }
                self.machine.write_all(instruction, &value, state);
                true
            }
            ["clusterlaunchcontrol", "query_cancel", "is_canceled", ..] => {
                let Some(operand) = instruction.operands.get(1) else {
                    return false;
                };
                let value = self.machine.value(operand, state, instruction.at);
                let Some((place, iteration)) = self.answer_in(&value) else {
                    return false;
                };
                let number = match iteration {
                    Some(number) => {
                        let answer = Answer {
                            place,
                            iteration: number,
                            rank: self.machine.rank,
                            told: 1,
                            at: instruction.at,
                        };
                        note(&mut self.answers.seen, answer);
                        number
                    }
                    // While a guess is made, the iteration has no number yet.
                    None => {
                        let unknown = self.machine.unknowns.fresh(Meaning::Carried(u32::MAX));
                        state.facts.bound(unknown, 0, MOST_PARAMETER);
                        unknown
                    }
                };
                let granted = self.granted(state);
                let before = Sum::unknown(number).minus(&Sum::unknown(granted));
                let value = Value::Same(Condition::Negative(before));
                self.machine.write_all(instruction, &value, state);
                true
            }
            _ => false,
        }
    }

    /// How many requests are granted.
    pub fn granted(&mut self, state: &mut State) -> Unknown {
        let unknowns = &mut self.machine.unknowns;
        let granted = unknowns.of(Meaning::Granted);
        unknowns.bound(granted, 0, MOST_PARAMETER, state);
        granted
    }

    /// Where an answer was read, and in which iteration.
    fn answer_in(&self, value: &Value) -> Option<(Sum, Option<Unknown>)> {
        let Value::Integer(integer) = value else {
            return None;
        };
        let (crate::ptx::warp::term::Atom::Unknown(unknown), 1) = integer.sum.single()? else {
            return None;
        };
        match self.machine.unknowns.meaning(*unknown)? {
            Meaning::Answer(place, iteration) if integer.lanes.is_none() => {
                Some((place.clone(), *iteration))
            }
            _ => None,
        }
    }
}
