//! Proofs in which the waits of each member are in turn.
//!
//! A kernel may skip a wait because an earlier test of the mbarrier has passed. Its recovered protocol has the wait where it would stand.
//! Recovery shows that the test comes behind the member's wait before at that mbarrier, and says the rest by an assumption that
//! begins with [`OUT_OF_TURN`]. A proof does not rest on that one if it shows of every wait by parity:
//!
//! 1. it is for one generation `g` in every run, and its parity is that of `g`;
//! 2. if `g` is above 1, the member's wait before at that element is for `g - 1`;
//! 3. while the member stands before it, `g - 1` or `g` are complete.
//!
//! # Why it suffices
//!
//! Take the first skip of a run of the kernel at which the wait would block. Up to there it is a run of the protocol. By 1 and 3, `g - 1`
//! generations are complete. The test has passed, so by the parity as many were complete then as `g`, or fewer by an even number. Completions do
//! not get fewer, so they were at most `g - 2`. But then `g` is above 1, and the member had passed its wait for `g - 1` before the test.
//! So there is no such skip, and every run of the kernel is one of the protocol.
//!
//! # Which proofs show it
//!
//! - The kernel (`trusted`): the `n`th wait of a member at a ring is for number `n - lag * S`, so the one for the number before
//!   at that element is `S` waits earlier. Its claim is 3.
//! - The cut rule: 2 is its condition 4, and 3 follows from that and 5.
//! - The order rule: the `n`th wait of a class at a ring is for arrival `n - rounds * size - arrivals`. If neither of these numbers is
//!   negative, a wait for generation 2 or later has one for the generation before, `size` waits earlier. Only waits for
//!   arrivals below 0 may be skipped. Members of a team number their waits together, so the wait for the generation before
//!   may be another member's. Such proofs do not count.
//!
//!   The rule leaves out waits that end programs before it is applied ([`trailing_waits`](super::order::trailing_waits)).
//!   They may be for any generation, and a test may spare one wrongly. Behind it the member only waits, so the run is still one of
//!   the protocol without these waits. In that protocol everybody comes to these waits. Whoever does not skip one passes it.
//! - The case rule, if both of its proofs do.
//!
//! Other rules say nothing of it, and a search does not number waits.

use super::argument::Argument;
use super::case_split;
use super::order;
use crate::protocol::Property;
use crate::protocol::Protocol;

/// How an assumption begins on which such proofs do not rest.
pub const OUT_OF_TURN: &str =
    "if waits at an mbarrier may be for phases that are not consecutive, ";

/// How an assumption begins that recovery makes where it has not shown that the test comes behind the wait before. Every proof
/// rests on that.
pub const OVERTAKEN: &str = "a phase that a test has found complete is not overtaken";

/// Whether what an argument proves is proved for all runs in which tests spare waits.
pub fn is_in_turn(protocol: &Protocol, argument: &Argument) -> bool {
    // A proof about what replaces an operation that returns a value says nothing of waits.
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
