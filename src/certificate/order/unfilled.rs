//! Arrivals whose bytes no member delivers. For example, a producer acquires the next free slot before it ends.
//!
//! ```text
//! for k in 0..N { wait empty 1 - k % 2  expect full 64  arrive full  deliver full 64 }
//! wait empty 1 - N % 2  expect full 64  arrive full
//! ```
//!
//! The last arrivals of a class at a ring may be *unfilled*: bytes are expected with them, and none are delivered. So
//! their generation is not completed, and it need not be. The rule changes only in these points:
//!
//! - before an unfilled arrival, its member has made all arrivals that are *filled*;
//! - waits are for filled arrivals alone, of all members that arrive (condition 4 of the rule);
//! - bytes are compared for filled arrivals alone, and brought as often as these are made.
//!
//! Then states stay tidy. An unfilled arrival is made in turn (6) like any other. Nothing is delivered to its
//! generation. By 6, no member arrives for the generation after it, because then the unfilled generation would have
//! been awaited. An awaited generation has only filled arrivals, so it completes as before. Hence the argument about
//! ranks is unchanged. Bytes are left over at the end, so `tx_mismatch` is not proved.

use super::cases::fits;
use super::polynomial::Polynomial;
use super::rule::Claim;
use super::rule::Rule;
use super::rule::equal;
use super::scene;
use crate::certificate::cut::count::Place;
use crate::certificate::program::Unsupported;

impl Rule<'_> {
    /// Marks arrivals as unfilled.
    pub(super) fn leave_unfilled(
        &mut self,
        unfilled: &[(usize, usize)],
    ) -> Result<(), Unsupported> {
        for of in unfilled {
            // The arrivals of a shadow are deliveries.
            let own = of.0 < self.classes.len();
            let mut rings = self.rings.iter_mut();
            let ring = rings.find(|ring| own && ring.arrivals.contains(of) && !ring.brings(of.0));
            let Some(ring) = ring else {
                return Err(Unsupported::whole("an unfilled arrival that is none"));
            };
            ring.unfilled.push(*of);
        }
        Ok(())
    }

    /// Unfilled arrivals are the last ones of their members.
    pub fn unfilled(&self) -> Result<Vec<Claim>, Unsupported> {
        let mut all = Vec::new();
        for ring in &self.rings {
            for &(class, site) in &ring.unfilled {
                let name = format!("unfilled_c{class}_s{site}");
                let what = format!(
                    "all arrivals whose bytes are delivered come before {}",
                    self.words(class, site)
                );
                let total = scene::before(self.class(class), Place::End, ring.filled_of(class))?;
                for at in self.scene.at(self.class(class), site)? {
                    for (at, done) in at.done(ring.filled_of(class))? {
                        for (at, total) in at.value(&total)? {
                            let apart: Polynomial = fits(total.plus(-1, &done))?;
                            equal(&mut all, &name, &what, &at.scene, &apart)?;
                        }
                    }
                }
            }
        }
        Ok(all)
    }
}
