//! The smallest failing input, in words and as JSON.

use serde_json::Value;
use serde_json::json;

use crate::repro::Failure;
use crate::repro::emit;
use crate::repro::family::Family;
use crate::repro::family::Origin;
use crate::repro::family::TileSizes;
use crate::witness::BlockedEntry;

/// The widest pattern that is drawn.
const LARGEST: usize = 64;

/// Segment lengths that are listed in the first line.
const LISTED: usize = 12;

/// What was searched, for the first line: `packed sequences, tile 128`.
pub fn family(family: Family, sizes: &[TileSizes]) -> String {
    let what = match family {
        Family::Packed => "packed sequences",
        Family::PackedCausal => "packed causal sequences",
        Family::Causal => "causal attention",
        Family::Local => "local attention",
    };
    match sizes {
        [TileSizes { m, n }] if m == n => format!("{what}, tile {m}"),
        [TileSizes { m, n }] => format!("{what}, tiles {m} x {n}"),
        _ => what.to_owned(),
    }
}

/// What hangs, in one sentence: the sizes and the first wait that never ends.
pub fn sentence(failure: &Failure) -> String {
    let at = match &failure.origin {
        Some(Origin::Packing { lengths, .. }) => {
            let tokens: u64 = lengths.iter().sum();
            let shown: Vec<String> = lengths.iter().take(LISTED).map(u64::to_string).collect();
            let dots = if lengths.len() > LISTED { ", ..." } else { "" };
            let shown = shown.join(", ");
            match lengths.len() {
                1 => format!("{tokens} tokens in 1 segment"),
                count => format!("{tokens} tokens in {count} segments ({shown}{dots})"),
            }
        }
        Some(Origin::Window {
            sq,
            sk,
            left,
            right,
            tile,
        }) => {
            let window = match left {
                Some(left) => format!(", wl = {left}, wr = {right}"),
                None => String::new(),
            };
            format!(
                "sq = {sq}, sk = {sk}{window} with tiles {} x {}",
                tile.m, tile.n
            )
        }
        None => {
            let sizes = failure.witness.parameters.iter();
            let sizes: Vec<String> = sizes
                .map(|(name, value)| format!("{name} = {value}"))
                .collect();
            match (sizes.is_empty(), entries(failure)) {
                (true, _) => "the protocol as it stands".to_owned(),
                (false, None) => sizes.join(", "),
                (false, Some(1)) => format!("{}, one tile visited", sizes.join(", ")),
                (false, Some(count)) => format!("{}, {count} tiles visited", sizes.join(", ")),
            }
        }
    };
    format!("hangs at {at}{}", blame(failure))
}

fn entries(failure: &Failure) -> Option<usize> {
    let open = failure.witness.patterns.values();
    (!failure.witness.patterns.is_empty()).then(|| open.map(Vec::len).sum())
}

fn blame(failure: &Failure) -> String {
    match failure.witness.blocked.first() {
        Some(BlockedEntry {
            member,
            object,
            wants,
            value,
            ..
        }) => format!(": {member} waits for {object} {wants} (now: {value})"),
        None => String::new(),
    }
}

/// The text after the first line.
pub fn details(failure: &Failure) -> String {
    let mut out = format!("  {}\n", failure.smallest);
    if let (Some(_), parameters) = (&failure.origin, &failure.witness.parameters) {
        let all: Vec<String> = parameters
            .iter()
            .map(|(n, v)| format!("{n} = {v}"))
            .collect();
        out += &format!("  the protocol's parameters: {}\n", all.join(", "));
    }
    for blocked in &failure.witness.blocked {
        out += &format!(
            "  {} is blocked at line {}: {} {} (now: {})\n",
            blocked.member, blocked.line, blocked.object, blocked.wants, blocked.value
        );
    }
    if !failure.witness.unstarted.is_empty() {
        out += &format!("  never start: {}\n", failure.witness.unstarted.join(", "));
    }
    if let Some(tiles) = &failure.tiles
        && (1..=LARGEST).contains(&tiles.m_blocks())
        && (1..=LARGEST).contains(&tiles.n_blocks())
    {
        out += "\n  n   row tiles in visiting order\n";
        for n in 0..tiles.n_blocks() {
            let row: Vec<String> = tiles.row(n).iter().map(u32::to_string).collect();
            out += format!("  {n:<3} {}", row.join(" ")).trim_end();
            out.push('\n');
        }
    }
    out
}

/// The failure as the `repro` member of a result.
pub fn json(failure: &Failure) -> Value {
    json!({
        "smallest": failure.smallest,
        "made_from": failure.origin.as_ref().map(emit::origin_json),
        "parameters": failure.witness.parameters,
        "n_blocks": failure.tiles.as_ref().map(|tiles| tiles.n_blocks()),
        "m_blocks": failure.tiles.as_ref().map(|tiles| tiles.m_blocks()),
        "rows": failure.tiles.as_ref().map(|tiles| {
            (0..tiles.n_blocks()).map(|n| tiles.row(n).to_vec()).collect::<Vec<_>>()
        }),
        "blocked": failure.witness.blocked,
        "unstarted": failure.witness.unstarted,
    })
}
