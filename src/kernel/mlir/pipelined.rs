//! Loops that the compiler pipelines: `scf.for ... {cutlass.pipelining = N}`.
//!
//! In the text, each iteration loads its own data. The compiler issues the tensor loads N iterations ahead, together
//! with everything that comes before them in an iteration: the wait for a free stage, and the expected bytes. So the
//! loop
//!
//! ```text
//! for k in 0..n { load(k); use(k) }
//! ```
//!
//! is executed as
//!
//! ```text
//! for k in 0..min(n, N) { load(k) }
//! for k in 0..n { if k + N < n { load(k + N) }; use(k) }
//! ```
//!
//! This transformation by the compiler is an assumption, and the verdict lists it. The output of the compiler agreed with it.

use std::collections::BTreeSet;

use super::control::Head;
use super::lower::Lower;
use super::syntax::Operation;
use super::syntax::Region;
use super::syntax::ValueId;
use super::syntax::is_yield;
use super::syntax::numbers;
use super::value::Value;
use crate::ir::Compare;
use crate::ir::Compute;
use crate::ir::Operand;
use crate::ir::Terminator;

/// The two parts of a body, and for each position of a yielded value, what each part yields there.
struct Parts<'r, 'a> {
    loads: Vec<&'r Operation<'a>>,
    uses: Vec<&'r Operation<'a>>,
    loaded: Vec<(usize, ValueId)>,
    used: Vec<(usize, ValueId)>,
}

impl<'a> Lower<'_, 'a> {
    /// Lowers a pipelined loop whose carried registers hold their first values. `None` if the loop does not have this
    /// form.
    pub fn pipelined(&mut self, operation: &Operation<'a>, head: &Head) -> Option<()> {
        let ahead = *numbers(operation.attribute("cutlass.pipelining")?).first()?;
        let ahead = u128::try_from(ahead).ok().filter(|ahead| *ahead > 0)?;
        let parts = parts(operation.regions().next()?, &head.names)?;
        let width = head.width;
        let first = *head.low.parts.first()?;
        let distance = self.build.compute(
            Compute::Multiply,
            width,
            &[head.step, Operand::Constant(ahead)],
        );
        self.build.kernel.assumptions.push(format!(
            "the compiler issues the tensor loads of the loop at line {}, which it pipelines, {ahead} rounds ahead",
            self.build.location.line
        ));
        for (name, value) in head.names.iter().zip(&head.carried) {
            self.define(*name, value.clone());
        }
        let less = Compare::Less {
            signed: head.signed,
        };

        let until = self.build.compute(Compute::Add, width, &[first, distance]);
        self.counted(
            operation,
            head,
            "ahead",
            Some((until, less)),
            |lower, index| {
                lower.round(head, &parts.loads, &parts.loaded, index);
            },
        );
        self.counted(operation, head, "for", None, |lower, index| {
            let later = lower.build.compute(Compute::Add, width, &[index, distance]);
            let condition = lower.build.compare(less, width, later, head.high);
            let then = lower.build.block("load");
            let join = lower.build.block("use");
            lower.build.end(Terminator::Branch {
                condition,
                then,
                otherwise: join,
            });
            lower.build.enter(then);
            lower.round(head, &parts.loads, &parts.loaded, later);
            lower.build.end(Terminator::Jump(join));
            lower.build.enter(join);
            lower.round(head, &parts.uses, &parts.used, index);
        });
        Some(())
    }

    /// A loop over the index. It also ends as soon as the index is no longer below `until`.
    fn counted(
        &mut self,
        operation: &Operation<'a>,
        head: &Head,
        label: &str,
        until: Option<(Operand, Compare)>,
        body: impl FnOnce(&mut Self, Operand),
    ) {
        let width = head.width;
        self.locate(operation);
        self.call(head.index);
        let counter = self.build.register(width);
        let index = Operand::Register(counter);
        let first = head.low.parts.first().copied();
        self.build
            .assign(counter, width, first.unwrap_or(Operand::Constant(0)));
        let at = self.build.block(label);
        let inside = self.build.block("body");
        let behind = self.build.block("end");
        self.build.end(Terminator::Jump(at));
        self.build.enter(at);
        let less = Compare::Less {
            signed: head.signed,
        };
        let mut condition = self.build.compare(less, width, index, head.high);
        if let Some((until, less)) = until {
            let also = self.build.compare(less, width, index, until);
            condition = self.build.compute(Compute::And, 1, &[condition, also]);
        }
        self.build.end(Terminator::Branch {
            condition,
            then: inside,
            otherwise: behind,
        });
        self.build.enter(inside);
        body(self, index);
        self.locate(operation);
        self.call(head.index);
        let next = self.build.compute(Compute::Add, width, &[index, head.step]);
        self.build.assign(counter, width, next);
        self.build.end(Terminator::Jump(at));
        self.build.enter(behind);
    }

    /// One part of an iteration, for this index.
    fn round(
        &mut self,
        head: &Head,
        operations: &[&Operation<'a>],
        yields: &[(usize, ValueId)],
        index: Operand,
    ) {
        self.define(head.index, Value::new(head.low.ty.clone(), vec![index]));
        for operation in operations {
            self.operation(operation);
        }
        let (targets, sources): (Vec<_>, Vec<_>) = yields
            .iter()
            .filter_map(|(at, value)| Some((head.carried.get(*at)?.clone(), self.value(*value))))
            .unzip();
        self.pass(&targets, &sources);
    }
}

/// Splits a body after its last tensor load. Neither part may read a value that the other part computes or carries.
/// Constants are an exception, because both parts have them.
fn parts<'r, 'a>(body: &'r Region<'a>, names: &[ValueId]) -> Option<Parts<'r, 'a>> {
    let [block] = body.blocks.as_slice() else {
        return None;
    };
    let (last, operations) = block.operations.split_last()?;
    if !is_yield(last.name) {
        return None;
    }
    let cut = operations.iter().rposition(loads)? + 1;
    let (loads, uses) = operations.split_at(cut);
    // The tracer writes a constant where it is first used.
    let constants = loads.iter().filter(|o| o.name == "arith.constant");
    let uses: Vec<_> = constants.chain(uses).collect();
    let loads: Vec<_> = loads.iter().collect();
    let sides = [&loads, &uses].map(|operations| {
        let (mut read, mut computed) = (BTreeSet::new(), BTreeSet::new());
        let operations = operations.iter().copied();
        collect(operations, &mut read, &mut computed);
        (read, computed)
    });
    let [(read_first, first), (read_second, second)] = sides;
    let foreign = |value: &ValueId| first.contains(value) && !second.contains(value);
    if read_second.iter().any(foreign) {
        return None;
    }
    let yields = last.operands();
    if yields.len() != names.len() {
        return None;
    }
    let (mut loaded, mut used) = (Vec::new(), Vec::new());
    for (at, (value, name)) in yields.into_iter().zip(names).enumerate() {
        if value == *name {
            continue;
        }
        // A register is carried by the part that computes it, and only this part reads it.
        if first.contains(&value) && !read_second.contains(name) {
            loaded.push((at, value));
        } else if second.contains(&value) && !read_first.contains(name) {
            used.push((at, value));
        } else {
            return None;
        }
    }
    Some(Parts {
        loads,
        uses,
        loaded,
        used,
    })
}

/// Whether an operation, or one in its regions, loads a tensor from global memory.
fn loads(operation: &Operation<'_>) -> bool {
    let (types, _) = operation.types();
    let own = operation.name == "cute.copy"
        && types
            .first()
            .is_some_and(|ty| ty.name.starts_with("cute_nvgpu.atom.tma_load"));
    own || operation
        .regions()
        .flat_map(|region| &region.blocks)
        .flat_map(|block| &block.operations)
        .any(loads)
}

/// Collects the values that operations, and the operations in their regions, read and compute.
fn collect<'o>(
    operations: impl IntoIterator<Item = &'o Operation<'o>>,
    read: &mut BTreeSet<ValueId>,
    computed: &mut BTreeSet<ValueId>,
) {
    for operation in operations {
        read.extend(operation.operands());
        computed.extend(operation.results.iter().copied());
        for block in operation.regions().flat_map(|region| &region.blocks) {
            collect(&block.operations, read, computed);
        }
    }
}
