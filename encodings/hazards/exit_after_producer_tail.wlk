//! The same cluster whose producer acquires every stage once more before it ends (`producer_tail`): each
//! remote arrival is waited for, so CTA 0 is there.
protocol exit_after_producer_tail

param S in 1..=4  // stages
param T in 1..    // consumer threads
param N in 0..    // iterations

mbarrier full[c in 0..2, s in 0..S] { arrivals: 1 } cta c
mbarrier empty[c in 0..2, s in 0..S] { arrivals: T } cta c

role load cta 0 {
    var p = producer(S)
    repeat N {
        wait.acquire.cluster empty[0, p.index] p.phase
        arrive.release.cluster full[1, p.index]
        advance p
    }
    repeat S {
        wait.acquire.cluster empty[0, p.index] p.phase
        advance p
    }
}

role math[t in 0..T] cta 1 {
    var c = consumer(S)
    repeat N {
        wait.acquire.cluster full[1, c.index] c.phase
        arrive.release.cluster empty[0, c.index]
        advance c
    }
}

expect deadlock: proved
expect uninitialized: proved
