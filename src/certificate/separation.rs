//! The separation rule: for CTAs that have barriers of their own, and of which one member each also takes turns with
//! other CTAs.
//!
//! For example, the warps of each CTA share a ring of mbarriers, and one warp of each CTA waits for its turn at a
//! counter in global memory. The rule proves the rings and the turns separately.
//!
//! Every member belongs to a *copy*: the CTA that the first indices of its role name. An object is *private* if in
//! every use of it, its first indices are the copy of the user. All other objects are *shared*. Only one role uses
//! shared objects, and it has one member in each copy. Then the protocol cannot get stuck if neither of two protocols
//! can:
//!
//! - the *shared part*: that role alone, with only its operations on shared objects;
//! - the *own part*: all roles, with all other operations.
//!
//! **Why.** Suppose that a run of the protocol leads to a state in which nobody can go on. Take a copy that has not
//! finished there.
//!
//! *The own part.* Remove all operations on shared objects from the run. The result is a run of the own part, because
//! neither values nor branches depend on objects. Suppose that the copy is not finished in this run either. Then one
//! of its members can go on there. Otherwise all other copies could still run to their ends, because copies have
//! nothing in common in the own part, and then the own part would be stuck. In the protocol, however, nobody can go
//! on. So whether the copy is finished in the own part or not, some member of the copy stands before an operation on
//! a shared object that blocks. This is the one member of the copy that uses shared objects.
//!
//! *The shared part.* Remove all operations on private objects from the run. The result is a run of the shared part.
//! There, the member of each unfinished copy is blocked as well, as just shown. The members of finished copies are at
//! their ends. So the shared part is stuck, which is a contradiction.
//!
//! Operations in flight (copies of data, commits) belong to the own part, where a landing is a step like any other.
//!
//! **Side conditions**, all checked here:
//!
//! - No role is a grid with a launch. A CTA that has not started would block without an operation.
//! - The first indices of each role have the extents of the indices of the role that uses shared objects, and that
//!   role has no further index.
//! - Only members of that role use shared objects.
//! - Both parts have operations.
//! - Neither part evaluates all expressions of the text; for example, a variable that it does not need may be
//!   dropped. `defined.rs` shows from the text itself that such expressions are defined.
//!
//! Only deadlock is proved.
//!
//! In the own part, a loop `for m in 0..M { if visited[n, m] { .. } }` is rewritten as a loop over the row of the
//! pattern. Both have the same effect if the pattern has `M` columns, and if the body neither uses `m` nor changes
//! which row it is.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use serde::Deserialize;
use serde::Serialize;

use super::argument::Argument;
use super::cut::break_elimination;
use super::cut::copies;
use super::cut::sharing;
use super::cut::statements;
use super::normal;
use super::obligation::Obligation;
use super::program::Unsupported;
use crate::protocol::Cell;
use crate::protocol::Expr;
use crate::protocol::Index;
use crate::protocol::Iteration;
use crate::protocol::Launch;
use crate::protocol::LaunchOrder;
use crate::protocol::ObjectId;
use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::protocol::Resident;
use crate::protocol::Role;
use crate::protocol::RowOrder;
use crate::protocol::Stmt;
use crate::protocol::StmtId;
use crate::protocol::StmtKind;
use crate::protocol::VarId;
use crate::protocol::Work;

/// Arguments for the two parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Separation {
    /// Why the shared part cannot get stuck.
    pub shared: Box<Argument>,
    /// Why the own part cannot.
    pub own: Box<Argument>,
}

/// The two parts of a protocol.
#[derive(Debug, Clone)]
pub struct Parts {
    /// The operations of copies on the objects that they share.
    pub shared: Protocol,
    /// The operations of each copy by itself.
    pub own: Protocol,
}

/// The obligations of both arguments.
///
/// # Errors
///
/// A protocol that cannot be separated in this way, or an argument that does not fit its part.
pub fn obligations(
    protocol: &Protocol,
    separation: &Separation,
) -> Result<Vec<Obligation>, Unsupported> {
    let parts = parts(protocol)?;
    let mut all = Vec::new();
    for (name, part, argument) in [
        ("shared", &parts.shared, &separation.shared),
        ("own", &parts.own, &separation.own),
    ] {
        for mut obligation in argument.obligations(&normal::normal(part))? {
            obligation.name = format!("{name}_{}", obligation.name);
            all.push(obligation);
        }
    }
    Ok(all)
}

/// Whether both arguments, once their obligations are discharged, imply that the whole is free of deadlock. An
/// argument may be about another property of its part.
pub fn proves(protocol: &Protocol, separation: &Separation, property: Property) -> bool {
    property == Property::Deadlock
        && parts(protocol).is_ok_and(|parts| {
            separation.shared.proves(&parts.shared, Property::Deadlock)
                && separation.own.proves(&parts.own, Property::Deadlock)
        })
}

/// Separates a protocol into its parts.
///
/// # Errors
///
/// The reason why this is not possible.
pub fn parts(protocol: &Protocol) -> Result<Parts, Unsupported> {
    if let Some(role) = protocol.roles.iter().find(|role| role.launch.is_some()) {
        return Err(Unsupported::at(role.span, "a launch of CTAs as members"));
    }
    let none =
        || Unsupported::whole("objects that copies share and that several members of a copy use");
    let mut sharing = 0..protocol.roles.len();
    let found = sharing.find_map(|at| Some((at, shared_by(protocol, at)?)));
    let (at, shared) = found.ok_or_else(none)?;
    let keep = |cell: &Cell| shared.contains(&cell.object);
    let mut turns = protocol.clone();
    turns.roles = vec![protocol.roles[at].clone()];
    turns.roles[0].launch = Some(Launch {
        order: LaunchOrder::Any,
        resident: Resident::All,
    });
    restrict(&mut turns, &|stmt| match statements::cell_of(stmt) {
        Some(cell) => keep(cell),
        None => !matches!(stmt.kind, StmtKind::Access { .. }),
    });
    let mut own = protocol.clone();
    restrict(
        &mut own,
        &|stmt| match (statements::cell_of(stmt), &stmt.kind) {
            (Some(cell), _) => !keep(cell),
            // A claim may be about shared objects.
            (None, StmtKind::Access { work, .. }) => !matches!(work, Work::Assert(_)),
            (None, _) => true,
        },
    );
    for role in &mut own.roles {
        role.body = by_rows(protocol, &role.body);
    }
    Ok(Parts { shared: turns, own })
}

/// The statements that a part evaluates exactly as the protocol does.
///
/// # Errors
///
/// The reason why the protocol cannot be separated.
pub fn evaluated_as_written(protocol: &Protocol) -> Result<BTreeSet<StmtId>, Unsupported> {
    let parts = parts(protocol)?;
    let mut all = Evaluated::new();
    let evaluates = |protocol: &Protocol| {
        let mut here = Evaluated::new();
        protocol
            .roles
            .iter()
            .for_each(|role| evaluated(&role.body, &mut here));
        here
    };
    let whole = evaluates(protocol);
    for part in [&parts.shared, &parts.own] {
        for (stmt, exprs) in evaluates(part) {
            if whole.get(&stmt) == Some(&exprs) {
                all.insert(stmt, exprs);
            }
        }
    }
    Ok(all.into_keys().collect())
}

/// Per statement, the expressions that it evaluates.
type Evaluated = BTreeMap<StmtId, Vec<Expr>>;

fn evaluated(body: &[Stmt], all: &mut Evaluated) {
    for stmt in body {
        let exprs = all.entry(stmt.id).or_default();
        statements::visit_exprs(stmt, &mut |e| exprs.push(e.clone()));
        match &stmt.kind {
            StmtKind::If {
                then, otherwise, ..
            } => {
                evaluated(then, all);
                evaluated(otherwise, all);
            }
            StmtKind::For { body, .. } => evaluated(body, all),
            _ => {}
        }
    }
}

/// The shared objects, if only members of this role use them, and each is the only one of its copy. There have to be
/// private objects, too.
fn shared_by(protocol: &Protocol, sharing: usize) -> Option<BTreeSet<ObjectId>> {
    let copy = &protocol.roles[sharing].indices;
    let numbered = |role: &Role| {
        role.indices.len() >= copy.len()
            && role
                .indices
                .iter()
                .zip(copy)
                .all(|(own, index)| copies::equal(&own.extent, &index.extent))
    };
    if copy.is_empty() || !protocol.roles.iter().all(numbered) {
        return None;
    }
    let mut used = BTreeSet::new();
    let mut shared = BTreeSet::new();
    let mut users: BTreeSet<(ObjectId, usize)> = BTreeSet::new();
    for (at, role) in protocol.roles.iter().enumerate() {
        sharing::cells(&role.body, &mut |_, object, place| {
            let object = ObjectId(object);
            used.insert(object);
            users.insert((object, at));
            let own = |(position, index): (usize, &Index)| {
                place.get(position) == Some(&Expr::Var(index.var))
            };
            if !role.indices.iter().take(copy.len()).enumerate().all(own) {
                shared.insert(object);
            }
        });
    }
    let alone = users
        .iter()
        .all(|(object, role)| !shared.contains(object) || *role == sharing);
    (alone && !shared.is_empty() && shared.len() < used.len()).then_some(shared)
}

/// Keeps these operations of a protocol, the statements that they need, and the objects that they use.
fn restrict(protocol: &mut Protocol, keep: &dyn Fn(&Stmt) -> bool) {
    protocol.invariants.clear();
    protocol.progress.clear();
    protocol.expectations.clear();
    let mut used = BTreeSet::new();
    for role in &mut protocol.roles {
        role.body = without_dead(kept(&role.body, keep));
        sharing::cells(&role.body, &mut |_, object, _| {
            used.insert(ObjectId(object));
        });
    }
    let order: Vec<ObjectId> = used.into_iter().collect();
    for role in &mut protocol.roles {
        renumber(&mut role.body, &order);
    }
    protocol.objects = order
        .iter()
        .map(|object| protocol.objects[object.0].clone())
        .collect();
}

/// The operations that are kept, with their loops and branches. Loops and branches that become empty are dropped.
fn kept(body: &[Stmt], keep: &dyn Fn(&Stmt) -> bool) -> Vec<Stmt> {
    let mut all = Vec::new();
    for stmt in body {
        let mut stmt = stmt.clone();
        let whole = match &mut stmt.kind {
            StmtKind::If {
                then, otherwise, ..
            } => {
                *then = kept(then, keep);
                *otherwise = kept(otherwise, keep);
                !then.is_empty() || !otherwise.is_empty()
            }
            StmtKind::For { body, .. } => {
                *body = kept(body, keep);
                !body.is_empty()
            }
            _ => keep(&stmt),
        };
        if whole {
            all.push(stmt);
        }
    }
    all
}

/// Drops assignments to local variables on which nothing depends any more.
fn without_dead(body: Vec<Stmt>) -> Vec<Stmt> {
    let mut live = BTreeSet::new();
    loop {
        let before = live.len();
        alive(&body, &mut live);
        if live.len() == before {
            break;
        }
    }
    kept(&body, &|stmt| match &stmt.kind {
        StmtKind::Assign { var, .. } => live.contains(var),
        _ => true,
    })
}

/// Adds the names that occur in operations and in live assignments.
fn alive(body: &[Stmt], live: &mut BTreeSet<VarId>) {
    for stmt in body {
        if let StmtKind::Assign { var, .. } = &stmt.kind
            && !live.contains(var)
        {
            continue;
        }
        statements::visit_exprs(stmt, &mut |e| names(e, live));
        match &stmt.kind {
            StmtKind::If {
                then, otherwise, ..
            } => {
                alive(then, live);
                alive(otherwise, live);
            }
            StmtKind::For { body, .. } => alive(body, live),
            _ => {}
        }
    }
}

fn names(expr: &Expr, into: &mut BTreeSet<VarId>) {
    let seen = std::cell::RefCell::new(into);
    expr.substitute(&|var| {
        seen.borrow_mut().insert(var);
        None
    });
}

fn renumber(body: &mut [Stmt], order: &[ObjectId]) {
    for stmt in body {
        match &mut stmt.kind {
            StmtKind::If {
                then, otherwise, ..
            } => {
                renumber(then, order);
                renumber(otherwise, order);
            }
            StmtKind::For { body, .. } => renumber(body, order),
            kind => {
                if let Some(cell) = statements::cell_mut(kind)
                    && let Ok(at) = order.binary_search(&cell.object)
                {
                    cell.object = ObjectId(at);
                }
            }
        }
    }
}

/// Rewrites loops over all columns, in which only visited ones matter, as loops over rows.
fn by_rows(protocol: &Protocol, body: &[Stmt]) -> Vec<Stmt> {
    let mut all = body.to_vec();
    for stmt in &mut all {
        match &mut stmt.kind {
            StmtKind::If {
                then, otherwise, ..
            } => {
                *then = by_rows(protocol, then);
                *otherwise = by_rows(protocol, otherwise);
            }
            StmtKind::For { var, over, body } => {
                *body = by_rows(protocol, body);
                if let Some((row, visited)) = row(protocol, *var, over, body) {
                    *over = row;
                    *body = visited;
                }
            }
            _ => {}
        }
    }
    all
}

/// The row that a loop runs over, and the statements for each of its entries.
fn row(
    protocol: &Protocol,
    var: VarId,
    over: &Iteration,
    body: &[Stmt],
) -> Option<(Iteration, Vec<Stmt>)> {
    let Iteration::Range {
        lo: Expr::Int(0),
        hi,
        descending,
    } = over
    else {
        return None;
    };
    let [
        Stmt {
            kind:
                StmtKind::If {
                    condition: Expr::Visits(pattern, at),
                    then,
                    otherwise,
                },
            ..
        },
    ] = body
    else {
        return None;
    };
    let (last, row) = at.split_last()?;
    let columns = protocol.patterns[pattern.0].extents.last()?;
    let mut of_row = BTreeSet::new();
    row.iter().for_each(|e| names(e, &mut of_row));
    let mut used = of_row.clone();
    mentioned(then, &mut used);
    let whole = *last == Expr::Var(var) && copies::equal(columns, hi);
    // The new loop evaluates the row only once. So the row must not change.
    let moves = assigns(then, &of_row);
    if !whole
        || !otherwise.is_empty()
        || used.contains(&var)
        || break_elimination::breaks(then)
        || moves
    {
        return None;
    }
    let row = Iteration::Row {
        pattern: *pattern,
        row: row.to_vec(),
        order: if *descending {
            RowOrder::Descending
        } else {
            RowOrder::Ascending
        },
    };
    Some((row, then.clone()))
}

/// Adds every name that statements mention.
fn mentioned(body: &[Stmt], into: &mut BTreeSet<VarId>) {
    for stmt in body {
        statements::visit_exprs(stmt, &mut |e| names(e, into));
        match &stmt.kind {
            StmtKind::If {
                then, otherwise, ..
            } => {
                mentioned(then, into);
                mentioned(otherwise, into);
            }
            StmtKind::For { body, .. } => mentioned(body, into),
            _ => {}
        }
    }
}

/// Whether a block assigns to one of these.
fn assigns(body: &[Stmt], names: &BTreeSet<VarId>) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Assign { var, .. } => names.contains(var),
        StmtKind::If {
            then, otherwise, ..
        } => assigns(then, names) || assigns(otherwise, names),
        StmtKind::For { body, .. } => assigns(body, names),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    fn taken_apart(body: &str) -> Result<Parts, Unsupported> {
        let text = format!(
            "protocol p param N in 1.. param M in 1.. pattern seen[N, M] semaphore turn[M] = 0 \
             barrier met[N] {{ arrivals: 2 }} {body}"
        );
        parts(&text::load(text.as_bytes()).unwrap())
    }

    const OTHER: &str = "role other[n in 0..N] { for m in 0..M { if seen[n, m] { sync met[n] } } }";

    /// Each part has its own operations and objects, and a loop over visited columns becomes a loop over a row.
    #[test]
    fn two_parts() {
        let main = "role main[n in 0..N] { for m in 0..M { if seen[n, m] {
            wait turn[m] == n turn[m] += 1 sync met[n] } } }";
        let parts = taken_apart(&format!("{main} {OTHER}")).unwrap();
        let names = |part: &Protocol| -> Vec<String> {
            part.objects.iter().map(|o| o.name.clone()).collect()
        };
        assert_eq!(names(&parts.shared), ["turn"]);
        assert_eq!(names(&parts.own), ["met"]);
        assert_eq!(parts.shared.roles.len(), 1);
        assert_eq!(parts.own.roles.len(), 2);
        let mut found = Vec::new();
        sharing::cells(&parts.shared.roles[0].body, &mut |_, object, _| {
            found.push(object);
        });
        assert_eq!(found, [0, 0]);
        let over = |part: &Protocol| match &part.roles[0].body[0].kind {
            StmtKind::For { over, .. } => over.clone(),
            other => panic!("{other:?}"),
        };
        assert!(matches!(over(&parts.shared), Iteration::Range { .. }));
        assert!(matches!(over(&parts.own), Iteration::Row { .. }));
    }

    /// Suppose that two members of a copy used shared objects. Then one that waits at a shared object could hold up the
    /// other, for which another copy waits. So this is refused.
    #[test]
    fn one_member_shares() {
        let turns = "for m in 0..M { wait turn[m] == n sync met[n] }";
        let adds = "for m in 0..M { sync met[n] turn[m] += 1 }";
        for roles in [
            // Two roles.
            format!("role main[n in 0..N] {{ {turns} }} role other[n in 0..N] {{ {adds} }}"),
            // Two members of a role.
            format!("role main[n in 0..N][t in 0..2] {{ {turns} turn[0] += 1 }}"),
            // No copies: one CTA.
            "role main { wait turn[0] == 0 sync met[0] } role other { sync met[0] }".to_owned(),
            // A barrier of another copy.
            format!("role main[n in 0..N] {{ wait turn[0] == n sync met[N - 1 - n] }} {OTHER}"),
            // A launch: a CTA that has not started is not present.
            "grid main[n in 0..N] { wait turn[0] == n turn[0] += 1 sync met[n] }".to_owned(),
            // Another number of copies.
            format!("role main[n in 0..M] {{ wait turn[n] == n sync met[n] }} {OTHER}"),
        ] {
            assert!(taken_apart(&roles).is_err(), "{roles}");
        }
    }

    /// A local variable stays where it is needed.
    #[test]
    fn variables_that_nothing_needs_are_left_out() {
        let main = "role main[n in 0..N] { var a = 0 var b = 0 for m in 0..M {
            wait turn[a % M] == n turn[a % M] += 1 if b % 2 == 0 { sync met[n] sync met[n] } a = a + 1 b = b + 1 } }";
        let parts = taken_apart(&format!("{main} {OTHER}")).unwrap();
        let count = |part: &Protocol| {
            let mut names = BTreeSet::new();
            let mut blocks = vec![part.roles[0].body.clone()];
            while let Some(block) = blocks.pop() {
                for stmt in block {
                    match stmt.kind {
                        StmtKind::Assign { var, .. } => {
                            names.insert(part.vars[var.0].name.clone());
                        }
                        StmtKind::For { body, .. } => blocks.push(body),
                        _ => {}
                    }
                }
            }
            names.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(count(&parts.shared), ["a"]);
        assert_eq!(count(&parts.own), ["b"]);
    }

    /// The new loop evaluates the row once, so the row must not change.
    #[test]
    fn a_row_that_changes_is_no_row() {
        let main = |then: &str| {
            format!(
                "role main[n in 0..N] {{ var x = n wait turn[0] == n turn[0] += 1
                 for m in 0..M {{ if seen[x, m] {{ sync met[n] {then} }} }} }} {OTHER}"
            )
        };
        for (then, rows) in [("", true), ("x = 0", false)] {
            let parts = taken_apart(&main(then)).unwrap();
            let over = parts.own.roles[0].body.iter().find_map(|s| match &s.kind {
                StmtKind::For { over, .. } => Some(over.clone()),
                _ => None,
            });
            assert_eq!(matches!(over, Some(Iteration::Row { .. })), rows, "{then}");
        }
    }
}
