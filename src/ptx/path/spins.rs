//! Which loops may wait for memory: those that what they look at may keep going. A loop that counts its
//! rounds, as one that adds to a histogram does, ends by itself whatever its atomic operations return.

use std::collections::BTreeSet;

use super::walk::Walker;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::syntax::ast::Operand;
use crate::ptx::syntax::ast::Register;
use crate::ptx::warp::evaluate::destinations;

impl Walker<'_, '_, '_> {
    /// Whether what this instruction reads may decide how often a loop around it runs.
    pub fn spins(&self, instruction: &Instruction<'_>, block: usize) -> bool {
        let around = self.whole.loops.values().filter(|l| l.contains(&block));
        let mut around = around.peekable();
        if instruction.has("nanosleep") {
            return around.peek().is_some();
        }
        around.any(|blocks| {
            let read = destinations(instruction).into_iter().flatten();
            self.keeps_going(read.collect(), blocks)
        })
    }

    /// Whether what these registers hold may decide how often a loop runs.
    pub fn keeps_going(&self, mut known: BTreeSet<Register>, blocks: &BTreeSet<usize>) -> bool {
        loop {
            let before = known.len();
            for block in blocks {
                for one in self.code(*block) {
                    let written = destinations(one);
                    let operands = one.operands.iter().skip(usize::from(!written.is_empty()));
                    let guarded = one.guard.is_some_and(|(g, _)| known.contains(&g));
                    if !guarded && !operands.into_iter().any(|o| mentions(o, &known)) {
                        continue;
                    }
                    // Through memory it may come back.
                    if matches!(one.parts().next(), Some("st" | "red" | "atom" | "call")) {
                        return true;
                    }
                    known.extend(written.into_iter().flatten());
                }
                if self.decides(*block, &known) {
                    return true;
                }
            }
            if known.len() == before {
                return false;
            }
        }
    }

    /// Whether the end of a block goes one way or another by these registers.
    fn decides(&self, block: usize, known: &BTreeSet<Register>) -> bool {
        let ways = self.whole.next(block).len();
        let guard = self.last(block).and_then(|i| i.guard);
        ways > 1 && guard.is_some_and(|(g, _)| known.contains(&g))
    }
}

fn mentions(operand: &Operand<'_>, known: &BTreeSet<Register>) -> bool {
    match operand {
        Operand::Register(r) | Operand::Not(r) => known.contains(r),
        Operand::Address { base, rest, .. } => {
            mentions(base, known) || rest.iter().any(|o| mentions(o, known))
        }
        Operand::Vector(all) => all.iter().any(|o| mentions(o, known)),
        Operand::Pair(two) => mentions(&two.0, known) || mentions(&two.1, known),
        Operand::Integer(_) | Operand::Float | Operand::Name(_) | Operand::Target(_) => false,
    }
}
