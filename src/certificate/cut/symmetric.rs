//! Classes that are the same but for a number: the CTAs of a cluster, each with barriers of its own and all
//! with arrivals at those of the others.
//!
//! Take a permutation of the values of some indices with a known extent, applied to members by their role's
//! indices and to elements by positions of their objects. If it turns the program of every class into that of
//! another one, with equally many members, up to the order in which operations that block nobody follow
//! each other, then it is an automorphism of the unwrapped protocol, as far as places are concerned at which
//! members block or have finished: whoever is at such a place has made the same arrivals, at the
//! permuted elements. The vectors of places at which everybody is blocked or finished are mapped to
//! such vectors, so the least one is mapped to itself. In it, a class and its image are at the same
//! place. That is all that the rule's last condition is about, and the only one that makes use of it.
//!
//! # Side conditions
//!
//! A position of an object is permuted where it has as many elements as the index has values, and every
//! operation there has a number at this position. What an element expects or starts with does not
//! depend on which one it is. Waits and registrations are for the same generations, loops and
//! conditions are the same to the letter. Not looked for where pools are used or where copies go in order.

use super::class::Class;
use super::flow::Flow;
use super::flow::Node;
use super::flow::Site;
use super::rule::Rule;
use crate::protocol::Expr;

/// The largest extent whose values are permuted.
const MAX_EXTENT: i64 = 16;

/// A permutation of the values `0..extent` of indices.
struct Action {
    /// Where each value goes.
    images: Vec<i64>,
    /// Only the indices and positions of objects with this number, or all.
    only: Option<usize>,
}

impl Action {
    fn extent(&self) -> i64 {
        i64::try_from(self.images.len()).unwrap_or(i64::MAX)
    }

    fn applies(&self, nth: usize, extent: &Expr) -> bool {
        self.only.is_none_or(|only| only == nth) && *extent == Expr::Int(self.extent())
    }

    fn image(&self, value: &Expr) -> Option<Expr> {
        let Expr::Int(value) = value else { return None };
        let at = usize::try_from(*value).ok()?;
        self.images.get(at).map(|image| Expr::Int(*image))
    }
}

/// Permutations of so many values: those that clusters of one or two dimensions have.
fn permutations(extent: i64) -> Vec<Vec<i64>> {
    let all = || 0..extent;
    let mut found = vec![all().map(|v| (v + 1) % extent).collect()];
    if extent.count_ones() == 1 {
        let bits = (0..extent.trailing_zeros()).map(|bit| 1_i64 << bit);
        found.extend(bits.map(|bit| all().map(|v| v ^ bit).collect()));
    }
    for first in 0..extent - 1 {
        let swapped = |v: i64| match v - first {
            0 => first + 1,
            1 => first,
            _ => v,
        };
        found.push(all().map(swapped).collect());
    }
    found
}

impl Rule<'_> {
    /// For every class one that is at the same place wherever nobody can go on: the first of those.
    pub(super) fn at_one_place(&self) -> Vec<usize> {
        let mut first: Vec<usize> = (0..self.classes.len()).collect();
        let pools = (0..self.classes.len()).any(|class| self.uses_pools(class));
        if self.ordered.is_some() || pools {
            return first;
        }
        for action in self.actions() {
            let Some(images) = self.images(&action) else {
                continue;
            };
            for (class, image) in images.into_iter().enumerate() {
                let (one, other) = (first[class], first[image]);
                for known in &mut first {
                    if *known == one.max(other) {
                        *known = one.min(other);
                    }
                }
            }
        }
        first
    }

    fn actions(&self) -> Vec<Action> {
        let mut shapes: Vec<(i64, Option<usize>)> = Vec::new();
        for role in &self.protocol.roles {
            for (nth, index) in role.indices.iter().enumerate() {
                if let Expr::Int(extent @ 2..=MAX_EXTENT) = self.fix(&index.extent) {
                    shapes.extend([(extent, None), (extent, Some(nth))]);
                }
            }
        }
        shapes.sort_unstable();
        shapes.dedup();
        let actions = shapes.into_iter().flat_map(|(extent, only)| {
            let all = permutations(extent).into_iter();
            all.map(move |images| Action { images, only })
        });
        actions.collect()
    }

    /// Which class each one becomes, if that is an automorphism.
    fn images(&self, action: &Action) -> Option<Vec<usize>> {
        // Per object, which positions are permuted.
        let objects = self.protocol.objects.iter().enumerate();
        let permuted = objects.map(|(object, declared)| {
            let extents = declared.extents.iter().enumerate();
            let permuted = extents.map(|(at, extent)| {
                let mut sites = self.classes.iter().flat_map(|class| &class.flow.sites);
                let literal = |site: &Site| matches!(site.index[at], Expr::Int(_));
                action.applies(at, &self.fix(extent))
                    && sites.all(|site| site.object.0 != object || literal(site))
            });
            permuted.collect()
        });
        let permuted: Vec<Vec<bool>> = permuted.collect();
        let all = 0..self.classes.len();
        let images = all.map(|class| {
            let image = self.image_of(class, action)?;
            self.becomes(class, image, action, &permuted)
                .then_some(image)
        });
        images.collect()
    }

    /// The class whose indices have the permuted values.
    fn image_of(&self, class: usize, action: &Action) -> Option<usize> {
        let this = &self.classes[class];
        let mut known = this.known.clone();
        let indices = &self.protocol.roles[this.role].indices;
        for (nth, index) in indices.iter().enumerate() {
            if action.applies(nth, &self.fix(&index.extent))
                && let Some(value) = known.get_mut(&index.var)
            {
                *value = action.image(value)?;
            }
        }
        let same = |other: &Class| {
            other.role == this.role && other.known == known && other.compared == this.compared
        };
        self.classes.iter().position(same)
    }

    /// Whether a class becomes another one.
    fn becomes(&self, class: usize, image: usize, action: &Action, permuted: &[Vec<bool>]) -> bool {
        let (a, b) = (&self.classes[class], &self.classes[image]);
        let alike = a.size == b.size && a.copies == b.copies && a.kind == b.kind;
        let loops = a.flow.loops.len() == b.flow.loops.len()
            && a.flow.loops.iter().zip(&b.flow.loops).all(|(x, y)| {
                x.var == y.var
                    && x.trips == y.trips
                    && x.outer == y.outer
                    && same_nodes(&x.body, &y.body)
            });
        let sites = a.flow.sites.len() == b.flow.sites.len();
        alike
            && loops
            && sites
            && same_nodes(&a.flow.nodes, &b.flow.nodes)
            && self.same_generations(class, image)
            && self.same_sites(&a.flow, &b.flow, action, permuted)
    }

    /// Whether operations become the others, in any order where those follow each other that block nobody.
    fn same_sites(&self, a: &Flow, b: &Flow, action: &Action, permuted: &[Vec<bool>]) -> bool {
        let image = |site: &Site| -> Option<Vec<Expr>> {
            let index = site.index.iter().zip(&permuted[site.object.0]);
            let index = index.map(|(e, permuted)| match permuted {
                true => action.image(e),
                false => Some(e.clone()),
            });
            index.collect()
        };
        let same = |x: &Site, y: &Site| {
            x.object == y.object
                && x.kind == y.kind
                && x.path == y.path
                && image(x).as_ref() == Some(&y.index)
        };
        let mut start = 0;
        while start < a.sites.len() {
            let length = run(&a.sites[start..]);
            if length != run(&b.sites[start..]) {
                return false;
            }
            let mut left: Vec<&Site> = b.sites[start..start + length].iter().collect();
            for site in &a.sites[start..start + length] {
                let Some(found) = left.iter().position(|other| same(site, other)) else {
                    return false;
                };
                left.swap_remove(found);
            }
            start += length;
        }
        true
    }

    /// Whether the waits and registrations of two classes are for the same generations.
    fn same_generations(&self, a: usize, b: usize) -> bool {
        let sites = 0..self.classes[a].flow.sites.len();
        sites.into_iter().all(|site| {
            let generation = |class: usize| {
                let mut all = self.case.generations.iter();
                let found = all.find(|g| g.class == class && g.site == site);
                found.map(|g| (g.first, g.all))
            };
            let registration = |class: usize| {
                let all = self.case.registrations.iter();
                let all = all.filter(|r| r.class == class && r.site == site);
                all.map(|r| (r.first, r.every)).collect::<Vec<_>>()
            };
            generation(a) == generation(b) && registration(a) == registration(b)
        })
    }
}

/// How many operations that block nobody follow each other on one path, or one that blocks.
fn run(sites: &[Site]) -> usize {
    let first = &sites[0];
    if first.kind.blocks() {
        return 1;
    }
    let same = |site: &&Site| !site.kind.blocks() && site.path == first.path;
    sites.iter().take_while(same).count()
}

/// Whether programs have their operations at the same places, whatever these are.
fn same_nodes(a: &[Node], b: &[Node]) -> bool {
    let operations = |nodes: &'_ [Node]| -> Vec<Node> {
        let all = nodes.iter().filter(|node| !matches!(node, Node::Point(_)));
        all.cloned().collect()
    };
    let (a, b) = (operations(a), operations(b));
    a.len() == b.len()
        && a.iter().zip(&b).all(|pair| match pair {
            (Node::Site(x), Node::Site(y)) | (Node::Loop(x), Node::Loop(y)) => x == y,
            (
                Node::If {
                    condition,
                    then,
                    otherwise,
                },
                Node::If {
                    condition: other,
                    then: x,
                    otherwise: y,
                },
            ) => condition == other && same_nodes(then, x) && same_nodes(otherwise, y),
            _ => false,
        })
}
