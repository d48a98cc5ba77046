//! Splits roles into classes of members that run the same program.
//!
//! An index of a role that its program never looks at only multiplies the number of members. An
//! index with a known small extent is enumerated. An index with an unknown extent that the
//! program compares with values over parameters is split by the outcomes of the comparisons: the
//! members with the same outcomes form one class, whose size is counted exactly. An index that
//! numbers independent copies is 0 (`copies`). Any other use of such an index is refused.

use std::collections::HashMap;

use super::algebra;
pub use super::algebra::mentions;
use super::copies;
use super::copies::Copies;
use super::domain;
use super::epochs;
use super::flow;
use super::flow::Flow;
use super::own;
use super::own::Members;
use crate::certificate::program::Unsupported;
use crate::protocol::BinaryOp;
use crate::protocol::Cell;
use crate::protocol::Expr;
use crate::protocol::Index;
use crate::protocol::Iteration;
use crate::protocol::ParamId;
use crate::protocol::Protocol;
use crate::protocol::Role;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::VarId;
use crate::protocol::Work;

/// The largest extent that is enumerated.
const MAX_ENUMERATED: i64 = 64;

/// The most classes a protocol may have.
const MAX_CLASSES: usize = 256;

/// The most comparisons one index may be split by.
pub(super) const MAX_COMPARISONS: usize = 4;

/// Members that run the same program.
#[derive(Debug, Clone)]
pub struct Class {
    /// Position in [`Protocol::roles`].
    pub role: usize,
    /// For reports: the role's name and what is known of its indices.
    pub name: String,
    /// How many members, of one copy where there are copies; may be 0 or less where there are none.
    pub size: Expr,
    /// How many copies of its kind there are, if it is of copies that share objects; may be 0 or
    /// less where there are none.
    pub copies: Option<Expr>,
    /// Which kind of copies that is.
    pub kind: Option<usize>,
    /// The index that numbers the copies, shared or not, and how many there are. To operations it is a
    /// known number; data may depend on it.
    pub number: Option<(VarId, Expr)>,
    /// The comparisons that were decided to tell these members from others, and their outcomes.
    pub compared: Vec<(Expr, bool)>,
    /// The values of the indices that are told apart.
    pub known: HashMap<VarId, Expr>,
    /// The indices that no operation tells them apart by, with their extents.
    pub free: Vec<(VarId, Expr)>,
    /// What they do.
    pub flow: Flow,
}

impl Class {
    /// Whether both are of one kind of copies.
    pub fn is_kind_of(&self, other: &Class) -> bool {
        self.kind.is_some() && self.kind == other.kind
    }
}

/// Splits every role, with parameters fixed at these values.
///
/// # Errors
///
/// Names the first construct that has no place in a class.
pub fn classes(protocol: &Protocol, fixed: &[(ParamId, i64)]) -> Result<Vec<Class>, Unsupported> {
    classes_of(protocol, fixed, &copies::copies(protocol))
}

/// The same for a protocol of these copies.
pub(super) fn classes_of(
    protocol: &Protocol,
    fixed: &[(ParamId, i64)],
    copies: &Copies,
) -> Result<Vec<Class>, Unsupported> {
    let exact = built(protocol, fixed, copies, false);
    // Without closed sums of the lengths of loops, there may be a proof for any lengths.
    exact.or_else(|refused| built(protocol, fixed, copies, true).map_err(|_| refused))
}

fn built(
    protocol: &Protocol,
    fixed: &[(ParamId, i64)],
    copies: &Copies,
    any_length: bool,
) -> Result<Vec<Class>, Unsupported> {
    let mut all = Vec::new();
    let mut found = Vec::new();
    for (position, role) in protocol.roles.iter().enumerate() {
        for mut part in parts(protocol, role, copies, fixed)? {
            part.size = domain::in_domain(protocol, &part.size);
            part.copies = part
                .copies
                .map(|copies| domain::in_domain(protocol, &copies));
            let nobody = |size: &Expr| matches!(size, Expr::Int(size) if *size <= 0);
            if nobody(&part.size) || part.copies.as_ref().is_some_and(nobody) {
                continue;
            }
            let body = decided(&role.body, &part.decided);
            let body = taken(protocol, &body, &part.known, fixed);
            found.push((position, part, body));
            if found.len() > MAX_CLASSES {
                return Err(Unsupported::at(
                    role.span,
                    format!("more than {MAX_CLASSES} kinds of members"),
                ));
            }
        }
    }
    let members = found.iter().map(|(_, part, body)| Members {
        size: &part.size,
        copied: part.copies.is_some(),
        known: &part.known,
        body,
    });
    let members: Vec<Members<'_>> = members.collect();
    let mut own = own::own(protocol, fixed, &members, &copies.objects);
    let private = |object: usize| copies.objects.contains_key(&object);
    let epochs = epochs::epochs(protocol, &members, &own, &private);
    own.count_in_epochs(protocol, epochs);
    drop(members);
    for (position, part, body) in found {
        let body = epochs::counted(&body, &own);
        let number = part.number.as_ref().map(|(var, _)| *var);
        let flow = flow::flow(
            protocol,
            &body,
            (&part.known, number),
            fixed,
            &own,
            any_length,
        )?;
        let free = protocol.roles[position].indices.iter();
        let free = free.filter(|index| !part.known.contains_key(&index.var));
        let free = free.map(|index| (index.var, flow::at_fixed(&index.extent, fixed)));
        all.push(Class {
            role: position,
            name: part.name,
            size: part.size,
            copies: part.copies,
            kind: part.kind,
            number: part.number,
            compared: part.decided,
            free: free.collect(),
            known: part.known,
            flow,
        });
    }
    Ok(all)
}

/// Some members of a role.
#[derive(Clone)]
struct Part {
    name: String,
    size: Expr,
    /// See [`Class::copies`].
    copies: Option<Expr>,
    kind: Option<usize>,
    number: Option<(VarId, Expr)>,
    known: HashMap<VarId, Expr>,
    /// Comparisons with their outcomes.
    decided: Vec<(Expr, bool)>,
}

fn parts(
    protocol: &Protocol,
    role: &Role,
    copies: &Copies,
    fixed: &[(ParamId, i64)],
) -> Result<Vec<Part>, Unsupported> {
    let mut parts = vec![Part {
        name: role.name.clone(),
        size: Expr::Int(1),
        copies: None,
        kind: None,
        number: None,
        known: HashMap::new(),
        decided: Vec::new(),
    }];
    for index in &role.indices {
        if copies.indices.contains(&index.var) && !copies.shares {
            for part in &mut parts {
                part.known.insert(index.var, Expr::Int(0));
                part.number = Some((index.var, flow::at_fixed(&index.extent, fixed)));
            }
            continue;
        }
        if copies.indices.contains(&index.var) {
            parts = split_by_kinds(protocol, role, index, copies, fixed, &parts)?;
            continue;
        }
        let extent = flow::at_fixed(&index.extent, fixed);
        let mut uses = Uses::default();
        uses.block(&role.body, index.var);
        let name = &protocol.vars[index.var.0].name;
        let mut split = Vec::new();
        for part in parts {
            match (&extent, uses.any()) {
                (_, false) => {
                    let mut part = part;
                    // An extent below 0 stands for none; a product of two must not hide that.
                    part.size = algebra::mul(part.size, at_least_0(protocol, &extent));
                    split.push(part);
                }
                (Expr::Int(extent), true) if *extent <= MAX_ENUMERATED => {
                    for value in 0..*extent {
                        let mut part = part.clone();
                        part.name = format!("{}[{value}]", part.name);
                        part.known.insert(index.var, Expr::Int(value));
                        split.push(part);
                    }
                }
                _ => split_by_comparisons(role, index, &extent, &uses, name, &part, &mut split)?,
            }
        }
        parts = split;
    }
    Ok(parts)
}

fn at_least_0(protocol: &Protocol, extent: &Expr) -> Expr {
    if domain::never_negative(protocol, extent) {
        extent.clone()
    } else {
        algebra::max(Expr::Int(0), extent.clone())
    }
}

fn split_by_comparisons(
    role: &Role,
    index: &Index,
    extent: &Expr,
    uses: &Uses,
    name: &str,
    part: &Part,
    into: &mut Vec<Part>,
) -> Result<(), Unsupported> {
    if uses.otherwise || uses.comparisons.len() > MAX_COMPARISONS {
        return Err(Unsupported::at(
            role.span,
            format!(
                "what `{}` does with its index `{name}`, whose extent is not a number",
                role.name
            ),
        ));
    }
    let count = uses.comparisons.len();
    for outcomes in 0..1_u32 << count {
        let holds = |nth: usize| outcomes & (1 << nth) != 0;
        let condition = Expr::all(uses.comparisons.iter().enumerate().map(|(nth, c)| {
            if holds(nth) {
                c.clone()
            } else {
                algebra::not(c.clone())
            }
        }));
        let size = members(&condition, index.var, extent).ok_or_else(|| uncounted(role, name))?;
        let mut part = part.clone();
        let texts: Vec<String> = uses
            .comparisons
            .iter()
            .enumerate()
            .map(|(nth, c)| comparison_name(c, holds(nth), name))
            .collect();
        part.name = format!("{}[{}]", part.name, texts.join(", "));
        part.size = algebra::mul(part.size, size);
        let outcomes = uses.comparisons.iter().enumerate();
        part.decided
            .extend(outcomes.map(|(nth, c)| (c.clone(), holds(nth))));
        into.push(part);
    }
    Ok(())
}

/// Splits the members of copies by the kinds of the copies.
fn split_by_kinds(
    protocol: &Protocol,
    role: &Role,
    index: &Index,
    copies: &Copies,
    fixed: &[(ParamId, i64)],
    parts: &[Part],
) -> Result<Vec<Part>, Unsupported> {
    let extent = flow::at_fixed(&index.extent, fixed);
    let name = &protocol.vars[index.var.0].name;
    let mut split = Vec::new();
    for part in parts {
        for (number, kind) in copies.kinds(index.var).into_iter().enumerate() {
            let condition = Expr::all(kind.iter().map(|(c, holds)| {
                if *holds {
                    c.clone()
                } else {
                    algebra::not(c.clone())
                }
            }));
            let count = if kind.is_empty() {
                Some(at_least_0(protocol, &extent))
            } else {
                members(&condition, index.var, &extent)
            };
            let mut part = part.clone();
            part.copies = Some(flow::at_fixed(
                &count.ok_or_else(|| uncounted(role, name))?,
                fixed,
            ));
            if !kind.is_empty() {
                let texts = kind
                    .iter()
                    .map(|(c, holds)| comparison_name(c, *holds, name));
                let texts: Vec<String> = texts.collect();
                part.name = format!("{}[{}]", part.name, texts.join(", "));
            }
            part.kind = Some(number);
            // Any number will do as long as kinds have different ones.
            let number = i64::try_from(number).unwrap_or(i64::MAX);
            part.known.insert(index.var, Expr::Int(number));
            part.number = Some((index.var, extent.clone()));
            part.decided.extend(kind);
            split.push(part);
        }
    }
    Ok(split)
}

fn uncounted(role: &Role, name: &str) -> Unsupported {
    Unsupported::at(
        role.span,
        format!("the comparisons of `{}` with its index `{name}`", role.name),
    )
}

fn comparison_name(comparison: &Expr, holds: bool, name: &str) -> String {
    let Expr::Binary(op, _, b) = comparison else {
        return String::new();
    };
    use BinaryOp as B;
    let word = match (op, holds) {
        (B::Eq, true) | (B::Ne, false) => "=",
        (B::Eq, false) | (B::Ne, true) => "!=",
        (B::Lt, true) | (B::Ge, false) => "<",
        (B::Lt, false) | (B::Ge, true) => ">=",
        (B::Le, true) | (B::Gt, false) => "<=",
        _ => ">",
    };
    match &**b {
        Expr::Int(value) => format!("{name} {word} {value}"),
        _ => format!("{name} {word} ..."),
    }
}

/// How many values of `0..extent` satisfy a conjunction of comparisons and their negations.
fn members(condition: &Expr, var: VarId, extent: &Expr) -> Option<Expr> {
    let mut equal = None;
    let mut unequal = Vec::new();
    let mut order = Vec::new();
    conjuncts(condition, &mut |c| match c {
        Expr::Binary(BinaryOp::Eq, _, b) => equal = Some((**b).clone()),
        Expr::Binary(BinaryOp::Ne, _, b) => unequal.push((**b).clone()),
        other => order.push(other.clone()),
    });
    let inside = Expr::all([
        Expr::binary(BinaryOp::Ge, Expr::Var(var), Expr::Int(0)),
        Expr::binary(BinaryOp::Lt, Expr::Var(var), extent.clone()),
    ]);
    if let Some(value) = equal {
        // One member at most: the one with this value, if it fits everything else.
        let all = algebra::at(&Expr::all([condition.clone(), inside]), var, &value);
        return Some(algebra::choose(all, Expr::Int(1), Expr::Int(0)));
    }
    let bounded = Expr::all(order.iter().cloned());
    let mut size = algebra::count(&bounded, var, &algebra::max(Expr::Int(0), extent.clone()))?;
    for (nth, value) in unequal.iter().enumerate() {
        // Taken out once, even if two comparisons name the same value.
        let new = unequal[..nth]
            .iter()
            .map(|earlier| algebra::binary(BinaryOp::Ne, value.clone(), earlier.clone()));
        let there = algebra::at(&Expr::all([inside.clone(), bounded.clone()]), var, value);
        let counts = Expr::all(new.chain([there]));
        size = algebra::sub(size, algebra::choose(counts, Expr::Int(1), Expr::Int(0)));
    }
    Some(size)
}

fn conjuncts(condition: &Expr, visit: &mut dyn FnMut(&Expr)) {
    match condition {
        Expr::Bool(true) => {}
        Expr::Binary(BinaryOp::And, a, b) => {
            conjuncts(a, visit);
            conjuncts(b, visit);
        }
        Expr::Not(inner) => match &**inner {
            Expr::Binary(op, a, b) => {
                let op = match op {
                    BinaryOp::Eq => BinaryOp::Ne,
                    BinaryOp::Ne => BinaryOp::Eq,
                    BinaryOp::Lt => BinaryOp::Ge,
                    BinaryOp::Le => BinaryOp::Gt,
                    BinaryOp::Gt => BinaryOp::Le,
                    BinaryOp::Ge => BinaryOp::Lt,
                    other => *other,
                };
                visit(&Expr::Binary(op, a.clone(), b.clone()));
            }
            _ => visit(condition),
        },
        other => visit(other),
    }
}

/// How a block uses an index.
pub(super) fn used(body: &[Stmt], var: VarId) -> Uses {
    let mut uses = Uses::default();
    uses.block(body, var);
    uses
}

/// How a role's program uses one of its indices.
#[derive(Default)]
pub(super) struct Uses {
    /// Comparisons `index op value`, the value over parameters.
    pub comparisons: Vec<Expr>,
    /// Whether it is used in any other way.
    pub otherwise: bool,
}

impl Uses {
    pub fn any(&self) -> bool {
        self.otherwise || !self.comparisons.is_empty()
    }

    fn block(&mut self, body: &[Stmt], var: VarId) {
        for stmt in body {
            visit_exprs(stmt, &mut |e| self.expr(e, var));
            match &stmt.kind {
                StmtKind::If {
                    then, otherwise, ..
                } => {
                    self.block(then, var);
                    self.block(otherwise, var);
                }
                StmtKind::For { body, .. } => self.block(body, var),
                _ => {}
            }
        }
    }

    pub fn expr(&mut self, expr: &Expr, var: VarId) {
        if !algebra::mentions(expr, var) {
            return;
        }
        if let Some(comparison) = comparison(expr, var) {
            if !self.comparisons.contains(&comparison) {
                self.comparisons.push(comparison);
            }
            return;
        }
        match expr {
            Expr::Not(e) => self.expr(e, var),
            Expr::Binary(BinaryOp::And | BinaryOp::Or, a, b) => {
                self.expr(a, var);
                self.expr(b, var);
            }
            Expr::If(c, a, b) => {
                self.expr(c, var);
                self.expr(a, var);
                self.expr(b, var);
            }
            _ => self.otherwise = true,
        }
    }
}

/// The comparison with the index on its left, if the other side is over parameters.
fn comparison(expr: &Expr, var: VarId) -> Option<Expr> {
    use BinaryOp as B;
    let Expr::Binary(op, a, b) = expr else {
        return None;
    };
    let (op, value) = match (&**a, &**b) {
        (Expr::Var(v), value) if *v == var => (*op, value),
        (value, Expr::Var(v)) if *v == var => {
            let turned = match op {
                B::Lt => B::Gt,
                B::Le => B::Ge,
                B::Gt => B::Lt,
                B::Ge => B::Le,
                other => *other,
            };
            (turned, value)
        }
        _ => return None,
    };
    let order = matches!(op, B::Eq | B::Ne | B::Lt | B::Le | B::Gt | B::Ge);
    (order && parameters_only(value)).then(|| Expr::binary(op, Expr::Var(var), value.clone()))
}

fn parameters_only(expr: &Expr) -> bool {
    match expr {
        Expr::Int(_) | Expr::Param(_) => true,
        Expr::Neg(e) => parameters_only(e),
        Expr::Binary(_, a, b) => parameters_only(a) && parameters_only(b),
        _ => false,
    }
}

/// A block with the comparisons of the decided indices replaced by their outcomes.
fn decided(body: &[Stmt], outcomes: &[(Expr, bool)]) -> Vec<Stmt> {
    if outcomes.is_empty() {
        return body.to_vec();
    }
    replaced(body, &|e| decide(e, outcomes))
}

/// A block with its expressions replaced, except for those that only name data.
pub(super) fn replaced(body: &[Stmt], replace: &dyn Fn(&Expr) -> Expr) -> Vec<Stmt> {
    body.iter()
        .map(|stmt| {
            let mut stmt = stmt.clone();
            map_exprs(&mut stmt, replace);
            match &mut stmt.kind {
                StmtKind::If {
                    then, otherwise, ..
                } => {
                    *then = replaced(then, replace);
                    *otherwise = replaced(otherwise, replace);
                }
                StmtKind::For { body, .. } => *body = replaced(body, replace),
                _ => {}
            }
            stmt
        })
        .collect()
}

/// A block without what stands in branches that these members never take.
fn taken(
    protocol: &Protocol,
    body: &[Stmt],
    known: &HashMap<VarId, Expr>,
    fixed: &[(ParamId, i64)],
) -> Vec<Stmt> {
    let mut body = body.to_vec();
    for stmt in &mut body {
        match &mut stmt.kind {
            StmtKind::If {
                condition,
                then,
                otherwise,
            } => {
                let value = flow::at_fixed(&algebra::substitute(condition, known), fixed);
                match domain::in_domain(protocol, &value) {
                    Expr::Bool(true) => otherwise.clear(),
                    Expr::Bool(false) => then.clear(),
                    _ => {}
                }
                *then = taken(protocol, then, known, fixed);
                *otherwise = taken(protocol, otherwise, known, fixed);
            }
            StmtKind::For { body, .. } => *body = taken(protocol, body, known, fixed),
            _ => {}
        }
    }
    body
}

fn decide(expr: &Expr, outcomes: &[(Expr, bool)]) -> Expr {
    for (known, outcome) in outcomes {
        let Expr::Binary(_, own, _) = known else {
            continue;
        };
        let Expr::Var(var) = **own else { continue };
        if comparison(expr, var).as_ref() == Some(known) {
            return Expr::Bool(*outcome);
        }
    }
    let go = |e: &Expr| decide(e, outcomes);
    match expr {
        Expr::Neg(e) => Expr::Neg(Box::new(go(e))),
        Expr::Not(e) => algebra::not(go(e)),
        Expr::Binary(op, a, b) => algebra::binary(*op, go(a), go(b)),
        Expr::If(c, a, b) => algebra::choose(go(c), go(a), go(b)),
        other => other.clone(),
    }
}

/// Every expression of a statement, without those of the blocks inside it.
pub fn visit_exprs(stmt: &Stmt, visit: &mut dyn FnMut(&Expr)) {
    let mut copy = stmt.clone();
    // One list of a statement's expressions serves looking and replacing.
    for_each_expr(&mut copy, &mut |e| visit(e));
}

fn map_exprs(stmt: &mut Stmt, map: &dyn Fn(&Expr) -> Expr) {
    for_each_expr(stmt, &mut |e| *e = map(e));
}

/// The element a statement works on.
pub fn cell_of(stmt: &Stmt) -> Option<&Cell> {
    match &stmt.kind {
        StmtKind::Wait { cell, .. }
        | StmtKind::Set { cell, .. }
        | StmtKind::Add { cell, .. }
        | StmtKind::Arrive { cell, .. }
        | StmtKind::Sync { cell, .. }
        | StmtKind::BarArrive { cell, .. }
        | StmtKind::ExpectTx { cell, .. }
        | StmtKind::CompleteTx { cell, .. }
        | StmtKind::Copy { cell, .. }
        | StmtKind::Acquire { cell, .. }
        | StmtKind::Release { cell, .. }
        | StmtKind::Commit { cell }
        | StmtKind::Init { cell }
        | StmtKind::BarrierArrive { cell }
        | StmtKind::BarrierWait { cell }
        | StmtKind::WaitParity { cell, .. } => Some(cell),
        StmtKind::If { .. }
        | StmtKind::For { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Access { .. }
        | StmtKind::Return
        | StmtKind::Break => None,
    }
}

fn for_each_expr(stmt: &mut Stmt, visit: &mut dyn FnMut(&mut Expr)) {
    match &mut stmt.kind {
        StmtKind::Wait { cell, value, .. } | StmtKind::Set { cell, value } => {
            cell.index.iter_mut().for_each(&mut *visit);
            visit(value);
        }
        StmtKind::Add { cell, amount } => {
            cell.index.iter_mut().for_each(&mut *visit);
            visit(amount);
        }
        StmtKind::Arrive { cell, count }
        | StmtKind::Sync { cell, count }
        | StmtKind::BarArrive { cell, count } => {
            cell.index.iter_mut().for_each(&mut *visit);
            visit(count);
        }
        StmtKind::ExpectTx { cell, bytes }
        | StmtKind::CompleteTx { cell, bytes }
        | StmtKind::Copy { cell, bytes, .. } => {
            cell.index.iter_mut().for_each(&mut *visit);
            visit(bytes);
        }
        StmtKind::Acquire { cell, amount } | StmtKind::Release { cell, amount } => {
            cell.index.iter_mut().for_each(&mut *visit);
            visit(amount);
        }
        StmtKind::Commit { cell }
        | StmtKind::Init { cell }
        | StmtKind::BarrierArrive { cell }
        | StmtKind::BarrierWait { cell } => cell.index.iter_mut().for_each(&mut *visit),
        StmtKind::WaitParity { cell, parity } => {
            cell.index.iter_mut().for_each(&mut *visit);
            visit(parity);
        }
        StmtKind::If { condition, .. } => visit(condition),
        StmtKind::For { over, .. } => match over {
            Iteration::Range { lo, hi, .. } => {
                visit(lo);
                visit(hi);
            }
            Iteration::Row { row, .. } => row.iter_mut().for_each(&mut *visit),
        },
        StmtKind::Assign { value, .. } => visit(value),
        StmtKind::Access { work, .. } => match work {
            Work::WaitGroup { most, .. } => visit(most),
            // The elements may tell members apart that do the same otherwise: `Class::free`.
            Work::Now(_) | Work::Async(_) | Work::Lifetime { .. } => {}
            // Claims are made of members whose indices stay open, and none in copies.
            Work::Assert(_) => {}
            Work::CommitGroup | Work::Fence(_) => {}
        },
        StmtKind::Return | StmtKind::Break => {}
    }
}
