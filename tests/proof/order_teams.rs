//! Members that take turns at one ring: what the order rule proves, what it must not prove, and that each part of an argument that says
//! so is needed.

use warplock::certificate::order::artefact::About;
use warplock::certificate::order::artefact::Order;

use super::order_parts::accepted;
use super::order_parts::proposal;
use super::order_parts::proves;

/// A ring that one member fills, by these statements, and members of this number empty.
fn ring(params: &str, fills: &str, number: usize, empties: &str) -> String {
    format!(
        "protocol turns {params} mbarrier full[S] {{ arrivals: 1 }} mbarrier empty[S] {{ arrivals: 1 }} mbarrier turn[2] {{ arrivals: 1 }}
         role load {{ for k in 0..N {{ wait empty[k % S] (k / S + 1) % 2 {fills} }} }}
         role math[w in 0..{number}] {{ {empties} }}"
    )
}

const FILLS: &str = "arrive full[k % S]";

const COPIES: &str = "arrive_expect_tx full[k % S] 64 async copy tile completes full[k % S] 64";

/// Each member has every so manyth round.
fn rounds(number: usize) -> String {
    format!(
        "for k in 0..N {{ if k % {number} == w {{ wait full[k % S] k / S % 2 arrive empty[k % S] }} }}"
    )
}

#[test]
fn members_take_turns_on_a_ring_that_is_long_enough() {
    for number in 2..=3 {
        let order = proves(&ring(
            &format!("param S in {number}.. param N in 0.."),
            FILLS,
            number,
            &rounds(number),
        ));
        assert_eq!(order.teams.len(), 2);
        let made = order.chains.iter().filter(|chain| chain.made);
        assert_eq!(made.count(), number);
        // With a shorter ring one of them may come a round early.
        let less = format!("param S in {}.. param N in 0..", number - 1);
        proposal(&ring(&less, FILLS, number, &rounds(number))).unwrap_err();
    }
}

/// A copy may still be in flight when the next member has come to the same stage.
#[test]
fn copies_may_land_late() {
    let source = |params: &str| ring(params, COPIES, 2, &rounds(2));
    proposal(&source("param S in 2.. param N in 0..")).unwrap_err();
    // With two stages each member has waited for the copy before at its own stage.
    let order = proves(&source("param S in 2..=2 param N in 0.."));
    assert!(order.chains.iter().all(|chain| !chain.made));
}

/// A commit may be in flight, too.
#[test]
fn commits_may_land_late() {
    let commits = "async mma writes acc commit full[k % S]";
    let source = ring("param S in 2.. param N in 0..", commits, 2, &rounds(2));
    proposal(&source.replace(
        "mbarrier turn",
        "buffer acc { memory: tensor } mbarrier turn",
    ))
    .unwrap_err();
}

#[test]
fn nobody_may_take_a_turn_of_another() {
    for (from, to) in [
        ("k % 2 == w", "k % 2 == 0"),
        ("k % 2 == w", "k % 3 == w"),
        ("arrive empty[k % S]", "arrive empty[(k + 1) % S]"),
        ("k / S % 2 arrive", "(k / S + 1) % 2 arrive"),
        ("for k in 0..N { if", "for k in 0..N + 2 { if"),
    ] {
        let turns = rounds(2).replace(from, to);
        proposal(&ring("param S in 2.. param N in 0..", FILLS, 2, &turns)).unwrap_err();
    }
    // Nor may a turn be left out.
    let short = rounds(2).replace("0..N", "0..N - 3");
    proposal(&ring("param S in 2.. param N in 3..", FILLS, 2, &short)).unwrap_err();
}

/// The ping-pong schedule, with tiles of `K` slots.
fn ping_pong(wait: &str, give: &str, rest: &str) -> String {
    format!(
        "protocol ping_pong param S in 1.. param K in 1.. param T in 0..
         mbarrier full[S] {{ arrivals: 1 }} mbarrier empty[S] {{ arrivals: 1 }} mbarrier turn[2] {{ arrivals: 1 }}
         role load {{ var p = producer(S) for t in 0..T {{ for k in 0..K {{
             wait empty[p.index] p.phase arrive_expect_tx full[p.index] 64 async copy tile completes full[p.index] 64 advance p }} }} }}
         role math[w in 0..2] {{ var p = consumer(S) var own = 0 for t in 0..T {{ if t % 2 == w {{
             {wait} for k in 0..K {{ wait full[p.index] p.phase arrive empty[p.index] advance p }} {give} own = own + 1
         }} else {{ {rest} }} }} }}"
    )
}

const WAIT: &str = "wait turn[w] (own + 1 - w) % 2";
const GIVE: &str = "arrive turn[1 - w]";
const REST: &str = "for k in 0..K { advance p }";

#[test]
fn turns_are_handed_over() {
    let order = proves(&ping_pong(WAIT, GIVE, REST));
    let waits: Vec<&Vec<usize>> = order.teams.iter().map(|team| &team.after).collect();
    assert_eq!(waits, [&vec![], &vec![0, 0]]);
    let handed = |about: &About| matches!(about, About::Handed(..));
    let chains = order.chains.iter().filter(|chain| handed(&chain.about));
    assert_eq!(chains.count(), 2);
    // The first wait may be skipped, since it would be for nothing.
    let skipped = "if t > 0 { wait turn[w] (own + 1 - w) % 2 }";
    proves(&ping_pong(skipped, GIVE, REST));
}

#[test]
fn turns_that_are_not_handed_over_are_none() {
    for (wait, give, rest) in [
        ("", "", REST),
        (WAIT, GIVE, "own = own + 0"),
        (WAIT, GIVE, "for k in 0..K - 1 { advance p }"),
        (WAIT, GIVE, "for k in 0..K { advance p advance p }"),
        (WAIT, GIVE, "for k in 0..K { advance p arrive turn[w] }"),
        (WAIT, "arrive turn[w]", REST),
        ("wait turn[w] own % 2", GIVE, REST),
        ("wait turn[1 - w] (own + 1 - w) % 2", GIVE, REST),
        ("if t > 1 { wait turn[w] (own + 1 - w) % 2 }", GIVE, REST),
        (
            "arrive turn[1 - w] wait turn[w] (own + 1 - w) % 2",
            "",
            REST,
        ),
        (
            "wait turn[w] (own + 1 - w) % 2 arrive turn[1 - w]",
            "",
            REST,
        ),
    ] {
        let source = ping_pong(wait, give, rest);
        assert!(proposal(&source).is_err(), "{source}");
    }
}

#[test]
fn each_part_of_a_team_is_needed() {
    let source = ping_pong(WAIT, GIVE, REST);
    let order = proves(&source);
    let refused = |change: &dyn Fn(&mut Order)| {
        let mut other = order.clone();
        change(&mut other);
        assert_ne!(other, order);
        accepted(&source, &other).unwrap_err();
    };
    for nth in 0..2 {
        refused(&|order| drop(order.teams.remove(nth)));
        refused(&|order| order.teams[nth].classes.reverse());
        refused(&|order| order.teams[nth].classes[1] = order.teams[nth].classes[0]);
        refused(&|order| order.teams[nth].classes.truncate(1));
        refused(&|order| order.teams[nth].each.0[0].times += 1);
        refused(&|order| order.teams[nth].each.0.clear());
        refused(&|order| order.teams[nth].arrives = nth == 1);
        refused(&|order| order.teams[nth].ring += 2);
    }
    refused(&|order| order.teams[1].after.clear());
    refused(&|order| order.teams[1].after = vec![1, 1]);
    refused(&|order| order.teams[1].after = vec![0]);
    refused(&|order| order.teams[0].after = vec![0, 0]);
    for nth in 0..order.chains.len() {
        refused(&|order| drop(order.chains.remove(nth)));
        refused(&|order| order.chains[nth].made = true);
    }
}
