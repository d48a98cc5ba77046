//! Loads and stores of words in shared memory that are ordered by barriers of all threads: see
//! [`crate::recover::shared_words`].

use super::Path;
use super::Result;
use super::Value;
use super::Walker;
use super::lane_of;
use super::once::without_breaks;
use crate::cfg::Loop;
use crate::ir::BlockId;
use crate::ir::Operand;
use crate::ir::OperationKind;
use crate::meaning::Domain;
use crate::recover::shared_words::Byte;
use crate::recover::shared_words::Part;
use crate::recover::shared_words::Store;
use crate::recover::shared_words::Stores;
use crate::recover::slice::written_place;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::tree::Statement;

/// How many iterations of a loop are walked one by one, if loaded words decide about it.
const MOST_ITERATIONS: usize = 64;

impl Walker<'_> {
    /// Notes that all threads of the CTA, or some, come to a barrier.
    pub(super) fn pass_barrier(
        &mut self,
        barrier: Operand,
        threads: Option<Operand>,
        path: &mut Path,
    ) {
        let count = match threads {
            Some(threads) => self.number(threads, path),
            None => Some(self.all_threads()),
        };
        let barrier = self.number(barrier, path);
        match (barrier, count) {
            (Some(barrier), Some(count)) if count == self.all_threads() => {
                path.position.meet(barrier);
            }
            (Some(_), Some(_)) => {}
            (Some(barrier), None) => path.position.lose(barrier),
            (None, _) => path.position.lose_all(),
        }
    }

    /// Notes that a warp comes to a barrier and goes on. If this may be a barrier of all threads,
    /// it orders nothing: a warp may come to it twice in one generation, in the place of another
    /// one.
    pub(super) fn pass_without_waiting(&mut self, threads: Operand, path: &Path) {
        let count = self.number(threads, path);
        if count.is_none_or(|count| count == self.all_threads()) {
            self.store_anywhere(path);
        }
    }

    /// A number that is the same at every launch.
    fn number(&mut self, operand: Operand, path: &Path) -> Option<u32> {
        let Value::Uniform(term) = self.operand(operand, 32, &path.state) else {
            return None;
        };
        u32::try_from(self.terms.value(term)?).ok()
    }

    /// How many threads a barrier without a number waits for: whole warps.
    fn all_threads(&self) -> u32 {
        let threads: u32 = self.place.threads.iter().product();
        threads.div_ceil(32) * 32
    }

    /// The place in shared memory that an address names, if it is the same at every launch.
    fn fixed_place(&mut self, address: TermId) -> Option<Byte> {
        let wide = self.window_of(address);
        [address, wide].into_iter().find_map(|address| {
            let narrow = self.fitted(address, 32);
            let (offset, parts) = self.terms.linear(narrow);
            let [(part, 1)] = parts.as_slice() else {
                return None;
            };
            let Node::Atom(Atom::Shared { variable, rank }) = self.terms.node(*part) else {
                return None;
            };
            Some(Byte {
                rank: *rank,
                variable: *variable,
                offset: u32::try_from(offset).ok()?,
            })
        })
    }

    /// What is loaded from a fixed place, if that is known.
    pub(super) fn load_words(
        &mut self,
        address: Operand,
        width: u16,
        count: usize,
        path: &Path,
    ) -> Option<Vec<TermId>> {
        let Value::Uniform(address) = self.operand(address, 64, &path.state) else {
            return None;
        };
        let first = self.fixed_place(address)?;
        self.shared_words.asked = true;
        if self.slice.scattered.contains(&first.variable) {
            return None;
        }
        let bytes = u32::from(width.div_ceil(8));
        let mut all = Vec::with_capacity(count);
        for index in 0..u32::try_from(count).ok()? {
            let start = first.offset.checked_add(index.checked_mul(bytes)?)?;
            let mut parts = Vec::new();
            for offset in start..start.checked_add(bytes)? {
                let byte = Byte { offset, ..first };
                parts.push(self.shared_words.at(byte, &path.position)?);
            }
            all.push(self.put_together(&parts, width)?);
        }
        self.shared_words.answered.insert(self.here);
        Some(all)
    }

    /// The term of consecutive bytes, the lowest first.
    fn put_together(&mut self, parts: &[Part], width: u16) -> Option<TermId> {
        let first = parts.first()?;
        let whole = (0..).zip(parts);
        let mut in_order = whole.map(|(byte, part)| *part == Part { byte, ..*first });
        if self.terms.width_of(first.term) == width && in_order.all(|as_stored| as_stored) {
            return Some(first.term);
        }
        let mut term: Option<TermId> = None;
        for part in parts {
            let low = u16::try_from(part.byte.checked_mul(8)?).ok()?;
            let byte = self.terms.extract(&part.term, low, 8);
            term = Some(match term {
                None => byte,
                Some(lower) => self.terms.concatenate(&byte, &lower),
            });
        }
        term
    }

    /// Notes that blocks which are not followed may store to fixed places.
    pub(super) fn lose_words(&mut self, blocks: &[BlockId], path: &Path) {
        let stores = |block: &BlockId| {
            let at = block.0 as usize;
            let operations = self.kernel.blocks[at].operations.iter();
            operations
                .zip(&self.slice.operations[at])
                .any(|(operation, relevant)| *relevant && written_place(operation).is_some())
        };
        if blocks.iter().any(stores) {
            self.store_anywhere(path);
        }
    }

    /// Notes that nothing is known of any word.
    fn store_anywhere(&mut self, path: &Path) {
        self.stored().push(Store {
            byte: Byte::ANY,
            part: None,
            lanes: path.mask,
            position: path.position.of_words(),
        });
    }

    /// What this warp has stored so far.
    fn stored(&mut self) -> &mut Stores {
        let warp = (self.place.rank, self.place.warp);
        self.shared_words.found.entry(warp).or_default()
    }

    /// Notes what is stored to fixed places; `None` where it is not known.
    pub(super) fn store_words(
        &mut self,
        address: Operand,
        values: &[Option<Operand>],
        width: u16,
        mask: u32,
        path: &Path,
    ) {
        let address = self.operand(address, 64, &path.state);
        let bytes = u32::from(width.div_ceil(8));
        let mut stores: Vec<Store> = Vec::new();
        for (value, index) in values.iter().zip(0_u32..) {
            let value = match value {
                Some(value) => self.operand(*value, width, &path.state),
                None => Value::Uniform(self.unknown_of(width)),
            };
            for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
                let Some(first) = self.fixed_place(lane_of(&address, lane)) else {
                    return;
                };
                let term = lane_of(&value, lane);
                let is_of_launch = self.terms.atoms(term).iter().all(|atom| match atom {
                    Atom::Parameter { .. }
                    | Atom::Special(_)
                    | Atom::Shared { .. }
                    | Atom::Address { .. }
                    | Atom::SharedWindow => true,
                    Atom::Phi(_)
                    | Atom::Test(_)
                    | Atom::Response(_)
                    | Atom::RingWord(_)
                    | Atom::Opaque(_)
                    | Atom::Tested
                    | Atom::Coordinate(_) => false,
                });
                for byte in 0..bytes {
                    let offset = first.offset.wrapping_add(index * bytes + byte);
                    let part = is_of_launch.then_some(Part { term, byte });
                    let place = Byte { offset, ..first };
                    // It is not known which of several lanes writes last.
                    match stores.iter_mut().find(|store| store.byte == place) {
                        Some(store) if store.part != part => store.part = None,
                        Some(_) => {}
                        None => stores.push(Store {
                            byte: place,
                            part,
                            lanes: mask,
                            position: path.position.of_words(),
                        }),
                    }
                }
            }
        }
        self.stored().extend(stores);
    }

    /// Walks a loop iteration by iteration, if it loads words that others store and these decide
    /// whether it goes on. `None` if they do not. Nothing has been written then.
    #[allow(clippy::type_complexity)]
    pub(super) fn unfolded(
        &mut self,
        natural: &Loop,
        path: &Path,
        out: &mut Vec<Statement>,
        depth: u32,
    ) -> Result<Option<Option<(BlockId, Path)>>> {
        if path.position.lost || !self.shared_words.are_known() || !self.loads_words(natural) {
            return Ok(None);
        }
        let follow = self.graph.follow(natural);
        let stored = self.stored().len();
        let mut whole = Vec::new();
        let mut at = path.clone();
        for _ in 0..MOST_ITERATIONS {
            at.condition = self.terms.constant(1, 1);
            let mut body = Vec::new();
            let walked = self.iteration(natural, follow, at, &mut body, depth);
            let Ok((again, left)) = walked else { break };
            let ends = again.is_empty();
            if !without_breaks(&mut body) || !ends && !left.is_empty() {
                break;
            }
            whole.append(&mut body);
            if ends {
                out.append(&mut whole);
                return Ok(Some(self.behind(left, follow, path)));
            }
            match self.gathered(again) {
                Some(next) => at = next,
                None => break,
            }
        }
        self.stored().truncate(stored);
        Ok(None)
    }

    /// Whether a loop has a load from shared memory that is in the slice.
    fn loads_words(&self, natural: &Loop) -> bool {
        natural.blocks.iter().any(|block| {
            let at = block.0 as usize;
            let operations = self.kernel.blocks[at].operations.iter();
            operations
                .zip(&self.slice.operations[at])
                .any(|(operation, relevant)| {
                    *relevant
                        && matches!(operation.kind, OperationKind::Load { space, .. }
                            if space.may_be_shared())
                })
        })
    }
}
