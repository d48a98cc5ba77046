//! Decides which proofs show that the waits of each member are in turn.
//!
//! A kernel may skip a wait because an earlier test of the mbarrier has passed. Its recovered protocol contains the
//! wait at the place where it would be executed. Recovery shows that the test comes after the member's previous wait
//! at that mbarrier. It states the rest by an assumption that begins with [`OUT_OF_TURN`]. A proof does not rest on
//! this assumption if it shows the following for every wait by parity:
//!
//! 1. The wait is for one generation `g` in every run, and its parity is that of `g`.
//! 2. If `g` is above 1, the member's previous wait at that element is for `g - 1`.
//! 3. While the member stands before the wait, `g - 1` or `g` generations are complete.
//!
//! # Why it suffices
//!
//! Take the first skip in a run of the kernel at which the wait would block. Up to this point, the run is one of the
//! protocol. By 1 and 3, `g - 1` generations are complete. The test has passed. So by its parity, the number of
//! complete generations at the time of the test was `g`, or less than `g` by an even number. Completions do not
//! decrease, so it was at most `g - 2`. But then `g` is above 1, and the member had passed its wait for `g - 1`
//! before the test. This is a contradiction. So there is no such skip, and every run of the kernel is one of the
//! protocol.
//!
//! # Which proofs show it
//!
//! - The trusted kernel (`trusted`): the `n`th wait of a member at a ring is for number `n - lag * S`. So the wait
//!   for the previous number at the same element is `S` waits earlier. Its claim includes 3.
//! - The cut rule: 2 is its condition 4, and 3 follows from this condition and condition 5.
//! - The order rule: the `n`th wait of a class at a ring is for arrival `n - rounds * size - arrivals`. Suppose that
//!   neither of these two numbers is negative. Then for a wait for generation 2 or later, there is a wait for the
//!   previous generation, `size` waits earlier. Only waits for arrivals below 0 may be skipped. Members of a team
//!   number their waits together, so the wait for the previous generation may be another member's. So proofs with
//!   teams do not count.
//!
//!   The order rule leaves out waits that end programs before it is applied
//!   ([`trailing_waits`](super::order::trailing_waits)). These may be for any generation, and a test may skip one
//!   wrongly. After such a wait, the member only waits. So the run is still one of the protocol without these waits.
//!   In that protocol all members come to these waits, and a member that does not skip its wait passes it.
//! - The case rule, if both of its proofs show it.
//!
//! Other rules do not show it, and a search does not number waits.

use super::argument::Argument;
use super::case_split;
use super::order;
use crate::protocol::Property;
use crate::protocol::Protocol;

/// The beginning of an assumption on which such proofs do not rest.
pub const OUT_OF_TURN: &str =
    "if waits at an mbarrier may be for phases that are not consecutive, ";

/// The beginning of an assumption that recovery makes if it has not shown that the test comes after the previous
/// wait. Every proof rests on this assumption.
pub const OVERTAKEN: &str = "a phase that a test has found complete is not overtaken";

/// Whether a proof by this argument also covers all runs in which tests skip waits.
pub fn is_in_turn(protocol: &Protocol, argument: &Argument) -> bool {
    // For operations that return a value, a proof is about their replacement, and says nothing about waits.
    if protocol.atomic().is_some() {
        return false;
    }
    match argument {
        Argument::Kernel(_) | Argument::Cut(_) => {}
        Argument::Order(order) => {
            let mut lags = order.lags.iter();
            return order.teams.is_empty()
                && lags.all(|lag| lag.rounds >= 0 && lag.arrivals >= 0)
                && order::proves(protocol, Property::EarlyPass);
        }
        Argument::CaseSplit(split) => {
            let Ok(parts) = case_split::parts(protocol, split.param, split.from) else {
                return false;
            };
            let both = parts.iter().zip([&split.below, &split.above]);
            return both
                .into_iter()
                .all(|(part, argument)| is_in_turn(part, argument));
        }
        Argument::Waits(_)
        | Argument::Ticket(_)
        | Argument::Turns(_)
        | Argument::Credit(_)
        | Argument::Separation(_)
        | Argument::Arriver(_)
        | Argument::Exhaustive(_) => return false,
    }
    argument.proves(protocol, Property::EarlyPass)
        && argument.proves(protocol, Property::LappedWait)
}
