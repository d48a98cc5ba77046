//! The smallest formulas that separate two sets of points: disjunctions of conjunctions of atoms, or one conjunction of three.

use itertools::Itertools;
use rustc_hash::FxHashSet;

use super::atoms::Atom;
use super::atoms::Bits;
use super::atoms::bits;
use crate::deadline;

/// How many terms and formulas are kept on the way.
const TERMS: usize = 1_500;
const FORMULAS: usize = 24;

/// How many terms there may be before the lightest are chosen.
const MOST_TERMS: usize = 100_000;

/// A conjunction costs more than its atoms, a disjunction more than its terms.
const AND: u32 = 3;
const OR: u32 = 5;

/// A disjunction of conjunctions. Without a term it is false; a term without an atom is true.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Formula {
    terms: Vec<Vec<Atom>>,
}

impl Formula {
    /// Whether it holds where the numbers have these values.
    pub(super) fn holds(&self, at: &[i64]) -> bool {
        let holds = |term: &Vec<Atom>| term.iter().all(|atom| atom.holds(at));
        self.terms.iter().any(holds)
    }

    /// Whether it is true without an atom.
    pub fn always(&self) -> bool {
        self.terms.iter().any(Vec::is_empty)
    }

    /// Whether nothing satisfies it.
    pub fn never(&self) -> bool {
        self.terms.is_empty()
    }

    /// Its comparisons, if it is one conjunction.
    pub(super) fn conjuncts(&self) -> Option<&[Atom]> {
        match self.terms.as_slice() {
            [term] => Some(term),
            _ => None,
        }
    }

    /// The numbers in it, by place.
    pub(super) fn numbers(&self) -> Vec<usize> {
        let atoms = self.terms.iter().flatten();
        let mut all: Vec<usize> = atoms.flat_map(Atom::numbers).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// As a condition of the language.
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

    /// The cases in which it does not hold, each as conditions that hold together: one comparison of each term is false.
    pub(super) fn cases(&self, names: &[&str]) -> Vec<Vec<String>> {
        let terms = self.terms.iter().map(|term| {
            let atoms = term.iter().map(|atom| atom.negated(names));
            atoms.collect::<Vec<_>>()
        });
        terms.multi_cartesian_product().collect()
    }

    /// Conditions that together say that it does not hold.
    pub(super) fn negated(&self, names: &[&str]) -> Vec<String> {
        let terms = self.terms.iter().map(|term| match term.as_slice() {
            [] => "false".to_owned(),
            atoms => joined(atoms.iter().map(|atom| atom.negated(names)), " || "),
        });
        terms.collect()
    }
}

/// One comparison by itself.
pub(super) fn single(atom: Atom) -> Formula {
    Formula {
        terms: vec![vec![atom]],
    }
}

fn joined(parts: impl Iterator<Item = String>, by: &str) -> String {
    parts.collect::<Vec<_>>().join(by)
}

/// A conjunction and where it holds.
struct Term {
    atoms: Vec<Atom>,
    bits: Bits,
    weight: u32,
}

/// Formulas that hold at all `inside` points and at none of the others, the lightest first.
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
    // One comparison that says it all is one, however long it is.
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
    // What is enough alone needs no other.
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

/// Conjunctions of up to two atoms that hold at some point inside and none outside; of those that
/// agree, the lightest.
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
    // One that is enough alone needs no other.
    let open: Vec<&&(Atom, Bits)> = useful.iter().filter(|(_, b)| meets(b, outside)).collect();
    let both_meet = |a: &Bits, b: &Bits, set: &Bits| {
        let words = a.iter().zip(b).zip(set);
        { words }.any(|((a, b), set)| a & b & set != 0)
    };
    for (number, (a, left)) in open.iter().enumerate() {
        // What is left out is only a formula fewer.
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

/// Conjunctions of three atoms that hold at exactly the points inside. Each atom holds at all of them, so the search goes by the points
/// outside: some atom has to exclude the first that is left.
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

/// Leaves the lightest ones, of those that hold at the same points one.
fn lightest(terms: &mut Vec<Term>) {
    terms.sort_by_key(|term| term.weight);
    let mut seen = FxHashSet::default();
    terms.retain(|term| seen.insert(term.bits.clone()));
    terms.truncate(TERMS);
}
