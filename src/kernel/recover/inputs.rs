//! The inputs of roles: which occur, quotients that take the place of what is divided, and whether they are free of each other.

use std::collections::BTreeSet;

use crate::meaning::Binary;
use crate::recover::lower::Inputs;
use crate::recover::lower::Origin;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::rewrite::conditions;
use crate::recover::rewrite::numbers;
use crate::recover::rewrite::replace;
use crate::recover::sketch::Role;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::term::Terms;

/// An input of which only one quotient counts: the quotient becomes the input, which may be any number.
pub fn quotients(roles: &mut [Role], inputs: &mut Inputs) {
    for input in 0..inputs.all.len() {
        let wanted = Atomic::Input(u32::try_from(input).unwrap_or(u32::MAX));
        let mut found: BTreeSet<Atomic> = BTreeSet::new();
        let mut bare = false;
        let mut look = |number: &Number| quotients_of(number, &wanted, &mut found, &mut bare);
        for role in &mut *roles {
            numbers(&mut role.lines, &mut |number| look(number));
            conditions(&mut role.lines, &mut |condition| condition.each(&mut look));
        }
        let (Some(quotient), 1, false) = (found.first().cloned(), found.len(), bare) else {
            continue;
        };
        let range = Number::of(quotient.clone()).range(&|atomic| match atomic {
            Atomic::Input(number) => Some(inputs.all[*number as usize].range),
            _ => None,
        });
        let Atomic::Quotient(inner, divisor) = &quotient else {
            continue;
        };
        // One unknown with a coefficient of 1, or not every number is a quotient.
        if inner.parts.len() != 1 || inner.parts.get(&wanted) != Some(&1) {
            continue;
        }
        let Some(range) = range else { continue };
        let old = inputs.all[input].clone();
        let above = if inner.constant > 0 {
            format!("({} + {})", old.meaning, inner.constant)
        } else {
            old.meaning.clone()
        };
        let new = inputs.add(
            format!("{}_over_{divisor}", old.name),
            format!("{above} / {divisor}"),
            inputs.words[input].clone(),
            range,
            Origin::Number(Number::of(quotient.clone())),
        );
        for role in &mut *roles {
            replace(&mut role.lines, &|atomic| {
                (*atomic == quotient).then(|| Number::of(Atomic::Input(new)))
            });
        }
    }
}

fn quotients_of(number: &Number, wanted: &Atomic, found: &mut BTreeSet<Atomic>, bare: &mut bool) {
    for atomic in number.parts.keys() {
        if atomic == wanted {
            *bare = true;
        }
        match atomic {
            Atomic::Quotient(inner, _) if inner.parts.contains_key(wanted) => {
                found.insert(atomic.clone());
            }
            Atomic::Quotient(inner, _) | Atomic::Remainder(inner, _) => {
                quotients_of(inner, wanted, found, bare)
            }
            Atomic::Minimum(a, b) | Atomic::Maximum(a, b) => {
                quotients_of(a, wanted, found, bare);
                quotients_of(b, wanted, found, bare);
            }
            _ => {}
        }
    }
}

/// The inputs that occur.
pub fn used(roles: &[Role]) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut look = |number: &Number| {
        number.each(&mut |atomic| {
            if let Atomic::Input(input) = atomic {
                found.insert(*input);
            }
        });
    };
    for role in roles {
        let mut lines = role.lines.clone();
        numbers(&mut lines, &mut |number| look(number));
        conditions(&mut lines, &mut |condition| condition.each(&mut look));
    }
    found
}

/// Whether every choice of values of the inputs that occur is one of a launch: no word of the launch is behind two of
/// them, and each takes every value.
pub fn are_free(roles: &[Role], inputs: &Inputs, terms: &Terms) -> bool {
    let mut seen: BTreeSet<Atom> = BTreeSet::new();
    used(roles).into_iter().all(|input| {
        takes_all(&inputs.origins[input as usize], inputs, terms)
            && inputs.words[input as usize].iter().all(|word| match word {
                Atom::Parameter { .. } => seen.insert(*word),
                _ => true,
            })
    })
}

/// Whether an input takes every value of its range: a word, a quotient of one, or a number of iterations up to a word or a
/// product of words.
fn takes_all(origin: &Origin, inputs: &Inputs, terms: &Terms) -> bool {
    let is_word = |term: TermId| matches!(terms.node(term), Node::Atom(Atom::Parameter { .. }));
    match origin {
        Origin::Term(term) => is_word(*term),
        Origin::Granted => true,
        Origin::Number(number) => {
            let [Atomic::Quotient(inner, _)] = number.parts.keys().collect::<Vec<_>>()[..] else {
                return false;
            };
            let [Atomic::Input(input)] = inner.parts.keys().collect::<Vec<_>>()[..] else {
                return false;
            };
            takes_all(&inputs.origins[*input as usize], inputs, terms)
        }
        Origin::Trips { relation, phi, .. } => {
            let Node::Relation(_, at, bound) = *terms.node(*relation) else {
                return false;
            };
            let counts = *terms.node(at) == Node::Atom(Atom::Phi(*phi));
            let mut factors = vec![bound];
            while let Some(factor) = factors.pop() {
                match *terms.node(factor) {
                    Node::Binary(Binary::Multiply, a, b) => factors.extend([a, b]),
                    _ if is_word(factor) => {}
                    _ => return false,
                }
            }
            counts
        }
    }
}
