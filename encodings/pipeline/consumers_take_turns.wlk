//! Two consumers take turns on one ring of an even number of stages: consumer `c` has the k-tiles of its parity,
//! and so every other stage.
protocol consumers_take_turns

param H in 1..=4  // stages of each consumer
param K in 0..

let S = 2 * H

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

expect deadlock: proved
