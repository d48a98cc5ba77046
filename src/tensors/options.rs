//! Options of the readers: choices that a file leaves open, and limits.

/// The largest number of array elements held at once unless an option says otherwise (2^26:
/// an 8192 x 8192 matrix).
pub(super) const MAX_ELEMENTS: u64 = 1 << 26;

/// The largest number of tiles along one axis unless an option says otherwise (2^24).
pub(super) const MAX_BLOCKS: u64 = 1 << 24;

/// The largest file that is read unless an option says otherwise (1 GiB).
pub(super) const MAX_BYTES: u64 = 1 << 30;

/// Choices and limits for reading block-sparse arrays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadOptions {
    /// The number of row tiles M, where the file does not say it. A file that says another
    /// number is refused.
    pub m_blocks: Option<usize>,
    /// Which batch to take from arrays with leading batch and head dimensions. Not needed where
    /// there is only one.
    pub batch: Option<usize>,
    /// Which head to take from arrays with leading batch and head dimensions. Not needed where
    /// there is only one.
    pub head: Option<usize>,
    /// The largest number of elements of all arrays together; more is refused before it is
    /// allocated.
    pub max_elements: u64,
    /// The largest N and M accepted.
    pub max_blocks: u64,
    /// The largest file, in bytes.
    pub max_bytes: u64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            m_blocks: None,
            batch: None,
            head: None,
            max_elements: MAX_ELEMENTS,
            max_blocks: MAX_BLOCKS,
            max_bytes: MAX_BYTES,
        }
    }
}

impl ReadOptions {
    /// The element limit; positions must also fit the int32 offsets that kernels are given.
    pub(super) fn element_limit(&self) -> u64 {
        self.max_elements.min(i32::MAX as u64)
    }

    /// The extent limit; tile indices must also fit int32.
    pub(super) fn block_limit(&self) -> u64 {
        self.max_blocks.min(i32::MAX as u64)
    }
}
