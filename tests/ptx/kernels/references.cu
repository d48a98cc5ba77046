// A ring of five stages whose place is kept in a structure that functions are given by reference.
#include "sync.cuh"

struct Place {
  uint32_t stage, phase;
};

enum Bug { NONE, ADVANCES_TWICE, KEEPS_THE_PHASE };

template <Bug BUG>
__device__ __noinline__ void advance(Place& place) {
  if (++place.stage == 5) {
    place.stage = 0;
    if (BUG != KEEPS_THE_PHASE) place.phase ^= 1;
  }
}

template <Bug BUG>
__device__ __noinline__ float take(uint64_t* full, uint64_t* empty, float const* tile, Place& place) {
  wait(full + place.stage, place.phase);
  float x = tile[place.stage * 32 + threadIdx.x % 32];
  __syncwarp();
  if (threadIdx.x % 32 == 0) arrive(empty + place.stage);
  advance<BUG>(place);
  if (BUG == ADVANCES_TWICE) advance<BUG>(place);
  return x;
}

template <Bug BUG>
__device__ void ring(float const* in, float* out, int rounds) {
  __shared__ uint64_t full[5], empty[5];
  __shared__ float tile[5 * 32];
  if (threadIdx.x == 0) {
    for (int s = 0; s < 5; s++) {
      init(full + s, 1);
      init(empty + s, 2);
    }
  }
  __syncthreads();
  Place place{0, 0};
  if (threadIdx.x < 32) {
#pragma unroll 1
    for (int i = 0; i < rounds; i++) {
      wait(empty + place.stage, place.phase ^ 1);
      tile[place.stage * 32 + threadIdx.x] = in[i * 32 + threadIdx.x];
      __syncwarp();
      if (threadIdx.x == 0) arrive(full + place.stage);
      advance<NONE>(place);
    }
  } else {
    float sum = 0;
#pragma unroll 1
    for (int i = 0; i < rounds; i++) sum += take<BUG>(full, empty, tile, place);
    out[threadIdx.x] = sum;
  }
}

#define RING(NAME, BUG)                                                              \
  extern "C" __global__ void __launch_bounds__(96) NAME(float const* in, float* out, \
                                                        int rounds) {                \
    ring<BUG>(in, out, rounds);                                                      \
  }
RING(references, NONE)
RING(references_advances_twice, ADVANCES_TWICE)
RING(references_keeps_the_phase, KEEPS_THE_PHASE)
