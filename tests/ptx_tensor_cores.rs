//! What the tensor cores read and write, from PTX alone: operands of `wgmma` and `tcgen05` by their descriptors,
//! accumulators in tensor memory, and multiplications that are still in flight when a stage is given back.

mod cli_support;

use std::fs;
use std::path::Path;

use cli_support::Folder;

fn kernel(name: &str) -> Folder {
    let folder = Folder::new();
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/ptx/kernels")
        .join(name);
    folder.file(name, fs::read(path).unwrap());
    folder
}

fn check(name: &str, entry: &str, property: &str) -> String {
    let arguments = [
        "check",
        "-q",
        "--property",
        property,
        name,
        "--entry",
        entry,
    ];
    kernel(name).run(&arguments)
}

#[test]
fn a_multiplication_in_flight() {
    let name = "flight_gemm.ptx";
    insta::assert_snapshot!(check(name, "flight_gemm", "deadlock,race"), @"");
    // One thread gives a stage back for its warpgroup: it knows how far the other three warps are.
    insta::assert_snapshot!(check(name, "flight_gemm_by_group", "deadlock,race"), @"");
}

#[test]
fn stages_given_back_too_early() {
    let name = "flight_gemm.ptx";
    insta::assert_snapshot!(check(name, "flight_gemm_releases_early", "race"), @"");
    insta::assert_snapshot!(check(name, "flight_gemm_waits_too_little", "race"), @"");
    insta::assert_snapshot!(check(name, "flight_gemm_by_group_releases_early", "race"), @"");
}

#[test]
fn accumulators_in_tensor_memory() {
    let name = "tmem_gemm.ptx";
    insta::assert_snapshot!(check(name, "tmem_gemm", "deadlock,race"), @"");
    insta::assert_snapshot!(check(name, "tmem_gemm_reads_before_done", "race"), @"");
    insta::assert_snapshot!(check(name, "tmem_gemm_overwrites", "race"), @"");
    insta::assert_snapshot!(check(name, "tmem_gemm_releases_unread", "race"), @"");
}

#[test]
fn tiles_stored_through_shared_memory() {
    let name = "tmem_gemm.ptx";
    insta::assert_snapshot!(check(name, "tmem_gemm_stores", "race"), @"");
    insta::assert_snapshot!(check(name, "tmem_gemm_stores_reused", "race"), @"");
}

/// Two products, the first operand of the second in tensor memory.
#[test]
fn attention() {
    let name = "attention.ptx";
    insta::assert_snapshot!(check(name, "attention_forward", "deadlock,race"), @"");
    insta::assert_snapshot!(check(name, "attention_multiplies_early", "race"), @"");
    insta::assert_snapshot!(check(name, "attention_reads_early", "race"), @"");
    insta::assert_snapshot!(check(name, "attention_scores_overwritten", "race"), @"");
    insta::assert_snapshot!(check(name, "attention_store_not_waited", "race"), @"");
}

/// On Hopper, with two warpgroups that take turns.
#[test]
fn attention_in_turns() {
    insta::assert_snapshot!(check("tensor_gemm.ptx", "turns", "race"), @"");
}

/// What `lift --data` prints is what is decided; it says what is taken for granted.
#[test]
fn the_protocol_of_a_gemm() {
    let folder = kernel("tmem_gemm.ptx");
    let arguments = [
        "lift",
        "--data",
        "tmem_gemm.ptx",
        "--entry",
        "tmem_gemm_stores",
    ];
    insta::assert_snapshot!(folder.run(&arguments), @"");
    for (file, entry, property) in [
        ("tmem_gemm.ptx", "tmem_gemm", "race"),
        ("tmem_gemm.ptx", "tmem_gemm_releases_unread", "race"),
        ("flight_gemm.ptx", "flight_gemm_by_group", "deadlock"),
    ] {
        let folder = kernel(file);
        let data: &[&str] = if property == "race" { &["--data"] } else { &[] };
        let lift = ["lift", file, "--entry", entry, "-o", "lifted.wlk"];
        folder.run(&[&lift[..], data].concat());
        let second = folder.run(&["check", "-q", "--property", property, "lifted.wlk"]);
        let first = check(file, entry, property);
        assert_eq!(first.replace(file, "lifted.wlk"), second, "{entry}");
    }
}

/// One warp that multiplies what its descriptor says; `%rd1` is made by these instructions.
fn multiplies(align: u32, code: &str) -> String {
    let text = format!(
        ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry kernel(.param .u32 n)\n\
         .reqntid 128, 1, 1\n{{\n.reg .pred %p<16>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<16>;\n.reg .f32 %f<8>;\n\
         .shared .align {align} .b8 tile[65536];\nmov.u32 %r1, %tid.x;\nld.param.u32 %r9, [n];\n\
         mov.u32 %r2, tile;\nshr.u32 %r3, %r2, 4;\ncvt.u64.u32 %rd2, %r3;\n{code}\n\
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f0, %f1, %f2, %f3}}, %rd1, %rd1, 1, 1, 1, 0, 0;\n\
         wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nret;\n}}\n"
    );
    let folder = Folder::new();
    folder.file("kernel.ptx", text);
    folder.run(&["check", "-q", "--property", "race", "kernel.ptx"])
}

/// A descriptor that is not understood is named, with the register and the reason.
#[test]
fn descriptors_that_are_not_followed() {
    let swizzled = "or.b64 %rd1, %rd2, 4611686293305294848;";
    insta::assert_snapshot!(multiplies(1024, swizzled), @"");
    insta::assert_snapshot!(multiplies(128, swizzled), @"");
    insta::assert_snapshot!(multiplies(1024, "or.b64 %rd1, %rd2, 4611756662049472512;"), @"");
    insta::assert_snapshot!(multiplies(1024, "cvt.u64.u32 %rd3, %r9;\nadd.u64 %rd1, %rd2, %rd3;"), @"");
}
