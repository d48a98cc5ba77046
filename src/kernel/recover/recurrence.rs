//! Values that loops carry: counters, and state machines.
//!
//! For example, `stage = stage == 2 ? 0 : stage + 1; phase ^= (stage == 0)` has six states of
//! `stage` and `phase`, which come one after the other and repeat. So both are functions of one
//! counter, the number of *steps* of this *machine*.
//!
//! Phis that are copies of each other along a nest of loops are one *variable* of the role. A
//! variable is a *counter* if every change adds a number that is fixed at launch. Variables whose
//! changes depend only on each other, and that begin with constants, are a *machine*. All its
//! states are enumerated. If every change moves along one cycle of states by a fixed number of
//! steps, the state is a function of a counter of steps.
//!
//! The argument is induction over the changes. The initial state is step 0. A change takes the
//! state of step n to the state of step n + d. This is checked for every n of the cycle, by
//! computing with words. A change may also take all states to a single one. For example, behind a
//! loop that is skipped, the registers have their first values again. Then the step is the number
//! of that state, whatever it was before.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::recover::change::Change;
use crate::recover::change::Move;
pub use crate::recover::change::Steps;
use crate::recover::cycle::restarts;
use crate::recover::cycle::shorten;
use crate::recover::launch::is_launch;
use crate::recover::phi_congruence;
use crate::recover::sides::sides;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::term::Terms;
use crate::recover::tree::Phi;

/// A machine with more states than this is not followed.
const MAX_STATES: usize = 4096;

/// A counter whose steps change at most this many of its highest bits wraps around soon, and is a
/// machine.
const FEW_BITS: u32 = 6;

/// A place where a variable changes: the entry of a loop, or the end of its iterations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Site {
    Entry(u32),
    Latch(u32),
}

#[derive(Debug, Clone)]
pub struct Machine {
    pub variables: Vec<usize>,
    /// The values of the variables, for each step. The states before `tail` occur once, and the
    /// others repeat.
    pub states: Vec<Vec<u128>>,
    pub tail: usize,
    /// By how many steps each site moves.
    pub steps: BTreeMap<Site, Steps>,
    /// The loop whose index is the number of steps, if there is one.
    pub index: Option<u32>,
    /// The phis of another machine, all of one loop, if this one begins with the state of that one.
    /// It then begins with as many steps as that one has made.
    pub begins_with: Vec<u32>,
}

impl Machine {
    pub fn period(&self) -> usize {
        self.states.len() - self.tail
    }
}

/// A variable: phis that are copies of each other.
#[derive(Debug, Clone)]
pub struct Variable {
    pub phis: Vec<u32>,
    /// The phi whose first value does not come from the variable itself.
    pub root: Option<u32>,
}

#[derive(Debug, Clone, Default)]
pub struct Recurrences {
    pub variables: Vec<Variable>,
    /// The variable of each phi.
    pub of_phi: BTreeMap<u32, usize>,
    pub machines: Vec<Machine>,
    /// The machine of a variable.
    pub machine_of: BTreeMap<usize, usize>,
    /// Variables to which every site adds a number that is fixed at launch.
    pub counters: BTreeSet<usize>,
    /// Variables that begin again at 0 behind a number that the launch gives.
    restarting: BTreeSet<usize>,
}

impl Recurrences {
    pub fn new(phis: &[Phi], used: &BTreeSet<u32>, terms: &mut Terms) -> Self {
        let mut recurrences = Self::default();
        recurrences.join(phis, used, terms);
        for variable in 0..recurrences.variables.len() {
            if recurrences.is_counter(variable, phis, terms) {
                recurrences.counters.insert(variable);
            } else if restarts(&recurrences.variables[variable].phis, phis, terms) {
                recurrences.restarting.insert(variable);
            }
        }
        // Variables that depend on each other are one machine, if its states repeat.
        let mut closures: Vec<BTreeSet<usize>> = (0..recurrences.variables.len())
            .filter(|variable| !recurrences.counters.contains(variable))
            .filter_map(|variable| recurrences.closure(variable, phis, terms))
            .collect();
        closures.sort_by_key(|closure| std::cmp::Reverse(closure.len()));
        closures.dedup();
        let mut components: Vec<BTreeSet<usize>> = Vec::new();
        for closure in &closures {
            let mut joined = closure.clone();
            components.retain(|component| {
                let apart = component.is_disjoint(&joined);
                if !apart {
                    joined.extend(component.iter().copied());
                }
                apart
            });
            components.push(joined);
        }
        let all: Vec<BTreeSet<usize>> = components.into_iter().chain(closures).collect();
        // A machine that begins with the state of another may be found only in the second pass.
        for variables in all.iter().chain(&all) {
            let mut own = variables.iter();
            if own.any(|variable| recurrences.machine_of.contains_key(variable)) {
                continue;
            }
            if let Some(machine) = recurrences.machine(variables.clone(), phis, terms) {
                let number = recurrences.machines.len();
                for variable in &machine.variables {
                    recurrences.machine_of.insert(*variable, number);
                }
                recurrences.machines.push(machine);
            }
        }
        recurrences
    }

    /// Groups phis that are copies of each other in different loops.
    fn join(&mut self, phis: &[Phi], used: &BTreeSet<u32>, terms: &mut Terms) {
        let mut groups = Vec::new();
        for group in phi_congruence::congruence_classes(phis, used, terms) {
            groups.extend(phi_congruence::split_counters(group, phis, terms));
        }
        for group in groups {
            let number = self.variables.len();
            let root = group.iter().copied().find(|phi| {
                let first = phis[*phi as usize].first;
                !terms
                    .atoms(first)
                    .iter()
                    .any(|atom| matches!(atom, Atom::Phi(other) if group.contains(other)))
            });
            for phi in &group {
                self.of_phi.insert(*phi, number);
            }
            self.variables.push(Variable {
                phis: group.into_iter().collect(),
                root,
            });
        }
    }

    /// What a site adds to a counter, if it adds something that is fixed at launch.
    pub fn added(&self, variable: usize, term: TermId, terms: &mut Terms) -> Option<(u32, TermId)> {
        let own: Vec<u32> = terms
            .atoms(term)
            .iter()
            .filter_map(|atom| match atom {
                Atom::Phi(phi) if self.of_phi.get(phi) == Some(&variable) => Some(*phi),
                _ => None,
            })
            .collect();
        let [phi] = own.as_slice() else { return None };
        let width = terms.width_of(term);
        let atom = terms.atom(Atom::Phi(*phi), width);
        let difference = terms.difference(term, atom);
        is_launch(difference, terms).then_some((*phi, difference))
    }

    /// Whether the loops of a counter come one after the other: each goes on from where the one
    /// before has stopped, and none lies in another.
    pub fn is_sequential(&self, variable: usize, phis: &[Phi], terms: &Terms) -> bool {
        self.variables[variable].phis.iter().all(|phi| {
            let atoms = terms.atoms(phis[*phi as usize].next);
            atoms.iter().all(|atom| match atom {
                Atom::Phi(other) => other == phi || self.of_phi.get(other) != Some(&variable),
                _ => true,
            })
        })
    }

    fn is_counter(&self, variable: usize, phis: &[Phi], terms: &mut Terms) -> bool {
        let Variable { phis: own, root } = self.variables[variable].clone();
        let Some(root) = root else { return false };
        if terms.width_of(phis[root as usize].first) < 16 {
            return false;
        }
        // How many of the lowest bits are 0 in everything that is added.
        let mut zeros = u32::MAX;
        let counts = own.iter().all(|phi| {
            let Phi { first, next, .. } = &phis[*phi as usize];
            let mut added = vec![*next];
            added.extend((*phi != root).then_some(*first));
            while let Some(term) = added.pop() {
                if let Some((_, sides)) = sides(term, terms) {
                    added.extend(sides);
                    continue;
                }
                let Some((_, added)) = self.added(variable, term, terms) else {
                    return false;
                };
                zeros = zeros.min(terms.value(added).map_or(0, u128::trailing_zeros));
            }
            true
        });
        // A counter that wraps around after a few steps is a machine.
        let first = phis[root as usize].first;
        let bits = u32::from(terms.width_of(first)).checked_sub(zeros);
        let comes_around = bits.is_some_and(|bits| (1..=FEW_BITS).contains(&bits));
        counts && !(comes_around && terms.value(first).is_some())
    }

    /// A variable and all that its changes depend on.
    fn closure(&self, variable: usize, phis: &[Phi], terms: &Terms) -> Option<BTreeSet<usize>> {
        let mut variables = BTreeSet::from([variable]);
        let mut work = vec![variable];
        while let Some(at) = work.pop() {
            for phi in &self.variables[at].phis {
                let Phi { first, next, .. } = &phis[*phi as usize];
                let root = self.variables[at].root == Some(*phi);
                for term in std::iter::once(next).chain((!root).then_some(first)) {
                    for other in self.carried(*term, terms) {
                        let other = *self.of_phi.get(&other)?;
                        if !self.counters.contains(&other) && variables.insert(other) {
                            work.push(other);
                        }
                    }
                }
            }
        }
        Some(variables)
    }

    /// The machine of these variables, if they are one.
    fn machine(
        &self,
        variables: BTreeSet<usize>,
        phis: &[Phi],
        terms: &mut Terms,
    ) -> Option<Machine> {
        let variables: Vec<usize> = variables.into_iter().collect();
        let mut firsts = Vec::new();
        let mut roots = BTreeSet::new();
        for (at, variable) in variables.iter().enumerate() {
            let root = self.variables[*variable].root?;
            roots.insert(phis[root as usize].in_loop);
            firsts.push((at, phis[root as usize].first));
        }
        // All variables have to begin at the same loop. Otherwise a loop would restart a part of
        // the state.
        let (Some(outermost), 1) = (roots.first().copied(), roots.len()) else {
            return None;
        };
        let copied = self.copied(&firsts, phis, terms);
        let begins_with = self.begin_with(copied.as_ref(), &mut firsts, terms)?;
        // The launch may decide in which state the machine begins.
        let begins = self.split(firsts, &variables, terms, 0)?;
        let mut starts: Vec<(Vec<bool>, Vec<u128>)> = Vec::new();
        for (path, ends) in begins.ways() {
            let state: Option<Vec<u128>> =
                ends.iter().map(|(_, term)| terms.value(*term)).collect();
            starts.push((path, state?));
        }
        let initial = starts.first()?.1.clone();
        let mut sites: BTreeMap<Site, Vec<(usize, TermId)>> = BTreeMap::new();
        let mut loops = BTreeSet::new();
        for (index, variable) in variables.iter().enumerate() {
            for phi in &self.variables[*variable].phis {
                let Phi {
                    in_loop,
                    first,
                    next,
                } = &phis[*phi as usize];
                loops.insert(*in_loop);
                if self.variables[*variable].root != Some(*phi) {
                    sites
                        .entry(Site::Entry(*in_loop))
                        .or_default()
                        .push((index, *first));
                }
                sites
                    .entry(Site::Latch(*in_loop))
                    .or_default()
                    .push((index, *next));
            }
        }
        let changes: BTreeMap<Site, Change> = sites
            .into_iter()
            .map(|(site, changes)| Some((site, self.split(changes, &variables, terms, 0)?)))
            .collect::<Option<_>>()?;
        type Table = BTreeMap<Vec<u128>, Vec<u128>>;
        let mut moves: BTreeMap<(Site, Vec<bool>), Table> = BTreeMap::new();
        let mut pending: Vec<Vec<u128>> = starts.iter().map(|(_, state)| state.clone()).collect();
        let mut seen: BTreeSet<Vec<u128>> = pending.iter().cloned().collect();
        while let Some(state) = pending.pop() {
            for (site, change) in &changes {
                for (path, ends) in change.ways() {
                    let mut next = state.clone();
                    for (index, term) in ends {
                        next[*index] = self.evaluated(*term, &variables, &state, terms)?;
                    }
                    moves
                        .entry((*site, path))
                        .or_default()
                        .insert(state.clone(), next.clone());
                    if seen.insert(next.clone()) {
                        pending.push(next);
                    }
                    if seen.len() > MAX_STATES {
                        return None;
                    }
                }
            }
        }
        // The change that goes through all states, one after the other, is one step.
        let mut best: Option<(Vec<Vec<u128>>, usize)> = None;
        for table in moves.values() {
            let mut order: Vec<Vec<u128>> = vec![initial.clone()];
            let tail = loop {
                let last = order.last()?;
                let next = table.get(last)?;
                if let Some(at) = order.iter().position(|state| state == next) {
                    break at;
                }
                order.push(next.clone());
            };
            if best
                .as_ref()
                .is_none_or(|(states, _)| states.len() < order.len())
            {
                best = Some((order, tail));
            }
        }
        let (mut states, tail) = best?;
        if states.len() != seen.len() {
            return None;
        }
        let number: BTreeMap<&Vec<u128>, usize> = states
            .iter()
            .enumerate()
            .map(|(index, state)| (state, index))
            .collect();
        let period = states.len() - tail;
        let mut distances: BTreeMap<Site, BTreeMap<Vec<bool>, Move>> = BTreeMap::new();
        for ((site, path), table) in &moves {
            let table: Vec<(usize, usize)> = table
                .iter()
                .map(|(from, to)| Some((*number.get(from)?, *number.get(to)?)))
                .collect::<Option<_>>()?;
            let place = |steps: usize| match steps.checked_sub(tail) {
                None => steps,
                Some(around) => tail + around % period,
            };
            let distance = if states.len() == 1 {
                // A cycle of one state agrees with any number of steps.
                Some(usize::from(matches!(site, Site::Latch(_))))
            } else {
                let agrees =
                    |distance: &usize| table.iter().all(|(from, to)| place(from + distance) == *to);
                (0..=states.len() + period).find(agrees)
            };
            let state = || {
                let (_, first) = *table.first()?;
                let resets = copied.is_none() && table.iter().all(|(_, to)| *to == first);
                resets.then_some(Move::To(first))
            };
            let moved = distance.map(Move::By).or_else(state)?;
            distances
                .entry(*site)
                .or_default()
                .insert(path.clone(), moved);
        }
        let chosen = starts.len() > 1;
        if chosen {
            let at = |(path, state): &(Vec<bool>, Vec<u128>)| {
                Some((path.clone(), Move::By(*number.get(state)?)))
            };
            let starts: BTreeMap<Vec<bool>, Move> = starts.iter().map(at).collect::<Option<_>>()?;
            // A loop is entered in one way.
            if distances.insert(Site::Entry(outermost), starts).is_some() {
                return None;
            }
        }
        if let Some(copied) = &copied {
            self.goes_as(&states, tail, copied)?;
        } else if tail == 0 {
            // A state keeps its number as far as it is the number of steps from the first.
            let all = distances.values_mut().flat_map(BTreeMap::values_mut);
            let all = all.map(|(Move::By(steps) | Move::To(steps))| steps);
            shorten(&mut states, all.collect());
        }
        let entry = chosen.then_some((Site::Entry(outermost), begins));
        let steps: BTreeMap<Site, Steps> = changes
            .iter()
            .chain(entry.as_ref().map(|(site, begins)| (site, begins)))
            .map(|(site, change)| {
                let of = distances.remove(site).unwrap_or_default();
                (*site, change.steps(&of, &mut Vec::new()))
            })
            .collect();
        let index = loops.first().copied().filter(|at| {
            !chosen
                && copied.is_none()
                && loops.len() == 1
                && steps.get(&Site::Latch(*at)) == Some(&Steps::By(1))
        });
        Some(Machine {
            variables,
            states,
            tail,
            steps,
            index,
            begins_with,
        })
    }

    /// The phis that the value of a term depends on, except through conditions on launch values and
    /// counters.
    fn carried(&self, term: TermId, terms: &Terms) -> BTreeSet<u32> {
        let mut found = BTreeSet::new();
        let mut work = vec![term];
        while let Some(term) = work.pop() {
            match terms.node(term) {
                Node::Atom(Atom::Phi(phi)) => {
                    found.insert(*phi);
                }
                Node::Select(condition, a, b) => {
                    work.extend([*a, *b]);
                    if !self.is_foreign(*condition, terms) {
                        work.push(*condition);
                    }
                }
                _ => work.extend(terms.children(term)),
            }
        }
        found
    }

    /// Whether a condition depends only on launch values, counters, and variables that begin again
    /// at 0 behind a number that the launch gives.
    fn is_foreign(&self, condition: TermId, terms: &Terms) -> bool {
        let atoms = terms.atoms(condition);
        !atoms.is_empty()
            && atoms.iter().all(|atom| match atom {
                Atom::Parameter { .. } | Atom::Special(_) => true,
                Atom::Phi(phi) => self.of_phi.get(phi).is_some_and(|variable| {
                    self.counters.contains(variable) || self.restarting.contains(variable)
                }),
                _ => false,
            })
    }

    /// Splits changes by conditions that do not depend on the machine.
    fn split(
        &self,
        changes: Vec<(usize, TermId)>,
        variables: &[usize],
        terms: &mut Terms,
        depth: u32,
    ) -> Option<Change> {
        let own = |atom: &Atom| matches!(atom, Atom::Phi(phi) if self.of_phi.get(phi).is_some_and(|at| variables.contains(at)));
        let mut foreign = None;
        for (_, term) in &changes {
            if terms.atoms(*term).iter().all(own) {
                continue;
            }
            let is_condition = |part: &TermId| terms.width_of(*part) == 1 && *part != *term;
            foreign = terms
                .parts(*term)
                .into_iter()
                .find(|part| is_condition(part) && self.is_foreign(*part, terms));
            // If there is no such condition, the change depends on a value outside of the machine.
            foreign?;
            break;
        }
        let Some(condition) = foreign else {
            return Some(Change::To(changes));
        };
        if depth >= 6 {
            return None;
        }
        let mut side = |truth: bool| {
            let constant = crate::meaning::Domain::constant(terms, u128::from(truth), 1);
            let changes = changes
                .iter()
                .map(|(index, term)| (*index, terms.replaced(*term, condition, constant)))
                .collect();
            self.split(changes, variables, terms, depth + 1)
        };
        let (yes, no) = (side(true)?, side(false)?);
        Some(Change::If(condition, Box::new(yes), Box::new(no)))
    }

    /// The value of a term over the variables of a machine, in one of its states.
    pub fn evaluated(
        &self,
        term: TermId,
        variables: &[usize],
        state: &[u128],
        terms: &mut Terms,
    ) -> Option<u128> {
        let done = self.in_state(term, variables, state, terms);
        terms.value(done)
    }

    /// A term with the values that the variables of a machine have in one of its states.
    pub fn in_state(
        &self,
        term: TermId,
        variables: &[usize],
        state: &[u128],
        terms: &mut Terms,
    ) -> TermId {
        let atoms = terms.atoms(term);
        let mut with: BTreeMap<Atom, TermId> = BTreeMap::new();
        for atom in atoms.iter() {
            if let Atom::Phi(phi) = atom
                && let Some(variable) = self.of_phi.get(phi)
                && let Some(at) = variables.iter().position(|other| other == variable)
            {
                let width = terms.width_of_phi(*phi);
                let constant = crate::meaning::Domain::constant(terms, state[at], width);
                with.insert(*atom, constant);
            }
        }
        terms.substitute(term, &|atom| with.get(&atom).copied())
    }
}
