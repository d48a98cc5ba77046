//! Conditions 1 and 2 for programs: what a class evaluates is defined, its local variables have their
//! closed forms, and the element and the operands of every operation are what the semantics ask for.
//!
//! Each is a statement about one member anywhere in its program, in any iteration, under the conditions of
//! the branches around it; only that uses of one named barrier give one count is about two.

use super::Rule;
use crate::certificate::cut::artefact::Shows;
use crate::certificate::cut::flow::Kind;
use crate::certificate::cut::state;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::translate::Env;
use crate::protocol::Expr;
use crate::protocol::ObjectKind;

impl<'a> Rule<'a> {
    pub(super) fn claims(&mut self, class: usize) -> Result<(), Unsupported> {
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

    /// An operation's element exists, and its operands are what the semantics ask for.
    pub(super) fn operation(&mut self, class: usize, site: usize) -> Result<(), Unsupported> {
        let protocol = self.protocol;
        let this = &self.classes[class].flow.sites[site];
        let object = &protocol.objects[this.object.0];
        let (mut setting, env) = self.at_operation(class, site)?;
        let mut goals = Vec::new();
        // The number of the kind stands for those of its copies, which have an obligation of their own.
        let kind = self.copies.objects.get(&this.object.0);
        let kind = kind.filter(|_| self.copies.shares);
        for (at, (extent, index)) in object.extents.iter().zip(&this.index).enumerate() {
            if kind == Some(&at) {
                continue;
            }
            let extent = self.value(&mut setting, extent)?;
            let index = setting.terms.expr(index, &env)?;
            goals.push(term::within(&term::int(0), &index, &extent));
        }
        let zero = term::int(0);
        match (&this.kind, &object.kind) {
            (Kind::Arrive { weight, .. }, ObjectKind::Mbarrier { .. }) => {
                let weight = setting.terms.expr(weight, &env)?;
                goals.push(term::le(&term::int(1), &weight));
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
    pub(super) fn counts_agree(&mut self) -> Result<(), Unsupported> {
        let mut uses: Vec<(usize, usize)> = Vec::new();
        for (class, this) in self.classes.iter().enumerate() {
            for (site, at) in this.flow.sites.iter().enumerate() {
                if matches!(at.kind, Kind::Register { .. }) {
                    uses.push((class, site));
                }
            }
        }
        for (nth, &(class, site)) in uses.iter().enumerate() {
            for &(other, at) in uses.iter().skip(nth).skip(1) {
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
}
