//! Kernels of `tests/ptx/raced`, whose races were once overlooked, or decided by something that was not said.

use std::fs;

use crate::data::run;
use crate::data::told;

/// The verdict on races, by way of the graph, with what is taken for granted of the lane that `elect.sync` elects.
fn verdict(name: &str) -> String {
    let text = fs::read_to_string(format!("tests/ptx/raced/{name}.ptx")).unwrap();
    let shown = run(
        &text,
        &["check", "-v", "--property", "race", "--recovery", "graph"],
    );
    told(&shown, "race", "`elect.sync`")
}

/// Lane 0 waits for its copy on one side of a branch. Other lanes overwrite what it reads, or tell that it is done, on the
/// other side.
#[test]
fn waits_for_groups_hold_up_their_own_lanes() {
    insta::assert_snapshot!(verdict("wait_beside_stores"), @"UNKNOWN line 33: lanes of a warp wait on both sides of a branch");
    insta::assert_snapshot!(verdict("wait_beside_arrival"), @"UNKNOWN line 33: lanes of a warp wait on both sides of a branch");
}

/// Half of the lanes start copies and end. Nobody waits for these.
#[test]
fn lanes_end_while_their_copies_are_under_way() {
    insta::assert_snapshot!(verdict("copies_of_ended_lanes"), @"UNKNOWN line 37: lanes of the warp have started `cp.async` copies and exited, and the other lanes wait for their own copies only");
    insta::assert_snapshot!(verdict("copies_of_ended_lanes_arrive"), @"UNKNOWN line 36: races are not decided of `cp.async.mbarrier.arrive`");
}

/// 32 lanes arrive behind their copies where 16 are expected: the first phase tells of 16 copies, whichever these are.
#[test]
fn arrivals_behind_copies_tell_of_their_own_lanes() {
    insta::assert_snapshot!(verdict("copies_arrive_in_two_units"), @"UNKNOWN line 34: races are not decided of `cp.async.mbarrier.arrive`");
}

/// All lanes test, and go on when one of them has seen the phase complete.
#[test]
fn lanes_are_ordered_by_their_own_tests() {
    insta::assert_snapshot!(verdict("tests_told_by_shuffle"), @"UNKNOWN line 34: lanes of the warp tell each other what their tests of an mbarrier have found, so that a lane may go on whose own test has failed");
    insta::assert_snapshot!(verdict("tests_told_by_vote"), @"UNKNOWN line 33: lanes of the warp tell each other what their tests of an mbarrier have found, so that a lane may go on whose own test has failed");
}

/// The elected lane waits or stores, and lane 0 has started the copy, or arrives.
#[test]
fn the_elected_lane_need_not_be_lane_0() {
    insta::assert_snapshot!(verdict("elected_lane_waits"), @r"
    PROVED for every schedule
    `elect.sync` elects the lowest lane of its mask
    ");
    insta::assert_snapshot!(verdict("elected_lane_stores"), @r"
    PROVED for every schedule
    `elect.sync` elects the lowest lane of its mask
    ");
}

/// A copy of a tensor map out of shared memory reads it.
#[test]
fn copies_of_tensor_maps_read_shared_memory() {
    insta::assert_snapshot!(verdict("tensor_map_copied"), @"UNKNOWN line 31: which bytes of shared memory this instruction reads or writes is not known");
}

/// Where `m` is 77777777, a round keeps the address or the guard of the round before.
#[test]
fn accesses_read_what_an_earlier_round_has_left() {
    insta::assert_snapshot!(verdict("address_kept_in_some_rounds"), @"UNKNOWN line 44: which bytes of shared memory this is depends on what a loop carries, for which no form was found");
    insta::assert_snapshot!(verdict("guard_kept_in_some_rounds"), @"UNKNOWN line 44: whether this is done depends on what a loop carries, for which no form was found");
}

/// A bulk copy with a mask reads half of the bytes, and the other half is overwritten. Nobody knows of that.
#[test]
fn masked_copies_are_refused() {
    insta::assert_snapshot!(verdict("masked_copy"), @"UNKNOWN line 33: which bytes of shared memory this instruction reads or writes is not known");
}

/// Warps of a warpgroup wait for their multiplications. That orders nothing else that they do.
#[test]
fn multiplications_order_no_other_accesses() {
    insta::assert_snapshot!(verdict("multiplications_order_others"), @"UNKNOWN the recovered protocol has a counterexample, but possibly no launch has it: parameters may depend on each other, patterns may be ones that no memory contents give, a warp may wait for warps that have ended, or the kernel may abort first");
}

/// A variable sets the stride of a matrix, in the upper half of its descriptor.
#[test]
fn descriptors_are_followed_whole() {
    insta::assert_snapshot!(verdict("descriptor_with_a_stride"), @"UNKNOWN line 47: where a matrix begins does not follow from its descriptor");
}

/// Every lane has a part of each row of `ldmatrix`, whichever lane names it. Lanes that name rows have to be there.
#[test]
fn rows_of_matrices_are_those_of_all_lanes() {
    insta::assert_snapshot!(verdict("rows_of_other_lanes"), @"UNKNOWN line 55: this signals that the warp is done, but other lanes of it have read or written: put `bar.warp.sync` between their accesses and this");
    insta::assert_snapshot!(verdict("rows_of_ended_lanes"), @"UNKNOWN line 34: a part of a warp comes to ldmatrix.sync.aligned.m8n8.x1.shared.b16, while other lanes go on: this is undefined");
}

/// Copies that were not committed are waited for by nobody.
#[test]
fn waits_for_groups_do_not_cover_what_is_in_none() {
    insta::assert_snapshot!(verdict("copies_in_no_group"), @"UNKNOWN line 37: races are not decided of a warp in which two of these may be under way at once: `cp.async` groups, bulk copy groups, `wgmma` groups");
}

/// A tensor copy is made under a condition, and its bytes are expected in any case.
#[test]
fn bytes_of_a_copy_are_expected_beside_it() {
    insta::assert_snapshot!(verdict("bytes_expected_elsewhere"), @"UNKNOWN line 34: how many bytes this copy delivers is not known: its mbarrier expects them elsewhere");
}
