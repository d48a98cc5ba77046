//! The kernel against the reference semantics: its translator, what it accepts, and certificates of correct
//! protocols on wrong ones.

use std::collections::HashMap;
use std::time::Duration;

use warplock::certificate::argument::Argument;
use warplock::certificate::discharge::Answer;
use warplock::certificate::known::Known;
use warplock::proof;
use warplock::proof::Guess;
use warplock::proof::Layer;
use warplock::protocol::BinaryOp;
use warplock::protocol::Comparison;
use warplock::protocol::Expr;
use warplock::protocol::Protocol;
use warplock::protocol::VarId;
use warplock::semantics::input::Input;
use warplock::semantics::instance::Instance;
use warplock::semantics::instance::OpKind;
use warplock::semantics::unfold;
use warplock::text;
use warplock::trusted::certificate::Certificate;
use warplock::trusted::obligations;
use warplock::trusted::rings::At;
use warplock::trusted::system::Amount;
use warplock::trusted::system::Class;
use warplock::trusted::system::Doing;
use warplock::trusted::system::Node;
use warplock::trusted::system::System;

use super::order::OTHERS;
use super::order::never_wrong;
use super::order::wrong;
use crate::support::campaign::log;
use crate::support::campaign::number;
use crate::support::cut_rule::grid;
use crate::support::cut_templates;
use crate::support::edited::Kernels;
use crate::support::edited::generate;
use crate::support::group_templates;
use crate::support::kernel_templates;
use crate::support::library;
use crate::support::neighbour_templates;
use crate::support::order_edge_templates;
use crate::support::order_rings;
use crate::support::order_templates;
use crate::support::registration_templates;
use crate::support::weight_templates;

/// Cases of one run.
const CASES: u64 = 40;

/// Those of kernels that take longer to search.
const PART: u64 = 16;

#[test]
fn what_the_kernel_accepts_never_goes_wrong() {
    let edited = |seed| generate(&cut_templates::KERNELS, seed);
    never_wrong(Layer::Kernel, &edited, 14_000_000, CASES);
}

#[test]
fn what_it_accepts_of_chains_of_rings_never_goes_wrong() {
    let edited = |seed| generate(&order_templates::KERNELS, seed);
    never_wrong(Layer::Kernel, &edited, 15_000_000, PART);
}

#[test]
fn what_it_accepts_at_its_edges_never_goes_wrong() {
    let edited = |seed| generate(&order_edge_templates::KERNELS, seed);
    never_wrong(Layer::Kernel, &edited, 16_000_000, PART);
}

#[test]
fn what_it_accepts_of_empty_families_and_counters_never_goes_wrong() {
    let edited = |seed| generate(&kernel_templates::KERNELS, seed);
    never_wrong(Layer::Kernel, &edited, 18_000_000, CASES);
}

#[test]
fn what_it_accepts_of_groups_and_pools_never_goes_wrong() {
    let edited = |seed| generate(&group_templates::KERNELS, seed);
    never_wrong(Layer::Kernel, &edited, 37_000_000, CASES);
}

#[test]
fn what_it_accepts_of_neighbours_and_initialisations_never_goes_wrong() {
    let edited = |seed| generate(&neighbour_templates::KERNELS, seed);
    never_wrong(Layer::Kernel, &edited, 40_000_000, CASES);
}

#[test]
fn what_it_accepts_of_weights_never_goes_wrong() {
    let edited = |seed| generate(&weight_templates::KERNELS, seed);
    never_wrong(Layer::Kernel, &edited, 38_000_000, CASES);
}

#[test]
fn what_it_accepts_of_several_arrivals_never_goes_wrong() {
    let edited = |seed| generate(&registration_templates::KERNELS, seed);
    never_wrong(Layer::Kernel, &edited, 39_000_000, CASES);
}

#[test]
fn what_it_accepts_of_random_rings_never_goes_wrong() {
    never_wrong(Layer::Kernel, &order_rings::generate, 17_000_000, CASES);
}

/// The certificate that the search finds, whether or not it is accepted.
fn certificate(protocol: &Protocol) -> Option<Certificate> {
    let limit = Duration::from_secs(10);
    match proof::search(protocol, Layer::Kernel, limit, None, &|_| {}) {
        Guess::Found(Argument::Kernel(found)) | Guess::Fitting(Argument::Kernel(found)) => {
            Some(found)
        }
        _ => None,
    }
}

fn accepted(protocol: &Protocol, certificate: &Certificate) -> bool {
    let Ok(obligations) = obligations(protocol, certificate) else {
        return false;
    };
    let known = Known::default();
    let limit = Duration::from_secs(1);
    let mut all = obligations.iter();
    all.all(|obligation| known.discharge(obligation, limit) == Answer::Discharged)
}

/// Certificates of protocols that work on the same ones with edits: what is accepted works.
#[test]
fn certificates_of_others_are_accepted_only_where_nothing_goes_wrong() {
    transplanted(&order_templates::KERNELS, 18_000_000, 30);
}

#[test]
fn certificates_about_groups_and_pools_are_accepted_only_where_nothing_goes_wrong() {
    transplanted(&group_templates::KERNELS, 37_500_000, 30);
}

#[test]
fn certificates_about_weights_are_accepted_only_where_nothing_goes_wrong() {
    transplanted(&weight_templates::KERNELS, 38_500_000, 20);
    transplanted(&registration_templates::KERNELS, 39_500_000, 20);
}

fn transplanted(kernels: &Kernels, seeds: u64, cases: u64) {
    let templates = kernels.templates.iter();
    let certificates: Vec<Certificate> = templates
        .filter_map(|template| {
            let source = format!("protocol plain\n{template}");
            certificate(&text::load(source.as_bytes()).unwrap())
        })
        .collect();
    let seeds = seeds + number("WARPLOCK_SEED", 0);
    let cases = cases * number("WARPLOCK_CASES", 1);
    let (mut pairs, mut taken) = (0, 0);
    for seed in seeds..seeds + cases {
        let Some(source) = generate(kernels, seed) else {
            continue;
        };
        let protocol = text::load(source.as_bytes()).unwrap();
        let mut works = None;
        for certificate in &certificates {
            pairs += 1;
            if accepted(&protocol, certificate) {
                taken += 1;
                let works = works.get_or_insert_with(|| wrong(&protocol, &OTHERS).0);
                assert_eq!(*works, None, "seed {seed}\n{source}");
            }
        }
    }
    log(&format!("{pairs} pairs, {taken} accepted"));
    assert!(taken >= 1 && taken * 4 < pairs, "{taken} of {pairs}");
}

/// What a member does, as the reference semantics have it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Done {
    Arrive(i64),
    Expect(i64),
    Deliver(i64),
    Parity(i64),
    Own,
    Init,
    Value(Comparison, i64),
    Take(i64),
    Give(i64),
}

/// An element and what is done there.
type Step = (usize, Vec<i64>, Done);

fn reference(instance: &Instance, member: usize) -> Vec<Step> {
    let mut all = Vec::new();
    for op in &instance.members[member].ops {
        let cell = op.cell.0 as usize;
        let object = instance
            .objects
            .iter()
            .position(|o| o.cells.contains(&cell))
            .unwrap();
        let layout = &instance.objects[object];
        let mut rest = (cell - layout.cells.start) as i64;
        let mut element = Vec::new();
        for extent in layout.extents.iter().rev() {
            element.insert(0, rest % extent);
            rest /= extent;
        }
        let done = match op.kind {
            OpKind::Add(amount) | OpKind::Arrive(amount) => vec![Done::Arrive(amount)],
            OpKind::Commit | OpKind::BarrierArrive => vec![Done::Arrive(1)],
            OpKind::BarArrive(threads) => vec![Done::Arrive(threads)],
            OpKind::Sync(threads) => vec![Done::Arrive(threads), Done::Own],
            OpKind::BarrierWait => vec![Done::Own],
            OpKind::ExpectTx(bytes) => vec![Done::Expect(bytes)],
            OpKind::CompleteTx(bytes) | OpKind::Copy(bytes) => vec![Done::Deliver(bytes)],
            OpKind::WaitParity(parity) => vec![Done::Parity(i64::from(parity))],
            OpKind::Wait(how, value) => vec![Done::Value(how, value)],
            OpKind::Init => vec![Done::Init],
            OpKind::Acquire(amount) => vec![Done::Take(amount)],
            OpKind::Release(amount) => vec![Done::Give(amount)],
            OpKind::Set(_)
            | OpKind::Fetch(_)
            | OpKind::WaitSwap { .. }
            | OpKind::NotDefined
            | OpKind::Touch(_) => {
                panic!("the kernel does not know {:?}", op.kind)
            }
        };
        all.extend(done.into_iter().map(|done| (object, element.clone(), done)));
    }
    all
}

struct Walk<'a> {
    system: &'a System<'a>,
    params: &'a [i64],
    vars: HashMap<VarId, i64>,
    steps: Vec<Step>,
}

impl Walk<'_> {
    fn block(&mut self, body: &[Node]) {
        for node in body {
            match node {
                Node::Assign(var, expr, _) => {
                    let value = self.value(expr);
                    self.vars.insert(*var, value);
                }
                Node::Branch(condition, then, otherwise, _) => {
                    let holds = self.value(condition) != 0;
                    self.block(if holds { then } else { otherwise });
                }
                Node::Loop(this) => {
                    let (lo, hi) = (self.value(&this.lo), self.value(&this.hi));
                    let mut values: Vec<i64> = (lo..hi).collect();
                    if this.descending {
                        values.reverse();
                    }
                    for value in values {
                        self.vars.insert(this.var, value);
                        self.block(&this.body);
                    }
                }
                Node::Act(act) => {
                    let element: Vec<i64> = act.index.iter().map(|e| self.value(e)).collect();
                    let ring = &self.system.rings[act.ring];
                    for (index, at) in element.iter().zip(&ring.at) {
                        let other = matches!(at, At::Number(at) if at != index);
                        assert!(!other, "another lane");
                    }
                    let done = match &act.doing {
                        Doing::Arrive(Amount::One) => Done::Arrive(1),
                        Doing::Arrive(Amount::Init) => Done::Init,
                        Doing::Arrive(Amount::Given(e) | Amount::Threads(e)) => {
                            Done::Arrive(self.value(e))
                        }
                        Doing::Expect(e) => Done::Expect(self.value(e)),
                        Doing::Deliver(e) => Done::Deliver(self.value(e)),
                        Doing::Parity(e, _) => Done::Parity(self.value(e)),
                        Doing::Own(_) => Done::Own,
                        Doing::Value(e, how, _) => Done::Value(*how, self.value(e)),
                        Doing::Take(e) => Done::Take(self.value(e)),
                        Doing::Give(e) => Done::Give(self.value(e)),
                    };
                    self.steps.push((ring.object, element, done));
                }
            }
        }
    }

    fn value(&self, expr: &Expr) -> i64 {
        let go = |e: &Expr| self.value(e);
        match expr {
            Expr::Int(value) => *value,
            Expr::Bool(value) => i64::from(*value),
            Expr::Param(id) => self.params[id.0],
            Expr::Var(var) => self.vars[var],
            Expr::Neg(e) => -go(e),
            Expr::Not(e) => 1 - go(e),
            Expr::If(c, a, b) => go(if go(c) != 0 { a } else { b }),
            Expr::Binary(BinaryOp::And, a, b) => i64::from(go(a) != 0 && go(b) != 0),
            Expr::Binary(BinaryOp::Or, a, b) => i64::from(go(a) != 0 || go(b) != 0),
            Expr::Binary(op, a, b) => {
                let (a, b) = (go(a), go(b));
                match op {
                    BinaryOp::Add => a + b,
                    BinaryOp::Sub => a - b,
                    BinaryOp::Mul => a * b,
                    BinaryOp::Div => a.div_euclid(b),
                    BinaryOp::Mod => a.rem_euclid(b),
                    BinaryOp::Min => a.min(b),
                    BinaryOp::Max => a.max(b),
                    BinaryOp::Xor => a ^ b,
                    BinaryOp::Eq => i64::from(a == b),
                    BinaryOp::Ne => i64::from(a != b),
                    BinaryOp::Lt => i64::from(a < b),
                    BinaryOp::Le => i64::from(a <= b),
                    BinaryOp::Gt => i64::from(a > b),
                    BinaryOp::Ge => i64::from(a >= b),
                    BinaryOp::And | BinaryOp::Or => unreachable!(),
                }
            }
            Expr::Visits(..) | Expr::Count { .. } => panic!("a pattern"),
        }
    }
}

/// How many members do in the system what they do in the reference semantics, at small parameter values.
fn compared(protocol: &Protocol) -> usize {
    let splits = certificate(protocol)
        .map(|found| found.splits)
        .unwrap_or_default();
    let with_splits = Certificate {
        splits,
        ..Certificate::default()
    };
    let Ok(system) = System::new(protocol, &with_splits) else {
        return 0;
    };
    let mut members = 0;
    for params in grid(protocol).into_iter().take(12) {
        let input = Input {
            params: params.clone(),
            ..Input::default()
        };
        let Ok(instance) = unfold::instantiate(protocol, &input) else {
            continue;
        };
        for (number, member) in instance.members.iter().enumerate() {
            let is_in = |class: &&Class| {
                let mut ranges = class.ranges.iter().zip(&member.index);
                class.role == member.role
                    && ranges
                        .all(|(range, at)| range.lo <= *at && range.hi.is_none_or(|hi| *at < hi))
            };
            let classes: Vec<&Class> = system.classes.iter().filter(is_in).collect();
            assert_eq!(
                classes.len(),
                1,
                "each member is in one class\n{}",
                protocol.source
            );
            let indices = classes[0].ranges.iter().zip(&member.index);
            let mut walk = Walk {
                system: &system,
                params: &params,
                vars: indices.map(|(range, at)| (range.var, *at)).collect(),
                steps: Vec::new(),
            };
            walk.block(&classes[0].body);
            assert_eq!(
                walk.steps,
                reference(&instance, number),
                "{params:?}\n{}",
                protocol.source
            );
            members += 1;
        }
    }
    members
}

#[test]
fn the_translator_agrees_with_the_reference_semantics() {
    let mut members = 0;
    for (_, source) in library::protocols() {
        members += compared(&text::load(source.as_bytes()).unwrap());
    }
    assert!(members >= 500, "{members}");
    let first = 19_000_000;
    for seed in first..first + 40 * number("WARPLOCK_CASES", 1) {
        let edited = generate(&cut_templates::KERNELS, seed);
        let groups = generate(&group_templates::KERNELS, seed);
        let all = [edited, order_rings::generate(seed), groups];
        for source in all.into_iter().flatten() {
            members += compared(&text::load(source.as_bytes()).unwrap());
        }
    }
    assert!(members >= 2_000, "{members}");
}
