"""One step of an instance, as docs/language.md says under "Statements" and what follows.

A state is (positions, open, cells, flight, returned). `open` has per member the generations of barriers that it
arrived at and has not waited for. `flight` has per member, in the order in which it was started, what
goes on beside it:

- ("copy", cell, bytes, writes, op) delivers bytes,
- ("commit", cell, op) arrives once everything before it is done,
- ("work", name, reads, writes, groups) is work that no mbarrier is told of, with the number of groups
  that were made since.

`returned` has per member what its atomic operations have returned so far.
"""

NOT_STARTED = -1
USES = {"arrive", "wait_parity", "expect_tx", "arrive_expect_tx", "complete_tx", "copy", "commit"}


class Undefined(Exception):
    """A step without a meaning; the property that it violates."""


class Machine:
    def __init__(self, instance):
        self.it = instance
        self.events = []
        lists = [ops for ops in instance.ops if isinstance(ops, list)]
        self.set = {op[1] for ops in lists for op in ops if op[0] in ("set", "wait_swap")}

    def start(self):
        it = self.it
        count = len(it.members)
        positions = tuple(NOT_STARTED if m in it.launched else 0 for m in range(count))
        return (positions, (frozenset(),) * count, tuple(it.start), ((),) * count, ((),) * count)

    def ops(self, state, member):
        ops = self.it.ops[member]
        return ops if isinstance(ops, list) else ops.ops(state[4][member])

    def finished(self, state, member):
        return state[0][member] == len(self.ops(state, member))

    def next(self, state, member):
        position = state[0][member]
        ops = self.ops(state, member)
        return ops[position] if 0 <= position < len(ops) else None

    def passes(self, op, open, cells):
        """Whether an operation does not block."""
        word = op[0]
        if word == "wait==":
            return cells[op[1]] == op[2]
        if word == "wait_swap":
            return cells[op[1]] == op[2]
        if word == "wait>=":
            return cells[op[1]] >= op[2]
        if word == "wait_parity":
            _, _, completed, ready = cells[op[1]]
            return ready and completed % 2 != op[2]
        if word == "acquire":
            return cells[op[1]] >= op[2]
        if word == "wait_generation":
            return all(cells[cell][2] > g for cell, g in open if cell == op[1])
        if word == "wait_split":
            # Without an arrival it is undefined, which is no blocking.
            return all(cells[cell][1] > g for cell, g in open if cell == op[1])
        return True

    def startable(self, state):
        for order, members, fit in self.it.grids:
            resident = sum(1 for m in members if state[0][m] >= 0 and not self.finished(state, m))
            if resident >= fit:
                continue
            waiting = [m for m in (order or members) if state[0][m] == NOT_STARTED]
            yield from waiting[:1] if order is not None else waiting

    def moves(self, state):
        """What can happen next: (what, member, position in flight)."""
        positions, opens, cells, flights, _ = state
        all = [("start", m, None) for m in self.startable(state)]
        for m in range(len(positions)):
            op = self.next(state, m)
            if op is not None and self.passes(op, opens[m], cells):
                all.append(("step", m, None))
            clear = True
            for at, item in enumerate(flights[m]):
                if item[0] == "copy" or item[0] == "commit" and clear:
                    all.append(("land", m, at))
                clear = clear and item[0] == "work"
        return all

    # What an mbarrier does. Each notes the generations that the event takes part in.

    def complete(self, cell, pending, tx, completed):
        if pending == 0 and tx == 0:
            return (self.it.arrivals[cell], 0, completed + 1, True)
        return (pending, tx, completed, True)

    def arrive(self, value, cell, count, event):
        pending, tx, completed, ready = value
        if not ready:
            return value
        if count > pending:
            raise Undefined("over_arrival")
        self.events.append(("part", event, completed))
        return self.complete(cell, pending - count, tx, completed)

    def expect(self, value, cell, amount, event):
        pending, tx, completed, ready = value
        if not ready:
            return value
        self.events.append(("part", event, completed))
        return self.complete(cell, pending, tx + amount, completed)

    def deliver(self, value, cell, amount, event):
        pending, tx, completed, ready = value
        if not ready:
            return value
        if pending == 0 and 0 < tx < amount:
            # The first bytes complete the phase, the rest counts in the next one.
            self.events.append(("violates", "tx_mismatch"))
            self.events.append(("part", event, completed))
            rest = amount - tx
            return self.complete(cell, self.it.arrivals[cell], -rest, completed + 1)
        self.events.append(("part", event, completed))
        return self.complete(cell, pending, tx - amount, completed)

    def apply(self, state, move):
        """The state after a move. `events` says what was noteworthy about it."""
        self.events = []
        what, m, at = move
        positions, opens, cells, flights, returned = state
        if what == "start":
            return (put(positions, m, 0), opens, cells, flights, returned)
        if what == "land":
            return self.land(state, m, at)
        position = positions[m]
        op, event = self.ops(state, m)[position], (m, position)
        word, cell = op[0], op[1]
        value = None if cell is None else cells[cell]
        open, flight, new = opens[m], flights[m], value
        if word == "wait_parity":
            self.events.append(("pass", event, value[2]))
        elif word == "add":
            new = value + op[2]
        elif word == "set":
            new = op[2]
        elif word == "wait_swap":
            new = op[3]
        elif word == "fetch":
            returned = put(returned, m, returned[m] + (value,))
            if op[2] == "fetch_add":
                new = value + op[3][0]
            elif op[2] == "exchange":
                new = op[3][0]
            elif value == op[3][0]:
                new = op[3][1]
        elif word == "not_defined":
            raise Undefined("nothing")
        elif word == "arrive":
            new = self.arrive(value, cell, op[2], event)
        elif word == "expect_tx":
            new = self.expect(value, cell, op[2], event)
        elif word == "arrive_expect_tx":
            new = self.arrive(self.expect(value, cell, op[2], event), cell, 1, event)
        elif word == "complete_tx":
            new = self.deliver(value, cell, op[2], event)
        elif word == "init":
            if value[3]:
                raise Undefined("uninitialized")
            new = (value[0], value[1], value[2], True)
        elif word == "arrive_named":
            threads, who, generation = value
            if who and threads != op[2]:
                raise Undefined("over_arrival")
            self.events.append(("part", event, generation))
            # A warp counts as often as it comes.
            who = who + 1
            new = (op[2], who, generation)
            if 32 * who == op[2]:
                new = (0, 0, generation + 1)
            if op[3]:
                open = open | {(cell, generation)}
        elif word == "wait_generation":
            open = frozenset(pair for pair in open if pair[0] != cell)
        elif word == "arrive_split":
            arrived, generation = value
            if any(pair[0] == cell for pair in open):
                raise Undefined("over_arrival")
            self.events.append(("part", event, generation))
            open = open | {(cell, generation)}
            new = (arrived + 1, generation)
            if arrived + 1 == self.it.arrivals[cell]:
                new = (0, generation + 1)
        elif word == "wait_split":
            if not any(pair[0] == cell for pair in open):
                raise Undefined("over_arrival")
            open = frozenset(pair for pair in open if pair[0] != cell)
        elif word == "acquire":
            new = value - op[2]
        elif word == "release":
            if value + op[2] > self.it.capacity[cell]:
                raise Undefined("resources")
            new = value + op[2]
        elif word == "copy":
            flight = flight + (("copy", cell, op[2], op[3], event),)
        elif word == "commit":
            flight = flight + (("commit", cell, event),)
        elif word == "work":
            if op[3] or op[4]:
                flight = flight + (("work", op[2], op[3], op[4], 0),)
        elif word == "commit_group":
            flight = tuple(i[:4] + (i[4] + 1,) if i[0] == "work" else i for i in flight)
        elif word == "wait_group":
            flight = tuple(waited(flight, op[2], op[3]))
        if cell is not None and new is not value:
            cells = put(cells, cell, new)
        return (put(positions, m, position + 1), put(opens, m, open), cells, put(flights, m, flight), returned)

    def land(self, state, m, at):
        positions, opens, cells, flights, returned = state
        item = flights[m][at]
        cell, value = item[1], cells[item[1]]
        rest = flights[m][:at] + flights[m][at + 1:]
        if item[0] == "copy":
            new = self.deliver(value, cell, item[2], item[4] + ("lands",))
        else:
            new = self.arrive(value, cell, 1, item[2] + ("lands",))
            # Whatever it waited for is work that is done now.
            rest = flights[m][at + 1:]
        return (positions, opens, put(cells, cell, new), put(flights, m, rest), returned)


def waited(flight, kept, only_reads):
    """What is left after a wait for all but so many groups."""
    for item in flight:
        if item[0] != "work" or item[4] <= kept:
            yield item
        elif only_reads and item[3]:
            yield item[:2] + ((),) + item[3:]


def put(all, at, value):
    return all[:at] + (value,) + all[at + 1:]
