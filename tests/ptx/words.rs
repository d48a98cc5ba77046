//! Two warps that meet at a barrier where words of memory pass a test: they have to ask the same of the same words.

use crate::support::program::Folder;

/// What one warp does in each round: `index` computes the index in `%r8` from the round `%r6`, `load` reads `%r9`, and `test` says whether
/// the warp comes to the barrier.
#[derive(Clone, Copy)]
struct Asks<'a> {
    index: &'a str,
    load: &'a str,
    test: &'a str,
}

const MORE_THAN_3: Asks<'static> = Asks {
    index: "mov.u32 %r8, %r6;",
    load: "ld.global.u32 %r9, [%rd6];",
    test: "setp.gt.s32 %p3, %r9, 3;",
};

fn warp(number: u32, asks: Asks<'_>) -> String {
    let Asks { index, load, test } = asks;
    format!(
        "W{number}:\nmov.u32 %r6, 0;\nsetp.lt.s32 %p2, %r4, 1;\n@%p2 bra END;\nLOOP{number}:\n{index}\n\
         mul.wide.u32 %rd5, %r8, 4;\nadd.u64 %rd6, %rd2, %rd5;\n{load}\n{test}\n@!%p3 bra NEXT{number};\n\
         bar.sync 1, 64;\nNEXT{number}:\nadd.u32 %r6, %r6, 1;\nsetp.lt.s32 %p4, %r6, %r4;\n\
         @%p4 bra LOOP{number};\nbra END;\n"
    )
}

/// What the graph says of a kernel.
fn decided(code: String) -> String {
    let folder = Folder::new();
    folder.file("kernel.ptx", code);
    folder.run(&[
        "check",
        "-q",
        "--recovery",
        "graph",
        "--property",
        "deadlock",
        "kernel.ptx",
    ])
}

/// The verdict of the graph for two warps, up to what the proof is or what hangs.
fn verdict(one: Asks<'_>, other: Asks<'_>) -> String {
    let code = format!(
        ".version 8.7\n.target sm_90a\n.address_size 64\n\
         .visible .entry meets(.param .u64 mask, .param .u64 data, .param .u32 n, .param .u32 m)\n\
         .reqntid 64, 1, 1\n{{\n.reg .pred %p<16>;\n.reg .b16 %rs<4>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<20>;\n\
         ld.param.u64 %rd1, [mask];\ncvta.to.global.u64 %rd2, %rd1;\nld.param.u64 %rd3, [data];\n\
         cvta.to.global.u64 %rd4, %rd3;\nld.param.u32 %r4, [n];\nld.param.u32 %r7, [m];\nmov.u32 %r2, %tid.x;\n\
         setp.gt.u32 %p1, %r2, 31;\n@%p1 bra W1;\n{}{}END:\nret;\n}}\n",
        warp(0, one),
        warp(1, other)
    );
    let shown = decided(code);
    let (_, verdict) = shown
        .split_once("deadlock: ")
        .unwrap_or_else(|| panic!("{shown}"));
    let verdict = verdict.lines().next().unwrap_or_default();
    verdict.split(": ").next().unwrap_or_default().to_owned()
}

fn testing(test: &str) -> Asks<'_> {
    Asks {
        test,
        ..MORE_THAN_3
    }
}

#[test]
fn warps_that_ask_the_same_of_a_word_meet() {
    let proved = "PROVED for every n in 0..=1073741823, pattern at_mask and schedule";
    assert_eq!(verdict(MORE_THAN_3, MORE_THAN_3), proved);
    let less_than_4 = testing("setp.lt.s32 %p5, %r9, 4;\nnot.pred %p3, %p5;");
    assert_eq!(verdict(MORE_THAN_3, less_than_4), proved);
    let constant = Asks {
        load: "ld.global.nc.u32 %r9, [%rd6];",
        ..MORE_THAN_3
    };
    assert_eq!(verdict(MORE_THAN_3, constant), proved);
    let bit = testing("and.b32 %r10, %r9, 2;\nsetp.ne.u32 %p3, %r10, 0;");
    assert_eq!(verdict(bit, bit), proved);
}

/// Another number, the other kind of comparison, another bit: these hang with some words.
#[test]
fn warps_that_ask_something_else_are_not_proved() {
    for test in [
        "setp.gt.s32 %p3, %r9, 4;",
        "setp.lt.s32 %p3, %r9, 4;",
        "setp.gt.u32 %p3, %r9, 3;",
        "setp.ne.u32 %p3, %r9, 0;",
        "and.b32 %r10, %r9, 4;\nsetp.ne.u32 %p3, %r10, 0;",
        "and.b32 %r10, %r9, 255;\nsetp.gt.s32 %p3, %r10, 3;",
        "cvt.s32.s8 %r10, %r9;\nsetp.gt.s32 %p3, %r10, 3;",
        "setp.gt.s32 %p3, %r9, %r7;",
        "setp.gt.s32 %p3, %r9, %r6;",
    ] {
        let verdict = verdict(MORE_THAN_3, testing(test));
        assert!(!verdict.starts_with("PROVED"), "{test}: {verdict}");
    }
}

const HALF: &str = "shr.u32 %r8, %r6, 1;";
const BLOCK: &str = "shl.b32 %r10, %r9, 1;\nand.b32 %r11, %r6, 1;\nor.b32 %r10, %r10, %r11;\nsetp.gt.s32 %p3, %r7, %r10;";
const OF_TWO: &str = "mul.wide.u32 %rd7, %r8, 4;\nadd.u64 %rd8, %rd4, %rd7;\nld.global.u32 %r12, [%rd8];\n\
                      add.s32 %r13, %r9, %r12;\nshl.b32 %r13, %r13, 1;\nsetp.gt.s32 %p3, %r13, 0;";

/// A number of the launch, the round, a word of another array, a block that a word and the round say together.
#[test]
fn warps_that_ask_the_same_of_more_than_a_word_meet() {
    let proved = "PROVED for every n in 0..=1073741823, pattern at_mask and schedule";
    for (one, other) in [
        ("setp.gt.s32 %p3, %r9, %r7;", "setp.lt.s32 %p3, %r7, %r9;"),
        ("setp.gt.s32 %p3, %r9, %r6;", "setp.gt.s32 %p3, %r9, %r6;"),
        (OF_TWO, OF_TWO),
    ] {
        assert_eq!(verdict(testing(one), testing(other)), proved, "{one}");
    }
    let block = |test| Asks {
        index: HALF,
        ..testing(test)
    };
    let other =
        "and.b32 %r11, %r6, 1;\nmad.lo.s32 %r10, %r9, 2, %r11;\nsetp.lt.s32 %p3, %r10, %r7;";
    assert_eq!(verdict(block(BLOCK), block(other)), proved);
    // One pointer is computed anew in each round, the other one moves on.
    let moves = Asks {
        index: "setp.eq.u32 %p5, %r6, 0;\nselp.b64 %rd12, %rd2, %rd12, %p5;\nmov.u32 %r8, %r6;",
        load: "ld.global.u32 %r9, [%rd12];\nadd.u64 %rd12, %rd12, 4;",
        test: "setp.gt.s32 %p3, %r9, %r7;",
    };
    let anew = testing("setp.gt.s32 %p3, %r9, %r7;");
    assert!(!verdict(anew, moves).starts_with("REFUTED"));
    let bit = "and.b32 %r10, %r6, 31;\nshr.u32 %r10, %r9, %r10;\nand.b32 %r10, %r10, 1;\nsetp.ne.u32 %p3, %r10, 0;";
    let bit = Asks {
        index: "shr.u32 %r8, %r6, 5;",
        ..testing(bit)
    };
    assert_eq!(verdict(bit, bit), proved);
}

/// Each of these hangs with some words. What each word says is not known, so a hang is not reported.
#[test]
fn warps_that_ask_something_else_of_more_than_a_word_are_not_proved() {
    let launch = testing("setp.gt.s32 %p3, %r9, %r7;");
    let with = |index, test| Asks {
        index,
        ..testing(test)
    };
    let same = MORE_THAN_3.index;
    let row = "mad.lo.u32 %r8, %r7, %r4, %r6;";
    for (one, other) in [
        (launch, testing("setp.ge.s32 %p3, %r9, %r7;")),
        (launch, testing("setp.gt.u32 %p3, %r9, %r7;")),
        (launch, testing("setp.gt.s32 %p3, %r9, %r4;")),
        (
            launch,
            testing("cvt.s32.s8 %r10, %r9;\nsetp.gt.s32 %p3, %r10, %r7;"),
        ),
        (launch, with("add.u32 %r8, %r6, 1;", launch.test)),
        (launch, with(row, launch.test)),
        (
            with("rem.u32 %r8, %r6, 3;", launch.test),
            with("rem.u32 %r8, %r6, 4;", launch.test),
        ),
        (with(HALF, BLOCK), with(same, BLOCK)),
        (
            with(same, OF_TWO),
            testing(&OF_TWO.replace("add.s32", "sub.s32")),
        ),
        (
            with(same, OF_TWO),
            testing(&OF_TWO.replace("[%rd8]", "[%rd8+4]")),
        ),
        (
            with(same, OF_TWO),
            testing(&OF_TWO.replace("[%rd8]", "[%rd2]")),
        ),
        (
            testing("setp.gt.s32 %p3, %r9, %r6;"),
            testing("add.u32 %r10, %r6, 1;\nsetp.gt.s32 %p3, %r9, %r10;"),
        ),
    ] {
        let verdict = verdict(one, other);
        let is_open = verdict.starts_with("UNKNOWN the recovered protocol has a counterexample");
        assert!(is_open, "{}, {}: {verdict}", one.test, other.test);
    }
}

/// What is divided by 0 has no value; sums of words and lanes are no functions of the round; one of two arrays is written.
#[test]
fn warps_that_ask_what_is_no_function_are_not_followed() {
    let written = format!("st.global.u32 [%rd4], %r2;\n{OF_TWO}");
    for asks in [
        testing("div.u32 %r10, %r7, %r9;\nsetp.gt.u32 %p3, %r10, 2;"),
        testing("add.s32 %r21, %r21, %r9;\nsetp.gt.s32 %p3, %r21, %r7;"),
        testing("add.s32 %r10, %r9, %r2;\nsetp.gt.s32 %p3, %r10, %r7;"),
        testing("mov.u32 %r10, %clock;\nsetp.gt.s32 %p3, %r9, %r10;"),
        testing(&written),
        Asks {
            index: "add.s32 %r8, %r6, -1;",
            ..testing("setp.gt.s32 %p3, %r9, %r7;")
        },
    ] {
        let verdict = verdict(asks, asks);
        assert!(
            verdict.starts_with("UNKNOWN line"),
            "{}: {verdict}",
            asks.test
        );
    }
}

/// CTAs that wait for each other may each have another function of the number of the CTA.
#[test]
fn functions_of_ctas_that_wait_for_each_other_are_refused() {
    let kernel = std::fs::read_to_string("tests/ptx/kernels/visited.ptx").unwrap();
    let (_, entry) = kernel.split_once(".visible .entry in_turns(").unwrap();
    let (entry, _) = entry.split_once(".visible .entry").unwrap();
    let head = kernel.split_once(".visible .entry").unwrap().0;
    let mut code = format!("{head}.visible .entry in_turns({entry}");
    for (of_mask, word) in [("%p12", "%rs5"), ("%p6", "%rs3")] {
        let old = format!("setp.eq.s16 \t{of_mask}, {word}, 0;");
        assert!(code.contains(&old), "{old}");
        let new = format!("cvt.u32.u16 %r95, {word};\nsetp.le.s32 {of_mask}, %r95, %r2;");
        code = code.replace(&old, &new);
    }
    let shown = decided(code.replace("%r<91>", "%r<99>"));
    assert!(
        shown.contains("depends on more than a single word of memory"),
        "{shown}"
    );
}

/// The next word, every other word, the words behind another pointer.
#[test]
fn warps_that_ask_of_another_word_hang() {
    let next = Asks {
        index: "add.u32 %r8, %r6, 1;",
        ..MORE_THAN_3
    };
    assert_eq!(
        verdict(MORE_THAN_3, next),
        "REFUTED at n = 1, at_mask = {(0)}"
    );
    let data = Asks {
        load: "add.u64 %rd6, %rd4, %rd5;\nld.global.u32 %r9, [%rd6];",
        ..MORE_THAN_3
    };
    assert_eq!(
        verdict(MORE_THAN_3, data),
        "REFUTED at n = 1, at_mask = {(0)}, at_data = {}"
    );
    let every_other = Asks {
        index: "shr.u32 %r8, %r6, 1;",
        ..MORE_THAN_3
    };
    let verdict = verdict(MORE_THAN_3, every_other);
    assert!(!verdict.starts_with("PROVED"), "{verdict}");
}

/// Who is expected to write it, or writes it, may do so between the two loads. Each lane may read another word.
#[test]
fn warps_that_ask_of_words_that_change_are_not_followed() {
    for load in [
        "ld.volatile.global.u32 %r9, [%rd6];",
        "ld.global.cv.u32 %r9, [%rd6];",
        "ld.relaxed.gpu.global.u32 %r9, [%rd6];",
        "st.global.u32 [%rd2+4], %r2;\nld.global.u32 %r9, [%rd6];",
        "red.global.add.u32 [%rd6], 1;\nld.global.u32 %r9, [%rd6];",
        "mad.wide.u32 %rd10, %r2, 4, %rd6;\nld.global.u32 %r9, [%rd10];",
    ] {
        let asks = Asks {
            load,
            ..MORE_THAN_3
        };
        for verdict in [verdict(asks, asks), verdict(MORE_THAN_3, asks)] {
            assert!(verdict.starts_with("UNKNOWN line"), "{load}: {verdict}");
        }
    }
}
