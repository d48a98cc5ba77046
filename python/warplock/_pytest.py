"""``pytest --warplock``: checks the kernels that each test compiles, and fails a test whose kernel can hang.

The compilers are told by their documented variables to keep what they compile in a folder of this
run. So kernels of child processes are found as well, and none is missed because it is in a cache.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any, List, Set, Tuple

import pytest

from . import _check, _program
from ._report import Verdict

#: The name of a verdict, and the sentence that a person reads.
Finding = Tuple[str, str]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("warplock", "deadlocks of GPU kernels")
    group.addoption(
        "--warplock",
        action="store_true",
        help="check the kernels that each test compiles, and fail it if one can hang",
    )
    group.addoption(
        "--warplock-timeout",
        type=float,
        default=20,
        metavar="SECONDS",
        help="time for each kernel (default: 20)",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("warplock"):
        config.pluginmanager.register(Kernels(config), "warplock-kernels")


class Kernels:
    """The kernels that the tests of one run compiled."""

    def __init__(self, config: pytest.Config) -> None:
        self.timeout: float = config.getoption("--warplock-timeout")
        # Absent with `-p no:cacheprovider`.
        self.cache = getattr(config, "cache", None)
        self.program = _program.path()
        self.folder = tempfile.TemporaryDirectory(prefix="warplock-pytest-")
        self.seen: Set[Path] = set()
        self.verdicts: Counter[str] = Counter()
        self.undecided: List[str] = []
        folder = Path(self.folder.name)
        kept = os.environ.get("CUTE_DSL_KEEP", "")
        os.environ.update(
            TRITON_CACHE_DIR=str(folder / "triton"),
            CUTE_DSL_KEEP=f"{kept},ir" if kept else "ir",
            CUTE_DSL_DUMP_DIR=str(folder / "cute"),
            CUTE_DSL_CACHE_DIR=str(folder / "cute-cache"),
        )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        try:
            result = yield
        except BaseException:
            # It failed already. What is known of its kernels may say why.
            self.inspect(item)
            raise
        hangs = self.inspect(item)
        if hangs:
            pytest.fail("\n".join(hangs), pytrace=False)
        return result

    def inspect(self, item: pytest.Item) -> List[str]:
        """Checks what is new in the folder. Returns a sentence for each kernel that can hang."""
        files = set(Path(self.folder.name).rglob("*.ptx"))
        # CuTe DSL writes every text a second time, without source lines.
        texts = Path(self.folder.name).rglob("*.mlir")
        files |= {text for text in texts if not text.name.endswith("_clean.mlir")}
        hangs = []
        for file in sorted(files - self.seen):
            for verdict, sentence in self.check(file):
                self.verdicts[verdict] += 1
                if verdict == Verdict.REFUTED.value:
                    hangs.append(sentence)
                elif verdict != Verdict.PROVED.value:
                    self.undecided.append(sentence)
        self.seen |= files
        if hangs:
            item.add_report_section("call", "warplock", "\n".join(hangs))
        return hangs

    def check(self, file: Path) -> List[Finding]:
        """The verdicts on a file. Those that are final are remembered between runs."""
        key = f"warplock/{self.fingerprint(file.read_bytes())}"
        known = self.cache.get(key, None) if self.cache else None
        if known is not None:
            return [(verdict, sentence) for verdict, sentence in known]
        try:
            report = _check.check(file, timeout=self.timeout)
        except _check.WarplockError as error:
            return [(Verdict.UNKNOWN.value, f"{file.name}: {error}")]
        found = [(result.verdict.value, str(result)) for result in report.results]
        final = {Verdict.PROVED.value, Verdict.REFUTED.value}
        if self.cache and all(verdict in final for verdict, _ in found):
            self.cache.set(key, found)
        return found

    def fingerprint(self, content: bytes) -> str:
        """Tells a kernel, and the program that decided it, from others."""
        status = os.stat(self.program)
        program = f"{self.program} {status.st_size} {status.st_mtime_ns} ".encode()
        return hashlib.sha256(program + content).hexdigest()

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self.verdicts:
            terminalreporter.write_line("warplock: no test compiled a kernel")
            return
        counts = ", ".join(f"{n} {verdict}" for verdict, n in sorted(self.verdicts.items()))
        terminalreporter.write_line(f"warplock: {counts}")
        for sentence in self.undecided:
            terminalreporter.write_line(f"warplock: {sentence}")

    def pytest_unconfigure(self) -> None:
        self.folder.cleanup()
