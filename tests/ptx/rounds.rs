//! Inner loops whose trip counts the launch and the round of an outer loop decide together: two warps meet in each inner
//! round, and have to compute the same count.

use crate::support::program::Folder;

/// How one warp goes through its tiles, and how many rounds it has in each.
#[derive(Clone, Copy)]
struct Goes<'a> {
    /// The first tile in `%r3`, and the step in `%r4`.
    tiles: &'a str,
    /// The count in `%r8`, of the tile in `%r3`.
    count: &'a str,
    /// What is done with it in each inner round.
    inside: &'a str,
    /// Whether a tile may have no round.
    skips: bool,
}

const BY_COLUMN: Goes<'static> = Goes {
    tiles: "mov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %nctaid.x;",
    count: "rem.s32 %r5, %r3, %r11;\nshl.b32 %r6, %r5, 2;\nsub.s32 %r7, %r12, %r6;\nmin.s32 %r8, %r7, 4;",
    inside: "",
    skips: true,
};

fn counts(count: &str) -> Goes<'_> {
    Goes { count, ..BY_COLUMN }
}

fn warp(number: u32, goes: Goes<'_>, meet: &str) -> String {
    let Goes {
        tiles,
        count,
        inside,
        skips,
    } = goes;
    let skip = match skips {
        true => format!("setp.lt.s32 %p2, %r8, 1;\n@%p2 bra SKIP{number};"),
        false => String::new(),
    };
    format!(
        "W{number}:\n{tiles}\nmov.b32 %r15, 0;\nsetp.ge.s32 %p1, %r3, %r10;\n@%p1 bra END;\nTILE{number}:\n{count}\n{skip}\n\
         mov.b32 %r9, 0;\nIN{number}:\n{meet}\n{inside}\nadd.s32 %r9, %r9, 1;\nsetp.lt.s32 %p3, %r9, %r8;\n\
         @%p3 bra IN{number};\nSKIP{number}:\nadd.s32 %r3, %r3, %r4;\nsetp.lt.s32 %p4, %r3, %r10;\n\
         @%p4 bra TILE{number};\nbra END;\n"
    )
}

fn run(command: &[&str], (one, other): (Goes<'_>, Goes<'_>), [first, second]: [&str; 2]) -> String {
    let folder = Folder::new();
    folder.file(
        "kernel.ptx",
        format!(
            ".version 8.7\n.target sm_90a\n.address_size 64\n\
             .visible .entry tiles(.param .u32 n, .param .u32 columns, .param .u32 keys, .param .u64 data)\n\
             .reqntid 64, 1, 1\n{{\n.reg .pred %p<16>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<8>;\n\
             .shared .align 8 .b8 full[8];\n.shared .align 8 .b8 empty[8];\n\
             ld.param.u32 %r10, [n];\nld.param.u32 %r11, [columns];\nld.param.u32 %r12, [keys];\n\
             ld.param.u64 %rd1, [data];\nmov.u32 %r2, %tid.x;\nmov.u32 %r20, full;\nmov.u32 %r21, empty;\n\
             setp.ne.u32 %p7, %r2, 0;\n@!%p7 mbarrier.init.shared::cta.b64 [%r20], 1;\n\
             @!%p7 mbarrier.init.shared::cta.b64 [%r21], 1;\nbar.sync 0;\n\
             and.b32 %r22, %r2, 31;\nsetp.eq.u32 %p8, %r22, 0;\nsetp.gt.u32 %p0, %r2, 31;\n@%p0 bra W1;\n{}{}END:\nret;\n}}\n",
            warp(0, one, first),
            warp(1, other, second)
        ),
    );
    let mut arguments = command.to_vec();
    arguments.extend(["--recovery", "graph", "kernel.ptx"]);
    folder.run(&arguments)
}

const MEET: [&str; 2] = ["bar.sync 1, 64;"; 2];

/// One warp fills a place, and the other one empties it. Rounds are counted across tiles.
const FILL: &str = "xor.b32 %r17, %r15, 1;\nand.b32 %r16, %r17, 1;\n\
    WE:\nmbarrier.try_wait.parity.shared::cta.b64 %p6, [%r21], %r16;\n@!%p6 bra WE;\n\
    @%p8 mbarrier.arrive.shared::cta.b64 _, [%r20];\nadd.s32 %r15, %r15, 1;";
const EMPTY: &str = "and.b32 %r16, %r15, 1;\n\
    WF:\nmbarrier.try_wait.parity.shared::cta.b64 %p6, [%r20], %r16;\n@!%p6 bra WF;\n\
    @%p8 mbarrier.arrive.shared::cta.b64 _, [%r21];\nadd.s32 %r15, %r15, 1;";

/// The verdict up to what the proof is or what hangs.
fn verdict(pair: (Goes<'_>, Goes<'_>), meet: [&str; 2]) -> String {
    let check = ["check", "-q", "--property", "deadlock"];
    let shown = run(&check, pair, meet);
    let (_, verdict) = shown
        .split_once("deadlock: ")
        .unwrap_or_else(|| panic!("{shown}"));
    let verdict = verdict.lines().next().unwrap_or_default();
    verdict.split(": ").next().unwrap_or_default().to_owned()
}

#[test]
fn a_count_of_each_tile_is_a_row_of_a_pattern() {
    let text = run(&["lift"], (BY_COLUMN, BY_COLUMN), MEET);
    insta::assert_snapshot!(text, @r"
        exit 0
        --- stdout
        //! Recovered from the kernel `tiles`.
        //! 64 x 1 x 1 threads per CTA.
        //! Checked against the kernel at 9 launches, 106 events.
        //! Assumed: a loop in steps of the grid does not wrap around
        //! Assumed: a number that rounds of loops compute from columns lies in 0..=1073741822
        //! Assumed: a number that rounds of loops compute from columns, keys lies in 0..=1073741823
        //! Assumed: ctaid_x lies in 0..=1073741823
        //! Assumed: keys lies in 0..=1073741823
        //! Assumed: no round of a loop divides by 0
        //! Assumed: lanes of a warp that diverge reconverge where their paths meet
        protocol tiles

        param tiles in 0..=1073741823  // iterations of a loop in steps of the grid

        named cta_bar[16]
        param in_round_most in 0..=1073741823  // the greatest number in a round, computed from columns, keys
        pattern in_round_has[tiles, in_round_most]
        let in_round(round_1) = count(entry in 0..in_round_most where in_round_has[round_1, entry])

        role warp0 warp {
            sync cta_bar[0] 64   // line 22
            for i in 0..tiles {  // line 39
                for j in 0..min(in_round(i), 4) {  // line 46
                    sync cta_bar[1] 64  // line 42
                }
            }
        }

        role warp1 warp {
            sync cta_bar[0] 64   // line 22
            for i in 0..tiles {  // line 64
                for j in 0..min(in_round(i), 4) {  // line 71
                    sync cta_bar[1] 64  // line 67
                }
            }
        }
        --- stderr
        ");
}

#[test]
fn warps_that_compute_the_same_counts_meet() {
    let quotient = "div.s32 %r5, %r3, %r11;\nmul.lo.s32 %r6, %r5, %r12;\nmin.s32 %r8, %r6, 9;";
    for count in [BY_COLUMN.count, quotient] {
        let goes = counts(count);
        let always = Goes {
            skips: false,
            ..goes
        };
        for meet in [MEET, [FILL, EMPTY]] {
            let found = verdict((goes, goes), meet);
            assert!(found.starts_with("PROVED"), "{count}: {found}");
            let found = verdict((always, always), meet);
            assert!(found.starts_with("PROVED"), "{count}: {found}");
        }
    }
    // The order of operands, and of instructions, does not matter.
    let turned = "rem.s32 %r5, %r3, %r11;\nmul.lo.s32 %r6, %r5, -4;\nadd.s32 %r7, %r6, %r12;\n\
                  setp.gt.s32 %p5, %r7, 4;\nselp.b32 %r8, 4, %r7, %p5;";
    let found = verdict((BY_COLUMN, counts(turned)), MEET);
    assert!(found.starts_with("PROVED"), "{found}");
}

/// Each of these hangs at some launch. Which values two functions have together is not known, so a hang is not reported.
#[test]
fn warps_that_compute_other_counts_are_not_proved() {
    let same = BY_COLUMN.count;
    let with = |from: &str, to: &str| {
        assert!(same.contains(from), "{from}");
        same.replace(from, to)
    };
    let others = [
        with("rem.s32 %r5, %r3, %r11;", "rem.s32 %r5, %r3, %r12;"),
        with("rem.s32 %r5, %r3, %r11;", "rem.u32 %r5, %r3, %r11;"),
        with("rem.s32 %r5, %r3, %r11;", "div.s32 %r5, %r3, %r11;"),
        with("%r6, %r5, 2", "%r6, %r5, 1"),
        with("%r7, 4", "%r7, 5"),
        with("min.s32", "max.s32"),
        with("min.s32", "min.u32"),
        with("sub.s32 %r7, %r12, %r6", "sub.s32 %r7, %r6, %r12"),
        format!("add.s32 %r14, %r3, 1;\n{}", with("%r5, %r3", "%r5, %r14")),
        format!("{same}\nadd.s32 %r8, %r8, 1;"),
    ];
    let tiles = |tiles| Goes { tiles, ..BY_COLUMN };
    let mut pairs: Vec<Goes<'_>> = others.iter().map(|count| counts(count)).collect();
    pairs.extend([
        tiles("mov.u32 %r3, %ctaid.y;\nmov.u32 %r4, %nctaid.x;"),
        tiles("mov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %nctaid.y;"),
        tiles("mov.u32 %r3, %ctaid.x;\nadd.s32 %r3, %r3, 1;\nmov.u32 %r4, %nctaid.x;"),
        Goes {
            skips: false,
            ..BY_COLUMN
        },
    ]);
    for other in pairs {
        let found = verdict((BY_COLUMN, other), MEET);
        let is_open = found.starts_with("UNKNOWN the recovered protocol has a counterexample")
            || found.starts_with("UNKNOWN line");
        assert!(is_open, "{}\n{}: {found}", other.tiles, other.count);
    }
}

/// A count that changes within the tile, or that memory or the lane decides, is no function of the round of the tile.
#[test]
fn counts_that_rounds_do_not_decide_are_not_proved() {
    let inside = |inside| Goes {
        inside,
        ..BY_COLUMN
    };
    let cleared = inside("mov.b32 %r8, 0;");
    let halved = inside("shr.s32 %r8, %r8, 1;");
    let less = inside("add.s32 %r8, %r8, -1;");
    for changes in [cleared, halved, less] {
        let found = verdict((BY_COLUMN, changes), MEET);
        assert!(!found.starts_with("PROVED"), "{}: {found}", changes.inside);
    }
    let carried = format!(
        "add.s32 %r15, %r15, %r3;\n{}\nmin.s32 %r8, %r8, %r15;",
        BY_COLUMN.count
    );
    let of_lane = format!("{}\nadd.s32 %r8, %r8, %r2;", BY_COLUMN.count);
    let of_memory = format!(
        "{}\nst.global.u32 [%rd1+4], %r2;\nld.global.u32 %r8, [%rd1];",
        BY_COLUMN.count
    );
    for count in [carried.as_str(), &of_lane, &of_memory] {
        let found = verdict((BY_COLUMN, counts(count)), MEET);
        assert!(!found.starts_with("PROVED"), "{count}: {found}");
        let found = verdict((counts(count), counts(count)), MEET);
        assert!(!found.starts_with("PROVED"), "{count}: {found}");
    }
}
