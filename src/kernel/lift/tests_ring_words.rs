//! Tests of words that warps hand over in shared memory by mbarriers, and of loops that continue depending on these
//! words.

use super::tests::first_of_threads;

const HEAD: &str = ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u32 n) {\n.reg .pred %p<12>;\n.reg .b32 %r<24>;\n\
     .shared .align 8 .b64 full[2];\n.shared .align 8 .b64 empty[2];\n.shared .align 8 .b64 other;\n.shared .align 4 .b32 word[2];\n\
     mov.u32 %r1, %tid.x;\nand.b32 %r2, %r1, 31;\nsetp.eq.u32 %p1, %r1, 0;\nsetp.eq.u32 %p2, %r2, 0;\n";

/// In each round, the first warp hands over whether there is one more tile, and reads this word, too. The other warps
/// read it.
const TILES: &str = "mov.u32 %r3, full;\nmov.u32 %r4, empty;\nmov.u32 %r5, word;\nmov.u32 %r13, other;\n\
     @%p1 mbarrier.init.shared.b64 [%r3], 1;\n@%p1 mbarrier.init.shared.b64 [%r4], READERS;\n@%p1 mbarrier.init.shared.b64 [%r13], 1;\n\
     bar.sync 0;\nld.param.u32 %r6, [n];\nsetp.gt.s32 %p3, %r6, 0;\nmov.u32 %r7, 0;\nmov.u32 %r8, 0;\n\
     setp.ge.u32 %p4, %r1, 32;\n@%p4 bra reader;\nwriter:\n@!%p3 bra done;\nadd.u32 %r8, %r8, 1;\nxor.b32 %r9, %r7, 1;\n\
     FREE\nsetp.lt.s32 %p5, %r8, %r6;\nselp.u32 %r10, 1, 0, %p5;\nSTORE\n\
     wait1:\nmbarrier.try_wait.parity.shared.b64 %p8, [%r3], %r7;\n@!%p8 bra wait1;\n\
     ld.shared.u32 %r11, [%r5];\nbar.warp.sync -1;\n@%p2 mbarrier.arrive.shared.b64 _, [%r4];\nxor.b32 %r7, %r7, 1;\n\
     setp.ne.u32 %p3, %r11, 0;\nbra writer;\nreader:\n@!%p3 bra done;\nREAD\nxor.b32 %r7, %r7, 1;\n\
     setp.ne.u32 %p3, %r11, 0;\nbra reader;\ndone:\nret;\n}\n";

const FREE: &str = "wait0:\nmbarrier.try_wait.parity.shared.b64 %p7, [%r4], %r9;\n@!%p7 bra wait0;";
const STORE: &str = "@%p2 st.shared.u32 [%r5], %r10;\n@%p2 mbarrier.arrive.shared.b64 _, [%r3];";
const FULL: &str = "wait2:\nmbarrier.try_wait.parity.shared.b64 %p9, [%r3], %r7;\n@!%p9 bra wait2;";
const LOAD: &str = "ld.shared.u32 %r11, [%r5];";
const TOGETHER: &str = "bar.warp.sync -1;";
const RELEASE: &str = "@%p2 mbarrier.arrive.shared.b64 _, [%r4];";

fn tiles(readers: &str, free: &str, store: &str, read: &[&str]) -> Result<String, String> {
    let code = TILES
        .replace("READERS", readers)
        .replace("FREE", free)
        .replace("STORE", store)
        .replace("READ", &read.join("\n"));
    let found = first_of_threads(&format!("{HEAD}{code}"), 1, 64)?;
    assert!(
        found.validation.compared.len() >= 2,
        "{:?}",
        found.validation
    );
    Ok(found.text)
}

const READ: [&str; 4] = [FULL, LOAD, TOGETHER, RELEASE];

/// The loops of all warps that read the word run equally often.
#[test]
fn loops_go_on_as_a_word_says_that_a_warp_hands_over() {
    let text = tiles("2", FREE, STORE, &READ).unwrap();
    let roles = text.find("role warp0").map(|at| &text[at..]);
    insta::assert_snapshot!(roles.unwrap_or(&text), @"
    role warp0 warp {
        sync cta_bar[0] 64  // line 22
        for i in 0..handed_over {  // line 30
            wait empty_bar ((i + 1) % 2)  // line 34
            arrive full_bar  // line 39
            wait full_bar (i % 2)  // line 41
            arrive empty_bar  // line 45
        }
    }

    role warp1 warp {
        sync cta_bar[0] 64  // line 22
        for i in 0..handed_over {  // line 50
            wait full_bar (i % 2)  // line 52
            arrive empty_bar  // line 56
        }
    }
    ");
    assert!(text.contains("Assumed: words of shared memory that a warp hands over by mbarriers"));
    assert!(text.contains("Assumed: a word that a warp hands over by mbarriers ends"));
}

/// Each lane may arrive for itself. The lane that stores need not be the lane that arrives, if the warp meets in
/// between.
#[test]
fn lanes_that_hand_a_word_over() {
    let each = "mbarrier.arrive.shared.b64 _, [%r4];";
    tiles("33", FREE, STORE, &[FULL, LOAD, each]).unwrap();
    let apart = "setp.eq.u32 %p6, %r2, 1;\n@%p6 st.shared.u32 [%r5], %r10;\nbar.warp.sync -1;\n@%p2 mbarrier.arrive.shared.b64 _, [%r3];";
    tiles("2", FREE, apart, &READ).unwrap();
}

const MULTIPLY: &str = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, 1, 1, 1, 0, 0;";

/// In each round that a word asks for, a warpgroup executes `multiply`, and reads the next word at the address that
/// `word` computes.
fn multiplies(multiply: &str, word: &str) -> Result<String, String> {
    let load = format!("{word}\nld.shared.u32 %r11, [%r15];");
    let read = [multiply, FULL, &load, TOGETHER, RELEASE].join("\n");
    let code = TILES
        .replace("READERS", "5")
        .replace("FREE", FREE)
        .replace("STORE", STORE)
        .replace("READ", &read)
        .replace(
            "reader:\n",
            "reader:\nsetp.lt.u32 %p10, %r1, 128;\n@%p10 bra done;\n",
        );
    let registers = ".reg .f32 %f<8>;\n.reg .b64 %rd<8>;\n";
    let found = first_of_threads(&format!("{HEAD}{registers}{code}"), 1, 256)?;
    Ok(found.text)
}

/// The four warps of a warpgroup multiply equally often if all of them go by the word that another warp hands over.
/// This is not certain if one of them goes by another word, or skips a round.
#[test]
fn multiplications_as_a_word_says_that_a_warp_hands_over() {
    let same = "mov.u32 %r15, %r5;";
    let group =
        format!("{MULTIPLY}\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;");
    let text = multiplies(&group, same).unwrap();
    let role = text.find("role warps4_7").map(|at| &text[at..]);
    insta::assert_snapshot!(role.unwrap_or(&text), @"
    role warps4_7[w in 0..4] warp {
        sync cta_bar[0] 256  // line 24
        for i in 0..handed_over {  // line 53
            arrive wgmma_8  // line 56
            wait wgmma_8 (i % 2)  // line 57
            wait full_bar (i % 2)  // line 59
            arrive empty_bar  // line 64
        }
    }
    ");
    let other = "and.b32 %r15, %r1, 32;\nshr.u32 %r15, %r15, 3;\nadd.u32 %r15, %r5, %r15;";
    insta::assert_snapshot!(multiplies(&group, other).unwrap_err(), @"warps read different words that are handed over in shared memory");
    multiplies(MULTIPLY, same).unwrap();
    let leaves_out = format!(
        "add.u32 %r8, %r8, 1;\nsetp.eq.u32 %p11, %r8, 40000;\nsetp.ge.u32 %p10, %r1, 224;\n\
         and.pred %p11, %p11, %p10;\n@%p11 bra FEWER;\n{MULTIPLY}\nFEWER:"
    );
    insta::assert_snapshot!(multiplies(&leaves_out, same).unwrap_err(), @"all four warps of a warpgroup have to multiply together, equally often, and it is not certain that they do: otherwise this is undefined");
}

/// A word that may be read too early or too late is not the word of its round.
#[test]
fn words_that_may_be_others_decide_about_nothing() {
    let cases: [(&str, &str, &str, &str, &[&str]); 15] = [
        (
            "released before it is read",
            "2",
            FREE,
            STORE,
            &[FULL, RELEASE, LOAD],
        ),
        (
            "lanes read that have not met who releases",
            "2",
            FREE,
            STORE,
            &[FULL, LOAD, RELEASE],
        ),
        (
            "read before it is there",
            "2",
            FREE,
            STORE,
            &[LOAD, FULL, TOGETHER, RELEASE],
        ),
        (
            "not waited for",
            "2",
            FREE,
            STORE,
            &[LOAD, TOGETHER, RELEASE],
        ),
        (
            "not released",
            "1",
            FREE,
            STORE,
            &[
                FULL,
                LOAD,
                TOGETHER,
                "@%p2 mbarrier.arrive.shared.b64 _, [%r13];",
            ],
        ),
        ("one may release for the other", "1", FREE, STORE, &READ),
        (
            "stored behind the arrival",
            "2",
            FREE,
            "@%p2 mbarrier.arrive.shared.b64 _, [%r3];\n@%p2 st.shared.u32 [%r5], %r10;",
            &READ,
        ),
        (
            "stored by another lane than the one that arrives",
            "2",
            FREE,
            "setp.eq.u32 %p6, %r2, 1;\n@%p6 st.shared.u32 [%r5], %r10;\n@%p2 mbarrier.arrive.shared.b64 _, [%r3];",
            &READ,
        ),
        (
            "the arrival does not release",
            "2",
            FREE,
            "@%p2 st.shared.u32 [%r5], %r10;\n@%p2 mbarrier.arrive.relaxed.cta.shared.b64 _, [%r3];",
            &READ,
        ),
        ("stored before it is free", "2", "", STORE, &READ),
        (
            "the wait is for the phase that has not begun",
            "2",
            "wait0:\nmbarrier.try_wait.parity.shared.b64 %p7, [%r4], %r7;\n@!%p7 bra wait0;",
            STORE,
            &READ,
        ),
        (
            "somebody else stores",
            "2",
            FREE,
            STORE,
            &[
                FULL,
                LOAD,
                TOGETHER,
                "@%p2 st.shared.u32 [%r5], 1;",
                RELEASE,
            ],
        ),
        (
            "somebody else stores asynchronously",
            "2",
            FREE,
            STORE,
            &[
                FULL,
                LOAD,
                TOGETHER,
                "@%p2 st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r5], %r10, [%r13];",
                RELEASE,
            ],
        ),
        (
            "somebody else arrives",
            "2",
            FREE,
            STORE,
            &[
                FULL,
                LOAD,
                TOGETHER,
                RELEASE,
                "@%p2 mbarrier.arrive.shared.b64 _, [%r3];",
            ],
        ),
        (
            "one lane waits, and others read",
            "2",
            FREE,
            STORE,
            &["@!%p2 bra read;", FULL, "read:", LOAD, TOGETHER, RELEASE],
        ),
    ];
    for (what, readers, free, store, read) in cases {
        let found = tiles(readers, free, store, read);
        let reason = found.expect_err(what);
        let known = reason.contains("handed over in shared memory")
            || reason.contains("a value that is read from memory");
        assert!(known, "{what}: {reason}");
    }
}

/// The word of an earlier round, or of another ring, is a different word.
#[test]
fn words_of_other_rounds() {
    // Warps that read only in every other round, or twice in one round.
    let twice = [
        FULL,
        LOAD,
        TOGETHER,
        RELEASE,
        "xor.b32 %r7, %r7, 1;",
        "wait3:\nmbarrier.try_wait.parity.shared.b64 %p9, [%r3], %r7;\n@!%p9 bra wait3;",
        LOAD,
        TOGETHER,
        RELEASE,
    ];
    assert!(tiles("2", FREE, STORE, &twice).is_err());
    // Another word, to which nobody stores.
    let other = [FULL, "ld.shared.u32 %r11, [%r5+4];", TOGETHER, RELEASE];
    assert!(tiles("2", FREE, STORE, &other).is_err());
    // A test of half of the word is another condition, so the loops of the writer and of the reader have separate
    // trip counts.
    let half = [FULL, "ld.shared.u16 %r11, [%r5];", TOGETHER, RELEASE];
    let text = tiles("2", FREE, STORE, &half).unwrap();
    assert!(text.contains("handed_over_2"), "{text}");
    // A lifetime of the mbarrier ends.
    let ends = format!("{STORE}\n@%p1 mbarrier.inval.shared.b64 [%r4];");
    assert!(tiles("2", FREE, &ends, &READ).is_err());
}

/// Words that other instructions write, at an address that is the same for all threads.
#[test]
fn words_that_are_cleared_or_overwritten() {
    for write in [
        "st.bulk.weak.shared::cta [word], 8, 0;",
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r5], {%r1};",
        "atom.shared.exch.b32 %r12, [%r5], 0;",
    ] {
        let read = [FULL, LOAD, TOGETHER, write, RELEASE];
        assert!(tiles("2", FREE, STORE, &read).is_err(), "{write}");
    }
}

/// Each CTA is told a different number. So a protocol of several CTAs with one number for all of them is not a
/// protocol of the kernel.
#[test]
fn ctas_that_are_told_different_numbers() {
    let read = [
        FULL,
        LOAD,
        TOGETHER,
        RELEASE,
        "@%p1 bra next;\nsetp.ne.u32 %p10, %r1, 32;\nmul.wide.u32 %rd5, %r20, 4;\nadd.u64 %rd6, %rd2, %rd5;\n@%p10 bra over;",
        "turn:\nld.acquire.gpu.global.u32 %r21, [%rd6];\nsetp.ne.u32 %p11, %r21, %r22;\n@%p11 bra turn;",
        "over:\nbar.warp.sync -1;\n@%p10 bra next;\nred.release.gpu.global.add.u32 [%rd6], 1;",
        "next:\nadd.u32 %r20, %r20, 1;",
    ];
    let code = TILES
        .replace("READERS", "2")
        .replace("FREE", FREE)
        .replace("STORE", STORE)
        .replace("READ", &read.join("\n"))
        .replace("setp.lt.s32 %p5, %r8, %r6;", "setp.le.u32 %p5, %r8, %r22;");
    let head = HEAD
        .replace(".param .u32 n)", ".param .u32 n, .param .u64 words)")
        .replace(".reg .b32", ".reg .b64 %rd<8>;\n.reg .b32");
    let turns = "ld.param.u64 %rd1, [words];\ncvta.to.global.u64 %rd2, %rd1;\nmov.u32 %r20, 0;\nmov.u32 %r22, %ctaid.x;\n";
    let reason = first_of_threads(&format!("{head}{turns}{code}"), 1, 64)
        .map(|found| found.text)
        .unwrap_err();
    insta::assert_snapshot!(reason, @"CTAs that wait for each other differ here in more than one number: also in rounds that a word asks for which a warp hands over in shared memory");
}
