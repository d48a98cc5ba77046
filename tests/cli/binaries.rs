//! Kernels inside executables, fat binaries and cubins, also damaged ones.

use std::io::Cursor;

use warplock_artifacts::embedded;

use crate::support::binaries::DEVICE;
use crate::support::binaries::HOST;
use crate::support::binaries::MACHINE_CODE;
use crate::support::binaries::PTX;
use crate::support::binaries::Packing;
use crate::support::binaries::elf;
use crate::support::binaries::entry;
use crate::support::binaries::fatbin;
use crate::support::binaries::hanging;
use crate::support::binaries::meeting;
use crate::support::program::Folder;

/// A program with two texts, the second compressed, and machine code for one of them and a third.
fn program() -> Vec<u8> {
    let first = fatbin(&[
        entry(PTX, 80, Packing::Plain, meeting("meet", "sm_80").as_bytes()),
        entry(MACHINE_CODE, 80, Packing::Plain, b"whatever"),
    ]);
    let mut all = first;
    all.extend([0; 16]);
    all.extend(fatbin(&[
        entry(PTX, 90, Packing::Zstd, hanging("hang", "sm_90a").as_bytes()),
        entry(MACHINE_CODE, 75, Packing::Lz4, &[7; 100]),
    ]));
    elf(HOST, ".nv_fatbin", &all)
}

#[test]
fn each_text_of_a_program_is_checked() {
    let folder = Folder::new();
    folder.file("app", program());
    insta::assert_snapshot!(folder.run(&["check", "-q", "app"]), @r"
    exit 1
    --- stdout
    app[sm_80]: deadlock: PROVED for every schedule: all 6 obligations of the kernel hold
    app[sm_90a]: deadlock: REFUTED cta_bar[1] takes 64 threads, 32 came (warp1), and nobody else comes (line 12): warp0 has no statement for this barrier
    --- stderr
    ");
    // One is meant by its kernel or by what it is for.
    insta::assert_snapshot!(folder.run(&["check", "-q", "app", "--entry", "meet"]), @"
    exit 0
    --- stdout
    app: deadlock: PROVED for every schedule: all 6 obligations of the kernel hold
    --- stderr
    ");
    insta::assert_snapshot!(folder.run(&["check", "-q", "app", "--arch", "sm_80"]), @"
    exit 0
    --- stdout
    app: deadlock: PROVED for every schedule: all 6 obligations of the kernel hold
    --- stderr
    ");
    insta::assert_snapshot!(folder.run(&["check", "app", "--arch", "sm_70"]), @"
    exit 2
    --- stdout
    --- stderr
    error: app holds no PTX for sm_70
    hint: it holds PTX for sm_80, sm_90a
    ");
    insta::assert_snapshot!(folder.run(&["lift", "app"]), @"
    exit 2
    --- stdout
    --- stderr
    error: app holds 2 PTX texts: app[sm_80], app[sm_90a]
    hint: choose one with --arch, or name one of its kernels with --entry
    ");
    insta::assert_snapshot!(folder.run(&["lift", "app", "--entry", "meet"]), @"
    exit 0
    --- stdout
    //! Recovered from the kernel `meet`.
    //! 64 x 1 x 1 threads per CTA.
    //! Checked against the kernel at 5 launches, 10 events.
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    protocol meet

    named cta_bar[16]

    role warps0_1[w in 0..2] warp {
        sync cta_bar[0] 64  // line 7
    }
    --- stderr
    ");
    insta::assert_snapshot!(folder.run(&["lint", "app", "--entry", "hang"]), @r"
    exit 1
    --- stdout
    app:hang: arrival-count: line 12: barrier 1 counts 64 threads, but only 32 come to it
      hint: count the threads of the warps that use the barrier
      PTX ISA: mbarrier.init; for named barriers: bar, barrier (warplock explain arrival-count)
    --- stderr
    ");
    insta::assert_snapshot!(folder.run(&["trace", "app", "--entry", "meet"]), @"
    exit 0
    --- stdout
    meet: every wait passes
      threads 64 x 1 x 1
      grid 1 x 1 x 1
    warps 0..1: 1 event
      sync 0, all threads                                         line 7
    --- stderr
    ");
}

#[test]
fn texts_are_read_however_they_are_compressed() {
    for packing in [Packing::Plain, Packing::Lz4, Packing::Zstd] {
        let text = meeting("meet", "sm_90").repeat(20);
        let file = fatbin(&[entry(PTX, 90, packing, text.as_bytes())]);
        let found = embedded::read(Cursor::new(file)).unwrap();
        assert_eq!(found.texts.len(), 1, "{packing:?}");
        assert_eq!(found.texts[0].bytes, text.trim_end_matches('\0').as_bytes());
        assert!(found.closed.is_empty());
    }
}

#[test]
fn machine_code_alone_says_nothing() {
    let folder = Folder::new();
    folder.file("closed.cubin", elf(DEVICE, ".text.kernel", &[0; 16]));
    let lines = meeting("meet", "sm_90").replace('\n', "\0");
    folder.file(
        "open.cubin",
        elf(DEVICE, ".nv_debug_ptx_txt", lines.as_bytes()),
    );
    folder.file("host.so", elf(HOST, ".text", &[0; 16]));
    insta::assert_snapshot!(folder.run(&["check", "closed.cubin"]), @r"
    exit 4
    --- stdout
    closed.cubin: deadlock: UNKNOWN it contains machine code for sm_90 and no PTX; machine code alone cannot be checked
    --- stderr
    ");
    insta::assert_snapshot!(folder.run(&["lift", "closed.cubin"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: closed.cubin: it contains machine code for sm_90 and no PTX; machine code alone cannot be checked
    hint: compile with PTX for a virtual architecture beside the machine code, as nvcc -gencode arch=compute_90a,code=[sm_90a,compute_90a] does, or give the .ptx file
    ");
    insta::assert_snapshot!(folder.run(&["check", "-q", "open.cubin"]), @"
    exit 0
    --- stdout
    open.cubin: deadlock: PROVED for every schedule: all 6 obligations of the kernel hold
    --- stderr
    ");
    insta::assert_snapshot!(folder.run(&["check", "host.so"]), @"
    exit 2
    --- stdout
    --- stderr
    error: host.so holds no GPU code
    hint: give the program, the shared object or the cubin that the kernel is in
    ");
}

#[test]
fn damaged_binaries_are_refused() {
    let whole = program();
    let folder = Folder::new();
    folder.file("short", &whole[..whole.len() / 2]);
    let mut fat = fatbin(&[entry(PTX, 90, Packing::Zstd, &[b'a'; 1000])]);
    // It claims to be of 2^62 bytes once it is decompressed.
    fat[16 + 63] = 0x40;
    folder.file("large.fatbin", &fat);
    insta::assert_snapshot!(folder.run(&["check", "short"]), @"
    exit 2
    --- stdout
    --- stderr
    error: cannot read short: it is damaged or cut off: Invalid ELF section header offset/size/alignment
    ");
    insta::assert_snapshot!(folder.run(&["check", "large.fatbin"]), @"
    exit 2
    --- stdout
    --- stderr
    error: cannot read large.fatbin: it is damaged or cut off: it ends too early
    ");
    let mut lz4 = fatbin(&[entry(PTX, 90, Packing::Lz4, &[b'a'; 1000])]);
    // 200 MB of a few bytes.
    lz4[16 + 59] = 0x0c;
    folder.file("bomb.fatbin", &lz4);
    insta::assert_snapshot!(folder.run(&["check", "bomb.fatbin"]), @"
    exit 2
    --- stdout
    --- stderr
    error: cannot read bomb.fatbin: it is damaged or cut off: an entry claims to be larger than it can be
    ");
}

/// Whatever is cut off or changed, reading ends with a result or an error.
#[test]
fn no_damage_is_fatal() {
    let files = [
        program(),
        fatbin(&[
            entry(PTX, 90, Packing::Lz4, meeting("meet", "sm_90").as_bytes()),
            entry(
                MACHINE_CODE,
                86,
                Packing::Zstd,
                &elf(DEVICE, ".text", &[0; 8]),
            ),
        ]),
    ];
    let mut refused = 0;
    for file in files {
        for end in 0..file.len() {
            refused += usize::from(embedded::read(Cursor::new(&file[..end])).is_err());
        }
        for at in 0..file.len() {
            for value in [0x00, 0x7f, 0xff] {
                let mut changed = file.clone();
                changed[at] = value;
                refused += usize::from(embedded::read(Cursor::new(changed)).is_err());
            }
        }
    }
    assert!(refused > 1000, "only {refused} were refused");
}
