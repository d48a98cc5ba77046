//! flash-attention #2761, flashinfer #673: the producer makes NP trips and the consumer NC.
protocol trip_counts_disagree

param S in 1..=8  // stages
param NP in 0..
param NC in 0..

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }

role producer {
    var p = producer(S)
    for i in 0..NP {
        wait empty[p.index] p.phase
        arrive full[p.index]
        advance p
    }
}

role consumer {
    var c = consumer(S)
    for i in 0..NC {
        wait full[c.index] c.phase
        arrive empty[c.index]
        advance c
    }
}

expect deadlock: refuted at S = 1, NP = 0, NC = 1
expect deadlock: refuted assuming NP < NC
expect deadlock: refuted assuming NP > NC + S
expect deadlock: proved assuming NC == NP || NC < NP && NP <= NC + S
