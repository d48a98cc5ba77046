//! Stages that members step through by hand, several at a time, and numbers of stages that are multiples: what the order rule proves, and
//! what it must not prove.

use super::order_parts::proposal;
use super::order_parts::proves;

/// A ring that one member fills, and members that empty it by turns.
fn ring(params: &str, number: usize, empties: &str) -> String {
    format!(
        "protocol wraps {params} mbarrier full[S] {{ arrivals: 1 }} mbarrier empty[S] {{ arrivals: 1 }}
         role load {{ for k in 0..N {{ wait empty[k % S] (k / S + 1) % 2 arrive full[k % S] }} }}
         role math[w in 0..{number}] {{ {empties} }}"
    )
}

/// Each member steps through the stages.
fn steps(number: usize, begin: &str, step: &str) -> String {
    format!(
        "var slot = {begin} var phase = 0
         for k in 0..N {{ if k % {number} == w {{ wait full[slot] phase arrive empty[slot] {step} }} }}"
    )
}

const STEP: &str = "slot = slot + 2 if slot >= S { slot = slot - S phase = phase ^ 1 }";

#[test]
fn an_index_may_grow_by_more_than_one_and_drop_by_its_modulus() {
    for step in [
        STEP,
        "slot = slot + 2 if slot >= S { slot = slot - S phase = 1 - phase }",
        "if slot >= S - 2 { slot = slot + 2 - S phase = phase ^ 1 } else { slot = slot + 2 }",
        "if slot < S - 2 { slot = slot + 2 } else { slot = slot + 2 - S phase = phase ^ 1 }",
    ] {
        proves(&ring(
            "param S in 2.. param N in 0..",
            2,
            &steps(2, "w", step),
        ));
    }
    let three = STEP.replace("+ 2", "+ 3");
    proves(&ring(
        "param S in 3.. param N in 0..",
        3,
        &steps(3, "w", &three),
    ));
}

#[test]
fn it_is_no_remainder_if_it_grows_otherwise() {
    for (begin, step) in [
        // It has to begin below its modulus, at the member's own stage.
        ("w + 2", STEP),
        ("0", STEP),
        ("1 - w", STEP),
        (
            "w",
            "slot = slot + 2 if slot > S { slot = slot - S phase = phase ^ 1 }",
        ),
        (
            "w",
            "slot = slot + 2 if slot >= S { slot = 0 phase = phase ^ 1 }",
        ),
        (
            "w",
            "slot = slot + 2 if slot == S { slot = 0 phase = phase ^ 1 }",
        ),
        ("w", "slot = slot + 2 if slot >= S { slot = slot - S }"),
        (
            "w",
            "slot = slot + 2 if slot >= S { slot = slot - S } if slot + 2 >= S { phase = phase ^ 1 }",
        ),
        (
            "w",
            "slot = slot + 1 if slot >= S { slot = slot - S phase = phase ^ 1 }",
        ),
        (
            "w",
            "slot = slot + 3 if slot >= S { slot = slot - S phase = phase ^ 1 }",
        ),
        (
            "w",
            "slot = slot + 2 if slot >= S - 1 { slot = slot - S + 1 phase = phase ^ 1 }",
        ),
        ("w", "phase = phase ^ 1"),
    ] {
        let source = ring("param S in 2.. param N in 0..", 2, &steps(2, begin, step));
        assert!(proposal(&source).is_err(), "{source}");
    }
    // By more than its modulus it does not drop often enough: three members, of which each steps by 3 stages out of 2.
    let three = steps(3, "w", &STEP.replace("+ 2", "+ 3"));
    proposal(&ring("param S in 2.. param N in 0..", 3, &three)).unwrap_err();
}

/// Each member goes around every other stage.
fn halves(half: &str) -> String {
    format!(
        "for i in 0..(N + 1 - w) / 2 {{ wait full[(2 * i + w) % S] i / ({half}) % 2 arrive empty[(2 * i + w) % S] }}"
    )
}

#[test]
fn half_of_an_even_number_is_a_number() {
    for even in ["S % 2 == 0", "0 == S % 2", "S % 4 == 0"] {
        let params = format!("param S in 2.. param N in 0.. assume {even}");
        proves(&ring(&params, 2, &halves("S / 2")));
    }
    // A set of values has those that are even.
    let params = "param S in {2, 3, 6} param N in 0.. assume S % 2 == 0";
    proves(&ring(params, 2, &halves("S / 2")));
}

#[test]
fn half_of_another_number_is_rounded_down() {
    for params in [
        "param S in 2.. param N in 0..",
        "param S in 2.. param N in 0.. assume S % 3 == 0",
        "param S in 2.. param N in 0.. assume S % 2 == 1",
        "param S in 2.. param N in 0.. assume S % 2 != 0",
        "param S in 2.. param N in 0.. assume N % 2 == 0",
        "param S in 2.. param N in 0.. assume S % 2 == 0 || S == 3",
    ] {
        let source = ring(params, 2, &halves("S / 2"));
        assert!(proposal(&source).is_err(), "{source}");
    }
    let even = "param S in 2.. param N in 0.. assume S % 2 == 0";
    for half in ["S / 2 + 1", "(S + 2) / 2", "S / 4 + 1", "S", "2 * S / 2"] {
        let source = ring(even, 2, &halves(half));
        assert!(proposal(&source).is_err(), "{source}");
    }
}

/// An assumption has to be defined where those before it hold, for odd numbers, too.
#[test]
fn an_assumption_in_front_is_still_evaluated() {
    let params = "param S in 2.. param N in 0.. assume 6 / (1 - S % 2) >= 0 assume S % 2 == 0";
    proposal(&ring(params, 2, &halves("S / 2"))).unwrap_err();
}
