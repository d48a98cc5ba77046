//! Numbers that members draw from a counter, as indices.
//!
//! # One number each
//!
//! ```text
//! grid cta[n in 0..N] launch any { let t = fetch_add(c, 1)  B }
//! ```
//!
//! Let the counter `c` begin at 0 and stand nowhere else, and let `B` not mention `n`. Then all members run the same program up to
//! the number that they draw, and numbers are drawn in ascending order. So the protocol gets stuck only if this one does:
//!
//! ```text
//! grid cta[t in 0..N] launch ascending { B }
//! ```
//!
//! *Why.* Take a state of a run of the first protocol. Who has drawn `t` stands for CTA `t` of the second one, at the same place of
//! `B`. Who has started and not drawn stands for none that has started. A step of `B` is the same step. To draw `t` is to start CTA `t`.
//! All below `t` have started, and there is room: whoever draws is resident itself, and all that have started and not finished in the
//! second protocol are in the first one. So each run becomes a run of the second protocol. At a stuck state of the first one nobody is
//! left who could draw. So the same CTAs are resident in both, and either everybody has started, or there is no room in either. So
//! the second protocol is stuck, too. (Members of a role without a launch have all started. There only the names change.)
//!
//! # One number after the other
//!
//! ```text
//! role worker[w in 0..W] { for j in 0..E { let t = fetch_add(c, 1)  if t >= T { break }  B } }
//! ```
//!
//! Let `E` be at least `T`, and let `B` not mention `w` and `j`, not leave the loop, leave no variable behind, and do what does not depend on who does it. Each number below `T` is
//! drawn once, in ascending order, and its `B` depends on it alone. So it may as well be the program of a CTA of its own:
//!
//! ```text
//! grid worker[t in 0..T] launch ascending resident W { B }
//! ```
//!
//! *Why.* Who is in `B` stands for the CTA of its number, and who is between two numbers for none. As many CTAs have started and not
//! finished as members are in `B`, at most `W`. To draw a number below `T` is to start its CTA. Whoever has finished has drawn a number
//! from `T` on, or `E` numbers below `T`, that is, all of them: so every number below `T` has been drawn. At a stuck state each member has finished or
//! is blocked in `B`. If somebody has finished, all CTAs of the second protocol have started. If nobody has, `W` of them are
//! resident, and there is no room. In a grid that need not fit the same holds of the lesser of `W` and the number of places: a member that
//! has not started waits for a place, and whoever made a place has finished. So the second protocol is stuck, too.
//!
//! # What is refused
//!
//! In front of the operation, nothing but work on data may stand: nobody is held up there. After a result an index of declared data
//! outside its extents is undefined for every property, so it has to be plainly inside. All of this is about deadlock:
//! no other property is proved of such a protocol ([`super::super::argument`]).

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

/// Whether the operations of a block do the same whoever does them, and whatever it did before. At a split-phase barrier a member
/// waits for its own arrival, which may be one of an earlier number, and a commit waits for all that its member has started.
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

/// What follows a number below a bound, where nothing follows any other.
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

/// Whether a variable that a block changes is set by it before it is looked at, in the block itself.
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

/// Whether what a role does to declared data is plainly defined, and done at once.
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
