//! Tests of mbarriers that spare waits: whether what spares a wait holds only where a test has passed for its phase.
//!
//! What a loop carries is what it was at first, or what the iteration before has left. An iteration that is followed by another
//! one is not the last, so there `i + 1` is less than the count of the loop. That may decide what the iteration has chosen:
//! `passed = i + 1 < n ? test : true` is the test there.

use std::collections::BTreeSet;

use super::Lowerer;
use crate::meaning::Binary;
use crate::meaning::Domain;
use crate::meaning::Relation;
use crate::recover::launch::is_launch;
use crate::recover::noted::Facts;
use crate::recover::noted::Made;
use crate::recover::noted::Step;
use crate::recover::noted::Tests;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::term::Terms;
use crate::recover::tree::LoopId;
use crate::recover::tree::Phi;
use crate::recover::tree::Test;

/// How many questions about phis are asked for one condition.
const MOST_ASKED: usize = 64;

/// A condition, an mbarrier and a parity, with what holds besides and how many loops are around.
type Question = (TermId, TermId, TermId, Vec<TermId>, usize);

/// What has been asked of phis.
#[derive(Default)]
struct Asked {
    /// Questions that are open, and those that were answered with yes on the way to one that is. Either may be taken for granted
    /// below that one.
    granted: BTreeSet<Question>,
    count: usize,
    /// The tests that were met, and how what is asked now was come to.
    tests: Tests,
    steps: Vec<Step>,
    facts: Facts,
}

/// How many relations are decided either way, one behind the other.
const MOST_SPLIT: u32 = 3;

impl Lowerer<'_> {
    /// Whether a condition that is looked at here holds only where a test of this mbarrier for this parity has passed. What holds
    /// here decides relations in it, as behind a loop that `n` is odd, so that its last iteration has not been that of `n - 1`.
    ///
    /// Gives these tests.
    ///
    /// Sound: the condition, the mbarrier and the parity are values at this point, and so are the relations in them. Each of these
    /// holds here or does not. Where both may be, the condition has to do in both cases, each with what holds in it.
    pub(super) fn has_passed_here(
        &mut self,
        condition: TermId,
        object: TermId,
        parity: TermId,
    ) -> Option<Tests> {
        let mut tests = Tests::default();
        let mut facts = Facts::new();
        for held in self.held.clone() {
            facts = self.with_fact(facts, held, true);
        }
        let decided = (MOST_SPLIT, facts);
        self.has_passed_within(condition, object, parity, decided, &mut tests)
            .then_some(tests)
    }

    fn has_passed_within(
        &mut self,
        condition: TermId,
        object: TermId,
        parity: TermId,
        (splits, facts): (u32, Facts),
        tests: &mut Tests,
    ) -> bool {
        let mut asked = Asked {
            facts: facts.clone(),
            ..Asked::default()
        };
        if self.has_passed(condition, object, parity, &mut asked) {
            tests.all.extend(asked.tests.all);
            tests.older |= asked.tests.older;
            return true;
        }
        let atoms = self.arena.terms.atoms(condition);
        let mut tested = atoms
            .iter()
            .filter(|atom| matches!(atom, Atom::Test(_) | Atom::Phi(_)));
        if tested.next().is_none() {
            return false;
        }
        let parts = self.arena.terms.parts(condition);
        let relations = parts
            .into_iter()
            .filter(|part| matches!(self.arena.terms.node(*part), Node::Relation(..)));
        let relations: Vec<TermId> = relations.collect();
        let mut open = None;
        for relation in relations {
            let Some(holds) = self.condition(relation) else {
                continue;
            };
            match self.known(&holds) {
                // One after the other: with this one decided, others may be left out.
                Some(truth) => {
                    let terms = &mut self.arena.terms;
                    let constant = terms.constant(u128::from(truth), 1);
                    let decided = [condition, object, parity]
                        .map(|term| terms.replaced(term, relation, constant));
                    let facts = self.with_fact(facts, relation, truth);
                    return decided[0] != condition
                        && self.has_passed_within(
                            decided[0],
                            decided[1],
                            decided[2],
                            (splits, facts),
                            tests,
                        );
                }
                None => open = open.or(Some((relation, holds))),
            }
        }
        let Some(((relation, holds), splits)) = open.zip(splits.checked_sub(1)) else {
            return false;
        };
        let not = self.arena.terms.not(&relation);
        let negated = holds.clone().negated();
        let sides = [(relation, Some(holds), true), (not, negated, false)];
        sides.into_iter().all(|(held, holds, truth)| {
            let terms = &mut self.arena.terms;
            let constant = terms.constant(u128::from(truth), 1);
            let [condition, object, parity] =
                [condition, object, parity].map(|term| terms.replaced(term, relation, constant));
            let decided = (splits, self.with_fact(facts.clone(), relation, truth));
            self.under(held, holds.as_ref(), |lowerer| {
                lowerer.has_passed_within(condition, object, parity, decided, tests)
            })
        })
    }

    /// Conditions that hold, with one more if only the launch decides it.
    fn with_fact(&mut self, mut facts: Facts, condition: TermId, truth: bool) -> Facts {
        if is_launch(condition, &self.arena.terms) {
            let not = self.arena.terms.not(&condition);
            facts.extend([(condition, truth), (not, !truth)]);
        }
        facts
    }

    /// The same where a condition holds or fails.
    fn has_passed_if(
        &mut self,
        (condition, truth): (TermId, bool),
        token: TermId,
        (object, parity): (TermId, TermId),
        asked: &mut Asked,
    ) -> bool {
        let facts = self.with_fact(asked.facts.clone(), condition, truth);
        let before = std::mem::replace(&mut asked.facts, facts);
        let passed = self.has_passed(token, object, parity, asked);
        asked.facts = before;
        passed
    }

    /// Whether a loop runs once at most.
    fn runs_once(&self, id: LoopId) -> bool {
        let count = self.counts.get(&id);
        let range = count.and_then(|count| self.range(count));
        range.is_some_and(|(_, most)| most <= 1)
    }

    /// Whether a condition holds only where a test of this mbarrier for this parity has passed. Phis are followed by
    /// coinduction: what is asked of a phi again on the way may be taken for granted. What was answered with no may not, nor what was
    /// answered with yes below it.
    fn has_passed(
        &mut self,
        condition: TermId,
        object: TermId,
        parity: TermId,
        asked: &mut Asked,
    ) -> bool {
        if self.arena.terms.truth(condition) == Some(false) {
            return true;
        }
        if asked.count > MOST_ASKED {
            return false;
        }
        match self.arena.terms.node(condition).clone() {
            Node::Atom(Atom::Test(test)) => {
                let Test {
                    awaited, events, ..
                } = self.arena.tests[test as usize];
                asked.tests.all.insert(Made {
                    at: events,
                    steps: asked.steps.clone(),
                    facts: asked.facts.clone(),
                });
                let own = [awaited.object, awaited.phase].map(|term| self.at_such_launches(term));
                let asked = [object, parity].map(|term| self.at_such_launches(term));
                awaited.class.is_none() && own == asked
            }
            Node::Binary(Binary::And, a, b) => {
                // One of them is enough, and only its tests matter.
                let before = asked.tests.clone();
                self.has_passed_if((b, true), a, (object, parity), asked) || {
                    asked.tests = before;
                    self.has_passed_if((a, true), b, (object, parity), asked)
                }
            }
            Node::Binary(Binary::Or, a, b) => {
                self.has_passed(a, object, parity, asked)
                    && self.has_passed(b, object, parity, asked)
            }
            Node::Select(choice, a, b) => {
                self.has_passed_if((choice, true), a, (object, parity), asked)
                    && self.has_passed_if((choice, false), b, (object, parity), asked)
            }
            Node::Atom(Atom::Phi(phi)) => {
                let (held, around) = (self.held.clone(), self.inside.len());
                let question = (condition, object, parity, held, around);
                if asked.granted.contains(&question) {
                    asked.tests.older = true;
                    return true;
                }
                let before = asked.granted.clone();
                asked.granted.insert(question);
                asked.count += 1;
                let passed = self.phi_has_passed(phi, object, parity, asked);
                if !passed {
                    asked.granted = before;
                }
                passed
            }
            _ => false,
        }
    }

    /// A term where conditions hold that are held here and that only the launch decides. They hold whenever something is computed in
    /// such a launch, so also where an mbarrier was tested before.
    fn at_such_launches(&mut self, term: TermId) -> TermId {
        let mut term = term;
        for held in self.held.clone() {
            if !is_launch(held, &self.arena.terms) {
                continue;
            }
            let terms = &mut self.arena.terms;
            let (inner, truth) = match *terms.node(held) {
                Node::Not(inner) => (inner, 0),
                _ => (held, 1),
            };
            if terms.truth(inner).is_none() {
                let constant = terms.constant(truth, 1);
                term = terms.replaced(term, inner, constant);
            }
        }
        term
    }

    /// The same of a phi: before its loop, and in the iteration before.
    fn phi_has_passed(
        &mut self,
        phi: u32,
        object: TermId,
        parity: TermId,
        asked: &mut Asked,
    ) -> bool {
        let Phi {
            in_loop,
            first,
            next,
        } = self.arena.phis[phi as usize].clone();
        let of = |list: &[(Atom, TermId)], atom: Atom| {
            list.iter()
                .find(|(other, _)| *other == atom)
                .map(|(_, term)| *term)
        };
        // What is used in the body of a loop is used in an iteration that has begun.
        let all: Vec<(Atom, TermId, TermId)> = self
            .recurrences
            .of_phi
            .keys()
            .filter(|phi| self.arena.phis[**phi as usize].in_loop == in_loop)
            .map(|phi| {
                let record = &self.arena.phis[*phi as usize];
                (Atom::Phi(*phi), record.first, record.next)
            })
            .collect();
        let began = self.began.clone();
        let once = self.runs_once(in_loop);
        let place = self.inside.iter().position(|(id, _)| *id == in_loop);
        let enclosing = place.map_or(&self.inside[..], |place| &self.inside[..=place]);
        let going: Vec<TermId> = enclosing.iter().filter_map(|(_, term)| *term).collect();
        let around = place.map_or(self.inside.len(), |place| place + 1);
        let held = self.held.clone();
        let stays = self.stay_as_they_are(&held, around);
        // What an iteration makes anew is no more what the one before has made: a wait for that is another one. Of an only iteration
        // there is none before.
        let stay = [object, parity]
            .iter()
            .all(|term| self.stays_as_it_is(*term, around));
        let next = self.before_another(next, in_loop);
        let terms = &mut self.arena.terms;
        let [untruth, truth] = [0, 1].map(|truth| terms.constant(truth, 1));
        let firsts: Vec<(Atom, TermId)> =
            all.iter().map(|(atom, first, _)| (*atom, *first)).collect();
        let nexts: Vec<(Atom, TermId)> = all.iter().map(|(atom, _, next)| (*atom, *next)).collect();
        let mut sides = Vec::new();
        for (list, token, held) in [(&firsts, first, &held), (&nexts, next, &stays)] {
            let mut begun: Vec<TermId> = Vec::new();
            for term in held {
                begun.push(terms.substitute(*term, &|atom| of(list, atom)));
            }
            begun.extend(&began);
            let mut token = token;
            if once {
                // The only iteration begins with what came to the loop. What is tested in it stays over what it begins with.
                for term in begun.iter_mut().chain([&mut token]) {
                    *term = terms.substitute(*term, &|atom| of(&firsts, atom));
                }
            }
            token = above_minima(token, terms);
            let [object, parity] =
                [object, parity].map(|term| terms.substitute(term, &|atom| of(list, atom)));
            let mut all = [token, object, parity];
            for term in &mut all {
                for begun in &begun {
                    for begun in implied(*begun, terms) {
                        if terms.truth(begun).is_some() {
                            continue;
                        }
                        *term = match *terms.node(begun) {
                            Node::Not(inner) => terms.replaced(*term, inner, untruth),
                            _ => terms.replaced(*term, begun, truth),
                        };
                    }
                }
            }
            sides.push(all);
        }
        let mut sides = sides.into_iter();
        let (Some(first), Some(next)) = (sides.next(), sides.next()) else {
            return false;
        };
        // Before the loop, and in the iteration before. What holds now is not asked for there any more, but that the loops
        // around go on.
        let inside = self.inside.clone();
        let [token, object, parity] = first;
        self.inside.truncate(place.unwrap_or(inside.len()));
        asked.steps.push(Step::Before(in_loop));
        let at_first = self.has_passed(token, object, parity, asked);
        asked.steps.pop();
        self.inside = inside.clone();
        let [token, object, parity] = next;
        self.inside.truncate(around);
        let held = std::mem::replace(&mut self.held, going);
        asked.steps.push(Step::Round(in_loop));
        let before = at_first && (once || stay) && self.has_passed(token, object, parity, asked);
        asked.steps.pop();
        (self.held, self.inside) = (held, inside);
        before
    }

    /// Of conditions that hold now, those of which the parts are the same in the iteration before, but for what the loop carries itself:
    /// not what loops inside of it, loads and tests leave anew in each iteration. `around` is how many of the loops around are the
    /// same.
    fn stay_as_they_are(&self, held: &[TermId], around: usize) -> Vec<TermId> {
        let all = held.iter().copied();
        all.filter(|term| self.stays_as_it_is(*term, around))
            .collect()
    }

    fn stays_as_it_is(&self, term: TermId, around: usize) -> bool {
        let is_same = |atom: &Atom| match atom {
            Atom::Phi(phi) => {
                let in_loop = self.arena.phis[*phi as usize].in_loop;
                let mut inside = self.inside.iter().take(around);
                inside.any(|(id, _)| *id == in_loop)
            }
            Atom::Parameter { .. } | Atom::Special(_) | Atom::Shared { .. } => true,
            _ => false,
        };
        self.arena.terms.atoms(term).iter().all(is_same)
    }

    /// A term over the registers of an iteration behind which another one of its loop has begun, which is the one that is looked at:
    /// without the relations that this decides.
    ///
    /// What holds now need not have held then. So only what is known of the launch and of the loops around is used, and of the
    /// loop itself that the iteration was not its last one. Relations that depend on anything else stay.
    fn before_another(&mut self, term: TermId, id: LoopId) -> TermId {
        let Some(place) = self.inside.iter().position(|(other, _)| *other == id) else {
            return term;
        };
        let around: Vec<LoopId> = self.inside[..=place].iter().map(|(id, _)| *id).collect();
        // What variables hold changes.
        let is_fixed = |atomic: &Atomic| match atomic {
            Atomic::Variable(_) => false,
            Atomic::Index(index) => around.contains(index),
            _ => true,
        };
        let own = Number::of(Atomic::Index(id));
        let last = self.counts.get(&id).and_then(|count| count.minus(&own));
        let Some(left) = last.and_then(|last| last.minus(&Number::constant(2))) else {
            return term;
        };
        let is_own = |atomic: &Atomic| *atomic == Atomic::Index(id);
        let kept = self
            .facts
            .iter()
            .filter(|fact| !fact.mentions(&|atomic| !is_fixed(atomic)) && !fact.mentions(&is_own));
        let kept = kept.cloned().collect();
        let facts = std::mem::replace(&mut self.facts, kept);
        let held = std::mem::take(&mut self.held);
        let began = std::mem::take(&mut self.began);
        self.learn(&own);
        self.learn(&left);
        let mut result = term;
        for part in self.arena.terms.parts(term) {
            if !matches!(self.arena.terms.node(part), Node::Relation(..)) {
                continue;
            }
            let condition = self.condition(part).filter(|condition| {
                let mut fixed = true;
                condition
                    .each(&mut |number| fixed &= !number.mentions(&|atomic| !is_fixed(atomic)));
                fixed
            });
            if let Some(truth) = condition.and_then(|condition| self.known(&condition)) {
                let truth = self.arena.terms.constant(u128::from(truth), 1);
                result = self.arena.terms.replaced(result, part, truth);
            }
        }
        (self.facts, self.held, self.began) = (facts, held, began);
        result
    }
}

/// What holds where a condition does: itself, and of `a < min(x, y)` also `a < x` and `a < y`. From `min(x, y) < x` follows
/// `y < x`, and from `1 < x` also `0 < x`.
fn implied(condition: TermId, terms: &mut Terms) -> Vec<TermId> {
    let mut all = vec![condition];
    let mut at = 0;
    while let Some(condition) = all.get(at).copied() {
        at += 1;
        if at > MOST_IMPLIED {
            break;
        }
        let more = match *terms.node(condition) {
            Node::Binary(Binary::And, a, b) => vec![a, b],
            Node::Relation(Relation::LessSigned, a, b) => {
                let mut more = Vec::new();
                if let Some((x, y)) = minimum(b, terms) {
                    more.extend([(a, x), (a, y)]);
                }
                match minimum(a, terms) {
                    Some((x, y)) if x == b => more.push((y, b)),
                    Some((x, y)) if y == b => more.push((x, b)),
                    _ => {}
                }
                let width = terms.width_of(a);
                if terms.value(a) == Some(1) {
                    more.push((terms.constant(0, width), b));
                }
                let less = |(a, b): (TermId, TermId)| terms.relation(Relation::LessSigned, &a, &b);
                more.into_iter().map(less).collect()
            }
            _ => Vec::new(),
        };
        all.extend(
            more.into_iter()
                .filter(|one| !all.contains(one))
                .collect::<Vec<_>>(),
        );
    }
    all
}

/// A term with `a < x && a < y` for `a < min(x, y)`.
fn above_minima(term: TermId, terms: &mut Terms) -> TermId {
    let mut changed = term;
    for part in terms.parts(term).to_vec() {
        if let Node::Relation(Relation::LessSigned, a, b) = *terms.node(part)
            && let Some((x, y)) = minimum(b, terms)
        {
            let [x, y] = [x, y].map(|bound| terms.relation(Relation::LessSigned, &a, &bound));
            let both = terms.binary(Binary::And, &x, &y);
            changed = terms.replaced(changed, part, both);
        }
    }
    changed
}

/// How many conditions are looked at for what follows from them.
const MOST_IMPLIED: usize = 16;

/// The two of which a term is the lesser one, compared with sign: `x < y ? x : y`, or `k < x ? k + 1 : x`.
fn minimum(term: TermId, terms: &Terms) -> Option<(TermId, TermId)> {
    let Node::Select(condition, a, b) = *terms.node(term) else {
        return None;
    };
    let Node::Relation(Relation::LessSigned, x, y) = *terms.node(condition) else {
        return None;
    };
    let signed = |term: TermId| terms.signed(term);
    let next = signed(x).and_then(|k| k.checked_add(1));
    let is_minimum = (x, y) == (a, b) || y == b && next.is_some() && next == signed(a);
    is_minimum.then_some((a, b))
}
