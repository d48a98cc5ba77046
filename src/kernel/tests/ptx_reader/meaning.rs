//! Tests of the results of PTX instructions that become several operations of the IR.

use std::collections::HashMap;

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use warplock_kernel::ir::Operand;
use warplock_kernel::ir::OperationKind;
use warplock_kernel::meaning::Concrete;
use warplock_kernel::meaning::Word;
use warplock_kernel::meaning::operand_width;
use warplock_kernel::meaning::result_of;

use crate::kernel;
use crate::module;

/// The values of the registers at the end of a kernel of one block, by name. The kernel only computes.
fn run(text: &str, inputs: &[(&str, u64)]) -> HashMap<String, u128> {
    let kernel = kernel(text);
    let mut values: Vec<Word> = (kernel.registers.iter())
        .map(|register| Word::new(0, register.width))
        .collect();
    for (value, register) in values.iter_mut().zip(&kernel.registers) {
        if let Some((_, input)) = inputs.iter().find(|(name, _)| *name == register.name) {
            *value = Word::new(u128::from(*input), register.width);
        }
    }
    for operation in &kernel.blocks[0].operations {
        let OperationKind::Compute {
            compute,
            width,
            result,
            operands,
        } = &operation.kind
        else {
            panic!("{operation:?}");
        };
        let skipped = operation
            .guard
            .is_some_and(|guard| (values[guard.predicate.0 as usize].bits == 1) == guard.negated);
        if skipped {
            continue;
        }
        let operands: Vec<Word> = (operands.iter().enumerate())
            .map(|(index, operand)| {
                let bits = match operand {
                    Operand::Register(register) => values[register.0 as usize].bits,
                    Operand::Constant(bits) => *bits,
                };
                Word::new(bits, operand_width(*compute, *width, index))
            })
            .collect();
        values[result.0 as usize] =
            result_of(&mut Concrete, *compute, *width, &operands).expect("a result");
    }
    (kernel.registers.into_iter().zip(values))
        .map(|(register, value)| (register.name, value.bits))
        .collect()
}

/// An instruction that becomes several operations computes what the manual says.
#[test]
fn instructions_of_several_operations() {
    let text = module(
        "",
        "add.cc.u32 %r4, %r0, %r2; addc.u32 %r5, %r1, %r3; mov.b64 %rd0, {%r4, %r5};\n\
         sub.cc.u32 %r4, %r0, %r2; subc.u32 %r5, %r1, %r3; mov.b64 %rd1, {%r4, %r5};\n\
         mad.lo.cc.u32 %r4, %r0, %r1, %r2; madc.hi.u32 %r5, %r0, %r1, %r3;\n\
         mov.b64 %rd2, {%r4, %r5}; mul24.lo.s32 %r4, %r0, %r1; slct.u32.s32 %r5, %r0, %r1, %r2;\n\
         setp.lt.s32 %p0|%p1, %r0, %r1; @%p0 setp.hi.and.u32 %p0|%p2, %r2, %r3, %p0;\n\
         set.le.u32.s32 %r6, %r0, %r1; cnot.b32 %r7, %r6; cvt.s16.s8 %h1, %r0;\n\
         cvt.s64.s16 %rd3, %r1; ret;",
    );
    let mut random = ChaCha8Rng::seed_from_u64(3);
    for round in 0..200 {
        let mut word = || -> u32 { random.random() };
        let (a, b, c) = (word(), word(), word());
        let d = if round % 2 == 0 { word() } else { c };
        let names = ["%r0", "%r1", "%r2", "%r3"];
        let inputs = [a, b, c, d].map(u64::from);
        let inputs: Vec<(&str, u64)> = names.into_iter().zip(inputs).collect();
        let found = run(&text, &inputs);
        let get = |name: &str| u64::try_from(found[name]).expect("64 bits");
        let (low, high) = (
            u64::from(b) << 32 | u64::from(a),
            u64::from(d) << 32 | u64::from(c),
        );
        assert_eq!(get("%rd0"), low.wrapping_add(high));
        assert_eq!(get("%rd1"), low.wrapping_sub(high));
        assert_eq!(
            get("%rd2"),
            (u64::from(a) * u64::from(b)).wrapping_add(high)
        );
        let [x, y, z] = [a, b, c].map(u32::cast_signed);
        let product = ((x << 8) >> 8).wrapping_mul((y << 8) >> 8).cast_unsigned();
        assert_eq!(get("%r4"), u64::from(product));
        assert_eq!(get("%r5"), u64::from(if z >= 0 { a } else { b }));
        assert_eq!(get("%p1"), u64::from(x >= y));
        assert_eq!(get("%p0"), u64::from(x < y && c > d));
        assert_eq!(get("%p2"), u64::from(x < y && c <= d));
        assert_eq!(get("%r6"), if x <= y { u64::from(u32::MAX) } else { 0 });
        assert_eq!(get("%r7"), u64::from(x > y));
        let byte = u64::from((x << 24 >> 24).cast_unsigned());
        assert_eq!(get("%h1"), byte & 0xFFFF);
        assert_eq!(get("%rd3"), i64::from(y << 16 >> 16).cast_unsigned());
    }
}
