// arch: sm_90
// Plain kernels whose loops the compiler is free to write out: tiles of a persistent CTA that are loaded one ahead into
// two buffers, rows that workers hand to one warp, a stencil with two named barriers per buffer, and a barrier of the grid
// whose target one thread keeps. Each beside variants that hang.
#include "sync.cuh"

enum Bug { NONE, NO_FIRST, LATE_PHASE, ONE_MORE, WRONG_BUFFER, COUNTS_LESS };

// All threads work on a tile while the next one is loaded into the other buffer.
template <Bug BUG>
__device__ void tiles(float* data, int count) {
  constexpr int SIZE = 1024;
  __shared__ alignas(128) float tile[2][SIZE];
  __shared__ uint64_t full[2];
  if (threadIdx.x == 0) {
    init(&full[0], 1);
    init(&full[1], 1);
  }
  __syncthreads();
  auto load = [&](int buffer, int t) {
    arrive_expect(&full[buffer], SIZE * 4);
    copy(tile[buffer], data + (size_t)t * SIZE, SIZE * 4, &full[buffer]);
  };
  if (BUG != NO_FIRST && threadIdx.x == 0 && blockIdx.x < count) load(0, blockIdx.x);
  int i = 0;
  for (int t = blockIdx.x; t < count; t += gridDim.x, i++) {
    int buffer = i & 1;
    if (threadIdx.x == 0 && t + gridDim.x < count) load(buffer ^ 1, t + gridDim.x);
    wait(&full[buffer], (BUG == LATE_PHASE ? i : i >> 1) & 1);
    for (int k = threadIdx.x; k < SIZE; k += 256) data[(size_t)t * SIZE + k] = tile[buffer][k] * 2;
    __syncthreads();
  }
}

// Four warps sum up parts of a row, a fifth adds the parts. Behind the first row it says when they may be replaced.
template <Bug BUG>
__device__ void rows(float const* a, float* y, int count, int columns) {
  __shared__ float part[4];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (warp < 4) {
    for (int r = blockIdx.x; r < count; r += gridDim.x) {
      float sum = 0;
      for (int c = threadIdx.x; c < columns; c += 128) sum += a[(size_t)r * columns + c];
      if (r != blockIdx.x) named_sync(6, 160);
      if (lane == 0) part[warp] = sum;
      __syncwarp();
      named_arrive(5, 160);
    }
    if (BUG == ONE_MORE) named_sync(6, 160);
  } else {
    for (int r = blockIdx.x; r < count; r += gridDim.x) {
      named_sync(5, 160);
      if (lane == 0) y[r] = part[0] + part[1] + part[2] + part[3];
      __syncwarp();
      if (r + gridDim.x < count) named_arrive(6, 160);
    }
  }
}

// One warp loads lines for four, two buffers in turn: barriers 1 and 2 say that one is full, 3 and 4 that it is empty.
template <Bug BUG>
__device__ void lines(float const* in, float* out, int count) {
  __shared__ float line[2][130];
  if (threadIdx.x < 32) {
    for (int r = 0; r < count; r++) {
      if (r % 2 == 0) named_sync(3, 160);
      else named_sync(4, 160);
      for (int k = threadIdx.x; k < 130; k += 32) line[r % 2][k] = in[(size_t)r * 130 + k];
      if (r % 2 == 0) named_arrive(1, 160);
      else named_arrive(2, 160);
    }
  } else {
    int u = threadIdx.x - 32;
    if (BUG != NO_FIRST) named_arrive(3, 160);
    named_arrive(4, 160);
    for (int r = 0; r < (BUG == ONE_MORE ? count + 1 : count); r++) {
      if (r % 2 == 0) named_sync(1, 160);
      else named_sync(2, 160);
      float sum = line[r % 2][u] + 2 * line[r % 2][u + 1] + line[r % 2][u + 2];
      if (r % 2 == 0) named_arrive(3, 160);
      else named_arrive(4, 160);
      out[(size_t)r * 128 + u] = sum;
    }
  }
}

// What the first thread of a CTA knows of a barrier of the grid.
struct Grid {
  int* count;
  int target;
  __device__ void meet(int ctas) {
    __syncthreads();
    if (threadIdx.x == 0) {
      target += ctas;
      asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(count) : "memory");
      int seen;
      do {
        asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(count) : "memory");
      } while (seen < target);
    }
    __syncthreads();
  }
};

template <Bug BUG>
__device__ void stages(float* data, int* count) {
  Grid grid{count, 0};
  int ctas = BUG == ONE_MORE ? gridDim.x + 1 : gridDim.x;
  data[blockIdx.x * 128 + threadIdx.x] = 1;
  grid.meet(ctas);
  data[blockIdx.x * 128 + threadIdx.x] += data[threadIdx.x];
  if (BUG != COUNTS_LESS || blockIdx.x > 0) grid.meet(ctas);
  data[blockIdx.x * 128 + threadIdx.x] *= 2;
  grid.meet(ctas);
}

#define TILES(name, bug) \
  extern "C" __global__ void __launch_bounds__(256) name(float* d, int n) { tiles<bug>(d, n); }
TILES(tiles_ahead, NONE)
TILES(tiles_ahead_no_first, NO_FIRST)
TILES(tiles_ahead_late_phase, LATE_PHASE)
#define ROWS(name, bug) \
  extern "C" __global__ void __launch_bounds__(160) name(float const* a, float* y, int n, int k) { rows<bug>(a, y, n, k); }
ROWS(rows_handed_on, NONE)
ROWS(rows_handed_on_one_more, ONE_MORE)
#define LINES(name, bug) \
  extern "C" __global__ void __launch_bounds__(160) name(float const* in, float* out, int n) { lines<bug>(in, out, n); }
LINES(lines_in_turn, NONE)
LINES(lines_in_turn_no_first, NO_FIRST)
LINES(lines_in_turn_one_more, ONE_MORE)
#define STAGES(name, bug) \
  extern "C" __global__ void __launch_bounds__(128) name(float* d, int* c) { stages<bug>(d, c); }
STAGES(stages_of_the_grid, NONE)
STAGES(stages_of_the_grid_one_more, ONE_MORE)
STAGES(stages_of_the_grid_count_less, COUNTS_LESS)
