//! Tries parameter values near the numbers in the text.
//!
//! For example, a bug that occurs from 128 threads on usually has the number 128 in its text.

use itertools::Itertools;

use super::Hang;
use super::Hunter;
use super::IllDefined;
use super::Watch;

/// Numbers up to this one are tried anyway, so they are skipped here.
const SMALL: i64 = 4;

/// Larger numbers would make instances too large.
const LARGE: i64 = 1 << 14;

/// How many numbers of the text are used.
const NUMBERS: usize = 8;

/// These are added to each number.
const AROUND: [i64; 4] = [1, 0, 2, -1];

/// The positions of parameters that are not near a number.
const REST: [i64; 2] = [2, 0];

/// How many points are tried.
const POINTS: usize = 2_000;

impl Hunter<'_> {
    /// The first violation at points where parameters are near numbers of the text. Points with fewer such parameters
    /// come first.
    ///
    /// # Errors
    ///
    /// A point at which the protocol is not well defined, if it comes first.
    pub fn text_constants(&mut self, watch: &Watch<'_>) -> Result<Option<Hang>, IllDefined> {
        (self.tell)("running adversarial schedules near the numbers of the text");
        for params in self.near(&numbers(&self.protocol.source)) {
            if watch.over() {
                break;
            }
            if let Some(hang) = self.point(&params, watch)? {
                return Ok(Some(hang));
            }
        }
        Ok(None)
    }

    fn near(&self, numbers: &[i64]) -> Vec<Vec<i64>> {
        if numbers.is_empty() || self.protocol.params.is_empty() {
            return Vec::new();
        }
        // Each value comes with a flag: whether it is near a number.
        let choices = self.protocol.params.iter().map(|param| {
            let rest = REST.iter().filter_map(|at| param.domain.value(*at));
            let near = numbers.iter().flat_map(|number| {
                let around = AROUND.iter().map(move |by| number + by);
                around.filter(|value| param.domain.position(*value).is_some())
            });
            let all = rest.map(|v| (v, 0)).chain(near.map(|v| (v, 1)));
            all.unique_by(|(value, _)| *value).collect::<Vec<_>>()
        });
        let points = choices.multi_cartesian_product().take(POINTS * 10);
        let counted = points.map(|point| {
            let near: i32 = point.iter().map(|(_, near)| near).sum();
            (near, point.into_iter().map(|(value, _)| value).collect())
        });
        let sorted = counted.filter(|(near, _)| *near > 0);
        let sorted = sorted.sorted_by_key(|(near, _)| *near);
        sorted.map(|(_, point)| point).take(POINTS).collect()
    }
}

/// The numbers of a text outside comments, in their order, without small and very large ones.
fn numbers(source: &str) -> Vec<i64> {
    let code = source
        .lines()
        .map(|line| line.split("//").next().unwrap_or(""));
    let words = code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'));
    let numbers = words.filter_map(|word| word.parse::<i64>().ok());
    let fitting = numbers.filter(|number| (SMALL + 1..=LARGE).contains(number));
    fitting.unique().take(NUMBERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_words_of_the_code() {
        let text = "param T128 in 1..=512 // 99\nif t < 200 { x[7] } else { 200 - 3 }";
        assert_eq!(numbers(text), [512, 200, 7]);
    }
}
