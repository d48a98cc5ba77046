//! Functions that take registers, branches through a table of labels, and addresses put together bit by bit.

use crate::support::program::Folder;

fn check(functions: &str, threads: u32, code: &str) -> String {
    let folder = Folder::new();
    folder.file(
        "kernel.ptx",
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n{functions}\
             .visible .entry kernel(.param .u32 n)\n.reqntid {threads}, 1, 1\n{{\n\
             .reg .pred %p<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<8>;\n.shared .align 16 .b64 bars[2];\n\
             mov.u32 %r1, %tid.x;\nshr.u32 %r2, %r1, 5;\n{code}\nret;\n}}\n"
        ),
    );
    folder.run(&["check", "-q", "kernel.ptx"])
}

/// The function gives the other warp's number, or the own one.
#[test]
fn a_function_of_registers() {
    let code = |other: &str| {
        let function = format!(
            ".func (.reg .u32 %res, .reg .pred first) other(.reg .u32 %x, .reg .u32 by)\n{{\n\
             setp.eq.u32 first, %x, 0;\n@first bra A;\n{other} %res, %x, by;\nret;\nA:\n{other} %res, %x, by;\nret;\n}}\n"
        );
        check(
            &function,
            64,
            "call.uni (%r3, %p1), other, (%r2, 1);\n@%p1 bar.sync 2, 64;\nadd.u32 %r4, %r2, 1;\nadd.u32 %r5, %r3, 1;\n\
             bar.arrive %r4, 64;\nbar.sync %r5, 64;\n@!%p1 bar.arrive 2, 64;",
        )
    };
    insta::assert_snapshot!(code("xor.b32"), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(code("or.b32"), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED cta_bar[2] takes 64 threads, 32 came (warp0), and nobody else comes (line 28): 5 warps come in all, 2 for each completion, and warp0 and warp1 completed 2 before
    --- stderr
    ");
}

#[test]
fn a_branch_through_a_table() {
    let code = |last: &str| {
        check(
            "",
            96,
            &format!(
                "ts: .branchtargets A, B, C;\nbrx.idx %r2, ts;\nA: bar.arrive 1, 64;\nbra E;\n\
                 B: bar.sync 1, 64;\nbar.arrive 2, 64;\nbra E;\nC: bar.sync {last}, 64;\nE: bar.sync 0;"
            ),
        )
    };
    insta::assert_snapshot!(code("2"), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(code("3"), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED cta_bar[3] takes 64 threads, 32 came (warp2), and nobody else comes (line 20): warp0 never comes, only at others such as cta_bar[1]; warp1 never comes, only at others such as cta_bar[1]
    --- stderr
    ");
}

/// A label for one warp of two, a number of the launch, and the rest of such a number by two.
#[test]
fn a_branch_through_a_table_by_an_index_behind_its_end() {
    let code = |index: &str, labels: &str| {
        check(
            "",
            64,
            &format!(
                "{index}\nts: .branchtargets {labels};\nbrx.idx %r5, ts;\nA: bar.sync 1, 64;\nbra E;\n\
                 B: bar.sync 2, 64;\nE: bar.sync 0;"
            ),
        )
    };
    for (index, labels) in [
        ("shr.u32 %r5, %r1, 5;", "A"),
        ("ld.param.u32 %r5, [n];", "A, B"),
    ] {
        let said = code(index, labels);
        assert!(said.contains("deadlock: UNKNOWN"), "{index}\n{said}");
        assert!(
            said.contains("behind the end of its list"),
            "{index}\n{said}"
        );
    }
    let said = code("ld.param.u32 %r5, [n];\nand.b32 %r5, %r5, 1;", "A, B");
    assert!(said.contains("deadlock: PROVED"), "{said}");
    let said = code(
        "ld.param.u32 %r5, [n];\nsetp.gt.u32 %p2, %r5, 1;\n@%p2 bra E;",
        "A, B",
    );
    assert!(said.contains("deadlock: PROVED"), "{said}");
}

/// The other mbarrier of a pair that is aligned to 16 bytes; of one that is not it may be anywhere.
#[test]
fn the_other_mbarrier_by_exclusive_or() {
    let code = |bit: u32| {
        check(
            "",
            64,
            &format!(
                "mov.u32 %r9, bars;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra S;\nmbarrier.init.shared.b64 [%r9], 32;\n\
                 mbarrier.init.shared.b64 [%r9+8], 32;\nS:\nbar.sync 0;\nshl.b32 %r3, %r2, 3;\n\
                 add.u32 %r4, %r9, %r3;\nxor.b32 %r5, %r4, {bit};\nmbarrier.arrive.shared.b64 %rd1, [%r5];\n\
                 W: mbarrier.test_wait.parity.shared.b64 %p3, [%r4], 0;\n@!%p3 bra W;"
            ),
        )
    };
    insta::assert_snapshot!(code(8), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(code(0), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(code(16), @r"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 23, `mbarrier.arrive.shared.b64 %rd1, [%r5]`: an mbarrier is used that is never initialised
    --- stderr
    ");
}

/// A local variable of the function has the name of a shared one, which is another.
#[test]
fn a_local_variable_with_the_name_of_another() {
    let code = |name: &str| {
        let functions = format!(
            ".shared .align 4 .u32 x;\n.func f(.reg .u32 %v)\n{{\n.reg .u32 %w;\n.local .align 4 .b32 {name};\n\
             st.local.u32 [{name}], %v;\nld.local.u32 %w, [{name}];\nsetp.gt.u32 %p, %w, 7;\n@%p bra E;\nbar.sync 0;\nE:\nret;\n}}\n"
        );
        let functions = functions.replace("%w;\n.local", "%w;\n.reg .pred %p;\n.local");
        check(&functions, 64, "st.shared.u32 [x], 9;\ncall.uni f, (5);")
    };
    insta::assert_snapshot!(code("x"), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(code("y"), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
}

/// A parameter is written in two halves: read in halves it is known, as a whole it is not.
#[test]
fn a_parameter_in_pieces() {
    let code = |read: &str| {
        let function = format!(
            ".func (.param .b32 res) f(.param .align 8 .b8 s[8])\n{{\n.reg .b64 %rd<4>;\n.reg .b32 %r<4>;\n{read}\n\
             st.param.b32 [res], %r1;\nret;\n}}\n"
        );
        check(
            &function,
            64,
            "mov.u32 %r3, 0;\n{\n.param .align 8 .b8 param0[8];\nst.param.b64 [param0], 0;\nst.param.b32 [param0], %r3;\n\
             st.param.b32 [param0+4], %r2;\n.param .b32 retval0;\ncall.uni (retval0), f, (param0);\n\
             ld.param.b32 %r4, [retval0];\n}\nsetp.eq.u32 %p2, %r4, 0;\n@%p2 bra OUT;\nbar.sync 1, 32;\nOUT:",
        )
    };
    insta::assert_snapshot!(code("ld.param.b32 %r1, [s+4];"), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    let whole = "ld.param.b64 %rd1, [s];\nshr.u64 %rd2, %rd1, 32;\ncvt.u32.u64 %r1, %rd2;";
    insta::assert_snapshot!(code(whole), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 34, `@%p2 bra OUT`: a branch decides about synchronization, but %p2 is not known here: `a parameter in pieces of several sizes` of these values is not followed, or may wrap around (line 28, `st.param.b32 [param0+4], %r2`)
    --- stderr
    ");
}

/// Of two variables or tables of one name in different scopes the path does not tell which is meant. The graph does.
#[test]
fn one_name_in_two_scopes() {
    let function = ".func f(.param .b32 x)\n{\n.reg .b32 %r<4>;\nld.param.b32 %r1, [x];\nret;\n}\n";
    let code = "{\n.param .b32 n;\nst.param.b32 [n], 5;\ncall.uni f, (n);\n}\nld.param.u32 %r4, [n];\n\
                setp.eq.u32 %p2, %r4, 5;\n@%p2 bra OUT;\nbar.sync 1, 96;\nOUT:";
    insta::assert_snapshot!(check(function, 64, code), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 0: cta_bar[1] takes 96 threads, 64 came (warps0_1[0] and warps0_1[1]), and nobody else comes (line 27)
    --- stderr
    ");
    let code = "ts: .branchtargets B, B, C;\n{\nts: .branchtargets A, B, C;\n}\nbrx.idx %r2, ts;\n\
                A: bar.sync 1, 64;\nbra E;\nB: bra E;\nC: bar.sync 1, 64;\nE:";
    insta::assert_snapshot!(check("", 64, code), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
}

/// Written out, the functions would be 2^24 barriers.
#[test]
fn functions_that_call_others_twice_are_not_written_out() {
    let twice = |n: u32| format!(".func f{n}() {{ call f{0}; call f{0}; ret; }}\n", n - 1);
    let functions: String = (1..=24).map(twice).collect();
    let folder = Folder::new();
    folder.file(
        "kernel.ptx",
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.func f0() {{ bar.sync 0; ret; }}\n{functions}\
             .visible .entry kernel()\n.reqntid 64, 1, 1\n{{\ncall f24;\nret;\n}}\n"
        ),
    );
    insta::assert_snapshot!(folder.run(&["check", "-q", "--recovery", "path", "kernel.ptx"]), @r"
        exit 4
        --- stdout
        kernel.ptx: deadlock: UNKNOWN line 32, `call f24`: `call`: this instruction is not modelled
        --- stderr
        ");
}
