//! From a warp's tree over terms to a role over integers: trip counts, counters, ring states, objects.

mod asked;
mod beside;
mod called;
mod carried;
mod clipped;
mod condition;
pub mod counter;
mod data;
mod delayed_states;
mod entries;
pub mod event;
mod exits;
mod flipped_bits;
mod growing;
mod guarded;
mod indexed;
mod launch_intervals;
mod loop_direction;
pub mod looping;
mod number;
mod object;
mod orders;
mod parallel_copy;
mod phi_values;
mod reciprocal;
mod restarts;
mod ring_words;
mod rounds;
mod saved_states;
mod shared;
mod sign;
mod skipped_waits;
mod steps;
mod strided_conditions;
mod strides;
mod table;
mod toggles;
mod trips;
mod turning;
mod wrapped;

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::ir::Kernel;
use crate::ir::Location;
use crate::meaning::Binary;
use crate::meaning::Domain;
use crate::recover::applied::Function;
use crate::recover::branches::Ranges;
use crate::recover::branches::spares;
use crate::recover::entry::Memory;
use crate::recover::launch::is_launch;
use crate::recover::mixed_counts::ArrivalCounts;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::number::Range;
use crate::recover::recurrence::Recurrences;
use crate::recover::ring_words::RingWordLoop;
use crate::recover::role_ir::Input;
use crate::recover::role_ir::Line;
use crate::recover::shape::Shape;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::tree::Arena;
use crate::recover::tree::FROM_MEMORY;
use crate::recover::tree::LoopId;
use crate::recover::tree::Obstacle;
use crate::recover::tree::Statement;
use crate::recover::tree::Undecided;
use crate::recover::tree::not_known;
use crate::recover::tree::refuse;
use crate::recover::tree::refuse_undecided;
use carried::Left;
use guarded::Guard;
pub use orders::check_orders;
use phi_values::PhiValues;

/// What is not known of a word that a warp hands over.
const RING_WORD: &str = "a word that a warp stores to shared memory and others read";

/// The most that an input is assumed to be. What is computed from sizes below it does not wrap
/// around.
pub const MOST: i128 = (1 << 30) - 1;

/// What the roles of a kernel have in common.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    pub all: Vec<Input>,
    of_term: BTreeMap<TermId, u32>,
    /// Loops over values that the launch fixes, by the condition of their first iteration.
    trips: Vec<Tripped>,
    /// Values of the launch that loops run up to.
    bounds: BTreeSet<TermId>,
    /// Values of the launch by whose order lanes part.
    ordered: BTreeSet<TermId>,
    /// Values of the launch that branches compare.
    compared: BTreeSet<TermId>,
    /// For bounds that may be negative, the inputs `max(0, bound)`.
    clipped: BTreeMap<TermId, Number>,
    /// How many clusters are taken over.
    granted: Option<u32>,
    /// How often handed-over words ask for more, by condition and by what the launch says of the
    /// first iteration.
    ring_words: BTreeMap<(TermId, Option<TermId>), u32>,
    /// The loops that handed-over words control.
    pub ring_word_loops: Vec<RingWordLoop>,
    /// The assumptions, in words.
    pub assumptions: BTreeSet<String>,
    /// How arrivals at mbarriers come.
    pub arrival_counts: ArrivalCounts,
    /// The memory that entries are of.
    pub memories: Vec<Memory>,
    /// The functions of rounds.
    pub functions: Vec<Function>,
    /// The parameter words behind each input.
    pub words: Vec<BTreeSet<Atom>>,
    /// How each input is computed from the words of a launch.
    pub origins: Vec<Origin>,
    /// Inputs that are below others in every launch: where a CTA is, and how many there are.
    pub below: Vec<(u32, u32)>,
}

impl Inputs {
    /// The ranges of all inputs.
    pub fn ranges(&self) -> Ranges {
        let numbered = self.all.iter().zip(0..);
        numbered
            .map(|(input, number)| (Atomic::Input(number), input.range))
            .collect()
    }

    /// The range of an input, of the index of a loop with a count, or of a variable.
    pub fn range_of(&self, atomic: &Atomic, counts: &BTreeMap<u32, Number>) -> Option<Range> {
        match atomic {
            Atomic::Input(input) => Some(self.all[*input as usize].range),
            Atomic::Index(index) => {
                let (_, high) = counts
                    .get(index)?
                    .range(&|atomic| self.range_of(atomic, counts))?;
                Some((0, (high - 1).max(0)))
            }
            // A state counts its steps. `growing.rs` is about other variables.
            Atomic::Variable(_) => Some((0, (1 << 31) - 1)),
            _ => None,
        }
    }
}

/// A loop over values that the launch fixes, whose trip count is an input.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Tripped {
    /// The relation in the first iteration. There is one if it holds.
    key: TermId,
    /// The relation over a phi that stands for that of any such loop, with the first value and the
    /// step.
    shape: [TermId; 3],
    input: u32,
    /// Whether the relation never holds again behind an iteration in which it fails. Otherwise the
    /// input only says how often a loop runs that is left at the first of these.
    ends_once: bool,
}

/// How an input is computed from the words of a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The value of a term over parameters and the numbers of the grid.
    Term(TermId),
    /// In how many iterations a relation holds over a phi that begins at `first` and adds `step`.
    Trips {
        relation: TermId,
        phi: u32,
        first: TermId,
        step: TermId,
    },
    /// A number over other inputs.
    Number(Number),
    /// How many clusters cluster launch control lets this cluster take over.
    Granted,
    /// For how many iterations a handed-over word says that a loop goes on. `first`: if the launch
    /// decides about the first iteration, the condition under which there is one.
    RingWordTrips { first: Option<TermId> },
}

impl Origin {
    /// The terms of the launch that it is computed from.
    pub fn terms(&self) -> Vec<TermId> {
        match self {
            Origin::Term(term) => vec![*term],
            Origin::Trips {
                relation,
                first,
                step,
                ..
            } => vec![*relation, *first, *step],
            Origin::RingWordTrips { first } => first.iter().copied().collect(),
            Origin::Number(_) | Origin::Granted => Vec::new(),
        }
    }
}

pub struct Lowerer<'a> {
    kernel: &'a Kernel,
    arena: &'a mut Arena,
    pub inputs: &'a mut Inputs,
    /// Threads per CTA, and CTAs per cluster.
    threads: u32,
    ctas: u32,
    recurrences: Recurrences,
    phi_values: PhiValues,
    counts: BTreeMap<u32, Number>,
    /// The conditions of the loops and branches around this point.
    held: Vec<TermId>,
    /// The conditions of the launch for the first iterations of the loops around.
    began: Vec<TermId>,
    /// The loops around this point, the outer ones first. For each, the condition under which its
    /// iterations begin.
    inside: Vec<(LoopId, Option<TermId>)>,
    /// Numbers that are at least 0 at this point.
    facts: Vec<Number>,
    /// Registers of machines that are also parities of the index. They need no variable.
    kept: BTreeSet<u32>,
    /// Whether such registers are looked for.
    keeps: bool,
    /// The values of registers that depend only on the index of their loop.
    indexed: BTreeMap<u32, Number>,
    /// The next values of loops that were left, and the phis that stand for them.
    left: Vec<Left>,
    /// The variable of the role for a counter or a machine.
    variables: BTreeMap<Carrier, u32>,
    /// The machines whose variables have been declared.
    declared: BTreeSet<usize>,
    next_variable: u32,
    /// The loop whose counters are assumed not to wrap around, while its trip count is guessed.
    unwrapped: Option<u32>,
    /// Whether inputs are assumed to be so small that a sum of them does not wrap around.
    narrows: bool,
    /// Whether this is the index of a word of memory, which may go around the CTAs of a grid.
    goes_around: bool,
    /// Why words of memory are no entries.
    not_entries: BTreeMap<TermId, &'static str>,
    /// Conditions of loops that hold up to some iteration and in none from there on.
    guards: BTreeMap<LoopId, Vec<Guard>>,
}

/// What a variable of the role stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Carrier {
    Counter(usize),
    Machine(usize),
    /// The state of a machine when an iteration of a loop began.
    Saved(usize, LoopId),
}

type Result<T> = std::result::Result<T, Obstacle>;

/// Lowers the tree of one warp.
pub fn lower(
    kernel: &Kernel,
    arena: &mut Arena,
    inputs: &mut Inputs,
    shape: Shape,
    statements: &[Statement],
) -> Result<Vec<Line>> {
    let before = inputs.clone();
    let first = lower_with(kernel, arena, inputs, shape, statements, &BTreeMap::new());
    let Err(obstacle) = first else { return first };
    *inputs = before;
    let mut lowerer = Lowerer::new(kernel, arena, inputs, Recurrences::default());
    let guarded = lowerer.guarded(statements);
    let guards = std::mem::take(&mut lowerer.guards);
    lower_with(kernel, arena, inputs, shape, &guarded, &guards).map_err(|_| obstacle)
}

/// Lowers the tree of one warp. Conditions of loops are supposed to end once.
fn lower_with(
    kernel: &Kernel,
    arena: &mut Arena,
    inputs: &mut Inputs,
    shape: Shape,
    statements: &[Statement],
    guards: &BTreeMap<LoopId, Vec<Guard>>,
) -> Result<Vec<Line>> {
    let mut used = BTreeSet::new();
    needed(statements, arena, &mut used);
    let recurrences = Recurrences::new(&arena.phis, &used, &mut arena.terms);
    let before = inputs.clone();
    let mut attempt = |keeps: bool, inputs: &mut Inputs| {
        let mut lowerer = Lowerer {
            threads: shape.threads.iter().product(),
            ctas: shape.ctas(),
            keeps,
            guards: guards.clone(),
            ..Lowerer::new(kernel, arena, inputs, recurrences.clone())
        };
        let lines = lowerer.block(statements);
        (lines, lowerer.kept.is_empty())
    };
    let (lines, keeps_none) = attempt(true, inputs);
    if lines.is_ok() || keeps_none {
        return lines;
    }
    // If one loop keeps a register as a parity of its index and another does not, the register has
    // no form. Then none is kept.
    *inputs = before;
    attempt(false, inputs).0
}

/// Registers the loops of a warp that move in steps of the grid.
pub fn register(kernel: &Kernel, arena: &mut Arena, inputs: &mut Inputs, statements: &[Statement]) {
    Lowerer::new(kernel, arena, inputs, Recurrences::default()).register_loops(statements);
}

/// The phis that statements need, directly or through other phis.
pub fn needed(statements: &[Statement], arena: &Arena, used: &mut BTreeSet<u32>) {
    let mut work: Vec<TermId> = Vec::new();
    terms_of(statements, &mut work);
    while let Some(term) = work.pop() {
        for atom in arena.terms.atoms(term).iter() {
            match atom {
                Atom::Phi(phi) if used.insert(*phi) => {
                    let phi = &arena.phis[*phi as usize];
                    work.extend([phi.first, phi.next]);
                }
                Atom::Test(test) => {
                    let test = &arena.tests[*test as usize];
                    let open = |term: &TermId| {
                        arena
                            .terms
                            .atoms(*term)
                            .iter()
                            .any(|atom| matches!(atom, Atom::Phi(phi) if !used.contains(phi)))
                    };
                    let terms = [test.awaited.object, test.awaited.phase];
                    work.extend(terms.iter().filter(|term| open(term)));
                }
                _ => {}
            }
        }
    }
}

/// The terms in statements.
pub fn terms_of(statements: &[Statement], out: &mut Vec<TermId>) {
    for statement in statements {
        match statement {
            Statement::Event(event) => out.extend(event.kind.terms()),
            Statement::If {
                condition,
                then,
                otherwise,
                ..
            } => {
                out.push(*condition);
                terms_of(then, out);
                terms_of(otherwise, out);
            }
            Statement::Loop { body, .. } => terms_of(body, out),
            Statement::Break | Statement::Return => {}
        }
    }
}

impl<'a> Lowerer<'a> {
    fn new(
        kernel: &'a Kernel,
        arena: &'a mut Arena,
        inputs: &'a mut Inputs,
        recurrences: Recurrences,
    ) -> Self {
        Self {
            kernel,
            arena,
            inputs,
            threads: 0,
            ctas: 1,
            recurrences,
            phi_values: PhiValues::default(),
            counts: BTreeMap::new(),
            held: Vec::new(),
            began: Vec::new(),
            inside: Vec::new(),
            facts: Vec::new(),
            kept: BTreeSet::new(),
            keeps: false,
            indexed: BTreeMap::new(),
            left: Vec::new(),
            variables: BTreeMap::new(),
            declared: BTreeSet::new(),
            next_variable: 0,
            unwrapped: None,
            narrows: false,
            goes_around: false,
            not_entries: BTreeMap::new(),
            guards: BTreeMap::new(),
        }
    }
}

impl Lowerer<'_> {
    fn block(&mut self, statements: &[Statement]) -> Result<Vec<Line>> {
        let mut lines = Vec::new();
        let mut rest = statements;
        while let Some((statement, behind)) = rest.split_first() {
            rest = behind;
            match statement {
                Statement::Event(event) => {
                    let event = &*self.behind_loops(event);
                    match self.choice_in(&event.kind) {
                        None => self.event(event, &mut lines)?,
                        Some(choice) => {
                            let more = self.decided_alike(choice, behind);
                            rest = &behind[more..];
                            self.split(choice, event, &behind[..more], &mut lines)?;
                        }
                    }
                }
                Statement::If {
                    condition,
                    then,
                    otherwise,
                    location,
                } => self.conditional(*condition, then, otherwise, location, &mut lines)?,
                Statement::Loop { id, body, location } => {
                    self.looped(*id, body, location, &mut lines)?
                }
                Statement::Break => {
                    return refuse("a loop is left in several places", &Location::default());
                }
                Statement::Return => lines.push(Line::Return),
            }
        }
        Ok(lines)
    }

    fn conditional(
        &mut self,
        term: TermId,
        then: &[Statement],
        otherwise: &[Statement],
        location: &Location,
        lines: &mut Vec<Line>,
    ) -> Result<()> {
        if let Some(rest) = self.look_ahead(term, then, otherwise, location) {
            let mut rest = self.block(&rest)?;
            lines.append(&mut rest);
            return Ok(());
        }
        if self.condition(term).is_none()
            && let Node::Binary(Binary::And, a, b) = *self.arena.terms.node(term)
        {
            // One after the other, the known one first.
            for (first, second) in [(a, b), (b, a)] {
                if self.condition(first).is_some() {
                    let inner = Statement::If {
                        condition: second,
                        then: then.to_vec(),
                        otherwise: otherwise.to_vec(),
                        location: location.clone(),
                    };
                    return self.conditional(first, &[inner], otherwise, location, lines);
                }
            }
        }
        let Some(condition) = self.condition(term) else {
            let what = self.unknown_in(term);
            return refuse_undecided(Undecided::Branch, &what, location);
        };
        match self.known(&condition) {
            Some(true) => {
                let mut inner = self.block(then)?;
                lines.append(&mut inner);
                return Ok(());
            }
            Some(false) => {
                let mut inner = self.block(otherwise)?;
                lines.append(&mut inner);
                return Ok(());
            }
            None => {}
        }
        self.arena.decided_by.insert(term);
        let before = self.phi_values.clone();
        let then_lines = self.under(term, Some(&condition), |lowerer| lowerer.block(then))?;
        let after = std::mem::replace(&mut self.phi_values, before);
        let not = self.arena.terms.not(&term);
        let negated = condition.clone().negated();
        let otherwise_lines =
            self.under(not, negated.as_ref(), |lowerer| lowerer.block(otherwise))?;
        let otherwise_after = std::mem::take(&mut self.phi_values);
        let yes = (term, condition.clone());
        let no = negated.map(|negated| (not, negated));
        self.phi_values = PhiValues::joined(after, otherwise_after, &yes, no.as_ref());
        if then_lines == otherwise_lines {
            lines.extend(then_lines);
            return Ok(());
        }
        if otherwise_lines.is_empty() && only_loops(&then_lines, &condition) {
            lines.extend(then_lines);
            return Ok(());
        }
        if then_lines.is_empty() {
            let Some(negated) = condition.negated() else {
                return refuse("a number is too large", location);
            };
            if only_loops(&otherwise_lines, &negated) {
                lines.extend(otherwise_lines);
                return Ok(());
            }
            lines.push(Line::If {
                condition: negated,
                then: otherwise_lines,
                otherwise: Vec::new(),
                location: location.clone(),
            });
            return Ok(());
        }
        lines.push(Line::If {
            condition,
            then: then_lines,
            otherwise: otherwise_lines,
            location: location.clone(),
        });
        Ok(())
    }

    /// Words for why a term is no number.
    fn unknown_in(&self, term: TermId) -> String {
        self.unknown_within(term, &mut BTreeSet::new())
            .unwrap_or_else(|| {
                "a computation that cannot be written in the protocol language".to_owned()
            })
    }

    /// The same as [`Self::unknown_in`]. `seen` has the carried registers that were already asked
    /// about.
    fn unknown_within(&self, term: TermId, seen: &mut BTreeSet<u32>) -> Option<String> {
        let words = self.arena.terms.memory_in(term);
        if let Some(reason) = words.iter().find_map(|word| self.not_entries.get(word)) {
            return Some((*reason).to_owned());
        }
        if !words.is_empty() && !is_launch(term, &self.arena.terms) {
            return Some(FROM_MEMORY.to_owned());
        }
        for atom in self.arena.terms.atoms(term).iter() {
            match atom {
                Atom::Opaque(_) => {
                    return Some(not_known(term, &self.arena.terms, &self.arena.loaded));
                }
                Atom::Response(_) => return Some("what cluster launch control answers".to_owned()),
                Atom::RingWord(_) => return Some(RING_WORD.to_owned()),
                Atom::Test(_) => return Some("whether a test of an mbarrier passes".to_owned()),
                Atom::Phi(phi) if self.phi_value(*phi).is_none() => {
                    // A value that comes to it in an iteration may say more.
                    let carried = seen.insert(*phi).then(|| {
                        let phi = &self.arena.phis[*phi as usize];
                        let mut both = [phi.next, phi.first].into_iter();
                        both.find_map(|term| self.unknown_within(term, seen))
                    });
                    const CARRIED: &str = "what a loop carries";
                    return Some(match carried.flatten() {
                        Some(other) if other.starts_with(CARRIED) => other,
                        Some(other) => format!("{CARRIED}: {other}"),
                        None => format!("{CARRIED}, for which no form was found"),
                    });
                }
                _ => {}
            }
        }
        None
    }

    fn range(&self, number: &Number) -> Option<Range> {
        number.range(&|atomic| self.inputs.range_of(atomic, &self.counts))
    }
}

/// Whether lines do nothing where a condition fails: they are loops whose count is then 0.
fn only_loops(lines: &[Line], condition: &Condition) -> bool {
    !lines.is_empty()
        && lines.iter().all(|line| match line {
            Line::For { count, .. } => spares(condition, count),
            Line::Let { .. } => true,
            _ => false,
        })
}
