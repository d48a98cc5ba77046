//! Comparisons of parameters that a condition may be made of, the plain ones first.

use rustc_hash::FxHashSet;

/// The bits of a set of sampled points.
pub(super) type Bits = Vec<u64>;

/// An integer over the parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Term {
    Const(i64),
    Param(usize),
    Sum(usize, usize),
    Product(usize, usize),
}

/// How two terms compare, or whether one divides the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Relation {
    Greater,
    Equal,
    Unequal,
    /// The right side divides the left one.
    Multiple,
    /// It does not.
    NotMultiple,
}

/// `left + offset` compared with `right`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Atom {
    left: Term,
    relation: Relation,
    right: Term,
    offset: i64,
}

/// Numbers that parameters are compared with, from their least value on.
const NUMBERS: i64 = 3;

/// Divisors.
const DIVISORS: [i64; 3] = [2, 3, 4];

impl Term {
    fn value(self, at: &[i64]) -> i128 {
        let value = |p: usize| at.get(p).copied().map_or(0, i128::from);
        match self {
            Term::Const(number) => i128::from(number),
            Term::Param(p) => value(p),
            Term::Sum(p, q) => value(p).saturating_add(value(q)),
            Term::Product(p, q) => value(p).saturating_mul(value(q)),
        }
    }

    fn text(self, names: &[&str]) -> String {
        let name = |p: usize| names.get(p).copied().unwrap_or_default();
        match self {
            Term::Const(number) => number.to_string(),
            Term::Param(p) => name(p).to_owned(),
            Term::Sum(p, q) => format!("{} + {}", name(p), name(q)),
            Term::Product(p, q) => format!("{} * {}", name(p), name(q)),
        }
    }

    fn params(self) -> Vec<usize> {
        match self {
            Term::Const(_) => Vec::new(),
            Term::Param(p) => vec![p],
            Term::Sum(p, q) | Term::Product(p, q) => vec![p, q],
        }
    }

    /// How much there is to read.
    fn weight(self) -> u32 {
        match self {
            Term::Const(_) => 1,
            Term::Param(_) => 2,
            Term::Sum(..) => 5,
            Term::Product(..) => 6,
        }
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
            // A divisor that is not positive divides nothing.
            Relation::Multiple => right > 0 && left % right == 0,
            Relation::NotMultiple => right <= 0 || left % right != 0,
        }
    }

    /// How much there is to read.
    pub(super) fn weight(&self) -> u32 {
        let relation = match self.relation {
            Relation::Greater => 1,
            Relation::Equal | Relation::Unequal => 2,
            Relation::Multiple | Relation::NotMultiple => 6,
        };
        // `a + 1 > b` is `a >= b`.
        let offset = match (self.relation, self.offset) {
            (_, 0) => 0,
            (Relation::Greater, 1) => 1,
            _ => 4,
        };
        relation + offset + self.left.weight() + self.right.weight()
    }

    /// The parameters in it.
    pub(super) fn params(&self) -> Vec<usize> {
        let mut all = self.left.params();
        all.extend(self.right.params());
        all
    }

    pub(super) fn text(&self, names: &[&str]) -> String {
        self.worded(names, false)
    }

    /// That it does not hold.
    pub(super) fn negated(&self, names: &[&str]) -> String {
        self.worded(names, true)
    }

    fn worded(&self, names: &[&str], negated: bool) -> String {
        let (left, right) = (self.left.text(names), self.right.text(names));
        if matches!(self.relation, Relation::Multiple | Relation::NotMultiple) {
            let left = match self.left {
                Term::Param(_) => left,
                _ => format!("({left})"),
            };
            let divides = (self.relation == Relation::Multiple) != negated;
            let symbol = if divides { "==" } else { "!=" };
            return format!("{left} % {right} {symbol} 0");
        }
        // A number stands on the right.
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
        // What is added goes to the side where it is not negative.
        match self.offset {
            0 => format!("{left} {symbol} {right}"),
            offset if offset > 0 => format!("{left} + {offset} {symbol} {right}"),
            offset => format!("{left} {symbol} {right} + {}", offset.unsigned_abs()),
        }
    }
}

/// Atoms that differ at the points, with the points at which each holds; the lightest of those that
/// agree.
pub(super) fn atoms(least: &[i64], points: &[Vec<i64>]) -> Vec<(Atom, Bits)> {
    let mut all = candidates(least);
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

/// The points for which something holds.
pub(super) fn bits(points: &[Vec<i64>], holds: impl Fn(&[i64]) -> bool) -> Bits {
    let mut bits = vec![0_u64; points.len().div_ceil(64)];
    for (number, point) in points.iter().enumerate() {
        if holds(point) {
            bits[number / 64] |= 1 << (number % 64);
        }
    }
    bits
}

fn candidates(least: &[i64]) -> Vec<Atom> {
    let count = least.len();
    let mut all = Vec::new();
    let mut add = |left, relation, right, offset| {
        all.push(Atom {
            left,
            relation,
            right,
            offset,
        });
    };
    let order = [Relation::Greater, Relation::Equal, Relation::Unequal];
    for (p, least) in least.iter().enumerate() {
        for number in 0..NUMBERS {
            let number = Term::Const(least.saturating_add(number));
            for relation in order {
                add(Term::Param(p), relation, number, 0);
            }
            add(number, Relation::Greater, Term::Param(p), 0);
        }
        for divisor in DIVISORS {
            for relation in [Relation::Multiple, Relation::NotMultiple] {
                add(Term::Param(p), relation, Term::Const(divisor), 0);
            }
        }
    }
    let mut terms: Vec<Term> = (0..count).map(Term::Param).collect();
    for p in 0..count {
        for q in p..count {
            if p != q {
                terms.push(Term::Sum(p, q));
            }
            terms.push(Term::Product(p, q));
        }
    }
    for p in 0..count {
        for q in (0..count).filter(|q| *q != p) {
            for relation in [Relation::Multiple, Relation::NotMultiple] {
                add(Term::Param(p), relation, Term::Param(q), 0);
            }
        }
    }
    for left in &terms {
        for right in &terms {
            let plain = |t: &Term| matches!(t, Term::Param(_));
            if left == right || !(plain(left) || plain(right) || count <= 3) {
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
