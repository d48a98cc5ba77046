//! A counterexample as pictures made of characters: the run as a sequence chart, and who waits for whom.
//!
//! Each role has a lane, and time runs down. Beside the lanes are the actions, with the resulting phases and counts.
//! Repeated rounds are folded. Everything is shown by signs, and nothing depends on colour.

use super::super::cited::called;
use super::super::finding::Counterexample;
use super::super::graph::Node;
use super::super::style::Style;
use super::Chart;
use super::Step;
use super::Wait;
use super::by_role;
use super::list;

/// The width if there is no terminal, and the least width of the text beside the lanes.
const WIDTH: usize = 100;
const BESIDE: usize = 24;

/// Columns from one lane to the next, and in front of the first.
const LANE: usize = 3;
const INDENT: usize = 4;

/// How many of the first and of the last rows are shown of a long run that cannot be folded.
const FIRST: usize = 8;
const LAST: usize = 40;

/// The longest round that is folded, and the least number of equal rounds.
const ROUND: usize = 64;
const ROUNDS: usize = 3;

/// The run and the graph.
pub fn chart(counterexample: &Counterexample, style: Style) -> String {
    let chart = by_role(counterexample);
    let mut out = format!("  {}\n", style.bold("chart, time runs down:"));
    let drawing = Drawing {
        lanes: chart.lanes.len(),
        width: style.width.unwrap_or(WIDTH),
        number: number_width(&chart),
        style,
    };
    drawing.heads(&mut out, &chart);
    let rows = shortened(folded(&chart.steps), style.verbose);
    for row in rows {
        match row {
            Row::Step(step) => drawing.step(&mut out, &chart, step),
            Row::Again { times, first, last } => {
                let number = format!("{first}-{last}");
                let rounds = match times {
                    1 => "one more round like that".to_owned(),
                    more => format!("{more} more rounds like that"),
                };
                drawing.row(&mut out, (None, ':'), &number, &rounds);
            }
            Row::Hidden { first, last } => {
                let number = format!("{first}-{last}");
                drawing.row(&mut out, (None, ':'), &number, "not shown (-v shows them)");
            }
        }
    }
    let graph = &counterexample.stuck.graph;
    for wait in &chart.waits {
        let in_circle = |node: &Node| node.circle && node.line == Some(wait.line);
        drawing.end(&mut out, &chart, wait, graph.iter().any(in_circle));
    }
    if !counterexample.stuck.unstarted.is_empty() {
        let names: Vec<&str> = counterexample
            .stuck
            .unstarted
            .iter()
            .map(String::as_str)
            .collect();
        let names = super::ranges::ranges(&names).join(", ");
        drawing.row(
            &mut out,
            (None, '|'),
            "end",
            &format!("never started: {names}"),
        );
    }
    waits(&mut out, graph, style);
    out
}

/// The wait-for graph, with an arrow in each line.
fn waits(out: &mut String, graph: &[Node], style: Style) {
    let circle = graph.iter().any(|node| node.circle);
    let mut rows = Vec::new();
    for node in graph {
        let sign = match (circle, node.circle) {
            (_, true) => "* ",
            (true, false) => "  ",
            (false, false) => "",
        };
        let at = match (node.line, node.element.as_str()) {
            (Some(line), element) => (
                format!("--{element}-->"),
                format!("({})", called(line, node.kernel.as_ref())),
            ),
            (None, _) => ("--to start-->".to_owned(), String::new()),
        };
        let whom: Vec<&str> = node
            .whom
            .iter()
            .filter_map(|other| Some(graph.get(*other)?.who.as_str()))
            .collect();
        let whom = match whom.is_empty() {
            true => "nobody".to_owned(),
            false => whom.join(", "),
        };
        rows.push([format!("{sign}{}", node.who), at.0, whom, at.1]);
    }
    let widest = |column: usize| {
        let cells = rows
            .iter()
            .map(|row: &[String; 4]| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let (who, arrow) = (widest(0), widest(1));
    let lines: Vec<String> = rows
        .iter()
        .map(|[name, at, whom, line]| {
            format!("{name:who$} {at:arrow$} {whom} {line}")
                .trim_end()
                .to_owned()
        })
        .collect();
    let title = match circle {
        true => "wait-for graph (* wait for each other in a circle)",
        false => "wait-for graph",
    };
    // One line would follow the title.
    match lines.as_slice() {
        [] => {}
        [one] => out.push_str(&format!(
            "  {}\n    {one}\n",
            style.bold(&format!("{title}:"))
        )),
        lines => list(out, style, title, lines),
    }
}

/// The contents of a row.
#[derive(Debug, PartialEq, Eq)]
enum Row<'c> {
    Step(&'c Step),
    /// The rounds before are repeated this many times, with these steps.
    Again {
        times: usize,
        first: usize,
        last: usize,
    },
    Hidden {
        first: usize,
        last: usize,
    },
}

impl Row<'_> {
    fn span(&self) -> (usize, usize) {
        match self {
            Row::Step(step) => (step.first, last_of(step)),
            Row::Again { first, last, .. } | Row::Hidden { first, last } => (*first, *last),
        }
    }
}

fn last_of(step: &Step) -> usize {
    (step.first + step.count).saturating_sub(1)
}

/// A step without the numbers in its text: equal steps of different rounds have the same kind.
fn kind(step: &Step) -> (usize, Option<usize>, String) {
    let letters = step.what.chars().filter(|c| !c.is_ascii_digit());
    (step.lane, step.line, letters.collect())
}

/// The steps, with repeated rounds folded.
fn folded(steps: &[Step]) -> Vec<Row<'_>> {
    let kinds: Vec<_> = steps.iter().map(kind).collect();
    let mut rows = Vec::new();
    let mut at = 0;
    while at < steps.len() {
        let rest = &kinds[at..];
        let mut best = (0, 0);
        for round in 1..=ROUND.min(rest.len() / ROUNDS) {
            let times = rest
                .chunks_exact(round)
                .take_while(|chunk| *chunk == &rest[..round])
                .count();
            if times >= ROUNDS && times * round > best.0 * best.1 {
                best = (round, times);
            }
        }
        let (round, times) = best;
        if times == 0 {
            rows.push(Row::Step(&steps[at]));
            at += 1;
            continue;
        }
        let end = at + round * times;
        rows.extend(steps[at..at + round].iter().map(Row::Step));
        if let (Some(first), Some(last)) = (steps.get(at + round), steps.get(end - 1)) {
            rows.push(Row::Again {
                times: times - 1,
                first: first.first,
                last: last_of(last),
            });
        }
        at = end;
    }
    rows
}

fn shortened(mut rows: Vec<Row<'_>>, verbose: bool) -> Vec<Row<'_>> {
    if verbose || rows.len() <= FIRST + LAST + 1 {
        return rows;
    }
    let tail = rows.split_off(rows.len() - LAST);
    let hidden = rows.split_off(FIRST);
    if let (Some(first), Some(last)) = (hidden.first(), hidden.last()) {
        rows.push(Row::Hidden {
            first: first.span().0,
            last: last.span().1,
        });
    }
    rows.extend(tail);
    rows
}

/// The width of the numbers of steps.
fn number_width(chart: &Chart) -> usize {
    let last = chart.steps.last().map_or(0, last_of);
    let digits = last.to_string().len();
    (2 * digits + 1).max("end".len())
}

/// How rows are laid out.
struct Drawing {
    lanes: usize,
    width: usize,
    number: usize,
    style: Style,
}

impl Drawing {
    /// The name of each lane, above it.
    fn heads(&self, out: &mut String, chart: &Chart) {
        for (at, name) in chart.lanes.iter().enumerate() {
            let bars = "|  ".repeat(at);
            out.push_str(&format!("{}{bars}{name}\n", " ".repeat(INDENT)));
        }
    }

    fn step(&self, out: &mut String, chart: &Chart, step: &Step) {
        let number = match step.count {
            1 => step.first.to_string(),
            _ => format!("{}-{}", step.first, last_of(step)),
        };
        let text = said(chart, step.lane, &step.who, &step.what);
        self.row(out, (Some(step.lane), 'o'), &number, &text);
    }

    fn end(&self, out: &mut String, chart: &Chart, wait: &Wait, circle: bool) {
        let mut text = said(chart, wait.lane, &wait.who, &wait.what);
        if circle {
            text.push_str(" [in the circle]");
        }
        self.row(out, (Some(wait.lane), 'X'), "end", &text);
    }

    /// A row with this sign in its lane. Text that does not fit continues below.
    fn row(&self, out: &mut String, (lane, sign): (Option<usize>, char), number: &str, text: &str) {
        let lanes = |sign: Option<char>| -> String {
            let signs = (0..self.lanes).map(|at| match sign {
                Some(sign) if lane.is_none_or(|lane| lane == at) => sign,
                _ => '|',
            });
            signs.flat_map(|sign| [sign, ' ', ' ']).collect()
        };
        let head = INDENT + LANE * self.lanes + self.number + 2;
        let room = self.width.saturating_sub(head).max(BESIDE);
        for (row, piece) in wrapped(text, room).into_iter().enumerate() {
            let (sign, number) = match row {
                0 => (Some(sign), number),
                _ => (None, ""),
            };
            let piece = if row == 0 && lane.is_some() && sign == Some('X') {
                self.style.bold(&piece)
            } else {
                piece
            };
            let line = format!(
                "{}{}{number:width$}  {piece}",
                " ".repeat(INDENT),
                lanes(sign),
                width = self.number
            );
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
}

/// The acting members and the action. The name is omitted if the lane has a single member of this name.
fn said(chart: &Chart, lane: usize, who: &str, what: &str) -> String {
    match chart.lanes.get(lane) {
        Some(name) if name == who => what.to_owned(),
        _ => format!("{who} {what}"),
    }
}

/// A text in pieces of at most `room` characters, broken between words.
fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut pieces: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        let length = word.chars().count();
        let column = pieces.last().map_or(0, |piece| piece.chars().count());
        if column > 0 && column + 1 + length > room {
            pieces.push(String::new());
        }
        if let Some(piece) = pieces.last_mut() {
            if !piece.is_empty() {
                piece.push(' ');
            }
            piece.push_str(word);
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(number: usize, what: &str) -> Step {
        Step {
            first: number,
            count: 1,
            lane: 0,
            who: "a".to_owned(),
            what: what.to_owned(),
            line: Some(7),
            left: None,
        }
    }

    /// Two steps of a round, five times, with different numbers in their texts.
    #[test]
    fn rounds_that_are_alike_are_told_once() {
        let mut steps = vec![step(1, "starts")];
        for round in 0..5 {
            steps.push(step(2 * round + 2, &format!("passes full[{round}]")));
            steps.push(step(2 * round + 3, &format!("arrives at empty[{round}]")));
        }
        steps.push(step(12, "ends"));
        let rows = folded(&steps);
        let told: Vec<String> = rows
            .iter()
            .map(|row| match row {
                Row::Step(step) => format!("{} {}", step.first, step.what),
                Row::Again { times, first, last } => format!("{times} more: {first}-{last}"),
                Row::Hidden { first, last } => format!("hidden: {first}-{last}"),
            })
            .collect();
        let expected = [
            "1 starts",
            "2 passes full[0]",
            "3 arrives at empty[0]",
            "4 more: 4-11",
            "12 ends",
        ];
        assert_eq!(told, expected);
    }

    /// A run without repetitions is shortened in the middle, unless everything is asked for.
    #[test]
    fn a_long_run_is_shortened() {
        let words = ["x", "yy", "zzz", "w"];
        let name = |at: usize| words[at % 4].repeat(1 + at % 7 * (at % 11));
        let steps: Vec<Step> = (0..80).map(|at| step(at + 1, &name(at))).collect();
        let rows = shortened(folded(&steps), false);
        assert_eq!(rows.len(), FIRST + LAST + 1);
        assert_eq!(rows[FIRST], Row::Hidden { first: 9, last: 40 });
        assert_eq!(shortened(folded(&steps), true).len(), 80);
    }
}
