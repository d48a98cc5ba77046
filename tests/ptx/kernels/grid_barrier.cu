// A barrier of the whole grid in software: thread 0 of each CTA adds one to a counter and waits
// until all have.
#include "sync.cuh"

enum Bug { NONE, EXACT, RESET };

__device__ __forceinline__ unsigned acquired(unsigned const* p) {
  unsigned value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
  return value;
}

template <Bug BUG>
__device__ void rounds(unsigned* arrived, float* data, int n) {
#pragma unroll 1
  for (int i = 0; i < n; i++) {
    data[blockIdx.x * blockDim.x + threadIdx.x] += 1;
    __syncthreads();
    if (threadIdx.x == 0) {
      asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(arrived) : "memory");
      unsigned target = BUG == RESET ? gridDim.x : gridDim.x * (i + 1);
      if (BUG == NONE) {
        while (acquired(arrived) < target) {
        }
      } else {
        while (acquired(arrived) != target) {
        }
      }
      if (BUG == RESET && blockIdx.x == 0) {
        asm volatile("st.release.gpu.global.u32 [%0], 0;" ::"l"(arrived) : "memory");
      }
    }
    __syncthreads();
  }
}

#define KERNEL(NAME, BUG)                                                 \
  extern "C" __global__ void __launch_bounds__(256) NAME(                 \
      unsigned* arrived, float* data, int n) {                            \
    rounds<BUG>(arrived, data, n);                                        \
  }
KERNEL(grid_barrier, NONE)
KERNEL(grid_barrier_exact, EXACT)
KERNEL(grid_barrier_reset, RESET)
