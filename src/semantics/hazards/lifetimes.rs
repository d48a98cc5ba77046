//! Finds uses of data that has no room, and pools that are not whole at the end.
//!
//! Data may be backed by a pool. It then has room from the `acquire ... backing` that makes the room to the `release
//! ... backing` that gives it up. Each of the two takes effect once its member has done the operation. In every state
//! an element of such data has room once or not at all. A state violates `resources` if an access to an element
//! without room is next or under way. Making room twice violates it, too, and so does giving up room that is not
//! there.
//!
//! A pool that says `release: mandatory` has to be whole (nothing may be missing) once all members have finished.

use crate::semantics::data::Access;
use crate::semantics::data::Data;
use crate::semantics::instance::CellStart;
use crate::semantics::instance::Instance;
use crate::semantics::step;
use crate::semantics::step::CellState;
use crate::semantics::step::NOT_STARTED;
use crate::semantics::step::State;

use super::Hazard;
use super::Races;

/// Checks lifetimes in states of one instance. The states have to keep history.
#[derive(Debug, Clone)]
pub struct Lifetimes<'i> {
    instance: &'i Instance,
    data: &'i Data,
    races: Races<'i>,
    /// Per slot: whether it exists only while a pool operation makes room for it.
    backed: Vec<bool>,
}

impl<'i> Lifetimes<'i> {
    /// Prepares the checks of an instance with this data.
    pub fn new(instance: &'i Instance, data: &'i Data) -> Lifetimes<'i> {
        let slots = data.buffers.last().map_or(0, |b| b.cells.end);
        let mut backed = vec![false; slots];
        for (buffer, is_backed) in data.buffers.iter().zip(&data.backed) {
            backed[buffer.cells.clone()].fill(*is_backed);
        }
        Lifetimes {
            instance,
            data,
            races: Races::new(instance, data),
            backed,
        }
    }

    /// The first violation in a state.
    pub fn state(&self, state: &State) -> Option<Hazard> {
        self.kept(state).or_else(|| self.data(state))
    }

    /// A pool from which something is missing although all members have finished.
    fn kept(&self, state: &State) -> Option<Hazard> {
        if self.data.returned.is_empty() || !step::is_finished(self.instance, state) {
            return None;
        }
        self.data.returned.iter().find_map(|cell| {
            let flat = cell.0 as usize;
            match (state.cells[flat].clone(), self.instance.cells[flat]) {
                (CellState::Pool { available }, CellStart::Pool(all)) if available < all => {
                    Some(Hazard::Kept {
                        cell: *cell,
                        amount: all - available,
                    })
                }
                _ => None,
            }
        })
    }

    fn data(&self, state: &State) -> Option<Hazard> {
        if !self.backed.iter().any(|backed| *backed) {
            return None;
        }
        let mut room = vec![0_i64; self.backed.len()];
        let mut ended = vec![false; self.backed.len()];
        for (member, lifetimes) in self.data.lifetimes.iter().enumerate() {
            let done = match state.counters[member] {
                NOT_STARTED => continue,
                done => done,
            };
            for lifetime in lifetimes {
                let counts = match lifetime.begins {
                    true => done >= lifetime.at,
                    false => done > lifetime.at,
                };
                for slot in lifetime.slots.clone().filter(|_| counts) {
                    room[slot as usize] += if lifetime.begins { 1 } else { -1 };
                    ended[slot as usize] |= !lifetime.begins;
                }
            }
        }
        if let Some(slot) = room.iter().position(|room| !(0..=1).contains(room)) {
            return Some(Hazard::Misplaced {
                slot: slot as u32,
                twice: room[slot] > 1,
            });
        }
        self.data
            .accesses
            .iter()
            .enumerate()
            .find_map(|(member, accesses)| {
                let place = accesses.iter().position(|access| {
                    let slot = access.slot as usize;
                    self.backed[slot]
                        && room[slot] == 0
                        && self.races.is_active(state, member, access)
                })?;
                let slot = accesses[place].slot;
                Some(Hazard::Roomless {
                    access: (member, place),
                    slot,
                    ended: ended[slot as usize],
                })
            })
    }

    /// An access that [`Lifetimes::state`] cannot see, if there is one.
    pub fn hidden(&self) -> Option<&'i Access> {
        let members = self.data.accesses.iter().enumerate();
        let mut all = members.flat_map(|(m, accesses)| accesses.iter().map(move |a| (m, a)));
        let hidden = all.find(|(member, access)| {
            self.backed[access.slot as usize] && self.races.is_hidden(*member, access)
        });
        hidden.map(|(_, access)| access)
    }
}
