//! `explore --property`: searches every schedule for a violation of a property other than deadlock.

use warplock::protocol::Property;
use warplock::report;
use warplock::report::input;
use warplock::report::stuck;
use warplock::report::style::Style;
use warplock::report::trace;
use warplock::semantics::explore::Options;
use warplock::semantics::explore::SearchEnd;
use warplock::semantics::hazards;
use warplock::semantics::hazards::Races;
use warplock::semantics::hazards::search;
use warplock::semantics::hazards::search::AllSearched;
use warplock::semantics::inputs::Bounds;
use warplock::semantics::unfold;
use warplock::semantics::unfold::Limits;
use warplock::verdict::ahead;
use warplock::verdict::ahead::SPARED;
use warplock::verdict::hazard;
use warplock::witness;

use crate::commands::concrete::Loaded;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt;

use super::Arguments;
use super::counted;
use super::doubt;
use super::of_kernel;

/// Searches, and returns the text of the report and the exit code. The last argument is the emphasis of results, and
/// whether only the first line is wanted.
pub fn explore(
    arguments: &Arguments,
    loaded: &Loaded,
    style: Style,
    progress: &dyn Fn(u64),
    (out_style, quiet): (Style, bool),
) -> Result<(String, Exit), Failure> {
    let property = arguments.property;
    if let Some(reason) = hazard::inapplicable(&loaded.protocol, property) {
        return Err(Failure::input(format!("{}: {reason}", loaded.name)));
    }
    let options = Options {
        symmetry: !arguments.no_symmetry,
        stop_at_stuck: true,
        max_states: arguments.max_states,
        max_bytes: usize::MAX,
        cancel: Some(&interrupt::CANCEL),
        deadline: None,
        progress: Some(progress),
        accepts: None,
    };
    let found = searched(arguments, loaded, &options, style)?;
    shown(loaded, property, &found, out_style, quiet)
}

fn searched(
    arguments: &Arguments,
    loaded: &Loaded,
    options: &Options<'_>,
    style: Style,
) -> Result<AllSearched, Failure> {
    let property = arguments.property;
    let cannot_run = |error| loaded.cannot_run(&error, style);
    if loaded.patterns.is_none() {
        let bounds = Bounds {
            max_initial: arguments.max_initial,
            ..Bounds::default()
        };
        let (protocol, params) = (&loaded.protocol, &loaded.params);
        return search::search_all(protocol, params, property, &bounds, options)
            .map_err(cannot_run);
    }
    let input = loaded.input()?;
    let instance = unfold::instantiate(&loaded.protocol, &input).map_err(cannot_run)?;
    let data = hazards::wanted_data(&loaded.protocol, property, &input, &Limits::default());
    let data = data.map_err(cannot_run)?;
    let found = search::search(&instance, data.as_ref(), property, options);
    Ok(AllSearched {
        end: found.end,
        inputs: 1,
        states: found.states,
        found: found.found.map(|runs| (input, runs)),
        hidden: match (property, &data) {
            (Property::Race, Some(data)) => Races::new(&instance, data).hidden().copied(),
            _ => None,
        },
        undefined: found.undefined.map(|v| (v.to_string(), None)),
        spans: instance.spans,
    })
}

fn shown(
    loaded: &Loaded,
    property: Property,
    found: &AllSearched,
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
        SearchEnd::FoundStuck => "searched up to the first violation",
        SearchEnd::StateLimit => "searched up to the limit on states",
        SearchEnd::Cancelled => "searched until it was cancelled",
    };
    let Some((input, runs)) = &found.found else {
        let (but, exit) = match (&found.undefined, found.hidden, found.end) {
            (Some((what, _)), _, _) => (
                format!(" before a run does something undefined ({what})"),
                Exit::Unknown,
            ),
            (None, Some(_), _) => (
                " among the accesses that are followed; those after the last operation of a CTA \
                 that another one may be waiting to replace are not"
                    .to_owned(),
                Exit::Unknown,
            ),
            (None, None, SearchEnd::Exhausted) => (String::new(), Exit::Success),
            (None, None, _) => (String::new(), Exit::Bounded),
        };
        let property = property.name();
        let mut text = format!("{name}: no violation of {property}{but}, {counted} {complete}\n");
        let Some(reason) = doubt(loaded) else {
            return Ok((text, exit));
        };
        text.push_str(&of_kernel(reason));
        return Ok((text, Exit::Unknown));
    };
    let internal =
        |error: witness::ReplayError| Failure::Internal(format!("failed to replay: {error}"));
    let witness = witness::record_hazard(&loaded.protocol, input, property, runs);
    let witness = witness.map_err(internal)?;
    let replayed = witness::replay(&loaded.protocol, &witness).map_err(internal)?;
    let told = stuck::shown(&loaded.protocol, &replayed);
    let at = match input::sentence(&loaded.protocol, input).as_str() {
        "" => String::new(),
        values => format!("at {values}: "),
    };
    let mut out = format!(
        "{name}: an input violates {}, {counted} {complete}\n  {at}{}\n",
        property.name(),
        told.sentence
    );
    let spared = ahead::may_be_spared(&loaded.protocol, property);
    if spared {
        out.push_str(&of_kernel(SPARED));
    }
    if !quiet {
        let source = &loaded.protocol.source;
        if let Some(line) = told.line {
            out.push_str(&report::text::snippet(&loaded.name, source, line, style));
        }
        let patterns = input::patterns(&loaded.protocol, input);
        let events = trace::trace(source, &replayed.instance, &replayed.schedule);
        out.push_str(&report::text::run(&patterns, &told, &events, style));
        if let Some(second) = &replayed.second {
            let events = trace::trace(source, &replayed.instance, second);
            out.push_str(&report::text::other_run(&events, style));
        }
    }
    let exit = match spared {
        true => Exit::Unknown,
        false => Exit::Refuted,
    };
    Ok((out, exit))
}
