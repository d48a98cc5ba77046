//! Terms for the numbers that the launch gives: parameters, and the indices of a thread and its CTA.

use super::Value;
use super::Walker;
use super::packed;
use crate::ir::Special;
use crate::meaning::Domain;
use crate::recover::term::Atom;
use crate::recover::term::TermId;

impl Walker<'_> {
    pub(super) fn parameter(&mut self, offset: u32, width: u16) -> TermId {
        let bytes = u32::from(width / 8);
        if self.share_a_word(offset, bytes) {
            // Ranges and names belong to whole words. A word with several parameters can have neither: its name would
            // be that of the first parameter, and its range that of none of them.
            return self.unknown_of(width);
        }
        let mut result: Option<TermId> = None;
        let mut at = offset;
        while at < offset + bytes {
            let word = at / 4 * 4;
            let end = (offset + bytes).min(word + 4);
            let whole = self.terms.atom(Atom::Parameter { offset: word }, 32);
            let low = u16::try_from((at - word) * 8).unwrap_or(0);
            let bits = u16::try_from((end - at) * 8).unwrap_or(32);
            let part = self.terms.extract(&whole, low, bits);
            result = Some(match result {
                None => part,
                Some(low) => self.terms.concatenate(&part, &low),
            });
            at = end;
        }
        result.unwrap_or_else(|| self.terms.constant(0, width))
    }

    /// Whether one of the words of 4 bytes in which these bytes lie holds several parameters.
    fn share_a_word(&self, offset: u32, bytes: u32) -> bool {
        let (first, last) = (offset / 4, (offset + bytes.max(1) - 1) / 4);
        (first..=last).any(|word| {
            let parameters = self.kernel.parameters.iter();
            let here = parameters.filter(|one| {
                one.offset / 4 <= word && word <= (one.offset + one.size.max(1) - 1) / 4
            });
            here.count() > 1
        })
    }

    pub(super) fn special(&mut self, special: Special) -> Value {
        let place = self.place;
        let [tx, ty, _] = place.threads;
        let thread = |lane: usize| u64::from(place.warp) * 32 + lane as u64;
        let [cx, cy, cz] = place.cluster;
        let rank = [place.rank % cx, place.rank / cx % cy, place.rank / cx / cy];
        let lanes = |walker: &mut Self, value: &dyn Fn(usize) -> u64| {
            packed(std::array::from_fn(|lane| {
                walker.terms.constant(u128::from(value(lane)), 32)
            }))
        };
        let constant = |walker: &mut Self, value: u32| {
            Value::Uniform(walker.terms.constant(u128::from(value), 32))
        };
        match special {
            Special::ThreadIndex(0) => lanes(self, &|lane| thread(lane) % u64::from(tx)),
            Special::ThreadIndex(1) => {
                lanes(self, &|lane| thread(lane) / u64::from(tx) % u64::from(ty))
            }
            Special::ThreadIndex(_) => {
                lanes(self, &|lane| thread(lane) / u64::from(tx) / u64::from(ty))
            }
            Special::CtaThreads(axis) => constant(self, place.threads[usize::from(axis.min(2))]),
            Special::Lane => lanes(self, &|lane| lane as u64),
            Special::LaneMaskEqual => lanes(self, &|lane| 1 << lane),
            Special::LaneMaskLess => lanes(self, &|lane| (1 << lane) - 1),
            Special::LaneMaskLessEqual => lanes(self, &|lane| (2 << lane) - 1),
            Special::LaneMaskGreater => lanes(self, &|lane| !((2_u64 << lane) - 1) & 0xffff_ffff),
            Special::LaneMaskGreaterEqual => {
                lanes(self, &|lane| !((1_u64 << lane) - 1) & 0xffff_ffff)
            }
            Special::ClusterCtaRank => constant(self, place.rank),
            Special::ClusterCtaCount => constant(self, cx * cy * cz),
            Special::ClusterCtaIndex(axis) => constant(self, rank[usize::from(axis.min(2))]),
            Special::ClusterCtas(axis) => constant(self, place.cluster[usize::from(axis.min(2))]),
            Special::CtaIndex(axis) => {
                let axis = usize::from(axis.min(2));
                let cluster = Special::ClusterIndex(u8::try_from(axis).unwrap_or(0));
                let extent = place.cluster[axis];
                if extent == 1 {
                    return Value::Uniform(self.terms.atom(Atom::Special(special), 32));
                }
                let atom = self.terms.atom(Atom::Special(cluster), 32);
                Value::Uniform(self.terms.sum(
                    u128::from(rank[axis]),
                    &[(atom, u128::from(extent))],
                    32,
                ))
            }
            Special::ClusterIndex(axis) if place.cluster[usize::from(axis.min(2))] == 1 => {
                Value::Uniform(self.terms.atom(Atom::Special(Special::CtaIndex(axis)), 32))
            }
            Special::GridClusters(axis) if place.cluster[usize::from(axis.min(2))] == 1 => {
                Value::Uniform(self.terms.atom(Atom::Special(Special::GridCtas(axis)), 32))
            }
            Special::GridCtas(axis) if place.cluster[usize::from(axis.min(2))] > 1 => {
                let atom = self
                    .terms
                    .atom(Atom::Special(Special::GridClusters(axis)), 32);
                let extent = place.cluster[usize::from(axis.min(2))];
                Value::Uniform(self.terms.sum(0, &[(atom, u128::from(extent))], 32))
            }
            // `%warpid` need not be the number of the thread over 32.
            Special::Clock | Special::Other | Special::Warp => Value::Uniform(self.unknown_of(32)),
            _ => Value::Uniform(self.terms.atom(Atom::Special(special), 32)),
        }
    }
}
