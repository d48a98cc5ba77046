//! A run in words, for the commands that run protocols.

use warplock::protocol::Protocol;
use warplock::report::input;
use warplock::report::stuck::Stuck;
use warplock::report::style::Style;
use warplock::report::text;
use warplock::report::trace::Event;
use warplock::semantics::input::Input;

/// The patterns of an input, drawn.
pub fn patterns(protocol: &Protocol, input: &Input, style: Style) -> String {
    let mut out = String::new();
    for pattern in input::patterns(protocol, input) {
        if let Some(lines) = pattern.drawing() {
            let title = format!("{} (rows: first index, # visited):", pattern.name);
            out.push_str(&section(&title, &lines, style));
        }
    }
    out
}

/// The steps of a run.
pub fn trace(events: &[Event], style: Style) -> String {
    section("trace:", &text::trace(events), style)
}

/// Who waits for what at the end, and what became of every element.
pub fn blocked(stuck: &Stuck, style: Style) -> String {
    let lines: Vec<String> = stuck
        .blocked
        .iter()
        .map(|b| {
            format!(
                "{} at line {}: {} {}, found {}: {}",
                b.member, b.line, b.element, b.wants, b.value, b.why
            )
        })
        .collect();
    let mut out = section("blocked:", &lines, style);
    if !stuck.unstarted.is_empty() {
        let names = [stuck.unstarted.join(", ")];
        out.push_str(&section("never started:", &names, style));
    }
    out.push_str(&text::elements(&stuck.elements, style));
    out
}

fn section(title: &str, lines: &[String], style: Style) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let mut out = format!("  {}\n", style.bold(title));
    for line in lines {
        out.push_str(&format!("    {line}\n"));
    }
    out
}
