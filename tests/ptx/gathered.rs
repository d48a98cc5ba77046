//! Arrivals under a predicate that the launch decides for each lane: the comparison with runs takes them together.

use crate::graph_misuse::verdict;

/// 64 threads arrive by two instructions, each of them by one, and wait.
fn halves(second: &str) -> String {
    format!(
        "setp.ne.u32 %p15, %r1, 0;\n@!%p15 mbarrier.init.shared.b64 [bar], 64;\nbar.sync 0;\n\
         setp.lt.s32 %p2, %r1, %r2;\n@%p2 mbarrier.arrive.shared.b64 _, [bar];\n\
         {second} mbarrier.arrive.shared.b64 _, [bar];\n\
         W:\nmbarrier.try_wait.parity.shared.b64 %p9, [bar], 0;\n@!%p9 bra W;"
    )
}

#[test]
fn each_lane_arrives_by_one_of_two_instructions() {
    insta::assert_snapshot!(verdict(64, &halves("@!%p2")), @"PROVED for every n in 0..=1073741823 and schedule");
}

/// The second one is for a part of the lanes that does not arrive by the first one.
#[test]
fn some_lanes_do_not_arrive() {
    let said = verdict(
        64,
        &halves("setp.ge.s32 %p3, %r1, 40;\nand.pred %p3, %p3, !%p2;\n@%p3"),
    );
    assert!(!said.starts_with("PROVED"), "{said}");
    let said = verdict(64, &halves("setp.gt.s32 %p3, %r1, %r2;\n@%p3"));
    assert!(!said.starts_with("PROVED"), "{said}");
}
