//! Interactive simulation: the user chooses each step of a run.

use std::io;
use std::io::BufRead;
use std::io::IsTerminal;

use warplock::protocol::Protocol;
use warplock::report::culprit::Scene;
use warplock::report::stuck;
use warplock::report::trace;
use warplock::semantics::instance::Instance;
use warplock::semantics::simulate::Run;
use warplock::semantics::simulate::RunEnd;
use warplock::semantics::step;
use warplock::semantics::step::Action;
use warplock::semantics::step::State;
use warplock::semantics::step::StepError;

use crate::session::Session;

/// How many actions are listed at a step.
const LISTED: usize = 30;

/// The user's answer to a menu.
enum Answer {
    Action(usize),
    Blocked,
    Quit,
    Unclear,
}

/// Runs for at most `steps` actions, or until standard input ends.
pub fn run(protocol: &Protocol, instance: &Instance, steps: usize, session: &Session) -> Run {
    let source = &protocol.source;
    let mut state = step::initial(instance);
    let mut done = Vec::new();
    let end = loop {
        let enabled = step::enabled(instance, &state);
        if enabled.is_empty() {
            break if step::is_finished(instance, &state) {
                RunEnd::Finished
            } else {
                RunEnd::Stuck
            };
        }
        if done.len() >= steps {
            break RunEnd::StepLimit;
        }
        say(session, &menu(source, instance, &state, &enabled));
        let action = loop {
            match ask(session) {
                Answer::Quit => break None,
                Answer::Action(place) if place < enabled.len() => break Some(enabled[place]),
                Answer::Blocked => say(session, &blocked(protocol, instance, &state)),
                Answer::Action(_) | Answer::Unclear => say(
                    session,
                    &format!(
                        "a number from 0 to {}, nothing for 0, b for who is blocked, or q to end\n",
                        enabled.len() - 1
                    ),
                ),
            }
        };
        let Some(action) = action else {
            break RunEnd::ScheduleEnded;
        };
        let (event, _) = trace::event(source, instance, &mut state.clone(), action);
        match step::apply(instance, &mut state, action) {
            Ok(()) => done.push(action),
            Err(StepError::NotEnabled(action)) => break RunEnd::NotEnabled(action),
            Err(StepError::Violation(violation)) => break RunEnd::Violation(violation),
        }
        let line = format!("{}: {} {}\n", done.len(), event.member, event.what);
        say(session, &line);
    };
    Run {
        trace: done,
        state,
        end,
    }
}

fn say(session: &Session, text: &str) {
    if !session.quiet {
        session.terminal.out(text);
    }
}

/// The numbered list of the actions that are possible now.
fn menu(source: &str, instance: &Instance, state: &State, enabled: &[Action]) -> String {
    let mut text = String::new();
    for (number, action) in enabled.iter().take(LISTED).enumerate() {
        let (event, _) = trace::event(source, instance, &mut state.clone(), *action);
        let line = event
            .line
            .map_or_else(String::new, |l| format!("  (line {l})"));
        text.push_str(&format!(
            "  {number}  {}  {}{line}\n",
            event.member, event.what
        ));
    }
    let more = enabled.len().saturating_sub(LISTED);
    if more > 0 {
        text.push_str(&format!("  ... and {more} more, by number\n"));
    }
    text
}

/// For each member that has started and cannot go on: where it is blocked, and on what.
fn blocked(protocol: &Protocol, instance: &Instance, state: &State) -> String {
    let stuck = stuck::explain(Scene {
        protocol,
        instance,
        input: None,
        schedule: &[],
        state,
    });
    if stuck.blocked.is_empty() {
        return "nobody is blocked\n".to_owned();
    }
    let lines = stuck.blocked.iter().map(|b| {
        let what = format!("{} {}, found {}", b.element, b.wants, b.value);
        format!("{} is blocked at line {}: {what}\n", b.member, b.line)
    });
    lines.collect()
}

fn ask(session: &Session) -> Answer {
    if io::stdin().is_terminal() {
        session.terminal.out("> ");
    }
    let mut line = String::new();
    // A line that is not valid text or cannot be read ends the run, as the end of the input does.
    match io::stdin().lock().read_line(&mut line) {
        Ok(0) | Err(_) => Answer::Quit,
        Ok(_) => match line.trim() {
            "" => Answer::Action(0),
            "b" => Answer::Blocked,
            "q" => Answer::Quit,
            number => number.parse().map_or(Answer::Unclear, Answer::Action),
        },
    }
}
