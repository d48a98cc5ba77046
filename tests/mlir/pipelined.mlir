// One warp that loads into a ring of three stages and uses them; the compiler issues the loads two rounds ahead.
!load = !cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 131072, tma_format = F16_RN>
!exec = !cute_nvgpu.atom.tma_load<f16, copy_bits = 131072, mode = tiled, num_cta = 1>
!map = !cute.coord_tensor<"(0,0)", "((64,128),1):((1@0,1@1),0)">
!stage = !cute.memref<f16, smem, align<128>, S<3,4,3>, "((8192,1),1):((1,0),0)">
gpu.module @kernels {
  cuda.kernel @pipelined(%atom: !load, %map: !map, %rounds: i32) attributes {nvvm.reqntid = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c3 = arith.constant 3 : i32
    %bytes = arith.constant 16384 : i32
    %ticks = arith.constant 10000000 : i32
    %to = cute.memref.alloca() : !stage
    %smem = cute.memref.alloca() : !cute.memref<i64, smem, align<8>, "6:1">
    %full = cute.get_iter(%smem) : !cute.memref<i64, smem, align<8>, "6:1">
    %three = cute.make_int_tuple() : () -> !cute.int_tuple<"3">
    %empty = cute.add_offset(%full, %three) : (!cute.ptr<i64, smem, align<8>>, !cute.int_tuple<"3">) -> !cute.ptr<i64, smem>
    %leader = nvvm.elect.sync -> i1
    scf.if %leader {
      scf.for %i = %c0 to %c3 step %c1  : i32 {
        %at = cute.make_int_tuple(%i) : (i32) -> !cute.int_tuple<"?">
        %f = cute.add_offset(%full, %at) : (!cute.ptr<i64, smem, align<8>>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
        %fp = builtin.unrealized_conversion_cast %f : !cute.ptr<i64, smem> to !llvm.ptr<3>
        nvvm.mbarrier.init %fp, %c1 : !llvm.ptr<3>, i32
        %e = cute.add_offset(%empty, %at) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
        %ep = builtin.unrealized_conversion_cast %e : !cute.ptr<i64, smem> to !llvm.ptr<3>
        nvvm.mbarrier.init %ep, %c1 : !llvm.ptr<3>, i32
      }
    }
    nvvm.barrier
    %r:4 = scf.for %k = %c0 to %rounds step %c1 iter_args(%s = %c0, %h = %c1, %t = %c0, %g = %c0) -> (i32, i32, i32, i32)  : i32 {
      %at = cute.make_int_tuple(%s) : (i32) -> !cute.int_tuple<"?">
      %e = cute.add_offset(%empty, %at) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
      %ep = builtin.unrealized_conversion_cast %e : !cute.ptr<i64, smem> to !llvm.ptr<3>
      nvvm.mbarrier.try_wait.parity %ep, %h, %ticks : !llvm.ptr<3>, i32, i32
      %f = cute.add_offset(%full, %at) : (!cute.ptr<i64, smem, align<8>>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
      %one = nvvm.elect.sync -> i1
      scf.if %one {
        %fp = builtin.unrealized_conversion_cast %f : !cute.ptr<i64, smem> to !llvm.ptr<3>
        %u = nvvm.mbarrier.arrive.expect_tx %fp, %bytes : !llvm.ptr<3>, i32 -> i64
      }
      %s1 = arith.addi %s, %c1 : i32
      %wraps = arith.cmpi eq, %s1, %c3 : i32
      %s2 = arith.select %wraps, %c0, %s1 : i32
      %x = arith.xori %h, %c1 : i32
      %h2 = arith.select %wraps, %x, %h : i32
      %exec = cute_nvgpu.atom.make_exec_tma(%atom) : (!load) -> !exec
      %told = cute_nvgpu.atom.set_value<tma_bar>(%exec, %f) : (!exec, !cute.ptr<i64, smem>)
      cute.copy(%told, %map, %to) : (!exec, !map, !stage)
      %at2 = cute.make_int_tuple(%t) : (i32) -> !cute.int_tuple<"?">
      %f2 = cute.add_offset(%full, %at2) : (!cute.ptr<i64, smem, align<8>>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
      %fp2 = builtin.unrealized_conversion_cast %f2 : !cute.ptr<i64, smem> to !llvm.ptr<3>
      nvvm.mbarrier.try_wait.parity %fp2, %g, %ticks : !llvm.ptr<3>, i32, i32
      %two = nvvm.elect.sync -> i1
      scf.if %two {
        %e2 = cute.add_offset(%empty, %at2) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
        %ep2 = builtin.unrealized_conversion_cast %e2 : !cute.ptr<i64, smem> to !llvm.ptr<3>
        %u = nvvm.mbarrier.arrive %ep2, %c1 : !llvm.ptr<3> -> i64
      }
      %t1 = arith.addi %t, %c1 : i32
      %wraps2 = arith.cmpi eq, %t1, %c3 : i32
      %t2 = arith.select %wraps2, %c0, %t1 : i32
      %x2 = arith.xori %g, %c1 : i32
      %g2 = arith.select %wraps2, %x2, %g : i32
      scf.yield %s2, %h2, %t2, %g2 : i32, i32, i32, i32
    } {cutlass.pipelining = 2 : i32}
    return
  }
}
