// A reduction in a fixed order: block n adds to every row tile m that it visits, after the blocks
// before it have, which a semaphore per row tile counts. What is visited is read from memory: a mask,
// or rows of a sparse matrix.
#include "sync.cuh"

enum Bug { NONE, SKIPS, RANK_FROM_MEMORY, ADDS_TWICE };

__device__ __forceinline__ int acquire(int const* p) {
  int value;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
  return value;
}

__device__ __forceinline__ void release_add(int* p, int n) {
  asm volatile("red.release.gpu.global.add.s32 [%0], %1;" ::"l"(p), "r"(n) : "memory");
}

__device__ __forceinline__ void add_tile(float* sums, int m) {
  sums[m * 128 + threadIdx.x] += 1.0f;
}

// A block that has nothing to add to a row tile still takes its turn there, unless it skips it.
template <Bug BUG>
__device__ void dense(unsigned char const* __restrict__ mask, int* semaphores, float* sums, int rows) {
#pragma unroll 1
  for (int m = 0; m < rows; m++) {
    bool visited = mask[blockIdx.x * rows + m] != 0;
    if (BUG == SKIPS && !visited) continue;
    if (threadIdx.x == 0) {
      while (acquire(&semaphores[m]) != blockIdx.x) {
      }
    }
    __syncthreads();
    if (visited) add_tile(sums, m);
    __syncthreads();
    if (threadIdx.x == 0) release_add(&semaphores[m], BUG == ADDS_TWICE && m > 0 ? 2 : 1);
  }
}

// Only the row tiles that the block's row of a sparse matrix lists.
template <Bug BUG>
__device__ void sparse(int const* __restrict__ offsets, int const* __restrict__ columns,
                       int const* __restrict__ ranks, int* semaphores, float* sums) {
  int n = blockIdx.x;
#pragma unroll 1
  for (int k = offsets[n]; k < offsets[n + 1]; k++) {
    int m = columns[k];
    int turn = BUG == RANK_FROM_MEMORY ? ranks[k] : n;
    if (threadIdx.x == 0) {
      while (acquire(&semaphores[m]) != turn) {
      }
    }
    __syncthreads();
    add_tile(sums, m);
    __syncthreads();
    if (threadIdx.x == 0) release_add(&semaphores[m], 1);
  }
}

#define DENSE(NAME, BUG)                                                                       \
  extern "C" __global__ void __launch_bounds__(128) NAME(                                      \
      unsigned char const* __restrict__ mask, int* semaphores, float* sums, int rows) {        \
    dense<BUG>(mask, semaphores, sums, rows);                                                  \
  }
#define SPARSE(NAME, BUG)                                                                      \
  extern "C" __global__ void __launch_bounds__(128) NAME(                                      \
      int const* __restrict__ offsets, int const* __restrict__ columns,                        \
      int const* __restrict__ ranks, int* semaphores, float* sums) {                           \
    sparse<BUG>(offsets, columns, ranks, semaphores, sums);                                    \
  }
DENSE(every_block_takes_its_turn, NONE)
DENSE(blocks_skip_what_they_do_not_visit, SKIPS)
DENSE(blocks_add_twice, ADDS_TWICE)
SPARSE(rows_take_turns_by_block, NONE)
SPARSE(rows_take_turns_by_rank, RANK_FROM_MEMORY)
