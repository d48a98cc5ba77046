//! The condition that an element lacks what a wait needs, given the places of all members.
//!
//! If an mbarrier counts bytes, a generation lacks an arrival or a byte. If copies are ordered, the condition also says
//! that later copies have not added anything.

use super::Rule;
use crate::certificate::cut::flow::Kind;
use crate::certificate::cut::polynomial::Polynomial;
use crate::certificate::cut::state::Element;
use crate::certificate::cut::state::Group;
use crate::certificate::cut::state::Resource;
use crate::certificate::cut::state::Setting;
use crate::certificate::cut::state::Tag;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;
use crate::protocol::Expr;

impl<'a> Rule<'a> {
    /// Whether a wait's element has not got what the wait needs, `above` generations on. Where
    /// `arrivals_only`, bytes do not count.
    pub fn lacks(
        &self,
        setting: &mut Setting<'a>,
        groups: &[Group<'_>],
        at: (usize, usize),
        env: &Env,
        above: i64,
        arrivals_only: bool,
    ) -> Result<Term, Unsupported> {
        let copy = Some(Tag::Marked);
        self.lacks_in(copy, setting, groups, at, env, above, arrivals_only)
    }

    /// The same for a wait of a member of a certain copy.
    #[expect(
        clippy::too_many_arguments,
        reason = "who waits, for what, and where everybody is"
    )]
    pub(super) fn lacks_in(
        &self,
        copy: Option<Tag>,
        setting: &mut Setting<'a>,
        groups: &[Group<'_>],
        (class, site): (usize, usize),
        env: &Env,
        above: i64,
        arrivals_only: bool,
    ) -> Result<Term, Unsupported> {
        let this = self.class(class);
        let element: Element = setting.element_of(this, site, env, copy)?;
        let generation = match &this.flow.sites[site].kind {
            Kind::WaitValue { .. } => None,
            _ => Some(self.generation(setting, class, site, env)?),
        };
        let fix = |e: &Expr| self.fix(e);
        let (scale, mut need) = setting.need(this, site, env, generation.clone(), above, &fix)?;
        let zero = term::int(0);
        let other_copies = setting.other_copies.clone();
        let mut idle = Vec::new();
        if let Some(other_copies) = &other_copies {
            let arrivals = Resource::Arrivals;
            need.extend(self.finished(
                setting,
                &element,
                arrivals,
                scale,
                other_copies.finished,
            )?);
            // Seen from the second copy, it is the third one that stands for the others.
            let other = usize::from(class >= self.classes.len());
            if let Some(later) = other_copies.later.get(other) {
                idle.push(self.idle(setting, &element, arrivals, later)?);
                idle.push(self.idle(setting, &element, Resource::Bytes, later)?);
            }
        }
        let class = self.original(class);
        let arrived = setting.balance(groups, &element, Resource::Arrivals, scale, need)?;
        let mut lacking = vec![term::lt(&arrived, &zero)];
        if let Some(generation) = generation
            && !arrivals_only
            && self.has_bytes(class, site)
        {
            // What is expected is what is delivered: an obligation of its own.
            let each = Polynomial::of(&self.landing_bytes(class, site)?);
            let wanted = term::sum([generation, term::int(above)]);
            let mut need = vec![(each, wanted)];
            if let Some(other_copies) = &other_copies {
                need.extend(self.finished(
                    setting,
                    &element,
                    Resource::Bytes,
                    1,
                    other_copies.finished,
                )?);
            }
            let landed = setting.balance(groups, &element, Resource::Bytes, 1, need)?;
            lacking.push(term::lt(&landed, &zero));
        }
        idle.push(term::or(lacking));
        Ok(term::and(idle))
    }
}
