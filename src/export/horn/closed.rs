//! Obligations about expressions: they are well defined, in range, and equal to their closed forms.

use super::cases::Case;
use super::fold;
use super::shape::Family;
use super::shape::Group;
use super::shape::Op;
use super::shape::OpKind;
use super::shape::Periodic;
use super::side_conditions::Rule;
use super::system;
use super::system::System;
use super::walk;
use super::walk::Phase;
use super::walk::RawKind;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;
use crate::protocol::Expr;
use crate::protocol::ObjectKind;
use crate::protocol::Protocol;
use crate::protocol::Span;

/// A place in a program: the facts that hold there, and the meaning of its names.
struct Setting {
    facts: Vec<Term>,
    env: Env,
    /// The round, as a term.
    round: Term,
}

impl<'p> Rule<'p> {
    /// Conditions 1 and 2 of the rule.
    pub(super) fn closed_forms(&mut self, case: &Case) -> Result<(), Unsupported> {
        self.declarations(case)?;
        for (nth, group) in case.groups.iter().enumerate() {
            self.bounds(case, group)?;
            self.evaluations(case, nth)?;
            self.carried(case, nth)?;
            let phases = [
                (Phase::Before, &group.before),
                (Phase::Round, &group.round),
                (Phase::After, &group.after),
            ];
            for (phase, ops) in phases {
                for op in ops {
                    self.closed_op(case, nth, phase, op)?;
                }
            }
        }
        for component in &case.components {
            self.same_rounds(case, &component.groups)?;
        }
        Ok(())
    }

    /// All groups of the case as one system, even if they share nothing. Only its translator is used.
    fn whole(&self, case: &Case) -> Result<System<'p>, Unsupported> {
        System::new(self.protocol, &case.fixed, Vec::new(), Vec::new(), 1)
    }

    fn declarations(&mut self, case: &Case) -> Result<(), Unsupported> {
        let protocol = self.protocol;
        // An assumption is evaluated only if the ones before it hold.
        for nth in 0..protocol.assumptions.len() {
            let mut system = self.whole(case)?;
            let mut hypotheses = system.terms.domain();
            for earlier in &protocol.assumptions[..nth] {
                hypotheses.push(system.terms.expr(&earlier.condition, &Env::new())?);
            }
            let goal = well_defined(
                &mut system,
                &protocol.assumptions[nth].condition,
                &Env::new(),
            )?;
            let meaning = "an assumption is well defined".to_owned();
            self.conclude("well_defined", meaning, &mut system, hypotheses, goal)?;
        }
        let mut exprs: Vec<&Expr> = Vec::new();
        exprs.extend(protocol.objects.iter().flat_map(|o| &o.extents));
        exprs.extend(
            protocol
                .roles
                .iter()
                .flat_map(|r| &r.indices)
                .map(|i| &i.extent),
        );
        for object in &protocol.objects {
            match &object.kind {
                ObjectKind::Mbarrier { arrivals, .. } | ObjectKind::Barrier { arrivals } => {
                    exprs.push(arrivals);
                }
                ObjectKind::Pool { capacity, .. } => exprs.push(capacity),
                ObjectKind::Semaphore(crate::protocol::Initial::Value(value)) => exprs.push(value),
                ObjectKind::Semaphore(crate::protocol::Initial::Any) | ObjectKind::Named => {}
            }
        }
        for expr in exprs {
            let mut system = self.whole(case)?;
            let hypotheses = system.facts.clone();
            let goal = well_defined(&mut system, expr, &Env::new())?;
            let meaning = "a declaration is well defined".to_owned();
            self.conclude("well_defined", meaning, &mut system, hypotheses, goal)?;
        }
        for object in &protocol.objects {
            // An expression that no statement uses has to be well defined, too.
            let (least, number, what) = match &object.kind {
                ObjectKind::Mbarrier { arrivals, .. } | ObjectKind::Barrier { arrivals } => {
                    (1, arrivals, "expects at least one arrival")
                }
                ObjectKind::Pool { capacity, .. } => (0, capacity, "does not start below zero"),
                ObjectKind::Semaphore(_) | ObjectKind::Named => continue,
            };
            let mut system = self.whole(case)?;
            let mut hypotheses = system.facts.clone();
            for extent in &object.extents {
                let extent = system.terms.expr(extent, &Env::new())?;
                hypotheses.push(term::le(&term::int(1), &extent));
            }
            let number = system.terms.expr(number, &Env::new())?;
            let goal = term::le(&term::int(least), &number);
            let meaning = format!("`{}` {what}", object.name);
            self.conclude("expects", meaning, &mut system, hypotheses, goal)?;
        }
        Ok(())
    }

    /// Obligations that the bounds with which a group's index is compared ascend, and that the group lies between two
    /// of them.
    fn bounds(&mut self, case: &Case, group: &Group) -> Result<(), Unsupported> {
        let Some(open) = &group.part.open else {
            return Ok(());
        };
        if open.nth > 0 {
            return Ok(());
        }
        let mut system = self.whole(case)?;
        let hypotheses = system.facts.clone();
        let mut goals = Vec::new();
        let mut terms = Vec::new();
        for bound in &open.bounds {
            goals.push(well_defined(&mut system, bound, &Env::new())?);
            terms.push(system.terms.expr(bound, &Env::new())?);
        }
        goals.extend(terms.windows(2).map(|pair| term::le(&pair[0], &pair[1])));
        let goal = if terms.len() > 1 {
            term::and(goals)
        } else {
            term::boolean(true)
        };
        let meaning = format!(
            "the values that `{}` is compared with ascend",
            self.protocol.vars[open.var.0].name
        );
        self.conclude("bounds", meaning, &mut system, hypotheses, goal)
    }

    /// The facts that hold in a phase of a group's program.
    fn at(
        &self,
        system: &mut System<'p>,
        group: &Group,
        phase: Phase,
    ) -> Result<Setting, Unsupported> {
        let mut facts = system.facts.clone();
        let size = system.terms.expr(&group.part.size, &Env::new())?;
        facts.push(term::le(&term::int(1), &size));
        let (Phase::Round | Phase::After, Some(rounds)) = (phase, &group.program.rounds) else {
            return Ok(Setting {
                facts,
                env: Env::new(),
                round: term::int(0),
            });
        };
        let length = system.terms.expr(&walk::length(rounds), &Env::new())?;
        let round = if phase == Phase::Round {
            let round = system.terms.constant("round");
            facts.push(term::within(&term::int(0), &round, &length));
            round
        } else {
            length
        };
        let env = environment(group, &round);
        Ok(Setting { facts, env, round })
    }

    fn evaluations(&mut self, case: &Case, nth: usize) -> Result<(), Unsupported> {
        let group = &case.groups[nth];
        for evaluation in &group.program.evaluations {
            let mut system = self.whole(case)?;
            let mut setting = self.at(&mut system, group, evaluation.phase)?;
            given(&mut system, &mut setting, &evaluation.given)?;
            let goal = well_defined(&mut system, &evaluation.expr, &setting.env)?;
            let meaning = format!(
                "`{}` is well defined",
                quote(self.protocol, evaluation.span)
            );
            self.conclude("well_defined", meaning, &mut system, setting.facts, goal)?;
        }
        Ok(())
    }

    fn carried(&mut self, case: &Case, nth: usize) -> Result<(), Unsupported> {
        let group = &case.groups[nth];
        let Some(rounds) = &group.program.rounds else {
            return Ok(());
        };
        for ((var, first, next), (_, form)) in rounds.carried.iter().zip(&group.carried) {
            let mut system = self.whole(case)?;
            let setting = self.at(&mut system, group, Phase::Round)?;
            let next = system.terms.expr(next, &setting.env)?;
            let after = term::sum([setting.round.clone(), term::int(1)]);
            let goal = term::and([
                term::eq(&term::int(*first), &system::periodic(form, &term::int(0))),
                term::eq(&next, &system::periodic(form, &after)),
            ]);
            let meaning = format!(
                "`{}` is {} in round r of {}",
                self.protocol.vars[var.0].name,
                words(form),
                group.name
            );
            self.conclude("carried", meaning, &mut system, setting.facts, goal)?;
        }
        Ok(())
    }

    fn closed_op(
        &mut self,
        case: &Case,
        nth: usize,
        phase: Phase,
        op: &Op,
    ) -> Result<(), Unsupported> {
        let group = &case.groups[nth];
        let family = &case.families[op.family];
        let mut system = self.whole(case)?;
        let mut setting = self.at(&mut system, group, phase)?;
        given(&mut system, &mut setting, &op.given)?;
        let object = &self.protocol.objects[family.object.0];
        let mut goals = Vec::new();
        let element = element(family, op, &setting.round);
        for ((index, wanted), extent) in op.raw.index.iter().zip(&element).zip(&object.extents) {
            let index = system.terms.expr(index, &setting.env)?;
            let extent = system.terms.expr(extent, &Env::new())?;
            goals.push(term::eq(&index, wanted));
            goals.push(term::within(&term::int(0), wanted, &extent));
        }
        match (&op.raw.kind, &op.kind) {
            (RawKind::Arrive(count), OpKind::Arrive(used)) => {
                let count = system.terms.expr(count, &setting.env)?;
                let used = system.terms.expr(used, &Env::new())?;
                if count != term::int(1) {
                    goals.push(term::le(&term::int(1), &count));
                }
                goals.push(term::eq(&count, &used));
            }
            (RawKind::Wait(parity), OpKind::Wait(table)) => {
                let parity = system.terms.expr(parity, &setting.env)?;
                let form = Periodic {
                    table: table.clone(),
                    growth: 0,
                };
                let wanted = system::periodic(&form, &setting.round);
                goals.push(term::eq(&parity, &wanted));
            }
            (RawKind::Add(amount), OpKind::Add(used)) => {
                let amount = system.terms.expr(amount, &setting.env)?;
                let used = system.terms.expr(used, &Env::new())?;
                goals.push(term::le(&term::int(0), &amount));
                goals.push(term::eq(&amount, &used));
            }
            (RawKind::Compare(asked, value), OpKind::Compare(used, first)) if asked == used => {
                let value = system.terms.expr(value, &setting.env)?;
                let first = system.terms.expr(first, &Env::new())?;
                let growth = system::growth(&mut system.terms, &case.groups, op.family)?;
                let grown = system.terms.product(&growth, &setting.round);
                goals.push(term::eq(&value, &term::sum([first, grown])));
            }
            _ => return Err(Unsupported::at(op.span, "an operation of two kinds")),
        }
        goals.retain(|goal| *goal != term::boolean(true));
        let meaning = format!(
            "`{}` of {} names the element, parity and value that it is taken to name",
            quote(self.protocol, op.span),
            group.name
        );
        self.conclude(
            "closed",
            meaning,
            &mut system,
            setting.facts,
            term::and(goals),
        )
    }

    fn same_rounds(&mut self, case: &Case, groups: &[Group]) -> Result<(), Unsupported> {
        let lengths: Vec<Expr> = groups
            .iter()
            .filter(|group| !group.round.is_empty())
            .filter_map(|group| group.program.rounds.as_ref().map(walk::length))
            .collect();
        let mut system = self.whole(case)?;
        let hypotheses = system.facts.clone();
        let mut goals = Vec::new();
        for pair in lengths.windows(2) {
            if pair[0] != pair[1] {
                let first = system.terms.expr(&pair[0], &Env::new())?;
                let second = system.terms.expr(&pair[1], &Env::new())?;
                goals.push(term::eq(&first, &second));
            }
        }
        let meaning = "all loops have the same number of rounds".to_owned();
        self.conclude("rounds", meaning, &mut system, hypotheses, term::and(goals))
    }
}

fn environment(group: &Group, round: &Term) -> Env {
    let mut env = Env::new();
    if let Some(rounds) = &group.program.rounds {
        let value = term::sum([term::int(rounds.lo), round.clone()]);
        env.insert(rounds.var, value);
        for (var, form) in &group.carried {
            env.insert(*var, system::periodic(form, round));
        }
    }
    env
}

fn given(
    system: &mut System<'_>,
    setting: &mut Setting,
    given: &[Expr],
) -> Result<(), Unsupported> {
    for condition in given {
        let fact = system.terms.expr(condition, &setting.env)?;
        setting.facts.push(fact);
    }
    Ok(())
}

/// The element an operation works on in a round, in closed form.
fn element(family: &Family, op: &Op, round: &Term) -> Vec<Term> {
    let indices = family.first.iter().enumerate();
    indices
        .map(|(at, first)| {
            if family.moving != Some(at) {
                return term::int(*first);
            }
            let moved = term::sum([round.clone(), term::int(op.offset)]);
            let place = term::apply("mod", &[moved, term::int(family.size)]);
            term::sum([term::int(*first), place])
        })
        .collect()
}

fn well_defined(system: &mut System<'_>, expr: &Expr, env: &Env) -> Result<Term, Unsupported> {
    if fold::counts(expr) {
        return Err(Unsupported::whole(
            "a pattern or a count where members are counted",
        ));
    }
    let mut needed = Vec::new();
    system.terms.well_defined(expr, env, &[], &mut needed)?;
    Ok(term::and(needed.into_iter().map(|requirement| {
        let given = term::and(requirement.given);
        term::or([term::not(given), requirement.needed])
    })))
}

fn words(form: &Periodic) -> String {
    let values: Vec<String> = form.table.iter().map(i64::to_string).collect();
    let period = form.table.len();
    let table = match form.table.as_slice() {
        [one] => one.to_string(),
        _ => format!("[{}][r % {period}]", values.join(", ")),
    };
    match form.growth {
        0 => table,
        growth => format!("{table} + {growth} * (r / {period})"),
    }
}

fn quote(protocol: &Protocol, span: Span) -> String {
    let text = protocol.source.get(span.start..span.end).unwrap_or("");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
