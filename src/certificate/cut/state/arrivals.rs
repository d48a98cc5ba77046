//! The arrivals at an element, given the places of all groups of members, and what a wait needs of them.
//!
//! Take a group of `m` members at a place, and an operation of weight `w` that each of them has executed `v` times. It
//! contributes `m * w * v` arrivals, less those that have not landed.

use super::Element;
use super::Group;
use super::Resource;
use super::Setting;
use super::Spot;
use super::WARP;
use super::Withheld;
use super::moves;
use super::uncounted;
use crate::certificate::cut::algebra;
use crate::certificate::cut::class::Class;
use crate::certificate::cut::count::Place;
use crate::certificate::cut::flow::Kind;
use crate::certificate::cut::polynomial::Polynomial;
use crate::certificate::exact;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;
use crate::protocol::Expr;
use crate::protocol::ObjectKind;

impl Setting<'_> {
    /// What each member of a class has contributed to an element when it has finished: the
    /// operation, its weight, and how often it was done.
    pub fn contributed_at_end(
        &self,
        class: &Class,
        element: &Element,
        resource: Resource,
    ) -> Result<Vec<(usize, Expr, Expr)>, Unsupported> {
        let mut all = Vec::new();
        for (at, weight) in self.contributing(class, element, resource)? {
            let times = class.flow.visits(at, &element.index, Place::End);
            all.push((at, weight, times.ok_or_else(|| moves(class, at))?));
        }
        Ok(all)
    }

    /// The operations of a class that contribute to an element's object, with their weights.
    fn contributing(
        &self,
        class: &Class,
        element: &Element,
        resource: Resource,
    ) -> Result<Vec<(usize, Expr)>, Unsupported> {
        let mut all = Vec::new();
        for (at, site) in class.flow.sites.iter().enumerate() {
            let weight = match resource {
                Resource::Arrivals => site.kind.arrivals(),
                Resource::Bytes => site.kind.bytes(),
                Resource::OpenBytes => match &site.kind {
                    Kind::Expect { bytes } => Some(bytes.clone()),
                    Kind::Deliver { bytes } => Some(algebra::sub(Expr::Int(0), bytes.clone())),
                    _ => None,
                },
            };
            let Some(weight) = weight.filter(|_| site.object == element.object) else {
                continue;
            };
            let mut loops = site.path.loops.iter();
            if loops.any(|l| algebra::mentions(&weight, class.flow.loops[*l].var)) {
                return Err(Unsupported::at(
                    site.span,
                    "an amount that differs between iterations",
                ));
            }
            all.push((at, weight));
        }
        Ok(all)
    }

    /// What a class's members at a spot have each contributed to an element: for every operation
    /// that contributes, its weight and how often it was done.
    pub fn contributions(
        &mut self,
        class: &Class,
        spot: &Spot,
        withheld: Option<&Withheld>,
        element: &Element,
        resource: Resource,
    ) -> Result<Vec<(Expr, Term)>, Unsupported> {
        Unsupported::unless_in_time()?;
        let with_element = |env: &Env| {
            let mut env = env.clone();
            env.extend(element.env.iter().map(|(v, t)| (*v, t.clone())));
            env
        };
        let mut all = Vec::new();
        for (at, weight) in self.contributing(class, element, resource)? {
            let site = &class.flow.sites[at];
            let (place, env) = match withheld {
                Some(w) if matches!(site.kind, Kind::Arrive { commit: true, .. }) => {
                    (Place::Site(w.site), &w.env)
                }
                _ => (spot.place, &spot.env),
            };
            let env = with_element(env);
            let times = class.flow.visits(at, &element.index, place);
            let times = times.ok_or_else(|| moves(class, at))?;
            all.push((weight, self.terms.expr(&times, &env)?));
        }
        Ok(all)
    }

    /// Arrivals at an element minus what `need` asks for: not negative iff it is met. `need` is a
    /// sum of polynomials over parameters times terms. `scale` multiplies the arrivals.
    pub fn balance(
        &mut self,
        groups: &[Group<'_>],
        element: &Element,
        resource: Resource,
        scale: i64,
        need: Vec<(Polynomial, Term)>,
    ) -> Result<Term, Unsupported> {
        let mut parts: Vec<(Polynomial, Term)> = Vec::new();
        for group in groups {
            let Some(size) = self.counting(group, element) else {
                continue;
            };
            let size = Polynomial::of(&size);
            let mut columns: Vec<Vec<(Expr, Term)>> = Vec::new();
            for spot in &group.spots {
                let withheld = group.withheld.as_ref();
                columns.push(self.contributions(group.class, spot, withheld, element, resource)?);
            }
            if let Some(withheld) = &group.withheld {
                parts.extend(self.not_delivered(group.class, withheld, element, resource)?);
            }
            if let Some(spread) = &group.spread {
                for (column, members) in columns.iter().zip(spread) {
                    for (weight, times) in column {
                        if *times != term::int(0) {
                            let scaled = algebra::mul(Expr::Int(scale), weight.clone());
                            let times = self.members_times(members, times);
                            parts.push((Polynomial::of(&scaled), times));
                        }
                    }
                }
                continue;
            }
            for row in 0..columns.first().map_or(0, Vec::len) {
                let weight = columns[0][row].0.clone();
                let Some(last) = columns.last() else { continue };
                let mut times = last[row].1.clone();
                for (spot, column) in group.spots.iter().zip(&columns).rev().skip(1) {
                    times = term::ite(&spot.when, &column[row].1, &times);
                }
                if times == term::int(0) {
                    continue;
                }
                let scaled = algebra::mul(Expr::Int(scale), weight);
                parts.push((size.times(&Polynomial::of(&scaled)), times));
            }
        }
        for (factor, times) in need {
            parts.push((Polynomial::default().minus(&factor), times));
        }
        self.weighted(parts)
    }

    /// How many members of a group an element has to do with, `None` for none: at a private element
    /// those of one copy, at a shared one those of all copies.
    pub fn counting(&self, group: &Group<'_>, element: &Element) -> Option<Expr> {
        let size = || group.size.clone();
        match &group.copy {
            None => Some(size()),
            Some(copy) if self.private.contains(&element.object.0) => {
                let there = element.copy.is_none_or(|tag| tag == copy.tag);
                there.then(size)
            }
            Some(copy) => Some(algebra::mul(size(), copy.count.clone())),
        }
    }

    /// What a delivery that has not landed takes away from what has been started.
    fn not_delivered(
        &mut self,
        class: &Class,
        withheld: &Withheld,
        element: &Element,
        resource: Resource,
    ) -> Result<Option<(Polynomial, Term)>, Unsupported> {
        let site = &class.flow.sites[withheld.site];
        let Kind::Deliver { bytes } = &site.kind else {
            return Ok(None);
        };
        if resource == Resource::Arrivals || site.object != element.object {
            return Ok(None);
        }
        let mut same = Vec::new();
        for (own, wanted) in site.index.iter().zip(&element.index) {
            let own = self.terms.expr(own, &withheld.env)?;
            let wanted = self.terms.expr(wanted, &element.env)?;
            same.push(term::eq(&own, &wanted));
        }
        let once = term::ite(&term::and(same), &term::int(1), &term::int(0));
        let amount = match resource {
            Resource::OpenBytes => Polynomial::of(bytes),
            _ => Polynomial::default().minus(&Polynomial::of(bytes)),
        };
        Ok(Some((amount, once)))
    }

    fn members_times(&mut self, members: &Term, times: &Term) -> Term {
        if *times == term::int(1) {
            members.clone()
        } else {
            self.terms.product(members, times)
        }
    }

    /// What a pool has left: its capacity minus what members hold at their spots.
    pub fn available(
        &mut self,
        groups: &[Group<'_>],
        element: &Element,
        capacity: &Expr,
    ) -> Result<Term, Unsupported> {
        let mut parts = vec![(Polynomial::of(capacity), term::int(1))];
        for group in groups {
            let Some(spread) = &group.spread else {
                continue;
            };
            for (spot, members) in group.spots.iter().zip(spread) {
                for (at, site) in group.class.flow.sites.iter().enumerate() {
                    let Some((amount, taken)) = site.pooled(element.object) else {
                        continue;
                    };
                    let visits = group.class.flow.visits(at, &element.index, spot.place);
                    let visits = visits.ok_or_else(|| uncounted(group.class, at))?;
                    let mut env = spot.env.clone();
                    env.extend(element.env.iter().map(|(v, t)| (*v, t.clone())));
                    let visits = self.terms.expr(&visits, &env)?;
                    if visits == term::int(0) {
                        continue;
                    }
                    let amount = Polynomial::of(amount);
                    let signed = if taken {
                        Polynomial::default().minus(&amount)
                    } else {
                        amount
                    };
                    let times = self.members_times(members, &visits);
                    parts.push((signed, times));
                }
            }
        }
        self.weighted(parts)
    }

    /// What arrivals at a wait's element are multiplied with, and what they must then reach.
    /// `generation` is for barriers; `above` is added to it, or to the awaited value.
    pub fn need(
        &mut self,
        class: &Class,
        site: usize,
        env: &Env,
        generation: Option<Term>,
        above: i64,
        fixed: &dyn Fn(&Expr) -> Expr,
    ) -> Result<(i64, Vec<(Polynomial, Term)>), Unsupported> {
        let this = &class.flow.sites[site];
        let object = &self.protocol.objects[this.object.0];
        let generation = generation
            .map(|g| term::sum([g, term::int(above)]))
            .ok_or_else(|| Unsupported::at(this.span, "a wait without a generation"));
        match (&object.kind, &this.kind) {
            (ObjectKind::Mbarrier { arrivals, .. } | ObjectKind::Barrier { arrivals }, _) => {
                Ok((1, vec![(Polynomial::of(&fixed(arrivals)), generation?)]))
            }
            (ObjectKind::Named, _) => {
                let count = named_count(class, site)?;
                Ok((WARP, vec![(Polynomial::of(&count), generation?)]))
            }
            (
                ObjectKind::Semaphore(crate::protocol::Initial::Value(start)),
                Kind::WaitValue { value, .. },
            ) => {
                let wanted = Polynomial::of(value)
                    .minus(&Polynomial::of(&fixed(start)))
                    .minus(&Polynomial::of(&Expr::Neg(Box::new(Expr::Int(above)))));
                Ok((1, self.separated(class, site, &wanted, env)?))
            }
            _ => Err(Unsupported::at(this.span, "a wait on this kind of object")),
        }
    }

    /// A polynomial as a sum of polynomials over parameters times what the loops' variables
    /// contribute.
    fn separated(
        &mut self,
        class: &Class,
        site: usize,
        polynomial: &Polynomial,
        env: &Env,
    ) -> Result<Vec<(Polynomial, Term)>, Unsupported> {
        let loops = &class.flow.sites[site].path.loops;
        let moves = |e: &Expr| {
            let mut vars = loops.iter().map(|l| class.flow.loops[*l].var);
            vars.any(|v| algebra::mentions(e, v))
        };
        let mut parts = Vec::new();
        for (coefficient, factors) in polynomial.terms() {
            let coefficient = i64::try_from(coefficient).map_err(|_| exact::too_large())?;
            let (moving, still): (Vec<Expr>, Vec<Expr>) =
                factors.iter().cloned().partition(|f| moves(f));
            let product = |all: Vec<Expr>| all.into_iter().reduce(algebra::mul);
            let still = algebra::mul(
                Expr::Int(coefficient),
                product(still).unwrap_or(Expr::Int(1)),
            );
            let moving = product(moving).unwrap_or(Expr::Int(1));
            parts.push((Polynomial::of(&still), self.terms.expr(&moving, env)?));
        }
        Ok(parts)
    }
}

/// The count that a use of a named barrier gives; that all uses agree is an obligation.
pub fn named_count(class: &Class, site: usize) -> Result<Expr, Unsupported> {
    let this = &class.flow.sites[site];
    // A wait follows its own registration; the same statement may stand elsewhere once more, where
    // a loop has been written out.
    let own = match this.kind {
        Kind::Register { .. } => Some(this),
        _ => site.checked_sub(1).map(|before| &class.flow.sites[before]),
    };
    let count = own
        .filter(|s| s.stmt == this.stmt)
        .and_then(|s| match &s.kind {
            Kind::Register { count } => Some(count.clone()),
            _ => None,
        });
    let moves = |e: &Expr| {
        let loops = this.path.loops.iter();
        loops
            .copied()
            .any(|l| algebra::mentions(e, class.flow.loops[l].var))
    };
    count
        .filter(|c| !moves(c))
        .ok_or_else(|| Unsupported::at(this.span, "a thread count that differs between iterations"))
}
