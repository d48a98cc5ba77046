//! One formula for reachable stuck states, without a copy of the state for each step.
//!
//! Every event of the unrolled protocol has a truth value "executed" and an integer time. Every CTA of a grid has a truth value
//! "started" and a start time. It also has an end time if all its events are executed. The formula says that
//!
//! - executed events are closed under program order, have increasing times, and follow the start of their member;
//! - an executed wait passes: the value of its semaphore at the time of the wait is the initial value plus all additions
//!   executed earlier;
//! - CTAs start in launch order, each into a free slot;
//! - nothing can go on: an event whose predecessors are all executed is executed too, unless it is a wait that the final value
//!   blocks; and a CTA that has not started has no free slot;
//! - some member is not finished.
//!
//! A model of the formula is a run to a stuck state. To get a legal schedule, execute the events in the order of their times,
//! and waits before additions at equal times. One query covers all patterns, row orders and parameter values of the box.

use z3::ast::Bool;
use z3::ast::Int;

use super::evaluate::Env;
use super::evaluate::Evaluator;
use super::unroll;
use super::unroll::Event;
use super::unroll::EventKind;
use super::unroll::Unrolled;
use super::value::Num;
use super::value::Truth;
use crate::protocol::Comparison;
use crate::protocol::Initial;
use crate::protocol::LaunchOrder;
use crate::protocol::ObjectKind;
use crate::protocol::Resident;

/// The variables of the formula, in the shape of [`Unrolled::members`].
pub struct Run {
    /// Per member: whether it starts.
    pub started: Vec<Truth>,
    /// Per member: the time at which it starts.
    pub start: Vec<Int>,
    /// Per member and event: whether it is executed.
    pub executed: Vec<Vec<Truth>>,
    /// Per member and event: the time at which it is executed.
    pub time: Vec<Vec<Int>>,
    /// Initial values of semaphores whose memory is not cleared.
    pub initial: Vec<Uncleared>,
    /// The formula.
    pub constraints: Vec<Bool>,
}

/// The initial value of an element whose memory is not cleared, as one wait sees it.
#[derive(Debug, Clone)]
pub struct Uncleared {
    /// Position of the object.
    pub object: usize,
    /// Which element.
    pub index: Vec<Num>,
    /// The value.
    pub value: Int,
    /// Whether the member's program contains the wait.
    pub guard: Truth,
}

/// Builds the formula.
pub fn stuck(evaluator: &mut Evaluator<'_>, unrolled: &Unrolled) -> Run {
    let mut run = Run {
        started: Vec::new(),
        start: Vec::new(),
        executed: Vec::new(),
        time: Vec::new(),
        initial: Vec::new(),
        constraints: Vec::new(),
    };
    for member in &unrolled.members {
        let launched = evaluator.protocol.roles[member.role].launch.is_some();
        let started = if launched {
            let starts = Truth::Term(Bool::fresh_const("started"));
            Truth::all([starts, member.exists.clone()])
        } else {
            member.exists.clone()
        };
        run.started.push(started);
        run.start.push(Int::fresh_const("start"));
        let executed = member.events.iter().map(|event| {
            Truth::all([
                event.guard.clone(),
                Truth::Term(Bool::fresh_const("executed")),
            ])
        });
        run.executed.push(executed.collect());
        run.time.push(
            member
                .events
                .iter()
                .map(|_| Int::fresh_const("time"))
                .collect(),
        );
    }
    let mut stuck = Stuck {
        evaluator,
        unrolled,
        run,
    };
    stuck.program_order();
    stuck.waits();
    stuck.launch();
    stuck.unfinished();
    stuck.run
}

struct Stuck<'a, 'p> {
    evaluator: &'a mut Evaluator<'p>,
    unrolled: &'a Unrolled,
    run: Run,
}

impl Stuck<'_, '_> {
    fn require(&mut self, condition: Truth) {
        match condition {
            Truth::Known(true) => {}
            condition => self.run.constraints.push(condition.term()),
        }
    }

    fn time(&self, member: usize, event: usize) -> Num {
        Num::Term(self.run.time[member][event].clone())
    }

    fn program_order(&mut self) {
        for (m, member) in self.unrolled.members.iter().enumerate() {
            let start = Num::Term(self.run.start[m].clone());
            for f in 0..member.events.len() {
                let after_start =
                    Truth::all([self.run.started[m].clone(), start.less(&self.time(m, f))]);
                self.require(self.run.executed[m][f].implies(&after_start));
                for e in 0..member.events.len() {
                    let before = unroll::precedes(
                        &self.unrolled.orders,
                        &member.events[e],
                        &member.events[f],
                    );
                    if e == f || before.is_never() {
                        continue;
                    }
                    let premise = Truth::all([
                        self.run.executed[m][f].clone(),
                        member.events[e].guard.clone(),
                        before,
                    ]);
                    let earlier = Truth::all([
                        self.run.executed[m][e].clone(),
                        self.time(m, e).less(&self.time(m, f)),
                    ]);
                    self.require(premise.implies(&earlier));
                }
            }
        }
    }

    /// The value of the semaphore of an event. `counts` decides which additions are included.
    fn value(&mut self, at: &Event, counts: &dyn Fn(&Self, usize, usize) -> Truth) -> Num {
        let mut parts = vec![self.initial(at)];
        for (m, member) in self.unrolled.members.iter().enumerate() {
            for (e, event) in member.events.iter().enumerate() {
                let EventKind::Add { amount } = &event.kind else {
                    continue;
                };
                let same = same_element(at, event);
                if same.is_never() {
                    continue;
                }
                let counted =
                    Truth::all([same, self.run.executed[m][e].clone(), counts(self, m, e)]);
                parts.push(counted.choose(amount, &Num::Known(0)));
            }
        }
        Num::sum(parts)
    }

    fn initial(&mut self, at: &Event) -> Num {
        let object = &self.evaluator.protocol.objects[at.object.0];
        let ObjectKind::Semaphore(initial) = &object.kind else {
            return Num::Known(0);
        };
        match initial {
            Initial::Value(value) => self.evaluator.num(value, &Env::new()),
            Initial::Any => self.uncleared(at),
        }
    }

    /// A variable for the initial value of one element. If two elements coincide, their values are equal.
    fn uncleared(&mut self, at: &Event) -> Num {
        let value = Int::fresh_const("initial");
        let here = Num::Term(value.clone());
        self.require(Num::Known(0).at_most(&here));
        let known = self.run.initial.clone();
        for other in known.iter().filter(|other| other.object == at.object.0) {
            let pairs = other.index.iter().zip(&at.index);
            let same = Truth::all(pairs.map(|(a, b)| a.equals(b)));
            self.require(same.implies(&Num::Term(other.value.clone()).equals(&here)));
        }
        self.run.initial.push(Uncleared {
            object: at.object.0,
            index: at.index.clone(),
            value,
            guard: at.guard.clone(),
        });
        here
    }

    fn waits(&mut self) {
        for (m, member) in self.unrolled.members.iter().enumerate() {
            for (w, wait) in member.events.iter().enumerate() {
                let EventKind::Wait {
                    comparison,
                    value: wanted,
                } = &wait.kind
                else {
                    continue;
                };
                let now = self.time(m, w);
                let seen = self.value(wait, &|this, m, e| this.time(m, e).less(&now));
                let passes = passes(*comparison, &seen, wanted);
                self.require(self.run.executed[m][w].implies(&passes));
            }
            for f in 0..member.events.len() {
                let event = &member.events[f];
                let mut ready = vec![
                    self.run.started[m].clone(),
                    event.guard.clone(),
                    self.run.executed[m][f].not(),
                ];
                for e in 0..member.events.len() {
                    let before = unroll::precedes(&self.unrolled.orders, &member.events[e], event);
                    if e != f && !before.is_never() {
                        let needed = Truth::all([before, member.events[e].guard.clone()]);
                        ready.push(needed.implies(&self.run.executed[m][e]));
                    }
                }
                let ready = Truth::all(ready);
                let blocked = match &event.kind {
                    EventKind::Add { .. } => Truth::Known(false),
                    EventKind::Wait {
                        comparison,
                        value: wanted,
                    } => {
                        let last = self.value(event, &|_, _, _| Truth::Known(true));
                        passes(*comparison, &last, wanted).not()
                    }
                };
                self.require(ready.implies(&blocked));
            }
        }
    }

    fn finished(&self, m: usize) -> Truth {
        let events = self.unrolled.members[m]
            .events
            .iter()
            .zip(&self.run.executed[m]);
        Truth::all(
            std::iter::once(self.run.started[m].clone())
                .chain(events.map(|(event, executed)| event.guard.implies(executed))),
        )
    }

    fn launch(&mut self) {
        for (r, role) in self.evaluator.protocol.roles.iter().enumerate() {
            let Some(launch) = &role.launch else { continue };
            let grid: Vec<usize> = (0..self.unrolled.members.len())
                .filter(|m| self.unrolled.members[*m].role == r)
                .collect();
            let limit = match &launch.resident {
                Resident::AtMost(limit) => {
                    let limit = self.evaluator.num(limit, &Env::new());
                    // The interpreter rejects a machine on which no CTA can run.
                    self.require(Num::Known(1).at_most(&limit));
                    Some(limit)
                }
                Resident::All => None,
            };
            let ends: Vec<Num> = grid.iter().map(|m| self.end(*m)).collect();
            let finished: Vec<Truth> = grid.iter().map(|m| self.finished(*m)).collect();
            for b in &grid {
                let start_b = Num::Term(self.run.start[*b].clone());
                let mut occupied = Vec::new();
                for (y, a) in grid.iter().enumerate() {
                    if a == b {
                        continue;
                    }
                    let start_a = Num::Term(self.run.start[*a].clone());
                    let earlier = start_a.less(&start_b);
                    let earlier = match &launch.order {
                        LaunchOrder::Any => {
                            self.require(start_a.equals(&start_b).not());
                            Truth::all([self.run.started[*a].clone(), earlier])
                        }
                        LaunchOrder::Sorted(keys) => {
                            let (i, j) = (
                                &self.unrolled.members[*a].index,
                                &self.unrolled.members[*b].index,
                            );
                            let before = keys
                                .iter()
                                .map(|key| {
                                    let order = i[key.index].cmp(&j[key.index]);
                                    if key.descending {
                                        order.reverse()
                                    } else {
                                        order
                                    }
                                })
                                .find(|order| order.is_ne());
                            if before != Some(std::cmp::Ordering::Less) {
                                continue;
                            }
                            let exists = self.unrolled.members[*a].exists.clone();
                            let premise =
                                Truth::all([self.run.started[*b].clone(), exists.clone()]);
                            let first = Truth::all([self.run.started[*a].clone(), earlier]);
                            self.require(premise.implies(&first));
                            exists
                        }
                    };
                    let gone = Truth::all([finished[y].clone(), ends[y].less(&start_b)]);
                    occupied.push(Truth::all([earlier, gone.not()]).count());
                }
                if let Some(limit) = &limit {
                    let free = Num::sum(occupied).less(limit);
                    self.require(self.run.started[*b].implies(&free));
                }
                let waiting = Truth::all([
                    self.unrolled.members[*b].exists.clone(),
                    self.run.started[*b].not(),
                ]);
                let full = match &limit {
                    None => Truth::Known(false),
                    Some(limit) => {
                        let running = grid.iter().zip(&finished).map(|(m, finished)| {
                            Truth::all([self.run.started[*m].clone(), finished.not()]).count()
                        });
                        limit.at_most(&Num::sum(running))
                    }
                };
                self.require(waiting.implies(&full));
            }
        }
    }

    /// A time that is no earlier than the member's start and all of its executed events.
    fn end(&mut self, m: usize) -> Num {
        let end = Num::Term(Int::fresh_const("end"));
        self.require(Num::Term(self.run.start[m].clone()).at_most(&end));
        for e in 0..self.unrolled.members[m].events.len() {
            let before = self.time(m, e).at_most(&end);
            self.require(self.run.executed[m][e].implies(&before));
        }
        end
    }

    fn unfinished(&mut self) {
        let somebody: Vec<Truth> = (0..self.unrolled.members.len())
            .map(|m| {
                Truth::all([
                    self.unrolled.members[m].exists.clone(),
                    self.finished(m).not(),
                ])
            })
            .collect();
        self.require(Truth::any(somebody));
    }
}

fn same_element(a: &Event, b: &Event) -> Truth {
    if a.object != b.object {
        return Truth::Known(false);
    }
    Truth::all(a.index.iter().zip(&b.index).map(|(x, y)| x.equals(y)))
}

fn passes(comparison: Comparison, value: &Num, wanted: &Num) -> Truth {
    match comparison {
        Comparison::Equal => value.equals(wanted),
        Comparison::AtLeast => wanted.at_most(value),
    }
}
