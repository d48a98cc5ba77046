//! A scan that looks back by the index of the CTA: state 1 is the sum of its own part, state 2 the sum of all parts up to it. Few
//! CTAs are resident, but they start in the order of their indices.
protocol look_back_launched

param N in 1..  // parts

semaphore state[N] = 0

grid cta[n in 0..N] launch ascending resident 1.. {
    if n == 0 {
        state[n] = 2
    } else {
        state[n] = 1
        wait state[n - 1] >= 2
        state[n] = 2
    }
}

expect deadlock: proved
