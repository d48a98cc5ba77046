//! A set of states, each a short byte string, numbered in the order of insertion.
//!
//! All byte strings lie in one buffer, and the hash table holds only their numbers. So a state costs its own bytes
//! and about 20 more. Numbers are assigned in sequence, so a breadth-first search needs no queue: it visits the
//! states in the order of their numbers.

use std::hash::Hasher;

use rustc_hash::FxHasher;

use crate::protocol::StmtId;

use super::instance::CellId;
use super::instance::CellStart;
use super::instance::Instance;
use super::step::CellState;
use super::step::Delivery;
use super::step::InFlight;
use super::step::NOT_STARTED;
use super::step::Registration;
use super::step::State;

const EMPTY: u32 = u32::MAX;

/// Flags of an mbarrier.
const PHASE: u64 = 1;
const HAS_TX: u64 = 2;
const UNINITIALIZED: u64 = 4;

/// A numbered set of byte strings.
#[derive(Debug)]
pub(super) struct StateTable {
    bytes: Vec<u8>,
    /// Where the bytes of each state end. They start where those of the previous state end.
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

    /// How much memory the bytes of the states take. The table of their numbers takes more.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
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

/// Writes a state as bytes. Every number is written in groups of seven bits, so small numbers take one byte. The
/// numbers of started and finished members follow from the rest and are left out.
pub(super) fn encode(state: &State, out: &mut Vec<u8>) {
    out.clear();
    for counter in &state.counters {
        // `NOT_STARTED` becomes 0.
        put(out, u64::from(counter.wrapping_add(1)));
    }
    for cell in &state.cells {
        match cell {
            CellState::Semaphore(value) => put_signed(out, *value),
            CellState::Mbarrier { pending, phase, tx } => {
                put(out, *pending as u64);
                let has_tx = *tx != 0;
                put(out, u64::from(*phase) * PHASE + u64::from(has_tx) * HAS_TX);
                if has_tx {
                    put_signed(out, *tx);
                }
            }
            CellState::Uninitialized => {
                put(out, 0);
                put(out, UNINITIALIZED);
            }
            CellState::Barrier {
                pending,
                arrived,
                released,
            } => {
                put(out, *pending as u64);
                for list in [arrived, released] {
                    put(out, list.len() as u64);
                    for member in list {
                        put(out, u64::from(*member));
                    }
                }
            }
            CellState::Pool { available } => put(out, *available as u64),
            CellState::Named { count, registered } => {
                put(out, *count as u64);
                put(out, registered.len() as u64);
                for r in registered {
                    put(out, u64::from(r.member) << 1 | u64::from(r.blocked));
                }
            }
        }
    }
    for completed in &state.history {
        put(out, u64::from(*completed));
    }
    // The list goes up to the end of the bytes and has no count, because it is empty in most states.
    for flight in &state.in_flight {
        put(out, u64::from(flight.member));
        put(out, u64::from(flight.cell.0));
        put(
            out,
            match flight.delivery {
                Delivery::Arrival => 0,
                Delivery::Bytes(bytes) => bytes as u64 + 1,
            },
        );
        put(out, flight.stmt.0 as u64);
        if !state.history.is_empty() {
            put(out, u64::from(flight.op));
        }
    }
}

/// Reads a state that [`encode`] wrote for the same instance, with history or without.
pub(super) fn decode(instance: &Instance, mut bytes: &[u8], history: bool) -> State {
    let bytes = &mut bytes;
    let mut state = State {
        counters: Vec::with_capacity(instance.members.len()),
        cells: Vec::with_capacity(instance.cells.len()),
        started: vec![0; instance.roles.len()],
        finished: vec![0; instance.roles.len()],
        in_flight: Vec::new(),
        history: Vec::new(),
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
            CellStart::Semaphore(_) => CellState::Semaphore(take_signed(bytes)),
            CellStart::Mbarrier(_) | CellStart::Uninitialized(_) => {
                let (pending, flags) = (take(bytes) as i64, take(bytes));
                match flags & UNINITIALIZED != 0 {
                    true => CellState::Uninitialized,
                    false => CellState::Mbarrier {
                        pending,
                        phase: flags & PHASE != 0,
                        tx: match flags & HAS_TX != 0 {
                            true => take_signed(bytes),
                            false => 0,
                        },
                    },
                }
            }
            CellStart::Barrier(_) => {
                let pending = take(bytes) as i64;
                let mut list = || (0..take(bytes)).map(|_| take(bytes) as u32).collect();
                CellState::Barrier {
                    pending,
                    arrived: list(),
                    released: list(),
                }
            }
            CellStart::Pool(_) => CellState::Pool {
                available: take(bytes) as i64,
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
    if history {
        let cells = instance.cells.iter();
        state.history = cells.map(|_| take(bytes) as u32).collect();
    }
    while !bytes.is_empty() {
        state.in_flight.push(InFlight {
            member: take(bytes) as u32,
            cell: CellId(take(bytes) as u32),
            delivery: match take(bytes) {
                0 => Delivery::Arrival,
                more => Delivery::Bytes((more - 1) as i64),
            },
            stmt: StmtId(take(bytes) as usize),
            op: if history { take(bytes) as u32 } else { 0 },
        });
    }
    state
}

/// Maps numbers of either sign with small absolute values to small numbers.
fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, ((value << 1) ^ (value >> 63)) as u64);
}

fn take_signed(bytes: &mut &[u8]) -> i64 {
    let value = take(bytes);
    (value >> 1) as i64 ^ -((value & 1) as i64)
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
