//! Classes that are at the same place wherever nobody can go on. Some run the same program, such as
//! the warps of several roles. Others are the same but for a number, such as the CTAs of a cluster,
//! each with barriers of its own and all with arrivals at those of the others.
//!
//! If two members run the same program, exchanging them changes nothing, whichever roles they are
//! of. So classes with the same program make up one *group*. The order in which operations that
//! block nobody follow each other may differ.
//!
//! Take a permutation of the values of some positions of objects, applied to elements. Suppose that
//! it turns the program of every group into that of another one, with equally many members, up to
//! that order. Then a permutation of members goes with it. It is an automorphism of the unwrapped
//! protocol, as far as places are concerned at which members block or have finished: whoever is at
//! such a place has made the same arrivals, at the permuted elements. It maps a vector of places at
//! which everybody is blocked or finished to another such vector. So it maps the least one to
//! itself. In this one, a class and its image are at the same place. That is all that the rule's
//! last condition is about. It is also the only condition that makes use of it.
//!
//! # Cuts
//!
//! Suppose that the programs are turned into each other operation by operation, and each class into
//! one of the same size. Then the permutation renames classes and elements throughout. Take the
//! obligation for a cut of a class, with its stops renamed. It is the obligation for a cut of the
//! image, under other names. If one is shown, so is the other. So only one of the two is asked for.
//! Other copies than that of the held member do not occur in it.
//!
//! # Side conditions
//!
//! A position of an object is permuted if it has as many elements as there are values, if every
//! operation there has a number at this position, and if the position does not number copies. What
//! an element expects or starts with does not depend on which one it is. Waits and registrations
//! are for the same generations. Loops and conditions are the same to the letter. Members are
//! counted. Classes whose sizes are numbers from 1 are put together. Other classes are put together
//! if their sizes are the same to the letter. So either all classes of a group have members, or
//! none has. Classes of copies are put together only with others of their role and kind. If pools
//! are used, or copies go in order, nothing is looked for.

use std::cell::OnceCell;

use num_bigint::BigInt;

use super::artefact::Hold;
use super::artefact::Quantity;
use super::class::Class;
use super::flow::Flow;
use super::flow::Node;
use super::flow::Site;
use super::rule::Rule;
use crate::protocol::Expr;

/// The largest extent whose values are permuted.
const MAX_EXTENT: i64 = 16;

/// A permutation of the values `0..extent` at positions of objects.
struct Action {
    /// Where each value goes.
    images: Vec<i64>,
    /// Only this position of objects, or all.
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

/// In which order operations that block nobody have to follow each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// In the same one.
    Exact,
    /// In any.
    Free,
}

/// How elements are permuted.
struct Permuted<'a> {
    /// How values are, or not at all.
    action: Option<&'a Action>,
    /// Per object, which positions are.
    positions: Vec<Vec<bool>>,
}

impl Permuted<'_> {
    fn element(&self, site: &Site) -> Option<Vec<Expr>> {
        let index = site.index.iter().zip(&self.positions[site.object.0]);
        let index = index.map(|(e, permuted)| match (self.action, permuted) {
            (Some(action), true) => action.image(e),
            _ => Some(e.clone()),
        });
        index.collect()
    }
}

/// Classes that run the same program, from the first.
struct Alike {
    classes: Vec<usize>,
    /// How many members they have: a sum of numbers, or so many times a size.
    members: (BigInt, Option<Expr>),
}

/// Classes that are the same but for a number, and the cuts that are asked for.
#[derive(Default)]
pub struct Renamed {
    /// Where each class goes, for every way of renaming classes and elements.
    classes: OnceCell<Vec<Vec<usize>>>,
    /// Class, operation, and what its element must not have completed, of cuts that are asked for or follow.
    shown: Vec<(usize, usize, Option<i64>)>,
}

/// A cut with its classes renamed; `None` if it speaks of some that do not exist.
pub fn renamed(hold: &Hold, classes: &[usize]) -> Option<Hold> {
    let mut stops = vec![Vec::new(); hold.stops.len()];
    for (class, old) in hold.stops.iter().enumerate() {
        let mut new = old.clone();
        for quantity in new
            .iter_mut()
            .flat_map(|stop| &mut stop.clock.0)
            .flat_map(|p| &mut p.of)
        {
            match quantity {
                Quantity::Trips(of, _)
                | Quantity::Sum { of, .. }
                | Quantity::Quotient { of: (of, _), .. } => *of = *classes.get(*of)?,
                Quantity::Param(_) | Quantity::Clock(_) | Quantity::Share { .. } => {}
            }
        }
        *stops.get_mut(*classes.get(class)?)? = new;
    }
    Some(Hold {
        class: *classes.get(hold.class)?,
        site: hold.site,
        stops,
        elsewhere: hold.elsewhere.clone(),
    })
}

/// Permutations of so many values: those that clusters of one or two dimensions have.
fn permutations(extent: i64) -> Vec<Vec<i64>> {
    let all = || 0..extent;
    let mut next: Vec<i64> = all().collect();
    next.rotate_left(1);
    let mut found = vec![next];
    if extent.count_ones() == 1 {
        let bits = (0..extent.trailing_zeros()).map(|bit| 1_i64 << bit);
        found.extend(bits.map(|bit| all().map(|v| v ^ bit).collect()));
    }
    for (first, second) in all().zip(1..extent) {
        let swapped = |v: i64| match v {
            _ if v == first => second,
            _ if v == second => first,
            _ => v,
        };
        found.push(all().map(swapped).collect());
    }
    found
}

impl Rule<'_> {
    /// For every class, the first class that is at the same place wherever nobody can go on. Both
    /// have members, or neither has.
    pub(super) fn at_one_place(&self) -> Vec<usize> {
        let mut first: Vec<usize> = (0..self.classes.len()).collect();
        let pools = (0..self.classes.len()).any(|class| self.uses_pools(class));
        if self.ordered.is_some() || pools {
            return first;
        }
        let groups = self.alike();
        for group in &groups {
            for class in &group.classes {
                first[*class] = group.classes[0];
            }
        }
        for action in self.actions() {
            let Some(images) = self.images(&action, &groups) else {
                continue;
            };
            for (group, image) in images.into_iter().enumerate() {
                let (one, other) = (
                    first[groups[group].classes[0]],
                    first[groups[image].classes[0]],
                );
                for known in &mut first {
                    if *known == one.max(other) {
                        *known = one.min(other);
                    }
                }
            }
        }
        first
    }

    /// For every renaming of classes and elements that is found: the new name of each class.
    pub fn renamings(&self) -> &[Vec<usize>] {
        self.renamed.classes.get_or_init(|| {
            let copied = |class: &Class| class.copies.is_some() || class.number.is_some();
            let pools = (0..self.classes.len()).any(|class| self.uses_pools(class));
            if self.ordered.is_some() || pools || self.classes.iter().any(copied) {
                return Vec::new();
            }
            let actions = self.actions();
            actions
                .iter()
                .filter_map(|action| self.renaming(action))
                .collect()
        })
    }

    fn renaming(&self, action: &Action) -> Option<Vec<usize>> {
        let permuted = self.permuted(action)?;
        let mut left: Vec<usize> = (0..self.classes.len()).collect();
        let images = (0..self.classes.len()).map(|class| {
            let found = left.iter().position(|image| {
                let same_size = self.classes[class].size == self.classes[*image].size;
                same_size && self.becomes(class, *image, &permuted, Order::Exact)
            })?;
            Some(left.remove(found))
        });
        images.collect()
    }

    /// Whether a cut follows from that of another class, which is asked for. If not, this one is
    /// asked for.
    pub fn follows_by_renaming(&mut self, hold: &Hold, above: Option<i64>) -> bool {
        let (class, site) = (hold.class, hold.site);
        let follows = hold.elsewhere.is_empty()
            && self.renamings().iter().any(|classes| {
                let before = classes.iter().position(|image| *image == class);
                before.is_some_and(|before| {
                    self.renamed.shown.contains(&(before, site, above))
                        && self
                            .held(before, site)
                            .is_some_and(|other| renamed(other, classes).as_ref() == Some(hold))
                })
            });
        self.renamed.shown.push((class, site, above));
        follows
    }

    /// The classes by the programs that they run.
    fn alike(&self) -> Vec<Alike> {
        let still = Permuted {
            action: None,
            positions: self
                .protocol
                .objects
                .iter()
                .map(|o| vec![false; o.extents.len()])
                .collect(),
        };
        let mut groups: Vec<Alike> = Vec::new();
        for (class, this) in self.classes.iter().enumerate() {
            let (number, size) = match &this.size {
                Expr::Int(number) => (BigInt::from(*number), None),
                size => (BigInt::from(1), Some(size.clone())),
            };
            let same = groups.iter_mut().find(|group| {
                group.members.1 == size
                    && self.becomes(class, group.classes[0], &still, Order::Free)
            });
            let counted = match &size {
                None => number > BigInt::ZERO,
                Some(_) => true,
            };
            match same {
                Some(group) if counted => {
                    group.classes.push(class);
                    group.members.0 += number;
                }
                _ => groups.push(Alike {
                    classes: vec![class],
                    members: (number, size),
                }),
            }
        }
        groups
    }

    fn actions(&self) -> Vec<Action> {
        let mut shapes: Vec<(i64, Option<usize>)> = Vec::new();
        for object in &self.protocol.objects {
            for (nth, extent) in object.extents.iter().enumerate() {
                if let Expr::Int(extent @ 2..=MAX_EXTENT) = self.fix(extent) {
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

    /// How an action permutes elements, if it does.
    fn permuted<'s>(&self, action: &'s Action) -> Option<Permuted<'s>> {
        let objects = self.protocol.objects.iter().enumerate();
        let positions = objects.map(|(object, declared)| {
            let extents = declared.extents.iter().enumerate();
            let permuted = extents.map(|(at, extent)| {
                let mut sites = self.classes.iter().flat_map(|class| &class.flow.sites);
                let literal = |site: &Site| matches!(site.index[at], Expr::Int(_));
                action.applies(at, &self.fix(extent))
                    && self.copies.objects.get(&object) != Some(&at)
                    && sites.all(|site| site.object.0 != object || literal(site))
            });
            permuted.collect()
        });
        let permuted = Permuted {
            action: Some(action),
            positions: positions.collect(),
        };
        let any = permuted
            .positions
            .iter()
            .flatten()
            .any(|permuted| *permuted);
        any.then_some(permuted)
    }

    /// Which group each one becomes, if that is an automorphism.
    fn images(&self, action: &Action, groups: &[Alike]) -> Option<Vec<usize>> {
        let permuted = self.permuted(action)?;
        let images = groups.iter().map(|group| {
            groups.iter().position(|image| {
                group.members == image.members
                    && self.becomes(group.classes[0], image.classes[0], &permuted, Order::Free)
            })
        });
        images.collect()
    }

    /// Whether the program of a class becomes that of another one.
    fn becomes(&self, class: usize, image: usize, permuted: &Permuted<'_>, order: Order) -> bool {
        let (a, b) = (&self.classes[class], &self.classes[image]);
        let copied = a.copies.is_some() || a.number.is_some();
        let alike = a.copies == b.copies
            && a.kind == b.kind
            && a.number == b.number
            && (!copied || a.role == b.role);
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
            && same_sites(&a.flow, &b.flow, permuted, order)
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

/// Whether operations become the others, one by one or in any order where those follow each other that
/// block nobody.
fn same_sites(a: &Flow, b: &Flow, permuted: &Permuted<'_>, order: Order) -> bool {
    let same = |x: &Site, y: &Site| {
        x.object == y.object
            && x.kind == y.kind
            && x.path == y.path
            && permuted.element(x).as_ref() == Some(&y.index)
    };
    if order == Order::Exact {
        return a.sites.iter().zip(&b.sites).all(|(x, y)| same(x, y));
    }
    let (mut a, mut b) = (&a.sites[..], &b.sites[..]);
    while !a.is_empty() {
        let length = run(a);
        if length != run(b) {
            return false;
        }
        let (run, rest) = a.split_at(length);
        let (other, other_rest) = b.split_at(length);
        (a, b) = (rest, other_rest);
        let mut left: Vec<&Site> = other.iter().collect();
        for site in run {
            let Some(found) = left.iter().position(|other| same(site, other)) else {
                return false;
            };
            left.swap_remove(found);
        }
    }
    true
}

/// How many operations that block nobody follow each other on one path. An operation that blocks
/// stands alone.
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
