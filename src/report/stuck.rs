//! Explains a stuck state: which member waits for what, why that does not happen, and what led to it.

use serde::Serialize;

use crate::protocol::Protocol;
use crate::semantics::step;
use crate::witness;
use crate::witness::Replayed;

use super::cited::Cited;
use super::cited::Sentence;
use super::culprit;
use super::culprit::Cause;
use super::culprit::Culprit;
use super::culprit::Scene;
use super::elements;
use super::elements::Element;
use super::graph;
use super::graph::Node;
use super::hazard;
use super::trace;
use super::words;

/// A stuck state, explained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stuck {
    /// Whether no step is possible.
    #[serde(skip)]
    pub is_final: bool,
    /// One sentence about the cause.
    pub sentence: String,
    /// The kind of the cause. Absent for a hazard, and if a step is possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The line of the wait in that sentence, from 1.
    pub line: Option<usize>,
    /// Every member that started and waits.
    pub blocked: Vec<Blocked>,
    /// The names of the members that never start.
    pub unstarted: Vec<String>,
    /// The wait-for chain, one sentence for each edge. It ends at the cause or in a cycle.
    pub chain: Vec<String>,
    /// The wait-for graph of all blocked members.
    #[serde(skip)]
    pub graph: Vec<Node>,
    /// Every element that is used.
    pub elements: Vec<Element>,
    /// The cause as data, from which [`Stuck::cite`] words the sentences again.
    #[serde(skip)]
    pub culprit: Option<Culprit>,
    /// The hazard as data, for the same purpose.
    #[serde(skip)]
    pub told: Option<Sentence>,
}

/// The sentence for a state in which a step is possible.
const GOES_ON: &str = "somebody can still go on";

/// The reason of a blocked member of a stuck state, if no better one is known.
const NOBODY: &str = "nobody can go on";

/// The most waits that are named if no cause is known.
const MOST_WAITS: usize = 4;

/// A blocked member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Blocked {
    /// Its name.
    pub member: String,
    /// The line of the text at which it waits, from 1.
    pub line: usize,
    /// The line of the kernel that it comes from, if the text was recovered from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<Cited>,
    /// The element it waits on.
    pub element: String,
    /// The awaited value or phase.
    pub wants: String,
    /// The actual value or phase.
    pub value: String,
    /// Why the awaited value is not reached.
    pub why: String,
}

impl Blocked {
    /// Whether another member waits at the same line for the same value, and sees the same value.
    pub(super) fn is_like(&self, other: &Blocked) -> bool {
        let place = |b: &Blocked| (b.line, b.element.clone(), b.wants.clone(), b.value.clone());
        place(self) == place(other)
    }
}

/// Explains a stuck state. For any other state it only lists the blocked members, because there is no
/// cause yet.
pub fn explain(scene: Scene<'_>) -> Stuck {
    let straight = culprit::straight(scene.instance, scene.schedule, scene.state);
    let scene = Scene {
        instance: &straight.instance,
        state: &straight.state,
        ..scene
    };
    let Scene {
        protocol,
        instance,
        state,
        ..
    } = scene;
    let waiting = step::blocked(instance, state);
    let culprit = culprit::find(scene, &straight.turns);
    let blocked = waiting.iter().map(|b| Blocked {
        member: instance.member_name(b.member),
        line: trace::line(&protocol.source, instance, &b.op),
        kernel: None,
        element: instance.cell_name(b.op.cell),
        wants: witness::wanted(b.op.kind),
        value: witness::shown(instance, &b.cell),
        why: GOES_ON.to_owned(),
    });
    let blocked = blocked.collect();
    let unstarted = step::unstarted(state).into_iter();
    let mut stuck = Stuck {
        is_final: step::is_stuck(instance, state),
        sentence: GOES_ON.to_owned(),
        cause: None,
        line: None,
        blocked,
        unstarted: unstarted.map(|m| instance.member_name(m)).collect(),
        chain: Vec::new(),
        graph: Vec::new(),
        elements: elements::elements(instance, state),
        culprit: None,
        told: None,
    };
    if stuck.is_final && culprit.is_none() {
        let waits = waiting.iter().map(|b| {
            let line = trace::line(&protocol.source, instance, &b.op);
            let (member, awaited) = (
                instance.member_name(b.member),
                words::awaited(instance, &b.op),
            );
            format!("{member} waits for {awaited} (line {line})")
        });
        let waits: Vec<String> = waits.take(MOST_WAITS).collect();
        stuck.sentence = format!("{}, and nobody can go on", words::joined(&waits));
        for blocked in &mut stuck.blocked {
            blocked.why = NOBODY.to_owned();
        }
    }
    if let Some(culprit) = culprit {
        stuck.line = culprit.line;
        stuck.cause = Some(culprit.cause);
        stuck.graph = graph::graph(protocol, instance, &culprit.arrows);
        stuck.culprit = Some(culprit);
        stuck.say(Cited::own);
    }
    stuck
}

impl Stuck {
    /// Words the sentences again, with each line of the protocol's text cited as `cited` says.
    fn say(&mut self, cited: impl Fn(usize) -> Cited + Copy) {
        if let Some(told) = &self.told {
            self.sentence = told.say(cited);
        }
        if let Some(culprit) = &self.culprit {
            self.sentence = culprit.sentence.say(cited);
            let chain = culprit.chain.iter();
            self.chain = chain.map(|link| link.say(cited)).collect();
            for (blocked, why) in self.blocked.iter_mut().zip(&culprit.why) {
                blocked.why = why.say(cited);
            }
        }
    }

    /// Words everything again, with lines of the kernel in place of lines of the recovered protocol.
    pub fn cite(&mut self, cited: impl Fn(usize) -> Cited + Copy) {
        self.say(cited);
        for blocked in &mut self.blocked {
            blocked.kernel = Some(cited(blocked.line));
        }
        for node in &mut self.graph {
            node.kernel = node.line.map(cited);
        }
    }
}

/// Explains the result of a replayed counterexample: the stuck state at its end, or the hazard.
pub fn shown(protocol: &Protocol, replayed: &Replayed) -> Stuck {
    let Some((found, data)) = &replayed.hazard else {
        return explain(Scene {
            protocol,
            instance: &replayed.instance,
            input: Some(&replayed.input),
            schedule: &replayed.schedule,
            state: &replayed.state,
        });
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
        sentence: told.sentence.plain(),
        cause: None,
        line: told.line,
        blocked: Vec::new(),
        unstarted: Vec::new(),
        chain: Vec::new(),
        graph: Vec::new(),
        elements: Vec::new(),
        culprit: None,
        told: Some(told.sentence),
    }
}
