//! Worksheets: the tables of a kernel for whoever checks it by hand.

use crate::support::program::Folder;

const RING: &str = "\
protocol ring

param S in 1..=8
param T in 0..

mbarrier full[S] { arrivals: 1 }  // load alone
mbarrier empty[S] { arrivals: 1 }
buffer smem[S]

role load {
    for t in 0..T {
        wait empty[t % S] (t / S + 1) % 2
        async copy smem[t % S] completes full[t % S] 512
        arrive full[t % S]
        expect_tx full[t % S] 512
    }
}

role math {
    for t in 0..T {
        wait full[t % S] t / S % 2
        read smem[t % S]
        if t >= 0 {
            arrive.release.cta empty[t % S]
        }
    }
}
";

#[test]
fn a_ring_with_its_slots() {
    let folder = Folder::new();
    folder.file("ring.wlk", RING);
    insta::assert_snapshot!(folder.run(&["worksheet", "ring.wlk"]), @r"
    exit 0
    --- stdout
    # Worksheet: ring (ring.wlk)

    ## Roles

    | role | members | start |
    | --- | --- | --- |
    | `load` | 1 | at the beginning |
    | `math` | 1 | at the beginning |

    ## Storage

    | buffer | elements | written by | read by |
    | --- | --- | --- | --- |
    | `smem` | S | `load` (line 13) | `math` (line 22) |

    ## Hand-offs

    ### `full[S]`: mbarrier, arrivals per phase: 1; load alone

    | | role | place | statement | order | fence | inside |
    | --- | --- | --- | --- | --- | --- | --- |
    | signals | `load` | line 13 | `async copy smem[t % S] completes full[t % S] 512` |  |  | for t in 0..T |
    | signals | `load` | line 14 | `arrive full[t % S]` |  |  | for t in 0..T |
    | signals | `load` | line 15 | `expect_tx full[t % S] 512` |  |  | for t in 0..T |
    | waits | `math` | line 21 | `wait full[t % S] t / S % 2` |  |  | for t in 0..T |

    ### `empty[S]`: mbarrier, arrivals per phase: 1

    | | role | place | statement | order | fence | inside |
    | --- | --- | --- | --- | --- | --- | --- |
    | signals | `math` | line 24 | `arrive.release.cta empty[t % S]` | release cta |  | for t in 0..T; if t \>= 0 |
    | waits | `load` | line 12 | `wait empty[t % S] (t / S + 1) % 2` |  |  | for t in 0..T |

    ## Lifetimes

    Between which hand-offs of its role each access stands, in the order of the text.

    | buffer | role | place | access | after | before |
    | --- | --- | --- | --- | --- | --- |
    | `smem` | `load` | line 13 | `async copy smem[t % S] completes full[t % S] 512` | `wait empty[t % S] (t / S + 1) % 2` | `async copy smem[t % S] completes full[t % S] 512` |
    | `smem` | `math` | line 22 | `read smem[t % S]` | `wait full[t % S] t / S % 2` | `arrive.release.cta empty[t % S]` |
    --- stderr
    ");
}

#[test]
fn a_kernel_has_the_lines_of_its_source() {
    let folder = Folder::new();
    folder.kernel("ring.ptx");
    let shown = folder.run(&["worksheet", "ring.ptx", "--entry", "ring_of_3"]);
    insta::assert_snapshot!(shown, @r"
    exit 0
    --- stdout
    # Worksheet: ring\_of\_3 (ring.ptx)

    Assumed: the launch has 128 threads per CTA, as many as .maxntid allows.

    Assumed: lanes of a warp use shared memory in the order of their program, also where no `bar.warp.sync` stands between them.

    Assumed: lanes of a warp that diverge reconverge where their paths meet.

    ## Roles

    | role | members | start |
    | --- | --- | --- |
    | `warp0` | 1 | at the beginning |
    | `warps1_3` | w in 0..3 | at the beginning |

    ## Storage

    | buffer | elements | written by | read by |
    | --- | --- | --- | --- |
    | `smem_tile` | 3 | `warp0` (ring.cu:26) | `warps1_3` (ring.cu:38) |

    ## Hand-offs

    ### `full_bar[3]`: mbarrier, arrivals per phase: 1; counted in groups of 32 threads

    | | role | place | statement | order | fence | inside |
    | --- | --- | --- | --- | --- | --- | --- |
    | signals | `warp0` | ring.cu:27 | `arrive full_bar[i % 3]` |  |  | for i in 0..param\_2 |
    | waits | `warps1_3` | ring.cu:37 | `wait full_bar[i % 3] i / 3 % 2` |  |  | for i in 0..param\_2 |

    ### `empty_bar[3]`: mbarrier, arrivals per phase: 3; counted in groups of 32 threads

    | | role | place | statement | order | fence | inside |
    | --- | --- | --- | --- | --- | --- | --- |
    | signals | `warps1_3` | ring.cu:39 | `arrive empty_bar[i % 3]` |  |  | for i in 0..param\_2 |
    | waits | `warp0` | ring.cu:25 | `wait empty_bar[i % 3] (i / 3 + 1) % 2` |  |  | for i in 0..param\_2 |

    ### `cta_bar[16]`: named barrier, counts threads at each use

    | | role | place | statement | order | fence | inside |
    | --- | --- | --- | --- | --- | --- | --- |
    | waits | `warp0` | ring.cu:55 | `sync cta_bar[0] 128` |  |  |  |
    | waits | `warps1_3` | ring.cu:55 | `sync cta_bar[0] 128` |  |  |  |

    ## Lifetimes

    Between which hand-offs of its role each access stands, in the order of the text.

    | buffer | role | place | access | after | before |
    | --- | --- | --- | --- | --- | --- |
    | `smem_tile` | `warp0` | ring.cu:26 | `write smem_tile[i % 3]` | `wait empty_bar[i % 3] (i / 3 + 1) % 2` | `arrive full_bar[i % 3]` |
    | `smem_tile` | `warps1_3` | ring.cu:38 | `read smem_tile[i % 3]` | `wait full_bar[i % 3] i / 3 % 2` | `arrive empty_bar[i % 3]` |
    --- stderr
    ");
}
