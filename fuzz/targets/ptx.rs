//! Any bytes as PTX: refused, or every entry lifted to a text that can be read, or an obstacle.

#![no_main]

use libfuzzer_sys::fuzz_target;
use warplock::ptx;
use warplock::ptx::Options;
use warplock::text;

fuzz_target!(|bytes: &[u8]| {
    let Ok(module) = ptx::parse(bytes, &|_| {}) else {
        return;
    };
    for entry in module.functions.iter().filter(|f| f.entry) {
        match ptx::lift(&module, entry, &Options::default()) {
            Ok(lifted) => {
                text::load(lifted.text.as_bytes()).expect("what is lifted can be read");
            }
            Err(ptx::Failure::Obstacle(obstacle)) => assert!(!obstacle.words(&module).is_empty()),
            Err(ptx::Failure::Input(_)) => {}
        }
    }
});
