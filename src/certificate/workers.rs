//! Processes items on several threads. Each thread takes the next item that is left.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::deadline;

/// Processes the items `0..count` on as many threads as there are cores. Each thread takes the next item that is
/// left, and stops when one of its items says so.
///
/// The other threads start after the time `alone`, or when the first one has stopped. If all items are done sooner,
/// no other thread is started, because getting its memory would take longer than it would save.
pub fn each(count: usize, alone: Duration, work: impl Fn(usize) -> ControlFlow<()> + Sync) {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let take = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count || work(at).is_break() {
                return;
            }
        }
    };
    let end = deadline::end();
    std::thread::scope(|scope| {
        let later = || {
            std::thread::park_timeout(alone);
            deadline::within(end, take);
        };
        let helpers: Vec<_> = (1..workers.min(count))
            .map(|_| scope.spawn(later))
            .collect();
        take();
        helpers.iter().for_each(|helper| helper.thread().unpark());
    });
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn every_item_is_done_once() {
        let done = Mutex::new(Vec::new());
        each(100, Duration::ZERO, |at| {
            done.lock().expect("no panic").push(at);
            ControlFlow::Continue(())
        });
        let mut done = done.into_inner().expect("no panic");
        done.sort_unstable();
        assert_eq!(done, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn who_is_told_to_stop_takes_no_other_item() {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let done = Mutex::new(0);
        each(1000, Duration::ZERO, |_| {
            *done.lock().expect("no panic") += 1;
            ControlFlow::Break(())
        });
        assert!((1..=workers).contains(&done.into_inner().expect("no panic")));
    }
}
