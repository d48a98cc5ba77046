//! Kernels of our own by way of the control-flow graph: what warps of a warpgroup do together, and registers.

use crate::support::program::Folder;

fn check(name: &str, entry: &str) -> String {
    let folder = Folder::new();
    folder.kernel(name);
    let arguments = ["check", "-q", name, "--recovery", "graph", "--entry", entry];
    // Which rule proves it depends on how fast the machine is.
    let shown = folder.run(&arguments);
    match shown.find(": all ") {
        Some(at) => shown[..at].to_owned(),
        None => shown,
    }
}

/// The four warps of a warpgroup issue a multiplication together, so none of them is lapped at the barriers in front of it.
#[test]
fn warps_that_multiply_together_wait_for_each_other() {
    insta::assert_snapshot!(check("tensor_gemm.ptx", "turns"), @r"
    exit 0
    --- stdout
    tensor_gemm.ptx: deadlock: PROVED for every param_4 in 0..=1073741823 and schedule
    ");
    insta::assert_snapshot!(check("tensor_gemm.ptx", "turns_without_a_first"), @r"
    exit 1
    --- stdout
    tensor_gemm.ptx: deadlock: REFUTED at param_4 = 1: warp4 and warp8 wait for each other: warp4 for warp8 to come to cta_bar[3], warp8 for warp4 to come to cta_bar[2]
    --- stderr
    ");
}

#[test]
fn registers_that_nobody_gives_back_are_waited_for() {
    insta::assert_snapshot!(check("hopper_gemm.ptx", "hopper_gemm_takes_more_registers"), @r"
    exit 1
    --- stdout
    hopper_gemm.ptx: deadlock: REFUTED at tiles = 0, param_4 = 0: warps8_11[3] waits for 72 of registers, 8 are available, and too little is given back: warp0 gives back 128 times and has ended; warps1_3[0..3] give back 128 times each and have ended
    --- stderr
    ");
}
