//! Known low bits. If a value is a constant plus a multiple of 2^k, its low k bits are those of the constant, in each
//! lane. On these bits `and`, `or` and `xor` are computed exactly, as swizzled addresses need.

use super::machine::Machine;
use super::machine::State;
use super::machine::wrap;
use super::term::Atom;
use super::term::Sum;
use super::value::Integer;

/// More bits are not looked at.
const MOST_BITS: u32 = 62;

impl Machine<'_, '_> {
    /// `and`, `or` or `xor`, where one side has its bits in places that are known in the other, or that are 0
    /// there.
    pub fn bitwise(
        &self,
        name: &str,
        operands: &[&Integer],
        bits: u32,
        state: &State,
    ) -> Option<Integer> {
        let [a, b] = operands else { return None };
        if !matches!(name, "and" | "or" | "xor") {
            return None;
        }
        let sides = [(*a, *b), (*b, *a)];
        let known = sides.iter().find_map(|(value, other)| {
            let masks = other.constants()?.map(|mask| wrap(mask, false, bits));
            let below = 1i128 << self.known_below(&value.sum).min(bits);
            let low = value.each().map(|x| x.rem_euclid(below));
            let small = masks.iter().all(|mask| *mask < below);
            let above = masks
                .iter()
                .all(|mask| mask | (below - 1) == (1i128 << bits) - 1);
            let with = |f: &dyn Fn(i128, i128) -> i128| {
                let mut lanes = low;
                for (lane, mask) in lanes.iter_mut().zip(masks) {
                    *lane = f(*lane, mask);
                }
                Integer::lanes(lanes)
            };
            match name {
                "and" if small => Some(with(&|x, mask| x & mask)),
                // What is cleared is taken away.
                "and" if above => Some(value.plus_times(&with(&|x, mask| x & !mask), -1)),
                "or" if small => Some(value.plus_times(&with(&|x, mask| mask & !x), 1)),
                "xor" if small => Some(value.plus_times(&with(&|x, mask| (x ^ mask) - x), 1)),
                _ => None,
            }
        });
        known.or_else(|| {
            // Side by side, where one is a multiple of more than the other is.
            let beside = |(high, low): &(&Integer, &Integer)| {
                let zeros = high.each().iter().fold(MOST_BITS, |all, x| match x {
                    0 => all,
                    x => all.min(x.trailing_zeros()),
                });
                let zeros = zeros.min(self.known_below(&high.sum)).min(bits);
                let (least, most) = low.range(&state.facts);
                least >= 0 && most < 1 << zeros
            };
            let apart = name != "and" && sides.iter().any(beside);
            apart.then(|| a.plus_times(b, 1))
        })
    }

    /// How many of the lowest bits are those of the constants: all else is a multiple of that power of two.
    fn known_below(&self, sum: &Sum) -> u32 {
        let multiple =
            |(atom, factor): (&Atom, &i128)| (factor * self.multiple(atom)).trailing_zeros();
        let least = sum.terms.iter().map(multiple).min();
        least.unwrap_or(MOST_BITS).min(MOST_BITS)
    }
}

impl Integer {
    /// The constant in each lane, beside what is not constant.
    fn each(&self) -> [i128; super::value::LANES] {
        let constant = self.sum.constant;
        match &self.lanes {
            None => [constant; super::value::LANES],
            Some(lanes) => lanes.map(|x| x + constant),
        }
    }
}
