// Tiles that CTAs take from a counter, the last CTA that finishes, and rounds until nothing changes: what all
// threads read between two barriers decides about barriers.
#include "sync.cuh"

enum Bug { NONE, READS_AT_ANY_TIME, ONE_WARP_LEAVES, ONE_WARP_MEETS };

template <Bug BUG>
__device__ void tiles(float const* in, float* out, int* next, int tiles) {
  __shared__ int tile;
  __shared__ float row[160];
  int t = threadIdx.x;
  while (true) {
    if (t == 0) tile = atomicAdd(next, 1);
    __syncthreads();
    int mine = tile;
    if (BUG != READS_AT_ANY_TIME) __syncthreads();
    if (mine >= tiles) break;
    if (BUG == ONE_WARP_LEAVES && t < 32 && mine == 7) break;
    if (BUG == READS_AT_ANY_TIME) {
      out[mine * 160 + t] = in[mine * 160 + t];
    } else {
      row[t] = in[mine * 160 + t];
      __syncthreads();
      out[mine * 160 + t] = row[159 - t];
    }
  }
}

template <Bug BUG>
__device__ void last_cta(float const* in, float* parts, float* out, unsigned* done) {
  __shared__ float sums[3];
  __shared__ bool last;
  int t = threadIdx.x, warp = t / 32;
  float x = in[blockIdx.x * 96 + t];
  for (int o = 16; o > 0; o /= 2) x += __shfl_down_sync(~0u, x, o);
  if (t % 32 == 0) sums[warp] = x;
  __syncthreads();
  if (t == 0) {
    parts[blockIdx.x] = sums[0] + sums[1] + sums[2];
    __threadfence();
    last = atomicAdd(done, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  float y = 0;
  for (int i = t; i < gridDim.x; i += 96) y += parts[i];
  for (int o = 16; o > 0; o /= 2) y += __shfl_down_sync(~0u, y, o);
  if (t % 32 == 0) sums[warp] = y;
  if (BUG != ONE_WARP_MEETS || warp > 0) named_sync(1, 96);
  if (t == 0) *out = sums[0] + sums[1] + sums[2];
}

template <Bug BUG>
__device__ void relaxed(float* x, float accuracy, int most) {
  __shared__ float row[194];
  __shared__ uint64_t met;
  int t = threadIdx.x;
  if (t == 0) {
    init(&met, 6);
    row[0] = row[193] = 0;
  }
  row[t + 1] = x[t];
  __syncthreads();
  for (int i = 0; i < most; i++) {
    float y = (row[t] + row[t + 2]) / 2;
    float change = fabsf(y - row[t + 1]);
    // Before anything is written, every warp has read.
    __syncwarp();
    if (t % 32 == 0) arrive(&met);
    wait(&met, i % 2);
    row[t + 1] = y;
    bool more = __syncthreads_or(change > accuracy);
    if (!more) break;
    if (BUG == ONE_WARP_LEAVES && t >= 160 && i == 3) break;
  }
  x[t] = row[t + 1];
}

#define TILES(NAME, BUG)                                                                \
  extern "C" __global__ void __launch_bounds__(160) NAME(float const* in, float* out,   \
                                                         int* next, int n) {            \
    tiles<BUG>(in, out, next, n);                                                       \
  }
TILES(tiles, NONE)
TILES(tiles_read_at_any_time, READS_AT_ANY_TIME)
TILES(tiles_one_warp_leaves, ONE_WARP_LEAVES)

#define LAST(NAME, BUG)                                                                 \
  extern "C" __global__ void __launch_bounds__(96) NAME(float const* in, float* parts,  \
                                                        float* out, unsigned* done) {   \
    last_cta<BUG>(in, parts, out, done);                                                \
  }
LAST(last_cta, NONE)
LAST(last_cta_one_warp_meets, ONE_WARP_MEETS)

#define RELAXED(NAME, BUG)                                                              \
  extern "C" __global__ void __launch_bounds__(192) NAME(float* x, float accuracy,      \
                                                         int most) {                    \
    relaxed<BUG>(x, accuracy, most);                                                    \
  }
RELAXED(relaxed, NONE)
RELAXED(relaxed_one_warp_leaves, ONE_WARP_LEAVES)
