use super::*;

fn told(text: &str) -> Vec<String> {
    let observation = read(text);
    let seen = observation.seen.iter();
    seen.map(|seen| format!("{} at {}", seen.who(), seen.at(None)))
        .collect()
}

#[test]
fn the_focus_and_its_frames_are_one_thread() {
    let text = "\
^C
Thread 1 \"python\" received signal SIGINT, Interrupt.
[Switching focus to CUDA kernel 0, grid 4, cluster (0,0,0), cluster dim (2,1,1), block (0,0,0), thread (0,0,0), device 0, sm 142, warp 1, lane 0]
0x00007ffe439bac10 in mbarrier_try_wait_parity (mbar_addr=197728, parity=0)
    at /home/me/gemm/gemm.cu:134
134             : \"r\"(mbar_addr), \"r\"(parity) // inputs
(cuda-gdb) up

#1  mbarrier_wait_parity<<<(148,1,1),(192,1,1)>>> (mbar_addr=197728, parity=0)
    at /home/me/gemm/gemm.cu:141
141       while (!mbarrier_try_wait_parity(mbar_addr, parity)) {
(cuda-gdb) up
#2  gemm<6, 128><<<(148,1,1),(192,1,1)>>> (a_map=<error reading variable: Cannot access memory at address 0x0>, K=4096)
    at /home/me/gemm/gemm.cu:538
(cuda-gdb) cuda thread (160,0,0)
[Switching focus to CUDA kernel 0, grid 4, block (0,0,0), thread (160,0,0), device 0, sm 142, warp 6, lane 0]
0x00007ffe439b70e0      134             : \"r\"(mbar_addr), \"r\"(parity) // inputs
#1  mbarrier_wait_parity<<<(148,1,1),(192,1,1)>>> (mbar_addr=197672, parity=1)
    at /home/me/gemm/gemm.cu:141
";
    assert_eq!(
        told(text),
        [
            "thread (0,0,0) of block (0,0,0) at gemm.cu:538, barrier 0x30460, parity 0",
            "thread (160,0,0) of block (0,0,0) at gemm.cu:141, barrier 0x30428, parity 1",
        ]
    );
    let observation = read(text);
    assert_eq!(observation.threads, Some(Dim([192, 1, 1])));
    assert_eq!(observation.kernels, ["mbarrier_wait_parity", "gemm"]);
    assert_eq!(observation.seen[0].places.len(), 3);
}

#[test]
fn lines_alone_are_threads_of_their_own() {
    let text = "\
mbarrier_try_wait_parity (mbar_addr=197728, parity=0) at gemm.cu:134
mbarrier_try_wait_parity (mbar_addr=197672, parity=1) at gemm.cu:134
";
    assert_eq!(
        told(text),
        [
            "a thread at gemm.cu:134, barrier 0x30460, parity 0",
            "a thread at gemm.cu:134, barrier 0x30428, parity 1",
        ]
    );
}

#[test]
fn tables_of_threads_and_warps() {
    let text = "\
  BlockIdx ThreadIdx To BlockIdx ThreadIdx Count         Virtual PC    Filename  Line
Kernel 0
*  (0,0,0)   (0,0,0)     (0,0,0)  (31,0,0)    32 0x000000000088f88c   acos.cu   376
   (0,0,0)  (32,0,0)     (0,0,0) (127,0,0)    96 0x000000000088f800   acos.cu   374
  Wp Active Lanes Mask Divergent Lanes Mask          Active PC Kernel BlockIdx First Active ThreadIdx
Device 0 SM 0
*  0        0x000003ff           0x00000000 0x0000000202156680      0  (0,0,0)                (0,0,0)
   1        0xffffffff           0x00000000 0x0000000202156400      0  (1,0,0)               (32,0,0)
";
    assert_eq!(
        told(text),
        [
            "thread (0,0,0) of block (0,0,0) and 31 more at acos.cu:376",
            "thread (32,0,0) of block (0,0,0) and 95 more at acos.cu:374",
            "thread (0,0,0) of block (0,0,0) at program counter 0x202156680",
            "thread (32,0,0) of block (1,0,0) at program counter 0x202156400",
        ]
    );
}

#[test]
fn a_program_counter_gets_the_line_that_is_said_of_it() {
    let text = "\
  Ln  State         PC         ThreadIdx Exception
Device 0 SM 0 Warp 0
*  0 active 0x0000000202156ac0   (0,0,0)    None
Line 23 of \"a.cu\" starts at address 0x202156a80 <k+10> and ends at 0x202156ad0 <k+90>.
";
    assert_eq!(told(text), ["thread (0,0,0) at a.cu:23"]);
}

#[test]
fn a_table_of_ones_own() {
    let text = "block | warp | line\n--- | --- | ---\n3 | 5 | 134\n(1,0,0) | 0 | gemm.cu:99\n";
    assert_eq!(
        told(text),
        [
            "warp 5 of block (3,0,0) at line 134",
            "warp 0 of block (1,0,0) at gemm.cu:99"
        ]
    );
    assert_eq!(told("warp,file,line\n2,k.cu,17\n"), ["warp 2 at k.cu:17"]);
    assert_eq!(
        told("warp line parity\n2 17 1\n"),
        ["warp 2 at line 17, parity 1"]
    );
}

#[test]
fn words_of_memory() {
    let text =
        "0x30460:\t0x7fff0000001fffc0\t0x0000000000000000\nfull[1] = 0x7ffff800001ffffe\nnothing";
    let observation = read(text);
    let words = observation.barriers.iter();
    let words: Vec<String> = words
        .map(|b| format!("{}: {}", b.label, b.word.words()))
        .collect();
    assert_eq!(
        words,
        [
            "0x30460: phase 0, 32 of 32 arrivals missing",
            "full[1]: phase 0, 1 of 1 arrivals missing",
        ]
    );
    assert_eq!(observation.unread, 1);
}

#[test]
fn a_text_may_end_anywhere() {
    let text = "[Switching focus to CUDA kernel 0, block (0,0,0), thread (0,0,0), sm 1]\n#0  wait (parity=1)\n    at /a/b/k.cu:12\n#1  0x0000";
    for end in 0..text.len() {
        let observation = read(&text[..end]);
        assert!(observation.seen.len() <= 1, "{end}");
    }
    for number in 0..=9 {
        let noise = format!("{number} block warp line \u{1F600} ((((((( {number},{number}\n0x:0x");
        read(&noise);
    }
}

fn skipped(text: &str) -> Vec<String> {
    let skipped = read(text).skipped.into_iter();
    skipped
        .map(|one| format!("{}: {}: {}", one.line, one.text, one.why))
        .collect()
}

#[test]
fn what_is_no_barrier_is_named() {
    let text = "\
full[0] = 0x0000000000000000
full[1] = 0x7ffff80000
empty: 7
0x30460:\t0x7fff0000001fffc0\t0x0000000000000000
0x30470:\t0x0000000000000001
the word was 0x7fff0000001fffc0
x = 5
";
    assert_eq!(
        skipped(text),
        [
            format!("1: full[0] = 0x0000000000000000: {NO_BARRIER}"),
            format!("2: full[1] = 0x7ffff80000: {NO_WORD}"),
            format!("3: empty: 7: {NO_WORD}"),
            format!("5: 0x30470:\t0x0000000000000001: {NO_BARRIER}"),
            format!("6: the word was 0x7fff0000001fffc0: {NO_LABEL}"),
        ]
    );
}

/// Other output of debuggers is not taken for a barrier.
#[test]
fn frames_and_registers_are_not_named() {
    let text = "\
rip            0x00007ffe439bac10\t0x7ffe439bac10
#1  0x00007ffe439bac10 in wait ()
0x00007ffe439b4a30      137       return static_cast<bool>(wait_complete);
134             : \"r\"(mbar_addr), \"r\"(parity) // inputs
[Switching focus to CUDA kernel 0, grid 4, block (0,0,0), thread (0,0,0), sm 1]
$1 = 0x00007ffe439bac10
";
    assert_eq!(skipped(text), Vec::<String>::new());
}
