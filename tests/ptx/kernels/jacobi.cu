// Two CTAs of a cluster exchange halos once per iteration: every thread arrives at its own CTA's
// mbarrier and at the peer's, and waits for its own.
#include "sync.cuh"

enum Bug { NONE, FIXED_PHASE, OWN_ONLY };

template <Bug BUG>
__device__ void jacobi(float* grid, int iterations) {
  __shared__ uint64_t bar;
  __shared__ float cells[130];
  uint32_t rank = cluster_rank();
  if (threadIdx.x == 0) init(&bar, 256);
  cells[threadIdx.x + 1] = grid[blockIdx.x * 128 + threadIdx.x];
  cluster_sync();
  uint32_t phase = 0;
#pragma unroll 1
  for (int i = 0; i < iterations; i++) {
    float next = 0.5f * (cells[threadIdx.x] + cells[threadIdx.x + 2]);
    arrive(&bar);
    if (BUG != OWN_ONLY || rank == 0) arrive_remote(&bar, rank ^ 1);
    wait(&bar, phase);
    if (BUG != FIXED_PHASE) phase ^= 1;
    cells[threadIdx.x + 1] = next;
  }
  cluster_sync();
  grid[blockIdx.x * 128 + threadIdx.x] = cells[threadIdx.x + 1];
}

#define KERNEL(NAME, BUG)                                                               \
  extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128) NAME(     \
      float* grid, int iterations) {                                                    \
    jacobi<BUG>(grid, iterations);                                                      \
  }
KERNEL(jacobi, NONE)
KERNEL(jacobi_fixed_phase, FIXED_PHASE)
KERNEL(jacobi_one_way, OWN_ONLY)
