//! The bytes that mbarriers expect.
//!
//! If the class that expects the bytes of a ring also delivers them, with the same arrival, the bytes of each such
//! arrival are balanced. Otherwise, as with a multicast copy, a class may *bring* bytes to a ring without arriving
//! there. The deliveries that one of its members makes without a wait in between are numbered, ordered and ranked
//! like one arrival ([`super::rings`]). So all of them land in the generation that they are meant for. But they do
//! not count as an arrival. In this case, every member expects or delivers the same number of bytes each time, all do
//! so equally often, and the sum over all members is 0.
//!
//! A class that arrives at a ring may also bring bytes to it separately from its arrivals. For example, a barrier may
//! stand between:
//!
//! ```text
//! expect full 4096; arrive full; sync bar; deliver full 4096
//! ```
//!
//! Such deliveries are numbered separately, as if another class brought them: the *shadow* of the class. The shadow
//! has the same members, with the same waits and ranks. Only at such rings, its arrivals are these deliveries.

use super::cases::Env;
use super::cases::fits;
use super::rings::Ring;
use super::rings::together;
use super::rule::Claim;
use super::rule::Rule;
use super::rule::equal;
use super::rule::push;
use super::scene;
use crate::certificate::cut::count::Place;
use crate::certificate::cut::flow::Kind;
use crate::certificate::cut::flow::Site;
use crate::certificate::exact;
use crate::certificate::program::Unsupported;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;

impl Rule<'_> {
    /// Bytes are expected with an arrival, and delivered for the same generation.
    pub(super) fn bytes(&self, all: &mut Vec<Claim>) -> Result<(), Unsupported> {
        for (class, this) in self.classes.iter().enumerate() {
            let sites = &this.flow.sites;
            for (at, site) in sites.iter().enumerate() {
                let (Kind::Expect { bytes } | Kind::Deliver { bytes }) = &site.kind else {
                    continue;
                };
                // No wait depends on a delivery of zero bytes, so it might land at any later time.
                let least = i128::from(matches!(site.kind, Kind::Deliver { .. }));
                let what = format!("{} is of a number of bytes", self.words(class, at));
                for place in self.scene.at(this, at)? {
                    for (place, bytes) in place.value(bytes)? {
                        let bytes = fits(bytes.less(least))?;
                        push(
                            all,
                            &format!("bytes_c{class}_s{at}"),
                            what.clone(),
                            &place.scene,
                            bytes,
                        );
                    }
                }
                let around = together(sites, at);
                let run: Vec<&Site> = around.iter().map(|at| &sites[*at]).collect();
                let refuse = || {
                    Err(Unsupported::at(
                        site.span,
                        "bytes that are not delivered by whoever expects and arrives, at once",
                    ))
                };
                let is = |test: fn(&Kind) -> bool| {
                    let run = run.iter().enumerate();
                    run.filter(move |(_, s)| test(&s.kind)).map(|(at, _)| at)
                };
                // Other classes expect these bytes: see `balance`.
                let brought = |ring: &Ring| {
                    let mut deliveries = ring.deliveries.iter();
                    deliveries.any(|(by, site)| {
                        ring.brings(*by) && *site == at && self.member(*by) == class
                    })
                };
                if self.rings.iter().any(brought) {
                    continue;
                }
                let arrivals: Vec<usize> = is(|k| matches!(k, Kind::Arrive { .. })).collect();
                let expects = is(|k| matches!(k, Kind::Expect { .. }));
                let delivers = is(|k| matches!(k, Kind::Deliver { .. }));
                let [arrival] = arrivals[..] else {
                    return refuse();
                };
                let Some(last) = expects.max() else {
                    return refuse();
                };
                let arrived = around[arrival];
                if last > arrival || delivers.min().is_some_and(|first| first < last) {
                    return refuse();
                }
                let unfilled = |ring: &Ring| ring.unfilled.contains(&(class, arrived));
                if self.rings.iter().any(unfilled) {
                    match is(|k| matches!(k, Kind::Deliver { .. })).next() {
                        None => continue,
                        Some(_) => return refuse(),
                    }
                }
                let mut rings = self.rings.iter();
                if rings.any(|ring| ring.mixed() && ring.arrivals.contains(&(class, arrived))) {
                    continue;
                }
                let open = open(&run);
                let what = format!("the bytes of {} are delivered", self.words(class, at));
                for place in self.scene.at(this, at)? {
                    for (place, open) in place.value(&open)? {
                        equal(
                            all,
                            &format!("bytes_c{class}_s{at}"),
                            &what,
                            &place.scene,
                            &open,
                        )?;
                    }
                }
            }
        }
        for (nth, ring) in self.rings.iter().enumerate() {
            if ring.mixed() {
                self.balance(nth, ring, all)?;
            }
        }
        Ok(())
    }

    /// For each generation, as many bytes are brought as are expected. Every member of a class expects or brings the
    /// same number each time, and the sum over all members is 0.
    fn balance(&self, nth: usize, ring: &Ring, all: &mut Vec<Claim>) -> Result<(), Unsupported> {
        let object = &self.protocol.objects[ring.object];
        let name = format!("balance_l{nth}");
        let what = format!(
            "as many bytes are delivered to `{}` as it expects",
            object.name
        );
        let none = Env::new();
        let mut sum = Expr::Int(0);
        for class in ring.arriving() {
            let this = self.class(class);
            let of = |site| {
                let run = together(&this.flow.sites, site);
                let run: Vec<&Site> = run.iter().map(|at| &this.flow.sites[*at]).collect();
                open(&run)
            };
            let mut sites = ring.filled_of(class);
            let Some(first) = sites.next() else { continue };
            for site in sites {
                let apart = Expr::binary(BinaryOp::Sub, of(site), of(first));
                for (scene, apart) in self.scene.value(&apart, &none)? {
                    equal(all, &name, &what, &scene, &apart)?;
                }
            }
            let own = Expr::binary(BinaryOp::Mul, this.size.clone(), of(first));
            sum = Expr::binary(BinaryOp::Add, sum, own);
        }
        for (scene, sum) in self.scene.value(&sum, &none)? {
            equal(all, &name, &what, &scene, &sum)?;
        }
        self.totals(nth, ring, all)
    }

    /// All classes that expect or bring bytes do so equally often over the whole run. So no bytes are left over at
    /// the end.
    fn totals(&self, nth: usize, ring: &Ring, all: &mut Vec<Claim>) -> Result<(), Unsupported> {
        let object = &self.protocol.objects[ring.object];
        let name = format!("totals_l{nth}");
        let what = format!(
            "bytes are delivered to `{}` as often as they are expected",
            object.name
        );
        let total =
            |class: usize| scene::before(self.class(class), Place::End, ring.filled_of(class));
        // All pairs are compared, because any class between two others may have no members.
        let arriving = ring.arriving();
        let rest = |nth| arriving.iter().skip(exact::next(nth));
        let pairs = arriving.iter().enumerate();
        for (first, other) in pairs.flat_map(|(nth, first)| rest(nth).map(move |o| (first, o))) {
            let apart = Expr::binary(BinaryOp::Sub, total(*first)?, total(*other)?);
            for scene in self.scene.inhabited(self.class(*first))? {
                for scene in scene.inhabited(self.class(*other))? {
                    for (scene, apart) in scene.value(&apart, &Env::new())? {
                        equal(all, &name, &what, &scene, &apart)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// How many more bytes are expected than delivered.
fn open(run: &[&Site]) -> Expr {
    let mut open = Expr::Int(0);
    for site in run {
        open = match &site.kind {
            Kind::Expect { bytes } => Expr::binary(BinaryOp::Add, open, bytes.clone()),
            Kind::Deliver { bytes } => Expr::binary(BinaryOp::Sub, open, bytes.clone()),
            _ => open,
        };
    }
    open
}
