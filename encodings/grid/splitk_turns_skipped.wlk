//! A CTA without k-tiles leaves before its turn: whoever waits for all of them waits for ever.
protocol splitk_turns_skipped

param C in 1..
param S in 1..=4
param K in 0..

mbarrier full[C, S] { arrivals: 1 }
mbarrier empty[C, S] { arrivals: 1 }
semaphore turn = 0

role producer[c in 0..C] {
    var p = producer(S)
    for k in 0..K {
        wait empty[c, p.index] p.phase
        arrive full[c, p.index]
        advance p
    }
}

role consumer[c in 0..C] {
    var q = consumer(S)
    for k in 0..K {
        wait full[c, q.index] q.phase
        arrive empty[c, q.index]
        advance q
    }
    if c >= K {
        return
    }
    wait turn == c
    turn += 1
}

role epilogue {
    wait turn == C
}

expect deadlock: refuted
expect deadlock: proved assuming K >= C
