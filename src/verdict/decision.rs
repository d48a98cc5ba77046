//! The decision about one property, with everything that a report needs.

use std::time::Duration;

use crate::certificate::manifest::Certificate;
use crate::certificate::obligation::Obligation;
use crate::protocol::Property;
use crate::protocol::Span;
use crate::semantics::error::Fault;
use crate::semantics::error::RunError;
use crate::semantics::input::Input;
use crate::semantics::step::Action;
use crate::witness::Witness;

/// How the reason begins, if nothing is known because a run does something undefined.
pub(super) const UNDEFINED: &str = "a run does something undefined";

/// A verdict on one property of one protocol.
#[derive(Debug, Clone)]
pub struct Decision {
    /// The property.
    pub property: Property,
    /// The verdict.
    pub verdict: Verdict,
    /// Whether nothing is known because a run does something undefined.
    pub undefined: bool,
    /// Whether nothing is known because this version does not follow what the protocol does.
    pub unfollowed: bool,
    /// Which layer decided, for people who compare runs.
    pub engine: &'static str,
    /// How long it took.
    pub elapsed: Duration,
    /// Everything the verdict rests on.
    pub assumptions: Vec<String>,
    /// Further findings, each a sentence: an empty domain, what would make it provable, what was
    /// tried.
    pub notes: Vec<String>,
}

/// The verdict and what backs it.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// For every parameter value in the declared domain; the certificate has been checked.
    Proved(Box<Proof>),
    /// A counterexample at concrete values, replayed by the reference interpreter.
    Refuted(Box<Refutation>),
    /// No violation for a stated finite part of the domain.
    Bounded {
        /// Which part, as a sentence fragment after "none".
        within: String,
        /// Why there is no proof, as a lowercase fragment.
        reason: String,
    },
    /// Nothing is known.
    Unknown {
        /// Why, as a lowercase fragment.
        reason: String,
        /// What it is about.
        span: Option<Span>,
    },
}

/// No verdict: at some values, which are given as ` at N = 1`, the protocol does not run or is not followed.
pub(super) fn not_run(at: &str, error: &RunError) -> (Verdict, bool) {
    let unfollowed = matches!(error.fault, Fault::BehindResult(_));
    let reason = match (unfollowed, at.strip_prefix(' ')) {
        _ if error.fault.is_limit() => format!("not run{at}: {error}"),
        (true, Some(at)) => format!("{error}, for example {at}"),
        (true, None) => error.to_string(),
        (false, _) => format!("not well defined{at}: {error}"),
    };
    let span = error.span;
    (Verdict::Unknown { reason, span }, unfollowed)
}

impl Verdict {
    /// Whether it is PROVED.
    pub fn is_proved(&self) -> bool {
        matches!(self, Verdict::Proved(_))
    }

    /// The verdict word of the command contract.
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Proved(_) => "PROVED",
            Verdict::Refuted(_) => "REFUTED",
            Verdict::Bounded { .. } => "BOUNDED",
            Verdict::Unknown { .. } => "UNKNOWN",
        }
    }
}

/// A checked proof.
#[derive(Debug, Clone)]
pub struct Proof {
    /// The certificate.
    pub certificate: Certificate,
    /// Its obligations.
    pub obligations: Vec<Obligation>,
}

/// A replayed counterexample.
#[derive(Debug, Clone)]
pub struct Refutation {
    /// The input.
    pub input: Input,
    /// The run to the stuck state.
    pub schedule: Vec<Action>,
    /// The same as a file.
    pub witness: Witness,
    /// In which sense it is the smallest, as a sentence.
    pub smallest: String,
}
