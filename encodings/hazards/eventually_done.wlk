//! A ring of mbarriers between a producer and T consumers: whoever waits goes on, and in the end
//! everybody has finished. Every run ends by itself, so both follow from freedom from deadlock.
protocol eventually_done

param S in 1..=4  // stages
param T in 1..    // consumer threads
param N in 0..    // iterations

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: T }

eventually done
always (waiting -> eventually passes)

role load {
    var p = producer(S)
    repeat N {
        wait empty[p.index] p.phase
        arrive full[p.index]
        advance p
    }
}

role math[t in 0..T] {
    var c = consumer(S)
    repeat N {
        wait full[c.index] c.phase
        arrive empty[c.index]
        advance c
    }
}

expect deadlock: proved
expect assertion: proved
