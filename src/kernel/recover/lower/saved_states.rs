//! Saves the state of a ring at the beginning of an iteration, for a second pass through the same
//! slots of the ring.
//!
//! ```text
//! for each tile { start = ring; for k { fill slot ring; ring += 1 }; for k { give slot start back; start += 1 } }
//! ```
//!
//! The second inner loop begins with the state that the ring had at the beginning of the tile. By
//! then, the state of the ring has moved on. So the text keeps the earlier state in a variable. It
//! is assigned when an iteration of the outer loop begins, and nowhere else. That is right, because
//! a phi of that loop does not change before the next iteration.

use super::Carrier;
use super::Lowerer;
use super::phi_values::PhiValue;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::role_ir::Line;
use crate::recover::tree::LoopId;

impl Lowerer<'_> {
    /// How many steps a machine begins with: as many as the machine of these phis has made, or none
    /// if there are no phis.
    pub(super) fn initial_steps(&self, phis: &[u32]) -> Option<Number> {
        let mut steps = None;
        for phi in phis {
            let own = match self.phi_value(*phi) {
                Some(PhiValue::State { steps, .. }) => steps.clone(),
                Some(PhiValue::Number(_)) => return None,
                None => self.at_begin(*phi)?,
            };
            if steps.get_or_insert_with(|| own.clone()) != &own {
                return None;
            }
        }
        Some(steps.unwrap_or_default())
    }

    /// The state of a phi when the current iteration began.
    fn at_begin(&self, phi: u32) -> Option<Number> {
        let in_loop = self.arena.phis.get(phi as usize)?.in_loop;
        let variable = self.recurrences.of_phi.get(&phi)?;
        let machine = *self.recurrences.machine_of.get(variable)?;
        let named = self.variables.get(&Carrier::Saved(machine, in_loop))?;
        Some(Number::of(Atomic::Variable(*named)))
    }

    /// At the beginning of an iteration: saves the states with which machines further down begin.
    pub(super) fn save_states(&mut self, own: &[u32], id: LoopId) -> Vec<Line> {
        let mut lines = Vec::new();
        for phi in own {
            let mut machines = self.recurrences.machines.iter();
            if !machines.any(|machine| machine.begins_with.contains(phi)) {
                continue;
            }
            let Some(PhiValue::State { machine, steps }) = self.phi_value(*phi).cloned() else {
                continue;
            };
            let carrier = Carrier::Saved(machine, id);
            if self.variables.contains_key(&carrier) {
                continue;
            }
            let variable = self.variable(carrier);
            lines.push(Line::Let {
                variable,
                value: steps,
            });
        }
        lines
    }

    /// Behind a loop: drops the saved states, which are no longer those of the loop's phis.
    pub(super) fn drop_saved_states(&mut self, id: LoopId) {
        self.variables
            .retain(|carrier, _| !matches!(carrier, Carrier::Saved(_, of) if *of == id));
    }
}
