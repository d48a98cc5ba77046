//! Waits that are skipped because there is nothing to wait for.
//!
//! For example, `if n >= S { wait empty[n % S] (n / S + 1) % 2 }` skips the waits for arrivals below 0. These waits
//! would pass at once. In nested loops, there is no closed form for how often the wait has been executed. But there
//! is one for how often its member has come to the `if`. So such a wait may be numbered as if its condition always
//! held. If the condition fails, the number of the arrival has to be below 0. No condition of the rule says anything
//! about an arrival below 0, and a wait that is skipped blocks no member. So only numbers change.

use std::collections::BTreeMap;

use super::artefact::Behind;
use super::cases;
use super::cases::Facts;
use super::cases::fits;
use super::polynomial::Polynomial;
use super::rule::Claim;
use super::rule::Rule;
use super::rule::push;
use crate::certificate::cut::algebra;
use crate::certificate::cut::class::Class;
use crate::certificate::cut::flow::Flow;
use crate::certificate::cut::flow::Kind;
use crate::certificate::cut::flow::Node;
use crate::certificate::program::Unsupported;
use crate::protocol::Expr;

/// The conditions that are ignored, by class and operation.
pub type Guards = BTreeMap<(usize, usize), Vec<Expr>>;

/// The waits for which a condition on the iteration skips the wait and nothing else: class and operation.
pub fn guarded(classes: &[Class]) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    for (class, this) in classes.iter().enumerate() {
        let mut flow = this.flow.clone();
        let own = without(&mut flow, &|_| true);
        let moves = |e: &Expr| this.flow.loops.iter().any(|l| algebra::mentions(e, l.var));
        let own = own
            .into_iter()
            .filter(|(_, conditions)| conditions.iter().any(moves));
        all.extend(own.map(|(site, _)| (class, site)));
    }
    all
}

/// Ignores the conditions around these waits.
///
/// # Errors
///
/// A wait without a condition that skips it.
pub fn unguard(classes: &mut [Class], wanted: &[(usize, usize)]) -> Result<Guards, Unsupported> {
    let mut all = Guards::new();
    for (class, this) in classes.iter_mut().enumerate() {
        let guards = without(&mut this.flow, &|site| wanted.contains(&(class, site)));
        all.extend(
            guards
                .into_iter()
                .map(|(site, guard)| ((class, site), guard)),
        );
    }
    match wanted.iter().all(|wait| all.contains_key(wait)) {
        true => Ok(all),
        false => Err(Unsupported::whole("a wait without such a condition")),
    }
}

fn without(flow: &mut Flow, wanted: &dyn Fn(usize) -> bool) -> BTreeMap<usize, Vec<Expr>> {
    let mut guards = BTreeMap::new();
    let nodes = std::mem::take(&mut flow.nodes);
    flow.nodes = opened(nodes, flow, wanted, &mut guards);
    guards
}

fn opened(
    nodes: Vec<Node>,
    flow: &mut Flow,
    wanted: &dyn Fn(usize) -> bool,
    guards: &mut BTreeMap<usize, Vec<Expr>>,
) -> Vec<Node> {
    let mut all = Vec::new();
    for node in nodes {
        match node {
            Node::Site(_) | Node::Point(_) => all.push(node),
            Node::Loop(at) => {
                let body = std::mem::take(&mut flow.loops[at].body);
                flow.loops[at].body = opened(body, flow, wanted, guards);
                all.push(node);
            }
            Node::If {
                condition,
                then,
                otherwise,
            } => {
                let then = opened(then, flow, wanted, guards);
                let otherwise = opened(otherwise, flow, wanted, guards);
                let (inside, holds) = match (&then[..], &otherwise[..]) {
                    (inside, []) => (inside, condition.clone()),
                    ([], inside) => (inside, algebra::not(condition.clone())),
                    _ => (&[][..], condition.clone()),
                };
                let own = |node: &Node| match node {
                    Node::Site(site) => {
                        let this = &flow.sites[*site];
                        let waits = matches!(this.kind, Kind::WaitParity { .. });
                        let last = this.path.conditions.last();
                        (waits && wanted(*site) && last == Some(&holds)).then_some(*site)
                    }
                    _ => None,
                };
                let sites: Option<Vec<usize>> = inside.iter().map(own).collect();
                match sites {
                    Some(sites) if !sites.is_empty() => {
                        for site in sites {
                            flow.sites[site].path.conditions.pop();
                            guards.entry(site).or_default().push(holds.clone());
                            all.push(Node::Site(site));
                        }
                    }
                    _ => all.push(Node::If {
                        condition,
                        then,
                        otherwise,
                    }),
                }
            }
        }
    }
    all
}

impl Rule<'_> {
    /// If its condition fails, the wait would be for an arrival below 0.
    pub fn skipped(
        &self,
        ring: usize,
        class: usize,
        lag: Behind,
    ) -> Result<Vec<Claim>, Unsupported> {
        let mut all = Vec::new();
        let this = &self.rings[ring];
        for site in this.waits_of(class) {
            let name = format!("skipped_c{class}_s{site}");
            let what = format!(
                "{} is skipped only where it would be for nothing",
                self.words(class, site)
            );
            for guard in self.guards.get(&(class, site)).into_iter().flatten() {
                for at in self.scene.at(&self.classes[class], site)? {
                    // A condition that is not understood gives no facts.
                    let ways = cases::holds(guard, &at.env, false);
                    for facts in ways.unwrap_or(vec![Facts::new()]) {
                        let mut there = at.clone();
                        there.scene = at.scene.with(facts);
                        for (at, number) in self.awaited(this, &there, class, lag)? {
                            let below = fits(Polynomial::number(-1).plus(-1, &number))?;
                            push(&mut all, &name, what.clone(), &at.scene, below);
                        }
                    }
                }
            }
        }
        Ok(all)
    }
}
