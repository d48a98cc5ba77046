"""Proves that a GPU kernel's synchronization cannot deadlock, or gives the smallest failing input.

    import warplock

    report = warplock.check("kernel.ptx")
    assert report.proved, report

The verdicts are those of the command ``warplock check``, which this module runs.
"""

from ._check import InputError, InternalError, WarplockError, check
from ._checked import Checked, RefutedError, Watch, checked, watch
from ._csr import Link, MaskReport, RowTile, Shown, Waiting, csr
from ._report import (
    Blocked,
    Counterexample,
    Element,
    Event,
    Expectation,
    Further,
    Initial,
    Order,
    Origin,
    Pattern,
    Proof,
    Report,
    Result,
    Use,
    Verdict,
)

__all__ = [
    "Blocked",
    "Checked",
    "Counterexample",
    "Element",
    "Event",
    "Expectation",
    "Further",
    "Initial",
    "InputError",
    "InternalError",
    "Link",
    "MaskReport",
    "Order",
    "Origin",
    "Pattern",
    "Proof",
    "RefutedError",
    "Report",
    "Result",
    "RowTile",
    "Shown",
    "Use",
    "Verdict",
    "Waiting",
    "WarplockError",
    "Watch",
    "check",
    "checked",
    "csr",
    "watch",
]
