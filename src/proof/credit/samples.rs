//! All operations of programs at some parameter values.

use std::collections::HashMap;

use itertools::Itertools;

use crate::certificate::program;
use crate::certificate::program::Bound;
use crate::certificate::program::Direction;
use crate::certificate::program::Event;
use crate::certificate::program::EventKind;
use crate::certificate::program::Program;
use crate::proof::cut::trace;
use crate::protocol::Expr;
use crate::protocol::Initial;
use crate::protocol::Iteration;
use crate::protocol::ObjectKind;
use crate::protocol::Protocol;
use crate::protocol::VarId;

/// No more executions than these are looked at together.
const EXECUTIONS: usize = 400;

/// One execution of a wait or an addition.
pub(super) struct Execution {
    pub role: usize,
    pub event: usize,
    /// Indices of the member, and then loop variables.
    pub values: Vec<i64>,
    pub element: Vec<i64>,
    /// For an addition, the amount. For a wait, the amount that the element lacks at the start. For an operation that
    /// sets the element, the value minus the start value.
    pub amount: i64,
    /// Orders the executions of a member.
    pub key: Vec<i64>,
}

/// All executions at some values of the parameters.
pub(super) struct Sample {
    pub params: Vec<i64>,
    pub all: Vec<Execution>,
    /// Where an execution is.
    pub at: HashMap<(usize, usize, Vec<i64>), usize>,
}

impl Sample {
    pub fn new(protocol: &Protocol, programs: &[Program], params: &[i64]) -> Option<Sample> {
        let mut sample = Sample {
            params: params.to_vec(),
            all: Vec::new(),
            at: HashMap::new(),
        };
        let none = HashMap::new();
        for (role, (this, program)) in protocol.roles.iter().zip(programs).enumerate() {
            let mut extents = Vec::new();
            for index in &this.indices {
                extents.push(trace::value(&index.extent, params, &none)?);
            }
            let count = extents.iter().map(|extent| (*extent).max(0));
            if count.fold(1, i64::saturating_mul) > i64::try_from(EXECUTIONS).ok()? {
                return None;
            }
            // A role without indices has one member.
            let members = extents.iter().map(|extent| 0..*extent);
            for member in members.multi_cartesian_product() {
                let vars = this.indices.iter().map(|index| index.var);
                let vars: HashMap<VarId, i64> = vars.zip(member.iter().copied()).collect();
                for (event, what) in program.events.iter().enumerate() {
                    sample.add(
                        protocol,
                        (role, event, what),
                        0,
                        (member.clone(), vars.clone()),
                    )?;
                }
            }
        }
        Some(sample)
    }

    /// Adds the executions of an event in which the outer loops have these values.
    fn add(
        &mut self,
        protocol: &Protocol,
        (role, event, what): (usize, usize, &Event),
        loops: usize,
        (values, vars): (Vec<i64>, HashMap<VarId, i64>),
    ) -> Option<()> {
        let params = self.params.clone();
        if let Some(Bound::Loop(binder)) = what.bounds.get(loops) {
            let Iteration::Range { lo, hi, .. } = &binder.over else {
                return None;
            };
            let (lo, hi) = (
                trace::value(lo, &params, &vars)?,
                trace::value(hi, &params, &vars)?,
            );
            if hi.saturating_sub(lo) > i64::try_from(EXECUTIONS).ok()? {
                return None;
            }
            for value in lo..hi {
                let (mut values, mut vars) = (values.clone(), vars.clone());
                values.push(value);
                vars.insert(binder.var, value);
                self.add(protocol, (role, event, what), loops + 1, (values, vars))?;
            }
            return Some(());
        }
        if trace::truth(&what.condition, &params, &vars) != Some(true) {
            return Some(());
        }
        let number = |e: &Expr| trace::value(e, &params, &vars);
        let element = what
            .cell
            .index
            .iter()
            .map(number)
            .collect::<Option<Vec<i64>>>()?;
        let amount = match &what.kind {
            EventKind::Add { amount } => number(amount)?,
            EventKind::Wait { value, .. } | EventKind::Set { value } => {
                let object = protocol.objects.get(what.cell.object.0)?;
                let initial = match &object.kind {
                    ObjectKind::Semaphore(Initial::Value(initial)) => number(initial)?,
                    _ => 0,
                };
                number(value)?.checked_sub(initial)?
            }
        };
        let place = what.place.iter().map(|place| match place {
            program::Place::Nth(nth) => i64::try_from(*nth).ok(),
            program::Place::Loop(var, Direction::Down) => {
                vars.get(var).map(|value| value.saturating_neg())
            }
            program::Place::Loop(var, _) => vars.get(var).copied(),
        });
        let key = place.collect::<Option<Vec<i64>>>()?;
        self.at
            .insert((role, event, values.clone()), self.all.len());
        self.all.push(Execution {
            role,
            event,
            values,
            element,
            amount,
            key,
        });
        (self.all.len() <= EXECUTIONS).then_some(())
    }
}
