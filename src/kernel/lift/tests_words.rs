//! Tests of words that warps hand over in shared memory, of mbarriers that are initialised a second time, and of
//! waits that barriers make unnecessary.

use super::tests::entry;

/// The first warp hands commands over in `word`. The second warp executes them.
///
/// Each command is read between two barriers. `HAND` has the first warp's stores before the first command is read,
/// and `THEN` those before the second one is. `MEANWHILE` is what the first warp does while the first command is
/// read.
const DISPATCH: &str = ".shared .align 4 .b32 word;\n@%p1 mbarrier.init.shared.b64 [%r2], 1;\nbar.sync 0;\nmov.u32 %r4, word;\n\
     setp.ge.u32 %p2, %r1, 32;\n@%p2 bra worker;\nHAND\nbar.sync 1;\nMEANWHILE\nbar.sync 1;\nTHEN\nbar.sync 1;\nret;\n\
     worker:\nbar.sync 1;\nld.shared.u32 %r5, [%r4];\nsetp.eq.u32 %p3, %r5, 2;\n@%p3 bra out;\nbar.sync 1;\n\
     setp.ne.u32 %p4, %r5, 1;\n@%p4 bra worker;\nsetp.eq.u32 %p5, %r1, 32;\n\
     @%p5 mbarrier.arrive.shared.b64 _, [%r2];\nbra worker;\nout:";

fn dispatched(hand: &str, meanwhile: &str, then: &str) -> Result<String, String> {
    let code = DISPATCH
        .replace("HAND", hand)
        .replace("MEANWHILE", meanwhile)
        .replace("THEN", then);
    let found = entry(1, &code)?;
    assert!(
        found.validation.compared.len() >= 2,
        "{:?}",
        found.validation
    );
    Ok(found.text)
}

const ONE: &str = "st.shared.u32 [%r4], 1;";
const TWO: &str = "st.shared.u32 [%r4], 2;";
const UNKNOWN: &str = "whether this is done depends on a value that is read from memory";

/// The text, or why there is none. The reason is shown without the line from which a value comes.
fn without_place(found: Result<String, String>) -> Result<String, String> {
    found.map_err(|reason| match reason.split_once(" (line ") {
        Some((before, _)) => before.to_owned(),
        None => reason,
    })
}

#[test]
fn a_worker_does_what_it_is_told() {
    let text = dispatched(ONE, "", TWO).unwrap();
    let role = text.split("role warp1").nth(1);
    insta::assert_snapshot!(role.unwrap_or(&text), @"
     warp {
        sync cta_bar[0] 64  // line 18
        sync cta_bar[1] 64  // line 30
        sync cta_bar[1] 64  // line 34
        arrive memory_bar  // line 38
        sync cta_bar[1] 64  // line 30
    }
    ");
    assert!(text.contains("are written by stores to fixed places only"));
    // The bytes of one word may be stored one by one.
    let bytes = "st.shared.u8 [%r4], 1;\nst.shared.u8 [%r4+1], 0;\nst.shared.u16 [%r4+2], 0;";
    assert!(
        dispatched(bytes, "", TWO)
            .unwrap()
            .contains("arrive memory")
    );
}

#[test]
fn a_word_that_may_be_overwritten_is_not_known() {
    // A store between the barrier and the load, a store after the load, no store, or a store that is not certain.
    for (hand, meanwhile, then) in [
        (ONE, "", ""),
        (ONE, TWO, ""),
        ("", ONE, TWO),
        (
            ONE,
            "shl.b32 %r7, %r3, 2;\nadd.u32 %r7, %r7, %r4;\nst.shared.u32 [%r7], 2;",
            TWO,
        ),
        // By `stmatrix` at a fixed place and a computed one, and by a copy.
        (
            "st.shared.u32 [%r4], 1;\nstmatrix.sync.aligned.m8n8.x1.shared.b16 [%r4], {%r3};",
            "",
            TWO,
        ),
        (
            "st.shared.u32 [%r4], 1;\nshl.b32 %r7, %r1, 4;\nadd.u32 %r7, %r7, %r4;\n\
             stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r7], {%r3};",
            "",
            TWO,
        ),
        // By others that write where their operand says.
        (
            "st.shared.u32 [%r4], 1;\nwmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%r4], {%r3, %r3, %r3, %r3, %r3, %r3, %r3, %r3};",
            "",
            TWO,
        ),
        (
            "st.shared.u32 [%r4], 1;\nst.bulk.shared::cta [%r4], 4, 0;",
            "",
            TWO,
        ),
        (
            "st.shared.u32 [%r4], 1;\nst.bulk.shared::cta [%r4], %rd1, 0;",
            "",
            TWO,
        ),
        (
            "st.shared.u32 [%r4], 1;\ncp.async.ca.shared.global [%r4], [%rd1], 4;",
            "",
            TWO,
        ),
        (
            "setp.eq.u32 %p6, %r1, 1;\n@%p6 st.shared.u32 [%r4], 1;\n@!%p6 st.shared.u32 [%r4], 2;",
            "",
            TWO,
        ),
        (
            "st.shared.u32 [%r4], 1;\nbar.arrive 3, 64;\nst.shared.u32 [%r4], 1;",
            "",
            TWO,
        ),
        (ONE, "atom.shared.add.u32 %r7, [%r4], 1;", TWO),
        (ONE, "red.shared.or.b32 [%r4], 1;", TWO),
        (
            ONE,
            "mov.u32 %r7, 0;\nmore:\nst.shared.u32 [%r4], %r7;\nadd.u32 %r7, %r7, 1;\nsetp.lt.u32 %p6, %r7, 3;\n@%p6 bra more;",
            TWO,
        ),
        (
            ONE,
            "ld.global.u32 %r7, [%rd1];\nsetp.eq.u32 %p6, %r7, 0;\n@%p6 bra past;\nst.shared.u32 [%r4], 2;\npast:",
            TWO,
        ),
        (
            ONE,
            "ld.global.u32 %r7, [%rd1];\nsetp.eq.u32 %p6, %r7, 0;\n@%p6 st.shared.u32 [%r4], 2;",
            TWO,
        ),
        ("", "", TWO),
        (ONE, "bar.sync 2, 32;\nst.shared.u8 [%r4], 1;", TWO),
        (
            "setp.eq.u32 %p6, %r3, 0;\n@%p6 st.shared.u32 [%r4], 1;",
            "",
            TWO,
        ),
        ("and.b32 %r6, %r1, 1;\nst.shared.u32 [%r4], %r6;", "", TWO),
    ] {
        assert_eq!(
            without_place(dispatched(hand, meanwhile, then)),
            Err(UNKNOWN.to_owned()),
            "{hand} {meanwhile} {then}"
        );
    }
}

#[test]
fn a_range_that_decided_something_is_said() {
    // Code that is executed only for a negative `n` is left out.
    let code = "setp.ge.s32 %p2, %r3, 0;\n@%p2 bra out;\nbar.sync 1, 96;\nout:";
    let found = entry(1, code).unwrap();
    assert!(
        found
            .text
            .contains("//! Assumed: n lies in 0..=1073741823\n"),
        "{}",
        found.text
    );
    // The range of the trip count differs from the range of `n`.
    let rounds = "setp.ge.s32 %p2, %r3, 0;\n@%p2 bra go;\nbar.sync 1, 96;\ngo:\nadd.s32 %r4, %r3, 127;\n\
         shr.s32 %r5, %r4, 7;\nmov.u32 %r6, 0;\nsetp.lt.s32 %p3, %r5, 1;\n@%p3 bra out;\nloop:\nbar.sync 2, 64;\n\
         add.s32 %r6, %r6, 1;\nsetp.lt.s32 %p4, %r6, %r5;\n@%p4 bra loop;\nout:";
    let found = entry(1, rounds).unwrap();
    assert!(
        found.text.contains("param n_over_128_up in 0..=8388608")
            && found
                .text
                .contains("//! Assumed: n lies in 0..=1073741823\n"),
        "{}",
        found.text
    );
    let code = "setp.lt.s32 %p2, %r3, 5;\n@%p2 bra out;\nbar.sync 1, 64;\nout:";
    assert!(!entry(1, code).unwrap().text.contains("lies in"));
}

#[test]
fn a_barrier_by_number_waits_for_those_that_have_ended() {
    let ended = "setp.ge.u32 %p2, %r1, 32;\n@%p2 ret;\n";
    let by_number = entry(1, &format!("{ended}bar.sync 0, 64;")).unwrap();
    assert_eq!(by_number.text.matches("sync cta_bar[0] 64").count(), 1);
    assert!(by_number.exact);
    // A barrier without a thread count does not wait for threads that have ended, and here the other threads come to
    // the barrier twice.
    let twice = entry(1, &format!("bar.sync 0;\n{ended}bar.sync 0, 64;")).unwrap();
    assert!(!twice.exact, "{}", twice.text);
}

#[test]
fn warps_of_another_barrier_hand_nothing_over() {
    // Only the second warp comes to the barrier, so passing the barrier orders nothing.
    let code = ".shared .align 4 .b32 word;\nmov.u32 %r4, word;\nsetp.ge.u32 %p2, %r1, 32;\n@%p2 bra worker;\n\
         st.shared.u32 [%r4], 1;\nret;\nworker:\nbar.sync 1, 32;\nld.shared.u32 %r5, [%r4];\n\
         setp.ne.u32 %p3, %r5, 1;\n@%p3 bra out;\nbar.sync 2, 32;\nout:";
    assert_eq!(
        without_place(entry(1, code).map(|lift| lift.text)),
        Err(UNKNOWN.to_owned())
    );
}

#[test]
fn a_warp_that_does_not_wait_at_a_barrier_hands_nothing_over() {
    // The second store may come before the load or after it.
    let code = ".shared .align 4 .b32 word;\nmov.u32 %r4, word;\nsetp.ge.u32 %p2, %r1, 32;\n@%p2 bra worker;\n\
         st.shared.u32 [%r4], 1;\nbar.arrive 1, 64;\nst.shared.u32 [%r4], 2;\nbra out;\nworker:\nbar.sync 1, 64;\n\
         ld.shared.u32 %r5, [%r4];\nsetp.eq.u32 %p3, %r5, 2;\n@%p3 bra out;\nbar.sync 2, 64;\nout:";
    assert_eq!(
        without_place(entry(1, code).map(|lift| lift.text)),
        Err(UNKNOWN.to_owned())
    );
}

/// A lifetime of the mbarrier `memory` with one phase: its initialisation, its use, and its end.
const LIFE: &str = "@%p1 mbarrier.init.shared.b64 [%r2], 1;\nbar.sync 0;\n@%p1 mbarrier.arrive.shared.b64 _, [%r2];\n\
     WLABEL:\nmbarrier.try_wait.parity.shared.b64 %p6, [%r2], 0;\n@!%p6 bra WLABEL;\nMEET\n\
     @%p1 mbarrier.inval.shared.b64 [%r2];\n";

fn lives(meet: &str) -> Result<String, String> {
    let life = LIFE.replace("MEET", meet);
    let code = format!(
        "{}{}",
        life.replace("LABEL", "1"),
        life.replace("LABEL", "2")
    );
    entry(1, &code).map(|lift| lift.text)
}

#[test]
fn a_second_life_is_an_mbarrier_of_its_own() {
    let text = lives("bar.sync 0;").unwrap();
    assert!(
        text.contains("    wait memory_0 0") && text.contains("    wait memory_0_life2 0"),
        "{text}"
    );
    // Without the barrier the second warp may still wait in the first lifetime.
    assert!(lives("").is_err());
}

#[test]
fn a_store_over_an_mbarrier_is_refused() {
    let code = |store: &str| {
        let code = format!(
            ".shared .align 8 .b64 other;\n@%p1 mbarrier.init.shared.b64 [%r2], 1;\nbar.sync 0;\n{store}\n\
             @%p1 mbarrier.arrive.shared.b64 _, [%r2];"
        );
        entry(1, &code).map(|_| ())
    };
    let refused = Err("this writes data over an mbarrier, which is undefined".to_owned());
    assert_eq!(code("st.shared.u32 [%r2+4], 0;"), refused);
    assert_eq!(code("atom.shared.add.u32 %r5, [%r2], 1;"), refused);
    // A computed place in a variable that is one mbarrier.
    let computed = "and.b32 %r5, %r1, 1;\nshl.b32 %r6, %r5, 2;\nadd.u32 %r7, %r2, %r6;\nst.shared.u32 [%r7], 0;";
    assert_eq!(code(computed), refused);
    assert_eq!(code("mov.u32 %r5, other;\nst.shared.u32 [%r5], 0;"), Ok(()));
    let ended =
        "bar.sync 0;\n@%p1 mbarrier.inval.shared.b64 [%r2];\nMEET\nst.shared.u32 [%r2], 0;\nret;";
    let unmet = format!("@%p1 mbarrier.arrive.shared.b64 _, [%r2];\n{ended}");
    let ended = unmet.replace("MEET", "bar.sync 0;");
    assert_eq!(code(&ended), Ok(()));
    // Other threads may store before the thread that ends the mbarrier.
    assert_eq!(code(&unmet.replace("MEET", "")), refused);
    // The launch decides whether a thread ends the mbarrier.
    let perhaps = ended.replace(
        "@%p1 mbarrier.inval",
        "setp.gt.u32 %p7, %r3, 5;\nand.pred %p5, %p1, %p7;\n@%p5 mbarrier.inval",
    );
    assert_eq!(code(&perhaps), refused);
    // The thread that would end the mbarrier does not exist.
    let idle = ended.replace(
        "@%p1 mbarrier.inval",
        "setp.eq.u32 %p7, %r1, 1024;\n@%p7 mbarrier.inval",
    );
    let nobody = "data is written over an mbarrier after this mbarrier.inval, but Warplock does not see that any thread executes the mbarrier.inval: without it, that is undefined";
    assert_eq!(code(&idle), Err(nobody.to_owned()));
    let last = idle.replace("%r1, 1024", "%r1, 31");
    assert_eq!(code(&last), Ok(()));
    // Warps that wait at the mbarrier may still be waiting.
    let waits = "WAIT:\nmbarrier.try_wait.parity.shared.b64 %p6, [%r2], 0;\n@!%p6 bra WAIT;\n";
    let waited = ended.replacen("bar.sync 0;", &format!("{waits}bar.sync 0;"), 1);
    assert_eq!(code(&waited), Ok(()));
    assert_eq!(code(&waited.replace("bar.sync 0;", "")), refused);
    // A response of cluster launch control would complete at the mbarrier after its end.
    let asked = "mov.u32 %r5, other;\n@%p1 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r5], [%r2];\nret;";
    assert_eq!(code(&ended.replace("ret;", asked)), refused);
}

/// Two mbarriers in one variable. The first one ends, and the second one begins. After that, `then` is executed.
fn one_of_two_ends(then: &str) -> Result<(), String> {
    two_of_which_one_ends("", then)
}

/// As [`one_of_two_ends`], and `first` is executed at the beginning.
fn two_of_which_one_ends(first: &str, then: &str) -> Result<(), String> {
    let code = format!(
        ".shared .align 8 .b8 both[64];\nmov.u32 %r4, both;\n{first}\n@%p1 mbarrier.init.shared.b64 [%r4], 1;\nbar.sync 0;\n\
         @%p1 mbarrier.arrive.shared.b64 _, [%r4];\nW1:\nmbarrier.try_wait.parity.shared.b64 %p6, [%r4], 0;\n@!%p6 bra W1;\n\
         bar.sync 0;\n@%p1 mbarrier.inval.shared.b64 [%r4];\n@%p1 mbarrier.init.shared.b64 [%r4+8], 1;\nbar.sync 0;\n{then}\n\
         @%p1 mbarrier.arrive.shared.b64 _, [%r4+8];\nW2:\nmbarrier.try_wait.parity.shared.b64 %p6, [%r4+8], 0;\n@!%p6 bra W2;"
    );
    entry(1, &code).map(|_| ())
}

#[test]
fn the_place_of_an_mbarrier_that_has_ended_is_for_data_though_another_one_beside_it_goes_on() {
    let refused = Err("this writes data over an mbarrier, which is undefined".to_owned());
    assert_eq!(one_of_two_ends("st.shared.u32 [%r4], 0;"), Ok(()));
    // Before the initialisation of the first mbarrier, its place is for data, too.
    let before = "st.shared.u32 [%r4], 0;\nbar.sync 0;";
    assert_eq!(two_of_which_one_ends(before, ""), Ok(()));
    assert_eq!(
        two_of_which_one_ends("st.shared.u32 [%r4+8], 0;\nbar.sync 0;", ""),
        refused
    );
    // A store over the second mbarrier, and one over both.
    assert_eq!(one_of_two_ends("st.shared.u32 [%r4+8], 0;"), refused);
    assert_eq!(
        one_of_two_ends("st.shared.v4.u32 [%r4], {%r3, %r3, %r3, %r3};"),
        refused
    );
    // The first mbarrier is used again after the store.
    let again = "st.shared.u32 [%r4], 0;\n@%p1 mbarrier.arrive.shared.b64 _, [%r4];";
    assert_eq!(one_of_two_ends(again), refused);
    // A use at a computed place may be a use of the first mbarrier, and a use after the end of a lifetime is refused.
    let computed = "and.b32 %r5, %r3, 1;\nshl.b32 %r5, %r5, 3;\nadd.u32 %r6, %r4, %r5;\nst.shared.u32 [%r4], 0;\n@%p1 mbarrier.arrive.shared.b64 _, [%r6];";
    assert!(one_of_two_ends(computed).is_err());
    // At a computed place, the first mbarrier may begin again before the store.
    let begun = computed.replace(
        "st.shared",
        "@%p1 mbarrier.init.shared.b64 [%r6], 1;\nst.shared",
    );
    assert_eq!(one_of_two_ends(&begun), refused);
    // In the first round, the store comes before the end of the second mbarrier's lifetime.
    let early = "mov.u32 %r5, 0;\nROUND:\nst.shared.u32 [%r4+8], 0;\n@%p1 mbarrier.inval.shared.b64 [%r4+8];\nadd.u32 %r5, %r5, 1;\n\
         setp.lt.u32 %p2, %r5, %r3;\n@%p2 bra ROUND;\n@%p1 mbarrier.init.shared.b64 [%r4+8], 1;";
    assert_eq!(one_of_two_ends(early), refused);
    // The initialisation of a third mbarrier does not begin a lifetime of the first one.
    let other = "st.shared.u32 [%r4], 0;\n@%p1 mbarrier.init.shared.b64 [%r4+16], 1;\n@%p1 mbarrier.arrive.shared.b64 _, [%r4];";
    assert_eq!(one_of_two_ends(other), refused);
}

/// The four warps of a warpgroup close two groups of multiplications in each of `n` rounds. They wait for the first in the round
/// and for the last of all after the loop.
fn multiplied(meet: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u32 n)\n.reqntid 128, 1, 1\n{{\n\
         .reg .pred %p<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<8>;\n.reg .f32 %f<8>;\nld.param.u32 %r3, [n];\nmov.u32 %r5, 0;\n\
         setp.lt.s32 %p1, %r3, 1;\n@%p1 bra out;\nloop:\nwgmma.fence.sync.aligned;\n\
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f0, %f1, %f2, %f3}}, %rd1, %rd2, 1, 1, 1, 0, 0;\n\
         wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nwgmma.fence.sync.aligned;\n\
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f0, %f1, %f2, %f3}}, %rd1, %rd2, 1, 1, 1, 0, 0;\n\
         wgmma.commit_group.sync.aligned;\n{meet}\nadd.s32 %r5, %r5, 1;\nsetp.lt.s32 %p2, %r5, %r3;\n@%p2 bra loop;\n\
         wgmma.wait_group.sync.aligned 0;\nout:\nret;\n}}\n"
    )
}

#[test]
fn a_barrier_behind_the_last_group_shows_that_it_is_complete() {
    let text = |meet: &str| {
        let found = super::tests::first_of_threads(&multiplied(meet), 1, 128);
        found.map(|lift| lift.text).unwrap_or_else(|reason| reason)
    };
    let shown = text("bar.sync 1, 128;");
    assert_eq!(shown.matches("wait wgmma").count(), 1, "{shown}");
    let alone = text("");
    // In the loop there may be two groups in flight.
    assert_eq!(alone.matches("wait wgmma").count(), 3, "{alone}");
}

/// The four warps of a warpgroup close a group of multiplications in each round up to `high`, and wait after the loop.
fn begun(high: &str, step: &str) -> String {
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u32 n)\n.reqntid 128, 1, 1\n{{\n\
         .reg .pred %p<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<8>;\n.reg .f32 %f<8>;\nld.param.u32 %r3, [n];\n{high}\n\
         mov.u32 %r5, 0;\nloop:\nsetp.lt.s32 %p1, %r5, %r4;\n@!%p1 bra out;\nwgmma.fence.sync.aligned;\n\
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f0, %f1, %f2, %f3}}, %rd1, %rd2, 1, 1, 1, 0, 0;\n\
         wgmma.commit_group.sync.aligned;\n{step}\nbra loop;\nout:\n\
         wgmma.wait_group.sync.aligned 0;\nret;\n}}\n"
    );
    let found = super::tests::first_of_threads(&text, 1, 128);
    found.map(|lift| lift.text).unwrap_or_else(|reason| reason)
}

#[test]
fn groups_of_a_loop_that_a_constant_bounds_are_counted() {
    const MANY: &str = "more than 16 groups of multiplications may be in flight here";
    const ONE: &str = "add.s32 %r5, %r5, 1;";
    let few = begun("min.s32 %r4, %r3, 3;", ONE);
    assert!(few.contains("in 0..min(n, 3)"), "{few}");
    let few = begun("min.s32 %r4, %r3, 100;", "add.s32 %r5, %r5, 40;");
    assert!(few.starts_with("//! Recovered"), "{few}");
    // 20 rounds are too many, and nothing is known of the other bounds.
    for high in [
        "min.s32 %r4, %r3, 20;",
        "mov.u32 %r4, %r3;",
        "max.s32 %r4, %r3, 3;",
    ] {
        assert_eq!(begun(high, ONE), MANY, "{high}");
    }
    // As an unsigned number, -1 is not less than 3.
    assert_eq!(begun("min.u32 %r4, %r3, 3;", ONE), MANY);
    // The bound or the count of the loop may change so that they do not come closer.
    for step in [
        "add.s32 %r5, %r5, 1;\nadd.s32 %r4, %r4, 1;",
        "add.s32 %r5, %r5, 1;\nadd.s32 %r5, %r5, -1;",
        "setp.gt.s32 %p2, %r3, 9;\n@%p2 add.s32 %r5, %r5, 1;",
        "setp.gt.s32 %p2, %r3, 9;\n@%p2 bra loop;\nadd.s32 %r5, %r5, 1;",
        "add.s32 %r5, %r5, -1;",
    ] {
        assert_eq!(begun("min.s32 %r4, %r3, 3;", step), MANY, "{step}");
    }
}

/// Whether the loop goes on is read from memory, in the same round or in the round before.
#[test]
fn what_a_loop_carries_may_be_read_from_memory() {
    let text = |from: &str| {
        let code = format!(
            ".shared .align 4 .b32 word;\nmov.u32 %r7, word;\n@%p1 mbarrier.init.shared.b64 [%r2], 1;\nbar.sync 0;\n\
             mov.u32 %r4, 1;\nmov.u32 %r6, 1;\nhead:\n\
             @%p1 mbarrier.arrive.shared.b64 _, [%r2];\n{from}\nsetp.ne.u32 %p5, %r4, 0;\n@%p5 bra head;"
        );
        entry(1, &code).map(|lift| lift.text).unwrap_err()
    };
    let said = text("ld.volatile.shared.u32 %r4, [%r7];");
    assert!(
        said.contains("a value that is read from memory (line "),
        "{said}"
    );
    let said = text("mov.u32 %r4, %r6;\nld.volatile.shared.u32 %r6, [%r7];");
    assert!(
        said.contains("what a loop carries: a value that is read from memory (line "),
        "{said}"
    );
}

/// Each lane reads a different word, although the walk has one name for all of these words. So the result of a vote
/// over all lanes says nothing about the word of one lane.
#[test]
fn a_vote_about_words_from_memory_says_nothing_of_the_own_word() {
    let voted = "setp.ne.u32 %p2, %r5, 0;\nvote.sync.any.pred %p3, %p2, -1;\n@!%p3 bra next;\n@%p2 bra next;\n\
         mbarrier.arrive.shared.b64 _, [%r2];\nnext:";
    let init = "@%p1 mbarrier.init.shared.b64 [%r2], 1;\nbar.sync 0;";
    let here = entry(
        1,
        &format!("{init}\nld.volatile.global.u32 %r5, [%rd1];\n{voted}"),
    );
    let here = without_place(here.map(|lift| lift.text));
    assert_eq!(here, Err(UNKNOWN.to_owned()));
    let carried = |from: &str| {
        let code = format!(
            "{init}\nmov.u32 %r4, 0;\nmov.u32 %r5, 0;\nhead:\n{voted}\n{from}\nadd.u32 %r4, %r4, 1;\n\
             setp.lt.u32 %p5, %r4, 5;\n@%p5 bra head;"
        );
        entry(1, &code).map(|lift| lift.text)
    };
    assert_eq!(
        carried("ld.volatile.global.u32 %r5, [%rd1];"),
        Err("what lanes do together depends on what a loop carries and memory decides, which may differ between lanes".to_owned())
    );
    let known = carried("mov.u32 %r5, %r3;").unwrap();
    assert!(!known.contains("arrive"), "{known}");
}

/// A warpgroup that multiplies in each round, and counts rounds until the count equals 9. `WHO` sets the number from
/// which a warp counts.
fn counted_to_the_end(who: &str) -> Result<super::Lift, String> {
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k()\n.reqntid 128, 1, 1\n{{\n\
         .reg .pred %p<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<8>;\n.reg .f32 %f<8>;\nmov.u32 %r1, %tid.x;\n{who}\nloop:\n\
         wgmma.fence.sync.aligned;\n\
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f0, %f1, %f2, %f3}}, %rd1, %rd2, 1, 1, 1, 0, 0;\n\
         wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nadd.s32 %r5, %r5, 1;\n\
         setp.ne.s32 %p2, %r5, 9;\n@%p2 bra loop;\nret;\n}}\n"
    );
    super::tests::first_of_threads(&text, 1, 128)
}

#[test]
fn warps_that_count_rounds_up_to_a_number_multiply_together() {
    let all = counted_to_the_end("mov.u32 %r5, 0;");
    let all = all.map(|lift| lift.text).unwrap_or_else(|reason| reason);
    assert!(all.contains("for i in 0..9 {"), "{all}");
    // The last warp makes one round less.
    let fewer = "setp.ge.u32 %p1, %r1, 96;\nselp.b32 %r5, 1, 0, %p1;";
    let refused = counted_to_the_end(fewer).expect_err("warps multiply unequally often");
    assert!(refused.contains("multiply together"), "{refused}");
}

/// Two phases of an mbarrier, written out one after the other. In each phase three boxes are copied. `BEFORE` stands
/// between the `expect_tx` operations and the copies.
fn copied_in_turns(before: &str) -> Result<String, String> {
    let copy = "@%p1 cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd1, {%r3}], [%r2];\n";
    let expect = "@%p1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r2], 16;\n";
    let turn = |parity: u32| {
        let before = before.replace("PARITY", &parity.to_string());
        let name = format!("turn{parity}");
        format!(
            "{expect}{expect}{before}{copy}{copy}{copy}@%p1 mbarrier.arrive.shared.b64 _, [%r2];\n\
             {name}:\nmbarrier.try_wait.parity.shared.b64 %p2, [%r2], {parity};\n@!%p2 bra {name};\n"
        )
    };
    let code = format!(
        ".shared .align 16 .b8 room[64];\n.shared .align 8 .b64 other;\nmov.u32 %r4, room;\nmov.u32 %r6, other;\n\
         @%p1 mbarrier.init.shared.b64 [%r2], 1;\n@%p1 mbarrier.init.shared.b64 [%r6], 64;\nbar.sync 0;\n{}{}",
        turn(0),
        turn(1)
    );
    entry(1, &code).map(|lift| lift.text)
}

#[test]
fn boxes_of_each_phase_deliver_what_it_expects() {
    // Nothing, or a wait for another mbarrier.
    let wait = "mbarrier.arrive.shared.b64 _, [%r6];\nthere{PARITY}:\n\
                mbarrier.try_wait.parity.shared.b64 %p3, [%r6], PARITY;\n@!%p3 bra there{PARITY};\n";
    for before in ["", &wait.replace("{PARITY}", "PARITY")] {
        let text = copied_in_turns(before).unwrap_or_else(|reason| reason);
        // 32 bytes in each phase, not 64 in both.
        assert_eq!(text.matches("completes memory_bar 12").count(), 2, "{text}");
        assert_eq!(text.matches("completes memory_bar 10").count(), 4, "{text}");
    }
}

/// Depending on the launch, the first warp hands over a command before the word that tells the other warps to end.
const PERHAPS: &str = ".shared .align 4 .b32 word;\n@%p1 mbarrier.init.shared.b64 [%r2], 1;\nbar.sync 0;\nmov.u32 %r4, word;\n\
     setp.ge.u32 %p2, %r1, 32;\n@%p2 bra worker;\nsetp.lt.s32 %p6, %r3, 5;\n@%p6 bra last;\n\
     st.shared.u32 [%r4], 1;\nbar.sync 1;\nMEANWHILE\nbar.sync 1;\n\
     last:\nst.shared.u32 [%r4], 2;\nbar.sync 1;\nret;\n\
     worker:\nbar.sync 1;\nld.shared.u32 %r5, [%r4];\nsetp.eq.u32 %p3, %r5, 2;\n@%p3 bra out;\nbar.sync 1;\n\
     setp.ne.u32 %p4, %r5, 1;\n@%p4 bra worker;\nsetp.eq.u32 %p5, %r1, 32;\n\
     @%p5 mbarrier.arrive.shared.b64 _, [%r2];\nbra worker;\nout:";

#[test]
fn the_launch_decides_what_a_worker_is_told() {
    let lifted = |meanwhile: &str| entry(1, &PERHAPS.replace("MEANWHILE", meanwhile));
    let found = lifted("").unwrap();
    assert!(
        found.validation.compared.len() >= 2,
        "{:?}",
        found.validation
    );
    let role = found.text.split("role warp1").nth(1);
    insta::assert_snapshot!(role.unwrap_or(&found.text), @"
         warp {
            if 4 >= n {  // line 23
                sync cta_bar[0] 64  // line 18
                sync cta_bar[1] 64  // line 33
            } else {
                sync cta_bar[0] 64  // line 18
                sync cta_bar[1] 64  // line 33
                sync cta_bar[1] 64  // line 37
                arrive memory_bar  // line 41
                sync cta_bar[1] 64  // line 33
            }
        }
        ");
    // Nothing is known of a word that is overwritten in one of the two cases.
    let said = lifted("st.shared.u32 [%r4], 2;").unwrap_err();
    assert!(said.contains(UNKNOWN), "{said}");
}
