"""The command line as its user meets it: numbers as typed, verdicts by the canonical order, words of the summary.

usage: test_cli_user.py KITH_BINARY [unittest arguments]
"""
import ast
import json
import math
import struct
import zipfile

from cli_support import Cli, f32, kith, main, random_rows, read_npy, read_vecs, write_npy


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
                                r"20 answered by the (f32|bf16) filter, 0 by retrying it, 0 by a full scan; "
                                r".* candidates per query checked in binary64\n$")
        scan = kith("search", *self.inputs("-k", 3, "--path", "exact")).stderr
        self.assertIn("20 answered by a full scan: every distance in binary64\n", scan)

    def test_gaps(self):
        rows = random_rows(6, 3, 9)
        rows[1][2] = rows[4][0] = math.nan
        write_npy(self.at("holes.npy"), rows)
        both = ("--base", self.at("holes.npy"), "--queries", self.at("holes.npy"))
        done = kith("search", *both, "-k", 5)
        self.assertIn("holes.npy: 2 of 6 rows hold NaN; such rows have no neighbours and are none\n", done.stderr)
        self.assertIn("4 neighbours are missing (id -1): fewer than k = 5 points could be neighbours\n", done.stderr)
        report = json.loads(kith("search", *both, "-k", 5, "--json").stdout)["report"]
        self.assertEqual((report["nan_queries"], report["missing_neighbours"]), (2, 4))
        graph = json.loads(kith("graph", *both[:2], "-k", 4, "--json").stdout)["report"]
        self.assertEqual((graph["nan_queries"], graph["missing_neighbours"]), (2, 4))
        whole = json.loads(kith("search", *self.inputs("-k", 3, "--json")).stdout)["report"]
        self.assertEqual((whole["nan_queries"], whole["missing_neighbours"]), (0, 0))


class OwnData(Cli):
    """Files that say what they hold."""

    def result(self, *more):
        kith("search", *self.inputs("-k", 6, "--out", self.at("r.hdf5"), "--with-data", "--quiet", *more))
        return self.at("r.hdf5")

    def setUp(self):
        for path in self.folder.glob("*.hdf5"):
            path.unlink()

    def test_verify_needs_the_file_only(self):
        write_npy(self.at("vi.npy"), [[float(i == j) for j in range(7)] for i in range(7)], "f8")
        for metric in (("l2",), ("l1",), ("cosine",), ("ip",), ("lp", "--p", 3), ("mahalanobis",), ("chebyshev",)):
            self.setUp()
            result = self.result("-m", *metric)
            verdict = kith("verify", result)
            self.assertIn("exact: recall 1", verdict.stdout)
            self.assertIn("distances: 0 of 120 differ", verdict.stdout)
            answer = json.loads(kith("verify", result, "--json").stdout)
            self.assertEqual((answer["metric_from"], answer["rows_exact"]), ("file", 20))
        self.setUp()
        result = self.at("r.hdf5")
        kith("search", *self.inputs("-k", 6, "--out", result, "--with-data", "--quiet", "--formula", "a + fabs(q - x)"))
        self.assertEqual(json.loads(kith("verify", result, "--json").stdout)["metric"]["formula"], "a + fabs(q - x)")

    def test_another_metric_is_named(self):
        result = self.result("-m", "l2")
        wrong = kith("verify", result, "-m", "l1", code=1)
        self.assertIn(f"metric: cityblock, but {result} says that it holds euclidean\n", wrong.stdout)
        kith("verify", *self.inputs("--ids", result))

    def test_what_is_missing(self):
        self.assert_error(kith("verify", code=2), "RESULT", "--ids")
        self.assert_error(kith("verify", "x.npy", "--ids", "y.npy", code=2), "RESULT", "--ids")
        self.assert_error(kith("verify", self.at("base.npy"), code=2), "--base", "base.npy")
        kith("search", *self.inputs("-k", 2, "--out", self.at("bare.hdf5"), "--quiet"))
        self.assert_error(kith("verify", self.at("bare.hdf5"), code=2), "--base", "bare.hdf5", "train")
        base = ("--base", self.at("base.npy"))
        self.assert_error(kith("verify", self.at("bare.hdf5"), *base, code=2), "--queries", "--graph", "test")
        kith("verify", self.at("bare.hdf5"), *self.inputs())

    def test_graph(self):
        result = self.at("g.hdf5")
        kith("graph", "--base", self.at("grid.npy"), "-k", 5, "-m", "l2", "--out", result, "--with-data", "--quiet")
        answer = json.loads(kith("verify", result, "--json").stdout)
        self.assertEqual((answer["graph"], answer["exact"], answer["rows"]), (True, True, 200))

    def test_files_of_others(self):
        """Without kith_metric: ann-benchmarks' word counts, and distances need not be kith's to the bit."""
        write_npy(self.at("bits.npy"), [[x > 0 for x in row] for row in self.points], "u1")
        for metric, word in (("l2", "euclidean"), ("cosine", "cosine"), ("hamming", "hamming")):
            self.setUp()
            foreign = self.at("foreign.hdf5")
            given = ("--base", self.at("bits.npy"), "--queries", f"{self.at('bits.npy')}:0:20") if metric == "hamming" else self.inputs()
            kith("search", *given, "-k", 6, "-m", metric, "--out", foreign, "--with-data", "--quiet",
                 "--distances", self.at("theirs.fvecs"))
            data = foreign.read_bytes()
            self.assertIn(b"kith_metric", data)
            data = data.replace(b"kith_metric", b"another____")
            row = struct.pack("<6f", *read_vecs(self.at("theirs.fvecs"), "f")[3])
            self.assertIn(row, data)
            data = data.replace(row, struct.pack("<6f", *(f32(x * (1 + 2**-20)) for x in struct.unpack("<6f", row))))
            foreign.write_bytes(data)
            verdict = kith("verify", foreign)
            self.assertIn("exact: recall 1; of 20 rows", verdict.stdout)
            self.assertIn(f"metric: {word}, as {foreign} says", verdict.stdout)
            self.assertIn("not kith's", verdict.stdout)
            answer = json.loads(kith("verify", foreign, "--json").stdout)
            self.assertAlmostEqual(answer["distances"]["largest_share"], 2**-20, delta=2**-22)
            kith("verify", foreign, "--distances", foreign, code=1)

    def test_parts(self):
        result = self.result()
        expected = kith("search", *self.inputs("-k", 4)).stdout
        self.assertEqual(kith("search", "-b", result, "-q", result, "-k", 4).stdout, expected)
        self.assertEqual(kith("search", "-b", f"{result}:10:90", "-q", f"{result}:3:", "-k", 4).stdout,
                         kith("search", "-b", f"{self.at('base.npy')}:10:90", "-q", f"{self.at('queries.npy')}:3:", "-k", 4).stdout)
        kith("convert", self.at("base.npy"), f"{self.at('lone.hdf5')}/vectors", "--quiet")
        self.assertEqual(kith("search", "-b", self.at("lone.hdf5"), "-q", result, "-k", 4).stdout, expected)
        self.assertEqual(kith("graph", "-b", self.at("lone.hdf5"), "-k", 4).stdout, kith("graph", "-b", result, "-k", 4).stdout)


class WithSelf(Cli):
    def test_rows_begin_with_themselves(self):
        for base in ("base.npy", "grid.npy"):
            graph = ("graph", "--base", self.at(base), "-m", "l2", "--quiet")
            kith(*graph, "-k", 4, "--ids", self.at("others.npy"), "--distances", self.at("others_d.npy"))
            kith(*graph, "-k", 5, "--ids", self.at("self.npy"), "--distances", self.at("self_d.npy"), "--include-self")
            others = read_npy(self.at("others.npy"))
            self.assertEqual(read_npy(self.at("self.npy")), [[i, *row] for i, row in enumerate(others)])
            self.assertEqual(read_npy(self.at("self_d.npy")), [[0.0, *row] for row in read_npy(self.at("others_d.npy"))])
            given = ("--base", self.at(base), "--graph", "-m", "l2", "--ids", self.at("self.npy"), "--distances", self.at("self_d.npy"))
            verdict = kith("verify", *given).stdout
            self.assertIn("each row begins with its own point, k counts the others", verdict)
            self.assertIn(f"distances: 0 of {5 * len(others):,} differ", verdict)
            broken = read_npy(self.at("self_d.npy"))
            broken[7][0] = 0.5
            write_npy(self.at("self_d.npy"), broken)
            kith("verify", *given, code=1)
        self.assert_error(kith("search", *self.inputs("-k", 3, "--include-self"), code=2), "--include-self")
        self.assertTrue(json.loads(kith("graph", "--base", self.at("base.npy"), "-k", 3, "--include-self", "--json").stdout)["include_self"])


class Sparse(Cli):
    def load(self, path):
        """What scipy.sparse.load_npz reads."""
        arrays = {}
        with zipfile.ZipFile(path) as archive:
            self.assertIsNone(archive.testzip())
            for name in archive.namelist():
                data = archive.read(name)
                self.assertEqual(data[:8], b"\x93NUMPY\x01\x00")
                length = struct.unpack_from("<H", data, 8)[0]
                self.assertEqual((10 + length) % 64, 0)
                header = ast.literal_eval(data[10 : 10 + length].decode())
                code = {"<i4": "i", "<i8": "q", "<f4": "f", "<f8": "d", "|S3": "3s"}[header["descr"]]
                count = header["shape"][0] if header["shape"] else 1
                body = data[10 + length :]
                arrays[name.removesuffix(".npy")] = list(struct.unpack(f"<{count}{code}" if code != "3s" else code, body))
        self.assertEqual(arrays["format"], [b"csr"])
        return arrays

    def test_graph(self):
        for more, distances in (((), "d.npy"), (("--f64",), "d64.npy")):
            kith("graph", "--base", self.at("base.npy"), "-k", 4, *more, "--csr", self.at("g.npz"), "--ids", self.at("i.npy"),
                 "--distances", self.at(distances), "--quiet")
            csr = self.load(self.at("g.npz"))
            self.assertEqual(csr["shape"], [300, 300])
            self.assertEqual(csr["indptr"], list(range(0, 1201, 4)))
            self.assertEqual(csr["indices"], sum(read_npy(self.at("i.npy")), []))
            self.assertEqual(csr["data"], sum(read_npy(self.at(distances)), []))

    def test_missing_are_left_out(self):
        rows = random_rows(5, 3, 4)
        rows[2][0] = math.nan
        write_npy(self.at("few.npy"), rows)
        done = kith("graph", "--base", self.at("few.npy"), "-k", 4, "--csr", self.at("few.npz"))
        self.assertIn("csr written to", done.stderr)
        csr = self.load(self.at("few.npz"))
        self.assertEqual(csr["indptr"], [0, 3, 6, 6, 9, 12])
        self.assertNotIn(2, csr["indices"])

    def test_names(self):
        self.assert_error(kith("graph", "--base", self.at("base.npy"), "-k", 4, "--csr", self.at("g.csr"), code=2), "--csr", ".npz")
        search = kith("search", *self.inputs("-k", 2, "--csr", self.at("s.npz"), "--quiet"))
        self.assertEqual((search.stdout, self.load(self.at("s.npz"))["shape"]), ("", [20, 300]))


class Overview(Cli):
    def test_info(self):
        text = kith("info").stdout
        self.assertLess(len(text.splitlines()), 76)
        for words in ("kith ", "\ncpu ", "\nmetrics", "l1 manhattan", "sum |q - x|", "\nformats", ".fvecs", "\npaths"):
            self.assertIn(words, text)
        self.assertLess(text.index("cpu"), text.index("metrics"))
        self.assertNotIn("nth-element", text)
        selectors = kith("info", "--selectors").stdout
        for words in ("selectors of the CPU", "  nth-element ", "\n  bits ", "\n      -partitions-256 "):
            self.assertIn(words, selectors)
        # A build without KITH_PAPERS says so.
        papers = "papers       none" not in text
        self.assertEqual(papers, "\n  insertion-queue " in selectors and "\n      +buffer+full " in selectors)
        self.assertEqual(papers, "built without KITH_PAPERS" not in selectors)
        self.assertEqual(papers, "hanak-rule" in text)
        self.assertTrue(any("nth-element" in line for line in json.loads(kith("info", "--json").stdout)["selectors"]))

    def test_plan_costs(self):
        shape = ("-n", "2e4", "-q", "1000", "-d", 32, "-k", 10, "--device", "cpu")
        text = kith("plan", *shape).stdout
        self.assertRegex(text, r"(?m)^time +about .* distances/s \(this machine, measured now with ")
        self.assertRegex(text, r"(?m)^memory +about .*: points and queries 2\.\d+ MiB, ")
        for more in ((), ("-m", "canberra"), ("--formula", "a + fabs(q - x)"), ("-m", "mahalanobis"), ("--type", "u8"),
                     ("-m", "hamming", "--type", "i8")):
            estimate = json.loads(kith("plan", *shape, *more, "--json").stdout)["estimate"]
            self.assertGreater(estimate["seconds"], 0, more)
            self.assertEqual(estimate["bytes"]["results"], 1000 * 10 * 12)
        tiny = json.loads(kith("plan", "-n", 3, "-q", 1, "-d", 1, "-k", 9, "--device", "cpu", "--json").stdout)["estimate"]
        self.assertGreater(tiny["seconds"], 0)

    def test_plan_elsewhere(self):
        there = ("plan", "-n", "1048576", "-q", "8192", "-d", "128", "-k", "10", "--machine", "h100")
        answer = json.loads(kith(*there, "--json").stdout)
        self.assertEqual((answer["machine"], answer["plan"]["path"], answer["plan"]["device"]), ("h100", "gemm-f16", "cuda:0"))
        # Such a search from host memory was recorded at 18.2 ms.
        self.assertAlmostEqual(answer["estimate"]["seconds"], 0.0182, delta=0.003)
        self.assertIn("H100", answer["estimate"]["source"])
        self.assertIn("time         unknown", kith(*there, "-m", "jaccard").stdout)
        # 8,192 x 1,048,576 pairs at 46.9 G/s, and the copy.
        newer = json.loads(kith(*there[:-1], "h200", "-m", "braycurtis", "--json").stdout)
        self.assertEqual(newer["plan"]["path"], "direct-f32")
        self.assertAlmostEqual(newer["estimate"]["seconds"], 0.194, delta=0.01)
        self.assert_error(kith(*there[:-1], "vax", code=2), "machine: 'vax'", "h100", "zen5")


if __name__ == "__main__":
    main(__doc__)
