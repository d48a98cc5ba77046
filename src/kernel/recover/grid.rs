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
//!   ([`crate::recover::launchable`]). An index of the grid is also that number if only branches
//!   depend on it, as in `if (blockIdx.x == 0)`, and no word does.
//! - The number of CTAs along that axis is the number of CTAs of the text. If nothing differs
//!   between CTAs and all use the same words, the text may depend on the number of CTAs along one
//!   axis. Then it is about grids that have one CTA along the other axes.
//! - A factor that the launch gives, such as the stride in `lock[i * stride]`, is assumed not to be
//!   0. With 0, all these words would be one.
//! - Anything else that differs between CTAs may only decide branches. It is assumed to decide them
//!   alike in CTAs that belong together. That is refused if there is no such number and all CTAs
//!   use the same words: hardly any launch would be left.

use std::collections::BTreeSet;

use crate::ir::Kernel;
use crate::ir::Location;
use crate::ir::Special;
use crate::recover::alike_ctas::choose;
use crate::recover::counters::ASSUMPTIONS;
use crate::recover::extents::CTAS;
use crate::recover::extents::arrays;
use crate::recover::extents::limits;
use crate::recover::family::each;
use crate::recover::inputs::used;
use crate::recover::launchable::is_not_always_0;
use crate::recover::launchable::numbers_ctas;
use crate::recover::lower::Inputs;
use crate::recover::lower::Origin;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Role;
use crate::recover::role_ir::Word;
use crate::recover::shape::Shape;
use crate::recover::stored::Words;
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
    /// The input that is how many there are.
    pub total: Option<u32>,
    pub arrays: Vec<Array>,
    /// Numbers that are assumed to be at most 2^31 - 1, so that what is awaited or stored does not
    /// wrap around.
    pub limits: BTreeSet<Number>,
    /// Whether each number of CTAs is that of some launch, and each launch is like one of them.
    pub exact: bool,
}

/// An array of words of memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Array {
    pub name: String,
    /// Which words: pointer, base, factor, stride, width.
    pub key: (u32, u32, Option<u32>, i128, u16),
    /// One more than the greatest index.
    pub extent: Option<Number>,
}

impl Grid {
    /// Whether an input is how many CTAs there are.
    pub fn counts_ctas(&self, input: u32) -> bool {
        input == CTAS || self.total == Some(input)
    }

    /// The array of a word.
    pub fn array(&self, word: &Word) -> Option<&Array> {
        self.arrays.iter().find(|array| array.key == key(word))
    }
}

pub const DIFFERENT: &str = "CTAs that wait for each other differ here in more than one number";
pub const APART: &str = "the words of memory that are waited for begin at several places, so that it is not known which of them are \
                     the same";
/// Different CTAs may compute the same address in different ways, such as `words[cta + i]`. This
/// excludes that, and words that overlap in part.
const DISJOINT: &str =
    "if the words of memory of two CTAs begin at different addresses, they do not overlap";
const UNNUMBERED: &str = "in the CTAs that wait for each other, what they wait for would have to be 0, 1, 2, and so on, each once: no launch \
                          was found at which it is";
const ALWAYS_0: &str = "the words of memory that are waited for are told apart by a product with a number that differs between CTAs or is always 0";
const STORED: &str = "what is stored to a word of memory that CTAs wait for may wrap around";
const NOBODY: &str = "the kernel waits for a word of memory that it never changes: something outside the kernel would have to";

pub fn key(word: &Word) -> (u32, u32, Option<u32>, i128, u16) {
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
                Action::CounterAdd { word, value, .. } | Action::CounterSet { word, value, .. } => {
                    (word, value)
                }
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
        [] => decides(roles, &words, inputs, &differs, arena),
        [only] => Some(*only),
        _ => return refuse(DIFFERENT, &first),
    };
    let chooses = choose(roles, inputs, &differs, turn, arena)?;
    let in_base = |input: u32| inputs.words[input as usize].iter().any(is_of_cta);
    let told_apart = words.iter().any(|(word, _)| in_base(word.base));
    // All CTAs of the grid use the same words: no launch with more than a few of them would be left.
    if chooses && turn.is_none() && !told_apart {
        return refuse(DIFFERENT, &first);
    }
    let left = used(roles);
    if let Some(other) = left
        .iter()
        .find(|input| differs.contains(input) && Some(**input) != turn)
    {
        let what = &inputs.all[*other as usize].meaning;
        return refuse(format!("{DIFFERENT}: also in {what}"), &first);
    }
    let mut axis = turn.and_then(|turn| axis_of(inputs, turn, arena));
    // All CTAs of the grid use the same words. If the text depends on the number of CTAs along one
    // axis, there is one CTA along the others.
    let totals: Vec<(u32, u8)> = used(roles)
        .into_iter()
        .filter_map(|input| Some((input, size_of(inputs, input, arena)?)))
        .collect();
    if let (None, [(_, only)]) = (turn, totals.as_slice())
        && !told_apart
    {
        axis = Some(*only);
    }
    let total = totals
        .iter()
        .find(|(_, along)| axis == Some(*along))
        .map(|(input, _)| *input);
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
                if let Action::CounterAdd { word, .. } | Action::CounterSet { word, .. } = action {
                    found |= array.key == key(word);
                }
            });
        }
        !found
    };
    if arrays.iter().any(|array| added(&array)) {
        return refuse(NOBODY, &first);
    }
    // Before a flag becomes a count of its stores: the stored values are what must not be too great.
    let limits = limits(roles, turn, &|atomic, counts| {
        inputs.range_of(atomic, counts)
    })?;
    for array in &arrays {
        let words = Words {
            contains: &|word| array.key == key(word),
            differs: &|input| differs.contains(&input),
            turn,
            range: &|atomic, counts| inputs.range_of(atomic, counts),
        };
        words.settle(roles)?;
    }
    // A limit is written with the parameters of the text.
    let left = used(roles);
    let is_gone = |atomic: &Atomic| matches!(atomic, Atomic::Input(input) if !left.contains(input));
    if limits.iter().any(|limit| limit.mentions(&is_gone)) {
        return refuse(STORED, &first);
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
    say(DISJOINT.to_owned());
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
        total,
        arrays,
        limits,
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

/// The number of a CTA if only branches depend on it, as in `if (blockIdx.x == 0)`: an index of the
/// grid, if nothing else differs between CTAs. No word depends on it. So CTAs that use the same
/// words differ in it.
fn decides(
    roles: &[Role],
    words: &[(Word, Location)],
    inputs: &Inputs,
    differs: &BTreeSet<u32>,
    arena: &Arena,
) -> Option<u32> {
    let used = used(roles);
    let mut own = used.intersection(differs);
    let only = *own.next()?;
    let index = Atom::Special(Special::CtaIndex(axis_of(inputs, only, arena)?));
    let mut bases = words.iter().map(|(word, _)| word.base as usize);
    let told_apart = bases.any(|base| inputs.words[base].contains(&index));
    (own.next().is_none() && !told_apart).then_some(only)
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

/// The axis of the grid of which an input is the number of CTAs.
fn size_of(inputs: &Inputs, input: u32, arena: &Arena) -> Option<u8> {
    use crate::recover::term::Node;
    let Origin::Term(term) = inputs.origins[input as usize] else {
        return None;
    };
    match arena.terms.node(term) {
        Node::Atom(Atom::Special(Special::GridCtas(axis))) => Some(*axis),
        _ => None,
    }
}
