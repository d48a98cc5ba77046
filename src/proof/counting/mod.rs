//! Guessing the artefact of the counting rule.
//!
//! Nothing here knows a protocol. From the shape of a transition system
//! ([`crate::certificate::counting`]) follow some hundred or thousand statements that might hold in
//! all its states (`candidates.rs`). Those that a random run contradicts are dropped
//! (`simulate.rs`), then those that one step can break, until none is (`houdini.rs`). What is left is
//! inductive; if it excludes a stuck state, the facts that this needs are the artefact. Otherwise
//! the window is widened or the induction deepened.

mod candidates;
mod evaluate;
mod houdini;
mod simulate;

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use super::Guess;
use super::accepted;
use super::discharged;
use super::uncovered;
use crate::certificate::argument::Argument;
use crate::certificate::counting;
use crate::certificate::counting::Component;
use crate::certificate::counting::Counting;
use crate::certificate::counting::Invariant;
use crate::protocol::BinaryOp;
use crate::protocol::Domain;
use crate::protocol::Expr;
use crate::protocol::Iteration;
use crate::protocol::ParamId;
use crate::protocol::Protocol;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use houdini::Lack;
use houdini::Outcome;

/// How much wider than usual a system's window gets.
const WIDER: usize = 2;

/// How deep the induction gets.
const DEEPEST: usize = 3;

/// What a search may use.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// When it ends.
    pub deadline: Instant,
    /// Ends it soon after it becomes true.
    pub cancel: Option<&'a AtomicBool>,
    /// Whether random runs are tried first. Without them the solver has more to refuse, and it has
    /// to come to the same.
    pub runs: bool,
}

impl Limits<'_> {
    fn over(&self) -> bool {
        let cancelled = |flag: &AtomicBool| flag.load(std::sync::atomic::Ordering::Relaxed);
        Instant::now() >= self.deadline || self.cancel.is_some_and(cancelled)
    }
}

/// Looks for facts that the checker accepts.
pub fn guess(protocol: &Protocol, limits: Limits<'_>, tell: &dyn Fn(&str)) -> Guess {
    let mut reason = None;
    for enumerated in enumerations(protocol) {
        let components = match counting::components(protocol, &enumerated) {
            Ok(components) => components,
            Err(refused) => {
                // The more parameters are numbers, the more telling it is what is missing.
                reason = Some(uncovered(refused));
                continue;
            }
        };
        // What follows makes sense only if the system is that of the protocol.
        let groundwork = match counting::groundwork(protocol, &enumerated) {
            Ok(obligations) => obligations,
            Err(refused) => return Guess::nothing(uncovered(refused)),
        };
        if let Err(refused) = discharged(&groundwork, true, limits.deadline, tell) {
            return Guess::nothing(refused);
        }
        match systems(protocol, &components, limits, tell) {
            Ok(systems) => {
                let argument = Argument::Counting(Counting {
                    enumerated,
                    systems,
                });
                return match accepted(protocol, &argument, true, limits.deadline, tell) {
                    Ok(()) => Guess::Found(argument),
                    Err(refused) => Guess::nothing(refused),
                };
            }
            Err(refused) => return Guess::nothing(refused),
        }
    }
    Guess::nothing(reason.unwrap_or_else(|| "no parameters to treat one by one".to_owned()))
}

fn systems(
    protocol: &Protocol,
    components: &[Component],
    limits: Limits<'_>,
    tell: &dyn Fn(&str),
) -> Result<Vec<Invariant>, String> {
    components
        .iter()
        .map(|component| invariant(protocol, component, limits, tell))
        .collect()
}

/// Widens the window and deepens the induction until the facts suffice.
fn invariant(
    protocol: &Protocol,
    component: &Component,
    limits: Limits<'_>,
    tell: &dyn Fn(&str),
) -> Result<Invariant, String> {
    let narrowest = component.usual_window();
    let (mut window, mut depth) = (narrowest, 1);
    loop {
        tell(&format!(
            "counting members up to {window} rounds apart, k = {depth}"
        ));
        match houdini::search(protocol, component, window, depth, limits) {
            Ok(Outcome::Enough(invariant)) => return Ok(invariant),
            Ok(Outcome::Lacking(Lack::Window(why))) if window >= narrowest + WIDER => {
                return Err(why);
            }
            Ok(Outcome::Lacking(Lack::Window(_))) => window += 1,
            Ok(Outcome::Lacking(Lack::Progress(why))) if depth == DEEPEST => return Err(why),
            Ok(Outcome::Lacking(Lack::Progress(_))) => depth += 1,
            Ok(Outcome::Lacking(Lack::Answer(why))) => return Err(why),
            Err(refused) => return Err(uncovered(refused)),
        }
    }
}

/// Which parameters to treat one value at a time: none, those that shape the synchronization
/// objects, all that have few values.
pub fn enumerations(protocol: &Protocol) -> Vec<Vec<usize>> {
    let mut shaping = BTreeSet::new();
    for object in &protocol.objects {
        object.extents.iter().for_each(|e| params(e, &mut shaping));
    }
    for role in &protocol.roles {
        divisors_in(&role.body, &mut shaping);
    }
    let finite: Vec<usize> = (0..protocol.params.len())
        .filter(|at| match &protocol.params[*at].domain {
            Domain::AtLeast(_) => false,
            Domain::Range(lo, hi) => hi.saturating_sub(*lo) < 32,
            Domain::Set(values) => values.len() <= 32,
        })
        .collect();
    let shaping: Vec<usize> = finite
        .iter()
        .copied()
        .filter(|at| shaping.contains(&ParamId(*at)))
        .collect();
    let mut all = vec![Vec::new(), shaping, finite];
    all.dedup();
    all
}

fn params(expr: &Expr, found: &mut BTreeSet<ParamId>) {
    match expr {
        Expr::Param(id) => {
            found.insert(*id);
        }
        Expr::Neg(e) | Expr::Not(e) => params(e, found),
        Expr::Binary(_, a, b) => {
            params(a, found);
            params(b, found);
        }
        Expr::If(c, a, b) => {
            params(c, found);
            params(a, found);
            params(b, found);
        }
        _ => {}
    }
}

/// The parameters in divisors.
fn divisors(expr: &Expr, found: &mut BTreeSet<ParamId>) {
    match expr {
        Expr::Neg(e) | Expr::Not(e) => divisors(e, found),
        Expr::Binary(op, a, b) => {
            if matches!(op, BinaryOp::Div | BinaryOp::Mod) {
                params(b, found);
            }
            divisors(a, found);
            divisors(b, found);
        }
        Expr::If(c, a, b) => {
            divisors(c, found);
            divisors(a, found);
            divisors(b, found);
        }
        _ => {}
    }
}

fn divisors_in(body: &[Stmt], found: &mut BTreeSet<ParamId>) {
    for stmt in body {
        match &stmt.kind {
            StmtKind::Arrive { cell, count: e } | StmtKind::WaitParity { cell, parity: e } => {
                cell.index.iter().for_each(|index| divisors(index, found));
                divisors(e, found);
            }
            StmtKind::Assign { value, .. } => divisors(value, found),
            StmtKind::If {
                condition,
                then,
                otherwise,
            } => {
                divisors(condition, found);
                divisors_in(then, found);
                divisors_in(otherwise, found);
            }
            StmtKind::For { over, body, .. } => {
                if let Iteration::Range { lo, hi, .. } = over {
                    divisors(lo, found);
                    divisors(hi, found);
                }
                divisors_in(body, found);
            }
            _ => {}
        }
    }
}
