// A persistent GEMM as it is written for Hopper: one warpgroup gives registers away and one of its
// threads copies both tiles of each step into a ring; two warpgroups take registers, multiply
// asynchronously, and one lane of each warp gives the stage back. A variant keeps one group of
// multiplications in flight and gives the stage before back.
#include "sync.cuh"

enum Bug { NONE, IN_FLIGHT, HALF_THE_STEPS, COUNTS_THREADS, MORE_REGISTERS, RELEASES_LAST_ONLY };

template <int N>
__device__ __forceinline__ void fewer_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}

template <int N>
__device__ __forceinline__ void more_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}

__device__ __forceinline__ void multiply(float (&d)[4], uint64_t a, uint64_t b) {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int N>
__device__ __forceinline__ void wait_multiplied() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

template <Bug BUG>
__device__ void gemm(char const* a, char const* b, float* c, int tiles, int steps) {
  constexpr int S = 4, A = 16384, B = 8192;
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ uint64_t full[S], empty[S];
  if (threadIdx.x == 0) {
    for (int s = 0; s < S; s++) {
      init(&full[s], 1);
      init(&empty[s], BUG == COUNTS_THREADS ? 256 : 8);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  int group = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);
  int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0) % 4;
  int stage = 0;
  uint32_t phase = 0;
  if (group == 0) {
    fewer_registers<40>();
    if (warp == 0 && elected()) {
      for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
#pragma unroll 1
        for (int k = 0; k < steps; k++) {
          wait(&empty[stage], phase ^ 1);
          arrive_expect(&full[stage], A + B);
          copy(memory + stage * (A + B), a + (tile * steps + k) * A, A, &full[stage]);
          copy(memory + stage * (A + B) + A, b + k * B, B, &full[stage]);
          if (++stage == S) {
            stage = 0;
            phase ^= 1;
          }
        }
      }
    }
  } else {
    more_registers<BUG == MORE_REGISTERS ? 240 : 232>();
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      float d[4] = {0, 0, 0, 0};
      int before = stage;
      int trips = BUG == HALF_THE_STEPS ? steps / 2 : steps;
#pragma unroll 1
      for (int k = 0; k < trips; k++) {
        wait(&full[stage], phase);
        uint64_t at = shared_address(memory + stage * (A + B)) >> 4;
        multiply(d, at + group * 8, at + A / 16);
        if (BUG != RELEASES_LAST_ONLY && BUG != IN_FLIGHT) {
          wait_multiplied<0>();
          __syncwarp();
          if (threadIdx.x % 32 == 0) arrive(&empty[stage]);
        }
        wait_multiplied<1>();
        if (BUG == IN_FLIGHT && k > 0 && threadIdx.x % 32 == 0) arrive(&empty[before]);
        before = stage;
        if (++stage == S) {
          stage = 0;
          phase ^= 1;
        }
      }
      wait_multiplied<0>();
      if ((BUG == RELEASES_LAST_ONLY || BUG == IN_FLIGHT) && trips > 0 && threadIdx.x % 32 == 0) arrive(&empty[before]);
      // The tile leaves through shared memory of this warpgroup, by one thread.
      named_sync(group, 128);
      reinterpret_cast<float*>(memory)[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      named_sync(group, 128);
      if (threadIdx.x % 128 == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 512;" ::"l"(
                         __cvta_generic_to_global(c + tile * 256 + group * 128)),
                     "r"(shared_address(memory)) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
      }
      named_sync(group, 128);
    }
  }
}

#define KERNEL(NAME, BUG)                                                    \
  extern "C" __global__ void __launch_bounds__(384, 1) NAME(                 \
      char const* a, char const* b, float* c, int tiles, int steps) {        \
    gemm<BUG>(a, b, c, tiles, steps);                                        \
  }
KERNEL(hopper_gemm, NONE)
KERNEL(hopper_gemm_in_flight, IN_FLIGHT)
KERNEL(hopper_gemm_multiplies_half_the_steps, HALF_THE_STEPS)
KERNEL(hopper_gemm_counts_threads, COUNTS_THREADS)
KERNEL(hopper_gemm_takes_more_registers, MORE_REGISTERS)
KERNEL(hopper_gemm_releases_only_the_last, RELEASES_LAST_ONLY)
