"""``@warplock.checked`` and ``warplock.watch``. A stand-in for Triton tells what it compiles as Triton does."""

import json
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

import warplock

ROOT = Path(__file__).parents[2]
HANGS = (ROOT / "tests/ptx/kernels/ring.ptx").read_text()
SAFE = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry meet()
{
bar.sync 0;
ret;
}
"""
LAUNCH = {"name": "meet", "num_warps": 4, "num_ctas": 1,
          "target": {"backend": "cuda", "arch": 90, "warp_size": 32}}


class Kernel:
    """What ``@triton.jit`` gives: compiles at its first launch, tells the listener, and launches."""

    def __init__(self, triton, text, folder):
        self.triton, self.text, self.folder = triton, text, folder
        self.launches = 0

    def __getitem__(self, grid):
        return self.run

    def run(self, *arguments):
        self.warmup(*arguments)
        self.launches += 1
        return arguments

    def warmup(self, *arguments):
        group = {}
        for ending, content in (("ptx", self.text), ("json", json.dumps(LAUNCH)), ("cubin", "")):
            path = Path(self.folder, f"meet.{ending}")
            path.write_text(content)
            group[f"meet.{ending}"] = str(path)
        listener = self.triton.knobs.compilation.listener
        if listener:
            listener(src=None, metadata={}, metadata_group=group, times=None, cache_hit=False)


class Compiled(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.triton = types.ModuleType("triton")
        self.triton.knobs = types.SimpleNamespace(compilation=types.SimpleNamespace(listener=None))
        patch = mock.patch.dict(sys.modules, {"triton": self.triton})
        patch.start()
        self.addCleanup(patch.stop)

    def kernel(self, text):
        return Kernel(self.triton, text, self.folder)

    def test_a_kernel_that_can_hang_is_not_launched(self):
        kernel = self.kernel(HANGS)
        checked = warplock.checked(kernel)
        with self.assertRaisesRegex(warplock.RefutedError, "ring_producer_one_round_short.*REFUTED"):
            checked[(1,)](7)
        self.assertEqual(kernel.launches, 0)
        self.assertIsNone(self.triton.knobs.compilation.listener)

    def test_others_are_launched_and_have_a_report(self):
        kernel = self.kernel(SAFE)
        told = []
        before = lambda **what: told.append(what["cache_hit"])
        self.triton.knobs.compilation.listener = before
        checked = warplock.checked(timeout=30)(kernel)
        self.assertEqual(checked[(1,)](7), (7,))
        checked.run(8)
        self.assertEqual((kernel.launches, told), (2, [False, False]))
        # The number of threads is read from beside the kernel; compiled again, it is not checked again.
        (report,) = checked.reports
        self.assertTrue(report.proved, report)
        self.assertIn("128 x 1 x 1 threads", " ".join(report.results[0].assumptions))
        self.assertIs(self.triton.knobs.compilation.listener, before)
        self.assertEqual(checked.text, SAFE)

    def test_functions_and_blocks_are_watched(self):
        kernel = self.kernel(HANGS)

        @warplock.checked
        def step():
            """Launches."""
            kernel[(1,)]()

        self.assertEqual(step.__doc__, "Launches.")
        with self.assertRaises(warplock.RefutedError) as raised:
            step()
        self.assertEqual(len(raised.exception.report.refuted), 2)
        with warplock.watch(entry="ring_of_4") as watched:
            kernel[(1,)]()
        self.assertTrue(watched.reports[0].proved)

    def test_what_cute_compiles_is_checked_when_it_is_returned(self):
        class Cute:
            __ptx__ = HANGS

        with mock.patch.dict(sys.modules, {"triton": None}):
            build = warplock.checked(lambda: Cute())
            with self.assertRaises(warplock.RefutedError):
                build()


if __name__ == "__main__":
    unittest.main()
