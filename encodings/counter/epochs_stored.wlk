//! epochs.wlk with flags that hold the epoch: each is stored by one GPU alone.
protocol epochs_stored

param G in 1..  // GPUs
param E in 0..  // epochs

semaphore flag[G] = 0
semaphore ack[G] = 0

role put[g in 0..G] gpu g {
    for e in 0..E {
        wait ack[g] >= e
        st.release.sys flag[(g + 1) % G] = e + 1
    }
}

role get[g in 0..G] gpu g {
    for e in 0..E {
        wait.acquire.sys flag[g] >= e + 1
        st.release.sys ack[(g + G - 1) % G] = e + 1
    }
}

expect deadlock: proved
