// Attention over sequences whose lengths lie in memory: a producer, and two consumers that take turns. The compiler writes
// four rounds of the consumers out.
#include "sync.cuh"

constexpr int STAGES = 2, BYTES = 8192, ROWS = 128;

__device__ __forceinline__ void attend(const char* kv, float* out, int produced, int consumed) {
  __shared__ alignas(128) char tile[STAGES][BYTES];
  __shared__ uint64_t full[STAGES], empty[STAGES];
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; i++) {
      init(full + i, 1);
      init(empty + i, 2);
    }
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  __syncthreads();
  int group = threadIdx.x / 128;
  if (group == 0) {
    if (threadIdx.x == 0) {
      for (int i = 0; i < produced; i++) {
        wait(empty + i % STAGES, (i / STAGES + 1) % 2);
        arrive_expect(full + i % STAGES, BYTES);
        copy(tile[i % STAGES], kv + (size_t)i * BYTES, BYTES, full + i % STAGES);
      }
    }
  } else {
    float sum = 0;
    if (group == 2) named_arrive(1, 256);
    for (int i = 0; i < consumed; i++) {
      wait(full + i % STAGES, i / STAGES % 2);
      named_sync(group, 256);
      sum += tile[i % STAGES][threadIdx.x];
      named_arrive(3 - group, 256);
      if (threadIdx.x % 128 == 0) arrive(empty + i % STAGES);
    }
    out[blockIdx.x * 256 + threadIdx.x - 128] = sum;
  }
}

extern "C" __global__ void __launch_bounds__(384) varlen(const char* kv, float* out, const int* lengths) {
  int rounds = (lengths[blockIdx.x] + ROWS - 1) / ROWS;
  attend(kv, out, rounds, rounds);
}

// Lengths as differences of where the sequences begin. Each round is written once.
extern "C" __global__ void __launch_bounds__(256) varlen_packed(const char* kv, float* out, const int* begins) {
  __shared__ alignas(128) char tile[BYTES];
  __shared__ uint64_t full, empty;
  if (threadIdx.x == 0) {
    init(&full, 1);
    init(&empty, 128);
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  __syncthreads();
  int rounds = (begins[blockIdx.x + 1] - begins[blockIdx.x] + ROWS - 1) / ROWS;
  if (threadIdx.x == 128) {
#pragma unroll 1
    for (int i = 0; i < rounds; i++) {
      wait(&empty, (i + 1) % 2);
      arrive_expect(&full, BYTES);
      copy(tile, kv + (size_t)i * BYTES, BYTES, &full);
    }
  } else if (threadIdx.x < 128) {
    float sum = 0;
#pragma unroll 1
    for (int i = 0; i < rounds; i++) {
      wait(&full, i % 2);
      sum += tile[threadIdx.x];
      arrive(&empty);
    }
    out[blockIdx.x * 128 + threadIdx.x] = sum;
  }
}

// The producer leaves out the tile that is not full.
extern "C" __global__ void __launch_bounds__(384) varlen_rounds_down(const char* kv, float* out, const int* lengths) {
  int length = lengths[blockIdx.x];
  attend(kv, out, length / ROWS, (length + ROWS - 1) / ROWS);
}

// What the kernel itself writes may change.
extern "C" __global__ void __launch_bounds__(384) varlen_written(const char* kv, float* out, int* lengths) {
  int rounds = (lengths[blockIdx.x] + ROWS - 1) / ROWS;
  if (threadIdx.x == 383) lengths[blockIdx.x] = 0;
  attend(kv, out, rounds, rounds);
}
