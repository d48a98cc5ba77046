//! Searches for chains, the shortest first. A chain that proves one condition is tried first for the next condition.
//! A search for chains of a given length skips links from which the end cannot be reached with the remaining number
//! of links.

use std::collections::BTreeMap;

use super::Search;
use super::uncovered;
use crate::certificate::order::artefact::About;
use crate::certificate::order::artefact::Chain;
use crate::certificate::order::artefact::Lag;
use crate::certificate::order::artefact::Link;
use crate::certificate::order::rings::Ring;

/// The longest chain that is tried.
const MAX_LINKS: usize = 4;

impl Search<'_> {
    /// Chains for everything that needs one. Chains without links are left out.
    pub(super) fn chains(&self, lags: &[Lag]) -> Result<Vec<Chain>, String> {
        let mut all: Vec<Chain> = Vec::new();
        let mut known: Vec<Vec<Link>> = Vec::new();
        for about in self.rule.ordered().map_err(uncovered)? {
            let (links, made) = self.links(about, &known, lags)?;
            if links.is_empty() {
                continue;
            }
            if !known.contains(&links) {
                known.push(links.clone());
                known.sort_by_key(Vec::len);
            }
            all.push(Chain { about, links, made });
        }
        Ok(all)
    }

    /// One of these chains, or a copy of it that leads to another class.
    fn known(
        &self,
        about: About,
        known: &[Vec<Link>],
        lags: &[Lag],
    ) -> Result<Option<Vec<Link>>, String> {
        let (class, ring) = self.rule.begins(about).map_err(uncovered)?;
        let lapped = matches!(about, About::NotLapped(..));
        if let About::Handed(..) = about {
            return Ok(None);
        }
        for links in known {
            let mut links = links.clone();
            if lapped {
                let Some(last) = links.last_mut() else {
                    continue;
                };
                let mut arrivals = self.rule.rings[last.ring].arrivals_of(class);
                if arrivals.next().is_none() {
                    continue;
                }
                last.class = class;
                if links[0].ring != ring {
                    continue;
                }
            }
            // A chain whose links cannot be followed is skipped.
            if self.may_end(about, &links)
                && let Ok(claims) = self.rule.chain(about, (&links, false), lags)
                && self.all_shown(&claims).is_ok()
            {
                return Ok(Some(links));
            }
            self.stop()?;
        }
        Ok(None)
    }

    /// Whether the member at the end of a chain can know what the chain is about.
    fn may_end(&self, about: About, links: &[Link]) -> bool {
        let rule = &self.rule;
        let last = links.last().map_or(begin(about), |link| link.class);
        self.ends_at(about, rule.member(last))
    }

    /// Whether a class can know what a chain is about.
    fn ends_at(&self, about: About, end: usize) -> bool {
        let rule = &self.rule;
        let Ok((class, ring)) = rule.begins(about) else {
            return false;
        };
        let in_team = |ring: usize, one: usize, other: usize| {
            let team = rule.rings[ring].team(one, false);
            team.is_some_and(|(squad, _)| squad.classes.contains(&other))
        };
        match about {
            About::NotLapped(..) => end == class || in_team(ring, end, class),
            About::Apart(..) => end == class,
            About::Handed(_, _, ring) => in_team(ring, end, class),
            About::Initialised(..) => {
                let inits = &rule.rings[ring].inits;
                inits.first().is_some_and(|(by, _)| *by == end)
            }
            _ => rule.rings[ring].waits_of(end).next().is_some(),
        }
    }

    /// A chain that proves the condition: one of the shortest, or one that has proved another condition. If there is
    /// none, a chain is tried that shows that an arrival has been made.
    pub(super) fn links(
        &self,
        about: About,
        known: &[Vec<Link>],
        lags: &[Lag],
    ) -> Result<(Vec<Link>, bool), String> {
        let first = match self.links_to(about, known, lags, None) {
            Ok(links) => return Ok((links, false)),
            Err(reason) => reason,
        };
        let (_, ring) = self.rule.begins(about).map_err(uncovered)?;
        let there = &self.rule.rings[ring];
        let by = there.arriving().first().copied();
        match by.filter(|by| self.rule.at_once(there, *by)) {
            Some(by) if matches!(about, About::NotBehind(..) | About::InTurn(..)) => {
                let links = self.links_to(about, &[], lags, Some(by));
                links.map(|links| (links, true)).map_err(|_| first)
            }
            _ => Err(first),
        }
    }

    /// The same for one kind of chain. `made` is the class whose arrival has been made at the end.
    fn links_to(
        &self,
        about: About,
        known: &[Vec<Link>],
        lags: &[Lag],
        made: Option<usize>,
    ) -> Result<Vec<Link>, String> {
        let rule = &self.rule;
        let (_, ring) = rule.begins(about).map_err(uncovered)?;
        let first: Vec<Vec<Link>> = match about {
            About::NotLapped(..) | About::Handed(..) => {
                let first = |class: usize| vec![Link { ring, class }];
                rule.rings[ring].arriving().into_iter().map(first).collect()
            }
            _ => vec![Vec::new()],
        };
        let begin = begin(about);
        let distances = self.distances(about, made);
        // The results for links are stored, because longer chains need them again.
        let mut holds = BTreeMap::new();
        for length in 0..=MAX_LINKS {
            let mut chains = first.clone();
            for left in (0..length).rev() {
                let near = |class: usize| distances[class].is_some_and(|links| links <= left);
                chains = self.longer((about, begin), &chains, lags, &near, &mut holds)?;
            }
            for chain in &chains {
                let ends = match made {
                    Some(class) => chain.last() == Some(&Link { ring, class }),
                    None => self.may_end(about, chain),
                };
                if ends {
                    let links = (&chain[..], made.is_some());
                    let claims = rule.chain(about, links, lags).map_err(uncovered)?;
                    if self.all_shown(&claims).is_ok() {
                        return Ok(chain.clone());
                    }
                }
                self.stop()?;
            }
            if length == 0
                && let Some(links) = self.known(about, known, lags)?
            {
                return Ok(links);
            }
        }
        let (class, site) = about.place();
        let words = rule.words(class, site);
        let what = match about {
            About::NotBehind(..) => "comes after the previous generation has completed",
            About::InTurn(..) => "comes after the generation before its own has completed",
            About::NotLapped(..) => "is never lapped",
            About::Initialised(..) => "comes after its mbarrier has been initialised",
            About::Apart(..) => "is complete before any member arrives there with another count",
            About::Handed(..) => "comes after all earlier turns",
        };
        Err(format!("it could not be shown that {words} {what}"))
    }

    /// For each class, the least number of links to a class at which a chain may end, if it is small enough.
    fn distances(&self, about: About, made: Option<usize>) -> Vec<Option<usize>> {
        let rule = &self.rule;
        let ends = |class: usize| match made {
            Some(made) => class == made,
            None => self.ends_at(about, class),
        };
        let mut found: Vec<Option<usize>> = (0..rule.classes.len())
            .map(|class| ends(class).then_some(0))
            .collect();
        for links in 0..MAX_LINKS {
            for class in 0..found.len() {
                let waited = |ring: &&Ring| ring.waits_of(class).next().is_some();
                let mut next = rule
                    .rings
                    .iter()
                    .filter(waited)
                    .flat_map(Ring::arriving)
                    .map(|class| rule.member(class));
                if found[class].is_none() && next.any(|class| found[class] == Some(links)) {
                    found[class] = Some(links + 1);
                }
            }
        }
        found
    }

    /// Chains with one more link, as far as it holds, to classes that are near enough.
    fn longer(
        &self,
        (about, class): (About, usize),
        chains: &[Vec<Link>],
        lags: &[Lag],
        near: &dyn Fn(usize) -> bool,
        holds: &mut BTreeMap<Vec<(usize, usize)>, bool>,
    ) -> Result<Vec<Vec<Link>>, String> {
        let rule = &self.rule;
        let mut all = Vec::new();
        for chain in chains {
            let end = rule.member(chain.last().map_or(class, |link| link.class));
            for (at, next) in rule.rings.iter().enumerate() {
                if next.waits_of(end).next().is_none() {
                    continue;
                }
                for class in next.arriving() {
                    let link = Link { ring: at, class };
                    if chain.contains(&link) || !near(rule.member(class)) {
                        continue;
                    }
                    self.stop()?;
                    let chain = [chain.clone(), vec![link]].concat();
                    let key = chain.iter().map(|link| (link.ring, link.class)).collect();
                    let held = match holds.get(&key) {
                        Some(held) => *held,
                        None => {
                            let claims = rule.linked(about, &chain, lags).map_err(uncovered)?;
                            let held = self.all_shown(&claims).is_ok();
                            holds.insert(key, held);
                            held
                        }
                    };
                    if held {
                        all.push(chain);
                    }
                }
            }
        }
        Ok(all)
    }
}

/// The class at which the links of a chain begin.
fn begin(about: About) -> usize {
    match about {
        About::Apart(_, _, _, by) => by,
        _ => about.place().0,
    }
}
