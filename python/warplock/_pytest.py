"""``pytest --warplock``: checks the kernels that each test compiles, and fails a test whose kernel can hang.

The compilers are told by their documented variables to keep what they compile in a folder of this
run. So kernels of child processes are found as well, and none is missed because it is in a cache.
What a test adds to the folder is checked as a folder of its own: which of several forms of a kernel
counts, and what is known of its launch, is then decided where it is for ``warplock check``.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any, List, NamedTuple, Optional, Set, Tuple

import pytest

from . import _check, _keep, _overwritten, _program
from ._report import Verdict, from_json

#: The name of a verdict, and the sentence that a person reads.
Finding = Tuple[str, str]

#: The endings of compiled kernels, and of what stands beside them about the launch.
_KERNELS = {".ptx", ".mlir", ".cubin", ".fatbin", ".so", ".o", ".a"}
_BESIDE = {".json"}

_NAME = "warplock-kernels"


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


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    # A language that a conftest.py imports may read its variables then.
    if early_config.known_args_namespace.warplock:
        early_config.pluginmanager.register(
            Kernels(early_config, early_config.known_args_namespace), _NAME
        )


def pytest_configure(config: pytest.Config) -> None:
    # Where the plugin was not there yet when conftests were loaded.
    if config.getoption("warplock") and not config.pluginmanager.has_plugin(_NAME):
        config.pluginmanager.register(Kernels(config, config.option), _NAME)


class State(NamedTuple):
    """A file and when it was written: kernels of equal names overwrite each other."""

    file: Path
    size: int
    written: int


def _state(file: Path) -> Optional[State]:
    try:
        status = file.stat()
    except FileNotFoundError:
        # Renamed meanwhile.
        return None
    return State(file, status.st_size, status.st_mtime_ns)


class Kernels:
    """The kernels that the tests of one run compiled."""

    def __init__(self, config: pytest.Config, options: Any) -> None:
        self.timeout: float = options.warplock_timeout
        self.config = config
        self.program = _program.path()
        self.folder = tempfile.TemporaryDirectory(prefix="warplock-pytest-")
        self.seen: Set[State] = set()
        self.verdicts: Counter[str] = Counter()
        self.undecided: List[str] = []
        os.environ.update(_keep.variables(Path(self.folder.name)))
        _overwritten.keep(os.environ["CUTE_DSL_DUMP_DIR"])

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
        files = {
            state
            for file in Path(self.folder.name).rglob("*")
            if file.suffix in _KERNELS | _BESIDE and (state := _state(file))
        }
        new = sorted({state.file for state in files - self.seen})
        self.seen |= files
        hangs = []
        if any(file.suffix in _KERNELS for file in new):
            for verdict, sentence in self.check(new):
                self.verdicts[verdict] += 1
                if verdict == Verdict.REFUTED.value:
                    hangs.append(sentence)
                elif verdict != Verdict.PROVED.value:
                    self.undecided.append(sentence)
        if hangs:
            item.add_report_section("call", "warplock", "\n".join(hangs))
        return hangs

    def check(self, files: List[Path]) -> List[Finding]:
        """The verdicts on new files. Those that are final are remembered between runs."""
        with tempfile.TemporaryDirectory(prefix="warplock-pytest-") as name:
            digest = hashlib.sha256(self.fingerprint())
            for file in files:
                place = file.relative_to(self.folder.name)
                copy = Path(name, place)
                copy.parent.mkdir(parents=True, exist_ok=True)
                try:
                    shutil.copyfile(file, copy)
                except FileNotFoundError:
                    # Renamed as it was found; it is found again under its name.
                    continue
                content = copy.read_bytes()
                digest.update(f"{place} {len(content)} ".encode() + content)
            return self.check_folder(name, f"warplock/{digest.hexdigest()}")

    def check_folder(self, name: str, key: str) -> List[Finding]:
        # Absent with `-p no:cacheprovider`.
        cache = getattr(self.config, "cache", None)
        known = cache.get(key, None) if cache else None
        if known is not None:
            return [(verdict, sentence) for verdict, sentence in known]
        command = ["check", name, "--format", "json", "--color", "never"]
        try:
            done = _check.run([*command, "--timeout", f"{self.timeout:g}"])
            found = []
            if done.out:
                report = done.read(from_json)
                found = [(result.verdict.value, str(result)) for result in report.results]
        except _check.WarplockError as error:
            return [(Verdict.UNKNOWN.value, str(error))]
        if done.code == 2:
            messages = done.messages.replace(name + os.sep, "")
            # Libraries without GPU code, as a launcher's, are no kernels.
            if "no compiled kernels" in messages and not found:
                return []
            return [*found, (Verdict.UNKNOWN.value, messages)]
        final = {Verdict.PROVED.value, Verdict.REFUTED.value}
        if cache and all(verdict in final for verdict, _ in found):
            cache.set(key, found)
        return found

    def fingerprint(self) -> bytes:
        """Tells the program that decides from others."""
        status = os.stat(self.program)
        return f"{self.program} {status.st_size} {status.st_mtime_ns} ".encode()

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
