//! Writes a Python script that replays the run of a failure. It needs only the standard library.
//!
//! The script contains the operations of every member as a list, the objects with their initial values, and the run.
//! It performs the actions of the run one by one, and refuses an action that is not possible. Then it shows that
//! nobody can go on. Its rules are those of [`crate::semantics::step`], written a second time in another language. So
//! the script is an independent check.

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
            CellStart::Uninitialized(expected) => ("uninitialised", *expected),
            CellStart::Barrier(expected) => ("barrier", *expected),
            CellStart::Pool(capacity) => ("pool", *capacity),
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
        script += &match action {
            Action::Launch(member) => format!("    (\"start\", {member}),\n"),
            Action::Step(member) => format!("    (\"step\", {member}),\n"),
            Action::Land(member, position) => format!("    (\"land\", {member}, {position}),\n"),
        };
    }
    script + "]\n" + RULES
}

/// A text as a literal of Python or C++. Both have the escapes of JSON.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn operation(op: &Op) -> String {
    let (verb, value) = match op.kind {
        OpKind::Wait(Comparison::Equal, value) => ("wait ==", value),
        OpKind::Wait(Comparison::AtLeast, value) => ("wait >=", value),
        OpKind::Add(amount) => ("add", amount),
        OpKind::Set(value) => ("set", value),
        // Such a failure has been refused already.
        OpKind::Fetch(_) | OpKind::WaitSwap { .. } | OpKind::NotDefined | OpKind::Touch(_) => {
            ("atomic", 0)
        }
        OpKind::Arrive(count) => ("arrive", count),
        OpKind::WaitParity(parity) => ("wait parity", i64::from(parity)),
        OpKind::Sync(count) => ("sync", count),
        OpKind::BarArrive(count) => ("bar arrive", count),
        OpKind::ExpectTx(bytes) => ("expect tx", bytes),
        OpKind::CompleteTx(bytes) => ("complete tx", bytes),
        OpKind::Copy(bytes) => ("copy", bytes),
        OpKind::Commit => ("commit", 1),
        OpKind::Init => ("init", 0),
        OpKind::BarrierArrive => ("barrier arrive", 1),
        OpKind::BarrierWait => ("barrier wait", 0),
        OpKind::Acquire(amount) => ("acquire", amount),
        OpKind::Release(amount) => ("release", amount),
    };
    let stmt = match op.kind {
        OpKind::Copy(_) | OpKind::Commit => format!(", {}", op.stmt.0),
        _ => String::new(),
    };
    format!("(\"{verb}\", {}, {value}{stmt})", op.cell.0)
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
tx = [0] * len(CELLS)             # mbarriers: bytes expected and not delivered
ready = [kind != "uninitialised" for _, kind, _ in CELLS]
arrived = [set() for _ in CELLS]  # barriers: members of the open generation
released = [set() for _ in CELLS] # barriers: members that may pass
flight = [[] for _ in MEMBERS]    # (verb, cell, amount, statement), in order
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
    verb, cell, wanted, *_ = MEMBERS[member][2][done[member]]
    if verb == "wait ==":
        return value[cell] == wanted
    if verb == "wait >=":
        return value[cell] >= wanted
    if verb == "wait parity":
        return ready[cell] and phase[cell] != wanted
    if verb == "barrier wait":
        return member not in arrived[cell]
    if verb == "acquire":
        return value[cell] >= wanted
    if verb == "sync":
        return (member, True) not in registered[cell]
    return True


def can_land(member, position):
    if position >= len(flight[member]):
        return False
    return position == 0 or flight[member][position][0] == "copy"


def complete(cell):
    if value[cell] == 0 and tx[cell] == 0:
        phase[cell] ^= 1
        value[cell] = CELLS[cell][2]


def deliver(cell, amount):
    rest = 0
    if value[cell] == 0 and 0 < tx[cell] < amount:
        rest = amount - tx[cell]
        amount = tx[cell]
    tx[cell] -= amount
    complete(cell)
    tx[cell] -= rest


def arrive(cell, amount):
    assert amount <= value[cell]
    value[cell] -= amount
    complete(cell)


def start_async(member, operation):
    at = len(flight[member])
    key = lambda o: (o[1], o[2], o[3])
    if operation[0] == "copy":
        while at > 0:
            before = flight[member][at - 1]
            if before[0] != "copy" or key(before) <= key(operation):
                break
            at -= 1
    flight[member].insert(at, operation)


def land(member, position):
    verb, cell, amount, _ = flight[member].pop(position)
    if ready[cell]:
        (deliver if verb == "copy" else arrive)(cell, amount)


def step(member):
    verb, cell, amount, *_ = MEMBERS[member][2][done[member]]
    if verb == "add":
        value[cell] += amount
    elif verb == "set":
        value[cell] = amount
    elif verb in ("copy", "commit"):
        start_async(member, MEMBERS[member][2][done[member]])
    elif verb == "init":
        assert not ready[cell]
        ready[cell] = True
    elif verb in ("arrive", "expect tx", "complete tx") and not ready[cell]:
        pass
    elif verb == "arrive":
        arrive(cell, amount)
    elif verb == "expect tx":
        tx[cell] += amount
        complete(cell)
    elif verb == "complete tx":
        deliver(cell, amount)
    elif verb == "barrier arrive":
        assert member not in arrived[cell] | released[cell]
        arrived[cell].add(member)
        if len(arrived[cell]) == value[cell]:
            released[cell] |= arrived[cell]
            arrived[cell] = set()
    elif verb == "barrier wait":
        released[cell].remove(member)
    elif verb == "acquire":
        value[cell] -= amount
    elif verb == "release":
        value[cell] += amount
        assert value[cell] <= CELLS[cell][2]
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


for verb, member, *position in RUN:
    can = {"start": can_start, "step": can_step, "land": can_land}[verb]
    assert can(member, *position), (verb, MEMBERS[member][0])
    if verb == "start":
        done[member] = 0
    elif verb == "land":
        land(member, *position)
    else:
        step(member)

print("sizes: " + ", ".join(f"{name} = {size}" for name, size in SIZES.items()))
left = [member for member in range(len(MEMBERS)) if not finished(member)]
assert left and not any(can_start(member) or can_step(member) for member in left)
assert not any(flight)
for member in left:
    name, _, program = MEMBERS[member]
    if done[member] is None:
        print(f"{name} never starts")
    else:
        verb, cell, wanted, *_ = program[done[member]]
        now = f"phase {phase[cell]}" if verb == "wait parity" else value[cell]
        if not ready[cell]:
            now = "not initialised"
        elif verb == "barrier wait":
            now = f"{len(arrived[cell])} of {value[cell]}"
        print(f"{name} is blocked: {verb} {wanted} on {CELLS[cell][0]}, which is {now}")
print("HANG")
sys.exit(1)
"#;
