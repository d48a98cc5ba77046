//! Derives the obligations of one case.

use std::collections::BTreeMap;

use super::artefact::Case;
use super::artefact::Form;
use super::artefact::Generation;
use super::artefact::Hold;
use super::artefact::Quantity;
use super::artefact::Shows;
use super::artefact::Stop;
use super::artefact::Support;
use super::class::Class;
use super::copies::Copies;
use super::count::Counted;
use super::count::Place;
use super::flow;
use super::flow::Claim;
use super::flow::Kind;
use super::ordered::Around;
use super::ordered::Away;
use super::ordered::Ordered;
use super::ordered::Upto;
use super::polynomial::Polynomial;
use super::state;
use super::state::Copy;
use super::state::Element;
use super::state::Group;
use super::state::Resource;
use super::state::Setting;
use super::state::Spot;
use super::state::Tag;
use super::symmetric::Renamed;
use crate::certificate::ground;
use crate::certificate::obligation::Obligation;
use crate::certificate::obligation::Split;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;
use crate::certificate::translate::Requirement;
use crate::certificate::translate::Translator;
use crate::protocol::BinaryOp;
use crate::protocol::Comparison;
use crate::protocol::Expr;
use crate::protocol::Initial;
use crate::protocol::ObjectKind;
use crate::protocol::ParamId;
use crate::protocol::Protocol;
use crate::protocol::Resident;
use crate::protocol::Span;

/// One case: the protocol with some parameters fixed.
pub struct Rule<'a> {
    pub protocol: &'a Protocol,
    pub fixed: Vec<(ParamId, i64)>,
    pub classes: &'a [Class],
    pub copies: Copies,
    /// The classes of further symbolic copies, and what these are, where copies go in order.
    pub shadows: &'a [Class],
    pub ordered: Option<&'a Ordered>,
    pub case: &'a Case,
    pub shows: Shows,
    pub prefix: String,
    pub all: Vec<Obligation>,
    /// Per obligation, by name, what it lacks, where that is known without asking a solver.
    pub missing: Vec<(String, String)>,
    pub renamed: Renamed,
}

/// A member that is kept from going on: its class, its place, and its iterations there.
#[derive(Clone, Copy)]
pub struct Held<'e> {
    pub class: usize,
    pub place: Place,
    pub env: &'e Env,
}

/// Groups, and for each its class and what holds if there is nobody in it.
pub type Others<'c> = (Vec<Group<'c>>, Vec<(usize, Term)>);

/// Whatever expressions need to be well defined.
pub fn all_needed(needed: Vec<Requirement>) -> Term {
    term::and(needed.into_iter().map(|r| {
        let given = term::and(r.given);
        term::or([term::not(given), r.needed])
    }))
}

/// A condition on numbers as its truth: it occurs wherever arrivals are counted.
fn decided(condition: Term) -> Term {
    ground::truth(&condition).map_or(condition, term::boolean)
}

impl<'a> Rule<'a> {
    pub fn derive(&mut self) -> Result<(), Unsupported> {
        if self.case.empty {
            let setting = self.setting()?;
            return self.conclude(
                "empty".to_owned(),
                "no parameter values satisfy the assumptions in this case".to_owned(),
                setting,
                term::boolean(false),
            );
        }
        self.declarations()?;
        self.residency()?;
        self.copies()?;
        self.shown_of_copies()?;
        self.plenty()?;
        self.revolving()?;
        for class in 0..self.classes.len() {
            self.claims(class)?;
            for site in 0..self.classes[class].flow.sites.len() {
                self.operation(class, site)?;
            }
        }
        self.counts_agree()?;
        for class in 0..self.classes.len() {
            for site in 0..self.classes[class].flow.sites.len() {
                self.window(class, site)?;
            }
        }
        match self.shows {
            Shows::Nothing => {}
            Shows::Generations => self.balanced_at_the_end()?,
            Shows::Ordering => self.ordered()?,
            Shows::Visibility => self.visible()?,
            Shows::Claims => self.asserted()?,
            Shows::Lifetimes => self.lifetimes()?,
            Shows::Exits => self.exits()?,
        }
        if self.needs_progress() {
            self.progress(Upto::This)?;
            if self.ordered.is_some() {
                self.progress(Upto::End)?;
            }
        }
        Ok(())
    }

    /// Whether what is shown is about runs that come to an end, or rests on acquisitions that do.
    fn needs_progress(&self) -> bool {
        self.shows.progress() || (0..self.classes.len()).any(|class| self.uses_pools(class))
    }

    /// No member of a class gets to an operation.
    pub fn unreachable(&mut self, class: usize, site: usize) -> Result<(), Unsupported> {
        let mut setting = self.setting_of(class)?;
        setting.member_at(&self.classes[class], site, "at")?;
        self.conclude(
            format!("unreachable_c{class}_s{site}"),
            "no run gets there".to_owned(),
            setting,
            term::boolean(false),
        )
    }

    pub fn fix(&self, expr: &Expr) -> Expr {
        flow::at_fixed(expr, &self.fixed)
    }

    /// The same without folding anything.
    pub fn replaced(&self, expr: &Expr) -> Expr {
        super::algebra::replace(expr, &|_| None, &|id| {
            let known = self.fixed.iter().find(|(known, _)| *known == id)?;
            Some(Expr::Int(known.1))
        })
    }

    pub fn quote(&self, span: Span) -> String {
        let text = self
            .protocol
            .source
            .get(span.start..span.end)
            .unwrap_or("?");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The domain and the assumptions.
    fn anywhere(&self) -> Result<Setting<'a>, Unsupported> {
        let mut terms = Translator::new(self.protocol, &self.fixed);
        let mut facts = terms.domain();
        for assumption in &self.protocol.assumptions {
            facts.push(terms.expr(&assumption.condition, &Env::new())?);
        }
        let setting = Setting::new(self.protocol, terms, facts);
        let private = self.copies.objects.keys().copied();
        Ok(setting.with_private(private.filter(|_| self.copies.shares)))
    }

    /// The same where there is somebody.
    pub fn setting(&self) -> Result<Setting<'a>, Unsupported> {
        let mut setting = self.anywhere()?;
        if let Some(extent) = &self.copies.extent
            && !self.copies.shares
        {
            // Without a copy there is nobody, and nothing to show.
            let extent = setting.terms.expr(&self.fix(extent), &Env::new())?;
            setting.facts.push(term::le(&term::int(1), &extent));
        }
        Ok(setting)
    }

    /// Copies that go in order may share data, and nothing is said yet of what copies that share objects
    /// give room to, or of when they exit.
    fn shown_of_copies(&self) -> Result<(), Unsupported> {
        let fits = match self.shows {
            Shows::Nothing | Shows::Generations => true,
            Shows::Ordering | Shows::Visibility | Shows::Claims => self.ordered.is_none(),
            Shows::Lifetimes | Shows::Exits => self.ordered.is_none() && !self.copies.shares,
        };
        match fits {
            true => Ok(()),
            false => Err(Unsupported::whole(
                "copies that share objects, for this property",
            )),
        }
    }

    /// Every copy has elements of its own.
    fn copies(&mut self) -> Result<(), Unsupported> {
        let Some(extent) = self.copies.extent.clone() else {
            return Ok(());
        };
        for (object, position) in self.copies.objects.clone() {
            let object = &self.protocol.objects[object];
            let mut setting = self.setting()?;
            let copies = setting.terms.expr(&self.fix(&extent), &Env::new())?;
            let elements = self.fix(&object.extents[position]);
            let elements = setting.terms.expr(&elements, &Env::new())?;
            self.conclude(
                format!("copies_{}", object.name),
                format!("`{}` has elements for every copy", object.name),
                setting,
                term::le(&copies, &elements),
            )?;
        }
        Ok(())
    }

    /// The same, for a class that has members.
    pub fn setting_of(&self, class: usize) -> Result<Setting<'a>, Unsupported> {
        let mut setting = self.setting()?;
        let exists = self.exists(&mut setting, class)?;
        setting.facts.push(exists);
        Ok(setting)
    }

    /// That a class has members.
    pub fn exists(&self, setting: &mut Setting<'a>, position: usize) -> Result<Term, Unsupported> {
        let class = &self.classes[position];
        let mut all = Vec::new();
        for number in [Some(&class.size), class.copies.as_ref()]
            .into_iter()
            .flatten()
        {
            let number = setting.terms.expr(number, &Env::new())?;
            all.push(term::le(&term::int(1), &number));
        }
        if self.is_copied(position) {
            all.push(self.is_number(setting, 0)?);
        }
        Ok(term::and(all))
    }

    pub fn conclude(
        &mut self,
        name: String,
        meaning: String,
        mut setting: Setting<'a>,
        goal: Term,
    ) -> Result<(), Unsupported> {
        if goal == term::boolean(true) {
            return Ok(());
        }
        let mut hypotheses = setting.facts;
        hypotheses.extend(setting.terms.axioms()?);
        let name = format!("{}{name}", self.prefix);
        let mut unique = name.clone();
        let mut nth = 1;
        while self.all.iter().any(|o| o.name == unique) {
            nth += 1;
            unique = format!("{name}_{nth}");
        }
        self.all.push(Obligation {
            name: unique,
            meaning,
            declarations: setting.terms.declarations(),
            hypotheses,
            goal,
            split: setting.split,
        });
        Ok(())
    }

    /// Everything that these expressions evaluate has a value.
    pub fn require_defined(
        &mut self,
        mut setting: Setting<'a>,
        exprs: &[&Expr],
        env: &Env,
        name: String,
        what: &str,
    ) -> Result<(), Unsupported> {
        let mut needed = Vec::new();
        for expr in exprs {
            setting.terms.well_defined(expr, env, &[], &mut needed)?;
        }
        let goal = all_needed(needed);
        self.conclude(name, format!("{what} is well defined"), setting, goal)
    }

    /// Every assumption is well defined where those before it hold.
    pub fn assumptions(&mut self) -> Result<(), Unsupported> {
        let protocol = self.protocol;
        for nth in 0..protocol.assumptions.len() {
            let mut terms = Translator::new(protocol, &self.fixed);
            let mut facts = terms.domain();
            for earlier in &protocol.assumptions[..nth] {
                facts.push(terms.expr(&earlier.condition, &Env::new())?);
            }
            let setting = Setting::new(protocol, terms, facts);
            let condition = &protocol.assumptions[nth].condition;
            let name = format!("defined_assumption_{nth}");
            self.require_defined(setting, &[condition], &Env::new(), name, "an assumption")?;
        }
        Ok(())
    }

    fn declarations(&mut self) -> Result<(), Unsupported> {
        let protocol = self.protocol;
        if let Some(pattern) = protocol.patterns.first()
            && !matches!(self.shows, Shows::Nothing | Shows::Generations)
        {
            let what = "a block-sparse pattern, for this property";
            return Err(Unsupported::at(pattern.span, what));
        }
        self.assumptions()?;
        let mut exprs: Vec<Expr> = Vec::new();
        exprs.extend(protocol.objects.iter().flat_map(|o| o.extents.clone()));
        exprs.extend(protocol.patterns.iter().flat_map(|p| p.extents.clone()));
        let indices = protocol.roles.iter().flat_map(|r| &r.indices);
        exprs.extend(indices.map(|i| i.extent.clone()));
        for object in &protocol.objects {
            match &object.kind {
                ObjectKind::Semaphore(Initial::Value(value)) => exprs.push(value.clone()),
                ObjectKind::Semaphore(Initial::Any) => {
                    return Err(Unsupported::at(
                        object.span,
                        "a semaphore with an open initial value",
                    ));
                }
                ObjectKind::Mbarrier { arrivals, .. } | ObjectKind::Barrier { arrivals } => {
                    exprs.push(arrivals.clone());
                }
                ObjectKind::Named => {}
                ObjectKind::Pool { capacity, .. } => exprs.push(capacity.clone()),
            }
        }
        let exprs: Vec<Expr> = exprs.iter().map(|e| self.replaced(e)).collect();
        // Declarations have to mean something even where there is no copy.
        let setting = self.anywhere()?;
        let exprs: Vec<&Expr> = exprs.iter().collect();
        let name = "defined_declarations".to_owned();
        self.require_defined(setting, &exprs, &Env::new(), name, "every declaration")?;
        // An array without elements expects nothing; the uses of it are out of range anyway.
        for object in &protocol.objects {
            let (least, what, amount) = match &object.kind {
                ObjectKind::Mbarrier { arrivals, .. } | ObjectKind::Barrier { arrivals } => {
                    (1, "expects at least one arrival", arrivals)
                }
                ObjectKind::Pool { capacity, .. } => (0, "has 0 or more", capacity),
                ObjectKind::Semaphore(_) | ObjectKind::Named => continue,
            };
            let mut setting = self.anywhere()?;
            for extent in &object.extents {
                let extent = setting.terms.expr(&self.fix(extent), &Env::new())?;
                setting.facts.push(term::le(&term::int(1), &extent));
            }
            let amount = setting.terms.expr(&self.fix(amount), &Env::new())?;
            self.conclude(
                format!("declares_{}", object.name),
                format!("`{}` {what}", object.name),
                setting,
                term::le(&term::int(least), &amount),
            )?;
        }
        Ok(())
    }

    /// Every member runs from the beginning, or the whole grid fits.
    fn residency(&mut self) -> Result<(), Unsupported> {
        for (position, role) in self.protocol.roles.iter().enumerate() {
            let Some(launch) = &role.launch else { continue };
            let Resident::AtMost(limit) = &launch.resident else {
                continue;
            };
            let mut setting = self.setting()?;
            let limit = setting.terms.expr(&self.fix(limit), &Env::new())?;
            let mut size = Expr::Int(1);
            let copied = self.ordered.filter(|o| o.copied[position]);
            let extents = role.indices.iter().map(|index| &index.extent);
            for extent in extents.chain(copied.map(|o| &o.extent)) {
                let extent = self.fix(extent);
                let value = setting.terms.expr(&extent, &Env::new())?;
                setting.facts.push(term::le(&term::int(1), &value));
                size = super::algebra::mul(size, extent);
            }
            let size = setting.terms.expr(&size, &Env::new())?;
            self.conclude(
                format!("resident_{}", role.name),
                format!("all members of `{}` are resident at once", role.name),
                setting,
                term::le(&size, &limit),
            )?;
        }
        Ok(())
    }

    fn claims(&mut self, class: usize) -> Result<(), Unsupported> {
        let this = &self.classes[class];
        for (nth, (comparison, _)) in this.compared.iter().enumerate() {
            let Expr::Binary(_, _, value) = comparison else {
                continue;
            };
            let value = self.replaced(value);
            let what = format!("what {} compare their index with", this.name);
            let name = format!("defined_index_c{class}_{nth}");
            self.require_defined(self.setting()?, &[&value], &Env::new(), name, &what)?;
        }
        for (nth, claim) in this.flow.evaluations.iter().enumerate() {
            let (setting, env) = self.place(class, claim)?;
            let what = format!("`{}`", self.quote(claim.span));
            let name = format!("defined_c{class}_{nth}");
            self.require_defined(setting, &[&claim.expr], &env, name, &what)?;
        }
        for (nth, claim) in this.flow.claims.iter().enumerate() {
            let (mut setting, env) = self.place(class, claim)?;
            let goal = setting.terms.expr(&claim.expr, &env)?;
            self.conclude(
                format!("closed_form_c{class}_{nth}"),
                format!("in {}, {}", this.name, claim.about),
                setting,
                goal,
            )?;
        }
        Ok(())
    }

    fn place(&self, class: usize, claim: &Claim) -> Result<(Setting<'a>, Env), Unsupported> {
        let mut setting = self.setting_of(class)?;
        let (env, inside) = setting.iterations(&self.classes[class], &claim.path, "at")?;
        setting.facts.extend(inside);
        let conditions = setting.conditions(&claim.path, &env)?;
        setting.facts.extend(conditions);
        Ok((setting, env))
    }

    /// An operation's element exists, and its operands are what the semantics ask for.
    fn operation(&mut self, class: usize, site: usize) -> Result<(), Unsupported> {
        let protocol = self.protocol;
        let this = &self.classes[class].flow.sites[site];
        let object = &protocol.objects[this.object.0];
        let mut setting = self.setting_of(class)?;
        let env = setting.member_at(&self.classes[class], site, "at")?;
        let mut goals = Vec::new();
        // The number of the kind stands for those of its copies, which have an obligation of their own.
        let kind = self.copies.objects.get(&this.object.0);
        let kind = kind.filter(|_| self.copies.shares);
        for (at, (extent, index)) in object.extents.iter().zip(&this.index).enumerate() {
            if kind == Some(&at) {
                continue;
            }
            let extent = setting.terms.expr(&self.fix(extent), &Env::new())?;
            let index = setting.terms.expr(index, &env)?;
            goals.push(term::within(&term::int(0), &index, &extent));
        }
        let zero = term::int(0);
        match (&this.kind, &object.kind) {
            (Kind::Arrive { weight, .. }, ObjectKind::Mbarrier { .. }) => {
                let weight = setting.terms.expr(weight, &env)?;
                goals.push(term::eq(&weight, &term::int(1)));
            }
            (Kind::Arrive { weight, .. }, ObjectKind::Semaphore(_)) => {
                let weight = setting.terms.expr(weight, &env)?;
                goals.push(term::le(&zero, &weight));
            }
            (Kind::Register { count }, ObjectKind::Named) => {
                let count = setting.terms.expr(count, &env)?;
                let warp = term::int(state::WARP);
                let rest = term::apply("mod", &[count.clone(), warp.clone()]);
                goals.push(term::le(&warp, &count));
                goals.push(term::eq(&rest, &zero));
            }
            (Kind::Register { .. }, ObjectKind::Barrier { .. })
            | (Kind::Init, ObjectKind::Mbarrier { .. })
            | (Kind::Own, ObjectKind::Semaphore(_)) => {}
            (Kind::Expect { bytes } | Kind::Deliver { bytes }, ObjectKind::Mbarrier { .. }) => {
                let bytes = setting.terms.expr(bytes, &env)?;
                // Nothing waits for a delivery of no bytes: it may land in any later generation.
                let counts = self.shows == Shows::Generations;
                let least = matches!(this.kind, Kind::Deliver { .. }) && counts;
                goals.push(term::le(&term::int(i64::from(least)), &bytes));
            }
            (Kind::Acquire { amount } | Kind::Release { amount }, ObjectKind::Pool { .. }) => {
                let amount = setting.terms.expr(amount, &env)?;
                goals.push(term::le(&zero, &amount));
            }
            (Kind::Await, ObjectKind::Barrier { .. }) => {
                if !self.classes[class].flow.follows_registration(site) {
                    return Err(Unsupported::at(
                        this.span,
                        "a wait at a split-phase barrier apart from its arrival",
                    ));
                }
            }
            (Kind::Await, ObjectKind::Named)
            | (Kind::WaitValue { .. }, ObjectKind::Semaphore(_)) => {}
            (Kind::WaitParity { parity }, ObjectKind::Mbarrier { .. }) => {
                let parity = setting.terms.expr(parity, &env)?;
                goals.push(term::within(&zero, &parity, &term::int(2)));
                let generation = self.generation(&mut setting, class, site, &env)?;
                let sum = term::sum([generation.clone(), parity]);
                let odd = term::apply("mod", &[sum, term::int(2)]);
                goals.push(term::eq(&odd, &term::int(1)));
                goals.push(term::le(&zero, &generation));
            }
            _ => return Err(Unsupported::at(this.span, "this operation")),
        }
        let what = self.quote(this.span);
        self.conclude(
            format!("operands_c{class}_s{site}"),
            format!("in {}, `{what}` stays in range", self.classes[class].name),
            setting,
            term::and(goals),
        )
    }

    /// Uses of one named barrier give the same thread count.
    fn counts_agree(&mut self) -> Result<(), Unsupported> {
        let mut uses: Vec<(usize, usize)> = Vec::new();
        for (class, this) in self.classes.iter().enumerate() {
            for (site, at) in this.flow.sites.iter().enumerate() {
                if matches!(at.kind, Kind::Register { .. }) {
                    uses.push((class, site));
                }
            }
        }
        for (nth, &(class, site)) in uses.iter().enumerate() {
            for &(other, at) in &uses[nth + 1..] {
                let (a, b) = (
                    &self.classes[class].flow.sites[site],
                    &self.classes[other].flow.sites[at],
                );
                if a.object != b.object {
                    continue;
                }
                let mut setting = self.setting_of(class)?;
                let exists = self.exists(&mut setting, other)?;
                setting.facts.push(exists);
                let left = setting.member_at(&self.classes[class], site, "left")?;
                let right = setting.member_at(&self.classes[other], at, "right")?;
                for (x, y) in a.index.iter().zip(&b.index) {
                    let (x, y) = (
                        setting.terms.expr(x, &left)?,
                        setting.terms.expr(y, &right)?,
                    );
                    setting.facts.push(term::eq(&x, &y));
                }
                let (Kind::Register { count: x }, Kind::Register { count: y }) = (&a.kind, &b.kind)
                else {
                    continue;
                };
                let goal = term::eq(
                    &setting.terms.expr(x, &left)?,
                    &setting.terms.expr(y, &right)?,
                );
                let (one, two) = (self.quote(a.span), self.quote(b.span));
                self.conclude(
                    format!("same_count_c{class}_s{site}_c{other}_s{at}"),
                    format!("`{one}` and `{two}` give one element the same count"),
                    setting,
                    goal,
                )?;
            }
        }
        Ok(())
    }

    /// The generation an operation is about.
    pub fn generation(
        &self,
        setting: &mut Setting<'a>,
        class: usize,
        site: usize,
        env: &Env,
    ) -> Result<Term, Unsupported> {
        let this = self.class(class);
        let class = self.original(class);
        let at = &this.flow.sites[site];
        let moves = || Unsupported::at(at.span, "the way the element of this operation moves");
        let (rounds, first) = match &at.kind {
            Kind::Arrive { .. } | Kind::Expect { .. } => {
                let arrive = |k: &Kind| matches!(k, Kind::Arrive { .. });
                (self.visits_of(this, site, arrive), 1)
            }
            Kind::Deliver { .. } => {
                let visits = this.flow.visits(site, &at.index, Place::Site(site));
                (visits, 1)
            }
            Kind::Register { .. } | Kind::Await => {
                let (first, every) = self.numbered(class, site)?;
                let visits = self.visits_of(this, site, |k| matches!(k, Kind::Register { .. }));
                let rounds = visits.map(|v| super::algebra::mul(v, Expr::Int(every)));
                // By the time it waits, its registration is one of the earlier ones.
                let own = matches!(at.kind, Kind::Await);
                (rounds, if own { first - every } else { first })
            }
            _ => {
                let known = self.chosen(class, site)?;
                let rounds = if known.all {
                    self.visits_of(this, site, |k| matches!(k, Kind::WaitParity { .. }))
                } else {
                    this.flow.rounds(site)
                };
                (rounds, known.first)
            }
        };
        let rounds = setting.terms.expr(&rounds.ok_or_else(moves)?, env)?;
        Ok(term::sum([rounds, term::int(first)]))
    }

    /// How often operations of this kind have been done on a site's element before it.
    pub fn visits_of(&self, class: &Class, site: usize, kind: fn(&Kind) -> bool) -> Option<Expr> {
        let at = &class.flow.sites[site];
        let mut sum = Expr::Int(0);
        for (other, this) in class.flow.sites.iter().enumerate() {
            if this.object == at.object && kind(&this.kind) {
                let visits = class.flow.visits(other, &at.index, Place::Site(site))?;
                sum = super::algebra::add(sum, visits);
            }
        }
        Some(sum)
    }

    /// The first generation a member's registrations join, and how far apart they are: the same for
    /// all of its operations that may work on one element, so that the next joins a later one.
    fn numbered(&self, class: usize, site: usize) -> Result<(i64, i64), Unsupported> {
        let sites = &self.classes[class].flow.sites;
        let stated = |at: &flow::Site| {
            let mut all = self.case.registrations.iter().filter(|r| {
                let there = sites.get(r.site);
                r.class == class && there.is_some_and(|s| s.may_meet(at))
            });
            let first = all.next().map_or((1, 1), |r| (r.first, r.every));
            all.all(|r| (r.first, r.every) == first).then_some(first)
        };
        let at = &sites[site];
        let named = self.protocol.objects[at.object.0].kind == ObjectKind::Named;
        let number = stated(at).filter(|(first, every)| {
            let registers = |s: &&flow::Site| matches!(s.kind, Kind::Register { .. });
            let mut meeting = sites.iter().filter(registers).filter(|s| s.may_meet(at));
            let alike = meeting.all(|s| stated(s) == Some((*first, *every)));
            let default = (*first, *every) == (1, 1);
            alike && (default || named) && *first >= 1 && *every >= 1
        });
        number.ok_or_else(|| {
            Unsupported::at(at.span, "registrations that are numbered in different ways")
        })
    }

    pub fn chosen(&self, class: usize, site: usize) -> Result<Generation, Unsupported> {
        let found = self
            .case
            .generations
            .iter()
            .find(|g| g.class == class && g.site == site);
        found.copied().ok_or_else(|| {
            let span = self.classes[class].flow.sites[site].span;
            Unsupported::at(span, "a wait whose generation the certificate does not say")
        })
    }

    /// A wait by parity, a strict wait and a registration only mean what they should while the
    /// element is neither ahead nor behind.
    fn window(&mut self, class: usize, site: usize) -> Result<(), Unsupported> {
        let classes = self.classes;
        let this = &classes[class].flow.sites[site];
        if matches!(this.kind, Kind::Init) {
            self.initialised_once(class, site)?;
            return self.hold(class, site, None);
        }
        if self.has_to_be_initialised(class, site) {
            self.initialised_before(class, site)?;
        }
        match &this.kind {
            Kind::WaitParity { .. } => {
                if self.has_bytes(class, site) {
                    self.participants(class, site)?;
                    self.balanced_bytes(class, site)?;
                }
                self.not_behind(class, site)?;
                self.not_ahead(class, site, 1)
            }
            Kind::WaitValue {
                comparison: Comparison::Equal,
                ..
            } => self.not_ahead(class, site, 1),
            Kind::Register { .. } => {
                self.alternates(class, site)?;
                self.joins(class, site)?;
                self.not_ahead(class, site, 0)
            }
            Kind::Await => {
                self.alternates(class, site)?;
                // Supports speak of members held here.
                match self.held(class, site) {
                    Some(_) => self.hold(class, site, None),
                    None => Ok(()),
                }
            }
            Kind::Arrive { .. } if self.has_bytes(class, site) => {
                self.participants(class, site)?;
                self.balanced_bytes(class, site)?;
                // Where bytes are expected first, that is where the phase has to be the right one.
                if self.expectation(class, site).is_none() {
                    self.joins(class, site)?;
                }
                self.not_ahead(class, site, 0)
            }
            Kind::Arrive { .. }
                if self.shows == Shows::Generations && self.at_mbarrier(class, site) =>
            {
                self.participants(class, site)?;
                self.joins(class, site)
            }
            Kind::Expect { .. } => {
                self.expected_before_arrival(class, site)?;
                self.joins(class, site)
            }
            Kind::Release { .. } => self.held_before_release(class, site),
            Kind::Deliver { .. } => {
                self.participants(class, site)?;
                self.balanced_bytes(class, site)?;
                self.follows_arrival_or_joins(class, site)
            }
            _ => Ok(()),
        }
    }

    /// Before a wait for generation `g > 1`, the member has waited for generation `g - 1`.
    fn not_behind(&mut self, class: usize, site: usize) -> Result<(), Unsupported> {
        let this = &self.classes[class];
        let at = &this.flow.sites[site];
        let known = self.chosen(class, site)?;
        let same = |other: &Generation| {
            let there = this.flow.sites.get(other.site);
            other.class == class && there.is_some_and(|s| s.object == at.object)
        };
        if !(0..=1).contains(&known.first) {
            return Err(Unsupported::at(at.span, "a wait that skips a generation"));
        }
        if known.all {
            // Each of the member's waits at the element takes the next generation.
            let alike = |g: &&Generation| g.all && g.first == known.first;
            let all = self.case.generations.iter().filter(|g| same(g));
            if !all.clone().all(|g| alike(&g)) {
                return Err(Unsupported::at(at.span, "waits numbered in different ways"));
            }
            return Ok(());
        }
        let moves = || Unsupported::at(at.span, "the way the element of this operation moves");
        let motion = this.flow.motion(site).ok_or_else(moves)?;
        let Counted::Iteration(level) = motion.level else {
            // Numbered by its own executions: the one before was done.
            return Ok(());
        };
        if at.path.conditions.is_empty() && at.path.loops.last() == Some(&level) {
            return Ok(());
        }
        // The step that was last at the same element executed the wait too.
        let mut setting = self.setting_of(class)?;
        let env = setting.member_at(this, site, "at")?;
        let generation = self.generation(&mut setting, class, site, &env)?;
        setting.facts.push(term::lt(&term::int(1), &generation));
        let clock = this
            .flow
            .before(Place::Site(site), motion.level)
            .ok_or_else(moves)?;
        let back = match &motion.moving {
            None => Expr::Int(1),
            Some((_, course)) => match course.period() {
                Some(period) => period,
                None => return Ok(()),
            },
        };
        let now = setting.terms.expr(&clock, &env)?;
        let back = setting.terms.expr(&back, &Env::new())?;
        let (mut earlier, inside) = setting.iterations(this, &at.path, "earlier")?;
        let depth = at.path.loops.iter().position(|l| *l == level).unwrap_or(0);
        setting.facts.extend(inside[..=depth].iter().cloned());
        for inner in &at.path.loops[depth + 1..] {
            let var = this.flow.loops[*inner].var;
            earlier.insert(var, env[&var].clone());
        }
        let then = setting.terms.expr(&clock, &earlier)?;
        setting.facts.push(term::eq(&then, &term::sub(&now, &back)));
        let mut goals = setting.conditions(&at.path, &earlier)?;
        for inner in &at.path.loops[depth + 1..] {
            let trips = setting
                .terms
                .expr(&this.flow.loops[*inner].trips, &earlier)?;
            let var = this.flow.loops[*inner].var;
            goals.push(term::within(&term::int(0), &env[&var], &trips));
        }
        let what = self.quote(at.span);
        let name = &this.name;
        self.conclude(
            format!("not_behind_c{class}_s{site}"),
            format!("in {name}, `{what}` was also done one round earlier"),
            setting,
            term::and(goals),
        )
    }

    /// What belongs to generation `g > 1` happens after generation `g - 1` has completed.
    pub fn joins(&mut self, class: usize, site: usize) -> Result<(), Unsupported> {
        let this = &self.classes[class];
        let at = &this.flow.sites[site];
        if matches!(at.kind, Kind::Register { .. })
            && self.numbered(class, site)? == (1, 1)
            && this.flow.always_awaits(site)
        {
            // Its earlier registrations at the element were all followed by a wait for them, and
            // it registers for the next generation each time.
            return Ok(());
        }
        let case = self.case;
        let split_phase = matches!(
            self.protocol.objects[at.object.0].kind,
            ObjectKind::Barrier { .. }
        );
        // At a split-phase barrier a second arrival without a wait is undefined in any case.
        let supports: Vec<&Support> = case
            .supports
            .iter()
            .filter(|s| s.class == class && s.site == site && !split_phase)
            .collect();
        if !supports.is_empty() {
            self.supported(&supports)
        } else if matches!(
            at.kind,
            Kind::Arrive { .. } | Kind::Expect { .. } | Kind::Deliver { .. }
        ) {
            self.waited_or_once(class, site)
        } else {
            self.only_once(class, site)
        }
    }

    fn at_mbarrier(&self, class: usize, site: usize) -> bool {
        let object = self.classes[class].flow.sites[site].object;
        matches!(
            self.protocol.objects[object.0].kind,
            ObjectKind::Mbarrier { .. }
        )
    }

    /// The member has itself waited for the generation before, or does it once per element. After
    /// `v` waits of one operation at an element, the last of them was for generation `v - 1 + first`
    /// at least, since a member waits for later and later ones.
    fn waited_or_once(&mut self, class: usize, site: usize) -> Result<(), Unsupported> {
        let this = &self.classes[class];
        let at = &this.flow.sites[site];
        let moves = || Unsupported::at(at.span, "the way the element of this operation moves");
        let mut setting = self.setting_of(class)?;
        let env = setting.member_at(this, site, "at")?;
        let generation = self.generation(&mut setting, class, site, &env)?;
        let mut ways = vec![term::le(&generation, &term::int(1))];
        for (wait, other) in this.flow.sites.iter().enumerate() {
            if !matches!(other.kind, Kind::WaitParity { .. }) || !other.may_meet(at) {
                continue;
            }
            let known = self.chosen(class, wait)?;
            let waits = if known.all {
                self.visits_of(this, site, |k| matches!(k, Kind::WaitParity { .. }))
            } else {
                this.flow.visits(wait, &at.index, Place::Site(site))
            };
            let waits = setting.terms.expr(&waits.ok_or_else(moves)?, &env)?;
            let reached = term::sum([waits.clone(), term::int(known.first)]);
            ways.push(term::and([
                term::le(&term::int(1), &waits),
                term::le(&generation, &reached),
            ]));
        }
        let what = self.quote(at.span);
        self.conclude(
            format!("waited_c{class}_s{site}"),
            format!(
                "in {}, `{what}` comes after a wait of its own for the round before",
                this.name
            ),
            setting,
            term::or(ways),
        )
    }

    /// Nothing orders it, but the member does it once per element.
    fn only_once(&mut self, class: usize, site: usize) -> Result<(), Unsupported> {
        let this = &self.classes[class];
        let mut setting = self.setting_of(class)?;
        let env = setting.member_at(this, site, "at")?;
        let generation = self.generation(&mut setting, class, site, &env)?;
        let what = self.quote(this.flow.sites[site].span);
        self.conclude(
            format!("once_c{class}_s{site}"),
            format!("in {}, `{what}` happens once per element", this.name),
            setting,
            term::le(&generation, &term::int(1)),
        )
    }

    /// One of some other classes waits for the generation before, and while a member of it is held
    /// at that wait, this class does not get here.
    fn supported(&mut self, supports: &[&Support]) -> Result<(), Unsupported> {
        let classes = self.classes;
        let (class, site) = (supports[0].class, supports[0].site);
        let this = &classes[class];
        let at = &this.flow.sites[site];
        let mut setting = self.setting_of(class)?;
        let env = setting.member_at(this, site, "at")?;
        let generation = self.generation(&mut setting, class, site, &env)?;
        setting.facts.push(term::lt(&term::int(1), &generation));
        let mut ways = Vec::new();
        for support in supports {
            ways.push(self.support(&mut setting, support, &env, &generation)?);
        }
        let waits: Vec<String> = supports
            .iter()
            .map(|s| {
                let by = &classes[s.by];
                let text = self.quote(by.flow.sites[s.wait].span);
                format!("{} has passed `{text}`", by.name)
            })
            .collect();
        let (what, why) = (self.quote(at.span), waits.join(" or "));
        let name = &this.name;
        self.conclude(
            format!("joins_c{class}_s{site}"),
            format!("in {name}, `{what}` comes after {why} of the round before"),
            setting,
            term::or(ways),
        )
    }

    /// That a support fits.
    fn support(
        &self,
        setting: &mut Setting<'a>,
        support: &Support,
        env: &Env,
        generation: &Term,
    ) -> Result<Term, Unsupported> {
        let (class, site) = (support.class, support.site);
        let this = &self.classes[class];
        let at = &this.flow.sites[site];
        let wrong = || Unsupported::at(at.span, "a support that does not fit");
        let by = self.classes.get(support.by).ok_or_else(wrong)?;
        let wait = by.flow.sites.get(support.wait).ok_or_else(wrong)?;
        if support.by == class || wait.object != at.object || !wait.kind.blocks() {
            return Err(wrong());
        }
        // Held before the wait, its registration done.
        let hold = self.held(support.by, support.wait).ok_or_else(wrong)?;
        let own = Held {
            class,
            place: Place::Site(site),
            env,
        };
        let clock = self.form(setting, &support.clock, own)?;
        let end = setting.clock_end(by, support.wait)?;
        let (held, inside) = setting.iterations(by, &wait.path, "held")?;
        let held_clock = setting.clock(by, support.wait, &held)?;
        // That iteration exists, so its numbers may be named.
        let exists = term::within(&term::int(0), &clock, &end);
        setting.facts.push(term::or([
            term::not(exists.clone()),
            term::and(inside.into_iter().chain([term::eq(&held_clock, &clock)])),
        ]));
        let mut goals = vec![exists];
        goals.extend(setting.conditions(&wait.path, &held)?);
        goals.push(self.exists(setting, support.by)?);
        for (x, y) in at.index.iter().zip(&wait.index) {
            let (x, y) = (setting.terms.expr(x, env)?, setting.terms.expr(y, &held)?);
            goals.push(term::eq(&x, &y));
        }
        let awaited = self.generation(setting, support.by, support.wait, &held)?;
        goals.push(term::eq(&awaited, &term::sub(generation, &term::int(1))));
        // One of this class's stops exists and comes before the operation; it gets no further than
        // the earliest.
        let from = Held {
            class: support.by,
            place: Place::Site(support.wait),
            env: &held,
        };
        let stops = self.stops_of(hold, class).ok_or_else(wrong)?;
        goals.push(self.stopped(setting, stops, from, own)?);
        Ok(term::and(goals))
    }

    /// That a place comes after one of its class's stops while a member is held elsewhere.
    pub fn stopped(
        &self,
        setting: &mut Setting<'a>,
        stops: &[Stop],
        from: Held<'_>,
        at: Held<'_>,
    ) -> Result<Term, Unsupported> {
        let mut ways = Vec::new();
        for stop in stops {
            let spot = self.stop(setting, at.class, stop, from)?;
            let reached = self.form(setting, &stop.clock, from)?;
            let beyond = self.beyond(setting, at, stop.site, &reached)?;
            ways.push(term::and([spot.when, beyond]));
        }
        Ok(term::or(ways))
    }

    /// Whether a place comes after a stop in a given iteration. Only asked where the stop exists in
    /// that iteration: it is one of its loop's, and the stop is not skipped in it.
    ///
    /// Inside loops, an iteration that the member has completed contained the stop. Outside loops,
    /// the iteration can only be number 0, and `done` is how often the member has executed the stop
    /// by then, conditions included: 1 if the stop is on its way to the place, and 0 if it comes
    /// later, is skipped or stands in the other branch. So nothing has to be known about conditions.
    pub fn beyond(
        &self,
        setting: &mut Setting<'a>,
        at: Held<'_>,
        stop: usize,
        iteration: &Term,
    ) -> Result<Term, Unsupported> {
        let this = self.class(at.class);
        let clock = this.flow.clock(stop);
        let done = this
            .flow
            .before(at.place, clock)
            .ok_or_else(|| state::uncounted(this, stop))?;
        let done = setting.terms.expr(&done, at.env)?;
        let Counted::Iteration(level) = clock else {
            return Ok(decided(term::lt(iteration, &done)));
        };
        let path = this.flow.path(at.place);
        let inside = path.is_some_and(|path| path.loops.contains(&level));
        let same = inside && this.flow.comes_after(at.place, stop);
        Ok(decided(if same {
            term::le(iteration, &done)
        } else {
            term::lt(iteration, &done)
        }))
    }

    /// While a member is held before an operation, its element does not complete the generation
    /// `above` the operation's own.
    fn not_ahead(&mut self, class: usize, site: usize, above: i64) -> Result<(), Unsupported> {
        self.hold(class, site, Some(above))
    }

    /// The cut for an operation: the only one that is looked at anywhere.
    pub fn held(&self, class: usize, site: usize) -> Option<&'a Hold> {
        let classes = self.classes.len();
        let apart = self.copies.shares || self.ordered.is_some();
        let elsewhere = if apart { classes } else { 0 };
        let fits = |h: &Hold| h.stops.len() == classes && h.elsewhere.len() == elsewhere;
        let mut holds = self.case.holds.iter();
        holds.find(|h| h.class == class && h.site == site && fits(h))
    }

    /// Where the members of a class stop that may work on the elements of the member that is held:
    /// those of its copy, if they belong to copies.
    pub fn stops_of(&self, hold: &'a Hold, class: usize) -> Option<&'a [Stop]> {
        let other = &self.classes[class];
        let marked = other.copies.is_none() || other.is_kind_of(&self.classes[hold.class]);
        hold.stops.get(class).filter(|_| marked).map(|s| &s[..])
    }

    /// A member arrives at a split-phase barrier and waits there by turns.
    fn alternates(&mut self, class: usize, site: usize) -> Result<(), Unsupported> {
        let this = &self.classes[class];
        let at = &this.flow.sites[site];
        if self.protocol.objects[at.object.0].kind == ObjectKind::Named {
            return Ok(());
        }
        let moves = || Unsupported::at(at.span, "the way the element of this operation moves");
        let registers = |k: &Kind| matches!(k, Kind::Register { .. });
        let awaits = |k: &Kind| matches!(k, Kind::Await);
        let arrived = self.visits_of(this, site, registers).ok_or_else(moves)?;
        let waited = self.visits_of(this, site, awaits).ok_or_else(moves)?;
        let mut setting = self.setting_of(class)?;
        let env = setting.member_at(this, site, "at")?;
        let arrived = setting.terms.expr(&arrived, &env)?;
        let waited = setting.terms.expr(&waited, &env)?;
        let open = term::int(i64::from(awaits(&at.kind)));
        let what = self.quote(at.span);
        self.conclude(
            format!("alternates_c{class}_s{site}"),
            format!(
                "in {}, every arrival is waited for before the next, at `{what}`",
                this.name
            ),
            setting,
            term::eq(&arrived, &term::sum([waited, open])),
        )
    }

    /// A cut. `above`: what its element must not have completed by then.
    pub fn hold(
        &mut self,
        class: usize,
        site: usize,
        above: Option<i64>,
    ) -> Result<(), Unsupported> {
        let classes = self.classes;
        let this = &classes[class];
        let at = &this.flow.sites[site];
        let hold = self.held(class, site).ok_or_else(|| {
            Unsupported::at(at.span, "an operation for which the certificate has no cut")
        })?;
        if self.follows_by_renaming(hold, above) {
            return Ok(());
        }
        let mut setting = self.setting_of(class)?;
        let env = setting.member_at(this, site, "held")?;
        let mut groups = vec![Group {
            class: this,
            size: Expr::Int(1),
            spots: vec![Spot {
                when: term::boolean(true),
                place: Place::Site(site),
                env: env.clone(),
            }],
            spread: None,
            withheld: None,
            copy: self.marked(class),
        }];
        let from = Held {
            class,
            place: Place::Site(site),
            env: &env,
        };
        let (others, mut crews) = self.others(&mut setting, &hold.stops, from)?;
        let first = groups.len();
        groups.extend(others);
        let (others, more) = self.elsewhere(&mut setting, &hold.elsewhere, from)?;
        groups.extend(others);
        crews.extend(more);
        let away = self.away(&mut setting, &hold.elsewhere, from)?;
        let mut goals = self.blocked(&mut setting, &groups, first, &crews)?;
        if let Some(above) = above {
            // An arrival that bytes belong to must itself be missing.
            let arrivals_only = matches!(at.kind, Kind::Arrive { .. });
            let place = (class, site);
            goals.push(self.lacks(&mut setting, &groups, place, &env, above, arrivals_only)?);
        }
        goals.extend(self.blocked_away(&mut setting, groups, away)?);
        let what = self.quote(at.span);
        self.conclude(
            format!("cut_c{class}_s{site}"),
            format!(
                "while a member of {} is held at `{what}`, everybody else stops where the cut says{}",
                this.name,
                if above.is_some() {
                    ", and the element it looks at does not run ahead"
                } else {
                    ""
                }
            ),
            setting,
            term::and(goals),
        )
    }

    /// Everybody else while a member is held: a group for each class, at its stops.
    pub fn others(
        &self,
        setting: &mut Setting<'a>,
        stops: &[Vec<Stop>],
        from: Held<'_>,
    ) -> Result<Others<'a>, Unsupported> {
        let (mut groups, mut crews) = (Vec::new(), Vec::new());
        for (position, stop) in stops.iter().enumerate() {
            let class = &self.classes[position];
            // Copies of other kinds have nobody in the copy of the member that is held.
            if class.copies.is_some() && !class.is_kind_of(&self.classes[from.class]) {
                continue;
            }
            // Ordered copies have finished while a member of no copy is held.
            if self.is_copied(position) && !self.is_copied(from.class) {
                continue;
            }
            let size = if position == from.class {
                super::algebra::sub(class.size.clone(), Expr::Int(1))
            } else {
                class.size.clone()
            };
            if size == Expr::Int(0) {
                continue;
            }
            let spots = self.stops(setting, position, stop, from)?;
            let count = setting.terms.expr(&size, &Env::new())?;
            crews.push((position, term::le(&count, &term::int(0))));
            groups.push(Group {
                class,
                size,
                spots,
                spread: None,
                withheld: None,
                copy: self.marked(position),
            });
        }
        Ok((groups, crews))
    }

    /// The same in the copies other than that of the member that is held.
    pub fn elsewhere(
        &self,
        setting: &mut Setting<'a>,
        stops: &[Vec<Stop>],
        from: Held<'_>,
    ) -> Result<Others<'a>, Unsupported> {
        let (mut groups, mut crews) = (Vec::new(), Vec::new());
        for (position, stop) in stops.iter().enumerate() {
            let class = &self.classes[position];
            let Some(copies) = &class.copies else {
                continue;
            };
            let count = if class.is_kind_of(&self.classes[from.class]) {
                super::algebra::sub(copies.clone(), Expr::Int(1))
            } else {
                copies.clone()
            };
            if count == Expr::Int(0) {
                continue;
            }
            let spots = self.stops(setting, position, stop, from)?;
            let members = setting.terms.expr(&class.size, &Env::new())?;
            let copies = setting.terms.expr(&count, &Env::new())?;
            let zero = term::int(0);
            let nobody = term::or([term::le(&members, &zero), term::le(&copies, &zero)]);
            crews.push((position, nobody));
            groups.push(Group {
                class,
                size: class.size.clone(),
                spots,
                spread: None,
                withheld: None,
                copy: Some(Copy {
                    tag: Tag::Unmarked,
                    count,
                }),
            });
        }
        Ok((groups, crews))
    }

    /// The copies after that of the member that is held, where copies go in order: the groups of the
    /// second symbolic copy. Says what copies do that are not looked at.
    fn away(
        &self,
        setting: &mut Setting<'a>,
        stops: &[Vec<Stop>],
        from: Held<'_>,
    ) -> Result<Vec<(usize, Group<'a>)>, Unsupported> {
        let mut groups = Vec::new();
        let Some(ordered) = self.ordered else {
            return Ok(groups);
        };
        if !self.is_copied(from.class) {
            setting.around = Some(Around {
                finished: Upto::End,
                away: Vec::new(),
            });
            return Ok(groups);
        }
        let mut away = Vec::new();
        for nth in 1..ordered.numbers.len() {
            let mut all = Vec::new();
            for (position, stop) in stops.iter().enumerate() {
                if !self.is_copied(position) {
                    continue;
                }
                let shadow = position + nth * self.classes.len();
                let spots = self.stops(setting, shadow, stop, from)?;
                let class = self.class(shadow);
                if nth == 1 {
                    let group = Group {
                        class,
                        size: class.size.clone(),
                        spots: spots.clone(),
                        spread: None,
                        withheld: None,
                        copy: None,
                    };
                    groups.push((shadow, group));
                }
                all.push((shadow, spots));
            }
            away.push(Away {
                number: self.is_number(setting, nth)?,
                spots: all,
            });
        }
        setting.around = Some(Around {
            finished: Upto::This,
            away,
        });
        Ok(groups)
    }

    /// That everybody in the second symbolic copy is blocked or finished.
    fn blocked_away(
        &self,
        setting: &mut Setting<'a>,
        mut groups: Vec<Group<'a>>,
        away: Vec<(usize, Group<'a>)>,
    ) -> Result<Vec<Term>, Unsupported> {
        if away.is_empty() {
            return Ok(Vec::new());
        }
        let first = groups.len();
        let none = term::not(self.is_number(setting, 1)?);
        let mut crews = Vec::new();
        for (shadow, group) in away {
            let size = setting.terms.expr(&group.size, &Env::new())?;
            let nobody = term::or([none.clone(), term::le(&size, &term::int(0))]);
            crews.push((shadow, nobody));
            groups.push(group);
        }
        self.blocked(setting, &groups, first, &crews)
    }

    /// The copy of the member that is held, for a class of its kind.
    pub fn marked(&self, class: usize) -> Option<Copy> {
        let copies = self.classes[class].copies.as_ref();
        copies.map(|_| Copy {
            tag: Tag::Marked,
            count: Expr::Int(1),
        })
    }

    /// All copies of a kind, for a class of theirs.
    fn all_copies(&self, class: usize) -> Option<Copy> {
        let count = self.classes[class].copies.clone();
        count.map(|count| Copy {
            tag: Tag::Unmarked,
            count,
        })
    }

    /// That whoever is in these groups, from `first` on, and not at the end is blocked where it is.
    pub fn blocked(
        &self,
        setting: &mut Setting<'a>,
        groups: &[Group<'a>],
        first: usize,
        crews: &[(usize, Term)],
    ) -> Result<Vec<Term>, Unsupported> {
        let mut goals = Vec::new();
        for (group, (position, none)) in groups[first..].iter().zip(crews) {
            for spot in &group.spots {
                if let Place::Site(site) = spot.place {
                    let at = (*position, site);
                    let copy = group.copy.as_ref().map(|copy| copy.tag);
                    let blocked = self.lacks_in(copy, setting, groups, at, &spot.env, 0, false)?;
                    let when = spot.when.clone();
                    goals.push(term::or([none.clone(), term::not(when), blocked]));
                }
            }
        }
        Ok(goals)
    }

    /// The spots of a class's stops, each where it is the earliest that exists, then the end.
    pub fn stops(
        &self,
        setting: &mut Setting<'a>,
        class: usize,
        stops: &[Stop],
        from: Held<'_>,
    ) -> Result<Vec<Spot>, Unsupported> {
        let mut found: Vec<Spot> = Vec::new();
        let mut numbers = Vec::new();
        for stop in stops {
            found.push(self.stop(setting, class, stop, from)?);
            numbers.push(self.form(setting, &stop.clock, from)?);
        }
        let mut spots = Vec::new();
        for (nth, spot) in found.iter().enumerate() {
            let mut when = vec![spot.when.clone()];
            for (other, stop) in stops.iter().enumerate().filter(|(other, _)| *other != nth) {
                let place = Held {
                    class,
                    place: spot.place,
                    env: &spot.env,
                };
                let later = self.beyond(setting, place, stop.site, &numbers[other])?;
                when.push(term::not(term::and([found[other].when.clone(), later])));
            }
            spots.push(Spot {
                when: term::and(when),
                ..spot.clone()
            });
        }
        spots.push(Spot {
            when: term::and(spots.iter().map(|s| term::not(s.when.clone()))),
            place: Place::End,
            env: Env::new(),
        });
        Ok(spots)
    }

    fn stop(
        &self,
        setting: &mut Setting<'a>,
        class: usize,
        stop: &Stop,
        from: Held<'_>,
    ) -> Result<Spot, Unsupported> {
        let site = stop.site;
        let this = self.class(class);
        let at = this
            .flow
            .sites
            .get(site)
            .filter(|s| s.kind.blocks())
            .ok_or_else(|| Unsupported::whole("a stop at an operation that does not block"))?;
        let clock = self.form(setting, &stop.clock, from)?;
        let total = setting.clock_end(this, site)?;
        let (env, inside) = setting.iterations(this, &at.path, "stop")?;
        let own = setting.clock(this, site, &env)?;
        let conditions = setting.conditions(&at.path, &env)?;
        // Every iteration number below the total belongs to exactly one choice of the loops'
        // variables, so they may be named without assuming anything.
        setting.facts.push(term::or([
            term::not(term::within(&term::int(0), &clock, &total)),
            term::and(inside.into_iter().chain([term::eq(&own, &clock)])),
        ]));
        let exists = decided(term::within(&term::int(0), &clock, &total));
        let there = term::and([exists].into_iter().chain(conditions));
        Ok(Spot {
            when: there,
            place: Place::Site(site),
            env,
        })
    }

    /// Whether a wait's element has not got what the wait needs, `above` generations on. Where
    /// `arrivals_only`, bytes do not count.
    pub fn lacks(
        &self,
        setting: &mut Setting<'a>,
        groups: &[Group<'_>],
        at: (usize, usize),
        env: &Env,
        above: i64,
        arrivals_only: bool,
    ) -> Result<Term, Unsupported> {
        let copy = Some(Tag::Marked);
        self.lacks_in(copy, setting, groups, at, env, above, arrivals_only)
    }

    /// The same for a wait of a member of a certain copy.
    #[expect(
        clippy::too_many_arguments,
        reason = "who waits, for what, and where everybody is"
    )]
    fn lacks_in(
        &self,
        copy: Option<Tag>,
        setting: &mut Setting<'a>,
        groups: &[Group<'_>],
        (class, site): (usize, usize),
        env: &Env,
        above: i64,
        arrivals_only: bool,
    ) -> Result<Term, Unsupported> {
        let this = self.class(class);
        let element: Element = setting.element_of(this, site, env, copy)?;
        let generation = match &this.flow.sites[site].kind {
            Kind::WaitValue { .. } => None,
            _ => Some(self.generation(setting, class, site, env)?),
        };
        let fix = |e: &Expr| self.fix(e);
        let (scale, mut need) = setting.need(this, site, env, generation.clone(), above, &fix)?;
        let zero = term::int(0);
        let around = setting.around.clone();
        let mut idle = Vec::new();
        if let Some(around) = &around {
            let arrivals = Resource::Arrivals;
            need.extend(self.finished(setting, &element, arrivals, scale, around.finished)?);
            // Seen from the second copy, it is the third one that stands for the others.
            let other = usize::from(class >= self.classes.len());
            if let Some(away) = around.away.get(other) {
                idle.push(self.idle(setting, &element, arrivals, away)?);
                idle.push(self.idle(setting, &element, Resource::Bytes, away)?);
            }
        }
        let class = self.original(class);
        let arrived = setting.balance(groups, &element, Resource::Arrivals, scale, need)?;
        let mut lacking = vec![term::lt(&arrived, &zero)];
        if let Some(generation) = generation
            && !arrivals_only
            && self.has_bytes(class, site)
        {
            // What is expected is what is delivered: an obligation of its own.
            let each = Polynomial::of(&self.landing_bytes(class, site)?);
            let wanted = term::sum([generation, term::int(above)]);
            let mut need = vec![(each, wanted)];
            if let Some(around) = &around {
                need.extend(self.finished(
                    setting,
                    &element,
                    Resource::Bytes,
                    1,
                    around.finished,
                )?);
            }
            let landed = setting.balance(groups, &element, Resource::Bytes, 1, need)?;
            lacking.push(term::lt(&landed, &zero));
        }
        idle.push(term::or(lacking));
        Ok(term::and(idle))
    }

    pub fn form(
        &self,
        setting: &mut Setting<'a>,
        form: &Form,
        held: Held<'_>,
    ) -> Result<Term, Unsupported> {
        let wrong = || Unsupported::whole("a form over something that does not exist");
        let mut sum = Vec::new();
        for product in &form.0 {
            let mut factors = Vec::new();
            for quantity in &product.of {
                factors.push(match quantity {
                    Quantity::Param(at) if *at < self.known_params() => {
                        let param = self.fix(&Expr::Param(ParamId(*at)));
                        setting.terms.expr(&param, &Env::new())?
                    }
                    Quantity::Clock(depth) => {
                        let clock = self.held_clock(held, *depth)?;
                        setting.terms.expr(&clock, held.env)?
                    }
                    Quantity::Share {
                        clock,
                        plus,
                        by,
                        times,
                    } if *by >= 1 => {
                        let clock = self.held_clock(held, *clock)?;
                        let sum = super::algebra::add(clock, Expr::Int(*plus));
                        let share = super::algebra::binary(BinaryOp::Div, sum, Expr::Int(*by));
                        let share = super::algebra::max(Expr::Int(0), share);
                        let share = super::algebra::mul(Expr::Int(*times), share);
                        setting.terms.expr(&share, held.env)?
                    }
                    Quantity::Sum {
                        of,
                        at,
                        clock,
                        plus,
                    } => {
                        let clock = self.held_clock(held, *clock)?;
                        let outer = super::algebra::add(clock, Expr::Int(*plus));
                        let class = self.classes.get(*of).ok_or_else(wrong)?;
                        let sum = class.flow.after(*at, &outer).ok_or_else(wrong)?;
                        setting.terms.expr(&sum, held.env)?
                    }
                    Quantity::Trips(of, at) => {
                        let trips = self.trips(*of, *at)?;
                        setting.terms.expr(trips, &Env::new())?
                    }
                    Quantity::Quotient {
                        clock,
                        plus,
                        of,
                        from,
                    } => {
                        let clock = clock
                            .map(|clock| self.held_clock(held, clock))
                            .transpose()?;
                        let clock = clock.unwrap_or(Expr::Int(0));
                        let sum = super::algebra::add(clock, Expr::Int(*plus));
                        let by = self.inner_trips(*of, *from)?;
                        let quotient = Expr::Binary(BinaryOp::Div, Box::new(sum), Box::new(by));
                        setting.terms.expr(&quotient, held.env)?
                    }
                    Quantity::Param(_) | Quantity::Share { .. } => return Err(wrong()),
                });
            }
            let value = factors
                .into_iter()
                .reduce(|a, b| setting.terms.product(&a, &b));
            sum.push(match (product.times, value) {
                (times, None) => term::int(times),
                (1, Some(value)) => value,
                (times, Some(value)) => term::apply("*", &[term::int(times), value]),
            });
        }
        Ok(term::sum(sum))
    }

    /// How many of the parameters a form may use: a stop is the same function of each symbolic copy
    /// other than the first, and must not look at their numbers.
    fn known_params(&self) -> usize {
        match self.ordered {
            Some(ordered) => ordered.numbers[0].0 + 1,
            None => self.protocol.params.len(),
        }
    }

    /// How many iterations of a loop around a place a member before it has completed.
    fn held_clock(&self, from: Held<'_>, depth: usize) -> Result<Expr, Unsupported> {
        let wrong = || Unsupported::whole("a form over something that does not exist");
        let this = &self.classes[from.class];
        let path = this.flow.path(from.place).ok_or_else(wrong)?;
        let level = *path.loops.get(depth).ok_or_else(wrong)?;
        let clock = this.flow.before(from.place, Counted::Iteration(level));
        clock.ok_or_else(|| Unsupported::whole("the number of iterations around a step"))
    }

    /// How often the loops around an operation from `depth` on go around in one iteration of those
    /// outside.
    fn inner_trips(&self, of: (usize, usize), depth: usize) -> Result<Expr, Unsupported> {
        let wrong = || Unsupported::whole("a form over something that does not exist");
        let class = self.classes.get(of.0).ok_or_else(wrong)?;
        let path = &class.flow.sites.get(of.1).ok_or_else(wrong)?.path;
        let mut product = Expr::Int(1);
        for at in path.loops.get(depth..).ok_or_else(wrong)? {
            product = super::algebra::mul(product, self.trips(of.0, *at)?.clone());
        }
        Ok(product)
    }

    fn trips(&self, class: usize, at: usize) -> Result<&'a Expr, Unsupported> {
        let known = self.classes.get(class).and_then(|c| c.flow.loops.get(at));
        known
            .map(|l| &l.trips)
            .ok_or_else(|| Unsupported::whole("a form over something that does not exist"))
    }

    /// No choice of places, one per class, leaves everybody blocked or finished and somebody
    /// blocked. Where copies go in order: somebody of the first copy that is not finished, or of no
    /// copy, when all copies are.
    fn progress(&mut self, upto: Upto) -> Result<(), Unsupported> {
        let classes = self.classes;
        let mut setting = self.setting()?;
        if self.ordered.is_some() {
            setting.around = Some(Around {
                finished: upto,
                away: Vec::new(),
            });
            if upto == Upto::This {
                let number = self.is_number(&mut setting, 0)?;
                setting.facts.push(number);
            }
        }
        setting.exact_products = (0..classes.len()).any(|class| self.uses_pools(class));
        let mut groups = Vec::new();
        let mut unfinished = Vec::new();
        let mut splits: BTreeMap<usize, usize> = BTreeMap::new();
        let looked_at: Vec<usize> = (0..classes.len())
            .filter(|class| upto == Upto::This || !self.is_copied(*class))
            .collect();
        let first = self.at_one_place();
        for &position in &looked_at {
            let class = &classes[position];
            if first[position] != position {
                // Of all classes, those before it are looked at.
                let spots = groups
                    .get(first[position])
                    .map(|group: &Group<'a>| group.spots.clone());
                groups.push(Group {
                    class,
                    size: class.size.clone(),
                    spots: spots.unwrap_or_default(),
                    spread: None,
                    withheld: None,
                    copy: self.all_copies(position),
                });
                continue;
            }
            if self.uses_pools(position) {
                let (group, open) = self.spread(&mut setting, position)?;
                groups.push(group);
                unfinished.push(open);
                continue;
            }
            let stops: Vec<usize> = (0..class.flow.sites.len())
                .filter(|at| class.flow.sites[*at].kind.blocks())
                .collect();
            let choice = setting.terms.constant(&format!("place_{position}"));
            let last = i64::try_from(stops.len()).unwrap_or(i64::MAX);
            let exists = self.exists(&mut setting, position)?;
            setting.facts.push(term::within(
                &term::int(0),
                &choice,
                &term::int(last.saturating_add(1)),
            ));
            splits.insert(position, setting.split.len());
            setting.split.push(Split {
                integer: choice.clone(),
                bound: last.saturating_add(1),
                then: Vec::new(),
            });
            let mut spots = Vec::new();
            for (nth, site) in stops.iter().enumerate() {
                let when = term::eq(&choice, &term::int(nth as i64));
                let path = &class.flow.sites[*site].path;
                let (env, inside) =
                    setting.iterations(class, path, &format!("blocked_{position}"))?;
                let conditions = setting.conditions(path, &env)?;
                setting.facts.push(term::or([
                    term::not(when.clone()),
                    term::and(inside.into_iter().chain(conditions)),
                ]));
                spots.push(Spot {
                    when,
                    place: Place::Site(*site),
                    env,
                });
            }
            if !stops.is_empty() && (upto == Upto::End || self.is_first(position)) {
                unfinished.push(term::and([
                    exists,
                    term::not(term::eq(&choice, &term::int(last))),
                ]));
            }
            spots.push(Spot {
                when: term::eq(&choice, &term::int(last)),
                place: Place::End,
                env: Env::new(),
            });
            groups.push(Group {
                class,
                size: class.size.clone(),
                spots,
                spread: None,
                withheld: None,
                copy: self.all_copies(position),
            });
        }
        for (group, &position) in looked_at.iter().enumerate() {
            if first[position] != position {
                continue;
            }
            if self.uses_pools(position) {
                self.spread_blocked(&mut setting, &groups, position)?;
                continue;
            }
            let none = term::not(self.exists(&mut setting, position)?);
            let copy = groups[group].copy.as_ref().map(|copy| copy.tag);
            for nth in 0..groups[group].spots.len() {
                let spot = groups[group].spots[nth].clone();
                let Place::Site(site) = spot.place else {
                    continue;
                };
                let at = (position, site);
                let rings = setting.rings.len();
                let blocked =
                    self.lacks_in(copy, &mut setting, &groups, at, &spot.env, 0, false)?;
                // Next where in a ring it is blocked, and where those are who could unblock it.
                let mut next: Vec<Term> = Vec::new();
                next.extend(setting.rings[rings..].iter().map(|r| r.integer.clone()));
                let object = classes[position].flow.sites[site].object;
                next.extend(splits.iter().filter_map(|(other, split)| {
                    let mut sites = classes[*other].flow.sites.iter();
                    let arrives = sites.any(|s| s.object == object && s.kind.arrivals().is_some());
                    arrives.then(|| setting.split[*split].integer.clone())
                }));
                if let Some(split) = splits.get(&position) {
                    let then = next.into_iter().map(|next| (nth as i64, next));
                    setting.split[*split].then.extend(then);
                }
                setting
                    .facts
                    .push(term::or([none.clone(), term::not(spot.when), blocked]));
            }
        }
        setting.facts.push(term::or(unfinished));
        let name = match upto {
            Upto::This => "progress",
            Upto::End => "progress_after_all_copies",
        };
        // The class with most places first.
        setting
            .split
            .sort_by_key(|split| std::cmp::Reverse(split.bound));
        let rings = std::mem::take(&mut setting.rings);
        setting.split.extend(rings);
        self.conclude(
            name.to_owned(),
            "no choice of places leaves somebody blocked and nobody able to go on".to_owned(),
            setting,
            term::boolean(false),
        )
    }
}
