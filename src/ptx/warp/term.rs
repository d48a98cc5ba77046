//! Integers of the kernel as sums of unknowns, and conditions over them.
//!
//! A [`Sum`] is in a normal form in which `x % k` is `x - k * (x / k)`. So different ways to compute a stage of a ring
//! give the same sum.

use std::collections::BTreeMap;
use std::rc::Rc;

/// An unknown, by its number in the table of unknowns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::ptx) struct Unknown(pub u32);

/// What a sum is made of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::ptx) enum Atom {
    /// An unknown.
    Unknown(Unknown),
    /// The quotient, rounded down, by something positive.
    Quotient(Rc<Sum>, Rc<Sum>),
    /// A product of other atoms, in order.
    Product(Vec<Atom>),
    /// What is read at an address of memory that nobody writes while the kernel runs.
    Cell(Rc<Sum>, Cell),
    /// How many numbers from 0 up to the sum, and below it, satisfy the condition. In there the unknown stands for
    /// the number; it means nothing outside.
    Count(Rc<Condition>, Unknown, Rc<Sum>),
    /// The one where the condition holds, else the other.
    Choice(Rc<Condition>, Rc<Sum>, Rc<Sum>),
}

/// How memory is read: the size in bytes, and the bounds of what is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::ptx) struct Cell {
    pub bytes: u32,
    pub low: i64,
    pub high: i64,
}

impl Cell {
    /// Memory read with this sign and width. Words of 32 bits and more are taken to be neither
    /// negative nor larger than an `int`.
    pub fn of(signed: bool, bits: u32) -> Cell {
        let (low, high) = match (signed, bits) {
            (true, 8 | 16) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            (false, 8 | 16) => (0, (1 << bits) - 1),
            _ => (0, i64::from(i32::MAX)),
        };
        Cell {
            bytes: bits / 8,
            low,
            high,
        }
    }
}

/// A constant and multiples of atoms.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(in crate::ptx) struct Sum {
    pub constant: i128,
    pub terms: BTreeMap<Atom, i128>,
}

/// A condition that has the same value in all lanes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::ptx) enum Condition {
    Constant(bool),
    /// The sum is below 0.
    Negative(Sum),
    /// The sum is 0.
    Zero(Sum),
    Not(Rc<Condition>),
    And(Rc<Condition>, Rc<Condition>),
    Or(Rc<Condition>, Rc<Condition>),
    /// The test of an mbarrier succeeded, when it was made.
    Passed(Rc<Test>),
}

/// A test of an mbarrier.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::ptx) struct Test {
    pub barrier: Sum,
    /// The parity of the phase; none if it is that of the warp's last arrival.
    pub parity: Option<Sum>,
    /// How it orders memory, as the language writes it.
    pub memory: &'static str,
    /// Which test it is of those that the warp makes: a later one may succeed where this one failed.
    pub time: u64,
}

impl Test {
    fn mentions(&self, which: &dyn Fn(Unknown) -> bool) -> bool {
        self.barrier.mentions(which) || self.parity.as_ref().is_some_and(|p| p.mentions(which))
    }
}

/// Coefficients beyond this are not followed.
const LARGEST: i128 = 1 << 80;

/// Sums of more parts, with those inside their quotients and choices, are not followed.
const MOST_PARTS: usize = 400;

/// Sums of more terms are not followed.
const MOST_TERMS: usize = 48;

/// Nor are sums of more choices: what is done with one is done in each case.
const MOST_CHOICES: usize = 6;

impl Sum {
    pub fn of(constant: i128) -> Sum {
        Sum {
            constant,
            terms: BTreeMap::new(),
        }
    }

    pub fn atom(atom: Atom) -> Sum {
        Sum {
            constant: 0,
            terms: BTreeMap::from([(atom, 1)]),
        }
    }

    pub fn unknown(unknown: Unknown) -> Sum {
        Sum::atom(Atom::Unknown(unknown))
    }

    pub fn as_constant(&self) -> Option<i128> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The only term, if there is nothing else.
    pub fn single(&self) -> Option<(&Atom, i128)> {
        let mut terms = self.terms.iter();
        let (atom, factor) = terms.next()?;
        (self.constant == 0 && terms.next().is_none()).then_some((atom, *factor))
    }

    /// How many choices there are in it.
    pub fn choices(&self) -> usize {
        let of = |atom: &Atom| match atom {
            Atom::Choice(_, a, b) => 1 + a.choices() + b.choices(),
            Atom::Quotient(a, b) => a.choices() + b.choices(),
            Atom::Count(_, _, upto) => upto.choices(),
            Atom::Unknown(_) | Atom::Product(_) | Atom::Cell(..) => 0,
        };
        self.terms.keys().map(of).sum()
    }

    /// Whether it is so large that it is better given up.
    pub fn excessive(&self) -> bool {
        self.terms.len() > MOST_TERMS
            || self.parts_left(MOST_PARTS).is_none()
            || self.choices() > MOST_CHOICES
            || self.constant.abs() > LARGEST
            || self.terms.values().any(|c| c.abs() > LARGEST)
    }

    /// How many more parts than there are in it there may be: sums share parts, so they may be far larger than they look.
    fn parts_left(&self, most: usize) -> Option<usize> {
        self.terms.keys().try_fold(most, |left, atom| {
            let left = left.checked_sub(1)?;
            match atom {
                Atom::Quotient(a, b) | Atom::Choice(_, a, b) => b.parts_left(a.parts_left(left)?),
                Atom::Count(_, _, sum) | Atom::Cell(sum, _) => sum.parts_left(left),
                Atom::Unknown(_) | Atom::Product(_) => Some(left),
            }
        })
    }

    pub fn plus(&self, other: &Sum) -> Sum {
        self.plus_times(other, 1)
    }

    pub fn minus(&self, other: &Sum) -> Sum {
        self.plus_times(other, -1)
    }

    pub fn plus_constant(&self, constant: i128) -> Sum {
        let mut sum = self.clone();
        sum.constant += constant;
        sum
    }

    pub fn plus_times(&self, other: &Sum, factor: i128) -> Sum {
        let mut sum = self.clone();
        sum.constant += other.constant * factor;
        for (atom, coefficient) in &other.terms {
            sum.add(atom.clone(), coefficient * factor);
        }
        sum
    }

    fn add(&mut self, atom: Atom, coefficient: i128) {
        let entry = self.terms.entry(atom).or_insert(0);
        *entry += coefficient;
        if *entry == 0 {
            self.terms.retain(|_, c| *c != 0);
        }
    }

    pub fn scaled(&self, factor: i128) -> Sum {
        Sum::of(0).plus_times(self, factor)
    }

    pub fn times(&self, other: &Sum) -> Sum {
        let mut sum = self.scaled(other.constant);
        for (atom, coefficient) in &other.terms {
            sum = sum.plus_times(&Sum::atom(atom.clone()), self.constant * coefficient);
            for (mine, factor) in &self.terms {
                let mut factors = Vec::new();
                for part in [mine, atom] {
                    match part {
                        Atom::Product(parts) => factors.extend(parts.iter().cloned()),
                        one => factors.push(one.clone()),
                    }
                }
                factors.sort();
                sum.add(Atom::Product(factors), coefficient * factor);
            }
        }
        sum
    }

    /// The quotient by a constant, if it leaves no remainder.
    pub fn exactly_over(&self, divisor: i128) -> Option<Sum> {
        let divides = |c: i128| divisor != 0 && c % divisor == 0;
        if !divides(self.constant) || !self.terms.values().all(|c| divides(*c)) {
            return None;
        }
        Some(Sum {
            constant: self.constant / divisor,
            terms: self
                .terms
                .iter()
                .map(|(a, c)| (a.clone(), c / divisor))
                .collect(),
        })
    }

    /// The coefficient of an unknown and what is left, where it occurs nowhere else.
    pub fn split(&self, unknown: Unknown) -> Option<(Sum, Sum)> {
        let (mut slope, mut rest) = (Sum::of(0), Sum::of(self.constant));
        for (atom, coefficient) in &self.terms {
            match atom {
                Atom::Unknown(u) if *u == unknown => slope.constant += coefficient,
                Atom::Product(parts) => {
                    let mut others = parts.clone();
                    let at = others.iter().position(|p| *p == Atom::Unknown(unknown));
                    if let Some(at) = at {
                        others.remove(at);
                        if others.iter().any(|p| p.mentions(&|u| u == unknown)) {
                            return None;
                        }
                        let left = match others.as_slice() {
                            [one] => one.clone(),
                            _ => Atom::Product(others),
                        };
                        slope.add(left, *coefficient);
                    } else if atom.mentions(&|u| u == unknown) {
                        return None;
                    } else {
                        rest.add(atom.clone(), *coefficient);
                    }
                }
                other if other.mentions(&|u| u == unknown) => return None,
                other => rest.add(other.clone(), *coefficient),
            }
        }
        Some((slope, rest))
    }

    pub fn mentions(&self, which: &dyn Fn(Unknown) -> bool) -> bool {
        self.terms.keys().any(|atom| atom.mentions(which))
    }

    /// Whether what is read from memory occurs in it.
    pub fn reads_memory(&self) -> bool {
        self.terms.keys().any(Atom::reads_memory)
    }

    /// Whether it depends on one of these tests of mbarriers.
    pub fn tests(&self, which: &dyn Fn(&Test) -> bool) -> bool {
        self.terms.keys().any(|atom| atom.tests(which))
    }

    /// Whether numbers are counted in it.
    pub fn counts(&self) -> bool {
        self.terms.keys().any(Atom::counts)
    }

    /// Looks at the atoms in it, and inside of those for which it is said so.
    pub fn look(&self, inside: &mut dyn FnMut(&Atom) -> bool) {
        self.terms.keys().for_each(|atom| atom.look(inside));
    }

    /// Finds `factor * (dividend % divisor)` in it: the dividend, the divisor, the factor, and what
    /// is left. A quotient of a quotient is one by the product.
    pub fn remainder(&self) -> Option<(Rc<Sum>, i128, i128, Sum)> {
        for (atom, coefficient) in &self.terms {
            let Atom::Quotient(dividend, divisor) = atom else {
                continue;
            };
            let (mut dividend, mut divisor) = (dividend, divisor.as_constant());
            while let Some(k) = divisor.filter(|k| *k > 1) {
                if coefficient % k == 0 {
                    let factor = -(coefficient / k);
                    let mut left = self.clone();
                    left.add(atom.clone(), -coefficient);
                    let left = left.plus_times(dividend, -factor);
                    if left.terms.len() < self.terms.len() {
                        return Some((Rc::clone(dividend), k, factor, left));
                    }
                }
                let Some((Atom::Quotient(inner, by), 1)) = dividend.single() else {
                    break;
                };
                divisor = by.as_constant().and_then(|by| k.checked_mul(by));
                dividend = inner;
            }
        }
        None
    }
}

impl Atom {
    pub fn mentions(&self, which: &dyn Fn(Unknown) -> bool) -> bool {
        match self {
            Atom::Unknown(u) => which(*u),
            Atom::Cell(address, _) => address.mentions(which),
            Atom::Quotient(a, b) => a.mentions(which) || b.mentions(which),
            Atom::Product(parts) => parts.iter().any(|p| p.mentions(which)),
            Atom::Count(c, own, upto) => {
                c.mentions(&|u| u != *own && which(u)) || upto.mentions(which)
            }
            Atom::Choice(c, a, b) => c.mentions(which) || a.mentions(which) || b.mentions(which),
        }
    }

    /// How many numbers below a sum satisfy a condition on this unknown.
    pub fn count(condition: &Condition, own: Unknown, upto: &Sum) -> Sum {
        if upto.as_constant().is_some_and(|upto| upto <= 0) {
            return Sum::of(0);
        }
        Sum::atom(Atom::Count(
            Rc::new(condition.clone()),
            own,
            Rc::new(upto.clone()),
        ))
    }
}

impl Atom {
    fn look(&self, inside: &mut dyn FnMut(&Atom) -> bool) {
        if !inside(self) {
            return;
        }
        match self {
            Atom::Unknown(_) => {}
            Atom::Cell(address, _) => address.look(inside),
            Atom::Quotient(a, b) => {
                a.look(inside);
                b.look(inside);
            }
            Atom::Product(parts) => parts.iter().for_each(|part| part.look(inside)),
            Atom::Count(c, _, upto) => {
                c.look(inside);
                upto.look(inside);
            }
            Atom::Choice(c, a, b) => {
                c.look(inside);
                a.look(inside);
                b.look(inside);
            }
        }
    }

    fn tests(&self, which: &dyn Fn(&Test) -> bool) -> bool {
        match self {
            Atom::Cell(address, _) => address.tests(which),
            Atom::Unknown(_) => false,
            Atom::Quotient(a, b) => a.tests(which) || b.tests(which),
            Atom::Product(parts) => parts.iter().any(|part| part.tests(which)),
            Atom::Count(c, _, upto) => c.tests_some(which) || upto.tests(which),
            Atom::Choice(c, a, b) => c.tests_some(which) || a.tests(which) || b.tests(which),
        }
    }

    fn counts(&self) -> bool {
        match self {
            Atom::Count(..) => true,
            Atom::Unknown(_) => false,
            Atom::Cell(address, _) => address.counts(),
            Atom::Quotient(a, b) => a.counts() || b.counts(),
            Atom::Product(parts) => parts.iter().any(Atom::counts),
            Atom::Choice(c, a, b) => c.counts() || a.counts() || b.counts(),
        }
    }

    fn reads_memory(&self) -> bool {
        match self {
            Atom::Cell(..) => true,
            Atom::Unknown(_) => false,
            Atom::Quotient(a, b) => a.reads_memory() || b.reads_memory(),
            Atom::Product(parts) => parts.iter().any(Atom::reads_memory),
            Atom::Count(c, _, upto) => c.reads_memory() || upto.reads_memory(),
            Atom::Choice(c, a, b) => c.reads_memory() || a.reads_memory() || b.reads_memory(),
        }
    }
}

impl Condition {
    /// Whether what is read from memory occurs in it.
    pub fn reads_memory(&self) -> bool {
        match self {
            Condition::Constant(_) | Condition::Passed(_) => false,
            Condition::Negative(sum) | Condition::Zero(sum) => sum.reads_memory(),
            Condition::Not(inner) => inner.reads_memory(),
            Condition::And(a, b) | Condition::Or(a, b) => a.reads_memory() || b.reads_memory(),
        }
    }

    /// Whether numbers are counted in it.
    pub fn counts(&self) -> bool {
        match self {
            Condition::Constant(_) | Condition::Passed(_) => false,
            Condition::Negative(sum) | Condition::Zero(sum) => sum.counts(),
            Condition::Not(inner) => inner.counts(),
            Condition::And(a, b) | Condition::Or(a, b) => a.counts() || b.counts(),
        }
    }

    /// Looks at the atoms in it, and inside of those for which it is said so.
    pub fn look(&self, inside: &mut dyn FnMut(&Atom) -> bool) {
        match self {
            Condition::Constant(_) => {}
            Condition::Passed(test) => {
                test.barrier.look(inside);
                test.parity.iter().for_each(|parity| parity.look(inside));
            }
            Condition::Negative(sum) | Condition::Zero(sum) => sum.look(inside),
            Condition::Not(inner) => inner.look(inside),
            Condition::And(a, b) | Condition::Or(a, b) => {
                a.look(inside);
                b.look(inside);
            }
        }
    }

    /// That a test of an mbarrier succeeded.
    pub fn passed(test: Test) -> Condition {
        Condition::Passed(Rc::new(test))
    }

    pub fn negated(&self) -> Condition {
        match self {
            Condition::Constant(value) => Condition::Constant(!value),
            Condition::Negative(sum) => Condition::Negative(sum.scaled(-1).plus_constant(-1)),
            Condition::Not(inner) => (**inner).clone(),
            Condition::And(a, b) => Condition::Or(Rc::new(a.negated()), Rc::new(b.negated())),
            Condition::Or(a, b) => Condition::And(Rc::new(a.negated()), Rc::new(b.negated())),
            Condition::Zero(_) | Condition::Passed(_) => Condition::Not(Rc::new(self.clone())),
        }
    }

    pub fn and(self, other: Condition) -> Condition {
        match (self, other) {
            (Condition::Constant(true), c) | (c, Condition::Constant(true)) => c,
            (Condition::Constant(false), _) | (_, Condition::Constant(false)) => {
                Condition::Constant(false)
            }
            (a, b) if a == b => a,
            (a, b) => Condition::And(Rc::new(a), Rc::new(b)),
        }
    }

    pub fn or(self, other: Condition) -> Condition {
        self.negated().and(other.negated()).negated()
    }

    pub fn mentions(&self, which: &dyn Fn(Unknown) -> bool) -> bool {
        match self {
            Condition::Constant(_) => false,
            Condition::Passed(test) => test.mentions(which),
            Condition::Negative(sum) | Condition::Zero(sum) => sum.mentions(which),
            Condition::Not(inner) => inner.mentions(which),
            Condition::And(a, b) | Condition::Or(a, b) => a.mentions(which) || b.mentions(which),
        }
    }

    /// Whether a sum is 0, or below 0. Of a choice between constants that is the condition that decides.
    pub fn about(sum: Sum, exact: bool) -> Condition {
        if let [(Atom::Choice(condition, yes, no), factor)] =
            sum.terms.iter().collect::<Vec<_>>().as_slice()
        {
            let holds = |arm: &Sum| {
                let value = sum.constant + **factor * arm.as_constant()?;
                Some(if exact { value == 0 } else { value < 0 })
            };
            match (holds(yes), holds(no)) {
                (Some(true), Some(false)) => return (**condition).clone(),
                (Some(false), Some(true)) => return condition.negated(),
                (Some(known), Some(_)) => return Condition::Constant(known),
                _ => {}
            }
        }
        if exact {
            Condition::Zero(sum)
        } else {
            Condition::Negative(sum)
        }
    }

    /// Whether the test of an mbarrier occurs in it.
    pub fn tests(&self) -> bool {
        self.tests_some(&|_| true)
    }

    /// Whether one of these tests of mbarriers occurs in it.
    pub fn tests_some(&self, which: &dyn Fn(&Test) -> bool) -> bool {
        match self {
            Condition::Passed(test) => which(test),
            Condition::Constant(_) => false,
            Condition::Negative(sum) | Condition::Zero(sum) => sum.tests(which),
            Condition::Not(inner) => inner.tests_some(which),
            Condition::And(a, b) | Condition::Or(a, b) => {
                a.tests_some(which) || b.tests_some(which)
            }
        }
    }
}
