//! The wait-for graph of a stuck state. A node is a set of members that wait at the same place. An edge leads to members
//! that could wake them.

use crate::protocol::Protocol;
use crate::semantics::instance::Instance;
use crate::semantics::instance::Op;

use super::cited::Cited;
use super::culprit::Arrow;
use super::ranges::ranges;
use super::trace;

/// With more nodes than this, members of one role that wait at one line become one node.
const NODES: usize = 16;

/// Members that wait at the same place, or that cannot start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The members.
    pub who: String,
    /// The line of the wait, from 1; absent for members that have not started.
    pub line: Option<usize>,
    /// The line of the kernel that it comes from, if the protocol was recovered from one.
    pub kernel: Option<Cited>,
    /// The element that they wait at; empty for members that have not started.
    pub element: String,
    /// The nodes of members that could release them; empty if there are none.
    pub whom: Vec<usize>,
    /// Whether they are a part of the cycle.
    pub circle: bool,
}

/// Where a member waits: role, line and element.
type Key = (usize, Option<usize>, String);

/// The graph that these arrows form.
pub fn graph(protocol: &Protocol, instance: &Instance, arrows: &[Arrow]) -> Vec<Node> {
    let fine = built(protocol, instance, arrows, &|name| name.to_owned());
    match fine.len() > NODES {
        // Uses the names of elements without their last index.
        true => built(protocol, instance, arrows, &|name| {
            name.split('[').next().unwrap_or(name).to_owned()
        }),
        false => fine,
    }
}

fn built(
    protocol: &Protocol,
    instance: &Instance,
    arrows: &[Arrow],
    called: &dyn Fn(&str) -> String,
) -> Vec<Node> {
    let key = |arrow: &Arrow| -> Key {
        let role = instance.members.get(arrow.member).map_or(0, |m| m.role);
        let at = |op: &Op| trace::line(&protocol.source, instance, op);
        let element = arrow.op.map(|op| called(&instance.cell_name(op.cell)));
        (role, arrow.op.as_ref().map(at), element.unwrap_or_default())
    };
    let keys: Vec<Key> = arrows.iter().map(key).collect();
    let mut distinct: Vec<&Key> = Vec::new();
    for key in &keys {
        if !distinct.contains(&key) {
            distinct.push(key);
        }
    }
    let node_of = |member: usize| {
        let at = arrows.iter().position(|arrow| arrow.member == member)?;
        distinct.iter().position(|key| *key == &keys[at])
    };
    let nodes = distinct.iter().map(|key| {
        let own = || {
            let all = arrows.iter().zip(&keys);
            all.filter(|(_, k)| **k == **key).map(|(arrow, _)| arrow)
        };
        let names: Vec<String> = own().map(|a| instance.member_name(a.member)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut whom: Vec<usize> = own()
            .flat_map(|arrow| &arrow.whom)
            .filter_map(|member| node_of(*member))
            .collect();
        whom.sort_unstable();
        whom.dedup();
        Node {
            who: ranges(&names).join(", "),
            line: key.1,
            kernel: None,
            element: key.2.clone(),
            whom,
            circle: own().any(|arrow| arrow.circle),
        }
    });
    nodes.collect()
}
