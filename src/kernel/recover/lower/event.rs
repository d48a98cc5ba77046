//! Lowers events: their operands become integer expressions.

use std::borrow::Cow;

use super::Lowerer;
use super::Result;
use super::counter::differs_between_ctas;
use super::phi_values::PhiValue;
use super::refuse;
use crate::ir::Location;
use crate::meaning::Domain;
use crate::recover::family;
use crate::recover::launch::is_launch;
use crate::recover::number::Number;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Object;
use crate::recover::role_ir::Work;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::tree::Event;
use crate::recover::tree::EventKind;
use crate::recover::tree::Statement;

/// Assumed where a warp initialises an mbarrier without choosing a lane. The lanes write the same
/// at once. What PTX says about several initialisations is about one after another.
pub const INITIALISED_TOGETHER: &str =
    "lanes of a warp that initialise one mbarrier at once initialise it once";

/// The most arrivals, and bytes, that an mbarrier counts. Source: PTX ISA, "Contents of the mbarrier object".
const MOST_PENDING: i128 = (1 << 20) - 1;

/// Bulk copies are of multiples of so many bytes. Source: PTX ISA, "cp.async.bulk".
const CHUNK: i128 = 16;

/// Assumed of sizes that the launch decides.
const SIZED: &str = "bulk copies are of multiples of 16 bytes, and of less than 2^20";

/// The numbers of columns in which tensor memory is allocated. Source: PTX ISA, "tcgen05.alloc".
const COLUMNS: [i128; 5] = [32, 64, 128, 256, 512];

/// How many registers `setmaxnreg` may ask for, in steps of 8. Source: PTX ISA, "setmaxnreg".
const REGISTERS: std::ops::RangeInclusive<i128> = 24..=256;

/// What a response of cluster launch control writes. Source: PTX ISA, "clusterlaunchcontrol.try_cancel".
const RESPONSE_BYTES: i128 = 16;

/// Refuses more bytes than an mbarrier counts.
fn countable(bytes: &Number, location: &Location) -> Result<()> {
    match bytes.as_constant() {
        Some(bytes) if !(0..=MOST_PENDING).contains(&bytes) => {
            refuse("an mbarrier counts up to 2^20 - 1 bytes", location)
        }
        _ => Ok(()),
    }
}

impl Lowerer<'_> {
    /// How many of the events that follow one go with it: up to the last one that depends on the
    /// same choice.
    pub(super) fn decided_alike(&self, choice: TermId, behind: &[Statement]) -> usize {
        let mut last = 0;
        for (at, statement) in behind.iter().enumerate() {
            let Statement::Event(event) = statement else {
                break;
            };
            let terms = event.kind.terms();
            if terms
                .iter()
                .any(|term| self.arena.terms.parts(*term).contains(&choice))
            {
                last = at + 1;
            }
        }
        last
    }

    /// Lowers events whose operands have no form because the launch chooses between values: once
    /// for each choice.
    pub(super) fn split(
        &mut self,
        choice: TermId,
        event: &Event,
        more: &[Statement],
        lines: &mut Vec<Line>,
    ) -> Result<()> {
        let mut side = |truth: u128| -> Vec<Statement> {
            let constant = self.arena.terms.constant(truth, 1);
            let first = Statement::Event(event.clone());
            std::iter::once(&first)
                .chain(more)
                .cloned()
                .map(|mut statement| {
                    if let Statement::Event(event) = &mut statement {
                        for term in event.kind.terms_mut() {
                            *term = self.arena.terms.replaced(*term, choice, constant);
                        }
                    }
                    statement
                })
                .collect()
        };
        let (yes, no) = (side(1), side(0));
        self.conditional(choice, &yes, &no, &event.location, lines)
    }

    /// Whether an operand, or the offset of an address, has a form: it is a number, and not one
    /// that is just called computed.
    pub(super) fn has_form(&mut self, term: TermId) -> bool {
        let width = self.arena.terms.width_of(term);
        let (constant, parts) = self.arena.terms.linear(term);
        let parts: Vec<_> = parts
            .into_iter()
            .filter(|(part, _)| {
                !matches!(
                    self.arena.terms.node(*part),
                    Node::Atom(Atom::Shared { .. } | Atom::SharedWindow)
                )
            })
            .collect();
        let offset = self.arena.terms.sum(constant, &parts, width);
        self.number_or_state(offset)
            .is_some_and(|number| !self.is_computed(&number))
    }

    /// An event whose operands without a form are replaced by next values of loops that were left.
    pub(super) fn behind_loops<'e>(&mut self, event: &'e Event) -> Cow<'e, Event> {
        let mut event = Cow::Borrowed(event);
        if !self.left.is_empty() {
            for term in event.to_mut().kind.terms_mut() {
                if !self.has_form(*term) {
                    *term = self.with_left(*term);
                }
            }
        }
        event
    }

    /// A condition in an operand that has no form: one of the launch if there is one, or else one
    /// of counters.
    pub(super) fn choice_in(&mut self, kind: &EventKind) -> Option<TermId> {
        // A word of memory needs no choice by the launch: whichever of several numbers a CTA waits
        // for is one number of the CTA.
        let of_word = matches!(
            kind,
            EventKind::CounterWait { .. }
                | EventKind::CounterAdd { .. }
                | EventKind::CounterSet { .. }
        );
        let terms = match of_word {
            true => numbers_of_word(kind),
            false => kind.terms(),
        };
        for term in terms {
            if of_word && let Some(choice) = self.choice_by_cta(term) {
                return Some(choice);
            }
            if self.has_form(term) || of_word && self.with_products(term).is_some() {
                continue;
            }
            let parts: Vec<TermId> = self
                .arena
                .terms
                .parts(term)
                .into_iter()
                .filter(|part| {
                    self.arena.terms.width_of(*part) == 1
                        && *part != term
                        && self.arena.terms.truth(*part).is_none()
                })
                .collect();
            let (launch, others): (Vec<_>, Vec<_>) = parts
                .into_iter()
                .partition(|part| is_launch(*part, &self.arena.terms));
            for part in launch {
                if !of_word && self.condition(part).is_some() {
                    return Some(part);
                }
            }
            for part in others {
                if !self.is_of_state(part) && self.condition(part).is_some() {
                    return Some(part);
                }
            }
        }
        None
    }

    /// A condition that depends on the index of the CTA, if the term depends on that index in no
    /// other way. Then the term has two values in all CTAs, and no number of the CTA is one.
    fn choice_by_cta(&mut self, term: TermId) -> Option<TermId> {
        if !differs_between_ctas(term, &self.arena.terms) {
            return None;
        }
        let parts = self.arena.terms.parts(term);
        parts.into_iter().find(|part| {
            let choice = *part;
            self.arena.terms.width_of(choice) == 1
                && differs_between_ctas(choice, &self.arena.terms)
                && [0, 1].into_iter().all(|truth| {
                    let constant = self.arena.terms.constant(truth, 1);
                    let chosen = self.arena.terms.replaced(term, choice, constant);
                    !differs_between_ctas(chosen, &self.arena.terms)
                })
                && self.condition(choice).is_some()
        })
    }

    /// Whether a term depends on the state of a machine.
    fn is_of_state(&self, term: TermId) -> bool {
        self.arena.terms.atoms(term).iter().any(|atom| match atom {
            Atom::Phi(phi) => !matches!(self.phi_value(*phi), Some(PhiValue::Number(_))),
            _ => false,
        })
    }

    pub(super) fn event(&mut self, event: &Event, lines: &mut Vec<Line>) -> Result<()> {
        let location = &event.location;
        let mut push = |action: Action| {
            lines.push(Line::Action {
                action,
                location: location.clone(),
            });
        };
        let lanes = i128::from(event.lanes);
        match &event.kind {
            EventKind::Init { object, count } => {
                if event.lanes > 1 {
                    self.inputs
                        .assumptions
                        .insert(INITIALISED_TOGETHER.to_owned());
                }
                let object = self.object(*object, location)?;
                let Some(count) = self.constant(*count) else {
                    return refuse(
                        "how many arrivals an mbarrier expects is not known",
                        location,
                    );
                };
                if !(1..=MOST_PENDING).contains(&count) {
                    return refuse("an mbarrier counts 1 to 2^20 - 1 arrivals", location);
                }
                push(Action::Init { object, count });
            }
            EventKind::Invalidate { object } => {
                if event.lanes > 1 {
                    return refuse("several lanes invalidate one mbarrier", location);
                }
                let object = self.object(*object, location)?;
                // At a misaligned place there is no mbarrier. None is used afterwards, so nothing
                // else would tell.
                let Object { offset, .. } = &object;
                let whole = |number: &i128| number.rem_euclid(family::SIZE) == 0;
                if !whole(&offset.constant) && offset.parts.values().all(whole) {
                    return refuse(family::MISALIGNED, location);
                }
                push(Action::Invalidate { object });
            }
            EventKind::Arrive {
                object,
                count,
                expect,
            } => {
                let object = self.object(*object, location)?;
                let count = self.operand(*count, location)?;
                let arrival_counts = &mut self.inputs.arrival_counts;
                arrival_counts.note(location, count.clone(), event.lanes);
                let Some(count) = count.times(lanes) else {
                    return refuse("a number is too large", location);
                };
                match expect {
                    None => push(Action::Arrive { object, count }),
                    Some(bytes) => {
                        let bytes = self.operand(*bytes, location)?;
                        countable(&bytes, location)?;
                        if event.lanes == 1 && count == Number::constant(1) {
                            push(Action::ArriveExpect { object, bytes });
                        } else {
                            let Some(bytes) = bytes.times(lanes) else {
                                return refuse("a number is too large", location);
                            };
                            push(Action::Expect {
                                object: object.clone(),
                                bytes,
                            });
                            push(Action::Arrive { object, count });
                        }
                    }
                }
            }
            EventKind::Expect { object, bytes } => {
                let object = self.object(*object, location)?;
                let bytes = self.operand(*bytes, location)?;
                countable(&bytes, location)?;
                let Some(bytes) = bytes.times(lanes) else {
                    return refuse("a number is too large", location);
                };
                push(Action::Expect { object, bytes });
            }
            EventKind::Complete { object, bytes } => {
                let object = self.object(*object, location)?;
                let bytes = self.operand(*bytes, location)?;
                for _ in 0..lanes {
                    push(Action::Complete {
                        object: object.clone(),
                        bytes: bytes.clone(),
                    });
                }
            }
            EventKind::Wait { object, parity } => {
                let object = self.object(*object, location)?;
                let parity = self.operand(*parity, location)?;
                push(Action::Wait { object, parity });
            }
            EventKind::WaitOwn {
                object,
                number,
                class,
            } => {
                let object = self.object(*object, location)?;
                let number = self.operand(*number, location)?;
                push(Action::WaitOwn {
                    object,
                    number,
                    class: *class,
                });
            }
            EventKind::Numbered {
                object,
                number,
                class,
            } => {
                let object = self.object(*object, location)?;
                let number = self.operand(*number, location)?;
                push(Action::Numbered {
                    object,
                    number,
                    class: *class,
                });
            }
            EventKind::CounterWait { .. }
            | EventKind::CounterAdd { .. }
            | EventKind::CounterSet { .. } => {
                let all = self.of_word(&event.kind, lanes, location)?;
                all.into_iter().for_each(&mut push);
            }
            EventKind::Copy {
                object,
                bytes,
                multicast,
                pair,
            } => {
                let object = self.object(*object, location)?;
                let bytes = match bytes {
                    Some(bytes) => Some(self.operand(*bytes, location)?),
                    None => None,
                };
                if let Some(bytes) = &bytes {
                    self.take_for_a_size(bytes);
                }
                for object in self.everywhere(&object, *multicast, *pair, location)? {
                    for _ in 0..lanes {
                        push(Action::Copy {
                            object: object.clone(),
                            bytes: bytes.clone(),
                        });
                    }
                }
            }
            EventKind::CopyArrive {
                object,
                no_increment,
            } => {
                let object = self.object(*object, location)?;
                if !no_increment {
                    return refuse(
                        "an arrival that raises the pending count first is not followed",
                        location,
                    );
                }
                let arrival_counts = &mut self.inputs.arrival_counts;
                arrival_counts.note(location, Number::constant(1), event.lanes);
                // The thread goes on at once. The arrival comes when its copies have landed.
                push(Action::Commit {
                    object,
                    count: lanes,
                    work: Work::Copies,
                });
            }
            EventKind::Commit { object, multicast } => {
                let object = self.object(*object, location)?;
                let arrival_counts = &mut self.inputs.arrival_counts;
                arrival_counts.note(location, Number::constant(1), event.lanes);
                for object in self.everywhere(&object, *multicast, false, location)? {
                    push(Action::Commit {
                        object,
                        count: lanes,
                        work: Work::Tensor,
                    });
                }
            }
            EventKind::BarrierSync { barrier, threads } => {
                let barrier = self.operand(*barrier, location)?;
                let threads = match threads {
                    Some(threads) => self.operand(*threads, location)?,
                    None => Number::constant(i128::from(self.threads.div_ceil(32) * 32)),
                };
                push(Action::Sync { barrier, threads });
            }
            EventKind::BarrierArrive { barrier, threads } => {
                let barrier = self.operand(*barrier, location)?;
                let threads = self.operand(*threads, location)?;
                push(Action::BarrierArrive { barrier, threads });
            }
            EventKind::TryCancel { object, multicast } => {
                let object = self.object(*object, location)?;
                let ranks = if *multicast {
                    0..self.ctas
                } else {
                    object.rank..object.rank.saturating_add(1)
                };
                for rank in ranks {
                    let object = Object {
                        rank,
                        ..object.clone()
                    };
                    push(Action::Tried {
                        object: object.clone(),
                    });
                    push(Action::Copy {
                        object,
                        bytes: Some(Number::constant(RESPONSE_BYTES)),
                    });
                }
            }
            EventKind::Multiply(_) => {}
            EventKind::Query => push(Action::Asked),
            EventKind::RingWordLoad {
                address,
                number,
                bytes,
            } => {
                let place = address.and_then(|address| self.object(address, location).ok());
                push(Action::RingWordLoad {
                    place,
                    number: *number,
                    bytes: *bytes,
                });
            }
            EventKind::RingWordStore { address, bytes } => {
                let place = address.and_then(|address| self.object(address, location).ok());
                push(Action::RingWordStore {
                    place,
                    bytes: *bytes,
                });
            }
            EventKind::Access {
                base,
                bytes,
                access,
            } => push(self.access(*base, bytes, *access, location)?),
            EventKind::Late { base, bytes } => {
                let place = self.touched(*base, location)?;
                let bytes = bytes.clone();
                push(Action::Late { place, bytes });
            }
            EventKind::CommitGroup => push(Action::CommitGroup),
            EventKind::WaitGroup { pending, read_only } => {
                push(self.wait_group(*pending, *read_only, location)?);
            }
            EventKind::Ahead => push(Action::Ahead),
            EventKind::ClusterArrive => push(Action::ClusterArrive),
            EventKind::ClusterWait => push(Action::ClusterWait),
            EventKind::SetMaxRegisters { count, increase } => {
                let Some(count) = self.constant(*count) else {
                    return refuse("how many registers are asked for is not known", location);
                };
                if !REGISTERS.contains(&count) || count % 8 != 0 {
                    return refuse(
                        "`setmaxnreg` asks for 24 to 256 registers, in steps of 8",
                        location,
                    );
                }
                push(Action::SetMaxRegisters {
                    count,
                    increase: *increase,
                });
            }
            EventKind::TensorAllocate { columns } => {
                let columns = self.columns(*columns, location)?;
                push(Action::Allocate { columns });
            }
            EventKind::TensorDeallocate { columns } => {
                let columns = self.columns(*columns, location)?;
                push(Action::Deallocate { columns });
            }
            EventKind::TensorRelinquish => push(Action::Relinquish),
        }
        Ok(())
    }

    /// Assumes that a number is a possible size of a bulk copy, if that is not known.
    fn take_for_a_size(&mut self, bytes: &Number) {
        let whole =
            bytes.constant % CHUNK == 0 && bytes.parts.values().all(|factor| factor % CHUNK == 0);
        let few = self
            .range(bytes)
            .is_some_and(|(low, high)| low >= 0 && high <= MOST_PENDING);
        if !whole || !few {
            self.inputs.assumptions.insert(SIZED.to_owned());
        }
    }

    /// How many columns of tensor memory are allocated or given back.
    fn columns(&self, term: TermId, location: &Location) -> Result<i128> {
        match self
            .constant(term)
            .filter(|columns| COLUMNS.contains(columns))
        {
            Some(columns) => Ok(columns),
            None => refuse(
                "columns of tensor memory come as 32, 64, 128, 256 or 512",
                location,
            ),
        }
    }

    /// A term that is a constant.
    pub(super) fn constant(&self, term: TermId) -> Option<i128> {
        let value = self.arena.terms.value(term)?;
        i128::try_from(value).ok()
    }

    pub(super) fn operand(&mut self, term: TermId, location: &Location) -> Result<Number> {
        match self.number_or_state(term) {
            Some(number) => Ok(number),
            None => {
                let what = self.unknown_in(term);
                refuse(format!("an operand of this depends on {what}"), location)
            }
        }
    }
}

/// The numbers that an event waits for, adds or stores at a word of memory.
fn numbers_of_word(kind: &EventKind) -> Vec<TermId> {
    match *kind {
        EventKind::CounterWait {
            value, compared, ..
        } => [value].into_iter().chain(compared).collect(),
        EventKind::CounterAdd { value, .. } | EventKind::CounterSet { value, .. } => vec![value],
        _ => Vec::new(),
    }
}
