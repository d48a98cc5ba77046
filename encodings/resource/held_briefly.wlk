//! Warps that take half of tensor memory for each tile, and give it back before they wait for anything. Only two at a time find room.
protocol held_briefly

param W in 1..
param T in 0..

pool columns = 512
mbarrier full[2] { arrivals: W }
mbarrier empty[2] { arrivals: 1 }

role worker[w in 0..W] warp {
    for t in 0..T {
        wait empty[t % 2] (t / 2 + 1) % 2
        acquire columns 256
        write acc
        release columns 256
        arrive full[t % 2]
    }
}

role next {
    for t in 0..T {
        wait full[t % 2] t / 2 % 2
        arrive empty[t % 2]
    }
}

expect deadlock: proved
expect resources: proved
