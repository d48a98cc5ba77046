//! Builds kernels for tests.

use crate::interpret::*;
use crate::ir::*;

pub struct Builder {
    pub kernel: Kernel,
}

pub fn constant(value: u128) -> Operand {
    Operand::Constant(value)
}

impl Builder {
    /// A kernel of empty blocks, which all exit.
    pub fn new(blocks: u32) -> Self {
        let block = |index: u32| Block {
            label: format!("b{index}"),
            operations: Vec::new(),
            end: Terminator::Exit,
            location: Location::default(),
        };
        let kernel = Kernel {
            name: "kernel".to_owned(),
            blocks: (0..blocks).map(block).collect(),
            ..Kernel::default()
        };
        Self { kernel }
    }

    pub fn register(&mut self, width: u16) -> RegisterId {
        let id = self.kernel.registers.len() as u32;
        self.kernel.registers.push(Register {
            name: format!("r{id}"),
            width,
        });
        RegisterId(id)
    }

    pub fn parameter(&mut self, name: &str, size: u32) -> u32 {
        let last = self.kernel.parameters.last();
        let offset = last.map_or(0, |last| (last.offset + last.size).next_multiple_of(8));
        self.kernel.parameters.push(Parameter {
            name: name.to_owned(),
            offset,
            size,
        });
        offset
    }

    pub fn shared(&mut self, name: &str, size: u64) -> VariableId {
        self.variable(name, Space::Shared, size)
    }

    pub fn variable(&mut self, name: &str, space: Space, size: u64) -> VariableId {
        let id = self.kernel.variables.len() as u32;
        self.kernel.variables.push(Variable {
            name: name.to_owned(),
            space,
            size: Some(size),
            alignment: 8,
            initial: Vec::new(),
            arrivals: None,
        });
        VariableId(id)
    }

    pub fn push(&mut self, block: u32, kind: OperationKind) {
        self.push_if(block, None, kind);
    }

    pub fn push_if(&mut self, block: u32, guard: Option<Guard>, kind: OperationKind) {
        let line = 1 + self
            .kernel
            .blocks
            .iter()
            .map(|block| block.operations.len() as u32)
            .sum::<u32>();
        self.kernel.blocks[block as usize]
            .operations
            .push(Operation {
                guard,
                kind,
                location: Location {
                    line,
                    source: Vec::new(),
                },
            });
    }

    pub fn sync(&mut self, block: u32, operation: Synchronization) {
        self.push(block, OperationKind::Synchronization(operation));
    }

    pub fn compute(
        &mut self,
        block: u32,
        compute: Compute,
        width: u16,
        operands: &[Operand],
    ) -> RegisterId {
        let wide = crate::meaning::result_width(compute, width, operands.len()).unwrap();
        let result = self.register(wide);
        self.assign(block, result, compute, width, operands);
        result
    }

    pub fn assign(
        &mut self,
        block: u32,
        result: RegisterId,
        compute: Compute,
        width: u16,
        operands: &[Operand],
    ) {
        self.push(
            block,
            OperationKind::Compute {
                compute,
                width,
                result,
                operands: operands.to_vec(),
            },
        );
    }

    pub fn special(&mut self, block: u32, special: Special) -> Operand {
        let result = self.register(32);
        self.push(block, OperationKind::Special { result, special });
        Operand::Register(result)
    }

    pub fn less(&mut self, block: u32, a: Operand, b: Operand) -> RegisterId {
        let compare = Compute::Compare(Compare::Less { signed: false });
        self.compute(block, compare, 32, &[a, b])
    }

    pub fn equal(&mut self, block: u32, a: Operand, b: Operand) -> RegisterId {
        self.compute(block, Compute::Compare(Compare::Equal), 32, &[a, b])
    }

    pub fn jump(&mut self, from: u32, to: u32) {
        self.kernel.blocks[from as usize].end = Terminator::Jump(BlockId(to));
    }

    pub fn branch(&mut self, from: u32, condition: RegisterId, then: u32, otherwise: u32) {
        self.kernel.blocks[from as usize].end = Terminator::Branch {
            condition: Operand::Register(condition),
            then: BlockId(then),
            otherwise: BlockId(otherwise),
        };
    }

    pub fn address_of(&mut self, block: u32, variable: VariableId) -> Operand {
        let result = self.register(32);
        self.push(
            block,
            OperationKind::AddressOf {
                result,
                variable,
                generic: false,
            },
        );
        Operand::Register(result)
    }

    pub fn load(
        &mut self,
        block: u32,
        space: Space,
        address: Operand,
        order: MemoryOrder,
    ) -> RegisterId {
        let result = self.register(32);
        self.push(
            block,
            OperationKind::Load {
                results: vec![Some(result)],
                space,
                address,
                width: 32,
                signed: false,
                order,
                scope: Scope::Gpu,
                stability: Stability::Unsaid,
            },
        );
        result
    }

    pub fn store(&mut self, block: u32, space: Space, address: Operand, value: Operand) {
        self.push(
            block,
            OperationKind::Store {
                space,
                address,
                values: vec![value],
                width: 32,
                order: MemoryOrder::Weak,
                scope: Scope::Cta,
            },
        );
    }

    pub fn init(&mut self, block: u32, address: Operand, count: u128) {
        let count = constant(count);
        self.sync(block, Synchronization::MbarrierInit { address, count });
    }

    pub fn arrive(&mut self, block: u32, address: Operand) {
        self.sync(
            block,
            Synchronization::MbarrierArrive {
                address,
                count: constant(1),
                expect: None,
                drop: false,
                no_complete: false,
                token: None,
                cluster: false,
                order: MemoryOrder::Release,
                scope: Scope::Cta,
            },
        );
    }

    /// Adds a block that spins until a phase has completed.
    pub fn spin(&mut self, block: u32, address: Operand, parity: Operand, then: u32) {
        let result = self.test(block, address, parity);
        self.branch(block, result, then, block);
    }

    pub fn test(&mut self, block: u32, address: Operand, parity: Operand) -> RegisterId {
        let result = self.register(1);
        self.sync(
            block,
            Synchronization::MbarrierTest {
                result,
                address,
                token: Token::Parity(parity),
                blocking: true,
                order: MemoryOrder::Acquire,
                scope: Scope::Cta,
            },
        );
        result
    }

    pub fn barrier(&mut self, block: u32, barrier: u128, threads: Option<u128>, aligned: bool) {
        self.sync(
            block,
            Synchronization::BarrierSync {
                barrier: constant(barrier),
                threads: threads.map(constant),
                aligned,
                reduction: None,
            },
        );
    }

    /// Adds an event whose operand is a value, so that a test can see the value.
    pub fn show(&mut self, block: u32, value: Operand) {
        self.sync(
            block,
            Synchronization::SetMaxRegisters {
                count: value,
                increase: false,
            },
        );
    }

    pub fn launch(&self, threads: u32) -> Launch {
        let mut launch = Launch::new(&self.kernel);
        launch.threads = [threads, 1, 1];
        launch
    }

    pub fn run(&self, threads: u32) -> Trace {
        run(&self.kernel, &self.launch(threads)).unwrap()
    }

    pub fn simulate(&self, threads: u32) -> Trace {
        let mut launch = self.launch(threads);
        launch.waits = Waits::Simulate;
        run(&self.kernel, &launch).unwrap()
    }
}

/// The values that [`Builder::show`] made visible in a warp, with their lanes.
pub fn shown(trace: &Trace, warp: usize) -> Vec<(Lanes, u32)> {
    let events = trace.ctas[0].warps[warp].events.iter();
    events
        .filter_map(|event| match event.kind {
            EventKind::SetMaxRegisters { count, .. } => Some((event.lanes, count)),
            _ => None,
        })
        .collect()
}

pub const ALL: Lanes = u32::MAX;
