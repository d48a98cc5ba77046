//! Whether numbers are in the order on which the walk relied where lanes part
//! ([`crate::recover::walk::thresholds`]).

use super::Inputs;
use super::Lowerer;
use super::Result;
use crate::ir::Kernel;
use crate::recover::number::Number;
use crate::recover::recurrence::Recurrences;
use crate::recover::term::TermId;
use crate::recover::tree::Arena;
use crate::recover::tree::refuse;
use crate::recover::walk::Ordered;

/// Refuses a kernel whose lanes were ordered by numbers that may wrap around between them. Inputs
/// are assumed to be so small that they do not. Their ranges are printed.
///
/// A number is equal to its term at every launch of the ranges. So if the difference of two numbers
/// is at least 0, the terms are in this order there.
pub fn check_orders(kernel: &Kernel, arena: &mut Arena, inputs: &mut Inputs) -> Result<()> {
    let orders = arena.orders.clone();
    let mut lowerer = Lowerer::new(kernel, arena, inputs, Recurrences::default());
    for (ordered, location) in orders {
        if !lowerer.holds(ordered) {
            return refuse(
                "it is not known which lanes take this branch: the numbers that the lanes compare may wrap around from one lane to the next",
                &location,
            );
        }
        // A comparison of each is a condition of numbers, even if they are inputs that are computed: as 32 choices of the
        // launch they would be in no order.
        lowerer.inputs.ordered.extend([ordered.less, ordered.more]);
    }
    Ok(())
}

impl Lowerer<'_> {
    fn holds(&mut self, ordered: Ordered) -> bool {
        if ordered.less == ordered.more {
            return true;
        }
        let (Some(less), Some(more)) = (self.small(ordered.less), self.small(ordered.more)) else {
            return false;
        };
        let apart = more.minus(&less);
        apart.is_some_and(|apart| self.is_natural(&apart))
            && (!ordered.natural || self.is_natural(&less))
    }

    fn small(&mut self, term: TermId) -> Option<Number> {
        self.narrows = true;
        let number = self.number(term);
        self.narrows = false;
        number
    }
}
