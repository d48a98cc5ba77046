// A matrix-vector product: four warps bring columns, eight use them. The stage is the round modulo
// three, which the compiler turns into multiplications; the eight meet before they write.
#include "sync.cuh"

enum Bug { NONE, COUNT_OF_ALL, ONE_COLUMN_LESS };

template <Bug BUG>
__device__ void matvec(float const* matrix, float const* vector, float* out, int columns) {
  __shared__ uint64_t full[3], empty[3];
  __shared__ float tile[3][128];
  int t = threadIdx.x;
  if (t == 0) {
    for (int s = 0; s < 3; s++) {
      init(&full[s], 128);
      init(&empty[s], 256);
    }
  }
  __syncthreads();
  if (t < 128) {
#pragma unroll 1
    for (int c = 0; c < (BUG == ONE_COLUMN_LESS ? columns - 1 : columns); c++) {
      wait(&empty[c % 3], ((c / 3) & 1) ^ 1);
      tile[c % 3][t] = matrix[c * 128 + t] * vector[c];
      arrive(&full[c % 3]);
    }
  } else {
    float sum = 0;
#pragma unroll 1
    for (int c = 0; c < columns; c++) {
      wait(&full[c % 3], (c / 3) & 1);
      sum += tile[c % 3][t % 128];
      arrive(&empty[c % 3]);
    }
    named_sync(1, BUG == COUNT_OF_ALL ? 384 : 256);
    out[t] = sum;
  }
}

#define KERNEL(NAME, BUG)                                                          \
  extern "C" __global__ void __launch_bounds__(384) NAME(                          \
      float const* matrix, float const* vector, float* out, int columns) {         \
    matvec<BUG>(matrix, vector, out, columns);                                     \
  }
KERNEL(matvec, NONE)
KERNEL(matvec_counts_everybody, COUNT_OF_ALL)
KERNEL(matvec_one_column_less, ONE_COLUMN_LESS)
