//! Races by way of the control-flow graph: rows of matrices, tensor copies, tensor memory, and what lanes read in their own time.

use crate::data::entry;
use crate::data::leaving;
use crate::graph_data::all;
use crate::graph_data::filled;
use crate::graph_data::verdict;

const TELLS: &str =
    "this signals that the warp is done, but other lanes of it have read or written";

/// One warp does this, the other that.
fn apart(one: &str, other: &str) -> String {
    format!("@%p2 bra OTHER;\n{one}\nbra END;\nOTHER:\n{other}\nEND:")
}

/// `ldmatrix` and `stmatrix` are about the rows that the lowest lanes name, and nothing else.
#[test]
fn rows_of_matrices() {
    let row = "shl.b32 %r4, %r3, 4;\nadd.u32 %r5, %r8, %r4;";
    let load = |count: u32, results: &str| {
        format!("{row}\nldmatrix.sync.aligned.m8n8.x{count}.shared.b16 {{{results}}}, [%r5];")
    };
    let store = |count: u32, values: &str| {
        format!("{row}\nstmatrix.sync.aligned.m8n8.x{count}.shared.b16 [%r5], {{{values}}};")
    };
    let word = |at: u32| format!("st.shared.u32 [%r8+{at}], %r1;");
    let read = |at: u32| format!("ld.shared.u32 %r7, [%r8+{at}];");
    let some = format!(
        "{row}\nsetp.gt.u32 %p4, %r3, 15;\n@%p4 bra S;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r10}}, [%r5];\nS:"
    );
    all(&[
        (apart(&word(252), &load(2, "%r10, %r11")), "REFUTED"),
        (apart(&word(256), &load(2, "%r10, %r11")), "PROVED"),
        (
            apart(&word(256), &load(4, "%r10, %r11, %r12, %r13")),
            "REFUTED",
        ),
        (
            apart(&word(512), &load(4, "%r10, %r11, %r12, %r13")),
            "PROVED",
        ),
        (apart(&read(124), &load(1, "%r10")), "PROVED"),
        (apart(&read(124), &store(1, "%r10")), "REFUTED"),
        (apart(&read(128), &store(1, "%r10")), "PROVED"),
        (
            apart(&read(508), &store(4, "%r10, %r11, %r12, %r13")),
            "REFUTED",
        ),
        (
            apart(&word(0), &some),
            "while other lanes go on: this is undefined",
        ),
    ]);
}

/// Volatile accesses of two warps are no race with each other, and one with a plain access is: only proofs are given.
#[test]
fn volatile_accesses() {
    let word = "st.shared.u32 [tile], %r1;";
    let strong = "st.volatile.shared.u32 [tile], %r1;";
    let load = "ld.volatile.shared.u32 %r4, [tile];";
    let meet = |one: &str, other: &str| {
        format!("@%p2 bra O;\n{one}\nO:\nbar.sync 0;\n@!%p2 bra E;\n{other}\nE:")
    };
    all(&[
        (meet(strong, load), "PROVED"),
        (meet(word, load), "PROVED"),
        (
            apart(strong, "ld.volatile.shared.u32 %r4, [tile+4];"),
            "PROVED",
        ),
        (apart(strong, load), "OPEN"),
        (apart(word, load), "OPEN"),
    ]);
}

/// What is written before the first barrier of all threads, and not after it, may be read at any time.
#[test]
fn words_that_are_settled() {
    let read =
        "ld.shared.u32 %r20, [other];\n@!%p6 bra N;\nmbarrier.arrive.shared.b64 _, [empty];\nN:";
    let copy = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r8], [%rd9], 1024, [full];";
    // Before the barrier behind which the mbarriers are used, and before the read in each round.
    let ring = |first: &str, later: &str| {
        let text = entry(64, 1, &filled(1024, copy, &format!("{later}\n{read}")));
        let begin = "@%p1 bra READY;\n";
        verdict(&text.replace(begin, &format!("{begin}{first}\n")))
    };
    let store = "st.shared.u32 [other], %r1;";
    let copied = "cp.async.ca.shared.global [other], [%rd9], 4;";
    assert!(ring("", "").starts_with("PROVED"), "{}", ring("", ""));
    assert!(ring(store, "").starts_with("PROVED"), "{}", ring(store, ""));
    for late in [
        ring(store, "@%p6 st.shared.u32 [other+2], %r1;"),
        ring("", "@%p6 st.shared.u32 [other], %r1;"),
        ring(copied, ""),
        ring(&store.replace("st.", "bar.sync 1, 64;\nst."), ""),
    ] {
        assert!(
            late.contains(TELLS) || late.starts_with("UNKNOWN"),
            "{late}"
        );
    }
}

const TENSOR: &str = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes";

/// A tensor copy writes what is expected, and several of them up to where the next begins.
#[test]
fn tensor_copies_into_shared_memory() {
    let load = |at: u32| {
        format!(
            "shl.b32 %r4, %r3, 4;\nadd.u32 %r5, %r8, %r4;\nld.shared.v4.u32 {{%r20, %r21, %r22, %r23}}, [%r5+{at}];"
        )
    };
    let arrive = "bar.warp.sync -1;\n@%p6 mbarrier.arrive.shared.b64 _, [empty];";
    let late = |at: u32| format!("{}\n{arrive}", load(at));
    let early = |at: u32| format!("{arrive}\n{}", load(at));
    let copy = |at: u32| format!("{TENSOR} [%r8+{at}], [%rd9, {{%r9, %r9}}], [full];");
    let two = format!("{}\n{}", copy(0), copy(512));
    let lanes = format!(
        "@%p2 bra END;\nsetp.gt.u32 %p4, %r3, 1;\n@%p4 bra END;\n{}\nEND:",
        copy(0)
    );
    all(&[
        (filled(1024, &copy(0), &late(512)), "PROVED"),
        (filled(1024, &copy(0), &early(512)), "REFUTED"),
        // What lies behind the bytes of the copy is nobody's.
        (filled(1024, &copy(0), &early(1024)), "PROVED"),
        (filled(2048, &copy(0), &early(1024)), "REFUTED"),
        (filled(1024, &two, &late(512)), "PROVED"),
        (filled(1024, &two, &early(0)), "REFUTED"),
        (filled(1024, &two, &early(512)), "REFUTED"),
        (filled(1536, &two, &early(1024)), "REFUTED"),
        (
            filled(512, &two, &late(0)),
            "how many bytes this copy delivers is not known",
        ),
        (
            filled(8192, &copy(0), &late(0)),
            "this may lie outside of its variable",
        ),
        (lanes, "several lanes start a bulk copy"),
    ]);
}

/// A tensor copy out of shared memory reads what threads have written there, and a copy into it is in no group.
#[test]
fn tensor_copies_out_of_shared_memory() {
    let copy =
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd9, {%r9, %r9}], [%r8];";
    let stored = |wait: &str| leaving("bar.sync 0;", copy, wait);
    let read = "cp.async.bulk.wait_group.read 0;";
    let fill = "mbarrier.arrive.expect_tx.shared.b64 _, [full], 512;\n\
                cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [other], [%rd9], 512, [full];";
    let nothing = format!("@%p1 bra END;\n{copy}\nEND:");
    let unwaited = format!(
        "@%p1 bra S;\n{fill}\ncp.async.bulk.commit_group;\n{read}\nS:\nbar.sync 0;\nld.shared.u32 %r5, [other];"
    );
    all(&[
        (stored(read), "PROVED"),
        (stored("cp.async.bulk.wait_group.read 1;"), "REFUTED"),
        (stored(""), "REFUTED"),
        (nothing, "what threads have written does not tell"),
        // A copy that tells an mbarrier is not waited for with groups.
        (unwaited, "REFUTED"),
    ]);
}

/// Nobody looks at who accesses tensor memory.
#[test]
fn kernels_with_tensor_memory_are_refused() {
    let allocated = "@%p2 bra O;\ntcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [other], 32;\nO:\nbar.sync 0;\n\
        ld.shared.u32 %r4, [other];\n@%p2 bra E;\ntcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 32;\nE:";
    all(&[(allocated.to_owned(), "a kernel that uses tensor memory")]);
}
