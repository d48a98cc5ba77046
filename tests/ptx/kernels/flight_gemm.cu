// A GEMM for Hopper with one multiplication in flight: tiles of 128 x 128 x 64 in several stages, copied by one
// thread with tensor copies and read by two warpgroups through descriptors with 128-byte swizzle. A stage is
// given back one step late, when at most the last step's multiplications are under way, by each warp or by one
// thread for its whole warpgroup.
#include "sync.cuh"

enum Bug { NONE, RELEASES_EARLY, WAITS_TOO_LITTLE };

struct alignas(64) TensorMap {
  char opaque[128];
};

__device__ __forceinline__ void copy_tile(void* to, TensorMap const* map, int x, int y, uint64_t* b) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(to)),
      "l"(map), "r"(x), "r"(y), "r"(shared_address(b)) : "memory");
}

// Rows of 128 bytes, swizzled, eight of them to an atom.
__device__ __forceinline__ uint64_t matrix(void const* at) {
  uint64_t word = (shared_address(at) & 0x3ffff) >> 4;
  word |= uint64_t(16 >> 4) << 16;
  word |= uint64_t(1024 >> 4) << 32;
  word |= uint64_t(1) << 62;
  return word;
}

__device__ __forceinline__ void multiply(float (&d)[64], uint64_t a, uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, 1, 1, 1, 0, 0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
        "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
      : "l"(a), "l"(b));
}

template <int N>
__device__ __forceinline__ void wait_multiplied() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

template <Bug BUG, bool BY_GROUP, int S>
__device__ void gemm(TensorMap const& map_a, TensorMap const& map_b, float* c, int k) {
  constexpr int A = 128 * 64 * 2, B = 128 * 64 * 2;
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ uint64_t full[S], empty[S];
  unsigned char *a = memory, *b = memory + S * A;
  int group = threadIdx.x / 128, thread = threadIdx.x % 128, steps = k / 64;
  if (threadIdx.x == 0) {
    for (int s = 0; s < S; s++) {
      init(&full[s], 1);
      init(&empty[s], BY_GROUP ? 2 : 8);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  int stage = 0;
  uint32_t phase = 0;
  if (group == 2) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (thread == 0) {
#pragma unroll 1
      for (int step = 0; step < steps; step++) {
        wait(&empty[stage], phase ^ 1);
        arrive_expect(&full[stage], A + B);
        copy_tile(a + stage * A, &map_a, step * 64, blockIdx.x * 128, &full[stage]);
        copy_tile(b + stage * B, &map_b, step * 64, blockIdx.y * 128, &full[stage]);
        if (++stage == S) {
          stage = 0;
          phase ^= 1;
        }
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    float d[64];
    for (int i = 0; i < 64; i++) d[i] = 0;
    int before = 0;
    bool releases = BY_GROUP ? thread == 0 : thread % 32 == 0;
#pragma unroll 1
    for (int step = 0; step < steps; step++) {
      wait(&full[stage], phase);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
      for (int inner = 0; inner < 4; inner++) {
        multiply(d, matrix(a + stage * A + group * 64 * 128 + inner * 32), matrix(b + stage * B + inner * 32));
      }
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      if (BUG == RELEASES_EARLY && step > 0 && releases) arrive(&empty[before]);
      wait_multiplied<BUG == WAITS_TOO_LITTLE ? 2 : 1>();
      if (BUG != RELEASES_EARLY && step > 0 && releases) arrive(&empty[before]);
      before = stage;
      if (++stage == S) {
        stage = 0;
        phase ^= 1;
      }
    }
    wait_multiplied<0>();
    if (steps > 0 && releases) arrive(&empty[before]);
    for (int i = 0; i < 64; i++) c[(blockIdx.x * 256 + threadIdx.x) * 64 + i] = d[i];
  }
}

#define KERNEL(NAME, BUG, BY_GROUP, S)                                                                    \
  extern "C" __global__ void __launch_bounds__(384, 1) NAME(                                              \
      __grid_constant__ TensorMap const a, __grid_constant__ TensorMap const b, float* c, int k) {        \
    gemm<BUG, BY_GROUP, S>(a, b, c, k);                                                                   \
  }
KERNEL(flight_gemm, NONE, false, 5)
KERNEL(flight_gemm_by_group, NONE, true, 4)
KERNEL(flight_gemm_releases_early, RELEASES_EARLY, false, 2)
KERNEL(flight_gemm_waits_too_little, WAITS_TOO_LITTLE, false, 2)
