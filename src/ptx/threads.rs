//! A symbolic number of threads. A CTA has at most 32 warps. So the protocol is recovered for every number of warps, and
//! all of them are written as one text, in which numbers are functions `a * warps + b`. Every text has been compared with
//! it, so nothing is extrapolated.

use super::lift::Failure;
use super::lift::Options;
use super::lift::written;
use super::names::readable;
use crate::protocol::Span;
use crate::ptx::syntax::ast::Function;
use crate::ptx::syntax::ast::Module;
use crate::ptx::warp::statement::Obstacle;
use crate::text;
use crate::text::Diagnostic;

/// How many warps are taken together, and what that is called.
const STEPS: [(u32, &str); 3] = [(1, "warps"), (2, "warp_pairs"), (4, "warpgroups")];

/// The most threads of a CTA.
const MOST_THREADS: u32 = 1024;

/// Recovers the protocol of an entry for every number of whole warps.
pub(super) fn lift_for_all_threads(
    module: &Module<'_>,
    function: &Function<'_>,
    options: &Options,
) -> Result<String, Failure> {
    if function.reqntid.is_some() || options.threads.is_some() {
        let span = Span {
            start: function.at.start,
            end: function.at.end,
        };
        let message = format!(
            "the number of threads of `{}` is given",
            readable(function.name)
        );
        let finding = Diagnostic::error(span, message)
            .hint("leave --symbolic-threads out, or --threads if that gives the number");
        return Err(Failure::Input(finding));
    }
    let most = function.maxntid.map_or(MOST_THREADS, |[x, y, z]| {
        x.saturating_mul(y).saturating_mul(z)
    });
    let most = most.min(MOST_THREADS) / 32;
    let one = |warps: u32| {
        let options = Options {
            threads: Some([32 * warps, 1, 1]),
            symbolic: true,
            ..options.clone()
        };
        written(module, function, &options)
    };
    let mut texts = Vec::new();
    for warps in (1..=most).rev() {
        match one(warps) {
            Ok(text) => texts.push((warps, text)),
            Err(failure) if warps == most => return Err(failure),
            // What is not recovered for few warps may be for more.
            Err(_) => {}
        }
    }
    for (step, name) in STEPS {
        let taken: Vec<(u32, &str)> = texts
            .iter()
            .filter(|(warps, _)| warps % step == 0)
            .map(|(warps, text)| (warps / step, text.as_str()))
            .collect();
        if let Some((text, least, most)) = together(&taken, name) {
            let head = format!(
                "//! Recovered for {} warps, each number by itself.\n",
                (least..=most)
                    .map(|number| (number * step).to_string())
                    .collect::<Vec<_>>()
                    .join(", ")
            );
            let declared = format!("\nparam {name} in {least}..={most}\n");
            let Some((before, after)) = text.split_once("\nprotocol ") else {
                continue;
            };
            let Some((title, rest)) = after.split_once('\n') else {
                continue;
            };
            let whole = format!("{before}\n{head}protocol {title}\n{declared}{rest}");
            if let Ok(laid_out) = text::format(&whole)
                && text::load(laid_out.as_bytes()).is_ok()
            {
                return Ok(laid_out);
            }
        }
    }
    let at = function.code.first().map_or(0, |i| i.at);
    Err(Failure::Obstacle(Obstacle::new(
        at,
        "what the kernel does with different numbers of threads cannot be written as one protocol: \
         give --threads",
    )))
}

/// A piece of a text: a number, or whatever is between numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece<'t> {
    Number(i64),
    Words(&'t str),
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let mut from = 0;
    let mut at = 0;
    let bytes = text.as_bytes();
    while at < bytes.len() {
        let inside = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
        if bytes[at].is_ascii_digit() && !inside {
            let digits = bytes[at..]
                .iter()
                .take_while(|b| b.is_ascii_digit())
                .count();
            if let Some(Ok(number)) = text.get(at..at + digits).map(str::parse) {
                found.push(Piece::Words(text.get(from..at).unwrap_or_default()));
                found.push(Piece::Number(number));
                from = at + digits;
            }
            at += digits;
        } else {
            at += 1;
        }
    }
    found.push(Piece::Words(text.get(from..).unwrap_or_default()));
    found
}

/// One text for as many of these as possible, from the largest number down, and for which.
fn together(texts: &[(u32, &str)], name: &str) -> Option<(String, u32, u32)> {
    let [(most, first), (next, second), ..] = texts else {
        return None;
    };
    let (first, second) = (pieces(first), pieces(second));
    if first.len() != second.len() || *next + 1 != *most {
        return None;
    }
    // Every number as slope and what it is at 0.
    let mut lines: Vec<Option<(i64, i64)>> = Vec::new();
    for (a, b) in first.iter().zip(&second) {
        lines.push(match (a, b) {
            (Piece::Number(a), Piece::Number(b)) => {
                let slope = a.checked_sub(*b)?;
                Some((slope, a.checked_sub(slope.checked_mul(i64::from(*most))?)?))
            }
            (a, b) if a == b => None,
            _ => return None,
        });
    }
    let fits = |(number, text): &(u32, &str)| {
        let found = pieces(text);
        found.len() == first.len()
            && found
                .iter()
                .zip(&first)
                .zip(&lines)
                .all(|((piece, other), line)| match (piece, line) {
                    (Piece::Number(n), Some((slope, base))) => {
                        *n == slope * i64::from(*number) + base
                    }
                    (piece, _) => piece == other,
                })
    };
    let mut least = *most;
    for text in texts.iter().skip(1) {
        if text.0 + 1 != least || !fits(text) {
            break;
        }
        least = text.0;
    }
    if least + 1 > *most {
        return None;
    }
    let mut out = String::new();
    for (piece, line) in first.iter().zip(&lines) {
        match (piece, line) {
            (Piece::Number(number), Some((0, _)) | None) => out.push_str(&number.to_string()),
            (Piece::Number(_), Some((slope, base))) => {
                let product = if *slope == 1 {
                    name.to_owned()
                } else {
                    format!("{slope} * {name}")
                };
                out.push_str(&match base {
                    0 => format!("({product})"),
                    1.. => format!("({product} + {base})"),
                    _ => format!("({product} - {})", -base),
                });
            }
            (Piece::Words(words), _) => out.push_str(words),
        }
    }
    Some((out, least, *most))
}
