// Each lane of a warp has an mbarrier of its own: it initialises it, or arrives at that of another CTA.
#include "sync.cuh"

#define KERNEL(NAME) extern "C" __global__ void __launch_bounds__(64) NAME
#define CLUSTER(NAME) extern "C" __global__ void __cluster_dims__(2) __launch_bounds__(64) NAME

template <int READY>
__device__ void ring(int n) {
  __shared__ uint64_t full[4], empty[4];
  if (threadIdx.x < 4) init(&empty[threadIdx.x], 32);
  if (threadIdx.x < READY) init(&full[threadIdx.x], 32);
  __syncthreads();
  int stage = 0, phase = 0;
  for (int i = 0; i < n; i++) {
    if (threadIdx.x < 32) {
      wait(&empty[stage], phase ^ 1);
      arrive(&full[stage]);
    } else {
      wait(&full[stage], phase);
      arrive(&empty[stage]);
    }
    if (++stage == 4) {
      stage = 0;
      phase ^= 1;
    }
  }
}

KERNEL(lanes_initialise)(int n) { ring<4>(n); }
KERNEL(lanes_initialise_too_few)(int n) { ring<3>(n); }

// Lane `i` tells CTA `i` that this CTA has come as far.
template <int TOLD>
__device__ void told(int n) {
  __shared__ uint64_t met;
  if (threadIdx.x == 0) {
    init(&met, 2);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  cluster_sync();
  for (int i = 0; i < n; i++) {
    if (threadIdx.x < TOLD) arrive_remote(&met, threadIdx.x);
    wait(&met, i & 1);
    __syncthreads();
  }
  cluster_sync();
}

CLUSTER(lanes_tell_ctas)(int n) { told<2>(n); }
CLUSTER(lanes_tell_one_cta)(int n) { told<1>(n); }
