//! `warplock lint`: each rule with a kernel that breaks it and one that does not.

use crate::support::program::Folder;
use crate::support::program::kernel;

/// An entry of 64 threads with these instructions; `%r1` is the thread, `%p1` holds in all but
/// thread 0, and `%p2` in the second warp.
fn entry(code: &str) -> String {
    format!(
        ".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry kernel(.param .u32 n)\n\
         .reqntid 64, 1, 1\n{{\n.reg .pred %p<16>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<16>;\n\
         .shared .align 8 .b64 b;\n.shared .align 4 .b32 t;\nld.param.u32 %r9, [n];\n\
         mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, 0;\nsetp.ge.u32 %p2, %r1, 32;\n\
         {code}\nret;\n}}\n"
    )
}

fn lint(code: &str) -> String {
    let folder = Folder::new();
    folder.file("kernel.ptx", entry(code));
    folder.run(&["lint", "kernel.ptx"])
}

/// The rules that a kernel breaks, in order of its lines.
fn rules(code: &str) -> Vec<String> {
    named(&lint(code))
}

fn named(found: &str) -> Vec<String> {
    let lines = found.lines().filter(|line| line.starts_with("kernel.ptx:"));
    let rule = |line: &str| line.split(": ").nth(1).unwrap_or_default().to_owned();
    lines.map(rule).collect()
}

const INIT: &str = "@%p1 bra I;\nmbarrier.init.shared.b64 [b], 64;\nI:\n";
const ARRIVE: &str = "mbarrier.arrive.shared.b64 _, [b];\n";
const WAIT: &str = "W:\nmbarrier.try_wait.parity.shared.b64 %p3, [b], 0;\n@!%p3 bra W;\n";

#[test]
fn nothing_to_say() {
    insta::assert_snapshot!(lint(&format!("{INIT}bar.sync 0;\n{ARRIVE}{WAIT}")), @"
    exit 0
    --- stdout
    kernel.ptx:kernel: nothing found
    --- stderr
    ");
}

#[test]
fn initialised_in_a_role() {
    let code = "bar.sync 0;\n@!%p2 bra E;\nsetp.ne.u32 %p4, %r1, 32;\n@%p4 bra E;\n\
                mbarrier.init.shared.b64 [b], 64;\nE:\nbar.sync 0;\n";
    insta::assert_snapshot!(lint(&format!("{code}{ARRIVE}{WAIT}")), @r"
    exit 1
    --- stdout
    kernel.ptx:kernel: init-in-role: line 20: `b_bar` is initialised in a branch, or after the first barrier of all threads
      hint: initialise at top level in one thread, before a barrier of all threads
      PTX ISA: mbarrier.init (warplock explain init-in-role)
    --- stderr
    ");
}

#[test]
fn used_before_the_barrier() {
    assert_eq!(
        rules(&format!("{INIT}{ARRIVE}bar.sync 0;\n{WAIT}")),
        ["use-before-barrier"]
    );
}

#[test]
fn never_initialised() {
    assert_eq!(
        rules(&format!("bar.sync 0;\n{ARRIVE}{WAIT}")),
        ["never-initialised", "arrival-count"]
    );
}

#[test]
fn a_cta_barrier_in_a_role() {
    insta::assert_snapshot!(lint("@%p2 bra E;\nbar.sync 0;\nE:\n"), @r"
    exit 1
    --- stdout
    kernel.ptx:kernel: cta-barrier-in-role: line 17: not every warp comes to this barrier of all threads equally often: warp 1 otherwise than warp 0
      hint: inside a role, use a named barrier with the role's thread count
      PTX ISA: bar, barrier (warplock explain cta-barrier-in-role)
    --- stderr
    ");
    assert_eq!(
        rules("@%p2 bra E;\nbar.sync 1, 32;\nE:\n"),
        ["nothing found"]
    );
}

#[test]
fn more_arrivals_expected_than_threads() {
    let few = INIT.replace("64;", "128;");
    insta::assert_snapshot!(lint(&format!("{few}bar.sync 0;\n{ARRIVE}{WAIT}")), @r"
    exit 1
    --- stdout
    kernel.ptx:kernel: arrival-count: line 20: `b_bar` expects 128 arrivals, but 64 threads arrive
      hint: initialise it with the number of threads that arrive in each phase
      PTX ISA: mbarrier.init; for named barriers: bar, barrier (warplock explain arrival-count)
    --- stderr
    ");
    assert_eq!(
        rules("@%p2 bra E;\nbar.sync 1, 64;\nE:\n"),
        ["arrival-count"]
    );
    assert_eq!(
        rules("@%p2 bra E;\nbar.sync 1, 64;\nbra X;\nE:\nbar.arrive 1, 64;\nX:\n"),
        ["nothing found"]
    );
}

#[test]
fn a_commit_outside_an_elected_lane() {
    let commit = |count: u32, before: &str| {
        let init = INIT.replace("64;", &format!("{count};"));
        format!(
            "{init}bar.sync 0;\n@%p2 bra R;\n{before}\
             tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [b];\n\
             bra X;\nR:\n{WAIT}X:\n"
        )
    };
    insta::assert_snapshot!(lint(&commit(32, "")), @r"
    exit 1
    --- stdout
    kernel.ptx:kernel: commit-by-warp: line 21: 32 lanes commit, and each arrives once for it
      hint: commit in the one thread that has issued the multiplications: `elect.sync`
      PTX ISA: tcgen05.commit (warplock explain commit-by-warp)
    --- stderr
    ");
    assert_eq!(
        rules(&commit(1, "elect.sync _|%p5, -1;\n@!%p5 bra X;\n")),
        ["nothing found"]
    );
}

#[test]
fn freed_without_a_barrier() {
    let kernel = |barrier: &str| {
        format!(
            "@%p2 bra A;\ntcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [t], 64;\nA:\n\
             bar.sync 0;\nld.shared.b32 %r2, [t];\n{barrier}@%p2 bra D;\n\
             tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 64;\nD:\n"
        )
    };
    insta::assert_snapshot!(lint(&kernel("")), @r"
    exit 1
    --- stdout
    kernel.ptx:kernel: dealloc-without-barrier: line 22: tensor memory is freed with no barrier between it and those who read it
      hint: put a barrier of everybody who uses it before the deallocation
      PTX ISA: tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit (warplock explain dealloc-without-barrier)
    --- stderr
    ");
    assert_eq!(rules(&kernel("bar.sync 0;\n")), ["nothing found"]);
}

#[test]
fn barriers_that_the_hardware_does_not_have() {
    insta::assert_snapshot!(lint("bar.sync 16, 64;\n"), @r"
    exit 1
    --- stdout
    kernel.ptx:kernel: barrier-id: line 16: `bar.sync`: the barrier may be other than 0 to 15
      hint: a CTA has 16 named barriers
      PTX ISA: bar, barrier (warplock explain barrier-id)
    --- stderr
    ");
    assert_eq!(rules("bar.sync 1, 48;\n"), ["barrier-count"]);
    assert_eq!(rules("bar.sync 15, 64;\n"), ["nothing found"]);
}

#[test]
fn roles_with_different_trip_counts() {
    let folder = Folder::new();
    folder.file("kernel.ptx", kernel("hopper_gemm.ptx"));
    let lint = |entry: &str| folder.run(&["lint", "kernel.ptx", "--entry", entry]);
    insta::assert_snapshot!(lint("hopper_gemm_multiplies_half_the_steps"), @r"
    exit 1
    --- stdout
    kernel.ptx:hopper_gemm_multiplies_half_the_steps: trip-counts: hopper_gemm.cu:74 (line 1080): the loops around this wait for `full_bar` do not run as often as those around the arrivals at hopper_gemm.cu:56
      hint: let both roles compute their trip counts from the same bounds
      PTX ISA: Phase of the mbarrier object (warplock explain trip-counts)
    kernel.ptx:hopper_gemm_multiplies_half_the_steps: trip-counts: hopper_gemm.cu:55 (line 1298): the loops around this wait for `empty_bar` do not run as often as those around the arrivals at hopper_gemm.cu:80
      hint: let both roles compute their trip counts from the same bounds
      PTX ISA: Phase of the mbarrier object (warplock explain trip-counts)
    --- stderr
    ");
    assert_eq!(named(&lint("hopper_gemm")), ["nothing found"]);
}

/// What is not recovered is said, and is no finding.
#[test]
fn a_kernel_that_is_not_recovered() {
    insta::assert_snapshot!(lint("ld.param.u64 %rd1, [n];\nld.global.u32 %r2, [%rd1];\nbar.sync %r2, 64;\n"), @"
    exit 4
    --- stdout
    --- stderr
    kernel.ptx:kernel: UNKNOWN line 18, `bar.sync %r2, 64`: `bar.sync`: %r2 is not known here: it is read from memory (line 17, `ld.global.u32 %r2, [%rd1]`)
    ");
}

/// As in `if (i >= stages) wait(empty)`: what is free at the beginning need not be waited for.
#[test]
fn waits_that_begin_later_by_as_much_as_is_free() {
    let rounds = |arrivals: &str| {
        rules(&format!(
            "@%p1 bra I;\nmbarrier.init.shared.b64 [b], 1;\nI:\nbar.sync 0;\nmov.u32 %r2, 0;\n\
             add.u32 %r3, %r9, 1;\nadd.u32 %r4, %r9, 2;\n@%p2 bra OTHER;\n\
             L:\nsetp.ge.u32 %p4, %r2, %r9;\n@%p4 bra END;\nand.b32 %r5, %r2, 1;\n\
             W:\nmbarrier.try_wait.parity.shared.b64 %p3, [b], %r5;\n@!%p3 bra W;\nadd.u32 %r2, %r2, 1;\n\
             bra L;\nOTHER:\nM:\nsetp.ge.u32 %p5, %r2, {arrivals};\n@%p5 bra END;\n\
             elect.sync _|%p6, -1;\n@%p6 mbarrier.arrive.shared.b64 _, [b];\nadd.u32 %r2, %r2, 1;\n\
             bra M;\nEND:\n"
        ))
    };
    assert_eq!(rounds("%r9"), ["nothing found"]);
    assert_eq!(rounds("%r3"), ["nothing found"]);
    assert_eq!(rounds("%r4"), ["trip-counts"]);
}

#[test]
fn barriers_to_which_roles_come_unequally_often() {
    let rounds = |last: &str| {
        rules(&format!(
            "mov.u32 %r2, 0;\nadd.u32 %r3, %r9, 1;\n@%p2 bra OTHER;\nL:\nsetp.ge.u32 %p4, %r2, %r9;\n@%p4 bra END;\n\
             bar.sync 1, 64;\nadd.u32 %r2, %r2, 1;\nbra L;\nOTHER:\nM:\nsetp.ge.u32 %p5, %r2, {last};\n\
             @%p5 bra END;\nbar.arrive 1, 64;\nadd.u32 %r2, %r2, 1;\nbra M;\nEND:\n"
        ))
    };
    assert_eq!(rounds("%r9"), ["nothing found"]);
    assert_eq!(rounds("%r3"), ["trip-counts"]);
}

#[test]
fn barriers_to_which_too_many_come() {
    assert_eq!(rules("bar.sync 1, 64;\n"), ["nothing found"]);
    assert_eq!(rules("bar.sync 1, 32;\n"), ["arrival-count"]);
    assert_eq!(
        rules("@%p2 bra E;\nbar.sync 1, 32;\nE:\n"),
        ["nothing found"]
    );
}

#[test]
fn a_barrier_that_part_of_a_warp_skips() {
    insta::assert_snapshot!(lint("@%p1 bra E;\nbar.sync 0;\nE:\nst.shared.u32 [t], %r1;\n"), @r"
    exit 1
    --- stdout
    kernel.ptx:kernel: not-together: line 17: `bar.sync`: only some lanes of the warp come to this barrier, which is `.aligned`: that is undefined
      hint: where lanes or warps are missing that have to carry an instruction out with the others, what happens is undefined
      PTX ISA: the `.aligned` forms: wgmma, setmaxnreg, tcgen05, barrier (warplock explain not-together)
    --- stderr
    ");
}

/// What a preceding grid writes is there behind the wait for it, for who waits and who meets them afterwards.
#[test]
fn read_before_the_preceding_grid_has_ended() {
    let read = "ld.param.u64 %rd1, [n];\nld.global.u32 %r2, [%rd1];\n";
    let wait = "griddepcontrol.wait;\n";
    insta::assert_snapshot!(lint(&format!("{read}{wait}")), @r"
    exit 1
    --- stdout
    kernel.ptx:kernel: early-read: line 17: global memory may be read here before `griddepcontrol.wait`: what the preceding grid writes there may not have been written yet
      hint: move the read after `griddepcontrol.wait`, unless no preceding grid writes this memory
      PTX ISA: griddepcontrol (warplock explain early-read)
    --- stderr
    ");
    // Some read, others wait.
    assert_eq!(
        rules(&format!("@%p2 bra B;\n{wait}B:\n{read}")),
        ["early-read"]
    );
    // So does a copy.
    assert_eq!(
        rules(&format!(
            "cp.async.ca.shared.global [t], [%rd1], 4;\n{wait}"
        )),
        ["early-read"]
    );
    for right in [
        format!("{wait}{read}"),
        format!("@%p2 bra B;\n{wait}B:\nbar.sync 0;\n{read}"),
        format!("@!%p2 griddepcontrol.wait;\nbar.sync 0;\n{read}"),
        // Nobody waits: the launch is not said to be a dependent one.
        read.to_owned(),
        format!("{read}griddepcontrol.launch_dependents;\n"),
    ] {
        assert_eq!(rules(&right), ["nothing found"]);
    }
}
