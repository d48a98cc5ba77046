//! The order rule's ranks of members that do the same: the same ones where that is possible, and others where it is not.

use std::time::Duration;

use warplock::certificate::argument::Argument;
use warplock::certificate::discharge::Solver;
use warplock::certificate::manifest;
use warplock::certificate::order::artefact::Order;
use warplock::proof;
use warplock::proof::Guess;
use warplock::proof::Layer;
use warplock::text;
use warplock::text::Narrowing;

const LIMIT: Duration = Duration::from_secs(240);

/// What is found, once it has been checked.
fn proved(source: &str) -> Option<Order> {
    let protocol = text::load(source.as_bytes()).unwrap_or_else(|e| panic!("{e:?}\n{source}"));
    let found = proof::search(&protocol, Layer::Order, LIMIT, None, &|_| {});
    let Guess::Fitting(Argument::Order(order)) = found else {
        return None;
    };
    let argument = Argument::Order(order.clone());
    let issued = manifest::issue(source, &Narrowing::default(), "deadlock", argument);
    let (certificate, _) = issued.unwrap();
    manifest::check(&certificate, &Solver::BuiltIn, LIMIT, &|_| {}).unwrap();
    Some(order)
}

/// Producers of three rings and two consumers of each, who meet at the end of each tile.
fn rings(last: &str) -> String {
    let mut text = String::from("protocol rings param N in 0.. param K in 0..\n");
    text += "barrier meet { arrivals: 9 }\n";
    for cta in 0..3 {
        text += &format!(
            "mbarrier full{cta}[2] {{ arrivals: 1 }} mbarrier empty{cta}[2] {{ arrivals: 2 }}\n"
        );
    }
    for cta in 0..3 {
        let trips = if cta == 2 { last } else { "K" };
        text += &format!(
            "role load{cta} {{ var n = 0 for i in 0..N {{ for k in 0..K {{
                 wait empty{cta}[n % 2] (n / 2 + 1) % 2 arrive full{cta}[n % 2] n = n + 1 }} arrive meet wait meet }} }}
             role math{cta}[w in 0..2] {{ var n = 0 for i in 0..N {{ for k in 0..{trips} {{
                 wait full{cta}[n % 2] n / 2 % 2 arrive empty{cta}[n % 2] n = n + 1 }} arrive meet wait meet }} }}\n"
        );
    }
    text
}

#[test]
fn members_that_do_the_same_have_the_same_ranks() {
    let order = proved(&rings("K")).unwrap();
    for cta in 1..3 {
        assert_eq!(order.ranks[0], order.ranks[2 * cta]);
        assert_eq!(order.ranks[1], order.ranks[2 * cta + 1]);
    }
    // One of the consumers waits for a step more.
    assert_eq!(proved(&rings("K + 1")), None);
}

/// Members who each meet the one before and then the next one; the last one meets `end`.
fn relay(end: &str) -> String {
    let mut text = String::from("protocol relay\n");
    for at in 0..7 {
        text += &format!("barrier b{at} {{ arrivals: 2 }}\n");
    }
    let meets = |at: &str| format!("arrive b{at} wait b{at}");
    for at in 1..7 {
        let [before, next] = [at - 1, at].map(|at| meets(&at.to_string()));
        text += &format!("role r{at} {{ {before} {next} }}\n");
    }
    text + end
}

#[test]
fn members_that_do_the_same_one_after_the_other_have_other_ranks() {
    let ends = "role first { arrive b0 wait b0 }\nrole last { arrive b6 wait b6 }\n";
    let order = proved(&relay(ends)).unwrap();
    assert_ne!(order.ranks[1], order.ranks[2]);
    // One more that meets the last one and then the first one closes the circle.
    assert_eq!(
        proved(&relay(
            "role last { arrive b6 wait b6 arrive b0 wait b0 }\n"
        )),
        None
    );
}
