//! Regions of small parameter values.
//!
//! The *position* of a value is its distance from the parameter's least value. In a listed set of values, it is the
//! position in the list.

use itertools::Either;
use itertools::Itertools;

use crate::protocol::Domain;
use crate::protocol::Protocol;
use crate::semantics::error::Fault;
use crate::semantics::unfold;

/// A region: for every parameter, its values up to some position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    values: Vec<Values>,
}

/// The values of one parameter. A contiguous range is not listed, because it may be too long.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Values {
    /// From the first value to the second, including both.
    Run(i64, i64),
    Listed(Vec<i64>),
}

impl Values {
    /// The values up to a position.
    fn new(domain: &Domain, most: i64) -> Values {
        let last = domain.value_up_to(most);
        match (domain, last) {
            (Domain::AtLeast(lo) | Domain::Range(lo, _), Some(last)) => Values::Run(*lo, last),
            (Domain::Set(all), Some(last)) => {
                let listed = all.iter().copied().take_while_inclusive(|v| *v != last);
                Values::Listed(listed.collect())
            }
            (_, None) => Values::Listed(Vec::new()),
        }
    }

    fn each(self) -> impl Iterator<Item = i64> + Clone {
        match self {
            Values::Run(lo, hi) => Either::Left(lo..=hi),
            Values::Listed(all) => Either::Right(all.into_iter()),
        }
    }

    fn contains(&self, value: i64) -> bool {
        match self {
            Values::Run(lo, hi) => (lo..=hi).contains(&&value),
            Values::Listed(all) => all.contains(&value),
        }
    }
}

impl Region {
    /// The values of every parameter up to its position in `most`.
    pub fn new(protocol: &Protocol, most: &[i64]) -> Region {
        let params = protocol.params.iter().zip(most);
        Region {
            values: params
                .map(|(p, most)| Values::new(&p.domain, *most))
                .collect(),
        }
    }

    /// The values of every parameter up to the same position for all.
    pub fn of_radius(protocol: &Protocol, radius: i64) -> Region {
        Region::new(protocol, &vec![radius; protocol.params.len()])
    }

    /// The points of the region within the domain and the assumptions. They are in lexicographic order by the
    /// parameters in `order`, which names each parameter once.
    pub fn points<'p>(
        &self,
        protocol: &'p Protocol,
        order: &[usize],
    ) -> impl Iterator<Item = Vec<i64>> + use<'p> {
        self.all(order)
            .filter(|point| unfold::check_params(protocol, point).is_ok())
    }

    /// All points of the region, in the same order.
    fn all(&self, order: &[usize]) -> impl Iterator<Item = Vec<i64>> + use<> {
        // If there are no parameters, there is exactly one point. The product of no factors would give none.
        let single = order.is_empty().then(Vec::new);
        let product = order
            .iter()
            .map(|param| self.values[*param].clone().each())
            .multi_cartesian_product();
        let order = order.to_vec();
        let several = !order.is_empty();
        single
            .into_iter()
            .chain(product.filter(move |_| several))
            .map(move |sorted| {
                let mut point = vec![0; order.len()];
                for (param, value) in order.iter().zip(sorted) {
                    point[*param] = value;
                }
                point
            })
    }

    /// Whether the region contains a point.
    pub fn contains(&self, point: &[i64]) -> bool {
        point
            .iter()
            .zip(&self.values)
            .all(|(x, all)| all.contains(*x))
    }

    /// The values in words: `T in 1..=3, N = 0`. Empty if there is no parameter.
    pub fn describe(&self, protocol: &Protocol) -> String {
        let params = protocol.params.iter().zip(&self.values);
        let each = params.map(|(p, values)| match values {
            Values::Run(lo, hi) if lo == hi => format!("{} = {lo}", p.name),
            Values::Run(lo, hi) => format!("{} in {lo}..={hi}", p.name),
            Values::Listed(all) => match &all[..] {
                [only] => format!("{} = {only}", p.name),
                all => format!("{} in {{{}}}", p.name, all.iter().join(", ")),
            },
        });
        each.collect::<Vec<_>>().join(", ")
    }
}

/// The points whose greatest position is exactly `radius` and that no assumption excludes, in the order of the
/// declarations. There may be far too many to be listed.
///
/// A point at which an assumption is undefined is included. For example, `10 / N > 0` is undefined at `N = 0`. The
/// protocol is not well defined at such a point, and an attempt to run it there reports this.
pub fn points(protocol: &Protocol, radius: i64) -> impl Iterator<Item = Vec<i64>> + use<'_> {
    let order: Vec<usize> = (0..protocol.params.len()).collect();
    let region = Region::of_radius(protocol, radius);
    let inner = Region::of_radius(protocol, radius - 1);
    let several = !order.is_empty();
    let fresh = move |point: &Vec<i64>| radius == 0 || (several && !inner.contains(point));
    let possible = |point: &Vec<i64>| match unfold::check_params(protocol, point) {
        Ok(()) => true,
        Err(error) => !matches!(
            error.fault,
            Fault::OutsideDomain { .. } | Fault::AssumptionViolated(_)
        ),
    };
    region
        .all(&order)
        .filter(fresh)
        .filter(move |point| possible(point))
}

/// Whether no parameter has values beyond this position.
pub fn covers_domain(protocol: &Protocol, radius: i64) -> bool {
    let mut params = protocol.params.iter();
    params.all(|p| p.domain.value(radius.saturating_add(1)).is_none())
}

/// The values up to a position, in words that fit after "no violation".
pub fn describe(protocol: &Protocol, radius: i64) -> String {
    if protocol.params.is_empty() {
        return "for the protocol as it stands".to_owned();
    }
    format!(
        "for {}",
        Region::of_radius(protocol, radius).describe(protocol)
    )
}

#[cfg(test)]
mod tests {
    use crate::text;

    use super::*;

    fn protocol(params: &str) -> Protocol {
        let text = format!("protocol p {params} role nobody {{}}");
        text::load(text.as_bytes()).expect("a valid protocol")
    }

    #[test]
    fn boxes_grow_by_shells() {
        let protocol = protocol("param T in 1.. param K in {2, 5} assume T + K != 3");
        let points = |radius| points(&protocol, radius).collect::<Vec<_>>();
        assert_eq!(points(0), Vec::<Vec<i64>>::new());
        assert_eq!(points(1), [[1, 5], [2, 2], [2, 5]]);
        assert_eq!(points(2), [[3, 2], [3, 5]]);
        assert!(!covers_domain(&protocol, 9));
        assert_eq!(describe(&protocol, 1), "for T in 1..=2, K in {2, 5}");
    }

    #[test]
    fn points_at_which_an_assumption_is_undefined_are_not_passed_over() {
        let protocol = protocol("param T in 0.. param K in 0..=1 assume 4 / T > 1 && K == 0");
        let points: Vec<Vec<i64>> = (0..4)
            .flat_map(|radius| points(&protocol, radius))
            .collect();
        assert_eq!(points, [[0, 0], [0, 1], [1, 0], [2, 0]]);
        let region = Region::of_radius(&protocol, 3);
        assert_eq!(region.points(&protocol, &[0, 1]).count(), 2);
    }

    #[test]
    fn the_order_decides_what_comes_first() {
        let protocol = protocol("param T in 1..=2 param N in 0..");
        let region = Region::new(&protocol, &[1, 1]);
        let points: Vec<Vec<i64>> = region.points(&protocol, &[1, 0]).collect();
        assert_eq!(points, [[1, 0], [2, 0], [1, 1], [2, 1]]);
        assert_eq!(protocol.params[0].domain.position(3), None);
        assert_eq!(protocol.params[1].domain.position(3), Some(3));
    }

    #[test]
    fn far_values_are_not_listed() {
        let protocol = protocol("param T in 1.. param K in {2, 5, 9}");
        let region = Region::new(&protocol, &[1 << 62, 1]);
        assert!(region.contains(&[3_000_000_000, 5]));
        assert!(!region.contains(&[3_000_000_000, 9]));
        let words = region.describe(&protocol);
        assert_eq!(words, "T in 1..=4611686018427387905, K in {2, 5}");
        let first: Vec<Vec<i64>> = region.points(&protocol, &[1, 0]).take(2).collect();
        assert_eq!(first, [[1, 2], [2, 2]]);
        assert_eq!(protocol.params[1].domain.value_up_to(1 << 62), Some(9));
    }

    #[test]
    fn many_parameters_have_points_that_nobody_lists() {
        let params: Vec<String> = (0..60).map(|n| format!("param P{n} in 0..")).collect();
        let protocol = protocol(&params.join(" "));
        assert_eq!(points(&protocol, 3).take(2).count(), 2);
    }

    #[test]
    fn no_parameters_are_one_point() {
        let protocol = protocol("");
        let points = |radius| points(&protocol, radius).collect::<Vec<_>>();
        assert_eq!(points(0), [Vec::<i64>::new()]);
        assert_eq!(points(1), Vec::<Vec<i64>>::new());
        assert!(covers_domain(&protocol, 0));
    }
}
