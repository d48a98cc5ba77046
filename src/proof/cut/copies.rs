//! Runs with one member held, in protocols that consist of equal copies (such as CTAs) and in others.

use std::time::Duration;

use super::Search;
use super::holds::Kept;
use super::holds::Seen;
use super::samples::Sample;
use super::samples::sample;
use super::trace;
use super::trace::Crew;
use super::trace::Step;
use crate::certificate;
use crate::certificate::cut::artefact::Case;
use crate::certificate::cut::artefact::Cut;
use crate::certificate::cut::artefact::Order;
use crate::certificate::cut::class::Class;
use crate::certificate::cut::ordered::Ordered;
use crate::certificate::discharge::Answer;
use crate::certificate::discharge::Solver;
use crate::certificate::discharge::discharge;
use crate::protocol::Protocol;

/// How many ordered copies a sample may have.
const MAX_COPIES: i64 = 5;

/// How many numbers are looked at per choice of parameters.
const NUMBERS: i64 = 3;

/// Time for the question whether the copies go in an order.
const PROGRESS: Duration = Duration::from_secs(3);

/// Parameter values, each with the number of one copy added.
pub(in crate::proof) fn numbered(ordered: &Ordered, points: Vec<Vec<i64>>) -> Vec<Vec<i64>> {
    let mut all = Vec::new();
    for params in points {
        let Some(extent) = extent(ordered, &params).filter(|extent| *extent <= MAX_COPIES) else {
            continue;
        };
        let step = (extent / NUMBERS).max(1);
        for number in (0..extent.max(1)).step_by(usize::try_from(step).unwrap_or(1)) {
            let mut params = params.clone();
            params.push(number);
            all.push(params);
        }
    }
    all
}

/// Whether the solver shows that the first unfinished copy can go on, in the first case.
pub(super) fn goes_on(protocol: &Protocol, cut: &Cut) -> bool {
    let mut cases = cut.cases.iter().filter(|case| !case.empty);
    let Some(case) = cases.next() else {
        return true;
    };
    let Ok(obligations) = certificate::cut::one_case(protocol, cut, case, String::new()) else {
        return false;
    };
    let progress = obligations
        .iter()
        .filter(|o| o.name.starts_with("progress"));
    let mut answers = progress.map(|o| discharge(o, &Solver::BuiltIn, PROGRESS));
    answers.all(|answer| answer == Answer::Discharged)
}

fn extent(ordered: &Ordered, params: &[i64]) -> Option<i64> {
    trace::value(&ordered.extent, params, &Default::default())
}

/// A sample with what all other copies do.
pub(super) fn with_others(
    protocol: &Protocol,
    ordered: &Ordered,
    classes: &[Class],
    case: &Case,
    mut one: Sample,
) -> Option<Sample> {
    let extent = extent(ordered, &one.params)?;
    let own = *one.params.get(ordered.numbers[0].0)?;
    if extent < 1 {
        for (class, size) in classes.iter().zip(&mut one.sizes) {
            if ordered.copied[class.role] {
                *size = 0;
            }
        }
    }
    for number in (0..extent).filter(|number| *number != own) {
        let mut params = one.params.clone();
        *params.last_mut()? = number;
        let ops = classes.iter();
        let ops = ops.map(|class| trace::trace(class, &params, super::samples::MAX_OPS));
        let ops: Option<Vec<_>> = ops.collect();
        let other = sample(protocol, classes, case, params, ops?)?;
        one.others.push((number, other.steps));
    }
    Some(one)
}

/// Before which operation each class was seen to stop.
pub(super) struct Stopped {
    /// Per class, in the copy of the member that is kept or outside copies; `None` for a class
    /// without further members.
    pub here: Vec<Option<Seen>>,
    /// In other copies: the class, the copy ([`Sample::steps_in`]), and where.
    pub elsewhere: Vec<(usize, usize, Seen)>,
}

impl Search<'_> {
    /// How far one member of a class gets that is kept from something, and how far everybody else
    /// gets.
    pub(super) fn closure(&self, sample: &Sample, class: usize, kept: Kept) -> (Seen, Stopped) {
        let crew = |ops, size: i64, copies: i64, marked: bool| Crew {
            size,
            ops,
            at: 0,
            held: usize::MAX,
            withheld: None,
            finishes: false,
            marked,
            copies,
        };
        let steps = |class: usize| -> &[Step] { &sample.steps[class] };
        let apart = self.is_copied(class);
        // The kept member, then all others in its copy, then all in other copies.
        let one = crew(steps(class), 1, 1, true);
        let mut crews = vec![match kept {
            Kept::Before(held) => Crew { held, ..one },
            Kept::Landing(at) => Crew {
                withheld: Some(at),
                ..one
            },
        }];
        for (position, other) in self.classes.iter().enumerate() {
            let here = other.copies.is_none() || other.is_kind_of(&self.classes[class]);
            let size = sample.sizes[position] - i64::from(position == class);
            crews.push(Crew {
                finishes: self.is_copied(position) && !apart,
                ..crew(steps(position), size, i64::from(here), true)
            });
        }
        let mut away: Vec<Option<(usize, usize)>> = Vec::new();
        for (position, other) in self.classes.iter().enumerate() {
            if let Some(copies) = sample.copies[position] {
                let copies = copies - i64::from(other.is_kind_of(&self.classes[class]));
                let size = sample.sizes[position];
                crews.push(crew(steps(position), size, copies, false));
                away.push(Some((position, 0)));
            }
            if self.is_copied(position) {
                for (nth, (number, others)) in sample.others.iter().enumerate() {
                    let finishes = !apart || !self.comes_after(sample, *number);
                    crews.push(Crew {
                        finishes,
                        ..crew(&others[position], sample.sizes[position], 1, false)
                    });
                    away.push((!finishes).then_some((position, nth + 1)));
                }
            }
        }
        trace::run(&mut crews);
        let seen = |crew: &Crew<'_>| {
            let somebody = crew.size > 0 && crew.copies > 0 && !crew.finishes;
            somebody.then_some(crew.at)
        };
        let number = self.classes.len();
        let elsewhere = crews[1 + number..].iter().zip(away);
        let elsewhere = elsewhere.filter_map(|(crew, away)| {
            let ((class, copy), at) = (away?, seen(crew)?);
            Some((class, copy, at))
        });
        let stopped = Stopped {
            here: crews[1..=number].iter().map(seen).collect(),
            elsewhere: elsewhere.collect(),
        };
        (crews[0].at, stopped)
    }

    /// Whether a class belongs to ordered copies.
    fn is_copied(&self, class: usize) -> bool {
        let role = self.classes[class].role;
        self.ordered.is_some_and(|ordered| ordered.copied[role])
    }

    /// Whether the copy with a number comes after that of a sample.
    fn comes_after(&self, sample: &Sample, number: i64) -> bool {
        let Some(ordered) = self.ordered else {
            return true;
        };
        let own = sample.params.get(ordered.numbers[0].0);
        own.is_some_and(|own| match ordered.order {
            Order::Ascending => *own < number,
            Order::Descending => number < *own,
        })
    }
}
