//! Known bits of a term: the lowest bits that are 0, an upper bound, and the rank of the CTA in an
//! address.

use rustc_hash::FxHashMap;

use crate::ir::Special;
use crate::meaning::Binary;
use crate::meaning::Word;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::term::Terms;

/// A mask for addresses in the shared memory window of a cluster. `address & PEER` is the same
/// place in the CTA of even rank in a pair of CTAs. The rank begins at bit 24. Source:
/// `Sm100MmaPeerBitMask` of CUTLASS.
const PEER: u128 = 0xfeff_ffff;

impl Terms {
    /// How many of the lowest bits are 0 for all values of the atoms.
    pub fn low_zeros(&self, term: TermId) -> u32 {
        let width = u32::from(self.width_of(term));
        match self.node(term) {
            Node::Constant(0) => width,
            Node::Constant(bits) => bits.trailing_zeros(),
            Node::Sum { constant, parts } => {
                let mut least = if *constant == 0 {
                    width
                } else {
                    constant.trailing_zeros()
                };
                for (part, factor) in parts {
                    least = least.min(
                        self.low_zeros(*part)
                            .saturating_add(factor.trailing_zeros()),
                    );
                }
                least.min(width)
            }
            Node::Atom(Atom::Shared { variable, .. }) => {
                let alignment = self.alignments.get(variable.0 as usize);
                alignment.map_or(0, |alignment| alignment.trailing_zeros())
            }
            Node::Atom(Atom::Phi(phi)) => {
                let zeros = self.phi_zeros.get(*phi as usize);
                zeros.copied().unwrap_or(0).min(width)
            }
            Node::Binary(Binary::And, a, b) => self.low_zeros(*a).max(self.low_zeros(*b)),
            Node::Extend { term, .. } => self.low_zeros(*term).min(width),
            _ => 0,
        }
    }

    /// An upper bound of a term, read as unsigned.
    pub fn most(&self, term: TermId) -> u128 {
        let all = Word::new(u128::MAX, self.width_of(term)).bits;
        match self.node(term) {
            Node::Constant(bits) => *bits,
            Node::Extend {
                term,
                signed: false,
            } => self.most(*term),
            Node::Binary(Binary::And, a, b) => self.most(*a).min(self.most(*b)),
            Node::Binary(Binary::ShiftRightLogical, a, b) => {
                match self.value(*b).and_then(|b| u32::try_from(b).ok()) {
                    Some(by) => self.most(*a).checked_shr(by).unwrap_or(0),
                    None => self.most(*a),
                }
            }
            Node::Binary(Binary::RemainderUnsigned, _, b) => match self.value(*b) {
                Some(divisor) if divisor > 0 => divisor - 1,
                _ => all,
            },
            Node::Binary(Binary::DivideUnsigned, a, b) => match self.value(*b) {
                Some(divisor) if divisor > 0 => self.most(*a) / divisor,
                _ => all,
            },
            Node::Select(_, a, b) => self.most(*a).max(self.most(*b)),
            Node::Atom(Atom::Special(special)) => match special {
                Special::CtaIndex(_) => 0x7fff_fffe,
                Special::GridCtas(_) => 0x7fff_ffff,
                // Terms have these only where a cluster has two CTAs or more along the axis, so
                // there are half as many.
                Special::ClusterIndex(_) => 0x3fff_fffe,
                Special::GridClusters(_) => 0x3fff_ffff,
                _ => all,
            },
            Node::Sum { constant, parts } => {
                let mut most = *constant;
                for (part, factor) in parts {
                    let Some(product) = self.most(*part).checked_mul(*factor) else {
                        return all;
                    };
                    let Some(total) = most.checked_add(product) else {
                        return all;
                    };
                    most = total;
                }
                if most > all { all } else { most }
            }
            _ => all,
        }
    }

    /// The address of the same place in the shared memory of another CTA. `rank` gives the CTA for
    /// each one.
    pub fn of_rank(&mut self, address: TermId, rank: &dyn Fn(u32) -> u32) -> TermId {
        let atoms = self.atoms(address);
        let mut with: FxHashMap<Atom, TermId> = FxHashMap::default();
        for atom in atoms.iter() {
            if let Atom::Shared {
                variable,
                rank: own,
            } = *atom
            {
                let to = Atom::Shared {
                    variable,
                    rank: rank(own),
                };
                with.insert(*atom, self.atom(to, 32));
            }
        }
        self.substitute(address, &|atom| with.get(&atom).copied())
    }

    /// The result of `address & mask`, if the mask clears the lowest bit of the rank, and otherwise
    /// only bits that are 0 anyway.
    pub(super) fn of_pair(&mut self, address: TermId, mask: u128) -> Option<TermId> {
        let atoms = self.atoms(address);
        let shared = |atom: &Atom| matches!(atom, Atom::Shared { .. });
        if self.width_of(address) != 32 || !atoms.iter().any(shared) {
            return None;
        }
        let kept = u32::try_from(mask).ok()?.trailing_zeros();
        (kept <= self.low_zeros(address) && mask | ((1 << kept) - 1) == PEER)
            .then(|| self.of_rank(address, &|rank| rank & !1))
    }
}
