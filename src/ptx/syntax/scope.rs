//! Names inside a function: registers and labels, in scopes that braces open.

use std::collections::HashMap;
use std::ops::Range;

use super::ast::Function;
use super::ast::Location;
use super::ast::Operand;
use super::ast::Register;
use super::parse::Parsed;
use crate::protocol::Span;
use crate::text::Diagnostic;

/// The names of one pair of braces.
#[derive(Default)]
pub(in crate::ptx) struct Scope<'a> {
    pub parent: Option<usize>,
    pub names: HashMap<&'a str, Register>,
    /// Prefixes with how many numbered registers each has.
    pub families: Vec<(&'a str, u64)>,
    pub labels: HashMap<&'a str, usize>,
}

/// The scope of a list of labels, and the labels.
pub(in crate::ptx) type Table<'a> = (usize, Vec<(&'a str, Range<usize>)>);

/// What is known of a function while its body is read.
pub(in crate::ptx) struct Body<'a> {
    pub function: Function<'a>,
    pub scopes: Vec<Scope<'a>>,
    pub open: Vec<usize>,
    /// The source line that comes next: where it was called from, and where it is written.
    pub location: Option<(Location, Location)>,
    /// Lists of labels that branches choose from, with the scope each is of. Two of one name are none.
    pub tables: HashMap<&'a str, Option<Table<'a>>>,
    /// Branches to be resolved at the end: the scope and the name of each target.
    pub wanted: Vec<(usize, &'a str, Range<usize>)>,
}

impl<'a> Body<'a> {
    pub fn scope(&mut self) -> Option<&mut Scope<'a>> {
        let index = *self.open.last()?;
        self.scopes.get_mut(index)
    }

    pub fn fresh(&mut self, name: &'a str) -> Register {
        let number = self.function.registers.len();
        self.function.registers.push(name);
        Register(u32::try_from(number).unwrap_or(u32::MAX))
    }

    /// Gives the parameters that are registers their numbers, in the first scope.
    pub fn parameters(&mut self) {
        let mut function = std::mem::take(&mut self.function);
        let all = function.parameters.iter_mut().chain(&mut function.results);
        let mut own = Vec::new();
        for parameter in all.filter(|p| p.register.is_some()) {
            let number = u32::try_from(function.registers.len()).unwrap_or(u32::MAX);
            function.registers.push(parameter.name);
            parameter.register = Some(Register(number));
            own.push((parameter.name, Register(number)));
        }
        self.function = function;
        if let Some(scope) = self.scope() {
            scope.names.extend(own);
        }
    }

    pub fn register(&mut self, name: &'a str) -> Option<Register> {
        for position in (0..self.open.len()).rev() {
            let index = self.open[position];
            if let Some(register) = self.scopes[index].names.get(name) {
                return Some(*register);
            }
            let belongs = self.scopes[index].families.iter().any(|(prefix, count)| {
                name.strip_prefix(prefix)
                    .and_then(|rest| rest.parse::<u64>().ok())
                    .is_some_and(|number| number < *count)
            });
            if belongs {
                let register = self.fresh(name);
                self.scopes[index].names.insert(name, register);
                return Some(register);
            }
        }
        None
    }

    pub fn named(&mut self, name: &'a str, span: Range<usize>) -> Parsed<Operand<'a>> {
        // A component of a vector register, as `%v.x`, is not followed.
        if let Some(register) = self.register(name) {
            return Ok(Operand::Register(register));
        }
        if name.starts_with('%') && !special(name) {
            return Err(undeclared(name, span));
        }
        if name.starts_with('%') || name == "_" {
            return Ok(Operand::Name(name));
        }
        let Some(scope) = self.open.last() else {
            return Ok(Operand::Name(name));
        };
        // Whether it is a label is known at the end of the function.
        self.wanted.push((*scope, name, span));
        Ok(Operand::Target(
            u32::try_from(self.wanted.len() - 1).unwrap_or(u32::MAX),
        ))
    }
}

/// Finds the labels; names that are none are variables or functions. A branch has to have one.
pub(in crate::ptx) fn resolve(mut body: Body<'_>) -> Parsed<Function<'_>> {
    let mut found: Vec<Option<usize>> = Vec::with_capacity(body.wanted.len());
    for (scope, name, _) in &body.wanted {
        let mut at = Some(*scope);
        let mut target = None;
        while let Some(index) = at {
            if let Some(label) = body.scopes[index].labels.get(name) {
                target = Some(*label);
                break;
            }
            at = body.scopes[index].parent;
        }
        found.push(target);
    }
    for instruction in &mut body.function.code {
        let branch = instruction.opcode == "bra" || instruction.opcode.starts_with("bra.");
        for operand in &mut instruction.operands {
            settle(operand, &body.wanted, &found);
            if branch && let Operand::Name(name) = operand {
                let span = Span {
                    start: instruction.at,
                    end: instruction.at + instruction.opcode.len(),
                };
                return Err(Box::new(
                    Diagnostic::error(span, format!("there is no label `{name}` in this scope"))
                        .label("branches to it")
                        .hint("labels inside braces are not visible outside them"),
                ));
            }
        }
    }
    body.function.targets = found.into_iter().map(Option::unwrap_or_default).collect();
    Ok(body.function)
}

fn settle<'a>(
    operand: &mut Operand<'a>,
    wanted: &[(usize, &'a str, Range<usize>)],
    found: &[Option<usize>],
) {
    match operand {
        Operand::Target(number) => {
            let index = *number as usize;
            if let (Some(None), Some((_, name, _))) = (found.get(index), wanted.get(index)) {
                *operand = Operand::Name(name);
            }
        }
        Operand::Address { base, rest, .. } => {
            settle(base, wanted, found);
            for part in rest {
                settle(part, wanted, found);
            }
        }
        Operand::Vector(parts) => {
            for part in parts {
                settle(part, wanted, found);
            }
        }
        Operand::Pair(pair) => {
            settle(&mut pair.0, wanted, found);
            settle(&mut pair.1, wanted, found);
        }
        Operand::Register(_)
        | Operand::Not(_)
        | Operand::Integer(_)
        | Operand::Float
        | Operand::Name(_) => {}
    }
}

pub(in crate::ptx) fn undeclared(name: &str, span: Range<usize>) -> Box<Diagnostic> {
    let place = Span {
        start: span.start,
        end: span.end,
    };
    Box::new(
        Diagnostic::error(place, format!("register `{name}` is not declared"))
            .label("used here")
            .hint("declare it with `.reg` before its use"),
    )
}

/// Whether a word is a special register, as `%tid.x`.
fn special(name: &str) -> bool {
    const STEMS: [&str; 24] = [
        "tid",
        "ntid",
        "laneid",
        "warpid",
        "nwarpid",
        "ctaid",
        "nctaid",
        "smid",
        "nsmid",
        "gridid",
        "is_explicit_cluster",
        "clusterid",
        "nclusterid",
        "cluster_ctaid",
        "cluster_nctaid",
        "cluster_ctarank",
        "cluster_nctarank",
        "clock",
        "clock_hi",
        "clock64",
        "globaltimer",
        "dynamic_smem_size",
        "total_smem_size",
        "aggr_smem_size",
    ];
    let stem = name.trim_start_matches('%');
    let stem = stem.split('.').next().unwrap_or_default();
    STEMS.contains(&stem)
        || [
            "lanemask_",
            "pm",
            "envreg",
            "globaltimer_",
            "reserved_smem_",
            "current_graph_exec",
        ]
        .iter()
        .any(|prefix| stem.starts_with(prefix))
}
