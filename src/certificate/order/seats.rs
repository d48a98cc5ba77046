//! Generations of a named barrier in which not all members take part.
//!
//! ```text
//! arrive bar 64  for i in 0..N { sync bar 64  .. }      // one warp
//! for i in 0..N { ..  arrive bar 64 }                   // another one
//! ```
//!
//! The other warp registers for the second generation first. So the first generation has two registrations of the
//! first warp: the one before its loop stands for the other warp. Such a protocol may also change the count: for
//! example, eight warps meet with 256 threads, and then these eight and one more meet with 288.
//!
//! So a class or shadow (`repeated_registrations.rs`) has a *seat* at a ring ([`Seat`]). Its registrations are
//! numbered from the first number of the seat on. It takes part in the generations of all numbers from this one on.
//! If the seat ends, it takes part only up to its last registration. In the example, the first registration of the
//! first warp belongs to a shadow that has a seat for number 0 alone, and the seat of the other warp begins with
//! number 1. A class without a seat in the certificate has one that begins with 0 and does not end, as at mbarriers.
//!
//! The rule is the same as before, with "each member that has a seat at number `v`" in place of "each member that
//! arrives at the ring":
//!
//! - count (2): a registration with number `v` names the number of threads of all members that have a seat at `v`;
//! - turn (3), in turn (6), rank (8): the seat determines the numbers of registrations;
//! - wait (4): each member with a seat at `j` makes registration `j`. If the seat ends, this holds by definition;
//! - a link of a chain is to a class that has a seat at the number.
//!
//! A state is tidy if the following holds at each element with `c` complete generations: each member has made all of
//! its registrations for these generations, and none for a generation beyond the next one.
//!
//! States stay tidy. Let a member make registration `v`, for generation `g` of its element. By 6, generation `g - 1`
//! is complete. All registrations that have been made since then are for `g`, and they are different ones. By 2, each
//! names the same count, which depends only on `v`: that of all members that have a seat at `v`. So `g` is complete
//! when all of these have registered, and not before. The member is one of them, and makes registration `v` once. So
//! `g` is not complete before this registration. In a stuck state, an awaited generation lacks the registration of
//! some member that has a seat there and whose program makes this registration (4). The rest of the argument is as
//! before.
//!
//! A generation for which no member waits may lack registrations for ever. The last one in the example above is such
//! a generation. By 6, no member registers for the generation after it.

use super::artefact::Seat;
use super::cases::Env;
use super::cases::fits;
use super::polynomial::Polynomial;
use super::rings::Ring;
use super::rule::Rule;
use super::scene;
use super::scene::At;
use super::scene::Scene;
use crate::certificate::cut::count::Place;
use crate::certificate::program::Unsupported;
use crate::protocol::Expr;
use crate::protocol::ObjectKind;

/// The greatest first number of a seat.
const MAX_FIRST: i64 = 1 << 20;

impl Ring {
    /// The number of a class's first arrival, and whether its seat ends with its last arrival.
    pub fn seat(&self, class: usize) -> (i64, bool) {
        let seat = self.seats.iter().find(|seat| seat.class == class);
        seat.map_or((0, false), |seat| (seat.first, seat.ends))
    }
}

impl Rule<'_> {
    /// Assigns seats to classes and shadows.
    ///
    /// # Errors
    ///
    /// A seat without members, one that is not at a named barrier, or a second one.
    pub(super) fn seat(&mut self, seats: &[Seat]) -> Result<(), Unsupported> {
        let none = || Unsupported::whole("a seat that is none");
        for seat in seats {
            let ring = self.rings.get_mut(seat.ring).ok_or_else(none)?;
            let named = self.protocol.objects[ring.object].kind == ObjectKind::Named;
            let arrives = ring.arrivals_of(seat.class).next().is_some();
            let again = ring.seats.iter().any(|other| other.class == seat.class);
            if !named
                || !arrives
                || again
                || ring.count.is_some()
                || !(0..=MAX_FIRST).contains(&seat.first)
            {
                return Err(none());
            }
            ring.seats.push(*seat);
        }
        Ok(())
    }

    /// The number of a class's next arrival at a ring, by cases.
    pub(super) fn next<'c>(
        &self,
        ring: &Ring,
        class: usize,
        at: &At<'c>,
    ) -> Result<Vec<(At<'c>, Polynomial)>, Unsupported> {
        let first = Polynomial::number(i128::from(ring.seat(class).0));
        let done = at.done(ring.arrivals_of(class))?.into_iter();
        done.map(|(at, done)| {
            let number = self.number((ring, class, true), at.class, &at.env, &done)?;
            Ok((at, fits(number.plus(1, &first))?))
        })
        .collect()
    }

    /// The polynomials that have to be at least 0 for a class to have a seat at a number, by cases. If all of them
    /// are, the class has a seat there. The number is not below 0.
    pub(super) fn taken(
        &self,
        ring: &Ring,
        class: usize,
        scene: &Scene,
        number: &Polynomial,
    ) -> Result<Vec<(Scene, Vec<Polynomial>)>, Unsupported> {
        let (first, ends) = ring.seat(class);
        let mut conditions = Vec::new();
        if first > 0 {
            conditions.push(fits(number.less(i128::from(first)))?);
        }
        if !ends {
            return Ok(vec![(scene.clone(), conditions)]);
        }
        let arrivals = ring.arrivals_of(class);
        let total = scene::before(self.class(class), Place::End, arrivals)?;
        let mut all = Vec::new();
        for (scene, total) in scene.value(&total, &Env::new())? {
            let total = fits(total.plus(1, &Polynomial::number(i128::from(first))))?;
            let left = fits(fits(total.plus(-1, number))?.less(1))?;
            all.push((scene, [conditions.clone(), vec![left]].concat()));
        }
        Ok(all)
    }

    /// The number of members that have a seat at the number of a class's arrival, by cases.
    pub(super) fn seated(
        &self,
        ring: &Ring,
        class: usize,
        scene: &Scene,
        number: &Polynomial,
    ) -> Result<Vec<(Scene, Polynomial)>, Unsupported> {
        let mut all = vec![(scene.clone(), Polynomial::default())];
        for other in ring.arriving() {
            Unsupported::unless_in_time()?;
            let size: &Expr = &self.class(other).size;
            let mut next = Vec::new();
            for (scene, sum) in all {
                for (scene, size) in scene.value(size, &Env::new())? {
                    let more = fits(sum.plus(1, &size))?;
                    if other == class {
                        // The class is at its own arrival.
                        next.push((scene, more));
                        continue;
                    }
                    for (scene, conditions) in self.taken(ring, other, &scene, number)? {
                        // The cases: the first condition that fails, or none fails.
                        let mut inside = scene;
                        for condition in conditions {
                            let fails = fits(Polynomial::number(-1).plus(-1, &condition))?;
                            let outside = inside.with(vec![fails.clone()]);
                            if fails.value().is_none_or(|value| value >= 0) {
                                next.push((outside, sum.clone()));
                            }
                            inside = inside.with(vec![condition]);
                        }
                        next.push((inside, more.clone()));
                    }
                }
            }
            next.retain(|(scene, _)| scene.possible());
            if next.len() > MAX_CASES {
                return Err(Unsupported::whole("so many cases of who takes part"));
            }
            all = next;
        }
        Ok(all)
    }
}

/// With more cases than this, a protocol is not supported.
const MAX_CASES: usize = 64;
