"""``pytest --warplock``. A test that writes PTX where Triton would stands for one that compiles."""

import importlib.util
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: The second warp alone comes to a barrier of both.
HANG = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry tile() .maxntid 64, 1, 1
{
.reg .b32 %r<2>;
.reg .pred %p<2>;
mov.u32 %r1, %tid.x;
setp.lt.u32 %p1, %r1, 32;
@%p1 bra done;
bar.sync 1, 64;
done:
ret;
}
"""


def fat_binary(text):
    """A fat binary with one PTX text, not compressed, which is a binary to ``warplock check``."""
    payload = text.encode() + b"\0" * (-len(text) % 8)
    entry = struct.pack("<HHIQIIBBBBIQQQQ", 1, 0x101, 64, len(payload), 0, 0, 0, 0, 8, 0, 90, 0, 0x11, 0, 0)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry + payload)) + entry + payload


TESTS = """
import os, pathlib, shutil

def compiles(kernel, folder):
    to = pathlib.Path(os.environ[folder]) / "hash"
    to.mkdir(parents=True, exist_ok=True)
    return pathlib.Path(shutil.copy(pathlib.Path({root!r}) / kernel, to))

def test_safe():
    assert os.environ["CUTE_DSL_KEEP"] == "ir,ptx"
    kept = compiles("tests/mlir/ring.mlir", "CUTE_DSL_DUMP_DIR")
    kept.with_name("cute_dsl_ring_clean.mlir").write_text("module {{")

def test_clean_text_alone():
    text = pathlib.Path({root!r}, "tests/mlir/ring.mlir").read_text()
    to = pathlib.Path(os.environ["CUTE_DSL_DUMP_DIR"]) / "cute_dsl_other_clean.mlir"
    for stage in "012":
        text = text.replace("%pfull" + stage + ", %c1 :", "%pfull" + stage + ", %c3 :")
    to.write_text(text)

def test_of_the_same_name():
    text = pathlib.Path({root!r}, "tests/mlir/ring.mlir").read_text()
    to = pathlib.Path(os.environ["CUTE_DSL_DUMP_DIR"]) / "hash" / "ring.mlir"
    assert to.exists()
    for stage in "012":
        text = text.replace("%pfull" + stage + ", %c1 :", "%pfull" + stage + ", %c32 :")
    to.write_text(text)

def test_renamed_over_another():
    folder = pathlib.Path(os.environ["CUTE_DSL_DUMP_DIR"])
    text = pathlib.Path({root!r}, "tests/mlir/ring.mlir").read_text()
    for count in ("%c3", "%c1"):
        new = folder / "new"
        new.write_text(text.replace("%pfull0, %c1 :", "%pfull0, " + count + " :")
            .replace("%pfull1, %c1 :", "%pfull1, " + count + " :")
            .replace("%pfull2, %c1 :", "%pfull2, " + count + " :").replace("@ring", "@twice"))
        os.replace(new, folder / "cute_dsl_twice_clean.mlir")

def test_tilelang():
    to = pathlib.Path(os.environ["TILELANG_CACHE_DIR"]) / "1" / "kernel.cubin"
    to.parent.mkdir(parents=True)
    shutil.copy("tilelang.cubin", to)

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
    def test_the_variables_are_those_of_the_command(self):
        import warplock
        from warplock import _keep

        show = "import json, os; print(json.dumps(dict(os.environ)))"
        with tempfile.TemporaryDirectory() as folder:
            done = warplock._check.run(["run", "--keep", folder, "--", sys.executable, "-c", show])
            told = json.loads(done.out)
            own = _keep.variables(Path(folder))
            before = {**os.environ, "WARPLOCK_PYTHON": sys.executable}
            changed = {name: value for name, value in told.items() if before.get(name) != value}
            self.assertEqual({**own, "CUTE_DSL_KEEP": changed["CUTE_DSL_KEEP"]}, changed)
            self.assertEqual(set(own["CUTE_DSL_KEEP"].split(",")), {"ir", "ptx"})

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
            Path(folder, "tilelang.cubin").write_bytes(fat_binary(HANG))
            # What a conftest imports reads its variables then.
            Path(folder, "conftest.py").write_text("import os\nassert os.environ['TILELANG_CACHE_DIR']\n")
            done = self.run_pytest(folder, "--warplock", "--warplock-timeout", "60")
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn("6 failed, 3 passed", done.stdout)
            self.assertIn("\nstencil_counts_consumers_only: deadlock: REFUTED at ", done.stdout)
            self.assertIn("FAILED test_kernels.py::test_hangs", done.stdout)
            self.assertIn("FAILED test_kernels.py::test_clean_text_alone - Failed: ring: deadlock: ", done.stdout)
            self.assertIn("FAILED test_kernels.py::test_of_the_same_name - Failed: ring: deadlock: ", done.stdout)
            self.assertIn("FAILED test_kernels.py::test_renamed_over_another - Failed: ", done.stdout)
            self.assertIn("FAILED test_kernels.py::test_tilelang - Failed: tile: deadlock: ", done.stdout)
            self.assertIn("FAILED test_kernels.py::test_fails_and_hangs - assert False", done.stdout)
            # Why the failing test may have hung.
            self.assertIn("\nring_producer_one_round_short: deadlock: REFUTED at ", done.stdout)
            self.assertIn("\nwarplock: Error: ", done.stdout)
            self.assertIn("[ triton/half.ptx:2:8 ]", done.stdout)
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
