//! Two consumers take turns on one ring. Both advance their pipeline state on every k-tile, and consumer `c` works on those of
//! its parity.
protocol consumers_take_turns_state

param S in 2..=6  // stages
param K in 0..

assume S % 2 == 0

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }

role load {
    var p = producer(S)
    for k in 0..K {
        wait empty[p.index] p.phase
        arrive full[p.index]
        advance p
    }
}

role math[c in 0..2] {
    var p = consumer(S)
    for k in 0..K {
        if k % 2 == c {
            wait full[p.index] p.phase
            arrive empty[p.index]
        }
        advance p
    }
}

expect deadlock: proved
