//! Sizes of 64 bits, and words in memory that say how often a loop runs.

use super::graph_misuse::verdict_by;
use crate::support::program::Folder;

fn check(entry: &str, more: &[&str]) -> String {
    let folder = Folder::new();
    folder.kernel("wide_sizes.ptx");
    let mut arguments = vec!["check", "-q", "wide_sizes.ptx", "--entry", entry];
    arguments.extend(more);
    folder.run(&arguments)
}

/// `size_t n`, tiles that a remainder rounds up, and differences of words of 32 bits in 64 bits.
#[test]
fn sizes_may_have_64_bits() {
    for (entry, expected) in [
        (
            "uneven",
            "PROVED for every param_2_over_16_up in 0..=67108864",
        ),
        ("uneven_producer", "REFUTED at param_2 = 1: "),
        (
            "packed",
            "PROVED for every length_at_param_2_over_16_up in 0..=67108864",
        ),
        ("packed_producer", "REFUTED at length_at_param_2 = 1: "),
    ] {
        let shown = check(entry, &["--recovery", "graph"]);
        assert!(shown.contains(expected), "{entry}: {shown}");
    }
}

/// A word that nobody writes is one number for the four warps. Without that, multiplications in a loop that memory decides about are
/// refused, however the kernel is recovered: the warps may multiply unequally often.
#[test]
fn warps_multiply_as_often_as_memory_says() {
    let shown = check("multiplied", &["--recovery", "graph"]);
    assert!(shown.contains("PROVED for every at_param_1"), "{shown}");
    for recovery in ["auto", "path", "graph"] {
        let shown = check("multiplied_apart", &["--recovery", recovery]);
        assert!(shown.contains("deadlock: UNKNOWN"), "{recovery}: {shown}");
    }
}

/// What a kernel tests for is not taken to be never there: the low bits of a size, and whether a sum wraps around.
#[test]
fn what_is_tested_for_is_not_assumed_away() {
    let hangs_if = |condition: &str| {
        format!(
            "setp.ne.u32 %p15, %r1, 0;\n@!%p15 mbarrier.init.shared.b64 [bar], 1;\nbar.sync 0;\n\
             mov.u32 %r4, %nctaid.x;\n{condition}\n@!%p1 bra O;\n\
             W:\nmbarrier.try_wait.parity.shared.b64 %p9, [bar], 0;\n@!%p9 bra W;\nO:"
        )
    };
    let said = |condition: &str, recovery: &str| verdict_by(recovery, 32, &hangs_if(condition));
    for (condition, first) in [
        ("cvt.s32.s16 %r3, %r2;\nsetp.lt.s32 %p1, %r3, 0;", 32768),
        ("cvt.s32.s16 %r3, %r2;\nsetp.eq.s32 %p1, %r3, -5;", 65531),
        (
            "add.u32 %r3, %r2, %r2;\ncvt.u32.u16 %r3, %r3;\nsetp.eq.u32 %p1, %r3, 2;",
            1,
        ),
    ] {
        let refuted = format!("REFUTED at p_n = {first}: ");
        let said = said(condition, "path");
        assert!(said.starts_with(&refuted), "{condition}: {said}");
    }
    let above = said("cvt.u32.u16 %r3, %r2;\nsetp.ne.u32 %p1, %r3, %r2;", "path");
    assert!(
        above.starts_with("REFUTED at p_n_over_65536 = 1: "),
        "{above}"
    );
    // No number of 16 bits without sign is below 0.
    let never = "cvt.u32.u16 %r3, %r2;\nsetp.lt.s32 %p1, %r3, 0;";
    assert_eq!(said(never, "path"), "PROVED for every schedule");
    for condition in [
        "mad.lo.s32 %r3, %r4, 3, %r2;\nsetp.lt.s32 %p1, %r3, 0;",
        "mad.lo.s32 %r3, %r4, 3, %r2;\nsub.s32 %r3, %r3, 7;\nsetp.lt.s32 %p1, %r3, -7;",
        // Nor is a product taken for a size that would have to be 0 or 1.
        "mad.lo.s32 %r3, %r4, 2147483647, %r2;\nsetp.gt.s32 %p1, %r3, 7;",
    ] {
        let said = said(condition, "path");
        assert!(said.starts_with("UNKNOWN"), "{condition}: {said}");
    }
}
