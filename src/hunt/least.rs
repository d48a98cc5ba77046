//! Makes a counterexample smaller, and says in which sense the result is the smallest.

use std::time::Duration;

use crate::protocol::Property;
use crate::semantics::explore::SearchEnd;
use crate::semantics::inputs::Inputs;

use super::Hang;
use super::Hunter;
use super::LARGEST;
use super::LARGEST_START;
use super::Watch;
use super::bounds;
use super::explored;
use super::grid::Region;
use super::shorten;
use super::trim;

/// How many positions beyond a counterexample's values smaller counterexamples are looked for. A counterexample with
/// a smaller value of one parameter may need a larger value of another.
const BEYOND: i64 = 2;

/// Every parameter is tried at least up to this position.
const AT_LEAST: i64 = 4;

/// The most states that are explored at each smaller point, and the most work for each point. A state of many members
/// has as many successors, and each of these has as many members.
const STATES: u64 = 200_000;
const LOOKS: u64 = 1 << 26;

/// How often the search goes through all parameters to make them smaller.
const ROUNDS: usize = 3;

/// The most smaller points that are listed.
const MOST_POINTS: usize = 1 << 16;

/// The time for making the run readable. This search also ends after a fixed number of states, mostly long before. So
/// the run that is shown rarely depends on how busy the machine is.
const SHORTENING: Duration = Duration::from_secs(10);

/// A counterexample and in which sense it is the smallest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Least {
    /// The counterexample, with a readable run.
    pub hang: Hang,
    /// In which sense it is the smallest, as a sentence.
    pub smallest: String,
}

/// A smaller point.
struct Smaller {
    params: Vec<i64>,
    known: Known,
}

/// How thoroughly a point was tried. No hang was found there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    Nothing,
    Tried,
    Proved,
    Explored,
}

impl Hunter<'_> {
    /// The least counterexample near this one. If another one is as small, the remaining time is used to show that
    /// nothing smaller fails.
    pub fn least(&mut self, hang: Hang, watch: &Watch<'_>) -> Least {
        (self.tell)("making the counterexample smaller");
        let hang = self.shrunk(hang, watch);
        let region = self.around(&hang);
        let order = self.order.clone();
        let mut hang = hang;
        let mut smaller: Vec<Smaller> = Vec::new();
        for params in region.points(self.protocol, &order).take(MOST_POINTS) {
            if params == hang.input.params {
                break;
            }
            // Points count as smaller even if there is no time left to try them.
            if !watch.over()
                && let Ok(Some(found)) = self.point(&params, watch)
            {
                hang = found;
                break;
            }
            let known = if self.clear.contains(&params) {
                Known::Tried
            } else {
                Known::Nothing
            };
            smaller.push(Smaller { params, known });
        }
        (self.tell)("exploring smaller values exhaustively");
        for place in 0..smaller.len() {
            if watch.over() {
                break;
            }
            let Ok(found) = explored(
                self.protocol,
                &smaller[place].params,
                self.property,
                self.states_worth(&smaller[place].params),
                watch,
            ) else {
                continue;
            };
            if let Some(found) = found.hang {
                hang = found;
                smaller.truncate(place);
                break;
            }
            if found.end == SearchEnd::Exhausted {
                smaller[place].known = Known::Explored;
            } else if self
                .proves
                .is_some_and(|proves| proves(&smaller[place].params))
            {
                smaller[place].known = Known::Proved;
            }
        }
        let smallest = self.sentence(&region, &smaller);
        // Shortening the run is worthwhile even if the time is used up.
        let hang = match self.property {
            Property::Deadlock => shorten::shortened(self.protocol, hang, &self.watch(SHORTENING)),
            property => trim::trimmed(self.protocol, property, hang, &self.watch(SHORTENING)),
        };
        Least { hang, smallest }
    }

    /// Makes parameters smaller one by one, as long as the schedules still find a hang.
    pub fn shrunk(&mut self, mut hang: Hang, watch: &Watch<'_>) -> Hang {
        for _ in 0..ROUNDS {
            let before = hang.input.params.clone();
            for param in self.order.clone() {
                hang = self.shrunk_in(hang, param, watch);
            }
            if hang.input.params == before || watch.over() {
                break;
            }
        }
        hang
    }

    fn shrunk_in(&mut self, mut hang: Hang, param: usize, watch: &Watch<'_>) -> Hang {
        let domain = &self.protocol.params[param].domain;
        let Some(mut high) = domain.position(hang.input.params[param]) else {
            return hang;
        };
        // The search found nothing at `low` and something at `high`.
        let mut low = -1;
        while high - low > 1 && !watch.over() {
            // The least value is tried first, because most parameters do not matter.
            let middle = if low < 0 { 0 } else { low + (high - low) / 2 };
            let mut params = hang.input.params.clone();
            if let Some(value) = domain.value(middle) {
                params[param] = value;
            }
            match self.point(&params, watch) {
                Ok(Some(smaller)) => {
                    hang = smaller;
                    high = middle;
                }
                _ => low = middle,
            }
        }
        hang
    }

    /// How many states to explore at a point.
    fn states_worth(&self, params: &[i64]) -> u64 {
        let mut inputs = Inputs::new(self.protocol, params, &bounds(LARGEST))
            .into_iter()
            .flatten();
        let members = match inputs.next() {
            Some(Ok((_, instance))) => instance.members.len().max(1) as u64,
            _ => 1,
        };
        STATES.min(LOOKS / (members * members))
    }

    /// The region in which smaller counterexamples are looked for.
    fn around(&self, hang: &Hang) -> Region {
        let params = self.protocol.params.iter().zip(&hang.input.params);
        let most = params.map(|(param, value)| {
            let at = param.domain.position(*value).unwrap_or(0);
            (at + BEYOND).max(AT_LEAST)
        });
        Region::new(self.protocol, &most.collect::<Vec<i64>>())
    }

    fn sentence(&self, region: &Region, smaller: &[Smaller]) -> String {
        if self.protocol.params.is_empty() {
            return "the protocol has no parameters that could be smaller".to_owned();
        }
        let names = self.order.iter();
        let names = names.map(|param| self.protocol.params[*param].name.as_str());
        let names = names.collect::<Vec<_>>().join(", ");
        let within = region.describe(self.protocol);
        let starts = if self.protocol.has_open_starts() {
            format!(" with initial values up to {LARGEST_START}")
        } else {
            String::new()
        };
        let count = |known| smaller.iter().filter(|s| s.known == known).count();
        let (done, proved) = (count(Known::Explored), count(Known::Proved));
        let all_listed = smaller.len() < MOST_POINTS;
        if smaller.len() == done + proved && all_listed {
            let how = match (done, proved) {
                (_, 0) => format!("explored exhaustively{starts}"),
                (0, _) => "proved to have none".to_owned(),
                _ => format!("explored exhaustively{starts} or proved to have none"),
            };
            let how = match (done + proved, self.protocol.assumptions.is_empty()) {
                (0, true) => "there are no smaller ones".to_owned(),
                (0, false) => "no smaller ones satisfy the assumptions".to_owned(),
                (1, _) => format!("the only smaller one was {how}"),
                _ => format!("every smaller one of these was {how}"),
            };
            return format!("smallest by ({names}) among {within}; {how}");
        }
        let parts = [
            (done, format!("explored exhaustively{starts}")),
            (proved, "proved to have none".to_owned()),
            (count(Known::Tried), "tried by schedules only".to_owned()),
            (count(Known::Nothing), "not tried".to_owned()),
        ];
        let parts = parts.into_iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, how)| format!("{count} {how}")).collect();
        let at_least = if all_listed { "" } else { "at least " };
        format!(
            "smallest found by ({names}) among {within}; of {at_least}{} smaller ones, {}",
            smaller.len(),
            parts.join(" and ")
        )
    }
}
