//! Any bytes as a protocol's text: read or refused, and laid out without a change of meaning.

#![no_main]

use libfuzzer_sys::fuzz_target;
use warplock::text;

fuzz_target!(|bytes: &[u8]| {
    let loaded = text::load(bytes);
    let Ok(source) = std::str::from_utf8(bytes) else {
        assert!(loaded.is_err());
        return;
    };
    if let Err(findings) = &loaded {
        for finding in findings {
            assert!(finding.span.start <= finding.span.end && finding.span.end <= bytes.len());
        }
        let _ = text::render(findings, "input", source, false);
    }
    let Ok(laid_out) = text::format(source) else {
        assert!(loaded.is_err(), "what has a meaning has a layout");
        return;
    };
    assert_eq!(text::format(&laid_out).as_ref(), Ok(&laid_out));
    let again = text::load(laid_out.as_bytes());
    match (loaded, again) {
        (Ok(first), Ok(second)) => {
            assert_eq!(first.name, second.name);
            assert_eq!(first.stmt_count, second.stmt_count);
            assert_eq!(first.expectations.len(), second.expectations.len());
        }
        (Err(_), Err(_)) => {}
        (first, second) => panic!("{} {}", first.is_ok(), second.is_ok()),
    }
});
