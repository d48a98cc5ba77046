//! Guesses cuts: generations from parities, stops from concrete runs with one member held.

mod fit;
mod trace;

use std::collections::HashMap;
use std::collections::HashSet;
use std::time::Duration;
use std::time::Instant;

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use fit::Basis;
use fit::Observed;
use fit::Point;
use trace::Crew;
use trace::Op;
use trace::Step;

use crate::certificate;
use crate::certificate::cut;
use crate::certificate::cut::artefact::Case;
use crate::certificate::cut::artefact::Cut;
use crate::certificate::cut::artefact::Form;
use crate::certificate::cut::artefact::Generation;
use crate::certificate::cut::artefact::Hold;
use crate::certificate::cut::artefact::Quantity;
use crate::certificate::cut::artefact::Stop;
use crate::certificate::cut::artefact::Support;
use crate::certificate::cut::class;
use crate::certificate::cut::class::Class;
use crate::certificate::cut::flow::Kind;
use crate::certificate::manifest::Argument;
use crate::protocol::BinaryOp;
use crate::protocol::Comparison;
use crate::protocol::Domain;
use crate::protocol::Expr;
use crate::protocol::Initial;
use crate::protocol::ObjectKind;
use crate::protocol::ParamId;
use crate::protocol::Protocol;
use crate::semantics::unfold;

use super::Guess;

/// How many concrete parameter values a guess has to fit, per case.
const SAMPLES: usize = 36;

/// Operations of one member, and of all classes together, at which a sample is too large.
const MAX_OPS: usize = 400;

/// Held operations looked at per sample and site.
const HELD_PER_SITE: usize = 12;

/// A finite parameter with more values is not split.
const MAX_VALUES: i64 = 64;

/// Looks for a proof by cuts.
pub fn guess(protocol: &Protocol, deadline: Instant, tell: &dyn Fn(&str)) -> Guess {
    let split = split(protocol);
    let found = cut::combinations(protocol, &split)
        .map_err(|refused| Failure::new(super::uncovered(refused)))
        .and_then(|cases| {
            let total = cases.len();
            let mut all = Vec::new();
            for (nth, values) in cases.into_iter().enumerate() {
                tell(&format!("looking for cuts, case {} of {total}", nth + 1));
                all.push(case(protocol, &split, values, deadline)?);
            }
            Ok(Cut { split, cases: all })
        });
    let cut = match found {
        Ok(cut) => cut,
        Err(failure) => return Guess::Nothing(failure.reason),
    };
    let argument = Argument::Cut(cut);
    match super::accepted(protocol, &argument, true, deadline, tell) {
        Ok(()) => Guess::Found(argument),
        Err(reason) => Guess::Nothing(reason),
    }
}

/// Why there is no guess.
struct Failure {
    reason: String,
}

impl Failure {
    fn new(reason: impl Into<String>) -> Failure {
        Failure {
            reason: reason.into(),
        }
    }
}

/// Finite parameters that divide, or that say how many objects there are.
fn split(protocol: &Protocol) -> Vec<usize> {
    let mut used = HashSet::new();
    for object in &protocol.objects {
        object.extents.iter().for_each(|e| parameters(e, &mut used));
    }
    for role in &protocol.roles {
        for index in &role.indices {
            parameters(&index.extent, &mut used);
        }
        statements(&role.body, &mut used);
    }
    (0..protocol.params.len())
        .filter(|at| used.contains(at))
        .filter(|at| match &protocol.params[*at].domain {
            Domain::Range(lo, hi) => hi - lo < MAX_VALUES,
            Domain::Set(_) => true,
            Domain::AtLeast(_) => false,
        })
        .collect()
}

fn statements(body: &[crate::protocol::Stmt], used: &mut HashSet<usize>) {
    use crate::protocol::StmtKind as K;
    for stmt in body {
        match &stmt.kind {
            K::If {
                then,
                otherwise,
                condition,
            } => {
                divisors(condition, used);
                statements(then, used);
                statements(otherwise, used);
            }
            K::For { body, .. } => statements(body, used),
            K::Assign { value, .. } => divisors(value, used),
            K::Wait { cell, value, .. } => {
                cell.index.iter().for_each(|e| divisors(e, used));
                divisors(value, used);
            }
            K::WaitParity { cell, parity } => {
                cell.index.iter().for_each(|e| divisors(e, used));
                divisors(parity, used);
            }
            K::Arrive { cell, .. } => cell.index.iter().for_each(|e| divisors(e, used)),
            _ => {}
        }
    }
}

fn divisors(expr: &Expr, used: &mut HashSet<usize>) {
    match expr {
        Expr::Binary(op, a, b) => {
            divisors(a, used);
            divisors(b, used);
            if matches!(op, BinaryOp::Div | BinaryOp::Mod) {
                parameters(b, used);
            }
        }
        Expr::Neg(e) | Expr::Not(e) => divisors(e, used),
        Expr::If(c, a, b) => {
            divisors(c, used);
            divisors(a, used);
            divisors(b, used);
        }
        _ => {}
    }
}

fn parameters(expr: &Expr, used: &mut HashSet<usize>) {
    match expr {
        Expr::Param(id) => {
            used.insert(id.0);
        }
        Expr::Neg(e) | Expr::Not(e) => parameters(e, used),
        Expr::Binary(_, a, b) => {
            parameters(a, used);
            parameters(b, used);
        }
        Expr::If(c, a, b) => {
            parameters(c, used);
            parameters(a, used);
            parameters(b, used);
        }
        _ => {}
    }
}

/// A case at one concrete choice of parameters.
struct Sample {
    params: Vec<i64>,
    sizes: Vec<i64>,
    steps: Vec<Vec<Step>>,
}

fn case(
    protocol: &Protocol,
    split: &[usize],
    values: Vec<i64>,
    deadline: Instant,
) -> Result<Case, Failure> {
    let fixed = cut::fixed(split, &values);
    let mut result = Case {
        values,
        empty: false,
        generations: Vec::new(),
        holds: Vec::new(),
        supports: Vec::new(),
    };
    let points = draw(protocol, &fixed);
    if points.is_empty() {
        if certificate::domain_is_empty(&narrowed(protocol, &fixed), Duration::from_secs(2)) {
            result.empty = true;
            return Ok(result);
        }
        return Err(Failure::new("no small parameter values satisfy the assumptions"));
    }
    let classes = class::classes(protocol, &fixed)
        .map_err(|refused| Failure::new(super::uncovered(refused)))?;
    let traced: Vec<(Vec<i64>, Vec<Vec<Op>>)> = points
        .into_iter()
        .filter_map(|params| {
            let ops: Option<Vec<Vec<Op>>> = classes
                .iter()
                .map(|c| trace::trace(c, &params, MAX_OPS))
                .collect();
            Some((params, ops?))
        })
        .collect();
    result.generations = generations(protocol, &classes, &traced)?;
    let samples: Vec<Sample> = traced
        .into_iter()
        .filter_map(|(params, ops)| sample(protocol, &classes, &result.generations, params, ops))
        .collect();
    let mut search = Search {
        protocol,
        classes: &classes,
        samples: &samples,
        holds: Vec::new(),
        deadline,
    };
    for class in 0..classes.len() {
        for site in 0..classes[class].flow.sites.len() {
            if search.guarded(class, site) {
                search.hold(class, site)?;
            }
        }
    }
    for class in 0..classes.len() {
        for site in 0..classes[class].flow.sites.len() {
            if let Some(support) = search.support(class, site)? {
                result.supports.push(support);
            }
        }
    }
    result.holds = search.holds;
    Ok(result)
}

fn narrowed(protocol: &Protocol, fixed: &[(ParamId, i64)]) -> Protocol {
    let mut protocol = protocol.clone();
    for (id, value) in fixed {
        protocol.params[id.0].domain = Domain::Range(*value, *value);
    }
    protocol
}

/// Parameter values in the domain: all small ones first, then random larger ones.
fn draw(protocol: &Protocol, fixed: &[(ParamId, i64)]) -> Vec<Vec<i64>> {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let mut found: Vec<Vec<i64>> = Vec::new();
    let scales = [1, 2, 3, 4, 6, 9, 14, 40];
    for attempt in 0..SAMPLES * 60 {
        if found.len() >= SAMPLES {
            break;
        }
        let scale = scales[attempt % scales.len()];
        let params: Vec<i64> = protocol
            .params
            .iter()
            .enumerate()
            .map(|(at, param)| {
                if let Some((_, value)) = fixed.iter().find(|(id, _)| id.0 == at) {
                    return *value;
                }
                match &param.domain {
                    Domain::AtLeast(lo) => lo + rng.random_range(0..=scale),
                    Domain::Range(lo, hi) => rng.random_range(*lo..=(*hi).min(lo + scale)),
                    Domain::Set(values) => values[rng.random_range(0..values.len())],
                }
            })
            .collect();
        if !found.contains(&params) && unfold::check_params(protocol, &params).is_ok() {
            found.push(params);
        }
    }
    found
}

/// Reads off the parities which generation each wait stands for.
fn generations(
    protocol: &Protocol,
    classes: &[Class],
    traced: &[(Vec<i64>, Vec<Vec<Op>>)],
) -> Result<Vec<Generation>, Failure> {
    let mut all = Vec::new();
    for (class, this) in classes.iter().enumerate() {
        for (site, at) in this.flow.sites.iter().enumerate() {
            if !matches!(at.kind, Kind::WaitParity { .. }) {
                continue;
            }
            let candidates = [(false, 0), (false, 1), (true, 0), (true, 1)];
            let fitting = candidates.into_iter().find(|(whole, first)| {
                traced.iter().all(|(_, ops)| {
                    let mut waits: HashMap<&trace::Element, i64> = HashMap::new();
                    ops[class].iter().all(|op| {
                        if !matches!(this.flow.sites[op.site].kind, Kind::WaitParity { .. }) {
                            return true;
                        }
                        let earlier = waits.entry(&op.element).or_default();
                        let rounds = if *whole { *earlier } else { op.rounds };
                        *earlier += 1;
                        op.site != site || (rounds + first + op.operand).rem_euclid(2) == 1
                    })
                })
            });
            let Some((whole, first)) = fitting else {
                let text = &protocol.source[at.span.start..at.span.end];
                return Err(Failure::new(format!(
                    "the parity of `{text}` does not alternate from one round at a barrier to the next"
                )));
            };
            all.push(Generation {
                class,
                site,
                first,
                all: whole,
            });
        }
    }
    // Waits of one member at one object are numbered together if one of them has to be.
    let together: HashSet<(usize, usize)> = all
        .iter()
        .filter(|g| g.all)
        .map(|g| (g.class, classes[g.class].flow.sites[g.site].object.0))
        .collect();
    for generation in &mut all {
        let object = classes[generation.class].flow.sites[generation.site].object.0;
        if together.contains(&(generation.class, object)) {
            generation.all = true;
        }
    }
    Ok(all)
}

fn sample(
    protocol: &Protocol,
    classes: &[Class],
    generations: &[Generation],
    params: Vec<i64>,
    ops: Vec<Vec<Op>>,
) -> Option<Sample> {
    let none = HashMap::new();
    let sizes = classes
        .iter()
        .map(|c| trace::value(&c.size, &params, &none))
        .collect::<Option<Vec<i64>>>()?;
    let mut steps = Vec::new();
    for (class, ops) in ops.into_iter().enumerate() {
        let mut waits: HashMap<trace::Element, i64> = HashMap::new();
        let mut registrations: HashMap<trace::Element, i64> = HashMap::new();
        let mut list = Vec::new();
        let mut count = 0;
        for op in ops {
            let site = &classes[class].flow.sites[op.site];
            let object = &protocol.objects[op.element.0];
            let mut adds = 0;
            let mut needs = None;
            match &site.kind {
                Kind::Arrive { .. } => adds = op.operand,
                Kind::Register { .. } => {
                    adds = 32;
                    count = op.operand;
                    *registrations.entry(op.element.clone()).or_default() += 1;
                }
                Kind::Await => needs = Some(count * registrations.get(&op.element)?),
                Kind::WaitParity { .. } => {
                    let known = generations
                        .iter()
                        .find(|g| g.class == class && g.site == op.site)?;
                    let earlier = waits.entry(op.element.clone()).or_default();
                    let rounds = if known.all { *earlier } else { op.rounds };
                    *earlier += 1;
                    let ObjectKind::Mbarrier { arrivals } = &object.kind else {
                        return None;
                    };
                    let expected = trace::value(arrivals, &params, &none)?;
                    needs = Some((rounds + known.first) * expected);
                }
                Kind::WaitValue { .. } => {
                    let ObjectKind::Semaphore(Initial::Value(start)) = &object.kind else {
                        return None;
                    };
                    needs = Some(op.operand - trace::value(start, &params, &none)?);
                }
            }
            list.push(Step { op, adds, needs });
        }
        steps.push(list);
    }
    Some(Sample {
        params,
        sizes,
        steps,
    })
}

struct Search<'a> {
    protocol: &'a Protocol,
    classes: &'a [Class],
    samples: &'a [Sample],
    holds: Vec<Hold>,
    deadline: Instant,
}

/// Where a class was seen to stop: the operation and the iteration, or the end.
type Seen = Option<(usize, i64)>;

impl Search<'_> {
    /// Whether the rule asks for a cut here.
    fn guarded(&self, class: usize, site: usize) -> bool {
        match &self.classes[class].flow.sites[site].kind {
            Kind::WaitParity { .. } | Kind::Register { .. } => true,
            Kind::WaitValue { comparison, .. } => *comparison == Comparison::Equal,
            _ => false,
        }
    }

    fn hold(&mut self, class: usize, site: usize) -> Result<(), Failure> {
        if self.holds.iter().any(|h| h.class == class && h.site == site) {
            return Ok(());
        }
        if Instant::now() >= self.deadline {
            return Err(Failure::new("the time limit was reached while looking for cuts"));
        }
        // Per other class, what was observed: the sample, the held operation, the stop.
        let mut seen: Vec<Vec<(usize, &Op, Seen)>> = vec![Vec::new(); self.classes.len()];
        for (nth, sample) in self.samples.iter().enumerate() {
            if sample.sizes[class] < 1 {
                continue;
            }
            let places: Vec<usize> = (0..sample.steps[class].len())
                .filter(|at| sample.steps[class][*at].op.site == site)
                .collect();
            let stride = places.len().div_ceil(HELD_PER_SITE).max(1);
            for &place in places.iter().step_by(stride) {
                let held = &sample.steps[class][place].op;
                for (position, stop) in closure(sample, class, place).into_iter().enumerate() {
                    if let Some(stop) = stop {
                        seen[position].push((nth, held, stop));
                    }
                }
            }
        }
        let mut stops = Vec::new();
        for (position, seen) in seen.iter().enumerate() {
            stops.push(self.stop(class, site, position, seen)?);
        }
        self.holds.push(Hold { class, site, stops });
        Ok(())
    }

    fn stop(
        &self,
        class: usize,
        site: usize,
        position: usize,
        seen: &[(usize, &Op, Seen)],
    ) -> Result<Stop, Failure> {
        let mut counts: HashMap<usize, usize> = HashMap::new();
        for (_, _, stop) in seen {
            if let Some((at, _)) = stop {
                *counts.entry(*at).or_default() += 1;
            }
        }
        let mut sites: Vec<(usize, usize)> = counts.into_iter().collect();
        sites.sort_by_key(|(at, count)| (std::cmp::Reverse(*count), *at));
        let Some((stop_site, _)) = sites.first().copied() else {
            return Ok(Stop {
                site: None,
                clock: Form::default(),
            });
        };
        let (held, other) = (&self.classes[class], &self.classes[position]);
        let text = |span: crate::protocol::Span| &self.protocol.source[span.start..span.end];
        let describe = |why: &str| {
            Failure::new(format!(
                "while a member of {} is held at `{}`, where {} gets to {why}",
                held.name,
                text(held.flow.sites[site].span),
                other.name
            ))
        };
        if sites.len() > 1 {
            return Err(describe("is not one operation"));
        }
        let basis = self.basis(class, site, position, stop_site);
        let points: Vec<Point> = seen
            .iter()
            .map(|(nth, op, stop)| {
                let sample = &self.samples[*nth];
                let observed = match stop {
                    Some((_, clock)) => Observed::Exactly(*clock),
                    None => Observed::AtLeast(self.total(position, stop_site, sample)),
                };
                self.point(&basis, op, sample, observed)
            })
            .collect();
        let clock = fit::fit(&basis, &points).ok_or_else(|| describe("has no simple form"))?;
        Ok(Stop {
            site: Some(stop_site),
            clock,
        })
    }

    /// How many iterations the innermost loop around an operation has.
    fn total(&self, class: usize, site: usize, sample: &Sample) -> i64 {
        let flow = &self.classes[class].flow;
        let counted = flow.clock(site);
        if let cut::count::Counted::Site(_) = counted {
            return 1;
        }
        flow.before(cut::count::Place::End, counted)
            .and_then(|total| trace::value(&total, &sample.params, &HashMap::new()))
            .unwrap_or(0)
    }

    fn basis(&self, class: usize, site: usize, other: usize, stop: usize) -> Basis {
        let depth = self.classes[class].flow.sites[site].path.loops.len();
        let mut trips: Vec<Quantity> = Vec::new();
        let flow = &self.classes[other].flow;
        for at in &flow.sites[stop].path.loops {
            match &flow.loops[*at].trips {
                Expr::Param(id) => trips.push(Quantity::Param(id.0)),
                Expr::Int(_) => {}
                trip if !flow
                    .loops
                    .iter()
                    .any(|l| crate::certificate::cut::class::mentions(trip, l.var)) =>
                {
                    trips.push(Quantity::Trips(other, *at));
                }
                _ => {}
            }
        }
        let mut leading = Vec::new();
        for clock in (0..depth).rev() {
            leading.push(vec![Quantity::Clock(clock)]);
        }
        for clock in (0..depth).rev() {
            for trip in &trips {
                leading.push(vec![Quantity::Clock(clock), *trip]);
            }
        }
        let mut rest: Vec<Vec<Quantity>> = trips.iter().map(|t| vec![*t]).collect();
        for at in 0..self.protocol.params.len() {
            let quantity = vec![Quantity::Param(at)];
            if !rest.contains(&quantity) {
                rest.push(quantity);
            }
        }
        Basis { leading, rest }
    }

    fn point(&self, basis: &Basis, op: &Op, sample: &Sample, observed: Observed) -> Point {
        let value = |product: &Vec<Quantity>| {
            product
                .iter()
                .map(|quantity| match quantity {
                    Quantity::Param(at) => sample.params[*at],
                    Quantity::Clock(depth) => op.clocks[*depth],
                    Quantity::Trips(class, at) => {
                        let trips = &self.classes[*class].flow.loops[*at].trips;
                        trace::value(trips, &sample.params, &HashMap::new()).unwrap_or(0)
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

    /// For a registration that the member does not follow with a wait: who waits for the
    /// generation before.
    fn support(&mut self, class: usize, site: usize) -> Result<Option<Support>, Failure> {
        let flow = &self.classes[class].flow;
        let this = &flow.sites[site];
        let register = |kind: &Kind| matches!(kind, Kind::Register { .. });
        let awaited = |stmt| {
            let mut sites = flow.sites.iter();
            sites.any(|s| s.stmt == stmt && matches!(s.kind, Kind::Await))
        };
        let open = flow
            .sites
            .iter()
            .any(|s| s.may_meet(this) && register(&s.kind) && !awaited(s.stmt));
        if !register(&this.kind) || !open {
            return Ok(None);
        }
        for by in (0..self.classes.len()).filter(|by| *by != class) {
            for wait in 0..self.classes[by].flow.sites.len() {
                let other = &self.classes[by].flow.sites[wait];
                if !other.may_meet(this) || !matches!(other.kind, Kind::Await) {
                    continue;
                }
                if let Some(clock) = self.supporting(class, site, by, wait) {
                    self.hold(by, wait)?;
                    return Ok(Some(Support {
                        class,
                        site,
                        by,
                        wait,
                        clock,
                    }));
                }
            }
        }
        let text = &self.protocol.source[this.span.start..this.span.end];
        // One registration per member and element needs no order.
        if self.samples.iter().all(|sample| {
            let mut seen = HashSet::new();
            let ops = sample.steps[class].iter().map(|s| &s.op);
            ops.filter(|op| flow.sites[op.site].may_meet(this) && register(&flow.sites[op.site].kind))
                .all(|op| seen.insert(op.element.clone()))
        }) {
            for by in 0..self.classes.len() {
                for wait in 0..self.classes[by].flow.sites.len() {
                    if by != class && self.classes[by].flow.sites[wait].kind.blocks() {
                        // Never used: the obligation is about a second registration.
                        self.hold(by, wait)?;
                        return Ok(Some(Support {
                            class,
                            site,
                            by,
                            wait,
                            clock: Form::default(),
                        }));
                    }
                }
            }
        }
        Err(Failure::new(format!(
            "nothing orders `{text}` after the generation before it"
        )))
    }

    fn supporting(&self, class: usize, site: usize, by: usize, wait: usize) -> Option<Form> {
        let basis = self.basis(class, site, by, wait);
        let mut points = Vec::new();
        for sample in self.samples {
            let mut earlier: HashMap<&trace::Element, i64> = HashMap::new();
            for step in &sample.steps[class] {
                let kind = &self.classes[class].flow.sites[step.op.site].kind;
                if !matches!(kind, Kind::Register { .. }) {
                    continue;
                }
                let nth = earlier.entry(&step.op.element).or_default();
                *nth += 1;
                if step.op.site != site || *nth == 1 {
                    continue;
                }
                // The wait for the `nth - 1`st generation of the element.
                let mut registered = 0;
                let found = sample.steps[by].iter().find(|other| {
                    let there = &self.classes[by].flow.sites[other.op.site].kind;
                    let same = other.op.element == step.op.element;
                    if same && matches!(there, Kind::Register { .. }) {
                        registered += 1;
                    }
                    same && other.op.site == wait && registered == *nth - 1
                })?;
                let observed = Observed::Exactly(found.op.clock());
                points.push(self.point(&basis, &step.op, sample, observed));
            }
        }
        fit::fit(&basis, &points)
    }
}

/// Where every class gets to while one member is held before an operation: `None` for a class
/// without members.
fn closure(sample: &Sample, class: usize, place: usize) -> Vec<Option<Seen>> {
    let mut crews: Vec<Crew<'_>> = sample
        .steps
        .iter()
        .enumerate()
        .map(|(position, steps)| Crew {
            size: sample.sizes[position] - i64::from(position == class),
            ops: steps,
            at: 0,
            held: usize::MAX,
        })
        .collect();
    crews.push(Crew {
        size: 1,
        ops: &sample.steps[class],
        at: 0,
        held: place,
    });
    trace::run(&mut crews);
    crews[..sample.steps.len()]
        .iter()
        .map(|crew| {
            (crew.size > 0).then(|| {
                crew.ops
                    .get(crew.at)
                    .map(|step| (step.op.site, step.op.clock()))
            })
        })
        .collect()
}
