//! Terms against words, and a kernel's protocol as it is written.

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::Shape;
use super::recover;
use super::term::Atom;
use super::term::TermId;
use super::term::Terms;
use crate::meaning::Binary;
use crate::meaning::Concrete;
use crate::meaning::Domain;
use crate::meaning::Relation;
use crate::meaning::Word;
use crate::mlir;
use crate::ptx;

const RING: &str = include_str!("../../../tests/mlir/ring.mlir");

/// A random expression, as a term over atoms and as a word where the atoms have values.
fn random(
    random: &mut ChaCha8Rng,
    terms: &mut Terms,
    values: &[Word],
    depth: u32,
    width: u16,
) -> (TermId, Word) {
    const BINARY: [Binary; 13] = [
        Binary::Add,
        Binary::Subtract,
        Binary::Multiply,
        Binary::And,
        Binary::Or,
        Binary::Xor,
        Binary::ShiftLeft,
        Binary::ShiftRightLogical,
        Binary::ShiftRightArithmetic,
        Binary::DivideUnsigned,
        Binary::DivideSigned,
        Binary::RemainderUnsigned,
        Binary::RemainderSigned,
    ];
    const RELATIONS: [Relation; 3] = [
        Relation::Equal,
        Relation::LessUnsigned,
        Relation::LessSigned,
    ];
    if depth == 0 || random.random_range(0..8) == 0 {
        let atom = random.random_range(0..values.len());
        if values[atom].width == width && random.random_range(0..3) > 0 {
            let offset = u32::try_from(atom).unwrap() * 4;
            return (terms.atom(Atom::Parameter { offset }, width), values[atom]);
        }
        let bits = match random.random_range(0..4) {
            0 => random.random_range(0..9),
            1 => (1 << random.random_range(0..u32::from(width))) - 1,
            2 => 1 << random.random_range(0..u32::from(width)),
            _ => random.random::<u128>(),
        };
        return (terms.constant(bits, width), Word::new(bits, width));
    }
    let next = |terms: &mut Terms, random: &mut ChaCha8Rng, width| {
        self::random(random, terms, values, depth - 1, width)
    };
    match random.random_range(0..8) {
        0..=3 => {
            let operation = BINARY[random.random_range(0..BINARY.len())];
            let (a, x) = next(terms, random, width);
            let (b, y) = next(terms, random, width);
            (
                terms.binary(operation, &a, &b),
                Concrete.binary(operation, &x, &y),
            )
        }
        4 => {
            let (a, x) = next(terms, random, width);
            (terms.not(&a), Concrete.not(&x))
        }
        5 => {
            let relation = RELATIONS[random.random_range(0..RELATIONS.len())];
            let (a, x) = next(terms, random, 16);
            let (b, y) = next(terms, random, 16);
            let (p, q) = (
                terms.relation(relation, &a, &b),
                Concrete.relation(relation, &x, &y),
            );
            let (c, z) = next(terms, random, width);
            let (d, w) = next(terms, random, width);
            (terms.select(&p, &c, &d), Concrete.select(&q, &z, &w))
        }
        6 => {
            let signed = random.random_range(0..2) == 0;
            let (a, x) = next(terms, random, 8);
            if width < 8 {
                return (terms.extract(&a, 1, width), Concrete.extract(&x, 1, width));
            }
            (
                terms.extend(&a, width, signed),
                Concrete.extend(&x, width, signed),
            )
        }
        _ => {
            let (a, x) = next(terms, random, 32);
            if width > 16 {
                let (b, y) = next(terms, random, width - 8);
                let (high, top) = (terms.extract(&a, 3, 8), Concrete.extract(&x, 3, 8));
                return (terms.concatenate(&high, &b), Concrete.concatenate(&top, &y));
            }
            let low = random.random_range(0..=32 - width);
            (
                terms.extract(&a, low, width),
                Concrete.extract(&x, low, width),
            )
        }
    }
}

#[test]
fn terms_mean_what_words_do() {
    let mut source = ChaCha8Rng::seed_from_u64(19);
    let mut decided = 0;
    for round in 0..20_000 {
        let mut terms = Terms::default();
        let values: Vec<Word> = [32, 32, 16, 8, 1]
            .into_iter()
            .map(|width| {
                let bits = match source.random_range(0..3) {
                    0 => source.random_range(0..5),
                    1 => u128::MAX - source.random_range(0..5),
                    _ => source.random::<u128>(),
                };
                Word::new(bits, width)
            })
            .collect();
        let width = [1, 8, 16, 32][source.random_range(0..4)];
        let (term, word) = random(&mut source, &mut terms, &values, 4, width);
        assert_eq!(terms.width_of(term), word.width, "round {round}");
        let constants: Vec<TermId> = values
            .iter()
            .map(|word| terms.constant(word.bits, word.width))
            .collect();
        let with = |atom: Atom| match atom {
            Atom::Parameter { offset } => constants.get(offset as usize / 4).copied(),
            _ => None,
        };
        decided += u32::from(terms.value(term).is_none());
        let done = terms.substitute(term, &with);
        assert_eq!(
            terms.value(done),
            Some(word.bits),
            "round {round}: {}",
            terms.shown(term)
        );
    }
    assert!(decided > 5_000, "most terms have atoms: {decided}");
}

fn text(source: &str) -> String {
    let module = mlir::read(source).unwrap_or_else(|error| panic!("{error}"));
    let shape = Shape {
        threads: [64, 1, 1],
        cluster: [1; 3],
    };
    match recover(&module.kernels[0], shape) {
        Ok(recovered) => {
            assert!(
                recovered.validation.launches >= 6,
                "{:?}",
                recovered.validation
            );
            assert!(recovered.exact);
            recovered.text
        }
        Err(obstacle) => format!("line {}: {}", obstacle.location.line, obstacle.reason),
    }
}

#[test]
fn a_ring_over_tiles_is_a_count_of_rounds() {
    insta::assert_snapshot!(text(RING), @r"
    //! Recovered from the kernel `ring`.
    //! 64 x 1 x 1 threads per CTA.
    //! Checked against the kernel at 10 launches, 2216 events.
    //! Assumed: lanes of a warp that take different ways meet again behind them
    protocol ring

    param tiles in 0..=1073741823
    param rounds in 0..=1073741823

    mbarrier smem_0_0[3] { arrivals: 1 }
    mbarrier smem_0_24[3] { arrivals: 1 }
    named cta_bar[16]

    role warp0 warp {
        sync cta_bar[0] 64  // line 42
        var rounds0 = 0
        for i in 0..tiles {  // line 46
            for j in 0..rounds {  // line 47
                wait smem_0_24[rounds0 % 3] (((rounds0 / 3) + 1) % 2)  // line 51
                arrive smem_0_0[rounds0 % 3]  // line 56
                rounds0 = rounds0 + 1
            }
        }
    }

    role warp1 warp {
        sync cta_bar[0] 64  // line 42
        var rounds0 = 0
        for i in 0..tiles {  // line 72
            for j in 0..rounds {  // line 73
                wait smem_0_0[rounds0 % 3] ((rounds0 / 3) % 2)  // line 77
                arrive smem_0_24[rounds0 % 3]  // line 80
                rounds0 = rounds0 + 1
            }
        }
    }
    ");
}

#[test]
fn what_is_changed_in_the_kernel_is_changed_in_its_protocol() {
    let right = text(RING);
    let produces = RING.find("scf.if %produces").unwrap();
    for (from, to, says) in [
        (
            "%h0 = %c1",
            "%h0 = %c0",
            "wait smem_0_24[rounds0 % 3] ((rounds0 / 3) % 2)",
        ),
        (
            "nvvm.mbarrier.arrive %fp, %c1",
            "nvvm.mbarrier.arrive %fp, %c3",
            "arrive smem_0_0[rounds0 % 3] 3",
        ),
        (
            "%c0 to %rounds",
            "%c1 to %rounds",
            "for j in 0..max(rounds - 1, 0)",
        ),
        (
            "%s1 = arith.addi %s, %c1",
            "%s1 = arith.addi %s, %c0",
            "which mbarrier",
        ),
    ] {
        let (head, body) = RING.split_at(produces);
        let changed = format!("{head}{}", body.replacen(from, to, 1));
        assert_ne!(changed, RING, "{from} is there");
        let found = text(&changed);
        assert_ne!(found, right, "{to}");
        assert!(
            found.contains(says) || says == "which mbarrier",
            "{to}:\n{found}"
        );
    }
}

#[test]
fn a_loop_that_waits_for_memory_is_refused() {
    let kernel = "gpu.module @m {
  cuda.kernel @k(%p: !llvm.ptr<1>) attributes {nvvm.reqntid = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : i32
    scf.while : () -> () {
      %v = llvm.load %p : !llvm.ptr<1> -> i32
      %again = arith.cmpi eq, %v, %c0 : i32
      scf.condition(%again)
    } do {
      scf.yield
    }
    nvvm.barrier
    return
  }
}
";
    assert_eq!(
        text(kernel),
        "line 5: a loop goes on until memory changes, which is not followed"
    );
}

/// Two warps of each CTA of a cluster, with an mbarrier of 1 arrival in `memory`.
fn entry(cluster: u32, code: &str) -> Result<super::Recovered, String> {
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u32 n, .param .u64 p)\n\
         .reqntid 64, 1, 1\n{{\n.shared .align 8 .b64 memory;\n.reg .pred %p<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<8>;\n\
         mov.u32 %r1, %tid.x;\nmov.u32 %r2, memory;\nsetp.eq.u32 %p1, %r1, 0;\nld.param.u64 %rd1, [p];\n\
         ld.param.u32 %r3, [n];\n{code}\nret;\n}}\n"
    );
    let module = ptx::read(&text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let shape = Shape {
        threads: [64, 1, 1],
        cluster: [cluster, 1, 1],
    };
    recover(&module.kernels[0], shape).map_err(|obstacle| obstacle.reason)
}

const INIT: &str = "@%p1 mbarrier.init.shared.b64 [%r2], 1;\n";
const ARRIVE: &str = "@%p1 mbarrier.arrive.shared.b64 _, [%r2];\n";

#[test]
fn what_lanes_read_from_memory_is_not_alike() {
    // A load of each lane is the same as itself after an exchange only if the lanes read the same.
    let exchanged = format!(
        "{INIT}bar.sync 0;\nld.global.u32 %r4, [%rd1];\nshfl.sync.idx.b32 %r5, %r4, 0, 31, -1;\n\
         setp.eq.u32 %p2, %r4, %r5;\n@%p2 bra done;\n{ARRIVE}done:"
    );
    let both = "ld.global.u32 %r4, [%rd1];\nsetp.eq.u32 %p2, %r4, 0;\n@%p2 bra other;\nbar.sync 0;\nbra done;\n\
                other:\nbar.sync 0;\ndone:";
    for code in [exchanged.as_str(), both] {
        let reason = entry(1, code).unwrap_err();
        assert!(reason.contains("memory"), "{reason}");
    }
}

#[test]
fn mbarriers_are_declared_where_they_are_ready_before_use() {
    let cluster = "barrier.cluster.arrive;\nbarrier.cluster.wait;\n";
    let peer = "mov.u32 %r6, 1;\nmapa.shared::cluster.u32 %r7, %r2, %r6;\n\
                @%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r7];\n";
    let late = format!("barrier.cluster.arrive;\n{INIT}barrier.cluster.wait;\n{ARRIVE}");
    for (ctas, code, declared) in [
        (1, format!("{INIT}bar.sync 0;\n{ARRIVE}"), true),
        (1, format!("{INIT}bar.sync 0, 32;\n{ARRIVE}"), false),
        (1, format!("bar.sync 0;\n{INIT}{ARRIVE}"), false),
        (2, format!("{INIT}{cluster}{peer}"), true),
        (2, format!("{INIT}bar.sync 0;\n{peer}"), false),
        (2, late, false),
    ] {
        let found = entry(ctas, &code).unwrap().text;
        assert_eq!(
            !found.contains("init: explicit"),
            declared,
            "{code}\n{found}"
        );
    }
}

#[test]
fn a_test_that_spares_a_later_wait_is_an_assumption() {
    let test = "mbarrier.test_wait.parity.shared.b64 %p2, [%r2], 0;\n";
    let wait = "@%p2 bra done;\nagain:\nmbarrier.try_wait.parity.shared.b64 %p3, [%r2], 0;\n@!%p3 bra again;\ndone:";
    let taken = |between: &str| {
        let found = entry(
            1,
            &format!("{INIT}bar.sync 0;\n{ARRIVE}{test}{between}{wait}"),
        )
        .unwrap();
        assert!(found.text.contains("wait memory 0"), "{}", found.text);
        found.text.contains("is not overtaken")
    };
    assert!(!taken(""));
    assert!(taken("bar.sync 0;\n"));
}

#[test]
fn loops_that_test_two_mbarriers_are_refused() {
    let code = format!(
        "{INIT}bar.sync 0;\nagain:\nmbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0;\n@%p2 bra done;\n\
         mbarrier.try_wait.parity.shared.b64 %p3, [%r2], 1;\n@!%p3 bra again;\ndone:"
    );
    assert_eq!(
        entry(1, &code).unwrap_err(),
        "a loop tests several mbarriers"
    );
    let all = "mbarrier.init.shared.b64 [%r2], 1;\nbar.sync 0;";
    assert!(
        entry(1, all)
            .unwrap_err()
            .contains("several lanes initialise")
    );
}

#[test]
fn warps_that_end_early_make_no_counterexample() {
    assert!(entry(1, "bar.sync 0;").unwrap().exact);
    // The second warp ends; the hardware does not wait for it.
    let ended = "setp.ge.u32 %p2, %r1, 32;\n@%p2 ret;\nbar.sync 0;";
    let found = entry(1, ended).unwrap();
    assert!(!found.exact, "{}", found.text);
    // All lanes end below a condition of the launch, one of them after an arrival.
    let below = format!(
        "{INIT}bar.sync 0;\nsetp.eq.u32 %p2, %r3, 7;\n@!%p2 bra rest;\n@!%p1 bra out;\n{ARRIVE}ret;\nout:\nret;\nrest:\nbar.sync 0;"
    );
    let found = entry(1, &below).unwrap();
    assert!(
        found
            .text
            .contains("arrive memory  // line 21\n    } else {\n"),
        "{}",
        found.text
    );
    assert!(found.validation.launches > 0);
}
