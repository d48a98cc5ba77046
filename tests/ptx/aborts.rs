//! Kernels that may abort: a hang behind a trap is none.

use super::graph_misuse::verdict_by;

/// A warp comes to a barrier for two only if `n` is even. `first` stands before.
fn odd_rounds(first: &str) -> String {
    format!(
        "and.b32 %r3, %r2, 1;\nsetp.ne.u32 %p1, %r3, 0;\nsetp.ge.u32 %p2, %r1, 32;\n{first}\n\
         @%p2 bra C;\n@%p1 bra O;\nC:\nbar.sync 1, 64;\nO:"
    )
}

#[test]
fn a_counterexample_reaches_no_trap() {
    for recovery in ["graph", "path", "auto"] {
        let said = verdict_by(recovery, 64, &odd_rounds(""));
        assert!(said.starts_with("REFUTED at "), "{recovery} {said}");
        let free = "mov.u32 %r9, %envreg2;\nsetp.ne.u32 %p6, %r9, 0;\n@%p6 bra G;\ntrap;\nG:";
        let said = verdict_by(recovery, 64, &odd_rounds(free));
        assert!(said.starts_with("REFUTED at "), "{recovery} {said}");
        for first in [
            "@!%p1 bra G;\ntrap;\nG:",
            "@%p1 trap;",
            "@!%p1 bra G;\ntrap;\nexit;\nG:",
            // Only the warp that would wait for ever.
            "@!%p2 bra G;\n@%p1 trap;\nG:",
        ] {
            let said = verdict_by(recovery, 64, &odd_rounds(first));
            assert!(
                said.starts_with("UNKNOWN") || said.starts_with("PROVED"),
                "{recovery} {said}\n{first}"
            );
        }
    }
}

/// A loop that waits gives up at some time. It does so because nobody arrives.
#[test]
fn a_time_limit_is_no_way_out_of_a_hang() {
    let code = "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra I;\nmbarrier.init.shared.b64 [bar], 1;\nI:\nbar.sync 0;\n\
        mov.u32 %r5, %clock;\nW:\nmbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;\n@%p3 bra D;\n\
        mov.u32 %r6, %clock;\nsub.u32 %r6, %r6, %r5;\nsetp.lt.u32 %p4, %r6, 1000000;\n@%p4 bra W;\ntrap;\nD:";
    for recovery in ["graph", "auto"] {
        let said = verdict_by(recovery, 64, code);
        assert!(said.starts_with("REFUTED"), "{recovery} {said}");
    }
}
