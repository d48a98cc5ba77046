//! A proof by cuts in words.

use super::expression;
use crate::certificate::cut;
use crate::certificate::cut::artefact::Case;
use crate::certificate::cut::artefact::Cut;
use crate::certificate::cut::artefact::Form;
use crate::certificate::cut::artefact::Quantity;
use crate::certificate::cut::class;
use crate::certificate::cut::class::Class;
use crate::protocol::Expr;
use crate::protocol::Protocol;
use crate::protocol::Span;

/// The idea, then every generation and every cut of every case.
pub fn explain(protocol: &Protocol, cut: &Cut) -> Vec<String> {
    let mut lines = summary(protocol, cut);
    lines.extend(details(protocol, cut));
    lines
}

fn summary(protocol: &Protocol, cut: &Cut) -> Vec<String> {
    let cuts: usize = cut.cases.iter().map(|case| case.holds.len()).sum();
    let mut lines = vec![
        "No step of one thread can undo what lets another go on, so it is enough that no choice of \
         one place per role leaves everybody blocked."
            .to_owned(),
    ];
    if cuts > 0 {
        lines.push(
            "While a thread stands before a wait, nobody gets far enough to complete a further \
             phase of its barrier, so a parity bit is never mistaken for another."
                .to_owned(),
        );
    }
    if cut.cases.len() > 1 {
        let names: Vec<&str> = cut
            .split
            .iter()
            .filter_map(|at| protocol.params.get(*at).map(|p| p.name.as_str()))
            .collect();
        let further = cut.cases.iter().any(|case| !case.further.is_empty());
        lines.push(if further {
            format!(
                "Proved separately in {} cases; what has no value in a case is symbolic there.",
                cut.cases.len()
            )
        } else {
            format!(
                "Proved separately for each of the {} values of {}; everything else is symbolic.",
                cut.cases.len(),
                names.join(", ")
            )
        });
    }
    lines
}

fn details(protocol: &Protocol, cut: &Cut) -> Vec<String> {
    let mut lines = Vec::new();
    for case in &cut.cases {
        let fixed = cut::cases::fixed(&cut.split, case);
        let Ok(classes) = class::classes(protocol, &fixed) else {
            continue;
        };
        if !fixed.is_empty() {
            let values: Vec<String> = fixed
                .iter()
                .map(|(id, value)| format!("{} = {value}", protocol.params[id.0].name))
                .collect();
            lines.push(format!("Case {}:", values.join(", ")));
        }
        if case.empty {
            lines.push("  no parameter values satisfy the assumptions".to_owned());
            continue;
        }
        lines.extend(generations(protocol, &classes, case));
        for hold in &case.holds {
            let Some(held) = classes.get(hold.class) else {
                continue;
            };
            let Some(site) = held.flow.sites.get(hold.site) else {
                continue;
            };
            lines.push(format!(
                "  while {} stands before `{}` in iteration n:",
                held.name,
                quote(protocol, site.span)
            ));
            for (position, stop) in hold.stops.iter().enumerate() {
                let Some(other) = classes.get(position) else {
                    continue;
                };
                if position == hold.class && other.size == Expr::Int(1) {
                    continue;
                }
                let name = if position == hold.class {
                    format!("the others of {}", other.name)
                } else {
                    other.name.clone()
                };
                let places: Vec<String> = stop
                    .iter()
                    .filter_map(|stop| {
                        let at = other.flow.sites.get(stop.site)?;
                        let number = form(protocol, &classes, held, hold.site, &stop.clock);
                        let text = quote(protocol, at.span);
                        Some(format!("`{text}` in iteration {number}"))
                    })
                    .collect();
                lines.push(if places.is_empty() {
                    format!("    {name}: may run to the end")
                } else {
                    let places = places.join(", or if there is none, ");
                    format!("    {name}: no further than {places}")
                });
            }
        }
    }
    lines
}

fn generations(protocol: &Protocol, classes: &[Class], case: &Case) -> Vec<String> {
    case.generations
        .iter()
        .filter_map(|g| {
            let held = classes.get(g.class)?;
            let site = held.flow.sites.get(g.site)?;
            let plus = if g.first == 0 {
                "earlier rounds there"
            } else {
                "earlier rounds there, plus 1"
            };
            Some(format!(
                "  `{}` of {} waits for completion number: {plus}",
                quote(protocol, site.span),
                held.name
            ))
        })
        .collect()
}

fn form(protocol: &Protocol, classes: &[Class], held: &Class, site: usize, form: &Form) -> String {
    let depth = held.flow.sites[site].path.loops.len();
    let clock = |at: usize| {
        if at + 1 == depth {
            "n".to_owned()
        } else {
            format!("n{}", at + 1)
        }
    };
    let trips = |class: usize, at: usize| {
        let found = classes.get(class).and_then(|c| c.flow.loops.get(at));
        found.map_or("?".to_owned(), |l| expression::text(protocol, &l.trips))
    };
    let mut text = String::new();
    for product in &form.0 {
        let of: Vec<String> = product
            .of
            .iter()
            .map(|quantity| match quantity {
                Quantity::Param(at) => protocol
                    .params
                    .get(*at)
                    .map_or("?".to_owned(), |p| p.name.clone()),
                Quantity::Clock(at) => clock(*at),
                Quantity::Trips(class, at) => trips(*class, *at),
                Quantity::Quotient {
                    clock: at,
                    plus,
                    of,
                    from,
                } => {
                    let clock = clock(*at);
                    let sum = match plus {
                        0 => clock,
                        plus if *plus < 0 => format!("({clock} - {})", plus.unsigned_abs()),
                        plus => format!("({clock} + {plus})"),
                    };
                    let site = classes.get(of.0).and_then(|c| c.flow.sites.get(of.1));
                    let inner = site.and_then(|s| s.path.loops.get(*from..));
                    let by: Vec<String> = inner
                        .unwrap_or_default()
                        .iter()
                        .map(|at| trips(of.0, *at))
                        .collect();
                    match &by[..] {
                        [one] => format!("{sum} / {one}"),
                        _ => format!("{sum} / ({})", by.join(" * ")),
                    }
                }
            })
            .collect();
        let sign = match (text.is_empty(), product.times < 0) {
            (true, false) => "",
            (true, true) => "-",
            (false, false) => " + ",
            (false, true) => " - ",
        };
        let times = product.times.unsigned_abs();
        text.push_str(sign);
        text.push_str(&match (times, of.is_empty()) {
            (_, true) => times.to_string(),
            (1, false) => of.join(" * "),
            (_, false) => format!("{times} * {}", of.join(" * ")),
        });
    }
    if text.is_empty() {
        "0".to_owned()
    } else {
        text
    }
}

fn quote(protocol: &Protocol, span: Span) -> String {
    let text = protocol.source.get(span.start..span.end).unwrap_or("?");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
