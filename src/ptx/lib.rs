//! The older recovery, from PTX to protocol text, as a crate of its own. In `warplock` it is the module `ptx`.

#[path = "mod.rs"]
pub mod ptx;

use warplock_core::deadline;
use warplock_core::protocol;
use warplock_core::text;
