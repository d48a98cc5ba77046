"""Every schedule of every input: what hangs, what is undefined, and which properties are violated.

The properties are those of docs/verdicts.md, "Properties beside deadlock".
"""

from machine import USES
from machine import Machine
from machine import Undefined
from syntax import parse
from unfold import TooLarge
from unfold import instances

STATES = 60000


class Found:
    def __init__(self):
        self.stuck, self.undefined, self.violated = False, False, set()


def lapses(machine, before, after, moved):
    """Whether a wait by parity or for a value could pass before a step and cannot after it."""
    for m in range(len(before[0])):
        op = machine.next(before, m)
        if m != moved and op is not None and op[0] in ("wait_parity", "wait=="):
            if machine.passes(op, before[1][m], before[2]) and not machine.passes(op, after[1][m], after[2]):
                return True
    return False


def overshot(machine, state):
    """Whether somebody stands before a wait for a value that a counter, never set, has passed."""
    for m in range(len(state[0])):
        op = machine.next(state, m)
        if op is not None and op[0] == "wait==" and state[2][op[1]] > op[2] and op[1] not in machine.set:
            return True
    return False


def uninitialized(machine, state):
    it = machine.it
    for m in range(len(state[0])):
        op = machine.next(state, m)
        if op is None or op[1] is None or it.kinds[op[1]] != "mbarrier":
            continue
        if op[0] in USES and not state[2][op[1]][3]:
            return True
        place = it.places.get(op[1])
        if place is not None and it.member_places[m] != place:
            there = [o for o in range(len(it.members)) if it.member_places[o] == place]
            if there and all(machine.finished(state, o) for o in there):
                return True
    return False


def touches(op):
    """What an operation that is next reads and writes, and what work it is."""
    if op[0] == "access":
        return (() if op[2] else op[3]), (op[3] if op[2] else ()), None
    if op[0] == "copy":
        return (), op[3], "copy"
    if op[0] == "work":
        return op[3], op[4], op[2]
    return None


def races(machine, state):
    all = []
    for m in range(len(state[0])):
        op = machine.next(state, m)
        touched = touches(op) if op is not None else None
        if touched:
            all.append((m,) + touched)
        for item in state[3][m]:
            if item[0] == "copy":
                all.append((m, (), item[3], "copy"))
            elif item[0] == "work":
                all.append((m, item[2], item[3], item[1]))
    for at, (m, reads, writes, work) in enumerate(all):
        for other, its_reads, its_writes, its_work in all[:at]:
            if m == other and work == its_work == "mma":
                continue
            if any(e in its_reads or e in its_writes for e in writes) or any(e in its_writes for e in reads):
                return True
    return False


DELIVERS, EXPECTS = ("copy", "complete_tx"), ("expect_tx", "arrive_expect_tx")


def outstanding(machine, state):
    """Whether bytes are missing or too many, and no statement is left that makes up for them."""
    for cell, kind in enumerate(machine.it.kinds):
        if kind == "mbarrier" and state[2][cell][1] != 0:
            wanted = DELIVERS if state[2][cell][1] > 0 else EXPECTS
            members = range(len(state[0]))
            left = (op for m in members for op in machine.ops(state, m)[max(state[0][m], 0):])
            if not any(op[0] in wanted and op[1] == cell for op in left):
                return True
    return False


def explore(instance, found, data):
    """Adds to what was found. With data only races are looked for."""
    machine = Machine(instance)
    start = machine.start()
    seen, left = {start}, [start]
    parts, passed = {}, {}
    while left:
        state = left.pop()
        moves = machine.moves(state)
        if data:
            if races(machine, state):
                found.violated.add("race")
                return
        else:
            if uninitialized(machine, state):
                found.violated.add("uninitialized")
            if overshot(machine, state):
                found.violated.add("lapped_wait")
            if not moves:
                found.stuck |= not all(machine.finished(state, m) for m in range(len(state[0])))
                if outstanding(machine, state):
                    found.violated.add("tx_mismatch")
        for move in moves:
            try:
                after = machine.apply(state, move)
            except Undefined as undefined:
                found.undefined = True
                found.violated.add(undefined.args[0])
                after = None
            for event in machine.events:
                if event[0] == "part":
                    parts.setdefault(event[1], set()).add(event[2])
                elif event[0] == "pass":
                    passed.setdefault(event[1], set()).add(event[2])
                else:
                    found.violated.add(event[1])
            if after is None:
                continue
            if not data and "lapped_wait" not in found.violated:
                if lapses(machine, state, after, move[1] if move[0] == "step" else None):
                    found.violated.add("lapped_wait")
            if after not in seen:
                if len(seen) > STATES:
                    raise TooLarge
                seen.add(after)
                left.append(after)
    if any(len(all) > 1 for all in parts.values()):
        found.violated.add("early_completion")
    if any(len(all) > 1 for all in passed.values()):
        found.violated.add("early_pass")


def answers(source, params, max_initial, race):
    items, found = parse(source), Found()
    for instance in instances(items, params, max_initial, False):
        explore(instance, found, False)
    if race:
        with_data = Found()
        for instance in instances(items, params, max_initial, True):
            explore(instance, with_data, True)
        found.violated.discard("race")
        found.violated |= with_data.violated & {"race"}
    return found
