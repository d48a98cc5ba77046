//! Translates expressions to SMT-LIB terms.
//!
//! Integers are mathematical integers. `div` and `mod` of SMT-LIB agree with the protocol's floor division only for
//! positive divisors. So [`Translator::well_defined`] lists, for every expression, the conditions under which it has
//! the value that the interpreter computes. A proof has to discharge them.
//!
//! **Counts.** `count(k in lo..hi where body(k))` becomes `H(hi) - H(lo)` (0 when `hi <= lo`) for the prefix count
//! `H` of the body: the function on all integers with `H(0) = 0` and `H(x + 1) = H(x) + [body(x)]`. `H` is an
//! uninterpreted function. [`Translator::axioms`] instantiates two facts at the points that occur: the defining
//! recurrence, and its consequence `0 <= H(q) - H(p) <= q - p` for `p <= q` (by induction on `q - p`). Both hold for
//! the real `H`, so they never exclude a real counterexample. Two counts share an `H` only if their bodies are the
//! same text after translation.
//!
//! **Products and quotients of unknowns.** Solvers are weak at nonlinear arithmetic. So [`Translator::axioms`] also
//! instantiates two theorems of integer arithmetic for the products and symbolic divisors that occur. For `b > 0`:
//! `a = b * (a div b) + a mod b` with `0 <= a mod b < b`. For two multiples of one positive factor:
//! `x < y => x * b + b <= y * b`.
//!
//! **Sums of lengths** ([`lengths`]) are differences of a function that does not decrease. There is one function for
//! each text of the terms. Nothing else is assumed about the terms.
//!
//! Side condition, refused if it fails: the body of a count contains no other count.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::HashMap;

use super::cut::lengths;
use super::program::Unsupported;
use super::sums;
use super::sums::Sum;
use super::term;
use super::term::Term;
use crate::protocol::BinaryOp;
use crate::protocol::Domain;
use crate::protocol::Expr;
use crate::protocol::ParamId;
use crate::protocol::PatternId;
use crate::protocol::Protocol;
use crate::protocol::VarId;
use crate::trusted::expression::chosen;

/// The meanings of the bound names.
pub type Env = HashMap<VarId, Term>;

/// A condition under which an expression is well defined, with the hypotheses under which it
/// is evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct Requirement {
    /// Conditions that hold whenever the expression is evaluated.
    pub given: Vec<Term>,
    /// What must hold then.
    pub needed: Term,
    /// The subject, as a lowercase sentence fragment.
    pub about: &'static str,
}

/// A prefix count.
struct Prefix {
    symbol: String,
    var: VarId,
    body: Expr,
    env: Env,
    points: BTreeSet<Term>,
}

/// Translates the expressions of one obligation.
pub struct Translator<'p> {
    protocol: &'p Protocol,
    params: Vec<Term>,
    constants: BTreeSet<String>,
    functions: BTreeSet<(String, usize)>,
    prefixes: Vec<(String, Prefix)>,
    /// Sums of lengths.
    sums: Vec<Sum>,
    /// For each factor, the terms that it is multiplied with.
    multiples: BTreeMap<Term, BTreeSet<Term>>,
    /// Dividends and symbolic divisors.
    quotients: BTreeSet<(Term, Term)>,
    inside_count: bool,
}

/// With more constants than this, the facts about counts are instantiated only at the ends of the counts.
const CONSTANT_POINTS: usize = 8;

/// With more pairs of multiples than this, the pairs are left out, because they would slow the solver down.
const MULTIPLE_PAIRS: usize = 60;

impl<'p> Translator<'p> {
    /// A translator in which the listed parameters have fixed values.
    pub fn new(protocol: &'p Protocol, fixed: &[(ParamId, i64)]) -> Translator<'p> {
        let params = protocol
            .params
            .iter()
            .enumerate()
            .map(
                |(at, param)| match fixed.iter().find(|(id, _)| id.0 == at) {
                    Some((_, value)) => term::int(*value),
                    None => term::name(&format!("param_{}", param.name)),
                },
            )
            .collect();
        Translator {
            protocol,
            params,
            constants: BTreeSet::new(),
            functions: BTreeSet::new(),
            prefixes: Vec::new(),
            sums: Vec::new(),
            multiples: BTreeMap::new(),
            quotients: BTreeSet::new(),
            inside_count: false,
        }
    }

    /// The protocol whose expressions it translates.
    pub fn protocol(&self) -> &'p Protocol {
        self.protocol
    }

    /// Declares an integer constant and returns it.
    pub fn constant(&mut self, name: &str) -> Term {
        self.constants.insert(name.to_owned());
        term::name(name)
    }

    /// Declares a function from integers to integers and applies it.
    pub fn function(&mut self, name: &str, arguments: &[Term]) -> Term {
        self.functions.insert((name.to_owned(), arguments.len()));
        term::apply(name, arguments)
    }

    /// The declared domain of the parameters, without the assumptions.
    pub fn domain(&self) -> Vec<Term> {
        let mut facts = Vec::new();
        for (param, value) in self.protocol.params.iter().zip(&self.params) {
            facts.push(match &param.domain {
                Domain::AtLeast(lo) => term::le(&term::int(*lo), value),
                Domain::Range(lo, hi) => term::and([
                    term::le(&term::int(*lo), value),
                    term::le(value, &term::int(*hi)),
                ]),
                Domain::Set(values) => {
                    term::or(values.iter().map(|v| term::eq(value, &term::int(*v))))
                }
            });
        }
        facts
    }

    /// Translates an expression under an environment that covers its bound names.
    pub fn expr(&mut self, expr: &Expr, env: &Env) -> Result<Term, Unsupported> {
        Ok(match expr {
            Expr::Int(value) => term::int(*value),
            Expr::Bool(value) => term::boolean(*value),
            Expr::Param(id) => self.params[id.0].clone(),
            Expr::Var(var) => env.get(var).cloned().ok_or_else(|| Unsupported {
                reason: "a variable without a closed form".to_owned(),
                // The name of a carried value is not one of the protocol's names.
                span: self.protocol.vars.get(var.0).map(|declared| declared.span),
            })?,
            Expr::Neg(e) => term::sub(&term::int(0), &self.expr(e, env)?),
            Expr::Not(e) => term::not(self.expr(e, env)?),
            Expr::If(c, a, b) => {
                let (c, a, b) = (self.expr(c, env)?, self.expr(a, env)?, self.expr(b, env)?);
                term::ite(&c, &a, &b)
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.expr(a, env)?, self.expr(b, env)?);
                match op {
                    BinaryOp::Add => term::sum([a, b]),
                    BinaryOp::Sub => term::sub(&a, &b),
                    BinaryOp::Mul => self.product(&a, &b),
                    BinaryOp::Div => {
                        self.note_quotient(&a, &b);
                        term::apply("div", &[a, b])
                    }
                    BinaryOp::Mod => {
                        self.note_quotient(&a, &b);
                        term::apply("mod", &[a, b])
                    }
                    BinaryOp::Min => chosen(&a, &b, [&a, &b])?,
                    BinaryOp::Max => chosen(&a, &b, [&b, &a])?,
                    BinaryOp::Xor => term::ite(&term::eq(&a, &b), &term::int(0), &term::int(1)),
                    BinaryOp::Eq => term::eq(&a, &b),
                    BinaryOp::Ne => term::not(term::eq(&a, &b)),
                    BinaryOp::Lt => term::lt(&a, &b),
                    BinaryOp::Le => term::le(&a, &b),
                    BinaryOp::Gt => term::lt(&b, &a),
                    BinaryOp::Ge => term::le(&b, &a),
                    BinaryOp::And => term::and([a, b]),
                    BinaryOp::Or => term::or([a, b]),
                }
            }
            Expr::Visits(pattern, at) => {
                let at = at
                    .iter()
                    .map(|e| self.expr(e, env))
                    .collect::<Result<Vec<_>, _>>()?;
                self.visits(*pattern, &at)?
            }
            Expr::Count {
                var: lengths::ITERATION,
                lo,
                hi,
                body,
            } => {
                let (lo, hi) = (self.expr(lo, env)?, self.expr(hi, env)?);
                let symbol = self.sum(body, [&lo, &hi]);
                let at = |x: &Term| term::apply(&symbol, std::slice::from_ref(x));
                term::ite(
                    &term::lt(&lo, &hi),
                    &term::sub(&at(&hi), &at(&lo)),
                    &term::int(0),
                )
            }
            Expr::Count { var, lo, hi, body } => {
                if self.inside_count {
                    return Err(Unsupported::at(
                        self.protocol
                            .vars
                            .get(var.0)
                            .map(|v| v.span)
                            .unwrap_or_default(),
                        "a count inside another count",
                    ));
                }
                let (lo, hi) = (self.expr(lo, env)?, self.expr(hi, env)?);
                let symbol = self.prefix(*var, body, env, [&lo, &hi])?;
                let at = |x: &Term| term::apply(&symbol, std::slice::from_ref(x));
                term::ite(
                    &term::lt(&lo, &hi),
                    &term::sub(&at(&hi), &at(&lo)),
                    &term::int(0),
                )
            }
        })
    }

    /// The product of two integers.
    pub fn product(&mut self, a: &Term, b: &Term) -> Term {
        self.note_product(a, b);
        term::apply("*", &[a.clone(), b.clone()])
    }

    fn note_product(&mut self, a: &Term, b: &Term) {
        // A term that depends on a counting variable has no meaning outside its count.
        if a.is_literal() || b.is_literal() || self.inside_count {
            return;
        }
        self.multiples
            .entry(a.clone())
            .or_default()
            .insert(b.clone());
        self.multiples
            .entry(b.clone())
            .or_default()
            .insert(a.clone());
    }

    fn note_quotient(&mut self, a: &Term, b: &Term) {
        if b.is_literal() || self.inside_count {
            return;
        }
        self.quotients.insert((a.clone(), b.clone()));
        self.note_product(&term::apply("div", &[a.clone(), b.clone()]), b);
    }

    /// Whether the pattern holds at these coordinates: false outside its extents.
    pub fn visits(&mut self, pattern: PatternId, at: &[Term]) -> Result<Term, Unsupported> {
        let declared = &self.protocol.patterns[pattern.0];
        let mut facts = Vec::new();
        for (extent, x) in declared.extents.iter().zip(at) {
            let extent = self.expr(extent, &Env::new())?;
            facts.push(term::within(&term::int(0), x, &extent));
        }
        facts.push(match &declared.definition {
            Some((vars, condition)) => {
                let env = vars.iter().copied().zip(at.iter().cloned()).collect();
                self.expr(condition, &env)?
            }
            None => term::apply(&format!("pattern_{}", declared.name), at),
        });
        Ok(term::and(facts))
    }

    fn prefix(
        &mut self,
        var: VarId,
        body: &Expr,
        env: &Env,
        points: [&Term; 2],
    ) -> Result<String, Unsupported> {
        let key = self
            .body_at(var, body, env, &term::name("counted"))?
            .to_string();
        let position = match self.prefixes.iter().position(|(known, _)| *known == key) {
            Some(position) => position,
            None => {
                let symbol = format!("prefix_{}", self.prefixes.len());
                let prefix = Prefix {
                    symbol,
                    var,
                    body: body.clone(),
                    env: env.clone(),
                    points: BTreeSet::from([term::int(0)]),
                };
                let position = self.prefixes.len();
                self.prefixes.push((key, prefix));
                position
            }
        };
        let prefix = &mut self.prefixes[position].1;
        prefix.points.extend(points.into_iter().cloned());
        Ok(prefix.symbol.clone())
    }

    /// The function whose differences are the sums of these terms.
    fn sum(&mut self, terms: &Expr, points: [&Term; 2]) -> String {
        let key = format!("{terms:?}");
        let position = match self.sums.iter().position(|known| known.text == key) {
            Some(position) => position,
            None => {
                let position = self.sums.len();
                self.sums.push(Sum::new(key, terms));
                position
            }
        };
        if !self.inside_count {
            self.sums[position].points.extend(points.map(Term::clone));
        }
        format!("sum_{position}")
    }

    fn body_at(
        &mut self,
        var: VarId,
        body: &Expr,
        env: &Env,
        x: &Term,
    ) -> Result<Term, Unsupported> {
        let mut env = env.clone();
        env.insert(var, x.clone());
        let outer = std::mem::replace(&mut self.inside_count, true);
        let body = self.expr(body, &env);
        self.inside_count = outer;
        body
    }

    /// The points at which the facts about a prefix count are instantiated. These are its ends and, if there are few,
    /// the constants and their successors. Constants are needed for facts such as "a row that visits this tile is not
    /// empty".
    fn points(&self, prefix: &Prefix) -> Vec<Term> {
        let mut points = prefix.points.clone();
        if self.constants.len() <= CONSTANT_POINTS {
            for constant in &self.constants {
                let x = term::name(constant);
                points.insert(term::sum([x.clone(), term::int(1)]));
                points.insert(x);
            }
        }
        points.into_iter().collect()
    }

    /// Facts about products and quotients that occur so far.
    fn arithmetic(&self) -> Vec<Term> {
        let zero = term::int(0);
        let mut facts = Vec::new();
        for (a, b) in &self.quotients {
            let quotient = term::apply("div", &[a.clone(), b.clone()]);
            let remainder = term::apply("mod", &[a.clone(), b.clone()]);
            let product = term::apply("*", &[quotient, b.clone()]);
            facts.push(term::or([
                term::le(b, &zero),
                term::and([
                    term::eq(a, &term::sum([product, remainder.clone()])),
                    term::within(&zero, &remainder, b),
                ]),
            ]));
        }
        let mut monotone = Vec::new();
        for (factor, others) in &self.multiples {
            let times = |x: &Term| term::apply("*", &[x.clone(), factor.clone()]);
            for x in others {
                for y in others.iter().filter(|y| *y != x) {
                    monotone.push(term::or([
                        term::le(factor, &zero),
                        term::le(y, x),
                        term::le(&term::sum([times(x), factor.clone()]), &times(y)),
                    ]));
                }
            }
        }
        if monotone.len() <= MULTIPLE_PAIRS {
            facts.extend(monotone);
        }
        facts
    }

    /// The facts about the counts, products and quotients that occur so far.
    pub fn axioms(&mut self) -> Result<Vec<Term>, Unsupported> {
        let mut facts = Vec::new();
        for position in 0..self.prefixes.len() {
            let (symbol, var, body, env, points) = {
                let prefix = &self.prefixes[position].1;
                let points = self.points(prefix);
                (
                    prefix.symbol.clone(),
                    prefix.var,
                    prefix.body.clone(),
                    prefix.env.clone(),
                    points,
                )
            };
            let at = |x: &Term| term::apply(&symbol, std::slice::from_ref(x));
            facts.push(term::eq(&at(&term::int(0)), &term::int(0)));
            for p in &points {
                let previous = term::sub(p, &term::int(1));
                let next = term::sum([p.clone(), term::int(1)]);
                for (x, successor) in [(p, &next), (&previous, p)] {
                    let holds = self.body_at(var, &body, &env, x)?;
                    let step = term::ite(&holds, &term::int(1), &term::int(0));
                    facts.push(term::eq(&at(successor), &term::sum([at(x), step])));
                }
            }
            for p in &points {
                for q in points.iter().filter(|q| *q != p) {
                    let difference = term::sub(&at(q), &at(p));
                    facts.push(term::or([
                        term::lt(q, p),
                        term::and([
                            term::le(&term::int(0), &difference),
                            term::le(&difference, &term::sub(q, p)),
                        ]),
                    ]));
                }
            }
        }
        facts.extend(sums::facts(&self.sums));
        facts.extend(self.arithmetic());
        Ok(facts)
    }

    /// The declarations that the terms built so far need.
    pub fn declarations(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for param in &self.protocol.params {
            let constant = format!("param_{}", param.name);
            if self
                .params
                .iter()
                .any(|value| value.to_string() == constant)
            {
                lines.push(format!("(declare-const {constant} Int)"));
            }
        }
        for constant in &self.constants {
            lines.push(format!("(declare-const {constant} Int)"));
        }
        for pattern in self
            .protocol
            .patterns
            .iter()
            .filter(|p| p.definition.is_none())
        {
            let sorts = vec!["Int"; pattern.extents.len()].join(" ");
            lines.push(format!(
                "(declare-fun pattern_{} ({sorts}) Bool)",
                pattern.name
            ));
        }
        for object in &self.protocol.objects {
            let sorts = vec!["Int"; object.extents.len()].join(" ");
            lines.push(format!(
                "(declare-fun initial_{} ({sorts}) Int)",
                object.name
            ));
        }
        for (function, arity) in &self.functions {
            let sorts = vec!["Int"; *arity].join(" ");
            lines.push(format!("(declare-fun {function} ({sorts}) Int)"));
        }
        for position in 0..self.sums.len() {
            lines.push(format!("(declare-fun sum_{position} (Int) Int)"));
        }
        for (_, prefix) in &self.prefixes {
            lines.push(format!("(declare-fun {} (Int) Int)", prefix.symbol));
        }
        lines
    }

    /// Lists the conditions under which an expression has the value that the interpreter computes: every divisor is
    /// positive, and every operand of `^` is 0 or 1. `given` is what holds when the expression is evaluated.
    pub fn well_defined(
        &mut self,
        expr: &Expr,
        env: &Env,
        given: &[Term],
        into: &mut Vec<Requirement>,
    ) -> Result<(), Unsupported> {
        let mut require = |needed: Term, about: &'static str| {
            into.push(Requirement {
                given: given.to_vec(),
                needed,
                about,
            });
        };
        match expr {
            Expr::Int(_) | Expr::Bool(_) | Expr::Param(_) | Expr::Var(_) => {}
            Expr::Neg(e) | Expr::Not(e) => self.well_defined(e, env, given, into)?,
            Expr::If(c, a, b) => {
                self.well_defined(c, env, given, into)?;
                let holds = self.expr(c, env)?;
                self.well_defined(a, env, &with(given, holds.clone()), into)?;
                self.well_defined(b, env, &with(given, term::not(holds)), into)?;
            }
            Expr::Binary(op, a, b) => {
                match op {
                    BinaryOp::Div | BinaryOp::Mod => {
                        let divisor = self.expr(b, env)?;
                        require(term::lt(&term::int(0), &divisor), "the divisor is positive");
                    }
                    BinaryOp::Xor => {
                        for side in [a, b] {
                            let side = self.expr(side, env)?;
                            require(
                                term::within(&term::int(0), &side, &term::int(2)),
                                "both sides of `^` are 0 or 1",
                            );
                        }
                    }
                    _ => {}
                }
                self.well_defined(a, env, given, into)?;
                let given = match op {
                    BinaryOp::And => with(given, self.expr(a, env)?),
                    BinaryOp::Or => with(given, term::not(self.expr(a, env)?)),
                    _ => given.to_vec(),
                };
                self.well_defined(b, env, &given, into)?;
            }
            Expr::Visits(pattern, at) => {
                for e in at {
                    self.well_defined(e, env, given, into)?;
                }
                if let Some((vars, condition)) = &self.protocol.patterns[pattern.0].definition {
                    let mut inner = given.to_vec();
                    let mut coordinates = Env::new();
                    for ((var, extent), e) in vars
                        .iter()
                        .zip(&self.protocol.patterns[pattern.0].extents)
                        .zip(at)
                    {
                        let x = self.expr(e, env)?;
                        let extent = self.expr(extent, &Env::new())?;
                        inner.push(term::within(&term::int(0), &x, &extent));
                        coordinates.insert(*var, x);
                    }
                    self.well_defined(condition, &coordinates, &inner, into)?;
                }
            }
            // It was made from a count that has been checked already.
            Expr::Count {
                var: lengths::ITERATION,
                lo,
                hi,
                ..
            } => {
                self.well_defined(lo, env, given, into)?;
                self.well_defined(hi, env, given, into)?;
            }
            Expr::Count { var, lo, hi, body } => {
                self.well_defined(lo, env, given, into)?;
                self.well_defined(hi, env, given, into)?;
                let (lo, hi) = (self.expr(lo, env)?, self.expr(hi, env)?);
                let x = self.constant(&format!("counted_{}", var.0));
                let mut env = env.clone();
                env.insert(*var, x.clone());
                let given = with(given, term::within(&lo, &x, &hi));
                self.well_defined(body, &env, &given, into)?;
            }
        }
        Ok(())
    }
}

fn with(given: &[Term], fact: Term) -> Vec<Term> {
    let mut given = given.to_vec();
    given.push(fact);
    given
}
