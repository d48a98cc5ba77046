"""Keeps kernels that CuTe DSL would overwrite.

The DSL names what it keeps by function and arguments. Two functions of one name, as those that two
calls of a factory make, have one file, and the last one compiled would be all that is checked. Python
tells of every renaming before it is done, and this copies what is about to be replaced.
"""

import os
import shutil
import sys
from typing import Any, Tuple


def _stem(name: str) -> str:
    """What the files of one kernel have in common: `cute_dsl_NAME_clean.mlir`, `NAME.sm_90a.ptx`."""
    name = name[len("cute_dsl_"):] if name.startswith("cute_dsl_") else name
    name = name.split(".", 1)[0]
    return name[: -len("_clean")] if name.endswith("_clean") else name


def keep(folder: str) -> None:
    """From now on, copies go to folders below this one, in which the DSL keeps what it compiles."""
    folder = os.path.realpath(folder)
    copies = 0

    def told(event: str, arguments: Tuple[Any, ...]) -> None:
        nonlocal copies
        # The DSL writes beside and renames, its text first. Then the PTX is still that of the kernel before.
        if event != "os.rename":
            return
        target = os.fsdecode(arguments[1])
        if os.path.realpath(os.path.dirname(target)) != folder or not os.path.exists(target):
            return
        stem = _stem(os.path.basename(target))
        copies += 1
        kept = os.path.join(folder, f"before-{os.getpid()}-{copies}")
        os.mkdir(kept)
        for name in os.listdir(folder):
            file = os.path.join(folder, name)
            if _stem(name) == stem and os.path.isfile(file):
                shutil.copy2(file, kept)

    sys.addaudithook(told)
