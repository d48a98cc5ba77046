//! `warplock check`: verdicts as people and scripts see them.

use crate::support::program::Folder;
use crate::support::program::library;

/// Neither `break` nor this lock is in the reach of a proof rule; the domain has no end.
const BOUNDED: &str = "protocol bounded
param N in 1..
semaphore a = 0
grid cta[n in 0..N] launch ascending resident all {
    for i in 0..2 {
        if i % 2 == 1 {
            break
        }
        a += 1
    }
}
";

/// Odd N hang at `a`, N = 4 at the second wait of `right`.
const TWO: &str = "protocol two
param N in 1..
mbarrier a { arrivals: 1 }
mbarrier b { arrivals: 1 }
role left {
    if N % 2 == 1 {
        wait a 0
    } else {
        arrive b
    }
}
role right {
    wait b 0
    if N == 4 {
        wait b 1
    }
}
";

#[test]
fn a_refuted_protocol() {
    let folder = Folder::new();
    folder.library("lock_n_block.wlk");
    insta::assert_snapshot!(folder.run(&["check", "lock_n_block.wlk"]), @"
    exit 1
    --- stdout
    lock_n_block.wlk: deadlock: REFUTED at N = 2, M = 1, R = 1, visits = {(1, 0)}: cta[1] waits for dq[0] == 1 (line 18), but dq[0] stays 0 and nobody adds to it: cta[0] never adds to it, because `for m in row(visits, n)` (line 17) makes no trip
        --> lock_n_block.wlk:18
      18 |         wait dq[m] == n
      visits (rows: first index, # visited):
          0
        0 .
        1 #
      element  start  now  waited for           changed by          completes
      dq[0]    0      0    cta[1] == 1 (never)  cta[1] + 1 (never)  no
      trace:
        1  cta[0]  starts and has nothing to do
        2  cta[1]  starts
      minimal: smallest by (N, M, entries, R) among inputs with at most 4 values per index, entries per row and iterations per loop
      assumptions: N >= 1; M >= 1; R >= 1; a resident CTA that can go on eventually does; semaphore operations are atomic and seen in one order by everyone; CTAs start in the declared launch order, which CUDA does not promise
      decided by event encoding in [time]
    --- stderr
    ");
}

#[test]
fn a_value_that_was_passed() {
    let folder = Folder::new();
    folder.library("delayed_release_csr.wlk");
    insta::assert_snapshot!(folder.run(&["check", "-q", "delayed_release_csr.wlk"]), @"
    exit 1
    --- stdout
    delayed_release_csr.wlk: deadlock: REFUTED at N = 1, M = 2, R = 1, visits = {(0, 0), (0, 1)}, row 0 of visits in the order 1, 0: cta[0] waits for dq[0] == 0 (line 20), but cta[0] itself has already added 1 (line 23), and dq[0] never goes down
    --- stderr
    ");
}

#[test]
fn places_that_are_taken_and_what_would_help() {
    let folder = Folder::new();
    folder.library("lock_rank_descending_launch.wlk");
    let shown = folder.run(&["check", "lock_rank_descending_launch.wlk"]);
    insta::assert_snapshot!(shown, @"
    exit 1
    --- stdout
    lock_rank_descending_launch.wlk: deadlock: REFUTED at N = 2, M = 1, R = 1, visits = {(0, 0), (1, 0)}: cta[1] waits for dq[0] == 1 (line 19), which needs cta[0]; that cannot start, because cta[1] holds the only resident slot
        --> lock_rank_descending_launch.wlk:19
      19 |         wait dq[m] == rank(n, m)
      visits (rows: first index, # visited):
          0
        0 #
        1 #
      element  start  now  waited for                                changed by                              completes
      dq[0]    0      0    cta[0] == 0 (never), cta[1] == 1 (never)  cta[0] + 1 (never), cta[1] + 1 (never)  no
      never started: cta[0]
      trace: 1  cta[1]  starts
      minimal: smallest by (N, M, entries, R) among inputs with at most 4 values per index, entries per row and iterations per loop
      notes: with the whole grid resident at once it cannot hang (by the ticket rule)
      assumptions: N >= 1; M >= 1; R >= 1; a resident CTA that can go on eventually does; semaphore operations are atomic and seen in one order by everyone; CTAs start in the declared launch order, which CUDA does not promise
      decided by event encoding in [time]
    --- stderr
    ");
}

#[test]
fn memory_that_was_not_cleared() {
    let folder = Folder::new();
    folder.library("unzeroed.wlk");
    insta::assert_snapshot!(folder.run(&["check", "-q", "unzeroed.wlk"]), @"
    exit 1
    --- stdout
    unzeroed.wlk: deadlock: REFUTED at N = 1, M = 1, R = 1, visits = {(0, 0)}, dq[0] = 1 at the start: cta[0] waits for dq[0] == 0 (line 18), but dq[0] starts at 1 and never goes down
    --- stderr
    ");
}

#[test]
fn barriers_are_explained_as_well() {
    let folder = Folder::new();
    folder.file(
        "barrier.wlk",
        "protocol barrier
mbarrier full { arrivals: 2 }
mbarrier empty { arrivals: 1 }
role producer warp {
    arrive full
    wait empty 0
}
role consumer warp {
    wait full 0
    arrive empty
}
",
    );
    insta::assert_snapshot!(folder.run(&["check", "barrier.wlk"]), @r"
        exit 1
        --- stdout
        barrier.wlk: deadlock: REFUTED full takes 2 arrivals, 1 came (producer), and consumer waits for the rest (line 9): no more than 1 arrival comes in a phase
           --> barrier.wlk:9
          9 |     wait full 0
          element  start  now                 waited for                 changed by                 completes
          full     -      phase 0, 1 pending  consumer parity 0 (never)  producer arrive 1          no
          empty    -      phase 0, 1 pending  producer parity 0 (never)  consumer arrive 1 (never)  no
          who waits for whom:
            producer (line 6) for consumer to arrive at empty
            consumer (line 9) for full to leave phase 0
          trace: 1  producer  arrives at full: phase 0, 1 pending  (line 5)
          minimal: the protocol has no parameters that could be smaller
          assumptions: a resident CTA that can go on eventually does; semaphore operations are atomic and seen in one order by everyone
          decided by adversarial schedules in [time]
        --- stderr
        ");
}

/// Two CTAs that arrive on both barriers and wait on their own for `parity`.
fn jacobi(parity: &str) -> String {
    format!(
        "protocol jacobi
param T in 1..
param N in 0..
mbarrier bar[2] {{ arrivals: 2 * T }}
role thread[cta in 0..2][t in 0..T] {{
    for i in 0..N {{
        arrive bar[cta]
        arrive bar[1 - cta]
        wait bar[cta] {parity}
    }}
}}
"
    )
}

#[test]
fn a_hard_coded_phase_and_in_which_sense_the_input_is_the_smallest() {
    let folder = Folder::new();
    folder.file("jacobi.wlk", jacobi("0"));
    insta::assert_snapshot!(folder.run(&["check", "jacobi.wlk"]), @r"
        exit 1
        --- stdout
        jacobi.wlk: deadlock: REFUTED at T = 1, N = 2: thread[0][0] waits for bar[0] with parity 0 twice in a row (line 9), and bar[0] has completed 2 times by then, so this wait needs another completion: thread[1][0] arrives 2 times and not again
           --> jacobi.wlk:9
          9 |         wait bar[cta] 0
          element  start  now                 waited for                                            changed by                                    completes
          bar[0]   -      phase 0, 2 pending  thread[0][0] parity 0 (never), thread[0][0] parity 0  thread[0][0] arrive 1, thread[1][0] arrive 1  no
          bar[1]   -      phase 0, 2 pending  thread[1][0] parity 0 (never), thread[1][0] parity 0  thread[0][0] arrive 1, thread[1][0] arrive 1  no
          blocked:
            thread[0][0] at line 9: bar[0] parity 0, found phase 0, 2 pending: thread[1][0] arrives 2 times and not again
            thread[1][0] at line 9: bar[1] parity 0, found phase 0, 2 pending: thread[0][0] arrives 2 times and not again
          trace:
             1  thread[0][0]  arrives at bar[0]: phase 0, 1 pending  (line 7)
             2  thread[0][0]  arrives at bar[1]: phase 0, 1 pending  (line 8)
             3  thread[1][0]  arrives at bar[1]: phase 1, 2 pending  (line 7)
             4  thread[1][0]  arrives at bar[0]: phase 1, 2 pending  (line 8)
             5  thread[0][0]  passes bar[0], which has left phase 0  (line 9)
             6  thread[0][0]  arrives at bar[0]: phase 1, 1 pending  (line 7)
             7  thread[0][0]  arrives at bar[1]: phase 1, 1 pending  (line 8)
             8  thread[1][0]  passes bar[1], which has left phase 0  (line 9)
             9  thread[1][0]  arrives at bar[1]: phase 0, 2 pending  (line 7)
            10  thread[1][0]  arrives at bar[0]: phase 0, 2 pending  (line 8)
          minimal: smallest by (T, N) among T in 1..=5, N in 0..=4; every smaller one of these was explored exhaustively
          assumptions: T >= 1; N >= 0; a resident CTA that can go on eventually does; semaphore operations are atomic and seen in one order by everyone
          decided by adversarial schedules in [time]
        --- stderr
        ");
    let minimize = ["check", "-q", "--minimize", "N", "jacobi.wlk"];
    insta::assert_snapshot!(folder.run(&minimize), @"
    exit 1
    --- stdout
    jacobi.wlk: deadlock: REFUTED at T = 1, N = 2: thread[0][0] waits for bar[0] with parity 0 twice in a row (line 9), and bar[0] has completed 2 times by then, so this wait needs another completion: thread[1][0] arrives 2 times and not again
    --- stderr
    ");
}

#[test]
fn a_barrier_protocol_is_proved_for_all_threads_and_rounds() {
    let folder = Folder::new();
    folder.file("jacobi.wlk", jacobi("i % 2"));
    insta::assert_snapshot!(folder.run(&["check", "jacobi.wlk"]), @"
    exit 0
    --- stdout
    jacobi.wlk: deadlock: PROVED for every T >= 1, N >= 0 and schedule: all 11 obligations of the cut rule hold
      assumptions:
        T >= 1
        N >= 0
        a resident CTA that can go on eventually does
        semaphore operations are atomic and seen in one order by everyone
      checked by: rule cut
      decided by cut rule in [time]
    --- stderr
    ");
}

#[test]
fn a_proof_by_cuts_shows_them() {
    let folder = Folder::new();
    folder.file(
        "jacobi.wlk",
        "protocol jacobi
param T in 1..
param N in 0..
mbarrier bar[2] { arrivals: 2 * T }
role thread[cta in 0..2][t in 0..T] {
    for i in 0..N {
        arrive bar[cta]
        arrive bar[1 - cta]
        wait bar[cta] i % 2
    }
}
",
    );
    insta::assert_snapshot!(folder.run(&["check", "--property", "deadlock", "--explain-proof", "jacobi.wlk"]), @"
    exit 0
    --- stdout
    jacobi.wlk: deadlock: PROVED for every T >= 1, N >= 0 and schedule: all 11 obligations of the cut rule hold
      why it holds:
        No step of one thread can undo what lets another go on, so it is enough that no choice of one place per role leaves everybody blocked.
        While a thread stands before a wait, nobody gets far enough to complete a further phase of its barrier, so a parity bit is never mistaken for another.
          `wait bar[cta] i % 2` of thread[0] waits for completion number: earlier rounds there, plus 1
          `wait bar[cta] i % 2` of thread[1] waits for completion number: earlier rounds there, plus 1
          while thread[0] stands before `wait bar[cta] i % 2` in iteration n:
            the others of thread[0]: no further than `wait bar[cta] i % 2` in iteration n + 1
            thread[1]: no further than `wait bar[cta] i % 2` in iteration n + 1
          while thread[1] stands before `wait bar[cta] i % 2` in iteration n:
            thread[0]: no further than `wait bar[cta] i % 2` in iteration n + 1
            the others of thread[1]: no further than `wait bar[cta] i % 2` in iteration n + 1
      obligations:
        declares_bar: `bar` expects at least one arrival
        defined_c0_6: `wait bar[cta] i % 2` is well defined
        operands_c0_s0: in thread[0], `arrive bar[cta]` stays in range
        operands_c0_s1: in thread[0], `arrive bar[1 - cta]` stays in range
        operands_c0_s2: in thread[0], `wait bar[cta] i % 2` stays in range
        defined_c1_6: `wait bar[cta] i % 2` is well defined
        operands_c1_s0: in thread[1], `arrive bar[cta]` stays in range
        operands_c1_s1: in thread[1], `arrive bar[1 - cta]` stays in range
        operands_c1_s2: in thread[1], `wait bar[cta] i % 2` stays in range
        cut_c0_s2: while a member of thread[0] is held at `wait bar[cta] i % 2`, everybody else stops at the places that the proof names, and the element it looks at does not run ahead
        progress: no combination of places leaves a member blocked and no member able to go on
      assumptions:
        T >= 1
        N >= 0
        a resident CTA that can go on eventually does
        semaphore operations are atomic and seen in one order by everyone
      checked by: rule cut
      decided by cut rule in [time]
    --- stderr
    ");
}

#[test]
fn a_proof_shows_its_ranks_and_what_is_never_reached() {
    let folder = Folder::new();
    folder.file(
        "ring.wlk",
        "protocol ring
param S in 2..=2
param C in 1..
param N in 1..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: C }
role producer {
    var p = producer(S)
    for i in 0..N {
        wait empty[p.index] p.phase
        arrive full[p.index]
        advance p
    }
    if N < 1 {
        arrive full[0]
    }
}
role consumer[c in 0..C] {
    var p = consumer(S)
    for i in 0..N {
        wait full[p.index] p.phase
        arrive empty[p.index]
        advance p
    }
}
",
    );
    insta::assert_snapshot!(folder.run(&["check", "--explain-proof", "ring.wlk"]), @"
    exit 0
    --- stdout
    ring.wlk: deadlock: PROVED for S = 2 and every C >= 1, N >= 1 and schedule: all 38 obligations of the kernel hold
      why it holds:
        Whoever waits has a greater rank than whoever has not made the arrival that it waits for, so nobody waits in a circle. `#i` is how many iterations of the loop over `i` the member has completed over its whole run.
        `wait empty[p.index] p.phase` of producer: rank -3 + 4 * #i.
        producer has passed at least as many waits at `empty` as it has made arrivals at `full`, less 0.
        `wait full[p.index] p.phase` of consumer: rank 4 + 4 * #i.
        consumer has passed at least as many waits at `full` as it has made arrivals at `empty`, less 0.
        producer waits at `empty` for what arrived a round before.
        producer arrives at `full` only after the previous generation has completed: it has waited at `empty` for consumer, who has waited at `full` for producer.
        consumer arrives at `empty` only after the previous generation has completed: it has waited at `full` for producer, who has waited at `empty` for consumer.
        producer is never lapped at `empty`, since consumer arrives there: it has waited at `full` for producer.
        consumer is never lapped at `full`, since producer arrives there: it has waited at `empty` for consumer.
      obligations:
        000_declared: the declaration of `full` is defined
        001_declared: the declaration of `empty` is defined
        002_expected: as many members arrive at `empty` as it expects
        003_expected: as many members arrive at `full` as it expects
        004_start: what holds everywhere holds at the start
        005_defined: `wait empty[p.index] p.phase` of producer is defined
        006_element: `wait empty[p.index] p.phase` of producer is at the next element
        007_defined: `wait empty[p.index] p.phase` of producer is defined
        008_lapped_by: a member arrives that laps no waiting member
        009_awaits: `wait empty[p.index] p.phase` of producer is for the number that it is meant for
        010_defined: `arrive full[p.index]` of producer is defined
        011_element: `arrive full[p.index]` of producer is at the next element
        012_in_turn: `arrive full[p.index]` of producer comes after the generation before its own has completed
        013_laps: `arrive full[p.index]` of producer laps no member that still waits
        014_behind: `arrive full[p.index]` of producer comes after the waits that it has to follow
        015_kept: the facts about `for i in 0..N` of producer hold after an iteration
        016_element: `arrive full[0]` of producer is at the next element
        017_in_turn: `arrive full[0]` of producer comes after the generation before its own has completed
        018_laps: `arrive full[0]` of producer laps no member that still waits
        019_behind: `arrive full[0]` of producer comes after the waits that it has to follow
        020_settled: producer delivers all that it expects
        021_progress: who has not made an arrival that `wait empty[p.index] p.phase` of producer is for waits at a lesser rank: `wait full[p.index] p.phase` of consumer
        022_progress: who has not made an arrival that `wait empty[p.index] p.phase` of producer is for is not at its end: consumer
        023_start: what holds everywhere holds at the start
        024_defined: `wait full[p.index] p.phase` of consumer is defined
        025_element: `wait full[p.index] p.phase` of consumer is at the next element
        026_defined: `wait full[p.index] p.phase` of consumer is defined
        027_lapped_by: a member arrives that laps no waiting member
        028_awaits: `wait full[p.index] p.phase` of consumer is for the number that it is meant for
        029_defined: `arrive empty[p.index]` of consumer is defined
        030_element: `arrive empty[p.index]` of consumer is at the next element
        031_in_turn: `arrive empty[p.index]` of consumer comes after the generation before its own has completed
        032_laps: `arrive empty[p.index]` of consumer laps no member that still waits
        033_behind: `arrive empty[p.index]` of consumer comes after the waits that it has to follow
        034_kept: the facts about `for i in 0..N` of consumer hold after an iteration
        035_settled: consumer delivers all that it expects
        036_progress: who has not made an arrival that `wait full[p.index] p.phase` of consumer is for waits at a lesser rank: `wait empty[p.index] p.phase` of producer
        037_progress: who has not made an arrival that `wait full[p.index] p.phase` of consumer is for is not at its end: producer
      notes: no run reaches `arrive full[0]` in line 15, so the proof says nothing about it
      assumptions:
        2 <= S <= 2
        C >= 1
        N >= 1
        a resident CTA that can go on eventually does
        semaphore operations are atomic and seen in one order by everyone
      checked by: kernel
      decided by kernel in [time]
    --- stderr
    ");
}

#[test]
fn a_barrier_protocol_that_no_rule_covers_is_searched() {
    let folder = Folder::new();
    folder.file(
        "reset.wlk",
        "protocol reset
param N in 1..=3
semaphore s = 0
mbarrier b { arrivals: N }
role one[i in 0..N] {
    arrive b
    wait b 0
    s = 1
}
role two {
    wait s >= 1
}
",
    );
    insta::assert_snapshot!(folder.run(&["check", "reset.wlk"]), @r"
    exit 0
    --- stdout
    reset.wlk: deadlock: PROVED for every N in 1..=3 and schedule: by exhaustive search of 35 states of 3 inputs at 3 points
      assumptions:
        1 <= N <= 3
        a resident CTA that can go on eventually does
        semaphore operations are atomic and seen in one order by everyone
      checked by: exhaustive search
      decided by exhaustive search in [time]
    --- stderr
    ");
    let text = std::fs::read_to_string(folder.path().join("reset.wlk")).unwrap();
    folder.file("open.wlk", text.replace("1..=3", "1.."));
    let shown = folder.run(&["check", "-q", "open.wlk", "--assume", "N <= 3"]);
    insta::assert_snapshot!(shown, @"
    exit 0
    --- stdout
    open.wlk: deadlock: PROVED for every N >= 1 and schedule, assuming N <= 3: by exhaustive search of 35 states of 3 inputs at 3 points
    --- stderr
    ");
}

#[test]
fn what_is_undefined_is_refuted_by_its_name() {
    let folder = Folder::new();
    folder.file(
        "over.wlk",
        "protocol over
param N in 1..
mbarrier bar { arrivals: N }
role thread {
    arrive bar 2
}
",
    );
    insta::assert_snapshot!(folder.run(&["check", "over.wlk"]), @"
    exit 1
    --- stdout
    over.wlk: over_arrival: REFUTED at N = 1: thread arrives 2 times at bar in line 5, but the phase needs only 1 more arrival
       --> over.wlk:5
      5 |     arrive bar 2
      trace: 1  thread  cannot go on: 2 arrivals where 1 is pending  (line 5)
      minimal: smallest by (N) among N in 1..=5; there are no smaller ones
      assumptions: N >= 1; a resident CTA that can go on eventually does; semaphore operations are atomic and seen in one order by everyone
      decided by runs with somebody held in [time]

    over.wlk: deadlock: UNKNOWN a run does something undefined at N = 1: thread: 2 arrivals where 1 is pending
       --> over.wlk:5
      5 |     arrive bar 2
      notes:
        also tried: the order rule: it could not be shown that as many arrive at `bar` as it expects
        129 states explored
      assumptions:
        N >= 1
        a resident CTA that can go on eventually does
        semaphore operations are atomic and seen in one order by everyone
      hint: the statement itself is at fault: correct it, or exclude such inputs (`assume` in the text, or --assume EXPR)
      decided by explicit search in [time]
    --- stderr
    ");
}

#[test]
fn further_counterexamples_differ_in_where_the_roles_wait() {
    let folder = Folder::new();
    folder.file("two.wlk", TWO);
    let check = ["check", "two.wlk", "--counterexamples", "3"];
    insta::assert_snapshot!(folder.run(&check), @r"
        exit 1
        --- stdout
        two.wlk: deadlock: REFUTED at N = 1: nobody arrives at a, for which left waits (line 7): no statement arrives there
           --> two.wlk:7
          7 |         wait a 0
          element  start  now                 waited for              changed by  completes
          a        -      phase 0, 1 pending  left parity 0 (never)   nobody      no
          b        -      phase 0, 1 pending  right parity 0 (never)  nobody      no
          blocked:
            left at line 7: a parity 0, found phase 0, 1 pending: nobody else comes
            right at line 13: b parity 0, found phase 0, 1 pending: left never arrives, because `if N % 2 == 1` (line 6) holds for it
          minimal: smallest by (N) among N in 1..=5; there are no smaller ones
          further counterexamples: at N = 4: blocked are right at line 15 (b parity 1, found phase 1, 1 pending)
          notes: 2 counterexamples of the 3 asked for: no other choice of statements was found at which roles wait in vain (looked through for N in 1..=4 and at the values of the first: up to 64 inputs each, and up to 256 stuck runs of each input)
          assumptions: N >= 1; a resident CTA that can go on eventually does; semaphore operations are atomic and seen in one order by everyone
          decided by adversarial schedules in [time]
        --- stderr
        ");
    let witnesses = [&check[..], &["--witness", "w", "-q"]].concat();
    folder.run(&witnesses);
    let written = std::fs::read_dir(folder.path().join("w")).unwrap();
    for witness in written {
        let path = witness.unwrap().path();
        let shown = folder.run(&["replay", "-q", path.to_str().unwrap()]);
        assert!(shown.starts_with("exit 0\n"), "{shown}");
    }
}

#[test]
fn a_hang_at_twenty_iterations_is_found() {
    let folder = Folder::new();
    folder.file(
        "twenty.wlk",
        "protocol twenty
param T in 1..
param N in 0..
mbarrier bar { arrivals: T }
role thread[t in 0..T] {
    for i in 0..N {
        arrive bar
        wait bar if i == 19 then 0 else i % 2
    }
}
",
    );
    insta::assert_snapshot!(folder.run(&["check", "-q", "twenty.wlk"]), @"
    exit 1
    --- stdout
    twenty.wlk: deadlock: REFUTED at T = 1, N = 20: thread[0] waits for bar with parity 0 twice in a row (line 8), and bar has completed 20 times by then, so this wait needs another completion: whoever arrives there has made all of its arrivals
    --- stderr
    ");
}

#[test]
fn what_is_not_handled_for_all_values_is_never_proved() {
    let folder = Folder::new();
    let statements = [
        "async copy t completes full 8",
        "commit full",
        "sync split",
        "acquire pool_of_none 1",
    ];
    for statement in statements {
        let source = format!(
            "protocol p
            param N in 1..
            semaphore turn = 0
            mbarrier full {{ arrivals: 9 }}
            mbarrier late {{ arrivals: 9, init: explicit }}
            barrier split {{ arrivals: 9 }}
            pool pool_of_none = 0
            grid cta[n in 0..N] launch ascending resident 1.. {{
                wait turn == n
                if n == 1000 {{ {statement} }}
                turn += 1
            }}"
        );
        folder.file("p.wlk", &source);
        let shown = folder.run(&["check", "p.wlk", "--timeout", "1"]);
        assert!(!shown.contains("PROVED"), "{statement}: {shown}");
        // At N = 1001 some of them hang, which is found if there is the time.
        let codes = ["exit 1", "exit 3", "exit 4"];
        assert!(
            codes.iter().any(|code| shown.contains(code)),
            "{statement}: {shown}"
        );
    }
    // Without them it is.
    let source = "protocol p
        param N in 1..
        semaphore turn = 0
        buffer data[N]
        grid cta[n in 0..N] launch ascending resident 1.. {
            var p = producer(2)
            wait turn == p.count + n
            async copy data[n]
            wait_group 0
            turn += 1
        }";
    folder.file("p.wlk", source);
    assert!(folder.run(&["check", "p.wlk"]).contains("PROVED"));
}

#[test]
fn a_proved_protocol_with_its_argument() {
    let folder = Folder::new();
    folder.library("lock_rank.wlk");
    let shown = folder.run(&["check", "--explain-proof", "lock_rank.wlk"]);
    insta::assert_snapshot!(shown, @"
    exit 0
    --- stdout
    lock_rank.wlk: deadlock: PROVED for every N >= 1, M >= 1, R >= 1, pattern visits, row order and schedule: all 7 obligations of the kernel hold
      why it holds:
        A member waits only for members whose own waits have lower ranks, so no cycle of waits is possible.
        At each element of `dq` members of `cta` take turns without a gap: in their order, smaller n first, the turn grows by one with each member that comes.
        A member of `cta` waits only for members that start before it, so however few places there are, they have one.
      obligations:
        000_resident: there is a place for members of `cta`
        001_element: `wait dq[m] == rank(n, m)` is at an element that exists
        002_element: `dq[m] += 1` is at an element that exists
        003_pairs: who waits for a turn adds later, and who adds has waited
        004_numbered: turns grow by one with each member that comes
        005_rank: whoever `wait dq[m] == rank(n, m)` is for is held up at lesser ranks only
        006_started: whoever a wait is for has started
      assumptions:
        N >= 1
        M >= 1
        R >= 1
        a resident CTA that can go on eventually does
        semaphore operations are atomic and seen in one order by everyone
        CTAs start in the declared launch order, which CUDA does not promise
      checked by: kernel
      decided by kernel in [time]
    --- stderr
    ");
}

#[test]
fn a_bounded_protocol() {
    let folder = Folder::new();
    folder.file("bounded.wlk", BOUNDED);
    insta::assert_snapshot!(folder.run(&["check", "bounded.wlk"]), @r"
        exit 3
        --- stdout
        bounded.wlk: deadlock: BOUNDED no violation for inputs with at most 32 values per index, entries per row and iterations per loop, whatever the other parameters; no proof rule covers a `break` (line 7) under a condition that does not compare the loop's variable with a bound
          notes: also tried: the ticket rule: no proof rule covers `break`; the turn rule: no proof rule covers `break`; the credit rule: no proof rule covers `break`
          assumptions:
            N >= 1
            a resident CTA that can go on eventually does
            semaphore operations are atomic and seen in one order by everyone
            CTAs start in the declared launch order, which CUDA does not promise
          hint: more time will hardly help: fix a parameter (--set N=V) or relate some (--assume EXPR), which may be enough for a proof; or try every schedule at chosen values (warplock explore)
          decided by bounded search in [time]
        --- stderr
        ");
}

#[test]
fn a_property_that_does_not_apply_is_unknown() {
    let folder = Folder::new();
    folder.library("dense.wlk");
    let shown = folder.run(&["check", "--property", "race,deadlock", "-q", "dense.wlk"]);
    insta::assert_snapshot!(shown, @"
    exit 4
    --- stdout
    dense.wlk: race: UNKNOWN the protocol reads and writes no declared buffer
    dense.wlk: deadlock: PROVED for every N >= 1, M >= 1, R >= 1 and schedule: all 9 obligations of the kernel hold
    --- stderr
    ");
}

#[test]
fn several_files_are_reported_in_order_and_a_bad_one_stops_nobody() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("all")).unwrap();
    folder.file("all/b.wlk", library("lock_n_block.wlk"));
    folder.file("all/c.wlk", "protocol");
    folder.file("all/d.txt", "no protocol");
    folder.file("all/a.wlk", library("dense.wlk"));
    let shown = folder.run(&[
        "check",
        "-q",
        "--jobs",
        "2",
        "all",
        "missing.wlk",
        "all/a.wlk",
    ]);
    insta::assert_snapshot!(shown, @"
    exit 2
    --- stdout
    all/a.wlk: deadlock: PROVED for every N >= 1, M >= 1, R >= 1 and schedule: all 9 obligations of the kernel hold
    all/b.wlk: deadlock: REFUTED at N = 2, M = 1, R = 1, visits = {(1, 0)}: cta[1] waits for dq[0] == 1 (line 18), but dq[0] stays 0 and nobody adds to it: cta[0] never adds to it, because `for m in row(visits, n)` (line 17) makes no trip
    all/a.wlk: deadlock: PROVED for every N >= 1, M >= 1, R >= 1 and schedule: all 9 obligations of the kernel hold
    --- stderr
    Error: expected the protocol's name, found the end of the text
       ╭─[ all/c.wlk:1:9 ]
       │
     1 │ protocol
       │         │ 
       │         ╰─ expected the protocol's name
    ───╯
    error: cannot read missing.wlk: No such file or directory (os error 2)
    ");
}

#[test]
fn the_worst_verdict_decides_the_exit_code() {
    let folder = Folder::new();
    folder.library("dense.wlk");
    folder.library("lock_n_block.wlk");
    folder.file("bounded.wlk", BOUNDED);
    let code = |arguments: &[&str]| folder.output(arguments, b"").status.code().unwrap();
    assert_eq!(code(&["check", "dense.wlk"]), 0);
    assert_eq!(code(&["check", "dense.wlk", "bounded.wlk"]), 3);
    let race = &["check", "bounded.wlk", "--property", "race,deadlock"];
    assert_eq!(code(race), 4);
    assert_eq!(code(&["check", "lock_n_block.wlk", "bounded.wlk"]), 1);
}

#[test]
fn the_domain_can_be_narrowed() {
    let folder = Folder::new();
    folder.library("lock_rank_descending_launch.wlk");
    let file = "lock_rank_descending_launch.wlk";
    let shown = folder.run(&["check", "-q", file, "--assume", "R >= N", "--set", "M=3"]);
    insta::assert_snapshot!(shown, @r#"
    exit 0
    --- stdout
    lock_rank_descending_launch.wlk: deadlock: PROVED for M = 3 and every N >= 1, R >= 1, pattern visits, row order and schedule, assuming R >= N: all 6 obligations of the kernel hold
    --- stderr
    "#);
}

#[test]
fn a_counterexample_is_small_in_the_order_asked_for() {
    let folder = Folder::new();
    folder.library("delayed_release_csr.wlk");
    let file = "delayed_release_csr.wlk";
    let shown = folder.run(&["check", "-q", file, "--minimize", "M,entries"]);
    insta::assert_snapshot!(shown, @"
    exit 1
    --- stdout
    delayed_release_csr.wlk: deadlock: REFUTED at N = 1, M = 2, R = 1, visits = {(0, 0), (0, 1)}, row 0 of visits in the order 1, 0: cta[0] waits for dq[0] == 0 (line 20), but cta[0] itself has already added 1 (line 23), and dq[0] never goes down
    --- stderr
    ");
}

#[test]
fn standard_input_is_a_file() {
    let folder = Folder::new();
    let shown = folder.run_with(&["check", "-q", "-"], library("dense.wlk").as_bytes());
    insta::assert_snapshot!(shown, @r#"
    exit 0
    --- stdout
    <stdin>: deadlock: PROVED for every N >= 1, M >= 1, R >= 1 and schedule: all 9 obligations of the kernel hold
    --- stderr
    "#);
}

#[test]
fn expectations_are_compared() {
    let folder = Folder::new();
    folder.library("lock_rank_descending_launch.wlk");
    let wrong = library("lock_n_block.wlk").replace("N = 2, M = 1", "N = 3");
    folder.file("wrong.wlk", wrong + "expect deadlock: proved\n");
    folder.file("none.wlk", BOUNDED);
    let shown = folder.run(&["check", "--expect", "lock_rank_descending_launch.wlk"]);
    insta::assert_snapshot!(shown, @r#"
    exit 0
    --- stdout
    lock_rank_descending_launch.wlk:25: ok: deadlock: refuted at N = 2, M = 1, R = 1
    lock_rank_descending_launch.wlk:26: ok: deadlock: proved assuming R >= N
    --- stderr
    "#);
    let shown = folder.run(&["check", "--expect", "wrong.wlk", "none.wlk"]);
    insta::assert_snapshot!(shown, @"
    exit 1
    --- stdout
    wrong.wlk:24: differs: expected `deadlock: refuted at N = 3`, got refuted at N = 2: at N = 2, M = 1, R = 1, visits = {(1, 0)}: cta[1] waits for dq[0] == 1 (line 18), but dq[0] stays 0 and nobody adds to it: cta[0] never adds to it, because `for m in row(visits, n)` (line 17) makes no trip
    wrong.wlk:25: differs: expected `deadlock: proved`, got refuted at N = 2, M = 1, R = 1: at N = 2, M = 1, R = 1, visits = {(1, 0)}: cta[1] waits for dq[0] == 1 (line 18), but dq[0] stays 0 and nobody adds to it: cta[0] never adds to it, because `for m in row(visits, n)` (line 17) makes no trip
    --- stderr
    none.wlk: no expect lines to compare with
    ");
}

#[test]
fn certificates_and_witnesses_are_kept() {
    let folder = Folder::new();
    folder.library("dense.wlk");
    folder.library("lock_n_block.wlk");
    let shown = folder.run(&[
        "check",
        "dense.wlk",
        "lock_n_block.wlk",
        "--certificate",
        "new/certificates",
        "--witness",
        "new/witnesses",
        "--property",
        "deadlock",
    ]);
    assert!(
        shown.contains("warplock certify new/certificates/dense-deadlock-"),
        "{shown}"
    );
    assert!(
        shown.contains("warplock replay new/witnesses/lock_n_block-deadlock-"),
        "{shown}"
    );
    folder.only("new/certificates");
    folder.only("new/witnesses");
}

#[test]
fn a_folder_that_cannot_be_written_costs_the_file_and_not_the_verdict() {
    let folder = Folder::new();
    folder.library("lock_n_block.wlk");
    folder.file("taken", "");
    let shown = folder.run(&["check", "-q", "lock_n_block.wlk", "--witness", "taken"]);
    insta::assert_snapshot!(shown, @"
    exit 2
    --- stdout
    lock_n_block.wlk: deadlock: REFUTED at N = 2, M = 1, R = 1, visits = {(1, 0)}: cta[1] waits for dq[0] == 1 (line 18), but dq[0] stays 0 and nobody adds to it: cta[0] never adds to it, because `for m in row(visits, n)` (line 17) makes no trip
    --- stderr
    error: cannot create the folder taken: File exists (os error 17)
    ");
}

/// Of values that contradict each other everything is true: that is no proof.
#[test]
fn assumptions_that_nothing_satisfies() {
    let text = "protocol handover
param N in 0..=100
mbarrier b { arrivals: 1 }
role left { arrive b }
role right { wait b 0 }
buffer tile[2]
role other { read tile[0] }
";
    let folder = Folder::new();
    folder.file("handover.wlk", text);
    let check = |options: &[&str]| {
        let found = folder.run(&[&["check", "-q", "handover.wlk"], options].concat());
        let verdict = found.split("handover.wlk: ").nth(1).unwrap_or_default();
        (
            found.lines().next().unwrap_or_default().to_owned(),
            verdict.lines().next().unwrap_or_default().to_owned(),
        )
    };
    let nothing = "no parameter values satisfy the declared domain and the assumptions: there is nothing to decide about";
    for property in ["deadlock", "race"] {
        let both = [
            "--property",
            property,
            "--assume",
            "N >= 5",
            "--assume",
            "N < 5",
        ];
        let fixed = [
            "--property",
            property,
            "--set",
            "N=7",
            "--assume",
            "N * N == 64",
        ];
        for options in [both, fixed] {
            let expected = format!("{property}: UNKNOWN {nothing}");
            assert_eq!(check(&options), ("exit 4".to_owned(), expected));
        }
    }
    let far = check(&["--assume", "N * N == 7744"]);
    assert_eq!(far.0, "exit 0", "{}", far.1);
    folder.file(
        "handover.wlk",
        text.replace("buffer", "assume N > 100\nbuffer"),
    );
    let written = format!("deadlock: UNKNOWN {nothing}");
    assert_eq!(check(&[]), ("exit 4".to_owned(), written));
}

/// That the time is up is no statement about the rules.
#[test]
fn the_reason_is_the_time_where_nothing_was_tried() {
    let folder = Folder::new();
    folder.file(
        "p.wlk",
        std::fs::read(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/encodings/pipeline/gemm_step7.wlk"
        ))
        .unwrap(),
    );
    let shown = folder.run(&["check", "-q", "p.wlk", "--timeout", "0.000001"]);
    let reason = "p.wlk: deadlock: UNKNOWN the time was up before a proof was looked for\n";
    assert!(shown.contains(reason), "{shown}");
}
