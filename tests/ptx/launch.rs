//! What a launch gives to a kernel beside its parameters: variables of the module, and the shape of a CTA of which
//! only the number of threads is known.

use crate::support::program::Folder;

fn kernel(variables: &str, bounds: &str, code: &str) -> String {
    format!(
        ".version 8.7\n.target sm_90a\n.address_size 64\n{variables}\n.visible .entry kernel(.param .u32 n)\n{bounds}\n\
         {{\n.reg .pred %p<16>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<16>;\nmov.u32 %r1, %tid.x;\n{code}\nret;\n}}\n"
    )
}

fn checked(options: &[&str], variables: &str, bounds: &str, code: &str) -> String {
    let folder = Folder::new();
    folder.file("kernel.ptx", kernel(variables, bounds, code));
    let mut arguments = vec!["check", "-q", "kernel.ptx"];
    arguments.extend(options);
    folder.run(&arguments)
}

/// A barrier of the whole grid by a counter at this address, of so many more CTAs than there are.
fn of_the_grid(variables: &str, address: &str, more: u32) -> String {
    let code = format!(
        "setp.ne.u32 %p1, %r1, 0;\nbar.sync 0;\n@%p1 bra BEHIND;\nmov.u32 %r2, %nctaid.x;\nadd.u32 %r2, %r2, {more};\n\
         {address}\nred.release.gpu.global.add.u32 [%rd1], 1;\n\
         LOOK:\nld.acquire.gpu.global.u32 %r3, [%rd1];\nsetp.lt.u32 %p2, %r3, %r2;\n@%p2 bra LOOK;\n\
         BEHIND:\nbar.sync 0;"
    );
    checked(&[], variables, ".reqntid 64, 1, 1", &code)
}

#[test]
fn a_counter_of_the_module() {
    let variable = ".visible .global .align 4 .u32 arrived;";
    insta::assert_snapshot!(of_the_grid(variable, "mov.u64 %rd1, arrived;", 0), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at nctaid_x = 2, R = 1: cta[0] waits for at_p_arrived >= 2 (line 20), which needs cta[1]; that cannot start, because cta[0] holds the only resident slot
    --- stderr
    ");
    insta::assert_snapshot!(of_the_grid(variable, "mov.u64 %rd1, arrived;", 1), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at nctaid_x = 1, R = 1: cta[0] waits for at_p_arrived >= 2 (line 20), but at_p_arrived stays 1 and nobody adds to it
    --- stderr
    ");
    let array = ".global .align 4 .b8 state[64] = {0, 0};";
    let inside = "mov.u64 %rd2, state;\ncvta.global.u64 %rd3, %rd2;\nadd.s64 %rd1, %rd3, 8;";
    insta::assert_snapshot!(of_the_grid(array, inside, 0), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at nctaid_x = 2, R = 1: cta[0] waits for at_p_state[2] >= 2 (line 22), which needs cta[1]; that cannot start, because cta[0] holds the only resident slot
    --- stderr
    ");
}

#[test]
fn a_counter_that_begins_elsewhere_is_not_taken_to_be_0() {
    let variable = ".visible .global .align 4 .u32 arrived = 5;";
    insta::assert_snapshot!(of_the_grid(variable, "mov.u64 %rd1, arrived;", 0), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 22, `@%p2 bra LOOK`: how often this loop runs is not known: it is read from memory (line 20, `ld.acquire.gpu.global.u32 %r3, [%rd1]`)
    --- stderr
    ");
    // A name that means two things.
    let twice = ".global .align 4 .u32 arrived;\n.func other(.param .u32 arrived)\n{\nret;\n}";
    insta::assert_snapshot!(of_the_grid(twice, "mov.u64 %rd1, arrived;", 0), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 26, `@%p2 bra LOOK`: how often this loop runs is not known: it is read from memory (line 24, `ld.acquire.gpu.global.u32 %r3, [%rd1]`)
    --- stderr
    ");
}

/// Two warps that meet once per iteration, so many times each.
fn rounds(variables: &str, reads: &str, more: u32) -> String {
    let code = format!(
        "{reads}\nshr.u32 %r3, %r1, 5;\nsetp.ne.u32 %p1, %r3, 0;\nselp.u32 %r4, {more}, 0, %p1;\nadd.s32 %r5, %r2, %r4;\n\
         mov.u32 %r6, 0;\nROUND:\nsetp.ge.s32 %p2, %r6, %r5;\n@%p2 bra BEHIND;\nbar.sync 1, 64;\nadd.s32 %r6, %r6, 1;\n\
         bra ROUND;\nBEHIND:"
    );
    checked(&[], variables, ".reqntid 64, 1, 1", &code)
}

#[test]
fn constant_memory_is_like_a_parameter() {
    let one = ".const .align 4 .u32 rounds;";
    insta::assert_snapshot!(rounds(one, "ld.const.u32 %r2, [rounds];", 0), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_rounds in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(rounds(one, "ld.const.u32 %r2, [rounds];", 1), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at p_rounds = 0: cta_bar[1] takes 64 threads, 32 came (warp1), and nobody else comes (line 21): warp0 never comes, because `for i in 0..p_rounds` (line 19) makes no trip
    --- stderr
    ");
    let structure = ".visible .const .align 4 .b8 given[8];";
    let address = "mov.u64 %rd1, given;\nadd.s64 %rd2, %rd1, 4;\nld.const.u32 %r2, [%rd2];";
    insta::assert_snapshot!(rounds(structure, address, 0), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_given_4 in 0..=4611686018427387904 and schedule, assuming p_given_4 < 2147483648: all obligations of [rule] hold
    --- stderr
    ");
}

#[test]
fn constant_memory_with_a_value_is_not_followed() {
    let table = ".const .align 4 .u32 rounds = 3;";
    insta::assert_snapshot!(rounds(table, "ld.const.u32 %r2, [rounds];", 0), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 20, `@%p2 bra BEHIND`: how often this loop runs is not known: it is read from memory (line 12, `ld.const.u32 %r2, [rounds]`)
    --- stderr
    ");
}

/// The first threads along an axis meet.
const SOME_ROWS: &str =
    "mov.u32 %r2, %tid.y;\nsetp.gt.u32 %p1, %r2, 1;\n@%p1 bra BEHIND;\nbar.sync 1, 64;\nBEHIND:";

#[test]
fn a_shape_that_matters_has_to_be_given() {
    insta::assert_snapshot!(checked(&[], "", ".maxntid 128", SOME_ROWS), @"
    exit 2
    --- stdout
    --- stderr
    Error: how the threads of `kernel` lie is not known, and what they do depends on it: 128 x 1 x 1 differs from 32 x 4 x 1
       ╭─[ kernel.ptx:5:17 ]
       │
     5 │ .visible .entry kernel(.param .u32 n)
       │ 
       │ Help: give --threads X,Y,Z as in the launch
    ───╯
    ");
    insta::assert_snapshot!(checked(&["--threads", "32,4"], "", ".maxntid 128", SOME_ROWS), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(checked(&["--threads", "16,8"], "", ".maxntid 128", SOME_ROWS), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED cta_bar[1] takes 64 threads, 32 came (warp0), and nobody else comes (line 15): warps1_3[0..3] have no statement for this barrier
    --- stderr
    ");
    insta::assert_snapshot!(checked(&[], "", ".maxntid 32, 4, 1", SOME_ROWS), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
}

#[test]
fn a_shape_that_does_not_matter_is_listed() {
    let number = "mov.u32 %r2, %tid.y;\nmov.u32 %r3, %ntid.x;\nmad.lo.u32 %r4, %r2, %r3, %r1;\nshr.u32 %r5, %r4, 5;\n\
                  setp.gt.u32 %p1, %r5, 1;\n@%p1 bra BEHIND;\nbar.sync 1, 64;\nBEHIND:";
    let folder = Folder::new();
    folder.file("kernel.ptx", kernel("", ".maxntid 128", number));
    let all = folder.run(&["check", "kernel.ptx"]);
    let assumed: Vec<&str> = all.lines().filter(|l| l.contains("threads")).collect();
    insta::assert_debug_snapshot!(assumed, @r#"
    [
        "    the launch has 128 x 1 x 1 threads per CTA, as many as .maxntid allows",
    ]
    "#);
}

#[test]
fn where_a_variable_lies_is_no_number_to_be_chosen() {
    let compared = "mov.u64 %rd1, arrived;\nsetp.eq.u64 %p1, %rd1, 0;\nsetp.gt.u32 %p2, %r1, 31;\n@%p2 bra BEHIND;\n\
                    @%p1 bar.sync 1, 64;\nBEHIND:";
    let variable = ".visible .global .align 4 .u32 arrived;";
    insta::assert_snapshot!(checked(&[], variable, ".reqntid 64, 1, 1", compared), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 16, `@%p1 bar.sync 1, 64`: it depends on where `arrived` lies in memory
    --- stderr
    ");
}

#[test]
fn words_that_overlap_are_not_two_numbers() {
    let variable = ".const .align 8 .b8 given[16];";
    let halves = "ld.const.u64 %rd1, [given];\nshr.u64 %rd2, %rd1, 32;\nld.const.u32 %r2, [given+4];\ncvt.u32.u64 %r3, %rd2;\n\
                  setp.eq.s32 %p1, %r2, %r3;\n@%p1 bra BEHIND;\nsetp.gt.u32 %p2, %r1, 31;\n@%p2 bra BEHIND;\n\
                  bar.sync 1, 64;\nBEHIND:";
    insta::assert_snapshot!(checked(&[], variable, ".reqntid 64, 1, 1", halves), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 17, `@%p1 bra BEHIND`: a branch decides about synchronization, but %p1 is not known here: it is read in pieces that overlap (line 14, `ld.const.u32 %r2, [given+4]`)
    --- stderr
    ");
}

/// One warp of two meets where a word that nobody writes satisfies a condition.
fn by_a_word(condition: &str) -> String {
    let code = format!(
        "ld.param.u32 %r9, [n];\nmov.u64 %rd1, given;\nld.global.nc.u32 %r2, [%rd1];\n{condition}\n@%p1 bra BEHIND;\n\
         setp.gt.u32 %p2, %r1, 31;\n@%p2 bra BEHIND;\nbar.sync 1, 64;\nBEHIND:"
    );
    checked(
        &[],
        ".global .align 4 .u32 given;",
        ".reqntid 64, 1, 1",
        &code,
    )
}

/// What is read from memory may be negative.
#[test]
fn the_sign_of_a_word_decides_nothing_silently() {
    insta::assert_snapshot!(by_a_word("setp.ge.s32 %p1, %r2, 0;"), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 16, `@%p1 bra BEHIND`: it depends on memory that is read
    --- stderr
    ");
    insta::assert_snapshot!(by_a_word("setp.ne.s32 %p1, %r2, -1;"), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 16, `@%p1 bra BEHIND`: a branch depends on memory that is read, other than on whether it is 0
    --- stderr
    ");
}

/// A register may be wider than the type of what is written to it: the rest is filled up.
#[test]
fn a_conversion_into_a_wider_register() {
    let cut = "ld.param.u32 %r3, [n];\ncvt.u16.u32 %r4, %r3;\nsetp.ne.u32 %p1, %r4, 3;\n@%p1 bra BEHIND;\n\
               setp.gt.u32 %p2, %r1, 31;\n@%p2 bra BEHIND;\nbar.sync 1, 64;\nBEHIND:";
    insta::assert_snapshot!(checked(&[], "", ".reqntid 64, 1, 1", cut), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at chosen = 1: cta_bar[1] takes 64 threads, 32 came (warp0), and nobody else comes (line 18): warp1 has no statement for this barrier
    --- stderr
    ");
}

/// The first line and the verdict, of what is computed from `n` before a barrier that half of the warps skip from n = 9 on.
fn verdicts(options: &[&str], code: &str) -> String {
    let hangs = "setp.ge.u32 %p1, %r1, 32;\nsetp.gt.s32 %p2, %r9, 8;\nand.pred %p3, %p1, %p2;\n@%p3 bra END;\n\
                 bar.sync 1, 64;\nEND:";
    let code = format!("ld.param.u32 %r9, [n];\n{code}\n{hangs}");
    let found = checked(options, "", ".reqntid 64, 1, 1", &code);
    found
        .lines()
        .filter(|line| line.contains(": "))
        .map(str::to_owned)
        .collect()
}

/// `268435456 * n` wraps around from n = 8 on. That matters to nobody who waits.
#[test]
fn arithmetic_that_no_synchronization_needs_restricts_nothing() {
    let product = "mul.lo.s32 %r4, %r9, 268435456;\n";
    let widened = format!("{product}cvt.s64.s32 %rd4, %r4;");
    let in_a_warp =
        format!("setp.lt.u32 %p4, %r1, 32;\n@%p4 bra W;\n{product}shr.s32 %r5, %r4, 3;\nW:");
    let hangs = "kernel.ptx: deadlock: REFUTED at n = 9: cta_bar[1] takes 64 threads, 32 came \
                 (warp0), and nobody else comes";
    for code in [&widened, &in_a_warp] {
        let found = verdicts(&[], code);
        assert!(found.starts_with(hangs), "{found}");
        let large = verdicts(&["--set", "n=4096"], code);
        assert!(large.contains("REFUTED at n = 4096"), "{large}");
    }
    // Where it decides who comes to a barrier, it is assumed, and said at the top.
    let decides =
        format!("{product}setp.lt.s32 %p4, %r4, 100;\n@%p4 bra E;\nbar.sync 0;\nE:\nret;");
    assert_eq!(
        verdicts(&["--recovery", "path"], &decides),
        "kernel.ptx: deadlock: PROVED for every p_n in 0..=1073741823 and schedule, assuming 268435456 * p_n < 2147483648: \
         all obligations of [rule] hold"
    );
    assert_eq!(
        verdicts(&["--recovery", "path", "--set", "p_n=4096"], &decides),
        "kernel.ptx: deadlock: UNKNOWN no parameter values satisfy the declared domain and the assumptions: there is \
         nothing to decide about"
    );
    // Either way all go, so it need not be assumed.
    assert_eq!(
        verdicts(&[], &decides),
        "kernel.ptx: deadlock: PROVED for every chosen in 0..=1 and schedule: all obligations of [rule] hold"
    );
}

/// What depends on the cluster that a kernel is launched in is not decided for a CTA by itself.
#[test]
fn a_cluster_that_nothing_says() {
    let meets = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;";
    insta::assert_snapshot!(checked(&[], "", ".reqntid 64, 1, 1", meets), @"
    exit 2
    --- stdout
    --- stderr
    Error: how many CTAs a cluster of `kernel` has is not known
       ╭─[ kernel.ptx:5:17 ]
       │
     5 │ .visible .entry kernel(.param .u32 n)
       │ 
       │ Help: give --cluster N (1 if it is launched without clusters), or compile with __cluster_dims__(N)
    ───╯
    ");
    let bounds = ".reqntid 64, 1, 1";
    for code in [
        "mov.u32 %r2, %cluster_ctarank;",
        "mov.u32 %r2, %clusterid.x;",
        "mapa.shared::cluster.u32 %r2, %r1, 0;",
        meets,
    ] {
        let asked = checked(&[], "", bounds, code);
        assert!(asked.starts_with("exit 2"), "{code}: {asked}");
        let one = checked(&["--cluster", "1"], "", bounds, code);
        assert!(one.starts_with("exit 0"), "{code}: {one}");
        let said = checked(
            &[],
            "",
            ".reqntid 64, 1, 1\n.explicitcluster\n.reqnctapercluster 2, 1, 1",
            code,
        );
        assert!(said.starts_with("exit 0"), "{code}: {said}");
    }
}

/// Entries are called as in their source, by as much of the name as tells them apart.
#[test]
fn names_of_entries() {
    let named = |name: &str| {
        format!(".visible .entry {name}()\n.reqntid 64, 1, 1\n{{\nbar.sync 0;\nret;\n}}\n")
    };
    let text = [
        ".version 8.7\n.target sm_90a\n.address_size 64\n".to_owned(),
        named("_ZN4hopp4gemmILi4EEEvPKfi"),
        named("_Z6reduceILi4EEvPKfi"),
        named("_Z6reduceILi8EEvPKfi"),
        named("plain"),
    ];
    let folder = Folder::new();
    folder.file("kernel.ptx", text.concat());
    insta::assert_snapshot!(folder.run(&["check", "-q", "kernel.ptx"]), @"
    exit 0
    --- stdout
    kernel.ptx:hopp::gemm<4>: deadlock: PROVED for every schedule: all obligations of [rule] hold
    kernel.ptx:reduce<4>: deadlock: PROVED for every schedule: all obligations of [rule] hold
    kernel.ptx:reduce<8>: deadlock: PROVED for every schedule: all obligations of [rule] hold
    kernel.ptx:plain: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    for name in [
        "gemm",
        "hopp::gemm",
        "_ZN4hopp4gemmILi4EEEvPKfi",
        "reduce<4>",
        "plain",
    ] {
        let found = folder.run(&["check", "-q", "kernel.ptx", "--entry", name]);
        assert!(found.starts_with("exit 0"), "{name}: {found}");
    }
    insta::assert_snapshot!(folder.run(&["lift", "kernel.ptx", "--entry", "reduce"]), @"
    exit 2
    --- stdout
    --- stderr
    error: kernel.ptx has several entries `reduce`
    hint: choose one: reduce<4>, reduce<8>
    ");
}
