//! Tests of words of global memory that nobody writes, and on which it depends what the iterations of loops do: a
//! word may be 0 or not.

use super::tests::compared;

/// In each round, the kernel reads a word of the CTA's row, and arrives if the word is not 0. `INDEX` computes the
/// index in `%r8` from the start of the row in `%r5` and the column in `%r6`. `LOAD` reads the word into `%r9`.
/// `TEST` sets `%p3` if nothing is to be done.
const MASKED: &str = "\
.version 8.7
.target sm_90a
.address_size 64
.visible .entry masked(.param .u64 mask, .param .u64 data, .param .u32 n, .param .u32 m)
.reqntid 64, 1, 1
{
.reg .pred %p<9>;
.reg .b16 %rs<4>;
.reg .b32 %r<16>;
.reg .b64 %rd<12>;
.shared .align 8 .b8 full[8];
ld.param.u64 %rd1, [mask];
cvta.to.global.u64 %rd2, %rd1;
ld.param.u64 %rd3, [data];
cvta.to.global.u64 %rd4, %rd3;
ld.param.u32 %r4, [n];
ld.param.u32 %r7, [m];
mov.u32 %r1, full;
mov.u32 %r2, %tid.x;
mov.u32 %r3, %ctaid.x;
setp.ne.u32 %p1, %r2, 0;
@%p1 bra MEET;
mbarrier.init.shared.b64 [%r1], 1;
MEET:
bar.sync 0;
mul.lo.u32 %r5, %r3, %r4;
mov.u32 %r6, 0;
setp.lt.s32 %p2, %r4, 1;
@%p2 bra END;
LOOP:
INDEX
mul.wide.u32 %rd5, %r8, 4;
add.u64 %rd6, %rd2, %rd5;
LOAD
TEST
@%p3 bra NEXT;
@!%p1 mbarrier.arrive.shared.b64 _, [%r1];
NEXT:
add.u32 %r6, %r6, 1;
setp.lt.s32 %p4, %r6, %r4;
@%p4 bra LOOP;
END:
ret;
}
";

const INDEX: &str = "add.u32 %r8, %r5, %r6;";
const LOAD: &str = "ld.global.nc.u32 %r9, [%rd6];";
const TEST: &str = "setp.eq.u32 %p3, %r9, 0;";

fn kernel(index: &str, load: &str, test: &str) -> String {
    MASKED
        .replace("INDEX", index)
        .replace("LOAD", load)
        .replace("TEST", test)
}

/// The lines of patterns and of what one warp does, or why the kernel is refused.
fn shown(source: &str) -> String {
    let text = compared(source);
    let Some(head) = text.find("protocol ") else {
        return text;
    };
    let body = text.find("role warp0").unwrap_or(head);
    let end = text[body..]
        .find("\n}")
        .map_or(text.len(), |end| body + end);
    let patterns = text.lines().filter(|line| line.starts_with("pattern "));
    let role = text[body..end].lines().filter(|line| line.contains("{"));
    patterns.chain(role).collect::<Vec<_>>().join("\n")
}

#[test]
fn whether_words_are_0_is_a_pattern() {
    insta::assert_snapshot!(compared(&kernel(INDEX, LOAD, TEST)), @"
    //! Recovered from the kernel `masked`.
    //! 64 x 1 x 1 threads per CTA.
    //! Checked against the kernel at 24 launches, 464 events.
    //! Assumed: indices into memory that decides about synchronization do not wrap around
    //! Assumed: words in memory that decide about synchronization are not written while the kernel runs
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    protocol masked

    param n in 0..=1073741823

    mbarrier full_bar { arrivals: 1 }
    named cta_bar[16]
    pattern at_mask[n]  // where the memory is not 0

    role warp0 warp {
        sync cta_bar[0] 64  // line 25
        for i in row(at_mask) ascending {  // line 36
            arrive full_bar  // line 37
        }
    }

    role warp1 warp {
        sync cta_bar[0] 64  // line 25
    }
    ");
}

/// A word of 1 byte, a pointer that advances, a test for anything but 0, and a load in the previous round.
#[test]
fn entries_are_found_however_they_are_read() {
    let bytes = "cvt.u64.u32 %rd5, %r8;\nadd.u64 %rd6, %rd2, %rd5;\nld.global.nc.u8 %rs1, [%rd6];\ncvt.u32.u8 %r9, %rs1;";
    insta::assert_snapshot!(shown(&kernel(INDEX, bytes, TEST)), @"
    pattern at_mask[n]  // where the memory is not 0
    role warp0 warp {
        for i in row(at_mask) ascending {  // line 39
    ");
    let test = "setp.ne.u32 %p5, %r9, 0;\nnot.pred %p3, %p5;";
    insta::assert_snapshot!(shown(&kernel(INDEX, "ld.global.u32 %r9, [%rd6];", test)), @"
    pattern at_mask[n]  // where the memory is not 0
    role warp0 warp {
        for i in row(at_mask) ascending {  // line 37
    ");
    // Also the row of the next CTA.
    let next = "add.u32 %r10, %r3, 1;\nmad.lo.u32 %r8, %r10, %r4, %r6;";
    let both = "ld.global.nc.u32 %r9, [%rd6];\nadd.u32 %r8, %r5, %r6;\nmul.wide.u32 %rd5, %r8, 4;\nadd.u64 %rd6, %rd2, %rd5;\nld.global.nc.u32 %r11, [%rd6];";
    let test = "setp.eq.u32 %p5, %r9, 0;\nsetp.eq.u32 %p6, %r11, 0;\nand.pred %p3, %p5, %p6;";
    insta::assert_snapshot!(shown(&kernel(next, both, test)), @"
    pattern at_mask[2, n]  // where the memory is not 0
    role warp0 warp {
        for i in 0..n {  // line 43
            if (at_mask[1, i] || at_mask[0, i]) {  // line 43
    ");
    // No rows: all CTAs read the same words.
    insta::assert_snapshot!(shown(&kernel("mov.u32 %r8, %r6;", LOAD, TEST)), @"
    pattern at_mask[n]  // where the memory is not 0
    role warp0 warp {
        for i in row(at_mask) ascending {  // line 36
    ");
}

/// A word is no entry if the kernel writes it, if others are expected to write it, or if each lane may read a
/// different word.
#[test]
fn words_that_may_change_are_no_entries() {
    for load in [
        "st.global.u32 [%rd2+64], %r2;\nld.global.u32 %r9, [%rd6];",
        "red.relaxed.gpu.global.add.u32 [%rd6], 1;\nld.global.u32 %r9, [%rd6];",
        "ld.volatile.global.u32 %r9, [%rd6];",
        "ld.global.cv.u32 %r9, [%rd6];",
        "ld.acquire.gpu.global.u32 %r9, [%rd6];",
        "mad.wide.u32 %rd10, %r2, 4, %rd6;\nld.global.nc.u32 %r9, [%rd10];",
    ] {
        let text = shown(&kernel(INDEX, load, TEST));
        assert!(text.starts_with("line "), "{load}: {text}");
        assert!(
            text.contains("read from memory") || text.contains("differently"),
            "{load}: {text}"
        );
    }
}

fn recovered(source: &str) -> super::Lift {
    let module = crate::ptx::read(source).unwrap_or_else(|errors| panic!("{errors:?}"));
    let shape = crate::recover::Shape {
        threads: [64, 1, 1],
        cluster: [1, 1, 1],
    };
    super::lift(&module.kernels[0], shape, || false).unwrap_or_else(|why| panic!("{why:?}"))
}

/// Whether a condition becomes a function about which nothing is known. Then no hang is reported.
fn is_any_function(source: &str) -> bool {
    let lift = recovered(source);
    lift.text.contains("  // where words of memory pass a test") && !lift.exact
}

/// Entries are not free if two indices may lead to the same word, or if an index may leave its row.
#[test]
fn words_at_indices_that_may_leave_their_row_are_not_free() {
    for index in [
        // Past the end of the row.
        "add.u32 %r8, %r5, %r6;\nadd.s32 %r8, %r8, 1;",
        // Rows whose length differs from the trip count of the loop.
        "mad.lo.u32 %r8, %r3, %r7, %r6;",
        // Every other word.
        "shl.b32 %r8, %r6, 1;\nadd.u32 %r8, %r5, %r8;",
        // This would be a column of rows that are as long as there are CTAs, if it were certain that there are so
        // many.
        "mad.lo.u32 %r8, %r6, %r7, %r3;",
    ] {
        assert!(is_any_function(&kernel(index, LOAD, TEST)), "{index}");
    }
    // Before the first word of the memory, or at the end of the previous row.
    let text = shown(&kernel(
        "add.u32 %r8, %r5, %r6;\nadd.s32 %r8, %r8, -1;",
        LOAD,
        TEST,
    ));
    assert!(text.contains("depends on memory at an"), "{text}");
}

#[test]
fn memory_that_is_read_in_two_ways_is_not_free() {
    let test = "setp.eq.u32 %p5, %r9, 0;\nsetp.eq.u32 %p6, %r11, 0;\nand.pred %p3, %p5, %p6;";
    for load in [
        // The same memory is read as bytes, too.
        "cvt.u64.u32 %rd8, %r8;\nadd.u64 %rd9, %rd2, %rd8;\nld.global.nc.u8 %rs1, [%rd9];\ncvt.u32.u8 %r11, %rs1;",
        // The same memory is read without rows, too.
        "mul.wide.u32 %rd8, %r6, 4;\nadd.u64 %rd9, %rd2, %rd8;\nld.global.nc.u32 %r11, [%rd9];",
    ] {
        let both = format!("{LOAD}\n{load}");
        assert!(is_any_function(&kernel(INDEX, &both, test)), "{load}");
    }
    // A word of the memory is used as a number, too.
    let number = "ld.global.nc.u32 %r4, [%rd2];";
    let text = shown(
        &kernel(INDEX, LOAD, TEST).replace("mul.lo.u32 %r5", &format!("{number}\nmul.lo.u32 %r5")),
    );
    assert!(
        text.contains("both by its numbers and by conditions on them"),
        "{text}"
    );
}

/// Another condition on the word alone becomes a separate pattern, whatever the form of the condition.
#[test]
fn other_conditions_on_words_are_patterns() {
    let patterns = |test: &str| {
        let text = compared(&kernel(INDEX, LOAD, test));
        let lines = text.lines().filter(|line| {
            line.starts_with("pattern ") || line.contains("at_mask[i]") || line.contains("row(")
        });
        lines.map(str::trim).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(patterns("setp.gt.s32 %p3, %r9, 3;"), @"
    pattern at_mask[n]  // where the word > 3
    if !at_mask[i] {  // line 36
    ");
    insta::assert_snapshot!(patterns("setp.gt.s32 %p5, %r9, 3;\nsetp.lt.s32 %p6, %r9, 4;\nnot.pred %p7, %p6;\nand.pred %p3, %p5, %p7;"), @"
    pattern at_mask[n]  // where the word passes a test
    if !at_mask[i] {  // line 39
    ");
    insta::assert_snapshot!(patterns("setp.ne.u32 %p3, %r9, 7;"), @"
    pattern at_mask[n]  // where the word == 7
    for i in row(at_mask) ascending {  // line 36
    ");
    insta::assert_snapshot!(patterns("and.b32 %r10, %r9, 2;\nsetp.eq.u32 %p3, %r10, 0;"), @"
    pattern at_mask[n]  // where the word passes a test
    for i in row(at_mask) ascending {  // line 37
    ");
    insta::assert_snapshot!(patterns("setp.gt.s32 %p5, %r9, 3;\nsetp.lt.s32 %p6, %r9, 9;\nand.pred %p3, %p5, %p6;"), @"
    pattern at_mask[n]  // where the word passes a test
    if !at_mask[i] {  // line 38
    ");
}

/// The entries of two conditions on one word are not independent. So a run with entries that contradict each other is
/// no run of the kernel.
#[test]
fn two_conditions_on_one_word_are_not_exact() {
    let recovered = |test: &str| recovered(&kernel(INDEX, LOAD, test));
    let one = recovered("setp.gt.s32 %p3, %r9, 3;");
    assert!(one.exact, "{}", one.text);
    let second =
        "@%p5 bra NEXT;\n@!%p1 mbarrier.arrive.shared.b64 _, [%r1];\nsetp.lt.s32 %p3, %r9, 9;";
    let two = recovered(&format!("setp.gt.s32 %p5, %r9, 3;\n{second}"));
    assert!(two.text.contains("at_mask_2["), "{}", two.text);
    assert!(!two.exact, "{}", two.text);
}

/// A comparison of the word with a value that changes is no condition on the word alone.
#[test]
fn comparisons_with_what_moves_are_functions() {
    for test in [
        "setp.eq.u32 %p3, %r9, %r6;",
        "setp.gt.s32 %p3, %r9, %r7;",
        "add.u32 %r10, %r9, %r6;\nsetp.eq.u32 %p3, %r10, 3;",
    ] {
        assert!(is_any_function(&kernel(INDEX, LOAD, test)), "{test}");
    }
}

/// If a row begins and ends elsewhere in each round, its length is not one number for all rounds.
#[test]
fn lengths_that_differ_from_round_to_round_are_no_number() {
    let rows = "ld.global.nc.u32 %r9, [%rd6];\nld.global.nc.u32 %r11, [%rd6+4];\nsub.u32 %r12, %r11, %r9;\nmov.u32 %r13, 0;\n\
                setp.lt.s32 %p5, %r12, 1;\n@%p5 bra NEXT;\nROW:\n@!%p1 mbarrier.arrive.shared.b64 _, [%r1];\n\
                add.u32 %r13, %r13, 1;\nsetp.lt.s32 %p6, %r13, %r12;\n@%p6 bra ROW;\nbra NEXT;";
    let text = shown(&kernel("mov.u32 %r8, %r6;", rows, TEST));
    assert!(text.starts_with("line "), "{text}");
    assert!(text.contains("read from memory"), "{text}");
}

/// Both sides of a branch do the same, so no pattern is left. But the lanes take the same side only if nobody writes
/// the word.
#[test]
fn lanes_that_go_the_same_way_by_a_word_take_it_for_unwritten() {
    let both = "@%p3 bra SAME;\n@!%p1 mbarrier.arrive.shared.b64 _, [%r1];\nbra NEXT;\nSAME:\n\
                @!%p1 mbarrier.arrive.shared.b64 _, [%r1];\nbra NEXT;";
    let text = compared(&kernel(INDEX, LOAD, &format!("{TEST}\n{both}")));
    assert!(!text.contains("pattern"), "{text}");
    assert!(
        text.contains("are not written while the kernel runs"),
        "{text}"
    );
}

/// A byte that is cut out of an index wraps around, whatever is assumed about indices. It has 256 values.
#[test]
fn indices_that_wrap_around_are_no_sums() {
    let byte = "add.u32 %r8, %r5, %r6;\nand.b32 %r8, %r8, 255;";
    insta::assert_snapshot!(shown(&kernel(byte, LOAD, TEST)), @"
    pattern at_mask[256]  // where the memory is not 0
    role warp0 warp {
        for i in 0..n {  // line 37
            if at_mask[((computed + i) % 256)] {  // line 37
    ");
}

/// A store through another parameter does not reach the words, under the assumption that the two parameters point to
/// different memory.
#[test]
fn other_parameters_are_taken_to_point_elsewhere() {
    let load = format!("st.global.u32 [%rd4+64], %r2;\n{LOAD}");
    let text = compared(&kernel(INDEX, &load, TEST));
    assert!(text.contains("pattern at_mask[n]"), "{text}");
    assert!(
        text.contains("pointers that are different parameters"),
        "{text}"
    );
}
