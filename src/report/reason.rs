//! Describes why a property is not decided, for the author of the protocol or kernel. Adds the lines of the
//! statements that a reason quotes, and suggests what to try next.

use crate::protocol::Protocol;
use crate::text::words::is_word;

/// A quoted statement is located by its lines if it occurs on at most this many.
const LINES: usize = 3;

/// A reason with the lines of the statements that it quotes. `called` names a line of the text.
pub(super) fn located(reason: &str, source: &str, called: &dyn Fn(usize) -> String) -> String {
    let mut out = String::new();
    let mut pieces = reason.split('`').enumerate().peekable();
    while let Some((nth, piece)) = pieces.next() {
        if nth % 2 == 0 {
            out.push_str(piece);
            continue;
        }
        out.push_str(&format!("`{piece}`"));
        let behind = pieces.peek().map_or("", |(_, next)| next);
        let lines = match behind.starts_with(" (line") || !is_statement(piece) {
            true => Vec::new(),
            false => lines(piece, source),
        };
        if !lines.is_empty() && lines.len() <= LINES {
            let mut names: Vec<String> = lines.into_iter().map(called).collect();
            names.dedup();
            out.push_str(&format!(" ({})", names.join(" or ")));
        }
    }
    out
}

/// A quoted text that is not a statement is a name of a role or object. The reader finds it without a line.
fn is_statement(quoted: &str) -> bool {
    quoted.contains(' ') || ["break", "return"].contains(&quoted)
}

/// The lines on which a statement occurs.
fn lines(quoted: &str, source: &str) -> Vec<usize> {
    let wanted = words(quoted);
    let stands = |line: &&str| {
        let code = words(line.split("//").next().unwrap_or(line));
        let mut places = code.match_indices(&wanted);
        places.any(|(at, _)| {
            !code[..at].ends_with(is_word) && !code[at + wanted.len()..].starts_with(is_word)
        })
    };
    let all = source.lines().enumerate();
    let all = all.filter(|(_, line)| stands(line));
    all.map(|(nth, _)| nth + 1).collect()
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether the reason is that time was up.
pub(super) fn is_of_time(reason: &str) -> bool {
    let words = [
        "time limit",
        "the time was up",
        "(timeout)",
        "(canceled)",
        "timeout",
    ];
    words.iter().any(|word| reason.contains(word))
}

/// Suggestions if there is neither a proof nor a counterexample.
pub(super) fn next(protocol: &Protocol, reason: &str) -> String {
    let mut ways = Vec::new();
    if is_of_time(reason) {
        ways.push("give it more time (--timeout)".to_owned());
    }
    if let Some(param) = protocol.params.first() {
        let name = &param.name;
        ways.push(format!(
            "fix a parameter (--set {name}=V) or relate some (--assume EXPR), which may be enough for a proof"
        ));
    }
    ways.push("try every schedule at chosen values (warplock explore)".to_owned());
    let ways = match ways.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{}; or {last}", others.join("; ")),
        None => String::new(),
    };
    match is_of_time(reason) {
        true => ways,
        false => format!("more time will hardly help: {ways}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "role a {
    wait full[i % 4]   i / 4 % 2  // gemm.cu:12
    arrive empty
}
role b { for i in 0..N { wait full[i % 4] i / 4 % 2 } }
role c { arrive empty arrive empty }
role d { arrive empty_too }";

    #[test]
    fn statements_are_called_by_their_lines() {
        let called = |line: usize| format!("line {line}");
        let said = |reason: &str| located(reason, TEXT, &called);
        assert_eq!(
            said("held at `wait full[i % 4] i / 4 % 2` of `b`"),
            "held at `wait full[i % 4] i / 4 % 2` (line 2 or line 5) of `b`"
        );
        assert_eq!(
            said("`arrive empty` counts"),
            "`arrive empty` (line 3 or line 6) counts"
        );
        assert_eq!(said("`wait empty` (line 9)"), "`wait empty` (line 9)");
        assert_eq!(said("`arrive nowhere` is"), "`arrive nowhere` is");
    }
}
