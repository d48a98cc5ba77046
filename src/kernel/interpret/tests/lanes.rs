//! Tests of operations across the lanes of a warp.

use super::builder::*;
use crate::interpret::lanes::reduced;
use crate::interpret::*;
use crate::ir::*;
use crate::meaning::shuffled;

#[test]
fn shuffles_read_the_lane_that_the_isa_says() {
    // Whole warps, as `__shfl_*_sync` with width 32 gives: c is 31 (0 for up).
    assert_eq!(shuffled(ShuffleMode::Index, 5, 9, 31), (9, true));
    assert_eq!(shuffled(ShuffleMode::Up, 5, 2, 0), (3, true));
    assert_eq!(shuffled(ShuffleMode::Up, 1, 2, 0), (1, false));
    assert_eq!(shuffled(ShuffleMode::Down, 5, 2, 31), (7, true));
    assert_eq!(shuffled(ShuffleMode::Down, 31, 2, 31), (31, false));
    assert_eq!(shuffled(ShuffleMode::Butterfly, 5, 4, 31), (1, true));
    // Width 8: the segment mask is 0x18, so c is 0x181f (0x1800 for up).
    assert_eq!(shuffled(ShuffleMode::Index, 13, 2, 0x181f), (10, true));
    assert_eq!(shuffled(ShuffleMode::Down, 13, 3, 0x181f), (13, false));
    assert_eq!(shuffled(ShuffleMode::Up, 9, 2, 0x1800), (9, false));
    assert_eq!(shuffled(ShuffleMode::Butterfly, 13, 7, 0x181f), (10, true));
}

#[test]
fn reductions_know_signs() {
    let values = || [3_u32, 0xffff_ffff, 7].into_iter();
    assert_eq!(reduced("add.s32", values()), Some(9));
    assert_eq!(reduced("min.s32", values()), Some(0xffff_ffff));
    assert_eq!(reduced("min.u32", values()), Some(3));
    assert_eq!(reduced("max.u32", values()), Some(0xffff_ffff));
    assert_eq!(reduced("max.s32", values()), Some(7));
    assert_eq!(reduced("and.b32", values()), Some(3));
    assert_eq!(reduced("xor.b32", values()), Some(3 ^ 0xffff_ffff ^ 7));
    assert_eq!(reduced("min.f32", values()), None);
    assert_eq!(reduced("min", values()), None);
}

#[test]
fn the_lowest_lane_is_elected() {
    let mut b = Builder::new(3);
    let elected = b.register(1);
    b.sync(
        0,
        Synchronization::Elect {
            leader: None,
            elected: Some(elected),
            mask: constant(0xffff_fff0),
        },
    );
    b.branch(0, elected, 1, 2);
    b.sync(1, Synchronization::GridDependencyLaunch);
    b.jump(1, 2);
    let trace = b.run(32);
    assert_eq!(trace.ctas[0].warps[0].events[0].lanes, 1 << 4);
}

#[test]
fn votes_and_matches_count_lanes() {
    let mut b = Builder::new(1);
    let lane = b.special(0, Special::Lane);
    let odd = b.compute(0, Compute::And, 32, &[lane, constant(1)]);
    let odd = Operand::Register(odd);
    let mask = constant(0xffff_ffff);
    for mode in [
        VoteMode::Ballot,
        VoteMode::Any,
        VoteMode::All,
        VoteMode::Uniform,
    ] {
        let result = b.register(32);
        let predicate = odd;
        b.sync(
            0,
            Synchronization::Vote {
                mode,
                result,
                predicate,
                mask,
            },
        );
        b.show(0, Operand::Register(result));
    }
    let result = b.register(32);
    b.sync(
        0,
        Synchronization::Match {
            all: false,
            result,
            predicate: None,
            value: odd,
            mask,
        },
    );
    b.show(0, Operand::Register(result));
    let (even, odd) = (0x5555_5555, 0xaaaa_aaaa);
    let wanted = [
        (ALL, odd),
        (ALL, 1),
        (ALL, 0),
        (ALL, 0),
        (even, even),
        (odd, odd),
    ];
    assert_eq!(shown(&b.run(32), 0), wanted);
}

#[test]
fn threads_have_indices_and_masks() {
    let mut b = Builder::new(1);
    for special in [
        Special::ThreadIndex(0),
        Special::ThreadIndex(1),
        Special::Warp,
        Special::CtaThreads(1),
        Special::ClusterCtaRank,
        Special::CtaIndex(0),
        Special::CtaIndex(1),
        Special::GridClusters(0),
    ] {
        let value = b.special(0, special);
        b.show(0, value);
    }
    let mut launch = b.launch(0);
    launch.threads = [16, 4, 1];
    launch.grid = [8, 2, 1];
    launch.cluster = [2, 1, 1];
    launch.cta = [4, 1, 0];
    let trace = run(&b.kernel, &launch).unwrap();
    assert_eq!(trace.ctas.len(), 2);
    let events = &trace.ctas[1].warps[1].events;
    let values: Vec<u32> = events
        .iter()
        .filter(|event| event.lanes >> 17 & 1 == 1)
        .map(|event| match event.kind {
            EventKind::SetMaxRegisters { count, .. } => count,
            _ => 0,
        })
        .collect();
    assert_eq!(values, [1, 3, 1, 4, 1, 5, 1, 4]);
}
