//! One warp that comes to a named barrier several times in one generation: each time counts. What an H100 does with these kernels
//! stands in `docs/crosschecks.md`, "Hardware".

use crate::support::program::Folder;

/// What a command says of a kernel of so many threads, which may have a number of rounds `n`.
fn said(command: &[&str], threads: usize, code: &str) -> String {
    let folder = Folder::new();
    folder.file(
        "kernel.ptx",
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry kernel(.param .u32 n)\n\
             .reqntid {threads}, 1, 1\n{{\n.reg .pred %p<8>;\n.reg .b32 %r<8>;\n\
             mov.u32 %r1, %tid.x;\nshr.u32 %r2, %r1, 5;\nsetp.eq.u32 %p1, %r2, 0;\n{code}\nEND:\nret;\n}}\n"
        ),
    );
    folder.run(command)
}

/// The verdict.
fn check(threads: usize, code: &str) -> String {
    let shown = said(&["check", "-q", "kernel.ptx"], threads, code);
    let line = shown.lines().find(|line| line.contains("deadlock: "));
    let words = line.unwrap_or(&shown).split_whitespace().skip(2);
    words.collect::<Vec<_>>().join(" ")
}

/// One program for each warp: `s64` synchronizes and `a64` arrives, with 64 threads, in one of the two forms of an instruction.
fn warps(form: &str, programs: &[&str]) -> String {
    let mut code = String::new();
    for number in 0..programs.len() {
        code += &format!("setp.eq.u32 %p2, %r2, {number};\n@%p2 bra W{number};\n");
    }
    for (number, program) in programs.iter().enumerate() {
        code += &format!("W{number}:\n");
        for operation in program.split(' ') {
            let (kind, count) = operation.split_at(1);
            let kind = if kind == "s" { "sync" } else { "arrive" };
            code += &format!("{form}.{kind} 1, {count};\n");
        }
        code += "bra END;\n";
    }
    code
}

#[test]
fn every_registration_counts() {
    let cases: [(&[&str], bool); 8] = [
        (&["s64"], false),
        (&["a64 s64"], true),
        (&["a96 a96", "s96"], true),
        (&["a64 s64", "s64"], false),
        (&["a96 s96", "s96"], true),
        (&["a64", "a64", "a64", "s64"], true),
        (&["a64 a64 a64", "s64"], true),
        (&["a96", "s96"], false),
    ];
    for form in ["bar", "barrier"] {
        for (programs, completes) in cases {
            let verdict = check(32 * programs.len(), &warps(form, programs));
            let expected = if completes { "PROVED" } else { "REFUTED" };
            assert!(
                verdict.starts_with(expected),
                "{form} {programs:?}: {verdict}"
            );
        }
    }
}

/// Rounds of two warps, of which the first counts twice in each.
#[test]
fn a_warp_that_counts_twice_in_each_round() {
    let rounds = |count: u32| {
        check(
            64,
            &format!(
                "ld.param.u32 %r3, [n];\nmov.u32 %r4, 0;\nLOOP:\nsetp.ge.u32 %p3, %r4, %r3;\n@%p3 bra END;\n\
                 @!%p1 bra MEET;\nbarrier.arrive 1, {count};\nMEET:\nbarrier.sync 1, {count};\n\
                 add.u32 %r4, %r4, 1;\nbra LOOP;"
            ),
        )
    };
    insta::assert_snapshot!(rounds(96), @"PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold");
    insta::assert_snapshot!(rounds(128), @"REFUTED at n = 1: cta_bar[1] takes 128 threads, 96 came (warp1, warp0 2 times), and nobody else comes (line 20)");
}

/// All warps of an epilogue arrive, and the first one then waits for all, as one more.
#[test]
fn a_warp_of_an_epilogue_that_stores() {
    let epilogue = |count: u32| {
        check(
            128,
            &format!(
                "ld.param.u32 %r3, [n];\nmov.u32 %r4, 0;\nLOOP:\nsetp.ge.u32 %p3, %r4, %r3;\n@%p3 bra END;\n\
                 barrier.arrive 1, {count};\n@!%p1 bra MEET;\nbarrier.sync 1, {count};\nMEET:\n\
                 barrier.sync 2, 128;\nadd.u32 %r4, %r4, 1;\nbra LOOP;"
            ),
        )
    };
    insta::assert_snapshot!(epilogue(160), @"PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold");
    // Without the warp that comes twice: it goes on before all have come, or waits for ever.
    insta::assert_snapshot!(epilogue(128), @"REFUTED at n = 1: cta_bar[1] takes 128 threads, 32 came (warp0), and nobody else comes (line 19): 5 warps come in all, 4 for each completion, and warp0 and warps1_3[0..3] completed one before");
}

/// A barrier of all threads at which one warp arrives twice tells nobody that all others have come: here that the mbarrier is there.
#[test]
fn who_counts_twice_stands_for_somebody_else() {
    let code = |first: &str| {
        format!(
            ".shared .align 8 .b64 bar;\n.reg .b64 %rd<4>;\nmov.u32 %r5, bar;\nsetp.eq.u32 %p4, %r2, 2;\n\
             and.b32 %r6, %r1, 31;\nsetp.eq.u32 %p5, %r6, 0;\n\
             @!%p4 bra OTHERS;\n@%p5 mbarrier.init.shared.b64 [%r5], 1;\nbarrier.sync 1, 96;\nbra END;\n\
             OTHERS:\n@!%p1 bra SECOND;\n{first}\nbarrier.sync 1, 96;\n@%p5 mbarrier.arrive.shared.b64 %rd1, [%r5];\nbra END;\n\
             SECOND:\nbarrier.sync 1, 96;"
        )
    };
    let ready = |first: &str| {
        let text = said(&["lift", "kernel.ptx"], 96, &code(first));
        assert!(text.contains("mbarrier bar"), "{text}");
        !text.contains("init: explicit")
    };
    assert!(ready(""));
    assert!(!ready("barrier.arrive 1, 96;"));
    insta::assert_snapshot!(check(96, &code("")), @"PROVED for every schedule: all obligations of [rule] hold");
    insta::assert_snapshot!(check(96, &code("barrier.arrive 1, 96;")), @"REFUTED cta_bar[1] takes 96 threads, 32 came (warp0), and nobody else comes (line 25): 4 warps come in all, 3 for each completion, and warp0, warp1 and warp2 completed one before");
}
