//! The same where a consumer begins anew at stage 0, whichever stage is its next one.
protocol consumers_take_turns_from_zero

param S in 2..  // stages
param K in 0..

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }

role load {
    var p = producer(S)
    repeat K {
        wait empty[p.index] p.phase
        arrive full[p.index]
        advance p
    }
}

role math[c in 0..2] {
    var stage = c
    var phase = 0
    for k in 0..K {
        if k % 2 == c {
            wait full[stage] phase
            arrive empty[stage]
            stage = stage + 2
            if stage >= S {
                stage = 0
                phase = phase ^ 1
            }
        }
    }
}

expect deadlock: refuted at S = 2, K = 5
