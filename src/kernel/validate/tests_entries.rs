//! An entry of another word than the kernel reads is found, whatever is wrong with it.

use super::validate;
use crate::ir::Kernel;
use crate::recover::Roles;
use crate::recover::Shape;
use crate::recover::entry::Entry;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::every_line_mut;
use crate::recover::roles;

const SHAPE: Shape = Shape {
    threads: [32, 1, 1],
    cluster: [1, 1, 1],
};

/// One thread arrives in each round whose word in the row of the CTA is not 0.
fn masked() -> Kernel {
    kernel("setp.eq.u32 %p3, %r9, 0;")
}

fn kernel(test: &str) -> Kernel {
    let text = ".version 8.8\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 mask, .param .u32 n)\n{\n\
         .reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %d<9>;\n.shared .align 8 .b64 full;\n\
         ld.param.u64 %d1, [mask];\nld.param.u32 %r4, [n];\nmov.u32 %r2, %tid.x;\nmov.u32 %r3, %ctaid.x;\n\
         setp.ne.u32 %p1, %r2, 0;\n@!%p1 mbarrier.init.shared.b64 [full], 1;\nbar.sync 0;\n\
         mul.lo.u32 %r5, %r3, %r4;\nmov.u32 %r6, 0;\nsetp.lt.s32 %p2, %r4, 1;\n@%p2 bra END;\n\
         LOOP:\nadd.u32 %r8, %r5, %r6;\nmul.wide.u32 %d5, %r8, 4;\nadd.u64 %d6, %d1, %d5;\n\
         ld.global.nc.u32 %r9, [%d6];\nTEST\n@%p3 bra NEXT;\n\
         @!%p1 mbarrier.arrive.shared.b64 _, [full];\nNEXT:\nadd.u32 %r6, %r6, 1;\nsetp.lt.s32 %p4, %r6, %r4;\n\
         @%p4 bra LOOP;\nEND:\nret;\n}\n";
    let module =
        crate::ptx::read(&text.replace("TEST", test)).unwrap_or_else(|errors| panic!("{errors:?}"));
    module.kernels.into_iter().next().unwrap()
}

/// Whether the roles are refuted by a run once their entry is changed.
fn is_found(change: impl Fn(&mut Entry)) -> bool {
    is_found_in(&masked(), change)
}

fn is_found_in(kernel: &Kernel, change: impl Fn(&mut Entry)) -> bool {
    let mut found: Roles = roles(kernel, SHAPE, || false).unwrap_or_else(|why| panic!("{why:?}"));
    let mut changed = 0;
    for role in &mut found.all {
        every_line_mut(&mut role.lines, &mut |line| {
            let Line::If {
                condition: Condition::NotZero(number),
                ..
            } = line
            else {
                return;
            };
            let parts = std::mem::take(&mut number.parts).into_iter();
            number.parts = parts
                .map(|(atomic, factor)| match atomic {
                    Atomic::Entry(mut entry) => {
                        change(&mut entry);
                        changed += 1;
                        (Atomic::Entry(entry), factor)
                    }
                    other => (other, factor),
                })
                .collect();
        });
    }
    assert_eq!(changed, 1);
    validate(kernel, SHAPE, &found.all, &found.inputs, &mut found.arena).is_err()
}

fn plus(number: &mut Number, more: i128) {
    *number = number.plus(&Number::constant(more)).unwrap();
}

#[test]
fn entries_of_other_words_are_found() {
    assert!(!is_found(|_| ()));
    assert!(
        is_found(|entry| plus(&mut entry.indices[0], 1)),
        "the next row"
    );
    assert!(
        is_found(|entry| plus(&mut entry.indices[1], 1)),
        "the next column"
    );
    assert!(
        is_found(|entry| plus(&mut entry.widths[0], 1)),
        "longer rows"
    );
    assert!(
        is_found(|entry| entry.indices[0] = Number::default()),
        "the first row"
    );
    assert!(
        is_found(|entry| entry.indices[1] = Number::default()),
        "the first column"
    );
}

/// `word > n + i` in the round `i` of a CTA, where both the row and the number that the word is compared with matter.
#[test]
fn functions_of_other_words_are_found() {
    let kernel = kernel(
        "add.u32 %r10, %r6, %r4;\nsub.u32 %r10, %r10, 4;\nsetp.gt.s32 %p5, %r9, %r10;\nnot.pred %p3, %p5;",
    );
    assert!(!is_found_in(&kernel, |_| ()));
    assert!(
        is_found_in(&kernel, |entry| plus(&mut entry.indices[0], 1)),
        "the next round"
    );
    assert!(
        is_found_in(&kernel, |entry| entry.indices[0] = Number::default()),
        "the first round"
    );
}
