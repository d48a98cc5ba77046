//! Counterexamples drawn in the terminal: `warplock check --chart`.

use crate::screen::checked;
use crate::screen::shown;

/// What is drawn, without what stands before and behind.
fn chart(columns: usize, file: &str) -> String {
    let printed = checked(columns, &["--chart", file]);
    let lines = shown(&printed);
    for line in &lines {
        assert!(line.chars().count() <= columns, "{line}");
    }
    let drawn = lines
        .iter()
        .skip_while(|line| !line.starts_with("  chart"))
        .take_while(|line| !line.starts_with("  minimal"));
    drawn.copied().collect::<Vec<_>>().join("\n")
}

#[test]
fn a_circle() {
    let file = "checklist/producer_starts_at_0.wlk";
    insta::assert_snapshot!(chart(80, file), @r"
      chart, time runs down:
        load
        |  math
        X  |  end  waits for empty[0] parity 0: math[0], which would arrive at
        |  |       empty[0], is stuck itself [in the circle]
        |  X  end  math[0] waits for full[0] parity 0: load, which would arrive at
        |  |       full[0], is stuck itself [in the circle]
      wait-for graph (* wait for each other in a circle):
        * load    --empty[0]--> math[0] (line 15)
        * math[0] --full[0]-->  load (line 24)
    ");
}

/// Who waits for somebody is told from who waits for nobody.
#[test]
fn a_lapped_member() {
    let file = "known_bugs/leader_releases_early.wlk";
    insta::assert_snapshot!(chart(80, file), @r"
      chart, time runs down:
        producer
        |  consumer
        o  |  1      passes empty[0], which has left phase 1
        o  |  2      arrives at full[0]: phase 1, 1 pending
        |  o  3-4    consumer[0], consumer[1] arrives at warps as the last
        |  o  5      consumer[0] passes warps
        |  o  6      consumer[0] passes full[0], which has left phase 0
        |  o  7      consumer[0] arrives at empty[0]: phase 1, 1 pending
        |  o  8      consumer[0] arrives at warps: 1 pending, arrived: consumer[0]
        o  |  9      passes empty[0], which has left phase 0
        o  |  10     arrives at full[0]: phase 0, 1 pending
        |  o  11     consumer[1] passes warps
        |  X  end    consumer[0] waits for warps a completed generation:
        |  |         consumer[1], which would arrive at warps, is stuck itself
        |  X  end    consumer[1] waits for full[0] parity 0: that phase is over
      wait-for graph:
        consumer[0] --warps-->   consumer[1] (line 25)
        consumer[1] --full[0]--> nobody (line 26)
    ");
    insta::assert_snapshot!(chart(120, file), @r"
      chart, time runs down:
        producer
        |  consumer
        o  |  1      passes empty[0], which has left phase 1
        o  |  2      arrives at full[0]: phase 1, 1 pending
        |  o  3-4    consumer[0], consumer[1] arrives at warps as the last
        |  o  5      consumer[0] passes warps
        |  o  6      consumer[0] passes full[0], which has left phase 0
        |  o  7      consumer[0] arrives at empty[0]: phase 1, 1 pending
        |  o  8      consumer[0] arrives at warps: 1 pending, arrived: consumer[0]
        o  |  9      passes empty[0], which has left phase 0
        o  |  10     arrives at full[0]: phase 0, 1 pending
        |  o  11     consumer[1] passes warps
        |  X  end    consumer[0] waits for warps a completed generation: consumer[1], which would arrive at warps, is stuck
        |  |         itself
        |  X  end    consumer[1] waits for full[0] parity 0: that phase is over
      wait-for graph:
        consumer[0] --warps-->   consumer[1] (line 25)
        consumer[1] --full[0]--> nobody (line 26)
    ");
}

#[test]
fn a_grid() {
    insta::assert_snapshot!(chart(80, "block_sparse/lock_n_block.wlk"), @r"
      chart, time runs down:
        cta
        o  1    cta[0] starts and has nothing to do
        o  2    cta[1] starts
        X  end  cta[1] waits for dq[0] == 1: cta[0] never adds to it, because `for m
        |       in row(visits, n)` (line 17) makes no trip
      wait-for graph:
        cta[1] --dq[0]--> nobody (line 18)
    ");
}
