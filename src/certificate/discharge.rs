//! Discharges an obligation by the linked Z3 in a fresh context, or by any SMT-LIB solver.
//!
//! Only the answer `unsat` (for the negated obligation) discharges it. The report distinguishes `sat`, `unknown`, a
//! time-out, a parse error and a crash of the solver. None of these counts.

use std::io::Read;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

use z3::SatResult;
use z3::StatisticsValue;

use super::ground;
use super::linear;
use super::obligation::Obligation;
use super::parts;
use crate::certificate::exact;
use crate::deadline;
use crate::fresh;

/// Which solver decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Solver {
    /// The linked Z3.
    BuiltIn,
    /// A program that takes an SMT-LIB file as its last argument and prints its answer.
    Program(PathBuf),
}

/// The answer of a solver about an obligation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The negation is unsatisfiable: the obligation holds.
    Discharged,
    /// The negation is satisfiable: the obligation fails.
    Fails,
    /// No answer, with the reason.
    Unknown(String),
}

/// Decides one obligation within a time limit. First it is tried without its products; then as a whole, if that
/// succeeds soon; and otherwise part by part. The parts are those of the goal, and then the cases into which the
/// obligation says it can be split.
pub fn discharge(obligation: &Obligation, solver: &Solver, limit: Duration) -> Answer {
    let deadline = deadline::after(limit);
    if deadline::over() {
        return Answer::Unknown("timeout".to_owned());
    }
    if *solver == Solver::BuiltIn && ground::truth(&obligation.goal) == Some(true) {
        return Answer::Discharged;
    }
    // If the linear obligation, which is stronger, fails, nothing follows for this one.
    if let Some(linear) = linear::linear(obligation)
        && first(&linear, solver, limit) == Answer::Discharged
    {
        return Answer::Discharged;
    }
    if *solver == Solver::BuiltIn {
        let answer = first(obligation, solver, left(deadline));
        if !matches!(answer, Answer::Unknown(_)) {
            return answer;
        }
        // Each part holds for a reason of its own. So the solver need not search for the reasons of all parts at
        // once.
        let conjuncts = parts::conjuncts(obligation);
        if conjuncts.len() > 1 {
            return all_of(&conjuncts, solver, deadline);
        }
    }
    if obligation.split.is_empty() {
        return persist(obligation, solver, deadline);
    }
    let seeds = match solver {
        Solver::BuiltIn => SEEDS_BEFORE_SPLITTING,
        Solver::Program(_) => 1,
    };
    for seed in 0..seeds {
        let answer = one(
            obligation,
            solver,
            BEFORE_SPLITTING.min(left(deadline)),
            seed,
        );
        if !matches!(answer, Answer::Unknown(_)) {
            return answer;
        }
    }
    for part in parts::parts(obligation) {
        let left = left(deadline);
        if left.is_zero() {
            return Answer::Unknown("timeout".to_owned());
        }
        let answer = discharge(&part, solver, left);
        if answer != Answer::Discharged {
            return answer;
        }
    }
    Answer::Discharged
}

/// Decides the parts of an obligation. Parts that are decided quickly come first.
fn all_of(parts: &[Obligation], solver: &Solver, deadline: Instant) -> Answer {
    let soon = at_once(&parts.iter().collect::<Vec<_>>());
    let open = parts.iter().zip(soon).filter(|(_, soon)| !soon);
    for (part, _) in open {
        let left = left(deadline);
        if left.is_zero() {
            return Answer::Unknown("timeout".to_owned());
        }
        let answer = discharge(part, solver, left);
        if answer != Answer::Discharged {
            return answer;
        }
    }
    Answer::Discharged
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// A first attempt. It decides most obligations.
fn first(obligation: &Obligation, solver: &Solver, limit: Duration) -> Answer {
    match solver {
        Solver::BuiltIn => attempt(obligation, Engine::Core, CORE.min(limit), 0),
        Solver::Program(program) => external(
            obligation,
            program,
            PROGRAM.min(limit.checked_div(4).unwrap_or(limit)),
        ),
    }
}

/// The part of Z3 that is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Engine {
    /// Its core alone. It decides most obligations, and it is the fastest.
    Core,
    /// A tactic that Z3 chooses after it has analysed the problem.
    Chosen,
}

/// The time for the core alone.
const CORE: Duration = Duration::from_millis(50);

/// The time for the first attempt of another program.
const PROGRAM: Duration = Duration::from_secs(10);

/// How many attempts are made on the whole obligation if it can be split, and the time for each of them.
const SEEDS_BEFORE_SPLITTING: u32 = 2;
const BEFORE_SPLITTING: Duration = Duration::from_millis(700);

/// Whether Z3 succeeds with nonlinear arithmetic depends on chance. An attempt without a result is soon replaced by
/// one with another seed and more time. The last attempt gets the remaining time.
const ATTEMPTS: [Duration; 4] = [
    Duration::from_millis(700),
    Duration::from_millis(1500),
    Duration::from_secs(3),
    Duration::from_secs(8),
];

fn persist(obligation: &Obligation, solver: &Solver, deadline: Instant) -> Answer {
    // Another solver chooses its own seeds.
    let attempts: &[Duration] = match solver {
        Solver::BuiltIn => &ATTEMPTS,
        Solver::Program(_) => &[],
    };
    let mut seed = 0;
    loop {
        let left = left(deadline);
        let time = attempts.get(seed).copied().unwrap_or(left).min(left);
        let answer = one(obligation, solver, time, seed as u32);
        let timed_out = matches!(&answer, Answer::Unknown(_)) && time < left;
        if !timed_out {
            return answer;
        }
        seed = exact::next(seed);
    }
}

fn one(obligation: &Obligation, solver: &Solver, time: Duration, seed: u32) -> Answer {
    match solver {
        Solver::BuiltIn => attempt(obligation, Engine::Chosen, time, seed),
        Solver::Program(program) => external(obligation, program, time),
    }
}

/// Which of these obligations the core alone discharges quickly. All are asked in one context, one after the other,
/// because making a context takes longer than deciding most obligations. If a question is left open in such a
/// context, nothing follows: the result depends on the questions before.
pub fn at_once(obligations: &[&Obligation]) -> Vec<bool> {
    fresh::context(|| {
        let limit = Limit::time(CORE);
        let discharged = |o: &Obligation| decide(o, Engine::Core, limit, 0) == Answer::Discharged;
        let each = obligations.iter().map(|obligation| {
            if deadline::over() {
                return false;
            }
            let linear = linear::linear(obligation);
            ground::truth(&obligation.goal) == Some(true)
                || linear.is_some_and(|linear| discharged(&linear))
                || discharged(obligation)
        });
        each.collect()
    })
}

/// A limit on the work of the linked solver, in steps that the solver counts itself. The number of steps does not
/// depend on how busy the machine is.
#[derive(Debug, Clone, Copy)]
pub struct Work {
    /// For one question.
    pub each: u32,
    /// For all obligations together.
    pub all: u64,
}

/// How much work it takes to discharge all of these by the core alone, one after the other in one context. `None` if
/// one is left open, or if the work exceeds the limit. The same questions come before each time, so the outcome is
/// always the same.
pub fn work(obligations: &[&Obligation], limit: Work) -> Option<u64> {
    fresh::context(|| {
        // The counter of a context is cumulative.
        let mut done = 0;
        let one = Limit {
            time: left(deadline::after(UNREACHED)),
            work: Some(limit.each),
        };
        for &obligation in obligations {
            if deadline::over() || done > limit.all {
                return None;
            }
            let linear = linear::linear(obligation);
            let ways = linear.iter().chain([obligation]);
            let shown = ways.into_iter().any(|way| {
                let (answer, count) = counted(way, Engine::Core, one, 0);
                done = done.max(count);
                answer == Answer::Discharged
            });
            if !shown {
                return None;
            }
        }
        (done <= limit.all).then_some(done)
    })
}

/// A time limit for runs that are limited by work. No machine ever reaches it.
const UNREACHED: Duration = Duration::from_secs(3600);

/// Decides in a new context. In a reused one, results depend on the run.
fn attempt(obligation: &Obligation, engine: Engine, limit: Duration, seed: u32) -> Answer {
    fresh::context(|| decide(obligation, engine, Limit::time(limit), seed))
}

/// The limits on the time and the work of the solver.
#[derive(Debug, Clone, Copy)]
struct Limit {
    time: Duration,
    work: Option<u32>,
}

impl Limit {
    fn time(time: Duration) -> Limit {
        Limit { time, work: None }
    }
}

/// Decides in the current context.
fn decide(obligation: &Obligation, engine: Engine, limit: Limit, seed: u32) -> Answer {
    counted(obligation, engine, limit, seed).0
}

/// The same. Also returns the work that has been done in this context.
fn counted(obligation: &Obligation, engine: Engine, limit: Limit, seed: u32) -> (Answer, u64) {
    let expected = obligation.asserted().len();
    let script = obligation.script();
    let milliseconds = u32::try_from(limit.time.as_millis())
        .unwrap_or(u32::MAX)
        .max(1);
    let solver = match engine {
        Engine::Core => z3::Tactic::new("smt").solver(),
        Engine::Chosen => z3::Solver::new(),
    };
    let mut params = z3::Params::new();
    params.set_u32("timeout", milliseconds);
    params.set_u32("random_seed", seed);
    // Otherwise Z3 would catch the interrupt signal in place of the program, and its answer would be none.
    params.set_bool("ctrl_c", false);
    if let Some(work) = limit.work {
        params.set_u32("rlimit", work);
    }
    solver.set_params(&params);
    solver.from_string(script.as_str());
    // The C interface ignores parse errors. Z3 would then answer about an empty problem.
    let read = solver.get_assertions().len();
    if read != expected {
        let why = format!("the solver read {read} of {expected} assertions");
        return (Answer::Unknown(why), 0);
    }
    let answer = match solver.check() {
        SatResult::Unsat => Answer::Discharged,
        SatResult::Sat => Answer::Fails,
        SatResult::Unknown => Answer::Unknown(
            solver
                .get_reason_unknown()
                .unwrap_or_else(|| "no reason given".to_owned()),
        ),
    };
    let count = match solver.get_statistics().value("rlimit count") {
        Some(StatisticsValue::UInt(count)) => u64::from(count),
        Some(StatisticsValue::Double(_)) | None => 0,
    };
    (answer, count)
}

fn external(obligation: &Obligation, program: &PathBuf, limit: Duration) -> Answer {
    match run(obligation, program, limit) {
        Ok(output) => match output.split_whitespace().next() {
            Some("unsat") => Answer::Discharged,
            Some("sat") => Answer::Fails,
            Some("unknown") => Answer::Unknown("the solver gave up".to_owned()),
            _ => Answer::Unknown(format!(
                "{} answered neither sat nor unsat: {}",
                program.display(),
                output.lines().next().unwrap_or("nothing")
            )),
        },
        Err(reason) => Answer::Unknown(format!("{}: {reason}", program.display())),
    }
}

fn run(obligation: &Obligation, program: &PathBuf, limit: Duration) -> Result<String, String> {
    let file = tempfile::Builder::new()
        .suffix(".smt2")
        .tempfile()
        .map_err(|e| e.to_string())?;
    std::fs::write(file.path(), obligation.script()).map_err(|e| e.to_string())?;
    let mut child = Command::new(program)
        .arg(file.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| e.to_string())?;
    let deadline = deadline::after(limit);
    loop {
        match child.try_wait().map_err(|e| e.to_string())? {
            // Solvers end with many different exit codes. However, output from before a program was killed is not an
            // answer.
            Some(status) if status.code().is_none() => return Err("killed by a signal".to_owned()),
            Some(_) => break,
            None if Instant::now() >= deadline => {
                let _ = child.kill();
                let _ = child.wait();
                return Err("time limit".to_owned());
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    }
    let mut output = String::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout
            .read_to_string(&mut output)
            .map_err(|e| e.to_string())?;
    }
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificate::term;

    fn obligation(goal: term::Term) -> Obligation {
        Obligation {
            name: "test".to_owned(),
            meaning: "a test".to_owned(),
            declarations: vec!["(declare-const x Int)".to_owned()],
            hypotheses: vec![
                term::and([
                    term::lt(&term::int(0), &term::name("x")),
                    term::lt(&term::name("x"), &term::int(9)),
                ]),
                term::lt(&term::int(0), &term::name("x")),
            ],
            goal,
            split: Vec::new(),
        }
    }

    #[test]
    fn only_unsat_discharges() {
        let limit = Duration::from_secs(10);
        let holds = obligation(term::le(&term::int(1), &term::name("x")));
        assert_eq!(
            discharge(&holds, &Solver::BuiltIn, limit),
            Answer::Discharged
        );
        let fails = obligation(term::le(&term::int(2), &term::name("x")));
        assert_eq!(discharge(&fails, &Solver::BuiltIn, limit), Answer::Fails);
    }

    #[test]
    fn a_script_that_does_not_parse_is_unknown() {
        let broken = obligation(term::le(&term::int(1), &term::name("undeclared")));
        let answer = discharge(&broken, &Solver::BuiltIn, Duration::from_secs(10));
        assert!(matches!(answer, Answer::Unknown(_)), "{answer:?}");
    }

    #[test]
    fn a_missing_or_silent_program_is_unknown() {
        let holds = obligation(term::le(&term::int(1), &term::name("x")));
        for program in ["/nonexistent/solver", "true", "false"] {
            let solver = Solver::Program(PathBuf::from(program));
            let answer = discharge(&holds, &solver, Duration::from_secs(10));
            assert!(
                matches!(answer, Answer::Unknown(_)),
                "{program}: {answer:?}"
            );
        }
    }
}
