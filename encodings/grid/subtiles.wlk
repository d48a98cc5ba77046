//! Every rank publishes its sub-tiles and waits for those of the next rank: `rank * SUB + local`.
protocol subtiles

param C in 1..
param SUB in 1..

semaphore ready[C * SUB] = 0

grid rank[c in 0..C] resident all {
    for s in 0..SUB {
        ready[c * SUB + s] += 1
    }
    for s in 0..SUB {
        wait ready[(c + 1) % C * SUB + s] >= 1
    }
}

expect deadlock: proved
