//! What protocols do, by exhaustive search with the reference semantics.

use warplock::protocol::Protocol;
use warplock::semantics::explore;
use warplock::semantics::explore::Options;
use warplock::semantics::explore::SearchEnd;
use warplock::semantics::input::Input;
use warplock::semantics::inputs::Bounds;
use warplock::semantics::unfold;
use warplock::semantics::unfold::Limits;
use warplock::text;

/// What exhaustive search finds at given parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Some input has a stuck state.
    Stuck(Input),
    /// Every input was searched completely and none has one.
    Clear,
    /// An input cannot run.
    Fault(String),
    /// Not searched to the end.
    TooLarge,
}

/// The protocol of a text that is known to be one.
pub fn load(source: &str) -> Protocol {
    text::load(source.as_bytes())
        .unwrap_or_else(|found| panic!("{}", text::render(&found, "protocol", source, false)))
}

fn limits() -> Limits {
    Limits {
        ops: 4_000,
        members: 64,
        cells: 1_000,
        work: 2_000_000,
    }
}

/// Searches every schedule of every input at these parameters, initial values up to 2.
pub fn at(protocol: &Protocol, params: &[i64], max_states: u64) -> Outcome {
    let bounds = Bounds {
        max_initial: 2,
        limits: limits(),
    };
    let options = Options {
        max_states,
        ..Options::default()
    };
    match explore::explore_all(protocol, params, &bounds, &options) {
        Ok(found) => match found.stuck {
            Some((input, _)) => Outcome::Stuck(input),
            None if found.end == SearchEnd::Exhausted => Outcome::Clear,
            None => Outcome::TooLarge,
        },
        Err(error) => match error.to_string() {
            message if message.contains("are needed") || message.contains("work") => {
                Outcome::TooLarge
            }
            message => Outcome::Fault(message),
        },
    }
}

/// Whether this very input has a stuck state; `None` where the search is too large.
pub fn hangs(protocol: &Protocol, input: &Input, max_states: u64) -> Result<Option<bool>, String> {
    let (instance, _) =
        unfold::instantiate_with(protocol, input, &limits()).map_err(|e| e.to_string())?;
    let options = Options {
        max_states,
        ..Options::default()
    };
    let found = explore::explore(&instance, &options);
    Ok(match found.end {
        SearchEnd::FoundStuck => Some(true),
        SearchEnd::Exhausted => Some(found.stuck.is_some()),
        SearchEnd::StateLimit | SearchEnd::Cancelled => None,
    })
}
