//! For reports on stale reads: finds the release and the acquire that order a write and do not make it visible.
//!
//! For example, the scope of a release may be too narrow for the acquiring member. Then the knowledge of the write is
//! lost between these two operations.

use super::Knowledge;
use super::views::ReleasedViews;
use super::views::View;

/// A release and an acquire at which the knowledge of a write was lost. The releasing member sees the write, and the
/// pair orders the write before the acquire. However, the acquiring member does not see the write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// The number of the write in the plan.
    pub(super) write: usize,
    /// The releasing member and which of its operations, from 0.
    pub from: (usize, u32),
    /// The acquiring member, and which of its operations.
    pub to: (usize, u32),
}

impl Knowledge {
    /// Records the view that an operation releases to an object, if lost writes are looked for.
    pub(super) fn note_sender(&mut self, cell: usize, from: (usize, u32), view: &View) {
        if self.lost.is_some() {
            self.cells[cell].senders.push((from, view.clone()));
        }
    }

    /// Records the writes that are now ordered before an operation and not seen by it, although the releasing member
    /// saw them.
    pub(super) fn note_lost(
        &mut self,
        to: (usize, u32),
        released: &ReleasedViews,
        news: Vec<usize>,
    ) {
        let Some(lost) = &mut self.lost else {
            return;
        };
        let view = &self.members[to.0].view;
        for write in news.into_iter().filter(|write| !view.visible.has(*write)) {
            let mut senders = released.senders.iter().rev();
            let from = senders.find(|(_, sent)| sent.visible.has(write));
            lost.extend(from.map(|(from, _)| Lost {
                write,
                from: *from,
                to,
            }));
        }
    }

    /// Where a write was lost on the way to the view of a member: at an operation of this member, or else at an
    /// operation of another member.
    pub(super) fn lost_on_the_way(&self, write: usize, member: usize) -> Option<Lost> {
        let mut of_it = self
            .lost
            .iter()
            .flatten()
            .filter(|lost| lost.write == write);
        let own = of_it.clone().find(|lost| lost.to.0 == member);
        own.or_else(|| of_it.next_back()).copied()
    }
}
