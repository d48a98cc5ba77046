// How a run is played. Each member is a warp, or a thread where nobody uses a named barrier; all are in one CTA. The
// run's actions happen one by one: action `turn` waits until `turn` actions have happened. What lands later is done by
// a thread of its own. After the last action everybody goes on freely, into the instruction where it should block.

#include <cstdio>
#include <cstdlib>
#include <chrono>
#include <thread>
#include <unistd.h>
#include <cuda_runtime.h>

#define CHECK(call)                                                                     \
    do {                                                                                \
        cudaError_t error = (call);                                                     \
        if (error != cudaSuccess) {                                                     \
            printf("cannot run: %s\n", cudaGetErrorString(error));                      \
            exit(2);                                                                    \
        }                                                                               \
    } while (0)

__device__ unsigned shared_address(void *p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ bool has_completed(unsigned mbarrier, int parity) {
    int completed;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
                 : "=r"(completed) : "r"(mbarrier), "r"(parity) : "memory");
    return completed;
}

__device__ void mbarrier_arrive(unsigned mbarrier, int count) {
    asm volatile("{ .reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0], %1; }" ::"r"(mbarrier), "r"(count) : "memory");
}

__device__ void mbarrier_init(unsigned mbarrier, int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(mbarrier), "r"(count) : "memory");
    __threadfence_block();
}

__device__ void complete_tx(unsigned mbarrier, int bytes) {
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(mbarrier), "r"(bytes) : "memory");
}

// One lane does everything but named barriers.
__device__ void act(const Op &op, unsigned mbarriers, unsigned long long *words) {
    unsigned mbarrier = mbarriers + 8 * op.slot;
    volatile unsigned long long *word = words + op.slot;
    unsigned long long amount = (unsigned long long)op.amount, other = (unsigned long long)op.other;
    switch (op.verb) {
    case WAIT_EQUAL: while (*word != amount) __nanosleep(100); break;
    case WAIT_AT_LEAST: while ((long long)*word < op.amount) __nanosleep(100); break;
    case WAIT_SWAP: while (atomicCAS(words + op.slot, amount, other) != amount) __nanosleep(100); break;
    case ADD: case RELEASE: atomicAdd(words + op.slot, amount); break;
    case SET: atomicExch(words + op.slot, amount); break;
    case ACQUIRE:
        for (unsigned long long has = *word;;) {
            if ((long long)has >= op.amount && atomicCAS(words + op.slot, has, has - amount) == has) break;
            __nanosleep(100);
            has = *word;
        }
        break;
    case ARRIVE: case COMMIT_LANDS: mbarrier_arrive(mbarrier, (int)op.amount); break;
    case WAIT_PARITY: while (!has_completed(mbarrier, (int)op.amount)) __nanosleep(100); break;
    case EXPECT_TX:
        asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(mbarrier), "r"((int)op.amount) : "memory");
        break;
    case COMPLETE_TX: case COPY_LANDS:
        // Bytes come in pieces: those that complete the phase first.
        if (op.other) complete_tx(mbarrier, (int)op.other);
        complete_tx(mbarrier, (int)(op.amount - op.other));
        break;
    case INIT: mbarrier_init(mbarrier, (int)op.amount); break;
    default: break;
    }
    __threadfence();
}

__global__ void play(Run run, const Member *members, const Op *ops, const Op *landings, const Cell *cells,
                     unsigned long long *words, volatile int *at, volatile int *progress) {
    extern __shared__ unsigned long long storage[];
    __shared__ volatile int turn;
    unsigned mbarriers = shared_address(storage);
    if (threadIdx.x == 0) {
        turn = 0;
        for (int cell = 0; cell < run.cells; cell++)
            if (cells[cell].kind == MBARRIER) mbarrier_init(mbarriers + 8 * cells[cell].slot, (int)cells[cell].start);
    }
    __syncthreads();
    int lanes = run.warps ? 32 : 1;
    bool lands = threadIdx.x / 32 == blockDim.x / 32 - 1;
    int me = lands ? run.members : threadIdx.x / lanes;
    if (lands && threadIdx.x % 32 != 0) return;
    if (me > run.members || (me == run.members && !lands)) return;
    bool leads = lands || threadIdx.x % lanes == 0;
    const Op *mine = lands ? landings : ops + members[me].first;
    int count = lands ? run.landings : members[me].count;
    // A member without a place never starts.
    if (!lands && members[me].ends_at < 0) return;
    for (int next = 0; next < count; next++) {
        const Op op = mine[next];
        bool scheduled = op.turn >= 0;
        while (turn != (scheduled ? op.turn : run.turns)) __nanosleep(100);
        // Whoever blocks at a named barrier gives the turn on before it registers.
        __nanosleep(3000);
        if (!lands && leads) { at[me] = next; __threadfence_system(); }
        bool blocks = op.verb == SYNC;
        if (!blocks && op.verb != BAR_ARRIVE && leads) act(op, mbarriers, words);
        if (op.verb == BAR_ARRIVE) asm volatile("barrier.cta.arrive %0, %1;" ::"r"(op.slot), "r"((int)op.amount) : "memory");
        if (run.warps && !lands) __syncwarp();
        if (scheduled && leads) { turn = op.turn + 1; *progress = op.turn + 1; __threadfence_system(); }
        if (blocks) asm volatile("barrier.cta.sync %0, %1;" ::"r"(op.slot), "r"((int)op.amount) : "memory");
    }
    if (!lands && leads) { at[me] = count; __threadfence_system(); }
}

static void *on_device(const void *from, size_t bytes) {
    void *to;
    CHECK(cudaMalloc(&to, bytes ? bytes : 1));
    if (from) CHECK(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
    return to;
}

int main(int argc, char **argv) {
    int number = argc > 1 ? atoi(argv[1]) : 0;
    if (number < 0 || number >= (int)(sizeof RUNS / sizeof *RUNS)) {
        printf("there is no run %d\n", number);
        return 2;
    }
    const Run run = RUNS[number];
    const Member *members = MEMBERS + run.first_member;
    const Cell *cells = CELLS + run.first_cell;
    unsigned long long *start = (unsigned long long *)calloc(run.cells + 1, sizeof *start);
    int mbarriers = 0;
    for (int cell = 0; cell < run.cells; cell++) {
        if (cells[cell].kind == WORD) start[cells[cell].slot] = (unsigned long long)cells[cell].start;
        if (cells[cell].kind != WORD) mbarriers++;
    }
    volatile int *host_at;
    CHECK(cudaSetDeviceFlags(cudaDeviceMapHost));
    CHECK(cudaHostAlloc((void **)&host_at, sizeof(int) * (run.members + 1), cudaHostAllocMapped));
    for (int member = 0; member <= run.members; member++) host_at[member] = member < run.members ? -1 : 0;
    int *at;
    CHECK(cudaHostGetDevicePointer((void **)&at, (void *)host_at, 0));
    volatile int *progress = host_at + run.members;
    int threads = ((run.members * (run.warps ? 32 : 1) + 31) / 32 + 1) * 32;
    play<<<1, threads, 8 * mbarriers + 8>>>(
        run, (Member *)on_device(members, sizeof *members * run.members), (Op *)on_device(OPS, sizeof OPS),
        (Op *)on_device(LANDINGS + run.first_landing, sizeof *LANDINGS * run.landings),
        (Cell *)on_device(cells, sizeof *cells * run.cells), (unsigned long long *)on_device(start, sizeof *start * (run.cells + 1)),
        at, at + run.members);
    CHECK(cudaGetLastError());
    // Half a second without progress is taken for a hang.
    cudaError_t state;
    int seen = -1, still = 0;
    while ((state = cudaStreamQuery(0)) == cudaErrorNotReady && still < 100) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        int now = *progress;
        for (int member = 0; member < run.members; member++) now += host_at[member];
        still = now == seen ? still + 1 : 0;
        seen = now;
    }
    if (state != cudaSuccess && state != cudaErrorNotReady) CHECK(state);
    bool hangs = state == cudaErrorNotReady, foreseen = *progress == run.turns, should_hang = false;
    for (int member = 0; member < run.members; member++) {
        should_hang = should_hang || members[member].ends_at != members[member].count;
        foreseen = foreseen && host_at[member] == members[member].ends_at;
    }
    // A member that never starts is no running thread.
    bool blocks = false;
    for (int member = 0; member < run.members; member++)
        blocks = blocks || (members[member].ends_at >= 0 && members[member].ends_at != members[member].count);
    foreseen = foreseen && hangs == blocks;
    printf("%s\n", run.name);
    for (int member = 0; member < run.members; member++) {
        int place = host_at[member];
        if (place == members[member].count) continue;
        if (place < 0) printf("%s never starts\n", members[member].name);
        else printf("%s is blocked: %s\n", members[member].name, TEXTS[OPS[members[member].first + place].text]);
    }
    if (!foreseen) printf("NOT AS FORESEEN: %d of %d actions happened\n", (int)*progress, run.turns);
    else printf(should_hang ? "HANG\n" : "COMPLETES\n");
    fflush(stdout);
    // The device is not waited for.
    _exit(!foreseen ? 3 : should_hang ? 1 : 0);
}
