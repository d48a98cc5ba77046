//! The state that the warps of a cluster share.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::address;
use super::address::Layout;
use super::barriers::Barrier;
use super::barriers::ClusterBarrier;
use super::barriers::Mbarrier;
use super::event::Object;
use super::event::Place;
use super::launch::Landing;
use super::launch::Launch;
use super::memory::MAX_PAGES;
use super::memory::Memory;
use super::program::Program;
use super::program::Region;
use super::taint::Origins;
use super::taint::Sets;
use super::trace::Awaited;
use super::trace::Outcome;
use super::trace::Stop;
use super::trace::StopReason;
use super::value::Lanes;
use crate::ir::BlockId;
use crate::ir::Location;
use crate::ir::Space;

/// Why the whole run ends at once.
pub enum Halt {
    Stop(Stop),
    End(Outcome),
}

pub struct World<'a> {
    pub program: &'a Program<'a>,
    pub launch: &'a Launch,
    pub layout: Layout,
    pub sets: Sets,
    pub ctas: u32,
    pub warps: u32,
    pub shared: Vec<Memory>,
    pub global: Memory,
    pub constant: Memory,
    pub mbarriers: FxHashMap<(u32, u32), Mbarrier>,
    pub barriers: Vec<Vec<Barrier>>,
    pub cluster: ClusterBarrier,
    /// The lanes of every warp that have not ended. The warps of a CTA are adjacent.
    pub alive: Vec<Lanes>,
    /// Bytes that copies complete later.
    pub landing: Vec<((u32, u32), i64, Place)>,
    /// A counter of changes to anything that spin loops poll.
    pub version: u64,
    pub steps: u64,
    pub events: usize,
    origins: Vec<Origins>,
    regions: FxHashMap<BlockId, Rc<Region>>,
}

impl<'a> World<'a> {
    pub fn new(program: &'a Program<'a>, launch: &'a Launch) -> Result<Self, Halt> {
        let layout = Layout::new(program.kernel, launch);
        let (threads, ctas) = launch.check(&layout).map_err(|reason| {
            Halt::Stop(Stop {
                reason: StopReason::Launch(reason),
                place: None,
                location: Location::default(),
            })
        })?;
        let warps = threads.div_ceil(32);
        let mut alive = Vec::new();
        for _ in 0..ctas {
            for warp in 0..warps {
                let count = (threads - 32 * warp).min(32);
                alive.push(if count == 32 {
                    u32::MAX
                } else {
                    (1 << count) - 1
                });
            }
        }
        let mut world = Self {
            program,
            launch,
            layout,
            sets: Sets::default(),
            ctas,
            warps,
            shared: Vec::new(),
            global: Memory::default(),
            constant: Memory::default(),
            mbarriers: FxHashMap::default(),
            barriers: vec![vec![Barrier::default(); 16]; ctas as usize],
            cluster: ClusterBarrier::new(alive.len()),
            alive,
            landing: Vec::new(),
            version: 0,
            steps: 0,
            events: 0,
            origins: Vec::new(),
            regions: FxHashMap::default(),
        };
        world.reset();
        Ok(world)
    }

    /// Resets memory to its initial contents.
    pub fn reset(&mut self) {
        self.shared = vec![Memory::default(); self.ctas as usize];
        self.global = Memory::default();
        self.constant = Memory::default();
        for (index, variable) in (0..).zip(&self.program.kernel.variables) {
            let Some((space, address)) = self.layout.address(crate::ir::VariableId(index)) else {
                continue;
            };
            if let Some(arrivals) = variable.arrivals {
                let ends = address + variable.size.unwrap_or(0);
                let places = (address..ends).step_by(8);
                for place in places.filter_map(|place| u32::try_from(place).ok()) {
                    for cta in 0..self.ctas {
                        self.mbarriers.insert((cta, place), Mbarrier::new(arrivals));
                    }
                }
            }
            let memory = match space {
                Space::Constant => &mut self.constant,
                Space::Global => &mut self.global,
                _ => continue,
            };
            memory.write(address, &variable.initial, Origins::NONE, &mut self.sets);
        }
        for (address, bytes) in &self.launch.memory {
            self.global
                .write(*address, bytes, Origins::NONE, &mut self.sets);
        }
    }

    pub fn simulates(&self) -> bool {
        self.launch.simulates()
    }

    /// The set that contains this one operation.
    pub fn origin(&mut self, place: Place) -> Origins {
        let number = self.program.number(place);
        if number >= self.origins.len() {
            self.origins.resize(number.saturating_add(1), Origins::NONE);
        }
        if self.origins[number].is_none() {
            self.origins[number] = self.sets.single(place);
        }
        self.origins[number]
    }

    pub fn region(&mut self, block: BlockId) -> Rc<Region> {
        let program = self.program;
        let new = || Rc::new(program.region(block));
        Rc::clone(self.regions.entry(block).or_insert_with(new))
    }

    pub fn stop(&self, reason: StopReason, place: Place) -> Halt {
        let location = place.location(self.program.kernel);
        Halt::Stop(Stop {
            reason,
            place: Some(place),
            location: location.cloned().unwrap_or_default(),
        })
    }

    pub fn step(&mut self, place: Place) -> Result<(), Halt> {
        self.steps += 1;
        if self.steps > self.launch.max_steps {
            return Err(self.stop(StopReason::Steps(self.launch.max_steps), place));
        }
        Ok(())
    }

    pub fn check_memory(&self, local: usize, place: Place) -> Result<(), Halt> {
        let shared: usize = self.shared.iter().map(Memory::pages).sum();
        if shared
            .saturating_add(self.global.pages())
            .saturating_add(local)
            > MAX_PAGES
        {
            return Err(self.stop(StopReason::Memory, place));
        }
        Ok(())
    }

    pub fn object(&self, address: u64) -> Object {
        address::shared_object(address, self.ctas)
    }

    pub fn alive_of(&self, cta: u32) -> &[Lanes] {
        let (start, count) = (cta.saturating_mul(self.warps) as usize, self.warps as usize);
        self.alive
            .get(start..start.saturating_add(count))
            .unwrap_or(&[])
    }

    /// The position of a warp among all warps.
    pub fn index(&self, cta: u32, warp: u32) -> usize {
        cta.saturating_mul(self.warps).saturating_add(warp) as usize
    }

    /// Ends lanes. Barriers no longer wait for them.
    pub fn exit(&mut self, cta: u32, warp: u32, lanes: Lanes, place: Place) -> Result<(), Halt> {
        let index = self.index(cta, warp);
        if let Some(alive) = self.alive.get_mut(index) {
            *alive &= !lanes;
        }
        let (start, count) = (self.index(cta, 0), self.warps as usize);
        let alive = self
            .alive
            .get(start..start.saturating_add(count))
            .unwrap_or(&[]);
        let mut changed = false;
        for barrier in self.barriers.get_mut(cta as usize).into_iter().flatten() {
            changed |= barrier
                .advance(alive)
                .map_err(|what| undefined(place, &what))?;
        }
        changed |= self.cluster.advance(&self.alive);
        self.version += u64::from(changed);
        Ok(())
    }

    /// Applies a change to an mbarrier.
    pub fn mbarrier(
        &mut self,
        object: Object,
        place: Place,
        change: impl FnOnce(&mut Mbarrier) -> Result<(), String>,
    ) -> Result<(), Halt> {
        let Object::Shared { cta, address } = object else {
            return Err(undefined(place, "the address is of no CTA of the cluster"));
        };
        let Some(mbarrier) = self.mbarriers.get_mut(&(cta, address)) else {
            return Err(undefined(place, "the mbarrier is not initialized"));
        };
        self.version += 1;
        change(mbarrier).map_err(|what| undefined(place, &what))
    }

    /// Completes bytes of a copy at an mbarrier, now or later. `None` if a tensor map determines the number of bytes.
    pub fn complete(
        &mut self,
        object: Object,
        bytes: Option<u32>,
        place: Place,
    ) -> Result<(), Halt> {
        match (bytes, object) {
            (Some(bytes), Object::Shared { cta, address })
                if self.launch.landing == Landing::Late =>
            {
                self.mbarrier(object, place, |_| Ok(()))?;
                self.landing.push(((cta, address), i64::from(bytes), place));
                Ok(())
            }
            (Some(bytes), _) => self.mbarrier(object, place, |mbarrier| {
                mbarrier.transfer(-i64::from(bytes))
            }),
            (None, _) => self.mbarrier(object, place, |mbarrier| {
                mbarrier.copies = mbarrier.copies.saturating_add(1);
                Ok(())
            }),
        }
    }

    /// Completes copies that are under way, and lets copies by tensor map deliver the missing bytes of their phases.
    /// Returns `false` if nothing happens.
    pub fn land(&mut self) -> Result<bool, Halt> {
        let landing = std::mem::take(&mut self.landing);
        let mut happened = !landing.is_empty();
        for ((cta, address), bytes, place) in landing {
            let object = Object::Shared { cta, address };
            self.mbarrier(object, place, |mbarrier| mbarrier.transfer(-bytes))?;
        }
        if !happened {
            for mbarrier in self.mbarriers.values_mut() {
                happened |= mbarrier.deliver();
            }
        }
        self.version += u64::from(happened);
        Ok(happened)
    }

    /// The arrivals and bytes that are missing in a phase.
    pub fn awaited(&self, cta: u32, address: u32, parity: Result<bool, u64>) -> Awaited {
        let mbarrier = self.mbarriers.get(&(cta, address));
        Awaited::Mbarrier {
            object: Object::Shared { cta, address },
            parity: parity.unwrap_or_else(|state| state >> 32 & 1 == 1),
            arrivals: mbarrier.map_or(0, |mbarrier| mbarrier.pending),
            bytes: mbarrier.map_or(0, |mbarrier| mbarrier.bytes),
        }
    }
}

pub fn undefined(place: Place, what: &str) -> Halt {
    Halt::End(Outcome::Undefined {
        place,
        what: what.to_owned(),
    })
}
