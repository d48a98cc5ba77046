//! Finds phis that are multiples of powers of two. For example, an address that begins at a
//! multiple of 8 and moves by 8 has three lowest bits of 0 in each iteration.
//!
//! For each phi, some number of lowest bits is supposed to be 0: at first as many as are 0 in its
//! first value. It is checked that the next value of each phi has them, too, given what is supposed
//! of all phis. Otherwise fewer bits are supposed, until all next values have theirs. By induction
//! over the iterations of all loops at once, these bits are then 0.

use crate::recover::simplify::everywhere;
use crate::recover::term::Atom;
use crate::recover::tree::Arena;
use crate::recover::tree::Statement;

/// Finds the lowest bits that are 0 in every phi, and simplifies the terms with them.
pub fn align_phis(arena: &mut Arena, trees: &mut [&mut Vec<Statement>]) {
    let zeros = |arena: &Arena, term| arena.terms.low_zeros(term);
    let mut taken: Vec<u32> = arena
        .phis
        .iter()
        .map(|phi| zeros(arena, phi.first))
        .collect();
    loop {
        arena.terms.phis_are_multiples(taken.clone());
        let kept: Vec<u32> = arena
            .phis
            .iter()
            .zip(&taken)
            .map(|(phi, taken)| {
                let ends = zeros(arena, phi.first).min(zeros(arena, phi.next));
                ends.min(*taken)
            })
            .collect();
        if kept == taken {
            break;
        }
        taken = kept;
    }
    everywhere(arena, trees, &mut |terms, term| {
        terms.anew(term, &|atom| match atom {
            Atom::Phi(phi) => taken.get(phi as usize).is_some_and(|zeros| *zeros > 0),
            _ => false,
        })
    });
}
