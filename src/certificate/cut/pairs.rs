//! Two accesses to one element, by one member or by two.
//!
//! Where a protocol consists of copies, two members may belong to one copy or to different ones. That is
//! told apart here: the numbers of their copies are equal or not, and with the member of one access held,
//! the other one stops where members of its copy do or where those of other copies do. A member of no
//! copy is beside all of them.

use super::artefact::Exposure;
use super::artefact::Stop;
use super::races::Access;
use super::rule::Rule;
use super::state::Setting;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;
use crate::protocol::Expr;

/// Which two members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Related {
    /// Both of one copy, where there are copies, or of one protocol that has none.
    Together,
    /// One or both of no copy, in a protocol that has copies.
    Beside,
    /// Of two copies.
    OfTwoCopies,
}

impl Related {
    /// How the other member's class is called.
    pub(super) fn whose(self, name: &str) -> String {
        match self {
            Related::OfTwoCopies => format!("{name} in another copy"),
            Related::Together | Related::Beside => name.to_owned(),
        }
    }

    /// How names of obligations end.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Related::OfTwoCopies => "_elsewhere",
            Related::Together | Related::Beside => "",
        }
    }
}

/// Whose access the other one is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Whose {
    /// The same member's.
    Itself,
    /// That of another member.
    Another(Related),
}

impl<'a> Rule<'a> {
    /// In which ways the members of two accesses may be related, if they are two.
    pub(super) fn related(&self, a: &Access, b: &Access) -> Vec<Related> {
        let (one, other) = (&self.classes[a.class], &self.classes[b.class]);
        let single = a.class == b.class && one.free.is_empty();
        let mut all = Vec::new();
        match (&one.number, &other.number) {
            (Some((x, _)), Some((y, _))) => {
                if one.kind == other.kind && !single {
                    all.push(Related::Together);
                }
                // Elements that have the copy's number as an index are different ones.
                let own = |(i, j): (&Expr, &Expr)| *i == Expr::Var(*x) && *j == Expr::Var(*y);
                let mut pairs = self.index_of(a).iter().zip(self.index_of(b));
                if !pairs.any(own) {
                    all.push(Related::OfTwoCopies);
                }
            }
            _ if single => {}
            (None, None) => all.push(Related::Together),
            _ => all.push(Related::Beside),
        }
        all
    }

    /// Where a class stops that has members related like that to the one whose access lasts; `None`
    /// if nothing stops them.
    pub(super) fn stops_in(
        &self,
        exposure: &'a Exposure,
        class: usize,
        related: Related,
    ) -> Option<&'a [Stop]> {
        let copied = self.classes[class].number.is_some();
        let elsewhere = match related {
            Related::Together => false,
            Related::Beside => copied,
            Related::OfTwoCopies => true,
        };
        let all = if elsewhere {
            &exposure.elsewhere
        } else {
            &exposure.stops
        };
        all.get(class).map(|stops| &stops[..])
    }

    /// Two members at these accesses, to one element.
    pub(super) fn two_members(
        &self,
        a: &Access,
        b: &Access,
        related: Related,
    ) -> Result<(Setting<'a>, Env, Env), Unsupported> {
        let mut setting = self.setting_of(a.class)?;
        let exists = self.exists(&mut setting, b.class)?;
        setting.facts.push(exists);
        let left = self.member_at_point(&mut setting, a.class, a.point, "left")?;
        let mut right = self.member_at_point(&mut setting, b.class, b.point, "right")?;
        let (one, other) = (&self.classes[a.class], &self.classes[b.class]);
        if let (Some((x, _)), Some((y, _))) = (&one.number, &other.number) {
            let same = term::eq(&left[x], &right[y]);
            if related == Related::OfTwoCopies {
                setting.facts.push(term::not(same));
            } else {
                setting.facts.push(same);
                right.insert(*y, left[x].clone());
            }
        }
        if a.class == b.class && related != Related::OfTwoCopies {
            let free = one.free.iter();
            let same = free.map(|(var, _)| term::eq(&left[var], &right[var]));
            let same: Vec<Term> = same.collect();
            setting.facts.push(term::not(term::and(same)));
        }
        self.one_element(&mut setting, (a, &left), (b, &right))?;
        Ok((setting, left, right))
    }

    /// One member at these accesses, to one element, in two executions of statements.
    pub(super) fn one_member(
        &self,
        a: &Access,
        b: &Access,
    ) -> Result<(Setting<'a>, Env, Env), Unsupported> {
        let this = &self.classes[a.class];
        let flow = &this.flow;
        let mut setting = self.setting_of(a.class)?;
        let left = self.member_at_point(&mut setting, a.class, a.point, "left")?;
        let mut right = self.member_at_point(&mut setting, b.class, b.point, "right")?;
        // The same member.
        let number = this.number.iter().map(|(var, _)| var);
        for var in this.free.iter().map(|(var, _)| var).chain(number) {
            let same = term::eq(&left[var], &right[var]);
            setting.facts.push(same);
            right.insert(*var, left[var].clone());
        }
        let (x, y) = (&flow.points[a.point], &flow.points[b.point]);
        if x.first == y.first {
            // What one execution of a statement does is in order.
            let loops = x.path.loops.iter().map(|l| flow.loops[*l].var);
            let same: Vec<Term> = loops.map(|v| term::eq(&left[&v], &right[&v])).collect();
            setting.facts.push(term::not(term::and(same)));
        }
        self.one_element(&mut setting, (a, &left), (b, &right))?;
        Ok((setting, left, right))
    }

    /// Assumes that both are to one element.
    fn one_element(
        &self,
        setting: &mut Setting<'a>,
        (a, left): (&Access, &Env),
        (b, right): (&Access, &Env),
    ) -> Result<(), Unsupported> {
        let one = self.element_of(setting, a, left)?;
        let other = self.element_of(setting, b, right)?;
        for (x, y) in one.iter().zip(&other) {
            setting.facts.push(term::eq(x, y));
        }
        Ok(())
    }
}
