//! The state of mbarriers, named barriers and the cluster barrier in a simulated run.

use super::taint::Origins;
use super::taint::Sets;
use super::value::Lanes;

/// An mbarrier.
#[derive(Debug, Clone)]
pub struct Mbarrier {
    /// The arrivals that complete the next phase.
    pub expected: u32,
    /// The arrivals that are missing in the current phase.
    pub pending: u32,
    /// The bytes that are missing in the current phase.
    pub bytes: i64,
    /// The copies by tensor map of the current phase. The code does not say how many bytes they deliver.
    pub copies: u32,
    /// How many phases have completed.
    pub phase: u64,
}

impl Mbarrier {
    pub fn new(count: u32) -> Self {
        Self {
            expected: count,
            pending: count,
            bytes: 0,
            copies: 0,
            phase: 0,
        }
    }

    /// Whether nothing has happened to it since its initialisation.
    pub fn is_fresh(&self) -> bool {
        let idle = self.bytes == 0 && self.copies == 0;
        self.phase == 0 && self.pending == self.expected && idle
    }

    /// The phase state that an arrival returns.
    pub fn state(&self) -> u64 {
        (self.phase & 0xffff_ffff) << 32 | u64::from(self.pending)
    }

    pub fn passes_parity(&self, parity: bool) -> bool {
        (self.phase & 1 == 1) != parity
    }

    pub fn passes_state(&self, state: u64) -> bool {
        self.phase & 0xffff_ffff != state >> 32
    }

    pub fn arrive(&mut self, count: u32, drop: bool) -> Result<(), String> {
        let pending = self.pending.checked_sub(count);
        self.pending = pending.ok_or("more arrivals than the phase of the mbarrier expects")?;
        if drop {
            let expected = self.expected.checked_sub(count);
            self.expected = expected.ok_or("more arrivals dropped than the mbarrier expects")?;
        }
        self.advance();
        Ok(())
    }

    /// Adds expected bytes. A negative number means completed bytes.
    pub fn transfer(&mut self, bytes: i64) -> Result<(), String> {
        let sum = self
            .bytes
            .checked_add(bytes)
            .filter(|sum| sum.abs() < 1 << 40);
        self.bytes = sum.ok_or("the bytes of the mbarrier overflow")?;
        self.advance();
        Ok(())
    }

    /// Lets the copies by tensor map deliver the missing bytes of the phase. Returns whether this completes the
    /// phase.
    pub fn deliver(&mut self) -> bool {
        if self.pending != 0 || self.copies == 0 || self.bytes <= 0 {
            return false;
        }
        self.bytes = 0;
        self.copies = 0;
        self.advance();
        true
    }

    fn advance(&mut self) {
        if self.pending == 0 && self.bytes == 0 && self.copies == 0 {
            self.phase = self.phase.wrapping_add(1);
            self.pending = self.expected;
        }
    }
}

/// A named barrier of a CTA.
#[derive(Debug, Clone, Default)]
pub struct Barrier {
    /// How many times it has completed.
    pub generation: u64,
    /// The number of threads that the first registration named, while a generation is open. `Some(None)` means all
    /// threads of the CTA.
    pub open: Option<Option<u32>>,
    /// Whether the first registration is a reduction.
    reduces: bool,
    /// Threads that have registered.
    pub arrived: u32,
    lanes: Vec<Lanes>,
    votes: Votes,
    /// The votes of the generation that completed last.
    pub result: Votes,
}

/// The predicates that threads gave to a barrier with a reduction.
#[derive(Debug, Clone, Copy, Default)]
pub struct Votes {
    pub holding: u32,
    pub all: u32,
    pub origins: Origins,
}

/// A registration.
pub struct Registration {
    pub warp: usize,
    pub lanes: Lanes,
    /// How many threads it counts for.
    pub count: u32,
    pub threads: Option<u32>,
    /// Whether this is a `bar.red`.
    pub reduces: bool,
    pub votes: Votes,
}

impl Barrier {
    /// Registers a warp, or some of its lanes. Returns the generation that the registration belongs to.
    pub fn register(
        &mut self,
        registration: &Registration,
        alive: &[Lanes],
        sets: &mut Sets,
    ) -> Result<u64, String> {
        self.lanes.resize(alive.len(), 0);
        if registration
            .threads
            .is_some_and(|threads| threads == 0 || threads % 32 != 0)
        {
            return Err("the thread count of a barrier is not a multiple of 32".to_owned());
        }
        let all = threads_of(alive);
        match self.open {
            Some(open) if open.unwrap_or(all) != registration.threads.unwrap_or(all) => {
                return Err("threads name different thread counts at a barrier".to_owned());
            }
            // PTX ISA, `barrier.red`: it should not be intermixed with the others at one active barrier.
            Some(_) if self.reduces != registration.reduces => {
                return Err("`bar.red` meets `bar.sync` or `bar.arrive` at a barrier".to_owned());
            }
            Some(_) => {}
            None => {
                self.open = Some(registration.threads);
                self.reduces = registration.reduces;
            }
        }
        let Some(lanes) = self.lanes.get_mut(registration.warp) else {
            return Err("no such warp".to_owned());
        };
        // Every registration counts, even a second one of the same warp. For a barrier that names no number of
        // threads, this was observed only with all warps present (on an H100, see `docs/crosschecks.md`).
        let again = *lanes & registration.lanes != 0;
        if again && self.open == Some(None) && alive.contains(&0) {
            let what =
                "a warp registers again at a barrier of all threads, of which some have ended";
            return Err(what.to_owned());
        }
        *lanes |= registration.lanes;
        self.arrived = self.arrived.saturating_add(registration.count);
        self.votes.holding = self
            .votes
            .holding
            .saturating_add(registration.votes.holding);
        self.votes.all = self.votes.all.saturating_add(registration.votes.all);
        self.votes.origins = sets.union(self.votes.origins, registration.votes.origins);
        let generation = self.generation;
        self.advance(alive)?;
        Ok(generation)
    }

    /// Completes the barrier if all threads have registered. Returns whether it did.
    pub fn advance(&mut self, alive: &[Lanes]) -> Result<bool, String> {
        let complete = match self.open {
            None => false,
            Some(None) => {
                let mut warps = alive.iter().zip(&self.lanes);
                let here = warps.all(|(alive, here)| alive & !here == 0);
                here || self.arrived >= threads_of(alive)
            }
            Some(Some(threads)) if self.arrived > threads => {
                return Err("more threads register at a barrier than it counts".to_owned());
            }
            Some(Some(threads)) => self.arrived == threads,
        };
        if complete {
            self.generation = self.generation.wrapping_add(1);
            self.open = None;
            self.arrived = 0;
            self.lanes.fill(0);
            self.result = std::mem::take(&mut self.votes);
        }
        Ok(complete)
    }
}

/// How many threads a CTA has, in whole warps.
fn threads_of(warps: &[Lanes]) -> u32 {
    let warps = u32::try_from(warps.len()).unwrap_or(u32::MAX);
    warps.saturating_mul(32)
}

/// The barrier of a cluster.
#[derive(Debug, Clone, Default)]
pub struct ClusterBarrier {
    pub phase: u64,
    /// Per warp: the lanes that have arrived in the current phase.
    arrived: Vec<Lanes>,
    /// Per warp and lane: the phase of its last arrival.
    last: Vec<[u64; 32]>,
}

impl ClusterBarrier {
    pub fn new(warps: usize) -> Self {
        Self {
            phase: 0,
            arrived: vec![0; warps],
            last: vec![[u64::MAX; 32]; warps],
        }
    }

    pub fn arrive(&mut self, warp: usize, lanes: Lanes, alive: &[Lanes]) -> Result<(), String> {
        let (Some(arrived), Some(last)) = (self.arrived.get_mut(warp), self.last.get_mut(warp))
        else {
            return Err("no such warp".to_owned());
        };
        if *arrived & lanes != 0 {
            return Err("a thread arrives twice at one phase of the cluster barrier".to_owned());
        }
        *arrived |= lanes;
        for lane in super::value::lanes_of(lanes) {
            last[lane] = self.phase;
        }
        self.advance(alive);
        Ok(())
    }

    /// Completes the phase if all have arrived. Returns whether it did.
    pub fn advance(&mut self, alive: &[Lanes]) -> bool {
        let mut pairs = alive.iter().zip(&self.arrived);
        let complete = pairs.all(|(alive, arrived)| alive & !arrived == 0);
        if complete && self.arrived.iter().any(|arrived| *arrived != 0) {
            self.phase = self.phase.wrapping_add(1);
            self.arrived.fill(0);
            return true;
        }
        false
    }

    /// The phase whose end these lanes wait for; `None` if one of them has not arrived.
    pub fn awaited(&self, warp: usize, lanes: Lanes) -> Option<u64> {
        let last = self.last.get(warp)?;
        let phases = super::value::lanes_of(lanes).map(|lane| last[lane]);
        let latest = phases.max()?;
        (latest != u64::MAX).then_some(latest)
    }
}
