//! Follows a run and computes what each member sees: which writes are ordered before its next step, and which of them
//! are visible to it. The rules are those of causality order in PTX.
//!
//! A write is *ordered* before a point of a member if a path leads from the write to this point. A path goes through
//! the programs of members and along edges. An edge leads from an operation on an object to a later operation that
//! waited for it, whatever the kind of synchronization. The member *sees* the write if each edge of some such path
//! also orders memory.
//!
//! - An edge from a release to an acquire orders memory if the scope of each contains the member of the other. It
//!   passes on everything that the releasing member sees, regardless of how that member came to see it.
//! - Additions, arrivals and landings are read-modify-write operations. So a wait synchronizes with every earlier
//!   release on its object, back to the last time the object was set.
//! - A relaxed operation after a releasing fence is a release of what its member saw at the fence. A relaxed wait
//!   before an acquiring fence is an acquire at the fence. In both cases the narrower of the two scopes counts.
//! - Members that meet at a named or split-phase barrier are in its scope, whatever the scope is. A pool orders
//!   operations but makes nothing visible. The same holds for the end of a CTA whose place another CTA takes.
//! - A write through the async proxy is seen once it is complete. It is seen by the members that wait for the
//!   mbarrier on which it lands, or for its group. A `wait_group` with `read` orders the writes of its group and
//!   makes none of them visible.
//! - A write through the generic proxy is seen through the async proxy only if a `fence.proxy.async` stands on the
//!   way: after the write and before the asynchronous work.
//!
//! **Stale.** A read is stale if some write to its slot is ordered before the read and the read does not see it.
//! There is one exception: another write to the slot is ordered between the two. Members do their steps on data
//! directly after the operations before these steps. This loses no stale read, because the view of a member does not
//! change between an operation and the steps after it.

mod bits;
mod lost;
mod plan;
mod views;

use std::collections::BTreeMap;

use crate::protocol::Fence;
use crate::protocol::MemoryOrder;
use crate::protocol::Scope;
use crate::semantics::data::Data;
use crate::semantics::data::Proxy;
use crate::semantics::instance::CellStart;
use crate::semantics::instance::Fetch;
use crate::semantics::instance::Instance;
use crate::semantics::instance::OpKind;
use crate::semantics::step::Action;
use crate::semantics::step::CellState;
use crate::semantics::step::Delivery;
use crate::semantics::step::NOT_STARTED;
use crate::semantics::step::State;

use super::Hazard;

use bits::Bits;
use plan::Plan;
use plan::Step;
use views::ReleasedViews;
use views::View;

pub use lost::Lost;

/// Follows runs of one instance and says which reads are stale.
#[derive(Debug, Clone)]
pub struct Visibility<'i> {
    instance: &'i Instance,
    data: &'i Data,
    plan: Plan,
}

/// What every member knows about writes at the end of a run.
#[derive(Debug, Clone)]
pub struct Knowledge {
    members: Vec<Member>,
    cells: Vec<ReleasedViews>,
    /// The view that a copy or commit in flight will release when it lands, by its member and operation.
    in_flight: BTreeMap<(usize, u32), View>,
    /// The views that completed generations of split-phase barriers have released, for the members that have yet to
    /// wait.
    gates: BTreeMap<(usize, usize), ReleasedViews>,
    /// Per write that has happened: the writes ordered before it.
    before: Vec<Option<Bits>>,
    /// Where the knowledge of an ordered write was lost, if that is looked for.
    lost: Option<Vec<Lost>>,
}

#[derive(Debug, Clone)]
struct Member {
    /// How many of its steps on data it has done.
    done: usize,
    view: View,
    /// Per scope: its view at its last releasing fence of at least this scope.
    fenced: [Option<View>; 4],
    /// The views that relaxed waits have found. A later fence acquires them.
    pending: ReleasedViews,
}

/// The order and scope of a member's operation: as the text says, and otherwise the defaults of PTX.
pub fn effective(
    instance: &Instance,
    data: &Data,
    (member, op): (usize, u32),
) -> (MemoryOrder, Scope) {
    let written = data.qualifiers[member].get(op as usize).copied();
    let written = written.unwrap_or_default();
    let Some(op) = instance.members[member].ops.get(op as usize) else {
        return (MemoryOrder::Relaxed, Scope::Cta);
    };
    let order = match op.kind {
        OpKind::Wait(..)
        | OpKind::WaitSwap { .. }
        | OpKind::WaitParity(_)
        | OpKind::BarrierWait => MemoryOrder::Acquire,
        OpKind::Sync(_) | OpKind::Fetch(_) => MemoryOrder::AcquireRelease,
        OpKind::Add(_)
        | OpKind::Set(_)
        | OpKind::Arrive(_)
        | OpKind::BarrierArrive
        | OpKind::BarArrive(_)
        | OpKind::Commit
        | OpKind::Copy(_) => MemoryOrder::Release,
        OpKind::ExpectTx(_)
        | OpKind::CompleteTx(_)
        | OpKind::Init
        | OpKind::NotDefined
        | OpKind::Touch(_)
        | OpKind::Acquire(_)
        | OpKind::Release(_) => MemoryOrder::Relaxed,
    };
    let scope = match (op.kind, instance.cells[op.cell.0 as usize]) {
        (OpKind::Copy(_) | OpKind::Commit, _) => Scope::Cluster,
        (_, CellStart::Semaphore(_)) => Scope::Gpu,
        (_, CellStart::Mbarrier(_) | CellStart::Uninitialized(_)) => Scope::Cta,
        (_, CellStart::Named | CellStart::Barrier(_) | CellStart::Pool(_)) => Scope::Sys,
    };
    (
        written.order.unwrap_or(order),
        written.scope.unwrap_or(scope),
    )
}

impl<'i> Visibility<'i> {
    /// Follows runs of an instance with this data.
    pub fn new(instance: &'i Instance, data: &'i Data) -> Visibility<'i> {
        Visibility {
            instance,
            data,
            plan: Plan::new(data),
        }
    }

    /// Whether no read can be stale, because no slot is both read and written.
    pub fn is_trivial(&self) -> bool {
        self.plan.writes.is_empty()
    }

    /// The cost of following an action, in words of memory.
    pub fn cost(&self) -> u64 {
        (self.plan.writes.len() / 64 + 1) as u64
    }

    /// About how many bytes the knowledge takes in one state. There are two sets of writes per member, and one per
    /// write.
    pub fn weight(&self) -> usize {
        let writes = self.plan.writes.len();
        let set = writes / 8 + 32;
        set * (2 * self.instance.members.len() + writes)
    }

    /// The knowledge before anything has happened, and a read that is stale already. If `explain` is set, the places
    /// where knowledge is lost are recorded.
    pub fn start(&self, state: &State, explain: bool) -> (Knowledge, Option<Hazard>) {
        let nothing = View::new(self.plan.writes.len());
        let member = Member {
            done: 0,
            view: nothing,
            fenced: [None, None, None, None],
            pending: ReleasedViews::default(),
        };
        let mut known = Knowledge {
            members: vec![member; self.instance.members.len()],
            cells: vec![ReleasedViews::default(); self.instance.cells.len()],
            in_flight: BTreeMap::new(),
            gates: BTreeMap::new(),
            before: vec![None; self.plan.writes.len()],
            lost: explain.then(Vec::new),
        };
        let shown = self.go_on(&mut known, state);
        (known, shown)
    }

    /// Follows an action that leads from one state to another; both keep history. The result is a stale read that the
    /// action leads to, if there is one.
    pub fn follow(
        &self,
        known: &mut Knowledge,
        before: &State,
        action: Action,
        after: &State,
    ) -> Option<Hazard> {
        match action {
            Action::Launch(member) => self.launch(known, before, member),
            Action::Step(member) => self.step(known, before, member, after),
            Action::Land(member, position) => self.land(known, before, member, position),
        }
        self.go_on(known, after)
    }

    /// Starts a member. If it takes the place of a finished member, it is ordered after all members of its role that
    /// have finished.
    fn launch(&self, known: &mut Knowledge, before: &State, member: usize) {
        let role = self.instance.members[member].role;
        let layout = &self.instance.roles[role];
        let places = layout.launch.as_ref().and_then(|plan| plan.resident);
        if places.is_some_and(|places| before.started[role] >= places) {
            for other in layout.members.clone() {
                let ops = self.instance.members[other].ops.len() as u32;
                if other != member && before.counters[other] == ops {
                    let ordered = known.members[other].view.ordered.clone();
                    known.members[member].view.ordered.add_all(&ordered);
                }
            }
        }
    }

    fn step(&self, known: &mut Knowledge, before: &State, member: usize, after: &State) {
        let counter = before.counters[member];
        let Some(op) = self.instance.members[member].ops.get(counter as usize) else {
            return;
        };
        let cell = op.cell.0 as usize;
        let completed = after.history[cell] > before.history[cell];
        let at = (member, counter);
        let (order, scope) = effective(self.instance, self.data, at);
        match op.kind {
            OpKind::Wait(..) | OpKind::WaitParity(_) => {
                let released = known.cells[cell].clone();
                self.acquire(known, at, &released, order, scope);
            }
            OpKind::Add(_) => {
                if order.acquires() {
                    let released = known.cells[cell].clone();
                    self.acquire(known, at, &released, order, scope);
                }
                self.release(known, at, cell, order, scope);
            }
            // An operation that reads and changes the value in one step continues the release sequence that it reads.
            OpKind::Fetch(_) | OpKind::WaitSwap { .. } => {
                let released = known.cells[cell].clone();
                self.acquire(known, at, &released, order, scope);
                let fails = match (op.kind, &before.cells[cell]) {
                    (OpKind::Fetch(Fetch::Swap { expected, .. }), CellState::Semaphore(value)) => {
                        *value != expected
                    }
                    _ => false,
                };
                if !fails {
                    self.release(known, at, cell, order, scope);
                }
            }
            OpKind::NotDefined | OpKind::Touch(_) => {}
            OpKind::Set(_) => {
                known.cells[cell] = ReleasedViews::default();
                self.release(known, at, cell, order, scope);
            }
            OpKind::Arrive(_) | OpKind::ExpectTx(_) | OpKind::CompleteTx(_) => {
                self.release(known, at, cell, order, scope);
            }
            OpKind::Copy(_) => {
                let mut view = View::new(self.plan.writes.len());
                view.ordered.add_all(&known.members[member].view.ordered);
                known.in_flight.insert(at, view);
            }
            OpKind::Commit => {
                let view = known.members[member].view.clone();
                known.in_flight.insert(at, view);
            }
            OpKind::Init | OpKind::Acquire(_) | OpKind::Release(_) => {
                if let OpKind::Acquire(_) = op.kind {
                    let released = known.cells[cell].clone();
                    known.members[member]
                        .view
                        .ordered
                        .add_all(released.ordered());
                } else {
                    let ordered = known.members[member].view.ordered.clone();
                    known.cells[cell].order(&ordered);
                }
            }
            OpKind::BarrierArrive => {
                self.release(known, at, cell, order, scope);
                if completed {
                    self.open_gates(known, before, member, cell);
                }
            }
            OpKind::BarrierWait => {
                if let Some(released) = known.gates.remove(&(member, cell)) {
                    self.acquire(known, at, &released, MemoryOrder::Acquire, scope);
                }
            }
            OpKind::Sync(_) | OpKind::BarArrive(_) => {
                self.release(known, at, cell, MemoryOrder::Release, scope);
                if completed {
                    let released = std::mem::take(&mut known.cells[cell]);
                    for other in 0..before.counters.len() {
                        let counter = before.counters[other];
                        let ops = &self.instance.members[other].ops;
                        let syncs = ops.get(counter as usize).is_some_and(|op| {
                            op.cell.0 as usize == cell && matches!(op.kind, OpKind::Sync(_))
                        });
                        if syncs && after.counters[other] != counter {
                            let at = (other, counter);
                            self.acquire(known, at, &released, MemoryOrder::Acquire, scope);
                        }
                    }
                }
            }
        }
    }

    /// Completes a generation of a split-phase barrier. `last` is the last member to arrive.
    fn open_gates(&self, known: &mut Knowledge, before: &State, last: usize, cell: usize) {
        let released = std::mem::take(&mut known.cells[cell]);
        if let CellState::Barrier { arrived, .. } = &before.cells[cell] {
            for member in arrived.iter().map(|m| *m as usize).chain([last]) {
                known.gates.insert((member, cell), released.clone());
            }
        }
    }

    fn land(&self, known: &mut Knowledge, before: &State, member: usize, position: usize) {
        let Some(landing) = crate::semantics::step::in_flight(before, member, position) else {
            return;
        };
        let Some(mut view) = known.in_flight.remove(&(member, landing.op)) else {
            return;
        };
        let mut written = View::new(self.plan.writes.len());
        for (write, ends) in &self.plan.landing[member] {
            let lands = match landing.delivery {
                Delivery::Bytes(_) => *ends == landing.op,
                Delivery::Arrival => *ends <= landing.op,
            };
            if lands {
                view.complete(*write, self.plan.proxy[*write]);
                written.complete(*write, self.plan.proxy[*write]);
            }
        }
        let cell = landing.cell.0 as usize;
        known.note_sender(cell, (member, landing.op), &view);
        known.cells[cell].order(&view.ordered);
        known.cells[cell].tell(member, Scope::Cluster, &view);
        known.cells[cell].land(member, &written);
    }

    /// Releases what the operation's member sees to the object of the operation.
    fn release(
        &self,
        known: &mut Knowledge,
        (member, op): (usize, u32),
        cell: usize,
        order: MemoryOrder,
        scope: Scope,
    ) {
        let view = known.members[member].view.clone();
        known.note_sender(cell, (member, op), &view);
        known.cells[cell].order(&view.ordered);
        if order.releases() {
            known.cells[cell].tell(member, scope, &view);
            return;
        }
        for narrower in Scope::ALL.into_iter().filter(|s| *s <= scope) {
            if let Some(view) = known.members[member].fenced[narrower as usize].clone() {
                known.cells[cell].tell(member, narrower, &view);
            }
        }
    }

    /// Lets a member acquire the views that have been released to an object.
    fn acquire(
        &self,
        known: &mut Knowledge,
        (member, op): (usize, u32),
        released: &ReleasedViews,
        order: MemoryOrder,
        scope: Scope,
    ) {
        let places = &self.data.places;
        let heard = released.heard(|sender, sent| {
            places[sender].reaches(sent, &places[member])
                && places[member].reaches(scope, &places[sender])
        });
        // Only the members of a CTA wait on its mbarriers. So everything that has landed there is in the scope of the
        // wait.
        let landed =
            released.landed(|starter| places[starter].reaches(Scope::Cluster, &places[member]));
        let own = &mut known.members[member];
        let news = own.view.ordered.missing(released.ordered());
        own.view.ordered.add_all(released.ordered());
        if order.acquires() {
            for view in heard
                .iter()
                .map(|(_, _, t)| t)
                .chain(landed.iter().map(|(_, t)| t))
            {
                own.view.see(view);
            }
        } else {
            for (starter, view) in landed {
                own.pending.land(starter, view);
            }
            for (sender, sent, view) in heard {
                own.pending.tell(sender, sent.min(scope), view);
            }
        }
        known.note_lost((member, op), released, news);
    }

    /// Lets every member do the steps on data that it has come to.
    fn go_on(&self, known: &mut Knowledge, state: &State) -> Option<Hazard> {
        let mut shown = None;
        for member in 0..self.instance.members.len() {
            let counter = state.counters[member];
            while counter != NOT_STARTED
                && let Some(step) = self.plan.steps[member].get(known.members[member].done)
                && step.at <= counter
            {
                known.members[member].done += 1;
                let stale = self.data_step(known, member, &step.what);
                shown = shown.or(stale);
            }
        }
        shown
    }

    fn data_step(&self, known: &mut Knowledge, member: usize, step: &Step) -> Option<Hazard> {
        let view = &mut known.members[member].view;
        match step {
            Step::Read(place) => return self.stale(known, member, *place),
            Step::Write(write) => {
                known.before[*write] = Some(view.ordered.clone());
                view.ordered.add(*write);
                view.visible.add(*write);
            }
            Step::Start(write) => known.before[*write] = Some(view.ordered.clone()),
            Step::Complete(write) => view.complete(*write, self.plan.proxy[*write]),
            Step::Ordered(write) => view.ordered.add(*write),
            Step::Fence(Fence::ProxyAsync) => view.fence_proxy(),
            Step::Fence(Fence::Threads(order, scope)) => {
                self.fence(known, member, *order, *scope);
            }
        }
        None
    }

    fn fence(&self, known: &mut Knowledge, member: usize, order: MemoryOrder, scope: Scope) {
        let places = &self.data.places;
        let own = &mut known.members[member];
        if order.acquires() {
            let heard = own.pending.heard(|sender, sent| {
                places[member].reaches(sent.min(scope), &places[sender])
                    && places[sender].reaches(sent.min(scope), &places[member])
            });
            let landed = own.pending.landed(|_| true);
            for view in heard
                .iter()
                .map(|(_, _, t)| t)
                .chain(landed.iter().map(|(_, t)| t))
            {
                own.view.see(view);
            }
        }
        if order.releases() {
            for narrower in Scope::ALL.into_iter().filter(|s| *s <= scope) {
                own.fenced[narrower as usize] = Some(own.view.clone());
            }
        }
    }

    /// The first stale write of a read that its member has come to: the write has to be seen and is not.
    fn stale(&self, known: &Knowledge, member: usize, place: usize) -> Option<Hazard> {
        let read = &self.data.accesses[member][place];
        let view = &known.members[member].view;
        let seen = match read.proxy {
            Proxy::Generic => &view.visible,
            Proxy::Async => &view.visible_async,
        };
        let writes = self.plan.slots.get(&read.slot)?;
        let ordered = writes.iter().filter(|write| view.ordered.has(**write));
        let ordered: Vec<usize> = ordered.copied().collect();
        let overwritten = |write: usize| {
            let mut others = ordered.iter().filter(|other| **other != write);
            others.any(|other| known.before[*other].as_ref().is_some_and(|b| b.has(write)))
        };
        let mut stale = ordered.iter().copied();
        let write = stale.find(|write| !seen.has(*write) && !overwritten(*write))?;
        Some(Hazard::Stale {
            write: self.plan.writes[write],
            read: (member, place),
            slot: read.slot,
            proxy: view.visible.has(write),
            lost: known.lost_on_the_way(write, member),
        })
    }
}

impl Knowledge {
    /// Appends everything that later steps depend on.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        for member in &self.members {
            member.view.encode(out);
            for fenced in &member.fenced {
                out.push(u8::from(fenced.is_some()));
                if let Some(view) = fenced {
                    view.encode(out);
                }
            }
            member.pending.encode(out);
        }
        for cell in &self.cells {
            cell.encode(out);
        }
        for ((member, op), view) in &self.in_flight {
            out.extend((*member as u32).to_le_bytes());
            out.extend(op.to_le_bytes());
            view.encode(out);
        }
        for ((member, cell), released) in &self.gates {
            out.extend((*member as u32).to_le_bytes());
            out.extend((*cell as u32).to_le_bytes());
            released.encode(out);
        }
        for before in &self.before {
            out.push(u8::from(before.is_some()));
            if let Some(bits) = before {
                bits.encode(out);
            }
        }
    }
}
