//! Two consumers take turns on a ring of one stage: whoever comes early takes the phase before for its own.
protocol consumers_take_turns_one_stage

param S in 1..  // stages
param K in 0..

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }

role load {
    for k in 0..K {
        wait empty[k % S] (k / S + 1) % 2
        arrive full[k % S]
    }
}

role math[c in 0..2] {
    for k in 0..K {
        if k % 2 == c {
            wait full[k % S] k / S % 2
            arrive empty[k % S]
        }
    }
}

expect deadlock: refuted at S = 1, K = 2
