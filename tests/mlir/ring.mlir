// A producer warp and a consumer warp around a ring of three stages that goes on from tile to tile.
gpu.module @kernels {
  cuda.kernel @ring(%tiles: i32, %rounds: i32) attributes {nvvm.reqntid = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c3 = arith.constant 3 : i32
    %c32 = arith.constant 32 : i32
    %ticks = arith.constant 10000000 : i32
    %smem = cute.memref.alloca() : !cute.memref<i8, smem, align<1024>, "1024:1">
    %base = cute.get_iter(%smem) : !cute.memref<i8, smem, align<1024>, "1024:1">
    %full = cute.recast_iter(%base) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<i64, smem, align<1024>>
    %three = cute.make_int_tuple() : () -> !cute.int_tuple<"3">
    %empty = cute.add_offset(%full, %three) : (!cute.ptr<i64, smem, align<1024>>, !cute.int_tuple<"3">) -> !cute.ptr<i64, smem>
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %first = arith.cmpi eq, %tid, %c0 : i32
    scf.if %first {
      %tfull0 = cute.make_int_tuple() : () -> !cute.int_tuple<"0">
      %afull0 = cute.add_offset(%full, %tfull0) : (!cute.ptr<i64, smem, align<1024>>, !cute.int_tuple<"0">) -> !cute.ptr<i64, smem>
      %pfull0 = builtin.unrealized_conversion_cast %afull0 : !cute.ptr<i64, smem> to !llvm.ptr<3>
      nvvm.mbarrier.init %pfull0, %c1 : !llvm.ptr<3>, i32
      %tempty0 = cute.make_int_tuple() : () -> !cute.int_tuple<"0">
      %aempty0 = cute.add_offset(%empty, %tempty0) : (!cute.ptr<i64, smem>, !cute.int_tuple<"0">) -> !cute.ptr<i64, smem>
      %pempty0 = builtin.unrealized_conversion_cast %aempty0 : !cute.ptr<i64, smem> to !llvm.ptr<3>
      nvvm.mbarrier.init %pempty0, %c32 : !llvm.ptr<3>, i32
      %tfull1 = cute.make_int_tuple() : () -> !cute.int_tuple<"1">
      %afull1 = cute.add_offset(%full, %tfull1) : (!cute.ptr<i64, smem, align<1024>>, !cute.int_tuple<"1">) -> !cute.ptr<i64, smem>
      %pfull1 = builtin.unrealized_conversion_cast %afull1 : !cute.ptr<i64, smem> to !llvm.ptr<3>
      nvvm.mbarrier.init %pfull1, %c1 : !llvm.ptr<3>, i32
      %tempty1 = cute.make_int_tuple() : () -> !cute.int_tuple<"1">
      %aempty1 = cute.add_offset(%empty, %tempty1) : (!cute.ptr<i64, smem>, !cute.int_tuple<"1">) -> !cute.ptr<i64, smem>
      %pempty1 = builtin.unrealized_conversion_cast %aempty1 : !cute.ptr<i64, smem> to !llvm.ptr<3>
      nvvm.mbarrier.init %pempty1, %c32 : !llvm.ptr<3>, i32
      %tfull2 = cute.make_int_tuple() : () -> !cute.int_tuple<"2">
      %afull2 = cute.add_offset(%full, %tfull2) : (!cute.ptr<i64, smem, align<1024>>, !cute.int_tuple<"2">) -> !cute.ptr<i64, smem>
      %pfull2 = builtin.unrealized_conversion_cast %afull2 : !cute.ptr<i64, smem> to !llvm.ptr<3>
      nvvm.mbarrier.init %pfull2, %c1 : !llvm.ptr<3>, i32
      %tempty2 = cute.make_int_tuple() : () -> !cute.int_tuple<"2">
      %aempty2 = cute.add_offset(%empty, %tempty2) : (!cute.ptr<i64, smem>, !cute.int_tuple<"2">) -> !cute.ptr<i64, smem>
      %pempty2 = builtin.unrealized_conversion_cast %aempty2 : !cute.ptr<i64, smem> to !llvm.ptr<3>
      nvvm.mbarrier.init %pempty2, %c32 : !llvm.ptr<3>, i32
    }
    nvvm.barrier
    %warp = arith.divsi %tid, %c32 : i32
    %produces = arith.cmpi eq, %warp, %c0 : i32
    scf.if %produces {
      %p:2 = scf.for %t = %c0 to %tiles step %c1 iter_args(%s0 = %c0, %h0 = %c1) -> (i32, i32)  : i32 {
        %q:2 = scf.for %k = %c0 to %rounds step %c1 iter_args(%s = %s0, %h = %h0) -> (i32, i32)  : i32 {
          %at = cute.make_int_tuple(%s) : (i32) -> !cute.int_tuple<"?">
          %w = cute.add_offset(%empty, %at) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
          %wp = builtin.unrealized_conversion_cast %w : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.try_wait.parity %wp, %h, %ticks : !llvm.ptr<3>, i32, i32
          %one = nvvm.elect.sync -> i1
          scf.if %one {
          %f = cute.add_offset(%full, %at) : (!cute.ptr<i64, smem, align<1024>>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
          %fp = builtin.unrealized_conversion_cast %f : !cute.ptr<i64, smem> to !llvm.ptr<3>
          %u = nvvm.mbarrier.arrive %fp, %c1 : !llvm.ptr<3> -> i64
          }
          %s1 = arith.addi %s, %c1 : i32
          %wraps = arith.cmpi eq, %s1, %c3 : i32
          %s2 = arith.select %wraps, %c0, %s1 : i32
          %h2 = scf.if %wraps -> (i32) {
            %x = arith.xori %h, %c1 : i32
            scf.yield %x : i32
          } else {
            scf.yield %h : i32
          }
          scf.yield %s2, %h2 : i32, i32
        }
        scf.yield %q#0, %q#1 : i32, i32
      }
    } else {
      %p:2 = scf.for %t = %c0 to %tiles step %c1 iter_args(%s0 = %c0, %h0 = %c0) -> (i32, i32)  : i32 {
        %q:2 = scf.for %k = %c0 to %rounds step %c1 iter_args(%s = %s0, %h = %h0) -> (i32, i32)  : i32 {
          %at = cute.make_int_tuple(%s) : (i32) -> !cute.int_tuple<"?">
          %w = cute.add_offset(%full, %at) : (!cute.ptr<i64, smem, align<1024>>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
          %wp = builtin.unrealized_conversion_cast %w : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.try_wait.parity %wp, %h, %ticks : !llvm.ptr<3>, i32, i32
          %f = cute.add_offset(%empty, %at) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
          %fp = builtin.unrealized_conversion_cast %f : !cute.ptr<i64, smem> to !llvm.ptr<3>
          %u = nvvm.mbarrier.arrive %fp, %c1 : !llvm.ptr<3> -> i64
          %s1 = arith.addi %s, %c1 : i32
          %wraps = arith.cmpi eq, %s1, %c3 : i32
          %s2 = arith.select %wraps, %c0, %s1 : i32
          %h2 = scf.if %wraps -> (i32) {
            %x = arith.xori %h, %c1 : i32
            scf.yield %x : i32
          } else {
            scf.yield %h : i32
          }
          scf.yield %s2, %h2 : i32, i32
        }
        scf.yield %q#0, %q#1 : i32, i32
      }
    }
    return
  }
}
