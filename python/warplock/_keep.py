"""The variables that make kernel languages keep what they compile: those that ``warplock run`` sets.

A test compares them. A language that does not know a variable ignores it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Dict

_TEXTS = {
    "CUTE_DSL_LINEINFO": "1",
    "FLASH_ATTENTION_CUTE_DSL_CACHE_ENABLED": "0",
    "TRITON_STORE_BINARY_ONLY": "0",
    "DG_JIT_DUMP_PTX": "1",
    "DG_JIT_WITH_LINEINFO": "1",
}

#: Caches are new folders, so that what is cached elsewhere is compiled again.
_FOLDERS = {
    "CUTE_DSL_DUMP_DIR": "cute",
    "CUTE_DSL_CACHE_DIR": "cute-cache",
    "TRITON_CACHE_DIR": "triton",
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "TILELANG_CACHE_DIR": "tilelang",
    "DG_JIT_CACHE_DIR": "deepgemm",
}

_KEEP = "CUTE_DSL_KEEP"
_KEPT = ("ir", "ptx")


def variables(folder: Path) -> Dict[str, str]:
    """The variables for a folder, in which CuTe DSL's folder is made."""
    folders = {name: str(folder / inside) for name, inside in _FOLDERS.items()}
    Path(folders["CUTE_DSL_DUMP_DIR"]).mkdir(exist_ok=True)
    # What somebody wants to keep besides is kept.
    wanted = [word for word in os.environ.get(_KEEP, "").split(",") if word and word not in _KEPT]
    return {**_TEXTS, **folders, _KEEP: ",".join([*_KEPT, *wanted])}
