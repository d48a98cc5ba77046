//! Sizes of 64 bits, and words in memory that say how often a loop runs.

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
