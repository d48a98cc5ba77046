//! Describes a proof by order: the purpose of the waits, and the ranks.

use std::collections::BTreeMap;

use crate::certificate::cut::class::Class;
use crate::certificate::cut::flow::Kind;
use crate::certificate::order;
use crate::certificate::order::artefact::About;
use crate::certificate::order::artefact::Link;
use crate::certificate::order::artefact::Order;
use crate::certificate::order::artefact::Weight;
use crate::certificate::order::rule::Rule;
use crate::protocol::Expr;
use crate::protocol::Protocol;
use crate::protocol::Stmt;
use crate::protocol::StmtId;
use crate::protocol::StmtKind;
use crate::protocol::VarId;

/// The proof, one sentence per line.
pub fn explain(protocol: &Protocol, order: &Order) -> Vec<String> {
    let protocol = &order::named(protocol);
    let rule = Rule::new(protocol, order);
    let Ok(rule) = rule else {
        return Vec::new();
    };
    let mut lines = vec![
        "Whoever waits has a greater rank than whoever is waited for, and ranks do not fall along \
         a program, so nobody waits in a circle. `#i` is how many iterations of the loop over `i` \
         the member has completed over its whole run."
            .to_owned(),
    ];
    for (class, this) in rule.classes.iter().enumerate() {
        let Some(rank) = order.ranks.get(class) else {
            continue;
        };
        let names = names(protocol, this);
        for (at, site) in this.flow.sites.iter().enumerate() {
            if matches!(site.kind, Kind::Expect { .. } | Kind::Deliver { .. }) {
                continue;
            }
            let mut sum = Vec::new();
            for (nth, weight) in rank.loops.iter().enumerate() {
                let weight = text(protocol, weight);
                if weight != "0" {
                    let name = names.get(&nth).map_or("?", String::as_str);
                    sum.push(factors(&weight, &format!("#{name}")));
                }
            }
            let own = rank.sites.get(at).map(|weight| text(protocol, weight));
            sum.extend(own.filter(|own| own != "0"));
            let sum = match sum.is_empty() {
                true => "0".to_owned(),
                false => sum.join(" + ").replace("+ -", "- "),
            };
            lines.push(format!("{}: rank {sum}.", rule.words(class, at)));
        }
    }
    for lag in &order.lags {
        let Some(ring) = rule.rings.get(lag.ring) else {
            continue;
        };
        let sites = ring.waits_of(lag.class);
        let words: Vec<String> = sites.map(|site| rule.words(lag.class, site)).collect();
        let size = match &ring.size {
            Expr::Param(id) => protocol.params[id.0].name.clone(),
            Expr::Int(value) => value.to_string(),
            _ => "the number of elements".to_owned(),
        };
        let which = match lag.rounds {
            0 => "the arrivals of the same number".to_owned(),
            1 => format!("the arrivals {size} before, and the first {size} for none"),
            more if more > 0 => format!("the arrivals {more} times {size} before"),
            more => format!("the arrivals {} times {size} later", more.unsigned_abs()),
        };
        let which = match lag.arrivals {
            0 => which,
            more => format!("{which}, less {more}"),
        };
        lines.push(format!(
            "The waits {}, numbered in their order, are for {which}.",
            words.join(", ")
        ));
    }
    for (class, site) in &order.unguarded {
        lines.push(format!(
            "{} is skipped only where it would be for nothing.",
            rule.words(*class, *site)
        ));
    }
    for end in &order.ends {
        lines.push(format!(
            "{} has nothing but waits after it, and is for the last arrivals at its element: it passes once \
             everybody has arrived there.",
            rule.words(end.class, end.site)
        ));
    }
    for team in &order.teams {
        let Some(ring) = rule.rings.get(team.ring) else {
            continue;
        };
        let mut all = team.classes.iter();
        let first = all
            .next()
            .map_or("?", |class| rule.classes[*class].name.as_str());
        let rest: Vec<&str> = all
            .map(|class| rule.classes[*class].name.as_str())
            .collect();
        lines.push(format!(
            "{first} takes turns with {} at `{}`, and all that they do there is numbered as that of one.",
            rest.join(", "),
            protocol.objects[ring.object].name,
        ));
    }
    for again in &order.again {
        lines.push(format!(
            "{} counts for one member more, and is numbered by itself.",
            rule.words(again.class, again.site)
        ));
    }
    for chain in &order.chains {
        let (class, site) = chain.about.place();
        let words = rule.words(class, site);
        let own = rule.classes[rule.member(class)].name.clone();
        let at = |link: &Link| {
            let ring = rule.rings.get(link.ring);
            ring.map_or("?", |ring| protocol.objects[ring.object].name.as_str())
        };
        let (mut sentence, links, end) = match chain.about {
            About::InTurn(..) => (
                format!("Before {words}, the generation before its own has completed: {own}"),
                &chain.links[..],
                ended(chain.made),
            ),
            About::NotBehind(..) => (
                format!("Before {words}, the previous generation has completed: {own}"),
                &chain.links[..],
                ended(chain.made),
            ),
            About::Initialised(..) => (
                format!("Before {words}, its mbarrier has been initialised: {own}"),
                &chain.links[..],
                "it has been initialised by then".to_owned(),
            ),
            About::Apart(_, _, _, by) => (
                format!(
                    "While {words} is pending, nobody registers with another count: {}",
                    rule.classes[rule.member(by)].name
                ),
                &chain.links[..],
                format!("{own} has gone on by then"),
            ),
            About::Handed(..) => (
                format!("After {words}, all earlier turns of its team are over: {own}"),
                &chain.links[..],
                "that member had the previous turn, and by induction the same holds for all earlier turns"
                    .to_owned(),
            ),
            About::NotLapped(..) => {
                let Some((first, rest)) = chain.links.split_first() else {
                    continue;
                };
                (
                    format!(
                        "The generation after that of {words} needs an arrival of {}, who",
                        name(&rule, first)
                    ),
                    rest,
                    format!("{own} has gone on by then"),
                )
            }
        };
        let steps = links
            .iter()
            .map(|link| format!(" has waited at `{}` for {}", at(link), name(&rule, link)));
        sentence.push_str(&steps.collect::<Vec<_>>().join(", who"));
        lines.push(format!("{sentence}; {end}."));
    }
    lines
}

/// The end of a chain about an earlier generation.
fn ended(made: bool) -> String {
    let what = match made {
        true => "the member named last has made its arrivals of that generation by then",
        false => "so the member named last has waited for that generation",
    };
    what.to_owned()
}

/// The names of a class's loops' variables, by position.
fn names(protocol: &Protocol, class: &Class) -> BTreeMap<usize, String> {
    let mut names = BTreeMap::new();
    let body = &protocol.roles[class.role].body;
    for site in &class.flow.sites {
        let vars = loops(body, site.stmt).unwrap_or_default();
        // An unrolled loop has no variable.
        if vars.len() == site.path.loops.len() {
            let vars = vars.iter().map(|var| protocol.vars[var.0].name.clone());
            names.extend(site.path.loops.iter().copied().zip(vars));
        }
    }
    names
}

fn name(rule: &Rule<'_>, link: &Link) -> String {
    let class = rule.classes.get(rule.member(link.class));
    class.map_or_else(|| "?".to_owned(), |class| class.name.clone())
}

/// The variables of the loops around a statement, outermost first.
fn loops(body: &[Stmt], wanted: StmtId) -> Option<Vec<VarId>> {
    body.iter().find_map(|stmt| {
        if stmt.id == wanted {
            return Some(Vec::new());
        }
        match &stmt.kind {
            StmtKind::If {
                then, otherwise, ..
            } => loops(then, wanted).or_else(|| loops(otherwise, wanted)),
            StmtKind::For { var, body, .. } => {
                let mut inner = loops(body, wanted)?;
                inner.insert(0, *var);
                Some(inner)
            }
            _ => None,
        }
    })
}

fn factors(weight: &str, clock: &str) -> String {
    match weight {
        "1" => clock.to_owned(),
        weight if weight.contains(' ') && (weight.contains(" + ") || weight.contains(" - ")) => {
            format!("({weight}) * {clock}")
        }
        weight => format!("{weight} * {clock}"),
    }
}

fn text(protocol: &Protocol, weight: &Weight) -> String {
    let product = |product: &crate::certificate::order::artefact::Product| {
        let names = product
            .of
            .iter()
            .map(|at| protocol.params[*at].name.clone());
        let mut factors: Vec<String> = names.collect();
        match (product.times, factors.is_empty()) {
            (1, false) => {}
            (times, _) => factors.insert(0, times.to_string()),
        }
        factors.join(" * ")
    };
    match weight.0.len() {
        0 => "0".to_owned(),
        _ => {
            let all: Vec<String> = weight.0.iter().map(product).collect();
            all.join(" + ").replace("+ -", "- ")
        }
    }
}
