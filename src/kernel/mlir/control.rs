//! Structured and unstructured control flow: scf, cf, returns.

use super::lower::Lower;
use super::syntax::Argument;
use super::syntax::Block;
use super::syntax::Item;
use super::syntax::Operation;
use super::syntax::Region;
use super::syntax::ValueId;
use super::syntax::arguments_of;
use super::syntax::is_yield;
use super::syntax::number;
use super::value::Value;
use crate::ir::BlockId;
use crate::ir::Compare;
use crate::ir::Compute;
use crate::ir::Operand;
use crate::ir::RegisterId;
use crate::ir::Terminator;

/// The head of a counted loop.
pub struct Head {
    pub index: ValueId,
    /// The type and the first value of the index.
    pub low: Value,
    pub high: Operand,
    pub step: Operand,
    pub width: u16,
    pub signed: bool,
    /// The carried values: their names in the body, and their registers.
    pub names: Vec<ValueId>,
    pub carried: Vec<Value>,
}

/// A block of a region that branches lead to, with its arguments.
#[derive(Debug, Clone)]
pub struct Label<'a> {
    name: &'a str,
    block: BlockId,
    arguments: Vec<(RegisterId, u16)>,
}

impl<'a> Lower<'_, 'a> {
    /// Lowers the operations of a region. Returns the values that its last operation yields.
    pub fn region(&mut self, region: &Region<'a>) -> Vec<ValueId> {
        if region.blocks.len() > 1 {
            self.blocks(&region.blocks);
            return Vec::new();
        }
        let mut yields = Vec::new();
        for operation in region.blocks.iter().flat_map(|block| &block.operations) {
            if is_yield(operation.name) {
                self.locate(operation);
                yields = operation.operands();
            } else {
                self.operation(operation);
            }
        }
        yields
    }

    /// Lowers blocks with branches between them. Control leaves them by a return.
    fn blocks(&mut self, blocks: &[Block<'a>]) {
        let outer = std::mem::take(&mut self.labels);
        for block in blocks {
            let id = self.build.block(block.label.trim_start_matches('^'));
            let mut arguments = Vec::new();
            for argument in &block.arguments {
                let value = self.argument(argument);
                arguments.extend(self.targets(std::slice::from_ref(&value)));
            }
            self.labels.push(Label {
                name: block.label,
                block: id,
                arguments,
            });
        }
        if let Some(first) = self.labels.first() {
            let first = first.block;
            self.build.end(Terminator::Jump(first));
        }
        for (number, block) in blocks.iter().enumerate() {
            let id = self.labels[number].block;
            self.build.enter(id);
            // A block ends with a branch or a return; the kernel's last block has its own exit.
            self.build.end(Terminator::Exit);
            for operation in &block.operations {
                self.operation(operation);
            }
        }
        self.labels = outer;
        let behind = self.build.block("behind");
        self.build.enter(behind);
    }

    pub fn argument(&mut self, argument: &Argument) -> Value {
        self.call(argument.value);
        let ty = argument
            .ty
            .clone()
            .unwrap_or_else(|| self.value(argument.value).ty);
        let value = self.fresh(ty);
        self.define(argument.value, value.clone());
        value
    }

    /// The registers of values and their widths.
    fn targets(&self, values: &[Value]) -> Vec<(RegisterId, u16)> {
        values
            .iter()
            .flat_map(|value| &value.parts)
            .filter_map(|operand| match operand {
                Operand::Register(register) => Some((*register, self.build.width(*operand)?)),
                Operand::Constant(_) => None,
            })
            .collect()
    }

    /// Assigns the parts of values to registers of the same types.
    pub fn pass(&mut self, targets: &[Value], sources: &[Value]) {
        let mut registers = Vec::new();
        let mut operands = Vec::new();
        for (target, source) in targets.iter().zip(sources) {
            let source = source
                .conform(&target.ty)
                .filter(|source| source.parts.len() == target.parts.len());
            let slots = self.targets(std::slice::from_ref(target));
            match source {
                Some(source) => operands.extend(source.parts),
                None => {
                    let widths: Vec<_> = slots.iter().map(|(_, width)| *width).collect();
                    if !widths.is_empty() {
                        operands.extend(self.build.opaque("yield", Vec::new(), &widths, false));
                    }
                }
            }
            registers.extend(slots);
        }
        self.build.assign_all(&registers, &operands);
    }

    fn values_of(&self, ids: &[ValueId]) -> Vec<Value> {
        ids.iter().map(|id| self.value(*id)).collect()
    }

    /// New registers for the results of an operation.
    fn results(&mut self, operation: &Operation<'a>) -> Vec<Value> {
        let mut out = Vec::new();
        for (index, id) in operation.results.iter().enumerate() {
            self.call(*id);
            let ty = self
                .result_type(operation, index)
                .unwrap_or_else(|| self.value(*id).ty);
            let value = self.fresh(ty);
            self.define(*id, value.clone());
            out.push(value);
        }
        out
    }

    pub fn control(&mut self, operation: &Operation<'a>) -> Option<()> {
        match operation.name {
            "scf.if" => self.branch(operation),
            "scf.for" => self.counted_loop(operation),
            "scf.while" => self.while_loop(operation),
            "scf.index_switch" => self.switch(operation),
            "scf.execute_region" => {
                let results = self.results(operation);
                let yields = self.region(operation.regions().next()?);
                self.pass(&results, &self.values_of(&yields));
                Some(())
            }
            "cf.br" | "llvm.br" => {
                let target = self.jump_targets(operation)?.into_iter().next()?;
                self.build.end(Terminator::Jump(target));
                Some(())
            }
            "cf.cond_br" | "llvm.cond_br" => {
                let condition = self.scalar(operation, 0)?;
                let targets = self.jump_targets(operation)?;
                let [then, otherwise] = targets.as_slice() else {
                    return None;
                };
                self.build.end(Terminator::Branch {
                    condition,
                    then: *then,
                    otherwise: *otherwise,
                });
                Some(())
            }
            "return" | "cuda.return" | "gpu.return" | "func.return" | "llvm.return"
            | "tt.return" => {
                self.leave_kernel();
                Some(())
            }
            "llvm.unreachable" => {
                self.build.end(Terminator::Trap);
                let behind = self.build.block("behind");
                self.build.enter(behind);
                Some(())
            }
            _ => None,
        }
    }

    fn leave_kernel(&mut self) {
        self.build.end(Terminator::Exit);
        let behind = self.build.block("behind");
        self.build.enter(behind);
    }

    fn branch(&mut self, operation: &Operation<'a>) -> Option<()> {
        // A condition that is unknown still decides between two targets.
        let condition = match self.scalar(operation, 0) {
            Some(condition) => condition,
            None => self.build.opaque("condition", Vec::new(), &[1], false)[0],
        };
        let results = self.results(operation);
        let then = self.build.block("then");
        let regions: Vec<_> = operation.regions().collect();
        let otherwise = (regions.len() > 1).then(|| self.build.block("else"));
        let join = self.build.block("join");
        self.build.end(Terminator::Branch {
            condition,
            then,
            otherwise: otherwise.unwrap_or(join),
        });
        for (region, block) in regions
            .into_iter()
            .zip(std::iter::once(then).chain(otherwise))
        {
            self.build.enter(block);
            let yields = self.region(region);
            self.pass(&results, &self.values_of(&yields));
            self.build.end(Terminator::Jump(join));
        }
        self.build.enter(join);
        Some(())
    }

    /// `scf.for %i = %low to %high step %step iter_args(%a = %x, ...) -> (...) : type { ... }`.
    fn counted_loop(&mut self, operation: &Operation<'a>) -> Option<()> {
        let mut header = Vec::new();
        let mut carried = Vec::new();
        for item in &operation.items {
            match item {
                Item::Value(value) => header.push(*value),
                Item::Group(group) if group.open == '(' && carried.is_empty() => {
                    carried = arguments_of(&group.items);
                }
                _ => {}
            }
        }
        let [index, low, high, step] = header.as_slice() else {
            return None;
        };
        let signed = !operation.has_word("unsigned");
        let low = self.value(*low);
        let (high, step) = (self.value(*high), self.value(*step));
        let ([low_part], [high], [step]) = (
            low.parts.as_slice(),
            high.parts.as_slice(),
            step.parts.as_slice(),
        ) else {
            return None;
        };
        let width = low.ty.scalar_width()?;
        if operation.attribute("cutlass.pipelining").is_some() {
            let results = self.results(operation);
            let (names, initial): (Vec<_>, Vec<_>) = carried
                .chunks_exact(2)
                .map(|pair| (pair[0].value, pair[1].value))
                .unzip();
            self.pass(&results, &self.values_of(&initial));
            let head = Head {
                index: *index,
                low: low.clone(),
                high: *high,
                step: *step,
                width,
                signed,
                names,
                carried: results,
            };
            if self.pipelined(operation, &head).is_none() {
                self.build.unsupported(
                    operation.name,
                    "cutlass.pipelining: this loop cannot be divided into its loads and their uses",
                    &[],
                );
            }
            return Some(());
        }

        self.call(*index);
        let counter = self.build.register(width);
        self.define(
            *index,
            Value::new(low.ty.clone(), vec![Operand::Register(counter)]),
        );
        let results = self.results(operation);
        // `%a = %x` in the brackets: each name is followed by its initial value.
        let (names, initial): (Vec<_>, Vec<_>) = carried
            .chunks_exact(2)
            .map(|pair| (pair[0].value, pair[1].value))
            .unzip();
        for (name, result) in names.iter().zip(&results) {
            self.define(*name, result.clone());
        }
        self.build.assign(counter, width, *low_part);
        self.pass(&results, &self.values_of(&initial));

        let head = self.build.block("for");
        let body = self.build.block("body");
        let behind = self.build.block("end");
        self.build.end(Terminator::Jump(head));
        self.build.enter(head);
        let condition = self.build.compare(
            Compare::Less { signed },
            width,
            Operand::Register(counter),
            *high,
        );
        self.build.end(Terminator::Branch {
            condition,
            then: body,
            otherwise: behind,
        });
        self.build.enter(body);
        let yields = self.region(operation.regions().next()?);
        self.pass(&results, &self.values_of(&yields));
        self.locate(operation);
        self.call(*index);
        let next = self
            .build
            .compute(Compute::Add, width, &[Operand::Register(counter), *step]);
        self.build.assign(counter, width, next);
        self.build.end(Terminator::Jump(head));
        self.build.enter(behind);
        Some(())
    }

    /// `scf.while (%a = %x, ...) : (types) -> (types) { ... } do { ^bb0(%b: type): ... }`.
    fn while_loop(&mut self, operation: &Operation<'a>) -> Option<()> {
        let carried = operation
            .items
            .iter()
            .find_map(|item| match item {
                Item::Group(group) if group.open == '(' => Some(arguments_of(&group.items)),
                _ => None,
            })
            .unwrap_or_default();
        let mut regions = operation.regions();
        let (before, after) = (regions.next()?, regions.next()?);
        let results = self.results(operation);
        // The custom form names the arguments of the first region in its header.
        let (names, initial): (Vec<_>, Vec<_>) = match before.blocks.first()?.arguments.as_slice() {
            [] => carried
                .chunks_exact(2)
                .map(|pair| (pair[0].value, pair[1].value))
                .unzip(),
            arguments => (
                arguments.iter().map(|argument| argument.value).collect(),
                operation.operands(),
            ),
        };
        let (types, _) = operation.types();
        let mut state = Vec::new();
        for (index, (name, begin)) in names.iter().zip(&initial).enumerate() {
            self.call(*name);
            let ty = types
                .get(index)
                .cloned()
                .unwrap_or_else(|| self.value(*begin).ty);
            let value = self.fresh(ty);
            self.define(*name, value.clone());
            state.push(value);
        }
        self.pass(&state, &self.values_of(&initial));

        let head = self.build.block("while");
        let body = self.build.block("do");
        let behind = self.build.block("end");
        self.build.end(Terminator::Jump(head));
        self.build.enter(head);
        let mut ended = self.region(before).into_iter();
        let condition = ended.next()?;
        let condition = *self.value(condition).parts.first()?;
        let passed: Vec<_> = ended.collect();
        self.pass(&results, &self.values_of(&passed));
        self.build.end(Terminator::Branch {
            condition,
            then: body,
            otherwise: behind,
        });
        self.build.enter(body);
        for (argument, result) in after.blocks.first()?.arguments.iter().zip(&results) {
            self.define(argument.value, result.clone());
        }
        let yields = self.region(after);
        self.pass(&state, &self.values_of(&yields));
        self.build.end(Terminator::Jump(head));
        self.build.enter(behind);
        Some(())
    }

    /// `scf.index_switch %i -> types case 1 { ... } ... default { ... }`.
    fn switch(&mut self, operation: &Operation<'a>) -> Option<()> {
        let index = self.scalar(operation, 0)?;
        let width = self
            .value(*operation.operands().first()?)
            .ty
            .scalar_width()?;
        let results = self.results(operation);
        let join = self.build.block("join");
        let mut case = None;
        for item in &operation.items {
            match item {
                Item::Number(text) => case = number(text),
                Item::Region(region) => {
                    let Some(number) = case.take() else {
                        // The default, which the printer writes last.
                        let yields = self.region(region);
                        self.pass(&results, &self.values_of(&yields));
                        continue;
                    };
                    let then = self.build.block("case");
                    let otherwise = self.build.block("next");
                    let constant = Operand::Constant(number.cast_unsigned());
                    let condition = self.build.compare(Compare::Equal, width, index, constant);
                    self.build.end(Terminator::Branch {
                        condition,
                        then,
                        otherwise,
                    });
                    self.build.enter(then);
                    let yields = self.region(region);
                    self.pass(&results, &self.values_of(&yields));
                    self.build.end(Terminator::Jump(join));
                    self.build.enter(otherwise);
                }
                _ => {}
            }
        }
        self.build.end(Terminator::Jump(join));
        self.build.enter(join);
        Some(())
    }

    /// The blocks that a branch leads to. For each of them, a block of its own passes the arguments.
    fn jump_targets(&mut self, operation: &Operation<'a>) -> Option<Vec<BlockId>> {
        let mut out = Vec::new();
        for (at, item) in operation.items.iter().enumerate() {
            let Item::Label(name) = item else { continue };
            let label = self
                .labels
                .iter()
                .find(|label| label.name == *name)?
                .clone();
            let passed = match operation.items.get(at + 1) {
                Some(Item::Group(group)) if group.open == '(' => arguments_of(&group.items),
                _ => Vec::new(),
            };
            let operands: Vec<_> = passed
                .iter()
                .flat_map(|argument| self.value(argument.value).parts)
                .collect();
            if label.arguments.is_empty() {
                out.push(label.block);
                continue;
            }
            if operands.len() != label.arguments.len() {
                return None;
            }
            out.push(self.edge(&label, &operands));
        }
        Some(out)
    }

    /// A block that assigns the arguments of `label` and then jumps there.
    fn edge(&mut self, label: &Label<'a>, operands: &[Operand]) -> BlockId {
        let here = self.build.current();
        let edge = self.build.block("edge");
        self.build.enter(edge);
        self.build.assign_all(&label.arguments, operands);
        self.build.end(Terminator::Jump(label.block));
        self.build.enter(here);
        edge
    }
}
