//! Chooses launches to run: a small set that covers every branch of the roles.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::Chosen;
use super::entries::Entries;
use super::entries::Tests;
use super::expand;
use super::expand::Way;
use super::units::units;
use crate::interpret::Filling;
use crate::interpret::Launch;
use crate::interpret::MOST_BYTES;
use crate::interpret::Mask;
use crate::interpret::default_pointer;
use crate::ir::Kernel;
use crate::recover::Shape;
use crate::recover::at_launch;
use crate::recover::at_launch::Word;
use crate::recover::is_launch;
use crate::recover::lower::Inputs;
use crate::recover::role_ir::Role;
use crate::recover::term::Atom;
use crate::recover::term::TermId;
use crate::recover::tree::Arena;
use crate::recover::used;
use crate::recover::words_of;

/// Values that words have. Sizes count in elements, so rounds of a loop need multiples of a tile.
const VALUES: [u32; 24] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 17, 32, 64, 65, 128, 192, 256, 320, 512, 640, 1152, 2304,
];
/// How many units of what the kernel divides it by a word has.
const MULTIPLES: [u32; 5] = [0, 1, 2, 3, 5];
const GRIDS: [u32; 6] = [1, 2, 3, 5, 8, 40];
/// Of tiles that are a number in the kernel, small grids leave each CTA too many to be run.
const LARGE_GRIDS: [u32; 4] = [256, 1024, 2048, 5000];
/// What words have that no input mentions.
const OTHERS: [u32; 4] = [1, 2, 0, 64];

/// How many launches are looked at.
const CANDIDATES: usize = 240;

/// How many inputs are compared with each other.
const MOST_ORDERED: usize = 8;

/// How many values are taken from conditions.
const MOST_BORDERS: usize = 60;

/// More parameters than a kernel has.
const FAR: usize = 1 << 14;

/// How many conditions are looked at whose sides may have come out alike.
const MOST_ALIKE: usize = 16;

/// Numbers that look like chance and are the same every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % end.max(1)
    }

    fn one_of(&mut self, values: &[u32]) -> u32 {
        values.get(self.below(values.len())).copied().unwrap_or(0)
    }
}

struct Candidate {
    chosen: Chosen,
    /// Of each role, and what is of no role.
    ways: BTreeSet<(Option<usize>, Way)>,
    lines: usize,
}

/// Launches. Those that together cover every branch that was found come first.
pub fn choose(
    kernel: &Kernel,
    shape: Shape,
    roles: &[Role],
    (inputs, tests): (&Inputs, &Tests),
    arena: &mut Arena,
    (least, most): (usize, usize),
) -> Vec<Chosen> {
    let mut wanted = at_launch::closure(inputs, &used(roles));
    wanted.extend(words_of(roles));
    let mut varied = at_launch::behind(inputs, &wanted);
    varied.extend(at_launch::behind_functions(inputs, &arena.terms));
    // Where memory begins does not matter, only what lies there.
    for pointer in &arena.unwritten.pointers {
        for word in [*pointer, pointer.saturating_add(4)] {
            varied.remove(&Word::Parameter(word));
        }
    }
    let parameters: Vec<u32> = varied
        .iter()
        .filter_map(|word| match word {
            Word::Parameter(offset) => Some(*offset),
            _ => None,
        })
        .collect();
    for axis in 0..3 {
        varied.insert(Word::Grid(axis));
        varied.insert(Word::Index(axis));
    }
    let mut borders = BTreeSet::new();
    for role in roles {
        expand::borders(&role.lines, &mut borders);
    }
    let pool: Vec<u32> = VALUES
        .into_iter()
        .chain(borders.into_iter().take(MOST_BORDERS))
        .collect();
    let units = units(inputs, &arena.terms);
    // Of a branch whose sides came out alike, the text has no way that is to be taken. If they came out alike by mistake, only a
    // launch that takes the rare side shows it. So conditions on what the text does not mention come first.
    let mut alike_sides: Vec<TermId> = arena
        .decided_by
        .iter()
        .copied()
        .filter(|condition| is_launch(*condition, &arena.terms))
        .collect();
    alike_sides.sort_by_key(|condition| {
        arena.terms.atoms(*condition).iter().all(|atom| match atom {
            Atom::Parameter { offset } => varied.contains(&Word::Parameter(*offset)),
            _ => true,
        })
    });
    alike_sides.truncate(MOST_ALIKE);
    let rare: Vec<Vec<(u32, u32)>> = alike_sides
        .iter()
        .map(|condition| at_launch::compared(*condition, &arena.terms))
        .filter(|words| !words.is_empty())
        .flat_map(|words| {
            [0, u32::MAX, 1].map(|more| {
                let near = words.iter();
                near.map(|(offset, number)| (*offset, number.wrapping_add(more)))
                    .collect()
            })
        })
        .collect();
    let mut words = varied.clone();
    words.extend(
        rare.iter()
            .flatten()
            .map(|(offset, _)| Word::Parameter(*offset)),
    );
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut seen = BTreeSet::new();
    let small = (0..CANDIDATES + rare.len()).map(|number| (number, false));
    let large = (pool.len()..CANDIDATES).map(|number| (number, true));
    for (number, is_large) in small.chain(large) {
        if is_large && !candidates.is_empty() {
            break;
        }
        let grids: &[u32] = if is_large { &LARGE_GRIDS } else { &GRIDS };
        let pools = (&pool[..], &units, grids);
        let mut launch = candidate(kernel, shape, &parameters, pools, number);
        let rare = number.checked_sub(CANDIDATES).and_then(|at| rare.get(at));
        for (offset, value) in rare.into_iter().flatten() {
            launch.set_bytes(*offset, &value.to_le_bytes());
        }
        launch.masks = masks((inputs, tests), &mut launch, number);
        let mut chance = Chance(0x517c_c1b7 ^ number as u64);
        let alike = pool.get(number).copied();
        at_launch::fill_memory(inputs, &wanted, &mut launch, &mut arena.terms, || {
            alike.unwrap_or_else(|| chance.one_of(&pool))
        });
        let Some(values) = at_launch::values(inputs, &wanted, &launch, &mut arena.terms) else {
            continue;
        };
        let sides: Vec<Option<bool>> = alike_sides
            .iter()
            .map(|condition| at_launch::truth(*condition, &launch, &mut arena.terms))
            .collect();
        let key = (
            values.clone(),
            sides.clone(),
            launch.masks.clone(),
            // Where no input differs, a few launches differ in what no input mentions.
            (wanted.is_empty() && number < 4).then_some(number),
        );
        if !seen.insert(key) {
            continue;
        }
        let mut ways = orders(&values);
        let sides = sides.into_iter().enumerate();
        ways.extend(
            sides.filter_map(|(at, side)| Some((None, (at, usize::MAX, i128::from(side?))))),
        );
        let entries = Entries {
            terms: &arena.terms,
            memories: &inputs.memories,
            functions: &inputs.functions,
            tests,
            launch: &launch,
        };
        let mut lines = 0;
        let all = roles.iter().enumerate().try_for_each(|(at, role)| {
            let (own, length) = expand::ways(role, &values, entries)?;
            ways.extend(own.into_iter().map(|way| (Some(at), of_cta(way, &launch))));
            lines += length * role.warps.len();
            (lines <= expand::MOST_LINES).then_some(())
        });
        if all.is_some() {
            candidates.push(Candidate {
                chosen: Chosen {
                    launch,
                    values,
                    words: words.clone(),
                    wanted: true,
                },
                ways,
                lines,
            });
        }
    }
    pick(candidates, least, most)
}

/// The way past an entry in another CTA is another one: a text in which the CTA does not say which word this is takes it in all of them.
fn of_cta((line, part, value): Way, launch: &Launch) -> Way {
    if part < expand::ENTRIES {
        return (line, part, value);
    }
    let index = |at: usize, index: &u32| 3 * at + usize::try_from((*index).min(2)).unwrap_or(0);
    (line, launch.cta.iter().fold(part, index), value)
}

/// Words that functions are asked of.
const WORDS: [u64; 8] = [0, 1, 2, 3, 1, 0, 5, 8];

/// What lies in the memory that entries are of: nothing but zeros, none, few or many. It lies where no other pointer points to.
fn masks((inputs, tests): (&Inputs, &Tests), launch: &mut Launch, number: usize) -> Vec<Mask> {
    let mut masks: Vec<(u32, Mask)> = Vec::new();
    for (at, memory) in inputs.memories.iter().enumerate() {
        if memory.is_function() || masks.iter().any(|(pointer, _)| *pointer == memory.pointer) {
            continue;
        }
        let begin = default_pointer(FAR.saturating_add(at));
        launch.set_bytes(memory.pointer, &begin.to_le_bytes());
        let seed = number as u64 ^ (at as u64) << 32;
        let zeros = match (number + at) % 6 {
            0 => Filling::None,
            1 => Filling::All,
            two @ (2 | 3) => Filling::Some {
                of_8: if two == 2 { 2 } else { 6 },
                seed,
            },
            _ => Filling::Some { of_8: 4, seed },
        };
        let mask = Mask {
            begin,
            size: MOST_BYTES,
            bytes: memory.bytes,
            zeros,
            words: tests.words(memory.pointer),
        };
        masks.push((memory.pointer, mask));
    }
    let mut masks: Vec<Mask> = masks.into_iter().map(|(_, mask)| mask).collect();
    // Functions read anywhere.
    let bytes = inputs.memories.iter().filter(|memory| memory.is_function());
    if let Some(bytes) = bytes.map(|memory| memory.bytes).min() {
        masks.push(Mask {
            begin: 0,
            size: u64::MAX,
            bytes,
            zeros: Filling::Some {
                of_8: 4,
                seed: number as u64,
            },
            words: WORDS.to_vec(),
        });
    }
    masks
}

/// Which of two inputs is greater, for each two: roles that wait for each other may do so unequally often.
fn orders(values: &[Option<i128>]) -> BTreeSet<(Option<usize>, Way)> {
    let mut found = BTreeSet::new();
    for (one, a) in values.iter().enumerate().take(MOST_ORDERED) {
        for (other, b) in values.iter().enumerate().take(one) {
            if let (Some(a), Some(b)) = (a, b) {
                found.insert((None, (one, other, (a - b).signum())));
            }
        }
    }
    found
}

/// The launch of a number: first all words alike, then by turns one word that differs and all by chance.
fn candidate(
    kernel: &Kernel,
    shape: Shape,
    parameters: &[u32],
    (pool, units, grids): (&[u32], &BTreeMap<u32, u32>, &[u32]),
    number: usize,
) -> Launch {
    let mut launch = Launch::new(kernel);
    launch.threads = shape.threads;
    launch.cluster = shape.cluster;
    let mut chance = Chance(0x9e37_79b9 ^ number as u64);
    chance.below(2);
    let alike = pool.get(number).copied();
    let base = chance.one_of(pool);
    let odd = chance.below(parameters.len() + 1);
    for axis in 0..3 {
        let grid = if alike.is_some() {
            1 + u32::from(axis == 0)
        } else {
            chance.one_of(grids)
        };
        let index = if alike.is_some() {
            0
        } else {
            u32::try_from(chance.below(grid as usize)).unwrap_or(0)
        };
        launch.grid[axis] = grid.saturating_mul(shape.cluster[axis]);
        launch.cta[axis] = index.saturating_mul(shape.cluster[axis]);
    }
    let other = OTHERS[number % OTHERS.len()];
    // 8 bytes may be a pointer, or a size that decides how long a loop without events runs.
    if number % 2 == 1 {
        for parameter in kernel.parameters.iter().filter(|each| each.size == 8) {
            launch.set_bytes(parameter.offset, &u64::from(other).to_le_bytes());
        }
    }
    for (at, offset) in parameters.iter().enumerate() {
        let value = match alike {
            Some(value) => value,
            None if number.is_multiple_of(3) => {
                let unit = units.get(offset).copied().unwrap_or(1);
                chance.one_of(&MULTIPLES).saturating_mul(unit)
            }
            None if number.is_multiple_of(2) && at != odd => base,
            None => chance.one_of(pool),
        };
        // A number of 64 bits is a size, which is small.
        let mut wide = kernel.parameters.iter().filter(|each| each.size == 8);
        let above = wide.any(|each| each.offset.checked_add(4) == Some(*offset))
            && parameters.contains(&(*offset - 4));
        let value = if above { 0 } else { value };
        launch.set_bytes(*offset, &value.to_le_bytes());
    }
    launch.fill(other);
    launch.granted = u32::try_from(number % 7).ok();
    launch.ring_words = u32::try_from(number % 5).ok();
    launch
}

/// A greedy cover: repeatedly takes the launch with the most branches that are not covered yet, and then some more launches.
fn pick(mut candidates: Vec<Candidate>, least: usize, most: usize) -> Vec<Chosen> {
    let mut chosen: Vec<Chosen> = Vec::new();
    let mut covered: BTreeSet<(Option<usize>, Way)> = BTreeSet::new();
    while chosen.len() < most {
        let best = candidates
            .iter()
            .enumerate()
            .map(|(at, each)| (each.ways.difference(&covered).count(), at))
            // Of equals the one with the fewest lines, and the first.
            .max_by_key(|(new, at)| {
                (
                    *new,
                    std::cmp::Reverse(candidates[*at].lines),
                    std::cmp::Reverse(*at),
                )
            });
        let Some((new, at)) = best else { break };
        if new == 0 && !chosen.is_empty() {
            break;
        }
        let candidate = candidates.remove(at);
        covered.extend(candidate.ways);
        chosen.push(candidate.chosen);
    }
    // Spread over what is left, in case that launches cannot be run.
    let step = (candidates.len() / (least + most)).max(1);
    for candidate in candidates.into_iter().step_by(step) {
        chosen.push(Chosen {
            wanted: false,
            ..candidate.chosen
        });
    }
    chosen
}
