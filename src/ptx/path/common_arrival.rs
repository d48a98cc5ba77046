//! Divergent lanes of a warp that all arrive at one mbarrier.
//!
//! ```text
//! if (lane == 0) { arrive_expect_tx(bar, n); copy(bar); } else { arrive(bar); }
//! ```
//!
//! The protocol has one arrival for all lanes, as if they did not diverge: first the bytes are expected, then all lanes
//! arrive.
//!
//! No statement of the branches waits, so the machine may execute the branches in any order. The phase cannot complete
//! before the last of these lanes has arrived. So no other thread can observe when in this phase the bytes were expected,
//! or whether a copy that directly follows one arrival landed before the other arrivals. If a phase of the kernel can
//! complete without some of these lanes, the protocol has an arrival too many, as it has for lanes that do not diverge.

use std::collections::BTreeSet;

use crate::ptx::operations::arrival_counts::ArrivalCounts;
use crate::ptx::warp::machine::State;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::value::Value;

/// One branch: its lanes, the state at its end, and its statements.
pub(in crate::ptx) type Side = (u32, State, Vec<Statement>);

/// The common arrival of the lanes of all branches.
pub(in crate::ptx) struct CommonArrival {
    pub barrier: Sum,
    pub lanes: u32,
    pub statements: Vec<Statement>,
}

impl CommonArrival {
    /// The common arrival, if each branch has one arrival, all at one mbarrier and with the same count, and otherwise only
    /// expects bytes or starts copies there. A branch without statements does not take part.
    pub fn of(sides: &[Side], came: &ArrivalCounts) -> Option<CommonArrival> {
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
        Some(CommonArrival {
            barrier,
            lanes,
            statements,
        })
    }

    /// Gives a register that holds the token of each lane's own arrival the number of the common arrival.
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
