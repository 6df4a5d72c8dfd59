"""The command line tool from outside: every command, exit codes, JSON, verify's judgement, Ctrl-C.

usage: test_cli.py KITH_BINARY [unittest arguments]
"""
import json
import math
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import time
import unittest

import cli_support
from cli_support import Cli, f32, kith, main, nearest, random_rows, read_npy, read_vecs, write_npy

FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")


def has_papers():
    return "papers       none" not in kith("info").stdout


class Front(Cli):
    def test_version_and_help(self):
        self.assertRegex(kith("--version").stdout, r"^kith \d+\.\d+\.\d+\n$")
        overview = kith("--help").stdout
        for command in ("search", "graph", "select", "distances", "estimate", "match", "verify", "convert", "plan", "calibrate", "info", "demo", "completion"):
            self.assertIn(command, overview)
            self.assertIn("--help", kith(command, "--help").stdout)

    def test_wrong_usage(self):
        self.assert_error(kith(code=2), "expected a command", "search")
        self.assert_error(kith("serach", code=2), "serach", "search")
        self.assert_error(kith("search", code=2), "--base", "kith search --help")
        self.assert_error(kith("search", *self.inputs("-k", "many"), code=2), "many")
        self.assert_error(kith("search", *self.inputs("-k", 3, "--nearest"), code=2), "--nearest")

    def test_bad_input(self):
        missing = self.at("absent.npy")
        self.assert_error(kith("search", "--base", missing, "--queries", missing, "-k", 3, code=2), str(missing))
        self.assert_error(kith("search", *self.inputs("-k", 0), code=2), "k")
        self.assert_error(kith("search", *self.inputs("-k", -4), code=2), "k")
        metric = kith("search", *self.inputs("-k", 3, "--metric", "nearness"), code=2)
        self.assert_error(metric, "nearness", "sqeuclidean", "cosine", "correlation")
        write_npy(self.at("narrow.npy"), [[1.0, 2.0]])
        mismatch = kith("search", "--base", self.at("base.npy"), "--queries", self.at("narrow.npy"), "-k", 1, code=2)
        self.assert_error(mismatch, "7", "2")
        (self.at("cut.fvecs")).write_bytes(struct.pack("<i", 7) + b"1234")
        self.assert_error(kith("graph", "--base", self.at("cut.fvecs"), "-k", 1, code=2), "cut.fvecs")

    def test_bad_options(self):
        for memory in ("lots", "8XB", "-5", "8GiBB", "0"):
            bad = kith("search", *self.inputs("-k", 3, f"--memory={memory}"), code=2)
            self.assert_error(bad, "--memory", memory, "8GiB")
        for memory in ("8GiB", "500MB", "1.5G", "64m", "100000000", "2 GB"):
            kith("search", *self.inputs("-k", 3, "--memory", memory, "--quiet"))
        self.assert_error(kith("search", *self.inputs("-k", 3, "--p", 3), code=2), "--p", "minkowski")
        self.assert_error(kith("search", *self.inputs("-k", 3, "--packed-bits"), code=2), "hamming")
        self.assert_error(kith("search", *self.inputs("-k", 3, "--path", "shortcut"), code=2), "shortcut")
        self.assert_error(kith("search", *self.inputs("-k", 3, "--device", "abacus"), code=2), "abacus")
        self.assert_error(kith("search", *self.inputs("-k", 3, "--out", "x.csv"), code=2), "x.csv", ".hdf5")
        both = self.at("both.npy")
        self.assert_error(kith("search", *self.inputs("-k", 3, "--ids", both, "--distances", both), code=2), "--ids", "--distances")
        self.assert_error(kith("search", *self.inputs("-k", 3, "--start", 1), code=2), "--start", "--formula")

    def test_missing_device(self):
        self.assert_error(kith("search", *self.inputs("-k", 3, "--device", "cuda:63"), code=3))

    def test_unwritable(self):
        nowhere = self.at("absent") / "ids.npy"
        self.assert_error(kith("search", *self.inputs("-k", 3, "--ids", nowhere), code=2), str(nowhere))
        self.assert_error(kith("search", *self.inputs("-k", 3, "--out", self.at("absent") / "x.hdf5"), code=2), "absent")
        if os.path.exists("/dev/full"):
            with open("/dev/full", "w") as full:
                done = subprocess.run([cli_support.KITH, "info"], stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn("standard output", done.stderr)

    def test_info(self):
        self.assertIn("sqeuclidean", kith("info").stdout)
        info = json.loads(kith("info", "--json").stdout)
        self.assertIn("cosine", [metric["name"] for metric in info["metrics"]])
        self.assertIn("npy", info["formats"])
        text = kith("info", "--selectors").stdout
        for selector in ("nth-element", "threshold"):
            self.assertIn(selector, text)
        self.assertIn("heap", [selector["name"] for selector in info["selector_list"] if not selector["on_gpu"]])
        paths = {path["name"]: path for path in info["paths"]}
        self.assertTrue(paths["tree"]["on_cpu"] and not paths["tree"]["graphs_only"])
        if has_papers():
            # A path of graphs, and a distance kernel.
            kato = [(path["graphs_only"], path["takes_selector"]) for path in info["paths"] if path["name"] == "kato"]
            self.assertEqual(kato, [(True, False), (False, True)])
            self.assertTrue(paths["garcia"]["takes_selector"])
            self.assertRegex(kith("info").stdout, r"\n  kato +cpu, gpu +of a graph")

    @unittest.skipIf(os.environ.get("KITH_SANITIZE"), "a sanitizer takes memory of its own")
    def test_plan_says_what_a_tree_takes(self):
        n, points = 500000, self.at("points.u8bin")
        points.write_bytes(struct.pack("<II", n, 3) + random.Random(1).randbytes(3 * n))

        def most_bytes(path):
            """Resident at most, of a process whose exit the system accounts for."""
            process = subprocess.Popen([cli_support.KITH, "graph", "--base", path, "-k", "1", "--quiet", "--ids", self.at("n.npy")])
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(process.returncode, 0)
            return usage.ru_maxrss * 1024

        plan = json.loads(kith("plan", "-n", n, "--graph", "-d", 3, "-k", 1, "--type", "u8", "--device", "cpu", "--json").stdout)
        self.assertEqual(plan["plan"]["path"], "tree")
        self.assertGreater(plan["estimate"]["bytes"]["total"], most_bytes(points) - most_bytes(self.at("grid.npy")))
        text = kith("plan", "-n", n, "--graph", "-d", 3, "-k", 1, "--device", "cpu").stdout
        self.assertIn("the tree 42.0 MiB", text)

    def test_plan(self):
        shape = ("-n", 1000000, "-q", 100, "-d", 128, "-k", 10, "--device", "cpu")
        self.assertIn("cpu", kith("plan", *shape).stdout)
        plan = json.loads(kith("plan", *shape, "--metric", "cosine", "--type", "u8", "--json").stdout)
        self.assertEqual(plan["shape"], {"n": 1000000, "q": 100, "d": 128, "k": 10, "type": "u8", "graph": False})
        self.assertEqual(plan["plan"]["device"], "cpu")
        self.assertEqual(plan["metric"]["name"], "cosine")
        self.assertEqual(json.loads(kith("plan", "-n", 500, "--graph", "-d", 2, "-k", 1, "--json").stdout)["shape"]["q"], 500)
        # What directions save nobody knows before.
        self.assertIn("by all coordinates", kith("plan", "-n", 60000, "-q", 10000, "-d", 784, "-k", 10, "--device", "cpu",
                                                 "--path", "projected").stdout)
        several = ("plan", "-n", "1e6", "--graph", "-d", 128, "-k", 10, "--machine", "h100")
        self.assertIn("busiest", kith(*several).stdout)
        self.assertEqual([s["devices"] for s in json.loads(kith(*several, "--json").stdout)["schedules"]], list(range(1, 9)))
        self.assert_error(kith("plan", "-n", 10, "-q", 10, "-d", 0, "-k", 1, code=2))
        for d, element in ((2**61, "f32"), (2**62, "u8"), (2**60, "f64")):
            self.assert_error(kith("plan", "-n", 10, "-q", 10, "-d", d, "-k", 1, "--type", element, code=2), "d: ", str(d))
        self.assert_error(kith("plan", "-n", 10, "-q", 10, "-d", 4, "-k", 1, "--type", "f20", code=2), "f20", "f32")
        # Paths of one GPU have the schedule of one; that of a graph in grids says so of itself.
        if not has_papers():
            self.assert_error(kith(*several, "--path", "kato", code=2), "kato", "KITH_PAPERS")
            return
        for path in ("garcia+insertion-sort", "hanak-fused", "hanak-rule"):
            said = json.loads(kith(*several, "--path", path, "--json").stdout)
            self.assertEqual([s["devices"] for s in said["schedules"]], [1], path)
        said = json.loads(kith(*several, "--path", "kato", "--json").stdout)
        self.assertEqual((said["plan"]["path"], said["plan"]["selector"], len(said["schedules"])), ("kato", "", 8))

    def test_plan_select(self):
        shape = ("--select", "--rows", 100, "--cols", 100000, "-k", 10)
        self.assertIn("vector", kith("plan", *shape, "--device", "cpu").stdout)
        plan = json.loads(kith("plan", *shape, "--device", "cpu", "--selector", "heap", "--largest", "--order", "ascending",
                               "--type", "f64", "--json").stdout)
        self.assertEqual(plan["shape"], {"rows": 100, "cols": 100000, "k": 10, "type": "f64"})
        self.assertEqual((plan["plan"]["selector"], plan["largest"], plan["order"]), ("heap", True, "ascending"))
        self.assertIn("forced", plan["explain"])
        self.assert_error(kith("plan", "--select", "--rows", 3, "-k", 1, code=2), "--cols")
        self.assert_error(kith("plan", "--select", "--rows", 3, "--cols", 3, "-k", 4, code=2), "3 columns")
        self.assert_error(kith("plan", *shape, "-n", 3, code=2), "--n", "--select")
        self.assert_error(kith("plan", *shape, "-m", "cosine", code=2), "--metric", "--select")
        self.assert_error(kith("plan", *shape, "--order", "up", code=2), "up", "ascending")
        self.assert_error(kith("plan", *shape, "--type", "u8", code=2), "u8")
        self.assert_error(kith("plan", "-k", 3, code=2), "--n", "--select")
        self.assert_error(kith("plan", "-n", 9, "-q", 9, "-k", 3, code=2), "--d")
        self.assert_error(kith("plan", "-n", 9, "-q", 9, "-d", 9, "-k", 3, "--largest", code=2), "--select")

    def test_completion(self):
        for shell in ("bash", "zsh", "fish"):
            text = kith("completion", shell).stdout
            for word in ("search", "verify", "inverse-covariance", "hellinger", "completion"):
                self.assertIn(word, text, shell)
            interpreter = shutil.which(shell)
            if interpreter:
                check = subprocess.run([interpreter, "-n"], input=text, capture_output=True, text=True)
                self.assertEqual(check.returncode, 0, check.stderr)
        self.assert_error(kith("completion", "tcsh", code=2), "tcsh", "bash")

    def complete(self, *words):
        script = kith("completion", "bash").stdout + (
            f"COMP_WORDS=({' '.join(map(repr, words))}); COMP_CWORD={len(words) - 1}; _kith; echo \"${{COMPREPLY[@]}}\""
        )
        return subprocess.run(["bash", "-c", script], capture_output=True, text=True).stdout.split()

    @unittest.skipUnless(shutil.which("bash"), "no bash")
    def test_completion_works(self):
        self.assertEqual(self.complete("kith", "gr"), ["graph", "groundtruth"])
        self.assertIn("status", self.complete("kith", "groundtruth", "st"))
        self.assertEqual(self.complete("kith", "groundtruth", "merge", "--dis"), ["--distances"])
        self.assertEqual(self.complete("kith", "search", "--metric", "hel"), ["hellinger"])
        self.assertEqual(self.complete("kith", "search", "--que"), ["--queries"])
        self.assertEqual(self.complete("kith", "completion", "z"), ["zsh"])
        self.assertIn(str(self.at("base.npy")), self.complete("kith", "graph", "--base", str(self.at("ba"))))


class Search(Cli):
    def test_table(self):
        result = kith("search", *self.inputs("-k", 3))
        ids, _ = nearest(self.points, self.queries[0], 3)
        first = result.stdout.splitlines()[1].split()
        self.assertEqual(first[0], "0")
        self.assertEqual(int(first[1]), ids[0])
        self.assertIn("distances/s", result.stderr)
        self.assertEqual(kith("search", *self.inputs("-k", 3, "--quiet")).stderr, "")

    def test_files(self):
        ids, distances = self.at("ids.npy"), self.at("distances.fvecs")
        done = kith("search", *self.inputs("-k", 5, "--ids", ids, "--distances", distances))
        self.assertEqual(done.stdout, "")
        for query, row, values in zip(self.queries, read_npy(ids), read_vecs(distances, "f")):
            expected, exact = nearest(self.points, query, 5)
            self.assertEqual(row, expected)
            for value, right in zip(values, exact):
                self.assertAlmostEqual(value, right, delta=1e-5 * right)
        kith("search", *self.inputs("-k", 5, "--ids", self.at("ids.ivecs"), "--quiet"))
        self.assertEqual(read_vecs(self.at("ids.ivecs"), "i"), read_npy(ids))
        kith("search", *self.inputs("-k", 5, "--f64", "--distances", self.at("distances64.npy"), "--quiet"))
        wide = read_npy(self.at("distances64.npy"))
        self.assertEqual([[f32(x) for x in row] for row in wide], read_vecs(distances, "f"))
        self.assertEqual([name for name in os.listdir(self.folder) if "tmp" in name], [])

    def test_json(self):
        answer = json.loads(kith("search", *self.inputs("-k", 4, "--json", "--explain")).stdout)
        self.assertEqual(answer["shape"], {"n": 300, "q": 20, "d": 7, "k": 4, "type": "f32", "graph": False})
        self.assertEqual(answer["neighbors"]["ids"][3], nearest(self.points, self.queries[3], 4)[0])
        self.assertEqual(answer["neighbors"]["rows"], 10)
        report = answer["report"]
        self.assertEqual(report["certified"] + report["retried"] + report["scanned"], 20)
        for key in ("plan", "metric", "times", "files", "explain"):
            self.assertIn(key, answer)
        written = json.loads(kith("search", *self.inputs("-k", 4, "--json", "--ids", self.at("j.npy"))).stdout)
        self.assertEqual(written["files"], {"ids": str(self.at("j.npy"))})
        self.assertNotIn("neighbors", written)

    def test_missing_neighbours(self):
        write_npy(self.at("two.npy"), self.points[:2])
        two = ("--base", self.at("two.npy"), "--queries", self.at("queries.npy"), "-k", 3)
        answer = json.loads(kith("search", *two, "--json").stdout)
        self.assertEqual(answer["neighbors"]["ids"][0][2], -1)
        self.assertIsNone(answer["neighbors"]["distances"][0][2])
        self.assertIn("none", kith("search", *two).stdout)

    def test_explain(self):
        text = kith("search", *self.inputs("-k", 4, "--explain")).stdout
        self.assertIn("path", text)
        self.assertIn("workspace", text)
        text = kith("search", *self.inputs("-k", 4, "--explain", "--device", "cpu")).stdout
        self.assertRegex(text, r"attempts      1  \S+")
        self.assertRegex(text, r"ran           1  \S+ +20 queries, 20 certified; ")

    def test_plan_and_trace(self):
        answer = json.loads(kith("search", *self.inputs("-k", 4, "--json", "--path", "noop", "--device", "cpu")).stdout)
        planned = [each["strategy"] for each in answer["plan"]["attempts"]]
        ran = answer["report"]["trace"]
        self.assertEqual((planned[0], planned[-1], ran[0]["strategy"]), ("noop", "exact", "noop"))
        self.assertEqual((ran[0]["queries"], ran[0]["certified"], ran[0]["left"]), (20, 0, 20))
        self.assertEqual(sum(entry["certified"] for entry in ran), 20)
        for entry in ran:
            self.assertIn(entry["strategy"], planned)
        self.assertIn("noop", kith("info").stdout)

    def test_row_range(self):
        part = json.loads(
            kith("search", "--base", f"{self.at('base.npy')}:100:50", "--queries", f"{self.at('queries.npy')}:5:", "-k", 3,
                 "--json").stdout
        )
        self.assertEqual((part["shape"]["n"], part["shape"]["q"]), (50, 15))
        self.assertEqual(part["neighbors"]["ids"][0], nearest(self.points[100:150], self.queries[5], 3)[0])

    def test_metrics(self):
        def ids(*more):
            return json.loads(kith("search", *self.inputs("-k", 6, "--json", *more)).stdout)["neighbors"]["ids"]

        self.assertEqual(ids("--formula", "a + fabs(q - x)"), ids("--metric", "l1"))
        self.assertEqual(ids("--formula", "a + fabs(q - x)", "--start", -1), ids("--metric", "cityblock"))
        self.assertEqual(ids("--metric", "minkowski", "--p", "inf"), ids("--metric", "chebyshev"))
        self.assertEqual(ids("--metric", "lp", "--p", 1), ids("--metric", "l1"))
        identity = [[float(i == j) for j in range(7)] for i in range(7)]
        write_npy(self.at("identity.npy"), identity, "f8")
        self.assertEqual(ids("-m", "mahalanobis", "--inverse-covariance", self.at("identity.npy")), ids("-m", "l2"))
        self.assert_error(kith("search", *self.inputs("-k", 1, "--formula", "a + nonsense(q"), code=2), "formula")

    def test_graph(self):
        answer = json.loads(kith("graph", "--base", self.at("base.npy"), "-k", 3, "--json").stdout)
        self.assertTrue(answer["shape"]["graph"])
        for i in range(10):
            self.assertEqual(answer["neighbors"]["ids"][i], nearest(self.points, self.points[i], 3, skip=i)[0])
        kith("graph", "--base", self.at("grid.npy"), "-k", 5, "--ids", self.at("graph.npy"), "--quiet")
        kith("verify", "--base", self.at("grid.npy"), "--graph", "--ids", self.at("graph.npy"))

    def test_select(self):
        values = [[3.0, 1.0, math.nan, 1.0, -2.0], [0.0, 5.0, 5.0, 4.0, math.inf]]
        write_npy(self.at("values.npy"), values)
        smallest = json.loads(kith("select", "--distances", self.at("values.npy"), "-k", 3, "--json").stdout)
        self.assertEqual(smallest["neighbors"]["ids"], [[4, 1, 3], [0, 3, 1]])
        largest = json.loads(kith("select", "--distances", self.at("values.npy"), "-k", 2, "--largest", "--json").stdout)
        self.assertEqual(largest["neighbors"]["ids"], [[0, 1], [4, 1]])
        kith("select", "--distances", self.at("values.npy"), "-k", 2, "--unsorted", "--ids", self.at("columns.ivecs"),
             "--values", self.at("kept.npy"))
        self.assertEqual([sorted(row) for row in read_vecs(self.at("columns.ivecs"), "i")], [[1, 4], [0, 3]])
        self.assertEqual(sorted(read_npy(self.at("kept.npy"))[0]), [-2.0, 1.0])
        chosen = ("select", "--distances", self.at("values.npy"), "-k", 3, "--device", "cpu", "--order", "ascending")
        for selector in ("vector", "nth-element", "heap", "insertion"):
            forced = json.loads(kith(*chosen, "--selector", selector, "--json").stdout)
            self.assertEqual(forced["neighbors"]["ids"], smallest["neighbors"]["ids"])
            self.assertEqual((forced["plan"]["selector"], forced["order"]), (selector, "ascending"))
            self.assertEqual(forced["report"]["selector"], selector)
            self.assertEqual(forced["times"]["device_seconds"], 0)
        explained = kith(*chosen, "--selector", "heap", "--explain").stdout
        self.assertIn("selector     heap", explained)
        self.assertIn("(-2)", explained)
        self.assert_error(kith(*chosen, "--selector", "threshold", code=2), "threshold", "GPU only", "heap")
        self.assert_error(kith(*chosen, "--selector", "sieve", code=2), "sieve", "nth-element")
        self.assertIn("(-2)", kith("select", "--distances", self.at("values.npy"), "-k", 1).stdout)
        self.assert_error(kith("select", "--distances", self.at("values.npy"), "-k", 6, code=2), "6", "5")
        self.assert_error(kith("select", "--distances", self.at("values.npy"), "-k", 1, "--selector", "sieve", code=2), "sieve")


    def test_distances(self):
        write_npy(self.at("few.npy"), [[0.0, 0.0], [3.0, 4.0], [math.nan, 0.0]])
        write_npy(self.at("asked.npy"), [[0.0, 0.0], [6.0, 8.0]])
        files = ("distances", "-b", self.at("few.npy"), "-q", self.at("asked.npy"))
        kith(*files, "-m", "euclidean", "-o", self.at("d.npy"))
        rows = read_npy(self.at("d.npy"))
        self.assertEqual([row[:2] for row in rows], [[0, 5], [10, 5]])
        self.assertTrue(all(math.isnan(row[2]) for row in rows))
        said = json.loads(kith("distances", "-b", self.at("few.npy"), "-o", self.at("own.npy"), "--f64", "--json").stdout)
        self.assertEqual((said["shape"]["q"], said["report"]["path"]), (3, "exact"))
        self.assertEqual(read_npy(self.at("own.npy"))[1][:2], [25, 0])
        self.assert_error(kith(*files, code=2), "--out")
        self.assert_error(kith(*files, "-o", self.at("asked.npy"), code=2), "--queries")
        self.assert_error(kith(*files, "-o", self.at("d.npy"), "--path", "gemm-f32", code=2), "gemm-f32", "exact")
        self.assert_error(kith(*files, "-o", self.at("d.npy"), "--device", "cpu", "--path", "garcia", code=2), "'garcia'")
        self.assertIn("garcia", kith("distances", "--help").stdout)
        self.assert_error(kith(*files, "-o", self.at("d.ivecs"), code=2), "ivecs")
        self.assert_error(kith(*files, "-o", self.at("d.npy"), "-m", "haversin", code=2), "haversin")


    def test_match(self):
        write_npy(self.at("left.npy"), [[0.0, 0.0], [5.0, 5.0], [7.0, 7.0]])
        write_npy(self.at("right.npy"), [[5.0, 6.0], [9.0, 9.0], [0.0, 1.0]])
        files = ("match", self.at("left.npy"), self.at("right.npy"))
        self.assertIn("2 (1)", kith(*files).stdout)
        kith(*files, "--ratio", 0.5, "--mutual", "-o", self.at("pairs.npy"), "--distances", self.at("far.npy"), "--quiet")
        self.assertEqual(read_npy(self.at("pairs.npy")), [[0, 2], [1, 0]])
        self.assertEqual(read_npy(self.at("far.npy")), [[1], [1]])
        self.assertEqual(json.loads(kith(*files, "--ratio", 0.5, "--json").stdout)["matches"], 2)
        self.assert_error(kith(*files, "--ratio", 2, code=2), "ratio", "2")
        self.assert_error(kith(*files, "-o", self.at("left.npy"), code=2), "left.npy")

    def test_estimate(self):
        write_npy(self.at("line.npy"), [[float(i)] for i in range(100)])
        write_npy(self.at("wave.npy"), [[math.sin(i)] for i in range(100)])
        self.assertIn("nats", kith("estimate", "entropy", "-x", self.at("line.npy")).stdout)
        said = json.loads(kith("estimate", "mutual-information", "-x", self.at("line.npy"), "-y", self.at("wave.npy"),
                               "-k", 4, "--json").stdout)
        self.assertEqual((said["of"], said["samples"], said["k"]), ("mutual-information", 100, 4))
        kith("estimate", "divergence", "-x", self.at("line.npy"), "-y", self.at("wave.npy"), "--form", "ball")
        kith("estimate", "transfer-entropy", "--source", self.at("line.npy"), "--target", self.at("wave.npy"), "--source-lags", 2)
        self.assert_error(kith("estimate", "entropy", "-x", self.at("line.npy"), "-m", "cosine", code=2), "cosine")
        self.assert_error(kith("estimate", "divergence", "-x", self.at("line.npy"), code=2), "--y")
        self.assert_error(kith("estimate", "divergence", "-x", self.at("line.npy"), "-y", self.at("wave.npy"), "--form", "new",
                               code=2), "new", "nearest")
        self.assert_error(kith("estimate", code=2), "entropy")

    def test_error_of_an_estimate(self):
        write_npy(self.at("wave.npy"), [[math.sin(i * i)] for i in range(200)])
        command = ["estimate", "entropy", "-x", self.at("wave.npy"), "--json"]
        self.assertNotIn("error", json.loads(kith(*command).stdout))
        self.assertNotIn("error", kith(*command[:-1]).stdout)
        once, again, other, fewer = (json.loads(kith(*command, "--bootstrap", 3, *more).stdout)["error"]
                                     for more in ([], ["--seed", 0], ["--seed", 1], ["--parts", 4, "--stretch", 5]))
        self.assertEqual(once, again)
        self.assertGreater(once, 0)
        self.assertEqual(len({once, other, fewer}), 3)
        self.assertIn("error", kith(*command[:-1], "--bootstrap", 3).stdout)
        self.assert_error(kith(*command, "--bootstrap", 1, "--parts", 100, code=2), "bootstrap", "100 parts")
        self.assert_error(kith(*command, "--bootstrap", "few", code=2), "few")


class Verify(Cli):
    K = 6

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.ids = [nearest(cls.points, query, cls.K)[0] for query in cls.queries]

    def verify(self, ids, *more, code=0, letter="i8"):
        write_npy(self.at("listed.npy"), ids, letter)
        return kith("verify", *self.inputs("--ids", self.at("listed.npy"), *more), code=code).stdout

    def test_exact(self):
        self.assertTrue(self.verify(self.ids).startswith("exact: recall 1;"))
        self.verify(self.ids, letter="i4")
        self.verify(self.ids, "--sample", 3)
        self.verify(self.ids, "-k", 2)

    def test_formats(self):
        search = self.inputs("-k", self.K, "--quiet")
        for name in ("r.hdf5", "r.truth", "r.bin"):
            kith("search", *search, "--out", self.at(name))
            both = ("--ids", self.at(name), "--distances", self.at(name))
            self.assertIn("0 of 120 differ", kith("verify", *self.inputs(*both)).stdout)
        kith("verify", *self.inputs("--ids", f"{self.at('r.hdf5')}/neighbors"))
        kith("search", *search, "--out", self.at("full.hdf5"), "--with-data")
        full = self.at("full.hdf5")
        kith("verify", "--base", f"{full}/train", "--queries", f"{full}/test", "--ids", full)

    def test_tampered(self):
        ids = [row[:] for row in self.ids]
        far = nearest(self.points, self.queries[7], 300)[0][-1]
        ids[7][2] = far
        ids[11][0] = -1
        text = self.verify(ids, code=1)
        self.assertIn("NOT exact", text)
        self.assertIn("first wrong row: 7", text)
        self.assertRegex(text, rf"3 +{far} +\S+ +{self.ids[7][2]} ")
        answer = json.loads(self.verify(ids, "--json", code=1))
        self.assertEqual((answer["exact"], answer["rows_wrong"], answer["first_wrong"]["row"]), (False, 2, 7))
        self.assertAlmostEqual(answer["recall"], 118 / 120)
        self.assertEqual(answer["first_wrong"]["expected_ids"], self.ids[7])
        self.verify(ids, "-k", 2, "--sample", 10)  # rows 0, 2, 4, ...: the faults are elsewhere

    def test_broken_rows(self):
        for place, id, word in ((1, 300, "300"), (1, -2, "-2"), (1, self.ids[0][0], "twice")):
            ids = [row[:] for row in self.ids]
            ids[0][place] = id
            self.assertIn(word, self.verify(ids, code=1))
        swapped = [row[:] for row in self.ids]
        swapped[4][0], swapped[4][1] = swapped[4][1], swapped[4][0]
        text = self.verify(swapped, code=1)
        self.assertIn("order", text)
        self.assertIn("recall 1;", text)

    def test_not_comparable(self):
        def refused(ids, *more, letter="i8"):
            write_npy(self.at("listed.npy"), ids, letter)
            return kith("verify", *self.inputs("--ids", self.at("listed.npy"), *more), code=2)

        self.assert_error(refused(self.ids[:-1]), "19", "20")
        self.assert_error(refused(self.ids, "-k", 7), "7", "6")
        self.assert_error(refused([[float(x) for x in row] for row in self.ids], letter="f4"), "f32")
        self.assert_error(kith("verify", "--base", self.at("base.npy"), "--ids", self.at("listed.npy"), code=2), "--queries")

        # Both in one file: the message says which is which.
        write_npy(self.at("narrow.npy"), [[1.0, 2.0]] * len(self.ids))
        write_npy(self.at("ids.npy"), self.ids, "i8")
        kith("convert", self.at("ids.npy"), f"{self.at('narrow.hdf5')}/neighbors", "--quiet")
        kith("convert", self.at("narrow.npy"), f"{self.at('narrow.hdf5')}/distances", "--quiet")
        file = self.at("narrow.hdf5")
        mixed = kith("verify", *self.inputs("--ids", file, "--distances", file), code=2)
        self.assert_error(mixed, f"the distances in {file} are 20 x 2, and the ids in {file} are 20 x 6")

    def test_ties(self):
        base = ("--base", self.at("grid.npy"), "--queries", self.at("grid.npy"))
        rows = [nearest(self.grid, query, 4) for query in self.grid]
        # The last of the equally distant points instead of the first, nearest still first.
        ids = []
        for query in self.grid:
            ranked = sorted((sum((a - b) ** 2 for a, b in zip(query, p)), -i) for i, p in enumerate(self.grid))
            ids.append([-i for _, i in ranked[:4]])
        self.assertNotEqual(ids, [row for row, _ in rows])
        write_npy(self.at("ties.npy"), ids, "i8")
        write_npy(self.at("tie-distances.npy"), [distances for _, distances in rows])
        done = kith("verify", *base, "--ids", self.at("ties.npy"), "--distances", self.at("tie-distances.npy"))
        self.assertIn("exact up to ties listed in another order", done.stdout)
        answer = json.loads(kith("verify", *base, "--ids", self.at("ties.npy"), "--json").stdout)
        self.assertTrue(answer["exact"])
        self.assertGreater(answer["rows_tied"], 0)
        self.assertEqual((answer["rows_wrong"], answer["recall"]), (0, 1))
        # An estimated covariance depends on all points; the points listed must not be taken for all there are.
        kith("search", *base, "-k", 4, "-m", "mahalanobis", "--ids", self.at("maha.npy"), "--quiet")
        listed = read_npy(self.at("maha.npy"))
        twin = next(i for i in range(len(self.grid)) if i != listed[0][0] and self.grid[i] == self.grid[listed[0][0]])
        listed[0] = [twin] + [i if i != twin else listed[0][0] for i in listed[0][1:]]
        write_npy(self.at("maha.npy"), listed, "i8")
        kith("verify", *base, "-m", "mahalanobis", "--ids", self.at("maha.npy"))

    def test_distances(self):
        search = self.inputs("-k", self.K, "--metric", "cosine", "--quiet")
        kith("search", *search, "--ids", self.at("cos.npy"), "--distances", self.at("cosd.npy"))
        files = ("--metric", "cosine", "--ids", self.at("cos.npy"), "--distances")
        kith("verify", *self.inputs(*files, self.at("cosd.npy")))
        distances = read_npy(self.at("cosd.npy"))
        bits = struct.unpack("<I", struct.pack("<f", distances[3][3]))[0] + 3
        distances[3][3] = struct.unpack("<f", struct.pack("<I", bits))[0]
        write_npy(self.at("cosd.npy"), distances)
        answer = json.loads(kith("verify", *self.inputs(*files, self.at("cosd.npy"), "--json"), code=1).stdout)
        self.assertEqual(answer["distances"], {"compared": 120, "different": 1, "largest_ulp": 3})
        self.assertEqual((answer["rows_wrong"], answer["first_wrong"]["row"], answer["first_wrong"]["place"]), (1, 3, 3))
        write_npy(self.at("short.npy"), [row[:2] for row in distances])
        self.assert_error(kith("verify", *self.inputs(*files, self.at("short.npy")), code=2), "20 x 2", "20 x 6")

    def test_largest_first(self):
        kith("search", *self.inputs("-k", 3, "-m", "ip", "--ids", self.at("ip.npy"), "--quiet"))
        kith("verify", *self.inputs("-m", "ip", "--ids", self.at("ip.npy")))
        kith("verify", *self.inputs("-m", "l2", "--ids", self.at("ip.npy")), code=1)


class Convert(Cli):
    def test_round_trips(self):
        source = self.at("base.npy")
        previous = source
        for name in ("c.fvecs", "c.fbin", "c.hdf5", "c.idx", "d.npy"):
            kith("convert", previous, self.at(name))
            previous = self.at(name) if name != "c.hdf5" else f"{self.at(name)}/train"
        self.assertEqual(read_npy(self.at("d.npy")), self.points)
        self.assertIn("300 x 7 f32", kith("convert", source, self.at("e.npy")).stderr)
        kith("convert", f"{source}:10:3", self.at("part"), "--to", "fvecs", "--quiet")
        kith("convert", self.at("part"), self.at("part.npy"), "--from", "fvecs", "--quiet")
        self.assertEqual(read_npy(self.at("part.npy")), self.points[10:13])

    def test_types(self):
        write_npy(self.at("bytes.npy"), [[0, 7], [255, 3]], "u1")
        kith("convert", self.at("bytes.npy"), self.at("bytes.fvecs"))
        self.assertEqual(read_vecs(self.at("bytes.fvecs"), "f"), [[0, 7], [255, 3]])
        kith("convert", self.at("bytes.fvecs"), self.at("back.npy"), "--type", "u8")
        self.assertEqual(read_npy(self.at("back.npy")), [[0, 7], [255, 3]])
        write_npy(self.at("ids64.npy"), [[1, 2**31]], "i8")
        self.assert_error(kith("convert", self.at("ids64.npy"), self.at("ids.ivecs"), code=2), "row 0, column 1", "--lossy")
        self.assertFalse(self.at("ids.ivecs").exists())
        write_npy(self.at("ids64.npy"), [[1, 2**31 - 1]], "i8")
        kith("convert", self.at("ids64.npy"), self.at("ids.ivecs"))
        self.assertEqual(read_vecs(self.at("ids.ivecs"), "i"), [[1, 2**31 - 1]])
        self.assert_error(kith("convert", self.at("ids64.npy"), self.at("x.npy"), "--type", "f20", code=2), "f20", "f32")

    def test_rounding(self):
        # Halves exactly between two f16 go to the even one; 65520 and beyond are infinite; f16's least denormal.
        values = [1 + 2**-11, 1 + 3 * 2**-11, 65519.0, 65520.0, -(2.0**-24), 2.0**-26, 0.1, math.inf]
        write_npy(self.at("fine.npy"), [values], "f8")
        self.assert_error(kith("convert", self.at("fine.npy"), self.at("h.hbin"), code=2), "row 0, column 0", "f16")
        kith("convert", self.at("fine.npy"), self.at("h.hbin"), "--lossy")
        kith("convert", self.at("h.hbin"), self.at("h.npy"), "--type", "f64")
        expected = [struct.unpack("e", struct.pack("e", x))[0] if x < 65520 else math.inf for x in values]
        self.assertEqual(read_npy(self.at("h.npy")), [expected])
        write_npy(self.at("wild.npy"), [[-3.0, 300.0, 2.5, 3.5]])
        kith("convert", self.at("wild.npy"), self.at("wild.bvecs"), "--lossy")
        kith("convert", self.at("wild.bvecs"), self.at("tame.npy"))
        self.assertEqual(read_npy(self.at("tame.npy")), [[0, 255, 2, 4]])

    def test_errors(self):
        self.assert_error(kith("convert", self.at("absent.npy"), self.at("x.npy"), code=2), "absent.npy")
        self.assert_error(kith("convert", self.at("base.npy"), self.at("x.unknown"), code=2), "x.unknown")
        self.assert_error(kith("convert", self.at("base.npy"), code=2), "OUT")


class Interrupt(Cli):
    def test_ctrl_c(self):
        write_npy(self.at("many.npy"), random_rows(12000, 32, 5))
        ids = self.at("never.npy")
        before = sorted(os.listdir(self.folder))
        process = subprocess.Popen(
            # This would take half a minute.
            [cli_support.KITH, "search", "--base", self.at("many.npy"), "--queries", self.at("many.npy"), "-k", "10", "--device", "cpu",
             "--formula", "a + pow(fabs(q - x), 1.5) + exp(sqrt(fabs(q * x)))", "--threads", "1", "--ids", ids],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        time.sleep(1.0)
        self.assertIsNone(process.poll(), "the search was over before the signal")
        process.send_signal(signal.SIGINT)
        sent = time.monotonic()
        output, errors = process.communicate(timeout=30)
        self.assertLess(time.monotonic() - sent, 10)
        self.assertEqual(process.returncode, 130, errors)
        self.assertEqual(output, "")
        self.assertRegex(errors, r"^kith: cancelled\n$")
        self.assertEqual(sorted(os.listdir(self.folder)), before)


class Demo(Cli):
    @unittest.skipUnless(FASHION.is_dir(), "the package dataset-fashion-mnist is not installed")
    def test_demo(self):
        out = self.at("demo")
        text = kith("demo", "--limit", 60, "--out-dir", out, "--device", "cpu").stdout
        for words in ("60,000", "k = 1 ", "k = 100", "distances/s", "filter", "contact-sheet.png"):
            self.assertIn(words, text)
        sheet = (out / "contact-sheet.png").read_bytes()
        self.assertEqual(sheet[:8], b"\x89PNG\r\n\x1a\n")
        width, height = struct.unpack(">II", sheet[16:24])
        self.assertGreater(width, 700)
        self.assertGreater(height, 700)
        self.assertEqual(sorted(path.name for path in out.iterdir()), ["contact-sheet.png", "fashion-mnist.hdf5"])
        result = out / "fashion-mnist.hdf5"
        kith("verify", "--base", f"{result}/train", "--queries", f"{result}/test", "--metric", "l2", "--ids", result,
             "--distances", result, "--sample", 5)

    def test_missing_data(self):
        missing = kith("demo", "--data", self.at("nothing"), "--out-dir", self.at("d"), code=2)
        self.assertIn("dataset-fashion-mnist", missing.stderr)
        self.assertEqual(missing.stderr.count("\n"), 1)


if __name__ == "__main__":
    main(__doc__)
