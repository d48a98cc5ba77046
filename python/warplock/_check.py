"""Runs ``warplock check`` and reads what it found."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional, TypeVar, Union

from . import _kernels, _program
from ._report import Report, from_json

Read = TypeVar("Read")


class WarplockError(Exception):
    """A check that gave no verdict."""


class InputError(WarplockError):
    """A file that cannot be read, a text that is wrong, or an option that does not fit it."""


class InternalError(WarplockError):
    """A failure of the program itself."""


def check(
    subject: Any,
    *,
    entry: Optional[str] = None,
    properties: Union[str, Iterable[str]] = (),
    parameters: Optional[Mapping[str, int]] = None,
    assume: Union[str, Iterable[str]] = (),
    threads: Union[int, Sequence[int], None] = None,
    cluster: Union[int, Sequence[int], None] = None,
    timeout: Optional[float] = None,
    arguments: Sequence[str] = (),
) -> Report:
    """Decides the properties of a kernel or a protocol.

    ``subject`` is the path of a ``.ptx``, ``.mlir`` or ``.wlk`` file, the text of one, or a compiled
    kernel that carries its PTX or MLIR (Triton, CuTe DSL).

    ``entry`` names one kernel of the file. ``properties`` are ``deadlock`` (if nothing is given),
    ``race`` and the others of ``warplock check --help``, or ``all``. ``parameters`` fixes parameters
    at values, ``assume`` states conditions over them. ``threads`` is the number of threads per CTA,
    ``cluster`` that of CTAs per cluster, where the kernel does not say. ``timeout`` is the time for
    each property in seconds. ``arguments`` are further options, written as on the command line.

    Raises :class:`InputError` if the input is wrong. A kernel that cannot be decided is no error:
    its verdict is ``UNKNOWN``, with the reason.
    """
    options = ["--format", "json", "--color", "never"]
    if entry is not None:
        options += ["--entry", entry]
    for one in _several(properties):
        options += ["--property", one]
    for name, value in (parameters or {}).items():
        options += ["--set", f"{name}={int(value)}"]
    for condition in _several(assume):
        options += ["--assume", condition]
    for name, extent in (("--threads", threads), ("--cluster", cluster)):
        if extent is not None:
            options += [name, _extent(extent)]
    if timeout is not None:
        options += ["--timeout", f"{timeout:g}"]
    options += arguments

    found = _kernels.find(subject)
    if isinstance(found, str):
        # As a path whatever it begins with: neither an option nor standard input.
        return _run(options, os.path.join(".", found) if found.startswith("-") else found)
    with tempfile.TemporaryDirectory(prefix="warplock-") as folder:
        file = Path(folder) / f"kernel{found.ending}"
        file.write_text(found.content, encoding="utf-8")
        return _run(options, str(file), shown=f"<text>{found.ending}")


def _run(options: Sequence[str], file: str, shown: Optional[str] = None) -> Report:
    done = run(["check", *options, file], file, shown)
    if done.code == 2:
        raise InputError(done.messages)
    return done.read(from_json)


class Done(NamedTuple):
    """What the program said, and how it ended: with a verdict, or with 2 where something is wrong."""

    out: str
    messages: str
    code: int

    def read(self, reader: Callable[[Mapping[str, Any], str], Read]) -> Read:
        """What the document says that it printed."""
        try:
            return reader(json.loads(self.out), self.messages)
        except (ValueError, KeyError, IndexError) as error:
            raise InternalError(
                f"warplock printed no report: {error}\n{self.messages}".rstrip()
            ) from error


def run(command: Sequence[str], file: str = "", shown: Optional[str] = None) -> Done:
    """Runs the program. What it says of the file is said of what is ``shown``."""
    try:
        done = subprocess.run(
            [_program.path(), *command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env=_program.environment(),
            check=False,
        )
    except OSError as error:
        raise InternalError(f"cannot run warplock: {error}") from error
    out, messages = done.stdout, done.stderr.strip()
    if shown is not None:
        # The temporary file is gone when somebody reads its name.
        out = out.replace(json.dumps(file), json.dumps(shown))
        messages = messages.replace(file, shown)
    if done.returncode == 130:
        raise KeyboardInterrupt
    if done.returncode not in (0, 1, 2, 3, 4):
        raise InternalError(messages or f"warplock ended with {done.returncode}")
    return Done(out, messages, done.returncode)


def _several(values: Union[str, Iterable[str]]) -> Iterable[str]:
    return (values,) if isinstance(values, str) else values


def _extent(value: Union[int, Sequence[int]]) -> str:
    return str(value) if isinstance(value, int) else ",".join(map(str, value))
