//! Tests of numbers that a kernel computes from the words of its launch.

use super::tests::entry;

/// The trip count that is recovered for a loop up to a computed number, with a barrier in each iteration.
fn rounds(computed: &str) -> String {
    let code = format!(
        "{computed}\nmov.u32 %r5, 0;\nround:\nsetp.ge.s32 %p2, %r5, %r4;\n@%p2 bra out;\nbar.sync 0;\n\
         add.s32 %r5, %r5, 1;\nbra round;\nout:"
    );
    let text = entry(1, &code).map_or_else(|reason| reason, |lift| lift.text);
    let line = text.lines().find(|line| line.contains("for i in"));
    line.unwrap_or(&text).trim().to_owned()
}

#[test]
fn signed_divisors_have_their_sign() {
    for (computed, expected) in [
        ("div.s32 %r4, %r3, 100;", "0..n_over_100"),
        (
            "div.s32 %r4, %r3, -100;\nadd.s32 %r4, %r4, 3;",
            "0..max(0, 0 - n_over_100 + 3)",
        ),
        (
            "div.s32 %r4, %r3, -1;\nadd.s32 %r4, %r4, 3;",
            "0..max(0, 0 - n + 3)",
        ),
        ("rem.s32 %r4, %r3, -100;", "0..(n % 100)"),
        ("rem.u32 %r4, %r3, 100;", "0..(n % 100)"),
        ("rem.s32 %r4, %r3, 100;", "0..(n % 100)"),
    ] {
        let found = rounds(computed);
        assert!(found.contains(expected), "{computed}: {found}");
    }
    // The same with 64 bits.
    let wide = "cvt.u64.u32 %rd2, %r3;\ndiv.s64 %rd3, %rd2, -100;\ncvt.u32.u64 %r4, %rd3;\nadd.s32 %r4, %r4, 3;";
    let found = rounds(wide);
    assert!(found.contains("0 - n_over_100 + 3"), "{found}");
}

/// As an unsigned number, a number below 0 is large.
#[test]
fn negative_quotients_are_no_unsigned_bounds() {
    let code = "div.s32 %r4, %r3, -5;\nmov.u32 %r5, 0;\nround:\nsetp.ge.u32 %p2, %r5, %r4;\n@%p2 bra out;\nbar.sync 0;\n\
                add.s32 %r5, %r5, 1;\nbra round;\nout:";
    assert!(entry(1, code).is_err());
}

/// Both sides of a branch do the same. If the lift took different sides for equal ones, only a run of the rare side
/// would show the mistake.
#[test]
fn a_side_that_does_what_the_other_does_is_run() {
    for (compare, value, rare) in [("eq", 1_234_567, 1_234_567), ("gt", 70_001, 70_002)] {
        let code = format!(
            "setp.{compare}.u32 %p2, %r3, {value};\n@%p2 bra a;\nbar.sync 0;\nbra b;\na:\nbar.sync 0;\nb:"
        );
        let recovered = super::tests::lifted(&super::tests::source(&code)).unwrap();
        let rare = format!("n = {rare}");
        let mut launches = recovered.validation.compared.iter();
        assert!(
            launches.any(|each| each.launch.ends_with(&rare)),
            "{:?}",
            recovered.validation.compared
        );
    }
}
