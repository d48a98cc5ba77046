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
        if let Touch::Commit(_) | Touch::Wait { .. } = touch {
            // They are events of their own.
            return Ok(());
        }
        let operands = touch.operands();
        let (access, bytes) = match touch {
            Touch::Bytes { bytes, writes, .. } => {
                let access = if *writes { Access::Write } else { Access::Read };
                (access, Some(*bytes))
            }
            Touch::Arriving { .. } => (Access::Arrive, None),
            Touch::Grouped { writes: false, .. } => (Access::ReadLater, None),
            Touch::Grouped { writes: true, .. } => (Access::WriteLater, None),
            Touch::Commit(_) | Touch::Wait { .. } | Touch::Unfollowed(_) => {
                (Access::Unfollowed, None)
            }
        };
        let mut ranges = Vec::new();
        if let Touch::Bytes { space, .. }
        | Touch::Arriving { space, .. }
        | Touch::Grouped { space, .. } = touch
        {
            let addresses = self.value(operands[0], world, at)?;
            let sizes = match operands.get(1) {
                Some(size) => Some(self.value(*size, world, at)?),
                None => None,
            };
            for lane in lanes_of(lanes) {
                let spot = self.spot(*space, low(addresses.lane(lane)), lane);
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
