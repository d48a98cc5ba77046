//! The values of a role's inputs at a concrete launch.
//!
//! For example, the input `tiles` is computed from a parameter and the size of the grid. A launch
//! gives values to both, and so to `tiles`. A launch consists of parameters, a grid, a CTA in it,
//! and words of memory.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt::Write;

use crate::interpret::Launch;
use crate::ir::Kernel;
use crate::ir::Special;
use crate::meaning::Domain;
use crate::recover::launch::wide_parameter;
use crate::recover::lower::Inputs;
use crate::recover::lower::Origin;
use crate::recover::number::Atomic;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::term::Terms;

/// A number of the launch that is varied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Word {
    /// 4 bytes of the parameters.
    Parameter(u32),
    /// Clusters of the grid along an axis.
    Grid(u8),
    /// The cluster's index along an axis.
    Index(u8),
}

/// Words of a launch.
pub type Words = BTreeSet<Word>;

/// How many iterations of a loop are counted.
const MOST_TRIPS: i128 = 40;

/// The parameter words that inputs are computed from.
pub fn behind(inputs: &Inputs, used: &BTreeSet<u32>) -> Words {
    let mut words = Words::new();
    for input in used {
        let atoms = inputs.words.get(*input as usize);
        words.extend(atoms.into_iter().flatten().filter_map(|atom| match atom {
            Atom::Parameter { offset } => Some(Word::Parameter(*offset)),
            _ => None,
        }));
    }
    words
}

/// The parameters of 4 bytes that occur in functions of words of memory. Such a function is a
/// condition on words: it compares them with these parameters, or uses these in their addresses.
pub fn behind_functions(inputs: &Inputs, terms: &Terms) -> Words {
    let mut words = Words::new();
    let functions = inputs.memories.iter().filter(|memory| memory.is_function());
    let conditions = functions.filter_map(|memory| memory.test.as_ref().map(|test| test.term));
    let numbers = inputs.functions.iter().map(|function| function.term);
    for term in conditions.chain(numbers) {
        let parts = terms.parts(term).into_iter();
        let wide: BTreeSet<u32> = parts
            .filter_map(|part| wide_parameter(part, terms))
            .flat_map(|at| [at, at.saturating_add(4)])
            .collect();
        for atom in terms.atoms(term).iter() {
            if let Atom::Parameter { offset } = atom
                && !wide.contains(offset)
            {
                words.insert(Word::Parameter(*offset));
            }
        }
    }
    words
}

/// The inputs that inputs are computed from, themselves included.
pub fn closure(inputs: &Inputs, used: &BTreeSet<u32>) -> BTreeSet<u32> {
    let mut all = BTreeSet::new();
    let mut work: Vec<u32> = used.iter().copied().collect();
    while let Some(input) = work.pop() {
        if !all.insert(input) {
            continue;
        }
        if let Some(Origin::Number(number)) = inputs.origins.get(input as usize) {
            for other in 0..input {
                if number.mentions(&|atomic| *atomic == Atomic::Input(other)) {
                    work.push(other);
                }
            }
        }
    }
    all
}

/// A parameter word of a launch.
pub fn parameter(launch: &Launch, offset: u32) -> u32 {
    let byte = |at: u32| {
        let offset = u64::from(offset) + u64::from(at);
        launch.parameter(offset).map_or(0, |(byte, _)| byte)
    };
    u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)])
}

pub fn special(launch: &Launch, special: Special) -> Option<u32> {
    let axis = |of: [u32; 3], axis: u8| of.get(usize::from(axis)).copied();
    Some(match special {
        Special::CtaIndex(at) => axis(launch.cta, at)?,
        Special::GridCtas(at) => axis(launch.grid, at)?,
        Special::ClusterIndex(at) => {
            axis(launch.cta, at)?.checked_div(axis(launch.cluster, at)?)?
        }
        Special::GridClusters(at) => {
            axis(launch.grid, at)?.checked_div(axis(launch.cluster, at)?)?
        }
        Special::WarpCount => launch
            .threads
            .iter()
            .try_fold(1_u32, |product, each| product.checked_mul(*each))?
            .div_ceil(32),
        Special::DynamicSharedSize => u32::try_from(launch.dynamic_shared).ok()?,
        _ => return None,
    })
}

/// Gives values to the words of memory that inputs or functions of words are computed from. If a
/// word decides the address of another one, it gets its value first. A byte that two words share
/// gets that of the first one.
pub fn fill_memory(
    inputs: &Inputs,
    wanted: &BTreeSet<u32>,
    launch: &mut Launch,
    terms: &mut Terms,
    mut value: impl FnMut() -> u32,
) {
    let origins = wanted
        .iter()
        .filter_map(|input| inputs.origins.get(*input as usize));
    // The words that occur in functions get values, too.
    let functions = inputs.memories.iter().filter(|memory| memory.is_function());
    let functions = functions.filter_map(|memory| memory.test.as_ref().map(|test| test.term));
    for term in origins.flat_map(Origin::terms).chain(functions) {
        for word in terms.memory_in(term) {
            let Some((address, bytes)) = place(word, launch, terms) else {
                continue;
            };
            let number = u64::from(value()).to_le_bytes();
            let number = number.get(..bytes).unwrap_or(&number).to_vec();
            let places = || (0..bytes as u64).map(|at| address.wrapping_add(at));
            if places().all(|at| byte_at(launch, at).is_none()) {
                launch.memory.push((address, number));
                continue;
            }
            for (at, byte) in places().zip(number) {
                if byte_at(launch, at).is_none() {
                    launch.memory.push((at, vec![byte]));
                }
            }
        }
    }
}

/// The address of a word of memory at a launch, and its size in bytes.
fn place(word: TermId, launch: &Launch, terms: &mut Terms) -> Option<(u64, usize)> {
    let Node::Memory(address) = *terms.node(word) else {
        return None;
    };
    let address = fixed(address, launch, terms)?;
    let address = u64::try_from(terms.value(address)?).ok()?;
    Some((address, usize::from(terms.width_of(word).div_ceil(8))))
}

fn byte_at(launch: &Launch, address: u64) -> Option<u8> {
    launch.memory.iter().find_map(|(first, bytes)| {
        let at = address.checked_sub(*first)?;
        bytes.get(usize::try_from(at).ok()?).copied()
    })
}

/// The values of the inputs at a launch, or `None` if one lies outside of its range.
pub fn values(
    inputs: &Inputs,
    wanted: &BTreeSet<u32>,
    launch: &Launch,
    terms: &mut Terms,
) -> Option<Vec<Option<i128>>> {
    let mut values = vec![None; inputs.all.len()];
    // An input that is computed from others comes behind them.
    for input in wanted {
        let at = *input as usize;
        let value = value(inputs.origins.get(at)?, launch, terms, &values)?;
        if !lies_in(value, inputs.all.get(at)?.range) {
            return None;
        }
        values[at] = Some(value);
    }
    Some(values)
}

/// Whether a verdict covers a launch.
///
/// All inputs have to lie in their ranges, also those that do not occur in the text. There may be no
/// division by 0 in the terms of inputs and in these conditions.
pub fn is_covered(
    inputs: &Inputs,
    conditions: &BTreeSet<TermId>,
    launch: &Launch,
    terms: &mut Terms,
) -> bool {
    let mut values = vec![None; inputs.all.len()];
    for (at, (input, origin)) in inputs.all.iter().zip(&inputs.origins).enumerate() {
        values[at] = value(origin, launch, terms, &values);
        if values[at].is_some_and(|value| !lies_in(value, input.range)) {
            return false;
        }
    }
    let origins = inputs.origins.iter().flat_map(Origin::terms);
    let all: BTreeSet<TermId> = origins.chain(conditions.iter().copied()).collect();
    let divisors: BTreeSet<TermId> = all
        .into_iter()
        .flat_map(|term| terms.divisors(term))
        .collect();
    divisors.into_iter().all(|by| {
        let by = fixed(by, launch, terms);
        by.is_none_or(|by| terms.value(by) != Some(0))
    })
}

fn lies_in(value: i128, (low, high): (i128, i128)) -> bool {
    (low..=high).contains(&value)
}

/// The value of an input at a launch, given the values of the inputs before it.
fn value(
    origin: &Origin,
    launch: &Launch,
    terms: &mut Terms,
    values: &[Option<i128>],
) -> Option<i128> {
    Some(match origin {
        Origin::Term(term) => {
            let constant = fixed(*term, launch, terms)?;
            // A predicate is 0 or 1.
            match terms.width_of(constant) {
                1 => i128::from(terms.truth(constant)?),
                _ => terms.signed(constant)?,
            }
        }
        Origin::Trips {
            relation,
            phi,
            first,
            step,
        } => trips((*relation, *phi, *first, *step), launch, terms)?,
        Origin::Granted => launch.granted?.into(),
        Origin::RingWordTrips { first } => match first {
            None => launch.ring_words?.into(),
            Some(first) => {
                let first = fixed(*first, launch, terms)?;
                match terms.truth(first)? {
                    true => i128::from(launch.ring_words?).checked_add(1)?,
                    false => 0,
                }
            }
        },
        Origin::Number(number) => number.value(&|atomic| match atomic {
            Atomic::Input(input) => values.get(*input as usize).copied().flatten(),
            _ => None,
        })?,
    })
}

/// In how many iterations a relation holds.
fn trips(
    (relation, phi, first, step): (TermId, u32, TermId, TermId),
    launch: &Launch,
    terms: &mut Terms,
) -> Option<i128> {
    let mut at = fixed(first, launch, terms)?;
    let step = fixed(step, launch, terms)?;
    let width = terms.width_of(at);
    let relation = at_launch(relation, launch, terms)?;
    let mut count = 0;
    while {
        let holds = terms.substitute(relation, &|atom| (atom == Atom::Phi(phi)).then_some(at));
        terms.truth(holds)?
    } {
        count += 1;
        if count > MOST_TRIPS {
            return None;
        }
        at = terms.sum(0, &[(at, 1), (step, 1)], width);
    }
    Some(count)
}

/// Whether a condition holds at a launch.
pub fn truth(condition: TermId, launch: &Launch, terms: &mut Terms) -> Option<bool> {
    let constant = fixed(condition, launch, terms)?;
    terms.truth(constant)
}

/// The comparisons in a condition of one parameter word, or a term over it alone, with a constant:
/// the word's place and the constant.
pub fn compared(condition: TermId, terms: &Terms) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    for part in terms.parts(condition) {
        let Node::Relation(_, a, b) = *terms.node(part) else {
            continue;
        };
        for (number, word) in [(a, b), (b, a)] {
            let number = terms
                .value(number)
                .and_then(|bits| u32::try_from(bits).ok());
            if let (Some(number), [Atom::Parameter { offset }]) = (number, &*terms.atoms(word)) {
                found.push((*offset, number));
            }
        }
    }
    found
}

/// The value of a term at a launch, as a constant.
fn fixed(term: TermId, launch: &Launch, terms: &mut Terms) -> Option<TermId> {
    let constant = at_launch(term, launch, terms)?;
    terms.value(constant).map(|_| constant)
}

/// A term in which the values of a launch replace parameters, special registers and memory.
fn at_launch(term: TermId, launch: &Launch, terms: &mut Terms) -> Option<TermId> {
    let mut known: BTreeMap<Atom, TermId> = BTreeMap::new();
    for atom in terms.atoms(term).iter() {
        let word = match atom {
            Atom::Parameter { offset } => parameter(launch, *offset),
            Atom::Special(which) => special(launch, *which)?,
            _ => continue,
        };
        let constant = terms.constant(word.into(), 32);
        known.insert(*atom, constant);
    }
    let mut term = terms.substitute(term, &|atom| known.get(&atom).copied());
    while let Some(word) = terms.memory_in(term).first().copied() {
        let (address, bytes) = place(word, launch, terms)?;
        let mut number = 0_u128;
        for at in 0..bytes as u64 {
            let byte = byte_at(launch, address.wrapping_add(at))?;
            number |= u128::from(byte) << (8 * at);
        }
        let width = terms.width_of(word);
        let constant = terms.constant(number, width);
        term = terms.replaced(term, word, constant);
    }
    Some(term)
}

/// The values of a launch, as text.
pub fn shown(kernel: &Kernel, launch: &Launch, words: &Words) -> String {
    let mut text = format!("grid {:?}, CTA {:?}", launch.grid, launch.cta);
    for (address, bytes) in &launch.memory {
        // Writing to a string does not fail.
        let number = bytes.iter().rev();
        let number = number.fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
        let _ = write!(text, ", {} bytes at {address:#x} = {number}", bytes.len());
    }
    for mask in &launch.masks {
        let _ = write!(text, ", {mask}");
    }
    for word in words {
        let Word::Parameter(offset) = word else {
            continue;
        };
        let owner = kernel
            .parameters
            .iter()
            .find(|each| each.offset <= *offset && *offset < each.offset.saturating_add(each.size));
        let name = match owner {
            Some(owner) if owner.offset == *offset => owner.name.clone(),
            Some(owner) => format!("{}+{}", owner.name, offset - owner.offset),
            None => format!("parameters+{offset}"),
        };
        // Writing to a string does not fail.
        let _ = write!(text, ", {name} = {}", parameter(launch, *offset));
    }
    text
}
