//! What the order rule leaves out or takes apart before it begins: explicit initialisation, ample pools, named barriers with
//! several counts, conditions and quotients of parameters. Each with what must not be proved.

use std::time::Duration;

use warplock::certificate::argument::Argument;
use warplock::certificate::discharge::Solver;
use warplock::certificate::manifest;
use warplock::certificate::manifest::Rejection;
use warplock::certificate::order::artefact::About;
use warplock::certificate::order::artefact::Order;
use warplock::proof;
use warplock::proof::Guess;
use warplock::proof::Layer;
use warplock::text;
use warplock::text::Narrowing;

const LIMIT: Duration = Duration::from_secs(120);

pub(super) fn proposal(source: &str) -> Result<Order, String> {
    let protocol = text::load(source.as_bytes()).unwrap_or_else(|e| panic!("{e:?}\n{source}"));
    match proof::search(&protocol, Layer::Order, LIMIT, None, &|_| {}) {
        Guess::Fitting(Argument::Order(order)) => Ok(order),
        Guess::Nothing { reason, .. } => Err(reason),
        other => panic!("{other:?}"),
    }
}

pub(super) fn accepted(source: &str, order: &Order) -> Result<usize, Rejection> {
    let argument = Argument::Order(order.clone());
    let (certificate, _) = manifest::issue(source, &Narrowing::default(), "deadlock", argument)?;
    manifest::check(&certificate, &Solver::BuiltIn, LIMIT, &|_| {}).map(|c| c.obligations)
}

pub(super) fn proves(source: &str) -> Order {
    let order = proposal(source).unwrap_or_else(|reason| panic!("{reason}\n{source}"));
    accepted(source, &order).unwrap_or_else(|why| panic!("{why}\n{source}"));
    order
}

fn refuses(source: &str) {
    assert!(proposal(source).is_err(), "{source}");
}

/// A tile has any number of steps, of which the first two are written in front of a loop: a compiler's pipeline of two stages.
fn tiles(second: &str, last: &str) -> String {
    format!(
        "protocol tiles param T in 0.. param K in 0..
         mbarrier done[2] {{ arrivals: 1 }} mbarrier full[2] {{ arrivals: 1 }}
         role warp0 warp {{
             var r = 0
             for t in 0..T {{
                 if K >= 1 {{ arrive full[r % 2] wait full[r % 2] r / 2 % 2 commit done[r % 2] }}
                 if K >= {second} {{ arrive full[(r + 1) % 2] }}
                 for k in 0..K - 1 {{
                     wait full[(r + k + 1) % 2] (r + k + 1) / 2 % 2
                     commit done[(r + k + 1) % 2]
                     wait done[(r + k) % 2] (r + k) / 2 % 2
                     if K > k + 2 {{ arrive full[(r + k) % 2] }}
                 }}
                 if K >= 1 {{ wait done[(K + r + 1) % 2] {last} }}
                 r = K + r
             }}
         }}"
    )
}

const LAST: &str = "((K + r + 1) / 2 + 1) % 2";

#[test]
fn steps_in_front_of_a_loop_count_where_there_are_so_many() {
    proves(&tiles("2", LAST));
    refuses(&tiles("3", LAST));
    refuses(&tiles("1", LAST));
    refuses(&tiles("2", "(K + r + 1) / 2 % 2"));
}

/// Warps that meet once more under a condition that is none of polynomials.
fn meets(condition: [&str; 2]) -> String {
    let [one, two] = condition;
    let warp = |name: &str, condition: &str, rest: &str| {
        format!(
            "role {name} warp {{
                 if K >= 1 {{
                     for i in 0..n {{ sync bar[0] 64 {rest} }}
                     if {condition} {{ sync bar[0] 64 }}
                     sync bar[0] 64
                 }}
             }} "
        )
    };
    format!(
        "protocol meets param n in 0.. param K in 0.. named bar[2] {} {}",
        warp("one", one, ""),
        warp("two", two, ""),
    )
}

#[test]
fn a_condition_on_parameters_is_one_case_or_the_other() {
    const ENDS: &str = "n >= 1 && K == (n - 1) % K + 1";
    proves(&meets([ENDS, ENDS]));
    // The same one, the other way around.
    let not = "!(n < 1 || K != (n - 1) % K + 1)";
    proves(&meets([ENDS, not]));
    refuses(&meets([ENDS, "n >= 1 && K != (n - 1) % K + 1"]));
    refuses(&meets([ENDS, "n >= 1"]));
}

#[test]
fn a_condition_has_to_be_defined() {
    // At K = 0 it is not.
    let source = meets(["n % K == 0", "n % K == 0"]).replace("K >= 1", "K >= 0");
    refuses(&source);
}

/// A loop as long as a quotient, and a wait behind it for as many rounds.
fn quotient(condition: &str, parity: &str) -> String {
    format!(
        "protocol quotient param c in 0.. param n in 0..
         mbarrier full[2] {{ arrivals: 1 }} named bar[1]
         role producer warp {{
             if {condition} {{ for i in 0..(n - c + 131) / 132 {{ arrive full[i % 2] sync bar[0] 64 }}
                 arrive full[(n - c + 131) / 132 % 2] }}
         }}
         role consumer warp {{
             if {condition} {{ for i in 0..(n - c + 131) / 132 {{ wait full[i % 2] i / 2 % 2 sync bar[0] 64 }}
                 wait full[(n - c + 131) / 132 % 2] {parity} }}
         }}"
    )
}

#[test]
fn a_quotient_behind_a_loop_is_how_often_it_went_around() {
    const PARITY: &str = "(n - c + 131) / 132 / 2 % 2";
    proves(&quotient("n > c", PARITY));
    refuses(&quotient("n > c", "((n - c + 131) / 132 / 2 + 1) % 2"));
    // What is divided may be negative here.
    refuses(&quotient("n >= 0", PARITY));
    // Nor may it be where a member is told apart by it: below 9, `(n - 9) / 2 + 3` is less than 3, and nobody arrives at `never`.
    let told_apart = |from: u32| {
        format!(
            "protocol told_apart param n in {from}.. mbarrier own[3] {{ arrivals: 1 }} mbarrier never {{ arrivals: 1 }}
             role member[w in 0..3] warp {{
                 for i in 0..(n - 9) / 2 {{ arrive own[w] wait own[w] i % 2 }}
                 if w >= (n - 9) / 2 + 3 {{ wait never 0 }}
             }}"
        )
    };
    refuses(&told_apart(0));
}

/// One warp initialises what two warps use: its program in front of where they meet, and behind it; and that of the other one.
fn initialised(before: &str, after: &str, other: &str) -> String {
    format!(
        "protocol initialised param N in 0.. named bar[2]
         mbarrier full[2] {{ arrivals: 1, init: explicit }} mbarrier free[2] {{ arrivals: 1, init: explicit }}
         role one warp {{
             {before} sync bar[0] 64 {after}
             for i in 0..N {{ wait free[i % 2] (i / 2 + 1) % 2 arrive full[i % 2] }}
         }}
         role two warp {{
             {other}
             for i in 0..N {{ wait full[i % 2] i / 2 % 2 arrive free[i % 2] }}
         }}"
    )
}

const FULL: &str = "init full[0] init full[1]";
const FREE: &str = "init free[0] init free[1]";

#[test]
fn initialisation_before_every_use_is_left_out() {
    let both = format!("{FULL} {FREE}");
    let order = proves(&initialised(&both, "", "sync bar[0] 64"));
    assert!(
        order
            .chains
            .iter()
            .any(|c| matches!(c.about, About::Initialised(..))),
        "{:?}",
        order.chains
    );
    // Behind the barrier, the other warp may come before; but not to what it uses behind a wait for the first one.
    refuses(&initialised(FREE, FULL, "sync bar[0] 64"));
    proves(&initialised(FULL, FREE, "sync bar[0] 64"));
    // Of one element of two, and of one twice.
    refuses(&initialised(
        &format!("{FULL} init free[0]"),
        "",
        "sync bar[0] 64",
    ));
    refuses(&initialised(
        &format!("{both} init free[0]"),
        "",
        "sync bar[0] 64",
    ));
    // In front of the barrier, the other warp uses it.
    refuses(&initialised(&both, "", "wait full[0] 1 sync bar[0] 64"));
}

#[test]
fn who_initialises_has_to_be_one() {
    let both = format!("{FULL} {FREE}");
    let one = initialised(&both, "", "sync bar[0] 64");
    let several = one
        .replace("role one warp", "role one[w in 0..2] warp")
        .replace("arrivals: 1", "arrivals: 2")
        .replace("bar[0] 64", "bar[0] 96");
    refuses(&several);
}

/// Twice, by three members, in a loop, and outside of the extents.
#[test]
fn initialisation_without_a_use_is_refused() {
    let ring = "for i in 0..N { wait empty (i + 1) % 2 arrive full }";
    for role in [
        format!("role a {{ init x[0] init x[0] {ring} }}"),
        format!("role a {{ {ring} }} role more[w in 0..3] {{ init x[0] }}"),
        "role a { for i in 0..N { init x[0] wait empty (i + 1) % 2 arrive full } }".to_owned(),
        format!("role a {{ if N >= 1000 {{ init x[7] }} {ring} }}"),
    ] {
        refuses(&format!(
            "protocol unused param N in 1.. mbarrier x[2] {{ arrivals: 1, init: explicit }}
             mbarrier full {{ arrivals: 1 }} mbarrier empty {{ arrivals: 1 }} {role}
             role b {{ for i in 0..N {{ wait full i % 2 arrive empty }} }}"
        ));
    }
}

#[test]
fn an_argument_for_initialisation_is_needed() {
    let both = format!("{FULL} {FREE}");
    let source = initialised(&both, "", "sync bar[0] 64");
    let order = proves(&source);
    for at in 0..order.chains.len() {
        let mut less = order.clone();
        if matches!(less.chains.remove(at).about, About::Initialised(..)) {
            assert!(accepted(&source, &less).is_err(), "{at}");
        }
    }
}

/// Two warps give registers back and take them again; between these they pass something on.
fn pool(capacity: u32, release: u32, acquire: u32) -> String {
    format!(
        "protocol pools param N in 0.. pool registers = {capacity}
         mbarrier full {{ arrivals: 1 }} mbarrier free {{ arrivals: 1 }}
         role one warp {{
             acquire registers 256 release registers {release}
             for i in 0..N {{ wait free (i + 1) % 2 arrive full }}
             acquire registers {acquire}
         }}
         role two warp {{
             acquire registers 256
             for i in 0..N {{ wait full i % 2 arrive free }}
         }}"
    )
}

#[test]
fn a_pool_that_has_all_that_is_held_at_most_is_left_out() {
    proves(&pool(512, 232, 232));
    // One register is missing, or is taken beyond.
    refuses(&pool(511, 232, 232));
    refuses(&pool(512, 232, 233));
    proves(&pool(513, 232, 233));
    // More is given back than is held.
    refuses(&pool(1024, 257, 1));
}

/// Four warps use a barrier among two of them between meetings of all, who meet elsewhere as well.
fn counts(elsewhere: [&str; 2]) -> String {
    let [few, others] = elsewhere;
    format!(
        "protocol counts param N in 0.. named bar[2]
         role few[w in 0..2] warp {{
             sync bar[0] 128 for i in 0..N {{ sync bar[0] 64 }} {few} sync bar[0] 128
         }}
         role others[w in 0..2] warp {{ sync bar[0] 128 {others} sync bar[0] 128 }}"
    )
}

const MEET: &str = "sync bar[1] 128";

#[test]
fn counts_that_are_never_pending_together_are_apart() {
    let order = proves(&counts([MEET, MEET]));
    assert_eq!(order.apart.len(), 1);
    assert!(
        order
            .chains
            .iter()
            .any(|c| matches!(c.about, About::Apart(..)))
    );
    // Otherwise the others may register while the few meet.
    refuses(&counts(["", ""]));
    // Who only arrives there does not hold the others back, but is not held back itself.
    proves(&counts(["arrive bar[1] 128", MEET]));
    refuses(&counts([MEET, "arrive bar[1] 128"]));
}

#[test]
fn an_argument_for_counts_is_needed() {
    let source = counts([MEET, MEET]);
    let order = proves(&source);
    for at in 0..order.chains.len() {
        let mut less = order.clone();
        if matches!(less.chains.remove(at).about, About::Apart(..)) {
            assert!(accepted(&source, &less).is_err(), "{at}");
        }
    }
    let mut together = order.clone();
    together.apart.clear();
    assert!(accepted(&source, &together).is_err());
}

/// Where the branch is not taken, a member goes past the loop in it, though the loop has iterations.
#[test]
fn a_loop_in_a_branch_is_gone_past() {
    let crossed = |b: &str| {
        format!(
            "protocol crossed param P in 0.. param N in 1..
             mbarrier x {{ arrivals: 1 }} mbarrier y {{ arrivals: 1 }} mbarrier z {{ arrivals: 1 }}
             role a {{ wait x 0
                 if P < 100 {{ for i in 0..N {{ arrive z wait z i % 2 }} }}
                 arrive y }}
             role b {{ {b} }}"
        )
    };
    // For P >= 100, `a` waits for `x` and `b` for `y`.
    refuses(&crossed("if P >= 100 { wait y 0 } arrive x"));
    proves(&crossed("arrive x if P >= 100 { wait y 0 }"));
}
