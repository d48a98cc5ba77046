//! Grid barriers in global memory. They are declared only if no other operation uses their words, and if the number of
//! CTAs that arrive is the number that the barrier counts.

use std::fmt::Write as _;

use super::write::Writer;
use crate::ptx::cta::memory::based;
use crate::ptx::cta::program::each;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;

/// A barrier: the word that counts arrivals, the word that releases the waiting CTAs if it is another one, and the number
/// of arrivals.
#[derive(Debug, PartialEq, Eq)]
struct Met {
    word: Sum,
    turn: Option<Sum>,
    arrivals: Sum,
    at: usize,
}

impl Writer<'_, '_> {
    /// Whether this arrives at a grid barrier, and the next statement waits there.
    pub fn meets_grid(statement: &Statement, rest: &[Statement]) -> bool {
        match (&statement.action, rest.first().map(|s| &s.action)) {
            (Action::GridArrive(a, found, _), Some(Action::GridWait(b, waited))) => {
                a == b && found == waited
            }
            _ => false,
        }
    }

    /// The name of the barrier that this arrives at.
    pub fn grid_name(&self, statement: &Statement) -> String {
        let Action::GridArrive(word, ..) = &statement.action else {
            return String::new();
        };
        let all = self.meetings();
        match all.iter().position(|met| met.word == *word) {
            None | Some(0) => "grid_bar".to_owned(),
            Some(number) => format!("grid_bar_{number}"),
        }
    }

    /// Why an arrival without its wait, or a wait without its arrival, is refused.
    pub fn halves(statement: &Statement) -> Obstacle {
        let reason = match statement.action {
            Action::GridArrive(..) => {
                "the whole grid meets here, but this CTA does not wait right after it has arrived"
            }
            _ => {
                "this waits until memory is other than it was before: that is followed only where the last CTA to come \
                 clears a count and changes that memory, with fences in between"
            }
        };
        Obstacle::new(statement.at, reason)
    }

    /// The grid barriers, in the order in which the programs use them.
    fn meetings(&self) -> Vec<Met> {
        let mut all: Vec<Met> = Vec::new();
        for program in &self.followed.programs {
            each(&program.statements, &mut |s| {
                if let Action::GridArrive(word, found, arrivals) = &s.action {
                    let turn = match self.followed.unknowns.meaning(*found) {
                        Some(Meaning::Met(_, turn)) => Some(turn.clone()),
                        _ => None,
                    };
                    let met = Met {
                        word: word.clone(),
                        turn,
                        arrivals: arrivals.clone(),
                        at: s.at,
                    };
                    let same = |other: &Met| {
                        (&other.word, &other.turn, &other.arrivals)
                            == (&met.word, &met.turn, &met.arrivals)
                    };
                    if !all.iter().any(same) {
                        all.push(met);
                    }
                }
            });
        }
        all
    }

    /// The declarations of the grid barriers. Refuses if another operation may use their words.
    pub fn grid_barriers(&mut self) -> Result<String, Obstacle> {
        let all = self.meetings();
        if all.is_empty() {
            return Ok(String::new());
        }
        self.words_apart(&all)?;
        let unknowns = &self.followed.unknowns;
        let mut ctas = Sum::of(1);
        let mut extents = Vec::new();
        for axis in 0..3 {
            if let Some(extent) = unknowns.find(&Meaning::Blocks(axis)) {
                ctas = ctas.times(&Sum::unknown(extent));
                extents.push(extent);
            }
        }
        self.used.extend(extents);
        let mut text = String::new();
        for (number, met) in all.iter().enumerate() {
            let name = match number {
                0 => "grid_bar".to_owned(),
                number => format!("grid_bar_{number}"),
            };
            let more = met.arrivals.minus(&ctas);
            if met.turn.is_some() {
                text.push_str("// The last CTA to come clears a count and changes a word; the others wait for that.\n");
            } else {
                text.push_str(
                    "// One CTA adds 2^31 - (CTAs - 1) to a word and every other 1; each waits for bit 31 to change.\n",
                );
            }
            match more.as_constant() {
                Some(0..) => {}
                None if met.turn.is_some() => {
                    let enough = Condition::Negative(more).negated();
                    let words = self.condition(&enough, met.at)?;
                    let _ = writeln!(
                        text,
                        "assume {words}  // no more CTAs than the barrier counts"
                    );
                }
                _ => {
                    let reason = "more CTAs come here than the barrier of the grid counts, or not all of them along an \
                                  axis of the grid";
                    return Err(Obstacle::new(met.at, reason));
                }
            }
            let arrivals = self.sum(&met.arrivals, met.at)?;
            let _ = writeln!(text, "barrier {name} {{ arrivals: {arrivals} }}");
        }
        Ok(text)
    }

    /// Refuses if another operation may use the words of these barriers, or if each CTA or each iteration has its own words.
    fn words_apart(&self, all: &[Met]) -> Result<(), Obstacle> {
        let unknowns = &self.followed.unknowns;
        let reason = "a word by which the whole grid meets may be used in another way here, or CTAs \
                      along an axis of the grid are not counted";
        let fixed = |u: Unknown| {
            matches!(
                unknowns.meaning(u),
                Some(Meaning::Parameter(..) | Meaning::Environment(_) | Meaning::Blocks(_))
            )
        };
        let mut words: Vec<&Sum> = Vec::new();
        for met in all {
            for word in [Some(&met.word), met.turn.as_ref()].into_iter().flatten() {
                let apart = |other: &&Sum| {
                    let bytes = word.minus(other).as_constant();
                    // Two pointer parameters point to different memory.
                    match (based(word, unknowns), based(other, unknowns)) {
                        (Some((a, _)), Some((b, _))) if a != b => true,
                        _ => bytes.is_some_and(|bytes| bytes.abs() >= 4),
                    }
                };
                if word.mentions(&|u| !fixed(u)) || word.reads_memory() || !words.iter().all(apart)
                {
                    return Err(Obstacle::new(met.at, reason));
                }
                words.push(word);
            }
        }
        let mut wrong = None;
        for program in &self.followed.programs {
            each(&program.statements, &mut |s| {
                let address = match &s.action {
                    Action::CounterAdd(a, _)
                    | Action::CounterSet(a, _)
                    | Action::CounterWait(a, ..) => a,
                    _ => return,
                };
                let pointer = |u: Unknown| {
                    let own = |word: &&Sum| word.mentions(&|v| u == v);
                    words.iter().any(own)
                };
                if address.mentions(&pointer) {
                    wrong = wrong.or(Some(s.at));
                }
            });
        }
        match wrong {
            Some(at) => Err(Obstacle::new(at, reason)),
            None => Ok(()),
        }
    }
}
