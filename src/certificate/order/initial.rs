//! Explicit initialisation: every mbarrier is initialised once, and every use comes after it.
//!
//! An mbarrier with `init: explicit` is treated as one that exists from the beginning, if
//!
//! 1. *(once)* each of its elements is initialised by one operation, outside of all loops, of a class with at most
//!    one member; and all elements of a ring are initialised by the same class;
//! 2. *(before)* a member that comes to a use of an element knows that all elements of its ring have been initialised
//!    ([`super::artefact::About::Initialised`]): a chain, like those of the rule, leads to the member that
//!    initialises them, at a place after all of these operations. (A chain without links means that it is the same
//!    member.)
//!
//! *Why this is sound.* Remove the operations that initialise, and let every mbarrier exist from the beginning. By
//! the rule, the new protocol is free of deadlock, and its states are tidy. Take a run of the original protocol, and
//! the first step in it that uses an element before the element is initialised. The steps before it form a run of the
//! new protocol: an element is used only after it has been initialised, which happens once (1), so its state is that
//! of the declaration. The last state before the step is tidy: awaited generations are complete. So the facts that
//! chains show are true there. By 2, the element has been initialised. This is a contradiction. So no run comes to
//! such a step. Initialisation blocks no member. So a stuck state of the original protocol would be one of the new
//! protocol, too.

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
    /// Each element that has to be initialised is initialised at most once, and one member initialises all elements
    /// of a ring.
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
                // No other obligation shows that its element exists and is initialised once.
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

    /// The class that initialises the elements of a ring, each by one operation outside of all loops.
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
