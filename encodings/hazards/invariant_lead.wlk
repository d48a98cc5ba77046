//! One slot between a producer and a consumer: the two barriers never differ by more than one phase.
protocol invariant_lead

param N in 0..  // iterations

mbarrier full { arrivals: 1 }
mbarrier empty { arrivals: 1 }

invariant full <= empty + 1
invariant empty <= full

role load {
    var p = producer(1)
    repeat N {
        wait empty p.phase
        arrive full
        advance p
    }
}

role math {
    var c = consumer(1)
    repeat N {
        wait full c.phase
        arrive empty
        advance c
    }
}

expect assertion: proved
