//! The wait-for chain: from a blocked member to the cause, or around a cycle.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::obstacle::LISTED;
use super::obstacle::Obstacle;
use super::obstacle::Obstacles;
use super::obstacle::Vain;

/// A chain of waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// The members and their obstacles. Each member waits for the next one.
    pub links: Vec<(usize, Obstacle)>,
    /// The position of the link that the last member waits for. `None` if the last member waits for no member.
    pub back_to: Option<usize>,
}

/// The chain that starts at one of the blocked members. The first blocked member from which a path leads to a member
/// that waits for no member is taken, with a shortest such path. If there is no such path, the chain starts at the
/// first blocked member, always follows the first awaited member, and ends when it meets itself.
pub fn from(obstacles: &Obstacles<'_>, blocked: &[usize]) -> Option<Chain> {
    let first = blocked.first()?;
    let mut starts = blocked.iter().take(LISTED);
    let ends = starts.find_map(|start| to_the_end(obstacles, *start));
    Some(ends.unwrap_or_else(|| around(obstacles, *first)))
}

/// The members that an obstacle makes a member wait for.
pub fn awaited(obstacle: &Obstacle) -> &[usize] {
    match obstacle {
        Obstacle::Wait(_, Vain::Others(members)) | Obstacle::Place(members) => members,
        Obstacle::Turn(member) => std::slice::from_ref(member),
        Obstacle::Wait(..) => &[],
    }
}

fn to_the_end(obstacles: &Obstacles<'_>, first: usize) -> Option<Chain> {
    let mut came_from: FxHashMap<usize, usize> = FxHashMap::default();
    let mut queue = VecDeque::from([first]);
    came_from.insert(first, first);
    while let Some(member) = queue.pop_front() {
        let Some(obstacle) = obstacles.of(member) else {
            continue;
        };
        if awaited(&obstacle).is_empty() {
            let mut path = vec![member];
            let mut at = member;
            while at != first {
                at = came_from[&at];
                path.push(at);
            }
            let links = path.into_iter().rev();
            return Some(Chain {
                links: links.filter_map(|m| Some((m, obstacles.of(m)?))).collect(),
                back_to: None,
            });
        }
        for next in awaited(&obstacle) {
            if !came_from.contains_key(next) {
                came_from.insert(*next, member);
                queue.push_back(*next);
            }
        }
    }
    None
}

fn around(obstacles: &Obstacles<'_>, first: usize) -> Chain {
    let mut links: Vec<(usize, Obstacle)> = Vec::new();
    let mut place: FxHashMap<usize, usize> = FxHashMap::default();
    let mut at = first;
    loop {
        if let Some(back) = place.get(&at) {
            return Chain {
                links,
                back_to: Some(*back),
            };
        }
        let Some(obstacle) = obstacles.of(at) else {
            return Chain {
                links,
                back_to: None,
            };
        };
        let next = awaited(&obstacle).first().copied();
        place.insert(at, links.len());
        links.push((at, obstacle));
        match next {
            Some(next) => at = next,
            None => {
                return Chain {
                    links,
                    back_to: None,
                };
            }
        }
    }
}
