//! Two consumers take turns on one ring of any number of stages, but one: consumer `c` has the k-tiles of its parity. With an odd
//! number each of them comes to all stages.
protocol consumers_take_turns_any

param S in 2..  // stages
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

expect deadlock: proved
