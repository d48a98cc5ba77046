//! Rings: the elements of one object that are used in turn, such as `full[0]` to `full[S - 1]`.
//!
//! The rings of an object are distinguished by those of its indices that are constant in every use. At most one index
//! moves. A ring without a moving index has one element.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::artefact::Element;
use super::artefact::Seat;
use super::polynomial::Polynomial;
use crate::certificate::cut::class::Class;
use crate::certificate::cut::flow::Kind;
use crate::certificate::cut::flow::Site;
use crate::certificate::exact;
use crate::certificate::program::Unsupported;
use crate::protocol::Expr;
use crate::protocol::ObjectKind;
use crate::protocol::Protocol;

/// Elements that are used in turn, and the operations that use them.
#[derive(Debug, Clone)]
pub struct Ring {
    /// The object, by position.
    pub object: usize,
    /// The count, if the registrations of a named barrier are kept apart by their counts: see `separate_counts.rs`.
    pub count: Option<i64>,
    /// The index that moves, if one does.
    pub moving: Option<usize>,
    /// The number of elements.
    pub size: Expr,
    /// The arrivals: class and operation, in order.
    pub arrivals: Vec<(usize, usize)>,
    /// The waits.
    pub waits: Vec<(usize, usize)>,
    /// The deliveries of bytes.
    pub deliveries: Vec<(usize, usize)>,
    /// The classes that deliver bytes and do not arrive. The deliveries that such a member makes without a wait in
    /// between are listed as one arrival, by the last of these deliveries.
    pub bringing: Vec<usize>,
    /// The arrivals whose bytes no member delivers: see `unfilled.rs`.
    pub unfilled: Vec<(usize, usize)>,
    /// The classes that take part only in some generations: see `seats.rs`.
    pub seats: Vec<Seat>,
    /// The teams that take turns here: see `teams.rs`.
    pub squads: Vec<Squad>,
    /// If the object is initialised explicitly: the operations that initialise its elements; `uses` contains all
    /// other operations on them. See `initial.rs`.
    pub inits: Vec<(usize, usize)>,
    /// See `inits`.
    pub uses: Vec<(usize, usize)>,
}

/// A team at a ring: see `teams.rs`.
#[derive(Debug, Clone)]
pub struct Squad {
    /// Whether it takes turns at arriving; otherwise at waiting.
    pub arrives: bool,
    /// The classes in the order of their turns.
    pub classes: Vec<usize>,
    /// How often each class arrives or waits in one turn.
    pub(super) each: Polynomial,
    /// For each class: the loop whose iterations are its turns.
    pub(super) tops: Vec<usize>,
    /// For each class: the wait that hands a turn over; empty if turns are not handed over.
    pub after: Vec<usize>,
}

impl Ring {
    /// The team to which a class belongs at arriving here (or at waiting here), and the position of the class in it.
    pub fn team(&self, class: usize, arrives: bool) -> Option<(&Squad, usize)> {
        let mut all = self.squads.iter().filter(|squad| squad.arrives == arrives);
        all.find_map(|squad| {
            let turn = squad.classes.iter().position(|other| *other == class)?;
            Some((squad, turn))
        })
    }

    /// The arrivals of a class, by operation.
    pub fn arrivals_of(&self, class: usize) -> impl Iterator<Item = usize> {
        of(&self.arrivals, class)
    }

    /// The arrivals of a class that are filled.
    pub fn filled_of(&self, class: usize) -> impl Iterator<Item = usize> {
        let filled = move |site: &usize| !self.unfilled.contains(&(class, *site));
        self.arrivals_of(class).filter(filled)
    }

    /// The waits of a class.
    pub fn waits_of(&self, class: usize) -> impl Iterator<Item = usize> {
        of(&self.waits, class)
    }

    /// Whether a class delivers bytes without arriving.
    pub fn brings(&self, class: usize) -> bool {
        self.bringing.contains(&class)
    }

    /// Whether some classes deliver bytes without arriving.
    pub fn mixed(&self) -> bool {
        !self.bringing.is_empty()
    }

    /// The classes that arrive, or bring bytes.
    pub fn arriving(&self) -> Vec<usize> {
        let mut all: Vec<usize> = self.arrivals.iter().map(|(class, _)| *class).collect();
        all.dedup();
        all
    }
}

fn of(uses: &[(usize, usize)], class: usize) -> impl Iterator<Item = usize> {
    let own = uses.iter().filter(move |(other, _)| *other == class);
    own.map(|(_, site)| *site)
}

/// The rings of a protocol, and for each shadow the class that it belongs to (see `bytes.rs`). Shadows are numbered
/// in this order, after the last class. Here registrations belong to classes; `repeated_registrations.rs` moves some
/// of them to shadows.
///
/// # Errors
///
/// An operation that is not on a ring.
pub fn rings(
    protocol: &Protocol,
    classes: &[Class],
    apart: &[Element],
) -> Result<(Vec<Ring>, Vec<usize>), Unsupported> {
    let mut rings = of_uses(protocol, classes, apart)?;
    let shadows = shadows(&mut rings, classes);
    for ring in &mut rings {
        let arriving = ring.arriving();
        let mut brought = ring.deliveries.clone();
        brought.retain(|(class, _)| !arriving.contains(class));
        ring.bringing = brought.iter().map(|(class, _)| *class).collect();
        ring.bringing.dedup();
        brought.retain(|(class, site)| {
            let class = member(*class, classes.len(), &shadows);
            together(&classes[class].flow.sites, *site).last() == Some(site)
        });
        ring.arrivals.extend(brought);
        ring.arrivals.sort_unstable();
    }
    Ok((rings, shadows))
}

/// The class to which the members of a class or shadow belong, if there are this many classes. A shadow has the
/// members of its class.
pub fn member(class: usize, classes: usize, shadows: &[usize]) -> usize {
    let shadow = class.checked_sub(classes).and_then(|nth| shadows.get(nth));
    shadow.copied().unwrap_or(class)
}

/// Assigns the deliveries that are separate from the arrivals of their class to shadows of the class: the first ones
/// to its first shadow, those after a barrier to its second shadow, and so on. If the class does not arrive, the
/// first ones belong to the class itself. Every other way to distribute them would be equally sound.
fn shadows(rings: &mut [Ring], classes: &[Class]) -> Vec<usize> {
    let mut shadows: Vec<usize> = Vec::new();
    for ring in rings {
        let arriving = ring.arriving();
        // The deliveries of each class that are separate from its arrivals. Deliveries without a wait in between are
        // listed by the last of them.
        let mut apart: BTreeSet<(usize, usize)> = BTreeSet::new();
        for (class, site) in &mut ring.deliveries {
            let sites = &classes[*class].flow.sites;
            let arrives = |at: &usize| matches!(sites[*at].kind, Kind::Arrive { .. });
            let at_once = together(sites, *site);
            let arrives_at_all = arriving.contains(class);
            if arrives_at_all && at_once.iter().any(arrives) {
                continue;
            }
            let last = at_once.last().copied().unwrap_or(*site);
            // After an arrival or a wait by parity, another turn may begin.
            let begins = |at: &usize| {
                let waits = matches!(sites[*at].kind, Kind::WaitParity { .. });
                waits || ring.arrivals.contains(&(*class, *at))
            };
            let turn = (0..*site).rev().find(begins).map_or(0, exact::next);
            let of_turn = apart.range((*class, turn)..(*class, last));
            let earlier = of_turn.filter(|(_, at)| {
                let [this, other] = [*site, *at].map(|at| &sites[at]);
                this.path == other.path && this.index == other.index
            });
            // If the class does not arrive, the first ones are its own.
            let number = earlier.count().checked_sub(usize::from(!arrives_at_all));
            apart.insert((*class, last));
            let Some(number) = number else { continue };
            let nth = shadow(&mut shadows, *class, number);
            *class = exact::together(classes.len(), nth);
        }
        ring.deliveries.sort_unstable();
    }
    shadows
}

/// The position of a class's `number`th shadow, or of the next one if it has no more than that yet.
pub(super) fn shadow(shadows: &mut Vec<usize>, class: usize, number: usize) -> usize {
    let mut own = (0..shadows.len()).filter(|nth| shadows[*nth] == class);
    own.nth(number).unwrap_or_else(|| {
        let nth = shadows.len();
        shadows.push(class);
        nth
    })
}

/// What distinguishes rings: the object, the indices that are numbers, and the count of registrations that are kept
/// apart.
type Key = (usize, Vec<Option<i64>>, Option<i64>);

/// The rings, before deliveries are added to the arrivals.
fn of_uses(
    protocol: &Protocol,
    classes: &[Class],
    apart: &[Element],
) -> Result<Vec<Ring>, Unsupported> {
    let mut moving: Vec<Vec<bool>> = protocol
        .objects
        .iter()
        .map(|object| vec![false; object.extents.len()])
        .collect();
    for site in classes.iter().flat_map(|class| &class.flow.sites) {
        for (at, index) in site.index.iter().enumerate() {
            moving[site.object.0][at] |= !matches!(index, Expr::Int(_));
        }
    }
    let mut rings: BTreeMap<Key, Ring> = BTreeMap::new();
    for (class, site, this) in uses(classes) {
        let object = &protocol.objects[this.object.0];
        if let (Kind::Acquire { .. } | Kind::Release { .. }, ObjectKind::Pool { .. }) =
            (&this.kind, &object.kind)
        {
            continue;
        }
        let count = count(&classes[class], site, apart)?;
        let moves: Vec<usize> = (0..this.index.len())
            .filter(|at| moving[this.object.0][*at])
            .collect();
        if moves.len() > 1 {
            return Err(Unsupported::at(this.span, "two indices that move"));
        }
        let fixed = this
            .index
            .iter()
            .enumerate()
            .map(|(at, index)| match index {
                Expr::Int(value) if !moving[this.object.0][at] => Some(*value),
                _ => None,
            });
        let moves = moves.first().copied();
        let ring = rings
            .entry((this.object.0, fixed.collect(), count))
            .or_insert_with(|| Ring {
                object: this.object.0,
                count,
                moving: moves,
                size: moves.map_or(Expr::Int(1), |at| object.extents[at].clone()),
                arrivals: Vec::new(),
                waits: Vec::new(),
                deliveries: Vec::new(),
                bringing: Vec::new(),
                unfilled: Vec::new(),
                seats: Vec::new(),
                squads: Vec::new(),
                inits: Vec::new(),
                uses: Vec::new(),
            });
        if let ObjectKind::Mbarrier {
            explicit_init: true,
            ..
        } = &object.kind
        {
            match this.kind {
                Kind::Init => {
                    ring.inits.push((class, site));
                    continue;
                }
                _ => ring.uses.push((class, site)),
            }
        }
        match (&this.kind, &object.kind) {
            (Kind::Arrive { .. }, ObjectKind::Mbarrier { .. })
            | (Kind::Register { .. }, ObjectKind::Named | ObjectKind::Barrier { .. }) => {
                ring.arrivals.push((class, site));
            }
            (Kind::WaitParity { .. }, ObjectKind::Mbarrier { .. })
            | (Kind::Await, ObjectKind::Named | ObjectKind::Barrier { .. }) => {
                ring.waits.push((class, site));
            }
            (Kind::Deliver { .. }, ObjectKind::Mbarrier { .. }) => {
                ring.deliveries.push((class, site));
            }
            (Kind::Expect { .. }, ObjectKind::Mbarrier { .. }) => {}
            _ => return Err(Unsupported::at(this.span, "this operation")),
        }
    }
    Ok(rings.into_values().collect())
}

/// The count of an operation at an element whose registrations are kept apart by their counts (`separate_counts.rs`):
/// the count of its registration.
fn count(this: &Class, site: usize, apart: &[Element]) -> Result<Option<i64>, Unsupported> {
    let sites = &this.flow.sites;
    let of = &sites[site];
    let named = |element: &Element| {
        let index = element.index.iter().map(|at| Expr::Int(*at));
        element.object == of.object.0 && index.eq(of.index.iter().cloned())
    };
    if !apart.iter().any(named) {
        // An index that is not a number may be that of any element.
        let moves = apart.iter().any(|element| element.object == of.object.0)
            && of.index.iter().any(|at| !matches!(at, Expr::Int(_)));
        return match moves {
            true => Err(Unsupported::at(
                of.span,
                "such an index beside counts apart",
            )),
            false => Ok(None),
        };
    }
    let refuse = || Unsupported::at(of.span, "such an operation with counts apart");
    let first = match of.kind {
        Kind::Register { .. } => site,
        Kind::Await => site.checked_sub(1).ok_or_else(refuse)?,
        _ => return Err(refuse()),
    };
    let (register, wait) = (&sites[first], sites.get(exact::next(first)));
    let half = wait.is_some_and(|wait| {
        matches!(wait.kind, Kind::Await) && wait.stmt == register.stmt && wait.path == register.path
    });
    match &register.kind {
        Kind::Register {
            count: Expr::Int(count),
        } if half => Ok(Some(*count)),
        _ => Err(refuse()),
    }
}

/// The operations at the same element that a member does without waiting in between, under the same conditions.
pub(super) fn together(sites: &[Site], at: usize) -> Vec<usize> {
    let this = &sites[at];
    let same = |other: &usize| {
        let other = &sites[*other];
        other.object == this.object && other.index == this.index
    };
    run(sites, at).filter(same).collect()
}

/// The operations around one that a member does without waiting, under the same conditions.
fn run(sites: &[Site], at: usize) -> std::ops::Range<usize> {
    let waits = |site: &Site| matches!(site.kind, Kind::WaitParity { .. } | Kind::Await);
    let together = |other: &Site| other.path == sites[at].path && !waits(other);
    let before = sites[..at].iter().rev().take_while(|s| together(s)).count();
    let after = sites[at..].iter().take_while(|s| together(s)).count();
    let first = at.checked_sub(before).unwrap_or(at);
    first..exact::together(at, after)
}

/// Every operation, with its class and position.
fn uses(classes: &[Class]) -> impl Iterator<Item = (usize, usize, &Site)> {
    let numbered = classes.iter().enumerate();
    numbered.flat_map(|(class, this)| {
        let sites = this.flow.sites.iter().enumerate();
        sites.map(move |(at, site)| (class, at, site))
    })
}
