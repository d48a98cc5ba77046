//! Clusters of two in a grid of unknown size, a cluster barrier, a software grid barrier each round.
protocol cluster_rounds

param G in 1..
param ROUNDS in 0..
param T in 1..

barrier cluster[G] { arrivals: 2 * T }
semaphore arrived = 0

role thread[g in 0..G][cta in 0..2][t in 0..T] {
    for i in 0..ROUNDS {
        sync cluster[g]
        if cta == 0 && t == 0 {
            arrived += 1
            wait arrived >= (i + 1) * G
        }
        sync cluster[g]
    }
}

expect deadlock: proved
