//! Searches for certificates with turns, by fitting them to small inputs.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use itertools::Itertools;

use crate::proof::sample;
use crate::proof::whole_grid_fits;
use crate::protocol::Expr;
use crate::protocol::LaunchOrder;
use crate::protocol::Protocol;
use crate::protocol::Resident;
use crate::semantics::eval::Env;
use crate::semantics::input::Input;
use crate::semantics::instance::CellStart;
use crate::semantics::instance::Instance;
use crate::semantics::instance::OpKind;
use crate::semantics::unfold::Limits;
use crate::semantics::unfold::pattern_data;
use crate::trusted::certificate::Name;
use crate::trusted::certificate::Product;
use crate::trusted::certificate::Sum;
use crate::trusted::events::certificate::Awaited;
use crate::trusted::events::certificate::Component;
use crate::trusted::events::certificate::Events;
use crate::trusted::events::certificate::Key;
use crate::trusted::events::certificate::Numbered;
use crate::trusted::events::certificate::Reading;
use crate::trusted::events::certificate::Turns;
use crate::trusted::events::program::Event;
use crate::trusted::events::program::Kind;
use crate::trusted::events::program::program;

/// How many inputs are examined.
const SAMPLES: usize = 30;

/// The most indices of a role for which all orders are tried.
const MAX_INDICES: usize = 3;

/// A wait of a member, and the member that has the turn before.
struct Follows {
    member: usize,
    at: usize,
    before: usize,
    /// The waits of that member before it ends its turn.
    waits: Vec<usize>,
}

/// A wait of a member in a sample.
struct Turn {
    member: usize,
    /// Its position in the member's program.
    at: usize,
    turn: i64,
}

/// Turns of one role at all semaphores that it waits for.
pub fn guess(protocol: &Protocol) -> Result<Events, String> {
    let none = |what: &str| Err(what.to_owned());
    let mut programs = Vec::new();
    for role in &protocol.roles {
        programs.push(program(role).map_err(crate::proof::uncovered)?);
    }
    let all = programs.iter().enumerate();
    let waiting = all.flat_map(|(role, program)| {
        let waits = program.events.iter().filter(|event| event.waits());
        waits.map(move |event| (role, event.object))
    });
    let waiting: BTreeSet<(usize, usize)> = waiting.collect();
    let roles: BTreeSet<usize> = waiting.iter().map(|(role, _)| *role).collect();
    let (Some(role), 1) = (roles.first().copied(), roles.len()) else {
        return none("not members of one role wait");
    };
    let samples = sample::instances(protocol, SAMPLES, 0);
    if samples.is_empty() {
        return none("there is no small input");
    }
    let search = Search {
        protocol,
        role,
        samples: &samples,
    };
    let mut turns = Vec::new();
    for (_, object) in waiting {
        let events = programs[role].events.iter();
        let mut waits = events
            .enumerate()
            .filter(|(_, e)| e.object == object && e.waits());
        let Some((wait, event)) = waits.next() else {
            continue;
        };
        turns.push(search.turns(object, wait, event)?);
    }
    let (whole, rank) = search.rank(&turns, &search.all_taken(&turns)?)?;
    let waits = programs.iter().flat_map(|program| &program.events);
    let waits = waits.filter(|event| event.waits());
    Ok(Events {
        whole: (0..protocol.roles.len())
            .map(|r| r == role && whole)
            .collect(),
        turns,
        waits: waits
            .map(|_| Awaited {
                rank: rank.clone(),
                supplies: Vec::new(),
            })
            .collect(),
    })
}

struct Search<'p> {
    protocol: &'p Protocol,
    role: usize,
    samples: &'p [(Input, Instance)],
}

impl Search<'_> {
    /// The members that wait at each element, by turn.
    fn taken(
        &self,
        instance: &Instance,
        object: usize,
    ) -> Result<BTreeMap<usize, Vec<Turn>>, String> {
        let layout = &instance.objects[object];
        let mut all: BTreeMap<usize, Vec<Turn>> = BTreeMap::new();
        for (member, this) in instance.members.iter().enumerate() {
            for (at, op) in this.ops.iter().enumerate() {
                let cell = op.cell.0 as usize;
                let (OpKind::Wait(_, value), true) = (op.kind, layout.cells.contains(&cell)) else {
                    continue;
                };
                let CellStart::Semaphore(start) = instance.cells[cell] else {
                    continue;
                };
                let turn = value - start;
                all.entry(cell).or_default().push(Turn { member, at, turn });
            }
        }
        for turns in all.values_mut() {
            turns.sort_by_key(|turn| turn.turn);
            let ascend = turns.iter().zip(0..).all(|(turn, nth)| turn.turn == nth);
            if !ascend {
                return Err("members do not take turns".to_owned());
            }
        }
        Ok(all)
    }

    /// Which member follows which at each element, in each sample.
    fn all_taken(&self, turns: &[Turns]) -> Result<Vec<Vec<Follows>>, String> {
        let mut all = Vec::new();
        for (_, instance) in self.samples {
            let mut follows = Vec::new();
            for turns in turns {
                for (cell, taken) in self.taken(instance, turns.object)? {
                    for pair in taken.windows(2) {
                        let (p, c) = (&pair[0], &pair[1]);
                        let ops = &instance.members[p.member].ops;
                        let add = ops.iter().position(|op| {
                            op.cell.0 as usize == cell && matches!(op.kind, OpKind::Add(_))
                        });
                        let Some(add) = add else {
                            return Err("a member takes a turn and gives no other one".to_owned());
                        };
                        let waits = (0..add).filter(|at| matches!(ops[*at].kind, OpKind::Wait(..)));
                        follows.push(Follows {
                            member: c.member,
                            at: c.at,
                            before: p.member,
                            waits: waits.collect(),
                        });
                    }
                }
            }
            all.push(follows);
        }
        Ok(all)
    }

    fn turns(&self, object: usize, wait: usize, event: &Event) -> Result<Turns, String> {
        let indices = self.protocol.roles[self.role].indices.len();
        let mut differ = BTreeSet::new();
        let mut all = Vec::new();
        for (_, instance) in self.samples {
            for turns in self.taken(instance, object)?.into_values() {
                let of: Vec<&Vec<i64>> = turns
                    .iter()
                    .map(|t| &instance.members[t.member].index)
                    .collect();
                for at in 0..indices {
                    if of.iter().any(|index| index[at] != of[0][at]) {
                        differ.insert(at);
                    }
                }
                let of: Vec<Vec<i64>> = of.into_iter().cloned().collect();
                all.push((instance, of));
            }
        }
        if differ.len() > MAX_INDICES {
            return Err("too many indices are counted".to_owned());
        }
        for counted in orders(&differ.into_iter().collect::<Vec<_>>()) {
            let position = |instance: &Instance, index: &[i64]| {
                let mut at = 0;
                for key in &counted {
                    let extent = self.extent(instance, key.index);
                    let own = index[key.index];
                    at = at * extent
                        + if key.descending {
                            extent - 1 - own
                        } else {
                            own
                        };
                }
                at
            };
            let positions = all.iter().map(|(instance, of)| {
                let each = of.iter().map(|index| position(instance, index));
                each.collect::<Vec<i64>>()
            });
            let positions: Vec<Vec<i64>> = positions.collect();
            let ascend = |at: &Vec<i64>| at.windows(2).all(|pair| pair[0] < pair[1]);
            if positions.iter().all(ascend) {
                let next = |at: &Vec<i64>| at.windows(2).all(|pair| pair[0] + 1 == pair[1]);
                let numbered = match positions.iter().all(next) && !counts(event) {
                    true => Numbered::Block,
                    false => Numbered::Recurrence(wait, self.is_less(event, &counted)),
                };
                return Ok(Turns {
                    object,
                    role: self.role,
                    counted,
                    numbered,
                });
            }
        }
        let differ = |at: &usize| {
            all.iter()
                .any(|(_, of)| of.iter().any(|i| i[*at] != of[0][*at]))
        };
        let counted = (0..indices).filter(differ);
        Ok(Turns {
            object,
            role: self.role,
            counted: counted
                .map(|index| Key {
                    index,
                    descending: false,
                })
                .collect(),
            numbered: Numbered::Everybody,
        })
    }

    /// Whether, for members that do not come, the value of the wait would be one less than the number of members
    /// before.
    fn is_less(&self, event: &Event, counted: &[Key]) -> bool {
        let role = &self.protocol.roles[self.role];
        let (Kind::Wait(_, value), [Expr::Var(var)], [key]) =
            (&event.kind, &event.index[..], counted)
        else {
            return false;
        };
        for (input, instance) in self.samples {
            let limits = Limits::default();
            let Ok(patterns) = pattern_data(self.protocol, input, &limits) else {
                continue;
            };
            let layout = &instance.objects[event.object];
            let Ok(taken) = self.taken(instance, event.object) else {
                continue;
            };
            for (cell, turns) in taken {
                let own = |member: usize| instance.members[member].index[key.index];
                let members = instance.members.iter().enumerate();
                for (member, this) in members.filter(|(_, m)| m.role == self.role) {
                    if turns.iter().any(|turn| turn.member == member) {
                        continue;
                    }
                    let mut env = Env::new(self.protocol, &input.params, &patterns, limits.work);
                    for (index, value) in role.indices.iter().zip(&this.index) {
                        let _ = env.set(index.var, *value);
                    }
                    let _ = env.set(*var, element(&layout.extents, cell - layout.cells.start, 0));
                    let before = turns.iter().filter(|turn| match key.descending {
                        true => own(turn.member) > own(member),
                        false => own(turn.member) < own(member),
                    });
                    let Ok(before) = i64::try_from(before.count()) else {
                        continue;
                    };
                    let CellStart::Semaphore(start) = instance.cells[cell] else {
                        continue;
                    };
                    if let Ok(value) = env.value(value) {
                        return value - start + 1 == before;
                    }
                }
            }
        }
        false
    }

    /// How many values an index has.
    fn extent(&self, instance: &Instance, index: usize) -> i64 {
        let members = instance.members.iter().filter(|m| m.role == self.role);
        members.map(|m| m.index[index] + 1).max().unwrap_or(0)
    }

    /// Whether all members may be resident, and a rank that decreases from each wait to the waits of the member
    /// before.
    fn rank(
        &self,
        turns: &[Turns],
        follows: &[Vec<Follows>],
    ) -> Result<(bool, Vec<Component>), String> {
        let role = &self.protocol.roles[self.role];
        let limited = role.launch.as_ref().filter(|l| l.resident != Resident::All);
        let sorted = limited.is_none_or(|l| matches!(l.order, LaunchOrder::Sorted(_)));
        let fits = whole_grid_fits(self.samples);
        let indices: Vec<usize> = (0..role.indices.len()).collect();
        let member = |key: &Key| Component {
            of: Reading::Sum(Sum(vec![Product {
                times: 1,
                of: vec![Name::Var(role.indices[key.index].var.0)],
            }])),
            descending: key.descending,
        };
        let mut ranks: Vec<Vec<Component>> = Vec::new();
        if let Some(LaunchOrder::Sorted(keys)) = role.launch.as_ref().map(|l| &l.order) {
            let key = |key: &crate::protocol::LaunchKey| Key {
                index: key.index,
                descending: key.descending,
            };
            ranks.push(keys.iter().map(|k| member(&key(k))).collect());
        }
        if indices.len() <= MAX_INDICES {
            ranks.extend(
                orders(&indices)
                    .iter()
                    .map(|keys| keys.iter().map(&member).collect()),
            );
        }
        let turn = |descending| Component {
            of: Reading::Turn,
            descending,
        };
        let elements = turns
            .iter()
            .map(|t| self.protocol.objects[t.object].extents.len())
            .max();
        let mut single = vec![turn(false)];
        for descending in [false, true] {
            single.extend((0..elements.unwrap_or(0)).map(|at| Component {
                of: Reading::Element(at),
                descending,
            }));
            single.extend(
                indices
                    .iter()
                    .map(|&index| member(&Key { index, descending })),
            );
        }
        ranks.extend(single.iter().map(|one| vec![one.clone()]));
        for (a, b) in single.iter().cartesian_product(&single) {
            ranks.push(vec![a.clone(), b.clone()]);
        }
        for rank in ranks {
            let Some(earlier) = self.fits(follows, &rank) else {
                continue;
            };
            match limited.is_none() || (earlier && sorted) {
                true => return Ok((false, rank)),
                false if fits => return Ok((true, rank)),
                false => {}
            }
        }
        Err("no rank of this form fits".to_owned())
    }

    /// Whether a rank decreases in all samples; and if so, whether the member with the turn before always starts
    /// earlier.
    fn fits(&self, follows: &[Vec<Follows>], rank: &[Component]) -> Option<bool> {
        let role = &self.protocol.roles[self.role];
        let mut earlier = true;
        for ((_, instance), follows) in self.samples.iter().zip(follows) {
            let value = |member: usize, at: usize| -> Vec<i64> {
                let op = &instance.members[member].ops[at];
                let cell = op.cell.0 as usize;
                let one = |component: &Component| {
                    let value = match &component.of {
                        Reading::Sum(sum) => {
                            let var = sum.0.first().and_then(|p| p.of.first());
                            let mut all = role.indices.iter();
                            let at = all.position(|i| Some(&Name::Var(i.var.0)) == var);
                            at.map_or(0, |at| instance.members[member].index[at])
                        }
                        Reading::Turn => match (op.kind, instance.cells[cell]) {
                            (OpKind::Wait(_, value), CellStart::Semaphore(start)) => value - start,
                            _ => 0,
                        },
                        Reading::Element(at) => {
                            let mut objects = instance.objects.iter();
                            let layout = objects.find(|o| o.cells.contains(&cell));
                            layout.map_or(0, |o| element(&o.extents, cell - o.cells.start, *at))
                        }
                    };
                    if component.descending { -value } else { value }
                };
                rank.iter().map(one).collect()
            };
            let order = instance.roles[self.role]
                .launch
                .as_ref()
                .and_then(|l| l.order.as_ref());
            let place = |member: usize| order.and_then(|o| o.iter().position(|m| *m == member));
            for this in follows {
                let own = value(this.member, this.at);
                if this.waits.iter().any(|at| value(this.before, *at) >= own) {
                    return None;
                }
                earlier &= place(this.before) <= place(this.member);
            }
        }
        Some(earlier)
    }
}

/// Whether the awaited value is a count.
fn counts(event: &Event) -> bool {
    fn counts(expr: &Expr) -> bool {
        match expr {
            Expr::Count { .. } => true,
            Expr::Neg(e) | Expr::Not(e) => counts(e),
            Expr::Binary(_, a, b) => counts(a) || counts(b),
            Expr::If(c, a, b) => counts(c) || counts(a) || counts(b),
            _ => false,
        }
    }
    matches!(&event.kind, Kind::Wait(_, value) if counts(value))
}

/// An index of an element, by its number among all.
fn element(extents: &[i64], number: usize, at: usize) -> i64 {
    let behind: i64 = extents.iter().skip(at + 1).product();
    let Some(extent) = extents.get(at) else {
        return 0;
    };
    let number = i64::try_from(number).unwrap_or(0);
    number
        .checked_div(behind)
        .and_then(|n| n.checked_rem(*extent))
        .unwrap_or(0)
}

/// All orders of indices, each up or down.
fn orders(indices: &[usize]) -> Vec<Vec<Key>> {
    let mut all = Vec::new();
    for order in indices.iter().copied().permutations(indices.len()) {
        let keys = order
            .into_iter()
            .map(|index| [false, true].map(|descending| Key { index, descending }));
        let keys: Vec<[Key; 2]> = keys.collect();
        if keys.is_empty() {
            all.push(Vec::new());
        } else {
            all.extend(keys.into_iter().multi_cartesian_product());
        }
    }
    all
}
