//! Tests of the protocols that are recovered from kernels, as text.

use super::Lift;
use super::lift;
use crate::mlir;
use crate::ptx;
use crate::recover::Obstacle;
use crate::recover::Shape;

const RING: &str = include_str!("../../../tests/mlir/ring.mlir");

fn text(source: &str) -> String {
    let module = mlir::read(source).unwrap_or_else(|error| panic!("{error}"));
    let shape = Shape {
        threads: [64, 1, 1],
        cluster: [1; 3],
    };
    match lift(&module.kernels[0], shape, || false) {
        Ok(recovered) => {
            assert!(
                recovered.validation.compared.len() >= 6,
                "{:?}",
                recovered.validation
            );
            assert!(recovered.exact);
            recovered.text
        }
        Err(obstacle) => format!("line {}: {}", obstacle.location.line, obstacle.reason),
    }
}

#[test]
fn a_ring_over_tiles_is_a_count_of_rounds() {
    insta::assert_snapshot!(text(RING), @r"
    //! Recovered from the kernel `ring`.
    //! 64 x 1 x 1 threads per CTA.
    //! Checked against the kernel at 10 launches, 4928 events.
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    protocol ring

    param tiles in 0..=1073741823
    param rounds in 0..=1073741823

    mbarrier smem_0_0[3] { arrivals: 1 }
    mbarrier smem_0_24[3] { arrivals: 1 }
    named cta_bar[16]

    role warp0 warp {
        sync cta_bar[0] 64  // line 42
        var rounds0 = 0
        for i in 0..tiles {  // line 46
            for j in 0..rounds {  // line 47
                wait smem_0_24[rounds0 % 3] (((rounds0 / 3) + 1) % 2)  // line 51
                arrive smem_0_0[rounds0 % 3]  // line 56
                rounds0 = rounds0 + 1
            }
        }
    }

    role warp1 warp {
        sync cta_bar[0] 64  // line 42
        var rounds0 = 0
        for i in 0..tiles {  // line 72
            for j in 0..rounds {  // line 73
                wait smem_0_0[rounds0 % 3] ((rounds0 / 3) % 2)  // line 77
                arrive smem_0_24[rounds0 % 3]  // line 80
                rounds0 = rounds0 + 1
            }
        }
    }
    ");
}

#[test]
fn what_is_changed_in_the_kernel_is_changed_in_its_protocol() {
    let right = text(RING);
    let produces = RING.find("scf.if %produces").unwrap();
    for (from, to, says) in [
        (
            "%h0 = %c1",
            "%h0 = %c0",
            "wait smem_0_24[rounds0 % 3] ((rounds0 / 3) % 2)",
        ),
        (
            "nvvm.mbarrier.arrive %fp, %c1",
            "nvvm.mbarrier.arrive %fp, %c3",
            "arrive smem_0_0[rounds0 % 3] 3",
        ),
        (
            "%c0 to %rounds",
            "%c1 to %rounds",
            "for j in 0..max(rounds - 1, 0)",
        ),
        (
            "%s1 = arith.addi %s, %c1",
            "%s1 = arith.addi %s, %c0",
            "which mbarrier",
        ),
    ] {
        let (head, body) = RING.split_at(produces);
        let changed = format!("{head}{}", body.replacen(from, to, 1));
        assert_ne!(changed, RING, "{from} is there");
        let found = text(&changed);
        assert_ne!(found, right, "{to}");
        assert!(
            found.contains(says) || says == "which mbarrier",
            "{to}:\n{found}"
        );
    }
}

#[test]
fn a_loop_that_waits_for_memory_is_refused() {
    let kernel = "gpu.module @m {
  cuda.kernel @k(%p: !llvm.ptr<1>) attributes {nvvm.reqntid = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : i32
    scf.while : () -> () {
      %v = llvm.load %p : !llvm.ptr<1> -> i32
      %again = arith.cmpi eq, %v, %c0 : i32
      scf.condition(%again)
    } do {
      scf.yield
    }
    nvvm.barrier
    return
  }
}
";
    assert_eq!(
        text(kernel),
        "line 5: a loop goes on until memory changes, which is not followed, or for ever"
    );
}

/// Two warps of each CTA of a cluster, with an mbarrier of 1 arrival in `memory`.
pub(super) fn entry(cluster: u32, code: &str) -> Result<Lift, String> {
    first_of(&source(code), cluster)
}

/// The text of [`entry`].
pub(super) fn source(code: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u32 n, .param .u64 p)\n\
         .reqntid 64, 1, 1\n{{\n.shared .align 8 .b64 memory;\n.reg .pred %p<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<8>;\n\
         mov.u32 %r1, %tid.x;\nmov.u32 %r2, memory;\nsetp.eq.u32 %p1, %r1, 0;\nld.param.u64 %rd1, [p];\n\
         ld.param.u32 %r3, [n];\n{code}\nret;\n}}\n"
    )
}

/// The protocol recovered from the first kernel of a text, after it was compared with the kernel at several launches;
/// or why nothing is recovered.
pub(super) fn compared(source: &str) -> String {
    match lifted(source) {
        Ok(recovered) => {
            assert!(recovered.validation.compared.len() >= 6);
            recovered.text
        }
        Err(obstacle) => format!("line {}: {}", obstacle.location.line, obstacle.reason),
    }
}

/// The first kernel of a PTX or MLIR text, lifted for one CTA of two warps.
pub(super) fn lifted(source: &str) -> Result<Lift, Obstacle> {
    let kernels = if source.starts_with(".version") {
        let module = ptx::read(source).unwrap_or_else(|errors| panic!("{errors:?}"));
        module.kernels
    } else {
        let module = mlir::read(source).unwrap_or_else(|error| panic!("{error}"));
        module.kernels
    };
    let shape = Shape {
        threads: [64, 1, 1],
        cluster: [1; 3],
    };
    lift(&kernels[0], shape, || false)
}

/// The first kernel of a text, lifted for clusters of CTAs with two warps each.
fn first_of(text: &str, cluster: u32) -> Result<Lift, String> {
    first_of_threads(text, cluster, 64)
}

pub(super) fn first_of_threads(text: &str, cluster: u32, threads: u32) -> Result<Lift, String> {
    let module = ptx::read(text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let shape = Shape {
        threads: [threads, 1, 1],
        cluster: [cluster, 1, 1],
    };
    lift(&module.kernels[0], shape, || false).map_err(|obstacle| obstacle.reason)
}

const INIT: &str = "@%p1 mbarrier.init.shared.b64 [%r2], 1;\n";
const ARRIVE: &str = "@%p1 mbarrier.arrive.shared.b64 _, [%r2];\n";

#[test]
fn what_lanes_read_from_memory_is_not_alike() {
    // An exchange between lanes leaves a loaded value unchanged only if all lanes loaded the same value.
    let exchanged = format!(
        "{INIT}bar.sync 0;\nld.volatile.global.u32 %r4, [%rd1];\nshfl.sync.idx.b32 %r5, %r4, 0, 31, -1;\n\
         setp.eq.u32 %p2, %r4, %r5;\n@%p2 bra done;\n{ARRIVE}done:"
    );
    let both = "ld.volatile.global.u32 %r4, [%rd1];\nsetp.eq.u32 %p2, %r4, 0;\n@%p2 bra other;\nbar.sync 0;\nbra done;\n\
                other:\nbar.sync 0;\ndone:";
    for code in [exchanged.as_str(), both] {
        let reason = entry(1, code).unwrap_err();
        assert!(reason.contains("memory"), "{reason}");
    }
}

#[test]
fn mbarriers_are_declared_where_they_are_ready_before_use() {
    let cluster = "barrier.cluster.arrive;\nbarrier.cluster.wait;\n";
    let peer = "mov.u32 %r6, 1;\nmapa.shared::cluster.u32 %r7, %r2, %r6;\n\
                @%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r7];\n";
    let late = format!("barrier.cluster.arrive;\n{INIT}barrier.cluster.wait;\n{ARRIVE}");
    for (ctas, code, declared) in [
        (1, format!("{INIT}bar.sync 0;\n{ARRIVE}"), true),
        (1, format!("{INIT}bar.sync 0, 32;\n{ARRIVE}"), false),
        (1, format!("bar.sync 0;\n{INIT}{ARRIVE}"), false),
        (1, format!("bar.sync 0;\n{INIT}bar.sync 0;\n{ARRIVE}"), true),
        (
            1,
            format!("bar.sync 0;\n{ARRIVE}{INIT}bar.sync 0;\n{ARRIVE}"),
            false,
        ),
        (2, format!("{INIT}{cluster}{peer}"), true),
        (2, format!("{INIT}bar.sync 0;\n{peer}"), false),
        (2, late, false),
    ] {
        let found = entry(ctas, &code).unwrap().text;
        assert_eq!(
            !found.contains("init: explicit"),
            declared,
            "{code}\n{found}"
        );
    }
}

#[test]
fn a_test_that_spares_a_later_wait_is_an_assumption() {
    let test = "mbarrier.test_wait.parity.shared.b64 %p2, [%r2], 0;\n";
    let wait = "@%p2 bra done;\nagain:\nmbarrier.try_wait.parity.shared.b64 %p3, [%r2], 0;\n@!%p3 bra again;\ndone:";
    let taken = |between: &str| {
        let found = entry(
            1,
            &format!("{INIT}bar.sync 0;\n{ARRIVE}{test}{between}{wait}"),
        )
        .unwrap();
        assert!(found.text.contains("wait memory_bar 0"), "{}", found.text);
        found
            .text
            .contains("if waits at an mbarrier may be for phases that are not consecutive")
    };
    assert!(!taken(""));
    assert!(taken("bar.sync 0;\n"));
}

#[test]
fn loops_that_test_two_mbarriers_are_refused() {
    let code = format!(
        "{INIT}bar.sync 0;\nagain:\nmbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0;\n@%p2 bra done;\n\
         mbarrier.try_wait.parity.shared.b64 %p3, [%r2], 1;\n@!%p3 bra again;\ndone:"
    );
    assert_eq!(
        entry(1, &code).unwrap_err(),
        "a loop tests several mbarriers"
    );
}

#[test]
fn lanes_that_initialise_one_mbarrier_at_once_initialise_it_once() {
    let all = |condition: &str| {
        let code = format!(
            "setp.lt.u32 %p2, %r1, {condition};\n@%p2 mbarrier.init.shared.b64 [%r2], 1;\nbar.sync 0;"
        );
        entry(1, &code).unwrap().text
    };
    let taken = "Assumed: lanes of a warp that initialise one mbarrier at once initialise it once";
    assert!(all("32").contains(taken));
    assert!(!all("1").contains(taken));
}

#[test]
fn warps_that_end_early_make_no_counterexample() {
    assert!(entry(1, "bar.sync 0;").unwrap().exact);
    // The second warp ends early. The hardware does not wait for it, so the protocol lets it come to the barrier as
    // well.
    let ended = "setp.ge.u32 %p2, %r1, 32;\n@%p2 ret;\nbar.sync 0;";
    let found = entry(1, ended).unwrap();
    assert!(found.exact, "{}", found.text);
    assert_eq!(found.text.matches("sync cta_bar[0] 64").count(), 2);
    assert!(
        found
            .text
            .contains("Assumed: a barrier of all threads does not wait for warps that have ended")
    );
    // If a condition on the launch holds, all lanes end, and one of them arrives first.
    let below = format!(
        "{INIT}bar.sync 0;\nsetp.eq.u32 %p2, %r3, 7;\n@!%p2 bra rest;\n@!%p1 bra out;\n{ARRIVE}ret;\nout:\nret;\nrest:\nbar.sync 0;"
    );
    let found = entry(1, &below).unwrap();
    assert!(
        found
            .text
            .contains("arrive memory_bar  // line 21\n    } else {\n"),
        "{}",
        found.text
    );
    assert!(!found.validation.compared.is_empty());
}

#[test]
fn lanes_that_ask_for_a_size_and_lanes_that_do_not() {
    // All lanes but the first skip the arrival. The first one skips it, too, if `n` is small.
    let asks = format!(
        "{INIT}bar.sync 0;\nsetp.ne.u32 %p2, %r1, 0;\nsetp.lt.s32 %p3, %r3, 64;\nor.pred %p4, %p2, %p3;\n@%p4 bra skip;\n\
         mbarrier.arrive.shared.b64 _, [%r2];\nskip:\nbar.sync 0;"
    );
    let found = entry(1, &asks).unwrap();
    assert!(
        found.text.contains("if n >= 64 {") && found.text.matches("arrive memory").count() == 1,
        "{}",
        found.text
    );
    // Here the other lanes end, and the first one ends, too, if `n` is small. No code follows the point where the
    // lanes reconverge.
    let ends = format!(
        "{INIT}bar.sync 0;\nsetp.ne.u32 %p2, %r1, 0;\nsetp.lt.s32 %p3, %r3, 64;\nor.pred %p4, %p2, %p3;\n@%p4 bra out;\n\
         mbarrier.arrive.shared.b64 _, [%r2];\nbar.sync 1, 64;\nout:"
    );
    let found = entry(1, &ends).unwrap();
    assert!(
        found.text.contains("if 63 >= n {  // line 21\n    } else {\n        arrive memory_bar  // line 22\n        sync cta_bar[1] 64"),
        "{}",
        found.text
    );
}

#[test]
fn a_mask_of_the_pair_keeps_the_place_in_memory() {
    let with = |mask: &str| {
        let code = format!(
            "{INIT}mov.u32 %r4, %cluster_ctarank;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\nand.b32 %r5, %r2, {mask};\n\
             @%p1 mbarrier.arrive.shared::cluster.b64 _, [%r5];\nbarrier.cluster.arrive;\nbarrier.cluster.wait;"
        );
        entry(2, &code)
    };
    // Both CTAs of the pair arrive at the mbarrier of the first.
    for mask in ["0xfeffffff", "0xfefffff8"] {
        let text = with(mask).unwrap().text;
        assert_eq!(text.matches("arrive memory").count(), 2, "{mask}: {text}");
        assert!(!text.contains("arrive memory_cta1"), "{mask}: {text}");
    }
    // The variable is aligned to 8 bytes only, so bit 3 of its address may be set, and this mask clears the bit.
    assert!(with("0xfefffff0").is_err());
}

#[test]
fn a_parity_that_is_toggled_once_a_turn_is_counted_in_rounds() {
    let found = first_of(include_str!("../../../tests/ptx/toggled.ptx"), 1).unwrap();
    assert!(found.exact && !found.validation.compared.is_empty());
    let text: Vec<&str> = found
        .text
        .lines()
        .map(|line| line.trim().split("  //").next().unwrap())
        .collect();
    for line in [
        "for i in 0..param_1_over_64 {",
        "wait empty_bar[i % 7] (((i / 7) + 1) % 2)",
        "wait full_bar[i % 7] ((i / 7) % 2)",
        "arrive empty_bar[i % 7]",
    ] {
        assert!(text.contains(&line), "{line} is not in {}", found.text);
    }
    // No variable and no branch is left.
    assert!(
        !text
            .iter()
            .any(|line| line.starts_with("var") || line.starts_with("if"))
    );
}

#[test]
fn a_ring_that_is_written_out_twice_is_counted_in_rounds() {
    let recovered = first_of(include_str!("../../../tests/ptx/unrolled.ptx"), 1).unwrap();
    assert!(recovered.exact);
    assert_eq!(recovered.validation.events, 324);
    let role = recovered.text.split("role warp1").next().unwrap();
    let role = &role[role.find("role warp0").unwrap()..];
    insta::assert_snapshot!(role, @"
    role warp0 warp {
        sync cta_bar[0] 64  // line 24
        for i in 0..n {  // line 46
            wait empty_bar[i % 3] (((i / 3) + 1) % 2)  // line 48
            arrive full_bar[i % 3]  // line 52
        }
    }
    ");
}

/// A tile scheduler that hands out one tile. The loop has at most one iteration, so the values that it carries are
/// those that it begins with, although the next tile cannot be written as a formula.
#[test]
fn a_loop_over_one_tile_is_none() {
    let kernel = "gpu.module @m {
  cuda.kernel @k(%n: i32, %m: i32) attributes {nvvm.reqntid = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %no = arith.constant false
    %any = arith.cmpi slt, %c0, %n : i32
    %r:2 = scf.while (%tile = %m, %valid = %any) : (i32, i1) -> (i32, i1) {
      scf.condition(%valid) %tile, %valid : i32, i1
    } do {
    ^bb0(%t: i32, %v: i1):
      scf.for %i = %c0 to %t step %c1  : i32 {
        nvvm.barrier
      }
      %next = arith.muli %t, %t : i32
      scf.yield %next, MORE : i32, i1
    }
    nvvm.barrier id = %c1
    return
  }
}
";
    insta::assert_snapshot!(text(&kernel.replace("MORE", "%no")), @r"
    //! Recovered from the kernel `k`.
    //! 64 x 1 x 1 threads per CTA.
    //! Checked against the kernel at 10 launches, 146 events.
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    protocol k

    param n in 0..=1073741823
    param m in 0..=1073741823

    named cta_bar[16]

    role warps0_1[w in 0..2] warp {
        if n >= 1 {  // line 8
            for i in 0..m {  // line 11
                sync cta_bar[0] 64  // line 12
            }
        }
        sync cta_bar[1] 64  // line 17
    }
    ");
    assert!(text(&kernel.replace("MORE", "%v")).contains("how often a loop runs"));
}

#[test]
fn a_phase_that_begins_to_flip_in_the_second_round() {
    let kernel = "gpu.module @m {
  cuda.kernel @k(%n: i32) attributes {nvvm.reqntid = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %ticks = arith.constant 10000000 : i32
    %smem = cute.memref.alloca() : !cute.memref<i64, smem, align<8>, \"1:1\">
    %at = cute.get_iter(%smem) : !cute.memref<i64, smem, align<8>, \"1:1\">
    %p = builtin.unrealized_conversion_cast %at : !cute.ptr<i64, smem, align<8>> to !llvm.ptr<3>
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %first = arith.cmpi eq, %tid, %c0 : i32
    scf.if %first {
      nvvm.mbarrier.init %p, %c1 : !llvm.ptr<3>, i32
    }
    nvvm.barrier
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%h = %c0) -> (i32)  : i32 {
      %late = arith.cmpi sgt, %i, %c0 : i32
      %x = arith.xori %h, %c1 : i32
      %g = arith.select %late, %x, %h : i32
      scf.if %first {
        %u = nvvm.mbarrier.arrive %p, %c1 : !llvm.ptr<3> -> i64
      }
      nvvm.mbarrier.try_wait.parity %p, %g, %ticks : !llvm.ptr<3>, i32, i32
      scf.yield %g : i32
    }
    return
  }
}
";
    let found = text(kernel);
    let role = found.split("role warp1").nth(1);
    insta::assert_snapshot!(role.unwrap_or(&found), @"
     warp {
        sync cta_bar[0] 64  // line 14
        var rounds0 = 0
        for i in 0..n {  // line 15
            if i >= 1 {  // line 22
                wait smem_0_bar ((rounds0 + 1) % 2)  // line 22
                rounds0 = rounds0 + 1
            } else {
                wait smem_0_bar (rounds0 % 2)  // line 22
            }
        }
    }
    ");
}

/// The ring of the only tile is used again after the loop, where the count of its rounds must still be known.
#[test]
fn a_count_of_rounds_is_declared_before_what_goes_on_with_it() {
    let kernel = "gpu.module @m {
  cuda.kernel @k(%n: i32, %m: i32) attributes {nvvm.reqntid = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %no = arith.constant false
    %ticks = arith.constant 10000000 : i32
    %smem = cute.memref.alloca() : !cute.memref<i64, smem, align<8>, \"1:1\">
    %at = cute.get_iter(%smem) : !cute.memref<i64, smem, align<8>, \"1:1\">
    %p = builtin.unrealized_conversion_cast %at : !cute.ptr<i64, smem, align<8>> to !llvm.ptr<3>
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %first = arith.cmpi eq, %tid, %c0 : i32
    scf.if %first {
      nvvm.mbarrier.init %p, %c1 : !llvm.ptr<3>, i32
    }
    nvvm.barrier
    %any = arith.cmpi slt, %c0, %n : i32
    %r:2 = scf.while (%h = %c0, %valid = %any) : (i32, i1) -> (i32, i1) {
      scf.condition(%valid) %h, %valid : i32, i1
    } do {
    ^bb0(%h: i32, %v: i1):
      %e = scf.for %i = %c0 to %m step %c1 iter_args(%g = %h) -> (i32)  : i32 {
        %x = scf.for %k = %c0 to %n step %c1 iter_args(%f = %g) -> (i32)  : i32 {
          nvvm.mbarrier.try_wait.parity %p, %f, %ticks : !llvm.ptr<3>, i32, i32
          %y = arith.xori %f, %c1 : i32
          scf.yield %y : i32
        }
        scf.yield %x : i32
      }
      scf.yield %e, %no : i32, i1
    }
    nvvm.mbarrier.try_wait.parity %p, %r#0, %ticks : !llvm.ptr<3>, i32, i32
    return
  }
}
";
    let found = text(kernel);
    let role = found.split("role ").nth(1);
    insta::assert_snapshot!(role.unwrap_or(&found), @"
    warp0 warp {
        sync cta_bar[0] 64  // line 15
        var rounds0 = 0
        if n >= 1 {  // line 18
            rounds0 = 0
            for i in 0..m {  // line 21
                for j in 0..n {  // line 22
                    wait smem_0_bar (rounds0 % 2)  // line 23
                    rounds0 = rounds0 + 1
                }
            }
            wait smem_0_bar (rounds0 % 2)  // line 31
        } else {
            wait smem_0_bar 0  // line 31
        }
    }
    ");
}
