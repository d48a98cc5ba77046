//! What is shown without a solver, compared with the solver: on random statements, and on obligations of the kernel that are
//! edited so that many of them do not hold.

use std::time::Duration;

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use warplock::certificate::argument::Argument;
use warplock::certificate::discharge;
use warplock::certificate::discharge::Answer;
use warplock::certificate::discharge::Solver;
use warplock::certificate::elementary::Reader;
use warplock::certificate::obligation::Obligation;
use warplock::certificate::term;
use warplock::certificate::term::Term;
use warplock::proof;
use warplock::proof::Guess;
use warplock::proof::Layer;
use warplock::text;
use warplock::trusted::obligations;

use crate::support::campaign::number;

const NAMES: [&str; 4] = ["x", "y", "z", "w"];

fn shown(obligation: &Obligation) -> bool {
    Reader::default().shows(obligation)
}

/// Whether a statement may be wrong to the solver; one that it does not decide soon counts as right.
fn refuted(obligation: &Obligation) -> bool {
    let limit = Duration::from_secs(5);
    discharge::discharge(obligation, &Solver::BuiltIn, limit) == Answer::Fails
}

fn obligation(hypotheses: Vec<Term>, goal: Term) -> Obligation {
    Obligation {
        name: "test".to_owned(),
        meaning: "a test".to_owned(),
        declarations: NAMES
            .map(|name| format!("(declare-const {name} Int)"))
            .to_vec(),
        hypotheses,
        goal,
        split: Vec::new(),
    }
}

fn integer(random: &mut ChaCha8Rng, depth: usize) -> Term {
    let leaf = depth == 0 || random.random_bool(0.3);
    if leaf {
        return match random.random_range(0..3) {
            0 => term::int(random.random_range(-3..4)),
            _ => term::name(NAMES[random.random_range(0..NAMES.len())]),
        };
    }
    let below = depth - 1;
    let a = integer(random, below);
    let b = integer(random, below);
    match random.random_range(0..7) {
        0 | 1 => term::sum([a, b]),
        2 => term::sub(&a, &b),
        3 => term::apply("*", &[a, b]),
        4 => term::apply("mod", &[a, term::int(2)]),
        5 => term::apply("div", &[a, term::int(random.random_range(1..4))]),
        _ => term::ite(&truth(random, below), &a, &b),
    }
}

fn truth(random: &mut ChaCha8Rng, depth: usize) -> Term {
    let (a, b) = (integer(random, depth), integer(random, depth));
    let compared = match random.random_range(0..4) {
        0 => term::lt(&a, &b),
        1 => term::le(&a, &b),
        _ => term::eq(&a, &b),
    };
    if depth == 0 {
        return compared;
    }
    match random.random_range(0..6) {
        0 => term::not(truth(random, depth - 1)),
        1 => term::and([truth(random, depth - 1), compared]),
        2 => term::or([truth(random, depth - 1), compared]),
        _ => compared,
    }
}

#[test]
fn random_statements_that_are_shown_are_never_wrong() {
    let mut found = 0;
    for seed in 0..number("WARPLOCK_CASES", 1_500) {
        let random = &mut ChaCha8Rng::seed_from_u64(seed);
        let hypotheses = (0..random.random_range(1..6)).map(|_| truth(random, 2));
        let hypotheses: Vec<Term> = hypotheses.collect();
        let depth = random.random_range(0..3);
        let statement = obligation(hypotheses, truth(random, depth));
        if shown(&statement) {
            found += 1;
            assert!(!refuted(&statement), "{seed}: {}", statement.script());
        }
    }
    assert!(found > 100, "{found}");
}

/// Obligations of a ring, from which a hypothesis is left out, or in which a number is another.
#[test]
fn edited_obligations_that_are_shown_are_never_wrong() {
    let source = "protocol ring
param S in 1..
param N in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
role producer { for i in 0..N { wait empty[i % S] (i / S + 1) % 2  arrive full[i % S] } }
role consumer { for i in 0..N { wait full[i % S] i / S % 2  arrive empty[i % S] } }
";
    let protocol = text::load(source.as_bytes()).unwrap();
    let limit = Duration::from_secs(60);
    let found = proof::search(&protocol, Layer::Kernel, limit, None, &|_| {});
    let Guess::Fitting(Argument::Kernel(certificate)) = found else {
        panic!("{found:?}");
    };
    let all = obligations(&protocol, &certificate).unwrap();
    assert!(all.iter().all(shown));
    let random = &mut ChaCha8Rng::seed_from_u64(0);
    let mut wrong = 0;
    for _ in 0..number("WARPLOCK_CASES", 60) {
        let mut edited = all[random.random_range(0..all.len())].clone();
        match random.random_range(0..3) {
            0 => {
                let at = random.random_range(0..edited.hypotheses.len());
                edited.hypotheses.remove(at);
            }
            1 => edited.goal = changed(&edited.goal),
            _ => {
                let at = random.random_range(0..edited.hypotheses.len());
                edited.hypotheses[at] = changed(&edited.hypotheses[at]);
            }
        }
        match shown(&edited) {
            true => assert!(!refuted(&edited), "{}", edited.script()),
            false => wrong += 1,
        }
    }
    assert!(wrong > 5, "{wrong}");
}

/// The same with another number, or the other comparison.
fn changed(of: &Term) -> Term {
    let text = of.to_string();
    let other = match text.contains("(<= ") {
        true => text.replacen("(<= ", "(< ", 1),
        false => text.replacen('1', "2", 1).replacen("(= 0 ", "(= 1 ", 1),
    };
    term::name(&other)
}

/// Each way of reasoning, by a statement that needs it and one that is nearly the same and wrong.
#[test]
fn every_step_is_needed_and_none_goes_too_far() {
    let [x, y, z, w] = NAMES.map(term::name);
    let (zero, one, two) = (term::int(0), term::int(1), term::int(2));
    let plus = |a: &Term, b: &Term| term::sum([a.clone(), b.clone()]);
    let modulo = |a: &Term, b: &Term| term::apply("mod", &[a.clone(), b.clone()]);
    let times = |a: &Term, b: &Term| term::apply("*", &[a.clone(), b.clone()]);
    let x_is = term::eq(&x, &plus(&y, &one));
    let chosen = term::eq(&z, &term::ite(&term::lt(&x, &y), &x, &y));
    let rows = [
        (vec![x_is.clone()], term::lt(&y, &x), term::lt(&x, &y)),
        (
            vec![term::le(&x, &y), term::le(&y, &x)],
            term::eq(&x, &y),
            term::not(term::eq(&x, &y)),
        ),
        (
            vec![term::lt(&x, &y), term::lt(&y, &z)],
            term::lt(&plus(&x, &one), &z),
            term::lt(&plus(&x, &two), &z),
        ),
        (vec![chosen.clone()], term::le(&z, &x), term::lt(&z, &x)),
        (
            vec![x_is.clone()],
            term::eq(&modulo(&x, &two), &term::sub(&one, &modulo(&y, &two))),
            term::eq(&modulo(&x, &two), &modulo(&y, &two)),
        ),
        (
            vec![x_is.clone()],
            term::eq(&modulo(&x, &z), &modulo(&plus(&y, &one), &z)),
            term::eq(&modulo(&x, &z), &modulo(&y, &z)),
        ),
        (
            vec![term::eq(&x, &times(&y, &z)), term::eq(&y, &plus(&w, &one))],
            term::eq(&x, &plus(&times(&w, &z), &z)),
            term::eq(&x, &times(&w, &z)),
        ),
        (
            vec![
                term::or([term::lt(&x, &zero), term::le(&one, &y)]),
                term::le(&zero, &x),
            ],
            term::lt(&zero, &y),
            term::lt(&one, &y),
        ),
        (
            vec![term::le(&zero, &x), term::not(term::eq(&x, &zero))],
            term::le(&one, &x),
            term::le(&two, &x),
        ),
        (
            vec![term::eq(&times(&two, &x), &plus(&times(&two, &y), &one))],
            term::boolean(false),
            term::boolean(false),
        ),
    ];
    let last = rows.len() - 1;
    for (at, (hypotheses, right, wrong)) in rows.into_iter().enumerate() {
        let right = obligation(hypotheses.clone(), right);
        assert!(shown(&right), "{}", right.script());
        let wrong = obligation(if at == last { Vec::new() } else { hypotheses }, wrong);
        assert!(!shown(&wrong), "{}", wrong.script());
    }
}

/// What does not fit is no proof, and neither is what is not read.
#[test]
fn what_is_not_read_says_nothing() {
    let x = term::name("x");
    let huge = term::name(&"9".repeat(60));
    let large = term::name(&i128::MAX.to_string());
    let unread = term::name("(f x)");
    for goal in [
        term::le(&x, &huge),
        term::lt(&large, &term::sum([large.clone(), term::int(1)])),
        term::le(&term::int(0), &unread),
        term::not(term::le(&term::int(0), &unread)),
        term::or([term::eq(&unread, &x), term::lt(&x, &x)]),
        term::name("(<= 1 2 3)"),
        term::name("()"),
    ] {
        assert!(!shown(&obligation(Vec::new(), goal.clone())), "{goal}");
    }
    let mut other = obligation(vec![term::lt(&x, &x)], term::boolean(false));
    assert!(shown(&other));
    other.declarations.push("(declare-const b Bool)".to_owned());
    assert!(!shown(&other));
}
