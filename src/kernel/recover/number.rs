//! Integers of the recovered protocol: linear expressions over parameters, loop indices, counters,
//! quotients, entries of memory and functions of rounds, in a normal form, so equal expressions are equal values.

use std::collections::BTreeMap;

use super::applied::Applied;
use super::entry::Entry;

/// What an expression is made of.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Atomic {
    /// An input of the kernel, by its number.
    Input(u32),
    /// The index of a loop, by its number.
    Index(u32),
    /// A variable of the role, by its number.
    Variable(u32),
    /// Rounded down; the divisor is positive.
    Quotient(Box<Number>, i128),
    Remainder(Box<Number>, i128),
    /// The remainder by a number that is positive wherever the remainder is used.
    Modulo(Box<Number>, Box<Number>),
    Minimum(Box<Number>, Box<Number>),
    Maximum(Box<Number>, Box<Number>),
    /// Both are not below 0, and sorted. Only numbers that are awaited of a word of memory or
    /// stored to it have products.
    Product(Box<Atomic>, Box<Atomic>),
    /// Whether a word of memory is other than 0, as 0 or 1.
    Entry(Box<Entry>),
    /// A number that the rounds of loops decide, not below 0.
    Applied(Box<Applied>),
}

/// `constant + sum of coefficient * atomic`; coefficients are not 0.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Number {
    pub constant: i128,
    pub parts: BTreeMap<Atomic, i128>,
}

/// The least and the greatest value.
pub type Range = (i128, i128);

impl Number {
    /// The greatest common divisor of all coefficients; 0 if there are none.
    fn divisor(&self) -> i128 {
        self.parts.values().copied().fold(0, greatest_divisor)
    }

    pub fn constant(constant: i128) -> Self {
        Self {
            constant,
            parts: BTreeMap::new(),
        }
    }

    pub fn of(atomic: Atomic) -> Self {
        Self {
            constant: 0,
            parts: BTreeMap::from([(atomic, 1)]),
        }
    }

    pub fn as_constant(&self) -> Option<i128> {
        self.parts.is_empty().then_some(self.constant)
    }

    pub fn plus(&self, other: &Self) -> Option<Self> {
        self.with(other, 1)
    }

    pub fn minus(&self, other: &Self) -> Option<Self> {
        self.with(other, -1)
    }

    fn with(&self, other: &Self, factor: i128) -> Option<Self> {
        let mut sum = self.clone();
        sum.constant = sum
            .constant
            .checked_add(other.constant.checked_mul(factor)?)?;
        for (atomic, coefficient) in &other.parts {
            let slot = sum.parts.entry(atomic.clone()).or_default();
            *slot = slot.checked_add(coefficient.checked_mul(factor)?)?;
        }
        sum.parts.retain(|_, coefficient| *coefficient != 0);
        Some(sum)
    }

    pub fn times(&self, factor: i128) -> Option<Self> {
        Self::default().with(self, factor)
    }

    /// The product of two numbers. Neither they nor their parts are below 0.
    pub fn product(&self, other: &Self) -> Option<Self> {
        let mut sum = self.times(other.constant)?;
        for (b, factor) in &other.parts {
            sum = sum.plus(&Self::of(b.clone()).times(self.constant)?.times(*factor)?)?;
            for (a, coefficient) in &self.parts {
                let (a, b) = (a.min(b).clone(), a.max(b).clone());
                let both = Self::of(Atomic::Product(Box::new(a), Box::new(b)));
                sum = sum.plus(&both.times(*coefficient)?.times(*factor)?)?;
            }
        }
        Some(sum)
    }

    /// Rounded down. Parts that are multiples of the divisor are divided separately.
    pub fn divided(&self, divisor: i128) -> Option<Self> {
        if divisor <= 0 {
            return None;
        }
        let mut whole = Self::default();
        let mut rest = Self::default();
        for (atomic, coefficient) in &self.parts {
            if coefficient % divisor == 0 {
                whole.parts.insert(atomic.clone(), coefficient / divisor);
            } else {
                rest.parts.insert(atomic.clone(), *coefficient);
            }
        }
        whole.constant = self.constant.div_euclid(divisor);
        rest.constant = self.constant.rem_euclid(divisor);
        if rest.parts.is_empty() {
            return Some(whole);
        }
        // `(g * x + c) / (g * d)` is `(x + c / g) / d`.
        let common = rest.parts.values().copied().fold(divisor, greatest_divisor);
        let rest = rest.shrunk(common);
        whole.plus(&Self::of(Atomic::Quotient(
            Box::new(rest),
            divisor / common,
        )))
    }

    /// In `0..divisor`.
    pub fn remainder(&self, divisor: i128) -> Option<Self> {
        if divisor <= 0 {
            return None;
        }
        let mut rest = Self::default();
        for (atomic, coefficient) in &self.parts {
            let coefficient = coefficient.rem_euclid(divisor);
            if coefficient != 0 {
                rest.parts.insert(atomic.clone(), coefficient);
            }
        }
        rest.constant = self.constant.rem_euclid(divisor);
        if rest.parts.is_empty() || divisor == 1 {
            return Some(Self::constant(rest.constant % divisor));
        }
        // `(g * x + c) % (g * d)` is `g * ((x + c / g) % d) + c % g`.
        let common = rest.parts.values().copied().fold(divisor, greatest_divisor);
        let left = rest.constant.rem_euclid(common);
        let rest = rest.shrunk(common);
        Self::of(Atomic::Remainder(Box::new(rest), divisor / common))
            .times(common)?
            .plus(&Self::constant(left))
    }

    /// In `0..divisor`, for a divisor that is positive.
    pub fn modulo(&self, divisor: &Self) -> Option<Self> {
        match divisor.as_constant() {
            Some(divisor) => self.remainder(divisor),
            None if *self == Self::default() => Some(Self::default()),
            None => Some(Self::of(Atomic::Modulo(
                Box::new(self.clone()),
                Box::new(divisor.clone()),
            ))),
        }
    }

    /// Divides every coefficient by a number that divides it, and rounds the constant down.
    fn shrunk(&self, by: i128) -> Self {
        let parts = self.parts.iter();
        Self {
            constant: self.constant.div_euclid(by),
            parts: parts
                .map(|(atomic, factor)| (atomic.clone(), factor / by))
                .collect(),
        }
    }

    pub fn minimum(a: Self, b: Self) -> Self {
        match a.minus(&b).and_then(|difference| difference.as_constant()) {
            Some(difference) if difference <= 0 => a,
            Some(_) => b,
            None => Self::of(Atomic::Minimum(
                Box::new(a.clone().min(b.clone())),
                Box::new(a.max(b)),
            )),
        }
    }

    pub fn maximum(a: Self, b: Self) -> Self {
        match a.minus(&b).and_then(|difference| difference.as_constant()) {
            Some(difference) if difference >= 0 => a,
            Some(_) => b,
            None => Self::of(Atomic::Maximum(
                Box::new(a.clone().min(b.clone())),
                Box::new(a.max(b)),
            )),
        }
    }

    /// The same number, with `x - d * (x / d)` in place of `x % d`.
    pub fn without_remainders(&self) -> Option<Self> {
        let mut sum = self.clone();
        for (atomic, coefficient) in &self.parts {
            let Atomic::Remainder(inner, divisor) = atomic else {
                continue;
            };
            let quotient = inner.divided(*divisor)?;
            let expanded = inner.minus(&quotient.times(*divisor)?)?;
            sum = sum
                .minus(&Self::of(atomic.clone()).times(*coefficient)?)?
                .plus(&expanded.times(*coefficient)?)?;
        }
        Some(sum)
    }

    /// A number that is at least 0 exactly if this one is: this one divided by the common divisor
    /// of its parts, rounded down.
    pub fn tightened(&self) -> Option<Self> {
        let expanded = self.without_remainders()?;
        let common = |number: &Self| {
            number
                .parts
                .values()
                .copied()
                .reduce(greatest_divisor)
                .unwrap_or(1)
                .max(1)
        };
        // Remainders are expanded only if that gives a greater common divisor.
        let best = if common(&expanded) > common(self) {
            &expanded
        } else {
            self
        };
        best.divided(common(best))
    }

    /// The range, given the ranges of inputs, indices and variables.
    pub fn range(&self, of: &dyn Fn(&Atomic) -> Option<Range>) -> Option<Range> {
        let (mut low, mut high) = (self.constant, self.constant);
        for (atomic, coefficient) in &self.parts {
            let (a, b) = range_of(atomic, of)?;
            let (x, y) = (a.checked_mul(*coefficient)?, b.checked_mul(*coefficient)?);
            low = low.checked_add(x.min(y))?;
            high = high.checked_add(x.max(y))?;
        }
        Some((low, high))
    }

    /// Whether it is certainly not negative. For example, `x - min(x, y)` is not, whatever `x` and
    /// `y` are.
    pub fn is_natural(&self, of: &dyn Fn(&Atomic) -> Option<Range>) -> bool {
        let least = self.range(of).map(|(least, _)| least);
        least.is_some_and(|least| least >= 0)
            || self.parts.iter().any(|(atomic, coefficient)| {
                let with = |part: &Number| {
                    let own = Self::of(atomic.clone()).times(*coefficient)?;
                    let other = self.minus(&own)?.plus(&part.times(*coefficient)?)?;
                    Some(other.is_natural(of))
                };
                match atomic {
                    Atomic::Minimum(a, b) if *coefficient < 0 => {
                        [a, b].into_iter().any(|part| with(part) == Some(true))
                    }
                    Atomic::Maximum(a, b) if *coefficient > 0 => {
                        [a, b].into_iter().any(|part| with(part) == Some(true))
                    }
                    _ => false,
                }
            })
    }

    /// The expression with some atomics replaced.
    pub fn replaced(&self, by: &dyn Fn(&Atomic) -> Option<Number>) -> Option<Self> {
        let mut sum = Self::constant(self.constant);
        for (atomic, coefficient) in &self.parts {
            let number = match by(atomic) {
                Some(number) => number,
                None => match atomic {
                    Atomic::Quotient(inner, divisor) => inner.replaced(by)?.divided(*divisor)?,
                    Atomic::Remainder(inner, divisor) => inner.replaced(by)?.remainder(*divisor)?,
                    Atomic::Modulo(a, b) => a.replaced(by)?.modulo(&b.replaced(by)?)?,
                    Atomic::Minimum(a, b) => Self::minimum(a.replaced(by)?, b.replaced(by)?),
                    Atomic::Maximum(a, b) => Self::maximum(a.replaced(by)?, b.replaced(by)?),
                    Atomic::Product(a, b) => {
                        let of = |atomic: &Atomic| Self::of(atomic.clone()).replaced(by);
                        of(a)?.product(&of(b)?)?
                    }
                    Atomic::Entry(entry) => Self::of(Atomic::Entry(Box::new(entry.replaced(by)?))),
                    Atomic::Applied(one) => Self::of(Atomic::Applied(Box::new(one.replaced(by)?))),
                    other => Self::of(other.clone()),
                },
            };
            sum = sum.plus(&number.times(*coefficient)?)?;
        }
        Some(sum)
    }

    /// Calls `with` for every atomic, also for those inside of others.
    pub fn each(&self, with: &mut dyn FnMut(&Atomic)) {
        for atomic in self.parts.keys() {
            with(atomic);
            match atomic {
                Atomic::Quotient(inner, _) | Atomic::Remainder(inner, _) => inner.each(with),
                Atomic::Modulo(a, b) | Atomic::Minimum(a, b) | Atomic::Maximum(a, b) => {
                    a.each(with);
                    b.each(with);
                }
                Atomic::Product(a, b) => {
                    for factor in [a, b] {
                        Self::of((**factor).clone()).each(with);
                    }
                }
                Atomic::Entry(entry) => entry.numbers().for_each(|number| number.each(with)),
                Atomic::Applied(one) => one.coordinates.iter().for_each(|number| number.each(with)),
                Atomic::Input(_) | Atomic::Index(_) | Atomic::Variable(_) => {}
            }
        }
    }

    /// Whether it depends on variables of a role, which change while the role runs.
    pub fn has_variables(&self) -> bool {
        self.mentions(&|atomic| matches!(atomic, Atomic::Variable(_)))
    }

    /// Whether an atomic occurs anywhere.
    pub fn mentions(&self, wanted: &dyn Fn(&Atomic) -> bool) -> bool {
        let mut found = false;
        self.each(&mut |atomic| found |= wanted(atomic));
        found
    }

    /// The value, given the values of inputs, indices, variables, and entries and functions whose
    /// indices are numbers.
    pub fn value(&self, of: &dyn Fn(&Atomic) -> Option<i128>) -> Option<i128> {
        let mut sum = self.constant;
        for (atomic, coefficient) in &self.parts {
            let value = match atomic {
                Atomic::Quotient(inner, divisor) => {
                    inner.value(of)?.checked_div_euclid(*divisor)?
                }
                Atomic::Remainder(inner, divisor) => {
                    inner.value(of)?.checked_rem_euclid(*divisor)?
                }
                Atomic::Modulo(a, b) => {
                    let divisor = b.value(of).filter(|divisor| *divisor > 0)?;
                    a.value(of)?.checked_rem_euclid(divisor)?
                }
                Atomic::Minimum(a, b) => a.value(of)?.min(b.value(of)?),
                Atomic::Maximum(a, b) => a.value(of)?.max(b.value(of)?),
                Atomic::Product(a, b) => {
                    let value = |factor: &Atomic| Self::of(factor.clone()).value(of);
                    value(a)?.checked_mul(value(b)?)?
                }
                Atomic::Entry(entry) => of(&Atomic::Entry(Box::new(entry.fixed(of)?)))?,
                Atomic::Applied(one) => of(&Atomic::Applied(Box::new(one.fixed(of)?)))?,
                other => of(other)?,
            };
            sum = sum.checked_add(value.checked_mul(*coefficient)?)?;
        }
        Some(sum)
    }
}

pub fn greatest_divisor(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i128::try_from(a).unwrap_or(1)
}

fn range_of(atomic: &Atomic, of: &dyn Fn(&Atomic) -> Option<Range>) -> Option<Range> {
    Some(match atomic {
        Atomic::Quotient(inner, divisor) => {
            let (low, high) = inner.range(of)?;
            (low.div_euclid(*divisor), high.div_euclid(*divisor))
        }
        Atomic::Remainder(inner, divisor) => match inner.range(of) {
            Some((low, high)) if low >= 0 && high < *divisor => (low, high),
            _ => (0, divisor - 1),
        },
        Atomic::Modulo(_, divisor) => (0, (divisor.range(of)?.1 - 1).max(0)),
        Atomic::Minimum(a, b) => {
            let (a, b) = (a.range(of)?, b.range(of)?);
            (a.0.min(b.0), a.1.min(b.1))
        }
        Atomic::Maximum(a, b) => {
            let (a, b) = (a.range(of)?, b.range(of)?);
            (a.0.max(b.0), a.1.max(b.1))
        }
        Atomic::Product(a, b) => {
            let (a, b) = (range_of(a, of)?, range_of(b, of)?);
            let ends = |x: i128| [x.checked_mul(b.0), x.checked_mul(b.1)];
            let ends = [ends(a.0), ends(a.1)].concat();
            let ends = ends.into_iter().collect::<Option<Vec<_>>>()?;
            (*ends.iter().min()?, *ends.iter().max()?)
        }
        Atomic::Entry(_) => (0, 1),
        Atomic::Applied(one) => (0, one.most),
        other => of(other)?,
    })
}

/// A condition of the recovered protocol.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Condition {
    Constant(bool),
    /// The number is at least 0.
    AtLeastZero(Number),
    /// The number is 0.
    Zero(Number),
    NotZero(Number),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
}

impl Condition {
    /// `number >= 0`, decided if it is a constant. The common divisor of its parts is divided out:
    /// `64 * x - 65 >= 0` is `x - 2 >= 0`, because `x` is an integer.
    pub fn at_least_zero(number: Number) -> Self {
        let number = match number.divisor() {
            divisor @ 2.. => number.divided(divisor).unwrap_or(number),
            _ => number,
        };
        match number.as_constant() {
            Some(constant) => Self::Constant(constant >= 0),
            None => Self::AtLeastZero(number),
        }
    }

    /// `number == 0`. It never holds if the constant is no multiple of the common divisor of the
    /// parts.
    pub fn zero(number: Number) -> Self {
        let number = match number.divisor() {
            divisor @ 2.. if number.constant % divisor != 0 => return Self::Constant(false),
            divisor @ 2.. => number.divided(divisor).unwrap_or(number),
            _ => number,
        };
        match number.as_constant() {
            Some(constant) => Self::Constant(constant == 0),
            None => Self::Zero(number),
        }
    }

    pub fn and(a: Self, b: Self) -> Self {
        match (a, b) {
            (Self::Constant(false), _) | (_, Self::Constant(false)) => Self::Constant(false),
            (Self::Constant(true), other) | (other, Self::Constant(true)) => other,
            (a, b) if a == b => a,
            (a, b) => Self::And(Box::new(a), Box::new(b)),
        }
    }

    pub fn or(a: Self, b: Self) -> Self {
        match (a, b) {
            (Self::Constant(true), _) | (_, Self::Constant(true)) => Self::Constant(true),
            (Self::Constant(false), other) | (other, Self::Constant(false)) => other,
            (a, b) if a == b => a,
            (a, b) => Self::Or(Box::new(a), Box::new(b)),
        }
    }

    pub fn negated(self) -> Option<Self> {
        Some(match self {
            Self::Constant(truth) => Self::Constant(!truth),
            // not (n >= 0) is -n - 1 >= 0
            Self::AtLeastZero(number) => Self::at_least_zero(Number::constant(-1).minus(&number)?),
            Self::Zero(number) => Self::NotZero(number),
            Self::NotZero(number) => Self::Zero(number),
            Self::And(a, b) => Self::or(a.negated()?, b.negated()?),
            Self::Or(a, b) => Self::and(a.negated()?, b.negated()?),
        })
    }

    /// Calls `with` for every number.
    pub fn each(&self, with: &mut dyn FnMut(&Number)) {
        match self {
            Self::Constant(_) => {}
            Self::AtLeastZero(number) | Self::Zero(number) | Self::NotZero(number) => with(number),
            Self::And(a, b) | Self::Or(a, b) => {
                a.each(with);
                b.each(with);
            }
        }
    }

    /// Calls `with` for every number.
    pub fn each_mut(&mut self, with: &mut dyn FnMut(&mut Number)) {
        match self {
            Self::Constant(_) => {}
            Self::AtLeastZero(number) | Self::Zero(number) | Self::NotZero(number) => with(number),
            Self::And(a, b) | Self::Or(a, b) => {
                a.each_mut(with);
                b.each_mut(with);
            }
        }
    }

    pub fn replaced(&self, by: &dyn Fn(&Atomic) -> Option<Number>) -> Option<Self> {
        Some(match self {
            Self::Constant(truth) => Self::Constant(*truth),
            Self::AtLeastZero(number) => Self::at_least_zero(number.replaced(by)?),
            Self::Zero(number) => Self::zero(number.replaced(by)?),
            Self::NotZero(number) => Self::zero(number.replaced(by)?).negated()?,
            Self::And(a, b) => Self::and(a.replaced(by)?, b.replaced(by)?),
            Self::Or(a, b) => Self::or(a.replaced(by)?, b.replaced(by)?),
        })
    }

    /// Whether it holds, given the values of inputs, indices and variables.
    pub fn holds(&self, of: &dyn Fn(&Atomic) -> Option<i128>) -> Option<bool> {
        Some(match self {
            Self::Constant(truth) => *truth,
            Self::AtLeastZero(number) => number.value(of)? >= 0,
            Self::Zero(number) => number.value(of)? == 0,
            Self::NotZero(number) => number.value(of)? != 0,
            Self::And(a, b) => a.holds(of)? & b.holds(of)?,
            Self::Or(a, b) => a.holds(of)? | b.holds(of)?,
        })
    }
}
