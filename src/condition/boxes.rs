//! Covers a set of points by few boxes, so that the points can be listed briefly.

use std::ops::RangeInclusive;

/// All points whose coordinates are in these ranges.
pub type Box = Vec<RangeInclusive<i64>>;

/// Boxes that contain each of these points once, and no others. Neighbours are merged along the last coordinate
/// first.
pub fn boxes(points: &[Vec<i64>]) -> Vec<Box> {
    let mut sorted: Vec<&Vec<i64>> = points.iter().collect();
    sorted.sort();
    sorted.dedup();
    let alone = |at: &Vec<i64>| -> Box { at.iter().map(|value| *value..=*value).collect() };
    let mut all: Vec<Box> = sorted.into_iter().map(alone).collect();
    let coordinates = all.first().map_or(0, Vec::len);
    for along in (0..coordinates).rev() {
        let rest = |of: &Box| -> Vec<(i64, i64)> {
            let others = of.iter().enumerate().filter(|(place, _)| *place != along);
            others
                .map(|(_, range)| (*range.start(), *range.end()))
                .collect()
        };
        all.sort_by_key(|of| (rest(of), *of[along].start()));
        let mut joined: Vec<Box> = Vec::new();
        for next in all {
            let fits = |last: &&mut Box| {
                rest(last) == rest(&next)
                    && last[along].end().checked_add(1) == Some(*next[along].start())
            };
            match joined.last_mut().filter(fits) {
                Some(last) => last[along] = *last[along].start()..=*next[along].end(),
                None => joined.push(next),
            }
        }
        all = joined;
    }
    all.sort_by_key(|of| of.iter().map(|range| *range.start()).collect::<Vec<_>>());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(points: &[[i64; 2]]) -> String {
        let points: Vec<Vec<i64>> = points.iter().map(|at| at.to_vec()).collect();
        format!("{:?}", boxes(&points))
    }

    #[test]
    fn neighbours_are_one_box() {
        let all = [[1, 1], [1, 2], [2, 1], [2, 2], [2, 2], [4, 1]];
        assert_eq!(shown(&all), "[[1..=2, 1..=2], [4..=4, 1..=1]]");
    }

    #[test]
    fn a_hole_stays_a_hole() {
        let all = [[1, 1], [1, 3], [2, 1], [2, 2], [2, 3]];
        assert_eq!(
            shown(&all),
            "[[1..=1, 1..=1], [1..=1, 3..=3], [2..=2, 1..=3]]"
        );
        assert_eq!(shown(&[]), "[]");
    }
}
