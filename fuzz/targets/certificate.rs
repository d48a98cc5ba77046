//! Any bytes as a certificate's manifest: what can be read has its obligations derived anew, which
//! is everything that `certify` does before it asks a solver.

#![no_main]

use libfuzzer_sys::fuzz_target;
use warplock::certificate::manifest;
use warplock::certificate::manifest::Certificate;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(read) = serde_json::from_slice::<Certificate>(bytes) {
        let _ = manifest::issue(&read.source, &read.narrowing, &read.property, read.argument);
    }
});
