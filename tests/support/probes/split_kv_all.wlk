//! The first split waits for the others, which start later.
protocol split_kv_all

param T in 1..
param S in 1..
semaphore arrived[T] = 0

grid cta[t in 0..T][s in 0..S] launch ascending resident 1.. {
    if s == 0 {
        wait arrived[t] == S - 1
    }
    arrived[t] += 1
}

expect deadlock: refuted
