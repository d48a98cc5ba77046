// Two stages filled with cp.async by four warps and consumed by four others. The stage and the phase
// are computed from the round.
#include "sync.cuh"

enum Bug { NONE, COUNT_OF_ALL, SAME_PHASE };

template <Bug BUG>
__device__ void async_ring(float4 const* in, float* out, int rounds) {
  __shared__ uint64_t full[2], empty[2];
  __shared__ float4 tile[2][128];
  if (threadIdx.x == 0) {
    for (int s = 0; s < 2; s++) {
      init(&full[s], 128);
      init(&empty[s], BUG == COUNT_OF_ALL ? 256 : 128);
    }
  }
  __syncthreads();
  int t = threadIdx.x;
  if (t < 128) {
    for (int i = 0; i < rounds; i++) {
      int s = i & 1;
      wait(&empty[s], ((i >> 1) & 1) ^ 1);
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(&tile[s][t])),
                   "l"(in + i * 128 + t));
      asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(&full[s])));
    }
  } else {
    float sum = 0;
    for (int i = 0; i < rounds; i++) {
      int s = i & 1;
      wait(&full[s], BUG == SAME_PHASE ? 0 : (i >> 1) & 1);
      sum += tile[s][t - 128].x;
      arrive(&empty[s]);
    }
    out[t] = sum;
  }
}

#define KERNEL(NAME, BUG)                                                 \
  extern "C" __global__ void __launch_bounds__(256) NAME(                 \
      float4 const* in, float* out, int rounds) {                         \
    async_ring<BUG>(in, out, rounds);                                     \
  }
KERNEL(async_ring, NONE)
KERNEL(async_ring_counts_everybody, COUNT_OF_ALL)
KERNEL(async_ring_same_phase, SAME_PHASE)
