//! For reports: the two operations between which the knowledge of a write was lost, although they order it.

use super::Knowledge;
use super::views::ReleasedViews;
use super::views::View;

/// Two operations that order a write, the first of which comes after it for all to see, and
/// do not show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// The write, among those that are followed.
    pub(super) write: usize,
    /// Who releases, and which of its operations, from 0.
    pub from: (usize, u32),
    /// Who acquires, likewise.
    pub to: (usize, u32),
}

impl Knowledge {
    /// Notes the view that an operation releases to an object, if that is wanted.
    pub(super) fn note_sender(&mut self, cell: usize, from: (usize, u32), view: &View) {
        if self.lost.is_some() {
            self.cells[cell].senders.push((from, view.clone()));
        }
    }

    /// Notes the writes that are now ordered before an operation and that it does not see, although the releasing
    /// member did.
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

    /// Where a write was lost on the way to the view of a member: at an operation of this member, or else of another
    /// one.
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
