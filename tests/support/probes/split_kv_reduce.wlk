//! The last split waits for all others.
protocol split_kv_reduce

param T in 1..
param S in 1..
semaphore arrived[T] = 0

grid cta[t in 0..T][s in 0..S] launch ascending resident 1.. {
    if s == S - 1 {
        wait arrived[t] == S - 1
    }
    arrived[t] += 1
}

expect deadlock: proved
