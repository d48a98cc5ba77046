//! Reports fit a screen of 25 lines, whatever its width.

use std::path::Path;
use std::process::Command;

use crate::support::program::filtered;

/// Runs a command in a terminal of so many columns, and prints what it wrote there.
const IN_TERMINAL: &str = r#"
import fcntl, os, pty, struct, sys, termios
columns, command = int(sys.argv[1]), sys.argv[2:]
child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 25, columns, 0, 0))
    os.execv(command[0], command)
written = b""
while True:
    try:
        more = os.read(terminal, 65536)
    except OSError:
        break
    if not more:
        break
    written += more
os.waitpid(child, 0)
sys.stdout.buffer.write(written.replace(b"\r\n", b"\n"))
"#;

fn in_terminal(columns: usize, file: &str) -> String {
    checked(columns, &[file])
}

/// What `check` writes to a terminal of so many columns.
pub fn checked(columns: usize, arguments: &[&str]) -> String {
    let output = Command::new("python3")
        .args(["-c", IN_TERMINAL, &columns.to_string()])
        .arg(env!("CARGO_BIN_EXE_warplock"))
        .args(["check", "--color", "never"])
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("encodings"))
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// What a terminal shows in the end: what a line of progress wrote is written over.
pub fn shown(printed: &str) -> Vec<&str> {
    let escape = '\u{1b}';
    printed
        .lines()
        .map(|line| match line.rsplit_once("\u{1b}[2K") {
            Some((_, rest)) => rest,
            None => line,
        })
        .filter(|line| !line.is_empty() && !line.contains(escape))
        .collect()
}

#[test]
fn a_finding_fits_a_screen() {
    for columns in [80, 120] {
        for file in [
            "known_bugs/leader_releases_early.wlk",
            "known_bugs/bytes_delivered.wlk",
            "pipeline/gemm_multicast_alone.wlk",
            "pipeline/gemm_one_role_half.wlk",
            "block_sparse/backward_rings_block_number.wlk",
        ] {
            let printed = in_terminal(columns, file);
            let lines = shown(&printed);
            assert!(lines.len() > 5, "{printed}");
            assert!(lines.len() <= 25, "{} lines:\n{printed}", lines.len());
            for line in lines {
                assert!(line.chars().count() <= columns, "{line}");
            }
        }
    }
}

/// The same finding, wrapped to two widths.
#[test]
fn a_finding_at_80_and_at_120_columns() {
    let text = |columns: usize| {
        let printed = in_terminal(columns, "known_bugs/leader_releases_early.wlk");
        filtered(&(shown(&printed).join("\n") + "\n"))
    };
    insta::assert_snapshot!(text(80), @r"
        known_bugs/leader_releases_early.wlk: deadlock: REFUTED at S = 1, W = 2, I = 2:
            consumer[1] is lapped: it still waits for phase 0 of full[0] (line 26), but
            producer completed phases 0 and 1 (line 17) without waiting for consumer[1]
            --> known_bugs/leader_releases_early.wlk:26
          26 |         wait full[c.index] c.phase
          elements:
            full[0]: phase 0, 1 pending
              waited for: consumer[0] parity 1 (never), consumer[1] parity 0 (never),
                  consumer[1] parity 1 (never), consumer[0] parity 0
              changed by: producer arrive 1
          ... and 1 more element (-v shows them)
          who waits for whom:
            consumer[0] (line 25) for consumer[1] to arrive at warps
            ... and 1 more
          trace:
            ... 7 earlier steps (-v shows them)
             8  consumer[0]  arrives at warps: 1 pending, arrived: consumer[0]  (line
                 25)
             9  producer     passes empty[0], which has left phase 0  (line 16)
            10  producer     arrives at full[0]: phase 0, 1 pending  (line 17)
            11  consumer[1]  passes warps  (line 25)
          minimal: smallest by (S, W, I) among S in 1..=4, W in 1..=5, I in 0..=4; every
              smaller one of these was explored exhaustively
          assumptions: 5 (-v lists them)
          decided by adversarial schedules in [time]
        ");
    insta::assert_snapshot!(text(120), @r"
        known_bugs/leader_releases_early.wlk: deadlock: REFUTED at S = 1, W = 2, I = 2: consumer[1] is lapped: it still waits
            for phase 0 of full[0] (line 26), but producer completed phases 0 and 1 (line 17) without waiting for consumer[1]
            --> known_bugs/leader_releases_early.wlk:26
          26 |         wait full[c.index] c.phase
          elements:
            full[0]: phase 0, 1 pending
              waited for: consumer[0] parity 1 (never), consumer[1] parity 0 (never), consumer[1] parity 1 (never), consumer[0]
                  parity 0
              changed by: producer arrive 1
            warps: 1 pending, arrived: consumer[0]
              waited for: consumer[0] a completed generation (never), consumer[1] a completed generation (never), consumer[0] a
                  completed generation, consumer[1] a completed generation
              changed by: consumer[1] arrive (never), consumer[0] arrive, consumer[1] arrive
          who waits for whom:
            consumer[0] (line 25) for consumer[1] to arrive at warps
            consumer[1] (line 26) for full[0] to leave phase 0
          trace:
            ... 8 earlier steps (-v shows them)
             9  producer     passes empty[0], which has left phase 0  (line 16)
            10  producer     arrives at full[0]: phase 0, 1 pending  (line 17)
            11  consumer[1]  passes warps  (line 25)
          minimal: smallest by (S, W, I) among S in 1..=4, W in 1..=5, I in 0..=4; every smaller one of these was explored
              exhaustively
          assumptions: 1 <= S <= 4; W >= 1; ... and 3 more
          decided by adversarial schedules in [time]
        ");
}
