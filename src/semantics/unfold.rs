//! Unfolds a protocol at one input into an instance.
//!
//! The input is checked meanwhile: parameters against domains and assumptions, entries against extents, row orders
//! against rows. If the protocol leaves a row order open and the input does not fix it, this is recorded as a
//! [`Choice`], in the order in which choices are met. [`super::inputs`] enumerates inputs with the help of these
//! choices.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::protocol::Expr;
use crate::protocol::Initial;
use crate::protocol::Launch;
use crate::protocol::LaunchOrder;
use crate::protocol::Object;
use crate::protocol::ObjectKind;
use crate::protocol::Place;
use crate::protocol::Protocol;
use crate::protocol::Resident;
use crate::protocol::Role;
use crate::protocol::Span;
use crate::protocol::Stmt;
use crate::protocol::StmtId;
use crate::protocol::StmtKind;

use super::admit::IndexValues;
use super::admit::size;
use super::branching::Spent;
use super::data::Data;
use super::data::Gatherer;
use super::data::MemberPlace;
use super::data::Part;
use super::data::Share;
use super::error::Fault;
use super::error::RunError;
use super::eval::Env;
use super::input::Input;
use super::instance::CellId;
use super::instance::CellStart;
use super::instance::Instance;
use super::instance::LaunchPlan;
use super::instance::Member;
use super::instance::ObjectLayout;
use super::instance::RoleLayout;
use super::instance::flat_cell;
use super::pattern::PatternData;
use super::possible_results::PossibleResults;
use super::program::Walker;

pub use super::admit::Limits;
pub use super::admit::check_params;
pub use super::admit::pattern_data;
pub use super::program::Choice;
pub use super::program::Reached;

/// The instance of a protocol at an input.
pub fn instantiate(protocol: &Protocol, input: &Input) -> Result<Instance, RunError> {
    instantiate_with(protocol, input, &Limits::default()).map(|(instance, _)| instance)
}

/// The instance, and the row orders that it used in the order in which they were met. `limits` bounds the size of the
/// instance.
pub fn instantiate_with(
    protocol: &Protocol,
    input: &Input,
    limits: &Limits,
) -> Result<(Instance, Vec<Choice>), RunError> {
    let (instance, choices, _) = instantiate_all(protocol, input, limits, None)?;
    Ok((instance, choices))
}

/// What each member does at each `if` and loop of its program, for an input that has an instance.
pub fn reached(
    protocol: &Protocol,
    input: &Input,
) -> Result<Vec<BTreeMap<StmtId, Reached>>, RunError> {
    let limits = Limits::default();
    let patterns = pattern_data(protocol, input, &limits)?;
    let env = Env::new(protocol, &input.params, &patterns, limits.work);
    let mut unfolder = Unfolder::new(protocol, input, env, &limits)?;
    let mut all = Vec::new();
    for position in 0..protocol.roles.len() {
        unfolder.each_member(protocol, position, &mut |unfolder, index| {
            unfolder.walker.reached = Some(BTreeMap::new());
            unfolder.member(position, index, &protocol.roles[position].body)?;
            all.push(unfolder.walker.reached.take().unwrap_or_default());
            Ok(())
        })?;
    }
    Ok(all)
}

/// The instance, the row orders that it used, and a share of its data if one is given.
pub(super) fn instantiate_all(
    protocol: &Protocol,
    input: &Input,
    limits: &Limits,
    share: Option<Share>,
) -> Result<(Instance, Vec<Choice>, Option<Data>), RunError> {
    check_params(protocol, &input.params)?;
    let patterns = pattern_data(protocol, input, limits)?;
    let mut returned = PossibleResults::default();
    let mut spent = Spent::default();
    loop {
        let fixed = (limits, &patterns[..], share);
        let unfolded = unfolded(protocol, input, fixed, &returned, &mut spent)?;
        match returned.beyond(&unfolded.0)? {
            Some(more) => returned = more,
            None => return Ok(unfolded),
        }
    }
}

/// Unfolds the protocol under the assumption that atomic operations return only the values in `returned`.
fn unfolded(
    protocol: &Protocol,
    input: &Input,
    (limits, patterns, share): (&Limits, &[PatternData], Option<Share>),
    returned: &PossibleResults,
    spent: &mut Spent,
) -> Result<(Instance, Vec<Choice>, Option<Data>), RunError> {
    let env = Env::new(protocol, &input.params, patterns, limits.work);
    let mut unfolder = Unfolder::new(protocol, input, env, limits)?;
    unfolder.returned = returned.clone();
    unfolder.walker.spent = *spent;
    unfolder.start_values(protocol)?;
    if let Some(share) = share {
        let buffers = &protocol.buffers;
        let walker = &mut unfolder.walker;
        let limits = (limits, share);
        let mut gatherer = Gatherer::new(buffers, &walker.objects, &mut walker.env, limits)?;
        gatherer.returned(returned_pools(protocol, &walker.objects));
        walker.data = Some(gatherer);
        match share {
            Share::Accesses => {}
            Share::Claims => unfolder.invariants(protocol)?,
            Share::Homes => unfolder.homes(protocol)?,
        }
    }
    let mut roles = Vec::new();
    for position in 0..protocol.roles.len() {
        roles.push(unfolder.role(protocol, position)?);
    }
    *spent = unfolder.walker.spent;
    let instance = Instance {
        members: unfolder.members,
        cells: std::mem::take(&mut unfolder.walker.cells),
        objects: std::mem::take(&mut unfolder.walker.objects),
        roles,
        spans: statement_spans(protocol),
    };
    let data = unfolder.walker.data.take().map(Gatherer::into_data);
    Ok((instance, unfolder.walker.into_choices(), data))
}

struct Unfolder<'a> {
    limits: &'a Limits,
    walker: Walker<'a>,
    members: Vec<Member>,
    returned: PossibleResults,
}

impl<'a> Unfolder<'a> {
    /// Lays out the objects. There are no members yet.
    fn new(
        protocol: &Protocol,
        input: &'a Input,
        env: Env<'a>,
        limits: &'a Limits,
    ) -> Result<Unfolder<'a>, RunError> {
        let mut unfolder = Unfolder {
            limits,
            walker: Walker::new(input, env, limits.ops),
            members: Vec::new(),
            returned: PossibleResults::default(),
        };
        for buffer in &protocol.buffers {
            let extents = unfolder.walker.env.values(&buffer.extents);
            unfolder.walker.extents.push(extents.ok());
        }
        for object in &protocol.objects {
            unfolder
                .object(object)
                .map_err(|f| RunError::at(f, object.span))?;
        }
        Ok(unfolder)
    }
}

impl Unfolder<'_> {
    fn object(&mut self, object: &Object) -> Result<(), Fault> {
        let extents = self.walker.env.values(&object.extents)?;
        let extents: Vec<i64> = extents.into_iter().map(|e| e.max(0)).collect();
        let first = self.walker.cells.len();
        let count = size(&extents, self.limits.cells, first as u64, "cells")?;
        let start = match &object.kind {
            ObjectKind::Semaphore(Initial::Value(value)) => {
                CellStart::Semaphore(self.walker.env.value(value)?)
            }
            ObjectKind::Semaphore(Initial::Any) => CellStart::Semaphore(0),
            ObjectKind::Mbarrier {
                arrivals,
                explicit_init,
            } => {
                let arrivals = self.arrivals(arrivals, count)?;
                match explicit_init {
                    true => CellStart::Uninitialized(arrivals),
                    false => CellStart::Mbarrier(arrivals),
                }
            }
            ObjectKind::Named => CellStart::Named,
            ObjectKind::Barrier { arrivals } => CellStart::Barrier(self.arrivals(arrivals, count)?),
            ObjectKind::Pool { capacity, .. } => {
                let capacity = self.walker.env.value(capacity)?;
                if capacity < 0 && count > 0 {
                    return Err(Fault::PoolAmount(capacity));
                }
                CellStart::Pool(capacity)
            }
        };
        self.walker.cells.resize(first + count, start);
        self.walker.objects.push(ObjectLayout {
            name: object.name.clone(),
            extents,
            cells: first..first + count,
        });
        Ok(())
    }

    /// How many arrivals each of `count` barriers expects.
    fn arrivals(&mut self, arrivals: &Expr, count: usize) -> Result<i64, Fault> {
        let arrivals = self.walker.env.value(arrivals)?;
        // The count does not matter if the array of barriers is empty.
        if arrivals < 1 && count > 0 {
            return Err(Fault::ArrivalCount(arrivals));
        }
        Ok(arrivals)
    }

    fn start_values(&mut self, protocol: &Protocol) -> Result<(), RunError> {
        for ((object, index), value) in &self.walker.input.initial {
            let declared = protocol.objects.get(*object);
            let open = declared.is_some_and(|o| o.kind == ObjectKind::Semaphore(Initial::Any));
            let flat = flat_cell(&self.walker.objects, *object, index).ok();
            match flat {
                Some(flat) if open && *value >= 0 => {
                    self.walker.cells[flat] = CellStart::Semaphore(*value);
                }
                _ => {
                    let name = declared.map(|o| o.name.clone());
                    return Err(RunError {
                        fault: Fault::BadInitial {
                            object: name.unwrap_or_else(|| object.to_string()),
                            index: index.clone(),
                            value: *value,
                        },
                        span: declared.map(|o| o.span),
                    });
                }
            }
        }
        Ok(())
    }

    /// Adds every invariant, at all values of its indices.
    fn invariants(&mut self, protocol: &Protocol) -> Result<(), RunError> {
        let Some(mut data) = self.walker.data.take() else {
            return Ok(());
        };
        data.progress(&protocol.progress);
        let env = &mut self.walker.env;
        for invariant in &protocol.invariants {
            let here = |fault| RunError::at(fault, invariant.span);
            env.clear();
            let extents: Vec<Expr> = invariant.indices.iter().map(|i| i.extent.clone()).collect();
            let extents = env.values(&extents).map_err(here)?;
            size(&extents, self.limits.cells, 0, "invariants").map_err(here)?;
            for values in IndexValues::new(&extents) {
                let mut named = Vec::with_capacity(values.len());
                for (index, value) in invariant.indices.iter().zip(&values) {
                    env.set(index.var, *value).map_err(here)?;
                    named.push((protocol.vars[index.var.0].name.clone(), *value));
                }
                data.invariant(invariant, env, named).map_err(here)?;
            }
        }
        self.walker.data = Some(data);
        Ok(())
    }

    /// Notes where the elements of objects lie.
    fn homes(&mut self, protocol: &Protocol) -> Result<(), RunError> {
        let mut homes = Vec::with_capacity(self.walker.cells.len());
        for (position, object) in protocol.objects.iter().enumerate() {
            let here = |fault| RunError::at(fault, object.span);
            let layout = self.walker.objects[position].clone();
            let Some(home) = &object.home else {
                homes.resize(layout.cells.end, None);
                continue;
            };
            for index in IndexValues::new(&layout.extents) {
                self.walker.env.clear();
                for (var, value) in home.indices.iter().zip(&index) {
                    self.walker.env.set(*var, *value).map_err(here)?;
                }
                let place = self.parts(&home.place, (0, 0)).map_err(here)?;
                homes.push(Some(place));
            }
        }
        self.walker.env.clear();
        if let Some(data) = &mut self.walker.data {
            data.homes(homes);
        }
        Ok(())
    }

    /// Calls a function for each member of a role, with the role's indices at their values.
    fn each_member(
        &mut self,
        protocol: &Protocol,
        position: usize,
        with: &mut impl FnMut(&mut Self, Vec<i64>) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let role = &protocol.roles[position];
        let in_header = |fault| RunError::at(fault, role.span);
        self.walker.env.clear();
        let extents: Vec<Expr> = role.indices.iter().map(|i| i.extent.clone()).collect();
        let extents = self.walker.env.values(&extents).map_err(in_header)?;
        let first = self.members.len() as u64;
        size(&extents, self.limits.members, first, "members").map_err(in_header)?;
        for index in IndexValues::new(&extents) {
            self.walker.env.clear();
            for (name, value) in role.indices.iter().zip(&index) {
                self.walker.env.set(name.var, *value).map_err(in_header)?;
            }
            with(self, index)?;
        }
        Ok(())
    }

    /// Unfolds the program of a member. Its indices have their values already.
    fn member(&mut self, role: usize, index: Vec<i64>, body: &[Stmt]) -> Result<(), RunError> {
        let (ops, next) = self.walker.walk(role, &index, body, &self.returned)?;
        self.members.push(Member {
            role,
            index,
            ops,
            next,
        });
        Ok(())
    }

    fn role(&mut self, protocol: &Protocol, position: usize) -> Result<RoleLayout, RunError> {
        let role = &protocol.roles[position];
        let in_header = |fault| RunError::at(fault, role.span);
        let first = self.members.len();
        self.each_member(protocol, position, &mut |unfolder, index| {
            let share = unfolder.walker.data.as_ref().map(|data| data.share);
            let place = match share {
                None => None,
                // The place of a member has no effect on its claims.
                Some(Share::Claims) => Some(MemberPlace::default()),
                Some(Share::Accesses | Share::Homes) => {
                    let place = unfolder.place(role, position, unfolder.members.len());
                    Some(place.map_err(in_header)?)
                }
            };
            if let (Some(data), Some(place)) = (&mut unfolder.walker.data, place) {
                data.place(place);
            }
            unfolder.member(position, index, &role.body)
        })?;
        let members = first..self.members.len();
        self.walker.env.clear();
        let launch = role.launch.as_ref();
        let launch = launch.map(|l| self.launch(l, members.clone())).transpose();
        Ok(RoleLayout {
            name: role.name.clone(),
            launch: launch.map_err(in_header)?,
            members,
        })
    }

    /// Where a member runs. Its indices have their values already.
    fn place(&mut self, role: &Role, position: usize, member: usize) -> Result<MemberPlace, Fault> {
        let own = match &role.launch {
            None => (0, 0),
            Some(_) => (position + 1, member as i64),
        };
        self.parts(&role.place, own)
    }

    /// Evaluates a place. `own` is the CTA or the cluster if the text writes none.
    fn parts(&mut self, place: &Place, own: Part) -> Result<MemberPlace, Fault> {
        let mut part = |value: &Option<Expr>, other| match value {
            Some(value) => Ok((0, self.walker.env.value(value)?)),
            None => Ok(other),
        };
        Ok(MemberPlace {
            cta: part(&place.cta, own)?,
            cluster: part(&place.cluster, own)?,
            gpu: part(&place.gpu, (0, 0))?,
        })
    }

    fn launch(&mut self, launch: &Launch, members: Range<usize>) -> Result<LaunchPlan, Fault> {
        let order = match &launch.order {
            LaunchOrder::Any => None,
            LaunchOrder::Sorted(keys) => {
                let mut order: Vec<usize> = members.collect();
                order.sort_by(|a, b| {
                    let at = |member: &usize, index| self.members[*member].index.get(index);
                    keys.iter()
                        .map(|key| {
                            let ascending = at(a, key.index).cmp(&at(b, key.index));
                            if key.descending {
                                ascending.reverse()
                            } else {
                                ascending
                            }
                        })
                        .fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
                });
                Some(order)
            }
        };
        let resident = match &launch.resident {
            Resident::All => None,
            Resident::AtMost(count) => {
                let count = self.walker.env.value(count)?;
                if count < 1 {
                    return Err(Fault::Resident(count));
                }
                Some(usize::try_from(count).unwrap_or(usize::MAX))
            }
        };
        Ok(LaunchPlan { order, resident })
    }
}

/// The elements of pools to which everything has to be given back by the end of a run.
fn returned_pools(protocol: &Protocol, objects: &[ObjectLayout]) -> Vec<CellId> {
    let objects = protocol.objects.iter().zip(objects);
    let returned =
        objects.filter(|(o, _)| matches!(o.kind, ObjectKind::Pool { returned: true, .. }));
    let cells = returned.flat_map(|(_, layout)| layout.cells.clone());
    cells.map(|flat| CellId(flat as u32)).collect()
}

fn statement_spans(protocol: &Protocol) -> Vec<Span> {
    fn visit(body: &[Stmt], spans: &mut BTreeMap<StmtId, Span>) {
        for stmt in body {
            spans.insert(stmt.id, stmt.span);
            match &stmt.kind {
                StmtKind::If {
                    then, otherwise, ..
                } => {
                    visit(then, spans);
                    visit(otherwise, spans);
                }
                StmtKind::For { body, .. } => visit(body, spans),
                _ => {}
            }
        }
    }
    let mut spans = BTreeMap::new();
    for role in &protocol.roles {
        visit(&role.body, &mut spans);
    }
    let count = spans.last_key_value().map_or(0, |(id, _)| id.0 + 1);
    (0..count)
        .map(|id| spans.get(&StmtId(id)).copied().unwrap_or_default())
        .collect()
}
