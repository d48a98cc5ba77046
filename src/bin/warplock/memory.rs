//! Configures the allocator to keep freed memory. Giving it back to the system would take longer than deciding a
//! formula.

use std::hint;

/// Just below 32 MB, because glibc does not adapt to larger blocks.
const BLOCK: usize = (32 << 20) - (64 << 10);

/// Makes the allocator keep freed blocks, where the allocator adapts to the sizes that it sees.
///
/// Every Z3 context first fills tables of 17 MB. glibc at first gives blocks of this size back to the system as soon
/// as they are freed, and getting them again takes longer than deciding a formula. Once glibc has freed a large
/// block, it keeps up to twice that size. So this frees one large block. The block is not touched, so it takes no
/// memory. With other allocators this does nothing.
pub fn keep_freed() {
    drop(hint::black_box(Vec::<u8>::with_capacity(BLOCK)));
}
