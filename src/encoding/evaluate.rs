//! Evaluates protocol expressions to symbolic values, inside a box.
//!
//! A *box* bounds every extent and every loop, so that counts and loops can be unrolled. Whenever an expression stays
//! inside the box only under a condition, this condition becomes a constraint of the search. So the answer of a
//! search is about the inputs inside the box only, and it says so.

use std::collections::HashMap;

use z3::FuncDecl;
use z3::Sort;
use z3::ast::Ast;
use z3::ast::Bool;
use z3::ast::Dynamic;
use z3::ast::Int;

use super::value::Num;
use super::value::Truth;
use crate::protocol::BinaryOp;
use crate::protocol::Domain;
use crate::protocol::Expr;
use crate::protocol::ParamId;
use crate::protocol::PatternId;
use crate::protocol::Protocol;
use crate::protocol::VarId;

/// The longest range with known ends that is unrolled even if it is longer than the box.
const WRITTEN_OUT: i64 = 1024;

/// A value of either type.
#[derive(Debug, Clone)]
pub enum Value {
    /// An integer.
    Num(Num),
    /// A truth value.
    Truth(Truth),
}

/// The values of bound names.
pub type Env = HashMap<VarId, Value>;

/// Evaluates expressions and gathers the constraints that keep them inside the box.
pub struct Evaluator<'p> {
    /// The protocol.
    pub protocol: &'p Protocol,
    /// One value per parameter.
    pub params: Vec<Num>,
    /// How large extents and loops may be.
    pub size: i64,
    /// Domain, assumptions and box.
    pub constraints: Vec<Bool>,
    /// The path condition: the expression at hand is evaluated only if this holds.
    pub guard: Truth,
    /// Whether ranges with a symbolic start may start anywhere.
    pub relative: bool,
    /// Whether a range with a symbolic start was met.
    pub has_open_start: bool,
    patterns: Vec<FuncDecl>,
}

impl<'p> Evaluator<'p> {
    /// Sets up the parameters, some of them fixed, and constrains them to their domain and
    /// assumptions.
    pub fn new(
        protocol: &'p Protocol,
        fixed: &[(ParamId, i64)],
        size: i64,
        relative: bool,
    ) -> Evaluator<'p> {
        let params = protocol
            .params
            .iter()
            .enumerate()
            .map(
                |(at, param)| match fixed.iter().find(|(id, _)| id.0 == at) {
                    Some((_, value)) => Num::Known(*value),
                    None => Num::Term(Int::new_const(format!("param_{}", param.name))),
                },
            )
            .collect();
        let patterns = protocol
            .patterns
            .iter()
            .map(|pattern| {
                let int = Sort::int();
                let domain: Vec<&Sort> = pattern.extents.iter().map(|_| &int).collect();
                FuncDecl::new(format!("pattern_{}", pattern.name), &domain, &Sort::bool())
            })
            .collect();
        let mut evaluator = Evaluator {
            protocol,
            params,
            size,
            constraints: Vec::new(),
            guard: Truth::Known(true),
            relative,
            has_open_start: false,
            patterns,
        };
        evaluator.constrain_domain();
        evaluator
    }

    fn constrain_domain(&mut self) {
        for (param, value) in self.protocol.params.iter().zip(self.params.clone()) {
            let inside = match &param.domain {
                Domain::AtLeast(lo) => Num::Known(*lo).at_most(&value),
                Domain::Range(lo, hi) => Truth::all([
                    Num::Known(*lo).at_most(&value),
                    value.at_most(&Num::Known(*hi)),
                ]),
                Domain::Set(values) => {
                    Truth::any(values.iter().map(|v| value.equals(&Num::Known(*v))))
                }
            };
            self.require(&inside);
        }
        for assumption in &self.protocol.assumptions {
            let holds = self.truth(&assumption.condition, &Env::new());
            self.require(&holds);
        }
        for (at, pattern) in self.protocol.patterns.iter().enumerate() {
            for extent in &pattern.extents {
                let extent = self.num(extent, &Env::new());
                self.require(&extent.at_most(&Num::Known(self.size)));
            }
            // The interpreter evaluates a definition at every tile, even if no one asks for the tile.
            if pattern.definition.is_some() {
                let known = |c: Vec<i64>| c.into_iter().map(Num::Known).collect::<Vec<_>>();
                for coordinates in grid(&vec![self.size; pattern.extents.len()]) {
                    self.visits(PatternId(at), &known(coordinates));
                }
            }
        }
    }

    /// Adds a constraint that has to hold only if the current guard does.
    pub fn require(&mut self, condition: &Truth) {
        match self.guard.implies(condition) {
            Truth::Known(true) => {}
            constraint => self.constraints.push(constraint.term()),
        }
    }

    /// Evaluates something under the current guard and this condition.
    pub fn under<T>(&mut self, condition: &Truth, run: impl FnOnce(&mut Self) -> T) -> T {
        let stronger = Truth::all([self.guard.clone(), condition.clone()]);
        let outer = std::mem::replace(&mut self.guard, stronger);
        let result = run(self);
        self.guard = outer;
        result
    }

    /// Evaluates an integer expression. The resolver has checked its type.
    pub fn num(&mut self, expr: &Expr, env: &Env) -> Num {
        match self.value(expr, env) {
            Value::Num(num) => num,
            Value::Truth(truth) => truth.count(),
        }
    }

    /// Evaluates a truth-valued expression. The resolver has checked its type.
    pub fn truth(&mut self, expr: &Expr, env: &Env) -> Truth {
        match self.value(expr, env) {
            Value::Truth(truth) => truth,
            Value::Num(num) => num.equals(&Num::Known(0)).not(),
        }
    }

    fn value(&mut self, expr: &Expr, env: &Env) -> Value {
        match expr {
            Expr::Int(value) => Value::Num(Num::Known(*value)),
            Expr::Bool(value) => Value::Truth(Truth::Known(*value)),
            Expr::Param(id) => Value::Num(self.params[id.0].clone()),
            Expr::Var(var) => {
                // The interpreter reports an error if a local variable is read before it is assigned. So any value
                // will do here, because the replay decides.
                env.get(var).cloned().unwrap_or(Value::Num(Num::Known(0)))
            }
            Expr::Neg(e) => Value::Num(Num::Known(0).minus(&self.num(e, env))),
            Expr::Not(e) => Value::Truth(self.truth(e, env).not()),
            Expr::Binary(op, a, b) => self.binary(*op, a, b, env),
            Expr::If(c, a, b) => {
                let c = self.truth(c, env);
                let a = self.under(&c, |this| this.value(a, env));
                let b = self.under(&c.not(), |this| this.value(b, env));
                match (a, b) {
                    (Value::Truth(a), Value::Truth(b)) => Value::Truth(c.choose_truth(&a, &b)),
                    (Value::Num(a), Value::Num(b)) => Value::Num(c.choose(&a, &b)),
                    (a, _) => a,
                }
            }
            Expr::Visits(pattern, at) => {
                let at: Vec<Num> = at.iter().map(|e| self.num(e, env)).collect();
                Value::Truth(self.visits(*pattern, &at))
            }
            Expr::Count { var, lo, hi, body } => {
                let (lo, hi) = (self.num(lo, env), self.num(hi, env));
                let mut parts = Vec::new();
                for (value, inside) in self.range(&lo, &hi) {
                    let mut env = env.clone();
                    env.insert(*var, Value::Num(value));
                    let holds = self.under(&inside, |this| this.truth(body, &env));
                    parts.push(Truth::all([inside, holds]).count());
                }
                Value::Num(Num::sum(parts))
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, a: &Expr, b: &Expr, env: &Env) -> Value {
        if let BinaryOp::And | BinaryOp::Or = op {
            let a = self.truth(a, env);
            let reached = if op == BinaryOp::And {
                a.clone()
            } else {
                a.not()
            };
            let b = self.under(&reached, |this| this.truth(b, env));
            return Value::Truth(match op {
                BinaryOp::And => Truth::all([a, b]),
                _ => Truth::any([a, b]),
            });
        }
        let (a, b) = (self.num(a, env), self.num(b, env));
        match op {
            BinaryOp::Add => Value::Num(a.plus(&b)),
            BinaryOp::Sub => Value::Num(a.minus(&b)),
            BinaryOp::Mul => Value::Num(a.times(&b)),
            BinaryOp::Div | BinaryOp::Mod => {
                self.require(&Num::Known(0).less(&b));
                Value::Num(if op == BinaryOp::Div {
                    a.over(&b)
                } else {
                    a.modulo(&b)
                })
            }
            BinaryOp::Min => Value::Num(a.at_most(&b).choose(&a, &b)),
            BinaryOp::Max => Value::Num(a.at_most(&b).choose(&b, &a)),
            BinaryOp::Xor => {
                for side in [&a, &b] {
                    self.require(&Num::Known(0).at_most(side));
                    self.require(&side.at_most(&Num::Known(1)));
                }
                Value::Num(a.equals(&b).not().count())
            }
            BinaryOp::Eq => Value::Truth(a.equals(&b)),
            BinaryOp::Ne => Value::Truth(a.equals(&b).not()),
            BinaryOp::Lt => Value::Truth(a.less(&b)),
            BinaryOp::Le => Value::Truth(a.at_most(&b)),
            BinaryOp::Gt => Value::Truth(b.less(&a)),
            BinaryOp::Ge => Value::Truth(b.at_most(&a)),
            BinaryOp::And | BinaryOp::Or => Value::Truth(Truth::Known(true)),
        }
    }

    /// Whether the pattern holds at these coordinates: false outside its extents.
    pub fn visits(&mut self, pattern: PatternId, at: &[Num]) -> Truth {
        let declared = &self.protocol.patterns[pattern.0];
        let mut parts = Vec::new();
        for (extent, x) in declared.extents.iter().zip(at) {
            let extent = self.num(extent, &Env::new());
            parts.push(Num::Known(0).at_most(x));
            parts.push(x.less(&extent));
        }
        let inside = Truth::all(parts);
        let holds = match &declared.definition {
            Some((vars, condition)) => {
                let env: Env = vars
                    .iter()
                    .copied()
                    .zip(at.iter().cloned().map(Value::Num))
                    .collect();
                self.under(&inside, |this| this.truth(condition, &env))
            }
            None => {
                let at: Vec<Int> = at.iter().map(Num::term).collect();
                let at: Vec<&dyn Ast> = at.iter().map(|x| x as &dyn Ast).collect();
                let applied: Dynamic = self.patterns[pattern.0].apply(&at);
                applied.as_bool().map_or(Truth::Known(false), Truth::Term)
            }
        };
        Truth::all([inside, holds])
    }

    /// The values that a half-open range may contain inside the box, each with the condition under which it does. A
    /// constraint excludes ranges that leave the box.
    ///
    /// If the start is symbolic, the range is assumed to lie within `0..size`, so that its values are known. With
    /// [`Evaluator::relative`] the range may start anywhere, and its values are symbolic.
    pub fn range(&mut self, lo: &Num, hi: &Num) -> Vec<(Num, Truth)> {
        let (first, end) = match (lo, hi) {
            (Num::Known(lo), Num::Known(hi)) if hi.saturating_sub(*lo) <= WRITTEN_OUT => {
                (*lo, (*hi).max(*lo))
            }
            (Num::Known(lo), _) => (*lo, lo.saturating_add(self.size)),
            (Num::Term(_), _) if self.relative => return self.relative_range(lo, hi),
            (Num::Term(_), _) => {
                self.has_open_start = true;
                (0, self.size)
            }
        };
        let fits = Truth::all([Num::Known(first).at_most(lo), hi.at_most(&Num::Known(end))]);
        self.require(&Truth::any([hi.at_most(lo), fits]));
        (first..end)
            .map(|value| {
                let known = Num::Known(value);
                let inside = Truth::all([lo.at_most(&known), known.less(hi)]);
                (known, inside)
            })
            .collect()
    }

    fn relative_range(&mut self, lo: &Num, hi: &Num) -> Vec<(Num, Truth)> {
        let end = lo.plus(&Num::Known(self.size));
        self.require(&hi.at_most(&end));
        (0..self.size)
            .map(|nth| {
                let value = lo.plus(&Num::Known(nth));
                let inside = value.less(hi);
                (value, inside)
            })
            .collect()
    }
}

/// Every point of a grid, the last coordinate fastest.
pub fn grid(extents: &[i64]) -> Vec<Vec<i64>> {
    let mut points = vec![Vec::new()];
    for extent in extents {
        let mut longer = Vec::new();
        for point in points {
            for value in 0..*extent {
                let mut point: Vec<i64> = point.clone();
                point.push(value);
                longer.push(point);
            }
        }
        points = longer;
    }
    points
}
