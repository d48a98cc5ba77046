//! Members take turns at the elements of a semaphore.
//!
//! Everything that is done to the semaphore is waits and additions of members of one role. The *turn* of a member that waits at an element is the
//! value that it waits for, minus the value at the start. The conditions are
//!
//! 1. *(ones)* every addition is of 1;
//! 2. *(once)* a member waits at an element at most once, and adds to it at most once;
//! 3. *(pairs)* a member that waits at an element adds to it after the wait, and one that adds to it waits at it. Such members *come* to it;
//! 4. *(counted)* members that come to one element agree in all indices but the counted ones. So they are in one *box*: all members with the same
//!    other indices. A box is ordered by the counted indices, the most significant first;
//! 5. *(numbered)* one of these three:
//!    - *(recurrence)* in each box of which a member comes, a term `g` is 0 at the first member. At the member after `n` it is `g(n)` plus 1 if `n`
//!      comes, and `g(n)` if not. The turn of each `n` that comes is `g(n)`. The term is what a wait waits for, or that plus 1 where `n` does not
//!      come;
//!    - *(block)* a member between two members that come, comes. A member that comes has turn 0 if it is the first of the box, or if the one before
//!      it does not come. If it comes and so does the next one, that has the next turn;
//!    - *(everybody)* if one member of a box comes, all do. Turns are at least 0 and less than the number of members of the box. Two members of a box
//!      with the same turn are the same;
//! 6. *(ranks, residency)* if `p` has the turn before that of `c`, the conditions on ranks and residency hold of the addition of `p`.
//!
//! *Theorem (turns without gap).* The turns at an element are different, and if one is `t > 0`, another one is `t - 1`. For *recurrence*, by
//! induction along the box, `g(n)` is the number of members before `n` that come. So the first one that comes has turn 0, and each further one the
//! next turn. The same holds for *block*. For *everybody*, there are as many members as numbers, and their numbers are different, so each number is
//! somebody's. In the first two cases turns ascend along the box, so the member with the turn before comes before; obligation 6 may use that.
//!
//! *Theorem (turns are taken in turn).* In every state of a run the additions that have been done to an element are those of turns `0, ..., v - 1`,
//! for some `v`. At the start `v = 0`. Take the first addition for which this fails. Before it, those of `0, ..., v - 1` are done, so the value is
//! `v` more than at the start. Let its turn be `t`. It had not been done, so `t >= v`. It came after a wait (3) that passed at a value of at least
//! `t` more than at the start, be it `==` or `>=`. Values only grow, so `t <= v`. So it is the addition of turn `v`: a contradiction.
//!
//! *What a wait is for.* Let `c` with turn `t` stand at a wait that does not pass, in a state where `0, ..., v - 1` have been done. Its own addition
//! comes after the wait, so it has not been done, and `v <= t`. If `v = t`, the value is the awaited one. So `v < t`, and the addition of turn
//! `t - 1` has not been done. Its member `p` exists, since there is no gap.

use super::Place;
use super::Rule;
use super::certificate::Key;
use super::certificate::Numbered;
use super::certificate::Turns;
use super::program::Event;
use super::setting::Env;
use super::setting::Setting;
use super::setting::less;
use super::setting::nothing;
use crate::protocol::Role;
use crate::trusted::member::unfit;
use crate::trusted::term;
use crate::trusted::term::Term;
use crate::trusted::unsupported::Unsupported;

/// A member at an element.
struct Visit {
    /// For each wait: the values of names, and that it takes place.
    waits: Vec<(Env, Term)>,
    /// For each addition.
    adds: Vec<(Env, Term)>,
    /// That the member comes.
    comes: Term,
    /// Its turn, if it comes.
    turn: Term,
}

/// What takes turns at an object.
struct Taken<'c> {
    turns: &'c Turns,
    /// Waits and additions, with their positions in the program.
    waits: Vec<(usize, Event)>,
    adds: Vec<(usize, Event)>,
}

impl Taken<'_> {
    fn object(&self) -> usize {
        self.turns.object
    }
}

impl<'p> Rule<'p> {
    /// The conditions for one object.
    pub(super) fn turns(&mut self, turns: &'p Turns) -> Result<(), Unsupported> {
        let all = self.programs.iter().enumerate();
        let all = all.flat_map(|(role, program)| program.events.iter().map(move |e| (role, e)));
        for (role, event) in all {
            if event.object == turns.object && role != turns.role {
                return Err(Unsupported::at(event.span, "turns of members of two roles"));
            }
        }
        let program = self.programs.get(turns.role).ok_or_else(unfit)?;
        let events = program.events.iter().cloned().enumerate();
        let here = events.filter(|(_, event)| event.object == turns.object);
        let (waits, adds): (Vec<_>, Vec<_>) = here.partition(|(_, event)| event.waits());
        let taken = Taken { turns, waits, adds };
        if taken.waits.is_empty() {
            return Err(unfit());
        }
        self.ones(&taken)?;
        self.once(&taken)?;
        self.pairs(&taken)?;
        self.counted(&taken)?;
        match turns.numbered {
            Numbered::Recurrence(wait, less) => self.recurrence(&taken, wait, less)?,
            Numbered::Block => self.block(&taken)?,
            Numbered::Everybody => self.everybody(&taken)?,
        }
        self.in_turn(&taken)
    }

    fn visit(
        &self,
        setting: &mut Setting<'_>,
        taken: &Taken<'_>,
        member: &Env,
        element: &[Term],
    ) -> Result<Visit, Unsupported> {
        let mut located = |events: &[(usize, Event)]| {
            let each = events.iter();
            each.map(|(_, event)| setting.located(event, member, element))
                .collect::<Result<Vec<_>, _>>()
        };
        let (waits, adds) = (located(&taken.waits)?, located(&taken.adds)?);
        let initial = setting.initial(taken.object())?;
        let mut turn: Option<Term> = None;
        for ((_, event), (env, happens)) in taken.waits.iter().zip(&waits).rev() {
            let own = term::sub(&setting.value(event, env)?, &initial);
            turn = Some(match turn {
                None => own,
                Some(others) => term::ite(happens, &own, &others),
            });
        }
        let turn = turn.ok_or_else(unfit)?;
        let comes = term::or(waits.iter().map(|(_, happens)| happens.clone()));
        Ok(Visit {
            waits,
            adds,
            comes,
            turn,
        })
    }

    /// A member of the box of another one: its other indices are the same.
    fn of_box(
        &self,
        setting: &mut Setting<'_>,
        taken: &Taken<'_>,
        member: &Env,
    ) -> Result<Env, Unsupported> {
        let role = &self.protocol.roles[taken.turns.role];
        let mut other = member.clone();
        for key in &taken.turns.counted {
            let index = role.indices.get(key.index).ok_or_else(unfit)?;
            let value = setting.within("other", &index.extent)?;
            other.insert(index.var, value);
        }
        Ok(other)
    }

    fn role(&self, taken: &Taken<'_>) -> &'p Role {
        &self.protocol.roles[taken.turns.role]
    }

    fn ones(&mut self, taken: &Taken<'_>) -> Result<(), Unsupported> {
        for (_, add) in &taken.adds {
            let mut setting = self.setting();
            let mut env = setting.member(self.role(taken), "member")?;
            setting.comes(&add.scope, &mut env)?;
            let goal = term::eq(&setting.value(add, &env)?, &term::int(1));
            let meaning = format!("{} adds 1", self.quote(add.span));
            self.conclude(setting, "ones", meaning, goal)?;
        }
        Ok(())
    }

    fn once(&mut self, taken: &Taken<'_>) -> Result<(), Unsupported> {
        let mut setting = self.setting();
        let member = setting.member(self.role(taken), "member")?;
        let element = setting.element(taken.object())?;
        let visit = self.visit(&mut setting, taken, &member, &element)?;
        let mut goals = Vec::new();
        for all in [&visit.waits, &visit.adds] {
            for (at, (_, one)) in all.iter().enumerate() {
                for (_, other) in all.iter().take(at) {
                    goals.push(term::not(term::and([one.clone(), other.clone()])));
                }
            }
        }
        let meaning = "a member takes one turn at an element".to_owned();
        self.conclude(setting, "once", meaning, term::and(goals))
    }

    fn pairs(&mut self, taken: &Taken<'_>) -> Result<(), Unsupported> {
        let mut setting = self.setting();
        let member = setting.member(self.role(taken), "member")?;
        let element = setting.element(taken.object())?;
        let visit = self.visit(&mut setting, taken, &member, &element)?;
        let adds = term::or(visit.adds.iter().map(|(_, happens)| happens.clone()));
        let mut goals = vec![
            term::or([term::not(visit.comes.clone()), adds.clone()]),
            term::or([term::not(adds), visit.comes.clone()]),
        ];
        for ((_, wait), (at_wait, waits)) in taken.waits.iter().zip(&visit.waits) {
            for ((_, add), (at_add, adds)) in taken.adds.iter().zip(&visit.adds) {
                let before = setting.precedes((wait, at_wait), (add, at_add));
                let both = term::and([waits.clone(), adds.clone()]);
                goals.push(term::or([term::not(both), before]));
            }
        }
        let meaning = "who waits for a turn adds later, and who adds has waited".to_owned();
        self.conclude(setting, "pairs", meaning, term::and(goals))
    }

    fn counted(&mut self, taken: &Taken<'_>) -> Result<(), Unsupported> {
        let role = self.role(taken);
        let mut named: Vec<usize> = taken.turns.counted.iter().map(|key| key.index).collect();
        named.sort_unstable();
        if named.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(unfit());
        }
        let mut setting = self.setting();
        let one = setting.member(role, "one")?;
        let other = setting.member(role, "other")?;
        let element = setting.element(taken.object())?;
        for member in [&one, &other] {
            let visit = self.visit(&mut setting, taken, member, &element)?;
            setting.facts.push(visit.comes);
        }
        let mut goals = Vec::new();
        for (at, index) in role.indices.iter().enumerate() {
            if !named.contains(&at) {
                goals.push(term::eq(
                    &value(&one, index.var)?,
                    &value(&other, index.var)?,
                ));
            }
        }
        let meaning = "who comes to one element differs in the indices that are counted".to_owned();
        self.conclude(setting, "counted", meaning, term::and(goals))
    }

    /// Where a member stands in its box, and where it stands if an index ends: in the order of the box, the least first.
    fn position(
        &self,
        setting: &mut Setting<'_>,
        taken: &Taken<'_>,
        member: &Env,
    ) -> Result<[Vec<Term>; 2], Unsupported> {
        let (mut at, mut last) = (Vec::new(), Vec::new());
        for Key { index, descending } in &taken.turns.counted {
            let index = self.role(taken).indices.get(*index).ok_or_else(unfit)?;
            let own = value(member, index.var)?;
            let extent = setting.expr(&index.extent, &Env::new())?;
            let end = term::sub(&extent, &term::int(1));
            at.push(match descending {
                true => term::sub(&end, &own),
                false => own,
            });
            last.push(end);
        }
        Ok([at, last])
    }

    /// That the second member of a box is the next one after the first.
    fn next(
        &self,
        setting: &mut Setting<'_>,
        taken: &Taken<'_>,
        [one, other]: [&Env; 2],
    ) -> Result<Term, Unsupported> {
        let [mut at, mut last] = self.position(setting, taken, one)?;
        let [mut then, _] = self.position(setting, taken, other)?;
        let mut cases = Vec::new();
        // The last index that does not end grows by one; those behind it begin again.
        let mut behind = Vec::new();
        while let (Some(a), Some(b), Some(end)) = (at.pop(), then.pop(), last.pop()) {
            let grows = term::eq(&b, &term::sum([a.clone(), term::int(1)]));
            let same = at.iter().zip(&then).map(|(a, b)| term::eq(a, b));
            cases.push(term::and(same.chain([grows]).chain(behind.iter().cloned())));
            behind.push(term::eq(&a, &end));
            behind.push(term::eq(&b, &term::int(0)));
        }
        Ok(term::or(cases))
    }

    /// That a member is the first of its box.
    fn first(
        &self,
        setting: &mut Setting<'_>,
        taken: &Taken<'_>,
        member: &Env,
    ) -> Result<Term, Unsupported> {
        let [at, _] = self.position(setting, taken, member)?;
        Ok(term::and(at.iter().map(|at| term::eq(at, &term::int(0)))))
    }

    fn recurrence(
        &mut self,
        taken: &Taken<'_>,
        wait: usize,
        less: bool,
    ) -> Result<(), Unsupported> {
        let named = taken.waits.iter().find(|(at, _)| *at == wait);
        let (_, named) = named.ok_or_else(unfit)?;
        let mut setting = self.setting();
        let one = setting.member(self.role(taken), "one")?;
        let element = setting.element(taken.object())?;
        let other = self.of_box(&mut setting, taken, &one)?;
        let somebody = self.of_box(&mut setting, taken, &one)?;
        let comes = self.visit(&mut setting, taken, &somebody, &element)?.comes;
        setting.facts.push(comes);
        let g = |setting: &mut Setting<'_>, member: &Env| {
            let (env, _) = setting.located(named, member, &element)?;
            let initial = setting.initial(taken.object())?;
            let value = term::sub(&setting.value(named, &env)?, &initial);
            let comes = self.visit(setting, taken, member, &element)?.comes;
            let more = term::ite(&comes, &term::int(0), &term::int(1));
            Ok::<Term, Unsupported>(match less {
                true => term::sum([value, more]),
                false => value,
            })
        };
        let (here, there) = (g(&mut setting, &one)?, g(&mut setting, &other)?);
        let visit = self.visit(&mut setting, taken, &one, &element)?;
        let more = term::ite(&visit.comes, &term::int(1), &term::int(0));
        let first = self.first(&mut setting, taken, &one)?;
        let next = self.next(&mut setting, taken, [&one, &other])?;
        let grown = term::eq(&there, &term::sum([here.clone(), more]));
        let goal = term::and([
            term::or([term::not(first), term::eq(&here, &term::int(0))]),
            term::or([term::not(next), grown]),
            term::or([term::not(visit.comes), term::eq(&visit.turn, &here)]),
        ]);
        let meaning = "turns grow by one with each member that comes".to_owned();
        self.conclude(setting, "numbered", meaning, goal)
    }

    fn block(&mut self, taken: &Taken<'_>) -> Result<(), Unsupported> {
        let mut setting = self.setting();
        let one = setting.member(self.role(taken), "one")?;
        let element = setting.element(taken.object())?;
        let between = self.of_box(&mut setting, taken, &one)?;
        let other = self.of_box(&mut setting, taken, &one)?;
        let mut positions = Vec::new();
        for member in [&one, &between, &other] {
            let [at, _] = self.position(&mut setting, taken, member)?;
            positions.push(at);
        }
        setting.facts.push(less(&positions[0], &positions[1]));
        setting.facts.push(less(&positions[1], &positions[2]));
        for member in [&one, &other] {
            let visit = self.visit(&mut setting, taken, member, &element)?;
            setting.facts.push(visit.comes);
        }
        let goal = self.visit(&mut setting, taken, &between, &element)?.comes;
        let meaning = "who stands between two who come, comes".to_owned();
        self.conclude(setting, "between", meaning, goal)?;

        let mut setting = self.setting();
        let one = setting.member(self.role(taken), "one")?;
        let element = setting.element(taken.object())?;
        let first = self.first(&mut setting, taken, &one)?;
        let visit = self.visit(&mut setting, taken, &one, &element)?;
        setting.facts.extend([first, visit.comes]);
        let goal = term::eq(&visit.turn, &term::int(0));
        let meaning = "the first turn is that of the first member".to_owned();
        self.conclude(setting, "numbered", meaning, goal)?;

        let mut setting = self.setting();
        let one = setting.member(self.role(taken), "one")?;
        let element = setting.element(taken.object())?;
        let other = self.of_box(&mut setting, taken, &one)?;
        let next = self.next(&mut setting, taken, [&one, &other])?;
        let here = self.visit(&mut setting, taken, &one, &element)?;
        let there = self.visit(&mut setting, taken, &other, &element)?;
        let more = term::sum([here.turn, term::int(1)]);
        let wanted = term::ite(&here.comes, &more, &term::int(0));
        setting.facts.extend([next, there.comes]);
        let goal = term::eq(&there.turn, &wanted);
        let meaning = "turns are taken one after the other".to_owned();
        self.conclude(setting, "numbered", meaning, goal)
    }

    fn everybody(&mut self, taken: &Taken<'_>) -> Result<(), Unsupported> {
        let mut setting = self.setting();
        let one = setting.member(self.role(taken), "one")?;
        let element = setting.element(taken.object())?;
        let other = self.of_box(&mut setting, taken, &one)?;
        let here = self.visit(&mut setting, taken, &one, &element)?;
        let there = self.visit(&mut setting, taken, &other, &element)?;
        setting.facts.push(here.comes);
        let (mut members, mut same) = (Vec::new(), Vec::new());
        for key in &taken.turns.counted {
            let index = self.role(taken).indices.get(key.index).ok_or_else(unfit)?;
            members.push(setting.expr(&index.extent, &Env::new())?);
            same.push(term::eq(
                &value(&one, index.var)?,
                &value(&other, index.var)?,
            ));
        }
        let differ = term::not(term::eq(&here.turn, &there.turn));
        let goal = term::and([
            there.comes,
            term::within(&term::int(0), &here.turn, &term::product(members)),
            term::or([differ, term::and(same)]),
        ]);
        let meaning = "all come, and each has a turn of its own".to_owned();
        self.conclude(setting, "numbered", meaning, goal)
    }

    /// Condition 6.
    fn in_turn(&mut self, taken: &Taken<'_>) -> Result<(), Unsupported> {
        let role = taken.turns.role;
        for (nth_wait, (wait, _)) in taken.waits.iter().enumerate() {
            for (nth_add, (add, _)) in taken.adds.iter().enumerate() {
                let build = |rule: &Rule<'p>, setting: &mut Setting<'p>| {
                    let c = setting.member(rule.role(taken), "c")?;
                    let element = setting.element(taken.object())?;
                    let p = rule.of_box(setting, taken, &c)?;
                    let here = rule.visit(setting, taken, &c, &element)?;
                    let there = rule.visit(setting, taken, &p, &element)?;
                    let (c_env, c_waits) = here.waits.get(nth_wait).cloned().ok_or_else(unfit)?;
                    let (p_env, p_adds) = there.adds.get(nth_add).cloned().ok_or_else(unfit)?;
                    let before = term::sum([there.turn, term::int(1)]);
                    let before = term::eq(&here.turn, &before);
                    setting.facts.extend([c_waits, p_adds, there.comes, before]);
                    if !matches!(taken.turns.numbered, Numbered::Everybody) {
                        let [first, _] = rule.position(setting, taken, &p)?;
                        let [then, _] = rule.position(setting, taken, &c)?;
                        setting.facts.push(less(&first, &then));
                    }
                    Ok([c_env, p_env])
                };
                let (wait, add): (Place, Place) = ((role, *wait), (role, *add));
                self.descends(&build, wait, add)?;
            }
        }
        Ok(())
    }
}

fn value(member: &Env, var: crate::protocol::VarId) -> Result<Term, Unsupported> {
    member.get(&var).cloned().ok_or_else(nothing)
}
