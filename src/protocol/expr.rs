//! Expressions over parameters, indices and patterns.
//!
//! Every expression is either an integer or a truth value. `text::resolve` rejects all others, so code that reads
//! this tree may rely on it being well typed. `let` functions are expanded already. Integers are unbounded in
//! meaning: the interpreter reports an overflow instead of wrapping, and the symbolic side uses mathematical
//! integers.

use super::PatternId;

/// A declared parameter, by its position in [`super::Protocol::params`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ParamId(pub usize);

/// A bound name (role index, loop variable, counting variable or local variable), by its
/// position in [`super::Protocol::vars`]. Every binder has a `VarId` of its own, so
/// substitution never captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VarId(pub usize);

/// A binary operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// Sum of integers.
    Add,
    /// Difference of integers.
    Sub,
    /// Product of integers.
    Mul,
    /// Quotient rounded toward minus infinity. The divisor must be positive; the interpreter
    /// reports an error otherwise and every proof has to show that it is.
    Div,
    /// Remainder in `0..divisor`. The divisor must be positive, as for [`BinaryOp::Div`].
    Mod,
    /// The lesser of two integers.
    Min,
    /// The greater of two integers.
    Max,
    /// Bitwise exclusive or. Both sides must be 0 or 1 (phases).
    Xor,
    /// Equality of integers.
    Eq,
    /// Inequality of integers.
    Ne,
    /// `<` on integers.
    Lt,
    /// `<=` on integers.
    Le,
    /// `>` on integers.
    Gt,
    /// `>=` on integers.
    Ge,
    /// Conjunction; the right side is not evaluated where the left is false.
    And,
    /// Disjunction; the right side is not evaluated where the left is true.
    Or,
}

/// An integer or truth-valued expression.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Expr {
    /// An integer literal.
    Int(i64),
    /// A truth literal.
    Bool(bool),
    /// The value of a parameter.
    Param(ParamId),
    /// The value of a bound name.
    Var(VarId),
    /// Minus an integer.
    Neg(Box<Expr>),
    /// Negation of a truth value.
    Not(Box<Expr>),
    /// A binary operation.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `if c then a else b`, both branches of one type.
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// Whether a pattern holds at these coordinates; false outside the pattern's extents.
    Visits(PatternId, Vec<Expr>),
    /// `count(var in lo..hi where body)`: how many integers of the half-open range satisfy
    /// `body`; 0 when the range is empty.
    Count {
        /// The counting variable.
        var: VarId,
        /// First value tried.
        lo: Box<Expr>,
        /// One past the last value tried.
        hi: Box<Expr>,
        /// The condition, a truth value.
        body: Box<Expr>,
    },
}

impl Expr {
    /// Builds a binary operation.
    pub fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
        Expr::Binary(op, Box::new(left), Box::new(right))
    }

    /// Its direct parts.
    pub fn parts(&self) -> Vec<&Expr> {
        match self {
            Expr::Int(_) | Expr::Bool(_) | Expr::Param(_) | Expr::Var(_) => Vec::new(),
            Expr::Neg(e) | Expr::Not(e) => vec![e],
            Expr::Binary(_, a, b) => vec![a, b],
            Expr::If(c, a, b) => vec![c, a, b],
            Expr::Visits(_, at) => at.iter().collect(),
            Expr::Count { lo, hi, body, .. } => vec![lo, hi, body],
        }
    }

    /// Conjunction of any number of truth values; `true` when there are none.
    pub fn all(parts: impl IntoIterator<Item = Expr>) -> Expr {
        parts
            .into_iter()
            .filter(|part| *part != Expr::Bool(true))
            .reduce(|a, b| Expr::binary(BinaryOp::And, a, b))
            .unwrap_or(Expr::Bool(true))
    }

    /// Replaces bound names by expressions. Binders are unique across a protocol, so nothing
    /// can be captured.
    pub fn substitute(&self, lookup: &dyn Fn(VarId) -> Option<Expr>) -> Expr {
        let go = |e: &Expr| Box::new(e.substitute(lookup));
        match self {
            Expr::Int(_) | Expr::Bool(_) | Expr::Param(_) => self.clone(),
            Expr::Var(v) => lookup(*v).unwrap_or_else(|| self.clone()),
            Expr::Neg(e) => Expr::Neg(go(e)),
            Expr::Not(e) => Expr::Not(go(e)),
            Expr::Binary(op, a, b) => Expr::Binary(*op, go(a), go(b)),
            Expr::If(c, a, b) => Expr::If(go(c), go(a), go(b)),
            Expr::Visits(p, at) => {
                Expr::Visits(*p, at.iter().map(|e| e.substitute(lookup)).collect())
            }
            Expr::Count { var, lo, hi, body } => Expr::Count {
                var: *var,
                lo: go(lo),
                hi: go(hi),
                body: go(body),
            },
        }
    }
}
