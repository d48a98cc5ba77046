//! The time limit of a piece of work. Code deep in a computation can ask for it without passing it along.
//!
//! A time limit is set once, around a piece of work, and holds for everything that is done there. Code that may take
//! long checks now and then whether the time is over. Limits nest; the nearest one counts. Code that starts a helper
//! thread passes the limit on.
//!
//! No claim follows from a limit that is over: a proof that is not checked in time is no proof, and a search that ends
//! early was not complete.

use std::cell::Cell;
use std::time::Duration;
use std::time::Instant;

/// The length of a limit that is never reached. It replaces durations too long for the clock.
const AGES: Duration = Duration::from_secs(60 * 60 * 24 * 365);

thread_local! {
    static END: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Restores the outer limit when it is dropped, also if the work panics.
struct Restored(Option<Instant>);

impl Drop for Restored {
    fn drop(&mut self) {
        END.set(self.0);
    }
}

/// Does work that may take until `end`, or until the outer limit if that is earlier.
pub fn until<T>(end: Instant, work: impl FnOnce() -> T) -> T {
    within(Some(end), work)
}

/// Does work with the limit of another thread, if that thread has one.
pub fn within<T>(end: Option<Instant>, work: impl FnOnce() -> T) -> T {
    let around = END.get();
    let _restored = Restored(around);
    END.set(around.into_iter().chain(end).min());
    work()
}

/// The present limit, if there is one.
pub fn end() -> Option<Instant> {
    END.get()
}

/// Whether the time is over.
pub fn over() -> bool {
    END.get().is_some_and(|end| Instant::now() >= end)
}

/// The time after this duration, or the present limit if that is earlier.
pub fn after(limit: Duration) -> Instant {
    let now = Instant::now();
    let last = now.checked_add(limit).or_else(|| now.checked_add(AGES));
    let last = last.unwrap_or(now);
    END.get().map_or(last, |end| end.min(last))
}

/// The middle of the time that is left. The first of two attempts may take until then.
pub fn middle() -> Instant {
    let left = END
        .get()
        .map_or(AGES, |end| end.saturating_duration_since(Instant::now()));
    after(left / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_limit_counts() {
        let soon = Instant::now();
        let later = soon + Duration::from_secs(60);
        assert!(!over());
        until(later, || {
            assert!(!over());
            assert_eq!(after(Duration::MAX), later);
            until(soon, || {
                assert!(over());
                until(later, || assert_eq!(end(), Some(soon)));
                // Another thread has no limit of its own.
                std::thread::scope(|scope| {
                    let given = end();
                    scope.spawn(move || {
                        assert!(!over());
                        within(given, || assert!(over()));
                    });
                });
            });
            assert!(!over());
        });
        assert_eq!(end(), None);
    }

    /// A duration that is too long for the clock must not make the work stop.
    #[test]
    fn a_limit_without_end_is_far_away() {
        assert!(after(Duration::MAX) > Instant::now() + Duration::from_secs(60));
    }
}
