// CTAs that add to rows of words of memory in turn. A CTA works on one tile of one row, as the launch divides its number; CTAs
// beyond the last tile do nothing.
gpu.module @kernels {
  cuda.kernel @turns(%words: !cute.memref<i32, gmem, "(?,1,?):(?{i64},1,?{i64})">, %all: i32, %tiles: i32, %rounds: i32) attributes {nvvm.reqntid = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %ctaid = nvvm.read.ptx.sreg.ctaid.x : i32
    %row = arith.divui %ctaid, %tiles : i32
    %tile = arith.remui %ctaid, %tiles : i32
    %first = arith.cmpi eq, %tid, %c0 : i32
    %works = arith.cmpi slt, %ctaid, %all : i32
    scf.if %works {
      %in_row = cute.make_coord(%row) : (i32) -> !cute.coord<"(_,_,?)">
      %mine = cute.slice(%words, %in_row) : !cute.memref<i32, gmem, "(?,1,?):(?{i64},1,?{i64})">, !cute.coord<"(_,_,?)">
      scf.for %k = %c0 to %rounds step %c1  : i32 {
        %here = cute.make_coord(%k) : (i32) -> !cute.coord<"(?,_)">
        %word = cute.slice(%mine, %here) : !cute.memref<i32, gmem, "(?,1):(?{i64},1)">, !cute.coord<"(?,_)">
        %at = cute.get_iter(%word) : !cute.memref<i32, gmem, "(1):(1)">
        scf.if %first {
          scf.while (%seen = %c0) : (i32) -> () {
            %more = arith.cmpi ne, %seen, %tile : i32
            scf.condition(%more)
          } do {
            %a = cute.ptrtoint(%at) : !cute.ptr<i32, gmem> to i64
            %found = llvm.inline_asm has_side_effects asm_dialect = att "ld.global.acquire.gpu.b32 $0, [$1];", "=r,l" %a : (i64) -> i32
            scf.yield %found : i32
          }
        }
        nvvm.barrier
        scf.if %first {
          %a = cute.ptrtoint(%at) : !cute.ptr<i32, gmem> to i64
          llvm.inline_asm has_side_effects asm_dialect = att "red.release.gpu.global.add.s32 [$0], $1;", "l,r" %a, %c1 : (i64, i32) -> ()
        }
      }
    }
    return
  }
}
