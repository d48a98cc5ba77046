//! Members that take turns at one ring, with and without barriers that hand their turns over.

use crate::support::edited::Kernels;

pub const KERNELS: Kernels = Kernels {
    templates: &[TURNS, STATE, PING_PONG, BY_NUMBER, THREE, OWN_SLOTS, EVEN],
    replacements: &[
        ("c", &["1 - c", "0", "c + 1"]),
        ("turn[c]", &["turn[1 - c]", "turn[0]"]),
        ("turn[1 - c]", &["turn[c]", "turn[1]"]),
        ("own + 1 - c", &["own + c", "own + 1", "own", "own - c"]),
        ("== c", &["== 1 - c", "!= c", "== 0", ">= c"]),
        (
            "2 * i + c",
            &["2 * i", "i + c", "2 * i + 1 - c", "2 * i + 1"],
        ),
        ("2 * N", &["2 * N + 1", "N"]),
        ("% 3", &["% 2", "% 4"]),
        ("0..3", &["0..2", "0..4"]),
        ("0..2", &["0..1", "0..3"]),
        ("S in 2..", &["S in 1..", "S in 3.."]),
        ("S % 2 == 0", &["S % 3 == 0", "S % 2 == 1", "N % 2 == 0"]),
        ("S / 2", &["S / 3", "S / 2 + 1", "(S + 1) / 2", "S"]),
        ("slot + 2", &["slot + 1", "slot + 3", "slot"]),
        ("slot - S", &["0", "slot - S + 1", "slot - 2"]),
        (
            "slot = c",
            &["slot = 1 - c", "slot = 2 * c", "slot = c + 1"],
        ),
    ],
};

const TURNS: &str = "
param S in 2..
param N in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
role load {
    for k in 0..N {
        wait empty[k % S] (k / S + 1) % 2
        arrive full[k % S]
    }
}
role math[c in 0..2] {
    for k in 0..N {
        if k % 2 == c {
            wait full[k % S] k / S % 2
            arrive empty[k % S]
        }
    }
}
";

const STATE: &str = "
param S in 2..
param N in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
role load {
    var p = producer(S)
    for k in 0..N {
        wait empty[p.index] p.phase
        arrive full[p.index]
        advance p
    }
}
role math[c in 0..2] {
    var p = consumer(S)
    for k in 0..N {
        if k % 2 == c {
            wait full[p.index] p.phase
            arrive empty[p.index]
        }
        advance p
    }
}
";

const PING_PONG: &str = "
param S in 1..
param K in 1..
param N in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
mbarrier turn[2] { arrivals: 1 }
role load {
    var p = producer(S)
    for t in 0..N {
        for k in 0..K {
            wait empty[p.index] p.phase
            arrive_expect_tx full[p.index] 8
            async copy tile completes full[p.index] 8
            advance p
        }
    }
}
role math[c in 0..2] {
    var p = consumer(S)
    var own = 0
    for t in 0..N {
        if t % 2 == c {
            wait turn[c] (own + 1 - c) % 2
            for k in 0..K {
                wait full[p.index] p.phase
                arrive empty[p.index]
                advance p
            }
            arrive turn[1 - c]
            own = own + 1
        } else {
            for k in 0..K {
                advance p
            }
        }
    }
}
";

const BY_NUMBER: &str = "
param S in 1..
param K in 1..
param N in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
mbarrier turn[2] { arrivals: 1 }
role load {
    for i in 0..2 * N * K {
        wait empty[i % S] (i / S + 1) % 2
        arrive full[i % S]
    }
}
role math[c in 0..2] {
    for t in 0..N {
        wait turn[c] (t + 1 - c) % 2
        for k in 0..K {
            wait full[((2 * t + c) * K + k) % S] ((2 * t + c) * K + k) / S % 2
            arrive empty[((2 * t + c) * K + k) % S]
        }
        arrive turn[1 - c]
    }
}
";

const THREE: &str = "
param S in 3..
param N in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
role load {
    for k in 0..N {
        wait empty[k % S] (k / S + 1) % 2
        arrive full[k % S]
    }
    for s in 0..S {
        wait empty[(N + s) % S] ((N + s) / S + 1) % 2
    }
}
role math[c in 0..3] {
    for k in 0..N {
        if k % 3 == c {
            wait full[k % S] k / S % 2
            arrive empty[k % S]
        }
    }
}
";

const OWN_SLOTS: &str = "
param S in 2..
param N in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
role load {
    for k in 0..N {
        wait empty[k % S] (k / S + 1) % 2
        arrive full[k % S]
    }
}
role math[c in 0..2] {
    var slot = c
    var phase = 0
    for k in 0..N {
        if k % 2 == c {
            wait full[slot] phase
            arrive empty[slot]
            slot = slot + 2
            if slot >= S {
                slot = slot - S
                phase = phase ^ 1
            }
        }
    }
}
";

const EVEN: &str = "
param S in 2..
param N in 0..
assume S % 2 == 0
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
role load {
    for k in 0..N {
        wait empty[k % S] (k / S + 1) % 2
        arrive full[k % S]
    }
}
role math[c in 0..2] {
    for i in 0..(N + 1 - c) / 2 {
        wait full[(2 * i + c) % S] i / (S / 2) % 2
        arrive empty[(2 * i + c) % S]
    }
}
";
