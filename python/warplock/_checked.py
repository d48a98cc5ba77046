"""``@warplock.checked`` and ``warplock.watch``: kernels are checked when they are compiled, before they are launched."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, List, Optional

from . import _check, _kernels
from ._report import Report, Verdict


class RefutedError(_check.WarplockError):
    """A kernel that can hang was about to be launched."""

    def __init__(self, report: Report) -> None:
        super().__init__("\n".join(str(result) for result in report.refuted))
        #: What was found.
        self.report = report


class Watch:
    """What the kernels that are compiled while somebody watches came to."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.options = options
        #: A report for each kernel, in the order in which they were compiled.
        self.reports: List[Report] = []
        self._known: Dict[bytes, Report] = {}

    def compiled(self, files: Mapping[str, str]) -> None:
        """Checks a kernel of Triton, whose files these are by name."""
        kept = {
            name: Path(path)
            for name, path in files.items()
            if name.endswith((".ptx", ".json")) and os.path.exists(path)
        }
        if not any(name.endswith(".ptx") for name in kept):
            # Another target than NVIDIA's.
            return
        texts = {name: path.read_bytes() for name, path in kept.items()}
        with tempfile.TemporaryDirectory(prefix="warplock-") as folder:
            for name, path in kept.items():
                shutil.copyfile(path, Path(folder, Path(name).name))
            self.check(folder, b"".join(texts[name] for name in sorted(texts)))

    def check(self, subject: Any, content: bytes) -> None:
        """Checks a kernel, once if it is compiled again, and refuses one that can hang."""
        key = hashlib.sha256(content).digest()
        report = self._known.get(key)
        if report is None:
            report = _check.check(subject, **self.options)
            self._known[key] = report
            self.reports.append(report)
        if report.verdict is Verdict.REFUTED:
            raise RefutedError(report)


@contextmanager
def watch(**options: Any) -> Iterator[Watch]:
    """While this is entered, each kernel that Triton compiles is checked before it is launched.

    One that is ``REFUTED`` raises :class:`RefutedError` instead of being launched. Others are in
    ``reports`` of what this gives. ``options`` are those of :func:`warplock.check`.

    Triton tells of what it compiles by ``triton.knobs.compilation.listener``. A listener that was
    there is told as well.
    """
    with _watching(Watch(options)) as watched:
        yield watched


#: Who watches now, and the listener that was there before.
_watches: List[Watch] = []
_before: List[Any] = []
_changing = threading.Lock()


def _listener(*, metadata_group: Mapping[str, str], **told: Any) -> None:
    for before in _before:
        if before is not None:
            before(metadata_group=metadata_group, **told)
    for watched in tuple(_watches):
        watched.compiled(metadata_group)


@contextmanager
def _watching(watched: Watch) -> Iterator[Watch]:
    try:
        from triton import knobs  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        # Nothing of Triton's is compiled here.
        yield watched
        return
    # Several threads may watch, and end in any order.
    with _changing:
        if not _watches:
            _before[:] = [knobs.compilation.listener]
            knobs.compilation.listener = _listener
        _watches.append(watched)
    try:
        yield watched
    finally:
        with _changing:
            _watches.remove(watched)
            if not _watches:
                knobs.compilation.listener = _before.pop()


class Checked:
    """A function whose kernels are checked when they are compiled. Everything else is as it was."""

    def __init__(self, function: Any, options: Mapping[str, Any]) -> None:
        functools.update_wrapper(self, function, updated=())
        self._function = function
        self._watch = Watch(options)

    @property
    def reports(self) -> List[Report]:
        """A report for each kernel that was compiled."""
        return self._watch.reports

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._guarded(self._function)(*arguments, **named)

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        # Triton's `kernel[grid](...)`.
        return self._guarded(self._function[grid])

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._function, name)
        # Ways to compile that are no call: Triton's.
        return self._guarded(found) if name in ("run", "warmup") else found

    def _guarded(self, call: Any) -> Callable[..., Any]:
        def guarded(*arguments: Any, **named: Any) -> Any:
            with _watching(self._watch):
                result = call(*arguments, **named)
            # What `cute.compile` gives has its text.
            text = None if result is None else _kernels.of_object(result)
            if text is not None and not isinstance(getattr(result, "asm", None), Mapping):
                self._watch.check(result, text.content.encode())
            return result

        return guarded


def checked(function: Optional[Any] = None, **options: Any) -> Any:
    """A decorator: kernels that a function compiles are checked before they are launched.

    Of a Triton kernel, above ``@triton.jit`` or ``@triton.autotune``; of a function that launches
    kernels; or of one that returns what CuTe DSL's ``cute.compile`` gives. A kernel that is
    ``REFUTED`` raises :class:`RefutedError`; ``reports`` has the rest. ``options`` are those of
    :func:`warplock.check`: ``@warplock.checked(timeout=5)``.
    """
    if function is None:
        return functools.partial(checked, **options)
    return Checked(function, options)
