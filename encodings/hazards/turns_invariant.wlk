//! CTAs take turns at a counter, each adding 1 after its turn: the counter never passes the number
//! of CTAs, and says whose turn it is while they work.
protocol turns_invariant

param N in 1..

semaphore turn = 0
semaphore busy = 0

invariant turn <= N
invariant busy <= N

grid cta[n in 0..N] launch ascending resident 1.. {
    wait turn == n
    busy += 1
    assert busy == n + 1
    turn += 1
}

expect assertion: bounded
