//! Counters and trip counts from the control-flow graph: `tests/ptx/counted`. Each of these kernels was once recovered wrongly.

use std::fs;
use std::path::Path;

use crate::support::program::Folder;

/// The verdict for a kernel, up to what the proof is or what hangs.
fn verdict(name: &str, values: &[&str]) -> String {
    let file = format!("{name}.ptx");
    let path = Path::new("tests/ptx/counted").join(&file);
    let folder = Folder::new();
    folder.file(&file, fs::read(path).unwrap());
    let mut arguments = vec!["check", "--recovery", "graph", &file];
    arguments.extend(values.iter().flat_map(|value| ["--set", value]));
    let shown = folder.run(&arguments);
    let line = shown.lines().nth(2).unwrap();
    let (_, line) = line.split_once("deadlock: ").unwrap();
    let line = line.split(": ").next().unwrap();
    let assumed = shown
        .lines()
        .filter(|line| line.contains("a counter that") || line.contains("steps of loops"));
    let assumed: String = assumed.map(|line| format!("\n{}", line.trim())).collect();
    line.to_owned() + &assumed
}

/// A counter that may fall below 0 is not followed, and that one does not wrap around is said.
#[test]
fn counters_are_0_or_more() {
    insta::assert_snapshot!(verdict("counter_goes_down", &[]), @"UNKNOWN line 40");
    insta::assert_snapshot!(verdict("counter_begins_below_0", &[]), @"UNKNOWN line 41");
    insta::assert_snapshot!(verdict("counter_wraps_around", &[]), @r"
    PROVED for every p0 in 0..=1073741823, p1 in 0..=1073741823 and schedule
    a counter that several loops move stays below 2^31
    ");
}

/// How often a loop runs depends on its step, too.
#[test]
fn loops_with_different_steps_run_differently_often() {
    insta::assert_snapshot!(verdict("steps_differ", &[]), @r"
    REFUTED at tiles = 3, tiles_2 = 2
    assumptions: tiles in {3}; tiles_2 in {2}; a loop in steps of the grid does not wrap around; steps of loops that the launch gives are at least 1; lanes of a warp that diverge reconverge where their paths meet; a resident CTA that can go on eventually does; ... and 1 more
    ");
    insta::assert_snapshot!(verdict("step_is_bound", &[]), @r"
    UNKNOWN the recovered protocol has a counterexample, but possibly no launch has it
    steps of loops that the launch gives are at least 1
    ");
    insta::assert_snapshot!(verdict("step_may_be_0", &[]), @r"
    PROVED for every tiles in 0..=1073741823 and schedule
    steps of loops that the launch gives are at least 1
    ");
}

/// `x % 2` is -1 or 1 for odd numbers below 0 in the text, and there are no rounds.
#[test]
fn rounds_that_are_left_over_are_of_no_number_below_0() {
    insta::assert_snapshot!(verdict("rest_below_0", &["p0=0", "p1=2501"]), @"REFUTED at p0 = 0, p1 = 2501");
    insta::assert_snapshot!(verdict("rest_below_0_at_few_rounds", &[]), @"REFUTED at p0 = 2, p1 = 1");
}

/// A loop that moves what it runs up to is no loop over a range.
#[test]
fn a_bound_that_moves_is_not_followed() {
    insta::assert_snapshot!(verdict("bound_moves", &["p0=1"]), @"UNKNOWN line 41");
}

/// All registers move on at once, whichever the text moves first.
#[test]
fn registers_move_on_at_once() {
    insta::assert_snapshot!(verdict("updates_in_order", &["p0=1", "p1=3000"]), @"PROVED for p0 = 1, p1 = 3000 and every schedule");
    insta::assert_snapshot!(verdict("updates_at_once", &["p0=1"]), @"REFUTED at p0 = 1, p1 = 3000");
    insta::assert_snapshot!(verdict("phase_updated_at_once", &["p0=1"]), @"REFUTED at p0 = 1, p1 = 3000");
}

/// Who meets others under a condition is not behind their initialisations; where some only arrive, not all have met; and a barrier whose number
/// is in a register may be any.
#[test]
fn not_everybody_has_met() {
    insta::assert_snapshot!(verdict("met_under_a_condition", &[]), @"UNKNOWN the recovered protocol has a counterexample, but possibly no launch has it");
    insta::assert_snapshot!(verdict("registers_behind_arrivals", &[]), @"REFUTED a circular wait");
    insta::assert_snapshot!(verdict("barrier_in_a_register", &[]), @"UNKNOWN line 26");
}
