//! Copies in the order of their numbers: CTAs of unknown number whose programs depend on which one
//! they are, that take turns at counters or wait for those before them.
//!
//! An index of unknown extent `X` numbers *copies*; it may be used in any way: as an element, in
//! trip counts, as the value a counter is waited for. The certificate says in which order of the
//! numbers the copies go, ascending or descending. The checker looks at one copy, whose number is
//! an unknown like a parameter, at members that belong to no copy, and
//!
//! - in (c) of the rule, takes the first copy with an unfinished member in the least stuck vector:
//!   those before it have done everything (`finished`), those after it have added something
//!   or nothing, so whoever is blocked is blocked without them. If all copies are finished,
//!   everything of theirs has been done, and it is about the members of no copy;
//! - in a cut, lets all copies before that of the held member be finished: a member at its end
//!   needs nothing to be blocked. Those after it are at places that the certificate names
//!   ([`elsewhere`](super::artefact::Hold::elsewhere)), as a function of the held member's place
//!   and of their own number; a symbolic one of them stands for all. What they have contributed is
//!   not summed up: wherever an element is said to lack something, the cut must show that none of
//!   them has added to it. If the member that is held belongs to no copy, all copies are finished.
//!
//! What finished copies have contributed is a sum over numbers, in closed form. Weights and sizes
//! must not depend on the number. An mbarrier or a named barrier that copies use must be *private*,
//! so that what the rule says about its participants is about one copy: every use is by a copy, at
//! an index that is the very number. Resets by copies, and pools, are refused.

use std::collections::BTreeMap;

use super::algebra;
use super::artefact::Order;
use super::class;
use super::class::Class;
use super::comparisons;
use super::copies;
use super::copies::Copies;
use super::flow::Kind;
use super::polynomial::Polynomial;
use super::rule::Rule;
use super::sharing;
use super::state::Element;
use super::state::FinishedCopies;
use super::state::LaterCopy;
use super::state::Resource;
use super::state::Setting;
use super::statements;
use crate::certificate::exact;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::protocol::BinaryOp;
use crate::protocol::Domain;
use crate::protocol::Expr;
use crate::protocol::ObjectKind;
use crate::protocol::Param;
use crate::protocol::ParamId;
use crate::protocol::Protocol;
use crate::protocol::Span;
use crate::protocol::StmtKind;
use crate::protocol::VarId;

/// One use of an object: the number of the copy that uses it, if it is one, and the index.
type Use = (Option<VarId>, Vec<Expr>);

/// A name for the number that sums run over.
const NUMBER: VarId = VarId(usize::MAX / 2 - 1);

/// How many symbolic copies there are: the one looked at, another one, and a third one.
const SYMBOLIC: usize = 3;

/// A protocol of ordered copies, seen from one of them.
#[derive(Debug, Clone)]
pub struct Ordered {
    /// In which order of their numbers they go.
    pub order: Order,
    /// How many there are.
    pub extent: Expr,
    /// Per role, whether it has a member in every copy.
    pub copied: Vec<bool>,
    /// The numbers of the symbolic copies, as parameters.
    pub numbers: Vec<ParamId>,
    /// The protocol of each of these copies alone, with those who belong to none.
    pub seen_from: Vec<Protocol>,
    /// Objects of which every copy has elements of its own, by position.
    pub private: BTreeMap<usize, usize>,
}

/// Looks for an index that numbers copies, to be looked at in this order.
pub fn ordered(protocol: &Protocol, order: Order) -> Option<Ordered> {
    let mut extents: Vec<&Expr> = Vec::new();
    for index in protocol.roles.iter().flat_map(|role| &role.indices) {
        let new = !extents.iter().any(|e| copies::equal(e, &index.extent));
        if new && sharing::open(protocol, &index.extent) {
            extents.push(&index.extent);
        }
    }
    let mut all = extents.into_iter();
    all.find_map(|extent| of_extent(protocol, extent, order))
}

fn of_extent(protocol: &Protocol, extent: &Expr, order: Order) -> Option<Ordered> {
    let mut vars = Vec::new();
    let mut otherwise = false;
    for role in &protocol.roles {
        let mut found = None;
        for index in &role.indices {
            let used = comparisons::used(&role.body, index.var);
            let open = sharing::open(protocol, &index.extent);
            if used.any() && open && copies::equal(&index.extent, extent) {
                otherwise |= used.otherwise;
                if found.replace(index.var).is_some() {
                    return None;
                }
            }
        }
        vars.push(found);
    }
    // Without another use than comparisons, members are told apart by these.
    let private = private(protocol, &vars)?;
    if !otherwise {
        return None;
    }
    let first = protocol.params.len();
    let numbers: Vec<ParamId> = (first..).take(SYMBOLIC).map(ParamId).collect();
    let seen_from = numbers.iter().map(|n| seen_from(protocol, &vars, *n));
    Some(Ordered {
        order,
        extent: extent.clone(),
        copied: vars.iter().map(Option::is_some).collect(),
        seen_from: seen_from.collect(),
        numbers,
        private,
    })
}

/// The private objects, unless an object that has to be private is not, or there is something that
/// copies may not do.
fn private(protocol: &Protocol, vars: &[Option<VarId>]) -> Option<BTreeMap<usize, usize>> {
    let mut uses: BTreeMap<usize, Vec<Use>> = BTreeMap::new();
    let mut refused = false;
    for (role, var) in protocol.roles.iter().zip(vars) {
        sharing::cells(&role.body, &mut |stmt, object, index| {
            refused |= var.is_some() && matches!(stmt.kind, StmtKind::Set { .. });
            let all = uses.entry(object).or_default();
            all.push((*var, index.to_vec()));
        });
    }
    let mut found = BTreeMap::new();
    for (object, uses) in &uses {
        let own = |at: usize| {
            let number = |var: &Option<VarId>, index: &[Expr]| match var {
                Some(var) => index.get(at) == Some(&Expr::Var(*var)),
                None => false,
            };
            uses.iter().all(|(var, index)| number(var, index))
        };
        let extents = protocol.objects[*object].extents.len();
        let position = (0..extents).find(|at| own(*at));
        let copied = uses.iter().any(|(var, _)| var.is_some());
        match (&protocol.objects[*object].kind, position) {
            (ObjectKind::Pool { .. }, _) => refused = true,
            (_, Some(position)) => {
                found.insert(*object, position);
            }
            (ObjectKind::Semaphore(_) | ObjectKind::Barrier { .. }, None) => {}
            (ObjectKind::Mbarrier { .. } | ObjectKind::Named, None) => refused |= copied,
        }
    }
    (!refused).then_some(found)
}

/// One copy, whose number is this parameter, and all who belong to none.
fn seen_from(protocol: &Protocol, vars: &[Option<VarId>], number: ParamId) -> Protocol {
    let mut one = protocol.clone();
    for name in ["copy.1", "copy.2", "copy.3"] {
        one.params.push(Param {
            name: name.to_owned(),
            domain: Domain::AtLeast(0),
            span: Span::default(),
        });
    }
    for (role, var) in one.roles.iter_mut().zip(vars) {
        if let Some(var) = var {
            role.indices.retain(|index| index.var != *var);
            let number = |v: VarId| (v == *var).then_some(Expr::Param(number));
            role.body =
                statements::replaced(&role.body, &|e| algebra::replace(e, &number, &|_| None));
        }
    }
    one
}

impl Ordered {
    /// The classes seen from each of the symbolic copies: those of the first, then those of the
    /// others.
    ///
    /// # Errors
    ///
    /// Refuses what the rule refuses, and amounts that depend on the number of the copy.
    pub fn classes(&self, fixed: &[(ParamId, i64)]) -> Result<[Vec<Class>; 2], Unsupported> {
        let mut all = Vec::new();
        for protocol in &self.seen_from {
            all.push(class::classes_of(protocol, fixed, &Copies::default())?);
        }
        for class in &all[0] {
            let number = self.numbers[0];
            if algebra::mentions_param(&class.size, number) {
                return Err(Unsupported::whole(
                    "a number of members that depends on the number of the copy",
                ));
            }
            for site in &class.flow.sites {
                let amount = match &site.kind {
                    Kind::Arrive { weight, .. } => weight,
                    Kind::Expect { bytes } | Kind::Deliver { bytes } => bytes,
                    Kind::Register { count } => count,
                    _ => continue,
                };
                if algebra::mentions_param(amount, number) {
                    let what = "an amount that depends on the number of the copy";
                    return Err(Unsupported::at(site.span, what));
                }
            }
        }
        let same = |other: &Vec<Class>| {
            let alike = |(a, b): (&Class, &Class)| {
                a.flow.sites.len() == b.flow.sites.len()
                    && a.flow.loops.len() == b.flow.loops.len()
                    && a.size == b.size
            };
            other.len() == all[0].len() && all[0].iter().zip(other).all(alike)
        };
        if !all[1..].iter().all(same) {
            return Err(Unsupported::whole("copies with different kinds of members"));
        }
        let first = all.remove(0);
        Ok([first, all.concat()])
    }

    /// That a number is one of a copy that comes after another one.
    fn after(&self, number: &Term, than: &Term, extent: &Term) -> Term {
        match self.order {
            Order::Ascending => term::and([term::lt(than, number), term::lt(number, extent)]),
            Order::Descending => {
                term::and([term::lt(number, than), term::le(&term::int(0), number)])
            }
        }
    }
}

impl<'a> Rule<'a> {
    /// A class, by position, of any of the symbolic copies.
    pub fn class(&self, position: usize) -> &'a Class {
        let own = self.classes.len();
        match position.checked_sub(own) {
            Some(other) => &self.shadows[other],
            None => &self.classes[position],
        }
    }

    /// The position of a class in the first copy.
    pub fn original(&self, position: usize) -> usize {
        position.checked_rem(self.classes.len()).unwrap_or(position)
    }

    /// Whether a class belongs to ordered copies.
    pub fn is_copied(&self, class: usize) -> bool {
        let role = self.class(class).role;
        self.ordered.is_some_and(|o| o.copied[role])
    }

    /// Whether a class is one of those that the first unfinished copy may be recognised by: any,
    /// unless copies go in order.
    pub fn is_first(&self, class: usize) -> bool {
        self.ordered.is_none() || self.is_copied(class)
    }

    /// What makes the number of a symbolic copy one: for the second one, that it comes after the
    /// first, and for the third one that it is yet another.
    pub fn is_number(&self, setting: &mut Setting<'a>, nth: usize) -> Result<Term, Unsupported> {
        let Some(ordered) = self.ordered else {
            return Ok(term::boolean(true));
        };
        let none = Default::default();
        let number = |setting: &mut Setting<'a>, at: usize| {
            let number = Expr::Param(ordered.numbers[at]);
            setting.terms.expr(&number, &none)
        };
        let extent = setting.terms.expr(&self.fix(&ordered.extent), &none)?;
        let this = number(setting, nth)?;
        if nth == 0 {
            return Ok(term::within(&term::int(0), &this, &extent));
        }
        let first = number(setting, 0)?;
        let mut all = vec![ordered.after(&this, &first, &extent)];
        if nth == 2 {
            let second = number(setting, 1)?;
            all.push(term::not(term::eq(&this, &second)));
        }
        Ok(term::and(all))
    }

    /// What finished copies have contributed to an element, as parts of a balance's need.
    pub fn finished(
        &self,
        setting: &mut Setting<'a>,
        element: &Element,
        resource: Resource,
        scale: i64,
        upto: FinishedCopies,
    ) -> Result<Vec<(Polynomial, Term)>, Unsupported> {
        let mut parts = Vec::new();
        let Some(ordered) = self.ordered else {
            return Ok(parts);
        };
        // A copy that is not finished has elements of its own.
        if ordered.private.contains_key(&element.object.0) {
            return Ok(parts);
        }
        let extent = algebra::max(Expr::Int(0), self.fix(&ordered.extent));
        let this = Expr::Param(ordered.numbers[0]);
        let next = algebra::add(this.clone(), Expr::Int(1));
        // From 0 to the second of these, without those from 0 to the first.
        let (without, to) = match (upto, ordered.order) {
            (FinishedCopies::All, _) => (Expr::Int(0), extent),
            (FinishedCopies::Before, Order::Ascending) => (Expr::Int(0), this),
            (FinishedCopies::Before, Order::Descending) => (next, extent),
        };
        let minus = Expr::Int(exact::difference(0, scale)?);
        for (position, class) in self.classes.iter().enumerate() {
            if !self.is_copied(position) {
                continue;
            }
            for (site, weight, times) in setting.contributed_at_end(class, element, resource)? {
                let span = class.flow.sites[site].span;
                let open = || Unsupported::at(span, "what all copies add here together");
                let times = numbered_by(&times, ordered.numbers[0]);
                let amount = algebra::mul(minus.clone(), algebra::mul(class.size.clone(), weight));
                if !algebra::mentions(&times, NUMBER) {
                    let copies = algebra::sub(to.clone(), without.clone());
                    let factor = Polynomial::of(&algebra::mul(amount, copies));
                    parts.push((factor, setting.terms.expr(&times, &element.env)?));
                    continue;
                }
                for (upto, sign) in [(&to, 1), (&without, -1)] {
                    if *upto == Expr::Int(0) {
                        continue;
                    }
                    let sum = total(&times, upto).ok_or_else(open)?;
                    let factor = algebra::mul(Expr::Int(sign), amount.clone());
                    let sum = setting.terms.expr(&sum, &element.env)?;
                    parts.push((Polynomial::of(&factor), sum));
                }
            }
        }
        Ok(parts)
    }

    /// That a symbolic copy, away from the one looked at, has contributed nothing to an element.
    pub fn idle(
        &self,
        setting: &mut Setting<'a>,
        element: &Element,
        resource: Resource,
        later: &LaterCopy,
    ) -> Result<Term, Unsupported> {
        let mut goals = Vec::new();
        if self
            .ordered
            .is_some_and(|o| o.private.contains_key(&element.object.0))
        {
            return Ok(term::boolean(true));
        }
        for (position, spots) in &later.spots {
            let class = self.class(*position);
            let size = setting.terms.expr(&class.size, &Default::default())?;
            let nobody = term::le(&size, &term::int(0));
            for spot in spots {
                let all = setting.contributions(class, spot, None, element, resource)?;
                for (_, times) in all {
                    if times != term::int(0) {
                        let nothing = term::eq(&times, &term::int(0));
                        let elsewhere = term::not(spot.when.clone());
                        goals.push(term::or([nobody.clone(), elsewhere, nothing]));
                    }
                }
            }
        }
        Ok(term::or([
            term::not(later.number.clone()),
            term::and(goals),
        ]))
    }
}

/// An expression with the number of the copy as a name.
fn numbered_by(expr: &Expr, number: ParamId) -> Expr {
    algebra::rewrite(expr, &|_| None, &|id| {
        (id == number).then_some(Expr::Var(NUMBER))
    })
}

/// The sum over the numbers from 0 to one that is not included. Where only one number counts, it
/// is the value there.
fn total(times: &Expr, upto: &Expr) -> Option<Expr> {
    if let Expr::If(condition, value, otherwise) = times
        && **otherwise == Expr::Int(0)
        && let Some(one) = only(condition)
    {
        let holds = Expr::all([
            algebra::at(condition, NUMBER, &one),
            Expr::binary(BinaryOp::Le, Expr::Int(0), one.clone()),
            Expr::binary(BinaryOp::Lt, one.clone(), upto.clone()),
        ]);
        return Some(algebra::choose(
            holds,
            algebra::at(value, NUMBER, &one),
            Expr::Int(0),
        ));
    }
    algebra::sum(times, NUMBER, upto)
}

/// The only number at which a condition can hold, if its shape says so.
fn only(condition: &Expr) -> Option<Expr> {
    use BinaryOp as B;
    match condition {
        Expr::Binary(B::And, a, b) => only(a).or_else(|| only(b)),
        Expr::Binary(B::Eq, ..) => algebra::interval(condition, NUMBER)?.lo,
        _ => None,
    }
}
