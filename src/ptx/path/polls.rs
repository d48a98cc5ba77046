//! Loops in which one thread looks at memory, and a barrier with a vote tells all threads whether to go on:
//!
//! ```text
//! while (barrier_and(seen != turn)) { if (thread == 0) { seen = load(word) } }
//! ```
//!
//! `barrier_and` gives every thread the same outcome. All threads but thread 0 say true in each round. So the outcome is
//! what thread 0 says, and all threads leave the loop in the round in which it has seen the awaited value. The loop is
//! written as a wait of the warp of thread 0, and a barrier of all threads after it. That has the same hangs:
//!
//! - In the loop and in what is written, a thread is held until all have come and thread 0 has seen the value. It does
//!   nothing else meanwhile.
//! - If thread 0 looks for the first time in the loop, it looks when all have come. That is written as a barrier of all
//!   threads before the wait.
//! - If thread 0 has also looked before the loop, a look that fails is repeated when all have come. What is written waits
//!   before all have come. It passes or blocks as the repeated look does.
//!
//! Nobody else can see how many rounds there are.
//!
//! What each warp says is followed for four rounds. Each begins as the one before has ended. If the last one ends as it
//! began, all later rounds are alike. Once all warps have been followed, three conditions are compared: just one warp
//! looks, all come to the same barriers in the same order, and these are barriers of all threads.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::cycle::Loop;
use super::walk::Walker;
use crate::ptx::cta::program::Program;
use crate::ptx::cta::program::each;
use crate::ptx::cta::program::numbered;
use crate::ptx::cta::program::of_all;
use crate::ptx::cta::program::skeleton;
use crate::ptx::operations::flips::found;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::syntax::ast::Operand;
use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::machine::Launch;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::State;
use crate::ptx::warp::machine::Touched;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;
use crate::ptx::warp::value::Integer;
use crate::ptx::warp::value::Value;

/// What a warp says at a barrier with a vote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ptx) enum Says {
    /// Nothing that changes the outcome.
    Nothing,
    /// One lane decides by what it has seen: the outcome changes where this holds.
    Decides(Condition),
}

/// What a warp does in such a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ptx) enum Polls {
    /// It comes to the barrier.
    Comes,
    /// It looks, also before the first round.
    Looks,
    /// It looks when all have come once.
    LooksThen,
    /// It does one thing here and another there.
    Unlike,
}

/// Where loops with a vote stand, with what a warp does there.
pub(in crate::ptx) type Polled = BTreeMap<usize, Polls>;

/// One round: what was said, the unknown that the outcome is, and the first one of the round.
struct Said {
    says: Says,
    vote: Unknown,
    ended: State,
    sync: Statement,
    until: Option<Action>,
}

impl Walker<'_, '_, '_> {
    /// What comes of a vote of all threads, if all but one lane of this warp have nothing to say.
    pub fn votes(
        &mut self,
        instruction: &Instruction<'_>,
        parts: &[&str],
        state: &mut State,
    ) -> Option<Value> {
        let all = parts.contains(&"and");
        if !all && !parts.contains(&"or") || instruction.guard.is_some() {
            return None;
        }
        let said = match instruction.operands.last()? {
            Operand::Register(register) => {
                let value = self.machine.value(&Operand::Register(*register), state, 0);
                value.seen(state.active, &state.facts)
            }
            Operand::Not(register) => {
                let value = self.machine.value(&Operand::Register(*register), state, 0);
                value.seen(state.active, &state.facts).negated()
            }
            _ => return None,
        };
        let mut says = Says::Nothing;
        for (lanes, condition) in said.parts()? {
            let lanes = lanes & state.active;
            if lanes == 0 || condition == Condition::Constant(all) {
                continue;
            }
            if lanes.count_ones() != 1 || says != Says::Nothing || !self.reads(&condition) {
                return None;
            }
            says = Says::Decides(if all { condition.negated() } else { condition });
        }
        let vote = self.machine.unknowns.fresh(Meaning::Voted);
        state.facts.bound(vote, 0, 1);
        self.said.insert(vote, (says, all));
        let none = Condition::Zero(Sum::unknown(vote));
        Some(Value::Same(none.negated()))
    }

    /// Goes through such a loop, and says what is known after it.
    pub fn polled(&mut self, one: &Loop, state: &State, out: &mut Vec<Statement>) -> Option<State> {
        if one.ways.is_some() || !self.only_votes(one) {
            return None;
        }
        let depth = self.depth;
        let assumed = self.machine.assumptions.clone();
        let quiet = self.quiet;
        let followed = self.four_rounds(one, state, quiet);
        self.depth = depth;
        let Some((statements, polls)) = followed else {
            *self.machine.assumptions = assumed;
            return None;
        };
        let at = statements.last()?.at;
        let known = self.polls.entry(at).or_insert(polls);
        if *known != polls {
            *known = Polls::Unlike;
        }
        let mut after = state.clone();
        self.give_up(
            &one.blocks,
            at,
            "it changes in a loop that waits",
            &mut after,
        );
        after.apart = None;
        after.touched = Touched::default();
        self.forget_tests(&mut after, &statements);
        out.extend(statements);
        Some(after)
    }

    /// Whether a loop has one barrier with a vote, and otherwise nothing that takes part in synchronization, nor another loop.
    fn only_votes(&self, one: &Loop) -> bool {
        let mut votes = 0;
        for instruction in one.blocks.iter().flat_map(|b| self.code(*b)) {
            let bar = matches!(instruction.parts().next(), Some("bar" | "barrier"));
            if bar && instruction.has("red") && instruction.guard.is_none() {
                votes += 1;
            } else if self.touches(instruction) {
                return false;
            }
        }
        let mut others = self.flow.loops.iter().filter(|(h, _)| **h != one.header);
        votes == 1 && !others.any(|(_, blocks)| blocks.is_subset(&one.blocks))
    }

    fn four_rounds(
        &mut self,
        one: &Loop,
        state: &State,
        quiet: Unknown,
    ) -> Option<(Vec<Statement>, Polls)> {
        let behind = |said: &Said| State {
            registers: said.ended.registers.clone(),
            ..state.clone()
        };
        let first = self.says(one, state)?;
        let second = self.says(one, &behind(&first))?;
        let third = self.says(one, &behind(&second))?;
        let fourth = self.says(one, &behind(&third))?;
        let all = [&first, &second, &third, &fourth];
        let same = |a: &Said, b: &Said| a.until == b.until && a.sync == b.sync;
        if first.sync != second.sync || !same(&second, &third) || !same(&third, &fourth) {
            return None;
        }
        if !self.alike(one, (&third, second.vote), (&fourth, third.vote)) {
            return None;
        }
        // What was looked at belongs to this wait if nothing that takes part in synchronization lies in between.
        let of = |says: &Says, from: Unknown, to: Unknown| match says {
            Says::Nothing => true,
            Says::Decides(condition) => !condition.mentions(&|u| {
                matches!(self.machine.unknowns.meaning(u), Some(Meaning::Read(..)))
                    && (u < from || u > to)
            }),
        };
        let mut from = quiet;
        for said in all {
            if !of(&said.says, from, said.vote) {
                return None;
            }
            from = said.vote;
        }
        match (&first.until, &second.until) {
            (None, None) => Some((vec![second.sync], Polls::Comes)),
            (looked, Some(action)) if looked.as_ref().is_none_or(|l| l == action) => {
                let polls = match looked {
                    Some(_) => Polls::Looks,
                    None => Polls::LooksThen,
                };
                let wait = Statement {
                    action: action.clone(),
                    ..second.sync.clone()
                };
                Some((vec![wait, second.sync], polls))
            }
            _ => None,
        }
    }

    /// Follows a round, and what it says.
    fn says(&mut self, one: &Loop, state: &State) -> Option<Said> {
        self.numbers.push(None);
        let round = self.round(one, state.clone(), &|_| {});
        self.numbers.pop();
        let round = round.ok()?;
        let [sync] = round.above.as_slice() else {
            return None;
        };
        if !matches!(sync.action, Action::Sync(..)) || !round.below.is_empty() {
            return None;
        }
        let Value::Same(again) = &round.again else {
            return None;
        };
        let (sum, again_if) = match again {
            Condition::Zero(sum) => (sum, false),
            Condition::Not(inner) => match inner.as_ref() {
                Condition::Zero(sum) => (sum, true),
                _ => return None,
            },
            _ => return None,
        };
        let (Atom::Unknown(vote), 1 | -1) = sum.single()? else {
            return None;
        };
        let (says, all) = self.said.get(vote)?.clone();
        // As long as nobody has anything to say.
        if again_if != all {
            return None;
        }
        let until = match &says {
            Says::Nothing => None,
            Says::Decides(condition) => {
                let (action, _, bytes) = self.wait_until(condition)?;
                let Action::CounterWait(address, _, value) = &action else {
                    return None;
                };
                let moves = |u: Unknown| {
                    matches!(
                        self.machine.unknowns.meaning(u),
                        Some(Meaning::Read(..) | Meaning::Carried(_))
                    )
                };
                if address.mentions(&moves) || value.mentions(&moves) {
                    return None;
                }
                let pointer = self.pointer(address)?;
                self.waited.insert(pointer);
                self.widths.note(pointer, bytes, sync.at);
                Some(action)
            }
        };
        Some(Said {
            says,
            vote: *vote,
            sync: sync.clone(),
            ended: round.ended,
            until,
        })
    }

    /// Whether two rounds, one after the other, end with the same in each register that the loop writes, but for what
    /// each has read since the vote of the round before.
    fn alike(
        &self,
        one: &Loop,
        (first, before): (&Said, Unknown),
        (second, between): (&Said, Unknown),
    ) -> bool {
        let plain = |value: &Value, from: Unknown| {
            let place = |u: Unknown| {
                let own = u >= from && found(self.machine.unknowns, u);
                own.then(|| Sum::unknown(Unknown(u32::MAX - (u.0 - from.0))))
            };
            let facts = Facts::default();
            let integer = |i: &Integer| Integer {
                sum: facts.replaced(&i.sum, &place),
                lanes: i.lanes.clone(),
            };
            match value {
                Value::Integer(i) => Value::Integer(integer(i)),
                Value::Groups(_, groups) => {
                    let groups = groups.iter().map(|(lanes, i)| (*lanes, integer(i)));
                    Value::Groups(0, groups.collect())
                }
                Value::Same(c) => Value::Same(facts.replaced_in(c, &place)),
                Value::Parted(parts) => {
                    let parts = parts.iter();
                    Value::Parted(
                        parts
                            .map(|(l, c)| (*l, facts.replaced_in(c, &place)))
                            .collect(),
                    )
                }
                other => other.clone(),
            }
        };
        self.written(&one.blocks).into_iter().all(|register| {
            let held = |said: &Said, from: Unknown| {
                let value = said.ended.registers.get(register.0 as usize);
                value.map(|value| plain(value, from))
            };
            held(first, before) == held(second, between)
        })
    }
}

/// Refuses where not just one warp looks, or where warps come to barriers of all threads in different orders; and puts the
/// barrier in front of a wait whose first look comes when all have come once.
pub(in crate::ptx) fn settle_polls(
    programs: &mut Vec<Program>,
    polled: &[Polled],
    launch: &Launch,
) -> Result<(), Obstacle> {
    let mut places: Vec<usize> = polled.iter().flat_map(|p| p.keys().copied()).collect();
    places.sort_unstable();
    places.dedup();
    let Some(first) = places.first() else {
        return Ok(());
    };
    let refuse = |at: usize| {
        let reason = "threads look here until a vote of all says that one of them has seen what it waits for: that just one \
                      looks, and all come here equally often, is not certain";
        Err(Obstacle::new(at, reason))
    };
    let mut later = Vec::new();
    for at in &places {
        let all: Vec<Option<&Polls>> = polled.iter().map(|p| p.get(at)).collect();
        let lookers = all.iter().flatten().filter(|p| ***p != Polls::Comes);
        if all.contains(&None) || all.contains(&Some(&Polls::Unlike)) || lookers.count() != 1 {
            return refuse(*at);
        }
        if all.contains(&Some(&Polls::LooksThen)) {
            later.push(*at);
        }
    }
    let meets = |a: &Action| matches!(a, Action::Sync(..)) && of_all(a, launch);
    let order = |program: &Program| {
        let mut places = Vec::new();
        each(&program.statements, &mut |s| {
            if meets(&s.action) {
                places.push(s.at);
            }
        });
        (numbered(&skeleton(&program.statements, &meets)), places)
    };
    let mut ids = BTreeSet::new();
    for program in programs.iter() {
        each(&program.statements, &mut |s| {
            if let Action::Sync(id, ..) = &s.action
                && places.contains(&s.at)
            {
                ids.insert(id.clone());
            }
        });
    }
    let mut whole = true;
    for program in programs.iter() {
        each(&program.statements, &mut |s| match &s.action {
            Action::Sync(id, ..) => {
                whole &= meets(&s.action) || !ids.contains(id) && id.as_constant().is_some();
            }
            Action::ArriveNamed(id, _) => {
                whole &= !ids.contains(id) && id.as_constant().is_some();
            }
            _ => {}
        });
    }
    let mut orders = programs.iter().map(order);
    let one = orders.next();
    if !whole || orders.any(|other| Some(&other) != one.as_ref()) {
        return refuse(*first);
    }
    for program in programs {
        let statements = std::mem::take(&mut program.statements);
        let statements = met_before(statements, &later);
        *program = Program::of(program.rank, std::mem::take(&mut program.warps), statements);
    }
    Ok(())
}

fn met_before(statements: Vec<Statement>, later: &[usize]) -> Vec<Statement> {
    let mut all: Vec<Statement> = Vec::new();
    for mut statement in statements {
        match &mut statement.action {
            Action::For(_, _, body) => *body = met_before(std::mem::take(body), later),
            Action::If(_, yes, no) => {
                *yes = met_before(std::mem::take(yes), later);
                *no = met_before(std::mem::take(no), later);
            }
            Action::Sync(..) if later.contains(&statement.at) => {
                let waits = |s: &Statement| {
                    s.at == statement.at && matches!(s.action, Action::CounterWait(..))
                };
                let wait = all.pop_if(|s| waits(s));
                all.push(statement.clone());
                all.extend(wait);
            }
            _ => {}
        }
        all.push(statement);
    }
    all
}
