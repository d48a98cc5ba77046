// A ring of three stages whose rounds are in functions that are not inlined.
#include "sync.cuh"

enum Bug { NONE, READS_LATE, SAME_PHASE };

template <Bug BUG>
__device__ __noinline__ void consume(uint64_t* full, uint64_t* empty, float* tile, float* out, int i) {
  int s = i % 3, lane = threadIdx.x % 32;
  wait(&full[s], BUG == SAME_PHASE ? 0 : (i / 3) & 1);
  if (BUG == READS_LATE) arrive(&empty[s]);
  out[i * 32 + lane] = tile[s * 32 + lane];
  if (BUG != READS_LATE) arrive(&empty[s]);
}

__device__ __noinline__ int next(int i) { return i + 1; }

template <Bug BUG>
__device__ void calls(float const* in, float* out, int rounds) {
  __shared__ uint64_t full[3], empty[3];
  __shared__ float tile[96];
  if (threadIdx.x == 0) {
    for (int s = 0; s < 3; s++) {
      init(&full[s], 32);
      init(&empty[s], 32);
    }
  }
  __syncthreads();
  if (threadIdx.x < 32) {
#pragma unroll 1
    for (int i = 0; i < rounds; i = next(i)) {
      wait(&empty[i % 3], ((i / 3) & 1) ^ 1);
      tile[(i % 3) * 32 + threadIdx.x] = in[i];
      arrive(&full[i % 3]);
    }
  } else {
#pragma unroll 1
    for (int i = 0; i < rounds; i++) consume<BUG>(full, empty, tile, out, i);
  }
}

#define KERNEL(NAME, BUG)                                                 \
  extern "C" __global__ void __launch_bounds__(64) NAME(                  \
      float const* in, float* out, int rounds) {                          \
    calls<BUG>(in, out, rounds);                                          \
  }
KERNEL(calls, NONE)
KERNEL(calls_reads_late, READS_LATE)
KERNEL(calls_same_phase, SAME_PHASE)
