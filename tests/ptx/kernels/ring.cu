// A ring of stages between a producer warp and three consumer warps, with mbarriers. The compiler
// unrolls the rounds four times where it is let.
#include "sync.cuh"

enum Bug { NONE, ROLLED, FEWER_ROUNDS, SAME_START };

template <int S, Bug BUG>
__device__ void ring(float const* in, float* out, int rounds) {
  __shared__ uint64_t full[S], empty[S];
  __shared__ float tile[S][32];
  if (threadIdx.x == 0) {
    for (int s = 0; s < S; s++) {
      init(&full[s], 32);
      init(&empty[s], 96);
    }
  }
  __syncthreads();
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int stage = 0;
  uint32_t phase = 0;
  if (warp == 0) {
    int mine = BUG == FEWER_ROUNDS ? rounds - 1 : rounds;
#pragma unroll(BUG == ROLLED ? 1 : 4)
    for (int i = 0; i < mine; i++) {
      wait(&empty[stage], BUG == SAME_START ? phase : phase ^ 1);
      tile[stage][lane] = in[i * 32 + lane];
      arrive(&full[stage]);
      if (++stage == S) {
        stage = 0;
        phase ^= 1;
      }
    }
  } else {
    float sum = 0;
#pragma unroll(BUG == ROLLED ? 1 : 4)
    for (int i = 0; i < rounds; i++) {
      wait(&full[stage], phase);
      sum += tile[stage][lane] * warp;
      arrive(&empty[stage]);
      if (++stage == S) {
        stage = 0;
        phase ^= 1;
      }
    }
    out[threadIdx.x] = sum;
  }
}

#define KERNEL(NAME, S, BUG)                                              \
  extern "C" __global__ void __launch_bounds__(128) NAME(                 \
      float const* in, float* out, int rounds) {                          \
    ring<S, BUG>(in, out, rounds);                                        \
  }
KERNEL(ring_of_4, 4, NONE)
KERNEL(ring_of_3, 3, ROLLED)
KERNEL(ring_producer_one_round_short, 4, FEWER_ROUNDS)
KERNEL(ring_producer_starts_at_phase_0, 4, SAME_START)
