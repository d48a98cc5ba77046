//! `warplock explore`: searches every schedule at concrete values.

use std::time::Duration;

use clap::Args;
use warplock::protocol::Property;
use warplock::report;
use warplock::report::culprit::Scene;
use warplock::report::input;
use warplock::report::stuck;
use warplock::report::style::Style;
use warplock::report::trace;
use warplock::semantics::explore;
use warplock::semantics::explore::AllExplored;
use warplock::semantics::explore::Options;
use warplock::semantics::explore::SearchEnd;
use warplock::semantics::input::Input;
use warplock::semantics::inputs::Bounds;
use warplock::semantics::step;
use warplock::semantics::step::Action;
use warplock::semantics::step::StepError;
use warplock::semantics::unfold;
use warplock::verdict::Shared;
use warplock::verdict::ahead;
use warplock::verdict::ahead::SPARED;
use warplock::verdict::deadlock::Settings;

mod hazards;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt;
use crate::session::Session;

use super::check;
use super::concrete::Concrete;
use super::concrete::Loaded;

/// Options of `explore`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// What to search; without --pattern every pattern and row order.
    #[command(flatten)]
    pub concrete: Concrete,
    /// Count states that differ only by interchangeable members separately
    #[arg(long)]
    pub no_symmetry: bool,
    /// Go on after the first hang, to count all states
    #[arg(long)]
    pub all: bool,
    /// The most states
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    pub max_states: u64,
    /// What to look for
    #[arg(long, value_name = "P", default_value = "deadlock", value_parser = check::property())]
    pub property: Property,
    /// The largest start value of memory that was not cleared
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(i64).range(0..))]
    pub max_initial: i64,
}

/// Runs `explore`.
pub fn run(arguments: Arguments, session: &Session) -> Result<Exit, Failure> {
    let style = session.terminal.err_style();
    let out_style = session.terminal.out_style();
    let quiet = session.quiet;
    let name = arguments.concrete.file.display().to_string();
    session.answer(&name, move |progress| {
        let loaded = arguments.concrete.load(style)?;
        progress.tell(0, "searching");
        if arguments.property != Property::Deadlock {
            let tell = |states| progress.tell(0, &format!("{states} states"));
            let shown = hazards::explore(&arguments, &loaded, style, &tell, (out_style, quiet));
            progress.end(0);
            return shown;
        }
        let found = search(&arguments, &loaded, style, &|states| {
            progress.tell(0, &format!("{states} states"));
        })?;
        progress.end(0);
        shown(&loaded, &found, out_style, quiet)
    })
}

fn search(
    arguments: &Arguments,
    loaded: &Loaded,
    style: Style,
    progress: &dyn Fn(u64),
) -> Result<AllExplored, Failure> {
    let options = Options {
        symmetry: !arguments.no_symmetry,
        stop_at_stuck: !arguments.all,
        max_states: arguments.max_states,
        max_bytes: usize::MAX,
        cancel: Some(&interrupt::CANCEL),
        deadline: None,
        progress: Some(progress),
        accepts: None,
    };
    let cannot_run = |error| loaded.cannot_run(&error, style);
    if loaded.patterns.is_none() {
        let bounds = Bounds {
            max_initial: arguments.max_initial,
            ..Bounds::default()
        };
        return explore::explore_all(&loaded.protocol, &loaded.params, &bounds, &options)
            .map_err(cannot_run);
    }
    let input = loaded.input()?;
    let instance = unfold::instantiate(&loaded.protocol, &input).map_err(cannot_run)?;
    let found = explore::explore(&instance, &options);
    Ok(AllExplored {
        end: found.end,
        inputs: 1,
        states: found.states,
        stuck_inputs: u64::from(found.stuck.is_some()),
        stuck: found.stuck.map(|trace| (input.clone(), trace)),
        violation: found.violation.map(|(trace, what)| (input, trace, what)),
    })
}

fn shown(
    loaded: &Loaded,
    found: &AllExplored,
    style: Style,
    quiet: bool,
) -> Result<(String, Exit), Failure> {
    let name = style.bold(&loaded.name);
    let counted = format!(
        "{} and {}",
        counted(found.inputs, "input"),
        counted(found.states, "state")
    );
    let complete = match found.end {
        SearchEnd::Exhausted => "searched completely",
        SearchEnd::FoundStuck => "searched up to the first hang",
        SearchEnd::StateLimit => "searched up to the limit on states",
        SearchEnd::Cancelled => "searched until it was cancelled",
    };
    let mut out = String::new();
    let exit = if let Some((input, trace)) = &found.stuck {
        let hangs = hang(loaded, input, trace)?;
        let inputs = match found.stuck_inputs {
            1 => "an input hangs".to_owned(),
            n => format!("{n} inputs hang"),
        };
        out.push_str(&format!("{name}: {inputs}, {counted} {complete}\n"));
        out.push_str(&format!("  {}\n", hangs.sentence));
        let may_hang = ahead::hangs(&loaded.protocol, input, trace);
        if !may_hang {
            out.push_str(&of_kernel(SPARED));
        }
        if !quiet {
            if let Some(line) = hangs.stuck.line {
                let source = &loaded.protocol.source;
                out.push_str(&report::text::snippet(&loaded.name, source, line, style));
            }
            let patterns = input::patterns(&loaded.protocol, input);
            let run = report::text::run(&patterns, &hangs.stuck, &hangs.events, style);
            out.push_str(&run);
        }
        match may_hang {
            true => Exit::Refuted,
            false => Exit::Unknown,
        }
    } else if let Some((input, trace, violation)) = &found.violation {
        let at = input::sentence(&loaded.protocol, input);
        out.push_str(&format!(
            "{name}: a run does something undefined at {at}: {violation}, {counted} {complete}\n"
        ));
        let instance = unfold::instantiate(&loaded.protocol, input)
            .map_err(|error| Failure::Internal(error.to_string()))?;
        if !quiet {
            let mut state = step::initial(&instance);
            // Replays the run up to the last action, which is the undefined one.
            for action in trace {
                if step::apply(&instance, &mut state, *action).is_err() {
                    break;
                }
            }
            let events = trace::trace(&loaded.protocol.source, &instance, trace);
            let stuck = stuck::explain(Scene {
                protocol: &loaded.protocol,
                instance: &instance,
                input: Some(input),
                schedule: trace,
                state: &state,
            });
            let patterns = input::patterns(&loaded.protocol, input);
            out.push_str(&report::text::run(&patterns, &stuck, &events, style));
        }
        Exit::Refuted
    } else {
        let doubt = doubt(loaded);
        let of = if doubt.is_some() {
            " in the protocol"
        } else {
            ""
        };
        out.push_str(&format!(
            "{name}: nothing hangs{of}, {counted} {complete}\n"
        ));
        if let Some(reason) = doubt {
            out.push_str(&of_kernel(reason));
        }
        match found.end {
            _ if doubt.is_some() => Exit::Unknown,
            SearchEnd::Exhausted => Exit::Success,
            SearchEnd::FoundStuck | SearchEnd::StateLimit | SearchEnd::Cancelled => Exit::Bounded,
        }
    };
    Ok((out, exit))
}

/// How long the proof may take that runs of a protocol are those of its kernel.
const PROOF: Duration = Duration::from_secs(60);

/// Why the kernel of a protocol may have other runs than those that were searched, if it may.
fn doubt(loaded: &Loaded) -> Option<&'static str> {
    let settings = Settings {
        timeout: PROOF,
        objectives: None,
        cancel: &interrupt::CANCEL,
        tell: &|_| {},
        kernel: false,
    };
    let (narrowing, narrowed) = &loaded.narrowed;
    ahead::open(narrowed, narrowing, &settings, &Shared::default())
}

fn of_kernel(reason: &str) -> String {
    format!("  of its kernel this says nothing: {reason}\n")
}

/// A hang, run again and explained.
struct Hang {
    sentence: String,
    events: Vec<trace::Event>,
    stuck: stuck::Stuck,
}

fn hang(loaded: &Loaded, input: &Input, schedule: &[Action]) -> Result<Hang, Failure> {
    let instance = unfold::instantiate(&loaded.protocol, input)
        .map_err(|error| Failure::Internal(error.to_string()))?;
    let mut state = step::initial(&instance);
    for action in schedule {
        step::apply(&instance, &mut state, *action)
            .map_err(|error: StepError| Failure::Internal(format!("failed to replay: {error}")))?;
    }
    let stuck = stuck::explain(Scene {
        protocol: &loaded.protocol,
        instance: &instance,
        input: Some(input),
        schedule,
        state: &state,
    });
    let at = match input::sentence(&loaded.protocol, input).as_str() {
        "" => String::new(),
        values => format!("at {values}: "),
    };
    Ok(Hang {
        sentence: format!("{at}{}", stuck.sentence),
        events: trace::trace(&loaded.protocol.source, &instance, schedule),
        stuck,
    })
}

pub(super) fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}
