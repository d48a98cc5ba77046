//! The same with a neighbour for the last CTA, too: all wait in a circle.
protocol stream_k_wrapped

param C in 1..
param S in 1..=3
param K in 0..

mbarrier full[C, S] { arrivals: 1 }
mbarrier empty[C, S] { arrivals: 1 }
semaphore flag[C] = 0

role producer[c in 0..C] {
    for k in 0..K {
        wait empty[c, k % S] (k / S + 1) % 2
        arrive full[c, k % S]
    }
}

role consumer[c in 0..C] {
    for k in 0..K {
        wait full[c, k % S] k / S % 2
        arrive empty[c, k % S]
    }
    if C > 1 {
        wait flag[(c + 1) % C] >= 1
    }
    flag[c] += 1
}

expect deadlock: refuted at C = 2, S = 1, K = 0
expect deadlock: proved assuming C <= 1
