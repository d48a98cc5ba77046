"""The text behind what a caller has at hand: a file, a text, or a compiled kernel."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple, Optional


class Text(NamedTuple):
    """A text and the ending by which the program knows its kind: ``.ptx``, ``.mlir``, ``.wlk``."""

    content: str
    ending: str


def find(subject: Any) -> "str | Text":
    """The path of a file, or a text.

    A ``str`` with a line break is a text; any other is a path. Objects are asked for PTX first.
    """
    if isinstance(subject, bytes):
        return _classified(subject.decode("utf-8"))
    if isinstance(subject, str):
        return _classified(subject) if "\n" in subject else subject
    if isinstance(subject, os.PathLike):
        return os.fsdecode(subject)
    found = of_object(subject)
    if found is None:
        raise TypeError(
            f"{type(subject).__name__} is no path, no text, and has neither PTX nor MLIR: "
            "expected `.asm['ptx']` (Triton), `.__ptx__` or `.__mlir__` (CuTe DSL, which keeps "
            "them with CUTE_DSL_KEEP=ptx or CUTE_DSL_KEEP=ir)"
        )
    return found


def of_object(subject: Any) -> Optional[Text]:
    kept = getattr(subject, "asm", None)
    candidates = [
        (kept.get("ptx") if isinstance(kept, Mapping) else None, ".ptx"),
        (getattr(subject, "__ptx__", None), ".ptx"),
        (getattr(subject, "__mlir__", None), ".mlir"),
    ]
    for content, ending in candidates:
        if isinstance(content, bytes):
            content = content.decode("utf-8")
        # An MLIR module of the DSL's bindings prints itself.
        if content is not None and not isinstance(content, str) and ending == ".mlir":
            content = str(content)
        if isinstance(content, str) and content.strip():
            return Text(content, ending)
    return None


#: What may stand before the first word of a text: white space and comments.
_BLANK = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_MLIR = ("module", "gpu.module", "builtin.module", '"builtin.module"', '"gpu.module"', "#", "!")


def _classified(content: str) -> Text:
    """PTX begins with ``.version`` and MLIR with a module or an alias. The rest is a protocol."""
    blank = _BLANK.match(content)
    start = blank.end() if blank else 0
    if content.startswith(".version", start):
        return Text(content, ".ptx")
    return Text(content, ".mlir" if content.startswith(_MLIR, start) else ".wlk")
