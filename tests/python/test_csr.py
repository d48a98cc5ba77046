"""``warplock.csr``."""

import dataclasses
import json
import unittest
from pathlib import Path

import warplock
from warplock import Verdict

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "encodings/block_sparse/data/published_varlen.json"


class Masks(unittest.TestCase):
    def test_a_file_has_its_verdict(self):
        report = warplock.csr(PUBLISHED, lock="n")
        self.assertEqual((report.verdict, report.proved), (Verdict.REFUTED, False))
        self.assertEqual((report.n_blocks, report.m_blocks, report.entries), (8, 8, 30))
        self.assertEqual((report.blocked[0].cta, report.blocked[0].m), (2, 3))
        self.assertEqual(report.chain[0].why, "no_owner")
        self.assertEqual(report.row_tiles[3].visitors, (2, 3, 4, 5, 6))
        self.assertIsNone(report.row_tiles[0].first_blocked)
        self.assertIn("5 of 8 row tiles never complete", str(report))
        self.assertTrue(warplock.csr(str(PUBLISHED), lock="rank").proved)
        report = warplock.csr(PUBLISHED, lock="reversed-rank", launch="ascending")
        self.assertEqual((report.completes_for, report.least_resident), ("least_resident_or_more", 5))

    def test_a_block_mask_and_a_mapping_are_asked_for_their_arrays(self):
        class Array(list):
            """Has what arrays of NumPy have."""

            def tolist(self):
                return list(self)

        class BlockMask:
            q_num_blocks = Array([0, 1])
            q_indices = Array([[0], [0]])
            full_q_num_blocks = None

        report = warplock.csr(BlockMask(), lock="n")
        self.assertEqual(report.verdict, Verdict.REFUTED)
        self.assertTrue(warplock.csr(BlockMask(), lock="rank").proved)
        arrays = json.loads(PUBLISHED.read_text())
        arrays = {name: value for name, value in arrays.items() if name != "origin"}
        self.assertEqual(warplock.csr(arrays, lock="n"), warplock.csr(PUBLISHED, lock="n"))

    def test_what_is_wrong_is_said(self):
        with self.assertRaisesRegex(warplock.InputError, "missing.pt cannot be read"):
            warplock.csr("missing.pt")
        with self.assertRaisesRegex(warplock.InputError, "unknown name `rnak`"):
            warplock.csr(PUBLISHED, lock="rnak(n, m)")
        with self.assertRaisesRegex(warplock.InputError, "<dict>"):
            warplock.csr({"mask_block_cnt": [1], "mask_block_idx": []})
        with self.assertRaisesRegex(TypeError, "object is no path"):
            warplock.csr(object())

    def test_the_fields_are_those_of_the_document(self):
        done = warplock._check.run(["csr", str(PUBLISHED), "--format", "json"])
        (result,) = json.loads(done.out)["results"]
        kinds = {"": warplock.MaskReport, "row_tiles": warplock.RowTile, "blocked": warplock.Waiting,
                 "chain": warplock.Link, "shown": warplock.Shown}
        for name, kind in kinds.items():
            document = result["csr"][name] if name else result["csr"]
            document = document[0] if isinstance(document, list) else document
            fields = {f.name for f in dataclasses.fields(kind)} - {"verdict", "reason", "assumptions"}
            self.assertEqual(fields, set(document), name)


if __name__ == "__main__":
    unittest.main()
