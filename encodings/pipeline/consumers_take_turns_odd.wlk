//! Two consumers take turns on one ring, and each has every other stage for itself: with an odd number of stages the
//! producer fills the last one, and nobody empties it.
protocol consumers_take_turns_odd

param S in 2..=8
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
            wait full[k / 2 % (S / 2) * 2 + c] k / 2 / (S / 2) % 2
            arrive empty[k / 2 % (S / 2) * 2 + c]
        }
    }
}

expect deadlock: refuted at S = 3, K = 3
