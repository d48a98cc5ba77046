//! Bytes that only the tensor map knows, of copies that the graph recovers: to which phase of an mbarrier each copy belongs.

use crate::graph_misuse::shown;
use crate::graph_misuse::verdict;
use crate::graph_misuse::verdict_by;

const COPY: &str = "cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [room], [%rd1, {%r3}], [bar];\n";

fn expect(bytes: u32) -> String {
    format!("mbarrier.arrive.expect_tx.shared.b64 _, [bar], {bytes};\n")
}

fn wait(label: &str, offset: u32, parity: u32) -> String {
    format!(
        "{label}:\nmbarrier.try_wait.parity.shared.b64 %p9, [bar+{offset}], {parity};\n@!%p9 bra {label};\n"
    )
}

/// Thread 0 arrives at another mbarrier and waits for it.
fn another(label: &str, parity: u32) -> String {
    let wait = wait(label, 8, parity);
    format!("mbarrier.arrive.shared.b64 _, [bar+8];\n{wait}")
}

/// Thread 0 does this, in one block.
fn by_one(code: &[&str]) -> String {
    verdict(32, &one(code))
}

fn one(code: &[&str]) -> String {
    format!(
        "setp.ne.u32 %p15, %r1, 0;\n@!%p15 mbarrier.init.shared.b64 [bar], 1;\n\
         @!%p15 mbarrier.init.shared.b64 [bar+8], 1;\nmov.b32 %r3, 0;\nbar.sync 0;\n@%p15 bra OUT;\n{}OUT:",
        code.concat()
    )
}

#[test]
fn phases_begin_where_bytes_are_expected_behind_a_copy() {
    let (first, second) = (wait("W", 0, 0), wait("X", 0, 1));
    let (other, more) = (another("V", 0), another("U", 1));
    let (some, others) = (expect(64), expect(96));
    for code in [
        // A wait for another mbarrier stands between what is expected and the copies.
        vec![&some[..], &other, COPY, COPY, &first],
        vec![
            &some, &other, COPY, COPY, &first, &others, &more, COPY, COPY, COPY, &second,
        ],
        vec![&some, COPY, COPY, &first, &others, COPY, &second],
        // One phase takes what is expected twice.
        vec![COPY, &some, &first],
    ] {
        let said = by_one(&code);
        assert!(
            said.starts_with("PROVED for every schedule"),
            "{code:?}\n{said}"
        );
    }
}

#[test]
fn copies_that_may_belong_to_several_phases() {
    let (first, second) = (wait("W", 0, 0), wait("X", 0, 1));
    let (other, more) = (another("V", 0), another("U", 1));
    let some = expect(64);
    let uncertain = "how many bytes this copy delivers is not known: it is not certain to which phase of its mbarrier it belongs";
    for code in [
        // Nothing delivers the bytes of the second phase, which hangs.
        vec![&some[..], &other, COPY, COPY, &first, &more, &some, &second],
        // The second copy begins when the first phase is complete.
        vec![&some, COPY, &first, COPY, &some, COPY, &second],
        vec![&some, COPY, &other, COPY, &some, COPY, &second],
    ] {
        let said = by_one(&code);
        assert!(
            said.starts_with("UNKNOWN line ") && said.ends_with(uncertain),
            "{code:?}\n{said}"
        );
    }
}

/// Of 80 bytes that are expected, a bulk copy delivers 16.
#[test]
fn bytes_that_are_known_are_not_those_of_the_tensor_copy() {
    let bulk = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [room], [%rd1], 16, [bar];\n";
    let all = expect(80);
    let (first, few) = (wait("W", 0, 0), expect(16));
    assert!(by_one(&[&all, COPY, bulk, &first]).starts_with("PROVED for every schedule"));
    insta::assert_snapshot!(by_one(&[&few, COPY, bulk, &first]), @"UNKNOWN line 24: how many bytes this copy delivers is not known: its mbarrier expects them elsewhere");
}

/// A copy of 64 bytes where 48 are expected leaves -16, in one phase or with 16 bytes more in the next one.
#[test]
fn more_bytes_than_a_phase_expects() {
    let bulk = |bytes: u32| {
        format!(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [room], [%rd1], {bytes}, [bar];\n"
        )
    };
    let (first, second) = (wait("W", 0, 0), wait("X", 0, 1));
    let (few, some, more) = (expect(48), expect(64), expect(80));
    let (whole, rest) = (bulk(64), bulk(16));
    let excess = "this delivers more bytes than the phase of its mbarrier still expects; whether that phase is ever complete then \
                  depends on how many bytes the hardware counts at once";
    for recovery in ["auto", "graph"] {
        let said = |code: &[&str]| verdict_by(recovery, 32, &one(code));
        for code in [
            vec![&few[..], &whole, &first],
            vec![&few, &whole, &first, &few, &bulk(32), &second],
        ] {
            let said = said(&code);
            assert!(
                said.starts_with("UNKNOWN line ") && said.ends_with(excess),
                "{code:?}\n{said}"
            );
        }
        for code in [
            vec![&some[..], &whole, &first],
            vec![&more, &whole, &rest, &first, &few, &bulk(48), &second],
        ] {
            let said = said(&code);
            assert!(said.starts_with("PROVED"), "{code:?}\n{said}");
        }
        // Not at small numbers of the launch.
        let at_50 = format!(
            "{few}setp.ne.u32 %p14, %r2, 50;\n@!%p14 {whole}@%p14 {}",
            bulk(48)
        );
        let at_50 = said(&[&at_50, &first]);
        assert!(at_50.starts_with("BOUNDED no violation for "), "{at_50}");
    }
}

/// That each copy delivers what is expected is said where it is not proved: of bytes that are no constants, it is not.
#[test]
fn bytes_that_are_not_shown_to_be_those_that_are_expected() {
    let assumption = "no copy delivers more bytes than the phase of its mbarrier still expects";
    let copied = |bytes: &str| {
        let copy = format!(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [room], [%rd1], {bytes}, [bar];\n"
        );
        let expect = format!("mbarrier.arrive.expect_tx.shared.b64 _, [bar], {bytes};\n");
        let first = wait("W", 0, 0);
        let bytes = "shl.b32 %r4, %r2, 4;\nmin.u32 %r4, %r4, 1024;\n";
        shown(32, &one(&[bytes, &expect, &copy, &first]))
    };
    let (some, constant) = (copied("%r4"), copied("64"));
    assert!(
        some.contains("PROVED") && some.contains(assumption),
        "{some}"
    );
    assert!(
        constant.contains("PROVED") && !constant.contains(assumption),
        "{constant}"
    );
}

/// The copies of each phase stand before its bytes are expected, equally many of equally many bytes.
#[test]
fn copies_before_their_bytes_are_expected() {
    let (first, second) = (wait("W", 0, 0), wait("X", 0, 1));
    let (some, more) = (expect(64), expect(96));
    for code in [
        vec![COPY, &some[..], &first, COPY, &some, &second],
        vec![COPY, COPY, &some, &first, COPY, COPY, &some, &second],
    ] {
        let said = by_one(&code);
        assert!(
            said.starts_with("PROVED for every schedule"),
            "{code:?}\n{said}"
        );
    }
    // One phase has fewer copies or more bytes than another one, or bytes of which not all copies have the same.
    for code in [
        vec![COPY, COPY, &some[..], &first, COPY, &some, &second],
        vec![COPY, &some, &first, COPY, &more, &second],
        vec![
            COPY, COPY, COPY, &some, &first, COPY, COPY, COPY, &some, &second,
        ],
    ] {
        let said = by_one(&code);
        assert!(said.starts_with("UNKNOWN line "), "{code:?}\n{said}");
    }
    // Nobody waits for the first phase, so its bytes may still come when those of the second are expected.
    insta::assert_snapshot!(by_one(&[COPY, &some, COPY, &some, &second]), @"UNKNOWN a run does something undefined: warp0: 1 arrival where 0 are pending");
}

/// The bytes are expected where `n < 5`, with `first` behind that. Then comes `between`. Another copy is made behind `else` of `limit`,
/// with `then` in front of it.
fn by_sides([first, between, then]: [&str; 3], limit: u32) -> String {
    let (end, other) = (wait("W", 0, 0), another("U", 1));
    by_one(&[
        "setp.ge.s32 %p1, %r2, 5;\n@%p1 bra A;\n",
        first,
        "A:\n",
        between,
        &format!("setp.ge.s32 %p2, %r2, {limit};\n@%p2 bra B;\n"),
        then,
        COPY,
        &end,
        "bra OUT;\nB:\n",
        &other,
    ])
}

#[test]
fn bytes_that_are_expected_on_the_other_side_of_a_branch() {
    let other = another("V", 0);
    let some = expect(64);
    let with = format!("{some}{COPY}");
    for first in [&with, &some] {
        let said = by_sides([first, &other, ""], 5);
        assert!(
            said.starts_with("PROVED for every n in 0..=1073741823 and schedule"),
            "{first}\n{said}"
        );
    }
}

/// The copy belongs to a later phase, or to none, or is made where nothing is expected.
#[test]
fn copies_that_are_not_of_the_phase_of_the_other_side() {
    let other = another("V", 0);
    let some = expect(64);
    let with = format!("{some}{COPY}");
    let waits = wait("X", 0, 0);
    let where_5 = format!("setp.ge.s32 %p3, %r2, 5;\n@%p3 bra C;\n{waits}C:\n{other}");
    let again = format!("setp.lt.s32 %p3, %r2, 7;\n@%p3 bra C;\n{with}C:\n{other}");
    let behind = format!("{waits}{with}");
    for (parts, limit) in [
        ([&with[..], &other, &waits], 5),
        ([&with, &where_5, ""], 5),
        ([&with, &again, ""], 5),
        ([&with, &other, ""], 6),
        ([&with, &other, ""], 4),
        ([COPY, &other, &some], 5),
    ] {
        let said = by_sides(parts, limit);
        assert!(
            !said.starts_with("PROVED") && !said.starts_with("REFUTED"),
            "{parts:?} {limit}\n{said}"
        );
    }
    // These have a phase of their own behind `else`, and miss it or the first one.
    for then in [&some, &behind] {
        let said = by_sides([&with, &other, then], 5);
        assert!(!said.starts_with("PROVED"), "{then}\n{said}");
    }
}

/// Another warp expects the bytes of the second copy, in a block that delivers nothing. So the copies of one condition are of two phases.
#[test]
fn bytes_that_another_warp_expects_without_a_copy() {
    let copies = |second: &str| {
        verdict(
            64,
            &format!(
                "setp.ne.u32 %p15, %r1, 0;\n@!%p15 mbarrier.init.shared.b64 [bar], 1;\n\
                 @!%p15 mbarrier.init.shared.b64 [bar+8], 1;\nmov.b32 %r3, 0;\nbar.sync 0;\nsetp.gt.u32 %p2, %r1, 31;\n@%p2 bra B;\n\
                 @%p15 bra OUT;\nsetp.ge.s32 %p1, %r2, 5;\n@%p1 bra ON;\n{}{COPY}ON:\n{}setp.ge.s32 %p1, %r2, 5;\n@%p1 bra OUT;\n\
                 {second}bra OUT;\nB:\nsetp.ne.u32 %p5, %r1, 32;\n@%p5 bra OUT;\nsetp.ge.s32 %p1, %r2, 5;\n@%p1 bra TELL;\n{}\
                 setp.ge.s32 %p1, %r2, 4;\n@%p1 bra TELL;\n{}TELL:\nmbarrier.arrive.shared.b64 _, [bar+8];\nOUT:",
                expect(64),
                wait("V", 8, 0),
                wait("W", 0, 0),
                expect(64),
            ),
        )
    };
    insta::assert_snapshot!(copies(COPY), @"UNKNOWN line 28: how many bytes this copy delivers is not known: it is not certain to which phase of its mbarrier it belongs");
}
