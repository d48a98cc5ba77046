//! Which CTAs are resident.

use serde::Deserialize;
use serde::Serialize;

use super::Frame;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::translate::Env;
use crate::protocol::Launch;
use crate::protocol::Resident;

/// Why a CTA that has not started yet does no harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Residency {
    /// Every wait is for CTAs that start earlier.
    LaunchOrder,
    /// The machine holds the whole grid.
    WholeGrid,
}

impl Frame<'_> {
    /// How the grid is launched.
    pub(in crate::certificate) fn launch(&self) -> Result<&Launch, Unsupported> {
        let not_a_grid = || Unsupported::at(self.role.span, "a role that is not a grid");
        self.role.launch.as_ref().ok_or_else(not_a_grid)
    }

    /// The obligation that at least one CTA may be resident.
    pub(in crate::certificate) fn some_resident(&mut self) -> Result<(), Unsupported> {
        let Resident::AtMost(limit) = self.launch()?.resident.clone() else {
            return Ok(());
        };
        let mut setting = self.setting()?;
        let limit = setting.terms.expr(&limit, &Env::new())?;
        let goal = term::le(&term::int(1), &limit);
        let meaning = "at least one CTA is resident".to_owned();
        self.conclude("some_resident".to_owned(), meaning, setting, goal)
    }

    /// The obligation that the machine holds the whole grid.
    pub(in crate::certificate) fn whole_grid(&mut self) -> Result<(), Unsupported> {
        let Resident::AtMost(limit) = self.launch()?.resident.clone() else {
            return Ok(());
        };
        let mut setting = self.setting()?;
        let limit = setting.terms.expr(&limit, &Env::new())?;
        let mut size = Vec::new();
        for index in &self.role.indices {
            let extent = setting.terms.expr(&index.extent, &Env::new())?;
            setting.facts.push(term::lt(&term::int(0), &extent));
            size.push(extent);
        }
        let size = if size.len() == 1 {
            size.remove(0)
        } else {
            term::apply("*", &size)
        };
        let goal = term::le(&size, &limit);
        let meaning = "the machine holds the whole grid".to_owned();
        self.conclude("whole_grid_resident".to_owned(), meaning, setting, goal)
    }
}
