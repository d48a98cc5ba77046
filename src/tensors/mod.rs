//! Block-sparse tile arrays: which CTA visits which row tile, and in which order.
//!
//! For example, an attention backward kernel gets, for every column tile `n` of keys, the row tiles `m` of queries
//! that it has to visit. [`BlockSparse`] is this relation with its visiting order. Every way to make one checks it or
//! builds it correctly, so it is always valid. It comes from a file ([`read()`]), from the segment lengths of packed
//! sequences ([`packing`]), from a causal or sliding window ([`windows`]), or from a seed ([`synthetic`]).
//! [`write`](mod@write) and [`torch`] turn it back into the arrays that a kernel gets.
//!
//! `docs/tensors.md` documents the file formats and every message.

mod array;
mod error;
mod forward;
mod json;
mod layout;
mod matrix;
mod memory;
mod model;
mod names;
mod npy;
mod npz;
mod options;
mod pickle;
mod pt;
mod safetensors;
mod validate;

pub mod packing;
pub mod read;
pub mod synthetic;
pub mod torch;
pub mod windows;
pub mod write;

pub use error::Problem;
pub use error::TensorError;
pub use error::TensorErrorKind;
pub use model::BlockSparse;
pub use model::Entry;
pub use model::ExtentSource;
pub use model::TileKind;
pub use options::ReadOptions;
pub use read::Format;
pub use read::read;
pub use read::read_bytes;
