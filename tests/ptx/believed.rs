//! Kernels of `tests/ptx/believed`. Of each, something was once believed that need not be so.

use std::fs;
use std::path::Path;

use crate::data::told;
use crate::support::program::Folder;

/// The verdict for a kernel, up to what the proof is, with those of its assumptions that have these words.
fn verdict(name: &str, words: &str) -> String {
    verdict_of("auto", name, words)
}

/// The same of the protocol that one recovery gives.
fn verdict_of(recovery: &str, name: &str, words: &str) -> String {
    let file = format!("{name}.ptx");
    let path = Path::new("tests/ptx/believed").join(&file);
    let folder = Folder::new();
    folder.file(&file, fs::read(path).unwrap());
    let arguments = ["check", "-v", "--recovery", recovery, &file];
    told(&folder.run(&arguments), "deadlock", words)
}

/// A word that is handed over is read between the wait and the release of its round, not in another loop.
#[test]
fn words_are_read_where_they_are_handed_over() {
    insta::assert_snapshot!(verdict("handed_read_in_other_loop", "handed"), @"UNKNOWN line 69, `@!%p10 bra X0B`: how often this loop runs is not known: it changes in a loop in a way that is not followed");
}

/// A register that a loop assigns in one round only keeps that number in the others.
#[test]
fn registers_keep_what_an_earlier_round_has_left() {
    insta::assert_snapshot!(verdict("assigned_once_in_loop", "register"), @"UNKNOWN line 37, `@%p6 bra skip`: a branch decides about synchronization, but %p6 is not known here: it changes in a loop (line 33, `setp.eq.u32 %p5,%r5,0`)");
    insta::assert_snapshot!(verdict("assigned_once_in_loop_branch", "register"), @"UNKNOWN line 40, `@%p6 bra skip`: a branch decides about synchronization, but %p6 is not known here: it changes in a loop (line 34, `setp.ne.u32 %p5,%r5,0`)");
}

/// Relaxed arrivals do not show others that an mbarrier is initialised.
#[test]
fn initialisations_are_seen_behind_fences() {
    insta::assert_snapshot!(verdict("relaxed_cluster_arrive", "fence"), @"UNKNOWN line 29: this relaxed arrival does not show other CTAs that an mbarrier has been initialised: put `fence.mbarrier_init` between the two");
    insta::assert_snapshot!(verdict("fenced_relaxed_cluster_arrive", "fence"), @"PROVED for every schedule");
    insta::assert_snapshot!(verdict("init_before_relaxed_arrive", "fence"), @"UNKNOWN line 27: this mbarrier may be initialised after a barrier, and relaxed arrivals or waits do not show others that it is: initialise it before the barrier");
}

/// Which lane is elected is said where it matters, and not where it does not.
#[test]
fn any_lane_may_be_elected() {
    insta::assert_snapshot!(verdict("elect_leader", "elect.sync"), @r"
    PROVED for every schedule
    `elect.sync` elects the lowest lane of its mask
    ");
    insta::assert_snapshot!(verdict("elected_alone", "elect.sync"), @"PROVED for every schedule");
}

/// A counterexample is a launch that the verdict is about.
#[test]
fn counterexamples_lie_in_the_ranges() {
    insta::assert_snapshot!(verdict("counterexample_outside_range", "p_m"), @r"
    PROVED for every schedule
    0 <= p_m <= 1073741823
    ");
    insta::assert_snapshot!(verdict("divide_by_zero", "0 < p_m"), @r"
    PROVED for every p_n in 0..=1073741823, p_m in 0..=1073741823 and schedule, assuming 0 < p_m
    0 < p_m
    ");
}

/// Two lanes deliver 16 bytes each, and 16 are expected. On an H200 this hangs.
#[test]
fn bytes_that_are_completed_at_once() {
    insta::assert_snapshot!(verdict("completed_at_once", "complete_tx"), @r"
    PROVED for every schedule: by exhaustive search of 7 states of 1 input at 1 point
    no single `mbarrier.complete_tx` delivers more bytes than the phase still expects
    ");
}

/// What a branch says of a number holds in that branch.
#[test]
fn numbers_of_one_branch_are_not_those_of_others() {
    insta::assert_snapshot!(verdict("lesser_on_one_branch", "which launches"), @"UNKNOWN line 66, `@%p3 bra SMEND`: how often this loop runs is not known: `div.s32` of these values is not followed, or may wrap around (line 29, `div.s32 %r10, %r9, 128`)");
}

/// Index and phase that are copied from what a ring was do not begin at 0.
#[test]
fn what_a_ring_was_is_not_its_beginning() {
    insta::assert_snapshot!(verdict("copied_machine", "which launches"), @"UNKNOWN line 71, `@%p5 bra TILE`: how often this loop runs is not known: `div.s32` of these values is not followed, or may wrap around (line 33, `div.s32 %r2, %r2, 128`)");
}

/// A difference of products may wrap around, and the verdict says that it does not.
#[test]
fn products_are_taken_for_sizes() {
    insta::assert_snapshot!(verdict("product_wraps", "sizes"), @r"
    PROVED for every computed_2 in 0..=1073741823, k in 0..=1073741823 and schedule
    numbers that the launch computes and that are not negative are at most 1,073,741,823, as sizes are
    ");
}

/// The predicate of a fence is another one than that of an initialisation a round before.
#[test]
fn fences_are_of_their_round() {
    insta::assert_snapshot!(verdict("fence_of_another_round", "fence"), @"UNKNOWN line 40: this relaxed arrival does not show other CTAs that an mbarrier has been initialised: put `fence.mbarrier_init` between the two");
}

/// Which lane is elected is told by its number, too.
#[test]
fn the_elected_lane_has_a_number() {
    insta::assert_snapshot!(verdict("elected_by_shuffle", "elect.sync"), @r"
    PROVED for every schedule
    `elect.sync` elects the lowest lane of its mask
    ");
    insta::assert_snapshot!(verdict("elected_number", "elect.sync"), @r"
    PROVED for every schedule
    `elect.sync` elects the lowest lane of its mask
    ");
}

/// The highest bits of a negative number are no negative number.
#[test]
fn fields_up_to_the_sign_are_not_negative() {
    insta::assert_snapshot!(verdict("wrapped_field", "p_n"), @"UNKNOWN line 31, `@%p5 bra done`: a branch decides about synchronization, but %p5 is not known here: `bfe.u32` of these values is not followed, or may wrap around (line 28, `bfe.u32 %r11,%r5,4,28`)");
    insta::assert_snapshot!(verdict("highest_field", "p_n"), @"UNKNOWN line 32, `@%p5 bra done`: a branch decides about synchronization, but %p5 is not known here: `bfe.u32` of these values is not followed, or may wrap around (line 30, `bfe.u32 %r11,%r10,30,2`)");
}

/// The high half of a product by a number near 2^64: that of 516 is 515, and 515 / 8 is 64.
#[test]
fn products_of_large_numbers_are_no_panic() {
    insta::assert_snapshot!(verdict("high_product", "p_L"), @"REFUTED at L = 100: nobody arrives at B0_bar, for which warp1 waits (line 47): warp0 never arrives, because `if (42949672955 * L + 68719476720) / 68719476736 != 63` (line 41) does not hold for it");
}

/// Parameters of one byte are not sizes of four.
#[test]
fn parameters_that_share_a_word_are_apart() {
    insta::assert_snapshot!(verdict("byte_parameter", "lies in"), @"REFUTED at p_d = 101: nobody arrives at B_bar, for which warp1 waits (line 30): warp0 never arrives, because `if p_d < 101` (line 25) does not hold for it");
}

/// What is computed from the number of a lane tells lanes apart, unless it is the number of the thread itself that is divided.
#[test]
fn lanes_are_told_apart_by_what_is_computed_from_their_number() {
    insta::assert_snapshot!(verdict("elected_lane_shifted", "elect.sync"), @"
    PROVED for every schedule
    `elect.sync` elects the lowest lane of its mask
    ");
    insta::assert_snapshot!(verdict("elected_compare", "elect.sync"), @"
    PROVED for every schedule
    `elect.sync` elects the lowest lane of its mask
    ");
}

/// Data may lie where an mbarrier has ended, not where it is still used.
#[test]
fn mbarriers_are_not_overwritten_before_their_end() {
    insta::assert_snapshot!(verdict("store_over_live", "mbarrier"), @"UNKNOWN line 23: this writes data over an mbarrier, which is undefined");
    insta::assert_snapshot!(verdict("store_over_ended_later", "mbarrier"), @"UNKNOWN line 22: this writes data over an mbarrier, which is undefined");
    // Other threads may initialise it before a slow one has stored.
    insta::assert_snapshot!(verdict_of("graph", "store_before_its_init", "mbarrier"), @"UNKNOWN line 21: this writes data over an mbarrier, which is undefined");
    insta::assert_snapshot!(verdict_of("graph", "store_beside_the_second_life", "mbarrier"), @"UNKNOWN line 31: this writes data over an mbarrier, which is undefined");
}

/// A step may go over a bound that is near to the end of its type.
#[test]
fn bounds_of_loops_are_sizes() {
    insta::assert_snapshot!(verdict("loop_over_the_end", "bound loops"), @"
    PROVED for every schedule
    launch parameters that bound loops without synchronization are at least 0 and below 2^30 (below 2^62 if they have 64 bits)
    ");
}

/// Others go on behind an arrival, as behind a barrier.
#[test]
fn initialisations_behind_an_arrival_are_not_seen() {
    insta::assert_snapshot!(verdict("init_behind_arrive", "fence"), @"UNKNOWN line 23: this mbarrier may be initialised after a barrier, and relaxed arrivals or waits do not show others that it is: initialise it before the barrier");
}

/// An H200 holds a warp that has arrived at the cluster's barrier at its end, and with it what its lanes have still to do.
#[test]
fn warps_are_held_at_their_end() {
    insta::assert_snapshot!(verdict("held_at_its_end", "ended"), @"UNKNOWN line 26, `@%p3 mbarrier.arrive.shared::cta.b64 _, [%r4]`: the warp does this after `barrier.cluster.arrive` and exits without `barrier.cluster.wait`: hardware may hold it back until the cluster's barrier completes. Put the wait before this, or the arrival after it");
    insta::assert_snapshot!(verdict("not_held_at_its_end", "ended"), @"
    PROVED for every schedule
    a barrier of all threads does not wait for warps that have ended
    ");
}

/// On an H200 two CTAs may each arrive at the other one and not see the other's arrival.
#[test]
fn remote_arrivals_are_said_to_be_seen_at_once() {
    insta::assert_snapshot!(verdict("remote_arrivals", "at once"), @"
    PROVED for every schedule: by exhaustive search of 5616 states of 1 input at 1 point
    where waits may be out of step, an arrival at another CTA's mbarrier takes effect at once
    ");
    // All waits of a ring are in step. Then causality is enough.
    insta::assert_snapshot!(verdict("remote_ring", "arrival"), @"
    PROVED for every n in 0..=1073741823 and schedule
    an arrival at another CTA's mbarrier is seen by whoever has waited for what its warp does behind it
    ");
}

/// What was answered with no about one half of a condition is not taken for granted in the other.
#[test]
fn conditions_of_which_no_part_is_a_test_are_none() {
    insta::assert_snapshot!(verdict("ring_of_another_iteration", "test"), @"UNKNOWN line 68, `@%p8 bra TAKEN`: a branch decides about synchronization, but %p8 is not known here: it changes in a loop (line 56, `mov.u32 %r14, 0`)");
    insta::assert_snapshot!(verdict("asked_in_the_last_round", "test"), @"UNKNOWN line 49, `@%p8 bra NEXT`: a branch decides about synchronization, but %p8 is not known here: it changes in a loop (line 46, `add.u32 %r9, %r8, 1`)");
    insta::assert_snapshot!(verdict("place_of_another_iteration", "test"), @"UNKNOWN line 54, `@%p8 bra NEXT`: a branch decides about synchronization, but %p8 is not known here: it changes in a loop (line 41, `setp.ge.s32 %p7, %r8, %r2`)");
    insta::assert_snapshot!(verdict("asked_with_more", "test"), @"BOUNDED no violation for n in 0..=64, m in 0..=64; no proof: it could not be shown that in warp1, `wait bar_32 0` (line 72) stays in range (this step of the proof fails, which need not be a fault of the protocol)");
    insta::assert_snapshot!(verdict("asked_twice", "test"), @"UNKNOWN line 59, `@%p10 bra TAKEN`: a branch decides about synchronization, but %p10 is not known here: it changes in a loop (line 55, `mad.lo.u32 %r9, %r6, 8, %r20`)");
}

/// A grid may have 2^31 - 1 CTAs along its first axis. That it has fewer is said, also if the protocol names no CTA.
#[test]
fn numbers_of_ctas_that_are_left_out_are_said() {
    insta::assert_snapshot!(verdict_of("path", "cta_beyond_a_size", "cta"), @r"
        PROVED for every schedule
        nctaid_x <= 1073741823
        ");
}

/// Two copies of different phases are under way at once. A piece of one and the whole of the other may be more than the first
/// phase expects.
#[test]
fn copies_of_two_phases_come_in_pieces() {
    for recovery in ["path", "graph"] {
        let shown = verdict_of(recovery, "copies_of_two_phases", "no copy delivers more");
        insta::allow_duplicates! {
            insta::assert_snapshot!(shown, @r"
            PROVED for every schedule: by exhaustive search of 20 states of 1 input at 1 point
            no copy delivers more bytes than the phase of its mbarrier still expects
            ");
        }
    }
}

/// `.relu` makes a negative result 0. No modifier of arithmetic is passed over.
#[test]
fn results_that_are_cut_off_are_not_followed() {
    for recovery in ["path", "graph"] {
        let shown = verdict_of(recovery, "least_of_two_cut_off", "");
        assert!(shown.starts_with("UNKNOWN"), "{recovery}: {shown}");
    }
}

/// What all lanes of a warp load together, one lane does not load.
#[test]
fn matrices_are_loaded_by_whole_warps() {
    insta::assert_snapshot!(verdict_of("path", "matrix_of_one_lane", ""), @"UNKNOWN line 21, `ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r4]`: `ldmatrix.sync.aligned.m8n8.x1.shared.b16`");
    insta::assert_snapshot!(verdict_of("graph", "matrix_of_one_lane", ""), @"UNKNOWN line 21: a part of a warp comes to ldmatrix.sync.aligned.m8n8.x1.shared.b16, while other lanes go on: this is undefined");
}

/// What is told in a loop before the use in it does not come behind the last use.
#[test]
fn the_last_use_of_an_mbarrier_comes_before_what_is_told() {
    insta::assert_snapshot!(verdict_of("graph", "told_before_the_last_use", "inval"), @"UNKNOWN line 42: the mbarrier may be used behind this: no barrier of all threads stands between that use and this");
}

/// Lanes of one instruction that arrive at once arrive in one phase. On hardware the launch fails where they do not.
#[test]
fn lanes_arrive_in_one_phase() {
    insta::assert_snapshot!(verdict("lanes_beyond_a_phase", "one phase"), @"UNKNOWN line 16, `@%p1 mbarrier.arrive.shared.b64 _,[%bar]`: more lanes arrive here at once than a phase takes, which is undefined");
    insta::assert_snapshot!(verdict_of("path", "lanes_beyond_a_phase", "one phase"), @"UNKNOWN line 16, `@%p1 mbarrier.arrive.shared.b64 _,[%bar]`: more lanes arrive here at once than a phase takes, which is undefined");
    insta::assert_snapshot!(verdict("landed_beyond_a_phase", "one phase"), @"UNKNOWN line 16, `cp.async.mbarrier.arrive.noinc.shared.b64 [%bar]`: more lanes arrive here at once than a phase takes, which is undefined");
    insta::assert_snapshot!(verdict_of("path", "landed_beyond_a_phase", "one phase"), @"UNKNOWN line 16, `cp.async.mbarrier.arrive.noinc.shared.b64 [%bar]`: more lanes arrive here at once than a phase takes, which is undefined");
}

/// No grid has a part of a cluster.
#[test]
fn grids_are_made_of_whole_clusters() {
    insta::assert_snapshot!(verdict_of("path", "whole_clusters", "nctaid"), @r"
    PROVED for every nctaid_x in 2..=1073741823 and schedule, assuming nctaid_x % 2 == 0
    2 <= nctaid_x <= 1073741823
    nctaid_x % 2 == 0
        ");
}

/// What lies behind a parameter may be another one.
#[test]
fn parameters_end_where_others_begin() {
    insta::assert_snapshot!(verdict_of("path", "beyond_a_parameter", "param"), @"UNKNOWN line 16, `@!%p1 bra OUT`: a branch decides about synchronization, but %p1 is not known here: it is read beyond the end of a parameter (line 15, `ld.param.u32 %r2,[k_param_0+4]`)");
}

/// What `.nc` reads is no number of the launch where the kernel writes it.
#[test]
fn what_is_read_as_constant_is_not_written() {
    let verdict = |name: &str| verdict_of("path", name, "pointers");
    insta::assert_snapshot!(verdict("constant_and_written"), @"UNKNOWN line 38, `@%p4 bra ROUND`: a branch decides about synchronization, but %p4 is not known here: it is read by `.nc` from memory to which the kernel may write (line 35, `ld.global.nc.u32 %r7, [%rd6]`)");
    insta::assert_snapshot!(verdict("constant_beside_written"), @r"
    PROVED for every p_n in 0..=1073741823, pattern at_p_mask and schedule
    pointers that are different parameters, and what tensor maps describe, do not overlap
    ");
    insta::assert_snapshot!(verdict_of("path", "constant_and_unfollowed", "cannot determine"), @r"
    PROVED for every p_n in 0..=1073741823, pattern at_p_mask and schedule
    stores and copies to addresses in global memory that Warplock cannot determine do not write words that decide about synchronization
    ");
}

/// What is fetched again each time is no number of the launch.
#[test]
fn what_is_fetched_again_may_change() {
    insta::assert_snapshot!(verdict_of("graph", "refetched", "words"), @"UNKNOWN line 38: whether this is done depends on a value that is read from memory (line 35)");
}

/// Data is stored over an mbarrier only behind its end, which some thread carries out whatever the launch is.
#[test]
fn what_is_stored_over_has_ended() {
    let verdict = |name: &str| verdict(name, "mbarrier");
    insta::assert_snapshot!(verdict("store_beside_its_end"), @"UNKNOWN line 24: this writes data over an mbarrier, which is undefined");
    insta::assert_snapshot!(verdict("store_over_perhaps_ended"), @"UNKNOWN line 25: this writes data over an mbarrier, which is undefined");
    insta::assert_snapshot!(verdict("store_behind_its_end"), @"PROVED for every schedule");
}

/// A counterexample of the graph's protocol is not set aside by assuming that a number does not wrap around.
#[test]
fn assumptions_do_not_replace_counterexamples() {
    insta::assert_snapshot!(verdict("low_half_is_zero", "which launches"), @"UNKNOWN the path's protocol is proved only under the assumption `p_n < 4294967296`, by which no number wraps around; the graph's protocol has a counterexample in which this may be false");
    insta::assert_snapshot!(verdict("low_half_is_negative", "which launches"), @"UNKNOWN the path's protocol is proved only under the assumption `65536 * p_n < 2147483648`, by which no number wraps around; the graph's protocol has a counterexample in which this may be false");
}

/// That no run aborts is listed, and a kernel that always does is not proved.
#[test]
fn runs_do_not_abort() {
    for recovery in ["graph", "path"] {
        let verdict = verdict_of(recovery, "aborts_perhaps", "trap");
        let says = "no thread reaches a `trap`, and no assertion fails";
        assert!(
            verdict.starts_with("PROVED") && verdict.contains(says),
            "{verdict}"
        );
        let verdict = verdict_of(recovery, "aborts_always", "trap");
        assert_eq!(
            verdict,
            "UNKNOWN the kernel always aborts: every path that ends, ends in a `trap` or a failed assertion"
        );
    }
}

/// What preceding grids write is not looked at.
#[test]
fn grids_before_this_one_are_listed() {
    for recovery in ["graph", "path"] {
        let verdict = verdict_of(recovery, "awaits_grids", "preceding");
        let says = "global memory that preceding grids write is read only after `griddepcontrol.wait` (not checked)";
        assert!(
            verdict.starts_with("PROVED") && verdict.contains(says),
            "{verdict}"
        );
    }
}

/// One wait of a warp says for all four that what they have multiplied is done.
#[test]
fn warps_of_a_warpgroup_wait_for_each_other() {
    let folder = Folder::new();
    let file = "tests/ptx/believed/multiplied_by_others.ptx";
    folder.file("kernel.ptx", fs::read(file).unwrap());
    let arguments = [
        "check",
        "-q",
        "--property",
        "race",
        "--recovery",
        "path",
        "kernel.ptx",
    ];
    insta::assert_snapshot!(told(&folder.run(&arguments), "race", "which launches"), @"UNKNOWN the recovered protocol has a counterexample, but possibly no launch has it: parameters may depend on each other, patterns may be ones that no memory contents give, a warp may wait for warps that have ended, or the kernel may abort first");
}

/// The index of a CTA is below how many there are, and may be one less.
#[test]
fn ctas_lie_in_their_grid() {
    let verdict = |name: &str| verdict_of("graph", name, "which launches");
    let proved = verdict("cta_of_the_grid");
    assert!(proved.starts_with("PROVED for every "), "{proved}");
    let last = verdict("last_cta_of_the_grid");
    assert!(
        last.starts_with("UNKNOWN ") || last.starts_with("REFUTED "),
        "{last}"
    );
}
