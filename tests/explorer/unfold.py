"""Writes a protocol out at given parameter values: every member becomes a list of operations.

An input (patterns, orders of rows, start values) decides every list, unless a member goes on with what
atomic operations return. Then what they returned so far decides the list up to the next such operation.
"""

import itertools

from expressions import Fault
from expressions import Scope
from syntax import Refused

MOST = 3000


class TooLarge(Exception):
    """More than is worth looking at."""


class Leave(Exception):
    """A `break` or `return` on its way out."""


class Pending(Exception):
    """An atomic operation whose result is not known yet."""


class Program:
    """The operations of a member, as far as what was returned tells."""

    def __init__(self, unfolding, body, local, first):
        self.unfolding, self.body, self.local, self.first = unfolding, body, local, first
        self.known = {}
        self.ops(())

    def ops(self, returned):
        if returned not in self.known:
            self.known[returned] = self.written(returned)
        return self.known[returned]

    def written(self, returned):
        unfolding = self.unfolding
        unfolding.ops, unfolding.work, unfolding.returned = [], 0, list(returned)
        try:
            unfolding.run(self.body, dict(self.local), self.first)
        except (Leave, Pending):
            pass
        except Fault:
            if not returned:
                raise
            unfolding.ops.append(("not_defined", None))
        finally:
            unfolding.returned = None
        return unfolding.ops


class Choices:
    """A path through a tree of choices; `further` moves on to the next path."""

    def __init__(self):
        self.path, self.at = [], 0

    def pick(self, options):
        if self.at == len(self.path):
            self.path.append([0, options])
        self.at += 1
        chosen, count = self.path[self.at - 1]
        assert count == options
        return chosen

    def further(self):
        self.at = 0
        while self.path and self.path[-1][0] + 1 == self.path[-1][1]:
            self.path.pop()
        if self.path:
            self.path[-1][0] += 1
        return bool(self.path)


class Instance:
    """What can happen at one input."""

    def __init__(self):
        self.cells, self.kinds, self.start, self.arrivals, self.capacity = {}, [], [], {}, {}
        self.places = {}
        self.members, self.ops, self.member_places = [], [], []
        # Per grid: the members in order of launch or None, all of them, and how many fit.
        self.grids = []
        self.launched = set()

    def cell(self, kind, name, indices, start):
        self.cells[name, indices] = len(self.kinds)
        self.kinds.append(kind)
        self.start.append(start)
        return len(self.kinds) - 1


class Unfolding:
    def __init__(self, items, params, max_initial, choices, data):
        self.items, self.scope, self.choices, self.data = items, Scope(params), choices, data
        self.max_initial, self.instance = max_initial, Instance()
        self.buffers, self.extents, self.rows, self.work = {}, {}, {}, 0
        # What atomic operations of the member at hand are known to return; None where it has none.
        self.returned = None

    def value(self, expr, local=None):
        return self.scope.value(expr, local or {})

    def tuples(self, extents):
        sizes = [self.value(extent) for extent in extents]
        total = 1
        for size in sizes:
            total *= max(size, 0)
        if total > MOST:
            raise TooLarge
        return itertools.product(*map(range, sizes))

    def declare(self, item):
        word, into = item[0], self.instance
        if word == "let":
            self.scope.lets[item[1]] = (item[2], item[3])
        elif word == "assume":
            if not self.value(item[1]):
                raise Fault("an assumption does not hold")
        elif word == "pattern":
            _, name, names, extents, condition = item
            tiles = list(self.tuples(extents))
            self.extents[name] = [self.value(extent) for extent in extents]
            if condition is not None:
                chosen = {t for t in tiles if self.value(condition, dict(zip(names, t)))}
            else:
                chosen = {t for t in tiles if self.choices.pick(2)}
            self.scope.patterns[name] = chosen
        elif word == "semaphore":
            for indices in self.tuples(item[2]):
                start = self.value(item[3]) if item[3] is not None else self.choices.pick(self.max_initial + 1)
                into.cell("semaphore", item[1], indices, start)
        elif word in ("mbarrier", "barrier"):
            _, name, names, extents, arrivals, explicit, place = item
            for indices in self.tuples(extents):
                count = self.value(arrivals)
                if count < 1:
                    raise Fault("a barrier that expects no arrivals")
                start = (count, 0, 0, not explicit) if word == "mbarrier" else (0, 0)
                cell = into.cell(word, name, indices, start)
                into.arrivals[cell] = count
                if place:
                    into.places[cell] = self.place(place, dict(zip(names, indices)))
        elif word == "named":
            for indices in self.tuples(item[2]):
                into.cell("named", item[1], indices, (0, 0, 0))
        elif word == "pool":
            for indices in self.tuples(item[2]):
                capacity = self.value(item[3])
                if capacity < 0:
                    raise Fault("a capacity below zero")
                cell = into.cell("pool", item[1], indices, capacity)
                into.capacity[cell] = capacity
        elif word == "buffer" and self.data:
            self.buffers[item[1]] = [self.value(extent) for extent in item[2]]
        elif word in ("role", "grid"):
            self.role(item)

    def place(self, place, local):
        return tuple(self.value(place[word], local) if word in place else 0 for word in ("gpu", "cluster", "cta"))

    def role(self, item):
        word, name, indices, _, launch, resident, place, body = item
        into, members = self.instance, {}
        for values in self.tuples([extent for _, extent in indices]):
            local = dict(zip([index for index, _ in indices], values))
            number = len(into.members)
            members[values] = number
            into.members.append(name + "".join(f"[{v}]" for v in values))
            own = ("own", number)
            is_first = not values or values[-1] == 0
            into.member_places.append(self.place(place, local) if place or word == "role" else own)
            if fetches(body):
                into.ops.append(Program(self, body, local, is_first))
                continue
            self.ops = []
            into.ops.append(self.ops)
            try:
                self.run(body, local, is_first)
            except Leave:
                pass
        if word == "grid":
            order = None
            if launch != "any":
                names = [index for index, _ in indices]
                def key(values):
                    return [values[names.index(n)] * (1 if way == "ascending" else -1) for n, way in launch]
                order = [members[values] for values in sorted(members, key=key)]
            fit = len(members)
            if resident == "open":
                fit = self.scope.params["R"]
            elif resident != "all":
                fit = self.value(resident)
            into.grids.append((order, list(members.values()), fit))
            into.launched.update(members.values())

    # Statements.

    def run(self, block, local, first):
        for stmt in block:
            self.work += 1
            if self.work > 20000:
                raise TooLarge
            self.stmt(stmt, local, first)

    def body(self, block, local, first):
        """One round of a loop; whether there may be another."""
        try:
            self.run(block, local, first)
        except Leave as leave:
            if leave.args[0] == "break":
                return False
            raise
        return True

    def element(self, name, indices, local):
        key = (name, tuple(self.value(i, local) for i in indices))
        if key not in self.instance.cells:
            raise Fault(f"there is no {key}")
        return self.instance.cells[key]

    def accesses(self, elements, local):
        all = []
        for name, indices in elements if self.data else ():
            values = tuple(self.value(i, local) for i in indices)
            if name in self.buffers:
                extents = self.buffers[name]
                if len(values) != len(extents) or not all_within(values, extents):
                    raise Fault(f"there is no {name}{values}")
                all.append((name, values))
        return tuple(all)

    def not_negative(self, value):
        if value < 0:
            raise Fault("a negative amount")
        return value

    def threads(self, value):
        if value < 32 or value % 32:
            raise Fault("a thread count is a positive multiple of 32")
        return value

    def stmt(self, stmt, local, first):
        word, value = stmt[0], lambda expr: self.value(expr, local)
        cell = None
        if word in CELL:
            cell = self.element(stmt[1], stmt[2], local)
        def put(*op):
            self.ops.append(op)
            if len(self.ops) > MOST:
                raise TooLarge
        if word in ("wait==", "wait>=", "set"):
            put(word, cell, value(stmt[3]))
        elif word == "wait_swap":
            put(word, cell, value(stmt[3][0]), value(stmt[3][1]))
        elif word == "fetch":
            put(word, cell, stmt[3], tuple(value(operand) for operand in stmt[4]))
            if not self.returned:
                raise Pending
            local[stmt[5]] = self.returned.pop(0)
        elif word == "wait_parity":
            put(word, cell, self.parity(value(stmt[3])))
        elif word in ("add", "expect_tx", "arrive_expect_tx", "complete_tx", "acquire", "release"):
            put(word, cell, self.not_negative(value(stmt[3])))
        elif word == "arrive":
            count = 1 if stmt[3] is None else value(stmt[3])
            if count < 1:
                raise Fault("an arrival of nobody")
            put(word, cell, count)
        elif word in ("arrive_named", "sync_named"):
            put("arrive_named", cell, self.threads(value(stmt[3])), word == "sync_named")
            if word == "sync_named":
                put("wait_generation", cell)
        elif word in ("arrive_split", "sync_split", "wait_split"):
            if word != "wait_split":
                put("arrive_split", cell)
            if word != "arrive_split":
                put("wait_split", cell)
        elif word == "copy":
            written = self.accesses([stmt[4]], local)
            put(word, cell, self.not_negative(value(stmt[3])), written if self.data else ())
        elif word in ("commit", "init"):
            put(word, cell)
        elif word == "work":
            reads, writes = self.accesses(stmt[2], local), self.accesses(stmt[3], local)
            if self.data:
                put(word, None, stmt[1], reads, writes)
        elif word == "access":
            touched = self.accesses([stmt[2]], local)
            if self.data and touched:
                put(word, None, stmt[1], touched)
        elif word == "commit_group":
            if self.data:
                put(word, None)
        elif word == "wait_group":
            if self.data:
                kept = self.not_negative(value(stmt[1]))
                put(word, None, kept, stmt[2])
        elif word == "assign":
            local[stmt[1]] = value(stmt[2])
        elif word == "pipeline":
            local[stmt[1]] = (value(stmt[3]), 1 if stmt[2] == "producer" else 0, 0)
        elif word == "advance":
            stages, start, count = local[stmt[1]]
            local[stmt[1]] = (stages, start, count + 1)
        elif word == "if":
            self.run(stmt[2] if value(stmt[1]) else stmt[3], local, first)
        elif word == "elect":
            if first:
                self.run(stmt[1], local, first)
        elif word == "repeat":
            for _ in range(value(stmt[1])):
                if not self.body(stmt[2], local, first):
                    break
        elif word == "for":
            _, name, lo, hi, descending, block = stmt
            rounds = range(value(lo), value(hi))
            for round in reversed(rounds) if descending else rounds:
                local[name] = round
                if not self.body(block, local, first):
                    break
        elif word == "row":
            for entry in self.row(stmt, local):
                local[stmt[1]] = entry
                if not self.body(stmt[5], local, first):
                    break
        elif word in ("return", "break"):
            raise Leave(word)

    def parity(self, value):
        if value not in (0, 1):
            raise Fault("a parity is 0 or 1")
        return value

    def row(self, stmt, local):
        _, _, pattern, rows, order, _ = stmt
        prefix = tuple(self.value(row, local) for row in rows)
        entries = sorted(t[-1] for t in self.scope.patterns[pattern] if t[:-1] == prefix)
        if order == "ascending":
            return entries
        if order == "descending":
            return entries[::-1]
        if order == "none" and (pattern, prefix) in self.rows:
            return self.rows[pattern, prefix]
        if self.returned is not None:
            raise Refused("a row in open order in a role that goes on with results")
        left, listed = list(entries), []
        while left:
            listed.append(left.pop(self.choices.pick(len(left)) if len(left) > 1 else 0))
        if order == "none":
            self.rows[pattern, prefix] = listed
        return listed


def fetches(block):
    """Whether statements go on with what an atomic operation returns."""
    return any(
        isinstance(part, (list, tuple)) and (part[:1] == ("fetch",) or fetches(part)) for part in block
    )


def all_within(values, extents):
    return all(0 <= value < extent for value, extent in zip(values, extents))


CELL = set("""wait== wait>= wait_parity wait_split arrive arrive_named arrive_split sync_named sync_split
arrive_expect_tx expect_tx complete_tx copy commit init acquire release add set fetch wait_swap""".split())


def instances(items, params, max_initial, data):
    """The instances of every input."""
    choices = Choices()
    while True:
        unfolding = Unfolding(items, params, max_initial, choices, data)
        for item in items:
            unfolding.declare(item)
        yield unfolding.instance
        if not choices.further():
            return
