#!/usr/bin/env python3
"""Tables in text by the command line: what is said of them, the options that decide, rows that hold NaN.

usage: test_cli_tables.py KITH
"""
import json
import shutil

import cli_support
from cli_support import Cli, kith, read_npy, write_npy

# Three points, as pandas' to_csv() writes them.
PANDAS = ",0,1\n0,0.5,0.25\n1,2.0,3.0\n2,4.0,5.0\n"
POINTS = [[0.5, 0.25], [2, 3], [4, 5]]
REMARK = "line 1 names the columns; column 1, without a name, is left out"


class Tables(Cli):
    def put(self, name, text):
        self.at(name).write_text(text)
        return self.at(name)

    def commands(self, table, other):
        """Every command that reads points, with a table that it says something of."""
        yield "search", "-b", table, "-q", other, "-k", 1
        yield "search", "-b", other, "-q", table, "-k", 1
        yield "graph", "-b", table, "-k", 1
        yield "radius", "-b", table, "-q", other, "-r", 1
        yield "distances", "-b", table, "-q", other, "-o", self.at("d.npy")
        yield "select", "-d", table, "-k", 1
        yield "match", table, other
        yield "estimate", "entropy", "-x", table, "-k", 1
        yield "recommend", table, "-k", 1, "-n", 1, "--as-given", "-m", "euclidean"
        yield "retrieve", table, other, "-k", 1
        yield "verify", "-b", table, "-q", other, "--ids", self.at("ids.npy")

    def test_every_command_says_what_a_table_was_taken_for(self):
        table = self.put("pandas.csv", PANDAS)
        write_npy(self.at("other.npy"), [[0.5, 0.25], [2, 3.5], [4, 5.25]])
        write_npy(self.at("ids.npy"), [[0], [1], [2]], "i8")
        said = f"{table}: {REMARK}\n"
        for command in self.commands(table, self.at("other.npy")):
            self.assertIn(said, kith(*command).stderr, command)
            self.assertNotIn(REMARK, kith(*command, "--quiet").stderr, command)
            if command[0] == "verify":
                continue
            inputs = json.loads(kith(*command, "--json").stdout)["inputs"]
            of_table = next(one for one in inputs if one["file"] == str(table))
            self.assertEqual((of_table["remark"], of_table["rows"], of_table["cols"]), (REMARK, 3, 2), command)
        for command in (("convert", table, self.at("out.npy")), ("groundtruth", "init", self.at("truth"), "-b", table, "--graph", "-k", 1)):
            self.assertIn(said, kith(*command).stderr)
        self.assertEqual(read_npy(self.at("out.npy")), POINTS)
        # Read in shards, too.
        write_npy(self.at("many.npy"), [[0.5, 0.25]] * 20000)
        self.assertIn(said, kith("search", "-b", self.at("many.npy"), "-q", table, "-k", 100, "--memory", "25MiB").stderr)

    def test_the_options_decide(self):
        write_npy(self.at("q.npy"), [[0, 1], [2, 3]])
        for text, *options in (("0,1\n2,3\n", "--header", "no"), ("0,1\n0,1\n2,3\n", "--header", "yes"),
                               ("id,x,y\n0,0,1\n1,2,3\n", "--columns", "x,y"), ("0;0,0;1,0\n1;2,0;3,0\n", "--decimal",
                               "comma", "--columns", "2-"), ("from the field\n1.0,0.0\n3.0,2.0\n", "--skip", 1,
                               "--columns", "2,1")):
            table = self.put("a.csv", text)
            kith("convert", table, self.at("out.npy"), *options, "--quiet")
            self.assertEqual(read_npy(self.at("out.npy")), [[0, 1], [2, 3]])
            kith("search", "-b", table, "-q", table, "-k", 1, *options, "--distances", self.at("d.npy"), "--quiet")
            self.assertEqual(read_npy(self.at("d.npy")), [[0], [0]])
            kith("groundtruth", "init", self.at("job"), "-b", table, "--graph", "-k", 1, *options, "--quiet")
            kith("groundtruth", "run", self.at("job"), "--quiet")
            kith("groundtruth", "merge", self.at("job"), "--distances", self.at("d.npy"), "--quiet")
            self.assertEqual(read_npy(self.at("d.npy")), [[8], [8]])
            kith("groundtruth", "verify", self.at("job"), "--sample", 2, "--quiet")
            shutil.rmtree(self.at("job"))
        table = self.put("a.csv", "0,1\n2,3\n")
        self.assert_error(kith("search", "-b", table, "-q", table, "-k", 1, code=2), str(table), "--header yes or --header no")
        table = self.put("a.csv", "x,y\n0,1\n2,3\n")
        for option, value, expected in (("--header", "maybe", "expected yes or no"), ("--decimal", ";", "expected point or comma"),
                                        ("--columns", "9", "expected places from 1 to 2"), ("--skip", "-1", "--skip")):
            self.assert_error(kith("search", "-b", table, "-q", table, "-k", 1, option, value, code=2), option.strip("-"), expected)
        self.assert_error(kith("search", "-b", self.at("q.npy"), "-q", table, "-k", 1, "--columns", "1-", code=2), "q.npy", "got npy")
        self.assert_error(kith("graph", "-b", table, "-k", 1, "--columns", "X,y", code=2),
                          'names of its 2 columns (x, y), got "X" (did you mean x?)')

    def test_rows_of_nan(self):
        write_npy(self.at("some.npy"), [[1, float("nan")], [2, 3], [4, 5]])
        write_npy(self.at("all.npy"), [[1, float("nan")], [float("nan"), 3], [float("nan"), 5]])
        write_npy(self.at("none.npy"), POINTS)
        self.assertIn("some.npy: 1 of 3 rows hold NaN", kith("search", "-b", self.at("some.npy"), "-q", self.at("none.npy"), "-k", 1).stderr)
        result = json.loads(kith("graph", "-b", self.at("some.npy"), "-k", 1, "--json").stdout)
        self.assertEqual([one["nan_rows"] for one in result["inputs"]], [1])
        write_npy(self.at("ids.npy"), [[0], [1], [2]], "i8")
        for command in self.commands(self.at("all.npy"), self.at("none.npy")):
            if command[0] == "select":
                continue
            self.assert_error(kith(*command, code=2), "all.npy: NaN in each of its 3 rows")
        # The comma at the end that made every row such a one.
        table = self.put("comma.csv", "0.5,0.25,\n2,3,\n4,5,\n")
        self.assertIn("is left out", kith("graph", "-b", table, "-k", 1).stderr)
        write_npy(self.at("large.npy"), [[float("nan"), 1]] * 40000)
        for base, queries in (("large.npy", "none.npy"), ("large.npy", "large.npy")):
            self.assert_error(kith("search", "-b", self.at(base), "-q", self.at(queries), "-k", 100, "--memory", "25MiB", code=2),
                              "large.npy: NaN in each of its 40,000 rows")

    def test_files_that_describe_themselves(self):
        kith("search", *self.inputs("-k", 3, "-m", "cosine", "--with-data", "-o", self.at("r.hdf5"), "--quiet"))
        for command in (("search", "-b", self.at("r.hdf5"), "-q", self.at("r.hdf5"), "-k", 1),
                        ("graph", "-b", self.at("r.hdf5"), "-k", 1), ("radius", "-b", self.at("r.hdf5"), "-r", 1),
                        ("groundtruth", "init", self.at("described"), "-b", self.at("r.hdf5"), "--graph", "-k", 1)):
            taken = "euclidean" if command[0] == "radius" else "sqeuclidean"
            self.assertIn(f"r.hdf5/train: its metric is cosine, and {taken} is taken here\n", kith(*command).stderr)
            shutil.rmtree(self.at("described"), ignore_errors=True)
            self.assertNotIn("its metric", kith(*command, "-m", "cosine").stderr)
        # Euclidean and its square have the same neighbours.
        kith("search", *self.inputs("-k", 3, "-m", "euclidean", "--with-data", "-o", self.at("e.hdf5"), "--quiet"))
        self.assertNotIn("its metric", kith("graph", "-b", self.at("e.hdf5"), "-k", 1).stderr)

    def test_a_truth_of_ids_alone(self):
        kith("search", *self.inputs("-k", 3, "-o", self.at("both.truth"), "--quiet"))
        both = self.at("both.truth").read_bytes()
        for name in ("alone.truth", "alone.gt", "alone.bin", "alone.ibin"):
            self.at(name).write_bytes(both[: 8 + (len(both) - 8) // 2])
            result = kith("verify", "-b", self.at("base.npy"), "-q", self.at("queries.npy"), "--ids", self.at(name))
            self.assertIn("20 exact, 0 tied, 0 wrong", result.stdout)
        self.assert_error(kith("verify", *self.inputs("--ids", self.at("alone.gt"), "--distances", self.at("alone.gt")), code=2),
                          "alone.gt", "found ids alone")


if __name__ == "__main__":
    cli_support.main(__doc__)
