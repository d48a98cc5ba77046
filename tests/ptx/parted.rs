//! Rounds that one warp does in one loop, and another one in two: as with a mask and without.

use crate::graph_misuse::verdict;

/// One warp fills a ring of two slots `x` times, where `x` may be below 0. The other one empties it in two loops, up to what `first` and
/// `second` leave in `%r12` and `%r13` of `x` in `%r10` and of `y` in `%r11`, which is 0 up to a number of the launch.
fn two_loops(less: i32, first: &str, second: &str) -> String {
    let wait = |name: &str, place: &str| {
        format!(
            "{name}:\nmbarrier.try_wait.parity.shared.b64 %p9, [{place}], %r5;\n@!%p9 bra {name};"
        )
    };
    let step = |places: &str, bound: &str, name: &str, arrive: &str| {
        format!(
            "mov.b32 %r3, 0;\n{name}LOOP:\nsetp.ge.s32 %p3, %r3, {bound};\n@%p3 bra {name}END;\n\
             shl.b32 %r6, %r4, 3;\nmov.u32 %r7, bar;\nadd.u32 %r7, %r7, %r6;\n{}\n\
             @!%p1 mbarrier.arrive.shared.b64 _, [{arrive}];\n\
             add.s32 %r4, %r4, 1;\nsetp.ne.s32 %p4, %r4, 2;\n@%p4 bra {name}ON;\nmov.b32 %r4, 0;\nxor.b32 %r5, %r5, 1;\n\
             {name}ON:\nadd.s32 %r3, %r3, 1;\nbra {name}LOOP;\n{name}END:",
            wait(&format!("{name}WAIT"), places)
        )
    };
    verdict(
        64,
        &format!(
            "setp.ne.u32 %p0, %r1, 0;\n@%p0 bra READY;\nmbarrier.init.shared.b64 [bar], 1;\n\
             mbarrier.init.shared.b64 [bar+8], 1;\nmbarrier.init.shared.b64 [bar+16], 1;\n\
             mbarrier.init.shared.b64 [bar+24], 1;\nREADY:\nbar.sync 0;\nsetp.ne.u32 %p1, %r31, 0;\n\
             mov.u32 %r8, %ctaid.x;\nsub.s32 %r9, %r2, %r8;\ndiv.s32 %r10, %r9, 128;\nadd.s32 %r10, %r10, -1;\n\
             sub.s32 %r9, %r8, {less};\ndiv.s32 %r11, %r9, 64;\nmax.s32 %r11, %r11, 0;\n\
             mov.b32 %r4, 0;\nsetp.gt.u32 %p2, %r1, 31;\n@%p2 bra OTHER;\nmov.b32 %r5, 1;\n{}\nbra END;\n\
             OTHER:\nmov.b32 %r5, 0;\n{first}\n{}\n{second}\n{}\nEND:",
            step("%r7+16", "%r10", "FILL", "%r7"),
            step("%r7", "%r12", "FIRST", "%r7+16"),
            step("%r7", "%r13", "SECOND", "%r7+16"),
        ),
    )
}

const LESS: &str = "sub.s32 %r12, %r10, %r11;";
const LESSER: &str = "min.s32 %r13, %r10, %r11;";

#[test]
fn two_loops_add_up_to_one() {
    // One side of `y` may be an input of its own, or `y` is.
    insta::assert_snapshot!(
        two_loops(640, LESS, LESSER),
        @"PROVED for every computed in 0..=1073741823, computed_2 in -10..=16777205 and schedule"
    );
    insta::assert_snapshot!(two_loops(64_000, LESS, LESSER), @"PROVED for every computed_2_rest in 0..=1073741823, computed_2_part in 0..=16776215 and schedule");
}

/// Up to `y` also where `x` is less, a round more, or the greater instead of the lesser.
#[test]
fn what_does_not_add_up_is_not_proved() {
    for (first, second) in [
        (LESS, "mov.b32 %r13, %r11;"),
        (LESS, "min.s32 %r13, %r10, %r11;\nadd.s32 %r13, %r13, 1;"),
        (LESS, "max.s32 %r13, %r10, %r11;"),
        ("sub.s32 %r12, %r10, %r11;\nadd.s32 %r12, %r12, 1;", LESSER),
        ("mov.b32 %r12, %r10;", LESSER),
    ] {
        let verdict = two_loops(64_000, first, second);
        assert!(
            !verdict.starts_with("PROVED"),
            "{first} {second}: {verdict}"
        );
    }
}

/// If `x - y` may wrap around, the two loops may do more rounds than `x`: at the least `x`, `y = 1` leaves the greatest number.
#[test]
fn differences_that_may_wrap_around_do_not_add_up() {
    let far = "mul.lo.s32 %r10, %r9, %r2;\nadd.s32 %r10, %r10, -1;\n";
    let verdict = two_loops(64_000, &format!("{far}{LESS}"), LESSER);
    assert!(!verdict.starts_with("PROVED"), "{verdict}");
}

/// A persistent kernel with a ring of three slots that goes on from tile to tile. In each tile, one warp waits for the first slot, and then
/// for each of the others, with which it gives back the one before; each of `last` gives back one more. It begins to give back at what
/// `begin` leaves in `%r12`, where the state of the ring is in `%r4`.
fn gives_back_later(begin: &str, last: &[&str]) -> String {
    let step = |index: &str, phase: Option<&str>, name: &str| {
        let turn = phase.map_or(String::new(), |phase| {
            format!("xor.b32 {phase}, {phase}, 1;")
        });
        format!(
            "add.s32 {index}, {index}, 1;\nsetp.ne.s32 %p4, {index}, 3;\n@%p4 bra {name};\nmov.b32 {index}, 0;\n{turn}\n{name}:"
        )
    };
    let place = |index: &str, offset: u32| {
        format!(
            "shl.b32 %r6, {index}, 3;\nmov.u32 %r7, bar;\nadd.u32 %r7, %r7, %r6;\nadd.u32 %r7, %r7, {offset};"
        )
    };
    let wait = |offset: u32, name: &str| {
        format!(
            "{}\n{name}:\nmbarrier.try_wait.parity.shared.b64 %p9, [%r7], %r5;\n@!%p9 bra {name};",
            place("%r4", offset)
        )
    };
    let arrive = |index: &str, offset: u32| {
        format!(
            "{}\n@!%p1 mbarrier.arrive.shared.b64 _, [%r7];",
            place(index, offset)
        )
    };
    let rounds = |name: &str, first: &str, bound: &str, body: &str| {
        format!(
            "mov.b32 %r3, {first};\n{name}:\nsetp.ge.s32 %p3, %r3, {bound};\n@%p3 bra {name}END;\n{body}\n\
             add.s32 %r3, %r3, 1;\nbra {name};\n{name}END:"
        )
    };
    let tiles = |name: &str, body: &str| {
        format!(
            "mov.b32 %r9, 0;\n{name}:\nsetp.ge.s32 %p5, %r9, %r2;\n@%p5 bra {name}END;\n{body}\n\
             add.s32 %r9, %r9, 1;\nbra {name};\n{name}END:"
        )
    };
    let back = |name: &str| format!("{}\n{}", arrive("%r12", 24), step("%r12", None, name));
    let init: Vec<String> = (0..6)
        .map(|at| format!("mbarrier.init.shared.b64 [bar+{}], 1;", 8 * at))
        .collect();
    let fill = format!(
        "{}\n{}\n{}",
        wait(24, "FREE"),
        arrive("%r4", 0),
        step("%r4", Some("%r5"), "FILLED")
    );
    let take = |name: &str| {
        format!(
            "{}\n{}",
            wait(0, &format!("{name}W")),
            step("%r4", Some("%r5"), &format!("{name}ON"))
        )
    };
    let used = format!(
        "{begin}\n{}\n{}\n{}",
        take("ONE"),
        rounds(
            "OTHERS",
            "1",
            "%r10",
            &format!("{}\n{}", take("TWO"), back("BACK"))
        ),
        last.iter()
            .map(|name| back(name))
            .collect::<Vec<_>>()
            .join("\n"),
    );
    verdict(
        64,
        &format!(
            "setp.ne.u32 %p0, %r1, 0;\n@%p0 bra READY;\n{}\nREADY:\nbar.sync 0;\nsetp.ne.u32 %p1, %r31, 0;\n\
             mov.u32 %r10, %nctaid.x;\nadd.s32 %r10, %r10, 1;\nmov.b32 %r4, 0;\nsetp.gt.u32 %p2, %r1, 31;\n@%p2 bra OTHER;\nmov.b32 %r5, 1;\n\
             {}\nbra END;\nOTHER:\nmov.b32 %r5, 0;\n{}\nEND:",
            init.join("\n"),
            tiles("TILE", &rounds("FILL", "0", "%r10", &fill)),
            tiles("USE", &used),
        ),
    )
}

#[test]
fn slots_are_given_back_from_where_the_tile_has_begun() {
    let begin = "mov.b32 %r12, %r4;";
    insta::assert_snapshot!(
        gives_back_later(begin, &["LAST"]),
        @"PROVED for every n in 0..=1073741823, nctaid_x in 0..=1073741823 and schedule"
    );
    // A slot too few or too many of each tile, or from the first slot on in each.
    let more: [(&str, &[&str]); 3] = [
        (begin, &[]),
        (begin, &["LAST", "MORE"]),
        ("mov.b32 %r12, 0;", &["LAST"]),
    ];
    for (begin, last) in more {
        let verdict = gives_back_later(begin, last);
        assert!(
            !verdict.starts_with("PROVED"),
            "{begin} {last:?}: {verdict}"
        );
    }
}
