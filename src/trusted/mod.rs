//! The trusted kernel: a small proof checker. (Here *kernel* does not mean a GPU kernel.)
//!
//! Each member counts its arrivals and the waits that it has passed. A certificate is a list of facts about these counters ([`certificate`]).
//! From the resolved protocol and the certificate, this module derives the obligations as SMT-LIB ([`obligations`]). If all are valid, nobody
//! hangs, and more. The module imports nothing but the protocol and the time limit. The search for certificates is not trusted.
//!
//! # The transition system
//!
//! [`system`] translates a protocol. Members of a *class* run one program. A *ring* consists of groups of `S` elements. A member does something
//! to only one group of it (`rings.rs`); at a semaphore it may add in one group and wait in another. Below, a *ring* means one such group, and a
//! member arrives or waits at it if it does so in this group. Control flow does not depend on elements. So each member does a fixed sequence of
//! acts, whatever the others do. A state says how far each member is, how often each element has completed, what is pending there (arrivals,
//! bytes), and what is in flight. Its steps are those of the reference semantics: a member does its next act, or something in flight lands.
//!
//! A member makes its arrivals at a ring to the *numbers* `0, 1, 2, ...`, in this order. The certificate says for each class how many arrivals a
//! member makes to a number, and what each of them counts. These are the *weights* of the class: in most cases one arrival that counts 1. Number
//! `v` belongs to element `v mod S` and to its generation `v div S + 1`. A member counts, for each ring ([`certificate::Counter`]): `a`, the
//! numbers to which it has made all its arrivals, and `w`, the waits that it has passed. A commit or a copy counts where it is started. A number
//! is *done* if everybody's arrivals to it have landed, and the bytes that these members expect of it have landed too. The `n`th wait of a class
//! at a ring, from 0, is for number `n - lag * S`, where `lag` is 0 or 1.
//!
//! # Obligations
//!
//! 1. *(declarations)* A ring without elements counts as one of size 1: by 3 nobody comes to an act there. A generation takes the weights of all
//!    members that arrive at the ring. Their sum is the number that an mbarrier or a split-phase barrier declares, that each use of a named
//!    barrier gives, and that the awaited value of a semaphore is made of (`world.rs`). Each arrival counts at least 1; at a split-phase barrier
//!    there is one to each number.
//! 2. *(a member by itself)* Every expression is defined where it is evaluated. The facts about a loop hold when it is reached and after each
//!    iteration. For the pairs of rings that the certificate lists, `u * w >= v * a - less` holds at the start and after every arrival
//!    (`member.rs`, `acts.rs`).
//! 3. *(numbers)* Elements exist. An arrival to number `a` is at element `a mod S`. Wait `w` is at element `w mod S`, and its parity is that of
//!    generation `(w - lag * S) div S + 1`. A wait for the own last arrival is for number `a - 1`, and no arrival to number `a` has been made.
//! 4. *(bytes)* A member that expects bytes at a ring is of a class that arrives there, once to each number. It expects bytes of a number before
//!    its own arrival to that number. It delivers them itself, each time at least one and never more than are missing. Before a wait, at the end,
//!    and at the next arrival at the ring, nothing is missing.
//! 5. *(in turn)* A member that makes an arrival to number `a >= S`, or expects bytes of it, knows that number `a - S` is done. Or the ring is of
//!    a semaphore, and nobody else arrives there. This is not asked of a semaphore that nobody waits for, since nothing depends on its value.
//! 6. *(not lapped)* For each class `c` that waits by parity there is a class with members that arrives at the ring. When it arrives to number
//!    `a`, it knows that everybody in `c` has passed the wait for number `a - S`, if there is one. Or `c` itself arrives, and each member has
//!    passed its own wait. For each class that waits for one value of a semaphore, every class that arrives at the ring knows so, whatever it has
//!    waited for itself.
//! 7. *(progress)* Take a member before a wait for number `j >= 0`, and a second one (maybe the same) of a class that arrives there, which has
//!    made all arrivals to at most `j` numbers. The second one is not at its end. Before whatever wait it stands, its rank is less than that of
//!    the first one's wait (`progress.rs`).
//! 8. *(pools)* Whoever takes of a pool finds enough, at once or where nothing else can happen (`pools.rs`).
//! 9. *(initialised)* Mbarriers that exist only when they have been initialised have a ring of their initialisations. One member arrives there,
//!    once to each number below `S`. A member that does anything else to an element has arrived at all of them itself. Or it knows that number 0
//!    of another ring is done, where a class with members arrives that has arrived at all of them before each of its arrivals there.
//!
//! *Knows* is a chain of links (`chains.rs`). The first link is a ring where the member itself has waited. All numbers below `w - lag * S` are
//! done there, so everybody of a class that arrives has made its arrivals to as many. By 2, each of these has passed so many waits at another
//! ring. There as many numbers less the lag are done, and so on. A link beyond the first needs that the class before has a member in the group.
//!
//! # Why it is sound
//!
//! *Local facts.* What 2 derives of a member at a place holds whenever a member is there. This is an induction over its program, which does not
//! depend on others.
//!
//! *Claim.* In every state that a run comes to: (i) what has completed at an element is the done numbers of that element, and these are its first
//! ones, unless it is of a semaphore that nobody waits for; (ii) a wait that has been passed was for a number below 0 or a done one. At the start
//! this holds. Take the first step that breaks it.
//!
//! All numbers below `w - lag * S` of a member's passed waits are done, by (ii), because waits are numbered without gaps. What is done stays
//! done, and counters only grow. So everything that a chain says holds before that step.
//!
//! The step does nothing to an mbarrier that has not been initialised, by 9, and nothing is initialised twice.
//!
//! It is not an arrival or a delivery. By 5, number `a - S` is done when an arrival to number `a` is started. (An addition to a semaphore lands
//! at once. So where nobody else arrives, everything to which the member itself has arrived is done.) Number `a` is not done before the arrival
//! has landed. So by (i) it lands in generation `a div S + 1`, with everybody's arrivals to that number. By 1 the generation takes exactly these,
//! so none is too much. By 4 the bytes expected of a number are added before the own arrival and are not negative. Each delivery is of at least
//! one byte that is still missing. So the count of bytes is not below 0. Once all have arrived, it is 0 exactly when all bytes have landed. So
//! the generation completes exactly when its number is done. For a semaphore: when `c` numbers are done in turn, everybody has made all additions
//! to `c` numbers and some to the next, each of at least 1. Somebody's addition to the next number is missing. So the value is
//! `initial + c * weights` plus less than the weights of all.
//!
//! It is not a wait. Let it be for number `j`, hence generation `g = j div S + 1`. The member has passed its wait for `j - S` if `j >= S`, so at
//! least `g - 1` generations are complete. If `g + 1` were complete, number `j + S` would be done. Then the class of 6 would have arrived to
//! number `j + S`, and its members would have known that this wait had been passed. So `g - 1` or `g` are complete, and by the parity it passes
//! iff `g` are; if `j < 0`, `g = 0` are, and it passes at once. A wait at a named or split-phase barrier passes iff the generation of the
//! member's last arrival is complete, by 3 that of number `j`. One at a semaphore passes iff the value is at least
//! `initial + weights * (j div S + 1)`. By the above that is so iff number `j` is done, or below 0. A wait for just that value: before, the value
//! is less. And while the member stands there, no addition to number `j + S` has been made, because by 6 who makes one knows that the wait has
//! been passed. So the value stays what it is.
//!
//! *Nothing is undefined.* No arrival is one too many. A member registers at a barrier for the next number only after its last generation there
//! has completed: by 5 at a named barrier, where each registration counts and its weights say how many there are in one generation; at a
//! split-phase one after it has waited. Counts of a named barrier agree (1). Numbers of bytes and arrivals are in range. Elements exist (3).
//!
//! *Progress.* Suppose that nothing can happen and somebody has not finished. Everything in flight has landed, and everybody runs. By 8 nobody
//! stands before something that it takes of a pool. Of all blocked members take one with the least rank. It waits for a number `j` that is not
//! done, and `j >= 0`. So an arrival of some member to `j` is missing, or bytes that it expects of it. It is not the bytes: that member is before
//! a wait or at its end, where by 4 nothing is missing that it expects of any number. So it has made all arrivals to at most `j` numbers. By 7 it
//! has not finished and its rank is less: a contradiction.
//!
//! # Other properties
//!
//! The obligations prove more than that nobody hangs ([`proves`]). What belongs to a number `a` takes effect when number `a - S` is done, by 5,
//! and number `a` is not: an arrival that has not landed, an expectation before it, or a delivery that is missing, by 4. So it is of generation
//! `a div S + 1` of its element in every run (`early_completion`). A wait by parity passes after exactly `g` completions (`early_pass`). From the
//! time that they are there it can pass until it has, since there is no further one before (`lapped_wait`). Nothing is undefined
//! (`over_arrival`). Nothing is used before it is there (`uninitialized`, but for what ends with a CTA). Pools have enough (`resources`, but for
//! data, and for what has to be given back). What is missing at an element is what its members have expected and what has not landed of it, so at
//! least as much as any delivery that has not landed. Where nothing can happen everybody is at the end, and nothing is missing (`tx_mismatch`).
//!
//! # What is refused
//!
//! Patterns, rows, `break`, `return`, resets, grids that need not fit, two indices that move. [`system`] names the construct.

// A number that does not fit is refused: none wraps, saturates or overflows where proofs are checked.
#![deny(clippy::arithmetic_side_effects)]
#![deny(clippy::disallowed_methods)]

mod acts;
pub mod certificate;
mod chains;
mod declared;
pub mod events;
pub mod exact;
pub mod expression;
mod groups;
mod member;
pub mod obligation;
mod pools;
mod progress;
pub mod rings;
pub mod system;
pub mod term;
pub mod unsupported;
mod world;

use certificate::Certificate;
use member::Goal;
use member::Member;
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
        | Property::TxMismatch
        | Property::Uninitialized
        | Property::Resources => true,
        Property::Race | Property::StaleRead | Property::Assertion => false,
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
    add(world.declared.goals.clone(), &[&world.constants]);
    let classes = 0..system.classes.len();
    let walk = |tag| -> Result<Vec<Member<'_, '_>>, Unsupported> {
        classes
            .clone()
            .map(|class| member::walk(&world, class, tag))
            .collect()
    };
    let (members, others) = (walk("m")?, walk("n")?);
    for (class, walked) in members.iter().enumerate() {
        add(walked.goals.clone(), &[&world.constants, &walked.constants]);
        for (other, theirs) in others.iter().enumerate() {
            let goals = progress::goals(&world, class, walked, other, theirs)?;
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
