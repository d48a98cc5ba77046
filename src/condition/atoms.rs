//! Atoms: the comparisons from which a condition may be built, the simple ones first.

use itertools::Itertools;
use rustc_hash::FxHashSet;

use super::space::Kind;
use super::space::Number;
use crate::text::words::is_word;

/// A set of sampled points, as bits.
pub(super) type Bits = Vec<u64>;

/// A term over the numbers of a [`Space`](super::space::Space), which are given by their positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Term {
    Const(i64),
    Number(usize),
    Sum(usize, usize),
    Product(usize, usize),
    /// The position of the last of `a` items in its block of `b` items: `(a - 1) % b`.
    Last(usize, usize),
}

/// How two terms compare, or whether one divides the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Relation {
    Greater,
    Equal,
    Unequal,
    /// The right side divides the left one.
    Multiple,
    /// The right side does not divide the left one.
    NotMultiple,
}

/// `left + offset` compared with `right`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Atom {
    left: Term,
    relation: Relation,
    right: Term,
    offset: i64,
    /// How long the atom is for a reader.
    weight: u32,
}

/// How many numbers a parameter is compared with, from its least value on.
const NUMBERS: i64 = 3;

/// The numbers by which a parameter is tested for divisibility.
const DIVISORS: [i64; 3] = [2, 3, 4];

impl Term {
    fn value(self, at: &[i64]) -> i128 {
        let value = |p: usize| at.get(p).copied().map_or(0, i128::from);
        match self {
            Term::Const(number) => i128::from(number),
            Term::Number(p) => value(p),
            Term::Sum(p, q) => value(p).saturating_add(value(q)),
            Term::Product(p, q) => value(p).saturating_mul(value(q)),
            // The divisor is positive, see `candidates`.
            Term::Last(p, q) => (value(p) - 1).checked_rem_euclid(value(q)).unwrap_or(0),
        }
    }

    fn text(self, names: &[&str]) -> String {
        let name = |p: usize| names.get(p).copied().unwrap_or_default();
        match self {
            Term::Const(number) => number.to_string(),
            Term::Number(p) => name(p).to_owned(),
            Term::Sum(p, q) => format!("{} + {}", name(p), name(q)),
            Term::Product(p, q) => format!("{} * {}", tight(name(p)), tight(name(q))),
            Term::Last(p, q) => format!("({} - 1) % {}", name(p), tight(name(q))),
        }
    }

    fn numbers(self) -> Vec<usize> {
        match self {
            Term::Const(_) => Vec::new(),
            Term::Number(p) => vec![p],
            Term::Sum(p, q) | Term::Product(p, q) | Term::Last(p, q) => vec![p, q],
        }
    }

    /// How long the term is for a reader.
    fn weight(self, numbers: &[Number]) -> u32 {
        let weight = |p: usize| numbers.get(p).map_or(0, |number| number.weight);
        match self {
            Term::Const(_) => 1,
            Term::Number(p) => weight(p),
            Term::Sum(p, q) => weight(p) + weight(q) + 1,
            Term::Product(p, q) => weight(p) + weight(q) + 5,
            Term::Last(p, q) => weight(p) + weight(q) + 8,
        }
    }
}

/// A factor, in parentheses unless it is a name or one call.
fn tight(text: &str) -> String {
    let rest = text.trim_start_matches(is_word);
    let mut depth = 0_i32;
    let mut closes = rest.char_indices().filter_map(|(at, c)| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        (depth == 0).then_some(at + c.len_utf8())
    });
    match rest.is_empty() || closes.next() == Some(rest.len()) {
        true => text.to_owned(),
        false => format!("({text})"),
    }
}

impl Atom {
    pub(super) fn holds(&self, at: &[i64]) -> bool {
        let left = self.left.value(at).saturating_add(i128::from(self.offset));
        let right = self.right.value(at);
        match self.relation {
            Relation::Greater => left > right,
            Relation::Equal => left == right,
            Relation::Unequal => left != right,
            // A divisor that is not positive does not divide anything.
            Relation::Multiple => right > 0 && left % right == 0,
            Relation::NotMultiple => right <= 0 || left % right != 0,
        }
    }

    fn new(left: Term, relation: Relation, right: Term, offset: i64, numbers: &[Number]) -> Atom {
        let by = match relation {
            Relation::Greater => 1,
            Relation::Equal | Relation::Unequal => 2,
            Relation::Multiple | Relation::NotMultiple => 6,
        };
        // `a + 1 > b` is `a >= b`.
        let shift = match (relation, offset) {
            (_, 0) => 0,
            (Relation::Greater, 1) => 1,
            _ => 4,
        };
        Atom {
            left,
            relation,
            right,
            offset,
            weight: by + shift + left.weight(numbers) + right.weight(numbers),
        }
    }

    /// How long the atom is for a reader.
    pub(super) fn weight(&self) -> u32 {
        self.weight
    }

    /// The positions of the numbers that occur in it.
    pub(super) fn numbers(&self) -> Vec<usize> {
        let mut all = self.left.numbers();
        all.extend(self.right.numbers());
        all
    }

    pub(super) fn text(&self, names: &[&str]) -> String {
        self.worded(names, false)
    }

    /// Its negation, as a text.
    pub(super) fn negated(&self, names: &[&str]) -> String {
        self.worded(names, true)
    }

    fn worded(&self, names: &[&str], negated: bool) -> String {
        let (left, right) = (self.left.text(names), self.right.text(names));
        if matches!(self.relation, Relation::Multiple | Relation::NotMultiple) {
            let left = match self.left {
                Term::Number(_) => tight(&left),
                _ => format!("({left})"),
            };
            let divides = (self.relation == Relation::Multiple) != negated;
            let symbol = if divides { "==" } else { "!=" };
            return format!("{left} % {right} {symbol} 0");
        }
        // A constant stands on the right side.
        if matches!(self.left, Term::Const(_)) && self.relation == Relation::Greater {
            let symbol = if negated { ">=" } else { "<" };
            return format!("{right} {symbol} {left}");
        }
        if self.relation == Relation::Greater && self.offset == 1 {
            let symbol = if negated { "<" } else { ">=" };
            return format!("{left} {symbol} {right}");
        }
        let symbol = match (self.relation, negated) {
            (Relation::Greater, false) => ">",
            (Relation::Greater, true) => "<=",
            (Relation::Unequal, false) | (Relation::Equal, true) => "!=",
            _ => "==",
        };
        // The offset is added to the side where it is not negative.
        match self.offset {
            0 => format!("{left} {symbol} {right}"),
            offset if offset > 0 => format!("{left} + {offset} {symbol} {right}"),
            offset => format!("{left} {symbol} {right} + {}", offset.unsigned_abs()),
        }
    }
}

/// Atoms, each with the set of points at which it holds. Of the atoms with equal sets, only the lightest one is
/// listed. A point has a value for each of the numbers. Only numbers for which `matters` is true are compared.
pub(super) fn atoms(
    numbers: &[Number],
    points: &[Vec<i64>],
    matters: &dyn Fn(usize) -> bool,
) -> Vec<(Atom, Bits)> {
    let least = (0..numbers.len()).map(|n| {
        let values = points.iter().filter_map(|at| at.get(n).copied());
        values.min().unwrap_or(0)
    });
    let least: Vec<i64> = least.collect();
    let mut all = candidates(numbers, &least, matters);
    all.sort_by_key(Atom::weight);
    let mut seen = FxHashSet::default();
    let mut kept = Vec::new();
    for atom in all {
        let bits = bits(points, |at| atom.holds(at));
        if seen.insert(bits.clone()) {
            kept.push((atom, bits));
        }
    }
    kept
}

/// The set of points for which `holds` is true.
pub(super) fn bits(points: &[Vec<i64>], holds: impl Fn(&[i64]) -> bool) -> Bits {
    let mut bits = vec![0_u64; points.len().div_ceil(64)];
    for (number, point) in points.iter().enumerate() {
        if holds(point) {
            bits[number / 64] |= 1 << (number % 64);
        }
    }
    bits
}

/// Up to this many parameters, every sum or product of parameters is compared with every other one.
const FEW: usize = 3;

/// Up to this many parameters, sums of parameters are compared with products, and there are atoms about the last block.
const MIXED: usize = 5;

/// With more numbers than this, there are no sums and products, because there would be millions of pairs of them.
const SOME: usize = 12;

fn candidates(numbers: &[Number], least: &[i64], matters: &dyn Fn(usize) -> bool) -> Vec<Atom> {
    let mut all = Vec::new();
    let mut add = |left, relation, right, offset| {
        all.push(Atom::new(left, relation, right, offset, numbers));
    };
    let order = [Relation::Greater, Relation::Equal, Relation::Unequal];
    let of = |kinds: &[Kind]| -> Vec<usize> {
        let places = numbers.iter().enumerate();
        let places =
            places.filter(|(place, number)| kinds.contains(&number.kind) && matters(*place));
        places.map(|(place, _)| place).collect()
    };
    for p in of(&[Kind::Count]) {
        add(Term::Number(p), Relation::Greater, Term::Const(0), 0);
        add(Term::Number(p), Relation::Equal, Term::Const(0), 0);
    }
    let plain = of(&[Kind::Param, Kind::Value]);
    for p in plain.iter().copied() {
        for number in 0..NUMBERS {
            let number = Term::Const(least[p].saturating_add(number));
            for relation in order {
                add(Term::Number(p), relation, number, 0);
            }
            add(number, Relation::Greater, Term::Number(p), 0);
        }
        for divisor in DIVISORS {
            for relation in [Relation::Multiple, Relation::NotMultiple] {
                add(Term::Number(p), relation, Term::Const(divisor), 0);
            }
        }
    }
    let mut terms: Vec<Term> = plain.iter().copied().map(Term::Number).collect();
    let combined = if plain.len() > SOME { &[] } else { &plain[..] };
    for (place, p) in combined.iter().copied().enumerate() {
        for q in combined[place..].iter().copied() {
            if p != q {
                terms.push(Term::Sum(p, q));
            }
            terms.push(Term::Product(p, q));
        }
    }
    let params = of(&[Kind::Param]);
    for p in params.iter().copied() {
        for q in params.iter().copied().filter(|q| *q != p) {
            for relation in [Relation::Multiple, Relation::NotMultiple] {
                add(Term::Number(p), relation, Term::Number(q), 0);
            }
        }
    }
    // Atoms about a last block that is not full.
    let few = params.len() <= MIXED;
    for (p, q) in params.iter().copied().cartesian_product(params.clone()) {
        if p == q || !few || least[q] < 1 {
            continue;
        }
        for width in params.iter().copied().filter(|width| *width != q) {
            let (width, last) = (Term::Number(width), Term::Last(p, q));
            add(width, Relation::Greater, last, 0);
            add(last, Relation::Greater, width, 1);
        }
    }
    let given = |t: &Term| t.numbers().iter().all(|n| params.contains(n));
    for left in &terms {
        for right in &terms {
            let single = |t: &Term| matches!(t, Term::Number(_));
            let both = given(left) && given(right);
            let product = |t: &Term| matches!(t, Term::Product(..));
            let mixed = both && product(left) != product(right);
            // For example registers: what one role gives up, another one takes.
            let exchanged = product(left) && product(right) && !given(left) && !given(right);
            let few = exchanged || params.len() <= FEW && both || params.len() <= MIXED && mixed;
            if left == right || !(single(left) || single(right) || few) {
                continue;
            }
            for offset in [0, 1, -1] {
                add(*left, Relation::Greater, *right, offset);
                add(*left, Relation::Equal, *right, offset);
                add(*left, Relation::Unequal, *right, offset);
            }
        }
    }
    all
}
