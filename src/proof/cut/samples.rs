//! A protocol at concrete parameter values: the operations of each class of members, in order.
//!
//! For each operation, the sample says what it adds to its object and how much it needs there, in the unwrapped protocol:
//! the one in which a wait by parity asks for a number of completions instead. The search for cuts guesses from samples.

use std::collections::HashMap;
use std::collections::HashSet;

use super::basis::MAX_SHIFT;
use super::points;
use super::trace;
use super::trace::Amounts;
use super::trace::Op;
use super::trace::Step;
use crate::certificate::cut;
use crate::certificate::cut::artefact::Case;
use crate::certificate::cut::class::Class;
use crate::certificate::cut::flow::Kind;
use crate::protocol::Expr;
use crate::protocol::Initial;
use crate::protocol::ObjectKind;
use crate::protocol::ParamId;
use crate::protocol::Protocol;

/// Operations of one member, and of all classes together, at which a sample is too large.
pub(super) const MAX_OPS: usize = 400;

/// Numbers of iterations for loops that are shortened for a guess: more than the stages of most
/// rings, even and odd.
const SHORT: [i64; 4] = [12, 15, 20, 23];

/// At how many parameter values.
const POINTS: usize = 16;

/// A case at one concrete choice of parameters.
pub(super) struct Sample {
    pub(super) params: Vec<i64>,
    /// Per class, how many members, of one copy where there are copies.
    pub(super) sizes: Vec<i64>,
    /// Per class, how many copies of its kind, if it belongs to copies that share objects.
    pub(super) copies: Vec<Option<i64>>,
    pub(super) steps: Vec<Vec<Step>>,
    /// For a class and a loop whose length depends on the loop around it: how many iterations it
    /// has had after so many of that loop.
    pub(super) sums: HashMap<(usize, usize), Vec<i64>>,
    /// What the classes do in the other ordered copies, by their number.
    pub(super) others: Vec<(i64, Vec<Vec<Step>>)>,
}

impl Sample {
    /// What a class does in the copy of the sample, or in another one.
    pub(super) fn steps_in(&self, copy: usize, class: usize) -> &[Step] {
        match copy.checked_sub(1) {
            Some(other) => &self.others[other].1[class],
            None => &self.steps[class],
        }
    }

    /// How many copies of a class do a step at one element.
    pub(super) fn copies_at(&self, class: usize, step: &Step) -> i64 {
        let copies = self.copies[class].filter(|_| !step.private);
        copies.unwrap_or(1)
    }
}

/// Parameter values, and what the classes do there.
pub(super) type Traced = Vec<(Vec<i64>, Vec<Vec<Op>>)>;

/// What classes do at these parameter values, if that is not too much.
pub(super) fn traced(classes: &[Class], points: Vec<Vec<i64>>) -> Traced {
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
pub(super) fn traced_below(
    protocol: &Protocol,
    classes: &[Class],
    fixed: &[(ParamId, i64)],
) -> Traced {
    let points = points::draw(&points::lowered(protocol), fixed);
    traced(classes, points)
}

/// The same with fewer iterations than the protocol says. A parameter that is fixed is a number by
/// now, and such a number may be too large to follow. Equal numbers stay equal, and the others keep
/// their proportions.
///
/// What is found there is only a guess. The proof is about the real numbers.
pub(super) fn traced_shorter(classes: &[Class], points: &[Vec<i64>]) -> Traced {
    let none = HashMap::new();
    let number = |trips: &Expr| trace::value(trips, &[], &none).filter(|n| *n > points::LOW);
    let loops = || classes.iter().flat_map(|class| &class.flow.loops);
    let Some(least) = loops().filter_map(|l| number(&l.trips)).min() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for short in SHORT {
        let mut shorter = classes.to_vec();
        for this in shorter.iter_mut().flat_map(|class| &mut class.flow.loops) {
            if let Some(trips) = number(&this.trips)
                && let Some(product) = trips.checked_mul(short)
            {
                this.trips = Expr::Int(product / least);
            }
        }
        // A few of each: they differ only in the numbers of iterations.
        let points = points.iter().take(POINTS).cloned().collect();
        found.extend(traced(&shorter, points));
    }
    found
}

pub(super) fn sample(
    protocol: &Protocol,
    classes: &[Class],
    case: &Case,
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
            case,
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
                let all = op.operand.saturating_mul(sizes[class]);
                let expected: &mut i64 = expected.entry(op.element.clone()).or_default();
                *expected = expected.saturating_add(all);
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
    /// Per operation. Operations that are counted together have the first one as their key.
    deliveries: HashMap<usize, i64>,
}

/// Numbers the operations of one class.
struct Numbering<'a> {
    protocol: &'a Protocol,
    classes: &'a [Class],
    case: &'a Case,
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
                let mut all = self.case.deliveries.iter();
                let together = all.find(|d| d.class == self.class && d.sites.contains(&op.site));
                let first = together.and_then(|d| d.sites.first()).copied();
                let first = first.unwrap_or(op.site);
                let nth = earlier.deliveries.entry(first).or_default();
                *nth += 1;
                generation = *nth;
            }
            Kind::Register { .. } => {
                let named = object.kind == ObjectKind::Named;
                adds.arrivals = if named { 32 } else { 1 };
                self.count = if named { op.operand } else { arrivals };
                let known = self
                    .case
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
                    .case
                    .generations
                    .iter()
                    .find(|g| g.class == self.class && g.site == op.site)?;
                let rounds = if known.all { earlier.waits } else { op.rounds };
                earlier.waits += 1;
                generation = rounds + known.first;
                let bytes = self.expected.get(&op.element).copied().unwrap_or(0);
                needs = Some(Amounts {
                    arrivals: generation.checked_mul(arrivals)?,
                    bytes: generation.checked_mul(bytes)?,
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
