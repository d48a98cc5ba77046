//! Mbarriers that count bytes: what makes a phase complete exactly when its own arrivals have been
//! made and its own bytes have landed.
//!
//! For an mbarrier at which bytes are expected or delivered:
//!
//! 1. *(expected first)* an expectation is directly followed by its member's arrival;
//! 2. *(participants)* the expected arrivals are as many as members arrive there, and a member's
//!    `g`th arrival finds generation `g - 1` completed (as a registration does) and generation `g`
//!    not yet full without it;
//! 3. *(deliveries)* a member's `g`th delivery by one operation is made after generation `g - 1`
//!    has completed; where all of a member's deliveries come directly after an arrival of its, and
//!    equally many bytes each time, they are numbered with these arrivals instead. Operations that
//!    deliver equally many bytes in the same place after one arrival each, as in a loop and in front
//!    of it, are counted as one operation: what is shown of it is about all of them together. Where a
//!    member delivers but never arrives, the certificate says which operations are counted as one
//!    ([`Deliveries`](super::artefact::Deliveries)). Nothing but their equal bytes is asked of them, since
//!    the `g`th delivery of all of them together is what is shown to come after generation `g - 1`;
//! 4. *(balance)* what the operations, or the members with their arrivals, deliver per generation is what is expected per generation.
//!
//! By 2 each completed generation has one arrival of every participant, so by 1 it has been told
//! to expect the sum of theirs. By 3 and 4 what has landed by the time generation `g - 1` is
//! completed and `g` is not is at most `g` times that sum, and reaches it exactly when all
//! deliveries of the first `g` generations have landed. So phase `g` completes iff the arrivals
//! reach `g` times their number and the bytes `g` times theirs, which is how the rule reads it.
//!
//! *A surplus.* Where an element is used for one phase only, by one member that arrives there once,
//! expecting at least one byte, and delivers there once, after its arrival (3), more may be
//! delivered than is expected: nothing completes the phase before that delivery lands, and what is
//! left over counts in the next phase, to which nobody arrives. (`tx_mismatch` is another matter.)
//!
//! A consistent cut adds: when everybody has finished, each element has got what it expects.

use super::artefact::Shows;
use super::class::Class;
use super::count::Place;
use super::flow::Kind;
use super::flow::Site;
use super::rule::Rule;
use super::state;
use super::state::Group;
use super::state::Resource;
use super::state::Setting;
use crate::certificate::exact;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;
use crate::protocol::Expr;
use crate::protocol::ObjectId;

impl<'a> Rule<'a> {
    /// Whether bytes are expected or delivered at elements that an operation may work on.
    pub fn has_bytes(&self, class: usize, site: usize) -> bool {
        let at = &self.classes[class].flow.sites[site];
        let counts = |s: &Site| {
            s.may_meet(at) && matches!(s.kind, Kind::Expect { .. } | Kind::Deliver { .. })
        };
        self.classes.iter().any(|c| c.flow.sites.iter().any(counts))
    }

    /// The expectation just before an arrival.
    pub fn expectation(&self, class: usize, site: usize) -> Option<&'a Expr> {
        let sites = &self.classes[class].flow.sites;
        let before = sites.get(site.checked_sub(1)?)?;
        let at = &sites[site];
        match &before.kind {
            Kind::Expect { bytes } if one_element(before, at) => Some(bytes),
            _ => None,
        }
    }

    /// The arrival just after an expectation.
    pub fn expected_before_arrival(&self, class: usize, site: usize) -> Result<(), Unsupported> {
        let sites = &self.classes[class].flow.sites;
        let at = &sites[site];
        let next = sites.get(exact::next(site));
        let follows =
            next.is_some_and(|n| matches!(n.kind, Kind::Arrive { .. }) && one_element(at, n));
        if follows {
            Ok(())
        } else {
            Err(Unsupported::at(
                at.span,
                "bytes expected apart from an arrival",
            ))
        }
    }

    /// The arrivals of a class at elements that a site may work on.
    fn arrivals_of(&self, class: usize, at: &Site) -> Vec<usize> {
        let sites = &self.classes[class].flow.sites;
        (0..sites.len())
            .filter(|nth| {
                matches!(sites[*nth].kind, Kind::Arrive { .. }) && sites[*nth].may_meet(at)
            })
            .collect()
    }

    /// How much each arrival of a class counts at elements that a site may work on: the same each time. `None`: it does not
    /// arrive there.
    fn counted_each(&self, class: usize, at: &Site) -> Result<Option<Expr>, Unsupported> {
        let mut each: Option<&Expr> = None;
        let flow = &self.classes[class].flow;
        for arrival in self.arrivals_of(class, at) {
            let this = &flow.sites[arrival];
            let Kind::Arrive { weight, .. } = &this.kind else {
                continue;
            };
            let mut loops = this.path.loops.iter();
            let moves = |l: &usize| super::algebra::mentions(weight, flow.loops[*l].var);
            if loops.any(moves) || each.is_some_and(|known| known != weight) {
                let what = "arrivals of one member that count differently";
                return Err(Unsupported::at(this.span, what));
            }
            each = Some(weight);
        }
        Ok(each.cloned())
    }

    /// Whether an arrival counts more than one at an element that an operation may work on.
    pub fn counts_several(&self, class: usize, site: usize) -> bool {
        let at = &self.classes[class].flow.sites[site];
        several(self.classes, at)
    }

    /// As many arrivals are expected as all members make, one each.
    pub fn participants(&mut self, class: usize, site: usize) -> Result<(), Unsupported> {
        let at = &self.classes[class].flow.sites[site];
        let crate::protocol::ObjectKind::Mbarrier { arrivals, .. } =
            &self.protocol.objects[at.object.0].kind
        else {
            return Ok(());
        };
        let mut members = Expr::Int(0);
        let mut setting = self.setting_of(class)?;
        let mut goals = Vec::new();
        for (other, this) in self.classes.iter().enumerate() {
            let Some(each) = self.counted_each(other, at)? else {
                continue;
            };
            // This also covers a class that does not come to its arrivals: what others count must
            // not be more than is expected.
            if each != Expr::Int(1) {
                let exists = self.exists(&mut setting, other)?;
                let counts = setting.terms.expr(&each, &Default::default())?;
                goals.push(term::or([
                    term::not(exists),
                    term::le(&term::int(1), &counts),
                ]));
            }
            let all = super::algebra::mul(this.size.clone(), each);
            members = super::algebra::add(members, all);
        }
        let none = term::int(0);
        let expected = setting
            .terms
            .expr(&self.fix(arrivals), &Default::default())?;
        let members = setting.terms.expr(&members, &Default::default())?;
        goals.extend([term::le(&none, &expected), term::eq(&expected, &members)]);
        let what = self.quote(at.span);
        self.conclude(
            format!("participants_c{class}_s{site}"),
            format!("as many members arrive as the barrier of `{what}` expects"),
            setting,
            term::and(goals),
        )
    }

    /// Bytes expected per generation at the elements an operation may work on.
    pub fn expected_bytes(&self, class: usize, site: usize) -> Result<Expr, Unsupported> {
        let at = &self.classes[class].flow.sites[site];
        let mut total = Expr::Int(0);
        for (other, this) in self.classes.iter().enumerate() {
            let mut each: Option<Expr> = None;
            for arrival in self.arrivals_of(other, at) {
                let bytes = self
                    .expectation(other, arrival)
                    .cloned()
                    .unwrap_or(Expr::Int(0));
                self.steady(other, arrival, &bytes)?;
                if each.as_ref().is_some_and(|known| *known != bytes) {
                    return Err(Unsupported::at(
                        this.flow.sites[arrival].span,
                        "arrivals of one member that expect different numbers of bytes",
                    ));
                }
                each = Some(bytes);
            }
            if let Some(bytes) = each {
                let all = super::algebra::mul(this.size.clone(), bytes);
                total = super::algebra::add(total, all);
            }
        }
        Ok(total)
    }

    fn steady(&self, class: usize, site: usize, bytes: &Expr) -> Result<(), Unsupported> {
        let flow = &self.classes[class].flow;
        let at = &flow.sites[site];
        let mut loops = at.path.loops.iter();
        if loops.any(|l| super::algebra::mentions(bytes, flow.loops[*l].var)) {
            return Err(Unsupported::at(
                at.span,
                "a number of bytes that differs between iterations",
            ));
        }
        Ok(())
    }

    /// What a member delivers with each of its arrivals at elements that a site may work on, if all
    /// its deliveries there come directly after an arrival, and each time the same number of bytes.
    fn with_arrivals(&self, class: usize, at: &Site) -> Result<Option<Expr>, Unsupported> {
        let sites = &self.classes[class].flow.sites;
        let mut each: Option<Expr> = None;
        let mut found = 0;
        for arrival in self.arrivals_of(class, at) {
            let start = &sites[arrival];
            let mut sum = Expr::Int(0);
            for (nth, there) in sites.iter().enumerate().skip(arrival).skip(1) {
                let Kind::Deliver { bytes } = &there.kind else {
                    break;
                };
                if there.path != start.path
                    || there.object != start.object
                    || there.index != start.index
                {
                    break;
                }
                self.steady(class, nth, bytes)?;
                sum = super::algebra::add(sum, bytes.clone());
                found = exact::next(found);
            }
            if each.as_ref().is_some_and(|known| *known != sum) {
                return Ok(None);
            }
            each = Some(sum);
        }
        let delivers = |s: &&Site| s.may_meet(at) && matches!(s.kind, Kind::Deliver { .. });
        Ok(each.filter(|_| found == sites.iter().filter(delivers).count()))
    }

    /// The operations of a class that deliver at an object: together those that are the first, the second and
    /// so on after an arrival that expects bytes, if there is one of each after every such arrival and it
    /// delivers equally many bytes; otherwise each by itself. Which ones are put together is the same wherever
    /// it is asked, since what is shown of them is about all together. Of a class that does not arrive there,
    /// the certificate says it.
    fn rounds(&self, class: usize, object: ObjectId) -> Result<Vec<Vec<usize>>, Unsupported> {
        let sites = &self.classes[class].flow.sites;
        let delivers =
            |nth: &usize| sites[*nth].object == object && delivered(&sites[*nth]).is_some();
        let all: Vec<usize> = (0..sites.len()).filter(delivers).collect();
        let arrives = |s: &Site| s.object == object && matches!(s.kind, Kind::Arrive { .. });
        match sites.iter().any(arrives) {
            true => Ok(self.behind_arrivals(class, object, &all)),
            false => self.as_stated(class, &all),
        }
    }

    /// These deliveries of a class that never arrives at their object, as the certificate counts them.
    fn as_stated(&self, class: usize, all: &[usize]) -> Result<Vec<Vec<usize>>, Unsupported> {
        let sites = &self.classes[class].flow.sites;
        let mut left = all.to_vec();
        let mut rounds = Vec::new();
        let stated = self.case.deliveries.iter().filter(|d| d.class == class);
        for stated in stated.filter(|d| d.sites.iter().any(|nth| all.contains(nth))) {
            for nth in &stated.sites {
                // Each operation is counted once, with others that deliver as much to the same object.
                let place = left.iter().position(|other| other == nth);
                let alike = |place: &usize| {
                    let first = stated.sites.first().and_then(|nth| sites.get(*nth));
                    delivered(&sites[left[*place]]) == first.and_then(delivered)
                };
                let Some(place) = place.filter(alike) else {
                    let what = "deliveries that cannot be counted together";
                    return Err(Unsupported::at(sites[all[0]].span, what));
                };
                left.remove(place);
            }
            rounds.push(stated.sites.clone());
        }
        rounds.extend(left.into_iter().map(|nth| vec![nth]));
        Ok(rounds)
    }

    /// For all deliveries that are counted with one of a member: how many it has made at that
    /// element before.
    pub fn delivered_before(
        &self,
        (class, this): (usize, &Class),
        site: usize,
    ) -> Result<Option<Expr>, Unsupported> {
        let at = &this.flow.sites[site];
        let mut rounds = self.rounds(class, at.object)?.into_iter();
        let together = rounds.find(|all| all.contains(&site)).unwrap_or_default();
        let meeting = together
            .into_iter()
            .filter(|nth| this.flow.sites[*nth].may_meet(at));
        let visits = meeting.map(|nth| this.flow.visits(nth, &at.index, Place::Site(site)));
        let visits: Option<Vec<Expr>> = visits.collect();
        Ok(visits.map(|all| all.into_iter().fold(Expr::Int(0), super::algebra::add)))
    }

    /// These deliveries of a class that arrives at their object, by their places after its arrivals.
    fn behind_arrivals(&self, class: usize, object: ObjectId, all: &[usize]) -> Vec<Vec<usize>> {
        let sites = &self.classes[class].flow.sites;
        let at_object = |nth: &usize| sites[*nth].object == object;
        let alone = || all.iter().map(|nth| vec![*nth]).collect();
        let expects = |nth: &usize| {
            matches!(sites[*nth].kind, Kind::Arrive { .. })
                && self.expectation(class, *nth).is_some()
        };
        let starts = (0..sites.len()).filter(at_object).filter(expects);
        let starts: Vec<usize> = starts.collect();
        let mut rounds: Vec<Vec<usize>> = vec![Vec::new(); starts.len()];
        for nth in all {
            let behind = starts.iter().rposition(|start| start < nth);
            let own = !self.arrivals_of(class, &sites[*nth]).is_empty();
            let Some(round) = behind.filter(|_| own) else {
                return alone();
            };
            rounds[round].push(*nth);
        }
        let Some(first) = rounds.first() else {
            return alone();
        };
        let alike = |round: &Vec<usize>| {
            let same = |(a, b): (&usize, &usize)| delivered(&sites[*a]) == delivered(&sites[*b]);
            round.len() == first.len() && round.iter().zip(first).all(same)
        };
        if !rounds.iter().all(alike) {
            return alone();
        }
        let column = |place: usize| rounds.iter().map(|round| round[place]).collect();
        (0..first.len()).map(column).collect()
    }

    /// Bytes delivered per generation at the elements an operation may work on.
    pub fn landing_bytes(&self, class: usize, site: usize) -> Result<Expr, Unsupported> {
        let at = &self.classes[class].flow.sites[site];
        let mut delivered = Expr::Int(0);
        for (other, this) in self.classes.iter().enumerate() {
            if let Some(bytes) = self.with_arrivals(other, at)? {
                let all = super::algebra::mul(this.size.clone(), bytes);
                delivered = super::algebra::add(delivered, all);
                continue;
            }
            for together in self.rounds(other, at.object)? {
                let mut meeting = together
                    .into_iter()
                    .filter(|nth| this.flow.sites[*nth].may_meet(at));
                let Some(first) = meeting.next() else {
                    continue;
                };
                if let Kind::Deliver { bytes } = &this.flow.sites[first].kind {
                    self.steady(other, first, bytes)?;
                    for nth in meeting {
                        self.steady(other, nth, bytes)?;
                    }
                    let all = super::algebra::mul(this.size.clone(), bytes.clone());
                    delivered = super::algebra::add(delivered, all);
                }
            }
        }
        Ok(delivered)
    }

    /// What is delivered per generation is what is expected.
    pub fn balanced_bytes(&mut self, class: usize, site: usize) -> Result<(), Unsupported> {
        let at = &self.classes[class].flow.sites[site];
        let delivered = self.landing_bytes(class, site)?;
        let expected = self.expected_bytes(class, site)?;
        let mut setting = self.setting_of(class)?;
        let delivered = setting.terms.expr(&delivered, &Default::default())?;
        let expected = setting.terms.expr(&expected, &Default::default())?;
        let mut ways = vec![term::eq(&delivered, &expected)];
        if self.shows == Shows::Nothing
            && let Some(mut once) = self.used_once(&mut setting, class, site)?
        {
            once.push(term::le(&term::int(1), &expected));
            once.push(term::le(&expected, &delivered));
            ways.push(term::and(once));
        }
        let what = self.quote(at.span);
        self.conclude(
            format!("bytes_c{class}_s{site}"),
            format!("the bytes of `{what}` and its like are those that a phase expects"),
            setting,
            term::or(ways),
        )
    }

    /// That an element is used for one phase, by one member, which arrives once and delivers once.
    /// `None` where that is not so, whatever the parameters.
    fn used_once(
        &self,
        setting: &mut Setting<'a>,
        class: usize,
        site: usize,
    ) -> Result<Option<Vec<Term>>, Unsupported> {
        let this = &self.classes[class];
        let at = &this.flow.sites[site];
        let delivers = |s: &Site| matches!(s.kind, Kind::Deliver { .. }) && s.may_meet(at);
        let of = |by: usize| {
            self.classes[by]
                .flow
                .sites
                .iter()
                .filter(|s| delivers(s))
                .count()
        };
        let users: Vec<usize> = (0..self.classes.len())
            .filter(|by| !self.arrivals_of(*by, at).is_empty() || of(*by) > 0)
            .collect();
        let [user] = users[..] else { return Ok(None) };
        if of(user) != 1 {
            return Ok(None);
        }
        let by = &self.classes[user];
        let env = setting.member_at(this, site, "at")?;
        let element = setting.element(this, site, &env)?;
        let mut values = env;
        values.extend(element.env.iter().map(|(v, t)| (*v, t.clone())));
        let one = term::int(1);
        let size = setting.terms.expr(&by.size, &Env::new())?;
        let mut all = vec![term::le(&size, &one)];
        let (mut arrived, mut delivered) = (Vec::new(), Vec::new());
        for (nth, other) in by.flow.sites.iter().enumerate() {
            let into = match &other.kind {
                Kind::Arrive { .. } if other.may_meet(at) => &mut arrived,
                Kind::Deliver { .. } if other.may_meet(at) => &mut delivered,
                _ => continue,
            };
            let visits = by.flow.visits(nth, &element.index, Place::End);
            let visits = visits.ok_or_else(|| super::state::uncounted(by, nth))?;
            into.push(setting.terms.expr(&visits, &values)?);
        }
        all.push(term::le(&term::sum(arrived), &one));
        all.push(term::le(&term::sum(delivered), &one));
        Ok(Some(all))
    }

    /// Once everybody has finished, each element has got the bytes that it was told to expect.
    pub fn balanced_at_the_end(&mut self) -> Result<(), Unsupported> {
        for position in 0..self.protocol.objects.len() {
            let object_id = ObjectId(position);
            let counts = |s: &Site| {
                s.object == object_id
                    && matches!(s.kind, Kind::Expect { .. } | Kind::Deliver { .. })
            };
            let mut sites = self.classes.iter().flat_map(|c| &c.flow.sites);
            if !sites.any(counts) {
                continue;
            }
            // For what each copy has for itself: the elements of one copy of each kind.
            let mut kinds: Vec<Option<usize>> = vec![None];
            if self.copies.shares && self.copies.objects.contains_key(&position) {
                let mut all: Vec<usize> = self.classes.iter().filter_map(|c| c.kind).collect();
                all.sort_unstable();
                all.dedup();
                kinds = all.into_iter().map(Some).collect();
            }
            for kind in kinds {
                self.balanced_elements(object_id, kind)?;
            }
        }
        Ok(())
    }

    /// The same for the elements of one object, of copies of a kind.
    fn balanced_elements(
        &mut self,
        object: ObjectId,
        kind: Option<usize>,
    ) -> Result<(), Unsupported> {
        let declared = &self.protocol.objects[object.0];
        let mut setting = self.setting()?;
        let extents: Vec<Expr> = declared.extents.iter().map(|e| self.fix(e)).collect();
        let mut element = setting.any_element(object, &extents)?;
        if let (Some(kind), Some(at)) = (kind, self.copies.objects.get(&object.0)) {
            let kind = i64::try_from(kind).unwrap_or(i64::MAX);
            element.index[*at] = Expr::Int(kind);
        }
        let all = self.classes.iter();
        let groups: Vec<Group<'a>> = all.map(|class| Group::at_end(class, None)).collect();
        let open = setting.balance(&groups, &element, Resource::OpenBytes, 1, Vec::new())?;
        self.conclude(
            format!("delivered_{}", declared.name),
            format!(
                "in the end `{}` has got the bytes it expects",
                declared.name
            ),
            setting,
            term::eq(&open, &term::int(0)),
        )
    }

    /// A delivery comes after its member's own arrival for the same generation, or joins like a
    /// registration.
    pub fn follows_arrival_or_joins(
        &mut self,
        class: usize,
        site: usize,
    ) -> Result<(), Unsupported> {
        let this = &self.classes[class];
        let at = &this.flow.sites[site];
        if self.arrivals_of(class, at).is_empty() {
            return self.joins(class, site);
        }
        if self.with_arrivals(class, at)?.is_some() {
            return Ok(());
        }
        let moves = || state::moves(this, site);
        let arrive = |k: &Kind| matches!(k, Kind::Arrive { .. });
        let arrived = self.visits_of(this, site, arrive).ok_or_else(moves)?;
        let made = self
            .delivered_before((class, this), site)?
            .ok_or_else(moves)?;
        let (mut setting, env) = self.at_operation(class, site)?;
        let arrived = setting.terms.expr(&arrived, &env)?;
        let made = setting.terms.expr(&made, &env)?;
        let what = self.quote(at.span);
        self.conclude(
            format!("after_arrival_c{class}_s{site}"),
            format!(
                "in {}, `{what}` follows the arrival for its phase",
                this.name
            ),
            setting,
            term::lt(&made, &arrived),
        )
    }
}

/// Whether an arrival counts more than one at an element that an operation may work on.
pub fn several(classes: &[Class], at: &Site) -> bool {
    let counts = |s: &Site| {
        let one = matches!(&s.kind, Kind::Arrive { weight, .. } if *weight == Expr::Int(1));
        matches!(s.kind, Kind::Arrive { .. }) && s.may_meet(at) && !one
    };
    classes.iter().any(|c| c.flow.sites.iter().any(counts))
}

/// The bytes that an operation delivers, if it does.
fn delivered(site: &Site) -> Option<&Expr> {
    match &site.kind {
        Kind::Deliver { bytes } => Some(bytes),
        _ => None,
    }
}

/// Whether two operations that follow each other are always at one element of one object.
fn one_element(a: &Site, b: &Site) -> bool {
    a.object == b.object && a.path == b.path && a.index == b.index
}
