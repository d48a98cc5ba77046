//! One run to its end, on flat lists: for tensors with tens of millions of visits.
//!
//! It makes the same steps, in the same order, as [`crate::semantics::greedy`] with the instance of the scheme. A
//! wait and its increment are one step here. Tests compare the two. A CTA runs until it blocks. Then it waits in a
//! list for the value that lets it pass.

use rustc_hash::FxHashMap;

use super::lock::LaunchChoice;
use super::visits::Turn;
use super::visits::Visit;
use super::visits::Visits;

/// How far a run has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// Per CTA: how many visits it has made.
    done: Vec<u32>,
    /// Per row tile: the value of its semaphore.
    values: Vec<u32>,
    started: usize,
    finished: usize,
}

/// A CTA that has not started.
const NOT_STARTED: u32 = u32::MAX;

impl State {
    /// How many visits a CTA has made; `None` if it has not started.
    pub fn progress(&self, n: usize) -> Option<usize> {
        match self.done[n] {
            NOT_STARTED => None,
            done => Some(done as usize),
        }
    }

    /// Whether a turn has been taken.
    pub fn is_taken(&self, turn: &Turn) -> bool {
        let progress = self.progress(turn.n as usize);
        progress.is_some_and(|done| done > turn.place as usize)
    }

    /// The value of a row tile's semaphore.
    pub fn value(&self, m: usize) -> i64 {
        i64::from(self.values[m])
    }

    /// How many CTAs have started.
    pub fn started(&self) -> usize {
        self.started
    }

    /// Whether every CTA has finished.
    pub fn is_finished(&self) -> bool {
        self.finished == self.done.len()
    }
}

/// CTAs in the order in which a scheme starts them, ascending where it is open.
pub(super) fn launch_order(launch: LaunchChoice, n_blocks: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n_blocks).collect();
    if launch == LaunchChoice::Descending {
        order.reverse();
    }
    order
}

/// Runs until nothing can happen. CTAs start in the order `launch`. At most `resident` CTAs (at least 1) have started
/// and not finished at any time. If `shut` is given, it contains for each row tile the least value from which no wait
/// there ever passes.
pub(super) fn run(
    visits: &Visits,
    launch: &[usize],
    resident: usize,
    shut: Option<&[Option<i64>]>,
) -> State {
    let state = State {
        done: vec![NOT_STARTED; visits.n_blocks()],
        values: vec![0; visits.m_blocks()],
        started: 0,
        finished: 0,
    };
    let mut driver = Driver {
        visits,
        launch,
        resident: resident.max(1),
        shut,
        state,
        ready: Vec::new(),
        waiting: FxHashMap::default(),
        waiters: vec![0; visits.m_blocks()],
    };
    driver.launch();
    while let Some(n) = driver.ready.pop() {
        driver.drive(n);
    }
    driver.state
}

struct Driver<'a> {
    visits: &'a Visits,
    launch: &'a [usize],
    resident: usize,
    shut: Option<&'a [Option<i64>]>,
    state: State,
    /// CTAs that may be able to go on.
    ready: Vec<usize>,
    /// Blocked CTAs, by the row tile and the value that lets them pass.
    waiting: FxHashMap<(u32, i64), Vec<usize>>,
    /// Per row tile: how many values are waited for.
    waiters: Vec<u32>,
}

impl Driver<'_> {
    /// Lets a CTA go on for as long as it can.
    fn drive(&mut self, n: usize) {
        let from = self.state.done[n];
        for (done, Visit { m, lock }) in (from..).zip(self.visits.from(n, from as usize)) {
            let at = m as usize;
            let passes = self.state.value(at) == lock;
            let shut = self.shut.and_then(|shut| shut[at]);
            if !passes || shut.is_some_and(|from| lock >= from) {
                self.state.done[n] = done;
                let list = self.waiting.entry((m, lock)).or_default();
                self.waiters[at] += u32::from(list.is_empty());
                list.push(n);
                return;
            }
            self.state.values[at] += 1;
            if self.waiters[at] > 0
                && let Some(woken) = self.waiting.remove(&(m, self.state.value(at)))
            {
                self.waiters[at] -= 1;
                self.ready.extend(woken);
            }
        }
        self.state.done[n] = self.visits.count(n) as u32;
        // A CTA without visits finishes as soon as it starts.
        if self.visits.count(n) > 0 {
            self.state.finished += 1;
        }
        self.launch();
    }

    /// Starts as many CTAs as may start.
    fn launch(&mut self) {
        while let Some(&n) = self.launch.get(self.state.started)
            && self.state.started - self.state.finished < self.resident
        {
            self.state.done[n] = 0;
            self.state.started += 1;
            if self.visits.count(n) == 0 {
                self.state.finished += 1;
            }
            self.ready.push(n);
        }
    }
}
