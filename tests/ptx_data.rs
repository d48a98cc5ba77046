//! What kernels read and write in shared memory: races and stale reads, from PTX alone.

mod cli_support;

use std::fs;
use std::path::Path;

use cli_support::Folder;

fn kernel(name: &str) -> Folder {
    let folder = Folder::new();
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/ptx/kernels")
        .join(name);
    folder.file(name, fs::read(path).unwrap());
    folder
}

/// The verdicts on races of the entries of a compiled kernel.
fn compiled(name: &str, entry: &[&str]) -> String {
    let arguments = ["check", "-q", "--property", "race", name];
    kernel(name).run(&[&arguments[..], entry].concat())
}

/// An entry of this many threads with these instructions; `%r1` is the thread, `%r2` the warp, `%r3`
/// the lane, `%p1` holds in all but the first thread, `%p2` from the second warp on. Thread 0
/// initialises `full` and `empty` for this many arrivals.
fn entry(threads: u32, arrivals: u32, code: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n\
         .visible .entry kernel(.param .u32 n, .param .u64 p)\n.reqntid {threads}, 1, 1\n{{\n\
         .reg .pred %p<16>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<16>;\n.reg .f32 %f<16>;\n\
         .shared .align 8 .b64 full;\n.shared .align 8 .b64 empty;\n\
         .shared .align 128 .b8 tile[4096];\n.shared .align 16 .b8 other[512];\n\
         ld.param.u32 %r9, [n];\nld.param.u64 %rd9, [p];\nmov.u32 %r1, %tid.x;\n\
         shr.u32 %r2, %r1, 5;\nand.b32 %r3, %r1, 31;\nmov.u32 %r8, tile;\n\
         setp.ne.u32 %p1, %r1, 0;\nsetp.ge.u32 %p2, %r1, 32;\n@%p1 bra READY;\n\
         mbarrier.init.shared.b64 [full], {arrivals};\nmbarrier.init.shared.b64 [empty], {arrivals};\n\
         READY:\nbar.sync 0;\n{code}\nret;\n}}\n"
    )
}

fn run(text: &str, arguments: &[&str]) -> String {
    let folder = Folder::new();
    folder.file("kernel.ptx", text);
    folder.run(&[arguments, &["kernel.ptx"]].concat())
}

fn race(threads: u32, arrivals: u32, code: &str) -> String {
    let arguments = ["check", "-q", "--property", "race"];
    run(&entry(threads, arrivals, code), &arguments)
}

#[test]
fn data_that_is_handed_on() {
    insta::assert_snapshot!(compiled("handover.ptx", &["--timeout", "20"]), @"");
}

#[test]
fn rings() {
    insta::assert_snapshot!(compiled("ring.ptx", &["--entry", "ring_of_3"]), @"");
    insta::assert_snapshot!(compiled("stencil.ptx", &["--entry", "stencil"]), @"");
    insta::assert_snapshot!(compiled("bulk_ring.ptx", &["--entry", "bulk_ring"]), @"");
    insta::assert_snapshot!(compiled("matvec.ptx", &["--entry", "matvec"]), @"");
}

/// Neighbours write in the next round what is read in this one, and nothing is between.
#[test]
fn cells_of_neighbours() {
    insta::assert_snapshot!(compiled("jacobi.ptx", &["--entry", "jacobi"]), @"");
}

/// Each warp's part of a stage is an element of its own, by the warp's number.
#[test]
fn the_text_with_accesses() {
    let folder = kernel("matvec.ptx");
    insta::assert_snapshot!(folder.run(&["lift", "--data", "matvec.ptx", "--entry", "matvec"]), @"");
}

/// The report names the lines of the source on which the accesses stand.
#[test]
fn the_report_of_a_race() {
    let folder = kernel("handover.ptx");
    let arguments = ["check", "--property", "race", "handover.ptx", "--entry", "relay_reads_late"];
    insta::assert_snapshot!(folder.run(&arguments), @"");
}

/// What `lift --data` prints is what `check --property race` decides.
#[test]
fn the_lifted_text_gets_the_same_verdict() {
    for (file, entry) in [
        ("ring.ptx", "ring_of_3"),
        ("handover.ptx", "relay_writes_late"),
        ("handover.ptx", "sum"),
        ("jacobi.ptx", "jacobi"),
    ] {
        let folder = kernel(file);
        let property = ["check", "-q", "--property", "race,stale_read"];
        let first = folder.run(&[&property[..], &[file, "--entry", entry]].concat());
        folder.run(&["lift", "--data", file, "--entry", entry, "-o", "lifted.wlk"]);
        let second = folder.run(&[&property[..], &["lifted.wlk"]].concat());
        assert_eq!(first.replace(file, "lifted.wlk"), second, "{entry}");
    }
}

/// One warp writes words, another reads bytes; `from` is where it begins.
fn widths(from: u32) -> String {
    format!(
        "@%p2 bra OTHER;
        shl.b32 %r4, %r3, 4;
        add.u32 %r5, %r8, %r4;
        st.shared.v4.f32 [%r5], {{%f1, %f2, %f3, %f4}};
        bra END;
        OTHER:
        add.u32 %r5, %r8, %r3;
        ld.shared.u8 %r6, [%r5+{from}];
        END:"
    )
}

#[test]
fn accesses_of_different_widths() {
    insta::assert_snapshot!(race(64, 1, &widths(511)), @"");
    insta::assert_snapshot!(race(64, 1, &widths(512)), @"");
}

/// The store is made by one lane, the other lanes' words are read.
#[test]
fn a_predicated_store() {
    let code = |lane: u32| {
        format!(
            "shl.b32 %r4, %r3, 2;
            add.u32 %r5, %r8, %r4;
            setp.eq.u32 %p3, %r1, {lane};
            @%p3 st.shared.u32 [%r5], %r1;
            @!%p2 bra END;
            ld.shared.u32 %r6, [%r8+16];
            END:"
        )
    };
    insta::assert_snapshot!(race(64, 1, &code(4)), @"");
    insta::assert_snapshot!(race(64, 1, &code(5)), @"");
}

/// Deadlock does not depend on addresses.
#[test]
fn an_address_from_memory() {
    let code = "
        ld.global.u32 %r4, [%rd9];
        add.u32 %r5, %r8, %r4;
        st.shared.u32 [%r5], %r1;
        bar.sync 0;";
    insta::assert_snapshot!(
        run(&entry(64, 1, code), &["check", "-q", "--property", "deadlock,race"]), @"");
}

#[test]
fn what_is_not_followed_is_named() {
    insta::assert_snapshot!(race(64, 1, "atom.shared.add.u32 %r4, [tile], 1;"), @"");
    insta::assert_snapshot!(race(64, 1, "st.volatile.shared.u32 [tile], %r1;"), @"");
    insta::assert_snapshot!(race(64, 1, "ld.u32 %r4, [%rd3];"), @"");
    insta::assert_snapshot!(race(64, 1, "st.shared.u32 [full], %r1;"), @"");
    let beyond = "shl.b32 %r4, %r1, 7;\nadd.u32 %r5, %r8, %r4;\nst.shared.u32 [%r5], %r1;";
    insta::assert_snapshot!(race(64, 1, beyond), @"");
    let branch = "ld.global.u32 %r4, [%rd9];\nsetp.eq.u32 %p3, %r4, 0;\n@%p3 bra X;\n\
                  st.shared.u32 [tile], %r1;\nX:";
    insta::assert_snapshot!(race(64, 1, branch), @"");
}

/// One lane gives back what all lanes read: they may not have read it yet.
#[test]
fn lanes_that_are_behind() {
    let code = |meet: &str| {
        format!(
            "@%p2 bra OTHER;
            W:
            mbarrier.try_wait.parity.shared.b64 %p3, [full], 0;
            @!%p3 bra W;
            st.shared.u32 [tile], %r1;
            bra END;
            OTHER:
            ld.shared.u32 %r4, [tile];
            {meet}
            setp.ne.u32 %p4, %r3, 0;
            @%p4 bra END;
            mbarrier.arrive.shared.b64 _, [full];
            END:"
        )
    };
    insta::assert_snapshot!(race(64, 1, &code("")), @"");
    insta::assert_snapshot!(race(64, 1, &code("bar.warp.sync -1;")), @"");
}

/// Copies are waited for by groups, and everybody meets.
#[test]
fn groups_of_copies() {
    let code = |wait: &str| {
        format!(
            "shl.b32 %r4, %r1, 4;
            add.u32 %r5, %r8, %r4;
            cp.async.cg.shared.global [%r5], [%rd9], 16;
            cp.async.commit_group;
            {wait}
            bar.sync 0;
            xor.b32 %r4, %r4, 512;
            add.u32 %r5, %r8, %r4;
            ld.shared.v4.u32 {{%r10, %r11, %r12, %r13}}, [%r5];"
        )
    };
    insta::assert_snapshot!(race(64, 1, &code("cp.async.wait_group 0;")), @"");
    insta::assert_snapshot!(race(64, 1, &code("cp.async.wait_group 1;")), @"");
    insta::assert_snapshot!(race(64, 1, &code("cp.async.wait_all;")), @"");
}

/// A tile leaves by a bulk copy: threads write it through the generic proxy.
fn stored(fence: &str, wait: &str) -> String {
    let code = format!(
        "setp.eq.u32 %p4, %r9, 0;
        @%p4 bra END;
        mov.u32 %r7, 0;
        L:
        shl.b32 %r4, %r1, 2;
        add.u32 %r5, %r8, %r4;
        st.shared.u32 [%r5], %r1;
        {fence}
        bar.sync 0;
        @%p1 bra S;
        cp.async.bulk.global.shared::cta.bulk_group [%rd9], [%r8], 256;
        cp.async.bulk.commit_group;
        {wait}
        S:
        bar.sync 0;
        add.u32 %r7, %r7, 1;
        setp.lt.u32 %p5, %r7, %r9;
        @%p5 bra L;
        END:"
    );
    let arguments = ["check", "-q", "--property", "race,stale_read"];
    run(&entry(64, 1, &code), &arguments)
}

#[test]
fn a_tile_that_is_stored() {
    let (fence, wait) = (
        "fence.proxy.async.shared::cta;",
        "cp.async.bulk.wait_group.read 0;",
    );
    insta::assert_snapshot!(stored(fence, wait), @"");
    insta::assert_snapshot!(stored(fence, ""), @"");
    insta::assert_snapshot!(stored("", wait), @"");
    // A fence for global memory is none for shared memory.
    insta::assert_snapshot!(stored("fence.proxy.async.global;", wait), @"");
}
