//! Mistakes: of the command line, of files, and hostile ones.

use crate::support::program::Folder;
use crate::support::program::library;

#[test]
fn the_top_level_help() {
    insta::assert_snapshot!(Folder::new().run(&["--help"]), @r"
    exit 0
    --- stdout
    Proves that a GPU kernel's synchronization cannot deadlock, or prints the smallest input that hangs
    it

    Usage: warplock [OPTIONS] <COMMAND>

    Commands:
      check        Decide the properties of protocols and kernels
      lift         Print the protocol that a compiled kernel follows
      lint         Check a protocol or a compiled kernel for a list of common mistakes
      trace        Run a compiled kernel at a concrete launch and print what its warps do
      run          Run a program, and decide the properties of the kernels that it compiles
      certify      Check certificates again, without the prover
      condition    Say at which parameter values a protocol hangs, as a formula
      worksheet    Print the roles, storage, hand-offs and lifetimes of a kernel as tables
      sweep        Check every kernel below folders once, and print one table
      diff         Say what differs between the protocols of two builds, and between their verdicts
      hang         Explain a hang seen in a debugger: whether the kernel gets there, and how
      repair       Look for the edits that make a refuted protocol a proved one
      csr          Say whether a kernel that takes turns by a lock hangs on concrete block-sparse
                   tensors
      repro        Print the smallest input that hangs a protocol, and write it as tensors or a script
      replay       Run a counterexample again
      simulate     Run a protocol once at concrete values
      explore      Search every schedule at concrete values
      export       Write a protocol as the input of another verifier
      lsp          Serve an editor: errors, names and verdicts of protocol files, over stdin and stdout
      fmt          Format protocol files
      explain      Explain verdicts, exit codes, properties and the proof rules
      completions  Print a completion script for a shell
      man          Print the manual page
      help         Print this message or the help of the given subcommand(s)

    Options:
      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version

    Output:
          --color <WHEN>
              When to use colours

              Possible values:
              - auto:   On a terminal, unless NO_COLOR is set
              - always: Always
              - never:  Never
              
              [default: auto]

      -q, --quiet
              Print only the first line of each result, and no progress

      -v, --verbose
              Print everything: every step, element, blocked member and assumption
    --- stderr
    ");
}

#[test]
fn every_command_has_help_and_a_manual_page() {
    let folder = Folder::new();
    let commands = [
        "check",
        "certify",
        "csr",
        "repro",
        "replay",
        "simulate",
        "explore",
        "fmt",
        "explain",
        "completions",
        "man",
    ];
    for command in commands {
        let help = folder.output(&[command, "--help"], b"");
        assert_eq!(help.status.code(), Some(0), "{command}");
        let page = folder.output(&["man", command], b"");
        assert_eq!(page.status.code(), Some(0), "{command}");
        assert!(page.stdout.starts_with(b".ie"), "{command}");
    }
}

#[test]
fn the_version_names_the_solver() {
    let shown = Folder::new().run(&["--version"]);
    assert!(shown.contains("warplock 0."), "{shown}");
    assert!(shown.contains("\nZ3 "), "{shown}");
}

#[test]
fn completions_and_explanations_are_printed() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish"] {
        let output = folder.output(&["completions", shell], b"");
        assert_eq!(output.status.code(), Some(0));
        assert!(!output.stdout.is_empty());
    }
    insta::assert_snapshot!(folder.run(&["explain"]), @r"
        exit 0
        --- stdout
        warplock explain TOPIC, where TOPIC is one of

          verdicts       What PROVED, REFUTED, BOUNDED and UNKNOWN mean
          exit-codes     What the exit codes mean
          properties     What can be decided about a protocol
          ticket-rule    How a protocol whose CTAs take turns in one order is proved free of deadlock
          turn-rule      How a protocol whose elements have orders of their own is proved free of deadlock
          cut-rule       How threads that meet at barriers are proved free of deadlock
          residency      What `resident` and the parameter R mean

        or a word that it prints:
          proved, refuted, counterexample, bounded, unknown, obligation
          obligations, order-rule, separation-rule, case-rule, member, members
          class, classes, lane, lanes, cut, cuts
          certificate, witness, missing, lapped, bytes-missing, bytes-surplus
          overtaken, no-place, circular, parity, phase, minimal
          smallest, assumptions, assumption, never, adversarial-schedules, schedules
          runs-with-somebody-held, a-suspicion-of-the-proof-search, hint, note, notes, wait-for-graph
          circle, decided-by, engine, explicit-search, exhaustive-search, event-encoding
          restricted-event-encoding, bounded-search, counter-system, accelerated-search-of-the-counter-system, credit-rule, arriver-rule
          element, elements, pending, generation, registered, registration
          blocked, never-started, not-started, resident-slot, waited-for, changed-by
          completes, names, trace, lint, lints, hangs-iff
          hangs-only-if, outside, inside, reached, excluded, not-found
          search-for-the-state-that-was-seen, hand-off, worksheet, row-order, trusted-kernel, kernel
          checked-by, deadlock, early_completion, early_pass, lapped_wait, over_arrival
          tx_mismatch, uninitialized, race, stale_read, resources, assertion
          init-in-role, use-before-barrier, never-initialised, cta-barrier-in-role, arrival-count, trip-counts
          commit-by-warp, dealloc-without-barrier, early-read, not-together, barrier-id, barrier-count
          nobody-arrives, never-waited, own-arrival, parity-repeats, bytes, value-out-of-reach
          capacity

        or a word of the protocol language, such as wait or arrive_expect_tx

        or the name of an obligation, such as 000_resident
        --- stderr
        ");
    insta::assert_snapshot!(folder.run(&["explain", "exit-codes"]), @r#"
    exit 0
    --- stdout
      0  every property is proved; for other commands: done
      3  at least one property is bounded, none is refuted or unknown
      4  at least one property is unknown, none is refuted
      1  at least one property is refuted, or an expectation is not met
      2  a mistake on the command line or in a file, or unreadable or unwritable
    101  an error of this program, a failed replay, a refused certificate
    130  interrupted by a signal

    Where several apply, the first of 130, 101, 2, 1, 4, 3, 0 counts.
    --- stderr
    "#);
    for topic in [
        "verdicts",
        "properties",
        "ticket-rule",
        "turn-rule",
        "cut-rule",
        "residency",
        "REFUTED",
        "deadlock",
        "order-rule",
        "obligation",
        "lapped",
        "tx_mismatch",
        "adversarial schedules",
        "explicit search",
        "event encoding",
        "runs with somebody held",
        "counter system",
        "credit rule",
        "arriver rule",
        "exhaustive search",
        "element",
        "pending",
        "blocked",
        "never started",
        "changed by",
        "waited for",
        "names",
        "trace",
        "lint",
        "hangs only if",
        "REACHED",
        "NOT FOUND",
        "resident slot",
        "row order",
        "checked by",
    ] {
        assert_eq!(
            folder.output(&["explain", topic], b"").status.code(),
            Some(0)
        );
    }
}

#[test]
fn every_word_that_a_verdict_uses_is_explained() {
    let folder = Folder::new();
    insta::assert_snapshot!(folder.run(&["explain", "order", "rule"]), @"
    exit 0
    --- stdout
    Every wait has a rank, which is greater than the ranks of the arrivals that it waits for. Suppose that
    nobody can go on, and take the wait with the smallest rank. The member that should arrive there would
    have to be stuck at a smaller rank: a contradiction. docs/soundness.md has the complete argument.
    --- stderr
    ");
    insta::assert_snapshot!(folder.run(&["explain", "lapping"]), @"
    exit 2
    --- stdout
    --- stderr
    error: nothing is known about `lapping`
    hint: there is `lapped`; `warplock explain` lists everything
    ");
    // General options stand under a heading of their own, and a page has one title line.
    let help = folder.run(&["check", "--help"]);
    let options = help.split("Kernels:").next().unwrap();
    assert!(options.contains("--timeout"), "{help}");
    let page = folder.run(&["man"]);
    let title = page.lines().find(|line| line.starts_with(".TH")).unwrap();
    assert!(
        title
            .trim_end()
            .ends_with(&format!("\"warplock {}\"", env!("CARGO_PKG_VERSION"))),
        "{title}"
    );
}

#[test]
fn usage_errors() {
    let folder = Folder::new();
    folder.library("dense.wlk");
    insta::assert_snapshot!(folder.run(&["chek"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: unrecognized subcommand 'chek'

      tip: a similar subcommand exists: 'check'

    Usage: warplock [OPTIONS] <COMMAND>

    For more information, try '--help'.
    "#);
    insta::assert_snapshot!(folder.run(&["check"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: the following required arguments were not provided:
      <FILE>...

    Usage: warplock check <FILE>...

    For more information, try '--help'.
    "#);
    insta::assert_snapshot!(folder.run(&["check", "dense.wlk", "--property", "deadlok"]), @"
    exit 2
    --- stdout
    --- stderr
    error: invalid value 'deadlok' for '--property <P>'
      [possible values: deadlock, early_completion, early_pass, lapped_wait, over_arrival, tx_mismatch, uninitialized, race, stale_read, resources, assertion, all]

      tip: a similar value exists: 'deadlock'

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(folder.run(&["check", "dense.wlk", "--set", "N"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: invalid value 'N' for '--set <P=V>': expected NAME=VALUE, as in T=128

    For more information, try '--help'.
    "#);
    insta::assert_snapshot!(folder.run(&["check", "dense.wlk", "--set", "N=1", "--set", "N=2"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: --set gives N two values, 1 and 2
    "#);
    insta::assert_snapshot!(folder.run(&["check", "dense.wlk", "--set", "Q=1"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: dense.wlk: --set: no parameter named `Q`
    hint: the parameters are N, M, R
    "#);
    insta::assert_snapshot!(folder.run(&["check", "dense.wlk", "--set", "N=0"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: dense.wlk: --set: N = 0 is outside the declared domain 1..
    "#);
    insta::assert_snapshot!(folder.run(&["check", "dense.wlk", "--assume", "N >> 3"]), @r#"
    exit 2
    --- stdout
    --- stderr
    Error: expected an expression, found `>`
       ╭─[ --assume:1:4 ]
       │
     1 │ N >> 3
       │    ┬  
       │    ╰── expected an expression
    ───╯
    "#);
    insta::assert_snapshot!(folder.run(&["check", "dense.wlk", "--minimize", "Q"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: dense.wlk: --minimize: nothing named `Q`
    hint: what can be made small: N, M, R, entries, initial
    "#);
    insta::assert_snapshot!(folder.run(&["check", "dense.wlk", "--timeout", "-1"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: unexpected argument '-1' found

      tip: to pass '-1' as a value, use '-- -1'

    Usage: warplock check [OPTIONS] <FILE>...

    For more information, try '--help'.
    "#);
}

#[test]
fn files_that_are_no_protocols() {
    let folder = Folder::new();
    folder.file("unknown.wlk", library("dense.wlk").replace("== n", "== k"));
    folder.file("latin1.wlk", b"protocol caf\xe9\n");
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    insta::assert_snapshot!(folder.run(&["check", "unknown.wlk"]), @r#"
    exit 2
    --- stdout
    --- stderr
    Error: unknown name `k`
        ╭─[ unknown.wlk:14:23 ]
        │
     14 │         wait dq[m] == k
        │                       ┬  
        │                       ╰── not declared
        │ 
        │ Help: a value that may vary is declared with `param k in 1..`
    ────╯
    "#);
    insta::assert_snapshot!(folder.run(&["check", "latin1.wlk"]), @r#"
    exit 2
    --- stdout
    --- stderr
    Error: the text is not UTF-8 from byte 12 on
       ╭─[ latin1.wlk:1:13 ]
       │
     1 │ protocol caf�
       │             │ 
       │             ╰─ expected UTF-8
    ───╯
    "#);
    insta::assert_snapshot!(folder.run(&["check", "missing.wlk"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: cannot read missing.wlk: No such file or directory (os error 2)
    "#);
    insta::assert_snapshot!(folder.run(&["check", "empty"]), @"
    exit 2
    --- stdout
    --- stderr
    error: no protocols (.wlk) and no compiled kernels (.ptx, .mlir, .cubin, .fatbin, .so, .o, .a) below empty
    hint: a .cu or .py file is named by itself: warplock check kernel.cu; `warplock run -- COMMAND` takes what a program compiles
    ");
    insta::assert_snapshot!(folder.run_with(&["check", "-"], b""), @r#"
    exit 2
    --- stdout
    --- stderr
    Error: expected `protocol` and a name, found the end of the text
       ╭─[ <stdin>:1:1 ]
       │
     1 │ 
       │ │ 
       │ ╰─ expected `protocol` and a name
    ───╯
    "#);
}

#[test]
fn large_and_deep_files_are_refused_quickly() {
    let folder = Folder::new();
    folder.file("large.wlk", vec![b' '; 10 << 20]);
    let deep = format!(
        "protocol deep\nassume {}1{} > 0\n",
        "(".repeat(100_000),
        ")".repeat(100_000)
    );
    folder.file("deep.wlk", deep);
    insta::assert_snapshot!(folder.run(&["check", "large.wlk"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: cannot read large.wlk: it is larger than 1048576 bytes, the most that is read
    "#);
    let shown = folder.run(&["check", "deep.wlk"]);
    assert!(
        shown.starts_with("exit 2\n--- stdout\n--- stderr\n"),
        "{shown}"
    );
}

#[test]
fn nothing_goes_to_stdout_when_nothing_was_decided() {
    let folder = Folder::new();
    for format in ["text", "json-lines"] {
        let output = folder.output(&["check", "missing.wlk", "--format", format], b"");
        assert_eq!(output.status.code(), Some(2), "{format}");
        assert!(output.stdout.is_empty(), "{format}");
    }
}

#[test]
fn a_trace_asks_for_what_it_lacks() {
    let kernel = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ptx/kernels/ring.ptx");
    let entry = "--entry=ring_of_4";
    let folder = Folder::new();
    for (arguments, wanted) in [
        (vec!["trace", kernel], "has 4 entries"),
        (
            vec!["trace", kernel, "--entry", "none"],
            "has no entry `none`",
        ),
        (
            vec!["trace", kernel, entry, "--set", "x=1"],
            "there is no such parameter",
        ),
        (
            vec!["trace", kernel, entry, "--set", "param_2=q"],
            "the value is not an integer",
        ),
        (
            vec!["trace", kernel, entry, "--set", "2=0x100000000"],
            "the value does not fit 4 bytes",
        ),
        (
            vec!["trace", kernel, entry, "--threads", "2000"],
            "1 to 1024 threads",
        ),
    ] {
        let said = folder.run(&arguments);
        assert!(
            said.starts_with("exit 2") && said.contains(wanted),
            "{said}"
        );
    }
    let said = folder.run(&["trace", kernel, entry, "--set", "param_2=32", "--simulate"]);
    assert!(
        said.starts_with("exit 0") && said.contains("repeat "),
        "{said}"
    );
    assert!(!said.contains("nobody can go on"), "{said}");
}

/// A kernel is known by how its text begins where its file does not say it.
#[test]
fn kernels_from_standard_input_and_under_other_names() {
    const KERNEL: &str = "// a comment\n.version 8.6\n.target sm_90\n.address_size 64\n.visible .entry meet()\n.reqntid 64\n{\n\
         bar.sync 0;\nret;\n}\n";
    const PROVED: &str = "deadlock: PROVED for every schedule";
    let folder = Folder::new();
    for name in ["kernel.PTX", "kernel.txt"] {
        folder.file(name, KERNEL);
        let shown = folder.run(&["check", "-q", name]);
        assert!(shown.contains(PROVED), "{shown}");
    }
    let marked = format!("\u{feff}{KERNEL}");
    for text in [KERNEL, &marked] {
        let shown = folder.run_with(&["check", "-q", "-"], text.as_bytes());
        assert!(shown.contains(PROVED), "{shown}");
    }
    insta::assert_snapshot!(folder.run_with(&["simulate", "-"], KERNEL.as_bytes()), @"
    exit 2
    --- stdout
    --- stderr
    error: <stdin> is a kernel, and this command takes protocols
    hint: `warplock lift - > kernel.wlk` writes the protocol that it follows
    ");
}
