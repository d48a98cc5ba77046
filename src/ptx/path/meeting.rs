//! Lanes of a warp that go different ways and arrive at one mbarrier on each: one of them expects bytes and starts a
//! copy, as the others arrive only. Together that is one arrival of them all, as where they
//! go the same way: the bytes are expected first, then all arrive.
//!
//! None of it waits, so on the machine the ways are gone in any order. Until the last of these lanes has arrived the phase is not
//! complete, so nobody can tell when the bytes were expected in it, nor whether a copy that is started right
//! behind an arrival landed before the arrivals of the other lanes. A phase that is complete without some of these lanes
//! shows in the protocol as an arrival too many, as it does where they go the same way.

use std::collections::BTreeSet;

use crate::ptx::operations::came::Came;
use crate::ptx::warp::machine::State;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::value::Value;

/// One way: the lanes, what is known at its end, and what is done on it.
pub(in crate::ptx) type Side = (u32, State, Vec<Statement>);

/// The arrival of all who go these ways.
pub(in crate::ptx) struct Meeting {
    pub barrier: Sum,
    pub lanes: u32,
    pub statements: Vec<Statement>,
}

impl Meeting {
    /// Whether ways are no more than arrivals at one mbarrier, all with the same count.
    pub fn of(sides: &[Side], came: &Came) -> Option<Meeting> {
        let mut counts = BTreeSet::new();
        let mut barrier: Option<&Sum> = None;
        let (mut before, mut behind) = (Vec::new(), Vec::new());
        let (mut lanes, mut times) = (0, 0);
        let mut last: Option<&Statement> = None;
        for (side, _, statements) in sides.iter().filter(|(_, _, s)| !s.is_empty()) {
            let mut arrived = false;
            for statement in statements {
                let at = match &statement.action {
                    Action::ExpectTx(at, _) if !arrived => {
                        before.push(statement.clone());
                        at
                    }
                    Action::Copy(at, ..) => {
                        let side = if arrived { &mut behind } else { &mut before };
                        side.push(statement.clone());
                        at
                    }
                    Action::ArriveExpectTx(at, bytes) if !arrived => {
                        counts.insert(1);
                        before.push(Statement {
                            action: Action::ExpectTx(at.clone(), bytes.clone()),
                            memory: "",
                            ..statement.clone()
                        });
                        times += 1;
                        arrived = true;
                        at
                    }
                    Action::Arrive(at, n) if !arrived => {
                        counts.extend(came.of(statement.at, *n).each);
                        times += n;
                        arrived = true;
                        at
                    }
                    _ => return None,
                };
                if barrier.is_some_and(|other| other != at) {
                    return None;
                }
                barrier = Some(at);
                if matches!(
                    statement.action,
                    Action::Arrive(..) | Action::ArriveExpectTx(..)
                ) {
                    if last.is_some_and(|other| other.memory != statement.memory) {
                        return None;
                    }
                    last = Some(statement);
                }
            }
            if !arrived {
                return None;
            }
            lanes |= side;
        }
        if counts.len() > 1 {
            return None;
        }
        let barrier = barrier?.clone();
        let arrival = Statement {
            action: Action::Arrive(barrier.clone(), times),
            ..last?.clone()
        };
        let mut statements = before;
        statements.push(arrival);
        statements.extend(behind);
        Some(Meeting {
            barrier,
            lanes,
            statements,
        })
    }

    /// Gives the tokens of these arrivals one number, where each of the lanes holds its own.
    pub fn one_token(&self, sides: &[Side], number: u32, merged: &mut State) {
        let came = sides.iter().filter(|(_, _, s)| !s.is_empty());
        for (index, slot) in merged.registers.iter_mut().enumerate() {
            let own = came.clone().all(|(lanes, state, _)| {
                let Some(Value::Token(token)) = state.registers.get(index) else {
                    return false;
                };
                let mut arrivals = state.arrivals.iter();
                arrivals.any(|(at, latest, arrived)| {
                    *at == self.barrier && latest == token && lanes & !arrived == 0
                })
            });
            if own {
                *slot = Value::Token(number);
            }
        }
    }
}
