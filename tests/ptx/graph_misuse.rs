//! Recovery from the control-flow graph: what is refused as undefined, and when it takes the place of the other one.

use crate::support::program::Folder;

/// What the graph says of a CTA of so many threads that does this.
pub(crate) fn verdict(threads: u32, code: &str) -> String {
    verdict_by("graph", threads, code)
}

/// What a recovery says of it.
pub(crate) fn verdict_by(recovery: &str, threads: u32, code: &str) -> String {
    let arguments = ["check", "-q", "kernel.ptx", "--recovery", recovery];
    let shown = run(threads, code, &arguments);
    let line = shown
        .lines()
        .find_map(|line| line.strip_prefix("kernel.ptx: deadlock: "));
    let said = line.unwrap_or(&shown);
    match said.find(": all ") {
        Some(at) if said.starts_with("PROVED") => said[..at].to_owned(),
        _ => said.to_owned(),
    }
}

/// The same with what is taken for granted.
pub(crate) fn shown(threads: u32, code: &str) -> String {
    run(
        threads,
        code,
        &["check", "kernel.ptx", "--recovery", "graph"],
    )
}

fn run(threads: u32, code: &str, arguments: &[&str]) -> String {
    let folder = Folder::new();
    folder.file("kernel.ptx", kernel(threads, code));
    folder.run(arguments)
}

fn kernel(threads: u32, code: &str) -> String {
    format!(
        ".version 8.6\n.target sm_100a\n.address_size 64\n\
         .visible .entry kernel(.param .u32 n, .param .u64 data)\n.reqntid {threads}, 1, 1\n{{\n\
         .reg .pred %p<16>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<16>;\n.reg .f32 %f<8>;\n\
         .shared .align 16 .b8 bar[64];\n.shared .align 16 .b8 room[64];\nmov.u32 %r1, %tid.x;\n\
         and.b32 %r31, %r1, 31;\nld.param.u32 %r2, [n];\nld.param.u64 %rd1, [data];\n{code}\nret;\n}}\n"
    )
}

/// Thread 0 initialises an mbarrier, arrives, and everybody waits.
fn ring() -> String {
    format!(
        "{}@!%p15 mbarrier.arrive.shared.b64 _, [bar];\n{}",
        begin(1),
        wait("W", 0, 0)
    )
}

fn begin(arrivals: u32) -> String {
    format!(
        "setp.ne.u32 %p15, %r1, 0;\n@!%p15 mbarrier.init.shared.b64 [bar], {arrivals};\n\
         @!%p15 mbarrier.init.shared.b64 [bar+8], 1;\nbar.sync 0;\n"
    )
}

fn wait(label: &str, offset: u32, parity: u32) -> String {
    format!(
        "{label}:\nmbarrier.try_wait.parity.shared.b64 %p9, [bar+{offset}], {parity};\n@!%p9 bra {label};\n"
    )
}

/// The lower half of each warp does this.
fn lower_half(what: &str) -> String {
    format!(
        "setp.lt.u32 %p1, %r31, 16;\n@!%p1 bra O;\n{what}\nO:\n{}",
        ring()
    )
}

/// Lanes that a mask names are somewhere else, or a lane is not in its own mask. The last four are right.
#[test]
fn lanes_that_are_missing() {
    let parts = [
        "shfl.sync.idx.b32 %r3, %r1, 0, 31, -1;",
        "vote.sync.any.pred %p3, %p1, -1;",
        "match.any.sync.b32 %r3, %r1, -1;",
        "redux.sync.add.s32 %r3, %r1, 0xff;",
        "elect.sync _|%p3, -1;",
        "bar.warp.sync -1;",
        "tcgen05.wait::ld.sync.aligned;",
    ];
    for part in parts {
        let said = verdict(32, &lower_half(part));
        assert!(said.starts_with("UNKNOWN line 19: a"), "{part} {said}");
        assert!(said.ends_with("this is undefined"), "{part} {said}");
    }
    let below = |condition: &str| {
        format!(
            "{condition}\n@%p1 bra O;\nshfl.sync.idx.b32 %r3, %r1, 0, 31, -1;\nO:\n{}",
            ring()
        )
    };
    let own = "mov.u32 %r5, %ctaid.x;\nmad.lo.s32 %r6, %r5, 32, %r1;\nsetp.ge.s32 %p1, %r6, %r2;";
    let differs = "UNKNOWN line 20: lanes take this branch differently, depending on the launch, and below it something is \
                   done by several lanes together, some of which may be missing: that is undefined";
    assert_eq!(verdict(32, &below(own)), differs);
    let right = [
        "shfl.sync.idx.b32 %r3, %r1, 0, 31, 0xffff;",
        "activemask.b32 %r7;\nshfl.sync.idx.b32 %r3, %r1, 0, 31, %r7;",
    ];
    for part in right {
        assert_eq!(
            verdict(32, &lower_half(part)),
            "PROVED for every schedule",
            "{part}"
        );
    }
    let alike = "setp.ge.s32 %p1, %r2, 7;";
    assert_eq!(verdict(32, &below(alike)), "PROVED for every schedule");
    // Nobody waits for lanes that have ended.
    let ended = format!("{own}\n@%p1 exit;\nshfl.sync.idx.b32 %r3, %r1, 0, 31, -1;");
    assert_eq!(verdict(32, &ended), "PROVED for every schedule");
}

/// Lanes that wait in a barrier before they end are waited for.
#[test]
fn lanes_that_wait_have_not_ended() {
    let code = "setp.ge.u32 %p1, %r1, 48;\n@!%p1 bra STAYS;\nshfl.sync.idx.b32 %r3, %r1, 0, 31, -1;\nexit;\nSTAYS:\nbar.sync 0;";
    insta::assert_snapshot!(
        verdict(64, code),
        @"UNKNOWN line 19: a lane is not in its own mask, or lanes of the mask are not here: this is undefined"
    );
}

/// All warps of the warpgroup, three of them, three of them without a wait, half of each, one a round less, and as the launch
/// says.
#[test]
fn warps_that_multiply_or_move_registers_alone() {
    let multiply = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, 1, 1, 1, 0, 0;\n";
    let end = "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
    let but = |who: &str, what: &str| format!("{who}\n@%p1 bra O;\n{what}O:\n{}", ring());
    let whole = format!("{multiply}{end}");
    assert_eq!(verdict(128, &whole), "PROVED for every schedule");
    let alone = "all four warps of a warpgroup have to multiply together, equally often, and it is not certain that they do: \
                 otherwise this is undefined";
    let three = "setp.ge.u32 %p1, %r1, 96;";
    let launch = "shr.u32 %r6, %r1, 5;\nsetp.ge.u32 %p1, %r6, %r2;";
    let less = format!(
        "setp.ge.u32 %p3, %r1, 96;\nselp.b32 %r3, 1, 0, %p3;\nAGAIN:\nsetp.ge.s32 %p2, %r3, %r2;\n@%p2 bra OUT;\n{whole}\
         add.s32 %r3, %r3, 1;\nbra AGAIN;\nOUT:\nbar.sync 0;"
    );
    let equally = less.replace("selp.b32 %r3, 1, 0, %p3;", "mov.u32 %r3, 0;");
    assert!(verdict(128, &equally).starts_with("PROVED"));
    for code in [
        but(three, &whole),
        but(three, multiply),
        but(launch, multiply),
        less,
    ] {
        let said = verdict(128, &code);
        assert!(
            said.starts_with("UNKNOWN line ") && said.ends_with(alone),
            "{said}"
        );
    }
    insta::assert_snapshot!(
        verdict(128, &but("setp.ge.u32 %p1, %r31, 16;", multiply)),
        @"UNKNOWN line 19: a part of a warp comes to what all its lanes do together, while other lanes go on: this is undefined"
    );
    let registers = but(three, "setmaxnreg.dec.sync.aligned.u32 24;\n");
    assert_eq!(verdict(128, &registers), "PROVED for every schedule");
    let taken = "`setmaxnreg` counts for each warp by itself";
    assert!(shown(128, &registers).contains(taken));
    let all = but(
        "setp.ge.u32 %p1, %r1, 128;",
        "setmaxnreg.dec.sync.aligned.u32 24;\n",
    );
    assert!(!shown(128, &all).contains(taken));
    // The same number, by another instruction.
    let dec = "setmaxnreg.dec.sync.aligned.u32 24;";
    let apart = format!(
        "{three}\n@%p1 bra O;\n{dec}\nbra P;\nO:\n{dec}\nP:\n{}",
        ring()
    );
    assert_eq!(verdict(128, &apart), "PROVED for every schedule");
    assert!(shown(128, &apart).contains(taken));
}

/// An mbarrier begins once, and ends behind a barrier of all threads that all its uses come before.
#[test]
fn lives_of_mbarriers() {
    let end = "@!%p15 mbarrier.inval.shared.b64 [bar];\n";
    let ended = |what: &str| format!("{}{what}", ring());
    assert_eq!(
        verdict(64, &ended(&format!("bar.sync 0;\n{end}"))),
        "PROVED for every schedule"
    );
    let behind = "the mbarrier may be used behind this: no barrier of all threads stands between that use and this";
    let used = format!(
        "bar.sync 0;\n{end}bar.sync 0;\n@!%p15 mbarrier.arrive.shared.b64 _, [bar];\n{}",
        wait("V", 0, 1)
    );
    for code in [ended(end), ended(&used)] {
        assert!(verdict(64, &code).ends_with(behind), "{code}");
    }
    insta::assert_snapshot!(
        verdict(64, &ended("bar.sync 0;\nmbarrier.inval.shared.b64 [bar];")),
        @"UNKNOWN line 26: several lanes invalidate one mbarrier"
    );
    let beside = ended(&format!("bar.sync 0;\n{}", end.replace("[bar]", "[bar+4]")));
    for recovery in ["graph", "path"] {
        let shown = verdict_by(recovery, 64, &beside);
        assert!(
            shown.ends_with("an mbarrier lies at a multiple of 8 bytes"),
            "{shown}"
        );
    }
    let twice =
        "an mbarrier is initialised more than once, which is undefined while it is one already";
    let each_warp = ring().replace("setp.ne.u32 %p15, %r1, 0;", "setp.ne.u32 %p15, %r31, 0;");
    let again = format!(
        "setp.ne.u32 %p15, %r1, 0;\n@!%p15 mbarrier.init.shared.b64 [bar], 1;\n{}",
        ring()
    );
    for code in [each_warp, again] {
        assert!(verdict(64, &code).ends_with(twice), "{code}");
    }
}

/// Numbers that the hardware does not take.
#[test]
fn numbers_that_are_not_taken() {
    let arrives = "@!%p15 mbarrier.arrive.shared.b64 _, [bar];";
    let expects = "@!%p15 mbarrier.arrive.expect_tx.shared.b64 _, [bar], BYTES;\n\
                   @!%p15 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [room], [%rd1], BYTES, [bar];";
    let copy = |bytes: &str| ring().replace(arrives, &expects.replace("BYTES", bytes));
    assert_eq!(verdict(32, &copy("16")), "PROVED for every schedule");
    let parity = |parity: &str| ring().replace("[bar+0], 0", &format!("[bar+0], {parity}"));
    let said = [
        verdict(32, &begin(0)),
        verdict(32, &begin(1 << 20)),
        verdict(
            32,
            &ring()
                .replace("[bar]", "[bar+20]")
                .replace("[bar+0]", "[bar+20]"),
        ),
        verdict(32, &parity("2")),
        verdict(32, &parity("%r2")),
        verdict(32, &copy("8")),
        verdict(32, &copy("1048576")),
        verdict(
            32,
            &ring().replace(arrives, "@!%p15 mbarrier.arrive.shared.b64 _, [bar], 0;"),
        ),
        verdict(64, "bar.sync 1, 33;"),
        verdict(128, "setmaxnreg.dec.sync.aligned.u32 25;"),
        verdict(
            32,
            "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [room], 33;",
        ),
        verdict(
            32,
            "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [room], 32;",
        ),
    ];
    insta::assert_snapshot!(said.join("\n"), @r"
    UNKNOWN line 18: an mbarrier counts 1 to 2^20 - 1 arrivals
    UNKNOWN line 18: an mbarrier counts 1 to 2^20 - 1 arrivals
    UNKNOWN line 18: an mbarrier lies at a multiple of 8 bytes
    UNKNOWN line 23: the parity may be other than 0 and 1
    UNKNOWN line 23: the parity may be other than 0 and 1
    UNKNOWN line 22: bulk copies have a multiple of 16 bytes
    UNKNOWN line 21: an mbarrier counts up to 2^20 - 1 bytes
    UNKNOWN the recovered protocol is beyond the language: `arrive` needs at least one arrival
    UNKNOWN the recovered protocol is beyond the language: a named barrier counts whole warps
    UNKNOWN line 17: `setmaxnreg` asks for 24 to 256 registers, in steps of 8
    UNKNOWN line 17: columns of tensor memory come as 32, 64, 128, 256 or 512
    UNKNOWN line 17: a pair of CTAs needs a cluster of an even number
    ");
}

/// A loop by which nobody gets past, and one whose register is another one in the second round.
#[test]
fn loops_that_nothing_ends() {
    let ends = |code: &str| verdict(32, &format!("{code}{}", ring()));
    let never =
        "UNKNOWN line 20: a loop goes on until memory changes, which is not followed, or for ever";
    assert_eq!(
        ends("setp.eq.u32 %p1, %r2, 0;\nL:\nadd.u32 %r7, %r2, 1;\n@%p1 bra L;\n"),
        never
    );
    assert_eq!(
        ends(
            "mov.u32 %r5, 0;\nL:\nadd.s32 %r6, %r5, 1;\nsetp.lt.u32 %p1, %r6, 2;\nmov.u32 %r5, 1;\n@%p1 bra L;\n"
        ),
        "PROVED for every schedule"
    );
}

/// One lane waits, another one tells the other warp, perhaps before that.
#[test]
fn lanes_that_may_be_ahead() {
    let code = |sync: &str| {
        format!(
            "{}setp.eq.u32 %p3, %r31, 0;\nsetp.eq.u32 %p4, %r31, 1;\nsetp.lt.u32 %p5, %r1, 32;\n@!%p5 bra C;\n@!%p3 bra A;\n\
             {}A:\n{sync}@%p4 mbarrier.arrive.shared.b64 _, [bar+8];\nbra D;\nC:\n\
             @%p3 mbarrier.arrive.shared.b64 _, [bar];\n{}D:",
            begin(1),
            wait("W", 0, 0),
            wait("V", 8, 0)
        )
    };
    insta::assert_snapshot!(
        verdict(64, &code("")),
        @"UNKNOWN line 30: some lanes of the warp have waited, and others may come here ahead of them: a `bar.warp.sync` is missing"
    );
    for sync in ["bar.warp.sync -1;\n", "tcgen05.wait::ld.sync.aligned;\n"] {
        assert_eq!(verdict(64, &code(sync)), "PROVED for every schedule");
    }
}

/// The path does not know `WARP_SZ`, the graph does. What the path finds undefined is not asked of the graph.
#[test]
fn the_graph_is_asked_first() {
    let folder = Folder::new();
    let below = |what: &str| {
        let code =
            format!("mov.u32 %r5, WARP_SZ;\nsetp.lt.u32 %p1, %r1, %r5;\n@!%p1 bra O;\n{what}\nO:");
        kernel(64, &code)
    };
    folder.file("kernel.ptx", below("bar.sync 1, 32;"));
    insta::assert_snapshot!(folder.run(&["check", "kernel.ptx"]), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
      notes: other lines are those of the protocol that `warplock lift` prints
      assumptions:
        lanes of a warp that diverge reconverge where their paths meet
        a resident CTA that can go on eventually does
        semaphore operations are atomic and seen in one order by everyone
      checked by: kernel
      decided by kernel in [time]
    --- stderr
    ");
    insta::assert_snapshot!(folder.run(&["check", "-q", "kernel.ptx", "--recovery", "path"]), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 19, `@!%p1 bra O`: a branch decides about synchronization, but %p1 is not known here: the address of `WARP_SZ` is not followed (line 17, `mov.u32 %r5, WARP_SZ`)
    --- stderr
    ");
    let json = folder.run(&["check", "kernel.ptx", "--format", "json"]);
    assert!(json.contains("\"recovery\": \"graph\""), "{json}");
    folder.file("kernel.ptx", kernel(64, "bar.sync 1, 64;"));
    let json = folder.run(&["check", "kernel.ptx", "--format", "json"]);
    assert!(json.contains("\"recovery\": \"graph\""), "{json}");
    folder.file(
        "kernel.ptx",
        kernel(64, "mbarrier.init.shared.b64 [bar], 64;\nbar.sync 0;"),
    );
    insta::assert_snapshot!(folder.run(&["check", "-q", "kernel.ptx"]), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 17, `mbarrier.init.shared.b64 [bar], 64`: `mbarrier.init.shared.b64`: several lanes initialise one mbarrier
    --- stderr
    ");
    // The graph alone takes the lanes of one warp to initialise it once.
    let one_warp = "setp.gt.u32 %p1, %r1, 31;\n@%p1 bra O;\nmbarrier.init.shared.b64 [bar], 64;\nO:\nbar.sync 0;";
    folder.file("kernel.ptx", kernel(64, one_warp));
    let shown = folder.run(&["check", "-q", "kernel.ptx"]);
    assert!(
        shown.contains("several lanes initialise one mbarrier"),
        "{shown}"
    );
    let shown = folder.run(&["check", "-q", "kernel.ptx", "--recovery", "graph"]);
    assert!(shown.contains("deadlock: PROVED"), "{shown}");
}

/// What nobody follows leaves the inner loop either to the end or to the next round: how often the barrier is passed is not
/// known.
#[test]
fn a_loop_that_is_left_to_two_places() {
    let code = "mov.u32 %r3, 0;\nLOOP:\nbar.sync 1, 64;\nmov.f32 %f1, 0f00000000;\nIN:\nadd.f32 %f1, %f1, 0f3F800000;\n\
                setp.gt.f32 %p2, %f1, 0f42C80000;\n@%p2 bra SKIP;\nsetp.lt.f32 %p2, %f1, 0f42C80000;\n@%p2 bra IN;\n\
                setp.eq.u32 %p3, %r3, %r2;\n@%p3 bra OUT;\nSKIP:\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p4, %r3, %r2;\n\
                @%p4 bra LOOP;\nOUT:";
    let said = verdict(64, code);
    assert!(said.starts_with("UNKNOWN line "), "{said}");
    assert!(
        said.ends_with("what is not followed decides about synchronization"),
        "{said}"
    );
}

/// Half of warp 0 exchanges values in a loop that its lanes leave in the same round: `mask` in `%r13`, and `step` changes `%r4`.
fn halves_in_part(mask: &str, step: &str) -> String {
    verdict(
        64,
        &format!(
            "bar.sync 0;\nsetp.ge.u32 %p0, %r1, 16;\nsetp.lt.u32 %p1, %r1, 16;\nvote.sync.ballot.b32 %r13, %p1, -1;\n{mask}\n\
             mov.b32 %r4, 32;\n@%p0 bra END;\nLOOP:\n{step}\nshfl.sync.down.b32 %r5, %r1, %r4, 31, %r13;\n\
             setp.gt.s32 %p2, %r4, 1;\n@%p2 bra LOOP;\nEND:\nbar.sync 0;"
        ),
    )
}

/// What lanes have alike in the loop is one value, whatever the lanes have that are not in it.
#[test]
fn part_of_a_warp_exchanges_in_a_loop() {
    let step = "shr.u32 %r4, %r4, 1;";
    insta::assert_snapshot!(halves_in_part("", step), @"PROVED for every schedule");
    // All lanes are named, and half of them are elsewhere.
    insta::assert_snapshot!(halves_in_part("mov.b32 %r13, -1;", step), @"UNKNOWN line 26: a lane is not in its own mask, or lanes of the mask are not here: this is undefined");
    // Lanes leave the loop in different rounds, and others still name them.
    insta::assert_snapshot!(halves_in_part("", "shr.u32 %r4, %r4, %r1;"), @"UNKNOWN line 28: lanes take this branch differently, depending on the launch, and below it something is done by several lanes together, some of which may be missing: that is undefined");
}

/// `%r20` is 0 in all lanes for 100 rounds and differs between lanes from then on. So `%r22`, a sum of differences between two lanes, does
/// not stay 0, and warp 0 comes to its barrier less often than warp 1.
#[test]
fn what_lanes_exchange_in_a_loop_may_differ_in_later_rounds() {
    let code = |added: &str| {
        format!(
            "bar.sync 0;\nmov.b32 %r20, 0;\nmov.b32 %r21, 0;\nmov.b32 %r22, 0;\nLOOP:\n\
             setp.ne.u32 %p5, %r22, 0;\n@%p5 bra ON;\nbar.sync 1, 64;\nON:\n\
             shfl.sync.idx.b32 %r23, %r20, 0, 31, -1;\nshfl.sync.idx.b32 %r24, %r20, 1, 31, -1;\n\
             sub.u32 %r24, %r24, %r23;\nsetp.lt.u32 %p6, %r1, 32;\nselp.b32 %r24, %r24, 0, %p6;\nadd.u32 %r22, %r22, %r24;\n\
             setp.gt.u32 %p7, %r21, 100;\nselp.b32 %r25, {added}, 0, %p7;\nadd.u32 %r20, %r20, %r25;\n\
             add.u32 %r21, %r21, 1;\nsetp.lt.u32 %p8, %r21, %r2;\n@%p8 bra LOOP;\nbar.sync 0;"
        )
    };
    insta::assert_snapshot!(verdict(64, &code("%r1")), @"UNKNOWN line 23: whether this is done depends on what a loop carries, for which no form was found");
    // All lanes add the same, and so their difference stays 0.
    insta::assert_snapshot!(verdict(64, &code("%r2")), @"PROVED for every n in 0..=1073741823 and schedule");
}
