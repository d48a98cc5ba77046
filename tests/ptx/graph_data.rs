//! Races by way of the control-flow graph: accesses to shared memory, compared with runs of the kernel.

use crate::data::entry;
use crate::data::leaving;
use crate::data::run;
use crate::support::program::Folder;

/// The verdict on races of a kernel of two warps with these instructions.
fn race(code: &str) -> String {
    verdict(&entry(64, 1, code))
}

pub fn verdict(text: &str) -> String {
    let shown = run(
        text,
        &["check", "-q", "--property", "race", "--recovery", "graph"],
    );
    let line = shown.lines().find_map(|line| line.split_once("race: "));
    // The rule of a proof depends on how fast the machine is.
    let found = line.map_or(shown.as_str(), |(_, found)| found);
    let end = found.find(" for every ").unwrap_or(found.len());
    found[..end].to_owned()
}

/// Each case has to have its verdict: a proof, a counterexample, or the reason why there is neither.
pub fn all(cases: &[(String, &str)]) {
    for (code, expected) in cases {
        let found = race(code);
        let fits = match *expected {
            "PROVED" | "REFUTED" => found.starts_with(expected),
            // Neither: what may be no race is no counterexample.
            "OPEN" => found.starts_with("UNKNOWN") || found.starts_with("BOUNDED"),
            reason => found.starts_with("UNKNOWN line ") && found.contains(reason),
        };
        assert!(fits, "{code}\nexpected {expected}, found {found}");
    }
}

const TELLS: &str =
    "this signals that the warp is done, but other lanes of it have read or written";
const WAITS: &str = "some lanes of the warp have waited, and lanes that have not waited do this";

/// Warp 1 waits for `full` and then reads what warp 0 has written.
pub fn handed_over(write: &str, arrive: &str, read: &str) -> String {
    format!(
        "@%p2 bra OTHER;
        {write}
        {arrive}
        bra END;
        OTHER:
        W:
        mbarrier.try_wait.parity.shared.b64 %p3, [full], 0;
        @!%p3 bra W;
        {read}
        END:"
    )
}

const ARRIVE: &str =
    "bar.warp.sync -1;\nsetp.eq.u32 %p4, %r3, 0;\n@%p4 mbarrier.arrive.shared.b64 _, [full];";

#[test]
fn bytes_decide_whether_two_accesses_meet() {
    let word = "shl.b32 %r4, %r3, 2;\nadd.u32 %r5, %r8, %r4;";
    let wide = "shl.b32 %r4, %r3, 4;\nadd.u32 %r5, %r8, %r4;\nst.shared.v4.f32 [%r5], {%f1, %f2, %f3, %f4};";
    let apart = |store: &str, load: &str| {
        format!("@%p2 bra OTHER;\n{store}\nbra END;\nOTHER:\n{load}\nEND:")
    };
    let byte = |from: u32| format!("add.u32 %r5, %r8, %r3;\nld.shared.u8 %r6, [%r5+{from}];");
    let odd = |not: &str| {
        format!(
            "and.b32 %r4, %r3, 1;\nsetp.eq.u32 %p4, %r4, 1;\n{word}\n@%p2 bra O;\n@%p4 st.shared.u32 [%r5], %r1;\n\
             bra E;\nO:\n@{not}%p4 ld.shared.u32 %r7, [%r5];\nE:"
        )
    };
    let rows = |first: u32| {
        format!(
            "mov.u32 %r4, 31;\nL:\nshl.b32 %r5, %r4, 6;\nadd.u32 %r6, %r8, %r5;\n@%p2 bra O;\n\
             st.shared.v4.u32 [%r6+16], {{%r1, %r1, %r1, %r1}};\nbra N;\nO:\nld.shared.u32 %r7, [%r6+{first}];\n\
             N:\nadd.s32 %r4, %r4, -1;\nsetp.ge.s32 %p4, %r4, 0;\n@%p4 bra L;"
        )
    };
    let generic = |meet: &str| {
        format!(
            "mov.u64 %rd1, tile;\ncvta.shared.u64 %rd2, %rd1;\nmul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd2, %rd3;\n\
             st.u32 [%rd4], %r1;\n{meet}\nxor.b32 %r4, %r1, 32;\nmul.wide.u32 %rd3, %r4, 4;\nadd.s64 %rd4, %rd2, %rd3;\n\
             ld.u32 %r5, [%rd4];"
        )
    };
    all(&[
        (apart(wide, &byte(511)), "REFUTED"),
        (apart(wide, &byte(512)), "PROVED"),
        (odd("!"), "PROVED"),
        (odd(""), "REFUTED"),
        (rows(12), "PROVED"),
        (rows(28), "REFUTED"),
        (rows(32), "PROVED"),
        (generic("bar.sync 0;"), "PROVED"),
        (generic("bar.warp.sync -1;"), "REFUTED"),
    ]);
}

/// All dynamic shared memory begins at one address, however it is called.
#[test]
fn names_of_dynamic_shared_memory_are_one() {
    let code =
        "@%p2 bra O;\nst.shared.u32 [one+4], %r1;\nbra E;\nO:\nld.shared.u32 %r4, [two+4];\nE:";
    let text = entry(64, 1, code).replace(
        ".visible .entry",
        ".extern .shared .align 16 .b8 one[];\n.extern .shared .align 16 .b8 two[];\n.visible .entry",
    );
    let found = verdict(&text);
    assert!(found.starts_with("REFUTED"), "{found}");
}

/// What a lane tells others says nothing of the other lanes of its warp, and a wait holds up the lanes that make it.
#[test]
fn lanes_speak_for_themselves() {
    let write = "shl.b32 %r4, %r3, 2;\nadd.u32 %r5, %r8, %r4;\nst.shared.u32 [%r5], %r1;";
    let read = "ld.shared.u32 %r6, [tile];";
    let one = "setp.eq.u32 %p4, %r3, 0;\n@%p4 mbarrier.arrive.shared.b64 _, [full];";
    let shuffled = format!("shfl.sync.idx.b32 %r20, %r3, 0, 31, -1;\n{one}");
    let waited = |meet: &str| {
        format!(
            "@%p2 bra OTHER;\nsetp.ne.u32 %p4, %r3, 0;\n@%p4 bra MEET;\nW:\n\
             mbarrier.try_wait.parity.shared.b64 %p3, [full], 0;\n@!%p3 bra W;\nMEET:\n{meet}\n\
             ld.shared.u32 %r4, [tile];\nbra END;\nOTHER:\nsetp.ne.u32 %p4, %r3, 0;\n@%p4 bra END;\n\
             st.shared.u32 [tile], %r1;\nmbarrier.arrive.shared.b64 _, [full];\nEND:"
        )
    };
    // One lane tests, and tells the others by a shuffle.
    let told = "@%p2 bra OTHER;\nW:\nmov.u32 %r10, 0;\nsetp.ne.u32 %p4, %r3, 0;\n@%p4 bra SH;\n\
                mbarrier.try_wait.parity.shared.b64 %p3, [full], 0;\nselp.b32 %r10, 1, 0, %p3;\nSH:\n\
                shfl.sync.idx.b32 %r11, %r10, 0, 31, -1;\nsetp.eq.u32 %p5, %r11, 0;\n@%p5 bra W;\n\
                ld.shared.u32 %r4, [tile];\nbra END;\nOTHER:\nsetp.ne.u32 %p4, %r3, 0;\n@%p4 bra END;\n\
                st.shared.u32 [tile], %r1;\nmbarrier.arrive.shared.b64 _, [full];\nEND:";
    // Others of the warp write, and one arrives, on two sides of a branch.
    let sides = |behind: &str| {
        handed_over(
            &format!(
                "setp.ne.u32 %p4, %r3, 0;\n@%p4 bra ST;\nmbarrier.arrive.shared.b64 _, [full];\n{behind};\nST:\n\
                 st.shared.u32 [tile], %r1;\nMEET:\nbar.warp.sync -1;"
            ),
            "",
            read,
        )
    };
    all(&[
        (handed_over(write, ARRIVE, read), "PROVED"),
        (handed_over(write, one, read), TELLS),
        (handed_over(write, &shuffled, read), TELLS),
        // What is written behind an arrival is not told.
        (handed_over(ARRIVE, write, read), "REFUTED"),
        (waited("bar.warp.sync -1;"), "PROVED"),
        (waited(""), WAITS),
        (waited("shfl.sync.idx.b32 %r20, %r3, 0, 31, -1;"), WAITS),
        (told.to_owned(), "whose own test has failed"),
        (sides("bra MEET"), TELLS),
        (sides("ret"), TELLS),
    ]);
}

/// A ring of one stage: warp 0 fills it by these copies, expecting so many bytes, and warp 1 reads it.
pub fn filled(expect: u32, copies: &str, read: &str) -> String {
    format!(
        "setp.eq.u32 %p4, %r9, 0;
        @%p4 bra END;
        setp.eq.u32 %p6, %r3, 0;
        mov.u32 %r7, 0;
        @%p2 bra CONSUME;
        @%p1 bra END;
        P:
        and.b32 %r10, %r7, 1;
        xor.b32 %r11, %r10, 1;
        W1:
        mbarrier.try_wait.parity.shared.b64 %p3, [empty], %r11;
        @!%p3 bra W1;
        mbarrier.arrive.expect_tx.shared.b64 _, [full], {expect};
        {copies}
        add.u32 %r7, %r7, 1;
        setp.lt.u32 %p5, %r7, %r9;
        @%p5 bra P;
        bra END;
        CONSUME:
        and.b32 %r10, %r7, 1;
        W2:
        mbarrier.try_wait.parity.shared.b64 %p3, [full], %r10;
        @!%p3 bra W2;
        {read}
        add.u32 %r7, %r7, 1;
        setp.lt.u32 %p5, %r7, %r9;
        @%p5 bra CONSUME;
        END:"
    )
}

#[test]
fn copies_are_over_when_their_bytes_have_landed() {
    const COPY: &str = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";
    let load = "shl.b32 %r4, %r3, 4;\nadd.u32 %r5, %r8, %r4;\n\
                ld.shared.v4.u32 {%r20, %r21, %r22, %r23}, [%r5+512];";
    let arrive = "bar.warp.sync -1;\n@%p6 mbarrier.arrive.shared.b64 _, [empty];";
    let whole = format!("{COPY} [%r8], [%rd9], 1024, [full];");
    let halves =
        format!("{COPY} [%r8], [%rd9], 512, [full];\n{COPY} [%r8+512], [%rd9], 512, [full];");
    let late = format!("{load}\n{arrive}");
    let early = format!("{arrive}\n{load}");
    let by_lane = format!("{load}\n@%p6 mbarrier.arrive.shared.b64 _, [empty];");
    let size = format!("{COPY} [%r8], [%rd9], %r9, [full];");
    // What stands behind a copy is not joined with what stands before it.
    let around = |from: u32| {
        format!(
            "@%p1 bra END;\nld.shared.u32 %r4, [%r8+{from}];\nmbarrier.arrive.expect_tx.shared.b64 _, [full], 1024;\n\
             {whole}\nld.shared.u32 %r5, [%r8+{from}];\nEND:"
        )
    };
    let lanes = format!("@%p2 bra END;\nsetp.gt.u32 %p4, %r3, 1;\n@%p4 bra END;\n{whole}\nEND:");
    all(&[
        (filled(1024, &whole, &late), "PROVED"),
        (filled(1024, &halves, &late), "PROVED"),
        (filled(1024, &whole, &early), "REFUTED"),
        (filled(1024, &whole, &by_lane), TELLS),
        // The first bytes complete the phase, the others are still on their way.
        (filled(512, &whole, &late), "REFUTED"),
        (filled(512, &halves, &late), "REFUTED"),
        (
            filled(1024, &size, &late),
            "how many bytes this copy touches is not known",
        ),
        (around(0), "REFUTED"),
        (around(1024), "PROVED"),
        (lanes, "several lanes start a bulk copy"),
    ]);
}

/// Copies of groups are over when their groups are waited for, by the lanes that have started them.
#[test]
fn groups_are_waited_for() {
    let copied = |commit: &str, wait: &str, meet: &str| {
        format!(
            "shl.b32 %r4, %r1, 4;
            add.u32 %r5, %r8, %r4;
            cp.async.cg.shared.global [%r5], [%rd9], 16;
            {commit}
            {wait}
            {meet}
            xor.b32 %r4, %r4, 512;
            add.u32 %r5, %r8, %r4;
            ld.shared.v4.u32 {{%r10, %r11, %r12, %r13}}, [%r5];"
        )
    };
    let (commit, meet) = ("cp.async.commit_group;", "bar.sync 0;");
    let some = "setp.gt.u32 %p4, %r3, 15;\n@%p4 bra X;\ncp.async.wait_all;\nX:";
    let copy = "cp.async.bulk.global.shared::cta.bulk_group [%rd9], [%r8], 256;";
    let stored = |wait: &str, meet: &str| leaving(meet, copy, wait);
    let overwritten = |lanes: u32, meet: &str| {
        format!(
            "@%p2 bra END;
            shl.b32 %r4, %r1, 2;
            add.u32 %r5, %r8, %r4;
            setp.ge.u32 %p4, %r3, {lanes};
            @%p4 bra NEXT;
            cp.async.bulk.global.shared::cta.bulk_group [%rd9], [%r8], 128;
            cp.async.bulk.commit_group;
            cp.async.bulk.wait_group.read 0;
            NEXT:
            {meet}
            st.shared.u32 [%r5], %r1;
            END:"
        )
    };
    let read = "cp.async.bulk.wait_group.read 0;";
    let told = |arrive: &str| {
        handed_over(
            &format!(
                "shl.b32 %r4, %r1, 4;\nadd.u32 %r5, %r8, %r4;\ncp.async.cg.shared.global [%r5], [%rd9], 16;\n{arrive}"
            ),
            "",
            "ld.shared.u32 %r6, [tile];",
        )
    };
    let arrive = "cp.async.mbarrier.arrive.noinc.shared.b64 [full];";
    all(&[
        (copied(commit, "cp.async.wait_group 0;", meet), "PROVED"),
        (copied(commit, "cp.async.wait_group 1;", meet), "REFUTED"),
        (copied(commit, "cp.async.wait_all;", meet), "PROVED"),
        // A wait for groups does not cover what is in none.
        (copied("", "cp.async.wait_group 0;", meet), "REFUTED"),
        (copied("", "cp.async.wait_all;", meet), "PROVED"),
        (copied(commit, "", meet), "REFUTED"),
        (
            copied(commit, some, meet),
            "all lanes of the warp have to commit",
        ),
        // Each lane knows of its own copies only.
        (
            copied(commit, "cp.async.wait_all;", ""),
            "its own `cp.async` copies only",
        ),
        (stored(read, meet), "PROVED"),
        (stored("cp.async.bulk.wait_group.read 1;", meet), "REFUTED"),
        (stored("", meet), "REFUTED"),
        (stored(read, ""), TELLS),
        (overwritten(1, "bar.warp.sync -1;"), "PROVED"),
        (overwritten(1, ""), WAITS),
        (
            overwritten(2, "bar.warp.sync -1;"),
            "several lanes start a bulk copy",
        ),
        // Half of the lanes would complete the phase, and their copies only have landed then.
        (
            told(arrive),
            "races are not decided of `cp.async.mbarrier.arrive`",
        ),
    ]);
}

/// The stages are elements of one buffer.
#[test]
fn stages_of_a_ring_are_elements() {
    let folder = Folder::new();
    folder.kernel("handover.ptx");
    let arguments = ["lift", "--data", "--recovery", "graph", "handover.ptx"];
    let entry = ["--entry", "relay_reads_late"];
    insta::assert_snapshot!(folder.run(&[&arguments[..], &entry].concat()), @r"
    exit 0
    --- stdout
    //! Recovered from the kernel `relay_reads_late`.
    //! 96 x 1 x 1 threads per CTA.
    //! Checked against the kernel at 9 launches, 792 events.
    //! Without fences, orders and scopes: races are decided of this, not what a read sees.
    //! Assumed: lanes of a warp that each arrive at an mbarrier have all done so before one of them arrives there again
    //! Assumed: lanes of a warp use shared memory in the order of their program, also where no `bar.warp.sync` stands between them
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    //! Assumed: the launch has 96 threads per CTA, as many as .maxntid allows
    protocol relay_reads_late

    param param_2 in 0..=1073741823

    mbarrier loaded_bar[5] { arrivals: 1 }
    mbarrier worked_bar[5] { arrivals: 1 }
    mbarrier stored_bar[5] { arrivals: 1 }
    named cta_bar[16]
    buffer smem_tile_0[5] { orders: unknown }

    role warp0 warp {
        sync cta_bar[0] 96     // handover.cu:112
        for i in 0..param_2 {  // handover.cu:112
            wait stored_bar[i % 5] (i / 5 + 1) % 2  // handover.cu:29
            write smem_tile_0[i % 5]                // handover.cu:31
            arrive loaded_bar[i % 5]                // handover.cu:32
        }
    }

    role warp1 warp {
        sync cta_bar[0] 96     // handover.cu:112
        for i in 0..param_2 {  // handover.cu:112
            wait loaded_bar[i % 5] i / 5 % 2  // handover.cu:34
            read smem_tile_0[i % 5]           // handover.cu:35
            write smem_tile_0[i % 5]          // handover.cu:41
            arrive worked_bar[i % 5]          // handover.cu:42
        }
    }

    role warp2 warp {
        sync cta_bar[0] 96     // handover.cu:112
        for i in 0..param_2 {  // handover.cu:112
            wait worked_bar[i % 5] i / 5 % 2  // handover.cu:45
            arrive stored_bar[i % 5]          // handover.cu:47
            read smem_tile_0[i % 5]           // handover.cu:48
        }
    }
    --- stderr
    ");
    let arguments = [
        "check",
        "-q",
        "--property",
        "race,stale_read",
        "--recovery",
        "graph",
    ];
    let file = ["handover.ptx", "--entry"];
    for (entry, expected) in [
        ("relay", "PROVED"),
        ("relay_reads_late", "REFUTED"),
        ("relay_writes_late", "REFUTED"),
        ("stencil", "PROVED"),
        ("stencil_reads_late", "REFUTED"),
        ("sum", "PROVED"),
    ] {
        let shown = folder.run(&[&arguments[..], &file, &[entry]].concat());
        assert!(shown.contains(&format!("race: {expected}")), "{shown}");
        // Of fences, orders and scopes the text says nothing.
        let unseen = "stale_read: UNKNOWN what a read sees is not recovered";
        assert!(shown.contains(unseen), "{shown}");
    }
}

/// Each warp writes 128 bytes, and then reads those of the next one.
#[test]
fn warps_have_elements_of_their_own() {
    let turned = |meet: &str| {
        let code = format!(
            "shl.b32 %r4, %r1, 2;
            add.u32 %r5, %r8, %r4;
            st.shared.u32 [%r5], %r1;
            bar.sync 0;
            add.u32 %r6, %r1, 32;
            and.b32 %r6, %r6, 127;
            shl.b32 %r6, %r6, 2;
            add.u32 %r7, %r8, %r6;
            ld.shared.u32 %r10, [%r7];
            {meet}
            st.shared.u32 [%r5], %r1;"
        );
        entry(128, 1, &code)
    };
    let text = run(&turned(""), &["lift", "--data", "--recovery", "graph"]);
    let (_, roles) = text.split_once("named cta_bar[16]").unwrap_or_default();
    insta::assert_snapshot!(roles, @r"

    buffer smem_tile_0[4] { orders: unknown }

    role warp0 warp {
        sync cta_bar[0] 128   // line 27
        write smem_tile_0[0]  // line 30
        sync cta_bar[0] 128   // line 31
        read smem_tile_0[1]   // line 36
        write smem_tile_0[0]  // line 38
    }

    role warps1_3[w in 0..3] warp {
        sync cta_bar[0] 128            // line 27
        write smem_tile_0[w + 1]       // line 30
        sync cta_bar[0] 128            // line 31
        read smem_tile_0[(w + 2) % 4]  // line 36
        write smem_tile_0[w + 1]       // line 38
    }
    --- stderr
    ");
    for (meet, expected) in [("", "REFUTED"), ("bar.sync 0;", "PROVED")] {
        let found = verdict(&turned(meet));
        assert!(found.starts_with(expected), "{meet}: {found}");
    }
    let folder = Folder::new();
    for (name, entry) in [("matvec", "matvec"), ("pipeline", "pipeline")] {
        let file = format!("{name}.ptx");
        folder.kernel(&file);
        let arguments = ["check", "-q", "--property", "race", "--recovery", "graph"];
        let shown = folder.run(&[&arguments[..], &[&file, "--entry", entry]].concat());
        assert!(shown.contains("race: PROVED"), "{shown}");
    }
}

/// The text has races only: fences, orders and scopes are left out, and it says so to whoever checks it by itself.
#[test]
fn a_lifted_text_decides_no_stale_reads() {
    let write = "shl.b32 %r4, %r3, 2;\nadd.u32 %r5, %r8, %r4;\nst.shared.u32 [%r5], %r3;";
    let relaxed = ARRIVE.replace(".arrive.", ".arrive.relaxed.cta.");
    let read = "shl.b32 %r4, %r3, 2;\nadd.u32 %r5, %r8, %r4;\nld.shared.u32 %r6, [%r5];";
    let kernel = entry(64, 1, &handed_over(write, &relaxed, read));
    let text = run(&kernel, &["lift", "--data", "--recovery", "graph"]);
    let (_, text) = text.split_once("--- stdout\n").unwrap();
    let (text, _) = text.split_once("--- stderr").unwrap();
    let folder = Folder::new();
    folder.file("lifted.wlk", text);
    let checked = ["check", "-q", "--property", "race,stale_read", "lifted.wlk"];
    let shown = folder.run(&checked);
    assert!(shown.contains("race: PROVED"), "{shown}");
    assert!(
        shown.contains("stale_read: UNKNOWN the text leaves out the fences"),
        "{shown}"
    );
    let explored = ["explore", "--property", "stale_read", "lifted.wlk"];
    let shown = folder.run(&explored);
    assert!(!shown.contains("no violation"), "{shown}");
}

/// Nobody guesses bytes or the end of an access.
#[test]
fn what_is_not_known_exactly_is_refused() {
    let one = |code: &str| code.to_owned();
    let row = "shl.b32 %r4, %r3, 4;\nadd.u32 %r5, %r8, %r4;\n";
    let generic = "mov.u64 %rd1, tile;\ncvta.shared.u64 %rd2, %rd1;\nsetp.eq.u32 %p4, %r9, 0;\n";
    let pointer = "whether this address is one of shared memory is not known";
    all(&[
        (
            one(
                "ld.global.u32 %r4, [%rd9];\nadd.u32 %r5, %r8, %r4;\nst.shared.u32 [%r5], %r1;\nbar.sync 0;",
            ),
            "which bytes of shared memory this may be is not known",
        ),
        (
            one("shl.b32 %r4, %r1, 7;\nadd.u32 %r5, %r8, %r4;\nst.shared.u32 [%r5], %r1;"),
            "this may lie outside of its variable",
        ),
        (one("st.shared.u32 [full], %r1;"), "over an mbarrier"),
        (one("ld.shared.u64 %rd3, [full];"), "where an mbarrier lies"),
        (
            one("atom.shared.add.u32 %r4, [tile], 1;"),
            "atomic operations on shared memory",
        ),
        // Generic addresses: from memory, of two spaces, carried by a loop.
        (
            one("ld.global.u64 %rd2, [%rd9];\nst.u32 [%rd2], %r1;"),
            pointer,
        ),
        (
            format!("{generic}selp.b64 %rd3, %rd2, %rd9, %p4;\nst.u32 [%rd3], %r1;"),
            pointer,
        ),
        (
            format!("{generic}mov.b64 %rd3, %rd9;\n@%p4 mov.b64 %rd3, %rd2;\nst.u32 [%rd3], %r1;"),
            pointer,
        ),
        (
            format!(
                "{generic}@%p4 bra END;\nmov.u32 %r7, 0;\nL:\nst.u32 [%rd2], %r1;\nadd.u64 %rd2, %rd2, 4;\n\
             add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p5, %r7, %r9;\n@%p5 bra L;\nEND:"
            ),
            pointer,
        ),
        (
            format!("{row}ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {{%r6, %r7}}, [%r5];"),
            "this instruction reads or writes is not known",
        ),
    ]);
    let multiply = "wgmma.fence.sync.aligned;\nmov.b64 %rd1, 0;\n\
        wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, %rd1, %rd1, 1, 1, 1, 0, 0;\n\
        wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;";
    let found = verdict(&entry(128, 1, multiply));
    assert!(found.starts_with("UNKNOWN"), "{found}");
}

/// The bytes that the interpreter touches.
#[test]
fn accesses_in_a_trace() {
    let text = entry(
        32,
        1,
        "shl.b32 %r4, %r3, 3;\nadd.u32 %r5, %r8, %r4;\nst.shared.u32 [%r5], %r1;\n\
                             @!%p1 ld.shared.v2.u32 {%r6, %r7}, [%r5+16];\nld.shared.u8 %r10, [tile+9];",
    );
    insta::assert_snapshot!(run(&text, &["trace", "--data"]), @r"
    exit 0
    --- stdout
    kernel: every wait passes
      threads 32 x 1 x 1
      grid 1 x 1 x 1
      n = not given
      p = 0x11000000000
    warp 0: 6 events
      full: init 1, lane 0                                        line 24
      empty: init 1, lane 0                                       line 25
      sync 0, all threads                                         line 27
      write tile..+4 32 times, 8 apart                            line 30
      read tile+16..+8, lane 0                                    line 31
      read tile+9..+1                                             line 32
    --- stderr
    ");
}
