//! Which loops may wait for memory: those that what they look at may keep going. A loop that counts its
//! rounds, as one that adds to a histogram does, ends by itself whatever its atomic operations return.
//!
//! A weak load may wait as well, where it reads one place again and again and nothing else decides when the loop is
//! left. A loop that goes on to another place each time, as a search does, ends by itself; one that writes to such memory
//! may be waiting for what it writes.

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

    /// Whether what decides when a loop is left is the same in each round: it is left at once, or never.
    pub fn endless(&self, blocks: &BTreeSet<usize>) -> bool {
        let deciding = self.deciding(blocks);
        let constant = |one: &&Instruction<'_>| {
            let written = destinations(one);
            !written.iter().flatten().any(|r| deciding.contains(r)) || computes(one)
        };
        let mut code = blocks.iter().flat_map(|b| self.code(*b));
        let carried = |r: &Register| self.carries(*r, blocks);
        !deciding.is_empty() && code.all(|one| constant(&one)) && !deciding.iter().any(carried)
    }

    /// What decides when a loop is left, and what that is computed from in the loop.
    fn deciding(&self, blocks: &BTreeSet<usize>) -> BTreeSet<Register> {
        let mut deciding = BTreeSet::new();
        for block in blocks {
            let leaves = self.flow.next(*block).iter().any(|b| !blocks.contains(b));
            let guard = self.last(*block).and_then(|i| i.guard);
            deciding.extend(guard.filter(|_| leaves).map(|(guard, _)| guard));
        }
        loop {
            let before = deciding.len();
            for one in blocks.iter().flat_map(|b| self.code(*b)) {
                let written: BTreeSet<Register> = destinations(one).into_iter().flatten().collect();
                if !written.is_disjoint(&deciding) {
                    let read = one.operands.iter().skip(1);
                    deciding.extend(read.flat_map(registers));
                    deciding.extend(one.guard.map(|(guard, _)| guard));
                }
            }
            if deciding.len() == before {
                return deciding;
            }
        }
    }

    /// Whether a loop around does nothing but look at one place by weak loads: what decides when it is left depends on
    /// nothing that it carries from round to round.
    pub fn stares(&self, instruction: &Instruction<'_>, block: usize) -> bool {
        let mut around = self.flow.loops.values().filter(|l| l.contains(&block));
        instruction.parts().next() == Some("ld")
            && !["param", "const", "local"]
                .iter()
                .any(|p| instruction.opcode.contains(p))
            && around.any(|blocks| self.only_looks(instruction, blocks))
    }

    fn only_looks(&self, load: &Instruction<'_>, blocks: &BTreeSet<usize>) -> bool {
        let space = |i: &Instruction<'_>| {
            let spaces = ["global", "shared", "local"];
            spaces.into_iter().find(|s| i.opcode.contains(s))
        };
        let apart = |one: &Instruction<'_>| match (space(one), space(load)) {
            (Some(a), Some(b)) => a != b,
            _ => false,
        };
        let writes = |one: &&Instruction<'_>| {
            matches!(
                one.parts().next(),
                Some("st" | "red" | "atom" | "call" | "cp")
            )
        };
        let mut code = blocks.iter().flat_map(|b| self.code(*b));
        if code.any(|one| writes(&one) && !apart(one)) {
            return false;
        }
        let deciding = self.deciding(blocks);
        let carried = |r: &Register| self.carries(*r, blocks);
        let mut read = destinations(load).into_iter().flatten();
        read.any(|r| deciding.contains(&r)) && !deciding.iter().any(carried)
    }

    /// Whether what a register holds in a round of a loop may depend on what it held in the round before.
    pub fn carries(&self, register: Register, blocks: &BTreeSet<usize>) -> bool {
        let mut known = BTreeSet::from([register]);
        loop {
            let before = known.len();
            for one in blocks.iter().flat_map(|b| self.code(*b)) {
                let written = destinations(one);
                let operands = one.operands.iter().skip(usize::from(!written.is_empty()));
                if operands.into_iter().any(|o| mentions(o, &known)) {
                    if written.iter().flatten().any(|r| *r == register) {
                        return true;
                    }
                    known.extend(written.into_iter().flatten());
                }
            }
            if known.len() == before {
                return false;
            }
        }
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

/// Whether an instruction makes the same of the same registers, whenever it is carried out.
fn computes(instruction: &Instruction<'_>) -> bool {
    let plain = [
        "mov", "add", "sub", "mul", "mad", "neg", "not", "and", "or", "xor", "shl", "shr", "min",
        "max", "setp", "selp", "set", "slct", "cvt", "cvta", "lop3", "prmt", "bfe", "bfi", "abs",
        "div", "rem",
    ];
    let special = |o: &Operand<'_>| matches!(o, Operand::Name(name) if name.starts_with("%clock") || name.starts_with("%globaltimer"));
    let first = instruction.parts().next();
    first.is_some_and(|f| plain.contains(&f)) && !instruction.operands.iter().any(special)
}

pub(super) fn registers(operand: &Operand<'_>) -> Vec<Register> {
    match operand {
        Operand::Register(r) | Operand::Not(r) => vec![*r],
        Operand::Address { base, rest, .. } => {
            let all = std::iter::once(&**base).chain(rest.iter());
            all.flat_map(registers).collect()
        }
        Operand::Vector(all) => all.iter().flat_map(registers).collect(),
        Operand::Pair(two) => [&two.0, &two.1].into_iter().flat_map(registers).collect(),
        Operand::Integer(_) | Operand::Float | Operand::Name(_) | Operand::Target(_) => Vec::new(),
    }
}

fn mentions(operand: &Operand<'_>, known: &BTreeSet<Register>) -> bool {
    registers(operand).iter().any(|r| known.contains(r))
}
