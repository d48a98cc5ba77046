//! Reports fit a screen of 25 lines, whatever its width.

use std::path::Path;
use std::process::Command;

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
