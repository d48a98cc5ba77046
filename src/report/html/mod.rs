//! Findings as a single HTML file. It contains the verdict, the run as a chart beside the source, patterns as grids,
//! the hand-offs of a kernel, and what a proof rests on.
//!
//! The page is complete without scripts and without colour: a sign marks members that wait for ever, and the words
//! say the rest. The script only steps through the run.

mod graph;
mod sources;

use maud::DOCTYPE;
use maud::Markup;
use maud::PreEscaped;
use maud::html;
use pulldown_cmark::Options;
use pulldown_cmark::Parser;

use super::chart::Chart;
use super::chart::chart;
use super::finding::Counterexample;
use super::finding::Finding;
use super::finding::ProofReport;
use super::input::Pattern;
use super::text::visible;
use super::worksheet::worksheet;
use sources::Panels;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// How many of the last rows of a chart are shown.
const ROWS: usize = 1000;

/// The most rows and columns of a grid.
const DRAWN: i64 = 64;

/// One document.
pub fn document(findings: &[Finding], failures: &[String], z3: &str) -> String {
    let title = match findings {
        [one] => format!("{} {}", one.protocol, one.verdict.as_str()),
        _ => "Warplock".to_owned(),
    };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    @if findings.is_empty() && failures.is_empty() { p { "Nothing was decided." } }
                    @for finding in findings { (article(finding)) }
                    @for failure in failures { article { pre { (shown(failure)) } } }
                }
                footer class="quiet" { "Warplock " (env!("CARGO_PKG_VERSION")) ", with " (z3) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string() + "\n"
}

/// Text of several lines, without characters that a terminal would interpret.
fn shown(text: &str) -> String {
    let lines: Vec<String> = text.trim_end().lines().map(visible).collect();
    lines.join("\n")
}

fn article(finding: &Finding) -> Markup {
    let place = finding.place();
    html! {
        article {
            h1 {
                span class={ "word " (finding.verdict.as_str()) } { (finding.verdict.as_str()) }
                " " (finding.property) " of " (visible(&finding.protocol))
            }
            p class="summary" { (visible(&finding.summary)) }
            p class="quiet" {
                (visible(&place.file)) ":" (place.line) ", decided by " (finding.engine) " in "
                (format!("{:.1} s", finding.seconds))
            }
            @if let Some(hint) = &finding.hint { p { "Hint: " (visible(hint)) } }
            @if let Some(counterexample) = &finding.counterexample { (refuted(finding, counterexample)) }
            @if finding.counterexample.is_none() { (hand_offs(finding)) }
            @if let Some(proof) = &finding.proof { (proved(proof)) }
            @if finding.counterexample.is_none() && !finding.source.is_empty() {
                h2 { "Source" }
                (Panels::of(finding).markup(finding, &[]))
            }
            (list("Assumptions", &finding.assumptions))
            (list("Notes", &finding.notes))
        }
    }
}

/// The worksheet of the protocol: roles, storage, hand-offs, lifetimes.
fn hand_offs(finding: &Finding) -> Markup {
    let Ok(protocol) = crate::text::load(finding.source.as_bytes()) else {
        return html! {};
    };
    let place = |line: usize| match finding.place_of(line) {
        Some(place) => format!("{}:{}", place.file, place.line),
        None => format!("line {line}"),
    };
    let markdown = worksheet(&protocol, &finding.protocol, &place);
    // The page has a title already.
    let body = markdown.split_once('\n').map_or("", |(_, rest)| rest);
    let mut out = String::new();
    pulldown_cmark::html::push_html(&mut out, Parser::new_ext(body, Options::ENABLE_TABLES));
    html! { div class="worksheet" { (PreEscaped(out)) } }
}

fn list(title: &str, lines: &[String]) -> Markup {
    html! {
        @if !lines.is_empty() {
            h2 { (title) }
            ul { @for line in lines { li { (visible(line)) } } }
        }
    }
}

fn proved(proof: &ProofReport) -> Markup {
    html! {
        p { "Checked by " (visible(&proof.checked_by)) "." }
        (list("Why it holds", &proof.argument))
        details {
            summary { (proof.obligations.len()) " obligations" }
            ul { @for line in &proof.obligations { li { (visible(line)) } } }
        }
    }
}

fn refuted(finding: &Finding, counterexample: &Counterexample) -> Markup {
    let chart = chart(counterexample);
    let stuck = &counterexample.stuck;
    let waits: Vec<usize> = stuck.blocked.iter().map(|blocked| blocked.line).collect();
    let panels = Panels::of(finding);
    html! {
        (list("Who waits for whom", &stuck.chain))
        (graph::picture(&stuck.graph))
        @for pattern in &counterexample.patterns { (grid(pattern)) }
        div class="beside" {
            section {
                h2 { "Run" }
                p class="steps" hidden {
                    button type="button" class="first" { "first" } " "
                    button type="button" class="back" { "back" } " "
                    button type="button" class="forth" { "forth" } " "
                    button type="button" class="last" { "last" } " "
                    output {}
                }
                div class="scroll chart" tabindex="0" aria-label="the run, step by step" { (run(&chart, &|line| panels.place(finding, line))) }
                @if !stuck.unstarted.is_empty() {
                    p { "Never started: " (visible(&stuck.unstarted.join(", "))) }
                }
            }
            section {
                h2 { "Source" }
                (panels.markup(finding, &waits))
            }
        }
        p class="quiet" { "Minimal: " (visible(&counterexample.smallest)) }
    }
}

/// The chart as a table: members on the left, elements on the right. `place` gives the text and the line to mark for
/// a line of the protocol.
fn run(chart: &Chart, place: &dyn Fn(usize) -> Option<(usize, usize)>) -> Markup {
    let text = |line: Option<usize>| Some(place(line?)?.0);
    let at = |line: Option<usize>| Some(place(line?)?.1);
    let hidden = chart.steps.len().saturating_sub(ROWS);
    // The values of the elements before the current step.
    let mut values: Vec<Option<&str>> = vec![None; chart.elements.len()];
    let mut rows = Vec::new();
    for (at, step) in chart.steps.iter().enumerate() {
        let mut changed = None;
        if let Some((element, value)) = &step.left
            && let Some(slot) = values.get_mut(*element)
        {
            changed = (*slot != Some(value)).then_some(*element);
            *slot = Some(value);
        }
        if at >= hidden {
            rows.push((step, values.clone(), changed));
        }
    }
    let number = |first: usize, count: usize| match count {
        1 => first.to_string(),
        more => format!("{first}-{}", first + more - 1),
    };
    html! {
        table {
            thead { tr {
                th scope="col" { "step" }
                @for lane in &chart.lanes { th scope="col" { (visible(lane)) } }
                @for element in &chart.elements { th scope="col" { (visible(element)) } }
            } }
            tbody {
                @for (step, values, changed) in &rows {
                    tr data-text=[text(step.line)] data-line=[at(step.line)] {
                        td class="number" { (number(step.first, step.count)) }
                        @for (lane, name) in chart.lanes.iter().enumerate() {
                            td class="act" {
                                @if lane == step.lane {
                                    @if *name != step.who { (visible(&step.who)) " " }
                                    (visible(&step.what))
                                }
                            }
                        }
                        @for (element, value) in values.iter().enumerate() {
                            td class=(if *changed == Some(element) { "now" } else { "kept" }) {
                                @if let Some(value) = value { (visible(value)) }
                            }
                        }
                    }
                }
                @for wait in &chart.waits {
                    tr class="never" data-text=[text(Some(wait.line))] data-line=[at(Some(wait.line))] {
                        td class="number" { "end" }
                        @for (lane, name) in chart.lanes.iter().enumerate() {
                            @if lane == wait.lane {
                                td class="act" {
                                    @if *name != wait.who { (visible(&wait.who)) " " }
                                    (visible(&wait.what))
                                }
                            } @else { td {} }
                        }
                        @for (element, value) in values.iter().enumerate() {
                            td class=(if element == wait.element { "now" } else { "kept" }) {
                                @if let Some(value) = value { (visible(value)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A pattern of two coordinates; rows are the first one.
fn grid(pattern: &Pattern) -> Markup {
    let [rows, columns] = pattern.extents.as_slice() else {
        return html! {};
    };
    if *rows < 1 || *columns < 1 || *rows > DRAWN || *columns > DRAWN {
        return html! {};
    }
    let holds = |row: i64, column: i64| {
        let entry = [row, column];
        pattern.entries.iter().any(|known| *known == entry)
    };
    html! {
        h2 { "Pattern " (visible(&pattern.name)) }
        table class="grid" {
            thead { tr { td {} @for column in 0..*columns { th scope="col" { (column) } } } }
            tbody {
                @for row in 0..*rows {
                    tr {
                        th scope="row" { (row) }
                        @for column in 0..*columns { td { (if holds(row, column) { "\u{25a0}" } else { "\u{b7}" }) } }
                    }
                }
            }
        }
    }
}
