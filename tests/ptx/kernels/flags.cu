// CTAs that hand something on to the next one through a flag each.
#include "sync.cuh"

#define KERNEL(NAME) extern "C" __global__ void __launch_bounds__(128) NAME

__device__ __forceinline__ int acquired(int const* p) {
  int value;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
  return value;
}

__device__ __forceinline__ void released(int* p, int value) {
  asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(p), "r"(value) : "memory");
}

// Each waits for the one before it, whatever its flag says.
template <bool AFTER>
__device__ void look_back(float* sums, int* flags) {
  if (threadIdx.x == 0) {
    int other = AFTER ? blockIdx.x + 1 : blockIdx.x - 1;
    if (AFTER || blockIdx.x > 0) {
      while (acquired(flags + other) == 0) {
      }
    }
    released(flags + blockIdx.x, 1);
  }
  __syncthreads();
  sums[blockIdx.x * 128 + threadIdx.x] += 1;
}

KERNEL(look_back)(float* sums, int* flags) { look_back<false>(sums, flags); }

// The last one waits, too, for what lies behind the flags.
KERNEL(look_ahead)(float* sums, int* flags) { look_back<true>(sums, flags); }

// A flag that is taken back with a number below 0.
KERNEL(look_back_negative)(float* sums, int* flags) {
  if (threadIdx.x == 0) {
    if (blockIdx.x > 0) {
      while (acquired(flags + blockIdx.x - 1) == 0) {
      }
    }
    released(flags + blockIdx.x, -1);
  }
}
