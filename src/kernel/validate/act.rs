//! Acts: the actions of a warp, in a form in which traces and protocols can be compared.

use std::fmt;

use crate::interpret::Access;
use crate::interpret::Region;
use crate::ir::Location;

/// An mbarrier: the rank of its CTA in the cluster, and its place in the shared window of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    pub rank: u32,
    pub address: i128,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    Init(Target, i128),
    Wait(Target, i128),
    Arrive(Target, i128),
    ArriveExpect(Target, i128),
    Expect(Target, i128),
    Complete(Target, i128),
    /// Bytes are `None` where only the tensor map knows them.
    Copy(Target, Option<i128>),
    /// So many arrivals, when work that was started before is done.
    Commit(Target, i128),
    /// A word of global memory by its address, the value, and whether more will do.
    CounterWait(u64, i128, bool),
    CounterAdd(u64, i128),
    CounterSet(u64, i128),
    Sync {
        barrier: i128,
        threads: i128,
    },
    BarrierArrive {
        barrier: i128,
        threads: i128,
    },
    ClusterArrive,
    ClusterWait,
    SetMaxRegisters {
        count: i128,
        increase: bool,
    },
    /// Bytes of shared memory are touched.
    Access(Access, Region),
    /// Where accesses are followed: what was started becomes a group, and groups are waited for.
    CommitGroup,
    WaitGroup {
        pending: i128,
        read_only: bool,
    },
}

/// Something done, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Act {
    pub kind: Kind,
    pub location: Location,
}

/// Reads, and writes, directly after one another as one of each: nobody else can tell their order.
pub fn joined(acts: Vec<Act>) -> Vec<Act> {
    let mut all: Vec<Act> = Vec::new();
    let mut run: Vec<(Access, Region, Location)> = Vec::new();
    let end = |run: &mut Vec<(Access, Region, Location)>, all: &mut Vec<Act>| {
        for kind in [Access::Read, Access::Write] {
            let of_kind = run.iter().filter(|(access, ..)| *access == kind);
            let Some((.., location)) = of_kind.clone().next() else {
                continue;
            };
            let ranges = of_kind.flat_map(|(_, region, _)| region.ranges.iter().copied());
            all.push(Act {
                kind: Kind::Access(kind, Region::new(ranges.collect())),
                location: location.clone(),
            });
        }
        run.clear();
    };
    for act in acts {
        match act.kind {
            Kind::Access(access @ (Access::Read | Access::Write), region) => {
                run.push((access, region, act.location));
            }
            _ => {
                end(&mut run, &mut all);
                all.push(act);
            }
        }
    }
    end(&mut run, &mut all);
    all
}

/// Arrivals directly after one another at one mbarrier as one. The interpreter has one for all lanes in which a guard holds, and a
/// role one for each condition: lanes that arrive in one instruction do so one by one.
pub fn gathered(acts: &[Act]) -> Vec<Act> {
    let mut all: Vec<Act> = Vec::new();
    for act in acts {
        let taken = all
            .last_mut()
            .is_some_and(|last| last.kind.takes(&act.kind));
        if !taken {
            all.push(act.clone());
        }
    }
    all
}

impl Kind {
    /// Adds arrivals that come directly behind these, if they are at the same mbarrier.
    fn takes(&mut self, other: &Self) -> bool {
        let (Self::Arrive(at, count), Self::Arrive(to, more)) = (self, other) else {
            return false;
        };
        let sum = count.checked_add(*more).filter(|_| at == to);
        *count = sum.unwrap_or(*count);
        sum.is_some()
    }

    /// Whether they are the same as far as both are known.
    pub fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Copy(a, x), Self::Copy(b, y)) => {
                a == b && (x == y || x.is_none() || y.is_none())
            }
            // How much a tensor copy writes or reads is not seen.
            (Self::Access(Access::Mapped, begin), Self::Access(access, all)) => {
                let is_copy = matches!(access, Access::Arrive | Access::ReadLater);
                match (begin.ranges.as_slice(), all.ranges.as_slice()) {
                    ([(a, from, _)], [(b, at, _)]) => is_copy && (a, from) == (b, at),
                    _ => false,
                }
            }
            // No word is below 0.
            (Self::CounterWait(a, x, true), Self::CounterWait(b, y, true)) => {
                a == b && *x.max(&0) == *y.max(&0)
            }
            _ => self == other,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "[CTA {}, {:#x}]", self.rank, self.address)
    }
}

impl fmt::Display for Act {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Init(at, count) => write!(formatter, "init {at} with {count}"),
            Kind::Wait(at, parity) => write!(formatter, "wait {at} for parity {parity}"),
            Kind::Arrive(at, count) => write!(formatter, "arrive {at} by {count}"),
            Kind::ArriveExpect(at, bytes) => {
                write!(formatter, "arrive {at} and expect {bytes} bytes")
            }
            Kind::Expect(at, bytes) => write!(formatter, "expect {bytes} bytes at {at}"),
            Kind::Complete(at, bytes) => write!(formatter, "complete {bytes} bytes at {at}"),
            Kind::Copy(at, Some(bytes)) => write!(formatter, "copy {bytes} bytes to {at}"),
            Kind::Copy(at, None) => write!(formatter, "copy to {at}"),
            Kind::Commit(at, count) => write!(formatter, "commit {count} to {at}"),
            Kind::CounterWait(at, value, at_least) => {
                let more = if *at_least { "at least " } else { "" };
                write!(formatter, "wait until [{at:#x}] is {more}{value}")
            }
            Kind::CounterAdd(at, value) => write!(formatter, "add {value} to [{at:#x}]"),
            Kind::CounterSet(at, value) => write!(formatter, "set [{at:#x}] to {value}"),
            Kind::Sync { barrier, threads } => {
                write!(formatter, "sync at barrier {barrier} of {threads} threads")
            }
            Kind::BarrierArrive { barrier, threads } => {
                write!(
                    formatter,
                    "arrive at barrier {barrier} of {threads} threads"
                )
            }
            Kind::ClusterArrive => formatter.write_str("arrive at the cluster barrier"),
            Kind::ClusterWait => formatter.write_str("wait at the cluster barrier"),
            Kind::SetMaxRegisters { count, increase } => {
                let change = if *increase { "increase" } else { "decrease" };
                write!(formatter, "{change} registers to {count}")
            }
            Kind::CommitGroup => formatter.write_str("commit a group"),
            Kind::WaitGroup { pending, read_only } => {
                let read = if *read_only { " for reading" } else { "" };
                write!(formatter, "wait for all but {pending} groups{read}")
            }
            Kind::Access(access, region) => {
                access.fmt(formatter)?;
                for (cta, from, to) in &region.ranges {
                    write!(formatter, " [CTA {cta}, {from:#x}..{to:#x}]")?;
                }
                Ok(())
            }
        }?;
        match self.location.line {
            0 => Ok(()),
            line => write!(formatter, " (line {line})"),
        }
    }
}
