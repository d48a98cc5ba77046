//! Turns accesses to shared memory into events: the bytes that an operation reads or writes at this launch.

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
use crate::ir::Matrices;
use crate::ir::PLACE;
use crate::ir::Product;
use crate::ir::ROW;
use crate::ir::Space;
use crate::ir::Touch;
use crate::ir::UNIT;
use crate::ir::lowest;

/// Ranges of bytes: the rank of a CTA, the first byte, and the one after the last.
type Ranges = Vec<(u32, u64, u64)>;

impl Warp {
    /// The event of an operation's access to shared memory.
    pub fn touches(
        &mut self,
        touch: &Touch,
        at: Place,
        lanes: Lanes,
        control: Origins,
        world: &mut World,
    ) -> Result<(), Halt> {
        let operands = touch.operands();
        // The number of bytes is `None` if an operand gives it. The space is `None` if no bytes are known.
        let (access, bytes, space) = match touch {
            // These have events of their own.
            Touch::Commit(_) | Touch::TensorCommit | Touch::Wait { .. } => return Ok(()),
            Touch::Matrices { matrices, lasts } => {
                let lasts = lasts.is_some();
                return self.multiplies(matrices, lasts, at, lanes, control, world);
            }
            Touch::Bytes {
                space,
                bytes,
                writes,
                ..
            } => (Access::now(*writes), Some(*bytes), Some(*space)),
            Touch::Rows { space, writes, .. } => (Access::now(*writes), Some(ROW), Some(*space)),
            Touch::Mapped { space, .. } => (Access::Mapped, Some(1), Some(*space)),
            Touch::Arriving { space, .. } => (Access::Arrive, None, Some(*space)),
            Touch::Grouped { space, writes, .. } => (Access::later(*writes), None, Some(*space)),
            Touch::Unfollowed(_) => (Access::Unfollowed, None, None),
        };
        let mut ranges = Vec::new();
        if let Some(space) = space {
            let addresses = self.value(operands[0], world, at)?;
            let sizes = match operands.get(1) {
                Some(size) => Some(self.value(*size, world, at)?),
                None => None,
            };
            let named = match touch {
                Touch::Rows { count, .. } => lanes & lowest(*count),
                _ => lanes,
            };
            for lane in lanes_of(named) {
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
            // Whether a generic address is one of shared memory, only the run can tell.
            if ranges.is_empty() {
                return Ok(());
            }
        }
        let reasons = self.joined(&operands, lanes, control, world).origins;
        self.touched(access, ranges, reasons, at, lanes, world)
    }

    fn touched(
        &mut self,
        access: Access,
        ranges: Ranges,
        reasons: Origins,
        at: Place,
        lanes: Lanes,
        world: &mut World,
    ) -> Result<(), Halt> {
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

    /// The events of the matrices that a multiplication reads: one event for each matrix.
    fn multiplies(
        &mut self,
        matrices: &Matrices,
        lasts: bool,
        at: Place,
        lanes: Lanes,
        control: Origins,
        world: &mut World,
    ) -> Result<(), Halt> {
        let operands = matrices.operands();
        let reasons = self.joined(&operands, lanes, control, world).origins;
        let access = if lasts {
            Access::ReadLater
        } else {
            Access::Read
        };
        match self.matrices(matrices, lanes, at, world)? {
            Some(read) => {
                for ranges in read {
                    self.touched(access, ranges, reasons, at, lanes, world)?;
                }
                Ok(())
            }
            None => self.touched(Access::Unfollowed, Vec::new(), reasons, at, lanes, world),
        }
    }

    /// The bytes of each matrix that the multiplications of these lanes read; empty if they cannot be followed.
    fn matrices(
        &mut self,
        matrices: &Matrices,
        lanes: Lanes,
        at: Place,
        world: &mut World,
    ) -> Result<Option<Vec<Ranges>>, Halt> {
        let word = match matrices.product {
            Product::Tensor { word, .. } => Some(self.value(word, world, at)?),
            Product::Warpgroup { .. } => None,
        };
        let descriptors = matrices.descriptors();
        let mut all = vec![Ranges::new(); descriptors.len()];
        for lane in lanes_of(lanes) {
            let word = word.as_ref().map(|word| low(word.lane(lane)) & 0xffff_ffff);
            let word = word.and_then(|word| u32::try_from(word).ok());
            let Ok(shapes) = matrices.shapes(word) else {
                return Ok(None);
            };
            for ((descriptor, shape), ranges) in descriptors.iter().zip(shapes).zip(&mut all) {
                let bits = low(self.value(*descriptor, world, at)?.lane(lane));
                let begin = i128::from(bits & PLACE) * UNIT;
                let Ok(read) = matrices.read(bits & !PLACE, (begin, 0), shape) else {
                    return Ok(None);
                };
                let cta = self.spot(Space::Shared, 0, lane).cta;
                let byte = |at: i128| u64::try_from(at).unwrap_or(0);
                ranges.extend(
                    read.into_iter()
                        .map(|(from, to)| (cta, byte(from), byte(to))),
                );
            }
        }
        Ok(Some(all))
    }
}
