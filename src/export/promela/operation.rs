//! The effect of each operation on an element, as [`crate::semantics::step`] defines it.

use crate::protocol::Comparison;
use crate::semantics::instance::CellStart;
use crate::semantics::instance::Op;
use crate::semantics::instance::OpKind;

use super::cell::Used;

/// The step of an operation. If `guard` holds, it has this `effect`. If `undefined` holds, it is undefined. If
/// neither holds, it blocks. The two conditions exclude each other.
#[derive(Default)]
pub struct Step {
    /// `None`: always.
    pub guard: Option<String>,
    pub effect: Vec<String>,
    /// `None`: never.
    pub undefined: Option<String>,
    /// What has to hold before the member goes on, after the effect.
    pub then: Option<String>,
}

impl Used {
    pub fn explicit(&self) -> bool {
        matches!(self.start, CellStart::Uninitialized(_))
    }

    fn part(&self, member: usize) -> String {
        let slot = self.members.partition_point(|other| *other < member);
        format!("{}_part[{slot}]", self.name)
    }

    /// The step of an operation. For a copy or commit, this is the step when it lands.
    pub fn step(&self, member: usize, op: &Op) -> Step {
        let name = &self.name;
        let complete = format!("{name}_complete()");
        let guard = |guard: String| Step {
            guard: Some(guard),
            ..Step::default()
        };
        let does = |effect: Vec<String>| Step {
            effect,
            ..Step::default()
        };
        match op.kind {
            OpKind::Wait(comparison, wanted) => guard(self.compare(comparison, wanted)),
            OpKind::Add(0) => Step::default(),
            OpKind::Add(amount) => does(vec![format!("{name}_value = {name}_value + {amount}")]),
            OpKind::Set(value) => does(vec![format!("{name}_value = {value}")]),
            OpKind::WaitSwap { expected, new } => Step {
                guard: Some(self.compare(Comparison::Equal, expected)),
                effect: vec![format!("{name}_value = {new}")],
                ..Step::default()
            },
            // Such instances have been refused already.
            OpKind::Fetch(_) | OpKind::NotDefined | OpKind::Touch(_) => Step::default(),
            OpKind::Arrive(count) => self.arrive(count),
            OpKind::Commit => self.arrive(1),
            OpKind::WaitParity(parity) => {
                let passes = format!("{name}_phase != {}", u8::from(parity));
                guard(match self.explicit() {
                    true => format!("{name}_ready && {passes}"),
                    false => passes,
                })
            }
            OpKind::ExpectTx(bytes) => {
                let add = vec![format!("{name}_tx = {name}_tx + {bytes}"), complete];
                does(self.if_ready(add))
            }
            OpKind::CompleteTx(bytes) | OpKind::Copy(bytes) => does(self.deliver(bytes)),
            OpKind::Init => {
                let CellStart::Uninitialized(expected) = self.start else {
                    return Step {
                        guard: Some("false".to_owned()),
                        undefined: Some("true".to_owned()),
                        ..Step::default()
                    };
                };
                Step {
                    guard: Some(format!("!{name}_ready")),
                    effect: vec![
                        format!("{name}_ready = 1"),
                        format!("{name}_pending = {expected}"),
                    ],
                    undefined: Some(format!("{name}_ready")),
                    then: None,
                }
            }
            OpKind::Sync(count) | OpKind::BarArrive(count) => self.register(member, op, count),
            OpKind::BarrierArrive => {
                let part = self.part(member);
                Step {
                    guard: Some(format!("{part} == 0")),
                    effect: vec![format!("{part} = 1"), format!("{name}_pending--"), complete],
                    undefined: Some(format!("{part} != 0")),
                    then: None,
                }
            }
            OpKind::BarrierWait => {
                let part = self.part(member);
                Step {
                    guard: Some(format!("{part} == 2")),
                    effect: vec![format!("{part} = 0")],
                    undefined: Some(format!("{part} == 0")),
                    then: None,
                }
            }
            OpKind::Acquire(amount) => Step {
                guard: Some(self.available(amount)),
                effect: vec![format!("{name}_available = {name}_available - {amount}")],
                ..Step::default()
            },
            OpKind::Release(amount) => {
                let CellStart::Pool(capacity) = self.start else {
                    return Step::default();
                };
                // If more is given back than was taken, more would be available than the capacity.
                let room = capacity.saturating_sub(amount);
                Step {
                    guard: Some(format!("{name}_available <= {room}")),
                    effect: vec![format!("{name}_available = {name}_available + {amount}")],
                    undefined: Some(format!("{name}_available > {room}")),
                    then: None,
                }
            }
        }
    }

    fn compare(&self, comparison: Comparison, wanted: i64) -> String {
        let inside = (self.least..=self.most).contains(&wanted);
        match comparison {
            Comparison::Equal if inside => format!("{}_value == {wanted}", self.name),
            Comparison::AtLeast if inside => format!("{}_value >= {wanted}", self.name),
            Comparison::AtLeast if wanted < self.least => "true".to_owned(),
            Comparison::Equal | Comparison::AtLeast => "false".to_owned(),
        }
    }

    fn available(&self, amount: i64) -> String {
        match self.start {
            CellStart::Pool(capacity) if amount <= capacity => {
                format!("{}_available >= {amount}", self.name)
            }
            _ => "false".to_owned(),
        }
    }

    /// An operation on an mbarrier that is not initialised has no effect.
    fn if_ready(&self, effect: Vec<String>) -> Vec<String> {
        if !self.explicit() {
            return effect;
        }
        let effect = effect.join("; ");
        vec![format!("if :: {}_ready -> {effect} :: else fi", self.name)]
    }

    fn arrive(&self, count: i64) -> Step {
        let name = &self.name;
        let pending = format!("{name}_pending");
        let effect = vec![
            format!("{pending} = {pending} - {count}"),
            format!("{name}_complete()"),
        ];
        let expected = match self.start {
            CellStart::Mbarrier(expected) | CellStart::Uninitialized(expected) => expected,
            _ => 0,
        };
        // A literal beyond 32 bits would not be read as written.
        let enough = match count <= expected {
            true => format!("{count} <= {pending}"),
            false => "false".to_owned(),
        };
        let (guard, undefined) = match self.explicit() {
            true => (
                format!("!{name}_ready || {enough}"),
                format!("{name}_ready && !({enough})"),
            ),
            false => (enough.clone(), format!("!({enough})")),
        };
        // An element that counts no bytes always has an arrival pending.
        let undefined = (count > 1 || self.bytes).then_some(undefined);
        Step {
            guard: undefined.is_some().then_some(guard),
            effect: self.if_ready(effect),
            undefined,
            then: None,
        }
    }

    fn deliver(&self, bytes: i64) -> Vec<String> {
        let name = &self.name;
        let (tx, pending) = (format!("{name}_tx"), format!("{name}_pending"));
        // The first bytes complete the phase, and the rest counts in the next one.
        let spill = format!("{pending} == 0 && 0 < {tx} && {tx} < {bytes}");
        let rest = format!("{tx} = {tx} - {bytes}");
        let (CellStart::Mbarrier(expected) | CellStart::Uninitialized(expected)) = self.start
        else {
            return Vec::new();
        };
        self.if_ready(vec![format!(
            "if :: {spill} -> {name}_phase = 1 - {name}_phase; {pending} = {expected}; {rest} \
             :: else -> {rest}; {name}_complete() fi"
        )])
    }

    fn register(&self, member: usize, op: &Op, count: i64) -> Step {
        let name = &self.name;
        let needed = count / 32;
        let mut effect = vec![format!("{name}_registered++")];
        // A warp may have arrived before in the same generation. So the registration that it waits for is stored
        // separately.
        let blocks = matches!(op.kind, OpKind::Sync(_));
        let part = self.part(member);
        if blocks {
            effect.push(format!("{part} = 1"));
        }
        let mut fits = None;
        if self.counts.len() > 1 {
            let open = format!("{name}_open");
            fits = Some(format!("{open} == 0 || {open} == {count}"));
            effect.push(format!("{open} = {count}"));
        }
        effect.push(format!(
            "if :: {name}_registered >= {needed} -> {name}_complete() :: else fi"
        ));
        Step {
            undefined: fits.as_ref().map(|fits| format!("!({fits})")),
            guard: fits,
            effect,
            then: blocks.then(|| format!("!{part}")),
        }
    }
}
