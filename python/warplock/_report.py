"""What a check found, with the fields of ``warplock check --format json``.

``docs/schema/report-1.json`` describes the fields; a test compares it with these classes.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Dict, Optional, Tuple, get_args, get_origin, get_type_hints


class Verdict(str, enum.Enum):
    """The four verdicts. ``warplock explain`` says what each means."""

    PROVED = "PROVED"
    REFUTED = "REFUTED"
    BOUNDED = "BOUNDED"
    UNKNOWN = "UNKNOWN"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Pattern:
    """A block-sparse pattern at concrete values."""

    name: str
    #: Whether the pattern is part of the input.
    open: bool
    extents: Tuple[int, ...]
    entries: Tuple[Tuple[int, ...], ...]


@dataclass(frozen=True)
class Order:
    """A row order that matters: of a row, or of one run of one loop."""

    order: Tuple[int, ...]
    pattern: Optional[str] = None
    row: Optional[Tuple[int, ...]] = None
    statement: Optional[int] = None
    role: Optional[str] = None
    member: Optional[Tuple[int, ...]] = None
    run: Optional[int] = None


@dataclass(frozen=True)
class Initial:
    """A start value that the protocol leaves open."""

    object: str
    index: Tuple[int, ...]
    value: int


@dataclass(frozen=True)
class Origin:
    """Where a line of a recovered protocol stands in its kernel."""

    #: File and line of the kernel's source, where debug information says it.
    source: Optional[str] = None
    #: The line of the PTX or MLIR.
    line: Optional[int] = None


@dataclass(frozen=True)
class Blocked:
    """A member that waits in vain."""

    member: str
    line: int
    element: str
    wants: str
    value: str
    why: str
    kernel: Optional[Origin] = None


@dataclass(frozen=True)
class Event:
    """One step of a run."""

    member: str
    what: str
    line: Optional[int] = None
    kernel: Optional[Origin] = None


@dataclass(frozen=True)
class Use:
    """A wait for an element, or a change of it."""

    member: str
    what: str
    done: bool


@dataclass(frozen=True)
class Element:
    """An element of a synchronization object at the end of the run."""

    element: str
    value: str
    waits: Tuple[Use, ...]
    changes: Tuple[Use, ...]
    completes: bool
    start: Optional[int] = None


@dataclass(frozen=True)
class Counterexample:
    """An input that fails, and a run that shows it."""

    input: str
    smallest: str
    patterns: Tuple[Pattern, ...]
    orders: Tuple[Order, ...]
    initial: Tuple[Initial, ...]
    sentence: str
    line: Optional[int]
    blocked: Tuple[Blocked, ...]
    unstarted: Tuple[str, ...]
    chain: Tuple[str, ...]
    elements: Tuple[Element, ...]
    trace: Tuple[Event, ...]
    second_trace: Tuple[Event, ...] = ()
    #: What made a run hang, by a word of docs/culprits.md; None for other properties.
    cause: Optional[str] = None


@dataclass(frozen=True)
class Further:
    """A further counterexample, where several were asked for."""

    parameters: Dict[str, int]
    input: str
    sentence: str
    blocked: Tuple[Blocked, ...]
    trace: Tuple[Event, ...]
    witness: Optional[str]


@dataclass(frozen=True)
class Proof:
    """Why nothing fails."""

    rule: str
    #: What the checker did: ``rule cut``, say, or ``exhaustive search``.
    checked_by: str
    domain: str
    argument: Tuple[str, ...]
    obligations: Tuple[str, ...]


@dataclass(frozen=True)
class Expectation:
    """The ``expect`` line that the verdict was compared with."""

    line: int
    expected: str
    found: str
    met: bool


@dataclass(frozen=True)
class Result:
    """The verdict on one property of one kernel or protocol."""

    file: str
    protocol: str
    property: str
    verdict: Verdict
    #: What the text report says after the verdict.
    summary: str
    #: Why the verdict is not ``PROVED``.
    reason: Optional[str]
    line: Optional[int]
    engine: str
    seconds: float
    #: The parameter values of the counterexample.
    parameters: Optional[Dict[str, int]]
    assumptions: Tuple[str, ...]
    notes: Tuple[str, ...]
    hint: Optional[str]
    certificate: Optional[str]
    witness: Optional[str]
    counterexample: Optional[Counterexample]
    proof: Optional[Proof]
    #: File and line of the kernel's source, where debug information has them.
    source_line: Optional[str] = None
    #: From what the protocol was recovered, ``path`` or ``graph``.
    recovery: Optional[str] = None
    further: Tuple[Further, ...] = ()
    expectation: Optional[Expectation] = None

    def __str__(self) -> str:
        return f"{self.protocol}: {self.property}: {self.verdict} {self.summary}"


#: Of several results the first of these that occurs is the verdict on all.
_WORST_FIRST = (Verdict.REFUTED, Verdict.UNKNOWN, Verdict.BOUNDED, Verdict.PROVED)


@dataclass(frozen=True)
class Report:
    """The results of one check: one for each property of each kernel in the file."""

    #: The versions of Warplock and of Z3.
    version: str
    z3: str
    results: Tuple[Result, ...]
    #: What the program wrote beside the results: warnings, and reasons for refusals.
    messages: str = ""

    @property
    def verdict(self) -> Verdict:
        """The worst verdict. ``UNKNOWN`` if there are no results: nothing was decided."""
        found = {result.verdict for result in self.results}
        return next((v for v in _WORST_FIRST if v in found), Verdict.UNKNOWN)

    @property
    def proved(self) -> bool:
        """Whether every property of every kernel is proved."""
        return self.verdict is Verdict.PROVED

    @property
    def refuted(self) -> Tuple[Result, ...]:
        """The results that have a counterexample."""
        return tuple(r for r in self.results if r.verdict is Verdict.REFUTED)

    def __str__(self) -> str:
        lines = [str(result) for result in self.results]
        return "\n".join(lines) or self.messages or "no results"


def from_json(document: Mapping[str, Any], messages: str = "") -> Report:
    """Reads the document that ``warplock check --format json`` prints."""
    if document.get("schema") != 1:
        raise ValueError(f"unknown schema {document.get('schema')!r} of a report")
    report: Report = read(Report, {**document, "messages": messages})
    return report


def read(kind: Any, value: Any) -> Any:
    """Makes a value of a declared type from one of JSON. Fields that are not declared are left out."""
    if is_dataclass(kind):
        types = get_type_hints(kind)
        known = {f.name: read(types[f.name], value[f.name]) for f in fields(kind) if f.name in value}
        return kind(**known)  # type: ignore[operator]
    arguments = get_args(kind)
    if type(None) in arguments:
        return None if value is None else read(arguments[0], value)
    if get_origin(kind) is tuple:
        return tuple(read(arguments[0], item) for item in value)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return kind(value)
    return value
