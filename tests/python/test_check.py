"""The Python module. tests/cli/python.rs runs this with the program that cargo built."""

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import typing
import unittest
from pathlib import Path
from unittest import mock

import warplock
from warplock import Verdict, _program, _report

ROOT = Path(__file__).parents[2]
STENCIL = ROOT / "tests/ptx/kernels/stencil.ptx"
RING = ROOT / "tests/mlir/ring.mlir"
HANG = """
protocol hang
semaphore s = 0
grid cta[n in 0..1] launch ascending resident 1.. {
    wait s == 1
}
"""


class Verdicts(unittest.TestCase):
    def test_a_protocol_by_path_has_its_counterexample(self):
        report = warplock.check(ROOT / "encodings/block_sparse/lock_n_block.wlk")
        self.assertEqual(report.verdict, Verdict.REFUTED)
        self.assertFalse(report.proved)
        (result,) = report.refuted
        self.assertEqual((result.protocol, result.property), ("lock_n_block", "deadlock"))
        self.assertEqual(result.parameters, {"N": 2, "M": 1, "R": 1})
        found = result.counterexample
        self.assertEqual(found.patterns[0].entries, ((1, 0),))
        self.assertEqual(found.blocked[0].member, "cta[1]")
        self.assertEqual([event.member for event in found.trace], ["cta[0]", "cta[1]"])
        self.assertIn("deadlock: REFUTED at N = 2", str(report))

    def test_a_proof_has_its_rule(self):
        report = warplock.check(
            ROOT / "encodings/block_sparse/lock_rank.wlk", arguments=["--explain-proof"]
        )
        self.assertTrue(report.proved, report)
        self.assertEqual(len(report.results[0].proof.obligations), 7)

    def test_options_reach_the_program(self):
        file = ROOT / "encodings/block_sparse/lock_n_block.wlk"
        self.assertTrue(warplock.check(file, parameters={"N": 1}).proved)
        self.assertTrue(warplock.check(file, assume="N == 1").proved)
        results = warplock.check(
            ROOT / "encodings/mbarrier/jacobi.wlk",
            properties=["deadlock", "over_arrival"],
            parameters={"T": 1, "N": 1},
        ).results
        self.assertEqual([r.property for r in results], ["deadlock", "over_arrival"])

    def test_a_text_is_taken_for_what_it_is(self):
        report = warplock.check(HANG)
        self.assertEqual(report.verdict, Verdict.REFUTED)
        self.assertEqual(report.results[0].file, "<text>.wlk")
        for text in (STENCIL.read_text(), STENCIL.read_bytes(), "/* a\n b */" + STENCIL.read_text()):
            report = warplock.check(text, entry="stencil")
            self.assertEqual((report.results[0].protocol, report.proved), ("stencil", True))
        report = warplock.check(RING.read_text())
        self.assertEqual((report.results[0].protocol, report.proved), ("ring", True))

    def test_every_kernel_of_a_file_has_a_result(self):
        report = warplock.check(STENCIL)
        verdicts = {result.protocol: result.verdict for result in report.results}
        self.assertEqual(verdicts["stencil"], Verdict.PROVED)
        self.assertEqual(verdicts["stencil_counts_consumers_only"], Verdict.REFUTED)
        self.assertEqual(report.verdict, Verdict.REFUTED)


class CompiledKernels(unittest.TestCase):
    def test_triton_and_cute_kernels_are_asked_for_their_text(self):
        class Triton:
            asm = {"ttir": "module {}", "ptx": STENCIL.read_text(), "cubin": b"\x7fELF"}

        class Cute:
            __ptx__ = None
            __mlir__ = RING.read_text()

        self.assertTrue(warplock.check(Triton(), entry="stencil").proved)
        report = warplock.check(Cute())
        self.assertEqual(report.results[0].file, "<text>.mlir")
        self.assertTrue(report.proved)

    def test_an_object_without_a_text_is_refused(self):
        with self.assertRaisesRegex(TypeError, "object is no path.*CUTE_DSL_KEEP"):
            warplock.check(object())


class Failures(unittest.TestCase):
    def test_wrong_inputs_say_where(self):
        with self.assertRaisesRegex(warplock.InputError, r"(?s)expected a declaration.*<text>.wlk:2"):
            warplock.check("protocol x\nfoo")
        with self.assertRaisesRegex(warplock.InputError, "cannot read missing.ptx"):
            warplock.check("missing.ptx")
        with self.assertRaisesRegex(warplock.InputError, "cannot read ./--version"):
            warplock.check("--version")

    def test_what_is_undecided_is_no_proof(self):
        report = _report.from_json({"schema": 1, "version": "0", "z3": "0", "results": []}, "why")
        self.assertEqual((report.verdict, report.proved, str(report)), (Verdict.UNKNOWN, False, "why"))

    def test_a_program_that_fails_is_an_internal_error(self):
        for program in ("/bin/true", "/nonexistent/warplock"):
            with mock.patch.dict(os.environ, WARPLOCK_PROGRAM=program):
                with self.assertRaises(warplock.InternalError):
                    warplock.check(HANG)
        with mock.patch.dict(os.environ), mock.patch.object(_program, "PACKAGED", Path("/nonexistent")):
            del os.environ["WARPLOCK_PROGRAM"]
            with self.assertRaisesRegex(warplock.InternalError, "install a wheel"):
                warplock.check(HANG)

    def test_nothing_is_left_behind(self):
        with tempfile.TemporaryDirectory() as folder:
            with mock.patch.object(tempfile, "tempdir", folder):
                warplock.check(HANG)
            self.assertEqual(os.listdir(folder), [])


class Launcher(unittest.TestCase):
    def test_the_command_becomes_the_program(self):
        run = "import sys; from warplock._program import main; sys.argv[1:] = ['--version']; main()"
        done = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True)
        self.assertRegex(done.stdout, r"^warplock \d+\.\d+\.\d+")
        self.assertEqual((done.stderr, done.returncode), ("", 0))

    def told(self, run, **environment):
        """Which Python the program is told of."""
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "program")
            program.write_text('#!/bin/sh\necho "${WARPLOCK_PYTHON-none}" >&2\nexit 2\n')
            program.chmod(0o755)
            own = {n: v for n, v in os.environ.items() if n not in ("VIRTUAL_ENV", "WARPLOCK_PYTHON")}
            own.update(environment, WARPLOCK_PROGRAM=str(program))
            done = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, env=own)
            return done.stderr.splitlines()[-1]

    def test_the_program_is_told_which_python_calls(self):
        check = "import warplock\ntry: warplock.check('x.py')\nexcept Exception as e: exit(str(e))"
        launch = "from warplock._program import main; main()"
        self.assertEqual(self.told(check), sys.executable)
        self.assertEqual(self.told(check, VIRTUAL_ENV="/elsewhere"), sys.executable)
        self.assertEqual(self.told(launch), sys.executable)
        # Whoever activated an environment means that one.
        self.assertEqual(self.told(launch, VIRTUAL_ENV="/elsewhere"), "none")
        self.assertEqual(self.told(launch, WARPLOCK_PYTHON="/a/python"), "/a/python")


class Schema(unittest.TestCase):
    """The classes have the fields of the published schema, with the same ones required."""

    NAMES = {"counterexample": "Counterexample", "blocked": "Blocked", "trace": "Event",
             "uses": "Use", "proof": "Proof", "expectation": "Expectation", "result": "Result",
             "elements": "Element", "patterns": "Pattern", "orders": "Order", "initial": "Initial",
             "further": "Further", "kernel": "Origin"}

    def compare(self, name, schema):
        schema = schema.get("items", schema)
        if "properties" not in schema:
            return 0
        kind = getattr(warplock, self.NAMES[name])
        fields = {f.name: f for f in dataclasses.fields(kind)}
        self.assertEqual(set(fields), set(schema["properties"]), name)
        required = {n for n, f in fields.items() if f.default is dataclasses.MISSING}
        self.assertEqual(required, set(schema.get("required", ())), name)
        types = typing.get_type_hints(kind)
        for field, described in schema["properties"].items():
            nullable = "null" in described.get("type", [])
            if nullable:
                self.assertIn(type(None), typing.get_args(types[field]), f"{name}.{field}")
        return 1 + sum(
            self.compare(inner, value)
            for inner, value in schema["properties"].items()
            if "$ref" not in value
        )

    def test_the_classes_are_those_of_the_schema(self):
        schema = json.loads((ROOT / "docs/schema/report-1.json").read_text())
        compared = sum(self.compare(name, value) for name, value in schema["$defs"].items())
        self.assertEqual(compared, len(self.NAMES))


if __name__ == "__main__":
    unittest.main()
