//! The same ring, but only one of the consumers gives stages back: once a sibling has been lapped,
//! it waits for ever.
protocol eventually_done_leader_releases

param S in 1..=4  // stages
param T in 1..    // consumer threads
param N in 0..    // iterations

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }

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
        if t == 0 {
            arrive empty[c.index]
        }
        advance c
    }
}

expect assertion: refuted at S = 1, T = 2, N = 2
