#!/usr/bin/env python3
"""Options of distance and error, in each command that has them: read or refused, never ignored; what they read is kept."""
import json

from cli_support import Cli, kith, main, random_rows, write_npy

FEATURES = {"match": ("{a}", "{b}"), "retrieve": ("{a}", "{b}", "-k", 3),
            "estimate divergence": ("-x", "{a}", "-y", "{b}"), "estimate entropy": ("-x", "{a}"),
            "recommend": ("{counts}", "-k", 3)}
# What writes files: command, what it reads, an option that names an output.
WRITERS = {"match": "--out", "retrieve": "--out", "recommend": "--predictions"}


class DistanceOptions(Cli):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.a, cls.b = random_rows(30, 3, 11), random_rows(40, 3, 12)
        write_npy(cls.folder / "a.npy", cls.a, "f8")
        write_npy(cls.folder / "b.npy", cls.b, "f8")
        write_npy(cls.folder / "counts.npy", [[abs(round(3 * v)) for v in row] for row in cls.a], "i4")
        write_npy(cls.folder / "variances.npy", [[4.0], [0.25], [100.0]], "f8")
        write_npy(cls.folder / "inverse.npy", [[4.0, 0, 0], [0, 0.25, 0], [0, 0, 1]], "f8")

    def call(self, command, *more, code=0):
        files = {name: self.at(f"{name}.npy") for name in ("a", "b", "counts")}
        given = [value.format(**files) if isinstance(value, str) else value for value in FEATURES[command]]
        return kith(*command.split(), *given, *more, code=code)

    def test_outputs_that_a_metric_is_read_from(self):
        for command, output in WRITERS.items():
            for metric, option, file in (("seuclidean", "--variances", self.at("variances.npy")),
                                         ("mahalanobis", "--inverse-covariance", self.at("inverse.npy"))):
                before = file.read_bytes()
                refused = self.call(command, "-m", metric, option, file, output, file, code=2)
                self.assert_error(refused, output, f"is what {option} reads")
                self.assertEqual(file.read_bytes(), before)
                self.call(command, "-m", metric, option, file, "--quiet")

    def test_parameters_of_another_metric(self):
        """The metric that a command has where none is given is no other."""
        for command in FEATURES:
            self.assert_error(self.call(command, "--p", 3, code=2), "--p is for minkowski only")
            self.assertNotEqual(self.call(command, "-m", "minkowski", "--p", 1, "--quiet").stdout,
                                self.call(command, "-m", "minkowski", "--p", "inf", "--quiet").stdout)
            if command == "estimate entropy":
                continue
            self.assert_error(self.call(command, "--variances", self.at("variances.npy"), code=2), "--variances is for seuclidean")
            self.assert_error(self.call(command, "--inverse-covariance", self.at("nosuch.npy"), code=2),
                              "--inverse-covariance is for mahalanobis")

    def test_options_that_do_not_apply(self):
        absent = {"estimate entropy": ("--formula=a+q", "--start=1", "--packed-bits", "--variances=v.npy",
                                       "--inverse-covariance=v.npy"),
                  "estimate divergence": ("--formula=a+q", "--packed-bits"), "retrieve": ("--formula=a+q", "--packed-bits"),
                  "recommend": ("--packed-bits",)}
        for command, options in absent.items():
            said = kith(*command.split(), "--help").stdout
            for option in options:
                self.assertNotIn(option.split("=")[0] + " ", said)
                self.assert_error(self.call(command, option, code=2), option.split("=")[0])
        self.assert_error(self.call("match", "--packed-bits", code=2), "packed")
        for command, rows in (("match", "pairs"), ("recommend", "rows")):
            by_formula = json.loads(self.call(command, "--formula", "a + fabs(q - x)", "--json").stdout)
            self.assertEqual(by_formula[rows], json.loads(self.call(command, "-m", "cityblock", "--json").stdout)[rows])
            self.assertNotEqual(by_formula[rows], json.loads(self.call(command, "--json").stdout)[rows])

    def test_help_says_the_metric(self):
        for command in FEATURES:
            said = " ".join(kith(*command.split(), "--help").stdout.split())
            self.assertIn("NAME=" + ("hellinger" if command == "recommend" else "euclidean"), said)
            # They are estimated from points among which one searches, of two sets from neither.
            self.assertEqual("without them, estimated" in said, command == "recommend")
        self.assertIn("estimated from the base points", " ".join(kith("search", "--help").stdout.split()))

    def test_first_rows_in_json(self):
        said = json.loads(self.call("match", "--mutual", "--json").stdout)
        self.assertEqual(said["rows"], [30, 40])
        self.assertEqual(len(said["pairs"]), min(10, said["matches"]))
        for pair in said["pairs"]:
            squares = [sum((u - v) ** 2 for u, v in zip(self.a[pair["a"]], row)) for row in self.b]
            self.assertEqual(pair["b"], squares.index(min(squares)))
            self.assertAlmostEqual(pair["distance"], min(squares) ** 0.5)
        self.assertNotIn("pairs", json.loads(self.call("match", "--out", self.at("pairs.npy"), "--json").stdout))

    def test_ratio(self):
        for bad in ("", "x", "0.8x", "nan"):
            self.assert_error(self.call("match", "--ratio", bad, code=2), f"--ratio: '{bad}'; expected a number")
        self.assert_error(self.call("match", "--ratio", 1.5, code=2), "ratio: 1.5")

    def test_options_of_the_bootstrap(self):
        for option in ("--parts", "--stretch", "--seed"):
            for command in ("estimate entropy", "estimate divergence"):
                self.assert_error(self.call(command, option, 3, code=2), option, "--bootstrap")
                self.call(command, option, 3, "--bootstrap", 2, "-k", 1)

    def test_only_counts(self):
        counts = kith("radius", "-b", self.at("b.npy"), "-r", 1, "--only-counts", "--quiet").stdout
        self.assertIn("within\n", counts)
        self.assertIn("The first 10 of 40 rows; --counts writes them all.", counts)
        listed = kith("radius", "-b", self.at("b.npy"), "-r", 1, "--quiet").stdout
        self.assertIn("within  nearest: id (distance)\n", listed)
        self.assertIn("--csr writes them all.", listed)


if __name__ == "__main__":
    main(__doc__)
