// arch: sm_100a
// Attention as it is written for Blackwell: one thread copies the queries and then keys and values in a ring, one
// thread multiplies twice for each block of keys, and four warps turn the scores in tensor memory into weights,
// which lie there, too, and are an operand of the second product.
#include "sync.cuh"

enum Bug { NONE, MULTIPLIES_EARLY, READS_EARLY, SCORES_OVERWRITTEN, STORE_NOT_WAITED };

struct alignas(64) TensorMap {
  char opaque[128];
};

__device__ __forceinline__ void copy_tile(void* to, TensorMap const* map, int x, int y, uint64_t* b) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(to)),
      "l"(map), "r"(x), "r"(y), "r"(shared_address(b)) : "memory");
}

__device__ __forceinline__ void commit(uint64_t* b) {
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(
                   shared_address(b)) : "memory");
}

// Rows of 128 bytes, swizzled, eight of them to an atom.
__device__ __forceinline__ uint64_t matrix(uint32_t at) {
  uint64_t word = (at & 0x3ffff) >> 4;
  word |= uint64_t(1024 >> 4) << 32;
  word |= uint64_t(1) << 46;
  word |= uint64_t(2) << 61;
  return word;
}

__device__ __forceinline__ void multiply(uint32_t d, uint64_t a, uint64_t b, uint32_t what, uint32_t add) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %4, 0;\n"
      "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;\n"
      "}" ::"r"(d), "l"(a), "l"(b), "r"(what), "r"(add) : "memory");
}

__device__ __forceinline__ void load_row(uint32_t (&word)[32], uint32_t from) {
  asm volatile(
      "tcgen05.ld.sync.aligned.32x32b.x32.b32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
      "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, [%32];"
      : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3]), "=r"(word[4]), "=r"(word[5]), "=r"(word[6]),
        "=r"(word[7]), "=r"(word[8]), "=r"(word[9]), "=r"(word[10]), "=r"(word[11]), "=r"(word[12]),
        "=r"(word[13]), "=r"(word[14]), "=r"(word[15]), "=r"(word[16]), "=r"(word[17]), "=r"(word[18]),
        "=r"(word[19]), "=r"(word[20]), "=r"(word[21]), "=r"(word[22]), "=r"(word[23]), "=r"(word[24]),
        "=r"(word[25]), "=r"(word[26]), "=r"(word[27]), "=r"(word[28]), "=r"(word[29]), "=r"(word[30]),
        "=r"(word[31])
      : "r"(from));
}

// The first operand lies in tensor memory.
__device__ __forceinline__ void multiply_from(uint32_t d, uint32_t a, uint64_t b, uint32_t what, uint32_t add) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %4, 0;\n"
      "tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, p;\n"
      "}" ::"r"(d), "r"(a), "l"(b), "r"(what), "r"(add) : "memory");
}

__device__ __forceinline__ void store_row(uint32_t to, uint32_t const (&word)[32]) {
  asm volatile(
      "tcgen05.st.sync.aligned.32x32b.x8.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8};" ::"r"(to), "r"(word[0]),
      "r"(word[1]), "r"(word[2]), "r"(word[3]), "r"(word[4]), "r"(word[5]), "r"(word[6]), "r"(word[7]) : "memory");
}

template <Bug BUG>
__device__ void attention(TensorMap const& map_q, TensorMap const& map_k, TensorMap const& map_v, float* o,
                          int blocks) {
  // Tiles of 64 elements of 16 bits per row: 128 queries, 64 keys and values.
  constexpr int S = 2, Q = 128 * 128, KV = 64 * 128;
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ __align__(16) uint64_t full_q, full_k[S], empty_k[S], full_v[S], empty_v[S], scored, weighed, done;
  __shared__ uint32_t tensor;
  unsigned char *k = memory + Q, *v = memory + Q + S * KV;
  int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
  if (warp == 0 && elected()) {
    init(&full_q, 1);
    for (int s = 0; s < S; s++) {
      init(&full_k[s], 1);
      init(&empty_k[s], 1);
      init(&full_v[s], 1);
      init(&empty_v[s], 1);
    }
    init(&scored, 1);
    init(&weighed, 4);
    init(&done, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  if (warp == 2) {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 128;" ::"r"(
                     shared_address(&tensor)) : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
  }
  __syncthreads();
  // 64 columns of scores, whose first half the weights are written over, and 64 of the result.
  uint32_t scores = tensor, result = tensor + 64;
  int stage = 0;
  uint32_t phase = 0;
  if (warp == 0) {
    if (elected()) {
      arrive_expect(&full_q, Q);
      copy_tile(memory, &map_q, 0, blockIdx.x * 128, &full_q);
#pragma unroll 1
      for (int block = 0; block < blocks; block++) {
        wait(&empty_k[stage], phase ^ 1);
        arrive_expect(&full_k[stage], KV);
        copy_tile(k + stage * KV, &map_k, 0, block * 64, &full_k[stage]);
        wait(&empty_v[stage], phase ^ 1);
        arrive_expect(&full_v[stage], KV);
        copy_tile(v + stage * KV, &map_v, 0, block * 64, &full_v[stage]);
        if (++stage == S) {
          stage = 0;
          phase ^= 1;
        }
      }
    }
  } else if (warp == 1) {
    if (elected()) {
      // 128 x 64 of 32-bit floats, from bf16; the values are not transposed, as it is called for them.
      constexpr uint32_t WHAT = (1 << 4) | (1 << 7) | (1 << 10) | ((64 / 8) << 17) | ((128 / 16) << 24);
      uint64_t q = matrix(shared_address(memory));
      wait(&full_q, 0);
#pragma unroll 1
      for (int block = 0; block < blocks; block++) {
        wait(&full_k[stage], phase);
        uint64_t keys = matrix(shared_address(k + stage * KV)), values = matrix(shared_address(v + stage * KV));
        for (int inner = 0; inner < 4; inner++) {
          multiply(scores, q + inner * 2, keys + inner * 2, WHAT, inner > 0);
        }
        commit(&empty_k[stage]);
        commit(&scored);
        if (BUG != MULTIPLIES_EARLY) wait(&weighed, block & 1);
        asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
        wait(&full_v[stage], phase);
        for (int inner = 0; inner < 4; inner++) {
          multiply_from(result, scores + inner * 8, values + inner * 128, WHAT | (1 << 16), block > 0 || inner > 0);
        }
        commit(&empty_v[stage]);
        if (++stage == S) {
          stage = 0;
          phase ^= 1;
        }
      }
      commit(&done);
    }
  } else if (warp >= 4) {
    uint32_t lanes = (warp - 4) << 21;
    uint32_t word[32];
#pragma unroll 1
    for (int block = 0; block < blocks; block++) {
      wait(&scored, block & 1);
      asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
      for (int half = 0; half < 2; half++) {
        load_row(word, scores + half * 32 + lanes);
        asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
        if (BUG == SCORES_OVERWRITTEN && half == 0) {
          __syncwarp();
          if (threadIdx.x % 32 == 0) arrive(&weighed);
        }
        for (int part = 0; part < 2; part++) store_row(scores + half * 16 + part * 8 + lanes, word);
        if (BUG != STORE_NOT_WAITED) asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
      }
      asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
      if (BUG != SCORES_OVERWRITTEN) {
        __syncwarp();
        if (threadIdx.x % 32 == 0) arrive(&weighed);
      }
    }
    if (BUG != READS_EARLY) wait(&done, 0);
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    load_row(word, result + lanes);
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    o[blockIdx.x * 128 + threadIdx.x - 128] = __uint_as_float(word[0] + word[31]);
  }
  __syncwarp();
  __syncthreads();
  if (warp == 2) {
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 128;" ::"r"(scores));
  }
}

#define KERNEL(NAME, BUG)                                                                        \
  extern "C" __global__ void __launch_bounds__(256, 1) NAME(                                     \
      __grid_constant__ TensorMap const q, __grid_constant__ TensorMap const k,                  \
      __grid_constant__ TensorMap const v, float* o, int blocks) {                               \
    attention<BUG>(q, k, v, o, blocks);                                                          \
  }
KERNEL(attention_forward, NONE)
KERNEL(attention_multiplies_early, MULTIPLIES_EARLY)
KERNEL(attention_reads_early, READS_EARLY)
KERNEL(attention_scores_overwritten, SCORES_OVERWRITTEN)
KERNEL(attention_store_not_waited, STORE_NOT_WAITED)
