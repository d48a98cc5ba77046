//! The source panels beside a run in the HTML report: the kernel's source files, if they can be read; its compiled text, if
//! a statement has no source line; and the text of the protocol.

use std::collections::BTreeSet;

use maud::Markup;
use maud::html;

use super::super::finding::Finding;
use super::super::text::visible;

/// The number of lines of context around each line of a source file that the protocol refers to.
const AROUND: usize = 6;

/// The most lines of one text.
const LINES: usize = 4000;

/// The panels, in the order in which they are shown.
pub struct Panels {
    panels: Vec<Panel>,
}

struct Panel {
    title: String,
    /// The lines that are shown, with their numbers.
    lines: Vec<(usize, String)>,
    what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    /// A source file, by the name in the comments of the protocol.
    Source(String),
    Compiled,
    Protocol,
}

impl Panels {
    /// The panels of a finding.
    pub fn of(finding: &Finding) -> Panels {
        let mut panels = Vec::new();
        let count = finding.source.lines().count();
        let mut sourceless = BTreeSet::new();
        let mut wanted: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); finding.sources.len()];
        for line in 1..=count {
            match finding.source_of(line) {
                Some((at, line)) => {
                    wanted[at].insert(line);
                }
                None => sourceless.extend(finding.compiled_line(line)),
            }
        }
        for (source, wanted) in finding.sources.iter().zip(&wanted) {
            if wanted.is_empty() {
                continue;
            }
            let near = |number: &usize| {
                let (from, to) = (number.saturating_sub(AROUND), number + AROUND);
                wanted.range(from..=to).next().is_some()
            };
            let lines = (1..).zip(source.text.lines()).filter(|(n, _)| near(n));
            panels.push(Panel {
                title: source.file.clone(),
                lines: lines.take(LINES).map(|(n, l)| (n, l.to_owned())).collect(),
                what: What::Source(source.file.clone()),
            });
        }
        if let Some(kernel) = &finding.kernel
            && !kernel.excerpt.is_empty()
            && !sourceless.is_empty()
        {
            panels.push(Panel {
                title: kernel.text.clone().unwrap_or_else(|| kernel.file.clone()),
                lines: kernel.excerpt.iter().take(LINES).cloned().collect(),
                what: What::Compiled,
            });
        }
        let lines = (1..).zip(finding.source.lines()).take(LINES);
        panels.push(Panel {
            title: match finding.kernel {
                Some(_) => "the protocol that was recovered".to_owned(),
                None => finding.file.clone(),
            },
            lines: lines.map(|(n, l)| (n, l.to_owned())).collect(),
            what: What::Protocol,
        });
        Panels { panels }
    }

    /// The first panel that shows a line of the protocol or the kernel line for it: the number of the panel, and the line.
    pub fn place(&self, finding: &Finding, line: usize) -> Option<(usize, usize)> {
        let find = |what: &What, line: usize| {
            let at = self.panels.iter().position(|panel| panel.what == *what)?;
            let lines = &self.panels.get(at)?.lines;
            let has = lines.binary_search_by_key(&line, |(n, _)| *n).is_ok();
            has.then_some((at, line))
        };
        let source = finding.source_of(line).and_then(|(at, line)| {
            let file = finding.sources.get(at)?.file.clone();
            find(&What::Source(file), line)
        });
        source
            .or_else(|| find(&What::Compiled, finding.compiled_line(line)?))
            .or_else(|| find(&What::Protocol, line))
    }

    /// The panels as HTML. `waits` are the lines of the protocol at which members wait.
    pub fn markup(&self, finding: &Finding, waits: &[usize]) -> Markup {
        let places: Vec<(usize, usize)> = waits
            .iter()
            .flat_map(|line| {
                let own = self.panels.len().checked_sub(1).map(|at| (at, *line));
                [self.place(finding, *line), own]
            })
            .flatten()
            .collect();
        html! {
            @for (at, panel) in self.panels.iter().enumerate() {
                @if self.panels.len() > 1 && panel.what == What::Protocol {
                    details {
                        summary { (visible(&panel.title)) }
                        (text(panel, at, &places))
                    }
                } @else {
                    @if panel.what != What::Protocol { h3 { (visible(&panel.title)) } }
                    (text(panel, at, &places))
                }
            }
        }
    }
}

fn text(panel: &Panel, at: usize, waits: &[(usize, usize)]) -> Markup {
    let gap = |row: usize| {
        let before = row.checked_sub(1).and_then(|row| panel.lines.get(row));
        let here = panel.lines.get(row).map(|(number, _)| *number);
        before.is_some_and(|(number, _)| Some(number + 1) != here)
    };
    html! {
        div class="scroll" tabindex="0" aria-label={ "lines of " (visible(&panel.title)) } {
            ol class="source" data-text=(at) {
                @for (row, (number, line)) in panel.lines.iter().enumerate() {
                    @if gap(row) { li class="gap" { "\u{22ee}" } }
                    li value=(number) class=[waits.contains(&(at, *number)).then_some("waits")] { (visible(&line.replace('\t', "    "))) }
                }
            }
        }
    }
}
