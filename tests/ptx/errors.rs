//! What is no PTX, or not enough of it, is refused with its place and a hint.

use crate::support::program::Folder;

const HEAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

fn lift(text: &str, options: &[&str]) -> String {
    let folder = Folder::new();
    folder.file("kernel.ptx", text);
    let mut arguments = vec!["lift", "kernel.ptx"];
    arguments.extend(options);
    folder.run(&arguments)
}

#[test]
fn no_ptx_at_all() {
    insta::assert_snapshot!(lift("protocol p\n", &[]), @"
    exit 2
    --- stdout
    --- stderr
    Error: found `protocol` where `.version` was expected
       ╭─[ kernel.ptx:1:1 ]
       │
     1 │ protocol p
       │ ────┬───  
       │     ╰───── expected `.version`
       │ 
       │ Help: a PTX file begins with `.version`
    ───╯
    ");
}

#[test]
fn a_truncated_file() {
    let text = format!("{HEAD}.visible .entry k()\n.reqntid 32\n{{\n.reg .b32 %r<4>;\nmov.u32 %r1");
    insta::assert_snapshot!(lift(&text, &[]), @"
    exit 2
    --- stdout
    --- stderr
    Error: the text ends where `,` or `;` was expected
       ╭─[ kernel.ptx:8:12 ]
       │
     8 │ mov.u32 %r1
       │            │ 
       │            ╰─ expected `,` or `;`
       │ 
       │ Help: the file may be truncated: compile or copy it again
    ───╯
    ");
}

#[test]
fn a_missing_semicolon() {
    let text = format!("{HEAD}.entry k()\n{{\nbar.sync 0\nret;\n}}\n");
    insta::assert_snapshot!(lift(&text, &[]), @"
    exit 2
    --- stdout
    --- stderr
    Error: found `ret` where `,` or `;` was expected
       ╭─[ kernel.ptx:7:1 ]
       │
     7 │ ret;
       │ ─┬─  
       │  ╰─── expected `,` or `;`
       │ 
       │ Help: PTX statements end with `;`, lists are separated by `,`
    ───╯
    ");
}

#[test]
fn a_register_that_is_not_declared() {
    let text = format!("{HEAD}.entry k()\n{{\n.reg .b32 %r<4>;\nmov.u32 %r4, 0;\nret;\n}}\n");
    insta::assert_snapshot!(lift(&text, &[]), @"
    exit 2
    --- stdout
    --- stderr
    Error: register `%r4` is not declared
       ╭─[ kernel.ptx:7:9 ]
       │
     7 │ mov.u32 %r4, 0;
       │         ─┬─  
       │          ╰─── used here
       │ 
       │ Help: declare it with `.reg` before its use
    ───╯
    ");
}

#[test]
fn a_label_of_another_scope() {
    let text = format!("{HEAD}.entry k()\n{{\n{{\nL: ret;\n}}\nbra L;\n}}\n");
    insta::assert_snapshot!(lift(&text, &[]), @"
    exit 2
    --- stdout
    --- stderr
    Error: there is no label `L` in this scope
       ╭─[ kernel.ptx:9:1 ]
       │
     9 │ bra L;
       │ ─┬─  
       │  ╰─── branches to it
       │ 
       │ Help: labels inside braces are not visible outside them
    ───╯
    ");
}

#[test]
fn a_character_that_begins_nothing() {
    let text = format!("{HEAD}.entry k()\n{{\nbar.sync \\0;\n}}\n");
    insta::assert_snapshot!(lift(&text, &[]), @r"
    exit 2
    --- stdout
    --- stderr
    Error: `\\` begins no word of PTX
       ╭─[ kernel.ptx:6:10 ]
       │
     6 │ bar.sync \0;
       │          ┬  
       │          ╰── expected an operand
       │ 
       │ Help: operands are registers, numbers, names, `[addresses]` or `{vectors}`
    ───╯
    ");
}

#[test]
fn how_many_threads() {
    let text = format!("{HEAD}.entry k()\n{{\nbar.sync 0;\nret;\n}}\n");
    insta::assert_snapshot!(lift(&text, &[]), @"
    exit 2
    --- stdout
    --- stderr
    Error: how many threads `k` is launched with is not known
       ╭─[ kernel.ptx:4:8 ]
       │
     4 │ .entry k()
       │ 
       │ Help: give --threads N, or compile with __launch_bounds__(N)
    ───╯
    ");
    insta::assert_snapshot!(lift(&text, &["--threads", "32,2"]), @"
    exit 0
    --- stdout
    //! Recovered from the kernel `k`.
    //! 32 x 2 x 1 threads per CTA.
    //! Checked against the kernel at 5 launches, 10 events.
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    protocol k

    named cta_bar[16]

    role warps0_1[w in 0..2] warp {
        sync cta_bar[0] 64  // line 6
    }
    --- stderr
    ");
}

#[test]
fn which_entry() {
    let text = format!("{HEAD}.entry one()\n{{\nret;\n}}\n.entry two()\n{{\nret;\n}}\n");
    insta::assert_snapshot!(lift(&text, &["--threads", "32"]), @"
    exit 2
    --- stdout
    --- stderr
    error: kernel.ptx has 2 entries
    hint: choose one with --entry: one, two
    ");
    insta::assert_snapshot!(lift(&text, &["--entry", "three"]), @"
    exit 2
    --- stdout
    --- stderr
    error: kernel.ptx has no entry `three`
    hint: its entries: one, two
    ");
}

#[test]
fn deep_braces() {
    let text = format!("{HEAD}.entry k()\n{}", "{".repeat(100_000));
    insta::assert_snapshot!(lift(&text, &[]), @"
    exit 2
    --- stdout
    --- stderr
    Error: found `{` where fewer braces was expected
       at kernel.ptx:5:34
       Help: scopes nest at most 32 deep
    ");
    let text = format!("{HEAD}.entry k()\n{{\nmov.b32 {}", "[".repeat(100_000));
    assert!(lift(&text, &[]).starts_with("exit 2\n"));
}

/// Labels and registers of inline assembly are its own, and unknown instructions are kept.
#[test]
fn inline_assembly_twice() {
    let wait = "{\n.reg .pred p;\nAGAIN:\nmbarrier.try_wait.parity.shared.b64 p, [b], 0;\n\
                @p bra DONE;\nbra AGAIN;\nDONE:\n}\n";
    let text = format!(
        "{HEAD}.entry k()\n.reqntid 32\n{{\n.shared .align 8 .b64 b;\ntex.1d.v4.f32.s32 \
         {{}}, [b, {{}}];\n{wait}{wait}ret;\n}}\n"
    );
    insta::assert_snapshot!(lift(&text, &[]), @"
    exit 0
    --- stdout
    //! Recovered from the entry `k` of a PTX 8.0 text for sm_90.
    //! 32 x 1 x 1 threads per CTA.
    protocol k

    mbarrier b_bar { arrivals: 1, init: explicit }

    role warp0 warp {
        wait b_bar 0  // line 12
        wait b_bar 0  // line 20
    }
    --- stderr
    ");
}

/// A long kernel is read in one pass.
#[test]
fn many_instructions() {
    let mut text = format!("{HEAD}.entry k()\n.reqntid 32\n{{\n.reg .b32 %r<4>;\n");
    for _ in 0..100_000 {
        text.push_str("add.s32 %r1, %r2, %r3; // nothing\n");
    }
    text.push_str("bar.sync 0;\nret;\n}\n");
    let shown = lift(&text, &[]);
    assert!(
        shown.contains("sync cta_bar[0] 32  // line 100008\n"),
        "{shown}"
    );
}

#[test]
fn a_text_that_ends_before_its_kernels() {
    insta::assert_snapshot!(lift(HEAD, &["--threads", "32"]), @"
    exit 2
    --- stdout
    --- stderr
    Error: there is no entry in this text
       ╭─[ kernel.ptx:3:18 ]
       │
     3 │ .address_size 64
       │ 
       │ Help: a kernel begins with `.entry`; is the text cut off?
    ───╯
    ");
}

/// Compilers count the lines of inline assembly on from the line that it stands in: they are none of the source.
#[test]
fn lines_of_inline_assembly() {
    let text = format!(
        "{HEAD}.visible .entry k()\n.reqntid 64, 1, 1\n{{\n.loc 1 744 20\n// begin inline asm\n{{\n.loc 1 747 20\n\
         bar.sync 1, 64;\n}}\n// end inline asm\nbar.sync 2, 64;\n.loc 1 750 1\nbar.sync 0;\nret;\n}}\n\
         .file 1 \"/home/me/gemm.py\"\n"
    );
    insta::assert_snapshot!(lift(&text, &[]), @"
    exit 0
    --- stdout
    //! Recovered from the kernel `k`.
    //! 64 x 1 x 1 threads per CTA.
    //! Checked against the kernel at 5 launches, 30 events.
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    protocol k

    named cta_bar[16]

    role warps0_1[w in 0..2] warp {
        sync cta_bar[1] 64  // gemm.py:744
        sync cta_bar[2] 64  // gemm.py:744
        sync cta_bar[0] 64  // gemm.py:750
    }
    --- stderr
    ");
}
