//! Tests of warps that run in turns, and of the printed output.

use super::builder::*;
use crate::interpret::*;
use crate::ir::*;

/// Warp 2 releases warp 1, which ends in the next turn and releases warp 0.
#[test]
fn a_warp_may_end_in_the_turn_in_which_it_lets_another_go_on() {
    let mut b = Builder::new(5);
    let thread = b.special(0, Special::ThreadIndex(0));
    let first = b.less(0, thread, constant(32));
    let last = b.less(0, constant(63), thread);
    b.branch(0, first, 1, 2);
    b.barrier(1, 1, Some(64), true);
    b.jump(1, 4);
    b.barrier(2, 2, Some(64), true);
    b.branch(2, last, 4, 3);
    b.barrier(3, 1, Some(64), true);
    b.jump(3, 4);
    assert_eq!(b.simulate(96).outcome, Outcome::Finished);
}

#[test]
fn warps_with_different_events_are_printed_apart() {
    let mut b = Builder::new(4);
    let thread = b.special(0, Special::ThreadIndex(0));
    let low = b.less(0, thread, constant(32));
    b.branch(0, low, 1, 2);
    b.barrier(1, 1, Some(32), true);
    b.jump(1, 3);
    b.barrier(2, 2, Some(32), true);
    b.jump(2, 3);
    let printed = text(&b.kernel, &b.launch(64), &b.run(64));
    let warps: Vec<&str> = printed
        .lines()
        .filter(|line| line.contains("sync"))
        .collect();
    assert_eq!(warps.len(), 2, "{printed}");
}
