//! No input, however large or deeply nested, exhausts the stack, memory or patience.
//!
//! Each text is read on a thread with the small stack that test threads have.

use std::time::Duration;
use std::time::Instant;

use warplock::text;

/// The first finding about a text that must not load, and quickly.
fn refused(source: &[u8]) -> String {
    let start = Instant::now();
    let found = text::load(source).expect_err("the text is over a limit");
    let shown = String::from_utf8_lossy(source);
    let worded = text::render(&found, "big.wlk", &shown, false);
    assert!(!worded.is_empty());
    if source.len() <= text::MAX_SOURCE_BYTES {
        let formatted = text::format(&shown);
        assert!(formatted.is_err() || formatted.is_ok_and(|text| !text.is_empty()));
    }
    let spent = start.elapsed();
    assert!(spent < Duration::from_secs(20), "took {spent:?}");
    found[0].message.clone()
}

fn in_let(expression: &str) -> Vec<u8> {
    format!("protocol p let x = {expression} role r {{ }}").into_bytes()
}

fn in_role(body: &str) -> Vec<u8> {
    format!("protocol p param N in 1.. role r {{ {body} }}").into_bytes()
}

const TOO_DEEP: &str = "this nests more than 128 levels deep";

#[test]
fn a_text_of_ten_megabytes_is_not_read() {
    let message = refused(&vec![b' '; 10 << 20]);
    assert_eq!(
        message,
        "the text has 10485760 bytes; at most 1048576 are read"
    );
}

#[test]
fn nested_expressions_are_bounded() {
    let many = 100_000;
    for source in [
        format!("{}1{}", "(".repeat(many), ")".repeat(many)),
        "(".repeat(many),
        "-".repeat(many) + "1",
        "!".repeat(many) + "true",
        format!("1{}", "+1".repeat(many)),
        format!("1{}", "-(1".repeat(many)),
        format!("true{}", " && true".repeat(many)),
        "f(".repeat(many),
        "v[".repeat(many),
        "if true then ".repeat(many / 2),
        format!("1 {}", " else if true then 1".repeat(many / 4)),
        "if true then 1 else ".repeat(many / 2) + "1",
        "count(k in 0..".repeat(many / 2),
        "count(k in 0..1 where ".repeat(many / 4),
    ] {
        let message = refused(&in_let(&source));
        assert!(
            message == TOO_DEEP || message.starts_with("expected"),
            "{message} for {:.40}",
            source
        );
    }
    assert_eq!(refused(&in_let(&"(".repeat(many))), TOO_DEEP);
}

#[test]
fn a_chain_within_chains_is_bounded() {
    let mut source = "1".to_owned();
    for _ in 0..100 {
        source = format!("({source}){}", "+1".repeat(100));
    }
    assert_eq!(refused(&in_let(&source)), TOO_DEEP);
}

#[test]
fn nested_statements_are_bounded() {
    let many = 50_000;
    for source in [
        "if true { ".repeat(many),
        format!("{}{}", "if true { ".repeat(many), "}".repeat(many)),
        format!("if true {{ }}{}", " else if true { }".repeat(many)),
        format!("{}{}", "for i in 0..1 { ".repeat(many), "}".repeat(many)),
    ] {
        assert_eq!(refused(&in_role(&source)), TOO_DEEP);
    }
}

#[test]
fn deep_texts_within_the_limit_are_read() {
    let depth = 60;
    let nested = format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
    assert!(text::load(&in_let(&nested)).is_ok());
    let chain = format!("1{}", "+1".repeat(120));
    assert!(text::load(&in_let(&chain)).is_ok());
    let blocks = format!("{}{}", "if true { ".repeat(100), "}".repeat(100));
    let source = in_role(&blocks);
    assert!(text::load(&source).is_ok());
    assert!(text::format(&String::from_utf8(source).unwrap()).is_ok());
}

#[test]
fn expansion_of_lets_is_bounded() {
    let mut doubling = "protocol p let a0(x) = x + x\n".to_owned();
    let mut chain = "protocol p let a0(x) = x + 1\n".to_owned();
    let mut alias = "protocol p let a0 = 1\n".to_owned();
    for i in 1..2_000 {
        let before = i - 1;
        doubling += &format!("let a{i}(x) = a{before}(a{before}(x))\n");
        chain += &format!("let a{i}(x) = a{before}(x) + 1\n");
        alias += &format!("let a{i} = a{before}\n");
    }
    let tripled = format!("let a = {}1{}", "abs(1 + ".repeat(40), ")".repeat(40));
    let tripled = format!("protocol p {tripled}\n");
    for (source, expected) in [
        (&tripled, "once its `let`s are expanded"),
        (&doubling, "once its `let`s are expanded"),
        (&chain, "once its `let`s are expanded"),
        (&alias, "once its `let`s are expanded"),
    ] {
        let message = refused(format!("{source} role r {{ }}").as_bytes());
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn errors_without_end_are_cut_off() {
    for source in [
        "; ".repeat(500_000),
        "} ".repeat(500_000),
        "a[".repeat(500_000),
        "param ".repeat(170_000),
        format!("protocol p role r {{ {}", "a[".repeat(400_000)),
        format!("protocol p role r {{ {}", "wait ".repeat(200_000)),
        format!("protocol p role r {{ {}", "x = y ".repeat(150_000)),
        format!("protocol p role r {{ {}", "arrive b c[1] ".repeat(70_000)),
        format!("protocol p {}", "let a = b ".repeat(100_000)),
    ] {
        let found = text::load(source.as_bytes()).unwrap_err();
        assert!((1..=50).contains(&found.len()), "{} findings", found.len());
        refused(source.as_bytes());
    }
}

#[test]
fn bytes_that_are_not_utf8_are_named() {
    let mut source = b"protocol p // ".to_vec();
    source.extend([0xff, 0xfe]);
    assert_eq!(refused(&source), "the text is not UTF-8 from byte 14 on");
    let found = text::load(&source).unwrap_err();
    assert_eq!((found[0].span.start, found[0].span.end), (14, 15));
    assert_eq!(refused(b"\xe2\x82"), "the text is not UTF-8 from byte 0 on");
}

#[test]
fn deceptive_characters_are_refused() {
    let source = "protocol p // \u{202e}detorp\nrole r { }";
    assert_eq!(
        refused(source.as_bytes()),
        "control character \\u{202e} in the text"
    );
    assert_eq!(
        refused(b"protocol p \x1b[2J"),
        "control character \\u{1b} in the text"
    );
}
