//! What neither recovery may call proved: misuse of tensor memory, mbarriers of other CTAs, and computed values that are
//! no sizes.

use crate::support::program::Folder;

/// What both recoveries say of a CTA of so many threads that does this, in clusters of so many.
fn verdicts(threads: u32, cluster: u32, code: &str) -> [String; 2] {
    within("60", threads, cluster, code)
}

/// What a recovery says of a CTA, with what is taken for granted.
fn shown(threads: u32, code: &str, recovery: &str) -> String {
    kernel(threads, 1, code).run(&["check", "k.ptx", "--recovery", recovery])
}

fn kernel(threads: u32, cluster: u32, code: &str) -> Folder {
    let clusters = match cluster {
        1 => String::new(),
        ctas => format!(".explicitcluster\n.reqnctapercluster {ctas}, 1, 1\n"),
    };
    let kernel = format!(
        ".version 8.7\n.target sm_100a\n.address_size 64\n\
         .visible .entry k(.param .u32 n, .param .u32 m, .param .u8 c)\n.reqntid {threads}, 1, 1\n{clusters}{{\n\
         .reg .pred %p<16>;\n.reg .b16 %h<8>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<16>;\n\
         .shared .align 16 .b8 bar[64];\n.shared .align 4 .b32 place;\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, bar;\n\
         mov.u32 %r3, place;\nld.param.u32 %r4, [n];\nld.param.u32 %r5, [m];\nsetp.ne.u32 %p0, %r0, 0;\n{code}\nret;\n}}\n"
    );
    let folder = Folder::new();
    folder.file("k.ptx", kernel);
    folder
}

/// As [`verdicts`], in so many seconds.
fn within(timeout: &str, threads: u32, cluster: u32, code: &str) -> [String; 2] {
    let folder = kernel(threads, cluster, code);
    ["path", "graph"].map(|recovery| {
        let shown = folder.run(&[
            "check",
            "-q",
            "k.ptx",
            "--recovery",
            recovery,
            "--timeout",
            timeout,
        ]);
        let line = shown
            .lines()
            .find_map(|line| line.strip_prefix("k.ptx: deadlock: "));
        line.unwrap_or(&shown).to_owned()
    })
}

/// Both refuse it, and the reasons say this.
fn refused(cluster: u32, code: &str, words: &str) {
    for said in verdicts(64, cluster, code) {
        assert!(said.starts_with("UNKNOWN"), "{code}\n{said}");
        assert!(said.contains(words), "{code}\n{said}");
    }
}

/// The first warp does this.
fn alone(code: &str) -> String {
    format!("setp.ge.u32 %p1, %r0, 32;\n@%p1 bra END;\n{code}\nEND:")
}

const ALLOCATE: &str = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], 64;\n";
const RELINQUISH: &str = "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n";

fn free(columns: u32) -> String {
    format!(
        "ld.shared.b32 %r6, [place];\ntcgen05.dealloc.cta_group::1.sync.aligned.b32 %r6, {columns};\n"
    )
}

#[test]
fn tensor_memory_is_given_back_as_it_was_allocated() {
    let right = [ALLOCATE, RELINQUISH, &free(64)].concat();
    for said in verdicts(64, 1, &alone(&right)) {
        assert!(said.starts_with("PROVED"), "{said}");
    }
    refused(
        1,
        &alone(&[RELINQUISH, ALLOCATE, &free(64)].concat()),
        "after the CTA gave up its permit to allocate it",
    );
    refused(1, &alone(ALLOCATE), "given back");
    refused(1, &alone(&[ALLOCATE, &free(32)].concat()), "given back");
    refused(
        1,
        &alone(&[ALLOCATE, &free(64), &free(64)].concat()),
        "given back",
    );
    let all = ALLOCATE.replace("64;", "512;");
    refused(
        1,
        &alone(&[all.as_str(), &all, &free(512), &free(512)].concat()),
        "tensor memory",
    );
}

#[test]
fn bulk_copies_write_to_multiples_of_16_bytes() {
    let copy = |place: u32| {
        format!(
            ".shared .align 16 .b8 tile[64];\n@%p0 bra W;\nmbarrier.init.shared.b64 [bar], 1;\n\
             ld.param.u32 %r6, [n];\ncvt.u64.u32 %rd1, %r6;\n\
             mbarrier.arrive.expect_tx.shared.b64 %rd2, [bar], 16;\n\
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile+{place}], [%rd1], 16, [bar];\n\
             W: bar.sync 0;\n\
             L: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;\n@!%p1 bra L;\n"
        )
    };
    refused(1, &copy(8), "bulk copies write to multiples of 16 bytes");
    for said in verdicts(64, 1, &copy(32)) {
        assert!(said.starts_with("PROVED"), "{said}");
    }
}

#[test]
fn mbarriers_of_other_ctas_are_not_waited_for() {
    let begin = "@!%p0 mbarrier.init.shared::cta.b64 [%r1], 64;\nfence.mbarrier_init.release.cluster;\n\
         barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\nmov.u32 %r11, %cluster_ctarank;\n\
         setp.eq.u32 %p2, %r11, 0;\nmapa.shared::cluster.u32 %r10, %r1, 1;\n@!%p2 bra X;\n";
    let end = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";
    let arrive = "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r10];\n";
    let wait = |at: &str| {
        format!("W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [{at}], 0;\n@!%p3 bra W;\n")
    };
    let elsewhere = format!("{begin}{arrive}{}X: {end}", wait("%r10"));
    refused(2, &elsewhere, "another");
    let own = arrive.replace("release.cluster.shared::cluster", "shared::cta");
    let arrives = format!("{begin}{own}bra E;\nX: {}E: {end}", wait("%r1"));
    refused(2, &arrives, "is in another CTA");
    let right = format!("{begin}{arrive}bra E;\nX: {}E: {end}", wait("%r1"));
    for said in verdicts(64, 2, &right) {
        assert!(said.starts_with("PROVED"), "{said}");
    }
}

#[test]
fn arrivals_of_one_instruction_are_of_one_phase() {
    let arrives = |count: u32| {
        format!(
            "@!%p0 mbarrier.init.shared::cta.b64 [%r1], 2;\nbar.sync 0;\n\
             @!%p0 mbarrier.arrive.shared::cta.b64 _, [%r1], {count};\n\
             W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r1], 0;\n@!%p3 bra W;"
        )
    };
    refused(1, &arrives(3), "3 arrivals where 2 are pending");
    for said in verdicts(64, 1, &arrives(2)) {
        assert!(said.starts_with("PROVED"), "{said}");
    }
    let nobody = "@!%p0 mbarrier.arrive.shared::cta.b64 _, [%r1];";
    refused(1, nobody, "never initialised");
}

/// A loop of the first warp meets nobody. It runs for some launches of each, which no assumption may leave out unsaid.
#[test]
fn what_is_computed_may_be_negative() {
    let computed = [
        "xor.b32 %r7, %r4, %r5;\nshf.l.wrap.b32 %r6, %r7, %r7, 1;",
        "mul.hi.s32 %r6, %r4, -1431655765;\nneg.s32 %r6, %r6;",
        "xor.b32 %r6, %r4, -2;\nneg.s32 %r6, %r6;",
        "ld.param.u8 %h1, [c];\ncvt.u32.u8 %r6, %h1;\nshr.u32 %r6, %r6, 7;",
    ];
    for how in computed {
        let code = format!(
            "{how}\nmov.u32 %r8, 0;\nL: setp.ge.s32 %p2, %r8, %r6;\n@%p2 bra END;\nbar.sync 1, 64;\n\
             add.u32 %r8, %r8, 1;\nbra L;"
        );
        for said in within("2", 64, 1, &alone(&code)) {
            assert!(!said.starts_with("PROVED"), "{how}\n{said}");
        }
    }
}

/// Some of the lanes may come first, and then the count is too many. The same count for all is no harm.
#[test]
fn arrivals_with_a_count_beside_lanes() {
    let code = |expected: u32, one: &str, lanes: &str| {
        format!(
            "@!%p0 mbarrier.init.shared.b64 [bar], {expected};\nbar.sync 0;\nmov.u32 %r6, 32;\n\
             setp.ge.u32 %p1, %r0, 32;\n@%p1 bra LANES;\n{one}\nbra END;\nLANES: {lanes}\nEND:"
        )
    };
    let lanes = "mbarrier.arrive.shared.b64 _, [bar];";
    let one_by_one = "arrive there one by one";
    refused(
        1,
        &code(32, "@!%p0 mbarrier.arrive.shared.b64 _, [bar], 32;", lanes),
        one_by_one,
    );
    refused(
        1,
        &code(32, "@!%p0 mbarrier.arrive.shared.b64 _, [bar], %r6;", lanes),
        one_by_one,
    );
    let two = "mbarrier.arrive.shared.b64 _, [bar], 2;";
    refused(1, &code(32, &format!("@!%p0 {two}"), lanes), one_by_one);
    refused(1, &code(64, two, lanes), one_by_one);
    for right in [
        code(64, lanes, lanes),
        code(33, &format!("@!%p0 {lanes}"), lanes),
        code(128, two, two),
        code(32, "@!%p0 mbarrier.arrive.shared.b64 _, [bar], %r6;", ""),
    ] {
        for said in verdicts(64, 1, &right) {
            assert!(said.starts_with("PROVED"), "{right}\n{said}");
        }
    }
}

/// An mbarrier counts fewer than 2^20 bytes at a time.
#[test]
fn bytes_that_a_phase_expects_in_several_parts() {
    let expect =
        |bytes: &str| format!("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], {bytes};\n");
    let copy = |bytes: &str| {
        format!(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], {bytes}, [bar];\n"
        )
    };
    let wait = |parity: &str| {
        format!("W: mbarrier.try_wait.parity.shared.b64 %p3, [bar], {parity};\n@!%p3 bra W;\n")
    };
    let begin = |arrivals: u32| {
        format!(
            "mov.u64 %rd1, 0;\n@!%p0 mbarrier.init.shared.b64 [bar], {arrivals};\nbar.sync 0;\n\
             and.b32 %r6, %r0, 31;\nsetp.ne.u32 %p1, %r6, 0;\n"
        )
    };
    let alone = |what: &str| format!("{}@%p0 bra END;\n{what}\nEND:", begin(1));
    let arrive = "mbarrier.arrive.shared.b64 _, [bar];\n";
    let twice = |bytes: &str| {
        alone(
            &[
                &expect(bytes),
                &expect(bytes),
                &copy(bytes),
                &copy(bytes),
                arrive,
                &wait("0"),
            ]
            .concat(),
        )
    };
    refused(1, &twice("524288"), "expects 2^20 bytes or more");
    // One lane of each warp.
    let both = |bytes: &str| {
        let arrive = format!("mbarrier.arrive.expect_tx.shared.b64 _, [bar], {bytes};\n");
        let all = [arrive, copy(bytes), wait("0")].concat();
        format!("{}@%p1 bra END;\n{all}\nEND:", begin(2))
    };
    let sized =
        |bytes: &str| twice(bytes).replace("@%p0 bra END;", "shl.b32 %r7, %r4, 4;\n@%p0 bra END;");
    let round = |bytes: &str| {
        let all = [&expect(bytes), &copy(bytes), arrive, &wait("%r9")].concat();
        alone(&format!(
            "mov.u32 %r8, 0;\nL: setp.ge.u32 %p2, %r8, %r4;\n@%p2 bra END;\nand.b32 %r9, %r8, 1;\n{all}\
             add.u32 %r8, %r8, 1;\nbra L;"
        ))
    };
    for (code, assumed) in [
        (twice("524272"), false),
        (both("524288"), true),
        (both("524272"), false),
        (sized("%r7"), true),
        (round("64"), false),
    ] {
        for recovery in ["path", "graph"] {
            let shown = shown(64, &code, recovery);
            assert!(
                !shown.contains("deadlock: UNKNOWN"),
                "{recovery} {code}\n{shown}"
            );
            let found = shown.contains("no phase of an mbarrier expects 2^20 bytes or more");
            assert_eq!(found, assumed, "{recovery} {code}\n{shown}");
        }
    }
}

/// The hardware does not wait for CTAs that have ended.
#[test]
fn a_cta_may_leave_before_a_barrier_of_the_cluster() {
    let meet = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";
    let code = format!(
        "mov.u32 %r11, %cluster_ctarank;\nsetp.eq.u32 %p2, %r11, 0;\n{meet}@%p2 bra E;\n{meet}E:"
    );
    for said in verdicts(64, 2, &code) {
        assert!(!said.starts_with("REFUTED"), "{said}");
    }
}

/// A ring of two mbarriers whose address the loop carries from one round to the next, and which ends behind a barrier that
/// others in a loop precede.
#[test]
fn an_address_that_a_loop_carries() {
    let code = "@!%p0 mbarrier.init.shared::cta.b64 [%r1], 64;\n@!%p0 mbarrier.init.shared::cta.b64 [%r1+8], 64;\n\
         bar.sync 0;\nmov.u32 %r8, 0;\nmov.u32 %r9, %r1;\nmov.u32 %r10, 0;\nmov.u32 %r12, 0;\n\
         setp.lt.s32 %p4, %r4, 1;\n@%p4 bra E;\n\
         L: mbarrier.arrive.shared::cta.b64 _, [%r9];\n\
         W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r9], %r10;\n@!%p3 bra W;\nbar.sync 0;\n\
         add.u32 %r12, %r12, 1;\nsetp.gt.s32 %p5, %r12, 1;\nselp.b32 %r12, 0, %r12, %p5;\nselp.b32 %r13, 1, 0, %p5;\n\
         xor.b32 %r10, %r10, %r13;\nshl.b32 %r14, %r12, 3;\nadd.u32 %r9, %r1, %r14;\n\
         add.u32 %r8, %r8, 1;\nsetp.ne.u32 %p6, %r8, %r4;\n@%p6 bra L;\n\
         E: bar.sync 0;\n@!%p0 mbarrier.inval.shared::cta.b64 [%r1];\n@!%p0 mbarrier.inval.shared::cta.b64 [%r1+8];";
    let [_, graph] = verdicts(64, 1, code);
    insta::assert_snapshot!(graph.split(": all").next().unwrap_or(&graph), @"PROVED for every n in 0..=1073741823 and schedule");
}

/// A text that only one of the two readers takes hides nothing: what the other one looks for is then not known.
#[test]
fn a_text_that_cannot_be_read_as_a_graph_hides_nothing() {
    let entry = |name: &str, between: &str| {
        format!(
            ".visible .entry {name}()\n.reqntid 32, 1, 1\n{{\n.reg .pred %p<4>;\n.reg .b32 %r<8>;\n.shared .align 8 .b64 bar;\n\
             mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 mbarrier.init.shared.b64 [bar], 32;\nbar.sync 0;\n{between}\n\
             mbarrier.arrive.shared.b64 _, [bar];\nW: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p2 bra W;\nret;\n}}\n"
        )
    };
    let head = ".version 8.6\n.target sm_90a\n.address_size 64\n";
    let said = |entries: &str| {
        let folder = Folder::new();
        folder.file("k.ptx", format!("{head}{entries}"));
        folder.run(&["check", "-q", "k.ptx", "--recovery", "path"])
    };
    let store = "@%p1 st.shared.b32 [bar], %r1;";
    let twice = ".func helper(){.reg .b32 %a; .reg .b32 %a; ret;}\n";
    assert!(said(&entry("k", "")).contains("PROVED"));
    assert!(said(&entry("k", store)).contains("this writes data over an mbarrier"));
    for text in [
        format!("{}{twice}", entry("k", store)),
        format!("{}{}", entry("k", store), entry("k", "")),
    ] {
        let said = said(&text);
        assert!(!said.contains("PROVED"), "{said}");
        assert!(said.contains("could not be looked at"), "{said}");
    }
}
