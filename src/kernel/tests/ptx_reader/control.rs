//! Scopes, branches, ends and calls.

use insta::assert_snapshot;

use crate::blocks;
use crate::kernel;
use crate::module;

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
    // Before the declaration in an inner scope, a name means the variable of the outer scope.
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
    // A shared variable of a function exists once. A local variable exists once for each call.
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
      stack+0#19 = Copy:32 1
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
      stack+0#20 = Copy:32 1
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
