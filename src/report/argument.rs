//! Describes a proof: the inputs that it covers, and its argument.

use crate::certificate::argument::Argument;
use crate::certificate::arriver;
use crate::certificate::arriver::Arriver;
use crate::certificate::case_split;
use crate::certificate::case_split::CaseSplit;
use crate::certificate::grid::Residency;
use crate::certificate::normal;
use crate::certificate::separation;
use crate::certificate::separation::Separation;
use crate::certificate::ticket::Key;
use crate::certificate::ticket::Potential;
use crate::certificate::ticket::Tally;
use crate::certificate::ticket::Ticket;
use crate::certificate::turns::Component;
use crate::certificate::turns::Reading;
use crate::certificate::turns::Turns;
use crate::protocol::Domain;
use crate::protocol::Initial;
use crate::protocol::Iteration;
use crate::protocol::LaunchOrder;
use crate::protocol::ObjectKind;
use crate::protocol::Protocol;
use crate::protocol::RowOrder;
use crate::protocol::Span;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::witness;

use super::words;

/// The inputs that a proof covers: `for every N >= 1, M >= 1, pattern visits, row order and schedule`; or, if
/// parameters have one value, `for N = 4 and every schedule`.
pub fn domain(protocol: &Protocol) -> String {
    let (mut fixed, mut parts) = (Vec::new(), Vec::new());
    for param in &protocol.params {
        match &param.domain {
            Domain::AtLeast(lo) => parts.push(format!("{} >= {lo}", param.name)),
            Domain::Range(lo, hi) if lo == hi => fixed.push(format!("{} = {lo}", param.name)),
            Domain::Range(lo, hi) => parts.push(format!("{} in {lo}..={hi}", param.name)),
            Domain::Set(values) => match values.as_slice() {
                [one] => fixed.push(format!("{} = {one}", param.name)),
                _ => {
                    let values: Vec<String> = values.iter().map(i64::to_string).collect();
                    parts.push(format!("{} in {{{}}}", param.name, values.join(", ")));
                }
            },
        }
    }
    let open = protocol.patterns.iter().filter(|p| p.definition.is_none());
    parts.extend(open.map(|p| format!("pattern {}", p.name)));
    let open_rows = protocol.roles.iter().any(|role| has_open_rows(&role.body));
    if open_rows {
        parts.push("row order".to_owned());
    }
    let any_start = |kind: &ObjectKind| *kind == ObjectKind::Semaphore(Initial::Any);
    if protocol.objects.iter().any(|o| any_start(&o.kind)) {
        parts.push("initial value".to_owned());
    }
    let any_launch = |order: &LaunchOrder| *order == LaunchOrder::Any;
    let mut launches = protocol.roles.iter().filter_map(|r| r.launch.as_ref());
    if launches.any(|launch| any_launch(&launch.order)) {
        parts.push("launch order".to_owned());
    }
    parts.push("schedule".to_owned());
    let assumed: Vec<String> = protocol
        .assumptions
        .iter()
        .map(|assumption| assumption.text.clone())
        .collect();
    let given = match assumed.as_slice() {
        [] => String::new(),
        _ => format!(", assuming {}", assumed.join(", ")),
    };
    let fixed = match fixed.as_slice() {
        [] => String::new(),
        _ => format!("{} and ", fixed.join(", ")),
    };
    format!("for {fixed}every {}{given}", words::joined(&parts))
}

fn has_open_rows(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::If {
            then, otherwise, ..
        } => has_open_rows(then) || has_open_rows(otherwise),
        StmtKind::For { over, body, .. } => {
            let open = matches!(
                over,
                Iteration::Row {
                    order: RowOrder::Given | RowOrder::Any,
                    ..
                }
            );
            open || has_open_rows(body)
        }
        _ => false,
    })
}

/// The argument, one sentence per line.
pub fn explain(protocol: &Protocol, argument: &Argument) -> Vec<String> {
    // The trusted kernel reads the original text, before it is normalised.
    let kernel_text = protocol;
    let protocol = &normal::normal(protocol);
    match argument {
        Argument::Kernel(kernel) => super::kernel::explain(kernel_text, kernel),
        Argument::Waits(waits) => super::kernel::explain_waits(kernel_text, waits),
        Argument::Ticket(ticket) => explain_ticket(protocol, ticket),
        Argument::Turns(turns) => explain_turns(protocol, turns),
        Argument::Credit(_) => vec![
            "Each wait for a counter is for certain additions. Whatever their members wait for before has a lower rank, so \
             nobody waits in a circle."
                .to_owned(),
        ],
        Argument::Cut(cut) => super::cuts::explain(protocol, cut),
        Argument::Order(order) => super::orders::explain(protocol, order),
        Argument::Separation(parts) => explain_separation(protocol, parts),
        Argument::CaseSplit(split) => explain_cases(protocol, split),
        Argument::Arriver(arriver) => explain_arriver(protocol, arriver),
        Argument::Exhaustive(searched) => vec![
            "At every combination of parameter values, every run of every input was followed step by step."
                .to_owned(),
            format!(
                "No run violates the property and none does anything undefined: {} were met.",
                searched.extent()
            ),
        ],
    }
}

/// Explains each part of a protocol by its own argument.
fn explain_separation(protocol: &Protocol, separation: &Separation) -> Vec<String> {
    let Ok(parts) = separation::parts(protocol) else {
        return Vec::new();
    };
    let mut lines = vec![
        "What CTAs share is used by one member of each. Where nobody can go on, each CTA that has not finished \
         waits with that member for the others, or by itself; neither happens."
            .to_owned(),
    ];
    for (what, part, argument) in [
        ("What CTAs share", &parts.shared, &separation.shared),
        ("What each CTA has of its own", &parts.own, &separation.own),
    ] {
        lines.push(format!("{what}, by the {}:", argument.checker()));
        lines.extend(explain(part, argument));
    }
    lines
}

/// Explains each part of the domain by its own argument.
fn explain_arriver(protocol: &Protocol, arriver: &Arriver) -> Vec<String> {
    let Ok(apart) = arriver::apart(protocol) else {
        return Vec::new();
    };
    let argument = &arriver.argument;
    let mut lines = vec![format!(
        "Whoever arrives last does what is left without waiting. So another role may do it, which waits until all have arrived; \
         by the {}:",
        argument.checker()
    )];
    lines.extend(explain(&apart, argument));
    lines
}

fn explain_cases(protocol: &Protocol, split: &CaseSplit) -> Vec<String> {
    let Ok([below, above]) = case_split::parts(protocol, split.param, split.from) else {
        return Vec::new();
    };
    let (name, from) = (&protocol.params[split.param].name, split.from);
    let mut lines = Vec::new();
    for (sign, part, argument) in [("<", &below, &split.below), (">=", &above, &split.above)] {
        lines.push(format!(
            "For {name} {sign} {from}, by the {}:",
            argument.checker()
        ));
        lines.extend(explain(part, argument));
    }
    lines
}

fn explain_ticket(protocol: &Protocol, ticket: &Ticket) -> Vec<String> {
    let Some(role) = protocol.roles.first() else {
        return Vec::new();
    };
    let index_name = |index: usize| {
        let index = role.indices.get(index);
        index.map_or("?", |i| protocol.vars[i.var.0].name.as_str())
    };
    let key = |key: &Key| {
        let direction = if key.descending { "larger" } else { "smaller" };
        format!("{direction} {} first", index_name(key.index))
    };
    let keys: Vec<String> = ticket.order.iter().map(key).collect();
    let mut lines = vec![format!(
        "Order the members of `{}`: {}.",
        role.name,
        keys.join(", then ")
    )];
    lines.push(
        "Each waits only for members before it in this order, so the first one that has not \
         finished can always go on."
            .to_owned(),
    );
    lines.push(match ticket.residency {
        Residency::LaunchOrder => {
            "They also start in this order, so whoever is waited for has a place already, however \
             few places there are."
                .to_owned()
        }
        Residency::WholeGrid => {
            "All of them are resident at once, so whoever is waited for has a place.".to_owned()
        }
    });
    for (object, counted) in &ticket.counted {
        let object = protocol.objects.get(*object).map_or("?", |o| &o.name);
        let counted: Vec<String> = counted.iter().map(|i| index_name(*i).to_owned()).collect();
        lines.push(format!(
            "Members that use the same element of `{object}` differ in {} only.",
            words::joined(&counted)
        ));
    }
    for (statement, tally) in &ticket.tallies {
        let place = protocol
            .roles
            .iter()
            .find_map(|role| find(&role.body, *statement));
        let Some(span) = place else {
            continue;
        };
        let text = quote(protocol, span);
        let line = witness::line(&protocol.source, span);
        lines.push(match tally {
            Tally::Telescope(potential) => {
                let what = match potential {
                    Potential::Value => "the value asked for",
                    Potential::ValueBelow => "the value asked for, one member earlier,",
                    Potential::ValueLessOwn => {
                        "the value asked for, less what the member itself added before,"
                    }
                };
                format!(
                    "Line {line}, `{text}`: {what} grows from one member to the next by exactly \
                     what that member adds, so the value asked for is the sum over all members \
                     before."
                )
            }
            Tally::Block(amount) => format!(
                "Line {line}, `{text}`: the members before that add to the element are the nearest \
                 ones in the order, each adds {amount}, and the value asked for is their sum."
            ),
        });
    }
    if ticket.split {
        lines.push(
            "Parameters with a listed set of values are treated one combination at a time."
                .to_owned(),
        );
    }
    lines
}

fn explain_turns(protocol: &Protocol, turns: &Turns) -> Vec<String> {
    let Some(role) = protocol.roles.first() else {
        return Vec::new();
    };
    let reading = |component: &Component| {
        let what = match component.of {
            Reading::Turn => "the turn it waits for".to_owned(),
            Reading::Element(0) => "the element".to_owned(),
            Reading::Element(at) => format!("index {at} of the element"),
            Reading::Member(at) => {
                let index = role.indices.get(at);
                index.map_or_else(|| "?".to_owned(), |i| protocol.vars[i.var.0].name.clone())
            }
        };
        let direction = if component.descending {
            ", larger is lower"
        } else {
            ""
        };
        format!("{what}{direction}")
    };
    let rank: Vec<String> = turns.rank.iter().map(reading).collect();
    let mut lines = vec![
        "At each element the members take turns 0, 1, 2, ...: no two have the same, none is \
         missing, and each adds 1 after waiting for its own."
            .to_owned(),
        format!("Rank each wait by {}.", rank.join(", then ")),
        "Whoever has the turn before is blocked only at waits that rank lower, so waiting cannot \
         go round in a circle."
            .to_owned(),
    ];
    lines.push(match turns.residency {
        Residency::LaunchOrder => {
            "Whoever has the turn before also starts earlier, so it has a place already.".to_owned()
        }
        Residency::WholeGrid => {
            "All of them are resident at once, so whoever is waited for has a place.".to_owned()
        }
    });
    lines
}

/// The place of the wait with this number.
fn find(body: &[Stmt], number: usize) -> Option<Span> {
    body.iter().find_map(|stmt| match &stmt.kind {
        StmtKind::Wait { .. } => (stmt.id.0 == number).then_some(stmt.span),
        StmtKind::If {
            then, otherwise, ..
        } => find(then, number).or_else(|| find(otherwise, number)),
        StmtKind::For { body, .. } => find(body, number),
        _ => None,
    })
}

fn quote(protocol: &Protocol, span: Span) -> &str {
    let text = protocol.source.get(span.start..span.end).unwrap_or("?");
    text.lines().next().unwrap_or("?").trim()
}
