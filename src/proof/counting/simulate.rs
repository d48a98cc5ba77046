//! Random runs of a transition system at small values: what one of them contradicts need not be
//! put to the solver, and one that gets stuck ends the search.

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::Limits;
use super::evaluate::Names;
use super::evaluate::Node;
use super::houdini::Lack;
use crate::certificate::counting::Component;
use crate::certificate::counting::Fact;
use crate::certificate::program::Unsupported;
use crate::certificate::term::Term;
use crate::protocol::Domain;
use crate::protocol::Protocol;
use crate::semantics::unfold;

/// Parameter values that are tried.
const SAMPLES: usize = 12;

/// Runs per parameter values, and steps per run.
const RUNS: usize = 6;
const STEPS: usize = 160;

/// A system that has been read.
struct Runner {
    names: usize,
    /// The number of each component of the state.
    state: Vec<usize>,
    start: Vec<Node>,
    /// Guards, and what follows, or `None` where it must not be possible.
    steps: Vec<(Node, Option<Vec<Node>>)>,
    unfinished: Node,
    facts: Vec<Node>,
}

/// The candidates that no run contradicts.
///
/// # Errors
///
/// A run that gets stuck or leaves the window.
pub fn plausible(
    protocol: &Protocol,
    component: &Component,
    window: usize,
    facts: &[Fact],
    limits: Limits<'_>,
) -> Result<Result<Vec<usize>, Lack>, Unsupported> {
    let all: Vec<usize> = (0..facts.len()).collect();
    if !limits.runs {
        return Ok(Ok(all));
    }
    let mut names = Names::default();
    let params: Vec<usize> = protocol
        .params
        .iter()
        .map(|param| names.number(&format!("param_{}", param.name)))
        .collect();
    let Some(runner) = read(protocol, component, window, facts, &mut names)? else {
        return Ok(Ok(all));
    };
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let mut alive = all;
    for _ in 0..SAMPLES {
        let Some(values) = draw(protocol, component, &mut rng) else {
            continue;
        };
        let mut memory = vec![0; runner.names];
        for (number, value) in params.iter().zip(&values) {
            memory[*number] = *value;
        }
        for _ in 0..RUNS {
            if limits.over() {
                return Ok(Err(Lack::Answer("time limit".to_owned())));
            }
            match run(&runner, &mut memory, &mut alive, &mut rng) {
                // Numbers that are too large, say: the solver will do.
                None => return Ok(Ok(alive)),
                Some(End::Window) => {
                    let why =
                        format!("a member can get more than {window} rounds ahead of another");
                    return Ok(Err(Lack::Window(why)));
                }
                Some(End::Stuck) => {
                    let values = protocol.params.iter().zip(&values);
                    let values: Vec<String> =
                        values.map(|(p, v)| format!("{} = {v}", p.name)).collect();
                    let why = format!("a run gets stuck at {}", values.join(", "));
                    return Ok(Err(Lack::Answer(why)));
                }
                Some(End::Done) => {}
            }
        }
    }
    Ok(Ok(alive))
}

fn read(
    protocol: &Protocol,
    component: &Component,
    window: usize,
    facts: &[Fact],
    names: &mut Names,
) -> Result<Option<Runner>, Unsupported> {
    let mut system = component.system(protocol, window)?;
    let state = system.state("");
    let mut understood = true;
    let mut node = |term: &Term| {
        let node = names.read(term);
        understood &= node.is_some();
        node.unwrap_or(Node::Value(0))
    };
    let start = system.start().all().map(&mut node).collect();
    let mut steps = Vec::new();
    for transition in system.transitions(&state)? {
        let next = transition.next.ok();
        let next = next.map(|next| next.all().map(&mut node).collect());
        steps.push((node(&transition.guard), next));
    }
    let unfinished = node(&system.unfinished(&state));
    let mut read = Vec::new();
    for fact in facts {
        read.push(node(&fact.term(&mut system, &state)?));
    }
    let state = state.all().map(|name| names.number(&name.to_string()));
    let runner = Runner {
        state: state.collect(),
        names: names.count(),
        start,
        steps,
        unfinished,
        facts: read,
    };
    Ok(understood.then_some(runner))
}

enum End {
    Done,
    Stuck,
    Window,
}

fn run(
    runner: &Runner,
    memory: &mut [i64],
    alive: &mut Vec<usize>,
    rng: &mut ChaCha8Rng,
) -> Option<End> {
    let enter = |memory: &mut [i64], nodes: &[Node]| {
        let values: Option<Vec<i64>> = nodes.iter().map(|node| node.value(memory)).collect();
        for (number, value) in runner.state.iter().zip(values?) {
            memory[*number] = value;
        }
        Some(())
    };
    enter(memory, &runner.start)?;
    // Some runs prefer some steps, so that some members get ahead.
    let weights: Vec<u32> = runner
        .steps
        .iter()
        .map(|_| rng.random_range(0..1000))
        .collect();
    let fair = rng.random_range(0..4) as f64 / 4.0;
    for _ in 0..STEPS {
        let mut possible = Vec::new();
        for (nth, (guard, next)) in runner.steps.iter().enumerate() {
            if guard.holds(memory)? {
                if next.is_none() {
                    return Some(End::Window);
                }
                possible.push(nth);
            }
        }
        let mut failed = false;
        alive.retain(|nth| {
            let holds = runner.facts[*nth].holds(memory);
            failed |= holds.is_none();
            holds != Some(false)
        });
        if failed {
            return None;
        }
        let chosen = if rng.random_bool(fair) {
            let count = possible.len().max(1);
            possible.get(rng.random_range(0..count)).copied()
        } else {
            possible.into_iter().max_by_key(|nth| weights[*nth])
        };
        let Some(chosen) = chosen else {
            let stuck = runner.unfinished.holds(memory)?;
            return Some(if stuck { End::Stuck } else { End::Done });
        };
        if let Some(next) = &runner.steps[chosen].1 {
            enter(memory, next)?;
        }
    }
    Some(End::Done)
}

/// Small values in the domain, if some are found.
fn draw(protocol: &Protocol, component: &Component, rng: &mut ChaCha8Rng) -> Option<Vec<i64>> {
    for _ in 0..50 {
        let values: Vec<i64> = protocol
            .params
            .iter()
            .enumerate()
            .map(|(at, param)| {
                let fixed = component.fixed.iter().find(|(id, _)| id.0 == at);
                match (&param.domain, fixed) {
                    (_, Some((_, value))) => *value,
                    (Domain::AtLeast(lo), _) => lo.saturating_add(small(rng)),
                    (Domain::Range(lo, hi), _) => lo.saturating_add(small(rng)).min(*hi),
                    (Domain::Set(values), _) => {
                        let count = values.len().max(1);
                        values.get(rng.random_range(0..count)).copied().unwrap_or(0)
                    }
                }
            })
            .collect();
        if unfold::check_params(protocol, &values).is_ok() {
            return Some(values);
        }
    }
    None
}

fn small(rng: &mut ChaCha8Rng) -> i64 {
    let most = [1, 3, 10][rng.random_range(0..3)];
    rng.random_range(0..=most)
}
