//! Inputs of roles: which of them occur, and whether they take their values independently of each
//! other.

use std::collections::BTreeSet;

use crate::ir::Location;
use crate::ir::Special;
use crate::meaning::Binary;
use crate::meaning::Relation;
use crate::recover::launch::is_length;
use crate::recover::launch::wide_parameter;
use crate::recover::lower::Inputs;
use crate::recover::lower::Origin;
use crate::recover::lower::counter::ADDRESSES;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::rewrite::conditions;
use crate::recover::rewrite::numbers;
use crate::recover::role_ir::Role;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::term::Terms;
use crate::recover::tree::Obstacle;
use crate::recover::tree::refuse;

/// The inputs that occur in roles.
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

/// The ranges of inputs that may have decided something but do not occur any more, in words. For
/// example, if lines are left out because `n` is assumed not to be negative, the result holds for
/// no negative `n`. A range of `n / 8` does not imply the one of `n`. A computed input has the
/// range that its words imply, which is stated where these occur.
pub fn vanished(roles: &[Role], inputs: &Inputs, terms: &Terms) -> Vec<String> {
    let used = used(roles);
    // Choices and addresses have no assumed range.
    let is_choice = |input: &u32| {
        let range = inputs.all[*input as usize].range;
        range == (0, 1) || range == ADDRESSES
    };
    let shown: BTreeSet<Atom> = used
        .iter()
        .filter(|input| !is_choice(input))
        .flat_map(|input| inputs.words[*input as usize].iter().copied())
        .collect();
    (0..)
        .zip(&inputs.all)
        .filter(|(number, _)| !used.contains(number) && !is_choice(number))
        .filter(|(number, _)| {
            let words = &inputs.words[*number as usize];
            let is_word = matches!(inputs.origins[*number as usize], Origin::Term(term)
                if matches!(terms.node(term), Node::Atom(_) | Node::Memory(_)));
            is_word || !words.is_empty() && !words.is_subset(&shown)
        })
        .map(|(_, input)| {
            let (low, high) = input.range;
            match input.meaning.as_str() {
                "" => format!("{} lies in {low}..={high}", input.name),
                meaning => format!("{meaning} lies in {low}..={high}"),
            }
        })
        .collect()
}

/// Whether the inputs that occur may have any combination of values at some launch. They may if no
/// word of the launch determines two of them, and each takes every value of its range. `own` are
/// inputs that the launch does not choose: each CTA has its own, or it is the number of CTAs.
pub fn are_free(roles: &[Role], inputs: &Inputs, terms: &Terms, own: [Option<u32>; 2]) -> bool {
    let mut seen: BTreeSet<Atom> = BTreeSet::new();
    let used = used(roles).into_iter();
    used.filter(|input| !own.contains(&Some(*input)))
        .all(|input| {
            inputs.all[input as usize].range != ADDRESSES
                && takes_all(&inputs.origins[input as usize], inputs, terms)
                && inputs.words[input as usize].iter().all(|word| match word {
                    Atom::Parameter { .. } => seen.insert(*word),
                    _ => true,
                })
        })
}

impl Inputs {
    /// Whether everything that is given from outside is a number. Words that warps hand over are made up in runs that are
    /// compared, and patterns have no values there.
    pub fn are_numbers(&self) -> bool {
        self.ring_word_loops.is_empty() && self.memories.is_empty() && self.functions.is_empty()
    }

    /// Whether entries are free of each other: of one word, there is one test, and that is about no other.
    ///
    /// Functions of rounds are never free: nothing is known of which values go together.
    pub fn entries_are_free(&self) -> bool {
        if !self.functions.is_empty() {
            return false;
        }
        let mut pointers = BTreeSet::new();
        let mut memories = self.memories.iter();
        memories.all(|memory| !memory.is_function() && pointers.insert(memory.pointer))
    }

    /// Whether some input is computed from a word of memory, or an entry was made.
    pub fn read_memory(&self, terms: &Terms) -> bool {
        let mut all = self.origins.iter().flat_map(Origin::terms);
        !self.memories.is_empty() || all.any(|term| !terms.memory_in(term).is_empty())
    }
}

/// The inputs that occur and are where a CTA or a cluster is, each with that of how many there are along its axis, if both occur.
pub fn places(roles: &[Role], inputs: &Inputs, terms: &Terms) -> Vec<(u32, u32)> {
    let special = |input: &u32| match inputs.origins[*input as usize] {
        Origin::Term(term) => match terms.node(term) {
            Node::Atom(Atom::Special(special)) => Some((*input, *special)),
            _ => None,
        },
        _ => None,
    };
    let found: Vec<(u32, Special)> = used(roles).iter().filter_map(special).collect();
    let pairs = found
        .iter()
        .flat_map(|one| found.iter().map(move |other| (one, other)));
    let below = |(one, other): &(&(u32, Special), &(u32, Special))| match (one.1, other.1) {
        (Special::CtaIndex(a), Special::GridCtas(b))
        | (Special::ClusterIndex(a), Special::GridClusters(b)) => a == b,
        _ => false,
    };
    pairs
        .filter(below)
        .map(|(one, other)| (one.0, other.0))
        .collect()
}

/// Refuses words of memory that are numbers in one place and entries in another one: these would not be free of each other.
pub fn refuse_both(roles: &[Role], inputs: &Inputs, terms: &Terms) -> Result<(), Obstacle> {
    let used = crate::recover::at_launch::closure(inputs, &used(roles));
    let origins = used.iter().map(|input| &inputs.origins[*input as usize]);
    for word in origins
        .flat_map(Origin::terms)
        .flat_map(|term| terms.memory_in(term))
    {
        let pointers = terms.parts(word).into_iter();
        let pointers = pointers.filter_map(|part| wide_parameter(part, terms));
        let of_entries = |pointer: u32| {
            let mut memories = inputs.memories.iter();
            memories.any(|memory| memory.pointer == pointer && !memory.is_function())
        };
        if pointers.into_iter().any(of_entries) {
            return refuse(
                "one array decides about synchronization both by its numbers and by conditions on them",
                &Location::default(),
            );
        }
    }
    Ok(())
}

/// The words of a launch that a term is computed from: parameters, and words of memory, whose
/// addresses do not count.
fn given_in(term: TermId, terms: &Terms) -> BTreeSet<TermId> {
    let mut found = BTreeSet::new();
    let mut work = vec![term];
    while let Some(term) = work.pop() {
        match terms.node(term) {
            Node::Atom(Atom::Parameter { .. }) | Node::Memory(_) => {
                found.insert(term);
            }
            _ => work.extend(terms.children(term)),
        }
    }
    found
}

/// Whether an input takes every value of its range. It does if it is a word, the quotient of a
/// word, or a trip count up to a word or a product of words.
fn takes_all(origin: &Origin, inputs: &Inputs, terms: &Terms) -> bool {
    let is_word = |term: TermId| {
        let node = terms.node(term);
        match node {
            Node::Atom(Atom::Parameter { .. }) | Node::Memory(_) => true,
            // Whatever the first word is, the second one may be that much larger.
            Node::Sum { constant: 0, parts } => is_length(parts, terms.width_of(term), terms),
            _ => wide_parameter(term, terms).is_some(),
        }
    };
    match origin {
        Origin::Term(term) => is_word(*term),
        Origin::Granted => true,
        Origin::RingWordTrips { .. } => false,
        Origin::Number(number) => {
            let [(Atomic::Quotient(inner, divisor), 1)] =
                number.parts.iter().collect::<Vec<_>>()[..]
            else {
                return false;
            };
            let [(Atomic::Input(input), 1)] = inner.parts.iter().collect::<Vec<_>>()[..] else {
                return false;
            };
            number.constant == 0
                && (0..*divisor).contains(&inner.constant)
                && takes_all(&inputs.origins[*input as usize], inputs, terms)
        }
        Origin::Trips {
            relation,
            phi,
            first,
            step,
        } => {
            // What is known of the first value may keep the bound below some number.
            if terms.value(*step).is_some() {
                return false;
            }
            // Whatever the step and the first value are, the bound may be that many steps further.
            let given = |atom: &Atom| matches!(atom, Atom::Parameter { .. });
            let [bounds, steps, begins] = [*relation, *step, *first].map(|term| terms.atoms(term));
            let shared = |atom: &Atom| bounds.contains(atom) || begins.contains(atom);
            if steps.iter().any(|atom| given(atom) && shared(atom)) {
                return false;
            }
            let Node::Relation(Relation::LessSigned | Relation::LessUnsigned, at, bound) =
                *terms.node(*relation)
            else {
                return false;
            };
            if !given_in(*first, terms).is_disjoint(&given_in(bound, terms)) {
                return false;
            }
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
