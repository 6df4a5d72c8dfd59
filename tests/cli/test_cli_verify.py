#!/usr/bin/env python3
"""kith verify on results that were tampered with, and on those of points that have no neighbours.

usage: test_cli_verify.py KITH
"""
import json
import math
import struct

import cli_support
from cli_support import Cli, kith, random_rows, read_npy, write_npy

NAN = float("nan")


class Tampered(Cli):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.rows = random_rows(50, 3, 5)
        cls.rows[7] = [NAN, 0.0, 0.0]
        write_npy(cls.folder / "x.npy", cls.rows)

    def graph(self, *more, base="x.npy", k=4):
        """The ids and distances of a graph, and the command that verifies them."""
        kith("graph", "-b", self.at(base), "-k", k, "--ids", self.at("i.npy"), "--distances", self.at("d.npy"), "--quiet", *more)
        return read_npy(self.at("i.npy")), read_npy(self.at("d.npy"))

    def verdict(self, ids, distances, base="x.npy", code=1):
        write_npy(self.at("i.npy"), ids, "i8")
        write_npy(self.at("d.npy"), distances)
        command = ("verify", "-b", self.at(base), "--graph", "--ids", self.at("i.npy"), "--distances", self.at("d.npy"))
        text = kith(*command, "--quiet", code=code).stdout
        self.assertEqual(text.startswith("NOT exact"), code == 1, text)
        return json.loads(kith(*command, "--json", code=code).stdout)

    def test_own_points_are_compared(self):
        ids, distances = self.graph("--include-self")
        self.assertTrue(self.verdict(ids, distances, code=0)["include_self"])
        gone = [row[:] for row in ids]
        for row in gone[1:]:
            row[0] = -1
        answer = self.verdict(gone, distances)
        self.assertEqual((answer["rows_wrong"], answer["first_wrong"]["row"]), (48, 1))
        self.assertIn("expected its own point 1", answer["first_wrong"]["why"])
        other = [row[:] for row in ids]
        other[20][0] = 21
        self.assertEqual(self.verdict(other, distances)["first_wrong"]["row"], 20)
        far = [row[:] for row in distances]
        far[20][0] = 0.25
        answer = self.verdict(ids, far)
        self.assertEqual((answer["rows_wrong"], answer["rows_of_wrong_distances"]), (1, 1))

    def test_rows_of_nan_are_empty(self):
        for more in ((), ("--include-self",)):
            ids, distances = self.graph(*more)
            self.assertEqual(ids[7], [-1] * 4)
            self.assertTrue(self.verdict(ids, distances, code=0)["exact"])
            ids[7][0], distances[7][0] = 7, 123.0
            self.assertEqual([row["row"] for row in self.verdict(ids, distances)["wrong"]], [7])

    def test_points_without_others(self):
        """One point; one that is valid among NaN: true graphs are exact, with themselves or without."""
        for rows in ([[1.0, 2.0]], [[NAN, 1.0], [1.0, 2.0], [NAN, NAN]]):
            write_npy(self.at("few.npy"), rows)
            for more in ((), ("--include-self",)):
                for k in (1, 2, 3):
                    ids, distances = self.graph(*more, base="few.npy", k=k)
                    answer = self.verdict(ids, distances, base="few.npy", code=0)
                    self.assertEqual((answer["rows_exact"], answer["recall"]), (len(rows), 1))
                    ids[-1][-1] = 0 if ids[-1][-1] < 0 else -1
                    self.verdict(ids, distances, base="few.npy")

    def test_distances_of_a_truth(self):
        """A big-ann truth's distances are compared without being named, bit by bit, and the first wrong row is shown."""
        for name in ("t.truth", "t.gt", "t.bin"):
            truth = self.at(name)
            kith("search", *self.inputs("-k", 4, "--out", self.at("t.truth"), "--quiet"))
            truth.write_bytes(self.at("t.truth").read_bytes())
            command = ("verify", truth, *self.inputs())
            self.assertIn("distances: 0 of 80 differ as f32", kith(*command).stdout)
            data = truth.read_bytes()
            truth.write_bytes(data[: 8 + 80 * 4] + struct.pack("<80f", *[777.0] * 80))
            done = kith(*command, code=1)
            self.assertIn("NOT exact: recall 1; of 20 rows checked, k 4: 0 exact, 0 tied, 20 wrong", done.stdout)
            self.assertIn("first wrong row: 0: the distance at place 1 is 777; expected", done.stdout)
            self.assertIn("wrong row: 9: ", done.stdout)
            self.assertIn("and 10 wrong rows more", done.stdout)
            self.assertIn("--ids FILE looks at the neighbours only", done.stdout)
            alone = kith("verify", "--ids", truth, *self.inputs())
            self.assertTrue(alone.stdout.startswith("exact: "))
            self.assertIn("distances: not compared", alone.stdout)
            one = bytearray(data)
            one[-4] ^= 1
            truth.write_bytes(one)
            self.assertIn("1 of 80 differ as f32, by at most 1 ulp", kith(*command, code=1).stdout)

    def test_distances_of_others(self):
        """Of a file that others wrote distances need not have kith's bits, but are held to a thousandth."""
        foreign = self.at("foreign.hdf5")
        kith("search", *self.inputs("-k", 6, "-m", "l2", "--out", foreign, "--with-data", "--quiet", "--ids", self.at("fi.npy"),
                                    "--distances", self.at("fd.npy")))
        data = foreign.read_bytes().replace(b"kith_metric", b"another____")
        row = struct.pack("<6f", *read_npy(self.at("fd.npy"))[3])
        self.assertIn(row, data)
        foreign.write_bytes(data.replace(row, struct.pack("<6f", *[777.0] * 6)))
        answer = json.loads(kith("verify", foreign, "--json", code=1).stdout)
        self.assertEqual((answer["first_wrong"]["row"], answer["distances_compared"]), (3, "nearly"))
        kith("verify", "--ids", foreign, "-b", foreign, "-q", foreign)

    def test_distances_of_f64(self):
        """f64 are compared as such, unless they are f32 that were widened."""
        files = ("--ids", self.at("i.npy"), "--distances", self.at("d.npy"))
        for more, as_what in ((("--f64",), "f64"), ((), "f32")):
            kith("search", *self.inputs("-k", 3, "-m", "l2", *files, "--quiet", *more))
            write_npy(self.at("d.npy"), read_npy(self.at("d.npy")), "f8")
            command = ("verify", *self.inputs("-m", "l2", *files))
            self.assertIn(f"distances: 0 of 60 differ as {as_what}", kith(*command).stdout)
        distances = read_npy(self.at("d.npy"))
        distances[4][1] = math.nextafter(distances[4][1], 9)
        write_npy(self.at("d.npy"), distances, "f8")
        self.assertEqual(json.loads(kith(*command, "--json", code=1).stdout)["distances_compared"], "f64")

    def test_samples_are_said(self):
        kith("search", *self.inputs("-k", 3, "--ids", self.at("i.npy"), "--quiet"))
        text = kith("verify", *self.inputs("--ids", self.at("i.npy"), "--sample", 4)).stdout
        self.assertIn("rows: 16 of 20 were not looked at (--sample)", text)


if __name__ == "__main__":
    cli_support.main(__doc__)
