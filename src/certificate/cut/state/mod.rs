//! Symbolic states: the places of all classes of members, and the arrivals at an element by then.

mod arrivals;
mod elements;
mod other_copies;
mod sums;

pub use arrivals::named_count;

use std::collections::BTreeSet;

pub use self::other_copies::FinishedCopies;
pub use self::other_copies::LaterCopy;
pub use self::other_copies::OtherCopies;
use crate::certificate::cut::class::Class;
use crate::certificate::cut::count::Counted;
use crate::certificate::cut::count::Place;
use crate::certificate::cut::flow::Path;
use crate::certificate::exact;
use crate::certificate::obligation::Split;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;
use crate::certificate::translate::Translator;
use crate::protocol::Expr;
use crate::protocol::ObjectId;
use crate::protocol::Protocol;

/// How many threads one registration at a named barrier stands for.
pub const WARP: i64 = 32;

/// What an element counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    Arrivals,
    /// Bytes delivered to an mbarrier.
    Bytes,
    /// Bytes expected by an mbarrier, less those delivered.
    OpenBytes,
}

/// A formula in the making.
pub struct Setting<'p> {
    pub protocol: &'p Protocol,
    pub terms: Translator<'p>,
    pub facts: Vec<Term>,
    fresh: usize,
    /// What a solver may treat case by case.
    pub split: Vec<Split>,
    /// Places in small rings that have occurred.
    pub rings: Vec<Split>,
    /// Whether products are also stated as such. Pools need it, since the numbers of members there
    /// are unknowns; elsewhere it only slows the solver down.
    pub exact_products: bool,
    /// Objects that each of the copies has for itself, where copies share others.
    private: BTreeSet<usize>,
    /// What the copies do that are not looked at, if copies go in order.
    pub other_copies: Option<OtherCopies>,
}

/// Some members of a class that are all at one place.
pub struct Group<'c> {
    pub class: &'c Class,
    /// How many there are; may be 0 or less if there are none.
    pub size: Expr,
    /// Where they may be: exactly one of the conditions holds.
    pub spots: Vec<Spot>,
    /// If they need not all be at one place: how many are at each of the spots. The conditions of
    /// the spots then say nothing.
    pub spread: Option<Vec<Term>>,
    /// What has not landed, of a single member.
    pub withheld: Option<Withheld>,
    /// Which copies they belong to, if they belong to one of several that share objects.
    pub copy: Option<Copy>,
}

impl<'c> Group<'c> {
    /// So many members, at the spot whose condition holds. Exactly one of the conditions holds.
    pub fn new(class: &'c Class, size: Expr, spots: Vec<Spot>, copy: Option<Copy>) -> Group<'c> {
        Group {
            class,
            size,
            spots,
            spread: None,
            withheld: None,
            copy,
        }
    }

    /// Members that have all finished.
    pub fn at_end(class: &'c Class, copy: Option<Copy>) -> Group<'c> {
        let spots = vec![Spot::always(Place::End, Env::new())];
        Group::new(class, class.size.clone(), spots, copy)
    }
}

/// Some copies of one kind, all with their members at the same places.
#[derive(Clone)]
pub struct Copy {
    /// Groups with the same tag work on the same private elements.
    pub tag: Tag,
    /// How many copies there are.
    pub count: Expr,
}

/// Which copies of a kind are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// The one of the member that is held.
    Marked,
    /// All others, or all where no member is held.
    Unmarked,
}

/// An operation that has not landed, by position in its class and in its iterations. Nor have the
/// commits of its member from there on.
pub struct Withheld {
    pub site: usize,
    pub env: Env,
}

/// A place with the values of the loops' variables there.
#[derive(Clone)]
pub struct Spot {
    pub when: Term,
    pub place: Place,
    pub env: Env,
}

impl Spot {
    /// A place where somebody is in any case.
    pub fn always(place: Place, env: Env) -> Spot {
        Spot {
            when: term::boolean(true),
            place,
            env,
        }
    }
}

/// An element of an object.
pub struct Element {
    pub object: ObjectId,
    /// In which copies it is, if each has elements of its own.
    pub copy: Option<Tag>,
    /// Literals where the index is a number, so that what is elsewhere can be told at once.
    pub index: Vec<Expr>,
    pub env: Env,
}

impl<'p> Setting<'p> {
    pub fn new(protocol: &'p Protocol, terms: Translator<'p>, facts: Vec<Term>) -> Setting<'p> {
        Setting {
            protocol,
            terms,
            facts,
            fresh: 0,
            split: Vec::new(),
            rings: Vec::new(),
            exact_products: false,
            private: BTreeSet::new(),
            other_copies: None,
        }
    }

    /// Makes objects those that each of the copies has for itself.
    pub fn with_private(mut self, objects: impl IntoIterator<Item = usize>) -> Setting<'p> {
        self.private.extend(objects);
        self
    }

    pub fn unknown(&mut self, name: &str) -> Term {
        self.fresh = exact::next(self.fresh);
        self.terms.constant(&format!("{name}_{}", self.fresh))
    }

    /// Arbitrary iterations of the loops on a path, as facts or as a condition.
    pub fn iterations(
        &mut self,
        class: &Class,
        path: &Path,
        name: &str,
    ) -> Result<(Env, Vec<Term>), Unsupported> {
        let mut env = Env::new();
        let mut inside = Vec::new();
        for at in &path.loops {
            let this = &class.flow.loops[*at];
            let nth = self.unknown(&format!("{name}_iteration"));
            let trips = self.terms.expr(&this.trips, &env)?;
            inside.push(term::within(&term::int(0), &nth, &trips));
            env.insert(this.var, nth);
        }
        Ok((env, inside))
    }

    pub fn conditions(&mut self, path: &Path, env: &Env) -> Result<Vec<Term>, Unsupported> {
        path.conditions
            .iter()
            .map(|c| self.terms.expr(c, env))
            .collect()
    }

    /// Assumes a member at an operation, in arbitrary iterations.
    pub fn member_at(
        &mut self,
        class: &Class,
        site: usize,
        name: &str,
    ) -> Result<Env, Unsupported> {
        let path = &class.flow.sites[site].path;
        let (env, inside) = self.iterations(class, path, name)?;
        self.facts.extend(inside);
        let conditions = self.conditions(path, &env)?;
        self.facts.extend(conditions);
        Ok(env)
    }

    /// The iteration in which an operation stands, counted over the whole run.
    pub fn clock(&mut self, class: &Class, site: usize, env: &Env) -> Result<Term, Unsupported> {
        let counted = class.flow.clock(site);
        if let Counted::Site(_) = counted {
            return Ok(term::int(0));
        }
        let clock = class
            .flow
            .before(Place::Site(site), counted)
            .ok_or_else(|| uncounted(class, site))?;
        self.terms.expr(&clock, env)
    }

    /// How many iterations of the innermost loop around an operation a whole run has.
    pub fn clock_end(&mut self, class: &Class, site: usize) -> Result<Term, Unsupported> {
        let total = match class.flow.clock(site) {
            Counted::Site(_) => Expr::Int(1),
            counted => class
                .flow
                .before(Place::End, counted)
                .ok_or_else(|| uncounted(class, site))?,
        };
        self.terms.expr(&total, &Env::new())
    }
}

pub fn moves(class: &Class, site: usize) -> Unsupported {
    let span = class.flow.sites[site].span;
    Unsupported::at(span, "the way the element of this operation moves")
}

pub fn uncounted(class: &Class, site: usize) -> Unsupported {
    Unsupported::at(
        class.flow.sites[site].span,
        "the number of iterations around this operation",
    )
}
