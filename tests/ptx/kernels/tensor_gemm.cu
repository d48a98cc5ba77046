// A GEMM as many are written for Hopper: one thread copies a tile of A and a tile of B for each step with
// tensor copies that one mbarrier is told of, two warpgroups multiply, and one thread of each gives the
// stage back for its whole warpgroup. The ring wraps around at the beginning of a step.
#include "sync.cuh"

enum Bug { NONE, COUNTS_THREADS, RELEASES_EARLY };

struct alignas(64) TensorMap {
  char opaque[128];
};

__device__ __forceinline__ void copy_tile(void* to, TensorMap const* map, int x, int y, uint64_t* b) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(to)),
      "l"(map), "r"(x), "r"(y), "r"(shared_address(b)) : "memory");
}

// Waiting as the C++ wrappers do it: the outcome of the test is an integer, and the loop is outside.
__device__ __forceinline__ bool test(uint64_t* b, uint32_t parity) {
  uint32_t done;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.b32 %0, 1, 0, p;\n"
      "}" : "=r"(done) : "r"(shared_address(b)), "r"(parity) : "memory");
  return done;
}

__device__ __forceinline__ void wait_outside(uint64_t* b, uint32_t parity) {
  while (!test(b, parity)) {
  }
}

__device__ __forceinline__ void multiply(float (&d)[4], uint64_t a, uint64_t b) {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void wait_multiplied() {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

template <Bug BUG>
__device__ void gemm(TensorMap const& a, TensorMap const& b, float* c, int k, int columns) {
  constexpr int S = 4, A = 16384, B = 16384;
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ uint64_t full[S], empty[S];
  int group = threadIdx.x / 128, thread = threadIdx.x % 128;
  if (threadIdx.x == 0) {
    for (int s = 0; s < S; s++) {
      init(&full[s], 1);
      init(&empty[s], BUG == COUNTS_THREADS ? 256 : 2);
    }
    asm volatile("fence.proxy.async;" ::: "memory");
  }
  __syncthreads();
  int steps = k / 64;
  if (group == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (thread == 0) {
      int stage = 0;
      uint32_t phase = 1;
      for (int step = 0; step < steps; step++, stage++) {
        if (stage == S) {
          stage = 0;
          phase ^= 1;
        }
        wait_outside(&empty[stage], phase);
        arrive_expect(&full[stage], A + B);
        copy_tile(memory + stage * A, &a, step * 64, blockIdx.x / columns * 128, &full[stage]);
        copy_tile(memory + S * A + stage * B, &b, step * 64, blockIdx.x % columns * 128, &full[stage]);
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    float d[4] = {0, 0, 0, 0};
    int stage = 0;
    uint32_t phase = 0;
    for (int step = 0; step < steps; step++, stage++) {
      if (stage == S) {
        stage = 0;
        phase ^= 1;
      }
      wait_outside(&full[stage], phase);
      if (BUG == RELEASES_EARLY && thread == 0) arrive(&empty[stage]);
      multiply(d, shared_address(memory + stage * A) >> 4, shared_address(memory + S * A + stage * B) >> 4);
      wait_multiplied();
      if (BUG != RELEASES_EARLY && thread == 0) arrive(&empty[stage]);
    }
    c[blockIdx.x * 256 + threadIdx.x - 128] = d[0] + d[1] + d[2] + d[3];
  }
}

// Two warpgroups take turns at the tensor cores, as in attention; named barriers pass the turn on.
template <bool FIRST_TURN>
__device__ void turns(TensorMap const& q, TensorMap const& k, TensorMap const& v, float* o, int blocks) {
  constexpr int S = 2;
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ uint64_t full_q, full_k[S], empty_k[S], full_v[S], empty_v[S];
  int group = threadIdx.x / 128;
  if (threadIdx.x == 0) {
    init(&full_q, 1);
    for (int s = 0; s < S; s++) {
      init(&full_k[s], 1);
      init(&full_v[s], 1);
      init(&empty_k[s], 2);
      init(&empty_v[s], 2);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  int stage = 0;
  uint32_t phase = 0;
  if (group == 0) {
    int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
    if (warp == 0 && elected()) {
      arrive_expect(&full_q, 32768);
      copy_tile(memory, &q, 0, blockIdx.x, &full_q);
      for (int block = blocks - 1; block >= 0; block--) {
        wait_outside(&empty_k[stage], phase ^ 1);
        arrive_expect(&full_k[stage], 16384);
        copy_tile(memory + 32768 + stage * 16384, &k, 0, block * 64, &full_k[stage]);
        wait_outside(&empty_v[stage], phase ^ 1);
        arrive_expect(&full_v[stage], 16384);
        copy_tile(memory + 65536 + stage * 16384, &v, 0, block * 64, &full_v[stage]);
        if (++stage == S) {
          stage = 0;
          phase ^= 1;
        }
      }
    }
  } else {
    float scores[4] = {0, 0, 0, 0}, d[4] = {0, 0, 0, 0};
    if (group == 1 && FIRST_TURN) named_arrive(2, 256);
    wait_outside(&full_q, 0);
    uint64_t mine = shared_address(memory + (group - 1) * 16384) >> 4;
    for (int block = blocks - 1; block >= 0; block--) {
      wait_outside(&full_k[stage], phase);
      named_sync(group == 1 ? 3 : 2, 256);
      multiply(scores, mine, shared_address(memory + 32768 + stage * 16384) >> 4);
      named_arrive(group == 1 ? 2 : 3, 256);
      wait_multiplied();
      if (threadIdx.x % 128 == 0) arrive(&empty_k[stage]);
      wait_outside(&full_v[stage], phase);
      multiply(d, mine, shared_address(memory + 65536 + stage * 16384) >> 4);
      wait_multiplied();
      if (threadIdx.x % 128 == 0) arrive(&empty_v[stage]);
      if (++stage == S) {
        stage = 0;
        phase ^= 1;
      }
    }
    o[threadIdx.x] = scores[0] + d[0];
  }
}

// Two tiles of different sizes, told to one mbarrier, and read by threads.
template <bool LATE>
__device__ void tiles(TensorMap const& a, TensorMap const& b, float* c, int steps) {
  constexpr int S = 3;
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ uint64_t full[S], empty[S];
  int t = threadIdx.x, stage = 0;
  uint32_t phase = 0;
  if (t == 0) {
    for (int s = 0; s < S; s++) {
      init(&full[s], 1);
      init(&empty[s], 128);
    }
  }
  __syncthreads();
  if (t == 128) {
    for (int step = 0; step < steps; step++) {
      wait_outside(&empty[stage], phase ^ 1);
      arrive_expect(&full[stage], 1536);
      copy_tile(memory + stage * 1536, &a, step, 0, &full[stage]);
      copy_tile(memory + stage * 1536 + 1024, &b, step, 0, &full[stage]);
      if (++stage == S) {
        stage = 0;
        phase ^= 1;
      }
    }
  } else if (t < 128) {
    float sum = 0;
    for (int step = 0; step < steps; step++) {
      float const* tile = reinterpret_cast<float*>(memory + stage * 1536);
      wait_outside(&full[stage], phase);
      sum += tile[t * 2];
      if (LATE) arrive(&empty[stage]);
      sum += tile[256 + t];
      if (!LATE) arrive(&empty[stage]);
      if (++stage == S) {
        stage = 0;
        phase ^= 1;
      }
    }
    c[t] = sum;
  }
}

#define GEMM(NAME, BUG)                                                                               \
  extern "C" __global__ void __launch_bounds__(384, 1) NAME(                                          \
      __grid_constant__ TensorMap const a, __grid_constant__ TensorMap const b, float* c, int k, int n) { \
    gemm<BUG>(a, b, c, k, n);                                                                         \
  }
#define TURNS(NAME, FIRST)                                                                \
  extern "C" __global__ void __launch_bounds__(384, 1) NAME(                              \
      __grid_constant__ TensorMap const q, __grid_constant__ TensorMap const k,           \
      __grid_constant__ TensorMap const v, float* o, int blocks) {                        \
    turns<FIRST>(q, k, v, o, blocks);                                                     \
  }
#define TILES(NAME, LATE)                                                                 \
  extern "C" __global__ void __launch_bounds__(160) NAME(                                 \
      __grid_constant__ TensorMap const a, __grid_constant__ TensorMap const b, float* c, int steps) { \
    tiles<LATE>(a, b, c, steps);                                                          \
  }
GEMM(tensor_gemm, NONE)
GEMM(tensor_gemm_counts_threads, COUNTS_THREADS)
GEMM(tensor_gemm_releases_early, RELEASES_EARLY)
TURNS(turns, true)
TURNS(turns_without_a_first, false)
TILES(tiles_of_two_sizes, false)
TILES(tiles_read_late, true)
