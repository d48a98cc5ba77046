//! A run as a sequence chart: a lane for each member, a lane for each element, and the steps from top to bottom.

use super::finding::Counterexample;
use super::ranges::ranges;
use super::stuck::Blocked;
use super::trace::Event;

/// With more members than this, a lane stands for a whole role.
const MEMBERS: usize = 12;

/// A run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chart {
    /// The members, or their roles if there are many, in the order in which they first act or wait.
    pub lanes: Vec<String>,
    /// The elements of synchronization objects that the run touches or ends waiting for, in that order.
    pub elements: Vec<String>,
    /// What happens, in order.
    pub steps: Vec<Step>,
    /// The waits at the end, by lanes.
    pub waits: Vec<Wait>,
}

/// One action, or several equal actions of members of one lane in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The number of the first action, from 1.
    pub first: usize,
    /// How many actions these are.
    pub count: usize,
    /// The lane.
    pub lane: usize,
    /// The members that act.
    pub who: String,
    /// The action and its effect.
    pub what: String,
    /// The line of the text.
    pub line: Option<usize>,
    /// The element that the action works on, and its value afterwards.
    pub left: Option<(usize, String)>,
}

/// Members of a lane that wait at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// Their lane.
    pub lane: usize,
    /// The members that wait.
    pub who: String,
    /// The line of the text.
    pub line: usize,
    /// The element.
    pub element: usize,
    /// What they wait for, and why it does not come.
    pub what: String,
}

/// The role of a member, given by the member's name.
fn role(member: &str) -> &str {
    member.split('[').next().unwrap_or(member)
}

/// The position of a name. A new name is appended.
fn position(names: &mut Vec<String>, name: &str) -> usize {
    let known = names.iter().position(|known| known == name);
    known.unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}

/// Several names, abbreviated.
fn together(names: &[&str]) -> String {
    let mut distinct: Vec<&str> = Vec::new();
    for name in names {
        if !distinct.contains(name) {
            distinct.push(name);
        }
    }
    ranges(&distinct).join(", ")
}

/// The chart of a counterexample.
pub fn chart(counterexample: &Counterexample) -> Chart {
    drawn(counterexample, MEMBERS)
}

/// The chart with one lane for each role.
pub fn by_role(counterexample: &Counterexample) -> Chart {
    drawn(counterexample, 0)
}

/// The chart. Members have lanes if there are at most `most` of them.
fn drawn(counterexample: &Counterexample, most: usize) -> Chart {
    let (events, blocked) = (&counterexample.trace, &counterexample.stuck.blocked);
    let mut members = Vec::new();
    let acting = events.iter().map(|event| &event.member);
    for member in acting.chain(blocked.iter().map(|blocked| &blocked.member)) {
        position(&mut members, member);
    }
    let many = members.len() > most;
    let lane_of = |member: &str| match many {
        true => role(member).to_owned(),
        false => member.to_owned(),
    };
    let mut chart = Chart {
        lanes: Vec::new(),
        elements: Vec::new(),
        steps: Vec::new(),
        waits: Vec::new(),
    };
    let alike = |a: &Event, b: &Event| {
        a.deed.goes_on_with(b.deed) && lane_of(&a.member) == lane_of(&b.member)
    };
    let mut first = 1;
    for run in events.chunk_by(alike) {
        let Some(last) = run.last() else { continue };
        let names: Vec<&str> = run.iter().map(|event| event.member.as_str()).collect();
        let elements = &mut chart.elements;
        let left = last.left.as_ref();
        chart.steps.push(Step {
            first,
            count: run.len(),
            lane: position(&mut chart.lanes, &lane_of(&last.member)),
            who: together(&names),
            what: last.what.clone(),
            line: last.line,
            left: left.map(|left| (position(elements, &left.element), left.value.clone())),
        });
        first += run.len();
    }
    let same = |a: &Blocked, b: &Blocked| {
        lane_of(&a.member) == lane_of(&b.member)
            && (a.line, &a.element, &a.wants) == (b.line, &b.element, &b.wants)
    };
    for run in blocked.chunk_by(same) {
        let Some(one) = run.first() else { continue };
        let names: Vec<&str> = run.iter().map(|blocked| blocked.member.as_str()).collect();
        chart.waits.push(Wait {
            lane: position(&mut chart.lanes, &lane_of(&one.member)),
            who: together(&names),
            line: one.line,
            element: position(&mut chart.elements, &one.element),
            what: format!("waits for {} {}: {}", one.element, one.wants, one.why),
        });
    }
    chart
}
