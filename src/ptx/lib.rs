//! The older recovery, from PTX to text, as a crate of its own. `warplock` names it as its room `ptx`.

#[path = "mod.rs"]
pub mod ptx;

use warplock_core::patience;
use warplock_core::protocol;
use warplock_core::text;
