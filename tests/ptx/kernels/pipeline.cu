// A pipeline of bulk copies, two warps that compute, and bulk stores: five stages on the way in and two on
// the way out, each as the remainder of the round. The compiler writes the loops out four times.
#include "sync.cuh"

enum Bug { NONE, READS_LATE, ONE_BUFFER, NOT_DRAINED };

template <Bug BUG>
__device__ void pipeline(float const* in, float* out, int n) {
  constexpr int S = 5;
  extern __shared__ __align__(128) unsigned char mem[];
  float* a = reinterpret_cast<float*>(mem);              // S * 256 floats
  float* b = reinterpret_cast<float*>(mem + S * 1024);   // 2 * 256 floats
  __shared__ uint64_t full[S], empty[S], done[2], freed[2];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (int s = 0; s < S; s++) {
      init(&full[s], 1);
      init(&empty[s], 64);
    }
    for (int s = 0; s < 2; s++) {
      init(&done[s], 64);
      init(&freed[s], 32);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (warp == 0) {
    if (lane == 0) {
      for (int i = 0; i < n; i++) {
        int s = i % S;
        wait(&empty[s], ((i / S) & 1) ^ 1);
        arrive_expect(&full[s], 1024);
        copy(a + s * 256, in + i * 256, 1024, &full[s]);
      }
    }
  } else if (warp < 3) {
    int t = threadIdx.x - 32;
    for (int i = 0; i < n; i++) {
      int s = i % S, d = i & 1;
      wait(&full[s], (i / S) & 1);
      float4 v = reinterpret_cast<float4*>(a + s * 256)[t];
      if (BUG == READS_LATE) arrive(&empty[s]);
      float w = a[s * 256 + (t * 4 + 5) % 256];
      if (BUG != READS_LATE) arrive(&empty[s]);
      wait(&freed[d], ((i / 2) & 1) ^ 1);
      reinterpret_cast<float4*>(b + (BUG == ONE_BUFFER ? 0 : d * 256))[t] = make_float4(v.x + w, v.y, v.z, v.w);
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      arrive(&done[d]);
    }
  } else {
    for (int i = 0; i < n; i++) {
      int d = i & 1;
      wait(&done[d], (i / 2) & 1);
      if (lane == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;" ::"l"(
                         __cvta_generic_to_global(out + i * 256)), "r"(shared_address(b + d * 256)) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        if (BUG != NOT_DRAINED) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
      }
      __syncwarp();
      arrive(&freed[d]);
    }
  }
}
#define KERNEL(NAME, BUG)                                                 \
  extern "C" __global__ void __launch_bounds__(128) NAME(                 \
      float const* in, float* out, int rounds) {                          \
    pipeline<BUG>(in, out, rounds);                                       \
  }
KERNEL(pipeline, NONE)
KERNEL(pipeline_reads_late, READS_LATE)
KERNEL(pipeline_one_buffer, ONE_BUFFER)
KERNEL(pipeline_not_drained, NOT_DRAINED)
