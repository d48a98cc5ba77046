//! Who else is around while a cut holds one member.
//!
//! These are the others of its own copy, members that belong to no copy, other copies of the same kind, and copies of other
//! kinds. If copies go in the order of their numbers, those before it and those after it are told apart.
//!
//! They are divided into groups of members at one place. Each group comes with the condition that it is empty. What has to
//! be shown of a group is shown unless that condition holds.

use super::Held;
use super::Others;
use super::Rule;
use crate::certificate::cut::algebra;
use crate::certificate::cut::artefact::Stop;
use crate::certificate::cut::state::Copy;
use crate::certificate::cut::state::FinishedCopies;
use crate::certificate::cut::state::Group;
use crate::certificate::cut::state::LaterCopy;
use crate::certificate::cut::state::OtherCopies;
use crate::certificate::cut::state::Setting;
use crate::certificate::cut::state::Tag;
use crate::certificate::exact;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::translate::Env;
use crate::protocol::Expr;

impl<'a> Rule<'a> {
    /// Everybody else while a member is held: a group for each class, at its stops.
    pub fn others(
        &self,
        setting: &mut Setting<'a>,
        stops: &[Vec<Stop>],
        from: Held<'_>,
    ) -> Result<Others<'a>, Unsupported> {
        let (mut groups, mut crews) = (Vec::new(), Vec::new());
        for (position, stop) in stops.iter().enumerate() {
            let class = &self.classes[position];
            // Copies of other kinds have nobody in the copy of the member that is held.
            if class.copies.is_some() && !class.is_kind_of(&self.classes[from.class]) {
                continue;
            }
            // Ordered copies have finished while a member of no copy is held.
            if self.is_copied(position) && !self.is_copied(from.class) {
                continue;
            }
            let size = if position == from.class {
                algebra::sub(class.size.clone(), Expr::Int(1))
            } else {
                class.size.clone()
            };
            if size == Expr::Int(0) {
                continue;
            }
            let spots = self.stops(setting, position, stop, from)?;
            let count = setting.terms.expr(&size, &Env::new())?;
            crews.push((position, term::le(&count, &term::int(0))));
            groups.push(Group::new(class, size, spots, self.marked(position)));
        }
        Ok((groups, crews))
    }

    /// The same in the copies other than that of the member that is held.
    pub fn elsewhere(
        &self,
        setting: &mut Setting<'a>,
        stops: &[Vec<Stop>],
        from: Held<'_>,
    ) -> Result<Others<'a>, Unsupported> {
        let (mut groups, mut crews) = (Vec::new(), Vec::new());
        for (position, stop) in stops.iter().enumerate() {
            let class = &self.classes[position];
            let Some(copies) = &class.copies else {
                continue;
            };
            let count = if class.is_kind_of(&self.classes[from.class]) {
                algebra::sub(copies.clone(), Expr::Int(1))
            } else {
                copies.clone()
            };
            if count == Expr::Int(0) {
                continue;
            }
            let spots = self.stops(setting, position, stop, from)?;
            let members = setting.terms.expr(&class.size, &Env::new())?;
            let copies = setting.terms.expr(&count, &Env::new())?;
            let zero = term::int(0);
            let nobody = term::or([term::le(&members, &zero), term::le(&copies, &zero)]);
            crews.push((position, nobody));
            groups.push(Group::new(
                class,
                class.size.clone(),
                spots,
                Some(Copy {
                    tag: Tag::Unmarked,
                    count,
                }),
            ));
        }
        Ok((groups, crews))
    }

    /// The copies after that of the held member, if copies go in order: the groups of the second
    /// symbolic copy. Notes what the copies do that are not looked at.
    pub(super) fn later_copies(
        &self,
        setting: &mut Setting<'a>,
        stops: &[Vec<Stop>],
        from: Held<'_>,
    ) -> Result<Vec<(usize, Group<'a>)>, Unsupported> {
        let mut groups = Vec::new();
        let Some(ordered) = self.ordered else {
            return Ok(groups);
        };
        if !self.is_copied(from.class) {
            setting.other_copies = Some(OtherCopies {
                finished: FinishedCopies::All,
                later: Vec::new(),
            });
            return Ok(groups);
        }
        let mut later = Vec::new();
        let own = self.classes.len();
        let shadows = (own..).step_by(own.max(1));
        for (nth, shadows) in (1..ordered.numbers.len()).zip(shadows) {
            let mut all = Vec::new();
            for (position, stop) in stops.iter().enumerate() {
                if !self.is_copied(position) {
                    continue;
                }
                let shadow = exact::together(shadows, position);
                let spots = self.stops(setting, shadow, stop, from)?;
                let class = self.class(shadow);
                if nth == 1 {
                    let group = Group::new(class, class.size.clone(), spots.clone(), None);
                    groups.push((shadow, group));
                }
                all.push((shadow, spots));
            }
            later.push(LaterCopy {
                number: self.is_number(setting, nth)?,
                spots: all,
            });
        }
        setting.other_copies = Some(OtherCopies {
            finished: FinishedCopies::Before,
            later,
        });
        Ok(groups)
    }

    /// The copy of the member that is held, for a class of its kind.
    pub fn marked(&self, class: usize) -> Option<Copy> {
        let copies = self.classes[class].copies.as_ref();
        copies.map(|_| Copy {
            tag: Tag::Marked,
            count: Expr::Int(1),
        })
    }

    /// All copies of a kind, for a class of theirs.
    pub(super) fn all_copies(&self, class: usize) -> Option<Copy> {
        let count = self.classes[class].copies.clone();
        count.map(|count| Copy {
            tag: Tag::Unmarked,
            count,
        })
    }
}
