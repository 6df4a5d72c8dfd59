#!/usr/bin/env python3
"""Searches of points that are read in shards: their files are, to the byte, those of a search that holds all.

usage: test_cli_streamed.py KITH
"""
import gzip
import json
import math
import re
import shutil
import struct

from cli_support import Cli, kith, main, random_rows, write_npy

# 24 MiB are the process'; the rest holds some 500 points of 8 columns.
LITTLE = "24.2MiB"


class Streamed(Cli):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        rows = random_rows(4000, 8, 21)
        rows[3500] = list(rows[7])  # a tie across shards
        rows[1234][3] = math.nan
        write_npy(cls.folder / "points.npy", rows)
        write_npy(cls.folder / "some.npy", [*random_rows(700, 8, 22), rows[7], rows[1234]])
        # Far out, and close together: their squares are no numbers of binary64.
        far = [[x * (1e160 if i % 3 else 1e-170) for x in row] for i, row in enumerate(random_rows(4000, 8, 24))]
        write_npy(cls.folder / "far.npy", far, "f8")
        write_npy(cls.folder / "some-far.npy", far[:40], "f8")
        write_npy(cls.folder / "whole.npy", [[round(40 * x) for x in row] for row in random_rows(4000, 8, 23)], "i8")
        with open(cls.folder / "points.fbin", "wb") as file:
            file.write(struct.pack("<II", 4000, 8) + b"".join(struct.pack("<8f", *row) for row in rows))
        with open(cls.folder / "points.fbin", "rb") as file, gzip.open(cls.folder / "points.fbin.gz", "wb") as packed:
            shutil.copyfileobj(file, packed)

    def outputs(self, name, files):
        return [option for letters, suffix in files for option in (letters, self.at(name + suffix))]

    def same(self, *command, files=(("--ids", "-ids.npy"), ("--distances", "-d.npy"))):
        """Runs it with all in memory and with little; returns the report of the latter."""
        kith(*command, *self.outputs("held", files), "--device", "cpu", "--quiet", "--force")
        report = json.loads(kith(*command, *self.outputs("streamed", files), "--device", "cpu", "--force", "--memory",
                                 LITTLE, "--json").stdout)
        for _, suffix in files:
            self.assertEqual(self.at("held" + suffix).read_bytes(), self.at("streamed" + suffix).read_bytes(), (command, suffix))
        self.assertGreater(report["streamed"]["shards"], 1)
        return report

    def test_gives_the_same_files_where_keys_leave_binary64(self):
        far = ("-b", self.at("far.npy"), "-q", self.at("some-far.npy"), "-k", 5, "--f64")
        for metric in ("euclidean", "cosine"):
            self.same("search", *far, "-m", metric)
            kith("verify", self.at("held-ids.npy"), *far[:4], "-m", metric, "--distances", self.at("held-d.npy"))

    def test_gives_the_same_files(self):
        queries = ("-q", self.at("some.npy"))
        for metric in ("sqeuclidean", "cosine", "cityblock", "inner_product"):
            report = self.same("search", "-b", self.at("points.npy"), *queries, "-k", 5, "-m", metric)
            self.assertEqual(report["report"]["queries"], 702)
            self.assertEqual(report["report"]["pairs"], 702 * 4000)
            self.assertEqual(report["report"]["nan_queries"], 1)
        self.assertGreater(report["streamed"]["blocks"], 1)
        self.same("search", "-b", self.at("points.fbin.gz"), *queries, "-k", 5, "--f64")
        self.same("search", "-b", f"{self.at('points.fbin')}:100:3000", *queries, "-k", 4)
        self.same("search", "-b", self.at("whole.npy"), *queries, "-k", 3)
        self.same("search", "-b", self.at("points.npy"), "-q", f"{self.at('some.npy')}:0:3", "-k", 1500)

    def test_graphs(self):
        both = (("--ids", "-ids.npy"), ("--csr", ".npz"))
        self.same("graph", "-b", self.at("points.npy"), "-k", 6, files=both)
        self.same("graph", "-b", self.at("whole.npy"), "-k", 6, "-m", "cityblock", "--f64")

    def test_radii(self):
        queries = ("-q", self.at("some.npy"))
        both = (("--csr", ".npz"), ("--counts", ".npy"))
        for metric, r in (("euclidean", 2), ("cosine", 0.2), ("cityblock", 4), ("inner_product", 2.5)):
            report = self.same("radius", "-b", self.at("points.npy"), *queries, "-r", r, "-m", metric, files=both)
            self.assertGreater(report["within"], 702)
            self.assertEqual(report["report"]["pairs"], 702 * 4000)
        self.same("radius", "-b", self.at("points.fbin.gz"), *queries, "-r", 3, "--open", "--f64", files=both)
        report = self.same("radius", "-b", self.at("points.npy"), "-r", 2.5, files=both)
        self.assertGreater(report["streamed"]["blocks"], 1)
        self.same("radius", "-b", self.at("whole.npy"), "-r", 60, "-m", "euclidean", "--include-self", files=both)
        write_npy(self.at("radii.npy"), [[0.01 * i] for i in range(702)], "f8")
        self.same("radius", "-b", self.at("points.npy"), *queries, "--radii", self.at("radii.npy"), files=both)
        # All points of all queries: far more than the memory that there is for rows.
        everything = self.same("radius", "-b", self.at("points.npy"), "-q", f"{self.at('some.npy')}:0:300", "-r", "inf", files=both)
        self.assertEqual(everything["within"], 300 * 3999)

    def test_counts_and_first_rows_of_radii(self):
        for options in (("-q", self.at("some.npy")), ()):
            self.same("radius", "-b", self.at("points.npy"), *options, "-r", 3, files=(("--counts", ".npy"),))
            for further in ((), ("--f64", "-m", "euclidean"), ("--only-counts",)):
                command = ("radius", "-b", self.at("points.npy"), *options, "-r", 3, "--device", "cpu", *further)
                held = json.loads(kith(*command, "--json").stdout)
                streamed = json.loads(kith(*command, "--json", "--memory", LITTLE).stdout)
                self.assertEqual((held["rows"], held["within"]), (streamed["rows"], streamed["within"]))
                self.assertGreater(streamed["streamed"]["shards"], 1)
        text = kith(*command, "--memory", LITTLE).stderr
        self.assertIn("shards of points", text)

    def test_radii_that_do_not_fit_the_queries(self):
        write_npy(self.at("three.npy"), [[1.0]] * 3, "f8")
        command = ("radius", "-b", self.at("points.npy"), "-q", self.at("some.npy"), "--memory", LITTLE)
        self.assert_error(kith(*command, "--radii", self.at("three.npy"), code=2), "--radii: 3 x 1", "702 queries")
        self.assert_error(kith(*command, "-r", -1, code=2), "--radius: -1")
        # What is estimated from all points is held.
        answer = json.loads(kith(*command, "-r", 1, "-m", "seuclidean", "--device", "cpu", "--only-counts", "--json").stdout)
        self.assertNotIn("streamed", answer)

    def test_results_in_one_file(self):
        self.same("search", "-b", self.at("points.npy"), "-q", self.at("some.npy"), "-k", 5, files=(("--out", ".truth"),))
        kith("search", "-b", self.at("points.npy"), "-q", self.at("some.npy"), "-k", 5, "-o", self.at("r.hdf5"), "--memory",
             LITTLE, "--device", "cpu")
        kith("verify", self.at("r.hdf5"), "-b", self.at("points.npy"), "-q", self.at("some.npy"), "--device", "cpu")

    def test_says_what_it_did(self):
        command = ("search", "-b", self.at("points.npy"), "-q", self.at("some.npy"), "-k", 5, "--device", "cpu", "--memory", LITTLE)
        done = kith(*command)
        self.assertIn("The first 10 of 702 rows", done.stdout)
        self.assertRegex(done.stderr, r"702 queries x 4,000 points .*\n[0-9]+ shards of points for [0-9]+ blocks of queries")
        held = kith(*command[:-1], "1GiB")
        self.assertNotIn("shards", held.stderr)
        self.assertEqual(done.stdout, held.stdout)

    def test_what_needs_all_points_holds_them(self):
        for more in (("-m", "seuclidean"), ("-m", "mahalanobis")):
            kith("search", "-b", self.at("whole.npy"), "-q", self.at("some.npy"), "-k", 2, "--memory", LITTLE, "--device", "cpu",
                 *more, "--quiet")
        kith("graph", "-b", self.at("whole.npy"), "-k", 2, "--include-self", "--memory", LITTLE, "--device", "cpu", "--quiet")

    def test_errors_name_the_rows(self):
        rows = [[abs(x) for x in row] for row in random_rows(4000, 8, 24)]
        rows[3500][3] = -1
        write_npy(self.at("shares.npy"), rows)
        bad = kith("search", "-b", self.at("shares.npy"), "-q", f"{self.at('shares.npy')}:0:50", "-k", 5, "-m", "hellinger",
                   "--memory", LITTLE, code=2)
        first, row = map(int, re.search(r"points from row ([0-9]+) of .*shares.npy on, .* row ([0-9]+), column 3", bad.stderr).groups())
        self.assertEqual(first + row, 3500)

    def test_radii_are_refused_as_where_all_is_held(self):
        write_npy(self.at("bad-radii.npy"), [[1.0]] * 701 + [[math.nan]], "f8")
        for arguments in (("-r", 1, "--path", "projected"), ("-r", 1, "--path", "nonsense"), ("-r", 1, "--path", "gemm-f16"),
                          ("-r", 1, "--path", "kato"), ("--radius=-1",), ("-r", "nan"), ("--radii", self.at("bad-radii.npy"))):
            command = ("radius", "-b", self.at("points.npy"), "-q", self.at("some.npy"), *arguments, "--device", "cpu")
            held, streamed = (kith(*command, *memory, "--only-counts", code=2) for memory in ((), ("--memory", LITTLE)))
            self.assertEqual(held.stderr, streamed.stderr, arguments)
            # Of neighbours, not radii.
            possible = streamed.stderr.partition("possible here")[2]
            self.assertFalse("projected" in possible or "gemm-i8" in possible, streamed.stderr)
        self.assert_error(streamed, "--radii: nan; expected a number")

    def test_damage_that_only_reading_finds(self):
        packed = bytearray(self.at("points.fbin.gz").read_bytes())
        packed[len(packed) * 4 // 5] ^= 0xff
        self.at("damaged.fbin.gz").write_bytes(packed)
        bad = kith("search", "-b", self.at("damaged.fbin.gz"), "-q", self.at("some.npy"), "-k", 5, "--memory", LITTLE, "--ids",
                   self.at("none.npy"), code=2)
        self.assert_error(bad, "damaged.fbin.gz")
        self.assertFalse(self.at("none.npy").exists())

    def test_a_file_that_changes_or_ends_is_refused(self):
        cut = self.at("cut.fbin")
        cut.write_bytes(self.at("points.fbin").read_bytes()[:-100])
        bad = kith("search", "-b", cut, "-q", self.at("some.npy"), "-k", 5, "--memory", LITTLE, code=2)
        self.assert_error(bad, "cut.fbin")
        self.assert_error(kith("search", "-b", self.at("points.npy"), "-q", f"{self.at('points.npy')}", "-k", 10 ** 6, "--memory",
                               LITTLE, code=3), "--memory: 24.2 MiB", "at least")


if __name__ == "__main__":
    main(__doc__)
