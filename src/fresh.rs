//! A Z3 context of its own for every question.
//!
//! A context that has answered before gives answers that depend on what it was asked, so none is
//! used twice. Every thread has one of its own, made when it is first needed, so a new thread is
//! the cheapest way to a new context: asking for another one makes both, and each begins by
//! filling tables of 17 MB.

use std::panic;
use std::thread;

use crate::deadline;

/// The stack: solvers recurse deeply.
const STACK: usize = 64 << 20;

/// Does something in a context in which nothing has been done yet.
pub(crate) fn context<T: Send + Sync>(work: impl Fn() -> T + Send + Sync) -> T {
    let end = deadline::end();
    let limited = || deadline::within(end, &work);
    let answer = thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK);
        let thread = thread.spawn_scoped(scope, limited).ok()?;
        match thread.join() {
            Ok(answer) => Some(answer),
            Err(payload) => panic::resume_unwind(payload),
        }
    });
    // Where no thread can be started there is room for another context perhaps.
    answer.unwrap_or_else(|| {
        let config = z3::Config::new();
        z3::with_z3_config(&config, work)
    })
}
