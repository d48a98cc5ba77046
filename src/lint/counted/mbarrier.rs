//! What all members do together at an mbarrier: arrivals, phases that are waited for, bytes.

use crate::semantics::instance::OpKind;

use super::Cell;
use super::Done;
use super::several;

impl Cell<'_, '_> {
    /// An mbarrier that is initialised by a statement.
    pub(super) fn initialised(&mut self, arrivals: i128) {
        let inits: Vec<&Done> = self
            .done
            .iter()
            .filter(|done| done.op.kind == OpKind::Init)
            .collect();
        let used = self.done.iter().find(|done| done.op.kind != OpKind::Init);
        let (Some(_), [init]) = (used, inits.as_slice()) else {
            if let (Some(used), []) = (used.copied(), inits.as_slice()) {
                let message = format!(
                    "`{}` is used by {}, and no member reaches the statement that initialises it",
                    self.name,
                    self.who(&used)
                );
                self.say(
                    "never-initialised",
                    &used,
                    &message,
                    "initialise it at the top of the kernel, in a thread that is there in every launch",
                );
            }
            return;
        };
        let early = |done: &&Done| done.member != init.member && !done.behind_a_wait;
        if let Some(early) = self.done.iter().find(early) {
            let message = format!(
                "{} uses `{}` and has waited for nobody before: {} may not have initialised it yet",
                self.who(early),
                self.name,
                self.who(init)
            );
            self.say(
                "use-before-barrier",
                early,
                &message,
                "put a barrier of all threads behind the initialisation",
            );
        }
        self.mbarrier(arrivals);
    }

    pub(super) fn mbarrier(&mut self, arrivals: i128) {
        let all = self.total(Done::arrivals);
        self.at_once(arrivals);
        self.phases(arrivals, all);
        self.bytes();
        let waits: Vec<Done> = self
            .done
            .iter()
            .filter(|done| matches!(done.op.kind, OpKind::WaitParity(_)))
            .copied()
            .collect();
        let again = waits.windows(2).find_map(|pair| match pair {
            [one, next] if (one.member, one.op) == (next.member, next.op) => Some((*next, *one)),
            _ => None,
        });
        if let Some((next, one)) = again
            && let OpKind::WaitParity(parity) = one.op.kind
        {
            let parity = u8::from(parity);
            let message = format!(
                "{} waits here twice in a row for parity {parity} of `{}`: the second wait does not wait for a phase of its own",
                self.who(&next),
                self.name
            );
            self.say(
                "parity-repeats",
                &next,
                &message,
                "flip the parity each time the index of the stage wraps around",
            );
        }
    }

    /// Whether one statement arrives more often than a phase takes.
    fn at_once(&mut self, arrivals: i128) {
        let more = |done: &&Done| arrivals >= 1 && done.arrivals() > arrivals;
        let Some(done) = self.done.iter().find(more).copied() else {
            return;
        };
        let message = format!(
            "{} arrives {} here at `{}`, which takes {} to complete a phase",
            self.who(&done),
            several(done.arrivals(), "time"),
            self.name,
            several(arrivals, "arrival"),
        );
        self.say(
            "arrival-count",
            &done,
            &message,
            "initialise it with the number of arrivals that come in each phase",
        );
    }

    /// Whether each member's waits can pass one after the other.
    fn phases(&mut self, arrivals: i128, all: i128) {
        if arrivals < 1 {
            return;
        }
        let (mut member, mut phase, mut own) = (usize::MAX, 0, 0);
        let mut fault = None;
        for done in self.done {
            if done.member != member {
                (member, phase, own) = (done.member, 0, 0);
            }
            own += done.arrivals();
            let OpKind::WaitParity(parity) = done.op.kind else {
                continue;
            };
            // The least number of completed phases, not less than before, at which the bit differs from the parity.
            if phase % 2 == i128::from(parity) {
                phase += 1;
            }
            let theirs = self.total(|other| match other.member == member {
                true => 0,
                false => other.arrivals(),
            });
            if theirs + own < phase * arrivals {
                fault = Some((*done, phase));
                break;
            }
        }
        let Some((done, phase)) = fault else { return };
        let (name, who) = (self.name.clone(), self.who(&done));
        if all >= phase * arrivals {
            let message = format!(
                "{who} waits here for `{name}`, which cannot complete without an arrival that {who} makes only behind this wait"
            );
            self.say(
                "own-arrival",
                &done,
                &message,
                "arrive before the wait, or do not count this arrival",
            );
        } else if all == 0 {
            let message = format!("{who} waits here for `{name}`, and nobody arrives there");
            self.say(
                "nobody-arrives",
                &done,
                &message,
                "give both roles the same condition and the same number of rounds",
            );
        } else if all < arrivals {
            let message = format!(
                "`{name}` takes {} to complete a phase, but all members together make {all}",
                several(arrivals, "arrival")
            );
            self.say(
                "arrival-count",
                &done,
                &message,
                "initialise it with the number of arrivals that come in each phase",
            );
        } else {
            let complete = all / arrivals;
            let message = format!(
                "{who} waits here until `{name}` has completed {}, but all members together make {}, enough for {complete}",
                several(phase, "phase"),
                several(all, "arrival")
            );
            self.say(
                "trip-counts",
                &done,
                &message,
                "let both roles compute their trip counts from the same bounds, and start at the right parity",
            );
        }
    }

    fn bytes(&mut self) {
        let expected = self.total(|done| match done.op.kind {
            OpKind::ExpectTx(bytes) => i128::from(bytes),
            _ => 0,
        });
        let delivered = self.total(|done| match done.op.kind {
            OpKind::Copy(bytes) | OpKind::CompleteTx(bytes) => i128::from(bytes),
            _ => 0,
        });
        let about = |done: &&Done| {
            matches!(
                done.op.kind,
                OpKind::ExpectTx(_) | OpKind::Copy(_) | OpKind::CompleteTx(_)
            )
        };
        if let Some(done) = self.done.iter().find(about).copied()
            && expected != delivered
        {
            let message = format!(
                "`{}` expects {} in all, and {delivered} {} delivered",
                self.name,
                several(expected, "byte"),
                if delivered == 1 { "is" } else { "are" }
            );
            self.say(
                "bytes",
                &done,
                &message,
                "expect what the copies of the same phase deliver, out of bounds included",
            );
        }
    }
}
