//! Tables of changes to a protocol or its certificate, with what the kernel says of each.
//!
//! What it says is `accepted`, the kinds of obligations that are not discharged, the words of a refusal, or `unfit` where
//! the certificate names what there is not. Some changes leave everything as right as it was: a condition that asks for
//! too much is noticed by these.

use std::collections::BTreeSet;
use std::time::Duration;

use warplock::certificate::argument::Argument;
use warplock::certificate::discharge::Answer;
use warplock::certificate::known::Known;
use warplock::proof;
use warplock::proof::Guess;
use warplock::proof::Layer;
use warplock::protocol::Protocol;
use warplock::text;
use warplock::trusted::certificate::Certificate;
use warplock::trusted::certificate::Local;
use warplock::trusted::certificate::NotLapped;
use warplock::trusted::certificate::Sum;
use warplock::trusted::events;
use warplock::trusted::events::certificate::Events;
use warplock::trusted::obligation::Obligation;
use warplock::trusted::obligations;
use warplock::trusted::unsupported::Unsupported;

/// One place between two members.
pub const PAIR: &str = "protocol pair
param N in 0..
mbarrier full { arrivals: 1 }
mbarrier empty { arrivals: 1 }
role producer {
    for i in 0..N {
        wait empty (i + 1) % 2
        arrive full
    }
}
role consumer {
    for i in 0..N {
        wait full i % 2
        arrive empty
    }
}
";

/// A change of a certificate after one of the text, and what comes of it.
pub type Change<C = Certificate> = (&'static str, fn(&mut C), &'static str);

/// What derives obligations from a protocol and a certificate.
type Derive<C> = fn(&Protocol, &C) -> Result<Vec<Obligation>, Unsupported>;

fn load(source: &str) -> Protocol {
    let loaded = text::load(source.as_bytes());
    loaded.unwrap_or_else(|problems| panic!("{problems:?}\n{source}"))
}

/// What the search finds.
pub fn found(source: &str) -> Certificate {
    let limit = Duration::from_secs(60);
    match proof::search(&load(source), Layer::Kernel, limit, None, &|_| {}) {
        Guess::Found(Argument::Kernel(found)) | Guess::Fitting(Argument::Kernel(found)) => found,
        other => panic!("{other:?}\n{source}"),
    }
}

/// What the search finds about turns and supplies.
pub fn found_waits(source: &str) -> Events {
    let limit = Duration::from_secs(60);
    match proof::search(&load(source), Layer::Kernel, limit, None, &|_| {}) {
        Guess::Fitting(Argument::Waits(found)) => found,
        other => panic!("{other:?}\n{source}"),
    }
}

/// With one more class, and two more loops of each, of which nothing is known.
pub fn with_more(mut certificate: Certificate) -> Certificate {
    certificate.classes.push(Local::default());
    for class in &mut certificate.classes {
        class.loops.extend([vec![], vec![]]);
    }
    certificate
}

/// For classes that arrive and wait by parity, each once and at one lane.
pub fn once(classes: usize, ring: usize) -> Certificate {
    let mut certificate = Certificate::default();
    for class in 0..classes {
        certificate.classes.push(Local {
            ranks: vec![Sum::default()],
            ..Local::default()
        });
        certificate.not_lapped.push(NotLapped {
            class,
            ring,
            by: class,
            chain: Vec::new(),
        });
    }
    certificate
}

/// Says it of one protocol after the other, and asks no solver twice.
pub struct Kernel<C = Certificate> {
    known: Known,
    base: String,
    certificate: C,
    derive: Derive<C>,
    wrong: Vec<String>,
}

impl Kernel {
    /// Changes of a protocol that is accepted.
    pub fn new(base: &str, certificate: Certificate) -> Kernel {
        Kernel::with(base, certificate, obligations)
    }
}

impl Kernel<Events> {
    /// The same for certificates about turns and supplies.
    pub fn waits(base: &str, certificate: Events) -> Kernel<Events> {
        Kernel::with(base, certificate, events::obligations)
    }
}

impl<C: Clone> Kernel<C> {
    fn with(base: &str, certificate: C, derive: Derive<C>) -> Kernel<C> {
        let mut kernel = Kernel {
            known: Known::default(),
            base: Vec::from_iter(base.split_whitespace()).join(" "),
            certificate,
            derive,
            wrong: Vec::new(),
        };
        kernel.row("", |_| {}, "accepted");
        kernel
    }

    /// Changes of the text: `FROM -> TO ; FROM -> TO => OUTCOME` on each line.
    pub fn texts(mut self, table: &str) -> Kernel<C> {
        for line in table.lines().filter(|line| !line.trim().is_empty()) {
            let (edits, outcome) = line.split_once("=>").unwrap();
            self.row(edits, |_| {}, outcome.trim());
        }
        self
    }

    /// Changes of the certificate.
    pub fn certificates(mut self, rows: &[Change<C>]) -> Kernel<C> {
        for (edits, change, outcome) in rows {
            self.row(edits, *change, outcome);
        }
        self
    }

    /// All rows have come out as they should.
    pub fn check(self) {
        assert!(self.wrong.is_empty(), "\n{}", self.wrong.join("\n"));
    }

    fn row(&mut self, edits: &str, change: fn(&mut C), expected: &str) {
        let mut source = self.base.clone();
        for edit in edits.split(" ; ").filter(|edit| !edit.trim().is_empty()) {
            let (from, to) = edit.split_once("->").unwrap();
            assert!(source.contains(from.trim()), "{from}\n{source}");
            source = source.replace(from.trim(), to.trim());
        }
        let mut certificate = self.certificate.clone();
        change(&mut certificate);
        let outcome = self.outcome(&load(&source), &certificate);
        if outcome != expected {
            let number = self.wrong.len();
            self.wrong.push(format!(
                "{number}. {} => {outcome} (not: {expected})",
                edits.trim()
            ));
        }
    }

    fn outcome(&self, protocol: &Protocol, certificate: &C) -> String {
        let all = match (self.derive)(protocol, certificate) {
            Ok(all) => all,
            Err(refused) => {
                let unfit = "a certificate that does not fit the protocol";
                return refused.to_string().replace(unfit, "unfit");
            }
        };
        self.known.discharge_at_once(&all);
        let limit = Duration::from_secs(3);
        let open = all
            .iter()
            .filter(|one| self.known.discharge(one, limit) != Answer::Discharged);
        let kinds: BTreeSet<&str> = open
            .map(|one| one.name.split_once('_').unwrap().1)
            .collect();
        match kinds.is_empty() {
            true => "accepted".to_owned(),
            false => Vec::from_iter(kinds).join(", "),
        }
    }
}
