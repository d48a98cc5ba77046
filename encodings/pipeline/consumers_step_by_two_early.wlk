//! The same where a consumer flips its phase in the last stage but one: every round it flips one step too early.
protocol consumers_step_by_two_early

param S in 2..=6
param K in 0..

assume S % 2 == 0

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }

role load {
    for k in 0..2 * K {
        wait empty[k % S] (k / S + 1) % 2
        arrive full[k % S]
    }
}

role math[c in 0..2] {
    var s = c
    var phase = 0
    for k in 0..K {
        wait full[s] phase
        arrive empty[s]
        s = s + 2
        if s >= S {
            s = s - S
        }
        if s + 2 >= S {
            phase = phase ^ 1
        }
    }
}

expect deadlock: refuted at S = 4, K = 2
