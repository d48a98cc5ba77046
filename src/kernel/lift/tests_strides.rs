//! Tests of loops whose step depends on the launch.

use super::tests::entry;

const STEP: &str = "steps of loops that the launch gives are at least 1";

/// Lifts a loop up to `n` with a computed step. Returns whether the protocol assumes that the step is at least 1.
fn stepping(step: &str) -> Result<bool, String> {
    let code = format!(
        "{step}\nmov.u32 %r6, 0;\nhead:\nsetp.ge.s32 %p3, %r6, %r3;\n@%p3 bra out;\nbar.sync 1, 64;\n\
         add.s32 %r6, %r6, %r4;\nbra head;\nout:"
    );
    let lift = entry(1, &code)?;
    assert!(lift.text.contains("for i in 0..tiles {"), "{}", lift.text);
    Ok(lift.text.contains(STEP))
}

/// If some CTA of every launch has the step 0, no launch ends the loop.
#[test]
fn a_step_that_is_0_in_the_first_cta_is_not_followed() {
    for step in [
        "mov.u32 %r4, %ctaid.x;",
        "mov.u32 %r4, %ctaid.x;\nshr.u32 %r4, %r4, 1;",
        "mov.u32 %r4, %ctaid.x;\nld.param.u32 %r5, [p];\nmul.lo.s32 %r4, %r4, %r5;",
        "mov.u32 %r4, %nctaid.x;\nneg.s32 %r4, %r4;",
    ] {
        let refused = stepping(step).unwrap_err();
        assert!(
            refused.contains("how often a loop runs"),
            "{step}: {refused}"
        );
    }
}

#[test]
fn a_step_that_may_be_0_is_assumed_not_to_be() {
    for (step, assumed) in [
        ("mov.u32 %r4, %nctaid.x;", false),
        ("mov.u32 %r4, %ctaid.x;\nadd.s32 %r4, %r4, 1;", false),
        ("mov.u32 %r4, %nctaid.x;\nshr.u32 %r4, %r4, 1;", true),
        ("mov.u32 %r4, %nctaid.x;\nsub.s32 %r4, %r4, 1;", true),
        ("ld.param.u32 %r4, [p];", true),
    ] {
        assert_eq!(stepping(step), Ok(assumed), "{step}");
    }
}

/// Two warps go through the same numbers `i`. The first warp leaves its loop at `i >= n`, and comes to the barrier in
/// the rounds in which another relation of `i` does not hold. For the second warp, the two conditions are exchanged.
#[test]
fn a_relation_that_may_hold_again_says_nothing_of_other_loops() {
    let both = |relation: &str| {
        let code = format!(
            "ld.param.u32 %r4, [p];\nld.param.u32 %r5, [p+4];\nadd.s32 %r4, %r4, 1;\nmov.u32 %r6, 0;\nsetp.ge.u32 %p2, %r1, 32;\n@%p2 bra other;\n\
             one:\nsetp.ge.s32 %p3, %r6, %r3;\n@%p3 bra out;\n{relation} %p4, %r6, %r5;\n@%p4 bra behind;\nbar.sync 1, 64;\n\
             behind:\nadd.s32 %r6, %r6, %r4;\nbra one;\n\
             other:\n{relation} %p3, %r6, %r5;\n@%p3 bra out;\nsetp.ge.s32 %p4, %r6, %r3;\n@%p4 bra after;\nbar.sync 1, 64;\n\
             after:\nadd.s32 %r6, %r6, %r4;\nbra other;\nout:"
        );
        entry(1, &code).map(|lift| lift.text)
    };
    for relation in ["setp.eq.s32", "setp.ne.s32", "setp.le.s32", "setp.lt.s32"] {
        // What fails in some round and holds again is no end of the other loop.
        let found = both(relation);
        let says = found
            .as_ref()
            .is_ok_and(|text| text.contains("if tiles_2 > i"));
        assert!(!says, "{relation}: {found:?}");
    }
    let text = both("setp.ge.s32").unwrap();
    assert!(text.contains("if tiles_2 > i"), "{text}");
}

/// The loop itself ends in the first round in which `i != n` does not hold.
#[test]
fn a_loop_may_run_until_its_register_is_equal() {
    let code = "mov.u32 %r4, %nctaid.x;\nmov.u32 %r6, 0;\nhead:\nsetp.eq.s32 %p3, %r6, %r3;\n@%p3 bra out;\nbar.sync 1, 64;\n\
                add.s32 %r6, %r6, %r4;\nbra head;\nout:";
    let text = entry(1, code).unwrap().text;
    assert!(text.contains("for i in 0..tiles {"), "{text}");
}

/// If a loop begins at a number that depends on its bound, its trip count is not free.
#[test]
fn how_often_a_loop_runs_is_free_of_where_it_begins() {
    let exact = |first: &str| {
        let code = format!(
            "ld.param.u32 %r4, [p];\n{first}\nhead:\nsetp.ge.s32 %p3, %r6, %r3;\n@%p3 bra out;\nbar.sync 1, 64;\n\
             add.s32 %r6, %r6, %r4;\nbra head;\nout:"
        );
        entry(1, &code).unwrap().exact
    };
    for first in [
        "mov.u32 %r6, %r3;",
        "add.s32 %r6, %r3, -4;",
        "shr.u32 %r6, %r3, 1;",
    ] {
        assert!(!exact(first), "{first}");
    }
    for first in [
        "mov.u32 %r6, 0;",
        "mov.u32 %r6, %ctaid.x;",
        "ld.param.u32 %r6, [p+4];",
    ] {
        assert!(exact(first), "{first}");
    }
}
