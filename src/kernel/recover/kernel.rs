//! A kernel's protocol: every warp of every CTA of a cluster, put together.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::ir::Kernel;
use crate::ir::Location;
use crate::meaning::Binary;
use crate::recover::bytes;
use crate::recover::graph::Graph;
use crate::recover::lower::Inputs;
use crate::recover::lower::Origin;
use crate::recover::lower::lower;
use crate::recover::lower::register;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::reroll::reroll;
use crate::recover::simplify::simplify;
use crate::recover::sketch::Action;
use crate::recover::sketch::Line;
use crate::recover::sketch::Role;
use crate::recover::slice::Slice;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::term::Terms;
use crate::recover::tree::Arena;
use crate::recover::tree::Obstacle;
use crate::recover::walk::Place;
use crate::recover::walk::walk;
use crate::recover::write;
use crate::validate::Validation;
use crate::validate::validate;

/// The shape of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Threads per CTA along x, y, z.
    pub threads: [u32; 3],
    /// CTAs per cluster along x, y, z.
    pub cluster: [u32; 3],
}

/// What was recovered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// The protocol as text of the protocol language.
    pub text: String,
    /// Whether a counterexample is one of a launch. Where it is not, parameters depend on each other, or a warp waits for
    /// warps that may have ended, which the hardware does not wait for.
    pub exact: bool,
    /// How far it was compared with the kernel.
    pub validation: Validation,
}

/// The roles of a kernel, and what they are made of.
#[derive(Debug)]
pub struct Roles {
    pub all: Vec<Role>,
    pub inputs: Inputs,
    pub arena: Arena,
}

/// A wait that a test has spared is written where it would stand, later than the test.
const OVERTAKEN: &str =
    "a phase that a test has found complete is not overtaken before the wait that the test spares";

/// Recovers the protocol of a kernel.
pub fn recover(kernel: &Kernel, shape: Shape) -> Result<Recovered, Obstacle> {
    let Roles {
        all: roles,
        inputs,
        mut arena,
    } = roles(kernel, shape)?;
    let exact = independent(&roles, &inputs, &arena.terms) && meet_alike(&roles, shape);
    let validation =
        validate(kernel, shape, &roles, &inputs, &mut arena).map_err(|difference| Obstacle {
            reason: format!(
                "internal: the recovered protocol differs from the kernel: {difference}"
            ),
            location: difference.location(),
        })?;
    let text = write::text(kernel, shape, &roles, &inputs, &validation)?;
    Ok(Recovered {
        text,
        exact,
        validation,
    })
}

/// Recovers the roles of a kernel, before they are compared with it.
pub fn roles(kernel: &Kernel, shape: Shape) -> Result<Roles, Obstacle> {
    let threads = shape
        .threads
        .iter()
        .try_fold(1_u32, |product, n| product.checked_mul(*n))
        .unwrap_or(0);
    let ctas = shape
        .cluster
        .iter()
        .try_fold(1_u32, |product, n| product.checked_mul(*n))
        .unwrap_or(0);
    let refuse = |reason: &str| Obstacle {
        reason: reason.to_owned(),
        location: Location::default(),
    };
    if !(1..=1024).contains(&threads) || !(1..=16).contains(&ctas) {
        return Err(refuse(
            "a CTA has 1 to 1,024 threads, and a cluster 1 to 16 CTAs",
        ));
    }
    let graph = Graph::new(kernel);
    if !graph.reducible {
        return Err(refuse("the control flow has a loop with several entries"));
    }
    let slice = Slice::new(kernel, &graph);
    let mut arena = Arena::default();
    let mut trees = Vec::new();
    for rank in 0..ctas {
        for warp in 0..threads.div_ceil(32) {
            let place = Place {
                threads: shape.threads,
                cluster: shape.cluster,
                rank,
                warp,
            };
            trees.push((rank, warp, walk(kernel, &graph, &slice, &mut arena, place)?));
        }
    }
    let mut all: Vec<_> = trees
        .iter_mut()
        .map(|(_, _, statements)| statements)
        .collect();
    simplify(&mut arena, &mut all);
    let mut inputs = Inputs::default();
    for (_, _, statements) in &trees {
        register(kernel, &mut arena, &mut inputs, statements);
    }
    let mut roles: Vec<Role> = Vec::new();
    for (rank, warp, statements) in &trees {
        let mut lines = lower(kernel, &mut arena, &mut inputs, threads, statements)?;
        if bytes::fill(&mut lines, &[])? {
            inputs.assumptions.insert(bytes::ASSUMPTION.to_owned());
        }
        trim(&mut lines);
        // Numbers of loops that no tree has.
        let mut next = arena.loops;
        reroll(&mut lines, &mut next);
        renumber(&mut lines);
        match roles
            .iter_mut()
            .find(|role| role.rank == *rank && role.lines == lines)
        {
            Some(role) => role.warps.push(*warp),
            None => roles.push(Role {
                rank: *rank,
                warps: vec![*warp],
                lines,
            }),
        }
    }
    if arena.looked_ahead {
        inputs.assumptions.insert(OVERTAKEN.to_owned());
    }
    quotients(&mut roles, &mut inputs);
    Ok(Roles {
        all: roles,
        inputs,
        arena,
    })
}

/// A `return` at the end says nothing.
fn trim(lines: &mut Vec<Line>) {
    while let Some(Line::Return) = lines.last() {
        lines.pop();
    }
    if let Some(Line::If {
        then, otherwise, ..
    }) = lines.last_mut()
    {
        trim(then);
        trim(otherwise);
        if then.is_empty() && otherwise.is_empty() {
            lines.pop();
        }
    }
}

/// Numbers loops and variables in the order in which they come, so that equal roles are equal.
fn renumber(lines: &mut [Line]) {
    let mut indices = BTreeMap::new();
    let mut variables = BTreeMap::new();
    number(lines, &mut indices, &mut variables);
    let with = |atomic: &Atomic| match atomic {
        Atomic::Index(index) => indices
            .get(index)
            .map(|index| Number::of(Atomic::Index(*index))),
        Atomic::Variable(variable) => variables
            .get(variable)
            .map(|number| Number::of(Atomic::Variable(*number))),
        _ => None,
    };
    replace(lines, &with);
    rename(lines, &indices, &variables);
}

fn number(lines: &[Line], indices: &mut BTreeMap<u32, u32>, variables: &mut BTreeMap<u32, u32>) {
    for line in lines {
        match line {
            Line::For { index, body, .. } => {
                let next = u32::try_from(indices.len()).unwrap_or(u32::MAX);
                indices.entry(*index).or_insert(next);
                number(body, indices, variables);
            }
            Line::If {
                then, otherwise, ..
            } => {
                number(then, indices, variables);
                number(otherwise, indices, variables);
            }
            Line::Let { variable, .. } | Line::Assign { variable, .. } => {
                let next = u32::try_from(variables.len()).unwrap_or(u32::MAX);
                variables.entry(*variable).or_insert(next);
            }
            _ => {}
        }
    }
}

fn rename(lines: &mut [Line], indices: &BTreeMap<u32, u32>, variables: &BTreeMap<u32, u32>) {
    for line in lines {
        match line {
            Line::For { index, body, .. } => {
                *index = indices.get(index).copied().unwrap_or(*index);
                rename(body, indices, variables);
            }
            Line::If {
                then, otherwise, ..
            } => {
                rename(then, indices, variables);
                rename(otherwise, indices, variables);
            }
            Line::Let { variable, .. } | Line::Assign { variable, .. } => {
                *variable = variables.get(variable).copied().unwrap_or(*variable);
            }
            _ => {}
        }
    }
}

/// Replaces parts of all numbers.
pub fn replace(lines: &mut [Line], by: &dyn Fn(&Atomic) -> Option<Number>) {
    numbers(lines, &mut |number| {
        if let Some(replaced) = number.replaced(by) {
            *number = replaced;
        }
    });
    conditions(lines, &mut |condition| {
        if let Some(replaced) = condition.replaced(by) {
            *condition = replaced;
        }
    });
}

/// Does something with every number outside of conditions.
pub fn numbers(lines: &mut [Line], with: &mut dyn FnMut(&mut Number)) {
    for line in lines {
        match line {
            Line::Action { action, .. } => match action {
                Action::Init { object, .. } | Action::Commit { object } => with(&mut object.offset),
                Action::Wait {
                    object,
                    parity: number,
                }
                | Action::Arrive {
                    object,
                    count: number,
                }
                | Action::ArriveExpect {
                    object,
                    bytes: number,
                }
                | Action::Expect {
                    object,
                    bytes: number,
                }
                | Action::Complete {
                    object,
                    bytes: number,
                } => {
                    with(&mut object.offset);
                    with(number);
                }
                Action::Copy { object, bytes } => {
                    with(&mut object.offset);
                    bytes.iter_mut().for_each(&mut *with);
                }
                Action::Sync { barrier, threads } | Action::BarrierArrive { barrier, threads } => {
                    with(barrier);
                    with(threads);
                }
                Action::ClusterArrive | Action::ClusterWait | Action::SetMaxRegisters { .. } => {}
            },
            Line::For { count, body, .. } => {
                with(count);
                numbers(body, with);
            }
            Line::If {
                then, otherwise, ..
            } => {
                numbers(then, with);
                numbers(otherwise, with);
            }
            Line::Let { value, .. } | Line::Assign { value, .. } => with(value),
            Line::Return => {}
        }
    }
}

fn conditions(lines: &mut [Line], with: &mut dyn FnMut(&mut Condition)) {
    for line in lines {
        match line {
            Line::For { body, .. } => conditions(body, with),
            Line::If {
                condition,
                then,
                otherwise,
                ..
            } => {
                with(condition);
                conditions(then, with);
                conditions(otherwise, with);
            }
            _ => {}
        }
    }
}

fn all_numbers(condition: &Condition, with: &mut dyn FnMut(&Number)) {
    match condition {
        Condition::Constant(_) => {}
        Condition::AtLeastZero(number) | Condition::Zero(number) | Condition::NotZero(number) => {
            with(number)
        }
        Condition::And(a, b) | Condition::Or(a, b) => {
            all_numbers(a, with);
            all_numbers(b, with);
        }
    }
}

/// An input of which only one quotient counts: the quotient becomes the input, which may be any number.
fn quotients(roles: &mut [Role], inputs: &mut Inputs) {
    for input in 0..inputs.all.len() {
        let wanted = Atomic::Input(u32::try_from(input).unwrap_or(u32::MAX));
        let mut found: BTreeSet<Atomic> = BTreeSet::new();
        let mut bare = false;
        let mut look = |number: &Number| quotients_of(number, &wanted, &mut found, &mut bare);
        for role in &mut *roles {
            numbers(&mut role.lines, &mut |number| look(number));
            conditions(&mut role.lines, &mut |condition| {
                all_numbers(condition, &mut look)
            });
        }
        let (Some(quotient), 1, false) = (found.first().cloned(), found.len(), bare) else {
            continue;
        };
        let range = Number::of(quotient.clone()).range(&|atomic| match atomic {
            Atomic::Input(number) => Some(inputs.all[*number as usize].range),
            _ => None,
        });
        let Atomic::Quotient(inner, divisor) = &quotient else {
            continue;
        };
        // One unknown with a coefficient of 1, or not every number is a quotient.
        if inner.parts.len() != 1 || inner.parts.get(&wanted) != Some(&1) {
            continue;
        }
        let Some(range) = range else { continue };
        let old = inputs.all[input].clone();
        let above = if inner.constant > 0 {
            format!("({} + {})", old.meaning, inner.constant)
        } else {
            old.meaning.clone()
        };
        let new = inputs.add(
            format!("{}_over_{divisor}", old.name),
            format!("{above} / {divisor}"),
            inputs.words[input].clone(),
            range,
            Origin::Number(Number::of(quotient.clone())),
        );
        for role in &mut *roles {
            replace(&mut role.lines, &|atomic| {
                (*atomic == quotient).then(|| Number::of(Atomic::Input(new)))
            });
        }
    }
}

fn quotients_of(number: &Number, wanted: &Atomic, found: &mut BTreeSet<Atomic>, bare: &mut bool) {
    for atomic in number.parts.keys() {
        if atomic == wanted {
            *bare = true;
        }
        match atomic {
            Atomic::Quotient(inner, _) if inner.parts.contains_key(wanted) => {
                found.insert(atomic.clone());
            }
            Atomic::Quotient(inner, _) | Atomic::Remainder(inner, _) => {
                quotients_of(inner, wanted, found, bare)
            }
            Atomic::Minimum(a, b) | Atomic::Maximum(a, b) => {
                quotients_of(a, wanted, found, bare);
                quotients_of(b, wanted, found, bare);
            }
            _ => {}
        }
    }
}

/// The inputs that occur.
pub fn used(roles: &[Role]) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut roles = roles.to_vec();
    let mut look = |number: &Number| {
        number.mentions(&|atomic| {
            if let Atomic::Input(input) = atomic {
                // Seen by a search that never finds.
                SEEN.with_borrow_mut(|seen| seen.insert(*input));
            }
            false
        });
    };
    for role in &mut roles {
        numbers(&mut role.lines, &mut |number| look(number));
        conditions(&mut role.lines, &mut |condition| {
            all_numbers(condition, &mut look)
        });
    }
    SEEN.with_borrow_mut(|seen| found.append(seen));
    found
}

thread_local! {
    static SEEN: std::cell::RefCell<BTreeSet<u32>> = const { std::cell::RefCell::new(BTreeSet::new()) };
}

/// Whether all warps of a CTA come to the barriers of all its threads alike.
fn meet_alike(roles: &[Role], shape: Shape) -> bool {
    let threads = i128::from(shape.threads.iter().product::<u32>().div_ceil(32)) * 32;
    let mut met: BTreeMap<u32, Vec<Line>> = BTreeMap::new();
    roles.iter().all(|role| {
        let mine = meetings(&role.lines, threads);
        *met.entry(role.rank).or_insert_with(|| mine.clone()) == mine
    })
}

/// What is left of lines without all but the barriers of all threads.
fn meetings(lines: &[Line], threads: i128) -> Vec<Line> {
    let location = Location::default;
    lines
        .iter()
        .filter_map(|line| match line {
            Line::Action { action, .. } => {
                let all = matches!(action, Action::Sync { threads: counted, .. } if counted.as_constant() == Some(threads));
                all.then(|| Line::Action {
                    action: action.clone(),
                    location: location(),
                })
            }
            Line::For { count, body, .. } => {
                let body = meetings(body, threads);
                (!body.is_empty()).then(|| Line::For {
                    index: 0,
                    count: count.clone(),
                    body,
                    location: location(),
                })
            }
            Line::If {
                condition,
                then,
                otherwise,
                ..
            } => {
                let (then, otherwise) = (meetings(then, threads), meetings(otherwise, threads));
                (!then.is_empty() || !otherwise.is_empty()).then(|| Line::If {
                    condition: condition.clone(),
                    then,
                    otherwise,
                    location: location(),
                })
            }
            Line::Let { .. } | Line::Assign { .. } => None,
            Line::Return => Some(Line::Return),
        })
        .collect()
}

/// Whether every choice of values of the inputs that occur is one of a launch: no word of the launch is behind two of
/// them, and each takes every value.
fn independent(roles: &[Role], inputs: &Inputs, terms: &Terms) -> bool {
    let mut seen: BTreeSet<Atom> = BTreeSet::new();
    used(roles).into_iter().all(|input| {
        takes_all(&inputs.origins[input as usize], inputs, terms)
            && inputs.words[input as usize].iter().all(|word| match word {
                Atom::Parameter { .. } => seen.insert(*word),
                _ => true,
            })
    })
}

/// Whether an input takes every value of its range: a word, a quotient of one, or a number of iterations up to a word or a
/// product of words.
fn takes_all(origin: &Origin, inputs: &Inputs, terms: &Terms) -> bool {
    let is_word = |term: TermId| matches!(terms.node(term), Node::Atom(Atom::Parameter { .. }));
    match origin {
        Origin::Term(term) => is_word(*term),
        Origin::Number(number) => {
            let [Atomic::Quotient(inner, _)] = number.parts.keys().collect::<Vec<_>>()[..] else {
                return false;
            };
            let [Atomic::Input(input)] = inner.parts.keys().collect::<Vec<_>>()[..] else {
                return false;
            };
            takes_all(&inputs.origins[*input as usize], inputs, terms)
        }
        Origin::Trips { relation, phi, .. } => {
            let Node::Relation(_, at, bound) = *terms.node(*relation) else {
                return false;
            };
            let counts = *terms.node(at) == Node::Atom(Atom::Phi(*phi));
            let mut factors = vec![bound];
            while let Some(factor) = factors.pop() {
                match *terms.node(factor) {
                    Node::Binary(Binary::Multiply, a, b) => factors.extend([a, b]),
                    _ if is_word(factor) => {}
                    _ => return false,
                }
            }
            counts
        }
    }
}
