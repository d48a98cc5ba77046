//! Terms: the domain of the recovery.
//!
//! A term is a bit-vector expression over [`Atom`]s, hash-consed, so equal terms have equal
//! [`TermId`]s. Sums are kept as a constant and a sorted list of terms with coefficients, modulo
//! 2^width, so they cancel. Every rewriting keeps the value for all values of the atoms:
//! `tests` compares terms with words at random values.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use rustc_hash::FxHashSet;

use crate::ir::Special;
use crate::ir::VariableId;
use crate::meaning::Binary;
use crate::meaning::Concrete;
use crate::meaning::Domain;
use crate::meaning::Relation;
use crate::meaning::Word;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct TermId(u32);

/// Something with a value that is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Atom {
    /// Bytes of the parameter space, the lowest first.
    Parameter { offset: u32 },
    /// A number of the launch.
    Special(Special),
    /// The address in the shared window of a variable of the CTA of this rank.
    Shared { variable: VariableId, rank: u32 },
    /// The address of a variable elsewhere.
    Address { variable: VariableId },
    /// The base of the generic window of shared memory.
    SharedWindow,
    /// What a register holds at the head of a loop. The number is that of the phi.
    Phi(u32),
    /// Whether a test of an mbarrier passes. The number is that of the test.
    Test(u32),
    /// What cluster launch control has answered. The number is that of the question.
    Response(u32),
    /// A word that a warp has handed over in shared memory. The number is that of the load.
    RingWord(u32),
    /// A result that nothing is known of.
    Opaque(u32),
    /// The word of memory that a test is about, in the test alone.
    Tested,
    /// A number that loops count, in a function of rounds alone.
    Coordinate(u32),
}

/// The width of a coordinate, which is cut to that of the term that it stands for.
pub const COORDINATE_BITS: u16 = 64;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Node {
    Constant(u128),
    Atom(Atom),
    /// `constant + sum of coefficient * term`, modulo 2^width. At least two parts, or one with a
    /// coefficient that is not 1 or with a constant. Coefficients are not 0 and less than 2^width.
    Sum {
        constant: u128,
        parts: Vec<(TermId, u128)>,
    },
    Binary(Binary, TermId, TermId),
    Not(TermId),
    Relation(Relation, TermId, TermId),
    Select(TermId, TermId, TermId),
    Extend {
        term: TermId,
        signed: bool,
    },
    Extract {
        term: TermId,
        low: u16,
    },
    Concatenate(TermId, TermId),
    /// What lies at this address in global memory, where nobody writes while the kernel runs.
    Memory(TermId),
}

/// All terms of one recovery.
#[derive(Debug, Default)]
pub struct Terms {
    nodes: Vec<(Node, u16)>,
    known: FxHashMap<(Node, u16), TermId>,
    /// Sorted atoms of each term.
    atoms: Vec<Rc<[Atom]>>,
    phi_widths: FxHashMap<u32, u16>,
    /// Of each variable of the kernel, what its address is a multiple of.
    pub(super) alignments: Vec<u32>,
    /// Of each phi, how many of the lowest bits are 0.
    pub(super) phi_zeros: Vec<u32>,
}

impl Terms {
    pub fn node(&self, term: TermId) -> &Node {
        &self.nodes[term.0 as usize].0
    }

    pub fn width_of(&self, term: TermId) -> u16 {
        self.nodes[term.0 as usize].1
    }

    /// The atoms in a term, sorted.
    pub fn atoms(&self, term: TermId) -> Rc<[Atom]> {
        self.atoms[term.0 as usize].clone()
    }

    pub fn value(&self, term: TermId) -> Option<u128> {
        match self.node(term) {
            Node::Constant(bits) => Some(*bits),
            _ => None,
        }
    }

    pub fn truth(&self, term: TermId) -> Option<bool> {
        self.value(term).map(|bits| bits & 1 == 1)
    }

    /// The value of a constant as a signed number.
    pub fn signed(&self, term: TermId) -> Option<i128> {
        Some(Word::new(self.value(term)?, self.width_of(term)).signed())
    }

    pub fn atom(&mut self, atom: Atom, width: u16) -> TermId {
        if let Atom::Phi(phi) = atom {
            self.phi_widths.insert(phi, width);
        }
        self.intern(Node::Atom(atom), width)
    }

    /// Sets the alignments of the addresses of a kernel's variables.
    pub fn align(&mut self, alignments: Vec<u32>) {
        self.alignments = alignments;
    }

    /// Sets how many of the lowest bits are 0 in each phi.
    pub fn phis_are_multiples(&mut self, zeros: Vec<u32>) {
        self.phi_zeros = zeros;
    }

    /// A term that mentions some atoms, rebuilt with what is known of them by now.
    pub fn anew(&mut self, term: TermId, of: &dyn Fn(Atom) -> bool) -> TermId {
        if !self.atoms(term).iter().any(|atom| of(*atom)) {
            return term;
        }
        self.rebuilt(term, &|_| None, &mut FxHashMap::default())
    }

    /// The width of a phi that occurs.
    pub fn width_of_phi(&self, phi: u32) -> u16 {
        self.phi_widths.get(&phi).copied().unwrap_or(32)
    }

    /// What lies at an address in global memory, where nobody writes while the kernel runs.
    pub fn memory(&mut self, address: TermId, width: u16) -> TermId {
        self.intern(Node::Memory(address), width)
    }

    /// A term as `constant + sum of coefficient * part`.
    pub fn linear(&self, term: TermId) -> (u128, Vec<(TermId, u128)>) {
        match self.node(term) {
            Node::Constant(bits) => (*bits, Vec::new()),
            Node::Sum { constant, parts } => (*constant, parts.clone()),
            _ => (0, vec![(term, 1)]),
        }
    }

    pub fn sum(&mut self, constant: u128, parts: &[(TermId, u128)], width: u16) -> TermId {
        let mask = Word::new(u128::MAX, width).bits;
        let mut all: Vec<(TermId, u128)> = Vec::new();
        let mut constant = constant & mask;
        for &(term, coefficient) in parts {
            let (inner, terms) = self.linear(term);
            constant = constant.wrapping_add(inner.wrapping_mul(coefficient)) & mask;
            for (part, factor) in terms {
                let factor = factor.wrapping_mul(coefficient) & mask;
                match all.binary_search_by_key(&part, |(term, _)| *term) {
                    Ok(at) => all[at].1 = all[at].1.wrapping_add(factor) & mask,
                    Err(at) => all.insert(at, (part, factor)),
                }
            }
        }
        all.retain(|(_, coefficient)| *coefficient != 0);
        match all.as_slice() {
            [] => self.intern(Node::Constant(constant), width),
            [(term, 1)] if constant == 0 => *term,
            _ => self.intern(
                Node::Sum {
                    constant,
                    parts: all,
                },
                width,
            ),
        }
    }

    /// `a - b`.
    pub fn difference(&mut self, a: TermId, b: TermId) -> TermId {
        let width = self.width_of(a);
        let minus = Word::new(u128::MAX, width).bits;
        self.sum(0, &[(a, 1), (b, minus)], width)
    }

    fn intern(&mut self, node: Node, width: u16) -> TermId {
        let key = (node, width);
        if let Some(term) = self.known.get(&key) {
            return *term;
        }
        let atoms = self.atoms_of(&key.0);
        let term = TermId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(key.clone());
        self.atoms.push(atoms);
        self.known.insert(key, term);
        term
    }

    fn atoms_of(&self, node: &Node) -> Rc<[Atom]> {
        let children = children(node);
        if let Node::Atom(atom) = node {
            return [*atom].into();
        }
        if let [only] = children.as_slice() {
            return self.atoms(*only);
        }
        let mut all: Vec<Atom> = Vec::new();
        for child in children {
            all.extend(self.atoms(child).iter());
        }
        all.sort_unstable();
        all.dedup();
        all.into()
    }

    /// The term with atoms replaced by terms of the same width.
    pub fn substitute(&mut self, term: TermId, with: &dyn Fn(Atom) -> Option<TermId>) -> TermId {
        self.substituted(term, with, &mut FxHashMap::default())
    }

    fn substituted(
        &mut self,
        term: TermId,
        with: &dyn Fn(Atom) -> Option<TermId>,
        done: &mut FxHashMap<TermId, TermId>,
    ) -> TermId {
        if let Some(term) = done.get(&term) {
            return *term;
        }
        if !self.atoms(term).iter().any(|atom| with(*atom).is_some()) {
            return term;
        }
        self.rebuilt(term, with, done)
    }

    /// A term rebuilt from its parts. A part is replaced if `done` says so, and an atom if `with`
    /// does.
    fn rebuilt(
        &mut self,
        term: TermId,
        with: &dyn Fn(Atom) -> Option<TermId>,
        done: &mut FxHashMap<TermId, TermId>,
    ) -> TermId {
        if let Some(term) = done.get(&term) {
            return *term;
        }
        let width = self.width_of(term);
        let result = match self.node(term).clone() {
            Node::Constant(_) => term,
            Node::Atom(atom) => with(atom).unwrap_or(term),
            Node::Sum { constant, parts } => {
                let parts: Vec<_> = parts
                    .into_iter()
                    .map(|(part, factor)| (self.rebuilt(part, with, done), factor))
                    .collect();
                self.sum(constant, &parts, width)
            }
            Node::Binary(operation, a, b) => {
                let (a, b) = (self.rebuilt(a, with, done), self.rebuilt(b, with, done));
                self.binary(operation, &a, &b)
            }
            Node::Not(a) => {
                let a = self.rebuilt(a, with, done);
                self.not(&a)
            }
            Node::Relation(relation, a, b) => {
                let (a, b) = (self.rebuilt(a, with, done), self.rebuilt(b, with, done));
                self.relation(relation, &a, &b)
            }
            Node::Select(condition, a, b) => {
                let condition = self.rebuilt(condition, with, done);
                match self.truth(condition) {
                    Some(true) => self.rebuilt(a, with, done),
                    Some(false) => self.rebuilt(b, with, done),
                    None => {
                        let (a, b) = (self.rebuilt(a, with, done), self.rebuilt(b, with, done));
                        self.select(&condition, &a, &b)
                    }
                }
            }
            Node::Extend { term, signed } => {
                let term = self.rebuilt(term, with, done);
                self.extend(&term, width, signed)
            }
            Node::Extract { term, low } => {
                let term = self.rebuilt(term, with, done);
                self.extract(&term, low, width)
            }
            Node::Concatenate(a, b) => {
                let (a, b) = (self.rebuilt(a, with, done), self.rebuilt(b, with, done));
                self.concatenate(&a, &b)
            }
            Node::Memory(address) => {
                let address = self.rebuilt(address, with, done);
                self.memory(address, width)
            }
        };
        done.insert(term, result);
        result
    }

    pub fn children(&self, term: TermId) -> Vec<TermId> {
        children(self.node(term))
    }

    /// The parts of a term, itself first.
    pub fn parts(&self, term: TermId) -> Vec<TermId> {
        let mut all = vec![term];
        let mut seen = FxHashSet::from_iter([term]);
        let mut at = 0;
        while let Some(next) = all.get(at).copied() {
            at += 1;
            for child in children(self.node(next)) {
                if seen.insert(child) {
                    all.push(child);
                }
            }
        }
        all
    }

    /// What the parts of a term divide by.
    pub fn divisors(&self, term: TermId) -> Vec<TermId> {
        let parts = self.parts(term).into_iter();
        let divisor = |part| match self.node(part) {
            Node::Binary(
                Binary::DivideSigned
                | Binary::DivideUnsigned
                | Binary::RemainderSigned
                | Binary::RemainderUnsigned,
                _,
                by,
            ) => Some(*by),
            _ => None,
        };
        parts.filter_map(divisor).collect()
    }

    /// Whether any term was computed from a word of memory.
    pub fn read_memory(&self) -> bool {
        let mut nodes = self.nodes.iter();
        nodes.any(|(node, _)| matches!(node, Node::Memory(_)))
    }

    /// The words of memory that a term is computed from. Where one is computed from another, that one comes first.
    pub fn memory_in(&self, term: TermId) -> Vec<TermId> {
        let mut words = self.parts(term);
        words.retain(|part| matches!(self.node(*part), Node::Memory(_)));
        // A term is interned behind its parts.
        words.sort_unstable();
        words
    }

    /// A term with one of its parts replaced by an equal one.
    pub fn replaced(&mut self, term: TermId, part: TermId, by: TermId) -> TermId {
        let mut done = FxHashMap::default();
        done.insert(part, by);
        // Everything is rebuilt: terms that contain the part change.
        let all = |_: Atom| None;
        self.rebuilt(term, &all, &mut done)
    }

    fn words(&self, a: TermId, b: TermId) -> Option<(Word, Word)> {
        let width = self.width_of(a);
        Some((
            Word::new(self.value(a)?, width),
            Word::new(self.value(b)?, width),
        ))
    }

    fn of_word(&mut self, word: Word) -> TermId {
        self.intern(Node::Constant(word.bits), word.width)
    }
}

fn children(node: &Node) -> Vec<TermId> {
    match node {
        Node::Constant(_) | Node::Atom(_) => Vec::new(),
        Node::Sum { parts, .. } => parts.iter().map(|(term, _)| *term).collect(),
        Node::Binary(_, a, b) | Node::Relation(_, a, b) | Node::Concatenate(a, b) => vec![*a, *b],
        Node::Not(a)
        | Node::Extend { term: a, .. }
        | Node::Extract { term: a, .. }
        | Node::Memory(a) => {
            vec![*a]
        }
        Node::Select(a, b, c) => vec![*a, *b, *c],
    }
}

impl Domain for Terms {
    type Value = TermId;

    fn constant(&mut self, bits: u128, width: u16) -> TermId {
        self.of_word(Word::new(bits, width))
    }

    fn width(&self, value: &TermId) -> u16 {
        self.width_of(*value)
    }

    fn binary(&mut self, operation: Binary, a: &TermId, b: &TermId) -> TermId {
        let (a, b) = (*a, *b);
        let width = self.width_of(a);
        if let Some((x, y)) = self.words(a, b) {
            let word = Concrete.binary(operation, &x, &y);
            return self.of_word(word);
        }
        let ones = Word::new(u128::MAX, width).bits;
        let (x, y) = (self.value(a), self.value(b));
        match operation {
            Binary::Add => return self.sum(0, &[(a, 1), (b, 1)], width),
            Binary::Subtract => return self.difference(a, b),
            Binary::Multiply => {
                if let Some(factor) = y {
                    return self.sum(0, &[(a, factor)], width);
                }
                if let Some(factor) = x {
                    return self.sum(0, &[(b, factor)], width);
                }
            }
            Binary::ShiftLeft => {
                if let Some(by) = y {
                    let by = u32::try_from(by).ok().filter(|by| *by < u32::from(width));
                    return match by {
                        Some(by) => self.sum(0, &[(a, 1_u128 << by)], width),
                        None => self.constant(0, width),
                    };
                }
            }
            Binary::ShiftRightLogical | Binary::ShiftRightArithmetic => {
                if y == Some(0) {
                    return a;
                }
                if operation == Binary::ShiftRightArithmetic && self.most(a) <= ones >> 1 {
                    return self.binary(Binary::ShiftRightLogical, &a, &b);
                }
                if let Some(by) = y.and_then(|by| u32::try_from(by).ok())
                    && operation == Binary::ShiftRightLogical
                    && self.most(a).checked_shr(by).unwrap_or(0) == 0
                {
                    return self.constant(0, width);
                }
                // The bits of the constant below those of all other parts carry nothing into the bits that are kept.
                if let Some(by) = y.and_then(|by| u32::try_from(by).ok())
                    && let Node::Sum { constant, parts } = self.node(a).clone()
                {
                    let zeros = |(part, factor): &(TermId, u128)| {
                        self.low_zeros(*part)
                            .saturating_add(factor.trailing_zeros())
                    };
                    let zeros = parts.iter().map(zeros).min().unwrap_or(0);
                    let free = zeros.min(by).min(u32::from(width) - 1);
                    let kept = constant >> free << free;
                    if kept != constant {
                        let above = self.sum(kept, &parts, width);
                        return self.binary(operation, &above, &b);
                    }
                }
                // All parts but the constant are multiples of the divisor, and nothing wraps
                // around.
                if let Some(by) = y.and_then(|by| u32::try_from(by).ok())
                    && by < u32::from(width)
                    && operation == Binary::ShiftRightLogical
                    && self.most(a) < ones
                    && let Node::Sum { constant, parts } = self.node(a).clone()
                    && parts
                        .iter()
                        .all(|(_, factor)| factor.trailing_zeros() >= by)
                {
                    let parts: Vec<_> = parts
                        .iter()
                        .map(|(part, factor)| (*part, factor >> by))
                        .collect();
                    return self.sum(constant >> by, &parts, width);
                }
            }
            Binary::And => {
                if x == Some(0) || y == Some(0) {
                    return self.constant(0, width);
                }
                if y == Some(ones) || a == b {
                    return a;
                }
                if x == Some(ones) {
                    return b;
                }
                // The mask keeps all bits that may be set.
                for (value, mask) in [(a, y), (b, x)] {
                    if let Some(mask) = mask {
                        if let Some(address) = self.of_pair(value, mask) {
                            return address;
                        }
                        let most = self.most(value);
                        let bits = u128::BITS - most.leading_zeros();
                        let may = if bits >= 128 {
                            u128::MAX
                        } else {
                            (1 << bits) - 1
                        };
                        let zeros = self.low_zeros(value);
                        let may = if zeros >= 128 {
                            0
                        } else {
                            may >> zeros << zeros
                        };
                        if may & !mask == 0 {
                            return value;
                        }
                        // The lowest bits of a sum are those of the sum of what is left of its parts.
                        if let Some(modulus) = mask.checked_add(1)
                            && modulus.is_power_of_two()
                            && let Node::Sum { constant, parts } = self.node(value).clone()
                        {
                            let kept: Vec<_> = parts
                                .iter()
                                .map(|(part, factor)| (*part, factor & mask))
                                .collect();
                            let reduced = self.sum(constant & mask, &kept, width);
                            if reduced != value {
                                let mask = self.constant(mask, width);
                                return self.binary(Binary::And, &reduced, &mask);
                            }
                        }
                    }
                }
            }
            Binary::Or | Binary::Xor => {
                if x == Some(0) {
                    return b;
                }
                if y == Some(0) {
                    return a;
                }
                if a == b {
                    return if operation == Binary::Or {
                        a
                    } else {
                        self.constant(0, width)
                    };
                }
                if operation == Binary::Xor && y == Some(ones) {
                    return self.not(&a);
                }
                if operation == Binary::Or && (x == Some(ones) || y == Some(ones)) {
                    return self.constant(ones, width);
                }
                // If the two have no bits in common, these operations are sums.
                let (zeros_a, zeros_b) = (self.low_zeros(a), self.low_zeros(b));
                let fits = |most: u128, zeros: u32| zeros >= 128 || most >> zeros == 0;
                if fits(self.most(a), zeros_b) || fits(self.most(b), zeros_a) {
                    return self.sum(0, &[(a, 1), (b, 1)], width);
                }
            }
            Binary::DivideUnsigned | Binary::DivideSigned if y == Some(1) => return a,
            Binary::RemainderUnsigned | Binary::RemainderSigned if y == Some(1) => {
                return self.constant(0, width);
            }
            Binary::DivideUnsigned if y.is_some_and(u128::is_power_of_two) => {
                let by = y.map_or(0, u128::trailing_zeros);
                let by = self.constant(u128::from(by), width);
                return self.binary(Binary::ShiftRightLogical, &a, &by);
            }
            Binary::RemainderUnsigned if y.is_some_and(u128::is_power_of_two) => {
                let mask = self.constant(y.unwrap_or(1) - 1, width);
                return self.binary(Binary::And, &a, &mask);
            }
            Binary::DivideSigned | Binary::RemainderSigned => {
                let half = ones >> 1;
                if self.most(a) <= half && self.most(b) <= half {
                    let unsigned = if operation == Binary::DivideSigned {
                        Binary::DivideUnsigned
                    } else {
                        Binary::RemainderUnsigned
                    };
                    return self.binary(unsigned, &a, &b);
                }
            }
            Binary::DivideUnsigned | Binary::RemainderUnsigned => {}
        }
        let (a, b) = if operation.commutes() && b < a {
            (b, a)
        } else {
            (a, b)
        };
        self.intern(Node::Binary(operation, a, b), width)
    }

    fn not(&mut self, a: &TermId) -> TermId {
        let width = self.width_of(*a);
        match self.node(*a) {
            Node::Constant(bits) => self.constant(!*bits, width),
            Node::Not(inner) => *inner,
            // On words of several bits it is `-a - 1`, which cancels in sums.
            _ if width > 1 => {
                let minus = Word::new(u128::MAX, width).bits;
                self.sum(minus, &[(*a, minus)], width)
            }
            _ => self.intern(Node::Not(*a), width),
        }
    }

    fn relation(&mut self, relation: Relation, a: &TermId, b: &TermId) -> TermId {
        let (mut a, mut b) = (*a, *b);
        if a == b {
            return self.constant(u128::from(relation == Relation::Equal), 1);
        }
        if let Some((x, y)) = self.words(a, b) {
            let word = Concrete.relation(relation, &x, &y);
            return self.of_word(word);
        }
        let width = self.width_of(a);
        if relation == Relation::Equal {
            if width == 1 {
                for (value, other) in [(a, b), (b, a)] {
                    match self.truth(value) {
                        Some(true) => return other,
                        Some(false) => return self.not(&other),
                        None => {}
                    }
                }
            }
            // `a - b == 0`, the constant on one side.
            let difference = self.difference(a, b);
            if let Some(bits) = self.value(difference) {
                return self.constant(u128::from(bits == 0), 1);
            }
            for (value, other) in [(a, b), (b, a)] {
                if self
                    .value(other)
                    .is_some_and(|bits| bits > self.most(value))
                {
                    return self.constant(0, 1);
                }
                // A choice is compared with a constant on each of its sides.
                if self.value(other).is_some()
                    && let Node::Select(condition, x, y) = *self.node(value)
                    && (self.value(x).is_some() || self.value(y).is_some())
                {
                    let x = self.relation(relation, &x, &other);
                    let y = self.relation(relation, &y, &other);
                    return self.select(&condition, &x, &y);
                }
                // The value is compared before it is extended.
                if let Some(bits) = self.value(other)
                    && let Node::Extend {
                        term,
                        signed: false,
                    } = *self.node(value)
                {
                    let narrow = self.constant(bits, self.width_of(term));
                    return self.relation(relation, &term, &narrow);
                }
            }
            if b < a {
                (a, b) = (b, a);
            }
        }
        if relation == Relation::LessUnsigned {
            if self.value(b) == Some(0) {
                return self.constant(0, 1);
            }
            if self.value(b).is_some_and(|bits| self.most(a) < bits) {
                return self.constant(1, 1);
            }
            if self.value(a).is_some_and(|bits| self.most(b) <= bits) {
                return self.constant(0, 1);
            }
        }
        if relation == Relation::LessSigned {
            let half = Word::new(u128::MAX, width).bits >> 1;
            if self.most(a) <= half && self.most(b) <= half {
                let (x, y) = (self.value(a), self.value(b));
                if y == Some(0) || x.is_some_and(|bits| self.most(b) <= bits) {
                    return self.constant(0, 1);
                }
                if y.is_some_and(|bits| self.most(a) < bits) {
                    return self.constant(1, 1);
                }
            }
        }
        self.intern(Node::Relation(relation, a, b), 1)
    }

    fn select(&mut self, condition: &TermId, then: &TermId, otherwise: &TermId) -> TermId {
        if then == otherwise {
            return *then;
        }
        match self.truth(*condition) {
            Some(true) => return *then,
            Some(false) => return *otherwise,
            None => {}
        }
        if let Node::Not(inner) = *self.node(*condition) {
            return self.select(&inner, otherwise, then);
        }
        let width = self.width_of(*then);
        if width == 1 {
            match (self.truth(*then), self.truth(*otherwise)) {
                (Some(true), Some(false)) => return *condition,
                (Some(false), Some(true)) => return self.not(condition),
                (Some(false), None) => {
                    let not = self.not(condition);
                    return self.binary(Binary::And, &not, otherwise);
                }
                (None, Some(false)) => return self.binary(Binary::And, condition, then),
                (Some(true), None) => return self.binary(Binary::Or, condition, otherwise),
                _ => {}
            }
        }
        self.intern(Node::Select(*condition, *then, *otherwise), width)
    }

    fn extend(&mut self, a: &TermId, width: u16, signed: bool) -> TermId {
        let from = self.width_of(*a);
        if from == width {
            return *a;
        }
        if let Some(bits) = self.value(*a) {
            let word = Concrete.extend(&Word::new(bits, from), width, signed);
            return self.of_word(word);
        }
        let signed = signed && self.most(*a) > Word::new(u128::MAX, from).bits >> 1;
        match *self.node(*a) {
            Node::Extend {
                term,
                signed: inner,
            } if inner == signed || !inner => self.intern(
                Node::Extend {
                    term,
                    signed: inner,
                },
                width,
            ),
            Node::Select(condition, x, y) if self.value(x).is_some() || self.value(y).is_some() => {
                let (x, y) = (
                    self.extend(&x, width, signed),
                    self.extend(&y, width, signed),
                );
                self.select(&condition, &x, &y)
            }
            _ => self.intern(Node::Extend { term: *a, signed }, width),
        }
    }

    fn extract(&mut self, a: &TermId, low: u16, width: u16) -> TermId {
        let from = self.width_of(*a);
        if low == 0 && width == from {
            return *a;
        }
        if let Some(bits) = self.value(*a) {
            let word = Concrete.extract(&Word::new(bits, from), low, width);
            return self.of_word(word);
        }
        match self.node(*a).clone() {
            Node::Extend { term, signed } => {
                let inner = self.width_of(term);
                if low + width <= inner {
                    return self.extract(&term, low, width);
                }
                if low == 0 {
                    return self.extend(&term, width, signed);
                }
                if low >= inner && !signed {
                    return self.constant(0, width);
                }
            }
            Node::Concatenate(high, bottom) => {
                let split = self.width_of(bottom);
                if low + width <= split {
                    return self.extract(&bottom, low, width);
                }
                if low >= split {
                    return self.extract(&high, low - split, width);
                }
            }
            Node::Extract { term, low: inner } => return self.extract(&term, low + inner, width),
            // The lowest bits of a sum are the sum of the lowest bits.
            Node::Sum { constant, parts } if low == 0 => {
                let parts: Vec<_> = parts
                    .into_iter()
                    .map(|(part, factor)| (self.extract(&part, 0, width), factor))
                    .collect();
                return self.sum(constant, &parts, width);
            }
            Node::Select(condition, x, y) => {
                let (x, y) = (self.extract(&x, low, width), self.extract(&y, low, width));
                return self.select(&condition, &x, &y);
            }
            Node::Binary(operation @ (Binary::And | Binary::Or | Binary::Xor), x, y) => {
                let (x, y) = (self.extract(&x, low, width), self.extract(&y, low, width));
                return self.binary(operation, &x, &y);
            }
            Node::Binary(Binary::Multiply, x, y) if low == 0 => {
                let (x, y) = (self.extract(&x, 0, width), self.extract(&y, 0, width));
                return self.binary(Binary::Multiply, &x, &y);
            }
            Node::Binary(Binary::ShiftRightLogical, x, by) => {
                if let Some(by) = self.value(by).and_then(|by| u16::try_from(by).ok())
                    && low
                        .checked_add(by)
                        .and_then(|end| end.checked_add(width))
                        .is_some_and(|end| end <= from)
                {
                    return self.extract(&x, low + by, width);
                }
            }
            Node::Binary(Binary::ShiftRightArithmetic, x, by) => {
                let sign = from - 1;
                let by = self.value(by).and_then(|by| u16::try_from(by).ok());
                // Only copies of the sign are left.
                if by.is_some_and(|by| low.saturating_add(by) >= sign) {
                    let sign = self.extract(&x, sign, 1);
                    return self.extend(&sign, width, true);
                }
            }
            _ => {}
        }
        self.intern(Node::Extract { term: *a, low }, width)
    }

    fn concatenate(&mut self, high: &TermId, low: &TermId) -> TermId {
        let width = self.width_of(*high) + self.width_of(*low);
        if let (Some(x), Some(y)) = (self.value(*high), self.value(*low)) {
            let (x, y) = (
                Word::new(x, self.width_of(*high)),
                Word::new(y, self.width_of(*low)),
            );
            let word = Concrete.concatenate(&x, &y);
            return self.of_word(word);
        }
        if self.value(*high) == Some(0) {
            return self.extend(low, width, false);
        }
        // Neighbouring parts of one term are one part of it.
        if let (
            Node::Extract { term: x, low: top },
            Node::Extract {
                term: y,
                low: bottom,
            },
        ) = (self.node(*high), self.node(*low))
            && x == y
            && *top == bottom + self.width_of(*low)
        {
            let (term, bottom) = (*y, *bottom);
            return self.extract(&term, bottom, width);
        }
        self.intern(Node::Concatenate(*high, *low), width)
    }
}

impl Terms {
    /// A term in words, for messages about what is not understood.
    pub fn shown(&self, term: TermId) -> String {
        self.shown_to(term, 12)
    }

    fn shown_to(&self, term: TermId, depth: u32) -> String {
        if depth == 0 {
            return "..".to_owned();
        }
        let of = |term: &TermId| self.shown_to(*term, depth - 1);
        match self.node(term) {
            Node::Constant(bits) => Word::new(*bits, self.width_of(term)).signed().to_string(),
            Node::Atom(atom) => format!("{atom:?}"),
            Node::Sum { constant, parts } => {
                let mut text: Vec<String> = parts
                    .iter()
                    .map(|(part, factor)| {
                        format!(
                            "{}*{}",
                            Word::new(*factor, self.width_of(term)).signed(),
                            of(part)
                        )
                    })
                    .collect();
                text.push(
                    Word::new(*constant, self.width_of(term))
                        .signed()
                        .to_string(),
                );
                format!("({})", text.join(" + "))
            }
            Node::Binary(operation, a, b) => format!("{operation:?}({}, {})", of(a), of(b)),
            Node::Not(a) => format!("not({})", of(a)),
            Node::Relation(relation, a, b) => format!("{relation:?}({}, {})", of(a), of(b)),
            Node::Select(c, a, b) => format!("({} ? {} : {})", of(c), of(a), of(b)),
            Node::Extend { term, signed } => {
                format!("{}ext({})", if *signed { "s" } else { "z" }, of(term))
            }
            Node::Extract { term, low } => format!("{}[{low}..]", of(term)),
            Node::Concatenate(a, b) => format!("{}::{}", of(a), of(b)),
            Node::Memory(address) => format!("memory[{}]", of(address)),
        }
    }
}
