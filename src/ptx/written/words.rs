//! Writes sums, conditions and places as expressions of the language.

use super::write::AXES;
use super::write::Writer;
use super::write::bracketed;
use crate::ptx::cta::family::Family;
use crate::ptx::cta::family::place;
use crate::ptx::syntax::variables::ADDRESS;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;
use std::fmt::Write as _;

impl Writer<'_, '_> {
    pub fn element(
        &mut self,
        address: &Sum,
        rank: u32,
        at: usize,
    ) -> Result<(Family, String), Obstacle> {
        let place = place(address, rank, &self.followed.unknowns, at)?;
        let (low, _) = self.followed.unknowns.1.range(&place.offset);
        let constant = place.offset.as_constant().unwrap_or(low);
        let family = self.families.iter().find(|f| {
            f.lies_at(&place) && {
                let first = f.elements.first().copied().unwrap_or(0);
                let inside = (constant - first).rem_euclid(f.stride) == 0 || f.elements.len() == 1;
                let last = f.elements.last().copied().unwrap_or(0);
                inside && first <= constant && constant <= last
            }
        });
        let Some(family) = family.cloned() else {
            return Err(Obstacle::new(
                at,
                "which mbarrier this address means is not followed",
            ));
        };
        let mut indices = match family.rank {
            Some(_) => Vec::new(),
            None => self.own(place.rank),
        };
        if family.elements.len() > 1 {
            let Some(index) = family.index(&place.offset) else {
                return Err(Obstacle::new(
                    at,
                    "this address does not lie at an mbarrier",
                ));
            };
            indices.push(self.sum(&index, at)?);
        }
        let text = bracketed(&family.name, &indices);
        Ok((family, text))
    }

    pub fn unknown(&self, unknown: Unknown, at: usize) -> Result<String, Obstacle> {
        if let Some(depth) = self.loops.iter().position(|l| *l == unknown) {
            const NAMES: [&str; 6] = ["i", "j", "k", "l", "m", "n"];
            return Ok(match NAMES.get(depth) {
                Some(name) => (*name).to_owned(),
                None => format!("i{depth}"),
            });
        }
        match self.followed.unknowns.meaning(unknown) {
            Some(Meaning::Parameter(index, offset)) => {
                let parameter = self.function.parameters.get(*index);
                let name = parameter.map_or("param", |p| p.name);
                let own = format!("{}_", self.function.name);
                let name = name.strip_prefix(own.as_str()).unwrap_or(name);
                let part = if *offset == 0 {
                    String::new()
                } else {
                    format!("_{offset}")
                };
                // Short names are those of loops.
                let plain = if name.contains('_') { "" } else { "p_" };
                Ok(format!("{plain}{}{part}", clean(name)))
            }
            Some(Meaning::Block(axis)) if self.launch.ranks() > 1 => {
                Ok(format!("clusterid_{}", AXES[*axis]))
            }
            Some(Meaning::Block(axis)) => Ok(format!("ctaid_{}", AXES[*axis])),
            Some(Meaning::Blocks(axis)) => Ok(format!("nctaid_{}", AXES[*axis])),
            Some(Meaning::Member) => Ok("w".to_owned()),
            Some(Meaning::Divided(parameter, added, by)) => {
                let name = self.unknown(*parameter, at)?;
                Ok(match *added {
                    0 => format!("{name}_over_{by}"),
                    added if added == by - 1 => format!("{name}_over_{by}_up"),
                    added => format!("{name}_and_{added}_over_{by}"),
                })
            }
            Some(Meaning::Rounds(parameter, _)) => {
                Ok(format!("{}_per_cta", self.unknown(*parameter, at)?))
            }
            Some(Meaning::Ratio(parameter, by)) => {
                let (own, by) = (self.unknown(*parameter, at)?, self.unknown(*by, at)?);
                Ok(format!("{own}_over_{by}"))
            }
            Some(Meaning::Granted) => Ok("granted".to_owned()),
            Some(
                Meaning::Read(..)
                | Meaning::Answer(..)
                | Meaning::Found(..)
                | Meaning::FetchedCount(_)
                | Meaning::Voted
                | Meaning::Met(..)
                | Meaning::Flipped(..)
                | Meaning::ParameterAddress(_)
                | Meaning::Environment(_),
            ) => Err(Obstacle::new(at, "it depends on memory that is read")),
            Some(Meaning::Iteration(_) | Meaning::Counted | Meaning::Carried(_)) => Err(
                Obstacle::new(at, "it depends on a loop in a way that is not followed"),
            ),
            Some(Meaning::Shared(_) | Meaning::Peer(_) | Meaning::Peers(_)) | None => Err(
                Obstacle::new(at, "it depends on where variables lie in shared memory"),
            ),
        }
    }

    pub fn name(&mut self, unknown: Unknown, at: usize) -> Result<String, Obstacle> {
        if !self.loops.contains(&unknown) {
            self.used.insert(unknown);
        }
        if let Some(Meaning::Parameter(index, _)) = self.followed.unknowns.meaning(unknown)
            && let Some(parameter) = self.function.parameters.get(*index)
            && parameter.kind == ADDRESS
        {
            let reason = format!("it depends on where `{}` lies in memory", parameter.name);
            return Err(Obstacle::new(at, reason));
        }
        self.unknown(unknown, at)
    }

    pub fn sum(&mut self, sum: &Sum, at: usize) -> Result<String, Obstacle> {
        let mut terms = Vec::new();
        let mut left = sum.clone();
        while let Some((dividend, divisor, mut factor, mut rest)) = left.remainder() {
            let mut dividend = (*dividend).clone();
            // What is not this one of two is the next one: proofs follow what goes on, not what is taken away.
            if divisor == 2 && factor < 0 && rest.constant >= -factor {
                rest.constant += factor;
                dividend = dividend.plus_constant(1);
                factor = -factor;
            }
            let dividend = self.sum(&dividend, at)?;
            terms.push((factor, format!("({dividend}) % {divisor}"), true));
            left = rest;
        }
        for (atom, factor) in &left.terms {
            let words = self.atom(atom, at)?;
            terms.push((
                *factor,
                words,
                !matches!(atom, Atom::Unknown(_) | Atom::Product(_)),
            ));
        }
        // A sum is better read when it begins with something added.
        terms.sort_by_key(|(factor, ..)| *factor < 0);
        let mut text = String::new();
        for (factor, words, loose) in &terms {
            let size = factor.abs();
            let words = match (size, loose) {
                (1, false) => words.clone(),
                (1, true) => format!("({words})"),
                (_, false) => format!("{size} * {words}"),
                (_, true) => format!("{size} * ({words})"),
            };
            match (text.is_empty(), *factor < 0) {
                (true, false) => text.push_str(&words),
                (true, true) => text = format!("0 - {words}"),
                (false, false) => {
                    let _ = write!(text, " + {words}");
                }
                (false, true) => {
                    let _ = write!(text, " - {words}");
                }
            }
        }
        let constant = left.constant;
        if text.is_empty() {
            return Ok(constant.to_string());
        }
        if constant > 0 {
            let _ = write!(text, " + {constant}");
        } else if constant < 0 {
            let _ = write!(text, " - {}", -constant);
        }
        Ok(text)
    }

    pub fn atom(&mut self, atom: &Atom, at: usize) -> Result<String, Obstacle> {
        if let Some((_, name)) = self.counted.iter().find(|(count, _)| count == atom) {
            return Ok(name.clone());
        }
        Ok(match atom {
            Atom::Unknown(unknown) => self.name(*unknown, at)?,
            Atom::Quotient(a, b) => format!("({}) / ({})", self.sum(a, at)?, self.sum(b, at)?),
            Atom::Product(parts) => {
                let mut words = Vec::new();
                for part in parts {
                    words.push(format!("({})", self.atom(part, at)?));
                }
                words.join(" * ")
            }
            Atom::Cell(..) => {
                return Err(Obstacle::new(at, "it depends on memory that is read"));
            }
            Atom::Count(c, own, upto) => self.count((c, *own, upto), at)?,
            Atom::Choice(c, a, b) => {
                let condition = self.condition(c, at)?;
                // What is read in one of two cases is read only there.
                let mut chosen = |case: Condition, sum: &Sum| {
                    self.conditions.push(case);
                    let words = self.sum(sum, at);
                    self.conditions.pop();
                    words
                };
                let (yes, no) = (chosen((**c).clone(), a)?, chosen(c.negated(), b)?);
                format!("if {condition} then {yes} else {no}")
            }
        })
    }

    pub fn condition(&mut self, condition: &Condition, at: usize) -> Result<String, Obstacle> {
        Ok(match condition {
            Condition::Constant(value) => value.to_string(),
            Condition::Zero(sum) if sum.reads_memory() && !sum.counts() => {
                format!("!{}", self.visited(sum, at)?)
            }
            Condition::Not(inner) if inner.reads_memory() && !inner.counts() => match &**inner {
                Condition::Zero(sum) => self.visited(sum, at)?,
                other => format!("!({})", self.condition(other, at)?),
            },
            Condition::Negative(sum) => {
                let (left, right) = sides(sum);
                let (left, right, relation) = if right.constant == 1 && left.constant == 0 {
                    (left, right.plus_constant(-1), "<=")
                } else {
                    (left, right, "<")
                };
                format!(
                    "{} {relation} {}",
                    self.sum(&left, at)?,
                    self.sum(&right, at)?
                )
            }
            Condition::Zero(sum) => {
                let (left, right) = sides(sum);
                format!("{} == {}", self.sum(&left, at)?, self.sum(&right, at)?)
            }
            Condition::Not(inner) => format!("!({})", self.condition(inner, at)?),
            Condition::And(a, b) => {
                format!(
                    "({}) && ({})",
                    self.condition(a, at)?,
                    self.condition(b, at)?
                )
            }
            Condition::Or(a, b) => {
                format!(
                    "({}) || ({})",
                    self.condition(a, at)?,
                    self.condition(b, at)?
                )
            }
            Condition::Passed(_) => {
                return Err(Obstacle::new(
                    at,
                    "it depends on a single test of an mbarrier",
                ));
            }
        })
    }
}

/// The terms that are added and those that are taken away, the latter turned around.
fn sides(sum: &Sum) -> (Sum, Sum) {
    let (mut left, mut right) = (Sum::of(0), Sum::of(0));
    // A remainder stays on one side.
    let mut rest = sum.clone();
    while let Some((_, _, factor, below)) = rest.remainder() {
        let whole = rest.minus(&below);
        if factor > 0 {
            left = left.plus(&whole);
        } else {
            right = right.minus(&whole);
        }
        rest = below;
    }
    for (atom, factor) in &rest.terms {
        let one = Sum::atom(atom.clone());
        if *factor > 0 {
            left = left.plus_times(&one, *factor);
        } else {
            right = right.plus_times(&one, -factor);
        }
    }
    if rest.constant > 0 {
        left = left.plus_constant(rest.constant);
    } else {
        right = right.plus_constant(-rest.constant);
    }
    (left, right)
}

pub(in crate::ptx) fn clean(name: &str) -> String {
    let text: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' {
                c
            } else {
                '_'
            }
        })
        .collect();
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        format!("_{text}")
    } else {
        text
    }
}
