//! The turn rule: why a grid whose CTAs take numbered turns at each element never hangs.
//!
//! The ticket rule needs one order on the CTAs that suits every element. Rotated schedules have none: at one element
//! CTA 0 comes first, at another one CTA 1. In this rule, each element has an order of its own, given by the awaited
//! values. A rank excludes cycles.
//!
//! # The rule
//!
//! For a CTA `c` that waits on an element `s`, its *turn* there is the awaited value minus the initial value of `s`.
//! The protocol is free of deadlock if the following holds.
//!
//! 1. *(well defined)* As for the ticket rule; and every addition adds exactly 1.
//! 2. *(once)* A CTA waits on an element at most once and adds to it at most once.
//! 3. *(paired)* A CTA that adds to an element has waited on it before, and one that waits on it adds to it later.
//! 4. *(distinct)* Two CTAs never have the same turn at an element.
//! 5. *(no gap)* No turn is negative, and if `c` has turn `t > 0` at `s`, some CTA has turn `t - 1` there.
//! 6. *(rank)* If `p` has the turn before `c`'s at `s`, every wait of `p` up to its addition to `s` ranks lower than
//!    `c`'s wait on `s`.
//! 7. *(residency)* In that case `p` starts before `c`, or the whole grid is resident; and at least one CTA is
//!    resident.
//!
//! # Why it is sound
//!
//! *Invariant:* the additions done to `s` are those of the turns `0, ..., v - 1`, where `v` is the value minus the
//! initial one. An addition by `k` follows a wait that saw `v` equal to `k`'s turn. (A `>=` wait saw at least that.
//! It did not see more, because `k`'s own addition was still missing, and the invariant held.) Until `k` adds, no
//! other addition to `s` can happen, because it would need the same turn (4). So the next addition after those of the
//! turns `0, ..., v - 1` is that of turn `v`.
//!
//! *Progress:* suppose that a state is stuck. Every CTA that started and is not finished is blocked at a wait. Let
//! `c` be one, at `s`, with turn `t`. Its own addition comes later (3), so `v <= t` by the invariant. It is blocked,
//! so `v < t`. The CTA `p` of turn `t - 1` exists (5) and has not added to `s`. It has started, by 7: either it
//! starts before `c`, which has started, or a place is free for it. So `p` is blocked at a wait up to its addition to
//! `s`, and this wait ranks lower than `c`'s (6). The same argument applies to `p`, and so on. This is an infinite
//! descent among finitely many waits, which is impossible. If no CTA has started, a place is free (7).
//!
//! Ranks are compared lexicographically. Their components are read off a wait: its turn, an index of its element, or
//! an index of its CTA, each ascending or descending ([`Component`]).

use serde::Deserialize;
use serde::Serialize;

use super::grid;
use super::grid::Occurrence;
use super::grid::Over;
use super::grid::Residency;
use super::grid::Setting;
use super::obligation::Obligation;
use super::program::Event;
use super::program::EventKind;
use super::program::Unsupported;
use super::term;
use super::term::Term;
use super::translate::Env;
use crate::protocol::LaunchOrder;
use crate::protocol::Protocol;

/// The artefact, which the search has found. This module derives the obligations from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turns {
    /// The rank of a wait, the most significant component first.
    pub rank: Vec<Component>,
    /// Why a CTA that has not started yet does no harm.
    pub residency: Residency,
    /// Whether parameters with a listed set of values are treated one combination at a time.
    pub split: bool,
}

/// A component of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// The number that is read off the wait.
    pub of: Reading,
    /// Whether larger readings rank lower.
    pub descending: bool,
}

/// A number that a rank reads off a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// The CTA's turn.
    Turn,
    /// An index of the element, by position; 0 if the element has fewer indices.
    Element(usize),
    /// An index of the CTA, by position.
    Member(usize),
}

/// Derives every obligation of the rule for this protocol and artefact.
///
/// # Errors
///
/// Refuses a protocol outside the rule's side conditions and an artefact that does not fit it.
pub fn obligations(protocol: &Protocol, turns: &Turns) -> Result<Vec<Obligation>, Unsupported> {
    grid::derived(protocol, turns.split, turns, |rule| rule.derive())
}

type Rule<'a> = Over<'a, Turns>;

impl<'a> Rule<'a> {
    fn derive(&mut self) -> Result<(), Unsupported> {
        self.everything_well_defined()?;
        self.some_resident()?;
        if self.artefact.residency == Residency::WholeGrid {
            self.whole_grid()?;
        }
        for add in self.adds() {
            self.adds_one(add)?;
            self.guarded(add)?;
            for other in self.adds_after(add) {
                self.once(add, other)?;
            }
        }
        for wait in self.waits() {
            self.followed(wait)?;
            self.has_predecessor(wait)?;
            for other in self.waits_on(wait) {
                if other.stmt > wait.stmt {
                    self.once(wait, other)?;
                }
                self.distinct(wait, other)?;
                self.descends(wait, other)?;
            }
        }
        Ok(())
    }

    fn adds(&self) -> Vec<&'a Event> {
        let adds = |e: &&Event| matches!(e.kind, EventKind::Add { .. });
        self.program.events.iter().filter(adds).collect()
    }

    fn adds_after(&self, add: &Event) -> Vec<&'a Event> {
        let later = |e: &&Event| e.cell.object == add.cell.object && e.stmt > add.stmt;
        self.adds().into_iter().filter(later).collect()
    }

    fn waits_on(&self, event: &Event) -> Vec<&'a Event> {
        self.waits()
            .into_iter()
            .filter(|e| e.cell.object == event.cell.object)
            .collect()
    }

    /// The executions of these events by a CTA that touch an element.
    fn all_located(
        &self,
        setting: &mut Setting<'_>,
        events: &[&'a Event],
        member: &[Term],
        element: &[Term],
    ) -> Result<Vec<(&'a Event, Env, Term)>, Unsupported> {
        let mut all = Vec::new();
        for event in events {
            let (env, happens) =
                self.located(setting, event, member, element)?.ok_or_else(|| {
                    Unsupported::at(
                        event.span,
                        "an operation whose loop variables cannot be read off the element it touches",
                    )
                })?;
            all.push((*event, env, happens));
        }
        Ok(all)
    }

    fn turn(
        &self,
        setting: &mut Setting<'_>,
        wait: &Event,
        env: &Env,
        element: &[Term],
    ) -> Result<Term, Unsupported> {
        let value = grid::wait_value(setting, wait, env)?;
        let initial = self.initial(setting, wait, element)?;
        Ok(term::sub(&value, &initial))
    }

    fn adds_one(&mut self, add: &Event) -> Result<(), Unsupported> {
        let mut setting = self.setting()?;
        let c = self.member(&mut setting, "c")?;
        let at_add = self.occurrence(&mut setting, add, &c, "c")?;
        let amount = grid::amount(&mut setting, add, &at_add.env)?;
        let meaning = format!("`{}` adds exactly 1", self.quote(add.span));
        let name = format!("adds_one_s{}", add.stmt.0);
        self.conclude(name, meaning, setting, term::eq(&amount, &term::int(1)))
    }

    /// Condition 2 for two different statements. One statement touches an element at most once by construction.
    fn once(&mut self, first: &'a Event, second: &'a Event) -> Result<(), Unsupported> {
        let mut setting = self.setting()?;
        let c = self.member(&mut setting, "c")?;
        let at_first = self.occurrence(&mut setting, first, &c, "c")?;
        let located = self.all_located(&mut setting, &[second], &c, &at_first.element)?;
        let goal = term::and(
            located
                .into_iter()
                .map(|(_, _, happens)| term::not(happens)),
        );
        let meaning = format!(
            "`{}` and `{}` are never about the same element",
            self.quote(first.span),
            self.quote(second.span)
        );
        let name = format!("once_s{}_s{}", first.stmt.0, second.stmt.0);
        self.conclude(name, meaning, setting, goal)
    }

    fn guarded(&mut self, add: &Event) -> Result<(), Unsupported> {
        let mut setting = self.setting()?;
        let c = self.member(&mut setting, "c")?;
        let at_add = self.occurrence(&mut setting, add, &c, "c")?;
        let waits = self.waits_on(add);
        let mut guards = Vec::new();
        for (wait, env, happens) in self.all_located(&mut setting, &waits, &c, &at_add.element)? {
            let first = self.precedes(&mut setting, (wait, &env), (add, &at_add.env))?;
            guards.push(term::and([happens, first]));
        }
        let meaning = format!(
            "`{}` is guarded by a wait on the same element",
            self.quote(add.span)
        );
        let name = format!("guarded_s{}", add.stmt.0);
        self.conclude(name, meaning, setting, term::or(guards))
    }

    fn followed(&mut self, wait: &Event) -> Result<(), Unsupported> {
        let mut setting = self.setting()?;
        let c = self.member(&mut setting, "c")?;
        let at_wait = self.occurrence(&mut setting, wait, &c, "c")?;
        let adds = self.adds_to(wait);
        let mut later = Vec::new();
        for (add, env, happens) in self.all_located(&mut setting, &adds, &c, &at_wait.element)? {
            let after = self.precedes(&mut setting, (wait, &at_wait.env), (add, &env))?;
            later.push(term::and([happens, after]));
        }
        let meaning = format!(
            "`{}` is followed by an addition of its own",
            self.quote(wait.span)
        );
        let name = format!("followed_s{}", wait.stmt.0);
        self.conclude(name, meaning, setting, term::or(later))
    }

    fn distinct(&mut self, wait: &Event, other: &Event) -> Result<(), Unsupported> {
        let mut setting = self.setting()?;
        let c = self.member(&mut setting, "c")?;
        let k = self.member(&mut setting, "k")?;
        let at_c = self.occurrence(&mut setting, wait, &c, "c")?;
        let at_k = self.occurrence(&mut setting, other, &k, "k")?;
        setting.facts.push(grid::same_element(&at_c, &at_k));
        let same = term::and(c.iter().zip(&k).map(|(x, y)| term::eq(x, y)));
        setting.facts.push(term::not(same));
        let turn_c = self.turn(&mut setting, wait, &at_c.env, &at_c.element)?;
        let turn_k = self.turn(&mut setting, other, &at_k.env, &at_k.element)?;
        let goal = term::not(term::eq(&turn_c, &turn_k));
        let meaning = format!(
            "no two CTAs have the same turn at `{}`",
            self.quote(wait.span)
        );
        let name = format!("distinct_s{}_s{}", wait.stmt.0, other.stmt.0);
        self.conclude(name, meaning, setting, goal)
    }

    /// Condition 5: one of the neighbours of `c` along an index, perhaps around its end, has the
    /// turn before.
    fn has_predecessor(&mut self, wait: &Event) -> Result<(), Unsupported> {
        let mut setting = self.setting()?;
        let c = self.member(&mut setting, "c")?;
        let at_wait = self.occurrence(&mut setting, wait, &c, "c")?;
        let turn = self.turn(&mut setting, wait, &at_wait.env, &at_wait.element)?;
        let wanted = term::sub(&turn, &term::int(1));
        let waits = self.waits_on(wait);
        let mut found = Vec::new();
        for neighbour in self.neighbours(&mut setting, &c)? {
            for (other, env, happens) in
                self.all_located(&mut setting, &waits, &neighbour, &at_wait.element)?
            {
                let there = self.turn(&mut setting, other, &env, &at_wait.element)?;
                let exists = self.in_grid(&mut setting, &neighbour)?;
                found.push(term::and([exists, happens, term::eq(&there, &wanted)]));
            }
        }
        let meaning = format!(
            "some CTA has the turn before that of `{}`",
            self.quote(wait.span)
        );
        let name = format!("predecessor_s{}", wait.stmt.0);
        let first = term::eq(&turn, &term::int(0));
        found.push(first);
        let goal = term::and([term::le(&term::int(0), &turn), term::or(found)]);
        self.conclude(name, meaning, setting, goal)
    }

    fn neighbours(
        &self,
        setting: &mut Setting<'_>,
        c: &[Term],
    ) -> Result<Vec<Vec<Term>>, Unsupported> {
        let mut all = Vec::new();
        for (at, index) in self.role.indices.iter().enumerate() {
            let extent = setting.terms.expr(&index.extent, &Env::new())?;
            let one = term::int(1);
            for x in [
                term::sub(&c[at], &one),
                term::sum([c[at].clone(), one.clone()]),
                term::sub(&extent, &one),
                term::int(0),
            ] {
                let mut neighbour = c.to_vec();
                neighbour[at] = x;
                all.push(neighbour);
            }
        }
        Ok(all)
    }

    fn in_grid(&self, setting: &mut Setting<'_>, member: &[Term]) -> Result<Term, Unsupported> {
        let mut facts = Vec::new();
        for (index, value) in self.role.indices.iter().zip(member) {
            let extent = setting.terms.expr(&index.extent, &Env::new())?;
            facts.push(term::within(&term::int(0), value, &extent));
        }
        Ok(term::and(facts))
    }

    /// Conditions 6 and 7 for a wait of `c` and the statement by which `p` waits on the same element.
    fn descends(&mut self, wait: &'a Event, before: &'a Event) -> Result<(), Unsupported> {
        for add in self.adds_to(wait) {
            for blocking in self.waits() {
                let mut setting = self.setting()?;
                let c = self.member(&mut setting, "c")?;
                let p = self.member(&mut setting, "p")?;
                let at_c = self.occurrence(&mut setting, wait, &c, "c")?;
                let at_p = self.occurrence(&mut setting, before, &p, "p")?;
                setting.facts.push(grid::same_element(&at_c, &at_p));
                let turn_c = self.turn(&mut setting, wait, &at_c.env, &at_c.element)?;
                let turn_p = self.turn(&mut setting, before, &at_p.env, &at_p.element)?;
                setting
                    .facts
                    .push(term::eq(&turn_p, &term::sub(&turn_c, &term::int(1))));
                let located = self.all_located(&mut setting, &[add], &p, &at_c.element)?;
                let at_block = self.occurrence(&mut setting, blocking, &p, "b")?;
                for (add, env, happens) in located {
                    // A wait that is not certainly after the addition may come before it.
                    let after =
                        self.precedes(&mut setting, (add, &env), (blocking, &at_block.env))?;
                    setting.facts.push(term::and([happens, term::not(after)]));
                }
                let lower = self.rank(&mut setting, blocking, &p, &at_block)?;
                let higher = self.rank(&mut setting, wait, &c, &at_c)?;
                let mut goal = vec![grid::lexicographic(&lower, &higher)];
                if self.artefact.residency == Residency::LaunchOrder {
                    goal.push(self.starts_before(&p, &c)?);
                }
                let meaning = format!(
                    "whoever has the turn before that of `{}` is blocked at a lower rank only",
                    self.quote(wait.span)
                );
                let name = format!(
                    "descends_s{}_s{}_s{}_s{}",
                    wait.stmt.0, before.stmt.0, add.stmt.0, blocking.stmt.0
                );
                self.conclude(name, meaning, setting, term::and(goal))?;
            }
        }
        Ok(())
    }

    fn rank(
        &self,
        setting: &mut Setting<'_>,
        wait: &Event,
        member: &[Term],
        at: &Occurrence,
    ) -> Result<Vec<Term>, Unsupported> {
        let mut rank = Vec::new();
        for component in &self.artefact.rank {
            let reading = match component.of {
                Reading::Turn => self.turn(setting, wait, &at.env, &at.element)?,
                Reading::Element(index) => at
                    .element
                    .get(index)
                    .cloned()
                    .unwrap_or_else(|| term::int(0)),
                Reading::Member(index) => member.get(index).cloned().ok_or_else(|| {
                    Unsupported::whole("the rank names an index the grid does not have")
                })?,
            };
            rank.push(if component.descending {
                term::sub(&term::int(0), &reading)
            } else {
                reading
            });
        }
        Ok(rank)
    }

    fn starts_before(&self, a: &[Term], b: &[Term]) -> Result<Term, Unsupported> {
        let LaunchOrder::Sorted(keys) = &self.launch()?.order else {
            return Err(Unsupported::at(
                self.role.span,
                "CTAs may start in any order",
            ));
        };
        let signed = |member: &[Term]| -> Vec<Term> {
            let sign = |x: &Term, down: bool| {
                if down {
                    term::sub(&term::int(0), x)
                } else {
                    x.clone()
                }
            };
            keys.iter()
                .map(|key| sign(&member[key.index], key.descending))
                .collect()
        };
        Ok(grid::lexicographic(&signed(a), &signed(b)))
    }
}
