//! Bounds of the minimum or maximum of two sums. Programs and compilers write these as a select on a comparison, as in `i
//! < stages && i < n`. The trip count of that loop is at most `stages`, however large `n` is.

use super::term::Condition;
use super::term::Sum;

/// Between which bounds a choice lies, given those of what it is between.
pub(super) fn range_of_choice(
    condition: &Condition,
    (yes, no): (&Sum, &Sum),
    (a, b): ((i128, i128), (i128, i128)),
) -> (i128, i128) {
    let (low, high) = (a.0.min(b.0), a.1.max(b.1));
    let Condition::Negative(sum) = condition else {
        return (low, high);
    };
    let difference = yes.minus(no);
    // yes < no - k, and otherwise no <= yes + k.
    if let Some(k) = sum.minus(&difference).as_constant() {
        let below = a.1.min(b.1.saturating_sub(k + 1));
        let other = b.1.min(a.1.saturating_add(k));
        return (low, below.max(other));
    }
    // no + k < yes, and otherwise yes - k <= no.
    if let Some(k) = sum.plus(&difference).as_constant() {
        let above = a.0.max(b.0.saturating_add(k + 1));
        let other = b.0.max(a.0.saturating_sub(k));
        return (above.min(other), high);
    }
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::warp::term::Unknown;

    /// For all numbers between small bounds, what is chosen lies between the bounds that are told, and reaches one.
    #[test]
    fn bounds_of_the_lesser_and_the_greater() {
        let [x, y] = [0, 1].map(|u| Sum::unknown(Unknown(u)));
        let ranges = [((0, 3), (2, 9)), ((2, 9), (0, 3)), ((1, 4), (3, 6))];
        for (a, b) in ranges {
            for added in -2..=2 {
                for (sign, least) in [(1, true), (-1, false)] {
                    let sum = x.minus(&y).scaled(sign).plus_constant(added);
                    let condition = Condition::Negative(sum);
                    let (low, high) = range_of_choice(&condition, (&x, &y), (a, b));
                    let mut seen = Vec::new();
                    for p in a.0..=a.1 {
                        for q in b.0..=b.1 {
                            let holds = sign * (p - q) + added < 0;
                            seen.push(if holds { p } else { q });
                        }
                    }
                    let (first, last) = (seen.iter().min().unwrap(), seen.iter().max().unwrap());
                    assert!(low <= *first && *last <= high, "{a:?} {b:?} {added} {sign}");
                    assert!(added != 0 || !least || high == a.1.min(b.1));
                    assert!(added != 0 || least || low == a.0.max(b.0));
                }
            }
        }
    }
}
