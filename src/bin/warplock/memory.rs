//! Configures the allocator to keep freed memory. To return it to the system would take longer than to decide a formula.

use std::hint;

/// Just below 32 MB: glibc learns from no larger block.
const BLOCK: usize = (32 << 20) - (64 << 10);

/// Has the allocator keep what is freed, where it adapts to what it sees.
///
/// Every Z3 context begins by filling tables of 17 MB. As glibc starts out, it gives such blocks
/// back to the system as soon as they are freed, and getting them again takes longer than deciding
/// a formula. Once a large block has been freed, it keeps twice as much. The block is not touched,
/// so it takes no memory; elsewhere this does nothing.
pub fn keep_freed() {
    drop(hint::black_box(Vec::<u8>::with_capacity(BLOCK)));
}
