//! What may write shared memory between two barriers of all threads, by the text of the kernel alone.
//!
//! Between two such barriers that every warp passes, what is read from shared memory is the same for all who
//! read it, if nobody may write it in that time. Who may is told from the control flow: from a barrier on, what
//! is read and what is written can both be reached without coming by another one. This looks at no condition and
//! at no warp, so it finds at least all that there is. Copies that go on by themselves and writes by other CTAs
//! are taken to be made at any time.
//!
//! Where an address is computed from a shared variable and something that is not known, it is taken to lie
//! inside that variable, as it does in every program without undefined behaviour.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::flow::Flow;
use crate::ptx::syntax::ast::Function;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::syntax::ast::Operand;
use crate::ptx::syntax::ast::Register;
use crate::ptx::syntax::ast::Variable;
use crate::ptx::warp::evaluate::destinations;

/// What may be written: a shared variable, and which of its bytes where that is known.
#[derive(Debug, Clone)]
struct Hit {
    variable: String,
    bytes: Option<(i128, i128)>,
    /// Whether it is written at a time of its own.
    at_any_time: bool,
}

/// What an address is computed from.
#[derive(Debug, Default, Clone)]
struct Roots {
    variables: BTreeSet<String>,
    /// Parameters, by their names and offsets.
    parameters: BTreeSet<(String, i64)>,
    /// Whether something that was read from memory takes part.
    memory: bool,
}

/// What the instructions of a kernel may write.
#[derive(Debug, Default)]
pub(in crate::ptx) struct Stores {
    hits: BTreeMap<usize, Vec<Hit>>,
    /// Parameters that point to what is written.
    written: BTreeSet<(String, i64)>,
    /// Whether it is not known what some pointer is to that is written through.
    strange: bool,
    /// Parameters that point to what is read, by the instruction.
    read: BTreeMap<usize, Roots>,
}

impl Stores {
    pub fn of(function: &Function<'_>, shared: &[Variable<'_>]) -> Stores {
        let looked = Look::of(function, shared);
        let escaping = looked.escaping();
        let mut stores = Stores::default();
        for (number, instruction) in function.code.iter().enumerate() {
            let name = instruction.parts().next().unwrap_or_default();
            if matches!(name, "ld" | "ldu") && !instruction.has("param") {
                let roots = looked.roots_of(instruction.operands.get(1));
                stores.read.insert(number, roots);
            }
            if reads_only(instruction) {
                continue;
            }
            let by_itself = name == "cp"
                || instruction.has("async")
                || instruction.opcode.contains("shared::cluster")
                || name == "clusterlaunchcontrol";
            for operand in &instruction.operands {
                let Operand::Address { .. } = operand else {
                    continue;
                };
                let roots = looked.roots_of(Some(operand));
                let mut variables = roots.variables.clone();
                let elsewhere = ["global", "local", "param"]
                    .iter()
                    .any(|space| instruction.has(space));
                if roots.memory && variables.is_empty() && !elsewhere {
                    variables.clone_from(&escaping);
                }
                // A sum of pointers to global memory points there.
                let inside = instruction.opcode.contains("shared") && !instruction.has("global");
                stores.strange |= !inside && roots.memory && roots.parameters.is_empty();
                stores.written.extend(roots.parameters);
                let bytes = looked.exact(operand);
                for variable in variables {
                    let of_it = |(name, from): (String, i128)| {
                        let width = width(instruction)?;
                        (name == variable).then_some((from, from + width))
                    };
                    let hit = Hit {
                        bytes: bytes.clone().and_then(of_it),
                        variable,
                        at_any_time: by_itself,
                    };
                    stores.hits.entry(number).or_default().push(hit);
                }
            }
        }
        stores
    }

    /// Whether what an instruction reads from global memory is written by nobody in the kernel.
    pub fn leave_alone(&self, number: usize) -> bool {
        let Some(roots) = self.read.get(&number) else {
            return false;
        };
        let own = !roots.parameters.is_empty() && roots.variables.is_empty();
        own && !roots.memory && !self.strange && roots.parameters.is_disjoint(&self.written)
    }

    /// Whether what an instruction reads lies in shared memory.
    pub fn in_shared_memory(&self, number: usize) -> bool {
        let shared = |r: &Roots| !r.variables.is_empty() && r.parameters.is_empty() && !r.memory;
        self.read.get(&number).is_some_and(shared)
    }

    fn hitting(&self, variable: &str, bytes: (i128, i128)) -> impl Iterator<Item = (usize, bool)> {
        let hits = move |hit: &&Hit| {
            let apart = |(from, to): (i128, i128)| to <= bytes.0 || bytes.1 <= from;
            hit.variable == variable && !hit.bytes.is_some_and(apart)
        };
        let mut found = Vec::new();
        for (number, all) in &self.hits {
            found.extend(
                all.iter()
                    .filter(hits)
                    .map(|hit| (*number, hit.at_any_time)),
            );
        }
        found.into_iter()
    }

    /// Whether something in these blocks may write these bytes.
    pub fn inside(
        &self,
        flow: &Flow,
        blocks: &BTreeSet<usize>,
        variable: &str,
        bytes: (i128, i128),
    ) -> bool {
        let within = |number: usize| {
            let code = |block: &usize| flow.blocks.get(*block).map(|b| b.code.clone());
            blocks
                .iter()
                .filter_map(code)
                .any(|code| code.contains(&number))
        };
        self.hitting(variable, bytes)
            .any(|(number, _)| within(number))
    }

    /// The instruction that may write these bytes while `reader` may read them, if there is one: the barriers of
    /// all threads are these, by where they begin.
    pub fn meanwhile(
        &self,
        flow: &Flow,
        function: &Function<'_>,
        barriers: &BTreeSet<usize>,
        reader: usize,
        (variable, bytes): (&str, (i128, i128)),
    ) -> Option<usize> {
        let hits: Vec<(usize, bool)> = self.hitting(variable, bytes).collect();
        if let Some((number, _)) = hits.iter().find(|(_, any)| *any) {
            return Some(*number);
        }
        for from in epochs(flow, function, barriers) {
            if !from.contains(&reader) {
                continue;
            }
            if let Some((number, _)) = hits.iter().find(|(number, _)| from.contains(number)) {
                return Some(*number);
            }
        }
        None
    }
}

/// The instructions that can be reached from behind these.
pub(in crate::ptx) fn behind(
    flow: &Flow,
    function: &Function<'_>,
    from: &BTreeSet<usize>,
) -> BTreeSet<usize> {
    let mut open = Vec::new();
    for (number, block) in flow.blocks.iter().enumerate() {
        let named = |index: &usize| {
            function
                .code
                .get(*index)
                .is_some_and(|i| from.contains(&i.at))
        };
        open.extend(
            block
                .code
                .clone()
                .filter(named)
                .map(|index| (number, index + 1)),
        );
    }
    reached(flow, function, &BTreeSet::new(), open)
}

/// For the beginning and each barrier of all threads, the instructions that can be reached from there without
/// coming by another one.
fn epochs(
    flow: &Flow,
    function: &Function<'_>,
    barriers: &BTreeSet<usize>,
) -> Vec<BTreeSet<usize>> {
    let mut starts: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
    for (number, block) in flow.blocks.iter().enumerate() {
        for index in block.code.clone() {
            let at = function.code.get(index).map_or(0, |i| i.at);
            if barriers.contains(&at) {
                starts.entry(at).or_default().push((number, index + 1));
            }
        }
    }
    let mut all = vec![reached(flow, function, barriers, vec![(0, 0)])];
    for open in starts.into_values() {
        all.push(reached(flow, function, barriers, open));
    }
    all
}

fn reached(
    flow: &Flow,
    function: &Function<'_>,
    barriers: &BTreeSet<usize>,
    mut open: Vec<(usize, usize)>,
) -> BTreeSet<usize> {
    let mut seen = BTreeSet::new();
    let mut entered = BTreeSet::new();
    while let Some((number, from)) = open.pop() {
        let Some(block) = flow.blocks.get(number) else {
            continue;
        };
        let mut passed = false;
        for index in from.max(block.code.start)..block.code.end {
            let Some(instruction) = function.code.get(index) else {
                break;
            };
            // Under a predicate it may be left out.
            passed = barriers.contains(&instruction.at) && instruction.guard.is_none();
            if passed {
                break;
            }
            seen.insert(index);
        }
        if !passed {
            for next in flow.next(number) {
                if entered.insert(next) {
                    open.push((next, 0));
                }
            }
        }
    }
    seen
}

/// Whether an instruction writes no memory.
fn reads_only(instruction: &Instruction<'_>) -> bool {
    matches!(
        instruction.parts().next().unwrap_or_default(),
        "ld" | "ldu" | "ldmatrix" | "prefetch" | "prefetchu" | "wgmma" | "tex" | "suld" | "discard"
    )
}

/// The bytes that an instruction writes, where it is a plain one.
fn width(instruction: &Instruction<'_>) -> Option<i128> {
    let bits = match instruction.parts().next()? {
        "mbarrier" => return Some(8),
        "st" | "atom" | "red" => {
            let kind = instruction.parts().last()?;
            let digits: String = kind.chars().filter(char::is_ascii_digit).collect();
            digits.parse::<i128>().ok().filter(|bits| bits % 8 == 0)?
        }
        _ => return None,
    };
    let vector = ["v2", "v4", "v8"].iter().find(|v| instruction.has(v));
    let parts = vector.and_then(|v| v[1..].parse::<i128>().ok());
    (bits <= 128).then(|| bits / 8 * parts.unwrap_or(1))
}

/// Where registers come from.
struct Look<'f, 'a> {
    function: &'f Function<'a>,
    shared: BTreeSet<&'a str>,
    written: BTreeMap<Register, Vec<usize>>,
}

impl<'f, 'a> Look<'f, 'a> {
    fn of(function: &'f Function<'a>, shared: &[Variable<'a>]) -> Look<'f, 'a> {
        let mut written: BTreeMap<Register, Vec<usize>> = BTreeMap::new();
        for (number, instruction) in function.code.iter().enumerate() {
            for register in destinations(instruction).into_iter().flatten() {
                written.entry(register).or_default().push(number);
            }
        }
        Look {
            function,
            shared: shared.iter().map(|s| s.name).collect(),
            written,
        }
    }

    fn roots_of(&self, operand: Option<&Operand<'_>>) -> Roots {
        let mut roots = Roots::default();
        let mut open: Vec<Register> = Vec::new();
        let mut seen = BTreeSet::new();
        if let Some(operand) = operand {
            self.look(operand, &mut roots, &mut open);
        }
        while let Some(register) = open.pop() {
            if !seen.insert(register) {
                continue;
            }
            for number in self.written.get(&register).into_iter().flatten() {
                let Some(instruction) = self.function.code.get(*number) else {
                    continue;
                };
                let name = instruction.parts().next().unwrap_or_default();
                if matches!(name, "ld" | "ldu") && instruction.has("param") {
                    // Pointers have 64 bits.
                    if let Some(Operand::Address { base, offset, .. }) = instruction.operands.get(1)
                        && let Operand::Name(name) = &**base
                        && instruction.opcode.ends_with("64")
                    {
                        roots.parameters.insert(((*name).to_owned(), *offset));
                    }
                } else if matches!(name, "ld" | "ldu" | "atom" | "call" | "tex" | "ldmatrix") {
                    roots.memory = true;
                } else {
                    let skipped = usize::from(!destinations(instruction).is_empty());
                    for operand in instruction.operands.iter().skip(skipped) {
                        self.look(operand, &mut roots, &mut open);
                    }
                }
            }
        }
        roots
    }

    fn look(&self, operand: &Operand<'_>, roots: &mut Roots, open: &mut Vec<Register>) {
        match operand {
            Operand::Register(register) | Operand::Not(register) => open.push(*register),
            Operand::Name(name) => {
                if self.shared.contains(name) {
                    roots.variables.insert((*name).to_owned());
                }
            }
            Operand::Address { base, rest, .. } => {
                self.look(base, roots, open);
                rest.iter().for_each(|o| self.look(o, roots, open));
            }
            Operand::Vector(all) => all.iter().for_each(|o| self.look(o, roots, open)),
            Operand::Pair(two) => {
                self.look(&two.0, roots, open);
                self.look(&two.1, roots, open);
            }
            Operand::Integer(_) | Operand::Float | Operand::Target(_) => {}
        }
    }

    /// Shared variables whose address is kept in memory, or given away.
    fn escaping(&self) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        for instruction in &self.function.code {
            let name = instruction.parts().next().unwrap_or_default();
            if !matches!(name, "st" | "atom" | "red" | "call") {
                continue;
            }
            for operand in &instruction.operands {
                if !matches!(operand, Operand::Address { .. }) {
                    all.extend(self.roots_of(Some(operand)).variables);
                }
            }
        }
        all
    }

    /// A shared variable and the offset in it, where an address is these two.
    fn exact(&self, operand: &Operand<'_>) -> Option<(String, i128)> {
        match operand {
            Operand::Address { base, offset, .. } => {
                let (name, from) = self.exact(base)?;
                Some((name, from + i128::from(*offset)))
            }
            Operand::Name(name) if self.shared.contains(name) => Some(((*name).to_owned(), 0)),
            Operand::Register(register) => {
                let [only] = self.written.get(register)?.as_slice() else {
                    return None;
                };
                let instruction = self.function.code.get(*only)?;
                let operands = instruction.operands.get(1..)?;
                if instruction.guard.is_some() {
                    return None;
                }
                match (instruction.parts().next()?, operands) {
                    ("mov" | "cvta", [one]) => self.exact(one),
                    ("add", [one, Operand::Integer(by)]) => {
                        let (name, from) = self.exact(one)?;
                        Some((name, from + i128::from(*by)))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}
