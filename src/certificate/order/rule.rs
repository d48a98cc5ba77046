//! The obligations of the order rule.

use super::artefact::Behind;
use super::artefact::End;
use super::artefact::Order;
use super::cases::Bit;
use super::cases::Env;
use super::cases::fits;
use super::closed;
use super::guards;
use super::guards::Guards;
use super::memory::Memory;
use super::polynomial::Polynomial;
use super::positivity::Sequent;
use super::quotients;
use super::quotients::Quotient;
use super::repeated_registrations;
use super::rings;
use super::rings::Ring;
use super::scene::At;
use super::scene::Scene;
use crate::certificate::cut::class;
use crate::certificate::cut::class::Class;
use crate::certificate::cut::copies;
use crate::certificate::cut::flow::Kind;
use crate::certificate::cut::flow::Site;
use crate::certificate::program::Unsupported;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::Initial;
use crate::protocol::ObjectKind;
use crate::protocol::Protocol;
use crate::protocol::Resident;
use crate::protocol::Span;

/// An obligation.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Its name.
    pub name: String,
    /// Its meaning.
    pub meaning: String,
    /// The obligation as inequalities.
    pub sequent: Sequent,
}

/// A protocol in the rule's terms.
pub struct Rule<'p> {
    pub(super) protocol: &'p Protocol,
    /// Members that run the same program.
    pub classes: Vec<Class>,
    /// The rings that members use.
    pub rings: Vec<Ring>,
    /// For each shadow, the class that it belongs to: see [`super::bytes`] and [`super::repeated_registrations`].
    shadows: Vec<usize>,
    /// The facts about the parameters.
    pub(super) scene: Scene,
    /// Conditions that are ignored: see [`guards`].
    pub(super) guards: Guards,
    /// Waits that end programs, with their rings: see [`super::trailing_waits`].
    pub ends: Vec<(usize, End)>,
}

impl<'p> Rule<'p> {
    /// Splits a protocol into classes and rings. The artefact says which waits are numbered regardless of conditions,
    /// which waits at the ends of programs are checked separately, which arrivals are unfilled, which registrations
    /// are numbered separately, which classes have which seats, and which registrations are kept apart by their
    /// counts.
    ///
    /// # Errors
    ///
    /// The first construct that the rule does not cover.
    pub fn new(protocol: &'p Protocol, order: &Order) -> Result<Rule<'p>, Unsupported> {
        if let Some(pattern) = protocol.patterns.first() {
            return Err(Unsupported::at(pattern.span, "a block-sparse pattern"));
        }
        let limited = |role: &&crate::protocol::Role| {
            let launch = role.launch.as_ref();
            launch.is_some_and(|launch| matches!(launch.resident, Resident::AtMost(_)))
        };
        if let Some(role) = protocol.roles.iter().find(limited) {
            return Err(Unsupported::at(role.span, "a grid that need not fit"));
        }
        let copies = copies::copies(protocol);
        if copies.shares {
            return Err(Unsupported::whole("copies that share objects"));
        }
        let mut classes = class::classes(protocol, &[])?;
        let guards = guards::unguard(&mut classes, &order.unguarded)?;
        let (mut rings, mut shadows) = rings::rings(protocol, &classes, &order.apart)?;
        repeated_registrations::share_out(
            protocol,
            &classes,
            &mut rings,
            &mut shadows,
            &order.again,
        )?;
        let mut scene = Scene::new(protocol)?;
        if let Some(extent) = copies.extent {
            // If there is no copy, there are no members, and nothing has to be shown.
            scene.assume(&Expr::binary(BinaryOp::Ge, extent, Expr::Int(1)));
        }
        let mut rule = Rule {
            protocol,
            classes,
            rings,
            shadows,
            scene,
            guards,
            ends: Vec::new(),
        };
        rule.seat(&order.seats)?;
        rule.leave_unfilled(&order.unfilled)?;
        rule.leave_out(&order.ends)?;
        rule.gather(&order.teams)?;
        // The cache may contain counts of classes from before they were changed.
        for class in &mut rule.classes {
            class.memory = Memory::default();
        }
        Ok(rule)
    }

    /// The class that the members of a class or shadow belong to.
    pub fn member(&self, class: usize) -> usize {
        rings::member(class, self.classes.len(), &self.shadows)
    }

    /// The class; for a shadow, the class that it belongs to.
    pub(super) fn class(&self, class: usize) -> &Class {
        &self.classes[self.member(class)]
    }

    pub(super) fn site(&self, class: usize, site: usize) -> &Site {
        &self.class(class).flow.sites[site]
    }

    fn quote(&self, span: Span) -> String {
        let text = self.protocol.source.get(span.start..span.end);
        let words = text.unwrap_or("?").split_whitespace();
        words.collect::<Vec<_>>().join(" ")
    }

    /// The operation, described in the terms of its role.
    pub fn words(&self, class: usize, site: usize) -> String {
        let quote = self.quote(self.site(class, site).span);
        format!("`{quote}` of {}", self.class(class).name)
    }

    /// Declarations are defined, and classes have sizes.
    pub fn declarations(&self) -> Result<Vec<Claim>, Unsupported> {
        let mut all = Vec::new();
        for (nth, assumption) in self.protocol.assumptions.iter().enumerate() {
            // An assumption has to be defined only if the assumptions before it hold.
            let mut earlier = self.protocol.clone();
            earlier.assumptions.truncate(nth);
            let scene = Scene::new(&earlier)?;
            let name = format!("defined_assumption_{nth}");
            let what = "an assumption is well defined";
            let condition = &assumption.condition;
            self.defined(&scene, condition, &Env::new(), &name, what, &mut all)?;
        }
        let none = Env::new();
        // Declarations have to be defined even if there is no copy.
        let anywhere = Scene::new(self.protocol)?;
        for object in &self.protocol.objects {
            let name = format!("declares_{}", object.name);
            let what = format!("the declaration of `{}` is well defined", object.name);
            let mut there = vec![anywhere.clone()];
            for extent in &object.extents {
                self.defined(&anywhere, extent, &none, &name, &what, &mut all)?;
                let mut inner = Vec::new();
                for scene in there {
                    for (mut scene, extent) in scene.value(extent, &none)? {
                        scene.know(fits(extent.less(1))?);
                        inner.push(scene);
                    }
                }
                there = inner;
            }
            let (least, amount) = match &object.kind {
                ObjectKind::Mbarrier { arrivals, .. } | ObjectKind::Barrier { arrivals } => {
                    (1, arrivals)
                }
                ObjectKind::Pool { capacity, .. } => (0, capacity),
                ObjectKind::Named => continue,
                ObjectKind::Semaphore(Initial::Value(value)) => {
                    self.defined(&anywhere, value, &none, &name, &what, &mut all)?;
                    continue;
                }
                ObjectKind::Semaphore(Initial::Any) => {
                    let what = "a semaphore with an open initial value";
                    return Err(Unsupported::at(object.span, what));
                }
            };
            self.defined(&anywhere, amount, &none, &name, &what, &mut all)?;
            for scene in &there {
                for (scene, amount) in scene.value(amount, &none)? {
                    let goal = fits(amount.less(least))?;
                    let what = format!("`{}` has at least {least}", object.name);
                    push(&mut all, &name, what, &scene, goal);
                }
            }
        }
        for role in &self.protocol.roles {
            for index in &role.indices {
                let what = format!("the number of members of `{}` is well defined", role.name);
                let name = format!("members_{}", role.name);
                self.defined(&anywhere, &index.extent, &none, &name, &what, &mut all)?;
            }
        }
        for (class, this) in self.classes.iter().enumerate() {
            for (comparison, _) in &this.compared {
                let name = format!("defined_index_c{class}");
                let what = format!(
                    "what {} compare their index with is well defined",
                    this.name
                );
                self.defined(&self.scene, comparison, &none, &name, &what, &mut all)?;
            }
            for (scene, size) in self.scene.value(&this.size, &none)? {
                let what = format!("the number of members of {} is not negative", this.name);
                push(&mut all, &format!("size_c{class}"), what, &scene, size);
            }
        }
        self.copies(&mut all)?;
        Ok(all)
    }

    /// The elements of different copies are different.
    fn copies(&self, all: &mut Vec<Claim>) -> Result<(), Unsupported> {
        let copies = copies::copies(self.protocol);
        let Some(extent) = copies.extent else {
            return Ok(());
        };
        for (object, position) in copies.objects {
            let object = &self.protocol.objects[object];
            let left = Expr::binary(
                BinaryOp::Sub,
                object.extents[position].clone(),
                extent.clone(),
            );
            for (scene, left) in self.scene.value(&left, &Env::new())? {
                let what = format!("`{}` has elements for every copy", object.name);
                push(all, &format!("copies_{}", object.name), what, &scene, left);
            }
        }
        Ok(())
    }

    /// Every expression that programs evaluate is well defined.
    pub fn evaluated(&self) -> Result<Vec<Claim>, Unsupported> {
        let mut all = Vec::new();
        for (class, this) in self.classes.iter().enumerate() {
            for (nth, claim) in this.flow.evaluations.iter().enumerate() {
                let what = format!("`{}` is well defined", self.quote(claim.span));
                for (scene, env) in self.scene.inside(this, &claim.path)? {
                    let name = format!("defined_c{class}_{nth}");
                    self.defined(&scene, &claim.expr, &env, &name, &what, &mut all)?;
                }
            }
        }
        Ok(all)
    }

    /// The dividends of these quotients are not negative wherever they are evaluated.
    pub(super) fn dividends(&self, quotients: &[Quotient]) -> Result<Vec<Claim>, Unsupported> {
        let mut all = Vec::new();
        for (class, this) in self.classes.iter().enumerate() {
            // Before any expression of theirs is evaluated, members are distinguished by the comparisons of their
            // index.
            for (comparison, _) in &this.compared {
                for (over, under) in quotients {
                    if !quotients::stands_in(comparison, over, *under) {
                        continue;
                    }
                    let what = format!(
                        "no negative number is divided in what {} compare their index with",
                        this.name
                    );
                    let name = format!("dividend_index_c{class}");
                    for (scene, over) in self.scene.value(over, &Env::new())? {
                        push(&mut all, &name, what.clone(), &scene, over);
                    }
                }
            }
            for (nth, claim) in this.flow.evaluations.iter().enumerate() {
                for (over, under) in quotients {
                    if !quotients::stands_in(&claim.expr, over, *under) {
                        continue;
                    }
                    let what = format!(
                        "no negative number is divided in `{}`",
                        self.quote(claim.span)
                    );
                    let name = format!("dividend_c{class}_{nth}");
                    for (scene, env) in self.scene.inside(this, &claim.path)? {
                        for (scene, over) in scene.value(over, &env)? {
                            push(&mut all, &name, what.clone(), &scene, over);
                        }
                    }
                }
            }
        }
        Ok(all)
    }

    /// Every expression that programs evaluate is well defined, and variables have their closed forms.
    pub fn programs(&self) -> Result<Vec<Claim>, Unsupported> {
        let mut all = self.evaluated()?;
        for (class, this) in self.classes.iter().enumerate() {
            for (nth, claim) in this.flow.claims.iter().enumerate() {
                let Expr::Binary(BinaryOp::Eq, a, b) = &claim.expr else {
                    return Err(Unsupported::at(claim.span, "such a closed form"));
                };
                let name = format!("closed_form_c{class}_{nth}");
                let what = format!("in {}, {}", this.name, claim.about);
                for (scene, env) in self.scene.inside(this, &claim.path)? {
                    for sequent in closed::equal(&scene, &env, a, b)? {
                        all.push(Claim {
                            name: name.clone(),
                            meaning: what.clone(),
                            sequent,
                        });
                    }
                    // Facts about remainders and quotients need positive divisors.
                    self.defined(&scene, &claim.expr, &env, &name, &what, &mut all)?;
                }
            }
        }
        Ok(all)
    }

    /// Divisors are positive, and operands of bitwise operations are bits.
    fn defined(
        &self,
        scene: &Scene,
        expr: &Expr,
        env: &Env,
        name: &str,
        what: &str,
        all: &mut Vec<Claim>,
    ) -> Result<(), Unsupported> {
        match expr {
            Expr::Int(_) | Expr::Bool(_) | Expr::Param(_) | Expr::Var(_) => Ok(()),
            Expr::Neg(e) | Expr::Not(e) => self.defined(scene, e, env, name, what, all),
            Expr::Binary(op, a, b) => {
                self.defined(scene, a, env, name, what, all)?;
                self.defined(scene, b, env, name, what, all)?;
                match op {
                    BinaryOp::Div | BinaryOp::Mod => {
                        for (scene, divisor) in scene.value(b, env)? {
                            let goal = fits(divisor.less(1))?;
                            push(all, name, what.to_owned(), &scene, goal);
                        }
                        Ok(())
                    }
                    BinaryOp::Xor if Bit::of(a, env).is_none() || Bit::of(b, env).is_none() => {
                        Err(Unsupported::whole("`^` of what is no bit by its form"))
                    }
                    _ => Ok(()),
                }
            }
            Expr::If(c, a, b) => {
                for part in [c, a, b] {
                    self.defined(scene, part, env, name, what, all)?;
                }
                Ok(())
            }
            Expr::Visits(..) | Expr::Count { .. } => {
                Err(Unsupported::whole("a block-sparse pattern"))
            }
        }
    }

    /// Every arrival is at the element whose turn it is, and counts at least one.
    pub fn arrivals(&self) -> Result<Vec<Claim>, Unsupported> {
        let mut all = Vec::new();
        for ring in &self.rings {
            all.extend(self.arrivals_at(ring)?);
        }
        self.bytes(&mut all)?;
        Ok(all)
    }

    /// The same for one ring, without the obligations about bytes.
    pub fn arrivals_at(&self, ring: &Ring) -> Result<Vec<Claim>, Unsupported> {
        let mut all = Vec::new();
        for &(class, site) in &ring.arrivals {
            let this = self.site(class, site);
            let name = format!("turn_c{class}_s{site}");
            if let Kind::Arrive { weight, .. } = &this.kind {
                let what = format!("{} counts at least one", self.words(class, site));
                for at in self.scene.at(self.class(class), site)? {
                    for (at, weight) in at.value(weight)? {
                        let goal = fits(weight.less(1))?;
                        push(&mut all, &name, what.clone(), &at.scene, goal);
                    }
                }
            }
            let what = format!(
                "{} goes through its elements in turn",
                self.words(class, site)
            );
            for at in self.scene.at(self.class(class), site)? {
                for (at, nth) in self.next(ring, class, &at)? {
                    self.element(ring, &at, &nth, &name, &what, &mut all)?;
                    if matches!(
                        self.protocol.objects[ring.object].kind,
                        ObjectKind::Barrier { .. }
                    ) {
                        // A second arrival without a wait in between is undefined.
                        for (at, waits) in at.done(ring.waits_of(class))? {
                            let open = fits(nth.plus(-1, &waits))?;
                            equal(&mut all, &name, &what, &at.scene, &open)?;
                        }
                    }
                }
            }
        }
        Ok(all)
    }

    /// An operation is at the element with this number modulo the size of the ring.
    pub(super) fn element(
        &self,
        ring: &Ring,
        at: &At<'_>,
        number: &Polynomial,
        name: &str,
        what: &str,
        all: &mut Vec<Claim>,
    ) -> Result<(), Unsupported> {
        let this = &at.class.flow.sites[at.site];
        let extents = &self.protocol.objects[ring.object].extents;
        for (position, (index, extent)) in this.index.iter().zip(extents).enumerate() {
            let moving = ring.moving == Some(position);
            let dividend = closed::dividend(index, extent).filter(|_| moving);
            let (x, inside) = match &dividend {
                Some(x) => (x, true),
                None => (index, false),
            };
            for (at, extent) in at.value(extent)? {
                // The extent is not 0, so a remainder by it is in range.
                let goal = fits(extent.less(1))?;
                push(all, name, what.to_owned(), &at.scene, goal);
                for (at, x) in at.value(x)? {
                    if !inside {
                        let room = fits(extent.plus(-1, &x))?;
                        let room = fits(room.less(1))?;
                        push(all, name, what.to_owned(), &at.scene, x.clone());
                        push(all, name, what.to_owned(), &at.scene, room);
                    }
                    let apart = fits(x.plus(-1, number))?;
                    if moving && closed::rounds(&apart, &extent)?.is_none() {
                        let (_, rest) = closed::left(&apart, &extent)?;
                        equal(all, name, what, &at.scene, &rest)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The number of the arrival that a wait is for, by cases.
    pub(super) fn awaited<'c>(
        &self,
        ring: &Ring,
        at: &At<'c>,
        class: usize,
        lag: Behind,
    ) -> Result<Vec<(At<'c>, Polynomial)>, Unsupported> {
        let mut all = Vec::new();
        for (at, nth) in self.waiting(ring, class, at)? {
            for (at, size) in at.value(&ring.size)? {
                all.push((at, fits(lag.arrival(&nth, &size))?));
            }
        }
        Ok(all)
    }

    /// The waits of a class at a ring are for the arrivals that the lag determines.
    pub fn waits(&self, ring: usize, class: usize, lag: Behind) -> Result<Vec<Claim>, Unsupported> {
        let mut all = Vec::new();
        let this = &self.rings[ring];
        for site in this.waits_of(class) {
            let name = format!("awaits_c{class}_s{site}");
            let words = self.words(class, site);
            let what = format!("{words} is for the generation that it is meant for");
            let of = self.site(class, site);
            for at in self.scene.at(&self.classes[class], site)? {
                for (at, number) in self.awaited(this, &at, class, lag)? {
                    let Kind::WaitParity { parity } = &of.kind else {
                        // It is for the generation that the member has just joined.
                        let by = match self.protocol.objects[this.object].kind {
                            ObjectKind::Named => {
                                let member = |class| self.member(class);
                                repeated_registrations::joined(
                                    this,
                                    &self.classes[class],
                                    (class, site),
                                    &member,
                                )?
                            }
                            _ if lag != Behind::default() => {
                                return Err(Unsupported::at(of.span, "a lag at such a barrier"));
                            }
                            _ => class,
                        };
                        for (at, joined) in self.next(this, by, &at)? {
                            let last = fits(joined.less(1))?;
                            let apart = fits(last.plus(-1, &number))?;
                            equal(&mut all, &name, &what, &at.scene, &apart)?;
                        }
                        self.element(this, &at, &number, &name, &what, &mut all)?;
                        continue;
                    };
                    self.element(this, &at, &number, &name, &what, &mut all)?;
                    for (at, size) in at.value(&this.size)? {
                        // At the beginning, generation 0 counts as complete, and no earlier one does.
                        let least = fits(number.plus(1, &size))?;
                        push(&mut all, &name, what.clone(), &at.scene, least);
                        let sequents = closed::parity(&at.scene, parity, &at.env, &number, &size)?;
                        all.extend(sequents.into_iter().map(|sequent| Claim {
                            name: name.clone(),
                            meaning: what.clone(),
                            sequent,
                        }));
                    }
                }
            }
            // If no class arrives there, there is nothing to wait for.
            if this.arrivals.is_empty() {
                let name = format!("exists_c{class}_s{site}");
                let what = format!("{words} is for no arrival, since nobody makes one");
                for at in self.scene.at(&self.classes[class], site)? {
                    for (at, number) in self.awaited(this, &at, class, lag)? {
                        let below = fits(Polynomial::number(-1).plus(-1, &number))?;
                        push(&mut all, &name, what.clone(), &at.scene, below);
                    }
                }
            }
            // All classes that arrive there arrive that often.
            for by in this.arriving() {
                let name = format!("exists_c{class}_s{site}_by{by}");
                let what = format!("{words} is for arrivals that {} make", self.class(by).name);
                let total = self.total(this, by, this.filled_of(by))?;
                let (first, ends) = this.seat(by);
                if ends {
                    continue;
                }
                // A class has no seat at numbers below its first one.
                let total = Expr::binary(BinaryOp::Add, total, Expr::Int(first));
                for at in self.scene.at(&self.classes[class], site)? {
                    for (mut at, number) in self.awaited(this, &at, class, lag)? {
                        at.scene.know(fits(number.less(i128::from(first)))?);
                        for scene in at.scene.inhabited(self.class(by))? {
                            for (scene, total) in scene.value(&total, &Env::new())? {
                                let left = fits(total.plus(-1, &number))?;
                                let left = fits(left.less(1))?;
                                push(&mut all, &name, what.clone(), &scene, left);
                            }
                        }
                    }
                }
            }
        }
        all.extend(self.skipped(ring, class, lag)?);
        Ok(all)
    }
}

/// The obligation that a polynomial is 0.
pub(super) fn equal(
    all: &mut Vec<Claim>,
    name: &str,
    what: &str,
    scene: &Scene,
    difference: &Polynomial,
) -> Result<(), Unsupported> {
    let other = fits(Polynomial::default().plus(-1, difference))?;
    push(all, name, what.to_owned(), scene, difference.clone());
    push(all, name, what.to_owned(), scene, other);
    Ok(())
}

/// The obligation that a polynomial is at least 0, unless its form shows this.
pub(super) fn push(
    all: &mut Vec<Claim>,
    name: &str,
    meaning: String,
    scene: &Scene,
    goal: Polynomial,
) {
    if goal.value().is_some_and(|value| value >= 0) {
        return;
    }
    all.push(Claim {
        name: name.to_owned(),
        meaning,
        sequent: scene.shows(goal),
    });
}
