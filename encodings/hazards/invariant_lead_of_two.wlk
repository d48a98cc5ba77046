//! A counter of free slots that is given back before the consumer has looked: two are out at once.
protocol invariant_lead_of_two

param N in 0..  // iterations

mbarrier full { arrivals: 1 }
mbarrier empty { arrivals: 1 }
semaphore busy = 0
semaphore freed = 0

invariant busy <= freed + 1

role load {
    var p = producer(1)
    repeat N {
        wait empty p.phase
        busy += 1
        arrive full
        advance p
    }
}

role math {
    var c = consumer(1)
    repeat N {
        wait full c.phase
        arrive empty
        freed += 1
        advance c
    }
}

expect assertion: refuted at N = 2
