//! A new Z3 context for every question.
//!
//! The answers of a Z3 context depend on the questions before, so no context is used twice. Z3 makes a default
//! context for each thread when the thread first needs one. So the cheapest way to a new context is a new thread. In
//! a thread that has used Z3 or will use it, a further context comes in addition to the default one, and making
//! either begins with filling tables of 17 MB.

use std::panic;
use std::thread;

use crate::deadline;

/// The size of the stack, because solvers recurse deeply.
const STACK: usize = 64 << 20;

/// Does work in a new context.
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
    // If no thread can be started, there may still be memory for another context in this thread.
    answer.unwrap_or_else(|| {
        let config = z3::Config::new();
        z3::with_z3_config(&config, work)
    })
}
