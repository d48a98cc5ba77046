//! Tests: small texts, and the kernels that they become.

use super::read;
use crate::ir::Kernel;

fn kernel(text: &str) -> Kernel {
    let module = read(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(module.kernels.len(), 1, "one kernel");
    module.kernels.into_iter().next().unwrap()
}

/// A body as a kernel with the arguments `%n: i32`.
fn body(text: &str) -> Kernel {
    kernel(&format!(
        "gpu.module @m {{\n  cuda.kernel @k(%n: i32) attributes {{nvvm.reqntid = array<i32: 128, 1, 1>}} {{\n{text}\n    return\n  }}\n}}\n"
    ))
}

#[test]
fn loops_carry_registers_that_change_at_once() {
    let kernel = body(
        "    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c0, %b = %c1) -> (i32, i32)  : i32 {
      scf.yield %b, %a : i32, i32
    }
    nvvm.setmaxregister increase 232
    nvvm.barrier id = %r#1 number_of_threads = %r#0",
    );
    insta::assert_snapshot!(kernel, @r##"
    k(n @0+4)
    b0 entry:
      %n = Load:32 Parameter[0] Weak Cta
      %i#1 = Copy:32 0
      %r = Copy:32 0
      %r#1#3 = Copy:32 1
      -> b1
    b1 for_1:
      %r#1#4 = Compare(Less { signed: true }):32 %i#1, %n
      -> %r#1#4 ? b2 : b3
    b2 body_2:
      %r#1#5 = Copy:32 %r#1#3
      %r#1#6 = Copy:32 %r
      %r = Copy:32 %r#1#5
      %r#1#3 = Copy:32 %r#1#6
      %i#7 = Add:32 %i#1, 1
      %i#1 = Copy:32 %i#7
      -> b1
    b3 end_3:
      SetMaxRegisters { count: 232, increase: true }
      BarrierSync { barrier: %r#1#3, threads: Some(%r), aligned: true, reduction: None }
      exit
    "##);
}

#[test]
fn a_loop_that_tests_first_hands_its_values_on() {
    let kernel = body(
        "    %c0 = arith.constant 0 : i32
    %c2 = arith.constant 2 : i32
    %r = scf.while (%a = %c0) : (i32) -> i32 {
      %p = arith.cmpi ult, %a, %n : i32
      scf.condition(%p) %a : i32
    } do {
    ^bb0(%b: i32):
      %next = arith.addi %b, %c2 : i32
      scf.yield %next : i32
    }
    nvvm.barrier id = %r",
    );
    insta::assert_snapshot!(kernel, @r##"
    k(n @0+4)
    b0 entry:
      %n = Load:32 Parameter[0] Weak Cta
      %a = Copy:32 0
      -> b1
    b1 while_1:
      %p = Compare(Less { signed: false }):32 %a, %n
      %r = Copy:32 %a
      -> %p ? b2 : b3
    b2 do_2:
      %next = Add:32 %r, 2
      %a = Copy:32 %next
      -> b1
    b3 end_3:
      BarrierSync { barrier: %r, threads: None, aligned: true, reduction: None }
      exit
    "##);
}

#[test]
fn switches_and_branches_of_blocks() {
    let kernel = body(
        "    %i = arith.index_cast %n : i32 to index
    %x = scf.index_switch %i -> i32
    case 3 {
      %a = arith.constant 7 : i32
      scf.yield %a : i32
    }
    default {
      %b = arith.constant 9 : i32
      scf.yield %b : i32
    }
    nvvm.barrier id = %x",
    );
    insta::assert_snapshot!(kernel, @r##"
    k(n @0+4)
    b0 entry:
      %n = Load:32 Parameter[0] Weak Cta
      %i = Convert { to: 64, signed: true }:32 %n
      %x#3 = Compare(Equal):64 %i, 3
      -> %x#3 ? b2 : b3
    b1 join_1:
      BarrierSync { barrier: %x#2, threads: None, aligned: true, reduction: None }
      exit
    b2 case_2:
      %x#2 = Copy:32 7
      -> b1
    b3 next_3:
      %x#2 = Copy:32 9
      -> b1
    "##);
}

#[test]
fn an_mbarrier_of_a_ring_is_addressed_by_its_stage() {
    let kernel = body(
        "    %c10 = arith.constant 10 : i32
    %smem = cute.memref.alloca() : !cute.memref<i8, smem, align<8>, \"48:1\">
    %iter = cute.get_iter(%smem) : !cute.memref<i8, smem, align<8>, \"48:1\">
    %full = cute.recast_iter(%iter) : !cute.ptr<i8, smem, align<8>> to !cute.ptr<i64, smem>
    %stage = cute.make_int_tuple(%n) : (i32) -> !cute.int_tuple<\"?\">
    %ptr = cute.add_offset(%full, %stage) : (!cute.ptr<i64, smem>, !cute.int_tuple<\"?\">) -> !cute.ptr<i64, smem>
    %p = builtin.unrealized_conversion_cast %ptr : !cute.ptr<i64, smem> to !llvm.ptr<3>
    nvvm.mbarrier.init %p, %c10 : !llvm.ptr<3>, i32
    nvvm.mbarrier.try_wait.parity %p, %n, %c10 : !llvm.ptr<3>, i32, i32
    %w = nvvm.mbarrier.wait.parity %p, %n {kind = #nvvm.mbar_wait<try>} : !llvm.ptr<3>, i32 -> i1
    %s = nvvm.mbarrier.arrive.expect_tx %p, %c10 : !llvm.ptr<3>, i32 -> i64
    %peer = nvvm.mapa %p, %n : !llvm.ptr<3> -> !llvm.ptr<7>
    nvvm.mbarrier.arrive %peer, %c10 : !llvm.ptr<7>",
    );
    insta::assert_snapshot!(kernel, @r##"
    k(n @0+4)
    Shared smem_0: 48 bytes, aligned to 8
    b0 entry:
      %n = Load:32 Parameter[0] Weak Cta
      %smem = &smem_0
      %ptr#2 = Multiply:32 %n, 8
      %ptr#3 = Add:32 %smem, %ptr#2
      MbarrierInit { address: %ptr#3, count: 10 }
      MbarrierWait { address: %ptr#3, token: Parity(%n), order: Acquire, scope: Cta }
      MbarrierTest { result: %w, address: %ptr#3, token: Parity(%n), blocking: true, order: Acquire, scope: Cta }
      MbarrierArrive { address: %ptr#3, count: 1, expect: Some(10), drop: false, no_complete: false, token: Some(%s), cluster: false, order: Release, scope: Cta }
      MapAddress { result: %peer, address: %ptr#3, rank: %n, generic: false }
      MbarrierArrive { address: %peer, count: 10, expect: None, drop: false, no_complete: false, token: None, cluster: true, order: Release, scope: Cta }
      exit
    "##);
}

/// The type of a TMA load, and a copy of one stage by it.
const LOAD: &str = "!load = !cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 131072, tma_format = F16_RN>
!map = !cute.coord_tensor<\"(0,0)\", \"((64,128),1):((1@0,1@1),0)\">
!stage = !cute.memref<f16, smem, align<128>, S<3,4,3>, \"((8192,1),1):((1,0),0)\">
gpu.module @m {
  cuda.kernel @k(%atom: !load, %map: !map) attributes {cutlass_launch_facts = {exact_block_dim = array<i64: 32, 1, 1>, exact_cluster_dim = array<i64: 2, 1, 1>}} {
    %mask = arith.constant 3 : i16
    %b = cute.memref.alloca() : !cute.memref<i64, smem, align<8>, \"1:1\">
    %bar = cute.get_iter(%b) : !cute.memref<i64, smem, align<8>, \"1:1\">
    %to = cute.memref.alloca() : !stage
    %e = cute_nvgpu.atom.make_exec_tma(%atom) : (!load) -> !cute_nvgpu.atom.tma_load<f16, copy_bits = 131072, MODE>
    %f = cute_nvgpu.atom.set_value<tma_bar>(%e, %bar) : (!cute_nvgpu.atom.tma_load<f16, copy_bits = 131072, MODE>, !cute.ptr<i64, smem, align<8>>)
    %g = cute_nvgpu.atom.set_value<mcast_mask>(%f, %mask) : (!cute_nvgpu.atom.tma_load<f16, copy_bits = 131072, MODE>, i16)
    cute.copy(%g, %map, %to) : (!cute_nvgpu.atom.tma_load<f16, copy_bits = 131072, MODE>, !map, !stage)
    return
  }
HOST
}
";

fn copies(text: &str) -> Vec<String> {
    kernel(text)
        .to_string()
        .lines()
        .filter(|line| line.contains("BulkCopy") || line.contains("Elect"))
        .map(|line| line.trim().to_owned())
        .collect()
}

#[test]
fn a_tma_load_has_the_bytes_of_its_atom_and_one_lane_issues_it() {
    let text = LOAD.replace("MODE", "num_cta = 1").replace("HOST", "");
    insta::assert_debug_snapshot!(copies(&text), @r##"
    [
        "Elect { leader: None, elected: Some(%g#3), mask: 4294967295 }",
        "@%g#3 BulkCopy { destination: %to, destination_space: Shared, source: %g#2, source_space: Global, bytes: Bytes(16384), completion: Mbarrier { address: %b, multicast: None, pair: false } }",
    ]
    "##);
}

#[test]
fn a_pair_completes_at_its_first_cta() {
    let text = LOAD.replace("MODE", "num_cta = 2").replace("HOST", "");
    insta::assert_debug_snapshot!(copies(&text), @r##"
    [
        "Elect { leader: None, elected: Some(%g#6), mask: 4294967295 }",
        "@%g#6 BulkCopy { destination: %to, destination_space: Shared, source: %g#5, source_space: Global, bytes: Bytes(16384), completion: Mbarrier { address: %g#4, multicast: None, pair: true } }",
    ]
    "##);
}

#[test]
fn a_multicast_load_brings_a_share_if_the_launch_says_which() {
    let mode = LOAD.replace("MODE", "num_cta = 1, mcast = true");
    let unknown = copies(&mode.replace("HOST", ""));
    assert!(unknown[1].contains("TensorMap"), "{unknown:?}");
    let host = "  func.func @host() {
    %a, %t = cute_nvgpu.atom.make_non_exec_tiled_tma_load() <{kind = <sm_90_multicast> num_multicast = 2}> : () -> (!load, !map)
    %r = cuda.launch_ex @m::@k<> (%a, %t) : (!load, !map) -> i32
    return
  }";
    // Properties need no commas between them.
    let format = host.replace("= 2}", "= 2 tma_format = #cute_nvgpu.tma_data_format<U16>}");
    assert_eq!(
        copies(&mode.replace("HOST", &format)),
        copies(&mode.replace("HOST", host))
    );
    insta::assert_debug_snapshot!(copies(&mode.replace("HOST", host)), @r##"
    [
        "Elect { leader: None, elected: Some(%g#3), mask: 4294967295 }",
        "@%g#3 BulkCopy { destination: %to, destination_space: Shared, source: %g#2, source_space: Global, bytes: Bytes(8192), completion: Mbarrier { address: %b, multicast: Some(3), pair: false } }",
    ]
    "##);
}

#[test]
fn trip_counts_come_from_tiles_of_a_tensor() {
    let kernel = kernel(
        "gpu.module @m {
  cuda.kernel @k(%t: !cute.coord_tensor<\"(0,0,0)\", \"(?,?,?):(1@1,1@0,1@2)\">) attributes {} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %tile = cute.make_tile() : () -> !cute.tile<\"[128:1;64:1]\">
    %all = cute.make_coord() : () -> !cute.coord<\"(_,_,_)\">
    %v = cute.local_tile(%t, %tile, %all) : (!cute.coord_tensor<\"(0,0,0)\", \"(?,?,?):(1@1,1@0,1@2)\">, !cute.tile<\"[128:1;64:1]\">, !cute.coord<\"(_,_,_)\">) -> !cute.coord_tensor<\"(0,0,0)\", \"(128,64,?,?,?):(1@1,1@0,128@1,64@0,1@2)\">
    %sz = cute.size(%v) <{mode = [3]}> : (!cute.coord_tensor<\"(0,0,0)\", \"(128,64,?,?,?):(1@1,1@0,128@1,64@0,1@2)\">) -> !cute.int_tuple<\"?\">
    %e = cute.get_leaves(%sz) : !cute.int_tuple<\"?\">
    %n = cute.get_scalars(%e) : !cute.int_tuple<\"?\">
    nvvm.barrier id = %n
    return
  }
}",
    );
    insta::assert_snapshot!(kernel, @r##"
    k(t.0 @0+4, t.1 @4+4, t.2 @8+4)
    b0 entry:
      %t#0 = Load:32 Parameter[0] Weak Cta
      %t#1 = Load:32 Parameter[4] Weak Cta
      %t#2 = Load:32 Parameter[8] Weak Cta
      %v#3 = Add:32 %t#0, 127
      %v#4 = Divide { signed: true }:32 %v#3, 128
      %v#5 = Add:32 %t#1, 63
      %v#6 = Divide { signed: true }:32 %v#5, 64
      BarrierSync { barrier: %v#6, threads: None, aligned: true, reduction: None }
      exit
    "##);
}

#[test]
fn quotients_by_parameters_and_rounded_ones() {
    let kernel = kernel(
        "gpu.module @m {
  cuda.kernel @k(%n: i32, %d: !cute.fast_divmod_divisor<32>) attributes {} {
    %c32 = arith.constant 32 : i32
    %q, %r = cute.fast_divmod.compute(%n, %d) : i32, !cute.fast_divmod_divisor<32> -> i32
    %w = arith.floordivsi %q, %c32 : i32
    %u = cute_nvgpu.arch.make_warp_uniform(%w) : i32
    nvvm.barrier id = %u number_of_threads = %r
    return
  }
}",
    );
    insta::assert_snapshot!(kernel, @r##"
    k(n @0+4, d @4+4)
    b0 entry:
      %n = Load:32 Parameter[0] Weak Cta
      %d = Load:32 Parameter[4] Weak Cta
      %q#2 = Divide { signed: false }:32 %n, %d
      %q#3 = Remainder { signed: false }:32 %n, %d
      %w = ShiftRight { signed: true }:32 %q#2, 5
      Shuffle { mode: Index, result: %u, valid: None, value: %w, lane: 0, clamp: 31, mask: 4294967295 }
      BarrierSync { barrier: %u, threads: Some(%q#3), aligned: true, reduction: None }
      exit
    "##);
}

#[test]
fn inline_assembly_is_read_as_ptx() {
    let kernel = body(
        "    %r = llvm.inline_asm has_side_effects asm_dialect = att \"{\\0A\\09.reg .b32 t;\\0A\\09add.s32 t, $1, 1;\\0A\\09mov.b32 $0, t;\\0A\\09}\", \"=r,r\" %n : (i32) -> i32
    llvm.inline_asm has_side_effects asm_dialect = att \"bar.sync $0, $1;\", \"r,r\" %r, %n : (i32, i32) -> ()
    llvm.inline_asm has_side_effects asm_dialect = att \"frobnicate.all;\", \"\" : () -> ()",
    );
    insta::assert_snapshot!(kernel, @r##"
    k(n @0+4)
    b0 entry:
      %n = Load:32 Parameter[0] Weak Cta
      wl_operand_1#2 = Copy:32 %n
      t = Add:32 wl_operand_1#2, 1
      wl_operand_0#1 = Copy:32 t
      wl_operand_0#4 = Copy:32 wl_operand_0#1
      wl_operand_1#5 = Copy:32 %n
      BarrierSync { barrier: wl_operand_0#4, threads: Some(wl_operand_1#5), aligned: true, reduction: None }
      Unsupported `frobnicate.all`: an unknown instruction
      exit
    "##);
}

#[test]
fn assembly_takes_data_of_which_nothing_is_known() {
    let kernel = body(
        "    %w = vector.to_elements %v : vector<1xi64>
    nvvm.inline_ptx \"st.async.shared::cluster.mbarrier::complete_tx::bytes.s64 [{$r0}], {$r1}, [{$r2}];\" ro(%n, %w, %n : i32, i64, i32)",
    );
    insta::assert_snapshot!(kernel, @r"
    k(n @0+4)
    b0 entry:
      %n = Load:32 Parameter[0] Weak Cta
      %w = Opaque `data`
      wl_operand_0 = Copy:32 %n
      wl_operand_1 = Copy:64 %w
      wl_operand_2 = Copy:32 %n
      StoreAsync { destination: wl_operand_0, bytes: 8, address: wl_operand_2 }
      exit
    ");
}

#[test]
fn marks_of_a_trace_do_nothing() {
    let kernel = body("    iket.range_push(\"mma\")\n    iket.range_pop\n    iket.unknown");
    insta::assert_snapshot!(kernel, @r"
    k(n @0+4)
    b0 entry:
      %n = Load:32 Parameter[0] Weak Cta
      Unsupported `iket.unknown`: not modelled
      exit
    ");
}

#[test]
fn what_is_not_known_is_refused_and_data_is_not() {
    let kernel = body(
        "    %f = arith.sitofp %n : i32 to f32
    %g = math.exp2 %f fastmath<fast> : f32
    %h = nvvm.quux.sync %n : i32 -> i32
    nvvm.barrier id = %h",
    );
    insta::assert_snapshot!(kernel, @r##"
    k(n @0+4)
    b0 entry:
      %n = Load:32 Parameter[0] Weak Cta
      %f = Opaque pure `arith.sitofp % : !i32 to !f32` %n
      %g = Opaque pure `math.exp2 % fastmath< fast : !f32` %f
      %h = Unsupported `nvvm.quux.sync`: not modelled
      BarrierSync { barrier: %h, threads: None, aligned: true, reduction: None }
      exit
    "##);
}

#[test]
fn source_lines_begin_with_the_innermost() {
    let kernel = kernel(
        "#f = loc(\"a.py\":10:4)
#g = loc(\"b.py\":20:8)
#in = loc(\"wait\"(#f))
gpu.module @m {
  cuda.kernel @k(%n: i32 loc(\"tiles\")) attributes {} {
    nvvm.barrier id = %n loc(callsite(#in at #g))
    nvvm.barrier id = %n loc(fused<\"x\">[#g, #f])
    return loc(unknown)
  }
}",
    );
    assert_eq!(kernel.parameters[0].name, "tiles");
    let operations = &kernel.blocks[0].operations;
    let lines: Vec<Vec<(&str, u32)>> = operations[1..]
        .iter()
        .map(|operation| {
            let lines = operation.location.source.iter();
            lines.map(|line| (line.file.as_str(), line.line)).collect()
        })
        .collect();
    assert_eq!(
        lines,
        [vec![("a.py", 10), ("b.py", 20)], vec![("b.py", 20)]]
    );
    assert_eq!(operations[1].location.line, 6);
}

#[test]
fn errors_say_where() {
    let cases = [
        (
            "module {\n  %a = arith.addi %b, %b : i32\n}\n",
            "2:19: %b is not defined here",
        ),
        ("module {\n", "1:8: '{' without '}'"),
        (
            "module {\n  %a:2 = \"x\"() : () -> ()\n  \"y\"(%a#2) : (i32) -> ()\n}",
            "3:9: %a has 2 values",
        ),
        ("!t = !a.b<c", "1:10: '<' without '>'"),
        ("#l = loc(\"f\":x:1)", "1:14: expected a line or column"),
        ("module { \"abc", "1:10: this string has no end"),
        ("\u{1}", "1:1: no MLIR token begins here"),
    ];
    for (text, expected) in cases {
        assert_eq!(read(text).unwrap_err().to_string(), expected, "{text}");
    }
    let deep = format!("module {}", "(".repeat(100_000));
    let error = read(&deep).unwrap_err();
    assert!(error.message.contains("too deeply"), "{error}");
}

#[test]
fn no_text_makes_it_panic() {
    use rand::RngExt;
    use rand::SeedableRng;
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(7);
    let seeds = [
        LOAD.replace("MODE", "num_cta = 2").replace("HOST", ""),
        "gpu.module @m {\n  cuda.kernel @k(%n: i32) {\n    %r:2 = scf.for %i = %n to %n step %n iter_args(%a = %n, %b = %n) -> (i32, i32) : i32 {\n      %s = cute.slice(%a, %b) : !cute.layout<\"((2,?),3):(1,(2,?{i64}))\">, !cute.coord<\"(_,0)\">\n      scf.yield %b, %a : i32, i32 loc(#l)\n    }\n    return\n  }\n}\n#l = loc(fused[\"a\":1:2, #l])\n".to_owned(),
    ];
    let pieces = [
        "%",
        "(",
        ")",
        "<",
        ">",
        "{",
        "}",
        "\"",
        "?",
        "_",
        "@",
        ":",
        ",",
        "0",
        "-1",
        "9999999999",
        "i32",
        "loc(",
        "#l",
        "!load",
        "scf.yield",
        "\n",
        "=",
    ];
    for seed in &seeds {
        for _ in 0..400 {
            let mut text = seed.clone();
            for _ in 0..random.random_range(1..4) {
                let mut at = random.random_range(0..text.len());
                while !text.is_char_boundary(at) {
                    at -= 1;
                }
                let end = (at + random.random_range(0..6)).min(text.len());
                let piece = pieces[random.random_range(0..pieces.len())];
                if text.is_char_boundary(end) {
                    text.replace_range(at..end, piece);
                }
            }
            let _ = read(&text);
        }
    }
}
