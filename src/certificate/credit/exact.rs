//! Waits for `== v`: the certificate has to name all operations that ever add to the element of such a wait.

use super::Place;
use super::Rule;
use super::Supply;
use super::Waiting;
use super::names;
use crate::certificate::grid::Setting;
use crate::certificate::program::Event;
use crate::certificate::program::EventKind;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::protocol::Comparison;

/// Whether an operation is a wait for one value.
pub fn exact(event: &Event) -> bool {
    matches!(
        event.kind,
        EventKind::Wait {
            comparison: Comparison::Equal,
            ..
        }
    )
}

impl Rule<'_> {
    /// Obligations that every addition to the element of a wait is among those that the supplies name.
    pub(super) fn all_named(
        &self,
        setting: &mut Setting<'_>,
        supplies: &[Supply],
        (wait, waiting): (&Event, &Waiting),
        tag: &str,
    ) -> Result<Vec<Term>, Unsupported> {
        let mut goals = Vec::new();
        for (role, frame) in self.frames.iter().enumerate() {
            for (at, add) in frame.program.events.iter().enumerate() {
                let adds = matches!(add.kind, EventKind::Add { .. });
                if !adds || add.cell.object != wait.cell.object {
                    continue;
                }
                // An arbitrary execution. It is not a fact that one exists. It is a hypothesis of the goal.
                let number = names(&self.indices(role), add)?.len();
                let value = |nth| setting.terms.constant(&format!("{tag}_{role}_{at}_{nth}"));
                let values: Vec<Term> = (0..number).map(value).collect();
                let Some((env, happens)) = frame.executed(setting, add, &values)? else {
                    return Err(Unsupported::whole("values for other names than there are"));
                };
                let mut here = vec![happens];
                for (index, wanted) in add.cell.index.iter().zip(&waiting.element) {
                    here.push(term::eq(&setting.terms.expr(index, &env)?, wanted));
                }
                let mut either = vec![term::not(term::and(here))];
                for supply in supplies {
                    if (supply.role, supply.event) != (role, at) || supply.at.len() != number {
                        continue;
                    }
                    let mut named = Vec::new();
                    for (place, value) in supply.at.iter().zip(&values) {
                        named.push(match place {
                            Place::At(one) => term::eq(value, &self.affine(setting, one, waiting)?),
                            Place::From(from, to) => {
                                let from = self.affine(setting, from, waiting)?;
                                let to = self.affine(setting, to, waiting)?;
                                term::within(&from, value, &to)
                            }
                        });
                    }
                    either.push(term::and(named));
                }
                goals.push(term::or(either));
            }
        }
        Ok(goals)
    }
}
