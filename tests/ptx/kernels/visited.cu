// Attention over the key tiles that a mask visits: a ring goes on only where there is something to do. The mask
// is a matrix of bytes, or each row lists its tiles.
#include "sync.cuh"

enum Bug { NONE, WAITS_FOR_ALL, KEEPS_THE_PHASE, OTHER_ROW, OTHER_STAGE, SKIPS_A_TURN };

constexpr uint32_t STAGES = 2, TILE = 96;

struct Ring {
  uint32_t stage = 0, phase = 0;
  __device__ void advance(bool turns = true) {
    if (++stage == STAGES) {
      stage = 0;
      if (turns) phase ^= 1;
    }
  }
};

__device__ __forceinline__ void prepare(uint64_t* full, uint64_t* empty, int consumers) {
  if (threadIdx.x == 0) {
    for (uint32_t s = 0; s < STAGES; s++) {
      init(full + s, 1);
      init(empty + s, consumers);
    }
  }
  __syncthreads();
}

// One warp copies the tiles that its row of the mask visits, three add them up.
template <Bug BUG>
__device__ void dense(unsigned char const* __restrict__ mask, float const* keys, float* out, int tiles) {
  __shared__ uint64_t full[STAGES], empty[STAGES];
  __shared__ float tile[STAGES * TILE];
  prepare(full, empty, 3);
  unsigned char const* row = mask + blockIdx.x * tiles;
  Ring ring;
  if (threadIdx.x / 32 == 3) {
#pragma unroll 1
    for (int m = 0; m < tiles; m++) {
      if (!row[m]) continue;
      wait(empty + ring.stage, ring.phase ^ 1);
      for (int k = threadIdx.x % 32; k < TILE; k += 32) tile[ring.stage * TILE + k] = keys[m * TILE + k];
      __syncwarp();
      if (threadIdx.x % 32 == 0) arrive(full + ring.stage);
      ring.advance();
    }
  } else {
    if (BUG == OTHER_ROW) row += tiles;
    float sum = 0;
#pragma unroll 1
    for (int m = 0; m < tiles; m++) {
      if (!row[m] && BUG != WAITS_FOR_ALL) continue;
      wait(full + ring.stage, ring.phase);
      sum += tile[ring.stage * TILE + threadIdx.x];
      __syncwarp();
      if (threadIdx.x % 32 == 0) arrive(empty + ring.stage);
      ring.advance(BUG != KEEPS_THE_PHASE);
    }
    out[blockIdx.x * TILE + threadIdx.x] = sum;
  }
}

// Only the tiles that the block's row of a sparse matrix lists.
template <Bug BUG>
__device__ void sparse(int const* __restrict__ offsets, int const* __restrict__ columns, float const* keys, float* out) {
  __shared__ uint64_t full[STAGES], empty[STAGES];
  __shared__ float tile[STAGES * TILE];
  prepare(full, empty, 3);
  int b = blockIdx.x;
  Ring ring;
  if (threadIdx.x / 32 == 3) {
    for (int i = offsets[b]; i < offsets[b + 1]; i++) {
      int m = columns[i];
      wait(empty + ring.stage, ring.phase ^ 1);
      for (int k = threadIdx.x % 32; k < TILE; k += 32) tile[ring.stage * TILE + k] = keys[m * TILE + k];
      __syncwarp();
      if (threadIdx.x % 32 == 0) arrive(full + (BUG == OTHER_STAGE ? (ring.stage + 1) % STAGES : ring.stage));
      ring.advance();
    }
  } else {
    float sum = 0;
    for (int i = offsets[b]; i < offsets[b + 1]; i++) {
      wait(full + ring.stage, ring.phase);
      sum += tile[ring.stage * TILE + threadIdx.x];
      __syncwarp();
      if (threadIdx.x % 32 == 0) arrive(empty + ring.stage);
      ring.advance();
    }
    out[b * TILE + threadIdx.x] = sum;
  }
}

__device__ __forceinline__ int acquire(int const* p) {
  int value;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
  return value;
}

__device__ __forceinline__ void release_add(int* p, int n) {
  asm volatile("red.release.gpu.global.add.s32 [%0], %1;" ::"l"(p), "r"(n) : "memory");
}

// Blocks add to the sums of each tile one after the other, those that do not visit it take their turn, too.
template <Bug BUG>
__device__ void in_turns(unsigned char const* __restrict__ mask, float const* keys, int* turns, float* sums, int tiles) {
  __shared__ uint64_t full[STAGES], empty[STAGES];
  __shared__ float tile[STAGES * TILE];
  prepare(full, empty, 3);
  unsigned char const* row = mask + blockIdx.x * tiles;
  Ring ring;
  if (threadIdx.x / 32 == 3) {
#pragma unroll 1
    for (int m = 0; m < tiles; m++) {
      if (!row[m]) continue;
      wait(empty + ring.stage, ring.phase ^ 1);
      for (int k = threadIdx.x % 32; k < TILE; k += 32) tile[ring.stage * TILE + k] = keys[m * TILE + k];
      __syncwarp();
      if (threadIdx.x % 32 == 0) arrive(full + ring.stage);
      ring.advance();
    }
  } else {
#pragma unroll 1
    for (int m = 0; m < tiles; m++) {
      bool visited = row[m] != 0;
      if (BUG == SKIPS_A_TURN && !visited) continue;
      if (threadIdx.x == 0) {
        while (acquire(turns + m) != blockIdx.x) {
        }
      }
      if (visited) {
        named_sync(1, 96);
        wait(full + ring.stage, ring.phase);
        sums[m * TILE + threadIdx.x] += tile[ring.stage * TILE + threadIdx.x];
        __syncwarp();
        if (threadIdx.x % 32 == 0) arrive(empty + ring.stage);
        ring.advance();
        named_sync(1, 96);
      }
      if (threadIdx.x == 0) release_add(turns + m, 1);
    }
  }
}

#define DENSE(NAME, BUG)                                                                    \
  extern "C" __global__ void __launch_bounds__(128) NAME(                                   \
      unsigned char const* __restrict__ mask, float const* keys, float* out, int tiles) {   \
    dense<BUG>(mask, keys, out, tiles);                                                     \
  }
#define SPARSE(NAME, BUG)                                                                   \
  extern "C" __global__ void __launch_bounds__(128) NAME(                                   \
      int const* __restrict__ offsets, int const* __restrict__ columns, float const* keys,  \
      float* out) {                                                                         \
    sparse<BUG>(offsets, columns, keys, out);                                               \
  }
#define IN_TURNS(NAME, BUG)                                                                 \
  extern "C" __global__ void __launch_bounds__(128) NAME(                                   \
      unsigned char const* __restrict__ mask, float const* keys, int* turns, float* sums,   \
      int tiles) {                                                                          \
    in_turns<BUG>(mask, keys, turns, sums, tiles);                                          \
  }
DENSE(visited, NONE)
DENSE(visited_waits_for_all, WAITS_FOR_ALL)
DENSE(visited_keeps_the_phase, KEEPS_THE_PHASE)
DENSE(visited_other_row, OTHER_ROW)
SPARSE(listed, NONE)
SPARSE(listed_arrives_at_another, OTHER_STAGE)
IN_TURNS(in_turns, NONE)
IN_TURNS(in_turns_skips_a_turn, SKIPS_A_TURN)
