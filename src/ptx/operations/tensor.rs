//! What the tensor cores read and write: matrices in shared memory, by their descriptors, and tensor memory.
//!
//! Tensor memory has 128 lanes of 512 columns. Its places are numbered as bytes are: eight to a column, one for
//! 16 lanes each. Multiplications read and write from the instruction on until somebody waits for them; what
//! threads read and write is over at `tcgen05.wait`, and before that nothing may be told to others.

use super::access::merged;
use super::descriptor::Descriptor;
use super::descriptor::Engine;
use super::descriptor::Shape;
use super::instruction::Done;
use crate::ptx::path::walk::Walker;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::syntax::ast::Operand;
use crate::ptx::syntax::ast::Variable;
use crate::ptx::warp::machine::COLUMNS;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::State;
use crate::ptx::warp::machine::TENSOR;
use crate::ptx::warp::machine::wrap;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Area;
use crate::ptx::warp::statement::How;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Atom;

/// Places of a column, and the lanes of each.
pub(in crate::ptx) const PLACES: i128 = 8;
const LANES: i128 = 16;

/// What a `tcgen05.mma` multiplies.
struct Multiplication {
    /// Rows and columns of the result, of both CTAs together.
    rows: i128,
    columns: i128,
    /// Bytes of an element of the operands.
    element: i128,
    /// Which operands are transposed.
    transposed: [bool; 2],
}

impl Walker<'_, '_, '_> {
    /// Notes the matrices in shared memory that a `wgmma.mma_async` reads.
    pub fn warpgroup_matrices(
        &mut self,
        instruction: &Instruction<'_>,
        lanes: u32,
        state: &mut State,
        out: &mut Vec<Statement>,
    ) -> Done {
        let parts: Vec<&str> = instruction.parts().collect();
        if lanes != state.whole {
            return self.refuse(instruction, "only some lanes of the warp are here");
        }
        let shape = parts.iter().find_map(|p| p.strip_prefix("m64n"));
        let columns = shape.and_then(|s| s.split('k').next()?.parse::<i128>().ok());
        let element = |part: Option<&&str>| match part.copied() {
            Some("f16" | "bf16") => Some(2),
            Some("tf32") => Some(4),
            Some("e4m3" | "e5m2" | "s8" | "u8") => Some(1),
            _ => None,
        };
        let sizes = (
            element(parts.get(parts.len().saturating_sub(2))),
            element(parts.last()),
        );
        let (Some(columns), (Some(first), Some(second)), false) =
            (columns, sizes, parts.contains(&"sp"))
        else {
            return self.refuse(instruction, "what this form reads is not modelled");
        };
        let flag = |operand: Option<&Operand<'_>>| match operand {
            None => Some(false),
            Some(Operand::Integer(value)) => Some(*value != 0),
            Some(_) => None,
        };
        let operands = &instruction.operands;
        let registers = matches!(operands.get(1), Some(Operand::Vector(_)));
        let transposed = if registers {
            (Some(false), flag(operands.get(6)))
        } else {
            (flag(operands.get(6)), flag(operands.get(7)))
        };
        let (Some(first_turned), Some(second_turned)) = transposed else {
            return self.refuse(
                instruction,
                "whether a matrix is transposed is not a constant",
            );
        };
        if !registers {
            let shape = Shape {
                rows: 64,
                element: first,
                transposed: first_turned,
            };
            self.matrix(
                instruction,
                operands.get(1),
                Engine::Wgmma,
                shape,
                state,
                out,
            )?;
        }
        let shape = Shape {
            rows: columns,
            element: second,
            transposed: second_turned,
        };
        self.matrix(
            instruction,
            operands.get(2),
            Engine::Wgmma,
            shape,
            state,
            out,
        )
    }

    /// Notes what a `tcgen05.mma` reads and writes.
    pub fn tensor_matrices(
        &mut self,
        instruction: &Instruction<'_>,
        lanes: u32,
        state: &mut State,
        out: &mut Vec<Statement>,
    ) -> Done {
        self.finished(instruction)?;
        self.behind(instruction, lanes, state)?;
        if lanes.count_ones() != 1 {
            return self.refuse(instruction, "more than one lane starts the multiplication");
        }
        if self.multiplier.is_some_and(|before| before != lanes) {
            return self.refuse(
                instruction,
                "different lanes of the warp start multiplications",
            );
        }
        self.multiplier = Some(lanes);
        let mut seen = state.narrowed(lanes);
        let state = &mut seen;
        let operands = &instruction.operands;
        let Some(product) = self.multiplication(instruction, state)? else {
            return Ok(());
        };
        let pair = instruction.has("cta_group::2");
        if pair && !self.machine.launch.ranks().is_multiple_of(2) {
            return self.refuse(
                instruction,
                "a pair of CTAs needs a cluster of an even number",
            );
        }
        let ctas = if pair { 2 } else { 1 };
        let width = match (ctas, product.rows) {
            (1, 128) | (2, 256) => product.columns,
            _ => {
                return self.refuse(
                    instruction,
                    "where a result with so many rows lies in tensor memory is not modelled",
                );
            }
        };
        match operands.get(1) {
            Some(address @ Operand::Address { .. }) => {
                // 32 bytes of each row lie in eight columns.
                let area = self.columns(instruction, Some(address), 8, (0, 128), state)?;
                self.both_ctas(instruction, How::Take, area, pair, state, out);
            }
            operand => {
                let shape = Shape {
                    rows: product.rows / ctas,
                    element: product.element,
                    transposed: product.transposed[0],
                };
                self.matrix(instruction, operand, Engine::Tcgen05, shape, state, out)?;
            }
        }
        let shape = Shape {
            rows: product.columns / ctas,
            element: product.element,
            transposed: product.transposed[1],
        };
        self.matrix(
            instruction,
            operands.get(2),
            Engine::Tcgen05,
            shape,
            state,
            out,
        )?;
        let area = self.columns(instruction, operands.first(), width, (0, 128), state)?;
        self.both_ctas(instruction, How::Accumulate, area, pair, state, out);
        Ok(())
    }

    /// What the instruction descriptor says; nothing while a guess is made that does not have it.
    fn multiplication(
        &mut self,
        instruction: &Instruction<'_>,
        state: &mut State,
    ) -> Result<Option<Multiplication>, Obstacle> {
        let element = match () {
            () if instruction.has("kind::f16") => 2,
            () if instruction.has("kind::tf32") => 4,
            () if instruction.has("kind::f8f6f4") || instruction.has("kind::i8") => 1,
            () => 0,
        };
        let other = ["ws", "sp", "block_scale", "ashift"];
        if element == 0 || other.iter().any(|part| instruction.has(part)) {
            self.refuse(
                instruction,
                "what this form reads and writes is not modelled",
            )?;
        }
        let word = self.uniform(instruction, instruction.operands.get(3), state)?;
        let Some(word) = word.as_constant().map(|word| wrap(word, false, 32)) else {
            if !self.machine.guessing {
                self.refuse(instruction, "its instruction descriptor is not a constant")?;
            }
            return Ok(None);
        };
        let field = |from: u32, length: u32| (word >> from) & ((1 << length) - 1);
        let result = field(4, 2);
        let narrow = instruction.has("kind::f8f6f4") && (field(7, 3) > 1 || field(10, 3) > 1);
        if !matches!(result, 1 | 2) || narrow || field(2, 1) != 0 {
            self.refuse(
                instruction,
                "operands or results of these types are not modelled",
            )?;
        }
        Ok(Some(Multiplication {
            rows: field(24, 5) * 16,
            columns: field(17, 6) * 8,
            element,
            transposed: [field(15, 1) == 1, field(16, 1) == 1],
        }))
    }

    /// Notes what is read of a matrix in shared memory, of both CTAs of a pair if it is theirs.
    fn matrix(
        &mut self,
        instruction: &Instruction<'_>,
        operand: Option<&Operand<'_>>,
        engine: Engine,
        shape: Shape,
        state: &mut State,
        out: &mut Vec<Statement>,
    ) -> Done {
        let value = self.uniform(instruction, operand, state)?;
        let of = |shared: &[Variable<'_>]| {
            Descriptor::of(&value, engine, &state.facts, self.machine.unknowns, shared)
        };
        let mut found = of(self.machine.shared);
        if found.is_err()
            && let Some(Ok(leveled)) = self.machine.leveled().map(|shared| of(&shared))
        {
            found = Ok(leveled);
            self.machine.leveled |= !self.machine.guessing;
        }
        let machine = &self.machine;
        let descriptor = match found {
            Ok(descriptor) => descriptor,
            // While a guess is made, what a loop carries is not known yet.
            Err(_) if machine.guessing => return Ok(()),
            Err(why) => {
                let name = operand.and_then(|operand| self.machine.named(operand));
                let name = name.map_or_else(String::new, |name| format!(" in {name}"));
                return self.refuse(instruction, &format!("the descriptor{name}: {why}"));
            }
        };
        let based = descriptor
            .moves
            .terms
            .iter()
            .any(|(atom, factor)| match atom {
                Atom::Unknown(u) => {
                    let meaning = machine.unknowns.meaning(*u);
                    *factor == 1 && matches!(meaning, Some(Meaning::Shared(name)) if name != TENSOR)
                }
                _ => false,
            });
        if !based {
            if machine.guessing {
                return Ok(());
            }
            return self.refuse(
                instruction,
                "the address in its descriptor is based on no shared variable",
            );
        }
        let bytes = match descriptor.read(shape) {
            Ok(bytes) => bytes,
            Err(why) => return self.refuse(instruction, why),
        };
        let area = Area {
            address: descriptor.moves,
            bytes: bytes.into(),
            cells: Vec::new(),
        };
        let pair = engine == Engine::Tcgen05 && instruction.has("cta_group::2");
        self.both_ctas(instruction, How::Take, Some(area), pair, state, out);
        Ok(())
    }

    /// Notes an access in this CTA, or at the same place in each CTA of the pair.
    fn both_ctas(
        &mut self,
        instruction: &Instruction<'_>,
        how: How,
        area: Option<Area>,
        pair: bool,
        state: &mut State,
        out: &mut Vec<Statement>,
    ) {
        let Some(area) = area else { return };
        if !pair {
            self.push(out, instruction, Action::Touch(how, area));
            return;
        }
        let leader = self.machine.rank & !1;
        for rank in [leader, leader + 1] {
            let address = self.machine.in_peer(&area.address, rank, state);
            let area = Area {
                address,
                ..area.clone()
            };
            self.push(out, instruction, Action::Touch(how, area));
        }
    }

    /// What a warp reads of tensor memory or writes to it.
    pub fn tensor_access(
        &mut self,
        instruction: &Instruction<'_>,
        how: How,
        lanes: u32,
        state: &mut State,
        out: &mut Vec<Statement>,
    ) -> Done {
        if lanes != state.whole {
            return self.refuse(instruction, "only some lanes of the warp are here");
        }
        let parts: Vec<&str> = instruction.parts().collect();
        let (high, wide) = match parts.iter().find(|p| p.contains('x') && p.ends_with('b')) {
            Some(&"32x32b") => (32, 1),
            Some(&"16x64b") => (16, 2),
            Some(&"16x128b") => (16, 4),
            Some(&"16x256b") => (16, 8),
            _ => (0, 0),
        };
        let times = parts
            .iter()
            .find_map(|p| p.strip_prefix('x')?.parse::<i128>().ok());
        let other = ["pack::16b", "unpack::16b", "red"];
        let (Some(times), true) = (
            times,
            high > 0 && !other.iter().any(|part| parts.contains(part)),
        ) else {
            return self.refuse(
                instruction,
                "what this form reads or writes is not modelled",
            );
        };
        let address = instruction.operands.iter();
        let address = address
            .clone()
            .find(|o| matches!(o, Operand::Address { .. }));
        let area = self.columns(instruction, address, wide * times, (0, high), state)?;
        if let Some(area) = area {
            self.push(out, instruction, Action::Touch(how, area));
        }
        let open = &mut self.unfinished[usize::from(how == How::Write)];
        *open = open.or(Some(instruction.at));
        Ok(())
    }

    /// Refuses a commit by a lane that has not started the multiplications of its warp: it is about what that
    /// lane has started.
    pub fn commits(&self, instruction: &Instruction<'_>, lanes: u32) -> Done {
        match self.multiplier {
            Some(lane) if self.data && lane != lanes => self.refuse(
                instruction,
                "another lane of the warp has started its multiplications",
            ),
            _ => Ok(()),
        }
    }

    /// Refuses to tell others anything while what the warp reads of tensor memory or writes to it may be
    /// under way.
    pub fn finished(&self, instruction: &Instruction<'_>) -> Done {
        self.over(instruction.at, &format!("`{}`: ", instruction.opcode))
    }

    /// Refuses what the warp does here, in these words, while its accesses to tensor memory may be under way.
    pub fn over(&self, at: usize, what: &str) -> Done {
        match self.unfinished[0].or(self.unfinished[1]) {
            None => Ok(()),
            Some(from) => {
                let reason = format!(
                    "{what}what is read of tensor memory or written to it before may still be under way: a \
                     `tcgen05.wait` is missing"
                );
                let mut obstacle = Obstacle::new(at, reason);
                obstacle.from = Some(from);
                Err(obstacle)
            }
        }
    }

    /// So many columns of tensor memory from an address on, and the lanes from its lane on.
    fn columns(
        &mut self,
        instruction: &Instruction<'_>,
        operand: Option<&Operand<'_>>,
        width: i128,
        (first, last): (i128, i128),
        state: &mut State,
    ) -> Result<Option<Area>, Obstacle> {
        let sum = self.uniform(instruction, operand, state)?;
        let base = self.machine.tensor_memory(state);
        let rest = sum.minus(&base);
        let tensor = |u| {
            let meaning = self.machine.unknowns.meaning(u);
            matches!(meaning, Some(Meaning::Shared(name)) if name == TENSOR)
        };
        let (lane, column) = (rest.constant >> 16, rest.constant & 0xffff);
        let moves = rest.plus_constant(-rest.constant);
        let (least, most) = state.facts.range(&moves);
        let fits = least + column >= 0 && most + column + width <= COLUMNS;
        if rest.mentions(&tensor) || !fits {
            if self.machine.guessing {
                return Ok(None);
            }
            let why = if rest.mentions(&tensor) {
                "its address comes from no allocation of tensor memory that is followed"
            } else {
                "which columns of tensor memory it is about is not followed"
            };
            self.refuse(instruction, why)?;
        }
        let (first, last) = (lane + first, lane + last);
        if lane < 0 || last > 128 || first % LANES != 0 || last % LANES != 0 {
            self.refuse(
                instruction,
                "which lanes of tensor memory it is about is not followed",
            )?;
        }
        let (first, last) = (first / LANES, last / LANES);
        let places = (column..column + width).map(|c| (c * PLACES + first, c * PLACES + last));
        Ok(Some(Area {
            address: base.plus(&moves.scaled(PLACES)),
            bytes: merged(places.collect()),
            cells: Vec::new(),
        }))
    }
}
