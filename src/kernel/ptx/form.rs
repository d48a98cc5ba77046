//! Forms of instructions, written as the ISA manual writes them:
//!
//! ```text
//! mbarrier.try_wait.parity{.sem}{.scope}{.shared{::cta}}.b64 p, [addr], x {, hint}
//! ```
//!
//! The opcode and its modifiers stand before the first space. Braces enclose optional parts. A modifier that is the
//! name of a class stands for any member of the class. The classes of one form follow `;`, and those of many forms
//! are in [`CLASSES`]. As in the assembler, the order of two modifiers matters only if each could take the place of
//! the other. For example, of two types the first fills the first place.
//!
//! Operands: `[a]` is an address, and `[a, b]` is one with coordinates. `p|q` are two results; in `p{|q}` the second
//! one is optional. `...` stands for any further operands. An optional operand that is listed in [`TIED`] is present
//! iff its modifier is.

use super::resolved::Instruction;
use super::resolved::Operand;

/// Classes of modifiers that several forms use.
const CLASSES: &[(&str, &str)] = &[
    ("itype", "u16 u32 u64 s16 s32 s64"),
    ("btype", "b16 b32 b64"),
    (
        "type",
        "b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f16 bf16 f16x2 bf16x2 f32 f64",
    ),
    ("sem", "relaxed acquire release acq_rel"),
    ("scope", "cta cluster gpu sys"),
    (
        "space",
        "const global local param param::entry param::func shared shared::cta shared::cluster",
    ),
    ("cop", "ca cg cs lu cv wb wt"),
    ("vec", "v2 v4 v8"),
    ("cta_group", "cta_group::1 cta_group::2"),
    ("level::cache_hint", "L2::cache_hint"),
    ("level::prefetch_size", "L2::64B L2::128B L2::256B"),
    (
        "level1::eviction_priority",
        "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate",
    ),
    (
        "level2::eviction_priority",
        "L2::evict_normal L2::evict_first L2::evict_last",
    ),
    ("completion_mechanism", "mbarrier::complete_tx::bytes"),
    ("dim", "1d 2d 3d 4d 5d"),
];

/// Optional operands that are present if and only if a modifier is.
const TIED: &[(&str, &str)] = &[
    ("cache-policy", "L2::cache_hint"),
    ("ctaMask", "multicast::cluster"),
];

/// A modifier of a form.
#[derive(Debug)]
struct Slot {
    name: &'static str,
    accepted: Vec<&'static str>,
    required: bool,
    /// The optional part that it is in; 0 is the whole.
    group: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Any,
    /// An address with this many coordinates.
    Address(usize),
    Pair,
    PerhapsPair,
    Rest,
}

#[derive(Debug)]
struct Pattern {
    names: Vec<&'static str>,
    shape: Shape,
    optional: bool,
    tied: Option<&'static str>,
}

/// One form.
#[derive(Debug)]
pub struct Form {
    pub opcode: &'static str,
    slots: Vec<Slot>,
    /// For each optional part: the part that contains it.
    groups: Vec<usize>,
    operands: Vec<Pattern>,
}

impl Form {
    /// `None` if the line does not have the grammar above.
    pub fn parse(line: &'static str) -> Option<Self> {
        let mut parts = line.split(';').map(str::trim);
        let syntax = parts.next()?;
        let own: Vec<(&str, &str)> = parts
            .map(|class| {
                let (name, members) = class.split_once('=')?;
                Some((name.trim().strip_prefix('.')?, members.trim()))
            })
            .collect::<Option<_>>()?;
        let (head, operands) = syntax.split_once(' ').unwrap_or((syntax, ""));
        let end = head.find(['.', '{']).unwrap_or(head.len());
        let mut form = Self {
            opcode: head.get(..end)?,
            slots: Vec::new(),
            groups: vec![0],
            operands: Vec::new(),
        };
        form.modifiers(head.get(end..)?, &own)?;
        form.patterns(operands.trim())?;
        Some(form)
    }

    fn modifiers(&mut self, mut rest: &'static str, own: &[(&str, &'static str)]) -> Option<()> {
        let mut open = vec![0];
        while !rest.is_empty() {
            if let Some(inner) = rest.strip_prefix("{::") {
                // A suffix of the last modifier, as `.shared{::cta}`.
                let (suffix, behind) = inner.split_once('}')?;
                let slot = self.slots.last_mut()?;
                let whole = own.iter().find(|(name, _)| *name == slot.name);
                if whole.is_some() {
                    return None;
                }
                let suffixed = ["shared::cta", "shared::cluster"]
                    .into_iter()
                    .find(|name| name.strip_prefix(slot.name) == Some(&format!("::{suffix}")))?;
                slot.accepted.push(suffixed);
                rest = behind;
            } else if let Some(inner) = rest.strip_prefix('{') {
                self.groups.push(*open.last()?);
                open.push(self.groups.len() - 1);
                rest = inner;
            } else if let Some(behind) = rest.strip_prefix('}') {
                open.pop();
                rest = behind;
            } else {
                let body = rest.strip_prefix('.')?;
                let end = body.find(['.', '{', '}']).unwrap_or(body.len());
                let name = body.get(..end)?;
                let class = own.iter().chain(CLASSES).find(|(class, _)| *class == name);
                let accepted = match class {
                    Some((_, members)) => members
                        .split_whitespace()
                        .map(|member| member.trim_start_matches('.'))
                        .collect(),
                    None => vec![name],
                };
                let group = *open.last()?;
                self.slots.push(Slot {
                    name,
                    accepted,
                    required: group == 0,
                    group,
                });
                rest = body.get(end..)?;
            }
        }
        (open == [0]).then_some(())
    }

    fn patterns(&mut self, mut rest: &'static str) -> Option<()> {
        while !rest.is_empty() {
            rest = rest.trim_start_matches([',', ' ']);
            let optional = rest.starts_with('{');
            let (text, behind) = if optional {
                rest.strip_prefix('{')?.split_once('}')?
            } else if rest.starts_with('[') {
                let (inside, behind) = rest.split_at(rest.find(']')? + 1);
                (inside, behind)
            } else {
                let pair = rest.find("{|").map_or(rest.len(), |at| at + 2);
                let from = if rest.find(',').is_some_and(|comma| comma < pair) {
                    0
                } else {
                    pair.min(rest.len())
                };
                let comma = rest.get(from..)?.find([',', '{']);
                let end = comma.map_or(rest.len(), |at| at + from);
                rest.split_at(end)
            };
            let text = text.trim_matches([',', ' ']);
            let (names, shape) = if text == "..." {
                (vec!["..."], Shape::Rest)
            } else if let Some(inside) = text.strip_prefix('[') {
                let names: Vec<&str> = inside
                    .strip_suffix(']')?
                    .split(',')
                    .map(str::trim)
                    .collect();
                let coordinates = names.len() - 1;
                (names, Shape::Address(coordinates))
            } else if let Some((first, second)) = text.split_once("{|") {
                (vec![first, second.strip_suffix('}')?], Shape::PerhapsPair)
            } else if let Some((first, second)) = text.split_once('|') {
                (vec![first, second], Shape::Pair)
            } else {
                (vec![text], Shape::Any)
            };
            let tied = TIED.iter().find(|(name, _)| names.first() == Some(name));
            self.operands.push(Pattern {
                names,
                shape,
                optional,
                tied: tied.map(|(_, modifier)| *modifier),
            });
            rest = behind.trim_start_matches([',', ' ']);
        }
        Some(())
    }

    /// Matches an instruction against this form.
    pub fn matched<'i, 'a>(&self, instruction: &'i Instruction<'a>) -> Option<Matched<'i, 'a>> {
        let mut filled: Vec<Option<usize>> = vec![None; self.slots.len()];
        for (place, modifier) in instruction.modifiers.iter().enumerate() {
            let slot = self.slots.iter().enumerate().position(|(index, slot)| {
                filled[index].is_none() && slot.accepted.contains(modifier)
            })?;
            filled[slot] = Some(place);
        }
        let mut used = vec![false; self.groups.len()];
        for (slot, place) in self.slots.iter().zip(&filled) {
            if slot.required {
                (*place)?;
            } else if place.is_some() {
                let mut group = slot.group;
                while group != 0 {
                    used[group] = true;
                    group = self.groups[group];
                }
            }
        }
        let whole = self.slots.iter().zip(&filled);
        if whole
            .into_iter()
            .any(|(slot, place)| used[slot.group] && place.is_none())
        {
            return None;
        }
        let classes = self
            .slots
            .iter()
            .zip(&filled)
            .filter_map(|(slot, place)| Some((slot.name, instruction.modifiers[(*place)?])))
            .collect();
        Some(Matched {
            instruction,
            classes,
            operands: self.bind(instruction)?,
        })
    }

    fn bind<'i, 'a>(&self, instruction: &'i Instruction<'a>) -> Option<Bound<'i, 'a>> {
        let needed = |pattern: &Pattern| match pattern.tied {
            Some(modifier) => instruction.has(modifier),
            None => !pattern.optional && pattern.shape != Shape::Rest,
        };
        let mut operands = instruction.operands.as_slice();
        let mut bound = Vec::with_capacity(operands.len() + 1);
        for (index, pattern) in self.operands.iter().enumerate() {
            if pattern.shape == Shape::Rest {
                return Some(bound);
            }
            let later = self.operands[index + 1..]
                .iter()
                .filter(|pattern| needed(pattern))
                .count();
            if !needed(pattern) && (pattern.tied.is_some() || operands.len() <= later) {
                continue;
            }
            let (operand, behind) = operands.split_first()?;
            operands = behind;
            match (pattern.shape, operand) {
                (Shape::Address(coordinates), Operand::Address { rest, .. }) => {
                    if rest.len() != coordinates {
                        return None;
                    }
                    bound.push((pattern.names[0], operand));
                    bound.extend(pattern.names[1..].iter().copied().zip(rest));
                }
                (Shape::Pair | Shape::PerhapsPair, Operand::Pair(pair)) => {
                    bound.push((pattern.names[0], &pair.0));
                    bound.push((pattern.names[1], &pair.1));
                }
                (Shape::Address(_) | Shape::Pair, _) | (_, Operand::Pair(_)) => return None,
                (Shape::Any, Operand::Address { .. }) => return None,
                _ => bound.push((pattern.names[0], operand)),
            }
        }
        operands.is_empty().then_some(bound)
    }
}

/// The operands, by their names in the form.
type Bound<'i, 'a> = Vec<(&'static str, &'i Operand<'a>)>;

/// An instruction that matches a form.
pub struct Matched<'i, 'a> {
    pub instruction: &'i Instruction<'a>,
    classes: Vec<(&'static str, &'a str)>,
    operands: Bound<'i, 'a>,
}

impl<'i, 'a> Matched<'i, 'a> {
    /// An instruction whose operands are not accessed by name.
    pub fn whole(instruction: &'i Instruction<'a>) -> Self {
        Self {
            instruction,
            classes: Vec::new(),
            operands: Vec::new(),
        }
    }

    /// The modifier of a class.
    pub fn class(&self, name: &str) -> Option<&'a str> {
        let found = self.classes.iter().find(|(class, _)| *class == name);
        found.map(|(_, modifier)| *modifier)
    }

    pub fn has(&self, modifier: &str) -> bool {
        self.instruction.has(modifier)
    }

    pub fn optional(&self, name: &str) -> Option<&'i Operand<'a>> {
        let found = self.operands.iter().find(|(own, _)| *own == name);
        found.map(|(_, operand)| *operand)
    }

    pub fn operand(&self, name: &str) -> Result<&'i Operand<'a>, String> {
        self.optional(name)
            .ok_or_else(|| format!("operand `{name}` is missing"))
    }
}
