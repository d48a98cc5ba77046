//! Whether some launch satisfies the assumption that CTAs with the same words of memory are
//! numbered 0, 1, 2, and so on ([`super::grid`]).
//!
//! For example, `ctaid.x % tiles` has these values in the CTAs of a launch with `tiles` CTAs. But
//! `ctaid.x / 2` has equal values in two CTAs at every launch with two or more. A proof under an
//! assumption that no launch satisfies would be about nothing.
//!
//! A few launches are tried. If none of them satisfies the assumption, the kernel is refused, even
//! if others would.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::interpret::Launch;
use crate::ir::Kernel;
use crate::recover::at_launch::closure;
use crate::recover::at_launch::fill_memory;
use crate::recover::at_launch::values;
use crate::recover::lower::Inputs;
use crate::recover::role_ir::Word;
use crate::recover::term::Atom;
use crate::recover::term::Terms;

/// The grids that are tried.
const GRIDS: [[u32; 3]; 4] = [[8, 1, 1], [1, 8, 1], [1, 1, 8], [4, 4, 1]];

/// At least so many CTAs have to use the same words at a launch.
const TOGETHER: usize = 4;

/// The values that are tried for parameters, and how many parameters get several values each.
const TRIED: [u32; 4] = [1, 2, 8, 1000];
const MOST_VARIED: usize = 3;

/// Whether some launch gives an input the values 0, 1, 2, .., each once, in the CTAs that use the
/// same words.
pub fn numbers_ctas(
    kernel: &Kernel,
    inputs: &Inputs,
    turn: u32,
    words: &[&Word],
    terms: &mut Terms,
) -> bool {
    let places: BTreeSet<u32> = words
        .iter()
        .flat_map(|word| [Some(word.base), word.factor])
        .flatten()
        .collect();
    let wanted = closure(inputs, &places.iter().copied().chain([turn]).collect());
    let launches = launches(kernel, inputs, turn);
    launches.into_iter().any(|mut launch| {
        GRIDS.into_iter().any(|grid| {
            launch.grid = grid;
            launch.memory.clear();
            let mut found: BTreeMap<Vec<Option<i128>>, Vec<i128>> = BTreeMap::new();
            let mut next = 0;
            let [x, y, z] = grid;
            let ctas =
                (0..z).flat_map(|z| (0..y).flat_map(move |y| (0..x).map(move |x| [x, y, z])));
            for cta in ctas {
                launch.cta = cta;
                // The numbers may come from words of memory.
                fill_memory(inputs, &wanted, &mut launch, terms, || {
                    next += 1;
                    next - 1
                });
                let Some(values) = values(inputs, &wanted, &launch, terms) else {
                    return false;
                };
                let Some(number) = values[turn as usize] else {
                    return false;
                };
                let at = places.iter().map(|place| values[*place as usize]);
                found.entry(at.collect()).or_default().push(number);
            }
            let mut all = found.into_values();
            let mut most = 0;
            let numbered = all.all(|mut numbers| {
                numbers.sort_unstable();
                most = most.max(numbers.len());
                (0..).zip(&numbers).all(|(number, own)| number == *own)
            });
            numbered && most >= TOGETHER
        })
    })
}

/// Whether an input is other than 0 at some launch.
pub fn is_not_always_0(kernel: &Kernel, inputs: &Inputs, input: u32, terms: &mut Terms) -> bool {
    let wanted = closure(inputs, &BTreeSet::from([input]));
    launches(kernel, inputs, input)
        .into_iter()
        .any(|mut launch| {
            fill_memory(inputs, &wanted, &mut launch, terms, || 1);
            let values = values(inputs, &wanted, &launch, terms);
            values.is_some_and(|values| values[input as usize].is_some_and(|value| value != 0))
        })
}

/// Launches with different values of the parameters that an input is computed from.
fn launches(kernel: &Kernel, inputs: &Inputs, input: u32) -> Vec<Launch> {
    let offsets: Vec<u32> = inputs.words[input as usize]
        .iter()
        .filter_map(|atom| match atom {
            Atom::Parameter { offset } => Some(*offset),
            _ => None,
        })
        .collect();
    let upper = |offset: u32| {
        let mut all = kernel.parameters.iter();
        all.any(|parameter| parameter.size == 8 && parameter.offset.checked_add(4) == Some(offset))
    };
    let (upper, varied): (Vec<u32>, Vec<u32>) =
        offsets.into_iter().partition(|offset| upper(*offset));
    let mut first = Launch::new(kernel);
    for offset in upper {
        first.set_bytes(offset, &[0; 4]);
    }
    for offset in &varied {
        first.set_bytes(*offset, &1_u32.to_le_bytes());
    }
    let mut all = vec![first];
    for offset in varied.into_iter().take(MOST_VARIED) {
        let each = |launch: &Launch| {
            TRIED.map(|number| {
                let mut launch = launch.clone();
                launch.set_bytes(offset, &number.to_le_bytes());
                launch
            })
        };
        all = all.iter().flat_map(each).collect();
    }
    all
}
