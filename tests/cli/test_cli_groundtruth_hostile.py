#!/usr/bin/env python3
"""kith groundtruth on jobs that others made to harm: each command ends soon, with a message, and reads nothing it should not.

usage: test_cli_groundtruth_hostile.py KITH
"""
import copy
import json
import os
import pathlib
import resource
import shutil
import socket
import struct
import subprocess
import zlib

import cli_support
from cli_support import main, write_npy
from test_cli_groundtruth import Jobs

SANITIZED = bool(os.environ.get("KITH_SANITIZE"))
SOON = 120 if SANITIZED else 20  # seconds
ROOM = 1 << 30                   # bytes of address space: what is read without bounds takes more
HUGE = 2**31
NUMBERS = (-1, 0, 1, 7, 50, 199, 201, HUGE, HUGE + 1, 2**32, 2**53, 2**62, 2**63 - 1, 2**63, 2**64, 2**64 - 50, -(2**63),
           -(2**65), 1e300, -1e300, 0.5, True, None, "", "1", "\0", [], [1], {}, {"rows": 1})


def limited(*args):
    def limit():
        if not SANITIZED:  # a sanitizer reserves more
            resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
    return subprocess.run([cli_support.KITH, *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, timeout=SOON,
                          preexec_fn=limit)


def with_checksum(manifest):
    """The text of a manifest as kith writes it, with a right checksum."""
    manifest = {name: value for name, value in manifest.items() if name != "checksum"}
    text = json.dumps(manifest, separators=(",", ":"), ensure_ascii=False)
    return json.dumps({**manifest, "checksum": zlib.crc32(text.encode())}, indent=1, ensure_ascii=False)


def places(value, path=()):
    """The paths of all values within a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield path + (key,)
        yield from places(each, path + (key,))


def changed(manifest, path, value):
    result = copy.deepcopy(manifest)
    parent = result
    for key in path[:-1]:
        parent = parent[key]
    if value is places:  # a mark: none
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return result


class Hostile(Jobs):
    def setUp(self):
        super().setUp()
        self.init_grid()
        self.path = self.job / "manifest.json"
        self.manifest = json.loads(self.path.read_text())

    def commands(self):
        return (("status",), ("run", "--device", "cpu", "-t", 1, "--no-wait"), ("verify", "--sample", 5, "--device", "cpu"),
                ("merge", "--ids", self.at("no.npy")))

    def assert_refused(self, *words, commands=None, codes=(2,)):
        for verb, *args in commands or self.commands():
            found = limited("groundtruth", verb, self.job, *args)
            error = found.stderr.decode(errors="replace")
            self.assertIn(found.returncode, codes, (verb, error))
            self.assertTrue(error.startswith("kith: ") and error.count("\n") == 1, error)
            for word in words:
                self.assertIn(word, error)

    def put(self, manifest):
        self.path.write_text(with_checksum(manifest))


class Manifests(Hostile):
    def test_the_same_is_taken(self):
        self.put(self.manifest)
        self.run_job("--quiet")
        self.assert_merged()

    def test_counts_and_indices(self):
        for path in (("base", "pieces"), ("base", "files"), ("queries", "pieces"), ("queries", "files")):
            self.put(changed(self.manifest, path, []))
            self.assert_refused(str(self.path), "damaged", path[0])
        for member in ("file", "file_row", "first", "rows", "checksum"):
            for value in (HUGE, HUGE + 1, 2**62, -1, -HUGE):
                for number in range(4):
                    path = ("base", "pieces", number, member)
                    if member == "checksum" and 0 <= value < 2**32:
                        continue
                    self.put(changed(self.manifest, path, value))
                    self.assert_refused(str(self.path), "damaged", f"pieces[{number}]", commands=self.commands()[:1])
        self.put(changed(self.manifest, ("base", "pieces", 1, "file"), HUGE))
        self.assert_refused("pieces[1]", str(HUGE))
        self.put(changed(self.manifest, ("base", "pieces", 0, "first"), HUGE))
        self.assert_refused("pieces[0]", str(HUGE))

    def test_any_value_anywhere(self):
        """Whatever is there ends soon; what changes the answer is refused."""
        free = {("kith",), ("memory",), ("base", "format"), ("queries", "format"), ("metric", "p"), ("metric", "packed_bits")}
        for path in places(self.manifest):
            if path == ("checksum",) or (len(path) > 2 and path[1] == "pieces" and path[2] not in (0, 3)):
                continue
            for value in (*NUMBERS, places):
                changed_one = changed(self.manifest, path, value)
                if changed_one == self.manifest and type(value) is not bool:
                    continue
                self.put(changed_one)
                found = limited("groundtruth", "status", self.job)
                self.assertIn(found.returncode, (0, 2), (path, value, found.stderr))
                if found.returncode == 0:
                    self.assertTrue(path in free or path[-1] in ("checksum", "path", "k", "estimated") or
                                    path[0] == "job", (path, value))
                    worked = limited("groundtruth", "run", self.job, "--device", "cpu", "-t", 1, "--no-wait")
                    self.assertIn(worked.returncode, (0, 2, 3), (path, value, worked.stderr))
                    shutil.rmtree(self.job / "units")
                    (self.job / "units").mkdir()

    def test_as_many_pieces_as_there_may_be(self):
        """Each is looked at once: SOON is long before all pairs of them were."""
        most = 2**18
        for pieces, code in ((most, 0), (most + 1, 2)):
            manifest = copy.deepcopy(self.manifest)
            base = manifest["base"]
            base["rows"] = pieces
            base["files"] = [{**base["files"][0], "rows": pieces}]
            base["pieces"] = [{"file": 0, "file_row": row, "first": row, "rows": 1, "checksum": 0} for row in range(pieces)]
            self.put(manifest)
            found = limited("groundtruth", "status", self.job)
            self.assertEqual(found.returncode, code, found.stderr)
        manifest["kith"] = {str(member): 0 for member in range(65)}
        self.put(manifest)
        self.assert_refused("damaged", "at most 64 members", commands=self.commands()[:1])

    def test_texts(self):
        whole = self.path.read_text()
        deep = 10**6
        for text in ("[" * deep, "[" * deep + "]" * deep, '{"a":' * deep + "1" + "}" * deep, "[" + "0," * 10**7 + "0]",
                     '{"checksum": 1, "checksum": 2}', whole.replace('"k": 9', '"k": 9, "k": 10'), "null", "[]", "9", '"x"',
                     "{}", '{"checksum": -1}', '{"checksum": 0}', "\0" * 1000, "\ufeff" + whole[:-20]):
            self.path.write_text(text)
            self.assert_refused(str(self.path), "damaged")
        self.path.write_bytes(whole.encode().replace(b'"search"', b'"se\xff\xfe"'))
        self.assert_refused(str(self.path), "damaged")

    def test_cut_off_anywhere(self):
        whole = self.path.read_bytes()
        for end in range(0, len(whole) - 2, 41):
            self.path.write_bytes(whole[:end])
            self.assert_refused(str(self.path), "damaged", commands=self.commands()[:1])

    def test_the_id_is_no_path(self):
        for name in ("../../../etc/pass", "0123456789abcde/", "0123456789ABCDEF", "", "0" * 17):
            self.put(changed(self.manifest, ("job",), name))
            self.assert_refused("job", "16 hexadecimal digits")

    def test_a_metric_without_its_numbers(self):
        """Each unit would estimate its own."""
        self.put(changed(self.manifest, ("metric", "name"), "seuclidean"))
        self.assert_refused("metric", "estimated")
        self.put(changed(self.manifest, ("metric", "name"), "none"))
        self.assert_refused("metric", "name")

    def test_numbers_of_another_shape(self):
        shutil.rmtree(self.job)
        self.init("-b", self.at("grid.npy"), "--graph", "-k", 3, "-m", "seuclidean")
        numbers = next(self.job.glob("metric-*.npy"))
        write_npy(numbers, [[1.0] * 4], "f8")
        self.assert_refused(str(numbers), "changed")
        numbers.unlink()
        os.mkfifo(numbers)
        self.assert_refused(str(numbers), "found a pipe")

    def test_more_units_than_there_may_be(self):
        self.assert_error(self.truth("init", "-b", self.at("grid.npy"), "--graph", "-k", 1, code=2), "already")
        shutil.rmtree(self.job)
        rows = 3000
        write_npy(self.at("thin.npy"), [[1]] * rows, "u1")
        error = self.truth("init", "-b", self.at("thin.npy"), "--graph", "-k", 1, "--shard-rows", 1, "--query-rows", 1, code=2)
        self.assert_error(error, "3000 shards x 3000 blocks", "4194304 units")
        self.assertFalse(self.path.exists())


class NoFiles(Hostile):
    """What is no regular file, and what is longer than it may be."""

    def others(self, path):
        """What may lie at a path; each is made, and taken away again."""
        def at_once(make, words, unmake=os.unlink):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
            make()
            yield words
            unmake(path)

        yield from at_once(lambda: os.mkfifo(path), "found a pipe")
        yield from at_once(lambda: path.symlink_to("/dev/zero"), "found a device")
        yield from at_once(lambda: path.symlink_to("/dev/tty"), "")
        yield from at_once(path.mkdir, "found a directory", os.rmdir)
        fifo = self.at("fifo")
        os.mkfifo(fifo)
        yield from at_once(lambda: path.symlink_to(fifo), "found a pipe")
        fifo.unlink()
        if len(str(path)) < 100:
            listening = socket.socket(socket.AF_UNIX)
            yield from at_once(lambda: listening.bind(str(path)), "found a socket")
            listening.close()

    def test_a_manifest(self):
        for words in self.others(self.path):
            self.assert_refused(str(self.path), words)

    def test_a_manifest_without_end(self):
        with open(self.path, "r+b") as file:
            file.truncate(1 << 40)
        self.assert_refused(str(self.path), "expected a manifest of at most")

    def test_a_unit(self):
        self.run_job("--quiet", "--units", 5)
        unit = self.units()[1]
        whole = unit.read_bytes()
        reading = self.commands()[2:]
        for words in self.others(unit):
            self.assertEqual(limited("groundtruth", "status", self.job).returncode, 0)
            self.assert_refused(str(unit), words, commands=reading)
            if not unit.is_symlink():
                self.assert_refused(str(unit), commands=self.commands()[1:2])
        unit.write_bytes(whole)
        self.run_job("--quiet")
        self.assert_merged()

    def test_a_unit_that_names_another_file(self):
        """The name is replaced, not the file behind it."""
        self.run_job("--quiet", "--units", 5)
        unit, own = self.units()[1], self.at("own")
        own.write_bytes(b"of somebody else")
        unit.unlink()
        unit.symlink_to(own)
        self.run_job("--quiet")
        self.assertEqual(own.read_bytes(), b"of somebody else")
        self.assertFalse(unit.is_symlink())
        self.assert_merged()

    def test_a_unit_of_a_size_that_does_not_fit(self):
        self.put(changed(self.manifest, ("k",), 10**10))
        unit = self.job / "units" / "s00000-q00000"
        rows = self.manifest["queries"]["pieces"][0]["rows"]
        with open(unit, "wb") as file:
            file.write(b"kithunit" + self.manifest["job"].encode() + struct.pack("<5q", 0, 0, rows, 10**10, 3))
            file.truncate(72 + rows * 10**10 * 16)
        self.assert_refused("memory", commands=[("verify",)], codes=(3,))

    def test_a_claim(self):
        claim = self.job / "claims" / "s00001-q00001"
        for _ in self.others(claim):
            status = json.loads(limited("groundtruth", "status", self.job, "--json").stdout)
            self.assertEqual([worker["stale"] for worker in status["workers"]], [True])
            found = limited("groundtruth", "run", self.job, "--device", "cpu", "-t", 1, "--quiet")
            if claim.is_dir() and not claim.is_symlink():
                self.assertIn(b"cannot claim the unit: Is a directory", found.stderr)
                self.assertEqual(found.returncode, 2)
            else:
                self.assertEqual((found.returncode, found.stderr), (0, b""))
                self.assert_merged()
                claim.touch()  # to be taken away
            for unit in self.units():
                unit.unlink()

    def test_inputs(self):
        """Files that the manifest names, and those of other commands."""
        base = self.at("base-of-its-own.npy")
        for words in self.others(base):
            self.put(changed(self.manifest, ("base", "files", 0, "path"), str(base)))
            self.assert_refused(str(base), words, commands=self.commands()[1:2])
            result = ("--queries", self.at("grid.npy"), "-k", 1, "--quiet")
            for command in (("search", "--base", base, *result), ("convert", base, self.at("no.npy")),
                            ("verify", "--base", self.at("grid.npy"), "--graph", "--ids", base),
                            ("select", base, "-k", 1), ("recommend", base, "--hold-out", "-k", 1)):
                found = limited(*command)
                self.assertEqual(found.returncode, 2, (command, found.stderr))
        for suffix in (".bin", ".ibin", ".pgm", ".truth", ".hdf5", ".npz", ".csv", ".fvecs.gz"):
            fifo = self.at("fifo" + suffix)
            os.mkfifo(fifo)
            for command in (("verify", "--base", self.at("grid.npy"), "--graph", "--ids", fifo), ("retrieve", fifo, fifo),
                            ("convert", fifo, self.at("no.npy")), ("verify", fifo), ("recommend", fifo, "--hold-out")):
                found = limited(*command)
                self.assertEqual(found.returncode, 2, (command, found.stderr))


class Paths(Hostile):
    def test_outside_files_are_shown(self):
        self.assertIn(f"reads {self.at('grid.npy')}\n", self.truth("status").stdout)
        self.assertEqual(self.status()["outside"], [str(self.at("grid.npy"))])
        self.put(changed(self.manifest, ("base", "files", 0, "path"), "/etc/\x1b[2Jpasswd"))
        shown = self.truth("status").stdout
        self.assertIn("reads /etc/\\x1b[2Jpasswd\n", shown)
        self.assert_refused("/etc/\\x1b[2Jpasswd", commands=self.commands()[1:2])

    def test_many_outside_files_are_counted(self):
        shutil.rmtree(self.job)
        self.init("-b", *[f"{self.at('grid.npy')}:{row}:5" for row in range(0, 200, 5)], "--graph", "-k", 1)
        shown = self.truth("status").stdout
        self.assertEqual(shown.count("reads /"), 20)
        self.assertIn("reads 20 more files outside its folder", shown)
        self.assertEqual(len(self.status()["outside"]), 40)

    def test_strict(self):
        for verb in (("run", "--device", "cpu"), ("verify",)):
            self.assert_error(self.truth(*verb, "--strict", code=2), str(self.path), str(self.at("grid.npy")))
        shutil.rmtree(self.job)
        self.job.mkdir()
        shutil.copy(self.at("grid.npy"), self.job / "grid.npy")
        self.init("-b", self.job / "grid.npy", "--graph", "-k", 9, "-m", "euclidean")
        self.expected = self.searched("graph", "-b", self.at("grid.npy"), "-k", 9, "-m", "euclidean")
        self.assertEqual(self.status()["outside"], [])
        self.run_job("--quiet", "--strict")
        self.truth("verify", "--strict", "--sample", 5, "--device", "cpu", "--quiet")
        self.assert_merged()
        # A link leads out of the folder, whatever rows of it are named.
        (self.job / "grid.npy").unlink()
        (self.job / "grid.npy").symlink_to(self.at("grid.npy"))
        self.assert_error(self.truth("run", "--strict", code=2), "grid.npy")
        manifest = json.loads(self.path.read_text())
        for part in ("base", "queries"):
            manifest = changed(manifest, (part, "files", 0, "path"), "grid.npy:0:200")
        self.put(manifest)
        self.assert_error(self.truth("run", "--strict", code=2), "grid.npy:0:200")

    def test_strict_looks_at_the_jobs_own_files(self):
        """What is read or written by a link of the folder lies outside as well."""
        shutil.rmtree(self.job)
        self.job.mkdir()
        shutil.copy(self.at("grid.npy"), self.job / "grid.npy")
        self.init("-b", self.job / "grid.npy", "--graph", "-k", 9, "-m", "seuclidean")
        self.run_job("--quiet", "--strict")
        elsewhere = self.at("elsewhere")
        elsewhere.mkdir()
        unit = self.units()[0]
        (self.job / "claims" / unit.name).write_text("{}")
        kept = unit.read_bytes()
        for path in (self.path, next(self.job.glob("metric-*.npy")), self.job / "units", self.job / "claims", unit,
                     self.job / "claims" / unit.name):
            there = elsewhere / path.name
            path.rename(there)
            for target in (there, self.at("grid.npy").parent / "no" / "such"):
                path.symlink_to(target)
                if target == there:
                    self.assertEqual(self.status()["outside"], [str(path)])
                elif path.name in ("manifest.json", "units") or path.name.startswith("metric"):
                    path.unlink()
                    continue
                for verb in (("run", "--device", "cpu"), ("verify",)):
                    self.assert_error(self.truth(*verb, "--strict", code=2), str(path))
                path.unlink()
            there.rename(path)
        self.assertEqual(self.status()["outside"], [])
        # Nothing of a stranger's folder is renamed.
        (self.job / "units").rename(elsewhere / "units")
        (self.job / "units").symlink_to(elsewhere / "units")
        (elsewhere / "units" / unit.name).write_bytes(kept[:-1])
        self.truth("verify", "--strict", code=2)
        self.assertEqual((elsewhere / "units" / unit.name).read_bytes(), kept[:-1])

    def test_a_path_from_the_folder_stays_in_it(self):
        for path in ("../grid.npy", "../../etc/passwd", "units/../../grid.npy", "..", "", "a\0b", "x" * 10000):
            self.put(changed(self.manifest, ("base", "files", 0, "path"), path))
            self.assert_refused(str(self.path), "damaged", "files[0]", "path")

    def test_standard_input_is_no_file(self):
        for path in ("/dev/stdin", "/dev/stdin:0:200", "/dev/stdin/x"):
            self.put(changed(self.manifest, ("base", "files", 0, "path"), path))
            self.assert_refused(str(self.path), "damaged", "again and again")
            shutil.rmtree(self.at("other"), ignore_errors=True)
            found = limited("groundtruth", "init", self.at("other"), "-b", path, "--graph", "-k", 1, "--format", "npy")
            self.assertEqual(found.returncode, 2)
            self.assertIn(b"expected a file", found.stderr)


class Units(Hostile):
    def setUp(self):
        super().setUp()
        self.run_job("--quiet")

    def rewrite(self, unit, change):
        """Changes the body of a unit's file and gives it a right checksum."""
        data = bytearray(unit.read_bytes())
        change(data)
        data[-8:] = struct.pack("<Q", zlib.crc32(data[:-8]))
        unit.write_bytes(data)

    def assert_damaged(self, unit, *words):
        whole = unit.read_bytes()
        error = self.truth("merge", "--ids", self.at("no.npy"), code=2)
        self.assert_error(error, str(unit), "damaged", *words)
        unit.write_bytes(whole)
        report = json.loads(self.truth("verify", "--json", code=1).stdout)
        self.assertEqual(len(report["damaged"]), 1)
        self.run_job("--quiet")
        self.assert_merged()

    def test_lists_that_no_search_gives(self):
        unit = self.units()[4]  # shard 1, rows 50 to 99
        rows, k = struct.unpack_from("<2q", unit.read_bytes(), 40)
        keys = 64 + rows * k * 8
        nan, inf = float("nan"), float("inf")
        for at, form, value in ((64, "q", 2**62), (64, "q", -2), (64, "q", -(2**63)), (64, "q", 49), (64, "q", 100),
                                (64, "q", -1), (keys, "d", nan), (keys, "d", inf), (keys + 8, "d", -1.0)):
            self.rewrite(unit, lambda data: struct.pack_into("<" + form, data, at, value))
            self.assert_damaged(unit, "expected neighbours of rows 50 to 99")

        def twice(data):
            data[72:80], data[keys + 8 : keys + 16] = data[64:72], data[keys : keys + 8]

        self.rewrite(unit, twice)
        self.assert_damaged(unit, "at place 1 of row 0")

    def test_headers(self):
        unit = self.units()[4]
        for field, value in enumerate((0, 2, 69, 8, 4)):  # shard, block, rows, k, dimensions
            self.rewrite(unit, lambda data: struct.pack_into("<q", data, 24 + 8 * field, value))
            self.assert_damaged(unit, "header")

    def test_swapped(self):
        first, second = self.units()[0], self.units()[3]
        a, b = first.read_bytes(), second.read_bytes()
        first.write_bytes(b)
        second.write_bytes(a)
        self.assert_error(self.truth("merge", "--ids", self.at("no.npy"), code=2), "2 units of 12 damaged")
        self.run_job("--quiet")
        self.assert_merged()

    def test_of_another_job(self):
        job, kept = self.job, [path.read_bytes() for path in self.units()]
        self.job = self.at("second")
        shutil.rmtree(self.job, ignore_errors=True)
        self.init_grid()
        for name, data in zip((path.name for path in sorted((job / "units").iterdir())), kept):
            (self.job / "units" / name).write_bytes(data)
        self.assertEqual(self.status()["done"], 0)
        self.assert_error(self.truth("merge", "--ids", self.at("no.npy"), code=2), "12 units of 12 damaged", "another")
        self.run_job("--quiet")
        self.assert_merged()

    def test_cut_off_anywhere(self):
        unit = self.units()[4]
        whole = unit.read_bytes()
        for end in (*range(0, 80), *range(80, len(whole), 487), len(whole) - 1):
            unit.write_bytes(whole[:end])
            found = limited("groundtruth", "verify", self.job, "--json")
            self.assertEqual(found.returncode, 1)
            self.assertEqual(len(json.loads(found.stdout)["damaged"]), 1)
        self.run_job("--quiet")
        self.assert_merged()


class Claims(Hostile):
    def claim(self, **changes):
        claim = {"host": "elsewhere", "boot": "b", "namespace": "n", "pid": 1, "started": 1, "lease": 1000, "share": 0.5,
                 "pairs": 100.0, "seconds": 2.0, **changes}
        path = self.job / "claims" / "s00001-q00001"
        path.write_text(json.dumps(claim))
        return path

    def test_numbers_out_of_bounds(self):
        """They count as torn: nobody is waited for longer than a lease of one's own."""
        for member in ("lease", "share", "pairs", "seconds", "pid", "started"):
            for value in (-1, -1e308, 1e999, float("nan"), 2**64, "1", None, [], True):
                path = self.claim(**{member: value})
                if member in ("pairs", "seconds") and value == 2**64:
                    continue
                status = self.status()
                self.assertEqual((status["workers"][0]["pid"], status["pairs_done"], status["distances_per_second"]),
                                 (None, 0, 0), (member, value))
                os.utime(path, (1, 1))
                self.assertTrue(self.status()["workers"][0]["stale"])
        path = self.claim(lease=1e9)
        os.utime(path, (1, 1))
        self.run_job("--quiet")
        self.assert_merged()

    def test_rates_are_finite(self):
        for changes in ({"pairs": 1e300, "seconds": 1e-300}, {"pairs": 1e27, "seconds": 1e-300}, {"pairs": 1e-300, "seconds": 1e9},
                        {"pairs": 5e-324, "seconds": 5e-324}, {"pairs": 1.0, "seconds": 1e10}, {"pairs": 1e27, "seconds": 1e-3}):
            self.claim(**changes)
            status = self.status()
            self.assertLess(status["distances_per_second"], 1e31, changes)
            if status["seconds_left"] is not None:
                self.assertLess(status["seconds_left"], 1e31, changes)
            self.assertNotIn("inf", self.truth("status").stdout)

    def test_a_process_number_beyond_the_system(self):
        self.run_job("--quiet", "--units", 1)
        own = {"boot": pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip(), "host": socket.gethostname(),
               "namespace": os.readlink("/proc/self/ns/pid")}
        for pid in (2**31, 2**32, 2**32 + os.getpid(), 2**63 - 1):
            self.claim(pid=pid, **own)
            self.assertFalse(self.status()["workers"][0]["stale"])

    def test_texts(self):
        path = self.job / "claims" / "s00001-q00001"
        for text in (b"[" * 10**6, b'{"a":' * 700, b"\xff\xfe" * 100, b"\0" * 5000, b"{}", b"null", b" " * (1 << 20)):
            path.write_bytes(text)
            status = json.loads(limited("groundtruth", "status", self.job, "--json").stdout)
            self.assertEqual([(worker["pid"], worker["stale"]) for worker in status["workers"]], [(None, False)])
        path.unlink()
        self.claim(host="\x1b]0;you\x07" + "h" * 100)
        self.assertNotIn("\x1b", self.truth("status").stdout)

    def test_that_cannot_be_read(self):
        """Of a worker under another account: its age is seen, and that it is there."""
        path = self.claim()
        path.chmod(0)
        if os.access(path, os.R_OK):
            return  # for root nothing is closed
        self.assertEqual(len(self.status()["workers"]), 1)
        os.utime(path, (1, 1))
        self.run_job("--quiet")
        self.assert_merged()


if __name__ == "__main__":
    main(__doc__)
