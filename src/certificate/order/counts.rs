//! The condition that the arrivals of all members at an element are as many as a generation needs.

use std::ops::Neg;

use super::cases::Env;
use super::cases::fits;
use super::rings::Ring;
use super::rule::Claim;
use super::rule::Rule;
use super::rule::equal;
use super::rule::push;
use crate::certificate::cut::algebra;
use crate::certificate::cut::flow::Kind;
use crate::certificate::program::Unsupported;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::ObjectKind;

/// How many threads a registration at a named barrier counts for.
const WARP: i64 = 32;

impl Rule<'_> {
    /// The members that arrive at a ring's elements are as many as a generation needs.
    pub fn counts(&self) -> Result<Vec<Claim>, Unsupported> {
        let mut all = Vec::new();
        for ring in 0..self.rings.len() {
            all.extend(self.counted(ring)?);
        }
        Ok(all)
    }

    /// The same for one ring, by position.
    pub fn counted(&self, nth: usize) -> Result<Vec<Claim>, Unsupported> {
        let mut all = Vec::new();
        let ring = &self.rings[nth];
        let object = &self.protocol.objects[ring.object];
        let name = format!("count_l{nth}");
        let what = format!("as many arrive at `{}` as it expects", object.name);
        let mut sum = Expr::Int(0);
        for class in ring.arriving() {
            if ring.brings(class) {
                continue;
            }
            let each = self.counted_each(ring, class)?;
            // This also covers classes whose members do not come to their arrivals: the arrivals of the other classes
            // must not exceed the expected count.
            for scene in self.scene.inhabited(self.class(class))? {
                for (scene, each) in scene.value(&each, &Env::new())? {
                    push(&mut all, &name, what.clone(), &scene, fits(each.less(1))?);
                }
            }
            if let Some((squad, turn)) = ring.team(class, true)
                && turn > 0
            {
                // One of them arrives in each generation, and the arrivals of all of them count the same.
                let first = self.counted_each(ring, squad.classes[0])?;
                let apart = Expr::binary(BinaryOp::Sub, each, first);
                for (scene, apart) in self.scene.value(&apart, &Env::new())? {
                    equal(&mut all, &name, &what, &scene, &apart)?;
                }
                continue;
            }
            let members = algebra::mul(self.class(class).size.clone(), each);
            sum = Expr::binary(BinaryOp::Add, sum, members);
        }
        match &object.kind {
            ObjectKind::Mbarrier { arrivals, .. } | ObjectKind::Barrier { arrivals } => {
                // If no class arrives, no generation completes: see `Rule::waits`.
                if ring.arrivals.is_empty() {
                    return Ok(all);
                }
                let missing = Expr::binary(BinaryOp::Sub, arrivals.clone(), sum);
                for (scene, missing) in self.scene.value(&missing, &Env::new())? {
                    equal(&mut all, &name, &what, &scene, &missing)?;
                }
            }
            _ => {
                if !ring.seats.is_empty() {
                    self.counted_by_seats(ring, &name, &what, &mut all)?;
                    return Ok(all);
                }
                let threads = Expr::binary(BinaryOp::Mul, Expr::Int(WARP), sum);
                for (class, site) in &ring.arrivals {
                    let Kind::Register { count } = &self.site(*class, *site).kind else {
                        continue;
                    };
                    let missing = Expr::binary(BinaryOp::Sub, count.clone(), threads.clone());
                    for at in self.scene.at(self.class(*class), *site)? {
                        for (at, missing) in at.value(&missing)? {
                            equal(&mut all, &name, &what, &at.scene, &missing)?;
                        }
                    }
                }
            }
        }
        Ok(all)
    }

    /// How much each arrival of a class at a ring counts: the same amount each time. At an mbarrier, a warp may count
    /// for its 32 lanes at once: `arrive b 32`. In a generation, there is one arrival of each member (*in turn*). So
    /// the pending count is 0 when all members have arrived and not before, and no arrival counts more than is
    /// pending.
    fn counted_each(&self, ring: &Ring, class: usize) -> Result<Expr, Unsupported> {
        let mut each: Option<&Expr> = None;
        for site in ring.arrivals_of(class) {
            let this = self.site(class, site);
            let Kind::Arrive { weight, .. } = &this.kind else {
                continue;
            };
            let mut loops = this.path.loops.iter();
            let moves =
                |at: &usize| algebra::mentions(weight, self.class(class).flow.loops[*at].var);
            if loops.any(moves) || each.is_some_and(|known| known != weight) {
                let what = "arrivals of one member that count differently";
                return Err(Unsupported::at(this.span, what));
            }
            each = Some(weight);
        }
        Ok(each.cloned().unwrap_or(Expr::Int(1)))
    }

    /// Each registration names the number of threads of all members that have a seat at its number.
    fn counted_by_seats(
        &self,
        ring: &Ring,
        name: &str,
        what: &str,
        all: &mut Vec<Claim>,
    ) -> Result<(), Unsupported> {
        for &(class, site) in &ring.arrivals {
            let Kind::Register { count } = &self.site(class, site).kind else {
                continue;
            };
            for at in self.scene.at(self.class(class), site)? {
                for (at, number) in self.next(ring, class, &at)? {
                    for (at, count) in at.value(count)? {
                        for (scene, members) in self.seated(ring, class, &at.scene, &number)? {
                            let missing = fits(count.plus(i128::from(WARP).neg(), &members))?;
                            equal(all, name, what, &scene, &missing)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}
