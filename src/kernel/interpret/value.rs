//! The values of a register in the lanes of a warp.

/// The lanes of a warp.
pub const LANES: usize = 32;

/// A set of lanes, one bit each.
pub type Lanes = u32;

/// The numbers of the lanes in a set, the lowest first.
pub fn lanes_of(lanes: Lanes) -> impl Iterator<Item = usize> {
    let mut left = lanes;
    std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let lane = left.trailing_zeros();
        left &= left - 1;
        Some(lane as usize)
    })
}

/// The value of a register in a warp. A number that all lanes, or all lanes of a set, have in common is stored once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Uniform(u128),
    /// One number in the lanes of `lanes`, and another one in all other lanes.
    Split {
        lanes: Lanes,
        inside: u128,
        outside: u128,
    },
    Narrow(Box<[u64; LANES]>),
    Wide(Box<[u128; LANES]>),
}

impl Value {
    pub fn lane(&self, lane: usize) -> u128 {
        match self {
            Self::Uniform(value) => *value,
            Self::Split {
                lanes,
                inside,
                outside,
            } => {
                if lanes
                    .checked_shr(u32::try_from(lane).unwrap_or(32))
                    .unwrap_or(0)
                    & 1
                    == 1
                {
                    *inside
                } else {
                    *outside
                }
            }
            Self::Narrow(values) => values.get(lane).copied().unwrap_or(0).into(),
            Self::Wide(values) => values.get(lane).copied().unwrap_or(0),
        }
    }

    /// The common number of all lanes of `active`, if this can be seen quickly.
    pub fn uniform_in(&self, active: Lanes) -> Option<u128> {
        match self {
            Self::Uniform(value) => Some(*value),
            Self::Split {
                lanes,
                inside,
                outside,
            } => {
                if active & !lanes == 0 {
                    Some(*inside)
                } else if active & lanes == 0 {
                    Some(*outside)
                } else {
                    None
                }
            }
            Self::Narrow(_) | Self::Wide(_) => {
                (active.count_ones() == 1).then(|| self.lane(active.trailing_zeros() as usize))
            }
        }
    }

    /// The lanes' numbers, if all fit 64 bits.
    pub fn narrow(&self) -> Option<[u64; LANES]> {
        match self {
            Self::Uniform(value) => Some([u64::try_from(*value).ok()?; LANES]),
            Self::Split { .. } => {
                let mut all = [0; LANES];
                for (lane, value) in all.iter_mut().enumerate() {
                    *value = u64::try_from(self.lane(lane)).ok()?;
                }
                Some(all)
            }
            Self::Narrow(values) => Some(**values),
            Self::Wide(_) => None,
        }
    }

    pub fn from_narrow(values: [u64; LANES]) -> Self {
        if values.iter().all(|value| *value == values[0]) {
            Self::Uniform(values[0].into())
        } else {
            Self::Narrow(Box::new(values))
        }
    }

    pub fn from_wide(values: [u128; LANES]) -> Self {
        if values.iter().all(|value| *value == values[0]) {
            return Self::Uniform(values[0]);
        }
        let mut narrow = [0_u64; LANES];
        for (narrow, value) in narrow.iter_mut().zip(values) {
            let Ok(value) = u64::try_from(value) else {
                return Self::Wide(Box::new(values));
            };
            *narrow = value;
        }
        Self::Narrow(Box::new(narrow))
    }

    /// The number of each lane.
    pub fn collect(mut each: impl FnMut(usize) -> u128) -> Self {
        Self::from_wide(std::array::from_fn(&mut each))
    }

    /// Writes `new` to the lanes of `written`. `live` are the lanes whose numbers still matter.
    pub fn write(&mut self, new: Self, written: Lanes, live: Lanes) {
        if written & live == live {
            *self = new;
            return;
        }
        if written == 0 {
            return;
        }
        if let Some(number) = new.uniform_in(written) {
            match self {
                Self::Uniform(old) => {
                    *self = Self::Split {
                        lanes: written,
                        inside: number,
                        outside: *old,
                    };
                    return;
                }
                Self::Split { lanes, inside, .. } if *lanes == written => {
                    *inside = number;
                    return;
                }
                Self::Narrow(values) => {
                    if let Ok(number) = u64::try_from(number) {
                        for lane in lanes_of(written) {
                            values[lane] = number;
                        }
                        return;
                    }
                }
                Self::Split { .. } | Self::Wide(_) => {}
            }
        }
        let old = std::mem::replace(self, Self::Uniform(0));
        *self = Self::collect(|lane| {
            if written >> lane & 1 == 1 {
                new.lane(lane)
            } else {
                old.lane(lane)
            }
        });
    }
}
