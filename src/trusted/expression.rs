//! Expressions of the protocol as terms over mathematical integers, and when they are defined.
//!
//! `div` and `mod` of SMT-LIB are floor division for positive divisors only, so [`Names::defined`] asks for a
//! positive divisor wherever one is evaluated, and for operands of `^` that are 0 or 1. The operators `&&` and
//! `||` and the branches of `if` evaluate what the interpreter evaluates.
//!
//! *Theorem (counts).* For every predicate there is a function `S` from integers to integers with `S(x + 1) = S(x) + 1` where it
//! holds of `x`, and `S(x + 1) = S(x)` elsewhere. For any such `S`, as many integers of `lo..hi` satisfy the predicate as
//! `S(hi) - S(lo)` says, if `lo <= hi`; and `0 <= S(y) - S(x) <= y - x` for `x <= y`. So a count is stated by a function of its own for
//! each predicate ([`Names::counts`]). Predicates are told apart by their terms: equal ones have the same function.
//!
//! A pattern that is an input is a predicate of which nothing is known but that it is false outside its extents.
//!
//! *Theorem (division).* For `b > 0` there is one pair of integers `q` and `r` with `a = b * q + r` and
//! `0 <= r < b`. So where a counter is kept as such a pair, its quotient and remainder are known.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::HashMap;

use super::term;
use super::term::Term;
use super::unsupported::Unsupported;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::Param;
use crate::protocol::Pattern;
use crate::protocol::VarId;

/// More bytes than this no choice of the lesser or greater of two may have.
const LONGEST: usize = 1 << 20;

/// More points than these no count is looked at.
const MAX_POINTS: usize = 10;

/// What names stand for.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// Parameters.
    pub params: Vec<Term>,
    /// Bound names.
    pub vars: HashMap<VarId, Term>,
    /// Dividends and divisors that are not numbers, as far as they have occurred.
    pub quotients: BTreeSet<(Term, Term)>,
    /// Patterns, by position; none where they are not covered.
    patterns: Vec<Pattern>,
    /// Where a pattern that is an input has been asked for.
    visits: BTreeSet<(usize, Vec<Term>)>,
    /// What has been counted, by what a number has to satisfy.
    counted: BTreeMap<Term, Counted>,
}

/// A predicate of integers that is counted.
#[derive(Debug, Clone)]
struct Counted {
    /// The name of its function.
    function: String,
    /// The name that is bound.
    var: VarId,
    /// What it has to satisfy.
    body: Expr,
    /// What other names stand for.
    vars: HashMap<VarId, Term>,
    /// Where the function has been asked for.
    at: BTreeSet<Term>,
}

/// The constant that stands for a parameter.
pub fn parameter(param: &Param) -> Term {
    term::name(&format!("param_{}", param.name))
}

impl Names {
    /// Names of parameters, and patterns.
    pub fn new(params: Vec<Term>, patterns: Vec<Pattern>) -> Names {
        Names {
            params,
            patterns,
            ..Names::default()
        }
    }

    /// The value of an expression.
    ///
    /// # Errors
    ///
    /// A name without a value, a pattern or a count.
    pub fn term(&mut self, expr: &Expr) -> Result<Term, Unsupported> {
        Ok(match expr {
            Expr::Int(value) => term::int(*value),
            Expr::Bool(value) => term::boolean(*value),
            Expr::Param(id) => self.params.get(id.0).cloned().ok_or_else(unknown)?,
            Expr::Var(var) => self.vars.get(var).cloned().ok_or_else(unknown)?,
            Expr::Neg(e) => term::sub(&term::int(0), &self.term(e)?),
            Expr::Not(e) => term::not(self.term(e)?),
            Expr::If(c, a, b) => term::ite(&self.term(c)?, &self.term(a)?, &self.term(b)?),
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.term(a)?, self.term(b)?);
                match op {
                    BinaryOp::Add => term::sum([a, b]),
                    BinaryOp::Sub => term::sub(&a, &b),
                    BinaryOp::Mul => term::apply("*", &[a, b]),
                    BinaryOp::Div => self.divided("div", a, b),
                    BinaryOp::Mod => self.divided("mod", a, b),
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
                let at: Result<Vec<Term>, Unsupported> = at.iter().map(|e| self.term(e)).collect();
                self.visited(pattern.0, at?)?
            }
            Expr::Count { var, lo, hi, body } => {
                let (lo, hi) = (self.term(lo)?, self.term(hi)?);
                let (from, to) = (self.below(*var, body, &lo)?, self.below(*var, body, &hi)?);
                term::ite(&term::le(&lo, &hi), &term::sub(&to, &from), &term::int(0))
            }
        })
    }

    /// Whether a pattern holds somewhere: false outside its extents.
    pub fn visited(&mut self, pattern: usize, at: Vec<Term>) -> Result<Term, Unsupported> {
        let declared = self.patterns.get(pattern).cloned();
        let Some(declared) = declared.filter(|p| p.extents.len() == at.len()) else {
            return Err(Unsupported::whole("a pattern or a count"));
        };
        let Some((vars, condition)) = declared.definition else {
            let term = term::apply(&predicate(&declared.name), &at);
            self.visits.insert((pattern, at));
            return Ok(term);
        };
        if counts(&condition) {
            return Err(Unsupported::whole("a pattern that is defined by a count"));
        }
        let mut parts = self.inside(pattern, &at)?;
        let coordinates = vars.into_iter().zip(at).collect();
        let outer = std::mem::replace(&mut self.vars, coordinates);
        let holds = self.term(&condition);
        self.vars = outer;
        parts.push(holds?);
        Ok(term::and(parts))
    }

    /// That coordinates are within the extents of a pattern.
    pub fn inside(&mut self, pattern: usize, at: &[Term]) -> Result<Vec<Term>, Unsupported> {
        let extents = self.patterns.get(pattern).map(|p| p.extents.clone());
        let mut all = Vec::new();
        for (extent, at) in extents.unwrap_or_default().iter().zip(at) {
            let extent = self.term(extent)?;
            all.push(term::within(&term::int(0), at, &extent));
        }
        Ok(all)
    }

    /// How many integers below `hi` satisfy a condition, less a number that does not depend on `hi`.
    fn below(&mut self, var: VarId, body: &Expr, hi: &Term) -> Result<Term, Unsupported> {
        if self.patterns.is_empty() {
            return Err(Unsupported::whole("a pattern or a count"));
        }
        if counts(body) {
            return Err(Unsupported::whole("a count of counts"));
        }
        // What is asked of the name that is bound is asked of no integer.
        let key = self.clone().with(var, &term::name("counted"), body)?;
        let next = self.counted.len();
        let vars = self.vars.clone();
        let counted = self.counted.entry(key).or_insert_with(|| Counted {
            function: format!("count_{next}"),
            var,
            body: body.clone(),
            vars,
            at: BTreeSet::new(),
        });
        counted.at.insert(hi.clone());
        let hi = std::slice::from_ref(hi);
        Ok(term::apply(&counted.function, hi))
    }

    /// The value of an expression where a name stands for this.
    fn with(&mut self, var: VarId, value: &Term, expr: &Expr) -> Result<Term, Unsupported> {
        let outer = self.vars.insert(var, value.clone());
        let term = self.term(expr);
        match outer {
            Some(outer) => self.vars.insert(var, outer),
            None => self.vars.remove(&var),
        };
        term
    }

    /// What is known of patterns and counts: see the theorem. `entries` are integers for which it may be of use to know
    /// whether they are counted.
    ///
    /// # Errors
    ///
    /// As for [`Names::term`], or counts of too many things.
    pub fn counts(&mut self, entries: &[Term]) -> Result<Vec<Term>, Unsupported> {
        let (zero, one) = (term::int(0), term::int(1));
        let mut facts = Vec::new();
        for counted in self.counted.clone().into_values() {
            let mut at: Vec<Term> = counted.at.into_iter().collect();
            for entry in entries {
                for entry in [entry.clone(), term::sum([entry.clone(), one.clone()])] {
                    if at.len() < MAX_POINTS && !at.contains(&entry) {
                        at.push(entry);
                    }
                }
            }
            if at.len() > MAX_POINTS {
                return Err(Unsupported::whole("too many counts"));
            }
            let below = |at: &Term| term::apply(&counted.function, std::slice::from_ref(at));
            for x in &at {
                let outer = std::mem::replace(&mut self.vars, counted.vars.clone());
                let holds = self.with(counted.var, x, &counted.body);
                self.vars = outer;
                let holds = holds?;
                for y in at.iter().filter(|y| *y != x) {
                    let more = term::sub(&below(y), &below(x));
                    let step = term::eq(&more, &term::ite(&holds, &one, &zero));
                    let next = term::eq(y, &term::sum([x.clone(), one.clone()]));
                    facts.push(term::or([term::not(next), step]));
                    let most = term::le(&more, &term::sub(y, x));
                    let bounds = term::and([term::le(&zero, &more), most]);
                    facts.push(term::or([term::lt(y, x), bounds]));
                }
            }
        }
        for (pattern, at) in self.visits.clone() {
            let Some(declared) = self.patterns.get(pattern) else {
                continue;
            };
            let visited = term::apply(&predicate(&declared.name), &at);
            let inside = term::and(self.inside(pattern, &at)?);
            facts.push(term::or([term::not(visited), inside]));
        }
        Ok(facts)
    }

    /// The declarations of the functions that occur.
    pub fn functions(&self) -> Vec<String> {
        let inputs = self.patterns.iter().filter(|p| p.definition.is_none());
        let patterns = inputs.map(|pattern| {
            let sorts = vec!["Int"; pattern.extents.len()].join(" ");
            format!("(declare-fun {} ({sorts}) Bool)", predicate(&pattern.name))
        });
        let counts = self.counted.values();
        let counts = counts.map(|c| format!("(declare-fun {} (Int) Int)", c.function));
        patterns.chain(counts).collect()
    }

    fn divided(&mut self, function: &str, a: Term, b: Term) -> Term {
        if !b.is_literal() {
            self.quotients.insert((a.clone(), b.clone()));
        }
        term::apply(function, &[a, b])
    }

    /// That the interpreter computes a value.
    ///
    /// # Errors
    ///
    /// As for [`Names::term`].
    pub fn defined(&mut self, expr: &Expr) -> Result<Term, Unsupported> {
        Ok(match expr {
            Expr::Int(_) | Expr::Bool(_) | Expr::Param(_) | Expr::Var(_) => term::boolean(true),
            Expr::Neg(e) | Expr::Not(e) => self.defined(e)?,
            Expr::If(c, a, b) => {
                let (holds, condition) = (self.term(c)?, self.defined(c)?);
                let (a, b) = (self.defined(a)?, self.defined(b)?);
                let a = term::or([term::not(holds.clone()), a]);
                term::and([condition, a, term::or([holds, b])])
            }
            Expr::Binary(op, a, b) => {
                let (left, right) = (self.defined(a)?, self.defined(b)?);
                let (a, b) = (self.term(a)?, self.term(b)?);
                let bit = |side: &Term| term::within(&term::int(0), side, &term::int(2));
                match op {
                    BinaryOp::And => term::and([left, term::or([term::not(a), right])]),
                    BinaryOp::Or => term::and([left, term::or([a, right])]),
                    BinaryOp::Div | BinaryOp::Mod => {
                        term::and([left, right, term::lt(&term::int(0), &b)])
                    }
                    BinaryOp::Xor => term::and([left, right, bit(&a), bit(&b)]),
                    BinaryOp::Add
                    | BinaryOp::Sub
                    | BinaryOp::Mul
                    | BinaryOp::Min
                    | BinaryOp::Max
                    | BinaryOp::Eq
                    | BinaryOp::Ne
                    | BinaryOp::Lt
                    | BinaryOp::Le
                    | BinaryOp::Gt
                    | BinaryOp::Ge => term::and([left, right]),
                }
            }
            // What defines a pattern is looked at once, where it is declared.
            Expr::Visits(_, at) => {
                let all: Result<Vec<Term>, Unsupported> =
                    at.iter().map(|e| self.defined(e)).collect();
                term::and(all?)
            }
            Expr::Count { lo, hi, body, .. } => {
                if !always_defined(body) {
                    return Err(Unsupported::whole("a count of what may not be defined"));
                }
                term::and([self.defined(lo)?, self.defined(hi)?])
            }
        })
    }

    /// What is known of quotients by numbers that are not written out: see the theorem. `pairs` are counters with
    /// their size, quotient and remainder.
    pub fn division(&self, pairs: &[[Term; 4]]) -> Vec<Term> {
        let zero = term::int(0);
        let mut facts = Vec::new();
        for (a, b) in &self.quotients {
            let div = term::apply("div", &[a.clone(), b.clone()]);
            let rest = term::apply("mod", &[a.clone(), b.clone()]);
            let product = term::apply("*", &[div.clone(), b.clone()]);
            let whole = term::eq(a, &term::sum([product, rest.clone()]));
            let pair = term::and([whole, term::within(&zero, &rest, b)]);
            facts.push(term::or([term::le(b, &zero), pair]));
            for ([counter, size, turn, at], more) in pairs.iter().flat_map(|p| [(p, 0), (p, 1)]) {
                // Of a counter, and of one that is a round further.
                let product = term::product([turn.clone(), size.clone()]);
                let further = term::product([term::int(more), size.clone()]);
                let same = term::and([
                    term::eq(a, &term::sum([counter.clone(), further])),
                    term::eq(b, size),
                    term::eq(counter, &term::sum([product, at.clone()])),
                    term::within(&zero, at, size),
                ]);
                let turn = term::sum([turn.clone(), term::int(more)]);
                let known = term::and([term::eq(&div, &turn), term::eq(&rest, at)]);
                facts.push(term::or([term::not(same), known]));
            }
        }
        facts
    }
}

/// Whether an expression is defined whatever its names stand for.
fn always_defined(expr: &Expr) -> bool {
    let divides = match expr {
        Expr::Binary(BinaryOp::Div | BinaryOp::Mod, _, by) => {
            !matches!(**by, Expr::Int(divisor) if divisor > 0)
        }
        Expr::Binary(op, ..) => *op == BinaryOp::Xor,
        _ => false,
    };
    !divides && expr.parts().into_iter().all(always_defined)
}

/// Whether an expression counts.
fn counts(expr: &Expr) -> bool {
    matches!(expr, Expr::Count { .. }) || expr.parts().into_iter().any(counts)
}

/// The predicate that stands for a pattern.
fn predicate(pattern: &str) -> String {
    format!("pattern_{pattern}")
}

/// The first of two where `a <= b`, and the second otherwise. Each occurs twice, so terms double with every level.
///
/// # Errors
///
/// A term that is too large.
pub fn chosen(a: &Term, b: &Term, [first, second]: [&Term; 2]) -> Result<Term, Unsupported> {
    let chosen = term::ite(&term::le(a, b), first, second);
    match chosen.length() > LONGEST {
        true => Err(Unsupported::whole("an expression that is too large")),
        false => Ok(chosen),
    }
}

fn unknown() -> Unsupported {
    Unsupported::whole("a name without a value")
}
