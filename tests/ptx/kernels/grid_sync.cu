// Barriers of the whole grid: `grid.sync()` of cooperative groups, and the same written by hand.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

#define KERNEL(NAME) extern "C" __global__ void __launch_bounds__(128) NAME

KERNEL(grid_sync)(float* x, int n) {
  cg::grid_group grid = cg::this_grid();
  for (int i = 0; i < n; i++) {
    x[blockIdx.x * 128 + threadIdx.x] += 1;
    grid.sync();
  }
}

// CTAs with nothing to do leave the others alone.
KERNEL(grid_sync_skipped)(float* x, int n) {
  cg::grid_group grid = cg::this_grid();
  if (blockIdx.x >= n) return;
  x[blockIdx.x * 128 + threadIdx.x] += 1;
  grid.sync();
}

__device__ __forceinline__ unsigned acquired(unsigned const* p) {
  unsigned value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
  return value;
}

__device__ __forceinline__ void meet(unsigned* word, unsigned first, unsigned others) {
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned found;
    asm volatile("atom.add.release.gpu.global.u32 %0, [%1], %2;"
                 : "=r"(found)
                 : "l"(word), "r"(blockIdx.x == 0 ? first : others)
                 : "memory");
    while ((int)(acquired(word) ^ found) >= 0) {
    }
  }
  __syncthreads();
}

KERNEL(highest_bit)(unsigned* word, float* x, int n) {
  for (int i = 0; i < n; i++) {
    x[blockIdx.x * 128 + threadIdx.x] += 1;
    meet(word, 0x80000000u - (gridDim.x - 1), 1);
  }
}

// One too few.
KERNEL(highest_bit_counts_all)(unsigned* word, float* x, int n) {
  for (int i = 0; i < n; i++) {
    x[blockIdx.x * 128 + threadIdx.x] += 1;
    meet(word, 0x80000000u - gridDim.x, 1);
  }
}

// CTAs of two dimensions, counted along one.
KERNEL(highest_bit_one_axis)(unsigned* word, float* x, int n) {
  for (int i = blockIdx.y; i < n; i++) {
    x[blockIdx.x * 128 + threadIdx.x] += 1;
    meet(word, 0x80000000u - (gridDim.x - 1), 1);
  }
}
