//! `warplock lsp`: a language server for protocol files, over standard input and output.
//!
//! An event loop handles two kinds of events in the order of their arrival: messages of the client, and results of checks.
//! Checks run in other threads. Only the loop writes to standard output.

mod capabilities;
mod document;
mod features;
mod findings;
mod positions;
mod server;
mod verdicts;
mod wire;

use std::sync::mpsc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use clap::Args;
use lsp_server::ErrorCode;
use lsp_server::Message;
use warplock::report::Finding;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt;
use crate::options;
use crate::session::Session;
use crate::solver;

use server::Server;

/// Options of `lsp`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// Time for each property that is checked, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = options::seconds)]
    pub timeout: Duration,
    /// What many editors say, and what is done anyway.
    #[arg(long, hide = true)]
    pub stdio: bool,
}

/// An event of the loop.
enum Event {
    /// A message of the client.
    Message(Message),
    /// Invalid input from the client, and what is wrong with it.
    Damaged(ErrorCode, String),
    /// The client has closed its output.
    Closed,
    /// The current stage of a check.
    Stage(u64, String),
    /// The result of a check.
    Decided(u64, Result<Vec<Finding>, Failure>),
}

/// Runs the server until the client ends it.
pub fn run(arguments: Arguments, session: &Session) -> Result<Exit, Failure> {
    solver::check()?;
    let (sender, events) = mpsc::channel();
    wire::listen(sender.clone())?;
    let mut server = Server::new(sender, arguments.timeout, session);
    loop {
        match events.recv_timeout(interrupt::POLL) {
            Ok(event) => {
                if let Some(exit) = server.take(event) {
                    server.leave();
                    return Ok(exit);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(Exit::Internal),
        }
        if interrupt::requested() {
            server.leave();
            return Err(Failure::Interrupted("interrupted".to_owned()));
        }
    }
}
