//! Ctrl-C: the work is told to end, and the program ends within a second even if the work goes on.

use std::io;
use std::io::Write;
use std::panic;
use std::panic::AssertUnwindSafe;
use std::process;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::exit;
use crate::failure::Failure;

/// Becomes true at the first signal.
pub static CANCEL: AtomicBool = AtomicBool::new(false);

/// Whether the user has been told how far the work got.
static TOLD: AtomicBool = AtomicBool::new(false);

/// How often a waiting thread looks at [`CANCEL`].
pub const POLL: Duration = Duration::from_millis(20);

/// How long the waiting thread may take to print the results so far.
const GRACE: Duration = Duration::from_millis(700);

/// How long the last message may take, in case its reader does not read.
const LAST_LINE: Duration = Duration::from_millis(100);

/// The stack of a worker: solvers recurse deeply.
const STACK: usize = 64 << 20;

/// Installs the handler. The second signal ends the program at once.
pub fn install() -> Result<(), Failure> {
    let handler = || {
        if !CANCEL.swap(true, Ordering::SeqCst) {
            thread::spawn(|| {
                thread::sleep(GRACE);
                if !TOLD.load(Ordering::SeqCst) {
                    // From a separate thread, because the thread that is late may hold stderr.
                    thread::spawn(|| {
                        let late = b"interrupted; how far this got could not be said in time\n";
                        let _ = io::stderr().write_all(late);
                    });
                    thread::sleep(LAST_LINE);
                }
                process::exit(i32::from(exit::INTERRUPTED));
            });
            return;
        }
        process::exit(i32::from(exit::INTERRUPTED));
    };
    ctrlc::set_handler(handler)
        .map_err(|error| Failure::Internal(format!("cannot catch signals: {error}")))
}

/// Whether a signal has come.
pub fn requested() -> bool {
    CANCEL.load(Ordering::SeqCst)
}

/// To be called when the user has been told how far the work got.
pub fn told() {
    TOLD.store(true, Ordering::SeqCst);
}

/// Starts a worker that sends its results. A panic of the worker becomes a failure.
pub fn spawn<T: Send + 'static>(
    results: mpsc::Sender<T>,
    work: impl FnOnce(&mpsc::Sender<T>) + Send + 'static,
) -> Result<JoinHandle<()>, Failure> {
    thread::Builder::new()
        .stack_size(STACK)
        .spawn(move || work(&results))
        .map_err(|error| Failure::Internal(format!("cannot start a thread: {error}")))
}

/// Calls `work`, and turns a panic into a failure.
pub fn guarded<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let message = payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| payload.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        Err(Failure::Internal(format!("panic: {message}")))
    })
}

/// Does one piece of work in a separate thread, and waits for its end or for a signal.
pub fn run<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let mut done = None;
    each(
        move |results| {
            // After a signal, nobody reads the result any more.
            let _ = results.send(work()?);
            Ok(())
        },
        |result| done = Some(result),
    )?;
    done.ok_or_else(died)
}

/// Does one piece of work in a separate thread, handles each result as soon as it is there, and waits for the end or
/// for a signal.
pub fn each<T: Send + 'static>(
    work: impl FnOnce(&mpsc::Sender<T>) -> Result<(), Failure> + Send + 'static,
    mut take: impl FnMut(T),
) -> Result<(), Failure> {
    let (sender, receiver) = mpsc::channel();
    let (end, ended) = mpsc::channel();
    spawn(sender, move |results| {
        let _ = end.send(guarded(|| work(results)));
    })?;
    loop {
        let next = receiver.recv_timeout(POLL);
        if requested() {
            return Err(Failure::Interrupted("interrupted".to_owned()));
        }
        match next {
            Ok(result) => take(result),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return ended.try_recv().unwrap_or_else(|_| Err(died()));
            }
        }
    }
}

fn died() -> Failure {
    Failure::Internal("a worker died".to_owned())
}
