//! Replaces numbers that members draw from a counter by indices of members.
//!
//! # One number each
//!
//! ```text
//! grid cta[n in 0..N] launch any { let t = fetch_add(c, 1)  B }
//! ```
//!
//! Suppose that the counter `c` begins at 0, that no other operation uses it, and that `B` does not mention `n`. Then
//! all members run the same program but for the number that they draw, and numbers are drawn in ascending order. So
//! the protocol gets stuck only if this one does:
//!
//! ```text
//! grid cta[t in 0..N] launch ascending { B }
//! ```
//!
//! *Why.* Take a state of a run of the first protocol. A member that has drawn `t` stands for CTA `t` of the second
//! protocol, at the same place of `B`. A member that has started and not drawn stands for no CTA that has started. A
//! step of `B` is the same step in both protocols. The step that draws `t` is the start of CTA `t`. This start is
//! possible: all CTAs below `t` have started, and there is room, since the member that draws is resident itself, and
//! all CTAs that have started and not finished in the second protocol are resident in the first one. So each run
//! becomes a run of the second protocol.
//!
//! In a stuck state of the first protocol nobody is left who could draw. So the same CTAs are resident in both
//! protocols. Either everybody has started, or there is no room in either. So the second protocol is stuck, too.
//! (Members of a role without a launch have all started. For these, only the names change.)
//!
//! # One number after the other
//!
//! ```text
//! role worker[w in 0..W] { for j in 0..E { let t = fetch_add(c, 1)  if t >= T { break }  B } }
//! ```
//!
//! Suppose that
//!
//! - `c` begins at 0 and no other operation uses it, as above;
//! - `E` is at least `T`;
//! - `B` mentions neither `w` nor `j`, and does not leave the loop;
//! - no value of a variable passes from one execution of `B` to the next;
//! - the operations of `B` do the same whichever member executes them.
//!
//! Then each number below `T` is drawn once, in ascending order, and its execution of `B` depends on this number
//! alone. So it may as well be the program of a CTA of its own:
//!
//! ```text
//! grid worker[t in 0..T] launch ascending resident W { B }
//! ```
//!
//! *Why.* A member in `B` stands for the CTA of its number, and a member between two numbers for none. The CTAs that
//! have started and not finished are as many as the members in `B`, so at most `W`. The step that draws a number
//! below `T` is the start of its CTA. A member that has finished has drawn a number of at least `T`, or `E` numbers
//! below `T`, which are all of them. In both cases every number below `T` has been drawn.
//!
//! In a stuck state each member has finished or is blocked in `B`. If some member has finished, all CTAs of the
//! second protocol have started. If none has, `W` of them are resident, and there is no room. If the grid need not
//! fit, the same holds of the lesser of `W` and the number of places: a member that has not started waits for a
//! place, and a member that has given its place up has finished. So the second protocol is stuck, too.
//!
//! # What is refused
//!
//! - Before the operation that draws, there may be nothing but work on data, since that never blocks.
//! - The operation that draws has a result. A protocol with a result is undefined for every property if an index of
//!   declared data is out of range. The new protocol has no result, so such an index is looked for here
//!   ([`bounds_check`]).
//!
//! The argument is about deadlock: no other property is proved of such a protocol ([`super::super::argument`]).

use super::Loop;
use super::range;
use crate::certificate::bounds_check;
use crate::certificate::cut::algebra;
use crate::certificate::cut::break_elimination;
use crate::certificate::cut::domain::never_negative;
use crate::certificate::cut::polynomial::Polynomial;
use crate::certificate::cut::statements;
use crate::certificate::once::says;
use crate::certificate::program::free_vars;
use crate::protocol::AtomicUpdate;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::Index;
use crate::protocol::Initial;
use crate::protocol::Launch;
use crate::protocol::LaunchKey;
use crate::protocol::LaunchOrder;
use crate::protocol::ObjectId;
use crate::protocol::ObjectKind;
use crate::protocol::Place;
use crate::protocol::Protocol;
use crate::protocol::Resident;
use crate::protocol::Role;
use crate::protocol::Stmt;
use crate::protocol::StmtId;
use crate::protocol::StmtKind;
use crate::protocol::VarId;
use crate::protocol::Work;

/// The same protocol with indices for numbers that are drawn.
pub(super) fn indexed(protocol: &Protocol) -> Protocol {
    let mut indexed = protocol.clone();
    for (nth, role) in protocol.roles.iter().enumerate() {
        let numbered = each(protocol, role).or_else(|| in_turn(protocol, role));
        if let Some(numbered) = numbered
            && plain(protocol, &numbered)
        {
            indexed.roles[nth] = numbered;
        }
    }
    indexed
}

/// The number that a statement draws, if nothing else is done with its counter.
fn drawn(protocol: &Protocol, stmt: &Stmt) -> Option<VarId> {
    let StmtKind::Atomic {
        cell,
        update: AtomicUpdate::Add(Expr::Int(1)),
        result,
    } = &stmt.kind
    else {
        return None;
    };
    let object = protocol.objects.get(cell.object.0)?;
    let from_0 = object.kind == ObjectKind::Semaphore(Initial::Value(Expr::Int(0)));
    let mut uses = Vec::new();
    for role in &protocol.roles {
        of_object(&role.body, cell.object, &mut uses);
    }
    (from_0 && object.extents.is_empty() && uses.len() == 1).then_some(*result)
}

/// The statements of a block, however deep, that work on an object.
fn of_object(body: &[Stmt], object: ObjectId, into: &mut Vec<StmtId>) {
    for stmt in body {
        match &stmt.kind {
            StmtKind::If {
                then, otherwise, ..
            } => {
                of_object(then, object, into);
                of_object(otherwise, object, into);
            }
            StmtKind::For { body, .. } => of_object(body, object, into),
            _ if statements::cell_of(stmt).is_some_and(|cell| cell.object == object) => {
                into.push(stmt.id);
            }
            _ => {}
        }
    }
}

/// A role whose members draw one number each.
fn each(protocol: &Protocol, role: &Role) -> Option<Role> {
    let (stmt, rest) = behind_work(&role.body)?;
    let number = drawn(protocol, stmt)?;
    if !follows(role, rest, number) {
        return None;
    }
    let mut numbered = role.clone();
    numbered.indices = vec![Index {
        var: number,
        extent: members(protocol, role)?,
    }];
    numbered.place = Place::default();
    numbered.body = rest.to_vec();
    if let Some(launch) = &mut numbered.launch {
        launch.order = ascending();
    }
    Some(numbered)
}

/// A role whose members draw one number after the other.
fn in_turn(protocol: &Protocol, role: &Role) -> Option<Role> {
    let (stmt, rest) = behind_work(&role.body)?;
    let Loop {
        var, lo, hi, body, ..
    } = range(stmt)?;
    let (first, behind) = body.split_first()?;
    let number = drawn(protocol, first)?;
    let (below, work) = bounded(behind, number)?;
    // Every name in `work` is one of its own, or the number.
    let outside = break_elimination::changed(&work);
    let carried = outside.iter().any(|var| !declared(&work, *var));
    let trips = Polynomial::of(hi).minus(&Polynomial::of(lo));
    let left = trips.minus(&Polynomial::of(&below)).to_expr()?;
    if !rest.is_empty()
        || carried
        || says(&work, var)
        || break_elimination::leaving(&work).is_some()
        || !follows(role, &work, number)
        || !over_parameters(&below)
        || !whoever_does_it(&work)
        || !never_negative(protocol, &left)
    {
        return None;
    }
    let workers = members(protocol, role)?;
    let resident = match role.launch.as_ref().map(|launch| &launch.resident) {
        None | Some(Resident::All) => workers,
        Some(Resident::AtMost(most)) => algebra::min(most.clone(), workers),
    };
    let mut numbered = role.clone();
    numbered.indices = vec![Index {
        var: number,
        extent: below,
    }];
    numbered.place = Place::default();
    numbered.body = work;
    numbered.launch = Some(Launch {
        order: ascending(),
        resident: Resident::AtMost(resident),
    });
    Some(numbered)
}

/// Whether the operations of a block do the same whichever member executes them, and whatever it has done before.
/// That is not so at a split-phase barrier, where a member waits for its own arrival, which may be one of an earlier
/// number. It is not so for a commit, which waits for everything that its member has started.
fn whoever_does_it(body: &[Stmt]) -> bool {
    body.iter().all(|stmt| match &stmt.kind {
        StmtKind::If {
            then, otherwise, ..
        } => whoever_does_it(then) && whoever_does_it(otherwise),
        StmtKind::For { body, .. } => whoever_does_it(body),
        StmtKind::Wait { .. }
        | StmtKind::Add { .. }
        | StmtKind::Set { .. }
        | StmtKind::Arrive { .. }
        | StmtKind::WaitParity { .. }
        | StmtKind::ExpectTx { .. }
        | StmtKind::CompleteTx { .. }
        | StmtKind::Copy { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Access { .. }
        | StmtKind::Break => true,
        StmtKind::Atomic { .. }
        | StmtKind::WaitSwap { .. }
        | StmtKind::Commit { .. }
        | StmtKind::Init { .. }
        | StmtKind::Sync { .. }
        | StmtKind::BarArrive { .. }
        | StmtKind::BarrierArrive { .. }
        | StmtKind::BarrierWait { .. }
        | StmtKind::Acquire { .. }
        | StmtKind::Release { .. }
        | StmtKind::Return => false,
    })
}

/// The bound of a test behind a number that is drawn, and what is done with a number below it. `None` if something is
/// done with other numbers.
fn bounded(behind: &[Stmt], number: VarId) -> Option<(Expr, Vec<Stmt>)> {
    let (test, rest) = behind.split_first()?;
    let StmtKind::If {
        condition: Expr::Binary(op, a, b),
        then,
        otherwise,
    } = &test.kind
    else {
        return None;
    };
    let (op, bound) = match (&**a, &**b) {
        (Expr::Var(var), bound) if *var == number => (*op, bound),
        (bound, Expr::Var(var)) if *var == number => (mirrored(*op)?, bound),
        _ => return None,
    };
    let leaves = |block: &[Stmt]| matches!(block, [only] if matches!(only.kind, StmtKind::Break | StmtKind::Return));
    match op {
        BinaryOp::Ge if leaves(then) && otherwise.is_empty() => {
            Some((bound.clone(), rest.to_vec()))
        }
        BinaryOp::Lt if rest.is_empty() && (otherwise.is_empty() || leaves(otherwise)) => {
            Some((bound.clone(), then.clone()))
        }
        _ => None,
    }
}

fn mirrored(op: BinaryOp) -> Option<BinaryOp> {
    match op {
        BinaryOp::Le => Some(BinaryOp::Ge),
        BinaryOp::Gt => Some(BinaryOp::Lt),
        _ => None,
    }
}

/// The first statement that is not work on data, and what follows it.
fn behind_work(body: &[Stmt]) -> Option<(&Stmt, &[Stmt])> {
    let work = |stmt: &&Stmt| {
        let StmtKind::Access { work, .. } = &stmt.kind else {
            return false;
        };
        matches!(work, Work::Now(touched) | Work::Async(touched) if touched.is_empty())
            || matches!(work, Work::Fence(_))
    };
    let before = body.iter().take_while(work).count();
    body.get(before..)?.split_first()
}

/// Whether a program depends on the number alone.
fn follows(role: &Role, body: &[Stmt], number: VarId) -> bool {
    let mut indices = role.indices.iter();
    !indices.any(|index| says(body, index.var))
        && !break_elimination::changed(body).contains(&number)
}

/// Whether a variable that a block changes is assigned before it is read, by a statement of the block itself.
fn declared(body: &[Stmt], var: VarId) -> bool {
    let first = body
        .iter()
        .find(|stmt| says(std::slice::from_ref(stmt), var));
    first.is_some_and(|stmt| match &stmt.kind {
        StmtKind::Assign { var: other, value } => *other == var && !algebra::mentions(value, var),
        _ => false,
    })
}

/// How many members a role has.
fn members(protocol: &Protocol, role: &Role) -> Option<Expr> {
    let mut extents = role.indices.iter().map(|index| &index.extent);
    let at_least_0 = |e: &Expr| never_negative(protocol, e);
    match &role.indices[..] {
        [only] => Some(only.extent.clone()),
        _ if extents.clone().all(at_least_0) => extents.try_fold(Expr::Int(1), |all, extent| {
            Some(algebra::mul(all, extent.clone()))
        }),
        _ => None,
    }
}

fn ascending() -> LaunchOrder {
    LaunchOrder::Sorted(vec![LaunchKey {
        index: 0,
        descending: false,
    }])
}

fn over_parameters(expr: &Expr) -> bool {
    let mut names = std::collections::HashSet::new();
    free_vars(expr, &mut names);
    names.is_empty() && !matches!(expr, Expr::Visits(..) | Expr::Count { .. })
}

/// Whether a role does everything to declared data at once, within extents in the sense of [`bounds_check`].
fn plain(protocol: &Protocol, role: &Role) -> bool {
    at_once(&role.body) && bounds_check::unproved_access(protocol, role).is_none()
}

fn at_once(body: &[Stmt]) -> bool {
    body.iter().all(|stmt| match &stmt.kind {
        StmtKind::If {
            then, otherwise, ..
        } => at_once(then) && at_once(otherwise),
        StmtKind::For { body, .. } => at_once(body),
        StmtKind::Copy { touches, .. } => touches.is_empty(),
        StmtKind::Access { work, .. } => match work {
            Work::Now(_) | Work::Fence(_) | Work::Assert(_) => true,
            Work::Async(touched) => touched.is_empty(),
            Work::CommitGroup | Work::WaitGroup { .. } | Work::Lifetime { .. } => false,
        },
        _ => true,
    })
}
