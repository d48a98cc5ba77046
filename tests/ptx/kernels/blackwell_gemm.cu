// arch: sm_100a
// A persistent GEMM as it is written for Blackwell, on pairs of CTAs: each CTA copies its half of both
// tiles, and all copies of a step are told to the leader. One thread of the leader multiplies for
// both into one of two accumulators in tensor memory, and tells both CTAs when a stage has been read
// and when an accumulator is done; four warps in each CTA write back.
#include "sync.cuh"

enum Bug { NONE, COMMITS_TO_LEADER, ONE_ACCUMULATOR_BARRIER, DRAINED_AT_HOME };

struct alignas(64) TensorMap {
  char opaque[128];
};

// The same place in the leader of the pair: the bit that tells the two apart is cleared.
__device__ __forceinline__ void copy_tile(void* to, TensorMap const* map, int x, int y, uint64_t* b) {
  asm volatile(
      "cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(to)),
      "l"(map), "r"(x), "r"(y), "r"(shared_address(b) & 0xfeffffff) : "memory");
}

__device__ __forceinline__ void commit(uint64_t* b, uint16_t mask) {
  asm volatile(
      "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(
          shared_address(b)),
      "h"(mask) : "memory");
}

// Rows of 128 bytes, swizzled, eight of them to an atom.
__device__ __forceinline__ uint64_t matrix(uint32_t at) {
  uint64_t word = (at & 0x3ffff) >> 4;
  word |= uint64_t(1024 >> 4) << 32;
  word |= uint64_t(1) << 46;
  word |= uint64_t(2) << 61;
  return word;
}

__device__ __forceinline__ void multiply(uint32_t d, uint64_t a, uint64_t b, uint32_t add) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %4, 0;\n"
      "tcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, %3, p;\n"
      "}" ::"r"(d), "l"(a), "l"(b), "r"(0x10200490), "r"(add) : "memory");
}

template <Bug BUG>
__device__ void gemm(TensorMap const& a, TensorMap const& b, float* c, int tiles, int steps) {
  constexpr int S = 4, A = 16384, B = 8192, D = 2;
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ uint64_t full[S], empty[S], done[D], drained[D];
  __shared__ uint32_t tensor;
  int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
  uint32_t rank = cluster_rank();
  if (warp == 0 && elected()) {
    for (int s = 0; s < S; s++) {
      init(&full[s], 1);
      init(&empty[s], 1);
    }
    for (int d = 0; d < D; d++) {
      init(&done[d], 1);
      init(&drained[d], 8);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  if (warp == 2) {
    asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], 512;" ::"r"(
                     shared_address(&tensor)) : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;");
  }
  cluster_sync();
  uint32_t accumulators = tensor;
  int cluster = blockIdx.x / 2, clusters = gridDim.x / 2;
  if (warp == 0) {
    if (elected()) {
      int stage = 0;
      uint32_t phase = 0;
      for (int tile = cluster; tile < tiles; tile += clusters) {
#pragma unroll 1
        for (int k = 0; k < steps; k++) {
          wait(&empty[stage], phase ^ 1);
          unsigned char* to = memory + stage * (A + B);
          if (rank == 0) arrive_expect(&full[stage], 2 * (A + B));
          copy_tile(to, &a, k * 64, tile * 256 + rank * 128, &full[stage]);
          copy_tile(to + A, &b, k * 64, rank * 64, &full[stage]);
          if (++stage == S) {
            stage = 0;
            phase ^= 1;
          }
        }
      }
    }
  } else if (warp == 1 && rank == 0) {
    if (elected()) {
      int stage = 0, which = 0;
      uint32_t phase = 0, turn = 0;
      for (int tile = cluster; tile < tiles; tile += clusters) {
        wait(&drained[which], turn ^ 1);
#pragma unroll 1
        for (int k = 0; k < steps; k++) {
          wait(&full[stage], phase);
          uint32_t at = shared_address(memory + stage * (A + B));
          for (int inner = 0; inner < 4; inner++) {
            multiply(accumulators + which * 256, matrix(at) + inner * 2, matrix(at + A) + inner * 2,
                     k > 0 || inner > 0);
          }
          commit(&empty[stage], BUG == COMMITS_TO_LEADER ? 1 : 3);
          if (++stage == S) {
            stage = 0;
            phase ^= 1;
          }
        }
        commit(&done[BUG == ONE_ACCUMULATOR_BARRIER ? 0 : which], 3);
        if (++which == D) {
          which = 0;
          turn ^= 1;
        }
      }
    }
  } else if (warp >= 4) {
    int which = 0;
    uint32_t turn = 0;
    for (int tile = cluster; tile < tiles; tile += clusters) {
      wait(&done[which], turn);
      asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
      uint32_t word;
      asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=r"(word)
                   : "r"(accumulators + which * 256 + (warp - 4) * (32 << 16)));
      asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
      asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
      __syncwarp();
      if (threadIdx.x % 32 == 0) {
        if (BUG == DRAINED_AT_HOME) {
          arrive(&drained[which]);
        } else {
          arrive_remote(&drained[which], 0);
        }
      }
      c[tile * 256 + rank * 128 + threadIdx.x % 128] = __uint_as_float(word);
      if (++which == D) {
        which = 0;
        turn ^= 1;
      }
    }
  }
  __syncwarp();
  cluster_sync();
  if (warp == 2) {
    asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, 512;" ::"r"(accumulators));
  }
}

#define KERNEL(NAME, BUG)                                                                         \
  extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(256, 1) NAME(            \
      __grid_constant__ TensorMap const a, __grid_constant__ TensorMap const b, float* c, int tiles, \
      int steps) {                                                                                \
    gemm<BUG>(a, b, c, tiles, steps);                                                             \
  }
KERNEL(blackwell_gemm, NONE)
KERNEL(blackwell_gemm_frees_the_leader_only, COMMITS_TO_LEADER)
KERNEL(blackwell_gemm_one_accumulator_barrier, ONE_ACCUMULATOR_BARRIER)
KERNEL(blackwell_gemm_drained_at_home, DRAINED_AT_HOME)
