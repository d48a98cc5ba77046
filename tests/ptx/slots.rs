//! Where a round of a ring stands and what decides about it, in the arithmetic that compilers make of it: quotients by
//! multiplication, addresses that wrap around in between, disjunctions, and rounds that are left out.

use crate::support::program::Folder;

/// A kernel of two warps with mbarriers `full` and, behind them, `empty`; `%r40` is `n`, `%p2` holds in the second warp.
fn kernel(stages: u32, consumers: u32, code: &str) -> String {
    let mut init = String::new();
    for stage in 0..stages {
        let place = 8 * stage;
        init += &format!("mbarrier.init.shared.b64 [full+{place}], 1;\n");
        init += &format!("mbarrier.init.shared.b64 [empty+{place}], {consumers};\n");
    }
    let bytes = 8 * stages.max(1);
    format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n\
         .visible .entry kernel(.param .u32 n, .param .u64 p)\n.reqntid 64, 1, 1\n{{\n\
         .reg .pred %p<16>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<16>;\n\
         .shared .align 8 .b8 full[{bytes}];\n.shared .align 8 .b8 empty[{bytes}];\n\
         .shared .align 128 .b8 tile[4096];\n\
         ld.param.u32 %r40, [n];\nld.param.u64 %rd9, [p];\nmov.u32 %r1, %tid.x;\n\
         setp.ne.u32 %p1, %r1, 0;\nsetp.gt.u32 %p2, %r1, 31;\nsetp.eq.u32 %p3, %r40, 0;\n@%p1 bra READY;\n\
         {init}READY:\nbar.sync 0;\n{code}\nEND:\nret;\n}}\n"
    )
}

fn check(text: &str, arguments: &[&str]) -> String {
    let folder = Folder::new();
    folder.file("kernel.ptx", text);
    folder.run(&[&["check", "-q"], arguments, &["kernel.ptx"]].concat())
}

/// The quotient of a register, as compilers divide by three and by five.
fn divided(by: u32, from: &str, to: &str) -> String {
    let (factor, shift) = match by {
        3 => (-1_431_655_765, 33),
        _ => (-858_993_459, 34),
    };
    format!(
        "mul.wide.u32 %rd1, {from}, {factor};\nshr.u64 %rd2, %rd1, {shift};\ncvt.u32.u64 {to}, %rd2;\n"
    )
}

fn wait(label: &str, address: &str, parity: &str) -> String {
    format!(
        "{label}:\nmbarrier.try_wait.parity.shared.b64 %p9, [{address}], {parity};\n@!%p9 bra {label};\n"
    )
}

/// A ring whose producer counts the place in global memory in 64 bits and adds it to the address of the first stage, less
/// so many bytes for each turn, in this form.
fn copied(stages: u32, bytes: u32, widened: &str, waits: bool) -> String {
    let divide = divided(stages, "%r5", "%r6");
    let (turn, tile) = (8 * stages, bytes * stages);
    let taken = wait("FULL", "%r11", "%r9");
    let given = match waits {
        true => wait("EMPTY", "%r17", "%r9"),
        false => String::new(),
    };
    let code = format!(
        "@%p3 bra END;\nmov.u32 %r5, 0;\nmov.u64 %rd5, 0;\nmov.u32 %r41, tile;\nmov.u32 %r42, full;\n\
         mov.u32 %r43, empty;\n@%p2 bra PRODUCER;\n\
         CONSUME:\n{divide}mul.lo.s32 %r7, %r6, {stages};\nsub.s32 %r8, %r5, %r7;\nand.b32 %r9, %r6, 1;\n\
         shl.b32 %r10, %r8, 3;\nadd.s32 %r11, %r42, %r10;\n{taken}\
         shl.b32 %r12, %r8, 7;\nadd.s32 %r12, %r12, %r41;\nshl.b32 %r13, %r1, 2;\nadd.s32 %r12, %r12, %r13;\n\
         ld.shared.u32 %r14, [%r12];\nadd.s32 %r13, %r43, %r10;\nmbarrier.arrive.shared.b64 _, [%r13];\n\
         add.s32 %r5, %r5, 1;\nsetp.lt.u32 %p4, %r5, %r40;\n@%p4 bra CONSUME;\nbra END;\n\
         PRODUCER:\nsetp.ne.u32 %p5, %r1, 32;\n@%p5 bra END;\n\
         PRODUCE:\n{divide}neg.s32 %r7, %r6;\nnot.b32 %r9, %r6;\nand.b32 %r9, %r9, 1;\n\
         mul.lo.s32 %r15, %r6, -{turn};\nshl.b32 %r10, %r5, 3;\nadd.s32 %r15, %r15, %r10;\n\
         add.s32 %r16, %r42, %r15;\nadd.s32 %r17, %r43, %r15;\n{given}\
         mbarrier.arrive.expect_tx.shared.b64 _, [%r16], 128;\n{}\ncvt.u32.u64 %r19, %rd7;\n\
         add.s64 %rd8, %rd9, %rd5;\n\
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r19], [%rd8], 128, [%r16];\n\
         add.s64 %rd5, %rd5, 128;\nadd.s32 %r5, %r5, 1;\nsetp.lt.u32 %p4, %r5, %r40;\n@%p4 bra PRODUCE;",
        widened.replace("TILE", &tile.to_string())
    );
    check(&kernel(stages, 32, &code), &["--property", "race"])
}

#[test]
fn slots_that_wrap_around_before_they_are_widened() {
    let whole =
        "mad.lo.s32 %r18, %r7, TILE, %r41;\ncvt.u64.u32 %rd6, %r18;\nadd.s64 %rd7, %rd5, %rd6;";
    let apart = "mul.lo.s32 %r18, %r6, -TILE;\ncvt.u64.u32 %rd6, %r18;\nadd.s64 %rd7, %rd5, %rd6;\n\
                 cvt.u64.u32 %rd6, %r41;\nadd.s64 %rd7, %rd7, %rd6;";
    let signed = &whole.replace("cvt.u64.u32", "cvt.s64.s32");
    insta::assert_snapshot!(copied(3, 128, whole, true), @"
    exit 0
    --- stdout
    kernel.ptx: race: PROVED for every p_n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(copied(5, 128, apart, true), @"
    exit 0
    --- stdout
    kernel.ptx: race: PROVED for every p_n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(copied(3, 128, signed, true), @"
    exit 0
    --- stdout
    kernel.ptx: race: PROVED for every p_n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(copied(3, 128, whole, false), @"
    exit 1
    --- stdout
    kernel.ptx: race: REFUTED at p_n = 4: smem_tile[0]: the read by warp0 at line 51 and the asynchronous write that warp1 starts at line 79 are not ordered: an arrival of warp0 after line 51 that warp1 waits for before line 79 would order them
    --- stderr
    ");
    insta::assert_snapshot!(copied(3, 120, whole, true), @"
    exit 4
    --- stdout
    kernel.ptx: race: UNKNOWN line 82, `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r19], [%rd8], 128, [%r16]`: this access may lie outside of `tile`: how far its address moves is not followed
    --- stderr
    ");
    // The high bits are taken, too.
    let high = format!("{whole}\nshr.u64 %rd7, %rd7, 1;\nshl.b64 %rd7, %rd7, 1;");
    insta::assert_snapshot!(copied(3, 128, &high, true), @"
    exit 4
    --- stdout
    kernel.ptx: race: UNKNOWN line 84, `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r19], [%rd8], 128, [%r16]`: `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes`: its address is based on no shared variable
    --- stderr
    ");
}

/// A ring of this many stages, a multiple of seven, in rounds that are written out, with the rest behind them: the
/// quotient by seven needs a factor of 33 bits. In the rest, this parity is waited for.
fn of_seven(stages: u32, copies: u32, late: &str) -> String {
    let shift = match stages {
        7 => String::new(),
        _ => "shr.u32 %r29, %r28, 1;\nmov.u32 %r28, %r29;\n".to_owned(),
    };
    let round = |label: &str, from: &str, to: &str, turn: &str, at: &str| {
        let waits = wait(label, "%r36", "%r24");
        format!(
            "add.s32 %r28, %r5, {at};\nshl.b32 %r30, %r28, 3;\n{shift}mul.wide.u32 %rd1, %r28, 613566757;\n\
             shr.u64 %rd2, %rd1, 32;\ncvt.u32.u64 %r20, %rd2;\nsub.s32 %r21, %r28, %r20;\nshr.u32 %r22, %r21, 1;\n\
             add.s32 %r23, %r22, %r20;\nshr.u32 %r23, %r23, 2;\nmul.lo.s32 %r31, %r23, -{};\n\
             add.s32 %r31, %r31, %r30;\n{turn}and.b32 %r24, %r24, 1;\nadd.s32 %r36, {from}, %r31;\n{waits}\
             add.s32 %r37, {to}, %r31;\nmbarrier.arrive.shared.b64 _, [%r37];\n",
            8 * stages
        )
    };
    let side = |name: &str, from: &str, to: &str, turn: &str, last: &str| {
        let written: String = (0..copies)
            .map(|copy| round(&format!("{name}{copy}"), from, to, turn, &copy.to_string()))
            .collect();
        let rest = round(&format!("{name}LAST"), from, to, last, "0");
        let less = copies - 1;
        format!(
            "mov.u32 %r5, 0;\nand.b32 %r44, %r40, {less};\nsub.s32 %r45, %r40, %r44;\n\
             setp.eq.s32 %p5, %r45, 0;\n@%p5 bra {name}REST;\n\
             {name}:\n{written}add.s32 %r5, %r5, {copies};\nsetp.ne.s32 %p4, %r5, %r45;\n@%p4 bra {name};\n\
             {name}REST:\nsetp.eq.s32 %p5, %r44, 0;\n@%p5 bra END;\n\
             {name}MORE:\n{rest}add.s32 %r5, %r5, 1;\nsetp.ne.s32 %p4, %r5, %r40;\n@%p4 bra {name}MORE;\nbra END;\n"
        )
    };
    let (same, other) = ("mov.u32 %r24, %r23;\n", "not.b32 %r24, %r23;\n");
    let code = format!(
        "mov.u32 %r42, full;\nmov.u32 %r43, empty;\n@%p2 bra PRODUCER;\n@%p1 bra END;\n{}\
         PRODUCER:\nsetp.ne.u32 %p5, %r1, 32;\n@%p5 bra END;\n{}",
        side("C", "%r42", "%r43", same, late),
        side("P", "%r43", "%r42", other, other)
    );
    check(&kernel(stages, 1, &code), &[])
}

#[test]
fn rings_of_seven() {
    let right = "mov.u32 %r24, %r23;\n";
    insta::assert_snapshot!(of_seven(7, 2, right), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(of_seven(7, 4, right), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(of_seven(14, 4, right), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(of_seven(7, 4, "not.b32 %r24, %r23;\n"), @r"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 1: warp1 first waits for empty_bar[0] with parity 1 (line 259). On a new mbarrier that wait passes at once, but warp0 has completed phase 0 (line 147), after its own first wait, for full_bar[0] with parity 1 (line 144), had passed at once, too. One of these two waits is for the wrong parity or comes too early
    --- stderr
    ");
}

/// Two warps take turns at named barriers, the first of them not in its first round; this is what is asked before it waits.
fn turns(asked: &str, last: &str) -> String {
    let code = format!(
        "@%p3 bra END;\nshr.u32 %r2, %r1, 5;\nmov.u32 %r5, 0;\nadd.s32 %r6, %r2, 8;\nxor.b32 %r7, %r2, 1;\n\
         add.s32 %r7, %r7, 8;\nadd.s32 %r8, %r40, -1;\n\
         ROUND:\n{asked}\n@%p5 bra FIRST;\nbar.sync %r6, 64;\nFIRST:\nadd.s32 %r5, %r5, 1;\n\
         setp.eq.u32 %p6, %r2, 0;\nsetp.{last}.s32 %p7, %r5, %r40;\nor.pred %p6, %p6, %p7;\n\
         @!%p6 bra LAST;\nbar.arrive %r7, 64;\nLAST:\nsetp.lt.u32 %p4, %r5, %r40;\n@%p4 bra ROUND;"
    );
    check(&kernel(0, 0, &code), &[])
}

#[test]
fn disjunctions_of_what_moves() {
    let nested = "or.b32 %r9, %r2, 0;\nor.b32 %r10, %r9, %r5;\nsetp.eq.s32 %p5, %r10, 0;";
    insta::assert_snapshot!(turns(nested, "lt"), @r"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    let sign = "sub.s32 %r9, 0, %r5;\nneg.s32 %r11, %r2;\nor.b32 %r10, %r9, %r11;\nsetp.ge.s32 %p5, %r10, 0;";
    insta::assert_snapshot!(turns(sign, "lt"), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    // The other way round, the first warp waits in its first round.
    insta::assert_snapshot!(turns("or.b32 %r10, %r5, %r2;\nsetp.ne.s32 %p5, %r10, 0;", "lt"), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at p_n = 1: cta_bar[8] takes 64 threads, 32 came (warp0), and nobody else comes (line 33): warp1 never comes, only at cta_bar[0]
    --- stderr
    ");
    insta::assert_snapshot!(turns("or.b32 %r10, %r5, 1;\nsetp.eq.s32 %p5, %r10, 0;", "lt"), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at p_n = 1: cta_bar[8] takes 64 threads, 32 came (warp0), and nobody else comes (line 33): warp1 never comes, only at others such as cta_bar[0]
    --- stderr
    ");
    // One side has changed in between, or is overwritten by the outcome.
    let changed = "or.b32 %r10, %r5, %r2;\nadd.s32 %r5, %r5, 1;\nadd.s32 %r5, %r5, -1;\nsetp.eq.s32 %p5, %r10, 0;";
    insta::assert_snapshot!(turns(changed, "lt"), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 34, `@%p5 bra FIRST`: a branch decides about synchronization, but %p5 is not known here: `or.b32` of these values is not followed, or may wrap around (line 30, `or.b32 %r10, %r5, %r2`)
    --- stderr
    ");
    let own = "mov.u32 %r10, %r5;\nor.b32 %r10, %r10, %r2;\nsetp.eq.s32 %p5, %r10, 0;";
    insta::assert_snapshot!(turns(own, "lt"), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 33, `@%p5 bra FIRST`: a branch decides about synchronization, but %p5 is not known here: `or.b32` of these values is not followed, or may wrap around (line 31, `or.b32 %r10, %r10, %r2`)
    --- stderr
    ");
}

#[test]
fn comparisons_that_write_numbers() {
    let met = |number: &str| check(&kernel(0, 0, &format!("{number}\nbar.sync %r3, 64;")), &[]);
    // 3 in every thread.
    insta::assert_snapshot!(met("set.lt.u32.u32 %r2, %r1, 64;\nadd.u32 %r3, %r2, 4;"), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(met("set.lt.u32.u32 %r2, %r1, 32;\nadd.u32 %r3, %r2, 4;"), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED cta_bar[3] takes 64 threads, 32 came (warp0), and nobody else comes (line 24): warp1 never comes, only at others such as cta_bar[0]
    --- stderr
    ");
    insta::assert_snapshot!(met("sub.s32 %r2, %r1, 64;\nslct.b32.s32 %r3, 2, 9, %r2;"), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(met("sub.s32 %r2, %r1, 32;\nslct.b32.s32 %r3, 2, 9, %r2;"), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED cta_bar[9] takes 64 threads, 32 came (warp0), and nobody else comes (line 24): warp1 never comes, only at others such as cta_bar[0]
    --- stderr
    ");
    insta::assert_snapshot!(met("set.lt.f32.u32 %r2, %r1, 64;\nadd.u32 %r3, %r2, 4;"), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 24, `bar.sync %r3, 64`: `bar.sync`: %r3 is not known here: floating-point numbers are not followed (line 22, `set.lt.f32.u32 %r2, %r1, 64`)
    --- stderr
    ");
    // Of the launch.
    let twice = "set.lt.and.u32.u32 %r2, %r40, 7, %p2;\nand.b32 %r2, %r2, 1;\nadd.u32 %r3, %r2, 4;";
    insta::assert_snapshot!(met(twice), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 0: cta_bar[4] takes 64 threads, 32 came (warp0), and nobody else comes (line 25): warp1 never comes, only at others such as cta_bar[0]
    --- stderr
    ");
}

/// A ring of three stages in which the consumer goes on by this many places more behind one round.
fn ahead(round: u32, places: usize, stages: u32) -> String {
    let next = format!(
        "add.s32 %r6, %r6, 1;\nsetp.eq.s32 %p5, %r6, {stages};\nselp.b32 %r6, 0, %r6, %p5;\n\
         selp.u32 %r8, 1, 0, %p5;\nxor.b32 %r7, %r7, %r8;\n"
    );
    let more = next.repeat(places);
    let side = |name: &str, from: &str, to: &str, parity: u32, more: &str| {
        let waits = wait(&format!("{name}WAIT"), "%r10", "%r7");
        format!(
            "mov.u32 %r5, 0;\nmov.u32 %r6, 0;\nmov.u32 %r7, {parity};\nmov.u32 %r42, {from};\nmov.u32 %r43, {to};\n\
             {name}:\nshl.b32 %r9, %r6, 3;\nadd.s32 %r10, %r42, %r9;\nadd.s32 %r11, %r43, %r9;\n{waits}\
             mbarrier.arrive.shared.b64 _, [%r11];\n{next}{more}add.s32 %r5, %r5, 1;\n\
             setp.lt.u32 %p4, %r5, %r40;\n@%p4 bra {name};\nbra END;\n"
        )
    };
    let more = format!("setp.ne.u32 %p6, %r5, {round};\n@%p6 bra NEXT;\n{more}NEXT:\n");
    let code = format!(
        "@%p3 bra END;\n@%p2 bra CONSUMER;\n@%p1 bra END;\n{}CONSUMER:\nsetp.ne.u32 %p5, %r1, 32;\n@%p5 bra END;\n{}",
        side("P", "empty", "full", 1, ""),
        side("C", "full", "empty", 0, &more)
    );
    check(&kernel(stages, 1, &code), &[])
}

#[test]
fn rings_that_come_around_after_some_rounds() {
    // Twice around is where it was.
    insta::assert_snapshot!(ahead(2, 6, 3), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(ahead(2, 1, 3), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 4: full_bar[1] completes once, and warp1 waits for one more (line 66): warp0 arrives once and has ended
    --- stderr
    ");
    insta::assert_snapshot!(ahead(5, 3, 3), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 7: warp1 waits for full_bar[0] with parity 1 twice in a row (line 66), and full_bar[0] has completed 3 times by then, so this wait needs another completion: warp0 arrives 3 times and has ended
    --- stderr
    ");
    // One stage: only the parity goes on.
    insta::assert_snapshot!(ahead(0, 1, 1), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 2: warp1 waits for full_bar with parity 0 twice in a row (line 62), and full_bar has completed 2 times by then, so this wait needs another completion: warp0 arrives 2 times and has ended
    --- stderr
    ");
}

#[test]
fn rounds_that_are_left_out() {
    let rounds = |first: &str, second: &str| {
        let side = |name: &str, skipped: &str| {
            format!(
                "{name}:\nadd.s32 %r3, %r3, 1;\nsetp.ge.s32 %p4, %r3, %r40;\n@%p4 bra END;\n{skipped}\n\
                 bar.sync 1, 64;\nbra {name};\n"
            )
        };
        let code = format!(
            "mov.u32 %r3, -1;\n@%p2 bra SECOND;\n{}{}",
            side("FIRST", first),
            side("SECOND", second)
        );
        check(&kernel(0, 0, &code), &[])
    };
    let skipped = |name: &str, rounds: &[u32]| {
        let one = |round: &u32| format!("setp.eq.s32 %p5, %r3, {round};\n@%p5 bra {name};\n");
        rounds.iter().map(one).collect::<String>()
    };
    let (first, second) = (skipped("FIRST", &[3, 5]), skipped("SECOND", &[5, 3]));
    insta::assert_snapshot!(rounds(&first, &second), @r"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(rounds(&first, &skipped("SECOND", &[4, 5])), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 4: cta_bar[1] takes 64 threads, 32 came (warp1), and nobody else comes (line 44): 7 warps come in all, 2 for each completion, and warp0 and warp1 completed 3 before
    --- stderr
    ");
    insta::assert_snapshot!(rounds(&first, &skipped("SECOND", &[3])), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 6: cta_bar[1] takes 64 threads, 32 came (warp1), and nobody else comes (line 42): 9 warps come in all, 2 for each completion, and warp0 and warp1 completed 4 before
    --- stderr
    ");
}

/// A ring of three stages over the half of `n`, rounded up, and waits for each stage at the end that are this many rounds
/// further on.
fn drained(further: u32, parity: &str) -> String {
    let divide = |from: &str| divided(3, from, "%r6");
    let address = |of: &str| {
        format!(
            "mul.lo.s32 %r7, %r6, -24;\nshl.b32 %r8, %r5, 3;\nadd.s32 %r7, %r7, %r8;\nadd.s32 %r10, {of}, %r7;\n"
        )
    };
    let both = |from: &str, to: &str| format!("{}add.s32 %r11, {to}, %r7;\n", address(from));
    let ends: String = (0..3)
        .map(|stage| {
            format!(
                "add.s32 %r5, %r41, {};\n{}{}{parity}\nand.b32 %r9, %r9, 1;\n{}",
                stage + further,
                divide("%r5"),
                address("%r43"),
                wait(&format!("END{stage}"), "%r10", "%r9")
            )
        })
        .collect();
    let round = |name: &str, from: &str, to: &str, turn: &str| {
        format!(
            "mov.u32 %r5, 0;\n{name}:\nsetp.ge.u32 %p4, %r5, %r41;\n@%p4 bra {name}END;\n{}{}{turn}\n\
             and.b32 %r9, %r9, 1;\n{}mbarrier.arrive.shared.b64 _, [%r11];\nadd.s32 %r5, %r5, 1;\nbra {name};\n\
             {name}END:\n",
            divide("%r5"),
            both(from, to),
            wait(&format!("{name}WAIT"), "%r10", "%r9")
        )
    };
    let code = format!(
        "add.s32 %r41, %r40, 1;\nshr.u32 %r41, %r41, 1;\nmov.u32 %r42, full;\nmov.u32 %r43, empty;\n\
         @%p2 bra CONSUMER;\n@%p1 bra END;\n{}{ends}bra END;\n\
         CONSUMER:\nsetp.ne.u32 %p5, %r1, 32;\n@%p5 bra END;\n{}",
        round("P", "%r43", "%r42", "not.b32 %r9, %r6;"),
        round("C", "%r42", "%r43", "mov.u32 %r9, %r6;")
    );
    check(&kernel(3, 1, &code), &[])
}

#[test]
fn what_is_waited_for_after_half_as_many_rounds() {
    insta::assert_snapshot!(drained(0, "not.b32 %r9, %r6;"), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n_over_2_up in 0..=536870912 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(drained(1, "not.b32 %r9, %r6;"), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n_over_2_up = 0: nobody arrives at empty_bar[0], for which warp0 waits (line 92): warp1 never arrives, because `for i in 0..n_over_2_up` (line 101) makes no trip
    --- stderr
    ");
    insta::assert_snapshot!(drained(0, "mov.u32 %r9, %r6;"), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n_over_2_up = 0: nobody arrives at empty_bar[0], for which warp0 waits (line 66): warp1 never arrives, because `for i in 0..n_over_2_up` (line 101) makes no trip
    --- stderr
    ");
}
