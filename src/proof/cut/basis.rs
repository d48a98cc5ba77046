//! The quantities that an iteration number may be a sum of when a form is fitted. The most frequent
//! ones come first.

use std::collections::HashMap;

use itertools::Itertools;

use super::Search;
use super::fit::Basis;
use super::fit::Observed;
use super::fit::Point;
use super::samples::Sample;
use super::trace;
use crate::certificate::cut::artefact::Quantity;
use crate::certificate::cut::class;
use crate::certificate::cut::count::Place;
use crate::protocol::Expr;

/// The largest constant added to a clock before it is divided.
const MAX_OFFSET: i64 = 8;

/// The same if a sum of lengths is over so many iterations.
pub(super) const MAX_SHIFT: i64 = 4;

/// How many steps of one member may go with one step of another, and how much later it may begin.
const MAX_STEP: i64 = 3;

impl Search<'_> {
    pub(super) fn basis(&self, class: usize, place: Place, other: usize, stop: usize) -> Basis {
        let path = self.classes[class].flow.path(place);
        let depth = path.map_or(0, |path| path.loops.len());
        let mut trips: Vec<Quantity> = Vec::new();
        let flow = &self.classes[other].flow;
        for at in &flow.sites[stop].path.loops {
            match &flow.loops[*at].trips {
                Expr::Param(id) => trips.push(Quantity::Param(id.0)),
                Expr::Int(_) => {}
                trip if !flow.loops.iter().any(|l| class::mentions(trip, l.var)) => {
                    trips.push(Quantity::Trips(other, *at));
                }
                _ => {}
            }
        }
        // How often inner loops go around in one iteration of those outside.
        let inner: Vec<Vec<Quantity>> = (1..flow.sites[stop].path.loops.len())
            .filter(|from| self.steady(other, stop, *from))
            .map(|from| {
                let loops = &flow.sites[stop].path.loops[from..];
                loops.iter().map(|at| Quantity::Trips(other, *at)).collect()
            })
            .collect();
        let mut leading = Vec::new();
        for clock in (0..depth).rev() {
            leading.push(vec![Quantity::Clock(clock)]);
        }
        for clock in (0..depth).rev() {
            for trip in &trips {
                leading.push(vec![Quantity::Clock(clock), *trip]);
            }
            for factors in &inner {
                let clock = [Quantity::Clock(clock)];
                leading.push(clock.into_iter().chain(factors.iter().copied()).collect());
            }
        }
        // How far an inner loop has got after so many iterations of the loop around it.
        if let Some(innermost) = flow.sites[stop].path.loops.last()
            && flow.after(*innermost, &Expr::Int(0)).is_some()
        {
            for (clock, plus) in itertools::iproduct!((0..depth).rev(), -MAX_SHIFT..=MAX_SHIFT) {
                leading.push(vec![Quantity::Sum {
                    of: other,
                    at: *innermost,
                    clock,
                    plus,
                }]);
            }
        }
        let own = match place {
            Place::Site(site) => Some((class, site)),
            Place::Point(_) | Place::End => None,
        };
        for of in [(other, stop)].into_iter().chain(own) {
            for from in 1..self.classes[of.0].flow.sites[of.1].path.loops.len() {
                if self.steady(of.0, of.1, from) {
                    for quotient in quotients(depth, of, from) {
                        leading.push(vec![quotient]);
                        leading.extend(inner.iter().map(|factors| {
                            [quotient]
                                .into_iter()
                                .chain(factors.iter().copied())
                                .collect()
                        }));
                    }
                }
            }
        }
        // How many iterations of an outer loop correspond to a number of stages, whichever member
        // goes through them.
        for of in self.nests() {
            leading.extend((1..=MAX_OFFSET).map(|plus| {
                vec![Quantity::Quotient {
                    clock: None,
                    plus,
                    of,
                    from: 1,
                }]
            }));
        }
        // A member that goes by other steps than the held member, or begins later.
        for (by, clock) in itertools::iproduct!(1..=MAX_STEP, (0..depth).rev()) {
            let later = (1..=MAX_STEP).map(|plus| -plus);
            let sooner = (0..by).filter(|_| by > 1);
            for plus in sooner.chain(later) {
                for times in [1, by].into_iter().dedup() {
                    leading.push(vec![Quantity::Share {
                        clock,
                        plus,
                        by,
                        times,
                    }]);
                }
            }
        }
        let mut rest: Vec<Vec<Quantity>> = trips.iter().map(|t| vec![*t]).collect();
        rest.extend(inner.into_iter().filter(|factors| factors.len() > 1));
        rest.extend((0..depth).rev().map(|clock| vec![Quantity::Clock(clock)]));
        let known = self.ordered.map(|o| o.numbers[0].0 + 1);
        for at in 0..known.unwrap_or(self.protocol.params.len()) {
            let quantity = vec![Quantity::Param(at)];
            if !rest.contains(&quantity) {
                rest.push(quantity);
            }
        }
        Basis { leading, rest }
    }

    /// One operation for every number of iterations that inner loops have in one iteration of the
    /// outermost.
    fn nests(&self) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        let mut known: Vec<Vec<&Expr>> = Vec::new();
        for (class, this) in self.classes.iter().enumerate() {
            let flow = &this.flow;
            for (site, at) in flow.sites.iter().enumerate() {
                let inner = at.path.loops.iter().skip(1);
                let trips: Vec<&Expr> = inner.map(|l| &flow.loops[*l].trips).collect();
                let number = trips.iter().all(|e| matches!(e, Expr::Int(_)));
                if !number && !known.contains(&trips) && self.steady(class, site, 1) {
                    known.push(trips);
                    all.push((class, site));
                }
            }
        }
        all
    }

    pub(super) fn point(
        &self,
        basis: &Basis,
        clocks: &[i64],
        sample: &Sample,
        observed: Observed,
    ) -> Point {
        let value = |product: &Vec<Quantity>| {
            product
                .iter()
                .map(|quantity| match quantity {
                    Quantity::Param(at) => sample.params[*at],
                    Quantity::Clock(depth) => clocks[*depth],
                    Quantity::Trips(class, at) => self.trips(*class, *at, sample),
                    Quantity::Share {
                        clock,
                        plus,
                        by,
                        times,
                    } => times * (clocks[*clock] + plus).div_euclid(*by).max(0),
                    Quantity::Sum {
                        of,
                        at,
                        clock,
                        plus,
                    } => {
                        let outer = usize::try_from(clocks[*clock] + plus).unwrap_or(0);
                        let sums = sample.sums.get(&(*of, *at));
                        let sum = sums.and_then(|sums| sums.get(outer).or(sums.last()));
                        sum.copied().unwrap_or(0)
                    }
                    Quantity::Quotient {
                        clock,
                        plus,
                        of,
                        from,
                    } => {
                        let loops = &self.classes[of.0].flow.sites[of.1].path.loops;
                        let inner = loops[*from..].iter();
                        let by: i64 = inner.map(|at| self.trips(of.0, *at, sample)).product();
                        let sum = clock.map_or(0, |clock| clocks[clock]) + plus;
                        if by > 0 { sum.div_euclid(by) } else { 0 }
                    }
                })
                .product()
        };
        Point {
            leading: basis.leading.iter().map(value).collect(),
            rest: basis.rest.iter().map(value).collect(),
            observed,
        }
    }

    fn trips(&self, class: usize, at: usize, sample: &Sample) -> i64 {
        let trips = &self.classes[class].flow.loops[at].trips;
        trace::value(trips, &sample.params, &HashMap::new()).unwrap_or(0)
    }

    /// Whether the loops around an operation, from a depth on, have the same number of iterations
    /// every time.
    fn steady(&self, class: usize, site: usize, from: usize) -> bool {
        let flow = &self.classes[class].flow;
        let mut loops = flow.sites[site].path.loops[from..].iter();
        loops.all(|at| {
            let trips = &flow.loops[*at].trips;
            !flow.loops.iter().any(|l| class::mentions(trips, l.var))
        })
    }
}

/// Quotients of the clocks of a held operation.
fn quotients(depth: usize, of: (usize, usize), from: usize) -> Vec<Quantity> {
    let offsets = (0..=MAX_OFFSET).chain((1..=MAX_OFFSET).map(|x| -x));
    itertools::iproduct!((0..depth).rev().map(Some), offsets)
        .map(|(clock, plus)| Quantity::Quotient {
            clock,
            plus,
            of,
            from,
        })
        .collect()
}
