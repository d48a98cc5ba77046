// A warp takes over clusters that have not begun; it and another warp read each answer before the next one.
gpu.module @kernels {
  cuda.kernel @granted() attributes {nvvm.reqntid = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c16 = arith.constant 16 : i32
    %c32 = arith.constant 32 : i32
    %yes = arith.constant true
    %ticks = arith.constant 10000000 : i32
    %smem = cute.memref.alloca() : !cute.memref<i64, smem, align<16>, "2:1">
    %fullp = cute.get_iter(%smem) : !cute.memref<i64, smem, align<16>, "2:1">
    %one = cute.make_int_tuple() : () -> !cute.int_tuple<"1">
    %emptyp = cute.add_offset(%fullp, %one) : (!cute.ptr<i64, smem, align<16>>, !cute.int_tuple<"1">) -> !cute.ptr<i64, smem>
    %full = builtin.unrealized_conversion_cast %fullp : !cute.ptr<i64, smem, align<16>> to !llvm.ptr<3>
    %empty = builtin.unrealized_conversion_cast %emptyp : !cute.ptr<i64, smem> to !llvm.ptr<3>
    %room = cute.memref.alloca() : !cute.memref<i32, smem, align<16>, "4:1">
    %answerp = cute.get_iter(%room) : !cute.memref<i32, smem, align<16>, "4:1">
    %answer = builtin.unrealized_conversion_cast %answerp : !cute.ptr<i32, smem, align<16>> to !llvm.ptr<3>
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %first = arith.cmpi eq, %tid, %c0 : i32
    scf.if %first {
      nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
      nvvm.mbarrier.init %empty, %c2 : !llvm.ptr<3>, i32
    }
    nvvm.barrier
    %warp = arith.divsi %tid, %c32 : i32
    %tries = arith.cmpi eq, %warp, %c0 : i32
    scf.if %tries {
      %r:3 = scf.while (%go = %yes, %h = %c0, %g = %c1) : (i1, i32, i32) -> (i1, i32, i32) {
        scf.condition(%go) %go, %h, %g : i1, i32, i32
      } do {
      ^bb0(%go: i1, %h: i32, %g: i32):
        nvvm.mbarrier.try_wait.parity %empty, %g, %ticks : !llvm.ptr<3>, i32, i32
        %lane = nvvm.elect.sync -> i1
        scf.if %lane {
          %u = nvvm.mbarrier.arrive.expect_tx %full, %c16 : !llvm.ptr<3>, i32 -> i64
          nvvm.clusterlaunchcontrol.try.cancel %answer, %full : !llvm.ptr<3>, !llvm.ptr<3>
        }
        nvvm.mbarrier.try_wait.parity %full, %h, %ticks : !llvm.ptr<3>, i32, i32
        %v = llvm.load %answer : !llvm.ptr<3> -> i128
        %more = nvvm.clusterlaunchcontrol.query.cancel query = is_canceled, %v : i1
        %lane2 = nvvm.elect.sync -> i1
        scf.if %lane2 {
          %u = nvvm.mbarrier.arrive %empty, %c1 : !llvm.ptr<3> -> i64
        }
        %h1 = arith.xori %h, %c1 : i32
        %g1 = arith.xori %g, %c1 : i32
        scf.yield %more, %h1, %g1 : i1, i32, i32
      }
    } else {
      %r:2 = scf.while (%go = %yes, %h = %c0) : (i1, i32) -> (i1, i32) {
        scf.condition(%go) %go, %h : i1, i32
      } do {
      ^bb0(%go: i1, %h: i32):
        nvvm.mbarrier.try_wait.parity %full, %h, %ticks : !llvm.ptr<3>, i32, i32
        %v = llvm.load %answer : !llvm.ptr<3> -> i128
        %more = nvvm.clusterlaunchcontrol.query.cancel query = is_canceled, %v : i1
        %lane = nvvm.elect.sync -> i1
        scf.if %lane {
          %u = nvvm.mbarrier.arrive %empty, %c1 : !llvm.ptr<3> -> i64
        }
        %h1 = arith.xori %h, %c1 : i32
        scf.yield %more, %h1 : i1, i32
      }
    }
    return
  }
}
