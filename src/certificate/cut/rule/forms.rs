//! The value of a form: a polynomial over parameters, the iteration numbers of the held member, and quantities derived
//! from these, such as quotients by trip counts.

use super::Held;
use super::Rule;
use crate::certificate::cut::algebra;
use crate::certificate::cut::artefact::Form;
use crate::certificate::cut::artefact::Quantity;
use crate::certificate::cut::count::Counted;
use crate::certificate::cut::state::Setting;
use crate::certificate::exact;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::ParamId;

impl<'a> Rule<'a> {
    pub fn form(
        &self,
        setting: &mut Setting<'a>,
        form: &Form,
        held: Held<'_>,
    ) -> Result<Term, Unsupported> {
        let wrong = || Unsupported::whole("a form over something that does not exist");
        let mut sum = Vec::new();
        for product in &form.0 {
            let mut factors = Vec::new();
            for quantity in &product.of {
                factors.push(match quantity {
                    Quantity::Param(at) if *at < self.known_params() => {
                        let param = self.fix(&Expr::Param(ParamId(*at)));
                        setting.terms.expr(&param, &Env::new())?
                    }
                    Quantity::Clock(depth) => {
                        let clock = self.held_clock(held, *depth)?;
                        setting.terms.expr(&clock, held.env)?
                    }
                    Quantity::Share {
                        clock,
                        plus,
                        by,
                        times,
                    } if *by >= 1 => {
                        let clock = self.held_clock(held, *clock)?;
                        let sum = algebra::add(clock, Expr::Int(*plus));
                        let share = algebra::binary(BinaryOp::Div, sum, Expr::Int(*by));
                        let share = algebra::max(Expr::Int(0), share);
                        let share = algebra::mul(Expr::Int(*times), share);
                        setting.terms.expr(&share, held.env)?
                    }
                    Quantity::Sum {
                        of,
                        at,
                        clock,
                        plus,
                    } => {
                        let clock = self.held_clock(held, *clock)?;
                        let outer = algebra::add(clock, Expr::Int(*plus));
                        let class = self.classes.get(*of).ok_or_else(wrong)?;
                        let sum = class.flow.after(*at, &outer).ok_or_else(wrong)?;
                        setting.terms.expr(&sum, held.env)?
                    }
                    Quantity::Trips(of, at) => {
                        let trips = self.trips(*of, *at)?;
                        setting.terms.expr(trips, &Env::new())?
                    }
                    Quantity::Quotient {
                        clock,
                        plus,
                        of,
                        from,
                    } => {
                        let clock = clock
                            .map(|clock| self.held_clock(held, clock))
                            .transpose()?;
                        let clock = clock.unwrap_or(Expr::Int(0));
                        let sum = algebra::add(clock, Expr::Int(*plus));
                        let by = self.inner_trips(*of, *from)?;
                        let quotient = Expr::Binary(BinaryOp::Div, Box::new(sum), Box::new(by));
                        setting.terms.expr(&quotient, held.env)?
                    }
                    Quantity::Param(_) | Quantity::Share { .. } => return Err(wrong()),
                });
            }
            let value = factors
                .into_iter()
                .reduce(|a, b| setting.terms.product(&a, &b));
            sum.push(match (product.times, value) {
                (times, None) => term::int(times),
                (1, Some(value)) => value,
                (times, Some(value)) => term::apply("*", &[term::int(times), value]),
            });
        }
        Ok(term::sum(sum))
    }

    /// How many of the parameters a form may use: a stop is the same function of each symbolic copy
    /// other than the first, and must not look at their numbers.
    fn known_params(&self) -> usize {
        match self.ordered {
            Some(ordered) => exact::next(ordered.numbers[0].0),
            None => self.protocol.params.len(),
        }
    }

    /// How many iterations of a loop around a place a member before it has completed.
    fn held_clock(&self, from: Held<'_>, depth: usize) -> Result<Expr, Unsupported> {
        let wrong = || Unsupported::whole("a form over something that does not exist");
        let this = &self.classes[from.class];
        let path = this.flow.path(from.place).ok_or_else(wrong)?;
        let level = *path.loops.get(depth).ok_or_else(wrong)?;
        let clock = this.flow.before(from.place, Counted::Iteration(level));
        clock.ok_or_else(|| Unsupported::whole("the number of iterations around a step"))
    }

    /// How often the loops around an operation from `depth` on go around in one iteration of those
    /// outside.
    fn inner_trips(&self, of: (usize, usize), depth: usize) -> Result<Expr, Unsupported> {
        let wrong = || Unsupported::whole("a form over something that does not exist");
        let class = self.classes.get(of.0).ok_or_else(wrong)?;
        let path = &class.flow.sites.get(of.1).ok_or_else(wrong)?.path;
        let mut product = Expr::Int(1);
        for at in path.loops.get(depth..).ok_or_else(wrong)? {
            product = algebra::mul(product, self.trips(of.0, *at)?.clone());
        }
        Ok(product)
    }

    fn trips(&self, class: usize, at: usize) -> Result<&'a Expr, Unsupported> {
        let known = self.classes.get(class).and_then(|c| c.flow.loops.get(at));
        known
            .map(|l| &l.trips)
            .ok_or_else(|| Unsupported::whole("a form over something that does not exist"))
    }
}
