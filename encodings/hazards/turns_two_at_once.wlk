//! CTAs that take turns two at a time: who asserts to be alone is wrong.
protocol turns_two_at_once

param N in 1..

semaphore turn = 0
semaphore busy = 0

grid cta[n in 0..N] launch ascending resident 1.. {
    wait turn >= n / 2
    busy += 1
    assert busy == n + 1
    turn += 1
}

expect assertion: refuted at N = 2, R = 2
