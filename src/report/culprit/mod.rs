//! Finds the cause of a hang, and describes it in one sentence.
//!
//! A stuck state is full of members that wait for each other. Usually one of them cannot be released by any other: an
//! `if` keeps a needed member away, nobody delivers the missing bytes, or the phase has already passed. `obstacle`
//! finds, for each wait, why it cannot pass. It uses the programs, the program counters, and which arrivals and bytes
//! came in which phase (`history`). `chain` follows the waits up to that member. `absent` finds the members whose
//! arrival is missing, and what keeps them away. `sentence` describes the result in words. None of this depends on
//! known patterns of protocols.

mod absent;
mod chain;
mod history;
mod linked;
mod obstacle;
mod passed;
mod phrase;
mod sentence;
mod short;
mod straight;

use serde::Serialize;

use crate::protocol::Protocol;
use crate::semantics::input::Input;
use crate::semantics::instance::Instance;
use crate::semantics::instance::Op;
use crate::semantics::step;
use crate::semantics::step::Action;
use crate::semantics::step::CellState;
use crate::semantics::step::State;

pub use obstacle::position;
pub use straight::Turn;
pub use straight::straight;

use super::cited::Sentence;

use absent::Absent;
use absent::Programs;
use absent::Reason;
use chain::Chain;
use obstacle::Obstacle;
use obstacle::Obstacles;
use obstacle::Vain;
use sentence::SentenceWriter;

/// The kind of cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// There are fewer arrivals, additions or releases than a wait needs.
    Missing,
    /// A barrier completed the phase that is waited for and the next one, too.
    Lapped,
    /// Bytes are expected that nobody delivers.
    BytesMissing,
    /// More bytes were delivered than expected.
    BytesSurplus,
    /// A semaphore went past the exact value that is waited for.
    Overtaken,
    /// A wait is on a barrier that nobody initialises.
    Uninitialized,
    /// The member that others wait for cannot start, because the waiting members hold every place.
    NoPlace,
    /// Members wait for each other in a cycle.
    Circular,
}

impl Cause {
    /// All of them.
    pub const ALL: [Cause; 8] = [
        Cause::Missing,
        Cause::Lapped,
        Cause::BytesMissing,
        Cause::BytesSurplus,
        Cause::Overtaken,
        Cause::Uninitialized,
        Cause::NoPlace,
        Cause::Circular,
    ];
}

/// The cause of a hang.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Culprit {
    /// The kind.
    pub cause: Cause,
    /// The cause in one sentence, without a full stop.
    pub sentence: Sentence,
    /// The line of the wait, from 1.
    pub line: Option<usize>,
    /// The links of the wait-for chain, up to the cause or around a cycle.
    pub chain: Vec<Sentence>,
    /// For each member that has started and waits, in order: why it waits in vain.
    pub why: Vec<Sentence>,
    /// Who waits for whom. Contains the members that have started and wait, and those of the chain that cannot start.
    pub arrows: Vec<Arrow>,
}

/// A member that does not go on, and the members that could release it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrow {
    /// The member.
    pub member: usize,
    /// The operation that it waits at; `None` if it has not started.
    pub op: Option<Op>,
    /// The members that could release it; empty if there are none.
    pub whom: Vec<usize>,
    /// Whether it is a part of the cycle that the chain leads to.
    pub circle: bool,
}

/// A state, and the run that led to it.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// The protocol.
    pub protocol: &'a Protocol,
    /// The protocol at an input.
    pub instance: &'a Instance,
    /// The input, if it is known.
    pub input: Option<&'a Input>,
    /// The run.
    pub schedule: &'a [Action],
    /// The state it ends in.
    pub state: &'a State,
}

/// Finds the cause of a hang. `None` if some member can still go on, or if no member waits. Programs must have no
/// branches ([`straight`]). `turns` are the results of atomic operations after which members no longer reach some
/// cells.
pub fn find(scene: Scene<'_>, turns: &[Vec<Turn>]) -> Option<Culprit> {
    let Scene {
        instance, state, ..
    } = scene;
    if !step::is_stuck(instance, state) {
        return None;
    }
    let waiting: Vec<usize> = step::blocked(instance, state)
        .into_iter()
        .map(|b| b.member)
        .collect();
    let obstacles = Obstacles::new(instance, state, scene.schedule);
    let chain = chain::from(&obstacles, &waiting)?;
    let programs = Programs::new(scene.protocol, instance, scene.input, turns);
    let writer = SentenceWriter {
        source: &scene.protocol.source,
        obstacles: &obstacles,
        programs: &programs,
    };
    let (cause, sentence, wait) = match chain.back_to {
        None => {
            let (member, obstacle) = chain.links.last()?;
            end(&writer, *member, obstacle)
        }
        Some(back) => around(&writer, chain.links.get(back..)?),
    };
    let line = wait.map(|op| writer.line(&op));
    let why = waiting.iter().map(|member| {
        let obstacle = obstacles.of(*member);
        obstacle.map_or_else(Sentence::default, |obstacle| writer.why(*member, &obstacle))
    });
    Some(Culprit {
        cause,
        sentence,
        line,
        chain: links(&writer, &chain),
        why: why.collect(),
        arrows: arrows(&obstacles, &waiting, &chain),
    })
}

/// Which member waits for which.
fn arrows(obstacles: &Obstacles<'_>, waiting: &[usize], chain: &Chain) -> Vec<Arrow> {
    let circle = chain.back_to.and_then(|back| chain.links.get(back..));
    let circle = circle.unwrap_or_default();
    let mut members: Vec<usize> = chain.links.iter().map(|(member, _)| *member).collect();
    let rest = waiting.iter().take(obstacle::LISTED);
    members.extend(rest.filter(|member| chain.links.iter().all(|(known, _)| known != *member)));
    let arrows = members.into_iter().filter_map(|member| {
        let obstacle = obstacles.of(member)?;
        Some(Arrow {
            member,
            op: match &obstacle {
                Obstacle::Wait(op, _) => Some(*op),
                Obstacle::Place(_) | Obstacle::Turn(_) => None,
            },
            whom: chain::awaited(&obstacle).to_vec(),
            circle: circle.iter().any(|(known, _)| *known == member),
        })
    });
    arrows.collect()
}

/// The cause at the end of a chain.
fn end(
    writer: &SentenceWriter<'_>,
    member: usize,
    obstacle: &Obstacle,
) -> (Cause, Sentence, Option<Op>) {
    let Obstacle::Wait(op, vain) = obstacle else {
        let sentence = writer.unstarted(member, obstacle);
        return (Cause::NoPlace, sentence, None);
    };
    let (cause, sentence) = match vain {
        Vain::Passed(additions) => (Cause::Overtaken, writer.passed(member, op, additions)),
        Vain::Lapped(lapped) => (Cause::Lapped, writer.lapped(member, op, *lapped)),
        Vain::Bytes(missing) => (Cause::BytesMissing, writer.bytes(member, op, *missing)),
        Vain::Surplus(surplus) => (Cause::BytesSurplus, writer.surplus(member, op, *surplus)),
        Vain::Short | Vain::Others(_) => {
            let absent = writer.absent(member, op);
            let cause = match writer.cell(op) {
                CellState::Uninitialized => Cause::Uninitialized,
                _ => Cause::Missing,
            };
            (cause, writer.short(member, op, &absent))
        }
    };
    (cause, sentence, Some(*op))
}

/// The cause if members wait for each other in a cycle: one of them waits for a member that never arrives, a grid has
/// no free place, or the cycle itself is the cause.
fn around(
    writer: &SentenceWriter<'_>,
    links: &[(usize, Obstacle)],
) -> (Cause, Sentence, Option<Op>) {
    let waits = || {
        links
            .iter()
            .filter_map(|(member, obstacle)| match obstacle {
                Obstacle::Wait(op, _) => Some((*member, op)),
                Obstacle::Place(_) | Obstacle::Turn(_) => None,
            })
    };
    for (member, op) in waits() {
        if let Some(absent) = writer.suspects(member, op) {
            return (Cause::Missing, writer.short(member, op, &absent), Some(*op));
        }
    }
    for (member, op) in waits() {
        let seldom = writer.seldom(member, op);
        if !seldom.is_empty() {
            return (Cause::Missing, writer.short(member, op, &seldom), Some(*op));
        }
    }
    for (member, op) in waits() {
        if let Some(sentence) = writer.overcounted(member, op) {
            return (Cause::Missing, sentence, Some(*op));
        }
    }
    let first = waits().next().map(|(_, op)| *op);
    let place = links
        .iter()
        .position(|(_, obstacle)| matches!(obstacle, Obstacle::Place(_)));
    match place {
        Some(at) => (Cause::NoPlace, writer.no_place(links, at), first),
        None => (Cause::Circular, writer.circle(links), first),
    }
}

fn links(writer: &SentenceWriter<'_>, chain: &Chain) -> Vec<Sentence> {
    let names = |at: usize| chain.links.get(at).map(|(member, _)| *member);
    let links = chain.links.iter().enumerate();
    let links = links.map(|(at, (member, obstacle))| {
        let next = names(at + 1).or_else(|| chain.back_to.and_then(names));
        writer.link(*member, obstacle, next)
    });
    links.collect()
}
