//! Guesses cuts: generations from parities, stops from concrete runs with one member held.

mod asserted;
pub(super) mod copies;
mod exposures;
mod fit;
pub(super) mod points;
mod refine;
mod registrations;
pub(super) mod trace;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::collections::HashSet;
use std::rc::Rc;
use std::time::Duration;
use std::time::Instant;

use fit::Basis;
use fit::Observed;
use fit::Point;
use itertools::Itertools;
use trace::Amounts;
use trace::Op;
use trace::Step;

use crate::certificate;
use crate::certificate::cut;
use crate::certificate::cut::artefact::Case;
use crate::certificate::cut::artefact::Cut;
use crate::certificate::cut::artefact::Generation;
use crate::certificate::cut::artefact::Hold;
use crate::certificate::cut::artefact::Order;
use crate::certificate::cut::artefact::Quantity;
use crate::certificate::cut::artefact::Registration;
use crate::certificate::cut::artefact::Shows;
use crate::certificate::cut::artefact::Stop;
use crate::certificate::cut::artefact::Support;
use crate::certificate::cut::class;
use crate::certificate::cut::class::Class;
use crate::certificate::cut::count::Place;
use crate::certificate::cut::flow;
use crate::certificate::cut::flow::Kind;
use crate::certificate::cut::ordered::Ordered;
use crate::certificate::manifest::Argument;
use crate::protocol::BinaryOp;
use crate::protocol::Comparison;
use crate::protocol::Domain;
use crate::protocol::Expr;
use crate::protocol::Initial;
use crate::protocol::ObjectKind;
use crate::protocol::ParamId;
use crate::protocol::Protocol;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::Work;

use super::Guess;

/// Operations of one member, and of all classes together, at which a sample is too large.
const MAX_OPS: usize = 400;

/// Held operations looked at per sample and site.
const HELD_PER_SITE: usize = 12;

/// The largest constant added to a clock before it is divided.
const MAX_OFFSET: i64 = 8;

/// The same where a sum of lengths is over so many iterations.
const MAX_SHIFT: i64 = 4;

/// How many steps of one member may go with one of another, and how much later it may begin.
const MAX_STEP: i64 = 3;

/// A finite parameter with more values is not split.
const MAX_VALUES: i64 = 64;

/// Looks for a proof by cuts that shows so much. Cuts for operations are taken from `base`, where it
/// has the same case.
pub fn guess(
    protocol: &Protocol,
    shows: Shows,
    base: Option<&Cut>,
    deadline: Instant,
    tell: &dyn Fn(&str),
) -> Guess {
    let mut reason = None;
    // An order of copies is what it takes where their programs depend on their number. What such
    // copies do to data is refused.
    for order in [None, Some(Order::Ascending), Some(Order::Descending)] {
        let copies = |order| cut::ordered::ordered(protocol, order).is_some();
        let alone = is_one_grid(protocol) || !matches!(shows, Shows::Nothing | Shows::Generations);
        if !order.is_none_or(copies) || order.is_some() && alone {
            continue;
        }
        let split = split(protocol, (shows, order));
        let base = base.filter(|base| base.order == order && base.split == split);
        // Discharging is left to the checker: doing it twice would take twice the time. Only which
        // of two orders it is has to be told from what it shows.
        let start = Cut {
            split,
            shows,
            order,
            cases: Vec::new(),
        };
        match in_order(protocol, start, base, deadline, tell) {
            Ok(cut) if order == Some(Order::Ascending) && !copies::goes_on(protocol, &cut) => {
                reason = Some("ascending numbers are not the order of the copies".to_owned());
            }
            Ok(cut) => return Guess::Fitting(Argument::Cut(cut)),
            // Beyond the first, it says more about why there is no proof.
            Err(failure) => reason = Some(failure.reason),
        }
    }
    Guess::nothing(reason.unwrap_or_default())
}

/// Whether a protocol is one grid that works on semaphores: other rules know more about those, such as
/// in which order the CTAs start.
fn is_one_grid(protocol: &Protocol) -> bool {
    let semaphore = |kind: &ObjectKind| matches!(kind, ObjectKind::Semaphore(_));
    let launched = protocol.roles.iter().all(|role| role.launch.is_some());
    launched
        && protocol.roles.len() == 1
        && protocol
            .objects
            .iter()
            .all(|object| semaphore(&object.kind))
}

/// The same with the copies in an order, if any.
fn in_order(
    protocol: &Protocol,
    mut cut: Cut,
    base: Option<&Cut>,
    deadline: Instant,
    tell: &dyn Fn(&str),
) -> Result<Cut, Failure> {
    let refused = |refused| Failure::new(super::uncovered(refused));
    let combinations = cut::cases::combinations(protocol, &cut.split).map_err(refused)?;
    let total = combinations.len();
    for (nth, values) in combinations.iter().enumerate() {
        tell(&format!("looking for cuts, case {} of {total}", nth + 1));
        let cases = refine::cases(protocol, (&cut, base), values, deadline)?;
        cut.cases.extend(cases);
    }
    Ok(cut)
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

/// Finite parameters that divide, or that say how many objects there are; those that say how many
/// members there are only where that cannot stay symbolic.
pub(super) fn split_in_order(protocol: &Protocol, order: Option<Order>) -> Vec<usize> {
    split_by(protocol, order, HashSet::new())
}

/// The same for what is to be shown.
fn split(protocol: &Protocol, (shows, order): (Shows, Option<Order>)) -> Vec<usize> {
    let mut used = HashSet::new();
    if matches!(shows, Shows::Ordering | Shows::Visibility) {
        for role in &protocol.roles {
            data(&role.body, &mut used);
        }
    }
    split_by(protocol, order, used)
}

/// Parameters that divide where data is, or that say how many groups may be outstanding.
fn data(body: &[Stmt], used: &mut HashSet<usize>) {
    for stmt in body {
        let touches = match &stmt.kind {
            StmtKind::If {
                then, otherwise, ..
            } => {
                data(then, used);
                data(otherwise, used);
                continue;
            }
            StmtKind::For { body, .. } => {
                data(body, used);
                continue;
            }
            StmtKind::Access {
                work: Work::WaitGroup { most, .. },
                ..
            } => {
                parameters(most, used);
                continue;
            }
            StmtKind::Copy { touches, .. }
            | StmtKind::Access {
                work: Work::Now(touches) | Work::Async(touches),
                ..
            } => touches,
            _ => continue,
        };
        for touch in touches {
            touch.index.iter().for_each(|e| divisors(e, used));
        }
    }
}

fn split_by(protocol: &Protocol, order: Option<Order>, mut used: HashSet<usize>) -> Vec<usize> {
    for object in &protocol.objects {
        object.extents.iter().for_each(|e| parameters(e, &mut used));
    }
    for role in &protocol.roles {
        statements(&role.body, &mut used);
    }
    let few = finite(protocol, &used);
    let classes = |split: &[usize]| {
        let cases = cut::cases::combinations(protocol, split).ok()?;
        let values = cases.first()?;
        let fixed = cut::cases::pairs(split, values);
        let view = cut::View::new(protocol, order).ok()?;
        view.classes(&fixed).ok()
    };
    if classes(&few).is_some() {
        return few;
    }
    for role in &protocol.roles {
        for index in &role.indices {
            parameters(&index.extent, &mut used);
        }
    }
    finite(protocol, &used)
}

/// Those of the parameters that have few values.
fn finite(protocol: &Protocol, used: &HashSet<usize>) -> Vec<usize> {
    (0..protocol.params.len())
        .filter(|at| used.contains(at))
        .filter(|at| match &protocol.params[*at].domain {
            Domain::Range(lo, hi) => hi - lo < MAX_VALUES,
            Domain::Set(_) => true,
            Domain::AtLeast(_) => false,
        })
        .collect()
}

fn statements(body: &[Stmt], used: &mut HashSet<usize>) {
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
    /// Per class, how many members, of one copy where there are copies.
    sizes: Vec<i64>,
    /// Per class, how many copies of its kind, if it belongs to copies that share objects.
    copies: Vec<Option<i64>>,
    steps: Vec<Vec<Step>>,
    /// Class, loop: how many iterations it has had after so many of the loop around it, where its
    /// length depends on that one.
    sums: HashMap<(usize, usize), Vec<i64>>,
    /// What the classes do in the other ones of ordered copies, by number.
    others: Vec<(i64, Vec<Vec<Step>>)>,
}

impl Sample {
    /// What a class does in the copy of the sample, or in another one.
    fn steps_in(&self, copy: usize, class: usize) -> &[Step] {
        match copy.checked_sub(1) {
            Some(other) => &self.others[other].1[class],
            None => &self.steps[class],
        }
    }

    /// How many copies of a class do a step at one element.
    fn copies_at(&self, class: usize, step: &Step) -> i64 {
        let copies = self.copies[class].filter(|_| !step.private);
        copies.unwrap_or(1)
    }
}

fn case(
    protocol: &Protocol,
    (cut, base): (&Cut, Option<&Cut>),
    mut result: Case,
    deadline: Instant,
) -> Result<Case, Failure> {
    let fixed = cut::cases::fixed(&cut.split, &result);
    let refused = |refused| Failure::new(super::uncovered(refused));
    let view = cut::View::new(protocol, cut.order).map_err(refused)?;
    let points = points::draw(protocol, &fixed);
    if points.is_empty() {
        if certificate::domain_is_empty(&narrowed(protocol, &fixed), Duration::from_secs(2)) {
            result.empty = true;
            return Ok(result);
        }
        return Err(Failure::new(
            "no small parameter values satisfy the assumptions",
        ));
    }
    let [classes, _] = view.classes(&fixed).map_err(refused)?;
    let points = match &view.ordered {
        Some(ordered) => copies::numbered(ordered, points),
        None => points,
    };
    let (source, protocol) = (protocol, view.protocol());
    let total = points.len();
    let mut traced = traced(&classes, points);
    // Where the domain begins with many iterations, fewer tell as much.
    if view.ordered.is_none() && 4 * traced.len() < 3 * total {
        let shorter = traced_below(source, &classes, &fixed);
        if shorter.len() > traced.len() {
            traced = shorter;
        }
    }
    result.generations = generations(protocol, &classes, &traced)?;
    let numbered = |registrations: &[Registration]| -> Vec<Sample> {
        let numbers = (&result.generations[..], registrations);
        let traced = traced.iter().cloned();
        let samples = traced.filter_map(|(params, ops)| {
            let one = sample(protocol, &classes, numbers, params, ops)?;
            match &view.ordered {
                Some(ordered) => copies::with_others(protocol, ordered, &classes, numbers, one),
                None => Some(one),
            }
        });
        samples.collect()
    };
    let mut samples = numbered(&[]);
    let registrations = registrations::registrations(protocol, &classes, &samples);
    if !registrations.is_empty() {
        samples = numbered(&registrations);
        result.registrations = registrations;
    }
    let renamings = cut::renamings(&view, &fixed, &classes, &result);
    let mut search = Search {
        protocol,
        renamings,
        classes: &classes,
        samples: &samples,
        ordered: view.ordered.as_ref(),
        registrations: &result.registrations,
        holds: held_before(base, &result, &classes),
        shows: cut.shows,
        deadline,
        places: RefCell::default(),
    };
    for (class, this) in classes.iter().enumerate() {
        for site in 0..this.flow.sites.len() {
            if search.guarded(class, site) {
                search.hold(class, site)?;
            }
        }
    }
    for (class, this) in classes.iter().enumerate() {
        for site in 0..this.flow.sites.len() {
            result.supports.extend(search.supports(class, site)?);
        }
    }
    if matches!(cut.shows, Shows::Ordering | Shows::Visibility) {
        result.exposures = search.exposures();
    }
    result.plenty = search.plenty();
    result.revolving = search.revolving(&result.plenty);
    if cut.shows == Shows::Lifetimes {
        result.exposures = search.lifetimes();
    }
    if cut.shows == Shows::Exits {
        result.exposures = search.exits();
    }
    if cut.shows == Shows::Claims {
        result.exposures = search.asserted();
        result.floors = search.floors();
        search.kept();
    }
    result.holds = search.holds;
    Ok(result)
}

/// Parameter values, and what the classes do there.
type Traced = Vec<(Vec<i64>, Vec<Vec<Op>>)>;

/// What classes do at these parameter values, where that is not too much.
fn traced(classes: &[Class], points: Vec<Vec<i64>>) -> Traced {
    let ops = |params: &[i64]| -> Option<Vec<Vec<Op>>> {
        let ops = classes.iter().map(|c| trace::trace(c, params, MAX_OPS));
        ops.collect()
    };
    let points = points.into_iter();
    points
        .filter_map(|params| Some((ops(&params)?, params)))
        .map(|(ops, params)| (params, ops))
        .collect()
}

/// The same at values below the domain.
fn traced_below(protocol: &Protocol, classes: &[Class], fixed: &[(ParamId, i64)]) -> Traced {
    let points = points::draw(&points::lowered(protocol), fixed);
    traced(classes, points)
}

/// The cuts for operations that were found before for a case, if these are the same operations.
fn held_before(base: Option<&Cut>, case: &Case, classes: &[Class]) -> Vec<Hold> {
    let mut cases = base.into_iter().flat_map(|base| &base.cases);
    let same = cases.find(|known| {
        known.values == case.values
            && known.further == case.further
            && known.generations == case.generations
            && known.registrations == case.registrations
    });
    let fits = |hold: &&Hold| {
        let class = classes.get(hold.class);
        class.is_some_and(|class| hold.site < class.flow.sites.len())
    };
    let holds = same.map_or(&[][..], |known| &known.holds);
    holds.iter().filter(fits).cloned().collect()
}

fn narrowed(protocol: &Protocol, fixed: &[(ParamId, i64)]) -> Protocol {
    let mut protocol = protocol.clone();
    for (id, value) in fixed {
        protocol.params[id.0].domain = Domain::Range(*value, *value);
    }
    protocol
}

/// Reads off the parities which generation each wait stands for.
fn generations(
    protocol: &Protocol,
    classes: &[Class],
    traced: &[(Vec<i64>, Vec<Vec<Op>>)],
) -> Result<Vec<Generation>, Failure> {
    // Whether numbering a wait in one way agrees with every parity.
    let fits = |class: usize, site: usize, whole: bool, first: i64| {
        let flow = &classes[class].flow;
        traced.iter().all(|(_, ops)| {
            let mut waits: HashMap<&trace::Element, i64> = HashMap::new();
            ops[class].iter().all(|op| {
                if !matches!(flow.sites[op.site].kind, Kind::WaitParity { .. }) {
                    return true;
                }
                let earlier = waits.entry(&op.element).or_default();
                let rounds = if whole { *earlier } else { op.rounds };
                *earlier += 1;
                op.site != site || (rounds + first + op.operand).rem_euclid(2) == 1
            })
        })
    };
    let mut all = Vec::new();
    for (class, this) in classes.iter().enumerate() {
        for (site, at) in this.flow.sites.iter().enumerate() {
            if !matches!(at.kind, Kind::WaitParity { .. }) {
                continue;
            }
            let candidates = [(false, 0), (false, 1), (true, 0), (true, 1)];
            let mut fitting = candidates.into_iter();
            let fitting = fitting.find(|(whole, first)| fits(class, site, *whole, *first));
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
    // Waits of one member at one object are numbered together if one of them has to be, or if they
    // would not come one after the other: a parity is only half of what is asked for.
    let object = |g: &Generation| (g.class, classes[g.class].flow.sites[g.site].object.0);
    let mut together: HashSet<(usize, usize)> = all.iter().filter(|g| g.all).map(object).collect();
    for generation in &all {
        let (class, id) = object(generation);
        let there = all.iter().copied();
        let there: Vec<Generation> = there.filter(|g| object(g) == (class, id)).collect();
        let fit = |g: &Generation| {
            [0, 1]
                .iter()
                .any(|first| fits(g.class, g.site, true, *first))
        };
        if !ascending(&there, traced) && there.iter().all(fit) {
            together.insert((class, id));
        }
    }
    for generation in &mut all {
        let (class, site) = (generation.class, generation.site);
        let object = classes[class].flow.sites[site].object.0;
        if together.contains(&(class, object)) {
            let first = [0, 1]
                .into_iter()
                .find(|first| fits(class, site, true, *first));
            generation.first = first.unwrap_or(generation.first);
            generation.all = true;
        }
    }
    Ok(all)
}

/// Whether a member waits for one generation after the other, by the waits of a class at an object
/// that are numbered by operation.
fn ascending(waits: &[Generation], traced: &[(Vec<i64>, Vec<Vec<Op>>)]) -> bool {
    let Some(class) = waits.first().map(|g| g.class) else {
        return true;
    };
    traced.iter().all(|(_, ops)| {
        let mut latest: HashMap<&trace::Element, i64> = HashMap::new();
        ops[class].iter().all(|op| {
            let known = waits.iter().find(|g| g.site == op.site && !g.all);
            let Some(known) = known else {
                return true;
            };
            let latest = latest.entry(&op.element).or_default();
            let generation = op.rounds + known.first;
            let next = (*latest..=*latest + 1).contains(&generation);
            *latest = generation;
            next
        })
    })
}

fn sample(
    protocol: &Protocol,
    classes: &[Class],
    (generations, registrations): (&[Generation], &[Registration]),
    params: Vec<i64>,
    ops: Vec<Vec<Op>>,
) -> Option<Sample> {
    let none = HashMap::new();
    let mut sizes = classes
        .iter()
        .map(|c| trace::value(&c.size, &params, &none))
        .collect::<Option<Vec<i64>>>()?;
    let mut copies = Vec::new();
    for (class, size) in classes.iter().zip(&mut sizes) {
        let number = class.copies.as_ref();
        let number = number.map(|n| trace::value(n, &params, &none).ok_or(()));
        let number = number.transpose().ok()?;
        if number.is_some_and(|n| n < 1) {
            *size = 0;
        }
        copies.push(number);
    }
    let private = if classes.iter().any(|class| class.copies.is_some()) {
        cut::copies::copies(protocol)
    } else {
        cut::copies::Copies::default()
    };
    let expected = expected_bytes(classes, &sizes, &ops);
    let mut steps = Vec::new();
    for (class, ops) in ops.into_iter().enumerate() {
        let mut numbering = Numbering {
            protocol,
            classes,
            generations,
            registrations,
            class,
            params: &params,
            expected: &expected,
            private: &private,
            earlier: HashMap::new(),
            count: 0,
        };
        let list: Option<Vec<Step>> = ops.into_iter().map(|op| numbering.step(op)).collect();
        steps.push(list?);
    }
    let sums = sums(classes, &params);
    Some(Sample {
        params,
        sizes,
        copies,
        steps,
        sums,
        others: Vec::new(),
    })
}

/// See [`Sample::sums`].
fn sums(classes: &[Class], params: &[i64]) -> HashMap<(usize, usize), Vec<i64>> {
    let none = HashMap::new();
    let mut all = HashMap::new();
    for (class, this) in classes.iter().enumerate() {
        for (at, inner) in this.flow.loops.iter().enumerate() {
            if this.flow.after(at, &Expr::Int(0)).is_none() {
                continue;
            }
            let around = inner
                .outer
                .last()
                .map(|outer| &this.flow.loops[*outer].trips);
            let trips = around.and_then(|trips| trace::value(trips, params, &none));
            let sum = |outer| trace::value(&this.flow.after(at, &Expr::Int(outer))?, params, &none);
            let outer = 0..=trips.unwrap_or(0) + MAX_SHIFT;
            all.insert((class, at), outer.map_while(sum).collect());
        }
    }
    all
}

/// Per element, the bytes expected per generation.
fn expected_bytes(
    classes: &[Class],
    sizes: &[i64],
    ops: &[Vec<Op>],
) -> HashMap<trace::Element, i64> {
    let mut expected = HashMap::new();
    for (class, ops) in ops.iter().enumerate() {
        let mut seen = HashSet::new();
        for op in ops {
            let kind = &classes[class].flow.sites[op.site].kind;
            if matches!(kind, Kind::Expect { .. }) && seen.insert(&op.element) {
                *expected.entry(op.element.clone()).or_default() += op.operand * sizes[class];
            }
        }
    }
    expected
}

/// What a member has done at an element.
#[derive(Default)]
struct Earlier {
    waits: i64,
    arrivals: i64,
    registrations: i64,
    /// The generation of the last registration.
    joined: i64,
    /// Per operation.
    deliveries: HashMap<usize, i64>,
}

/// Numbers the operations of one class.
struct Numbering<'a> {
    protocol: &'a Protocol,
    classes: &'a [Class],
    generations: &'a [Generation],
    registrations: &'a [Registration],
    class: usize,
    params: &'a [i64],
    expected: &'a HashMap<trace::Element, i64>,
    private: &'a cut::copies::Copies,
    earlier: HashMap<trace::Element, Earlier>,
    /// The thread count of the registration before.
    count: i64,
}

impl Numbering<'_> {
    fn step(&mut self, op: Op) -> Option<Step> {
        let none = HashMap::new();
        let number = |e: &Expr| trace::value(e, self.params, &none);
        let site = &self.classes[self.class].flow.sites[op.site];
        let object = &self.protocol.objects[op.element.0];
        let earlier = self.earlier.entry(op.element.clone()).or_default();
        let mut adds = Amounts::default();
        let mut needs = None;
        let mut generation = 0;
        let arrivals = match &object.kind {
            ObjectKind::Mbarrier { arrivals, .. } | ObjectKind::Barrier { arrivals } => {
                number(arrivals)?
            }
            _ => 0,
        };
        match &site.kind {
            Kind::Arrive { .. } => {
                adds.arrivals = op.operand;
                earlier.arrivals += 1;
                generation = earlier.arrivals;
            }
            Kind::Expect { .. } => generation = earlier.arrivals + 1,
            // Cuts let acquisitions pass.
            Kind::Acquire { .. } | Kind::Release { .. } | Kind::Init | Kind::Own => {}
            Kind::Deliver { .. } => {
                adds.bytes = op.operand;
                let nth = earlier.deliveries.entry(op.site).or_default();
                *nth += 1;
                generation = *nth;
            }
            Kind::Register { .. } => {
                let named = object.kind == ObjectKind::Named;
                adds.arrivals = if named { 32 } else { 1 };
                self.count = if named { op.operand } else { arrivals };
                let known = self
                    .registrations
                    .iter()
                    .find(|r| r.class == self.class && r.site == op.site);
                let (first, every) = known.map_or((1, 1), |r| (r.first, r.every));
                earlier.joined = first + every * earlier.registrations;
                earlier.registrations += 1;
                generation = earlier.joined;
            }
            Kind::Await => {
                generation = earlier.joined;
                let count = if object.kind == ObjectKind::Named {
                    self.count
                } else {
                    arrivals
                };
                needs = Some(Amounts {
                    arrivals: count * generation,
                    bytes: 0,
                });
            }
            Kind::WaitParity { .. } => {
                let known = self
                    .generations
                    .iter()
                    .find(|g| g.class == self.class && g.site == op.site)?;
                let rounds = if known.all { earlier.waits } else { op.rounds };
                earlier.waits += 1;
                generation = rounds + known.first;
                let bytes = self.expected.get(&op.element).copied().unwrap_or(0);
                needs = Some(Amounts {
                    arrivals: generation * arrivals,
                    bytes: generation * bytes,
                });
            }
            Kind::WaitValue { .. } => {
                let ObjectKind::Semaphore(Initial::Value(start)) = &object.kind else {
                    return None;
                };
                needs = Some(Amounts {
                    arrivals: op.operand - number(start)?,
                    bytes: 0,
                });
            }
        }
        let commit = matches!(site.kind, Kind::Arrive { commit: true, .. });
        let private = self.private.shares && self.private.objects.contains_key(&op.element.0);
        Some(Step {
            op,
            generation,
            adds,
            needs,
            commit,
            private,
        })
    }
}

/// Where an operation is executed, by iteration.
type Places = Rc<HashMap<i64, usize>>;

struct Search<'a> {
    protocol: &'a Protocol,
    classes: &'a [Class],
    samples: &'a [Sample],
    ordered: Option<&'a Ordered>,
    registrations: &'a [Registration],
    /// Where each class goes, for every way of renaming classes and elements.
    renamings: Vec<Vec<usize>>,
    holds: Vec<Hold>,
    shows: Shows,
    deadline: Instant,
    /// Class, operation, sample, copy: where it is executed.
    places: RefCell<HashMap<(usize, usize, usize, usize), Places>>,
}

/// Where a class was seen while a member was held.
#[derive(Clone)]
struct Observation<'a> {
    /// The sample.
    sample: usize,
    /// In which copy: 0 for the sample's own.
    copy: usize,
    /// The iterations of the member that is held.
    clocks: &'a [i64],
    /// Where the class stopped.
    at: Seen,
}

/// Before which operation a class was seen to stop, by position in what it does.
type Seen = usize;

impl Search<'_> {
    /// Whether the rule asks for a cut here.
    fn guarded(&self, class: usize, site: usize) -> bool {
        match &self.classes[class].flow.sites[site].kind {
            Kind::WaitParity { .. } | Kind::Register { .. } | Kind::Init => true,
            Kind::Arrive { .. } => self.has_bytes(class, site),
            Kind::WaitValue { comparison, .. } => *comparison == Comparison::Equal,
            _ => false,
        }
    }

    /// The pools that have all that is ever taken from them in every sample.
    fn plenty(&self) -> Vec<usize> {
        let objects = self.protocol.objects.iter().enumerate();
        let pools = objects.filter_map(|(at, object)| match &object.kind {
            ObjectKind::Pool { capacity, .. } => Some((at, capacity)),
            _ => None,
        });
        let lasts = |pool: usize, capacity: &Expr, sample: &Sample| {
            let capacity = trace::value(capacity, &sample.params, &HashMap::new());
            let mut taken: HashMap<&trace::Element, i64> = HashMap::new();
            for (class, steps) in sample.steps.iter().enumerate() {
                for step in steps.iter().filter(|step| step.op.element.0 == pool) {
                    let kind = &self.classes[class].flow.sites[step.op.site].kind;
                    if matches!(kind, Kind::Acquire { .. }) {
                        let all = step.op.operand.saturating_mul(sample.sizes[class]);
                        *taken.entry(&step.op.element).or_default() += all;
                    }
                }
            }
            taken
                .values()
                .all(|all| capacity.is_some_and(|c| *all <= c))
        };
        pools
            .filter(|(pool, capacity)| self.samples.iter().all(|s| lasts(*pool, capacity, s)))
            .map(|(pool, _)| pool)
            .collect()
    }

    /// Of the others, those that have in every sample what each acquisition of everybody takes once.
    fn revolving(&self, plenty: &[usize]) -> Vec<usize> {
        let lasts = |pool: usize, capacity: &Expr, sample: &Sample| {
            let capacity = trace::value(capacity, &sample.params, &HashMap::new());
            let classes = sample.steps.iter().enumerate();
            let held = classes.map(|(class, steps)| {
                let taken = steps.iter().filter(|step| {
                    let kind = &self.classes[class].flow.sites[step.op.site].kind;
                    step.op.element.0 == pool && matches!(kind, Kind::Acquire { .. })
                });
                let once = taken.unique_by(|step| step.op.site);
                sample.sizes[class] * once.map(|step| step.op.operand).sum::<i64>()
            });
            capacity.is_some_and(|capacity| held.sum::<i64>() <= capacity)
        };
        let objects = self.protocol.objects.iter().enumerate();
        let pools = objects.filter_map(|(at, object)| match &object.kind {
            ObjectKind::Pool { capacity, .. } if !plenty.contains(&at) => Some((at, capacity)),
            _ => None,
        });
        pools
            .filter(|(pool, capacity)| self.samples.iter().all(|s| lasts(*pool, capacity, s)))
            .map(|(pool, _)| pool)
            .collect()
    }

    fn hold(&mut self, class: usize, site: usize) -> Result<(), Failure> {
        if self
            .holds
            .iter()
            .any(|h| h.class == class && h.site == site)
        {
            return Ok(());
        }
        if Instant::now() >= self.deadline {
            return Err(Failure::new(
                "the time limit was reached while looking for cuts",
            ));
        }
        // The checker asks for one of two that are the same but for names.
        let renamed = self.renamings.iter().find_map(|classes| {
            let mut holds = self.holds.iter();
            let known = holds.find(|h| h.site == site && classes[h.class] == class)?;
            cut::symmetric::renamed(known, classes)
        });
        if let Some(hold) = renamed {
            self.holds.push(hold);
            return Ok(());
        }
        let mut seen: Vec<Vec<Observation<'_>>> = vec![Vec::new(); self.classes.len()];
        let mut seen_elsewhere = seen.clone();
        for (nth, sample) in self.samples.iter().enumerate() {
            if sample.sizes[class] < 1 {
                continue;
            }
            let places: Vec<usize> = (0..sample.steps[class].len())
                .filter(|at| sample.steps[class][*at].op.site == site)
                .collect();
            let stride = places.len().div_ceil(HELD_PER_SITE).max(1);
            for &place in places.iter().step_by(stride) {
                let held = &sample.steps[class][place].op.clocks[..];
                let (_, stops) = self.closure(sample, class, Kept::Before(place));
                let observed = |copy, at| Observation {
                    sample: nth,
                    copy,
                    clocks: held,
                    at,
                };
                for (position, stop) in stops.here.into_iter().enumerate() {
                    seen[position].extend(stop.map(|at| observed(0, at)));
                }
                for (position, copy, at) in stops.elsewhere {
                    seen_elsewhere[position].push(observed(copy, at));
                }
            }
        }
        let place = Place::Site(site);
        let (mut stops, mut elsewhere) = (Vec::new(), Vec::new());
        for (position, seen) in seen.iter().enumerate() {
            stops.push(self.stop(class, place, position, seen)?);
        }
        if self.ordered.is_some() || self.classes.iter().any(|c| c.copies.is_some()) {
            for (position, seen) in seen_elsewhere.iter().enumerate() {
                elsewhere.push(self.stop(class, place, position, seen)?);
            }
        }
        self.holds.push(Hold {
            class,
            site,
            stops,
            elsewhere,
        });
        Ok(())
    }

    fn stop(
        &self,
        class: usize,
        place: Place,
        position: usize,
        seen: &[Observation<'_>],
    ) -> Result<Vec<Stop>, Failure> {
        let stopped = |seen: &Observation<'_>| -> Option<&Op> {
            let steps = self.samples[seen.sample].steps_in(seen.copy, position);
            steps.get(seen.at).map(|step| &step.op)
        };
        let sites: BTreeSet<usize> = seen
            .iter()
            .filter_map(|seen| stopped(seen).map(|op| op.site))
            .collect();
        let (held, other) = (&self.classes[class], &self.classes[position]);
        let text = |span: crate::protocol::Span| &self.protocol.source[span.start..span.end];
        let mut stops = Vec::new();
        for stop_site in sites {
            let basis = self.basis(class, place, position, stop_site);
            let points: Vec<Point> = seen
                .iter()
                .map(|seen| {
                    let sample = &self.samples[seen.sample];
                    let observed = match stopped(seen) {
                        Some(stop) if stop.site == stop_site => Observed::Exactly(stop.clock()),
                        // Stopped earlier than this operation would stop it, or not at all.
                        _ => {
                            let places = (seen.sample, seen.copy);
                            Observed::NotBefore(self.places(position, stop_site, places), seen.at)
                        }
                    };
                    self.point(&basis, seen.clocks, sample, observed)
                })
                .collect();
            let clock = fit::fit(&basis, &points).ok_or_else(|| {
                Failure::new(format!(
                    "while a member of {} is held at `{}`, where {} gets to has no simple form",
                    held.name,
                    text(held.flow.span(place)),
                    other.name
                ))
            })?;
            stops.push(Stop {
                site: stop_site,
                clock,
            });
        }
        Ok(stops)
    }

    /// At which place of what it does a class executes an operation, by iteration.
    fn places(&self, class: usize, site: usize, (sample, copy): (usize, usize)) -> Places {
        let key = (class, site, sample, copy);
        let mut known = self.places.borrow_mut();
        let found = known.entry(key).or_insert_with(|| {
            let steps = self.samples[sample]
                .steps_in(copy, class)
                .iter()
                .enumerate();
            let at = steps.filter(|(_, s)| s.op.site == site);
            Rc::new(at.map(|(place, s)| (s.op.clock(), place)).collect())
        });
        Rc::clone(found)
    }

    fn basis(&self, class: usize, place: Place, other: usize, stop: usize) -> Basis {
        let path = self.classes[class].flow.path(place);
        let depth = path.map_or(0, |path| path.loops.len());
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
        // How far an inner loop has got after so many iterations of the one around it.
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
        // How many iterations of an outer loop a number of stages is worth, whoever goes through them.
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
        // What goes by other steps than the held member, or begins later.
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

    /// An operation for every number of iterations of inner loops in one of the outermost.
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

    fn point(&self, basis: &Basis, clocks: &[i64], sample: &Sample, observed: Observed) -> Point {
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

    /// Whether the loops around an operation from a depth on go around equally often every time.
    fn steady(&self, class: usize, site: usize, from: usize) -> bool {
        let flow = &self.classes[class].flow;
        let mut loops = flow.sites[site].path.loops[from..].iter();
        loops.all(|at| {
            let trips = &flow.loops[*at].trips;
            !flow.loops.iter().any(|l| class::mentions(trips, l.var))
        })
    }

    fn has_bytes(&self, class: usize, site: usize) -> bool {
        let at = &self.classes[class].flow.sites[site];
        let bytes = |kind: &Kind| matches!(kind, Kind::Expect { .. } | Kind::Deliver { .. });
        self.classes
            .iter()
            .flat_map(|c| &c.flow.sites)
            .any(|s| s.may_meet(at) && bytes(&s.kind))
    }

    /// Whether the rule asks who orders this operation after the generation before its own.
    fn needs_support(&self, class: usize, site: usize) -> bool {
        let flow = &self.classes[class].flow;
        let this = &flow.sites[site];
        let before = site.checked_sub(1).map(|at| &flow.sites[at].kind);
        match &this.kind {
            Kind::Register { .. } => !flow.always_awaits(site) || self.skips(class, site),
            Kind::Expect { .. } => !self.waits_itself(class, site),
            Kind::Arrive { .. } => {
                let mbarrier = matches!(
                    self.protocol.objects[this.object.0].kind,
                    ObjectKind::Mbarrier { .. }
                );
                let asked =
                    self.has_bytes(class, site) || self.shows == Shows::Generations && mbarrier;
                asked
                    && !matches!(before, Some(Kind::Expect { .. }))
                    && !self.waits_itself(class, site)
            }
            Kind::Deliver { .. } => {
                let arrives =
                    |s: &flow::Site| s.may_meet(this) && matches!(s.kind, Kind::Arrive { .. });
                !flow.sites.iter().any(arrives) && !self.waits_itself(class, site)
            }
            _ => false,
        }
    }

    /// Whether an operation registers for other generations than each time the next.
    fn skips(&self, class: usize, site: usize) -> bool {
        self.registrations
            .iter()
            .any(|r| r.class == class && r.site == site)
    }

    /// Whether a member always waits for the generation before an operation's itself.
    fn waits_itself(&self, class: usize, site: usize) -> bool {
        let flow = &self.classes[class].flow;
        self.samples.iter().all(|sample| {
            let mut waited: HashMap<&trace::Element, i64> = HashMap::new();
            sample.steps[class].iter().all(|step| {
                let latest = waited.entry(&step.op.element).or_default();
                if matches!(flow.sites[step.op.site].kind, Kind::WaitParity { .. }) {
                    *latest = step.generation;
                }
                step.op.site != site || step.generation <= 1 + *latest
            })
        })
    }

    /// In which iteration a class waits, by one of its operations, for the generation before that
    /// of a step.
    fn awaited(&self, by: usize, wait: usize, (nth, step): (usize, &Step)) -> Option<i64> {
        let sample = &self.samples[nth];
        let same = sample.steps[by].iter().find(|other| {
            other.op.element == step.op.element
                && other.op.site == wait
                && other.generation == step.generation - 1
        });
        same.filter(|_| sample.sizes[by] > 0).map(|s| s.op.clock())
    }

    /// Who waits for the generation before the one an operation belongs to, where the rule asks.
    fn supports(&mut self, class: usize, site: usize) -> Result<Vec<Support>, Failure> {
        let mut found = Vec::new();
        if !self.needs_support(class, site) {
            return Ok(found);
        }
        let this = &self.classes[class].flow.sites[site];
        // What has to be ordered: the sample and the step. Without a second generation, nothing.
        let mut open: Vec<(usize, &Step)> = Vec::new();
        for (nth, sample) in self.samples.iter().enumerate() {
            if sample.sizes[class] > 0 {
                let steps = sample.steps[class].iter();
                let later = steps.filter(|s| s.op.site == site && s.generation > 1);
                open.extend(later.map(|step| (nth, step)));
            }
        }
        while !open.is_empty() {
            // Whoever is there most often first: best is one that always is.
            let mut candidates = Vec::new();
            for by in (0..self.classes.len()).filter(|by| *by != class) {
                for wait in 0..self.classes[by].flow.sites.len() {
                    let covered = open.iter().filter(|place| {
                        let awaited = self.awaited(by, wait, **place);
                        awaited.is_some()
                    });
                    let always = self.samples.iter().all(|sample| sample.sizes[by] > 0);
                    candidates.push(((covered.count(), always), by, wait));
                }
            }
            candidates.retain(|(covered, by, wait)| {
                let other = &self.classes[*by].flow.sites[*wait];
                covered.0 > 0 && other.may_meet(this) && other.kind.blocks()
            });
            candidates.sort_by_key(|(covered, ..)| std::cmp::Reverse(*covered));
            let fitting = candidates.into_iter().find_map(|(_, by, wait)| {
                let basis = self.basis(class, Place::Site(site), by, wait);
                let points: Vec<Point> = open
                    .iter()
                    .filter_map(|place| {
                        let observed = Observed::Exactly(self.awaited(by, wait, *place)?);
                        let sample = &self.samples[place.0];
                        Some(self.point(&basis, &place.1.op.clocks, sample, observed))
                    })
                    .collect();
                Some((by, wait, fit::fit(&basis, &points)?))
            });
            let Some((by, wait, clock)) = fitting else {
                break;
            };
            open.retain(|place| self.awaited(by, wait, *place).is_none());
            found.push(Support {
                class,
                site,
                by,
                wait,
                clock,
            });
        }
        if !open.is_empty() {
            let text = &self.protocol.source[this.span.start..this.span.end];
            return Err(Failure::new(format!(
                "nothing orders `{text}` after the generation before it"
            )));
        }
        for support in &found {
            self.hold(support.by, support.wait)?;
        }
        Ok(found)
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

/// How one member is kept from what it does, by position in that.
#[derive(Clone, Copy)]
enum Kept {
    /// It does not do this, nor what follows.
    Before(usize),
    /// This does not land.
    Landing(usize),
}
