//! Every CTA waits for the one before.
protocol signal_chain

param N in 1..
semaphore done[N] = 0

grid cta[n in 0..N] launch ascending resident 1.. {
    if n > 0 {
        wait done[n - 1] == 1
    }
    done[n] += 1
}

expect deadlock: proved
