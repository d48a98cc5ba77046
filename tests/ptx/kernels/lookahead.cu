// unrolled: sm_100a
// A ring whose consumers test the next stage while they hold this one, and wait only if that has failed; one variant tests this one.
#include "sync.cuh"

enum Bug { NONE, TESTS_THIS_STAGE };

__device__ __forceinline__ uint32_t test(uint64_t* b, uint32_t parity) {
  uint32_t done;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.b32 %0, 1, 0, p;\n"
      "}" : "=r"(done) : "r"(shared_address(b)), "r"(parity) : "memory");
  return done;
}

template <Bug BUG>
__device__ void lookahead(float const* in, float* out, int rounds) {
  constexpr int S = 4;
  __shared__ __align__(128) float buffer[S][128];
  __shared__ uint64_t full[S], empty[S];
  if (threadIdx.x == 0) {
    for (int s = 0; s < S; s++) {
      init(&full[s], 1);
      init(&empty[s], 128);
    }
  }
  __syncthreads();
  int stage = 0;
  uint32_t phase = 0;
  if (threadIdx.x >= 128) {
    if (threadIdx.x == 128) {
#pragma unroll 1
      for (int i = 0; i < rounds; i++) {
        wait(&empty[stage], phase ^ 1);
        arrive_expect(&full[stage], 512);
        copy(buffer[stage], in + i * 128, 512, &full[stage]);
        if (++stage == S) {
          stage = 0;
          phase ^= 1;
        }
      }
    }
  } else {
    float sum = 0;
    uint32_t ready = rounds > 0 ? test(&full[0], 0) : 1;
#pragma unroll 1
    for (int i = 0; i < rounds; i++) {
      if (!ready) wait(&full[stage], phase);
      sum += buffer[stage][threadIdx.x];
      int before = stage;
      if (BUG == TESTS_THIS_STAGE) ready = test(&full[stage], phase);
      if (++stage == S) {
        stage = 0;
        phase ^= 1;
      }
      if (BUG != TESTS_THIS_STAGE) ready = i + 1 < rounds ? test(&full[stage], phase) : 1;
      arrive(&empty[before]);
    }
    out[threadIdx.x] = sum;
  }
}

#define KERNEL(NAME, BUG)                                                 \
  extern "C" __global__ void __launch_bounds__(160) NAME(                 \
      float const* in, float* out, int rounds) {                          \
    lookahead<BUG>(in, out, rounds);                                      \
  }
KERNEL(lookahead, NONE)
KERNEL(lookahead_at_this_stage, TESTS_THIS_STAGE)
