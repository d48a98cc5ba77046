//! The artefact of the order rule: the part of a certificate that the search guesses, such as the ranks. The checker
//! does not trust any of it.

use std::collections::BTreeMap;
use std::ops::Neg;

use serde::Deserialize;
use serde::Serialize;

use super::polynomial::Polynomial;
use super::polynomial::TooLarge;
use super::positivity::Proof;
use crate::certificate::program::Unsupported;

/// A proof by order: see the module's rule.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// How far the waits of a class at a ring are behind the arrivals.
    pub lags: Vec<Lag>,
    /// For each condition that needs a chain: the chain.
    pub chains: Vec<Chain>,
    /// Per class, the rank of its operations.
    pub ranks: Vec<Rank>,
    /// For each obligation, by name: the multipliers that prove it.
    #[serde(with = "serde_with::rust::maps_duplicate_key_is_error")]
    pub proofs: BTreeMap<String, Proof>,
    /// Waits that are numbered even if a condition around them fails: class and operation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unguarded: Vec<(usize, usize)>,
    /// Waits at the ends of programs that need no rank.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ends: Vec<End>,
    /// Last arrivals whose bytes no member delivers: class and operation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfilled: Vec<(usize, usize)>,
    /// Registrations that are numbered separately, because their members make others in the same generations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub again: Vec<RepeatedRegistration>,
    /// The classes that take part only in some of the generations of a named barrier.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seats: Vec<Seat>,
    /// Elements of named barriers at which registrations with different counts are kept apart: see
    /// `separate_counts.rs`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub apart: Vec<Element>,
    /// Members that take turns at a ring: see `teams.rs`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub teams: Vec<Team>,
}

/// Members that take turns at arriving at a ring, or at waiting there: see `teams.rs`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Team {
    #[serde(rename = "lane")]
    pub ring: usize,
    /// Whether they take turns at arriving; otherwise at waiting.
    pub arrives: bool,
    /// The classes in the order of their turns, by position.
    pub classes: Vec<usize>,
    /// How often each of them arrives or waits in one turn.
    pub each: Weight,
    /// If turns are handed over: for each class, the wait after which it knows that all earlier turns are over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<usize>,
}

/// An element of a named barrier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Element {
    /// The object, by position.
    pub object: usize,
    /// Its indices.
    pub index: Vec<i64>,
}

/// The generations of a named barrier in which the members of a class or shadow take part: see `seats.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seat {
    /// The class or shadow, by position.
    pub class: usize,
    #[serde(rename = "lane")]
    pub ring: usize,
    /// The number of its first registration.
    pub first: i64,
    /// Whether it takes part in no generation after its last registration.
    pub ends: bool,
}

/// A registration at a named barrier that counts as one of a shadow of its class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepeatedRegistration {
    /// The class, by position.
    pub class: usize,
    /// The operation, by position.
    pub site: usize,
    /// Which shadow of the class, from 0.
    pub shadow: usize,
}

/// A wait after which its member only waits. Its index is a remainder. The wait is for the arrival whose number is
/// the dividend of this remainder minus `rounds * size`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// The class, by position.
    pub class: usize,
    /// The operation, by position.
    pub site: usize,
    /// How many rounds.
    pub rounds: i64,
}

/// The nth wait of a class at a ring, from 0, is for arrival number `n - rounds * size - arrivals` of everyone who
/// arrives there. `size` is the number of elements of the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lag {
    /// The class, by position.
    pub class: usize,
    #[serde(rename = "lane")]
    pub ring: usize,
    /// The number of rounds: 0 for a member that waits until an element is filled, 1 for a member that waits until an
    /// element is free.
    pub rounds: i64,
    /// The number of further arrivals. For example, a member may wait in each round for what was begun in the round
    /// before.
    #[serde(default, skip_serializing_if = "is_none")]
    pub arrivals: i64,
}

// The signature is serde's.
#[expect(clippy::trivially_copy_pass_by_ref)]
fn is_none(arrivals: &i64) -> bool {
    *arrivals == 0
}

/// How far the waits of a class at a ring are behind the arrivals.
///
/// # Errors
///
/// The artefact does not say it.
pub fn behind(lags: &[Lag], class: usize, ring: usize) -> Result<Behind, Unsupported> {
    let mut lags = lags.iter();
    let lag = lags.find(|lag| (lag.class, lag.ring) == (class, ring));
    let lag = lag.ok_or_else(|| Unsupported::whole("waits whose lag is not given"))?;
    Ok(Behind {
        rounds: lag.rounds,
        arrivals: lag.arrivals,
    })
}

/// How far waits are behind arrivals: this many rounds of a ring, plus this many arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Behind {
    /// Rounds.
    pub rounds: i64,
    /// Arrivals.
    pub arrivals: i64,
}

impl Behind {
    /// The number of the arrival that a wait with this number is for.
    pub fn arrival(self, wait: &Polynomial, size: &Polynomial) -> Result<Polynomial, TooLarge> {
        let back = wait.plus(i128::from(self.rounds).neg(), size)?;
        back.plus(-1, &Polynomial::number(i128::from(self.arrivals)))
    }

    /// The number of the wait that is for an arrival with this number.
    pub fn wait(self, arrival: &Polynomial, size: &Polynomial) -> Result<Polynomial, TooLarge> {
        let on = arrival.plus(i128::from(self.rounds), size)?;
        on.plus(1, &Polynomial::number(i128::from(self.arrivals)))
    }
}

/// A chain of waits: each member knows that the next one has passed a wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chain {
    /// What the chain shows.
    pub about: About,
    /// The members on the chain. The previous member's last wait at the link's ring is for arrivals of the link's
    /// class.
    pub links: Vec<Link>,
    /// Whether the chain shows that an arrival has been made, at a ring at which nothing can be in flight: see
    /// `teams.rs`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub made: bool,
}

// The signature is serde's.
#[expect(clippy::trivially_copy_pass_by_ref)]
fn is_false(made: &bool) -> bool {
    !*made
}

/// What a chain shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// Before a wait, the generation before the awaited one has completed: class and operation.
    NotBehind(usize, usize),
    /// Before an arrival, the generation before its own has completed.
    InTurn(usize, usize),
    /// The generation after the awaited one needs an arrival that comes after the wait.
    NotLapped(usize, usize),
    /// Before an mbarrier is used, it has been initialised.
    Initialised(usize, usize),
    /// While a registration is pending, no member registers at the same element with another count. The numbers are:
    /// class and operation of the registration, and the ring and the class of the other members.
    Apart(usize, usize, usize, usize),
    /// A member that has passed the wait which hands a turn over knows that all earlier turns are over. The numbers
    /// are: class and operation, and the ring at which the turns are taken.
    Handed(usize, usize, usize),
}

/// A step of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The ring at which the previous member has waited, by position. In the first link of a chain about lapping, it
    /// is the ring of the wait itself, because the next generation of this ring needs the class's arrival.
    #[serde(rename = "lane")]
    pub ring: usize,
    /// The class whose arrival the wait was for, by position.
    pub class: usize,
}

/// The rank of a class's operations: a sum over its loops, plus a number of the operation itself. The term of a loop
/// is a coefficient times the number of iterations completed over the whole run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rank {
    /// Per loop of the class.
    pub loops: Vec<Weight>,
    /// Per operation of the class.
    pub sites: Vec<Weight>,
}

/// A sum of integers times products of parameters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Weight(pub Vec<Product>);

/// An integer times parameters, by position.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Product {
    /// The integer.
    pub times: i64,
    /// The parameters.
    pub of: Vec<usize>,
}
