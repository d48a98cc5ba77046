//! The units in which parameters of a launch count: the divisors that the kernel uses.
//!
//! For example, a kernel takes `M / 128` rows of tiles. It does the same for 1, 2 and 3. Only launches with 128, 256 and
//! 384 differ.

use std::collections::BTreeMap;

use crate::meaning::Binary;
use crate::recover::lower::Inputs;
use crate::recover::lower::Origin;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::term::Terms;

/// The greatest unit that is tried; what divides by more asks for a sign.
const MOST: u32 = 4096;

/// For each parameter word from which inputs are read, the greatest divisor, if there is one.
pub fn units(inputs: &Inputs, terms: &Terms) -> BTreeMap<u32, u32> {
    let mut found = BTreeMap::new();
    for origin in &inputs.origins {
        if let Origin::Number(number) = origin {
            divided(number, inputs, &mut found);
        }
        let of = origin.terms().into_iter();
        for part in of.flat_map(|term| terms.parts(term)) {
            if let Some((of, by)) = division(part, terms) {
                for atom in terms.atoms(of).iter() {
                    note(*atom, by, &mut found);
                }
            }
        }
    }
    found
}

/// What a term divides, and by what.
fn division(term: TermId, terms: &Terms) -> Option<(TermId, i128)> {
    let Node::Binary(operation, of, by) = *terms.node(term) else {
        return None;
    };
    let by = i128::try_from(terms.value(by)?).ok()?;
    match operation {
        Binary::ShiftRightLogical | Binary::ShiftRightArithmetic => {
            Some((of, 1_i128.checked_shl(u32::try_from(by).ok()?)?))
        }
        Binary::DivideUnsigned | Binary::DivideSigned => Some((of, by)),
        _ => None,
    }
}

fn divided(number: &Number, inputs: &Inputs, found: &mut BTreeMap<u32, u32>) {
    number.each(&mut |atomic| {
        let Atomic::Quotient(inner, by) = atomic else {
            return;
        };
        inner.each(&mut |atomic| {
            if let Atomic::Input(input) = atomic {
                let words = inputs.words.get(*input as usize);
                for atom in words.into_iter().flatten() {
                    note(*atom, *by, found);
                }
            }
        });
    });
}

fn note(atom: Atom, by: i128, found: &mut BTreeMap<u32, u32>) {
    if let (Atom::Parameter { offset }, Ok(by)) = (atom, u32::try_from(by))
        && (2..=MOST).contains(&by)
    {
        let unit = found.entry(offset).or_default();
        *unit = by.max(*unit);
    }
}
