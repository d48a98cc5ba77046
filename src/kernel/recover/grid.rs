//! CTAs that wait for each other through words of global memory.
//!
//! CTAs share nothing else, so other protocols are about one cluster. Such a protocol is about all
//! CTAs that use the same words: `role warp1[cta in 0..ctas] warp { .. wait lock[i] == cta .. }`.
//!
//! - CTAs belong together if their words have the same base address. It is assumed that different
//!   bases have no word in common. The base itself is no part of the protocol.
//! - Awaited values and indices of words may depend on one number that differs between CTAs. In the
//!   CTAs that belong together it is 0, 1, 2, and so on, each once. That follows for an index of
//!   the grid that is no part of the base. Otherwise it is assumed, if some launch meets it
//!   ([`crate::recover::launchable`]).
//! - A factor that the launch gives, such as the stride in `lock[i * stride]`, is assumed not to be
//!   0. With 0, all these words would be one.
//! - Anything else that differs between CTAs may only decide branches. It is assumed to decide them
//!   alike in CTAs that belong together.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::ir::Kernel;
use crate::ir::Location;
use crate::ir::Special;
use crate::recover::counters::ASSUMPTIONS;
use crate::recover::family::each;
use crate::recover::inputs::used;
use crate::recover::launchable::is_not_always_0;
use crate::recover::launchable::numbers_ctas;
use crate::recover::lower::Inputs;
use crate::recover::lower::Origin;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::rewrite::conditions;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Role;
use crate::recover::role_ir::Word;
use crate::recover::role_ir::counts;
use crate::recover::role_ir::every_line;
use crate::recover::shape::Shape;
use crate::recover::term::Atom;
use crate::recover::tree::Arena;
use crate::recover::tree::Obstacle;
use crate::recover::tree::refuse;

/// The CTAs of a protocol, and the words that they share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    /// What a CTA is called, and how many there are.
    pub name: String,
    pub count: String,
    /// The input that is the number of a CTA.
    pub turn: Option<u32>,
    pub arrays: Vec<Array>,
    /// Whether each number of CTAs is that of some launch, and each launch is like one of them.
    pub exact: bool,
}

/// An array of words of memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Array {
    pub name: String,
    /// Which words: pointer, base, factor, stride, width.
    key: (u32, u32, Option<u32>, i128, u16),
    /// One more than the greatest index.
    pub extent: Option<Number>,
}

impl Grid {
    /// The array of a word.
    pub fn array(&self, word: &Word) -> Option<&Array> {
        self.arrays.iter().find(|array| array.key == key(word))
    }
}

const DIFFERENT: &str = "CTAs that wait for each other differ here in more than one number";
const APART: &str = "the words of memory that are waited for begin at several places, so that it is not known which of them are \
                     the same";
const UNNUMBERED: &str = "in the CTAs that wait for each other, what they wait for would have to be 0, 1, 2, and so on, each once: no launch \
                          was found at which it is";
const ALWAYS_0: &str = "the words of memory that are waited for are told apart by a product with a number that differs between CTAs or is always 0";
const NOBODY: &str = "the kernel waits for memory that it never adds to: somebody else has to";
const ENDLESS: &str = "the numbers of the words of memory that this may mean have no greatest one";

fn key(word: &Word) -> (u32, u32, Option<u32>, i128, u16) {
    (
        word.pointer,
        word.base,
        word.factor,
        word.stride,
        word.width,
    )
}

/// The CTAs that share words of memory, if any are waited for.
pub fn shared(
    kernel: &Kernel,
    shape: Shape,
    roles: &mut [Role],
    inputs: &mut Inputs,
    arena: &mut Arena,
) -> Result<Option<Grid>, Obstacle> {
    let mut words: Vec<(Word, Location)> = Vec::new();
    let mut waits = false;
    // The inputs in values that are awaited or added, and in indices.
    let mut mattering: BTreeSet<u32> = BTreeSet::new();
    for role in roles.iter() {
        each(&role.lines, &mut |action, location| {
            let (word, value) = match action {
                Action::CounterWait { word, value, .. } => {
                    waits = true;
                    (word, value)
                }
                Action::CounterAdd { word, value } => (word, value),
                _ => return,
            };
            words.push((word.clone(), location.clone()));
            for number in [&word.index, value] {
                number.each(&mut |atomic| {
                    if let Atomic::Input(input) = atomic {
                        mattering.insert(*input);
                    }
                });
            }
        });
    }
    let Some((_, first)) = words.first().cloned() else {
        return Ok(None);
    };
    if !waits {
        return refuse(APART, &first);
    }
    let mut of_cluster = shape.ctas() > 1;
    for role in roles.iter() {
        each(&role.lines, &mut |action, _| {
            of_cluster |= matches!(action, Action::ClusterArrive | Action::ClusterWait);
        });
    }
    if of_cluster {
        return refuse(
            "CTAs of clusters wait for words of global memory: that is not followed",
            &first,
        );
    }
    let differs: BTreeSet<u32> = (0_u32..)
        .zip(&inputs.words)
        .filter(|(_, atoms)| atoms.iter().any(is_of_cta))
        .map(|(input, _)| input)
        .collect();
    let differs = closed(inputs, differs);
    let turns: Vec<u32> = mattering.intersection(&differs).copied().collect();
    let turn = match turns.as_slice() {
        [] => None,
        [only] => Some(*only),
        _ => return refuse(DIFFERENT, &first),
    };
    choose(roles, inputs, &differs, turn, arena)?;
    let left = used(roles);
    if let Some(other) = left
        .iter()
        .find(|input| differs.contains(input) && Some(**input) != turn)
    {
        let what = &inputs.all[*other as usize].meaning;
        return refuse(format!("{DIFFERENT}: also in {what}"), &first);
    }
    let axis = turn.and_then(|turn| axis_of(inputs, turn, arena));
    let in_base = |input: u32| inputs.words[input as usize].iter().any(is_of_cta);
    let own_axis = |axis: u8, input: u32| {
        let atom = Atom::Special(Special::CtaIndex(axis));
        inputs.words[input as usize].contains(&atom)
    };
    if let Some(axis) = axis
        && words.iter().any(|(word, _)| own_axis(axis, word.base))
    {
        return refuse(APART, &first);
    }
    let arrays = arrays(kernel, roles, &words, turn)?;
    let added = |array: &&Array| {
        let mut found = false;
        for role in roles.iter() {
            each(&role.lines, &mut |action, _| {
                if let Action::CounterAdd { word, .. } = action {
                    found |= array.key == key(word);
                }
            });
        }
        !found
    };
    if arrays.iter().any(|array| added(&array)) {
        return refuse(NOBODY, &first);
    }
    // CTAs that belong together at one array may not do so at another.
    if arrays.len() > 1 && words.iter().any(|(word, _)| in_base(word.base)) {
        return refuse(APART, &first);
    }
    let factors: BTreeSet<u32> = words.iter().filter_map(|(word, _)| word.factor).collect();
    let mut factor_may_be = |factor: &u32| {
        !in_base(*factor) && is_not_always_0(kernel, inputs, *factor, &mut arena.terms)
    };
    if !factors.iter().all(&mut factor_may_be) {
        return refuse(ALWAYS_0, &first);
    }
    if let (Some(turn), None) = (turn, axis) {
        let words: Vec<&Word> = words.iter().map(|(word, _)| word).collect();
        if !numbers_ctas(kernel, inputs, turn, &words, &mut arena.terms) {
            return refuse(UNNUMBERED, &first);
        }
    }
    let (name, count) = match axis {
        Some(axis) => {
            let axis = ["x", "y", "z"][usize::from(axis.min(2))];
            (format!("ctaid_{axis}"), format!("nctaid_{axis}"))
        }
        None => ("cta".to_owned(), "ctas".to_owned()),
    };
    let all = inputs.all.clone();
    let mut say = |text: String| {
        inputs.assumptions.insert(text);
    };
    for text in ASSUMPTIONS {
        say(text.to_owned());
    }
    say("words of memory at different addresses that CTAs compute do not overlap".to_owned());
    for factor in factors {
        let factor = &all[factor as usize];
        let what = match factor.meaning.as_str() {
            "" => &factor.name,
            meaning => meaning,
        };
        say(format!(
            "the stride between words of memory is not 0: {what}"
        ));
    }
    if axis.is_some() {
        say(format!(
            "no two CTAs with the same {name} use the same words of memory"
        ));
    }
    if let (Some(turn), None) = (turn, axis) {
        let what = inputs.all[turn as usize].meaning.clone();
        inputs.assumptions.insert(format!(
            "in the CTAs that use the same words of memory, {what} is 0, 1, 2, and so on, each once"
        ));
    }
    let exact = axis.is_some() && arrays.len() == 1 && !words.iter().any(|(w, _)| in_base(w.base));
    Ok(Some(Grid {
        name,
        count,
        turn,
        arrays,
        exact,
    }))
}

/// Whether a number of the launch differs between CTAs.
fn is_of_cta(atom: &Atom) -> bool {
    matches!(
        atom,
        Atom::Special(Special::CtaIndex(_) | Special::ClusterIndex(_))
    )
}

/// Adds the inputs that are computed from those in `found`.
fn closed(inputs: &Inputs, mut found: BTreeSet<u32>) -> BTreeSet<u32> {
    for (input, origin) in (0_u32..).zip(&inputs.origins) {
        if let Origin::Number(number) = origin
            && number
                .mentions(&|atomic| matches!(atomic, Atomic::Input(input) if found.contains(input)))
        {
            found.insert(input);
        }
        // What a scheduler gives to a CTA differs between CTAs.
        if matches!(origin, Origin::Granted | Origin::RingWordTrips { .. }) {
            found.insert(input);
        }
    }
    found
}

/// The axis of the grid of which an input is the index.
fn axis_of(inputs: &Inputs, input: u32, arena: &Arena) -> Option<u8> {
    use crate::recover::term::Node;
    let Origin::Term(term) = inputs.origins[input as usize] else {
        return None;
    };
    match arena.terms.node(term) {
        Node::Atom(Atom::Special(Special::CtaIndex(axis))) => Some(*axis),
        _ => None,
    }
}

/// Conditions on what differs between CTAs, other than by their number, become choices. All CTAs
/// that belong together make the same choice.
fn choose(
    roles: &mut [Role],
    inputs: &mut Inputs,
    differs: &BTreeSet<u32>,
    turn: Option<u32>,
    arena: &Arena,
) -> Result<(), Obstacle> {
    let mut made: BTreeMap<Condition, Number> = BTreeMap::new();
    let other = |condition: &Condition| {
        let mut found = false;
        condition.each(&mut |number| {
            found |= number.mentions(&|atomic| {
                matches!(atomic, Atomic::Input(input) if differs.contains(input) && Some(*input) != turn)
            });
        });
        found
    };
    // The number of a CTA may be computed from the same words. Then the condition does not come out
    // alike.
    let hides = |condition: &Condition, inputs: &Inputs| {
        let mut found = false;
        condition.each(&mut |number| {
            number.each(&mut |atomic| {
                found |= match atomic {
                    Atomic::Input(input) => {
                        Some(*input) == turn
                            || differs.contains(input)
                                && turn.is_some_and(|turn| within(inputs, turn, *input, arena))
                    }
                    Atomic::Index(_) | Atomic::Variable(_) | Atomic::Entry(_) => true,
                    _ => false,
                };
            });
        });
        found
    };
    let mut leaves: BTreeSet<Condition> = BTreeSet::new();
    for role in roles.iter_mut() {
        conditions(&mut role.lines, &mut |condition| {
            gather(condition, &mut leaves);
        });
    }
    for leaf in leaves.into_iter().filter(|leaf| other(leaf)) {
        if hides(&leaf, inputs) {
            return refuse(DIFFERENT, &Location::default());
        }
        let negated = leaf.clone().negated();
        let known = negated
            .as_ref()
            .and_then(|negated| made.get(negated))
            .cloned();
        let number = match known {
            Some(number) => Number::constant(1).minus(&number).unwrap_or_default(),
            None => {
                let (mut atoms, mut named) = (BTreeSet::new(), Vec::new());
                leaf.each(&mut |number| {
                    number.each(&mut |atomic| {
                        if let Atomic::Input(input) = atomic {
                            atoms.extend(inputs.words[*input as usize].iter().copied());
                            named.push(inputs.all[*input as usize].meaning.clone());
                        }
                    });
                });
                let what = named.join(" and ");
                inputs.assumptions.insert(format!(
                    "a comparison of {what} comes out alike in all CTAs that use the same words of memory"
                ));
                let input = inputs.add(
                    "takes_part".to_owned(),
                    format!("a comparison of {what}"),
                    atoms,
                    (0, 1),
                    Origin::Number(Number::default()),
                );
                Number::of(Atomic::Input(input))
            }
        };
        made.insert(leaf, number);
    }
    for role in roles.iter_mut() {
        conditions(&mut role.lines, &mut |condition| {
            *condition = replaced(condition, &made);
        });
    }
    Ok(())
}

/// Whether the term of an input is a part of that of another one.
fn within(inputs: &Inputs, part: u32, whole: u32, arena: &Arena) -> bool {
    match (
        &inputs.origins[part as usize],
        &inputs.origins[whole as usize],
    ) {
        (Origin::Term(part), Origin::Term(whole)) => arena.terms.parts(*whole).contains(part),
        _ => true,
    }
}

fn gather(condition: &Condition, leaves: &mut BTreeSet<Condition>) {
    match condition {
        Condition::And(a, b) | Condition::Or(a, b) => {
            gather(a, leaves);
            gather(b, leaves);
        }
        leaf => {
            leaves.insert(leaf.clone());
        }
    }
}

fn replaced(condition: &Condition, made: &BTreeMap<Condition, Number>) -> Condition {
    match condition {
        Condition::And(a, b) => {
            Condition::And(Box::new(replaced(a, made)), Box::new(replaced(b, made)))
        }
        Condition::Or(a, b) => {
            Condition::Or(Box::new(replaced(a, made)), Box::new(replaced(b, made)))
        }
        leaf => match made.get(leaf) {
            Some(number) => Condition::NotZero(number.clone()),
            None => leaf.clone(),
        },
    }
}

/// The arrays, and how many elements they have.
fn arrays(
    kernel: &Kernel,
    roles: &[Role],
    words: &[(Word, Location)],
    turn: Option<u32>,
) -> Result<Vec<Array>, Obstacle> {
    let mut arrays: Vec<Array> = Vec::new();
    for (word, location) in words {
        if arrays.iter().any(|array| array.key == key(word)) {
            continue;
        }
        // Words at the same pointer with another base or stride may be the same words.
        if arrays.iter().any(|array| array.key.0 == word.pointer) {
            return refuse(APART, location);
        }
        let bytes = i128::from(word.width / 8);
        if word.stride != 0 && word.stride % bytes != 0 {
            return refuse(APART, location);
        }
        let parameter = kernel.parameters.iter().find(|parameter| {
            (parameter.offset..parameter.offset.saturating_add(parameter.size.max(1)))
                .contains(&word.pointer)
        });
        let name = parameter.map_or("memory", |parameter| parameter.name.as_str());
        arrays.push(Array {
            name: format!("at_{name}"),
            key: key(word),
            extent: None,
        });
    }
    for role in roles {
        let counts = counts(&role.lines);
        let mut failure = None;
        every_line(&role.lines, &mut |line| {
            let Line::Action { action, location } = line else {
                return;
            };
            let (Action::CounterWait { word, .. } | Action::CounterAdd { word, .. }) = action
            else {
                return;
            };
            let extent = greatest(&word.index, &counts, turn);
            let Some(extent) = extent.and_then(|most| most.plus(&Number::constant(1))) else {
                failure.get_or_insert_with(|| location.clone());
                return;
            };
            let mut all = arrays.iter_mut();
            if let Some(array) = all.find(|array| array.key == key(word)) {
                array.extent = Some(match array.extent.take() {
                    Some(before) => Number::maximum(before, extent),
                    None => extent,
                });
            }
        });
        if let Some(location) = failure {
            return refuse(ENDLESS, &location);
        }
    }
    Ok(arrays)
}

/// The greatest value of an index in all iterations of the loops around, as a number over inputs.
pub fn greatest(
    index: &Number,
    counts: &BTreeMap<u32, Number>,
    turn: Option<u32>,
) -> Option<Number> {
    let mut sum = Number::constant(index.constant);
    for (atomic, factor) in &index.parts {
        let most = match atomic {
            // The index is 0 in the first iteration. More iterations make the sum less.
            Atomic::Index(_) if *factor < 0 => Number::default(),
            Atomic::Index(loop_index) => {
                let last = counts.get(loop_index)?.minus(&Number::constant(1))?;
                greatest(&last, counts, turn)?
            }
            Atomic::Input(input) if Some(*input) != turn => Number::of(atomic.clone()),
            // In `0..divisor`.
            Atomic::Remainder(_, divisor) if *factor > 0 => Number::constant(divisor - 1),
            Atomic::Remainder(..) => Number::default(),
            Atomic::Quotient(inner, divisor) if *factor > 0 => {
                greatest(inner, counts, turn)?.divided(*divisor)?
            }
            _ => return None,
        };
        sum = sum.plus(&most.times(*factor)?)?;
    }
    Some(sum)
}

/// The inputs that are base addresses of words or factors of their indices.
pub fn words_of(roles: &[Role]) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    for role in roles {
        each(&role.lines, &mut |action, _| {
            if let Action::CounterWait { word, .. } | Action::CounterAdd { word, .. } = action {
                found.insert(word.base);
                found.extend(word.factor);
            }
        });
    }
    found
}
