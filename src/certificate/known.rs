//! A cache of decided obligations, so that one run of the program discharges no obligation twice. The proofs of
//! several properties of a protocol share most of their obligations.
//!
//! The key is the script of the obligation, byte by byte. Every certificate still lists all of its own obligations.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use super::discharge;
use super::discharge::Answer;
use super::discharge::Solver;
use super::discharge::Work;
use super::elementary::Reader;
use super::obligation::Obligation;
use super::workers;

/// The most obligations that one context is asked about.
const AT_ONCE: usize = 32;

/// The least number of obligations for which a second context pays off.
const AT_LEAST: usize = 16;

/// Obligations that have been decided, by their scripts.
#[derive(Debug, Default)]
pub struct Known {
    answers: Mutex<HashMap<String, (Answer, Duration)>>,
}

impl Known {
    /// Decides one obligation within a time limit by the linked solver, unless the answer is in the cache. An answer
    /// that more time might change is used only for limits that are not longer.
    pub fn discharge(&self, obligation: &Obligation, limit: Duration) -> Answer {
        let script = obligation.script();
        let known = self.answers().get(&script).cloned();
        if let Some((answer, had)) = known
            && (!matches!(answer, Answer::Unknown(_)) || limit <= had)
        {
            return answer;
        }
        let answer = discharge::discharge(obligation, &Solver::BuiltIn, limit);
        self.answers().insert(script, (answer.clone(), limit));
        answer
    }

    /// Discharges those of the obligations that are discharged quickly, many in one context.
    pub fn discharge_at_once(&self, obligations: &[Obligation]) {
        let unknown: Vec<&Obligation> = {
            let answers = self.answers();
            let all = obligations.iter();
            all.filter(|o| !answers.contains_key(&o.script())).collect()
        };
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let size = unknown.len().div_ceil(workers).clamp(AT_LEAST, AT_ONCE);
        let chunks: Vec<&[&Obligation]> = unknown.chunks(size).collect();
        workers::each(chunks.len(), Duration::ZERO, |at| {
            for (obligation, discharged) in chunks[at].iter().zip(discharge::at_once(chunks[at])) {
                if discharged {
                    let answer = (Answer::Discharged, Duration::ZERO);
                    self.answers().insert(obligation.script(), answer);
                }
            }
            ControlFlow::Continue(())
        });
    }

    /// Whether all of these are discharged with this much work of the solver. The solver is asked only about
    /// obligations that are not [elementary](super::elementary). The outcome is always the same: it depends neither
    /// on how busy the machine is, nor on the contents of the cache.
    pub fn discharge_within(&self, obligations: &[Obligation], limit: Work) -> bool {
        let mut reader = Reader::default();
        let is_open = |obligation: &&Obligation| !reader.shows(obligation);
        let open: Vec<&Obligation> = obligations.iter().filter(is_open).collect();
        let chunks: Vec<&[&Obligation]> = open.chunks(AT_ONCE).collect();
        let done = Mutex::new(vec![None; chunks.len()]);
        workers::each(chunks.len(), Duration::ZERO, |at| {
            let work = discharge::work(chunks[at], limit);
            done.lock().unwrap_or_else(PoisonError::into_inner)[at] = work;
            match work {
                Some(_) => ControlFlow::Continue(()),
                None => ControlFlow::Break(()),
            }
        });
        let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        let all = done
            .into_iter()
            .try_fold(0_u64, |sum, work| sum.checked_add(work?));
        let within = all.is_some_and(|all| all <= limit.all);
        if within {
            for obligation in obligations {
                let answer = (Answer::Discharged, Duration::ZERO);
                self.answers().insert(obligation.script(), answer);
            }
        }
        within
    }

    fn answers(&self) -> std::sync::MutexGuard<'_, HashMap<String, (Answer, Duration)>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificate::term;

    #[test]
    fn an_answer_is_looked_up_by_the_script() {
        let known = Known::default();
        let obligation = |bound: i64| Obligation {
            name: "test".to_owned(),
            meaning: "a test".to_owned(),
            declarations: vec!["(declare-const x Int)".to_owned()],
            hypotheses: vec![term::lt(&term::int(0), &term::name("x"))],
            goal: term::le(&term::int(bound), &term::name("x")),
            split: Vec::new(),
        };
        let limit = Duration::from_secs(10);
        assert_eq!(known.discharge(&obligation(1), limit), Answer::Discharged);
        assert_eq!(known.discharge(&obligation(2), limit), Answer::Fails);
        assert_eq!(known.answers().len(), 2);
        // With a time limit of zero, no solver can answer, so none is asked.
        let none = Duration::ZERO;
        assert_eq!(known.discharge(&obligation(1), none), Answer::Discharged);
        assert_eq!(known.discharge(&obligation(2), none), Answer::Fails);
        // A question that was not answered with more time is not asked again with less.
        let open = Answer::Unknown("timeout".to_owned());
        let had = (open.clone(), Duration::from_secs(1));
        known.answers().insert(obligation(3).script(), had);
        assert_eq!(known.discharge(&obligation(3), none), open);
        assert_eq!(known.discharge(&obligation(3), limit), Answer::Fails);
    }

    /// Elementary obligations take no work of the solver. All others take the same work each time.
    #[test]
    fn work_is_counted_and_limited() {
        let (x, y) = (term::name("x"), term::name("y"));
        let obligation = |goal: term::Term| Obligation {
            name: "test".to_owned(),
            meaning: "a test".to_owned(),
            declarations: ["x", "y"]
                .map(|name| format!("(declare-const {name} Int)"))
                .to_vec(),
            hypotheses: vec![term::lt(&x, &y)],
            goal,
            split: Vec::new(),
        };
        let elementary = obligation(term::le(&x, &y));
        let rest = term::apply("mod", &[x.clone(), term::int(3)]);
        let solved = obligation(term::lt(&rest, &term::int(3)));
        let wrong = obligation(term::lt(&y, &x));
        let work = |each: u32, all: u64| Work { each, all };
        let within = |of: &[&Obligation], limit: Work| {
            let of: Vec<Obligation> = of.iter().copied().cloned().collect();
            Known::default().discharge_within(&of, limit)
        };
        assert!(within(&[&elementary], work(1, 0)));
        assert!(within(&[&elementary, &solved], work(100_000, 100_000)));
        assert!(!within(&[&elementary, &solved], work(1, 100_000)));
        assert!(!within(&[&elementary, &solved], work(100_000, 0)));
        assert!(!within(&[&elementary, &wrong], work(100_000, 100_000)));
        let count = || discharge::work(&[&solved], work(100_000, 100_000));
        assert!(count().is_some_and(|work| work > 0));
        assert_eq!(count(), count());
    }
}
