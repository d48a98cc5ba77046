//! The recovered protocol as text of the protocol language.

use std::fmt::Write;

use crate::ir::Kernel;
use crate::ir::Location;
use crate::ir::VariableId;
use crate::recover::family::Families;
use crate::recover::family::count_in_units;
use crate::recover::family::each;
use crate::recover::family::families;
use crate::recover::grid::Grid;
use crate::recover::init_before_use::inits_precede_uses;
use crate::recover::inputs::used;
use crate::recover::lower::Inputs;
use crate::recover::mixed_counts::refuse_mixed_counts;
use crate::recover::names::identifier;
use crate::recover::names::mbarrier;
use crate::recover::names::own;
use crate::recover::noinc_arrivals::check_noinc_arrivals;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::number::Range;
use crate::recover::patterns::Patterns;
use crate::recover::reconverged::MEET;
use crate::recover::registers::Counted;
use crate::recover::registers::Registers;
use crate::recover::rewrite::without;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::LIFE;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Object;
use crate::recover::role_ir::Role;
use crate::recover::role_ir::Word;
use crate::recover::role_ir::counts;
use crate::recover::shape::Shape;
use crate::recover::transactions::few_bytes;
use crate::recover::tree::Obstacle;
use crate::recover::tree::refuse;
use crate::recover::written::Names;
use crate::recover::written::written;
use crate::recover::written::written_condition;
use crate::recover::written_data;
use crate::recover::written_grid;

/// The names of inputs, indices and variables in a role.
struct Called<'a> {
    inputs: &'a Inputs,
    grid: Option<&'a Grid>,
    patterns: &'a Patterns,
}

impl Names for Called<'_> {
    fn name(&self, atomic: &Atomic) -> String {
        match atomic {
            Atomic::Input(input) if self.grid.is_some_and(|grid| grid.turn == Some(*input)) => {
                self.grid.map(|grid| grid.name.clone()).unwrap_or_default()
            }
            Atomic::Input(input) if self.grid.is_some_and(|grid| grid.counts_ctas(*input)) => {
                self.grid.map(|grid| grid.count.clone()).unwrap_or_default()
            }
            Atomic::Input(input) => identifier(&self.inputs.all[*input as usize].name),
            Atomic::Index(index) => match ["i", "j", "k"].get(*index as usize) {
                Some(name) => (*name).to_owned(),
                None => format!("i{index}"),
            },
            Atomic::Variable(variable) => format!("rounds{variable}"),
            Atomic::Entry(entry) => self.patterns.written(entry, self),
            Atomic::Applied(one) => self.patterns.applied(one, self),
            _ => String::new(),
        }
    }
}

struct Writer<'a> {
    kernel: &'a Kernel,
    shape: Shape,
    registers: Registers,
    names: Called<'a>,
    families: Families,
    family_names: Vec<String>,
    text: String,
    /// Where the lines of statements begin in the text, with the lines of the kernel behind them.
    behind: Vec<(usize, u32)>,
}

/// A protocol as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// The text itself.
    pub text: String,
    /// For each of its lines that is a statement, the line of the kernel's text behind it, counted
    /// from 1.
    pub lines: Vec<Option<u32>>,
}

/// Writes a protocol. `checked` is a line that says how far it was compared with the kernel.
pub fn text(
    kernel: &Kernel,
    shape: Shape,
    (roles, grid): (&[Role], Option<&Grid>),
    inputs: &Inputs,
    registers: Registers,
    checked: &str,
) -> Result<Text, Obstacle> {
    if let Some(grid) = grid {
        let pools = matches!(registers.counted, Counted::Pool { .. });
        written_grid::check(grid, &parameters(roles, inputs), pools)?;
    }
    let all: Vec<_> = roles.iter().map(|role| counts(&role.lines)).collect();
    let mut roles = roles.to_vec();
    let declared = |variable: VariableId| {
        let variable = kernel.variables.get(variable.0 as usize);
        variable.and_then(|variable| variable.arrivals)
    };
    let mut families = families(&roles, &declared, &|role, atomic| {
        inputs.range_of(atomic, &all[role])
    })?;
    // Where an element of an array is not initialised, the text says so of those that are.
    let early = families.all.iter().all(|family| !family.explicit)
        && inits_precede_uses(&roles, inputs, shape, &declared);
    count_in_units(&mut families, &roles, &|role, atomic| {
        inputs.range_of(atomic, &all[role])
    });
    let range = |role: usize, atomic: &Atomic| inputs.range_of(atomic, &all[role]);
    refuse_mixed_counts(&families, &roles, &inputs.arrival_counts, &range)?;
    let patterns = Patterns::new(&mut roles, inputs, grid)?;
    let mut inputs = inputs.clone();
    let few = few_bytes(&families, &roles, &|role, atomic| {
        inputs.range_of(atomic, &all[role])
    })?;
    inputs.assumptions.extend(few.map(str::to_owned));
    let landed = check_noinc_arrivals(&families, &roles, &|role, atomic| {
        inputs.range_of(atomic, &all[role])
    })?;
    inputs.assumptions.extend(landed.map(str::to_owned));
    let inputs = &inputs;
    for family in &mut families.all {
        family.explicit = !early && declared(family.variable).is_none();
    }
    if early {
        for role in &mut roles {
            without(&mut role.lines, &|action| {
                matches!(action, Action::Init { .. })
            });
        }
    }
    let mut writer = Writer {
        kernel,
        shape,
        registers,
        names: Called {
            inputs,
            grid,
            patterns: &patterns,
        },
        family_names: Vec::new(),
        families,
        text: String::new(),
        behind: Vec::new(),
    };
    writer.name_families();
    writer.head(&roles, inputs, checked);
    for (number, role) in roles.iter().enumerate() {
        writer.role(role, &|atomic| inputs.range_of(atomic, &all[number]))?;
    }
    Ok(writer.written())
}

/// The parameters of the text: the inputs that occur, by their numbers, and their names.
pub fn parameters(roles: &[Role], inputs: &Inputs) -> Vec<(u32, String)> {
    let used = used(roles).into_iter();
    used.map(|input| (input, identifier(&inputs.all[input as usize].name)))
        .collect()
}

impl Writer<'_> {
    fn written(self) -> Text {
        let mut behind = self.behind.into_iter().peekable();
        let mut start = 0;
        let mut lines = Vec::new();
        for line in self.text.split_inclusive('\n') {
            let here = behind.next_if(|(at, _)| *at == start);
            lines.push(here.map(|(_, line)| line));
            start += line.len();
        }
        Text {
            text: self.text,
            lines,
        }
    }

    fn clustered(&self) -> bool {
        self.shape.ctas() > 1
    }

    fn name_families(&mut self) {
        let mut names: Vec<String> = Vec::new();
        for family in &self.families.all {
            let variable = &self.kernel.variables[family.variable.0 as usize];
            let same = self
                .families
                .all
                .iter()
                .filter(|other| other.variable == family.variable && other.rank == family.rank)
                .count();
            let mut name = mbarrier(&variable.name);
            if same > 1 || family.base != 0 {
                name = format!("{}_{}", own(&variable.name), family.base % LIFE);
                if family.base >= LIFE {
                    name = format!("{name}_life{}", family.base / LIFE + 1);
                }
            }
            if self.clustered() {
                name = format!("{name}_cta{}", family.rank);
            }
            let mut unique = name.clone();
            let mut count = 2;
            while names.contains(&unique) {
                unique = format!("{name}_{count}");
                count += 1;
            }
            names.push(unique);
        }
        self.family_names = names;
    }

    fn line(&mut self, depth: usize, text: &str, location: Option<&Location>) {
        let comment = location.and_then(Location::shown);
        let comment = comment.map_or_else(String::new, |place| format!("  // {place}"));
        if let Some(location) = location.filter(|location| location.line > 0) {
            self.behind.push((self.text.len(), location.line));
        }
        let _ = writeln!(
            self.text,
            "{:indent$}{text}{comment}",
            "",
            indent = depth * 4
        );
    }

    fn head(&mut self, roles: &[Role], inputs: &Inputs, checked: &str) {
        let name: String = self
            .kernel
            .name
            .chars()
            .filter(|c| !c.is_control() && *c != '`')
            .collect();
        let _ = writeln!(self.text, "//! Recovered from the kernel `{name}`.");
        let [x, y, z] = self.shape.threads;
        let _ = writeln!(self.text, "//! {x} x {y} x {z} threads per CTA.");
        if self.clustered() {
            let [x, y, z] = self.shape.cluster;
            let _ = writeln!(self.text, "//! {x} x {y} x {z} CTAs per cluster.");
        }
        let _ = writeln!(self.text, "//! Checked against the kernel {checked}.");
        if !written_data::buffers(roles).is_empty() {
            self.text.push_str(
                "//! Without fences, orders and scopes: races are decided of this, not what a read sees.\n",
            );
        }
        for assumption in &inputs.assumptions {
            let _ = writeln!(self.text, "//! Assumed: {assumption}");
        }
        self.registers();
        let _ = writeln!(self.text, "//! Assumed: {MEET}");
        let _ = writeln!(self.text, "protocol {}\n", identifier(&name));
        let grid = self.names.grid;
        let of_grid = grid.map_or([None; 2], |grid| [grid.turn, grid.total]);
        for (number, name) in parameters(roles, inputs) {
            if of_grid.contains(&Some(number)) {
                continue;
            }
            let input = &inputs.all[number as usize];
            let meaning = if input.meaning == input.name {
                String::new()
            } else {
                format!("  // {}", input.meaning)
            };
            let _ = writeln!(
                self.text,
                "param {name} in {}..={}{meaning}",
                input.range.0, input.range.1
            );
        }
        for (index, count) in &inputs.below {
            let name = |input: &u32| identifier(&inputs.all[*input as usize].name);
            if grid.is_none() {
                let _ = writeln!(self.text, "assume {} < {}", name(index), name(count));
            }
        }
        if let Some(grid) = self.names.grid {
            let text = written_grid::parameters(grid, &self.names);
            self.text.push_str(&text);
        }
        self.text.push('\n');
        for (family, name) in self.families.all.iter().zip(&self.family_names) {
            let elements = (family.elements > 1).then(|| family.elements.to_string());
            let extent = written_grid::extents(self.names.grid, elements);
            let explicit = if family.explicit {
                ", init: explicit"
            } else {
                ""
            };
            let _ = writeln!(
                self.text,
                "mbarrier {name}{extent} {{ arrivals: {}{explicit} }}",
                family.arrivals / family.unit
            );
        }
        let (mut named, mut cluster) = (false, false);
        for role in roles {
            each(&role.lines, &mut |action, _| {
                named |= matches!(action, Action::Sync { .. } | Action::BarrierArrive { .. });
                cluster |= matches!(action, Action::ClusterArrive | Action::ClusterWait);
            });
        }
        if named {
            for rank in 0..self.shape.ctas() {
                let name = self.named(rank);
                let extent = written_grid::extents(self.names.grid, Some("16".to_owned()));
                let _ = writeln!(self.text, "named {name}{extent}");
            }
        }
        if cluster {
            let warps = self.shape.warps() * self.shape.ctas();
            let _ = writeln!(self.text, "barrier cluster_bar {{ arrivals: {warps} }}");
        }
        let grid = self.names.grid;
        self.text
            .extend(grid.map(|grid| written_grid::words(grid, &self.names)));
        let patterns = self.names.patterns.declared(grid, &self.names);
        self.text.push_str(&patterns);
        self.text.push_str(&written_data::buffers(roles));
        self.pools();
    }

    /// The assumptions about registers.
    fn registers(&mut self) {
        let line = match self.registers.counted {
            Counted::Still => return,
            Counted::Assumed => {
                "Assumed: `setmaxnreg` finds the registers that it asks for".to_owned()
            }
            Counted::Covered { launch } | Counted::Pool { launch } => {
                let why = match self.kernel.bounds.max_registers {
                    Some(_) => "as .maxnreg says",
                    None => "as many as fit and `setmaxnreg.inc` can raise",
                };
                format!("Assumed: {launch} registers per thread at launch, {why}")
            }
        };
        let _ = writeln!(self.text, "//! {line}");
        if self.registers.apart {
            self.text.push_str(
                "//! Assumed: `setmaxnreg` counts for each warp by itself, though PTX leaves it undefined where the warps of a \
                 warpgroup do not carry out the same one\n",
            );
        }
        if let Counted::Covered { .. } = self.registers.counted {
            self.text.push_str(
                "//! What `setmaxnreg` takes has been given back before, and is left out.\n",
            );
        }
    }

    /// The pools of registers, and the barriers behind which every warp has its share.
    fn pools(&mut self) {
        let Counted::Pool { launch } = self.registers.counted else {
            return;
        };
        let warps = self.shape.warps();
        for rank in 0..self.shape.ctas() {
            let (pool, barrier) = (self.own("registers", rank), self.own("all_launched", rank));
            let all = launch * i128::from(warps);
            let _ = writeln!(
                self.text,
                "pool {pool} = {all}  // of a thread of each warp\nbarrier {barrier} {{ arrivals: {warps} }}  // every \
                 warp has its registers at launch"
            );
        }
    }

    /// What each CTA has one of.
    fn own(&self, name: &str, rank: u32) -> String {
        if self.clustered() {
            format!("cta{rank}_{name}")
        } else {
            name.to_owned()
        }
    }

    fn named(&self, rank: u32) -> String {
        if self.clustered() {
            format!("cta{rank}_bar")
        } else {
            "cta_bar".to_owned()
        }
    }

    fn role(
        &mut self,
        role: &Role,
        range: &dyn Fn(&Atomic) -> Option<Range>,
    ) -> Result<(), Obstacle> {
        let (Some(first), Some(last)) = (role.warps.first(), role.warps.last()) else {
            return Ok(());
        };
        let count = role.warps.len();
        let consecutive = last - first + 1 == u32::try_from(count).unwrap_or(0);
        let mut name = match (count, consecutive) {
            (1, _) => format!("warp{first}"),
            (_, true) => format!("warps{first}_{last}"),
            _ => {
                let list: Vec<String> = role.warps.iter().map(u32::to_string).collect();
                format!("warps{}", list.join("_"))
            }
        };
        if self.clustered() {
            name = format!("cta{}_{name}", role.rank);
        }
        self.text.push('\n');
        let index = if count > 1 {
            format!("[w in 0..{count}]")
        } else {
            String::new()
        };
        let ctas = self.names.grid.map_or_else(String::new, |grid| {
            format!("[{} in 0..{}]", grid.name, grid.count)
        });
        let _ = writeln!(self.text, "role {name}{ctas}{index} warp {{");
        self.lines(&role.lines, 1, role.rank, range)?;
        self.text.push_str("}\n");
        Ok(())
    }

    fn lines(
        &mut self,
        lines: &[Line],
        depth: usize,
        rank: u32,
        range: &dyn Fn(&Atomic) -> Option<Range>,
    ) -> Result<(), Obstacle> {
        let mut rest = lines;
        while let Some((line, behind)) = rest.split_first() {
            rest = behind;
            match line {
                Line::Action {
                    action: Action::Touch { elements, access },
                    location,
                } => {
                    let object = match written_data::told(elements, *access, behind, location)? {
                        Some(object) => {
                            rest = behind.get(1..).unwrap_or_default();
                            Some(self.object(object, range, location)?)
                        }
                        None => None,
                    };
                    let place = written_data::place(*access, location);
                    for element in elements {
                        let object = object.as_deref();
                        let text = written_data::touch(element, *access, object, &self.names);
                        self.line(depth, &text, Some(&place));
                    }
                }
                Line::Action { action, location } => {
                    let Some(text) = self.action(action, rank, range, location)? else {
                        continue;
                    };
                    // Each lands by itself.
                    let times = match action {
                        Action::Commit { object, count, .. } => count / self.unit(object, range),
                        _ => 1,
                    };
                    if times == 1 {
                        self.line(depth, &text, Some(location));
                    } else {
                        self.line(depth, &format!("repeat {times} {{"), None);
                        self.line(depth + 1, &text, Some(location));
                        self.line(depth, "}", None);
                    }
                }
                Line::For {
                    index,
                    count,
                    body,
                    location,
                } => {
                    let name = self.names.name(&Atomic::Index(*index));
                    let patterns = self.names.patterns;
                    let (through, body) = patterns.through((*index, count, body), &self.names);
                    let head = format!("for {name} in {through} {{");
                    self.line(depth, &head, Some(location));
                    self.lines(&body, depth + 1, rank, range)?;
                    self.line(depth, "}", None);
                }
                Line::If {
                    condition,
                    then,
                    otherwise,
                    location,
                } => {
                    let condition = written_condition(condition, &self.names);
                    self.line(depth, &format!("if {condition} {{"), Some(location));
                    self.lines(then, depth + 1, rank, range)?;
                    if !otherwise.is_empty() {
                        self.line(depth, "} else {", None);
                        self.lines(otherwise, depth + 1, rank, range)?;
                    }
                    self.line(depth, "}", None);
                }
                Line::Let { variable, value } => {
                    let name = self.names.name(&Atomic::Variable(*variable));
                    let value = written(value, &self.names, false);
                    self.line(depth, &format!("var {name} = {value}"), None);
                }
                Line::Assign { variable, value } => {
                    let name = self.names.name(&Atomic::Variable(*variable));
                    let value = written(value, &self.names, false);
                    self.line(depth, &format!("{name} = {value}"), None);
                }
                Line::Return => self.line(depth, "return", None),
            }
        }
        Ok(())
    }

    fn object(
        &self,
        object: &Object,
        range: &dyn Fn(&Atomic) -> Option<Range>,
        location: &Location,
    ) -> Result<String, Obstacle> {
        let refuse = || {
            Obstacle::new(
                "which mbarrier this is cannot be written in the protocol language",
                location.clone(),
            )
        };
        let family = self.families.of(object, range).ok_or_else(refuse)?;
        let name = &self.family_names[family];
        let family = &self.families.all[family];
        let element = match family.elements {
            1 => None,
            _ => {
                let index = family.index(object).ok_or_else(refuse)?;
                Some(unwrapped(&written(&index, &self.names, false)).to_owned())
            }
        };
        Ok(format!(
            "{name}{}",
            written_grid::indices(self.names.grid, element)
        ))
    }

    /// How many arrivals of the kernel make one in the text.
    fn unit(&self, object: &Object, range: &dyn Fn(&Atomic) -> Option<Range>) -> i128 {
        let family = self.families.of(object, range);
        family.map_or(1, |family| self.families.all[family].unit)
    }

    fn action(
        &self,
        action: &Action,
        rank: u32,
        range: &dyn Fn(&Atomic) -> Option<Range>,
        location: &Location,
    ) -> Result<Option<String>, Obstacle> {
        let number = |number: &Number| written(number, &self.names, true);
        let object = |object: &Object| self.object(object, range, location);
        let word_of =
            |word: &Word| written_grid::word(self.names.grid, word, &self.names, location);
        Ok(Some(match action {
            // An mbarrier that nobody uses is not declared.
            Action::Init { object: at, .. } if self.families.of(at, range).is_none() => {
                return Ok(None);
            }
            Action::Init { object: at, .. } => format!("init {}", object(at)?),
            Action::Wait { object: at, parity } => {
                format!("wait {} {}", object(at)?, number(parity))
            }
            Action::Arrive { object: at, count } => {
                let unit = self.unit(at, range);
                match count.as_constant() {
                    Some(count) if count == unit => format!("arrive {}", object(at)?),
                    Some(count) => format!("arrive {} {}", object(at)?, count / unit),
                    None => format!("arrive {} {}", object(at)?, number(count)),
                }
            }
            Action::ArriveExpect { object: at, bytes } => {
                format!("arrive_expect_tx {} {}", object(at)?, number(bytes))
            }
            Action::Expect { object: at, bytes } => {
                format!("expect_tx {} {}", object(at)?, number(bytes))
            }
            Action::Complete { object: at, bytes } => {
                format!("complete_tx {} {}", object(at)?, number(bytes))
            }
            Action::Copy { object: at, bytes } => {
                let bytes = bytes.as_ref().map(number).unwrap_or_default();
                format!("async copy tile completes {} {bytes}", object(at)?)
            }
            Action::Commit { object: at, .. } => format!("commit {}", object(at)?),
            Action::CounterWait { word, .. }
            | Action::CounterAdd { word, .. }
            | Action::CounterSet { word, .. } => {
                written_grid::statement(action, &word_of(word)?, &number)
            }
            Action::Sync { barrier, threads } => {
                let barrier = Some(written(barrier, &self.names, false));
                format!(
                    "sync {}{} {}",
                    self.named(rank),
                    written_grid::indices(self.names.grid, barrier),
                    number(threads)
                )
            }
            Action::BarrierArrive { barrier, threads } => {
                let barrier = Some(written(barrier, &self.names, false));
                format!(
                    "arrive {}{} {}",
                    self.named(rank),
                    written_grid::indices(self.names.grid, barrier),
                    number(threads)
                )
            }
            Action::ClusterArrive => "arrive cluster_bar".to_owned(),
            Action::ClusterWait => "wait cluster_bar".to_owned(),
            Action::CommitGroup => "commit_group".to_owned(),
            Action::WaitGroup { pending, read_only } => {
                let read = if *read_only { " read" } else { "" };
                format!("wait_group {pending}{read}")
            }
            Action::Touch { .. } | Action::Access { .. } => {
                return refuse(
                    "internal: an access does not stand where its text would",
                    location,
                );
            }
            Action::SetMaxRegisters { .. }
            | Action::Invalidate { .. }
            | Action::WaitOwn { .. }
            | Action::Numbered { .. }
            | Action::Round { .. }
            | Action::Tried { .. }
            | Action::Asked
            | Action::RingWordLoad { .. }
            | Action::RingWordStore { .. }
            | Action::Late { .. }
            | Action::Ahead
            | Action::Allocate { .. }
            | Action::Deallocate { .. }
            | Action::Relinquish => {
                return Ok(None);
            }
            Action::Take { count } => format!("acquire {} {count}", self.own("registers", rank)),
            Action::GiveBack { count } => {
                format!("release {} {count}", self.own("registers", rank))
            }
            Action::Launched => format!("sync {}", self.own("all_launched", rank)),
        }))
    }
}

/// The text without parentheses around the whole.
pub fn unwrapped(text: &str) -> &str {
    let Some(inner) = text
        .strip_prefix('(')
        .and_then(|text| text.strip_suffix(')'))
    else {
        return text;
    };
    let mut depth = 0;
    for c in inner.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth < 0 {
            return text;
        }
    }
    inner
}
