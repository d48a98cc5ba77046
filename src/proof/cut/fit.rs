//! Fits a number that was observed at many concrete values to a short form over the known quantities.

use std::collections::HashMap;
use std::rc::Rc;

use crate::certificate::cut::artefact::Form;
use crate::certificate::cut::artefact::Product;
use crate::certificate::cut::artefact::Quantity;

/// One observation.
#[derive(Debug, Clone)]
pub struct Point {
    /// The values of the leading products, in the order of [`Basis::leading`].
    pub leading: Vec<i64>,
    /// The values of the remaining products, in the order of [`Basis::rest`].
    pub rest: Vec<i64>,
    /// What was observed.
    pub observed: Observed,
}

/// What is known of the number.
#[derive(Debug, Clone)]
pub enum Observed {
    /// Its value.
    Exactly(i64),
    /// A lower bound for its place: if the number is a key of the map, the place there is at least this.
    NotBefore(Rc<HashMap<i64, usize>>, usize),
}

/// The products that a form may be made of, besides a constant.
#[derive(Debug, Clone, Default)]
pub struct Basis {
    /// At most one of these, with the coefficient 1.
    pub leading: Vec<Vec<Quantity>>,
    /// Up to two of these, with small coefficients.
    pub rest: Vec<Vec<Quantity>>,
}

const COEFFICIENTS: [i64; 6] = [1, -1, 2, -2, 3, -3];

/// The simplest form that agrees with every observation.
pub fn fit(basis: &Basis, points: &[Point]) -> Option<Form> {
    let anchor = points.iter().find_map(|p| match p.observed {
        Observed::Exactly(value) => Some((p, value)),
        Observed::NotBefore(..) => None,
    })?;
    let rest = basis.rest.len();
    let mut choices: Vec<Vec<(usize, i64)>> = vec![Vec::new()];
    for a in 0..rest {
        choices.extend(COEFFICIENTS.map(|x| vec![(a, x)]));
    }
    for a in 0..rest {
        for b in a + 1..rest {
            for x in COEFFICIENTS {
                choices.extend(COEFFICIENTS.map(|y| vec![(a, x), (b, y)]));
            }
        }
    }
    let leading = (0..basis.leading.len()).map(Some).chain([None]);
    let leading: Vec<Option<usize>> = leading.collect();
    for choice in &choices {
        for lead in &leading {
            let sum = |p: &Point| {
                let first = lead.map_or(0, |at| p.leading[at]);
                first + choice.iter().map(|(at, x)| p.rest[*at] * x).sum::<i64>()
            };
            let constant = anchor.1 - sum(anchor.0);
            let fits = |p: &Point| match &p.observed {
                Observed::Exactly(value) => sum(p) + constant == *value,
                Observed::NotBefore(places, least) => {
                    let value = sum(p) + constant;
                    places.get(&value).is_none_or(|place| place >= least)
                }
            };
            if points.iter().all(fits) {
                let mut form = Vec::new();
                if let Some(at) = lead {
                    form.push(Product {
                        times: 1,
                        of: basis.leading[*at].clone(),
                    });
                }
                form.extend(choice.iter().map(|(at, times)| Product {
                    times: *times,
                    of: basis.rest[*at].clone(),
                }));
                if constant != 0 || form.is_empty() {
                    form.push(Product {
                        times: constant,
                        of: Vec::new(),
                    });
                }
                return Some(Form(form));
            }
        }
    }
    None
}
