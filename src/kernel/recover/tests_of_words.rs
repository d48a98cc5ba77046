//! Conditions on a word of memory: one form for those that say the same, words that pass and words that do not, and how they are
//! said.

use crate::meaning::Domain;
use crate::meaning::Relation;
use crate::meaning::Word;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::term::Terms;

/// How many words are kept that pass, and that do not.
const MOST_SAMPLES: usize = 4;

/// A condition in one of its two forms, and whether that form holds where the condition does. `w < c + 1` says that `c < w` does not hold,
/// and `(w & 2) == 0` that `(w & 2) != 0` does not, as code that is run for a bit is under the latter.
pub fn upright(test: TermId, terms: &mut Terms) -> (TermId, bool) {
    match *terms.node(test) {
        Node::Not(inner) => {
            let (form, holds) = upright(inner, terms);
            (form, !holds)
        }
        Node::Relation(relation @ (Relation::LessSigned | Relation::LessUnsigned), a, b) => {
            let Some(bits) = terms.value(b) else {
                return (test, true);
            };
            let width = terms.width_of(b);
            let least = match relation {
                Relation::LessSigned => 1_u128 << (width - 1),
                _ => 0,
            };
            // Nothing is less than the least number.
            if bits == least {
                return (test, true);
            }
            let below = terms.constant(Word::new(bits.wrapping_sub(1), width).bits, width);
            (terms.relation(relation, &below, &a), false)
        }
        Node::Relation(Relation::Equal, a, b)
            if [a, b].map(|side| terms.value(side)).contains(&Some(0)) =>
        {
            (terms.not(&test), false)
        }
        _ => (test, true),
    }
}

/// Words that pass a test, and words that do not.
pub fn samples(test: TermId, terms: &mut Terms) -> [Vec<u64>; 2] {
    let mut found = [Vec::new(), Vec::new()];
    for word in tried(test, terms) {
        if let Some(passes) = passes(test, word, terms) {
            let of_kind = &mut found[usize::from(!passes)];
            if of_kind.len() < MOST_SAMPLES && !of_kind.contains(&word) {
                of_kind.push(word);
            }
        }
    }
    found
}

/// Whether a word passes.
pub fn passes(test: TermId, word: u64, terms: &mut Terms) -> Option<bool> {
    let width = width(test, terms)?;
    let word = terms.constant(Word::new(word.into(), width).bits, width);
    let at = terms.substitute(test, &|atom| (atom == Atom::Tested).then_some(word));
    terms.truth(at)
}

/// How wide the word is that a test is about.
fn width(test: TermId, terms: &Terms) -> Option<u16> {
    let mut parts = terms.parts(test).into_iter();
    let word = parts.find(|part| *terms.node(*part) == Node::Atom(Atom::Tested))?;
    Some(terms.width_of(word)).filter(|width| *width <= 64)
}

/// Words near the constants of a test, small ones, and single bits.
fn tried(test: TermId, terms: &Terms) -> Vec<u64> {
    let Some(width) = width(test, terms) else {
        return Vec::new();
    };
    let constants = terms.parts(test).into_iter();
    let constants = constants.filter_map(|part| u64::try_from(terms.value(part)?).ok());
    let near = constants.flat_map(|bits| [bits, bits.wrapping_add(1), bits.wrapping_sub(1)]);
    let bits = (0..u32::from(width)).map(|bit| 1_u64 << bit);
    let all = near.chain(0..4).chain(bits).chain([u64::MAX]);
    let cut = |bits: u64| u64::try_from(Word::new(bits.into(), width).bits).unwrap_or(0);
    all.map(cut).collect()
}

/// A test in words.
pub fn said(test: TermId, terms: &Terms) -> String {
    let is_word = |term: TermId| *terms.node(term) == Node::Atom(Atom::Tested);
    let number = |term: TermId| {
        let bits = terms.value(term)?;
        Some(Word::new(bits, terms.width_of(term)).signed())
    };
    let text = match *terms.node(test) {
        Node::Relation(relation, a, b) => match (number(a), number(b)) {
            (Some(number), None) if is_word(b) => match relation {
                Relation::Equal => Some(format!("the word == {number}")),
                Relation::LessSigned => Some(format!("the word > {number}")),
                Relation::LessUnsigned => terms
                    .value(a)
                    .map(|number| format!("the word > {number} without sign")),
            },
            (None, Some(number)) if is_word(a) && relation == Relation::Equal => {
                Some(format!("the word == {number}"))
            }
            _ => None,
        },
        _ => None,
    };
    text.unwrap_or_else(|| "the word passes a test".to_owned())
}
