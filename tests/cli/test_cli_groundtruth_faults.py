#!/usr/bin/env python3
"""kith groundtruth under faults: kills, full disks, damaged and changed files, wrong clocks, claims of the dead.

Nothing is lost, nothing is wrong, and each fault has a message. KITH_KILLS: how many workers are killed (default 6).
usage: test_cli_groundtruth_faults.py KITH
"""
import contextlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import time
import unittest

import cli_support
from cli_support import main, random_rows, write_npy
from test_cli_groundtruth import SLOW, Jobs, start

KILLS = int(os.environ.get("KITH_KILLS", "6"))
LONG = 1000  # seconds of a lease that does not end within a test


def mounted(folder, *options):
    """Mounts a small file system of its own on `folder`; false where that is not permitted."""
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join(options), "kith-test", folder], capture_output=True)
    return done.returncode == 0


@contextlib.contextmanager
def small_disk(folder, size):
    folder.mkdir()
    if not mounted(folder, f"size={size}"):
        folder.rmdir()
        raise unittest.SkipTest("no file system can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)
        folder.rmdir()


class Faults(Jobs):
    def names(self, part):
        return sorted(path.name for path in (self.job / part).iterdir())

    def claim(self, unit, age=0.0, lease=LONG, **process):
        """A claim of another worker, written `age` seconds ago."""
        process = {"host": "elsewhere", "boot": "b", "namespace": "n", "pid": 1, "started": 1, **process}
        path = self.job / "claims" / unit
        path.write_text(json.dumps({**process, "lease": lease, "share": 0.5, "pairs": 100.0, "seconds": 2.0}))
        now = time.time()
        os.utime(path, (now - age, now - age))
        return path


class Kills(Faults):
    def test_at_random_moments(self):
        self.init("-b", self.at("base.npy"), "-q", self.at("queries.npy"), "-k", 9, "--formula", SLOW, "--shard-rows", 30,
                  "--query-rows", 5)
        self.expected = self.searched("search", *self.inputs("-k", 9, "--formula", SLOW))
        generator = random.Random(KILLS)
        for turn in range(KILLS):
            # There is always something to do.
            for unit in generator.sample(self.units(), k=len(self.units()) // 2):
                unit.unlink()
            workers = [start("groundtruth", "run", self.job, "--device", "cpu", "-t", 1, "--lease", LONG, "--units", 3)
                       for _ in range(1 + turn % 3)]
            for worker in workers:
                time.sleep(generator.uniform(0, 0.1))
                worker.kill()
            for worker in workers:
                worker.communicate(timeout=120)
            # Whatever has a unit's name is whole.
            verify = start("groundtruth", "verify", self.job, "--json")
            self.assertTrue(json.loads(verify.communicate(timeout=120)[0])["exact"])
        # All of them are gone: nobody waits for their leases.
        self.run_job("--quiet", "--lease", LONG)
        self.assertEqual([name for name in self.names("units") if "." in name], [])
        self.assertEqual([name for name in self.names("claims") if ".of-" not in name], [])
        self.assert_merged()

    def test_two_at_one_unit(self):
        self.init("-b", self.at("base.npy"), "--graph", "-k", 3, "--formula", SLOW)
        first = start("groundtruth", "run", self.job, "--device", "cpu", "-t", 1)
        claim = self.job / "claims" / "s00000-q00000"
        while not claim.exists() and first.poll() is None:
            time.sleep(0.005)
        claim.unlink(missing_ok=True)
        second = start("groundtruth", "run", self.job, "--device", "cpu", "-t", 1)
        for worker in (first, second):
            error = worker.communicate(timeout=120)[1]
            self.assertEqual(worker.returncode, 0, error)
        self.expected = self.searched("graph", "-b", self.at("base.npy"), "-k", 3, "--formula", SLOW)
        self.assert_merged()


class Claims(Faults):
    def setUp(self):
        super().setUp()
        self.init_grid()

    def done_without_waiting(self):
        return json.loads(self.run_job("--no-wait", "--json").stdout)

    def test_a_living_worker_is_left_alone(self):
        self.claim("s00001-q00001")
        report = self.done_without_waiting()
        self.assertEqual((report["done"], report["complete"]), (11, False))
        status = self.status()
        self.assertEqual([(worker["unit"], worker["host"], worker["stale"]) for worker in status["workers"]],
                         [("s00001-q00001", "elsewhere", False)])
        self.assertEqual(status["distances_per_second"], 50)
        self.assertEqual(status["pairs_done"], 200 * 200 - 50 * 67 / 2)
        self.assertGreater(status["seconds_left"], 0)

    def test_a_lease_is_renewed_and_given_back(self):
        write_npy(self.at("many.npy"), random_rows(3000, 32, 4))
        shutil.rmtree(self.job)
        self.init("-b", self.at("many.npy"), "--graph", "-k", 3, "--formula", SLOW)
        worker = start("groundtruth", "run", self.job, "--device", "cpu", "-t", 1, "--lease", 0.5)
        claim = self.job / "claims" / "s00000-q00000"
        seen = set()
        while worker.poll() is None and (len(seen) < 3 or self.status()["pairs_done"] == 0):
            with contextlib.suppress(FileNotFoundError):
                seen.add(claim.stat().st_mtime_ns)
            time.sleep(0.01)
        self.assertIsNone(worker.poll(), "it ended too early")
        at_work = self.status()["workers"][0]
        self.assertEqual((at_work["pid"], at_work["unit"]), (worker.pid, claim.name))
        worker.terminate()
        worker.communicate(timeout=120)
        self.assertEqual(worker.returncode, 128 + signal.SIGTERM)
        self.assertEqual(self.names("claims") + self.names("units"), [])

    def test_a_lease_that_is_over(self):
        self.claim("s00001-q00001", age=LONG + 1)
        self.claim("s00002-q00000", age=30, lease=20)
        self.assertIn("left behind by elsewhere", self.truth("status").stdout)
        report = self.done_without_waiting()
        self.assertEqual((report["complete"], report["here"]["taken_over"]), (True, 2))
        self.assertEqual(self.names("claims"), [])
        self.assert_merged()

    def test_a_process_of_this_machine_that_is_gone(self):
        worker = start("groundtruth", "run", self.job, "--device", "cpu", "-t", 1, "--lease", LONG)
        while not self.names("claims") and worker.poll() is None:
            time.sleep(0.001)
        worker.kill()
        worker.communicate(timeout=120)
        self.assertTrue(self.done_without_waiting()["complete"])
        self.assert_merged()

    def test_clocks_that_are_wrong(self):
        """A time in the future says nothing; what does not change while it is watched is stale all the same."""
        self.claim("s00001-q00001", age=-86400, lease=LONG)
        self.assertFalse(self.done_without_waiting()["complete"])
        self.claim("s00001-q00001", age=-86400, lease=0.5)
        report = json.loads(self.run_job("--json").stdout)
        self.assertEqual((report["complete"], report["here"]["taken_over"]), (True, 1))
        self.assert_merged()

    def test_a_claim_that_was_never_written(self):
        path = self.job / "claims" / "s00000-q00000"
        path.write_text("")
        self.assertFalse(self.done_without_waiting()["complete"])
        path.write_text('{"host": "else')
        os.utime(path, (1, 1))
        self.assertTrue(self.done_without_waiting()["complete"])
        self.assert_merged()

    def test_claims_of_what_is_done(self):
        self.run_job("--quiet")
        self.claim("s00001-q00001")
        self.assertEqual(self.status()["workers"], [])
        self.run_job("--quiet")
        self.assertEqual(self.names("claims"), [])


class Files(Faults):
    def setUp(self):
        super().setUp()
        self.base = self.at("changing.npy")
        write_npy(self.base, self.grid)
        shutil.copy(self.at("grid.npy"), self.base)
        self.init("-b", self.base, "-q", self.at("grid.npy"), "-k", 9, "-m", "euclidean", "--shard-rows", 50,
                  "--query-rows", 70)
        self.expected = self.searched("search", "-b", self.base, "-q", self.at("grid.npy"), "-k", 9, "-m", "euclidean")

    def flip(self, path, at):
        data = bytearray(path.read_bytes())
        data[at] ^= 4
        path.write_bytes(data)

    def test_damaged_units(self):
        self.run_job("--quiet")
        units = self.units()
        with open(units[0], "r+b") as torn:
            torn.truncate(100)
        for unit, at in zip(units[1:], (0, 10, 30, 70, -100, -8)):
            self.flip(unit, at)
        error = self.truth("merge", "--ids", self.at("no.npy"), code=2)
        self.assert_error(error, "7 units of 12 damaged", str(units[0]), "expected", "kith groundtruth run")
        self.assertFalse(self.at("no.npy").exists())
        self.assertEqual(len([name for name in self.names("units") if name.endswith(".damaged")]), 7)
        self.assertEqual(self.status()["done"], 5)
        self.run_job("--quiet")
        self.assert_merged()

    def test_units_that_cannot_be_opened_are_kept(self):
        self.run_job("--quiet")
        before = {path.name: path.read_bytes() for path in (self.job / "units").iterdir()}
        for verb in (("merge", "--ids", self.at("no.npy")), ("verify",)):
            for limit in range(3, 6):  # standard files and hardly another
                found = start("groundtruth", verb[0], self.job, *verb[1:],
                              preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
                found.communicate(timeout=120)
        self.assertEqual({path.name: path.read_bytes() for path in (self.job / "units").iterdir()}, before)
        # Nor is what is no file.
        unit = self.units()[2]
        unit.unlink()
        unit.symlink_to(unit.name)
        self.assert_error(self.truth("merge", "--ids", self.at("no.npy"), code=2), str(unit), "cannot be opened")
        unit.unlink()
        unit.mkdir()
        for verb in (("merge", "--ids", self.at("no.npy")), ("verify",), ("run",)):
            self.assert_error(self.truth(*verb, code=2), str(unit), "found a directory")
        self.assertTrue(unit.is_dir())
        unit.rmdir()
        self.run_job("--quiet")
        self.assert_merged()

    def test_verify_wants_all_units(self):
        for done in (0, 5):
            report = json.loads(self.truth("verify", "--json", code=1).stdout)
            self.assertEqual((report["exact"], report["complete"], report["missing"]), (True, False, 12 - done))
            self.run_job("--units", 5, "--quiet")
        self.run_job("--quiet")
        self.assertTrue(json.loads(self.truth("verify", "--json").stdout)["complete"])

    def test_verify_finds_them_too(self):
        self.run_job("--quiet")
        self.assertIn("12 of 12 units whole", self.truth("verify", "--sample", 50, "--device", "cpu").stdout)
        self.flip(self.units()[4], 300)
        report = json.loads(self.truth("verify", "--json", "--sample", 200, "--device", "cpu", code=1).stdout)
        self.assertEqual((report["exact"], len(report["damaged"])), (False, 1))
        self.assertEqual(report["sample"], {"computed": 133, "left_out": 67, "wrong": []})
        self.run_job("--quiet")
        self.truth("verify", "--quiet")

    def test_a_unit_that_is_whole_and_wrong(self):
        """Of a base that was another when it was computed: only computing again finds that."""
        self.run_job("--quiet")
        right = self.units()[0].read_bytes()
        whole = self.job / "manifest.json"
        manifest = whole.read_bytes()
        self.flip(self.base, 200)
        shutil.rmtree(self.job)
        self.init("-b", self.base, "-q", self.at("grid.npy"), "-k", 9, "-m", "euclidean", "--shard-rows", 50,
                  "--query-rows", 70)
        self.run_job("--quiet")
        other = self.units()[0].read_bytes()
        self.assertNotEqual(right[64:], other[64:])
        self.flip(self.base, 200)
        # A unit of another job is none of this one.
        whole.write_bytes(manifest)
        self.assertEqual(self.status()["done"], 0)

    def test_changed_input(self):
        self.run_job("--quiet", "--units", 2)
        self.flip(self.base, 128 + 4 * 3 * 120)  # row 120
        error = self.run_job("--quiet", code=2)
        self.assert_error(error, "rows 100 to 149", str(self.base), "changed", "checksum")
        self.assert_error(self.truth("merge", "--ids", self.at("no.npy"), code=2), "not done")
        self.flip(self.base, 128 + 4 * 3 * 120)
        write_npy(self.at("other.npy"), self.grid[:199])
        kept = self.base.read_bytes()
        shutil.copy(self.at("other.npy"), self.base)
        self.assert_error(self.run_job("--quiet", code=2), str(self.base), "expected 200 x 3 f32", "found 199 x 3")
        self.base.unlink()
        self.assert_error(self.run_job("--quiet", code=2), str(self.base))
        self.base.write_bytes(kept)
        self.run_job("--quiet")
        self.assert_merged()

    def test_a_change_that_is_read_ahead(self):
        """It is told when its unit is taken: what comes before is done, and stays."""
        shutil.rmtree(self.job)
        self.init("-b", self.base, "-q", self.at("grid.npy"), "-k", 9, "-m", "euclidean", "--shard-rows", 50)
        self.flip(self.base, 128 + 4 * 3 * 120)
        error = self.run_job("--quiet", code=2)
        self.assert_error(error, "rows 100 to 149", str(self.base), "changed", "checksum")
        self.assertEqual((self.status()["done"], self.names("claims")), (2, []))
        self.flip(self.base, 128 + 4 * 3 * 120)
        self.run_job("--quiet")
        self.assert_merged()

    def test_damaged_manifest(self):
        path = self.job / "manifest.json"
        whole = path.read_text()
        for damaged in (whole.replace('"k": 9', '"k": 8'), whole[: len(whole) // 2], "", whole.replace('"job"', '"joy"')):
            path.write_text(damaged)
            for verb in (("run",), ("status",), ("verify",), ("merge", "--ids", self.at("no.npy"))):
                self.assert_error(self.truth(*verb, code=2), str(path), "damaged")
        path.unlink()
        self.assert_error(self.truth("run", code=2), str(path), "kith groundtruth init")

    def test_a_job_is_made_once(self):
        before = (self.job / "manifest.json").read_bytes()
        self.assert_error(self.truth("init", "-b", self.base, "--graph", "-k", 1, code=2), "is there already", "goes on")
        self.assertEqual((self.job / "manifest.json").read_bytes(), before)


class Disks(Faults):
    def test_a_limit_on_files(self):
        self.init_grid()
        limit = 4096  # more than a claim, less than a unit
        worker = start("groundtruth", "run", self.job, "--device", "cpu", "--quiet",
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        out, error = worker.communicate(timeout=120)
        self.assertEqual(worker.returncode, 2)
        self.assertIn("cannot write: File too large", error)
        self.assertEqual(self.names("units") + self.names("claims"), [])
        self.run_job("--quiet")
        self.assert_merged()

    def test_a_full_disk(self):
        disk = self.at("disk")
        with small_disk(disk, "256k"):
            self.job = disk / "job"
            self.init_grid()
            self.run_job("--quiet", "--units", 4)
            filler = disk / "filler"
            with contextlib.suppress(OSError), open(filler, "wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
            # Room for a claim, not for a unit.
            os.truncate(filler, filler.stat().st_size - 8192)
            self.assert_error(self.run_job("--quiet", code=2), "No space left on device")
            self.assertEqual(self.status()["done"], 4)
            self.assertEqual([name for name in self.names("units") if "." in name] + self.names("claims"), [])
            filler.unlink()
            self.run_job("--quiet")
            self.assert_merged()

    def test_a_folder_to_read_only(self):
        disk = self.at("disk")
        with small_disk(disk, "1m"):
            self.job = disk / "job"
            self.init_grid()
            self.run_job("--quiet", "--units", 4)
            remount = ["mount", "-o", "remount,ro", str(disk)]
            subprocess.run(remount, check=True)
            self.assert_error(self.run_job("--quiet", code=2), "cannot claim the unit", "Read-only file system")
            self.assertEqual(self.status()["done"], 4)
            subprocess.run([part.replace("ro", "rw") if part == "remount,ro" else part for part in remount], check=True)
            self.run_job("--quiet")
            self.flipped = self.units()[3]
            data = bytearray(self.flipped.read_bytes())
            data[100] ^= 1
            self.flipped.write_bytes(data)
            subprocess.run(remount, check=True)
            self.assert_error(self.truth("merge", "--ids", self.at("no.npy"), code=2), str(self.flipped), "remove it")
            subprocess.run([part.replace("ro", "rw") if part == "remount,ro" else part for part in remount], check=True)
            self.flipped.unlink()
            self.run_job("--quiet")
            subprocess.run(remount, check=True)
            self.assertIn("12 units done", self.run_job().stderr)
            self.truth("verify", "--sample", 3, "--device", "cpu", "--quiet")
            self.assert_merged()


if __name__ == "__main__":
    main(__doc__)
