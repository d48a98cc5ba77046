//! The obligations of one case, condition by condition, in the order in which they are named.
//!
//! | file | what is in it |
//! |---|---|
//! | `hypotheses.rs` | how an obligation is stated |
//! | `declared.rs` | 1: declarations, residency |
//! | `operands.rs` | 1 and 2: programs and closed forms |
//! | `numbers.rs` | which generation an operation is about; 3 is one of the `operands` |
//! | `behind.rs`, `supports.rs` | 4: nobody is behind |
//! | `cuts.rs` | 5: nobody is overtaken |
//! | `other_members.rs`, `stops.rs`, `forms.rs` | what 5 is made of: who is around, and where they stop |
//! | `lacking.rs` | what 5 and 6 say of an element: that it lacks what a wait needs |
//! | `progress.rs` | 6: nobody is stuck |
//!
//! What other properties and kinds of objects ask for beyond that is in files of their own in the folder
//! above, each with its argument: `bytes.rs`, `init.rs` and `pools.rs` for objects, `races.rs`, `visible.rs`,
//! `asserted.rs`, `lifetimes.rs` and `exits.rs` for properties.

mod behind;
mod cuts;
mod declared;
mod forms;
mod hypotheses;
mod lacking;
mod numbers;
mod operands;
mod other_members;
mod progress;
mod stops;
mod supports;

pub use hypotheses::all_needed;

use crate::certificate::cut::View;
use crate::certificate::cut::algebra;
use crate::certificate::cut::artefact::Case;
use crate::certificate::cut::artefact::Shows;
use crate::certificate::cut::class::Class;
use crate::certificate::cut::copies::Copies;
use crate::certificate::cut::count::Place;
use crate::certificate::cut::flow;
use crate::certificate::cut::flow::Kind;
use crate::certificate::cut::ordered::Ordered;
use crate::certificate::cut::state::FinishedCopies;
use crate::certificate::cut::state::Group;
use crate::certificate::cut::symmetric::Renamed;
use crate::certificate::obligation::Obligation;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;
use crate::protocol::Comparison;
use crate::protocol::Expr;
use crate::protocol::ParamId;
use crate::protocol::Protocol;
use crate::protocol::Span;

/// One case: the protocol with some parameters fixed.
pub struct Rule<'a> {
    pub protocol: &'a Protocol,
    pub fixed: Vec<(ParamId, i64)>,
    pub classes: &'a [Class],
    pub copies: Copies,
    /// The classes of further symbolic copies, and these copies, if copies go in order.
    pub shadows: &'a [Class],
    pub ordered: Option<&'a Ordered>,
    pub case: &'a Case,
    pub shows: Shows,
    pub prefix: String,
    pub all: Vec<Obligation>,
    /// For each obligation, by name: what it lacks, if that is known without asking a solver.
    pub missing: Vec<(String, String)>,
    pub renamed: Renamed,
}

/// A member that is kept from going on: its class, its place, and its iterations there.
#[derive(Clone, Copy)]
pub struct Held<'e> {
    pub class: usize,
    pub place: Place,
    pub env: &'e Env,
}

/// Groups, and for each its class and what holds if there is nobody in it.
pub type Others<'c> = (Vec<Group<'c>>, Vec<(usize, Term)>);

impl<'a> Rule<'a> {
    /// The rule over what is looked at: these classes, and those of further symbolic copies.
    pub fn new(
        view: &'a View<'_>,
        fixed: Vec<(ParamId, i64)>,
        [classes, shadows]: [&'a [Class]; 2],
        case: &'a Case,
        shows: Shows,
        prefix: String,
    ) -> Rule<'a> {
        Rule {
            protocol: view.protocol(),
            fixed,
            classes,
            copies: view.copies(),
            shadows,
            ordered: view.ordered.as_ref(),
            case,
            shows,
            prefix,
            all: Vec::new(),
            missing: Vec::new(),
            renamed: Renamed::default(),
        }
    }

    pub fn derive(&mut self) -> Result<(), Unsupported> {
        if self.case.empty {
            let setting = self.setting()?;
            return self.conclude(
                "empty".to_owned(),
                "no parameter values satisfy the assumptions in this case".to_owned(),
                setting,
                term::boolean(false),
            );
        }
        // Condition 1 for declarations, and what is used about copies and pools.
        self.declarations()?;
        self.residency()?;
        self.copies()?;
        self.shown_of_copies()?;
        self.plenty()?;
        self.revolving()?;
        self.brief()?;
        // Conditions 1, 2 and 3 for programs.
        for class in 0..self.classes.len() {
            self.claims(class)?;
            for site in 0..self.classes[class].flow.sites.len() {
                self.operation(class, site)?;
            }
        }
        self.counts_agree()?;
        // Conditions 4 and 5.
        for class in 0..self.classes.len() {
            for site in 0..self.classes[class].flow.sites.len() {
                self.window(class, site)?;
            }
        }
        // What the property requires beyond that.
        match self.shows {
            Shows::Nothing => {}
            Shows::Generations => self.balanced_at_the_end()?,
            Shows::Ordering => self.ordered()?,
            Shows::Visibility => self.visible()?,
            Shows::Claims => self.asserted()?,
            Shows::Lifetimes => self.lifetimes()?,
            Shows::Exits => self.exits()?,
        }
        // Condition 6.
        if self.needs_progress() {
            self.progress(FinishedCopies::Before)?;
            if self.ordered.is_some() {
                self.progress(FinishedCopies::All)?;
            }
        }
        Ok(())
    }

    /// Whether what is shown is about runs that come to an end, or rests on acquisitions that do.
    fn needs_progress(&self) -> bool {
        self.shows.progress() || (0..self.classes.len()).any(|class| self.uses_pools(class))
    }

    /// A wait by parity, a strict wait and a registration only mean what they should while the
    /// element is neither ahead nor behind.
    fn window(&mut self, class: usize, site: usize) -> Result<(), Unsupported> {
        let classes = self.classes;
        let this = &classes[class].flow.sites[site];
        if matches!(this.kind, Kind::Init) {
            self.initialised_once(class, site)?;
            return self.hold(class, site, None);
        }
        if self.has_to_be_initialised(class, site) {
            self.initialised_before(class, site)?;
        }
        match &this.kind {
            Kind::WaitParity { .. } => {
                if self.has_bytes(class, site) {
                    self.participants(class, site)?;
                    self.balanced_bytes(class, site)?;
                }
                self.not_behind(class, site)?;
                self.not_ahead(class, site, 1)
            }
            Kind::WaitValue {
                comparison: Comparison::Equal,
                ..
            } => self.not_ahead(class, site, 1),
            Kind::Register { .. } => {
                self.alternates(class, site)?;
                self.joins(class, site)?;
                self.not_ahead(class, site, 0)
            }
            Kind::Await => {
                self.alternates(class, site)?;
                // Supports speak of members held here.
                match self.held(class, site) {
                    Some(_) => self.hold(class, site, None),
                    None => Ok(()),
                }
            }
            Kind::Arrive { .. } if self.has_bytes(class, site) => {
                self.participants(class, site)?;
                self.balanced_bytes(class, site)?;
                // If bytes are expected first, the phase has to be the right one there.
                if self.expectation(class, site).is_none() {
                    self.joins(class, site)?;
                }
                self.not_ahead(class, site, 0)
            }
            // An arrival that counts more than one must not overshoot a phase.
            Kind::Arrive { .. }
                if self.at_mbarrier(class, site)
                    && (self.shows == Shows::Generations || self.counts_several(class, site)) =>
            {
                self.participants(class, site)?;
                self.joins(class, site)
            }
            Kind::Expect { .. } => {
                self.expected_before_arrival(class, site)?;
                self.joins(class, site)
            }
            Kind::Release { .. } => self.held_before_release(class, site),
            Kind::Deliver { .. } => {
                self.participants(class, site)?;
                self.balanced_bytes(class, site)?;
                self.follows_arrival_or_joins(class, site)
            }
            _ => Ok(()),
        }
    }

    /// No member of a class gets to an operation.
    pub fn unreachable(&mut self, class: usize, site: usize) -> Result<(), Unsupported> {
        let mut setting = self.setting_of(class)?;
        setting.member_at(&self.classes[class], site, "at")?;
        self.conclude(
            format!("unreachable_c{class}_s{site}"),
            "no run gets there".to_owned(),
            setting,
            term::boolean(false),
        )
    }

    pub fn fix(&self, expr: &Expr) -> Expr {
        flow::at_fixed(expr, &self.fixed)
    }

    /// The same without folding anything.
    pub fn replaced(&self, expr: &Expr) -> Expr {
        algebra::replace(expr, &|_| None, &|id| {
            let known = self.fixed.iter().find(|(known, _)| *known == id)?;
            Some(Expr::Int(known.1))
        })
    }

    pub fn quote(&self, span: Span) -> String {
        let text = self
            .protocol
            .source
            .get(span.start..span.end)
            .unwrap_or("?");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}
