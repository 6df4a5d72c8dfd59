#!/usr/bin/env python3
"""kith groundtruth: however a job is cut, spread, killed and taken up again, it gives the bytes of one search.

usage: test_cli_groundtruth.py KITH
"""
import json
import os
import shutil
import signal
import struct
import subprocess
import time
import unittest

import cli_support
from cli_support import Cli, kith, main, random_rows, write_npy

# Slow enough to be met at work: some seconds for 300 points.
SLOW = "a + pow(fabs(q - x), 1.5) + exp(sqrt(fabs(q * x)))"


def start(*args, **how):
    how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **how}
    return subprocess.Popen([cli_support.KITH, *map(str, args)], **how)


class Jobs(Cli):
    def setUp(self):
        self.job = self.at("job")
        shutil.rmtree(self.job, ignore_errors=True)

    def truth(self, verb, *args, code=0):
        return kith("groundtruth", verb, self.job, *args, code=code)

    def status(self):
        return json.loads(self.truth("status", "--json").stdout)

    def init(self, *args):
        self.truth("init", *args, "--quiet")

    def run_job(self, *args, code=0):
        return self.truth("run", "--device", "cpu", *args, code=code)

    def init_grid(self):
        """Ties everywhere, in 3 x 4 units."""
        self.init("-b", self.at("grid.npy"), "-q", self.at("grid.npy"), "-k", 9, "-m", "euclidean", "--shard-rows", 50,
                  "--query-rows", 70)
        self.expected = self.searched("search", "-b", self.at("grid.npy"), "-q", self.at("grid.npy"), "-k", 9, "-m",
                                      "euclidean")

    def searched(self, *args):
        kith(*args, "--device", "cpu", "--ids", self.at("i.npy"), "--distances", self.at("d.npy"), "--quiet")
        return self.at("i.npy").read_bytes(), self.at("d.npy").read_bytes()

    def merged(self, *args):
        self.truth("merge", "--ids", self.at("mi.npy"), "--distances", self.at("md.npy"), "--quiet", *args)
        return self.at("mi.npy").read_bytes(), self.at("md.npy").read_bytes()

    def assert_merged(self):
        self.assertEqual(self.merged(), self.expected)

    def units(self):
        return sorted(path for path in (self.job / "units").iterdir() if "." not in path.name)

    def forget(self, unit):
        (self.job / "units" / unit).unlink()


class SameBytes(Jobs):
    def test_any_cut_and_metric(self):
        search = ("--base", self.at("base.npy"), "--queries", self.at("queries.npy"))
        for metric, cut in ((("-m", "sqeuclidean"), (60, 5)), (("-m", "euclidean"), (70, 7)), (("-m", "ip"), (300, 20)),
                            (("-m", "minkowski", "--p", "inf"), (20, 20)), (("-m", "mahalanobis"), (43, 20)),
                            (("-m", "seuclidean"), (150, 19)), (("--formula", "a + fabs(q - x)", "--start", "2"), (80, 9))):
            with self.subTest(metric=metric, cut=cut):
                shutil.rmtree(self.job, ignore_errors=True)
                self.init(*search, "-k", 12, *metric, "--shard-rows", cut[0], "--query-rows", cut[1])
                self.assertIn("unit", self.run_job().stderr)
                expected = self.searched("search", *search, "-k", 12, *metric)
                self.assertEqual(self.merged(), expected)
                expected = self.searched("search", *search, "-k", 12, *metric, "--f64")
                self.assertEqual(self.merged("--f64"), expected)

    def test_graph(self):
        for name in ("base.npy", "grid.npy"):
            shutil.rmtree(self.job, ignore_errors=True)
            self.init("-b", self.at(name), "--graph", "-k", 11, "-m", "l2", "--shard-rows", 64, "--query-rows", 110)
            self.run_job("--quiet")
            self.assertEqual(self.merged(), self.searched("graph", "-b", self.at(name), "-k", 11, "-m", "l2"))

    def test_several_files_and_formats(self):
        write_npy(self.at("all.npy"), self.points + self.grid_of_seven())
        write_npy(self.at("second.npy"), self.grid_of_seven())
        kith("convert", self.at("base.npy"), self.at("first.fvecs"), "--quiet")
        self.init("-b", self.at("first.fvecs"), self.at("second.npy"), "-q", self.at("queries.npy"), "-k", 8,
                  "--shard-rows", 120)
        self.run_job("--quiet")
        search = ("search", "-b", self.at("all.npy"), "-q", self.at("queries.npy"), "-k", 8)
        self.assertEqual(self.merged(), self.searched(*search))
        for name in ("out.truth", "out.hdf5"):
            kith(*search, "--device", "cpu", "--out", self.at("one-" + name), "--quiet")
            self.truth("merge", "--out", self.at(name), "--quiet")
        self.assertEqual(self.at("out.truth").read_bytes(), self.at("one-out.truth").read_bytes())
        for part in ("neighbors", "distances"):
            both = []
            for name in ("out.hdf5", "one-out.hdf5"):
                kith("convert", f"{self.at(name)}/{part}", self.at("part.npy"), "--quiet")
                both.append(self.at("part.npy").read_bytes())
            self.assertEqual(*both)
        kith("verify", self.at("out.hdf5"), "-b", self.at("all.npy"), "-q", self.at("queries.npy"), "--quiet")

    def test_hdf5_names_the_metric(self):
        for metric in ("seuclidean", "mahalanobis"):
            shutil.rmtree(self.job, ignore_errors=True)
            self.init(*self.inputs("-k", 4, "-m", metric, "--shard-rows", 160))
            self.assertTrue(self.status()["metric"]["estimated"])
            self.run_job("--quiet")
            named = self.at(metric + ".hdf5")
            self.truth("merge", "--out", named, "--quiet")
            self.assertIn(f"as {named} says", kith("verify", named, *self.inputs("--device", "cpu")).stdout)

    def grid_of_seven(self):
        return [[float((i >> j) & 1) for j in range(7)] for i in range(100)]

    def test_wide_integers(self):
        write_npy(self.at("wide.npy"), [[i, 2**40 + i % 3] for i in range(60)], "i8")
        search = ("-b", self.at("wide.npy"), "-q", self.at("wide.npy"), "-k", 4)
        self.init(*search, "--shard-rows", 13)
        self.run_job("--quiet")
        self.assertEqual(self.merged(), self.searched("search", *search))

    def test_packed_bits(self):
        write_npy(self.at("bits.npy"), [[i % 251, i * 7 % 256, 3] for i in range(90)], "u1")
        search = ("-b", self.at("bits.npy"), "-q", self.at("bits.npy"), "-k", 5, "-m", "jaccard", "--packed-bits")
        self.init(*search, "--shard-rows", 40)
        self.run_job("--quiet")
        self.assertEqual(self.merged(), self.searched("search", *search))

    def test_refused(self):
        search = ("-b", self.at("base.npy"), "-q", self.at("queries.npy"), "-k", 5)
        write_npy(self.at("narrow.npy"), [[1.0, 2.0]])
        for args, words in (((*search, "--graph"), ("--graph",)), (search[:2] + search[4:], ("--queries", "--graph")),
                            ((*search, "-b", self.at("narrow.npy")), ("narrow.npy", "7 f32", "2 f32")),
                            (("-b", self.at("base.npy"), "-q", self.at("narrow.npy"), "-k", 1), ("--queries", "2", "7")),
                            (("-b", "-", "--graph", "-k", 1), ("--base", "read again")),
                            ((*search, "-m", "haversine"), ("haversine",)), ((*search, "--formula", "a +"), ("formula",))):
            self.assert_error(self.truth("init", *args, code=2), *words)
            self.assertFalse(self.job.exists())
        write_npy(self.at("late.npy"), [[1.0, 2.0]] * 149 + [[1.0, -2.0]])
        self.init("-b", self.at("late.npy"), "-q", self.at("narrow.npy"), "-k", 1, "-m", "hellinger", "--shard-rows", 50)
        self.assert_error(self.run_job("--quiet", code=2), "rows 100 to 149 of", "late.npy", "row 49, column 1 is -2")
        for args, words in (((), ("--out",)), (("--out", self.at("x.txt")), ("x.txt",)),
                            (("--out", self.at("x.gt"), "--f64"), ("f32",)), (("--ids", self.at("x.npy"), "--f64"), ("--f64",)),
                            (("--ids", self.at("late.npy")), ("late.npy", "reads"))):
            self.assert_error(self.truth("merge", *args, code=2), *words)

    def test_the_file_that_is_named(self):
        """Behind a link, ".." is the folder of what it leads to."""
        inner = self.at("far/inner")
        inner.mkdir(parents=True)
        self.at("lnk").symlink_to(inner)
        shutil.copy(self.at("base.npy"), self.at("far/some.npy"))
        shutil.copy(self.at("queries.npy"), self.at("some.npy"))
        self.init("-b", self.at("lnk") / "../some.npy", "-q", f"{self.at('lnk')}/../some.npy:5:7", "-k", 3)
        self.assertEqual([self.status()[part]["rows"] for part in ("base", "queries")], [len(self.points), 7])
        self.run_job("--quiet")
        self.assertEqual(self.merged(), self.searched("search", "-b", self.at("far/some.npy"), "-q",
                                                      f"{self.at('far/some.npy')}:5:7", "-k", 3))

    def test_no_input_is_replaced(self):
        self.job.mkdir()
        base = self.job / "metric.npy"
        shutil.copy(self.at("base.npy"), base)
        search = ("-b", base, "-q", base, "-k", 3, "-m", "seuclidean")
        self.init(*search, "--shard-rows", 99)
        self.assertEqual(base.read_bytes(), self.at("base.npy").read_bytes())
        self.run_job("--quiet")
        self.assertEqual(self.merged(), self.searched("search", *search))

    def test_no_file_of_the_job_is_replaced(self):
        self.init(*self.inputs("-k", 4, "-m", "seuclidean"))
        self.run_job("--quiet")
        files = [path for path in self.job.rglob("*") if path.is_file()]
        self.assertEqual(len(files), 3)
        before = [path.read_bytes() for path in files]
        for number, path in enumerate(files):
            link = self.at(f"link-{number}.npy")
            link.symlink_to(path)
            for name in [link] + [path] * (path.suffix == ".npy"):
                self.assert_error(self.truth("merge", "--ids", name, code=2), str(name), "the job reads")
        self.assertEqual([path.read_bytes() for path in files], before)

    def test_one_of_several_made_at_once(self):
        init = ("groundtruth", "init", self.job, *self.inputs("-k", 4, "-m", "seuclidean", "--json"))
        makers = [start(*init) for _ in range(6)]
        made = []
        for maker in makers:
            out, error = maker.communicate(timeout=120)
            if maker.returncode == 0:
                made.append(json.loads(out)["job"])
            else:
                self.assertIn("is there already", error)
        self.assertEqual(made, [self.status()["job"]])
        self.assertEqual(sorted(path.name for path in self.job.iterdir()),
                         ["claims", "manifest.json", f"metric-{made[0]}.npy", "units"])
        self.run_job("--quiet")
        self.assertEqual(self.merged(), self.searched("search", *self.inputs("-k", 4, "-m", "seuclidean")))
        # Refused before any file is looked at.
        self.assert_error(self.truth("init", "-b", self.at("none.npy"), "--graph", "-k", 1, code=2), "is there already")

    def test_leases(self):
        self.init(*self.inputs("-k", 4))
        for lease in ("inf", "1e300", "86401", "0.4", "nan"):
            self.assert_error(self.run_job("--lease", lease, code=2), "--lease")
        self.assertEqual(self.units(), [])
        self.run_job("--lease", 86400, "--quiet")

    def test_names_that_are_not_utf8(self):
        name = os.fsencode(self.at("b")) + b"\xff.npy"
        shutil.copy(self.at("base.npy"), name)
        self.assert_error(self.truth("init", "-b", os.fsdecode(name), "--graph", "-k", 3, code=2), "--base", "UTF-8")
        self.assertFalse(self.job.exists())

    @unittest.skipIf(os.environ.get("KITH_SANITIZE"), "a sanitizer takes memory of its own")
    def test_memory_is_a_limit(self):
        """On what a worker holds of a base that is larger."""
        rows, cols, limit = 500_000, 256, 96 << 20
        with open(self.at("large.u8bin"), "wb") as file:
            file.write(struct.pack("<II", rows, cols))
            for _ in range(rows * cols >> 20):
                file.write(os.urandom(1 << 20))
            file.write(os.urandom(rows * cols & ((1 << 20) - 1)))
        self.init("-b", self.at("large.u8bin"), "-q", f"{self.at('large.u8bin')}:0:20", "-k", 3, "--memory", limit)
        self.assertGreater(self.status()["shards"], 2)
        worker = start("groundtruth", "run", self.job, "--device", "cpu", "--units", 3, "--quiet")
        _, status, usage = os.wait4(worker.pid, 0)
        worker.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(worker.communicate()[1], "")
        self.at("large.u8bin").unlink()
        self.assertLess(usage.ru_maxrss << 10, limit)

    def at_work(self, *memory):
        """A worker at the first of two units, and the bytes of the shard of each."""
        rows, cols = 2 << 17, 16
        with open(self.at("two.u8bin"), "wb") as file:
            file.write(struct.pack("<II", rows, cols) + os.urandom(rows * cols))
        self.init("-b", self.at("two.u8bin"), "-q", f"{self.at('two.u8bin')}:0:2000", "-k", 3, "--formula", SLOW,
                  "--shard-rows", rows // 2, *memory)
        worker = start("groundtruth", "run", self.job, "--device", "cpu", "-t", 1, "--lease", 0.5, "--quiet")
        self.addCleanup(worker.communicate)
        self.addCleanup(worker.kill)  # a worker that a failed test leaves would write into the next one's job
        while self.status()["pairs_done"] == 0:
            self.assertIsNone(worker.poll())
            time.sleep(0.01)
        return worker, rows * cols // 2

    def bytes_read(self, worker):
        with open(f"/proc/{worker.pid}/io") as file:
            return int(file.readline().split()[1])

    def ends(self, worker):
        self.assertEqual(self.units(), [], "it was too fast")
        worker.terminate()
        worker.communicate(timeout=120)
        self.assertEqual(worker.returncode, 128 + signal.SIGTERM)
        self.assertEqual(list((self.job / "claims").iterdir()), [])

    def test_the_next_shard_is_read_during_a_search(self):
        worker, shard = self.at_work()
        while self.bytes_read(worker) < 2 * shard:
            self.assertIsNone(worker.poll())
            time.sleep(0.01)
        self.ends(worker)

    def test_no_shard_is_read_that_has_no_room(self):
        worker, shard = self.at_work("--memory", "41MiB")
        self.assertLess(shard, self.bytes_read(worker))
        time.sleep(0.2)
        self.assertLess(self.bytes_read(worker), 2 * shard)
        self.ends(worker)

    def test_waiting_is_told(self):
        self.init_grid()
        here = json.loads(self.run_job("--json").stdout)["here"]
        self.assertGreater(here["waited_seconds"], 0)
        self.assertLess(here["waited_seconds"], here["seconds"])
        self.assert_merged()

    def test_more_neighbours_than_points(self):
        search = ("-b", self.at("base.npy"), "-q", self.at("queries.npy"), "-k", 400)
        self.init(*search, "--shard-rows", 90)
        self.run_job("--quiet")
        self.assertEqual(self.merged(), self.searched("search", *search))

    def test_memory_decides_the_cut(self):
        write_npy(self.at("many.npy"), random_rows(3000, 64, 9))
        one = ("init", "-b", self.at("many.npy"), "--graph", "-k", 5, "--json")
        whole = json.loads(self.truth(*one).stdout)
        self.assertEqual((whole["shards"], whole["blocks"]), (1, 1))
        shutil.rmtree(self.job)
        small = json.loads(self.truth(*one, "--memory", "41MiB").stdout)
        self.assertGreater(small["shards"], 1)
        self.assertGreater(small["blocks"], 1)
        shutil.rmtree(self.job)
        self.assert_error(self.truth(*one, "--memory", "1MiB", code=3), "--memory", "at least")


class Workers(Jobs):
    def test_any_number_at_once(self):
        self.init_grid()
        workers = [start("groundtruth", "run", self.job, "--device", "cpu", "-t", 1, "--json") for _ in range(4)]
        reports = []
        for worker in workers:
            out, error = worker.communicate(timeout=120)
            self.assertEqual(worker.returncode, 0, error)
            reports.append(json.loads(out))
        self.assertTrue(all(report["complete"] for report in reports))
        self.assertGreaterEqual(sum(report["here"]["units"] for report in reports), 12)
        self.assert_merged()
        self.assertEqual(list((self.job / "claims").iterdir()), [])

    def test_some_now_some_later(self):
        self.init_grid()
        for done in (5, 10):
            self.run_job("--units", 5, "--quiet")
            self.assertEqual(self.status()["done"], done)
            self.assert_error(self.truth("merge", "--ids", self.at("no.npy"), code=2), f"{12 - done} units of 12 not done")
        self.run_job("--quiet")
        before = [path.read_bytes() for path in self.units()]
        self.run_job("--quiet")
        self.assertEqual([path.read_bytes() for path in self.units()], before)
        self.assert_merged()

    def test_a_unit_is_the_same_wherever_it_is_done(self):
        self.init_grid()
        self.run_job("--quiet", "-t", 2)
        before = {path.name: path.read_bytes() for path in self.units()}
        for name in before:
            self.forget(name)
        self.run_job("--quiet", "-t", 1, "--path", "exact", "--isa", "baseline")
        self.assertEqual({path.name: path.read_bytes() for path in self.units()}, before)

    def test_interrupted(self):
        self.init("-b", self.at("base.npy"), "--graph", "-k", 3, "--formula", SLOW)
        for number in (signal.SIGINT, signal.SIGTERM):
            worker = start("groundtruth", "run", self.job, "--device", "cpu")
            while not self.units() and not list((self.job / "claims").iterdir()):
                self.assertIsNone(worker.poll())
                time.sleep(0.005)
            worker.send_signal(number)
            worker.communicate(timeout=120)
            if not self.units():  # it was fast
                self.assertEqual(worker.returncode, 128 + number)
                self.assertEqual(list((self.job / "claims").iterdir()), [])
            self.assertEqual([path for path in (self.job / "units").iterdir() if ".part-" in path.name], [])


if __name__ == "__main__":
    main(__doc__)
