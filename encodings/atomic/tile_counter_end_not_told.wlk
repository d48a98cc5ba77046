//! The same where the warp that draws leaves without telling that there are no more tiles.
protocol tile_counter_end_not_told

param C in 1..  // CTAs
param TILES in 0..

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
        if t >= TILES {
            break
        }
        st.relaxed.cta tile[c] = t
        arrive full[c]
        advance p
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

expect deadlock: refuted at C = 1, TILES = 0
