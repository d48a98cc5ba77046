//! Checks that an edited protocol still does the work of the original.
//!
//! A protocol in which no member waits for another cannot hang. So an edit must not simply remove the
//! synchronization. It has to preserve three things, at every small input:
//!
//! 1. Each member performs each wait, copy, read and write at least as often as in some run of the original. Only a
//!    wait that never passes in the original may be removed, because nothing after it was reached.
//! 2. If a member can block at a wait in the original, it still can. Otherwise the waits of a role at an object might
//!    all pass at once, and the object would not synchronize the role. Even a correct producer blocks only if its
//!    ring is full. So if a member does not block at small inputs, larger inputs are looked at.
//! 3. No more statements are unreachable than before.
//!
//! Control flow depends on the input alone. So the unfolded programs of the edited protocol say what it does, once it
//! is proved that they finish. The original may hang, so runs of it are tried. In each run, one chosen member is
//! scheduled whenever it can step. If a role uses results of atomic operations, the path through its program that
//! does most counts for the edited protocol.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::protocol::Cell;
use crate::protocol::Expr;
use crate::protocol::Initial;
use crate::protocol::Object;
use crate::protocol::ObjectId;
use crate::protocol::ObjectKind;
use crate::protocol::Protocol;
use crate::protocol::Stmt;
use crate::protocol::StmtId;
use crate::protocol::StmtKind;
use crate::protocol::Work as DataWork;
use crate::semantics::input::Input;
use crate::semantics::inputs::Bounds;
use crate::semantics::inputs::Inputs;
use crate::semantics::instance::Instance;
use crate::semantics::instance::Op;
use crate::semantics::instance::OpKind;
use crate::semantics::step;
use crate::semantics::step::Action;
use crate::semantics::step::NOT_STARTED;
use crate::semantics::unfold;
use crate::semantics::unfold::Limits;

/// Inputs looked at per parameter values.
const INPUTS: usize = 24;

/// How large an instance may be.
const LARGEST: Limits = Limits {
    ops: 2_000,
    members: 32,
    cells: 500,
    work: 100_000,
};

/// The same for inputs.
const BOUNDS: Bounds = Bounds {
    max_initial: 1,
    limits: LARGEST,
};

/// The distances of the larger values from the least values.
const FAR: [i64; 3] = [4, 7, 12];

/// The most steps of a run.
const STEPS: usize = 4_000;

/// How often a member waits at an object (true), or does something else there (false).
type Done = BTreeMap<(ObjectId, bool), usize>;

/// What a protocol does at small inputs.
pub(super) struct Work {
    /// Per input and member: what it does in some run.
    done: Vec<(Input, Vec<Done>)>,
    /// The roles, and the objects at which their members can block.
    can_wait: BTreeSet<(usize, usize)>,
    /// The number of statements that no member reaches.
    unreached: usize,
    /// Larger parameter values, at which only blocking is compared.
    larger: Vec<Vec<i64>>,
}

/// The operations of members at small inputs, in order, and the initial values. Memory ordering is not included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Behaviour(Vec<Option<Instance>>);

/// How far a repair goes beyond what is wrong; less is better. First it counts whether anything changes at an input
/// at which the original finishes. Then it counts whether some member has less to do than its program in the original
/// says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Reach {
    changes: bool,
    spares: bool,
}

impl Work {
    /// What the original does at these parameter values, as far as runs show it.
    pub(super) fn of(protocol: &Protocol, points: &[Vec<i64>]) -> Work {
        let visible = visible(protocol);
        let far = |steps: i64| {
            let params = protocol.params.iter();
            params
                .map(|param| (0..=steps).rev().find_map(|at| param.domain.value(at)))
                .collect()
        };
        let mut work = Work {
            larger: FAR.into_iter().filter_map(far).collect(),
            done: Vec::new(),
            can_wait: BTreeSet::new(),
            unreached: 0,
        };
        let mut reached = BTreeSet::new();
        for params in points {
            let Ok(inputs) = Inputs::new(&visible, params, &BOUNDS) else {
                continue;
            };
            for (input, instance) in inputs.take(INPUTS).filter_map(Result::ok) {
                reached.extend(statements(&instance));
                let mut done = vec![Done::new(); instance.members.len()];
                for member in 0..instance.members.len().max(1) {
                    let all = run(&instance, member, &mut work.can_wait);
                    for (best, done) in done.iter_mut().zip(all) {
                        most(best, done);
                    }
                }
                work.done.push((input, done));
            }
        }
        work.unreached = synchronizing(protocol).difference(&reached).count();
        work
    }

    /// What an edited protocol does at the same inputs. Two edits with equal behaviour are one repair.
    pub(super) fn behaviour(&self, edited: &Protocol) -> Behaviour {
        let visible = visible(edited);
        let inputs = self.done.iter();
        let instances = inputs.map(|(input, _)| {
            let (mut instance, _) = unfold::instantiate_with(&visible, input, &LARGEST).ok()?;
            // The positions in the text do not matter.
            instance.spans.clear();
            let ops = instance.members.iter_mut().flat_map(|m| &mut m.ops);
            ops.for_each(|op| op.stmt = StmtId(0));
            Some(instance)
        });
        Behaviour(instances.collect())
    }

    /// How far an edited protocol goes beyond what is wrong with the original.
    pub(super) fn reach(&self, original: &Behaviour, edited: &Behaviour) -> Reach {
        let mut reach = Reach {
            spares: false,
            changes: false,
        };
        let pairs = original.0.iter().zip(&edited.0).zip(&self.done);
        for ((before, after), (_, done)) in pairs {
            let (Some(before), Some(after)) = (before, after) else {
                continue;
            };
            let mut finishes = true;
            for (member, done) in done.iter().enumerate() {
                let all = counted(before, member);
                let now = counted(after, member);
                let fewer = |(what, times): (&(ObjectId, bool), &usize)| {
                    now.get(what).is_none_or(|now| now < times)
                };
                reach.spares |= all.iter().any(fewer);
                finishes &= all == *done;
            }
            reach.changes |= finishes && before != after;
        }
        reach
    }

    /// Whether an edited protocol does less than the original. The edited protocol is assumed to finish.
    pub(super) fn does_less(&self, edited: &Protocol) -> bool {
        let visible = visible(edited);
        let mut reached = BTreeSet::new();
        let mut can_wait = BTreeSet::new();
        for (input, wanted) in &self.done {
            let Ok((instance, _)) = unfold::instantiate_with(&visible, input, &LARGEST) else {
                continue;
            };
            if instance.members.len() != wanted.len() {
                return true;
            }
            reached.extend(statements(&instance));
            for (member, wanted) in wanted.iter().enumerate() {
                let all = counted(&instance, member);
                let enough = |what| all.get(what).copied().unwrap_or_default();
                if wanted.iter().any(|(what, times)| enough(what) < *times) {
                    return true;
                }
                run(&instance, member, &mut can_wait);
            }
        }
        for params in &self.larger {
            if self.can_wait.is_subset(&can_wait) {
                break;
            }
            let Ok(mut inputs) = Inputs::new(&visible, params, &BOUNDS) else {
                continue;
            };
            if let Some(Ok((_, instance))) = inputs.next() {
                for member in 0..instance.members.len() {
                    run(&instance, member, &mut can_wait);
                }
            }
        }
        if !self.can_wait.is_subset(&can_wait) {
            return true;
        }
        let unreached = synchronizing(edited).difference(&reached).count();
        unreached > self.unreached
    }
}

/// How often a member does each kind of work, on the path through its program that does it most often.
fn counted(instance: &Instance, member: usize) -> Done {
    let member = &instance.members[member];
    let mut behind = vec![Done::new(); member.ops.len() + 1];
    // Every successor is a later place.
    for (place, op) in member.ops.iter().enumerate().rev() {
        let mut done = Done::new();
        let ways: BTreeSet<u32> = member.ways(place as u32).collect();
        for next in ways {
            most(&mut done, behind[next as usize].clone());
        }
        count(instance, op, &mut done);
        behind[place] = done;
    }
    behind.swap_remove(0)
}

/// Counts an operation if it is work.
fn count(instance: &Instance, op: &Op, done: &mut Done) {
    let waits = waits(op.kind);
    if (waits || matches!(op.kind, OpKind::Copy(_) | OpKind::Add(0)))
        && let Some((object, _)) = instance.cell_place(op.cell)
    {
        *done.entry((object, waits)).or_default() += 1;
    }
}

/// Takes the greater of two counts for each kind of work.
fn most(best: &mut Done, other: Done) {
    for (what, times) in other {
        let best = best.entry(what).or_default();
        *best = times.max(*best);
    }
}

fn waits(kind: OpKind) -> bool {
    matches!(
        kind,
        OpKind::Wait(..)
            | OpKind::WaitParity(_)
            | OpKind::Sync(_)
            | OpKind::BarrierWait
            | OpKind::Acquire(_)
            | OpKind::WaitSwap { .. }
    )
}

/// Makes a run in which this member acts whenever it can; otherwise the member that has done least acts. Notes which
/// roles have to wait at which objects. Returns what each member has done.
fn run(instance: &Instance, first: usize, waiting: &mut BTreeSet<(usize, usize)>) -> Vec<Done> {
    let mut state = step::initial(instance);
    let mut all = vec![Done::new(); instance.members.len()];
    for _ in 0..STEPS {
        for member in 0..instance.members.len() {
            let blocked = |op: &&Op| waits(op.kind) && !step::can_step(instance, &state, member);
            if let Some(op) = step::next_op(instance, &state, member).filter(blocked)
                && let Some((object, _)) = instance.cell_place(op.cell)
            {
                waiting.insert((instance.members[member].role, object.0));
            }
        }
        let enabled = step::enabled(instance, &state);
        let rank = |action: &&Action| {
            let member = action.member();
            let done = state.counters.get(member).copied().unwrap_or(NOT_STARTED);
            (member != first, done)
        };
        let Some(action) = enabled.iter().min_by_key(rank) else {
            break;
        };
        let before = state.counters.clone();
        if step::apply(instance, &mut state, *action).is_err() {
            break;
        }
        // A member that completes a barrier moves other members on, too.
        for (member, done) in all.iter_mut().enumerate() {
            let place = before[member];
            if place != state.counters[member]
                && let Some(op) = instance.members[member].ops.get(place as usize)
            {
                count(instance, op, done);
            }
        }
    }
    all
}

fn statements(instance: &Instance) -> BTreeSet<StmtId> {
    let ops = instance.members.iter().flat_map(|member| &member.ops);
    ops.map(|op| op.stmt).collect()
}

/// The statements that become operations if they are reached.
fn synchronizing(protocol: &Protocol) -> BTreeSet<StmtId> {
    let mut all = BTreeSet::new();
    let mut open: Vec<&Stmt> = protocol.roles.iter().flat_map(|r| &r.body).collect();
    while let Some(stmt) = open.pop() {
        match &stmt.kind {
            StmtKind::If {
                then, otherwise, ..
            } => open.extend(then.iter().chain(otherwise)),
            StmtKind::For { body, .. } => open.extend(body),
            StmtKind::Access { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Return
            | StmtKind::Break => {}
            _ => {
                all.insert(stmt.id);
            }
        }
    }
    all
}

/// The same protocol, in which accesses to data are operations without an effect: additions of 0 to one object for
/// each kind of access.
fn visible(protocol: &Protocol) -> Protocol {
    let mut visible = protocol.clone();
    let mut names: BTreeMap<String, ObjectId> = BTreeMap::new();
    let mut roles = std::mem::take(&mut visible.roles);
    for role in &mut roles {
        show(&mut role.body, &mut visible.objects, &mut names);
    }
    visible.roles = roles;
    visible
}

fn show(body: &mut [Stmt], objects: &mut Vec<Object>, names: &mut BTreeMap<String, ObjectId>) {
    for stmt in body {
        match &mut stmt.kind {
            StmtKind::If {
                then, otherwise, ..
            } => {
                show(then, objects, names);
                show(otherwise, objects, names);
            }
            StmtKind::For { body, .. } => show(body, objects, names),
            StmtKind::Access { verb, target, work } => {
                let counts = matches!(
                    work,
                    DataWork::Now(_) | DataWork::Async(_) | DataWork::Assert(_)
                );
                if !counts {
                    continue;
                }
                let target = target.split('[').next().unwrap_or_default();
                let name = format!("{verb} {target}");
                let object = *names.entry(name.clone()).or_insert_with(|| {
                    objects.push(Object {
                        name,
                        extents: Vec::new(),
                        kind: ObjectKind::Semaphore(Initial::Value(Expr::Int(0))),
                        home: None,
                        span: stmt.span,
                    });
                    ObjectId(objects.len() - 1)
                });
                stmt.kind = StmtKind::Add {
                    cell: Cell {
                        object,
                        index: Vec::new(),
                    },
                    amount: Expr::Int(0),
                };
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    /// Whether an edit does less at the only input of a protocol without parameters.
    fn does_less(text: &str, old: &str, new: &str) -> bool {
        let edited = text.replacen(old, new, 1);
        assert_ne!(edited, text);
        let load = |text: &str| text::load(text.as_bytes()).expect("a protocol");
        let work = Work::of(&load(text), &[Vec::new()]);
        work.does_less(&load(&edited))
    }

    #[test]
    fn a_wait_for_a_lock_has_to_stay() {
        let text = "protocol p semaphore lock = 0
            role r[n in 0..2] { wait compare_and_swap(lock, 0, 1) write d lock = 0 }";
        assert!(does_less(text, "wait compare_and_swap(lock, 0, 1)", ""));
        assert!(
            does_less(text, "(lock, 0, 1)", "(lock, 0, 0)"),
            "nobody blocks"
        );
        assert!(!does_less(text, "lock = 0 }", "lock = 0 lock = 0 }"));
    }

    #[test]
    fn of_a_role_that_goes_on_with_a_result_the_way_that_does_most_counts() {
        let text = "protocol p semaphore c = 0 semaphore ready = 0
            role r[n in 0..2] {
                let t = fetch_add(c, 1)
                if t == 2 { ready += 1 } else { if t == 0 { read a } else { read b read b } }
            }
            role q { wait ready == 1 }";
        assert!(
            !does_less(text, "t == 2", "t == 1"),
            "the other reads are those of one run"
        );
        assert!(does_less(text, "read b read b", "read b"));
        assert!(does_less(text, "read a", ""));
        assert!(!does_less(text, "read a", "read a read b"));
        assert!(does_less(text, "wait ready == 1", ""));
    }

    /// The producer of a ring of four blocks only when it is full.
    #[test]
    fn a_wait_may_block_at_larger_values_only() {
        let text = "protocol p param N in 0..
            mbarrier full[4] { arrivals: 1 } mbarrier empty[4] { arrivals: 1 }
            role load { for i in 0..N { wait empty[i % 4] i / 4 % 2 arrive full[i % 4] } }
            role math { for i in 0..N { wait full[i % 4] i / 4 % 2 arrive empty[i % 4] } }";
        let load = |text: &str| text::load(text.as_bytes()).expect("a protocol");
        let work = Work::of(&load(text), &[vec![0], vec![1], vec![2]]);
        let edited = text.replacen("i / 4 % 2", "(i / 4 + 1) % 2", 1);
        assert!(!work.does_less(&load(&edited)));
        let edited = text.replacen("wait empty[i % 4] i / 4 % 2", "", 1);
        assert!(work.does_less(&load(&edited)));
    }
}
