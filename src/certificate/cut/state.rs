//! Symbolic states: classes of members at places, and what has arrived at an element by then.

use std::collections::BTreeSet;

use super::class::Class;
use super::count::Counted;
use super::count::Place;
use super::flow::Kind;
use super::flow::Path;
use super::ordered::Around;
use super::polynomial::Polynomial;
use crate::certificate::obligation::Split;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;
use crate::certificate::translate::Translator;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::ObjectId;
use crate::protocol::ObjectKind;
use crate::protocol::Protocol;
use crate::protocol::VarId;

/// How many threads one registration at a named barrier stands for.
pub const WARP: i64 = 32;

/// The largest ring whose places are told apart.
const MAX_RING: i64 = 16;

/// Names that stand for the indices of an element whose value comes from another class.
const ELEMENT: usize = usize::MAX / 2;

/// What an element counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    Arrivals,
    /// Bytes delivered to an mbarrier.
    Bytes,
    /// Bytes expected by an mbarrier, less those delivered.
    OpenBytes,
}

/// A formula in the making.
pub struct Setting<'p> {
    pub protocol: &'p Protocol,
    pub terms: Translator<'p>,
    pub facts: Vec<Term>,
    fresh: usize,
    /// What a solver may tell apart.
    pub split: Vec<Split>,
    /// Places in small rings that were looked at.
    pub rings: Vec<Split>,
    /// Whether products are also stated as such. Pools need it, since the numbers of members there
    /// are unknowns; elsewhere it only slows the solver down.
    pub exact_products: bool,
    /// Objects that each of the copies has for itself, where copies share others.
    private: BTreeSet<usize>,
    /// What copies do that are not looked at, where copies go in order.
    pub around: Option<Around>,
}

/// Some members of a class that are all at one place.
pub struct Group<'c> {
    pub class: &'c Class,
    /// How many; may be 0 or less where there are none.
    pub size: Expr,
    /// Where they may be: exactly one of the conditions holds.
    pub spots: Vec<Spot>,
    /// If they need not all be at one place: how many are at each of the spots. The conditions of
    /// the spots then say nothing.
    pub spread: Option<Vec<Term>>,
    /// What has not landed, of a single member.
    pub withheld: Option<Withheld>,
    /// Which copies they belong to, if they belong to one of several that share objects.
    pub copy: Option<Copy>,
}

impl<'c> Group<'c> {
    /// So many members that are where exactly one of the spots' conditions holds.
    pub fn new(class: &'c Class, size: Expr, spots: Vec<Spot>, copy: Option<Copy>) -> Group<'c> {
        Group {
            class,
            size,
            spots,
            spread: None,
            withheld: None,
            copy,
        }
    }

    /// Members that have all finished.
    pub fn at_end(class: &'c Class, copy: Option<Copy>) -> Group<'c> {
        let spots = vec![Spot::always(Place::End, Env::new())];
        Group::new(class, class.size.clone(), spots, copy)
    }
}

/// Some copies of one kind, all with their members at the same places.
#[derive(Clone)]
pub struct Copy {
    /// Groups with the same tag work on the same private elements.
    pub tag: Tag,
    /// How many copies there are.
    pub count: Expr,
}

/// Which copies of a kind are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// The one of the member that is held.
    Marked,
    /// All others, or all where no member is held.
    Unmarked,
}

/// An operation that has not landed, by position in its class and in its iterations. Nor have the
/// commits of its member from there on.
pub struct Withheld {
    pub site: usize,
    pub env: Env,
}

/// A place with the values of the loops' variables there.
#[derive(Clone)]
pub struct Spot {
    pub when: Term,
    pub place: Place,
    pub env: Env,
}

impl Spot {
    /// A place where somebody is in any case.
    pub fn always(place: Place, env: Env) -> Spot {
        Spot {
            when: term::boolean(true),
            place,
            env,
        }
    }
}

/// An element of an object.
pub struct Element {
    pub object: ObjectId,
    /// In which copies it is, if each has elements of its own.
    pub copy: Option<Tag>,
    /// Literals where the index is a number, so that what is elsewhere can be told at once.
    pub index: Vec<Expr>,
    pub env: Env,
}

impl<'p> Setting<'p> {
    pub fn new(protocol: &'p Protocol, terms: Translator<'p>, facts: Vec<Term>) -> Setting<'p> {
        Setting {
            protocol,
            terms,
            facts,
            fresh: 0,
            split: Vec::new(),
            rings: Vec::new(),
            exact_products: false,
            private: BTreeSet::new(),
            around: None,
        }
    }

    /// Makes objects those that each of the copies has for itself.
    pub fn with_private(mut self, objects: impl IntoIterator<Item = usize>) -> Setting<'p> {
        self.private.extend(objects);
        self
    }

    pub fn unknown(&mut self, name: &str) -> Term {
        self.fresh += 1;
        self.terms.constant(&format!("{name}_{}", self.fresh))
    }

    /// Arbitrary iterations of the loops on a path, as facts or as a condition.
    pub fn iterations(
        &mut self,
        class: &Class,
        path: &Path,
        name: &str,
    ) -> Result<(Env, Vec<Term>), Unsupported> {
        let mut env = Env::new();
        let mut inside = Vec::new();
        for at in &path.loops {
            let this = &class.flow.loops[*at];
            let nth = self.unknown(&format!("{name}_iteration"));
            let trips = self.terms.expr(&this.trips, &env)?;
            inside.push(term::within(&term::int(0), &nth, &trips));
            env.insert(this.var, nth);
        }
        Ok((env, inside))
    }

    pub fn conditions(&mut self, path: &Path, env: &Env) -> Result<Vec<Term>, Unsupported> {
        path.conditions
            .iter()
            .map(|c| self.terms.expr(c, env))
            .collect()
    }

    /// Assumes a member at an operation, in arbitrary iterations.
    pub fn member_at(
        &mut self,
        class: &Class,
        site: usize,
        name: &str,
    ) -> Result<Env, Unsupported> {
        let path = &class.flow.sites[site].path;
        let (env, inside) = self.iterations(class, path, name)?;
        self.facts.extend(inside);
        let conditions = self.conditions(path, &env)?;
        self.facts.extend(conditions);
        Ok(env)
    }

    /// The element an operation works on.
    pub fn element(
        &mut self,
        class: &Class,
        site: usize,
        env: &Env,
    ) -> Result<Element, Unsupported> {
        self.element_of(class, site, env, None)
    }

    /// The same in certain copies of the class.
    pub fn element_of(
        &mut self,
        class: &Class,
        site: usize,
        env: &Env,
        copy: Option<Tag>,
    ) -> Result<Element, Unsupported> {
        let this = &class.flow.sites[site];
        self.element_in(this.object, &this.index, env, copy)
    }

    /// An element of an object, in certain copies if each has elements of its own.
    pub fn element_at(
        &mut self,
        object: ObjectId,
        indices: &[Expr],
        env: &Env,
        copy: Option<Tag>,
    ) -> Result<Element, Unsupported> {
        self.element_in(object, indices, env, copy)
    }

    fn element_in(
        &mut self,
        object: ObjectId,
        indices: &[Expr],
        env: &Env,
        copy: Option<Tag>,
    ) -> Result<Element, Unsupported> {
        let mut index = Vec::new();
        let mut values = Env::new();
        for (at, e) in indices.iter().enumerate() {
            if matches!(e, Expr::Int(_)) {
                index.push(e.clone());
                continue;
            }
            // A name of its own keeps the formulas that use the element short.
            let value = self.terms.expr(e, env)?;
            let named = self.unknown("element");
            self.facts.push(term::eq(&named, &value));
            if let Expr::Binary(BinaryOp::Mod, _, modulus) = e
                && let Expr::Int(bound @ 2..=MAX_RING) = **modulus
            {
                self.rings.push(Split {
                    integer: named.clone(),
                    bound,
                    then: Vec::new(),
                });
            }
            let var = VarId(ELEMENT + at);
            values.insert(var, named);
            index.push(Expr::Var(var));
        }
        Ok(Element {
            object,
            copy: copy.filter(|_| self.private.contains(&object.0)),
            index,
            env: values,
        })
    }

    /// An arbitrary element of an object.
    pub fn any_element(
        &mut self,
        object: ObjectId,
        extents: &[Expr],
    ) -> Result<Element, Unsupported> {
        let mut index = Vec::new();
        let mut env = Env::new();
        for (at, extent) in extents.iter().enumerate() {
            let extent = self.terms.expr(extent, &Env::new())?;
            let value = self.unknown("element");
            self.facts
                .push(term::within(&term::int(0), &value, &extent));
            let var = VarId(ELEMENT + at);
            env.insert(var, value);
            index.push(Expr::Var(var));
        }
        Ok(Element {
            object,
            copy: None,
            index,
            env,
        })
    }

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
                    Kind::Deliver { bytes } => {
                        Some(super::algebra::sub(Expr::Int(0), bytes.clone()))
                    }
                    _ => None,
                },
            };
            let Some(weight) = weight.filter(|_| site.object == element.object) else {
                continue;
            };
            let mut loops = site.path.loops.iter();
            if loops.any(|l| super::algebra::mentions(&weight, class.flow.loops[*l].var)) {
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
                            let scaled = super::algebra::mul(Expr::Int(scale), weight.clone());
                            let times = self.members_times(members, times);
                            parts.push((Polynomial::of(&scaled), times));
                        }
                    }
                }
                continue;
            }
            for row in 0..columns.first().map_or(0, Vec::len) {
                let weight = columns[0][row].0.clone();
                let mut times = columns[columns.len() - 1][row].1.clone();
                for (spot, column) in group.spots.iter().zip(&columns).rev().skip(1) {
                    times = term::ite(&spot.when, &column[row].1, &times);
                }
                if times == term::int(0) {
                    continue;
                }
                let scaled = super::algebra::mul(Expr::Int(scale), weight);
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
            Some(copy) => Some(super::algebra::mul(size(), copy.count.clone())),
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
                    let (amount, taken) = match &site.kind {
                        Kind::Acquire { amount } => (amount, true),
                        Kind::Release { amount } => (amount, false),
                        _ => continue,
                    };
                    if site.object != element.object {
                        continue;
                    }
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

    /// A sum of polynomials over parameters times terms. Gathered by product of parameters, so
    /// that equal products cancel before they are multiplied with anything.
    pub fn weighted(&mut self, parts: Vec<(Polynomial, Term)>) -> Result<Term, Unsupported> {
        let mut gathered: Vec<(Vec<Expr>, Vec<Term>)> = Vec::new();
        let zero = term::int(0);
        for (polynomial, times) in parts.iter().filter(|(_, times)| *times != zero) {
            for (coefficient, factors) in polynomial.terms() {
                let coefficient = i64::try_from(coefficient)
                    .map_err(|_| Unsupported::whole("numbers beyond 64 bits"))?;
                let scaled = if coefficient == 1 {
                    times.clone()
                } else {
                    term::apply("*", &[term::int(coefficient), times.clone()])
                };
                match gathered.iter_mut().find(|(known, _)| known == factors) {
                    Some((_, sum)) => sum.push(scaled),
                    None => gathered.push((factors.to_vec(), vec![scaled])),
                }
            }
        }
        self.nested(gathered)
    }

    /// A sum of sums, each times a product of parameters. A factor that several products have in common is
    /// taken out: the sign of what it multiplies is then known, which linear arithmetic cannot tell from
    /// the products.
    fn nested(&mut self, gathered: Vec<(Vec<Expr>, Vec<Term>)>) -> Result<Term, Unsupported> {
        if let Some(common) = common_factor(&gathered) {
            let mut inside = Vec::new();
            let mut outside = Vec::new();
            for (mut factors, terms) in gathered {
                match factors.iter().position(|factor| *factor == common) {
                    Some(at) => {
                        factors.remove(at);
                        inside.push((factors, terms));
                    }
                    None => outside.push((factors, terms)),
                }
            }
            let inside = self.nested(inside)?;
            let outside = self.nested(outside)?;
            let factor = self.terms.expr(&common, &Env::new())?;
            return Ok(term::sum([self.product(&factor, inside), outside]));
        }
        let mut sum = Vec::new();
        for (factors, terms) in gathered {
            let times = term::sum(terms);
            let product = factors.into_iter().reduce(super::algebra::mul);
            sum.push(match product {
                None => times,
                Some(factor) => {
                    let factor = self.terms.expr(&factor, &Env::new())?;
                    self.product(&factor, times)
                }
            });
        }
        Ok(term::sum(sum))
    }

    /// A name for `factor * times`, known by its sign and by what it is near 0. Each fact holds of
    /// the product, so nothing real is excluded; linear arithmetic is all they need.
    fn product(&mut self, factor: &Term, times: Term) -> Term {
        let named = self.unknown("times");
        self.facts.push(term::eq(&named, &times));
        let product = self.unknown("product");
        if self.exact_products {
            let exact = self.terms.product(factor, &named);
            self.facts.push(term::eq(&product, &exact));
        }
        let zero = term::int(0);
        let implies = |given: Term, then: Term| term::or([term::not(given), then]);
        let mut facts = vec![implies(term::eq(&named, &zero), term::eq(&product, &zero))];
        for k in [1_i64, 2, 3] {
            let multiple = |k: i64| term::apply("*", &[term::int(k), factor.clone()]);
            for k in [k, -k] {
                facts.push(implies(
                    term::eq(&named, &term::int(k)),
                    term::eq(&product, &multiple(k)),
                ));
            }
            facts.push(implies(
                term::le(&term::int(k), &named),
                term::le(&multiple(k), &product),
            ));
            facts.push(implies(
                term::le(&named, &term::int(-k)),
                term::le(&product, &multiple(-k)),
            ));
        }
        // All of these are about a factor that is not negative, the next ones about one above 0.
        let signed = term::le(&zero, factor);
        self.facts.push(implies(signed, term::and(facts)));
        let one = term::int(1);
        self.facts.push(implies(
            term::le(&one, factor),
            term::and([
                implies(term::le(&zero, &named), term::le(&named, &product)),
                implies(term::le(&named, &zero), term::le(&product, &named)),
            ]),
        ));
        self.facts
            .push(implies(term::eq(factor, &one), term::eq(&product, &named)));
        product
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
                    .minus(&Polynomial::of(&Expr::Int(-above)));
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
            vars.any(|v| super::algebra::mentions(e, v))
        };
        let mut parts = Vec::new();
        for (coefficient, factors) in polynomial.terms() {
            let coefficient = i64::try_from(coefficient)
                .map_err(|_| Unsupported::whole("numbers beyond 64 bits"))?;
            let (moving, still): (Vec<Expr>, Vec<Expr>) =
                factors.iter().cloned().partition(|f| moves(f));
            let product = |all: Vec<Expr>| all.into_iter().reduce(super::algebra::mul);
            let still = super::algebra::mul(
                Expr::Int(coefficient),
                product(still).unwrap_or(Expr::Int(1)),
            );
            let moving = product(moving).unwrap_or(Expr::Int(1));
            parts.push((Polynomial::of(&still), self.terms.expr(&moving, env)?));
        }
        Ok(parts)
    }

    /// The iteration in which an operation stands, counted over the whole run.
    pub fn clock(&mut self, class: &Class, site: usize, env: &Env) -> Result<Term, Unsupported> {
        let counted = class.flow.clock(site);
        if let Counted::Site(_) = counted {
            return Ok(term::int(0));
        }
        let clock = class
            .flow
            .before(Place::Site(site), counted)
            .ok_or_else(|| uncounted(class, site))?;
        self.terms.expr(&clock, env)
    }

    /// How many iterations of the innermost loop around an operation a whole run has.
    pub fn clock_end(&mut self, class: &Class, site: usize) -> Result<Term, Unsupported> {
        let total = match class.flow.clock(site) {
            Counted::Site(_) => Expr::Int(1),
            counted => class
                .flow
                .before(Place::End, counted)
                .ok_or_else(|| uncounted(class, site))?,
        };
        self.terms.expr(&total, &Env::new())
    }
}

/// A factor that several products have in common, one of which has further factors: the one that most of
/// them have.
fn common_factor(gathered: &[(Vec<Expr>, Vec<Term>)]) -> Option<Expr> {
    let mut best: Option<(usize, &Expr)> = None;
    for factor in gathered.iter().flat_map(|(factors, _)| factors) {
        let having = gathered.iter().filter(|(all, _)| all.contains(factor));
        let further = having.clone().any(|(all, _)| all.len() > 1);
        let number = having.count();
        if further && number > 1 && best.is_none_or(|(most, _)| number > most) {
            best = Some((number, factor));
        }
    }
    best.map(|(_, factor)| factor.clone())
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
            .any(|l| super::algebra::mentions(e, class.flow.loops[l].var))
    };
    count
        .filter(|c| !moves(c))
        .ok_or_else(|| Unsupported::at(this.span, "a thread count that differs between iterations"))
}

pub fn moves(class: &Class, site: usize) -> Unsupported {
    let span = class.flow.sites[site].span;
    Unsupported::at(span, "the way the element of this operation moves")
}

pub fn uncounted(class: &Class, site: usize) -> Unsupported {
    Unsupported::at(
        class.flow.sites[site].span,
        "the number of iterations around this operation",
    )
}
