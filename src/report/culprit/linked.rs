//! Describes which member waits for which.

use super::super::words;
use super::Obstacle;
use super::Sentence;
use super::Vain;
use super::obstacle::LISTED as MOST;
use super::phrase::bytes_word;
use super::phrase::helps;
use super::sentence::LISTED;
use super::sentence::SentenceWriter;
use super::sentence::text;
use crate::semantics::instance::OpKind;

impl SentenceWriter<'_> {
    /// The members that wait hold every place.
    pub fn no_place(&self, links: &[(usize, Obstacle)], at: usize) -> Sentence {
        let waits = links.iter().find_map(|(member, obstacle)| match obstacle {
            Obstacle::Wait(op, _) => Some((*member, op)),
            Obstacle::Place(_) | Obstacle::Turn(_) => None,
        });
        let (last, obstacle) = &links[at];
        let (Some((member, op)), Obstacle::Place(held)) = (waits, obstacle) else {
            return self.unstarted(*last, obstacle);
        };
        let holds = match held.as_slice() {
            [one] => format!("{} holds the only resident slot", self.name(*one)),
            // A list of this length is not complete.
            many if many.len() >= MOST => "every resident slot is taken".to_owned(),
            many => format!("{} hold all {} places", self.names(many), many.len()),
        };
        text(format!(
            "{} waits for {}",
            self.name(member),
            words::awaited(self.instance(), op)
        ))
        .line(self.line(op))
        .text(format!(
            ", which needs {}; that cannot start, because {holds}",
            self.name(*last)
        ))
    }

    /// A member that does not start.
    pub fn unstarted(&self, member: usize, obstacle: &Obstacle) -> Sentence {
        let why = self.why(member, obstacle);
        text(format!("{} cannot start: ", self.name(member))).and(why)
    }

    /// The sentence about members that wait for each other in a cycle.
    pub fn circle(&self, links: &[(usize, Obstacle)]) -> Sentence {
        let fresh = links.iter().all(|(_, obstacle)| match obstacle {
            Obstacle::Wait(op, _) => {
                matches!(op.kind, OpKind::WaitParity(false))
                    && self.obstacles.history().completed(op.cell) == 0
            }
            Obstacle::Place(_) | Obstacle::Turn(_) => false,
        });
        let shown = links.len().min(LISTED + 1);
        let mut out = match links {
            [_] => text("a circular wait: "),
            [(a, _), (b, _)] => text(format!(
                "{} and {} wait for each other: ",
                self.name(*a),
                self.name(*b)
            )),
            _ => text("a circular wait: "),
        };
        for (at, (member, obstacle)) in links.iter().take(shown).enumerate() {
            if at > 0 {
                out = out.text(", ");
            }
            let next = links[(at + 1) % links.len()].0;
            out = out.and(self.link(*member, obstacle, Some(next)));
        }
        if links.len() > shown {
            out = out.text(format!(", and {} more", links.len() - shown));
        }
        match fresh {
            true => out.text(
                ": no barrier here has ever completed, so one of these first waits has to be for \
                 parity 1",
            ),
            false => out,
        }
    }

    /// A member, the place where it waits, and the member that it waits for.
    pub fn link(&self, member: usize, obstacle: &Obstacle, next: Option<usize>) -> Sentence {
        let name = self.name(member);
        match obstacle {
            Obstacle::Wait(op, vain) => {
                let cell = self.instance().cell_name(op.cell);
                let out = text(name).line(self.line(op));
                match (next, vain) {
                    (Some(next), Vain::Others(_)) => out.text(format!(
                        " for {} to {}",
                        self.name(next),
                        helps(op, self.cell(op), &cell, self.changes(op))
                    )),
                    _ => out.text(format!(" for {}", words::awaited(self.instance(), op))),
                }
            }
            Obstacle::Place(_) | Obstacle::Turn(_) => self.unstarted(member, obstacle),
        }
    }

    /// Why a member waits in vain, in few words.
    pub fn why(&self, member: usize, obstacle: &Obstacle) -> Sentence {
        let words = match obstacle {
            Obstacle::Wait(op, Vain::Others(others)) => {
                let cell = self.instance().cell_name(op.cell);
                let does = helps(op, self.cell(op), &cell, self.changes(op));
                let first = self.name(others[0]);
                format!("{first}, which would {does}, is stuck itself")
            }
            Obstacle::Wait(op, Vain::Short) => {
                let absent = self.absent(member, op);
                match absent.is_empty() {
                    true => "nobody else comes".to_owned(),
                    false => return self.away(op, &absent),
                }
            }
            Obstacle::Wait(_, Vain::Passed(_)) => "it is past that and never goes down".to_owned(),
            Obstacle::Wait(_, Vain::Lapped(_)) => "that phase is over".to_owned(),
            Obstacle::Wait(_, Vain::Bytes(missing)) => {
                format!("nobody delivers the missing {}", bytes_word(*missing))
            }
            Obstacle::Wait(_, Vain::Surplus(more)) => {
                format!("{} too many were delivered", bytes_word(*more))
            }
            Obstacle::Place(held) => match held.as_slice() {
                [] => "there is no resident slot for it".to_owned(),
                [one] => format!("{} holds the only resident slot", self.name(*one)),
                many if many.len() >= MOST => "every resident slot is taken".to_owned(),
                many => format!("{} hold all resident slots", self.names(many)),
            },
            Obstacle::Turn(next) => format!("{} starts first", self.name(*next)),
        };
        text(words)
    }
}
