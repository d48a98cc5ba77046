//! PTX as kernels of the IR: each form of each family of instructions, scopes, calls, control flow, source lines, the
//! errors of a damaged text, and the kernels of the repository.

mod control;
mod local_variables;
mod meaning;
mod texts;

use std::fmt::Write;
use std::path::Path;

use insta::assert_snapshot;
use warplock_kernel::ir::Kernel;
use warplock_kernel::ir::OperationKind;
use warplock_kernel::ptx::read;

const REGISTERS: &str = ".reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<8>; .reg .f32 %f<5>; \
    .reg .b64 %rd<4>; .reg .f64 %d<2>; .reg .b128 %q<2>;";

/// A module with one kernel of these statements. `before` stands in front of the kernel.
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

/// In the data, a line with an instruction and a line with its operations alternate.
#[test]
fn forms() {
    let variables = ".shared .align 8 .b64 bar[4]; .shared .b8 buffer[64];";
    let data = include_str!("forms.txt");
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

const FORMS: usize = 203;

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
