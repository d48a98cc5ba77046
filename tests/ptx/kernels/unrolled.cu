// arch: sm_100a
// Loops that the compiler is free to write out: for this architecture it makes sixteen or eight copies of a round, with a
// tree of branches for the rest.
#include "sync.cuh"

enum Bug { NONE, FIXED_PHASE, KEEPS_LAST, GIVES_TWICE };

// Two CTAs of a cluster meet once per round.
template <Bug BUG>
__device__ void meet(float* grid, int rounds) {
  __shared__ uint64_t bar;
  __shared__ float cells[66];
  uint32_t rank = cluster_rank();
  if (threadIdx.x == 0) init(&bar, 128);
  cells[threadIdx.x + 1] = grid[blockIdx.x * 64 + threadIdx.x];
  cluster_sync();
  uint32_t phase = 0;
  for (int i = 0; i < rounds; i++) {
    float next = 0.5f * (cells[threadIdx.x] + cells[threadIdx.x + 2]);
    arrive(&bar);
    arrive_remote(&bar, rank ^ 1);
    wait(&bar, phase);
    if (BUG != FIXED_PHASE) phase ^= 1;
    cells[threadIdx.x + 1] = next;
  }
  cluster_sync();
  grid[blockIdx.x * 64 + threadIdx.x] = cells[threadIdx.x + 1];
}

// A warp fills a ring of two stages that another one reads.
template <Bug BUG>
__device__ void ring(int const* in, int* out, int rounds) {
  __shared__ uint64_t full[2], empty[2];
  __shared__ int tile[2][32];
  if (threadIdx.x == 0) {
    for (int s = 0; s < 2; s++) {
      init(&full[s], 32);
      init(&empty[s], 32);
    }
  }
  __syncthreads();
  int lane = threadIdx.x % 32, sum = 0;
  for (int i = 0; i < rounds; i++) {
    int s = i & 1, parity = (i >> 1) & 1;
    if (threadIdx.x < 32) {
      wait(&empty[s], parity ^ 1);
      tile[s][lane] = in[i * 32 + lane];
      arrive(&full[s]);
    } else {
      wait(&full[s], BUG == FIXED_PHASE ? 0 : parity);
      sum += tile[s][lane];
      arrive(&empty[s]);
    }
  }
  out[threadIdx.x] = sum;
}

// A ring of three stages that goes on from tile to tile, each of which is given back one round late.
template <Bug BUG>
__device__ void late(int const* in, int* out, int tiles, int steps) {
  constexpr int S = 3;
  __shared__ uint64_t full[S], empty[S];
  __shared__ int tile[S][32];
  if (threadIdx.x == 0) {
    for (int s = 0; s < S; s++) {
      init(&full[s], 32);
      init(&empty[s], 32);
    }
  }
  __syncthreads();
  int lane = threadIdx.x % 32, sum = 0, stage = 0;
  uint32_t phase = 0;
  for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
    int before = stage;
    for (int k = 0; k < steps; k++) {
      if (threadIdx.x < 32) {
        wait(&empty[stage], phase ^ 1);
        tile[stage][lane] = in[(t * steps + k) * 32 + lane];
        arrive(&full[stage]);
      } else {
        wait(&full[stage], phase);
        sum += tile[stage][lane];
        if (k > 0) arrive(&empty[before]);
        if (BUG == GIVES_TWICE && k == 2) arrive(&empty[before]);
      }
      before = stage;
      if (++stage == S) {
        stage = 0;
        phase ^= 1;
      }
    }
    if (BUG != KEEPS_LAST && steps > 0 && threadIdx.x >= 32) arrive(&empty[before]);
  }
  out[threadIdx.x] = sum;
}

#define MEET(NAME, BUG)                                                              \
  extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(64) NAME(   \
      float* grid, int rounds) {                                                     \
    meet<BUG>(grid, rounds);                                                         \
  }
#define RING(NAME, BUG)                                                              \
  extern "C" __global__ void __launch_bounds__(64) NAME(                             \
      int const* in, int* out, int rounds) {                                         \
    ring<BUG>(in, out, rounds);                                                      \
  }
MEET(unrolled_meet, NONE)
MEET(unrolled_meet_fixed_phase, FIXED_PHASE)
RING(unrolled_ring, NONE)
RING(unrolled_ring_fixed_phase, FIXED_PHASE)

#define LATE(NAME, BUG)                                               \
  extern "C" __global__ void __launch_bounds__(64) NAME(              \
      int const* in, int* out, int tiles, int steps) {                \
    late<BUG>(in, out, tiles, steps);                                 \
  }
LATE(late, NONE)
LATE(late_keeps_the_last, KEEPS_LAST)
LATE(late_gives_twice, GIVES_TWICE)
