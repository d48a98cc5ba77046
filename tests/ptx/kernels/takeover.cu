// arch: sm_100a
// A persistent kernel that takes work over from CTAs that have not been launched yet: one warp asks,
// everybody looks at the answers. And a GEMM step loop as the compiler writes it out, with an
// accumulator in tensor memory.
#include "sync.cuh"

enum Bug { NONE, ONE_MORE, NO_RELEASE };

struct alignas(64) TensorMap {
  char opaque[128];
};

__device__ __forceinline__ bool granted(ulonglong2 answer) {
  uint32_t yes;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      ".reg .b128 whole;\n"
      "mov.b128 whole, {%1, %2};\n"
      "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, whole;\n"
      "selp.b32 %0, 1, 0, p;\n"
      "}" : "=r"(yes) : "l"(answer.x), "l"(answer.y));
  return yes;
}

template <Bug BUG>
__device__ void takeover(float* out) {
  __shared__ __align__(16) ulonglong2 answer[2];
  __shared__ uint64_t full[2], empty[2];
  int warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    for (int s = 0; s < 2; s++) {
      init(&full[s], 1);
      init(&empty[s], BUG == ONE_MORE ? 129 : 128);
    }
  }
  __syncthreads();
  int stage = 0;
  uint32_t phase = 0;
  bool more = true;
  while (more) {
    if (warp == 0) {
      if (threadIdx.x == 0) {
        wait(&empty[stage], phase ^ 1);
        arrive_expect(&full[stage], 16);
        asm volatile(
            "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];" ::"r"(
                shared_address(&answer[stage])),
            "r"(shared_address(&full[stage])) : "memory");
      }
      __syncwarp();
    } else {
      out[threadIdx.x] += 1;
    }
    wait(&full[stage], phase);
    more = granted(answer[stage]);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    arrive(&empty[stage]);
    if (++stage == 2) {
      stage = 0;
      phase ^= 1;
    }
  }
}

__device__ __forceinline__ void copy_tile(void* to, TensorMap const* map, int x, int y, uint64_t* b) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(to)),
      "l"(map), "r"(x), "r"(y), "r"(shared_address(b)) : "memory");
}

__device__ __forceinline__ void commit(uint64_t* b) {
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(
                   shared_address(b)) : "memory");
}

template <Bug BUG>
__device__ void steps(TensorMap const& a, TensorMap const& b, float* c, int k) {
  constexpr int S = 4, A = 16384, B = 16384;
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ uint64_t full[S], empty[S], done;
  __shared__ uint32_t tensor;
  int warp = threadIdx.x / 32;
  if (warp == 0 && elected()) {
    for (int s = 0; s < S; s++) {
      init(&full[s], 1);
      init(&empty[s], 1);
    }
    init(&done, 1);
  }
  if (warp == 1) {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 128;" ::"r"(
                     shared_address(&tensor)) : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
  }
  __syncthreads();
  uint32_t accumulator = tensor;
  if (warp == 0) {
    if (elected()) {
      for (int i = 0; i < k / 64; i++) {
        int s = i % S;
        wait(&empty[s], ((i / S) & 1) ^ 1);
        arrive_expect(&full[s], A + B);
        copy_tile(memory + s * (A + B), &a, i * 64, blockIdx.x * 128, &full[s]);
        copy_tile(memory + s * (A + B) + A, &b, i * 64, blockIdx.y * 128, &full[s]);
      }
    }
  } else if (warp == 1) {
    if (elected()) {
      for (int i = 0; i < k / 64; i++) {
        int s = i % S;
        wait(&full[s], (i / S) & 1);
        uint64_t at = shared_address(memory + s * (A + B)) >> 4;
        asm volatile("tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, 1;" ::"r"(accumulator), "l"(at),
                     "l"(at + A / 16), "r"(0x8200490) : "memory");
        if (BUG != NO_RELEASE) commit(&empty[s]);
      }
      commit(&done);
    }
  }
  __syncwarp();
  wait(&done, 0);
  uint32_t word;
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=r"(word)
               : "r"(accumulator + (warp << 21)));
  asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
  c[blockIdx.x * 128 + threadIdx.x] = __uint_as_float(word);
  __syncthreads();
  if (warp == 1) {
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 128;" ::"r"(accumulator));
  }
}

extern "C" __global__ void __launch_bounds__(128) takeover_kernel(float* out) { takeover<NONE>(out); }
extern "C" __global__ void __launch_bounds__(128) takeover_counts_one_more(float* out) { takeover<ONE_MORE>(out); }
#define STEPS(NAME, BUG)                                                                  \
  extern "C" __global__ void __launch_bounds__(128, 1) NAME(                              \
      __grid_constant__ TensorMap const a, __grid_constant__ TensorMap const b, float* c, int k) { \
    steps<BUG>(a, b, c, k);                                                               \
  }
STEPS(steps_kernel, NONE)
STEPS(steps_never_released, NO_RELEASE)
