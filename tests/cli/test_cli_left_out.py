#!/usr/bin/env python3
"""What an answer leaves out is said: rows with NaN, samples that equal others.

usage: test_cli_left_out.py KITH
"""
import json

import cli_support
from cli_support import Cli, kith, write_npy

NAN = float("nan")
NAN_ROWS = "rows hold NaN; such rows have no neighbours and are none\n"


class LeftOut(Cli):
    def setUp(self):
        rows = [row[:] for row in self.points]
        rows[5][1] = rows[9][0] = rows[11][6] = NAN
        write_npy(self.at("holes.npy"), rows)
        asked = [row[:] for row in self.queries]
        asked[2][2] = NAN
        write_npy(self.at("asked.npy"), asked)

    def test_radius(self):
        both = ("radius", "-b", self.at("holes.npy"), "-q", self.at("asked.npy"), "-r", 2)
        words = kith(*both).stderr
        self.assertIn(f"holes.npy: 3 of {len(self.points)} {NAN_ROWS}", words)
        self.assertIn(f"asked.npy: 1 of {len(self.queries)} {NAN_ROWS}", words)
        for more in ((), ("--memory", "40MiB", "--device", "cpu"), ("--only-counts",)):
            report = json.loads(kith(*both, "--json", *more).stdout)["report"]
            self.assertEqual((report["nan_queries"], report["nan_points"]), (1, 3))
        own = kith("radius", "-b", self.at("holes.npy"), "-r", 2)
        self.assertIn(f"holes.npy: 3 of {len(self.points)} {NAN_ROWS}", own.stderr)
        self.assertNotIn("NaN", kith("radius", *self.inputs("-r", 2)).stderr)

    def test_search(self):
        done = kith("search", "-b", self.at("holes.npy"), "-q", self.at("asked.npy"), "-k", 3)
        self.assertIn(f"holes.npy: 3 of {len(self.points)} {NAN_ROWS}", done.stderr)
        self.assertIn(f"asked.npy: 1 of {len(self.queries)} {NAN_ROWS}", done.stderr)
        self.assertIn(f"3 of {len(self.points)} {NAN_ROWS}", kith("graph", "-b", self.at("holes.npy"), "-k", 3).stderr)

    def test_match(self):
        done = kith("match", self.at("asked.npy"), self.at("holes.npy"))
        self.assertIn(f"asked.npy: 1 of {len(self.queries)} {NAN_ROWS}", done.stderr)
        self.assertIn(f"holes.npy: 3 of {len(self.points)} {NAN_ROWS}", done.stderr)

    def test_equal_samples(self):
        write_npy(self.at("rounded.npy"), [[float(round(x)) for x in row[:1]] for row in self.points])
        done = kith("estimate", "entropy", "-x", self.at("rounded.npy"))
        self.assertRegex(done.stderr, "warning: 29[0-9] of 300 samples equal others")
        write_npy(self.at("some.npy"), [[float(round(row[0])) if i % 3 else row[0]] for i, row in enumerate(self.points)])
        done = kith("estimate", "entropy", "-x", self.at("some.npy"))
        left_out = json.loads(kith("estimate", "entropy", "-x", self.at("some.npy"), "--json").stdout)["left_out"]
        self.assertGreater(left_out, 150)
        self.assertIn(f"warning: {left_out} of 300 samples equal others", done.stderr)
        self.assertNotIn("warning", kith("estimate", "entropy", "-x", self.at("some.npy"), "--quiet").stderr)
        self.assertNotIn("warning", kith("estimate", "entropy", "-x", self.at("base.npy")).stderr)


if __name__ == "__main__":
    cli_support.main(__doc__)
