//! What machines read: annotations, JUnit, Markdown, SARIF of kernels.

use serde_json::Value;

use crate::support::program::Folder;

fn folder() -> Folder {
    let folder = Folder::new();
    folder.library("dense.wlk");
    folder.library("lock_n_block.wlk");
    folder
}

const FILES: [&str; 4] = ["check", "dense.wlk", "lock_n_block.wlk", "missing.wlk"];

fn shown(format: &str) -> String {
    let text = folder().run(&[&FILES[..], &["--format", format]].concat());
    // How long it took differs.
    let parts = text
        .split("time=\"")
        .enumerate()
        .map(|(number, part)| match number {
            0 => part.to_owned(),
            _ => format!("time=\"T{}", &part[part.find('"').unwrap()..]),
        });
    parts.collect()
}

#[test]
fn annotations_of_github() {
    insta::assert_snapshot!(shown("github"), @r"
    exit 2
    --- stdout
    ::notice file=dense.wlk,line=1,title=dense%3A deadlock PROVED::for every N >= 1, M >= 1, R >= 1 and schedule: all 9 obligations of the kernel hold
    ::error file=lock_n_block.wlk,line=18,title=lock_n_block%3A deadlock REFUTED::at N = 2, M = 1, R = 1, visits = {(1, 0)}: cta[1] waits for dq[0] == 1 (line 18), but dq[0] stays 0 and nobody adds to it: cta[0] never adds to it, because `for m in row(visits, n)` (line 17) makes no trip
    ::error title=warplock::cannot read missing.wlk: No such file or directory (os error 2)
    --- stderr
    error: cannot read missing.wlk: No such file or directory (os error 2)
    ");
}

#[test]
fn junit() {
    insta::assert_snapshot!(shown("junit"), @r#"
    exit 2
    --- stdout
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="warplock">
      <testsuite name="dense.wlk" tests="1" failures="0" errors="0" time="T">
        <testcase name="deadlock" classname="dense" file="dense.wlk" line="1" time="T"/>
      </testsuite>
      <testsuite name="lock_n_block.wlk" tests="1" failures="1" errors="0" time="T">
        <testcase name="deadlock" classname="lock_n_block" file="lock_n_block.wlk" line="18" time="T">
          <failure type="REFUTED" message="at N = 2, M = 1, R = 1, visits = {(1, 0)}: cta[1] waits for dq[0] == 1 (line 18), but dq[0] stays 0 and nobody adds to it: cta[0] never adds to it, because `for m in row(visits, n)` (line 17) makes no trip">
    cta[0] starts and has nothing to do
    cta[1] starts
          </failure>
        </testcase>
      </testsuite>
      <testsuite name="warplock" tests="1" failures="0" errors="1">
        <testcase name="run" classname="warplock">
          <error type="failure">error: cannot read missing.wlk: No such file or directory (os error 2)</error>
        </testcase>
      </testsuite>
    </testsuites>
    --- stderr
    error: cannot read missing.wlk: No such file or directory (os error 2)
    "#);
}

#[test]
fn markdown() {
    insta::assert_snapshot!(shown("markdown"), @r"
    exit 2
    --- stdout
    | verdict | property | protocol | file | |
    | --- | --- | --- | --- | --- |
    | PROVED | deadlock | dense | dense.wlk:1 | for every N \>= 1, M \>= 1, R \>= 1 and schedule: all 9 obligations of the kernel hold |
    | REFUTED | deadlock | lock\_n\_block | lock\_n\_block.wlk:18 | at N = 2, M = 1, R = 1, visits = {(1, 0)}: cta\[1\] waits for dq\[0\] == 1 (line 18), but dq\[0\] stays 0 and nobody adds to i... |

    ### deadlock REFUTED of lock\_n\_block

    **Theory.** cta\[1\] waits for dq\[0\] == 1 (line 18), but dq\[0\] stays 0 and nobody adds to it: cta\[0\] never adds to it, because `for m in row(visits, n)` (line 17) makes no trip.

    **It predicts.** A launch with N = 2, M = 1, R = 1, visits = {(1, 0)} can stop for ever, and then these wait:

    - cta\[1\] at line 18, for dq\[0\] == 1, and finds 0

    **It does not explain your hang** if a debugger shows other waits, other lines or other phases of these barriers. `warplock hang` compares what cuda-gdb prints with it.

    **The run**, found by `warplock check --set M=1 --set N=2 --set R=1 lock_n_block.wlk`:

    ```text
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
    ```

    ```text
    error: cannot read missing.wlk: No such file or directory (os error 2)
    ```
    --- stderr
    error: cannot read missing.wlk: No such file or directory (os error 2)
    ");
}

/// The places of a kernel are those of its source.
#[test]
fn sarif_of_a_kernel_has_the_run_by_role() {
    let folder = Folder::new();
    folder.kernel("ring.ptx");
    let entry = "ring_producer_starts_at_phase_0";
    let arguments = ["check", "ring.ptx", "--entry", entry, "--format", "sarif"];
    let output = folder.output(&arguments, b"");
    let log: Value = serde_json::from_slice(&output.stdout).unwrap();
    let result = &log["runs"][0]["results"][0];
    let place = |location: &Value| {
        let physical = &location["physicalLocation"];
        let file = physical["artifactLocation"]["uri"].as_str().unwrap();
        format!("{file}:{}", physical["region"]["startLine"])
    };
    assert_eq!(place(&result["locations"][0]), "ring.cu:25");
    let related = result["relatedLocations"].as_array().unwrap();
    let related: Vec<String> = related
        .iter()
        .map(|location| {
            format!(
                "{} {}",
                place(location),
                location["message"]["text"].as_str().unwrap()
            )
        })
        .collect();
    insta::assert_debug_snapshot!(related, @r#"
    [
        "ring.cu:25 warp0 waits for empty_bar[0] parity 0, found phase 0, 3 pending",
        "ring.cu:37 warps1_3[0] waits for full_bar[0] parity 0, found phase 0, 1 pending",
    ]
    "#);
    let flows = result["codeFlows"][0]["threadFlows"].as_array().unwrap();
    let flows: Vec<String> = flows
        .iter()
        .map(|flow| {
            let steps = flow["locations"].as_array().unwrap();
            let order: Vec<String> = steps
                .iter()
                .map(|step| step["executionOrder"].to_string())
                .collect();
            let first = place(&steps[0]["location"]);
            format!("{} at {first}, steps {}", flow["id"], order.join(" "))
        })
        .collect();
    insta::assert_debug_snapshot!(flows, @r#"
    [
        "\"warp0\" at ring.cu:57, steps 1",
        "\"warps1_3\" at ring.cu:57, steps 2 3 4",
    ]
    "#);
}

#[test]
fn documents_are_never_empty() {
    let folder = Folder::new();
    for format in ["json", "sarif", "junit", "markdown", "github", "html"] {
        let output = folder.output(&["check", "missing.wlk", "--format", format], b"");
        assert_eq!(output.status.code(), Some(2), "{format}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("cannot read missing.wlk"), "{format}: {text}");
        match format {
            "json" | "sarif" => drop(serde_json::from_str::<Value>(&text).unwrap()),
            "junit" => assert!(text.ends_with("</testsuites>\n"), "{text}"),
            _ => {}
        }
    }
}
