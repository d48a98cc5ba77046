//! Turns whose last one sets the semaphore back: what is proved of them, and what must not be proved.

use std::time::Duration;

use warplock::certificate::discharge::Solver;
use warplock::certificate::manifest;
use warplock::proof;
use warplock::proof::Guess;
use warplock::text;
use warplock::text::Narrowing;

const LIMIT: Duration = Duration::from_secs(60);

fn proved(source: &str) -> bool {
    let source = format!("protocol p param T in 1.. param S in 1.. {source}");
    let protocol = text::load(source.as_bytes()).unwrap_or_else(|e| panic!("{e:?}\n{source}"));
    let (Guess::Found(argument) | Guess::Fitting(argument)) =
        proof::guess(&protocol, LIMIT, &|_| {})
    else {
        return false;
    };
    let issued = manifest::issue(&source, &Narrowing::default(), "deadlock", argument);
    issued.is_ok_and(|(certificate, _)| {
        manifest::check(&certificate, &Solver::BuiltIn, LIMIT, &|_| {}).is_ok()
    })
}

/// A grid of tiles with `S` turns each.
fn turns(wait: &str, set: &str) -> bool {
    proved(&format!(
        "semaphore turn[T] = 0
         grid cta[t in 0..T][s in 0..S] launch ascending resident 1.. {{ {wait} {set} }}"
    ))
}

#[test]
fn the_last_turn_may_set_its_semaphore_back() {
    for set in [
        "turn[t] = (s + 1) % S",
        "turn[t] = s + 1",
        "turn[t] = if s == S - 1 then 0 else s + 1",
        "if s == S - 1 { turn[t] = 0 } else { turn[t] += 1 }",
        "if s + 1 < S { turn[t] = s + 1 } else { turn[t] = 0 }",
    ] {
        assert!(turns("wait turn[t] == s", set), "{set}");
    }
}

#[test]
fn who_gives_the_turn_to_another_one_is_refused() {
    for set in [
        "turn[t] = s",
        "turn[t] = 0",
        "turn[t] = (s + 2) % S",
        "turn[t] = (s + 1) % (S + 1)",
        "turn[t] = (s + 1) % T",
        "turn[0] = (s + 1) % S",
        "if s == S - 2 { turn[t] = 0 } else { turn[t] += 1 }",
        "if s != S - 1 { turn[t] = 0 } else { turn[t] += 1 }",
        "st.relaxed.gpu turn[t] = (s + 1) % S",
        "st.release.cta turn[t] = (s + 1) % S",
        "turn[t] = (s + 1) % S turn[t] = (s + 1) % S",
        "turn[t] += 1 turn[t] = (s + 1) % S",
    ] {
        assert!(!turns("wait turn[t] == s", set), "{set}");
    }
    for wait in [
        "wait turn[t] == s + 1",
        "wait turn[0] == s",
        "wait turn[t] == S - 1 - s",
        "if s > 1 { wait turn[t] == s }",
    ] {
        assert!(!turns(wait, "turn[t] = (s + 1) % S"), "{wait}");
    }
}

/// Where tiles share a semaphore, or each goes there twice, the turn goes around.
#[test]
fn a_turn_that_comes_again_is_refused() {
    let shared = "semaphore turn = 0
        grid cta[t in 0..T][s in 0..S] launch ascending resident all { wait turn == s turn = (s + 1) % S }";
    let twice = "semaphore turn = 0
        grid cta[s in 0..S] launch ascending resident 1 { for t in 0..T { wait turn == s turn = (s + 1) % S } }";
    let also = "semaphore turn = 0 role last { wait turn == S }
        grid cta[s in 0..S] launch ascending resident 1.. { wait turn == s turn = (s + 1) % S }";
    for source in [shared, twice, also] {
        assert!(!proved(source), "{source}");
    }
}
