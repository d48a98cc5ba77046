// Threads that have nothing to do leave early, and the rest go on: fine at barriers of all threads, which
// do not wait for who has left, and nowhere else.
#include "sync.cuh"

#define KERNEL(NAME) extern "C" __global__ void __launch_bounds__(256) NAME

KERNEL(early_return)(float const* x, float* y, int n) {
  __shared__ float tile[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  tile[threadIdx.x] = x[i];
  __syncthreads();
  y[i] = tile[0];
}

// The same with a number of threads at the barrier.
KERNEL(early_return_counted)(float const* x, float* y, int n) {
  __shared__ float tile[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  tile[threadIdx.x] = x[i];
  named_sync(1, 256);
  y[i] = tile[0];
}

// An mbarrier counts every thread.
KERNEL(early_return_mbarrier)(float const* x, float* y, int n) {
  __shared__ uint64_t met;
  if (threadIdx.x == 0) init(&met, 256);
  __syncthreads();
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  y[i] = x[i];
  arrive(&met);
  wait(&met, 0);
}

KERNEL(guarded_loop)(float const* x, float* y, int n) {
  __shared__ float tile[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) {
    for (int k = 0; k < n; k++) {
      tile[threadIdx.x] = x[i + k];
      __syncthreads();
      y[i] += tile[(threadIdx.x + 1) & 255];
      __syncthreads();
    }
  }
}

// Some threads skip a barrier and come to the next one.
KERNEL(guarded_barrier)(float const* x, float* y, int n) {
  __shared__ float tile[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) {
    tile[threadIdx.x] = x[i];
    __syncthreads();
  }
  y[i] = tile[0];
  __syncthreads();
  y[i + 1] = tile[1];
}

// Threads of two dimensions.
extern "C" __global__ void __launch_bounds__(256) early_return_of_a_tile(float const* x, float* y, int rows,
                                                                          int columns) {
  __shared__ float tile[16][16];
  int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= rows || column >= columns) return;
  tile[threadIdx.y][threadIdx.x] = x[row * columns + column];
  __syncthreads();
  y[row * columns + column] = tile[threadIdx.x][threadIdx.y];
}
