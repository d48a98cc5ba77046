//! A stuck state, explained: who waits for what, why in vain, and how it came to that.

use serde::Serialize;

use crate::protocol::Protocol;
use crate::semantics::instance::Instance;
use crate::semantics::step;
use crate::semantics::step::State;
use crate::witness;
use crate::witness::Replayed;

use super::chain;
use super::elements;
use super::elements::Element;
use super::hazard;
use super::obstacle::Obstacle;
use super::obstacle::Obstacles;
use super::trace;
use super::words;

/// A stuck state, explained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stuck {
    /// Whether nobody can go on.
    #[serde(skip)]
    pub is_final: bool,
    /// One sentence about the wait that explains the others best.
    pub sentence: String,
    /// The line of that wait, from 1.
    pub line: Option<usize>,
    /// Every member that started and waits.
    pub blocked: Vec<Blocked>,
    /// The names of the members that never start.
    pub unstarted: Vec<String>,
    /// Who waits for whom, one sentence each, up to the reason or around in a cycle.
    pub chain: Vec<String>,
    /// Every element that is used.
    pub elements: Vec<Element>,
}

/// A member that waits in vain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Blocked {
    /// Its name.
    pub member: String,
    /// The line of the text at which it waits, from 1.
    pub line: usize,
    /// The element it waits on.
    pub element: String,
    /// What it waits for there.
    pub wants: String,
    /// What there is instead.
    pub value: String,
    /// Why that does not change.
    pub why: String,
}

/// Explains a state in which nobody can go on. In any other state it only lists who is blocked:
/// there is no reason yet.
pub fn explain(protocol: &Protocol, instance: &Instance, state: &State) -> Stuck {
    let is_stuck = step::is_stuck(instance, state);
    let obstacles = Obstacles::new(instance, state);
    let waiting = step::blocked(instance, state);
    let chain = waiting
        .first()
        .filter(|_| is_stuck)
        .map(|first| chain::from(&obstacles, first.member));
    let root = chain.as_ref().and_then(chain::Chain::root);
    let line = root.and_then(|(_, obstacle)| match obstacle {
        Obstacle::Wait(op, _) => Some(trace::line(&protocol.source, instance, op)),
        Obstacle::Place(_) | Obstacle::Turn(_) => None,
    });
    let blocked = waiting.iter().filter_map(|b| {
        let obstacle = obstacles.of(b.member)?;
        Some(Blocked {
            member: instance.member_name(b.member),
            line: trace::line(&protocol.source, instance, &b.op),
            element: instance.cell_name(b.op.cell),
            wants: witness::wanted(b.op.kind),
            value: witness::shown(instance, &b.cell),
            why: if is_stuck {
                words::why(&obstacles, b.member, &obstacle)
            } else {
                "somebody can still go on".to_owned()
            },
        })
    });
    let unstarted = step::unstarted(state).into_iter();
    Stuck {
        is_final: is_stuck,
        sentence: root.map_or_else(
            || "somebody can still go on".to_owned(),
            |(member, obstacle)| words::sentence(&obstacles, *member, obstacle),
        ),
        line,
        blocked: blocked.collect(),
        unstarted: unstarted.map(|m| instance.member_name(m)).collect(),
        chain: chain.map_or_else(Vec::new, |chain| sentences(&obstacles, &chain)),
        elements: elements::elements(instance, state),
    }
}

/// Explains what a replayed counterexample shows: the stuck state it ends in, or the hazard.
pub fn shown(protocol: &Protocol, replayed: &Replayed) -> Stuck {
    let Some((found, data)) = &replayed.hazard else {
        return explain(protocol, &replayed.instance, &replayed.state);
    };
    let source = &protocol.source;
    let told = hazard::tell(
        source,
        &replayed.instance,
        data.as_ref(),
        &replayed.state,
        found,
    );
    Stuck {
        is_final: false,
        sentence: told.sentence,
        line: told.line,
        blocked: Vec::new(),
        unstarted: Vec::new(),
        chain: Vec::new(),
        elements: Vec::new(),
    }
}

fn sentences(obstacles: &Obstacles<'_>, chain: &chain::Chain) -> Vec<String> {
    let links = chain.links.iter();
    let mut all: Vec<String> = links
        .map(|(member, obstacle)| words::sentence(obstacles, *member, obstacle))
        .collect();
    let back = chain.back_to.and_then(|back| chain.links.get(back));
    if let Some((member, _)) = back {
        let name = obstacles.instance().member_name(*member);
        all.push(format!("which closes a cycle at {name}"));
    }
    all
}
