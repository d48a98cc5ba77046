//! The values of a register in the lanes of a warp.

use std::rc::Rc;

use super::facts::Facts;
use super::term::Condition;
use super::term::Sum;

/// The lanes of a warp.
pub(in crate::ptx) const LANES: usize = 32;

/// The most groups of lanes whose integers differ by more than a constant for each lane.
const MOST_GROUPS: usize = 4;

const DIFFERS: &str = "it differs between the lanes of a warp";

/// The value of a register.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::ptx) enum Value {
    /// An integer. It is congruent to the register's bits modulo 2 to the power of the width at which it is used.
    Integer(Integer),
    /// An integer for each of several groups of lanes, where the integers of two groups do not differ by a constant. The
    /// first field is the instruction that made the groups, such as a select or a divergent branch. The value in lanes
    /// of no group is unknown.
    Groups(usize, Rc<[(u32, Integer)]>),
    /// A predicate that is uniform: it has the same value in all lanes.
    Same(Condition),
    /// A predicate with a known constant in each lane.
    Mask(u32),
    /// A predicate with a condition for each of several groups of lanes. Every lane is in one group.
    Parted(Rc<[(u32, Condition)]>),
    /// The token that an arrival at an mbarrier returned, by the number of the arrival. It stands for the phase.
    Token(u32),
    /// An unknown value.
    Lost(Rc<Loss>),
}

/// Where and why a value became unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ptx) struct Loss {
    pub at: usize,
    pub why: String,
}

/// A sum, plus a constant in each lane.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::ptx) struct Integer {
    pub sum: Sum,
    pub lanes: Option<Rc<[i128; LANES]>>,
}

impl Integer {
    pub fn same(sum: Sum) -> Integer {
        Integer { sum, lanes: None }
    }

    /// An integer that is a constant in each lane.
    pub fn lanes(lanes: [i128; LANES]) -> Integer {
        let first = lanes[0];
        if lanes.iter().all(|x| *x == first) {
            return Integer::same(Sum::of(first));
        }
        Integer {
            sum: Sum::of(0),
            lanes: Some(Rc::new(lanes)),
        }
    }

    /// The constant in each lane, if they are all known.
    pub fn constants(&self) -> Option<[i128; LANES]> {
        let constant = self.sum.as_constant()?;
        Some(match &self.lanes {
            None => [constant; LANES],
            Some(lanes) => lanes.map(|x| x + constant),
        })
    }

    /// The value in one lane.
    pub fn lane(&self, lane: usize) -> Sum {
        match &self.lanes {
            None => self.sum.clone(),
            Some(lanes) => self.sum.plus_constant(lanes[lane % LANES]),
        }
    }

    pub fn plus_times(&self, other: &Integer, factor: i128) -> Integer {
        let mut lanes = [0; LANES];
        for (lane, value) in lanes.iter_mut().enumerate() {
            let mine = self.lanes.as_ref().map_or(0, |l| l[lane]);
            let theirs = other.lanes.as_ref().map_or(0, |l| l[lane]);
            *value = mine + theirs * factor;
        }
        let offsets = Integer::lanes(lanes);
        Integer {
            sum: self.sum.plus_times(&other.sum, factor).plus(&offsets.sum),
            lanes: offsets.lanes,
        }
    }

    pub fn scaled(&self, factor: i128) -> Integer {
        Integer::same(Sum::of(0)).plus_times(self, factor)
    }

    /// The least and the greatest value in any lane.
    pub fn range(&self, facts: &Facts) -> (i128, i128) {
        let (low, high) = facts.range(&self.sum);
        match &self.lanes {
            None => (low, high),
            Some(lanes) => {
                let least = lanes.iter().copied().min().unwrap_or(0);
                let most = lanes.iter().copied().max().unwrap_or(0);
                (low + least, high + most)
            }
        }
    }
}

impl Value {
    pub fn lost(at: usize, why: impl Into<String>) -> Value {
        Value::Lost(Rc::new(Loss {
            at,
            why: why.into(),
        }))
    }

    pub fn constant(constant: i128) -> Value {
        Value::Integer(Integer::same(Sum::of(constant)))
    }

    /// The value that has `yes` in the lanes of the mask and `no` in the others.
    pub fn by_lane(mask: u32, yes: &Value, no: &Value, at: usize) -> Value {
        if mask == 0 || yes == no {
            return no.clone();
        }
        if mask == u32::MAX {
            return yes.clone();
        }
        match (yes, no) {
            (Value::Lost(loss), _) | (_, Value::Lost(loss)) => Value::Lost(Rc::clone(loss)),
            (Value::Groups(..), Value::Integer(_) | Value::Groups(..))
            | (Value::Integer(_), Value::Groups(..)) => {
                let (yes, no) = (yes.groups(), no.groups());
                let yes = yes.into_iter().map(|(lanes, value)| (lanes & mask, value));
                let no = no.into_iter().map(|(lanes, value)| (lanes & !mask, value));
                Value::grouped(yes.chain(no).collect(), at)
            }
            (Value::Integer(a), Value::Integer(b)) => {
                let difference = a.sum.minus(&b.sum);
                let Some(constant) = difference.as_constant() else {
                    let groups = vec![(mask, a.clone()), (!mask, b.clone())];
                    return Value::grouped(groups, at);
                };
                let mut lanes = [0; LANES];
                for (lane, value) in lanes.iter_mut().enumerate() {
                    *value = if mask >> lane & 1 == 1 {
                        constant + a.lanes.as_ref().map_or(0, |l| l[lane])
                    } else {
                        b.lanes.as_ref().map_or(0, |l| l[lane])
                    };
                }
                let offsets = Integer::lanes(lanes);
                Value::Integer(Integer {
                    sum: b.sum.plus(&offsets.sum),
                    lanes: offsets.lanes,
                })
            }
            _ => match (yes.parts(), no.parts()) {
                (Some(a), Some(b)) => {
                    let a = a.into_iter().map(|(lanes, c)| (lanes & mask, c));
                    let b = b.into_iter().map(|(lanes, c)| (lanes & !mask, c));
                    Value::parted(a.chain(b).collect())
                }
                _ => Value::lost(at, DIFFERS),
            },
        }
    }

    /// The value of these groups, after groups with equal integers have been merged.
    fn grouped(groups: Vec<(u32, Integer)>, at: usize) -> Value {
        let mut merged: Vec<(u32, Integer)> = Vec::new();
        for (lanes, value) in groups.into_iter().filter(|(lanes, _)| *lanes != 0) {
            match merged.iter_mut().find(|(_, other)| *other == value) {
                Some((all, _)) => *all |= lanes,
                None => merged.push((lanes, value)),
            }
        }
        match merged.as_slice() {
            [(u32::MAX, value)] => Value::Integer(value.clone()),
            groups if groups.len() <= MOST_GROUPS => Value::Groups(at, merged.into()),
            _ => Value::lost(at, DIFFERS),
        }
    }

    /// The groups of lanes of an integer.
    pub fn groups(&self) -> Vec<(u32, Integer)> {
        match self {
            Value::Integer(value) => vec![(u32::MAX, value.clone())],
            Value::Groups(_, groups) => groups.to_vec(),
            _ => Vec::new(),
        }
    }

    /// An integer that is known in these lanes only.
    pub fn among(lanes: u32, value: Integer, at: usize) -> Value {
        match lanes {
            u32::MAX => Value::Integer(value),
            lanes => Value::Groups(at, Rc::new([(lanes, value)])),
        }
    }

    /// The value restricted to these lanes: one integer, if they are all in one group.
    pub fn read(&self, lanes: u32) -> Value {
        let Value::Groups(_, groups) = self else {
            return self.clone();
        };
        match groups.iter().find(|(group, _)| lanes & !group == 0) {
            Some((_, value)) => Value::Integer(value.clone()),
            None => self.clone(),
        }
    }

    /// The value in these lanes, if it is the same in all of them.
    pub fn of_lanes(&self, lanes: u32) -> Value {
        let Value::Integer(Integer {
            sum,
            lanes: Some(offsets),
        }) = self
        else {
            return self.read(lanes);
        };
        let mut own = (0..LANES)
            .filter(|lane| lanes >> lane & 1 == 1)
            .map(|lane| offsets[lane]);
        match own.next() {
            Some(first) if own.all(|offset| offset == first) => {
                Value::Integer(Integer::same(sum.plus_constant(first)))
            }
            _ => self.clone(),
        }
    }

    /// The value `condition ? yes : no`.
    pub fn choice(
        condition: &Condition,
        yes: &Value,
        no: &Value,
        facts: &Facts,
        at: usize,
    ) -> Value {
        if yes == no {
            return yes.clone();
        }
        match facts.decide(condition) {
            Some(true) => return yes.clone(),
            Some(false) => return no.clone(),
            None => {}
        }
        match (yes, no) {
            (Value::Lost(loss), _) | (_, Value::Lost(loss)) => Value::Lost(Rc::clone(loss)),
            (Value::Groups(..), Value::Integer(_) | Value::Groups(..))
            | (Value::Integer(_), Value::Groups(..)) => {
                let mut groups = Vec::new();
                for (lanes, a) in yes.groups() {
                    for (others, b) in no.groups() {
                        let (a, b) = (Value::Integer(a.clone()), Value::Integer(b));
                        match Value::choice(condition, &a, &b, facts, at) {
                            Value::Integer(one) => groups.push((lanes & others, one)),
                            lost => return lost,
                        }
                    }
                }
                Value::grouped(groups, at)
            }
            (Value::Integer(a), Value::Integer(b)) if a.lanes == b.lanes => {
                let sum = facts.choice(condition, &a.sum, &b.sum);
                if sum.excessive() {
                    return Value::lost(at, "the arithmetic is too large to follow");
                }
                Value::Integer(Integer {
                    sum,
                    lanes: a.lanes.clone(),
                })
            }
            _ => {
                let chosen = yes.combined(no, &|a, b| {
                    let yes = condition.clone().and(a.clone());
                    yes.or(condition.negated().and(b.clone()))
                });
                chosen
                    .unwrap_or_else(|| Value::lost(at, "it differs between two ways to come here"))
            }
        }
    }

    /// The predicate as a mask, if it is known.
    pub fn mask(&self) -> Option<u32> {
        match self {
            Value::Mask(mask) => Some(*mask),
            Value::Same(Condition::Constant(true)) => Some(u32::MAX),
            Value::Same(Condition::Constant(false)) => Some(0),
            _ => None,
        }
    }

    /// The groups of lanes of a predicate, each with its condition.
    pub fn parts(&self) -> Option<Vec<(u32, Condition)>> {
        match self {
            Value::Same(condition) => Some(vec![(u32::MAX, condition.clone())]),
            Value::Mask(mask) => Some(vec![
                (*mask, Condition::Constant(true)),
                (!mask, Condition::Constant(false)),
            ]),
            Value::Parted(parts) => Some(parts.to_vec()),
            Value::Integer(_) | Value::Groups(..) | Value::Token(_) | Value::Lost(_) => None,
        }
    }

    /// The value for a use that requires the same integer in all lanes, up to a constant in each lane. Groups become unknown.
    pub fn together(self) -> Value {
        match self {
            Value::Groups(at, _) => Value::lost(at, DIFFERS),
            other => other,
        }
    }

    /// The predicate with these groups, in the simplest form.
    pub fn parted(parts: Vec<(u32, Condition)>) -> Value {
        let mut merged: Vec<(u32, Condition)> = Vec::new();
        for (lanes, condition) in parts.into_iter().filter(|(lanes, _)| *lanes != 0) {
            match merged.iter_mut().find(|(_, c)| *c == condition) {
                Some((all, _)) => *all |= lanes,
                None => merged.push((lanes, condition)),
            }
        }
        let mut mask = 0;
        for (lanes, condition) in &merged {
            match condition {
                Condition::Constant(true) => mask |= lanes,
                Condition::Constant(false) => {}
                _ if merged.len() == 1 => return Value::Same(condition.clone()),
                _ => return Value::Parted(merged.into()),
            }
        }
        match mask {
            0 => Value::Same(Condition::Constant(false)),
            u32::MAX => Value::Same(Condition::Constant(true)),
            mask => Value::Mask(mask),
        }
    }

    /// Two predicates combined by a function, group by group.
    pub fn combined(
        &self,
        other: &Value,
        with: &dyn Fn(&Condition, &Condition) -> Condition,
    ) -> Option<Value> {
        let (mine, theirs) = (self.parts()?, other.parts()?);
        let mut all = Vec::new();
        for (lanes, a) in &mine {
            let common = theirs.iter().filter(|(more, _)| lanes & more != 0);
            all.extend(common.map(|(more, b)| (lanes & more, with(a, b))));
        }
        Some(Value::parted(all))
    }

    /// The predicate restricted to these lanes. Conditions that the facts decide become constants.
    pub fn seen(&self, lanes: u32, facts: &Facts) -> Value {
        let Some(parts) = self.parts() else {
            return self.clone();
        };
        let mut seen: Vec<(u32, Condition)> = Vec::new();
        for (group, condition) in parts.into_iter().filter(|(group, _)| group & lanes != 0) {
            let known = facts.decide(&condition).map(Condition::Constant);
            seen.push((group & lanes, known.unwrap_or(condition)));
        }
        // Every lane has to be in a group. All other lanes go to the first one.
        if let Some((group, _)) = seen.first_mut() {
            *group |= !lanes;
        }
        Value::parted(seen)
    }

    pub fn negated(&self) -> Value {
        match self {
            Value::Parted(parts) => {
                Value::Parted(parts.iter().map(|(l, c)| (*l, c.negated())).collect())
            }
            Value::Same(condition) => Value::Same(condition.negated()),
            Value::Mask(mask) => Value::Mask(!mask),
            other => other.clone(),
        }
    }
}
