"""``warplock.csr``: whether a kernel that takes turns by a lock completes on a block mask."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Optional, Tuple

from . import _check
from ._report import Verdict, read


@dataclass(frozen=True)
class Waiting:
    """A CTA that is blocked at a row tile."""

    cta: int
    m: int
    waits_for: int
    value: int


@dataclass(frozen=True)
class Link:
    """A wait on the way from the first blocked CTA to the reason."""

    cta: int
    m: int
    waits_for: int
    value: int
    #: ``no_owner``, ``passed``, ``blocked``, ``not_started`` or ``cycle``.
    why: str
    owner: Optional[int]


@dataclass(frozen=True)
class RowTile:
    """A row tile: who visits it, with which lock values, and what became of it."""

    m: int
    visitors: Tuple[int, ...]
    locks: Tuple[int, ...]
    completes: bool
    executed: int
    #: ``completes``, ``needs_residency``, ``depends`` or ``never``.
    fate: str
    #: ``turns``, ``gap`` or ``repeated``.
    locks_are: str
    first_visitor: Optional[int]
    first_blocked: Optional[Waiting]
    first_missing: Optional[int]


@dataclass(frozen=True)
class Shown:
    """The run that is described."""

    resident: int
    launch: Tuple[int, ...]
    remark: str
    started: int


@dataclass(frozen=True)
class MaskReport:
    """The verdict on a mask, with the fields of ``warplock csr --format json``."""

    verdict: Verdict
    reason: str
    assumptions: Tuple[str, ...]
    lock: str
    lock_name: Optional[str]
    order: str
    launch: str
    n_blocks: int
    m_blocks: int
    entries: int
    #: For how many resident CTAs: ``every_number``, ``least_resident_or_more``, ``all_resident``,
    #: ``no_number`` or ``not_asked``.
    completes_for: str
    least_resident: Optional[int]
    shown: Shown
    row_tiles: Tuple[RowTile, ...]
    blocked: Tuple[Waiting, ...]
    chain: Tuple[Link, ...]

    @property
    def proved(self) -> bool:
        """Whether every row tile completes."""
        return self.verdict is Verdict.PROVED

    def __str__(self) -> str:
        return f"lock = {self.lock}: {self.verdict}: {self.reason}"


def csr(
    mask: Any,
    *,
    lock: str = "n",
    order: Optional[str] = None,
    launch: Optional[str] = None,
    resident: Optional[int] = None,
    batch: Optional[int] = None,
    head: Optional[int] = None,
    m_blocks: Optional[int] = None,
    arguments: Sequence[str] = (),
) -> MaskReport:
    """Decides whether CTAs that take turns by a lock all complete on these block-sparse arrays.

    ``mask`` is PyTorch's ``BlockMask``, a mapping from the names of ``docs/tensors.md`` to arrays or
    lists, or the path of a file with them. ``lock`` is ``n``, ``rank``, ``reversed-rank`` or an
    expression. The other options are those of ``warplock csr``.

    Raises :class:`InputError` if the arrays or an option are wrong.
    """
    options = ["--format", "json", "--lock", lock]
    given = {
        "--order": order,
        "--launch": launch,
        "--resident": resident,
        "--batch": batch,
        "--head": head,
        "--m-blocks": m_blocks,
    }
    for name, value in given.items():
        if value is not None:
            options += [name, str(value)]
    options += arguments
    if isinstance(mask, (str, os.PathLike)):
        path = os.fsdecode(mask)
        return _decided(options, os.path.join(".", path) if path.startswith("-") else path)
    arrays = _arrays(mask)
    with tempfile.TemporaryDirectory(prefix="warplock-") as folder:
        file = _written(arrays, Path(folder))
        return _decided(options, str(file), f"<{type(mask).__name__}>")


#: What a ``BlockMask`` calls its lists.
_LISTS = [
    f"{full}{side}_{what}"
    for side in ("kv", "q")
    for full in ("", "full_")
    for what in ("num_blocks", "indices")
]


def _arrays(mask: Any) -> Dict[str, Any]:
    if isinstance(mask, Mapping):
        return dict(mask)
    found = {name: getattr(mask, name, None) for name in _LISTS}
    found = {name: array for name, array in found.items() if array is not None}
    if not found:
        raise TypeError(
            f"{type(mask).__name__} is no path, no mapping from names to arrays, and no BlockMask: "
            "it has no kv_num_blocks and no q_num_blocks"
        )
    return found


def _written(arrays: Mapping[str, Any], folder: Path) -> Path:
    """A file with the arrays. Tensors are written by their own library, which is faster."""
    if all(type(array).__module__.split(".")[0] == "torch" for array in arrays.values()):
        import torch  # type: ignore[import-not-found, unused-ignore]

        file = folder / "mask.pt"
        torch.save({name: array.detach().cpu() for name, array in arrays.items()}, file)
        return file
    plain = {
        name: array.tolist() if hasattr(array, "tolist") else array
        for name, array in arrays.items()
    }
    file = folder / "mask.json"
    file.write_text(json.dumps(plain), encoding="utf-8")
    return file


def _decided(options: Sequence[str], file: str, shown: Optional[str] = None) -> MaskReport:
    done = _check.run(["csr", *options, file], file, shown)
    if done.code == 2:
        raise _check.InputError(done.messages)
    return done.read(_from_json)


def _from_json(document: Mapping[str, Any], messages: str) -> MaskReport:
    (result,) = document["results"]
    report: MaskReport = read(MaskReport, {**result, **result["csr"]})
    return report
