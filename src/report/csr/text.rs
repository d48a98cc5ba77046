//! The verdict on concrete tensors, for people.

use super::Subject;
use super::grid::grid;
use crate::schemes::Fate;
use crate::schemes::Outcome;
use crate::schemes::RowTile;
use crate::schemes::Shape;
use crate::schemes::Turn;
use crate::schemes::chain::Link;
use crate::schemes::chain::Reason;
use crate::tensors::TileKind;

/// With more rows than this, the table lists incomplete row tiles only.
const WHOLE_TABLE: usize = 40;

/// The most rows of the table.
const LONGEST_TABLE: usize = 100;

/// How many values of a list are shown before the list is abbreviated.
const LISTED: usize = 10;

/// How many links of a chain of waits are shown.
const LINKS: usize = 12;

/// The report. Its first line contains the verdict; the rest explains it.
pub fn text(subject: &Subject<'_>) -> String {
    let mut out = first_line(subject);
    out += &about(subject);
    if let Some(grid) = grid(subject) {
        out += &format!("\n{grid}");
    }
    out += &format!("\n{}", table(subject));
    if subject.judgement.outcome == Outcome::Hangs {
        out += &why(subject);
    }
    if let Some(repair) = subject.repair {
        out += &format!("\n{repair}\n");
    }
    out += "\nassumes\n";
    for assumption in subject.assumptions() {
        out += &format!("  {assumption}\n");
    }
    out
}

/// The verdict in one line, with its line end.
pub fn first_line(subject: &Subject<'_>) -> String {
    format!(
        "{}: lock = {}: {}: {}\n",
        subject.name,
        subject.scheme.lock,
        subject.word(),
        subject.sentence()
    )
}

fn about(subject: &Subject<'_>) -> String {
    let tiles = subject.tiles;
    let full = tiles.entries().filter(|e| e.kind == TileKind::Full).count();
    let mut out = format!(
        "  N = {} column tiles (CTAs), M = {} row tiles, {} visited ({} mask, {full} full)\n",
        tiles.n_blocks(),
        tiles.m_blocks(),
        tiles.len(),
        tiles.len() - full,
    );
    out += &format!(
        "  lock(n, m) = {}; rows {}; launch {}\n",
        subject.scheme.lock.on_one_line(),
        subject.row_order(),
        subject.scheme.launch.word(),
    );
    let shown = &subject.judgement.shown;
    let remark = match shown.remark.as_str() {
        "" => String::new(),
        remark => format!("; {remark}"),
    };
    out += &match shown.resident {
        1 => format!("  shown: 1 resident CTA{remark}\n"),
        resident => format!("  shown: {resident} resident CTAs{remark}\n"),
    };
    out
}

fn table(subject: &Subject<'_>) -> String {
    let judgement = subject.judgement;
    let all = judgement.tiles.len();
    let mut rows: Vec<usize> = (0..all).collect();
    let mut note = String::new();
    if all > WHOLE_TABLE {
        rows.retain(|m| judgement.tiles[*m].fate != Fate::Completes);
        note = format!(
            "  {} of {all} row tiles complete and are not listed\n",
            all - rows.len()
        );
    }
    if rows.len() > LONGEST_TABLE {
        note += &format!(
            "  the first {LONGEST_TABLE} of the {} others are listed\n",
            rows.len()
        );
        rows.truncate(LONGEST_TABLE);
    }
    if rows.is_empty() {
        return note;
    }
    let lines: Vec<[String; 5]> = rows.iter().map(|m| line(subject, *m)).collect();
    let heads = ["m", "visitors", "locks", "taken", ""].map(str::to_owned);
    let widths = [0, 1, 2, 3].map(|column| {
        let cells = lines.iter().chain([&heads]);
        cells
            .map(|line| line[column].chars().count())
            .max()
            .unwrap_or(0)
    });
    let mut out = String::new();
    for line in std::iter::once(&heads).chain(&lines) {
        let [m, visitors, locks, taken, fate] = line;
        let text = format!(
            "  {m:>0$}  {visitors:<1$}  {locks:<2$}  {taken:>3$}  {fate}",
            widths[0], widths[1], widths[2], widths[3]
        );
        out += text.trim_end();
        out.push('\n');
    }
    out + &note
}

fn line(subject: &Subject<'_>, m: usize) -> [String; 5] {
    let judgement = subject.judgement;
    let turns = judgement.turns.at(m);
    let RowTile { fate, taken, .. } = judgement.tiles[m];
    let fate = match fate {
        Fate::Completes if turns.is_empty() => "completes (nobody visits it)".to_owned(),
        Fate::Completes => "completes".to_owned(),
        Fate::NeedsResidency => match taken == turns.len() {
            true => "completes, but not with 1 resident CTA".to_owned(),
            false => format!(
                "completes with enough resident CTAs; {}",
                holder(subject, m)
            ),
        },
        Fate::Depends => match taken == turns.len() {
            true => "completes here; other schedules may differ".to_owned(),
            false => format!("can be left incomplete; {}", holder(subject, m)),
        },
        Fate::Never => format!("never completes; {}", holder(subject, m)),
    };
    [
        m.to_string(),
        list(turns, |turn| i64::from(turn.n)),
        list(turns, |turn| turn.lock),
        format!("{taken}/{}", turns.len()),
        fate,
    ]
}

/// The first CTA that is blocked at this row tile; if there is none, the first CTA that has not reached it.
fn holder(subject: &Subject<'_>, m: usize) -> String {
    let judgement = subject.judgement;
    let turns = judgement.turns.at(m);
    let here = turns.iter().find_map(|turn| {
        let waiting = judgement.waiting(turn.n)?;
        (waiting.m as usize == m).then_some(waiting)
    });
    if let Some(waiting) = here {
        return format!(
            "cta {} waits for {}, it is {}",
            waiting.n, waiting.wants, waiting.now
        );
    }
    let state = &judgement.shown.state;
    let absent = turns.iter().find(|turn| !state.is_taken(turn));
    match absent.map(|turn| (turn.n, judgement.waiting(turn.n))) {
        Some((n, Some(waiting))) => format!("cta {n} is held at m = {}", waiting.m),
        Some((n, None)) => format!("cta {n} never starts"),
        None => "not in every schedule".to_owned(),
    }
}

/// A list of numbers, abbreviated in the middle if it is long.
fn list(turns: &[Turn], value: impl Fn(&Turn) -> i64) -> String {
    let shown = |turns: &[Turn]| -> Vec<String> {
        turns.iter().map(|turn| value(turn).to_string()).collect()
    };
    match turns.last() {
        None => "-".to_owned(),
        Some(last) if turns.len() > LISTED + 1 => {
            let first = shown(&turns[..LISTED - 2]).join(" ");
            format!("{first} ... {} ({})", value(last), turns.len())
        }
        Some(_) => shown(turns).join(" "),
    }
}

fn why(subject: &Subject<'_>) -> String {
    let judgement = subject.judgement;
    let mut out = String::from("\nwhy\n");
    let Some(first) = judgement.first_blocked() else {
        return out;
    };
    let chain = judgement.chain(first);
    for Link { waiting, reason } in chain.iter().take(LINKS) {
        let closing = match reason {
            Reason::Cycle(_) => ", by a wait above: a cycle",
            _ => "",
        };
        out += &format!("  {}{closing}\n", subject.in_vain(waiting));
    }
    if chain.len() > LINKS {
        out += &format!("  ... and {} more links\n", chain.len() - LINKS);
    }
    if let Some(Link {
        reason: Reason::NotStarted(_),
        ..
    }) = chain.last()
    {
        out += "  every place is held by a blocked CTA\n";
    }
    out += &match judgement.tiles[first.m as usize].shape {
        Shape::Gap { lock, missing } if lock >= 0 => format!(
            "  the locks of the {} visitors of m = {} are not 0 to {}: none is {missing}\n",
            judgement.turns.at(first.m as usize).len(),
            first.m,
            judgement.turns.at(first.m as usize).len().saturating_sub(1),
        ),
        Shape::Repeated { lock } => format!(
            "  {lock} is the lock of several visitors of m = {}: if one passes and increments \
             before another looks, the other waits forever; which CTA is left depends on the \
             schedule\n",
            first.m
        ),
        Shape::Gap { .. } | Shape::Turns => String::new(),
    };
    let blocked = judgement.blocked().count();
    let started = judgement.shown.state.started();
    let unstarted = subject.tiles.n_blocks() - started;
    let never = match unstarted {
        0 => String::new(),
        some => format!("; {some} never start"),
    };
    let blocked = match blocked {
        1 => "1 CTA is".to_owned(),
        some => format!("{some} CTAs are"),
    };
    out + &format!("  {blocked} blocked{never}\n")
}
