//! Guesses the closed form of a loop-carried variable from one symbolic iteration.
//!
//! It knows these forms: sums, sums modulo a number, indices that wrap, phases that flip when an index wraps, and values
//! that the previous iteration has set. Soundness does not depend on the guess: the claims of the loop say whether it is
//! right.

use std::collections::HashMap;

use super::Path;
use super::builder::Builder;
use super::builder::Values;
use crate::certificate::cut::algebra;
use crate::certificate::cut::polynomial::Polynomial;
use crate::certificate::program::Unsupported;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::Stmt;
use crate::protocol::VarId;

impl Builder<'_> {
    /// Guesses the closed forms of the variables a loop changes, in terms of their values at its
    /// beginning and the number of the iteration. The claims say whether the guess is right.
    pub(super) fn closed_forms(
        &mut self,
        stmt: &Stmt,
        body: &[Stmt],
        carried: &[VarId],
        head: &Values,
        nth: VarId,
        path: &Path,
    ) -> Result<Vec<(VarId, Expr)>, Unsupported> {
        if carried.is_empty() {
            return Ok(Vec::new());
        }
        // One iteration from unknown values: a dry run whose sites and claims are dropped.
        let mut symbols = HashMap::new();
        let mut values = head.clone();
        for var in carried {
            let symbol = self.fresh();
            symbols.insert(*var, symbol);
            values.insert(*var, Expr::Var(symbol));
        }
        let mut dry = Builder {
            number: self.number,
            protocol: self.protocol,
            fixed: self.fixed,
            own: self.own,
            any_length: self.any_length,
            next: self.next,
            flow: self.flow.clone(),
        };
        dry.block(body, &mut values, path)?;
        self.next = dry.next;
        let mut forms: Vec<(VarId, Expr)> = Vec::new();
        // What is known of one variable may be what another one's change needs.
        while forms.len() < carried.len() {
            let changes = Changes {
                symbols: &symbols,
                values: &values,
                nth,
            };
            // A variable may go with another: a phase with the index whose wrap flips it.
            let mut wraps = HashMap::new();
            for var in symbols.keys() {
                if let Some(wrap) = changes.wrap(*var) {
                    wraps.insert(*var, wrap);
                }
            }
            let open = carried.iter().filter(|v| symbols.contains_key(v));
            let found: Vec<(VarId, Expr)> = open
                .filter_map(|var| Some((*var, changes.form(*var, head, &wraps)?)))
                .collect();
            if found.is_empty() {
                let var = carried.iter().find(|v| symbols.contains_key(v));
                let name = var.map_or("?", |v| self.name(*v));
                return Err(Unsupported::at(
                    stmt.span,
                    format!(
                        "how this loop changes `{name}`, which is neither a count by a constant step nor a stage that wraps with its phase"
                    ),
                ));
            }
            let known: HashMap<VarId, Expr> = found
                .iter()
                .filter_map(|(var, form)| Some((symbols.remove(var)?, form.clone())))
                .collect();
            for value in values.values_mut() {
                *value = algebra::substitute(value, &known);
            }
            forms.extend(found);
        }
        forms.sort_by_key(|(var, _)| *var);
        Ok(forms)
    }
}

/// What one iteration does to the carried variables.
struct Changes<'a> {
    /// What stands for a variable's value at the beginning of the iteration.
    symbols: &'a HashMap<VarId, VarId>,
    /// The values at its end.
    values: &'a Values,
    /// The number of the iteration.
    nth: VarId,
}

/// An index that grows by the same amount each time, and drops by a modulus when it has reached it.
struct Wrap {
    modulus: Expr,
    by: Expr,
}

/// How a variable changes in one iteration.
enum Change {
    /// It grows by this.
    Plus(Expr),
    /// It grows by this modulo that.
    Modulo(Expr, Expr),
}

impl Changes<'_> {
    fn free(&self, expr: &Expr) -> bool {
        !self.symbols.values().any(|s| algebra::mentions(expr, *s))
    }

    fn form(&self, var: VarId, head: &Values, wraps: &HashMap<VarId, Wrap>) -> Option<Expr> {
        let entry = head[&var].clone();
        let nth = Expr::Var(self.nth);
        let grown = |by: &Expr| algebra::mul(by.clone(), nth.clone());
        if let Some(wrap) = wraps.get(&var) {
            let sum = algebra::add(entry, grown(&wrap.by));
            return Some(algebra::binary(BinaryOp::Mod, sum, wrap.modulus.clone()));
        }
        if let Some((index, wrap)) = self.flips_with(var, wraps) {
            let sum = algebra::add(head[&index].clone(), grown(&wrap.by));
            let rounds = algebra::binary(BinaryOp::Div, sum, wrap.modulus.clone());
            let flips = algebra::add(entry, rounds);
            return Some(algebra::binary(BinaryOp::Mod, flips, Expr::Int(2)));
        }
        if let Some((index, by, modulus)) = self.carries_from(var) {
            let sum = algebra::add(head[&index].clone(), algebra::sum(&by, self.nth, &nth)?);
            let rounds = algebra::binary(BinaryOp::Div, sum, modulus);
            let flips = algebra::add(entry, rounds);
            return Some(algebra::binary(BinaryOp::Mod, flips, Expr::Int(2)));
        }
        let after = &self.values[&var];
        if self.free(after) {
            // It holds what the iteration before has set.
            let before = algebra::sub(nth.clone(), Expr::Int(1));
            let set = algebra::at(after, self.nth, &before);
            let first = algebra::binary(BinaryOp::Eq, nth, Expr::Int(0));
            return Some(algebra::choose(first, entry, set));
        }
        match self.change(var, after)? {
            Change::Plus(by) => Some(algebra::add(entry, algebra::sum(&by, self.nth, &nth)?)),
            Change::Modulo(by, modulus) => {
                let total = algebra::add(entry, algebra::sum(&by, self.nth, &nth)?);
                Some(algebra::binary(BinaryOp::Mod, total, modulus))
            }
        }
    }

    /// The index, its growth and its modulus, if this variable is a bit that flips whenever the
    /// index wraps: `(bit + (index + growth) / modulus) % 2`.
    fn carries_from(&self, var: VarId) -> Option<(VarId, Expr, Expr)> {
        let Expr::Binary(BinaryOp::Mod, sum, two) = &self.values[&var] else {
            return None;
        };
        let Expr::Binary(BinaryOp::Add, own, rounds) = &**sum else {
            return None;
        };
        let Expr::Binary(BinaryOp::Div, grown, modulus) = &**rounds else {
            return None;
        };
        if **two != Expr::Int(2) || **own != Expr::Var(self.symbols[&var]) {
            return None;
        }
        self.symbols.iter().find_map(|(index, symbol)| {
            let (1, by) = algebra::linear(grown, *symbol)? else {
                return None;
            };
            (self.free(&by) && self.free(modulus)).then(|| (*index, by, (**modulus).clone()))
        })
    }

    fn change(&self, var: VarId, after: &Expr) -> Option<Change> {
        let symbol = self.symbols[&var];
        let own = Expr::Var(symbol);
        match after {
            Expr::If(c, a, b) if self.free(c) => {
                let merged = |a: Expr, b: Expr| algebra::choose((**c).clone(), a, b);
                match (self.change(var, a)?, self.change(var, b)?) {
                    (Change::Plus(a), Change::Plus(b)) => Some(Change::Plus(merged(a, b))),
                    (Change::Modulo(a, m), Change::Modulo(b, n)) if m == n => {
                        Some(Change::Modulo(merged(a, b), m))
                    }
                    (Change::Modulo(a, m), Change::Plus(b)) => {
                        Some(Change::Modulo(merged(a, b), m))
                    }
                    (Change::Plus(a), Change::Modulo(b, m)) => {
                        Some(Change::Modulo(merged(a, b), m))
                    }
                    _ => None,
                }
            }
            Expr::Binary(BinaryOp::Xor, a, b) => {
                let (inner, by) = if self.free(b) { (a, b) } else { (b, a) };
                match self.change(var, inner)? {
                    Change::Plus(Expr::Int(0)) if self.free(by) => {
                        Some(Change::Modulo((**by).clone(), Expr::Int(2)))
                    }
                    Change::Modulo(first, m) if self.free(by) && m == Expr::Int(2) => {
                        Some(Change::Modulo(algebra::add(first, (**by).clone()), m))
                    }
                    _ => None,
                }
            }
            Expr::Binary(BinaryOp::Mod, a, m) if self.free(m) => match self.change(var, a)? {
                Change::Plus(by) => Some(Change::Modulo(by, (**m).clone())),
                Change::Modulo(..) => None,
            },
            _ => match algebra::linear(after, symbol)? {
                (1, by) if self.free(&by) => Some(Change::Plus(by)),
                // `1 - phase`
                (-1, Expr::Int(1)) => Some(Change::Modulo(Expr::Int(1), Expr::Int(2))),
                (0, by) if by == own => Some(Change::Plus(Expr::Int(0))),
                _ => None,
            },
        }
    }

    /// How a variable wraps, if it grows by the same amount each time, and drops by a modulus when
    /// it has reached it.
    fn wrap(&self, var: VarId) -> Option<Wrap> {
        let symbol = self.symbols[&var];
        let growth = |grown: &Expr| match algebra::linear(grown, symbol)? {
            (1, by) if self.free(&by) && !algebra::mentions(&by, self.nth) => Some(by),
            _ => None,
        };
        let (c, a, b) = match &self.values[&var] {
            Expr::If(c, a, b) => (c, a, b),
            Expr::Binary(BinaryOp::Mod, sum, m) if self.free(m) => {
                let (by, modulus) = (growth(sum)?, (**m).clone());
                let ones = by == Expr::Int(1);
                return ones.then_some(Wrap { modulus, by });
            }
            _ => return None,
        };
        let (wraps, a, b) = wrapping(c, a, b);
        let by = growth(b)?;
        let modulus = self.at_modulus(&wraps, symbol, &by)?;
        let ones = by == Expr::Int(1);
        let rest = Polynomial::of(b)
            .minus(&Polynomial::of(&modulus))
            .minus(&Polynomial::of(a));
        let begins = *a == Expr::Int(0) && ones || rest.to_expr() == Some(Expr::Int(0));
        begins.then_some(Wrap { modulus, by })
    }

    /// `m`, if the condition says that `symbol + by` is (or is at least) `m`.
    fn at_modulus(&self, condition: &Expr, symbol: VarId, by: &Expr) -> Option<Expr> {
        let Expr::Binary(op @ (BinaryOp::Eq | BinaryOp::Ge), a, b) = condition else {
            return None;
        };
        if *op == BinaryOp::Eq && *by != Expr::Int(1) {
            return None;
        }
        let (1, beta) = algebra::linear(a, symbol)? else {
            return None;
        };
        // a = symbol + beta reaches b when symbol + by reaches b - beta + by.
        let modulus = algebra::add(algebra::sub((**b).clone(), beta), by.clone());
        self.free(&modulus).then_some(modulus)
    }

    /// The index whose wrap flips this variable.
    fn flips_with<'w>(
        &self,
        var: VarId,
        wraps: &'w HashMap<VarId, Wrap>,
    ) -> Option<(VarId, &'w Wrap)> {
        let own = Expr::Var(self.symbols[&var]);
        let condition = match &self.values[&var] {
            Expr::If(c, a, b) => {
                let (c, a, b) = wrapping(c, a, b);
                let flipped = [
                    Expr::binary(BinaryOp::Xor, own.clone(), Expr::Int(1)),
                    Expr::binary(BinaryOp::Xor, Expr::Int(1), own.clone()),
                    Expr::binary(BinaryOp::Sub, Expr::Int(1), own.clone()),
                ];
                (*b == own && flipped.contains(a)).then_some(c)?
            }
            Expr::Binary(BinaryOp::Xor, a, b) => match &**b {
                Expr::If(c, one, none)
                    if **a == own && **one == Expr::Int(1) && **none == Expr::Int(0) =>
                {
                    (**c).clone()
                }
                _ => return None,
            },
            _ => return None,
        };
        let found = wraps.iter().filter(|(index, wrap)| {
            let symbol = self.symbols[*index];
            let reached = self.at_modulus(&condition, symbol, &wrap.by);
            // Or it tests whether the index has begun anew.
            let anew = matches!(&condition, Expr::Binary(BinaryOp::Eq, a, b)
                if **a == self.values[*index] && **b == Expr::Int(0));
            reached.as_ref() == Some(&wrap.modulus) || anew && wrap.by == Expr::Int(1)
        });
        let first = found.min_by_key(|(index, _)| **index);
        first.map(|(index, wrap)| (*index, wrap))
    }
}

/// A branch with the side first where an index has come to its modulus: `if s < S - 1 then s + 1 else 0` is the same the other way
/// round.
fn wrapping<'e>(condition: &Expr, a: &'e Expr, b: &'e Expr) -> (Expr, &'e Expr, &'e Expr) {
    match condition {
        Expr::Binary(BinaryOp::Lt, x, y) => {
            (Expr::Binary(BinaryOp::Ge, x.clone(), y.clone()), b, a)
        }
        Expr::Binary(BinaryOp::Ne, x, y) => {
            (Expr::Binary(BinaryOp::Eq, x.clone(), y.clone()), b, a)
        }
        other => (other.clone(), a, b),
    }
}
