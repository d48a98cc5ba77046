// Loops that are left by `break` and `return`, run to a minimum, or go down a row of a mask.
#include "sync.cuh"

enum Bug { NONE, LEAVES_LATER, LEAVES_AFTER, MAXIMUM, OTHER_DIRECTION };

constexpr uint32_t STAGES = 5, WIDTH = 32;

struct Pipe {
  uint64_t *full, *empty;
  float* tile;
  uint32_t stage = 0, phase = 0;

  __device__ void advance() {
    if (++stage == STAGES) {
      stage = 0;
      phase ^= 1;
    }
  }
  __device__ void put(float value) {
    wait(empty + stage, phase ^ 1);
    tile[stage * WIDTH + threadIdx.x % 32] = value;
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(full + stage);
    advance();
  }
  __device__ float take() {
    wait(full + stage, phase);
    float value = tile[stage * WIDTH + threadIdx.x % 32];
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(empty + stage);
    advance();
    return value;
  }
};

#define PIPE(CONSUMERS)                                     \
  __shared__ uint64_t full[STAGES], empty[STAGES];          \
  __shared__ float tile[STAGES * WIDTH];                    \
  if (threadIdx.x == 0) {                                   \
    for (uint32_t s = 0; s < STAGES; s++) {                 \
      init(full + s, 1);                                    \
      init(empty + s, CONSUMERS);                           \
    }                                                       \
  }                                                         \
  __syncthreads();                                          \
  Pipe pipe{full, empty, tile};                             \
  float sum = 0;

// The last round is one of `n`, or the one in which `i` is `m`.
template <Bug BUG>
__device__ void breaks(float const* in, float* out, int n, int m) {
  PIPE(2)
  if (threadIdx.x < 32) {
#pragma unroll 1
    for (int i = 0;; i++) {
      if (i >= n) break;
      pipe.put(in[i]);
      if (i == m) break;
    }
  } else {
    int last = BUG == LEAVES_LATER ? m + 1 : m;
#pragma unroll 1
    for (int i = 0; i < n; i++) {
      sum += pipe.take();
      if (i == last) break;
    }
    out[threadIdx.x] = sum;
  }
}

template <Bug BUG>
__device__ void returns(float const* in, float* out, int n, int m) {
  PIPE(2)
  if (threadIdx.x < 32) {
#pragma unroll 1
    for (int i = 0; i < n; i++) {
      if (i == m) return;
      pipe.put(in[i]);
    }
  } else {
#pragma unroll 1
    for (int i = 0; i < n; i++) {
      if (BUG == LEAVES_AFTER && i > m) return;
      if (BUG != LEAVES_AFTER && i == m) return;
      sum += pipe.take();
    }
    out[threadIdx.x] = sum;
  }
}

template <Bug BUG>
__device__ void least(float const* in, float* out, int n, int m) {
  PIPE(2)
  if (threadIdx.x < 32) {
#pragma unroll 1
    for (int i = 0; i < n && i < m; i++) pipe.put(in[i]);
  } else {
    int rounds = BUG == MAXIMUM ? max(n, m) : min(n, m);
#pragma unroll 1
    for (int i = 0; i < rounds; i++) sum += pipe.take();
    out[threadIdx.x] = sum;
  }
}

// From the last tile of a row to the first, as attention with a causal mask has it.
template <Bug BUG>
__device__ void down(int const* __restrict__ mask, float const* in, float* out, int n) {
  PIPE(2)
  int const* row = mask + blockIdx.x * n;
  if (threadIdx.x < 32) {
#pragma unroll 1
    for (int i = n - 1; i >= 0; i--) {
      if (row[i] != 0) pipe.put(in[i]);
    }
  } else {
#pragma unroll 1
    for (int i = n - 1; i >= 0; i--) {
      if (BUG == OTHER_DIRECTION ? row[i] != 0 : row[i] == 0) continue;
      sum += pipe.take();
    }
    out[blockIdx.x * 96 + threadIdx.x] = sum;
  }
}

#define ROUNDS(NAME, KIND, BUG)                                                             \
  extern "C" __global__ void __launch_bounds__(96) NAME(float const* in, float* out, int n, \
                                                        int m) {                            \
    KIND<BUG>(in, out, n, m);                                                               \
  }
#define DOWN(NAME, BUG)                                                                     \
  extern "C" __global__ void __launch_bounds__(96) NAME(                                    \
      int const* __restrict__ mask, float const* in, float* out, int n) {                   \
    down<BUG>(mask, in, out, n);                                                            \
  }
ROUNDS(breaks_, breaks, NONE)
ROUNDS(breaks_later, breaks, LEAVES_LATER)
ROUNDS(returns_, returns, NONE)
ROUNDS(returns_later, returns, LEAVES_AFTER)
ROUNDS(least_, least, NONE)
ROUNDS(least_or_most, least, MAXIMUM)
DOWN(down_, NONE)
DOWN(down_where_not, OTHER_DIRECTION)
