//! Facts about sums of trip counts, see [`lengths`](super::cut::lengths).

use std::collections::BTreeSet;

use super::cut::lengths;
use super::term;
use super::term::Term;
use crate::protocol::Expr;

/// The sum of a length over the iterations of a loop.
pub struct Sum {
    /// The length.
    pub text: String,
    /// The points that occur.
    pub points: BTreeSet<Term>,
    /// If this length is the lesser of a number and another length: the number, and the text of the other length.
    least: Option<(i64, String)>,
}

impl Sum {
    /// A sum without points.
    pub fn new(text: String, terms: &Expr) -> Sum {
        Sum {
            text,
            points: BTreeSet::new(),
            least: lengths::least(terms).map(|(most, of)| (most, format!("{of:?}"))),
        }
    }
}

/// The facts that sums of lengths do not decrease. At every step, a sum of terms `min(m, f)` grows by at most `m`,
/// and by at most as much as the sum of the terms `f`. If `m` is at least 1, it grows whenever the latter sum grows.
pub fn facts(sums: &[Sum]) -> Vec<Term> {
    let mut facts = Vec::new();
    for (position, sum) in sums.iter().enumerate() {
        let symbol = |position: usize| format!("sum_{position}");
        let at = |position, x: &Term| term::apply(&symbol(position), std::slice::from_ref(x));
        let grown = |of, p: &Term, q: &Term| term::sub(&at(of, q), &at(of, p));
        let most = sum.least.as_ref().map(|(most, _)| *most);
        let whole = sum.least.as_ref().and_then(|(_, text)| {
            let mut all = sums.iter();
            all.position(|known| known.text == *text)
        });
        let others = whole.and_then(|whole| sums.get(whole));
        let others = others.into_iter().flat_map(|other| &other.points);
        let points: BTreeSet<&Term> = sum.points.iter().chain(others).collect();
        for (p, q) in itertools::iproduct!(&points, &points).filter(|(p, q)| p != q) {
            let mut all = vec![term::le(&at(position, p), &at(position, q))];
            if let Some(most) = most {
                let steps = term::product([term::int(most), term::sub(q, p)]);
                all.push(term::le(&grown(position, p, q), &steps));
            }
            if let Some(whole) = whole {
                all.push(term::le(&grown(position, p, q), &grown(whole, p, q)));
                if most >= Some(1) {
                    let still = term::le(&grown(whole, p, q), &term::int(0));
                    let grows = term::le(&term::int(1), &grown(position, p, q));
                    all.push(term::or([still, grows]));
                }
            }
            facts.push(term::or([term::lt(q, p), term::and(all)]));
        }
    }
    facts
}
