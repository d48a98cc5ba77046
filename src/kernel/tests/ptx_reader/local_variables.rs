//! Local variables that become registers, and those that stay in memory.

use insta::assert_snapshot;

use crate::blocks;
use crate::module;

fn of(statements: &str) -> String {
    let variables = ".local .align 8 .b8 own[16]; .shared .align 8 .b64 bar[4]; .reg .b64 %SP;\n";
    blocks(&module("", &format!("{variables}{statements}\nret;")))
}

#[test]
fn pieces_at_fixed_distances_become_registers() {
    // Accesses under a guard, with a sign, as parts of a vector, and through a generic address.
    assert_snapshot!(of("mov.u64 %rd0, own; cvta.local.u64 %SP, %rd0; add.u64 %rd1, %SP, 8;\n\
        st.local.v2.u32 [%rd0], {%r0, 7};\n\
        @%p1 st.u16 [%rd1+2], %h1;\n\
        cvta.to.local.u64 %rd2, %rd1; st.local.s16 [%rd2+0], %h2;\n\
        ld.local.s16 %r3, [own+8]; @!%p2 ld.local.v2.u32 {%r1, %r2}, [%rd0];"), @r"
        b0:
          %rd0 = &own
          ConvertAddress { result: %SP, address: %rd0, space: Local, to_generic: true }
          %rd1 = Add:64 %SP, 8
          own+0 = Copy:32 %r0
          own+4 = Copy:32 7
          t0 = Add:64 %rd1, 2
          @%p1 own+10 = Copy:16 %h1
          ConvertAddress { result: %rd2, address: %rd1, space: Local, to_generic: false }
          own+8 = Copy:16 %h2
          t1 = &own
          t2 = Add:64 t1, 8
          %r3 = Convert { to: 32, signed: true }:16 own+8
          @!%p2 %r1 = Copy:32 own+0
          @!%p2 %r2 = Copy:32 own+4
          exit
        ");
}

/// Whether a kernel that otherwise keeps a number in a local variable still accesses memory.
fn stays(statement: &str) -> bool {
    let shown = of(&format!(
        "mov.u64 %rd0, own; st.local.u32 [%rd0+4], 1;\n{statement}\nld.local.u32 %r1, [%rd0+4];"
    ));
    shown.contains("%r1 = Load:32 Local")
}

#[test]
fn variables_whose_address_is_not_followed_stay_in_memory() {
    assert!(!stays(""));
    assert!(!stays("st.local.u32 [%rd0+8], 2;"));
    assert!(!stays("mov.u64 %rd1, %rd0; st.local.u32 [%rd1+4], 2;"));
    for statement in [
        // A distance that is not fixed.
        "add.u64 %rd1, %rd0, %rd2; st.local.u32 [%rd1], 2;",
        // One of two distances.
        "add.u64 %rd1, %rd0, 4; @%p1 add.u64 %rd1, %rd0, 8; st.local.u32 [%rd1], 2;",
        "add.u64 %rd2, %rd0, 4; selp.b64 %rd1, %rd0, %rd2, %p1; st.local.u32 [%rd1], 2;",
        // The address goes through memory.
        "st.shared.u64 [bar], %rd0; ld.shared.u64 %rd1, [bar]; st.local.u32 [%rd1+4], 2;",
        "st.local.u64 [%rd0+8], %rd0; ld.local.u64 %rd1, [%rd0+8]; st.local.u32 [%rd1+4], 2;",
        "mov.u64 %rd1, bar; st.u64 [%rd1], %rd0; ld.u64 %rd1, [%rd1]; st.local.u32 [%rd1+4], 2;",
        // Pieces that overlap, of two widths, or beyond the end.
        "st.local.u64 [%rd0], 2;",
        "st.local.u8 [%rd0+4], 2;",
        "st.local.u32 [%rd0+14], 2;",
        "st.local.u32 [%rd0+-4], 2;",
        // Other instructions.
        "atom.add.u32 %r2, [%rd0+4], 1;",
        "xor.b64 %rd1, %rd0, 8; st.local.u32 [%rd1], 2;",
        "add.u64 %rd1, %rd1, 4; mov.u64 %rd1, %rd0; st.local.u32 [%rd1], 2;",
    ] {
        assert!(stays(statement), "{statement}");
    }
}
