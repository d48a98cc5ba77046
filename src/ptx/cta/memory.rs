//! Global memory on which synchronization depends. Counters become semaphores. Memory that is only read becomes a
//! pattern, an input of the protocol.

use std::collections::BTreeMap;

use super::patterns::Pattern;
use super::program::Program;
use super::program::each;
use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::machine::MOST_PARAMETER;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::Unknowns;
use crate::ptx::warp::most::rounded;
use crate::ptx::warp::rewrite::mapped;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Cell;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;
use crate::ptx::written::write::Writer;

/// What has been found in global memory while statements were written.
#[derive(Debug, Default)]
pub(in crate::ptx) struct Memory {
    /// Counters: for each pointer how many elements there are, as texts; the largest counts.
    pub(super) semaphores: BTreeMap<String, Vec<String>>,
    /// What is only read.
    pub(super) patterns: BTreeMap<String, Pattern>,
    /// Sparse matrices: the name of the pattern, its rows, the parameter that says how many
    /// columns there are, and how its rows and columns are read.
    matrices: BTreeMap<String, ([String; 2], [Option<Cell>; 2])>,
    /// Indices of counters that are assumed not to be negative, and where.
    pub inside: BTreeMap<Sum, usize>,
    /// What a row lists, wherever a loop goes over a row, with the number of columns.
    entries: Vec<(Unknown, String)>,
}

/// Unknowns from here on are what rows list.
const FIRST_ENTRY: u32 = 1 << 31;

/// The most elements of an array of counters with constant indices.
const MOST_COUNTERS: i128 = 1 << 14;

/// The pointer that an address is based on, and the bytes from there.
pub(in crate::ptx) fn based(address: &Sum, unknowns: &Unknowns) -> Option<(Unknown, Sum)> {
    let mut pointers = address
        .terms
        .iter()
        .filter_map(|(atom, factor)| match atom {
            Atom::Unknown(u) if *factor == 1 => match unknowns.meaning(*u) {
                Some(Meaning::Parameter(..)) if unknowns.1.range(&Sum::unknown(*u)).1 > 1 << 32 => {
                    Some(*u)
                }
                _ => None,
            },
            _ => None,
        });
    let pointer = pointers.next()?;
    pointers
        .next()
        .is_none()
        .then(|| (pointer, address.minus(&Sum::unknown(pointer))))
}

/// Whether all accesses of a counter are to its first element.
fn single(programs: &[Program], pointer: Unknown) -> bool {
    let only = Sum::unknown(pointer);
    let mut single = true;
    for program in programs {
        each(&program.statements, &mut |s| {
            if let Action::CounterAdd(a, _)
            | Action::CounterSet(a, _)
            | Action::CounterWait(a, ..) = &s.action
            {
                single &= *a == only || !a.mentions(&|u| u == pointer);
            }
        });
    }
    single
}

/// Whether an index may lie before the first element.
fn before((facts, index): &(Facts, Sum)) -> bool {
    !facts.is_positive(&facts.rewritten(index))
}

/// The length of a row, where a loop that would run a negative number of times runs no time.
fn length(times: &Sum) -> &Sum {
    match times.single() {
        Some((Atom::Choice(condition, nothing, length), 1))
            if **condition == Condition::Negative((**length).clone())
                && nothing.as_constant() == Some(0) =>
        {
            length
        }
        _ => times,
    }
}

/// What is read at the position of a row that a loop has come to, and says which counter is meant; the
/// pointer to it, and how it is read.
fn listed_in(
    body: &[Statement],
    variable: Unknown,
    first: &Atom,
    unknowns: &Unknowns,
) -> Vec<(Atom, Unknown, Cell)> {
    let position = Sum::atom(first.clone()).plus(&Sum::unknown(variable));
    let mut listed: Vec<(Atom, Unknown, Cell)> = Vec::new();
    each(body, &mut |s| {
        let (Action::CounterAdd(address, _)
        | Action::CounterSet(address, _)
        | Action::CounterWait(address, ..)) = &s.action
        else {
            return;
        };
        for atom in address.terms.keys() {
            if let Atom::Cell(place, cell) = atom
                && let Some((pointer, offset)) = based(place, unknowns)
                && offset.exactly_over(i128::from(cell.bytes)).as_ref() == Some(&position)
                && !listed.iter().any(|(other, ..)| other == atom)
            {
                listed.push((atom.clone(), pointer, *cell));
            }
        }
    });
    listed
}

impl Writer<'_, '_> {
    /// A counter as an element of a semaphore.
    pub fn semaphore(&mut self, address: &Sum, at: usize) -> Result<String, Obstacle> {
        let refuse = |why: &str| Err(Obstacle::new(at, why));
        let Some((pointer, offset)) = based(address, &self.followed.unknowns) else {
            return refuse("which counter in global memory this is is not followed");
        };
        let Some(index) = offset.exactly_over(4) else {
            return refuse("this counter does not lie at a multiple of 4 bytes");
        };
        let entry = |(own, _): &&(Unknown, String)| index == Sum::unknown(*own);
        let listed = self.memory.entries.iter().find(entry);
        let listed = listed.map(|(_, columns)| columns.clone());
        let name = format!("at_{}", self.unknown(pointer, at)?);
        if single(&self.followed.programs, pointer) {
            self.memory.semaphores.entry(name.clone()).or_default();
            return Ok(name);
        }
        let Some(cases) = self.known_here().in_cases(&index) else {
            return refuse("which counter this is depends on too many conditions");
        };
        let early: Vec<&(Facts, Sum)> = cases.iter().filter(|case| before(case)).collect();
        if listed.is_none() && !early.is_empty() {
            // Where the launch alone decides, and this is done in every launch, that it does not is assumed.
            let moves = |u: Unknown| self.moves(u);
            let sometimes = !self.conditions.is_empty() || !self.loops.is_empty();
            if sometimes
                || cases.len() > 1
                || early.iter().any(|(facts, index)| {
                    index.mentions(&moves) || index.reads_memory() || facts.range(index).1 < 1
                })
            {
                return refuse("this counter may lie before where its pointer points to");
            }
            let indices: Vec<Sum> = early.iter().map(|(_, index)| index.clone()).collect();
            for index in indices {
                self.memory.inside.entry(index).or_insert(at);
            }
        }
        for (_, index) in cases {
            let extent = match (&listed, index.as_constant()) {
                (Some(columns), _) => columns.clone(),
                (_, Some(constant)) if constant < MOST_COUNTERS => (constant + 1).to_string(),
                (_, Some(_)) => return refuse("this counter lies too far behind its pointer"),
                (_, None) => self.extent(&index, at)?,
            };
            let extents = self.memory.semaphores.entry(name.clone()).or_default();
            if !extents.contains(&extent) {
                extents.push(extent);
            }
        }
        let index = self.sum(&index, at)?;
        Ok(format!("{name}[{index}]"))
    }

    /// What holds everywhere, with what is assumed.
    pub(super) fn known(&self) -> Facts {
        let mut facts = self.followed.unknowns.1.clone();
        for (sum, _) in &self.followed.assumptions {
            facts.assume_positive(sum);
        }
        facts
    }

    /// What holds where this is written: the conditions around, and the bounds of the loops.
    fn known_here(&self) -> Facts {
        let mut facts = self.known();
        for condition in &self.conditions {
            facts.assume(condition);
        }
        for (number, times) in self.loops.iter().zip(&self.times) {
            // What a row lists is no position in it.
            if number.0 < FIRST_ENTRY {
                facts.assume_positive(&Sum::unknown(*number));
                facts.assume_positive(&times.minus(&Sum::unknown(*number)).plus_constant(-1));
            }
        }
        facts
    }

    /// Whether an index is certain not to lie before the first element. There the memory may be anything, and a
    /// pattern has nothing.
    pub(super) fn never_before(&self, index: &Sum) -> bool {
        let cases = self.known_here().in_cases(index);
        cases.is_some_and(|cases| !cases.iter().any(before))
    }

    /// One more than the most that an index can be, over parameters.
    pub(super) fn extent(&mut self, index: &Sum, at: usize) -> Result<String, Obstacle> {
        let extent = self.elements(index, at)?;
        self.at_least_none(&extent, at)
    }

    /// How many elements there are up to the most that an index can be; less than 0 where there is none.
    pub(super) fn elements(&self, index: &Sum, at: usize) -> Result<Sum, Obstacle> {
        let Some(most) = self.most(index) else {
            let reason = "how many elements of this memory there are is not followed";
            return Err(Obstacle::new(at, reason));
        };
        Ok(most.plus_constant(1))
    }

    pub(super) fn at_least_none(&mut self, extent: &Sum, at: usize) -> Result<String, Obstacle> {
        let words = self.sum(extent, at)?;
        Ok(if self.followed.unknowns.1.range(extent).0 < 0 {
            format!("max(0, {words})")
        } else {
            words
        })
    }

    /// Whether an unknown is none that the launch has once for all.
    fn moves(&self, unknown: Unknown) -> bool {
        !matches!(
            self.followed.unknowns.meaning(unknown),
            Some(Meaning::Parameter(..) | Meaning::Blocks(_))
        )
    }

    /// The most that a sum can be where this is written, over parameters.
    fn most(&self, sum: &Sum) -> Option<Sum> {
        let facts = &self.known();
        let moves = |u: Unknown| self.moves(u);
        let plain = |sum: &Sum| rounded(sum, &moves, facts, &|x| self.most(x));
        let mut most = sum.clone();
        let blocks = (0..3).filter_map(|axis| {
            let block = self.followed.unknowns.find(&Meaning::Block(axis))?;
            let extent = self.followed.unknowns.find(&Meaning::Blocks(axis))?;
            Some((block, Sum::unknown(extent)))
        });
        let loops = self.loops.iter().copied().zip(self.times.iter().cloned());
        let moving: Vec<(Unknown, Sum)> = blocks.chain(loops).collect();
        // What is inside depends on what is around it.
        for (unknown, times) in moving.iter().rev() {
            let (slope, rest) = match most.split(*unknown) {
                Some(parts) => parts,
                None => plain(&most)?.split(*unknown)?,
            };
            most = match facts.range(&slope) {
                (0.., _) => rest.plus(&slope.times(&times.plus_constant(-1))),
                // Largest in the first round.
                (_, ..=0) => rest,
                _ => return None,
            };
        }
        if most.mentions(&moves) {
            most = plain(&most)?;
        }
        (!most.mentions(&moves) && !most.reads_memory()).then_some(most)
    }

    /// A loop over what a row of a sparse matrix lists, `columns[offsets[row] + i]` for `i` up to
    /// `offsets[row + 1] - offsets[row]`: the variable that stands for what is listed, the body with
    /// it, and the words of the loop's head. Nothing else of the position in the row may matter.
    pub fn row(
        &mut self,
        variable: Unknown,
        times: &Sum,
        body: &[Statement],
        at: usize,
    ) -> Result<(Unknown, Vec<Statement>, String), Obstacle> {
        let refuse = |why: &str| Err(Obstacle::new(at, why));
        let unknowns = &self.followed.unknowns;
        let times = length(times);
        let mut begins = None;
        let mut ends = None;
        for (atom, factor) in &times.terms {
            match (atom, factor) {
                (Atom::Cell(address, cell), 1) if ends.is_none() => ends = Some((address, cell)),
                (Atom::Cell(address, cell), -1) => begins = Some((atom, address, cell)),
                _ => {}
            }
        }
        let (Some((first, begin, cell)), Some((end, other)), 2, 0) =
            (begins, ends, times.terms.len(), times.constant)
        else {
            return refuse("how often this loop runs depends on memory that is read");
        };
        let size = i128::from(cell.bytes);
        let row =
            based(begin, unknowns).and_then(|(p, offset)| Some((p, offset.exactly_over(size)?)));
        let (Some((offsets, row)), true) = (row, end.minus(begin) == Sum::of(size)) else {
            return refuse("how often this loop runs is no length of a row");
        };
        if cell != other {
            return refuse("the beginning and the end of a row are read in two sizes");
        }
        if !self.never_before(&row) {
            return refuse("what is read here may lie before where its pointer points to");
        }
        // What is listed at this position, as the counters' index has it, here or where others go over the rows.
        let mut all = listed_in(body, variable, first, unknowns);
        let own = all.len();
        for program in &self.followed.programs {
            each(&program.statements, &mut |s| {
                if let Action::For(variable, other, body) = &s.action
                    && length(other) == times
                {
                    for one in listed_in(body, *variable, first, unknowns) {
                        if !all.iter().any(|(_, p, c)| (*p, *c) == (one.1, one.2)) {
                            all.push(one);
                        }
                    }
                }
            });
        }
        let (listed, columns, read) = match all.as_slice() {
            [] => (None, None, None),
            [(listed, columns, read)] => (
                Some(listed).filter(|_| own > 0),
                Some(*columns),
                Some(*read),
            ),
            _ => {
                return refuse(
                    "what the rows of this loop list does not say which counter is meant",
                );
            }
        };
        let depth = u32::try_from(self.loops.len()).unwrap_or(0);
        let entry = Unknown(FIRST_ENTRY + depth);
        let put = |sum: &Sum| match listed.and_then(|l| Some((l, sum.terms.get(l)?))) {
            Some((listed, factor)) => {
                let rest = sum.plus_times(&Sum::atom(listed.clone()), -factor);
                rest.plus_times(&Sum::unknown(entry), *factor)
            }
            None => sum.clone(),
        };
        let body = mapped(body, &put, &Condition::clone);
        let offsets = self.unknown(offsets, at)?;
        let (name, width) = match columns {
            Some(columns) => {
                let columns = self.unknown(columns, at)?;
                (
                    format!("rows_{offsets}_{columns}"),
                    format!("columns_{columns}"),
                )
            }
            None => (format!("rows_{offsets}"), format!("columns_{offsets}")),
        };
        let rows = self.extent(&row, at)?;
        let cells = [Some(*cell), read];
        match self.memory.matrices.get(&name) {
            Some(([other, _], _)) if *other != rows => {
                return refuse("a sparse matrix is read with two numbers of rows");
            }
            Some((_, other)) if *other != cells => {
                return refuse("a sparse matrix is read in two sizes");
            }
            _ => {}
        }
        self.memory
            .matrices
            .insert(name.clone(), ([rows, width.clone()], cells));
        self.memory.entries.retain(|(other, _)| *other != entry);
        self.memory.entries.push((entry, width));
        let head = format!("row({name}, {})", self.sum(&row, at)?);
        Ok((entry, body, head))
    }

    /// The declarations of patterns and semaphores.
    pub fn memory_words(&self) -> String {
        let mut words = String::new();
        for (name, ([rows, columns], _)) in &self.memory.matrices {
            words.push_str(&format!(
                "param {columns} in 0..={MOST_PARAMETER}\n\
                 // what each row lists, every column at most once\n\
                 pattern {name}[{rows}, {columns}]\n"
            ));
        }
        for (name, pattern) in &self.memory.patterns {
            words.push_str(&format!(
                "pattern {name}[{}, {}]  // where the memory is not 0\n",
                pattern.rows.words, pattern.columns.words
            ));
        }
        for (name, extents) in &self.memory.semaphores {
            let constants: Option<Vec<i128>> = extents.iter().map(|e| e.parse().ok()).collect();
            let most = match (constants, extents.as_slice()) {
                (Some(all), [_, ..]) => {
                    all.iter().max().map_or_else(String::new, |m| m.to_string())
                }
                (_, []) => String::new(),
                (_, [first, rest @ ..]) => rest
                    .iter()
                    .fold(first.clone(), |most, next| format!("max({most}, {next})")),
            };
            let extent = if most.is_empty() {
                String::new()
            } else {
                format!("[{most}]")
            };
            words.push_str(&format!(
                "semaphore {name}{extent} = 0  // taken to be cleared before the launch\n"
            ));
        }
        words
    }
}
