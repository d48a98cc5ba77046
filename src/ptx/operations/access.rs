//! Accesses to shared memory, and what orders them: the bytes that the lanes of a warp read and write, and the
//! asynchronous accesses that they start. They are recovered only if a property needs them. Blocking does not depend on
//! them, so otherwise an unknown address is no obstacle.

use std::rc::Rc;

use super::instruction::Done;
use crate::ptx::path::walk::Walker;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::syntax::ast::Operand;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::State;
use crate::ptx::warp::machine::TENSOR;
use crate::ptx::warp::machine::Touched;
use crate::ptx::warp::machine::both;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Area;
use crate::ptx::warp::statement::How;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::value::Integer;
use crate::ptx::warp::value::Value;

/// Accesses are put together at once up to so many runs of bytes.
const MOST_RUNS: usize = 64;

/// What an instruction does to data in shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Nothing.
    None,
    /// Each lane reads or writes so many bytes at its address.
    Plain(How, i128),
    /// As `ldmatrix` and `stmatrix`: so many lanes name rows of 16 bytes.
    Rows(How, u32),
    /// `cp.async`, of so many bytes per lane.
    Fill(i128),
    /// A bulk copy out of shared memory.
    Drain,
    /// A bulk copy that an mbarrier is told of: what it writes is noted with that.
    Bulk,
    CommitGroup,
    /// For all but so many, and whether only for what they read.
    WaitGroup,
    /// A multiplication of a warpgroup.
    Warpgroup,
    /// A multiplication that one thread starts.
    Tensor,
    /// An access of a warp to tensor memory.
    Columns(How),
    /// Waits for accesses to tensor memory: whether for those that write.
    Finish(bool),
    Fence,
    /// An mbarrier is told of the copies that each lane has started.
    ArriveWhenCopied,
    /// Something that is not followed, and why.
    Strange(&'static str),
}

/// Whether an instruction takes part in what reads and writes shared memory see.
pub(in crate::ptx) fn accesses(instruction: &Instruction<'_>) -> bool {
    kind(instruction) != Kind::None
}

fn kind(instruction: &Instruction<'_>) -> Kind {
    let parts: Vec<&str> = instruction.parts().collect();
    let opcode = instruction.opcode;
    let shared = opcode.contains("shared");
    // Without a state space the address says which memory is meant.
    let elsewhere = ["global", "local", "param", "const", "tex"];
    let generic = !shared && !elsewhere.iter().any(|space| opcode.contains(space));
    let strong = ["volatile", "relaxed", "acquire", "release", "mmio"];
    match parts.as_slice() {
        ["ld" | "st", ..] if shared || generic => {
            if parts.contains(&"async") || parts.contains(&"bulk") {
                return Kind::Strange("this store is not modelled");
            }
            if shared && strong.iter().any(|s| parts.contains(s)) {
                return Kind::Strange("accesses that synchronize by themselves are not modelled");
            }
            let how = if parts.first() == Some(&"ld") {
                How::Read
            } else {
                How::Write
            };
            match width(&parts) {
                Some(bytes) => Kind::Plain(how, bytes),
                None => Kind::Strange("how many bytes it is about is not known"),
            }
        }
        ["atom" | "red", ..] if shared => {
            Kind::Strange("atomic operations on shared memory are not modelled as accesses")
        }
        ["ldmatrix" | "stmatrix", ..] => {
            let how = if parts.first() == Some(&"ldmatrix") {
                How::Read
            } else {
                How::Write
            };
            let rows = match (
                parts.contains(&"m8n8"),
                parts.iter().find(|p| p.starts_with('x')),
            ) {
                (true, Some(&"x1")) => 8,
                (true, Some(&"x2")) => 16,
                (true, Some(&"x4")) => 32,
                _ => return Kind::Strange("matrices of this shape are not modelled"),
            };
            Kind::Rows(how, rows)
        }
        ["cp", "async", "wait_all" | "wait_group", ..]
        | ["cp", "async", "bulk", "wait_group", ..] => Kind::WaitGroup,
        ["cp", "async", "commit_group"] | ["cp", "async", "bulk", "commit_group"] => {
            Kind::CommitGroup
        }
        ["cp", "async", "mbarrier", ..] => Kind::ArriveWhenCopied,
        ["cp", "async", "bulk", "prefetch", ..] => Kind::None,
        ["cp", "async", "bulk", ..] if opcode.contains("mbarrier::complete_tx") => {
            if opcode.contains(".shared::cluster.shared::cta") {
                Kind::Strange("copies between CTAs are not modelled as accesses")
            } else {
                Kind::Bulk
            }
        }
        ["cp", "async", "bulk", ..] | ["cp", "reduce", "async", "bulk", ..] => Kind::Drain,
        ["cp", "async", ..] => match instruction.operands.get(2) {
            Some(Operand::Integer(bytes)) => Kind::Fill(i128::from(*bytes)),
            _ => Kind::Strange("how many bytes it is about is not known"),
        },
        ["fence" | "membar", ..] => Kind::Fence,
        ["wgmma", "mma_async", ..] => Kind::Warpgroup,
        ["wgmma", "commit_group", ..] => Kind::CommitGroup,
        ["wgmma", "wait_group", ..] => Kind::WaitGroup,
        ["tcgen05", "mma", ..] => Kind::Tensor,
        ["tcgen05", "ld", ..] => Kind::Columns(How::Read),
        ["tcgen05", "st", ..] => Kind::Columns(How::Write),
        ["tcgen05", "wait::ld", ..] => Kind::Finish(false),
        ["tcgen05", "wait::st", ..] => Kind::Finish(true),
        ["tcgen05", "cp" | "shift", ..] => {
            Kind::Strange("which memory the tensor cores work on is not followed")
        }
        ["wmma" | "tensormap" | "multimem", ..] if shared => {
            Kind::Strange("this is not modelled as an access")
        }
        _ => Kind::None,
    }
}

/// The bytes that one lane reads or writes.
fn width(parts: &[&str]) -> Option<i128> {
    let kind = parts.last()?;
    let bits: i128 = kind
        .trim_start_matches(|c: char| c.is_ascii_alphabetic())
        .trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == 'x')
        .parse()
        .ok()?;
    let bits = match *kind {
        "f16x2" | "bf16x2" => 32,
        _ => bits,
    };
    if !matches!(bits, 8 | 16 | 32 | 64 | 128) {
        return None;
    }
    let vector = match parts {
        _ if parts.contains(&"v2") => 2,
        _ if parts.contains(&"v4") => 4,
        _ if parts.contains(&"v8") => 8,
        _ => 1,
    };
    Some(bits / 8 * vector)
}

/// How an operation on an mbarrier or a cluster barrier orders memory, as the language writes it
/// after the verb; empty for what goes without saying.
pub(in crate::ptx) fn ordering(instruction: &Instruction<'_>) -> &'static str {
    let has = |part: &str| instruction.has(part);
    match instruction.parts().next() {
        Some("mbarrier") if has("relaxed") => match () {
            () if has("cluster") => ".relaxed.cluster",
            () => ".relaxed.cta",
        },
        Some("mbarrier") if has("cluster") => match () {
            () if has("release") => ".release.cluster",
            () if has("acquire") => ".acquire.cluster",
            () => "",
        },
        Some("barrier") if has("cluster") && has("arrive") && has("relaxed") => ".relaxed",
        _ => "",
    }
}

/// A fence as the language writes it; nothing where it has no bearing on shared memory.
fn fence(instruction: &Instruction<'_>) -> Result<Option<&'static str>, &'static str> {
    let has = |part: &str| instruction.has(part);
    let parts: Vec<&str> = instruction.parts().collect();
    let opcode = instruction.opcode;
    if has("sync_restrict::shared::cta") || opcode.contains("sync_restrict") {
        return Err("this fence is not modelled");
    }
    Ok(match parts.as_slice() {
        ["fence", "proxy", "async", rest @ ..] => {
            (!rest.contains(&"global")).then_some("fence.proxy.async")
        }
        ["fence", "proxy", ..] | ["fence", "mbarrier_init", ..] => None,
        ["membar", "proxy", ..] => None,
        ["membar", level, ..] => Some(match *level {
            "cta" => "fence.acq_rel.cta",
            "gl" => "fence.acq_rel.gpu",
            _ => "fence.acq_rel.sys",
        }),
        ["fence", ..] => {
            let order = match () {
                () if has("acquire") => 0,
                () if has("release") => 1,
                () => 2,
            };
            let scope = match () {
                () if has("cta") => 0,
                () if has("cluster") => 1,
                () if has("gpu") => 2,
                () => 3,
            };
            const WORDS: [[&str; 4]; 3] = [
                [
                    "fence.acquire.cta",
                    "fence.acquire.cluster",
                    "fence.acquire.gpu",
                    "fence.acquire.sys",
                ],
                [
                    "fence.release.cta",
                    "fence.release.cluster",
                    "fence.release.gpu",
                    "fence.release.sys",
                ],
                [
                    "fence.acq_rel.cta",
                    "fence.acq_rel.cluster",
                    "fence.acq_rel.gpu",
                    "fence.acq_rel.sys",
                ],
            ];
            Some(WORDS[order][scope])
        }
        _ => None,
    })
}

/// Sorted, without overlaps.
pub(in crate::ptx) fn merged(mut bytes: Vec<(i128, i128)>) -> Rc<[(i128, i128)]> {
    bytes.sort_unstable();
    let mut all: Vec<(i128, i128)> = Vec::new();
    for (from, to) in bytes {
        match all.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => all.push((from, to)),
        }
    }
    all.into()
}

/// Adds an access to the one of its kind that stands directly before it and moves in the same way.
fn widened(last: Option<&mut Statement>, how: How, area: &Area) -> bool {
    let Some(Action::Touch(before, whole)) = last.map(|s| &mut s.action) else {
        return false;
    };
    let by = area.address.minus(&whole.address).as_constant();
    let (Some(by), true) = (by, *before == how && whole.bytes.len() < MOST_RUNS) else {
        return false;
    };
    let more = area.bytes.iter().map(|b| (b.0 + by, b.1 + by));
    whole.bytes = merged(whole.bytes.iter().copied().chain(more).collect());
    true
}

/// Copies that threads start (`cp.async`).
#[derive(Debug, Clone, Copy)]
pub(in crate::ptx) struct Copying {
    /// The lanes that start some.
    started: u32,
    /// The lanes that wait for all of theirs, wherever some do.
    waited: u32,
}

impl Default for Copying {
    fn default() -> Self {
        Self {
            started: 0,
            waited: u32::MAX,
        }
    }
}

impl Walker<'_, '_, '_> {
    /// Notes what an instruction does to data, where that is followed.
    pub fn access(
        &mut self,
        instruction: &Instruction<'_>,
        lanes: u32,
        state: &mut State,
        out: &mut Vec<Statement>,
    ) -> Done {
        if !self.data {
            return Ok(());
        }
        let (how, bytes, lanes) = match kind(instruction) {
            Kind::None | Kind::Bulk => return Ok(()),
            Kind::Strange(why) => return self.refuse(instruction, why),
            Kind::Fence => {
                match fence(instruction) {
                    Ok(Some(words)) => {
                        self.fence_of(instruction, lanes, state)?;
                        self.push(out, instruction, Action::Fence(words));
                    }
                    Ok(None) => {}
                    Err(why) => return self.refuse(instruction, why),
                }
                return Ok(());
            }
            Kind::ArriveWhenCopied => {
                self.copying.waited &= lanes;
                return self.all_waited_for(instruction);
            }
            Kind::CommitGroup => {
                let multiplies = instruction.has("wgmma");
                if !multiplies {
                    self.grouped(instruction, lanes, state)?;
                } else if lanes != state.whole {
                    return self.refuse(instruction, "only some lanes of the warp are here");
                }
                self.push(out, instruction, Action::CommitGroup(multiplies));
                return Ok(());
            }
            Kind::Warpgroup => {
                self.behind_fence(instruction, lanes, state)?;
                return self.warpgroup_matrices(instruction, lanes, state, out);
            }
            Kind::Tensor => {
                self.behind_fence(instruction, lanes, state)?;
                return self.tensor_matrices(instruction, lanes, state, out);
            }
            Kind::Columns(how) => {
                return self.tensor_access(instruction, how, lanes, state, out);
            }
            Kind::Finish(writes) => {
                self.unfinished[usize::from(writes)] = None;
                return Ok(());
            }
            Kind::WaitGroup => return self.groups(instruction, lanes, state, out),
            Kind::Drain => return self.drained(instruction, lanes, state, out),
            Kind::Plain(how, bytes) => (how, bytes, lanes),
            Kind::Rows(..) if lanes != state.whole => {
                return self.undefined(
                    instruction,
                    "all lanes of the warp have to carry this out together",
                );
            }
            Kind::Rows(how, rows) => {
                let named = u32::MAX >> (32 - rows);
                (how, 16, lanes & named)
            }
            Kind::Fill(bytes) => {
                self.grouped(instruction, lanes, state)?;
                self.copying.started |= lanes;
                self.all_waited_for(instruction)?;
                (How::Fill, bytes, lanes)
            }
        };
        if how == How::Read && lanes & state.touched.unfenced != 0 && self.relaxes() {
            self.behind_fence(instruction, lanes, state)?;
        }
        let address = instruction.operands.iter();
        let address = address
            .clone()
            .find(|o| matches!(o, Operand::Address { .. }));
        let Some(integer) = self.shared(instruction, address, state)? else {
            return Ok(());
        };
        let area = self.area(instruction, &integer, lanes, bytes, state)?;
        // Where the tensor memory lies is written once, before anybody reads it.
        let told = how == How::Read && self.machine.tensors.contains(&area.address);
        if !told {
            let now = match how {
                How::Write | How::Fill | How::Accumulate => Touched {
                    written: lanes,
                    ..Touched::default()
                },
                How::Read | How::Drain | How::Take => Touched {
                    read: lanes,
                    ..Touched::default()
                },
            };
            let all = i128::from(lanes.count_ones()) * bytes;
            let apart = area.bytes.iter().map(|(from, to)| to - from).sum::<i128>() == all;
            self.machine.in_step |=
                state.touched.meets(now) || !apart && now.written.count_ones() > 1;
            state.touched |= now;
        }
        if !widened(out.last_mut(), how, &area) {
            self.push(out, instruction, Action::Touch(how, area));
        }
        Ok(())
    }

    /// An address in shared memory; nothing if it is one of other memory.
    fn shared(
        &mut self,
        instruction: &Instruction<'_>,
        operand: Option<&Operand<'_>>,
        state: &mut State,
    ) -> Result<Option<Integer>, Obstacle> {
        let Some(operand) = operand else {
            self.refuse(instruction, "it has no address")?;
            return Ok(None);
        };
        let integer = match self.machine.value(operand, state, instruction.at) {
            Value::Integer(integer) if self.machine.parts_lanes(&integer.sum) => {
                self.refuse(instruction, "its lanes mean different CTAs")?;
                return Ok(None);
            }
            Value::Integer(integer) => integer,
            Value::Lost(loss) => {
                let mut obstacle = self.obstacle(
                    instruction,
                    &format!("its address: {}", self.machine.because(operand, &loss)),
                );
                obstacle.from = Some(loss.at);
                return Err(obstacle);
            }
            _ => {
                self.refuse(instruction, "its address is no integer")?;
                return Ok(None);
            }
        };
        let based = integer.sum.terms.iter().any(|(atom, factor)| match atom {
            Atom::Unknown(u) => {
                let meaning = self.machine.unknowns.meaning(*u);
                *factor == 1 && matches!(meaning, Some(Meaning::Shared(name)) if name != TENSOR)
            }
            _ => false,
        });
        // While a guess is made, what a loop carries is not known yet.
        if based || self.machine.guessing {
            return Ok(Some(integer));
        }
        let elsewhere =
            self.pointer(&integer.sum).is_some() || self.machine.in_parameter(&integer).is_some();
        if !instruction.opcode.contains("shared") && elsewhere {
            return Ok(None);
        }
        self.refuse(instruction, "its address is based on no shared variable")?;
        Ok(None)
    }

    /// The bytes of these lanes, so many from the address of each.
    fn area(
        &mut self,
        instruction: &Instruction<'_>,
        address: &Integer,
        lanes: u32,
        width: i128,
        state: &State,
    ) -> Result<Area, Obstacle> {
        let mut bytes = Vec::new();
        for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
            let from = address.lanes.as_ref().map_or(0, |l| l[lane]);
            bytes.push((from, from + width));
        }
        let sum = state.facts.rewritten(&address.sum);
        self.followed(instruction, &sum)?;
        Ok(Area {
            address: sum,
            bytes: merged(bytes),
            cells: Vec::new(),
        })
    }

    /// What a bulk copy that an mbarrier is told of writes.
    pub fn filled(
        &mut self,
        instruction: &Instruction<'_>,
        bytes: Option<&Sum>,
        state: &mut State,
    ) -> Result<Option<Area>, Obstacle> {
        if !self.data {
            return Ok(None);
        }
        let width = match bytes.map(Sum::as_constant) {
            None => 0,
            Some(Some(bytes)) => bytes,
            Some(None) => {
                self.refuse(instruction, "how much it writes is not a constant")?;
                0
            }
        };
        let Some(address) = self.shared(instruction, instruction.operands.first(), state)? else {
            return Ok(None);
        };
        let sum = self.one(instruction, &address, state)?;
        Ok(Some(Area {
            address: sum,
            bytes: if width > 0 {
                [(0, width)].into()
            } else {
                Rc::new([])
            },
            cells: Vec::new(),
        }))
    }

    /// A bulk copy out of shared memory.
    fn drained(
        &mut self,
        instruction: &Instruction<'_>,
        lanes: u32,
        state: &mut State,
        out: &mut Vec<Statement>,
    ) -> Done {
        self.grouped(instruction, lanes, state)?;
        self.behind(instruction, lanes, state)?;
        self.behind_fence(instruction, lanes, state)?;
        if lanes.count_ones() != 1 {
            return self.refuse(instruction, "more than one lane starts the copy");
        }
        if instruction.opcode.contains("shared::cluster") {
            return self.refuse(
                instruction,
                "copies between CTAs are not modelled as accesses",
            );
        }
        let mut seen = state.narrowed(lanes);
        // A tensor copy does not say how much it reads.
        let bytes = if instruction.has("tensor") {
            None
        } else {
            let bytes = self.uniform(instruction, instruction.operands.get(2), &mut seen)?;
            let Some(bytes) = bytes.as_constant().filter(|bytes| *bytes > 0) else {
                return self.refuse(instruction, "how much it reads is not a constant");
            };
            Some(bytes)
        };
        let from = instruction.operands.get(1);
        let Some(address) = self.shared(instruction, from, &mut seen)? else {
            return Ok(());
        };
        let address = self.one(instruction, &address, &mut seen)?;
        let area = Area {
            address,
            bytes: bytes.map(|bytes| (0, bytes)).into_iter().collect(),
            cells: Vec::new(),
        };
        self.push(out, instruction, Action::Touch(How::Drain, area));
        Ok(())
    }

    /// Waits for groups of copies.
    fn groups(
        &mut self,
        instruction: &Instruction<'_>,
        lanes: u32,
        state: &mut State,
        out: &mut Vec<Statement>,
    ) -> Done {
        let multiplies = instruction.has("wgmma");
        if !multiplies {
            self.grouped(instruction, lanes, state)?;
        }
        // Lanes that do not wait may be ahead.
        if lanes != state.whole {
            state.apart = both(state.apart, Some(lanes));
        }
        if instruction.has("wait_all") {
            self.copying.waited &= lanes;
            self.all_waited_for(instruction)?;
            self.push(out, instruction, Action::CommitGroup(false));
            self.push(out, instruction, Action::WaitGroup(0, false, false));
            return Ok(());
        }
        let Some(Operand::Integer(most)) = instruction.operands.first() else {
            return self.refuse(instruction, "the number of groups is not a constant");
        };
        let read = instruction.has("read");
        let action = Action::WaitGroup(i128::from(*most), read, multiplies);
        self.push(out, instruction, action);
        Ok(())
    }

    /// The groups of a warp are those of one engine and of the same lanes throughout: only then are
    /// they one sequence.
    fn grouped(&mut self, instruction: &Instruction<'_>, lanes: u32, state: &State) -> Done {
        let bulk = instruction.has("bulk");
        let all = lanes == state.whole;
        let lanes = if all && !bulk { u32::MAX } else { lanes };
        // What some lanes copy with others is waited for with those others.
        let lanes = if bulk || instruction.has("commit_group") || instruction.has("wait_group") {
            lanes
        } else {
            u32::MAX
        };
        match self.groups {
            None => {
                self.groups = Some((bulk, lanes));
                Ok(())
            }
            Some(before) if before == (bulk, lanes) => Ok(()),
            Some(_) => self.refuse(
                instruction,
                "the warp makes groups of copies in two ways, which are not told apart",
            ),
        }
    }

    /// Each lane waits for the copies that it has started, and tells an mbarrier of these. Refuses where other lanes have started
    /// some: nobody waits for those.
    fn all_waited_for(&self, instruction: &Instruction<'_>) -> Done {
        if self.copying.started & !self.copying.waited == 0 {
            return Ok(());
        }
        self.refuse(
            instruction,
            "lanes of the warp start copies, and others wait for theirs, or tell an mbarrier of theirs: which copies are complete is \
             not told apart",
        )
    }

    /// A fence orders what its own lane has done, and what that lane knows to be done. In the language it orders what the warp has
    /// done. So the other lanes of the warp must not have written anything that this lane does not know of, and what they do after
    /// the fence must not rely on it before the lanes have met.
    ///
    /// Of a fence of threads only relaxed operations have any use.
    fn fence_of(&self, instruction: &Instruction<'_>, lanes: u32, state: &mut State) -> Done {
        let proxy = instruction.has("proxy");
        if lanes == state.whole || !proxy && !self.relaxes() {
            return Ok(());
        }
        self.ordered(instruction, lanes, state)?;
        if state.touched.written & !lanes != 0 {
            return self.refuse(
                instruction,
                "only some lanes carry out this fence, and others have written to shared memory before: it does not order their writes, \
                 unless a `bar.warp.sync` stands in front of it",
            );
        }
        state.touched.unfenced |= state.whole & !lanes;
        Ok(())
    }

    /// Whether operations are relaxed, so that fences order what they tell.
    fn relaxes(&self) -> bool {
        let relaxed = |other: &Instruction<'_>| {
            other.has("relaxed") && matches!(other.parts().next(), Some("mbarrier" | "barrier"))
        };
        self.has_counters() || self.machine.function.code.iter().any(relaxed)
    }

    /// Refuses what lanes do that may be ahead of a fence of others, where that fence might order it.
    fn behind_fence(&self, instruction: &Instruction<'_>, lanes: u32, state: &State) -> Done {
        if lanes & state.touched.unfenced == 0 {
            return Ok(());
        }
        self.refuse(
            instruction,
            "only some lanes carried out the fence before, and others may come here ahead of it: a `bar.warp.sync` is missing",
        )
    }

    /// Refuses to let lanes tell others that something was done which other lanes of the warp may
    /// not have done yet.
    pub fn behind(&self, instruction: &Instruction<'_>, lanes: u32, state: &State) -> Done {
        if !self.data {
            return Ok(());
        }
        // Of lanes that tell somebody together, one that has passed the fence is enough.
        if lanes & !state.touched.unfenced == 0 {
            self.behind_fence(instruction, lanes, state)?;
        }
        if state.touched.lanes() & !lanes == 0 {
            return Ok(());
        }
        self.refuse(
            instruction,
            "other lanes of the warp use shared memory before, and may not have done so when this \
             is done: a `bar.warp.sync` is missing",
        )
    }
}
