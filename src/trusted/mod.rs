//! The trusted kernel: a small proof checker. (Here *kernel* does not mean a GPU kernel.)
//!
//! Each member counts its arrivals and the waits that it has passed. A certificate is a list of facts about these
//! counters ([`certificate`]). From the resolved protocol and the certificate, this module derives the obligations
//! as SMT-LIB ([`obligations`]). If all are valid, nobody hangs, and more. The module imports nothing but the protocol
//! and the time limit. The search for certificates is not trusted.
//!
//! # The transition system
//!
//! [`system`] translates a protocol. Members of a *class* run one program; the elements of a *lane* differ in one
//! index, or there is one. The lane has `S` elements. Control flow looks at no element, so each member does a fixed
//! sequence of acts, whatever the others do. A state says how far each member is, how often each element has completed,
//! what is pending there (arrivals, bytes), and what is in flight. Its steps are those of the reference semantics: a
//! member does its next act, or something in flight lands.
//!
//! A member counts: `a`, its arrivals at each lane, and `w`, the waits that it has passed at each ([`certificate::Counter`]). A
//! commit or a copy counts where it is started. Its arrivals at a lane have the *numbers* `0, 1, 2, ...`; number `v`
//! belongs to element `v mod S` and to its generation `v div S + 1`. A number is *done* if everybody's arrival of that
//! number has landed, and the bytes that these members expect of it have landed too. The `n`th wait of a class at a
//! lane, from 0, is for number `n - lag * S`, where `lag` is 0 or 1.
//!
//! # Obligations
//!
//! 1. *(declarations)* A lane without elements counts as one of size 1: by 3 nobody comes to an act there. A generation
//!    takes one arrival of each member that arrives at the lane: the number that an mbarrier or a split-phase barrier
//!    declares, that each use of a named barrier gives, and that the value awaited of a semaphore is made of (`world.rs`).
//! 2. *(a member by itself)* Every expression is defined where it is evaluated. The facts about a loop hold when it
//!    is reached and after each iteration. `w >= a - less` for the pairs of lanes that the certificate lists, at the
//!    start and after every arrival (`member.rs`, `acts.rs`).
//! 3. *(numbers)* Elements exist. Arrival `a` is at element `a mod S`; wait `w` is at element `w mod S`, and its parity is that of
//!    generation `(w - lag * S) div S + 1`. A wait for the own last arrival is for number `a - 1`.
//! 4. *(bytes)* Who expects bytes at a lane is of a class that arrives there. A member expects bytes of a number before
//!    its own arrival of that number, and delivers them itself, each time at least one and never more than are missing.
//!    Before a wait, at the end and at the next arrival of the lane nothing is missing.
//! 5. *(in turn)* Who makes arrival `a >= S`, or expects bytes of it, knows that number `a - S` is done. This is not
//!    asked of a semaphore that nobody waits for, on whose value nothing depends.
//! 6. *(not lapped)* For each class `c` that waits by parity there is a class that arrives at the lane, has members, and
//!    knows at its arrival `a` that everybody in `c` has passed the wait for number `a - S`. Or `c` itself arrives, and
//!    each member has passed its own wait.
//! 7. *(progress)* Take a member before a wait for number `j >= 0`, and one of a class that arrives there and has made
//!    at most `j` arrivals. The latter is not at its end, and before whatever wait it stands, its rank is less than
//!    that of the former's wait (`progress.rs`).
//!
//! *Knows* is a chain of links. The first is a lane where the member itself has waited: all numbers below `w - lag * S`
//! are done there, so everybody of a class that arrives has made as many arrivals. Each of these has, by 2, passed at
//! least so many waits less `less` at another lane, where as many numbers less the lag are done, and so on. A link
//! beyond the first needs that the class before has members.
//!
//! # Why it is sound
//!
//! *Local facts.* What 2 derives of a member at a place holds whenever a member is there: by induction over its program,
//! which does not depend on others.
//!
//! *Claim.* In every state that a run comes to: (i) what has completed at an element is the done numbers of that
//! element, and these are its first ones, unless it is of a semaphore that nobody waits for; (ii) a wait that has been passed was for a number below 0 or a done one. At
//! the start this holds. Take the first step that breaks it.
//!
//! All numbers below `w - lag * S` of a member's passed waits are done, by (ii), as waits are numbered without
//! gaps. What is done stays done, and counters only grow. So everything that a chain says holds before that step.
//!
//! It is not an arrival or a delivery. By 5 number `a - S` is done when arrival `a` is started, and number `a` is not
//! before it has landed; so by (i) it lands in generation `a div S + 1`, with everybody else's of that number, one
//! each. By 1 the generation takes exactly these, so none is one too many. By 4 the bytes expected of a number
//! are added before the own arrival and are not negative, each delivery is of at least one byte that is still
//! missing, so that the count of bytes is not below 0 and, once all have arrived, 0 exactly when all have landed. So the
//! generation completes exactly when its number is done. For a semaphore: the members who add have made between
//! `c` and `c + 1` additions each when `c` numbers are done in turn; so the value is `initial + c * members` plus less
//! than `members` (a sum over a class of counts that are at most `n` is at most `n` times its size, and equal
//! only if each is `n`).
//!
//! It is not a wait. Let it be for number `j`, hence generation `g = j div S + 1`. The member has passed its wait for
//! `j - S` if `j >= S`, so at least `g - 1` generations are complete. Were `g + 1` complete, number `j + S` would be
//! done, so the class of 6 has made arrival `j + S` and its members knew that this wait had been passed. So `g - 1` or
//! `g` are complete, and by the parity it passes iff `g` are; if `j < 0`, `g = 0` are, and it passes at once. A wait at
//! a named or split-phase barrier passes iff the generation of the member's last arrival is complete, by 3 that of
//! number `j`; one at a semaphore iff the value is at least `initial + members * (j div S + 1)`, which by the above is
//! so iff number `j` is done.
//!
//! *Nothing is undefined.* No arrival is one too many; a member registers at a barrier only after its last generation
//! there has completed (5: at a named barrier a member may register several times in one generation, and each time counts; that it
//! does so once is shown here, and whoever does so twice is refused), and at a split-phase one after it has waited; counts of a named barrier agree (1);
//! numbers of bytes and arrivals are in range; elements exist (3).
//!
//! *Progress.* Suppose that nothing can happen and somebody has not finished. Everything in flight has landed, and
//! everybody runs. Of all blocked members take one with the least rank. It waits for a number `j` that is not done, and
//! `j >= 0`. So the arrival `j` of some member is missing, or bytes that it expects of it. It is not the bytes: the
//! member is before a wait or at its end, where by 4 nothing is missing that it expects of any number. So that member
//! has made at most `j` arrivals. By 7 it has not finished and its rank is less: a contradiction.
//!
//! # Other properties
//!
//! The obligations prove more than that nobody hangs ([`proves`]). What belongs to a number `a` takes effect when number
//! `a - S` is done, by 5, and number `a` is not: an arrival that has not landed, an expectation before it, or a delivery
//! that is missing, by 4. So it is of generation `a div S + 1` of its element in every run (`early_completion`). A wait by parity passes after exactly `g` completions
//! (`early_pass`). From the time that they are there it can pass until it has, since there is no further one before
//! (`lapped_wait`). Nothing is undefined (`over_arrival`). What is missing at an element is what its members have
//! expected and what has not landed of it, so at least as much as any delivery that has not landed; where nothing
//! can happen everybody is at the end, and nothing is missing (`tx_mismatch`).
//!
//! # What is refused
//!
//! Patterns, rows, `break`, `return`, resets, pools, explicit initialisation, waits for one value, grids that need not
//! fit, arrivals of more than one, two indices that move. [`system`] names the construct.

// A number that does not fit is refused: none wraps, saturates or overflows where proofs are checked.
#![deny(clippy::arithmetic_side_effects)]
#![deny(clippy::disallowed_methods)]

mod acts;
pub mod certificate;
mod declared;
pub mod events;
pub mod exact;
pub mod expression;
mod member;
pub mod obligation;
mod progress;
pub mod sexpr;
pub mod system;
pub mod term;
pub mod unsupported;
mod world;

use certificate::Certificate;
use member::Goal;
use member::Walked;
use obligation::Obligation;
use system::System;
use unsupported::Unsupported;
use world::World;

use crate::protocol::Property;
use crate::protocol::Protocol;

/// Whether the obligations prove a property.
pub fn proves(property: Property) -> bool {
    match property {
        Property::Deadlock
        | Property::EarlyCompletion
        | Property::EarlyPass
        | Property::LappedWait
        | Property::OverArrival
        | Property::TxMismatch => true,
        Property::Uninitialized
        | Property::Race
        | Property::StaleRead
        | Property::Resources
        | Property::Assertion => false,
    }
}

/// Everything that has to be valid.
///
/// # Errors
///
/// Names the first construct that the kernel does not know, or says that the certificate does not fit.
pub fn obligations(
    protocol: &Protocol,
    certificate: &Certificate,
) -> Result<Vec<Obligation>, Unsupported> {
    let system = System::new(protocol, certificate)?;
    let world = World::new(&system, certificate)?;
    let mut all = Vec::new();
    let mut add = |goals: Vec<Goal>, constants: &[&[String]]| {
        for goal in goals {
            all.push(obligation(protocol, all.len(), goal, constants));
        }
    };
    add(world.goals.clone(), &[&world.constants]);
    let classes = 0..system.classes.len();
    let walk = |tag| -> Result<Vec<Walked>, Unsupported> {
        classes
            .clone()
            .map(|class| member::walk(&world, class, tag))
            .collect()
    };
    let (members, others) = (walk("m")?, walk("n")?);
    for (class, walked) in members.iter().enumerate() {
        add(walked.goals.clone(), &[&world.constants, &walked.constants]);
        for (other, theirs) in others.iter().enumerate() {
            let goals = progress::goals(&system, class, walked, other, theirs)?;
            add(
                goals,
                &[&world.constants, &walked.constants, &theirs.constants],
            );
        }
    }
    Ok(all)
}

fn obligation(
    protocol: &Protocol,
    number: usize,
    goal: Goal,
    constants: &[&[String]],
) -> Obligation {
    let params = protocol
        .params
        .iter()
        .map(|param| expression::parameter(param).to_string());
    let constants = constants.iter().copied().flatten().cloned();
    let all = params.chain(constants);
    Obligation {
        name: format!("{number:03}_{}", goal.name),
        meaning: goal.meaning,
        declarations: all
            .map(|name| format!("(declare-const {name} Int)"))
            .chain(goal.functions)
            .collect(),
        hypotheses: goal.facts,
        goal: goal.goal,
        split: Vec::new(),
    }
}
