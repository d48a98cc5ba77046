//! Describes a proof that the trusted kernel has checked.

use crate::protocol::Protocol;
use crate::protocol::Resident;
use crate::protocol::Role;
use crate::protocol::Span;
use crate::trusted::certificate::Certificate;
use crate::trusted::certificate::Counter;
use crate::trusted::certificate::Link;
use crate::trusted::certificate::Name;
use crate::trusted::certificate::Sum;
use crate::trusted::events::certificate::Events;
use crate::trusted::events::certificate::Numbered;
use crate::trusted::events::program::Event;
use crate::trusted::events::program::program;
use crate::trusted::rings::At;
use crate::trusted::system::Doing;
use crate::trusted::system::Node;
use crate::trusted::system::System;

/// An argument about turns and supplies in words, one sentence per line.
pub fn explain_waits(protocol: &Protocol, events: &Events) -> Vec<String> {
    let mut lines = vec![
        "A member waits only for members whose own waits have lower ranks, so no cycle of waits is possible.".to_owned(),
    ];
    for turns in &events.turns {
        let (Some(object), Some(role)) = (
            protocol.objects.get(turns.object),
            protocol.roles.get(turns.role),
        ) else {
            continue;
        };
        let order = turns.counted.iter().filter_map(|key| {
            let index = role.indices.get(key.index)?;
            let name = &protocol.vars.get(index.var.0)?.name;
            let first = if key.descending { "larger" } else { "smaller" };
            Some(format!("{first} {name} first"))
        });
        let order = Vec::from_iter(order).join(", then ");
        let why = match turns.numbered {
            Numbered::Recurrence(..) => {
                format!(
                    "in their order, {order}, the turn grows by one with each member that comes"
                )
            }
            Numbered::Block => {
                format!("in their order, {order}, those who come stand next to each other")
            }
            Numbered::Everybody => "all come, and no two have the same turn".to_owned(),
        };
        lines.push(format!(
            "At each element of `{}` members of `{}` take turns without a gap: {why}.",
            object.name, role.name
        ));
    }
    if events.waits.iter().any(|wait| !wait.supplies.is_empty()) {
        lines.push("A wait without turns is for additions that nobody takes back.".to_owned());
    }
    let places = |(role, whole): (&Role, &bool)| {
        let launch = role.launch.as_ref()?;
        match (&launch.resident, whole) {
            (Resident::All, _) | (_, true) => Some(format!(
                "All members of `{}` have a place at once.",
                role.name
            )),
            (Resident::AtMost(_), false) => Some(format!(
                "A member of `{}` waits only for members that start before it, so however few places there are, they have one.",
                role.name
            )),
        }
    };
    let roles = protocol.roles.iter().zip(&events.whole);
    let waiting = |role: &Role| program(role).is_ok_and(|p| p.events.iter().any(Event::waits));
    lines.extend(roles.filter(|(role, _)| waiting(role)).filter_map(places));
    lines
}

/// The argument in words, one sentence per line.
pub fn explain(protocol: &Protocol, certificate: &Certificate) -> Vec<String> {
    let Ok(system) = System::new(protocol, certificate) else {
        return Vec::new();
    };
    let words = Words {
        protocol,
        system: &system,
    };
    let mut lines = vec![
        "Whoever waits has a greater rank than whoever has not made the arrival that it waits for, so nobody waits \
         in a circle. `#i` is how many iterations of the loop over `i` the member has completed over its whole run."
            .to_owned(),
    ];
    for (class, local) in system.classes.iter().zip(&certificate.classes) {
        let mut loops = vec![String::new(); class.loops];
        let mut waits = Vec::new();
        words.collect(&class.body, &mut loops, &mut waits);
        for ((span, _), rank) in waits.iter().zip(&local.ranks) {
            let rank = words.sum(rank, &loops);
            lines.push(format!(
                "{} of {}: rank {rank}.",
                words.quote(*span),
                class.name
            ));
        }
        for behind in &local.behind {
            let less = words.sum(&behind.less, &loops);
            let (waits, arrives) = (words.ring(behind.waits), words.ring(behind.arrives));
            lines.push(match (behind.per_wait, behind.per_arrival) {
                (1, 1) => format!(
                    "{} has passed at least as many waits at {waits} as it has made arrivals at {arrives}, less {less}.",
                    class.name
                ),
                (per_wait, per_arrival) => format!(
                    "Of {}, {per_wait} times the waits passed at {waits} are at least {per_arrival} times the arrivals made at {arrives}, less {less}.",
                    class.name
                ),
            });
        }
        for holds in &local.holds {
            let most = words.sum(&holds.most, &loops);
            let pool = words.ring(holds.ring);
            lines.push(format!(
                "{} never holds more than {most} of {pool}.",
                class.name
            ));
        }
    }
    for weight in &certificate.weights {
        let amounts = weight.amounts.iter().map(|sum| words.sum(sum, &[]));
        lines.push(format!(
            "To each generation of {}, {} arrives with {}.",
            words.ring(weight.ring),
            words.class(weight.class),
            Vec::from_iter(amounts).join(", then ")
        ));
    }
    for lag in &certificate.lags {
        lines.push(format!(
            "{} waits at {} for what arrived a round before.",
            words.class(lag.class),
            words.ring(lag.ring)
        ));
    }
    for reason in &certificate.in_turn {
        lines.push(format!(
            "{} arrives at {} only after the previous generation has completed: {}.",
            words.class(reason.class),
            words.ring(reason.ring),
            match reason.chain.as_slice() {
                [] => "nobody else arrives there".to_owned(),
                chain => words.chain(chain),
            }
        ));
    }
    for reason in &certificate.ready {
        lines.push(format!(
            "{} uses {} only when it has been initialised: {}.",
            words.class(reason.class),
            words.ring(reason.ring),
            match reason.chain.as_slice() {
                [] => "it has done that itself".to_owned(),
                chain => words.chain(chain),
            }
        ));
    }
    for reason in &certificate.not_lapped {
        let why = match reason.chain.as_slice() {
            [] if reason.by != reason.class => "once at each element".to_owned(),
            [] => "it has passed its own wait".to_owned(),
            chain => words.chain(chain),
        };
        lines.push(format!(
            "{} is never lapped at {}, since {} arrives there: {why}.",
            words.class(reason.class),
            words.ring(reason.ring),
            words.class(reason.by)
        ));
    }
    lines
}

struct Words<'a> {
    protocol: &'a Protocol,
    system: &'a System<'a>,
}

impl Words<'_> {
    fn quote(&self, span: Span) -> String {
        let text = self.protocol.source.get(span.start..span.end).unwrap_or("");
        let words: Vec<&str> = text.split_whitespace().collect();
        format!("`{}`", words.join(" "))
    }

    fn class(&self, class: usize) -> &str {
        self.system
            .classes
            .get(class)
            .map_or("?", |class| &class.name)
    }

    fn ring(&self, ring: usize) -> String {
        let Some(ring) = self.system.rings.get(ring) else {
            return "?".to_owned();
        };
        let mut name = self.protocol.objects[ring.object].name.clone();
        for at in &ring.at {
            match at {
                At::Number(at) => name.push_str(&format!("[{at}]")),
                At::Own | At::Moves => {}
            }
        }
        format!("`{name}`")
    }

    fn chain(&self, chain: &[Link]) -> String {
        let link = |link: &Link| {
            format!(
                "has waited at {} for {}",
                self.ring(link.ring),
                self.class(link.class)
            )
        };
        let links: Vec<String> = chain.iter().map(link).collect();
        format!("it {}", links.join(", who "))
    }

    /// Collects the names of loop variables, and the places of waits.
    fn collect(&self, body: &[Node], loops: &mut [String], waits: &mut Vec<(Span, usize)>) {
        for node in body {
            match node {
                Node::Assign(..) => {}
                Node::Branch(_, then, otherwise, _) => {
                    self.collect(then, loops, waits);
                    self.collect(otherwise, loops, waits);
                }
                Node::Loop(this) => {
                    loops[this.number].clone_from(&self.protocol.vars[this.var.0].name);
                    self.collect(&this.body, loops, waits);
                }
                Node::Act(act) => {
                    if let Doing::Parity(..) | Doing::Own(_) | Doing::Value(..) = act.doing {
                        waits.push((act.span, act.ring));
                    }
                }
            }
        }
    }

    fn sum(&self, sum: &Sum, loops: &[String]) -> String {
        let name = |name: &Name| match name {
            Name::Param(at) => self
                .protocol
                .params
                .get(*at)
                .map_or("?", |p| &p.name)
                .to_owned(),
            Name::Counter(Counter::Iterations(number)) => {
                format!("#{}", loops.get(*number).map_or("?", String::as_str))
            }
            Name::Var(_) | Name::Done(_) | Name::Counter(_) => "?".to_owned(),
        };
        let mut text = String::new();
        for product in sum.0.iter().filter(|product| product.times != 0) {
            let mut factors: Vec<String> = product.of.iter().map(name).collect();
            let times = product.times.unsigned_abs();
            if times != 1 || factors.is_empty() {
                factors.insert(0, times.to_string());
            }
            text.push_str(match (text.is_empty(), product.times < 0) {
                (true, true) => "-",
                (true, false) => "",
                (false, true) => " - ",
                (false, false) => " + ",
            });
            text.push_str(&factors.join(" * "));
        }
        if text.is_empty() {
            "0".to_owned()
        } else {
            text
        }
    }
}
