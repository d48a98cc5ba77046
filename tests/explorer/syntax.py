"""Reads a .wlk text into nested tuples, as the grammar of docs/language.md says.

An expression is a tuple whose first entry says what it is; a statement likewise.
"""

import re

TOKEN = re.compile(r"\s+|//[^\n]*|(\d+)|([^\W\d]\w*)|(\.\.=|\.\.|\+=|==|!=|<=|>=|&&|\|\||->|[-+*/%^!<>=()\[\]{},:.])")

RESERVED = set("""accumulate acquire advance all always any arrive arrive_expect_tx ascending assert
assume async barrier break buffer commit commit_group complete_tx descending elect else eventually
expect expect_tx false fence for grid if in init invariant let mbarrier named param pattern pool
protocol read release repeat return role semaphore sync true var wait wait_group write""".split())
ATOMICS = {"fetch_add": 1, "exchange": 1, "compare_and_swap": 2}
ORDERS = {"relaxed", "acquire", "release", "acq_rel"}
SCOPES = {"cta", "cluster", "gpu", "sys"}
LEVELS = [["||"], ["&&"], ["==", "!=", "<", "<=", ">", ">="], ["^"], ["+", "-"], ["*", "/", "%"]]


class Refused(Exception):
    """The text is not what the grammar allows."""


def tokens(text):
    found, at = [], 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match:
            raise Refused(f"character {text[at]!r}")
        if match.lastindex:
            found.append(("int name sign".split()[match.lastindex - 1], match.group()))
        at = match.end()
    return found + [("end", "")]


class Parser:
    def __init__(self, text):
        self.all, self.at, self.kinds = tokens(text), 0, {}

    # Words.

    def peek(self, ahead=0):
        return self.all[min(self.at + ahead, len(self.all) - 1)][1]

    def kind(self):
        return self.all[self.at][0]

    def take(self, word=None):
        kind, text = self.all[self.at]
        if word is not None and text != word:
            raise Refused(f"expected {word}, found {text!r}")
        if kind == "end":
            raise Refused("the text ends early")
        self.at += 1
        return text

    def has(self, word):
        if self.kind() != "end" and self.peek() == word:
            self.at += 1
            return True
        return False

    def integer(self):
        sign = -1 if self.has("-") else 1
        return sign * int(self.take())

    # Expressions.

    def expr(self, level=0):
        if level == len(LEVELS):
            return self.prefix()
        left = self.expr(level + 1)
        while self.kind() == "sign" and self.peek() in LEVELS[level]:
            left = (self.take(), left, self.expr(level + 1))
            if level == 2:
                break
        return left

    def prefix(self):
        if self.kind() == "sign" and self.peek() in ("-", "!"):
            return ({"-": "neg", "!": "not"}[self.take()], self.prefix())
        return self.primary()

    def primary(self):
        kind, text = self.all[self.at]
        if kind == "int":
            return ("int", int(self.take()))
        if self.has("("):
            inner = self.expr()
            self.take(")")
            return inner
        if kind != "name" or text in RESERVED and text not in ("true", "false", "if"):
            raise Refused(f"no expression begins with {text!r}")
        self.take()
        if text in ("true", "false"):
            return ("bool", text == "true")
        if text == "if":
            condition = self.expr()
            self.take("then")
            yes = self.expr()
            self.take("else")
            return ("if", condition, yes, self.expr())
        if text == "count" and self.has("("):
            name = self.take()
            self.take("in")
            lo = self.expr()
            self.take("..")
            hi = self.expr()
            self.take("where")
            condition = self.expr()
            self.take(")")
            return ("count", name, lo, hi, condition)
        if self.has("("):
            inner = self.exprs()
            self.take(")")
            return ("call", text, inner)
        if self.has("["):
            inner = self.exprs()
            self.take("]")
            return ("element", text, inner)
        if self.peek() == "." and self.peek(1) in ("index", "phase", "count"):
            self.take()
            return ("pipe", text, self.take())
        return ("name", text)

    def exprs(self):
        all = [self.expr()]
        while self.has(","):
            all.append(self.expr())
        return all

    def element(self):
        name, indices = self.take(), []
        if self.has("["):
            indices = self.exprs()
            self.take("]")
        return name, indices

    def elements(self):
        all = [self.element()]
        while self.has(","):
            all.append(self.element())
        return all

    def begins_update(self):
        """Whether a name, perhaps with indices, and `=` or `+=` stand here."""
        ahead, depth = 1, 0
        while True:
            word = self.peek(ahead)
            if word == "[":
                depth += 1
            elif word == "]" and depth:
                depth -= 1
            elif not depth or word in ("", "{", "}"):
                return word in ("=", "+=")
            ahead += 1

    def clause(self, word):
        return self.peek() == word and not self.begins_update() and self.has(word)

    def atomic(self):
        """An atomic operation: its name, the semaphore and the other operands."""
        word = self.take()
        self.memory()
        self.take("(")
        name, indices = self.element()
        self.take(",")
        operands = self.exprs()
        self.take(")")
        if len(operands) != ATOMICS[word]:
            raise Refused(f"{word} takes {ATOMICS[word]}")
        return word, name, indices, operands

    # Declarations.

    def file(self):
        self.take("protocol")
        self.take()
        items = []
        while self.kind() != "end":
            items.append(self.item())
        return items

    def index(self):
        name = self.take()
        self.take("in")
        self.take("0")
        self.take("..")
        return name, self.expr()

    def family(self):
        name, extents = self.take(), []
        names = []
        if self.has("["):
            while True:
                if self.peek(1) == "in":
                    index, extent = self.index()
                    names.append(index)
                else:
                    extent = self.expr()
                extents.append(extent)
                if not self.has(","):
                    break
            self.take("]")
        return name, names, extents

    def place(self):
        found = {}
        for word in ("cta", "cluster", "gpu"):
            if self.has(word):
                found[word] = self.expr()
        return found

    def item(self):
        word = self.take()
        if word == "param":
            name = self.take()
            self.take("in")
            if self.has("{"):
                values = [self.integer()]
                while self.has(","):
                    values.append(self.integer())
                self.take("}")
                return (word, name, values)
            lo, hi = self.integer(), None
            if self.has("..="):
                hi = self.integer()
            else:
                self.take("..")
            return (word, name, (lo, hi))
        if word == "assume":
            return (word, self.expr())
        if word == "let":
            name, names = self.take(), []
            if self.has("("):
                names = [self.take()]
                while self.has(","):
                    names.append(self.take())
                self.take(")")
            self.take("=")
            return (word, name, names, self.expr())
        if word == "pattern":
            name, names, extents = self.family()
            return (word, name, names, extents, self.expr() if self.has("=") else None)
        if word == "semaphore":
            name, _, extents = self.family()
            self.kinds[name] = word
            self.take("=")
            return (word, name, extents, None if self.has("any") else self.expr())
        if word in ("mbarrier", "barrier"):
            name, names, extents = self.family()
            self.kinds[name] = word
            self.take("{")
            self.take("arrivals")
            self.take(":")
            arrivals, explicit = self.expr(), False
            if self.has(","):
                for part in ("init", ":", "explicit"):
                    self.take(part)
                explicit = True
            self.take("}")
            return (word, name, names, extents, arrivals, explicit, self.place() if word == "mbarrier" else {})
        if word == "named":
            name, _, extents = self.family()
            self.kinds[name] = word
            return (word, name, extents)
        if word == "pool":
            name, _, extents = self.family()
            self.kinds[name] = word
            self.take("=")
            capacity, whole = self.expr(), False
            if self.has("{"):
                for part in ("release", ":", "mandatory", "}"):
                    self.take(part)
                whole = True
            return (word, name, extents, capacity, whole)
        if word == "buffer":
            name, _, extents = self.family()
            if self.has("{"):
                for part in ("memory", ":", "tensor", "}"):
                    self.take(part)
            return (word, name, extents)
        if word == "eventually":
            self.take("done")
            return ("claim",)
        if word == "always":
            for part in ("(", "waiting", "->", "eventually", "passes", ")"):
                self.take(part)
            return ("claim",)
        if word == "invariant":
            while self.has("["):
                self.index()
                self.take("]")
            self.expr()
            return ("claim",)
        if word in ("role", "grid"):
            return self.role(word)
        if word == "expect":
            self.take()
            self.take(":")
            self.take()
            if self.has("at"):
                while True:
                    self.take()
                    self.take("=")
                    self.integer()
                    if not self.has(","):
                        break
            if self.has("assuming"):
                self.exprs()
            return ("claim",)
        raise Refused(f"no declaration begins with {word!r}")

    def role(self, word):
        name, indices = self.take(), []
        while self.has("["):
            indices.append(self.index())
            self.take("]")
        launch, resident, warp = "any", "open", False
        if word == "role":
            warp = self.has("warp")
        elif self.has("launch"):
            if self.has("any"):
                launch = "any"
            elif self.peek() in ("ascending", "descending"):
                way = self.take()
                launch = [(index, way) for index, _ in indices]
            else:
                launch = []
                while True:
                    launch.append((self.take(), self.take()))
                    if not self.has(","):
                        break
        if word == "grid" and self.has("resident"):
            if self.has("all"):
                resident = "all"
            elif self.peek() == "1" and self.peek(1) == "..":
                self.take()
                self.take()
            else:
                resident = self.expr()
        place = self.place()
        return (word, name, indices, warp, launch, resident, place, self.block())

    # Statements.

    def block(self):
        self.take("{")
        all = []
        while not self.has("}"):
            all.append(self.stmt())
        return all

    def memory(self):
        while self.peek() == "." and self.peek(1) in ORDERS | SCOPES:
            self.take()
            self.take()

    def optional(self):
        """An expression, unless what follows is the next statement."""
        before = self.at
        if self.peek() in RESERVED - {"true", "false"} or self.peek() == "}":
            return None
        if self.peek() in ("red", "st") and self.peek(1) == ".":
            return None
        found = self.expr()
        if self.kind() == "sign" and self.peek() in ("=", "+="):
            self.at = before
            return None
        return found

    def stmt(self):
        word = self.take()
        memory_word = word in ("red", "st") and self.peek() == "."
        if word in ("wait", "arrive", "arrive_expect_tx") or memory_word:
            self.memory()
        if word == "wait" and self.peek() == "compare_and_swap" and self.peek(1) == "(":
            _, name, indices, operands = self.atomic()
            return ("wait_swap", name, indices, operands)
        if word == "wait":
            name, indices = self.element()
            kind = self.kinds[name]
            if kind == "semaphore":
                sign = self.take()
                return ("wait" + sign, name, indices, self.expr())
            if kind == "mbarrier":
                return ("wait_parity", name, indices, self.expr())
            return ("wait_split", name, indices)
        if word == "arrive":
            name, indices = self.element()
            kind = self.kinds[name]
            if kind == "named":
                return ("arrive_named", name, indices, self.expr())
            if kind == "barrier":
                return ("arrive_split", name, indices)
            return ("arrive", name, indices, self.optional())
        if word == "sync":
            name, indices = self.element()
            if self.kinds[name] == "named":
                return ("sync_named", name, indices, self.expr())
            return ("sync_split", name, indices)
        if word in ("arrive_expect_tx", "expect_tx", "complete_tx"):
            name, indices = self.element()
            return (word, name, indices, self.expr())
        if word == "async":
            work = self.take()
            if work == "copy":
                target = self.element()
                if self.clause("completes"):
                    name, indices = self.element()
                    return ("copy", name, indices, self.expr(), target)
                return ("work", work, [], [target])
            reads = self.elements() if self.clause("reads") else []
            writes = self.elements() if self.clause("writes") else []
            return ("work", work, reads, writes)
        if word in ("commit", "init"):
            return (word,) + self.element()
        if word in ("acquire", "release"):
            name, indices = self.element()
            amount = self.expr()
            if self.clause("backing"):
                self.elements()
            return (word, name, indices, amount)
        if word == "commit_group":
            return (word,)
        if word == "wait_group":
            return (word, self.expr(), self.has("read"))
        if word == "fence":
            while self.has("."):
                self.take()
            return ("nothing",)
        if word in ("var", "let"):
            name = self.take()
            self.take("=")
            if self.peek() in ATOMICS and (self.peek(1) == "(" or self.peek(2) in ORDERS | SCOPES):
                operation, of, indices, operands = self.atomic()
                return ("fetch", of, indices, operation, operands, name)
            if self.peek() in ("producer", "consumer") and self.peek(1) == "(":
                way = self.take()
                self.take("(")
                stages = self.expr()
                self.take(")")
                return ("pipeline", name, way, stages)
            return ("assign", name, self.expr())
        if word == "advance":
            return (word, self.take())
        if word in ("accumulate", "read", "write"):
            return ("access", word != "read", self.element())
        if word == "if":
            return self.conditional()
        if word == "elect":
            return (word, self.block())
        if word == "repeat":
            return (word, self.expr(), self.block())
        if word == "for":
            name = self.take()
            self.take("in")
            if self.peek() == "row" and self.peek(1) == "(":
                self.take()
                self.take("(")
                pattern = self.take()
                rows = self.exprs() if self.has(",") else []
                self.take(")")
                order = "none"
                if self.peek() in ("ascending", "descending"):
                    order = self.take()
                elif self.has("any"):
                    order = "any"
                    self.take("order")
                return ("row", name, pattern, rows, order, self.block())
            lo = self.expr()
            self.take("..")
            hi = self.expr()
            return ("for", name, lo, hi, self.has("descending"), self.block())
        if word == "assert":
            self.expr()
            return ("nothing",)
        if word in ("return", "break"):
            return (word,)
        if not memory_word:
            self.at -= 1
        name, indices = self.element()
        sign = self.take()
        if sign == "+=":
            return ("add", name, indices, self.expr())
        if sign == "=" and name in self.kinds:
            return ("set", name, indices, self.expr())
        if sign == "=":
            return ("assign", name, self.expr())
        raise Refused(f"no statement begins with {name!r}")

    def conditional(self):
        condition, yes, no = self.expr(), self.block(), []
        if self.has("else"):
            no = [self.conditional()] if self.has("if") else self.block()
        return ("if", condition, yes, no)


def parse(text):
    return Parser(text).file()
