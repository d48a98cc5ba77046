//! Two consumers take turns on one ring of an even number of stages. Each counts its own k-tiles, and goes around its half of the stages.
protocol consumers_take_turns_even

param S in 2..  // stages
param K in 0..

assume S % 2 == 0

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }

role load {
    for k in 0..K {
        wait empty[k % S] (k / S + 1) % 2
        arrive full[k % S]
    }
}

role math[c in 0..2] {
    for i in 0..(K + 1 - c) / 2 {
        wait full[(2 * i + c) % S] i / (S / 2) % 2
        arrive empty[(2 * i + c) % S]
    }
}

expect deadlock: proved
