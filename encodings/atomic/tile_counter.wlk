//! A persistent kernel draws its tiles from a counter. In each CTA one warp draws, puts the number into shared memory, and
//! tells the other by an mbarrier; that a tile is the last one is told likewise.
protocol tile_counter

param C in 1..=2  // CTAs
param TILES in 0..=2

semaphore next = 0
semaphore tile[C] = 0
mbarrier full[C] { arrivals: 1 }
mbarrier empty[C] { arrivals: 1 }
semaphore done[TILES] = 0

role draw[c in 0..C] warp {
    var p = producer(1)
    for k in 0..TILES + 1 {
        wait empty[c] p.phase
        let t = fetch_add.relaxed.gpu(next, 1)
        st.relaxed.cta tile[c] = t
        arrive full[c]
        advance p
        if t >= TILES {
            break
        }
    }
}

role work[c in 0..C] warp {
    var q = consumer(1)
    for k in 0..TILES + 1 {
        wait full[c] q.phase
        let t = fetch_add.relaxed.cta(tile[c], 0)
        arrive empty[c]
        advance q
        if t >= TILES {
            break
        }
        done[t] += 1
    }
}

role host {
    for t in 0..TILES {
        wait done[t] == 1
    }
}

expect deadlock: proved
expect over_arrival: proved
