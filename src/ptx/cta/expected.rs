//! Bytes that are expected in front of an arrival are expected by that arrival.
//!
//! ```text
//! expect_tx full[i] 16384          arrive_expect_tx full[i] 49152
//! copy to full[i]             ->   copy to full[i]
//! expect_tx full[i] 32768          copy to full[i]
//! copy to full[i]
//! arrive full[i]
//! ```
//!
//! The two have the same stuck states. Between the expectation and the arrival the member issues copies only, so it does not
//! block. No phase completes there: it lacks this arrival. Were it completed by others, they would have made all of its
//! arrivals, and in what is written this one would be one too many, which is undefined and not proved. Within one phase it is
//! not seen when bytes are expected.

use super::family::Family;
use super::program::Followed;
use crate::ptx::warp::machine::Unknowns;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Sum;

/// Puts expectations into the arrivals after them.
pub(in crate::ptx) fn put_into_arrivals(followed: &mut Followed, families: &[Family]) {
    let unknowns = &followed.unknowns;
    for program in &mut followed.programs {
        let rank = program.rank;
        let one = |address: &Sum, count: i128| is_one(families, unknowns, rank, address, count);
        block(&mut program.statements, &one);
    }
}

/// Whether so many arrivals are what counts as one at their mbarrier.
fn is_one(families: &[Family], unknowns: &Unknowns, rank: u32, address: &Sum, count: i128) -> bool {
    let mut found = families.iter().filter(|f| f.holds(address, rank, unknowns));
    matches!((found.next(), found.next()), (Some(family), None) if family.group == count)
}

fn block(statements: &mut Vec<Statement>, one: &dyn Fn(&Sum, i128) -> bool) {
    for statement in &mut *statements {
        match &mut statement.action {
            Action::For(_, _, body) => block(body, one),
            Action::If(_, yes, no) => {
                block(yes, one);
                block(no, one);
            }
            _ => {}
        }
    }
    for at in 0..statements.len() {
        let Some(Action::ExpectTx(address, first)) = statements.get(at).map(|s| &s.action) else {
            continue;
        };
        let (address, mut all) = (address.clone(), first.clone());
        let behind = &statements[at + 1..];
        let Some(arrival) = arrival(behind, &address, one) else {
            continue;
        };
        let mut kept = Vec::new();
        for statement in behind.iter().take(arrival + 1) {
            match &statement.action {
                Action::ExpectTx(other, bytes) | Action::ArriveExpectTx(other, bytes)
                    if *other == address =>
                {
                    all = all.plus(bytes);
                }
                Action::Arrive(other, _) if *other == address => {}
                _ => kept.push(statement.clone()),
            }
        }
        let arriving = Statement {
            action: Action::ArriveExpectTx(address, all),
            ..statements[at + 1 + arrival].clone()
        };
        kept.insert(0, arriving);
        statements.splice(at..=at + 1 + arrival, kept);
    }
}

/// How many statements on an arrival at an mbarrier stands, with only copies and expectations in between.
fn arrival(
    statements: &[Statement],
    address: &Sum,
    one: &dyn Fn(&Sum, i128) -> bool,
) -> Option<usize> {
    for (at, statement) in statements.iter().enumerate() {
        match &statement.action {
            Action::ArriveExpectTx(other, _) if other == address => return Some(at),
            Action::Arrive(other, count) if other == address => {
                return one(address, *count).then_some(at);
            }
            Action::Copy(..) | Action::ExpectTx(..) => {}
            _ => return None,
        }
    }
    None
}
