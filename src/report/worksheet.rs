//! The worksheet of a protocol as Markdown. It lists roles, storage, and hand-offs with their arrival counts, phases
//! and fences. For each piece of data, it lists the hand-offs between which the data is used.
//!
//! It describes what the text says, for a reader who checks a kernel by hand. Whether the text is right, only a
//! verdict can say.

use std::fmt::Write;

use crate::protocol::Initial;
use crate::protocol::LaunchOrder;
use crate::protocol::Object;
use crate::protocol::ObjectId;
use crate::protocol::ObjectKind;
use crate::protocol::Protocol;
use crate::protocol::Resident;
use crate::protocol::Span;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::Work;

use super::expression;
use super::text::cell;

/// The part that a statement has in a hand-off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Waits(ObjectId),
    Signals(ObjectId),
    Fence,
    Data,
}

/// A statement of a role that the worksheet lists.
struct Line {
    part: Part,
    text: String,
    line: usize,
    /// Memory order and scope, if the text states them.
    order: String,
    /// The buffers that it accesses, and whether it writes.
    data: Vec<(usize, bool)>,
    /// Headers of the loops and branches around it, outermost first.
    around: Vec<String>,
}

/// A role and its statements, in the order of the text.
struct Role<'p> {
    name: &'p str,
    lines: Vec<Line>,
}

/// The worksheet. `place` describes where a line of the text can be found.
pub fn worksheet(protocol: &Protocol, title: &str, place: &dyn Fn(usize) -> String) -> String {
    let roles: Vec<Role<'_>> = protocol
        .roles
        .iter()
        .map(|role| {
            let mut lines = Vec::new();
            collect(protocol, &role.body, &mut Vec::new(), &mut lines);
            Role {
                name: &role.name,
                lines,
            }
        })
        .collect();
    let mut out = format!("# Worksheet: {}\n\n", cell(title));
    for assumed in protocol.assumed() {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "Assumed: {}.\n", cell(assumed));
    }
    head(&mut out, protocol);
    storage(&mut out, protocol, &roles, place);
    handoffs(&mut out, protocol, &roles, place);
    lifetimes(&mut out, protocol, &roles, place);
    out
}

fn head(out: &mut String, protocol: &Protocol) {
    out.push_str("## Roles\n\n| role | members | start |\n| --- | --- | --- |\n");
    for role in &protocol.roles {
        let extents = role.indices.iter().map(|index| {
            let name = protocol.vars.get(index.var.0).map_or("?", |var| &var.name);
            format!("{name} in 0..{}", expression::text(protocol, &index.extent))
        });
        let extents: Vec<String> = extents.collect();
        let members = match extents.as_slice() {
            [] => "1".to_owned(),
            extents => extents.join(", "),
        };
        let start = match &role.launch {
            None => "at the beginning".to_owned(),
            Some(launch) => {
                let order = match launch.order {
                    LaunchOrder::Any => "any order",
                    LaunchOrder::Sorted(_) => "in the order of the launch",
                };
                match &launch.resident {
                    Resident::All => format!("{order}, all resident"),
                    Resident::AtMost(most) => {
                        format!(
                            "{order}, {} resident at most",
                            expression::text(protocol, most)
                        )
                    }
                }
            }
        };
        let _ = writeln!(out, "| `{}` | {} | {start} |", role.name, cell(&members));
    }
}

fn storage(
    out: &mut String,
    protocol: &Protocol,
    roles: &[Role<'_>],
    place: &dyn Fn(usize) -> String,
) {
    if protocol.buffers.is_empty() {
        return;
    }
    out.push_str(
        "\n## Storage\n\n| buffer | elements | written by | read by |\n| --- | --- | --- | --- |\n",
    );
    for (number, buffer) in protocol.buffers.iter().enumerate() {
        let extents = buffer.extents.iter().map(|e| expression::text(protocol, e));
        let extents: Vec<String> = extents.collect();
        let elements = match extents.as_slice() {
            [] => "1".to_owned(),
            extents => extents.join(" x "),
        };
        let users = |write: bool| {
            let mut all: Vec<String> = Vec::new();
            for role in roles {
                for line in role
                    .lines
                    .iter()
                    .filter(|l| l.data.contains(&(number, write)))
                {
                    let user = format!("`{}` ({})", role.name, place(line.line));
                    if !all.contains(&user) {
                        all.push(user);
                    }
                }
            }
            match all.is_empty() {
                true => "nobody".to_owned(),
                false => all.join(", "),
            }
        };
        let kind = if buffer.tensor {
            " (tensor memory)"
        } else {
            ""
        };
        let _ = writeln!(
            out,
            "| `{}`{kind} | {} | {} | {} |",
            buffer.name,
            cell(&elements),
            users(true),
            users(false)
        );
    }
}

fn handoffs(
    out: &mut String,
    protocol: &Protocol,
    roles: &[Role<'_>],
    place: &dyn Fn(usize) -> String,
) {
    out.push_str("\n## Hand-offs\n");
    for (number, object) in protocol.objects.iter().enumerate() {
        let id = ObjectId(number);
        let uses = |part: Part| {
            roles
                .iter()
                .any(|role| role.lines.iter().any(|l| l.part == part))
        };
        if !uses(Part::Waits(id)) && !uses(Part::Signals(id)) {
            continue;
        }
        let extents = object
            .extents
            .iter()
            .map(|e| format!("[{}]", expression::text(protocol, e)));
        let extents: String = extents.collect();
        let _ = writeln!(
            out,
            "\n### `{}{extents}`: {}{}\n",
            object.name,
            kind(protocol, object),
            remark(protocol, object)
        );
        out.push_str("| | role | place | statement | order | fence | inside |\n| --- | --- | --- | --- | --- | --- | --- |\n");
        for (what, part) in [("signals", Part::Signals(id)), ("waits", Part::Waits(id))] {
            for role in roles {
                for (at, line) in role
                    .lines
                    .iter()
                    .enumerate()
                    .filter(|(_, l)| l.part == part)
                {
                    let _ = writeln!(
                        out,
                        "| {what} | `{}` | {} | `{}` | {} | {} | {} |",
                        role.name,
                        place(line.line),
                        code(&line.text),
                        line.order,
                        fence(&role.lines, at),
                        cell(&line.around.join("; "))
                    );
                }
            }
        }
    }
}

fn kind(protocol: &Protocol, object: &Object) -> String {
    let text = |e| expression::text(protocol, e);
    match &object.kind {
        ObjectKind::Semaphore(Initial::Any) => "semaphore, not cleared".to_owned(),
        ObjectKind::Semaphore(Initial::Value(value)) => {
            format!("semaphore, {} at the start", text(value))
        }
        ObjectKind::Mbarrier {
            arrivals,
            explicit_init,
        } => {
            let init = if *explicit_init {
                ", initialised by a statement"
            } else {
                ""
            };
            format!("mbarrier, arrivals per phase: {}{init}", text(arrivals))
        }
        ObjectKind::Named => "named barrier, counts threads at each use".to_owned(),
        ObjectKind::Barrier { arrivals } => {
            format!("barrier, arrivals: {}", text(arrivals))
        }
        ObjectKind::Pool { capacity, .. } => format!("pool of {}", text(capacity)),
    }
}

/// The comment after a declaration. For example, it explains how arrivals are counted.
fn remark(protocol: &Protocol, object: &Object) -> String {
    let (_, line) = quoted(protocol, object.span);
    let text = protocol.source.lines().nth(line.saturating_sub(1));
    let comment = text.and_then(|text| Some(text.split_once("//")?.1.trim()));
    comment.map_or_else(String::new, |comment| format!("; {}", cell(comment)))
}

/// The fence that belongs to a hand-off: before a signal or after a wait, without another hand-off in between.
fn fence(lines: &[Line], at: usize) -> String {
    let found = match lines[at].part {
        Part::Signals(_) => until_handoff(lines[..at].iter().rev()),
        _ => until_handoff(lines[at + 1..].iter()),
    };
    found.map_or_else(String::new, |line| format!("`{}`", code(&line.text)))
}

fn until_handoff<'l>(lines: impl Iterator<Item = &'l Line>) -> Option<&'l Line> {
    let mut near = lines.take_while(|l| matches!(l.part, Part::Fence | Part::Data));
    near.find(|line| line.part == Part::Fence)
}

fn lifetimes(
    out: &mut String,
    protocol: &Protocol,
    roles: &[Role<'_>],
    place: &dyn Fn(usize) -> String,
) {
    let used = roles
        .iter()
        .flat_map(|role| &role.lines)
        .any(|line| !line.data.is_empty());
    if !used {
        return;
    }
    out.push_str(
        "\n## Lifetimes\n\nBetween which hand-offs of its role each access stands, in the order of the text.\n\n\
         | buffer | role | place | access | after | before |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    for (number, buffer) in protocol.buffers.iter().enumerate() {
        for role in roles {
            for (at, line) in role.lines.iter().enumerate() {
                if !line.data.iter().any(|(used, _)| *used == number) {
                    continue;
                }
                let waits = |line: &&Line| matches!(line.part, Part::Waits(_));
                let signals = |line: &&Line| matches!(line.part, Part::Signals(_));
                let after = role.lines[..at].iter().rev().find(waits);
                // A copy that signals by itself ends its own access.
                let before = role.lines[at..].iter().find(signals);
                let shown = |line: Option<&Line>| {
                    line.map_or_else(|| "-".to_owned(), |line| format!("`{}`", code(&line.text)))
                };
                let _ = writeln!(
                    out,
                    "| `{}` | `{}` | {} | `{}` | {} | {} |",
                    buffer.name,
                    role.name,
                    place(line.line),
                    code(&line.text),
                    shown(after),
                    shown(before)
                );
            }
        }
    }
}

/// Text between backquotes in a cell.
fn code(text: &str) -> String {
    text.replace('|', "\\|").replace('`', "'")
}

fn collect(protocol: &Protocol, body: &[Stmt], around: &mut Vec<String>, into: &mut Vec<Line>) {
    for stmt in body {
        let (text, line) = quoted(protocol, stmt.span);
        match &stmt.kind {
            StmtKind::If {
                then, otherwise, ..
            } => {
                around.push(text.clone());
                collect(protocol, then, around, into);
                around.pop();
                around.push(format!("not {text}"));
                collect(protocol, otherwise, around, into);
                around.pop();
            }
            StmtKind::For { body, .. } => {
                around.push(text);
                collect(protocol, body, around, into);
                around.pop();
            }
            kind => {
                let Some((part, data)) = part(kind) else {
                    continue;
                };
                let order = stmt.memory.order.map(|order| order.name());
                let scope = stmt.memory.scope.map(|scope| scope.name());
                let order: Vec<&str> = order.into_iter().chain(scope).collect();
                // One statement of the text may have become several of the protocol.
                let again =
                    |last: &Line| last.part == part && last.line == line && last.text == text;
                if !into.last().is_some_and(again) {
                    into.push(Line {
                        part,
                        text,
                        line,
                        order: order.join(" "),
                        data,
                        around: around.clone(),
                    });
                }
            }
        }
    }
}

/// The part of a statement in a hand-off, and the buffers that it accesses, with whether it writes.
fn part(kind: &StmtKind) -> Option<(Part, Vec<(usize, bool)>)> {
    let none = Vec::new;
    Some(match kind {
        StmtKind::Wait { cell, .. }
        | StmtKind::WaitParity { cell, .. }
        | StmtKind::Sync { cell, .. }
        | StmtKind::BarrierWait { cell }
        | StmtKind::WaitSwap { cell, .. }
        | StmtKind::Acquire { cell, .. } => (Part::Waits(cell.object), none()),
        StmtKind::Add { cell, .. }
        | StmtKind::Atomic { cell, .. }
        | StmtKind::Set { cell, .. }
        | StmtKind::Arrive { cell, .. }
        | StmtKind::BarArrive { cell, .. }
        | StmtKind::ExpectTx { cell, .. }
        | StmtKind::CompleteTx { cell, .. }
        | StmtKind::Commit { cell }
        | StmtKind::Init { cell }
        | StmtKind::BarrierArrive { cell }
        | StmtKind::Release { cell, .. } => (Part::Signals(cell.object), none()),
        StmtKind::Copy { cell, touches, .. } => {
            let data = touches.iter().map(|touch| (touch.buffer.0, touch.write));
            (Part::Signals(cell.object), data.collect())
        }
        StmtKind::Access { work, .. } => match work {
            Work::Now(touches) | Work::Async(touches) => {
                let data = touches.iter().map(|touch| (touch.buffer.0, touch.write));
                (Part::Data, data.collect())
            }
            Work::Fence(_) => (Part::Fence, none()),
            _ => return None,
        },
        _ => return None,
    })
}

/// The text of a statement on one line, and its line.
fn quoted(protocol: &Protocol, span: Span) -> (String, usize) {
    let before = protocol.source.get(..span.start).unwrap_or_default();
    let text = protocol
        .source
        .get(span.start..span.end)
        .unwrap_or_default();
    let text: Vec<&str> = text.split_whitespace().collect();
    (text.join(" "), before.matches('\n').count() + 1)
}
