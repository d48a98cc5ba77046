//! A stuck state, explained: who waits for what, why in vain, and how it came to that.

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
    /// Whether nobody can go on.
    #[serde(skip)]
    pub is_final: bool,
    /// One sentence about what made it so.
    pub sentence: String,
    /// What kind of cause that is; absent where somebody can go on, and of a hazard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The line of that wait, from 1.
    pub line: Option<usize>,
    /// Every member that started and waits.
    pub blocked: Vec<Blocked>,
    /// The names of the members that never start.
    pub unstarted: Vec<String>,
    /// Who waits for whom, one sentence each, up to the reason or around in a cycle.
    pub chain: Vec<String>,
    /// The same of everybody who waits, as a graph.
    #[serde(skip)]
    pub graph: Vec<Node>,
    /// Every element that is used.
    pub elements: Vec<Element>,
    /// The same cause, for whoever words it anew.
    #[serde(skip)]
    pub culprit: Option<Culprit>,
    /// What a hazard is, for the same.
    #[serde(skip)]
    pub told: Option<Sentence>,
}

/// What is said where nothing is wrong yet.
const GOES_ON: &str = "somebody can still go on";

/// The same where nobody can.
const NOBODY: &str = "nobody can go on";

/// How many waits are named where there is no reason to name.
const MOST_WAITS: usize = 4;

/// A member that waits in vain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Blocked {
    /// Its name.
    pub member: String,
    /// The line of the text at which it waits, from 1.
    pub line: usize,
    /// The line of the kernel behind it, if the text was recovered from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<Cited>,
    /// The element it waits on.
    pub element: String,
    /// What it waits for there.
    pub wants: String,
    /// What there is instead.
    pub value: String,
    /// Why that does not change.
    pub why: String,
}

impl Blocked {
    /// Whether another member waits at the same place for the same, and finds the same.
    pub(super) fn is_like(&self, other: &Blocked) -> bool {
        let place = |b: &Blocked| (b.line, b.element.clone(), b.wants.clone(), b.value.clone());
        place(self) == place(other)
    }
}

/// Explains a state in which nobody can go on. In any other state it only lists who is blocked:
/// there is no reason yet.
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
    /// Words the sentences anew for a reader to whom the lines of the protocol's text are these.
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

    /// Words everything anew for a reader of the kernel that the protocol was recovered from.
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

/// Explains what a replayed counterexample shows: the stuck state it ends in, or the hazard.
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
