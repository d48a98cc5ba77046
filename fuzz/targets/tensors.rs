//! Any bytes as block-sparse arrays, in the format that the first bytes and the content say.

#![no_main]

use libfuzzer_sys::fuzz_target;
use warplock::tensors::Format;
use warplock::tensors::ReadOptions;
use warplock::tensors::read_bytes;
use warplock::tensors::write::to_json;

fuzz_target!(|bytes: &[u8]| {
    let options = ReadOptions {
        max_elements: 1 << 16,
        max_blocks: 1 << 12,
        ..ReadOptions::default()
    };
    let Some(format) = Format::guess(None, bytes) else {
        return;
    };
    if let Ok(tiles) = read_bytes(bytes, format, &options) {
        // What was read can be written and read again.
        let text = to_json(&tiles, None);
        let again = read_bytes(text.as_bytes(), Format::Json, &options).expect("our own output");
        assert!(tiles.entries().eq(again.entries()));
    }
});
