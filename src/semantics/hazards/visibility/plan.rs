//! The steps on data of each member, in program order.

use rustc_hash::FxHashMap;

use crate::protocol::Fence;
use crate::semantics::data::Access;
use crate::semantics::data::Data;
use crate::semantics::data::Proxy;

/// A step of a member on data, or a fence.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// The member reads; the number is that of its access.
    Read(usize),
    /// The member writes; the number is that of the write, also in the steps for asynchronous writes below.
    Write(usize),
    /// The member starts an asynchronous write.
    Start(usize),
    /// The member knows that an asynchronous write is complete.
    Complete(usize),
    /// The member knows that the work of an asynchronous write has read its source.
    Ordered(usize),
    /// A fence.
    Fence(Fence),
}

/// A step and its place: after how many operations, and its position among the member's steps. Of the steps of one
/// statement, completions and fences come first, then reads, then writes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    pub(super) at: u32,
    order: u32,
    pub(super) what: Step,
}

/// The steps and writes that have to be followed in an instance.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// Per member.
    pub(super) steps: Vec<Vec<Placed>>,
    /// The writes to slots that are read: whose, and which of its accesses.
    pub(super) writes: Vec<(usize, usize)>,
    /// Per write: through which proxy.
    pub(super) proxy: Vec<Proxy>,
    /// Per slot its writes.
    pub(super) slots: FxHashMap<u32, Vec<usize>>,
    /// Per member: its asynchronous writes that land, each with the operation whose landing completes it.
    pub(super) landing: Vec<Vec<(usize, u32)>>,
}

impl Plan {
    pub(super) fn new(data: &Data) -> Plan {
        let mut read: FxHashMap<u32, ()> = FxHashMap::default();
        for access in data.accesses.iter().flatten().filter(|a| !a.write) {
            read.insert(access.slot, ());
        }
        let mut plan = Plan {
            steps: Vec::new(),
            writes: Vec::new(),
            proxy: Vec::new(),
            slots: FxHashMap::default(),
            landing: Vec::new(),
        };
        for (member, accesses) in data.accesses.iter().enumerate() {
            let mut steps = Vec::new();
            plan.landing.push(Vec::new());
            for (place, access) in accesses.iter().enumerate() {
                if read.contains_key(&access.slot) {
                    plan.access(&mut steps, member, place, access);
                }
            }
            steps.extend(data.fences[member].iter().map(|fence| Placed {
                at: fence.at,
                order: fence.order,
                what: Step::Fence(fence.fence),
            }));
            let rank = |step: &Placed| match step.what {
                Step::Complete(_) | Step::Ordered(_) | Step::Fence(_) => 0,
                Step::Read(_) => 1,
                Step::Write(_) | Step::Start(_) => 2,
            };
            steps.sort_by_key(|step| (step.order, rank(step)));
            plan.steps.push(steps);
        }
        plan
    }

    fn access(&mut self, steps: &mut Vec<Placed>, member: usize, place: usize, access: &Access) {
        let mut step = |(at, order), what| steps.push(Placed { at, order, what });
        let here = (access.at, access.order);
        if !access.write {
            step(here, Step::Read(place));
            return;
        }
        let number = self.writes.len();
        self.writes.push((member, place));
        self.proxy.push(access.proxy);
        self.slots.entry(access.slot).or_default().push(number);
        let Some(work) = access.work else {
            step(here, Step::Write(number));
            return;
        };
        step(here, Step::Start(number));
        if let Some(at) = work.read_waited {
            step(at, Step::Ordered(number));
        }
        if let Some(at) = work.waited {
            step(at, Step::Complete(number));
        }
        if let Some(op) = work.landing {
            self.landing[member].push((number, op));
        }
    }
}
