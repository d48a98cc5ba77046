//! CTA 0 opens a gate for each round when all others have come, and every CTA has a ring of its own.
protocol leader_gate

param C in 1..
param S in 1..=3
param K in 0..
param ROUNDS in 0..

mbarrier full[C, S] { arrivals: 1 }
mbarrier empty[C, S] { arrivals: 1 }
semaphore arrived = 0
semaphore gate = 0

role producer[c in 0..C] {
    var p = producer(S)
    for i in 0..ROUNDS {
        for k in 0..K {
            wait empty[c, p.index] p.phase
            arrive full[c, p.index]
            advance p
        }
    }
}

role consumer[c in 0..C] {
    var q = consumer(S)
    for i in 0..ROUNDS {
        for k in 0..K {
            wait full[c, q.index] q.phase
            arrive empty[c, q.index]
            advance q
        }
        if c == 0 {
            wait arrived == (i + 1) * (C - 1)
            gate += 1
        } else {
            arrived += 1
            wait gate >= i + 1
        }
    }
}

expect deadlock: proved
