//! An arrival with a count that is more than the phase takes. `check` says what is undefined and refutes `over_arrival`.
protocol more_arrivals_than_pending

param N in 1..

mbarrier full { arrivals: 2 }

role producer {
    for i in 0..N {
        arrive full 3
    }
}

expect deadlock: unknown
expect over_arrival: refuted at N = 1
