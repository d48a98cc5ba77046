"""``pytest --warplock``. A test that writes PTX where Triton would stands for one that compiles."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = """
import os, pathlib, shutil

def compiles(kernel, folder):
    to = pathlib.Path(os.environ[folder]) / "hash"
    to.mkdir(parents=True, exist_ok=True)
    return pathlib.Path(shutil.copy(pathlib.Path({root!r}) / kernel, to))

def test_safe():
    assert os.environ["CUTE_DSL_KEEP"] == "ir"
    kept = compiles("tests/mlir/ring.mlir", "CUTE_DSL_DUMP_DIR")
    shutil.copy(kept, kept.with_name("ring_clean.mlir"))

def test_hangs():
    compiles("tests/ptx/kernels/stencil.ptx", "TRITON_CACHE_DIR")

def test_fails_and_hangs():
    compiles("tests/ptx/kernels/ring.ptx", "TRITON_CACHE_DIR")
    assert False

def test_damaged():
    to = pathlib.Path(os.environ["TRITON_CACHE_DIR"]) / "half.ptx"
    to.write_text(".version 9.0\\n.target")

def test_without_kernels():
    pass
"""


@unittest.skipUnless(importlib.util.find_spec("pytest"), "pytest is not installed")
class Plugin(unittest.TestCase):
    def run_pytest(self, folder, *options):
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "warplock._pytest", "-p", "no:randomly", "-q", *options],
            cwd=folder,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        )

    def test_a_test_whose_kernel_can_hang_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "test_kernels.py").write_text(TESTS.format(root=str(ROOT)))
            done = self.run_pytest(folder, "--warplock", "--warplock-timeout", "60")
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn("2 failed, 3 passed", done.stdout)
            self.assertIn("\nstencil_counts_consumers_only: deadlock: REFUTED at ", done.stdout)
            self.assertIn("FAILED test_kernels.py::test_hangs", done.stdout)
            self.assertIn("FAILED test_kernels.py::test_fails_and_hangs - assert False", done.stdout)
            # Why the failing test may have hung.
            self.assertIn("\nring_producer_one_round_short: deadlock: REFUTED at ", done.stdout)
            self.assertIn("\nwarplock: half.ptx: Error: ", done.stdout)
            counts = [line for line in done.stdout.splitlines() if line.startswith("warplock: ")][0]
            self.assertIn(" PROVED, ", counts)
            self.assertIn(" REFUTED, ", counts)
            # The second run decides nothing again, and says the same.
            again = self.run_pytest(folder, "--warplock", "--warplock-timeout", "0.001", "-k", "safe")
            self.assertIn("\nwarplock: 1 PROVED\n", again.stdout + again.stderr)

    def test_without_the_option_nothing_is_checked(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "test_nothing.py").write_text("def test_nothing():\n    pass\n")
            self.assertNotIn("warplock", self.run_pytest(folder).stdout)
            done = self.run_pytest(folder, "--warplock")
            self.assertIn("warplock: no test compiled a kernel", done.stdout)
            self.assertEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main()
