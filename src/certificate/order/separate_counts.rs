//! Named barriers at which different groups of members meet alternately, with different counts.
//!
//! ```text
//! sync bar[0] 256  for i in 0..N { sync bar[0] 128 }  sync bar[1] 256  sync bar[0] 256    // four warps
//! sync bar[0] 256                                     sync bar[1] 256  sync bar[0] 256    // four others
//! ```
//!
//! Registrations for 128 threads are never pending together with registrations for 256. So each count may as well
//! have a barrier of its own. The rule does this for the elements that the certificate names
//! ([`super::artefact::Element`]): the registrations at such an element form one ring for each count. The count is a
//! number, and each registration is one half of a `sync`.
//!
//! The rule proves the protocol in which the counts are separate. For any two rings of an element, one is the
//! *lesser* and the other one the *greater*, such that every member that registers at the lesser one also registers
//! at the greater one. Take a registration at the lesser ring, by a member `x` that has made `a` registrations at the
//! greater ring. It has to be shown that
//!
//! 1. `x` has waited at the greater ring as often as it has registered there;
//! 2. each member that makes registration `a` at the greater ring, of every class that registers there, knows that a
//!    member of the class of `x` has passed its wait for the generation of this registration of `x`, so that this
//!    generation is complete ([`super::artefact::About::Apart`]).
//!
//! *Why this is sound.* Take a run, and the first step that makes a registration at an element at which a
//! registration of another count is pending. Up to there, the run is one of the protocol with separate counts, so its
//! states are tidy. One of the two members is pending, and the other one registers now. Let `x` be the one at the
//! lesser ring, and `y` the one at the greater ring, with number `v` there. At the greater ring, generations below
//! `a` are complete: `x` has awaited them, by 1. Generation `a` is not complete, because it lacks the registration of
//! `x`: `x` does not go on before its wait has passed. If `y` is pending, generation `v` is not complete. If `y`
//! registers now, generation `v` is not complete by *in turn*. So `v = a` in either case, because `y` makes no
//! registration for a generation beyond that. But then, by 2, the generation of the registration of `x` at the lesser
//! ring is complete. So `x` has made this registration, and it is not pending. This is a contradiction. So
//! registrations of different counts are never pending together, and each run is one of the protocol with separate
//! counts.

use super::artefact::About;
use super::cases::fits;
use super::rings::Ring;
use super::rule::Claim;
use super::rule::Rule;
use super::rule::push;
use crate::certificate::exact;
use crate::certificate::program::Unsupported;
use crate::protocol::Expr;
use crate::protocol::ObjectKind;

impl Rule<'_> {
    /// The pairs of rings of one element with different counts: the lesser ring and the greater one, by position.
    pub(super) fn pairs_apart(&self) -> Result<Vec<(usize, usize)>, Unsupported> {
        let mut all = Vec::new();
        for (one, this) in self.rings.iter().enumerate() {
            for (other, that) in self.rings.iter().enumerate().skip(exact::next(one)) {
                let together = this.object == that.object
                    && this.count.is_some()
                    && that.count.is_some()
                    && self.element_of(this)? == self.element_of(that)?;
                if !together {
                    continue;
                }
                let (by, of) = (this.arriving(), that.arriving());
                all.push(if by.iter().all(|class| of.contains(class)) {
                    (one, other)
                } else if of.iter().all(|class| by.contains(class)) {
                    (other, one)
                } else {
                    let span = self.protocol.objects[this.object].span;
                    let what = "counts apart of which neither is used by all that use the other";
                    return Err(Unsupported::at(span, what));
                });
            }
        }
        Ok(all)
    }

    /// The indices of a ring whose registrations are kept apart.
    fn element_of(&self, ring: &Ring) -> Result<&[Expr], Unsupported> {
        let first = ring.arrivals.first();
        let (class, site) =
            first.ok_or_else(|| Unsupported::whole("counts apart that nobody registers with"))?;
        Ok(&self.site(*class, *site).index)
    }

    /// Everything that needs a chain because counts are kept apart.
    pub(super) fn ordered_apart(&self) -> Result<Vec<About>, Unsupported> {
        let mut all = Vec::new();
        for (lesser, greater) in self.pairs_apart()? {
            for by in self.rings[greater].arriving() {
                let arrivals = self.rings[lesser].arrivals.iter();
                all.extend(arrivals.map(|(class, site)| About::Apart(*class, *site, greater, by)));
            }
        }
        Ok(all)
    }

    /// A member that registers at the lesser ring has waited at the greater one.
    pub fn apart(&self) -> Result<Vec<Claim>, Unsupported> {
        let mut all = Vec::new();
        for (lesser, greater) in self.pairs_apart()? {
            let there = &self.rings[greater];
            let named = self.protocol.objects[there.object].kind == ObjectKind::Named;
            if !named || there.object != self.rings[lesser].object {
                return Err(Unsupported::whole("counts apart at no named barrier"));
            }
            for &(class, site) in &self.rings[lesser].arrivals {
                let name = format!("apart_c{class}_s{site}");
                let words = self.words(class, site);
                let what = format!("before {words}, all is over that it has begun there");
                for at in self.scene.at(self.class(class), site)? {
                    for (at, arrivals) in at.done(there.arrivals_of(class))? {
                        for (at, waits) in at.done(there.waits_of(class))? {
                            let left = fits(waits.plus(-1, &arrivals))?;
                            push(&mut all, &name, what.clone(), &at.scene, left);
                        }
                    }
                }
            }
        }
        Ok(all)
    }
}
