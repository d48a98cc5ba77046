//! The artefact of the cut rule: the part of a certificate that the search guesses, such as the cuts. The checker trusts
//! none of it.

use serde::Deserialize;
use serde::Serialize;

/// A proof by cuts, see [`cut`](crate::certificate::cut).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    /// Parameters of finite range that are treated one value at a time, by position.
    pub split: Vec<usize>,
    /// What the proof shows besides freedom from deadlock.
    #[serde(default, skip_serializing_if = "Shows::is_nothing")]
    pub shows: Shows,
    /// The order of the copies, if their programs depend on their number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// One case for each combination of their values, in lexicographic order, or several that cover
    /// it.
    pub cases: Vec<Case>,
}

/// An order of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// From the least.
    Ascending,
    /// From the greatest.
    Descending,
}

/// What a proof shows besides freedom from deadlock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shows {
    /// Nothing.
    #[default]
    Nothing,
    /// Every arrival at an mbarrier takes part in the generation it is meant for.
    Generations,
    /// Two accesses to one element, at least one of them a write, are ordered.
    Ordering,
    /// Reads see the writes that are ordered before them.
    Visibility,
    /// The assertions and invariants of the text hold.
    Claims,
    /// Data is used only while it has room, and pools are whole in the end.
    Lifetimes,
    /// Barriers are used only while their CTA has not exited.
    Exits,
}

impl Shows {
    /// Each of them, from the least.
    pub const ALL: [Shows; 7] = [
        Shows::Nothing,
        Shows::Generations,
        Shows::Ordering,
        Shows::Visibility,
        Shows::Claims,
        Shows::Lifetimes,
        Shows::Exits,
    ];

    /// Whether the proof also shows freedom from deadlock. Ordering and visibility are about every state
    /// that a run reaches, so they do not need it.
    pub fn progress(self) -> bool {
        !matches!(self, Shows::Ordering | Shows::Visibility)
    }

    fn is_nothing(&self) -> bool {
        *self == Shows::Nothing
    }
}

/// The proof for one combination of values.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The values, in the order of [`Cut::split`].
    pub values: Vec<i64>,
    /// Further parameters, by position, that have one value in this case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<(usize, i64)>,
    /// Whether no parameter values satisfy the assumptions in this case.
    pub empty: bool,
    /// Which generation each wait by parity stands for.
    pub generations: Vec<Generation>,
    /// Which generations registrations at named barriers join, where it is not each time the next
    /// after the member's own last one, beginning with the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub registrations: Vec<Registration>,
    /// Which deliveries of members that do not arrive at an mbarrier are counted together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deliveries: Vec<Deliveries>,
    /// The cuts: how far all other members get while one member is held.
    pub holds: Vec<Hold>,
    /// Why a registration joins the generation it is meant for, if the member itself does not wait for
    /// the generation before. If an operation has several supports, one of them holds at each execution.
    pub supports: Vec<Support>,
    /// The cuts for accesses: how far all members get while an access lasts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exposures: Vec<Exposure>,
    /// Pools, by position among the objects, whose capacity is at least the sum of all acquisitions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plenty: Vec<usize>,
    /// Pools whose capacity is at least what all members may hold at the same time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub revolving: Vec<usize>,
    /// Pools of which a member holds nothing at any place where it can be blocked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub brief: Vec<usize>,
    /// Operations that all members of a class have executed when a member reaches an assertion.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub floors: Vec<Floor>,
}

/// The generation that a wait by parity stands for: the number of earlier rounds at the same
/// element, plus `first`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generation {
    /// The class, by position.
    pub class: usize,
    /// The operation, by position in the class.
    pub site: usize,
    /// 0 if the first wait passes at once, 1 if it waits for the first completion.
    pub first: i64,
    /// Whether all waits of the member at the element count as rounds, not only those of this
    /// operation.
    pub all: bool,
}

/// The generations of a named barrier that the registrations of a member join: others may use the
/// barrier in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registration {
    /// The class, by position.
    pub class: usize,
    /// The operation, by position in the class.
    pub site: usize,
    /// The generation that the first one joins, from 1.
    pub first: i64,
    /// How many generations further the next one is, from 1.
    pub every: i64,
}

/// Operations of a member that deliver equally many bytes to elements of one mbarrier, counted as one
/// operation: in each phase of an element one of them delivers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deliveries {
    /// The class, by position.
    pub class: usize,
    /// The operations, by position in the class.
    pub sites: Vec<usize>,
}

/// While a member of a class is held before one of its operations, every other class gets to its
/// stop and no further.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// The class of the member.
    pub class: usize,
    /// Its operation.
    pub site: usize,
    /// For each class, where it stops: at the earliest of these places that exists, or at its end if
    /// none exists. The stops of the held member's own class are for its other members.
    pub stops: Vec<Vec<Stop>>,
    /// The stops of members of other copies, if copies share objects. If copies are ordered, the stops
    /// of members of later copies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<Vec<Stop>>,
}

/// While a member has not passed a point of its program, or one of its operations has not landed, every
/// class gets to its stop and no further.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exposure {
    /// The class of the member.
    pub class: usize,
    /// The end of the access.
    pub at: Moment,
    /// As for [`Hold::stops`].
    pub stops: Vec<Vec<Stop>>,
    /// As for [`Hold::elsewhere`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<Vec<Stop>>,
    /// Where the member itself stops, if it is not held.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<Stop>,
}

/// What ends an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// Its member goes on from a step on data, by position in the class.
    Point(usize),
    /// An operation of its member lands, by position in the class.
    Landing(usize),
}

/// A place at which members block, as a function of the iteration numbers of the held member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// The operation.
    pub site: usize,
    /// The iteration of the innermost loop around it, counted over the whole run from 0. The stop does
    /// not exist if this number is below 0 or beyond the last iteration, or if the operation is skipped
    /// in that iteration.
    pub clock: Form,
}

/// A sum of products.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(transparent)]
pub struct Form(pub Vec<Product>);

/// An integer times a few quantities.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Product {
    /// The integer.
    pub times: i64,
    /// The quantities.
    pub of: Vec<Quantity>,
}

/// A quantity in a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// A parameter, by position.
    Param(usize),
    /// How many iterations of a loop around the held operation the member has completed over its
    /// whole run, by depth from the outermost.
    Clock(usize),
    /// The trip count of a loop of a class: class, loop.
    Trips(usize, usize),
    /// A clock plus a constant, divided by a number and rounded down, or 0 if that is negative, times
    /// another number. It is for a class that advances by other steps than the held member, only in some
    /// of its iterations, or only from a later one on.
    Share {
        /// The clock, by depth from the outermost loop around the held operation.
        clock: usize,
        /// What is added to it.
        plus: i64,
        /// What it is divided by, from 1.
        by: i64,
        /// What the quotient is multiplied with.
        times: i64,
    },
    /// For a loop of a class whose trip count depends on the enclosing loop: the sum of its trip counts
    /// over the first iterations of the enclosing loop. Their number is a clock plus a constant.
    Sum {
        /// The class.
        of: usize,
        /// The loop.
        at: usize,
        /// The clock, by depth from the outermost loop around the held operation.
        clock: usize,
        /// What is added to it.
        plus: i64,
    },
    /// A clock plus a constant, divided by the number of iterations that the loops around an operation
    /// have in one iteration of the loops outside, and rounded down. So it is the number of iterations
    /// of the loops outside that have been completed by then.
    Quotient {
        /// The clock, by depth from the outermost loop around the held operation; without one, the
        /// constant alone is divided.
        clock: Option<usize>,
        /// What is added to it.
        plus: i64,
        /// The operation: class and site.
        of: (usize, usize),
        /// The outermost of the loops around it that divide, by depth.
        from: usize,
    },
}

/// A support: another class waits for the generation before a registration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Support {
    /// The class of the registering member.
    pub class: usize,
    /// The registration.
    pub site: usize,
    /// The other class.
    pub by: usize,
    /// Its operation that waits for the generation before; it must have a [`Hold`].
    pub wait: usize,
    /// In which iteration of its innermost loop.
    pub clock: Form,
}

/// When a member comes to an assertion, every member of a class has done an operation: with one held
/// before it, nobody comes to the assertion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Floor {
    /// The class of the member.
    pub class: usize,
    /// The assertion, by position among the class's steps on data.
    pub point: usize,
    /// The other class, or the same for its siblings.
    pub by: usize,
    /// Its operation; it must have a [`Hold`].
    pub site: usize,
    /// In which iteration of its innermost loop, as a form over the clocks at the assertion.
    pub clock: Form,
}
