//! The same where a warp gives back its columns only when it comes to the next tile: the third warp finds no room, and the others wait
//! for it.
protocol held_until_next

param W in 1..
param T in 0..

pool columns = 512
mbarrier full[2] { arrivals: W }
mbarrier empty[2] { arrivals: 1 }

role worker[w in 0..W] warp {
    for t in 0..T {
        if t > 0 {
            release columns 256
        }
        wait empty[t % 2] (t / 2 + 1) % 2
        acquire columns 256
        write acc
        arrive full[t % 2]
    }
}

role next {
    for t in 0..T {
        wait full[t % 2] t / 2 % 2
        arrive empty[t % 2]
    }
}

expect deadlock: refuted at W = 3, T = 1
