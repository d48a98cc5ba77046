"""The compiled program inside this package."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Dict

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


#: By which Python files are run and whose packages are looked through, before others.
PYTHON = "WARPLOCK_PYTHON"


def environment() -> Dict[str, str]:
    """The environment of the program: it is told which Python is at hand."""
    own = {PYTHON: sys.executable} if sys.executable else {}
    return {**os.environ, **own}


def main() -> None:
    """The command ``warplock`` of an installed wheel: becomes the program."""
    # Whoever activated an environment or named a Python has chosen. The launcher's own is in an
    # environment, too, which need not be activated.
    chosen = os.environ.get("VIRTUAL_ENV") or os.environ.get(PYTHON)
    try:
        program = path()
        os.execve(
            program, ["warplock", *sys.argv[1:]], dict(os.environ) if chosen else environment()
        )
    except OSError as error:
        sys.exit(f"warplock: {error}")
