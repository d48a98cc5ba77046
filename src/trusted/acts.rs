//! What has to hold where a member does something to an element, and what it has counted afterwards.

use super::certificate::Counter;
use super::certificate::Link;
use super::certificate::NotLapped;
use super::certificate::Ready;
use super::member::Awaits;
use super::member::Member;
use super::member::Scene;
use super::member::unfit;
use super::rings::At;
use super::system::Act;
use super::system::Amount;
use super::system::Doing;
use super::term;
use super::term::Term;
use super::unsupported::Unsupported;
use crate::protocol::Comparison;
use crate::protocol::ObjectKind;
use crate::protocol::Span;

/// How many threads a registration at a named barrier stands for.
const WARP: i64 = 32;

impl Member<'_, '_> {
    pub(super) fn act(&mut self, act: &Act) -> Result<(), Unsupported> {
        let ring = act.ring;
        let next = match &act.doing {
            Doing::Arrive(_) | Doing::Expect(_) => Some(Counter::ArrivedAt(ring)),
            Doing::Parity(..) | Doing::Own(_) | Doing::Value(..) => Some(Counter::AwaitedAt(ring)),
            Doing::Deliver(_) | Doing::Take(_) | Doing::Give(_) => None,
        };
        if let Some(next) = next {
            self.element(act, &self.counter(next)?)?;
        }
        self.ready(act)?;
        match &act.doing {
            Doing::Take(amount) => self.take(act, amount),
            Doing::Give(amount) => self.give(act, amount),
            Doing::Arrive(amount) => {
                let weights = self.world.weights(self.class, ring)?;
                self.amount(act, amount, &weights)?;
                self.arrive(ring, weights.len(), act.span)
            }
            Doing::Expect(bytes) => {
                if !self.system().rings[ring].arriving.contains(&self.class) {
                    let what = "bytes expected by a member that does not arrive";
                    return Err(Unsupported::at(act.span, what));
                }
                self.once(ring)?;
                let bytes = self.evaluated(bytes, act.span)?;
                let mut goals = vec![term::le(&term::int(0), &bytes)];
                goals.extend(self.in_turn(ring)?);
                let meaning = format!(
                    "{} comes after the previous phase has completed",
                    self.quote(act.span)
                );
                self.conclude("expect", meaning, goals);
                let expected = self.counter(Counter::Expected(ring))?;
                self.count(Counter::Expected(ring), term::sum([expected, bytes]));
                Ok(())
            }
            Doing::Deliver(bytes) => self.deliver(act, bytes),
            Doing::Parity(parity, number) => {
                let parity = self.evaluated(parity, act.span)?;
                let bit = self.counter(Counter::AwaitedBit(ring))?;
                let wanted = match self.world.rounds(self.class, ring)? {
                    0 => bit,
                    _ => term::sub(&term::int(1), &bit),
                };
                self.not_lapped(ring)?;
                self.wait(act, *number, vec![term::eq(&parity, &wanted)])
            }
            Doing::Own(number) => {
                let arrived = self.counter(Counter::Arrived(ring))?;
                let awaited = self.counter(Counter::Awaited(ring))?;
                let own = term::eq(&term::sum([awaited, term::int(1)]), &arrived);
                let whole = term::eq(&self.counter(Counter::Part(ring))?, &term::int(0));
                match self.world.rounds(self.class, ring)? {
                    0 => self.wait(act, *number, vec![own, whole]),
                    _ => Err(unfit()),
                }
            }
            Doing::Value(value, comparison, number) => {
                if *comparison == Comparison::Equal {
                    self.never_overshot(ring)?;
                }
                let value = self.evaluated(value, act.span)?;
                // One more round of everybody's additions, unless it is for the round before.
                let turn = self.counter(Counter::AwaitedTurn(ring))?;
                let rounds = match self.world.rounds(self.class, ring)? {
                    0 => term::sum([turn, term::int(1)]),
                    _ => turn,
                };
                let arriving = self.world.arriving(ring, &self.group(ring, true)?)?;
                let added = term::product([arriving, rounds]);
                let wanted = term::sum([self.world.initial(ring)?, added]);
                self.wait(act, *number, vec![term::eq(&value, &wanted)])
            }
        }
    }

    /// That a member arrives once at each number.
    fn once(&self, ring: usize) -> Result<(), Unsupported> {
        match self.world.weights(self.class, ring)?.len() {
            1 => Ok(()),
            _ => Err(unfit()),
        }
    }

    /// That everybody who adds to a semaphore knows: every wait there for one value is over.
    fn never_overshot(&self, ring: usize) -> Result<(), Unsupported> {
        let mut arriving = self.system().rings[ring].arriving.iter();
        let knows = arriving.all(|by| {
            let mut all = self.certificate().not_lapped.iter();
            all.any(|reason| {
                let others = reason.by != self.class || !reason.chain.is_empty();
                (reason.class, reason.ring, reason.by) == (self.class, ring, *by) && others
            })
        });
        knows.then_some(()).ok_or_else(unfit)
    }

    /// That what is used has been initialised, and so have all elements of its group.
    fn ready(&mut self, act: &Act) -> Result<(), Unsupported> {
        let Some(inits) = self.system().inits(act.ring)? else {
            return Ok(());
        };
        let mut all = self.certificate().ready.iter();
        let fits = |reason: &&Ready| reason.class == self.class && reason.ring == act.ring;
        let reason = all.find(fits).ok_or_else(unfit)?;
        let (mut goals, group) = match reason.chain.last() {
            None => {
                let made = self.counter(Counter::Arrived(inits))?;
                let all = term::eq(&made, &self.world.size(inits));
                (vec![all], self.group(inits, false)?)
            }
            Some(last) => {
                let done = self.world.done(self, &reason.chain)?;
                if !self.system().rings[last.ring]
                    .arriving
                    .contains(&last.class)
                {
                    return Err(unfit());
                }
                let (vars, needed) = self.world.witness(last.class, last.ring, &done.group)?;
                let one = done.exceeds(&term::int(0));
                let goals = [done.needed, needed, vec![one]].concat();
                (goals, self.world.group_of(last.class, inits, false, &vars)?)
            }
        };
        goals.extend(term::same(&group, &self.group(act.ring, false)?));
        let meaning = format!("{} is at what has been initialised", self.quote(act.span));
        self.conclude("ready", meaning, goals);
        Ok(())
    }

    /// The group of a ring in which this member waits, or does something else.
    pub(super) fn group(&self, ring: usize, waits: bool) -> Result<Vec<Term>, Unsupported> {
        let vars = &self.names.vars;
        self.world.group_of(self.class, ring, waits, vars)
    }

    /// A counter gets a value.
    pub(super) fn count(&mut self, counter: Counter, value: Term) {
        let value = self.define("count", value);
        self.counters.insert(counter, value);
    }

    /// That the element named is the next one of the ring, and exists.
    pub(super) fn element(&mut self, act: &Act, next: &Term) -> Result<(), Unsupported> {
        let goals = self.element_is(act, next)?;
        let meaning = format!("{} is at the next element", self.quote(act.span));
        self.conclude("element", meaning, goals);
        Ok(())
    }

    fn element_is(&mut self, act: &Act, next: &Term) -> Result<Vec<Term>, Unsupported> {
        let ring = &self.system().rings[act.ring];
        let object = &self.system().protocol.objects[ring.object];
        let zero = term::int(0);
        let mut goals = Vec::new();
        for ((index, at), extent) in act.index.iter().zip(&ring.at).zip(&object.extents) {
            let index = self.evaluated(index, act.span)?;
            let wanted = match at {
                At::Number(value) => term::int(*value),
                // In its group, by which the ring is known.
                At::Own => index.clone(),
                At::Moves => next.clone(),
            };
            let extent = self.names.term(extent)?;
            goals.push(term::eq(&index, &wanted));
            goals.push(term::within(&zero, &index, &extent));
        }
        Ok(goals)
    }

    /// An arrival counts what the certificate says of those before it at the same number, and at least 1.
    fn amount(&mut self, act: &Act, amount: &Amount, weights: &[Term]) -> Result<(), Unsupported> {
        let (part, one) = (self.counter(Counter::Part(act.ring))?, term::int(1));
        let (last, before) = weights.split_last().ok_or_else(unfit)?;
        let mut weight = last.clone();
        for (at, amount) in before.iter().enumerate().rev() {
            let here = term::eq(&part, &term::int(super::exact::number(at)?));
            weight = term::ite(&here, amount, &weight);
        }
        let goals = match amount {
            Amount::One | Amount::Init => vec![term::eq(&weight, &one)],
            Amount::Given(amount) => {
                let amount = self.evaluated(amount, act.span)?;
                match weight == one {
                    true => vec![term::eq(&amount, &weight)],
                    false => vec![term::eq(&amount, &weight), term::le(&one, &amount)],
                }
            }
            Amount::Threads(threads) => {
                let threads = self.evaluated(threads, act.span)?;
                let arriving = self
                    .world
                    .arriving(act.ring, &self.group(act.ring, false)?)?;
                let all = term::product([term::int(WARP), arriving]);
                vec![term::eq(&weight, &one), term::eq(&threads, &all)]
            }
        };
        let meaning = format!(
            "{} counts for one of those who arrive",
            self.quote(act.span)
        );
        self.conclude("amount", meaning, goals);
        Ok(())
    }

    /// That the generation before that of the arrival to come is complete.
    fn in_turn(&mut self, ring: usize) -> Result<Vec<Term>, Unsupported> {
        if !self.system().in_turn(ring) {
            return Ok(Vec::new());
        }
        let arrived = self.counter(Counter::Arrived(ring))?;
        let size = self.world.size(ring);
        let first = term::lt(&arrived, &size);
        let mut all = self.certificate().in_turn.iter();
        let reason = all.find(|reason| reason.class == self.class && reason.ring == ring);
        // Without a reason there is one round at most.
        let Some(reason) = reason else {
            return Ok(vec![first]);
        };
        let group = self.group(ring, false)?;
        let goals = match (reason.chain.last(), self.system().kind(ring)) {
            // An addition is done at once, so all own ones to earlier numbers have been done.
            (None, ObjectKind::Semaphore(_)) => vec![self.world.alone(ring, &group)?],
            (Some(last), _) if last.ring == ring => {
                let done = self.world.done(self, &reason.chain)?;
                let more = done.exceeds(&term::sub(&arrived, &size));
                [done.needed, vec![more], term::same(&group, &done.group)].concat()
            }
            _ => return Err(unfit()),
        };
        // What a reason needs is not asked for in the first round.
        Ok(goals
            .into_iter()
            .map(|goal| term::or([first.clone(), goal]))
            .collect())
    }

    /// An arrival, of which there are so many at each number.
    fn arrive(&mut self, ring: usize, units: usize, span: Span) -> Result<(), Unsupported> {
        let arrived = self.counter(Counter::Arrived(ring))?;
        let mut goals = self.in_turn(ring)?;
        let owed = self.counter(Counter::Owed(ring))?;
        goals.push(term::eq(&owed, &term::int(0)));
        let class = self.class;
        for reason in &self.certificate().ready {
            // Others rely on it that what this class initialises has been, when it arrives here.
            if reason.chain.last() == Some(&Link { ring, class }) {
                let inits = self.system().inits(reason.ring)?.ok_or_else(unfit)?;
                let made = self.counter(Counter::Arrived(inits))?;
                goals.push(term::eq(&made, &self.world.size(inits)));
            }
        }
        if let ObjectKind::Barrier { .. } = self.system().kind(ring) {
            // A second arrival without a wait in between is undefined.
            self.once(ring)?;
            let awaited = self.counters.get(&Counter::Awaited(ring)).cloned();
            let awaited = awaited.unwrap_or_else(|| term::int(0));
            goals.push(term::eq(&awaited, &arrived));
        }
        let meaning = format!(
            "{} comes after the generation before its own has completed",
            self.quote(span)
        );
        self.conclude("in_turn", meaning, goals);
        self.laps(ring, span)?;

        let one = term::int(1);
        if units > 1 {
            let part = self.counter(Counter::Part(ring))?;
            let next = term::sum([part, one.clone()]);
            let whole = term::eq(&next, &term::int(super::exact::number(units)?));
            self.count(Counter::Part(ring), term::ite(&whole, &term::int(0), &next));
            let before = self.counters.clone();
            self.number(ring, &arrived)?;
            self.unless(&whole, before)?;
        } else {
            self.number(ring, &arrived)?;
        }
        self.follows(ring, span)
    }

    /// All own arrivals at a number have been made.
    fn number(&mut self, ring: usize, arrived: &Term) -> Result<(), Unsupported> {
        let one = term::int(1);
        let (turn, at) = (Counter::ArrivedTurn(ring), Counter::ArrivedAt(ring));
        let this = self.counter(at)?;
        self.count(Counter::ArrivedLast(ring), this);
        let expected = self.counter(Counter::Expected(ring))?;
        self.counters.insert(Counter::Owed(ring), expected);
        self.counters.insert(Counter::Expected(ring), term::int(0));
        self.count(Counter::Arrived(ring), term::sum([arrived.clone(), one]));
        self.advance(ring, Counter::Arrived(ring), turn, at)
    }

    /// That what holds everywhere still does.
    fn follows(&mut self, ring: usize, span: Span) -> Result<(), Unsupported> {
        let mut goals = Vec::new();
        for behind in &self.local()?.behind {
            if behind.arrives == ring {
                goals.push(self.is_behind(behind)?);
            }
        }
        let meaning = format!(
            "{} comes after the waits that it has to follow",
            self.quote(span)
        );
        self.conclude("behind", meaning, goals);
        Ok(())
    }

    /// That whoever could be lapped by this arrival has passed the wait.
    fn laps(&mut self, ring: usize, span: Span) -> Result<(), Unsupported> {
        let (arrived, size) = (self.counter(Counter::Arrived(ring))?, self.world.size(ring));
        let mut goals = Vec::new();
        for reason in &self.certificate().not_lapped {
            if reason.ring != ring || reason.by != self.class {
                continue;
            }
            // The wait for the number that is `size` less is over: more waits have been passed than its number.
            let lag = self.world.lag(reason.class, ring)?;
            let wait = term::sum([term::sub(&arrived, &size), lag]);
            if reason.chain.is_empty() {
                // Nobody has passed less than no wait.
                let passed = match reason.class == self.class {
                    true => self.counter(Counter::Awaited(ring))?,
                    false => term::int(0),
                };
                goals.push(term::lt(&wait, &passed));
            } else {
                if reason
                    .chain
                    .last()
                    .is_none_or(|last| last.class != reason.class)
                {
                    return Err(unfit());
                }
                let group = self.group(ring, false)?;
                let passed = self.world.passed(self, &reason.chain, ring, &group)?;
                goals.extend(passed.needed.iter().cloned());
                goals.push(passed.exceeds(&wait));
            }
        }
        let meaning = format!("{} laps no member that still waits", self.quote(span));
        self.conclude("laps", meaning, goals);
        Ok(())
    }

    /// That some class with members, all of whom arrive, laps nobody.
    fn not_lapped(&mut self, ring: usize) -> Result<(), Unsupported> {
        let mut all = self.certificate().not_lapped.iter();
        let fits = |reason: &&NotLapped| reason.class == self.class && reason.ring == ring;
        let by = all.find(fits).ok_or_else(unfit)?.by;
        if !self.system().rings[ring].arriving.contains(&by) {
            return Err(unfit());
        }
        let (_, goals) = self.world.witness(by, ring, &self.group(ring, true)?)?;
        let meaning = "a member arrives that laps no waiting member".to_owned();
        self.conclude("lapped_by", meaning, goals);
        Ok(())
    }

    fn deliver(&mut self, act: &Act, bytes: &crate::protocol::Expr) -> Result<(), Unsupported> {
        let ring = act.ring;
        let bytes = self.evaluated(bytes, act.span)?;
        let expected = self.counter(Counter::Expected(ring))?;
        let owed = self.counter(Counter::Owed(ring))?;
        let zero = term::int(0);
        let late = term::lt(&zero, &owed);
        let last = self.counter(Counter::ArrivedLast(ring))?;
        let next = self.counter(Counter::ArrivedAt(ring))?;
        let element = term::ite(&late, &last, &next);
        let missing = term::ite(&late, &owed, &expected);
        let mut goals = self.element_is(act, &element)?;
        goals.push(term::le(&term::int(1), &bytes));
        goals.push(term::le(&bytes, &missing));
        let meaning = format!("{} delivers what this member expects", self.quote(act.span));
        self.conclude("deliver", meaning, goals);
        self.count(
            Counter::Owed(ring),
            term::ite(&late, &term::sub(&owed, &bytes), &owed),
        );
        self.count(
            Counter::Expected(ring),
            term::ite(&late, &expected, &term::sub(&expected, &bytes)),
        );
        Ok(())
    }

    /// A member stands before a wait, and then has passed it.
    fn wait(&mut self, act: &Act, number: usize, mut goals: Vec<Term>) -> Result<(), Unsupported> {
        let ring = act.ring;
        goals.extend([self.settled(), self.empty_handed()].concat());
        let meaning = format!(
            "{} is for the number that it is meant for",
            self.quote(act.span)
        );
        self.conclude("awaits", meaning, goals);
        let rank = self.local()?.ranks.get(number).ok_or_else(unfit)?;
        let rank = self.sum(rank)?;
        let awaited = self.counter(Counter::Awaited(ring))?;
        let lag = self.world.lag(self.class, ring)?;
        let number_of = term::sub(&awaited, &lag);
        if self.scenes.len() != number {
            return Err(unfit());
        }
        self.scenes.push(Scene {
            facts: self.known(),
            counters: self.counters.clone(),
            wait: Some(Awaits {
                ring,
                number: number_of,
                rank,
                span: act.span,
            }),
        });
        self.count(Counter::Awaited(ring), term::sum([awaited, term::int(1)]));
        let (turn, at) = (Counter::AwaitedTurn(ring), Counter::AwaitedAt(ring));
        let before = self.counter(turn)?;
        let bit = self.counter(Counter::AwaitedBit(ring))?;
        self.advance(ring, Counter::Awaited(ring), turn, at)?;
        let after = self.counter(turn)?;
        let other = term::sub(&term::int(1), &bit);
        self.count(
            Counter::AwaitedBit(ring),
            term::ite(&term::eq(&before, &after), &bit, &other),
        );
        Ok(())
    }

    /// The next element of a ring, of a counter that has been raised by one.
    fn advance(
        &mut self,
        ring: usize,
        value: Counter,
        turn: Counter,
        at: Counter,
    ) -> Result<(), Unsupported> {
        if self.system().rings[ring].moving().is_none() {
            let value = self.counter(value)?;
            self.counters.insert(turn, value);
            return Ok(());
        }
        let one = term::int(1);
        let (rounds, element) = (self.counter(turn)?, self.counter(at)?);
        let next = term::sum([element, one.clone()]);
        let around = term::eq(&next, &self.world.size(ring));
        self.count(
            turn,
            term::ite(&around, &term::sum([rounds.clone(), one]), &rounds),
        );
        self.count(at, term::ite(&around, &term::int(0), &next));
        let facts = self.pair(ring, self.counter(value)?, turn, at)?;
        self.facts.extend(facts);
        Ok(())
    }
}
