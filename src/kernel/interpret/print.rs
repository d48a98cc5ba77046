//! Prints traces. Warps with equal traces are printed together, and repeated parts as loops.

use std::fmt::Write;

use rustc_hash::FxHashMap;

use super::event::Access;
use super::event::Event;
use super::event::EventKind;
use super::event::Object;
use super::event::Place;
use super::event::Region;
use super::fold::Folded;
use super::fold::Part;
use super::fold::fold;
use super::launch::Launch;
use super::launch::Waits;
use super::trace::Awaited;
use super::trace::Outcome;
use super::trace::Trace;
use super::trace::Waiting;
use super::trace::WarpTrace;
use super::value::LANES;
use super::value::Lanes;
use crate::ir::GroupKind;
use crate::ir::Kernel;

/// A trace as text.
pub fn text(kernel: &Kernel, launch: &Launch, trace: &Trace) -> String {
    let mut printer = Printer {
        kernel,
        trace,
        lines: Vec::new(),
        numbers: FxHashMap::default(),
        out: String::new(),
    };
    printer.head(launch);
    for (rank, cta) in (0_u32..).zip(&trace.ctas) {
        if trace.ctas.len() > 1 {
            printer.line(0, &format!("cta {rank} of the cluster:"));
        }
        let mut first = 0;
        while let Some(warp) = cta.warps.get(first) {
            let numbers = printer.numbered(warp, rank);
            let alike = cta.warps[first..].iter().take_while(|other| {
                let alike = other.exited == warp.exited && other.decisions == warp.decisions;
                alike && printer.numbered(other, rank) == numbers
            });
            let count = alike.count().max(1);
            let folded = fold(numbers);
            let name = match count {
                1 => format!("warp {first}"),
                _ => format!("warps {first}..{}", first + count - 1),
            };
            printer.section(&name, warp, &folded);
            first += count;
        }
    }
    printer.outcome();
    printer.out
}

struct Printer<'t> {
    kernel: &'t Kernel,
    trace: &'t Trace,
    lines: Vec<(String, Place)>,
    numbers: FxHashMap<(String, Place), u32>,
    out: String,
}

impl Printer<'_> {
    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.out, "{:1$}{text}", "", 2 * depth);
    }

    fn head(&mut self, launch: &Launch) {
        let extents = |[x, y, z]: [u32; 3]| format!("{x} x {y} x {z}");
        let waits = match launch.waits {
            Waits::Pass => "every wait passes",
            Waits::Meet => "every wait passes but those for all threads",
            Waits::Simulate => "simulated",
        };
        self.line(0, &format!("{}: {waits}", self.kernel.name));
        self.line(1, &format!("threads {}", extents(launch.threads)));
        self.line(1, &format!("grid {}", extents(launch.grid)));
        if launch.cluster != [1; 3] {
            self.line(1, &format!("cluster {}", extents(launch.cluster)));
        }
        if launch.cta != [0; 3] {
            let [x, y, z] = launch.cta;
            self.line(1, &format!("cta {x}, {y}, {z}"));
        }
        for parameter in &self.kernel.parameters {
            let shown = match launch.given(parameter.offset, parameter.size) {
                Some(bytes) if bytes.len() <= 8 => {
                    let mut word = [0; 8];
                    word[..bytes.len()].copy_from_slice(bytes);
                    let number = u64::from_le_bytes(word);
                    if number < 1 << 32 {
                        number.to_string()
                    } else {
                        format!("{number:#x}")
                    }
                }
                Some(bytes) => format!("{} bytes", bytes.len()),
                None => "not given".to_owned(),
            };
            self.line(1, &format!("{} = {shown}", parameter.name));
        }
    }

    /// The trace of a warp as a list of numbers, one for each event. Equal lines of text have equal numbers, so two warps
    /// with the same list have the same trace.
    fn numbered(&mut self, warp: &WarpTrace, cta: u32) -> Vec<u32> {
        let events = warp.events.iter();
        events
            .map(|event| self.number(event, &warp.regions, cta))
            .collect()
    }

    fn number(&mut self, event: &Event, regions: &[Region], cta: u32) -> u32 {
        let mut text = String::new();
        if let Some(object) = event.object {
            text = self.trace.layout.describe(object);
            if let Object::Shared { cta: of, .. } = object
                && of != cta
            {
                let _ = write!(text, " of cta {of}");
            }
            text.push_str(": ");
        }
        match event.kind {
            EventKind::Access { access, region } => {
                let region = regions.get(region as usize);
                text.push_str(&self.access(access, region, cta));
            }
            kind => text.push_str(&words(kind)),
        }
        if event.lanes != Lanes::MAX {
            let _ = write!(text, ", {}", lanes(event.lanes));
        }
        if event.partial {
            text.push_str(", not by the whole warp");
        }
        if !event.reasons.is_none() {
            let _ = write!(
                text,
                ", depends on {}",
                self.reasons(self.trace.reasons(event.reasons))
            );
        }
        let key = (text, event.place);
        if let Some(known) = self.numbers.get(&key) {
            return *known;
        }
        let number = u32::try_from(self.lines.len()).unwrap_or(u32::MAX);
        self.lines.push(key.clone());
        self.numbers.insert(key, number);
        number
    }

    /// The bytes that an access reads or writes.
    fn access(&self, access: Access, region: Option<&Region>, cta: u32) -> String {
        let mut text = access.to_string();
        let ranges = region.map_or(&[][..], |region| &region.ranges);
        let mut rest = ranges;
        while let Some((at, from, to)) = rest.first() {
            // Ranges of equal length at equal distances are printed as one.
            let step = rest
                .get(1)
                .map_or(0, |(_, next, _)| next.saturating_sub(*from));
            let regular = (0_u64..).zip(rest).take_while(|(number, range)| {
                let more = number.saturating_mul(step);
                **range == (*at, from.saturating_add(more), to.saturating_add(more))
            });
            let count = regular.count().max(1);
            let address = u32::try_from(*from).unwrap_or(u32::MAX);
            let object = Object::Shared { cta: *at, address };
            let name = self.trace.layout.describe(object);
            let comma = if rest.len() < ranges.len() { "," } else { "" };
            let _ = write!(text, "{comma} {name}..+{}", to - from);
            if *at != cta {
                let _ = write!(text, " of cta {at}");
            }
            let count = if count > 2 { count } else { 1 };
            if count > 1 {
                let _ = write!(text, " {count} times, {step} apart");
            }
            rest = rest.get(count..).unwrap_or_default();
        }
        text
    }

    fn reasons(&self, places: &[Place]) -> String {
        let mut all: Vec<String> = places.iter().map(|place| self.place(*place)).collect();
        all.dedup();
        all.join(", ")
    }

    /// The source line of a place, or else the line of the text that was read.
    fn place(&self, place: Place) -> String {
        let Some(location) = place.location(self.kernel) else {
            return "nowhere".to_owned();
        };
        match location.source.first() {
            Some(source) => {
                let file = source.file.rsplit(['/', '\\']).next().unwrap_or_default();
                format!("{file}:{}", source.line)
            }
            None => format!("line {}", location.line),
        }
    }

    fn section(&mut self, name: &str, warp: &WarpTrace, folded: &Folded) {
        let events = match warp.events.len() {
            0 => "no events".to_owned(),
            1 => "1 event".to_owned(),
            count => format!("{count} events"),
        };
        self.line(0, &format!("{name}: {events}"));
        self.parts(&folded.sequence, folded, 1);
        for decision in &warp.decisions {
            let reasons = self.reasons(self.trace.reasons(decision.reasons));
            let place = self.place(decision.place);
            self.line(
                1,
                &format!("not certain: the branch at {place} depends on {reasons}"),
            );
        }
    }

    fn parts(&mut self, parts: &[u32], folded: &Folded, depth: usize) {
        for number in parts {
            match folded.part(*number) {
                Some(Part::Item(item)) => {
                    let Some((text, place)) = self.lines.get(*item as usize).cloned() else {
                        continue;
                    };
                    let width = 60_usize.saturating_sub(2 * depth);
                    let place = self.place(place);
                    self.line(depth, &format!("{text:width$}  {place}"));
                }
                Some(Part::Repeat(count, body)) => {
                    self.line(depth, &format!("repeat {count}x {{"));
                    self.parts(body, folded, depth + 1);
                    self.line(depth, "}");
                }
                None => {}
            }
        }
    }

    fn outcome(&mut self) {
        match &self.trace.outcome {
            Outcome::Finished => {}
            Outcome::Trap { place } => {
                let text = format!("the kernel aborts at {}", self.place(*place));
                self.line(0, &text);
            }
            Outcome::Undefined { place, what } => {
                let text = format!("undefined at {}: {what}", self.place(*place));
                self.line(0, &text);
            }
            Outcome::Stuck(waiting) => {
                self.line(0, "nobody can go on:");
                for each in waiting {
                    let text = self.waiting(each);
                    self.line(1, &text);
                }
            }
        }
    }

    fn waiting(&self, waiting: &Waiting) -> String {
        let mut who = format!("warp {}", waiting.warp);
        if self.trace.ctas.len() > 1 {
            let _ = write!(who, " of cta {}", waiting.cta);
        }
        if waiting.lanes != Lanes::MAX {
            let _ = write!(who, ", {},", lanes(waiting.lanes));
        }
        let what = match &waiting.for_what {
            Awaited::Mbarrier {
                object,
                parity,
                arrivals,
                bytes,
            } => {
                let name = self.trace.layout.describe(*object);
                let parity = u8::from(*parity);
                format!("{name} parity {parity}, which lacks {arrivals} arrivals and {bytes} bytes")
            }
            Awaited::Barrier {
                barrier,
                expected,
                arrived,
            } => {
                let expected = match expected {
                    Some(expected) => expected.to_string(),
                    None => "all".to_owned(),
                };
                format!("barrier {barrier}, where {arrived} of {expected} threads are")
            }
            Awaited::Cluster => "the cluster barrier".to_owned(),
            Awaited::Lanes(missing) => format!("{} of the warp", lanes(*missing)),
            Awaited::Change => "a change of what it polls".to_owned(),
        };
        format!("{who} waits at {} for {what}", self.place(waiting.place))
    }
}

fn lanes(lanes: Lanes) -> String {
    if lanes.count_ones() == 1 {
        return format!("lane {}", lanes.trailing_zeros());
    }
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for lane in (0..LANES).filter(|lane| lanes >> lane & 1 == 1) {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == lane => *last = lane,
            _ => runs.push((lane, lane)),
        }
    }
    let run = |(first, last): &(usize, usize)| match last - first {
        0 => first.to_string(),
        _ => format!("{first}..{last}"),
    };
    let runs: Vec<String> = runs.iter().map(run).collect();
    format!("lanes {}", runs.join(" "))
}

fn words(kind: EventKind) -> String {
    let with = |condition: bool, text: &str| {
        if condition {
            text.to_owned()
        } else {
            String::new()
        }
    };
    let both = |pair: bool| with(pair, " of a pair");
    let mask = |mask: Option<u16>| mask.map_or(String::new(), |mask| format!(" to {mask:#x}"));
    let group = |kind: GroupKind| match kind {
        GroupKind::Copy => "copies",
        GroupKind::Bulk => "bulk copies",
        GroupKind::Multiply => "wgmma",
    };
    match kind {
        EventKind::Wait { parity, look } => {
            let what = match parity {
                Some(parity) => format!("parity {}", u8::from(parity)),
                None => "state".to_owned(),
            };
            format!("{} {what}", if look { "look" } else { "wait" })
        }
        EventKind::Init { count } => format!("init {count}"),
        EventKind::Invalidate => "invalidate".to_owned(),
        EventKind::Arrive {
            count,
            expect,
            drop,
            no_complete,
        } => {
            let expect = expect.map_or(String::new(), |bytes| format!(" expecting {bytes} bytes"));
            let drop = with(drop, " for good");
            let no_complete = with(no_complete, " without completing");
            format!("arrive {count}{expect}{drop}{no_complete}")
        }
        EventKind::Expect { bytes } => format!("expect {bytes} bytes"),
        EventKind::Complete { bytes } => format!("complete {bytes} bytes"),
        EventKind::CopyArrive { no_increment } => {
            format!("arrive after copies{}", with(no_increment, " noinc"))
        }
        EventKind::Copy {
            bytes,
            multicast,
            pair,
            group,
        } => {
            let bytes = bytes.map_or("a tensor".to_owned(), |bytes| format!("{bytes} bytes"));
            let group = with(group, " in a group");
            format!("copy {bytes}{}{}{group}", mask(multicast), both(pair))
        }
        EventKind::StoreAsync { bytes } => format!("store {bytes} bytes asynchronously"),
        EventKind::CommitGroup(kind) => format!("commit {}", group(kind)),
        EventKind::WaitGroup {
            kind,
            pending,
            read_only,
        } => {
            let read = with(read_only, " read");
            format!(
                "wait until {pending} groups of {} are left{read}",
                group(kind)
            )
        }
        EventKind::TensorCommit { multicast, pair } => {
            format!("tensor commit{}{}", mask(multicast), both(pair))
        }
        EventKind::TensorAllocate { columns, pair } => {
            format!("allocate {columns} columns{}", both(pair))
        }
        EventKind::TensorDeallocate { columns, pair } => {
            format!("free {columns} columns{}", both(pair))
        }
        EventKind::TensorRelinquish { pair } => format!("allocate no more{}", both(pair)),
        EventKind::BarrierSync {
            barrier,
            threads,
            aligned,
        } => {
            let threads = threads.map_or("all".to_owned(), |threads| threads.to_string());
            format!(
                "sync {barrier}, {threads} threads{}",
                with(!aligned, ", not aligned")
            )
        }
        EventKind::BarrierArrive {
            barrier,
            threads,
            aligned,
        } => {
            let aligned = with(!aligned, ", not aligned");
            format!("arrive at barrier {barrier}, {threads} threads{aligned}")
        }
        EventKind::ClusterArrive => "arrive at the cluster barrier".to_owned(),
        EventKind::ClusterWait => "wait for the cluster barrier".to_owned(),
        EventKind::ClusterLaunchTryCancel { multicast } => {
            format!("ask for another cluster{}", with(multicast, " for all"))
        }
        EventKind::GridDependencyWait => "wait for earlier grids".to_owned(),
        EventKind::GridDependencyLaunch => "let later grids start".to_owned(),
        EventKind::SetMaxRegisters { count, increase } => {
            format!(
                "{} to {count} registers",
                if increase { "go up" } else { "go down" }
            )
        }
        EventKind::Load { order } => format!("load {order:?}").to_lowercase(),
        EventKind::Store { order, value } => {
            format!("{} {value}", format!("store {order:?}").to_lowercase())
        }
        EventKind::Atomic {
            operation,
            order,
            value,
        } => {
            let name = format!("{operation:?}");
            let name = name
                .split([' ', '{'])
                .next()
                .unwrap_or_default()
                .to_lowercase();
            format!(
                "atomic {name} {} {value}",
                format!("{order:?}").to_lowercase()
            )
        }
        EventKind::CounterWait { value, at_least } => {
            let more = if at_least { ">=" } else { "==" };
            format!("wait {more} {value}")
        }
        EventKind::CounterAdd { value } => format!("add {value}"),
        EventKind::CounterSet { value } => format!("set {value}"),
        EventKind::Access { access, .. } => format!("{access:?}").to_lowercase(),
        EventKind::Unsupported => "something that is not understood".to_owned(),
        EventKind::LoopHeader(block) => format!("loop {}", block.0),
    }
}
