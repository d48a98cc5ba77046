//! Findings as text, for people who have to fix the kernel.

mod chart;
mod elements;

use super::chart::Chart;
use super::chart::Step;
use super::chart::Wait;
use super::chart::by_role;
use super::cited::called;
use super::culprit::Cause;
use super::finding::Counterexample;
use super::finding::Finding;
use super::finding::Further;
use super::finding::ProofReport;
use super::input::Pattern;
use super::ranges;
use super::stuck::Blocked;
use super::stuck::Stuck;
use super::style::Style;
use super::trace::Event;
use elements::elements;

/// The lines of a small screen.
const SCREEN: usize = 25;

/// How many uses of an element are listed.
const USES: usize = 4;

/// How many items of each list are shown.
#[derive(Clone, Copy)]
struct Most {
    /// Elements; and whether this includes elements at which no member waits in vain.
    elements: usize,
    all_elements: bool,
    /// Blocked members, links of a chain, groups of members that have not started.
    members: usize,
    /// Assumptions and notes.
    assumptions: usize,
    /// Lines in all. The run gets the lines that are left.
    lines: usize,
    /// The least number of steps of a run.
    steps: usize,
}

impl Most {
    fn of(style: Style) -> Most {
        if style.verbose {
            return Most {
                elements: 1024,
                all_elements: true,
                members: 1024,
                assumptions: usize::MAX,
                lines: usize::MAX,
                steps: usize::MAX,
            };
        }
        let (some, assumptions, steps) = match style.shorter {
            0 => (4, 6, 3),
            1 => (2, 2, 3),
            _ => (1, 0, 1),
        };
        Most {
            elements: some,
            all_elements: false,
            members: some,
            assumptions,
            lines: SCREEN,
            steps,
        }
    }
}

/// How much to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detail {
    /// The emphasis.
    pub style: Style,
    /// Whether to say only the first line.
    pub quiet: bool,
    /// Whether to describe the argument of a proof.
    pub argument: bool,
    /// Whether to draw a counterexample.
    pub chart: bool,
    /// The version of the solver.
    pub z3: &'static str,
}

/// A finding, ending with a line end. The first line is `FILE: PROPERTY: VERDICT` and a sentence.
pub fn finding(finding: &Finding, detail: Detail) -> String {
    let style = detail.style;
    let mut out = format!(
        "{}: {}: {} {}\n",
        style.bold(&visible(&finding.file)),
        finding.property,
        style.verdict(finding.verdict),
        finding.summary
    );
    if detail.quiet {
        return style.fitted(&out);
    }
    let legend = finding.legend.as_slice();
    list(&mut out, style, "names", legend);
    out.push_str(&place(finding, style));
    out.push_str(&details_that_fit(finding, detail, style.height(&out)));
    style.fitted(&out)
}

/// The details, with lists that fit on a screen. This holds for counterexamples, which are to be grasped at one
/// glance. For other findings, everything is shown.
fn details_that_fit(finding: &Finding, detail: Detail, used: usize) -> String {
    let mut shorter = 0;
    loop {
        let style = Style {
            shorter,
            ..detail.style
        };
        let out = details(finding, Detail { style, ..detail }, used);
        let fits = used + style.height(&out) <= Most::of(style).lines;
        let whole = detail.chart || finding.counterexample.is_none();
        if fits || whole || shorter == Style::SHORTEST {
            return out;
        }
        shorter += 1;
    }
}

/// The line that a finding is about; empty if there is none.
pub(super) fn place(finding: &Finding, style: Style) -> String {
    let Some(line) = finding.line else {
        return String::new();
    };
    match &finding.kernel {
        Some(kernel) => {
            let source = finding.source_line.as_ref();
            let source = source.map_or_else(String::new, |place| format!("{}, ", visible(place)));
            let text = kernel.text.as_ref().unwrap_or(&kernel.file);
            let file = format!("{source}{}", visible(text));
            quoted(&file, line, &kernel.quoted, style)
        }
        None => snippet(&finding.file, &finding.source, line, style),
    }
}

/// The text below the first line of a finding. `used` lines are used already.
pub(super) fn details(finding: &Finding, detail: Detail, used: usize) -> String {
    let after = after(finding, detail);
    let mut out = String::new();
    if let Some(counterexample) = &finding.counterexample {
        let used = used + detail.style.height(&after);
        out.push_str(&match detail.chart {
            true => drawn(counterexample, detail.style),
            false => self::counterexample(counterexample, detail.style, used),
        });
    }
    out.push_str(&after);
    out
}

/// The wait-for chain and the run of a counterexample whose waits are described already.
pub(super) fn chain_and_trace(finding: &Finding, style: Style, used: usize) -> String {
    let Some(counterexample) = &finding.counterexample else {
        return String::new();
    };
    let most = Most::of(style);
    let mut out = String::new();
    let links = shortened(counterexample.stuck.chain.clone(), most.members);
    list(&mut out, style, "who waits for whom", &links);
    let mut search = String::new();
    let smallest = std::slice::from_ref(&counterexample.smallest);
    list(&mut search, style, "search", smallest);
    let used = used + style.height(&out) + style.height(&search);
    out.push_str(&last_steps(&counterexample.trace, style, used));
    out.push_str(&search);
    out
}

/// The text that follows a counterexample.
fn after(finding: &Finding, detail: Detail) -> String {
    let style = detail.style;
    let mut out = String::new();
    let others: Vec<String> = finding.further.iter().map(further).collect();
    list(&mut out, style, "further counterexamples", &others);
    if let Some(proof) = finding.proof.as_ref().filter(|_| detail.argument) {
        out.push_str(&self::proof(proof, style));
    }
    list(&mut out, style, "notes", &finding.notes);
    if finding.counterexample.is_some() && !style.verbose {
        // The result of a run rests on fewer assumptions than a proof, so fewer are shown.
        let most = Most::of(style).assumptions;
        let assumptions = match (finding.assumptions.len(), most) {
            (0, _) => String::new(),
            (count, 0) => format!("{count} (-v lists them)"),
            _ => shortened(finding.assumptions.clone(), most).join("; "),
        };
        if !assumptions.is_empty() {
            list(&mut out, style, "assumptions", &[assumptions]);
        }
    } else {
        list(&mut out, style, "assumptions", &finding.assumptions);
    }
    if let Some(proof) = &finding.proof {
        let title = style.bold("checked by:");
        out.push_str(&format!("  {title} {}\n", proof.checked_by));
    }
    if let Some(hint) = &finding.hint {
        out.push_str(&format!("  {} {hint}\n", style.bold("hint:")));
    }
    if let Some(path) = &finding.certificate {
        let path = visible(path);
        out.push_str(&format!(
            "  {} {path} (check it with: warplock certify {path})\n",
            style.bold("certificate:")
        ));
    }
    if let Some(path) = &finding.witness {
        let path = visible(path);
        out.push_str(&format!(
            "  {} {path} (replay it with: warplock replay {path})\n",
            style.bold("witness:")
        ));
    }
    if finding.engine != "none" {
        let by = format!(
            "decided by {} in {:.1} s, with Z3 {}",
            finding.engine, finding.seconds, detail.z3
        );
        out.push_str(&format!("  {}\n", style.dim(&by)));
    }
    out
}

/// The line of a text, with its number.
pub fn snippet(file: &str, source: &str, line: usize, style: Style) -> String {
    let Some(text) = source.lines().nth(line.saturating_sub(1)) else {
        return String::new();
    };
    quoted(&visible(file), line, text, style)
}

/// A line with its place.
fn quoted(place: &str, line: usize, text: &str, style: Style) -> String {
    let width = line.to_string().len();
    let text: String = text.chars().take(160).collect();
    format!(
        "{:width$}  {} {place}:{line}\n  {line} {} {}\n",
        "",
        style.dim("-->"),
        style.dim("|"),
        visible(&text)
    )
}

/// A counterexample as pictures. They replace the run and the waits in words.
fn drawn(counterexample: &Counterexample, style: Style) -> String {
    let mut out = patterns(&counterexample.patterns, style);
    out.push_str(&elements(&counterexample.stuck, style));
    out.push_str(&chart::chart(counterexample, style));
    out.push_str(&other_run(&counterexample.second_trace, style));
    let minimal = std::slice::from_ref(&counterexample.smallest);
    list(&mut out, style, "minimal", minimal);
    out
}

fn patterns(patterns: &[Pattern], style: Style) -> String {
    let mut out = String::new();
    for pattern in patterns {
        if let Some(lines) = pattern.drawing() {
            let title = format!("{} (rows: first index, # visited)", pattern.name);
            list(&mut out, style, &title, &lines);
        }
    }
    out
}

fn counterexample(counterexample: &Counterexample, style: Style, used: usize) -> String {
    let other = other_run(&counterexample.second_trace, style);
    let mut smallest = String::new();
    let minimal = std::slice::from_ref(&counterexample.smallest);
    list(&mut smallest, style, "minimal", minimal);
    let used = used + style.height(&smallest) + style.height(&other);
    let mut out = run_after(
        &counterexample.patterns,
        &counterexample.stuck,
        &counterexample.trace,
        style,
        used,
    );
    out.push_str(&other);
    out.push_str(&smallest);
    out
}

/// A further counterexample in one line: its input and where members wait, or what goes wrong.
fn further(further: &Further) -> String {
    let at = match further.input.as_str() {
        "" => String::new(),
        input => format!("at {input}: "),
    };
    let places = further.stuck.blocked.iter().map(|b| {
        format!(
            "{} at {} ({} {}, found {})",
            b.member,
            called(b.line, b.kernel.as_ref()),
            b.element,
            b.wants,
            b.value
        )
    });
    let places = shortened(places.collect(), USES).join(", ");
    let witness = further.witness.iter();
    let witness: String = witness
        .map(|path| format!("; witness {}", visible(path)))
        .collect();
    if further.stuck.blocked.is_empty() {
        return format!("{at}{}{witness}", further.stuck.sentence);
    }
    format!("{at}blocked are {places}{witness}")
}

/// A run and the state it ends in.
pub fn run(patterns: &[Pattern], stuck: &Stuck, events: &[Event], style: Style) -> String {
    style.fitted(&run_after(patterns, stuck, events, style, 3))
}

/// The same if `used` lines are used already.
fn run_after(
    patterns: &[Pattern],
    stuck: &Stuck,
    events: &[Event],
    style: Style,
    used: usize,
) -> String {
    let most = Most::of(style);
    let mut out = self::patterns(patterns, style);
    out.push_str(&elements(stuck, style));
    // The first line has described a cycle already.
    let told = matches!(stuck.cause, Some(Cause::Circular | Cause::NoPlace));
    if stuck.chain.len() > 1 && (!told || stuck.chain.len() > 4 || style.verbose) {
        let links = shortened(stuck.chain.clone(), most.members);
        list(&mut out, style, "who waits for whom", &links);
    }
    // A chain contains the reason of each of its members. If there is little room, the first line contains it.
    let chained = stuck.blocked.len() <= stuck.chain.len();
    if !chained && style.shorter < Style::SHORTEST {
        let runs = ranges::together(&stuck.blocked, |b| &b.member, Blocked::is_like);
        let lines = runs.into_iter().map(|(who, run)| {
            let b = &run[0];
            format!(
                "{who} at {}: {} {}, found {}: {}",
                called(b.line, b.kernel.as_ref()),
                b.element,
                b.wants,
                b.value,
                b.why
            )
        });
        list(
            &mut out,
            style,
            "blocked",
            &shortened(lines.collect(), most.members),
        );
    }
    if !stuck.unstarted.is_empty() {
        let names: Vec<&str> = stuck.unstarted.iter().map(String::as_str).collect();
        let names = shortened(ranges::ranges(&names), most.members);
        let title = if stuck.is_final {
            "never started"
        } else {
            "not started"
        };
        list(&mut out, style, title, &[names.join(", ")]);
    }
    out.push_str(&last_steps(events, style, used + style.height(&out)));
    out
}

/// The last steps of a run, as many as fit on a screen on which `used` lines are used already.
fn last_steps(events: &[Event], style: Style, used: usize) -> String {
    let most = Most::of(style);
    // Two lines are for a title, and for a note about the steps that are left out.
    let left = most.lines.saturating_sub(used);
    let mut steps = left.saturating_sub(2).max(most.steps);
    loop {
        let mut out = String::new();
        list(&mut out, style, "trace", &trace(events, steps));
        if steps <= most.steps || style.height(&out) <= left {
            return out;
        }
        steps -= 1;
    }
}

/// The second of two runs that differ.
pub fn other_run(events: &[Event], style: Style) -> String {
    let mut out = String::new();
    let steps = Most::of(style).steps;
    list(&mut out, style, "the other run", &trace(events, steps));
    out
}

/// A run, with one line for each step. Consecutive equal steps of neighbouring members share a line. The beginning of
/// a long run is left out.
fn trace(events: &[Event], steps: usize) -> Vec<String> {
    let alike = |a: &Event, b: &Event| a.deed.goes_on_with(b.deed);
    let mut runs = ranges::together(events, |event| &event.member, alike);
    let shown = runs.split_off(runs.len().saturating_sub(steps));
    let hidden: usize = runs.iter().map(|(_, run)| run.len()).sum();
    let mut lines = Vec::new();
    if hidden > 0 {
        lines.push(format!("... {hidden} earlier steps (-v shows them)"));
    }
    let mut number = hidden;
    let mut rows = Vec::new();
    for (who, run) in shown {
        let ([last] | [.., last]) = run else { continue };
        let count = match run.len() {
            1 => format!("{}", number + 1),
            more => format!("{}-{}", number + 1, number + more),
        };
        number += run.len();
        rows.push((count, who, last));
    }
    let digits = rows.iter().map(|row| row.0.len()).max().unwrap_or(0);
    // The width takes all names into account, so that leaving steps out does not change the layout.
    let names = events.iter().map(|e| e.member.chars().count());
    let width = names.chain(rows.iter().map(|row| row.1.chars().count()));
    let width = width.max().unwrap_or(0);
    for (count, who, event) in rows {
        let line = event.line.map_or_else(String::new, |l| {
            format!("  ({})", called(l, event.kernel.as_ref()))
        });
        lines.push(format!(
            "{count:>digits$}  {who:width$}  {}{line}",
            event.what
        ));
    }
    lines
}

fn proof(proof: &ProofReport, style: Style) -> String {
    let mut out = String::new();
    list(&mut out, style, "why it holds", &proof.argument);
    list(&mut out, style, "obligations", &proof.obligations);
    out
}

fn shortened(mut lines: Vec<String>, most: usize) -> Vec<String> {
    let more = lines.len().saturating_sub(most);
    if more > 0 {
        lines.truncate(most);
        lines.push(format!("... and {more} more"));
    }
    lines
}

fn list(out: &mut String, style: Style, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let title = style.bold(&format!("{title}:"));
    if let [line] = lines {
        out.push_str(&format!("  {title} {line}\n"));
        return;
    }
    out.push_str(&format!("  {title}\n"));
    for line in lines {
        out.push_str(&format!("    {line}\n"));
    }
}

/// The first `most` characters of a text, followed by dots if it is longer.
pub fn abridged(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Text without characters that could disturb a terminal.
pub fn visible(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect()
}

/// Text for a cell or a heading of Markdown.
pub(super) fn cell(text: &str) -> String {
    let mut out = String::new();
    for c in visible(text).chars() {
        if matches!(c, '|' | '\\' | '<' | '>' | '*' | '_' | '[' | ']' | '#') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
