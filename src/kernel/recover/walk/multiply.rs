//! The matrices in shared memory that tensor cores read: where they begin, by their descriptors.
//!
//! For example, `((tile + 4096 * i) >> 4) & 0x3fff` are the bits of a descriptor that say where the matrix begins, in
//! units of 16 bytes. Shared memory has fewer than 2^18 bytes. So an address of shared memory divided by 16 fits into
//! these 14 bits, and the shift and the mask lose nothing. So the matrix begins at `tile + 4096 * i`. The layout of
//! elements refuses places outside of a variable.
//!
//! This holds only if the shifted term is itself an address of shared memory. `tile + 4096 * i` is one if the matrix
//! begins there. But something may be added behind the shift, such as `256 * j`. Then the sum may lie in `tile`
//! although `i` is negative. So a moving term may be added only if what is shifted is at least 0 and below 2^18,
//! whatever its parts are. A constant `c` may be added if `4096 * i + c` is negative for every negative `i`.

use std::collections::BTreeSet;

use super::Path;
use super::Result;
use super::Value;
use super::Walker;
use super::groups::MULTIPLICATION;
use super::lane_of;
use super::refuse;
use crate::interpret::Access;
use crate::ir::GroupKind;
use crate::ir::Lasts;
use crate::ir::Location;
use crate::ir::Matrices;
use crate::ir::Operand;
use crate::ir::PLACE;
use crate::ir::Product;
use crate::ir::UNIT;
use crate::ir::VariableId;
use crate::meaning::Binary;
use crate::meaning::Domain;
use crate::meaning::Word;
use crate::recover::number::greatest_divisor;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::term::Terms;
use crate::recover::tree::EventKind;
use crate::recover::tree::Statement;

/// The bytes of the largest swizzled atom, as a power of two.
const LARGEST_ATOM: u32 = 10;

/// How many values 32 bits have.
const WORD: u128 = 1 << 32;

/// More bytes than shared memory has: as many as the 14 bits of a descriptor can address.
const SHARED: u128 = 1 << 18;

const CARRIED: &str = "where a matrix begins does not follow from its descriptor";

/// Where a matrix begins: the bits of its descriptor above the place, the moving part, the bytes
/// from there, and what the moving part is a multiple of.
struct Begin {
    bits: u64,
    base: TermId,
    from: i128,
    known: i128,
}

impl Walker<'_> {
    /// The events of what a multiplication reads.
    pub(super) fn multiply(
        &mut self,
        matrices: &Matrices,
        lasts: Option<Lasts>,
        mask: u32,
        path: &mut Path,
        out: &mut Vec<Statement>,
        location: &Location,
    ) -> Result<()> {
        match lasts {
            Some(Lasts::Commit) => self.start_tensor(mask, location)?,
            _ => self.whole(mask, path, MULTIPLICATION, location)?,
        }
        if lasts == Some(Lasts::Group) {
            self.start(GroupKind::Multiply, mask, path, location)?;
        }
        self.ordered(mask, lasts.is_some(), path, location)?;
        if path.order.own_copies {
            return refuse(super::touches::OWN_COPIES, location);
        }
        let word = match matrices.product {
            Product::Tensor { word, .. } => {
                let word = self.of_all(word, 32, mask, path, location)?;
                self.bits_of(word, Matrices::WORD)
            }
            Product::Warpgroup { .. } => None,
        };
        let shapes = match matrices.shapes(word) {
            Ok(shapes) => shapes,
            Err(reason) => return refuse(reason, location),
        };
        if lasts.is_some() {
            self.mark_late(mask, path, out);
        }
        for (descriptor, shape) in matrices.descriptors().into_iter().zip(shapes) {
            let term = self.of_all(descriptor, 64, mask, path, location)?;
            let read = |begin: &Begin| matrices.read(begin.bits, (begin.from, begin.known), shape);
            let Some(begin) = self.begin(term, None) else {
                return refuse(CARRIED, location);
            };
            let found = match read(&begin) {
                Ok(bytes) => Ok((begin, bytes)),
                // Dynamic shared memory may be taken to begin at a multiple of the largest atom.
                Err(reason) => match self
                    .leveled()
                    .and_then(|which| self.begin(term, Some(which)))
                {
                    Some(begin) => read(&begin).map(|bytes| {
                        *self.levels = true;
                        (begin, bytes)
                    }),
                    None => Err(reason),
                },
            };
            let (begin, bytes) = match found {
                Ok(found) => found,
                Err(reason) => return refuse(reason, location),
            };
            let access = match lasts {
                Some(_) => Access::ReadLater,
                None => Access::Read,
            };
            let kind = EventKind::Access {
                base: begin.base,
                bytes: bytes.into(),
                access,
            };
            self.put_event(kind, mask.count_ones(), location, out);
        }
        Ok(())
    }

    /// The value of an operand in all of these lanes.
    fn of_all(
        &mut self,
        operand: Operand,
        width: u16,
        mask: u32,
        path: &Path,
        location: &Location,
    ) -> Result<TermId> {
        let value: Value = self.operand(operand, width, &path.state);
        let lanes = (0..32).filter(|lane| mask >> lane & 1 == 1);
        let terms: BTreeSet<TermId> = lanes.map(|lane| lane_of(&value, lane)).collect();
        match terms.len() {
            1 => Ok(terms.into_iter().next().unwrap_or_default()),
            _ => refuse("lanes of a warp multiply different matrices", location),
        }
    }

    /// Some bits of a word, if they are the same for all outcomes of its choices.
    fn bits_of(&mut self, word: TermId, mask: u32) -> Option<u32> {
        const MOST: usize = 64;
        let mut open = vec![word];
        let mut found = None;
        let mut looked = 0;
        while let Some(term) = open.pop() {
            looked += 1;
            if looked > MOST {
                return None;
            }
            if let Some(value) = self.terms.value(term) {
                let bits = u32::try_from(value & u128::from(mask)).ok()?;
                if *found.get_or_insert(bits) != bits {
                    return None;
                }
                continue;
            }
            let parts = self.terms.parts(term);
            let condition = parts
                .into_iter()
                .find_map(|part| match self.terms.node(part) {
                    Node::Select(condition, ..) => Some(*condition),
                    _ => None,
                })?;
            for truth in [0, 1] {
                let truth = self.terms.constant(truth, 1);
                open.push(self.terms.replaced(term, condition, truth));
            }
        }
        found
    }

    /// The only dynamic variable, if no other could lie in front of it.
    fn leveled(&self) -> Option<VariableId> {
        let shared = self.kernel.variables.iter().zip(0..);
        let mut shared = shared.filter(|(variable, _)| variable.space.may_be_shared());
        match (shared.next(), shared.next()) {
            (Some((variable, number)), None) if variable.size.is_none() => Some(VariableId(number)),
            _ => None,
        }
    }

    /// Where the matrix of a descriptor begins. `leveled` is a variable that is assumed to begin at
    /// a multiple of the largest atom.
    fn begin(&mut self, descriptor: TermId, leveled: Option<VariableId>) -> Option<Begin> {
        let Fields {
            bits, place, parts, ..
        } = self.fields(descriptor)?;
        let mut known = 1_i128 << LARGEST_ATOM;
        let mut base = None;
        let mut rest = Vec::new();
        for (part, factor) in parts {
            let zeros = match *self.terms.node(part) {
                Node::Atom(Atom::Shared { variable, rank })
                    if factor == 1 && base.is_none() && rank == self.place.rank =>
                {
                    base = Some(part);
                    match leveled == Some(variable) {
                        true => LARGEST_ATOM,
                        false => self.terms.low_zeros(part),
                    }
                }
                _ if self.terms.atoms(part).iter().any(is_address) => return None,
                _ => {
                    rest.push((part, factor));
                    factor.trailing_zeros() + self.terms.low_zeros(part)
                }
            };
            known = known.min(1 << zeros.min(LARGEST_ATOM));
        }
        rest.push((base?, 1));
        Some(Begin {
            bits,
            base: self.terms.sum(0, &rest, 32),
            // Of 32 bits, with a sign.
            from: Word::new(u128::from(place), 32).signed(),
            known,
        })
    }

    /// A descriptor as fields.
    fn fields(&mut self, term: TermId) -> Option<Fields> {
        let unit = UNIT.unsigned_abs();
        match self.terms.node(term).clone() {
            Node::Constant(value) => Some(
                Fields {
                    bits: u64::try_from(value).ok()? & !PLACE,
                    place: u64::try_from(value).ok()? & PLACE,
                    parts: Vec::new(),
                    room: None,
                }
                .in_bytes(),
            ),
            Node::Sum { constant, parts } => {
                let constant = self.terms.constant(constant, 64);
                let mut all = self.fields(constant)?;
                for (part, factor) in parts {
                    let one = match factor {
                        1 => self.fields(part)?,
                        _ => self.places(part, factor)?,
                    };
                    all = all.beside(one)?;
                }
                Some(all)
            }
            Node::Binary(Binary::Or, a, b) => {
                let (a, b) = (self.fields(a)?, self.fields(b)?);
                let (below_a, below_b) = (a.zeros(self.terms), b.zeros(self.terms));
                match a.is_below(below_b) || b.is_below(below_a) {
                    true => a.with(b),
                    false => None,
                }
            }
            Node::Concatenate(high, low) if self.terms.width_of(low) == 32 => {
                let high = u64::try_from(self.bits_above(high)?).ok()?;
                let low = self.fields(low)?;
                Some(Fields {
                    bits: low.bits | high << 32,
                    ..low
                })
            }
            Node::Extract { term, low: 0 } if self.terms.width_of(term) > 32 => {
                let all = self.fields(term)?;
                Some(Fields {
                    bits: all.bits & u64::from(u32::MAX),
                    ..all
                })
            }
            Node::Extend {
                term,
                signed: false,
            } => self.fields(term),
            // The bits of the place are those of the sum, whatever is above them.
            Node::Binary(Binary::And, a, b) => {
                let (value, mask) = match (self.terms.value(a), self.terms.value(b)) {
                    (Some(mask), _) => (b, mask),
                    (_, Some(mask)) => (a, mask),
                    _ => return None,
                };
                let all = self.fields(value)?;
                let kept = u64::try_from(mask).ok()?;
                // Bits that are cut off below are 0 anyhow.
                let zeros = all.zeros(self.terms) / UNIT.unsigned_abs();
                let whole = (kept & PLACE) | (u64::try_from(zeros).unwrap_or(1).max(1) - 1);
                (whole & PLACE == PLACE).then_some(Fields {
                    bits: all.bits & kept,
                    ..all
                })
            }
            // An address in units.
            Node::Binary(Binary::ShiftRightLogical, address, by)
                if self.terms.value(by) == Some(u128::from(UNIT.trailing_zeros())) =>
            {
                let (constant, parts) = self.terms.linear(address);
                let parts: Option<Vec<_>> = parts
                    .into_iter()
                    .map(|(part, factor)| Some((self.words(part)?, factor)))
                    .collect();
                let parts = parts?;
                let room = self.room(constant, &parts)?;
                let all = Fields {
                    bits: 0,
                    place: u64::try_from(constant).ok()?,
                    parts,
                    room,
                };
                (all.zeros(self.terms) >= unit).then_some(all)
            }
            _ => self.places(term, 1),
        }
    }

    /// What may be added behind the shift of an address, see [`Fields::room`]. `None` if the shifted term may be no
    /// address of shared memory.
    fn room(&self, constant: u128, parts: &[(TermId, u128)]) -> Option<Option<u64>> {
        let is_base = |part: &TermId| matches!(self.terms.node(*part), Node::Atom(Atom::Shared { rank, .. }) if *rank == self.place.rank);
        let moving = || {
            parts
                .iter()
                .filter(|(part, factor)| !(*factor == 1 && is_base(part)))
        };
        let mut most = Some(constant);
        for (part, factor) in moving() {
            let one = self.terms.most(*part).checked_mul(*factor);
            most = most.zip(one).and_then(|(most, one)| most.checked_add(one));
        }
        if most.is_some_and(|most| most < SHARED) {
            return Some(None);
        }
        if moving().count() == parts.len() {
            return None;
        }
        // Of 32 bits, with a sign.
        let signed = |word: u128| Word::new(word, 32).signed();
        let factors = moving().map(|(_, factor)| signed(*factor));
        let step = Some(factors.fold(0, greatest_divisor).abs()).filter(|step| *step > 0)?;
        u64::try_from(step - signed(constant).rem_euclid(step))
            .ok()
            .map(Some)
    }

    /// So many times a number of places, in bytes.
    fn places(&mut self, term: TermId, factor: u128) -> Option<Fields> {
        let factor = factor.checked_mul(UNIT.unsigned_abs())?;
        // More would reach into the bits above the place.
        let whole = self.terms.most(term).checked_mul(factor)? < SHARED;
        whole.then_some(Fields::of(self.words(term)?, factor))
    }

    /// What the upper half of a descriptor is, which is a constant or taken from a descriptor.
    fn bits_above(&mut self, high: TermId) -> Option<u128> {
        if let Some(value) = self.terms.value(high) {
            return Some(value);
        }
        match *self.terms.node(high) {
            Node::Extract { term, low: 32 } => Some(u128::from(self.fields(term)?.bits >> 32)),
            _ => None,
        }
    }

    /// A term in 32 bits, of which nothing is lost.
    fn words(&mut self, term: TermId) -> Option<TermId> {
        match self.terms.width_of(term) {
            32 => Some(term),
            64 if self.terms.most(term) < WORD => Some(self.terms.extract(&term, 0, 32)),
            _ => None,
        }
    }
}

/// A descriptor: the bits above the place, and the place in bytes as a constant and a sum of terms. All of it modulo
/// 2^18, as the place has 14 bits of 16 bytes. Nothing is carried from the place into the bits above it, since it is
/// a place of shared memory.
#[derive(Debug, Clone)]
struct Fields {
    bits: u64,
    place: u64,
    parts: Vec<(TermId, u128)>,
    /// Where an address has been shifted that is in shared memory only because the matrix begins there: what has to
    /// be added at least so that a place outside becomes one inside.
    room: Option<u64>,
}

impl Fields {
    fn of(term: TermId, factor: u128) -> Self {
        Self {
            bits: 0,
            place: 0,
            parts: vec![(term, factor)],
            room: None,
        }
    }

    /// What is counted in units, in bytes.
    fn in_bytes(self) -> Self {
        Self {
            place: self.place * u64::try_from(UNIT).unwrap_or(1),
            ..self
        }
    }

    /// Whether the place is a constant below this, so that it has no bit in common with a multiple of it.
    fn is_below(&self, multiple: u128) -> bool {
        u128::from(self.place) < multiple && self.parts.is_empty()
    }

    /// The sum of both, if their bits are apart.
    fn beside(self, other: Self) -> Option<Self> {
        match self.bits & other.bits {
            0 => self.with(other),
            _ => None,
        }
    }

    /// The sum of both places, with the bits of both.
    fn with(self, other: Self) -> Option<Self> {
        let left = |room: Option<u64>, added: &Self| match room {
            None => Some(None),
            Some(room) if added.parts.is_empty() && added.place < room => {
                Some(Some(room - added.place))
            }
            Some(_) => None,
        };
        let (own, others) = (left(self.room, &other)?, left(other.room, &self)?);
        Some(Self {
            bits: self.bits | other.bits,
            place: self.place.checked_add(other.place)?,
            parts: [self.parts, other.parts].concat(),
            room: own.or(others),
        })
    }

    /// The power of two that the place is a multiple of, as far as it matters.
    fn zeros(&self, terms: &Terms) -> u128 {
        let constant = match self.place {
            0 => LARGEST_ATOM,
            place => place.trailing_zeros(),
        };
        let parts = self.parts.iter();
        let parts = parts.map(|(part, factor)| factor.trailing_zeros() + terms.low_zeros(*part));
        1 << parts.fold(constant, u32::min).min(LARGEST_ATOM)
    }
}

/// Whether an atom is an address, or the base of one.
fn is_address(atom: &Atom) -> bool {
    matches!(
        atom,
        Atom::Shared { .. } | Atom::SharedWindow | Atom::Address { .. }
    )
}
