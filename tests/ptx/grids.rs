//! Barriers of the grid made of words in memory, and what else a kernel does to memory beside them.

use crate::support::program::Folder;

/// One thread of each CTA does this so many times. `%rd2` is a pointer to the words of barriers, `%rd4` to other memory.
fn check(code: &str) -> String {
    run(code, &["check", "-q", "--assume", "R >= nctaid_x"])
}

fn run(code: &str, arguments: &[&str]) -> String {
    let folder = Folder::new();
    folder.file(
        "kernel.ptx",
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n\
             .visible .entry kernel(.param .u64 words, .param .u64 data, .param .u32 rounds, .param .u32 ctas)\n\
             .reqntid 32, 1, 1\n{{\n\
             .reg .pred %p<8>;\n.reg .b32 %r<24>;\n.reg .b64 %rd<12>;\n\
             ld.param.u64 %rd1, [words];\nld.param.u64 %rd3, [data];\n\
             ld.param.u32 %r10, [rounds];\nld.param.u32 %r11, [ctas];\n\
             cvta.to.global.u64 %rd2, %rd1;\ncvta.to.global.u64 %rd4, %rd3;\n\
             mov.u32 %r1, %tid.x;\nmov.u32 %r2, %nctaid.x;\nmov.u32 %r3, %ctaid.x;\nadd.u32 %r4, %r2, -1;\n\
             add.s64 %rd5, %rd2, 4;\n\
             setp.lt.s32 %p1, %r10, 1;\n@%p1 bra DONE;\nmov.u32 %r12, 0;\n\
             ROUND:\nsetp.ne.u32 %p2, %r1, 0;\n@%p2 bra NEXT;\n{code}\n\
             NEXT:\nbar.warp.sync -1;\nadd.u32 %r12, %r12, 1;\nsetp.lt.s32 %p3, %r12, %r10;\n@%p3 bra ROUND;\n\
             DONE:\nret;\n}}\n"
        ),
    );
    folder.run(&[arguments, &["kernel.ptx"]].concat())
}

/// The last CTA to come clears the count and changes the word that the others wait for.
struct Barrier {
    look: &'static str,
    between: &'static str,
    last: &'static str,
    clear: &'static str,
    go: &'static str,
}

const BARRIER: Barrier = Barrier {
    look: "ld.volatile.global.u32 %r5, [%rd2+4];",
    between: "membar.gl;",
    last: "%r4",
    clear: "st.global.u32 [%rd2], 0;\nmembar.gl;",
    go: "atom.global.add.u32 %r7, [%rd5], 1;",
};

impl Barrier {
    fn check(&self) -> String {
        check(&self.code())
    }

    fn code(&self) -> String {
        let Barrier {
            look,
            between,
            last,
            clear,
            go,
        } = self;
        format!(
            "{look}\n{between}\natom.global.add.u32 %r6, [%rd2], 1;\nsetp.eq.s32 %p4, %r6, {last};\n@%p4 bra LAST;\n\
             WAIT:\nld.volatile.global.u32 %r8, [%rd2+4];\nsetp.eq.s32 %p5, %r8, %r5;\n@%p5 bra WAIT;\nbra OVER;\n\
             LAST:\n{clear}\n{go}\nOVER:\nmembar.gl;"
        )
    }
}

#[test]
fn the_last_one_lets_the_others_go_on() {
    insta::assert_snapshot!(BARRIER.check(), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_rounds in 0..=1073741823, nctaid_x in 1..=1073741823, R >= 1, launch order and schedule, assuming R >= nctaid_x: all obligations of [rule] hold
    --- stderr
    ");
    let set = "add.u32 %r9, %r5, 1;\nst.volatile.global.u32 [%rd2+4], %r9;";
    insta::assert_snapshot!(Barrier { go: set, ..BARRIER }.check(), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_rounds in 0..=1073741823, nctaid_x in 1..=1073741823, R >= 1, launch order and schedule, assuming R >= nctaid_x: all obligations of [rule] hold
    --- stderr
    ");
    // An acquiring look comes before what is behind it, and a release behind what is before it.
    let acquire = Barrier {
        look: "ld.acquire.gpu.global.u32 %r5, [%rd2+4];",
        between: "",
        clear: "st.relaxed.gpu.global.u32 [%rd2], 0;",
        go: "red.release.gpu.global.add.u32 [%rd5], 1;",
        ..BARRIER
    };
    insta::assert_snapshot!(acquire.check(), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_rounds in 0..=1073741823, nctaid_x in 1..=1073741823, R >= 1, launch order and schedule, assuming R >= nctaid_x: all obligations of [rule] hold
    --- stderr
    ");
}

#[test]
fn the_last_one_waits_with_the_others() {
    let all = |last: &str, go: &str, between: &str| {
        check(&format!(
            "ld.volatile.global.u32 %r5, [%rd2+4];\nmembar.gl;\natom.global.add.u32 %r6, [%rd2], 1;\n\
             setp.ne.s32 %p4, %r6, {last};\n@%p4 bra OVER;\n{go}\nOVER:\n{between}\n\
             WAIT:\nld.volatile.global.u32 %r8, [%rd2+4];\nsetp.eq.s32 %p5, %r8, %r5;\n@%p5 bra WAIT;\nmembar.gl;"
        ))
    };
    let clear = "st.global.u32 [%rd2], 0;";
    let change = "atom.global.add.u32 %r7, [%rd5], 1;";
    let go = format!("{clear}\nmembar.gl;\n{change}");
    insta::assert_snapshot!(all("%r4", &go, ""), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_rounds in 0..=1073741823, nctaid_x in 1..=1073741823, R >= 1, launch order and schedule, assuming R >= nctaid_x: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(all("%r2", &go, ""), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at p_rounds = 1, nctaid_x = 1, R = 1: grid_bar takes 2 arrivals, 1 came (cta[0]), and cta[0] waits for the rest (line 29): nobody else ever does
    --- stderr
    ");
    // It does not let them go on, or may do so before it clears the count.
    insta::assert_snapshot!(all("%r4", clear, ""), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 31, `@%p4 bra OVER`: a branch decides about synchronization, but depends on memory that is read
    --- stderr
    ");
    insta::assert_snapshot!(all("%r4", &format!("{clear}\n{change}"), ""), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 33, `atom.global.add.u32 %r7, [%rd5], 1`: the others may go on before the count is cleared: a fence is missing in between
    --- stderr
    ");
    // Something else comes in between.
    insta::assert_snapshot!(all("%r4", &go, "st.volatile.global.u32 [%rd2+8], 0;"), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 29, `atom.global.add.u32 %r6, [%rd2], 1`: the whole grid meets here, but this CTA does not wait right after it has arrived
    --- stderr
    ");
}

#[test]
fn a_count_that_nobody_waits_for() {
    let last = "atom.global.add.u32 %r6, [%rd2], 1;\nsetp.ne.s32 %p4, %r6, %r4;\n@%p4 bra OVER;\n\
                st.global.u32 [%rd2], 0;\nst.global.u32 [%rd4], 1;\nOVER:";
    insta::assert_snapshot!(run(last, &["check", "-q"]), @r"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
}

#[test]
fn the_barrier_counts_too_many_or_what_an_argument_says() {
    insta::assert_snapshot!(Barrier { last: "%r2", ..BARRIER }.check(), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at p_rounds = 1, nctaid_x = 1, R = 1: grid_bar takes 2 arrivals, 1 came (cta[0]), and cta[0] waits for the rest (line 29): nobody else ever does
    --- stderr
    ");
    insta::assert_snapshot!(Barrier { last: "%r11", ..BARRIER }.check(), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at p_rounds = 1, p_ctas = 1, nctaid_x = 1, R = 1: grid_bar takes 2 arrivals, 1 came (cta[0]), and cta[0] waits for the rest (line 29): nobody else ever does
    --- stderr
    ");
}

#[test]
fn the_barrier_may_count_too_few() {
    let few = Barrier {
        clear: "st.global.u32 [%rd2], 0;\nmembar.gl;\n",
        look: "ld.volatile.global.u32 %r5, [%rd2+4];\nadd.u32 %r13, %r2, -2;",
        last: "%r13",
        ..BARRIER
    };
    insta::assert_snapshot!(few.check(), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 30, `atom.global.add.u32 %r6, [%rd2], 1`: more CTAs come here than the barrier of the grid counts, or not all of them along an axis of the grid
    --- stderr
    ");
}

#[test]
fn fences_are_missing() {
    insta::assert_snapshot!(Barrier { between: "", ..BARRIER }.check(), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 29, `atom.global.add.u32 %r6, [%rd2], 1`: what tells the rounds apart may be read after this: a fence is missing in between
    --- stderr
    ");
    insta::assert_snapshot!(Barrier { between: "fence.acq_rel.cta;", ..BARRIER }.check(), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 29, `atom.global.add.u32 %r6, [%rd2], 1`: what tells the rounds apart may be read after this: a fence is missing in between
    --- stderr
    ");
    insta::assert_snapshot!(Barrier { clear: "st.global.u32 [%rd2], 0;", ..BARRIER }.check(), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 39, `atom.global.add.u32 %r7, [%rd5], 1`: the others may go on before the count is cleared: a fence is missing in between
    --- stderr
    ");
    insta::assert_snapshot!(Barrier { look: "ld.global.u32 %r5, [%rd2+4];", ..BARRIER }.check(), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 29, `atom.global.add.u32 %r6, [%rd2], 1`: what tells the rounds apart is read by a load that may not see what others write
    --- stderr
    ");
}

#[test]
fn the_last_one_does_something_else() {
    // It does not clear the count, or not to 0.
    insta::assert_snapshot!(Barrier { clear: "membar.gl;", ..BARRIER }.check(), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 31, `@%p4 bra LAST`: a branch decides about synchronization, but depends on memory that is read
    --- stderr
    ");
    insta::assert_snapshot!(Barrier { clear: "st.global.u32 [%rd2], 1;\nmembar.gl;", ..BARRIER }.check(), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 31, `@%p4 bra LAST`: a branch decides about synchronization, but depends on memory that is read
    --- stderr
    ");
    // It clears it behind.
    let behind = Barrier {
        clear: "",
        go: "atom.global.add.u32 %r7, [%rd5], 1;\nmembar.gl;\nst.global.u32 [%rd2], 0;",
        ..BARRIER
    };
    insta::assert_snapshot!(behind.check(), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 31, `@%p4 bra LAST`: a branch decides about synchronization, but depends on memory that is read
    --- stderr
    ");
    // It leaves the word as it is.
    insta::assert_snapshot!(Barrier { go: "", ..BARRIER }.check(), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 31, `@%p4 bra LAST`: a branch decides about synchronization, but depends on memory that is read
    --- stderr
    ");
    insta::assert_snapshot!(Barrier { go: "st.volatile.global.u32 [%rd2+4], %r5;", ..BARRIER }.check(), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 31, `@%p4 bra LAST`: a branch decides about synchronization, but depends on memory that is read
    --- stderr
    ");
}

#[test]
fn somebody_else_uses_the_words() {
    let other = Barrier {
        look: "setp.eq.u32 %p6, %r3, 0;\n@%p6 st.volatile.global.u32 [%rd2], 0;\nld.volatile.global.u32 %r5, [%rd2+4];",
        ..BARRIER
    };
    insta::assert_snapshot!(other.check(), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 28, `@%p6 st.volatile.global.u32 [%rd2], 0`: a word by which the whole grid meets may be used in another way here, or CTAs along an axis of the grid are not counted
    --- stderr
    ");
    // Each CTA has a count of its own.
    let own = Barrier {
        look: "mul.wide.u32 %rd6, %r3, 8;\nadd.s64 %rd6, %rd2, %rd6;\nld.volatile.global.u32 %r5, [%rd2+4];",
        ..BARRIER
    };
    let own = own.code().replace("[%rd2]", "[%rd6]");
    insta::assert_snapshot!(check(&own), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 31, `atom.global.add.u32 %r6, [%rd6], 1`: a word by which the whole grid meets may be used in another way here, or CTAs along an axis of the grid are not counted
    --- stderr
    ");
}

#[test]
fn the_look_is_of_another_round() {
    let code = "setp.ne.u32 %p6, %r12, 0;\n@%p6 bra LOOKED;\nld.volatile.global.u32 %r5, [%rd2+4];\nLOOKED:";
    insta::assert_snapshot!(Barrier { look: code, ..BARRIER }.check(), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 38, `@%p5 bra WAIT`: how often this loop runs is not known: it changes in a loop (line 25, `setp.ne.u32 %p2, %r1, 0`)
    --- stderr
    ");
    // Two meetings, and one look.
    let first = "membar.gl;\natom.global.add.u32 %r16, [%rd2+8], 1;\nsetp.eq.s32 %p6, %r16, %r4;\n@%p6 bra LAST1;\n\
                 WAIT1:\nld.volatile.global.u32 %r18, [%rd2+4];\nsetp.eq.s32 %p7, %r18, %r5;\n@%p7 bra WAIT1;\n\
                 bra OVER1;\nLAST1:\nst.global.u32 [%rd2+8], 0;\nmembar.gl;\natom.global.add.u32 %r17, [%rd5], 1;\nOVER1:\nmembar.gl;";
    insta::assert_snapshot!(Barrier { between: first, ..BARRIER }.check(), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 43, `atom.global.add.u32 %r6, [%rd2], 1`: what tells the rounds apart is not read in each of them
    --- stderr
    ");
}

/// A barrier by a count that only grows, with this before it.
fn beside(code: &str) -> String {
    check(&format!(
        "{code}\nadd.u32 %r14, %r12, 1;\nmul.lo.u32 %r15, %r14, %r2;\natom.global.add.u32 %r16, [%rd2], 1;\n\
         AGAIN:\nld.volatile.global.u32 %r17, [%rd2];\nsetp.lt.u32 %p6, %r17, %r15;\n@%p6 bra AGAIN;"
    ))
}

#[test]
fn memory_behind_another_parameter_is_written_where_data_says() {
    let index = "ld.global.u32 %r13, [%rd4];\nmul.wide.u32 %rd7, %r13, 4;";
    let add = "atom.global.add.u32 %r18, [%rd8], 1;";
    insta::assert_snapshot!(beside(&format!("{index}\nadd.s64 %rd8, %rd4, %rd7;\n{add}")), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_rounds in 0..=1073741823, nctaid_x in 1..=1073741823, R >= 1, launch order and schedule, assuming p_rounds * nctaid_x < 4294967296, R >= nctaid_x: all obligations of [rule] hold
    --- stderr
    ");
    // In a branch that data decides.
    let branch = "setp.eq.u32 %p7, %r13, 3;\n@%p7 bra BEHIND;";
    insta::assert_snapshot!(
        beside(&format!("{index}\nadd.s64 %rd8, %rd4, %rd7;\n{branch}\n{add}\nBEHIND:")),
        @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_rounds in 0..=1073741823, nctaid_x in 1..=1073741823, R >= 1, launch order and schedule, assuming p_rounds * nctaid_x < 4294967296, R >= nctaid_x: all obligations of [rule] hold
    --- stderr
    ");
    // The same memory that is waited for.
    insta::assert_snapshot!(beside(&format!("{index}\nadd.s64 %rd8, %rd2, %rd7;\n{add}")), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 30, `atom.global.add.u32 %r18, [%rd8], 1`: `atom.global.add.u32`: an operand is read from memory
    --- stderr
    ");
    // One or the other.
    insta::assert_snapshot!(
        beside(&format!(
            "{index}\nsetp.eq.u32 %p7, %r13, 3;\nselp.b64 %rd9, %rd2, %rd4, %p7;\nadd.s64 %rd8, %rd9, %rd7;\n{add}"
        )),
        @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 32, `atom.global.add.u32 %r18, [%rd8], 1`: `atom.global.add.u32`: its address is not followed, and it may be the memory that the kernel waits for
    --- stderr
    ");
    // A pointer that is read from memory.
    insta::assert_snapshot!(beside(&format!("ld.global.u64 %rd8, [%rd4];\n{add}")), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 28, `atom.global.add.u32 %r18, [%rd8], 1`: `atom.global.add.u32`: its address is not followed, and it may be the memory that the kernel waits for
    --- stderr
    ");
    insta::assert_snapshot!(
        beside(&format!("ld.global.u64 %rd9, [%rd4];\nadd.s64 %rd8, %rd9, %rd3;\n{add}")),
        @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 29, `atom.global.add.u32 %r18, [%rd8], 1`: `atom.global.add.u32`: its address is not followed, and it may be the memory that the kernel waits for
    --- stderr
    ");
    // Bits of an address.
    insta::assert_snapshot!(
        beside(&format!("{index}\nand.b64 %rd9, %rd2, -16;\nadd.s64 %rd8, %rd9, %rd7;\n{add}")),
        @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 31, `atom.global.add.u32 %r18, [%rd8], 1`: `atom.global.add.u32`: its address is not followed, and it may be the memory that the kernel waits for
    --- stderr
    ");
}

/// Threads go on to look until a vote of all ends the loop.
struct Poll {
    /// Before the first round, of the thread that looks.
    first: &'static str,
    /// What the others hold.
    held: &'static str,
    vote: &'static str,
    leave: &'static str,
    turn: &'static str,
    release: &'static str,
}

const POLL: Poll = Poll {
    first: "ld.acquire.gpu.global.s32 %r10, [%rd2];",
    held: "-1",
    vote: "setp.ne.s32 %p2, %r10, %r4;\nbar.red.and.pred %p3, 0, %p2;",
    leave: "@!%p3",
    turn: "%r2",
    release: "add.u32 %r11, %r2, 1;\nst.global.release.gpu.s32 [%rd2], %r11;",
};

impl Poll {
    fn check(&self) -> String {
        let Poll {
            first,
            held,
            vote,
            leave,
            turn,
            release,
        } = self;
        let folder = Folder::new();
        folder.file(
            "kernel.ptx",
            format!(
                ".version 8.0\n.target sm_90\n.address_size 64\n\
                 .visible .entry kernel(.param .u64 words)\n.reqntid 64, 1, 1\n{{\n\
                 .reg .pred %p<8>;\n.reg .b32 %r<24>;\n.reg .b64 %rd<12>;\n\
                 ld.param.u64 %rd1, [words];\ncvta.to.global.u64 %rd2, %rd1;\n\
                 mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %nctaid.x;\nmov.u32 %r4, {turn};\n\
                 mov.u32 %r10, {held};\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra ROUND;\n{first}\n\
                 ROUND:\n{vote}\n{leave} bra OVER;\n@%p1 bra ROUND;\n\
                 ld.acquire.gpu.global.s32 %r10, [%rd2];\nbra ROUND;\n\
                 OVER:\nbar.sync 0;\n@%p1 bra DONE;\n{release}\nDONE:\nret;\n}}\n"
            ),
        );
        folder.run(&["check", "-q", "--launch", "ascending", "kernel.ptx"])
    }
}

#[test]
fn a_vote_ends_the_looks_of_one_thread() {
    insta::assert_snapshot!(POLL.check(), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every nctaid_x in 1..=1073741823, R >= 1 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(Poll { first: "", ..POLL }.check(), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every nctaid_x in 1..=1073741823, R >= 1 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    let or = Poll {
        vote: "setp.eq.s32 %p2, %r10, %r4;\nbarrier.red.or.pred %p3, 0, %p2;",
        leave: "@%p3",
        ..POLL
    };
    insta::assert_snapshot!(or.check(), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every nctaid_x in 1..=1073741823, R >= 1 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    // A turn that nobody passes on, and one that is passed on too far.
    insta::assert_snapshot!(Poll { turn: "%r3", ..POLL }.check(), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at nctaid_x = 1, R = 1: cta[0] waits for at_p_words == 1 (line 22), but at_p_words stays 0 and nobody sets it
    --- stderr
    ");
    insta::assert_snapshot!(
        Poll { release: "add.u32 %r11, %r2, 2;\nst.global.release.gpu.s32 [%rd2], %r11;", ..POLL }.check(),
        @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at nctaid_x = 2, R = 1: cta[1] waits for at_p_words == 1 (line 22), but cta[0] set it to 2 (line 31), and nobody sets it again
    --- stderr
    ");
}

#[test]
fn a_vote_that_others_may_decide() {
    // The others say the same as long as what they hold is no turn.
    insta::assert_snapshot!(Poll { held: "0", ..POLL }.check(), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 23, `@!%p3 bra OVER`: how often this loop runs is not known: it changes in a loop in a way that is not followed (line 21, `setp.ne.s32 %p2, %r10, %r4`)
    --- stderr
    ");
    // All threads of a warp look.
    insta::assert_snapshot!(
        Poll {
            vote: "ld.acquire.gpu.global.s32 %r10, [%rd2];\nsetp.ne.s32 %p2, %r10, %r4;\nbar.red.and.pred %p3, 0, %p2;",
            ..POLL
        }
        .check(),
        @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 24, `@!%p3 bra OVER`: how often this loop runs is not known: `bar.red.and.pred` is not followed (line 23, `bar.red.and.pred %p3, 0, %p2`)
    --- stderr
    ");
    // They leave as long as nothing has been seen.
    insta::assert_snapshot!(Poll { leave: "@%p3", ..POLL }.check(), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 23, `@%p3 bra OVER`: how often this loop runs is not known: it changes in a loop in a way that is not followed (line 21, `setp.ne.s32 %p2, %r10, %r4`)
    --- stderr
    ");
    // One warp does not vote.
    let absent = Poll {
        vote: "setp.gt.u32 %p4, %r1, 31;\n@%p4 bra DONE;\nsetp.ne.s32 %p2, %r10, %r4;\nbar.red.and.pred %p3, 0, %p2;",
        ..POLL
    };
    insta::assert_snapshot!(absent.check(), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 25, `@!%p3 bra OVER`: where this loop is left is not known: it changes in a loop (line 21, `setp.gt.u32 %p4, %r1, 31`)
    --- stderr
    ");
    // Another barrier with the same number.
    let other = Poll {
        release: "add.u32 %r11, %r2, 1;\nst.global.release.gpu.s32 [%rd2], %r11;\nbar.sync 0, 32;",
        ..POLL
    };
    insta::assert_snapshot!(other.check(), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 22, `bar.red.and.pred %p3, 0, %p2`: threads look here until a vote of all says that one of them has seen what it waits for: that just one looks, and all come here equally often, is not certain
    --- stderr
    ");
}

/// One thread of each CTA waits for its number along z at a word, and stores the next one.
fn passed_on(word: &str, next: &str, command: &[&str]) -> String {
    let folder = Folder::new();
    folder.file(
        "kernel.ptx",
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n\
             .visible .entry kernel(.param .u64 words)\n.reqntid 32, 1, 1\n{{\n\
             .reg .pred %p<8>;\n.reg .b32 %r<24>;\n.reg .b64 %rd<12>;\n\
             ld.param.u64 %rd1, [words];\ncvta.to.global.u64 %rd2, %rd1;\n\
             mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %nctaid.x;\n\
             mov.u32 %r4, %ctaid.z;\nmov.u32 %r5, %nctaid.z;\n\
             setp.ne.u32 %p1, %r1, 0;\n@%p1 bra DONE;\n\
             mul.wide.u32 %rd3, {word}, 4;\nadd.s64 %rd4, %rd2, %rd3;\n\
             WAIT:\nld.acquire.gpu.global.s32 %r6, [%rd4];\nsetp.ne.s32 %p2, %r6, %r4;\n@%p2 bra WAIT;\n\
             {next}\nst.release.gpu.global.s32 [%rd4], %r7;\nDONE:\nret;\n}}\n"
        ),
    );
    folder.run(&[command, &["--launch", "ascending", "kernel.ptx"]].concat())
}

#[test]
fn a_word_is_passed_on_by_a_store() {
    let check = |word: &str, next: &str| passed_on(word, next, &["check", "-q"]);
    insta::assert_snapshot!(check("%r2", "add.u32 %r7, %r4, 1;"), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every nctaid_x in 1..=1073741823, nctaid_z in 1..=65535, R >= 1 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    // The last one clears it.
    let last = "add.u32 %r7, %r4, 1;\nsetp.eq.u32 %p3, %r7, %r5;\nselp.u32 %r7, 0, %r7, %p3;";
    insta::assert_snapshot!(check("%r2", last), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every nctaid_x in 1..=1073741823, nctaid_z in 1..=65535, R >= 1 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    // The first one does.
    let first = "add.u32 %r7, %r4, 1;\nsetp.eq.u32 %p3, %r4, 0;\nselp.u32 %r7, 0, %r7, %p3;";
    insta::assert_snapshot!(check("%r2", first), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at nctaid_x = 1, nctaid_z = 2, R = 1: cta[0][1] waits for at_p_words[0] == 1 (line 22), but cta[0][0] set at_p_words[0] to 0 (line 28), and nobody sets it again: cta[0][0] sets it no more
    --- stderr
    ");
    insta::assert_snapshot!(check("%r2", "add.u32 %r7, %r4, 2;"), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at nctaid_x = 1, nctaid_z = 2, R = 1: cta[0][1] waits for at_p_words[0] == 1 (line 22), but cta[0][0] set it to 2 (line 26), and nobody sets it again
    --- stderr
    ");
}

#[test]
fn a_word_that_several_pass_on() {
    let lifted = passed_on("0", "add.u32 %r7, %r4, 1;", &["lift"]);
    let body = lifted.split("grid cta").nth(1).unwrap_or_default();
    insta::assert_snapshot!(body, @"
    [ctaid_x in 0..nctaid_x][ctaid_z in 0..nctaid_z] launch ctaid_z ascending, ctaid_x ascending resident 1.. {
        wait at_p_words == ctaid_z  // line 22
        at_p_words = ctaid_z + 1    // line 26
    }
    --- stderr
    ");
}

/// The distance between two arrays leads from one to the other, and an inner scope may give the name of a parameter to
/// something else: these stores go to the word that is waited for.
#[test]
fn stores_that_reach_another_array() {
    let waits = |store: &str| {
        let folder = Folder::new();
        folder.file(
            "kernel.ptx",
            format!(
                ".version 8.0\n.target sm_90\n.address_size 64\n\
                 .visible .entry kernel(.param .u64 words, .param .u64 data)\n.reqntid 32, 1, 1\n{{\n\
                 .reg .pred %p<8>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<20>;\nld.param.u64 %rd2, [words];\n\
                 ld.param.u64 %rd4, [data];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %nctaid.x;\nsetp.ne.u32 %p2, %r1, 0;\n\
                 @%p2 bra DONE;\n{store}\nmembar.gl;\nred.global.add.u32 [%rd2], 1;\nWAIT:\n\
                 ld.volatile.global.u32 %r8, [%rd2];\nsetp.lt.s32 %p5, %r8, %r2;\n@%p5 bra WAIT;\nDONE:\nret;\n}}\n"
            ),
        );
        folder.run(&["check", "-q", "kernel.ptx", "--assume", "R >= nctaid_x"])
    };
    insta::assert_snapshot!(
        waits("ld.global.u32 %r9, [%rd4+8];\nmul.wide.u32 %rd6, %r9, 4;\nadd.s64 %rd9, %rd4, %rd6;\n\
               st.volatile.global.u32 [%rd9], 5;"),
        @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every nctaid_x in 1..=1073741823, R >= 1, launch order and schedule, assuming R >= nctaid_x: all obligations of [rule] hold
    --- stderr
    "
    );
    insta::assert_snapshot!(
        waits("sub.s64 %rd6, %rd2, %rd4;\nshr.s64 %rd7, %rd6, 2;\nshl.b64 %rd8, %rd7, 2;\n\
               add.s64 %rd9, %rd4, %rd8;\nst.volatile.global.u32 [%rd9], 5;"),
        @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 20, `st.volatile.global.u32 [%rd9], 5`: `st.volatile.global.u32`: its address is not followed, and it may be the memory that the kernel waits for
    --- stderr
    "
    );
    insta::assert_snapshot!(
        waits("{\n.param .b64 data;\nst.param.b64 [data], %rd2;\nld.param.b64 %rd9, [data];\n\
               ld.global.u32 %r9, [%rd4+8];\nmul.wide.u32 %rd6, %r9, 4;\nadd.s64 %rd9, %rd9, %rd6;\n\
               st.volatile.global.u32 [%rd9], 5;\n}"),
        @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 23, `st.volatile.global.u32 [%rd9], 5`: `st.volatile.global.u32`: its address is not followed, and it may be the memory that the kernel waits for
    --- stderr
    "
    );
}

/// A barrier of a number of CTAs that is written in the kernel, which never looks at the grid.
fn of_four(arrive: &str, least: &str, more: &[&str]) -> String {
    let folder = Folder::new();
    folder.file(
        "kernel.ptx",
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n\
             .visible .entry kernel(.param .u64 words)\n.reqntid 64, 1, 1\n{{\n\
             .reg .pred %p<8>;\n.reg .b32 %r<24>;\n.reg .b64 %rd<12>;\n\
             ld.param.u64 %rd1, [words];\ncvta.to.global.u64 %rd2, %rd1;\nmov.u32 %r1, %tid.x;\n\
             bar.sync 0;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra DONE;\n{arrive}\n\
             WAIT:\nld.acquire.gpu.global.u32 %r2, [%rd2];\nsetp.lt.u32 %p2, %r2, {least};\n@%p2 bra WAIT;\n\
             DONE:\nbar.sync 0;\nret;\n}}\n"
        ),
    );
    folder.run(&[&["check", "-q"], more, &["kernel.ptx"]].concat())
}

#[test]
fn the_kernel_never_looks_at_the_grid() {
    let add = "red.release.gpu.global.add.u32 [%rd2], 1;";
    let resident = ["--assume", "R >= nctaid_x"];
    let enough = [&resident[..], &["--assume", "nctaid_x >= 4"]].concat();
    insta::assert_snapshot!(of_four(add, "4", &resident), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at nctaid_x = 1, R = 1: cta[0] waits for at_p_words >= 4 (line 18), but at_p_words stays 1 and nobody adds to it
    --- stderr
    ");
    insta::assert_snapshot!(of_four(add, "4", &enough), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every nctaid_x in 1..=1073741823, R >= 1, launch order and schedule, assuming R >= nctaid_x, nctaid_x >= 4: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(of_four(add, "5", &enough), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at nctaid_x = 4, R = 4: cta[0] waits for at_p_words >= 5 (line 18), but at_p_words stays 4 and no more is added to it: cta[1..4] add 1 to it each and not again
    --- stderr
    ");
    // Only those with a low number along an axis arrive.
    let each = "mov.u32 %r3, %ctaid.y;\nsetp.ge.u32 %p3, %r3, 3;\n@%p3 bra WAIT;\nred.release.gpu.global.add.u32 [%rd2], 1;";
    insta::assert_snapshot!(of_four(each, "4", &["--assume", "nctaid_y >= 4 && R >= nctaid_y"]), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at nctaid_y = 4, R = 4: cta[0] waits for at_p_words >= 4 (line 21), but at_p_words stays 3 and no more is added to it: cta[3] never adds to it, because `if ctaid_y < 3` (line 18) does not hold for it; cta[1] and cta[2] add 1 to it each and not again
    --- stderr
    ");
}
