//! Looks for chains, from short to long. What has shown one thing is tried first for the next one.

use super::Search;
use super::uncovered;
use crate::certificate::order::artefact::About;
use crate::certificate::order::artefact::Chain;
use crate::certificate::order::artefact::Lag;
use crate::certificate::order::artefact::Link;

/// The longest chain that is tried.
const MAX_LINKS: usize = 4;

impl Search<'_> {
    /// Chains that show everything that needs one, but for those without links.
    pub(super) fn chains(&self, lags: &[Lag]) -> Result<Vec<Chain>, String> {
        let mut all: Vec<Chain> = Vec::new();
        let mut known: Vec<Vec<Link>> = Vec::new();
        for about in self.rule.ordered() {
            let links = self.links(about, &known, lags)?;
            if links.is_empty() {
                continue;
            }
            if !known.contains(&links) {
                known.push(links.clone());
                known.sort_by_key(Vec::len);
            }
            all.push(Chain { about, links });
        }
        Ok(all)
    }

    /// One of these chains, or the same one to another class.
    fn known(
        &self,
        about: About,
        known: &[Vec<Link>],
        lags: &[Lag],
    ) -> Result<Option<Vec<Link>>, String> {
        let (class, lane) = self.rule.begins(about).map_err(uncovered)?;
        let lapped = matches!(about, About::NotLapped(..));
        for links in known {
            let mut links = links.clone();
            if lapped {
                let Some(last) = links.last_mut() else {
                    continue;
                };
                let mut arrivals = self.rule.lanes[last.lane].arrivals_of(class);
                if arrivals.next().is_none() {
                    continue;
                }
                last.class = class;
                if links[0].lane != lane {
                    continue;
                }
            }
            // Where it cannot be gone along, it is none.
            if self.may_end(about, &links)
                && let Ok(claims) = self.rule.chain(about, &links, lags)
                && self.all_shown(&claims).is_ok()
            {
                return Ok(Some(links));
            }
            self.stop()?;
        }
        Ok(None)
    }

    /// Whether what a chain is about can be known by the member at its end.
    fn may_end(&self, about: About, links: &[Link]) -> bool {
        let rule = &self.rule;
        let Ok((class, lane)) = rule.begins(about) else {
            return false;
        };
        let end = rule.member(links.last().map_or(class, |link| link.class));
        match about {
            About::NotLapped(..) => end == class,
            _ => rule.lanes[lane].waits_of(end).next().is_some(),
        }
    }

    /// A chain that shows what has to be shown: one of the shortest, or one that has shown something else.
    fn links(&self, about: About, known: &[Vec<Link>], lags: &[Lag]) -> Result<Vec<Link>, String> {
        let rule = &self.rule;
        let (class, lane) = rule.begins(about).map_err(uncovered)?;
        let mut chains: Vec<Vec<Link>> = match about {
            About::NotLapped(..) => {
                let first = |class: usize| vec![Link { lane, class }];
                rule.lanes[lane].arriving().into_iter().map(first).collect()
            }
            _ => vec![Vec::new()],
        };
        for longer in 0..=MAX_LINKS {
            for chain in &chains {
                if self.may_end(about, chain) {
                    let claims = rule.chain(about, chain, lags).map_err(uncovered)?;
                    if self.all_shown(&claims).is_ok() {
                        return Ok(chain.clone());
                    }
                }
                self.stop()?;
            }
            if longer == 0
                && let Some(links) = self.known(about, known, lags)?
            {
                return Ok(links);
            }
            if longer < MAX_LINKS {
                chains = self.longer(about, class, &chains, lags)?;
            }
        }
        let (class, site) = about.place();
        let words = rule.words(class, site);
        let what = match about {
            About::NotBehind(..) => "comes after the generation before has completed",
            About::InTurn(..) => "comes after the generation before its own has completed",
            About::NotLapped(..) => "is never lapped",
        };
        Err(format!("it could not be shown that {words} {what}"))
    }

    /// Chains with one link more, as far as it holds.
    fn longer(
        &self,
        about: About,
        class: usize,
        chains: &[Vec<Link>],
        lags: &[Lag],
    ) -> Result<Vec<Vec<Link>>, String> {
        let rule = &self.rule;
        let mut all = Vec::new();
        for chain in chains {
            let end = rule.member(chain.last().map_or(class, |link| link.class));
            for (at, next) in rule.lanes.iter().enumerate() {
                if next.waits_of(end).next().is_none() {
                    continue;
                }
                for class in next.arriving() {
                    let link = Link { lane: at, class };
                    if chain.contains(&link) {
                        continue;
                    }
                    self.stop()?;
                    let chain = [chain.clone(), vec![link]].concat();
                    let claims = rule.linked(about, &chain, lags).map_err(uncovered)?;
                    if self.all_shown(&claims).is_ok() {
                        all.push(chain);
                    }
                }
            }
        }
        Ok(all)
    }
}
