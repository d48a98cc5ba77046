//! The same with the next transfer started only after everybody has read the buffer it fills.
protocol stencil_transfer_ordered

param T in 1..  // threads
param STEPS in 0..

mbarrier landed[2] { arrivals: 1 }
barrier threads { arrivals: T }
buffer field[2]

role thread[t in 0..T] {
    var c = consumer(2)
    elect {
        arrive_expect_tx landed[0] 512
        async copy field[0] completes landed[0] 512
    }
    for i in 0..STEPS {
        elect {
            if i + 1 < STEPS {
                arrive_expect_tx landed[(i + 1) % 2] 512
                async copy field[(i + 1) % 2] completes landed[(i + 1) % 2] 512
            }
        }
        wait landed[c.index] c.phase
        read field[c.index]
        advance c
        sync threads
    }
}

expect race: proved
