//! A set of states, each a short byte string, numbered in the order of insertion.
//!
//! All byte strings lie in one buffer and the hash table holds their numbers only, so a state
//! costs its own bytes and about 20 more. Numbers are handed out in sequence, so a breadth
//! first search needs no queue: it goes through the numbers.

use std::hash::Hasher;

use rustc_hash::FxHasher;

use super::instance::CellStart;
use super::instance::Instance;
use super::step::CellState;
use super::step::NOT_STARTED;
use super::step::Registration;
use super::step::State;

const EMPTY: u32 = u32::MAX;

/// A numbered set of byte strings.
#[derive(Debug)]
pub(super) struct StateTable {
    bytes: Vec<u8>,
    /// Where each state's bytes end; they start where the previous ones end.
    ends: Vec<usize>,
    /// Open addressing; a power of two, never more than half full.
    slots: Vec<u32>,
}

impl StateTable {
    pub(super) fn new() -> StateTable {
        StateTable {
            bytes: Vec::new(),
            ends: Vec::new(),
            slots: vec![EMPTY; 1 << 10],
        }
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, number: usize) -> &[u8] {
        let start = number
            .checked_sub(1)
            .map_or(0, |previous| self.ends[previous]);
        &self.bytes[start..self.ends[number]]
    }

    /// Adds a state; false if it was there already.
    pub(super) fn insert(&mut self, state: &[u8]) -> bool {
        if (self.ends.len() + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let mut slot = self.home(state);
        while self.slots[slot] != EMPTY {
            if self.get(self.slots[slot] as usize) == state {
                return false;
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        self.slots[slot] = self.ends.len() as u32;
        self.bytes.extend_from_slice(state);
        self.ends.push(self.bytes.len());
        true
    }

    fn home(&self, state: &[u8]) -> usize {
        let mut hasher = FxHasher::default();
        hasher.write(state);
        hasher.finish() as usize & (self.slots.len() - 1)
    }

    fn grow(&mut self) {
        self.slots = vec![EMPTY; self.slots.len() * 2];
        for number in 0..self.ends.len() {
            let mut slot = self.home(self.get(number));
            while self.slots[slot] != EMPTY {
                slot = (slot + 1) & (self.slots.len() - 1);
            }
            self.slots[slot] = number as u32;
        }
    }
}

/// Writes a state as bytes: every number in groups of seven bits, so that small ones take one
/// byte. How many members started and finished follows from the rest and is left out.
pub(super) fn encode(state: &State, out: &mut Vec<u8>) {
    out.clear();
    for counter in &state.counters {
        // `NOT_STARTED` becomes 0.
        put(out, u64::from(counter.wrapping_add(1)));
    }
    for cell in &state.cells {
        match cell {
            CellState::Semaphore(value) => put(out, ((value << 1) ^ (value >> 63)) as u64),
            CellState::Mbarrier { pending, phase } => {
                put(out, *pending as u64);
                put(out, u64::from(*phase));
            }
            CellState::Named { count, registered } => {
                put(out, *count as u64);
                put(out, registered.len() as u64);
                for r in registered {
                    put(out, u64::from(r.member) << 1 | u64::from(r.blocked));
                }
            }
        }
    }
}

/// Reads a state that [`encode`] wrote for the same instance.
pub(super) fn decode(instance: &Instance, mut bytes: &[u8]) -> State {
    let bytes = &mut bytes;
    let mut state = State {
        counters: Vec::with_capacity(instance.members.len()),
        cells: Vec::with_capacity(instance.cells.len()),
        started: vec![0; instance.roles.len()],
        finished: vec![0; instance.roles.len()],
    };
    for member in &instance.members {
        let counter = (take(bytes) as u32).wrapping_sub(1);
        if counter != NOT_STARTED {
            state.started[member.role] += 1;
            state.finished[member.role] += usize::from(counter as usize == member.ops.len());
        }
        state.counters.push(counter);
    }
    for cell in &instance.cells {
        state.cells.push(match cell {
            CellStart::Semaphore(_) => {
                let value = take(bytes);
                CellState::Semaphore((value >> 1) as i64 ^ -((value & 1) as i64))
            }
            CellStart::Mbarrier(_) => CellState::Mbarrier {
                pending: take(bytes) as i64,
                phase: take(bytes) != 0,
            },
            CellStart::Named => {
                let count = take(bytes) as i64;
                let registrations = 0..take(bytes);
                let registered = registrations.map(|_| {
                    let packed = take(bytes);
                    Registration {
                        member: (packed >> 1) as u32,
                        blocked: packed & 1 != 0,
                    }
                });
                CellState::Named {
                    count,
                    registered: registered.collect(),
                }
            }
        });
    }
    state
}

fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn take(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    let mut shift = 0;
    while let Some((byte, rest)) = bytes.split_first() {
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            break;
        }
    }
    value
}
