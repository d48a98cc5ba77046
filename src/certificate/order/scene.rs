//! The facts that hold for a few members at the same time, such as how many arrivals each has made.

use super::cases;
use super::cases::Env;
use super::cases::Facts;
use super::cases::fits;
use super::memory::Sum;
use super::polynomial::Polynomial;
use super::polynomial::Unknown;
use super::positivity::Sequent;
use crate::certificate::cut::class::Class;
use crate::certificate::cut::count::Counted;
use crate::certificate::cut::count::Place;
use crate::certificate::cut::flow::Path;
use crate::certificate::exact;
use crate::certificate::program::Unsupported;
use crate::protocol::Domain;
use crate::protocol::Expr;
use crate::protocol::Protocol;

/// Facts about parameters, and about the iterations that members are in.
#[derive(Debug, Clone)]
pub struct Scene {
    facts: Facts,
    /// How many iteration numbers there are.
    iterations: usize,
}

/// A member before an operation, in one of several cases.
#[derive(Debug, Clone)]
pub struct At<'c> {
    /// The known facts.
    pub scene: Scene,
    /// Its class.
    pub class: &'c Class,
    /// The operation, by position.
    pub site: usize,
    /// The iterations.
    pub env: Env,
}

impl Scene {
    /// The facts about the parameters. Parts of assumptions that are not comparisons are ignored.
    pub fn new(protocol: &Protocol) -> Result<Scene, Unsupported> {
        let mut scene = Scene {
            facts: Vec::new(),
            iterations: 0,
        };
        for (at, param) in protocol.params.iter().enumerate() {
            let this = Polynomial::unknown(Unknown::Param(at));
            let (lo, hi) = match &param.domain {
                Domain::AtLeast(lo) => (Some(*lo), None),
                Domain::Range(lo, hi) => (Some(*lo), Some(*hi)),
                Domain::Set(values) => (values.first().copied(), values.last().copied()),
            };
            if let Some(lo) = lo {
                scene.know(fits(this.less(i128::from(lo)))?);
            }
            if let Some(hi) = hi {
                let hi = Polynomial::number(i128::from(hi));
                scene.know(fits(hi.plus(-1, &this))?);
            }
        }
        for assumption in &protocol.assumptions {
            scene.assume(&assumption.condition);
        }
        Ok(scene)
    }

    /// Assumes a condition on parameters as far as it is a conjunction of inequalities.
    pub fn assume(&mut self, condition: &Expr) {
        if let Ok(mut ways) = cases::holds(condition, &Env::new(), true)
            && ways.len() == 1
        {
            self.facts.extend(ways.remove(0));
        }
    }

    /// Assumes that a polynomial is at least 0.
    pub fn know(&mut self, fact: Polynomial) {
        if fact.value().is_none_or(|value| value < 0) && !self.facts.contains(&fact) {
            self.facts.push(fact);
        }
    }

    /// Some integer of which nothing is known yet.
    pub(super) fn any(&mut self) -> Polynomial {
        let any = Polynomial::unknown(Unknown::Iteration(self.iterations));
        self.iterations = exact::next(self.iterations);
        any
    }

    /// Assumes that two polynomials are equal.
    pub fn know_equal(&mut self, a: &Polynomial, b: &Polynomial) -> Result<(), Unsupported> {
        self.know(fits(a.plus(-1, b))?);
        self.know(fits(b.plus(-1, a))?);
        Ok(())
    }

    /// The statement that a polynomial is at least 0 here.
    pub fn shows(&self, goal: Polynomial) -> Sequent {
        Sequent {
            hypotheses: self.facts.clone(),
            goal,
        }
    }

    /// The same scene with these further facts.
    pub(super) fn with(&self, facts: Facts) -> Scene {
        let mut scene = self.clone();
        facts.into_iter().for_each(|fact| scene.know(fact));
        scene
    }

    /// Whether the facts may hold at the same time. They cannot if two of them say that a negative number is
    /// at least 0. Then nothing has to be shown here.
    pub(super) fn possible(&self) -> bool {
        cases::possible(&self.facts)
    }

    /// The value of an expression, by cases.
    pub fn value(&self, expr: &Expr, env: &Env) -> Result<Vec<(Scene, Polynomial)>, Unsupported> {
        Ok(self.cases(cases::value(expr, env)?))
    }

    /// The cases of a value that may occur here.
    fn cases(
        &self,
        all: impl IntoIterator<Item = (Facts, Polynomial)>,
    ) -> Vec<(Scene, Polynomial)> {
        let all = all.into_iter().map(|(facts, x)| {
            let same = facts.is_empty();
            (self.with(facts), x, same)
        });
        // A case that contradicts the known facts does not occur.
        let all = all.filter(|(scene, _, same)| *same || scene.possible());
        all.map(|(scene, x, _)| (scene, x)).collect()
    }

    /// The same scene, in which a class has members.
    pub fn inhabited(&self, class: &Class) -> Result<Vec<Scene>, Unsupported> {
        let sizes = self.value(&class.size, &Env::new())?.into_iter();
        sizes
            .map(|(mut scene, size)| {
                scene.know(fits(size.less(1))?);
                Ok(scene)
            })
            .collect()
    }

    /// Arbitrary iterations in which a member of a class comes to a place, by cases.
    pub fn inside(&self, class: &Class, path: &Path) -> Result<Vec<(Scene, Env)>, Unsupported> {
        let mut all: Vec<(Scene, Env)> = self
            .inhabited(class)?
            .into_iter()
            .map(|scene| (scene, Env::new()))
            .collect();
        for at in &path.loops {
            let this = &class.flow.loops[*at];
            let mut inner = Vec::new();
            for (scene, env) in all {
                for (mut scene, trips) in scene.value(&this.trips, &env)? {
                    let nth = Polynomial::unknown(Unknown::Iteration(scene.iterations));
                    scene.iterations = exact::next(scene.iterations);
                    scene.know(nth.clone());
                    let left = fits(trips.plus(-1, &nth))?;
                    scene.know(fits(left.less(1))?);
                    if !scene.possible() {
                        continue;
                    }
                    let mut env = env.clone();
                    env.insert(this.var, nth);
                    inner.push((scene, env));
                }
            }
            all = inner;
        }
        for condition in &path.conditions {
            let mut inner = Vec::new();
            for (scene, env) in all {
                // A condition that is not understood gives no facts.
                let ways = cases::holds(condition, &env, true).unwrap_or(vec![Facts::new()]);
                for facts in ways {
                    let scene = scene.with(facts);
                    if scene.possible() {
                        inner.push((scene, env.clone()));
                    }
                }
            }
            all = inner;
        }
        Ok(all)
    }

    /// The values of the variables of the loops around an operation in [`Scene::at`]. They are the same in every
    /// case.
    pub(super) fn iterations(&self, class: &Class, site: usize) -> Env {
        let loops = class.flow.sites[site].path.loops.iter().enumerate();
        let nth = |nth: usize| exact::together(self.iterations, nth);
        loops
            .map(|(at, this)| {
                let iteration = Polynomial::unknown(Unknown::Iteration(nth(at)));
                (class.flow.loops[*this].var, iteration)
            })
            .collect()
    }

    /// A member of a class before an operation.
    pub fn at<'c>(&self, class: &'c Class, site: usize) -> Result<Vec<At<'c>>, Unsupported> {
        Unsupported::unless_in_time()?;
        let all = self.inside(class, &class.flow.sites[site].path)?;
        let at = |(scene, env)| At {
            scene,
            class,
            site,
            env,
        };
        Ok(all.into_iter().map(at).collect())
    }
}

impl<'c> At<'c> {
    /// How often the member has executed any of these operations, by cases.
    pub fn done(
        &self,
        sites: impl Iterator<Item = usize>,
    ) -> Result<Vec<(At<'c>, Polynomial)>, Unsupported> {
        Unsupported::unless_in_time()?;
        let sum = sum(self.class, self.site, sites, &self.env)?;
        let all = self.scene.cases(sum.iter().cloned()).into_iter();
        let at = |scene| At {
            scene,
            ..self.clone()
        };
        Ok(all.map(|(scene, x)| (at(scene), x)).collect())
    }

    /// The number of completed iterations of a loop.
    pub fn clock(&self, at: usize) -> Result<Vec<(At<'c>, Polynomial)>, Unsupported> {
        let place = Place::Site(self.site);
        let clock = self.class.flow.before(place, Counted::Iteration(at));
        self.value(&clock.ok_or_else(uncounted)?)
    }

    /// The value of an expression there.
    pub fn value(&self, expr: &Expr) -> Result<Vec<(At<'c>, Polynomial)>, Unsupported> {
        let all = self.scene.value(expr, &self.env)?.into_iter();
        let at = |scene| At {
            scene,
            ..self.clone()
        };
        Ok(all.map(|(scene, x)| (at(scene), x)).collect())
    }
}

/// How often a member at a place has executed any of these operations.
pub fn before(
    class: &Class,
    place: Place,
    sites: impl Iterator<Item = usize>,
) -> Result<Expr, Unsupported> {
    before_all(class, &(place, sites.collect()))
}

fn before_all(class: &Class, of: &(Place, Vec<usize>)) -> Result<Expr, Unsupported> {
    class.memory.expr(of, || {
        let (place, sites) = of;
        let mut sum = Expr::Int(0);
        for site in sites {
            let count = class.flow.before(*place, Counted::Site(*site));
            let count = count.ok_or_else(uncounted)?;
            sum = match sum {
                Expr::Int(0) => count,
                sum => Expr::binary(crate::protocol::BinaryOp::Add, sum, count),
            };
        }
        Ok(sum)
    })
}

/// The same at an operation, by cases, for these values of variables.
pub(super) fn sum(
    class: &Class,
    site: usize,
    sites: impl Iterator<Item = usize>,
    env: &Env,
) -> Result<Sum, Unsupported> {
    let of = (Place::Site(site), sites.collect());
    let count = |of: &(Place, Vec<usize>)| cases::value(&before_all(class, of)?, env);
    class.memory.sum(of, env, count)
}

fn uncounted() -> Unsupported {
    Unsupported::whole("an operation whose executions have no closed form")
}
