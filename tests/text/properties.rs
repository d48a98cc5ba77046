//! Properties of the protocol language over random texts: formatting keeps the meaning and is
//! idempotent, and no bytes whatever make the reader panic.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::FileFailurePersistence;
use warplock::protocol::Protocol;
use warplock::protocol::Span;
use warplock::protocol::Stmt;
use warplock::protocol::StmtKind;
use warplock::text;

/// The protocol without what depends on the layout of its text.
fn bare(mut protocol: Protocol) -> Protocol {
    protocol.source.clear();
    let spans = protocol.params.iter_mut().map(|x| &mut x.span);
    let spans = spans.chain(protocol.vars.iter_mut().map(|x| &mut x.span));
    let spans = spans.chain(protocol.patterns.iter_mut().map(|x| &mut x.span));
    let spans = spans.chain(protocol.objects.iter_mut().map(|x| &mut x.span));
    let spans = spans.chain(protocol.buffers.iter_mut().map(|x| &mut x.span));
    let spans = spans.chain(protocol.expectations.iter_mut().map(|x| &mut x.span));
    spans.for_each(|span| *span = Span::default());
    for assumption in &mut protocol.assumptions {
        assumption.span = None;
    }
    for expectation in &mut protocol.expectations {
        for assumption in &mut expectation.assuming {
            assumption.span = None;
        }
    }
    for role in &mut protocol.roles {
        role.span = Span::default();
        bare_block(&mut role.body);
    }
    protocol
}

fn bare_block(block: &mut [Stmt]) {
    for stmt in block {
        stmt.span = Span::default();
        match &mut stmt.kind {
            StmtKind::If {
                then, otherwise, ..
            } => {
                bare_block(then);
                bare_block(otherwise);
            }
            StmtKind::For { body, .. } => bare_block(body),
            _ => {}
        }
    }
}

/// Integers over two parameters, a `let` and an index.
fn int() -> BoxedStrategy<String> {
    let leaf = select(vec!["0", "1", "7", "N", "M", "n", "half"]).prop_map(str::to_owned);
    let leaf = leaf.boxed();
    leaf.clone()
        .prop_recursive(4, 24, 3, move |int| {
            let op = select(vec!["+", "-", "*", "/", "%"]);
            let call = select(vec!["min", "max", "rank"]);
            prop_oneof![
                (int.clone(), op, int.clone()).prop_map(|(a, op, b)| match op {
                    "/" | "%" => format!("({a} {op} ({b} + 1))"),
                    _ => format!("({a}{op}{b})"),
                }),
                (call, int.clone(), int.clone()).prop_map(|(f, a, b)| format!("{f}({a},{b})")),
                (int.clone(), 1..9).prop_map(|(a, d)| format!("ceil_div({a}, {d})")),
                int.clone().prop_map(|a| format!("abs({a})")),
                int.clone().prop_map(|a| format!("- {a}")),
                (truth(int.clone()), int.clone(), int.clone())
                    .prop_map(|(c, a, b)| format!("(if {c} then {a} else {b})")),
                (int.clone(), int, truth(leaf.clone()))
                    .prop_map(|(a, b, c)| format!("count(k in {a}..{b} where k > 0 || ({c}))")),
            ]
        })
        .boxed()
}

fn truth(int: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let compare = select(vec!["==", "!=", "<", "<=", ">", ">="]);
    let join = select(vec!["&&", "||"]);
    let simple = prop_oneof![
        (int.clone(), compare, int.clone()).prop_map(|(a, op, b)| format!("({a} {op} {b})")),
        (int.clone(), int.clone()).prop_map(|(a, b)| format!("visits[{a}, {b}]")),
        Just("true".to_owned()),
    ];
    (simple.clone(), join, simple, any::<bool>())
        .prop_map(|(a, op, b, not)| match not {
            true => format!("!({a} {op} {b})"),
            false => format!("{a} {op} ({b})"),
        })
        .boxed()
}

/// What can be read off a pipeline state.
fn field() -> impl Strategy<Value = &'static str> {
    select(vec!["p.index", "p.phase", "c.index", "c.phase", "c.count"])
}

fn gap() -> impl Strategy<Value = &'static str> {
    select(vec![
        " ",
        "\n",
        "\n\n\n",
        " // note\n",
        "\n  // own line\n\n",
        "\t",
    ])
}

fn stmts() -> BoxedStrategy<String> {
    let leaf = prop_oneof![
        (int(), int()).prop_map(|(i, e)| format!("wait dq[{i}] == {e}")),
        int().prop_map(|e| format!("wait lock >= {e}")),
        (int(), int()).prop_map(|(i, e)| format!("dq[{i}] += {e} + 0")),
        int().prop_map(|e| format!("lock = {e}")),
        int().prop_map(|e| format!("wait bar[0] {e} % 2")),
        Just("arrive bar[1]".to_owned()),
        int().prop_map(|e| format!("arrive bar[n] (if N > {e} then 1 else {e})")),
        int().prop_map(|e| format!("sync cta 32 * {e}")),
        int().prop_map(|e| format!("arrive cta {e} * 32")),
        int().prop_map(|e| format!("x = {e}")),
        int().prop_map(|e| format!("accumulate dQ[{e}, n]")),
        Just("read tile".to_owned()),
        Just("return".to_owned()),
    ];
    let more = prop_oneof![
        (field(), int()).prop_map(|(f, e)| format!("expect_tx bar[{f} % 2] {e} + 0")),
        (field(), int()).prop_map(|(f, e)| format!("arrive_expect_tx bar[{f}] 1 + {e}")),
        int().prop_map(|e| format!("complete_tx bar[0] {e} * {e}")),
        (field(), int())
            .prop_map(|(f, e)| format!("async copy smem[{f}] completes bar[1] {e} + 0")),
        Just("async copy smem[p.index]".to_owned()),
        Just("async mma reads smem[0], other writes tmem".to_owned()),
        Just("async store".to_owned()),
        Just("fence.proxy.async".to_owned()),
        Just("fence.acq_rel.gpu".to_owned()),
        int().prop_map(|e| format!("red.relaxed.cta lock += max(0, {e})")),
        int().prop_map(|e| format!("st.release lock = {e}")),
        int().prop_map(|e| format!("wait.acquire.sys lock >= {e}")),
        Just("arrive.cluster bar[1]".to_owned()),
        field().prop_map(|f| format!("commit bar[{f} - 1]")),
        Just("commit_group".to_owned()),
        int().prop_map(|e| format!("wait_group {e} + 0")),
        int().prop_map(|e| format!("wait_group ({e} + 0) read")),
        Just("init late".to_owned()),
        Just("arrive split[0]".to_owned()),
        Just("wait split[1]".to_owned()),
        field().prop_map(|f| format!("sync split[{f}]")),
        (truth(int()), int()).prop_map(|(c, e)| format!("sync cta if {c} then {e} else 32")),
        (truth(int()), int()).prop_map(|(c, e)| format!("wait bar[0] if {c} then {e} else 1")),
        int().prop_map(|e| format!("acquire regs {e} + 0")),
        int().prop_map(|e| format!("release regs {e} + 0")),
        Just("advance p".to_owned()),
        field().prop_map(|f| format!("x = {f} + 1")),
    ];
    let leaf = prop_oneof![leaf, more];
    let block = prop::collection::vec((leaf, gap()), 0..4).prop_map(|parts| {
        let parts: Vec<String> = parts.iter().map(|(s, g)| format!("{s}{g}")).collect();
        parts.join(" ")
    });
    block
        .prop_recursive(3, 12, 3, |block| {
            prop_oneof![
                (truth(int()), block.clone(), gap())
                    .prop_map(|(c, b, g)| format!("if {c} {{{g}{b}}}{g}")),
                (truth(int()), block.clone(), block.clone(), gap())
                    .prop_map(|(c, a, b, g)| format!("if {c} {{ {a}}}{g}else{g}{{{b}}}")),
                (truth(int()), truth(int()), block.clone(), gap())
                    .prop_map(|(c, d, b, g)| format!("if {c} {{{b}}} else if {d} {{{g}{b}}}")),
                (int(), block.clone(), gap())
                    .prop_map(|(e, b, g)| format!("repeat {e}{g}{{{b} {g}break}}")),
                (int(), int(), block.clone()).prop_map(|(a, b, body)| format!(
                    "for i{} in {a}..{b} {{{body} break}}",
                    body.len()
                )),
                (int(), block.clone(), gap()).prop_map(|(a, b, g)| format!(
                    "for m{} in row(visits,{a}) any{g}order{g}{{{b}}}",
                    b.len()
                )),
                (block.clone(), gap(), block).prop_map(|(a, g, b)| format!("{a}{g}{b}")),
            ]
        })
        .boxed()
}

fn protocol() -> impl Strategy<Value = String> {
    let launch = select(vec![
        "",
        "launch descending",
        "launch n ascending resident all",
        "resident 1..",
    ]);
    (stmts(), launch, gap()).prop_map(|(body, launch, g)| {
        format!(
            "// about\nprotocol p{g}param N in 1.. param M in{{3,1}}{g}\
             let half = N/2 pattern visits[N,M]\
             {g}pattern band[a in 0..N, b in 0..M] = a<=b\
             {g}let rank(a, b) = count(q in 0..a where visits[q, b])\
             {g}assume (N >= M) && !((M == 2) || N - (1 - M)<1) semaphore dq[M] = any semaphore lock = 0\
             {g}mbarrier bar[2] {{ arrivals : N }} named cta\
             {g}mbarrier late {{ arrivals : 1 ,{g}init : explicit }} barrier split[ 2 ]{{arrivals:N}}\
             {g}pool regs =(N) buffer smem[N]{g}buffer other\
             {g}role one[i in 0..N]{g}{{ elect{g}{{ var q = producer((2)) advance q }} elect {{}} }}\
             {g}grid work[n in 0..N] {launch}{g}{{ var x = 0 var p = producer(N) {g}\
             var c = consumer( 3 ){g}{body} }}{g}\
             expect deadlock : unknown assuming N > 1,M>=1"
        )
    })
}

fn comments(source: &str) -> usize {
    source.lines().filter(|line| line.contains("//")).count()
}

fn library() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("encodings/block_sparse");
    let mut texts: Vec<(String, String)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "wlk"))
        .map(|path| {
            (
                path.display().to_string(),
                fs::read_to_string(path).unwrap(),
            )
        })
        .collect();
    texts.sort();
    texts.into_iter().map(|(_, text)| text).collect()
}

/// Reads bytes in every way there is; what cannot be read has to be worded.
fn exercise(bytes: &[u8]) -> Result<(), TestCaseError> {
    let shown = String::from_utf8_lossy(bytes);
    if let Err(found) = text::load(bytes) {
        prop_assert!(!found.is_empty());
        let worded = text::render(&found, "file.wlk", &shown, false);
        prop_assert!(
            !worded
                .chars()
                .any(|c| c.is_control() && c != '\n' && c != '\t')
        );
    }
    if let Ok(once) = text::format(&shown) {
        let twice = text::format(&once);
        prop_assert_eq!(Ok(once), twice);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 128,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn formatting_keeps_the_meaning(source in protocol()) {
        let worded = |found: &[text::Diagnostic], source: &str| text::render(found, "p.wlk", source, false);
        let before = text::load(source.as_bytes())
            .map_err(|found| TestCaseError::fail(worded(&found, &source)))?;
        let once = text::format(&source).unwrap();
        let after = text::load(once.as_bytes())
            .map_err(|found| TestCaseError::fail(worded(&found, &once)))?;
        prop_assert_eq!(bare(before), bare(after));
        prop_assert_eq!(comments(&once), comments(&source));
        prop_assert_eq!(text::format(&once).unwrap(), once);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        exercise(&bytes)?;
    }

    #[test]
    fn arbitrary_words_never_panic(words in prop::collection::vec(select(vec![
        "protocol", "p", "param", "N", "in", "1..", "..=", "{", "}", "[", "]", "(", ")", "let", "=",
        "+=", "==", "if", "then", "else", "for", "row", "any", "order", "grid", "role", "launch",
        "resident", "all", "1", "0", "+", "-", "!", "&&", "<", "wait", "arrive", "sync", "var",
        "return", "break", "count", "where", "expect", "deadlock", ":", "proved", "at", "assuming",
        "semaphore", "mbarrier", "arrivals", "named", "barrier", "pool", "buffer", "init", "explicit",
        "elect", "repeat", "advance", "producer", "consumer", ".", "index", "async", "copy",
        "completes", "reads", "writes", "commit", "commit_group", "wait_group", "acquire",
        "release", "fence", "red", "st", "cta", "gpu", "acq_rel", "proxy", "memory", "expect_tx", "arrive_expect_tx", "complete_tx", "pattern", ",", "// c\n", "\n", "é", "\u{202e}",
    ]), 0..80)) {
        exercise(words.join(" ").as_bytes())?;
        exercise(format!("protocol p {}", words.join(" ")).as_bytes())?;
        exercise(format!("protocol p param N in 1.. role r[n in 0..N] {{ {} }}", words.join(" ")).as_bytes())?;
    }

    #[test]
    fn broken_protocols_never_panic(
        which in any::<prop::sample::Index>(),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0usize..30, any::<u8>()), 1..6),
    ) {
        let library = library();
        let mut bytes = which.get(&library).clone().into_bytes();
        for (at, length, byte) in cuts {
            if bytes.is_empty() {
                break;
            }
            let start = at.index(bytes.len());
            let end = (start + length).min(bytes.len());
            match byte % 3 {
                0 => drop(bytes.drain(start..end)),
                1 => {
                    let copy = bytes[start..end].to_vec();
                    bytes.splice(start..start, copy);
                }
                _ => bytes[start] = byte,
            }
        }
        exercise(&bytes)?;
    }
}
