// arch: sm_100a
// A persistent GEMM for Blackwell: one thread copies tiles of A and B with tensor copies, one thread multiplies
// them through descriptors into one of two accumulators in tensor memory, and four warps read the other one,
// put it into shared memory, and one of their threads stores it with a tensor copy.
#include "sync.cuh"

enum Bug { NONE, RELEASES_UNREAD, STORES_REUSED };

struct alignas(64) TensorMap {
  char opaque[128];
};

__device__ __forceinline__ void copy_tile(void* to, TensorMap const* map, int x, int y, uint64_t* b) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(to)),
      "l"(map), "r"(x), "r"(y), "r"(shared_address(b)) : "memory");
}

__device__ __forceinline__ void store_tile(TensorMap const* map, int x, int y, void const* from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),
               "r"(x), "r"(y), "r"(shared_address(from)) : "memory");
}

__device__ __forceinline__ void commit(uint64_t* b) {
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(
                   shared_address(b)) : "memory");
}

// Rows of 128 bytes, swizzled, eight of them to an atom.
__device__ __forceinline__ uint64_t matrix(uint32_t at) {
  uint64_t word = (at & 0x3ffff) >> 4;
  word |= uint64_t(1024 >> 4) << 32;
  word |= uint64_t(1) << 46;
  word |= uint64_t(2) << 61;
  return word;
}

__device__ __forceinline__ void multiply(uint32_t d, uint64_t a, uint64_t b, uint32_t what, uint32_t add) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %4, 0;\n"
      "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;\n"
      "}" ::"r"(d), "l"(a), "l"(b), "r"(what), "r"(add) : "memory");
}

__device__ __forceinline__ void load_row(uint32_t (&word)[32], uint32_t from) {
  asm volatile(
      "tcgen05.ld.sync.aligned.32x32b.x32.b32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
      "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, [%32];"
      : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3]), "=r"(word[4]), "=r"(word[5]), "=r"(word[6]),
        "=r"(word[7]), "=r"(word[8]), "=r"(word[9]), "=r"(word[10]), "=r"(word[11]), "=r"(word[12]),
        "=r"(word[13]), "=r"(word[14]), "=r"(word[15]), "=r"(word[16]), "=r"(word[17]), "=r"(word[18]),
        "=r"(word[19]), "=r"(word[20]), "=r"(word[21]), "=r"(word[22]), "=r"(word[23]), "=r"(word[24]),
        "=r"(word[25]), "=r"(word[26]), "=r"(word[27]), "=r"(word[28]), "=r"(word[29]), "=r"(word[30]),
        "=r"(word[31])
      : "r"(from));
}

template <Bug BUG, bool STORES>
__device__ void gemm(TensorMap const& map_a, TensorMap const& map_b, TensorMap const& map_c, float* c, int tiles,
                     int k) {
  constexpr int S = 4, A = 128 * 64 * 2, B = 128 * 64 * 2, D = 2, N = 128;
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ __align__(16) uint64_t full[S], empty[S], done[D], drained[D];
  __shared__ uint32_t tensor;
  unsigned char *a = memory, *b = memory + S * A, *out = memory + S * (A + B);
  int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0), steps = k / 64;
  if (warp == 0 && elected()) {
    for (int s = 0; s < S; s++) {
      init(&full[s], 1);
      init(&empty[s], 1);
    }
    for (int d = 0; d < D; d++) {
      init(&done[d], 1);
      init(&drained[d], 4);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  if (warp == 2) {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 256;" ::"r"(
                     shared_address(&tensor)) : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
  }
  __syncthreads();
  uint32_t accumulators = tensor;
  if (warp == 0) {
    if (elected()) {
      int stage = 0;
      uint32_t phase = 0;
      for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
#pragma unroll 1
        for (int step = 0; step < steps; step++) {
          wait(&empty[stage], phase ^ 1);
          arrive_expect(&full[stage], A + B);
          copy_tile(a + stage * A, &map_a, step * 64, tile * 128, &full[stage]);
          copy_tile(b + stage * B, &map_b, step * 64, tile * 128, &full[stage]);
          if (++stage == S) {
            stage = 0;
            phase ^= 1;
          }
        }
      }
    }
  } else if (warp == 1) {
    if (elected()) {
      // 128 x 128 of 32-bit floats, from bf16.
      constexpr uint32_t WHAT = (1 << 4) | (1 << 7) | (1 << 10) | ((N / 8) << 17) | ((128 / 16) << 24);
      int stage = 0, which = 0;
      uint32_t phase = 0, turn = 0;
      for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        wait(&drained[which], turn ^ 1);
        asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
#pragma unroll 1
        for (int step = 0; step < steps; step++) {
          wait(&full[stage], phase);
          uint64_t first = matrix(shared_address(a + stage * A)), second = matrix(shared_address(b + stage * B));
          for (int inner = 0; inner < 4; inner++) {
            multiply(accumulators + which * N, first + inner * 2, second + inner * 2, WHAT, step > 0 || inner > 0);
          }
          commit(&empty[stage]);
          if (++stage == S) {
            stage = 0;
            phase ^= 1;
          }
        }
        commit(&done[which]);
        if (++which == D) {
          which = 0;
          turn ^= 1;
        }
      }
    }
  } else if (warp >= 4) {
    int which = 0;
    uint32_t turn = 0;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      wait(&done[which], turn);
      asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
      uint32_t word[32];
      float sum = 0;
      if (BUG == RELEASES_UNREAD) {
        __syncwarp();
        if (threadIdx.x % 32 == 0) arrive(&drained[which]);
      }
      for (int part = 0; part < N / 32; part++) {
        load_row(word, accumulators + which * N + part * 32 + ((warp - 4) << 21));
        asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
        sum += __uint_as_float(word[0]) + __uint_as_float(word[31]);
      }
      asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
      if (BUG != RELEASES_UNREAD) {
        __syncwarp();
        if (threadIdx.x % 32 == 0) arrive(&drained[which]);
      }
      if (STORES) {
        // The store before has been read before its place is written again.
        if (warp == 4 && threadIdx.x % 32 == 0 && BUG != STORES_REUSED) {
          asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        }
        named_sync(1, 128);
        reinterpret_cast<float*>(out)[threadIdx.x % 128] = sum;
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        named_sync(1, 128);
        if (warp == 4 && threadIdx.x % 32 == 0) {
          store_tile(&map_c, tile, 0, out);
          asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
      } else {
        c[tile * 128 + threadIdx.x % 128] = sum;
      }
      if (++which == D) {
        which = 0;
        turn ^= 1;
      }
    }
  }
  __syncwarp();
  __syncthreads();
  if (warp == 2) {
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 256;" ::"r"(accumulators));
  }
}

#define KERNEL(NAME, BUG, STORES)                                                                           \
  extern "C" __global__ void __launch_bounds__(256, 1) NAME(                                                \
      __grid_constant__ TensorMap const a, __grid_constant__ TensorMap const b,                             \
      __grid_constant__ TensorMap const o, float* c, int tiles, int k) {                                    \
    gemm<BUG, STORES>(a, b, o, c, tiles, k);                                                                \
  }
KERNEL(tmem_gemm, NONE, true)
KERNEL(tmem_gemm_releases_unread, RELEASES_UNREAD, false)
KERNEL(tmem_gemm_stores_reused, STORES_REUSED, true)
