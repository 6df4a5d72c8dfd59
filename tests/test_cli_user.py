"""The command line as its user meets it: numbers as typed, verdicts by the canonical order, words of the summary.

usage: test_cli_user.py KITH_BINARY [unittest arguments]
"""
import json
import math

from cli_support import Cli, kith, main, random_rows, read_npy, write_npy


class Numbers(Cli):
    def test_as_typed(self):
        for option, text in (("-k", "99999999999999999999"), ("-k", "ten"), ("-k", "1.5"), ("-k", "0"), ("-k", "1e-3"),
                             ("--threads", "-1"), ("--threads", "1e4"), ("--threads", "0x2"), ("-k", "1_000"),
                             ("-k", "10k"), ("-k", "1e99999999999"), ("-k", ""), ("-k", "1e"), ("-k", "1.")):
            with self.subTest(option=option, text=text):
                given = self.inputs(f"--threads={text}", "-k", 3) if option == "--threads" else self.inputs("-k", text)
                error = kith("search", *given, code=2)
                self.assert_error(error, f"{option}: '{text}'; expected a whole number")
                self.assertLess(len(error.stderr), 150)
        for given in (("-m", "lp", "--p", "two"), ("--formula", "a", "--start", "two")):
            self.assert_error(kith("search", *self.inputs("-k", 3, *given), code=2), f"{given[2]}: 'two'; expected a number")
        self.assert_error(kith("verify", *self.inputs("--ids", "x.npy", "--sample", "-3"), code=2), "--sample: '-3'")
        self.assert_error(kith("demo", "--limit", "some", code=2), "--limit: 'some'")

    def test_exponents(self):
        plan = json.loads(kith("plan", "-n", "1e6", "-q", "1.5e3", "-d", "128", "-k", "1E1", "--json").stdout)
        self.assertEqual([plan["shape"][name] for name in "nqdk"], [1000000, 1500, 128, 10])
        plan = json.loads(kith("plan", "--select", "--rows", "1e2", "--cols", "1e+5", "-k", 7, "--json").stdout)
        self.assertEqual((plan["shape"]["rows"], plan["shape"]["cols"]), (100, 100000))
        for text in ("1e30", "12.34e1", "1e18e1"):
            self.assert_error(kith("plan", "-n", text, "-q", 1, "-d", 1, "-k", 1, code=2), f"--n: '{text}'")

    def test_memory(self):
        plans = {size: json.loads(kith("plan", "-n", 1e6, "-q", 1e4, "-d", 1000, "-k", 100, "--device", "cpu", "--memory",
                                       size, "--json").stdout)["plan"] for size in ("1e6", "1000000", "1MB", "1 mb")}
        self.assertEqual(len({plan["workspace_bytes"] for plan in plans.values()}), 1)
        for size in ("nan", "inf", "-1GiB", "1EiB", "GiB"):
            self.assert_error(kith("search", *self.inputs("-k", 3, f"--memory={size}"), code=2), f"--memory: '{size}'")


class Verdict(Cli):
    def test_equal_roots(self):
        # Squared distances of 1 + 3 and 1 + 2 units in the last place have one root in f64, and are no tie.
        points = [[1.0, math.sqrt(3) * 2**-26], [1.0, 2**-25.5]]
        far, near = (1 + y * y for _, y in points)
        self.assertGreater(far, near)
        self.assertEqual(math.sqrt(far), math.sqrt(near))
        write_npy(self.at("close.npy"), points, "f8")
        write_npy(self.at("origin.npy"), [[0.0, 0.0]], "f8")
        given = ("--base", self.at("close.npy"), "--queries", self.at("origin.npy"), "-m", "euclidean")
        answer = json.loads(kith("search", *given, "-k", 2, "--f64", "--json").stdout)["neighbors"]
        self.assertEqual(answer["ids"], [[1, 0]])
        self.assertEqual(*answer["distances"][0])
        write_npy(self.at("swapped.npy"), [[0, 1]], "i8")
        wrong = kith("verify", *given, "--ids", self.at("swapped.npy"), code=1)
        self.assertIn("NOT exact", wrong.stdout)
        write_npy(self.at("swapped1.npy"), [[0]], "i8")
        self.assertIn("round to the same", kith("verify", *given, "--ids", self.at("swapped1.npy"), code=1).stdout)

    def test_ties_in_every_metric(self):
        # The grid has ties everywhere: a row whose equal neighbours stand in the other order is tied, not wrong.
        write_npy(self.at("some.npy"), self.grid[:20])
        matrix = [[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 3.0]]
        write_npy(self.at("vi.npy"), matrix, "f8")
        for metric in (("l2",), ("cosine",), ("ip",), ("lp", "--p", 3), ("mahalanobis",), ("hamming",),
                       ("mahalanobis", "--inverse-covariance", self.at("vi.npy"))):
            given = ("--base", self.at("grid.npy"), "--queries", self.at("some.npy"), "-m", *metric)
            found = json.loads(kith("search", *given, "-k", 200, "--f64", "--json").stdout)["neighbors"]
            # The two last of the first twenty that are at one distance change places.
            rows = [row[:20] for row in found["ids"]]
            swapped = 0
            for row, distances in zip(rows, found["distances"]):
                for j in range(18, -1, -1):
                    if distances[j] == distances[j + 1]:
                        row[j], row[j + 1] = row[j + 1], row[j]
                        swapped += 1
                        break
            self.assertGreater(swapped, 5, metric)
            write_npy(self.at("tied.npy"), rows, "i8")
            verdict = kith("verify", *given[:2], "--queries", f"{self.at('some.npy')}:0:{len(rows)}", *given[4:], "--ids",
                           self.at("tied.npy"), "--json")
            answer = json.loads(verdict.stdout)
            self.assertEqual((answer["rows_tied"], answer["rows_wrong"]), (swapped, 0), metric)


class Output(Cli):
    def test_truth_holds_no_more(self):
        truth = self.at("x.truth")
        self.assert_error(kith("search", *self.inputs("-k", 3, "--out", truth, "--with-data"), code=2), "--with-data", "x.truth")
        self.assert_error(kith("search", *self.inputs("-k", 3, "--out", truth, "--f64"), code=2), "--f64", "x.truth", "f32")
        self.assert_error(kith("search", *self.inputs("-k", 3, "--with-data"), code=2), "--with-data", "--out")
        self.assertFalse(truth.exists())

    def test_summary(self):
        words = kith("search", *self.inputs("-k", 3)).stderr
        self.assertRegex(words, r"^20 queries x 300 points in .* \(.* [kMGT] distances/s\) on cpu \(.*\)\n"
                                r"20 answered by the (f32|bf16) filter, 0 by repeating it, 0 by a full scan; "
                                r".* candidates per query checked in binary64\n$")
        scan = kith("search", *self.inputs("-k", 3, "-m", "canberra")).stderr
        self.assertIn("20 answered by a full scan: every distance in binary64\n", scan)

    def test_gaps(self):
        rows = random_rows(6, 3, 9)
        rows[1][2] = rows[4][0] = math.nan
        write_npy(self.at("holes.npy"), rows)
        both = ("--base", self.at("holes.npy"), "--queries", self.at("holes.npy"))
        done = kith("search", *both, "-k", 5)
        self.assertIn("2 queries hold NaN and have no neighbours (id -1)\n", done.stderr)
        self.assertIn("4 neighbours are missing (id -1): fewer than k = 5 points could be neighbours\n", done.stderr)
        report = json.loads(kith("search", *both, "-k", 5, "--json").stdout)["report"]
        self.assertEqual((report["nan_queries"], report["missing_neighbours"]), (2, 4))
        graph = json.loads(kith("graph", *both[:2], "-k", 4, "--json").stdout)["report"]
        self.assertEqual((graph["nan_queries"], graph["missing_neighbours"]), (2, 4))
        whole = json.loads(kith("search", *self.inputs("-k", 3, "--json")).stdout)["report"]
        self.assertEqual((whole["nan_queries"], whole["missing_neighbours"]), (0, 0))


if __name__ == "__main__":
    main(__doc__)
