"""The command line refuses or says what it would have had to guess. Usage: python3 test_cli_refused.py KITH"""
import json
import os
import pathlib
import shutil
import subprocess

import cli_support
from cli_support import Cli, kith, write_npy


class Refused(Cli):
    def test_nothing_is_written_to_a_file_named_by_a_dash(self):
        before = pathlib.Path("-").exists()
        for command in (("convert", self.at("base.npy"), "-", "--to", "csv"), ("convert", self.at("base.npy"), "-"),
                        ("search", *self.inputs("-k", "1", "--ids", "-", "--format", "npy"))):
            self.assert_error(kith(*command, code=2), "-: expected the name of a file")
        self.assertEqual(pathlib.Path("-").exists(), before)

    def test_an_empty_value_is_not_no_option(self):
        for option, expected in (("--path", "a name"), ("--selector", "a name"), ("--isa", "a name"), ("--device", "a name"),
                                 ("--metric", "a name"), ("--memory", "a size"), ("--ids", "the name of a file")):
            self.assert_error(kith("search", *self.inputs("-k", "1", option, ""), code=2), f"{option} '': expected {expected}")

    def test_what_was_not_expected_is_named_as_it_was_given(self):
        self.assert_error(kith("graph", *self.inputs("-k", "1"), code=2), f"not expected: --queries {self.at('queries.npy')} (")

    def test_f64_where_no_distance_is_written(self):
        self.assert_error(kith("search", *self.inputs("-k", "1", "--ids", self.at("i.npy"), "--f64"), code=2), "--f64")
        self.assertFalse(self.at("i.npy").exists())

    def test_a_table_of_f64_has_their_digits(self):
        found = kith("search", *self.inputs("-k", "1", "--f64", "--quiet")).stdout
        nearest = cli_support.nearest(self.points, self.queries[0], 1)[1][0]
        self.assertIn(f"({nearest:.12g}"[:12], found)

    def test_a_plan_says_whose_the_memory_is(self):
        shape = ("plan", "-n", "1e15", "-q", "1", "-d", "1", "-k", "1e15", "--device", "cpu")
        self.assert_error(kith(*shape, code=3), " bytes, half of what is free; ")
        self.assert_error(kith(*shape, "--memory", "1GiB", code=3), "memory: 1073741824 bytes; ")


class Kind(Cli):
    """What was probably meant, and where to read on."""

    def test_help_is_a_word_too(self):
        self.assertEqual(kith("help").stdout, kith("--help").stdout)
        self.assertEqual(kith("help", "search").stdout, kith("search", "--help").stdout)
        self.assertEqual(kith("help", "groundtruth", "run").stdout, kith("groundtruth", "run", "--help").stdout)

    def test_no_help_of_an_unknown_command(self):
        for words in (("update", "--help"), ("help", "update"), ("--help", "update"), ("groundtruth", "update", "--help")):
            self.assert_error(kith(*words, code=2), "unknown command", "update", "expected one of")
        self.assert_error(kith("serach", "--help", code=2), "did you mean search?")

    def test_a_name_that_is_near(self):
        base = self.at("base.npy")
        for words, meant in ((("search", "--base", base, "--query", base, "-k", 3), "--queries"),
                             (("search", "--base", base, f"--query={base}", "-k", 3), "--queries"),
                             (("search", *self.inputs("-k", 3, "--metrics", "l2")), "--metric"),
                             (("search", *self.inputs("-k", 3, "-m", "cos")), "cosine"),
                             (("search", *self.inputs("-k", 3, "-m", "IP")), "ip"),
                             (("search", *self.inputs("-k", 3, "-m", "euclidian")), "euclidean"),
                             (("search", *self.inputs("-k", 3, "--format", "fvec")), "fvecs"),
                             (("convert", base, self.at("x.fvec")), "fvecs"),
                             (("convert", base, self.at("x.npy"), "--type", "F32"), "f32"),
                             (("groundtruth", "stat", "x"), "status")):
            self.assert_error(kith(*words, code=2), f"(did you mean {meant}?)")

    def test_a_file_without_a_suffix(self):
        bare = self.at("bare")
        shutil.copy(self.at("base.npy"), bare)
        self.assert_error(kith("graph", "-b", bare, "-k", 1, code=2), "known suffix", "npy", "--format")
        self.assert_error(kith("convert", bare, self.at("x.npy"), code=2), "--from")
        self.assert_error(kith("convert", self.at("base.npy"), bare, code=2), "--to")
        kith("graph", "-b", bare, "-k", 1, "--format", "npy")

    def test_outputs_are_named_by_suffixes_alone(self):
        """Inputs have --format, and no format is written that is read only."""
        for command, option in ((("graph", "-b", self.at("base.npy"), "-k", 1), "--ids"),
                                (("distances", "-b", self.at("base.npy")), "--out"),
                                (("select", "-d", self.at("base.npy"), "-k", 1), "--values")):
            result = kith(*command, option, self.at("x.txt"), code=2)
            self.assert_error(result, f"{option} {self.at('x.txt')}: expected a file name that ends in one of ", ".npy")
            for absent in ("--format", "npz", "parquet"):
                self.assertNotIn(absent, result.stderr)

    def test_a_folder_and_rows_are_told_from_formats(self):
        base = self.at("base.npy")
        self.assert_error(kith("graph", "-b", base.parent, "-k", 1, code=2), "a folder; expected a file")
        for rows in (":a:b", ":5", "::5", ":-1:3"):
            self.assert_error(kith("graph", "-b", f"{base}{rows}", "-k", 1, code=2), f"expected rows as {base}:FIRST:COUNT")

    def test_what_the_parser_leaves_out(self):
        base = self.at("base.npy")
        self.assert_error(kith("convert", code=2), "IN is required: the matrix to read (see kith convert --help)")
        self.assert_error(kith("match", base, code=2), "B is required: ")
        self.assert_error(kith("search", *self.inputs("-k"), code=2), "-k: expected a value behind it (K)")
        self.assert_error(kith("search", *self.inputs("-k", 1, "-metric", "l2"), code=2), "(did you mean --metric?)")
        self.assert_error(kith("--hlep", code=2), "not expected: --hlep (did you mean --help?) (see kith --help)")


class Info(Cli):
    def test_one_thread_is_no_threads(self):
        result = subprocess.run([cli_support.KITH, "info"], capture_output=True, text=True, timeout=60,
                                env={**os.environ, "OMP_NUM_THREADS": "1"})
        self.assertIn("cpu          1 thread, ", result.stdout)


class Verify(Cli):
    def found(self, *more):
        kith("search", *self.inputs("-k", "3", "--ids", self.at("ids.npy"), "--distances", self.at("d.npy"), "--quiet",
                                    *more))
        return ("verify", *self.inputs("--ids", self.at("ids.npy"), "--distances", self.at("d.npy")))

    def test_an_assumed_metric_is_named(self):
        command = self.found()
        said = "metric: sqeuclidean, assumed: the file names none; -m says otherwise\n"
        self.assertIn(said, kith(*command).stdout)
        self.assertEqual(json.loads(kith(*command, "--json").stdout)["metric_from"], "assumed")
        self.assertNotIn("metric: ", kith(*command, "-m", "sqeuclidean").stdout)
        self.assertEqual(json.loads(kith(*command, "-m", "sqeuclidean", "--json").stdout)["metric_from"], "options")

    def test_nan_is_no_number_of_ulp_away(self):
        command = self.found()
        distances = cli_support.read_npy(self.at("d.npy"))
        distances[4][1] = float("nan")
        write_npy(self.at("d.npy"), distances)
        self.assertIn("distances: 1 of 60 differ as f32, by at most 0 ulp; 1 of them NaN\n", kith(*command, code=1).stdout)
        answer = json.loads(kith(*command, "--json", code=1).stdout)["distances"]
        self.assertEqual((answer["different"], answer["nan"], answer["largest_ulp"]), (1, 1, 0))

    def test_one_thread_is_no_threads(self):
        command = ("search", *self.inputs("-k", "1", "-t", "1"))
        result = kith(*command)
        self.assertIn(", 1 thread)", result.stdout + result.stderr)


if __name__ == "__main__":
    cli_support.main(__doc__)
