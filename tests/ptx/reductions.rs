//! Barriers with a reduction.

use super::graph_misuse::verdict;
use super::graph_misuse::verdict_by;

/// `bar.red` may not meet `bar.sync`, `bar.arrive` or another reduction at one barrier. Barriers that all threads come to in the
/// same order do not meet others.
#[test]
fn reductions_that_meet_other_barriers() {
    let by_warp = |first: &str, second: &str| {
        format!(
            "setp.eq.u32 %p2, %r2, 5;\nsetp.ge.u32 %p1, %r1, 32;\n@%p1 bra C;\n{first}\nbra O;\nC:\n{second}\nO:"
        )
    };
    let undefined = [
        by_warp("bar.red.popc.u32 %r3, 1, 64, %p2;", "bar.sync 1, 64;"),
        by_warp("bar.sync 1, 64;", "bar.red.popc.u32 %r3, 1, 64, %p2;"),
        by_warp("bar.red.popc.u32 %r3, 1, 64, %p2;", "bar.arrive 1, 64;"),
        by_warp("bar.red.popc.u32 %r3, 0, %p2;", "bar.sync 0;"),
        by_warp(
            "bar.red.popc.u32 %r3, 1, 64, %p2;",
            "bar.red.and.pred %p3, 1, 64, %p2;",
        ),
        by_warp(
            "bar.red.or.pred %p3, 1, 64, %p2;",
            "mov.u32 %r4, 1;\nbar.sync %r4, 64;",
        ),
        // One warp takes another way in one launch of many.
        by_warp(
            "@%p2 bra D;\nbar.red.popc.u32 %r3, 0, %p2;\nbra O;\nD:\nbar.sync 0;",
            "bar.red.popc.u32 %r3, 0, %p2;",
        ),
        // Behind it there is nothing but a trap, which is no end that all ways lead to.
        by_warp("bar.sync 0;\nret;", "bra D;\nD:\nbar.red.popc.u32 %r3, 0, %p2;\ntrap;"),
        // The reduction of each warp by itself says how often it comes.
        "setp.lt.u32 %p2, %r1, 7;\nh:\nbar.red.or.pred %p3, 1, 32, %p2;\nsetp.lt.u32 %p2, %r1, 0;\nbar.sync 0;\n\
         @%p3 bra h;\nbar.red.or.pred %p3, 0, %p2;"
            .to_owned(),
        // Arrivals of one warp meet the reduction of the other.
        "setp.eq.u32 %p2, %r2, 5;\nbar.arrive 1, 64;\nbar.red.popc.u32 %r3, 1, 64, %p2;".to_owned(),
        // Half of the threads come to each of them.
        "setp.eq.u32 %p2, %r2, 5;\nmov.u32 %r4, %ntid.x;\nshr.u32 %r5, %r4, 1;\nbar.red.or.pred %p3, 1, %r5, %p2;\n\
         bar.sync 1, %r5;"
            .to_owned(),
        // What is read may be another word for each thread.
        "setp.eq.u32 %p2, %r2, 5;\nld.global.u32 %r5, [%rd1];\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra O;\n\
         bar.red.popc.u32 %r3, 0, %p2;\nO:\nbar.sync 0;"
            .to_owned(),
    ];
    for code in &undefined {
        for recovery in ["graph", "path", "auto"] {
            let said = verdict_by(recovery, 64, code);
            assert!(
                said.starts_with("UNKNOWN line "),
                "{recovery} {said}\n{code}"
            );
            let either = said.ends_with(
                "a barrier with a reduction may be paired here with `bar.sync`, `bar.arrive` or another reduction: this is undefined",
            );
            // Who follows instructions may have another reason before.
            assert!(either || recovery != "graph", "{recovery} {said}\n{code}");
        }
    }
    let alike = [
        "setp.eq.u32 %p2, %r2, 5;\nmov.u32 %r4, %ntid.x;\nbar.red.or.pred %p3, 1, %r4, %p2;\nbar.sync 1, %r4;",
        "setp.eq.u32 %p2, %r1, 5;\nbar.sync 0;\nbar.red.popc.u32 %r3, 0, %p2;\nbar.red.and.pred %p3, 0, %p2;\nbar.sync 0;",
        // The launch decides, for all threads alike.
        "setp.eq.u32 %p2, %r2, 5;\n@%p2 bra D;\nbar.red.popc.u32 %r3, 0, %p2;\nbra O;\nD:\nbar.sync 0;\nO:\nbar.sync 0;",
        // Rounds up to a parameter.
        "mov.u32 %r4, 0;\nsetp.eq.u32 %p2, %r1, 5;\nsetp.eq.u32 %p4, %r2, 0;\n@%p4 bra O;\nh:\nbar.sync 0;\n\
         bar.red.or.pred %p3, 0, %p2;\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p4, %r4, %r2;\n@%p4 bra h;\nO:",
        // Each barrier has a number of its own.
        "setp.eq.u32 %p2, %r2, 5;\nsetp.ge.u32 %p1, %r1, 32;\n@%p1 bra C;\nbar.red.popc.u32 %r3, 1, 32, %p2;\nbra O;\n\
         C:\nbar.sync 2, 32;\nO:\nbar.sync 0;",
    ];
    for code in alike {
        let said = verdict(64, code);
        assert!(said.starts_with("PROVED for every "), "{said}\n{code}");
    }
}
