//! Domains of parameters, narrowed by simple assumptions.

use super::BinaryOp;
use super::Domain;
use super::Expr;
use super::ParamId;
use super::Protocol;

impl Protocol {
    /// The same protocol with smaller domains: each domain contains only the values that plain assumptions allow. A
    /// plain assumption compares a parameter with a number. This is for searches over values: with `assume T >= 128`,
    /// small values begin at 128.
    pub fn tightened(&self) -> Protocol {
        let mut tight = self.clone();
        for assumption in &self.assumptions {
            tight.require(&assumption.condition);
        }
        tight
    }

    fn require(&mut self, condition: &Expr) {
        let Expr::Binary(op, a, b) = condition else {
            return;
        };
        if *op == BinaryOp::And {
            self.require(a);
            self.require(b);
            return;
        }
        let (param, op, number) = match (&**a, &**b) {
            (Expr::Param(id), Expr::Int(k)) => (*id, *op, *k),
            (Expr::Int(k), Expr::Param(id)) => (*id, turned(*op), *k),
            _ => return,
        };
        match op {
            BinaryOp::Ge => self.bound(param, number, i64::MAX),
            BinaryOp::Gt => match number.checked_add(1) {
                Some(least) => self.bound(param, least, i64::MAX),
                None => self.bound(param, i64::MAX, i64::MIN),
            },
            BinaryOp::Le => self.bound(param, i64::MIN, number),
            BinaryOp::Lt => match number.checked_sub(1) {
                Some(most) => self.bound(param, i64::MIN, most),
                None => self.bound(param, i64::MAX, i64::MIN),
            },
            BinaryOp::Eq => self.bound(param, number, number),
            _ => {}
        }
    }

    fn bound(&mut self, param: ParamId, least: i64, most: i64) {
        let domain = &mut self.params[param.0].domain;
        *domain = match std::mem::replace(domain, Domain::Set(Vec::new())) {
            Domain::AtLeast(lo) if most == i64::MAX => Domain::AtLeast(lo.max(least)),
            Domain::AtLeast(lo) => range(lo.max(least), most),
            Domain::Range(lo, hi) => range(lo.max(least), hi.min(most)),
            Domain::Set(values) => {
                let kept = values.into_iter().filter(|v| (least..=most).contains(v));
                Domain::Set(kept.collect())
            }
        };
    }
}

/// A range, or no value at all.
fn range(lo: i64, hi: i64) -> Domain {
    if lo <= hi {
        Domain::Range(lo, hi)
    } else {
        Domain::Set(Vec::new())
    }
}

/// The comparison with its sides exchanged.
fn turned(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Lt => BinaryOp::Gt,
        BinaryOp::Le => BinaryOp::Ge,
        BinaryOp::Gt => BinaryOp::Lt,
        BinaryOp::Ge => BinaryOp::Le,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use crate::text;

    use super::*;

    #[test]
    fn plain_assumptions_bound_domains() {
        let text = "protocol p param T in 1.. param N in 0..=9 param K in {2, 4, 8} param M in 1.. param L in 0..
            assume L > 9223372036854775807
            assume T >= 128 && 5 > N assume K != 2 && K <= 4 assume M == 0 assume T * N < M + 1000
            role nobody {}";
        let tight = text::load(text.as_bytes()).unwrap().tightened();
        let domains: Vec<&Domain> = tight.params.iter().map(|p| &p.domain).collect();
        assert_eq!(
            domains,
            [
                &Domain::AtLeast(128),
                &Domain::Range(0, 4),
                &Domain::Set(vec![2, 4]),
                &Domain::Set(Vec::new()),
                &Domain::Set(Vec::new()),
            ]
        );
    }
}
