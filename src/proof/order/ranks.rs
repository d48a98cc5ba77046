//! Finds ranks: weights that prove the claims of the order rule about ranks. For example, one claim is that a wait
//! has a greater rank than the arrival that it is for.
//!
//! At each point at which its hypotheses hold, such a claim is a linear inequality over the weights. So the search
//! first takes the least weights that satisfy the inequalities of a few points. Then it looks for multipliers that
//! prove each claim with these weights. If a claim has none, there is a *plane* that separates these weights from all
//! weights for which the claim has multipliers. A plane is an inequality, like that of a point, and the search
//! continues with it (cutting planes, as in Benders' decomposition).

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::Search;
use super::least::Least;
use super::least::Without;
use super::multipliers;
use super::points::Holds;
use super::points::monomial_at;
use super::simplex::gcd;
use super::uncovered;
use crate::certificate::cut::flow::Flow;
use crate::certificate::order::artefact::Lag;
use crate::certificate::order::artefact::Product;
use crate::certificate::order::artefact::Rank;
use crate::certificate::order::artefact::Weight;
use crate::certificate::order::cases;
use crate::certificate::order::cases::Env;
use crate::certificate::order::polynomial::Monomial;
use crate::certificate::order::polynomial::Polynomial;
use crate::certificate::order::polynomial::Unknown;
use crate::certificate::order::positivity::Sequent;
use crate::certificate::order::ranks::Part;
use crate::certificate::order::rule::Claim;

/// The cost of a weight that decreases from one operation to the next. An increase costs 1.
const FALL: i128 = 4;

/// How many planes are looked for before the weights are chosen again.
const MAX_MISSED: usize = 20;

/// Numbers of this size are bounds that are seldom needed.
const LARGE: i128 = 1 << 20;

const TOO_LARGE: &str = "the order that is looked for needs numbers that are too large";

impl Search<'_> {
    /// Ranks for which every claim about ranks is proved.
    pub(super) fn ranks(&self, lags: &[Lag]) -> Result<Vec<Rank>, String> {
        (self.tell)("looking for ranks");
        let mut large = None;
        // First, members that do the same get the same ranks, if this reduces the number of unknowns much. For
        // example, this applies to the members of several CTAs.
        let classes = &self.rule.classes;
        let is_new = |at: &usize| {
            let mut before = classes[..*at].iter();
            !before.any(|other| self.are_alike(&other.flow, &classes[*at].flow))
        };
        let different = (0..classes.len()).filter(is_new).count();
        let few = different.saturating_mul(2) <= classes.len();
        let ways = [few, !few];
        for more in [false, true] {
            let monomials = self.monomials(more)?;
            // If numbers do not fit, the other way is tried, and then without the bounds of large
            // parameters: there may be ranks that do not need them.
            'monomials: for all in [true, false] {
                for alike in ways {
                    match self.ranks_over(&monomials, lags, (all, alike)) {
                        Ok(Some(ranks)) => return Ok(ranks),
                        Ok(None) if alike => {}
                        Ok(None) => break 'monomials,
                        Err(reason) if reason == TOO_LARGE => {
                            self.stop()?;
                            large = Some(reason);
                        }
                        Err(reason) => return Err(reason),
                    }
                }
            }
        }
        Err(large.unwrap_or_else(|| {
            "no order of the form that is looked for puts each wait behind what it waits for"
                .to_owned()
        }))
    }

    /// The monomials that weights may be sums of: 1, and the trip counts of inner loops. With `more`, also the sizes
    /// of rings and the trip counts of all loops, for members that wait until others have completed their loops.
    fn monomials(&self, more: bool) -> Result<Vec<Monomial>, String> {
        let mut all = BTreeSet::from([Monomial::new()]);
        let mut add = |of: &Polynomial| {
            let over_parameters = |m: &&Monomial| {
                let mut unknowns = m.iter();
                unknowns.all(|unknown| matches!(unknown, Unknown::Param(_)))
            };
            let terms = of.terms().map(|(monomial, _)| monomial);
            all.extend(terms.filter(over_parameters).cloned());
        };
        for class in &self.rule.classes {
            for (at, this) in class.flow.loops.iter().enumerate() {
                // How many iterations it has in one iteration of each loop around it.
                let mut product = Polynomial::number(1);
                let most = this.outer.len() + usize::from(more);
                for at in [at].iter().chain(this.outer.iter().rev()).take(most) {
                    let trips = cases::value(&class.flow.loops[*at].trips, &Env::new());
                    let Some((_, trips)) = trips.ok().and_then(|mut cases| cases.pop()) else {
                        break;
                    };
                    product = cases::fits(product.times(&trips)).map_err(uncovered)?;
                    add(&product);
                }
            }
        }
        if more {
            for ring in &self.rule.rings {
                for (_, size) in cases::value(&ring.size, &Env::new()).map_err(uncovered)? {
                    add(&size);
                }
            }
        }
        Ok(all.into_iter().collect())
    }

    /// Weights with which all claims hold.
    fn weights(&self, claims: &[Claim], shape: &Shape<'_>) -> Result<Option<Vec<i64>>, String> {
        let mut planes = BTreeSet::new();
        let mut open: Vec<&Claim> = Vec::new();
        for claim in claims {
            self.stop()?;
            let sequent = &claim.sequent;
            let Holds::At(points) = &*self.prover.holds(&sequent.hypotheses) else {
                continue;
            };
            open.push(claim);
            for point in points {
                let at = |monomial: &[Unknown]| {
                    monomial_at(monomial, &|unknown| point.get(unknown).copied())
                };
                planes.extend(plane(&sequent.goal, &at));
            }
        }
        let mut planes: Vec<Plane> = planes.into_iter().collect();
        let mut least = Least::new(&shape.costs()).ok_or(TOO_LARGE)?;
        loop {
            let Some(values) = self.above(&mut least, &planes, shape)? else {
                return Ok(None);
            };
            let mut missed = Vec::new();
            for (nth, claim) in open.iter().enumerate() {
                let known = Sequent {
                    hypotheses: claim.sequent.hypotheses.clone(),
                    goal: with_values(&claim.sequent.goal, &values).ok_or(TOO_LARGE)?,
                };
                if known.goal.value().is_some_and(|value| value >= 0)
                    || self.shown(&known)?.is_some()
                {
                    continue;
                }
                let Some(found) = self.separated(&claim.sequent, &known.goal)? else {
                    return Ok(None);
                };
                planes.push(found);
                missed.push(nth);
                if missed.len() >= MAX_MISSED {
                    break;
                }
            }
            if missed.is_empty() {
                return Ok(Some(values));
            }
            // These are examined first next time.
            for (to, from) in missed.into_iter().enumerate() {
                let claim = open.remove(from);
                open.insert(to, claim);
            }
        }
    }

    /// The least weights for which all planes hold, multiplied so that they are integers.
    fn above(
        &self,
        least: &mut Least,
        planes: &[Plane],
        shape: &Shape<'_>,
    ) -> Result<Option<Vec<i64>>, String> {
        loop {
            self.stop()?;
            let (weights, common) = shape.weights(&least.values()).ok_or(TOO_LARGE)?;
            // Small numbers come first. With large ones, soon none would fit.
            let mut worst: Option<(i128, i128, &Plane)> = None;
            for plane in planes {
                let missing = plane.missing(&weights, common).ok_or(TOO_LARGE)?;
                let size = plane.size();
                let worse = worst
                    .is_none_or(|(less, most, _)| (size, Reverse(missing)) < (less, Reverse(most)));
                if missing > 0 && worse {
                    worst = Some((size, missing, plane));
                }
            }
            let Some((_, _, plane)) = worst else {
                let weights = weights.into_iter().map(i64::try_from);
                let weights: Result<Vec<i64>, _> = weights.collect();
                return Ok(Some(weights.map_err(|_| TOO_LARGE)?));
            };
            let rises = shape.rises(plane).ok_or(TOO_LARGE)?;
            match least.require(&rises, plane.least, self.prover.work()) {
                Ok(()) => {}
                Err(Without::Solution) => return Ok(None),
                Err(Without::Answer) => return Err(TOO_LARGE.to_owned()),
            }
        }
    }

    /// A plane that separates these weights, which give this goal, from the weights for which multipliers prove it.
    fn separated(&self, sequent: &Sequent, goal: &Polynomial) -> Result<Option<Plane>, String> {
        // If numbers do not fit, it is tried without the bounds of large parameters: there may be
        // ranks that do not need them.
        let found = self.separating(sequent, goal, i128::MAX);
        found.or_else(|_| self.separating(sequent, goal, LARGE))
    }

    /// The same by products without numbers as large as `most`.
    fn separating(
        &self,
        sequent: &Sequent,
        goal: &Polynomial,
        large: i128,
    ) -> Result<Option<Plane>, String> {
        let extended = self.prover.lemmas(&sequent.hypotheses).ok_or(TOO_LARGE)?;
        let (facts, _) = &*extended;
        let single = (0..facts.len()).map(|at| vec![at]);
        let mut products = Vec::new();
        for of in single.chain(multipliers::with_parameters(facts)) {
            products.push(multipliers::product(facts, &of).map_err(|_| TOO_LARGE)?);
        }
        products.push(Polynomial::number(1));
        // Each product of unknowns is treated as a number of its own.
        let mut numbers: BTreeMap<&[Unknown], usize> = BTreeMap::new();
        let all = sequent.goal.terms().chain(goal.terms());
        let rest = all.map(|(monomial, _)| rest(monomial));
        let of_products = products.iter().flat_map(Polynomial::terms);
        for monomial in of_products.map(|(monomial, _)| &monomial[..]).chain(rest) {
            let next = numbers.len();
            numbers.entry(monomial).or_insert(next);
        }
        let size = numbers.len();
        let row = |of: &Polynomial, sign: i128| {
            let both = of.terms().map(|(monomial, times)| {
                let at = numbers[&monomial[..]];
                let times = times.checked_mul(sign)?;
                Some([(at, times), (size + at, times.checked_neg()?)])
            });
            Some(both.collect::<Option<Vec<_>>>()?.concat())
        };
        let mut rows = Vec::new();
        for product in &products {
            rows.push(row(product, 1).ok_or(TOO_LARGE)?);
        }
        rows.retain(|row| greatest(row) < large);
        // Small numbers come first, as above: bounds of parameters are large and seldom needed.
        rows.sort_by_key(|row| greatest(row));
        let mut values = Least::new(&vec![1; size.saturating_mul(2)]).ok_or(TOO_LARGE)?;
        let mut next = Some((row(goal, -1).ok_or(TOO_LARGE)?, 1));
        while let Some((row, least)) = next.take() {
            self.stop()?;
            match values.require(&row, least, self.prover.work()) {
                Ok(()) => {}
                Err(Without::Solution) => return Ok(None),
                Err(Without::Answer) => return Err(TOO_LARGE.to_owned()),
            }
            let (at, _) = integers(&values.values()).ok_or(TOO_LARGE)?;
            for row in &rows {
                if dot(row, &at).ok_or(TOO_LARGE)? < 0 {
                    next = Some((row.clone(), 0));
                    break;
                }
            }
        }
        let (at, _) = integers(&values.values()).ok_or(TOO_LARGE)?;
        let value = |monomial: &[Unknown]| {
            let nth = *numbers.get(monomial)?;
            at[nth].checked_sub(at[size + nth])
        };
        Ok(plane(&sequent.goal, &value))
    }

    /// Whether two programs have the same operations, in the same loops, on objects of the same kind.
    fn are_alike(&self, a: &Flow, b: &Flow) -> bool {
        let loops = |flow: &Flow| {
            let all = flow.loops.iter();
            all.map(|this| (this.trips.clone(), this.outer.clone()))
                .collect::<Vec<_>>()
        };
        let sites = |flow: &Flow| {
            let objects = &self.protocol.objects;
            let all = flow.sites.iter().map(|site| {
                let object = &objects[site.object.0];
                let kind = std::mem::discriminant(&site.kind);
                (kind, site.path.loops.clone(), &object.kind, &object.extents)
            });
            all.collect::<Vec<_>>()
        };
        loops(a) == loops(b) && sites(a) == sites(b)
    }

    fn ranks_over(
        &self,
        monomials: &[Monomial],
        lags: &[Lag],
        (all, alike): (bool, bool),
    ) -> Result<Option<Vec<Rank>>, String> {
        let flows: Vec<&Flow> = self.rule.classes.iter().map(|class| &class.flow).collect();
        let turns = self.turns();
        let same = |a: usize, b: usize| {
            let leader = |class: usize| turns[class].as_ref().map(|turn| turn.leader);
            match (leader(a), leader(b)) {
                (None, None) => alike && self.are_alike(flows[a], flows[b]),
                (a, b) => a == b,
            }
        };
        let shape = Shape::new(monomials, &flows, &same);
        let own = |class: usize, part: Part| {
            let first = shape.first(class, part);
            let mut sum = Polynomial::default();
            for (nth, monomial) in monomials.iter().enumerate() {
                let mut term = Polynomial::unknown(Unknown::Coefficient(first + nth));
                for unknown in monomial {
                    term = cases::fits(term.times(&Polynomial::unknown(*unknown)))?;
                }
                sum = cases::fits(sum.plus(1, &term))?;
            }
            Ok(sum)
        };
        let weights = |class: usize, part: Part| match &turns[class] {
            Some(turn) => turn.weight(class, part, &own),
            None => own(class, part),
        };
        let mut claims = self.rule.ranks(&weights, lags).map_err(uncovered)?;
        if !all {
            for claim in &mut claims {
                claim.sequent = without_large(&claim.sequent).0;
            }
        }
        let Some(values) = self.weights(&claims, &shape)? else {
            return Ok(None);
        };
        let weight = |class: usize, part: Part| {
            let known = with_values(&weights(class, part).map_err(uncovered)?, &values);
            let weight = known.and_then(|known| weight_of(&known));
            weight.ok_or_else(|| TOO_LARGE.to_owned())
        };
        let rank = |(class, (_, loops, sites)): (usize, &(usize, usize, usize))| {
            let loops = (0..*loops).map(|at| weight(class, Part::Loop(at)));
            let sites = (0..*sites).map(|at| weight(class, Part::Site(at)));
            Ok(Rank {
                loops: loops.collect::<Result<_, String>>()?,
                sites: sites.collect::<Result<_, String>>()?,
            })
        };
        let ranks = shape.classes.iter().enumerate().map(rank);
        ranks.collect::<Result<_, String>>().map(Some)
    }
}

/// A sum over parameters as a weight. None if something else is in it, or a number is too large.
pub(super) fn weight_of(sum: &Polynomial) -> Option<Weight> {
    let product = |(unknowns, times): (&Monomial, i128)| {
        let param = |unknown: &Unknown| match unknown {
            Unknown::Param(at) => Some(*at),
            _ => None,
        };
        Some(Product {
            times: i64::try_from(times).ok()?,
            of: unknowns.iter().map(param).collect::<Option<_>>()?,
        })
    };
    let products: Option<Vec<Product>> = sum.terms().map(product).collect();
    products.map(Weight)
}

/// A sequent without the hypotheses that have large numbers, and the positions of those that are
/// left.
pub(super) fn without_large(sequent: &Sequent) -> (Sequent, Vec<usize>) {
    let is_small = |fact: &Polynomial| {
        fact.terms()
            .all(|(_, times)| times.saturating_abs() < LARGE)
    };
    let all = sequent.hypotheses.iter().enumerate();
    let (places, hypotheses) = all
        .filter(|(_, fact)| is_small(fact))
        .map(|(at, fact)| (at, fact.clone()))
        .unzip();
    let goal = sequent.goal.clone();
    (Sequent { hypotheses, goal }, places)
}

/// An inequality over the coefficients of weights: a sum is at least a number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Plane {
    terms: Vec<(usize, i128)>,
    least: i128,
}

impl Plane {
    /// Its greatest number.
    fn size(&self) -> i128 {
        greatest(&self.terms)
    }

    /// By how much the inequality fails for coefficients over a common denominator.
    fn missing(&self, coefficients: &[i128], common: i128) -> Option<i128> {
        let sum = dot(&self.terms, coefficients)?;
        self.least.checked_mul(common)?.checked_sub(sum)
    }
}

/// The inequality over coefficients that a goal becomes if products of other unknowns have these values. `None` if
/// there is none, or if a number does not fit.
fn plane(goal: &Polynomial, value: &dyn Fn(&[Unknown]) -> Option<i128>) -> Option<Plane> {
    let mut sums: BTreeMap<usize, i128> = BTreeMap::new();
    let mut least: i128 = 0;
    for (monomial, times) in goal.terms() {
        let times = times.checked_mul(value(rest(monomial))?)?;
        match monomial[rest(monomial).len()..] {
            [] => least = least.checked_sub(times)?,
            [Unknown::Coefficient(at)] => {
                let sum = sums.entry(at).or_default();
                *sum = sum.checked_add(times)?;
            }
            _ => return None,
        }
    }
    let terms: Vec<(usize, i128)> = sums.into_iter().filter(|(_, times)| *times != 0).collect();
    (!terms.is_empty() || least > 0).then_some(Plane { terms, least })
}

/// A product without its coefficients, which come last.
fn rest(monomial: &[Unknown]) -> &[Unknown] {
    let others = |unknown: &&Unknown| !matches!(unknown, Unknown::Coefficient(_));
    &monomial[..monomial.iter().take_while(others).count()]
}

/// The greatest of the numbers of a sum.
fn greatest(terms: &[(usize, i128)]) -> i128 {
    let sizes = terms.iter().map(|(_, times)| times.saturating_abs());
    sizes.max().unwrap_or(0)
}

fn dot(terms: &[(usize, i128)], values: &[i128]) -> Option<i128> {
    let mut sum: i128 = 0;
    for (at, times) in terms {
        sum = sum.checked_add(times.checked_mul(*values.get(*at)?)?)?;
    }
    Some(sum)
}

/// The same numbers multiplied by their least common denominator, and this denominator.
fn integers(values: &[(i128, i128)]) -> Option<(Vec<i128>, i128)> {
    let mut common: i128 = 1;
    for (over, under) in values {
        let under = under / gcd(over.checked_abs()?, *under).max(1);
        common = common.checked_mul(under / gcd(common, under))?;
    }
    let scaled = |(over, under): &(i128, i128)| {
        // The denominator divides the product.
        let divisor = gcd(over.checked_abs()?, *under).max(1);
        (over / divisor).checked_mul(common / (under / divisor))
    };
    Some((values.iter().map(scaled).collect::<Option<_>>()?, common))
}

/// The positions of the coefficients of weights: by class, first those of its loops and then those
/// of its operations.
struct Shape<'m> {
    monomials: &'m [Monomial],
    /// The first weight, and how many loops and operations there are.
    classes: Vec<(usize, usize, usize)>,
    size: usize,
}

impl<'m> Shape<'m> {
    /// With the same coefficients for members that count as the same.
    fn new(
        monomials: &'m [Monomial],
        flows: &[&Flow],
        same: &dyn Fn(usize, usize) -> bool,
    ) -> Shape<'m> {
        let mut next = 0;
        let mut classes: Vec<(usize, usize, usize)> = Vec::new();
        for (at, flow) in flows.iter().enumerate() {
            let known = (0..at).find(|other| same(*other, at));
            let (loops, sites) = (flow.loops.len(), flow.sites.len());
            classes.push(match known {
                Some(known) => classes[known],
                None => (next, loops, sites),
            });
            next += if known.is_some() { 0 } else { loops + sites };
        }
        Shape {
            monomials,
            classes,
            size: next * monomials.len(),
        }
    }

    /// The first coefficient of a weight.
    fn first(&self, class: usize, part: Part) -> usize {
        let (first, loops, _) = self.classes[class];
        let nth = match part {
            Part::Loop(at) => first + at,
            Part::Site(at) => first + loops + at,
        };
        nth * self.monomials.len()
    }

    /// The costs of weights: of being greater than 0 or than the previous weight, and of being less.
    fn costs(&self) -> Vec<i128> {
        [vec![1; self.size], vec![FALL; self.size]].concat()
    }

    /// The solver's unknowns for a coefficient of an operation, and for the same coefficient of the next operation.
    fn neighbours(&self) -> impl Iterator<Item = (usize, usize)> {
        let width = self.monomials.len();
        let classes: BTreeSet<(usize, usize, usize)> = self.classes.iter().copied().collect();
        classes.into_iter().flat_map(move |(first, loops, sites)| {
            let own = (first + loops) * width..(first + loops + sites) * width;
            own.clone().zip(own.skip(width))
        })
    }

    /// A plane, written over rises and falls of weights.
    fn rises(&self, plane: &Plane) -> Option<Vec<(usize, i128)>> {
        let mut all = vec![0_i128; self.size];
        for (at, times) in &plane.terms {
            all[*at] = *times;
        }
        // An increase counts for all later operations.
        let neighbours: Vec<(usize, usize)> = self.neighbours().collect();
        for (at, next) in neighbours.into_iter().rev() {
            all[at] = all[at].checked_add(all[next])?;
        }
        let all = all.into_iter().enumerate();
        let both = all
            .filter(|(_, times)| *times != 0)
            .map(|(at, times)| Some([(at, times), (self.size + at, times.checked_neg()?)]));
        Some(both.collect::<Option<Vec<_>>>()?.concat())
    }

    /// The coefficients for these increases and decreases of weights, over a common denominator.
    fn weights(&self, rises: &[(i128, i128)]) -> Option<(Vec<i128>, i128)> {
        let (rises, common) = integers(rises)?;
        let (up, down) = rises.split_at(self.size);
        let each = up.iter().zip(down).map(|(up, down)| up.checked_sub(*down));
        let mut all = each.collect::<Option<Vec<i128>>>()?;
        for (at, next) in self.neighbours() {
            all[next] = all[next].checked_add(all[at])?;
        }
        Some((all, common))
    }
}

/// A polynomial with numbers for its coefficients.
fn with_values(of: &Polynomial, values: &[i64]) -> Option<Polynomial> {
    let mut sum = Polynomial::default();
    for (monomial, times) in of.terms() {
        let mut term = Polynomial::number(times);
        for unknown in monomial {
            let factor = match unknown {
                Unknown::Coefficient(at) => Polynomial::number(i128::from(*values.get(*at)?)),
                unknown => Polynomial::unknown(*unknown),
            };
            term = term.times(&factor).ok()?;
        }
        sum = sum.plus(1, &term).ok()?;
    }
    Some(sum)
}
