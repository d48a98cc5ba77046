//! Constant propagation for parameters that have one value, for example in a case of the case rule.
//!
//! If the domain and simple assumptions leave one value of a parameter, the parameter has this value in every run. So it
//! is replaced by the number in extents, counts and programs. Some rules require extents that are numbers.
//! An operation on two numbers is folded if its value is defined. Nothing else is simplified. So an expression that was
//! undefined stays undefined.

use crate::certificate::cut::algebra;
use crate::certificate::cut::statements;
use crate::protocol::Domain;
use crate::protocol::Expr;
use crate::protocol::Index;
use crate::protocol::Initial;
use crate::protocol::ObjectKind;
use crate::protocol::ParamId;
use crate::protocol::Place;
use crate::protocol::Protocol;
use crate::protocol::Resident;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;

pub type Visit<'v> = &'v mut dyn FnMut(&mut Expr);

/// The protocol with each parameter that has one value replaced by this value.
pub(super) fn replaced(protocol: &Protocol) -> Protocol {
    let tight = protocol.tightened();
    let single = |param: ParamId| match &tight.params.get(param.0)?.domain {
        Domain::Range(lo, hi) if lo == hi => Some(Expr::Int(*lo)),
        Domain::Set(values) => match values[..] {
            [only] => Some(Expr::Int(only)),
            _ => None,
        },
        _ => None,
    };
    let mut replaced = protocol.clone();
    if (0..protocol.params.len()).any(|at| single(ParamId(at)).is_some()) {
        every_expr(&mut replaced, &mut |e| *e = with_numbers(e, &single));
    }
    replaced
}

fn with_numbers(expr: &Expr, single: &dyn Fn(ParamId) -> Option<Expr>) -> Expr {
    let go = |e: &Expr| with_numbers(e, single);
    match expr {
        Expr::Int(_) | Expr::Bool(_) | Expr::Var(_) => expr.clone(),
        Expr::Param(param) => single(*param).unwrap_or_else(|| expr.clone()),
        Expr::Neg(e) => match go(e) {
            Expr::Int(number) => algebra::sub(Expr::Int(0), Expr::Int(number)),
            e => Expr::Neg(Box::new(e)),
        },
        Expr::Not(e) => Expr::Not(Box::new(go(e))),
        Expr::Binary(op, a, b) => match (go(a), go(b)) {
            (a @ Expr::Int(_), b @ Expr::Int(_)) => algebra::binary(*op, a, b),
            (a, b) => Expr::binary(*op, a, b),
        },
        Expr::If(c, a, b) => Expr::If(Box::new(go(c)), Box::new(go(a)), Box::new(go(b))),
        Expr::Visits(pattern, at) => Expr::Visits(*pattern, at.iter().map(go).collect()),
        Expr::Count { var, lo, hi, body } => Expr::Count {
            var: *var,
            lo: Box::new(go(lo)),
            hi: Box::new(go(hi)),
            body: Box::new(go(body)),
        },
    }
}

/// Visits every expression except for assumptions: these define the values that are left.
pub fn every_expr(protocol: &mut Protocol, visit: Visit<'_>) {
    for pattern in &mut protocol.patterns {
        pattern.extents.iter_mut().for_each(&mut *visit);
        if let Some((_, condition)) = &mut pattern.definition {
            visit(condition);
        }
    }
    for object in &mut protocol.objects {
        object.extents.iter_mut().for_each(&mut *visit);
        match &mut object.kind {
            ObjectKind::Semaphore(Initial::Value(number))
            | ObjectKind::Mbarrier {
                arrivals: number, ..
            }
            | ObjectKind::Barrier { arrivals: number }
            | ObjectKind::Pool {
                capacity: number, ..
            } => visit(number),
            ObjectKind::Semaphore(Initial::Any) | ObjectKind::Named => {}
        }
        if let Some(home) = &mut object.home {
            place(&mut home.place, visit);
        }
    }
    for buffer in &mut protocol.buffers {
        buffer.extents.iter_mut().for_each(&mut *visit);
    }
    for invariant in &mut protocol.invariants {
        indices(&mut invariant.indices, visit);
        statements::for_each_expr_of_claim(&mut invariant.claim, visit);
    }
    for role in &mut protocol.roles {
        indices(&mut role.indices, visit);
        if let Some(launch) = &mut role.launch
            && let Resident::AtMost(most) = &mut launch.resident
        {
            visit(most);
        }
        place(&mut role.place, visit);
        block(&mut role.body, visit);
    }
}

fn indices(indices: &mut [Index], visit: Visit<'_>) {
    indices
        .iter_mut()
        .for_each(|index| visit(&mut index.extent));
}

fn place(place: &mut Place, visit: Visit<'_>) {
    let Place { cta, cluster, gpu } = place;
    let all = [cta, cluster, gpu].into_iter().flatten();
    all.for_each(&mut *visit);
}

fn block(body: &mut [Stmt], visit: Visit<'_>) {
    for stmt in body {
        statements::for_each_expr(stmt, visit);
        statements::for_each_data_expr(stmt, visit);
        match &mut stmt.kind {
            StmtKind::If {
                then, otherwise, ..
            } => {
                block(then, visit);
                block(otherwise, visit);
            }
            StmtKind::For { body, .. } => block(body, visit),
            _ => {}
        }
    }
}
