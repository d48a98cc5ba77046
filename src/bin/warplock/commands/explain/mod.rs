//! `warplock explain`: short texts about what verdicts mean, and about every word they use.

mod obligations;
mod words;

use clap::Args;
use clap::ValueEnum;
use warplock::protocol::Property;
use warplock::report::text::visible;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::Session;

/// Options of `explain`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// What to explain, a topic or any word that the program prints; a list if not given
    #[arg(value_name = "TOPIC")]
    pub topic: Vec<String>,
}

/// What can be explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Topic {
    /// What PROVED, REFUTED, BOUNDED and UNKNOWN mean
    Verdicts,
    /// What the exit codes mean
    ExitCodes,
    /// What can be decided about a protocol
    Properties,
    /// How a protocol whose CTAs take turns in one order is proved free of deadlock
    TicketRule,
    /// How a protocol whose elements have orders of their own is proved free of deadlock
    TurnRule,
    /// How threads that meet at barriers are proved free of deadlock
    CutRule,
    /// What `resident` and the parameter R mean
    Residency,
}

/// Runs `explain`.
pub fn run(arguments: Arguments, session: &Session) -> Result<Exit, Failure> {
    let asked = arguments.topic.join(" ");
    let text = match asked.as_str() {
        "" => topics(),
        asked => explained(asked)?,
    };
    session.terminal.out(&text);
    Ok(Exit::Success)
}

/// The text about a topic or a word.
fn explained(asked: &str) -> Result<String, Failure> {
    let name = words::normal(asked);
    if let Some(topic) = Topic::value_variants().iter().find(|topic| {
        let value = topic.to_possible_value();
        value.is_some_and(|value| value.get_name() == name)
    }) {
        return Ok(topic.text());
    }
    if let Some(text) = words::text(asked) {
        return Ok(text);
    }
    let topics = Topic::value_variants().iter();
    let topics = topics.filter_map(|topic| Some(topic.to_possible_value()?.get_name().to_owned()));
    let known = topics.chain(words::all().map(str::to_owned));
    let near = known.min_by_key(|word| strsim::damerau_levenshtein(&words::normal(word), &name));
    let near = near.filter(|word| strsim::damerau_levenshtein(word, &name) <= 3);
    let failure = Failure::input(format!("nothing is known about `{}`", visible(asked)));
    Err(failure.hint(match near {
        Some(word) => format!("there is `{word}`; `warplock explain` lists everything"),
        None => "`warplock explain` lists everything".to_owned(),
    }))
}

impl Topic {
    fn text(self) -> String {
        match self {
            Topic::Verdicts => VERDICTS.to_owned(),
            Topic::ExitCodes => exit_codes(),
            Topic::Properties => properties(),
            Topic::TicketRule => TICKET_RULE.to_owned(),
            Topic::TurnRule => TURN_RULE.to_owned(),
            Topic::CutRule => CUT_RULE.to_owned(),
            Topic::Residency => RESIDENCY.to_owned(),
        }
    }
}

fn topics() -> String {
    let mut out = String::from("warplock explain TOPIC, where TOPIC is one of\n\n");
    for topic in Topic::value_variants() {
        if let Some(value) = topic.to_possible_value() {
            let help = value.get_help().map(ToString::to_string);
            let help = help.unwrap_or_default();
            out.push_str(&format!("  {:13}  {help}\n", value.get_name()));
        }
    }
    let words: Vec<&str> = words::all().collect();
    out.push_str("\nor a word that it prints:\n");
    for row in words.chunks(6) {
        out.push_str(&format!("  {}\n", row.join(", ")));
    }
    out.push_str("\nor a word of the protocol language, such as wait or arrive_expect_tx\n");
    out.push_str("\nor the name of an obligation, such as 000_resident\n");
    out
}

fn properties() -> String {
    let mut out = String::new();
    for property in Property::ALL {
        out.push_str(&format!(
            "{:17} {}\n",
            property.name(),
            property.description()
        ));
    }
    out.push_str("\nEach is proved for every parameter value and schedule, or refuted by the smallest input that violates it.\n");
    out
}

fn exit_codes() -> String {
    let mut out = String::new();
    for exit in Exit::ALL {
        out.push_str(&format!("{:3}  {}\n", exit.code(), exit.meaning()));
    }
    let order = Exit::ALL.iter().rev().map(|exit| exit.code().to_string());
    let order = order.collect::<Vec<_>>().join(", ");
    out.push_str(&format!(
        "\nWhere several apply, the first of {order} counts.\n"
    ));
    out
}

const VERDICTS: &str = "\
PROVED   The property holds for every parameter value of the declared domain, every pattern, row
         order and schedule. The proof was written down as a certificate. A checker that does
         not trust the search derived its obligations from the protocol's text, and all hold.
REFUTED  There is a counterexample at concrete values. The reference interpreter has replayed it.
BOUNDED  There is no proof, but also no violation in the part of the domain that is named.
UNKNOWN  Nothing is known, for the reason given: a time limit, a construct that is not handled.

Every verdict lists the assumptions that it rests on.
";

const TICKET_RULE: &str = "\
A grid that takes turns through semaphores never hangs if its CTAs can be put in an order such
that
  - each waits on a semaphore only for the sum of what the CTAs before it add there, plus what it
    has added there itself by then;
  - a CTA that adds to a semaphore on which it or an earlier one waits has waited there before;
  - a CTA that waits for an exact value adds after that wait, if a later CTA adds at all;
  - CTAs start in this order, or all are resident at once.

Take a state in which nobody can go on, and the first CTA in the order that has not finished. It
has started, so it waits. All before it have finished, so what it waits for is there, unless a
later one has added too early; but that one had waited for this one first. So it can go on.

`warplock check --explain-proof` shows the order, and for each wait why its value is that sum.
docs/soundness.md has the complete argument.
";

const CUT_RULE: &str = "\
Give every wait by parity the number of the completion it is meant for, and read it as \"at least
so many completions\". Arrivals only add up, so no step of one thread can then undo what lets
another go on. A protocol of threads, barriers and counters never hangs if
  - no choice of one place per role leaves everybody blocked or finished and somebody blocked;
  - while one thread stands before a wait, the others are stopped (by that) before the barrier
    completes once more: a parity bit can then not be mistaken for another. The places at which
    they stop are a cut.

`warplock check --explain-proof` shows every cut: which member is held at which wait, and how far each
of the others gets.
docs/soundness.md has the complete argument.
";

const TURN_RULE: &str = "\
Where no single order suits every element, as under rotated schedules, a grid never hangs if
  - at each element the CTAs have turns 0, 1, 2, ...: no two the same, none missing;
  - each waits there once for its turn and adds 1 later, and nobody adds without having waited;
  - the waits have ranks, and until the CTA with the turn before has added, it waits only at lower
    ranks;
  - the CTA with the turn before starts earlier, or all CTAs are resident at once.

Take a state in which nobody can go on, and a CTA that waits. The CTA with the turn before has not
added, so it waits as well, at a lower rank. So does the one before that, and so on for ever. But
there are finitely many waits: a contradiction.

docs/soundness.md has the complete argument.
";

const RESIDENCY: &str = "\
`resident 1..` in a grid's header declares a parameter R: at most R CTAs have started and not
finished at any time. A CTA gives its place up only when it finishes. A CTA that waits for one
that has no place yet can therefore hang, although the same kernel runs on a larger machine.

`--set R=4` or `--assume \"R >= N\"` narrow it; `resident all` says that the whole grid always
fits. `simulate` and `explore` need a value: `--set R=4`.
";
