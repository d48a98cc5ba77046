//! Rewritings of a protocol's text that leave its meaning as it is.
//!
//! All of them work on the laid out lines: declarations first, one statement a line.

use std::collections::BTreeMap;

/// A name for each rewriting, and the text it gives; those that do not apply are left out.
pub fn all(lines: &[String]) -> Vec<(&'static str, String)> {
    let mut all = vec![
        ("renamed", Some(renamed(lines))),
        ("reordered", Some(reordered(lines))),
        ("role split", role_split(lines)),
        ("round peeled", peeled(lines)),
    ];
    all.retain(|(_, text)| text.is_some());
    all.into_iter()
        .filter_map(|(name, text)| Some((name, text?)))
        .collect()
}

/// Splits a line into words and what is between them.
fn pieces(line: &str) -> Vec<&str> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut all = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let end = rest
            .find(|c: char| word(c) != word(first))
            .unwrap_or(rest.len());
        all.push(&rest[..end]);
        rest = &rest[end..];
    }
    all
}

/// A line with words replaced; a word after a dot is a field, not a name.
fn substituted(line: &str, by: &dyn Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    for piece in pieces(line) {
        let field = out.ends_with('.') && !out.ends_with("..");
        match by(piece).filter(|_| !field) {
            Some(new) => out.push_str(&new),
            None => out.push_str(piece),
        }
    }
    out
}

/// Every name that the text declares is another one.
fn renamed(lines: &[String]) -> String {
    const DECLARE: [&str; 13] = [
        "param",
        "let",
        "pattern",
        "semaphore",
        "mbarrier",
        "named",
        "barrier",
        "pool",
        "buffer",
        "role",
        "grid",
        "var",
        "for",
    ];
    let mut names = BTreeMap::new();
    for line in lines {
        let all: Vec<&str> = pieces(line)
            .into_iter()
            .filter(|piece| !piece.trim().is_empty())
            .collect();
        for (at, piece) in all.iter().enumerate() {
            let declared = at > 0 && DECLARE.contains(&all[at - 1]);
            let bound = all.get(at + 1) == Some(&"in");
            // The arguments of a `let`.
            let head = all.iter().position(|piece| piece.contains('='));
            let argument = all[0] == "let" && head.is_some_and(|end| (1..end).contains(&at));
            let name = piece.starts_with(|c: char| c.is_alphabetic() || c == '_');
            let reserved = ["in", "count", "where", "if", "then", "else", "min", "max"];
            if name && !reserved.contains(piece) && (declared || bound || argument) {
                let number = names.len();
                names
                    .entry((*piece).to_owned())
                    .or_insert_with(|| format!("v{number}_x"));
            }
        }
    }
    let by = |word: &str| names.get(word).cloned();
    joined(lines.iter().map(|line| substituted(line, &by)))
}

fn joined(lines: impl Iterator<Item = String>) -> String {
    let mut out = String::new();
    for line in lines {
        out.push_str(&line);
        out.push('\n');
    }
    out
}

/// The declarations, and the roles with their lines.
fn parts(lines: &[String]) -> (Vec<String>, Vec<Vec<String>>) {
    let (mut declarations, mut roles) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < lines.len() {
        let line = &lines[at];
        if line.starts_with("role ") || line.starts_with("grid ") {
            let rest = &lines[at..];
            let length = rest.iter().position(|line| line == "}");
            let length = length.map_or(1, |end| end + 1);
            roles.push(lines[at..at + length].to_vec());
            at += length;
        } else {
            declarations.push(line.clone());
            at += 1;
        }
    }
    (declarations, roles)
}

/// Objects and roles stand in the opposite order. Parameters do not: their order says which of
/// them a counterexample makes small first.
fn reordered(lines: &[String]) -> String {
    let (declarations, mut roles) = parts(lines);
    let object = |line: &&String| {
        let kinds = [
            "semaphore ",
            "mbarrier ",
            "named ",
            "barrier ",
            "pool ",
            "buffer ",
        ];
        kinds.iter().any(|kind| line.starts_with(kind))
    };
    let (mut objects, others): (Vec<&String>, Vec<&String>) = declarations.iter().partition(object);
    objects.reverse();
    roles.reverse();
    let all = others
        .into_iter()
        .chain(objects)
        .chain(roles.iter().flatten());
    joined(all.cloned())
}

/// The first role with one index of open extent becomes two: its first member, and the others.
/// `elect` chooses by member, so a role with it stays whole.
fn role_split(lines: &[String]) -> Option<String> {
    let (declarations, roles) = parts(lines);
    let (at, index, extent) = roles.iter().enumerate().find_map(|(at, role)| {
        let header = role[0].strip_prefix("role ")?;
        let (_, rest) = header.split_once('[')?;
        let (index, rest) = rest.split_once(" in 0..")?;
        let (extent, rest) = rest.split_once(']')?;
        let single = !rest.contains('[') && extent.chars().all(char::is_alphanumeric);
        let open = extent.starts_with(char::is_alphabetic);
        let elects = role
            .iter()
            .any(|line| line.trim_start().starts_with("elect"));
        (single && open && !elects).then_some((at, index, extent))
    })?;
    let header = &roles[at][0];
    let name = header["role ".len()..].split('[').next()?;
    let first = |line: &String| substituted(line, &|word| (word == index).then(|| "0".to_owned()));
    let others = |line: &String| {
        substituted(line, &|word| {
            (word == index).then(|| format!("({index} + 1)"))
        })
    };
    let warp = if header.contains(" warp ") {
        " warp"
    } else {
        ""
    };
    let mut all = declarations;
    for (number, role) in roles.iter().enumerate() {
        if number != at {
            all.extend_from_slice(role);
            continue;
        }
        all.push(format!("role {name}_first{warp} {{"));
        all.extend(role[1..].iter().map(first));
        all.push(format!(
            "role {name}_others[{index} in 0..{extent} - 1]{warp} {{"
        ));
        all.extend(role[1..].iter().map(others));
    }
    Some(joined(all.into_iter()))
}

/// An ascending loop over numbers.
struct Range<'l> {
    /// The line of its header, and that of its closing brace.
    at: usize,
    end: usize,
    variable: &'l str,
    low: &'l str,
    high: &'l str,
}

fn first_loop(lines: &[String]) -> Option<Range<'_>> {
    let indent = |line: &String| line.len() - line.trim_start().len();
    let (at, variable, low, high) = lines.iter().enumerate().find_map(|(at, line)| {
        let rest = line.trim_start().strip_prefix("for ")?;
        let rest = rest.strip_suffix(" {")?;
        let (variable, range) = rest.split_once(" in ")?;
        let (low, high) = range.split_once("..")?;
        let plain = !range.contains("descending") && !range.contains("row(");
        plain.then_some((at, variable, low, high))
    })?;
    let outer = indent(&lines[at]);
    let length = lines[at..]
        .iter()
        .position(|line| indent(line) == outer && line.trim() == "}")?;
    let leaves = |line: &String| matches!(line.trim(), "break" | "continue");
    let end = at + length;
    let plain = !lines[at..end].iter().any(leaves);
    plain.then_some(Range {
        at,
        end,
        variable,
        low,
        high,
    })
}

/// The first round of the first ascending loop over numbers stands before the loop.
fn peeled(lines: &[String]) -> Option<String> {
    peeled_by(lines, "if LOW < HIGH {")
}

/// The same, behind this header.
fn peeled_by(lines: &[String], header: &str) -> Option<String> {
    let Range {
        at,
        end,
        variable,
        low,
        high,
    } = first_loop(lines)?;
    let body = &lines[at + 1..end];
    let first =
        |line: &String| substituted(line, &|word| (word == variable).then(|| format!("({low})")));
    let mut all = lines[..at].to_vec();
    all.push(header.replace("LOW", low).replace("HIGH", high));
    all.extend(body.iter().map(first));
    all.push("}".to_owned());
    all.push(format!("for {variable} in {low} + 1..{high} {{"));
    all.extend_from_slice(&lines[at + 1..]);
    Some(joined(all.into_iter()))
}

/// Everybody twice, everything counted twice: a further index in front of each role's, and twice
/// the arrivals, registrations and values. Not for pools, turns, initialisation and bytes that
/// somebody else delivers.
pub fn doubled(lines: &[String]) -> Option<String> {
    let mut out = Vec::new();
    for line in lines {
        let code = line.trim_start();
        let word = code.split_whitespace().next()?;
        if matches!(word, "pool" | "pattern" | "grid") || code.contains("init") {
            return None;
        }
        out.push(match word {
            "mbarrier" | "barrier" => {
                let (before, count) = line.split_once("arrivals: ")?;
                let count = count.strip_suffix(" }")?;
                format!("{before}arrivals: 2 * ({count}) }}")
            }
            "role" => match line.split_once('[') {
                Some((name, rest)) => format!("{name}[twin in 0..2][{rest}"),
                None => {
                    let (name, rest) = line["role ".len()..].split_once(' ')?;
                    format!("role {name}[twin in 0..2] {rest}")
                }
            },
            "sync" | "arrive" if code.split_whitespace().count() > 2 => {
                let (element, count) = line.split_at(line.find("] ")? + 2);
                format!("{element}2 * ({count})")
            }
            "wait" if code.contains(" >= ") || code.contains(" == ") => return None,
            _ => line.clone(),
        });
    }
    Some(joined(out.into_iter()))
}

/// A name for each way of writing the same that rules must not see, and the text.
pub fn spelled(lines: &[String]) -> Vec<(&'static str, String)> {
    let single = "param One_x in 1..=1";
    let all = [
        (
            "parameter unused",
            declared(lines, "param Unused_x in 1..", None),
        ),
        (
            "one round",
            declared(lines, "", Some("for only_x in 0..1 {")),
        ),
        (
            "one round by a parameter",
            declared(lines, single, Some("for only_x in 0..One_x {")),
        ),
        ("loop guarded", guarded(lines)),
        ("idle break", left_at_the_end(lines)),
        (
            "round peeled by a loop",
            peeled_by(lines, "for first_x in 0..min(HIGH - (LOW), 1) {"),
        ),
        ("in another loop", nested(lines)),
    ];
    let all = all.into_iter();
    all.filter_map(|(name, text)| Some((name, text?))).collect()
}

/// With a further declaration, and the first role's program in a loop.
fn declared(lines: &[String], declaration: &str, around: Option<&str>) -> Option<String> {
    let protocol = lines
        .iter()
        .position(|line| line.starts_with("protocol "))?;
    let role = lines.iter().position(|line| line.starts_with("role "))?;
    let end = role + lines[role..].iter().position(|line| line == "}")?;
    let mut all = lines.to_vec();
    if let Some(around) = around {
        all.insert(end, "}".to_owned());
        all.insert(role + 1, around.to_owned());
    }
    all.insert(protocol + 1, declaration.to_owned());
    Some(joined(all.into_iter()))
}

/// The first loop over numbers is a branch that is taken where it goes around.
fn guarded(lines: &[String]) -> Option<String> {
    let this = first_loop(lines)?;
    let mut all = lines.to_vec();
    all.insert(this.end, "}".to_owned());
    all.insert(this.at, format!("if {} < {} {{", this.low, this.high));
    Some(joined(all.into_iter()))
}

/// The first loop over numbers is left in its last round, which ends there.
fn left_at_the_end(lines: &[String]) -> Option<String> {
    let this = first_loop(lines)?;
    let mut all = lines.to_vec();
    let exit = format!("if {} == {} - 1 {{", this.variable, this.high);
    let exit = [exit, "break".to_owned(), "}".to_owned()];
    all.splice(this.end..this.end, exit);
    Some(joined(all.into_iter()))
}

/// The first loop over numbers is all that an outer loop of one round does.
fn nested(lines: &[String]) -> Option<String> {
    let this = first_loop(lines)?;
    let mut all = lines.to_vec();
    all.insert(this.end, "}".to_owned());
    all.insert(this.at, "repeat 1 {".to_owned());
    Some(joined(all.into_iter()))
}
