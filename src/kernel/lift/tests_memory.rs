//! Tests of loops whose trip counts are words of global memory that nobody writes.

use super::tests::compared;
use super::tests::first_of_threads;

/// The trip count of a CTA is `lengths[ctaid.x]`. `LOAD` and `STORE` differ between the tests.
const LENGTHS: &str = "\
.version 8.7
.target sm_90a
.address_size 64
.visible .entry lengths(.param .u64 lengths, .param .u64 data)
.reqntid 64, 1, 1
{
.reg .pred %p<8>;
.reg .b32 %r<16>;
.reg .b64 %rd<12>;
.shared .align 8 .b8 full[8];
ld.param.u64 %rd1, [lengths];
cvta.to.global.u64 %rd2, %rd1;
ld.param.u64 %rd3, [data];
cvta.to.global.u64 %rd4, %rd3;
mov.u32 %r1, full;
mov.u32 %r2, %tid.x;
mov.u32 %r3, %ctaid.x;
setp.ne.u32 %p1, %r2, 0;
@%p1 bra MEET;
mbarrier.init.shared.b64 [%r1], 1;
MEET:
bar.sync 0;
mul.wide.u32 %rd5, %r3, 4;
add.u64 %rd6, %rd2, %rd5;
LOAD
STORE
mov.u32 %r5, 0;
setp.lt.s32 %p2, %r4, 1;
or.pred %p4, %p1, %p2;
@%p4 bra END;
ARRIVE:
mbarrier.arrive.shared.b64 _, [%r1];
WAIT1:
mbarrier.try_wait.parity.shared.b64 %p5, [%r1], %r7;
@!%p5 bra WAIT1;
xor.b32 %r7, %r7, 1;
add.u32 %r5, %r5, 1;
setp.lt.s32 %p6, %r5, %r4;
@%p6 bra ARRIVE;
END:
ret;
}
";

const LOAD: &str = "ld.global.u32 %r4, [%rd6];";

fn kernel(load: &str, store: &str) -> String {
    let start = format!("{store}\nmov.u32 %r7, 0;");
    LENGTHS.replace("LOAD", load).replace("STORE", &start)
}

#[test]
fn a_word_that_nobody_writes_is_a_number_of_the_launch() {
    insta::assert_snapshot!(compared(&kernel(LOAD, "")), @r"
    //! Recovered from the kernel `lengths`.
    //! 64 x 1 x 1 threads per CTA.
    //! Checked against the kernel at 9 launches, 153 events.
    //! Assumed: words in memory that decide about synchronization are not written while the kernel runs
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    protocol lengths

    param at_lengths in 0..=1073741823  // a word behind lengths

    mbarrier full_bar { arrivals: 1 }
    named cta_bar[16]

    role warp0 warp {
        sync cta_bar[0] 64  // line 22
        for i in 0..at_lengths {  // line 33
            arrive full_bar  // line 33
            wait full_bar (i % 2)  // line 35
        }
    }

    role warp1 warp {
        sync cta_bar[0] 64  // line 22
    }
    ");
}

/// Stores to other memory are allowed. The protocol states the assumption that the memory is different.
#[test]
fn pointers_that_differ_do_not_overlap() {
    let assumed = |source: &str| {
        let text = compared(source);
        let lines = text.lines().filter(|line| line.contains("Assumed"));
        lines.map(str::to_owned).collect::<Vec<_>>().join("\n")
    };
    let store = "st.global.u32 [%rd4], %r2;";
    insta::assert_snapshot!(assumed(&kernel(LOAD, store)), @r"
    //! Assumed: pointers that are different parameters, and what tensor maps describe, do not overlap
    //! Assumed: words in memory that decide about synchronization are not written while the kernel runs
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    ");
    // The target of a store through a pointer that is read from memory is unknown.
    let store = "ld.global.u64 %rd7, [%rd4];\nst.global.u32 [%rd7], %r2;";
    insta::assert_snapshot!(assumed(&kernel(LOAD, store)), @r"
    //! Assumed: pointers that are different parameters, and what tensor maps describe, do not overlap
    //! Assumed: stores and copies to addresses in global memory that Warplock cannot determine do not write words that decide about synchronization
    //! Assumed: words in memory that decide about synchronization are not written while the kernel runs
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    ");
}

/// The difference of two words is one number; words at different addresses are different numbers.
#[test]
fn words_at_different_addresses_are_computed_with() {
    let difference =
        "ld.global.u32 %r8, [%rd6];\nld.global.u32 %r9, [%rd6+4];\nsub.s32 %r4, %r9, %r8;";
    let parameters = |source: &str| {
        let text = compared(source);
        let lines = text
            .lines()
            .filter(|line| line.starts_with("param ") || line.starts_with("line "));
        lines.map(str::to_owned).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(parameters(&kernel(difference, "")), @"param length_at_lengths in 0..=1073741823  // a difference of words behind lengths");
    let pair = "ld.global.v2.u32 {%r8, %r4}, [%rd6];";
    insta::assert_snapshot!(parameters(&kernel(pair, "")), @"param at_lengths in 0..=1073741823  // a word behind lengths");
    // Another word says where the length lies.
    let chained = "ld.global.u32 %r8, [%rd6];\nmul.wide.u32 %rd8, %r8, 4;\nadd.u64 %rd9, %rd2, %rd8;\nld.global.u32 %r4, [%rd9];";
    insta::assert_snapshot!(parameters(&kernel(chained, "")), @"param at_lengths in 0..=1073741823  // a word behind lengths");
}

/// A store to one of two pointers, of which one is unknown.
#[test]
fn stores_through_one_of_two_pointers_are_not_followed() {
    let store = "ld.global.u64 %rd7, [%rd4];\nsetp.eq.u32 %p7, %r2, 5;\nselp.b64 %rd8, %rd4, %rd7, %p7;\nst.global.u32 [%rd8], %r2;";
    let text = compared(&kernel(LOAD, store));
    assert!(
        text.contains("addresses in global memory that Warplock cannot determine"),
        "{text}"
    );
}

/// A word may change if the kernel itself writes it, or if others are expected to write it.
#[test]
fn a_word_that_may_be_written_is_not_known() {
    for (load, store) in [
        (LOAD, "st.global.u32 [%rd2+64], %r2;"),
        (LOAD, "red.relaxed.gpu.global.add.u32 [%rd6], 1;"),
        ("ld.volatile.global.u32 %r4, [%rd6];", ""),
        ("ld.relaxed.gpu.global.u32 %r4, [%rd6];", ""),
        ("ld.acquire.gpu.global.u32 %r4, [%rd6];", ""),
        ("atom.global.add.u32 %r4, [%rd6], 0;", ""),
        // Each lane reads a different word.
        (
            "mad.wide.u32 %rd10, %r2, 4, %rd6;\nld.global.u32 %r4, [%rd10];",
            "",
        ),
    ] {
        let text = compared(&kernel(load, store));
        assert!(text.starts_with("line "), "{load} {store}: {text}");
    }
}

/// A warp that copies nothing expects a part of the bytes of the only tensor copy.
#[test]
fn bytes_that_another_warp_expects() {
    let text = first_of_threads(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p) {\n.reg .pred %p<4>;\n.reg .b32 %r<4>;\n\
         .reg .b64 %rd<2>;\n.shared .align 8 .b64 full;\n.shared .align 128 .b8 tile[1024];\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\n\
         setp.eq.u32 %p1, %r1, 0;\nsetp.eq.u32 %p2, %r1, 32;\n@%p1 mbarrier.init.shared.b64 [full], 2;\nbar.sync 0;\n@%p1 bra copy;\n\
         @%p2 mbarrier.arrive.expect_tx.shared.b64 _, [full], 512;\nbra wait;\n\
         copy:\nmbarrier.arrive.expect_tx.shared.b64 _, [full], 512;\n\
         cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1, {%r1, %r1}], [full];\n\
         wait:\nbar.warp.sync -1;\nlook:\nmbarrier.try_wait.parity.shared.b64 %p3, [full], 0;\n@!%p3 bra look;\nret;\n}\n",
        1,
        64,
    )
    .unwrap()
    .text;
    let copied = text.lines().filter(|line| line.contains("full_bar "));
    insta::assert_snapshot!(copied.collect::<Vec<_>>().join("\n"), @"
    mbarrier full_bar { arrivals: 2 }
        arrive_expect_tx full_bar 512  // line 20
        async copy tile completes full_bar 1024  // line 21
        wait full_bar 0  // line 25
        arrive_expect_tx full_bar 512  // line 17
        wait full_bar 0  // line 25
    ");
}
