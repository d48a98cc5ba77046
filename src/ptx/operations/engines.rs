//! Operations of asynchronous engines (copies, tensor memory), and register reallocation between warps.

use super::instruction::Done;
use crate::ptx::path::walk::Walker;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::syntax::ast::Operand;
use crate::ptx::warp::machine::State;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Area;
use crate::ptx::warp::statement::How;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Pool;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Sum;

/// What bulk copies are made of, in bytes.
const UNIT: i128 = 16;

impl Walker<'_, '_, '_> {
    pub fn copy(
        &mut self,
        instruction: &Instruction<'_>,
        parts: &[&str],
        count: i128,
        state: &mut State,
        out: &mut Vec<Statement>,
    ) -> Done {
        if parts.contains(&"mbarrier") {
            let barrier = self.uniform(instruction, instruction.operands.first(), state)?;
            if parts.contains(&"noinc") {
                self.push(out, instruction, Action::Commit(barrier, count));
            } else {
                // One arrival more is awaited until the copies have landed, which is then made: as a
                // byte that is expected and delivered.
                let bytes = Sum::of(count);
                let expected = Action::ExpectTx(barrier.clone(), bytes.clone());
                self.push(out, instruction, expected);
                self.push(out, instruction, Action::Copy(barrier, Some(bytes), None));
            }
            return Ok(());
        }
        // Groups of copies that no mbarrier is told of end by themselves: waiting for them ends, too.
        if !instruction.opcode.contains("mbarrier::complete_tx") {
            return Ok(());
        }
        let tensor = parts.contains(&"tensor");
        // Lanes that each start one tell one mbarrier of all their bytes, which come in pieces anyway.
        if count != 1 && (tensor || self.data) {
            return self.refuse(instruction, "more than one lane starts the copy");
        }
        let addresses: Vec<&Operand<'_>> = instruction
            .operands
            .iter()
            .filter(|o| matches!(o, Operand::Address { .. }))
            .collect();
        let barrier = self.uniform(instruction, addresses.get(2).copied(), state)?;
        let bytes = if tensor {
            None
        } else {
            Some(self.uniform(instruction, instruction.operands.get(2), state)?)
        };
        if bytes
            .as_ref()
            .and_then(Sum::as_constant)
            .is_some_and(|b| b % UNIT != 0)
        {
            return self.misused(instruction, "bulk copies have a multiple of 16 bytes");
        }
        let bytes = bytes.map(|bytes| bytes.scaled(count));
        let filled = self.filled(instruction, bytes.as_ref(), state)?;
        // The mask of a multicast comes after the mbarrier.
        let places = instruction.operands.iter().enumerate();
        let place = places
            .filter(|(_, o)| matches!(o, Operand::Address { .. }))
            .nth(2);
        let mask = place.and_then(|(index, _)| instruction.operands.get(index + 1));
        for barrier in self.everywhere(instruction, barrier, mask, state)? {
            // A multicast writes to the same place in each CTA that it tells.
            let area = filled.clone().map(|area| match mask {
                Some(_) if instruction.opcode.contains("multicast") => {
                    let rank = self.machine.home(&barrier);
                    let address = self.machine.in_peer(&area.address, rank, state);
                    Area { address, ..area }
                }
                _ => area,
            });
            self.push(out, instruction, Action::Copy(barrier, bytes.clone(), area));
        }
        Ok(())
    }

    /// The mbarrier at the same place in every CTA of a multicast's mask; itself if there is no
    /// multicast.
    fn everywhere(
        &mut self,
        instruction: &Instruction<'_>,
        barrier: Sum,
        mask: Option<&Operand<'_>>,
        state: &mut State,
    ) -> Result<Vec<Sum>, Obstacle> {
        if !instruction.opcode.contains("multicast") {
            return Ok(vec![barrier]);
        }
        let mask = self.uniform(instruction, mask, state)?;
        let ranks = self.machine.launch.ranks();
        let Some(mask) = mask
            .as_constant()
            .and_then(|m| u32::try_from(m).ok())
            .filter(|m| *m > 0 && m >> ranks == 0)
        else {
            self.refuse(
                instruction,
                "the mask of CTAs is no constant of this cluster",
            )?;
            return Ok(Vec::new());
        };
        let there = (0..ranks).filter(|rank| mask >> rank & 1 == 1);
        Ok(there
            .map(|rank| self.machine.in_peer(&barrier, rank, state))
            .collect())
    }

    /// Two CTAs that work as a pair allocate and free tensor memory together.
    fn paired(
        &self,
        instruction: &Instruction<'_>,
        parts: &[&str],
        out: &mut Vec<Statement>,
    ) -> Done {
        if !parts.contains(&"cta_group::2") {
            return Ok(());
        }
        if !self.machine.launch.ranks().is_multiple_of(2) {
            return self.refuse(
                instruction,
                "a pair of CTAs needs a cluster of an even number",
            );
        }
        self.push(out, instruction, Action::Pair);
        Ok(())
    }

    /// Registers given back to the CTA, or taken from it once there are enough.
    pub fn registers(
        &mut self,
        instruction: &Instruction<'_>,
        lanes: u32,
        state: &mut State,
        out: &mut Vec<Statement>,
    ) -> Done {
        self.together(instruction, lanes, state)?;
        let wanted = self.uniform(instruction, instruction.operands.first(), state)?;
        let Some(wanted) = wanted.as_constant() else {
            return self.refuse(instruction, "the number of registers is not a constant");
        };
        // PTX ISA, "setmaxnreg": the number is one of 24, 32, ..., 256.
        if !(24..=256).contains(&wanted) || wanted % 8 != 0 {
            return self.misused(
                instruction,
                "`setmaxnreg` asks for 24 to 256 registers, in steps of 8",
            );
        }
        let Some(held) = state.held else {
            return self.refuse(
                instruction,
                "how many registers the warp has here is not followed",
            );
        };
        let more = wanted - held;
        let takes = instruction.has("inc");
        if takes != instruction.has("dec") && (more == 0 || takes == (more > 0)) {
            state.held = Some(wanted);
            let size = Sum::of(more.abs());
            match more {
                0 => {}
                1.. => self.push(out, instruction, Action::Acquire(Pool::Registers, size)),
                _ => self.push(out, instruction, Action::Release(Pool::Registers, size)),
            }
            return Ok(());
        }
        let reason = format!("the warp has {held} registers per thread here, so this is undefined");
        self.misused(instruction, &reason)
    }

    pub fn tensor(
        &mut self,
        instruction: &Instruction<'_>,
        parts: &[&str],
        count: i128,
        state: &mut State,
        out: &mut Vec<Statement>,
    ) -> Done {
        match parts.get(1).copied() {
            Some("commit") => {
                let barrier = self.uniform(instruction, instruction.operands.first(), state)?;
                let mask = instruction.operands.get(1);
                for barrier in self.everywhere(instruction, barrier, mask, state)? {
                    self.push(out, instruction, Action::Commit(barrier, count));
                }
            }
            Some("alloc") => {
                if state.relinquished {
                    return self.misused(
                        instruction,
                        "tensor memory is allocated after the CTA gave up its permit to allocate it: this is undefined",
                    );
                }
                let columns = self.requested(instruction, state)?;
                self.paired(instruction, parts, out)?;
                self.push(out, instruction, Action::Acquire(Pool::Columns, columns));
                // Where the columns are is written to shared memory.
                if let Some(area) = self.filled(instruction, Some(&Sum::of(4)), state)? {
                    self.allocated.insert(area.address.clone());
                    self.push(out, instruction, Action::Touch(How::Write, area));
                }
            }
            Some("dealloc") => {
                let columns = self.requested(instruction, state)?;
                self.paired(instruction, parts, out)?;
                self.push(out, instruction, Action::Release(Pool::Columns, columns));
            }
            Some("relinquish_alloc_permit") => state.relinquished = true,
            _ => self.machine.compute(instruction, state),
        }
        Ok(())
    }

    /// How many columns of tensor memory are meant.
    fn requested(
        &mut self,
        instruction: &Instruction<'_>,
        state: &mut State,
    ) -> Result<Sum, Obstacle> {
        let columns = self.uniform(instruction, instruction.operands.get(1), state)?;
        if let Some(number) = columns.as_constant()
            && ![32, 64, 128, 256, 512].contains(&number)
        {
            let reason = "columns of tensor memory come as 32, 64, 128, 256 or 512";
            return Err(self.obstacle(instruction, reason).misused());
        }
        Ok(columns)
    }
}
