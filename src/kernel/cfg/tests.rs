use super::*;
use crate::ir::Block;
use crate::ir::BlockId;
use crate::ir::Kernel;
use crate::ir::Location;
use crate::ir::Operand;
use crate::ir::Terminator;
use rand::Rng;
use rand::RngExt;
use rand::SeedableRng;

/// A kernel of the given edges: no target is an exit, one a jump, two a branch, more a switch.
fn kernel(edges: &[&[u32]]) -> Kernel {
    let blocks = edges.iter().map(|targets| {
        let targets: Vec<BlockId> = targets.iter().map(|to| BlockId(*to)).collect();
        Block {
            label: String::new(),
            operations: Vec::new(),
            end: match targets.as_slice() {
                [] => Terminator::Exit,
                [to] => Terminator::Jump(*to),
                [then, otherwise] => Terminator::Branch {
                    condition: Operand::Constant(0),
                    then: *then,
                    otherwise: *otherwise,
                },
                _ => Terminator::Switch {
                    index: Operand::Constant(0),
                    targets,
                },
            },
            location: Location::default(),
        }
    });
    Kernel {
        blocks: blocks.collect(),
        ..Kernel::default()
    }
}

#[test]
fn a_diamond_in_a_loop() {
    //! 0 -> 1; 1 -> 2, 3; 2, 3 -> 4; 4 -> 1, 5.
    let kernel = kernel(&[&[1], &[2, 3], &[4], &[4], &[1, 5], &[]]);
    let graph = Graph::new(&kernel);
    let dominators = Dominators::of(&graph);
    let post = Dominators::of_exits(&graph);
    let above = |tree: &Dominators| -> Vec<Option<u32>> {
        let of = |at| tree.immediate(BlockId(at)).map(|block| block.0);
        (0..6).map(of).collect()
    };
    assert_eq!(
        above(&dominators),
        [None, Some(0), Some(1), Some(1), Some(1), Some(4)]
    );
    assert_eq!(
        above(&post),
        [Some(1), Some(4), Some(4), Some(4), Some(5), None]
    );
    let loops = Loops::of(&graph, &dominators);
    let (_, only) = loops.iter().next().unwrap();
    assert_eq!(loops.len(), 1);
    assert_eq!(only.header, BlockId(1));
    assert_eq!(only.blocks, [1, 2, 3, 4].map(BlockId));
    assert_eq!(only.exits, [(BlockId(4), BlockId(5))]);
    assert_eq!(
        graph.region(BlockId(1), Some(BlockId(4))),
        [2, 3].map(BlockId)
    );
}

#[test]
fn loops_nest() {
    let kernel = kernel(&[&[1], &[2], &[2, 3], &[1, 4], &[4, 5], &[]]);
    let graph = Graph::new(&kernel);
    let loops = Loops::of(&graph, &Dominators::of(&graph));
    let seen: Vec<(u32, u32, Option<LoopId>)> = loops
        .iter()
        .map(|(_, each)| (each.header.0, each.depth, each.parent))
        .collect();
    assert_eq!(seen, [(1, 1, None), (2, 2, Some(LoopId(0))), (4, 1, None)]);
    assert_eq!(loops.around(BlockId(2)).count(), 2);
    assert!(loops.irreducible().is_empty());
}

#[test]
fn two_entries_make_no_natural_loop() {
    let kernel = kernel(&[&[1, 2], &[2], &[1, 3], &[]]);
    let graph = Graph::new(&kernel);
    let loops = Loops::of(&graph, &Dominators::of(&graph));
    assert!(loops.is_empty());
    assert_eq!(loops.irreducible().len(), 1);
}

#[test]
fn a_trap_does_not_keep_lanes_apart() {
    let mut kernel = kernel(&[&[1, 2], &[], &[]]);
    kernel.blocks[1].end = Terminator::Trap;
    let graph = Graph::new(&kernel);
    assert!(graph.traps(BlockId(1)));
    assert!(!graph.traps(BlockId(0)));
    let post = Dominators::of_exits(&graph);
    assert_eq!(post.immediate(BlockId(0)), Some(BlockId(2)));
}

/// Whether `to` can be reached from `from` without `avoided`.
fn reaches(graph: &Graph, from: BlockId, to: impl Fn(BlockId) -> bool, avoided: BlockId) -> bool {
    let mut seen = vec![false; graph.len()];
    let mut work = vec![from];
    while let Some(at) = work.pop() {
        if at == avoided || seen[at.0 as usize] {
            continue;
        }
        if to(at) {
            return true;
        }
        seen[at.0 as usize] = true;
        work.extend_from_slice(graph.successors(at));
    }
    false
}

#[test]
fn dominance_is_what_its_definition_says_on_random_graphs() {
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(7);
    for _ in 0..400 {
        let count = random.random_range(1..9_u32);
        let edges: Vec<Vec<u32>> = (0..count)
            .map(|_| {
                let number = random.next_u32() % 3;
                (0..number).map(|_| random.random_range(0..count)).collect()
            })
            .collect();
        let edges: Vec<&[u32]> = edges.iter().map(Vec::as_slice).collect();
        let graph = Graph::new(&kernel(&edges));
        let (dominators, post) = (Dominators::of(&graph), Dominators::of_exits(&graph));
        let all = || (0..count).map(BlockId);
        let nothing = BlockId(u32::MAX);
        let exit = |at: BlockId| graph.successors(at).is_empty();
        for below in all() {
            let reached = reaches(&graph, BlockId(0), |at| at == below, nothing);
            let leaves = reaches(&graph, below, exit, nothing);
            for above in all() {
                let around = reaches(&graph, BlockId(0), |at| at == below, above);
                let wanted = reached && !around;
                assert_eq!(dominators.dominates(above, below), wanted, "{edges:?}");
                let wanted = leaves && !reaches(&graph, below, exit, above);
                assert_eq!(post.dominates(above, below), wanted, "{edges:?}");
            }
        }
    }
}
