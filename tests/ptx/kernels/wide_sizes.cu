// Sizes of 64 bits, and lengths that are differences of words of 32 bits in 64 bits.
#include "sync.cuh"

constexpr int STAGES = 2, BYTES = 4096, TILE = 16;

__device__ __forceinline__ size_t rounded_up(size_t n, size_t by) { return n % by != 0 ? n / by + 1 : n / by; }

__device__ __forceinline__ void pipe(const char* in, float* out, long long produced, long long consumed) {
  __shared__ alignas(128) char tile[STAGES][BYTES];
  __shared__ uint64_t full[STAGES], empty[STAGES];
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; i++) {
      init(full + i, 1);
      init(empty + i, 1);
    }
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
#pragma unroll 1
    for (long long i = 0; i < produced; i++) {
      wait(empty + i % STAGES, (i / STAGES + 1) % 2);
      arrive_expect(full + i % STAGES, BYTES);
      copy(tile[i % STAGES], in + i * BYTES, BYTES, full + i % STAGES);
    }
  } else if (threadIdx.x >= 32) {
    float sum = 0;
#pragma unroll 1
    for (long long i = 0; i < consumed; i++) {
      wait(full + i % STAGES, i / STAGES % 2);
      sum += tile[i % STAGES][threadIdx.x];
      named_sync(1, 128);
      if (threadIdx.x == 32) arrive(empty + i % STAGES);
    }
    out[blockIdx.x * 128 + threadIdx.x - 32] = sum;
  }
}

// One round more where the tiles do not come out even.
extern "C" __global__ void __launch_bounds__(160) uneven(const char* in, float* out, size_t n) {
  size_t tiles = rounded_up(n, TILE);
  pipe(in, out, tiles, tiles);
}

// The producer leaves out the last tile, unless it is full.
extern "C" __global__ void __launch_bounds__(160) uneven_producer(const char* in, float* out, size_t n) {
  pipe(in, out, n / TILE, rounded_up(n, TILE));
}

// Sequences one behind the other, whose beginnings lie in memory.
extern "C" __global__ void __launch_bounds__(160) packed(const char* in, float* out, const int* begins) {
  long long length = (long long)begins[blockIdx.x + 1] - begins[blockIdx.x];
  long long tiles = (length + TILE - 1) / TILE;
  pipe(in, out, tiles, tiles);
}

// The producer rounds down.
extern "C" __global__ void __launch_bounds__(160) packed_producer(const char* in, float* out, const int* begins) {
  long long length = (long long)begins[blockIdx.x + 1] - begins[blockIdx.x];
  pipe(in, out, length / TILE, (length + TILE - 1) / TILE);
}

__device__ __forceinline__ void multiply(float (&sum)[4], uint64_t a, uint64_t b) {
  asm volatile("wgmma.fence.sync.aligned;");
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "l"(a), "l"(b));
  asm volatile("wgmma.commit_group.sync.aligned;");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

// A warpgroup multiplies as often as a word in memory says.
extern "C" __global__ void __launch_bounds__(128) multiplied(float* out, const int* lengths, uint64_t a, uint64_t b) {
  float sum[4] = {};
  int rounds = lengths[blockIdx.x];
  for (int i = 0; i < rounds; i++) {
    __syncthreads();
    multiply(sum, a, b + i);
  }
  out[threadIdx.x] = sum[0] + sum[1] + sum[2] + sum[3];
}

// The last warp has a word of its own.
extern "C" __global__ void __launch_bounds__(128) multiplied_apart(float* out, const int* lengths, uint64_t a, uint64_t b) {
  float sum[4] = {};
  int rounds = lengths[threadIdx.x / 96];
  for (int i = 0; i < rounds; i++) multiply(sum, a, b + i);
  out[threadIdx.x] = sum[0] + sum[1] + sum[2] + sum[3];
}
