//! Which generation of its element an operation is about.
//!
//! The certificate numbers waits by parity. Any other operation is numbered by how often its member
//! has done the same kind of operation at the element. Conditions 3 to 5 show that the operation
//! meets these generations in every run.

use super::Rule;
use crate::certificate::cut::algebra;
use crate::certificate::cut::artefact::Generation;
use crate::certificate::cut::class::Class;
use crate::certificate::cut::count::Place;
use crate::certificate::cut::flow;
use crate::certificate::cut::flow::Kind;
use crate::certificate::cut::state;
use crate::certificate::cut::state::Setting;
use crate::certificate::exact;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;
use crate::protocol::Expr;
use crate::protocol::ObjectKind;

impl<'a> Rule<'a> {
    /// The generation an operation is about.
    pub fn generation(
        &self,
        setting: &mut Setting<'a>,
        class: usize,
        site: usize,
        env: &Env,
    ) -> Result<Term, Unsupported> {
        let this = self.class(class);
        let class = self.original(class);
        let at = &this.flow.sites[site];
        let moves = || state::moves(this, site);
        let (rounds, first) = match &at.kind {
            Kind::Arrive { .. } | Kind::Expect { .. } => {
                let arrive = |k: &Kind| matches!(k, Kind::Arrive { .. });
                (self.visits_of(this, site, arrive), 1)
            }
            Kind::Deliver { .. } => (self.delivered_before((class, this), site)?, 1),
            Kind::Register { .. } | Kind::Await => {
                let (first, every) = self.numbered(class, site)?;
                let visits = self.visits_of(this, site, |k| matches!(k, Kind::Register { .. }));
                let rounds = visits.map(|v| algebra::mul(v, Expr::Int(every)));
                // By the time it waits, its registration is one of the earlier ones.
                let own = matches!(at.kind, Kind::Await);
                (
                    rounds,
                    if own {
                        exact::difference(first, every)?
                    } else {
                        first
                    },
                )
            }
            _ => {
                let known = self.chosen(class, site)?;
                let rounds = if known.all {
                    self.visits_of(this, site, |k| matches!(k, Kind::WaitParity { .. }))
                } else {
                    this.flow.rounds(site)
                };
                (rounds, known.first)
            }
        };
        let rounds = setting.terms.expr(&rounds.ok_or_else(moves)?, env)?;
        Ok(term::sum([rounds, term::int(first)]))
    }

    /// How often operations of this kind have been done on a site's element before it.
    pub fn visits_of(&self, class: &Class, site: usize, kind: fn(&Kind) -> bool) -> Option<Expr> {
        let at = &class.flow.sites[site];
        let mut sum = Expr::Int(0);
        for (other, this) in class.flow.sites.iter().enumerate() {
            if this.object == at.object && kind(&this.kind) {
                let visits = class.flow.visits(other, &at.index, Place::Site(site))?;
                sum = algebra::add(sum, visits);
            }
        }
        Some(sum)
    }

    /// The first generation a member's registrations join, and how far apart they are: the same for
    /// all of its operations that may work on one element, so that the next joins a later one.
    pub(super) fn numbered(&self, class: usize, site: usize) -> Result<(i64, i64), Unsupported> {
        let sites = &self.classes[class].flow.sites;
        let stated = |at: &flow::Site| {
            let mut all = self.case.registrations.iter().filter(|r| {
                let there = sites.get(r.site);
                r.class == class && there.is_some_and(|s| s.may_meet(at))
            });
            let first = all.next().map_or((1, 1), |r| (r.first, r.every));
            all.all(|r| (r.first, r.every) == first).then_some(first)
        };
        let at = &sites[site];
        let named = self.protocol.objects[at.object.0].kind == ObjectKind::Named;
        let number = stated(at).filter(|(first, every)| {
            let registers = |s: &&flow::Site| matches!(s.kind, Kind::Register { .. });
            let mut meeting = sites.iter().filter(registers).filter(|s| s.may_meet(at));
            let alike = meeting.all(|s| stated(s) == Some((*first, *every)));
            let default = (*first, *every) == (1, 1);
            alike && (default || named) && *first >= 1 && *every >= 1
        });
        number.ok_or_else(|| {
            Unsupported::at(at.span, "registrations that are numbered in different ways")
        })
    }

    pub fn chosen(&self, class: usize, site: usize) -> Result<Generation, Unsupported> {
        let found = self
            .case
            .generations
            .iter()
            .find(|g| g.class == class && g.site == site);
        found.copied().ok_or_else(|| {
            let span = self.classes[class].flow.sites[site].span;
            Unsupported::at(span, "a wait whose generation the certificate does not say")
        })
    }
}
