// unrolled: sm_90a
// A persistent ring filled by bulk copies by one elected thread; a lane of each other warp gives back. It goes on from tile to tile.
#include "sync.cuh"

enum Bug { NONE, MORE_BYTES, RESTART };

template <Bug BUG>
__device__ void persistent(float const* in, float* out, int tiles, int steps) {
  constexpr int S = 4, BYTES = 4096;
  extern __shared__ __align__(128) unsigned char memory[];
  uint64_t* full = reinterpret_cast<uint64_t*>(memory + S * BYTES);
  uint64_t* empty = full + S;
  if (threadIdx.x == 0) {
    for (int s = 0; s < S; s++) {
      init(&full[s], 1);
      init(&empty[s], 4);
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
  int stage = 0;
  uint32_t phase = 0;
  if (warp == 0) {
    if (elected()) {
      for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        if (BUG == RESTART) {
          stage = 0;
          phase = 0;
        }
#pragma unroll 1
        for (int k = 0; k < steps; k++) {
          wait(&empty[stage], phase ^ 1);
          arrive_expect(&full[stage], BUG == MORE_BYTES ? BYTES + 16 : BYTES);
          copy(memory + stage * BYTES, in + (tile * steps + k) * 1024, BYTES, &full[stage]);
          if (++stage == S) {
            stage = 0;
            phase ^= 1;
          }
        }
      }
    }
  } else {
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      float sum = 0;
#pragma unroll 1
      for (int k = 0; k < steps; k++) {
        wait(&full[stage], phase);
        sum += reinterpret_cast<float*>(memory + stage * BYTES)[threadIdx.x];
        __syncwarp();
        if (threadIdx.x % 32 == 0) arrive(&empty[stage]);
        if (++stage == S) {
          stage = 0;
          phase ^= 1;
        }
      }
      out[tile * 160 + threadIdx.x] = sum;
    }
  }
}

#define KERNEL(NAME, BUG)                                                 \
  extern "C" __global__ void __launch_bounds__(160) NAME(                 \
      float const* in, float* out, int tiles, int steps) {                \
    persistent<BUG>(in, out, tiles, steps);                               \
  }
KERNEL(bulk_ring, NONE)
KERNEL(bulk_ring_expects_more_bytes, MORE_BYTES)
KERNEL(bulk_ring_restarts_with_each_tile, RESTART)
