//! Searches a family of inputs, in growing boxes. After the first boxes, a proof is attempted. A failure that is
//! found is built and replayed.

use std::time::Duration;
use std::time::Instant;

use crate::encoding::search;
use crate::encoding::search::Candidate;
use crate::encoding::search::Found;
use crate::encoding::search::Limits;
use crate::encoding::search::Objective;
use crate::encoding::search::Restriction;
use crate::protocol::Iteration;
use crate::protocol::PatternId;
use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::semantics::explore;
use crate::semantics::input::OrderKey;
use crate::semantics::instance::Instance;
use crate::semantics::step::Action;
use crate::semantics::unfold;
use crate::tensors::BlockSparse;
use crate::tensors::packing::Tiling;
use crate::text::Narrowing;
use crate::verdict;
use crate::verdict::deadlock;
use crate::verdict::decision::Verdict;

use super::ReproError;
use super::failure::Failure;
use super::family::Family;
use super::family::Finding;
use super::family::Origin;
use super::family::Settings;
use super::family::TileSizes;
use super::packed::Packings;
use super::windows::Windows;

/// The largest box that is searched, in tiles per axis.
const LARGEST_BOX: i64 = 16;

/// Boxes searched before a proof is tried.
const QUICK_BOXES: i64 = 3;

/// States explored to shorten the run of a failure.
const SHORTENING_STATES: u64 = 200_000;

/// A family at fixed tile sizes.
enum Member {
    Packings(Packings),
    Windows(Windows, TileSizes),
}

impl Member {
    fn new(family: Family, pattern: PatternId, tile: TileSizes) -> Member {
        let packings = |causal| {
            Member::Packings(Packings {
                pattern,
                tiling: Tiling {
                    tile_m: tile.m,
                    tile_n: tile.n,
                    causal,
                },
            })
        };
        let windows = |local| {
            let windows = Windows {
                pattern,
                tile_m: tile.m as i64,
                tile_n: tile.n as i64,
                local,
            };
            Member::Windows(windows, tile)
        };
        match family {
            Family::Packed => packings(false),
            Family::PackedCausal => packings(true),
            Family::Causal => windows(false),
            Family::Local => windows(true),
        }
    }

    fn restriction(&self) -> &dyn Restriction {
        match self {
            Member::Packings(packings) => packings,
            Member::Windows(windows, _) => windows,
        }
    }

    fn pattern(&self) -> PatternId {
        match self {
            Member::Packings(packings) => packings.pattern,
            Member::Windows(windows, _) => windows.pattern,
        }
    }

    fn origin(&self, size: i64, values: &[i64]) -> Origin {
        match self {
            Member::Packings(packings) => Origin::Packing {
                lengths: packings.lengths(size, values),
                tiling: packings.tiling,
            },
            Member::Windows(windows, tile) => {
                let value = |at: usize| {
                    let value = values.get(at).copied().unwrap_or(0);
                    u64::try_from(value).unwrap_or(0)
                };
                Origin::Window {
                    sq: value(0),
                    sk: value(1),
                    left: windows.local.then(|| value(2)),
                    right: value(3),
                    tile: *tile,
                }
            }
        }
    }

    /// The inputs of a box, in words.
    fn within(&self, size: i64) -> String {
        match self {
            Member::Packings(Packings { tiling, .. }) => {
                let tokens = size as u64 * tiling.tile_m.min(tiling.tile_n);
                format!("of up to {tokens} tokens ({size} tiles)")
            }
            Member::Windows(..) => format!("of up to {size} tiles along each axis"),
        }
    }
}

/// A search through one family.
pub(super) struct Hunt<'a> {
    protocol: &'a Protocol,
    members: Vec<Member>,
    objectives: Vec<Objective>,
    deadline: Instant,
    settings: &'a Settings<'a>,
}

/// The best candidate of a box: its member of the family, the candidate, and the size of the box.
type Hit<'m> = (&'m Member, Candidate, i64);

impl<'a> Hunt<'a> {
    /// Prepares a search at these tile sizes.
    pub(super) fn new(
        protocol: &'a Protocol,
        family: Family,
        pattern: PatternId,
        sizes: &[TileSizes],
        settings: &'a Settings<'a>,
    ) -> Hunt<'a> {
        Hunt {
            protocol,
            members: sizes
                .iter()
                .map(|tile| Member::new(family, pattern, *tile))
                .collect(),
            objectives: search::default_objectives(protocol),
            deadline: Instant::now() + settings.timeout,
            settings,
        }
    }

    /// Goes through growing boxes, with an attempt at a proof in between.
    pub(super) fn run(&self, narrowing: &Narrowing) -> Result<Finding, ReproError> {
        let mut clear = 0;
        for size in 1..=QUICK_BOXES {
            match self.search(size) {
                Ok(Some(hit)) => return self.hangs(hit),
                Ok(None) => clear = size,
                Err(reason) => return Ok(self.bounded(clear, reason)),
            }
        }
        let settings = deadlock::Settings {
            timeout: self.remaining() / 2,
            objectives: None,
            cancel: self.settings.cancel,
            tell: self.settings.tell,
            kernel: false,
        };
        let decision = verdict::decide(self.protocol, narrowing, Property::Deadlock, &settings)?;
        if let Verdict::Proved(_) = decision.verdict {
            return Ok(Finding::Proved(Box::new(decision)));
        }
        for size in QUICK_BOXES + 1..=LARGEST_BOX {
            match self.search(size) {
                Ok(Some(hit)) => return self.hangs(hit),
                Ok(None) => clear = size,
                Err(reason) => return Ok(self.bounded(clear, reason)),
            }
        }
        Ok(self.bounded(clear, "larger inputs were not searched".to_owned()))
    }

    /// What a box excludes besides larger patterns, in words: long counting loops of the protocol itself.
    fn other_loops(&self, size: i64) -> String {
        let of_roles = self.protocol.roles.iter().any(|role| counts(&role.body));
        match of_roles {
            true => format!(", with at most {size} iterations per loop of the protocol"),
            false => String::new(),
        }
    }

    fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    fn bounded(&self, clear: i64, reason: String) -> Finding {
        match self.members.first() {
            Some(member) if clear > 0 => Finding::Bounded {
                within: member.within(clear) + &self.other_loops(clear),
                reason,
            },
            _ => Finding::Unknown(reason),
        }
    }

    /// The smallest failure of a box over all tile sizes.
    fn search(&self, size: i64) -> Result<Option<Hit<'_>>, String> {
        (self.settings.tell)(&format!("searching inputs of up to {size} tiles"));
        let limits = Limits {
            thorough: true,
            deadline: self.deadline,
            cancel: self.settings.cancel,
        };
        let mut best: Option<Hit<'_>> = None;
        for member in &self.members {
            let restriction = Some(member.restriction());
            let found =
                search::smallest_of(self.protocol, restriction, size, &self.objectives, &limits);
            match found {
                Found::Stuck(candidate) => {
                    let smaller = |(_, other, _): &Hit<'_>| candidate.goals < other.goals;
                    if best.as_ref().is_none_or(smaller) {
                        best = Some((member, *candidate, size));
                    }
                }
                Found::Nothing | Found::Empty => {}
                Found::Unknown(reason) if best.is_none() => return Err(reason),
                Found::Unknown(_) => break,
                Found::Unsupported(construct) => {
                    return Err(format!("{construct} is not yet handled symbolically"));
                }
            }
        }
        Ok(best)
    }

    fn hangs(&self, hit: Hit<'_>) -> Result<Finding, ReproError> {
        let hit = self.wider(hit);
        let (member, candidate, size) = hit;
        let origin = member.origin(size, &candidate.values);
        let tiles = origin.tiles()?;
        self.compare(member, &candidate, &tiles)?;
        let instance = unfold::instantiate(self.protocol, &candidate.input)
            .map_err(|error| ReproError::Replay(error.to_string()))?;
        let schedule = self.schedule(&instance, &candidate)?;
        let smallest = match (member, candidate.minimal) {
            (_, false) => "the search for a smaller one ran out of time".to_owned(),
            (Member::Packings(_), true) => format!(
                "no packing with fewer tokens hangs, and none of as many tokens with fewer \
                 segments{}",
                self.other_loops(size)
            ),
            (Member::Windows(..), true) => format!(
                "smallest by (sq, sk, wl, wr) among sizes of at most {size} tiles along each \
                 axis{}",
                self.other_loops(size)
            ),
        };
        let failure = Failure::new(
            self.protocol,
            candidate.input,
            schedule,
            Some(tiles),
            Some(origin),
            smallest,
        )?;
        Ok(Finding::Hangs(Box::new(failure)))
    }

    /// If a window fails, one with fewer queries may need more keys than this box has. So a wider box is searched,
    /// too.
    fn wider<'m>(&'m self, hit: Hit<'m>) -> Hit<'m> {
        if let Member::Packings(_) = hit.0 {
            return hit;
        }
        match self.search(hit.2 + 2) {
            Ok(Some(wider)) if wider.1.minimal && wider.1.goals <= hit.1.goals => wider,
            _ => hit,
        }
    }

    /// Checks that the search and the arrays describe the same input.
    fn compare(
        &self,
        member: &Member,
        candidate: &Candidate,
        tiles: &BlockSparse,
    ) -> Result<(), ReproError> {
        let input = &candidate.input;
        let entries = tiles.entries();
        let built = entries.map(|entry| vec![i64::from(entry.n), i64::from(entry.m)]);
        let mut same = input.patterns.get(member.pattern().0) == Some(&built.collect());
        for (key, order) in &input.orders {
            let n = match key {
                OrderKey::Row { row, .. } => row.first(),
                OrderKey::Loop { member, .. } => member.first(),
            };
            // A loop in any order may run over the row of a number other than its member's. This is not compared
            // here; the replay covers it.
            let is_row = matches!(key, OrderKey::Row { .. });
            let row = n
                .and_then(|n| usize::try_from(*n).ok())
                .map(|n| tiles.row(n));
            same &= !is_row
                || row.is_some_and(|row| {
                    row.iter().copied().map(i64::from).eq(order.iter().copied())
                });
        }
        match same {
            true => Ok(()),
            false => Err(ReproError::Replay(
                "the pattern found is not the pattern that its sizes make".to_owned(),
            )),
        }
    }

    /// The schedule of the candidate, or a shorter one.
    fn schedule(
        &self,
        instance: &Instance,
        candidate: &Candidate,
    ) -> Result<Vec<Action>, ReproError> {
        let options = explore::Options {
            max_states: SHORTENING_STATES,
            cancel: Some(self.settings.cancel),
            ..explore::Options::default()
        };
        if let Some(shortest) = explore::explore(instance, &options).stuck {
            return Ok(shortest);
        }
        let moves = candidate.schedule.iter().map(|step| {
            let members = instance.members.iter();
            let found = members
                .enumerate()
                .find(|(_, member)| member.role == step.role && member.index == step.member);
            found.map(|(member, _)| match step.starts {
                true => Action::Launch(member),
                false => Action::Step(member),
            })
        });
        let moves: Option<Vec<Action>> = moves.collect();
        moves.ok_or_else(|| ReproError::Replay("a member that does not exist".to_owned()))
    }
}

/// Whether a program has a counting loop, and not only loops over rows.
fn counts(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::For { over, body, .. } => matches!(over, Iteration::Range { .. }) || counts(body),
        StmtKind::If {
            then, otherwise, ..
        } => counts(then) || counts(otherwise),
        _ => false,
    })
}
