//! Any bytes as a witness: refused, or replayed to the end it claims.

#![no_main]

use libfuzzer_sys::fuzz_target;
use warplock::text;
use warplock::text::Narrowing;
use warplock::witness;
use warplock::witness::Witness;

fuzz_target!(|bytes: &[u8]| {
    let Ok(read) = Witness::from_json(bytes) else {
        return;
    };
    let Ok(mut protocol) = text::load(read.source.as_bytes()) else {
        return;
    };
    let narrowing = Narrowing {
        assume: read.assumptions.clone(),
        ..Narrowing::default()
    };
    if text::narrow(&mut protocol, &narrowing).is_ok()
        && let Ok(replayed) = witness::replay(&protocol, &read)
    {
        assert_eq!(replayed.schedule.len(), read.schedule.len());
    }
});
