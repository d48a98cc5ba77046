//! Random protocols: the verdict, the bounded encoding, the checker and the formatter against
//! exhaustive search with the reference semantics.
//!
//! `WARPLOCK_CASES` multiplies the number of cases, `WARPLOCK_SEED` moves on to other ones, and
//! `WARPLOCK_CASES_LOG` names a file that gets a line of figures per test.

use crate::support::generator;
use crate::support::reference;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use std::time::Instant;

use crate::support::reference::Outcome;
use rand::RngExt;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use warplock::certificate::discharge::Answer;
use warplock::certificate::discharge::Solver;
use warplock::certificate::discharge::discharge;
use warplock::certificate::grid::Residency;
use warplock::certificate::obligation::Obligation;
use warplock::certificate::term;
use warplock::certificate::ticket;
use warplock::certificate::ticket::Key;
use warplock::certificate::ticket::Potential;
use warplock::certificate::ticket::Tally;
use warplock::certificate::ticket::Ticket;
use warplock::certificate::translate;
use warplock::certificate::translate::Translator;
use warplock::encoding::evaluate;
use warplock::encoding::evaluate::Evaluator;
use warplock::encoding::search;
use warplock::encoding::search::Found;
use warplock::encoding::search::Limits;
use warplock::encoding::value::Num;
use warplock::proof::Guess;
use warplock::proof::guess;
use warplock::protocol::Domain;
use warplock::protocol::Expr;
use warplock::protocol::LaunchOrder;
use warplock::protocol::ParamId;
use warplock::protocol::Property;
use warplock::protocol::Protocol;
use warplock::protocol::Span;
use warplock::protocol::Stmt;
use warplock::protocol::StmtKind;
use warplock::protocol::VarId;
use warplock::semantics::eval;
use warplock::semantics::explore::Options;
use warplock::semantics::explore::SearchEnd;
use warplock::semantics::explore::explore;
use warplock::semantics::input::Input;
use warplock::semantics::unfold;
use warplock::text;
use warplock::text::Narrowing;
use warplock::verdict;
use warplock::verdict::deadlock::Settings;
use warplock::verdict::decision::Verdict;
use warplock::witness;

/// The seeds of a test: `count`, or so many times as many.
fn seeds(count: u64) -> std::ops::Range<u64> {
    let number = |name| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    let first = number("WARPLOCK_SEED").unwrap_or(0);
    first..first + count * number("WARPLOCK_CASES").unwrap_or(1)
}

/// What came of the cases of one test.
struct Tested {
    test: &'static str,
    seeds: std::ops::Range<u64>,
    started: Instant,
    counts: BTreeMap<String, u64>,
    failures: Vec<String>,
}

impl Tested {
    fn new(test: &'static str, seeds: &std::ops::Range<u64>) -> Tested {
        Tested {
            test,
            seeds: seeds.clone(),
            started: Instant::now(),
            counts: BTreeMap::new(),
            failures: Vec::new(),
        }
    }

    fn count(&mut self, what: &str) {
        *self.counts.entry(what.to_owned()).or_default() += 1;
    }

    fn of(&self, what: &str) -> u64 {
        self.counts.get(what).copied().unwrap_or(0)
    }

    fn fail(&mut self, seed: u64, what: &str, source: &str) {
        let failure = format!("seed {seed}: {what}\n{source}");
        self.log(&format!("FAILURE {failure}"));
        self.failures.push(failure);
    }

    fn log(&self, line: &str) {
        let Ok(path) = std::env::var("WARPLOCK_CASES_LOG") else {
            return;
        };
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(path);
        writeln!(file.unwrap(), "{}: {line}", self.test).unwrap();
    }

    fn end(&self) {
        self.log(&format!(
            "seeds {:?}, {:.1} s, {:?}, {} failures",
            self.seeds,
            self.started.elapsed().as_secs_f64(),
            self.counts,
            self.failures.len()
        ));
        assert!(self.failures.is_empty(), "{}", self.failures.join("\n"));
    }
}

/// Parameter values in the domain, up to `reach` above the least, those with the least sum first.
fn points(protocol: &Protocol, reach: i64, most: usize) -> Vec<Vec<i64>> {
    let mut points = vec![Vec::new()];
    for param in &protocol.params {
        let values: Vec<i64> = match &param.domain {
            Domain::AtLeast(lo) => (*lo..=lo + reach).collect(),
            Domain::Range(lo, hi) => (*lo..=(*hi).min(lo + reach)).collect(),
            Domain::Set(all) => all.iter().copied().take(reach as usize + 1).collect(),
        };
        points = points
            .iter()
            .flat_map(|point: &Vec<i64>| {
                values.iter().map(move |value| {
                    let mut point = point.clone();
                    point.push(*value);
                    point
                })
            })
            .collect();
    }
    points.retain(|point| unfold::check_params(protocol, point).is_ok());
    points.sort_by_key(|point| point.iter().sum::<i64>());
    points.truncate(most);
    points
}

/// The size within which a bound claims that nothing hangs.
fn bound(within: &str) -> Option<i64> {
    let rest = within.strip_prefix("for inputs with at most ")?;
    rest.split_once(' ')?.0.parse().ok()
}

#[test]
fn verdicts_agree_with_exhaustive_search() {
    let seeds = seeds(30);
    let mut tested = Tested::new("verdicts", &seeds);
    let cancel = AtomicBool::new(false);
    for seed in seeds {
        let source = generator::protocol(seed);
        let protocol = reference::load(&source);
        let settings = Settings {
            timeout: Duration::from_millis(1500),
            objectives: None,
            cancel: &cancel,
            tell: &|_| {},
            kernel: false,
        };
        let decision = match verdict::decide(
            &protocol,
            &Narrowing::default(),
            Property::Deadlock,
            &settings,
        ) {
            Ok(decision) => decision,
            Err(error) => {
                tested.fail(seed, &format!("internal error: {error}"), &source);
                continue;
            }
        };
        tested.count(decision.verdict.word());
        match &decision.verdict {
            Verdict::Refuted(refutation) => {
                if let Err(error) = witness::replay(&protocol, &refutation.witness) {
                    tested.fail(seed, &format!("no replay: {error}"), &source);
                }
                match reference::hangs(&protocol, &refutation.input, 300_000) {
                    Ok(Some(true) | None) => {}
                    other => {
                        let what = format!("REFUTED at {:?}, which is {other:?}", refutation.input);
                        tested.fail(seed, &what, &source);
                    }
                }
            }
            Verdict::Proved(_) => {
                for point in points(&protocol, 2, 40) {
                    match reference::at(&protocol, &point, 30_000) {
                        Outcome::Clear => tested.count("points clear of PROVED"),
                        Outcome::TooLarge => tested.count("points too large of PROVED"),
                        other => {
                            let what = format!("PROVED, at {point:?} {other:?}");
                            tested.fail(seed, &what, &source);
                            break;
                        }
                    }
                }
            }
            Verdict::Bounded { within, .. } => {
                let Some(size) = bound(within).filter(|size| *size >= 8) else {
                    continue;
                };
                for point in points(&protocol, 1, 12) {
                    match reference::at(&protocol, &point, 10_000) {
                        Outcome::Stuck(input) if input.initial.is_empty() => {
                            let what = format!("BOUNDED up to {size}, at {input:?} stuck");
                            tested.fail(seed, &what, &source);
                            break;
                        }
                        Outcome::Clear => tested.count("points clear of BOUNDED"),
                        _ => {}
                    }
                }
            }
            Verdict::Unknown { .. } => {}
        }
    }
    assert!(tested.of("PROVED") > 0 && tested.of("REFUTED") > 0);
    tested.end();
}

#[test]
fn the_encoding_agrees_with_exhaustive_search() {
    let seeds = seeds(100);
    let mut tested = Tested::new("encoding", &seeds);
    let cancel = AtomicBool::new(false);
    for seed in seeds {
        let source = generator::protocol(seed);
        let declared = reference::load(&source);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut points = points(&declared, 2, 40);
        points.shuffle(&mut rng);
        for point in points.into_iter().take(3) {
            let explored = reference::at(&declared, &point, 30_000);
            if explored == Outcome::TooLarge {
                tested.count("too large");
                continue;
            }
            let mut protocol = declared.clone();
            let set = declared
                .params
                .iter()
                .zip(&point)
                .map(|(p, v)| (p.name.clone(), *v));
            let narrowing = Narrowing {
                set: set.collect(),
                ..Narrowing::default()
            };
            text::narrow(&mut protocol, &narrowing).unwrap();
            let limits = Limits {
                thorough: true,
                deadline: Instant::now() + Duration::from_secs(3),
                cancel: &cancel,
            };
            let objectives = search::default_objectives(&protocol);
            let found = search::smallest(&protocol, 8, &objectives, &limits);
            let candidate = match &found {
                Found::Stuck(candidate) => {
                    Some(reference::hangs(&protocol, &candidate.input, 300_000))
                }
                _ => None,
            };
            let agrees = match (&explored, &found, candidate) {
                (_, Found::Unknown(_), _) => {
                    tested.count("no answer");
                    continue;
                }
                (_, Found::Unsupported(_), _) => {
                    tested.count("unsupported");
                    continue;
                }
                (Outcome::Stuck(_), Found::Stuck(_), Some(Ok(Some(true) | None))) => {
                    tested.count("stuck in both");
                    true
                }
                (Outcome::Clear, Found::Nothing, _) => {
                    tested.count("clear in both");
                    true
                }
                // Beyond the initial values that are explored, or beside an input that cannot run.
                (Outcome::Clear, Found::Stuck(candidate), Some(Ok(Some(true)))) => {
                    !candidate.input.initial.is_empty()
                }
                (Outcome::Fault(_), Found::Stuck(_), Some(outcome)) => outcome == Ok(Some(true)),
                (Outcome::Fault(_), _, _) => true,
                _ => false,
            };
            if !agrees {
                let what = format!("at {point:?} explored {explored:?}, encoded {found:?}");
                tested.fail(seed, &what, &source);
            }
        }
    }
    assert!(tested.of("stuck in both") > 0 && tested.of("clear in both") > 0);
    tested.end();
}

fn random_ticket(protocol: &Protocol, rng: &mut ChaCha8Rng) -> Ticket {
    let role = &protocol.roles[0];
    let mut order: Vec<Key> = (0..role.indices.len())
        .map(|index| Key {
            index,
            descending: rng.random_bool(0.5),
        })
        .collect();
    order.shuffle(rng);
    let residency = match role.launch.as_ref().map(|launch| &launch.order) {
        Some(LaunchOrder::Sorted(keys)) if rng.random_bool(0.7) => {
            order = keys
                .iter()
                .map(|key| Key {
                    index: key.index,
                    descending: key.descending,
                })
                .collect();
            Residency::LaunchOrder
        }
        _ => Residency::WholeGrid,
    };
    let counted = (0..protocol.objects.len()).map(|object| {
        let mut counted: Vec<usize> = order.iter().map(|key| key.index).collect();
        if rng.random_bool(0.4) && counted.len() > 1 {
            counted.remove(rng.random_range(0..counted.len()));
        }
        (object, counted)
    });
    let counted = counted.collect();
    let tallies = (0..protocol.stmt_count).map(|stmt| {
        let tally = match rng.random_range(0..6) {
            0 => Tally::Telescope(Potential::Value),
            1 => Tally::Telescope(Potential::ValueBelow),
            2 => Tally::Telescope(Potential::ValueLessOwn),
            3 | 4 => Tally::Block(1),
            _ => Tally::Block(2),
        };
        (stmt, tally)
    });
    Ticket {
        tallies: tallies.collect(),
        order,
        residency,
        counted,
        split: rng.random_bool(0.1),
    }
}

#[test]
fn no_artefact_proves_what_hangs() {
    let seeds = seeds(80);
    let mut tested = Tested::new("artefacts", &seeds);
    for seed in seeds {
        let source = generator::protocol(seed);
        let protocol = reference::load(&source);
        let wrong = points(&protocol, 2, 20).into_iter().find_map(|point| {
            match reference::at(&protocol, &point, 20_000) {
                Outcome::Stuck(input) => Some(format!("stuck at {input:?}")),
                Outcome::Fault(fault) => Some(format!("at {point:?}: {fault}")),
                Outcome::Clear | Outcome::TooLarge => None,
            }
        });
        let Some(wrong) = wrong else { continue };
        tested.count("protocols that hang or fault");
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for _ in 0..6 {
            let artefact = random_ticket(&protocol, &mut rng);
            let Ok(obligations) = ticket::obligations(&protocol, &artefact) else {
                tested.count("artefacts refused");
                continue;
            };
            tested.count("artefacts with obligations");
            let limit = Duration::from_millis(300);
            let open = obligations
                .iter()
                .any(|o| discharge(o, &Solver::BuiltIn, limit) != Answer::Discharged);
            if !open {
                tested.fail(
                    seed,
                    &format!("{artefact:?} proves what is {wrong}"),
                    &source,
                );
            }
        }
    }
    assert!(tested.of("artefacts with obligations") > 0);
    tested.end();
}

/// An input with more than 100 values of the first index, if one is found.
fn large_input(protocol: &Protocol, rng: &mut ChaCha8Rng) -> Option<Input> {
    let limits = unfold::Limits {
        members: 420,
        ..unfold::Limits::default()
    };
    for _ in 0..60 {
        let params: Vec<i64> = protocol
            .params
            .iter()
            .map(|_| [1, 1, 2, 3, 51, 102, 102][rng.random_range(0..7)])
            .collect();
        if unfold::check_params(protocol, &params).is_err() {
            continue;
        }
        let mut input = Input {
            params,
            patterns: vec![Default::default(); protocol.patterns.len()],
            ..Input::default()
        };
        let Ok(data) = unfold::pattern_data(protocol, &input, &limits) else {
            continue;
        };
        for (at, pattern) in protocol.patterns.iter().enumerate() {
            let extents = data[at].extents();
            if pattern.definition.is_some() || extents.iter().product::<i64>() > 2_000 {
                continue;
            }
            let mut tiles = vec![Vec::new()];
            for extent in extents {
                tiles = tiles
                    .iter()
                    .flat_map(|t: &Vec<i64>| {
                        (0..*extent).map(move |x| [t.as_slice(), &[x]].concat())
                    })
                    .collect();
            }
            let density = [0.3, 0.7, 1.0][rng.random_range(0..3)];
            input.patterns[at].extend(tiles.into_iter().filter(|_| rng.random_bool(density)));
        }
        if let Ok((instance, _)) = unfold::instantiate_with(protocol, &input, &limits)
            && instance.members.iter().any(|member| member.index[0] > 100)
        {
            return Some(input);
        }
    }
    None
}

/// Damage that no box and no sampled instance reaches: only the checker stands in its way.
#[test]
fn damage_far_out_is_not_proved() {
    let seeds = seeds(15);
    let mut tested = Tested::new("far out", &seeds);
    for seed in seeds {
        let source = generator::late(seed);
        let protocol = reference::load(&source);
        let limit = Duration::from_secs(2);
        let Guess::Found(_) = guess(&protocol, limit, &|_| {}) else {
            tested.count("not proved");
            continue;
        };
        tested.count("proved");
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for _ in 0..4 {
            let Some(input) = large_input(&protocol, &mut rng) else {
                continue;
            };
            let limits = unfold::Limits::default();
            let Ok((instance, _)) = unfold::instantiate_with(&protocol, &input, &limits) else {
                continue;
            };
            let options = Options {
                max_states: 4_000,
                ..Options::default()
            };
            let found = explore(&instance, &options);
            if found.stuck.is_some() {
                tested.fail(seed, &format!("proved, but stuck at {input:?}"), &source);
                break;
            }
            tested.count(match found.end {
                SearchEnd::Exhausted => "large inputs clear",
                _ => "large inputs partly searched",
            });
        }
    }
    assert!(tested.of("proved") > 0);
    tested.end();
}

// ---- Expressions ----

fn only_wait(block: &[Stmt]) -> Option<(VarId, Expr)> {
    let StmtKind::For { var, body, .. } = &block.first()?.kind else {
        return None;
    };
    match &body.first()?.kind {
        StmtKind::Wait { value, .. } => Some((*var, value.clone())),
        _ => None,
    }
}

fn counts(expr: &Expr) -> bool {
    match expr {
        Expr::Int(_) | Expr::Bool(_) | Expr::Param(_) | Expr::Var(_) => false,
        Expr::Neg(e) | Expr::Not(e) => counts(e),
        Expr::Binary(_, a, b) => counts(a) || counts(b),
        Expr::If(c, a, b) => counts(c) || counts(a) || counts(b),
        Expr::Visits(_, at) => at.iter().any(counts),
        Expr::Count { .. } => true,
    }
}

/// A concrete environment of the expression protocols.
struct Place {
    params: Vec<i64>,
    input: Input,
    vars: Vec<(VarId, i64)>,
}

fn place(protocol: &Protocol, loop_var: VarId, rng: &mut ChaCha8Rng) -> Place {
    let params = vec![
        rng.random_range(1..=4),
        rng.random_range(1..=4),
        rng.random_range(-3..=3),
        rng.random_range(0..=1),
    ];
    // The residency comes last.
    let params = match protocol.params.len() {
        4 => params,
        _ => [params, vec![rng.random_range(1..=3)]].concat(),
    };
    let mut input = Input {
        params: params.clone(),
        patterns: vec![Default::default(); protocol.patterns.len()],
        ..Input::default()
    };
    for n in 0..params[0] {
        for m in 0..params[1] {
            if rng.random_bool(0.5) {
                input.patterns[0].insert(vec![n, m]);
            }
        }
    }
    let vars = vec![
        (
            protocol.roles[0].indices[0].var,
            rng.random_range(0..params[0]),
        ),
        (loop_var, rng.random_range(0..params[1])),
    ];
    Place {
        params,
        input,
        vars,
    }
}

/// The value by the bounded encoding: whether there is any, and whether it can be another one.
/// `known` tells whether the parameters are fixed from the start.
fn encoded(
    protocol: &Protocol,
    expr: &Expr,
    place: &Place,
    value: i64,
    known: bool,
) -> (bool, bool, bool) {
    z3::with_z3_config(&z3::Config::new(), || {
        let fixed: Vec<(ParamId, i64)> = place
            .params
            .iter()
            .enumerate()
            .map(|(at, v)| (ParamId(at), *v))
            .collect();
        let fixed_now = if known { fixed.as_slice() } else { &[] };
        let mut evaluator = Evaluator::new(protocol, fixed_now, 16, true);
        let env: evaluate::Env = place
            .vars
            .iter()
            .map(|(var, value)| (*var, evaluate::Value::Num(Num::Known(*value))))
            .collect();
        let result = evaluator.num(expr, &env).term();
        let solver = z3::Solver::new();
        for (id, value) in &fixed {
            solver.assert(evaluator.params[id.0].equals(&Num::Known(*value)).term());
        }
        for n in 0..place.params[0] {
            for m in 0..place.params[1] {
                let here = evaluator.visits(
                    warplock::protocol::PatternId(0),
                    &[Num::Known(n), Num::Known(m)],
                );
                let here = here.term();
                let visited = place.input.patterns[0].contains(&vec![n, m]);
                solver.assert(if visited { here } else { here.not() });
            }
        }
        for constraint in &evaluator.constraints {
            solver.assert(constraint);
        }
        let value = Num::Known(value).equals(&Num::Term(result)).term();
        let any = solver.check() == z3::SatResult::Sat;
        solver.push();
        solver.assert(&value);
        let same = solver.check() == z3::SatResult::Sat;
        solver.pop(1);
        solver.assert(value.not());
        (any, same, solver.check() == z3::SatResult::Sat)
    })
}

/// Hypotheses that fix everything, and the expression in the checker's terms.
fn translated<'p>(
    protocol: &'p Protocol,
    expr: &Expr,
    place: &Place,
) -> Option<(Translator<'p>, Vec<term::Term>, term::Term, translate::Env)> {
    let mut terms = Translator::new(protocol, &[]);
    let mut facts = terms.domain();
    for (at, value) in place.params.iter().enumerate() {
        let param = terms
            .expr(&Expr::Param(ParamId(at)), &translate::Env::new())
            .ok()?;
        facts.push(term::eq(&param, &term::int(*value)));
    }
    let mut env = translate::Env::new();
    for (var, value) in &place.vars {
        let name = terms.constant(&format!("v_{}", var.0));
        facts.push(term::eq(&name, &term::int(*value)));
        env.insert(*var, name);
    }
    for n in 0..place.params[0] {
        for m in 0..place.params[1] {
            let at = [term::int(n), term::int(m)];
            let here = terms.visits(warplock::protocol::PatternId(0), &at).ok()?;
            let visited = place.input.patterns[0].contains(&vec![n, m]);
            facts.push(if visited { here } else { term::not(here) });
        }
    }
    let value = terms.expr(expr, &env).ok()?;
    Some((terms, facts, value, env))
}

fn decided(terms: &mut Translator<'_>, facts: &[term::Term], goal: term::Term) -> Option<Answer> {
    let mut hypotheses = facts.to_vec();
    hypotheses.extend(terms.axioms().ok()?);
    let obligation = Obligation {
        name: "expression".to_owned(),
        meaning: "an expression".to_owned(),
        declarations: terms.declarations(),
        hypotheses,
        goal,
        split: Vec::new(),
    };
    Some(discharge(
        &obligation,
        &Solver::BuiltIn,
        Duration::from_secs(2),
    ))
}

#[test]
fn expressions_have_one_value() {
    let seeds = seeds(400);
    let mut tested = Tested::new("expressions", &seeds);
    for seed in seeds {
        let source = generator::expression(seed);
        let protocol = reference::load(&source);
        let (loop_var, expr) = only_wait(&protocol.roles[0].body).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let place = place(&protocol, loop_var, &mut rng);
        let patterns = unfold::pattern_data(&protocol, &place.input, &unfold::Limits::default());
        let patterns = patterns.unwrap();
        let mut env = eval::Env::new(&protocol, &place.params, &patterns, 1_000_000);
        for (var, value) in &place.vars {
            env.set(*var, *value).unwrap();
        }
        let value = env.value(&expr);
        let at = format!(
            "{:?} {:?} {:?}",
            place.params, place.input.patterns, place.vars
        );
        let shown = value
            .as_ref()
            .map_or_else(|fault| fault.to_string(), i64::to_string);
        for known in [true, false] {
            let (any, same, other) = encoded(
                &protocol,
                &expr,
                &place,
                *value.as_ref().unwrap_or(&0),
                known,
            );
            let agrees = if value.is_ok() {
                any && same && !other
            } else {
                !any
            };
            if !agrees {
                let what = format!(
                    "at {at} interpreted {shown}, encoded (known {known}) any {any}, same {same}, other {other}"
                );
                tested.fail(seed, &what, &source);
            }
            tested.count("encoded");
        }
        let Some((mut terms, facts, result, names)) = translated(&protocol, &expr, &place) else {
            tested.count("not translated");
            continue;
        };
        match value {
            Ok(value) => {
                // The hypotheses and the facts about counts have to allow the value.
                let differs = term::not(term::eq(&result, &term::int(value)));
                let impossible = decided(&mut terms, &facts, differs) == Some(Answer::Discharged);
                if impossible {
                    tested.fail(
                        seed,
                        &format!("at {at} the translation excludes {shown}"),
                        &source,
                    );
                }
                if !counts(&expr) {
                    let equal = term::eq(&result, &term::int(value));
                    if decided(&mut terms, &facts, equal) == Some(Answer::Fails) {
                        tested.fail(
                            seed,
                            &format!("at {at} the translation is not {shown}"),
                            &source,
                        );
                    }
                    tested.count("translated to one value");
                } else {
                    tested.count("translated with counts");
                }
            }
            Err(_) => {
                let mut needed = Vec::new();
                terms.well_defined(&expr, &names, &[], &mut needed).unwrap();
                let goal = term::and(needed.into_iter().map(|requirement| {
                    term::or([term::not(term::and(requirement.given)), requirement.needed])
                }));
                if decided(&mut terms, &facts, goal) == Some(Answer::Discharged) {
                    tested.fail(
                        seed,
                        &format!("at {at}, {shown}: well defined to the checker"),
                        &source,
                    );
                }
                tested.count("faults");
            }
        }
    }
    assert!(tested.of("translated to one value") > 0 && tested.of("translated with counts") > 0);
    tested.end();
}

// ---- Layout ----

/// The protocol without what depends on the layout of its text.
fn bare(mut protocol: Protocol) -> Protocol {
    fn block(body: &mut [Stmt]) {
        for stmt in body {
            stmt.span = Span::default();
            match &mut stmt.kind {
                StmtKind::If {
                    then, otherwise, ..
                } => {
                    block(then);
                    block(otherwise);
                }
                StmtKind::For { body, .. } => block(body),
                _ => {}
            }
        }
    }
    protocol.source.clear();
    let spans = protocol.params.iter_mut().map(|x| &mut x.span);
    let spans = spans.chain(protocol.vars.iter_mut().map(|x| &mut x.span));
    let spans = spans.chain(protocol.patterns.iter_mut().map(|x| &mut x.span));
    let spans = spans.chain(protocol.objects.iter_mut().map(|x| &mut x.span));
    spans.for_each(|span| *span = Span::default());
    protocol.assumptions.iter_mut().for_each(|a| a.span = None);
    for role in &mut protocol.roles {
        role.span = Span::default();
        block(&mut role.body);
    }
    protocol
}

#[test]
fn formatting_keeps_the_meaning() {
    let seeds = seeds(500);
    let mut tested = Tested::new("layout", &seeds);
    for seed in seeds {
        for source in [generator::protocol(seed), generator::expression(seed)] {
            let formatted = text::format(&source).unwrap();
            if bare(reference::load(&formatted)) != bare(reference::load(&source)) {
                tested.fail(
                    seed,
                    &format!("formatted to another protocol:\n{formatted}"),
                    &source,
                );
            }
            if text::format(&formatted).as_deref() != Ok(formatted.as_str()) {
                tested.fail(seed, "formatting again changes it", &source);
            }
            tested.count("texts");
        }
    }
    tested.end();
}
