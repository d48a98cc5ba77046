//! Inlines calls of functions in the same text. An inlined function gets its own registers, labels and variables.

use rustc_hash::FxHashMap;

use crate::ir::RegisterId;
use crate::ir::SourceLine;

use super::resolved::Body;
use super::resolved::Formal;
use super::resolved::Instruction;
use super::resolved::Item;
use super::resolved::Memory;
use super::resolved::Operand;
use super::resolved::each_operand;
use super::tree::VariableSpace;

/// The deepest chain of calls that is inlined.
const MAX_CALLS: usize = 200;

/// The most items of a kernel together with everything that is inlined.
const MAX_ITEMS: usize = 1 << 19;

/// The chains of source lines. They grow when functions are inlined.
pub struct Chains {
    pub places: Vec<Vec<SourceLine>>,
    joined: FxHashMap<(u32, u32), u32>,
}

impl Chains {
    pub fn new(places: Vec<Vec<SourceLine>>) -> Self {
        Self {
            places,
            joined: FxHashMap::default(),
        }
    }

    /// The chain of place `inner` in a function that is called from `outer`.
    fn join(&mut self, inner: u32, outer: u32) -> u32 {
        if let Some(joined) = self.joined.get(&(inner, outer)) {
            return *joined;
        }
        let of = |place: u32| self.places.get(place as usize).cloned().unwrap_or_default();
        let mut chain = of(inner);
        chain.extend(of(outer));
        let joined = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        self.places.push(chain);
        self.joined.insert((inner, outer), joined);
        joined
    }
}

/// A function with its calls inlined. Calls that cannot be inlined stay as they are.
pub fn inlined<'a>(
    bodies: &FxHashMap<&'a str, Body<'a>>,
    body: &Body<'a>,
    chains: &mut Chains,
) -> Body<'a> {
    let calls = |item: &Item<'a>| match item {
        Item::Instruction(instruction) => callee(bodies, instruction).is_some(),
        _ => false,
    };
    if !body.items.iter().any(calls) {
        return body.clone();
    }
    let mut whole = Body {
        items: Vec::with_capacity(body.items.len()),
        ..body.clone()
    };
    let mut open = vec![body.name];
    for item in &body.items {
        append(bodies, &mut whole, item.clone(), chains, &mut open);
    }
    whole
}

/// The body of the function that an instruction calls.
fn callee<'b, 'a>(
    bodies: &'b FxHashMap<&'a str, Body<'a>>,
    instruction: &Instruction<'a>,
) -> Option<&'b Body<'a>> {
    if instruction.opcode != "call" {
        return None;
    }
    let name = called_name(instruction)?;
    bodies.get(name)
}

/// The function that a call names; `None` if the call is through a register.
pub fn called_name<'a>(instruction: &Instruction<'a>) -> Option<&'a str> {
    match parts(instruction) {
        (_, [Operand::Name(name), ..]) => Some(*name),
        _ => None,
    }
}

/// The results and arguments of a call: the lists before and after the name.
pub fn called_lists<'o, 'a>(
    instruction: &'o Instruction<'a>,
) -> Option<(&'o [Operand<'a>], &'o [Operand<'a>])> {
    let (results, rest) = parts(instruction);
    match rest {
        [_] => Some((results, &[])),
        [_, Operand::Vector(arguments), ..] => Some((results, arguments)),
        _ => None,
    }
}

/// The list of results, and the operands after it.
fn parts<'o, 'a>(instruction: &'o Instruction<'a>) -> (&'o [Operand<'a>], &'o [Operand<'a>]) {
    match instruction.operands.as_slice() {
        [Operand::Vector(results), rest @ ..] => (results, rest),
        [Operand::Sink, rest @ ..] => (&[], rest),
        operands => (&[], operands),
    }
}

fn append<'a>(
    bodies: &FxHashMap<&'a str, Body<'a>>,
    whole: &mut Body<'a>,
    item: Item<'a>,
    chains: &mut Chains,
    open: &mut Vec<&'a str>,
) {
    let Item::Instruction(call) = &item else {
        whole.items.push(item);
        return;
    };
    let Some(inner) = callee(bodies, call) else {
        whole.items.push(item);
        return;
    };
    // A recursive call stays a call of an unknown function.
    if open.contains(&inner.name) || open.len() > MAX_CALLS || whole.items.len() > MAX_ITEMS {
        whole.items.push(item);
        return;
    }
    let Some(entered) = Entered::new(whole, inner, call) else {
        whole.items.push(item);
        return;
    };
    open.push(inner.name);
    let (line, place, guard) = (call.line, call.place, call.guard);
    if let Some((predicate, negated)) = guard {
        whole.items.push(Item::Jump {
            guard: Some((predicate, !negated)),
            to: entered.end,
            line,
            place,
        });
    }
    for (to, from) in &entered.before {
        whole.items.push(entered.copy(to, from, call));
    }
    for item in &inner.items {
        let moved = entered.moved(item, chains, place);
        append(bodies, whole, moved, chains, open);
    }
    whole.items.push(Item::Label(entered.returned));
    for (to, from) in &entered.after {
        whole.items.push(entered.copy(to, from, call));
    }
    whole.items.push(Item::Label(entered.end));
    open.pop();
}

/// The mapping from the numbers of an inlined function to those of its caller.
struct Entered<'a> {
    registers: u32,
    labels: usize,
    tables: usize,
    /// The variables of the function itself.
    variables: Vec<Memory>,
    /// The target of `ret`, and the place where the caller continues.
    returned: usize,
    end: usize,
    /// Values that are passed in registers.
    before: Vec<(Operand<'a>, Operand<'a>)>,
    after: Vec<(Operand<'a>, Operand<'a>)>,
}

impl<'a> Entered<'a> {
    /// `None` if the arguments do not fit the parameters.
    fn new(whole: &mut Body<'a>, inner: &Body<'a>, call: &Instruction<'a>) -> Option<Self> {
        let (results, arguments) = called_lists(call)?;
        if results.len() != inner.results.len() || arguments.len() != inner.parameters.len() {
            return None;
        }
        let registers = u32::try_from(whole.registers.len()).ok()?;
        let mut passed = FxHashMap::default();
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let pairs = (inner
            .parameters
            .iter()
            .zip(arguments)
            .map(|pair| (pair, false)))
        .chain(inner.results.iter().zip(results).map(|pair| (pair, true)));
        for ((formal, actual), result) in pairs {
            match (formal, actual) {
                (Formal::Memory(own), Operand::Variable(memory, 0)) => {
                    passed.insert(*own, *memory);
                }
                (Formal::Register(own), value) => {
                    let own = Operand::Register(RegisterId(own.0 + registers));
                    if result {
                        after.push((value.clone(), own));
                    } else {
                        before.push((own, value.clone()));
                    }
                }
                _ => return None,
            }
        }
        let mut variables = Vec::with_capacity(inner.variables.len());
        for (own, variable) in inner.variables.iter().enumerate() {
            let memory = match (passed.get(&own), whole.statics.get(&(inner.name, own))) {
                (Some(memory), _) => *memory,
                (None, Some(number)) => Memory::Own(*number),
                (None, None) => {
                    let number = whole.variables.len();
                    whole.variables.push(variable.clone());
                    // A shared variable of a function exists once, however often the function is called.
                    if !matches!(
                        variable.space,
                        VariableSpace::Local | VariableSpace::Parameter
                    ) {
                        whole.statics.insert((inner.name, own), number);
                    }
                    Memory::Own(number)
                }
            };
            variables.push(memory);
        }
        whole.registers.extend(inner.registers.iter().cloned());
        let labels = whole.labels.len();
        whole.labels.extend(&inner.labels);
        whole.labels.extend(["return", "end of call"]);
        let tables = whole.tables.len();
        let moved = |table: &Vec<usize>| table.iter().map(|label| label + labels).collect();
        whole.tables.extend(inner.tables.iter().map(moved));
        Some(Self {
            registers,
            labels,
            tables,
            variables,
            returned: whole.labels.len() - 2,
            end: whole.labels.len() - 1,
            before,
            after,
        })
    }

    fn copy(&self, to: &Operand<'a>, from: &Operand<'a>, call: &Instruction<'a>) -> Item<'a> {
        Item::Instruction(Instruction {
            guard: None,
            opcode: "mov",
            modifiers: vec!["argument"],
            operands: vec![to.clone(), from.clone()],
            ..call.clone()
        })
    }

    fn moved(&self, item: &Item<'a>, chains: &mut Chains, outer: u32) -> Item<'a> {
        let register = |register: RegisterId| RegisterId(register.0 + self.registers);
        let guarded = |guard: Option<(RegisterId, bool)>| {
            guard.map(|(predicate, negated)| (register(predicate), negated))
        };
        match item {
            Item::Label(label) => Item::Label(label + self.labels),
            Item::Jump {
                guard,
                to,
                line,
                place,
            } => Item::Jump {
                guard: guarded(*guard),
                to: to + self.labels,
                line: *line,
                place: chains.join(*place, outer),
            },
            Item::Instruction(instruction) if instruction.opcode == "ret" => Item::Jump {
                guard: guarded(instruction.guard),
                to: self.returned,
                line: instruction.line,
                place: chains.join(instruction.place, outer),
            },
            Item::Instruction(instruction) => {
                let mut instruction = instruction.clone();
                instruction.guard = guarded(instruction.guard);
                instruction.place = chains.join(instruction.place, outer);
                for operand in &mut instruction.operands {
                    each_operand(operand, &mut |operand| match operand {
                        Operand::Register(id) | Operand::Not(id) => *id = register(*id),
                        Operand::Label(label) => *label += self.labels,
                        Operand::Table(table) => *table += self.tables,
                        Operand::Variable(memory, _) => {
                            if let Memory::Own(own) = memory {
                                *memory = self.variables[*own];
                            }
                        }
                        _ => {}
                    });
                }
                Item::Instruction(instruction)
            }
        }
    }
}
