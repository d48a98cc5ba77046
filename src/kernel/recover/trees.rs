//! The trees of all warps, which hand words over to each other.
//!
//! What warps store may depend on what they load. So they are walked again until nothing changes
//! ([`crate::recover::shared_words`]). The launch may decide what is stored, or how often a warp
//! has come to a barrier before. Then each case is walked by itself: in a case, every warp takes
//! the same side of a branch that parameters alone decide.

use crate::ir::Kernel;
use crate::ir::Location;
use crate::recover::graph::Graph;
use crate::recover::noted::note;
use crate::recover::shape::Shape;
use crate::recover::shared_words::SharedWords;
use crate::recover::slice::Slice;
use crate::recover::term::Atom;
use crate::recover::term::TermId;
use crate::recover::tree::Arena;
use crate::recover::tree::Obstacle;
use crate::recover::tree::Statement;
use crate::recover::walk::Place;
use crate::recover::walk::Purpose;
use crate::recover::walk::differs;
use crate::recover::walk::walk;

const DIFFERS: &str = "what lanes do together depends on what a loop carries and memory decides, which may differ between lanes";

/// How often the warps are walked at most, each time with the words that they were found to hand
/// over.
const MOST_WALKS: usize = 6;

/// How many branches are tried whose sides become cases.
const MOST_BRANCHES: usize = 4;

/// A warp: the rank of its CTA, its number, and what it does.
type Tree = (u32, u32, Vec<Statement>);

/// What every warp does.
pub fn trees(
    kernel: &Kernel,
    shape: Shape,
    walked: (&Graph, &Slice),
    arena: &mut Arena,
    purpose: Purpose,
) -> Result<Vec<Tree>, Obstacle> {
    arena.branches.clear();
    let whole = settled(kernel, shape, walked, arena, purpose);
    if whole.is_ok() || !arena.shared_words.asked {
        return whole;
    }
    let of_launch = |condition: &TermId| {
        let atoms = arena.terms.atoms(*condition);
        let mut atoms = atoms.iter();
        atoms.all(|atom| matches!(atom, Atom::Parameter { .. }))
    };
    let mut branches: Vec<(TermId, Location)> = Vec::new();
    for (condition, location) in &arena.branches {
        let is_new = branches.iter().all(|(other, _)| other != condition);
        if is_new && of_launch(condition) {
            branches.push((*condition, location.clone()));
        }
    }
    for (condition, location) in branches.into_iter().take(MOST_BRANCHES) {
        let cases = by_cases(
            kernel,
            shape,
            walked,
            arena,
            purpose,
            (condition, &location),
        );
        if cases.is_ok() {
            return cases;
        }
    }
    whole
}

/// What every warp does, with one case where a condition of the launch holds, and one where it
/// fails.
fn by_cases(
    kernel: &Kernel,
    shape: Shape,
    walked: (&Graph, &Slice),
    arena: &mut Arena,
    purpose: Purpose,
    (condition, location): (TermId, &Location),
) -> Result<Vec<Tree>, Obstacle> {
    let case = |truth: bool, arena: &mut Arena| {
        arena.begin_walk();
        arena.shared_words = SharedWords::default();
        arena.given = Some((condition, truth));
        let trees = settled(kernel, shape, walked, arena, purpose);
        arena.given = None;
        trees
    };
    let holds = case(true, arena)?;
    let parities = std::mem::take(&mut arena.parities);
    let alike = std::mem::take(&mut arena.alike);
    let spared = std::mem::take(&mut arena.spared);
    let trusts_memory = arena.trusts_memory;
    let answered = std::mem::take(&mut arena.shared_words.answered);
    let fails = case(false, arena)?;
    arena.parities.extend(parities);
    arena.alike.extend(alike);
    for (one, between) in spared {
        note(&mut arena.spared, one, between);
    }
    arena.trusts_memory |= trusts_memory;
    arena.shared_words.answered.extend(answered);
    let both = holds.into_iter().zip(fails);
    let both = both.map(|((rank, warp, then), (_, _, otherwise))| {
        let statement = Statement::If {
            condition,
            then,
            otherwise,
            location: location.clone(),
        };
        (rank, warp, vec![statement])
    });
    Ok(both.collect())
}

/// What every warp does. The walk is repeated until the words that are handed over do not change
/// any more.
fn settled(
    kernel: &Kernel,
    shape: Shape,
    (graph, slice): (&Graph, &Slice),
    arena: &mut Arena,
    purpose: Purpose,
) -> Result<Vec<Tree>, Obstacle> {
    for _ in 0..MOST_WALKS {
        let mut trees = Vec::new();
        let mut obstacle = None;
        for place in warps(shape) {
            match walk(kernel, graph, slice, arena, place, purpose) {
                Ok(tree) => trees.push((place.rank, place.warp, tree)),
                Err(found) if !arena.shared_words.asked => return Err(found),
                Err(found) => {
                    obstacle.get_or_insert(found);
                }
            }
        }
        if !arena.shared_words.asked || arena.shared_words.are_settled() {
            let unlike = differs(arena);
            if purpose == Purpose::Together {
                arena.trusts_memory |= unlike.is_some();
                return obstacle.map_or(Ok(trees), Err);
            }
            let obstacle =
                obstacle.or_else(|| unlike.map(|location| Obstacle::new(DIFFERS, location)));
            return obstacle.map_or(Ok(trees), Err);
        }
        arena.shared_words.again();
        arena.begin_walk();
    }
    Err(Obstacle::new(
        "what warps hand over to each other in shared memory depends on itself",
        Location::default(),
    ))
}

/// Every warp of every CTA of a cluster.
fn warps(shape: Shape) -> impl Iterator<Item = Place> {
    let of_rank = move |rank| {
        (0..shape.warps()).map(move |warp| Place {
            threads: shape.threads,
            cluster: shape.cluster,
            rank,
            warp,
        })
    };
    (0..shape.ctas()).flat_map(of_rank)
}

impl Arena {
    /// Drops what the walk before has noted.
    fn begin_walk(&mut self) {
        self.parities.clear();
        self.alike.clear();
        self.spared.clear();
        self.trusts_memory = false;
    }
}
