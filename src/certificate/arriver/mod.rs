//! The arriver rule: the member that counts last does the remaining work, and does not block in it.
//!
//! Example: each CTA counts itself by `t = fetch_add(c, 1)`. The CTA that reads `N - 1` adds up what all others have
//! left. In general, only one statement changes a semaphore: `let t = fetch_add(c[e], 1)`. After it, `t` is used only
//! in `if t == L { X }`, or in `if t != L { return } X` at the end of the program. `X` never blocks, and depends only
//! on the element. The rule *takes the protocol apart*: `c[e] += 1` replaces the operation and `X`. A new role has
//! one member for each element, which does `wait c[e] >= L + 1` and then `X`.
//!
//! **Why the protocol does not get stuck if the new one does not.** An element counts one by one, and starts at `L`
//! or less. So at most one operation returns `L`: the one after which the wait passes. Take a run of the protocol to
//! a stuck state. Let the new members do the steps of `X` at the moments at which other members do them in that run.
//! This is a run of the new protocol, because `X` comes after the wait has passed, all semaphores have the same
//! values, and no blocking operation after `X` depends on it. At its end no member is inside `X`, because `X` does
//! not block. So each new member has finished, or its element is at most `L` and it waits. All other members stand at
//! the same statements as in the protocol. So nobody can go on in the new protocol either, and the same members have
//! not finished.
//!
//! **Resets.** `X` may set its element to a number for another launch, under two conditions. No other statement reads
//! the semaphore. There are never more than `L + 1` operations at an element: the element names every index of the
//! role and every loop around the operation, except for indices that have at most `L + 1` values altogether. Then no
//! member counts after the reset, and the reset is left out. `X` may set other semaphores to numbers in the same way,
//! if every member that uses them has done so before it counts. Then all members have counted.
//!
//! If all members meet once in each iteration of a loop, `X` may reset its element for the next iteration: see
//! `rounds.rs`. Accesses to declared data order nothing and are left out. They have to be defined by their form: see
//! `touched`.
//!
//! All of this is checked here, from the text. Only deadlock is proved, and by an argument about the new protocol.

mod rounds;

use std::collections::HashMap;
use std::collections::HashSet;

use serde::Deserialize;
use serde::Serialize;

use rounds::Rounds;

use super::argument::Argument;
use super::bounds_check;
use super::cut::algebra;
use super::cut::break_elimination;
use super::cut::domain::never_negative;
use super::cut::polynomial::Polynomial;
use super::cut::statements;
use super::normal;
use super::obligation::Obligation;
use super::once::says;
use super::program::Unsupported;
use super::program::free_vars;
use crate::protocol::ATOMIC;
use crate::protocol::AtomicUpdate;
use crate::protocol::BinaryOp;
use crate::protocol::Cell;
use crate::protocol::Comparison;
use crate::protocol::Expr;
use crate::protocol::Index;
use crate::protocol::Initial;
use crate::protocol::Iteration;
use crate::protocol::ObjectId;
use crate::protocol::ObjectKind;
use crate::protocol::Place;
use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::protocol::Role;
use crate::protocol::Stmt;
use crate::protocol::StmtId;
use crate::protocol::StmtKind;
use crate::protocol::VarId;
use crate::protocol::Work;

/// An argument for the protocol after it has been taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arriver {
    /// The argument.
    pub argument: Box<Argument>,
}

/// The obligations of the argument, and those that all evaluated expressions are defined.
///
/// # Errors
///
/// A protocol that cannot be taken apart, or to which the argument does not apply.
pub fn obligations(protocol: &Protocol, arriver: &Arriver) -> Result<Vec<Obligation>, Unsupported> {
    let apart = apart(protocol)?;
    let argument = &arriver.argument;
    if argument.residency().is_some() {
        return Err(Unsupported::whole(
            "a proof that assumes an order in which CTAs start",
        ));
    }
    let mut all = argument.obligations(&normal::normal(&apart))?;
    all.extend(argument.text_defined(&apart)?);
    Ok(all)
}

/// Whether the argument, once its obligations are discharged, implies that the original protocol is free of deadlock.
/// The argument itself may be about another property.
pub fn proves(protocol: &Protocol, arriver: &Arriver, property: Property) -> bool {
    property == Property::Deadlock
        && apart(protocol).is_ok_and(|apart| arriver.argument.proves(&apart, Property::Deadlock))
}

/// The protocol with a role of its own for what the last member does. If it cannot be taken apart
/// as it stands, its normal form is tried.
///
/// # Errors
///
/// Names the first operation that the rule does not cover.
pub fn apart(protocol: &Protocol) -> Result<Protocol, Unsupported> {
    taken_apart(protocol).or_else(|refused| {
        let normal = normal::of_programs(protocol);
        taken_apart(&normal).map_err(|_| refused)
    })
}

fn taken_apart(protocol: &Protocol) -> Result<Protocol, Unsupported> {
    let mut apart = protocol.clone();
    let mut lasts = Vec::new();
    for (role, before) in apart.roles.iter_mut().zip(&protocol.roles) {
        let mut walk = Walk {
            lasts: Vec::new(),
            loops: Vec::new(),
        };
        role.body = walk.block(&before.body, true)?;
        if !walk.lasts.is_empty()
            && let Some(doubt) = bounds_check::unproved_access(protocol, before)
        {
            return Err(refused(doubt));
        }
        for last in walk.lasts {
            if says(&role.body, last.result) || says(&last.then, last.result) {
                return Err(refused(&last.stmt));
            }
            lasts.push((role.clone(), last));
        }
    }
    if lasts.is_empty() {
        return Err(Unsupported::whole("no operation that returns a count"));
    }
    for (role, last) in &lasts {
        let new = separate(&mut apart, protocol, role, last)?;
        apart.roles.push(new);
    }
    for (_, last) in &lasts {
        let object = last.cell.object;
        let mut uses = Vec::new();
        for role in &apart.roles {
            add_uses(&role.body, object, &mut uses);
        }
        let waits = uses.iter().filter(|waits| **waits).count();
        // One statement changes the semaphore. One wait belongs to the new role.
        if uses.len().checked_sub(waits) != Some(1) || last.sets_back() && waits != 1 {
            return Err(refused(&last.stmt));
        }
    }
    Ok(apart)
}

/// An operation that returns a count, and the work of the member with the last count.
struct Last {
    stmt: Stmt,
    cell: Cell,
    result: VarId,
    /// The value that the last member gets.
    value: Expr,
    then: Vec<Stmt>,
    /// The variables of the loops around the operation.
    loops: Vec<VarId>,
}

impl Last {
    fn sets_back(&self) -> bool {
        sets(&self.then, &self.cell)
    }
}

struct Walk {
    lasts: Vec<Last>,
    loops: Vec<VarId>,
}

impl Walk {
    fn block(&mut self, body: &[Stmt], whole: bool) -> Result<Vec<Stmt>, Unsupported> {
        let mut all = Vec::new();
        let mut rest = body;
        while let [stmt, behind @ ..] = rest {
            rest = behind;
            let mut stmt = stmt.clone();
            match &mut stmt.kind {
                StmtKind::If {
                    then, otherwise, ..
                } => {
                    *then = self.block(then, false)?;
                    *otherwise = self.block(otherwise, false)?;
                }
                StmtKind::For { var, body, .. } => {
                    self.loops.push(*var);
                    *body = self.block(body, false)?;
                    self.loops.pop();
                }
                StmtKind::WaitSwap { .. } => return Err(refused(&stmt)),
                StmtKind::Atomic {
                    cell,
                    update: AtomicUpdate::Add(Expr::Int(1)),
                    result,
                } => {
                    let [branch, behind @ ..] = rest else {
                        return Err(refused(&stmt));
                    };
                    let found = asked(branch, *result, behind, whole);
                    let (cell, result) = (cell.clone(), *result);
                    let (value, then, behind) = found.ok_or_else(|| refused(&stmt))?;
                    rest = behind;
                    self.lasts.push(Last {
                        stmt: stmt.clone(),
                        cell: cell.clone(),
                        result,
                        value,
                        then: then.to_vec(),
                        loops: self.loops.clone(),
                    });
                    let amount = Expr::Int(1);
                    stmt.kind = StmtKind::Add { cell, amount };
                }
                StmtKind::Atomic { .. } => return Err(refused(&stmt)),
                _ => {}
            }
            all.push(stmt);
        }
        Ok(all)
    }
}

/// The value that a branch compares a result with, the statements for equality, and the statements after it.
fn asked<'s>(
    branch: &'s Stmt,
    result: VarId,
    behind: &'s [Stmt],
    whole: bool,
) -> Option<(Expr, &'s [Stmt], &'s [Stmt])> {
    let StmtKind::If {
        condition: Expr::Binary(op, a, b),
        then,
        otherwise,
    } = &branch.kind
    else {
        return None;
    };
    let value = counted(a, result, b).or_else(|| counted(b, result, a))?;
    match (op, &then[..], &otherwise[..]) {
        (BinaryOp::Eq, then, []) => Some((value, then, behind)),
        (BinaryOp::Ne, [only], []) if whole && only.kind == StmtKind::Return => {
            Some((value, behind, &[]))
        }
        _ => None,
    }
}

/// The value of a variable for which an expression equals another one. The expression is the variable, or the
/// variable plus a number.
fn counted(expr: &Expr, result: VarId, other: &Expr) -> Option<Expr> {
    let more = match expr {
        Expr::Var(var) if *var == result => 0,
        Expr::Binary(BinaryOp::Add, a, b) => match (&**a, &**b) {
            (Expr::Var(var), Expr::Int(more)) | (Expr::Int(more), Expr::Var(var))
                if *var == result =>
            {
                *more
            }
            _ => return None,
        },
        _ => return None,
    };
    (!algebra::mentions(other, result)).then(|| algebra::sub(other.clone(), Expr::Int(more)))
}

/// The new role, which does the work of the last members.
fn separate(
    apart: &mut Protocol,
    whole: &Protocol,
    role: &Role,
    last: &Last,
) -> Result<Role, Unsupported> {
    let refused = || refused(&last.stmt);
    let object = apart.objects.get(last.cell.object.0).ok_or_else(refused)?;
    let ObjectKind::Semaphore(Initial::Value(initial)) = object.kind.clone() else {
        return Err(refused());
    };
    // Each name in the element becomes an index of the new role.
    let (mut names, mut indices) = (HashMap::new(), Vec::new());
    for (index, extent) in last.cell.index.iter().zip(object.extents.clone()) {
        let mut used = HashSet::new();
        free_vars(index, &mut used);
        match index {
            Expr::Var(name) if !names.contains_key(name) => {
                let var = VarId(apart.vars.len());
                apart
                    .vars
                    .push(apart.vars.get(name.0).ok_or_else(refused)?.clone());
                names.insert(*name, Expr::Var(var));
                indices.push(Index { var, extent });
            }
            _ if used.is_empty() => {}
            _ => return Err(refused()),
        }
    }
    let changed = break_elimination::changed(&role.body);
    let mut most = Expr::Int(1);
    for index in &role.indices {
        if !names.contains_key(&index.var) || changed.contains(&index.var) {
            most = algebra::mul(most, index.extent.clone());
        }
    }
    let rounds = rounds::found(whole, role, last, &most);
    if let Some(rounds) = &rounds {
        let var = VarId(apart.vars.len());
        let variable = apart.vars.get(rounds.var.0).ok_or_else(refused)?.clone();
        apart.vars.push(variable);
        names.insert(rounds.var, Expr::Var(var));
    }
    let mut used = HashSet::new();
    free_vars(&last.value, &mut used);
    if !used.iter().all(|var| names.contains_key(var)) {
        return Err(refused());
    }
    let not_negative = |sum: &Expr| {
        let sum = Polynomial::of(sum).to_expr();
        sum.is_some_and(|sum| never_negative(apart, &sum))
    };
    let above = algebra::sub(last.value.clone(), initial);
    let enough = algebra::sub(algebra::add(above.clone(), Expr::Int(1)), most);
    let told = |var: &VarId| names.contains_key(var) && !changed.contains(var);
    // Whether all members that ever count at this element have counted.
    let all = last.loops.iter().all(told) && not_negative(&enough);
    if rounds.is_none() && (!not_negative(&above) || last.sets_back() && !all) {
        return Err(refused());
    }
    let mut left_out = HashSet::new();
    if rounds.is_none() && all && last.loops.is_empty() {
        left_out.extend(done_with(whole, role, last));
    }
    let renamed = |e: &Expr| algebra::replace(e, &|var| names.get(&var).cloned(), &|_| None);
    let mut own: HashSet<VarId> = names.keys().copied().collect();
    let then = quick(&last.then, &last.cell, &left_out, &mut own).ok_or_else(refused)?;
    let cell = Cell {
        object: last.cell.object,
        index: last.cell.index.iter().map(renamed).collect(),
    };
    let value = match &rounds {
        Some(rounds) => renamed(&rounds.counted()),
        None => algebra::add(renamed(&last.value), Expr::Int(1)),
    };
    let wait = StmtKind::Wait {
        cell,
        comparison: Comparison::AtLeast,
        value,
    };
    let id = StmtId(apart.stmt_count);
    apart.stmt_count = apart.stmt_count.checked_add(1).ok_or_else(refused)?;
    let mut body = vec![Stmt {
        id,
        kind: wait,
        ..last.stmt.clone()
    }];
    body.extend(statements::replaced(&then, &renamed));
    if let Some(rounds) = &rounds {
        body = vec![around(apart, last, rounds, &renamed, body).ok_or_else(refused)?];
    }
    Ok(Role {
        name: format!("last_of_{}", role.name),
        indices,
        launch: None,
        place: Place::default(),
        body,
        span: role.span,
    })
}

/// The loop over the rounds of the new role, around the work of each round.
fn around(
    apart: &mut Protocol,
    last: &Last,
    rounds: &Rounds,
    renamed: &dyn Fn(&Expr) -> Expr,
    body: Vec<Stmt>,
) -> Option<Stmt> {
    let Expr::Var(var) = renamed(&Expr::Var(rounds.var)) else {
        return None;
    };
    let id = StmtId(apart.stmt_count);
    apart.stmt_count = apart.stmt_count.checked_add(1)?;
    let over = Iteration::Range {
        lo: Expr::Int(0),
        hi: renamed(&rounds.trips),
        descending: false,
    };
    Some(Stmt {
        id,
        kind: StmtKind::For { var, over, body },
        ..last.stmt.clone()
    })
}

/// Semaphores that no member uses any more once all have counted. Each use outside of `X` stands before the
/// operation, in the same role and outside of the loops around the operation, at an element of the members that count
/// together. `X` sets an element that its member has used, so it exists.
fn done_with(whole: &Protocol, role: &Role, last: &Last) -> HashSet<ObjectId> {
    let changed = break_elimination::changed(&role.body);
    let index = |var: &VarId| role.indices.iter().any(|index| index.var == *var);
    let fixed = |cell: &Cell| {
        let mut used = HashSet::new();
        cell.index.iter().for_each(|e| free_vars(e, &mut used));
        used.iter().all(|var| index(var) && !changed.contains(var))
    };
    let together = |cell: &Cell| match last.cell.index.is_empty() {
        true => true,
        false => fixed(cell) && cell.index == last.cell.index,
    };
    let (mut before, mut later) = (HashSet::new(), Vec::new());
    let mut there: Vec<&Cell> = Vec::new();
    for other in &whole.roles {
        let at = other.body.iter().position(|stmt| stmt.id == last.stmt.id);
        let (first, rest) = other.body.split_at(at.unwrap_or(0));
        let used = first.iter().filter_map(statements::cell_of);
        there.extend(used.filter(|cell| fixed(cell)));
        for cell in cells(first) {
            match together(cell) {
                true => drop(before.insert(cell.object)),
                false => later.push(cell.object),
            }
        }
        later.extend(cells(rest).iter().map(|cell| cell.object));
    }
    // The statements of `X` are among those that come later.
    let own = cells(&last.then);
    before.retain(|object| {
        let mut set = own.iter().filter(|cell| cell.object == *object);
        let later = later.iter().filter(|other| *other == object).count();
        later == set.clone().count() && set.all(|cell| there.contains(cell))
    });
    before
}

/// The elements that a block uses, one for each statement.
fn cells(body: &[Stmt]) -> Vec<&Cell> {
    let mut all = Vec::new();
    for stmt in body {
        all.extend(statements::cell_of(stmt));
        match &stmt.kind {
            StmtKind::If {
                then, otherwise, ..
            } => {
                all.extend(cells(then));
                all.extend(cells(otherwise));
            }
            StmtKind::For { body, .. } => all.extend(cells(body)),
            _ => {}
        }
    }
    all
}

/// A block without accesses to data, and without resets of semaphores that no member uses any more. `None` if a statement
/// blocks, or uses a local name that is neither an index of the element nor a loop variable of the block.
fn quick(
    body: &[Stmt],
    cell: &Cell,
    left_out: &HashSet<ObjectId>,
    own: &mut HashSet<VarId>,
) -> Option<Vec<Stmt>> {
    let mut all = Vec::new();
    for stmt in body {
        let mut known = true;
        statements::visit_exprs(stmt, &mut |e| {
            let mut used = HashSet::new();
            free_vars(e, &mut used);
            known &= used.iter().all(|var| own.contains(var));
        });
        let mut stmt = stmt.clone();
        match &mut stmt.kind {
            // Accesses to data that is not declared evaluate nothing. Immediate accesses to declared data are defined
            // (`bounds_check.rs`). Asynchronous work on declared data may deliver later.
            StmtKind::Access {
                work: Work::Now(_) | Work::CommitGroup | Work::Fence(_),
                ..
            } => continue,
            StmtKind::Access {
                work: Work::Async(touched),
                ..
            } if touched.is_empty() => continue,
            StmtKind::Set {
                cell: other,
                value: Expr::Int(_),
            } if other == cell || left_out.contains(&other.object) => continue,
            _ if !known => return None,
            StmtKind::Add { .. } => {}
            StmtKind::If {
                then, otherwise, ..
            } => {
                *then = quick(then, cell, left_out, own)?;
                *otherwise = quick(otherwise, cell, left_out, own)?;
            }
            StmtKind::For { var, body, .. } => {
                let new = own.insert(*var);
                *body = quick(body, cell, left_out, own)?;
                if new {
                    own.remove(var);
                }
            }
            _ => return None,
        }
        all.push(stmt);
    }
    Some(all)
}

/// Whether a block sets an element.
fn sets(body: &[Stmt], cell: &Cell) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Set { cell: other, .. } => other == cell,
        StmtKind::If {
            then, otherwise, ..
        } => sets(then, cell) || sets(otherwise, cell),
        StmtKind::For { body, .. } => sets(body, cell),
        _ => false,
    })
}

/// For each statement that uses a semaphore, whether it waits.
fn add_uses(body: &[Stmt], object: ObjectId, uses: &mut Vec<bool>) {
    for stmt in body {
        if statements::cell_of(stmt).is_some_and(|cell| cell.object == object) {
            uses.push(matches!(stmt.kind, StmtKind::Wait { .. }));
        }
        match &stmt.kind {
            StmtKind::If {
                then, otherwise, ..
            } => {
                add_uses(then, object, uses);
                add_uses(otherwise, object, uses);
            }
            StmtKind::For { body, .. } => add_uses(body, object, uses),
            _ => {}
        }
    }
}

fn refused(stmt: &Stmt) -> Unsupported {
    Unsupported::at(stmt.span, ATOMIC)
}
