// Attention backward whose sums have a fixed order: CTA n owns a block of keys, a producer warp copies the query tiles that it
// visits into a ring, and the consumer warps add their part of dQ after the CTAs before them have, which a semaphore per
// query tile counts.
#include "sync.cuh"

enum Bug { NONE, OFF_BY_ONE, NO_RELEASE, READS_LATE };

constexpr int STAGES = 2, BYTES = 4096;

__device__ __forceinline__ int acquire(int const* p) {
  int value;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
  return value;
}

__device__ __forceinline__ void release_add(int* p, int n) {
  asm volatile("red.release.gpu.global.add.s32 [%0], %1;" ::"l"(p), "r"(n) : "memory");
}

template <Bug BUG, bool SPARSE>
__device__ __forceinline__ void backward(unsigned char const* __restrict__ mask, char const* q, int* semaphores,
                                         float* dq, int tiles) {
  __shared__ alignas(128) char tile[STAGES][BYTES];
  __shared__ uint64_t full[STAGES], empty[STAGES];
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; s++) {
      init(&full[s], 1);
      init(&empty[s], 4);
    }
  }
  __syncthreads();
  int n = blockIdx.x, stage = 0, phase = 0;
  if (threadIdx.x >= 128) {
    if (threadIdx.x == 128) {
#pragma unroll 1
      for (int m = 0; m < tiles; m++) {
        if (SPARSE && mask[n * tiles + m] == 0) continue;
        wait(&empty[stage], phase ^ 1);
        arrive_expect(&full[stage], BYTES);
        copy(tile[stage], q + m * BYTES, BYTES, &full[stage]);
        if (++stage == STAGES) {
          stage = 0;
          phase ^= 1;
        }
      }
    }
    return;
  }
#pragma unroll 1
  for (int m = 0; m < tiles; m++) {
    if (SPARSE && mask[n * tiles + m] == 0) continue;
    wait(&full[stage], phase);
    float x = BUG == READS_LATE ? 0 : tile[stage][threadIdx.x];
    __syncwarp();
    if (threadIdx.x % 32 == 0 && !(BUG == NO_RELEASE && threadIdx.x == 32)) arrive(&empty[stage]);
    if (BUG == READS_LATE) x = tile[stage][threadIdx.x];
    if (++stage == STAGES) {
      stage = 0;
      phase ^= 1;
    }
    if (threadIdx.x == 0) {
      while (acquire(&semaphores[m]) != (BUG == OFF_BY_ONE ? n + 1 : n)) {
      }
    }
    named_sync(1, 128);
    dq[m * 128 + threadIdx.x] += x;
    named_sync(1, 128);
    if (threadIdx.x == 0) release_add(&semaphores[m], 1);
  }
}

#define BACKWARD(NAME, BUG, SPARSE)                                                                     \
  extern "C" __global__ void __launch_bounds__(160) NAME(                                               \
      unsigned char const* __restrict__ mask, char const* q, int* semaphores, float* dq, int tiles) {   \
    backward<BUG, SPARSE>(mask, q, semaphores, dq, tiles);                                              \
  }
BACKWARD(backward_dense, NONE, false)
BACKWARD(backward_off_by_one, OFF_BY_ONE, false)
BACKWARD(backward_no_release, NO_RELEASE, false)
BACKWARD(backward_reads_late, READS_LATE, false)
// Waits for its own number, though CTAs that skip a tile add nothing there.
BACKWARD(backward_sparse, NONE, true)
