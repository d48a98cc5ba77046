//! Finds the parameter values at which a protocol hangs: the smallest formula, with a proof that nothing hangs at any
//! values outside it.
//!
//! 1. Every point of a small box is labelled. It hangs if a run of the reference semantics does. It does not hang if
//!    exhaustive search shows so. Points near one that hangs are labelled, too.
//! 2. The smallest formulas are listed that hold at exactly the points that hang.
//! 3. Each formula is tested at values beyond the box, and at values in the box that were too large to be explored. A
//!    point that disagrees becomes a sample, and the search begins anew.
//! 4. The ordinary engines decide deadlock under the negation of the formula, as an assumption. The verdict is
//!    PROVED, with a certificate, or REFUTED at a point that becomes a sample. If the negation contains an "or" and
//!    no single proof covers it, its cases are decided one by one.
//! 5. If no formula has a proof, single comparisons are tried that hold at every sample that hangs. If nothing hangs
//!    where such a comparison is false, and this is proved, the comparison is part of the answer.
//! 6. The shape of a pattern is looked for in the same way.
//!
//! The outside of the formula is proved. The inside is only checked at the points that are listed, and nothing more
//! is claimed about it. However, if the parameters have finitely many values, all values inside are tried if
//! possible.

mod atoms;
pub mod boxes;
mod formula;
mod label;
mod pattern;
mod probe;
mod samples;
mod space;

use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

use itertools::Itertools;
use rustc_hash::FxHashMap;

use crate::deadline;
use crate::hunt::grid;
use crate::hunt::grid::Region;
use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::text;
use crate::text::Narrowing;
use crate::verdict;
use crate::verdict::Shared;
use crate::verdict::ahead;
use crate::verdict::deadlock::Internal;
use crate::verdict::deadlock::Settings;
use crate::verdict::decision::Decision;
use crate::verdict::decision::Verdict;

use formula::Formula;
use space::Space;

pub use pattern::Shaped;

/// The most points of the first box, and its largest radius.
const POINTS: usize = 260;
const RADIUS: i64 = 6;

/// The part of the time that the first box may take, as a divisor.
const BOX_SHARE: u32 = 3;

/// How often a point that disagrees may lead to another formula.
const ROUNDS: usize = 24;

/// How many lines of samples along a parameter have to agree before the parameter is taken not to matter.
const LINES: usize = 12;

/// The part of the remaining time that one proof may take, as a divisor.
const PROOF_SHARE: u32 = 2;

/// The same for the proof of one of several cases.
const CASE_SHARE: u32 = 4;

/// The part of the time that is reserved for the steps after the formulas, as a divisor.
const REST: u32 = 4;

/// How many single comparisons are tried, and the greatest weight of one.
const SINGLES: usize = 8;
const PLAIN: u32 = 14;

/// Parameter values, and whether the protocol hangs there.
pub type Sample = (Vec<i64>, bool);

/// The result of a search.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The formula whose outside is proved. If there is none, the first formula that agrees with all samples.
    pub condition: Option<Condition>,
    /// Comparisons, each with a proof that nothing hangs where the comparison is false. They are only looked for if
    /// no formula has a proof.
    pub needed: Vec<(String, Decision)>,
    /// The shape that a pattern has to have for a hang.
    pub shaped: Option<Shaped>,
    /// Parameter values at which it is known whether the protocol hangs.
    pub samples: Vec<Sample>,
    /// The box of which all points were tried, in words.
    pub region: String,
    /// How many points could not be decided.
    pub open: usize,
}

/// A formula that agrees with all samples.
#[derive(Debug)]
pub struct Condition {
    /// The formula in the language.
    pub text: String,
    /// The definitions of names in the formula that are not parameters.
    pub names: Vec<(String, String)>,
    /// The verdicts outside of the formula, which together cover all values there. Empty if the formula holds
    /// everywhere.
    pub outside: Vec<Outside>,
    /// Whether the formula holds nowhere.
    pub never: bool,
    /// Whether the formula holds everywhere.
    pub always: bool,
    /// The parameters that occur in the formula, by position.
    pub params: Vec<usize>,
    /// The number of points that could not be decided and at which the formula holds.
    pub open: usize,
    /// Whether all values at which it holds were tried.
    pub complete: bool,
}

/// A verdict on a part of the values at which a formula is false.
#[derive(Debug)]
pub struct Outside {
    /// The part, as assumptions.
    pub assumed: Vec<String>,
    /// The verdict there.
    pub decision: Decision,
}

impl Condition {
    /// Whether it is proved that nothing hangs where the formula is false.
    pub fn is_proved(&self) -> bool {
        self.always || all_proved(&self.outside)
    }
}

/// Whether there is at least one verdict, and each is PROVED.
fn all_proved(outside: &[Outside]) -> bool {
    let proved = |part: &Outside| part.decision.verdict.is_proved();
    !outside.is_empty() && outside.iter().all(proved)
}

impl Outcome {
    /// Whether there is a condition, and it is proved that nothing hangs outside of it.
    pub fn is_proved(&self) -> bool {
        self.condition.as_ref().is_some_and(Condition::is_proved)
    }
}

/// Looks for the condition under which a protocol hangs. `narrowing` has already been applied to the protocol.
///
/// # Errors
///
/// Only if two parts of the program contradict each other.
pub fn condition(
    protocol: &Protocol,
    narrowing: &Narrowing,
    settings: &Settings<'_>,
) -> Result<Outcome, Internal> {
    let tight = protocol.tightened();
    let radius = radius(&tight);
    let once = Settings {
        timeout: settings.timeout / REST,
        ..settings.clone()
    };
    let whole = ahead::open(protocol, narrowing, &once, &Shared::default()).is_none();
    let mut search = Search {
        protocol,
        whole,
        narrowing,
        settings,
        tight: &tight,
        radius,
        end: deadline::after(settings.timeout - settings.timeout / REST),
        samples: Vec::new(),
        open: Vec::new(),
        near: Vec::new(),
        beyond: Vec::new(),
    };
    // The search for formulas and shapes checks the deadline. Each proof gets a share of the time that is left.
    deadline::until(deadline::after(settings.timeout), || search.run())
}

/// The radius of the first box.
fn radius(tight: &Protocol) -> i64 {
    let few = |radius: &i64| {
        let inner = (0..=*radius).flat_map(|radius| grid::points(tight, radius));
        inner.take(POINTS + 1).count() <= POINTS
    };
    (1..=RADIUS).take_while(few).last().unwrap_or(0)
}

struct Search<'a> {
    protocol: &'a Protocol,
    /// Whether the runs of the protocol are exactly those of its kernel.
    whole: bool,
    narrowing: &'a Narrowing,
    settings: &'a Settings<'a>,
    tight: &'a Protocol,
    radius: i64,
    end: Instant,
    samples: Vec<Sample>,
    /// Points that could not be decided.
    open: Vec<Vec<i64>>,
    /// Points whose neighbours have been tried.
    near: Vec<Vec<i64>>,
    /// Points beyond the box that have been tried.
    beyond: Vec<Vec<i64>>,
}

/// A formula, and the verdicts outside of it.
struct Candidate {
    formula: Formula,
    outside: Vec<Outside>,
    /// Whether the formula holds at finitely many values, all of these were tried, and something hangs at each.
    complete: bool,
}

impl Search<'_> {
    fn run(&mut self) -> Result<Outcome, Internal> {
        let box_end = deadline::after(self.settings.timeout / BOX_SHARE);
        let tight = self.tight;
        for params in (0..=self.radius).flat_map(|radius| grid::points(tight, radius)) {
            self.sample(params, box_end);
        }
        let mut best = None;
        let mut space = self.space();
        for _ in 0..ROUNDS {
            self.explore();
            space = self.space();
            let (settled, found) = self.round(&space)?;
            best = found;
            if self.over() || settled {
                break;
            }
        }
        // The next steps have the rest of the time.
        self.end = deadline::after(self.left() + self.settings.timeout / REST);
        let shaped = self.shaped(&space, best.as_ref())?;
        let proved = best.as_ref().is_some_and(Candidate::settles);
        let needed = match proved {
            true => Vec::new(),
            false => self.needed(&space, best.as_ref())?,
        };
        let condition = best.map(|best| self.written(&space, best));
        Ok(Outcome {
            condition,
            needed,
            shaped,
            region: Region::of_radius(self.tight, self.radius).describe(self.tight),
            open: self.open.len(),
            samples: std::mem::take(&mut self.samples),
        })
    }

    fn space(&self) -> Space {
        let points: Vec<Vec<i64>> = self.samples.iter().map(|(at, _)| at.clone()).collect();
        Space::of(self.protocol, &points)
    }

    fn written(&self, space: &Space, best: Candidate) -> Condition {
        let Candidate {
            formula,
            outside,
            complete,
        } = best;
        let holds = |at: &Vec<i64>| formula.holds(&space.at(at));
        let numbers = formula.numbers();
        let named = numbers.iter().filter_map(|number| {
            let number = space.numbers.get(*number)?;
            Some((number.text.clone(), number.definition.clone()?))
        });
        // If the box is the whole domain, every value was tried.
        let whole = complete || grid::covers_domain(self.tight, self.radius);
        let open = self.open.iter().filter(|at| holds(at)).count();
        Condition {
            text: formula.text(&space.names()),
            names: named.collect(),
            outside,
            never: formula.never(),
            always: formula.always(),
            params: numbers
                .iter()
                .flat_map(|number| space.params(*number))
                .unique()
                .collect(),
            complete: whole && open == 0,
            open,
        }
    }

    /// Tries the formulas that agree with the samples. Returns whether no sample was added, and the first formula
    /// whose outside is proved, or else the first formula.
    fn round(&mut self, space: &Space) -> Result<(bool, Option<Candidate>), Internal> {
        let mut best: Option<Candidate> = None;
        for formula in self.formulas(space) {
            if self.over() {
                break;
            }
            let text = formula.text(&space.names());
            (self.settings.tell)(&format!("trying `{text}`"));
            if self.disagrees(space, &formula) || self.cleared(space, &formula)? {
                return Ok((false, best));
            }
            let outside = match formula.always() {
                true => Vec::new(),
                false => self.outside(space, &formula)?,
            };
            let refuted = outside
                .iter()
                .find_map(|part| match &part.decision.verdict {
                    Verdict::Refuted(refutation) => Some(refutation.input.params.clone()),
                    _ => None,
                });
            if let Some(params) = refuted {
                self.samples.push((params, true));
                return Ok((false, best));
            }
            let mut candidate = Candidate {
                formula,
                outside,
                complete: false,
            };
            let done = candidate.settles();
            if done {
                match self.all_inside(space, &candidate.formula) {
                    Some(true) => candidate.complete = true,
                    Some(false) => return Ok((false, best)),
                    None => {}
                }
            }
            if done || best.is_none() {
                best = Some(candidate);
            }
            if done {
                break;
            }
        }
        Ok((true, best))
    }

    /// The verdict at the values at which a formula is false. If it is not PROVED, each case of the negation is
    /// decided by itself, up to the first case that is not PROVED. The cases together cover the negation, and a proof
    /// of one case may be of no use for another.
    fn outside(&self, space: &Space, formula: &Formula) -> Result<Vec<Outside>, Internal> {
        let decide = |assumed: Vec<String>, share: u32| -> Result<Option<Outside>, Internal> {
            let decision = self.assuming(&assumed, self.left() / share)?;
            Ok(decision.map(|decision| Outside { assumed, decision }))
        };
        let names = space.names();
        let whole = decide(formula.negated(&names), PROOF_SHARE)?;
        let open = whole.as_ref().is_some_and(|whole| {
            let verdict = &whole.decision.verdict;
            matches!(verdict, Verdict::Bounded { .. } | Verdict::Unknown { .. })
        });
        let cases = formula.cases(&names);
        if !open || cases.len() < 2 {
            return Ok(whole.into_iter().collect());
        }
        let mut parts = Vec::new();
        for case in cases {
            let Some(part) = decide(case, CASE_SHARE)? else {
                return Ok(whole.into_iter().collect());
            };
            let decided = part.decision.verdict.is_proved();
            if let Verdict::Refuted(_) = &part.decision.verdict {
                return Ok(vec![part]);
            }
            if !decided {
                return Ok(whole.into_iter().collect());
            }
            parts.push(part);
        }
        Ok(parts)
    }

    fn over(&self) -> bool {
        self.settings.cancel.load(Ordering::Relaxed) || Instant::now() >= self.end
    }

    fn left(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    fn formulas(&self, space: &Space) -> Vec<Formula> {
        if self.samples.is_empty() {
            return Vec::new();
        }
        let (points, inside) = self.bits(space);
        let atoms = self.atoms(space, &points);
        deadline::until(self.end, || formula::separating(&atoms, &points, &inside))
    }

    /// The atoms about the numbers that matter.
    fn atoms(&self, space: &Space, points: &[Vec<i64>]) -> Vec<(atoms::Atom, atoms::Bits)> {
        let idle: Vec<usize> = (0..self.protocol.params.len())
            .filter(|param| self.idle(*param))
            .collect();
        let matters = |number: usize| {
            let params = space.params(number);
            params.is_empty() || params.iter().any(|param| !idle.contains(param))
        };
        atoms::atoms(&space.numbers, points, &matters)
    }

    /// Whether a parameter seems not to matter: enough samples differ in this parameter alone, and each time both
    /// hang or neither does. If this is wrong, a formula without the parameter will disagree with a later sample.
    fn idle(&self, param: usize) -> bool {
        let mut lines: FxHashMap<Vec<i64>, (usize, usize)> = FxHashMap::default();
        for (at, hangs) in &self.samples {
            let mut rest = at.clone();
            rest.remove(param);
            let (hang, clear) = lines.entry(rest).or_default();
            *if *hangs { hang } else { clear } += 1;
        }
        let both = |(hang, clear): &(usize, usize)| *hang > 0 && *clear > 0;
        let several = |(hang, clear): &&(usize, usize)| hang + clear > 1;
        lines.values().filter(several).count() >= LINES && !lines.values().any(both)
    }

    /// The samples as values of all numbers, and the set of samples that hang.
    fn bits(&self, space: &Space) -> (Vec<Vec<i64>>, atoms::Bits) {
        let points: Vec<Vec<i64>> = self.samples.iter().map(|(at, _)| space.at(at)).collect();
        let mut inside = atoms::bits(&points, |_| false);
        for (number, (_, hangs)) in self.samples.iter().enumerate() {
            inside[number / 64] |= u64::from(*hangs) << (number % 64);
        }
        (points, inside)
    }

    /// Comparisons that hold at every sample that hangs, each with a proof that nothing hangs where the comparison is
    /// false. The comparisons of the formula are tried first. Then come those that exclude most samples; of these the
    /// lightest first.
    fn needed(
        &self,
        space: &Space,
        best: Option<&Candidate>,
    ) -> Result<Vec<(String, Decision)>, Internal> {
        let (points, inside) = self.bits(space);
        if inside.iter().all(|word| *word == 0) {
            return Ok(Vec::new());
        }
        let all = atoms::bits(&points, |_| true);
        let excluded = |bits: &atoms::Bits| -> atoms::Bits {
            all.iter()
                .zip(bits)
                .map(|(all, bits)| all & !bits)
                .collect()
        };
        let size = |bits: &atoms::Bits| -> u32 { bits.iter().map(|word| word.count_ones()).sum() };
        let mut single: Vec<_> = self
            .atoms(space, &points)
            .into_iter()
            .filter(|(_, bits)| {
                bits.iter()
                    .zip(&inside)
                    .all(|(bits, inside)| bits & inside == *inside)
            })
            .map(|(atom, bits)| (atom, excluded(&bits)))
            .filter(|(atom, bits)| size(bits) > 0 && atom.weight() <= PLAIN)
            .collect();
        single.sort_by_key(|(atom, bits)| (std::cmp::Reverse(size(bits)), atom.weight()));
        let mut known: atoms::Bits = vec![0; all.len()];
        let mut found = Vec::new();
        let own = best
            .and_then(|best| best.formula.conjuncts())
            .unwrap_or(&[]);
        let own = own.iter().map(|atom| {
            let bits = atoms::bits(&points, |at| atom.holds(at));
            (*atom, excluded(&bits))
        });
        for (atom, bits) in own.chain(single).take(SINGLES) {
            let more = bits
                .iter()
                .zip(&known)
                .any(|(bits, known)| bits & !known != 0);
            if !more || self.over() {
                continue;
            }
            let formula = formula::single(atom);
            let assumed = formula.negated(&space.names());
            let decision = self.assuming(&assumed, self.left() / PROOF_SHARE)?;
            if let Some(decision) = decision.filter(|decision| decision.verdict.is_proved()) {
                known
                    .iter_mut()
                    .zip(&bits)
                    .for_each(|(known, bits)| *known |= bits);
                found.push((formula.text(&space.names()), decision));
            }
        }
        Ok(found)
    }

    /// The verdict under assumptions; none if the assumptions have no meaning for the protocol.
    fn assuming(&self, assumed: &[String], time: Duration) -> Result<Option<Decision>, Internal> {
        let mut protocol = self.protocol.clone();
        let narrower = Narrowing {
            assume: assumed.to_vec(),
            ..Narrowing::default()
        };
        if text::narrow(&mut protocol, &narrower).is_err() {
            return Ok(None);
        }
        let mut narrowing = self.narrowing.clone();
        narrowing.assume.extend(narrower.assume);
        let settings = Settings {
            timeout: time,
            ..self.settings.clone()
        };
        verdict::decide(&protocol, &narrowing, Property::Deadlock, &settings).map(Some)
    }

    /// The shape that a pattern has to have for a hang.
    fn shaped(&self, space: &Space, best: Option<&Candidate>) -> Result<Option<Shaped>, Internal> {
        if !self.whole {
            return Ok(None);
        }
        let holds = |at: &[i64]| best.is_none_or(|best| best.formula.holds(&space.at(at)));
        let settings = Settings {
            timeout: self.left(),
            ..self.settings.clone()
        };
        pattern::shaped(self.protocol, self.narrowing, &holds, &settings)
    }
}

impl Candidate {
    /// Whether it is proved that nothing hangs outside of the formula.
    fn settles(&self) -> bool {
        self.formula.always() || all_proved(&self.outside)
    }
}
