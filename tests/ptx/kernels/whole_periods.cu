// Rings of two and of four stages, from tile to tile, in a loop that the compiler unrolls four times. An iteration of the unrolled loop
// goes through the stages once or twice, and leaves the stage where it was.
#include <stdint.h>

__device__ uint32_t place(const void *shared) { return (uint32_t)__cvta_generic_to_shared(shared); }

__device__ void init(uint64_t *bar) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(place(bar)) : "memory");
}

__device__ void arrive(uint64_t *bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(place(bar)) : "memory");
}

__device__ void wait(uint64_t *bar, uint32_t parity) {
  asm volatile(
      "{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra AGAIN;\n}" ::"r"(place(bar)),
      "r"(parity)
      : "memory");
}

template <int stages, int skipped>
__device__ void tiles(float *out, int tiles, int steps) {
  __shared__ uint64_t full[stages], empty[stages];
  __shared__ float smem[stages];
  if (threadIdx.x == 0) {
    for (int i = 0; i < stages; i++) {
      init(&full[i]);
      init(&empty[i]);
    }
  }
  __syncthreads();
  int stage = 0;
  uint32_t phase = 0;
  if (threadIdx.x == 0) {
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      for (int k = 0; k < steps; k++) {
        wait(&empty[stage], phase ^ 1);
        smem[stage] = tile + k;
        arrive(&full[stage]);
        if (++stage == stages) {
          stage = 0;
          phase ^= 1;
        }
      }
    }
  } else if (threadIdx.x == 32) {
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      float sum = 0;
      // One step less leaves a round of the ring that nobody empties.
      for (int k = 0; k < steps - skipped; k++) {
        wait(&full[stage], phase);
        sum += smem[stage];
        arrive(&empty[stage]);
        if (++stage == stages) {
          stage = 0;
          phase ^= 1;
        }
      }
      out[tile] = sum;
    }
  }
}

extern "C" __global__ void __launch_bounds__(64) two_stages(float *out, int count, int steps) { tiles<2, 0>(out, count, steps); }
extern "C" __global__ void __launch_bounds__(64) four_stages(float *out, int count, int steps) { tiles<4, 0>(out, count, steps); }
extern "C" __global__ void __launch_bounds__(64) two_stages_one_step_less(float *out, int count, int steps) { tiles<2, 1>(out, count, steps); }
extern "C" __global__ void __launch_bounds__(64) four_stages_one_step_less(float *out, int count, int steps) { tiles<4, 1>(out, count, steps); }
