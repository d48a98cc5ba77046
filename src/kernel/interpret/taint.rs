//! Taint: the origins of unknown values.

use rustc_hash::FxHashMap;

use super::event::Place;
use super::value::Lanes;

/// The most origins of a set. Further ones are dropped, so a set of this size may not be complete.
pub const MAX_ORIGINS: usize = 8;

/// A set of origins, given by its number. Number 0 is the empty set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Origins(pub u32);

impl Origins {
    pub const NONE: Self = Self(0);

    pub fn is_none(self) -> bool {
        self == Self::NONE
    }
}

/// The lanes in which the value of a register is unknown, and the operations that this value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Taint {
    pub lanes: Lanes,
    pub origins: Origins,
}

impl Taint {
    pub fn new(lanes: Lanes, origins: Origins) -> Self {
        if lanes == 0 || origins.is_none() {
            Self::default()
        } else {
            Self { lanes, origins }
        }
    }

    /// The origins that concern these lanes.
    pub fn within(self, lanes: Lanes) -> Origins {
        if self.lanes & lanes == 0 {
            Origins::NONE
        } else {
            self.origins
        }
    }
}

/// All sets that occurred. Equal sets have the same number.
#[derive(Debug, Clone)]
pub struct Sets {
    sets: Vec<Box<[Place]>>,
    numbers: FxHashMap<Box<[Place]>, Origins>,
    unions: FxHashMap<(Origins, Origins), Origins>,
}

impl Default for Sets {
    fn default() -> Self {
        let empty: Box<[Place]> = Box::new([]);
        Self {
            sets: vec![empty.clone()],
            numbers: std::iter::once((empty, Origins::NONE)).collect(),
            unions: FxHashMap::default(),
        }
    }
}

impl Sets {
    pub fn get(&self, origins: Origins) -> &[Place] {
        self.sets.get(origins.0 as usize).map_or(&[], |set| set)
    }

    pub fn single(&mut self, place: Place) -> Origins {
        self.intern(vec![place])
    }

    pub fn union(&mut self, a: Origins, b: Origins) -> Origins {
        if a == b || b.is_none() {
            return a;
        }
        if a.is_none() {
            return b;
        }
        let key = (a.min_by_number(b), a.max_by_number(b));
        if let Some(known) = self.unions.get(&key) {
            return *known;
        }
        let mut both: Vec<Place> = [self.get(a), self.get(b)].concat();
        both.sort_unstable();
        both.dedup();
        both.truncate(MAX_ORIGINS);
        let union = self.intern(both);
        self.unions.insert(key, union);
        union
    }

    pub fn join(&mut self, a: Taint, b: Taint) -> Taint {
        if a.origins == b.origins || b.lanes == 0 {
            return Taint::new(a.lanes | b.lanes, a.origins);
        }
        if a.lanes == 0 {
            return b;
        }
        Taint::new(a.lanes | b.lanes, self.union(a.origins, b.origins))
    }

    fn intern(&mut self, set: Vec<Place>) -> Origins {
        let set = set.into_boxed_slice();
        if let Some(known) = self.numbers.get(&set) {
            return *known;
        }
        let number = Origins(u32::try_from(self.sets.len()).unwrap_or(u32::MAX));
        self.sets.push(set.clone());
        self.numbers.insert(set, number);
        number
    }
}

impl Origins {
    fn min_by_number(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }

    fn max_by_number(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }
}
