//! Tests of assumptions about loops that do not synchronize, and about stores near mbarriers.

use super::tests::entry;

const MEETING: &str = "bar.sync 0;";

/// The assumptions about a kernel that executes this code and then comes to a barrier.
fn premises(code: &str) -> Vec<String> {
    let lift = entry(1, &format!("{code}\n{MEETING}")).unwrap();
    let premises = lift
        .text
        .lines()
        .filter_map(|line| line.strip_prefix("//! Assumed: "));
    let premises = premises.filter(|premise| !premise.starts_with("lanes of a warp"));
    premises.map(str::to_owned).collect()
}

#[test]
fn loops_that_count_to_a_bound_end() {
    for code in [
        // for (i = 0; i < n; i++)
        "mov.u32 %r4, 0;\nsetp.eq.u32 %p2, %r3, 0;\n@%p2 bra out;\nh:\nadd.u32 %r4, %r4, 1;\nsetp.lt.s32 %p3, %r4, %r3;\n@%p3 bra h;\nout:",
        // for (i = n; i != 0; i--), through a copy
        "mov.u32 %r4, %r3;\nh:\nadd.s32 %r5, %r4, -1;\nsetp.ne.s32 %p3, %r5, 0;\nmov.u32 %r4, %r5;\n@%p3 bra h;",
        // by four, down from n - n % 4
        "and.b32 %r4, %r3, 3;\nsub.s32 %r5, %r3, %r4;\nh:\nadd.s32 %r5, %r5, -4;\nsetp.ne.s32 %p3, %r5, 0;\n@%p3 bra h;",
        // by four, up to n & -4
        "and.b32 %r4, %r3, -4;\nmov.u32 %r5, 0;\nh:\nadd.s32 %r5, %r5, 4;\nsetp.eq.s32 %p3, %r5, %r4;\n@!%p3 bra h;",
        // while (half > 0) half >>= 1, tested first
        "mov.u32 %r4, %r3;\nh:\nsetp.eq.u32 %p3, %r4, 0;\n@%p3 bra out;\nshr.u32 %r4, %r4, 1;\nbra h;\nout:",
        // while (half >= 1), while (half > 7)
        "mov.u32 %r4, %r3;\nh:\nshr.u32 %r4, %r4, 1;\nsetp.ge.u32 %p3, %r4, 1;\n@%p3 bra h;",
        "mov.u32 %r4, %r3;\nh:\nshr.u32 %r4, %r4, 1;\nsetp.gt.s32 %p3, %r4, 7;\n@%p3 bra h;",
        // Up to any number, by one.
        "ld.global.u32 %r5, [%rd1];\nmov.u32 %r4, 0;\nh:\nadd.u32 %r4, %r4, 1;\nsetp.lt.s32 %p3, %r4, %r5;\n@%p3 bra h;",
        // A number of 16 bits, compared as one of 32.
        "ld.global.u16 %r5, [%rd1];\nmov.u32 %r4, 0;\nh:\nadd.u32 %r4, %r4, 3;\nsetp.le.u32 %p3, %r4, %r5;\n@%p3 bra h;",
    ] {
        assert_eq!(premises(code), Vec::<String>::new(), "{code}");
    }
}

/// If the bound is near the end of its type, `i <= n` may hold for ever, and steps of four may jump over the bound.
#[test]
fn loops_that_count_to_a_size_end() {
    for code in [
        // for (i = 0; i <= n; i++), by four, and by four up to (n + 7) / 8 * 8
        "mov.u32 %r4, 0;\nh:\nadd.u32 %r4, %r4, 1;\nsetp.le.s32 %p3, %r4, %r3;\n@%p3 bra h;",
        "mov.u32 %r4, 0;\nh:\nadd.u32 %r4, %r4, 4;\nsetp.lt.u32 %p3, %r4, %r3;\n@%p3 bra h;",
        "add.s32 %r6, %r3, 7;\nshr.u32 %r7, %r6, 3;\nshl.b32 %r5, %r7, 3;\nmov.u32 %r4, 0;\nh:\nadd.u32 %r4, %r4, 4;\nsetp.lt.s32 %p3, %r4, %r5;\n@%p3 bra h;",
    ] {
        let sized = "launch parameters that bound loops without synchronization are at least 0 and below 2^30 (below 2^62 if they have 64 bits)";
        assert_eq!(premises(code), [sized], "{code}");
    }
}

#[test]
fn loops_that_may_go_on_for_ever_are_assumed_to_end() {
    for code in [
        // i += 2 until i == n: not for an odd n
        "mov.u32 %r4, 0;\nh:\nadd.u32 %r4, %r4, 2;\nsetp.ne.u32 %p3, %r4, %r3;\n@%p3 bra h;",
        // the wrong way round
        "mov.u32 %r4, 0;\nh:\nadd.u32 %r4, %r4, 1;\nsetp.gt.s32 %p3, %r4, %r3;\n@%p3 bra h;",
        // half >>= 1 while half >= n: not for n == 0
        "mov.u32 %r4, %r1;\nh:\nshr.u32 %r4, %r4, 1;\nsetp.ge.u32 %p3, %r4, %r3;\n@%p3 bra h;",
        // down by four from 2 * n - (n & 3), which need not be a multiple of four
        "mov.u32 %r6, %r3;\nand.b32 %r4, %r6, 3;\nadd.u32 %r6, %r6, %r3;\nsub.s32 %r5, %r6, %r4;\nh:\nadd.s32 %r5, %r5, -4;\nsetp.ne.s32 %p3, %r5, 0;\n@%p3 bra h;",
        // i <= h for a 16-bit h that may be 65535
        ".reg .b16 %h<4>;\ncvt.u16.u32 %h1, %r3;\nmov.u16 %h2, 0;\nh:\nadd.u16 %h2, %h2, 1;\nsetp.le.u16 %p3, %h2, %h1;\n@%p3 bra h;",
        // up to a word in memory, and up to a product, which may wrap around
        "ld.global.u32 %r5, [%rd1];\nmov.u32 %r4, 0;\nh:\nadd.u32 %r4, %r4, 1;\nsetp.le.s32 %p3, %r4, %r5;\n@%p3 bra h;",
        "mul.lo.u32 %r5, %r3, %r3;\nor.b32 %r5, %r5, 255;\nmov.u32 %r4, 0;\nh:\nadd.u32 %r4, %r4, 4;\nsetp.lt.u32 %p3, %r4, %r5;\n@%p3 bra h;",
        // up to a clock, which may be the largest number of its width
        "setp.ne.u32 %p2, %r3, 54321;\n@%p2 bra out;\nmov.u32 %r5, %clock;\nmov.u32 %r4, 0;\nh:\nadd.u32 %r4, %r4, 1;\nsetp.le.u32 %p3, %r4, %r5;\n@%p3 bra h;\nout:",
        // some iterations do not step
        "mov.u32 %r4, 0;\nh:\nsetp.eq.u32 %p4, %r4, %r3;\n@!%p4 add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p3, %r4, 9;\n@%p3 bra h;",
    ] {
        let found = premises(code);
        assert_eq!(found.len(), 1, "{code}\n{found:?}");
        assert!(
            found[0].ends_with("which does not synchronize, ends"),
            "{found:?}"
        );
    }
}

/// A loop that no launch ends cannot be compared with a run.
#[test]
fn loops_that_no_launch_ends_are_refused() {
    for code in [
        // the compared register is odd, and n & -2 is even: they are never equal
        "and.b32 %r6, %r3, -2;\nmov.u32 %r4, 0;\nh:\nadd.u32 %r5, %r4, 1;\nadd.u32 %r4, %r5, 1;\nsetp.ne.u32 %p3, %r5, %r6;\n@%p3 bra h;",
        // for (unsigned i = n; i >= 0; i--)
        "mov.u32 %r4, %r3;\nh:\nadd.u32 %r4, %r4, -1;\nsetp.ge.u32 %p3, %r4, 0;\n@%p3 bra h;",
        // half >>= 1 while half > -3, compared as signed numbers
        "mov.u32 %r4, %r3;\nh:\nshr.u32 %r4, %r4, 1;\nsetp.gt.s32 %p3, %r4, -3;\n@%p3 bra h;",
        // the bound moves as well
        "mov.u32 %r4, 0;\nmov.u32 %r5, 9;\nh:\nadd.u32 %r4, %r4, 1;\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p3, %r4, %r5;\n@%p3 bra h;",
    ] {
        let reason = entry(1, code).map(|lift| lift.text).unwrap_err();
        assert!(
            reason.contains("could not be compared with a run"),
            "{code}\n{reason}"
        );
    }
}

const INITIALISED: &str = ".shared .align 8 .b8 more[64];\n.shared .align 16 .b8 data[1024];\nmov.u32 %r7, more;\nmov.u32 %r8, data;\n\
     @%p1 mbarrier.init.shared.b64 [%r2], 1;\n@%p1 mbarrier.init.shared.b64 [%r7], 1;\nbar.sync 0;\n\
     @%p1 mbarrier.arrive.shared.b64 _, [%r2];\n@%p1 mbarrier.arrive.shared.b64 _, [%r7];";

#[test]
fn whatever_writes_over_an_mbarrier_is_refused() {
    for write in [
        "cp.async.cg.shared.global [%r7], [%rd1], 16;",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r7], [%rd1], 16, [%r2];",
        "mapa.shared::cluster.u32 %r9, %r7, 0;\nst.shared::cluster.u32 [%r9+4], 0;",
        "setp.eq.u32 %p3, %r3, 3;\nselp.b32 %r9, %r7, %r8, %p3;\nst.shared.u32 [%r9], 0;",
        "st.shared.v4.u32 [%r7], {%r3, %r3, %r3, %r3};",
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r7+4], {%r3};",
        "wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%r7], {%r3, %r3, %r3, %r3, %r3, %r3, %r3, %r3};",
        // Further rows of the matrix.
        "wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%r2+-16], {%r3, %r3, %r3, %r3, %r3, %r3, %r3, %r3};",
        "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r7], 0, 5;",
        "st.bulk.shared::cta [%r7], 64, 0;",
        "st.bulk.weak.shared::cta [%r7], %rd1, 0;",
        // `memory` is one mbarrier and nothing else.
        "and.b32 %r9, %r3, 7;\nadd.u32 %r10, %r9, %r2;\nst.shared.u8 [%r10], 0;",
    ] {
        let found = entry(1, &format!("{INITIALISED}\n{write}"));
        let reason = found.map(|lift| lift.text).unwrap_err();
        assert!(
            reason.contains("this writes data over an mbarrier"),
            "{write}\n{reason}"
        );
    }
}

#[test]
fn writes_to_computed_places_beside_an_mbarrier_are_an_assumption() {
    let elsewhere =
        vec!["stores and copies to computed places in shared memory do not reach an mbarrier"];
    for (write, expected) in [
        (
            "and.b32 %r9, %r3, 7;\nshl.b32 %r10, %r9, 3;\nadd.u32 %r11, %r10, %r7;\nst.shared.u32 [%r11], 0;",
            elsewhere.clone(),
        ),
        // Through a generic address of one variable or the other.
        (
            "cvta.shared.u32 %r9, %r7;\ncvta.shared.u32 %r10, %r8;\nadd.u32 %r11, %r3, %r1;\nsetp.gt.u32 %p4, %r11, 5;\n\
             selp.b32 %r9, %r9, %r10, %p4;\nshl.b32 %r11, %r1, 2;\nadd.u32 %r9, %r9, %r11;\nst.u32 [%r9], 0;",
            elsewhere.clone(),
        ),
        (
            "shl.b32 %r9, %r1, 2;\nadd.u32 %r10, %r9, %r8;\nst.shared.u32 [%r10], 0;",
            vec![],
        ),
        ("st.shared.u32 [%r7+8], 0;", vec![]),
        ("st.bulk.shared::cta [%r7+8], 56, 0;", vec![]),
        // Rows of a matrix lie one after the other at some distance.
        (
            "wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%r7+16], {%r3, %r3, %r3, %r3, %r3, %r3, %r3, %r3};",
            elsewhere.clone(),
        ),
        (
            "wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%r8], {%r3, %r3, %r3, %r3, %r3, %r3, %r3, %r3};",
            vec![],
        ),
    ] {
        assert_eq!(
            premises(&format!("{INITIALISED}\n{write}")),
            expected,
            "{write}"
        );
    }
}

const DISPATCH: &str =
    "ts: .branchtargets A, B;\nbrx.idx %r4, ts;\nA:\nFIRST\nbra E;\nB:\nE:\nbar.sync 0;";

/// Lifts a branch through a table of labels. Returns whether the protocol assumes that the index is in the table.
fn dispatched(index: &str, first: &str) -> Result<bool, String> {
    let code = format!("{index}\n{}", DISPATCH.replace("FIRST", first));
    let text = entry(1, &code)?.text;
    Ok(text.contains("Assumed: the index of `brx.idx` is one of its list"))
}

#[test]
fn an_index_behind_the_end_of_a_list_is_undefined() {
    let meets = "bar.sync 0;";
    assert_eq!(dispatched("mov.u32 %r4, 1;", meets), Ok(false));
    // An index that the launch decides is not followed, and an index past the end of the table has no target.
    for index in ["mov.u32 %r4, %r3;", "mov.u32 %r4, 2;"] {
        assert!(dispatched(index, meets).is_err(), "{index}");
    }
    // Code that only computes has no effect on other threads.
    let computes = "add.u32 %r5, %r5, 1;";
    for index in [
        "mov.u32 %r4, %r3;",
        "ld.global.u32 %r4, [%rd1];\nand.b32 %r4, %r4, 1;",
    ] {
        assert_eq!(dispatched(index, computes), Ok(true), "{index}");
    }
    assert!(dispatched("mov.u32 %r4, 2;", computes).is_err());
}

/// The effect of an unknown instruction is unknown, also if the protocol is recovered in another way.
#[test]
fn instructions_that_are_not_known_are_refused() {
    for unknown in [
        "foo.bar [%r2], %rd1, 0;",
        "fence.foo;",
        "griddepcontrol.foo;",
        "cp.async.foo [%r2], [%rd1], 16;",
    ] {
        let source = super::tests::source(&format!("{unknown}\n{MEETING}"));
        let module = crate::ptx::read(&source).unwrap();
        let refused = crate::recover::premises(&module.kernels[0], true, false);
        let reason = refused.unwrap_err().reason;
        let opcode = unknown.split([' ', ';']).next().unwrap();
        assert!(reason.contains(opcode), "{reason}");
    }
}
