// Data that is handed on in shared memory, for races: a pipeline of three warps with five stages, a
// stencil with two buffers, and a reduction in which lanes drop out. Each beside a variant that gives
// memory back before its last read, or tells of it before its last write.
#include "sync.cuh"

enum Bug { NONE, READS_LATE, WRITES_LATE };

// One warp loads, the next works in place, the last one stores.
template <Bug BUG>
__device__ void relay(float const* in, float* out, int rounds) {
  constexpr int S = 5;
  __shared__ uint64_t loaded[S], worked[S], stored[S];
  __shared__ float4 tile[S][32];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (int s = 0; s < S; s++) {
      init(&loaded[s], 32);
      init(&worked[s], 32);
      init(&stored[s], 32);
    }
  }
  __syncthreads();
  int stage = 0;
  uint32_t phase = 0;
#pragma unroll 1
  for (int i = 0; i < rounds; i++) {
    float4* mine = &tile[stage][lane];
    if (warp == 0) {
      wait(&stored[stage], phase ^ 1);
      float x = in[i * 32 + lane];
      *mine = make_float4(x, x, x, x);
      arrive(&loaded[stage]);
    } else if (warp == 1) {
      wait(&loaded[stage], phase);
      float4 x = *mine;
      x.x *= 2;
      if (BUG == WRITES_LATE) {
        arrive(&worked[stage]);
        *mine = x;
      } else {
        *mine = x;
        arrive(&worked[stage]);
      }
    } else {
      wait(&worked[stage], phase);
      if (BUG == READS_LATE) {
        arrive(&stored[stage]);
        out[i * 32 + lane] = mine->x;
      } else {
        out[i * 32 + lane] = mine->x;
        arrive(&stored[stage]);
      }
    }
    if (++stage == S) {
      stage = 0;
      phase ^= 1;
    }
  }
}

// One warp fills a buffer of which the three others read what overlaps.
template <Bug BUG>
__device__ void stencil(float const* in, float* out, int rounds) {
  __shared__ float tile[2][98];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, x = threadIdx.x - 32;
  if (warp == 0) {
#pragma unroll 1
    for (int i = 0; i < rounds; i++) {
      for (int b = 0; b < 2; b++) {
        named_sync(1 + b, 128);
        for (int x = lane; x < 98; x += 32) tile[b][x] = in[(2 * i + b) * 96 + x];
        named_arrive(3 + b, 128);
      }
    }
  } else {
    named_arrive(1, 128);
    named_arrive(2, 128);
#pragma unroll 1
    for (int i = 0; i < rounds; i++) {
      for (int b = 0; b < 2; b++) {
        named_sync(3 + b, 128);
        float left = tile[b][x];
        if (BUG == READS_LATE) named_arrive(1 + b, 128);
        float rest = tile[b][x + 2] - 2 * tile[b][x + 1];
        if (BUG != READS_LATE) named_arrive(1 + b, 128);
        out[(2 * i + b) * 96 + x] = left + rest;
      }
    }
  }
}

// Each step adds the upper half to the lower.
template <Bug BUG>
__device__ void sum(float const* in, float* out) {
  __shared__ float part[128];
  int t = threadIdx.x;
  part[t] = in[t];
#pragma unroll
  for (int half = 64; half > 0; half /= 2) {
    if (BUG != READS_LATE || half != 32) __syncthreads();
    if (t < half) part[t] += part[t + half];
  }
  if (t == 0) *out = part[0];
}

#define KERNEL(NAME, BODY, THREADS)                                       \
  extern "C" __global__ void __launch_bounds__(THREADS) NAME(             \
      float const* in, float* out, int rounds) {                          \
    BODY;                                                                 \
  }
KERNEL(relay, (relay<NONE>(in, out, rounds)), 96)
KERNEL(relay_reads_late, (relay<READS_LATE>(in, out, rounds)), 96)
KERNEL(relay_writes_late, (relay<WRITES_LATE>(in, out, rounds)), 96)
KERNEL(stencil, (stencil<NONE>(in, out, rounds)), 128)
KERNEL(stencil_reads_late, (stencil<READS_LATE>(in, out, rounds)), 128)
KERNEL(sum, (sum<NONE>(in, out)), 128)
KERNEL(sum_lacks_a_barrier, (sum<READS_LATE>(in, out)), 128)
