"""The value of an expression, as docs/language.md says under "Expressions"."""


class Fault(Exception):
    """An expression without a value, or a statement without a meaning."""


def positive(value):
    if value <= 0:
        raise Fault("a divisor has to be positive")
    return value


def bit(value):
    if value not in (0, 1):
        raise Fault("`^` is for 0 and 1")
    return value


ARITHMETIC = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a // positive(b),
    "%": lambda a, b: a % positive(b),
    "^": lambda a, b: bit(a) ^ bit(b),
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
BUILT_IN = {
    "min": min,
    "max": max,
    "abs": abs,
    "ceil_div": lambda a, b: (a + positive(b) - 1) // b,
}


class Scope:
    """What names mean outside of roles: parameters, definitions and patterns."""

    def __init__(self, params):
        self.params, self.lets, self.patterns = params, {}, {}

    def value(self, expr, local):
        word = expr[0]
        if word in ARITHMETIC:
            return ARITHMETIC[word](self.value(expr[1], local), self.value(expr[2], local))
        if word in ("int", "bool"):
            return expr[1]
        if word == "name":
            name = expr[1]
            if name in local:
                return local[name]
            if name in self.lets:
                return self.value(self.lets[name][1], {})
            return self.params[name]
        if word == "||":
            return self.value(expr[1], local) or self.value(expr[2], local)
        if word == "&&":
            return self.value(expr[1], local) and self.value(expr[2], local)
        if word == "neg":
            return -self.value(expr[1], local)
        if word == "not":
            return not self.value(expr[1], local)
        if word == "if":
            return self.value(expr[2 if self.value(expr[1], local) else 3], local)
        if word == "count":
            _, name, lo, hi, condition = expr
            all = range(self.value(lo, local), self.value(hi, local))
            return sum(1 for k in all if self.value(condition, {**local, name: k}))
        if word == "call":
            values = [self.value(part, local) for part in expr[2]]
            if expr[1] in BUILT_IN:
                return BUILT_IN[expr[1]](*values)
            names, body = self.lets[expr[1]]
            return self.value(body, dict(zip(names, values)))
        if word == "element":
            return tuple(self.value(part, local) for part in expr[2]) in self.patterns[expr[1]]
        if word == "pipe":
            stages, start, count = local[expr[1]]
            if expr[2] != "count" and stages < 1:
                raise Fault("a ring without stages")
            if expr[2] == "index":
                return count % stages
            return count if expr[2] == "count" else (count // stages + start) % 2
        raise AssertionError(word)
