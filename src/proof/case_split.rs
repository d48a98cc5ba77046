//! Guesses where to split the domain of a parameter in two. For example, at small values a loop may
//! have no iteration, or a minimum may be the parameter itself.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use super::Guess;
use super::Layer;
use super::ORDER_SHARE;
use super::accepted;
use super::cut;
use super::layers_for;
use super::order;
use crate::certificate::argument::Argument;
use crate::certificate::case_split;
use crate::certificate::case_split::CaseSplit;
use crate::deadline;
use crate::protocol::BinaryOp;
use crate::protocol::Domain;
use crate::protocol::Expr;
use crate::protocol::Iteration;
use crate::protocol::ParamId;
use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;

/// How many splits one argument may have.
const MAX_SPLITS: usize = 3;

/// A bound further from a parameter's least value is not one of its small values.
const MAX_DISTANCE: i64 = 64;

/// A parameter with more values than these is not split into each of them.
const MAX_VALUES: i64 = 8;

/// Looks for an argument by cases. The rules that are tried on the parts have failed on the whole.
pub(super) fn argue(
    protocol: &Protocol,
    property: Property,
    deadline: Instant,
    cancel: Option<&AtomicBool>,
    tell: &(dyn Fn(&str) + Sync),
) -> Guess {
    let search = Search {
        property,
        deadline,
        cancel,
        tell,
    };
    let found = search.split(protocol, MAX_SPLITS);
    let found = found.or_else(|why| match counted(protocol) {
        Some(_) => search.each(protocol),
        None => Err(why),
    });
    match found {
        Ok(argument) => Guess::Found(argument),
        Err(reason) => Guess::nothing(reason),
    }
}

struct Search<'s> {
    property: Property,
    deadline: Instant,
    cancel: Option<&'s AtomicBool>,
    tell: &'s (dyn Fn(&str) + Sync),
}

impl Search<'_> {
    /// An argument for a protocol that has none as a whole, with at most `splits` splits.
    fn split(&self, protocol: &Protocol, splits: usize) -> Result<Argument, String> {
        let mut reason = "no small value of a parameter is a case of its own".to_owned();
        for (param, from) in bounds(protocol) {
            if deadline::over() {
                return Err(super::cut::LATE.to_owned());
            }
            let Ok([below, above]) = case_split::parts(protocol, param, from) else {
                continue;
            };
            let name = &protocol.params[param].name;
            (self.tell)(&format!(
                "trying {name} < {from} and {name} >= {from} separately"
            ));
            // The part with few values is decided sooner.
            let found = self.whole(&below).and_then(|below| {
                let above = self.whole(&above).or_else(|why| match splits {
                    0 | 1 => Err(why),
                    _ => self.split(&above, splits - 1).map_err(|_| why),
                })?;
                Ok((below, above))
            });
            match found {
                Ok((below, above)) => {
                    return Ok(Argument::CaseSplit(CaseSplit {
                        param,
                        from,
                        below: Box::new(below),
                        above: Box::new(above),
                    }));
                }
                Err(why) => reason = format!("of small values of {name} and others apart: {why}"),
            }
        }
        Err(reason)
    }

    /// An argument for each value of parameters that give the number of members.
    fn each(&self, protocol: &Protocol) -> Result<Argument, String> {
        let Some((param, least)) = counted(protocol) else {
            return self.whole(protocol);
        };
        if deadline::over() {
            return Err(super::cut::LATE.to_owned());
        }
        let from = least.saturating_add(1);
        let name = &protocol.params[param].name;
        (self.tell)(&format!("trying {name} = {least}"));
        let [below, above] =
            case_split::parts(protocol, param, from).map_err(|refused| refused.to_string())?;
        let one = self.each(&below);
        let one = one.map_err(|why| format!("of {name} = {least} alone: {why}"))?;
        Ok(Argument::CaseSplit(CaseSplit {
            param,
            from,
            below: Box::new(one),
            above: Box::new(self.each(&above)?),
        }))
    }

    /// An argument for a protocol by one rule, which the checker accepts.
    fn whole(&self, protocol: &Protocol) -> Result<Argument, String> {
        let mut reason = "no proof rule covers such a protocol".to_owned();
        let mut layers = layers_for(protocol, self.property);
        // A failure of the cut rule takes much less time to find than a failure of the order rule.
        layers.sort_by_key(|layer| *layer == Layer::Order);
        for layer in layers {
            let found = match layer {
                Layer::Order => {
                    let left = self.deadline.saturating_duration_since(Instant::now());
                    let until = deadline::after(left / ORDER_SHARE);
                    order::guess(protocol, until, self.cancel, self.tell)
                }
                Layer::Cuts(shows) => cut::guess(protocol, shows, None, self.deadline, self.tell),
                _ => continue,
            };
            match found {
                Guess::Found(argument) | Guess::Fitting(argument) => {
                    match accepted(protocol, &argument, true, self.deadline, self.tell) {
                        Ok(()) => return Ok(argument),
                        Err(why) => reason = why,
                    }
                }
                Guess::Nothing { reason: why, .. } => reason = why,
            }
        }
        Err(reason)
    }
}

/// A parameter with few values that gives the number of members of a role, and the least of these
/// values.
fn counted(protocol: &Protocol) -> Option<(usize, i64)> {
    let indices = protocol.roles.iter().flat_map(|role| &role.indices);
    let params = indices.filter_map(|index| match index.extent {
        Expr::Param(param) => Some(param.0),
        _ => None,
    });
    params
        .filter_map(|param| match protocol.params.get(param)?.domain {
            Domain::Range(lo, hi) if (1..MAX_VALUES).contains(&hi.checked_sub(lo)?) => {
                Some((param, lo))
            }
            _ => None,
        })
        .min()
}

/// Parameters, each with the least value of a second case, the smallest first. From this value on, a loop has an
/// iteration, or the other side of a minimum, a maximum or a comparison is reached.
fn bounds(protocol: &Protocol) -> Vec<(usize, i64)> {
    let mut numbers = BTreeSet::new();
    for role in &protocol.roles {
        block(&role.body, &mut numbers);
    }
    let tight = protocol.tightened();
    let mut all = BTreeSet::new();
    for (param, number) in numbers {
        let lo = match &tight.params[param].domain {
            Domain::AtLeast(lo) | Domain::Range(lo, _) => *lo,
            Domain::Set(_) => continue,
        };
        // The number at which the sides meet may belong to either case.
        for from in [number, number.saturating_add(1)] {
            let distance = from.saturating_sub(lo);
            if (1..=MAX_DISTANCE).contains(&distance) {
                all.insert((distance, param, from));
            }
        }
    }
    all.into_iter()
        .map(|(_, param, from)| (param, from))
        .collect()
}

fn block(body: &[Stmt], numbers: &mut BTreeSet<(usize, i64)>) {
    for stmt in body {
        match &stmt.kind {
            StmtKind::If {
                condition,
                then,
                otherwise,
            } => {
                compared(condition, numbers);
                block(then, numbers);
                block(otherwise, numbers);
            }
            StmtKind::For { over, body, .. } => {
                if let Iteration::Range { lo, hi, .. } = over {
                    meet(lo, hi, numbers);
                    compared(lo, numbers);
                    compared(hi, numbers);
                }
                block(body, numbers);
            }
            StmtKind::Assign { value, .. } => compared(value, numbers),
            _ => {}
        }
    }
}

/// The numbers that a parameter is compared with, up to a constant on either side.
fn compared(expr: &Expr, numbers: &mut BTreeSet<(usize, i64)>) {
    match expr {
        Expr::Neg(e) | Expr::Not(e) => compared(e, numbers),
        Expr::If(c, a, b) => {
            compared(c, numbers);
            compared(a, numbers);
            compared(b, numbers);
        }
        Expr::Binary(op, a, b) => {
            use BinaryOp as B;
            let compares = matches!(
                op,
                B::Min | B::Max | B::Lt | B::Le | B::Gt | B::Ge | B::Eq | B::Ne
            );
            if compares {
                meet(a, b, numbers);
            }
            compared(a, numbers);
            compared(b, numbers);
        }
        _ => {}
    }
}

/// If the two expressions are a parameter and a number, up to constants: notes the number at which they are equal.
fn meet(a: &Expr, b: &Expr, numbers: &mut BTreeSet<(usize, i64)>) {
    for (one, other) in [(a, b), (b, a)] {
        if let (Some((param, plus)), Some(number)) = (shifted(one), constant(other)) {
            numbers.insert((param.0, number.saturating_sub(plus)));
        }
    }
}

/// A parameter plus a constant.
fn shifted(expr: &Expr) -> Option<(ParamId, i64)> {
    match expr {
        Expr::Param(id) => Some((*id, 0)),
        Expr::Binary(BinaryOp::Add, a, b) => match (shifted(a), constant(b)) {
            (Some((id, plus)), Some(k)) => Some((id, plus.checked_add(k)?)),
            _ => {
                let (id, plus) = shifted(b)?;
                Some((id, plus.checked_add(constant(a)?)?))
            }
        },
        Expr::Binary(BinaryOp::Sub, a, b) => {
            let (id, plus) = shifted(a)?;
            Some((id, plus.checked_sub(constant(b)?)?))
        }
        _ => None,
    }
}

fn constant(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Int(value) => Some(*value),
        Expr::Neg(e) => constant(e)?.checked_neg(),
        _ => None,
    }
}
