//! Rings that are gone through a second time: what gives the slots of a tile back begins where the tile has begun, while the state that
//! the tile began with has moved on.
//!
//! What the state was is kept in a variable that is assigned when an iteration of the loop around begins, and by nothing else. A phi of
//! that loop does not change before the next iteration.

use super::Carrier;
use super::Lowerer;
use super::meanings::Meaning;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::sketch::Line;
use crate::recover::tree::LoopId;

impl Lowerer<'_> {
    /// How many steps a machine begins with: none, or as many as the machine has made of which these phis are.
    pub(super) fn begun_with(&self, phis: &[u32]) -> Option<Number> {
        let mut steps = None;
        for phi in phis {
            let own = match self.meaning(*phi) {
                Some(Meaning::State { steps, .. }) => steps.clone(),
                Some(Meaning::Number(_)) => return None,
                None => self.at_begin(*phi)?,
            };
            if steps.get_or_insert_with(|| own.clone()) != &own {
                return None;
            }
        }
        Some(steps.unwrap_or_default())
    }

    /// What a phi was when the iteration began that is still going on.
    fn at_begin(&self, phi: u32) -> Option<Number> {
        let in_loop = self.arena.phis.get(phi as usize)?.in_loop;
        let variable = self.recurrences.of_phi.get(&phi)?;
        let machine = *self.recurrences.machine_of.get(variable)?;
        let named = self.variables.get(&Carrier::Begun(machine, in_loop))?;
        Some(Number::of(Atomic::Variable(*named)))
    }

    /// When an iteration begins: keeps the states that machines begin with further on.
    pub(super) fn keep_begun(&mut self, own: &[u32], id: LoopId) -> Vec<Line> {
        let mut lines = Vec::new();
        for phi in own {
            let mut machines = self.recurrences.machines.iter();
            if !machines.any(|machine| machine.begins_with.contains(phi)) {
                continue;
            }
            let Some(Meaning::State { machine, steps }) = self.meaning(*phi).cloned() else {
                continue;
            };
            let carrier = Carrier::Begun(machine, id);
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

    /// Behind a loop: what its iterations began with is not what its phis are.
    pub(super) fn forget_begun(&mut self, id: LoopId) {
        self.variables
            .retain(|carrier, _| !matches!(carrier, Carrier::Begun(_, of) if *of == id));
    }
}
