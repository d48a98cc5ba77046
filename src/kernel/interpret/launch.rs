//! A concrete launch.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::address::Layout;
use super::event::Place;
use super::mask::Mask;
use super::memory::Byte;
use super::taint::Origins;
use crate::ir::Kernel;

/// How waits behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Waits {
    /// Every wait is passed at once, even one that spins on memory. Each warp runs on its own, with a memory of its
    /// own. Whatever other warps may have written is unknown.
    #[default]
    Pass,
    /// Like `Pass`, except that warps wait for each other at barriers of all threads of a CTA, and that values in
    /// shared memory are known if they are read by the loads in [`Launch::handed_over`].
    Meet,
    /// Warps run in turns, and barriers, mbarriers, copies and memory are simulated.
    Simulate,
}

/// When asynchronous copies are done under [`Waits::Simulate`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Landing {
    /// With the operation that issues them.
    #[default]
    AtOnce,
    /// When no warp can go on otherwise.
    Late,
}

/// The values of a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    pub threads: [u32; 3],
    pub grid: [u32; 3],
    pub cluster: [u32; 3],
    /// The first CTA of the cluster that is run.
    pub cta: [u32; 3],
    pub dynamic_shared: u64,
    pub waits: Waits,
    pub landing: Landing,
    /// The result of a test outside of a spin loop under [`Waits::Pass`].
    pub look: bool,
    /// Whether entering the header of a loop is an event.
    pub loop_headers: bool,
    /// Whether accesses to shared memory are events.
    pub accesses: bool,
    /// What global memory holds at the beginning: addresses and bytes.
    pub memory: Vec<(u64, Vec<u8>)>,
    /// How many times cluster launch control tells each warp that a cluster was taken over, before it answers that
    /// none is left. `None` if this is unknown.
    pub granted: Option<u32>,
    /// How many times the loads of [`Launch::by_mbarriers`] tell each warp that there is more work, before they tell
    /// that there is none. `None` if this is unknown.
    pub ring_words: Option<u32>,
    /// Loads from shared memory of words that warps hand over by mbarriers. For each result of such a load: the value
    /// for more work, and the value for no more work.
    pub by_mbarriers: BTreeMap<(Place, u32), (u64, u64)>,
    /// How many operations all warps may execute together.
    pub max_steps: u64,
    /// How many events there may be.
    pub max_events: usize,
    /// Loads from shared memory of words that other warps have stored. All of these stores come before a barrier of
    /// all threads.
    pub handed_over: BTreeSet<Place>,
    /// Loads from global memory of words that nobody writes.
    pub unwritten: BTreeSet<Place>,
    /// Further contents of global memory that nobody writes.
    pub masks: Vec<Mask>,
    parameters: Vec<u8>,
    given: Vec<bool>,
}

/// The default address of the memory that a pointer parameter points to.
pub fn default_pointer(parameter: usize) -> u64 {
    (parameter as u64).wrapping_add(0x10) << 36
}

impl Launch {
    /// One CTA. It has as many threads as the kernel requires, or otherwise allows, or otherwise 128. Parameters of 8
    /// bytes are taken for pointers, which are all different. Other parameters are 0, and values that depend on them
    /// are unknown until the parameters are set.
    pub fn new(kernel: &Kernel) -> Self {
        let bounds = &kernel.bounds;
        let end = |size: u32, offset: u32| offset.saturating_add(size).min(MAX_PARAMETERS);
        let sizes = kernel
            .parameters
            .iter()
            .map(|each| end(each.size, each.offset));
        let size = sizes.max().unwrap_or(0) as usize;
        let cluster = bounds.cluster.unwrap_or([1; 3]);
        let mut launch = Self {
            threads: bounds
                .required_threads
                .or(bounds.max_threads)
                .unwrap_or([128, 1, 1]),
            grid: cluster,
            cluster,
            cta: [0; 3],
            dynamic_shared: 200 << 10,
            waits: Waits::default(),
            landing: Landing::default(),
            look: false,
            loop_headers: false,
            accesses: false,
            memory: Vec::new(),
            granted: None,
            ring_words: None,
            by_mbarriers: BTreeMap::new(),
            handed_over: BTreeSet::new(),
            unwritten: BTreeSet::new(),
            masks: Vec::new(),
            max_steps: 100_000_000,
            max_events: 4_000_000,
            parameters: vec![0; size],
            given: vec![false; size],
        };
        for (index, parameter) in kernel.parameters.iter().enumerate() {
            if parameter.size == 8 {
                launch.set_bytes(parameter.offset, &default_pointer(index).to_le_bytes());
            }
        }
        launch
    }

    pub(super) fn simulates(&self) -> bool {
        self.waits == Waits::Simulate
    }

    /// Sets bytes of the parameter space. Bytes beyond its end are ignored.
    pub fn set_bytes(&mut self, offset: u32, bytes: &[u8]) {
        for (at, byte) in (offset as usize..).zip(bytes) {
            if let (Some(place), Some(given)) =
                (self.parameters.get_mut(at), self.given.get_mut(at))
            {
                *place = *byte;
                *given = true;
            }
        }
    }

    /// Sets the parameter of this name to an integer, with as many bytes as the parameter has (at most 16). Returns
    /// `false` if there is no such parameter.
    pub fn set(&mut self, kernel: &Kernel, name: &str, value: i128) -> bool {
        let Some(parameter) = kernel.parameters.iter().find(|each| each.name == name) else {
            return false;
        };
        let bytes = value.to_le_bytes();
        let count = bytes.len().min(parameter.size as usize);
        self.set_bytes(parameter.offset, &bytes[..count]);
        true
    }

    /// Sets every 32-bit word of the parameters that is not set yet to this value.
    pub fn fill(&mut self, word: u32) {
        for at in 0..self.parameters.len() {
            if !self.given[at] {
                self.parameters[at] = word.to_le_bytes()[at % 4];
                self.given[at] = true;
            }
        }
    }

    /// A byte of the parameter space, and whether it was set.
    pub fn parameter(&self, offset: u64) -> Option<(u8, bool)> {
        let at = usize::try_from(offset).ok()?;
        Some((*self.parameters.get(at)?, *self.given.get(at)?))
    }

    /// A byte of global memory that nobody writes, if it is known.
    pub fn unwritten_byte(&self, address: u64) -> Option<u8> {
        let given = self.memory.iter().find_map(|(first, bytes)| {
            let at = address.checked_sub(*first)?;
            bytes.get(usize::try_from(at).ok()?).copied()
        });
        given.or_else(|| self.masks.iter().find_map(|mask| mask.byte(address)))
    }

    /// Fills in bytes of global memory that nobody writes, where no other value is known.
    pub(super) fn put_unwritten(&self, address: u64, out: &mut [Option<Byte>]) {
        for (at, byte) in (0..).zip(out) {
            let value = self.unwritten_byte(address.wrapping_add(at));
            let origins = Origins::NONE;
            *byte = byte.or(value.map(|value| Byte { value, origins }));
        }
    }

    /// The bytes of a parameter, if all of them were set.
    pub fn given(&self, offset: u32, size: u32) -> Option<&[u8]> {
        let (start, end) = (offset as usize, offset.checked_add(size)? as usize);
        let given = self.given.get(start..end)?;
        given
            .iter()
            .all(|given| *given)
            .then(|| &self.parameters[start..end])
    }

    /// The numbers of threads per CTA and of CTAs per cluster. An error if such a launch is not possible.
    pub(super) fn check(&self, layout: &Layout) -> Result<(u32, u32), String> {
        let product = |of: [u32; 3]| {
            let all = of
                .iter()
                .try_fold(1_u32, |product, each| product.checked_mul(*each));
            all.filter(|all| *all > 0)
        };
        let threads = product(self.threads).filter(|threads| *threads <= 1024);
        let threads = threads.ok_or("a CTA has 1 to 1024 threads")?;
        let ctas = product(self.cluster).filter(|ctas| *ctas <= 64);
        let ctas = ctas.ok_or("a cluster has 1 to 64 CTAs")?;
        for axis in 0..3 {
            let (grid, cluster, cta) = (self.grid[axis], self.cluster[axis], self.cta[axis]);
            if grid == 0 || grid % cluster != 0 {
                return Err("the grid is not a whole number of clusters".to_owned());
            }
            if cta % cluster != 0 || cta >= grid {
                return Err("the CTA is not the first one of a cluster of the grid".to_owned());
            }
        }
        if layout.shared_size() > super::address::MAX_SHARED {
            return Err("shared memory is larger than its window".to_owned());
        }
        Ok((threads, ctas))
    }
}

/// No kernel has more bytes of parameters.
const MAX_PARAMETERS: u32 = 1 << 20;
