//! `warplock simulate`: runs a protocol once at concrete values.

use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;

use clap::Args;
use serde::Deserialize;
use warplock::hunt::Watch;
use warplock::hunt::schedules;
use warplock::report;
use warplock::report::culprit::Scene;
use warplock::report::input;
use warplock::report::stuck;
use warplock::report::style::Style;
use warplock::report::trace;
use warplock::semantics::input::Input;
use warplock::semantics::instance::Instance;
use warplock::semantics::simulate;
use warplock::semantics::simulate::RandomScheduler;
use warplock::semantics::simulate::Run;
use warplock::semantics::simulate::RunEnd;
use warplock::semantics::simulate::Scheduler;
use warplock::semantics::simulate::Script;
use warplock::semantics::step::Action;
use warplock::semantics::unfold;
use warplock::witness::ScheduleEntry;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt;
use crate::session::Session;
use crate::sources;

use super::concrete::Concrete;
use super::concrete::Loaded;
use super::interactive;

/// The largest schedule that is read, in bytes.
const LARGEST: usize = 256 << 20;

/// How long the run of `--hold` is searched for.
const HELD_TIME: Duration = Duration::from_secs(60);

/// Options of `simulate`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// What to run.
    #[command(flatten)]
    pub concrete: Concrete,
    /// Pick what happens next at random; the same number gives the same run
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        conflicts_with = "schedule"
    )]
    pub seed: u64,
    /// What happens next, as JSON [{"launch": 0, "member": "cta[0]"}, {"step": 0, ...}, ...]; a
    /// witness will do
    #[arg(long, value_name = "FILE")]
    pub schedule: Option<PathBuf>,
    /// Hold a member before its operation K, counted from 0, until nobody else can go on, then let
    /// it go: 'consumer[1]@3'
    #[arg(long, value_name = "MEMBER@K", conflicts_with_all = ["schedule", "seed"])]
    pub hold: Option<String>,
    /// Ask what happens next, one line of standard input per step: the number of an action, nothing
    /// for the first, b for who is blocked, q to end
    #[arg(short, long, conflicts_with_all = ["schedule", "seed", "hold"])]
    pub interactive: bool,
    /// The most steps
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub steps: usize,
}

/// Runs `simulate`.
pub fn run(arguments: Arguments, session: &Session) -> Result<Exit, Failure> {
    if arguments.interactive {
        return asked(arguments, session);
    }
    let style = session.terminal.err_style();
    let out_style = session.terminal.out_style();
    let quiet = session.quiet;
    let (text, exit) = interrupt::run(move || {
        let (loaded, input, instance) = load(&arguments.concrete, style)?;
        let mut scheduler: Box<dyn Scheduler> = match (&arguments.schedule, &arguments.hold) {
            (Some(path), _) => Box::new(Script::new(schedule(path, &instance)?)),
            (None, Some(hold)) => Box::new(Script::new(held(hold, &instance)?)),
            (None, None) => Box::new(RandomScheduler::new(arguments.seed)),
        };
        let run = simulate::simulate(&instance, scheduler.as_mut(), arguments.steps);
        let text = shown(&loaded, &input, &instance, &run, quiet, out_style);
        Ok((text, ended(&run.end)))
    })?;
    session.terminal.out(&text);
    Ok(exit)
}

/// Runs as the user chooses on standard input. This thread reads the input; a signal ends the program all the same.
fn asked(arguments: Arguments, session: &Session) -> Result<Exit, Failure> {
    if arguments.concrete.file.as_os_str() == "-" {
        let message = "--interactive reads what happens next from standard input";
        return Err(Failure::input(message.to_owned()).hint("name a protocol file"));
    }
    let style = session.terminal.err_style();
    let steps = arguments.steps;
    let (loaded, input, instance) = interrupt::run(move || load(&arguments.concrete, style))?;
    let run = interactive::run(&loaded.protocol, &instance, steps, session);
    let out_style = session.terminal.out_style();
    let text = shown(&loaded, &input, &instance, &run, session.quiet, out_style);
    session.terminal.out(&text);
    Ok(ended(&run.end))
}

/// The run of `--hold MEMBER@K`.
fn held(hold: &str, instance: &Instance) -> Result<Vec<Action>, Failure> {
    let (name, before) = hold
        .rsplit_once('@')
        .and_then(|(name, before)| Some((name, before.parse::<u32>().ok()?)))
        .ok_or_else(|| {
            Failure::input(format!("--hold: `{hold}` names no operation of a member"))
                .hint("expected something like consumer[1]@3")
        })?;
    let mut members = 0..instance.members.len();
    let Some(member) = members.find(|member| instance.member_name(*member) == name) else {
        return Err(Failure::input(format!(
            "--hold: no member `{name}` at these values"
        )));
    };
    let operations = instance.members[member].ops.len();
    if before as usize >= operations {
        let message = format!("--hold: {name} has {operations} operations");
        return Err(Failure::input(message).hint("they are counted from 0"));
    }
    let watch = Watch {
        deadline: Instant::now() + HELD_TIME,
        cancel: &interrupt::CANCEL,
    };
    Ok(schedules::held(instance, member, before, &watch))
}

fn load(concrete: &Concrete, style: Style) -> Result<(Loaded, Input, Instance), Failure> {
    let loaded = concrete.load(style)?;
    let input = loaded.input()?;
    let instance = unfold::instantiate(&loaded.protocol, &input)
        .map_err(|error| loaded.cannot_run(&error, style))?;
    Ok((loaded, input, instance))
}

fn shown(
    loaded: &Loaded,
    input: &Input,
    instance: &Instance,
    run: &Run,
    quiet: bool,
    style: Style,
) -> String {
    let at = match input::sentence(&loaded.protocol, input).as_str() {
        "" => String::new(),
        values => format!(" at {values}"),
    };
    let name = style.bold(&loaded.name);
    let mut text = format!("{name}{at}: {}\n", how(loaded, input, instance, run));
    if !quiet {
        let events = trace::trace(&loaded.protocol.source, instance, &run.trace);
        let stuck = stuck::explain(scene(loaded, input, instance, run));
        if let Some(line) = stuck.line {
            let source = &loaded.protocol.source;
            let quoted = report::text::snippet(&loaded.name, source, line, style);
            text.push_str(&quoted);
        }
        let patterns = input::patterns(&loaded.protocol, input);
        text.push_str(&report::text::run(&patterns, &stuck, &events, style));
    }
    text
}

fn scene<'a>(
    loaded: &'a Loaded,
    input: &'a Input,
    instance: &'a Instance,
    run: &'a Run,
) -> Scene<'a> {
    Scene {
        protocol: &loaded.protocol,
        instance,
        input: Some(input),
        schedule: &run.trace,
        state: &run.state,
    }
}

fn ended(end: &RunEnd) -> Exit {
    match end {
        RunEnd::Finished => Exit::Success,
        RunEnd::Stuck | RunEnd::Violation(_) => Exit::Refuted,
        RunEnd::StepLimit | RunEnd::ScheduleEnded => Exit::Bounded,
        RunEnd::NotEnabled(_) => Exit::Input,
    }
}

/// Says how a run ended.
fn how(loaded: &Loaded, input: &Input, instance: &Instance, run: &Run) -> String {
    let steps = run.trace.len();
    let noun = if steps == 1 { "step" } else { "steps" };
    match &run.end {
        RunEnd::Finished => format!("finishes after {steps} {noun}"),
        RunEnd::Stuck => {
            let stuck = stuck::explain(scene(loaded, input, instance, run));
            format!("hangs after {steps} {noun}: {}", stuck.sentence)
        }
        RunEnd::StepLimit => format!("stopped after {steps} {noun}, the most allowed"),
        RunEnd::ScheduleEnded => format!("the schedule ends after {steps} {noun}"),
        RunEnd::NotEnabled(action) => format!(
            "the schedule's action {} cannot happen: {} {}",
            steps + 1,
            instance.member_name(action.member()),
            match action {
                Action::Launch(_) => "cannot start",
                Action::Step(_) => "cannot go on",
                Action::Land(..) => "has nothing there in flight that can land",
            }
        ),
        RunEnd::Violation(violation) => format!(
            "{} does something undefined after {steps} {noun}: {violation}",
            instance.member_name(violation.member)
        ),
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ScheduleFile {
    Witness { schedule: Vec<ScheduleEntry> },
    Plain(Vec<ScheduleEntry>),
}

fn schedule(path: &Path, instance: &Instance) -> Result<Vec<Action>, Failure> {
    let bytes = sources::read_up_to(path, LARGEST)?;
    let file: ScheduleFile = serde_json::from_slice(&bytes).map_err(|_| {
        Failure::file("use", path, "it holds no schedule").hint(
            "expected JSON such as [{\"launch\": 0, \"member\": \"cta[0]\"}, {\"step\": 0, \
             \"member\": \"cta[0]\"}], or a witness",
        )
    })?;
    let (ScheduleFile::Witness { schedule: entries } | ScheduleFile::Plain(entries)) = file;
    let mut actions = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        let (action, name) = match entry {
            ScheduleEntry::Launch { launch, member } => (Action::Launch(*launch), member),
            ScheduleEntry::Step { step, member } => (Action::Step(*step), member),
            ScheduleEntry::Land {
                land,
                position,
                member,
            } => (Action::Land(*land, *position), member),
        };
        if instance.member_name(action.member()) != *name {
            let wrong = format!(
                "action {}: member {} is not {name}",
                place + 1,
                action.member()
            );
            return Err(Failure::file("use", path, wrong));
        }
        actions.push(action);
    }
    Ok(actions)
}
