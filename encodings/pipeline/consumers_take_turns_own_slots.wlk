//! Two consumers take turns on one ring of any number of stages, but one. Each keeps the stage of its next k-tile and the phase of this
//! stage by hand. With an odd number of stages each of them comes to all of them.
protocol consumers_take_turns_own_slots

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
                stage = stage - S
                phase = phase ^ 1
            }
        }
    }
}

expect deadlock: proved
