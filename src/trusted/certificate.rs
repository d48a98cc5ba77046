//! What a certificate says. All of it is a suggestion: nothing holds because it stands here.

use serde::Deserialize;
use serde::Serialize;

/// Invariants, reasons and ranks: see the module's argument.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// How roles are split into classes.
    pub splits: Vec<Split>,
    /// Per class: what holds of its members.
    pub classes: Vec<Local>,
    /// Which number the waits of a class at a ring are for.
    pub lags: Vec<Lag>,
    /// What classes arrive with, where it is not one arrival that counts 1.
    pub weights: Vec<Weight>,
    /// Why arrivals at a ring come in turn.
    pub in_turn: Vec<InTurn>,
    /// Why no wait by parity, or for one value, is lapped.
    pub not_lapped: Vec<NotLapped>,
    /// Why mbarriers have been initialised where they are used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ready: Vec<Ready>,
}

/// An index of a role whose values below and from these numbers on are told apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// The role, by position.
    pub role: usize,
    /// Its index, by position.
    pub index: usize,
    /// Where pieces begin, but for the first, which begins at 0.
    pub at: Vec<i64>,
}

/// What holds of the members of a class.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Local {
    /// Per loop, in text order: what holds whenever its head is reached.
    pub loops: Vec<Vec<Fact>>,
    /// What holds everywhere.
    pub behind: Vec<Behind>,
    /// Per wait, in text order: its rank.
    pub ranks: Vec<Sum>,
    /// What a member holds at most of a pool that has enough for everybody.
    pub holds: Vec<Holds>,
}

/// A member never holds more than so much of the pool of a ring.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Holds {
    #[serde(rename = "lane")]
    pub ring: usize,
    /// How much; over parameters.
    pub most: Sum,
}

/// Everywhere, `per_wait * waits passed at the ring >= per_arrival * numbers arrived at the other - less`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Behind {
    /// Where the member waits.
    pub waits: usize,
    /// Where it arrives.
    pub arrives: usize,
    /// How much a wait counts: at least 1.
    pub per_wait: i64,
    /// How much an arrival counts: at least 0.
    pub per_arrival: i64,
    /// By how much it may be less; over parameters.
    pub less: Sum,
}

/// To each number of a ring, a member of a class arrives so often, and each time counts so much.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weight {
    /// The class.
    pub class: usize,
    #[serde(rename = "lane")]
    pub ring: usize,
    /// What each arrival counts; over parameters.
    pub amounts: Vec<Sum>,
}

/// The `n`th wait of a class at a ring, from 0, is for number `n - rounds * size`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lag {
    /// The class.
    pub class: usize,
    #[serde(rename = "lane")]
    pub ring: usize,
    /// 0, or 1 for who waits for a place that is free in the first round.
    pub rounds: i64,
}

/// A class knows, when it arrives at a ring, that what was there before is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InTurn {
    /// Who arrives.
    pub class: usize,
    /// Where.
    #[serde(rename = "lane")]
    pub ring: usize,
    /// Why it knows: the last link is at the ring itself. Empty if nobody else arrives in its group.
    pub chain: Vec<Link>,
}

/// A class that uses mbarriers knows that they have been initialised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ready {
    /// Who uses them.
    pub class: usize,
    /// Where.
    #[serde(rename = "lane")]
    pub ring: usize,
    /// Why it knows: the last link is to the class that initialises them before it arrives. Empty if that is the class itself.
    pub chain: Vec<Link>,
}

/// Somebody who arrives at a ring knows that a class has passed its waits there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotLapped {
    /// Who waits.
    pub class: usize,
    /// Where.
    #[serde(rename = "lane")]
    pub ring: usize,
    /// Who arrives.
    pub by: usize,
    /// Why it knows: the last link is to the class that waits. Empty if that arrives itself.
    pub chain: Vec<Link>,
}

/// A member has waited at a ring, hence everybody of a class that arrives there has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    #[serde(rename = "lane")]
    pub ring: usize,
    /// The class.
    pub class: usize,
}

/// A statement about a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Fact {
    /// The sum is 0.
    Zero(Sum),
    /// The sum is at least 0.
    AtLeastZero(Sum),
    /// One of the sums is 0.
    Either(Sum, Sum),
}

/// A sum of integers times products.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sum(pub Vec<Product>);

/// An integer times names.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Product {
    /// The integer.
    pub times: i64,
    /// The names.
    pub of: Vec<Name>,
}

/// What has a value where a member stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Name {
    /// A parameter, by position.
    Param(usize),
    /// A bound name of the protocol, by position.
    Var(usize),
    /// How many iterations of a loop around are complete, in the present run of the loop.
    Done(usize),
    /// Something that is counted.
    Counter(Counter),
}

/// What is counted of a member, beside its variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counter {
    /// Iterations of a loop over the whole run.
    Iterations(usize),
    /// Numbers of a ring to which all own arrivals have been made.
    Arrived(usize),
    /// How many own arrivals have been made to the number after these.
    Part(usize),
    /// These div the size of the ring.
    ArrivedTurn(usize),
    /// These mod the size of the ring: the element that is next.
    ArrivedAt(usize),
    /// The element of the last arrival.
    ArrivedLast(usize),
    /// Waits passed at a ring.
    Awaited(usize),
    /// These div the size of the ring.
    AwaitedTurn(usize),
    /// These mod the size of the ring.
    AwaitedAt(usize),
    /// [`Counter::AwaitedTurn`] mod 2.
    AwaitedBit(usize),
    /// Bytes expected of the arrival to come at a ring, less those delivered.
    Expected(usize),
    /// Bytes expected of the last arrival, less those delivered.
    Owed(usize),
    /// What has been taken of a pool and not been given back.
    Held(usize),
}

impl Sum {
    /// An integer.
    pub fn number(times: i64) -> Sum {
        let of = Vec::new();
        Sum(vec![Product { times, of }])
    }
}
