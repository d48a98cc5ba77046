//! Finds the smallest formulas that separate two sets of points. A formula is a disjunction of conjunctions of up to
//! two atoms, or a single conjunction of three atoms.

use itertools::Itertools;
use rustc_hash::FxHashSet;

use super::atoms::Atom;
use super::atoms::Bits;
use super::atoms::bits;
use crate::deadline;

/// How many terms and formulas are kept.
const TERMS: usize = 1_500;
const FORMULAS: usize = 24;

/// The most terms from which the lightest are chosen.
const MOST_TERMS: usize = 100_000;

/// The weight that a conjunction has in addition to its atoms, and a disjunction in addition to its terms.
const AND: u32 = 3;
const OR: u32 = 5;

/// A disjunction of conjunctions, which are called terms. A formula without a term is false. A term without an atom
/// is true.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Formula {
    terms: Vec<Vec<Atom>>,
}

impl Formula {
    /// Whether it holds at these values of the numbers.
    pub(super) fn holds(&self, at: &[i64]) -> bool {
        let holds = |term: &Vec<Atom>| term.iter().all(|atom| atom.holds(at));
        self.terms.iter().any(holds)
    }

    /// Whether it is true at all values because it has a term without an atom.
    pub fn always(&self) -> bool {
        self.terms.iter().any(Vec::is_empty)
    }

    /// Whether it is false because it has no term.
    pub fn never(&self) -> bool {
        self.terms.is_empty()
    }

    /// Its atoms, if it is one conjunction.
    pub(super) fn conjuncts(&self) -> Option<&[Atom]> {
        match self.terms.as_slice() {
            [term] => Some(term),
            _ => None,
        }
    }

    /// The positions of the numbers that occur in it.
    pub(super) fn numbers(&self) -> Vec<usize> {
        let atoms = self.terms.iter().flatten();
        let mut all: Vec<usize> = atoms.flat_map(Atom::numbers).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The formula as a condition of the language.
    pub(super) fn text(&self, names: &[&str]) -> String {
        if self.never() {
            return "false".to_owned();
        }
        let terms = self.terms.iter().map(|term| match term.as_slice() {
            [] => "true".to_owned(),
            atoms => joined(atoms.iter().map(|atom| atom.text(names)), " && "),
        });
        joined(terms, " || ")
    }

    /// Its negation as a list of cases. Each case is a list of conditions that hold together: the negation of one
    /// atom of each term.
    pub(super) fn cases(&self, names: &[&str]) -> Vec<Vec<String>> {
        let terms = self.terms.iter().map(|term| {
            let atoms = term.iter().map(|atom| atom.negated(names));
            atoms.collect::<Vec<_>>()
        });
        terms.multi_cartesian_product().collect()
    }

    /// Its negation as a list of conditions that hold together.
    pub(super) fn negated(&self, names: &[&str]) -> Vec<String> {
        let terms = self.terms.iter().map(|term| match term.as_slice() {
            [] => "false".to_owned(),
            atoms => joined(atoms.iter().map(|atom| atom.negated(names)), " || "),
        });
        terms.collect()
    }
}

/// The formula that consists of one atom.
pub(super) fn single(atom: Atom) -> Formula {
    Formula {
        terms: vec![vec![atom]],
    }
}

fn joined(parts: impl Iterator<Item = String>, by: &str) -> String {
    parts.collect::<Vec<_>>().join(by)
}

/// A conjunction, and the points at which it holds.
struct Term {
    atoms: Vec<Atom>,
    bits: Bits,
    weight: u32,
}

/// Formulas that hold at all `inside` points and at no other points, the lightest first.
pub(super) fn separating(
    atoms: &[(Atom, Bits)],
    points: &[Vec<i64>],
    inside: &Bits,
) -> Vec<Formula> {
    let all = bits(points, |_| true);
    let outside: Bits = all.iter().zip(inside).map(|(a, i)| a & !i).collect();
    let none = |set: &Bits| set.iter().all(|word| *word == 0);
    if none(inside) {
        return vec![Formula { terms: Vec::new() }];
    }
    if none(&outside) {
        return vec![Formula {
            terms: vec![Vec::new()],
        }];
    }
    let mut found: Vec<(u32, Formula)> = Vec::new();
    // An atom that separates the sets alone is a formula, however long it is.
    for (atom, bits) in atoms {
        if bits == inside {
            found.push((atom.weight(), single(*atom)));
        }
    }
    let mut terms = pure(atoms, inside, &outside);
    terms.extend(three(atoms, inside, &outside));
    for term in &terms {
        if covers(&term.bits, inside) && term.atoms.len() > 1 {
            let formula = Formula {
                terms: vec![term.atoms.clone()],
            };
            found.push((term.weight, formula));
        }
    }
    // A term that covers all `inside` points needs no other term.
    let parts: Vec<&Term> = terms.iter().filter(|t| !covers(&t.bits, inside)).collect();
    for (number, first) in parts.iter().enumerate() {
        if deadline::over() {
            break;
        }
        for second in &parts[number + 1..] {
            let pairs = first.bits.iter().zip(&second.bits).zip(inside);
            if { pairs }.all(|((a, b), inside)| (a | b) & inside == *inside) {
                let formula = Formula {
                    terms: vec![first.atoms.clone(), second.atoms.clone()],
                };
                found.push((first.weight + second.weight + OR, formula));
            }
        }
    }
    found.sort_by_key(|(weight, _)| *weight);
    found.truncate(FORMULAS);
    found.into_iter().map(|(_, formula)| formula).collect()
}

fn covers(set: &Bits, part: &Bits) -> bool {
    set.iter().zip(part).all(|(set, part)| set & part == *part)
}

/// Conjunctions of up to two atoms that hold at some point inside and at none outside. Of those with equal sets of
/// points, only the lightest is listed.
fn pure(atoms: &[(Atom, Bits)], inside: &Bits, outside: &Bits) -> Vec<Term> {
    let meets = |a: &Bits, b: &Bits| a.iter().zip(b).any(|(a, b)| a & b != 0);
    let useful: Vec<&(Atom, Bits)> = atoms.iter().filter(|(_, b)| meets(b, inside)).collect();
    let mut terms = Vec::new();
    for (atom, bits) in &useful {
        if !meets(bits, outside) {
            terms.push(Term {
                atoms: vec![*atom],
                bits: bits.clone(),
                weight: atom.weight(),
            });
        }
    }
    // An atom that excludes all points outside needs no other atom.
    let open: Vec<&&(Atom, Bits)> = useful.iter().filter(|(_, b)| meets(b, outside)).collect();
    let both_meet = |a: &Bits, b: &Bits, set: &Bits| {
        let words = a.iter().zip(b).zip(set);
        { words }.any(|((a, b), set)| a & b & set != 0)
    };
    for (number, (a, left)) in open.iter().enumerate() {
        // If time is up, there are only fewer formulas.
        if deadline::over() {
            break;
        }
        for (b, right) in &open[number + 1..] {
            if !both_meet(left, right, outside) && both_meet(left, right, inside) {
                terms.push(Term {
                    atoms: vec![*a, *b],
                    bits: left.iter().zip(right).map(|(a, b)| a & b).collect(),
                    weight: a.weight() + b.weight() + AND,
                });
            }
        }
        if terms.len() > MOST_TERMS {
            lightest(&mut terms);
        }
    }
    lightest(&mut terms);
    terms
}

/// Conjunctions of three atoms that hold at exactly the points inside. Each of the atoms holds at all points inside.
/// So the search goes through the points outside: some atom has to exclude the first point that is not excluded yet.
fn three(atoms: &[(Atom, Bits)], inside: &Bits, outside: &Bits) -> Vec<Term> {
    let needed: Vec<&(Atom, Bits)> = atoms.iter().filter(|(_, b)| covers(b, inside)).collect();
    let left = |open: &Bits, bits: &Bits| -> Bits {
        open.iter()
            .zip(bits)
            .map(|(open, bits)| open & bits)
            .collect()
    };
    let excluding = |open: &Bits| -> Vec<&(Atom, Bits)> {
        let Some(word) = open.iter().position(|word| *word != 0) else {
            return Vec::new();
        };
        let point = 1 << open[word].trailing_zeros();
        let needed = needed.iter().copied();
        needed.filter(|(_, bits)| bits[word] & point == 0).collect()
    };
    let mut found = Vec::new();
    for (a, bits) in excluding(outside) {
        let first = left(outside, bits);
        for (b, bits) in excluding(&first) {
            if deadline::over() || found.len() >= TERMS {
                return found;
            }
            let second = left(&first, bits);
            for (c, bits) in excluding(&second) {
                if left(&second, bits).iter().all(|word| *word == 0) {
                    found.push(Term {
                        atoms: vec![*a, *b, *c],
                        bits: inside.clone(),
                        weight: a.weight() + b.weight() + c.weight() + 2 * AND,
                    });
                }
            }
        }
    }
    found
}

/// Keeps the lightest terms, and of terms with equal sets of points only one.
fn lightest(terms: &mut Vec<Term>) {
    terms.sort_by_key(|term| term.weight);
    let mut seen = FxHashSet::default();
    terms.retain(|term| seen.insert(term.bits.clone()));
    terms.truncate(TERMS);
}
