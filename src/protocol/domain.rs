//! Positions of values in a domain.
//!
//! The *position* of a value is its distance from the least value. In a listed set of values, it is the position in
//! the list.

use super::Domain;

impl Domain {
    /// The value at a position, from 0; `None` if the domain ends before.
    pub fn value(&self, position: i64) -> Option<i64> {
        let place = usize::try_from(position).ok()?;
        match self {
            Domain::AtLeast(lo) => lo.checked_add(position),
            Domain::Range(lo, hi) => lo.checked_add(position).filter(|value| value <= hi),
            Domain::Set(all) => all.get(place).copied(),
        }
    }

    /// The value at a position. If the domain ends before, its last value.
    pub fn value_up_to(&self, position: i64) -> Option<i64> {
        if position < 0 {
            return None;
        }
        match self {
            Domain::AtLeast(lo) => Some(lo.checked_add(position).unwrap_or(i64::MAX)),
            Domain::Range(lo, hi) => {
                Some(lo.checked_add(position).map_or(*hi, |value| value.min(*hi)))
            }
            Domain::Set(all) => {
                let place = usize::try_from(position).unwrap_or(usize::MAX);
                all.get(place).or(all.last()).copied()
            }
        }
    }

    /// The position of a value, if it is in the domain.
    pub fn position(&self, value: i64) -> Option<i64> {
        match self {
            Domain::AtLeast(lo) => value.checked_sub(*lo).filter(|at| *at >= 0),
            Domain::Range(lo, hi) if value <= *hi => value.checked_sub(*lo).filter(|at| *at >= 0),
            Domain::Range(..) => None,
            Domain::Set(all) => all.iter().position(|v| *v == value).map(|at| at as i64),
        }
    }
}
