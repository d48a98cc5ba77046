#!/usr/bin/env python3
"""Draws what the program prints in a terminal, for the first screen of the README.

    python3 docs/site/picture.py WARPLOCK           writes docs/check.svg
    python3 docs/site/picture.py WARPLOCK --check   fails if it differs from what is printed now

WARPLOCK is the program. The drawing is made by Rich.
"""

import io
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs/check.svg"
FILE = "encodings/block_sparse/lock_n_block.wlk"
# Columns.
WIDTH = 110


def drawn(program: str) -> str:
    """The drawing of a check that finds a hang."""
    command = [program, "check", "--color", "always", FILE]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if printed.returncode != 1:
        sys.exit(f"{' '.join(command)} ended with {printed.returncode}:\n{printed.stderr}")
    # Times and versions are not the same twice.
    text = re.sub(r" in \d+\.\d s, with Z3 [\d.]+", "", printed.stdout)
    console = Console(record=True, width=WIDTH, file=io.StringIO(), legacy_windows=False)
    console.print(f"$ warplock check {FILE}", highlight=False, markup=False)
    console.print(Text.from_ansi(text))
    return console.export_svg(title="warplock", theme=MONOKAI, unique_id="warplock")


def main() -> int:
    picture = drawn(sys.argv[1])
    if sys.argv[2:] == ["--check"]:
        if PICTURE.read_text() == picture:
            return 0
        print(f"{PICTURE} is not what is printed; draw it again", file=sys.stderr)
        return 1
    PICTURE.write_text(picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
