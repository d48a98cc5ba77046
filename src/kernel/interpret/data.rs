//! Accesses to shared memory as events: which bytes an operation reads or writes at this launch.

use super::event::Access;
use super::event::EventKind;
use super::event::Place;
use super::event::Region;
use super::execute::low;
use super::taint::Origins;
use super::value::Lanes;
use super::value::lanes_of;
use super::warp::Warp;
use super::world::Halt;
use super::world::World;
use crate::ir::Space;
use crate::ir::Touch;

impl Warp {
    /// The event of what an operation does to shared memory.
    pub fn touches(
        &mut self,
        touch: &Touch,
        at: Place,
        lanes: Lanes,
        control: Origins,
        world: &mut World,
    ) -> Result<(), Halt> {
        let operands = touch.operands();
        // Bytes are `None` where an operand says how many, and the space where none are known.
        let (access, bytes, space) = match touch {
            // They are events of their own.
            Touch::Commit(_) | Touch::Wait { .. } => return Ok(()),
            Touch::Bytes {
                space,
                bytes,
                writes,
                ..
            } => {
                let access = if *writes { Access::Write } else { Access::Read };
                (access, Some(*bytes), Some(*space))
            }
            Touch::Arriving { space, .. } => (Access::Arrive, None, Some(*space)),
            Touch::Grouped { space, writes, .. } => {
                let access = match *writes {
                    true => Access::WriteLater,
                    false => Access::ReadLater,
                };
                (access, None, Some(*space))
            }
            Touch::Unfollowed(_) => (Access::Unfollowed, None, None),
        };
        let mut ranges = Vec::new();
        if let Some(space) = space {
            let addresses = self.value(operands[0], world, at)?;
            let sizes = match operands.get(1) {
                Some(size) => Some(self.value(*size, world, at)?),
                None => None,
            };
            for lane in lanes_of(lanes) {
                let spot = self.spot(space, low(addresses.lane(lane)), lane);
                let size = sizes
                    .as_ref()
                    .map(|sizes| low(sizes.lane(lane)) & 0xffff_ffff);
                let size = size.or(bytes).unwrap_or(0);
                if spot.space == Space::Shared {
                    let end = spot.address.saturating_add(size);
                    ranges.push((spot.cta, spot.address, end));
                }
            }
            // Of a generic address, the run says whether it is one of shared memory.
            if ranges.is_empty() {
                return Ok(());
            }
        }
        let reasons = self.joined(&operands, lanes, control, world).origins;
        let region = u32::try_from(self.trace.regions.len()).unwrap_or(u32::MAX);
        self.trace.regions.push(Region::new(ranges));
        self.emit(
            at,
            EventKind::Access { access, region },
            None,
            lanes,
            reasons,
            world,
        )
    }
}
