//! Decides the properties of one file.

mod beside;
mod property;

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;

use warplock::deadline;
use warplock::protocol::Expectation;
use warplock::protocol::Property;
use warplock::protocol::Protocol;
use warplock::ptx::Instead;
use warplock::ptx::Lifted;
use warplock::ptx::Recovery;
use warplock::report::finding;
use warplock::report::style::Style;
use warplock::text::MAX_SOURCE_BYTES;
use warplock::text::Narrowing;
use warplock::verdict::Shared;
use warplock::verdict::hazard;

pub use property::INEXACT;
pub use property::doubt;

use crate::cache::Cache;
use crate::failure::Failure;
use crate::inputs::Input;
use crate::interrupt;
use crate::kernel_options::Kernels;
use crate::kernels;
use crate::progress::Progress;
use crate::sources;

use super::Wanted;
use super::listed;
use super::outcome::Outcome;

/// What to decide about every file.
pub struct Order {
    /// Whether the kernel is asked for proofs first.
    pub kernel: bool,
    /// The properties; empty: `deadlock`, or with `expect` whatever the file expects.
    pub properties: Vec<Wanted>,
    /// Which inputs.
    pub narrowing: Narrowing,
    /// Which entries of kernels, and how they are launched.
    pub kernels: Kernels,
    /// Time for each property.
    pub timeout: Duration,
    /// What to make small.
    pub minimize: Vec<String>,
    /// How many counterexamples to list.
    pub counterexamples: usize,
    /// Where certificates go.
    pub certificate: Option<PathBuf>,
    /// Where witnesses go.
    pub witness: Option<PathBuf>,
    /// What earlier runs found.
    pub cache: Option<Cache>,
    /// Whether to decide what the file expects, rather than the properties.
    pub expect: bool,
    /// Whether to read what kernels were compiled from.
    pub sources: bool,
    /// The emphasis of diagnostics.
    pub style: Style,
    /// Where it is said what is being done.
    pub progress: Progress,
}

/// Decides everything about one file; what was found goes to `results` as it is there.
pub fn file(order: &Order, number: usize, input: &Input, results: &dyn Fn(Outcome)) {
    let name = input.name.as_str();
    order.progress.begin(number, name);
    let work = Work {
        order,
        number,
        name,
        text_name: input.text_name(),
        entry: "",
        recovered_in: Duration::ZERO,
        note: None,
        kernel: None,
        exact: true,
        launches: &[],
        recovery: None,
        others: &[],
        launched: &[],
        lints: None,
        results,
    };
    let done = interrupt::guarded(|| work.file(input));
    if let Err(failure) = done {
        results(Outcome::failed(failure));
    }
    order.progress.end(number);
}

/// What is asked of a kernel: races are decided of a text of their own, so that accesses which are
/// not followed are in nobody else's way.
struct Asked {
    /// What is decided of the text without accesses, if anything is.
    plain: Option<Vec<Wanted>>,
    /// What is decided of the text with them.
    data: Vec<Wanted>,
    /// Whether everything that applies is.
    all: bool,
}

impl Asked {
    fn of(properties: &[Wanted]) -> Asked {
        let (mut data, plain): (Vec<Wanted>, Vec<Wanted>) =
            properties.iter().partition(|w| about_data(**w));
        let all = plain.contains(&Wanted::All);
        if all {
            data = [Property::Race, Property::StaleRead]
                .map(Wanted::One)
                .into();
        }
        let only_data = plain.is_empty() && !data.is_empty();
        Asked {
            plain: (!only_data).then_some(plain),
            data,
            all,
        }
    }
}

/// Another protocol of a kernel, where nothing is decided of the one before for a reason; or why there is none.
type Other<'a> = &'a dyn Fn(String) -> Result<Lifted, Option<String>>;

#[derive(Clone, Copy)]
struct Work<'a> {
    order: &'a Order,
    number: usize,
    name: &'a str,
    /// How the text of a kernel is called of which lines are counted.
    text_name: &'a str,
    /// Which entry of the file this is about, for who watches.
    entry: &'a str,
    /// How long it took to recover the protocol, which is part of the time.
    recovered_in: Duration,
    /// What is to be said of the lines of a finding, if the protocol was recovered.
    note: Option<&'static str>,
    /// The kernel that it was recovered from: the file, its text, and for each line of the protocol the line of that text.
    kernel: Option<(&'a str, &'a str, &'a [Option<usize>])>,
    /// Whether a counterexample is one of a launch, see [`Lifted::exact`].
    exact: bool,
    /// Launches that were run, see [`Lifted::launches`].
    launches: &'a [(String, BTreeMap<String, i64>)],
    /// From what the protocol was recovered, if it was.
    recovery: Option<&'a Recovery>,
    /// The protocols to decide where nothing is decided of this one.
    others: &'a [Other<'a>],
    /// What is taken from beside the file about the launch.
    launched: &'a [String],
    /// What the lints find in the kernel, if it is one; said with what is not proved.
    lints: Option<&'a dyn Fn() -> Vec<String>>,
    results: &'a dyn Fn(Outcome),
}

impl Work<'_> {
    fn file(&self, input: &Input) -> Result<(), Failure> {
        if let Some(reason) = input.closed() {
            self.unknown(self.name, "", reason, &self.order.properties);
            return Ok(());
        }
        if input.is_kernel() {
            return self.kernels(input);
        }
        let bytes = input.read(MAX_SOURCE_BYTES)?;
        self.protocol(&bytes, &self.order.properties)
    }

    /// Does something that may take as long as a decision.
    fn in_time<T>(&self, work: impl FnOnce() -> T) -> T {
        deadline::until(deadline::after(self.order.timeout), work)
    }

    /// Says what is being done.
    fn teller(&self) -> impl Fn(&str) + Sync {
        let (progress, number, entry) = (&self.order.progress, self.number, self.entry);
        move |what| progress.tell(number, &format!("{entry}{what}"))
    }

    /// Lifts every entry that is asked for, and decides the protocol as if it had been written.
    fn kernels(&self, input: &Input) -> Result<(), Failure> {
        let asked = Asked::of(&self.order.properties);
        let tell = self.teller();
        let (kernels, style) = (&self.order.kernels, self.order.style);
        kernels.each(input, style, &tell, &mut |entry| {
            // An entry of which something has to be given is in no other's way.
            if let Err(failure) = self.entry(entry, &asked) {
                (self.results)(Outcome::failed(failure));
            }
            Ok(())
        })
    }

    fn entry(&self, entry: &kernels::Entry<'_>, asked: &Asked) -> Result<(), Failure> {
        let (name, stage) = match entry.asked.len() {
            1 => (self.name.to_owned(), String::new()),
            of => (
                format!("{}:{}", self.name, entry.name()),
                format!("{}, {} of {of}: ", entry.name(), entry.number + 1),
            ),
        };
        let work = Work {
            name: &name,
            entry: &stage,
            launched: &entry.launched,
            ..*self
        };
        let began = Instant::now();
        let bare = match &asked.plain {
            None => None,
            Some(_) => Some(work.in_time(|| entry.protocol())?),
        };
        if let (Some(bare), Some(plain)) = (&bare, &asked.plain) {
            let work = Work {
                recovered_in: began.elapsed(),
                ..work
            };
            work.recovered(entry, self.name, bare, plain)?;
        }
        if asked.data.is_empty() {
            return Ok(());
        }
        let began = Instant::now();
        let (races, reads): (Vec<Wanted>, Vec<Wanted>) = asked
            .data
            .iter()
            .partition(|wanted| **wanted == Wanted::One(Property::Race));
        // Where the text has to say what a read sees, and there is none, what was refused is kept for races.
        let (with_data, refused) = match reads.as_slice() {
            [] => (work.in_time(|| entry.races())?, None),
            _ => match work.in_time(|| entry.with_data())? {
                Ok(lifted) => (Ok(lifted), None),
                Err(refused) => (Err(refused.reason.clone()), Some(refused)),
            },
        };
        let work = Work {
            recovered_in: began.elapsed(),
            ..work
        };
        // What is asked of everything is not said of what there is none of.
        let none = match (&bare, &with_data) {
            (Some(Err(_)), _) => true,
            (_, Ok(lifted)) => !lifted.text.contains("\nbuffer "),
            (_, Err(_)) => false,
        };
        if asked.all && none {
            return Ok(());
        }
        if let Some(refused) = refused.filter(|_| !races.is_empty()) {
            let of_races = work.in_time(|| entry.races_of_graph(refused))?;
            work.recovered(entry, self.name, &of_races, &races)?;
            return work.recovered(entry, self.name, &with_data, &reads);
        }
        work.recovered(entry, self.name, &with_data, &asked.data)
    }

    /// Decides these properties of a recovered protocol.
    fn recovered(
        &self,
        entry: &kernels::Entry<'_>,
        file: &str,
        protocol: &Result<Lifted, String>,
        wanted: &[Wanted],
    ) -> Result<(), Failure> {
        let note = if wanted.iter().copied().any(about_data) {
            "other lines are those of the protocol that `warplock lift --data` prints"
        } else {
            "other lines are those of the protocol that `warplock lift` prints"
        };
        let found = OnceCell::new();
        let lints = || {
            let lints = found.get_or_init(|| kernels::notes(entry, self.order.timeout));
            lints.clone()
        };
        let reason = match protocol {
            Ok(lifted) => {
                let proves = |_: String| match lifted.proves.as_deref() {
                    Some(other) => Ok(Lifted {
                        recovery: lifted.recovery.clone(),
                        ..other.clone()
                    }),
                    None => Err(None),
                };
                let mut others: Vec<Other<'_>> = Vec::new();
                if lifted.proves.is_some() {
                    others.push(&proves);
                }
                let recovered = match &lifted.recovery {
                    // Where the one way is refused, the other one has been tried.
                    Recovery::Graph {
                        instead: Some(Instead::Refused(_)),
                    } => None,
                    recovered => entry.has_two_ways().then_some(recovered),
                };
                let other_way = |undecided: String| match recovered {
                    Some(recovered) => entry.other_way(recovered, undecided),
                    None => Err(None),
                };
                if recovered.is_some() {
                    others.push(&other_way);
                }
                let work = Work {
                    lints: Some(&lints),
                    note: Some(note),
                    others: &others,
                    kernel: Some((file, entry.source(), &lifted.lines)),
                    exact: lifted.exact,
                    launches: &lifted.launches,
                    recovery: Some(&lifted.recovery),
                    ..*self
                };
                return work.protocol(lifted.text.as_bytes(), wanted);
            }
            Err(reason) => reason,
        };
        let work = Work {
            lints: Some(&lints),
            kernel: Some((file, entry.source(), &[])),
            ..*self
        };
        work.unknown(file, entry.name(), reason, wanted);
        Ok(())
    }

    /// Says that nothing is known of a kernel.
    fn unknown(&self, file: &str, entry: &str, reason: &str, wanted: &[Wanted]) {
        let mut outcome = Outcome::default();
        for property in listed(wanted, || Property::ALL.to_vec()) {
            let mut finding = finding::unrecovered(self.name, entry, property, reason);
            if let Some((_, source, _)) = self.kernel {
                finding.recovered_from(file, source, &[]);
                finding.text_is(self.text_name);
                finding.hint = Some(finding::TRY_VALUES.to_owned());
            }
            finding
                .notes
                .extend(self.lints.iter().flat_map(|lints| lints()));
            outcome.findings.push(finding);
        }
        (self.results)(outcome);
    }

    fn protocol(&self, bytes: &[u8], wanted: &[Wanted]) -> Result<(), Failure> {
        let protocol = sources::load_bytes(bytes, self.name, self.order.style)?;
        if self.order.expect {
            return self.expectations(bytes, &protocol);
        }
        let shared = Shared::default();
        for property in listed(wanted, || hazard::applicable(&protocol)) {
            let narrowing = &self.order.narrowing;
            let done = self.property(bytes, property, narrowing, &shared, None);
            self.kept_going(done)?;
        }
        Ok(())
    }

    fn expectations(&self, bytes: &[u8], protocol: &Protocol) -> Result<(), Failure> {
        let wanted = |expectation: &&Expectation| {
            let properties = &self.order.properties;
            let named = |wanted: &Wanted| match wanted {
                Wanted::All => true,
                Wanted::One(property) => property.name() == expectation.property,
            };
            properties.is_empty() || properties.iter().any(named)
        };
        let expectations: Vec<&Expectation> = protocol.expectations.iter().filter(wanted).collect();
        if expectations.is_empty() {
            (self.results)(Outcome {
                without_expectations: Some(self.name.to_owned()),
                ..Outcome::default()
            });
        }
        let shared = Shared::default();
        for expectation in expectations {
            let Some(property) = Property::from_name(&expectation.property) else {
                let message = format!("{}: no property {}", self.name, expectation.property);
                return Err(Failure::input(message));
            };
            let mut narrowing = self.order.narrowing.clone();
            let assuming = expectation.assuming.iter().map(|a| a.text.clone());
            narrowing.assume.extend(assuming);
            let expected = Some((protocol, expectation));
            let done = self.property(bytes, property, &narrowing, &shared, expected);
            self.kept_going(done)?;
        }
        Ok(())
    }

    /// An error of ours is about one property: it is reported, and the others are decided all the same.
    fn kept_going(&self, done: Result<(), Failure>) -> Result<(), Failure> {
        match done {
            Err(failure @ Failure::Internal(_)) => {
                (self.results)(Outcome::failed(failure));
                Ok(())
            }
            done => done,
        }
    }
}

/// Whether a property is about what is read and written.
fn about_data(wanted: Wanted) -> bool {
    matches!(wanted, Wanted::One(Property::Race | Property::StaleRead))
}
