//! How an obligation is stated: what it may assume, what has to follow, and under which name.
//!
//! It may assume the domain of the parameters and the assumptions of the text. If the protocol has copies, such as CTAs, it
//! may assume that there is at least one. An obligation about a member may also assume that the member exists, and that it
//! stands at the operation in question.

use super::Rule;
use crate::certificate::cut::flow::Claim;
use crate::certificate::cut::state::Setting;
use crate::certificate::exact;
use crate::certificate::obligation::Obligation;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;
use crate::certificate::translate::Requirement;
use crate::certificate::translate::Translator;
use crate::protocol::Expr;

/// Whatever expressions need to be well defined.
pub fn all_needed(needed: Vec<Requirement>) -> Term {
    term::and(needed.into_iter().map(|r| {
        let given = term::and(r.given);
        term::or([term::not(given), r.needed])
    }))
}

impl<'a> Rule<'a> {
    /// The domain and the assumptions.
    pub(super) fn anywhere(&self) -> Result<Setting<'a>, Unsupported> {
        let mut terms = Translator::new(self.protocol, &self.fixed);
        let mut facts = terms.domain();
        for assumption in &self.protocol.assumptions {
            facts.push(terms.expr(&assumption.condition, &Env::new())?);
        }
        let setting = Setting::new(self.protocol, terms, facts);
        let private = self.copies.objects.keys().copied();
        Ok(setting.with_private(private.filter(|_| self.copies.shares)))
    }

    /// The domain and the assumptions, where there is somebody.
    pub fn setting(&self) -> Result<Setting<'a>, Unsupported> {
        let mut setting = self.anywhere()?;
        if let Some(extent) = &self.copies.extent
            && !self.copies.shares
        {
            // Without a copy there is nobody, and nothing to show.
            let extent = self.value(&mut setting, extent)?;
            setting.facts.push(term::le(&term::int(1), &extent));
        }
        Ok(setting)
    }

    /// The same for a class that has members.
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

    /// The same for a member at one of its operations, and its iterations there.
    pub fn at_operation(
        &self,
        class: usize,
        site: usize,
    ) -> Result<(Setting<'a>, Env), Unsupported> {
        let mut setting = self.setting_of(class)?;
        let env = setting.member_at(&self.classes[class], site, "at")?;
        Ok((setting, env))
    }

    /// The same for a member where something is claimed of its program.
    pub(super) fn place(
        &self,
        class: usize,
        claim: &Claim,
    ) -> Result<(Setting<'a>, Env), Unsupported> {
        let mut setting = self.setting_of(class)?;
        let (env, inside) = setting.iterations(&self.classes[class], &claim.path, "at")?;
        setting.facts.extend(inside);
        let conditions = setting.conditions(&claim.path, &env)?;
        setting.facts.extend(conditions);
        Ok((setting, env))
    }

    /// The value of an expression over parameters.
    pub fn value(&self, setting: &mut Setting<'a>, expr: &Expr) -> Result<Term, Unsupported> {
        setting.terms.expr(&self.fix(expr), &Env::new())
    }

    pub fn conclude(
        &mut self,
        name: String,
        meaning: String,
        mut setting: Setting<'a>,
        goal: Term,
    ) -> Result<(), Unsupported> {
        Unsupported::unless_in_time()?;
        if goal == term::boolean(true) {
            return Ok(());
        }
        let mut hypotheses = setting.facts;
        hypotheses.extend(setting.terms.axioms()?);
        let name = format!("{}{name}", self.prefix);
        let mut unique = name.clone();
        let mut nth = 1_usize;
        while self.all.iter().any(|o| o.name == unique) {
            nth = exact::next(nth);
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
}
