//! Loops that are left early, as loops that are not.
//!
//! `for i in lo..hi { A if c { P break } B }` breaks in the first iteration in which `c` holds. If
//! `c` looks at `i` and at what the loop does not change, and holds on an interval `from..to` of
//! numbers, that is `first = max(lo, from)`, if it is below `hi` and `to`. So the loop is the same as
//!
//! ```text
//! for i in lo..(if first < min(hi, to) then first else hi) { A B }
//! if first < min(hi, to) { A P }        // with first for i
//! ```
//!
//! With `return` in place of `break` the second part ends with it. The condition is still evaluated
//! where it was, so that it has to be well defined there. Anything else is refused.

use super::algebra;
use super::algebra::Interval;
use crate::certificate::exact;
use crate::certificate::program::Unsupported;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::Iteration;
use crate::protocol::Span;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::VarId;

/// The statements that do the same as a loop that is left early; `None` if it is not.
///
/// # Errors
///
/// Names the way of leaving that is not covered.
pub fn unfolded(stmt: &Stmt) -> Result<Option<Vec<Stmt>>, Unsupported> {
    let StmtKind::For { var, over, body } = &stmt.kind else {
        return Ok(None);
    };
    let Some((word, span)) = leaving(body) else {
        return Ok(None);
    };
    let refuse = |what: &str| Err(Unsupported::at(span, format!("a `{word}` {what}")));
    let Iteration::Range { lo, hi, descending } = over else {
        return refuse("out of a loop over a pattern's row");
    };
    if *descending {
        return refuse("out of a loop that runs backwards");
    }
    let own = body
        .iter()
        .position(|s| leaving(std::slice::from_ref(s)).is_some());
    let Some((nth, at, exit)) = own.and_then(|nth| Some((nth, &body[nth], exit(&body[nth])?)))
    else {
        return refuse("that is not the end of a branch of the loop's own block");
    };
    let (before, after) = (&body[..nth], &body[exact::next(nth)..]);
    let others = [before, exit.first, exit.stays, after];
    if others.iter().any(|block| leaving(block).is_some()) {
        return refuse("beside another one in one loop");
    }
    let changed = changed(body);
    let looks = |e: &Expr| changed.iter().any(|v| algebra::mentions(e, *v));
    if looks(&exit.condition) || looks(lo) || looks(hi) {
        return refuse("that depends on what the loop changes");
    }
    let Some((first, leaves, open)) = first(&exit.condition, *var, lo, hi) else {
        return refuse("under a condition that does not compare the loop's variable with a bound");
    };
    let with = |kind: StmtKind| Stmt { kind, ..at.clone() };
    let condition = |otherwise: &[Stmt]| {
        with(StmtKind::If {
            condition: exit.condition.clone(),
            then: Vec::new(),
            otherwise: otherwise.to_vec(),
        })
    };
    let mut round = before.to_vec();
    round.push(condition(exit.stays));
    round.extend_from_slice(after);
    let end = match open {
        // The same, in a form that is easier to count with.
        true => algebra::min(hi.clone(), first.clone()),
        false => algebra::choose(leaves.clone(), first.clone(), hi.clone()),
    };
    let shortened = Stmt {
        kind: StmtKind::For {
            var: *var,
            over: Iteration::Range {
                lo: lo.clone(),
                hi: end,
                descending: false,
            },
            body: round,
        },
        ..stmt.clone()
    };
    let mut last = vec![with(StmtKind::Assign {
        var: *var,
        value: first,
    })];
    last.extend_from_slice(before);
    last.push(condition(&[]));
    last.extend_from_slice(exit.first);
    if word == "return" {
        last.push(with(StmtKind::Return));
    }
    let left = with(StmtKind::If {
        condition: leaves,
        then: last,
        otherwise: Vec::new(),
    });
    Ok(Some(vec![shortened, left]))
}

/// A branch that leaves a loop.
struct Exit<'a> {
    /// When it is taken.
    condition: Expr,
    /// What it does first.
    first: &'a [Stmt],
    /// The other branch.
    stays: &'a [Stmt],
}

fn exit(stmt: &Stmt) -> Option<Exit<'_>> {
    let StmtKind::If {
        condition,
        then,
        otherwise,
    } = &stmt.kind
    else {
        return None;
    };
    let ends = |block: &[Stmt]| {
        let last = block.last().map(|s| &s.kind);
        matches!(last, Some(StmtKind::Break | StmtKind::Return))
    };
    if ends(then) {
        Some(Exit {
            condition: condition.clone(),
            first: then.split_last().map_or(&[], |(_, first)| first),
            stays: otherwise,
        })
    } else if ends(otherwise) {
        Some(Exit {
            condition: algebra::not(condition.clone()),
            first: otherwise.split_last().map_or(&[], |(_, first)| first),
            stays: then,
        })
    } else {
        None
    }
}

/// The first iteration at which a condition holds, whether there is one, and whether it holds from
/// there on.
fn first(condition: &Expr, var: VarId, lo: &Expr, hi: &Expr) -> Option<(Expr, Expr, bool)> {
    let below = |a: Expr, b: Expr| algebra::binary(BinaryOp::Lt, a, b);
    if !algebra::mentions(condition, var) {
        let leaves = Expr::all([condition.clone(), below(lo.clone(), hi.clone())]);
        return Some((lo.clone(), leaves, false));
    }
    let Interval { lo: from, hi: to } = algebra::interval(condition, var)?;
    let first = from.map_or(lo.clone(), |from| algebra::max(lo.clone(), from));
    let open = to.is_none();
    let limit = to.map_or(hi.clone(), |to| algebra::min(hi.clone(), to));
    Some((first.clone(), below(first, limit), open))
}

/// The first statement that leaves the loop of this body, or the program from inside it.
pub fn leaving(body: &[Stmt]) -> Option<(&'static str, Span)> {
    body.iter().find_map(|stmt| match &stmt.kind {
        StmtKind::Break => Some(("break", stmt.span)),
        StmtKind::Return => Some(("return", stmt.span)),
        StmtKind::If {
            then, otherwise, ..
        } => leaving(then).or_else(|| leaving(otherwise)),
        StmtKind::For { body, .. } => returning(body),
        _ => None,
    })
}

/// The first statement that leaves the program, also from inside loops that are left before it.
fn returning(body: &[Stmt]) -> Option<(&'static str, Span)> {
    body.iter().find_map(|stmt| match &stmt.kind {
        StmtKind::Return => Some(("return", stmt.span)),
        StmtKind::If {
            then, otherwise, ..
        } => returning(then).or_else(|| returning(otherwise)),
        StmtKind::For { body, .. } => returning(body),
        _ => None,
    })
}

/// Whether a `break` in a block leaves the loop around it.
pub fn breaks(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Break => true,
        StmtKind::If {
            then, otherwise, ..
        } => breaks(then) || breaks(otherwise),
        _ => false,
    })
}

/// The variables a block assigns to.
pub fn changed(body: &[Stmt]) -> Vec<VarId> {
    let mut all = Vec::new();
    for stmt in body {
        match &stmt.kind {
            StmtKind::Assign { var, .. } | StmtKind::Atomic { result: var, .. } => all.push(*var),
            StmtKind::If {
                then, otherwise, ..
            } => {
                all.extend(changed(then));
                all.extend(changed(otherwise));
            }
            StmtKind::For { body, .. } => all.extend(changed(body)),
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    /// A loop that is left by `break` may be left by `return` as well, and that leaves the loop around it.
    #[test]
    fn a_return_behind_a_break_leaves_the_outer_loop() {
        let word = |exits: &str| {
            let source = format!(
                "protocol p param N in 0.. semaphore s = 0 role r {{ for i in 0..N {{ for j in 0..N {{ {exits} }} s += 1 }} }}"
            );
            let protocol = text::load(source.as_bytes()).unwrap();
            let StmtKind::For { body, .. } = &protocol.roles[0].body[0].kind else {
                panic!("no loop");
            };
            leaving(body).map(|(word, _)| word)
        };
        assert_eq!(word("if j > 3 { break }"), None);
        assert_eq!(word("if j > 3 { return }"), Some("return"));
        assert_eq!(
            word("if j > 3 { break } if i > 4 { return }"),
            Some("return")
        );
    }
}
