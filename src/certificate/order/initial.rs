//! Explicit initialisation: every mbarrier is initialised once, and every use comes after it.
//!
//! An mbarrier with `init: explicit` is read as one that is there from the beginning, if
//!
//! 1. *(once)* each of its elements has one operation that initialises it, in no loop, of a class
//!    with at most one member; all elements of a ring are initialised by the same class;
//! 2. *(before)* a member that comes to a use of an element knows that all elements of its ring
//!    have been initialised ([`super::artefact::About::Initialised`]): a chain, like those of the
//!    rule, leads to the member that initialises them, at a place after all of these operations.
//!    (Without links it is the member itself.)
//!
//! *Why this is sound.* Leave out the operations that initialise, and let every mbarrier be there
//! from the beginning. This protocol is free of deadlock by the rule, and its states are tidy. Take
//! a run of the protocol as it is, and the first step in it that uses an element before that is
//! initialised. What comes before is a run of the protocol without these operations: an element is
//! first used when it has been initialised, once (1), so it is found as the declaration would leave
//! it. The last state before the step is tidy: what has been awaited is complete. So what chains
//! show is true there. By 2 the element has been initialised: a contradiction. So no run comes to
//! such a step. To initialise blocks nobody. So a stuck state would be one of the protocol without
//! these operations, too.

use super::cases::Env;
use super::cases::fits;
use super::polynomial::Polynomial;
use super::rings::Ring;
use super::rule::Claim;
use super::rule::Rule;
use super::rule::push;
use crate::certificate::program::Unsupported;
use crate::protocol::Expr;
use crate::protocol::ObjectKind;

impl Rule<'_> {
    /// Elements that have to be initialised are initialised at most once, and all of them by one
    /// member.
    pub fn initialised(&self) -> Result<Vec<Claim>, Unsupported> {
        let mut all = Vec::new();
        for (nth, ring) in self.rings.iter().enumerate() {
            let explicit = matches!(
                self.protocol.objects[ring.object].kind,
                ObjectKind::Mbarrier {
                    explicit_init: true,
                    ..
                }
            );
            if !explicit {
                continue;
            }
            let object = &self.protocol.objects[ring.object];
            if ring.uses.is_empty() {
                // Nothing else shows that its element exists and is initialised once.
                if !ring.inits.is_empty() {
                    let what = "an mbarrier that is initialised and not used";
                    return Err(Unsupported::at(object.span, what));
                }
                continue;
            }
            let by = self.initialising(ring)?;
            let name = format!("initialised_l{nth}");
            let what = format!("one member at most initialises `{}`", object.name);
            for (scene, size) in self.scene.value(&self.classes[by].size, &Env::new())? {
                let goal = fits(Polynomial::number(1).plus(-1, &size))?;
                push(&mut all, &name, what.clone(), &scene, goal);
            }
        }
        Ok(all)
    }

    /// The class that initialises the elements of a ring, each by one operation in no loop.
    pub(super) fn initialising(&self, ring: &Ring) -> Result<usize, Unsupported> {
        let object = &self.protocol.objects[ring.object];
        let refuse = |what| Err(Unsupported::at(object.span, what));
        let Some((by, _)) = ring.inits.first() else {
            return refuse("an mbarrier that nobody initialises");
        };
        let mut elements: Vec<i64> = Vec::new();
        for (class, site) in &ring.inits {
            let this = self.site(*class, *site);
            if class != by || !this.path.loops.is_empty() {
                return refuse("an mbarrier that is initialised more than once");
            }
            match ring.moving.map(|at| &this.index[at]) {
                Some(Expr::Int(element)) => elements.push(*element),
                Some(_) => return refuse("an mbarrier that is initialised at such an index"),
                None => elements.push(0),
            }
        }
        elements.sort_unstable();
        let Expr::Int(size) = ring.size else {
            return refuse("mbarriers without a fixed number that are initialised");
        };
        match (0..size).eq(elements) {
            true => Ok(*by),
            false => refuse("mbarriers that are not each initialised once"),
        }
    }
}
