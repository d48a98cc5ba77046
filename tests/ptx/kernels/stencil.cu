// A warp-specialized stencil whose two buffers are handed over with named barriers: one warp
// copies, three compute.
#include "sync.cuh"

enum Bug { NONE, NO_FIRST_ARRIVAL, COUNT_OF_CONSUMERS };

template <Bug BUG>
__device__ void stencil(float const* in, float* out, int pairs) {
  __shared__ float tile[2][98];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int const all = 128;
  int const full = BUG == COUNT_OF_CONSUMERS ? 96 : all;
  if (warp == 0) {
#pragma unroll 1
    for (int i = 0; i < pairs; i++) {
      for (int b = 0; b < 2; b++) {
        named_sync(1 + b, all);
        for (int x = lane; x < 98; x += 32) tile[b][x] = in[(2 * i + b) * 96 + x];
        named_arrive(3 + b, full);
      }
    }
  } else {
    int x = threadIdx.x - 32;
    if (BUG != NO_FIRST_ARRIVAL) {
      named_arrive(1, all);
      named_arrive(2, all);
    }
#pragma unroll 1
    for (int i = 0; i < pairs; i++) {
      for (int b = 0; b < 2; b++) {
        named_sync(3 + b, full);
        out[(2 * i + b) * 96 + x] = tile[b][x] - 2 * tile[b][x + 1] + tile[b][x + 2];
        named_arrive(1 + b, all);
      }
    }
  }
}

#define KERNEL(NAME, BUG)                                                 \
  extern "C" __global__ void __launch_bounds__(128) NAME(                 \
      float const* in, float* out, int pairs) {                           \
    stencil<BUG>(in, out, pairs);                                         \
  }
KERNEL(stencil, NONE)
KERNEL(stencil_without_first_arrival, NO_FIRST_ARRIVAL)
KERNEL(stencil_counts_consumers_only, COUNT_OF_CONSUMERS)
