//! Lowers operands to operands of the IR. An instruction that becomes several operations uses temporary registers.

use rustc_hash::FxHashMap;

use crate::ir;
use crate::ir::Compute;
use crate::ir::Guard;
use crate::ir::Kernel;
use crate::ir::Location;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::Register;
use crate::ir::RegisterId;
use crate::ir::Space;
use crate::ir::Synchronization;
use crate::ir::VariableId;
use crate::meaning::operand_width;
use crate::meaning::result_width;

use super::resolved::Body;
use super::resolved::Memory;
use super::resolved::Operand;
use super::slot::Pieces;
use super::tree::Tree;
use super::tree::Variable;
use super::tree::VariableSpace;

/// The result of lowering; the error says why an instruction is not understood.
pub type Lowered<T = ()> = Result<T, String>;

/// A kernel while its instructions are lowered.
pub struct Lowering<'k, 'a> {
    tree: &'k Tree<'a>,
    body: &'k Body<'a>,
    pub kernel: Kernel,
    variables: FxHashMap<Memory, VariableId>,
    pieces: Pieces,
    slots: FxHashMap<(usize, i64), RegisterId>,
    /// The operations of the current block.
    pub operations: Vec<Operation>,
    pub location: Location,
    pub guard: Option<Guard>,
    carry: Option<RegisterId>,
}

impl<'k, 'a> Lowering<'k, 'a> {
    /// `kernel` has its parameters already.
    pub fn new(tree: &'k Tree<'a>, body: &'k Body<'a>, mut kernel: Kernel, pieces: Pieces) -> Self {
        kernel.registers.clone_from(&body.registers);
        Self {
            tree,
            body,
            kernel,
            variables: FxHashMap::default(),
            pieces,
            slots: FxHashMap::default(),
            operations: Vec::new(),
            location: Location::default(),
            guard: None,
            carry: None,
        }
    }

    pub fn width(&self, register: RegisterId) -> u16 {
        let register = self.kernel.registers.get(register.0 as usize);
        register.map_or(0, |register| register.width)
    }

    /// Creates a temporary register.
    pub fn fresh(&mut self, width: u16) -> RegisterId {
        let number = self.kernel.registers.len();
        self.kernel.registers.push(Register {
            name: format!("t{}", number - self.body.registers.len()),
            width,
        });
        RegisterId(u32::try_from(number).unwrap_or(u32::MAX))
    }

    /// The carry flag of the thread.
    pub fn carry(&mut self) -> RegisterId {
        if let Some(carry) = self.carry {
            return carry;
        }
        let carry = self.fresh(1);
        "CC.CF".clone_into(&mut self.kernel.registers[carry.0 as usize].name);
        self.carry = Some(carry);
        carry
    }

    /// Emits an operation under the guard of the instruction.
    pub fn emit(&mut self, kind: OperationKind) {
        self.operations.push(Operation {
            guard: self.guard,
            kind,
            location: self.location.clone(),
        });
    }

    /// Emits an operation without the guard. It may only write a temporary register.
    pub fn emit_always(&mut self, kind: OperationKind) {
        self.operations.push(Operation {
            guard: None,
            kind,
            location: self.location.clone(),
        });
    }

    pub fn synchronize(&mut self, synchronization: Synchronization) {
        self.emit(OperationKind::Synchronization(synchronization));
    }

    /// Emits a pure operation that writes a temporary register.
    pub fn compute(
        &mut self,
        compute: Compute,
        width: u16,
        operands: Vec<ir::Operand>,
    ) -> Lowered<ir::Operand> {
        let wide = self.checked(compute, width, &operands)?;
        let result = self.fresh(wide);
        self.emit_always(OperationKind::Compute {
            compute,
            width,
            result,
            operands,
        });
        Ok(ir::Operand::Register(result))
    }

    /// Emits a pure operation that writes a register of the text. A wider register gets the extended result.
    pub fn assign(
        &mut self,
        result: RegisterId,
        compute: Compute,
        width: u16,
        operands: Vec<ir::Operand>,
        signed: bool,
    ) -> Lowered {
        let wide = self.checked(compute, width, &operands)?;
        let own = self.width(result);
        if own == wide {
            self.emit(OperationKind::Compute {
                compute,
                width,
                result,
                operands,
            });
            return Ok(());
        }
        let value = self.compute(compute, width, operands)?;
        self.put(result, value, wide, signed)
    }

    /// Writes a value of `width` bits to a register of the text that has at least as many bits.
    pub fn put(
        &mut self,
        result: RegisterId,
        value: ir::Operand,
        width: u16,
        signed: bool,
    ) -> Lowered {
        let own = self.width(result);
        if own < width {
            return Err(format!("a result of {width} bits in a register of {own}"));
        }
        let (compute, width) = if own == width {
            (Compute::Copy, width)
        } else {
            (Compute::Convert { to: own, signed }, width)
        };
        self.emit(OperationKind::Compute {
            compute,
            width,
            result,
            operands: vec![value],
        });
        Ok(())
    }

    /// The width of the result, if the operation exists and its operands are wide enough.
    fn checked(&self, compute: Compute, width: u16, operands: &[ir::Operand]) -> Lowered<u16> {
        for (index, operand) in operands.iter().enumerate() {
            let needed = operand_width(compute, width, index);
            if let ir::Operand::Register(register) = operand {
                let own = self.width(*register);
                if own < needed {
                    return Err(format!("a register of {own} bits where {needed} are read"));
                }
            }
        }
        result_width(compute, width, operands.len())
            .ok_or_else(|| format!("no operation on {width} bits"))
    }

    /// Writes several results of one instruction. The values have been computed already. The register that decides
    /// whether the instruction is executed is written last.
    pub fn put_all(&mut self, mut results: Vec<(RegisterId, ir::Operand, u16)>) -> Lowered {
        let predicate = self.guard.map(|guard| guard.predicate);
        results.sort_by_key(|(result, ..)| Some(*result) == predicate);
        for (result, value, width) in results {
            self.put(result, value, width, false)?;
        }
        Ok(())
    }

    /// A register that is written. For `_`, a register that nothing reads.
    pub fn result(&mut self, operand: &Operand<'a>, width: u16) -> Lowered<RegisterId> {
        match operand {
            Operand::Register(register) => Ok(*register),
            Operand::Sink => Ok(self.fresh(width)),
            _ => Err("the result is no register".to_owned()),
        }
    }

    /// A register to which an operation of the IR writes `width` bits. A wider register is an error.
    pub fn exact(&mut self, operand: &Operand<'a>, width: u16) -> Lowered<RegisterId> {
        let register = self.result(operand, width)?;
        let own = self.width(register);
        if own == width {
            Ok(register)
        } else {
            Err(format!("a result of {width} bits in a register of {own}"))
        }
    }

    /// A value that is read, with at least `width` bits.
    pub fn value(&mut self, operand: &Operand<'a>, width: u16) -> Lowered<ir::Operand> {
        match operand {
            Operand::Register(register) => {
                let own = self.width(*register);
                if own < width {
                    return Err(format!("a register of {own} bits where {width} are read"));
                }
                Ok(ir::Operand::Register(*register))
            }
            Operand::Not(register) => {
                self.compute(Compute::Not, 1, vec![ir::Operand::Register(*register)])
            }
            Operand::Special(special, own) => {
                let result = self.fresh(*own);
                self.emit_always(OperationKind::Special {
                    result,
                    special: *special,
                });
                let value = ir::Operand::Register(result);
                if *own >= width {
                    return Ok(value);
                }
                let convert = Compute::Convert {
                    to: width,
                    signed: false,
                };
                self.compute(convert, *own, vec![value])
            }
            Operand::Integer(value) => Ok(ir::Operand::Constant(value.cast_unsigned())),
            Operand::Float(bits, own) => {
                if *own == width {
                    return Ok(ir::Operand::Constant(u128::from(*bits)));
                }
                if width == 32 {
                    // A decimal number has 64 bits as it is written.
                    #[allow(clippy::cast_possible_truncation)]
                    let value = f64::from_bits(*bits) as f32;
                    return Ok(ir::Operand::Constant(u128::from(value.to_bits())));
                }
                Err(format!("a number of {own} bits where {width} are read"))
            }
            Operand::Variable(memory, offset) => {
                self.variable_address(*memory, *offset, width.max(32), false)
            }
            Operand::Vector(parts) => self.packed(parts, width),
            _ => Err("an operand of a kind that is not read here".to_owned()),
        }
    }

    /// The concatenation of parts of equal width.
    fn packed(&mut self, parts: &[Operand<'a>], width: u16) -> Lowered<ir::Operand> {
        let count = u16::try_from(parts.len()).unwrap_or(u16::MAX);
        if count == 0 || !width.is_multiple_of(count) {
            return Err(format!("{count} parts of {width} bits"));
        }
        let each = width / count;
        let values: Vec<ir::Operand> = parts
            .iter()
            .map(|part| self.value(part, each))
            .collect::<Lowered<_>>()?;
        if count == 1 {
            return Ok(values[0]);
        }
        self.compute(Compute::Concatenate, each, values)
    }

    fn declared(&self, memory: Memory) -> Option<&'k Variable<'a>> {
        match memory {
            Memory::Module(number) => self.tree.variables.get(number),
            Memory::Own(number) => self.body.variables.get(number),
            Memory::Parameter(_) => None,
        }
    }

    /// The space of a variable.
    pub fn space_of(&self, memory: Memory) -> Space {
        let Some(variable) = self.declared(memory) else {
            return Space::Parameter;
        };
        match variable.space {
            VariableSpace::Global => Space::Global,
            VariableSpace::Constant => Space::Constant,
            VariableSpace::Shared => Space::Shared,
            // An argument of an inlined function lies on the stack.
            VariableSpace::Local | VariableSpace::Parameter | VariableSpace::Register => {
                Space::Local
            }
        }
    }

    pub fn variable(&mut self, memory: Memory) -> Lowered<VariableId> {
        if let Some(id) = self.variables.get(&memory) {
            return Ok(*id);
        }
        let space = self.space_of(memory);
        let declared = self
            .declared(memory)
            .ok_or_else(|| "a parameter is no variable".to_owned())?;
        // Shared variables whose size the launch decides begin at the same address. They are treated as one variable.
        if space == Space::Shared && declared.size.is_none() {
            let unsized_one = |v: &ir::Variable| v.space == space && v.size.is_none();
            let known = self.kernel.variables.iter().position(unsized_one);
            if let Some(known) = known {
                if let Some(variable) = self.kernel.variables.get_mut(known) {
                    variable.alignment = variable.alignment.max(declared.alignment);
                }
                let id = VariableId(u32::try_from(known).unwrap_or(u32::MAX));
                self.variables.insert(memory, id);
                return Ok(id);
            }
        }
        let id = VariableId(u32::try_from(self.kernel.variables.len()).unwrap_or(u32::MAX));
        self.kernel.variables.push(ir::Variable {
            name: declared.name.text.to_owned(),
            space,
            size: declared.size,
            alignment: declared.alignment,
            initial: declared.initial.clone(),
            arrivals: None,
        });
        self.variables.insert(memory, id);
        Ok(id)
    }

    /// The address of a place in a variable. Parameters lie at known offsets of their space.
    pub fn variable_address(
        &mut self,
        memory: Memory,
        offset: i64,
        width: u16,
        generic: bool,
    ) -> Lowered<ir::Operand> {
        let offset = i128::from(offset);
        if let Memory::Parameter(number) = memory {
            let parameter = self.kernel.parameters.get(number);
            let begin = parameter.map_or(0, |parameter| i128::from(parameter.offset));
            let address = ir::Operand::Constant((begin + offset).cast_unsigned());
            if !generic {
                return Ok(address);
            }
            let result = self.fresh(width);
            self.emit_always(OperationKind::ConvertAddress {
                result,
                address,
                space: Space::Parameter,
                to_generic: true,
            });
            return Ok(ir::Operand::Register(result));
        }
        let variable = self.variable(memory)?;
        let result = self.fresh(width);
        self.emit_always(OperationKind::AddressOf {
            result,
            variable,
            generic,
        });
        self.added(ir::Operand::Register(result), offset, width)
    }

    fn added(&mut self, base: ir::Operand, offset: i128, width: u16) -> Lowered<ir::Operand> {
        if offset == 0 {
            return Ok(base);
        }
        let offset = ir::Operand::Constant(offset.cast_unsigned());
        self.compute(Compute::Add, width, vec![base, offset])
    }

    /// The address in brackets, or an address that is an operand itself.
    pub fn address(&mut self, operand: &Operand<'a>) -> Lowered<ir::Operand> {
        let (base, offset) = match operand {
            Operand::Address { base, offset, .. } => (&**base, *offset),
            other => (other, 0),
        };
        match base {
            Operand::Register(register) => {
                let width = self.width(*register);
                if width != 32 && width != 64 {
                    return Err(format!("an address of {width} bits"));
                }
                self.added(ir::Operand::Register(*register), i128::from(offset), width)
            }
            Operand::Integer(value) => {
                let address = value.checked_add(i128::from(offset));
                let address = address.ok_or_else(|| "an address beyond 64 bits".to_owned())?;
                Ok(ir::Operand::Constant(address.cast_unsigned()))
            }
            Operand::Variable(memory, first) => {
                let offset = first
                    .checked_add(offset)
                    .ok_or_else(|| "an offset beyond 64 bits".to_owned())?;
                let width = match self.space_of(*memory) {
                    Space::Shared => 32,
                    _ => 64,
                };
                self.variable_address(*memory, offset, width, false)
            }
            _ => Err("an address of a kind that is not read".to_owned()),
        }
    }

    /// The space that an instruction accesses: the one that it names, or that of the variable it names.
    pub fn space(&self, name: Option<&str>, operand: &Operand<'a>) -> Lowered<Space> {
        let named = match operand {
            Operand::Address { base, .. } => match **base {
                Operand::Variable(memory, _) => Some(self.space_of(memory)),
                _ => None,
            },
            Operand::Variable(memory, _) => Some(self.space_of(*memory)),
            _ => None,
        };
        let Some(name) = name else {
            return Ok(named.unwrap_or(Space::Generic));
        };
        Ok(match name {
            "const" => Space::Constant,
            "global" => Space::Global,
            "local" => Space::Local,
            "shared" | "shared::cta" => Space::Shared,
            "shared::cluster" => Space::Cluster,
            // An argument of an inlined function is a variable.
            "param" | "param::entry" | "param::func" => named.unwrap_or(Space::Parameter),
            _ => return Err(format!("no space `{name}`")),
        })
    }

    /// Converts an address of a space to a generic address, or back.
    pub fn converted(
        &mut self,
        address: ir::Operand,
        space: Space,
        to_generic: bool,
    ) -> ir::Operand {
        let result = self.fresh(64);
        self.emit_always(OperationKind::ConvertAddress {
            result,
            address,
            space,
            to_generic,
        });
        ir::Operand::Register(result)
    }

    /// An address in shared memory, and whether it is one of the cluster. If the opcode names no space, the address
    /// is generic and is converted to the space `otherwise`.
    pub fn shared_address(
        &mut self,
        operand: &Operand<'a>,
        name: Option<&str>,
        otherwise: Space,
    ) -> Lowered<(ir::Operand, bool)> {
        let space = self.space(name, operand)?;
        let address = self.address(operand)?;
        match space {
            Space::Shared => Ok((address, false)),
            Space::Cluster => Ok((address, true)),
            Space::Generic => {
                let address = self.converted(address, otherwise, false);
                Ok((address, otherwise == Space::Cluster))
            }
            _ => Err("an address outside of shared memory".to_owned()),
        }
    }

    /// The register of a piece of an argument of an inlined function, if the address is one.
    pub fn piece(&mut self, variable: usize, offset: i64) -> Option<RegisterId> {
        let width = *self.pieces.get(&variable)?.get(&offset)?;
        if let Some(register) = self.slots.get(&(variable, offset)) {
            return Some(*register);
        }
        let register = self.fresh(width);
        self.slots.insert((variable, offset), register);
        Some(register)
    }

    /// The registers of all pieces of a variable; `None` if the variable is in memory.
    pub fn all_pieces(&mut self, variable: usize) -> Option<Vec<RegisterId>> {
        let mut offsets: Vec<i64> = self.pieces.get(&variable)?.keys().copied().collect();
        offsets.sort_unstable();
        Some(
            offsets
                .into_iter()
                .filter_map(|offset| self.piece(variable, offset))
                .collect(),
        )
    }
}
