//! Memory that a kernel waits for, or has an mbarrier in, and that it may reach in another way as well.

use crate::support::program::Folder;

const HEAD: &str = ".version 8.7\n.target sm_90a\n.address_size 64\n";

/// What is said of a kernel whose first thread adds to a counter behind `count` until all CTAs have, after this.
/// `%rd1` is `count`, `%rd2` another pointer, `%rd3` what is read there, `%r1` the thread and `%r4` a parameter.
fn counted(code: &str) -> String {
    let folder = Folder::new();
    folder.file(
        "kernel.ptx",
        format!(
            "{HEAD}.visible .entry kernel(.param .u64 count, .param .u64 out, .param .u32 n)\n.reqntid 64, 1, 1\n{{\n\
             .reg .pred %p<8>;\n.reg .b16 %h<4>;\n.reg .b32 %r<16>;\n.reg .f32 %f<8>;\n.reg .b64 %rd<16>;\n\
             .shared .align 16 .b8 tile[1024];\n.local .align 8 .b8 own[64];\n\
             mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %nctaid.x;\n\
             ld.param.u64 %rd1, [count];\ncvta.to.global.u64 %rd1, %rd1;\n\
             ld.param.u64 %rd2, [out];\ncvta.to.global.u64 %rd2, %rd2;\nld.param.u32 %r4, [n];\n\
             ld.global.u64 %rd3, [%rd2];\n{code}\n\
             setp.ne.u32 %p1, %r1, 0;\n@%p1 bra DONE;\nred.release.gpu.global.add.u32 [%rd1], 1;\n\
             AGAIN:\nld.acquire.gpu.global.u32 %r5, [%rd1];\nsetp.lt.u32 %p2, %r5, %r3;\n@%p2 bra AGAIN;\n\
             DONE:\nbar.sync 0;\nret;\n}}\n"
        ),
    );
    said(&folder, &["--assume", "R >= nctaid_x"])
}

fn said(folder: &Folder, more: &[&str]) -> String {
    let shown = folder.run(&[&["check", "kernel.ptx"], more].concat());
    let from = shown.find("kernel.ptx: deadlock: ").unwrap_or(0);
    shown[from..].replace("kernel.ptx: deadlock: ", "")
}

/// Stores and copies that may write to the counter, by every way in which an address is not
/// followed. If the address comes from memory, the graph assumes that it is another one, and the
/// verdict says so.
#[test]
fn writes_that_may_hit_the_counter_are_refused() {
    const ELSEWHERE: &str = "stores and copies to addresses in global memory that are not followed do not reach words that are waited for";
    for code in [
        // One of two pointers.
        "setp.eq.u32 %p3, %r4, 3;\nselp.b64 %rd4, %rd1, %rd2, %p3;\nst.global.u32 [%rd4], 7;",
        // A pointer, or a distance, that is read from memory.
        "st.global.u32 [%rd3], 7;",
        "add.u64 %rd4, %rd1, %rd3;\nst.global.u32 [%rd4], 7;",
        "add.u64 %rd4, %rd2, %rd3;\nst.volatile.global.u32 [%rd4], 7;",
        "st.global.v4.u32 [%rd3], {%r1, %r1, %r1, %r1};",
        "st.u32 [%rd3], 7;",
        // Computed from the pointer itself.
        "and.b64 %rd4, %rd1, -16;\nst.global.u32 [%rd4], 7;",
        "sub.u64 %rd4, %rd1, %rd2;\nand.b64 %rd4, %rd4, -16;\nadd.u64 %rd4, %rd2, %rd4;\nst.global.u32 [%rd4], 7;",
        "clz.b32 %r6, %r4;\nsub.u32 %r6, 32, %r6;\nmul.wide.u32 %rd4, %r6, 4;\nadd.u64 %rd4, %rd1, %rd4;\n\
         st.global.u32 [%rd4], 7;",
        "mov.u32 %r6, tile;\ncp.async.bulk.global.shared::cta.bulk_group [%rd3], [%r6], 16;",
        "mov.u32 %r6, tile;\ncp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r6], 16;",
        "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd3], {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, 16;",
        "discard.global.L2 [%rd3], 128;",
    ] {
        let said = counted(code);
        let refused = said.starts_with("UNKNOWN") && said.contains("the kernel waits for");
        let assumed = !code.contains("%rd1") && said.contains(ELSEWHERE);
        assert!(refused || assumed, "{code}\n{said}");
    }
}

/// What lies behind another parameter, or in memory of the CTA or the thread, is no counter.
#[test]
fn writes_elsewhere_are_left_out() {
    for code in [
        "st.global.u32 [%rd2], 7;",
        "mad.lo.u32 %r6, %r2, %r4, %r1;\nmul.wide.u32 %rd4, %r6, 4;\nadd.u64 %rd4, %rd2, %rd4;\nst.global.u32 [%rd4], 7;",
        "ld.global.u32 %r6, [%rd2];\nmul.wide.u32 %rd4, %r6, 4;\nadd.u64 %rd4, %rd2, %rd4;\nst.global.u32 [%rd4], 7;",
        "shl.b64 %rd4, %rd3, 2;\nadd.u64 %rd4, %rd2, %rd4;\nst.volatile.global.u32 [%rd4], 7;",
        "mov.u64 %rd4, tile;\ncvta.shared.u64 %rd4, %rd4;\nadd.u64 %rd4, %rd4, 16;\nst.u32 [%rd4], 7;",
        "mov.u64 %rd4, own;\ncvta.local.u64 %rd4, %rd4;\nmul.wide.u32 %rd5, %r1, 4;\nadd.u64 %rd4, %rd4, %rd5;\n\
         st.u32 [%rd4], 7;",
        "mov.u32 %r6, tile;\ncp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r6], 16;",
        "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd2], {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, 16;",
    ] {
        let said = counted(code);
        assert!(said.starts_with("PROVED"), "{code}\n{said}");
        for words in [
            "pointers that are different parameters, and what tensor maps describe, do not overlap",
            "counters in memory are 0 at launch",
            "nctaid_y == 1, an axis of the grid that the kernel never looks at",
            "nctaid_z == 1, an axis of the grid that the kernel never looks at",
        ] {
            assert!(said.contains(words), "{code}\n{said}");
        }
    }
}

/// CTAs take turns along one axis: those along the others are not counted, and said to be one.
#[test]
fn axes_that_the_kernel_never_looks_at() {
    for (axis, others) in [("x", ["y", "z"]), ("y", ["x", "z"])] {
        let folder = Folder::new();
        folder.file(
            "kernel.ptx",
            format!(
                "{HEAD}.visible .entry kernel(.param .u64 turn)\n.reqntid 32, 1, 1\n{{\n\
                 .reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<4>;\n\
                 mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra DONE;\nmov.u32 %r2, %ctaid.{axis};\n\
                 ld.param.u64 %rd1, [turn];\ncvta.to.global.u64 %rd2, %rd1;\n\
                 AGAIN:\nld.acquire.gpu.global.u32 %r3, [%rd2];\nsetp.ne.u32 %p2, %r3, %r2;\n@%p2 bra AGAIN;\n\
                 red.release.gpu.global.add.u32 [%rd2], 1;\nDONE:\nret;\n}}\n"
            ),
        );
        let said = said(&folder, &["--launch", "ascending"]);
        assert!(said.starts_with("PROVED"), "{said}");
        for other in others {
            assert!(said.contains(&format!("nctaid_{other} == 1")), "{said}");
        }
        assert!(!said.contains(&format!("nctaid_{axis} == 1")), "{said}");
    }
}

/// Both recoveries of a kernel with two names for the shared memory whose size the launch decides.
fn two_names(init: &str, code: &str) -> [String; 2] {
    let folder = Folder::new();
    folder.file(
        "kernel.ptx",
        format!(
            "{HEAD}.extern .shared .align 8 .b8 one[];\n.extern .shared .align 16 .b8 other[];\n\
             .visible .entry kernel()\n.reqntid 64, 1, 1\n{{\n.reg .pred %p<4>;\n.reg .b32 %r<8>;\n\
             mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra READY;\nmbarrier.init.shared.b64 [one], 1;\n{init}\n\
             READY:\nbar.sync 0;\n@%p1 bra WAIT;\n{code}\nWAIT:\n\
             mbarrier.try_wait.parity.shared.b64 %p2, [one], 0;\n@!%p2 bra WAIT;\nret;\n}}\n"
        ),
    );
    ["path", "graph"].map(|recovery| said(&folder, &["--recovery", recovery]))
}

#[test]
fn two_names_of_dynamic_shared_memory_are_one_memory() {
    // The second name says where the mbarrier is as well as the first.
    for said in two_names("", "mbarrier.arrive.shared.b64 _, [other];") {
        assert!(said.starts_with("PROVED"), "{said}");
    }
    for said in two_names("", "mbarrier.arrive.shared.b64 _, [other+8];") {
        assert!(!said.starts_with("PROVED"), "{said}");
    }
    for said in two_names(
        "mbarrier.init.shared.b64 [other], 2;",
        "mbarrier.arrive.shared.b64 _, [one];",
    ) {
        assert!(!said.starts_with("PROVED"), "{said}");
    }
    for said in two_names(
        "",
        "st.shared.u32 [other], 7;\nmbarrier.arrive.shared.b64 _, [one];",
    ) {
        assert!(said.starts_with("UNKNOWN"), "{said}");
    }
}

/// What is said of a kernel of two warps with a parameter `n`, which is `%r2`.
fn sized(code: &str) -> String {
    let folder = Folder::new();
    folder.file(
        "kernel.ptx",
        format!(
            "{HEAD}.visible .entry kernel(.param .u32 n, .param .u64 out)\n.reqntid 64, 1, 1\n{{\n\
             .reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<4>;\nld.param.u32 %r2, [n];\nld.param.u64 %rd1, [out];\n\
             {code}\nEND:\nret;\n}}\n"
        ),
    );
    said(&folder, &["--recovery", "path"])
}

/// Within its range a parameter decides that nobody waits for a third warp: the verdict says which range.
#[test]
fn ranges_that_decide_are_printed() {
    for code in [
        // By a branch, by a choice under one, and by a number of threads.
        "sub.u32 %r3, %r2, 5;\nsetp.lt.s32 %p1, %r3, 0;\n@%p1 bra END;\nsetp.gt.u32 %p1, %r3, 1073741818;\n\
         @!%p1 bra END;\nbar.sync 1, 96;",
        "setp.gt.u32 %p1, %r2, 1073741823;\n@%p1 bar.sync 1, 96;",
        "mov.u32 %r4, 64;\nsetp.le.u32 %p1, %r2, 1073741823;\n@%p1 bra SMALL;\nmov.u32 %r4, 96;\nSMALL:\nbar.sync 1, %r4;",
        "setp.gt.u32 %p1, %r2, 1073741823;\nselp.u32 %r4, 96, 64, %p1;\nbar.sync 1, %r4;",
    ] {
        let said = sized(code);
        let printed = said.contains("0 <= p_n <= 1073741823");
        assert!(said.starts_with("PROVED") && printed, "{code}\n{said}");
    }
    // Only what is stored depends on it.
    let said = sized(
        "setp.gt.u32 %p1, %r2, 1073741823;\n@%p1 bra OVER;\nst.global.u32 [%rd1], %r2;\nOVER:\nbar.sync 0;",
    );
    assert!(
        said.starts_with("PROVED") && !said.contains("p_n"),
        "{said}"
    );
}
