//! Ordinary words as names, `let` inside a role, rows of one coordinate, and empty families.

use std::collections::BTreeSet;

use warplock::protocol::Protocol;
use warplock::protocol::StmtKind;
use warplock::semantics::input::Input;
use warplock::semantics::instance::OpKind;
use warplock::semantics::unfold;
use warplock::text;

fn load(source: &str) -> Protocol {
    match text::load(source.as_bytes()) {
        Ok(protocol) => protocol,
        Err(found) => panic!("{}", text::render(&found, "p.wlk", source, false)),
    }
}

fn input(params: &[i64], entries: &[i64]) -> Input {
    let entries: BTreeSet<Vec<i64>> = entries.iter().map(|entry| vec![*entry]).collect();
    Input {
        params: params.to_vec(),
        patterns: if entries.is_empty() {
            Vec::new()
        } else {
            vec![entries]
        },
        ..Input::default()
    }
}

/// What the first member adds, one after the other.
fn added(source: &str, input: &Input) -> Vec<i64> {
    let instance = unfold::instantiate(&load(source), input).expect("a valid input");
    let ops = instance.members[0].ops.iter();
    ops.filter_map(|op| match op.kind {
        OpKind::Add(amount) => Some(amount),
        _ => None,
    })
    .collect()
}

#[test]
fn words_of_clauses_are_names() {
    for word in [
        "order",
        "at",
        "assuming",
        "backing",
        "completes",
        "count",
        "launch",
        "reads",
        "resident",
        "row",
        "then",
        "warp",
        "where",
        "writes",
    ] {
        let source = format!(
            "protocol p

param N in 1..

semaphore {word}[N] = 0
mbarrier b {{ arrivals: 1 }}
pool units = N

role r[i in 0..N] {{
    acquire units 1
    {word}[i] += 1
    async copy smem
    {word}[0] = 2
    arrive b
    {word}[i] = 3
    async mma
    {word}[i] = 3
    wait {word}[i] >= if i == 0 then 1 else 2
}}

role q {{
    var {word}_of = 0
    for k in 0..N {{
        {word}_of = k
    }}
}}

expect deadlock: refuted at N = 1 assuming N < 3
"
        );
        let protocol = load(&source);
        assert_eq!(protocol.objects[0].name, word);
        assert_eq!(protocol.roles[0].body.len(), 9, "{word}");
        assert_eq!(text::format(&source).as_deref(), Ok(source.as_str()));
        let local = format!(
            "protocol p param {word} in 1.. semaphore s = 0 role r[i in 0..{word}] warp {{
                for k in 0..{word} {{ s += {word} }}
                if {word} == 1 {{ s += if {word} == 2 then {word} else count(k in 0..{word} where k < {word}) }}
            }}"
        );
        assert_eq!(load(&local).params[0].name, word);
    }
}

#[test]
fn what_a_parenthesis_makes_special_is_no_function() {
    for word in ["count", "row"] {
        let source = format!("protocol p let {word}(a) = a role r {{}}");
        assert!(text::load(source.as_bytes()).is_err(), "{word}");
    }
}

#[test]
fn a_let_in_a_role_keeps_the_value_it_was_given() {
    let source = "protocol p param N in 0.. semaphore s = 0 role r {
        var x = 3
        let before = x + 1
        let large = x > 2
        x = 0
        s += before
        s += x
        if large { s += 7 }
        for i in 0..N {
            let twice = 2 * i
            let half = i / (x + 1)
            s += twice
            s += half
        }
    }";
    assert_eq!(added(source, &input(&[2], &[])), [4, 0, 7, 0, 0, 2, 1]);
}

#[test]
fn a_let_that_cannot_change_leaves_no_statement() {
    let source = "protocol p param N in 0.. semaphore s[N] = 0 role r[i in 0..N] {
        let other = (i + 1) % 2
        let first = i == 0
        if first { s[other] += 1 }
    }";
    let body = &load(source).roles[0].body;
    assert_eq!(body.len(), 1);
    assert!(matches!(body[0].kind, StmtKind::If { .. }));
}

#[test]
fn a_let_in_a_role_is_no_variable_and_ends_with_its_block() {
    for (wrong, why) in [
        ("let x = 1 x = 2", "not a variable"),
        ("if true { let x = 1 } s += x", "unknown name `x`"),
        ("let s = 1", "declared twice"),
        ("let x = 1 let x = 2", "declared twice"),
        ("let f(a) = a", "no parameters"),
        ("let x = 1 advance x", "not a pipeline state"),
        ("let x = s", "not a value"),
    ] {
        let source = format!("protocol p semaphore s = 0 role r {{ {wrong} }}");
        let found = text::load(source.as_bytes()).expect_err(wrong);
        let found = text::render(&found, "p.wlk", &source, false);
        assert!(found.contains(why), "{wrong}: {found}");
    }
}

#[test]
fn a_row_of_one_coordinate_has_the_entries_of_the_pattern() {
    let source = "protocol p param N in 1.. pattern live[N] semaphore s = 0 role r {
        for n in row(live) ascending { s += n + 1 }
        if live[0] { s += 9 }
    }";
    assert_eq!(added(source, &input(&[4], &[0, 2])), [1, 3, 9]);
    assert_eq!(added(source, &input(&[4], &[3])), [4]);
    let laid_out = text::format(source).expect("a valid text");
    assert!(laid_out.contains("for n in row(live) ascending {"));
    let two = source.replace("row(live)", "row(live, 0)");
    assert!(text::load(two.as_bytes()).is_err());
}

#[test]
fn what_is_empty_has_no_elements_members_or_trips() {
    let source = "protocol p param N in 0.. param M in {-2, 0, 1}
        semaphore s = 0
        mbarrier b[M] { arrivals: M }
        buffer data[M]
        invariant [i in 0..M] i < 1
        role r { s += 1 for i in 0..M { s += 2 } repeat M { s += 3 } for i in 3..M { s += 4 } s += count(k in 0..M where k == k) }
        role q[i in 0..M] { arrive b[i] }";
    for (m, expected) in [(-2, vec![1, 0]), (0, vec![1, 0]), (1, vec![1, 2, 3, 1])] {
        assert_eq!(added(source, &input(&[0, m], &[])), expected);
        let instance = unfold::instantiate(&load(source), &input(&[0, m], &[])).expect("defined");
        assert_eq!(instance.members.len() as i64, 1 + m.max(0));
        assert_eq!(instance.cells.len() as i64, 1 + m.max(0));
    }
    let used =
        "protocol p param M in {-2, 0, 1} mbarrier b[M] { arrivals: 1 } role r { arrive b[0] }";
    let run = |m| unfold::instantiate(&load(used), &input(&[m], &[]));
    assert!(run(1).is_ok());
    assert!(run(0).is_err() && run(-2).is_err());
    let grid =
        "protocol p param M in {-2, 0, 1} semaphore s = 0 grid g[n in 0..2] resident M { s += 1 }";
    let run = |m| unfold::instantiate(&load(grid), &input(&[m], &[]));
    assert!(run(1).is_ok());
    assert!(run(0).is_err() && run(-2).is_err());
}
