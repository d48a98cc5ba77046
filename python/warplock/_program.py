"""The compiled program inside this package."""

from __future__ import annotations

import os
import sys
from pathlib import Path

PACKAGED = Path(__file__).parent / "bin" / "warplock"


def path() -> str:
    """The program to run: ``WARPLOCK_PROGRAM`` if that is set, otherwise the packaged one."""
    chosen = os.environ.get("WARPLOCK_PROGRAM")
    if chosen:
        return chosen
    # Not looked for in PATH: the command there may be the launcher below.
    if PACKAGED.exists():
        return str(PACKAGED)
    raise FileNotFoundError(
        f"this installation has no {PACKAGED}; "
        "install a wheel, or set WARPLOCK_PROGRAM to the program that cargo built"
    )


def main() -> None:
    """The command ``warplock`` of an installed wheel: becomes the program."""
    try:
        program = path()
        os.execv(program, ["warplock", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"warplock: {error}")
