//! A counter in global memory between clusters: in every round each thread block adds one (release)
//! and waits until all have (acquire). Threads of a block meet before and after.
protocol cluster_counter

param C in 1..  // clusters
param B in 1..  // blocks per cluster
param N in 0..  // rounds

semaphore done = 0

role block[cluster in 0..C][b in 0..B] {
    for i in 0..N {
        done += 1
        wait done >= C * B * (i + 1)
    }
}

expect deadlock: proved
