//! The obligations of the order rule.

use super::artefact::About;
use super::artefact::Link;
use super::cases::Bit;
use super::cases::Env;
use super::cases::fits;
use super::closed;
use super::lanes;
use super::lanes::Lane;
use super::polynomial::Polynomial;
use super::positivity::Sequent;
use super::scene;
use super::scene::At;
use super::scene::Scene;
use crate::certificate::cut::class;
use crate::certificate::cut::class::Class;
use crate::certificate::cut::copies;
use crate::certificate::cut::count::Place;
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

/// How many threads a registration at a named barrier stands for.
const WARP: i64 = 32;

/// A statement that has to hold.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Its name.
    pub name: String,
    /// What it says.
    pub meaning: String,
    /// As inequalities.
    pub sequent: Sequent,
}

/// A part of a class that has a weight in its ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// A loop, by position.
    Loop(usize),
    /// An operation, by position.
    Site(usize),
}

/// Weights, known or looked for.
pub type Weights<'w> = &'w dyn Fn(usize, Part) -> Result<Polynomial, Unsupported>;

/// A protocol in the rule's terms.
pub struct Rule<'p> {
    protocol: &'p Protocol,
    /// Members that run the same program.
    pub classes: Vec<Class>,
    /// What they meet at.
    pub lanes: Vec<Lane>,
    /// What is known of the parameters.
    scene: Scene,
}

impl<'p> Rule<'p> {
    /// Splits a protocol into classes and lanes.
    ///
    /// # Errors
    ///
    /// Names the first construct that the rule does not cover.
    pub fn new(protocol: &'p Protocol) -> Result<Rule<'p>, Unsupported> {
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
        let classes = class::classes(protocol, &[])?;
        let lanes = lanes::lanes(protocol, &classes)?;
        let mut scene = Scene::new(protocol)?;
        if let Some(extent) = copies.extent {
            // Without a copy there is nobody, and nothing to show.
            scene.assume(&Expr::binary(BinaryOp::Ge, extent, Expr::Int(1)));
        }
        Ok(Rule {
            protocol,
            classes,
            lanes,
            scene,
        })
    }

    fn site(&self, class: usize, site: usize) -> &Site {
        &self.classes[class].flow.sites[site]
    }

    fn quote(&self, span: Span) -> String {
        let text = self.protocol.source.get(span.start..span.end);
        let words = text.unwrap_or("?").split_whitespace();
        words.collect::<Vec<_>>().join(" ")
    }

    /// The operation in its role's words.
    pub fn words(&self, class: usize, site: usize) -> String {
        let quote = self.quote(self.site(class, site).span);
        format!("`{quote}` of {}", self.classes[class].name)
    }

    /// Declarations mean something, and classes have sizes.
    pub fn declarations(&self) -> Result<Vec<Claim>, Unsupported> {
        let mut all = Vec::new();
        for (nth, assumption) in self.protocol.assumptions.iter().enumerate() {
            // Where those before it hold.
            let mut earlier = self.protocol.clone();
            earlier.assumptions.truncate(nth);
            let scene = Scene::new(&earlier)?;
            let name = format!("defined_assumption_{nth}");
            let what = "an assumption is well defined";
            let condition = &assumption.condition;
            self.defined(&scene, condition, &Env::new(), &name, what, &mut all)?;
        }
        let none = Env::new();
        // Declarations have to mean something even where there is no copy.
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
                        scene.know(fits(extent.plus(-1, &Polynomial::number(1)))?);
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
                    let goal = fits(amount.plus(-least, &Polynomial::number(1)))?;
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

    /// Every copy has elements of its own.
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

    /// What programs evaluate is well defined, and variables have their closed forms.
    pub fn programs(&self) -> Result<Vec<Claim>, Unsupported> {
        let mut all = Vec::new();
        for (class, this) in self.classes.iter().enumerate() {
            for (nth, claim) in this.flow.evaluations.iter().enumerate() {
                let what = format!("`{}` is well defined", self.quote(claim.span));
                for (scene, env) in self.scene.inside(this, &claim.path)? {
                    let name = format!("defined_c{class}_{nth}");
                    self.defined(&scene, &claim.expr, &env, &name, &what, &mut all)?;
                }
            }
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
                    // What holds of remainders and quotients holds of positive divisors.
                    self.defined(&scene, &claim.expr, &env, &name, &what, &mut all)?;
                }
            }
        }
        Ok(all)
    }

    /// Divisors are positive, and whatever is combined bit by bit is a bit.
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
                            let goal = fits(divisor.plus(-1, &Polynomial::number(1)))?;
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

    /// As many members arrive at a lane's elements as a generation takes.
    pub fn counts(&self) -> Result<Vec<Claim>, Unsupported> {
        let mut all = Vec::new();
        for (nth, lane) in self.lanes.iter().enumerate() {
            let object = &self.protocol.objects[lane.object];
            let name = format!("count_l{nth}");
            let what = format!("as many arrive at `{}` as it expects", object.name);
            let mut sum = Expr::Int(0);
            for class in lane.arriving() {
                sum = Expr::binary(BinaryOp::Add, sum, self.classes[class].size.clone());
            }
            match &object.kind {
                ObjectKind::Mbarrier { arrivals, .. } | ObjectKind::Barrier { arrivals } => {
                    if lane.arrivals.is_empty() && lane.waits.is_empty() {
                        continue;
                    }
                    let missing = Expr::binary(BinaryOp::Sub, arrivals.clone(), sum);
                    for (scene, missing) in self.scene.value(&missing, &Env::new())? {
                        equal(&mut all, &name, &what, &scene, &missing)?;
                    }
                }
                _ => {
                    let threads = Expr::binary(BinaryOp::Mul, Expr::Int(WARP), sum);
                    for (class, site) in &lane.arrivals {
                        let Kind::Register { count } = &self.site(*class, *site).kind else {
                            continue;
                        };
                        let missing = Expr::binary(BinaryOp::Sub, count.clone(), threads.clone());
                        for at in self.scene.at(&self.classes[*class], *site)? {
                            for (at, missing) in at.value(&missing)? {
                                equal(&mut all, &name, &what, &at.scene, &missing)?;
                            }
                        }
                    }
                }
            }
        }
        Ok(all)
    }

    /// Every arrival is at the element whose turn it is, and brings one.
    pub fn arrivals(&self) -> Result<Vec<Claim>, Unsupported> {
        let mut all = Vec::new();
        for lane in &self.lanes {
            for &(class, site) in &lane.arrivals {
                let this = self.site(class, site);
                if let Kind::Arrive { weight, .. } = &this.kind
                    && *weight != Expr::Int(1)
                {
                    return Err(Unsupported::at(this.span, "an arrival of more than one"));
                }
                let name = format!("turn_c{class}_s{site}");
                let what = format!(
                    "{} goes through its elements in turn",
                    self.words(class, site)
                );
                for at in self.scene.at(&self.classes[class], site)? {
                    for (at, nth) in at.done(lane.arrivals_of(class))? {
                        self.element(lane, &at, &nth, &name, &what, &mut all)?;
                        if matches!(
                            self.protocol.objects[lane.object].kind,
                            ObjectKind::Barrier { .. }
                        ) {
                            // A second arrival without a wait in between is undefined.
                            for (at, waits) in at.done(lane.waits_of(class))? {
                                let open = fits(nth.plus(-1, &waits))?;
                                equal(&mut all, &name, &what, &at.scene, &open)?;
                            }
                        }
                    }
                }
            }
        }
        self.bytes(&mut all)?;
        Ok(all)
    }

    /// An operation is at the element with this number, counted modulo the lane's size.
    fn element(
        &self,
        lane: &Lane,
        at: &At<'_>,
        number: &Polynomial,
        name: &str,
        what: &str,
        all: &mut Vec<Claim>,
    ) -> Result<(), Unsupported> {
        let this = &at.class.flow.sites[at.site];
        let extents = &self.protocol.objects[lane.object].extents;
        for (position, (index, extent)) in this.index.iter().zip(extents).enumerate() {
            let moving = lane.moving == Some(position);
            let (x, inside) = match index {
                Expr::Binary(BinaryOp::Mod, x, modulus) if moving && **modulus == *extent => {
                    (&**x, true)
                }
                index => (index, false),
            };
            for (at, extent) in at.value(extent)? {
                // Not empty, so that a remainder is inside.
                let goal = fits(extent.plus(-1, &Polynomial::number(1)))?;
                push(all, name, what.to_owned(), &at.scene, goal);
                for (at, x) in at.value(x)? {
                    if !inside {
                        let room = fits(extent.plus(-1, &x))?;
                        let room = fits(room.plus(-1, &Polynomial::number(1)))?;
                        push(all, name, what.to_owned(), &at.scene, x.clone());
                        push(all, name, what.to_owned(), &at.scene, room);
                    }
                    let apart = fits(x.plus(-1, number))?;
                    if moving && closed::rounds(&apart, &extent)?.is_none() {
                        push(
                            all,
                            name,
                            what.to_owned(),
                            &at.scene,
                            Polynomial::number(-1),
                        );
                    }
                }
            }
        }
        Ok(())
    }

    /// Where a phase expects bytes, whoever makes it expect them delivers them with its own arrival.
    fn bytes(&self, all: &mut Vec<Claim>) -> Result<(), Unsupported> {
        for (class, this) in self.classes.iter().enumerate() {
            let sites = &this.flow.sites;
            for (at, site) in sites.iter().enumerate() {
                let (Kind::Expect { bytes } | Kind::Deliver { bytes }) = &site.kind else {
                    continue;
                };
                // Nothing waits for a delivery of no bytes, so that it may land at any later time.
                let least = i128::from(matches!(site.kind, Kind::Deliver { .. }));
                let what = format!("{} is of a number of bytes", self.words(class, at));
                for place in self.scene.at(this, at)? {
                    for (place, bytes) in place.value(bytes)? {
                        let bytes = fits(bytes.plus(-least, &Polynomial::number(1)))?;
                        push(
                            all,
                            &format!("bytes_c{class}_s{at}"),
                            what.clone(),
                            &place.scene,
                            bytes,
                        );
                    }
                }
                let run = run(sites, at);
                let same = |other: &&Site| other.object == site.object && other.index == site.index;
                let run: Vec<&Site> = sites[run].iter().filter(same).collect();
                let refuse = || {
                    Err(Unsupported::at(
                        site.span,
                        "bytes that are not delivered by whoever expects and arrives, at once",
                    ))
                };
                let is = |test: fn(&Kind) -> bool| {
                    let run = run.iter().enumerate();
                    run.filter(move |(_, s)| test(&s.kind)).map(|(at, _)| at)
                };
                let arrivals: Vec<usize> = is(|k| matches!(k, Kind::Arrive { .. })).collect();
                let expects = is(|k| matches!(k, Kind::Expect { .. }));
                let delivers = is(|k| matches!(k, Kind::Deliver { .. }));
                let [arrival] = arrivals[..] else {
                    return refuse();
                };
                let Some(last) = expects.max() else {
                    return refuse();
                };
                if last > arrival || delivers.min().is_some_and(|first| first < last) {
                    return refuse();
                }
                let mut open = Expr::Int(0);
                for site in &run {
                    open = match &site.kind {
                        Kind::Expect { bytes } => Expr::binary(BinaryOp::Add, open, bytes.clone()),
                        Kind::Deliver { bytes } => Expr::binary(BinaryOp::Sub, open, bytes.clone()),
                        _ => open,
                    };
                }
                let what = format!("the bytes of {} are delivered", self.words(class, at));
                for place in self.scene.at(this, at)? {
                    for (place, open) in place.value(&open)? {
                        equal(
                            all,
                            &format!("bytes_c{class}_s{at}"),
                            &what,
                            &place.scene,
                            &open,
                        )?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The number of the arrival that a wait is for, by cases.
    fn awaited<'c>(
        &self,
        lane: &Lane,
        at: &At<'c>,
        class: usize,
        rounds: i64,
    ) -> Result<Vec<(At<'c>, Polynomial)>, Unsupported> {
        let mut all = Vec::new();
        for (at, nth) in at.done(lane.waits_of(class))? {
            for (at, size) in at.value(&lane.size)? {
                all.push((at, fits(nth.plus(-i128::from(rounds), &size))?));
            }
        }
        Ok(all)
    }

    /// A class's waits at a lane are for the arrivals that the lag says.
    pub fn waits(&self, lane: usize, class: usize, lag: i64) -> Result<Vec<Claim>, Unsupported> {
        let mut all = Vec::new();
        let this = &self.lanes[lane];
        for site in this.waits_of(class) {
            let name = format!("awaits_c{class}_s{site}");
            let words = self.words(class, site);
            let what = format!("{words} is for the generation that it is meant for");
            let of = self.site(class, site);
            for at in self.scene.at(&self.classes[class], site)? {
                for (at, number) in self.awaited(this, &at, class, lag)? {
                    let Kind::WaitParity { parity } = &of.kind else {
                        if lag != 0 {
                            return Err(Unsupported::at(of.span, "a lag at such a barrier"));
                        }
                        // It is for the generation that the member has just joined.
                        for (at, joined) in at.done(this.arrivals_of(class))? {
                            let last = fits(joined.plus(-1, &Polynomial::number(1)))?;
                            let apart = fits(last.plus(-1, &number))?;
                            equal(&mut all, &name, &what, &at.scene, &apart)?;
                        }
                        self.element(this, &at, &number, &name, &what, &mut all)?;
                        continue;
                    };
                    self.element(this, &at, &number, &name, &what, &mut all)?;
                    for (at, size) in at.value(&this.size)? {
                        // At the beginning, generation 0 has completed, and no earlier one.
                        let least = fits(number.plus(1, &size))?;
                        push(&mut all, &name, what.clone(), &at.scene, least);
                        if !closed::has_parity(parity, &at.env, &number, &size)? {
                            push(
                                &mut all,
                                &name,
                                what.clone(),
                                &at.scene,
                                Polynomial::number(-1),
                            );
                        }
                    }
                }
            }
            // Whoever arrives there at all arrives so often.
            for by in this.arriving() {
                let name = format!("exists_c{class}_s{site}_by{by}");
                let what = format!(
                    "{words} is for arrivals that {} make",
                    self.classes[by].name
                );
                let total = scene::before(&self.classes[by], Place::End, this.arrivals_of(by))?;
                for at in self.scene.at(&self.classes[class], site)? {
                    for (mut at, number) in self.awaited(this, &at, class, lag)? {
                        at.scene.know(number.clone());
                        for scene in at.scene.inhabited(&self.classes[by])? {
                            for (scene, total) in scene.value(&total, &Env::new())? {
                                let left = fits(total.plus(-1, &number))?;
                                let left = fits(left.plus(-1, &Polynomial::number(1)))?;
                                push(&mut all, &name, what.clone(), &scene, left);
                            }
                        }
                    }
                }
            }
        }
        Ok(all)
    }

    /// Everything that needs a chain.
    pub fn ordered(&self) -> Vec<About> {
        let mut all = Vec::new();
        for lane in &self.lanes {
            for &(class, site) in &lane.waits {
                if matches!(self.site(class, site).kind, Kind::WaitParity { .. }) {
                    all.push(About::NotBehind(class, site));
                    all.push(About::NotLapped(class, site));
                }
            }
            let arrivals = lane.arrivals.iter();
            all.extend(arrivals.map(|(class, site)| About::InTurn(*class, *site)));
        }
        all
    }

    /// The lane of an operation.
    fn lane_of(&self, class: usize, site: usize) -> Result<usize, Unsupported> {
        let at = (class, site);
        let mut lanes = self.lanes.iter();
        lanes
            .position(|lane| lane.arrivals.contains(&at) || lane.waits.contains(&at))
            .ok_or_else(|| Unsupported::whole("an operation at no lane"))
    }

    /// Where a chain begins: the class that is at the end of what is to be shown.
    pub fn begins(&self, about: About) -> Result<(usize, usize), Unsupported> {
        let (class, site) = match about {
            About::NotBehind(class, site)
            | About::InTurn(class, site)
            | About::NotLapped(class, site) => (class, site),
        };
        let there = self.classes.get(class).and_then(|c| c.flow.sites.get(site));
        match there {
            Some(_) => Ok((class, self.lane_of(class, site)?)),
            None => Err(Unsupported::whole("an operation that does not exist")),
        }
    }

    /// That a chain shows what it is about. `lags` says how far behind the waits of a class at a
    /// lane are.
    pub fn chain(
        &self,
        about: About,
        links: &[Link],
        lags: &dyn Fn(usize, usize) -> Option<i64>,
    ) -> Result<Vec<Claim>, Unsupported> {
        let (class, lane_at) = self.begins(about)?;
        let lane = &self.lanes[lane_at];
        let this = &self.classes[class];
        let lag = |class, lane| {
            lags(class, lane).ok_or_else(|| Unsupported::whole("waits whose lag is not given"))
        };
        let mut claims = Vec::new();
        let (mut walk, links) = match about {
            About::NotBehind(_, site) => {
                let name = format!("not_behind_c{class}_s{site}");
                let what = format!(
                    "before {}, the generation before has completed",
                    self.words(class, site)
                );
                let mut start = Vec::new();
                for at in self.scene.at(this, site)? {
                    for (at, number) in self.awaited(lane, &at, class, lag(class, lane_at)?)? {
                        start.extend(self.previous(lane, at, class, &number)?);
                    }
                }
                (Walk::new(self, name, what, start), links)
            }
            About::InTurn(_, site) => {
                let name = format!("in_turn_c{class}_s{site}");
                let what = format!(
                    "before {}, the generation before its own has completed",
                    self.words(class, site)
                );
                let mut start = Vec::new();
                for at in self.scene.at(this, site)? {
                    for (at, number) in at.done(lane.arrivals_of(class))? {
                        start.extend(self.previous(lane, at, class, &number)?);
                    }
                }
                (Walk::new(self, name, what, start), links)
            }
            About::NotLapped(_, site) => {
                let name = format!("not_lapped_c{class}_s{site}");
                let what = format!(
                    "the generation after that of {} needs an arrival that comes later",
                    self.words(class, site)
                );
                let Some((first, rest)) = links.split_first() else {
                    return Err(Unsupported::whole("a chain that begins nowhere"));
                };
                if first.lane != lane_at {
                    return Err(Unsupported::whole("a chain that begins elsewhere"));
                }
                let mut start = Vec::new();
                for at in self.scene.at(this, site)? {
                    for (at, nth) in at.done(lane.waits_of(class))? {
                        for (at, size) in at.value(&lane.size)? {
                            let rounds = 1 - i128::from(lag(class, lane_at)?);
                            let number = fits(nth.plus(rounds, &size))?;
                            start.push(Step {
                                scene: at.scene,
                                arrival: number,
                                target: nth.clone(),
                            });
                        }
                    }
                }
                let mut walk = Walk::new(self, name, what, Vec::new());
                for step in start {
                    walk.arrive(step, lane, first.class)?;
                }
                (walk, rest)
            }
        };
        for link in links {
            let Some(next) = self.lanes.get(link.lane) else {
                return Err(Unsupported::whole("a lane that does not exist"));
            };
            for (at, of, target) in std::mem::take(&mut walk.places) {
                let rounds = lag(of, link.lane)?;
                for (at, waits) in at.done(next.waits_of(of))? {
                    // The last of so many waits.
                    let nth = fits(waits.plus(-1, &Polynomial::number(1)))?;
                    walk.claim(&at.scene, nth.clone());
                    for (at, size) in at.value(&next.size)? {
                        let arrival = fits(nth.plus(-i128::from(rounds), &size))?;
                        walk.claim(&at.scene, arrival.clone());
                        let step = Step {
                            scene: at.scene,
                            arrival,
                            target: target.clone(),
                        };
                        walk.arrive(step, next, link.class)?;
                    }
                }
            }
        }
        for (at, of, target) in std::mem::take(&mut walk.places) {
            // For a wait that is not lapped the target is the wait itself, by its number; otherwise
            // an arrival that somebody has waited for.
            let number = match about {
                About::NotLapped(..) if of == class => vec![(at, target)],
                About::NotLapped(..) => {
                    return Err(Unsupported::whole("a chain that ends elsewhere"));
                }
                _ => {
                    let rounds = lag(of, lane_at)?;
                    let mut all = Vec::new();
                    for (at, size) in at.value(&lane.size)? {
                        let nth = fits(target.plus(i128::from(rounds), &size))?;
                        all.push((at, nth));
                    }
                    all
                }
            };
            for (at, nth) in number {
                walk.claim(&at.scene, nth.clone());
                for (at, waits) in at.done(lane.waits_of(of))? {
                    let later = fits(waits.plus(-1, &nth))?;
                    walk.claim(&at.scene, fits(later.plus(-1, &Polynomial::number(1)))?);
                }
            }
        }
        claims.append(&mut walk.claims);
        Ok(claims)
    }

    /// A place with the arrival one round before a number as its target, if there is one.
    fn previous<'c>(
        &self,
        lane: &Lane,
        at: At<'c>,
        class: usize,
        number: &Polynomial,
    ) -> Result<Vec<(At<'c>, usize, Polynomial)>, Unsupported> {
        let mut all = Vec::new();
        for (mut at, size) in at.value(&lane.size)? {
            let before = fits(number.plus(-1, &size))?;
            at.scene.know(before.clone());
            all.push((at, class, before));
        }
        Ok(all)
    }

    /// Ranks grow along programs, and from arrivals to the waits that are for them.
    pub fn ranks(
        &self,
        weights: Weights<'_>,
        lags: &dyn Fn(usize, usize) -> Option<i64>,
    ) -> Result<Vec<Claim>, Unsupported> {
        let mut all = Vec::new();
        for (class, this) in self.classes.iter().enumerate() {
            let sites = &this.flow.sites;
            for scene in self.scene.inhabited(this)? {
                for at in 0..this.flow.loops.len() {
                    let weight = weights(class, Part::Loop(at))?;
                    let what = format!(
                        "ranks in {} do not fall from one iteration to the next",
                        this.name
                    );
                    push(
                        &mut all,
                        &format!("grows_c{class}_loop{at}"),
                        what.clone(),
                        &scene,
                        weight.clone(),
                    );
                    let mut inside =
                        (0..sites.len()).filter(|site| sites[*site].path.loops.contains(&at));
                    let Some(first) = inside.next() else { continue };
                    let last = inside.next_back().unwrap_or(first);
                    let (first, last) = (
                        weights(class, Part::Site(first))?,
                        weights(class, Part::Site(last))?,
                    );
                    let rise = fits(fits(first.plus(1, &weight))?.plus(-1, &last))?;
                    push(
                        &mut all,
                        &format!("again_c{class}_loop{at}"),
                        what,
                        &scene,
                        rise,
                    );
                }
                for site in 1..sites.len() {
                    let rise = weights(class, Part::Site(site))?;
                    let rise = fits(rise.plus(-1, &weights(class, Part::Site(site - 1))?))?;
                    let what = format!("ranks in {} do not fall", this.name);
                    push(
                        &mut all,
                        &format!("grows_c{class}_s{site}"),
                        what,
                        &scene,
                        rise,
                    );
                }
            }
        }
        for (lane_at, lane) in self.lanes.iter().enumerate() {
            for &(class, site) in &lane.waits {
                let lag = lags(class, lane_at)
                    .ok_or_else(|| Unsupported::whole("waits whose lag is not given"))?;
                for &(by, arrival) in &lane.arrivals {
                    let name = format!("rank_c{class}_s{site}_by_c{by}_s{arrival}");
                    let what = format!(
                        "{} has a greater rank than the arrival that it is for, {}",
                        self.words(class, site),
                        self.words(by, arrival)
                    );
                    for at in self.scene.at(&self.classes[class], site)? {
                        for (at, number) in self.awaited(lane, &at, class, lag)? {
                            let mut walk = Walk::new(self, name.clone(), what.clone(), Vec::new());
                            let step = Step {
                                scene: at.scene.clone(),
                                arrival: number.clone(),
                                target: number,
                            };
                            walk.arrive_at(step, lane, by, arrival)?;
                            for (place, _, _) in std::mem::take(&mut walk.places) {
                                let own = At {
                                    scene: place.scene.clone(),
                                    ..at.clone()
                                };
                                for (own, high) in self.rank(class, &own, weights)? {
                                    let place = At {
                                        scene: own.scene.clone(),
                                        ..place.clone()
                                    };
                                    for (place, low) in self.rank(by, &place, weights)? {
                                        let rise = fits(high.plus(-1, &low))?;
                                        let rise = fits(rise.plus(-1, &Polynomial::number(1)))?;
                                        push(&mut all, &name, what.clone(), &place.scene, rise);
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        Ok(all)
    }

    /// The rank of an operation, by cases.
    fn rank<'c>(
        &self,
        class: usize,
        at: &At<'c>,
        weights: Weights<'_>,
    ) -> Result<Vec<(At<'c>, Polynomial)>, Unsupported> {
        let mut all = vec![(at.clone(), weights(class, Part::Site(at.site))?)];
        for nth in 0..at.class.flow.loops.len() {
            let weight = weights(class, Part::Loop(nth))?;
            let mut next = Vec::new();
            for (at, rank) in all {
                for (at, clock) in at.clock(nth)? {
                    let more = fits(weight.times(&clock))?;
                    next.push((at, fits(rank.plus(1, &more))?));
                }
            }
            all = next;
        }
        Ok(all)
    }
}

/// An arrival that has been made, and what is to be shown by it.
struct Step {
    scene: Scene,
    /// The number of the arrival.
    arrival: Polynomial,
    target: Polynomial,
}

/// Going from arrivals to what must have happened before them.
struct Walk<'r, 'p> {
    rule: &'r Rule<'p>,
    name: String,
    what: String,
    /// Where members have been: the place, their class, and the target.
    places: Vec<(At<'r>, usize, Polynomial)>,
    claims: Vec<Claim>,
}

impl<'r, 'p> Walk<'r, 'p> {
    fn new(
        rule: &'r Rule<'p>,
        name: String,
        what: String,
        places: Vec<(At<'r>, usize, Polynomial)>,
    ) -> Walk<'r, 'p> {
        Walk {
            rule,
            name,
            what,
            places,
            claims: Vec::new(),
        }
    }

    fn claim(&mut self, scene: &Scene, goal: Polynomial) {
        push(&mut self.claims, &self.name, self.what.clone(), scene, goal);
    }

    /// The members of a class, of which there are some, have made an arrival with this number.
    fn arrive(&mut self, step: Step, lane: &Lane, class: usize) -> Result<(), Unsupported> {
        let Some(this) = self.rule.classes.get(class) else {
            return Err(Unsupported::whole("a class that does not exist"));
        };
        if lane.arrivals_of(class).next().is_none() {
            return Err(Unsupported::whole("a class that does not arrive there"));
        }
        for (scene, size) in step.scene.value(&this.size, &Env::new())? {
            self.claim(&scene, fits(size.plus(-1, &Polynomial::number(1)))?);
        }
        for site in lane.arrivals_of(class) {
            let step = Step {
                scene: step.scene.clone(),
                arrival: step.arrival.clone(),
                target: step.target.clone(),
            };
            self.arrive_at(step, lane, class, site)?;
        }
        Ok(())
    }

    /// The same, if it is made by this operation.
    fn arrive_at(
        &mut self,
        step: Step,
        lane: &Lane,
        class: usize,
        site: usize,
    ) -> Result<(), Unsupported> {
        for at in step.scene.at(&self.rule.classes[class], site)? {
            for (mut at, number) in at.done(lane.arrivals_of(class))? {
                at.scene.know_equal(&number, &step.arrival)?;
                self.places.push((at, class, step.target.clone()));
            }
        }
        Ok(())
    }
}

/// The operations around one that a member does without waiting, under the same conditions.
fn run(sites: &[Site], at: usize) -> std::ops::Range<usize> {
    let waits = |site: &Site| matches!(site.kind, Kind::WaitParity { .. } | Kind::Await);
    let together = |other: &Site| other.path == sites[at].path && !waits(other);
    let before = sites[..at].iter().rev().take_while(|s| together(s)).count();
    let after = sites[at..].iter().take_while(|s| together(s)).count();
    at - before..at + after
}

/// That something is 0.
fn equal(
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

/// That something is at least 0, unless it is by its form.
fn push(all: &mut Vec<Claim>, name: &str, meaning: String, scene: &Scene, goal: Polynomial) {
    if goal.value().is_some_and(|value| value >= 0) {
        return;
    }
    all.push(Claim {
        name: name.to_owned(),
        meaning,
        sequent: scene.shows(goal),
    });
}
