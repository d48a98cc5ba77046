//! `warplock export`: what is written and what is refused.

use crate::support::program::Folder;

const HANDOVER: &str = "protocol handover

param N in 1..

mbarrier full { arrivals: 1 }
semaphore free = 1

role load {
    for i in 0..N {
        wait free >= 1
        async copy tile completes full 16
        arrive_expect_tx full 16
    }
}

role math {
    wait full 0
    free += 1
}
";

#[test]
fn a_model_for_spin() {
    let folder = Folder::new();
    folder.file("handover.wlk", HANDOVER);
    let export = ["export", "handover.wlk", "--to", "promela", "--set", "N=1"];
    insta::assert_snapshot!(folder.run(&export), @"
    exit 0
    --- stdout
    /* handover at N = 1
     *
     * spin -a MODEL && gcc -O2 -DSAFETY -DCOLLAPSE -DVECTORSZ=1024 -o pan pan.c && ./pan -m1000000
     *
     * An invalid end state is a deadlock, a failed assertion an operation whose effect is
     * undefined. ./pan -A looks for the first alone, ./pan -E for the second alone. */

    byte full_0_pending = 1; /* full */
    bit full_0_phase; /* full */
    short full_0_tx; /* full */
    inline full_0_complete() {
        if
        :: full_0_pending == 0 && full_0_tx == 0 -> full_0_phase = 1 - full_0_phase; full_0_pending = 1
        :: else
        fi
    }
    byte free_1_value = 1; /* free */
    bool load_0_flying[1];
    bit undefined;

    /* load */
    active proctype load_0() {
        /* line 10, free */
        free_1_value >= 1;
        /* line 11, full */
        d_step { load_0_flying[0] = 1 };
        /* line 12, full */
        d_step { full_0_tx = full_0_tx + 16; full_0_complete() };
        /* line 12, full */
        if
        :: d_step { 1 <= full_0_pending -> full_0_pending = full_0_pending - 1; full_0_complete() }
        :: atomic { !(1 <= full_0_pending) -> assert(false) }; do :: undefined = 1 od
        fi;
    }

    /* load */
    active proctype load_1() {
    end:
        do
        :: d_step { load_0_flying[0] -> load_0_flying[0] = 0; if :: full_0_pending == 0 && 0 < full_0_tx && full_0_tx < 16 -> full_0_phase = 1 - full_0_phase; full_0_pending = 1; full_0_tx = full_0_tx - 16 :: else -> full_0_tx = full_0_tx - 16; full_0_complete() fi }
        od
    }

    /* math */
    active proctype math_2() {
        /* line 17, full */
        full_0_phase != 0;
        /* line 18, free */
        d_step { free_1_value = free_1_value + 1 };
    }
    --- stderr
    ");
}

#[test]
fn every_value_has_to_be_there() {
    let folder = Folder::new();
    folder.file("handover.wlk", HANDOVER);
    let export = ["export", "handover.wlk", "--to", "promela"];
    insta::assert_snapshot!(folder.run(&export), @"
    exit 2
    --- stdout
    --- stderr
    error: handover.wlk: no value for N
    hint: add --set N=...
    ");
}

#[test]
fn a_witness_is_exported_as_it_is() {
    let folder = Folder::new();
    folder.library("lock_n_block.wlk");
    folder.run(&["check", "-q", "lock_n_block.wlk", "--witness", "."]);
    let witness = std::fs::read_dir(folder.path()).unwrap();
    let names = witness.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let name = names
        .into_iter()
        .find(|name| name.ends_with(".json"))
        .unwrap();
    let export = ["export", "--witness", &name, "--to", "promela"];
    insta::assert_snapshot!(folder.run(&export), @"
    exit 0
    --- stdout
    /* lock_n_block at N = 2, M = 1, R = 1, visits = {(1, 0)}
     *
     * spin -a MODEL && gcc -O2 -DSAFETY -DCOLLAPSE -DVECTORSZ=1024 -o pan pan.c && ./pan -m1000000
     *
     * An invalid end state is a deadlock, a failed assertion an operation whose effect is
     * undefined. ./pan -A looks for the first alone, ./pan -E for the second alone. */

    byte dq_0_value; /* dq[0] */
    short cta_0_started;
    short cta_0_running;

    /* cta[0] */
    active proctype cta_0() {
        /* starts */
        d_step { cta_0_started == 0 && cta_0_running < 1 -> cta_0_started++ };
    }

    /* cta[1] */
    active proctype cta_1() {
        /* starts */
        d_step { cta_0_started == 1 && cta_0_running < 1 -> cta_0_started++; cta_0_running++ };
        /* line 18, dq[0] */
        dq_0_value == 1;
        /* line 20, dq[0] */
        d_step { dq_0_value = dq_0_value + 1; cta_0_running-- };
    }
    --- stderr
    ");
}

#[test]
fn a_value_beyond_32_bits_is_refused_where_it_comes_from() {
    let folder = Folder::new();
    let text = "protocol large

semaphore s = 0

role a {
    s += 2000000000
    s += 2000000000
    wait s >= 4000000000
}
";
    folder.file("large.wlk", text);
    let export = ["export", "large.wlk", "--to", "promela"];
    insta::assert_snapshot!(folder.run(&export), @"
    exit 2
    --- stdout
    --- stderr
    Error: cannot export: s can get beyond 32 bits, as a model's numbers have to stay within
       ╭─[ large.wlk:7:5 ]
       │
     7 │     s += 2000000000
    ───╯
    ");
}

#[test]
fn more_members_than_spin_runs_are_refused() {
    let folder = Folder::new();
    let text = "protocol many

param T in 1..

semaphore s = 0

role thread[t in 0..T] {
    s += 1
}
";
    folder.file("many.wlk", text);
    let export = ["export", "many.wlk", "--to", "promela", "--set", "T=256"];
    insta::assert_snapshot!(folder.run(&export), @"
    exit 2
    --- stdout
    --- stderr
    error: many.wlk: cannot export: 256 processes, and SPIN runs at most 255
    ");
}

#[test]
fn clauses_refuse_what_they_do_not_cover() {
    let folder = Folder::new();
    folder.library("lock_rank.wlk");
    let export = ["export", "lock_rank.wlk", "--to", "horn"];
    insta::assert_snapshot!(folder.run(&export), @"
    exit 2
    --- stdout
    --- stderr
    Error: cannot export: a pattern where members are counted
        ╭─[ lock_rank.wlk:11:1 ]
        │
     11 │ pattern visits[N, M]
    ────╯
    ");
    folder.file("handover.wlk", HANDOVER);
    let export = ["export", "handover.wlk", "--to", "horn"];
    insta::assert_snapshot!(folder.run(&export), @"
    exit 2
    --- stdout
    --- stderr
    Error: cannot export: asynchronous work where members are counted
        ╭─[ handover.wlk:11:9 ]
        │
     11 │         async copy tile completes full 16
    ────╯
    ");
}

#[test]
fn clauses_of_one_barrier() {
    let folder = Folder::new();
    let text = "protocol one

param T in 1..

mbarrier bar { arrivals: T }

role thread[t in 0..T] {
    arrive bar
    wait bar 0
}
";
    folder.file("one.wlk", text);
    insta::assert_snapshot!(folder.run(&["export", "one.wlk", "--to", "horn"]), @"
    exit 0
    --- stdout
    ; one: sat means that nothing hangs, whatever the parameters. unsat means that one of the
    ; clauses that end in false is broken; it is no counterexample.
    (set-logic HORN)
    (declare-fun reached_0 (Int Int Int Int Int Int Int Int) Bool)
    ; `bar` expects at least one arrival.
    (assert (forall ((param_T Int)) (=> (and (<= 1 param_T) (not (<= 1 param_T))) false)))
    ; The start
    (assert (forall ((param_T Int) (ahead_0_0 Int) (at_0_0_0 Int) (at_0_1_0 Int) (at_0_2_0 Int) (at_0_2_1 Int) (base Int) (pending_0_0 Int)) (=> (<= 1 param_T) (reached_0 param_T 0 (ite (<= param_T 0) 0 param_T) 0 0 0 0 0))))
    ; After the move of the base
    (assert (forall ((param_T Int) (ahead_0_0 Int) (at_0_0_0 Int) (at_0_1_0 Int) (at_0_2_0 Int) (at_0_2_1 Int) (base Int) (pending_0_0 Int)) (=> (and (reached_0 param_T base at_0_0_0 at_0_1_0 at_0_2_0 at_0_2_1 ahead_0_0 pending_0_0) (and (<= at_0_0_0 0) (<= at_0_1_0 0) (<= at_0_2_0 0) (<= 1 at_0_2_1))) (reached_0 param_T (+ base 1) at_0_0_0 at_0_1_0 at_0_2_1 0 ahead_0_0 pending_0_0))))
    ; After `arrive bar` of thread
    (assert (forall ((param_T Int) (ahead_0_0 Int) (at_0_0_0 Int) (at_0_1_0 Int) (at_0_2_0 Int) (at_0_2_1 Int) (base Int) (pending_0_0 Int)) (=> (and (reached_0 param_T base at_0_0_0 at_0_1_0 at_0_2_0 at_0_2_1 ahead_0_0 pending_0_0) (and (<= 1 at_0_0_0) (= (+ pending_0_0 1) param_T))) (reached_0 param_T base (- at_0_0_0 1) (+ at_0_1_0 1) at_0_2_0 at_0_2_1 (+ ahead_0_0 1) 0))))
    ; After `arrive bar` of thread
    (assert (forall ((param_T Int) (ahead_0_0 Int) (at_0_0_0 Int) (at_0_1_0 Int) (at_0_2_0 Int) (at_0_2_1 Int) (base Int) (pending_0_0 Int)) (=> (and (reached_0 param_T base at_0_0_0 at_0_1_0 at_0_2_0 at_0_2_1 ahead_0_0 pending_0_0) (and (<= 1 at_0_0_0) (< (+ pending_0_0 1) param_T))) (reached_0 param_T base (- at_0_0_0 1) (+ at_0_1_0 1) at_0_2_0 at_0_2_1 ahead_0_0 (+ pending_0_0 1)))))
    ; After `wait bar 0` of thread
    (assert (forall ((param_T Int) (ahead_0_0 Int) (at_0_0_0 Int) (at_0_1_0 Int) (at_0_2_0 Int) (at_0_2_1 Int) (base Int) (pending_0_0 Int)) (=> (and (reached_0 param_T base at_0_0_0 at_0_1_0 at_0_2_0 at_0_2_1 ahead_0_0 pending_0_0) (and (<= 1 at_0_1_0) (= (mod ahead_0_0 2) 1))) (reached_0 param_T base at_0_0_0 (- at_0_1_0 1) (+ at_0_2_0 1) at_0_2_1 ahead_0_0 pending_0_0))))
    ; Never: some member has not finished and no member can go on
    (assert (forall ((param_T Int) (ahead_0_0 Int) (at_0_0_0 Int) (at_0_1_0 Int) (at_0_2_0 Int) (at_0_2_1 Int) (base Int) (pending_0_0 Int)) (=> (and (reached_0 param_T base at_0_0_0 at_0_1_0 at_0_2_0 at_0_2_1 ahead_0_0 pending_0_0) (and (or (<= 1 at_0_0_0) (<= 1 at_0_1_0) (and (<= 1 at_0_2_0) (< base 0)) (and (<= 1 at_0_2_1) (< (+ base 1) 0))) (not (or (and (<= at_0_0_0 0) (<= at_0_1_0 0) (<= at_0_2_0 0) (<= 1 at_0_2_1)) (and (<= 1 at_0_0_0) (= (+ pending_0_0 1) param_T)) (and (<= 1 at_0_0_0) (< (+ pending_0_0 1) param_T)) (and (<= 1 at_0_1_0) (= (mod ahead_0_0 2) 1)))))) false)))
    (check-sat)
    --- stderr
    ");
}
