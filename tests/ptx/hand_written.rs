//! Hand-written PTX: the small cases with named barriers, and what a naive emulator gets wrong.

use crate::support::program::Folder;

/// An entry of this many threads with these parameters, shared variables and instructions.
fn entry(threads: u32, parameters: &str, shared: &str, code: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry kernel({parameters})\n\
         .reqntid {threads}, 1, 1\n{{\n.reg .pred %p<16>;\n.reg .b32 %r<64>;\n\
         .reg .b64 %rd<16>;\n{shared}\n{code}\nret;\n}}\n"
    )
}

fn check(threads: u32, parameters: &str, code: &str) -> String {
    check_shared(threads, parameters, "", code)
}

fn check_shared(threads: u32, parameters: &str, shared: &str, code: &str) -> String {
    let folder = Folder::new();
    folder.file("kernel.ptx", entry(threads, parameters, shared, code));
    folder.run(&["check", "-q", "kernel.ptx"])
}

/// One program per warp: `s0` synchronizes and `a0` arrives at barrier 0, with 64 threads each.
fn warps(programs: &[&str]) -> String {
    let mut code = String::from("mov.u32 %r1, %tid.x;\nshr.u32 %r2, %r1, 5;\n");
    for number in 0..programs.len() {
        code += &format!("setp.eq.u32 %p1, %r2, {number};\n@%p1 bra W{number};\n");
    }
    for (number, program) in programs.iter().enumerate() {
        code += &format!("W{number}:\n");
        for operation in program.split(' ') {
            let (kind, barrier) = operation.split_at(1);
            let kind = if kind == "s" { "sync" } else { "arrive" };
            code += &format!("bar.{kind} {barrier}, 64;\n");
        }
        code += "bra END;\n";
    }
    code + "END:\n"
}

#[test]
fn two_warps_that_cross() {
    insta::assert_snapshot!(check(64, "", &warps(&["s0 a1", "s1 a0"])), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED warp0 and warp1 wait for each other: warp0 (line 18) for warp1 to come to cta_bar[0], warp1 (line 22) for warp0 to come to cta_bar[1]
    --- stderr
    ");
}

#[test]
fn an_arrival_joins_another_generation() {
    insta::assert_snapshot!(check(128, "", &warps(&["a0", "s0 s0", "s1 a0", "s1"])), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED cta_bar[0] takes 64 threads, 32 came (warp1), and nobody else comes (line 25): warp0 comes once and has ended; warp2 comes once and has ended; warp3 never comes, only at cta_bar[1]
    --- stderr
    ");
}

#[test]
fn a_barrier_used_twice() {
    insta::assert_snapshot!(check(128, "", &warps(&["a2 a0", "s0 s3 s2", "s1 a3 a2", "s2 a1"])), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
}

#[test]
fn a_barrier_used_twice_unordered() {
    insta::assert_snapshot!(check(128, "", &warps(&["a2 a0", "s0 s3 s2", "a3 s1 a2", "s2 a1"])), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED warp2 and warp3 wait for each other: warp2 (line 32) for warp3 to come to cta_bar[1], warp3 (line 36) for warp2 to come to cta_bar[2]
    --- stderr
    ");
}

/// Only the second warp: the first one's difference wraps around to a large number.
#[test]
fn an_unsigned_comparison_excludes_what_wraps() {
    let code = "
        mov.u32 %r1, %tid.x;
        add.s32 %r2, %r1, -32;
        setp.ge.u32 %p1, %r2, 32;
        @%p1 bra END;
        bar.sync 1, 32;
        END:";
    let folder = Folder::new();
    folder.file("kernel.ptx", entry(96, "", "", code));
    insta::assert_snapshot!(folder.run(&["lift", "kernel.ptx"]), @"
    exit 0
    --- stdout
    //! Recovered from the kernel `kernel`.
    //! 96 x 1 x 1 threads per CTA.
    //! Checked against the kernel at 5 launches, 5 events.
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    protocol kernel

    named cta_bar[16]

    role warps0_2[w in 0..2] warp {}

    role warp1 warp {
        sync cta_bar[1] 32  // line 16
    }
    --- stderr
    ");
}

/// The lanes that do not wait arrive again in the next round, however long the first one waits.
#[test]
fn lanes_that_are_ahead_in_the_next_round() {
    let code = "
        ld.param.u32 %r2, [rounds];
        mov.u32 %r1, %tid.x;
        mov.u32 %r9, b;
        mov.u32 %r3, 0;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra ROUND;
        mbarrier.init.shared.b64 [%r9], 32;
        ROUND:
        mbarrier.arrive.shared.b64 %rd1, [%r9];
        @%p1 bra NEXT;
        WAIT:
        mbarrier.try_wait.parity.shared.b64 %p2, [%r9], 0;
        @!%p2 bra WAIT;
        NEXT:
        add.s32 %r3, %r3, 1;
        setp.lt.s32 %p3, %r3, %r2;
        @%p3 bra ROUND;";
    insta::assert_snapshot!(
        check_shared(32, ".param .u32 rounds", ".shared .align 8 .b64 b;", code), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 20, `mbarrier.arrive.shared.b64 %rd1, [%r9]`: `mbarrier.arrive.shared.b64`: some lanes of the warp waited before, and the others may come here ahead of them: a `bar.warp.sync` is missing
    --- stderr
    ");
}

#[test]
fn a_barrier_id_from_exclusive_or() {
    let code = "
        mov.u32 %r1, %tid.x;
        shr.u32 %r2, %r1, 5;
        xor.b32 %r3, %r2, 1;
        add.s32 %r4, %r2, 1;
        add.s32 %r5, %r3, 1;
        bar.arrive %r4, 64;
        bar.sync %r5, 64;";
    insta::assert_snapshot!(check(64, "", code), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
}

#[test]
fn predicated_barriers() {
    let code = "
        mov.u32 %r1, %tid.x;
        setp.lt.u32 %p1, %r1, 32;
        @%p1 bar.sync 1, 64;
        @!%p1 bar.arrive 1, 64;";
    insta::assert_snapshot!(check(64, "", code), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
}

#[test]
fn half_a_warp() {
    let code = "
        mov.u32 %r1, %tid.x;
        setp.lt.u32 %p1, %r1, 16;
        @%p1 bra A;
        bra B;
        A: bar.sync 1, 64;
        B:";
    insta::assert_snapshot!(check(64, "", code), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED cta_bar[1] takes 64 threads, 32 came (warp0), and nobody else comes (line 16): warp1 has no statement for this barrier
    --- stderr
    ");
}

#[test]
fn a_step_of_four() {
    let code = "
        ld.param.u32 %r1, [n];
        mov.u32 %r3, 0;
        L:
        bar.sync 0;
        add.u32 %r3, %r3, 4;
        setp.lt.u32 %p1, %r3, %r1;
        @%p1 bra L;";
    insta::assert_snapshot!(check(64, ".param .u32 n", code), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n_over_4_up in 0..=268435456 and schedule: all obligations of [rule] hold
    --- stderr
    ");
}

#[test]
fn a_branch_on_data() {
    let code = "
        ld.param.u64 %rd1, [p];
        ld.global.u32 %r1, [%rd1];
        setp.eq.u32 %p1, %r1, 0;
        @%p1 bra E;
        bar.sync 0;
        E:";
    insta::assert_snapshot!(check(64, ".param .u64 p", code), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every at_p in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
}

#[test]
fn a_spin_lock() {
    let code = "
        ld.param.u64 %rd1, [p];
        L:
        atom.global.cas.b32 %r1, [%rd1], 0, 1;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra L;
        bar.sync 0;";
    insta::assert_snapshot!(check(64, ".param .u64 p", code), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 16, `@%p1 bra L`: how often this loop runs is not known: what an atomic operation found is not followed (line 14, `atom.global.cas.b32 %r1, [%rd1], 0, 1`)
    --- stderr
    ");
}

#[test]
fn a_barrier_id_from_the_launch() {
    let code = "
        ld.param.u32 %r1, [n];
        bar.sync %r1, 64;";
    insta::assert_snapshot!(check(64, ".param .u32 n", code), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 13, `bar.sync %r1, 64`: `bar.sync`: the barrier may be other than 0 to 15
    --- stderr
    ");
}

#[test]
fn a_masked_barrier_id_from_the_launch() {
    let code = "
        ld.param.u32 %r1, [n];
        and.b32 %r1, %r1, 7;
        bar.sync %r1, 64;";
    insta::assert_snapshot!(check(64, ".param .u32 n", code), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
}

#[test]
fn a_barrier_id_from_negation() {
    let code = "
        mov.u32 %r1, %tid.x;
        shr.u32 %r2, %r1, 5;
        neg.s32 %r3, %r2;
        not.b32 %r4, %r3;
        add.s32 %r5, %r4, 3;
        bar.sync %r5, 32;";
    insta::assert_snapshot!(check(64, "", code), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
}

#[test]
fn a_warp_barrier_beside_a_cta_barrier() {
    let code = "
        mov.u32 %r1, %tid.x;
        and.b32 %r2, %r1, 31;
        setp.eq.u32 %p1, %r2, 0;
        bar.warp.sync -1;
        bar.sync 0;";
    insta::assert_snapshot!(check(64, "", code), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
}

/// Warps that have left do not count: the others pass.
#[test]
fn warps_that_leave_early() {
    let code = "
        mov.u32 %r1, %tid.x;
        setp.lt.u32 %p1, %r1, 32;
        @%p1 ret;
        bar.sync 0;";
    insta::assert_snapshot!(check(64, "", code), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
}

/// A barrier of all threads in a role, while the other warps do this.
fn barrier_in_a_role(others: &str) -> String {
    let code = format!(
        "mov.u32 %r1, %tid.x;
        ld.param.u32 %r9, [n];
        mov.u32 %r4, 0;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra I;
        mbarrier.init.shared.b64 [b], 32;
        I:
        bar.sync 0;
        setp.ge.u32 %p2, %r1, 32;
        @%p2 bra O;
        bar.sync 0;
        mbarrier.arrive.shared.b64 %rd1, [b];
        bra E;
        O:
        {others}
        E:"
    );
    check_shared(96, ".param .u32 n", ".shared .align 8 .b64 b;", &code)
}

/// It hangs exactly if the others wait for what comes behind the barrier.
#[test]
fn a_cta_barrier_in_a_role() {
    let wait = "W:\nmbarrier.try_wait.parity.shared.b64 %p3, [b], 0;\n@!%p3 bra W;\n";
    insta::assert_snapshot!(barrier_in_a_role(wait), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED warp0 and warps1_2[0] wait for each other: warp0 (line 21) for warps1_2[0] to come to cta_bar[0], warps1_2[0] (line 26) for warp0 to arrive at b_bar
    --- stderr
    ");
    insta::assert_snapshot!(barrier_in_a_role(""), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(barrier_in_a_role(&format!("bar.sync 0;\n{wait}")), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(barrier_in_a_role(&format!("{wait}bar.sync 0;\n")), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED warp0 and warps1_2[0] wait for each other: warp0 (line 21) for warps1_2[0] to come to cta_bar[0], warps1_2[0] (line 26) for warp0 to arrive at b_bar
    --- stderr
    ");
}

/// How often the others come to it is a parameter; who has left is not waited for.
#[test]
fn a_cta_barrier_in_a_loop_of_a_role() {
    let rounds = "setp.eq.u32 %p4, %r9, 0;\n@%p4 bra E;\nL:\nbar.sync 0;\n\
                  add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p5, %r4, %r9;\n@%p5 bra L;\n";
    insta::assert_snapshot!(barrier_in_a_role(rounds), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    // Two barriers of all threads, each in one role.
    insta::assert_snapshot!(barrier_in_a_role("bar.sync 1;\n"), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 18, `bar.sync 0`: not every warp comes to this barrier of all threads equally often (warps 1-2 otherwise than warp 0), and what those that have left mean for it is not followed
    --- stderr
    ");
}

#[test]
fn one_lane_waits_for_the_others() {
    let code = "
        mov.u32 %r1, %tid.x;
        mov.u32 %r9, b;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra I;
        mbarrier.init.shared.b64 [%r9], 31;
        I:
        bar.sync 0;
        @%p1 bra N;
        L:
        mbarrier.try_wait.parity.shared.b64 %p2, [%r9], 0;
        @!%p2 bra L;
        N:
        setp.eq.u32 %p3, %r1, 0;
        @%p3 bra X;
        mbarrier.arrive.shared.b64 %rd1, [%r9];
        X:";
    insta::assert_snapshot!(check_shared(32, "", ".shared .align 8 .b64 b;", code), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 26, `mbarrier.arrive.shared.b64 %rd1, [%r9]`: `mbarrier.arrive.shared.b64`: some lanes of the warp waited before, and the others may come here ahead of them: a `bar.warp.sync` is missing
    --- stderr
    ");
}

#[test]
fn one_lane_waits_then_all_arrive() {
    let code = "
        mov.u32 %r1, %tid.x;
        mov.u32 %r9, b;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra I;
        mbarrier.init.shared.b64 [%r9], 32;
        I:
        bar.sync 0;
        @%p1 bra N;
        L:
        mbarrier.try_wait.parity.shared.b64 %p2, [%r9], 0;
        @!%p2 bra L;
        N:
        mbarrier.arrive.shared.b64 %rd1, [%r9];";
    insta::assert_snapshot!(check_shared(32, "", ".shared .align 8 .b64 b;", code), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 24, `mbarrier.arrive.shared.b64 %rd1, [%r9]`: `mbarrier.arrive.shared.b64`: some lanes of the warp waited before, and the others may come here ahead of them: a `bar.warp.sync` is missing
    --- stderr
    ");
}

/// Addresses as the compiler computes them.
#[test]
fn an_address_by_or_and_shift() {
    let code = "
        mov.u32 %r1, %tid.x;
        shr.u32 %r2, %r1, 5;
        shl.b32 %r3, %r2, 3;
        mov.u32 %r4, bars;
        add.s32 %r5, %r4, %r3;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra READY;
        mbarrier.init.shared.b64 [%r4], 32;
        mbarrier.init.shared.b64 [%r4+8], 32;
        READY:
        bar.sync 0;
        mbarrier.arrive.shared.b64 %rd1, [%r5];
        xor.b32 %r6, %r3, 8;
        add.s32 %r7, %r4, %r6;
        WAIT:
        mbarrier.try_wait.parity.shared.b64 %p2, [%r7], 0;
        @!%p2 bra WAIT;";
    insta::assert_snapshot!(
        check_shared(64, "", ".shared .align 8 .b8 bars[16];", code), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
}

/// A wait for memory that nobody in the kernel writes is no deadlock of the kernel.
#[test]
fn a_flag_that_somebody_else_sets() {
    let code = "
        ld.param.u64 %rd1, [p];
        mov.u32 %r2, %nctaid.x;
        AGAIN:
        ld.acquire.gpu.global.u32 %r1, [%rd1];
        setp.lt.u32 %p1, %r1, %r2;
        @%p1 bra AGAIN;";
    insta::assert_snapshot!(check(32, ".param .u64 p", code), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 15, `ld.acquire.gpu.global.u32 %r1, [%rd1]`: the kernel waits for memory that it never writes itself
    --- stderr
    ");
}

/// The loop is no wait, but leaving it out would hide one.
#[test]
fn a_loop_that_polls_a_product() {
    let code = "
        ld.param.u64 %rd1, [p];
        AGAIN:
        ld.volatile.global.u32 %r1, [%rd1];
        mul.lo.s32 %r2, %r1, %r1;
        setp.ne.u32 %p1, %r2, 49;
        @%p1 bra AGAIN;";
    insta::assert_snapshot!(check(32, ".param .u64 p", code), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 17, `@%p1 bra AGAIN`: how often this loop runs depends on memory that is read
    --- stderr
    ");
}

/// Half of the threads of the last warp do not exist.
#[test]
fn a_last_warp_with_few_lanes() {
    let code = "
        mov.u32 %r1, %tid.x;
        mov.u32 %r4, b;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra READY;
        mbarrier.init.shared.b64 [%r4], 48;
        READY:
        bar.sync 0;
        mbarrier.arrive.shared.b64 %rd1, [%r4];
        WAIT:
        mbarrier.test_wait.parity.shared.b64 %p2, [%r4], 0;
        @!%p2 bra WAIT;";
    insta::assert_snapshot!(
        check_shared(48, "", ".shared .align 8 .b64 b;", code), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
}

/// A loop that goes on as long as a predicate is set by hand, as compilers write it.
#[test]
fn a_predicate_that_is_moved() {
    let code = "
        ld.param.u32 %r1, [n];
        mov.u32 %r3, 0;
        L:
        bar.sync 0;
        add.u32 %r3, %r3, 1;
        setp.ge.u32 %p1, %r3, %r1;
        mov.pred %p2, 0;
        @%p1 bra NEXT;
        bar.sync 0;
        mov.pred %p2, -1;
        NEXT:
        @%p2 bra L;";
    // Which rule comes first depends on how quick the machine is.
    let found = check(64, ".param .u32 n", code);
    let proved = "kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all ";
    assert!(found.contains(proved), "{found}");
}

/// The offset wraps around in 32 bits: the barrier is the first one.
#[test]
fn an_address_that_wraps_around() {
    let code = |offset: &str| {
        format!(
            "mov.u32 %r1, %tid.x;
            mov.u32 %r4, bars;
            setp.ne.u32 %p1, %r1, 0;
            @%p1 bra READY;
            mbarrier.init.shared.b64 [%r4], 32;
            mbarrier.init.shared.b64 [%r4+8], 32;
            READY:
            bar.sync 0;
            mov.u32 %r5, {offset};
            add.u32 %r6, %r5, 16;
            add.u32 %r7, %r4, %r6;
            mbarrier.arrive.shared.b64 %rd1, [%r7];
            WAIT:
            mbarrier.try_wait.parity.shared.b64 %p2, [%r4], 0;
            @!%p2 bra WAIT;"
        )
    };
    let shared = ".shared .align 8 .b8 bars[16];";
    insta::assert_snapshot!(check_shared(32, "", shared, &code("4294967280")), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(check_shared(32, "", shared, &code("4294967288")), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED nobody arrives at bars_0, for which warp0 waits (line 24): no statement arrives there
    --- stderr
    ");
}

/// A kernel beside functions that it calls.
fn with_functions(functions: &str, code: &str) -> String {
    let folder = Folder::new();
    let whole = entry(64, "", "", code);
    let (head, rest) = whole.split_once(".visible").unwrap();
    folder.file("kernel.ptx", format!("{head}{functions}\n.visible{rest}"));
    folder.run(&["check", "-q", "kernel.ptx"])
}

/// A function is written out where it is called; which barrier it is, is passed to it.
#[test]
fn calls() {
    let function = "
        .func (.param .b32 result) meet(.param .b32 which)
        {
        .reg .b32 %r<8>;
        .reg .pred %p<4>;
        ld.param.u32 %r1, [which];
        setp.eq.u32 %p1, %r1, 15;
        @%p1 ret;
        bar.sync %r1, 64;
        add.u32 %r2, %r1, 1;
        st.param.b32 [result+0], %r2;
        ret;
        }";
    let call = |argument: &str| {
        format!(
            "{{
            .param .b32 param0;
            st.param.b32 [param0+0], {argument};
            .param .b32 retval0;
            call.uni (retval0), meet, (param0);
            ld.param.b32 %r5, [retval0+0];
            }}"
        )
    };
    let other = "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 32;\n@%p1 bra A;\n";
    let both = |first: &str, second: &str| {
        let (first, second) = (call(first), call(second));
        format!("{other}{first}\nbra E;\nA:\n{second}\nE:\n{}", call("%r5"))
    };
    insta::assert_snapshot!(with_functions(function, &both("3", "3")), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(with_functions(function, &both("3", "4")), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED cta_bar[3] takes 64 threads, 32 came (warp1), and nobody else comes (line 12): warp0 never comes, only at others such as cta_bar[4]
    --- stderr
    ");
    // Leaving the function is not leaving the kernel.
    insta::assert_snapshot!(
        with_functions(function, &format!("{}\nbar.sync 0;", call("15"))), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
}

#[test]
fn calls_that_are_not_followed() {
    let round = "
        .func again()
        {
        bar.sync 0;
        call.uni again;
        ret;
        }";
    insta::assert_snapshot!(with_functions(round, "call.uni again;"), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 18, `call.uni again`: `call.uni`: this instruction is not modelled
    --- stderr
    ");
    let code = "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 32;\n@%p1 call.uni meet;";
    let once = ".func meet()\n{\nbar.sync 0;\nret;\n}";
    // The warp that does not call has ended, so nobody waits for it.
    insta::assert_snapshot!(with_functions(once, code), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
}

/// The second predicate of a comparison is combined like the first, not its opposite.
#[test]
fn the_second_predicate_of_a_combined_comparison() {
    let code = |combined: &str| {
        format!(
            "mov.u32 %r1, %tid.x;\nld.param.u32 %r2, [n];\nsetp.eq.u32 %p3, %r2, 0;\n\
             setp.lt.{combined}.u32 %p1|%p2, %r1, 64, %p3;\n@!%p2 bra END;\n\
             setp.ge.u32 %p4, %r1, 32;\n@%p4 bra END;\nbar.sync 1, 64;\nEND:"
        )
    };
    insta::assert_snapshot!(check(64, ".param .u32 n", &code("and")), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(check(64, ".param .u32 n", &code("or")), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 0: cta_bar[1] takes 64 threads, 32 came (warp0), and nobody else comes (line 18): warp1 has no statement for this barrier
    --- stderr
    ");
}

/// Below no round at all, something else may be done than nothing.
#[test]
fn a_branch_before_a_loop_that_would_run_a_negative_number_of_times() {
    let code = "
        mov.u32 %r1, %tid.x;
        ld.param.u32 %r2, [n];
        mov.u32 %r5, 5;
        setp.ge.u32 %p1, %r1, 32;
        @%p1 bra ROUND;
        setp.ge.u32 %p2, %r2, 5;
        @%p2 bra ROUND;
        bar.sync 1, 64;
        bra END;
        ROUND:
        setp.ge.u32 %p3, %r5, %r2;
        @%p3 bra END;
        bar.sync 2, 64;
        add.u32 %r5, %r5, 1;
        bra ROUND;
        END:";
    insta::assert_snapshot!(check(64, ".param .u32 n", code), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 0: cta_bar[1] takes 64 threads, 32 came (warp0), and nobody else comes (line 19): warp1 never comes, because `for i in 0..max(n - 5, 0)` (line 23) makes no trip
    --- stderr
    ");
}

/// What saturates, or is cut to 8 bits, is another number.
#[test]
fn numbers_that_do_not_fit() {
    let code = |operation: &str| {
        format!(
            "mov.u32 %r3, -5;\n{operation};\nsetp.ne.u32 %p1, %r4, 0;\n@%p1 bra END;\nbar.sync 1, 96;\nEND:"
        )
    };
    insta::assert_snapshot!(check(64, "", &code("cvt.sat.u32.s32 %r4, %r3")), @r"
        exit 4
        --- stdout
        kernel.ptx: deadlock: UNKNOWN line 14, `@%p1 bra END`: a branch decides about synchronization, but %p1 is not known here: `cvt.sat.u32.s32` is not followed (line 12, `cvt.sat.u32.s32 %r4, %r3`)
        --- stderr
        ");
    insta::assert_snapshot!(check(64, "", &code("cvt.u8.u32 %r4, 256")), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED cta_bar[1] takes 96 threads, 64 came (warps0_1[0] and warps0_1[1]), and nobody else comes (line 15)
    --- stderr
    ");
}

/// A lane that waited is ahead of the others unless all of them meet for certain.
#[test]
fn a_predicated_barrier_of_a_warp() {
    let code = "
        mov.u32 %r1, %tid.x;
        shr.u32 %r2, %r1, 5;
        ld.param.u32 %r10, [n];
        setp.ne.u32 %p1, %r10, 0;
        setp.ne.u32 %p2, %r1, 0;
        @%p2 bra READY;
        mbarrier.init.shared.b64 [mb], 1;
        mbarrier.init.shared.b64 [mb+8], 1;
        READY:
        bar.sync 0;
        setp.ne.u32 %p3, %r2, 0;
        @%p3 bra OTHER;
        setp.ne.u32 %p3, %r1, 0;
        @%p3 bra MEET;
        mbarrier.arrive.shared.b64 _, [mb];
        WAIT:
        mbarrier.try_wait.parity.shared.b64 %p4, [mb+8], 0;
        @!%p4 bra WAIT;
        MEET:
        @%p1 bar.warp.sync 0xffffffff;
        setp.ne.u32 %p5, %r1, 1;
        @%p5 bra END;
        mbarrier.arrive.shared.b64 _, [mb];
        bra END;
        OTHER:
        mbarrier.try_wait.parity.shared.b64 %p6, [mb], 0;
        @!%p6 bra OTHER;
        setp.ne.u32 %p7, %r1, 32;
        @%p7 bra END;
        mbarrier.arrive.shared.b64 _, [mb+8];
        END:";
    let shared = ".shared .align 8 .b8 mb[16];";
    insta::assert_snapshot!(check_shared(64, ".param .u32 n", shared, code), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 34, `mbarrier.arrive.shared.b64 _, [mb]`: `mbarrier.arrive.shared.b64`: some lanes of the warp waited before, and the others may come here ahead of them: a `bar.warp.sync` is missing
    --- stderr
    ");
}

/// CTAs along an axis that only data depends on would use the same counter.
#[test]
fn an_axis_that_the_counters_do_not_know() {
    let code = "
        ld.param.u64 %rd1, [c];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, %ctaid.x;
        mov.u32 %r3, %ctaid.y;
        mul.wide.u32 %rd2, %r3, 4;
        ld.param.u64 %rd3, [d];
        add.s64 %rd4, %rd3, %rd2;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra END;
        SPIN:
        ld.acquire.gpu.global.u32 %r4, [%rd1];
        setp.ne.u32 %p2, %r4, %r2;
        @%p2 bra SPIN;
        st.global.u32 [%rd4], %r4;
        red.release.gpu.global.add.u32 [%rd1], 1;
        END:";
    let folder = Folder::new();
    let parameters = ".param .u64 c, .param .u64 d";
    folder.file("kernel.ptx", entry(32, parameters, "", code));
    let check = ["check", "-q", "kernel.ptx", "--launch", "ascending"];
    insta::assert_snapshot!(folder.run(&check), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every nctaid_x in 1..=1073741823, nctaid_y >= 1, R >= 1 and schedule, assuming nctaid_y == 1: all obligations of [rule] hold
    --- stderr
    ");
}

/// The first `n + 1` of two warps meet at a barrier that counts so many threads.
#[test]
fn a_thread_count_that_the_launch_says() {
    let counted = |count: &str, more: &[&str]| {
        let code = format!(
            "ld.param.u32 %r1, [n];
            mov.u32 %r2, %tid.x;
            add.u32 %r3, %r1, 1;
            shl.b32 %r4, %r3, 5;
            setp.ge.u32 %p1, %r2, %r4;
            @%p1 bra DONE;
            {count}
            bar.sync 1, %r5;
            DONE:"
        );
        let folder = Folder::new();
        folder.file("kernel.ptx", entry(64, ".param .u32 n", "", &code));
        folder.run(&[&["check", "-q"], more, &["kernel.ptx"]].concat())
    };
    // More warps than there are would have to come.
    insta::assert_snapshot!(counted("mov.u32 %r5, %r4;", &[]), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 2: cta_bar[1] takes 96 threads, 64 came (warp0 and warp1), and nobody else comes (line 18)
    --- stderr
    ");
    insta::assert_snapshot!(counted("mov.u32 %r5, %r4;", &["--assume", "n == 1"]), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=67108862 and schedule, assuming n == 1: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(counted("add.u32 %r5, %r4, 32;", &["--recovery", "path", "--assume", "p_n == 0"]), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at p_n = 0: cta_bar[1] takes 64 threads, 32 came (warp0), and nobody else comes (line 18): warp1 never comes, because `if 0 < 32 * p_n` (line 16) does not hold for it
    --- stderr
    ");
    insta::assert_snapshot!(counted("mov.u32 %r5, 64;", &["--assume", "n <= 1"]), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 0: cta_bar[1] takes 64 threads, 32 came (warp0), and nobody else comes (line 18): warp1 never comes, because `if n >= 1` (line 16) does not hold for it
    --- stderr
    ");
    // No whole warps, or none.
    insta::assert_snapshot!(counted("shr.u32 %r5, %r4, 1;", &[]), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 18, `bar.sync 1, %r5`: `bar.sync`: the thread count is no known multiple of 32
    --- stderr
    ");
    insta::assert_snapshot!(counted("sub.u32 %r5, %r4, 32;", &[]), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 18, `bar.sync 1, %r5`: `bar.sync`: the thread count is no known multiple of 32
    --- stderr
    ");
}
