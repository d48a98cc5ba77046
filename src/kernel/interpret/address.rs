//! The addresses of memory.
//!
//! As on hardware, a CTA's shared window begins at its rank times 2^24 in the window of the cluster, and its own
//! shared addresses are addresses of the cluster, too. Generic addresses, which cover all of memory, have a window
//! for each space. All other generic addresses are global.

use super::event::Object;
use super::launch::Launch;
use super::launch::default_pointer;
use crate::ir::Kernel;
use crate::ir::Space;
use crate::ir::VariableId;

/// The most shared memory of a CTA, in bytes.
pub const MAX_SHARED: u64 = (1 << 24) - 1;

/// The system reserves the first bytes of the shared window.
const SHARED_BEGIN: u64 = 1024;
const WINDOW: u64 = 1 << 32;
const SHARED: u64 = 0x7fff_0000_0000;
const LOCAL: u64 = 0x7ffe_0000_0000;
const PARAMETER: u64 = 0x7ffd_0000_0000;
const CONSTANT: u64 = 0x7ffc_0000_0000;
/// The address at which global variables begin.
const GLOBAL: u64 = 0x6000_0000_0000;

/// The addresses of a kernel's variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Name, space and address of each variable; its size, where it has one.
    variables: Vec<Placed>,
    /// Names and values of pointer parameters.
    pointers: Vec<(String, u64)>,
    static_shared: u64,
    shared: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Placed {
    name: String,
    space: Space,
    address: u64,
    size: Option<u64>,
}

impl Layout {
    pub fn new(kernel: &Kernel, launch: &Launch) -> Self {
        let mut next = [SHARED_BEGIN, 16, 16, GLOBAL];
        let which = |space: Space| match space {
            Space::Shared | Space::Cluster => 0,
            Space::Local => 1,
            Space::Constant => 2,
            _ => 3,
        };
        let mut variables: Vec<Placed> = Vec::new();
        for variable in &kernel.variables {
            let next = &mut next[which(variable.space)];
            let alignment = u64::from(variable.alignment.max(1));
            let address = next.checked_next_multiple_of(alignment).unwrap_or(*next);
            if let Some(size) = variable.size {
                *next = address.saturating_add(size);
            }
            variables.push(Placed {
                name: variable.name.clone(),
                space: variable.space,
                address,
                size: variable.size,
            });
        }
        // Memory whose size the launch decides comes after all other memory of its space.
        for (placed, variable) in variables.iter_mut().zip(&kernel.variables) {
            if placed.size.is_none() {
                let begin = next[which(placed.space)];
                let alignment = u64::from(variable.alignment.max(16));
                placed.address = begin.checked_next_multiple_of(alignment).unwrap_or(begin);
            }
        }
        let begin = |each: &Placed| each.size.is_none().then_some(each.address);
        let dynamic = variables.iter().filter_map(begin).max().unwrap_or(next[0]);
        let mut pointers = Vec::new();
        for (index, parameter) in kernel.parameters.iter().enumerate() {
            let bytes = launch.given(parameter.offset, parameter.size);
            let value = bytes.and_then(|bytes| Some(u64::from_le_bytes(bytes.try_into().ok()?)));
            if let Some(value) = value.filter(|value| *value >= default_pointer(0).min(1 << 16)) {
                let name = if parameter.name.is_empty() {
                    format!("parameter {index}")
                } else {
                    parameter.name.clone()
                };
                pointers.push((name, value));
            }
        }
        Self {
            static_shared: next[0] - SHARED_BEGIN,
            shared: dynamic.saturating_add(launch.dynamic_shared),
            variables,
            pointers,
        }
    }

    pub(super) fn shared_size(&self) -> u64 {
        self.shared
    }

    pub(super) fn static_shared(&self) -> u64 {
        self.static_shared
    }

    /// The space and the address of a variable.
    pub fn address(&self, variable: VariableId) -> Option<(Space, u64)> {
        let placed = self.variables.get(variable.0 as usize)?;
        Some((placed.space, placed.address))
    }

    /// The variable that contains an address of the shared window, and the offset from its beginning. A variable without
    /// a size contains all addresses from its beginning on. Of several variables, the one that begins last is taken.
    pub fn variable_at(&self, address: u32) -> Option<(VariableId, u64)> {
        let address = u64::from(address);
        let mut best: Option<(usize, &Placed)> = None;
        for (index, placed) in self.variables.iter().enumerate() {
            let shared = matches!(placed.space, Space::Shared | Space::Cluster);
            let inside = placed
                .size
                .is_none_or(|size| address < placed.address.saturating_add(size));
            if shared && placed.address <= address && inside {
                let later = best.is_none_or(|(_, best)| placed.address > best.address);
                if later {
                    best = Some((index, placed));
                }
            }
        }
        let (index, placed) = best?;
        Some((
            VariableId(u32::try_from(index).ok()?),
            address - placed.address,
        ))
    }

    /// An object as a variable or parameter and an offset: `name + offset`.
    pub fn describe(&self, object: Object) -> String {
        let plus = |name: &str, offset: u64| {
            if offset == 0 {
                name.to_owned()
            } else {
                format!("{name}+{offset}")
            }
        };
        match object {
            Object::Shared { address, .. } => match self.variable_at(address) {
                Some((variable, offset)) => plus(&self.variables[variable.0 as usize].name, offset),
                None => plus("shared", u64::from(address)),
            },
            Object::Global { address } => {
                let below = self.pointers.iter().filter(|(_, value)| *value <= address);
                let globals = self
                    .variables
                    .iter()
                    .filter(|each| each.space == Space::Global);
                let globals = globals.map(|each| (&each.name, each.address));
                let closest = below
                    .map(|(name, value)| (name, *value))
                    .chain(globals.filter(|(_, value)| *value <= address))
                    .max_by_key(|(_, value)| *value)
                    .filter(|(_, value)| address - value < WINDOW);
                match closest {
                    Some((name, value)) => format!("[{}]", plus(name, address - value)),
                    None => format!("[{address:#x}]"),
                }
            }
            Object::Invalid { address } => format!("invalid address {address:#x}"),
        }
    }
}

/// The address at which the shared window of a CTA begins in the window of the cluster.
pub fn shared_window(rank: u32) -> u64 {
    u64::from(rank) << 24
}

/// The CTA of an address of the cluster's shared window (or of a generic address), and the position in the CTA's
/// window.
pub fn shared_object(address: u64, ctas: u32) -> Object {
    let inside = if address >= SHARED && address - SHARED < WINDOW {
        address - SHARED
    } else {
        address
    };
    let invalid = Object::Invalid { address };
    let (Ok(cta), Ok(offset)) = (
        u32::try_from(inside >> 24),
        u32::try_from(inside & MAX_SHARED),
    ) else {
        return invalid;
    };
    if cta < ctas {
        Object::Shared {
            cta,
            address: offset,
        }
    } else {
        invalid
    }
}

/// Converts an address of a space to a generic address.
pub fn to_generic(space: Space, address: u64) -> u64 {
    let window = match space {
        Space::Shared | Space::Cluster => SHARED,
        Space::Local => LOCAL,
        Space::Parameter => PARAMETER,
        Space::Constant => CONSTANT,
        Space::Global | Space::Generic | Space::Tensor => return address,
    };
    window.wrapping_add(address & (WINDOW - 1))
}

/// Converts a generic address to an address of a space.
pub fn from_generic(space: Space, address: u64) -> u64 {
    match space {
        Space::Global | Space::Generic | Space::Tensor => address,
        _ => address & (WINDOW - 1),
    }
}

/// The space that a generic address is in, and the address there.
pub fn space_of(address: u64) -> (Space, u64) {
    for (window, space) in [
        (SHARED, Space::Cluster),
        (LOCAL, Space::Local),
        (PARAMETER, Space::Parameter),
        (CONSTANT, Space::Constant),
    ] {
        if address >= window && address - window < WINDOW {
            return (space, address - window);
        }
    }
    (Space::Global, address)
}
