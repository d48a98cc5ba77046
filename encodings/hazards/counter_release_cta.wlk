//! CTAs of different clusters hand data on through counters in global memory. The producer
//! releases at CTA scope only: the consumer is not in it.
protocol counter_release_cta

param C in 2..  // clusters
param N in 1..  // rounds

semaphore ready[C] = 0
buffer out[C, N]

role producer[c in 0..C] cluster c {
    for i in 0..N {
        write out[c, i]
        red.release.cta ready[c] += 1
    }
}

role consumer[c in 0..C] cluster (c + 1) % C {
    for i in 0..N {
        wait.acquire.gpu ready[c] >= i + 1
        read out[c, i]
    }
}

expect stale_read: refuted at C = 2, N = 1
expect race: proved
