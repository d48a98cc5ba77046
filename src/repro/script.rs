//! A Python script that plays the run of any failure: nothing but the standard library.
//!
//! The script holds every member's operations as a list, the objects with their start values and
//! the run. It takes the run's actions one by one, refusing one that cannot happen, and then
//! shows that nobody can go on. Its rules are those of [`crate::semantics::step`], written once
//! more in another language, so it is a check of its own.

use crate::protocol::Comparison;
use crate::semantics::instance::CellStart;
use crate::semantics::instance::Instance;
use crate::semantics::instance::Op;
use crate::semantics::instance::OpKind;
use crate::semantics::step::Action;

use super::failure::Failure;

/// The script. `header` becomes comment lines at its top. It exits with status 1 after showing
/// the hang.
pub(super) fn replay(failure: &Failure, header: &[&str]) -> String {
    let instance = &failure.instance;
    let mut script = String::new();
    for line in header.iter().flat_map(|line| line.lines()) {
        script += format!("# {line}").trim_end();
        script.push('\n');
    }
    script += "import sys\n\n";
    let mut sizes = failure.witness.parameters.iter().peekable();
    script += "SIZES = {";
    while let Some((name, value)) = sizes.next() {
        let comma = if sizes.peek().is_some() { ", " } else { "" };
        script += &format!("{}: {value}{comma}", quoted(name));
    }
    script += "}\n\n# Every object: its name, its kind and how it starts.\nCELLS = [\n";
    for (cell, start) in (0..).zip(&instance.cells) {
        let name = quoted(&instance.cell_name(crate::semantics::instance::CellId(cell)));
        let (kind, value) = match start {
            CellStart::Semaphore(value) => ("semaphore", *value),
            CellStart::Mbarrier(expected) => ("mbarrier", *expected),
            CellStart::Named => ("named", 0),
        };
        script += &format!("    ({name}, \"{kind}\", {value}),\n");
    }
    script += "]\n\n# Every member: its name, its role and what it does.\nMEMBERS = [\n";
    for (at, member) in instance.members.iter().enumerate() {
        let name = quoted(&instance.member_name(at));
        script += &format!("    ({name}, {}, [\n", member.role);
        for op in &member.ops {
            script += &format!("        {},\n", operation(op));
        }
        script += "    ]),\n";
    }
    script +=
        "]\n\n# Every role: None, or the launch order (None: any) and the places.\nROLES = [\n";
    for role in 0..instance.roles.len() {
        script += &format!("    {},\n", launch(instance, role));
    }
    script += "]\n\n# The run: who starts or does the next operation.\nRUN = [\n";
    for action in &failure.schedule {
        let (verb, member) = match action {
            Action::Launch(member) => ("start", member),
            Action::Step(member) => ("step", member),
        };
        script += &format!("    (\"{verb}\", {member}),\n");
    }
    script + "]\n" + RULES
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn operation(op: &Op) -> String {
    let (verb, value) = match op.kind {
        OpKind::Wait(Comparison::Equal, value) => ("wait ==", value),
        OpKind::Wait(Comparison::AtLeast, value) => ("wait >=", value),
        OpKind::Add(amount) => ("add", amount),
        OpKind::Set(value) => ("set", value),
        OpKind::Arrive(count) => ("arrive", count),
        OpKind::WaitParity(parity) => ("wait parity", i64::from(parity)),
        OpKind::Sync(count) => ("sync", count),
        OpKind::BarArrive(count) => ("bar arrive", count),
    };
    format!("(\"{verb}\", {}, {value})", op.cell.0)
}

fn launch(instance: &Instance, role: usize) -> String {
    let Some(plan) = &instance.roles[role].launch else {
        return "None".to_owned();
    };
    let order = match &plan.order {
        Some(order) => format!("{order:?}"),
        None => "None".to_owned(),
    };
    let places = plan
        .resident
        .map_or("None".to_owned(), |places| places.to_string());
    format!("({order}, {places})")
}

const RULES: &str = r#"

value = [start for _, _, start in CELLS]
phase = [0] * len(CELLS)
registered = [[] for _ in CELLS]  # named barriers: (member, whether it blocks)
threads = [0] * len(CELLS)        # named barriers: threads of the open generation
done = [None] * len(MEMBERS)      # operations done; None: not started
for member, (_, role, _) in enumerate(MEMBERS):
    if ROLES[role] is None:
        done[member] = 0


def finished(member):
    return done[member] == len(MEMBERS[member][2])


def can_start(member):
    role = MEMBERS[member][1]
    if ROLES[role] is None or done[member] is not None:
        return False
    order, places = ROLES[role]
    peers = [m for m in range(len(MEMBERS)) if MEMBERS[m][1] == role]
    started = [m for m in peers if done[m] is not None]
    running = [m for m in started if not finished(m)]
    is_next = order is None or order[len(started)] == member
    return is_next and (places is None or len(running) < places)


def can_step(member):
    if done[member] is None or finished(member):
        return False
    verb, cell, wanted = MEMBERS[member][2][done[member]]
    if verb == "wait ==":
        return value[cell] == wanted
    if verb == "wait >=":
        return value[cell] >= wanted
    if verb == "wait parity":
        return phase[cell] != wanted
    if verb == "sync":
        return (member, True) not in registered[cell]
    return True


def step(member):
    verb, cell, amount = MEMBERS[member][2][done[member]]
    if verb == "add":
        value[cell] += amount
    elif verb == "set":
        value[cell] = amount
    elif verb == "arrive":
        value[cell] -= amount
        if value[cell] == 0:
            phase[cell] ^= 1
            value[cell] = CELLS[cell][2]
    elif verb in ("sync", "bar arrive"):
        registered[cell].append((member, verb == "sync"))
        threads[cell] += 32
        if threads[cell] < amount:
            if verb == "sync":
                return
        else:
            threads[cell] = 0
            for other, blocks in registered[cell]:
                if blocks and other != member:
                    done[other] += 1
            registered[cell] = []
    done[member] += 1


for verb, member in RUN:
    assert (can_start if verb == "start" else can_step)(member), (verb, MEMBERS[member][0])
    if verb == "start":
        done[member] = 0
    else:
        step(member)

print("sizes: " + ", ".join(f"{name} = {size}" for name, size in SIZES.items()))
left = [member for member in range(len(MEMBERS)) if not finished(member)]
assert left and not any(can_start(member) or can_step(member) for member in left)
for member in left:
    name, _, program = MEMBERS[member]
    if done[member] is None:
        print(f"{name} never starts")
    else:
        verb, cell, wanted = program[done[member]]
        now = f"phase {phase[cell]}" if verb == "wait parity" else value[cell]
        print(f"{name} is blocked: {verb} {wanted} on {CELLS[cell][0]}, which is {now}")
print("HANG")
sys.exit(1)
"#;
