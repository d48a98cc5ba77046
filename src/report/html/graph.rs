//! The wait-for graph as a picture in the HTML page: boxes from top to bottom, and arrows to the members that are waited
//! for.
//!
//! A cycle is drawn with thick lines and named in words, so the picture needs no colour.

use maud::Markup;
use maud::html;

use super::super::cited::called;
use super::super::graph::Node;
use super::super::text::visible;

/// The most nodes that are drawn.
const NODES: usize = 24;

/// Sizes in units of the picture: a letter, a row, a box, and the gap between boxes.
const LETTER: usize = 8;
const ROW: usize = 18;
const BOX: usize = 50;
const GAP: usize = 46;
const MARGIN: usize = 12;

/// An arrow that passes one more box is drawn this much further out.
const BULGE: usize = 34;

/// The picture; empty if no member waits.
pub fn picture(graph: &[Node]) -> Markup {
    let nodes = &graph[..graph.len().min(NODES)];
    if nodes.is_empty() {
        return html! {};
    }
    let labels: Vec<[String; 2]> = nodes.iter().map(label).collect();
    let letters = labels.iter().flatten().map(|line| line.chars().count());
    let width = letters.max().unwrap_or(0) * LETTER + 2 * MARGIN;
    let edges: Vec<(usize, usize)> = nodes
        .iter()
        .enumerate()
        .flat_map(|(from, node)| node.whom.iter().map(move |to| (from, *to)))
        .filter(|(_, to)| *to < nodes.len())
        .collect();
    let beside = edges.iter().filter(|(from, to)| from + 1 != *to);
    let reach = beside
        .map(|(from, to)| bulge(*from, *to))
        .max()
        .unwrap_or(0);
    let (total, height) = (
        2 * MARGIN + width + reach + 2 * LETTER,
        2 * MARGIN + nodes.len() * (BOX + GAP) - GAP,
    );
    let more = graph.len() - nodes.len();
    html! {
        h2 { "Wait-for graph" }
        div class="scroll" tabindex="0" aria-label="who waits for whom, as a picture" {
            svg class="waits-for" viewBox={ "0 0 " (total) " " (height) } width=(total) height=(height) role="img" {
                title { (described(nodes)) }
                defs {
                    marker id="head" viewBox="0 0 10 10" refX="10" refY="5" markerWidth="10" markerHeight="10" markerUnits="userSpaceOnUse" orient="auto" {
                        path d="M0 0 L10 5 L0 10 z" fill="currentColor" {}
                    }
                }
                @for (from, to) in &edges {
                    path class=[in_circle(nodes, *from, *to).then_some("circle")] d=(line(*from, *to, width)) fill="none" stroke="currentColor" marker-end="url(#head)" {}
                }
                @for (at, (node, label)) in nodes.iter().zip(&labels).enumerate() {
                    rect class=[node.circle.then_some("circle")] x=(MARGIN) y=(top(at)) width=(width) height=(BOX) rx="4" fill="none" stroke="currentColor" {}
                    @for (row, text) in label.iter().enumerate() {
                        text x=(2 * MARGIN) y=(top(at) + ROW * (row + 1) + 2) fill="currentColor" { (text) }
                    }
                }
            }
        }
        @if nodes.iter().any(|node| node.circle) {
            p class="quiet" { "Boxes with thick lines wait for each other in a circle." }
        }
        @if more > 0 { p class="quiet" { (more) " more are not drawn." } }
    }
}

/// The text in a box.
fn label(node: &Node) -> [String; 2] {
    let place = |line: usize| called(line, node.kernel.as_ref());
    let waits = match node.line {
        Some(line) => format!("waits for {} ({})", node.element, place(line)),
        None => "cannot start".to_owned(),
    };
    let nobody = if node.whom.is_empty() {
        ": nobody comes"
    } else {
        ""
    };
    [visible(&node.who), visible(&format!("{waits}{nobody}"))]
}

/// The picture in words.
fn described(nodes: &[Node]) -> String {
    let sentences = nodes.iter().map(|node| {
        let whom: Vec<&str> = node
            .whom
            .iter()
            .filter_map(|other| Some(nodes.get(*other)?.who.as_str()))
            .collect();
        match whom.is_empty() {
            true => format!("{} waits, and nobody comes", node.who),
            false => format!("{} waits for {}", node.who, whom.join(", ")),
        }
    });
    visible(&sentences.collect::<Vec<_>>().join("; "))
}

fn in_circle(nodes: &[Node], from: usize, to: usize) -> bool {
    let is = |at: usize| nodes.get(at).is_some_and(|node| node.circle);
    is(from) && is(to)
}

fn top(at: usize) -> usize {
    MARGIN + at * (BOX + GAP)
}

fn bulge(from: usize, to: usize) -> usize {
    BULGE * (1 + from.abs_diff(to))
}

/// An arrow to the next box is a straight line down. To any other box, it goes around on the right.
fn line(from: usize, to: usize, width: usize) -> String {
    if from + 1 == to {
        let x = MARGIN + width / 2;
        return format!("M{x} {} L{x} {}", top(from) + BOX, top(to));
    }
    let edge = MARGIN + width;
    let out = edge + bulge(from, to);
    let (start, end) = (top(from) + BOX / 2, top(to) + BOX / 2);
    // An arrow back to the same box leaves and arrives at different heights.
    let (start, end) = match from == to {
        true => (start - BOX / 4, end + BOX / 4),
        false => (start + BOX / 8, end - BOX / 8),
    };
    format!("M{edge} {start} C{out} {start} {out} {end} {edge} {end}")
}
