//! Loads and stores of words in shared memory that may be ring words: see [`crate::recover::ring_words`].

use super::Path;
use super::Purpose;
use super::Value;
use super::Walker;
use super::lane_of;
use crate::ir::Location;
use crate::ir::MemoryOrder;
use crate::ir::Operand;
use crate::ir::RegisterId;
use crate::meaning::Domain;
use crate::recover::ring_words::Load;
use crate::recover::term::Atom;
use crate::recover::term::TermId;
use crate::recover::tree::Event;
use crate::recover::tree::EventKind;
use crate::recover::tree::Statement;

impl Walker<'_> {
    /// A load whose results may be ring words. `false` if ring words are not looked for, or if lanes read at several
    /// places.
    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of one operation and its context"
    )]
    pub(super) fn load_ring_word(
        &mut self,
        address: Operand,
        results: &[Option<RegisterId>],
        (width, signed): (u16, bool),
        mask: u32,
        path: &mut Path,
        out: &mut Vec<Statement>,
        location: &Location,
    ) -> bool {
        if self.ring_words.is_none() || width > 64 {
            return false;
        }
        let Some(place) = self.one_place(address, mask, path) else {
            return false;
        };
        let bytes = u32::from(width.div_ceil(8));
        // Lanes that have not waited themselves may be ahead of those that have.
        let in_order = path.waited.is_none_or(|waited| mask & !waited == 0);
        let mut frames = self.frames.iter().rev();
        let around = frames.find_map(|frame| Some((frame.id?, frame.header)));
        for (result, index) in results.iter().zip(0_u32..) {
            let Some(result) = result else { continue };
            let Some(ring_words) = self.ring_words.as_mut() else {
                return false;
            };
            let number = ring_words.add(Load {
                place: (self.here.0, self.here.1, index),
                width,
                by: (self.place.rank, self.place.warp),
                around,
            });
            let word = self.terms.atom(Atom::RingWord(number), width);
            let to = self.width_of(*result).max(width);
            let word = self.terms.extend(&word, to, signed);
            self.set(*result, Value::Uniform(word), mask, path);
            let bits = self.terms.width_of(place);
            let offset = u128::from(index.saturating_mul(bytes));
            let at = self.terms.sum(offset, &[(place, 1)], bits);
            let kind = EventKind::RingWordLoad {
                address: in_order.then_some(at),
                number,
                bytes,
            };
            self.mark(kind, mask, out, location);
        }
        path.position.loose |= mask;
        true
    }

    /// A store to what may be ring words.
    pub(super) fn store_ring_word(
        &mut self,
        address: Operand,
        bytes: u32,
        mask: u32,
        path: &mut Path,
        out: &mut Vec<Statement>,
        location: &Location,
    ) {
        if !self
            .ring_words
            .as_ref()
            .is_some_and(|ring_words| ring_words.stores.contains(&self.here))
        {
            return;
        }
        let in_order = path.waited.is_none_or(|waited| mask & !waited == 0);
        let place = self.one_place(address, mask, path);
        let kind = EventKind::RingWordStore {
            address: place.filter(|_| in_order),
            bytes,
        };
        self.mark(kind, mask, out, location);
        path.position.loose |= mask;
    }

    /// Marks an arrival of lanes if it may come before loads and stores of other lanes. A relaxed
    /// arrival is marked as well: it does not show others what has been written.
    pub(super) fn mark_ahead(
        &mut self,
        order: MemoryOrder,
        mask: u32,
        path: &Path,
        out: &mut Vec<Statement>,
        location: &Location,
    ) {
        let relaxed = matches!(order, MemoryOrder::Weak | MemoryOrder::Relaxed);
        if self.ring_words.is_some() && (relaxed || path.position.loose & !mask != 0) {
            self.mark(EventKind::Ahead, mask, out, location);
        }
    }

    fn mark(&mut self, kind: EventKind, mask: u32, out: &mut Vec<Statement>, location: &Location) {
        if self.purpose == Purpose::Together {
            return;
        }
        out.push(Statement::Event(Event {
            kind,
            lanes: mask.count_ones(),
            location: location.clone(),
        }));
    }

    /// The address that all of these lanes name.
    fn one_place(&mut self, address: Operand, mask: u32, path: &Path) -> Option<TermId> {
        let address = self.operand(address, 32, &path.state);
        let mut lanes = (0..32).filter(|lane| mask >> lane & 1 == 1);
        let first = lane_of(&address, lanes.next()?);
        lanes
            .all(|lane| lane_of(&address, lane) == first)
            .then_some(first)
    }
}
