//! PTX as kernels of the IR: each form of each family, scopes, calls, control flow, source lines,
//! what is wrong with a text, and the kernels of the repository.

use std::fmt::Write;
use std::path::Path;

use insta::assert_snapshot;
use warplock_kernel::ir::Kernel;
use warplock_kernel::ir::OperationKind;
use warplock_kernel::ptx::read;

const REGISTERS: &str = ".reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<8>; .reg .f32 %f<5>; \
    .reg .b64 %rd<4>; .reg .f64 %d<2>; .reg .b128 %q<2>;";

/// A module with one kernel of these statements, and what stands in front of the kernel.
fn module(before: &str, statements: &str) -> String {
    format!(
        ".version 8.8\n.target sm_100a\n.address_size 64\n{before}\n\
         .visible .entry k(.param .u64 k_param_0, .param .align 16 .b8 k_param_1[32])\n\
         {{\n{REGISTERS}\n{statements}\n}}\n"
    )
}

fn kernel(text: &str) -> Kernel {
    let module = read(text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let kernel = module.kernels.into_iter().next().expect("a kernel");
    assert_eq!(kernel.faults(), Vec::<String>::new(), "{kernel}");
    kernel
}

/// The blocks of a kernel, without its head.
fn blocks(text: &str) -> String {
    let printed = kernel(text).to_string();
    let at = printed.find("b0").expect("a block");
    printed[at..].to_owned()
}

/// What is wrong with a text, a line each.
fn errors(text: &str) -> String {
    let errors = read(text).expect_err("a text that is wrong");
    let mut result = String::new();
    for error in errors {
        let found = &text[error.span.clone()];
        writeln!(result, "{error} | {found} | {}", error.hint).expect("a string");
    }
    result
}

/// Every line of the data is an instruction, the next what it becomes.
#[test]
fn forms() {
    let variables = ".shared .align 8 .b64 bar[4]; .shared .b8 buffer[64];";
    let data = include_str!("data/ptx_forms.txt");
    let mut wrong = String::new();
    let mut count = 0;
    let mut lines = data.lines().filter(|line| !line.starts_with('#'));
    while let (Some(input), Some(expected)) = (lines.next(), lines.next()) {
        let printed = blocks(&module(variables, &format!("{input}\nret;")));
        let body = printed.strip_prefix("b0:\n").expect("one block");
        let body: Vec<&str> = body.lines().map(str::trim).collect();
        let found = body[..body.len() - 1].join(" / ");
        count += 1;
        if found != expected.trim() {
            writeln!(wrong, "{input}\n    {found}").expect("a string");
        }
    }
    assert_eq!(wrong, "");
    assert_eq!(count, FORMS);
}

const FORMS: usize = 198;

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
fn braces_open_scopes_of_registers_and_labels() {
    let wait = "{ .reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%r1], %r2;\n\
                @p bra done; bra again; done: }";
    let text = module("", &format!("{wait}\n{wait}\nret;"));
    assert_snapshot!(blocks(&text), @r"
    b0:
      -> b1
    b1 again:
      MbarrierTest { result: p#0, address: %r1, token: Parity(%r2), blocking: true, order: Acquire, scope: Cta }
      -> p#0 ? b3 : b2
    b2:
      -> b1
    b3 done:
      MbarrierTest { result: p#3, address: %r1, token: Parity(%r2), blocking: true, order: Acquire, scope: Cta }
      -> p#3 ? b5 : b4
    b4:
      -> b3
    b5 done:
      exit
    ");
    // Before its declaration, a name is that of the scope around.
    let text = module(
        "",
        "{ mov.b32 %r1, 1; .reg .b32 %r1; mov.b32 %r1, 2; } mov.b32 %r2, %r1; ret;",
    );
    assert_snapshot!(blocks(&text), @r"
    b0:
      %r1#0 = Copy:32 1
      %r1#1 = Copy:32 2
      %r2 = Copy:32 %r1#0
      exit
    ");
}

#[test]
fn guards_of_branches_and_ends_become_branches() {
    let text = module(
        "",
        "@%p1 ret;\n@!%p2 exit;\n@%p3 trap;\nL: @!%p1 bra.uni L;\nts: .branchtargets L, M;\n\
         brx.idx %r1, ts;\nbar.sync 0;\nM: @%p2 brx.idx.uni %r2, ts;",
    );
    assert_snapshot!(blocks(&text), @r"
    b0:
      -> %p1 ? b8 : b1
    b1:
      -> %p2 ? b2 : b9
    b2:
      -> %p3 ? b10 : b3
    b3 L:
      -> %p1 ? b4 : b3
    b4:
      -> %r1 of b3, b6
    b5:
      BarrierSync { barrier: 0, threads: None, aligned: true, reduction: None }
      -> b6
    b6 M:
      -> %p2 ? b11 : b7
    b7:
      exit
    b8:
      exit
    b9:
      exit
    b10:
      trap
    b11:
      -> %r2 of b3, b6
    ");
}

#[test]
fn calls_are_written_out() {
    let functions = ".shared .b32 outside;\n\
        .func (.param .b32 result) next(.param .b32 given)\n\
        { .reg .b32 %r<3>; .reg .pred %p1; .shared .b32 own; .local .b32 stack;\n\
        ld.param.u32 %r1, [given]; setp.eq.u32 %p1, %r1, 7; @%p1 bra out;\n\
        st.shared.u32 [own], %r1; st.local.u32 [stack], 1; add.u32 %r2, %r1, 1;\n\
        st.param.b32 [result+0], %r2; ret;\nout: exit; }\n\
        .func (.reg .b32 out) twice(.reg .b32 in) { add.u32 out, in, in; ret; }";
    let call = "{ .param .b32 p0; st.param.b32 [p0+0], %r1; .param .b32 r0;\n\
        call.uni (r0), next, (p0); ld.param.b32 %r1, [r0+0]; }";
    let text = module(
        functions,
        &format!("{call}\n{call}\n@%p1 call (%r2), twice, (%r1);\nret;"),
    );
    let kernel = kernel(&text);
    let names: Vec<&str> = kernel.variables.iter().map(|v| v.name.as_str()).collect();
    // A shared variable of a function is one, a local one is one of each call.
    assert_eq!(names, ["own", "stack", "stack"]);
    assert_snapshot!(blocks(&text), @r"
    b0:
      t0 = Copy:32 %r1#0
      %r1#4 = Copy:32 t0
      %p1#3 = Compare(Equal):32 %r1#4, 7
      -> %p1#3 ? b2 : b1
    b1:
      t1 = &own
      Store:32 Shared[t1] Weak Cta = %r1#4
      t2 = &stack
      Store:32 Local[t2] Weak Cta = 1
      %r2#5 = Add:32 %r1#4, 1
      t3 = Copy:32 %r2#5
      -> b3
    b2 out:
      exit
    b3 return:
      %r1#0 = Copy:32 t3
      t4 = Copy:32 %r1#0
      %r1#7 = Copy:32 t4
      %p1#6 = Compare(Equal):32 %r1#7, 7
      -> %p1#6 ? b5 : b4
    b4:
      t5 = &own
      Store:32 Shared[t5] Weak Cta = %r1#7
      t6 = &stack
      Store:32 Local[t6] Weak Cta = 1
      %r2#8 = Add:32 %r1#7, 1
      t7 = Copy:32 %r2#8
      -> b6
    b5 out:
      exit
    b6 return:
      %r1#0 = Copy:32 t7
      -> %p1#1 ? b7 : b9
    b7:
      in = Copy:32 %r1#0
      out = Add:32 in, in
      -> b8
    b8 return:
      %r2#2 = Copy:32 out
      -> b9
    b9 end of call:
      exit
    ");
}

#[test]
fn parameters_that_are_looked_at_in_other_pieces_are_memory() {
    let function = ".func f(.param .align 8 .b8 given[8])\n\
        { .reg .b64 %rd<2>; ld.param.u64 %rd1, [given]; st.global.u64 [%rd1], 1; ret; }";
    let call = "{ .param .align 8 .b8 p0[8]; st.param.b32 [p0], %r1; st.param.b32 [p0+4], %r2;\n\
        call f, (p0); }\nret;";
    assert_snapshot!(blocks(&module(function, call)), @r"
    b0:
      t0 = &p0
      Store:32 Local[t0] Weak Cta = %r1
      t1 = &p0
      t2 = Add:64 t1, 4
      Store:32 Local[t2] Weak Cta = %r2
      t3 = &p0
      %rd1 = Load:64 Local[t3] Weak Cta
      Store:64 Global[%rd1] Weak Cta = 1
      -> b1
    b1 return:
      exit
    ");
}

#[test]
fn calls_that_are_not_written_out() {
    let functions = ".func again { call again; ret; }\n\
        .extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n\
        .extern .func __assertfail(.param .b64 a);\n.extern .func (.param .b32 r) elsewhere;";
    let calls = "call again;\n\
        { .param .b64 a; .param .b64 b; .param .b32 r; call.uni (r), vprintf, (a, b);\n\
        ld.param.b32 %r1, [r]; }\n\
        { .param .b32 r; call.uni (r), elsewhere; ld.param.b32 %r1, [r]; }\n\
        { .param .b32 r; proto: .callprototype (.param .b32 _) _ (); call (r), %rd1, (), proto; }\n\
        @%p1 call __assertfail, (a);\nret;";
    let text = module(functions, calls).replace("@%p1", ".param .b64 a; @%p1");
    assert_snapshot!(blocks(&text), @r"
    b0:
      Unsupported `call`: `again` is not in the text, or calls itself
      -> b1
    b1 return:
      t0 = Opaque `call vprintf`
      %r1 = Copy:32 t0
      t1 = Unsupported `call.uni`: `elsewhere` is not in the text, or calls itself
      %r1 = Copy:32 t1
      Unsupported `call`: a call through a register
      -> %p1 ? b3 : b2
    b2:
      exit
    b3:
      trap
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
fn constants() {
    let statements = "mov.u32 %r1, 0x1F; mov.u32 %r1, 017; mov.u32 %r1, 0b11U; mov.u32 %r1, -1;\n\
        mov.u64 %rd1, 0xFFFFFFFFFFFFFFFF; mov.f32 %f1, 0F3f800000; mov.f32 %f1, 1.5;\n\
        mov.f64 %d1, -0d3FF0000000000000; mov.u32 %r1, (1 << 4) + 2 * 3; mov.u32 %r1, ~0;\n\
        ld.shared.b32 %r1, [%r2 + 4*8 - 16]; ld.global.b32 %r1, [64]; ret;";
    assert_snapshot!(blocks(&module("", statements)), @r"
    b0:
      %r1 = Copy:32 31
      %r1 = Copy:32 15
      %r1 = Copy:32 3
      %r1 = Copy:32 -1
      %rd1 = Copy:64 18446744073709551615
      %f1 = Copy:32 1065353216
      %f1 = Copy:32 1069547520
      %d1 = Copy:64 13830554455654793216
      %r1 = Copy:32 22
      %r1 = Copy:32 -1
      t0 = Add:32 %r2, 16
      %r1 = Load:32 Shared[t0] Weak Cta
      %r1 = Load:32 Global[64] Weak Cta
      exit
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

/// The reader ends, and does not panic, wherever a text is cut or changed.
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

/// All kernels of the repository are understood.
#[test]
fn kernels_of_the_repository() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ptx/kernels");
    let mut kernels = 0;
    for entry in std::fs::read_dir(folder).expect("the kernels") {
        let path = entry.expect("a file").path();
        if path.extension().is_none_or(|extension| extension != "ptx") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a text");
        let module = read(&text).unwrap_or_else(|errors| panic!("{}: {errors:?}", path.display()));
        for kernel in module.kernels {
            kernels += 1;
            assert_eq!(kernel.faults(), Vec::<String>::new(), "{}", path.display());
            for operation in kernel.blocks.iter().flat_map(|block| &block.operations) {
                if let OperationKind::Unsupported { .. } = operation.kind {
                    panic!("{}: {operation:?}", path.display());
                }
            }
        }
    }
    assert!(kernels >= 80, "{kernels} kernels");
}
