//! The transition system of groups that share barriers.
//!
//! **State.** `base` is a round such that no member is in an earlier one. For each group, location and lag, the state
//! contains the number of members there; a member at lag `l` is in round `base + l`. For each element at distance `j`
//! from the base, it contains two numbers: its completed phases, `ahead`, counted from `(base + j) div size`; and the
//! arrivals of its open phase. Only `base` grows with the number of rounds.
//!
//! **Locations.** These are: the operations before the loop (round 0, lag 0); those of a round; all operations after
//! the loop except the first; and the end. The first location of a round also serves as the first one after the loop:
//! a member there whose round is the number of rounds has left the loop. It has finished if nothing follows the loop.
//!
//! **Steps.** See `steps`.
//!
//! **Semaphores** are single elements. Their `ahead` is the value minus the initial value, and minus what all members
//! together add in each round below the base. An awaited value grows by the same amount per round.

use super::fold;
use super::fold::Known;
use super::shape::Family;
use super::shape::Group;
use super::shape::Op;
use super::shape::OpKind;
use super::shape::Periodic;
use super::state::Layout;
use super::state::State;
use super::walk;
use crate::certificate::exact;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;
use crate::certificate::translate::Translator;
use crate::protocol::Initial;
use crate::protocol::ObjectKind;
use crate::protocol::ParamId;
use crate::protocol::Protocol;

/// Groups that share barriers, at fixed values of some parameters and with a window.
pub struct System<'p> {
    /// The protocol's expressions as terms.
    pub terms: Translator<'p>,
    /// The groups.
    pub groups: Vec<Group>,
    /// The barriers; operations refer to them by position.
    pub families: Vec<Family>,
    /// The numbers of locations and elements.
    pub layout: Layout,
    /// The conditions that the parameters satisfy.
    pub facts: Vec<Term>,
    /// How many rounds there are.
    pub rounds: Term,
    pub(super) sizes: Vec<Term>,
    pub(super) resources: Vec<Resource>,
}

/// The kind of the elements of a family.
pub(super) enum Resource {
    Mbarrier {
        /// Arrivals that complete a phase.
        expected: Term,
    },
    Semaphore {
        /// The value at the start.
        initial: Term,
        /// The amount that all members together add in a round. `ahead` is the value minus the initial value, and
        /// minus this amount for each round below the base.
        growth: Term,
    },
}

impl<'p> System<'p> {
    /// Builds the system of some groups.
    ///
    /// # Errors
    ///
    /// Refuses groups that do not go through the same rounds, and elements that are not mbarriers.
    pub fn new(
        protocol: &'p Protocol,
        fixed: &[(ParamId, i64)],
        groups: Vec<Group>,
        families: Vec<Family>,
        window: usize,
    ) -> Result<System<'p>, Unsupported> {
        let mut terms = Translator::new(protocol, fixed);
        let mut facts = terms.domain();
        for assumption in &protocol.assumptions {
            facts.push(terms.expr(&assumption.condition, &Env::new())?);
        }
        let mut sizes = Vec::new();
        for group in &groups {
            sizes.push(terms.expr(&group.part.size, &Env::new())?);
        }
        let mut resources = Vec::new();
        for (nth, family) in families.iter().enumerate() {
            resources.push(resource(protocol, &mut terms, &groups, nth, family)?);
        }
        let looping = groups.iter().find(|g| !g.round.is_empty());
        let rounds = match looping.and_then(|g| g.program.rounds.as_ref()) {
            Some(rounds) => terms.expr(&walk::length(rounds), &Env::new())?,
            None => term::int(0),
        };
        for group in &groups {
            if group.round.is_empty() && !group.after.is_empty() {
                return Err(Unsupported::at(
                    group.after[0].span,
                    "operations after a loop that has none",
                ));
            }
        }
        let layout = Layout {
            window,
            groups: groups
                .iter()
                .map(|g| [g.before.len(), g.round.len(), g.after.len()])
                .collect(),
            families: families.iter().map(|f| f.size as usize).collect(),
        };
        Ok(System {
            terms,
            groups,
            families,
            layout,
            facts,
            rounds,
            sizes,
            resources,
        })
    }

    /// A state with a new name for each component.
    pub fn state(&mut self, suffix: &str) -> State {
        let layout = self.layout.clone();
        let mut constant = |name: String| self.terms.constant(&format!("{name}{suffix}"));
        let base = constant("base".to_owned());
        let mut counts = Vec::new();
        for group in 0..layout.groups.len() {
            let mut locations = Vec::new();
            for location in 0..layout.locations(group) {
                let lags = 0..=layout.lags(group, location);
                let lags = lags.map(|lag| constant(format!("at_{group}_{location}_{lag}")));
                locations.push(lags.collect());
            }
            counts.push(locations);
        }
        let mut per_element = |name: &str| -> Vec<Vec<Term>> {
            let families = layout.families.iter().enumerate();
            families
                .map(|(family, size)| {
                    (0..*size)
                        .map(|j| constant(format!("{name}_{family}_{j}")))
                        .collect()
                })
                .collect()
        };
        let ahead = per_element("ahead");
        let pending = per_element("pending");
        State {
            base,
            counts,
            ahead,
            pending,
        }
    }

    /// The initial state.
    pub fn start(&self) -> State {
        let zero = || term::int(0);
        let layout = &self.layout;
        let mut counts: Vec<Vec<Vec<Term>>> = (0..layout.groups.len())
            .map(|group| {
                let lags = |location| vec![zero(); exact::next(layout.lags(group, location))];
                (0..layout.locations(group)).map(lags).collect()
            })
            .collect();
        for (locations, size) in counts.iter_mut().zip(&self.sizes) {
            locations[0][0] = size.clone();
        }
        let elements: Vec<Vec<Term>> = layout.families.iter().map(|n| vec![zero(); *n]).collect();
        State {
            base: zero(),
            counts,
            ahead: elements.clone(),
            pending: elements,
        }
    }

    /// The values of names in a round.
    pub fn environment(&self, group: usize, round: &Term) -> Env {
        let mut env = Env::new();
        let group = &self.groups[group];
        if let Some(rounds) = &group.program.rounds {
            let value = term::sum([term::int(rounds.lo), round.clone()]);
            env.insert(rounds.var, value);
            for (var, form) in &group.carried {
                env.insert(*var, periodic(form, round));
            }
        }
        env
    }

    /// The condition under which an operation is executed in a round.
    pub(super) fn condition(
        &mut self,
        group: usize,
        op: &Op,
        round: &Term,
        before: bool,
    ) -> Result<Term, Unsupported> {
        let env = if before {
            Env::new()
        } else {
            self.environment(group, round)
        };
        let parts = op.given.iter().map(|part| self.terms.expr(part, &env));
        Ok(term::and(parts.collect::<Result<Vec<_>, _>>()?))
    }
}

/// The amount that all members together add to a semaphore in a round.
///
/// # Errors
///
/// An amount that has no term.
pub fn growth(
    terms: &mut Translator<'_>,
    groups: &[Group],
    family: usize,
) -> Result<Term, Unsupported> {
    let mut added = Vec::new();
    for group in groups {
        for op in group.round.iter().filter(|op| op.family == family) {
            if let OpKind::Add(amount) = &op.kind {
                let amount = terms.expr(amount, &Env::new())?;
                let size = terms.expr(&group.part.size, &Env::new())?;
                added.push(if amount == term::int(1) {
                    size
                } else if size == term::int(1) {
                    amount
                } else {
                    term::apply("*", &[amount, size])
                });
            }
        }
    }
    Ok(term::sum(added))
}

fn resource(
    protocol: &Protocol,
    terms: &mut Translator<'_>,
    groups: &[Group],
    nth: usize,
    family: &Family,
) -> Result<Resource, Unsupported> {
    let object = &protocol.objects[family.object.0];
    let known = Known {
        params: groups
            .first()
            .map(|group| group.part.known.params.clone())
            .unwrap_or_default(),
        ..Known::default()
    };
    match &object.kind {
        ObjectKind::Mbarrier {
            explicit_init: true,
            ..
        } => Err(Unsupported::at(object.span, "an explicit initialisation")),
        ObjectKind::Mbarrier { arrivals, .. } => Ok(Resource::Mbarrier {
            expected: terms.expr(&fold::fold(arrivals, &known), &Env::new())?,
        }),
        ObjectKind::Semaphore(Initial::Value(value)) if family.size == 1 => {
            Ok(Resource::Semaphore {
                initial: terms.expr(&fold::fold(value, &known), &Env::new())?,
                growth: growth(terms, groups, nth)?,
            })
        }
        ObjectKind::Semaphore(Initial::Value(_)) => Err(Unsupported::at(
            object.span,
            "semaphores that are used as a ring",
        )),
        ObjectKind::Semaphore(Initial::Any) => Err(Unsupported::at(
            object.span,
            "a semaphore with an unknown initial value",
        )),
        ObjectKind::Named => Err(Unsupported::at(object.span, "a named barrier")),
        ObjectKind::Barrier { .. } => Err(Unsupported::at(object.span, "a split-phase barrier")),
        ObjectKind::Pool { .. } => Err(Unsupported::at(object.span, "a pool")),
    }
}

/// The value of a periodic function.
pub fn periodic(form: &Periodic, round: &Term) -> Term {
    let period = form.table.len() as i64;
    let position = term::apply("mod", &[round.clone(), term::int(period)]);
    let mut value = term::int(form.table.last().copied().unwrap_or(0));
    for (at, entry) in form.table.iter().enumerate().rev().skip(1) {
        let here = term::eq(&position, &term::int(at as i64));
        value = term::ite(&here, &term::int(*entry), &value);
    }
    if form.growth == 0 {
        return value;
    }
    let periods = term::apply("div", &[round.clone(), term::int(period)]);
    let grown = term::apply("*", &[term::int(form.growth), periods]);
    term::sum([value, grown])
}

/// The round that is this much above the base.
pub(super) fn later(base: &Term, lag: usize) -> Term {
    term::sum([base.clone(), term::int(lag as i64)])
}
