//! Whole texts: white space, declarations, source lines, and what is wrong with a text.

use std::fmt::Write;
use std::path::Path;

use insta::assert_snapshot;
use warplock_kernel::ptx::read;

use crate::blocks;
use crate::kernel;
use crate::module;

/// The errors of a text, one line each.
fn errors(text: &str) -> String {
    let errors = read(text).expect_err("a text that is wrong");
    let mut result = String::new();
    for error in errors {
        let found = &text[error.span.clone()];
        writeln!(result, "{error} | {found} | {}", error.hint).expect("a string");
    }
    result
}

#[test]
fn white_space_and_comments_stand_anywhere() {
    let text = module(
        "",
        "@ ! %p1\n bra /* where to */ $L ; mov\n.u32 %r1 , %tid . x ; ld . global // a load\n.v2\n.b32 {\n\
         %r1 ,%r2 } , [ %rd1\n+ 8 ] ;\n$L\n:\tret ;",
    );
    // A special register and its component are one word.
    assert!(read(&text).is_err());
    assert_snapshot!(blocks(&text.replace("tid . x", "tid.x").replace(" . global", " .global")), @r"
    b0:
      -> %p1 ? b1 : b2
    b1:
      %r1 = ThreadIndex(0)
      t0 = Add:64 %rd1, 8
      %r1, %r2 = Load:32 Global[t0] Weak Cta
      -> b2
    b2 $L:
      exit
    ");
}

#[test]
fn bounds_parameters_and_variables() {
    let text = ".version 7.0\n.target sm_80, debug\n.address_size 64\n\
        .visible .const .align 4 .b32 table[3] = {1, -2, 0x10};\n\
        .global .align 8 .u64 where = generic(table);\n.global .f32 half = 0.5;\n\
        .extern .shared .align 16 .b8 dynamic[];\n\
        .entry ring(.param .u32 ring_param_0, .param .u64 .ptr .global .align 16 ring_param_1,\n\
        .param .align 64 .b8 map[128], .param .u8 last)\n\
        .reqntid 128, 2\n.maxnreg 168 .minnctapersm 2 .reqnctapercluster 2, 1, 1\n\
        { .reg .b32 %r<2>; .reg .b64 %rd<9>; .reg .v2 .b32 %v<2>;\n\
        mov.u64 %rd1, table; mov.u64 %rd2, where; mov.u64 %rd3, half; mov.u64 %rd4, dynamic;\n\
        ld.param.u8 %r1, [last]; mov.u64 %rd5, map; cvta.param.u64 %rd6, %rd5;\n\
        ld.const.v2.b32 %v1, [table+4]; mov.b32 %r1, %v1.y; }";
    let module = read(text).expect("a module");
    assert_eq!(
        (module.version.as_str(), module.target.as_str()),
        ("7.0", "sm_80")
    );
    let bounds = &module.kernels[0].bounds;
    assert_eq!(bounds.required_threads, Some([128, 2, 1]));
    assert_eq!(bounds.max_threads, None);
    assert_eq!(bounds.cluster, Some([2, 1, 1]));
    assert_eq!(
        (bounds.max_registers, bounds.min_ctas),
        (Some(168), Some(2))
    );
    assert_snapshot!(module.kernels[0].to_string(), @r"
    ring(param_0 @0+4, param_1 @8+8, map @64+128, last @192+1)
    Constant table: 12 bytes, aligned to 4 = [1, 0, 0, 0, 254, 255, 255, 255, 16, 0, 0, 0]
    Global where: 8 bytes, aligned to 8
    Global half: 4 bytes, aligned to 4 = [0, 0, 0, 63]
    Shared dynamic: ? bytes, aligned to 16
    b0:
      %rd1 = &table
      %rd2 = &where
      %rd3 = &half
      %rd4 = &dynamic
      %r1 = Load:8 Parameter[192] Weak Cta
      %rd5 = Copy:64 64
      ConvertAddress { result: %rd6, address: %rd5, space: Parameter, to_generic: true }
      t0 = &table
      t1 = Add:64 t0, 4
      %v1.x, %v1.y = Load:32 Constant[t1] Weak Cta
      %r1 = Copy:32 %v1.y
      exit
    ");
}

/// Each operation as its line and its source lines, innermost first.
fn places(text: &str) -> String {
    let mut result = String::new();
    for block in &kernel(text).blocks {
        for operation in &block.operations {
            let lines: Vec<String> = (operation.location.source.iter())
                .map(|at| format!("{}:{}:{}", at.file, at.line, at.column))
                .collect();
            let line = operation.location.line;
            writeln!(result, "{line}: {}", lines.join(" in ")).expect("a string");
        }
    }
    result
}

#[test]
fn source_lines() {
    let function = ".func f { .loc 2 5 1\nbar.sync 1; ret; }";
    let statements = "bar.sync 0;\n.loc 1 10 3\nbar.sync 0;\n\
        .loc 2 20 5, function_name $L__info_string0, inlined_at 1 10 3\nbar.sync 0;\n\
        .loc 3 30 7, function_name $L__info_string1+8, inlined_at 2 20 5\nbar.sync 0;\n\
        .loc 1 40 1\n// begin inline asm\n{\n.loc 1 42 1\nbar.sync 0;\n.loc 1 43 1\nbar.sync 0; }\n\
        // end inline asm\nbar.sync 0;\ncall f;\n.loc 1 0 0\nbar.sync 0;\nret;";
    let files = "}\n.file 1 \"a.cu\", 1, 2\n.file 2 \"b.cuh\"\n.file 3 \"c.cuh\"\n\
        .section .debug_str { $L__info_string0: .b8 1, 2 }\n";
    let text = module(function, statements);
    let text = format!("{}{files}", text.trim_end().trim_end_matches('}'));
    assert_snapshot!(places(&text), @r"
    9: 
    11: a.cu:10:3
    13: b.cuh:20:5 in a.cu:10:3
    15: c.cuh:30:7 in b.cuh:20:5 in a.cu:10:3
    20: a.cu:40:1
    22: a.cu:40:1
    24: a.cu:40:1
    5: b.cuh:5:1 in a.cu:40:1
    27:
    ");
}

#[test]
fn what_is_wrong_with_a_text() {
    let text = module(
        ".global .b32 g;",
        "add.u32 %r1, %r9, x;\n@%r1 bra L;\nbra M;\n{ M: }\nmov.b32 %v.x, g+4;",
    );
    assert_snapshot!(errors(&text), @r"
    8:14: `%r9` is not declared | %r9 | declare it with `.reg` in this scope or one around it
    8:19: `x` is not declared | x | names are registers, labels, variables and functions that are declared
    9:2: `%r1` is no predicate but has 32 bits | %r1 | predicates are declared with `.reg .pred`
    9:10: there is no label `L` in this scope | L | labels inside braces are not visible outside them
    10:5: there is no label `M` in this scope | M | labels inside braces are not visible outside them
    12:9: `%v` has no component `x` | %v | components are those of vector registers and of special registers as `%tid.x`
    ");
    let mut all = String::new();
    for statements in [
        "add.u32 %r1, %r2 %r3;",
        "add.u32 %r1, ;",
        "ld.u32 %r1, [%r2;",
        "mov.u32 %r1, 08;",
        ".reg .b33 %x;",
        ".entry e;",
        "%r1 = 4;",
        "ret",
        "mov.u32 %r1, \u{e9};",
        ".reg .b32 a; .reg .b32 a;",
        "L: L: ret;",
        "mov.u32 %r1, %r2+4;",
        "mov.u32 %r1, 1 / 0;",
        "mov.u32 %r1, %r8;",
    ] {
        let error = errors(&module("", statements));
        writeln!(all, "{statements} {}", error.trim_end()).expect("a string");
    }
    assert_snapshot!(all, @r"
    add.u32 %r1, %r2 %r3; 8:18: found `%r3` where `,` or `;` was expected | %r3 | PTX statements end with `;`, lists are separated by `,`
    add.u32 %r1, ; 8:14: found `;` where an operand was expected | ; | operands are registers, numbers, names, `[addresses]` or `{vectors}`
    ld.u32 %r1, [%r2; 8:17: found `;` where `]` was expected | ; | PTX statements end with `;`, lists are separated by `,`
    mov.u32 %r1, 08; 8:14: found `08` where an operand was expected | 08 | integers are decimal, 0x, 0b or 0 octal, with an optional U; floats are 0f and 0d
    .reg .b33 %x; 8:6: `.b33` is no type of a register | .b33 | registers are `.pred`, or have 8 to 128 bits as `.b32`
    .entry e; 8:1: `.entry` is no directive of a function's body | .entry | declarations begin with `.reg`, `.shared`, `.local`, `.param`
    %r1 = 4; 8:1: found `%r1` where an instruction was expected | %r1 | an opcode is a word such as `bar.sync`; labels end with `:`
    ret 9:1: found `}` where an operand was expected | } | operands are registers, numbers, names, `[addresses]` or `{vectors}`
    mov.u32 %r1, é; 8:14: `é` begins no word of PTX | é | PTX is ASCII text; see the ISA manual's syntax
    .reg .b32 a; .reg .b32 a; 8:24: `a` is declared twice in this scope | a | inline assembly that is written twice needs braces around its declarations
    L: L: ret; 8:4: `L` is declared twice in this scope | L | inline assembly that is written twice needs braces around its declarations
    mov.u32 %r1, %r2+4; 8:14: `%r2` is no variable, so nothing can be added to it | %r2 | registers and offsets are added inside of brackets only
    mov.u32 %r1, 1 / 0; 8:16: the value of this expression does not exist | / | constants have 64 bits; nothing is divided by 0
    mov.u32 %r1, %r8; 8:14: `%r8` is not declared | %r8 | declare it with `.reg` in this scope or one around it
    ");
    assert_snapshot!(errors(""), @"1:1: the text ends where `.version` was expected |  | the file may be truncated: compile or copy it again");
    assert_snapshot!(errors(".version 8.0\n.target sm_90\n.entry k() {\n ret;"), @"4:6: the text ends where an instruction or `}` was expected |  | the file may be truncated: compile or copy it again");
    assert_snapshot!(errors(".version 8.0\n}"), @"2:1: found `}` where a directive such as `.entry` was expected | } | is a closing brace missing or doubled before this line?");
}

/// The reader ends and does not panic, wherever a text is cut or changed.
#[test]
fn damaged_texts_are_refused_or_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ptx/kernels/calls.ptx");
    let text = std::fs::read_to_string(path).expect("a kernel");
    let text = &text[..8000];
    let mut refused = 0;
    for cut in (0..text.len()).step_by(53) {
        let sign = ["{", "}", ";", "@", "[", "%r1", "bra", "\"", "//", "/*"][cut % 10];
        let changed = format!("{}{sign}{}", &text[..cut], &text[cut..]);
        refused += usize::from(read(&text[..cut]).is_err()) + usize::from(read(&changed).is_err());
    }
    assert!(refused > 200, "{refused} refused");
}
