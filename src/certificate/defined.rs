//! Obligations that every expression which the text evaluates is defined. They are derived from the original
//! protocol, for every rule.
//!
//! Example: a rule may leave out `if n / d > 0 { accumulate t }`, because nobody waits for it. The kernel still
//! evaluates `n / d`, so `d >= 1` has to hold.
//!
//! In general, rules rewrite the text before they state their obligations. They leave out statements that nobody
//! waits for, rewrite loops, and fold expressions. So definedness is stated here, once, about the original text. This
//! covers declarations with the ranges of their amounts, definitions of patterns, and every expression of a program
//! under the conditions of the branches and loops around it. An expression counts as evaluated even if its member may
//! block before it, as in the interpreter.
//!
//! A local variable stands for its value. If a loop changes it, its value is unknown here, but rules know closed
//! forms of such variables. Suppose that an expression depends on such a variable. If the rule keeps its statement
//! unchanged (`kept`), the rule states the definedness of the expression. Otherwise the expression has to be defined
//! for any value of the variable. Loops that are left early are treated in the same way: code behind an exit, in
//! later iterations, is checked as if no member had left before.
//!
//! There is no obligation if the form of an expression and the domain show that it is defined, for example if a
//! divisor is never below 1. Expressions about data are not covered here. They are evaluated for some properties
//! only, and the rules for these properties state their definedness.

use std::collections::BTreeSet;
use std::collections::HashMap;
use std::collections::HashSet;

use super::cut::algebra;
use super::cut::break_elimination;
use super::cut::domain::never_negative;
use super::cut::statements;
use super::exact;
use super::obligation::Obligation;
use super::program::Unsupported;
use super::program::free_vars;
use super::term;
use super::term::Term;
use super::translate::Env;
use super::translate::Translator;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::Initial;
use crate::protocol::Iteration;
use crate::protocol::ObjectKind;
use crate::protocol::Protocol;
use crate::protocol::Resident;
use crate::protocol::Role;
use crate::protocol::Span;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::VarId;

/// The obligations that everything is defined. `kept` says whether the rule keeps a statement unchanged.
///
/// # Errors
///
/// An expression that has no term.
pub fn obligations(
    protocol: &Protocol,
    kept: &dyn Fn(&Stmt) -> bool,
) -> Result<Vec<Obligation>, Unsupported> {
    let mut walk = Walk {
        protocol,
        kept,
        next: protocol.vars.len(),
        open: BTreeSet::new(),
        all: Vec::new(),
    };
    walk.declarations()?;
    for role in &protocol.roles {
        walk.role(role)?;
    }
    Ok(walk.all)
}

struct Walk<'a> {
    protocol: &'a Protocol,
    kept: &'a dyn Fn(&Stmt) -> bool,
    /// The first number that no variable has.
    next: usize,
    /// Names for values that are unknown here.
    open: BTreeSet<VarId>,
    all: Vec<Obligation>,
}

/// A place of a program.
#[derive(Clone, Default)]
struct Place {
    /// Local variables.
    values: HashMap<VarId, Expr>,
    /// The conditions that hold there.
    facts: Vec<Expr>,
    /// Whether it comes after an exit of a loop around it, in an earlier iteration or in the loop itself.
    loose: bool,
}

impl Walk<'_> {
    fn declarations(&mut self) -> Result<(), Unsupported> {
        let protocol = self.protocol;
        for nth in 0..protocol.assumptions.len() {
            let (earlier, this) = (&protocol.assumptions[..nth], &protocol.assumptions[nth]);
            let facts = earlier.iter().map(|a| a.condition.clone()).collect();
            self.conclude(facts, &this.condition, "an assumption".to_owned())?;
        }
        let mut all: Vec<(&Expr, Span)> = Vec::new();
        for object in &protocol.objects {
            all.extend(object.extents.iter().map(|e| (e, object.span)));
            match &object.kind {
                ObjectKind::Semaphore(Initial::Value(value)) => all.push((value, object.span)),
                ObjectKind::Mbarrier { arrivals, .. } | ObjectKind::Barrier { arrivals } => {
                    all.push((arrivals, object.span));
                }
                ObjectKind::Pool { capacity, .. } => all.push((capacity, object.span)),
                ObjectKind::Semaphore(Initial::Any) | ObjectKind::Named => {}
            }
        }
        for role in &protocol.roles {
            all.extend(role.indices.iter().map(|i| (&i.extent, role.span)));
            let resident = role.launch.as_ref().map(|launch| &launch.resident);
            if let Some(Resident::AtMost(limit)) = resident {
                all.push((limit, role.span));
            }
        }
        for pattern in &protocol.patterns {
            all.extend(pattern.extents.iter().map(|e| (e, pattern.span)));
        }
        for (expr, span) in all {
            self.state(&Place::default(), None, expr, span)?;
        }
        self.ranges()?;
        for pattern in &protocol.patterns {
            if let Some((coordinates, condition)) = &pattern.definition {
                let mut place = Place::default();
                for (var, extent) in coordinates.iter().zip(&pattern.extents) {
                    place.facts.extend(within(*var, &Expr::Int(0), extent));
                }
                self.state(&place, None, condition, pattern.span)?;
            }
        }
        Ok(())
    }

    /// Declared amounts are in range if there are elements. This also holds for objects that no program uses.
    fn ranges(&mut self) -> Result<(), Unsupported> {
        let protocol = self.protocol;
        for object in &protocol.objects {
            let (amount, least) = match &object.kind {
                ObjectKind::Mbarrier { arrivals, .. } | ObjectKind::Barrier { arrivals } => {
                    (arrivals, 1)
                }
                ObjectKind::Pool { capacity, .. } => (capacity, 0),
                ObjectKind::Semaphore(_) | ObjectKind::Named => continue,
            };
            let one = |e: &Expr| Expr::binary(BinaryOp::Ge, e.clone(), Expr::Int(1));
            let exist = object.extents.iter().map(one).collect();
            let what = format!(
                "what `{}` is declared with is at least {least}",
                object.name
            );
            self.at_least(exist, amount, least, what)?;
        }
        for role in &protocol.roles {
            let resident = role.launch.as_ref().map(|launch| &launch.resident);
            if let Some(Resident::AtMost(limit)) = resident {
                let what = format!("at least one CTA of `{}` is resident", role.name);
                self.at_least(Vec::new(), limit, 1, what)?;
            }
        }
        Ok(())
    }

    fn role(&mut self, role: &Role) -> Result<(), Unsupported> {
        let mut place = Place::default();
        for index in &role.indices {
            let facts = within(index.var, &Expr::Int(0), &index.extent);
            place.facts.extend(facts);
        }
        self.block(&role.body, &mut place)?;
        Ok(())
    }

    /// Walks a block. Returns the condition under which it is left before its end.
    fn block(&mut self, body: &[Stmt], place: &mut Place) -> Result<Expr, Unsupported> {
        let outside = place.facts.len();
        let mut left = Expr::Bool(false);
        for stmt in body {
            let leaves = self.statement(stmt, place)?;
            if leaves != Expr::Bool(false) {
                place.facts.push(algebra::not(leaves.clone()));
                left = algebra::binary(BinaryOp::Or, left, leaves);
            }
        }
        place.facts.truncate(outside);
        Ok(left)
    }

    fn statement(&mut self, stmt: &Stmt, place: &mut Place) -> Result<Expr, Unsupported> {
        let mut exprs = Vec::new();
        if !matches!(stmt.kind, StmtKind::Access { .. }) {
            statements::visit_exprs(stmt, &mut |e| exprs.push(e.clone()));
        }
        for expr in &exprs {
            self.state(place, Some(stmt), expr, stmt.span)?;
        }
        match &stmt.kind {
            StmtKind::Return | StmtKind::Break => return Ok(Expr::Bool(true)),
            StmtKind::Assign { var, value } => {
                let value = place.value(value);
                place.values.insert(*var, value);
            }
            StmtKind::If {
                condition,
                then,
                otherwise,
            } => {
                let condition = place.value(condition);
                return self.branch(&condition, then, otherwise, place);
            }
            StmtKind::For { var, over, body } => self.repeat(*var, over, body, place)?,
            _ => {}
        }
        Ok(Expr::Bool(false))
    }

    fn branch(
        &mut self,
        condition: &Expr,
        then: &[Stmt],
        otherwise: &[Stmt],
        place: &mut Place,
    ) -> Result<Expr, Unsupported> {
        let fails = algebra::not(condition.clone());
        let (mut yes, mut no) = (place.clone(), place.clone());
        yes.facts.push(condition.clone());
        no.facts.push(fails.clone());
        let left = [self.block(then, &mut yes)?, self.block(otherwise, &mut no)?];
        for (var, value) in &mut place.values {
            *value = match (yes.values.get(var), no.values.get(var)) {
                (Some(a), Some(b)) => algebra::choose(condition.clone(), a.clone(), b.clone()),
                _ => Expr::Var(*var),
            };
        }
        place.loose |= yes.loose || no.loose;
        let [yes, no] = left;
        Ok(algebra::binary(
            BinaryOp::Or,
            algebra::binary(BinaryOp::And, condition.clone(), yes),
            algebra::binary(BinaryOp::And, fails, no),
        ))
    }

    fn repeat(
        &mut self,
        var: VarId,
        over: &Iteration,
        body: &[Stmt],
        place: &mut Place,
    ) -> Result<(), Unsupported> {
        let facts = match over {
            Iteration::Range { lo, hi, .. } => within(var, &place.value(lo), &place.value(hi)),
            Iteration::Row { pattern, row, .. } => {
                let row = row.iter().map(|e| place.value(e));
                vec![Expr::Visits(
                    *pattern,
                    row.chain([Expr::Var(var)]).collect(),
                )]
            }
        };
        let changed = break_elimination::changed(body);
        let exits = exits(body);
        self.forget(place, &changed);
        let mut inside = place.clone();
        inside.facts.extend(facts);
        inside.loose |= exits;
        self.block(body, &mut inside)?;
        self.forget(place, &changed);
        place.loose |= exits;
        Ok(())
    }

    /// From here on, these variables may have any value.
    fn forget(&mut self, place: &mut Place, changed: &[VarId]) {
        for var in changed {
            if let Some(value) = place.values.get_mut(var) {
                let open = VarId(self.next);
                self.next = exact::next(self.next);
                self.open.insert(open);
                *value = Expr::Var(open);
            }
        }
    }

    /// States that an expression is defined at a place, unless this is evident or left to the rule.
    fn state(
        &mut self,
        place: &Place,
        stmt: Option<&Stmt>,
        expr: &Expr,
        span: Span,
    ) -> Result<(), Unsupported> {
        let whole = place.value(expr);
        if evident(self.protocol, expr) || evident(self.protocol, &whole) {
            return Ok(());
        }
        let mut names = HashSet::new();
        let about = place.facts.iter().chain([&whole]);
        about.for_each(|e| free_vars(e, &mut names));
        let open = place.loose || names.iter().any(|name| self.open.contains(name));
        if open && stmt.is_some_and(self.kept) {
            return Ok(());
        }
        let assumed = self.protocol.assumptions.iter();
        let assumed = assumed.map(|a| a.condition.clone());
        let facts = assumed.chain(place.facts.iter().cloned()).collect();
        let text = self.protocol.source.get(span.start..span.end);
        let text: Vec<&str> = text.unwrap_or("?").split_whitespace().collect();
        self.conclude(facts, &whole, format!("`{}`", text.join(" ")))
    }

    /// States that a declared amount is at least a number, unless this is evident.
    fn at_least(
        &mut self,
        mut facts: Vec<Expr>,
        amount: &Expr,
        least: i64,
        what: String,
    ) -> Result<(), Unsupported> {
        let above = algebra::sub(amount.clone(), Expr::Int(least));
        if never_negative(self.protocol, &above) {
            return Ok(());
        }
        let assumed = self.protocol.assumptions.iter();
        facts.extend(assumed.map(|a| a.condition.clone()));
        let mut terms = Translator::new(self.protocol, &[]);
        let hypotheses = self.hypotheses(&mut terms, &facts, &Env::new());
        let goal = Expr::binary(BinaryOp::Ge, amount.clone(), Expr::Int(least));
        let goal = terms.expr(&goal, &Env::new())?;
        self.push(terms, hypotheses, goal, what)
    }

    fn hypotheses(&self, terms: &mut Translator<'_>, facts: &[Expr], env: &Env) -> Vec<Term> {
        let mut all = terms.domain();
        // If facts are left out, the obligation is only harder to show.
        for fact in facts {
            all.extend(terms.expr(fact, env).ok());
        }
        all
    }

    fn push(
        &mut self,
        mut terms: Translator<'_>,
        mut hypotheses: Vec<Term>,
        goal: Term,
        meaning: String,
    ) -> Result<(), Unsupported> {
        hypotheses.extend(terms.axioms()?);
        self.all.push(Obligation {
            name: format!("text_defined_{}", self.all.len()),
            meaning,
            declarations: terms.declarations(),
            hypotheses,
            goal,
            split: Vec::new(),
        });
        Ok(())
    }

    fn conclude(&mut self, facts: Vec<Expr>, expr: &Expr, what: String) -> Result<(), Unsupported> {
        Unsupported::unless_in_time()?;
        if evident(self.protocol, expr) {
            return Ok(());
        }
        let mut names = HashSet::new();
        facts
            .iter()
            .chain([expr])
            .for_each(|e| free_vars(e, &mut names));
        let mut terms = Translator::new(self.protocol, &[]);
        let env: Env = names
            .into_iter()
            .map(|name| (name, terms.constant(&format!("value_{}", name.0))))
            .collect();
        let hypotheses = self.hypotheses(&mut terms, &facts, &env);
        let mut needed = Vec::new();
        terms.well_defined(expr, &env, &[], &mut needed)?;
        let goal = term::and(needed.into_iter().map(|requirement| {
            let given = term::and(requirement.given);
            term::or([term::not(given), requirement.needed])
        }));
        self.push(terms, hypotheses, goal, format!("{what} is well defined"))
    }
}

/// Whether the form of an expression and the domain show that it is defined.
pub(super) fn evident(protocol: &Protocol, expr: &Expr) -> bool {
    let go = |e: &Expr| evident(protocol, e);
    match expr {
        Expr::Int(_) | Expr::Bool(_) | Expr::Param(_) | Expr::Var(_) => true,
        Expr::Neg(e) | Expr::Not(e) => go(e),
        Expr::If(c, a, b) => go(c) && go(a) && go(b),
        Expr::Binary(op, a, b) => {
            let shown = match op {
                BinaryOp::Div | BinaryOp::Mod => {
                    let above = algebra::sub((**b).clone(), Expr::Int(1));
                    never_negative(protocol, &above)
                }
                BinaryOp::Xor => is_bit(a) && is_bit(b),
                _ => true,
            };
            shown && go(a) && go(b)
        }
        Expr::Visits(pattern, at) => {
            let defined = &protocol.patterns[pattern.0].definition;
            at.iter().all(go) && defined.as_ref().is_none_or(|(_, e)| go(e))
        }
        Expr::Count { lo, hi, body, .. } => go(lo) && go(hi) && go(body),
    }
}

impl Place {
    /// An expression over names that do not change. Nothing in it is folded, because folding may drop an undefined
    /// part.
    fn value(&self, expr: &Expr) -> Expr {
        algebra::replace(expr, &|var| self.values.get(&var).cloned(), &|_| None)
    }
}

/// Whether the form of a value shows that it is 0 or 1.
fn is_bit(expr: &Expr) -> bool {
    match expr {
        Expr::Int(0 | 1) => true,
        Expr::Binary(BinaryOp::Mod, _, modulus) => **modulus == Expr::Int(2),
        Expr::Binary(BinaryOp::Xor, a, b) => is_bit(a) && is_bit(b),
        Expr::If(_, a, b) => is_bit(a) && is_bit(b),
        _ => false,
    }
}

fn within(var: VarId, lo: &Expr, hi: &Expr) -> Vec<Expr> {
    let var = Expr::Var(var);
    vec![
        Expr::binary(BinaryOp::Le, lo.clone(), var.clone()),
        Expr::binary(BinaryOp::Lt, var, hi.clone()),
    ]
}

/// Whether a statement leaves the loop around a block, or the program.
fn exits(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Return | StmtKind::Break => true,
        StmtKind::If {
            then, otherwise, ..
        } => exits(then) || exits(otherwise),
        StmtKind::For { body, .. } => exits(body),
        _ => false,
    })
}
