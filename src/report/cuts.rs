//! Describes a proof by cuts.

use super::expression;
use crate::certificate::cut;
use crate::certificate::cut::artefact::Case;
use crate::certificate::cut::artefact::Cut;
use crate::certificate::cut::artefact::Form;
use crate::certificate::cut::artefact::Moment;
use crate::certificate::cut::artefact::Order;
use crate::certificate::cut::artefact::Quantity;
use crate::certificate::cut::artefact::Shows;
use crate::certificate::cut::artefact::Stop;
use crate::certificate::cut::class::Class;
use crate::certificate::cut::count::Place;
use crate::protocol::Expr;
use crate::protocol::Protocol;
use crate::protocol::Span;

/// Explains the idea, and then every generation and every cut of every case.
pub fn explain(protocol: &Protocol, cut: &Cut) -> Vec<String> {
    let mut lines = summary(protocol, cut);
    lines.extend(details(protocol, cut));
    lines
}

fn summary(protocol: &Protocol, cut: &Cut) -> Vec<String> {
    let cuts: usize = cut.cases.iter().map(|case| case.holds.len()).sum();
    let mut lines = vec![
        if cut.shows.progress() {
            "No step of one thread can undo what lets another go on, so it is enough that no choice \
             of one place per role leaves everybody blocked."
        } else {
            "No step of one thread can undo what lets another go on, so how far everybody gets while \
             one of them stands still does not depend on the schedule."
        }
        .to_owned(),
    ];
    if cuts > 0 {
        lines.push(
            "While a thread stands before a wait, nobody gets far enough to complete a further \
             phase of its barrier, so a parity bit is never mistaken for another."
                .to_owned(),
        );
    }
    match cut.order {
        Some(Order::Ascending) => lines.push(
            "Of the copies, such as CTAs, the one with the least number that is not finished can go \
             on, or a member of no copy."
                .to_owned(),
        ),
        Some(Order::Descending) => lines.push(
            "Of the copies, such as CTAs, the one with the greatest number that is not finished can \
             go on, or a member of no copy."
                .to_owned(),
        ),
        None => {}
    }
    match cut.shows {
        Shows::Nothing | Shows::Generations => {}
        Shows::Ordering => lines.push(
            "While an access is under way, nobody gets far enough to begin another one to the same \
             element, unless both read."
                .to_owned(),
        ),
        Shows::Visibility => lines.push(
            "Until a write is known to others, nobody gets far enough to begin a read of the same \
             element, and whatever lets them go on tells them of it."
                .to_owned(),
        ),
        Shows::Lifetimes => lines.push(
            "Nobody comes to data before there is room for it, and while an access lasts nobody gets \
             far enough to give its room up."
                .to_owned(),
        ),
        Shows::Exits => lines.push(
            "As long as an operation on a barrier of another CTA is to come, nobody there gets to \
             its end."
                .to_owned(),
        ),
        Shows::Claims => lines.push(
            "While a thread stands at an assertion, nobody gets far enough to make it wrong, and who \
             had to be there before has been; no operation breaks an invariant."
                .to_owned(),
        ),
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
    let Ok(view) = cut::View::new(protocol, cut.order) else {
        return lines;
    };
    let protocol = view.protocol();
    for case in &cut.cases {
        let fixed = cut::cases::fixed(&cut.split, case);
        let Ok([classes, _]) = view.classes(&fixed) else {
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
        let told = CutWriter {
            protocol,
            classes: &classes,
        };
        for hold in &case.holds {
            let place = Place::Site(hold.site);
            let Some(held) = told.at(hold.class, place) else {
                continue;
            };
            let Some(text) = told.text(hold.class, place) else {
                continue;
            };
            let name = &held.name;
            lines.push(format!(
                "  while {name} stands before `{text}` in iteration n:"
            ));
            told.stops((hold.class, place), &hold.stops, &mut lines);
            let copied = |class: &Class| match &view.ordered {
                Some(ordered) => ordered.copied[class.role] && ordered.copied[held.role],
                None => class.copies.is_some(),
            };
            told.elsewhere((hold.class, place), &hold.elsewhere, &copied, &mut lines);
        }
        for exposure in &case.exposures {
            let place = match exposure.at {
                Moment::Point(at) => Place::Point(at),
                Moment::Landing(at) => Place::Site(at),
            };
            let Some(held) = told.at(exposure.class, place) else {
                continue;
            };
            let Some(text) = told.text(exposure.class, place) else {
                continue;
            };
            let name = &held.name;
            lines.push(match exposure.at {
                Moment::Point(_) => {
                    format!("  until {name} has gone on from `{text}` in iteration n:")
                }
                Moment::Landing(_) => {
                    format!("  until `{text}` of {name} in iteration n has landed:")
                }
            });
            if matches!(exposure.at, Moment::Landing(_)) {
                let itself = told.places((exposure.class, place), exposure.class, &exposure.own);
                lines.push(format!("    {name} itself: {itself}"));
            }
            told.stops((exposure.class, place), &exposure.stops, &mut lines);
            let copied = |class: &Class| class.copies.is_some();
            let elsewhere = &exposure.elsewhere[..];
            told.elsewhere((exposure.class, place), elsewhere, &copied, &mut lines);
        }
    }
    lines
}

/// Writes cuts as sentences.
struct CutWriter<'a> {
    protocol: &'a Protocol,
    classes: &'a [Class],
}

impl CutWriter<'_> {
    /// The class at a position, if the place exists in it.
    fn at(&self, class: usize, place: Place) -> Option<&Class> {
        let class = self.classes.get(class)?;
        let there = match place {
            Place::Site(at) => at < class.flow.sites.len(),
            Place::Point(at) => at < class.flow.points.len(),
            Place::End => true,
        };
        there.then_some(class)
    }

    fn text(&self, class: usize, place: Place) -> Option<String> {
        let span = self.at(class, place)?.flow.span(place);
        Some(quote(self.protocol, span))
    }

    /// Where every class stops while a member is held.
    fn stops(&self, held: (usize, Place), stops: &[Vec<Stop>], lines: &mut Vec<String>) {
        for (position, stop) in stops.iter().enumerate() {
            let Some(other) = self.classes.get(position) else {
                continue;
            };
            if position == held.0 && other.size == Expr::Int(1) {
                continue;
            }
            let copied = other.copies.is_some();
            let here = self
                .classes
                .get(held.0)
                .is_some_and(|h| other.is_kind_of(h));
            if copied && !here {
                continue;
            }
            let name = if position == held.0 {
                format!("the others of {}", other.name)
            } else {
                other.name.clone()
            };
            let places = self.places(held, position, stop);
            lines.push(format!("    {name}: {places}"));
        }
    }

    /// Where every class stops in other copies.
    fn elsewhere(
        &self,
        held: (usize, Place),
        stops: &[Vec<Stop>],
        copied: &dyn Fn(&Class) -> bool,
        lines: &mut Vec<String>,
    ) {
        for (position, stop) in stops.iter().enumerate() {
            let Some(other) = self.classes.get(position).filter(|class| copied(class)) else {
                continue;
            };
            let places = self.places(held, position, stop);
            let which = if other.copies.is_some() {
                "other copies"
            } else {
                "later copies"
            };
            lines.push(format!("    {} of {which}: {places}", other.name));
        }
    }

    fn places(&self, held: (usize, Place), class: usize, stops: &[Stop]) -> String {
        let places: Vec<String> = stops
            .iter()
            .filter_map(|stop| {
                let text = self.text(class, Place::Site(stop.site))?;
                let number = form(self.protocol, self.classes, held, &stop.clock);
                Some(format!("`{text}` in iteration {number}"))
            })
            .collect();
        if places.is_empty() {
            return "may run to the end".to_owned();
        }
        format!("no further than {}", places.join(", or if there is none, "))
    }
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

fn form(protocol: &Protocol, classes: &[Class], held: (usize, Place), form: &Form) -> String {
    let path = classes.get(held.0).and_then(|c| c.flow.path(held.1));
    let depth = path.map_or(0, |path| path.loops.len());
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
                Quantity::Share {
                    clock: at,
                    plus,
                    by,
                    times,
                } => {
                    let sum = shifted(clock(*at), *plus);
                    let share = match by {
                        1 => format!("max({sum}, 0)"),
                        by => format!("max({sum} / {by}, 0)"),
                    };
                    match times {
                        1 => share,
                        times => format!("{times} * {share}"),
                    }
                }
                Quantity::Sum {
                    clock: at, plus, ..
                } => format!("(all of the first {})", shifted(clock(*at), *plus)),
                Quantity::Quotient {
                    clock: at,
                    plus,
                    of,
                    from,
                } => {
                    let sum = match at {
                        Some(at) => shifted(clock(*at), *plus),
                        None => plus.to_string(),
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

fn shifted(clock: String, plus: i64) -> String {
    match plus {
        0 => clock,
        plus if plus < 0 => format!("({clock} - {})", plus.unsigned_abs()),
        plus => format!("({clock} + {plus})"),
    }
}

fn quote(protocol: &Protocol, span: Span) -> String {
    let text = protocol.source.get(span.start..span.end).unwrap_or("?");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
