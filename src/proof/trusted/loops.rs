//! Guesses loop invariants from the shape of programs. An invariant that a run contradicts is dropped.

use std::collections::BTreeSet;
use std::collections::HashMap;

use super::run;
use super::run::Counters;
use super::run::at;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::VarId;
use crate::trusted::certificate::Counter;
use crate::trusted::certificate::Fact;
use crate::trusted::certificate::Name;
use crate::trusted::certificate::Product;
use crate::trusted::certificate::Sum;
use crate::trusted::system::Amount;
use crate::trusted::system::Class;
use crate::trusted::system::Doing;
use crate::trusted::system::Loop;
use crate::trusted::system::Node;
use crate::trusted::system::System;

/// How many of the first iterations may be skipped, in addition to the size of a ring.
const MOST_SKIPPED: i64 = 2;

/// A sample of a class: the parameters, and a member's run.
pub struct Sample {
    /// The parameters.
    pub params: Vec<i64>,
    /// The indices.
    pub indices: Vec<i64>,
    /// The observations of the run.
    pub run: run::Run,
}

/// A loop and what is around it.
struct Place<'a> {
    this: &'a Loop,
    around: Vec<usize>,
}

/// How many arrivals at a ring make up one number.
pub type Units<'u> = dyn Fn(usize) -> i64 + 'u;

/// A place where something is counted.
pub struct Site {
    /// The counter.
    pub counter: Counter,
    /// The loops around it from the outside.
    pub around: Vec<usize>,
    /// The amount that an arrival counts for, or that is taken from a pool, over parameters.
    pub amount: Option<Sum>,
    /// Its place in the text.
    at: usize,
    /// Whether a condition is around it.
    guarded: bool,
}

/// All sites of a class.
pub fn sites(class: &Class) -> Vec<Site> {
    Shape::of(class).sites
}

/// Facts about each loop of a class that no sample contradicts.
pub fn facts(
    system: &System<'_>,
    number: usize,
    units: &Units<'_>,
    samples: &[Sample],
) -> Vec<Vec<Fact>> {
    let class = &system.classes[number];
    let mut shape = Shape::of(class);
    for ring in &system.rings {
        let extents = &system.protocol.objects[ring.object].extents;
        let size = ring.moving().and_then(|at| polynomial(&extents[at]));
        shape
            .sizes
            .extend(size.filter(|size| !shape.sizes.contains(size)));
    }
    let mut all = vec![Vec::new(); class.loops];
    for place in &shape.loops {
        let number = place.this.number;
        let mut facts = shape.iterations(place);
        facts.extend(shape.counts(place, units));
        facts.extend(shape.skipped(place, units, samples));
        facts.extend(variables(place.this, samples));
        for counter in crate::trusted::system::counted(&place.this.body) {
            let own = product(1, vec![Name::Counter(counter)]);
            match counter {
                Counter::Held(ring) => {
                    for amount in shape.taken(ring).chain([Sum::default()]) {
                        let amount = amount.0.into_iter().map(|p| product(-p.times, p.of));
                        facts.push(Fact::Zero(Sum([own.clone()]
                            .into_iter()
                            .chain(amount)
                            .collect())));
                    }
                }
                Counter::Expected(_) | Counter::Owed(_) => facts.push(Fact::Zero(Sum(vec![own]))),
                Counter::Part(ring) if units(ring) > 1 => facts.push(Fact::Zero(Sum(vec![own]))),
                _ => {}
            }
        }
        facts.retain(|fact| holds(fact, number, samples));
        all[number] = facts;
    }
    all
}

/// How often a loop goes around, over parameters.
pub fn trips(this: &Loop) -> Option<Sum> {
    let mut length = polynomial(&this.hi)?;
    for mut product in polynomial(&this.lo)?.0 {
        product.times = product.times.checked_neg()?;
        length.0.push(product);
    }
    Some(length)
}

/// An expression as a sum of products of parameters.
pub fn polynomial(expr: &Expr) -> Option<Sum> {
    Some(match expr {
        Expr::Int(value) => Sum::number(*value),
        Expr::Param(id) => Sum(vec![product(1, vec![Name::Param(id.0)])]),
        Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
            let (mut a, b) = (polynomial(a)?, polynomial(b)?);
            for mut product in b.0 {
                if *op == BinaryOp::Sub {
                    product.times = product.times.checked_neg()?;
                }
                a.0.push(product);
            }
            a
        }
        Expr::Binary(BinaryOp::Mul, a, b) => times(&polynomial(a)?, &polynomial(b)?)?,
        _ => return None,
    })
}

/// The product of two sums.
pub fn times(a: &Sum, b: &Sum) -> Option<Sum> {
    let mut all = Vec::new();
    for x in &a.0 {
        for y in &b.0 {
            let of = [x.of.clone(), y.of.clone()].concat();
            all.push(product(x.times.checked_mul(y.times)?, of));
        }
    }
    Some(Sum(all))
}

/// A product.
pub fn product(times: i64, of: Vec<Name>) -> Product {
    Product { times, of }
}

struct Shape<'a> {
    loops: Vec<Place<'a>>,
    /// Where each loop begins.
    begins: HashMap<usize, usize>,
    sites: Vec<Site>,
    /// Sizes of rings.
    sizes: Vec<Sum>,
    /// Sums that are 0 at one end of an index.
    ends: Vec<Sum>,
    next: usize,
}

impl<'a> Shape<'a> {
    fn of(class: &'a Class) -> Shape<'a> {
        let mut shape = Shape {
            loops: Vec::new(),
            begins: HashMap::new(),
            sites: Vec::new(),
            sizes: Vec::new(),
            ends: Vec::new(),
            next: 0,
        };
        shape.block(&class.body, &mut Vec::new(), false);
        shape
    }

    /// The amounts that are taken from a pool at any place.
    fn taken(&self, ring: usize) -> impl Iterator<Item = Sum> {
        let sites = self.sites.iter();
        let sites = sites.filter(move |site| site.counter == Counter::Held(ring));
        sites.filter_map(|site| site.amount.clone())
    }

    fn block(&mut self, body: &'a [Node], around: &mut Vec<usize>, guarded: bool) {
        for node in body {
            self.next += 1;
            match node {
                Node::Assign(..) => {}
                Node::Branch(_, then, otherwise, _) => {
                    self.block(then, around, true);
                    self.block(otherwise, around, true);
                }
                Node::Loop(this) => {
                    self.begins.insert(this.number, self.next);
                    self.loops.push(Place {
                        this,
                        around: around.clone(),
                    });
                    around.push(this.number);
                    self.block(&this.body, around, guarded);
                    around.pop();
                }
                Node::Act(act) => {
                    let counter = match &act.doing {
                        Doing::Arrive(_) => Counter::Arrived(act.ring),
                        Doing::Take(_) => Counter::Held(act.ring),
                        Doing::Expect(_) | Doing::Deliver(_) | Doing::Give(_) => continue,
                        Doing::Parity(..) | Doing::Own(_) | Doing::Value(..) => {
                            Counter::Awaited(act.ring)
                        }
                    };
                    let amount = match &act.doing {
                        Doing::Arrive(Amount::Given(amount)) | Doing::Take(amount) => {
                            polynomial(amount)
                        }
                        _ => Some(Sum::number(1)),
                    };
                    self.sites.push(Site {
                        counter,
                        around: around.clone(),
                        amount,
                        at: self.next,
                        guarded,
                    });
                }
            }
        }
    }

    /// Facts: per iteration of a loop, an inner loop has had this many iterations.
    fn iterations(&self, place: &Place<'_>) -> Vec<Fact> {
        let mut facts = Vec::new();
        for inner in &self.loops {
            if !inner.around.contains(&place.this.number) {
                continue;
            }
            let (Some(outer), Some(trips)) = (inner.around.last(), trips(inner.this)) else {
                continue;
            };
            let of = |number: usize| vec![Name::Counter(Counter::Iterations(number))];
            let mut sum = vec![product(1, of(inner.this.number))];
            for mut part in trips.0 {
                part.times = -part.times;
                part.of.extend(of(*outer));
                sum.push(part);
            }
            facts.push(Fact::Zero(Sum(sum)));
        }
        facts
    }

    /// Facts: arrivals and waits have been done once in each iteration of the loop around them.
    fn counts(&self, place: &Place<'_>, units: &Units<'_>) -> Vec<Fact> {
        let counters = self.changed(place);
        let all = counters.iter();
        let all = all.map(|counter| Fact::Zero(self.count(place, *counter, units, &|_| true)));
        all.collect()
    }

    /// The counters of sites that a loop changes.
    fn changed(&self, place: &Place<'_>) -> BTreeSet<Counter> {
        let changed = crate::trusted::system::counted(&place.this.body);
        let counters: BTreeSet<Counter> = self.sites.iter().map(|site| site.counter).collect();
        counters.intersection(&changed).copied().collect()
    }

    /// A counter minus the iterations of the loops around those of its sites that `taken` selects.
    fn count(
        &self,
        place: &Place<'_>,
        counter: Counter,
        units: &Units<'_>,
        taken: &dyn Fn(&Site) -> bool,
    ) -> Sum {
        let begin = self.begins[&place.this.number];
        let mut sum = vec![product(1, vec![Name::Counter(counter)])];
        if let Counter::Arrived(ring) = counter
            && units(ring) > 1
        {
            sum[0].times = units(ring);
            sum.push(product(1, vec![Name::Counter(Counter::Part(ring))]));
        }
        let sites = self.sites.iter().filter(|site| site.counter == counter);
        for site in sites.filter(|site| taken(site)) {
            let inner = site.around.last();
            if let Some(inner) = inner {
                let iterations = Name::Counter(Counter::Iterations(*inner));
                sum.push(product(-1, vec![iterations]));
            }
            // It has been done once more than there are complete iterations.
            let within = inner.is_none_or(|inner| place.around.contains(inner));
            if within && site.at < begin {
                sum.push(product(-1, Vec::new()));
            }
        }
        Sum(sum)
    }

    /// Facts: arrivals and waits under a condition are skipped in the first iterations, for example until a ring is
    /// filled; or they are done only in these iterations.
    fn skipped(&self, place: &Place<'_>, units: &Units<'_>, samples: &[Sample]) -> Vec<Fact> {
        let mut facts = Vec::new();
        for counter in self.changed(place) {
            let fits = |facts: &[Fact]| {
                let mut facts = facts.iter();
                facts.all(|fact| holds(fact, place.this.number, samples))
            };
            let whole = self.count(place, counter, units, &|_| true);
            let sites = self.sites.iter().filter(|site| site.counter == counter);
            let guarded = sites.filter(|site| site.guarded).count();
            if guarded == 0 || fits(&[Fact::Zero(whole.clone())]) {
                continue;
            }
            // Members at one end of an index do none of them, and all other members do all of them.
            let ends = self
                .ends
                .iter()
                .map(|end| Fact::Either(end.clone(), whole.clone()));
            if let Some(found) = ends
                .into_iter()
                .find(|fact| fits(std::slice::from_ref(fact)))
            {
                facts.push(found);
                continue;
            }
            // `some` are executed under the condition, and `whole` of these are skipped.
            let some = self.count(place, counter, units, &|site| !site.guarded);
            let numbers = (1..=MOST_SKIPPED).map(Sum::number);
            for number in numbers.chain(self.sizes.iter().cloned()) {
                let more = plus(&whole, 1, &number);
                let first = [
                    Fact::Either(some.clone(), more.clone()),
                    Fact::AtLeastZero(some.clone()),
                    Fact::AtLeastZero(more),
                ];
                let less = plus(&some, -1, &number);
                let last = [
                    Fact::Either(whole.clone(), less.clone()),
                    Fact::AtLeastZero(minus(&whole)),
                    Fact::AtLeastZero(minus(&less)),
                ];
                if let Some(found) = [first, last].into_iter().find(|facts| fits(facts)) {
                    facts.extend(found);
                    break;
                }
            }
        }
        facts
    }
}

/// A sum with the opposite sign.
fn minus(of: &Sum) -> Sum {
    let each = of.0.iter();
    let each = each.map(|part| product(-part.times, part.of.clone()));
    Sum(each.collect())
}

/// A sum plus a multiple of another one.
fn plus(a: &Sum, times: i64, b: &Sum) -> Sum {
    let b = b.0.iter();
    let b = b.map(|part| product(times * part.times, part.of.clone()));
    Sum(a.0.iter().cloned().chain(b).collect())
}

/// Facts: a variable has the value of a counter.
fn variables(this: &Loop, samples: &[Sample]) -> Vec<Fact> {
    let mut vars: Vec<VarId> = Vec::new();
    crate::trusted::system::assigned(&this.body, &mut vars);
    let mut counters: BTreeSet<Counter> = BTreeSet::new();
    for sample in samples {
        counters.extend(sample.run.end.keys());
    }
    let mut facts = Vec::new();
    for var in vars {
        let known = |sample: &Sample| {
            let mut heads = sample.run.heads.iter().filter(|head| head.0 == this.number);
            heads.all(|head| head.1.contains_key(&var))
        };
        if !samples.iter().all(known) {
            continue;
        }
        let own = || product(1, vec![Name::Var(var.0)]);
        for counter in &counters {
            let name = || vec![Name::Counter(*counter)];
            match counter {
                Counter::Expected(_) | Counter::Owed(_) | Counter::Part(_) | Counter::Held(_) => {
                    continue;
                }
                Counter::AwaitedBit(_) => {
                    facts.push(Fact::Zero(Sum(vec![
                        own(),
                        product(1, name()),
                        product(-1, Vec::new()),
                    ])));
                }
                _ => {}
            }
            facts.push(Fact::Zero(Sum(vec![own(), product(-1, name())])));
        }
        for number in [0, 1] {
            facts.push(Fact::Zero(Sum(vec![own(), product(-number, Vec::new())])));
        }
    }
    facts
}

/// Whether a fact holds whenever the head of a loop is reached in a sample.
fn holds(fact: &Fact, number: usize, samples: &[Sample]) -> bool {
    samples.iter().all(|sample| {
        let mut heads = sample.run.heads.iter().filter(|head| head.0 == number);
        heads.all(|(_, vars, counters)| match fact {
            Fact::Zero(sum) => value(sum, &sample.params, vars, counters) == Some(0),
            Fact::AtLeastZero(sum) => {
                value(sum, &sample.params, vars, counters).is_some_and(|v| v >= 0)
            }
            Fact::Either(a, b) => {
                let mut sums = [a, b].into_iter();
                sums.any(|sum| value(sum, &sample.params, vars, counters) == Some(0))
            }
        })
    })
}

/// The value of a sum.
pub fn value(
    sum: &Sum,
    params: &[i64],
    vars: &HashMap<VarId, i64>,
    counters: &Counters,
) -> Option<i64> {
    let mut all: i64 = 0;
    for product in &sum.0 {
        let mut value = product.times;
        for name in &product.of {
            value = value.checked_mul(match name {
                Name::Param(at) => *params.get(*at)?,
                Name::Var(at) => *vars.get(&VarId(*at))?,
                Name::Done(_) => return None,
                Name::Counter(counter) => at(counters, *counter),
            })?;
        }
        all = all.checked_add(value)?;
    }
    Some(all)
}
