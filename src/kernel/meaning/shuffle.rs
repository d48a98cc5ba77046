//! The source lane of a shuffle.
//!
//! Source: PTX ISA, "shfl.sync".

use crate::ir::ShuffleMode;

/// The lane that a lane reads in a shuffle, and whether it is in range.
pub fn shuffled(mode: ShuffleMode, lane: u32, by: u32, clamp: u32) -> (u32, bool) {
    let (by, limit, segment) = (by & 31, clamp & 31, clamp >> 8 & 31);
    let most = lane & segment | limit & !segment;
    let least = lane & segment;
    let (from, in_range) = match mode {
        ShuffleMode::Up => {
            let from = i64::from(lane) - i64::from(by);
            (from, from >= i64::from(most))
        }
        ShuffleMode::Down => {
            let from = lane + by;
            (from.into(), from <= most)
        }
        ShuffleMode::Butterfly => {
            let from = lane ^ by;
            (from.into(), from <= most)
        }
        ShuffleMode::Index => {
            let from = least | by & !segment;
            (from.into(), from <= most)
        }
    };
    match u32::try_from(from) {
        Ok(from) if in_range => (from, true),
        _ => (lane, false),
    }
}
